// Kernels that call the host: printf and malloc on the device.
#include "check.h"

__global__ void speak(int x)
{
    printf("work-item %d of %d: %d\n", (int)threadIdx.x, (int)blockDim.x, x * (int)threadIdx.x);
}

__global__ void allocate(int *bad)
{
    int *mine = (int *)malloc(16 * sizeof(int));
    if (!mine) {
        atomicAdd(bad, 1);
        return;
    }
    for (int i = 0; i < 16; i++)
        mine[i] = (int)threadIdx.x * i;
    __syncthreads();
    for (int i = 0; i < 16; i++)
        if (mine[i] != (int)threadIdx.x * i)
            atomicAdd(bad, 1);
    free(mine);
}

int main()
{
    int *bad, result;
    speak<<<1, 3>>>(7);
    HIP(hipDeviceSynchronize());
    HIP(hipMalloc(&bad, sizeof *bad));
    HIP(hipMemset(bad, 0, sizeof *bad));
    allocate<<<2, 64>>>(bad);
    HIP(hipMemcpy(&result, bad, sizeof result, hipMemcpyDeviceToHost));
    CHECK(result == 0);
}

// A kernel that only further runs launch: the first leaves a file, by which they know.
#include <hip/hip_runtime.h>
#include <cstdio>

__global__ void always(float *x) { x[threadIdx.x] += 1; }
__global__ void late(float *x) { x[threadIdx.x] *= 2; }

int main()
{
    float *x;
    FILE *file = fopen("ran", "r");

    if (hipMalloc(&x, 64 * sizeof *x) != hipSuccess)
        return 1;
    always<<<1, 64>>>(x);
    if (file)
        late<<<1, 64>>>(x);
    else if (!(file = fopen("ran", "w")))
        return 1;
    fclose(file);
    return hipDeviceSynchronize() == hipSuccess ? 0 : 1;
}

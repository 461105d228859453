// A thread that waits for a host function of one stream by a flag, and then submits to another one.
#include "check.h"

static __device__ void turn(float *data, int rounds)
{
    float v = data[threadIdx.x];
    for (int i = 0; i < rounds; i++)
        v = v * 0.5f + 1.0f;
    data[threadIdx.x] = v;
}

__global__ void before(float *data)
{
    turn(data, 1000);
}

__global__ void behind(float *data)
{
    turn(data, 500);
}

__global__ void elsewhere(float *data)
{
    turn(data, 700);
}

static void called(void *count)
{
    __atomic_add_fetch(static_cast<int *>(count), 1, __ATOMIC_RELEASE);
}

int main()
{
    hipStream_t streams[2];
    float *data[2];
    int count = 0;
    for (int i = 0; i < 2; i++) {
        HIP_CHECK(hipStreamCreateWithFlags(&streams[i], hipStreamNonBlocking));
        HIP_CHECK(hipMalloc(&data[i], 256 * sizeof(float)));
        HIP_CHECK(hipMemset(data[i], 0, 256 * sizeof(float)));
    }
    HIP_CHECK(hipDeviceSynchronize());
    for (int round = 0; round < 20; round++) {
        before<<<1, 256, 0, streams[0]>>>(data[0]);
        HIP_CHECK(hipLaunchHostFunc(streams[0], called, &count));
        behind<<<1, 256, 0, streams[0]>>>(data[0]);
        while (__atomic_load_n(&count, __ATOMIC_ACQUIRE) <= round)
            ;
        elsewhere<<<1, 256, 0, streams[1]>>>(data[1]);
    }
    HIP_CHECK(hipDeviceSynchronize());
    for (int i = 0; i < 2; i++) {
        HIP_CHECK(hipStreamDestroy(streams[i]));
        HIP_CHECK(hipFree(data[i]));
    }
    return report("host function", count == 20);
}

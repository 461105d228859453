// Streams that are destroyed while they work: HIP waits for a callback then, in no call of the HSA runtime.
#include <chrono>

#include "check.h"

__global__ void work(float *data)
{
    float v = data[threadIdx.x];
    for (int i = 0; i < 1000; i++)
        v = v * 0.5f + 1.0f;
    data[threadIdx.x] = v;
}

int main()
{
    enum { ROUNDS = 20 };
    float *data;
    HIP_CHECK(hipMalloc(&data, 256 * sizeof(float)));
    HIP_CHECK(hipMemset(data, 0, 256 * sizeof(float)));
    HIP_CHECK(hipDeviceSynchronize());
    const auto begin = std::chrono::steady_clock::now();
    for (int round = 0; round < ROUNDS; round++) {
        hipStream_t stream;
        hipEvent_t event;
        HIP_CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
        HIP_CHECK(hipEventCreate(&event));
        work<<<1, 256, 0, stream>>>(data);
        HIP_CHECK(hipEventRecord(event, stream));
        HIP_CHECK(hipStreamDestroy(stream));
        HIP_CHECK(hipEventDestroy(event));
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    HIP_CHECK(hipFree(data));
    // A callback that nobody waits for comes after a second: then it would be 20 seconds.
    return report("destroyed streams", took.count() < ROUNDS / 2);
}

// Two threads, a stream each: one waits for its kernel and tells the other by a flag, by turns.
#include "check.h"

#include <atomic>
#include <thread>

__global__ void left(float *data)
{
    for (int i = 0; i < 1000; i++)
        data[threadIdx.x] += 1;
}

__global__ void right(float *data)
{
    for (int i = 0; i < 700; i++)
        data[threadIdx.x] += 1;
}

static constexpr int rounds = 50;
static std::atomic<int> turn{0};
static std::atomic<bool> good{true};

template <class Kernel> static void play(Kernel kernel, int mine, float *data)
{
    hipStream_t stream;
    bool fine = hipStreamCreateWithFlags(&stream, hipStreamNonBlocking) == hipSuccess;
    for (int round = 0; round < rounds; round++) {
        while (turn != 2 * round + mine)
            std::this_thread::yield();
        kernel<<<1, 64, 0, stream>>>(data);
        fine = fine && hipStreamSynchronize(stream) == hipSuccess;
        turn++;
    }
    if (!fine || hipStreamDestroy(stream) != hipSuccess)
        good = false;
}

int main()
{
    float *data, host[64];
    HIP_CHECK(hipMalloc(&data, sizeof host));
    HIP_CHECK(hipMemset(data, 0, sizeof host));
    HIP_CHECK(hipDeviceSynchronize());
    std::thread one([&] { play(left, 0, data); }), two([&] { play(right, 1, data); });
    one.join();
    two.join();
    HIP_CHECK(hipMemcpy(host, data, sizeof host, hipMemcpyDeviceToHost));
    HIP_CHECK(hipFree(data));
    return report("handover", good && host[5] == 1700.0f * rounds);
}

// Sixteen threads, each with its own kernel and stream, on four hardware queues; four rounds. Those of even number
// launch within a range of ROCTx.
#include <cstdio>
#include <hip/hip_runtime.h>
#include <thread>
#include <utility>
#include <vector>

extern "C" int roctxRangePushA(const char *message);
extern "C" int roctxRangePop(void);

template <int N> __global__ void of_thread(int *sum)
{
    atomicAdd(sum, N);
}

template <int N> static void launch(int *sum)
{
    hipStream_t stream;

    (void)hipStreamCreate(&stream);
    if (N % 2 == 0)
        roctxRangePushA("even");
    for (int i = 0; i < 25; i++)
        of_thread<N><<<1, 64, 0, stream>>>(sum);
    if (N % 2 == 0)
        roctxRangePop();
    (void)hipStreamSynchronize(stream);
    (void)hipStreamDestroy(stream);
}

template <int... N> static void all(int *sum, std::integer_sequence<int, N...>)
{
    std::vector<std::thread> threads;

    (threads.emplace_back([=] { launch<N>(sum); }), ...);
    for (auto &thread : threads)
        thread.join();
}

int main()
{
    int *sum, total;

    if (hipMalloc(&sum, sizeof(*sum)) != hipSuccess || hipMemset(sum, 0, sizeof(*sum)) != hipSuccess)
        return 1;
    for (int round = 0; round < 4; round++)
        all(sum, std::make_integer_sequence<int, 16>());
    (void)hipMemcpy(&total, sum, sizeof(total), hipMemcpyDeviceToHost);
    printf("%d\n", total);
    return total != 4 * 25 * 64 * 120;
}

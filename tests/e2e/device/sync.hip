// Ways in which host and device wait for each other, beyond streams and events.
#include "check.h"

#include <atomic>
#include <hip/hip_cooperative_groups.h>
#include <thread>
#include <vector>

__global__ void increment(int *value)
{
    atomicAdd(value, 1);
}

static int *device_int()
{
    int *value;
    HIP(hipMalloc(&value, sizeof *value));
    HIP(hipMemset(value, 0, sizeof *value));
    HIP(hipDeviceSynchronize());
    return value;
}

static int read_back(const int *value)
{
    int result;
    HIP(hipMemcpy(&result, value, sizeof result, hipMemcpyDeviceToHost));
    return result;
}

// Every group writes, the whole grid meets, every group reads what another one wrote.
__global__ void meet(int *data, int *out, int n)
{
    auto grid = cooperative_groups::this_grid();
    int i = (int)grid.thread_rank();
    if (i < n)
        data[i] = i;
    grid.sync();
    if (i < n)
        out[i] = data[n - 1 - i];
}

static void cooperative()
{
    int n = 4096, *data, *out;
    std::vector<int> result(n);
    HIP(hipMalloc(&data, n * sizeof(int)));
    HIP(hipMalloc(&out, n * sizeof(int)));
    void *args[] = {&data, &out, &n};
    HIP(hipLaunchCooperativeKernel((void *)meet, dim3(n / 256), dim3(256), args, 0, 0));
    HIP(hipMemcpy(result.data(), out, n * sizeof(int), hipMemcpyDeviceToHost));
    for (int i = 0; i < n; i++)
        CHECK(result[i] == n - 1 - i);
}

static void host_threads()
{
    const int threads = 6, launches = 100;
    int *value = device_int();
    std::vector<std::thread> workers;
    for (int t = 0; t < threads; t++)
        workers.emplace_back([=] {
            hipStream_t stream;
            HIP(hipStreamCreate(&stream));
            for (int i = 0; i < launches; i++) {
                increment<<<1, 64, 0, stream>>>(value);
                if (i % 25 == 0)
                    HIP(hipStreamSynchronize(stream));
            }
            HIP(hipStreamSynchronize(stream));
            HIP(hipStreamDestroy(stream));
        });
    for (auto &worker : workers)
        worker.join();
    CHECK(read_back(value) == threads * launches * 64);
}

static void callbacks()
{
    static std::atomic<int> called{0};
    hipStream_t stream;
    int *value = device_int();
    HIP(hipStreamCreate(&stream));
    for (int i = 0; i < 10; i++) {
        increment<<<1, 1, 0, stream>>>(value);
        HIP(hipLaunchHostFunc(stream, [](void *) { called++; }, nullptr));
    }
    HIP(hipStreamSynchronize(stream));
    CHECK(called == 10);
    CHECK(read_back(value) == 10);
    HIP(hipStreamDestroy(stream));
}

// A stream that waits for a value in memory, which another stream writes.
static void stream_values()
{
    hipStream_t waits, writes;
    uint64_t *word;
    int *value = device_int();
    HIP(hipStreamCreate(&waits));
    HIP(hipStreamCreate(&writes));
    HIP(hipExtMallocWithFlags((void **)&word, sizeof *word, hipMallocSignalMemory));
    *word = 0;
    HIP(hipStreamWaitValue64(waits, word, 5, hipStreamWaitValueGte));
    increment<<<1, 1, 0, waits>>>(value);
    CHECK(hipStreamQuery(waits) == hipErrorNotReady);
    HIP(hipStreamWriteValue64(writes, word, 7, 0));
    HIP(hipStreamSynchronize(waits));
    CHECK(read_back(value) == 1);
    HIP(hipStreamDestroy(waits));
    HIP(hipStreamDestroy(writes));
}

static void managed_memory()
{
    int *value;
    const size_t bytes = 1 << 20;
    HIP(hipMallocManaged(&value, bytes));
    value[0] = 41;
    HIP(hipMemAdvise(value, bytes, hipMemAdviseSetPreferredLocation, 0));
    HIP(hipMemPrefetchAsync(value, bytes, 0, 0));
    increment<<<1, 1>>>(value);
    HIP(hipMemPrefetchAsync(value, bytes, hipCpuDeviceId, 0));
    HIP(hipDeviceSynchronize());
    CHECK(value[0] == 42);
    HIP(hipFree(value));
}

int main()
{
    cooperative();
    host_threads();
    callbacks();
    stream_values();
    managed_memory();
}

// What orders work: the null stream, per-thread streams, priorities, host functions, values in
// memory, and streams that may use few compute units.
#include "check.h"

#include <atomic>
#include <thread>
#include <vector>

__global__ void step(unsigned *value, unsigned multiply, unsigned add)
{
    *value = *value * multiply + add;
}

// Ends when the host has raised the flag.
__global__ void hold(volatile int *flag)
{
    while (*flag == 0)
        __builtin_amdgcn_s_sleep(1);
}

// A stream with a hardware queue of its own: streams of one priority may share one.
static hipStream_t urgent_stream()
{
    hipStream_t stream;
    int least, greatest;
    HIP(hipDeviceGetStreamPriorityRange(&least, &greatest));
    HIP(hipStreamCreateWithPriority(&stream, hipStreamNonBlocking, greatest));
    return stream;
}

static unsigned *device_value(unsigned first)
{
    unsigned *value;
    HIP(hipMalloc(&value, sizeof *value));
    HIP(hipMemcpy(value, &first, sizeof first, hipMemcpyHostToDevice));
    return value;
}

static unsigned read_back(const unsigned *value)
{
    unsigned result;
    HIP(hipMemcpy(&result, value, sizeof result, hipMemcpyDeviceToHost));
    return result;
}

// Work in the null stream waits for blocking streams and they wait for it; steps do not commute.
static void null_stream_is_a_barrier()
{
    hipStream_t a, b;
    unsigned *value = device_value(1), expected = 1;
    HIP(hipStreamCreate(&a));
    HIP(hipStreamCreate(&b));
    const hipStream_t order[] = {a, 0, b, 0, a, 0};
    for (unsigned i = 0; i < 30; i++) {
        step<<<1, 1, 0, order[i % 6]>>>(value, 7, i);
        expected = expected * 7 + i;
    }
    CHECK(read_back(value) == expected);
    HIP(hipStreamDestroy(a));
    HIP(hipStreamDestroy(b));
    HIP(hipFree(value));
}

// A non-blocking stream does not care about the null stream: it ends while that one is held.
static void non_blocking_stream_passes()
{
    hipStream_t free_stream = urgent_stream();
    unsigned *value = device_value(3);
    int *flag;
    HIP(hipHostMalloc(&flag, sizeof *flag, hipHostMallocCoherent));
    *(volatile int *)flag = 0;
    hold<<<1, 1>>>(flag);
    step<<<1, 1, 0, free_stream>>>(value, 2, 1);
    HIP(hipStreamSynchronize(free_stream));
    CHECK(hipStreamQuery(0) == hipErrorNotReady);
    *(volatile int *)flag = 1;
    HIP(hipDeviceSynchronize());
    CHECK(read_back(value) == 7);
    HIP(hipStreamDestroy(free_stream));
    HIP(hipHostFree(flag));
    HIP(hipFree(value));
}

static void stream_per_thread()
{
    std::vector<std::thread> threads;
    unsigned *values[4];
    for (unsigned t = 0; t < 4; t++)
        values[t] = device_value(t);
    for (unsigned t = 0; t < 4; t++)
        threads.emplace_back([t, &values] {
            for (unsigned i = 0; i < 20; i++)
                step<<<1, 1, 0, hipStreamPerThread>>>(values[t], 3, i);
            HIP(hipStreamSynchronize(hipStreamPerThread));
        });
    for (auto &t : threads)
        t.join();
    for (unsigned t = 0; t < 4; t++) {
        unsigned expected = t;
        for (unsigned i = 0; i < 20; i++)
            expected = expected * 3 + i;
        CHECK(read_back(values[t]) == expected);
        HIP(hipFree(values[t]));
    }
}

static void priorities()
{
    int least, greatest;
    HIP(hipDeviceGetStreamPriorityRange(&least, &greatest));
    CHECK(greatest <= 0 && least >= 0 && greatest < least);
    for (int p = greatest; p <= least; p++) {
        hipStream_t stream;
        int got;
        unsigned *value = device_value(1);
        HIP(hipStreamCreateWithPriority(&stream, hipStreamNonBlocking, p));
        HIP(hipStreamGetPriority(stream, &got));
        CHECK(got == p);
        step<<<1, 1, 0, stream>>>(value, 5, 6);
        HIP(hipStreamSynchronize(stream));
        CHECK(read_back(value) == 11);
        HIP(hipStreamDestroy(stream));
        HIP(hipFree(value));
    }
}

static void host_functions()
{
    static std::atomic<int> calls{0};
    hipStream_t stream;
    unsigned *value = device_value(1);
    HIP(hipStreamCreate(&stream));
    step<<<1, 1, 0, stream>>>(value, 2, 2);
    HIP(hipLaunchHostFunc(stream, [](void *) { calls++; }, nullptr));
    HIP(hipStreamAddCallback(
        stream, [](hipStream_t, hipError_t error, void *) { calls += error == hipSuccess ? 10 : 100; },
        nullptr, 0));
    step<<<1, 1, 0, stream>>>(value, 2, 2);
    HIP(hipStreamSynchronize(stream));
    CHECK(calls == 11);
    CHECK(read_back(value) == 10);
    HIP(hipStreamDestroy(stream));
    HIP(hipFree(value));
}

// hipStreamWriteValue and hipStreamWaitValue: one stream releases another through memory.
static void values_in_memory()
{
    hipStream_t waits, writes = urgent_stream();
    unsigned *value = device_value(5);
    uint32_t *word;
    uint64_t *wide;
    HIP(hipExtMallocWithFlags((void **)&word, 8, hipMallocSignalMemory));
    HIP(hipHostMalloc(&wide, sizeof *wide, hipHostMallocCoherent));
    HIP(hipMemset(word, 0, 8));
    *wide = 0;
    HIP(hipDeviceSynchronize());
    HIP(hipStreamCreateWithFlags(&waits, hipStreamNonBlocking));
    HIP(hipStreamWaitValue32(waits, word, 17, hipStreamWaitValueGte, 0xffffffff));
    step<<<1, 1, 0, waits>>>(value, 3, 1);
    HIP(hipStreamWriteValue64(waits, wide, 0x123456789abcdefull, 0));
    CHECK(hipStreamQuery(waits) == hipErrorNotReady);
    HIP(hipStreamWriteValue32(writes, word, 18, 0));
    HIP(hipStreamSynchronize(writes));
    HIP(hipStreamSynchronize(waits));
    CHECK(read_back(value) == 16);
    CHECK(*(volatile uint64_t *)wide == 0x123456789abcdefull);
    HIP(hipStreamDestroy(waits));
    HIP(hipStreamDestroy(writes));
    HIP(hipFree(word));
    HIP(hipHostFree(wide));
    HIP(hipFree(value));
}

__global__ void busy(float *out, int n)
{
    float x = threadIdx.x;
    for (int i = 0; i < n; i++)
        x = x * 0.999f + 1.0f;
    out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

static float timed_ms(hipStream_t stream, float *out, int blocks)
{
    hipEvent_t from, to;
    float ms;
    HIP(hipEventCreate(&from));
    HIP(hipEventCreate(&to));
    HIP(hipEventRecord(from, stream));
    busy<<<blocks, 256, 0, stream>>>(out, 2000);
    HIP(hipEventRecord(to, stream));
    HIP(hipEventSynchronize(to));
    HIP(hipEventElapsedTime(&ms, from, to));
    HIP(hipEventDestroy(from));
    HIP(hipEventDestroy(to));
    return ms;
}

// A tenth of the compute units: compute-bound work takes longer, and the mask can be read back.
static void compute_unit_mask()
{
    hipDeviceProp_t props;
    hipStream_t few, all;
    float *out;
    const int blocks = 1024;
    HIP(hipGetDeviceProperties(&props, 0));
    const int units = props.multiProcessorCount, words = (units + 31) / 32;
    std::vector<uint32_t> mask(words, 0), got(words, 0);
    for (int i = 0; i < units; i += 10)
        mask[i / 32] |= 1u << i % 32;
    HIP(hipMalloc(&out, blocks * 256 * sizeof(float)));
    HIP(hipExtStreamCreateWithCUMask(&few, words, mask.data()));
    HIP(hipExtStreamGetCUMask(few, words, got.data()));
    CHECK(got == mask);
    HIP(hipStreamCreate(&all));
    float slow = timed_ms(few, out, blocks), fast = timed_ms(all, out, blocks);
    CHECK(slow > 3 * fast);
    HIP(hipStreamDestroy(few));
    HIP(hipStreamDestroy(all));
    HIP(hipFree(out));
}

int main()
{
    null_stream_is_a_barrier();
    non_blocking_stream_passes();
    stream_per_thread();
    priorities();
    host_functions();
    values_in_memory();
    compute_unit_mask();
}

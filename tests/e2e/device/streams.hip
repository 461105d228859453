// Several queues: order within a stream, events across streams, a kernel that waits for another.
#include "check.h"

#include <vector>

__global__ void step(unsigned *value, unsigned multiply, unsigned add)
{
    if (threadIdx.x == 0)
        *value = *value * multiply + add;
}

// Spins until another kernel, in another stream, raises the flag.
__global__ void wait_for(volatile int *flag, int *seen)
{
    while (*flag == 0)
        __builtin_amdgcn_s_sleep(1);
    *seen = 1;
}

__global__ void raise(volatile int *flag)
{
    *flag = 1;
}

static void chains()
{
    const int streams = 12, links = 20;
    std::vector<hipStream_t> stream(streams);
    unsigned *device;
    HIP(hipMalloc(&device, streams * sizeof(unsigned)));
    HIP(hipMemset(device, 0, streams * sizeof(unsigned)));
    HIP(hipDeviceSynchronize());
    for (auto &s : stream)
        HIP(hipStreamCreateWithFlags(&s, hipStreamNonBlocking));
    std::vector<unsigned> expected(streams, 0), out(streams);
    for (int l = 0; l < links; l++)
        for (int s = 0; s < streams; s++) {
            step<<<1, 64, 0, stream[s]>>>(device + s, 3u + s, 7u * l + 1);
            expected[s] = expected[s] * (3u + s) + 7u * l + 1;
        }
    HIP(hipDeviceSynchronize());
    HIP(hipMemcpy(out.data(), device, streams * sizeof(unsigned), hipMemcpyDeviceToHost));
    CHECK(out == expected);
    for (auto s : stream)
        HIP(hipStreamDestroy(s));
    HIP(hipFree(device));
}

static void ring()
{
    const int streams = 5, rounds = 8;
    std::vector<hipStream_t> stream(streams);
    unsigned *device, expected = 1, out;
    hipEvent_t event;
    HIP(hipMalloc(&device, sizeof *device));
    HIP(hipMemcpy(device, &expected, sizeof expected, hipMemcpyHostToDevice));
    HIP(hipEventCreateWithFlags(&event, hipEventDisableTiming));
    for (auto &s : stream)
        HIP(hipStreamCreateWithFlags(&s, hipStreamNonBlocking));
    for (int r = 0; r < rounds * streams; r++) {
        // Multiplication and addition do not commute: any other order gives another number.
        step<<<1, 64, 0, stream[r % streams]>>>(device, 5, r);
        expected = expected * 5 + r;
        HIP(hipEventRecord(event, stream[r % streams]));
        HIP(hipStreamWaitEvent(stream[(r + 1) % streams], event, 0));
    }
    HIP(hipDeviceSynchronize());
    HIP(hipMemcpy(&out, device, sizeof out, hipMemcpyDeviceToHost));
    CHECK(out == expected);
    for (auto s : stream)
        HIP(hipStreamDestroy(s));
    HIP(hipEventDestroy(event));
    HIP(hipFree(device));
}

static void rendezvous()
{
    hipStream_t waits, raises;
    int *flag, *seen;
    HIP(hipHostMalloc(&flag, sizeof *flag, hipHostMallocCoherent));
    HIP(hipHostMalloc(&seen, sizeof *seen, hipHostMallocCoherent));
    *flag = *seen = 0;
    HIP(hipStreamCreateWithFlags(&waits, hipStreamNonBlocking));
    // Two streams of one priority may share a hardware queue, where one would wait for the other
    // for ever; other priorities have other queues.
    int least, greatest;
    HIP(hipDeviceGetStreamPriorityRange(&least, &greatest));
    HIP(hipStreamCreateWithPriority(&raises, hipStreamNonBlocking, greatest));
    wait_for<<<1, 1, 0, waits>>>(flag, seen);
    CHECK(hipStreamQuery(waits) == hipErrorNotReady);
    raise<<<1, 1, 0, raises>>>(flag);
    HIP(hipStreamSynchronize(raises));
    HIP(hipStreamSynchronize(waits));
    CHECK(*seen == 1);
    HIP(hipStreamDestroy(waits));
    HIP(hipStreamDestroy(raises));
    HIP(hipHostFree(flag));
    HIP(hipHostFree(seen));
}

int main()
{
    chains();
    ring();
    rendezvous();
}

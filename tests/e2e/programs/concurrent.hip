// Four streams, ordered by events, copies, waits and a graph where they have to be; otherwise they
// may run side by side. One thread; tests/e2e/cli/deterministic.sh says what must come of it.
#include "check.h"

#include <vector>

__global__ void produce(float *data, int rounds)
{
    float v = data[threadIdx.x];
    for (int i = 0; i < rounds; i++)
        v = v * 0.5f + 1.0f;
    data[threadIdx.x] = v;
}

__global__ void consume(const float *in, float *out, int rounds)
{
    float v = in[threadIdx.x];
    for (int i = 0; i < rounds; i++)
        v = v * 0.25f + 1.0f;
    out[threadIdx.x] = v;
}

__global__ void aside(float *data, int rounds)
{
    float v = data[threadIdx.x];
    for (int i = 0; i < rounds; i++)
        v = v * 0.125f + 1.0f;
    data[threadIdx.x] = v;
}

static constexpr size_t large_bytes = 4 << 20;

int main()
{
    hipStream_t streams[4];
    hipEvent_t made, used[2], finished;
    float *data[4], *host;
    char *from, *to, *far;
    for (int i = 0; i < 4; i++) {
        HIP_CHECK(hipStreamCreateWithFlags(&streams[i], hipStreamNonBlocking));
        HIP_CHECK(hipMalloc(&data[i], 256 * sizeof(float)));
        HIP_CHECK(hipMemset(data[i], 0, 256 * sizeof(float)));
    }
    HIP_CHECK(hipEventCreateWithFlags(&made, hipEventDisableTiming));
    for (hipEvent_t &e : used)
        HIP_CHECK(hipEventCreateWithFlags(&e, hipEventDisableTiming));
    HIP_CHECK(hipEventCreate(&finished));
    HIP_CHECK(hipHostMalloc(&host, 256 * sizeof(float)));
    HIP_CHECK(hipHostMalloc(&from, large_bytes));
    HIP_CHECK(hipHostMalloc(&to, large_bytes));
    HIP_CHECK(hipMalloc(&far, large_bytes));

    hipGraph_t graph;
    hipGraphExec_t executable;
    HIP_CHECK(hipStreamBeginCapture(streams[3], hipStreamCaptureModeThreadLocal));
    aside<<<1, 256, 0, streams[3]>>>(data[3], 700);
    aside<<<1, 256, 0, streams[3]>>>(data[3], 300);
    HIP_CHECK(hipStreamEndCapture(streams[3], &graph));
    HIP_CHECK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
    HIP_CHECK(hipDeviceSynchronize());

    int sooner = 0;
    for (int round = 0; round < 6; round++) {
        // One producer, two consumers that know of it by its event, one stream that knows nothing.
        produce<<<1, 256, 0, streams[0]>>>(data[0], 1000 + 100 * round);
        HIP_CHECK(hipEventRecord(made, streams[0]));
        for (int i = 1; i < 3; i++) {
            HIP_CHECK(hipStreamWaitEvent(streams[i], made, 0));
            consume<<<1, 256, 0, streams[i]>>>(data[0], data[i], 500 * i);
            HIP_CHECK(hipEventRecord(used[i - 1], streams[i]));
        }
        HIP_CHECK(hipGraphLaunch(executable, streams[3]));
        // Looks that must not say how fast this machine is.
        if (hipEventQuery(used[0]) == hipSuccess)
            sooner++;
        if (hipStreamQuery(streams[3]) == hipSuccess)
            sooner++;
        for (int i = 1; i < 3; i++)
            HIP_CHECK(hipStreamWaitEvent(streams[0], used[i - 1], 0));
        if (round % 2)
            HIP_CHECK(hipMemcpyAsync(far, from, large_bytes, hipMemcpyHostToDevice, streams[1]));
        else
            HIP_CHECK(hipMemcpyAsync(to, far, large_bytes, hipMemcpyDeviceToHost, streams[2]));
        if (round == 2)
            HIP_CHECK(hipStreamSynchronize(streams[3]));
        if (round == 3)
            HIP_CHECK(hipMemcpy(host, data[1], 256 * sizeof(float), hipMemcpyDeviceToHost));
        if (round == 4) {
            HIP_CHECK(hipEventRecord(finished, streams[1]));
            while (hipEventQuery(finished) != hipSuccess)
                ;
        }
    }
    HIP_CHECK(hipDeviceSynchronize());
    HIP_CHECK(hipMemcpy(host, data[2], 256 * sizeof(float), hipMemcpyDeviceToHost));
    HIP_CHECK(hipGraphExecDestroy(executable));
    HIP_CHECK(hipGraphDestroy(graph));
    for (int i = 0; i < 4; i++) {
        HIP_CHECK(hipStreamDestroy(streams[i]));
        HIP_CHECK(hipFree(data[i]));
    }
    printf("%.3f, %d looks found work done\n", host[0], sooner);
    return report("concurrent", host[0] > 1.33f && host[0] < 1.34f);
}

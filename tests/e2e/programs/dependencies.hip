// Kernels and copies on several streams, ordered by events, the default stream and a graph. The
// first kernel waits for the host, so that everything is submitted before anything has ended: no
// wait can be saved because what it waits for is over. tests/e2e/cli/dependencies.sh has the list
// of what waits for what.
#include <hip/hip_runtime.h>

#include <cstdio>

#define OK(call)                                                                                   \
    do {                                                                                           \
        hipError_t status_ = (call);                                                               \
        if (status_ != hipSuccess) {                                                               \
            printf("FAILED: %s: %s\n", #call, hipGetErrorString(status_));                         \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

__global__ void gate(volatile int *open)
{
    while (*open == 0)
        __builtin_amdgcn_s_sleep(10);
}

template <int N> __global__ void step(int *words)
{
    words[N] = words[N] * 3 + N;
}

static hipEvent_t event()
{
    hipEvent_t e;
    return hipEventCreateWithFlags(&e, hipEventDisableTiming) == hipSuccess ? e : nullptr;
}

// One stream waits for what another one holds so far.
static hipError_t follow(hipStream_t second, hipStream_t first)
{
    hipEvent_t e = event();
    hipError_t status = hipEventRecord(e, first);
    return status == hipSuccess ? hipStreamWaitEvent(second, e, 0) : status;
}

static hipError_t make_graph(hipStream_t s, hipStream_t t, int *words, hipGraphExec_t *ret)
{
    hipGraph_t graph;
    hipError_t status = hipStreamBeginCapture(s, hipStreamCaptureModeGlobal);
    hipEvent_t fork = event(), join = event();

    step<20><<<1, 1, 0, s>>>(words);
    (void)hipEventRecord(fork, s);
    (void)hipStreamWaitEvent(t, fork, 0);
    step<21><<<1, 1, 0, s>>>(words);
    step<22><<<1, 1, 0, t>>>(words);
    (void)hipEventRecord(join, t);
    (void)hipStreamWaitEvent(s, join, 0);
    step<23><<<1, 1, 0, s>>>(words);
    if (status == hipSuccess)
        status = hipStreamEndCapture(s, &graph);
    return status == hipSuccess ? hipGraphInstantiate(ret, graph, nullptr, nullptr, 0) : status;
}

int main(int argc, char **)
{
    enum { BYTES = 4 << 20, COPY_IN = 1 << 20, COPY_OUT = 2 << 20 }; // large: by the copy engines
    int *words, *host, *flag;
    hipStream_t a, b, free_stream;
    hipGraphExec_t graph;

    OK(hipMalloc(&words, BYTES));
    OK(hipHostMalloc(&host, BYTES));
    OK(hipHostMalloc(&flag, sizeof(int), hipHostMallocCoherent));
    *flag = 0;
    OK(hipStreamCreate(&a)); // with the default stream's ordering
    OK(hipStreamCreateWithFlags(&b, hipStreamNonBlocking));
    OK(hipStreamCreateWithFlags(&free_stream, hipStreamNonBlocking));
    if (argc > 1)
        OK(make_graph(b, free_stream, words, &graph));

    gate<<<1, 1, 0, a>>>(flag);
    OK(follow(b, a));
    OK(follow(free_stream, a));
    step<1><<<1, 1, 0, a>>>(words);
    step<2><<<1, 1, 0, b>>>(words);
    step<3><<<1, 1, 0, free_stream>>>(words);
    step<4><<<1, 1, 0, a>>>(words);
    OK(follow(b, a)); // 5 behind 2 and 4
    step<5><<<1, 1, 0, b>>>(words);
    step<6><<<1, 1>>>(words);       // default stream: behind 4, not behind 5 or 3
    step<7><<<1, 1, 0, a>>>(words); // behind 6
    step<8><<<1, 1, 0, free_stream>>>(words);
    OK(hipMemcpyAsync(words, host, COPY_IN, hipMemcpyHostToDevice, b)); // behind 5
    step<9><<<1, 1, 0, b>>>(words);                                     // behind the copy
    if (argc > 1)
        OK(hipGraphLaunch(graph, b));
    OK(follow(free_stream, b));
    OK(hipMemcpyAsync(host, words, COPY_OUT, hipMemcpyDeviceToHost, free_stream)); // behind 8 and b
    *flag = 1;
    OK(hipDeviceSynchronize());
    OK(hipMemcpy(host, words, BYTES, hipMemcpyDeviceToHost));
    puts("done");
    return 0;
}

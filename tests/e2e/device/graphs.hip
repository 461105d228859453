// Graphs built by hand and by capture: every kind of node, branches, updates, children.
#include "check.h"

#include <atomic>
#include <vector>

__global__ void scale(int *data, int n, int by)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        data[i] *= by;
}

__global__ void sum2(const int *a, const int *b, int *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

static const int N = 1000;
static std::atomic<int> host_calls{0};

static hipGraphNode_t kernel_node(hipGraph_t graph, std::vector<hipGraphNode_t> after, void *f,
                                  void **args)
{
    hipGraphNode_t node;
    hipKernelNodeParams params = {};
    params.func = f;
    params.gridDim = dim3((N + 255) / 256);
    params.blockDim = dim3(256);
    params.kernelParams = args;
    HIP(hipGraphAddKernelNode(&node, graph, after.data(), after.size(), &params));
    return node;
}

// a <- in, scaled; b <- 3 everywhere; c = a + b; out <- c; a host function at the end.
static void by_hand()
{
    std::vector<int> in(N), out(N);
    int *a, *b, *c, n = N, by = 5;
    for (int i = 0; i < N; i++)
        in[i] = i;
    HIP(hipMalloc(&a, N * 4));
    HIP(hipMalloc(&b, N * 4));
    HIP(hipMalloc(&c, N * 4));
    hipGraph_t graph;
    hipGraphExec_t exec;
    hipGraphNode_t copy_in, set, copy_out, call;
    HIP(hipGraphCreate(&graph, 0));
    HIP(hipGraphAddMemcpyNode1D(&copy_in, graph, nullptr, 0, a, in.data(), N * 4,
                                hipMemcpyHostToDevice));
    hipMemsetParams fill = {};
    fill.dst = b;
    fill.elementSize = 4;
    fill.value = 3;
    fill.width = N;
    fill.height = 1;
    HIP(hipGraphAddMemsetNode(&set, graph, nullptr, 0, &fill));
    void *scale_args[] = {&a, &n, &by}, *sum_args[] = {&a, &b, &c, &n};
    hipGraphNode_t scaled = kernel_node(graph, {copy_in}, (void *)scale, scale_args);
    hipGraphNode_t summed = kernel_node(graph, {scaled, set}, (void *)sum2, sum_args);
    HIP(hipGraphAddMemcpyNode1D(&copy_out, graph, &summed, 1, out.data(), c, N * 4,
                                hipMemcpyDeviceToHost));
    hipHostNodeParams host = {};
    host.fn = [](void *) { host_calls++; };
    HIP(hipGraphAddHostNode(&call, graph, &copy_out, 1, &host));
    HIP(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
    for (int round = 0; round < 3; round++) {
        for (auto &v : out)
            v = -1;
        HIP(hipGraphLaunch(exec, 0));
        HIP(hipStreamSynchronize(0));
        for (int i = 0; i < N; i++)
            CHECK(out[i] == i * 5 + 3);
        CHECK(host_calls == round + 1);
    }
    // Another factor without another instantiation.
    by = 7;
    hipKernelNodeParams params = {};
    params.func = (void *)scale;
    params.gridDim = dim3((N + 255) / 256);
    params.blockDim = dim3(256);
    params.kernelParams = scale_args;
    HIP(hipGraphExecKernelNodeSetParams(exec, scaled, &params));
    HIP(hipGraphLaunch(exec, 0));
    HIP(hipStreamSynchronize(0));
    for (int i = 0; i < N; i++)
        CHECK(out[i] == i * 7 + 3);
    HIP(hipGraphExecDestroy(exec));
    HIP(hipGraphDestroy(graph));
    for (int *p : {a, b, c})
        HIP(hipFree(p));
}

// Two streams forked from a captured one and joined again, inside a parent graph, twice.
static void captured_fork()
{
    hipStream_t main_stream, side;
    hipEvent_t forked, joined;
    hipGraph_t child, parent;
    hipGraphExec_t exec;
    int *a, *b, *c;
    std::vector<int> out(N);
    HIP(hipMalloc(&a, N * 4));
    HIP(hipMalloc(&b, N * 4));
    HIP(hipMalloc(&c, N * 4));
    HIP(hipStreamCreate(&main_stream));
    HIP(hipStreamCreate(&side));
    HIP(hipEventCreate(&forked));
    HIP(hipEventCreate(&joined));
    HIP(hipStreamBeginCapture(main_stream, hipStreamCaptureModeGlobal));
    HIP(hipEventRecord(forked, main_stream));
    HIP(hipStreamWaitEvent(side, forked, 0));
    HIP(hipMemsetD32Async((hipDeviceptr_t)a, 2, N, main_stream));
    HIP(hipMemsetD32Async((hipDeviceptr_t)b, 5, N, side));
    scale<<<(N + 255) / 256, 256, 0, main_stream>>>(a, N, 10);
    scale<<<(N + 255) / 256, 256, 0, side>>>(b, N, 100);
    HIP(hipEventRecord(joined, side));
    HIP(hipStreamWaitEvent(main_stream, joined, 0));
    sum2<<<(N + 255) / 256, 256, 0, main_stream>>>(a, b, c, N);
    HIP(hipStreamEndCapture(main_stream, &child));
    size_t nodes = 0;
    HIP(hipGraphGetNodes(child, nullptr, &nodes));
    CHECK(nodes == 5);

    hipGraphNode_t first, second;
    HIP(hipGraphCreate(&parent, 0));
    HIP(hipGraphAddChildGraphNode(&first, parent, nullptr, 0, child));
    HIP(hipGraphAddChildGraphNode(&second, parent, &first, 1, child));
    HIP(hipGraphInstantiate(&exec, parent, nullptr, nullptr, 0));
    for (int round = 0; round < 3; round++) {
        HIP(hipMemset(c, 0, N * 4));
        HIP(hipGraphLaunch(exec, main_stream));
        HIP(hipStreamSynchronize(main_stream));
        HIP(hipMemcpy(out.data(), c, N * 4, hipMemcpyDeviceToHost));
        for (int v : out)
            CHECK(v == 520);
    }
    HIP(hipGraphExecDestroy(exec));
    HIP(hipGraphDestroy(parent));
    HIP(hipGraphDestroy(child));
    HIP(hipStreamDestroy(main_stream));
    HIP(hipStreamDestroy(side));
    HIP(hipEventDestroy(forked));
    HIP(hipEventDestroy(joined));
    for (int *p : {a, b, c})
        HIP(hipFree(p));
}

// More kernels in one graph than a hardware queue holds packets at once.
static void large()
{
    hipStream_t stream;
    hipGraph_t graph;
    hipGraphExec_t exec;
    unsigned *value, expected = 1, out;
    const int links = 1500;
    HIP(hipMalloc(&value, 4));
    HIP(hipStreamCreate(&stream));
    HIP(hipMemcpy(value, &expected, 4, hipMemcpyHostToDevice));
    HIP(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    for (int i = 0; i < links; i++)
        scale<<<1, 1, 0, stream>>>((int *)value, 1, 3);
    HIP(hipStreamEndCapture(stream, &graph));
    HIP(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
    HIP(hipGraphLaunch(exec, stream));
    HIP(hipGraphLaunch(exec, stream));
    HIP(hipStreamSynchronize(stream));
    for (int i = 0; i < 2 * links; i++)
        expected *= 3;
    HIP(hipMemcpy(&out, value, 4, hipMemcpyDeviceToHost));
    CHECK(out == expected);
    HIP(hipGraphExecDestroy(exec));
    HIP(hipGraphDestroy(graph));
    HIP(hipStreamDestroy(stream));
    HIP(hipFree(value));
}

int main()
{
    by_hand();
    captured_fork();
    large();
}

// A captured stream, replayed.
#include "check.h"

__global__ void step(unsigned *value, unsigned multiply, unsigned add)
{
    *value = *value * multiply + add;
}

int main()
{
    unsigned *device, expected = 1, out = 0;
    hipStream_t stream;
    hipGraph_t graph;
    hipGraphExec_t exec;
    HIP(hipMalloc(&device, sizeof *device));
    HIP(hipMemcpy(device, &expected, sizeof expected, hipMemcpyHostToDevice));
    HIP(hipStreamCreate(&stream));
    HIP(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    for (unsigned i = 0; i < 10; i++)
        step<<<1, 1, 0, stream>>>(device, 3, i);
    HIP(hipStreamEndCapture(stream, &graph));
    HIP(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
    for (int round = 0; round < 4; round++) {
        HIP(hipGraphLaunch(exec, stream));
        for (unsigned i = 0; i < 10; i++)
            expected = expected * 3 + i;
    }
    HIP(hipStreamSynchronize(stream));
    HIP(hipMemcpy(&out, device, sizeof out, hipMemcpyDeviceToHost));
    CHECK(out == expected);
    HIP(hipGraphExecDestroy(exec));
    HIP(hipGraphDestroy(graph));
    HIP(hipStreamDestroy(stream));
    HIP(hipFree(device));
}

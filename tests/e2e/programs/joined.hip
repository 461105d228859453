// One thread works and waits; the program's own joins it, and copies what came out.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <thread>

__global__ void step(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] = x[i] * 0.5f + 1.0f;
}

static void work(float *x, int n, int steps)
{
    hipStream_t stream;
    (void)hipStreamCreateWithFlags(&stream, hipStreamNonBlocking);
    for (int i = 0; i < steps; i++) {
        step<<<(n + 255) / 256, 256, 0, stream>>>(x, n);
        (void)hipStreamSynchronize(stream);
    }
    (void)hipStreamDestroy(stream);
}

int main()
{
    enum { COUNT = 1 << 16, STEPS = 40 };
    static float host[COUNT];
    float *x, *other;
    if (hipMalloc(&x, sizeof host) || hipMalloc(&other, sizeof host) ||
        hipMemcpy(x, host, sizeof host, hipMemcpyHostToDevice))
        return 1;
    std::thread worker(work, x, COUNT, STEPS);
    worker.join();
    /* Nothing orders this behind the worker's stream but the join. */
    hipStream_t stream;
    (void)hipStreamCreateWithFlags(&stream, hipStreamNonBlocking);
    (void)hipMemcpyAsync(other, host, sizeof host, hipMemcpyHostToDevice, stream);
    (void)hipStreamSynchronize(stream);
    (void)hipMemcpy(host, x, sizeof host, hipMemcpyDeviceToHost);
    printf("%s\n", host[COUNT - 1] > 1.99f && host[0] == host[COUNT - 1] ? "PASS" : "FAIL");
    return host[0] != host[COUNT - 1];
}

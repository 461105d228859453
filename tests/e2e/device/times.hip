// Prints event times. The test runs it twice: the modelled times must be the same to the last bit.
#include "check.h"

#include <cmath>

__global__ void work(float *data, int n, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float x = data[i];
    for (int r = 0; r < rounds; r++)
        x = x * 1.0001f + 0.5f;
    data[i] = x;
}

static float measure(float *data, int n, int rounds)
{
    hipEvent_t begin, end;
    float ms;
    HIP(hipEventCreate(&begin));
    HIP(hipEventCreate(&end));
    HIP(hipEventRecord(begin));
    work<<<(n + 255) / 256, 256>>>(data, n, rounds);
    HIP(hipEventRecord(end));
    HIP(hipEventSynchronize(end));
    HIP(hipEventElapsedTime(&ms, begin, end));
    HIP(hipEventDestroy(begin));
    HIP(hipEventDestroy(end));
    return ms;
}

int main()
{
    const int n = 1 << 14;
    float *data;
    HIP(hipMalloc(&data, n * sizeof(float)));
    HIP(hipMemset(data, 0, n * sizeof(float)));
    float once = measure(data, n, 10);
    for (int rounds : {10, 100, 1000}) {
        float ms = measure(data, n, rounds);
        CHECK(ms > 0);
        // The device clock ticks every 10 ns, and the runtime's conversion keeps whole ticks.
        double ticks = (double)ms * 1e5;
        CHECK(fabs(ticks - round(ticks)) < 1e-3 * (1 + ticks * 1e-4));
        CHECK(rounds != 10 || ms == once);
        CHECK(rounds == 10 || ms > once);
        printf("%d rounds: %.6f ms\n", rounds, ms);
    }
    HIP(hipFree(data));
}

// Vector addition, also with a grid that is not a multiple of the block.
#include "check.h"

#include <vector>

__global__ void vadd(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

static void run(int n, int block)
{
    std::vector<float> a(n), b(n), c(n, -1.0f);
    for (int i = 0; i < n; i++) {
        a[i] = (float)i;
        b[i] = 0.5f * (float)(n - i);
    }
    float *da, *db, *dc;
    HIP(hipMalloc(&da, n * sizeof(float)));
    HIP(hipMalloc(&db, n * sizeof(float)));
    HIP(hipMalloc(&dc, n * sizeof(float)));
    HIP(hipMemcpy(da, a.data(), n * sizeof(float), hipMemcpyHostToDevice));
    HIP(hipMemcpy(db, b.data(), n * sizeof(float), hipMemcpyHostToDevice));
    vadd<<<(n + block - 1) / block, block>>>(da, db, dc, n);
    HIP(hipGetLastError());
    HIP(hipMemcpy(c.data(), dc, n * sizeof(float), hipMemcpyDeviceToHost));
    for (int i = 0; i < n; i++)
        CHECK(c[i] == a[i] + b[i]);
    HIP(hipFree(da));
    HIP(hipFree(db));
    HIP(hipFree(dc));
}

int main()
{
    for (int block : {1, 64, 100, 256, 1024})
        for (int n : {1, 63, 64, 1000, 10007})
            run(n, block);
    run(1 << 20, 256);
}

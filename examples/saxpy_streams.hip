// y = a x + y in four pieces on four streams, timed with events. One rounding per element (fused
// multiply-add), so the CPU's fmaf gives the same bits.
#include "check.h"

#include <cmath>
#include <vector>

__global__ void saxpy(float a, const float *x, float *y, size_t n)
{
    size_t stride = static_cast<size_t>(gridDim.x) * blockDim.x;
    for (size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x; i < n; i += stride)
        y[i] = fmaf(a, x[i], y[i]);
}

int main()
{
    constexpr int streams = 4;
    constexpr size_t piece = 100000, n = streams * piece;
    std::vector<float> x(n), y(n), result(n);
    Random random;
    for (size_t i = 0; i < n; i++) {
        x[i] = random.unit();
        y[i] = random.unit();
    }
    float *dx, *dy;
    hipStream_t stream[streams];
    hipEvent_t begin, end;
    HIP_CHECK(hipMalloc(&dx, n * sizeof(float)));
    HIP_CHECK(hipMalloc(&dy, n * sizeof(float)));
    HIP_CHECK(hipEventCreate(&begin));
    HIP_CHECK(hipEventCreate(&end));
    HIP_CHECK(hipMemcpy(dx, x.data(), n * sizeof(float), hipMemcpyHostToDevice));
    HIP_CHECK(hipMemcpy(dy, y.data(), n * sizeof(float), hipMemcpyHostToDevice));
    HIP_CHECK(hipEventRecord(begin));
    for (int s = 0; s < streams; s++) {
        HIP_CHECK(hipStreamCreate(&stream[s]));
        saxpy<<<128, 256, 0, stream[s]>>>(2.5f, dx + s * piece, dy + s * piece, piece);
        HIP_CHECK(hipGetLastError());
    }
    for (int s = 0; s < streams; s++)
        HIP_CHECK(hipStreamSynchronize(stream[s]));
    HIP_CHECK(hipEventRecord(end));
    HIP_CHECK(hipEventSynchronize(end));
    float ms = -1;
    HIP_CHECK(hipEventElapsedTime(&ms, begin, end));
    HIP_CHECK(hipMemcpy(result.data(), dy, n * sizeof(float), hipMemcpyDeviceToHost));
    bool ok = ms >= 0;
    for (size_t i = 0; i < n; i++)
        ok = ok && result[i] == fmaf(2.5f, x[i], y[i]);
    for (int s = 0; s < streams; s++)
        HIP_CHECK(hipStreamDestroy(stream[s]));
    HIP_CHECK(hipFree(dx));
    HIP_CHECK(hipFree(dy));
    return report("saxpy_streams", ok);
}

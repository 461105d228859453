// heat_stencil_double: a temperature field that was measured in steps of 1/16 degree is stored in
// double. The fix stores it in float, which holds the same values in half of the bytes.
#include <hip/hip_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        hipError_t status_ = (call);                                                               \
        if (status_ != hipSuccess) {                                                               \
            std::fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(status_));                   \
            std::exit(1);                                                                          \
        }                                                                                          \
    } while (0)

#ifdef FIXED
typedef float Real;
#else
typedef double Real;
#endif

// One explicit step of the heat equation; the edge keeps its temperature.
__global__ __launch_bounds__(256) void heat_step(const Real *__restrict__ from,
                                                 Real *__restrict__ to, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y0 = blockIdx.y * 8;
    const Real *p = from + (size_t)y0 * width + x;
    Real above = p[y0 > 0 ? -width : 0], here = p[0];
#pragma unroll
    for (int y = y0; y < y0 + 8; y++, p += width) {
        Real below = p[y + 1 < height ? width : 0]; // planted: hbm_bandwidth
        Real left = p[x > 0 ? -1 : 0], right = p[x + 1 < width ? 1 : 0];
        bool edge = x == 0 || y == 0 || x == width - 1 || y == height - 1;
        Real step = (above + below + left + right - 4 * here) * (Real)0.125;
        to[(size_t)y * width + x] = edge ? here : here + step;
        above = here;
        here = below;
    }
}

int main()
{
    const int width = 2048, height = 2432, steps = 2;
    size_t n = (size_t)width * height;
    std::vector<Real> field(n), result(n);
    for (size_t i = 0; i < n; i++)
        field[i] = (Real)(i * 2654435761u % 4096) / 16;
    Real *d[2];
    for (int i = 0; i < 2; i++)
        CHECK(hipMalloc(&d[i], n * sizeof(Real)));
    CHECK(hipMemcpy(d[0], field.data(), n * sizeof(Real), hipMemcpyHostToDevice));
    for (int step = 0; step < steps; step++) {
        heat_step<<<dim3(width / 256, height / 8), 256>>>(d[step % 2], d[1 - step % 2], width,
                                                          height);
        CHECK(hipGetLastError());
    }
    CHECK(hipMemcpy(result.data(), d[steps % 2], n * sizeof(Real), hipMemcpyDeviceToHost));
    for (int i = 0; i < 2; i++)
        CHECK(hipFree(d[i]));
    std::vector<Real> want(field);
    for (int step = 0; step < steps; step++, field = want)
        for (int y = 1; y < height - 1; y++)
            for (int x = 1; x < width - 1; x++) {
                const Real *p = &field[(size_t)y * width + x];
                want[(size_t)y * width + x] =
                    p[0] + (p[-1] + p[1] + p[-width] + p[width] - 4 * p[0]) * (Real)0.125;
            }
    for (size_t i = 0; i < n; i++)
        if (std::fabs(result[i] - want[i]) > 1e-3) {
            std::fprintf(stderr, "cell %zu: %g, not %g\n", i, (double)result[i], (double)want[i]);
            return 1;
        }
    std::puts("ok");
    return 0;
}

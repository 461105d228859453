// su3_exponential: the kernel asks for eight waves per SIMD, which leaves 64 registers for three complex matrices in double, and spills in its loop. The fix asks for nothing but the size of the workgroup.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <hip/hip_runtime.h>
#include <vector>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        hipError_t e_ = (call);                                                                    \
        if (e_ != hipSuccess) {                                                                    \
            fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(e_));                             \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

enum { THREADS = 256, TERMS = 14, WORDS = 18 };

#ifdef FIXED
#define BOUNDS __launch_bounds__(THREADS)
#else
#define BOUNDS __launch_bounds__(THREADS, 8)
#endif

// A complex 3 by 3 matrix of a link of the lattice; re and im of element (i, j) at 3 i + j.
struct Matrix {
    double re[9], im[9];
};

__host__ __device__ inline Matrix link(uint32_t site)
{
    Matrix m;
    for (uint32_t i = 0; i < 9; i++) {
        uint32_t h = (site * 9 + i) * 2654435761u;
        h ^= h >> 15;
        m.re[i] = (double)(h & 1023) / 2048 - 0.25;
        m.im[i] = (double)(h >> 10 & 1023) / 2048 - 0.25;
    }
    return m;
}

// exp(a) by its Taylor series, as the Horner scheme: x = 1 + a x / n for n from TERMS down to 1.
__host__ __device__ inline void exponential(const Matrix &a, Matrix &x)
{
    for (int i = 0; i < 9; i++)
        x.re[i] = i % 4 == 0, x.im[i] = 0;
#pragma unroll 1
    for (int n = TERMS; n > 0; n--) {
        Matrix y;
        const double f = 1.0 / n;
#pragma unroll
        for (int i = 0; i < 3; i++)
#pragma unroll
            for (int j = 0; j < 3; j++) {
                double re = 0, im = 0;
#pragma unroll
                for (int k = 0; k < 3; k++) {
                    re += a.re[3 * i + k] * x.re[3 * k + j] - a.im[3 * i + k] * x.im[3 * k + j];
                    im += a.re[3 * i + k] * x.im[3 * k + j] + a.im[3 * i + k] * x.re[3 * k + j];
                }
                y.re[3 * i + j] = f * re + (i == j);
                y.im[3 * i + j] = f * im;
            }
        x = y;
    }
}

__global__ void BOUNDS exponentiate(double *out, uint32_t sites) // planted: register_spills
{
    const uint32_t site = blockIdx.x * THREADS + threadIdx.x;
    const Matrix a = link(site);
    Matrix x;
    exponential(a, x);
#pragma unroll
    for (int i = 0; i < 9; i++) {
        out[(size_t)i * sites + site] = x.re[i];
        out[(size_t)(9 + i) * sites + site] = x.im[i];
    }
}

int main()
{
    const uint32_t sites = 608 * THREADS;
    double *out;
    CHECK(hipMalloc(&out, (size_t)WORDS * sites * sizeof(double)));
    exponentiate<<<sites / THREADS, THREADS>>>(out, sites);
    CHECK(hipGetLastError());
    std::vector<double> got((size_t)WORDS * sites);
    CHECK(hipMemcpy(got.data(), out, got.size() * sizeof(double), hipMemcpyDeviceToHost));
    for (uint32_t site = 0; site < sites; site++) {
        Matrix x;
        exponential(link(site), x);
        for (uint32_t i = 0; i < WORDS; i++) {
            const double want = i < 9 ? x.re[i] : x.im[i - 9];
            if (!(fabs(got[(size_t)i * sites + site] - want) < 1e-12)) {
                fprintf(stderr, "site %u, word %u: %g, not %g\n", site, i,
                        got[(size_t)i * sites + site], want);
                return 1;
            }
        }
    }
    CHECK(hipFree(out));
    puts("ok");
    return 0;
}

// The device's math library over every exponent, against the host's libm in a wider type. The
// library's code is ordinary vector code, so a large error means an instruction that computes
// wrong.
#include "sweep.h"

// X(function, bound in units of the last place, absolute bound near zeros)
#define UNARY(X)                                                                                   \
    X(sin, 4, 0)                                                                                   \
    X(cos, 4, 0)                                                                                   \
    X(tan, 5, 0)                                                                                   \
    X(asin, 4, 0)                                                                                  \
    X(acos, 4, 0)                                                                                  \
    X(atan, 4, 0)                                                                                  \
    X(sinh, 4, 0)                                                                                  \
    X(cosh, 4, 0)                                                                                  \
    X(tanh, 4, 0)                                                                                  \
    X(asinh, 4, 0)                                                                                 \
    X(acosh, 4, 0)                                                                                 \
    X(atanh, 4, 0)                                                                                 \
    X(exp, 3, 0)                                                                                   \
    X(exp2, 3, 0)                                                                                  \
    X(expm1, 3, 0)                                                                                 \
    X(log, 3, 0)                                                                                   \
    X(log2, 3, 0)                                                                                  \
    X(log10, 3, 0)                                                                                 \
    X(log1p, 3, 0)                                                                                 \
    X(cbrt, 3, 0)                                                                                  \
    X(erf, 16, 0)                                                                                  \
    X(erfc, 16, 0)                                                                                 \
    X(lgamma, 16, 1e-6)                                                                            \
    X(tgamma, 16, 0)                                                                               \
    X(sqrt, 0.5, 0)                                                                                \
    X(rint, 0, 0)                                                                                  \
    X(round, 0, 0)                                                                                 \
    X(trunc, 0, 0)                                                                                 \
    X(floor, 0, 0)                                                                                 \
    X(ceil, 0, 0)                                                                                  \
    X(fabs, 0, 0)                                                                                  \
    X(logb, 0, 0)

#define BINARY(X)                                                                                  \
    X(atan2, 6, 0)                                                                                 \
    X(pow, 16, 0)                                                                                  \
    X(hypot, 4, 0)                                                                                 \
    X(fmod, 0, 0)                                                                                  \
    X(remainder, 0, 0)                                                                             \
    X(fdim, 0.5, 0)                                                                                \
    X(copysign, 0, 0)

#define KERNELS1(name, ulp, zero)                                                                  \
    __global__ void k_##name##f(const float *x, float *y, int n)                                   \
    {                                                                                              \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                                             \
        if (i < n)                                                                                 \
            y[i] = name##f(x[i]);                                                                  \
    }                                                                                              \
    __global__ void k_##name(const double *x, double *y, int n)                                    \
    {                                                                                              \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                                             \
        if (i < n)                                                                                 \
            y[i] = name(x[i]);                                                                     \
    }
#define KERNELS2(name, ulp, zero)                                                                  \
    __global__ void k_##name##f(const float *a, const float *b, float *y, int n)                   \
    {                                                                                              \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                                             \
        if (i < n)                                                                                 \
            y[i] = name##f(a[i], b[i]);                                                            \
    }                                                                                              \
    __global__ void k_##name(const double *a, const double *b, double *y, int n)                   \
    {                                                                                              \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                                             \
        if (i < n)                                                                                 \
            y[i] = name(a[i], b[i]);                                                               \
    }
UNARY(KERNELS1)
BINARY(KERNELS2)

int main()
{
    std::vector<float> f = sweep<float, uint32_t>(23, 256), g = f;
    std::vector<double> d = sweep<double, uint64_t>(52, 2048), h = d;
    rng r(7);
    for (size_t i = g.size() - 1; i; i--)
        std::swap(g[i], g[r.u64() % (i + 1)]);
    for (size_t i = h.size() - 1; i; i--)
        std::swap(h[i], h[r.u64() % (i + 1)]);
#define RUN1(name, ulp, zero)                                                                      \
    one<float, double>(#name "f", k_##name##f, (double (*)(double))::name, f, ulp, zero);          \
    one<double, long double>(#name, k_##name, ::name##l, d, ulp, (zero)*1e-9);
#define RUN2(name, ulp, zero)                                                                      \
    two<float, double>(#name "f", k_##name##f, (double (*)(double, double))::name, f, g, ulp,      \
                       zero);                                                                      \
    two<double, long double>(#name, k_##name, ::name##l, d, h, ulp, (zero)*1e-9);
    UNARY(RUN1)
    BINARY(RUN2)
    return drive_end();
}

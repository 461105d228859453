// The math library, divisions and conversions.
#include <hip/hip_runtime.h>

__global__ void math_d(const double *x, double *y, int n)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) {
        double v = x[i];
        y[i] = sin(v) + exp(v) + log(fabs(v) + 1.0) + pow(fabs(v) + 1.0, 1.7);
    }
}
__global__ void math_d2(const double *x, double *y, int n)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) {
        double v = x[i];
        y[i] = cos(v) * tan(v) + sqrt(fabs(v)) + cbrt(v) + atan2(v, 2.0) + erf(v) + tgamma(v) +
               floor(v) + rint(v) + fmod(v, 3.0) + ldexp(v, 3) + 1.0 / v + rsqrt(v + 9.0);
    }
}
__global__ void math_f(const float *x, float *y, int n)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) {
        float v = x[i];
        y[i] = sinf(v) + cosf(v) + expf(v) + logf(fabsf(v) + 1.f) + powf(fabsf(v) + 1.f, 1.7f) +
               tanf(v) + atan2f(v, 2.f) + asinf(v * 0.1f) + fmodf(v, 3.f) + cbrtf(v) + exp2f(v) +
               log2f(v) + rintf(v) + floorf(v) + ceilf(v) + truncf(v) + fminf(v, 1.f) +
               copysignf(v, 2.f) + ldexpf(v, 4) + frexpf(v, &i) + hypotf(v, 3.f);
    }
}
__global__ void math_fast(const float *x, float *y, int n)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) {
        float v = x[i];
        y[i] = __sinf(v) + __cosf(v) + __expf(v) + __logf(v) + __powf(v, 1.3f) +
               __fdividef(v, 3.f) + __frcp_rn(v) + __fsqrt_rn(v) + __saturatef(v) + sqrtf(v) +
               v / 7.3f;
    }
}
__global__ void math_h(const _Float16 *x, _Float16 *y, int n)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) {
        _Float16 v = x[i];
        y[i] = __builtin_sqrtf16(v) + __builtin_sinf16(v) + __builtin_exp2f16(v) +
               (_Float16)1.0 / v + __builtin_rintf16(v) + __builtin_fmaf16(v, v, v) +
               __builtin_fmaxf16(v, (_Float16)0.5) + (_Float16)(short)v;
    }
}
__global__ void idiv32(const int *a, const int *b, int *q, int *r, int n)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) {
        q[i] = a[i] / b[i];
        r[i] = a[i] % b[i];
        q[i] += a[i] / 7 + (unsigned)a[i] / 10u;
    }
}
__global__ void idiv64(const long long *a, const long long *b, long long *q, unsigned long long *r,
                       int n)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) {
        q[i] = a[i] / b[i];
        r[i] = (unsigned long long)a[i] % (unsigned long long)b[i];
        q[i] += a[i] / 1000003LL + a[i] * b[i] + __mul64hi(a[i], b[i]);
    }
}
__global__ void divs(const double *a, const double *b, double *c, const float *d, float *e, int n)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) {
        c[i] = a[i] / b[i] + sqrt(b[i]);
        e[i] = d[i] / e[i] + sqrtf(d[i]);
    }
}
__global__ void cvts(const double *a, const float *b, const int *c, const unsigned long long *d,
                     void *o_, int n)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    char *o = (char *)o_ + i * 128;
    ((int *)o)[0] = (int)a[i];
    ((unsigned *)o)[1] = (unsigned)a[i];
    ((long long *)o)[1] = (long long)a[i];
    ((unsigned long long *)o)[2] = (unsigned long long)b[i];
    ((float *)o)[6] = (float)d[i];
    ((double *)o)[4] = (double)d[i];
    ((double *)o)[5] = (double)c[i];
    ((float *)o)[12] = (float)a[i];
    ((double *)o)[7] = (double)b[i];
    ((_Float16 *)o)[32] = (_Float16)b[i];
    ((unsigned char *)o)[70] = (unsigned char)b[i];
    ((short *)o)[36] = (short)c[i];
    ((float *)o)[20] = (float)((_Float16 *)b)[i];
    ((float *)o)[21] = (float)((const unsigned char *)c)[i];
    ((float *)o)[22] = (float)((const signed char *)c)[i];
}
__global__ void fp8cvt(const float *a, int *o, float *q)
{
    int i = blockIdx.x * 256 + threadIdx.x;
#ifndef __gfx90a__
    int p = __builtin_amdgcn_cvt_pk_fp8_f32(a[i * 2], a[i * 2 + 1], 0, false);
    p = __builtin_amdgcn_cvt_pk_bf8_f32(a[i * 2], a[i * 2 + 1], p, true);
    o[i] = __builtin_amdgcn_cvt_sr_fp8_f32(a[i], o[i], p, 1);
    q[i] = __builtin_amdgcn_cvt_f32_fp8(p, 0) + __builtin_amdgcn_cvt_f32_bf8(p, 3);
#endif
}

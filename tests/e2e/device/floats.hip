// Float modes. Built twice: as usual, where denormals count, and with -fgpu-flush-denormals-to-zero
// (-DFLUSH), where those of f32 do not. The host's own modes, which -ffast-math and fesetround
// change before the device's threads start, are no concern of the device.
#include "check.h"

#include <xmmintrin.h>

#include <cmath>
#include <cstring>

enum { N = 256, OPS = 5, USUAL = 0x1f80, ODD = USUAL | 0x8040 | 0x4000 }; // FTZ, DAZ, upward

__global__ void operate(const float *a, const float *b, float *out, const double *wide,
                        double *wide_out)
{
    const int i = threadIdx.x + blockIdx.x * blockDim.x;
    out[i] = a[i] * b[i];
    out[N + i] = a[i] + b[i] * 1e-39f;
    out[2 * N + i] = a[i] / b[i];
    out[3 * N + i] = fmaf(a[i], b[i], a[i]);
    out[4 * N + i] = sqrtf(a[i]);
    wide_out[i] = wide[i] / 3;
}

static float flush(float x)
{
#ifdef FLUSH
    return x < 0x1p-126f && x > -0x1p-126f ? copysignf(0, x) : x;
#else
    return x;
#endif
}

static float expected(int op, float a, float b)
{
    const float small = flush(1e-39f), x = flush(a);
    switch (op) {
    case 0:
        return flush(x * b);
    case 1:
        return flush(fmaf(b, small, x));
    case 2:
        return flush(x / b);
    case 3:
        return flush(fmaf(x, b, x));
    default:
        return flush(sqrtf(x));
    }
}

// Many workgroups, so that several threads execute them and apply their atomics.
__global__ void add_up(float *sums, int turns)
{
    float x = threadIdx.x;
    for (int i = 0; i < turns; i++)
        x = x * 1.0000001f + 1e-3f;
    unsafeAtomicAdd(&sums[threadIdx.x], x == -1 ? x : 0.1f);
}

static void atomics()
{
    const int lanes = 64, groups = 1024;
    float *sums, got[lanes], want = 0;
    HIP(hipMalloc(&sums, sizeof got));
    HIP(hipMemset(sums, 0, sizeof got));
    add_up<<<groups, lanes>>>(sums, 200);
    HIP(hipMemcpy(got, sums, sizeof got, hipMemcpyDeviceToHost));
    HIP(hipFree(sums));
    _mm_setcsr(USUAL);
    for (int i = 0; i < groups; i++)
        want += 0.1f;
    for (float sum : got)
        CHECK(memcmp(&sum, &want, sizeof want) == 0);
    _mm_setcsr(ODD);
}

int main()
{
    static float a[N], b[N], out[OPS * N];
    static double wide[N], wide_out[N];
    void *d[5];
    const size_t bytes[5] = {sizeof a, sizeof b, sizeof out, sizeof wide, sizeof wide_out};
    for (int i = 0; i < N; i++) {
        a[i] = ldexpf(1.0f + i / 300.0f, -148 + i % 40);
        b[i] = 0.7f + i / 100.0f;
        wide[i] = ldexp(1.0 + i / 300.0, -1073 + i % 60);
    }
    _mm_setcsr(ODD);
    for (int i = 0; i < 5; i++)
        HIP(hipMalloc(&d[i], bytes[i]));
    HIP(hipMemcpy(d[0], a, sizeof a, hipMemcpyHostToDevice));
    HIP(hipMemcpy(d[1], b, sizeof b, hipMemcpyHostToDevice));
    HIP(hipMemcpy(d[3], wide, sizeof wide, hipMemcpyHostToDevice));
    operate<<<N / 64, 64>>>((float *)d[0], (float *)d[1], (float *)d[2], (double *)d[3],
                            (double *)d[4]);
    HIP(hipDeviceSynchronize());
    atomics();
    HIP(hipMemcpy(out, d[2], sizeof out, hipMemcpyDeviceToHost));
    HIP(hipMemcpy(wide_out, d[4], sizeof wide_out, hipMemcpyDeviceToHost));
    _mm_setcsr(USUAL);
    int denormals = 0;
    for (int i = 0; i < N; i++) {
        for (int op = 0; op < OPS; op++) {
            const float want = expected(op, a[i], b[i]), got = out[op * N + i];
            // a[i] + b[i] * 1e-39f is contracted, or is not: one rounding or two.
            const bool close = op == 1 && fabsf(want - got) <= 0x1p-149f + 1e-7f * fabsf(want);
            if (memcmp(&want, &got, sizeof want) != 0 && !close) {
                printf("operation %d of %a and %a: %a, expected %a\n", op, a[i], b[i], got, want);
                return 1;
            }
            denormals += got != 0 && fabsf(got) < 0x1p-126f;
        }
        const double third = wide[i] / 3;
        CHECK(memcmp(&third, &wide_out[i], sizeof third) == 0);
    }
#ifdef FLUSH
    CHECK(denormals == 0);
#else
    CHECK(denormals > 100);
#endif
    for (int i = 0; i < 5; i++)
        HIP(hipFree(d[i]));
    return 0;
}

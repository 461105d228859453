// markov_steps: distributions over 16 states go through 36 steps of a Markov chain, one matrix
// product a step. The fix multiplies by the fourth power of the transition matrix, a quarter of the
// products.
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

typedef _Float16 half4 __attribute__((ext_vector_type(4)));
typedef float float4v __attribute__((ext_vector_type(4)));

#ifdef FIXED
enum { POWER = 4 };
#else
enum { POWER = 1 };
#endif
enum { STATES = 16, TILES = 8, STEPS = 36, THREADS = 256, GROUPS = 608 };

static void transition(double m[STATES][STATES])
{
    for (int to = 0; to < STATES; to++)
        for (int from = 0; from < STATES; from++)
            m[to][from] = to == from ? 0.5 : to == (from + 1) % STATES ? 0.5 : 0;
}

static void product(const double a[STATES][STATES], double b[STATES][STATES])
{
    double c[STATES][STATES] = {};
    for (int i = 0; i < STATES; i++)
        for (int j = 0; j < STATES; j++)
            for (int k = 0; k < STATES; k++)
                c[i][j] += a[i][k] * b[k][j];
    for (int i = 0; i < STATES; i++)
        for (int j = 0; j < STATES; j++)
            b[i][j] = c[i][j];
}

__device__ inline float4v multiply(half4 a, half4 b)
{
    const float4v zero = {};
    return __builtin_amdgcn_mfma_f32_16x16x16f16(a, b, zero, 0, 0, 0); // planted: mfma_throughput
}

// A wave holds TILES tiles of 16 distributions; what a product leaves in a lane is what the
// next product wants there, so that only a conversion to half precision lies between.
__global__ void __launch_bounds__(THREADS) walk(const _Float16 *matrix, float *out)
{
    const int lane = threadIdx.x % 64, column = lane % 16, row = lane / 16 * 4;
    const half4 a = *(const half4 *)(matrix + column * STATES + row);
    half4 p[TILES];
    float4v sum[TILES];
    for (int t = 0; t < TILES; t++)
        for (int i = 0; i < 4; i++)
            p[t][i] = (_Float16)(row + i == (column + t) % STATES ? 1 : 0);
#pragma unroll 1
    for (int step = 0; step < STEPS; step += POWER)
#pragma unroll
        for (int t = 0; t < TILES; t++) {
            sum[t] = multiply(a, p[t]);
            const auto low = __builtin_amdgcn_cvt_pkrtz(sum[t][0], sum[t][1]);
            const auto high = __builtin_amdgcn_cvt_pkrtz(sum[t][2], sum[t][3]);
            p[t] = half4{(_Float16)low[0], (_Float16)low[1], (_Float16)high[0], (_Float16)high[1]};
        }
    out += (size_t)(blockIdx.x * THREADS + threadIdx.x) / 64 * 256;
    for (int t = 1; t < TILES; t++)
        sum[0] += sum[t];
    *(float4v *)(out + column * STATES + row) = sum[0];
}

int main()
{
    double m[STATES][STATES], power[STATES][STATES];
    transition(m);
    transition(power);
    for (int i = 1; i < POWER; i++)
        product(m, power);
    _Float16 host[STATES * STATES], *matrix;
    for (int i = 0; i < STATES * STATES; i++)
        host[i] = (_Float16)power[i / STATES][i % STATES];
    const size_t n = (size_t)GROUPS * THREADS / 64 * 256;
    float *out;
    CHECK(hipMalloc(&matrix, sizeof(host)));
    CHECK(hipMalloc(&out, sizeof(float) * n));
    CHECK(hipMemcpy(matrix, host, sizeof(host), hipMemcpyHostToDevice));
    walk<<<GROUPS, THREADS>>>(matrix, out);
    CHECK(hipGetLastError());
    std::vector<float> got(n);
    CHECK(hipMemcpy(got.data(), out, sizeof(float) * n, hipMemcpyDeviceToHost));
    transition(power);
    for (int i = 1; i < STEPS; i++)
        product(m, power);
    for (size_t i = 0; i < n; i += 29) {
        const int column = i / STATES % 16, row = i % STATES;
        double want = 0;
        for (int t = 0; t < TILES; t++)
            want += power[row][(column + t) % STATES];
        if (!(fabs(got[i] - want) < 0.1 * want)) {
            fprintf(stderr, "value %zu: %g, not %g\n", i, got[i], want);
            return 1;
        }
    }
    CHECK(hipFree(matrix));
    CHECK(hipFree(out));
    puts("ok");
    return 0;
}

// What gfx950 has for machine learning, through HIP's types and the compiler's builtins, against the
// processor: bf16, OCP fp8, the larger matrix shapes with and without scales, transposing reads of
// LDS, wide loads to LDS, lanes that change places. Each line ends in how many results differ.
#include <hip/hip_bf16.h>
#include <hip/hip_fp8.h>
#include <hip/hip_runtime.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        hipError_t e_ = (call);                                                                    \
        if (e_ != hipSuccess) {                                                                    \
            printf("%s: %s\n", #call, hipGetErrorString(e_));                                      \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

typedef __bf16 bf16x8 __attribute__((ext_vector_type(8)));
typedef _Float16 f16x8 __attribute__((ext_vector_type(8)));
typedef float f32x4 __attribute__((ext_vector_type(4)));
typedef int i32x4 __attribute__((ext_vector_type(4)));
typedef int i32x8 __attribute__((ext_vector_type(8)));
typedef short i16x4 __attribute__((ext_vector_type(4)));

template <class T> struct Managed {
    T *p = nullptr;
    explicit Managed(size_t n) { CHECK(hipMallocManaged(&p, n * sizeof(T))); }
    ~Managed() { (void)hipFree(p); }
    T &operator[](size_t i) { return p[i]; }
};

static unsigned differing;

static void report(const char *what, unsigned wrong)
{
    differing += wrong;
    printf("%s: %u differ\n", what, wrong);
}

// ---- conversions ----

__global__ void convert(const float *in, __hip_bfloat16 *brain, float *back, __hip_fp8_e4m3 *eight,
                        float *eight_back, __hip_fp8_e5m2 *wide, float *wide_back, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    brain[i] = __float2bfloat16(in[i]);
    back[i] = __bfloat162float(brain[i]);
    eight[i] = __hip_fp8_e4m3(in[i]);
    eight_back[i] = float(eight[i]);
    wide[i] = __hip_fp8_e5m2(in[i]);
    wide_back[i] = float(wide[i]);
}

static float brain_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, 4);
    bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u;
    memcpy(&x, &bits, 4);
    return x;
}

// The nearest number of a format by trying all of them; HIP's types stop at the largest.
static float small_of(float x, int mantissa, int bias, unsigned last)
{
    float best = 0;
    double distance = fabs(x);
    for (unsigned code = 1; code <= last; code++) {
        const int e = code >> mantissa, m = code & ((1 << mantissa) - 1);
        const double v = e ? ldexp(m + (1 << mantissa), e - bias - mantissa)
                           : ldexp(m, 1 - bias - mantissa);
        const double d = fabs(fabs(x) - v);
        if (d < distance || (d == distance && code % 2 == 0)) {
            distance = d;
            best = float(v);
        }
    }
    return std::copysign(best, x);
}

static void conversions()
{
    enum { N = 4000 };
    Managed<float> in(N), back(N), eight_back(N), wide_back(N);
    Managed<__hip_bfloat16> brain(N);
    Managed<__hip_fp8_e4m3> eight(N);
    Managed<__hip_fp8_e5m2> wide(N);
    for (int i = 0; i < N; i++)
        in[i] = std::ldexp(float(i * 2654435761u >> 8) / 16777216.0f - 0.5f, i % 24 - 12);
    convert<<<(N + 255) / 256, 256>>>(in.p, brain.p, back.p, eight.p, eight_back.p, wide.p,
                                      wide_back.p, N);
    CHECK(hipDeviceSynchronize());
    unsigned wrong[3] = {0, 0, 0};
    for (int i = 0; i < N; i++) {
        wrong[0] += back[i] != brain_of(in[i]);
        wrong[1] += eight_back[i] != small_of(in[i], 3, 7, 0x7e);
        wrong[2] += wide_back[i] != small_of(in[i], 2, 15, 0x7b);
    }
    report("bf16", wrong[0]);
    report("fp8 e4m3", wrong[1]);
    report("fp8 e5m2", wrong[2]);
}

// ---- matrices: small integers, whose sums are exact ----

// 16 x K times K x 16, one wave; a lane holds K / 4 neighbours of a row of A and a column of B.
template <class V, class E>
__global__ void product(const float *a, const float *b, float *d, int k_per_lane, int k_total)
{
    const int i = threadIdx.x % 16, k0 = threadIdx.x / 16 * k_per_lane;
    V x, y;
    for (int e = 0; e < 8; e++) {
        x[e] = E(a[i * k_total + k0 + e]);
        y[e] = E(b[(k0 + e) * 16 + i]);
    }
    f32x4 sum = {0, 0, 0, 0};
    if constexpr (__is_same(E, _Float16))
        sum = __builtin_amdgcn_mfma_f32_16x16x32_f16(x, y, sum, 0, 0, 0);
    else
        sum = __builtin_amdgcn_mfma_f32_16x16x32_bf16(x, y, sum, 0, 0, 0);
    for (int e = 0; e < 4; e++)
        d[(threadIdx.x / 16 * 4 + e) * 16 + i] = sum[e];
}

__global__ void bytes(const int8_t *a, const int8_t *b, int *d)
{
    const int i = threadIdx.x % 16, k0 = threadIdx.x / 16 * 16;
    i32x4 x, y, sum = {0, 0, 0, 0};
    int8_t *const px = (int8_t *)&x, *const py = (int8_t *)&y;
    for (int e = 0; e < 16; e++) {
        px[e] = a[i * 64 + k0 + e];
        py[e] = b[(k0 + e) * 16 + i];
    }
    sum = __builtin_amdgcn_mfma_i32_16x16x64_i8(x, y, sum, 0, 0, 0);
    for (int e = 0; e < 4; e++)
        d[(threadIdx.x / 16 * 4 + e) * 16 + i] = sum[e];
}

// fp8 e4m3 with a power of two for every 32 values of k. Eight-bit values lie in two halves of K.
__global__ void scaled(const uint8_t *a, const uint8_t *b, const uint8_t *sa, const uint8_t *sb,
                       float *d)
{
    const int i = threadIdx.x % 16, group = threadIdx.x / 16;
    i32x8 x, y;
    uint8_t *const px = (uint8_t *)&x, *const py = (uint8_t *)&y;
    for (int e = 0; e < 32; e++) {
        const int k = e / 16 * 64 + group * 16 + e % 16;
        px[e] = a[i * 128 + k];
        py[e] = b[k * 16 + i];
    }
    f32x4 sum = {0, 0, 0, 0};
    sum = __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(x, y, sum, 0, 0, 0, sa[i * 4 + group], 0,
                                                           sb[group * 16 + i]);
    for (int e = 0; e < 4; e++)
        d[(group * 4 + e) * 16 + i] = sum[e];
}

template <class V, class E> static unsigned multiply()
{
    enum { K = 32 };
    Managed<float> a(16 * K), b(K * 16), d(256);
    for (int i = 0; i < 16 * K; i++) {
        a[i] = float(i * 7 % 13 - 6);
        b[i] = float(i * 5 % 11 - 5);
    }
    product<V, E><<<1, 64>>>(a.p, b.p, d.p, K / 4, K);
    CHECK(hipDeviceSynchronize());
    unsigned wrong = 0;
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 16; j++) {
            float want = 0;
            for (int k = 0; k < K; k++)
                want += a[i * K + k] * b[k * 16 + j];
            wrong += d[i * 16 + j] != want;
        }
    return wrong;
}

static unsigned multiply_bytes()
{
    Managed<int8_t> a(16 * 64), b(64 * 16);
    Managed<int> d(256);
    for (int i = 0; i < 1024; i++) {
        a[i] = int8_t(i * 77);
        b[i] = int8_t(i * 31 + 5);
    }
    bytes<<<1, 64>>>(a.p, b.p, d.p);
    CHECK(hipDeviceSynchronize());
    unsigned wrong = 0;
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 16; j++) {
            int want = 0;
            for (int k = 0; k < 64; k++)
                want += a[i * 64 + k] * b[k * 16 + j];
            wrong += d[i * 16 + j] != want;
        }
    return wrong;
}

static unsigned multiply_scaled()
{
    // Codes of e4m3 and what they are.
    static const uint8_t codes[] = {0x00, 0x38, 0xb8, 0x40, 0xc4, 0x48, 0xca, 0x30};
    static const float values[] = {0, 1, -1, 2, -3, 4, -5, 0.5f};
    Managed<uint8_t> a(16 * 128), b(128 * 16), sa(16 * 4), sb(4 * 16);
    Managed<float> d(256);
    std::vector<float> fa(16 * 128), fb(128 * 16);
    for (int i = 0; i < 2048; i++) {
        const int x = i * 11 % 29 % 8, y = i * 17 % 31 % 8;
        a[i] = codes[x];
        fa[i] = values[x];
        b[i] = codes[y];
        fb[i] = values[y];
    }
    for (int i = 0; i < 64; i++) {
        sa[i] = uint8_t(127 + i % 5 - 2);
        sb[i] = uint8_t(127 + i % 7 - 3);
    }
    scaled<<<1, 64>>>(a.p, b.p, sa.p, sb.p, d.p);
    CHECK(hipDeviceSynchronize());
    unsigned wrong = 0;
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 16; j++) {
            float want = 0;
            for (int k = 0; k < 128; k++)
                want += std::ldexp(fa[i * 128 + k] * fb[k * 16 + j],
                                   sa[i * 4 + k / 32] + sb[k / 32 * 16 + j] - 254);
            wrong += d[i * 16 + j] != want;
        }
    return wrong;
}

// ---- LDS and lanes ----

// A 16 x 16 tile into LDS without registers, four dwords a lane, and out of it transposed.
__global__ void transpose(const uint16_t *in, uint16_t *out)
{
    __shared__ __attribute__((aligned(16))) uint16_t tile[16 * 32];
    const int lane = threadIdx.x;
    __builtin_amdgcn_global_load_lds((void *)(in + lane * 8),
                                     (__attribute__((address_space(3))) void *)tile, 16, 0, 0);
    __builtin_amdgcn_s_waitcnt(0);
    __syncthreads();
    // 16 lanes read four rows of 16, group g the rows from 4 g; lane i gets column i of them.
    const int row = lane / 16 * 4 + lane % 16 / 4, column = lane % 4 * 4;
    const i16x4 v = __builtin_amdgcn_ds_read_tr16_b64_v4i16(
        (__attribute__((address_space(3))) i16x4 *)(tile + row * 32 + column));
    for (int e = 0; e < 4; e++)
        out[lane % 16 * 16 + lane / 16 * 4 + e] = uint16_t(v[e]);
}

__global__ void exchange(uint32_t *out)
{
    const uint32_t a = 100 + threadIdx.x, b = 200 + threadIdx.x;
    const auto far = __builtin_amdgcn_permlane32_swap(a, b, false, false);
    const auto near = __builtin_amdgcn_permlane16_swap(a, b, false, false);
    out[threadIdx.x * 4] = far[0];
    out[threadIdx.x * 4 + 1] = far[1];
    out[threadIdx.x * 4 + 2] = near[0];
    out[threadIdx.x * 4 + 3] = near[1];
}

static void moves()
{
    Managed<uint16_t> in(16 * 32), out(256);
    Managed<uint32_t> swapped(256);
    for (int i = 0; i < 512; i++)
        in[i] = uint16_t(i * 3 + 1);
    transpose<<<1, 64>>>(in.p, out.p);
    exchange<<<1, 64>>>(swapped.p);
    CHECK(hipDeviceSynchronize());
    unsigned wrong = 0;
    for (int row = 0; row < 16; row++)
        for (int column = 0; column < 16; column++)
            wrong += out[column * 16 + row] != in[row * 32 + column];
    report("transposed through LDS", wrong);
    wrong = 0;
    for (unsigned lane = 0; lane < 64; lane++)
        for (unsigned n = 0; n < 2; n++) {
            const unsigned by = n ? 16 : 32;
            const bool upper = lane & by;
            wrong += swapped[lane * 4 + 2 * n] != (upper ? 200 + lane - by : 100 + lane);
            wrong += swapped[lane * 4 + 2 * n + 1] != (upper ? 200 + lane : 100 + lane + by);
        }
    report("lanes", wrong);
}

int main()
{
    conversions();
    report("f16 matrices", multiply<f16x8, _Float16>());
    report("bf16 matrices", multiply<bf16x8, __bf16>());
    report("i8 matrices", multiply_bytes());
    report("scaled fp8 matrices", multiply_scaled());
    moves();
    printf("%u of all differ\n", differing);
    return differing != 0;
}

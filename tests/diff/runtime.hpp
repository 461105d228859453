// What the programs of rp-diff-gen stand on: types, the helpers their expressions call, the
// exchanges between phases for the device and for the host, and the comparison.
#pragma once
#include <hip/hip_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

typedef uint32_t u32;
typedef int32_t i32;
typedef unsigned long long u64;
typedef long long i64;
typedef uint16_t u16;
typedef int16_t i16;
typedef _Float16 f16;
typedef f16 h2 __attribute__((ext_vector_type(2)));
typedef u16 w2 __attribute__((ext_vector_type(2)));

// State of one thread. No padding: it is compared byte by byte.
struct S {
    u64 q[4];
    double d[4];
    u32 u[8];
    float f[4];
    u32 a[8]; // indexed by computed values
    h2 p[2];
    w2 w[2];
    f16 h[4];
};
static_assert(sizeof(S) == 168, "padding");

// What all threads change with atomics, each cell by one kind of operation.
struct G {
    u64 q[2];
    double d;
    float f;
    u32 u[9];
};

#define HD static inline __host__ __device__

template <class To, class From> HD To bits_as(From from)
{
    To to;
    __builtin_memcpy(&to, &from, sizeof to);
    return to;
}

// A NaN's bits are nobody's promise. Nor is the sign of a zero clang 22's: it makes v_min and v_max
// of selects, multiplies f16 by v_fma_mix with +0, and drops "+ 0".
HD u32 fbits(float x) { return x != x ? 0x7fc00000u : x == 0 ? 0 : bits_as<u32>(x); }
HD u64 dbits(double x) { return x != x ? 0x7ff8000000000000ull : x == 0 ? 0 : bits_as<u64>(x); }
HD u16 hbits(f16 x) { return x != x ? (u16)0x7e00 : x == 0 ? (u16)0 : bits_as<u16>(x); }
HD float bits_f(u32 x) { return bits_as<float>(x); }
HD double bits_d(u64 x) { return bits_as<double>(x); }
HD f16 bits_h(u32 x) { return bits_as<f16>((u16)x); }
HD float sane_f(float x) { return x == x && x != 0 ? x : 1.0f; }
HD double sane_d(double x) { return x == x && x != 0 ? x : 1.0; }
HD f16 sane_h(f16 x) { return x == x && x != 0 ? x : (f16)1.0; }

// Conversions only where C defines them.
HD u32 f2u(float x) { return x >= 0 && x < 4294967040.0f ? (u32)x : 7u; }
HD i32 f2i(float x) { return x > -2147483520.0f && x < 2147483520.0f ? (i32)x : -7; }
HD u32 d2u(double x) { return x >= 0 && x < 4294967295.0 ? (u32)x : 9u; }
HD i32 d2i(double x) { return x > -2147483648.0 && x < 2147483647.0 ? (i32)x : -9; }
HD u64 f2q(float x) { return x >= 0 && x < 1.8e19f ? (u64)x : 11u; }
HD u64 d2q(double x) { return x >= 0 && x < 1.8e19 ? (u64)x : 13u; }

#if defined RP_DIFF_BREAK && !__HIP_DEVICE_COMPILE__
HD u32 rotl32(u32 x, u32 n) { return x << (n & 31); }
#else
HD u32 rotl32(u32 x, u32 n) { return x << (n & 31) | x >> (-n & 31); }
#endif
// x, with nothing known about its bits: clang 22 divides sign-extended dividends as 24-bit floats,
// also unsigned ones.
HD u32 hide(u32 x, const u32 *in) { return x ^ in[0]; }
HD u64 hide64(u64 x, const u32 *in) { return x ^ (u64)in[0] << 32; }
HD u32 umin(u32 a, u32 b) { return a < b ? a : b; }
HD u32 umax(u32 a, u32 b) { return a > b ? a : b; }
HD i32 imin(i32 a, i32 b) { return a < b ? a : b; }
HD i32 imax(i32 a, i32 b) { return a > b ? a : b; }
HD u64 q_min(u64 a, u64 b) { return a < b ? a : b; }
HD u64 q_max(u64 a, u64 b) { return a > b ? a : b; }
HD i64 l_min(i64 a, i64 b) { return a < b ? a : b; }
HD i64 l_max(i64 a, i64 b) { return a > b ? a : b; }
HD u32 absdiff(u32 a, u32 b) { return a > b ? a - b : b - a; }
HD u64 mulhi64(u64 a, u64 b) { return (u64)((unsigned __int128)a * b >> 64); }
HD float f_min(float a, float b) { return a < b ? a : b; }
HD float f_max(float a, float b) { return a > b ? a : b; }
HD double d_min(double a, double b) { return a < b ? a : b; }
HD double d_max(double a, double b) { return a > b ? a : b; }
HD f16 h_min(f16 a, f16 b) { return a < b ? a : b; }
HD f16 h_max(f16 a, f16 b) { return a > b ? a : b; }

enum { IN_WORDS = 1024 };
HD u32 in_u(const u32 *in, u32 i) { return in[i % IN_WORDS]; }
HD u64 in_q(const u32 *in, u32 i) { return ((const u64 *)in)[i % (IN_WORDS / 2)]; }
HD float in_f(const u32 *in, u32 i) { return bits_f(in[i % IN_WORDS]); }
HD double in_d(const u32 *in, u32 i) { return bits_d(in_q(in, i)); }
HD f16 in_h(const u32 *in, u32 i) { return ((const f16 *)in)[i % (IN_WORDS * 2)]; }
HD h2 in_p(const u32 *in, u32 i) { return ((const h2 *)in)[i % IN_WORDS]; }
HD w2 in_w(const u32 *in, u32 i) { return ((const w2 *)in)[i % IN_WORDS]; }
HD u32 in_u8(const u32 *in, u32 i) { return ((const uint8_t *)in)[i % (IN_WORDS * 4)]; }
HD i32 in_i8(const u32 *in, u32 i) { return ((const int8_t *)in)[i % (IN_WORDS * 4)]; }
HD u32 in_u16(const u32 *in, u32 i) { return ((const u16 *)in)[i % (IN_WORDS * 2)]; }
HD i32 in_i16(const u32 *in, u32 i) { return ((const i16 *)in)[i % (IN_WORDS * 2)]; }

#if __HIP_DEVICE_COMPILE__
#define ATOMIC(name, T, device, host) \
    HD void name(T *p, T x) { device; }
#else
#define ATOMIC(name, T, device, host) \
    HD void name(T *p, T x) { host; }
#endif
ATOMIC(g_add, u32, atomicAdd(p, x), *p += x)
ATOMIC(g_sub, u32, atomicSub(p, x), *p -= x)
ATOMIC(g_min, u32, atomicMin(p, x), *p = umin(*p, x))
ATOMIC(g_max, u32, atomicMax(p, x), *p = umax(*p, x))
ATOMIC(g_and, u32, atomicAnd(p, x), *p &= x)
ATOMIC(g_or, u32, atomicOr(p, x), *p |= x)
ATOMIC(g_xor, u32, atomicXor(p, x), *p ^= x)
ATOMIC(g_imin, u32, atomicMin((int *)p, (int)x), *p = (u32)imin((i32)*p, (i32)x))
ATOMIC(g_imax, u32, atomicMax((int *)p, (int)x), *p = (u32)imax((i32)*p, (i32)x))
ATOMIC(g_add64, u64, atomicAdd(p, x), *p += x)
ATOMIC(g_max64, u64, atomicMax(p, x), *p = q_max(*p, x))
ATOMIC(g_addf, float, atomicAdd(p, x), *p += x)
ATOMIC(g_addd, double, atomicAdd(p, x), *p += x)

HD S start(const u32 *in, u32 tid)
{
    S s;
    for (u32 i = 0; i < 8; i++) {
        s.u[i] = in_u(in, tid * 8 + i) + tid;
        s.a[i] = in_u(in, tid + 131 * i);
    }
    for (u32 i = 0; i < 4; i++) {
        s.q[i] = in_q(in, tid * 4 + i);
        s.f[i] = in_f(in, tid * 3 + i);
        s.d[i] = i % 2 ? in_d(in, tid * 5 + i) : (double)in_f(in, tid * 7 + i);
        s.h[i] = in_h(in, tid * 4 + i);
    }
    for (u32 i = 0; i < 2; i++) {
        s.p[i] = in_p(in, tid * 2 + i);
        s.w[i] = in_w(in, tid * 2 + i + 9);
    }
    return s;
}

HD void canonical(S &s)
{
    for (u32 i = 0; i < 4; i++) {
        s.f[i] = bits_f(fbits(s.f[i]));
        s.d[i] = bits_d(dbits(s.d[i]));
        s.h[i] = bits_h(hbits(s.h[i]));
    }
    for (u32 i = 0; i < 2; i++)
        s.p[i] = (h2){bits_h(hbits(s.p[i].x)), bits_h(hbits(s.p[i].y))};
}

// ---- exchanges: device ----------------------------------------------------------------------

enum { MAX_SIZE = 512, CELLS = 16 };

#define DEVICE_BEGIN                                  \
    u32 tid = blockIdx.x * blockDim.x + threadIdx.x; \
    S s = start(in, tid);
#define DEVICE_END \
    canonical(s);  \
    out[tid] = s;

#define dev_x_lds(S_, F, step)                                    \
    {                                                             \
        __shared__ __typeof__(s.F) buffer[MAX_SIZE];              \
        buffer[threadIdx.x] = s.F;                                \
        __syncthreads();                                          \
        s.F = buffer[(threadIdx.x * step + 7) % blockDim.x];      \
        __syncthreads();                                          \
    }
#define dev_x_ldsop(IN, OUT, first, op)                           \
    {                                                             \
        __shared__ u32 cell[CELLS];                               \
        if (threadIdx.x < CELLS)                                  \
            cell[threadIdx.x] = first;                            \
        __syncthreads();                                          \
        op(&cell[s.IN % CELLS], s.OUT);                           \
        __syncthreads();                                          \
        s.OUT = cell[threadIdx.x % CELLS];                        \
        __syncthreads();                                          \
    }
#define dev_x_ldsadd(S_, IN, OUT) dev_x_ldsop(IN, OUT, 5, atomicAdd)
#define dev_x_ldsmax(S_, IN, OUT) dev_x_ldsop(IN, OUT, 0, atomicMax)
#define dev_x_xor(S_, F, mask, width) s.F = __shfl_xor(s.F, mask, width)
#define dev_x_up(S_, F, by, width) s.F = __shfl_up(s.F, by, width)
#define dev_x_down(S_, F, by, width) s.F = __shfl_down(s.F, by, width)
#define dev_x_idx(S_, F, IDX, width) s.F = __shfl(s.F, (int)(s.IDX % 64), width)
#define dev_x_ballot(S_, IN, OUT) s.OUT ^= __ballot((int)(s.IN & 1))

// ---- exchanges: host ------------------------------------------------------------------------

#define HOST_ALL for (u32 t = 0; t < size; t++)

#define host_x_lds(S_, F, step)                                                       \
    {                                                                                 \
        std::vector<__typeof__(all[0].F)> buffer(size);                               \
        HOST_ALL buffer[t] = all[t].F;                                                \
        HOST_ALL all[t].F = buffer[(t * step + 7) % size];                            \
    }
#define host_x_ldsop(IN, OUT, first, op)                                              \
    {                                                                                 \
        u32 cell[CELLS];                                                              \
        for (u32 i = 0; i < CELLS; i++)                                               \
            cell[i] = first;                                                          \
        HOST_ALL op(&cell[all[t].IN % CELLS], all[t].OUT);                            \
        HOST_ALL all[t].OUT = cell[t % CELLS];                                        \
    }
#define host_x_ldsadd(S_, IN, OUT) host_x_ldsop(IN, OUT, 5, g_add)
#define host_x_ldsmax(S_, IN, OUT) host_x_ldsop(IN, OUT, 0, g_max)

// The lane a shuffle reads from: `to` where it stays within the segment, else the lane itself.
#define host_shuffle(F, to, stays)                                                    \
    {                                                                                 \
        std::vector<__typeof__(all[0].F)> before(size);                               \
        HOST_ALL before[t] = all[t].F;                                                \
        HOST_ALL {                                                                    \
            int lane = (int)(t % 64), wave = (int)(t - t % 64), from = to;            \
            all[t].F = before[wave + ((stays) ? from : lane)];                        \
        }                                                                             \
    }
#define host_x_xor(S_, F, mask, width) \
    host_shuffle(F, lane ^ mask, from < ((lane + (int)width) & ~((int)width - 1)))
#define host_x_up(S_, F, by, width) host_shuffle(F, lane - by, from >= (lane & ~((int)width - 1)))
#define host_x_down(S_, F, by, width) \
    host_shuffle(F, lane + by, (lane & ((int)width - 1)) + by < (int)width)
#define host_x_idx(S_, F, IDX, width)                                                           \
    host_shuffle(F, (int)(all[t].IDX % 64 & (width - 1)) + (lane & ~((int)width - 1)), true)
#define host_x_ballot(S_, IN, OUT)                                                    \
    for (u32 wave = 0; wave < size; wave += 64) {                                     \
        u64 mask = 0;                                                                 \
        for (u32 lane = 0; lane < 64; lane++)                                         \
            mask |= (u64)(all[wave + lane].IN & 1) << lane;                           \
        for (u32 lane = 0; lane < 64; lane++)                                         \
            all[wave + lane].OUT ^= mask;                                             \
    }

// ---- comparison -----------------------------------------------------------------------------

struct kernel {
    const char *name;
    void (*device)(const u32 *, S *, G *);
    void (*host)(const u32 *, S *, G *, u32 block, u32 size);
    u32 blocks, size;
};

static void check(hipError_t error, const char *what)
{
    if (error == hipSuccess)
        return;
    printf("%s: %s\n", what, hipGetErrorString(error));
    exit(2);
}

static std::vector<u32> inputs()
{
    std::vector<u32> in(IN_WORDS);
    u64 x = 1;
    for (u32 i = 0; i < IN_WORDS; i++) {
        x = x * 6364136223846793005ull + 1442695040888963407ull;
        u32 r = (u32)(x >> 32);
        float f = (float)(i32)(r >> 8) / 65536.0f - 100.0f;
        in[i] = i % 3 == 0 ? r : i % 3 == 1 ? bits_as<u32>(f) : r % 300;
    }
    return in;
}

static const char *field_of(size_t offset)
{
    static const struct {
        size_t end;
        const char *name;
    } fields[] = {{32, "q"}, {64, "d"}, {96, "u"}, {112, "f"}, {144, "a"}, {152, "p"}, {160, "w"}, {168, "h"}};
    unsigned i = 0;
    while (offset >= fields[i].end)
        i++;
    return fields[i].name;
}

static void print_difference(const kernel &k, const std::vector<S> &got, const std::vector<S> &want)
{
    for (size_t t = 0; t < got.size(); t++) {
        const u32 *a = (const u32 *)&got[t], *b = (const u32 *)&want[t];
        for (size_t i = 0; i < sizeof(S) / 4; i++)
            if (a[i] != b[i]) {
                printf("%s: thread %zu, %s at byte %zu: device 0x%08x, host 0x%08x\n", k.name, t,
                       field_of(i * 4), i * 4, a[i], b[i]);
                return;
            }
    }
    printf("%s: the cells of the global atomics differ\n", k.name);
}

static bool equal(const kernel &k, const u32 *d_in, const std::vector<u32> &in)
{
    size_t threads = (size_t)k.blocks * k.size;
    std::vector<S> got(threads), want(threads);
    G first = {}, got_g, want_g;
    for (u32 &cell : first.u)
        cell = 0x12345678u;
    want_g = first;
    S *out;
    G *g;
    check(hipMalloc(&out, threads * sizeof(S)), "hipMalloc");
    check(hipMalloc(&g, sizeof *g), "hipMalloc");
    check(hipMemcpy(g, &first, sizeof first, hipMemcpyHostToDevice), "hipMemcpy");
    k.device<<<k.blocks, k.size>>>(d_in, out, g);
    check(hipGetLastError(), k.name);
    check(hipMemcpy(got.data(), out, threads * sizeof(S), hipMemcpyDeviceToHost), k.name);
    check(hipMemcpy(&got_g, g, sizeof got_g, hipMemcpyDeviceToHost), k.name);
    check(hipFree(out), "hipFree");
    check(hipFree(g), "hipFree");
    for (u32 block = 0; block < k.blocks; block++) {
        S *all = &want[(size_t)block * k.size];
        for (u32 t = 0; t < k.size; t++)
            all[t] = start(in.data(), block * k.size + t);
        k.host(in.data(), all, &want_g, block, k.size);
        for (u32 t = 0; t < k.size; t++)
            canonical(all[t]);
    }
    if (memcmp(got.data(), want.data(), threads * sizeof(S)) == 0 &&
        memcmp(&got_g, &want_g, sizeof got_g) == 0)
        return true;
    print_difference(k, got, want);
    return false;
}

// All kernels, or only the one named.
static int compare_all(const kernel *kernels, size_t count, const char *only)
{
    std::vector<u32> in = inputs();
    u32 *d_in;
    size_t run = 0, bad = 0;
    check(hipMalloc(&d_in, IN_WORDS * 4), "hipMalloc");
    check(hipMemcpy(d_in, in.data(), IN_WORDS * 4, hipMemcpyHostToDevice), "hipMemcpy");
    for (size_t i = 0; i < count; i++)
        if (!only || strcmp(only, kernels[i].name) == 0) {
            run++;
            bad += !equal(kernels[i], d_in, in);
        }
    printf("%zu kernels, %zu differ\n", run, bad);
    return bad != 0;
}

// Constructs of the language for which compilers emit unusual code: votes and shuffles of all
// types, groups, atomics of all orders and scopes, conversions of small formats, 128-bit integers,
// packed structs, stacks. Every expectation is computed on the host from what the construct means.
#define HIP_ENABLE_WARP_SYNC_BUILTINS 1
#include "../kernels/drive.h"

#include <hip/hip_bf16.h>
#include <hip/hip_cooperative_groups.h>
#include <hip/hip_fp16.h>

namespace cg = cooperative_groups;
typedef unsigned long long u64;

// Four shuffles of one type by lane-dependent amounts.
template <typename T> __global__ void shuffles(const T *x, T *y)
{
    int l = threadIdx.x;
    T v = x[l];
    y[l] = __shfl(v, (l * 7 + 3) & 63);
    y[64 + l] = __shfl_xor(v, 21);
    y[128 + l] = __shfl_up(v, 5, 16);
    y[192 + l] = __shfl_down(v, 3, 32);
}

template <typename T> static void test_shuffles(const char *name)
{
    subject s(name);
    std::vector<T> x = bits_of<T>(64, 3), want(256);
    if (std::is_floating_point<T>::value)
        x = real<T>(64, 3, -1e9, 1e9);
    for (int l = 0; l < 64; l++) {
        want[l] = x[(l * 7 + 3) & 63];
        want[64 + l] = x[l ^ 21];
        want[128 + l] = x[l % 16 >= 5 ? l - 5 : l];
        want[192 + l] = x[l % 32 + 3 < 32 ? l + 3 : l];
    }
    array<T> in(x), out(256);
    LAUNCH(shuffles<T>, 1, 64, 0, (const T *)in, (T *)out);
    s.equal(out.host(), want);
}

// Votes with all lanes and within a divergent half; matches; reductions of the block.
__global__ void votes(const int *x, u64 *y)
{
    int l = threadIdx.x, v = x[l], w = 0;
    u64 *o = y + l * 14;
    o[0] = __ballot(v & 1);
    o[1] = __any(v == 5);
    o[2] = __all(v < 100);
    o[3] = __activemask();
    o[4] = 0;
    o[5] = 0;
    o[6] = 0;
    if (v % 3 == 0) {
        o[4] = __activemask();
        o[5] = __ballot(v & 2);
        o[6] = __all(v % 3 == 0);
    }
    o[7] = __match_any_sync(~0ull, v);
    o[8] = __match_all_sync(~0ull, l >> 6, &w);
    o[9] = w;
    o[10] = l % 64 < 20 ? __ballot_sync(0xfffffull, v & 4) : __ballot_sync(~0xfffffull, v & 8);
    o[11] = __syncthreads_count(v & 1);
    o[12] = !!__syncthreads_and(v < 11);
    o[13] = !!__syncthreads_or(v == 12);
}

static void test_votes()
{
    subject s("votes");
    std::vector<int> x = whole<int>(256, 9, 0, 11);
    array<int> in(x);
    array<u64> out(256 * 14);
    LAUNCH(votes, 1, 256, 0, (const int *)in, (u64 *)out);
    std::vector<u64> want(256 * 14);
    u64 count = 0, all = 1, any = 0;
    for (int v : x) {
        count += v & 1;
        all &= v < 11;
        any |= v == 12;
    }
    for (int l = 0; l < 256; l++) {
        auto mask = [&](auto f) {
            u64 m = 0;
            for (int i = 0; i < 64; i++)
                m |= (u64) !!f(x[l / 64 * 64 + i], i) << i;
            return m;
        };
        u64 third = mask([](int v, int) { return v % 3 == 0; });
        bool in_third = x[l] % 3 == 0;
        u64 o[14] = {mask([](int v, int) { return v & 1; }),
                     mask([](int v, int) { return v == 5; }) != 0,
                     1,
                     ~0ull,
                     in_third ? third : 0,
                     in_third ? third & mask([](int v, int) { return v & 2; }) : 0,
                     in_third,
                     mask([&](int v, int) { return v == x[l]; }),
                     ~0ull,
                     1,
                     l % 64 < 20 ? mask([](int v, int i) { return i < 20 && v & 4; })
                                 : mask([](int v, int i) { return i >= 20 && v & 8; }),
                     count,
                     all,
                     any};
        memcpy(&want[l * 14], o, sizeof o);
    }
    s.equal(out.host(), want);
}

// Sums by shuffles within tiles of each size, and ranks of the lanes in a divergent branch.
template <unsigned N> __device__ int tile_sum(cg::thread_block block, int v)
{
    auto tile = cg::tiled_partition<N>(block);
    for (int i = tile.size() / 2; i; i /= 2)
        v += tile.shfl_xor(v, i);
    return v * 64 + (int)tile.thread_rank();
}

__global__ void tiles(const int *x, int *y)
{
    cg::thread_block block = cg::this_thread_block();
    int l = block.thread_rank(), v = x[l];
    int *o = y + l * 10;
    o[0] = tile_sum<2>(block, v);
    o[1] = tile_sum<4>(block, v);
    o[2] = tile_sum<8>(block, v);
    o[3] = tile_sum<16>(block, v);
    o[4] = tile_sum<32>(block, v);
    o[5] = tile_sum<64>(block, v);
    o[6] = o[7] = o[8] = -1;
    if (v & 1) {
        cg::coalesced_group g = cg::coalesced_threads();
        o[6] = g.size();
        o[7] = g.thread_rank();
        o[8] = g.shfl(v, g.size() - 1);
    }
    block.sync();
    o[9] = block.size() + cg::this_grid().thread_rank();
}

static void test_tiles()
{
    subject s("tiles");
    std::vector<int> x = whole<int>(128, 4, -50, 50), want(1280);
    array<int> in(x), out(1280);
    LAUNCH(tiles, 1, 128, 0, (const int *)in, (int *)out);
    for (int l = 0; l < 128; l++) {
        int *o = &want[l * 10], size = 0, rank = 0, last = 0;
        for (int k = 0, n = 2; n <= 64; n *= 2, k++) {
            int sum = 0;
            for (int i = 0; i < n; i++)
                sum += x[l / n * n + i];
            o[k] = sum * 64 + l % n;
        }
        for (int i = l / 64 * 64; i < l / 64 * 64 + 64; i++)
            if (x[i] & 1) {
                size++;
                rank += i < l;
                last = x[i];
            }
        bool in_group = x[l] & 1;
        o[6] = in_group ? size : -1;
        o[7] = in_group ? rank : -1;
        o[8] = in_group ? last : -1;
        o[9] = 128 + l;
    }
    s.equal(out.host(), want);
}

// Each order and scope of the atomics, and a loop of compare-and-swap.
template <int ORDER, int SCOPE, typename T> __device__ void add_one(T *p)
{
    (void)__hip_atomic_fetch_add(p, (T)1, ORDER, SCOPE);
}
template <int ORDER, typename T> __device__ void add_scopes(T *p)
{
    add_one<ORDER, __HIP_MEMORY_SCOPE_SINGLETHREAD>(p + 8 + threadIdx.x);
    add_one<ORDER, __HIP_MEMORY_SCOPE_WAVEFRONT>(p + 8 + threadIdx.x);
    add_one<ORDER, __HIP_MEMORY_SCOPE_WORKGROUP>(p);
    add_one<ORDER, __HIP_MEMORY_SCOPE_AGENT>(p + 1);
    add_one<ORDER, __HIP_MEMORY_SCOPE_SYSTEM>(p + 2);
}
template <typename T> __global__ void atomics(T *p)
{
    add_scopes<__ATOMIC_RELAXED>(p);
    add_scopes<__ATOMIC_ACQUIRE>(p);
    add_scopes<__ATOMIC_RELEASE>(p);
    add_scopes<__ATOMIC_ACQ_REL>(p);
    add_scopes<__ATOMIC_SEQ_CST>(p);
    T old = __hip_atomic_load(p + 3, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    while (!__hip_atomic_compare_exchange_weak(p + 3, &old, (T)(old + 2), __ATOMIC_ACQ_REL,
                                               __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT))
        ;
    (void)__hip_atomic_fetch_max(p + 4, (T)threadIdx.x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    (void)__hip_atomic_fetch_min(p + 5, (T)threadIdx.x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

template <typename T> static void test_atomics(const char *name)
{
    subject s(name);
    std::vector<T> p(8 + 128, (T)0), want(8 + 128, (T)10);
    p[5] = (T)1000;
    array<T> a(p);
    LAUNCH(atomics<T>, 1, 128, 0, (T *)a);
    want[0] = want[1] = want[2] = (T)(5 * 128);
    want[3] = (T)256;
    want[4] = (T)127;
    want[5] = want[6] = want[7] = 0;
    s.equal(a.host(), want);
}

// Conversions of the small formats.
__global__ void smalls(const float *x, unsigned short *h, unsigned short *b, float *f, float *g)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    h[i] = __half_as_ushort(__float2half(x[i]));
    b[i] = __bfloat16_as_ushort(__float2bfloat16(x[i]));
    f[i] = __half2float(__ushort_as_half((unsigned short)i));
    g[i] = __bfloat162float(__ushort_as_bfloat16((unsigned short)i));
}

static double decoded(unsigned u, int mantissa_bits, int exponent_bits)
{
    int e = u >> mantissa_bits & ((1 << exponent_bits) - 1), bias = (1 << (exponent_bits - 1)) - 1;
    int m = u & ((1 << mantissa_bits) - 1);
    double v = e ? ldexp(m + (1 << mantissa_bits), e - bias - mantissa_bits)
                 : ldexp(m, 1 - bias - mantissa_bits);
    if (e == (1 << exponent_bits) - 1)
        v = m ? NAN : INFINITY;
    return u >> 15 ? -v : v;
}

// The nearest number of a small format, ties to even, by a search among all of them.
static unsigned encoded(float x, int mantissa_bits, int exponent_bits)
{
    unsigned inf = ((1u << exponent_bits) - 1) << mantissa_bits, low = 0, high = inf;
    double a = fabs((double)x);
    double end = ldexp(1, 1 << (exponent_bits - 1)); // where infinity would be, were it a number
    while (high - low > 1) {
        unsigned mid = (low + high) / 2;
        (decoded(mid, mantissa_bits, exponent_bits) <= a ? low : high) = mid;
    }
    double below = decoded(low, mantissa_bits, exponent_bits);
    double above = high == inf ? end : decoded(high, mantissa_bits, exponent_bits);
    unsigned u = a - below < above - a || (a - below == above - a && !(low & 1)) ? low : high;
    return u | (std::signbit(x) ? 0x8000u : 0);
}

static void test_smalls()
{
    subject s("smalls");
    std::vector<float> x(65536);
    rng r(11);
    for (unsigned i = 0; i < 65536; i++) {
        unsigned u = (i << 16) | (i & 4 ? 0x8000u : i & 8 ? 0 : r.u32() & 0xffff);
        if (i & 1) // about the range of half
            u = (u & 0x80000000u) | ((0x60000000u >> 1) + (u >> 3 & 0x0fffffff)) |
                (i & 2 ? 0x1000 : 0);
        if (i & 2 && i & 1)
            u &= ~0xfffu;
        memcpy(&x[i], &u, 4);
    }
    array<float> in(x), f(65536), g(65536);
    array<unsigned short> h(65536), b(65536);
    LAUNCH(smalls, 256, 256, 0, (const float *)in, (unsigned short *)h, (unsigned short *)b,
           (float *)f, (float *)g);
    auto hv = h.host(), bv = b.host();
    auto fv = f.host(), gv = g.host();
    for (unsigned i = 0; i < 65536; i++) {
        double wf = decoded(i, 10, 5), wg = decoded(i, 7, 8);
        s.that(fv[i] == wf || (std::isnan(wf) && std::isnan(fv[i])), "half %04x is %g", i, fv[i]);
        s.that(gv[i] == wg || (std::isnan(wg) && std::isnan(gv[i])), "bfloat16 %04x is %g", i,
               gv[i]);
        if (std::isnan(x[i])) {
            s.that((hv[i] & 0x7fff) > 0x7c00 && (bv[i] & 0x7fff) > 0x7f80, "NaN is %04x, %04x",
                   hv[i], bv[i]);
            continue;
        }
        s.that(hv[i] == encoded(x[i], 10, 5), "%a is half %04x, expected %04x", x[i], hv[i],
               encoded(x[i], 10, 5));
        s.that(bv[i] == encoded(x[i], 7, 8), "%a is bfloat16 %04x, expected %04x", x[i], bv[i],
               encoded(x[i], 7, 8));
    }
}

// 128-bit integers, bit-fields, packed structs, arrays on the stack of a size known at run time.
struct __attribute__((packed)) odd {
    char c;
    long long q;
    short s;
    double d;
    unsigned a : 3, b : 11, e : 18;
    int f : 7;
};

struct wide {
    unsigned __int128 sum, product, quotient, rest, shifted;
    u64 mixed;
};

// (clang 22 moves the stack by 64 times the bytes of such an array, as if lanes shared a stack
// pointer in bytes of a wave: it needs much of it.)
__host__ __device__ static u64 fill(int n, u64 seed)
{
    u64 *v = (u64 *)__builtin_alloca(n * sizeof(u64));
    for (int i = 0; i < n; i++)
        v[i] = seed = seed * 6364136223846793005ull + i;
    u64 h = 0;
    for (int i = n - 1; i >= 0; i--)
        h = h * 31 + v[(i * 5) % n];
    return n > 3 && seed & 1 ? h ^ fill(n - 3, seed) : h;
}

__host__ __device__ static void words_of(u64 a, u64 b, odd *o, wide *w)
{
    unsigned __int128 x = (unsigned __int128)a << 64 | b,
                      y = (unsigned __int128)(b >> 17) << 20 | 1;
    w->sum = x + y;
    w->product = x * y;
    w->shifted = (x >> (b & 127)) ^ (__int128)(y << (a & 127)) >> 5;
    w->quotient = (u64)x / (a | 1);
    w->rest = (unsigned __int128)((long long)a % (long long)(b | 1));
    w->mixed = fill((int)(a & 15) + 1, b);
    o->c = (char)a;
    o->q = (long long)(a ^ b);
    o->s = (short)(b >> 3);
    o->d = (double)(int)a * 0.5;
    o->a = (unsigned)a;
    o->b = (unsigned)(b >> 7);
    o->e = (unsigned)(a >> 20);
    o->f = (int)(b >> 9);
    o->q += o->f - (int)o->b;
}

__global__ void words(const u64 *a, const u64 *b, odd *o, wide *w)
{
    int i = threadIdx.x;
    words_of(a[i], b[i], &o[i], &w[i]);
}

static void test_words()
{
    subject s("words");
    std::vector<u64> a = bits_of<u64>(128, 21), b = bits_of<u64>(128, 22);
    for (int i = 0; i < 128; i += 3)
        b[i] >>= i / 2;
    array<u64> x(a), y(b);
    array<odd> o(128);
    array<wide> w(128);
    HIP(hipDeviceSetLimit(hipLimitStackSize, 98304)); // see fill()
    LAUNCH(words, 1, 128, 0, (const u64 *)x, (const u64 *)y, (odd *)o, (wide *)w);
    std::vector<odd> ov = o.host();
    std::vector<wide> wv = w.host();
    for (int i = 0; i < 128; i++) {
        odd wo;
        wide ww;
        memset(&wo, 0xcd, sizeof wo);
        memset(&ww, 0xcd, sizeof ww);
        words_of(a[i], b[i], &wo, &ww);
        s.that(memcmp(&wo, &ov[i], sizeof wo) == 0, "[%d] the packed struct differs", i);
        s.that(ww.sum == wv[i].sum, "[%d] sum", i);
        s.that(ww.product == wv[i].product, "[%d] product", i);
        s.that(ww.shifted == wv[i].shifted, "[%d] shifted", i);
        s.that(ww.quotient == wv[i].quotient, "[%d] quotient", i);
        s.that(ww.rest == wv[i].rest, "[%d] rest", i);
        s.that(ww.mixed == wv[i].mixed, "[%d] mixed", i);
    }
}

// 64 KiB of LDS by 1024 threads, some of it known at compile time, and 4 KB of arguments.
struct many {
    int v[900];
};
__global__ __launch_bounds__(1024) void lds_all(many m, int *y)
{
    __shared__ int fixed[1024];
    extern __shared__ int rest[];
    int t = threadIdx.x;
    fixed[t] = t * 3 + m.v[t % 900];
    for (int i = t; i < 15 * 1024; i += 1024)
        rest[i] = i ^ m.v[i % 900];
    __syncthreads();
    int sum = fixed[(t * 17 + 5) & 1023];
    for (int i = t; i < 15 * 1024; i += 1024)
        sum = sum * 7 + rest[(i * 11 + 3) % (15 * 1024)];
    y[t] = sum;
}

static void test_lds()
{
    subject s("lds_all");
    many m;
    rng r(5);
    for (int &v : m.v)
        v = (int)r.u32() >> 12;
    array<int> y(1024);
    LAUNCH(lds_all, 1, 1024, 60 * 1024, m, (int *)y);
    std::vector<int> want(1024);
    for (int t = 0; t < 1024; t++) {
        int f = (t * 17 + 5) & 1023;
        unsigned sum = (unsigned)(f * 3 + m.v[f % 900]);
        for (int i = t; i < 15 * 1024; i += 1024) {
            int j = (i * 11 + 3) % (15 * 1024);
            sum = sum * 7 + (unsigned)(j ^ m.v[j % 900]);
        }
        want[t] = (int)sum;
    }
    s.equal(y.host(), want);
}

int main()
{
    test_shuffles<int>("shuffles of int");
    test_shuffles<unsigned>("shuffles of unsigned");
    test_shuffles<long long>("shuffles of long long");
    test_shuffles<u64>("shuffles of unsigned long long");
    test_shuffles<float>("shuffles of float");
    test_shuffles<double>("shuffles of double");
    test_votes();
    test_tiles();
    test_atomics<int>("atomics of int");
    test_atomics<unsigned>("atomics of unsigned");
    test_atomics<long long>("atomics of long long");
    test_atomics<u64>("atomics of unsigned long long");
    test_atomics<float>("atomics of float");
    test_atomics<double>("atomics of double");
    test_smalls();
    test_words();
    test_lds();
    return drive_end();
}

// What lanes, groups and workgroups do together: reductions and shuffles under a mask, partitions of
// groups, atomics that many workgroups share. Expected values are computed lane by lane on the host.
#define HIP_ENABLE_EXTRA_WARP_SYNC_TYPES 1
#include "../kernels/drive.h"

#include <hip/hip_cooperative_groups.h>
#include <hip/hip_fp16.h>

namespace cg = cooperative_groups;
typedef unsigned long long u64;

// Masks with and without holes; a lane not in one is in its complement.
static __device__ __host__ u64 mask_of(int k)
{
    const u64 masks[] = {~0ull, 0xffffffffull, 0x1ull, 0xaaaaaaaaaaaaaaaaull, 0x8000000000000001ull,
                         0x0123456789abcdefull};
    return masks[k];
}
enum { MASKS = 6 };

template <typename T> __global__ void reductions(const T *x, T *y)
{
    int l = threadIdx.x;
    T v = x[l];
    for (int k = 0; k < MASKS; k++) {
        u64 in = mask_of(k), mine = in >> l & 1 ? in : ~in;
        T *o = y + (l * MASKS + k) * 3;
        if (in >> l & 1) { // each half reduces by itself
            o[0] = __reduce_add_sync(mine, v);
            o[1] = __reduce_min_sync(mine, v);
            o[2] = __reduce_max_sync(mine, v);
        } else {
            o[0] = __reduce_add_sync(mine, v);
            o[1] = __reduce_min_sync(mine, v);
            o[2] = __reduce_max_sync(mine, v);
        }
    }
}

template <typename T> static void test_reductions(const char *name)
{
    subject s(name);
    std::vector<T> x = whole<T>(64, 31, std::is_signed<T>::value ? -1000 : 0, 1000);
    std::vector<T> want(64 * MASKS * 3);
    for (int l = 0; l < 64; l++)
        for (int k = 0; k < MASKS; k++) {
            u64 in = mask_of(k), mine = in >> l & 1 ? in : ~in;
            T sum = 0, low = x[l], high = x[l];
            for (int i = 0; i < 64; i++)
                if (mine >> i & 1) {
                    sum = sum + x[i]; // small whole numbers: exact in any order
                    low = std::min(low, x[i]);
                    high = std::max(high, x[i]);
                }
            T *o = &want[(l * MASKS + k) * 3];
            o[0] = sum, o[1] = low, o[2] = high;
        }
    array<T> in(x), out(want.size());
    LAUNCH(reductions<T>, 1, 64, 0, (const T *)in, (T *)out);
    s.equal(out.host(), want);
}

template <typename T> __global__ void bit_reductions(const T *x, T *y)
{
    int l = threadIdx.x;
    for (int k = 0; k < MASKS; k++) {
        u64 in = mask_of(k);
        T *o = y + (l * MASKS + k) * 3;
        if (in >> l & 1) {
            o[0] = __reduce_and_sync(in, x[l]);
            o[1] = __reduce_or_sync(in, x[l]);
            o[2] = __reduce_xor_sync(in, x[l]);
        } else {
            o[0] = o[1] = o[2] = 0;
        }
    }
}

template <typename T> static void test_bit_reductions(const char *name, bool ones)
{
    subject s(name);
    // HIP 7.2 reduces bits under some masks and truth values under others: 0 and 1 are both.
    std::vector<T> x = whole<T>(64, ones ? 8 : 9, 0, 1), want(64 * MASKS * 3);
    if (ones)
        std::fill(x.begin(), x.end(), (T)1);
    for (int l = 0; l < 64; l++)
        for (int k = 0; k < MASKS; k++) {
            T all = 1, any = 0, odd = 0;
            for (int i = 0; i < 64; i++)
                if (mask_of(k) >> i & 1)
                    all &= x[i], any |= x[i], odd ^= x[i];
            bool in = mask_of(k) >> l & 1;
            T *o = &want[(l * MASKS + k) * 3];
            o[0] = in ? all : 0, o[1] = in ? any : 0, o[2] = in ? odd : 0;
        }
    array<T> in(x), out(want.size());
    LAUNCH(bit_reductions<T>, 1, 64, 0, (const T *)in, (T *)out);
    s.equal(out.host(), want);
}

// Shuffles of a divergent half.
template <typename T> __global__ void masked_shuffles(const T *x, T *y)
{
    int l = threadIdx.x;
    const u64 odd = 0xaaaaaaaaaaaaaaaaull;
    T v = x[l], *o = y + l * 4;
    if (l & 1) {
        o[0] = __shfl_sync(odd, v, (l * 5 + 2) | 1);
        o[1] = __shfl_xor_sync(odd, v, 6);
        o[2] = __shfl_up_sync(odd, v, 4, 32);
        o[3] = __shfl_down_sync(odd, v, 2, 16);
    } else {
        o[0] = o[1] = o[2] = o[3] = v;
    }
}

template <typename T> static void test_masked_shuffles(const char *name)
{
    subject s(name);
    std::vector<T> x = whole<T>(64, 12, 0, 30000), want(256);
    for (int l = 0; l < 64; l++) {
        T *o = &want[l * 4];
        o[0] = l & 1 ? x[((l * 5 + 2) | 1) & 63] : x[l];
        o[1] = l & 1 ? x[l ^ 6] : x[l];
        o[2] = l & 1 && l % 32 >= 4 ? x[l - 4] : x[l];
        o[3] = l & 1 && l % 16 + 2 < 16 ? x[l + 2] : x[l];
    }
    array<T> in(x), out(256);
    LAUNCH(masked_shuffles<T>, 1, 64, 0, (const T *)in, (T *)out);
    s.equal(out.host(), want);
}

// Groups of groups: what each lane is told of its own.
struct place {
    int size, rank, meta_size, meta_rank, last, votes, any, all;
};
template <typename G> __device__ place place_in(const G &g, int v)
{
    place p;
    p.size = (int)g.size();
    p.rank = (int)g.thread_rank();
    p.meta_size = (int)g.meta_group_size();
    p.meta_rank = (int)g.meta_group_rank();
    p.last = g.shfl(v, (int)g.size() - 1);
    p.votes = __popcll(g.ballot(v & 1));
    p.any = !!g.any(v == 3);
    p.all = !!g.all(v < 9);
    return p;
}

enum { PLACES = 5 };
__global__ void partitions(const int *x, place *y)
{
    cg::thread_block block = cg::this_thread_block();
    int l = (int)block.thread_rank(), v = x[l];
    place *o = y + l * PLACES;
    auto tile = cg::tiled_partition<32>(block);
    auto sub = cg::tiled_partition<8>(tile);
    o[0] = place_in(tile, v);
    o[1] = place_in(sub, v);
    o[2] = place_in(cg::binary_partition(tile, v % 3 == 0), v);
    memset(&o[3], 0, 2 * sizeof *o);
    if (v & 2) {
        cg::coalesced_group g = cg::coalesced_threads();
        o[3] = place_in(cg::tiled_partition(g, 4), v);
        o[4] = place_in(cg::binary_partition(g, v & 4), v);
    }
}

// The place of member `at` among the lanes of a group.
static place expected(const std::vector<int> &x, const std::vector<int> &members, int l,
                      int meta_size, int meta_rank)
{
    place p = {(int)members.size(), 0, meta_size, meta_rank, x[members.back()], 0, 0, 1};
    for (int i : members) {
        p.rank += i < l;
        p.votes += x[i] & 1;
        p.any |= x[i] == 3;
        p.all &= x[i] < 9;
    }
    return p;
}

static void test_partitions()
{
    subject s("partitions");
    const int n = 128;
    std::vector<int> x = whole<int>(n, 77, 0, 9);
    array<int> in(x);
    array<place> out(n * PLACES);
    LAUNCH(partitions, 1, n, 0, (const int *)in, (place *)out);
    std::vector<place> got = out.host();
    for (int l = 0; l < n; l++) {
        auto among = [&](int low, int high, auto f) {
            std::vector<int> m;
            for (int i = low; i < high; i++)
                if (f(x[i]))
                    m.push_back(i);
            return m;
        };
        auto every = [](int) { return true; };
        place want[PLACES] = {};
        int t = l / 32 * 32, e = l / 8 * 8, w = l / 64 * 64;
        want[0] = expected(x, among(t, t + 32, every), l, n / 32, l / 32);
        want[1] = expected(x, among(e, e + 8, every), l, 4, l % 32 / 8);
        auto half = among(t, t + 32, [&](int v) { return (v % 3 == 0) == (x[l] % 3 == 0); });
        want[2] = expected(x, half, l, got[l * PLACES + 2].meta_size, got[l * PLACES + 2].meta_rank);
        if (x[l] & 2) {
            auto g = among(w, w + 64, [](int v) { return v & 2; });
            int rank = (int)(std::find(g.begin(), g.end(), l) - g.begin()), first = rank / 4 * 4;
            std::vector<int> four(g.begin() + first,
                                  g.begin() + std::min<int>(first + 4, (int)g.size()));
            want[3] = expected(x, four, l, ((int)g.size() + 3) / 4, rank / 4);
            auto part = among(w, w + 64,
                              [&](int v) { return v & 2 && !(v & 4) == !(x[l] & 4); });
            want[4] = expected(x, part, l, got[l * PLACES + 4].meta_size,
                               got[l * PLACES + 4].meta_rank);
        }
        for (int k = 0; k < PLACES; k++) {
            const place &g = got[l * PLACES + k], &w2 = want[k];
            s.that(memcmp(&g, &w2, sizeof g) == 0,
                   "lane %d, group %d: size %d rank %d of %d/%d last %d votes %d any %d all %d, "
                   "expected size %d rank %d of %d/%d last %d votes %d any %d all %d",
                   l, k, g.size, g.rank, g.meta_rank, g.meta_size, g.last, g.votes, g.any, g.all,
                   w2.size, w2.rank, w2.meta_rank, w2.meta_size, w2.last, w2.votes, w2.any, w2.all);
        }
    }
}

// Atomics of many workgroups on few words; the results do not depend on the order.
template <typename T> struct shared_words {
    T sum, low, high, bits_and, bits_or, bits_xor, wrapped, taken, swapped;
    unsigned tickets, last_seen;
};
template <typename T> __global__ void atomics(const T *x, shared_words<T> *w, int *seen)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    T v = x[i];
    atomicAdd(&w->sum, v);
    atomicMin(&w->low, v);
    atomicMax(&w->high, v);
    if constexpr (std::is_integral<T>::value) {
        atomicAnd(&w->bits_and, (T)(v | 1));
        atomicOr(&w->bits_or, v);
        atomicXor(&w->bits_xor, v);
        atomicSub(&w->taken, v);
    }
    if constexpr (std::is_same<T, unsigned>::value)
        atomicInc(&w->wrapped, 99u);
    T old = w->swapped, assumed; // a sum by compare and swap
    do {
        assumed = old;
        if constexpr (std::is_same<T, float>::value)
            old = __uint_as_float(atomicCAS((unsigned *)&w->swapped, __float_as_uint(assumed),
                                            __float_as_uint(assumed + 2)));
        else if constexpr (std::is_same<T, double>::value)
            old = __longlong_as_double((long long)atomicCAS(
                (u64 *)&w->swapped, (u64)__double_as_longlong(assumed),
                (u64)__double_as_longlong(assumed + 2)));
        else
            old = atomicCAS(&w->swapped, assumed, (T)(assumed + 2));
    } while (old != assumed);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) { // each ticket is handed out once; the last one sees all the rest
        unsigned t = atomicAdd(&w->tickets, 1);
        atomicAdd(&seen[t], 1);
        if (t == gridDim.x - 1)
            w->last_seen = (unsigned)(__hip_atomic_load(&w->swapped, __ATOMIC_RELAXED,
                                                        __HIP_MEMORY_SCOPE_AGENT) /
                                      2);
    }
}

template <typename T> static void test_atomics(const char *name)
{
    subject s(name);
    const unsigned groups = 37, threads = 96, n = groups * threads;
    std::vector<T> x = whole<T>(n, 91, std::is_signed<T>::value ? -500 : 0, 500);
    shared_words<T> start = {};
    start.low = 10000, start.bits_and = (T)-1, start.taken = 7;
    if (std::is_signed<T>::value)
        start.high = (T)-10000;
    array<T> in(x);
    array<shared_words<T>> words(std::vector<shared_words<T>>{start});
    array<int> tickets(std::vector<int>(groups, 0));
    LAUNCH(atomics<T>, groups, threads, 0, (const T *)in, (shared_words<T> *)words, (int *)tickets);
    shared_words<T> want = start, got = words.host()[0];
    for (T v : x) {
        want.sum += v;
        want.low = std::min(want.low, v);
        want.high = std::max(want.high, v);
        if constexpr (std::is_integral<T>::value) {
            want.bits_and &= (T)(v | 1);
            want.bits_or |= v;
            want.bits_xor ^= v;
            want.taken -= v;
        }
    }
    s.that(got.sum == want.sum && got.low == want.low && got.high == want.high,
           "sum %g, least %g, largest %g", (double)got.sum, (double)got.low, (double)got.high);
    if constexpr (std::is_integral<T>::value)
        s.that(got.bits_and == want.bits_and && got.bits_or == want.bits_or &&
                   got.bits_xor == want.bits_xor && got.taken == want.taken,
               "and, or, xor or subtraction differ");
    if (std::is_same<T, unsigned>::value)
        s.that(got.wrapped == (T)(n % 100), "wrapped %g", (double)got.wrapped);
    s.that(got.swapped == (T)(2 * n), "compare and swap %g of %u", (double)got.swapped, 2 * n);
    s.that(got.tickets == groups && got.last_seen == n, "tickets %u, the last saw %u", got.tickets,
           got.last_seen);
    for (int t : tickets.host())
        s.that(t == 1, "a ticket was taken %d times", t);
}

// Packed half-precision sums, in memory and in LDS; whole numbers, so that any order is exact.
__global__ void packed_sums(const __half2 *x, __half2 *sum)
{
    __shared__ __half2 here;
    if (threadIdx.x == 0)
        here = __half2(0, 0);
    __syncthreads();
    unsafeAtomicAdd(&here, x[threadIdx.x]);
    unsafeAtomicAdd(&sum[0], x[threadIdx.x]);
    __syncthreads();
    if (threadIdx.x == 0)
        unsafeAtomicAdd(&sum[1], here);
}

static void test_packed_sums()
{
    subject s("packed sums");
    std::vector<float> a = whole<float>(128, 3, -3, 3), b = whole<float>(128, 4, 0, 5);
    std::vector<__half2> x(128);
    float sums[2] = {0, 0};
    for (int i = 0; i < 128; i++) {
        x[i] = __floats2half2_rn(a[i], b[i]);
        sums[0] += a[i] * 6, sums[1] += b[i] * 6;
    }
    array<__half2> in(x), out(std::vector<__half2>(2, __floats2half2_rn(0, 0)));
    LAUNCH(packed_sums, 6, 128, 0, (const __half2 *)in, (__half2 *)out);
    for (__half2 v : out.host())
        s.that(__low2float(v) == sums[0] && __high2float(v) == sums[1], "%g %g, expected %g %g",
               __low2float(v), __high2float(v), sums[0], sums[1]);
}

int main()
{
    test_reductions<int>("reductions of int");
    test_reductions<unsigned>("reductions of unsigned");
    test_reductions<long long>("reductions of long long");
    test_reductions<u64>("reductions of unsigned long long");
    test_reductions<float>("reductions of float");
    test_reductions<double>("reductions of double");
    for (bool ones : {false, true}) {
        test_bit_reductions<unsigned>("bit reductions of unsigned", ones);
        test_bit_reductions<u64>("bit reductions of unsigned long long", ones);
    }
    test_masked_shuffles<int>("masked shuffles of int");
    test_masked_shuffles<long long>("masked shuffles of long long");
    test_masked_shuffles<float>("masked shuffles of float");
    test_masked_shuffles<double>("masked shuffles of double");
    test_partitions();
    test_atomics<int>("atomics of workgroups, int");
    test_atomics<unsigned>("atomics of workgroups, unsigned");
    test_atomics<u64>("atomics of workgroups, unsigned long long");
    test_atomics<float>("atomics of workgroups, float");
    test_atomics<double>("atomics of workgroups, double");
    test_packed_sums();
    return drive_end();
}

#include "drive.h"
#include "memory.hip"

static void test_atomics()
{
    {
        subject s("atomics_all");
        const int n = 128;
        std::vector<int> a{1, 100000, 50, -3, 77, 77, 77, 77, 77, 5, 77, 77};
        std::vector<unsigned> b{0xffffffff, 0, 0x55, 999, 3, 4, 60, 100, 77};
        std::vector<unsigned long long> c{1ull << 40, 1ull << 50, 5, 64, 7, ~0ull, 77};
        std::vector<float> d{0.5f, 9, 0, 0, 0, 0, 0, 0, 0, 0};
        std::vector<double> e{0.25, 9, 77, -5, 0, 0, 0, 0, 0, 0};
        array<int> da(a);
        array<unsigned> db(b);
        array<unsigned long long> dc(c);
        array<float> dd(d);
        array<double> de(e);
        LAUNCH(atomics_all, 1, n, 0, da, db, dc, dd, de);
        auto last_b = db.host()[3];
        auto last_c = dc.host()[4];
        s.that(last_b < n && last_c < n, "exchanges left %u and %llu", last_b, last_c);
        for (int t = 0; t < n; t++) {
            a[0] += t, a[1] -= t, a[2] = std::min(a[2], t), a[3] = std::max(a[3], t), a[9]++;
            b[0] &= t, b[1] |= t, b[2] ^= t;
            b[4] = b[4] >= 9 ? 0 : b[4] + 1;
            b[5] = b[5] == 0 || b[5] > 9 ? 9 : b[5] - 1;
            b[6] = std::min(b[6], (unsigned)t), b[7] = std::max(b[7], (unsigned)t);
            c[0] += t, c[1] = std::min(c[1], (unsigned long long)t);
            c[2] = std::max(c[2], (unsigned long long)t), c[5] &= t;
            d[0] += 1.5f, d[1] = std::max(d[1], (float)t);
            e[0] += 2.5, e[1] = std::min(e[1], (double)t), e[3] = std::max(e[3], (double)t);
        }
        c[3] = 1; // 64 is one of the values compared with
        b[3] = last_b, c[4] = last_c;
        s.equal(da.host(), a);
        s.equal(db.host(), b);
        s.equal(dc.host(), c);
        // d[9] and e[9] are what some work-item found.
        auto got_d = dd.host();
        auto got_e = de.host();
        float turn = (got_d[9] - 0.5f) / 1.5f, turn_e = (float)((got_e[9] - 0.25) / 2.5);
        s.that(turn >= 0 && turn < n && turn == floorf(turn), "old value %g", got_d[9]);
        s.that(turn_e >= 0 && turn_e < n && turn_e == floorf(turn_e), "old value %g", got_e[9]);
        got_d[9] = 0, got_e[9] = 0;
        s.equal(got_d, d);
        s.equal(got_e, e);
    }
    {
        subject s("lds_atomics");
        const int n = 192;
        array<int> a(9 + n);
        array<float> d(1);
        array<double> e(1);
        LAUNCH(lds_atomics, 1, n, 0, a, d, e);
        // s[2] goes from 0 to the first t that is not 0 and stays; a[t] is what the or found (a part
        // of the final value), a[9 + t] what compare-and-swap found; item t + 9 writes a[t + 9] twice.
        s.equal(d.host(), {(float)n});
        s.equal(e.host(), {n + n * (n - 1) / 2.0});
        auto got = a.host();
        s.that(got[0] == n * (n - 1) / 2, "sum is %d", got[0]);
        int other = -1;
        for (int t = n; t < n + 9; t++) {
            if (got[t] && other == -1)
                other = got[t];
            s.that(got[t] >= 0 && got[t] < n && (!got[t] || got[t] == other), "a[%d] is %d", t, got[t]);
        }
        for (int t = 1; t < n; t++)
            s.that(got[t] >= 0 && got[t] <= 255, "a[%d] is %d", t, got[t]);
    }
    {
        subject s("pk_atomic");
        array<_Float16> p(std::vector<_Float16>{(_Float16)0.5, (_Float16)-8});
        LAUNCH(pk_atomic, 3, 64, 0, (_Float16 __attribute__((ext_vector_type(2))) *)(_Float16 *)p);
        s.equal(p.host(), {(_Float16)192.5, (_Float16)376});
    }
}

static void test_generic()
{
    subject s("generic_ptr");
    for (int k : {1, 5, 2, 6, 4}) { // LDS, private memory, global memory
        std::vector<int> g(64, 1000);
        array<int> dg(g);
        int items = k & 1 ? 64 : k & 2 ? 64 : 4;
        LAUNCH(generic_ptr, 1, items, 0, dg, k);
        auto got = dg.host();
        for (int t = 0; t < 64; t++) {
            // In one wave all lanes load, then all store: *p is k + 1, k + k % 4 + 1 or 1001. Where p
            // is g itself, item 0's result overwrites it after all have read it.
            int at = k & 1 ? k + 1 : k & 2 ? k + (k & 3) + 1 : 1001;
            int s3 = (k & 1) && (k & 63) == 3 ? k + 1 : k;
            int want = t < items ? at + k + 1 + s3 : 1000;
            s.that(got[t] == want, "k %d: [%d] is %d, expected %d", k, t, got[t], want);
        }
    }
}

static void test_fences()
{
    // The kernel waits until the host sets a flag in memory that both see.
    subject s("fences");
    int *x, *f;
    HIP(hipHostMalloc(&x, 65 * sizeof *x, hipHostMallocCoherent));
    HIP(hipHostMalloc(&f, 3 * sizeof *f, hipHostMallocCoherent));
    memset(x, 0, 65 * sizeof *x);
    memset(f, 0, 3 * sizeof *f);
    fences<<<1, 64>>>(x, f);
    HIP(hipGetLastError());
    while (!__atomic_load_n(&f[0], __ATOMIC_ACQUIRE))
        ;
    for (int i = 0; i < 64; i++)
        s.that(x[i] == 1, "x[%d] is %d when the flag is up", i, x[i]);
    s.that(hipStreamQuery(0) == hipErrorNotReady, "the kernel did not wait");
    __atomic_store_n(&f[1], 1, __ATOMIC_RELEASE);
    HIP(hipDeviceSynchronize());
    s.that(f[2] == 64, "f[2] is %d", f[2]);
    s.that(x[64] >= 0 && x[64] < 64, "x[64] is %d", x[64]);
    HIP(hipHostFree(x));
    HIP(hipHostFree(f));
}

static void test_tiles()
{
    subject s("cg_tile");
    auto x = whole<float>(192, 1, -100, 100);
    array<float> dx(x), y(12);
    LAUNCH(cg_tile, 1, 192, 0, dx, y);
    s.equal(y.host(), make<float>(12, [&](size_t i) {
                float sum = 0;
                for (int k = 0; k < 16; k++)
                    sum += x[16 * i + k];
                return sum;
            }));
}

static void test_widths()
{
    {
        subject s("subword");
        const int n = 512;
        auto a = bits_of<signed char>(n, 2);
        auto b = bits_of<unsigned short>(n, 3);
        auto q = bits_of<unsigned short>(n, 4);
        auto u = bits_of<uint64_t>(n, 5);
        array<signed char> da(a);
        array<unsigned short> db(b), dd(q);
        array<short> dc(n);
        array<uint64_t> de(u);
        LAUNCH(subword, 2, 256, 0, da, db, dc, (char2 *)(unsigned short *)dd,
               (ushort4 *)(uint64_t *)de, n);
        s.equal(dc.host(), make<short>(n, [&](size_t i) {
                    int g = (int)i & ~255, t = (int)i & 255;
                    return (short)(a[i] * b[i] + a[g + 255 - t] + b[g + (t ^ 1)]);
                }));
        s.equal(dd.host(), make<unsigned short>(n, [&](size_t i) {
                    return (unsigned short)(q[i] >> 8 | ((q[i] + a[i]) & 255) << 8);
                }));
        s.equal(de.host(), make<uint64_t>(n, [&](size_t i) {
                    uint64_t x = u[i] & 0xffff, y = u[i] >> 16 & 0xffff, z = u[i] >> 32 & 0xffff;
                    uint64_t w = u[i] >> 48;
                    return ((w + 1) & 0xffff) | z << 16 | ((y * 3) & 0xffff) << 32 | x << 48;
                }));
    }
    subject s("vecmem");
    const int n = 256; // q is written by four items each: those of the last wave stay or any other's
    auto a = real<float>(3 * n, 6, -1, 1);
    auto c = real<double>(2 * n, 7, -1, 1);
    for (int i = 0; i < 2 * n; i++)
        c[i] = c[i % 128]; // the four agree
    array<float> da(a), db(3 * n);
    array<double> dc(c), dd(2 * n);
    LAUNCH(vecmem, 1, n, 0, (float3 *)(float *)da, (float3 *)(float *)db, (double2 *)(double *)dc,
           (double2 *)(double *)dd, n);
    s.equal(db.host(), make<float>(3 * n, [&](size_t i) { return a[i / 3 * 3 + (i + 2) % 3]; }));
    s.equal(dd.host(), make<double>(2 * n, [&](size_t i) {
                return i % 2 ? (double)a[(255 - i / 2) * 3 + 2] : c[(i / 2 + 1) % 64 * 2];
            }));
}

static void test_addressing()
{
    {
        // What lies beyond the buffers' n words reads as 0 and is not written; the scalar offset of
        // the last store is n bytes, so that some of them go beyond too.
        subject s("rawbuf");
        const int items = 256, n = 700, all = 4 * items;
        auto p = whole<float>(all, 8, 1, 1000);
        array<float> dp(p), o(std::vector<float>(all, -1));
        LAUNCH(rawbuf, 1, items, 0, dp, o, n);
        auto got = o.host();
        auto bits = [](float v) {
            int i;
            memcpy(&i, &v, 4);
            return i;
        };
        // Items' two stores may meet: item i writes words 4 i .. 4 i + 3, and word 4 i + 1 + n / 4.
        // 175 is 3 modulo 4, so the second goes to the first word of a group: compare either.
        for (int w = 0; w < all; w++) {
            int first = w >= n ? bits(-1) : w % 4 ? bits(p[w]) : bits(p[w]) + 1;
            int from = w - 1 - n / 4;
            bool second = w < n && from >= 0 && from % 4 == 0;
            s.that(bits(got[w]) == first || (second && got[w] == p[from + 1]),
                   "[%d] is %08x, expected %08x", w, bits(got[w]), first);
        }
    }
    {
        subject s("lds_dma");
        // Each wave's words go to the LDS address itself plus its lane, so all four waves load the
        // first 64 words of s; make them the same.
        auto h = bits_of<unsigned>(256, 10);
        for (int i = 64; i < 256; i++)
            h[i] = h[i % 64];
        array<unsigned> dh(h), p(256);
        LAUNCH(lds_dma, 1, 256, 0, (float *)(unsigned *)dh, (float *)(unsigned *)p);
        auto got = p.host();
        for (int t = 192; t < 256; t++)
            s.that(got[t] == h[255 - t], "[%d] is %08x, expected %08x", t, got[t], h[255 - t]);
    }
    {
        subject s("ptrchase");
        const int n = 257;
        array<unsigned long long> ring(n), o(1);
        auto base = (unsigned long long)(unsigned long long *)ring;
        ring.set(make<unsigned long long>(n, [&](size_t i) { return base + (i + 100) % n * 8; }));
        LAUNCH(ptrchase, 1, 1, 0, (unsigned long long **)base, 1000, o);
        s.equal(o.host(), {base + 100000 % n * 8});
    }
    {
        subject s("gather_scatter");
        const int n = 701;
        auto a = bits_of<unsigned>(n, 11);
        auto index = make<int>(n, [](size_t i) { return (int)(i * 300 % 701); }); // a permutation
        array<unsigned> da(a), db(n);
        array<int> di(index);
        LAUNCH(gather_scatter, 3, 256, 0, di, (float *)(unsigned *)da, (float *)(unsigned *)db, n);
        s.equal(db.host(), make<unsigned>(n, [&](size_t i) { return a[n - 1 - i]; }));
    }
    subject s("bigmem_memset");
    const size_t n = 3000;
    array<uint4> p(n + 5);
    const uint4 v = make_uint4(1, 2, 3, 0xfedcba98);
    LAUNCH(bigmem_memset, 4, 256, 0, p, v, n);
    auto want = std::vector<uint4>(n + 5, v);
    for (size_t i = n; i < n + 5; i++)
        memset(&want[i], 0xcd, sizeof want[i]);
    s.equal(p.host(), want);
}

int main()
{
    test_atomics();
    test_generic();
    test_fences();
    test_tiles();
    test_widths();
    test_addressing();
    return drive_end();
}

#include "drive.h"
#include "mfma.hip"

// Inputs are small whole numbers (or eighths), so that every sum of products is exact and the
// undocumented order of additions inside an instruction cannot matter.

// A matrix instruction's shape: blocks of m x m results over k products; a lane holds p of them.
struct shape {
    int m, k, blocks, p;
    bool rows_apart; // f64 16x16x4: consecutive registers are four rows apart

    // Where element (row or column i, product index k) of a block is among the inputs.
    int lane(int block, int i, int at_k) const
    {
        return i + m * (block + blocks * (at_k / p));
    }
    // What register r of a lane holds: block, row and column.
    void result(int l, int r, int *block, int *row, int *column) const
    {
        *column = l % m;
        if (m == 4) {
            *block = l / 4 % blocks;
            *row = blocks == 4 ? l / 16 : r; // f64: one register
        } else if (m == 16) {
            *block = r / 4;
            *row = rows_apart ? 4 * r + l / 16 : 4 * (l / 16) + r % 4;
        } else {
            *block = r / 16;
            *row = 8 * (r % 16 / 4) + 4 * (l / 32) + r % 4;
        }
    }
    // Adds one instruction's products to register r of lane l. a and b give element e of a lane.
    template <typename A, typename B>
    double product(int l, int r, A a, B b, int cbsz = 0, int abid = 0, int blgp = 0) const
    {
        int block, row, column;
        result(l, r, &block, &row, &column);
        int from_a = (block & ~((1 << cbsz) - 1)) + (cbsz ? abid : 0);
        double sum = 0;
        for (int i = 0; i < k; i++) {
            int from_b = lane(block, column, i);
            if (blgp == 1) // the first 32 lanes twice
                from_b &= 31;
            else if (blgp == 3) // rotated by 16 lanes
                from_b = (from_b + 16) & 63;
            sum += a(lane(from_a, row, i), i % p) * b(from_b, i % p);
        }
        return sum;
    }
};

static const int n = 3; // instructions that add to one accumulator

// Compares registers first .. first + count - 1 of got (64 lanes each) with want(lane, register).
template <typename T, typename F>
static void registers(subject &s, const std::vector<T> &got, int first, int count, F want)
{
    for (int r = 0; r < count; r++)
        for (int l = 0; l < 64; l++) {
            double w = want(l, r), g = (double)got[first * 64 + r * 64 + l];
            s.that(g == w, "register %d of lane %d is %g, expected %g", first + r, l, g, w);
        }
}

// The sum over the n instructions.
template <typename F> static double times(F f)
{
    double sum = 0;
    for (int k = 0; k < n; k++)
        sum += f(k);
    return sum;
}

static void test_f16_gemm()
{
    subject s("mfma_f16_gemm");
    const int size = 128;
    auto a = whole<_Float16>(size * size, 1, -30, 30), b = whole<_Float16>(size * size, 2, -30, 30);
    array<_Float16> da(a), db(b);
    array<float> c(size * size);
    LAUNCH(mfma_f16_gemm, dim3(2, 2), 256, 0, da, db, c, size);
    s.equal(c.host(), make<float>(size * size, [&](size_t i) { // b is transposed
                float sum = 0;
                for (int k = 0; k < size; k++)
                    sum += (float)a[i / size * size + k] * (float)b[i % size * size + k];
                return sum;
            }));
}

static void test_bf16()
{
    subject s("mfma_bf16_32");
    auto bits = [](float v) {
        uint32_t w;
        memcpy(&w, &v, 4);
        return (uint16_t)(w >> 16);
    };
    auto a = whole<int>(n * 256, 3, -30, 30), b = whole<int>(n * 256, 4, -30, 30);
    array<uint16_t> da(make<uint16_t>(n * 256, [&](size_t i) { return bits(a[i]); }));
    array<uint16_t> db(make<uint16_t>(n * 256, [&](size_t i) { return bits(b[i]); }));
    array<float> c(16 * 64);
    LAUNCH(mfma_bf16_32, 1, 64, 0, (s4 *)(uint16_t *)da, (s4 *)(uint16_t *)db, c, n);
    const shape all = {32, 8, 1, 4, false};
    registers(s, c.host(), 0, 16, [&](int l, int r) {
        return times([&](int k) {
            auto at = [&](auto &v) { return [&, k](int lane, int e) { return (double)v[k * 256 + lane * 4 + e]; }; };
            return all.product(l, r, at(a), at(b));
        });
    });
}

static void test_i8()
{
    subject s("mfma_i8");
    auto a = bits_of<signed char>(n * 512, 5), b = bits_of<signed char>(n * 512, 6);
    array<signed char> da(a), db(b);
    array<int> c(20 * 64);
    LAUNCH(mfma_i8, 1, 64, 0, (long *)(signed char *)da, (long *)(signed char *)db, c, n);
    auto got = c.host();
    for (const shape &x : {shape{32, 16, 1, 8, false}, shape{16, 32, 1, 8, false}})
        registers(s, got, x.m == 32 ? 0 : 16, x.m == 32 ? 16 : 4, [&](int l, int r) {
            return times([&](int k) {
                auto at = [&](auto &v) { return [&, k](int lane, int e) { return (double)v[k * 512 + lane * 8 + e]; }; };
                return x.product(l, r, at(a), at(b));
            });
        });
}

static void test_f64()
{
    subject s("mfma_f64");
    auto a = whole<double>(n * 64, 7, -1000, 1000), b = whole<double>(n * 64, 8, -1000, 1000);
    array<double> da(a), db(b), c(5 * 64);
    LAUNCH(mfma_f64, 1, 64, 0, da, db, c, n);
    auto got = c.host();
    for (const shape &x : {shape{16, 4, 1, 1, true}, shape{4, 4, 4, 1, false}})
        registers(s, got, x.m == 16 ? 0 : 4, x.m == 16 ? 4 : 1, [&](int l, int r) {
            return times([&](int k) {
                auto at = [&](auto &v) { return [&, k](int lane, int) { return v[k * 64 + lane]; }; };
                return x.product(l, r, at(a), at(b));
            });
        });
}

static void test_f32()
{
    subject s("mfma_f32_all");
    auto a = whole<float>(n * 64, 9, -9, 9), b = whole<float>(n * 64, 10, -9, 9);
    array<float> da(a), db(b), c(64 * 64);
    LAUNCH(mfma_f32_all, 1, 64, 0, da, db, c, n);
    auto got = c.host();
    auto run = [&](const shape &x, int l, int r, int cbsz = 0, int abid = 0, int blgp = 0) {
        return times([&](int k) {
            return x.product(l, r, [&](int lane, int) { return (double)a[k * 64 + lane]; },
                             [&](int lane, int) { return (double)b[k * 64 + lane]; }, cbsz, abid, blgp);
        });
    };
    auto pairs = [&](const shape &x, int l, int r) { // both inputs are the pair (a, b)
        if (gfx90a)
            return 0.0; // it has no xf32
        return times([&](int k) {
            auto at = [&](int lane, int e) { return (double)(e ? b : a)[k * 64 + lane]; };
            return x.product(l, r, at, at);
        });
    };
    registers(s, got, 0, 4, [&](int l, int r) {
        return run({4, 1, 16, 1, false}, l, r) + run({16, 4, 1, 1, false}, l, r) +
               pairs({16, 8, 1, 2, false}, l, r);
    });
    registers(s, got, 4, 16, [&](int l, int r) {
        return run({16, 1, 4, 1, false}, l, r, 2, 1, 3) * run({32, 2, 1, 1, false}, l, r) +
               pairs({32, 4, 1, 2, false}, l, r);
    });
    registers(s, got, 32, 32,
              [&](int l, int r) { return run({32, 1, 2, 1, false}, l, r, 1, 0, 1); });
}

// An 8-bit float with m mantissa bits, of gfx942's kind without infinities and negative zero.
static double fnuz(unsigned code, int m, int bias)
{
    int exponent = (code & 127) >> m, fraction = code & ((1 << m) - 1);
    double v = exponent ? ldexp((1 << m) + fraction, exponent - bias - m)
                        : ldexp(fraction, 1 - bias - m);
    return code == 128 ? NAN : code & 128 ? -v : v;
}

static void test_fp8()
{
    subject s("mfma_fp8"); // codes that both formats read as numbers from 1 to 16, and 0
    auto codes = [](uint64_t seed) {
        rng r(seed);
        return make<unsigned char>(n * 512, [&](size_t i) {
            return i % 9 ? (unsigned char)(0x40 + r.in(0, 16) + 128 * r.in(0, 1)) : 0;
        });
    };
    auto a = codes(11), b = codes(12);
    array<unsigned char> da(a), db(b);
    array<float> c(20 * 64);
    LAUNCH(mfma_fp8, 1, 64, 0, (long *)(unsigned char *)da, (long *)(unsigned char *)db, c, n);
    auto got = c.host();
    auto run = [&](const shape &x, int l, int r, bool a_is_bf8, bool b_is_bf8) {
        return times([&](int k) {
            auto at = [k](auto &v, bool bf8) {
                return [&v, k, bf8](int lane, int e) {
                    unsigned code = v[k * 512 + lane * 8 + e];
                    return bf8 ? fnuz(code, 2, 16) : fnuz(code, 3, 8);
                };
            };
            return x.product(l, r, at(a, a_is_bf8), at(b, b_is_bf8));
        });
    };
    const shape small = {16, 32, 1, 8, false}, large = {32, 16, 1, 8, false};
    registers(s, got, 0, 4, [&](int l, int r) {
        return run(small, l, r, false, false) + run(small, l, r, true, true) +
               run(small, l, r, false, true) + run(small, l, r, true, false);
    });
    registers(s, got, 4, 16, [&](int l, int r) {
        return run(large, l, r, false, false) + run(large, l, r, true, false);
    });
}

static void test_f16_small()
{
    subject s("mfma_f16_small");
    auto a = whole<_Float16>(n * 256, 13, -30, 30), b = whole<_Float16>(n * 256, 14, -30, 30);
    array<_Float16> da(a), db(b);
    array<float> c(64 * 64);
    LAUNCH(mfma_f16_small, 1, 64, 0, (h4 *)(_Float16 *)da, (h4 *)(_Float16 *)db, c, n);
    auto got = c.host();
    auto run = [&](const shape &x, int l, int r) {
        return times([&](int k) {
            auto at = [&](auto &v) { return [&, k](int lane, int e) { return (double)v[k * 256 + lane * 4 + e]; }; };
            return x.product(l, r, at(a), at(b));
        });
    };
    registers(s, got, 0, 4, [&](int l, int r) { return run({4, 4, 16, 4, false}, l, r); });
    registers(s, got, 4, 16, [&](int l, int r) {
        return run({16, 4, 4, 4, false}, l, r) + run({32, 8, 1, 4, false}, l, r);
    });
    registers(s, got, 32, 32, [&](int l, int r) { return run({32, 4, 2, 4, false}, l, r); });
}

static void test_smfmac()
{
    // Of four values of A in a row two are stored; a byte of I says which, for a lane's two groups.
    subject s("smfmac");
    auto a = whole<_Float16>(n * 256, 15, -30, 30), b = whole<_Float16>(n * 512, 16, -30, 30);
    const int index[n] = {0x7e3b9cd8, 0x01234094, 0x00ffaae9};
    array<_Float16> da(a), db(b);
    array<int> di(std::vector<int>(index, index + n));
    array<float> c(20 * 64);
    LAUNCH(smfmac, 1, 64, 0, (h4 *)(_Float16 *)da, (h8 *)(_Float16 *)db, di, c, n);
    auto got = c.host();
    for (const shape &x : {shape{16, 32, 1, 8, false}, shape{32, 16, 1, 8, false}})
        registers(s, got, x.m == 16 ? 0 : 4, x.m == 16 ? 4 : 16, [&](int l, int r) {
            return times([&](int k) {
                return x.product(
                    l, r,
                    [&](int lane, int e) { // element e of a lane's eight: stored or 0
                        for (int v = e / 4 * 2; v < e / 4 * 2 + 2; v++)
                            if ((index[k] >> (2 * v) & 3) == e % 4)
                                return (double)a[k * 256 + lane * 4 + v];
                        return 0.0;
                    },
                    [&](int lane, int e) { return (double)b[k * 512 + lane * 8 + e]; });
            });
        });
}

int main()
{
    test_f16_gemm();
    test_bf16();
    if (!gfx90a)
        test_i8();
    test_f64();
    test_f32();
    test_f16_small();
    if (!gfx90a) {
        test_fp8();
        test_smfmac();
    }
    return drive_end();
}

#include "drive.h"
#include "control.hip"

#include <unistd.h>

static const int n = 700;

static float series(float x, int k)
{
    float s = 0;
    for (int i = 0; i < k; i++)
        s += (x + i) * (x + i) + 1;
    return s;
}

static void test_calls()
{
    auto x = whole<float>(n, 1, -100, 100);
    array<float> dx(x);
    {
        subject s("calls");
        array<float> y(n);
        LAUNCH(calls, 3, 256, 0, dx, y, n);
        s.equal(y.host(), make<float>(n, [&](size_t i) { return series(x[i], n & 7); }));
    }
    {
        subject s("indirect");
        auto w = bits_of<int>(n, 2);
        array<int> dw(w);
        array<float> y(n);
        LAUNCH(indirect, 3, 256, 0, dx, y, dw, n);
        s.equal(y.host(), make<float>(n, [&](size_t i) {
                    return series(x[i], 3) - (w[i] & 1 ? x[i] * x[i] + 1 : 0);
                }));
    }
    {
        subject s("recursion");
        auto k = make<int>(192, [](size_t i) { return (int)(i * 7 % 11) - 1; });
        array<int> dk(k), y(192);
        HIP(hipDeviceSetLimit(hipLimitStackSize, 4096)); // for the compiler does not know the depth
        LAUNCH(recursion, 1, 192, 0, dk, y);
        s.equal(y.host(), make<int>(192, [&](size_t i) {
                    int a = 0, b = 1;
                    for (int j = 0; j < k[i]; j++) {
                        b += a;
                        a = b - a;
                    }
                    return k[i] < 2 ? k[i] : a;
                }));
    }
    subject s("virt");
    auto v = bits_of<int>(192, 3);
    array<int> dv(v);
    LAUNCH(virt, 1, 192, 0, dv, 17);
    s.equal(dv.host(), make<int>(192, [&](size_t i) {
                return v[i] & 1 ? (int)i + 17 : (int)i * 17;
            }));
}

static int switched(int x)
{
    unsigned v = (unsigned)x;
    switch (x & 15) {
    case 0: return (int)(v + 1);
    case 1: return (int)(v * 3);
    case 2: return x ^ 0x55;
    case 3: return ~x;
    case 4: return (int)(v << 3);
    case 5: return x >> 2;
    case 6: return (int)(v * v);
    case 7: return x | 9;
    case 9: return (int)(0 - v);
    case 11: return x % 5;
    default: return 0;
    }
}

static void test_branches()
{
    {
        subject s("sw");
        auto x = make<int>(n, [](size_t i) { return (int)(i * 37) - 9000; });
        array<int> dx(x), y(n);
        LAUNCH(sw, 3, 256, 0, dx, y, n);
        s.equal(y.host(), make<int>(n, [&](size_t i) { return switched(x[i]); }));
    }
    {
        subject s("collatz");
        const int items = 512, most = 90;
        auto x = make<unsigned>(items, [](size_t i) { return (unsigned)i * i + 1; });
        array<unsigned> dx(x);
        array<int> y(items);
        LAUNCH(collatz, 2, 256, 0, dx, y, most);
        s.equal(y.host(), make<int>(items, [&](size_t i) {
                    int c = 0;
                    for (uint64_t v = x[i]; v != 1 && c <= most; c++)
                        v = v % 2 ? 3 * v + 1 : v / 2;
                    return c;
                }));
    }
    subject s("uswitch");
    auto x = make<int>(256, [](size_t i) { return (int)(i * 12345) - 1000000; });
    array<int> dx(x), y(256);
    for (int m = -1; m < 7; m++) {
        LAUNCH(uswitch, 1, 256, 0, dx, y, m);
        s.equal(y.host(), make<int>(256, [&](size_t i) {
                    int v = x[i];
                    int all[] = {v + 1, v * 7, v ^ v >> 3, __builtin_popcount(v), v / 3, v - 9};
                    return m < 0 || m > 5 ? v : all[m];
                }));
    }
}

static void test_spills()
{
    {
        subject s("spill"); // 20 additions of products by 1.1, then 96 products: 1e-5 of the sizes
        auto x = real<float>(96 * 128, 4, -1, 1);
        auto index = whole<int>(20, 5, 0, 1000);
        array<float> dx(x), y(128);
        array<int> di(index);
        LAUNCH(spill, 2, 64, 0, dx, y, di, 20);
        auto got = y.host();
        for (int i = 0; i < 128; i++) {
            double a[96], sum = 0, size = 0;
            for (int k = 0; k < 96; k++)
                a[k] = x[k * 64 + i];
            for (int v : index)
                a[v % 96] += a[v * 7 % 96] * (double)1.1f;
            for (int k = 0; k < 96; k++) {
                sum += a[k] * a[95 - k];
                size += fabs(a[k] * a[95 - k]);
            }
            s.that(fabs(got[i] - sum) <= 1e-5 * size, "[%d] is %g, expected %g", i, got[i], sum);
        }
    }
    subject s("spill_regs"); // fused by its source: the same roundings as the host's fma
    auto x = real<double>(48 * 1024, 6, -1, 1), want = x;
    array<double> dx(x), y(48 * 1024);
    LAUNCH(spill_regs, 1, 1024, 0, dx, y);
    for (int i = 0; i < 1024; i++)
        for (int r = 0; r < 3; r++)
            for (int k = 0; k < 48; k++)
                want[k * 1024 + i] = fma(want[(k + 7) % 48 * 1024 + i],
                                         want[(k + 13) % 48 * 1024 + i], want[k * 1024 + i]);
    s.equal(y.host(), want);
}

static void test_state()
{
    {
        subject s("clocks");
        array<long long> o(131), longer(131);
        LAUNCH(clocks, 1, 64, 0, o, 10);
        LAUNCH(clocks, 1, 64, 0, longer, 1000);
        auto a = o.host(), b = longer.host();
        for (int i = 0; i < 64; i++) {
            // 10 sleeps of 2 x 64 clocks; the constant clock has 100 MHz.
            s.that(a[i] >= 1280, "clock64 moved by %lld over 1280 clocks of sleep", a[i]);
            s.that(b[i] >= 128000 && b[i] > a[i], "clock64 moved by %lld", b[i]);
            s.that(b[64 + i] > 0 && b[64 + i] < b[i], "wall_clock64 moved by %lld, clock64 by %lld",
                   b[64 + i], b[i]);
        }
        s.that(a[128] > 0 && b[128] > a[128], "cycle counter went from %lld to %lld", a[128], b[128]);
        s.that(a[130] >= 0 && a[130] < 8, "XCC_ID is %lld of 8", a[130]);
    }
    {
        subject s("votes");
        auto x = make<int>(64, [](size_t i) { return (int)(i * 5 % 11); });
        array<int> dx(x);
        array<unsigned long long> o(64);
        LAUNCH(votes, 1, 64, 0, dx, o);
        unsigned long long above = 0, odd_above = 0;
        for (int i = 0; i < 64; i++) {
            above |= (unsigned long long)(x[i] > 3) << i;
            odd_above |= (unsigned long long)(x[i] > 7 && x[i] % 2) << i;
        }
        s.equal(o.host(), make<unsigned long long>(64, [&](size_t i) {
                    unsigned long long v = above + 1 + 1 + ~0ull + x[(i & ~15) + 5] +
                                           x[i % 32 ? i - 1 : i];
                    return x[i] % 2 ? v + odd_above : v;
                }));
    }
    {
        subject s("bigkernarg");
        const int4 a = {1, 2, 3, 4}, b = {50, 60, 70, 80}, c = {900, 1000, 1100, 1200};
        array<double> o(32);
        LAUNCH(bigkernarg, 1, 32, 0, a, b, c, o, 1l << 40, (short)-7, (char)5);
        s.equal(o.host(), std::vector<double>(32, 1 + 60 + 1100 + 0x1p40 - 7 + 5 + 1 + 1 + 1));
        LAUNCH(bigkernarg, dim3(3, 1, 1), dim3(32, 1, 1), 0, a, b, c, o, 0l, (short)0, (char)0);
        s.equal(o.host(), std::vector<double>(32, 1 + 60 + 1100 + 3 + 1 + 1));
    }
    subject s("constmem");
    auto t = whole<float>(64, 7, -100, 100);
    HIP(hipMemcpyToSymbol(HIP_SYMBOL(ctab), t.data(), 256));
    array<float> o(64);
    LAUNCH(constmem, 1, 64, 0, o, 100);
    float want = 0;
    for (int i = 0; i < 100; i++)
        want += t[i & 63];
    s.equal(o.host(), std::vector<float>(64, want));
    int g = 0;
    HIP(hipMemcpyFromSymbol(&g, HIP_SYMBOL(gvar), sizeof g));
    s.that(g == 100, "gvar is %d", g);
}

// The kernel that traps, in a process of its own: HIP must report a launch failure.
static int trap()
{
    array<int> x(whole<int>(64, 8, 0, 9));
    asserts<<<1, 64>>>(x, 5);
    return hipDeviceSynchronize() == hipErrorLaunchFailure ? 42 : 1;
}

static void test_asserts()
{
    subject s("asserts");
    array<int> x(whole<int>(64, 8, 1, 9));
    LAUNCH(asserts, 1, 64, 0, x, 9);
    auto got = x.host();
    s.that(got[0] >= 0 && got[0] < 64, "lane id %d", got[0]);
    int status = system("exec /proc/$PPID/exe trap >/dev/null 2>&1");
    s.that(WIFEXITED(status) && WEXITSTATUS(status) == 42, "the trap's status is 0x%x", status);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "trap")) {
        int status = trap();
        fflush(NULL);
        _exit(status);
    }
    test_calls();
    test_branches();
    test_spills();
    test_state();
    test_asserts();
    return drive_end();
}

#include "drive.h"
#include "histogram.hip"

int main()
{
    {
        subject s("hist_lds");
        const int n = 10007;
        auto x = bits_of<unsigned char>(n, 1);
        std::vector<unsigned> h(256, 3);
        array<unsigned char> dx(x);
        array<unsigned> dh(h);
        LAUNCH(hist_lds, 5, 256, 0, dx, dh, n);
        for (unsigned char v : x)
            h[v]++;
        s.equal(dh.host(), h);
    }
    {
        // Bins 0..7 take compare-and-swap, 64..127 increments, 128..191 additions, 192..255 ors: the
        // four kinds of update do not meet, so that their order does not matter.
        subject s("hist_glb");
        const int n = 700;
        rng r(2);
        std::vector<unsigned> h(256, 0);
        for (int i = 0; i < 8; i++)
            h[i] = 1000 + i;
        auto x = make<uint4>(n, [&](size_t i) {
            unsigned bin = i % 8, old = i < 8 ? 1000 + bin : 5000 + bin;
            unsigned compare = (old & ~255u) | 64 | r.in(0, 63);
            unsigned word = r.u32();
            (void)word;
            return make_uint4(compare, (128u + r.in(0, 63)) << 24 | r.in(0, 99),
                              (192u + r.in(0, 63)) << 8, (r.u32() & ~7u) | bin);
        });
        // One element per bin matches and swaps.
        for (int i = 0; i < 8; i++) {
            h[i] = x[i].x;
            for (int k = 8 + i; k < n; k += 8)
                if (x[k].x == h[i] || x[k].x == x[i].y)
                    x[k].x ^= 0x10000;
        }
        array<uint4> dx(x);
        array<unsigned> dh(h);
        LAUNCH(hist_glb, 3, 256, 0, dx, dh, n);
        for (const uint4 &v : x) {
            h[v.x & 255]++;
            h[v.y >> 24]++;
            h[(v.z >> 8) & 255] |= v.w;
        }
        for (int i = 0; i < 8; i++)
            h[i] = x[i].y;
        s.equal(dh.host(), h);
    }
    {
        // Multiples of 1/64 below 1: sums are exact.
        subject s("hist_f");
        const int n = 900;
        rng r(3);
        auto x = make<float>(n, [&](size_t) { return r.in(0, 63) / 64.f; });
        array<float> dx(x), dh(std::vector<float>(64, 0.5f));
        LAUNCH(hist_f, 8, 128, 0, dx, dh, n);
        std::vector<float> h(64, 0.5f);
        for (float v : x)
            h[(int)(v * 63.f)] += v;
        s.equal(dh.host(), h);
    }
    return drive_end();
}

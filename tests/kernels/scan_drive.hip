#include "drive.h"
#include "scan.hip"

int main()
{
    {
        subject s("scan_hs");
        const int n = 1000;
        auto x = bits_of<int>(n, 1);
        array<int> dx(x), o(n);
        LAUNCH(scan_hs, 4, 256, 0, dx, o, n);
        std::vector<int> want(n);
        unsigned total = 0;
        for (int i = 0; i < n; i++) {
            total = (i % 256 ? total : 0) + (unsigned)x[i];
            want[i] = (int)total;
        }
        s.equal(o.host(), want);
    }
    {
        subject s("scan_blelloch");
        const int n = 512;
        auto x = whole<float>(n, 2, -99, 99);
        array<float> dx(x), o(n);
        LAUNCH(scan_blelloch, 1, n / 2, n * sizeof(float), dx, o, n);
        std::vector<float> want(n);
        for (int i = 1; i < n; i++)
            want[i] = want[i - 1] + x[i - 1];
        s.equal(o.host(), want);
    }
    {
        subject s("scan_lookback"); // each workgroup waits for the one before it
        const int groups = 37;
        auto x = bits_of<unsigned>(groups * 256, 3);
        array<unsigned> dx(x), o(groups * 256), counter(std::vector<unsigned>{0});
        array<unsigned long long> state(std::vector<unsigned long long>(groups, 0));
        LAUNCH(scan_lookback, groups, 256, 0, dx, o, state, counter);
        std::vector<unsigned> want(groups * 256);
        unsigned total = 0;
        for (int i = 0; i < groups * 256; i++)
            want[i] = total += x[i];
        s.equal(o.host(), want);
        s.equal(counter.host(), {(unsigned)groups});
    }
    return drive_end();
}

#include "drive.h"
#include "reduction.hip"

// Whole numbers small enough that every partial sum is exact: the order of additions cannot matter.
static const int n = 5003;

template <typename T> static double sum(const std::vector<T> &v, size_t first, size_t turn)
{
    double s = 0;
    for (size_t i = 0; i < v.size(); i++)
        if (i / turn % 3 == first)
            s += (double)v[i];
    return s;
}

int main()
{
    auto x = whole<float>(n, 1, -500, 500);
    auto a = whole<double>(n, 2, -5000, 5000), b = whole<double>(n, 3, -5000, 5000);
    {
        subject s("reduce_lds");
        array<float> dx(x), o(3);
        LAUNCH(reduce_lds, 3, 256, 0, dx, o, n);
        s.equal(o.host(), make<float>(3, [&](size_t g) { return (float)sum(x, g, 256); }));
    }
    {
        subject s("reduce_shfl");
        array<float> dx(x), o(std::vector<float>{0.5f});
        LAUNCH(reduce_shfl, 5, 256, 0, dx, o, n);
        float want = 0.5f;
        for (float v : x)
            want += v;
        s.equal(o.host(), {want});
    }
    {
        subject s("reduce_max_i64");
        auto v = bits_of<long long>(n, 4);
        v[n - 1] = 0x7ffffffffffffff0;
        array<long long> dv(v), o(std::vector<long long>{-5}), low(std::vector<long long>{-5});
        LAUNCH(reduce_max_i64, 1, 192, 0, dv, o, n);
        s.equal(o.host(), {v[n - 1]});
        LAUNCH(reduce_max_i64, 1, 192, 0, dv, low, 0); // nothing to look at: its least value
        s.equal(low.host(), {-5});
    }
    {
        subject s("reduce_double");
        array<double> da(a), o(std::vector<double>{0.25});
        LAUNCH(reduce_double, 4, 256, 0, da, o, n);
        double want = 0.25;
        for (double v : a)
            want += v;
        s.equal(o.host(), {want});
    }
    {
        subject s("dot_prod");
        array<double> da(a), db(b), o(3);
        LAUNCH(dot_prod, 3, 1024, 0, da, db, o, n);
        auto p = make<double>(n, [&](size_t i) { return a[i] * b[i]; });
        s.equal(o.host(), make<double>(3, [&](size_t g) { return sum(p, g, 1024); }));
    }
    return drive_end();
}

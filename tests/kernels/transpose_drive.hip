#include "drive.h"
#include "transpose.hip"

template <typename T> static std::vector<T> transposed(const std::vector<T> &a, int w, int h)
{
    std::vector<T> b(a.size());
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            b[x * h + y] = a[y * w + x];
    return b;
}

int main()
{
    {
        subject s("transpose_naive");
        const int w = 53, h = 37;
        auto a = bits_of<unsigned>(w * h, 1);
        array<unsigned> da(a), db(w * h);
        LAUNCH(transpose_naive, dim3(4, 3), dim3(16, 16), 0, (float *)(unsigned *)da,
               (float *)(unsigned *)db, w, h);
        s.equal(db.host(), transposed(a, w, h));
    }
    {
        subject s("transpose_lds");
        const int w = 96, h = 64;
        auto a = bits_of<unsigned>(w * h, 2);
        array<unsigned> da(a), db(w * h);
        LAUNCH(transpose_lds, dim3(3, 2), dim3(32, 8), 0, (float *)(unsigned *)da,
               (float *)(unsigned *)db, w, h);
        s.equal(db.host(), transposed(a, w, h));
    }
    {
        subject s("transpose_h");
        const int w = 128;
        auto a = bits_of<unsigned short>(w * w, 3);
        array<unsigned short> da(a), db(w * w);
        LAUNCH(transpose_h, dim3(2, 2), dim3(64, 4), 0, (_Float16 *)(unsigned short *)da,
               (_Float16 *)(unsigned short *)db, w);
        s.equal(db.host(), transposed(a, w, w));
    }
    return drive_end();
}

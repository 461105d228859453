#include "drive.h"
#include "dpp_reduce.hip"

// What lane i gets of 64 lanes under a DPP control; ok tells whether there is such a lane.
static int dpp_source(int control, int i, bool *ok)
{
    int row = i & ~15, in_row = i & 15;
    *ok = true;
    if (control < 0x100) // quad_perm
        return (i & ~3) | ((control >> (2 * (i & 3))) & 3);
    if (control >= 0x111 && control <= 0x11f) { // row_shr
        *ok = in_row >= (control & 15);
        return i - (control & 15);
    }
    if (control >= 0x121 && control <= 0x12f) // row_ror
        return row | ((in_row - (control & 15)) & 15);
    switch (control) {
    case 0x130: // wave_shl: from the next lane
        *ok = i < 63;
        return i + 1;
    case 0x134: // wave_rol
        return (i + 1) & 63;
    case 0x138: // wave_shr
        *ok = i > 0;
        return i - 1;
    case 0x13c: // wave_ror
        return (i - 1) & 63;
    case 0x140: // row_mirror
        return row | (15 - in_row);
    case 0x141: // row_half_mirror
        return (i & ~7) | (7 - (i & 7));
    case 0x142: // row_bcast15: the last lane of the row before
        *ok = i >= 16;
        return row - 1;
    case 0x143: // row_bcast31
        *ok = i >= 32;
        return 31;
    default: // row_newbcast
        return row | (control & 15);
    }
}

struct lanes {
    unsigned v[64];
};

static lanes dpp(const lanes &old, const lanes &src, int control, int rows, int banks, bool zero)
{
    lanes r;
    for (int i = 0; i < 64; i++) {
        bool ok, enabled = (rows >> (i / 16)) & 1 && (banks >> (i / 4 % 4)) & 1;
        int from = dpp_source(control, i, &ok);
        r.v[i] = !enabled ? old.v[i] : ok ? src.v[from] : zero ? 0 : old.v[i];
    }
    return r;
}

static void test_scan()
{
    subject s("dpp_scan");
    auto x = bits_of<int>(192, 1);
    array<int> dx(x), o(192);
    LAUNCH(dpp_scan, 3, 64, 0, dx, o);
    std::vector<int> want(192);
    const lanes zero = {};
    static const struct {
        int control, rows, banks;
        bool zero;
    } steps[] = {{0x111, 15, 15, true}, {0x112, 15, 15, true}, {0x114, 15, 14, false},
                 {0x118, 15, 12, false}, {0x142, 10, 15, false}, {0x143, 12, 15, false}};
    for (int g = 0; g < 3; g++) {
        lanes v;
        for (int i = 0; i < 64; i++)
            v.v[i] = (unsigned)x[g * 64 + i];
        for (auto &step : steps) {
            lanes add = dpp(zero, v, step.control, step.rows, step.banks, step.zero);
            for (int i = 0; i < 64; i++)
                v.v[i] += add.v[i];
        }
        for (int i = 0; i < 64; i++)
            want[g * 64 + i] = (int)v.v[i];
    }
    s.equal(o.host(), want);
    // What the steps are for: a running sum within the wave.
    unsigned sum = 0;
    for (int i = 0; i < 64; i++)
        s.that(want[i] == (int)(sum += (unsigned)x[i]), "reference: lane %d is no running sum", i);
}

static void test_all()
{
    subject s("dpp_all");
    auto x = bits_of<int>(64, 2);
    array<int> dx(x), o(64);
    LAUNCH(dpp_all, 1, 64, 0, dx, o);
    lanes v, r = {};
    for (int i = 0; i < 64; i++)
        v.v[i] = (unsigned)x[i];
    const lanes zero = {};
    const int controls[] = {0x1b, 0xb1, 0x140, 0x141, 0x121, 0x130, 0x138, 0x134, 0x13c, 0x150};
    for (int k = 0; k < 10; k++) {
        lanes got = dpp(k == 9 ? r : zero, v, controls[k], 15, 15, k != 9);
        for (int i = 0; i < 64; i++)
            r.v[i] = k % 2 ? r.v[i] + got.v[i] : r.v[i] ^ got.v[i];
    }
    std::vector<int> want(64);
    for (int i = 0; i < 64; i++) {
        unsigned t = r.v[i];
        t ^= v.v[(i & 32) | ((i & 31) ^ 16)];           // swizzle 0x401f: and 31, or 0, xor 16
        t += v.v[(i & ~3) | ((0x55 >> (2 * (i & 3))) & 3)]; // swizzle 0x8055: quads
        t ^= v.v[i ^ 4];                                // lane i pushes to (4 i ^ 16) / 4
        t += v.v[7];
        t ^= v.v[0];
        want[i] = i == 3 ? (int)v.v[0] : (int)t;
    }
    s.equal(o.host(), want);
}

int main()
{
    test_scan();
    test_all();
    {
        subject s("atomic_red");
        auto x = whole<float>(1280, 3, -1000, 1000);
        array<float> dx(x), o(std::vector<float>{0.5f});
        LAUNCH(atomic_red, 5, 256, 0, o, dx);
        float want = 0.5f;
        for (float v : x)
            want += v;
        s.equal(o.host(), {want});
    }
    {
        subject s("atomic_red_i");
        auto x = bits_of<int>(1280, 4);
        array<int> dx(x), o(std::vector<int>{7});
        LAUNCH(atomic_red_i, 5, 256, 0, o, dx);
        unsigned want = 7;
        for (int v : x)
            want += (unsigned)v;
        s.equal(o.host(), {(int)want});
    }
    return drive_end();
}

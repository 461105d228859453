/*
 * The operands of these matrix kernels may be of any format of eight, six or four bits, with or
 * without a scale for every 32 values of a row of A and of a column of B.
 *
 * A lane has 32 values of K. Those of six and four bits are neighbours: 32 g to 32 g + 31 in lane
 * group g. Of eight bits there are 16 neighbours in the first half of K, from 16 g, and 16 in the
 * second; here they are brought into the order of the others. The scales of block b of 32 are with
 * lane group b (CDNA4 ISA document, "Dense Matrix Layouts: 8-bit and Smaller", "MFMA with Block
 * Exponent Scaling").
 *
 * Numerics. The document scales after the dot product of a block and before its accumulation. The
 * rest, as everywhere (lane_mfma.h), is not documented. Here: the products of a block are added up
 * in the order of k from 0, rounded to f32 each time; the sum times both scales is added to the
 * accumulator in f64 and rounded to f32. A scale of 0xff is NaN. Without scales they are 1.
 */
#include "device/isa/lane_mfma.h"

enum { VALUES = 32, FP8 = 0, BF8, FP6, BF6, FP4 };

/* Returns value @p e of a lane, which is @p width bits from bit e * width of its registers. */
RP_MFMA_INLINE uint32_t small_at(const uint32_t *rows, unsigned lane, unsigned e, unsigned width)
{
    const unsigned at = e * width, row = at / 32, shift = at % 32;
    const uint32_t low = rows[row * RP_LANES + lane] >> shift;
    return shift + width > 32 ? low | rows[(row + 1) * RP_LANES + lane] << (32 - shift) : low;
}

/* These formats have no infinities and NaNs: E2M3, E3M2, E2M1. */
RP_MFMA_INLINE float f32_of_finite(uint32_t v, unsigned exp_bits, unsigned mant_bits)
{
    const unsigned bits = exp_bits + mant_bits;
    const uint32_t bias = (1u << (exp_bits - 1)) - 1, mag = v & ((1u << bits) - 1);
    const uint32_t normal = (mag << (23 - mant_bits)) + ((127 - bias) << 23);
    /* This is the step between denormals. */
    const float step = rp_f32_of((128 - bias - mant_bits) << 23);
    const uint32_t denormal = rp_bits_f32((float)(int32_t)mag * step);
    return rp_f32_of((mag >> mant_bits ? normal : denormal) | (v >> bits & 1) << 31);
}

#define RP_WIDEN_SMALL(type, width, ...)                                                           \
    static void rp_widen_##type##_any(rp_wide *to, const uint32_t *rows)                           \
    {                                                                                              \
        for (unsigned e = 0; e < VALUES; e++) {                                                    \
            float *const row = to[e];                                                              \
            RP_LANE_LOOP                                                                           \
            {                                                                                      \
                const uint32_t v = small_at(rows, lane, e, width);                                 \
                row[lane] = (__VA_ARGS__);                                                         \
            }                                                                                      \
        }                                                                                          \
    }
RP_WIDEN_SMALL(fp8, 8, rp_f32_of_ocp_fp8(v))
RP_WIDEN_SMALL(bf8, 8, rp_f32_of_ocp_bf8(v))
RP_WIDEN_SMALL(fp6, 6, f32_of_finite(v, 2, 3))
RP_WIDEN_SMALL(bf6, 6, f32_of_finite(v, 3, 2))
RP_WIDEN_SMALL(fp4, 4, f32_of_finite(v, 2, 1))

/* Moves eight-bit values to the places that other values have. */
static void place_as_others(rp_wide *to, const rp_wide *from, unsigned m)
{
    const unsigned groups = RP_LANES / m;
    for (unsigned k = 0; k < VALUES * groups; k++) {
        const unsigned half = k / (16 * groups), group = k / 16 % groups;
        memcpy(to[k % VALUES] + k / VALUES * m, from[16 * half + k % 16] + group * m,
               m * sizeof to[0][0]);
    }
}

static void widen_any(rp_wide *to, const uint32_t *rows, unsigned format, unsigned m)
{
    rp_wide eight[VALUES] __attribute__((aligned(64)));
    switch (format) {
    case FP6:
        rp_widen_fp6_any(to, rows);
        return;
    case BF6:
        rp_widen_bf6_any(to, rows);
        return;
    case FP4:
        rp_widen_fp4_any(to, rows);
        return;
    case BF8:
        rp_widen_bf8_any(eight, rows);
        break;
    default:
        rp_widen_fp8_any(eight, rows);
        break;
    }
    place_as_others(to, (const rp_wide *)eight, m);
}

/* Returns the scales as numbers, lane by lane; NULL means 1. */
static void rp_scales(double *to, const uint32_t *row, unsigned byte)
{
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        const uint64_t e = row ? row[lane] >> (8 * byte) & 0xffu : 127;
        to[lane] = rp_f64_of(e == 0xff ? 0x7ff8000000000000u : (e + 1023 - 127) << 52);
    }
}

RP_MFMA_INLINE void any_format(const struct rp_lane_args *x, unsigned m)
{
    rp_wide a[VALUES] __attribute__((aligned(64))), b[VALUES] __attribute__((aligned(64)));
    double scale_a[RP_LANES], scale_b[RP_LANES];
    widen_any(a, x->s0, x->select >> RP_F8F6F4_A & 7, m);
    widen_any(b, x->s1, x->select >> RP_F8F6F4_B & 7, m);
    rp_scales(scale_a, x->s3, x->select >> RP_F8F6F4_BYTE_A & 3);
    rp_scales(scale_b, x->s4, x->select >> RP_F8F6F4_BYTE_B & 3);
    for (unsigned i = 0; i < m; i++) {
        const uint32_t *const c = x->s2 + RP_D_REGISTER(m, 0, i) * x->c_stride + RP_D_LANE(m, i);
        uint32_t *const d = x->d + RP_D_REGISTER(m, 0, i) * RP_LANES + RP_D_LANE(m, i);
        float sum[32];
        for (unsigned j = 0; j < m; j++)
            sum[j] = rp_f32_of(c[j]);
        /* A group of lanes has a block of K. */
        for (unsigned first = 0; first < RP_LANES; first += m) {
            float dot[32] = {0};
            for (unsigned e = 0; e < VALUES; e++) {
                const float value = a[e][first + i];
                const float *const row = b[e] + first;
                for (unsigned j = 0; j < m; j++)
                    dot[j] += value * row[j]; /* The product is exact. */
            }
            const double by = scale_a[first + i];
            for (unsigned j = 0; j < m; j++)
                sum[j] = (float)((double)sum[j] + (double)dot[j] * (by * scale_b[first + j]));
        }
        for (unsigned j = 0; j < m; j++)
            d[j] = sum[j] == sum[j] ? rp_bits_f32(sum[j]) : RP_NAN_F32;
    }
}

#define RP_MFMA_F8F6F4(name, m)                                                                    \
    RP_LANE_HEAD(name)                                                                             \
    {                                                                                              \
        any_format(args, m);                                                                       \
    }
#define RP_MFMA(...)
#define RP_SMFMAC(...)
#define RP_MFMA_F64(name)
#include "device/isa/lane_mfma.def"

/**
 * @file lane_h16.c
 * @brief f16, packed 16-bit and mixed-precision kernels.
 */
#include "lane_f16.h"
#include "lane_level.h"
#include "lane_num.h"

/* Signed integers in the order of the f16 values, -0 below +0. */
static inline int32_t rp_order_h16(uint32_t x)
{
    const int32_t s = (int32_t)(x << 16) >> 16;
    return s ^ ((s >> 31) & 0x7fff);
}

/* As for f32: a NaN loses, except that with IEEE set a signalling one wins, quieted. */
static inline uint32_t rp_pick_h16(uint32_t a, uint32_t b, uint32_t r, uint32_t mode)
{
    const uint32_t mag_a = a & 0x7fffu, mag_b = b & 0x7fffu, span = mode & 0x200u ? 0x1ffu : 0;
    r = rp_sel32(mag_b > 0x7c00u, a, r);
    r = rp_sel32(mag_a > 0x7c00u, b, r);
    r = rp_sel32(mag_b - 0x7c01u < span, b | 0x0200u, r);
    return rp_sel32(mag_a - 0x7c01u < span, a | 0x0200u, r);
}

static inline uint32_t rp_min_h16(uint32_t a, uint32_t b, uint32_t mode)
{
    return rp_pick_h16(a, b, rp_sel32(rp_order_h16(a) < rp_order_h16(b), a, b), mode);
}

static inline uint32_t rp_max_h16(uint32_t a, uint32_t b, uint32_t mode)
{
    return rp_pick_h16(a, b, rp_sel32(rp_order_h16(a) > rp_order_h16(b), a, b), mode);
}

static inline uint32_t rp_med_h16(uint32_t a, uint32_t b, uint32_t c, uint32_t mode)
{
    const uint32_t max = rp_max_h16(rp_max_h16(a, b, mode), c, mode);
    const uint32_t min = rp_min_h16(rp_min_h16(a, b, mode), c, mode);
    const int any_nan =
        ((a & 0x7fffu) > 0x7c00u) | ((b & 0x7fffu) > 0x7c00u) | ((c & 0x7fffu) > 0x7c00u);
    const int max_is_a = rp_f32_of_h16(max) == rp_f32_of_h16(a);
    const int max_is_b = rp_f32_of_h16(max) == rp_f32_of_h16(b);
    const uint32_t x = rp_sel32(max_is_a, b, a), y = rp_sel32(max_is_a | max_is_b, c, b);
    return rp_sel32(any_nan, min, rp_max_h16(x, y, mode));
}

static inline uint32_t rp_add_h16(uint32_t x, uint32_t y)
{
    const float a = rp_f32_of_h16(x), b = rp_f32_of_h16(y);
    return rp_h16_of_f32(rp_nan1(a, a + b));
}

static inline uint32_t rp_mul_h16(uint32_t x, uint32_t y)
{
    const float a = rp_f32_of_h16(x), b = rp_f32_of_h16(y);
    return rp_h16_of_f32(rp_nan1(a, a * b));
}

/* The product of two f16 is exact in f32. The sum is rounded to odd there (its rounding error, also
 * exact, says whether and which way), which leaves the rounding to f16 as the only one. */
static inline uint32_t rp_fma_h16(float a, float b, float c)
{
    const float p = a * b, s = p + c;
    const float t = s - p, err = (p - (s - t)) + (c - t); /* NaN next to infinities */
    const uint32_t bits = rp_bits_f32(s), err_bits = rp_bits_f32(err);
    /* Rounded away from zero when sum and error differ in sign: then the odd neighbour is below. */
    const uint32_t away = (bits ^ err_bits) >> 31 & ~bits & 1;
    const uint32_t mag = err_bits & 0x7fffffffu, odd = (bits - away) | 1;
    const float r = rp_f32_of(rp_sel32(mag - 1 < 0x7f7fffffu, odd, bits)); /* finite, not zero */
    return rp_h16_of_f32(rp_nan3(a, b, rp_nan1(c, r)));
}

static inline uint32_t rp_flush_h16(uint32_t x)
{
    return (x & 0x7c00u) == 0 ? x & 0x8000u : x;
}

/* mad and mac of f16 round twice, product and sum, and know no denormals (their notes in the ISA
 * document list rounding, exceptions and saturation but, unlike add and fma, not denormals; the
 * documentation of the CLRX assembler says that they flush). */
static inline uint32_t rp_mad_h16(uint32_t x, uint32_t y, uint32_t z)
{
    const float a = rp_f32_of_h16(rp_flush_h16(x)), b = rp_f32_of_h16(rp_flush_h16(y));
    const float c = rp_f32_of_h16(rp_flush_h16(z));
    const float p = rp_f32_of_h16(rp_flush_h16(rp_h16_of_f32(a * b)));
    return rp_flush_h16(rp_h16_of_f32(rp_nan3(a, b, rp_nan1(c, p + c))));
}

/* Below 1: in f16 the subtraction rounds up to 1 for tiny negative numbers. */
static inline uint32_t rp_fract_h16(float a)
{
    const uint32_t h = rp_h16_of_f32(rp_nan1(a, a - __builtin_floorf(a)));
    return h == 0x3c00u ? 0x3bffu : h;
}

static inline uint32_t rp_frexp_mant_h16(uint32_t x)
{
    const uint32_t mag = x & 0x7fffu;
    const uint32_t bits = rp_bits_f32(rp_f32_of_h16(mag)); /* denormals are normal there */
    const uint32_t mant = (x & 0x8000u) | 0x3800u | (bits >> 13 & 0x3ffu);
    const uint32_t quiet = mag > 0x7c00u ? x | 0x0200u : x;
    return mag == 0 || mag >= 0x7c00u ? quiet : mant;
}

static inline uint32_t rp_frexp_exp_h16(uint32_t x)
{
    const uint32_t mag = x & 0x7fffu;
    const uint32_t exp = (rp_bits_f32(rp_f32_of_h16(mag)) >> 23) - 126;
    return mag == 0 || mag >= 0x7c00u ? 0 : exp;
}

static inline uint32_t rp_ldexp_h16(float a, int32_t n)
{
    const int32_t k = rp_min_i32(rp_max_i32(n, -100), 100);
    const double scale = rp_f64_of((uint64_t)(uint32_t)(k + 1023) << 52);
    const uint32_t h = rp_h16_of_f64((double)a * scale);
    return a != a ? rp_h16_of_f32(a) : h;
}

static inline uint32_t rp_div_fixup_h16(uint32_t q, uint32_t den, uint32_t num)
{
    const uint32_t sign = (den ^ num) & 0x8000u, d = den & 0x7fffu, n = num & 0x7fffu;
    const uint32_t inf = 0x7c00u;
    uint32_t r = (q & 0x7fffu) | sign;
    r = d == inf || n == 0 ? sign : r;
    r = d == 0 || n == inf ? inf | sign : r;
    r = (d == 0 && n == 0) || (d == inf && n == inf) ? 0xfe00u : r;
    r = d > inf ? den | 0x0200u : r;
    return n > inf ? num | 0x0200u : r;
}

static inline float rp_flush_f32(float x)
{
    const uint32_t bits = rp_bits_f32(x);
    return rp_f32_of((bits & 0x7f800000u) == 0 ? bits & 0x80000000u : bits);
}

/* In the document's order: the addend, plus the low product, plus the high one, each sum rounded;
 * the products are exact. Of all float dot products the document says that they heed neither
 * rounding nor denormal mode and flush denormal inputs and outputs. */
static inline float rp_dot2_h16(uint32_t x, uint32_t y, float z)
{
    const float a0 = rp_f32_of_h16(rp_flush_h16(x & 0xffffu)), c = rp_flush_f32(z);
    const float a1 = rp_f32_of_h16(rp_flush_h16(x >> 16));
    const float b0 = rp_f32_of_h16(rp_flush_h16(y & 0xffffu));
    const float b1 = rp_f32_of_h16(rp_flush_h16(y >> 16));
    const float p0 = rp_nan1(a0, a0 * b0), p1 = rp_nan1(a1, a1 * b1);
    const float t = rp_flush_f32(rp_nan1(c, c + p0));
    return rp_flush_f32(rp_nan1(t, t + p1));
}

/* As the document has it for bf16: the products, then the addend; the rest as above. */
static inline float rp_dot2_bf16(uint32_t x, uint32_t y, float z)
{
    const float a0 = rp_flush_f32(rp_f32_of(x << 16)), a1 = rp_flush_f32(rp_f32_of(x & ~0xffffu));
    const float b0 = rp_flush_f32(rp_f32_of(y << 16)), b1 = rp_flush_f32(rp_f32_of(y & ~0xffffu));
    const float p0 = rp_flush_f32(rp_nan1(a0, a0 * b0)), p1 = rp_flush_f32(rp_nan1(a1, a1 * b1));
    const float t = rp_flush_f32(rp_nan1(p0, p0 + p1)), c = rp_flush_f32(z);
    return rp_flush_f32(rp_nan1(t, t + c));
}

/* ---- halves ------------------------------------------------------------------------------- */

static inline uint32_t rp_lo(uint32_t x)
{
    return x & 0xffffu;
}

static inline uint32_t rp_hi(uint32_t x)
{
    return x >> 16;
}

static inline int32_t rp_slo(uint32_t x)
{
    return (int32_t)(x << 16) >> 16;
}

static inline int32_t rp_shi(uint32_t x)
{
    return (int32_t)x >> 16;
}

static inline uint32_t rp_pk(uint32_t lo, uint32_t hi)
{
    return (lo & 0xffffu) | hi << 16;
}

static inline uint32_t rp_pk_fma_h16(uint32_t a, uint32_t b, uint32_t c)
{
    return rp_pk(
        rp_fma_h16(rp_f32_of_h16(rp_lo(a)), rp_f32_of_h16(rp_lo(b)), rp_f32_of_h16(rp_lo(c))),
        rp_fma_h16(rp_f32_of_h16(rp_hi(a)), rp_f32_of_h16(rp_hi(b)), rp_f32_of_h16(rp_hi(c))));
}

static inline uint32_t rp_pk_mad(uint32_t a, uint32_t b, uint32_t c)
{
    return rp_pk(rp_lo(a) * rp_lo(b) + rp_lo(c), rp_hi(a) * rp_hi(b) + rp_hi(c));
}

static inline uint32_t rp_pk_min_h16(uint32_t a, uint32_t b, uint32_t mode)
{
    return rp_pk(rp_min_h16(rp_lo(a), rp_lo(b), mode), rp_min_h16(rp_hi(a), rp_hi(b), mode));
}

static inline uint32_t rp_pk_max_h16(uint32_t a, uint32_t b, uint32_t mode)
{
    return rp_pk(rp_max_h16(rp_lo(a), rp_lo(b), mode), rp_max_h16(rp_hi(a), rp_hi(b), mode));
}

/* IEEE 754-2019 minimum and maximum, as in lane_f32.c. */
static inline uint32_t rp_any_nan_h16(uint32_t a, uint32_t b, uint32_t r)
{
    r = rp_sel32((b & 0x7fffu) > 0x7c00u, b | 0x0200u, r);
    return rp_sel32((a & 0x7fffu) > 0x7c00u, a | 0x0200u, r);
}

static inline uint32_t rp_minimum_h16(uint32_t a, uint32_t b)
{
    return rp_any_nan_h16(a, b, rp_sel32(rp_order_h16(a) < rp_order_h16(b), a, b));
}

static inline uint32_t rp_maximum_h16(uint32_t a, uint32_t b)
{
    return rp_any_nan_h16(a, b, rp_sel32(rp_order_h16(a) > rp_order_h16(b), a, b));
}

static inline uint32_t rp_pk_minimum3_h16(uint32_t a, uint32_t b, uint32_t c)
{
    return rp_pk(rp_minimum_h16(rp_minimum_h16(rp_lo(a), rp_lo(b)), rp_lo(c)),
                 rp_minimum_h16(rp_minimum_h16(rp_hi(a), rp_hi(b)), rp_hi(c)));
}

static inline uint32_t rp_pk_maximum3_h16(uint32_t a, uint32_t b, uint32_t c)
{
    return rp_pk(rp_maximum_h16(rp_maximum_h16(rp_lo(a), rp_lo(b)), rp_lo(c)),
                 rp_maximum_h16(rp_maximum_h16(rp_hi(a), rp_hi(b)), rp_hi(c)));
}

static inline int32_t rp_shift_right(int32_t x, int32_t by)
{
    return x >> (by & 15);
}

/* f of both halves of x and y, taken with lo and hi. */
#define RP_BOTH(lo, hi, f, x, y) rp_pk((uint32_t)f(lo(x), lo(y)), (uint32_t)f(hi(x), hi(y)))

#define RP_LANE_H16(shape, name, ...) RP_SHAPE_##shape(name, __VA_ARGS__)
#define RP_LANE_PK(shape, name, ...)  RP_SHAPE_##shape(name, __VA_ARGS__)
#include "lane.def"

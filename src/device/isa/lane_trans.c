/**
 * @file lane_trans.c
 * @brief Reciprocals, roots, exponential, logarithm, sine and cosine.
 *
 * The hardware approximates these to about one unit in the last place of f32 and AMD does not
 * specify the bits. Here they are computed in f64 with an error below 2^-50 and rounded once, so
 * the f32 and f16 results are the correctly rounded ones except where the exact value lies within
 * 2^-50 of a rounding boundary; rcp and sqrt are correctly rounded always. The ISA document says of
 * the f32 forms of exp, log, rcp, rsq and sqrt that they flush denormals, whatever MODE says; all
 * others keep them. Do not expect bit equality with silicon.
 *
 * All of it is plain f64 arithmetic in one order, without contraction and without libm, so that
 * every level, and every machine, gives the same bits.
 */
#include "lane_f16.h"
#include "lane_level.h"
#include "lane_num.h"

/* Adding and subtracting this rounds a small f64 to an integer, to nearest even. */
#define RP_ROUND_MAGIC 0x1.8p52

/* x where cond holds, else +0. */
static inline double rp_keep(int cond, double x)
{
    return rp_f64_of(rp_sel64(cond, rp_bits_f64(x), 0));
}

static inline double rp_choose(int cond, double x, double y)
{
    return rp_f64_of(rp_sel64(cond, rp_bits_f64(x), rp_bits_f64(y)));
}

/* 2^x for |x| clamped to 1000: x = n + r, |r| <= 1/2; Taylor series of e^(r ln 2) to degree 13,
 * whose remainder is below 2^-57. */
static inline double rp_exp2(double x)
{
    const double c = x > 1000.0 ? 1000.0 : x < -1000.0 ? -1000.0 : x;
    const double shifted = c + RP_ROUND_MAGIC;
    const double t = (c - (shifted - RP_ROUND_MAGIC)) * 0x1.62e42fefa39efp-1;
    double p = 1.0 / 6227020800.0;
    p = p * t + 1.0 / 479001600.0;
    p = p * t + 1.0 / 39916800.0;
    p = p * t + 1.0 / 3628800.0;
    p = p * t + 1.0 / 362880.0;
    p = p * t + 1.0 / 40320.0;
    p = p * t + 1.0 / 5040.0;
    p = p * t + 1.0 / 720.0;
    p = p * t + 1.0 / 120.0;
    p = p * t + 1.0 / 24.0;
    p = p * t + 1.0 / 6.0;
    p = p * t + 0.5;
    p = p * t + 1.0;
    p = p * t + 1.0;
    /* The low bits of shifted are n; as exponent they make 2^n. */
    return p * rp_f64_of((rp_bits_f64(shifted) + 1023) << 52);
}

/* log2 of an f64 that came from f32 or f16 (so never denormal): m in [sqrt(1/2), sqrt(2)),
 * log2 m = 2/ln2 * atanh(s), s = (m-1)/(m+1), odd series to s^21, remainder below 2^-58. */
static inline double rp_log2(double x)
{
    const uint64_t bits = rp_bits_f64(x), sqrt_half = 0x3fe6a09e667f3bcdu;
    /* The exponent of m relative to sqrt(1/2), as an f64 by way of the mantissa of 2^52. */
    const uint64_t e_bits = (bits - sqrt_half + ((uint64_t)2048 << 52)) >> 52;
    const double e = rp_f64_of(e_bits | 0x4330000000000000u) - (0x1p52 + 2048.0);
    const double m = rp_f64_of(bits - ((e_bits - 2048) << 52));
    const double s = (m - 1.0) / (m + 1.0), z = s * s;
    double p = 1.0 / 21.0;
    p = p * z + 1.0 / 19.0;
    p = p * z + 1.0 / 17.0;
    p = p * z + 1.0 / 15.0;
    p = p * z + 1.0 / 13.0;
    p = p * z + 1.0 / 11.0;
    p = p * z + 1.0 / 9.0;
    p = p * z + 1.0 / 7.0;
    p = p * z + 1.0 / 5.0;
    p = p * z + 1.0 / 3.0;
    /* s + s z p with 2/ln2 in two parts, so that small results keep their bits. */
    const double tail = s * z * p * 0x1.71547652b82fep+1 + s * 0x1.777d0ffda0d24p-55;
    const double r = e + (s * 0x1.71547652b82fep+1 + tail);
    const double special = x == 0 ? -HUGE_VAL : x < 0 ? rp_f64_of(0xfff8000000000000u) : x;
    return x > 0 && x < HUGE_VAL ? r : special;
}

/* 1/sqrt(x) of an f64 that came from f32: several times as fast as the division and the root. Four
 * steps of Newton's from an estimate good to 1/29; all f32 give the same f32 as those two do, which
 * the tests try. */
static inline double rp_rsqrt(double x)
{
    const double half = 0.5 * x;
    double y = rp_f64_of(0x5fe6eb50c7b537a9u - (rp_bits_f64(x) >> 1));
    y = y * (1.5 - half * y * y);
    y = y * (1.5 - half * y * y);
    y = y * (1.5 - half * y * y);
    y = y * (1.5 - half * y * y);
    const double none = rp_choose(x < 0, rp_f64_of(0xfff8000000000000u), 0.0);
    const double special = rp_choose(x == 0, __builtin_copysign(HUGE_VAL, x), none);
    return rp_choose((x > 0) & (x < HUGE_VAL), y, special);
}

/* x in turns. f = x - nearest integer is exact; q counts the quarter turns in it. */
static inline double rp_turns(double x, double *ret_q)
{
    const double big = rp_keep(__builtin_fabs(x) < 0x1p51, x); /* f32: integers from 2^24 on */
    const double f = big - ((big + RP_ROUND_MAGIC) - RP_ROUND_MAGIC);
    const double q = (4.0 * f + RP_ROUND_MAGIC) - RP_ROUND_MAGIC;
    *ret_q = q;
    return (f - 0.25 * q) * 0x1.921fb54442d18p+2; /* radians, within pi/4 */
}

/* Taylor series to y^17; remainder below 2^-63. */
static inline double rp_sin_poly(double y)
{
    const double z = y * y;
    double p = 1.0 / 355687428096000.0;
    p = p * z - 1.0 / 1307674368000.0;
    p = p * z + 1.0 / 6227020800.0;
    p = p * z - 1.0 / 39916800.0;
    p = p * z + 1.0 / 362880.0;
    p = p * z - 1.0 / 5040.0;
    p = p * z + 1.0 / 120.0;
    p = p * z - 1.0 / 6.0;
    return y + y * (z * p);
}

static inline double rp_cos_poly(double y)
{
    const double z = y * y;
    double p = 1.0 / 20922789888000.0;
    p = p * z - 1.0 / 87178291200.0;
    p = p * z + 1.0 / 479001600.0;
    p = p * z - 1.0 / 3628800.0;
    p = p * z + 1.0 / 40320.0;
    p = p * z - 1.0 / 720.0;
    p = p * z + 1.0 / 24.0;
    return 1.0 + (z * (z * p) - 0.5 * z);
}

/* The document gives sin(2 pi x) for all x; infinities are invalid. Zeros keep their sign, other
 * multiples of half a turn give +0. q is -2, -1, 0, 1 or 2. */
static inline double rp_sin_turns(double x)
{
    double q;
    const double y = rp_turns(x, &q), s = rp_sin_poly(y), c = rp_cos_poly(y);
    const double odd = rp_choose(q > 0, c, -c), even = rp_choose(q == 0, s, -s);
    const double r = rp_choose(q * q == 1.0, odd, even) + 0.0;
    const double finite = rp_choose(x == 0, x, r);
    return rp_choose(x - x == 0, finite, rp_f64_of(0xfff8000000000000u));
}

static inline double rp_cos_turns(double x)
{
    double q;
    const double y = rp_turns(x, &q), s = rp_sin_poly(y), c = rp_cos_poly(y);
    const double odd = rp_choose(q > 0, -s, s), even = rp_choose(q == 0, c, -c);
    const double r = rp_choose(q * q == 1.0, odd, even) + 0.0;
    return rp_choose(x - x == 0, r, rp_f64_of(0xfff8000000000000u));
}

/* An f32 operand or result as the flushing forms see it: denormals are zeros of their sign. */
static inline float rp_flushed(uint32_t bits)
{
    return rp_f32_of((bits & 0x7f800000u) == 0 ? bits & 0x80000000u : bits);
}

static inline float rp_trans(uint32_t a, float r)
{
    return rp_nan1(rp_f32_of(a), rp_flushed(rp_bits_f32(r)));
}

static inline uint32_t rp_h16_nan(float a, double r)
{
    const uint32_t h = rp_h16_of_f64(r);
    return a != a ? rp_h16_of_f32(a) : h;
}

#define RP_LANE_TRANS(shape, name, ...) RP_SHAPE_##shape(name, __VA_ARGS__)
#include "lane.def"

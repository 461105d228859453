/**
 * @file lane_half.c
 * @brief This file implements f16, packed 16-bit and mixed-precision kernels.
 */
#include "device/isa/lane_level.h"

/* Rounds to nearest even. */
static inline uint32_t small_nearest(uint32_t x, unsigned mant_bits, uint32_t bias)
{
    const uint32_t drop = 23 - mant_bits, half = 1u << (drop - 1);
    const uint32_t normal = (x - ((127 - bias) << 23) + half - 1 + (x >> drop & 1)) >> drop;
    /* f32 numbers near this one are as far apart as the denormals, so adding it rounds to them. */
    const uint32_t grid = (128 - bias - mant_bits + 23) << 23;
    const uint32_t denormal = rp_bits_f32(rp_f32_of(x) + rp_f32_of(grid)) - grid;
    return rp_sel32(x < (128 - bias) << 23, denormal, normal);
}

/* Rounds stochastically: it adds as many random bits from the top of S1 as bits are dropped, and
 * cuts off. The document shows this for normal results; its wrap of the mantissa without carry is
 * taken for an error. Denormal results drop more bits, so they take more random bits.
 */
static inline uint32_t small_random(uint32_t x, uint32_t random, unsigned mant_bits, uint32_t bias)
{
    const uint32_t drop = 23 - mant_bits, min_normal = (128 - bias) << 23;
    const uint32_t normal =
        (uint32_t)((uint64_t)x - ((127 - bias) << 23) + (random >> (32 - drop))) >> drop;
    const uint32_t exp = x >> 23 ? x >> 23 : 1, first = 128 - bias;
    const uint32_t more = exp < first ? first - exp : 0,
                   total = drop + more < 56 ? drop + more : 56;
    const uint64_t sig = (x & 0x7fffffu) | (x >> 23 ? 0x800000u : 0);
    const uint64_t add = total < 32 ? random >> (32 - total) : (uint64_t)random << (total - 32);
    /* From 57 dropped bits on even the largest random number does not carry. */
    const uint64_t denormal = drop + more > 56 ? 0 : (sig + add) >> total;
    return x < min_normal ? (uint32_t)denormal : normal;
}

/* Maps f16 values to signed integers of the same order, with -0 below +0. */
static inline int32_t order_h16(uint32_t x)
{
    const int32_t s = (int32_t)(x << 16) >> 16;
    return s ^ ((s >> 31) & 0x7fff);
}

/* As for f32, a NaN loses, except that with IEEE set a signalling NaN wins and is quieted. */
static inline uint32_t pick_h16(uint32_t a, uint32_t b, uint32_t r, uint32_t mode)
{
    const uint32_t mag_a = a & 0x7fffu, mag_b = b & 0x7fffu, span = mode & 0x200u ? 0x1ffu : 0;
    r = rp_sel32(mag_b > 0x7c00u, a, r);
    r = rp_sel32(mag_a > 0x7c00u, b, r);
    r = rp_sel32(mag_b - 0x7c01u < span, b | 0x0200u, r);
    return rp_sel32(mag_a - 0x7c01u < span, a | 0x0200u, r);
}

static inline uint32_t rp_min_h16(uint32_t a, uint32_t b, uint32_t mode)
{
    return pick_h16(a, b, rp_sel32(order_h16(a) < order_h16(b), a, b), mode);
}

static inline uint32_t rp_max_h16(uint32_t a, uint32_t b, uint32_t mode)
{
    return pick_h16(a, b, rp_sel32(order_h16(a) > order_h16(b), a, b), mode);
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
    const float t = s - p, err = (p - (s - t)) + (c - t); /* The error is NaN next to infinities. */
    const uint32_t bits = rp_bits_f32(s), err_bits = rp_bits_f32(err);
    /* The result was rounded away from zero when sum and error differ in sign, so the odd
     * neighbour is below.
     */
    const uint32_t away = (bits ^ err_bits) >> 31 & ~bits & 1;
    const uint32_t mag = err_bits & 0x7fffffffu, odd = (bits - away) | 1;
    /* The value is finite and not zero. */
    const float r = rp_f32_of(rp_sel32(mag - 1 < 0x7f7fffffu, odd, bits));
    return rp_h16_of_f32(rp_nan3(a, b, rp_nan1(c, r)));
}

static inline uint32_t flush_h16(uint32_t x)
{
    return (x & 0x7c00u) == 0 ? x & 0x8000u : x;
}

/* mad and mac of f16 round twice, product and sum, and treat denormals as zeros. Their notes in
 * the ISA document list rounding, exceptions and saturation but, unlike those of add and fma, not
 * denormals; the documentation of the CLRX assembler says that they flush.
 */
static inline uint32_t rp_mad_h16(uint32_t x, uint32_t y, uint32_t z)
{
    const float a = rp_f32_of_h16(flush_h16(x)), b = rp_f32_of_h16(flush_h16(y));
    const float c = rp_f32_of_h16(flush_h16(z));
    const float p = rp_f32_of_h16(flush_h16(rp_h16_of_f32(a * b)));
    return flush_h16(rp_h16_of_f32(rp_nan3(a, b, rp_nan1(c, p + c))));
}

/* The result stays below 1, although in f16 the subtraction rounds up to 1 for tiny negative
 * numbers.
 */
static inline uint32_t rp_fract_h16(float a)
{
    const uint32_t h = rp_h16_of_f32(rp_nan1(a, a - __builtin_floorf(a)));
    return h == 0x3c00u ? 0x3bffu : h;
}

static inline uint32_t rp_frexp_mant_h16(uint32_t x)
{
    const uint32_t mag = x & 0x7fffu;
    const uint32_t bits = rp_bits_f32(rp_f32_of_h16(mag)); /* f16's denormals are normal as f32. */
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

static inline float flush_f32(float x)
{
    const uint32_t bits = rp_bits_f32(x);
    return rp_f32_of((bits & 0x7f800000u) == 0 ? bits & 0x80000000u : bits);
}

/* The sums follow the document's order: the addend, plus the low product, plus the high one. Each
 * sum is rounded, and the products are exact. The document says that all float dot products ignore
 * rounding and denormal mode and flush denormal inputs and outputs.
 */
static inline float rp_dot2_h16(uint32_t x, uint32_t y, float z)
{
    const float a0 = rp_f32_of_h16(flush_h16(x & 0xffffu)), c = flush_f32(z);
    const float a1 = rp_f32_of_h16(flush_h16(x >> 16));
    const float b0 = rp_f32_of_h16(flush_h16(y & 0xffffu));
    const float b1 = rp_f32_of_h16(flush_h16(y >> 16));
    const float p0 = rp_nan1(a0, a0 * b0), p1 = rp_nan1(a1, a1 * b1);
    const float t = flush_f32(rp_nan1(c, c + p0));
    return flush_f32(rp_nan1(t, t + p1));
}

/* For bf16 the document adds the products first, and then the addend. The rest is as above. */
static inline float rp_dot2_bf16(uint32_t x, uint32_t y, float z)
{
    const float a0 = flush_f32(rp_f32_of(x << 16)), a1 = flush_f32(rp_f32_of(x & ~0xffffu));
    const float b0 = flush_f32(rp_f32_of(y << 16)), b1 = flush_f32(rp_f32_of(y & ~0xffffu));
    const float p0 = flush_f32(rp_nan1(a0, a0 * b0)), p1 = flush_f32(rp_nan1(a1, a1 * b1));
    const float t = flush_f32(rp_nan1(p0, p0 + p1)), c = flush_f32(z);
    return flush_f32(rp_nan1(t, t + c));
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

/* These are IEEE 754-2019 minimum and maximum, as in lane_float.c. */
static inline uint32_t any_nan_h16(uint32_t a, uint32_t b, uint32_t r)
{
    r = rp_sel32((b & 0x7fffu) > 0x7c00u, b | 0x0200u, r);
    return rp_sel32((a & 0x7fffu) > 0x7c00u, a | 0x0200u, r);
}

static inline uint32_t minimum_h16(uint32_t a, uint32_t b)
{
    return any_nan_h16(a, b, rp_sel32(order_h16(a) < order_h16(b), a, b));
}

static inline uint32_t maximum_h16(uint32_t a, uint32_t b)
{
    return any_nan_h16(a, b, rp_sel32(order_h16(a) > order_h16(b), a, b));
}

static inline uint32_t rp_pk_minimum3_h16(uint32_t a, uint32_t b, uint32_t c)
{
    return rp_pk(minimum_h16(minimum_h16(rp_lo(a), rp_lo(b)), rp_lo(c)),
                 minimum_h16(minimum_h16(rp_hi(a), rp_hi(b)), rp_hi(c)));
}

static inline uint32_t rp_pk_maximum3_h16(uint32_t a, uint32_t b, uint32_t c)
{
    return rp_pk(maximum_h16(maximum_h16(rp_lo(a), rp_lo(b)), rp_lo(c)),
                 maximum_h16(maximum_h16(rp_hi(a), rp_hi(b)), rp_hi(c)));
}

static inline int32_t rp_shift_right(int32_t x, int32_t by)
{
    return x >> (by & 15);
}

/* Applies f to both halves of x and y, which lo and hi select. */
#define RP_BOTH(lo, hi, f, x, y) rp_pk((uint32_t)f(lo(x), lo(y)), (uint32_t)f(hi(x), hi(y)))

#define RP_LANE_H16(shape, name, ...) RP_SHAPE_##shape(name, __VA_ARGS__)
#define RP_LANE_PK(shape, name, ...)  RP_SHAPE_##shape(name, __VA_ARGS__)
#include "device/isa/lane.def"

/* These conversions saturate to integers (NaN gives 0), and round to nearest even to floats. */

/* The value handed to the CPU's conversion is always in range, so it is defined in C and the same
 * at every level; the ends are put in afterwards. */
static inline int32_t rp_sat_i32_f32(float x)
{
    const int inside = x > -0x1p31f && x < 0x1p31f;
    const int32_t end = x >= 0x1p31f ? INT32_MAX : x != x ? 0 : INT32_MIN;
    const int32_t value = (int32_t)(inside ? x : 0.0f);
    return inside ? value : end;
}

static inline int32_t rp_sat_i32_f64(double x)
{
    const int inside = x > -0x1p31 - 1 && x < 0x1p31;
    const int32_t end = x >= 0x1p31 ? INT32_MAX : x != x ? 0 : INT32_MIN;
    const int32_t value = (int32_t)(inside ? x : 0.0);
    return inside ? value : end;
}

/* Values of 2^31 and more go through the signed conversion lowered by 2^31, which is exact. */
static inline uint32_t rp_sat_u32_f32(float x)
{
    const int inside = x > 0 && x < 0x1p32f, high = x >= 0x1p31f;
    const float lowered = high ? x - 0x1p31f : x;
    const uint32_t value = (uint32_t)(int32_t)(inside ? lowered : 0.0f);
    return inside ? value + (high ? 0x80000000u : 0) : x >= 0x1p32f ? ~0u : 0;
}

static inline uint32_t rp_sat_u32_f64(double x)
{
    const int inside = x > 0 && x < 0x1p32, high = x >= 0x1p31;
    const double lowered = high ? x - 0x1p31 : x;
    const uint32_t value = (uint32_t)(int32_t)(inside ? lowered : 0.0);
    return inside ? value + (high ? 0x80000000u : 0) : x >= 0x1p32 ? ~0u : 0;
}

/* This is exact, because the flipped top bit makes it signed around 2^31. */
static inline double rp_f64_of_u32(uint32_t x)
{
    return (double)(int32_t)(x ^ 0x80000000u) + 0x1p31;
}

static inline float rp_f32_of_u32(uint32_t x)
{
#if RP_LANE_LEVEL == 2
    return (float)x; /* That level has one instruction for it. */
#else
    return (float)rp_f64_of_u32(x);
#endif
}

static inline uint32_t rp_sat_i16(int32_t x)
{
    return (uint32_t)rp_min_i32(rp_max_i32(x, INT16_MIN), INT16_MAX);
}

static inline uint32_t rp_sat_u16_f32(float x)
{
    const float clamped = x > 0 ? (x < 65535.0f ? x : 65535.0f) : 0.0f; /* NaN becomes 0. */
    return (uint32_t)(int32_t)clamped;
}

/* ---- bytes and normalised integers ------------------------------------------------------ *
 * The ISA document names the conversions without spelling them out. Rounding (to nearest even
 * here; valu_mode.c has the other modes) and the ends -32767, 32767, 65535 are those that the
 * documentation of the CLRX assembler gives for this family. Adding and subtracting 1.5 * 2^52
 * rounds to an integer; NaN gives 0. */

static inline int32_t norm(double x, double scale, double low)
{
    const double v = x * scale; /* The product is exact, with at most 24 + 16 bits. */
    const double inside = v > low ? (v < scale ? v : scale) : low;
    return (int32_t)(((x == x ? inside : 0.0) + 0x1.8p52) - 0x1.8p52);
}

static inline int32_t rp_snorm16(double x)
{
    return norm(x, 32767.0, -32767.0);
}

static inline int32_t rp_unorm16(double x)
{
    return norm(x, 65535.0, 0.0);
}

static inline uint32_t rp_pack16(int32_t lo, int32_t hi)
{
    return ((uint32_t)lo & 0xffffu) | (uint32_t)hi << 16;
}

static inline uint32_t rp_u8_of_f32(float x)
{
    const float inside = x > 0.0f ? (x < 255.0f ? x : 255.0f) : 0.0f; /* NaN becomes 0. */
    return (uint32_t)(int32_t)((inside + 0x1.8p23f) - 0x1.8p23f);
}

/* Puts @p v into c as byte number b (mod 4). */
static inline uint32_t rp_insert_u8(uint32_t v, uint32_t b, uint32_t c)
{
    const uint32_t shift = 8 * (b & 3);
    return (c & ~(0xffu << shift)) | v << shift;
}

static inline uint64_t rp_pair(float lo, float hi)
{
    return (uint64_t)rp_bits_f32(hi) << 32 | rp_bits_f32(lo);
}

/* ---- to fp8 and bf8 (lane_level.h); MODE.FP16_OVFL (23): the largest value instead of NaN ---- */

/* r is the magnitude after rounding. */
static inline uint32_t fnuz_finish(uint32_t r, uint32_t bits, uint32_t mode)
{
    const int finite = (bits & 0x7fffffffu) < 0x7f800000u;
    const uint32_t large = rp_sel32((mode >> 23 & 1) & finite, 0x7fu, 0xffffu);
    const uint32_t mag = rp_sel32(finite & (r <= 0x7fu), r, large);
    const uint32_t value = rp_sel32(mag == 0, 0, mag | (bits >> 24 & 0x80u));
    return rp_sel32(mag > 0x7fu, 0x80u, value);
}

static inline uint32_t fnuz_of_f32(uint32_t bits, unsigned mant_bits, uint32_t bias, uint32_t mode)
{
    return fnuz_finish(small_nearest(bits & 0x7fffffffu, mant_bits, bias), bits, mode);
}

static inline uint32_t fnuz_of_f32_random(uint32_t bits, uint32_t random, unsigned mant_bits,
                                          uint32_t bias, uint32_t mode)
{
    const uint32_t r = small_random(bits & 0x7fffffffu, random, mant_bits, bias);
    return fnuz_finish(r, bits, mode);
}

static inline uint32_t rp_fp8_of_f32(uint32_t bits, uint32_t mode)
{
    return fnuz_of_f32(bits, 3, 8, mode);
}

static inline uint32_t rp_bf8_of_f32(uint32_t bits, uint32_t mode)
{
    return fnuz_of_f32(bits, 2, 16, mode);
}

static inline uint32_t rp_fp8_of_f32_random(uint32_t bits, uint32_t random, uint32_t mode)
{
    return fnuz_of_f32_random(bits, random, 3, 8, mode);
}

static inline uint32_t rp_bf8_of_f32_random(uint32_t bits, uint32_t random, uint32_t mode)
{
    return fnuz_of_f32_random(bits, random, 2, 16, mode);
}

/* These are the OCP formats of gfx950. Too large values, including infinities, become an infinity
 * in bf8 and NaN in fp8, which has no infinity. With FP16_OVFL they become the largest value
 * (CDNA4 ISA document, "FP16_OVFL rule").
 */
static inline uint32_t ocp_finish(uint32_t r, uint32_t bits, uint32_t largest, uint32_t mode)
{
    const uint32_t x = bits & 0x7fffffffu;
    const uint32_t mag = x < 0x7f800000u && r <= largest ? r : largest + !(mode >> 23 & 1);
    return (x > 0x7f800000u ? 0x7fu : mag) | (bits >> 24 & 0x80u);
}

static inline uint32_t rp_ocp_fp8_of_f32(uint32_t bits, uint32_t mode)
{
    return ocp_finish(small_nearest(bits & 0x7fffffffu, 3, 7), bits, 0x7eu, mode);
}

static inline uint32_t rp_ocp_bf8_of_f32(uint32_t bits, uint32_t mode)
{
    return ocp_finish(small_nearest(bits & 0x7fffffffu, 2, 15), bits, 0x7bu, mode);
}

static inline uint32_t rp_ocp_fp8_of_f32_random(uint32_t bits, uint32_t random, uint32_t mode)
{
    const uint32_t r = small_random(bits & 0x7fffffffu, random, 3, 7);
    return ocp_finish(r, bits, 0x7eu, mode);
}

static inline uint32_t rp_ocp_bf8_of_f32_random(uint32_t bits, uint32_t random, uint32_t mode)
{
    const uint32_t r = small_random(bits & 0x7fffffffu, random, 2, 15);
    return ocp_finish(r, bits, 0x7bu, mode);
}

/* ---- bf16 and stochastic f16 (gfx950) ----------------------------------------------------- */

/* Returns the upper half of an f32, rounded to nearest even. NaNs are quieted and keep the top of
 * their payload.
 */
static inline uint32_t rp_bf16_of_f32(uint32_t bits)
{
    const uint32_t nearest = (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
    return (bits & 0x7fffffffu) > 0x7f800000u ? bits >> 16 | 0x40u : nearest;
}

static inline uint32_t rp_bf16_of_f32_random(uint32_t bits, uint32_t random)
{
    const int special = (bits & 0x7f800000u) == 0x7f800000u;
    return special ? rp_bf16_of_f32(bits) : (bits + (random >> 16)) >> 16;
}

static inline uint32_t rp_h16_of_f32_random(uint32_t bits, uint32_t random)
{
    const uint32_t x = bits & 0x7fffffffu, r = small_random(x, random, 10, 15);
    const uint32_t finite = (r < 0x7c00u ? r : 0x7c00u) | (bits >> 16 & 0x8000u);
    return x < 0x7f800000u ? finite : rp_h16_of_f32(rp_f32_of(bits));
}

#define RP_LANE_CVT(shape, name, ...) RP_SHAPE_##shape(name, __VA_ARGS__)
#include "device/isa/lane.def"

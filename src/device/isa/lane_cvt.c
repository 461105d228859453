/**
 * @file lane_cvt.c
 * @brief Conversions: saturating to integers (NaN gives 0), nearest even to floats.
 */
#include "lane_f16.h"
#include "lane_fp8.h"
#include "lane_level.h"
#include "lane_num.h"
#include "lane_small.h"

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

/* Exact: the top bit flipped makes it signed around 2^31. */
static inline double rp_f64_of_u32(uint32_t x)
{
    return (double)(int32_t)(x ^ 0x80000000u) + 0x1p31;
}

static inline float rp_f32_of_u32(uint32_t x)
{
#if RP_LANE_LEVEL == 2
    return (float)x; /* one instruction there */
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
    const float clamped = x > 0 ? (x < 65535.0f ? x : 65535.0f) : 0.0f; /* NaN to 0 */
    return (uint32_t)(int32_t)clamped;
}

/* ---- bytes and normalised integers ------------------------------------------------------ *
 * The ISA document names the conversions without spelling them out. Rounding (to nearest even
 * here; valu_round.c has the other modes) and the ends -32767, 32767, 65535 are those that the
 * documentation of the CLRX assembler gives for this family. Adding and subtracting 1.5 * 2^52
 * rounds to an integer; NaN gives 0. */

static inline int32_t rp_norm(double x, double scale, double low)
{
    const double v = x * scale; /* exact: at most 24 + 16 bits */
    const double inside = v > low ? (v < scale ? v : scale) : low;
    return (int32_t)(((x == x ? inside : 0.0) + 0x1.8p52) - 0x1.8p52);
}

static inline int32_t rp_snorm16(double x)
{
    return rp_norm(x, 32767.0, -32767.0);
}

static inline int32_t rp_unorm16(double x)
{
    return rp_norm(x, 65535.0, 0.0);
}

static inline uint32_t rp_pack16(int32_t lo, int32_t hi)
{
    return ((uint32_t)lo & 0xffffu) | (uint32_t)hi << 16;
}

static inline uint32_t rp_u8_of_f32(float x)
{
    const float inside = x > 0.0f ? (x < 255.0f ? x : 255.0f) : 0.0f; /* NaN to 0 */
    return (uint32_t)(int32_t)((inside + 0x1.8p23f) - 0x1.8p23f);
}

/* @p v as byte number b (mod 4) of c. */
static inline uint32_t rp_insert_u8(uint32_t v, uint32_t b, uint32_t c)
{
    const uint32_t shift = 8 * (b & 3);
    return (c & ~(0xffu << shift)) | v << shift;
}

static inline uint64_t rp_pair(float lo, float hi)
{
    return (uint64_t)rp_bits_f32(hi) << 32 | rp_bits_f32(lo);
}

/* ---- to fp8 and bf8 (lane_fp8.h); MODE.FP16_OVFL (23): the largest value instead of NaN ---- */

/* r: magnitude after rounding. */
static inline uint32_t rp_fnuz_finish(uint32_t r, uint32_t bits, uint32_t mode)
{
    const int finite = (bits & 0x7fffffffu) < 0x7f800000u;
    const uint32_t large = rp_sel32((mode >> 23 & 1) & finite, 0x7fu, 0xffffu);
    const uint32_t mag = rp_sel32(finite & (r <= 0x7fu), r, large);
    const uint32_t value = rp_sel32(mag == 0, 0, mag | (bits >> 24 & 0x80u));
    return rp_sel32(mag > 0x7fu, 0x80u, value);
}

static inline uint32_t rp_fnuz_of_f32(uint32_t bits, unsigned mant_bits, uint32_t bias,
                                      uint32_t mode)
{
    return rp_fnuz_finish(rp_small_nearest(bits & 0x7fffffffu, mant_bits, bias), bits, mode);
}

static inline uint32_t rp_fnuz_of_f32_random(uint32_t bits, uint32_t random, unsigned mant_bits,
                                             uint32_t bias, uint32_t mode)
{
    const uint32_t r = rp_small_random(bits & 0x7fffffffu, random, mant_bits, bias);
    return rp_fnuz_finish(r, bits, mode);
}

static inline uint32_t rp_fp8_of_f32(uint32_t bits, uint32_t mode)
{
    return rp_fnuz_of_f32(bits, 3, 8, mode);
}

static inline uint32_t rp_bf8_of_f32(uint32_t bits, uint32_t mode)
{
    return rp_fnuz_of_f32(bits, 2, 16, mode);
}

static inline uint32_t rp_fp8_of_f32_random(uint32_t bits, uint32_t random, uint32_t mode)
{
    return rp_fnuz_of_f32_random(bits, random, 3, 8, mode);
}

static inline uint32_t rp_bf8_of_f32_random(uint32_t bits, uint32_t random, uint32_t mode)
{
    return rp_fnuz_of_f32_random(bits, random, 2, 16, mode);
}

/* The OCP formats of gfx950. What is too large, infinities too, is an infinity in bf8 and NaN in
 * fp8, which has none; with FP16_OVFL the largest value (CDNA4 ISA document, "FP16_OVFL rule"). */
static inline uint32_t rp_ocp_finish(uint32_t r, uint32_t bits, uint32_t largest, uint32_t mode)
{
    const uint32_t x = bits & 0x7fffffffu;
    const uint32_t mag = x < 0x7f800000u && r <= largest ? r : largest + !(mode >> 23 & 1);
    return (x > 0x7f800000u ? 0x7fu : mag) | (bits >> 24 & 0x80u);
}

static inline uint32_t rp_ocp_fp8_of_f32(uint32_t bits, uint32_t mode)
{
    return rp_ocp_finish(rp_small_nearest(bits & 0x7fffffffu, 3, 7), bits, 0x7eu, mode);
}

static inline uint32_t rp_ocp_bf8_of_f32(uint32_t bits, uint32_t mode)
{
    return rp_ocp_finish(rp_small_nearest(bits & 0x7fffffffu, 2, 15), bits, 0x7bu, mode);
}

static inline uint32_t rp_ocp_fp8_of_f32_random(uint32_t bits, uint32_t random, uint32_t mode)
{
    const uint32_t r = rp_small_random(bits & 0x7fffffffu, random, 3, 7);
    return rp_ocp_finish(r, bits, 0x7eu, mode);
}

static inline uint32_t rp_ocp_bf8_of_f32_random(uint32_t bits, uint32_t random, uint32_t mode)
{
    const uint32_t r = rp_small_random(bits & 0x7fffffffu, random, 2, 15);
    return rp_ocp_finish(r, bits, 0x7bu, mode);
}

/* ---- bf16 and stochastic f16 (gfx950) ----------------------------------------------------- */

/* The upper half of an f32, nearest even; NaNs are quieted and keep the top of their payload. */
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
    const uint32_t x = bits & 0x7fffffffu, r = rp_small_random(x, random, 10, 15);
    const uint32_t finite = (r < 0x7c00u ? r : 0x7c00u) | (bits >> 16 & 0x8000u);
    return x < 0x7f800000u ? finite : rp_h16_of_f32(rp_f32_of(bits));
}

#define RP_LANE_CVT(shape, name, ...) RP_SHAPE_##shape(name, __VA_ARGS__)
#include "lane.def"

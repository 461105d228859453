/**
 * @file lane_cvt.c
 * @brief Conversions: saturating to integers (NaN gives 0), nearest even to floats.
 */
#include "lane_f16.h"
#include "lane_fp8.h"
#include "lane_level.h"
#include "lane_num.h"

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

/* ---- to fp8 and bf8 (lane_fp8.h) --------------------------------------------------------------
 */

/* r: magnitude after rounding. Too large is NaN, or the largest value with MODE.FP16_OVFL (23). */
static inline uint32_t rp_fnuz_finish(uint32_t r, uint32_t bits, uint32_t mode)
{
    const int finite = (bits & 0x7fffffffu) < 0x7f800000u;
    const uint32_t large = (mode >> 23 & 1) && finite ? 0x7fu : 0xffffu;
    const uint32_t mag = finite && r <= 0x7fu ? r : large;
    return mag > 0x7fu ? 0x80u : mag == 0 ? 0 : mag | (bits >> 24 & 0x80u);
}

/* Nearest even. */
static inline uint32_t rp_fnuz_of_f32(uint32_t bits, unsigned mant_bits, uint32_t bias,
                                      uint32_t mode)
{
    const uint32_t x = bits & 0x7fffffffu, drop = 23 - mant_bits, half = 1u << (drop - 1);
    const uint32_t normal = (x - ((127 - bias) << 23) + half - 1 + (x >> drop & 1)) >> drop;
    /* f32 numbers near this one are as far apart as the denormals: adding it rounds to them. */
    const uint32_t grid = (128 - bias - mant_bits + 23) << 23;
    const uint32_t denormal = rp_bits_f32(rp_f32_of(x) + rp_f32_of(grid)) - grid;
    return rp_fnuz_finish(x < (128 - bias) << 23 ? denormal : normal, bits, mode);
}

/* Stochastic: the dropped bits plus as many random bits from the top of S1, then cut off. The
 * document shows this for normal results (its wrap of the mantissa without carry is taken for a
 * slip); for denormal results, which drop more bits, more random bits are taken likewise. */
static inline uint32_t rp_fnuz_of_f32_random(uint32_t bits, uint32_t random, unsigned mant_bits,
                                             uint32_t bias, uint32_t mode)
{
    const uint32_t x = bits & 0x7fffffffu, drop = 23 - mant_bits, min_normal = (128 - bias) << 23;
    const uint32_t normal =
        (uint32_t)((uint64_t)x - ((127 - bias) << 23) + (random >> (32 - drop))) >> drop;
    const uint32_t exp = x >> 23 ? x >> 23 : 1, first = 128 - bias;
    const uint32_t more = exp < first ? first - exp : 0,
                   total = drop + more < 56 ? drop + more : 56;
    const uint64_t sig = (x & 0x7fffffu) | (x >> 23 ? 0x800000u : 0);
    const uint64_t add = total < 32 ? random >> (32 - total) : (uint64_t)random << (total - 32);
    /* From 57 dropped bits on even the largest random number does not carry. */
    const uint64_t denormal = drop + more > 56 ? 0 : (sig + add) >> total;
    return rp_fnuz_finish(x < min_normal ? (uint32_t)denormal : normal, bits, mode);
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

#define RP_LANE_CVT(shape, name, ...) RP_SHAPE_##shape(name, __VA_ARGS__)
#include "lane.def"

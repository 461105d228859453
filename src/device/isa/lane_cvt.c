/**
 * @file lane_cvt.c
 * @brief Conversions: saturating to integers (NaN gives 0), nearest even to floats.
 */
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

#define RP_LANE_CVT(shape, name, ...) RP_SHAPE_##shape(name, __VA_ARGS__)
#include "lane.def"

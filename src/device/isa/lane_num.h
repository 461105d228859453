/**
 * @file lane_num.h
 * @brief Scalar helpers shared by several lane_*.c, and the shapes of lane.def.
 */
#ifndef RP_DEVICE_ISA_LANE_NUM_H
#define RP_DEVICE_ISA_LANE_NUM_H

#include "lane_level.h"

/* Shape of a row in lane.def to the loop that runs its expression. */
#define RP_SHAPE_u32_u32(n, ...)         RP_LANE_ROW1(n, u32, u32, __VA_ARGS__)
#define RP_SHAPE_u32_i32(n, ...)         RP_LANE_ROW1(n, u32, i32, __VA_ARGS__)
#define RP_SHAPE_i32_u32(n, ...)         RP_LANE_ROW1(n, i32, u32, __VA_ARGS__)
#define RP_SHAPE_u64_u64(n, ...)         RP_LANE_ROW1(n, u64, u64, __VA_ARGS__)
#define RP_SHAPE_u16_u32(n, ...)         RP_LANE_ROW1(n, u16, u32, __VA_ARGS__)
#define RP_SHAPE_f32_f32(n, ...)         RP_LANE_ROW1(n, f32, f32, __VA_ARGS__)
#define RP_SHAPE_f32_u32(n, ...)         RP_LANE_ROW1(n, f32, u32, __VA_ARGS__)
#define RP_SHAPE_f32_i32(n, ...)         RP_LANE_ROW1(n, f32, i32, __VA_ARGS__)
#define RP_SHAPE_i32_f32(n, ...)         RP_LANE_ROW1(n, i32, f32, __VA_ARGS__)
#define RP_SHAPE_u32_f32(n, ...)         RP_LANE_ROW1(n, u32, f32, __VA_ARGS__)
#define RP_SHAPE_f64_i32(n, ...)         RP_LANE_ROW1(n, f64, i32, __VA_ARGS__)
#define RP_SHAPE_f64_u32(n, ...)         RP_LANE_ROW1(n, f64, u32, __VA_ARGS__)
#define RP_SHAPE_f64_f32(n, ...)         RP_LANE_ROW1(n, f64, f32, __VA_ARGS__)
#define RP_SHAPE_f32_f64(n, ...)         RP_LANE_ROW1(n, f32, f64, __VA_ARGS__)
#define RP_SHAPE_i32_f64(n, ...)         RP_LANE_ROW1(n, i32, f64, __VA_ARGS__)
#define RP_SHAPE_u32_f64(n, ...)         RP_LANE_ROW1(n, u32, f64, __VA_ARGS__)
#define RP_SHAPE_u32_u32_u32(n, ...)     RP_LANE_ROW2(n, u32, u32, u32, __VA_ARGS__)
#define RP_SHAPE_u32_i32_i32_u32(n, ...) RP_LANE_ROW3(n, u32, i32, i32, u32, __VA_ARGS__)
#define RP_SHAPE_u32_i32_i32(n, ...)     RP_LANE_ROW2(n, u32, i32, i32, __VA_ARGS__)
#define RP_SHAPE_i32_u32_i32(n, ...)     RP_LANE_ROW2(n, i32, u32, i32, __VA_ARGS__)
#define RP_SHAPE_i32_i32_i32(n, ...)     RP_LANE_ROW2(n, i32, i32, i32, __VA_ARGS__)
#define RP_SHAPE_i32_u32_u32(n, ...)     RP_LANE_ROW2(n, i32, u32, u32, __VA_ARGS__)
#define RP_SHAPE_u64_u32_u64(n, ...)     RP_LANE_ROW2(n, u64, u32, u64, __VA_ARGS__)
#define RP_SHAPE_i64_u32_i64(n, ...)     RP_LANE_ROW2(n, i64, u32, i64, __VA_ARGS__)
#define RP_SHAPE_u16_u16_u16(n, ...)     RP_LANE_ROW2(n, u16, u16, u16, __VA_ARGS__)
#define RP_SHAPE_i16_u16_i16(n, ...)     RP_LANE_ROW2(n, i16, u16, i16, __VA_ARGS__)
#define RP_SHAPE_i16_i16_i16(n, ...)     RP_LANE_ROW2(n, i16, i16, i16, __VA_ARGS__)
#define RP_SHAPE_u32_u16_u16(n, ...)     RP_LANE_ROW2(n, u32, u16, u16, __VA_ARGS__)
#define RP_SHAPE_f32_f32_f32(n, ...)     RP_LANE_ROW2(n, f32, f32, f32, __VA_ARGS__)
#define RP_SHAPE_f32_f32_i32(n, ...)     RP_LANE_ROW2(n, f32, f32, i32, __VA_ARGS__)
#define RP_SHAPE_u32_u32_u32_u32(n, ...) RP_LANE_ROW3(n, u32, u32, u32, u32, __VA_ARGS__)
#define RP_SHAPE_u32_u16_u16_u32(n, ...) RP_LANE_ROW3(n, u32, u16, u16, u32, __VA_ARGS__)
#define RP_SHAPE_u32_i16_i16_u32(n, ...) RP_LANE_ROW3(n, u32, i16, i16, u32, __VA_ARGS__)
#define RP_SHAPE_i32_i32_u32_u32(n, ...) RP_LANE_ROW3(n, i32, i32, u32, u32, __VA_ARGS__)
#define RP_SHAPE_i32_i32_i32_i32(n, ...) RP_LANE_ROW3(n, i32, i32, i32, i32, __VA_ARGS__)
#define RP_SHAPE_u64_u64_u32_u64(n, ...) RP_LANE_ROW3(n, u64, u64, u32, u64, __VA_ARGS__)
#define RP_SHAPE_u16_u16_u16_u16(n, ...) RP_LANE_ROW3(n, u16, u16, u16, u16, __VA_ARGS__)
#define RP_SHAPE_i16_i16_i16_i16(n, ...) RP_LANE_ROW3(n, i16, i16, i16, i16, __VA_ARGS__)
#define RP_SHAPE_f32_f32_f32_f32(n, ...) RP_LANE_ROW3(n, f32, f32, f32, f32, __VA_ARGS__)
#define RP_SHAPE_f32_u32_u32_u32(n, ...) RP_LANE_ROW3(n, f32, u32, u32, u32, __VA_ARGS__)
#define RP_SHAPE_f64_f64(n, ...)         RP_LANE_ROW1(n, f64, f64, __VA_ARGS__)
#define RP_SHAPE_f64_u64(n, ...)         RP_LANE_ROW1(n, f64, u64, __VA_ARGS__)
#define RP_SHAPE_i32_u64(n, ...)         RP_LANE_ROW1(n, i32, u64, __VA_ARGS__)
#define RP_SHAPE_f16_f16(n, ...)         RP_LANE_ROW1(n, f16, f16, __VA_ARGS__)
#define RP_SHAPE_h16_f16(n, ...)         RP_LANE_ROW1(n, h16, f16, __VA_ARGS__)
#define RP_SHAPE_h16_h16(n, ...)         RP_LANE_ROW1(n, h16, h16, __VA_ARGS__)
#define RP_SHAPE_h16_f32(n, ...)         RP_LANE_ROW1(n, h16, f32, __VA_ARGS__)
#define RP_SHAPE_i16_f16(n, ...)         RP_LANE_ROW1(n, i16, f16, __VA_ARGS__)
#define RP_SHAPE_u16_f16(n, ...)         RP_LANE_ROW1(n, u16, f16, __VA_ARGS__)
#define RP_SHAPE_f16_i16(n, ...)         RP_LANE_ROW1(n, f16, i16, __VA_ARGS__)
#define RP_SHAPE_f16_u16(n, ...)         RP_LANE_ROW1(n, f16, u16, __VA_ARGS__)
#define RP_SHAPE_f32_f16(n, ...)         RP_LANE_ROW1(n, f32, f16, __VA_ARGS__)
#define RP_SHAPE_u64_u32(n, ...)         RP_LANE_ROW1(n, u64, u32, __VA_ARGS__)
#define RP_SHAPE_f64_f64_f64(n, ...)     RP_LANE_ROW2(n, f64, f64, f64, __VA_ARGS__)
#define RP_SHAPE_u64_u64_u64(n, ...)     RP_LANE_ROW2(n, u64, u64, u64, __VA_ARGS__)
#define RP_SHAPE_f64_f64_i32(n, ...)     RP_LANE_ROW2(n, f64, f64, i32, __VA_ARGS__)
#define RP_SHAPE_f64_u64_u32(n, ...)     RP_LANE_ROW2(n, f64, u64, u32, __VA_ARGS__)
#define RP_SHAPE_f16_f16_f16(n, ...)     RP_LANE_ROW2(n, f16, f16, f16, __VA_ARGS__)
#define RP_SHAPE_h16_h16_h16(n, ...)     RP_LANE_ROW2(n, h16, h16, h16, __VA_ARGS__)
#define RP_SHAPE_h16_f16_i16(n, ...)     RP_LANE_ROW2(n, h16, f16, i16, __VA_ARGS__)
#define RP_SHAPE_u16_h16(n, ...)         RP_LANE_ROW1(n, u16, h16, __VA_ARGS__)
#define RP_SHAPE_u32_f32_f32(n, ...)     RP_LANE_ROW2(n, u32, f32, f32, __VA_ARGS__)
#define RP_SHAPE_u32_f16_f16(n, ...)     RP_LANE_ROW2(n, u32, f16, f16, __VA_ARGS__)
#define RP_SHAPE_u16_u32_u32(n, ...)     RP_LANE_ROW2(n, u16, u32, u32, __VA_ARGS__)
#define RP_SHAPE_f64_f64_f64_f64(n, ...) RP_LANE_ROW3(n, f64, f64, f64, f64, __VA_ARGS__)
#define RP_SHAPE_f64_u64_u64_u64(n, ...) RP_LANE_ROW3(n, f64, u64, u64, u64, __VA_ARGS__)
#define RP_SHAPE_h16_f16_f16_f16(n, ...) RP_LANE_ROW3(n, h16, f16, f16, f16, __VA_ARGS__)
#define RP_SHAPE_h16_h16_h16_h16(n, ...) RP_LANE_ROW3(n, h16, h16, h16, h16, __VA_ARGS__)
#define RP_SHAPE_h16_f32_f32_f32(n, ...) RP_LANE_ROW3(n, h16, f32, f32, f32, __VA_ARGS__)
#define RP_SHAPE_f32_u32_u32_f32(n, ...) RP_LANE_ROW3(n, f32, u32, u32, f32, __VA_ARGS__)
#define RP_SHAPE_mask_u32_u32(n, ...)    RP_LANE_ROWM(n, u32, u32, __VA_ARGS__)
#define RP_SHAPE_mask_i32_i32(n, ...)    RP_LANE_ROWM(n, i32, i32, __VA_ARGS__)
#define RP_SHAPE_mask_u16_u16(n, ...)    RP_LANE_ROWM(n, u16, u16, __VA_ARGS__)
#define RP_SHAPE_mask_i16_i16(n, ...)    RP_LANE_ROWM(n, i16, i16, __VA_ARGS__)
#define RP_SHAPE_mask_f32_f32(n, ...)    RP_LANE_ROWM(n, f32, f32, __VA_ARGS__)
#define RP_SHAPE_mask_f64_f64(n, ...)    RP_LANE_ROWM(n, f64, f64, __VA_ARGS__)
#define RP_SHAPE_mask_f16_f16(n, ...)    RP_LANE_ROWM(n, f16, f16, __VA_ARGS__)
#define RP_SHAPE_mask_u64_u32(n, ...)    RP_LANE_ROWM(n, u64, u32, __VA_ARGS__)
#define RP_SHAPE_mask_h16_u32(n, ...)    RP_LANE_ROWM(n, h16, u32, __VA_ARGS__)

static inline int32_t rp_min_i32(int32_t x, int32_t y)
{
    return x < y ? x : y;
}

static inline int32_t rp_max_i32(int32_t x, int32_t y)
{
    return x > y ? x : y;
}

static inline uint32_t rp_min_u32(uint32_t x, uint32_t y)
{
    return x < y ? x : y;
}

static inline uint32_t rp_max_u32(uint32_t x, uint32_t y)
{
    return x > y ? x : y;
}

/* One rounding at every level: a CPU instruction, or libm's fmaf, which is correctly rounded. */
static inline float rp_fma_f32(float a, float b, float c)
{
    return rp_nan3(a, b, rp_nan1(c, __builtin_fmaf(a, b, c)));
}

static inline double rp_fma_f64(double a, double b, double c)
{
    return rp_nan3_f64(a, b, rp_nan1_f64(c, __builtin_fma(a, b, c)));
}

static inline int32_t rp_med_i32(int32_t x, int32_t y, int32_t z)
{
    return rp_max_i32(rp_min_i32(x, y), rp_min_i32(rp_max_i32(x, y), z));
}

static inline uint32_t rp_med_u32(uint32_t x, uint32_t y, uint32_t z)
{
    return rp_max_u32(rp_min_u32(x, y), rp_min_u32(rp_max_u32(x, y), z));
}

#endif

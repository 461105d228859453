/**
 * @file lane_level.h
 * @brief This header says what every lane_*.c shares: the CPU level, row types, and the loops
 * around one expression.
 *
 * Each lane_*.c is compiled once per level (lane.cmake) with RP_LANE_LEVEL set to an enum
 * rp_lane_level value; RP_LANE_SYM gives every kernel its own name per level. Only the instruction
 * set differs between the levels: no contraction, no value-changing optimisation, so the results
 * are the same bit for bit.
 */
#ifndef RP_DEVICE_ISA_LANE_LEVEL_H
#define RP_DEVICE_ISA_LANE_LEVEL_H

#include <immintrin.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "device/isa/lane.h"

#ifndef RP_LANE_LEVEL
#error "lane sources are compiled through lane.cmake, which sets RP_LANE_LEVEL"
#endif

#if RP_LANE_LEVEL == 0
#define RP_LANE_SYM(name) rp_lane_base_##name
#elif RP_LANE_LEVEL == 1
#define RP_LANE_SYM(name) rp_lane_v3_##name
#else
#define RP_LANE_SYM(name) rp_lane_v4_##name
#endif

/* Lanes never touch one another, so the compiler need not fear that a row is written through
 * another row's pointer (lane.h: rows are identical or disjoint). */
#ifdef __clang__
#pragma clang diagnostic ignored "-Wpass-failed" /* A loop that is not vectorised is only slower.  \
                                                  */
#define RP_LANE_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define RP_LANE_INDEPENDENT _Pragma("GCC ivdep")
#endif
#define RP_LANE_LOOP RP_LANE_INDEPENDENT for (unsigned lane = 0; lane < RP_LANES; lane++)

#define RP_C_u32           uint32_t
#define RP_C_i32           int32_t
#define RP_C_f32           float
#define RP_C_u16           uint32_t /* zero-extended */
#define RP_C_i16           int32_t  /* sign-extended */
#define RP_C_h16           uint32_t /* the bits of an f16 */
#define RP_C_u64           uint64_t
#define RP_C_i64           int64_t
#define RP_C_f64           double
#define RP_LD_u32(p, l)    ((p)[l])
#define RP_LD_i32(p, l)    ((int32_t)(p)[l])
#define RP_LD_f32(p, l)    rp_f32_of((p)[l])
#define RP_LD_u16(p, l)    ((p)[l] & 0xffffu)
#define RP_LD_i16(p, l)    ((int32_t)((p)[l] << 16) >> 16)
#define RP_LD_h16(p, l)    ((p)[l] & 0xffffu)
#define RP_LD_u64(p, l)    rp_row_u64(p, l)
#define RP_LD_i64(p, l)    ((int64_t)rp_row_u64(p, l))
#define RP_LD_f64(p, l)    rp_f64_of(rp_row_u64(p, l))
#define RP_ST_u32(p, l, v) ((p)[l] = (uint32_t)(v))
#define RP_ST_i32(p, l, v) ((p)[l] = (uint32_t)(v))
#define RP_ST_f32(p, l, v) ((p)[l] = rp_bits_f32(v))
#define RP_ST_u16(p, l, v) ((p)[l] = (uint32_t)(v)&0xffffu)
#define RP_ST_i16(p, l, v) ((p)[l] = (uint32_t)(v)&0xffffu)
#define RP_ST_h16(p, l, v) ((p)[l] = (uint32_t)(v)&0xffffu)
#define RP_ST_u64(p, l, v)                                                                         \
    do {                                                                                           \
        const uint64_t wide_ = (uint64_t)(v);                                                      \
        (p)[l] = (uint32_t)wide_;                                                                  \
        (p)[RP_LANES + (l)] = (uint32_t)(wide_ >> 32);                                             \
    } while (0)
#define RP_ST_i64(p, l, v) RP_ST_u64(p, l, v)
#define RP_ST_f64(p, l, v) RP_ST_u64(p, l, rp_bits_f64(v))

#define RP_LANE_HEAD(name)                                                                         \
    rp_lane_fn RP_LANE_SYM(name);                                                                  \
    void RP_LANE_SYM(name)(struct rp_lane_args * args)

#define RP_LANE_ROW1(name, D, A, ...)                                                              \
    RP_LANE_HEAD(name)                                                                             \
    {                                                                                              \
        uint32_t *const d = args->d;                                                               \
        const uint32_t *const s0 = args->s0;                                                       \
        const uint32_t mode = args->mode;                                                          \
        (void)mode;                                                                                \
        RP_LANE_LOOP                                                                               \
        {                                                                                          \
            const RP_C_##A a = RP_LD_##A(s0, lane);                                                \
            RP_ST_##D(d, lane, (__VA_ARGS__));                                                     \
        }                                                                                          \
    }

#define RP_LANE_ROW2(name, D, A, B, ...)                                                           \
    RP_LANE_HEAD(name)                                                                             \
    {                                                                                              \
        uint32_t *const d = args->d;                                                               \
        const uint32_t *const s0 = args->s0, *const s1 = args->s1;                                 \
        const uint32_t mode = args->mode;                                                          \
        (void)mode;                                                                                \
        RP_LANE_LOOP                                                                               \
        {                                                                                          \
            const RP_C_##A a = RP_LD_##A(s0, lane);                                                \
            const RP_C_##B b = RP_LD_##B(s1, lane);                                                \
            RP_ST_##D(d, lane, (__VA_ARGS__));                                                     \
        }                                                                                          \
    }

#define RP_LANE_ROW3(name, D, A, B, C, ...)                                                        \
    RP_LANE_HEAD(name)                                                                             \
    {                                                                                              \
        uint32_t *const d = args->d;                                                               \
        const uint32_t *const s0 = args->s0, *const s1 = args->s1, *const s2 = args->s2;           \
        const uint32_t mode = args->mode;                                                          \
        (void)mode;                                                                                \
        RP_LANE_LOOP                                                                               \
        {                                                                                          \
            const RP_C_##A a = RP_LD_##A(s0, lane);                                                \
            const RP_C_##B b = RP_LD_##B(s1, lane);                                                \
            const RP_C_##C c = RP_LD_##C(s2, lane);                                                \
            RP_ST_##D(d, lane, (__VA_ARGS__));                                                     \
        }                                                                                          \
    }

/* A comparison writes all 64 lanes into mask_out. */
#define RP_LANE_ROWM(name, A, B, ...)                                                              \
    RP_LANE_HEAD(name)                                                                             \
    {                                                                                              \
        const uint32_t *const s0 = args->s0, *const s1 = args->s1;                                 \
        uint32_t truth[RP_LANES];                                                                  \
        RP_LANE_LOOP                                                                               \
        {                                                                                          \
            const RP_C_##A a = RP_LD_##A(s0, lane);                                                \
            const RP_C_##B b = RP_LD_##B(s1, lane);                                                \
            truth[lane] = (__VA_ARGS__) ? ~0u : 0u;                                                \
        }                                                                                          \
        args->mask_out = rp_lane_collect(truth);                                                   \
    }

/* Several lane_*.c files share these scalar helpers and the shapes of lane.def. */

/* Each shape of a row in lane.def names the loop that runs its expression. */
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

/* f16 is converted to and from f32 and f64 in branch-free integer arithmetic, which every CPU can
 * vectorise.
 */

#define RP_C_f16           float
#define RP_LD_f16(p, l)    rp_f32_of_h16((p)[l] & 0xffffu)
#define RP_ST_f16(p, l, v) ((p)[l] = rp_h16_of_f32(v))

static inline float rp_f32_of(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static inline uint32_t rp_bits_f32(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static inline double rp_f64_of(uint64_t bits)
{
    double f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static inline uint64_t rp_bits_f64(double f)
{
    uint64_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static inline uint64_t rp_row_u64(const uint32_t *p, unsigned lane)
{
    return (uint64_t)p[RP_LANES + lane] << 32 | p[lane];
}

/* Returns x where cond holds, else y. It uses masks, so that the vectoriser never sees a branch. */
static inline uint32_t rp_sel32(int cond, uint32_t x, uint32_t y)
{
    const uint32_t m = -(uint32_t)(cond != 0);
    return (x & m) | (y & ~m);
}

static inline uint64_t rp_sel64(int cond, uint64_t x, uint64_t y)
{
    const uint64_t m = -(uint64_t)(cond != 0);
    return (x & m) | (y & ~m);
}

/* Collects the top bits of 64 dwords, which are the lanes' truth values, in a mask. */
static inline uint64_t rp_lane_collect(const uint32_t *t)
{
    uint64_t mask = 0;
#if RP_LANE_LEVEL == 2
    for (unsigned j = 0; j < 4; j++)
        mask |= (uint64_t)_mm512_movepi32_mask(_mm512_loadu_si512(t + 16 * j)) << (16 * j);
#elif RP_LANE_LEVEL == 1
    for (unsigned j = 0; j < 8; j++)
        mask |= (uint64_t)(uint32_t)_mm256_movemask_ps(_mm256_loadu_ps((const float *)t + 8 * j))
                << (8 * j);
#else
    for (unsigned j = 0; j < 16; j++)
        mask |= (uint64_t)(uint32_t)_mm_movemask_ps(_mm_loadu_ps((const float *)t + 4 * j))
                << (4 * j);
#endif
    return mask;
}

static inline float rp_nan1(float a, float r)
{
    return a != a ? rp_f32_of(rp_bits_f32(a) | 0x00400000u) : r;
}

static inline float rp_nan3(float a, float b, float r)
{
    return rp_nan1(a, rp_nan1(b, r));
}

static inline double rp_nan1_f64(double a, double r)
{
    return a != a ? rp_f64_of(rp_bits_f64(a) | 0x0008000000000000u) : r;
}

static inline double rp_nan3_f64(double a, double b, double r)
{
    return rp_nan1_f64(a, rp_nan1_f64(b, r));
}

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

/* It rounds once at every level: as a CPU instruction, or as libm's fmaf, which is correctly
 * rounded.
 */
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

/* Converts f16 bits to the f32 of the same value. NaN payloads move up unchanged, signalling ones
 * too.
 */
static inline float rp_f32_of_h16(uint32_t h)
{
    const uint32_t sign = (h & 0x8000u) << 16, em = h & 0x7fffu;
    const uint32_t rebias = 112u << 23; /* 127 - 15 */
    const uint32_t normal = (em << 13) + rebias + (em >= 0x7c00u ? rebias : 0);
    const uint32_t denormal = rp_bits_f32((float)(int32_t)em * 0x1p-24f);
    return rp_f32_of((em < 0x0400u ? denormal : normal) | sign);
}

/* Converts f32 to f16, rounding to nearest even. NaNs are quieted and keep the top of their
 * payload.
 */
static inline uint32_t rp_h16_of_f32(float f)
{
    const uint32_t bits = rp_bits_f32(f), sign = bits >> 16 & 0x8000u, x = bits & 0x7fffffffu;
    const uint32_t normal = (x - (112u << 23) + 0xfffu + (x >> 13 & 1)) >> 13;
    /* The spacing of f32 at 0.5 is the f16 denormals' spacing, so this addition rounds to it. */
    const uint32_t denormal = rp_bits_f32(rp_f32_of(x) + 0.5f) - 0x3f000000u;
    const uint32_t special = x > 0x7f800000u ? 0x7e00u | (x >> 13 & 0x3ffu) : 0x7c00u;
    return sign | (x >= 0x47800000u ? special : x < 0x38800000u ? denormal : normal);
}

/* Converts f32 to f16, rounding toward zero; finite values never become infinite. */
static inline uint32_t rp_h16_of_f32_rtz(float f)
{
    const uint32_t bits = rp_bits_f32(f), sign = bits >> 16 & 0x8000u, x = bits & 0x7fffffffu;
    const uint32_t normal = (x - (112u << 23)) >> 13;
    /* This shifts the 24-bit significand to steps of 2^-24. */
    const uint32_t shift = 126 - (x >> 23);
    const uint32_t small = shift < 32 ? ((x & 0x7fffffu) | 0x800000u) >> (shift & 31) : 0;
    const uint32_t nan = 0x7e00u | (x >> 13 & 0x3ffu);
    const uint32_t large = x > 0x7f800000u ? nan : x == 0x7f800000u ? 0x7c00u : 0x7bffu;
    return sign | (x >= 0x47800000u ? large : x < 0x38800000u ? small : normal);
}

/* Converts f64 to f16 and rounds once: first to odd in f32, which has more than two bits to spare,
 * and then as above.
 */
static inline uint32_t rp_h16_of_f64(double d)
{
    const float f = (float)d;
    const uint32_t away = __builtin_fabs((double)f) > __builtin_fabs(d) ? 1 : 0;
    const uint32_t inexact = (double)f != d ? 1 : 0;
    return rp_h16_of_f32(rp_f32_of((rp_bits_f32(f) - away) | inexact));
}

/* Converts fp8 and bf8 to f32. gfx942 has the "FNUZ" formats: no infinity, no -0, one NaN (0x80).
 * Its fp8 is 1-4-3 with bias 8, and its bf8 is 1-5-2 with bias 16. gfx950 has those of the Open
 * Compute Project. Its fp8 (E4M3) is 1-4-3 with bias 7, has no infinity, and is NaN where all bits
 * but the sign are set; its bf8 (E5M2) is the upper byte of an f16. Nobody documents what becomes
 * of their NaNs; here it is the quiet NaN of the same sign without payload.
 */

static inline float rp_f32_of_fnuz(uint32_t v, unsigned mant_bits, uint32_t bias)
{
    const uint32_t mag = v & 0x7fu;
    const uint32_t normal = (mag << (23 - mant_bits)) + ((127 - bias) << 23);
    /* This is the step between denormals. */
    const float step = rp_f32_of((128 - bias - mant_bits) << 23);
    const uint32_t denormal = rp_bits_f32((float)(int32_t)mag * step);
    const uint32_t value = (mag >> mant_bits ? normal : denormal) | (v & 0x80u) << 24;
    return rp_f32_of(v == 0x80u ? 0x7fc00000u : value);
}

/* Converts the low byte of v. */
static inline float rp_f32_of_fp8(uint32_t v)
{
    return rp_f32_of_fnuz(v & 0xffu, 3, 8);
}

static inline float rp_f32_of_bf8(uint32_t v)
{
    return rp_f32_of_fnuz(v & 0xffu, 2, 16);
}

static inline float rp_f32_of_ocp_fp8(uint32_t v)
{
    const uint32_t mag = v & 0x7fu, sign = (v & 0x80u) << 24;
    const uint32_t normal = (mag << 20) + ((127u - 7) << 23);
    const uint32_t denormal = rp_bits_f32((float)(int32_t)mag * 0x1p-9f);
    return rp_f32_of((mag == 0x7fu ? 0x7fc00000u : mag >> 3 ? normal : denormal) | sign);
}

static inline float rp_f32_of_ocp_bf8(uint32_t v)
{
    const uint32_t mag = v & 0x7fu, sign = (v & 0x80u) << 24, rebias = (127u - 15) << 23;
    const uint32_t normal = (mag << 21) + rebias + (mag >= 0x7cu ? rebias : 0);
    const uint32_t denormal = rp_bits_f32((float)(int32_t)mag * 0x1p-16f);
    return rp_f32_of((mag > 0x7cu ? 0x7fc00000u : mag >> 2 ? normal : denormal) | sign);
}

#endif

/**
 * @file lane_level.h
 * @brief What every lane_*.c shares: the CPU level, row types, and the loops around one expression.
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

#include "lane.h"

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
#pragma clang diagnostic ignored "-Wpass-failed" /* a loop it does not vectorise is only slower */
#define RP_LANE_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define RP_LANE_INDEPENDENT _Pragma("GCC ivdep")
#endif
#define RP_LANE_LOOP RP_LANE_INDEPENDENT for (unsigned lane = 0; lane < RP_LANES; lane++)

/* ---- bits and values ---------------------------------------------------------------------- */

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

/* x where cond holds, else y. With masks, so that the vectoriser never sees a branch. */
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

/* ---- row types: C type, load, store ------------------------------------------------------- */

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

/* ---- lane masks --------------------------------------------------------------------------- */

/* 64 dwords whose top bit is the lane's truth, to a mask. */
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

/* A mask to 64 dwords, each all ones or zero. */
static inline void rp_lane_expand(uint64_t mask, uint32_t *t)
{
#if RP_LANE_LEVEL == 2
    for (unsigned j = 0; j < 4; j++)
        _mm512_storeu_si512(t + 16 * j, _mm512_movm_epi32((__mmask16)(mask >> (16 * j))));
#else
    static const uint32_t bit[8] = {1, 2, 4, 8, 16, 32, 64, 128};
    for (unsigned j = 0; j < 8; j++) {
        const uint32_t byte = (uint32_t)(mask >> (8 * j)) & 0xffu;
        for (unsigned k = 0; k < 8; k++)
            t[8 * j + k] = (byte & bit[k]) != 0 ? ~0u : 0u;
    }
#endif
}

/* ---- kernels from one expression ---------------------------------------------------------- *
 * The expression sees a, b, c (the sources in encoding order), lane, and mode (MODE register). */

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

/* Compare: all 64 lanes into mask_out. */
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

/* ---- float rules of this GPU (IEEE = 1) --------------------------------------------------- *
 * A NaN operand is returned quieted, the first in encoding order when there are several. Without
 * one, an invalid operation gives the CPU's default NaN, 0xffc00000, which is also what the ISA
 * document states for v_div_fixup. Picking the operand explicitly keeps the result independent of
 * how the compiler orders the operands of a CPU instruction. */

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

#endif

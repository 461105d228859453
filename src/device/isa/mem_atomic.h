/**
 * @file mem_atomic.h
 * @brief This header has the read-modify-write operations, once for memory shared with the host
 * and once for LDS.
 *
 * Each operation is an expression of the old value and up to two data values. On global memory it
 * runs in a compare-and-swap loop, because host threads and other queues may touch the same word;
 * on LDS it needs no atomicity: a workgroup is always executed by one host thread.
 */
#ifndef RP_DEVICE_ISA_MEM_ATOMIC_H
#define RP_DEVICE_ISA_MEM_ATOMIC_H

#ifndef RP_LANE_LEVEL
#define RP_LANE_LEVEL 0
#endif

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "device/isa/lane_level.h"

/* The columns are X(name, word type, new value of `old`, `a` (data), `b` (second data)). */
#define RP_ATOMIC_INT_OPS(X, bits)                                                                 \
    X(swap_##bits, uint##bits##_t, a)                                                              \
    X(add_##bits, uint##bits##_t, old + a)                                                         \
    X(sub_##bits, uint##bits##_t, old - a)                                                         \
    X(smin_##bits, uint##bits##_t, (int##bits##_t)old < (int##bits##_t)a ? old : a)                \
    X(umin_##bits, uint##bits##_t, old < a ? old : a)                                              \
    X(smax_##bits, uint##bits##_t, (int##bits##_t)old > (int##bits##_t)a ? old : a)                \
    X(umax_##bits, uint##bits##_t, old > a ? old : a)                                              \
    X(and_##bits, uint##bits##_t, (old)&a)                                                         \
    X(or_##bits, uint##bits##_t, old | a)                                                          \
    X(xor_##bits, uint##bits##_t, old ^ a)                                                         \
    X(inc_##bits, uint##bits##_t, old >= a ? 0 : old + 1)                                          \
    X(dec_##bits, uint##bits##_t, old == 0 || old > a ? a : old - 1)

/** Operations FLAT, GLOBAL, MUBUF and DS have in common. */
#define RP_ATOMIC_MEM_OPS(X)                                                                       \
    RP_ATOMIC_INT_OPS(X, 32)                                                                       \
    RP_ATOMIC_INT_OPS(X, 64)                                                                       \
    X(add_f32, uint32_t, rp_f32_add(old, a))                                                       \
    X(pk_add_f16, uint32_t, rp_pk_f16_add(old, a))                                                 \
    X(add_f64, uint64_t, rp_f64_add(old, a))                                                       \
    X(min_f64, uint64_t, rp_f64_min(old, a))                                                       \
    X(max_f64, uint64_t, rp_f64_max(old, a))

/** FLAT, GLOBAL and DS have these, but MUBUF does not. */
#define RP_ATOMIC_BF16_OPS(X) X(pk_add_bf16, uint32_t, rp_pk_bf16_add(old, a))

/* DS compares with its first data and writes the second. */
#define RP_ATOMIC_DS_INT_OPS(X, bits)                                                              \
    X(rsub_##bits, uint##bits##_t, a - old)                                                        \
    X(mskor_##bits, uint##bits##_t, (old & ~a) | b)                                                \
    X(cmpst_##bits, uint##bits##_t, old == a ? b : old)                                            \
    X(cmpst_f_##bits, uint##bits##_t, rp_f##bits##_equal(old, a) ? b : old)

/* Float arithmetic of atomics works on raw words, rounds to nearest even and keeps denormals. */

/* These use the conversions of the lane kernels. It does not matter for which CPU level they are
 * built.
 */
#define RP_MEM_FLOAT(bits, type)                                                                   \
    static inline type rp_f##bits##_from(uint##bits##_t word)                                      \
    {                                                                                              \
        type value;                                                                                \
        memcpy(&value, &word, sizeof value);                                                       \
        return value;                                                                              \
    }                                                                                              \
    static inline uint##bits##_t rp_f##bits##_word(type value)                                     \
    {                                                                                              \
        uint##bits##_t word;                                                                       \
        memcpy(&word, &value, sizeof word);                                                        \
        return word;                                                                               \
    }                                                                                              \
    static inline uint##bits##_t rp_f##bits##_add(uint##bits##_t a, uint##bits##_t b)              \
    {                                                                                              \
        return rp_f##bits##_word(rp_f##bits##_from(a) + rp_f##bits##_from(b));                     \
    }                                                                                              \
    static inline bool rp_f##bits##_equal(uint##bits##_t a, uint##bits##_t b)                      \
    {                                                                                              \
        return rp_f##bits##_from(a) == rp_f##bits##_from(b);                                       \
    }                                                                                              \
    /* A NaN loses against a number, and -0 is less than +0. */                                    \
    static inline uint##bits##_t rp_f##bits##_min(uint##bits##_t a, uint##bits##_t b)              \
    {                                                                                              \
        type x = rp_f##bits##_from(a), y = rp_f##bits##_from(b);                                   \
        if (x != x || y != y)                                                                      \
            return x != x ? b : a;                                                                 \
        if (x == y)                                                                                \
            return a | b;                                                                          \
        return x < y ? a : b;                                                                      \
    }                                                                                              \
    static inline uint##bits##_t rp_f##bits##_max(uint##bits##_t a, uint##bits##_t b)              \
    {                                                                                              \
        type x = rp_f##bits##_from(a), y = rp_f##bits##_from(b);                                   \
        if (x != x || y != y)                                                                      \
            return x != x ? b : a;                                                                 \
        if (x == y)                                                                                \
            return a & b;                                                                          \
        return x > y ? a : b;                                                                      \
    }

RP_MEM_FLOAT(32, float)
RP_MEM_FLOAT(64, double)

/* The sum of two halves in float, rounded once more to half, is correctly rounded (24 >= 2*11+2).
 * The same holds for bfloat (24 >= 2*8+2).
 */
static inline uint16_t rp_f16_add(uint16_t a, uint16_t b)
{
    return (uint16_t)rp_h16_of_f32(rp_f32_of_h16(a) + rp_f32_of_h16(b));
}

static inline uint32_t rp_pk_f16_add(uint32_t a, uint32_t b)
{
    return rp_f16_add((uint16_t)a, (uint16_t)b) |
           (uint32_t)rp_f16_add((uint16_t)(a >> 16), (uint16_t)(b >> 16)) << 16;
}

static inline uint16_t rp_bf16_add(uint16_t a, uint16_t b)
{
    float sum = rp_f32_from((uint32_t)a << 16) + rp_f32_from((uint32_t)b << 16);
    uint32_t word = rp_f32_word(sum);
    if (sum != sum)
        return (uint16_t)(word >> 16 | 0x40);
    return (uint16_t)((word + 0x7fff + (word >> 16 & 1)) >> 16);
}

static inline uint32_t rp_pk_bf16_add(uint32_t a, uint32_t b)
{
    return rp_bf16_add((uint16_t)a, (uint16_t)b) |
           (uint32_t)rp_bf16_add((uint16_t)(a >> 16), (uint16_t)(b >> 16)) << 16;
}

#endif

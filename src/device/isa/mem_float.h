/**
 * @file mem_float.h
 * @brief Float arithmetic of atomics on raw words: round to nearest even, denormals kept.
 */
#ifndef RP_DEVICE_ISA_MEM_FLOAT_H
#define RP_DEVICE_ISA_MEM_FLOAT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* The conversions of the lane kernels; which CPU level they are built for makes no difference. */
#ifndef RP_LANE_LEVEL
#define RP_LANE_LEVEL 0
#endif
#include "lane_f16.h"

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

/* The sum of two halves in float, rounded once more to half, is correctly rounded (24 >= 2*11+2);
 * likewise for bfloat (24 >= 2*8+2). */
static inline uint16_t rp_f16_add(uint16_t a, uint16_t b)
{
    return (uint16_t)rp_h16_of_f32(rp_f32_of_h16(a) + rp_f32_of_h16(b));
}

static inline uint16_t rp_bf16_add(uint16_t a, uint16_t b)
{
    float sum = rp_f32_from((uint32_t)a << 16) + rp_f32_from((uint32_t)b << 16);
    uint32_t word = rp_f32_word(sum);
    if (sum != sum)
        return (uint16_t)(word >> 16 | 0x40);
    return (uint16_t)((word + 0x7fff + (word >> 16 & 1)) >> 16);
}

static inline uint32_t rp_pk_f16_add(uint32_t a, uint32_t b)
{
    return rp_f16_add((uint16_t)a, (uint16_t)b) |
           (uint32_t)rp_f16_add((uint16_t)(a >> 16), (uint16_t)(b >> 16)) << 16;
}

static inline uint32_t rp_pk_bf16_add(uint32_t a, uint32_t b)
{
    return rp_bf16_add((uint16_t)a, (uint16_t)b) |
           (uint32_t)rp_bf16_add((uint16_t)(a >> 16), (uint16_t)(b >> 16)) << 16;
}

#endif

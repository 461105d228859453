/**
 * @file lane_small.h
 * @brief f32 to floats of fewer bits, given by their mantissa bits and bias: the magnitude alone.
 *
 * All functions take the magnitude of an f32 (no sign bit) that is finite, and give the magnitude
 * in the small format as if its exponent had no upper end; what is too large there, and where NaN
 * and infinities go, is the caller's.
 */
#ifndef RP_DEVICE_ISA_LANE_SMALL_H
#define RP_DEVICE_ISA_LANE_SMALL_H

#include "lane_level.h"

/* Nearest even. */
static inline uint32_t rp_small_nearest(uint32_t x, unsigned mant_bits, uint32_t bias)
{
    const uint32_t drop = 23 - mant_bits, half = 1u << (drop - 1);
    const uint32_t normal = (x - ((127 - bias) << 23) + half - 1 + (x >> drop & 1)) >> drop;
    /* f32 numbers near this one are as far apart as the denormals: adding it rounds to them. */
    const uint32_t grid = (128 - bias - mant_bits + 23) << 23;
    const uint32_t denormal = rp_bits_f32(rp_f32_of(x) + rp_f32_of(grid)) - grid;
    return rp_sel32(x < (128 - bias) << 23, denormal, normal);
}

/* Stochastic: the dropped bits plus as many random bits from the top of S1, then cut off. The
 * document shows this for normal results (its wrap of the mantissa without carry is taken for a
 * slip); for denormal results, which drop more bits, more random bits are taken likewise. */
static inline uint32_t rp_small_random(uint32_t x, uint32_t random, unsigned mant_bits,
                                       uint32_t bias)
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

#endif

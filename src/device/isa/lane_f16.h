/**
 * @file lane_f16.h
 * @brief f16 to and from f32 and f64, in branch-free integer arithmetic that vectorises anywhere.
 */
#ifndef RP_DEVICE_ISA_LANE_F16_H
#define RP_DEVICE_ISA_LANE_F16_H

#include "lane_level.h"

/* f16 bits to the f32 of the same value. NaN payloads move up unchanged, signalling ones too. */
static inline float rp_f32_of_h16(uint32_t h)
{
    const uint32_t sign = (h & 0x8000u) << 16, em = h & 0x7fffu;
    const uint32_t rebias = 112u << 23; /* 127 - 15 */
    const uint32_t normal = (em << 13) + rebias + (em >= 0x7c00u ? rebias : 0);
    const uint32_t denormal = rp_bits_f32((float)(int32_t)em * 0x1p-24f);
    return rp_f32_of((em < 0x0400u ? denormal : normal) | sign);
}

/* f32 to f16, nearest even. NaNs are quieted and keep the top of their payload. */
static inline uint32_t rp_h16_of_f32(float f)
{
    const uint32_t bits = rp_bits_f32(f), sign = bits >> 16 & 0x8000u, x = bits & 0x7fffffffu;
    const uint32_t normal = (x - (112u << 23) + 0xfffu + (x >> 13 & 1)) >> 13;
    /* The spacing of f32 at 0.5 is the f16 denormals' spacing, so this addition rounds to it. */
    const uint32_t denormal = rp_bits_f32(rp_f32_of(x) + 0.5f) - 0x3f000000u;
    const uint32_t special = x > 0x7f800000u ? 0x7e00u | (x >> 13 & 0x3ffu) : 0x7c00u;
    return sign | (x >= 0x47800000u ? special : x < 0x38800000u ? denormal : normal);
}

/* f32 to f16, toward zero: finite values never become infinite. */
static inline uint32_t rp_h16_of_f32_rtz(float f)
{
    const uint32_t bits = rp_bits_f32(f), sign = bits >> 16 & 0x8000u, x = bits & 0x7fffffffu;
    const uint32_t normal = (x - (112u << 23)) >> 13;
    const uint32_t shift = 126 - (x >> 23); /* of the 24-bit significand, to steps of 2^-24 */
    const uint32_t small = shift < 32 ? ((x & 0x7fffffu) | 0x800000u) >> (shift & 31) : 0;
    const uint32_t nan = 0x7e00u | (x >> 13 & 0x3ffu);
    const uint32_t large = x > 0x7f800000u ? nan : x == 0x7f800000u ? 0x7c00u : 0x7bffu;
    return sign | (x >= 0x47800000u ? large : x < 0x38800000u ? small : normal);
}

/* f64 to f16, rounded once: to odd in f32, which has more than two bits to spare, then as above. */
static inline uint32_t rp_h16_of_f64(double d)
{
    const float f = (float)d;
    const uint32_t away = __builtin_fabs((double)f) > __builtin_fabs(d) ? 1 : 0;
    const uint32_t inexact = (double)f != d ? 1 : 0;
    return rp_h16_of_f32(rp_f32_of((rp_bits_f32(f) - away) | inexact));
}

#define RP_C_f16           float
#define RP_LD_f16(p, l)    rp_f32_of_h16((p)[l] & 0xffffu)
#define RP_ST_f16(p, l, v) ((p)[l] = rp_h16_of_f32(v))

#endif

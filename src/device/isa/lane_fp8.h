/**
 * @file lane_fp8.h
 * @brief fp8 and bf8 of this GPU ("FNUZ") to f32: no infinity, no -0, one NaN (0x80).
 *
 * fp8 is 1-4-3 with bias 8, bf8 is 1-5-2 with bias 16.
 */
#ifndef RP_DEVICE_ISA_LANE_FP8_H
#define RP_DEVICE_ISA_LANE_FP8_H

#include "lane_level.h"

static inline float rp_f32_of_fnuz(uint32_t v, unsigned mant_bits, uint32_t bias)
{
    const uint32_t mag = v & 0x7fu;
    const uint32_t normal = (mag << (23 - mant_bits)) + ((127 - bias) << 23);
    const float step = rp_f32_of((128 - bias - mant_bits) << 23); /* of the denormals */
    const uint32_t denormal = rp_bits_f32((float)(int32_t)mag * step);
    const uint32_t value = (mag >> mant_bits ? normal : denormal) | (v & 0x80u) << 24;
    return rp_f32_of(v == 0x80u ? 0x7fc00000u : value);
}

/* The low byte of v. */
static inline float rp_f32_of_fp8(uint32_t v)
{
    return rp_f32_of_fnuz(v & 0xffu, 3, 8);
}

static inline float rp_f32_of_bf8(uint32_t v)
{
    return rp_f32_of_fnuz(v & 0xffu, 2, 16);
}

#endif

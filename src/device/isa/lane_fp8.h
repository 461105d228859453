/**
 * @file lane_fp8.h
 * @brief fp8 and bf8 to f32.
 *
 * gfx942 has the "FNUZ" ones: no infinity, no -0, one NaN (0x80). fp8 is 1-4-3 with bias 8, bf8 is
 * 1-5-2 with bias 16. gfx950 has those of the Open Compute Project: fp8 (E4M3) is 1-4-3 with bias
 * 7, no infinity and NaN where all bits but the sign are set; bf8 (E5M2) is the upper byte of an
 * f16. A NaN of theirs becomes the quiet one of its sign without payload, which nobody documents.
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

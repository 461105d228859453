/* Numbers of 16 bits as the host's compiler converts them; clang has had _Float16 for x86 since 15
 * only. */
#ifndef RP_TESTS_HALF_H
#define RP_TESTS_HALF_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__clang__) && __clang_major__ < 15

static inline float host_f32_of_f16(uint16_t half)
{
    const int exponent = half >> 10 & 0x1f, fraction = half & 0x3ff;
    uint32_t bits = (uint32_t)(half & 0x8000) << 16;
    float value;

    if (exponent == 0x1f) {
        bits |= 0x7f800000u | (uint32_t)fraction << 13 | (fraction ? 0x400000u : 0);
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    value =
        exponent ? ldexpf((float)(fraction + 0x400), exponent - 25) : ldexpf((float)fraction, -24);
    return half & 0x8000 ? -value : value;
}

/** Rounds to nearest even, as the host does. */
static inline uint16_t host_f16_of_f32(float value)
{
    const uint16_t sign = signbit(value) ? 0x8000 : 0;
    const float size = fabsf(value);
    uint32_t bits;
    int exponent;

    memcpy(&bits, &value, sizeof bits);
    if (isnan(value))
        return (uint16_t)(sign | 0x7e00 | (bits >> 13 & 0x3ff));
    if (size >= 65520) /* half of a step above the largest */
        return (uint16_t)(sign | 0x7c00);
    if (size == 0)
        return sign;
    exponent = ilogbf(size) < -14 ? -14 : ilogbf(size);
    /* Numbers without a leading one, and a fraction that is rounded up to the next power of two,
     * come out right. */
    return (uint16_t)(sign + (exponent + 14) * 0x400 +
                      (int)nearbyintf(ldexpf(size, 10 - exponent)));
}

#else

static inline float host_f32_of_f16(uint16_t half)
{
    _Float16 narrow;

    memcpy(&narrow, &half, sizeof narrow);
    return (float)narrow;
}

static inline uint16_t host_f16_of_f32(float value)
{
    const _Float16 narrow = (_Float16)value;
    uint16_t half;

    memcpy(&half, &narrow, sizeof half);
    return half;
}

#endif
#endif

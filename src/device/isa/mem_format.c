#include "mem_format.h"

#include <math.h>
#include <stddef.h>

#include "mem_float.h"

const struct rp_data_format *rp_data_format(unsigned data_format)
{
    static const struct rp_data_format formats[16] = {
        [1] = {1, 1, {8}, {0}},
        [2] = {2, 1, {16}, {0}},
        [3] = {2, 2, {8, 8}, {0, 8}},
        [4] = {4, 1, {32}, {0}},
        [5] = {4, 2, {16, 16}, {0, 16}},
        [6] = {4, 3, {11, 11, 10}, {0, 11, 22}},           /* named from the top: 10_11_11 */
        [7] = {4, 3, {10, 11, 11}, {0, 10, 21}},           /* 11_11_10 */
        [8] = {4, 4, {2, 10, 10, 10}, {0, 2, 12, 22}},     /* 10_10_10_2 */
        [9] = {4, 4, {10, 10, 10, 2}, {0, 10, 20, 30}},    /* 2_10_10_10 */
        [10] = {4, 4, {8, 8, 8, 8}, {0, 8, 16, 24}},       /* 8_8_8_8 */
        [11] = {8, 2, {32, 32}, {0, 32}},                  /* 32_32 */
        [12] = {8, 4, {16, 16, 16, 16}, {0, 16, 32, 48}},  /* 16_16_16_16 */
        [13] = {12, 3, {32, 32, 32}, {0, 32, 64}},         /* 32_32_32 */
        [14] = {16, 4, {32, 32, 32, 32}, {0, 32, 64, 96}}, /* 32_32_32_32 */
    };
    return &formats[data_format & 15];
}

const char *rp_format_check(unsigned bits, unsigned num_format)
{
    if (num_format == 6)
        return "reserved number format 6";
    if (num_format == RP_NUM_FLOAT)
        return bits == 8 || bits == 2 ? "floats of 8 or 2 bits are no buffer format" : NULL;
    if (bits == 11)
        return "components of 11 bits are floats only";
    if (bits == 32 && num_format != RP_NUM_UINT && num_format != RP_NUM_SINT)
        return "components of 32 bits are integers or floats only";
    return NULL;
}

static int32_t sign_extend_raw(uint32_t raw, unsigned bits)
{
    return (int32_t)(raw << (32 - bits)) >> (32 - bits);
}

/* Floats of 10 and 11 bits are halves without a sign and with fewer mantissa bits. */
static uint32_t small_to_half(uint32_t raw, unsigned bits)
{
    return raw << (15 - bits);
}

static float value_of(uint32_t raw, unsigned bits, unsigned num_format)
{
    float biggest = (float)((1u << (bits - 1)) - 1);
    switch (num_format) {
    case RP_NUM_UNORM:
        return (float)raw / (float)((1u << bits) - 1);
    case RP_NUM_SNORM: { /* the smallest two mean -1 */
        float value = (float)sign_extend_raw(raw, bits) / biggest;
        return value < -1 ? -1 : value;
    }
    case RP_NUM_USCALED:
        return (float)raw;
    default:
        return (float)sign_extend_raw(raw, bits);
    }
}

/* A float in 16 bits, if nothing is lost. */
static const char *exact_half(float value, uint32_t *ret_half)
{
    uint32_t half = (uint16_t)rp_h16_of_f32(value);
    if (rp_f32_of_h16((uint16_t)half) != value)
        return "this value has no exact f16, and how the hardware rounds it is not published";
    *ret_half = half;
    return NULL;
}

static const char *load_float(uint32_t raw, unsigned bits, bool d16, uint32_t *ret_value)
{
    if (bits == 32 && d16)
        return exact_half(rp_f32_from(raw), ret_value);
    if (bits == 32) {
        *ret_value = raw;
        return NULL;
    }
    uint32_t half = bits == 16 ? raw : small_to_half(raw, bits);
    *ret_value = d16 ? half : rp_f32_word(rp_f32_of_h16((uint16_t)half));
    return NULL;
}

const char *rp_format_load(uint32_t raw, unsigned bits, unsigned num_format, bool d16,
                           uint32_t *ret_value)
{
    const uint32_t mask = d16 ? 0xffff : UINT32_MAX;
    const char *why = rp_format_check(bits, num_format);
    if (why)
        return why;
    switch (num_format) {
    case RP_NUM_UINT:
        *ret_value = raw & mask;
        return NULL;
    case RP_NUM_SINT:
        *ret_value = (uint32_t)sign_extend_raw(raw, bits) & mask;
        return NULL;
    case RP_NUM_FLOAT:
        return load_float(raw, bits, d16, ret_value);
    default:
        break;
    }
    float value = value_of(raw, bits, num_format);
    if (!d16) {
        *ret_value = rp_f32_word(value);
        return NULL;
    }
    /* A quotient by 2^n-1 repeats after n <= 16 bits, so rounding it twice is rounding it once. */
    if (num_format == RP_NUM_UNORM || num_format == RP_NUM_SNORM) {
        *ret_value = (uint16_t)rp_h16_of_f32(value);
        return NULL;
    }
    return exact_half(value, ret_value);
}

static const char *store_integer(int64_t value, unsigned bits, bool has_sign, uint32_t *ret_raw)
{
    int64_t low = has_sign ? -((int64_t)1 << (bits - 1)) : 0;
    int64_t high = ((int64_t)1 << (bits - has_sign)) - 1;
    if (value < low || value > high)
        return "this value is outside the format, and what the hardware stores is not published";
    *ret_raw = (uint32_t)value & (uint32_t)(((uint64_t)1 << bits) - 1);
    return NULL;
}

static const char *store_float(uint32_t value, unsigned bits, bool d16, uint32_t *ret_raw)
{
    uint32_t half = value & 0xffff;
    if (bits == 32) {
        *ret_raw = d16 ? rp_f32_word(rp_f32_of_h16((uint16_t)half)) : value;
        return NULL;
    }
    const char *why = d16 ? NULL : exact_half(rp_f32_from(value), &half);
    if (why)
        return why;
    if (bits < 16 && (half >> 15 || half & ((1u << (15 - bits)) - 1)))
        return "this value has no exact small float, and how the hardware rounds is not published";
    *ret_raw = bits == 16 ? half : half >> (15 - bits);
    return NULL;
}

const char *rp_format_store(uint32_t value, unsigned bits, unsigned num_format, bool d16,
                            uint32_t *ret_raw)
{
    const char *why = rp_format_check(bits, num_format);
    if (why)
        return why;
    switch (num_format) {
    case RP_NUM_UINT:
        return store_integer(d16 ? value & 0xffff : value, bits, false, ret_raw);
    case RP_NUM_SINT:
        return store_integer(d16 ? (int16_t)value : (int32_t)value, bits, true, ret_raw);
    case RP_NUM_FLOAT:
        return store_float(value, bits, d16, ret_raw);
    default:
        break;
    }
    double number = (double)(d16 ? rp_f32_of_h16((uint16_t)value) : rp_f32_from(value));
    bool has_sign = num_format == RP_NUM_SNORM || num_format == RP_NUM_SSCALED;
    if (num_format == RP_NUM_UNORM || num_format == RP_NUM_SNORM) {
        double low = has_sign ? -1 : 0;
        number = !(number >= low) ? (number < low ? low : 0) : number > 1 ? 1 : number;
        number = rint(number * (double)((1u << (bits - has_sign)) - 1));
    } else if (!(fabs(number) <= 65536) || number != rint(number)) {
        return "this value is no integer of the format, and how the hardware rounds is not "
               "published";
    }
    return store_integer((int64_t)number, bits, has_sign, ret_raw);
}

uint32_t rp_format_one(unsigned num_format, bool d16)
{
    if (num_format == RP_NUM_UINT || num_format == RP_NUM_SINT)
        return 1;
    return d16 ? 0x3c00 : 0x3f800000;
}

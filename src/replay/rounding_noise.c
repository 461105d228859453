#include "replay/rounding_noise.h"

#include <math.h>
#include <string.h>

#include "base/stats.h"
#include "replay/output_rules.h"
#include "replay/replay_protocol.h"

static uint64_t units_of(unsigned level)
{
    uint64_t units = RP_NOISE_UNITS;

    while (level--)
        units *= RP_NOISE_TIMES;
    return units;
}

uint64_t rp_noise_move(enum rp_number_type type, unsigned level, uint64_t seed, size_t bytes,
                       uint8_t *page)
{
    const struct rp_number_shape shape = rp_number_shape(type);
    const uint64_t sign = (uint64_t)1 << (shape.fraction_bits + shape.exponent_bits);
    const uint64_t least = (uint64_t)1 << shape.fraction_bits, most = sign - least;
    const uint64_t units = units_of(level);
    uint64_t count = 0;

    for (size_t at = 0; type != RP_EXACT && at + shape.bytes <= bytes; at += shape.bytes) {
        const uint64_t bits = rp_number_load(page + at, shape.bytes), size = bits & (sign - 1);
        const bool up = rp_mix64(seed + at) & 1;
        const uint64_t moved = up ? bits + units : bits - units;

        if (size < least + units || size + units >= most)
            continue;
        memcpy(page + at, &moved, shape.bytes);
        count++;
    }
    return count;
}

void rp_noise_note(enum rp_number_type type, unsigned level, const uint64_t *words,
                   const uint8_t *moved, const uint8_t *expected, struct rp_rounding_noise *noise)
{
    const unsigned bytes = rp_number_shape(type).bytes;
    double changed = 0, size = 0;
    size_t count = 0;

    for (size_t at = 0; at + bytes <= RP_PAGE_BYTES; at += bytes) {
        const double is = rp_number_value(type, rp_number_load(expected + at, bytes));
        const double off = rp_number_value(type, rp_number_load(moved + at, bytes)) - is;

        if (!rp_word_in(words, at / 4) || !isfinite(is) || !isfinite(off))
            continue;
        changed += off * off;
        size += is * is;
        count++;
    }
    noise->changed[level] = count ? sqrt(changed / (double)count) : 0;
    noise->size = count ? sqrt(size / (double)count) : 0;
}

static bool is_straight_from(const struct rp_rounding_noise *noise, unsigned level)
{
    enum { LEAST_TIMES = 6, MOST_TIMES = 45 };
    const double few = noise->changed[level], many = noise->changed[level + 1];

    return few > 0 && many > LEAST_TIMES * few && many < MOST_TIMES * few;
}

bool rp_noise_is_straight(const struct rp_rounding_noise *noise)
{
    return is_straight_from(noise, 0) || is_straight_from(noise, 1);
}

double rp_noise_allowed(enum rp_number_type type, const struct rp_rounding_noise *noise)
{
    enum { MOST_UNITS = 8, MOST_TIMES = 64 };
    const double unit = ldexp(noise->size, -(int)rp_number_shape(type).fraction_bits);
    double of_inputs = 0;

    for (unsigned level = 0; level + 1 < RP_NOISE_LEVELS; level++)
        if (is_straight_from(noise, level))
            of_inputs = noise->changed[level] / (double)units_of(level);
    return MOST_UNITS * hypot(fmin(of_inputs, MOST_TIMES * unit), unit);
}

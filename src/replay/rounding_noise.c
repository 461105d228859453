#include "replay/rounding_noise.h"

#include <math.h>
#include <string.h>

#include "base/stats.h"
#include "replay/output_rules.h"
#include "replay/replay_protocol.h"

static uint64_t times_of(enum rp_number_type type)
{
    return rp_number_is_short(type) ? 4 : 16;
}

static uint64_t units_of(enum rp_number_type type, unsigned level)
{
    uint64_t units = rp_number_is_short(type) ? 1 : 16;

    while (level--)
        units *= times_of(type);
    return units;
}

uint64_t rp_noise_move(enum rp_number_type type, unsigned level, uint64_t seed, size_t bytes,
                       uint8_t *page)
{
    const struct rp_number_shape shape = rp_number_shape(type);
    const uint64_t sign = (uint64_t)1 << (shape.fraction_bits + shape.exponent_bits);
    const uint64_t least = (uint64_t)1 << shape.fraction_bits, most = sign - least;
    const uint64_t units = units_of(type, level);
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
    noise->count = count;
}

/* Between what steps give, the square root, and a straight line. */
static bool is_straight_from(enum rp_number_type type, const struct rp_rounding_noise *noise,
                             unsigned level)
{
    const double times = (double)times_of(type), least = pow(times, 0.65);
    const double few = noise->changed[level], many = noise->changed[level + 1];

    return few > 0 && many > least * few && many < times * times / least * few;
}

bool rp_noise_is_straight(enum rp_number_type type, const struct rp_rounding_noise *noise)
{
    return is_straight_from(type, noise, 0) || is_straight_from(type, noise, 1);
}

double rp_noise_allowed(enum rp_number_type type, const struct rp_rounding_noise *noise)
{
    enum { MOST_UNITS = 8, MOST_TIMES = 64 };
    const int bits = (int)rp_number_shape(type).fraction_bits;
    const int computed_in =
        rp_number_is_short(type) ? (int)rp_number_shape(RP_F32).fraction_bits : bits;
    const double unit = ldexp(noise->size, -computed_in);
    double of_inputs = 0;

    for (unsigned level = 0; level + 1 < RP_NOISE_LEVELS; level++)
        if (is_straight_from(type, noise, level))
            of_inputs =
                ldexp(noise->changed[level] / (double)units_of(type, level), bits - computed_in);
    return MOST_UNITS * hypot(fmin(of_inputs, MOST_TIMES * unit), unit);
}

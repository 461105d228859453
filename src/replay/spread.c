#include "replay/spread.h"

#include <math.h>
#include <string.h>

/* What varies by more is not the same result in another order. */
static const double most_relative = 1e-2;

/* Sums are hardly ever as small as denormal numbers of these types; counters and indices look like
 * such, and a tolerance would let through any of them. */
static bool is_exact_near_0(enum rp_number_type type)
{
    return type != RP_F16;
}

static void note_number(struct rp_spread_of_type *s, enum rp_number_type type, uint64_t got,
                        uint64_t expected)
{
    const double a = rp_number_value(type, got), b = rp_number_value(type, expected);
    const uint64_t steps = rp_number_steps(type, got, expected);

    if (got == expected)
        return;
    if (!isfinite(a) || !isfinite(b) ||
        (is_exact_near_0(type) &&
         (rp_number_is_denormal(type, got) || rp_number_is_denormal(type, expected)))) {
        s->no_numbers = true;
        return;
    }
    s->steps = steps > s->steps ? steps : s->steps;
    s->abs = fmax(s->abs, fabs(a - b));
    s->largest = fmax(s->largest, fabs(b));
    if (b != 0)
        s->smallest = s->smallest == 0 ? fabs(b) : fmin(s->smallest, fabs(b));
    if (a != b) /* from 0 any step is infinitely far */
        s->rel = fmax(s->rel, b == 0 ? INFINITY : fabs(a - b) / fabs(b));
}

void rp_spread_note(struct rp_spread *spread, const uint8_t *got, const uint8_t *expected,
                    size_t bytes)
{
    if (memcmp(got, expected, bytes) == 0)
        return;
    for (size_t at = 0; at < bytes; at += 4)
        spread->words += memcmp(got + at, expected + at, 4) != 0;
    for (unsigned i = 0; i < RP_SPREAD_TYPES; i++) {
        const enum rp_number_type type = (enum rp_number_type)(RP_F32 + i);
        const unsigned width = rp_number_shape(type).bytes;

        for (size_t at = 0; at < bytes; at += width) {
            uint64_t a = 0, b = 0;

            memcpy(&a, got + at, width);
            memcpy(&b, expected + at, width);
            note_number(&spread->types[i], type, a, b);
        }
    }
}

/* Sums of numbers of both signs can come near 0: there only the absolute size says something. */
static bool rule_of(const struct rp_spread_of_type *s, enum rp_number_type type,
                    struct rp_compare_rule *ret)
{
    const double near = fmax(1e-3, ldexp(4, -(int)rp_number_shape(type).fraction_bits));

    *ret = (struct rp_compare_rule){.type = type, .normal = is_exact_near_0(type)};
    if (s->no_numbers || (s->rel > near && s->abs > most_relative * s->largest))
        return false;
    if (s->rel <= near)
        ret->ulp = RP_SPREAD_TIMES * s->steps;
    else
        ret->abs = RP_SPREAD_TIMES * s->abs;
    return true;
}

/* Bits of freedom in 8 bytes. */
static double freedom(const struct rp_spread_of_type *s, enum rp_number_type type)
{
    return 8.0 / rp_number_shape(type).bytes * log2(2 * (double)s->steps + 1);
}

bool rp_spread_rule(const struct rp_spread *spread, struct rp_compare_rule *ret)
{
    double least = INFINITY;

    for (unsigned i = 0; i < RP_SPREAD_TYPES; i++) {
        const enum rp_number_type type = (enum rp_number_type)(RP_F32 + i);
        struct rp_compare_rule rule;

        if (!rule_of(&spread->types[i], type, &rule) || freedom(&spread->types[i], type) >= least)
            continue;
        least = freedom(&spread->types[i], type);
        *ret = rule;
    }
    return isfinite(least);
}

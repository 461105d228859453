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
    uint64_t units = rp_number_is_short(type) ? 2 : 16;

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

static unsigned class_of(double size)
{
    enum { LEAST = -RP_NOISE_CLASSES * RP_NOISE_CLASS_BITS / 2 };
    const int exponent = size > 0 && isfinite(size) ? ilogb(size) : LEAST;
    const int class = (exponent - LEAST) / RP_NOISE_CLASS_BITS;

    return class < 0 ? 0 : class >= RP_NOISE_CLASSES ? RP_NOISE_CLASSES - 1 : (unsigned)class;
}

/** Says whether a class has the size, or a smaller one. Squares of larger numbers overflow. */
static bool has_class(double size)
{
    return size < ldexp(1, RP_NOISE_CLASSES * RP_NOISE_CLASS_BITS / 2);
}

/** Returns the noise of one unit of 32 bits or more in a class, if it is between what steps give,
 * the square root, and as much more than a straight line. */
static double noise_of(enum rp_number_type type, const struct rp_rounding_noise *noise,
                       unsigned class)
{
    const double times = (double)times_of(type), least = rp_number_is_short(type) ? 2.5 : 6;
    double found = 0;

    for (unsigned level = 0; level + 1 < RP_NOISE_LEVELS; level++) {
        const double few = noise->changed[level][class], many = noise->changed[level + 1][class];

        if (few > 0 && many > least * few && many < times * times / least * few)
            found = few / (double)units_of(type, level);
    }
    return rp_number_is_short(type) ? ldexp(found, rp_number_bits(type) - rp_number_bits(RP_F32))
                                    : found;
}

/** @param squares sums of the results' */
static void finish(enum rp_number_type type, const double *squares, struct rp_rounding_noise *noise)
{
    double sum = 0, count = 0;

    for (unsigned i = 0; i < RP_NOISE_CLASSES; i++) {
        noise->of_one[i] = noise_of(type, noise, i);
        if (noise->of_one[i] > 0) {
            sum += squares[i];
            count += noise->of_class[i];
        }
    }
    noise->moved = count > 0 ? sqrt(sum / count) : 0;
}

void rp_noise_note(enum rp_number_type type, unsigned level, const uint64_t *words,
                   const uint8_t *moved, const uint8_t *expected, struct rp_rounding_noise *noise)
{
    const unsigned bytes = rp_number_shape(type).bytes;
    double changed[RP_NOISE_CLASSES] = {0}, squares[RP_NOISE_CLASSES] = {0};

    noise->count = 0;
    memset(noise->of_class, 0, sizeof noise->of_class);
    for (size_t at = 0; at + bytes <= RP_PAGE_BYTES; at += bytes) {
        const double is = rp_number_value(type, rp_number_load(expected + at, bytes));
        const double off = rp_number_value(type, rp_number_load(moved + at, bytes)) - is;
        const unsigned class = class_of(fabs(is));

        if (!rp_word_in(words, at / 4) || !has_class(fabs(is)) || !has_class(fabs(off)))
            continue;
        changed[class] += off * off;
        squares[class] += is * is;
        noise->of_class[class]++;
        noise->count++;
    }
    for (unsigned i = 0; i < RP_NOISE_CLASSES; i++)
        noise->changed[level][i] =
            noise->of_class[i] ? sqrt(changed[i] / (double)noise->of_class[i]) : 0;
    if (level + 1 == RP_NOISE_LEVELS)
        finish(type, squares, noise);
}

double rp_noise_allowed(enum rp_number_type type, const struct rp_rounding_noise *noise,
                        double size)
{
    enum { MOST_UNITS = 8, MOST_TIMES = 1024, MOST_CLASSES = 4, ENOUGH = 8 };
    enum { MOST_LARGER = 1 << 14, USUAL_IN = 8 };
    const double unit = ldexp(1, -rp_number_bits(rp_number_is_short(type) ? RP_F32 : type));
    const unsigned first = class_of(size);
    /* Where a good part of a page is of this size, it is no tail of larger ones. */
    const bool usual = noise->of_class[first] * USUAL_IN >= noise->count;
    const double largest = usual ? fmin(noise->moved, MOST_LARGER * size) : noise->moved;
    double of_inputs = 0;
    uint32_t seen = 0;

    for (unsigned i = first; i < first + MOST_CLASSES && i < RP_NOISE_CLASSES && seen < ENOUGH;
         i++) {
        of_inputs = fmax(of_inputs, noise->of_one[i]);
        seen += noise->of_class[i];
    }
    if (of_inputs == 0 && seen >= ENOUGH)
        return MOST_UNITS * unit * size;
    return MOST_UNITS * hypot(fmin(of_inputs, MOST_TIMES * unit * fmax(noise->moved, size)),
                              unit * fmax(size, largest));
}

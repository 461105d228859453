#include "replay/output_rules.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

static const struct {
    const char *name;
    unsigned bytes;
    unsigned exponent_bits, fraction_bits;
} types[] = {
    [RP_EXACT] = {"exact", 4, 0, 0}, [RP_F32] = {"f32", 4, 8, 23},  [RP_F16] = {"f16", 2, 5, 10},
    [RP_BF16] = {"bf16", 2, 8, 7},   [RP_F64] = {"f64", 8, 11, 52},
};

const struct rp_compare_rule rp_exact = {.type = RP_EXACT};

/* --- rules --------------------------------------------------------------------------------- */

static bool is_word(const char *at, const char *word)
{
    const size_t length = strlen(word);

    return strncmp(at, word, length) == 0 && (!at[length] || at[length] == ',');
}

static bool take_tolerance(const char *word, struct rp_compare_rule *rule)
{
    const char *value = strchr(word, '=');
    char *end;
    double number;

    if (is_word(word, "normal")) {
        rule->normal = true;
        return true;
    }
    if (!value || (value[1] != '.' && (value[1] < '0' || value[1] > '9')))
        return false;
    number = strtod(value + 1, &end);
    if ((*end && *end != ',') || !isfinite(number))
        return false;
    if (strncmp(word, "abs=", 4) == 0)
        rule->abs = number;
    else if (strncmp(word, "rel=", 4) == 0)
        rule->rel = number;
    else if (strncmp(word, "ulp=", 4) == 0 && number <= 1e9 && number == floor(number))
        rule->ulp = (uint64_t)number;
    else
        return false;
    return true;
}

int rp_compare_rule_parse(const char *text, struct rp_compare_rule *ret, struct rp_err *err)
{
    struct rp_compare_rule rule = {0};
    const char *at = strchr(text, ',');
    const size_t length = at ? (size_t)(at - text) : strlen(text);
    bool good = false;

    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strlen(types[i].name) == length && strncmp(text, types[i].name, length) == 0) {
            rule.type = (enum rp_number_type)i;
            good = i != RP_EXACT || !at;
        }
    if (!good) { /* Tolerances alone are of the usual type. */
        rule.type = RP_F32;
        good = take_tolerance(text, &rule);
    }
    for (; good && at; at = strchr(at + 1, ','))
        good = take_tolerance(at + 1, &rule);
    if (!good)
        return rp_fail(
            err, RP_USAGE,
            "--compare %s: use exact, or any of abs=X, rel=X, ulp=N and normal, separated by "
            "commas, with f32, f16, bf16 or f64 in front of them",
            text);
    *ret = rule;
    return 0;
}

struct rp_number_shape rp_number_shape(enum rp_number_type type)
{
    return (struct rp_number_shape){.bytes = types[type].bytes,
                                    .exponent_bits = types[type].exponent_bits,
                                    .fraction_bits = types[type].fraction_bits};
}

/* --- numbers ------------------------------------------------------------------------------- */

/* All these types are of IEEE's form; fp64 holds each value of the others. */
double rp_number_value(enum rp_number_type type, uint64_t bits)
{
    const unsigned fraction_bits = types[type].fraction_bits;
    const unsigned exponent_bits = types[type].exponent_bits;
    const uint64_t fraction = bits & (((uint64_t)1 << fraction_bits) - 1);
    const int exponent = (int)(bits >> fraction_bits & ((1u << exponent_bits) - 1));
    const int most = (1 << exponent_bits) - 1, bias = most / 2;
    double size;

    if (exponent == most)
        size = fraction ? NAN : INFINITY;
    else if (exponent == 0)
        size = ldexp((double)fraction, 1 - bias - (int)fraction_bits);
    else
        size = ldexp((double)(fraction | (uint64_t)1 << fraction_bits),
                     exponent - bias - (int)fraction_bits);
    return bits >> (fraction_bits + exponent_bits) & 1 ? -size : size;
}

bool rp_number_is_denormal(enum rp_number_type type, uint64_t bits)
{
    const uint64_t sign = (uint64_t)1 << (types[type].bytes * 8 - 1);
    const uint64_t size = bits & (sign - 1);

    return size && !(size >> types[type].fraction_bits);
}

/* Returns the steps between representable numbers; both zeros are the same. */
uint64_t rp_number_ulp_distance(enum rp_number_type type, uint64_t a, uint64_t b)
{
    const uint64_t sign = (uint64_t)1 << (types[type].bytes * 8 - 1);
    const uint64_t x = a & (sign - 1), y = b & (sign - 1);

    if ((a & sign) != (b & sign))
        return x + y;
    return x > y ? x - y : y - x;
}

static bool right(const struct rp_compare_rule *rule, uint64_t got, uint64_t expected)
{
    double a, b;

    if (got == expected)
        return true;
    if (rule->type == RP_EXACT)
        return false;
    if (rule->normal &&
        (rp_number_is_denormal(rule->type, got) || rp_number_is_denormal(rule->type, expected)))
        return false;
    a = rp_number_value(rule->type, got);
    b = rp_number_value(rule->type, expected);
    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b);
    if (isinf(a) || isinf(b))
        return a == b;
    return a == b || fabs(a - b) <= rule->abs + rule->rel * fabs(b) ||
           rp_number_ulp_distance(rule->type, got, expected) <= rule->ulp;
}

void rp_compare_words(const struct rp_compare_rule *rule, const uint8_t *got,
                      const uint8_t *expected, size_t bytes, uint64_t *ret_bad)
{
    const unsigned width = types[rule->type].bytes;

    memset(ret_bad, 0, (bytes / 4 + 63) / 64 * sizeof *ret_bad);
    for (size_t at = 0; at < bytes; at += width) {
        /* The last number of a region may be cut. */
        const unsigned here = at + width <= bytes ? width : (unsigned)(bytes - at);
        const uint64_t a = rp_number_load(got + at, here), b = rp_number_load(expected + at, here);

        if (here == width ? right(rule, a, b) : a == b)
            continue;
        for (unsigned i = 0; i < here; i += 4)
            ret_bad[(at + i) / 4 / 64] |= (uint64_t)1 << ((at + i) / 4 % 64);
    }
}

int rp_compare_rule_print(const struct rp_compare_rule *rule, char *out, size_t room)
{
    char abs[40] = "", rel[40] = "", ulp[40] = "";

    if (rule->abs > 0)
        snprintf(abs, sizeof abs, ",abs=%.3g", rule->abs);
    if (rule->rel > 0)
        snprintf(rel, sizeof rel, ",rel=%.3g", rule->rel);
    if (rule->ulp)
        snprintf(ulp, sizeof ulp, ",ulp=%" PRIu64, rule->ulp);
    return snprintf(out, room, "%s%s%s%s%s", types[rule->type].name, abs, rel, ulp,
                    rule->normal ? ",normal" : "");
}

void rp_word_difference_note(struct rp_word_difference *first, uint64_t address,
                             const uint64_t *bad, const uint8_t *got, const uint8_t *expected)
{
    for (size_t i = 0; i < RP_PAGE_WORDS && !first->any; i++) {
        const unsigned bytes = i + 1 < RP_PAGE_WORDS ? 8 : 4;

        if (!rp_word_in(bad, i))
            continue;
        *first = (struct rp_word_difference){.any = true,
                                             .address = address + 4 * i,
                                             .got = rp_number_load(got + 4 * i, bytes),
                                             .expected = rp_number_load(expected + 4 * i, bytes),
                                             .wide = bytes == 8 && rp_word_in(bad, i + 1)};
    }
}

/** A value that differs by more is not the rounding of a few operations. */
enum { RP_MISMATCH_MAX_ULP = 64 };

static const enum rp_number_type rounded_types[] = {RP_F32, RP_F64};

enum { ROUNDED_TYPES = sizeof rounded_types / sizeof *rounded_types };

/* Small integers look like denormal numbers. */
static bool is_number(enum rp_number_type type, uint64_t bits)
{
    return isfinite(rp_number_value(type, bits)) && !rp_number_is_denormal(type, bits);
}

static void note_number(struct rp_mismatch *off, unsigned i, const uint8_t *got,
                        const uint8_t *expected)
{
    const unsigned width = rp_number_shape(rounded_types[i]).bytes;
    uint64_t a = 0, b = 0, steps;

    memcpy(&a, got, width);
    memcpy(&b, expected, width);
    if (a == b)
        return;
    steps = rp_number_ulp_distance(rounded_types[i], a, b);
    if (steps > RP_MISMATCH_MAX_ULP || !is_number(rounded_types[i], a) ||
        !is_number(rounded_types[i], b))
        off->far[i] = true;
    off->steps[i] = steps > off->steps[i] ? steps : off->steps[i];
}

void rp_mismatch_note(struct rp_mismatch *off, const uint8_t *got, const uint8_t *expected,
                      size_t bytes)
{
    for (size_t at = 0; at < bytes && !(off->far[0] && off->far[1]); at += 8) {
        const bool low = memcmp(got + at, expected + at, 4) != 0;
        const bool high = memcmp(got + at + 4, expected + at + 4, 4) != 0;

        if (!low && !high)
            continue;
        off->words += (unsigned)low + high;
        off->odd = off->odd || high;
        note_number(off, 0, got + at, expected + at);
        note_number(off, 0, got + at + 4, expected + at + 4);
        note_number(off, 1, got + at, expected + at);
    }
}

/* If fp64 values differ by little, only their lower halves differ, which can look like fp32. A
 * single number is taken for fp32.
 */
bool rp_mismatch_is_rounding(const struct rp_mismatch *off, enum rp_number_type *ret_type,
                             uint64_t *ret_steps)
{
    const bool wide = !off->far[1] && (off->far[0] || (!off->odd && off->words > 1));

    if (!off->words || (off->far[0] && off->far[1]))
        return false;
    *ret_type = rounded_types[wide];
    *ret_steps = off->steps[wide];
    return true;
}

static double largest(enum rp_number_type type, const uint8_t *at, size_t bytes, unsigned width)
{
    double most = 0;

    for (size_t i = 0; i + width <= bytes; i += width) {
        const double size = fabs(rp_number_value(type, rp_number_load(at + i, width)));

        if (isfinite(size) && size > most)
            most = size;
    }
    return most;
}

void rp_compare_roughly(enum rp_number_type type, const uint8_t *got, const uint8_t *expected,
                        size_t bytes, uint64_t *ret_bad)
{
    const unsigned width = rp_number_shape(type).bytes;
    const double allowed = largest(type, expected, bytes, width) / 100;

    memset(ret_bad, 0, (bytes + 255) / 256 * sizeof *ret_bad);
    for (size_t i = 0; i + width <= bytes; i += width) {
        const double a = rp_number_value(type, rp_number_load(got + i, width));
        const double b = rp_number_value(type, rp_number_load(expected + i, width));

        if (a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= allowed)
            continue;
        for (size_t word = i / 4; word <= (i + width - 1) / 4; word++)
            ret_bad[word / 64] |= (uint64_t)1 << word % 64;
    }
}

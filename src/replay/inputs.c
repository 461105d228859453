#include "replay/inputs.h"

#include <string.h>

#include "base/err.h"

enum {
    LEAST_NUMBERS = 16, /* that random words all pass for numbers has then a chance of 2^-16 */
    LEAST_VALUES = 3,   /* fewer may be flags */
    EXPONENTS = 64,     /* from 2^-64 to 2^64; as integers these are at least 536870912 */
};

/* --- rules --------------------------------------------------------------------------------- */

static void add_type(struct rp_inputs_rule *rule, enum rp_number_type type)
{
    for (unsigned i = 0; i < rule->type_count; i++)
        if (rule->types[i] == type)
            return;
    rule->types[rule->type_count++] = type;
}

int rp_inputs_parse(const char *text, enum rp_number_type output, struct rp_inputs_rule *ret,
                    struct rp_err *err)
{
    struct rp_inputs_rule rule = {.none = strcmp(text, "none") == 0,
                                  .words = strcmp(text, "i32") == 0};
    struct rp_compare_rule type;

    if (strcmp(text, "auto") == 0) {
        if (output != RP_EXACT)
            add_type(&rule, output);
        add_type(&rule, RP_F32);
        add_type(&rule, RP_F64);
    } else if (!rule.none && !rule.words) {
        if (strchr(text, ',') || rp_compare_rule_parse(text, &type, NULL) < 0 ||
            type.type == RP_EXACT)
            return rp_fail(err, RP_USAGE, "--inputs %s: use auto, none, f32, f16, bf16, f64 or i32",
                           text);
        add_type(&rule, type.type);
        rule.vouched = true;
    }
    *ret = rule;
    return 0;
}

/* --- pages --------------------------------------------------------------------------------- */

static uint64_t load(const uint8_t *at, unsigned bytes)
{
    uint64_t bits = 0;

    memcpy(&bits, at, bytes); /* little endian, as the GPU */
    return bits;
}

static bool has_addresses(const uint8_t *page, size_t bytes, uint64_t low, uint64_t high)
{
    for (size_t at = 0; at + 8 <= bytes; at += 8) {
        const uint64_t value = load(page + at, 8);

        if (value >= low && value < high)
            return true;
    }
    return false;
}

enum what { NO_NUMBER, NEUTRAL, NUMBER };

/* Infinities and the NaN that is computed with are numbers that stay. */
static enum what look(struct rp_number_shape shape, uint64_t bits)
{
    const uint64_t size = bits & (((uint64_t)1 << (shape.bytes * 8 - 1)) - 1);
    const uint64_t infinite = (((uint64_t)1 << shape.exponent_bits) - 1) << shape.fraction_bits;
    const int bias = (1 << (shape.exponent_bits - 1)) - 1;
    const int exponent = (int)(size >> shape.fraction_bits) - bias;

    if (size == 0 || size == infinite || size == (infinite | infinite >> 1))
        return NEUTRAL;
    if (size > infinite || exponent == -bias) /* another NaN, a denormal number */
        return NO_NUMBER;
    return exponent >= -EXPONENTS && exponent <= EXPONENTS ? NUMBER : NO_NUMBER;
}

static bool is_new(uint64_t size, const uint64_t *values, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (values[i] == size)
            return false;
    return true;
}

/* Small integers of 32 bits, as numbers of 16 bits, leave each second one 0. */
static bool all_numbers(const struct rp_inputs_rule *rule, struct rp_number_shape shape,
                        const uint8_t *page, size_t bytes)
{
    uint64_t values[LEAST_VALUES];
    unsigned value_count = 0;
    size_t numbers = 0, second = 0;

    for (size_t at = 0; at + shape.bytes <= bytes; at += shape.bytes) {
        const uint64_t bits = load(page + at, shape.bytes);
        const uint64_t size = bits & (((uint64_t)1 << (shape.bytes * 8 - 1)) - 1);
        const enum what what = look(shape, bits);

        if (what == NO_NUMBER)
            return false;
        if (what == NEUTRAL)
            continue;
        numbers++;
        second += at / shape.bytes % 2;
        if (value_count < LEAST_VALUES && is_new(size, values, value_count))
            values[value_count++] = size;
    }
    if (shape.bytes == 2 && second == 0)
        return false;
    return numbers && (rule->vouched || (numbers >= LEAST_NUMBERS && value_count == LEAST_VALUES));
}

/* splitmix64 */
static uint64_t hash_of(uint64_t seed)
{
    seed += 0x9e3779b97f4a7c15;
    seed = (seed ^ seed >> 30) * 0xbf58476d1ce4e5b9;
    seed = (seed ^ seed >> 27) * 0x94d049bb133111eb;
    return seed ^ seed >> 31;
}

static bool chosen(uint64_t seed)
{
    return hash_of(seed) >> 63;
}

/* Most by a quarter of their power of two. One in eight is doubled or halved: the greatest and the
 * least number are among those often enough for a kernel to be found out that is right for the
 * captured numbers and what lies between only. */
static uint64_t other_number(struct rp_number_shape shape, uint64_t hash, uint64_t bits)
{
    const uint64_t power = (uint64_t)1 << shape.fraction_bits;
    const uint64_t other = hash & 8 ? bits + power : bits - power;

    if ((hash & 7) == 0 && look(shape, other) == NUMBER)
        return other;
    return bits ^ power / 4;
}

static uint64_t change_numbers(struct rp_number_shape shape, uint64_t seed, size_t bytes,
                               uint8_t *page)
{
    uint64_t count = 0;

    for (size_t at = 0; at + shape.bytes <= bytes; at += shape.bytes) {
        uint64_t bits = load(page + at, shape.bytes);

        if (look(shape, bits) != NUMBER || !chosen(seed + at))
            continue;
        bits = other_number(shape, hash_of(seed + at), bits);
        memcpy(page + at, &bits, shape.bytes);
        count++;
    }
    return count;
}

/* Not of all: what copies them would give a result that is changed as what was there is. */
static uint64_t change_words(uint64_t seed, size_t bytes, uint8_t *page)
{
    uint64_t count = 0;

    for (size_t at = 0; at < bytes; at += 4) {
        if (!chosen(seed + at))
            continue;
        page[at] ^= 1;
        count++;
    }
    return count;
}

uint64_t rp_inputs_change(const struct rp_inputs_rule *rule, uint64_t low, uint64_t high,
                          uint64_t seed, size_t bytes, uint8_t *page)
{
    if (rule->none || has_addresses(page, bytes, low, high))
        return 0;
    if (rule->words)
        return change_words(seed, bytes, page);
    for (unsigned i = 0; i < rule->type_count; i++) {
        const struct rp_number_shape shape = rp_number_shape(rule->types[i]);

        if (all_numbers(rule, shape, page, bytes))
            return change_numbers(shape, seed, bytes, page);
    }
    return 0;
}

#include "replay/inputs.h"

#include <string.h>

#include "base/err.h"
#include "replay/addresses.h"

enum {
    LEAST_NUMBERS = 16, /* that random words all pass for numbers has then a chance of 2^-16 */
    EXPONENTS = 64,     /* from 2^-64 to 2^64; as integers these are at least 536870912 */
};

static const struct {
    const char *word, *how, *how_other, *units;
} variations[] = {
#define RP_VARIATION(id, word, how, than, units) {word, how, how than, units},
#include "replay/variations.def"
#undef RP_VARIATION
};

const char *rp_variation_how(enum rp_variation variation)
{
    return variations[variation].how;
}

const char *rp_variation_how_other(enum rp_variation variation)
{
    return variations[variation].how_other;
}

const char *rp_variation_word(enum rp_variation variation)
{
    return variations[variation].word;
}

const char *rp_variation_units(enum rp_variation variation)
{
    return variations[variation].units;
}

bool rp_variation_is_in_memory(enum rp_variation variation)
{
    return variation < RP_VARY_ARGUMENTS;
}

bool rp_variation_is_of_values(enum rp_variation variation)
{
    return variation < RP_VARY_HALF_GRID;
}

bool rp_variation_is_of_zeros(enum rp_variation variation)
{
    return variation == RP_VARY_ZEROS || variation == RP_VARY_ZERO_INTEGERS;
}

bool rp_variation_is_of_arguments(enum rp_variation variation)
{
    return variation >= RP_VARY_ARGUMENTS && variation < RP_VARY_HALF_GRID;
}

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

/* Small integers of 32 bits, as numbers of 16 bits, leave each second one 0. */
static bool all_numbers(const struct rp_inputs_rule *rule, struct rp_number_shape shape,
                        const uint8_t *page, size_t bytes)
{
    size_t numbers = 0, second = 0;

    for (size_t at = 0; at + shape.bytes <= bytes; at += shape.bytes) {
        const uint64_t bits = load(page + at, shape.bytes);
        const enum what what = look(shape, bits);

        if (what == NO_NUMBER)
            return false;
        if (what == NEUTRAL)
            continue;
        numbers++;
        second += at / shape.bytes % 2;
    }
    if (shape.bytes == 2 && second == 0)
        return false;
    return numbers && (rule->vouched || numbers >= LEAST_NUMBERS);
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

/* What a kernel may have been made for not to come: half of them of the other sign, others 0, a
 * thousand times larger or smaller. */
static uint64_t odd_number(struct rp_number_shape shape, uint64_t hash, uint64_t bits)
{
    const uint64_t thousand = (uint64_t)(shape.exponent_bits < 8 ? 2 : 10) << shape.fraction_bits;
    const uint64_t sign = (uint64_t)1 << (shape.bytes * 8 - 1);
    const uint64_t other = hash & 16 ? bits + thousand : bits - thousand;

    if ((hash & 15) == 0)
        return 0;
    if ((hash & 15) == 1 && look(shape, other) == NUMBER && ((other ^ bits) & sign) == 0)
        return other;
    return bits ^ sign;
}

/* A maximum that begins at 0 is right unless all that it is taken of is negative: in each fourth
 * page it is. */
static bool is_negative_page(uint64_t seed)
{
    return hash_of(~seed) % 4 == 0;
}

static uint64_t change_numbers(const struct rp_inputs_rule *rule, struct rp_number_shape shape,
                               uint64_t seed, size_t bytes, uint8_t *page)
{
    const bool negative = rule->signs && is_negative_page(seed);
    const uint64_t sign = (uint64_t)1 << (shape.bytes * 8 - 1);
    uint64_t count = 0;

    for (size_t at = 0; at + shape.bytes <= bytes; at += shape.bytes) {
        uint64_t bits = load(page + at, shape.bytes);

        if (look(shape, bits) != NUMBER || (negative ? bits & sign : !chosen(seed + at)))
            continue;
        bits = negative      ? bits | sign
               : rule->signs ? odd_number(shape, hash_of(seed + at), bits)
                             : other_number(shape, hash_of(seed + at), bits);
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

uint64_t rp_inputs_change(const struct rp_inputs_rule *rule, const struct rp_addresses *addresses,
                          uint64_t seed, size_t bytes, uint8_t *page)
{
    if (rule->none || rp_addresses_are_in(addresses, page, bytes))
        return 0;
    if (rule->words)
        return change_words(seed, bytes, page);
    for (unsigned i = 0; i < rule->type_count; i++) {
        const struct rp_number_shape shape = rp_number_shape(rule->types[i]);

        if (all_numbers(rule, shape, page, bytes))
            return change_numbers(rule, shape, seed, bytes, page);
    }
    return 0;
}

/* --- zeros --------------------------------------------------------------------------------- */

static bool is_zero(const uint8_t *page, size_t bytes)
{
    for (size_t at = 0; at < bytes; at++)
        if (page[at])
            return false;
    return true;
}

/* 0.5 to 1.75 */
static uint64_t plain_number(struct rp_number_shape shape, uint64_t hash)
{
    const uint64_t bias = ((uint64_t)1 << (shape.exponent_bits - 1)) - 1;

    return (bias - (hash & 1)) << shape.fraction_bits | (hash >> 1 & 3)
                                                            << (shape.fraction_bits - 2);
}

static bool is_kept(const uint64_t *keep, size_t at, unsigned bytes)
{
    const size_t first = at / 4, last = (at + bytes - 1) / 4;

    return (keep[first / 64] >> first % 64 & 1) || (keep[last / 64] >> last % 64 & 1);
}

static uint64_t fill_numbers(struct rp_number_shape shape, uint64_t seed, const uint64_t *keep,
                             size_t bytes, uint8_t *page)
{
    uint64_t count = 0;

    for (size_t at = 0; at + shape.bytes <= bytes; at += shape.bytes) {
        uint64_t bits = load(page + at, shape.bytes);

        if (bits || !chosen(seed + at) || is_kept(keep, at, shape.bytes))
            continue;
        bits = plain_number(shape, hash_of(seed + at));
        memcpy(page + at, &bits, shape.bytes);
        count++;
    }
    return count;
}

/* Only lower halves of 8 bytes: integers of that size become small ones, too. */
static uint64_t fill_integers(uint64_t seed, const uint64_t *keep, size_t bytes, uint8_t *page)
{
    uint64_t count = 0;

    for (size_t at = 0; at + 4 <= bytes; at += 8) {
        if (load(page + at, 4) || !chosen(seed + at) || is_kept(keep, at, 4))
            continue;
        page[at] = (uint8_t)(1 + hash_of(seed + at) % 3);
        count++;
    }
    return count;
}

static const enum rp_number_type *numbers_of(const struct rp_inputs_rule *rule, const uint8_t *page,
                                             size_t bytes)
{
    for (unsigned i = 0; i < rule->type_count; i++)
        if (all_numbers(rule, rp_number_shape(rule->types[i]), page, bytes))
            return &rule->types[i];
    return NULL;
}

bool rp_inputs_are_numbers(const struct rp_inputs_rule *rule, const uint8_t *page, size_t bytes)
{
    return numbers_of(rule, page, bytes) != NULL;
}

uint64_t rp_inputs_fill(const struct rp_inputs_rule *rule, bool integers,
                        const struct rp_addresses *addresses, uint64_t seed, const uint64_t *keep,
                        size_t bytes, uint8_t *page)
{
    const enum rp_number_type *type = numbers_of(rule, page, bytes);
    const bool zeros = is_zero(page, bytes);

    if (rule->none || rp_addresses_are_in(addresses, page, bytes))
        return 0;
    if (integers)
        return type ? 0 : fill_integers(seed, keep, bytes, page);
    if (!type && zeros && rule->type_count)
        type = &rule->types[0];
    return type ? fill_numbers(rp_number_shape(*type), seed, keep, bytes, page) : 0;
}

/* --- large and negative integers ------------------------------------------------------------ */

enum { MOST_SMALL = 1 << 24 };

/* As indices are, too: the captured kernel shows whether it stands others. @return whether all are
 */
static bool all_small(const uint8_t *page, size_t bytes, bool *ret_wide)
{
    *ret_wide = true;
    for (size_t at = 0; at + 4 <= bytes; at += 4) {
        const int64_t value = (int32_t)(uint32_t)load(page + at, 4);

        if (value > MOST_SMALL || value < -MOST_SMALL)
            return false;
        if (at % 8 == 4 && value != (load(page + at - 4, 4) >> 31 ? -1 : 0))
            *ret_wide = false;
    }
    return true;
}

uint64_t rp_inputs_enlarge(const struct rp_addresses *addresses, uint64_t seed, size_t bytes,
                           uint8_t *page)
{
    bool wide;
    uint64_t count = 0;

    if (!all_small(page, bytes, &wide) || rp_addresses_are_in(addresses, page, bytes))
        return 0;
    for (size_t at = 0; at + 8 <= bytes; at += wide ? 8 : 4) {
        const uint32_t value = (uint32_t)load(page + at, 4);

        if (value == 0 || value > MOST_SMALL || !chosen(seed + at))
            continue;
        page[at + (wide ? 4 : 3)] |= wide ? 3 : 0x60;
        count++;
    }
    return count;
}

uint64_t rp_inputs_negate(const struct rp_addresses *addresses, uint64_t seed, size_t bytes,
                          uint8_t *page)
{
    bool wide;
    uint64_t count = 0;

    if (!all_small(page, bytes, &wide) || rp_addresses_are_in(addresses, page, bytes))
        return 0;
    for (size_t at = 0; at + 8 <= bytes; at += wide ? 8 : 4) {
        const uint64_t value = -load(page + at, wide ? 8 : 4);

        if (value == 0 || !chosen(seed + at))
            continue;
        memcpy(page + at, &value, wide ? 8 : 4);
        count++;
    }
    return count;
}

/* --- bytes, and numbers among other values -------------------------------------------------- */

uint64_t rp_inputs_change_bytes(const struct rp_inputs_rule *rule,
                                const struct rp_addresses *addresses, uint64_t seed, size_t bytes,
                                uint8_t *page)
{
    uint64_t count = 0;

    if (rp_inputs_are_numbers(rule, page, bytes) || rp_addresses_are_in(addresses, page, bytes))
        return 0;
    for (size_t at = 0; at + 4 <= bytes; at += 4) {
        const int64_t value = (int32_t)(uint32_t)load(page + at, 4);

        for (size_t i = at; i < at + 4 && (value > MOST_SMALL || value < -MOST_SMALL); i++) {
            if (!chosen(seed + i) || page[i] == 0) /* -0 is NaN as a number of 8 bits */
                continue;
            page[i] ^= 0x80;
            count++;
        }
    }
    return count;
}

static bool is_surely_number(uint64_t bits)
{
    enum { MOST = 40, BIAS = 127 };
    const int exponent = (int)(bits >> 23 & 0xff) - BIAS;

    return exponent >= -MOST && exponent <= MOST;
}

uint64_t rp_inputs_change_some(const struct rp_inputs_rule *rule,
                               const struct rp_addresses *addresses, uint64_t seed, size_t bytes,
                               uint8_t *page)
{
    const struct rp_number_shape shape = rp_number_shape(RP_F32);
    uint64_t numbers = 0, count = 0;

    for (size_t at = 0; at + 4 <= bytes; at += 4)
        numbers += is_surely_number(load(page + at, 4));
    if (numbers < LEAST_NUMBERS || rp_inputs_are_numbers(rule, page, bytes) ||
        rp_addresses_are_in(addresses, page, bytes))
        return 0;
    for (size_t at = 0; at + 4 <= bytes; at += 4) {
        uint64_t bits = load(page + at, 4);

        if (!is_surely_number(bits) || !chosen(seed + at))
            continue;
        bits = rule->signs ? odd_number(shape, hash_of(seed + at), bits)
                           : other_number(shape, hash_of(seed + at), bits);
        memcpy(page + at, &bits, 4);
        count++;
    }
    return count;
}

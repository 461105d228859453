#include "replay/page_changes.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/stats.h"
#include "replay/output_rules.h"
#include "replay/replay.h"

/* Where two ranges meet, either is right. */
static int by_range(const void *key, const void *element)
{
    const uint64_t value = *(const uint64_t *)key;
    const struct rp_replay_range *range = element;

    return value < range->base ? -1 : value - range->base > range->bytes;
}

/* Most values are far from all ranges, which is known without a search. */
struct span {
    uint64_t base, bytes;
};

static struct span span_of(const struct rp_addresses *a)
{
    const struct rp_replay_range *last = &a->ranges[a->count - 1];

    return (struct span){a->ranges[0].base, last->base + last->bytes - a->ranges[0].base};
}

static bool is_in_range(const struct rp_addresses *a, uint64_t value)
{
    return bsearch(&value, a->ranges, a->count, sizeof *a->ranges, by_range) != NULL;
}

bool rp_addresses_have(const struct rp_addresses *a, uint64_t value)
{
    const struct span span = a->count ? span_of(a) : (struct span){0};

    return a->count && value - span.base <= span.bytes && is_in_range(a, value);
}

/** Tests whether any value of 8 bytes in the page is one of these addresses. */
static bool addresses_are_in(const struct rp_addresses *a, const uint8_t *page, size_t bytes)
{
    const struct span span = a->count ? span_of(a) : (struct span){0};

    for (size_t at = 0; a->count && at + 8 <= bytes; at += 8) {
        uint64_t value;

        memcpy(&value, page + at, sizeof value);
        if (value - span.base <= span.bytes && is_in_range(a, value))
            return true;
    }
    return false;
}

/* No poison is an address or a likely index. The first is a NaN as fp16, bf16, fp32 and fp64; the
 * others are far from 0 in each of these types.
 */
static const uint8_t poisons[RP_POISON_KINDS][4] = {
    [RP_POISON_NAN] = {0xfd, 0xff, 0xfd, 0xff},
    [RP_POISON_HIGH] = {0x7b, 0x7b, 0x7b, 0x7b},
    [RP_POISON_LOW] = {0xfb, 0xfb, 0xfb, 0xfb},
};

enum { LINE_BYTES = 64 };

static const struct way {
    unsigned of_8; /* Bits are flipped in words of 4 bytes. */
    uint32_t seed;
} ways[RP_FLIPS] = {
    [RP_FLIP_EACH] = {.of_8 = 8, .seed = 0x243f6a88},
    [RP_FLIP_HALF] = {.of_8 = 4, .seed = 0x85a308d3},
    [RP_FLIP_FEW] = {.of_8 = 1, .seed = 0x13198a2e},
    [RP_FLIP_NUMBERS] = {.of_8 = 4, .seed = 0x03707344},
    [RP_FLIP_ORDER] = {.seed = 0xa4093822},
    [RP_FLIP_BYTES] = {.seed = 0x299f31d0},
};

static int by_place(const void *a, const void *b)
{
    const struct rp_page_key *x = a, *y = b;

    if (x->region != y->region)
        return x->region < y->region ? -1 : 1;
    return (x->page > y->page) - (x->page < y->page);
}

void *rp_page_find(const void *pages, size_t count, size_t size, struct rp_page_key key)
{
    return count ? bsearch(&key, pages, count, size, by_place) : NULL;
}

void rp_page_sort(void *pages, size_t count, size_t size)
{
    if (count)
        qsort(pages, count, size, by_place);
}

void rp_write_set_add(struct rp_write_set *set, const struct rp_write_page *page)
{
    struct rp_write_page *known = rp_write_set_find(set, page->key.region, page->key.page);

    for (size_t i = 0; known && i < RP_PAGE_MASKS; i++)
        known->written[i] |= page->written[i];
    if (!known)
        rp_vec_push(set, *page);
}

static uint64_t word_pair(const uint8_t *page, size_t at, size_t bytes)
{
    uint64_t value = 0;

    memcpy(&value, page + at, bytes - at < 8 ? bytes - at : 8);
    return value;
}

/* The null pointer counts as an address too, but only in a page that has other addresses. */
static bool may_be_address(const struct rp_addresses *addresses, uint64_t pair)
{
    return pair == 0 || rp_addresses_have(addresses, pair);
}

/* Small integers of either sign would be denormal numbers and NaNs as fp32, so they are no fp32
 * numbers.
 */
static bool is_small_integer(uint32_t word)
{
    const uint32_t exponent = word >> 23 & 0xff;

    return exponent == 0 || exponent == 0xff;
}

/* Returns the bits of a number as fp16, bf16, fp32 and fp64. */
static uint32_t number_bits(uint32_t word, uint32_t one_of_3)
{
    return is_small_integer(word) ? 0 : 0x00100010u << one_of_3;
}

/* Chooses the bits of a word to flip. @param lot of its place: 8 bits */
static uint32_t bits_of(enum rp_flip way, uint32_t lot, uint32_t word)
{
    const uint32_t one_of_3 = (lot >> 3) * 3 / 32;

    if ((lot & 7) >= ways[way].of_8)
        return 0;
    return way == RP_FLIP_NUMBERS ? number_bits(word, one_of_3) : 1 + one_of_3;
}

/* Draws random bits for 8 words in a row. */
static uint64_t lots_of(uint64_t place, uint32_t seed)
{
    return rp_mix64(place ^ (uint64_t)seed << 32);
}

static void flip_word(enum rp_flip way, uint64_t lots, uint8_t *at, size_t bytes)
{
    uint32_t word = 0;

    memcpy(&word, at, bytes);
    word ^= bits_of(way, lots & 0xff, word);
    memcpy(at, &word, bytes);
}

/* Flips 8 words at once as bits_of() says, because all memory is changed like this. */
static void flip_each(uint64_t lots, uint8_t *at)
{
    uint32_t words[8];

    memcpy(words, at, sizeof words);
    for (unsigned i = 0; i < 8; i++)
        words[i] ^= 1 + ((uint32_t)(lots >> (8 * i + 3)) & 31) * 3 / 32;
    memcpy(at, words, sizeof words);
}

/* Flips words of 32 bytes, or of the rest of a page. */
static void flip_words(enum rp_flip way, uint64_t lots, uint8_t *at, size_t bytes)
{
    if (way == RP_FLIP_EACH && bytes == 32) {
        flip_each(lots, at);
        return;
    }
    for (; bytes >= 4; at += 4, bytes -= 4, lots >>= 8)
        flip_word(way, lots, at, 4);
    if (bytes)
        flip_word(way, lots, at, bytes);
}

/* Lines of a page begin with another one. */
static void rotate(uint64_t lot, uint8_t *page, size_t bytes)
{
    const size_t lines = bytes / LINE_BYTES;
    uint8_t old[RP_PAGE_BYTES];
    size_t first;

    if (lines < 2)
        return;
    first = (1 + lot % (lines - 1)) * LINE_BYTES;
    memcpy(old, page, lines * LINE_BYTES);
    memcpy(page, old + first, lines * LINE_BYTES - first);
    memcpy(page + lines * LINE_BYTES - first, old, first);
}

/* @param addresses  NULL: there are none in the page
 *
 * Numbers of 8 bytes stay whole, and structures of 16 to 64 bytes where no halves change places.
 * What was sorted, and a copy of other memory, is so no longer. Among addresses (or what is one by
 * chance) fewer move. */
static void change_order(const struct rp_addresses *addresses, uint64_t place, uint8_t *page,
                         size_t bytes)
{
    const uint32_t seed = ways[RP_FLIP_ORDER].seed;

    for (size_t at = 0; at + 16 <= bytes; at += 16) {
        const uint64_t pair[2] = {word_pair(page, at, bytes), word_pair(page, at + 8, bytes)};
        const bool stays =
            addresses && (may_be_address(addresses, pair[0]) || may_be_address(addresses, pair[1]));

        if (stays || !(lots_of((place + at) / 4, seed) >> 63))
            continue;
        memcpy(page + at, &pair[1], 8);
        memcpy(page + at + 8, &pair[0], 8);
    }
    if (!addresses)
        rotate(lots_of(place / 4 + 1, seed), page, bytes);
}

static bool has_small_integers_only(const uint8_t *page, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += 4) {
        uint32_t word = 0;

        memcpy(&word, page + at, bytes - at < 4 ? bytes - at : 4);
        if (!is_small_integer(word))
            return false;
    }
    return true;
}

static void flip_bytes(uint64_t place, uint8_t *page, size_t bytes)
{
    /* A page of small integers may hold indices, which would lead anywhere once they are flipped.
     */
    if (has_small_integers_only(page, bytes))
        return;
    for (size_t at = 0; at < bytes; at++) {
        const uint64_t lots = lots_of((place + at) / 4, ways[RP_FLIP_BYTES].seed);

        page[at] ^= (uint8_t)(1u << (lots >> 3 * (at % 4) & 7));
    }
}

static void flip_bits(enum rp_flip way, const struct rp_addresses *addresses, uint64_t place,
                      uint8_t *page, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += 32) {
        const size_t here = bytes - at < 32 ? bytes - at : 32;
        const uint64_t lots = lots_of((place + at) / 4, ways[way].seed);

        if (!addresses) {
            flip_words(way, lots, page + at, here);
            continue;
        }
        for (size_t i = 0; i < here; i += 8) {
            const uint64_t pair = word_pair(page, at + i, bytes);

            if (!may_be_address(addresses, pair))
                flip_words(way, lots >> 8 * (i / 4), page + at + i, here - i < 8 ? here - i : 8);
        }
    }
}

void rp_write_set_flip(enum rp_flip way, uint64_t place, uint8_t *page, size_t bytes,
                       const struct rp_addresses *addresses)
{
    if (!addresses_are_in(addresses, page, bytes))
        addresses = NULL;
    if (way == RP_FLIP_ORDER)
        change_order(addresses, place, page, bytes);
    else if (way != RP_FLIP_BYTES)
        flip_bits(way, addresses, place, page, bytes);
    else if (!addresses)
        flip_bytes(place, page, bytes);
}

/* Writes a value that looks like a result: that of one of the next words, or the word's own with
 * another bit of its upper half changed.
 */
static void like_results(const struct rp_compare_rule *rule, const uint8_t *after, size_t bytes,
                         uint8_t *ret)
{
    enum { FURTHER = 5 };
    const size_t words = bytes / 4;
    uint64_t wrong[RP_PAGE_MASKS] = {0};

    for (size_t i = 0; i < words; i++)
        memcpy(ret + 4 * i, after + 4 * ((i + FURTHER) % words), 4);
    rp_compare_words(rule, ret, after, 4 * words, wrong);
    for (size_t i = 0; i < words; i++) {
        if (rp_word_in(wrong, i))
            continue;
        memcpy(ret + 4 * i, after + 4 * i, 4);
        ret[4 * i + 2] ^= 0x20;
    }
}

bool rp_word_is_poison(const uint8_t word[4])
{
    for (unsigned kind = 0; kind < RP_POISON_LIKE; kind++)
        if (memcmp(word, poisons[kind], 4) == 0)
            return true;
    return false;
}

void rp_write_set_poison(const struct rp_compare_rule *rule, enum rp_poison kind,
                         const uint64_t *mask, const uint8_t *after, size_t bytes, uint8_t *page)
{
    const uint8_t *const other = poisons[kind == RP_POISON_HIGH ? RP_POISON_LOW : RP_POISON_HIGH];
    uint64_t wrong[RP_PAGE_MASKS];
    uint8_t poison[RP_PAGE_BYTES];

    if (kind == RP_POISON_NONE)
        return;
    for (size_t at = 0; at < RP_PAGE_BYTES && kind != RP_POISON_LIKE; at += 4)
        memcpy(poison + at, poisons[kind], 4);
    if (kind == RP_POISON_LIKE)
        like_results(rule, after, bytes, poison);
    rp_compare_words(rule, poison, after, bytes / 4 * 4, wrong);
    for (size_t at = 0; at + 4 <= bytes; at += 4)
        if (rp_word_in(mask, at / 4))
            memcpy(page + at, rp_word_in(wrong, at / 4) ? poison + at : other, 4);
}

enum {
    /* With this many, the chance that random words all look like numbers is 2^-16. */
    LEAST_NUMBERS = 16,
    /* Numbers from 2^-64 to 2^64 are at least 536870912 as integers, so they are no indices. */
    EXPONENTS = 64,
};

#define RP_VARIATION(id, word, what, how, than, units, same, nothing)                              \
    [RP_VARY_##id] = {word, RP_VARIES_##what, how, how than, units, same, nothing},
const struct rp_variation_kind rp_variations[RP_VARIATIONS] = {
#include "replay/variations.def"
};
#undef RP_VARIATION

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

    rule.finite = strcmp(text, "finite") == 0;
    if (rule.finite || strcmp(text, "auto") == 0) {
        if (output != RP_EXACT)
            add_type(&rule, output);
        add_type(&rule, RP_F32);
        add_type(&rule, RP_F64);
    } else if (!rule.none && !rule.words) {
        if (strchr(text, ',') || rp_compare_rule_parse(text, &type, NULL) < 0 ||
            type.type == RP_EXACT)
            return rp_fail(err, RP_USAGE,
                           "--inputs %s: use auto, finite, none, f32, f16, bf16, f64 or i32", text);
        add_type(&rule, type.type);
        rule.vouched = true;
    }
    *ret = rule;
    return 0;
}

/* --- pages --------------------------------------------------------------------------------- */

enum what { NO_NUMBER, NEUTRAL, NUMBER };

/* Infinities and the NaN that arithmetic produces are numbers that must stay. */
static enum what look(struct rp_number_shape shape, uint64_t bits)
{
    const uint64_t size = bits & (((uint64_t)1 << (shape.bytes * 8 - 1)) - 1);
    const uint64_t infinite = (((uint64_t)1 << shape.exponent_bits) - 1) << shape.fraction_bits;
    const int bias = (1 << (shape.exponent_bits - 1)) - 1;
    const int exponent = (int)(size >> shape.fraction_bits) - bias;

    if (size == 0 || size == infinite || size == (infinite | infinite >> 1))
        return NEUTRAL;
    if (shape.bytes == 2 && exponent == -bias) /* Their type is named, and not found by this. */
        return NEUTRAL;
    if (size > infinite || exponent == -bias) /* This is another NaN or a denormal number. */
        return NO_NUMBER;
    return exponent >= -EXPONENTS && exponent <= EXPONENTS ? NUMBER : NO_NUMBER;
}

/* Small integers of 32 bits, as numbers of 16 bits, leave each second one 0. */
static bool all_numbers(const struct rp_inputs_rule *rule, struct rp_number_shape shape,
                        const uint8_t *page, size_t bytes)
{
    enum { OTHER_IN = 16 };
    size_t numbers = 0, second = 0, others = 0;
    uint64_t other = 0;

    for (size_t at = 0; at + shape.bytes <= bytes; at += shape.bytes) {
        const uint64_t bits = rp_number_load(page + at, shape.bytes);
        const enum what what = look(shape, bits);

        if (what == NO_NUMBER && !rule->mostly)
            return false;
        if (what == NO_NUMBER) {
            others += bits != other; /* A mask is one value. */
            other = bits;
        }
        if (what != NUMBER)
            continue;
        numbers++;
        second += at / shape.bytes % 2;
    }
    if ((shape.bytes == 2 && second == 0) || others * OTHER_IN > numbers)
        return false;
    return numbers && (rule->vouched || numbers >= LEAST_NUMBERS);
}

static bool chosen(uint64_t seed)
{
    return rp_mix64(seed) >> 63;
}

/* Changes most numbers by a quarter of their power of two, and doubles or halves one in eight. The
 * largest and smallest numbers are among those often enough to expose a kernel that is right only
 * for the captured numbers and the range between them.
 */
static uint64_t other_number(struct rp_number_shape shape, uint64_t hash, uint64_t bits)
{
    const uint64_t power = (uint64_t)1 << shape.fraction_bits;
    const uint64_t other = hash & 8 ? bits + power : bits - power;

    if ((hash & 7) == 0 && look(shape, other) == NUMBER)
        return other;
    return bits ^ power / 4;
}

/* Returns a value that a kernel may not expect: half of the values get the other sign, others
 * become 0, or a thousand times larger or smaller; all but 0 get digits that a narrower type, or a
 * whole number, does not have.
 */
static uint64_t odd_number(struct rp_number_shape shape, uint64_t hash, uint64_t bits)
{
    const uint64_t thousand = (uint64_t)(shape.exponent_bits < 8 ? 2 : 10) << shape.fraction_bits;
    const uint64_t sign = (uint64_t)1 << (shape.bytes * 8 - 1);
    const uint64_t other = hash & 16 ? bits + thousand : bits - thousand;
    const uint64_t digits = hash >> 8 & (((uint64_t)1 << shape.fraction_bits) - 1);

    if ((hash & 15) == 0)
        return 0;
    if ((hash & 15) == 1 && look(shape, other) == NUMBER && ((other ^ bits) & sign) == 0)
        return other ^ digits;
    return bits ^ sign ^ digits;
}

/* A maximum that begins at 0 is right unless all its inputs are negative, so they are in every
 * fourth page.
 */
static bool is_negative_page(uint64_t seed)
{
    return rp_mix64(~seed) % 4 == 0;
}

static uint64_t change_numbers(const struct rp_inputs_rule *rule, struct rp_number_shape shape,
                               uint64_t seed, size_t bytes, uint8_t *page)
{
    const bool negative = rule->signs && is_negative_page(seed);
    const uint64_t sign = (uint64_t)1 << (shape.bytes * 8 - 1);
    uint64_t count = 0;

    for (size_t at = 0; at + shape.bytes <= bytes; at += shape.bytes) {
        uint64_t bits = rp_number_load(page + at, shape.bytes);

        if (look(shape, bits) != NUMBER || (negative ? bits & sign : !chosen(seed + at)))
            continue;
        bits = negative      ? bits | sign
               : rule->signs ? odd_number(shape, rp_mix64(seed + at), bits)
                             : other_number(shape, rp_mix64(seed + at), bits);
        memcpy(page + at, &bits, shape.bytes);
        count++;
    }
    return count;
}

/* Changes some of the words only. If all were changed, a kernel that copies them would give a
 * result that is changed in the same way as the old contents.
 */
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

static uint64_t change_all(const struct rp_inputs_rule *rule, const struct rp_addresses *addresses,
                           uint64_t seed, size_t bytes, uint8_t *page)
{
    if (rule->none || addresses_are_in(addresses, page, bytes))
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

/* Returns a number from 0.5 to 1.75, which no arithmetic overflows. */
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
        uint64_t bits = rp_number_load(page + at, shape.bytes);

        if (bits || !chosen(seed + at) || is_kept(keep, at, shape.bytes))
            continue;
        bits = plain_number(shape, rp_mix64(seed + at));
        memcpy(page + at, &bits, shape.bytes);
        count++;
    }
    return count;
}

/* Fills only lower halves of 8 bytes, so that integers of that size become small as well. */
static uint64_t fill_integers(uint64_t seed, const uint64_t *keep, size_t bytes, uint8_t *page)
{
    uint64_t count = 0;

    for (size_t at = 0; at + 4 <= bytes; at += 8) {
        if (rp_number_load(page + at, 4) || !chosen(seed + at) || is_kept(keep, at, 4))
            continue;
        page[at] = (uint8_t)(1 + rp_mix64(seed + at) % 3);
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

enum rp_number_type rp_inputs_type(const struct rp_inputs_rule *rule,
                                   const struct rp_addresses *addresses, const uint8_t *page,
                                   size_t bytes)
{
    const enum rp_number_type *type = numbers_of(rule, page, bytes);

    return type && !addresses_are_in(addresses, page, bytes) ? *type : RP_EXACT;
}

uint64_t rp_inputs_fill(const struct rp_inputs_rule *rule, bool integers,
                        const struct rp_addresses *addresses, uint64_t seed, const uint64_t *keep,
                        size_t bytes, uint8_t *page)
{
    const enum rp_number_type *type = numbers_of(rule, page, bytes);
    const bool zeros = is_zero(page, bytes);

    if (rule->none || addresses_are_in(addresses, page, bytes))
        return 0;
    if (integers)
        return type ? 0 : fill_integers(seed, keep, bytes, page);
    if (!type && zeros && rule->type_count)
        type = &rule->types[0];
    return type ? fill_numbers(rp_number_shape(*type), seed, keep, bytes, page) : 0;
}

/* --- large and negative integers ------------------------------------------------------------ */

enum { MOST_SMALL = 1 << 24 };

/* Tests whether all values are small, as indices are. The captured kernel shows whether it accepts
 * other values. @return whether all are
 */
static bool all_small(const uint8_t *page, size_t bytes, bool *ret_wide)
{
    *ret_wide = true;
    for (size_t at = 0; at + 4 <= bytes; at += 4) {
        const int64_t value = (int32_t)(uint32_t)rp_number_load(page + at, 4);

        if (value > MOST_SMALL || value < -MOST_SMALL)
            return false;
        if (at % 8 == 4 && value != (rp_number_load(page + at - 4, 4) >> 31 ? -1 : 0))
            *ret_wide = false;
    }
    return true;
}

/* Enlarges about half of the small positive integers of a page that otherwise has only zeros and
 * small negative integers. It adds 1610612736, so that the sum of two needs more than 31 bits and
 * that of three more than 32. If they may have 8 bytes, it adds 3 * 2^32 more.
 */
static uint64_t enlarge(const struct rp_addresses *addresses, uint64_t seed, size_t bytes,
                        uint8_t *page)
{
    bool wide;
    uint64_t count = 0;

    if (!all_small(page, bytes, &wide) || addresses_are_in(addresses, page, bytes))
        return 0;
    for (size_t at = 0; at + 8 <= bytes; at += wide ? 8 : 4) {
        const uint32_t value = (uint32_t)rp_number_load(page + at, 4);

        if (value == 0 || value > MOST_SMALL || !chosen(seed + at))
            continue;
        page[at + (wide ? 4 : 3)] |= wide ? 3 : 0x60;
        count++;
    }
    return count;
}

/* About half of the whole numbers that are not zero, of a page that has small ones only, get the
 * other sign: of 4 bytes, or of 8 if all may be. */
static uint64_t negate(const struct rp_addresses *addresses, uint64_t seed, size_t bytes,
                       uint8_t *page)
{
    bool wide;
    uint64_t count = 0;

    if (!all_small(page, bytes, &wide) || addresses_are_in(addresses, page, bytes))
        return 0;
    for (size_t at = 0; at + 8 <= bytes; at += wide ? 8 : 4) {
        const uint64_t value = -rp_number_load(page + at, wide ? 8 : 4);

        if (value == 0 || !chosen(seed + at))
            continue;
        memcpy(page + at, &value, wide ? 8 : 4);
        count++;
    }
    return count;
}

/* --- bytes, and numbers among other values -------------------------------------------------- */

/* Flips the high bit of about half of the nonzero bytes of a page that does not hold numbers.
 * Small whole numbers of 4 bytes stay because they may be indices; negate and enlarge change them
 * where there is nothing else. Numbers of 16 bits change their sign by this.
 */
static uint64_t change_bytes(const struct rp_inputs_rule *rule,
                             const struct rp_addresses *addresses, uint64_t seed, size_t bytes,
                             uint8_t *page)
{
    uint64_t count = 0;

    if (rp_inputs_are_numbers(rule, page, bytes) || addresses_are_in(addresses, page, bytes))
        return 0;
    for (size_t at = 0; at + 4 <= bytes; at += 4) {
        const int64_t value = (int32_t)(uint32_t)rp_number_load(page + at, 4);

        for (size_t i = at; i < at + 4 && (value > MOST_SMALL || value < -MOST_SMALL); i++) {
            /* A zero byte stays because -0 is NaN as a number of 8 bits. */
            if (!chosen(seed + i) || page[i] == 0)
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

/* Changes about half of the words that are taken for f32 numbers (from 2^-40 to 2^40, which as
 * integers are above 730000000) of a page that has other values as well, as structures have.
 */
static uint64_t change_some(const struct rp_inputs_rule *rule, const struct rp_addresses *addresses,
                            uint64_t seed, size_t bytes, uint8_t *page)
{
    const struct rp_number_shape shape = rp_number_shape(RP_F32);
    uint64_t numbers = 0, count = 0;

    for (size_t at = 0; at + 4 <= bytes; at += 4)
        numbers += is_surely_number(rp_number_load(page + at, 4));
    if (numbers < LEAST_NUMBERS || rp_inputs_are_numbers(rule, page, bytes) ||
        addresses_are_in(addresses, page, bytes))
        return 0;
    for (size_t at = 0; at + 4 <= bytes; at += 4) {
        uint64_t bits = rp_number_load(page + at, 4);

        if (!is_surely_number(bits) || !chosen(seed + at))
            continue;
        bits = rule->signs ? odd_number(shape, rp_mix64(seed + at), bits)
                           : other_number(shape, rp_mix64(seed + at), bits);
        memcpy(page + at, &bits, 4);
        count++;
    }
    return count;
}

/* --- rare values --------------------------------------------------------------------------- */

/* This is a type of numbers, or of small whole ones, of a page. */
struct kind {
    const enum rp_number_type *number; /**< NULL: they are no numbers */
    bool small;                        /**< whole numbers */
    unsigned bytes;                    /**< of each */
};

static struct kind kind_of(const struct rp_inputs_rule *rule, const uint8_t *page, size_t bytes)
{
    struct kind kind = {.number = numbers_of(rule, page, bytes), .bytes = 4};
    bool wide = false;

    kind.small = !kind.number && all_small(page, bytes, &wide);
    if (kind.number)
        kind.bytes = rp_number_shape(*kind.number).bytes;
    else if (kind.small && wide)
        kind.bytes = 8;
    return kind;
}

/* A maximum of what is negative everywhere, and not by the page, is found by this only. A number
 * that is 0 would be the largest of all: it becomes the one before it. Of four pieces of 8 KiB one
 * has numbers of which the exponential is 0 (-128 to -256, of 64 bits -1024 to -2048), and one has
 * numbers so small that what is added to a sum of their squares, to keep it from 0, is the larger
 * part. */
static uint64_t all_negative(struct kind kind, uint64_t seed, size_t bytes, uint8_t *page)
{
    enum {
        PIECE = 8192,
        PIECES = 4,
        FAR_PIECE = 1,
        SMALL_PIECE = 3,
        FAR = 7,
        FAR_F64 = 10,
        LESS = 14
    };
    const uint64_t sign = (uint64_t)1 << (kind.bytes * 8 - 1);
    const struct rp_number_shape shape = rp_number_shape(kind.number ? *kind.number : RP_F32);
    const uint64_t one = (uint64_t)1 << shape.fraction_bits;
    const uint64_t bias = ((uint64_t)1 << (shape.exponent_bits - 1)) - 1;
    const uint64_t far = bias + (shape.bytes == 8 ? FAR_F64 : FAR);
    const uint64_t piece = kind.number ? seed / PIECE % PIECES : 0;
    uint64_t count = 0, last = 0;

    for (size_t at = 0; (kind.number || kind.small) && at + kind.bytes <= bytes; at += kind.bytes) {
        const uint64_t was = rp_number_load(page + at, kind.bytes);
        uint64_t bits = was && !(was & sign) ? (kind.number ? was | sign : -was) : was;

        if (bits == 0 && kind.number)
            bits = last;
        last = bits;
        if (piece == FAR_PIECE)
            bits = sign | far * one | bits % one;
        if (piece == SMALL_PIECE && bits % sign / one > LESS && bits % sign / one < 2 * bias + 1)
            bits -= LESS * one;
        memcpy(page + at, &bits, kind.bytes);
        count += bits != was;
    }
    return count;
}

/* Each value becomes one of three, so that many are equal: numbers in each page the same ones, and
 * others (which may be indices) those of the page. */
static uint64_t few_values(struct kind kind, uint64_t seed, size_t bytes, uint8_t *page)
{
    enum { DIFFERENT = 3 };
    const size_t count = bytes / kind.bytes;
    uint64_t of[DIFFERENT], changed = 0;

    for (unsigned i = 0; i < DIFFERENT && count; i++)
        of[i] = kind.number
                    ? plain_number(rp_number_shape(*kind.number), 2 * i)
                    : rp_number_load(page + rp_mix64(seed + i) % count * kind.bytes, kind.bytes);
    for (size_t i = 0; i < count; i++) {
        const uint64_t bits = of[rp_mix64(seed ^ (i << 8)) % DIFFERENT];

        changed += bits != rp_number_load(page + i * kind.bytes, kind.bytes);
        memcpy(page + i * kind.bytes, &bits, kind.bytes);
    }
    return changed;
}

/* A kernel that looks at some of its inputs only does not see what has become of the others. */
static uint64_t sparse(struct kind kind, uint64_t seed, size_t bytes, uint8_t *page)
{
    enum { ONE_IN = 128 };
    uint64_t count = 0;

    for (size_t at = 0; at + kind.bytes <= bytes; at += kind.bytes) {
        uint64_t bits = rp_number_load(page + at, kind.bytes);

        if (rp_mix64(seed + at) % ONE_IN)
            continue;
        if (kind.number && look(rp_number_shape(*kind.number), bits) != NUMBER)
            continue;
        bits = kind.number ? other_number(rp_number_shape(*kind.number), seed, bits) : bits ^ 1;
        memcpy(page + at, &bits, kind.bytes);
        count++;
    }
    return count;
}

/* One in 64 numbers is NaN (that which arithmetic gives) or an infinity of either sign: with more,
 * all sums were NaN. One in eight is 0, because 0 times an infinity is not what a kernel gives that
 * skips zeros. A sum of very many is NaN by any of these, so NaN are tried alone as well, and
 * infinities of one sign, one in each page, where half of the numbers are zeros: a row of some
 * thousand products then meets one or two, and often a zero with it. */
static uint64_t special(enum rp_variation variation, struct kind kind, uint64_t seed, size_t bytes,
                        uint8_t *page)
{
    enum { SPECIAL_IN = 64, ZERO_IN = 8, MANY_ZERO_IN = 2 };
    const struct rp_number_shape shape = rp_number_shape(kind.number ? *kind.number : RP_F32);
    const uint64_t infinite = (((uint64_t)1 << shape.exponent_bits) - 1) << shape.fraction_bits;
    const bool both = variation == RP_VARY_SPECIAL, nan = variation == RP_VARY_NANS;
    const uint64_t numbers = bytes / shape.bytes, zero_in = both ? ZERO_IN : MANY_ZERO_IN;
    const uint64_t only = numbers ? rp_mix64(seed) % numbers : 0;
    uint64_t count = 0;

    for (uint64_t i = 0; kind.number && i < numbers; i++) {
        const uint64_t hash = rp_mix64(seed + i * shape.bytes);
        const uint64_t sign = both ? (hash >> 9 & 1) << (shape.bytes * 8 - 1) : 0;
        const uint64_t value =
            nan || (both && hash & 256) ? infinite | infinite >> 1 : infinite | sign;
        const bool is_special = both || nan ? hash % SPECIAL_IN == 0 : i == only;
        const uint64_t bits = is_special ? value : 0;

        if (!is_special && (nan || (hash >> 10) % zero_in))
            continue;
        memcpy(page + i * shape.bytes, &bits, shape.bytes);
        count++;
    }
    return count;
}

static uint64_t change_rare(enum rp_variation variation, const struct rp_inputs_rule *rule,
                            const struct rp_addresses *addresses, uint64_t seed, size_t bytes,
                            uint8_t *page)
{
    const struct kind kind = kind_of(rule, page, bytes);

    if (rule->none || addresses_are_in(addresses, page, bytes))
        return 0;
    switch (variation) {
    case RP_VARY_NEGATIVE:
        return all_negative(kind, seed, bytes, page);
    case RP_VARY_FEW:
        return few_values(kind, seed, bytes, page);
    case RP_VARY_SPARSE:
        return sparse(kind, seed, bytes, page);
    default:
        return rule->finite ? 0 : special(variation, kind, seed, bytes, page);
    }
}

uint64_t rp_inputs_update(const struct rp_inputs_rule *rule, const struct rp_addresses *addresses,
                          uint64_t seed, const uint64_t *words, const uint8_t *after, size_t bytes,
                          uint8_t *page)
{
    uint64_t count = 0;

    if (rule->none || rp_inputs_are_numbers(rule, after, bytes) ||
        addresses_are_in(addresses, page, bytes) || addresses_are_in(addresses, after, bytes))
        return 0;
    for (size_t at = 0; at + 4 <= bytes; at += 4) {
        uint32_t word = (uint32_t)rp_number_load(page + at, 4);

        if (!rp_word_in(words, at / 4) || word > MOST_SMALL)
            continue;
        word += 1 + (uint32_t)(rp_mix64(seed + at) % 3);
        memcpy(page + at, &word, 4);
        count++;
    }
    return count;
}

uint64_t rp_inputs_vary(enum rp_variation variation, const struct rp_inputs_rule *rule,
                        const struct rp_addresses *addresses, uint64_t seed, size_t bytes,
                        uint8_t *page)
{
    switch (variation) {
    case RP_VARY_LARGE:
        return enlarge(addresses, seed, bytes, page);
    case RP_VARY_NEGATIVES:
        return negate(addresses, seed, bytes, page);
    case RP_VARY_BYTES:
        return change_bytes(rule, addresses, seed, bytes, page);
    case RP_VARY_MIXED:
        return change_some(rule, addresses, seed, bytes, page);
    case RP_VARY_NEGATIVE:
    case RP_VARY_FEW:
    case RP_VARY_SPARSE:
    case RP_VARY_SPECIAL:
    case RP_VARY_NANS:
    case RP_VARY_INFINITE:
        return change_rare(variation, rule, addresses, seed, bytes, page);
    default:
        return change_all(rule, addresses, seed, bytes, page);
    }
}

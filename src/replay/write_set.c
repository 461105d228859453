#include "replay/write_set.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "replay/addresses.h"
#include "replay/numbers.h"

/* No address and no likely index. The first is a NaN as fp16, bf16, fp32 and fp64, the others are
 * far from 0 as any of these. */
static const uint8_t poisons[RP_POISON_KINDS][4] = {
    [RP_POISON_NAN] = {0xfd, 0xff, 0xfd, 0xff},
    [RP_POISON_HIGH] = {0x7b, 0x7b, 0x7b, 0x7b},
    [RP_POISON_LOW] = {0xfb, 0xfb, 0xfb, 0xfb},
};

enum { LINE_BYTES = 64 };

static const struct way {
    unsigned of_8; /* words have bits flipped */
    uint32_t seed;
} ways[RP_FLIPS] = {
    [RP_FLIP_EACH] = {.of_8 = 8, .seed = 0x243f6a88},
    [RP_FLIP_HALF] = {.of_8 = 4, .seed = 0x85a308d3},
    [RP_FLIP_FEW] = {.of_8 = 1, .seed = 0x13198a2e},
    [RP_FLIP_NUMBERS] = {.of_8 = 4, .seed = 0x03707344},
    [RP_FLIP_ORDER] = {.seed = 0xa4093822},
    [RP_FLIP_BYTES] = {.seed = 0x299f31d0},
};

static int by_page(const void *a, const void *b)
{
    const struct rp_write_page *x = a, *y = b;

    if (x->region != y->region)
        return x->region < y->region ? -1 : 1;
    return (x->page > y->page) - (x->page < y->page);
}

struct rp_write_page *rp_write_set_find(const struct rp_write_set *set, size_t region,
                                        uint64_t page)
{
    const struct rp_write_page wanted = {.region = region, .page = page};

    return set->sorted ? bsearch(&wanted, set->pages, set->sorted, sizeof wanted, by_page) : NULL;
}

int rp_write_set_add(struct rp_write_set *set, const struct rp_write_page *page, struct rp_err *err)
{
    struct rp_write_page *known = rp_write_set_find(set, page->region, page->page);

    for (size_t i = 0; known && i < RP_PAGE_MASKS; i++)
        known->written[i] |= page->written[i];
    if (known)
        return 0;
    if (set->count == set->capacity) {
        const size_t capacity = set->capacity ? 2 * set->capacity : 64;
        struct rp_write_page *pages = realloc(set->pages, capacity * sizeof *pages);

        if (!pages)
            return rp_fail(err, RP_ENVIRONMENT, "out of memory");
        set->pages = pages;
        set->capacity = capacity;
    }
    set->pages[set->count++] = *page;
    return 0;
}

void rp_write_set_sort(struct rp_write_set *set)
{
    if (set->sorted < set->count)
        qsort(set->pages, set->count, sizeof *set->pages, by_page);
    set->sorted = set->count;
}

void rp_write_set_free(struct rp_write_set *set)
{
    free(set->pages);
    *set = (struct rp_write_set){0};
}

bool rp_is_zero_page(const uint8_t *page)
{
    static const uint8_t zeros[RP_PAGE_BYTES];

    return memcmp(page, zeros, sizeof zeros) == 0;
}

static uint64_t word_pair(const uint8_t *page, size_t at, size_t bytes)
{
    uint64_t value = 0;

    memcpy(&value, page + at, bytes - at < 8 ? bytes - at : 8);
    return value;
}

/* Or the null pointer. Only in a page where there are any. */
static bool may_be_address(const struct rp_addresses *addresses, uint64_t pair)
{
    return pair == 0 || rp_addresses_have(addresses, pair);
}

/* Of either sign: as fp32 they would be denormal numbers and NaNs. */
static bool is_small_integer(uint32_t word)
{
    const uint32_t exponent = word >> 23 & 0xff;

    return exponent == 0 || exponent == 0xff;
}

/* As numbers of fp16, bf16, fp32 and fp64. */
static uint32_t number_bits(uint32_t word, uint32_t one_of_3)
{
    return is_small_integer(word) ? 0 : 0x00100010u << one_of_3;
}

/* Which bits of a word. @param lot  of its place: 8 bits */
static uint32_t bits_of(enum rp_flip way, uint32_t lot, uint32_t word)
{
    const uint32_t one_of_3 = (lot >> 3) * 3 / 32;

    if ((lot & 7) >= ways[way].of_8)
        return 0;
    return way == RP_FLIP_NUMBERS ? number_bits(word, one_of_3) : 1 + one_of_3;
}

/* For 8 words in a row (splitmix64). */
static uint64_t lots_of(uint64_t place, uint32_t seed)
{
    place = (place ^ (uint64_t)seed << 32) + 0x9e3779b97f4a7c15;
    place = (place ^ place >> 30) * 0xbf58476d1ce4e5b9;
    place = (place ^ place >> 27) * 0x94d049bb133111eb;
    return place ^ place >> 31;
}

static void flip_word(enum rp_flip way, uint64_t lots, uint8_t *at, size_t bytes)
{
    uint32_t word = 0;

    memcpy(&word, at, bytes);
    word ^= bits_of(way, lots & 0xff, word);
    memcpy(at, &word, bytes);
}

/* As bits_of says, of 8 words at once: all memory is changed so. */
static void flip_each(uint64_t lots, uint8_t *at)
{
    uint32_t words[8];

    memcpy(words, at, sizeof words);
    for (unsigned i = 0; i < 8; i++)
        words[i] ^= 1 + ((uint32_t)(lots >> (8 * i + 3)) & 31) * 3 / 32;
    memcpy(at, words, sizeof words);
}

/* 32 bytes or the rest of a page. */
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
    if (has_small_integers_only(page, bytes)) /* indices would lead anywhere */
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
    if (!rp_addresses_are_in(addresses, page, bytes))
        addresses = NULL;
    if (way == RP_FLIP_ORDER)
        change_order(addresses, place, page, bytes);
    else if (way != RP_FLIP_BYTES)
        flip_bits(way, addresses, place, page, bytes);
    else if (!addresses)
        flip_bytes(place, page, bytes);
}

void rp_write_set_note(const uint8_t *before, const uint8_t *after, size_t bytes, uint64_t *written)
{
    if (memcmp(before, after, bytes) == 0)
        return;
    for (size_t at = 0; at < bytes; at += 4)
        if (memcmp(before + at, after + at, bytes - at < 4 ? bytes - at : 4) != 0)
            written[at / 256] |= (uint64_t)1 << (at / 4 % 64);
}

/* The result of the next word but a few, or this one's own with another bit of its upper half. */
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

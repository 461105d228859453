#include "replay/write_set.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "replay/numbers.h"

/* No addresses, no likely indices. */
static const uint8_t poisons[RP_POISON_KINDS][4] = {
    [RP_POISON_NAN] = {0xfd, 0xff, 0xfd, 0xff},
    [RP_POISON_HIGH] = {0x7b, 0x7b, 0x7b, 0x7b},
    [RP_POISON_LOW] = {0xfb, 0xfb, 0xfb, 0xfb},
};

int rp_write_set_add(struct rp_write_set *set, const struct rp_write_page *page, struct rp_err *err)
{
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

static int by_place(const void *a, const void *b)
{
    const struct rp_write_page *x = a, *y = b;

    if (x->region != y->region)
        return x->region < y->region ? -1 : 1;
    return (x->page > y->page) - (x->page < y->page);
}

void rp_write_set_sort(struct rp_write_set *set)
{
    if (set->count)
        qsort(set->pages, set->count, sizeof *set->pages, by_place);
}

struct rp_write_page *rp_write_set_find(const struct rp_write_set *set, size_t region,
                                        uint64_t page)
{
    const struct rp_write_page wanted = {.region = region, .page = page};

    return set->count ? bsearch(&wanted, set->pages, set->count, sizeof wanted, by_place) : NULL;
}

void rp_write_set_free(struct rp_write_set *set)
{
    free(set->pages);
    *set = (struct rp_write_set){0};
}

static uint64_t word_pair(const uint8_t *page, size_t at, size_t bytes)
{
    uint64_t value = 0;

    memcpy(&value, page + at, bytes - at < 8 ? bytes - at : 8);
    return value;
}

/* splitmix64's last step */
static unsigned bit_of(unsigned flip, uint64_t address)
{
    uint64_t x = (address / 4 + 1) * 0x9e3779b97f4a7c15;

    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    return flip == RP_FLIP_LOWEST ? 0 : 1 + (unsigned)(x >> 33) % 3;
}

void rp_write_set_flip(unsigned flip, uint64_t address, uint8_t *page, size_t bytes, uint64_t low,
                       uint64_t high)
{
    bool addresses = false;

    for (size_t at = 0; at < bytes && !addresses; at += 8) {
        const uint64_t value = word_pair(page, at, bytes);

        addresses = value >= low && value < high;
    }
    for (size_t at = 0; at < bytes; at += 8) {
        const uint64_t value = word_pair(page, at, bytes);

        if (addresses && (value == 0 || (value >= low && value < high)))
            continue;
        page[at] ^= (uint8_t)(1 << bit_of(flip, address + at));
        if (at + 4 < bytes)
            page[at + 4] ^= (uint8_t)(1 << bit_of(flip, address + at + 4));
    }
}

void rp_write_set_note(const uint8_t *before, const uint8_t *after, size_t bytes, uint64_t *written)
{
    if (memcmp(before, after, bytes) == 0)
        return;
    for (size_t at = 0; at < bytes; at += 4)
        if (memcmp(before + at, after + at, bytes - at < 4 ? bytes - at : 4) != 0)
            written[at / 256] |= (uint64_t)1 << (at / 4 % 64);
}

void rp_write_set_poison(const struct rp_compare_rule *rule, enum rp_poison kind,
                         const uint64_t *mask, const uint8_t *after, size_t bytes, uint8_t *page)
{
    const uint8_t *other = poisons[kind == RP_POISON_NAN ? RP_POISON_HIGH : RP_POISON_NAN];
    uint64_t wrong[RP_PAGE_MASKS];
    uint8_t poison[RP_PAGE_BYTES];

    for (size_t at = 0; at < RP_PAGE_BYTES; at += 4)
        memcpy(poison + at, poisons[kind], 4);
    rp_compare_words(rule, poison, after, bytes / 4 * 4, wrong);
    for (size_t at = 0; at + 4 <= bytes; at += 4)
        if (rp_word_in(mask, at / 4))
            memcpy(page + at, rp_word_in(wrong, at / 4) ? poisons[kind] : other, 4);
}

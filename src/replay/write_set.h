/**
 * @file write_set.h
 * @brief Which words of memory the captured kernel writes, and what they hold before another kernel
 * runs: something that is not the right answer.
 *
 * What differs between the two states of a capture was written. What was written with the value
 * that it had already (a result that an earlier launch has left) is found by running the captured
 * kernel twice from memory in which each word has a bit flipped, another one each time: what does
 * not come back as it was put there was written. Words that the captured kernel gets right from any
 * start are then poisoned before each run of the other kernel; those that it reads as well (updated
 * in place) keep their state before the dispatch. A word that is written, not poisoned, and right
 * before the dispatch already is blind: it tells nothing.
 */
#ifndef RP_REPLAY_WRITE_SET_H
#define RP_REPLAY_WRITE_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/page_file.h"

struct rp_compare_rule;
struct rp_err;

enum { RP_PAGE_WORDS = RP_PAGE_BYTES / 4, RP_PAGE_MASKS = RP_PAGE_WORDS / 64 };

/** Masks have a bit for each word of 4 bytes. */
struct rp_write_page {
    size_t region; /**< index in the capture */
    uint64_t page; /**< of the region */
    uint64_t written[RP_PAGE_MASKS];
    uint64_t poisoned[RP_PAGE_MASKS];
};

/** Pages in rising order; zero-initialise. */
struct rp_write_set {
    struct rp_write_page *pages;
    size_t count, capacity;
};

/** Behind those there are; rp_write_set_sort puts them in order. */
int rp_write_set_add(struct rp_write_set *set, const struct rp_write_page *page,
                     struct rp_err *err);
void rp_write_set_sort(struct rp_write_set *set);
/** NULL: nothing is written there. */
struct rp_write_page *rp_write_set_find(const struct rp_write_set *set, size_t region,
                                        uint64_t page);
void rp_write_set_free(struct rp_write_set *set);

static inline bool rp_word_in(const uint64_t *mask, size_t word)
{
    return mask[word / 64] >> (word % 64) & 1;
}

/** Before each run of another kernel, one of these. */
enum rp_poison {
    RP_POISON_NAN,  /**< as fp16, bf16, fp32 and fp64; nearly the greatest unsigned integer */
    RP_POISON_HIGH, /**< a large positive number, as any of these and as an integer */
    RP_POISON_LOW,  /**< a large negative one */
    RP_POISON_KINDS,
    RP_POISON_NONE = RP_POISON_KINDS,
};

/** Which bit of a word is flipped. */
enum { RP_FLIP_LOWEST, RP_FLIP_MIXED, RP_FLIPS };

/**
 * Flips a bit of each word of a page, but for what may be an address in [low, high), or the null
 * pointer among such.
 * @param bytes  of the page that are in the region
 * @param flip   RP_FLIP_LOWEST: its lowest. A kernel that copies would give what was put there, and
 *               a flag would be off: RP_FLIP_MIXED takes the second, third or fourth bit, which
 *               of them depends on the address.
 */
void rp_write_set_flip(unsigned flip, uint64_t address, uint8_t *page, size_t bytes, uint64_t low,
                       uint64_t high);

/** Words that were written, of two runs with their states before and after. */
void rp_write_set_note(const uint8_t *before, const uint8_t *after, size_t bytes,
                       uint64_t *written);

/** Puts poison into the words of a mask: of that kind where that is wrong, or else another. */
void rp_write_set_poison(const struct rp_compare_rule *rule, enum rp_poison kind,
                         const uint64_t *mask, const uint8_t *after, size_t bytes, uint8_t *page);

#endif

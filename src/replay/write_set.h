/**
 * @file write_set.h
 * @brief Which words of memory the captured kernel writes, and what they hold before another kernel
 * runs: something that is not the right answer.
 *
 * What differs between the two states of a capture was written. What was written with the value
 * that it had already (a result that an earlier launch has left) is found by running the captured
 * kernel from memory in which words have bits flipped: what does not come back as it was put there
 * was written. Which bits, the place in memory decides: a kernel that copies, or doubles, would
 * hand on a bit that is flipped everywhere, and its result would be what was put there. A sort of
 * what is sorted gives such back as it is, so words are exchanged as well. Words that the captured
 * kernel gets right from any start are then poisoned before each run of the other kernel; those
 * that it reads as well (updated in place) keep their state before the dispatch. A word that is
 * written, not poisoned, and right before the dispatch already is blind: it tells nothing.
 */
#ifndef RP_REPLAY_WRITE_SET_H
#define RP_REPLAY_WRITE_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/capture_pages.h"

struct rp_addresses;
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
    size_t sorted; /**< those behind are new */
};

/** Adds words to those that are written. New pages are not found before rp_write_set_sort. Pages
 * that are added between two of these are different ones. */
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

bool rp_is_zero_page(const uint8_t *page);

/** Ways to change memory, one for each run of the captured kernel. */
enum rp_flip {
    RP_FLIP_EACH, /**< one or both of the two low bits of each word */
    RP_FLIP_HALF, /**< of half of the words: flags of others stay */
    RP_FLIP_FEW,  /**< of one in eight */
    /** Higher bits of half of the words that are no small integers, as numbers of fp16, bf16, fp32
     * and fp64 by an eighth or more: flags, counts and indices stay. */
    RP_FLIP_NUMBERS,
    /** Values of 8 bytes change places, in pages without addresses also over the page: each stays
     * one of those that were there. */
    RP_FLIP_ORDER,
    /** A bit in each byte, in pages without addresses that are not of small integers alone. */
    RP_FLIP_BYTES,
    RP_FLIPS,
};

/**
 * Changes words of a page, but not what may be an address of captured memory, or the null
 * pointer among such.
 * @param place  of the page: decides about the bits
 * @param bytes    of it that are in the region
 */
void rp_write_set_flip(enum rp_flip way, uint64_t place, uint8_t *page, size_t bytes,
                       const struct rp_addresses *addresses);

/** Words that were written, of two runs with their states before and after. */
void rp_write_set_note(const uint8_t *before, const uint8_t *after, size_t bytes,
                       uint64_t *written);

/** A kernel that mixes in what is there, by a minimum for instance, is not found out by each. */
enum rp_poison {
    RP_POISON_NAN,  /**< as number of any type; 2^32 - 131075, or -131075 */
    RP_POISON_HIGH, /**< and positive */
    RP_POISON_LOW,  /**< and negative */
    RP_POISON_LIKE, /**< results of other words, or near them: none that could be told by its size
                     */
    RP_POISON_KINDS,
    RP_POISON_NONE = RP_POISON_KINDS,
};

/** Puts poison into the words of a mask; where it is right, one of another kind. */
void rp_write_set_poison(const struct rp_compare_rule *rule, enum rp_poison kind,
                         const uint64_t *mask, const uint8_t *after, size_t bytes, uint8_t *page);

#endif

/**
 * @file page_changes.h
 * @brief This header says which words of memory the captured kernel writes, and what they hold
 * before another kernel runs: something that is not the right answer.
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
#ifndef RP_REPLAY_PAGE_CHANGES_H
#define RP_REPLAY_PAGE_CHANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/vec.h"
#include "replay/output_rules.h"
#include "trace/capture.h"

struct rp_addresses;
struct rp_compare_rule;
struct rp_err;
struct rp_replay_range;

/* Which values are addresses of captured memory: these stay as they are when memory is
 * changed.
 *
 * A value counts only if it lies in captured memory, and not if it lies between the first and the
 * last of it: that can be terabytes, with pairs of small integers in it (0x00007f02'00007f01).
 *
 * Captured memory lies elsewhere in each capture of a program, so that such a pair can still be an
 * address in one and not in the next. The system chooses among 2^40 bytes (HIP's memory is about as
 * much below: from 0x7dff'00000000; what malloc has: from 0x5555'00000000): the chance of each pair
 * with such an upper half is the captured bytes divided by 2^40, 1 in 16384 with 64 MiB. Only its
 * page, or words of it, stay as they are then.
 */

struct rp_addresses {
    const struct rp_replay_range *ranges; /**< by address, apart from each other */
    size_t count;
};

/**
 * Every struct that describes a page of a capture begins with this key, so that one search serves
 * all.
 */
struct rp_page_key {
    size_t region; /**< index in the capture */
    uint64_t page; /**< of the region */
};

/**
 * Finds a page by region and page number.
 * @param pages  @p count of them that have been sorted, of @p size bytes each
 * @return NULL: it is not there
 */
void *rp_page_find(const void *pages, size_t count, size_t size, struct rp_page_key key);
void rp_page_sort(void *pages, size_t count, size_t size);

/** Masks have a bit for each word of 4 bytes. */
struct rp_write_page {
    struct rp_page_key key;
    uint64_t written[RP_PAGE_MASKS];
    uint64_t poisoned[RP_PAGE_MASKS];
};

/** This set keeps its pages in rising order. Zero-initialise it. */
struct rp_write_set {
    RP_VEC(struct rp_write_page);
    size_t sorted; /**< those behind are new */
};

/** Returns the page, or NULL if nothing is written there. */
static inline struct rp_write_page *rp_write_set_find(const struct rp_write_set *set, size_t region,
                                                      uint64_t page)
{
    return rp_page_find(set->items, set->sorted, sizeof *set->items,
                        (struct rp_page_key){region, page});
}

/**
 * Adds words to those that are written. rp_write_set_sort() must run before new pages can be
 * found, and pages that are added between two sorts must differ.
 */
void rp_write_set_add(struct rp_write_set *set, const struct rp_write_page *page);
static inline void rp_write_set_sort(struct rp_write_set *set)
{
    rp_page_sort(set->items, set->count, sizeof *set->items);
    set->sorted = set->count;
}

static inline bool rp_is_zero_page(const uint8_t *page)
{
    return page[0] == 0 && memcmp(page, page + 1, RP_PAGE_BYTES - 1) == 0;
}

/** Ways to change memory, one for each run of the captured kernel. */
enum rp_flip {
    RP_FLIP_EACH, /**< one or both of the two low bits of each word */
    RP_FLIP_HALF, /**< of half of the words: flags of others stay */
    RP_FLIP_FEW,  /**< of one in eight */
    /**
     * This flips higher bits of half of the words that are not small integers, which changes
     * numbers of fp16, bf16, fp32 and fp64 by an eighth or more. Flags, counts and indices stay.
     */
    RP_FLIP_NUMBERS,
    /** Values of 8 bytes change places, in pages without addresses also over the page: each stays
     * one of those that were there. */
    RP_FLIP_ORDER,
    /** This flips one bit in each byte of pages without addresses, except pages of small integers.
     */
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

/** Tells whether a word is one of the poisons that are the same everywhere. */
bool rp_word_is_poison(const uint8_t word[4]);

/**
 * Puts poison into the words of a mask. Where that poison is the right answer, another kind is
 * used.
 */
void rp_write_set_poison(const struct rp_compare_rule *rule, enum rp_poison kind,
                         const uint64_t *mask, const uint8_t *after, size_t bytes, uint8_t *page);

/* Other inputs for a kernel: numbers in captured memory, changed so that a result that was
 * stored instead of computed is found out.
 *
 * What is a number and what an index, a flag or an address, memory does not say. A page is changed
 * only if all of it can be numbers of one type, and then so that these keep their signs, zeros,
 * infinities and NaNs: most become at most a fifth smaller or a quarter larger, some are doubled or
 * halved. Whatever is structure (pointers, indices, counts, text) is no such page, or must be
 * vouched for by name.
 */

/**
 * A variation says what changes in a run: numbers in memory; the same, with other signs, zeros,
 * and far larger and smaller ones; other whole numbers in their last bits; values in memory that
 * are exchanged (indices mostly stay indices); numbers or small integers in place of zeros
 * (rp_inputs_fill); large or negative integers in place of small ones; high bits of bytes; numbers
 * among other values; all numbers negative, few different values, few values changed, results
 * that are updated in place, NaN and infinities; arguments, the grid, the size of workgroups,
 * the order of waves and where results go (input_variation.c).
 */
enum rp_variation {
#define RP_VARIATION(id, ...) RP_VARY_##id,
#include "replay/variations.def"
#undef RP_VARIATION
    RP_VARIATIONS,
};

/**
 * This says what is changed: values up to RP_VARIES_SIZES, and of these in memory up to
 * RP_VARIES_RARE.
 */
enum rp_variation_class {
    RP_VARIES_MEMORY,
    RP_VARIES_ZEROS,    /**< values in place of zeros */
    RP_VARIES_INTEGERS, /**< more than their last bits */
    RP_VARIES_RARE, /**< values that are rare: how long kernels take with them does not matter */
    RP_VARIES_ARGUMENTS,
    RP_VARIES_SIZES, /**< how long kernels take with these does not matter, either */
    RP_VARIES_GRID,
    RP_VARIES_ORDER,
    RP_VARIES_OVERLAP, /**< where results go */
};

/** This is a row of variations.def. */
struct rp_variation_kind {
    const char *word;
    enum rp_variation_class what;
    const char *how,
        *how_other; /**< "with other inputs", "with other inputs than the captured ones" */
    const char *units, *same, *nothing;
};

extern const struct rp_variation_kind rp_variations[RP_VARIATIONS];

static inline bool rp_varies_memory(enum rp_variation variation)
{
    return rp_variations[variation].what <= RP_VARIES_RARE;
}

static inline bool rp_varies_values(enum rp_variation variation)
{
    return rp_variations[variation].what <= RP_VARIES_SIZES;
}

/** Says whether it matters how long kernels take with them. */
static inline bool rp_varies_time(enum rp_variation variation)
{
    const enum rp_variation_class what = rp_variations[variation].what;

    return what <= RP_VARIES_ARGUMENTS && what != RP_VARIES_RARE;
}

enum { RP_INPUT_TYPES = 3 };

struct rp_inputs_rule {
    bool none;    /**< nothing is changed */
    bool words;   /**< any word of 4 bytes is a number: its last bit */
    bool vouched; /**< also few numbers */
    bool mostly;  /**< one in 16 may be any bits; equal ones count once */
    bool finite;  /**< no NaN and infinities */
    bool signs;   /**< RP_VARY_SIGNS */
    enum rp_number_type types[RP_INPUT_TYPES]; /**< in this order */
    unsigned type_count;
};

/**
 * Parses "auto", "finite", "none", "f32", "f16", "bf16", "f64" or "i32".
 * @param output  the type that results are declared to have; RP_EXACT: none is declared
 * @return 0 or RP_USAGE
 */
int rp_inputs_parse(const char *text, enum rp_number_type output, struct rp_inputs_rule *ret,
                    struct rp_err *err);

/**
 * Changes about half of the values of a page, as a kind of RP_VARIES_MEMORY (except RP_VARY_ORDER)
 * or RP_VARIES_INTEGERS says, or as many as one of RP_VARIES_RARE (except RP_VARY_UPDATED) does. A
 * page that may hold addresses stays as it is.
 * @param bytes  of it that are in the region
 * @param addresses  of captured memory
 * @param seed  chooses the half, which differs from page to page
 * @return how many were changed
 */
uint64_t rp_inputs_vary(enum rp_variation variation, const struct rp_inputs_rule *rule,
                        const struct rp_addresses *addresses, uint64_t seed, size_t bytes,
                        uint8_t *page);

/**
 * Replaces about half of the zeros of a page by values. Biases, masks and sums are often zero at
 * first, and a kernel could leave them out without being noticed. The values are numbers from 0.5
 * to 2 where the page has only zeros or numbers of one type. They are integers from 1 to 3 where
 * it has only zeros or no such numbers; these go to every other word, because the rest may be
 * upper halves of integers of 8 bytes. A page with addresses stays as it is.
 * @param integers  or numbers
 * @param keep  a bit for each word of 4 bytes that stays
 * @return how many were changed
 */
uint64_t rp_inputs_fill(const struct rp_inputs_rule *rule, bool integers,
                        const struct rp_addresses *addresses, uint64_t seed, const uint64_t *keep,
                        size_t bytes, uint8_t *page);

/** Returns the type that all numbers of a page can be of. RP_EXACT: they are no numbers, or some
 * may be addresses. */
enum rp_number_type rp_inputs_type(const struct rp_inputs_rule *rule,
                                   const struct rp_addresses *addresses, const uint8_t *page,
                                   size_t bytes);

/**
 * Changes words where results are updated in place: whole numbers become 1 to 3 greater. A page
 * that has numbers or addresses stays as it is.
 * @param words  a bit for each word of 4 bytes that is one of these
 * @param after  what the captured dispatch makes of the page
 * @return how many were changed
 */
uint64_t rp_inputs_update(const struct rp_inputs_rule *rule, const struct rp_addresses *addresses,
                          uint64_t seed, const uint64_t *words, const uint8_t *after, size_t bytes,
                          uint8_t *page);

/** Tests whether all of a page can be numbers of one type, and some are. */
bool rp_inputs_are_numbers(const struct rp_inputs_rule *rule, const uint8_t *page, size_t bytes);

/** Tests whether a value points into a range, or to its end, because loops have such pointers. */
bool rp_addresses_have(const struct rp_addresses *a, uint64_t value);

#endif

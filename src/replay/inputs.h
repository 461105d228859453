/**
 * @file inputs.h
 * @brief Other inputs for a kernel: numbers in captured memory, changed so that a result that was
 * stored instead of computed is found out.
 *
 * What is a number and what an index, a flag or an address, memory does not say. A page is changed
 * only if all of it can be numbers of one type, and then so that these keep their signs, zeros,
 * infinities and NaNs: most become at most a fifth smaller or a quarter larger, some are doubled or
 * halved. Whatever is structure (pointers, indices, counts, text) is no such page, or must be
 * vouched for by name.
 */
#ifndef RP_REPLAY_INPUTS_H
#define RP_REPLAY_INPUTS_H

#include "replay/numbers.h"

struct rp_addresses;

/**
 * What is other in a run: numbers in memory (rp_inputs_change); the same, with other signs, zeros,
 * and far larger and smaller ones; other whole numbers by their last bits; values in memory that
 * change places (indices stay such, mostly); numbers or small integers where zeros are
 * (rp_inputs_fill); large integers where small ones are (rp_inputs_enlarge), or negative ones
 * (rp_inputs_negate); high bits of bytes (rp_inputs_change_bytes); numbers among other values
 * (rp_inputs_change_some); values that are passed (scalars.h); the grid (grid.h).
 */
enum rp_variation {
#define RP_VARIATION(id, word, how, than, units) RP_VARY_##id,
#include "replay/variations.def"
#undef RP_VARIATION
    RP_VARIATIONS,
};

/** "with other inputs" ... */
const char *rp_variation_how(enum rp_variation variation);
/** "with other inputs than the captured ones" ... */
const char *rp_variation_how_other(enum rp_variation variation);
/** "numbers", ... */
const char *rp_variation_word(enum rp_variation variation);
/** "words", ...: what is counted */
const char *rp_variation_units(enum rp_variation variation);
/** Whether it is values that are other: in memory, or with those that are passed. */
bool rp_variation_is_in_memory(enum rp_variation variation);
bool rp_variation_is_of_values(enum rp_variation variation);
/** Values in place of zeros. */
bool rp_variation_is_of_zeros(enum rp_variation variation);
/** Values that are passed. */
bool rp_variation_is_of_arguments(enum rp_variation variation);

enum { RP_INPUT_TYPES = 3 };

struct rp_inputs_rule {
    bool none;                                 /**< nothing is changed */
    bool words;                                /**< any word of 4 bytes is a number: its last bit */
    bool vouched;                              /**< also few numbers */
    bool signs;                                /**< RP_VARY_SIGNS */
    enum rp_number_type types[RP_INPUT_TYPES]; /**< in this order */
    unsigned type_count;
};

/**
 * "auto", "none", "f32", "f16", "bf16", "f64", "i32".
 * @param output  of what type results are said to be; RP_EXACT: nothing is said
 * @return 0 or RP_USAGE
 */
int rp_inputs_parse(const char *text, enum rp_number_type output, struct rp_inputs_rule *ret,
                    struct rp_err *err);

/**
 * Changes about half of the numbers of a page, if it is one of numbers.
 * @param bytes      of it that are in the region
 * @param addresses  of captured memory
 * @param seed       which half; of each page another one
 * @return how many were changed
 */
uint64_t rp_inputs_change(const struct rp_inputs_rule *rule, const struct rp_addresses *addresses,
                          uint64_t seed, size_t bytes, uint8_t *page);

/**
 * Puts values in the place of about half of the zeros of a page: bias, masks and what is added up
 * to are often zero as yet, and may be left out of a kernel then without harm. Numbers from 0.5 to
 * 2, where the page has zeros only or numbers of one type; or integers from 1 to 3, where it has
 * zeros only or no such numbers, in every other word: the rest may be upper halves of integers of 8
 * bytes. Nothing where there are addresses.
 * @param integers  or numbers
 * @param keep      a bit for each word of 4 bytes that stays
 * @return how many were changed
 */
uint64_t rp_inputs_fill(const struct rp_inputs_rule *rule, bool integers,
                        const struct rp_addresses *addresses, uint64_t seed, const uint64_t *keep,
                        size_t bytes, uint8_t *page);

/** Whether all of a page can be numbers of one type, and some are. */
bool rp_inputs_are_numbers(const struct rp_inputs_rule *rule, const uint8_t *page, size_t bytes);

/**
 * About half of the small positive integers of a page that has nothing else but zeros and small
 * negative ones: 1610612736 more, so that two of them need more than 31 bits and three more than
 * 32; if they may be of 8 bytes, 3 * 2^32 more.
 * @return how many were changed
 */
uint64_t rp_inputs_enlarge(const struct rp_addresses *addresses, uint64_t seed, size_t bytes,
                           uint8_t *page);

/**
 * About half of the whole numbers that are not zero, of a page that has small ones only, get the
 * other sign: of 4 bytes, or of 8 if all may be.
 * @return how many were changed
 */
uint64_t rp_inputs_negate(const struct rp_addresses *addresses, uint64_t seed, size_t bytes,
                          uint8_t *page);

/**
 * The high bit of about half of the bytes that are not 0, of a page that is not one of numbers.
 * Small whole numbers of 4 bytes stay, as they may be indices: rp_inputs_negate and
 * rp_inputs_enlarge change them where there is nothing else. Numbers of 16 bits get other signs by
 * that, too.
 * @return how many were changed
 */
uint64_t rp_inputs_change_bytes(const struct rp_inputs_rule *rule,
                                const struct rp_addresses *addresses, uint64_t seed, size_t bytes,
                                uint8_t *page);

/**
 * About half of the words that are taken for f32 numbers (from 2^-40 to 2^40, which as integers
 * are above 730000000), of a page that has other values, too: structures have.
 * @return how many were changed
 */
uint64_t rp_inputs_change_some(const struct rp_inputs_rule *rule,
                               const struct rp_addresses *addresses, uint64_t seed, size_t bytes,
                               uint8_t *page);

#endif

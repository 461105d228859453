/**
 * @file output_rules.h
 * @brief This header says when two pages hold the same result: byte for byte, or as numbers within
 * a tolerance; and which words are results at all.
 */
#ifndef RP_REPLAY_OUTPUT_RULES_H
#define RP_REPLAY_OUTPUT_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "trace/capture.h"

struct rp_err;

enum rp_number_type { RP_EXACT = 0, RP_F32, RP_F16, RP_BF16, RP_F64 };

/** All are of IEEE's form. */
struct rp_number_shape {
    unsigned bytes, exponent_bits, fraction_bits;
};

struct rp_number_shape rp_number_shape(enum rp_number_type type);
double rp_number_value(enum rp_number_type type, uint64_t bits);

/**
 * Compares numbers of which it is not known what they may be off by: one is wrong if it is off by a
 * hundredth of the largest of the page, or only one of the two is NaN or the same infinity.
 * @param bytes  of both, a multiple of the number's
 * @param ret_bad  as of rp_compare_words
 */
void rp_compare_roughly(enum rp_number_type type, const uint8_t *got, const uint8_t *expected,
                        size_t bytes, uint64_t *ret_bad);

/** Returns the number of so many bytes, at most 8, that lies in memory. */
static inline uint64_t rp_number_load(const uint8_t *at, unsigned bytes)
{
    uint64_t bits = 0;

    memcpy(&bits, at, bytes); /* The GPU is little endian, and so is this. */
    return bits;
}
/** A denormal number is not 0 and is smaller than the smallest number with full precision. */
bool rp_number_is_denormal(enum rp_number_type type, uint64_t bits);
/** Returns the distance between representable numbers; both zeros are the same. */
uint64_t rp_number_ulp_distance(enum rp_number_type type, uint64_t a, uint64_t b);

/** A number is right that satisfies one of them. */
struct rp_compare_rule {
    enum rp_number_type type;
    double abs, rel; /**< |got - expected| <= abs + rel * |expected| */
    uint64_t ulp;    /**< so many representable numbers away */
    bool normal;     /**< denormal numbers are exact: small integers look like these */
};

extern const struct rp_compare_rule rp_exact;

/**
 * Parses "exact", or a type and tolerances such as "rel=1e-5" (of f32) or "bf16,ulp=1,normal".
 * Without a tolerance numbers must be equal, so only the sign of a zero and the bits of a NaN may
 * differ.
 * @return 0 or RP_USAGE
 */
int rp_compare_rule_parse(const char *text, struct rp_compare_rule *ret, struct rp_err *err);

/**
 * Prints a rule as rp_compare_rule_parse() takes it, with three digits.
 * @return length, as snprintf
 */
int rp_compare_rule_print(const struct rp_compare_rule *rule, char *out, size_t room);

/**
 * Numbers are NaN where NaN is expected and only there; infinite ones are equal.
 * @param bytes    a multiple of 4; got and expected begin at the same offset of a region, a
 *                 multiple of 8
 * @param ret_bad  a bit for each word of 4 bytes that has a part in a number that is not right
 */
void rp_compare_words(const struct rp_compare_rule *rule, const uint8_t *got,
                      const uint8_t *expected, size_t bytes, uint64_t *ret_bad);

/* This says how far a wrong result is off, if it consists of numbers, as a hint at a tolerance. */

/** This is a word that is not what it should be. Zero-initialise it. */
struct rp_word_difference {
    bool any;
    uint64_t address;       /**< of 4 bytes */
    uint64_t got, expected; /**< these and the 4 bytes behind them */
    bool wide;              /**< those differ, too */
};

/**
 * Notes the first of the words, unless there is one already.
 * @param address  of the page
 * @param bad  a bit for each word of 4 bytes that is wrong
 */
void rp_word_difference_note(struct rp_word_difference *first, uint64_t address,
                             const uint64_t *bad, const uint8_t *got, const uint8_t *expected);

/** This collects mismatches. Zero-initialise it. */
struct rp_mismatch {
    uint64_t words; /**< of 4 bytes that differ */
    bool odd;       /**< one of them is the upper half of 8 bytes */
    bool far[2];    /**< as fp32, fp64: further than that, or no numbers */
    uint64_t steps[2];
};

/** Notes which words differ. @param bytes a multiple of 8 */
void rp_mismatch_note(struct rp_mismatch *off, const uint8_t *got, const uint8_t *expected,
                      size_t bytes);

/** @return whether all that differs is near, as numbers of *ret_type, and how many steps at most */
bool rp_mismatch_is_rounding(const struct rp_mismatch *off, enum rp_number_type *ret_type,
                             uint64_t *ret_steps);

/* Finds which words of memory the captured kernel writes, and what they must hold
 * before another kernel runs, which is anything but the right answer.
 *
 * Words that differ between the two states of a capture were written. A word may also have been
 * written with the value that it had already, such as a result that an earlier launch left. These
 * are found by running the captured kernel from memory in which words have bits flipped: a word
 * that does not keep its flipped bits was written. The place in memory decides which bits are
 * flipped. If all words had the same bit flipped, a kernel that copies or doubles would pass it
 * on, and its result would equal what was put there. A sort returns sorted input unchanged, so
 * words are exchanged as well.
 *
 * Words that the captured kernel gets right from any start are then poisoned before each run of
 * the other kernel. Words that it also reads (updates in place) keep their state before the
 * dispatch. A word that is written, not poisoned, and already right before the dispatch is blind:
 * it proves nothing.
 */

enum { RP_PAGE_WORDS = RP_PAGE_BYTES / 4, RP_PAGE_MASKS = RP_PAGE_WORDS / 64 };

static inline bool rp_word_in(const uint64_t *mask, size_t word)
{
    return mask[word / 64] >> (word % 64) & 1;
}

#endif

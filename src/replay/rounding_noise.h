/**
 * @file rounding_noise.h
 * @brief How much the last digits of a kernel's inputs change its results: what another order of
 *        its operations may change as well, where they are no sums of products.
 *
 * A kernel that is computed in another way, and as exactly, gives what the old way gives for inputs
 * that differ in their last digits (backward stability). So the captured kernel is run from inputs
 * that are off by some units in the last place, at random up or down, and what that changes,
 * divided by the units, is the noise of one. It is known for results of about one size in a page of
 * memory, not for one of them: where terms cancel, a result has the noise of what cancels.
 */
#ifndef RP_REPLAY_ROUNDING_NOISE_H
#define RP_REPLAY_ROUNDING_NOISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "replay/output_rules.h"
#include "replay/page_changes.h"

/* Inputs are moved by 16, 256 and 4096 units; of 16 bits, by 2, 8 and 32. Of few the results' own
 * rounding hides what they change; with many a kernel is no straight line any more. */
enum { RP_NOISE_LEVELS = 3 };

/* Results of one class have sizes that differ by no more than 2^4; together they reach from 2^-128
 * to 2^128, and results beyond are looked at one by one. */
enum { RP_NOISE_CLASSES = 64, RP_NOISE_CLASS_BITS = 4 };

/** Of a page: what has been noted for each level, and behind the last one what it says. */
struct rp_rounding_noise {
    double changed[RP_NOISE_LEVELS][RP_NOISE_CLASSES]; /**< root mean squares of a class */
    double of_one[RP_NOISE_CLASSES]; /**< unit; 0: the class does not follow its inputs */
    double moved; /**< root mean square of the results that follow theirs; 0: none does */
    uint32_t of_class[RP_NOISE_CLASSES]; /**< results */
    uint32_t count;                      /**< of them */
};

static inline bool rp_number_is_short(enum rp_number_type type)
{
    return rp_number_shape(type).bytes < 4;
}

static inline int rp_number_bits(enum rp_number_type type)
{
    return (int)rp_number_shape(type).fraction_bits;
}

/** Moves the numbers of a page, up or down as a seed says.
 * @return how many were moved; zeros, denormals and what is not finite stay */
uint64_t rp_noise_move(enum rp_number_type type, unsigned level, uint64_t seed, size_t bytes,
                       uint8_t *page);

/** Compares results with those of unmoved inputs, where words says that they are results. Levels
 * come in their order. A class follows its inputs if it does so as on a straight line between two
 * levels: about 16 times as much noise for 16 times as many units. A kernel that rounds to whole
 * numbers, counts or chooses gives 4 times as much, as 16 times as many results take a whole step.
 */
void rp_noise_note(enum rp_number_type type, unsigned level, const uint64_t *words,
                   const uint8_t *moved, const uint8_t *expected, struct rp_rounding_noise *noise);

/** Returns by how much a result of a size may be off when it is computed in another way: 8 times
 * what one unit in the last place makes, of the inputs and of results. The former is that of
 * results of its class, and of the next larger ones where these are fewer than 8; the latter is
 * that of the page's results that follow their inputs, which may cancel to it (up to 2^14 times its
 * size, where an eighth of the page is in its class). A result of a class that does not follow its
 * inputs has its own unit alone. It is computed in 32 bits at least: the unit is that of these for
 * shorter numbers, and their own rounding comes on top. */
double rp_noise_allowed(enum rp_number_type type, const struct rp_rounding_noise *noise,
                        double size);

#endif

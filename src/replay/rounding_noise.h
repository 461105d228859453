/**
 * @file rounding_noise.h
 * @brief How much the last digits of a kernel's inputs change its results: what another order of
 *        its operations may change as well, where they are no sums of products.
 *
 * A kernel that is computed in another way, and as exactly, gives what the old way gives for inputs
 * that differ in their last digits (backward stability). So the captured kernel is run from inputs
 * that are off by some units in the last place, at random up or down, and what that changes,
 * divided by the units, is the noise of one. It is known for a page of results, not for one of
 * them: where terms cancel, a result has the noise of what cancels.
 */
#ifndef RP_REPLAY_ROUNDING_NOISE_H
#define RP_REPLAY_ROUNDING_NOISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "replay/output_rules.h"
#include "replay/page_changes.h"

/* Inputs are moved by 16, 256 and 4096 units; of 16 bits, by 1, 4 and 16. Of few the results' own
 * rounding hides what they change; with many a kernel is no straight line any more. */
enum { RP_NOISE_LEVELS = 3 };

/** These are root mean squares over the results of a page that are numbers. */
struct rp_rounding_noise {
    double changed[RP_NOISE_LEVELS]; /**< by other inputs */
    double size;                     /**< of the results */
    size_t count;                    /**< of them */
};

static inline bool rp_number_is_short(enum rp_number_type type)
{
    return rp_number_shape(type).bytes < 4;
}

/** Moves the numbers of a page, up or down as a seed says.
 * @return how many were moved; zeros, denormals and what is not finite stay */
uint64_t rp_noise_move(enum rp_number_type type, unsigned level, uint64_t seed, size_t bytes,
                       uint8_t *page);

/** Compares results with those of unmoved inputs, where words says that they are results. */
void rp_noise_note(enum rp_number_type type, unsigned level, const uint64_t *words,
                   const uint8_t *moved, const uint8_t *expected, struct rp_rounding_noise *noise);

/** Says whether results follow their inputs as on a straight line, between two levels: about 16
 * times as much noise for 16 times as many units. A kernel that rounds to whole numbers, counts or
 * chooses gives 4 times as much, as 16 times as many results take a whole step. */
bool rp_noise_is_straight(enum rp_number_type type, const struct rp_rounding_noise *noise);

/** Returns by how much results of a page may be off when they are computed in another way: 8 times
 * what one unit in the last place of inputs and results makes, or of results alone, if they do not
 * follow their inputs. It is computed in 32 bits at least: the unit is that of these for shorter
 * numbers, and their own rounding comes on top. */
double rp_noise_allowed(enum rp_number_type type, const struct rp_rounding_noise *noise);

#endif

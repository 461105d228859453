/**
 * @file filling.h
 * @brief Configurations far from those already chosen: what to run when nothing is known.
 */
#ifndef RP_TUNE_FILLING_H
#define RP_TUNE_FILLING_H

#include <stddef.h>
#include <stdint.h>

#include "tune/random.h"

struct rp_err;
struct rp_space;

/** Where each value of each parameter is between its lowest, 0, and its highest, 1. Owned. */
struct rp_filling {
    const struct rp_space *space;
    float **places; /**< per parameter, by the value's number, and behind them of "no value" */
};

/** @return 0; RP_ENVIRONMENT */
int rp_filling_new(const struct rp_space *space, struct rp_filling *ret, struct rp_err *err);
void rp_filling_free(struct rp_filling *filling);

/** Sum over the parameters; a text is as far from another one as it gets. */
double rp_filling_distance(const struct rp_filling *filling, size_t a, size_t b);

/**
 * Of some configurations drawn at random, the one that is farthest from the nearest chosen one.
 * @param taken  one byte per configuration; those that are not 0 are not drawn
 * @return -1: none is free
 */
int64_t rp_filling_next(const struct rp_filling *filling, const uint8_t *taken,
                        const uint32_t *chosen, size_t count, struct rp_random *random);

/** Any free configuration, each as likely as the other or nearly so. @return -1: none is */
int64_t rp_filling_any(const struct rp_space *space, const uint8_t *taken,
                       struct rp_random *random);

#endif

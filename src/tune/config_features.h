/**
 * @file config_features.h
 * @brief What the model sees of a configuration: numbers that are known before it is run.
 *
 * For each parameter its value; for each two sizes (numbers above 0) their product and quotient,
 * because threads, tiles and work per thread are such; for each size how often 2 divides it, and
 * that of all sizes together; for texts one yes or no per value; for conditional parameters
 * whether they have a value. Features are given as ranks among the values that can occur (decision
 * trees see no more than their order), so no logarithm is needed and nothing depends on rounding.
 */
#ifndef RP_TUNE_CONFIG_FEATURES_H
#define RP_TUNE_CONFIG_FEATURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tune/random.h"

struct rp_err;
struct rp_space;

enum rp_feature_kind {
    RP_FEATURE_VALUE, /**< of a number, or of a text's place among more than RP_MAX_TEXT_FEATURES */
    RP_FEATURE_TEXT,  /**< 1: the parameter has the b-th value */
    RP_FEATURE_PRESENT,  /**< 1: the conditional parameter has a value */
    RP_FEATURE_PRODUCT,  /**< a * b */
    RP_FEATURE_QUOTIENT, /**< a / b */
    RP_FEATURE_TWOS,     /**< how often 2 divides it */
    RP_FEATURE_ALL_TWOS, /**< the sum of that over all sizes */
};

struct rp_config_feature {
    enum rp_feature_kind kind;
    uint16_t a, b;   /**< parameters, b only of pairs (a value's number for TEXT) */
    uint16_t levels; /**< codes are below it, at least 2 */
    uint16_t *codes; /**< by the value's number, or the pair of them; see bottleneck.c */
};

/** Owned; release with rp_features_free. */
struct rp_space_features {
    const struct rp_space *space; /**< has to live as long */
    struct rp_config_feature *feature;
    size_t count;
};

/** @param ret  count may be 0: then all configurations look alike. @return 0; RP_ENVIRONMENT */
int rp_features_new(const struct rp_space *space, struct rp_space_features *ret,
                    struct rp_err *err);
void rp_features_free(struct rp_space_features *features);

/** The configuration's code of each feature. */
void rp_features_of(const struct rp_space_features *features, size_t config, uint16_t *ret_codes);

/* Configurations of a space that differ from one in a single parameter. */

/** Zero-initialise; release with rp_neighbours_free. */
struct rp_neighbours {
    uint32_t *configs;
    size_t count, capacity;
    bool failed; /**< out of memory: some are missing */
};

/**
 * Finds them, in the order of parameters and values. Where the other value decides whether a
 * conditional parameter has one, the configurations in which that one follows count as well.
 */
void rp_neighbours_of(const struct rp_space *space, size_t config, struct rp_neighbours *ret);
void rp_neighbours_free(struct rp_neighbours *neighbours);

/* Configurations far from those already chosen: what to run when nothing is known. */

/** Where each value of each parameter is between its lowest, 0, and its highest, 1. Owned. */
struct rp_fill_in {
    const struct rp_space *space;
    float **places; /**< per parameter, by the value's number, and behind them of "no value" */
};

void rp_fill_in_new(const struct rp_space *space, struct rp_fill_in *ret);
void rp_fill_in_free(struct rp_fill_in *filling);

/**
 * Of some configurations drawn at random, the one that is farthest from the nearest chosen one.
 * @param taken  one byte per configuration; those that are not 0 are not drawn
 * @return -1: none is free
 */
int64_t rp_fill_in_farthest(const struct rp_fill_in *filling, const uint8_t *taken,
                            const uint32_t *chosen, size_t count, struct rp_random *random);

/** Any free configuration, each as likely as the other or nearly so. @return -1: none is */
int64_t rp_fill_in_random(const struct rp_space *space, const uint8_t *taken,
                          struct rp_random *random);

#endif

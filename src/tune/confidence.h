/**
 * @file confidence.h
 * @brief How far the model may be trusted: what it says of runs that it has not seen.
 *
 * Five times a fifth of the runs is left out, a model of the others is asked about them. A model
 * of trees is right about all runs that it knows, so that nothing but this tells anything.
 */
#ifndef RP_TUNE_CONFIDENCE_H
#define RP_TUNE_CONFIDENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tune/features.h"
#include "tune/model.h"

enum {
    RP_CONFIDENCE_SAMPLES = 10, /**< fewer runs that ended tell nothing */
    /** Fewer may fit well by luck, or because none is like the best ones: of 16 searches of a
     * recorded space with 10 and 15 runs 15 had a good fit, and 7 a best one 1.3 to 7.7 times as
     * slow as the optimum; with 30 runs 7 of 8 found it, and one was 1.23 times as slow. */
    RP_CONFIDENCE_TRUSTED = 30,
};

struct rp_confidence {
    size_t samples;      /**< runs that ended */
    bool known;          /**< there were enough, of several times; else the rest is 0, and low */
    double r2;           /**< of log_ms: 1 all explained, 0 no better than their mean, or below */
    double spearman;     /**< rank correlation of predicted and measured times */
    double coverage;     /**< share of times within the interval that should hold nine of ten */
    double residual_std; /**< of log_ms, about the share by which a prediction is off */
    /** r2 < 0.75, spearman < 0.8, coverage < 0.6 or too few: predictions must not be trusted. */
    bool low;
    /** Expected improvement of the most promising configuration that was not run, in log_ms. */
    double gain_left;
};

/** @return 0; RP_ENVIRONMENT */
int rp_confidence_of(const struct rp_space_features *features,
                     const struct rp_observation *observations, size_t count, uint64_t seed,
                     struct rp_confidence *ret, struct rp_err *err);

#endif

/**
 * @file model.h
 * @brief The surrogate: from what was told so far, what other configurations will take.
 *
 * It learns the logarithm of times, so that it is about ratios. Times above their median are drawn
 * together: how bad a bad configuration is does not matter, and the trees' splits go to the better
 * half. Failures are learned apart, as a probability; a run that was stopped counts as one that
 * took as long as it was given.
 */
#ifndef RP_TUNE_MODEL_H
#define RP_TUNE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tune/features.h"
#include "tune/strategy.h"
#include "tune/trees.h"

struct rp_observation {
    uint32_t config;
    enum rp_told told;
    double log_ms; /**< natural logarithm; of a failure nothing */
};

/** Owned; release with rp_model_free. */
struct rp_model {
    const struct rp_space_features *features;
    struct rp_trees time, success;
    bool has_failures;
    double best; /**< log_ms, of runs that ended */
};

struct rp_prediction {
    double mean, sd; /**< of log_ms; sd is never 0 */
    double success;  /**< probability */
};

/**
 * @param features      has to live as long
 * @param observations  at least one that ended
 * @return 0; RP_ENVIRONMENT; RP_BAD_INPUT: none ended
 */
int rp_model_fit(const struct rp_space_features *features,
                 const struct rp_observation *observations, size_t count, uint64_t seed,
                 struct rp_model *ret, struct rp_err *err);
void rp_model_free(struct rp_model *model);

enum { RP_MODEL_BLOCK = 256 /**< configurations at a time */ };

/** @param codes  room for RP_MODEL_BLOCK rows of features->count codes */
void rp_model_predict(const struct rp_model *model, const uint32_t *configs, size_t count,
                      uint16_t *codes, struct rp_prediction *ret);

/** How much faster than the best it will be on average, slower being 0, times that it runs. */
double rp_model_improvement(const struct rp_model *model, const struct rp_prediction *prediction);

#endif

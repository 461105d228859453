/**
 * @file surrogate.h
 * @brief Learns from a search: it has features of configurations, a model of their times, and says
 * how far that may be trusted.
 *
 * The model is of extremely randomized trees, a regression that also says where it knows little.
 * Each tree splits all samples until those of a leaf are alike; at each split one random cut per
 * feature is tried and the one that separates best is taken. The trees' mean is the prediction,
 * their disagreement how uncertain it is (Geurts, Ernst, Wehenkel: Extremely randomized trees,
 * Machine Learning 63, 2006).
 */
#ifndef RP_TUNE_SURROGATE_H
#define RP_TUNE_SURROGATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rp_err;
struct rp_space;

/* The model sees these numbers of a configuration, which are known before it is run. There are: for
 * each parameter its value; for each two sizes (numbers above 0) their product and quotient,
 * because threads, tiles and work per thread are such; for each size how often 2 divides it, and
 * that of all sizes together; for texts one yes or no per value; for conditional parameters whether
 * they have a value. Features are given as ranks among the values that can occur (decision trees
 * see no more than their order), so no logarithm is needed and nothing depends on rounding. */

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
    uint16_t *codes; /**< by the value's number, or the pair of them */
};

/** Release it with rp_features_free. */
struct rp_space_features {
    const struct rp_space *space; /**< has to live as long */
    struct rp_config_feature *feature;
    size_t count;
};

/** @return count may be 0: then all configurations look alike */
struct rp_space_features rp_features_new(const struct rp_space *space);
void rp_features_free(struct rp_space_features *features);

struct rp_tree_node {
    uint16_t feature, cut; /**< codes up to the cut go to child, others to child + 1 */
    uint32_t child;        /**< 0: a leaf */
    double value;          /**< of a leaf: the samples' mean */
};

/** It owns its arrays. */
struct rp_trees {
    struct rp_tree_node *nodes;
    uint32_t *roots;
    unsigned count;
    size_t features;
};

/* A strategy gets these results (tune/strategy.h). */

enum rp_reported {
    RP_REPORTED_OK,
    RP_REPORTED_FAILED,
    RP_REPORTED_CENSORED, /**< it was stopped: it takes at least that long */
};

/* The surrogate predicts from the results so far what other configurations will take. It learns the
 * logarithm of times, so that ratios count. Times above their median are drawn together: how bad a
 * bad configuration is does not matter, and the trees' splits go to the better half. Failures are
 * learned apart, as a probability; a run that was stopped counts as one that took as long as it was
 * given. */

struct rp_observation {
    uint32_t config;
    enum rp_reported told;
    double log_ms; /**< natural logarithm; of a failure nothing */
};

/** Release it with rp_model_free. */
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
 * @param features must live as long as the model
 * @param observations at least one that ended
 * @return 0; RP_BAD_INPUT: none ended
 */
int rp_model_fit(const struct rp_space_features *features,
                 const struct rp_observation *observations, size_t count, uint64_t seed,
                 struct rp_model *ret, struct rp_err *err);
void rp_model_free(struct rp_model *model);

enum { RP_MODEL_BLOCK = 256 /**< configurations at a time */ };

/** @param codes  room for RP_MODEL_BLOCK rows of features->count codes */
void rp_model_predict(const struct rp_model *model, const uint32_t *configs, size_t count,
                      uint16_t *codes, struct rp_prediction *ret);

/** Computes how much faster than the best it will be on average, where slower counts as 0, times
 * the probability that it runs. */
double rp_model_improvement(const struct rp_model *model, const struct rp_prediction *prediction);

/* Says how far the model may be trusted, by predicting runs that it has not seen. Five times a
 * fifth of the runs is left out, and a model of the others predicts it. A model of trees is right
 * about all runs that it knows, so no other test tells anything. */

enum {
    RP_CONFIDENCE_SAMPLES = 10, /**< fewer runs that ended tell nothing */
    /** Fewer runs may fit well by luck, or because none is like the best ones: of 16 searches of a
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
    /** With r2 < 0.75, spearman < 0.8, coverage < 0.6 or too few runs, predictions must not be
     * trusted. */
    bool low;
    /** This is the expected improvement of the most promising configuration that was not run, in
     * log_ms. */
    double gain_left;
};

/** @return 0; RP_BAD_INPUT: more samples than a model has room for */
int rp_confidence_of(const struct rp_space *space, const struct rp_observation *observations,
                     size_t count, uint64_t seed, struct rp_confidence *ret, struct rp_err *err);

#endif

/**
 * @file trees.h
 * @brief Extremely randomized trees: a regression that also says where it knows little.
 *
 * Each tree splits all samples until those of a leaf are alike; at each split one random cut per
 * feature is tried and the one that separates best is taken. The trees' mean is the prediction,
 * their disagreement how uncertain it is (Geurts, Ernst, Wehenkel: Extremely randomized trees,
 * Machine Learning 63, 2006).
 */
#ifndef RP_TUNE_TREES_H
#define RP_TUNE_TREES_H

#include <stddef.h>
#include <stdint.h>

struct rp_err;

struct rp_tree_node {
    uint16_t feature, cut; /**< codes up to the cut go to child, others to child + 1 */
    uint32_t child;        /**< 0: a leaf */
    double value;          /**< of a leaf: the samples' mean */
};

/** Owned; release with rp_trees_free. */
struct rp_trees {
    struct rp_tree_node *nodes;
    uint32_t *roots;
    unsigned count;
    size_t features;
};

/** Samples, one after the other: the codes of all features, and what is to be predicted. */
struct rp_samples {
    const uint16_t *codes; /**< count rows of features codes */
    const double *values;
    size_t count, features;
};

/** @return 0; RP_ENVIRONMENT; RP_BAD_INPUT: no sample */
int rp_trees_grow(const struct rp_samples *samples, unsigned trees, uint64_t seed,
                  struct rp_trees *ret, struct rp_err *err);
void rp_trees_free(struct rp_trees *trees);

/** For rows of codes. Variance is the trees' (over their number); NULL: not wanted. */
void rp_trees_predict(const struct rp_trees *trees, const uint16_t *codes, size_t rows,
                      double *ret_mean, double *ret_variance);

#endif

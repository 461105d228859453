#include "tune/trees.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "tune/random.h"

/** Of nodes that are still to be split: which samples of the order are theirs. */
struct part {
    uint32_t from, to;
};

struct grower {
    const struct rp_samples *samples;
    uint16_t *columns; /**< the codes feature by feature */
    uint32_t *order;   /**< the samples' numbers, those of a node side by side */
    struct part *parts;
    struct rp_tree_node *nodes; /**< of all trees */
    uint32_t count, capacity;
    struct rp_random random;
};

struct split {
    double gain;
    uint16_t feature, cut;
};

static void range_of(const uint16_t *column, const uint32_t *order, struct part part,
                     uint16_t *ret_low, uint16_t *ret_high)
{
    uint16_t low = column[order[part.from]], high = low;

    for (uint32_t i = part.from + 1; i < part.to; i++) {
        const uint16_t code = column[order[i]];

        low = code < low ? code : low;
        high = code > high ? code : high;
    }
    *ret_low = low;
    *ret_high = high;
}

/** What a cut takes off the squared deviations, but for a term that all cuts share. */
static double gain_of(const struct grower *grower, struct part part, const uint16_t *column,
                      uint16_t cut)
{
    const double *values = grower->samples->values;
    double sums[2] = {0, 0};
    uint32_t counts[2] = {0, 0};

    for (uint32_t i = part.from; i < part.to; i++) {
        const uint32_t sample = grower->order[i];
        const bool above = column[sample] > cut;

        sums[above] += values[sample];
        counts[above]++;
    }
    return sums[0] * sums[0] / counts[0] + sums[1] * sums[1] / counts[1];
}

static bool alike(const struct grower *grower, struct part part)
{
    const double *values = grower->samples->values;

    for (uint32_t i = part.from + 1; i < part.to; i++)
        if (values[grower->order[i]] != values[grower->order[part.from]])
            return false;
    return true;
}

/** @return false: the samples cannot be told apart */
static bool best_split(struct grower *grower, struct part part, struct split *ret)
{
    const size_t count = grower->samples->count;
    bool found = false;

    if (alike(grower, part))
        return false;
    for (size_t feature = 0; feature < grower->samples->features; feature++) {
        const uint16_t *column = grower->columns + feature * count;
        uint16_t low, high, cut;
        double gain;

        range_of(column, grower->order, part, &low, &high);
        if (low == high)
            continue;
        cut = (uint16_t)(low + rp_random_below(&grower->random, (uint32_t)(high - low)));
        gain = gain_of(grower, part, column, cut);
        if (!found || gain > ret->gain)
            *ret = (struct split){gain, (uint16_t)feature, cut};
        found = true;
    }
    return found;
}

/** Puts the samples up to the cut first. @return where the others begin */
static uint32_t divide(struct grower *grower, struct part part, struct split split)
{
    const uint16_t *column = grower->columns + split.feature * grower->samples->count;
    uint32_t *order = grower->order, middle = part.from;

    for (uint32_t i = part.from; i < part.to; i++)
        if (column[order[i]] <= split.cut) {
            const uint32_t sample = order[i];

            order[i] = order[middle];
            order[middle++] = sample;
        }
    return middle;
}

static double mean_of(const struct grower *grower, struct part part)
{
    double sum = 0;

    for (uint32_t i = part.from; i < part.to; i++)
        sum += grower->samples->values[grower->order[i]];
    return sum / (part.to - part.from);
}

/** A tree of n samples has at most 2 n - 1 nodes, for which there is room. */
static void grow_tree(struct grower *grower)
{
    const uint32_t root = grower->count++;

    for (uint32_t i = 0; i < grower->samples->count; i++)
        grower->order[i] = i;
    grower->parts[0] = (struct part){0, (uint32_t)grower->samples->count};
    for (uint32_t at = root; at < grower->count; at++) {
        const struct part part = grower->parts[at - root];
        struct split split = {0};
        uint32_t middle;

        if (!best_split(grower, part, &split)) {
            grower->nodes[at] = (struct rp_tree_node){.value = mean_of(grower, part)};
            continue;
        }
        middle = divide(grower, part, split);
        grower->nodes[at] = (struct rp_tree_node){
            .feature = split.feature, .cut = split.cut, .child = grower->count};
        grower->parts[grower->count - root] = (struct part){part.from, middle};
        grower->parts[grower->count + 1 - root] = (struct part){middle, part.to};
        grower->count += 2;
    }
}

static void free_grower(struct grower *grower)
{
    free(grower->columns);
    free(grower->order);
    free(grower->parts);
    free(grower->nodes);
}

static bool prepare(struct grower *grower, const struct rp_samples *samples, unsigned trees)
{
    const size_t nodes = 2 * samples->count;

    grower->samples = samples;
    grower->columns = malloc(samples->count * samples->features * sizeof *grower->columns + 1);
    grower->order = malloc(samples->count * sizeof *grower->order);
    grower->parts = malloc(nodes * sizeof *grower->parts);
    grower->nodes = malloc(nodes * trees * sizeof *grower->nodes);
    if (!grower->columns || !grower->order || !grower->parts || !grower->nodes)
        return false;
    for (size_t i = 0; i < samples->count; i++)
        for (size_t j = 0; j < samples->features; j++)
            grower->columns[j * samples->count + i] = samples->codes[i * samples->features + j];
    return true;
}

int rp_trees_grow(const struct rp_samples *samples, unsigned trees, uint64_t seed,
                  struct rp_trees *ret, struct rp_err *err)
{
    rp_cleanup(free_grower) struct grower grower = {.random = rp_random_new(seed)};
    rp_autofree uint32_t *roots = calloc(trees, sizeof *roots);

    if (samples->count == 0 || samples->count > UINT32_MAX / 2 / trees)
        return rp_fail(err, RP_BAD_INPUT, "a model of %zu samples", samples->count);
    if (!prepare(&grower, samples, trees) || !roots)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory for the model");
    for (unsigned i = 0; i < trees; i++) {
        roots[i] = grower.count;
        grow_tree(&grower);
    }
    *ret = (struct rp_trees){.nodes = rp_steal(grower.nodes),
                             .roots = rp_steal(roots),
                             .count = trees,
                             .features = samples->features};
    return 0;
}

void rp_trees_free(struct rp_trees *trees)
{
    if (!trees)
        return;
    free(trees->nodes);
    free(trees->roots);
    *trees = (struct rp_trees){0};
}

static double walk(const struct rp_tree_node *nodes, uint32_t at, const uint16_t *codes)
{
    while (nodes[at].child)
        at = nodes[at].child + (codes[nodes[at].feature] > nodes[at].cut);
    return nodes[at].value;
}

/** Tree by tree, so that the nodes of one stay in the cache for all rows. */
void rp_trees_predict(const struct rp_trees *trees, const uint16_t *codes, size_t rows,
                      double *ret_mean, double *ret_variance)
{
    memset(ret_mean, 0, rows * sizeof *ret_mean);
    if (ret_variance)
        memset(ret_variance, 0, rows * sizeof *ret_variance);
    for (unsigned i = 0; i < trees->count; i++)
        for (size_t row = 0; row < rows; row++) {
            const double value = walk(trees->nodes, trees->roots[i], codes + row * trees->features);
            const double off = value - ret_mean[row];

            /* Welford's update */
            ret_mean[row] += off / (i + 1);
            if (ret_variance)
                ret_variance[row] += off * (value - ret_mean[row]);
        }
    for (size_t row = 0; ret_variance && row < rows; row++)
        ret_variance[row] /= trees->count;
}

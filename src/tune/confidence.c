#include "tune/confidence.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "tune/random.h"
#include "tune/space.h"
#include "tune/trees.h"

enum { FOLDS = 5, TREES = 40, MOST_SCORED = 1 << 17 };

static const double least_r2 = 0.75, least_spearman = 0.8, least_coverage = 0.6;
/** Of a normal distribution, nine tenths are this many standard deviations from the mean. */
static const double nine_tenths = 1.6448536269514722, noise = 0.02;

struct check {
    const struct rp_space_features *features;
    uint32_t *configs; /**< in random order */
    double *measured, *predicted, *sd;
    size_t count;
    uint16_t *codes; /**< of one fold's samples */
    double *values;
    size_t *order; /**< for ranks */
    double *ranks[2];
};

static void free_check(struct check *c)
{
    free(c->configs);
    free(c->measured);
    free(c->predicted);
    free(c->sd);
    free(c->codes);
    free(c->values);
    free(c->order);
    free(c->ranks[0]);
    free(c->ranks[1]);
}

static bool room(struct check *c, size_t count)
{
    c->configs = malloc(count * sizeof *c->configs + 1);
    c->measured = malloc(count * sizeof *c->measured + 1);
    c->predicted = malloc(count * sizeof *c->predicted + 1);
    c->sd = malloc(count * sizeof *c->sd + 1);
    c->codes = malloc(count * c->features->count * sizeof *c->codes + 1);
    c->values = malloc(count * sizeof *c->values + 1);
    c->order = malloc(count * sizeof *c->order + 1);
    c->ranks[0] = malloc(count * sizeof *c->ranks[0] + 1);
    c->ranks[1] = malloc(count * sizeof *c->ranks[1] + 1);
    return c->configs && c->measured && c->predicted && c->sd && c->codes && c->values &&
           c->order && c->ranks[0] && c->ranks[1];
}

/** Runs that ended, shuffled: a search looks at similar ones one after the other. */
static void collect(struct check *c, const struct rp_observation *observations, size_t count,
                    uint64_t seed)
{
    struct rp_random random = rp_random_new(seed);

    for (size_t i = 0; i < count; i++) {
        const size_t at = rp_random_below(&random, (uint32_t)c->count + 1);

        if (observations[i].told != RP_TOLD_OK)
            continue;
        c->configs[c->count] = c->configs[at];
        c->measured[c->count] = c->measured[at];
        c->configs[at] = observations[i].config;
        c->measured[at] = observations[i].log_ms;
        c->count++;
    }
}

/** Of each fifth sample from the fold's number on, by a model of all others. */
static int predict_fold(struct check *c, size_t fold, uint64_t seed, struct rp_err *err)
{
    const size_t width = c->features->count;
    struct rp_samples samples = {.codes = c->codes, .values = c->values, .features = width};
    struct rp_trees trees;

    for (size_t i = 0; i < c->count; i++) {
        if (i % FOLDS == fold)
            continue;
        rp_features_of(c->features, c->configs[i], c->codes + samples.count * width);
        c->values[samples.count++] = c->measured[i];
    }
    if (rp_trees_grow(&samples, TREES, seed + fold, &trees, err) < 0)
        return -RP_ENVIRONMENT;
    for (size_t i = fold; i < c->count; i += FOLDS) {
        double variance;

        rp_features_of(c->features, c->configs[i], c->codes);
        rp_trees_predict(&trees, c->codes, 1, &c->predicted[i], &variance);
        c->sd[i] = sqrt(variance + noise * noise);
    }
    rp_trees_free(&trees);
    return 0;
}

static int compare_at(const void *left, const void *right, void *of)
{
    const double *values = of, a = values[*(const size_t *)left],
                 b = values[*(const size_t *)right];

    return (a > b) - (a < b);
}

/** Equal values share the mean of their ranks. */
static void rank(const struct check *c, double *values, double *ranks)
{
    for (size_t i = 0; i < c->count; i++)
        c->order[i] = i;
    qsort_r(c->order, c->count, sizeof *c->order, compare_at, values);
    for (size_t from = 0, to; from < c->count; from = to) {
        for (to = from; to < c->count && values[c->order[to]] == values[c->order[from]];)
            to++;
        for (size_t i = from; i < to; i++)
            ranks[c->order[i]] = (double)(from + to - 1) / 2;
    }
}

/** Where one of them is always the same they agree only if the other is as well. */
static double correlation(const double *a, const double *b, size_t count)
{
    double ma = 0, mb = 0, ab = 0, aa = 0, bb = 0;

    for (size_t i = 0; i < count; i++) {
        ma += a[i] / (double)count;
        mb += b[i] / (double)count;
    }
    for (size_t i = 0; i < count; i++) {
        ab += (a[i] - ma) * (b[i] - mb);
        aa += (a[i] - ma) * (a[i] - ma);
        bb += (b[i] - mb) * (b[i] - mb);
    }
    if (aa == 0 || bb == 0)
        return aa == bb;
    return ab / sqrt(aa * bb);
}

static void sum_up(struct check *c, struct rp_confidence *ret)
{
    const double n = (double)c->count;
    double mean = 0, total = 0, rest = 0, within = 0;

    for (size_t i = 0; i < c->count; i++)
        mean += c->measured[i] / n;
    for (size_t i = 0; i < c->count; i++) {
        const double off = c->predicted[i] - c->measured[i];

        total += (c->measured[i] - mean) * (c->measured[i] - mean);
        rest += off * off;
        within += fabs(off) <= nine_tenths * c->sd[i];
    }
    if (total <= 1e-18 * n) /* they differ by rounding only: nothing can be explained */
        return;
    rank(c, c->measured, c->ranks[0]);
    rank(c, c->predicted, c->ranks[1]);
    ret->known = true;
    ret->r2 = 1 - rest / total;
    ret->spearman = correlation(c->ranks[0], c->ranks[1], c->count);
    ret->coverage = within / n;
    ret->residual_std = sqrt(rest / n);
    ret->low = ret->r2 < least_r2 || ret->spearman < least_spearman ||
               ret->coverage < least_coverage || c->count < RP_CONFIDENCE_TRUSTED;
}

/** All configurations that were not run, or of a large space as many at random. */
static double largest_gain(const struct rp_model *model, const uint8_t *taken, uint16_t *codes,
                           uint64_t seed)
{
    const uint32_t count = (uint32_t)model->features->space->count;
    const bool all = count <= MOST_SCORED;
    struct rp_random random = rp_random_new(seed);
    double most = 0;

    for (uint32_t i = 0; i < (all ? count : MOST_SCORED); i++) {
        const uint32_t config = all ? i : rp_random_below(&random, count);
        struct rp_prediction prediction;

        if (taken[config])
            continue;
        rp_model_predict(model, &config, 1, codes, &prediction);
        most = fmax(most, rp_model_improvement(model, &prediction));
    }
    return most;
}

static int find_gain(const struct rp_space_features *features,
                     const struct rp_observation *observations, size_t count, uint64_t seed,
                     struct rp_confidence *ret, struct rp_err *err)
{
    rp_cleanup(rp_model_free) struct rp_model model = {0};
    rp_autofree uint8_t *taken = calloc(features->space->count + 1, 1);
    rp_autofree uint16_t *codes = malloc(RP_MODEL_BLOCK * (features->count + 1) * sizeof *codes);

    if (!taken || !codes)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory for the model's check");
    for (size_t i = 0; i < count; i++)
        taken[observations[i].config] = 1;
    if (rp_model_fit(features, observations, count, seed, &model, err) < 0)
        return -RP_ENVIRONMENT;
    ret->gain_left = largest_gain(&model, taken, codes, seed);
    return 0;
}

int rp_confidence_of(const struct rp_space_features *features,
                     const struct rp_observation *observations, size_t count, uint64_t seed,
                     struct rp_confidence *ret, struct rp_err *err)
{
    rp_cleanup(free_check) struct check check = {.features = features};
    struct rp_confidence confidence = {.low = true};

    if (!room(&check, count + 1))
        return rp_fail(err, RP_ENVIRONMENT, "out of memory for the model's check");
    collect(&check, observations, count, seed);
    confidence.samples = check.count;
    for (size_t fold = 0; check.count >= RP_CONFIDENCE_SAMPLES && fold < FOLDS; fold++)
        if (predict_fold(&check, fold, seed, err) < 0)
            return -RP_ENVIRONMENT;
    if (check.count >= RP_CONFIDENCE_SAMPLES)
        sum_up(&check, &confidence);
    if (check.count && find_gain(features, observations, count, seed, &confidence, err) < 0)
        return -RP_ENVIRONMENT;
    *ret = confidence;
    return 0;
}

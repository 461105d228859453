#include "tune/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "tune/numeric.h"

enum { TIME_TREES = 40, SUCCESS_TREES = 30 };

/** Spread of a time that all trees agree on: two in a hundred. */
static const double noise = 0.02;
/** By how much differences of times above the median count less. */
static const double slow_share = 0.1;
/** A configuration is never ruled out for good. */
static const double least_success = 0.02;

static int compare_doubles(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

struct learned {
    uint16_t *codes;
    double *times, *successes, *sorted;
    size_t timed; /**< the first rows of codes: those with times */
};

static void free_learned(struct learned *learned)
{
    free(learned->codes);
    free(learned->times);
    free(learned->successes);
    free(learned->sorted);
}

static bool room(struct learned *learned, size_t count, size_t features)
{
    learned->codes = malloc(count * features * sizeof *learned->codes + 1);
    learned->times = malloc(count * sizeof *learned->times);
    learned->successes = malloc(count * sizeof *learned->successes);
    learned->sorted = malloc(count * sizeof *learned->sorted);
    return learned->codes && learned->times && learned->successes && learned->sorted;
}

static void draw_together(struct learned *learned)
{
    double median;

    memcpy(learned->sorted, learned->times, learned->timed * sizeof *learned->sorted);
    qsort(learned->sorted, learned->timed, sizeof *learned->sorted, compare_doubles);
    median = learned->sorted[learned->timed / 2];
    for (size_t i = 0; i < learned->timed; i++)
        if (learned->times[i] > median)
            learned->times[i] = median + slow_share * (learned->times[i] - median);
}

/** Those with times first, failures behind them. */
static void collect(const struct rp_space_features *features,
                    const struct rp_observation *observations, size_t count, struct learned *to)
{
    size_t row = 0;

    for (int failed = 0; failed < 2; failed++) {
        for (size_t i = 0; i < count; i++) {
            if ((observations[i].told == RP_TOLD_FAILED) != failed)
                continue;
            rp_features_of(features, observations[i].config, to->codes + row * features->count);
            to->times[row] = observations[i].log_ms;
            to->successes[row++] = !failed;
        }
        if (!failed)
            to->timed = row;
    }
    draw_together(to);
}

int rp_model_fit(const struct rp_space_features *features,
                 const struct rp_observation *observations, size_t count, uint64_t seed,
                 struct rp_model *ret, struct rp_err *err)
{
    rp_cleanup(free_learned) struct learned learned = {0};
    rp_cleanup(rp_model_free) struct rp_model model = {.features = features, .best = HUGE_VAL};
    struct rp_samples samples;
    int rc = 0;

    for (size_t i = 0; i < count; i++)
        if (observations[i].told == RP_TOLD_OK && observations[i].log_ms < model.best)
            model.best = observations[i].log_ms;
    if (model.best == HUGE_VAL)
        return rp_fail(err, RP_BAD_INPUT, "no configuration has run yet");
    if (!room(&learned, count, features->count))
        return rp_fail(err, RP_ENVIRONMENT, "out of memory for the model");
    collect(features, observations, count, &learned);
    samples = (struct rp_samples){.codes = learned.codes,
                                  .values = learned.times,
                                  .count = learned.timed,
                                  .features = features->count};
    model.has_failures = learned.timed < count;
    rc = rp_trees_grow(&samples, TIME_TREES, seed, &model.time, err);
    samples.values = learned.successes;
    samples.count = count;
    if (rc == 0 && model.has_failures)
        rc = rp_trees_grow(&samples, SUCCESS_TREES, ~seed, &model.success, err);
    if (rc < 0)
        return rc;
    *ret = model;
    model = (struct rp_model){0};
    return 0;
}

void rp_model_free(struct rp_model *model)
{
    if (!model)
        return;
    rp_trees_free(&model->time);
    rp_trees_free(&model->success);
    *model = (struct rp_model){0};
}

static void predict_block(const struct rp_model *model, const uint32_t *configs, size_t count,
                          uint16_t *codes, struct rp_prediction *ret)
{
    double mean[RP_MODEL_BLOCK], variance[RP_MODEL_BLOCK], success[RP_MODEL_BLOCK];

    for (size_t i = 0; i < count; i++)
        rp_features_of(model->features, configs[i], codes + i * model->features->count);
    rp_trees_predict(&model->time, codes, count, mean, variance);
    if (model->has_failures)
        rp_trees_predict(&model->success, codes, count, success, NULL);
    for (size_t i = 0; i < count; i++)
        ret[i] = (struct rp_prediction){.mean = mean[i],
                                        .sd = sqrt(variance[i] + noise * noise),
                                        .success = model->has_failures ? success[i] : 1};
}

void rp_model_predict(const struct rp_model *model, const uint32_t *configs, size_t count,
                      uint16_t *codes, struct rp_prediction *ret)
{
    for (size_t from = 0; from < count; from += RP_MODEL_BLOCK) {
        const size_t block = count - from < RP_MODEL_BLOCK ? count - from : RP_MODEL_BLOCK;

        predict_block(model, configs + from, block, codes, ret + from);
    }
}

double rp_model_improvement(const struct rp_model *model, const struct rp_prediction *prediction)
{
    const double success =
        prediction->success > least_success ? prediction->success : least_success;

    return success * rp_expected_improvement(prediction->mean, prediction->sd, model->best);
}

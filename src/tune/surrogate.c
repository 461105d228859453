#include "tune/surrogate.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/stats.h"
#include "tune/space.h"

/* --- features --------------------------------------------------------------------------------- */

enum {
    RP_MAX_TEXT_FEATURES = 32,
    RP_MAX_FEATURES = 512, /**< products and quotients beyond it are left out */
};

/* Codes of one parameter are a table of its values and, behind them, of "no value"; codes of two
 * are a table of (count of a + 1) * (count of b + 1). */
enum { MOST_PAIRS = UINT16_MAX };

/* --- what parameters are ---------------------------------------------------------------------- */

static bool is_number(const struct rp_parameter *parameter)
{
    double number;

    for (size_t i = 0; i < parameter->count; i++)
        if (!rp_value_number(&parameter->values[i], &number))
            return false;
    return true;
}

static bool is_size(const struct rp_parameter *parameter)
{
    double number;

    for (size_t i = 0; i < parameter->count; i++)
        if (!rp_value_number(&parameter->values[i], &number) || number <= 0)
            return false;
    return parameter->count > 1;
}

static double number_of(const struct rp_parameter *parameter, size_t value)
{
    double number = 0;

    rp_value_number(&parameter->values[value], &number);
    return number;
}

/** Counts how often 2 divides a whole number; other numbers have none. */
static unsigned twos_of(double number)
{
    unsigned twos = 0;

    while (twos < 63 && fmod(number, 2) == 0) {
        number /= 2;
        twos++;
    }
    return twos;
}

static bool may_be_absent(const struct rp_space *space, size_t parameter)
{
    for (size_t i = 0; space->conditional && i < space->count; i++)
        if (rp_space_row(space, i)[parameter] == RP_NO_VALUE)
            return true;
    return false;
}

/* --- numbers to ranks ------------------------------------------------------------------------- */

struct ranked {
    double number;
    size_t at;
};

static int compare_ranked(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;

    return (a->number > b->number) - (a->number < b->number);
}

/** Equal numbers get equal codes, from 1 on. 0 is for a value that has none.
 * @return the codes */
static size_t rank_numbers(struct ranked *ranked, size_t count, uint16_t *codes)
{
    size_t code = 0;

    qsort(ranked, count, sizeof *ranked, compare_ranked);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || ranked[i].number != ranked[i - 1].number)
            code++;
        codes[ranked[i].at] = (uint16_t)code;
    }
    return code + 1;
}

/** Adds a feature and takes over the codes. A feature that is the same for all values is dropped.
 */
static void add(struct rp_space_features *features, struct rp_config_feature feature)
{
    if (feature.levels < 3 &&
        (feature.kind == RP_FEATURE_VALUE || feature.kind >= RP_FEATURE_PRODUCT)) {
        free(feature.codes);
        return;
    }
    features->feature[features->count++] = feature;
}

static double combined(enum rp_feature_kind kind, double a, double b)
{
    switch (kind) {
    case RP_FEATURE_PRODUCT:
        return a * b;
    case RP_FEATURE_QUOTIENT:
        return a / b;
    case RP_FEATURE_TWOS:
        return twos_of(a);
    default:
        return a;
    }
}

/** These codes are the numbers themselves instead of ranks, because they are added up. */
static size_t count_twos(const struct rp_parameter *parameter, uint16_t *codes)
{
    size_t most = 0;

    for (size_t i = 0; i < parameter->count; i++) {
        codes[i] = (uint16_t)(1 + twos_of(number_of(parameter, i)));
        most = codes[i] > most ? codes[i] : most;
    }
    return most + 1;
}

/** For features of one parameter, b is a. */
static void add_ranked(struct rp_space_features *features, enum rp_feature_kind kind, size_t a,
                       size_t b)
{
    const struct rp_parameter *pa = &features->space->parameters[a];
    const struct rp_parameter *pb = &features->space->parameters[b];
    const bool pair = kind == RP_FEATURE_PRODUCT || kind == RP_FEATURE_QUOTIENT;
    const size_t row = pair ? pb->count + 1 : 1;
    rp_autofree struct ranked *ranked = rp_alloc_zero(pa->count * row, sizeof *ranked);
    uint16_t *codes = rp_alloc_zero((pa->count + 1) * row, sizeof *codes);
    size_t count = 0, levels = 0;

    for (size_t i = 0; i < pa->count; i++)
        for (size_t j = 0; j < (pair ? pb->count : 1); j++)
            ranked[count++] = (struct ranked){
                combined(kind, number_of(pa, i), pair ? number_of(pb, j) : 0), i * row + j};
    levels = rank_numbers(ranked, count, codes);
    if (kind == RP_FEATURE_TWOS && levels > 2)
        levels = count_twos(pa, codes);
    add(features, (struct rp_config_feature){.kind = kind,
                                             .a = (uint16_t)a,
                                             .b = (uint16_t)b,
                                             .levels = (uint16_t)levels,
                                             .codes = codes});
}

/* --- one parameter ---------------------------------------------------------------------------- */

/** The code is 1 for the value of that number; when which is the count, for all values. */
static void add_yes_or_no(struct rp_space_features *features, enum rp_feature_kind kind,
                          size_t parameter, size_t which)
{
    const size_t count = features->space->parameters[parameter].count;
    uint16_t *codes = rp_alloc_zero(count + 1, sizeof *codes);

    for (size_t i = 0; i < count; i++)
        codes[i] = kind == RP_FEATURE_PRESENT || i == which;
    add(features, (struct rp_config_feature){.kind = kind,
                                             .a = (uint16_t)parameter,
                                             .b = (uint16_t)which,
                                             .levels = 2,
                                             .codes = codes});
}

/** There are more texts than features for each, so their order is used as given. */
static void add_order(struct rp_space_features *features, size_t parameter)
{
    const size_t count = features->space->parameters[parameter].count;
    uint16_t *codes = rp_alloc_zero(count + 1, sizeof *codes);

    for (size_t i = 0; i < count; i++)
        codes[i] = (uint16_t)(i + 1);
    add(features, (struct rp_config_feature){.kind = RP_FEATURE_VALUE,
                                             .a = (uint16_t)parameter,
                                             .levels = (uint16_t)(count + 1),
                                             .codes = codes});
}

static void add_texts(struct rp_space_features *features, size_t parameter)
{
    const size_t count = features->space->parameters[parameter].count;

    if (count > RP_MAX_TEXT_FEATURES || features->count + count > RP_MAX_FEATURES) {
        add_order(features, parameter);
        return;
    }
    for (size_t i = count == 2; count > 1 && i < count; i++)
        add_yes_or_no(features, RP_FEATURE_TEXT, parameter, i);
}

static void add_parameter(struct rp_space_features *features, size_t parameter)
{
    const struct rp_parameter *p = &features->space->parameters[parameter];

    if (is_number(p))
        add_ranked(features, RP_FEATURE_VALUE, parameter, parameter);
    else
        add_texts(features, parameter);
    if (features->count < RP_MAX_FEATURES && may_be_absent(features->space, parameter))
        add_yes_or_no(features, RP_FEATURE_PRESENT, parameter, p->count);
    if (features->count < RP_MAX_FEATURES && is_size(p))
        add_ranked(features, RP_FEATURE_TWOS, parameter, parameter);
}

/* --- several ---------------------------------------------------------------------------------- */

static void add_pair(struct rp_space_features *features, size_t a, size_t b)
{
    const struct rp_parameter *p = features->space->parameters;

    if (features->count + 2 > RP_MAX_FEATURES || (p[a].count + 1) * (p[b].count + 1) > MOST_PAIRS ||
        !is_size(&p[a]) || !is_size(&p[b]))
        return;
    add_ranked(features, RP_FEATURE_PRODUCT, a, b);
    add_ranked(features, RP_FEATURE_QUOTIENT, a, b);
}

static void add_all_twos(struct rp_space_features *features)
{
    size_t sizes = 0;

    for (size_t i = 0; i < features->count; i++)
        sizes += features->feature[i].kind == RP_FEATURE_TWOS;
    /* It has no codes, because it is the sum itself. */
    if (sizes >= 2 && features->count < RP_MAX_FEATURES)
        add(features, (struct rp_config_feature){.kind = RP_FEATURE_ALL_TWOS,
                                                 .levels = (uint16_t)(64 * sizes)});
}

struct rp_space_features rp_features_new(const struct rp_space *space)
{
    struct rp_space_features features = {.space = space};

    features.feature = rp_alloc_zero(RP_MAX_FEATURES, sizeof *features.feature);
    for (size_t i = 0; i < space->parameter_count; i++)
        if (features.count + 3 <= RP_MAX_FEATURES)
            add_parameter(&features, i);
    add_all_twos(&features);
    for (size_t i = 0; i < space->parameter_count; i++)
        for (size_t j = i + 1; j < space->parameter_count; j++)
            add_pair(&features, i, j);
    return features;
}

void rp_features_free(struct rp_space_features *features)
{
    if (!features)
        return;
    for (size_t i = 0; i < features->count; i++)
        free(features->feature[i].codes);
    free(features->feature);
    *features = (struct rp_space_features){0};
}

static size_t place(const struct rp_space *space, const uint16_t *row, size_t parameter)
{
    return row[parameter] == RP_NO_VALUE ? space->parameters[parameter].count : row[parameter];
}

/** Computes the configuration's code of each feature. */
static void features_of(const struct rp_space_features *features, size_t config,
                        uint16_t *ret_codes)
{
    const struct rp_space *space = features->space;
    const uint16_t *row = rp_space_row(space, config);
    unsigned twos = 0;

    for (size_t i = 0; i < features->count; i++) {
        const struct rp_config_feature *feature = &features->feature[i];
        size_t at = place(space, row, feature->a);

        switch (feature->kind) {
        case RP_FEATURE_ALL_TWOS:
            ret_codes[i] = (uint16_t)twos;
            break;
        case RP_FEATURE_PRODUCT:
        case RP_FEATURE_QUOTIENT:
            at = at * (space->parameters[feature->b].count + 1) + place(space, row, feature->b);
            ret_codes[i] = feature->codes[at];
            break;
        default:
            ret_codes[i] = feature->codes[at];
            if (feature->kind == RP_FEATURE_TWOS) /* All of them come before their sum. */
                twos += feature->codes[at];
        }
    }
}

/* --- trees ------------------------------------------------------------------------------------ */

/** Samples stand one after the other: the codes of all features, and the number that is to be
 * predicted. */
struct rp_samples {
    const uint16_t *codes; /**< count rows of features codes */
    const double *values;
    size_t count, features;
};

/** Nodes that are still to be split have these samples of the order. */
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

/** Computes by how much a cut reduces the squared deviations, without a term that all cuts share.
 */
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

/** Puts the samples up to the cut first.
 * @return where the others begin */
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

static void prepare(struct grower *grower, const struct rp_samples *samples, unsigned trees)
{
    const size_t nodes = 2 * samples->count;

    grower->samples = samples;
    grower->columns = rp_alloc(samples->count * samples->features * sizeof *grower->columns + 1);
    grower->order = rp_alloc(samples->count * sizeof *grower->order);
    grower->parts = rp_alloc(nodes * sizeof *grower->parts);
    grower->nodes = rp_alloc(nodes * trees * sizeof *grower->nodes);
    for (size_t i = 0; i < samples->count; i++)
        for (size_t j = 0; j < samples->features; j++)
            grower->columns[j * samples->count + i] = samples->codes[i * samples->features + j];
}

/** @return 0; RP_BAD_INPUT: no sample */
static int trees_grow(const struct rp_samples *samples, unsigned trees, uint64_t seed,
                      struct rp_trees *ret, struct rp_err *err)
{
    rp_cleanup(free_grower) struct grower grower = {.random = rp_random_new(seed)};
    rp_autofree uint32_t *roots = rp_alloc_zero(trees, sizeof *roots);

    if (samples->count == 0 || samples->count > UINT32_MAX / 2 / trees)
        return rp_fail(err, RP_BAD_INPUT, "a model of %zu samples", samples->count);
    prepare(&grower, samples, trees);
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

static void rp_trees_free(struct rp_trees *trees)
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

/** Predicts rows of codes. The variance is that of the trees, divided by their number; NULL: not
 * wanted. It goes tree by tree, so that the nodes of one stay in the cache for all rows. */
static void trees_predict(const struct rp_trees *trees, const uint16_t *codes, size_t rows,
                          double *ret_mean, double *ret_variance)
{
    memset(ret_mean, 0, rows * sizeof *ret_mean);
    if (ret_variance)
        memset(ret_variance, 0, rows * sizeof *ret_variance);
    for (unsigned i = 0; i < trees->count; i++)
        for (size_t row = 0; row < rows; row++) {
            const double value = walk(trees->nodes, trees->roots[i], codes + row * trees->features);
            const double off = value - ret_mean[row];

            /* This is Welford's update. */
            ret_mean[row] += off / (i + 1);
            if (ret_variance)
                ret_variance[row] += off * (value - ret_mean[row]);
        }
    for (size_t row = 0; ret_variance && row < rows; row++)
        ret_variance[row] /= trees->count;
}

enum { TIME_TREES = 40, SUCCESS_TREES = 30 };

/** A time on which all trees agree still has a spread of two in a hundred. */
static const double model_noise = 0.02;

/** Differences of times above the median count less by this factor. */
static const double slow_share = 0.1;

/** With this minimum a configuration is never ruled out for good. */
static const double least_success = 0.02;

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

static void room(struct learned *learned, size_t count, size_t features)
{
    learned->codes = rp_alloc(count * features * sizeof *learned->codes + 1);
    learned->times = rp_alloc(count * sizeof *learned->times);
    learned->successes = rp_alloc(count * sizeof *learned->successes);
    learned->sorted = rp_alloc(count * sizeof *learned->sorted);
}

static void draw_together(struct learned *learned)
{
    double median;

    memcpy(learned->sorted, learned->times, learned->timed * sizeof *learned->sorted);
    rp_sort_numbers(learned->sorted, learned->timed);
    median = learned->sorted[learned->timed / 2];
    for (size_t i = 0; i < learned->timed; i++)
        if (learned->times[i] > median)
            learned->times[i] = median + slow_share * (learned->times[i] - median);
}

/** Samples with times come first, and failures behind them. */
static void collect(const struct rp_space_features *features,
                    const struct rp_observation *observations, size_t count, struct learned *to)
{
    size_t row = 0;

    for (int failed = 0; failed < 2; failed++) {
        for (size_t i = 0; i < count; i++) {
            if ((observations[i].told == RP_REPORTED_FAILED) != failed)
                continue;
            features_of(features, observations[i].config, to->codes + row * features->count);
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
        if (observations[i].told == RP_REPORTED_OK && observations[i].log_ms < model.best)
            model.best = observations[i].log_ms;
    if (model.best == HUGE_VAL)
        return rp_fail(err, RP_BAD_INPUT, "no configuration has run yet");
    room(&learned, count, features->count);
    collect(features, observations, count, &learned);
    samples = (struct rp_samples){.codes = learned.codes,
                                  .values = learned.times,
                                  .count = learned.timed,
                                  .features = features->count};
    model.has_failures = learned.timed < count;
    rc = trees_grow(&samples, TIME_TREES, seed, &model.time, err);
    samples.values = learned.successes;
    samples.count = count;
    if (rc == 0 && model.has_failures)
        rc = trees_grow(&samples, SUCCESS_TREES, ~seed, &model.success, err);
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
        features_of(model->features, configs[i], codes + i * model->features->count);
    trees_predict(&model->time, codes, count, mean, variance);
    if (model->has_failures)
        trees_predict(&model->success, codes, count, success, NULL);
    for (size_t i = 0; i < count; i++)
        ret[i] = (struct rp_prediction){.mean = mean[i],
                                        .sd = sqrt(variance[i] + model_noise * model_noise),
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

enum { FOLDS = 5, TREES = 40, MOST_SCORED = 1 << 17 };

static const double least_r2 = 0.75, least_spearman = 0.8, least_coverage = 0.6;

/** In a normal distribution, nine tenths are within this many standard deviations from the mean. */
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

static void confidence_room(struct check *c, size_t count)
{
    c->configs = rp_alloc(count * sizeof *c->configs + 1);
    c->measured = rp_alloc(count * sizeof *c->measured + 1);
    c->predicted = rp_alloc(count * sizeof *c->predicted + 1);
    c->sd = rp_alloc(count * sizeof *c->sd + 1);
    c->codes = rp_alloc(count * c->features->count * sizeof *c->codes + 1);
    c->values = rp_alloc(count * sizeof *c->values + 1);
    c->order = rp_alloc(count * sizeof *c->order + 1);
    c->ranks[0] = rp_alloc(count * sizeof *c->ranks[0] + 1);
    c->ranks[1] = rp_alloc(count * sizeof *c->ranks[1] + 1);
}

/** Runs that ended are shuffled, because a search looks at similar ones one after the other. */
static void confidence_collect(struct check *c, const struct rp_observation *observations,
                               size_t count, uint64_t seed)
{
    struct rp_random random = rp_random_new(seed);

    for (size_t i = 0; i < count; i++) {
        const size_t at = rp_random_below(&random, (uint32_t)c->count + 1);

        if (observations[i].told != RP_REPORTED_OK)
            continue;
        c->configs[c->count] = c->configs[at];
        c->measured[c->count] = c->measured[at];
        c->configs[at] = observations[i].config;
        c->measured[at] = observations[i].log_ms;
        c->count++;
    }
}

/** Predicts each fifth sample from the fold's number on, by a model of all others. */
static int predict_fold(struct check *c, size_t fold, uint64_t seed, struct rp_err *err)
{
    const size_t width = c->features->count;
    struct rp_samples samples = {.codes = c->codes, .values = c->values, .features = width};
    struct rp_trees trees;

    for (size_t i = 0; i < c->count; i++) {
        if (i % FOLDS == fold)
            continue;
        features_of(c->features, c->configs[i], c->codes + samples.count * width);
        c->values[samples.count++] = c->measured[i];
    }
    if (trees_grow(&samples, TREES, seed + fold, &trees, err) < 0)
        return -(int)err->code;
    for (size_t i = fold; i < c->count; i += FOLDS) {
        double variance;

        features_of(c->features, c->configs[i], c->codes);
        trees_predict(&trees, c->codes, 1, &c->predicted[i], &variance);
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

/** If one of them is constant, they agree only if the other is constant as well. */
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
    if (total <= 1e-18 * n) /* They differ by rounding only, so nothing can be explained. */
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

/** Looks at all configurations that were not run. In a large space it looks at as many at random.
 */
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
    rp_autofree uint8_t *taken = rp_alloc_zero(features->space->count + 1, 1);
    rp_autofree uint16_t *codes = rp_alloc(RP_MODEL_BLOCK * (features->count + 1) * sizeof *codes);

    for (size_t i = 0; i < count; i++)
        taken[observations[i].config] = 1;
    if (rp_model_fit(features, observations, count, seed, &model, err) < 0)
        return -(int)err->code;
    ret->gain_left = largest_gain(&model, taken, codes, seed);
    return 0;
}

int rp_confidence_of(const struct rp_space *space, const struct rp_observation *observations,
                     size_t count, uint64_t seed, struct rp_confidence *ret, struct rp_err *err)
{
    rp_cleanup(rp_features_free) struct rp_space_features features = rp_features_new(space);
    rp_cleanup(free_check) struct check check = {.features = &features};
    struct rp_confidence confidence = {.low = true};

    confidence_room(&check, count + 1);
    confidence_collect(&check, observations, count, seed);
    confidence.samples = check.count;
    for (size_t fold = 0; check.count >= RP_CONFIDENCE_SAMPLES && fold < FOLDS; fold++)
        if (predict_fold(&check, fold, seed, err) < 0)
            return -(int)err->code;
    if (check.count >= RP_CONFIDENCE_SAMPLES)
        sum_up(&check, &confidence);
    if (check.count && find_gain(&features, observations, count, seed, &confidence, err) < 0)
        return -(int)err->code;
    *ret = confidence;
    return 0;
}

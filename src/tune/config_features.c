#include "tune/config_features.h"

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

enum {
    RP_MAX_TEXT_FEATURES = 32,
    RP_MAX_FEATURES = 512, /**< products and quotients beyond it are left out */
};

/* Codes of one parameter are a table of its values and, behind them, of "no value"; codes of two
 * are a table of (count of a + 1) * (count of b + 1). */
enum { MOST_PAIRS = UINT16_MAX };

/* --- what parameters are -------------------------------------------------------------------- */

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

/** Of a whole number; others have none. */
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

/* --- numbers to ranks ------------------------------------------------------------------------ */

struct ranked {
    double number;
    size_t at;
};

static int compare_ranked(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;

    return (a->number > b->number) - (a->number < b->number);
}

/** Equal numbers get equal codes, from 1 on; 0 is for what has none. @return the codes */
static size_t rank(struct ranked *ranked, size_t count, uint16_t *codes)
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

/** Takes the codes. One that is the same for all values is no feature. */
static int add(struct rp_space_features *features, struct rp_config_feature feature,
               struct rp_err *err)
{
    (void)err;
    if (feature.levels < 3 &&
        (feature.kind == RP_FEATURE_VALUE || feature.kind >= RP_FEATURE_PRODUCT)) {
        free(feature.codes);
        return 0;
    }
    features->feature[features->count++] = feature;
    return 0;
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

/** Their number itself instead of its rank, from 1 on: these are summed up. */
static size_t count_twos(const struct rp_parameter *parameter, uint16_t *codes)
{
    size_t most = 0;

    for (size_t i = 0; i < parameter->count; i++) {
        codes[i] = (uint16_t)(1 + twos_of(number_of(parameter, i)));
        most = codes[i] > most ? codes[i] : most;
    }
    return most + 1;
}

/** b is a for features of one parameter. */
static int add_ranked(struct rp_space_features *features, enum rp_feature_kind kind, size_t a,
                      size_t b, struct rp_err *err)
{
    const struct rp_parameter *pa = &features->space->parameters[a];
    const struct rp_parameter *pb = &features->space->parameters[b];
    const bool pair = kind == RP_FEATURE_PRODUCT || kind == RP_FEATURE_QUOTIENT;
    const size_t row = pair ? pb->count + 1 : 1;
    rp_autofree struct ranked *ranked = rp_alloc_zero(pa->count * row, sizeof *ranked);
    uint16_t *codes = rp_alloc_zero((pa->count + 1) * row, sizeof *codes);
    size_t count = 0, levels = 0;

    if (ranked && codes) {
        for (size_t i = 0; i < pa->count; i++)
            for (size_t j = 0; j < (pair ? pb->count : 1); j++)
                ranked[count++] = (struct ranked){
                    combined(kind, number_of(pa, i), pair ? number_of(pb, j) : 0), i * row + j};
        levels = rank(ranked, count, codes);
        if (kind == RP_FEATURE_TWOS && levels > 2)
            levels = count_twos(pa, codes);
    } else {
        free(codes);
        codes = NULL;
    }
    return add(features,
               (struct rp_config_feature){.kind = kind,
                                          .a = (uint16_t)a,
                                          .b = (uint16_t)b,
                                          .levels = (uint16_t)levels,
                                          .codes = codes},
               err);
}

/* --- one parameter --------------------------------------------------------------------------- */

/** 1 for the value of that number, or for all values when which is the count. */
static int add_yes_or_no(struct rp_space_features *features, enum rp_feature_kind kind,
                         size_t parameter, size_t which, struct rp_err *err)
{
    const size_t count = features->space->parameters[parameter].count;
    uint16_t *codes = rp_alloc_zero(count + 1, sizeof *codes);

    for (size_t i = 0; codes && i < count; i++)
        codes[i] = kind == RP_FEATURE_PRESENT || i == which;
    return add(features,
               (struct rp_config_feature){.kind = kind,
                                          .a = (uint16_t)parameter,
                                          .b = (uint16_t)which,
                                          .levels = 2,
                                          .codes = codes},
               err);
}

/** More texts than one question for each can be asked about: their order as given. */
static int add_order(struct rp_space_features *features, size_t parameter, struct rp_err *err)
{
    const size_t count = features->space->parameters[parameter].count;
    uint16_t *codes = rp_alloc_zero(count + 1, sizeof *codes);

    for (size_t i = 0; codes && i < count; i++)
        codes[i] = (uint16_t)(i + 1);
    return add(features,
               (struct rp_config_feature){.kind = RP_FEATURE_VALUE,
                                          .a = (uint16_t)parameter,
                                          .levels = (uint16_t)(count + 1),
                                          .codes = codes},
               err);
}

static int add_texts(struct rp_space_features *features, size_t parameter, struct rp_err *err)
{
    const size_t count = features->space->parameters[parameter].count;
    int rc = 0;

    if (count > RP_MAX_TEXT_FEATURES || features->count + count > RP_MAX_FEATURES)
        return add_order(features, parameter, err);
    for (size_t i = count == 2; rc == 0 && count > 1 && i < count; i++)
        rc = add_yes_or_no(features, RP_FEATURE_TEXT, parameter, i, err);
    return rc;
}

static int add_parameter(struct rp_space_features *features, size_t parameter, struct rp_err *err)
{
    const struct rp_parameter *p = &features->space->parameters[parameter];
    int rc = is_number(p) ? add_ranked(features, RP_FEATURE_VALUE, parameter, parameter, err)
                          : add_texts(features, parameter, err);

    if (rc == 0 && features->count < RP_MAX_FEATURES && may_be_absent(features->space, parameter))
        rc = add_yes_or_no(features, RP_FEATURE_PRESENT, parameter, p->count, err);
    if (rc == 0 && features->count < RP_MAX_FEATURES && is_size(p))
        rc = add_ranked(features, RP_FEATURE_TWOS, parameter, parameter, err);
    return rc;
}

/* --- several --------------------------------------------------------------------------------- */

static int add_pair(struct rp_space_features *features, size_t a, size_t b, struct rp_err *err)
{
    const struct rp_parameter *p = features->space->parameters;

    if (features->count + 2 > RP_MAX_FEATURES || (p[a].count + 1) * (p[b].count + 1) > MOST_PAIRS ||
        !is_size(&p[a]) || !is_size(&p[b]))
        return 0;
    if (add_ranked(features, RP_FEATURE_PRODUCT, a, b, err) < 0)
        return -RP_ENVIRONMENT;
    return add_ranked(features, RP_FEATURE_QUOTIENT, a, b, err);
}

static int add_all_twos(struct rp_space_features *features, struct rp_err *err)
{
    size_t sizes = 0;
    uint16_t *codes;

    for (size_t i = 0; i < features->count; i++)
        sizes += features->feature[i].kind == RP_FEATURE_TWOS;
    if (sizes < 2 || features->count == RP_MAX_FEATURES)
        return 0;
    codes = rp_alloc_zero(1, sizeof *codes); /* not used: the code is the sum itself */
    return add(features,
               (struct rp_config_feature){
                   .kind = RP_FEATURE_ALL_TWOS, .levels = (uint16_t)(64 * sizes), .codes = codes},
               err);
}

int rp_features_new(const struct rp_space *space, struct rp_space_features *ret, struct rp_err *err)
{
    rp_cleanup(rp_features_free) struct rp_space_features features = {.space = space};
    int rc = 0;

    features.feature = rp_alloc_zero(RP_MAX_FEATURES, sizeof *features.feature);
    for (size_t i = 0; rc == 0 && i < space->parameter_count; i++)
        if (features.count + 3 <= RP_MAX_FEATURES)
            rc = add_parameter(&features, i, err);
    if (rc == 0)
        rc = add_all_twos(&features, err);
    for (size_t i = 0; rc == 0 && i < space->parameter_count; i++)
        for (size_t j = i + 1; rc == 0 && j < space->parameter_count; j++)
            rc = add_pair(&features, i, j, err);
    if (rc < 0)
        return rc;
    *ret = features;
    features = (struct rp_space_features){0};
    return 0;
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

void rp_features_of(const struct rp_space_features *features, size_t config, uint16_t *ret_codes)
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
            if (feature->kind == RP_FEATURE_TWOS) /* all of them come before their sum */
                twos += feature->codes[at];
        }
    }
}

/** Of parameters with many values only those this many places away in the file are neighbours. */
enum { RP_NEIGHBOUR_PLACES = 64 };

static void keep(struct rp_neighbours *to, int64_t config)
{
    if (config < 0)
        return;
    if (to->count == to->capacity) {
        const size_t capacity = to->capacity ? 2 * to->capacity : 64;
        uint32_t *grown = rp_realloc(to->configs, capacity * sizeof *grown);

        if (!grown) {
            to->failed = true;
            return;
        }
        to->configs = grown;
        to->capacity = capacity;
    }
    to->configs[to->count++] = (uint32_t)config;
}

/** The row exists only with another parameter's value taken away, or with one given to it. */
static void keep_followers(const struct rp_space *space, uint16_t *row, size_t changed,
                           struct rp_neighbours *to)
{
    for (size_t i = 0; i < space->parameter_count; i++) {
        const uint16_t was = row[i];
        const size_t values = was == RP_NO_VALUE ? space->parameters[i].count : 0;

        if (i == changed)
            continue;
        row[i] = RP_NO_VALUE;
        if (was != RP_NO_VALUE)
            keep(to, rp_space_find(space, row));
        for (size_t value = 0; value < values && value < RP_NEIGHBOUR_PLACES; value++) {
            row[i] = (uint16_t)value;
            keep(to, rp_space_find(space, row));
        }
        row[i] = was;
    }
}

static void change(const struct rp_space *space, uint16_t *row, size_t parameter,
                   struct rp_neighbours *to)
{
    const uint16_t was = row[parameter];
    const size_t count = space->parameters[parameter].count;
    const size_t middle = was == RP_NO_VALUE ? 0 : was;
    const size_t from = middle > RP_NEIGHBOUR_PLACES ? middle - RP_NEIGHBOUR_PLACES : 0;

    for (size_t value = from; value < count && value <= middle + RP_NEIGHBOUR_PLACES; value++) {
        const size_t before = to->count;

        if (value == was)
            continue;
        row[parameter] = (uint16_t)value;
        keep(to, rp_space_find(space, row));
        if (to->count == before && was != RP_NO_VALUE && space->conditional)
            keep_followers(space, row, parameter, to);
    }
    if (was != RP_NO_VALUE && space->conditional) {
        row[parameter] = RP_NO_VALUE;
        keep(to, rp_space_find(space, row));
    }
    row[parameter] = was;
}

void rp_neighbours_of(const struct rp_space *space, size_t config, struct rp_neighbours *ret)
{
    uint16_t row[RP_MAX_PARAMETERS];

    memcpy(row, rp_space_row(space, config), space->parameter_count * sizeof *row);
    ret->count = 0;
    for (size_t i = 0; i < space->parameter_count; i++)
        change(space, row, i, ret);
}

void rp_neighbours_free(struct rp_neighbours *neighbours)
{
    if (!neighbours)
        return;
    free(neighbours->configs);
    *neighbours = (struct rp_neighbours){0};
}

enum { DRAWS = 8, TRIES = 64 };

/** The share of values below it: numbers by size, whatever their order in the file. */
static float *places_of(const struct rp_parameter *parameter)
{
    rp_autofree double *sorted = rp_alloc_zero(parameter->count, sizeof *sorted);
    float *places = rp_alloc_zero(parameter->count + 1, sizeof *places);

    if (!sorted || !places) {
        free(places);
        return NULL;
    }
    for (size_t i = 0; i < parameter->count; i++)
        if (!rp_value_number(&parameter->values[i], &sorted[i]))
            goto texts;
    rp_sort_numbers(sorted, parameter->count);
    for (size_t i = 0; i < parameter->count; i++) {
        double number = 0;
        size_t low = 0, high = parameter->count;

        rp_value_number(&parameter->values[i], &number);
        while (low < high) {
            const size_t middle = low + (high - low) / 2;

            if (sorted[middle] < number)
                low = middle + 1;
            else
                high = middle;
        }
        places[i] = parameter->count > 1 ? (float)low / (float)(parameter->count - 1) : 0;
    }
    places[parameter->count] = -1;
    return places;
texts: /* one apart from each other */
    for (size_t i = 0; i <= parameter->count; i++)
        places[i] = (float)(2 + i);
    return places;
}

void rp_fill_in_new(const struct rp_space *space, struct rp_fill_in *ret)
{
    rp_cleanup(rp_fill_in_free) struct rp_fill_in filling = {.space = space};

    filling.places = rp_alloc_zero(space->parameter_count + 1, sizeof *filling.places);
    for (size_t i = 0; filling.places && i < space->parameter_count; i++)
        filling.places[i] = places_of(&space->parameters[i]);
    *ret = filling;
    filling = (struct rp_fill_in){0};
}

void rp_fill_in_free(struct rp_fill_in *filling)
{
    if (!filling)
        return;
    for (size_t i = 0; filling->places && i < filling->space->parameter_count; i++)
        free(filling->places[i]);
    free(filling->places);
    *filling = (struct rp_fill_in){0};
}

static double filling_place(const struct rp_fill_in *filling, size_t config, size_t parameter)
{
    const uint16_t choice = rp_space_row(filling->space, config)[parameter];
    const size_t count = filling->space->parameters[parameter].count;

    return (double)filling->places[parameter][choice == RP_NO_VALUE ? count : choice];
}

/** Sum over the parameters; a text is as far from another one as it gets. */
static double rp_fill_in_distance(const struct rp_fill_in *filling, size_t a, size_t b)
{
    double sum = 0;

    for (size_t i = 0; i < filling->space->parameter_count; i++) {
        const double off = filling_place(filling, a, i) - filling_place(filling, b, i);
        const double size = off < 0 ? -off : off;

        sum += size < 1 ? size : 1;
    }
    return sum;
}

int64_t rp_fill_in_random(const struct rp_space *space, const uint8_t *taken,
                          struct rp_random *random)
{
    uint32_t at;

    if (space->count == 0)
        return -1;
    for (int i = 0; i < TRIES; i++) {
        at = rp_random_below(random, (uint32_t)space->count);
        if (!taken[at])
            return at;
    }
    for (size_t i = 0; i < space->count; i++)
        if (!taken[(at + i) % space->count])
            return (int64_t)((at + i) % space->count);
    return -1;
}

int64_t rp_fill_in_farthest(const struct rp_fill_in *filling, const uint8_t *taken,
                            const uint32_t *chosen, size_t count, struct rp_random *random)
{
    double farthest = -1;
    int64_t best = -1;

    for (int i = 0; i < DRAWS; i++) {
        const int64_t config = rp_fill_in_random(filling->space, taken, random);
        double nearest = 1e300;

        for (size_t j = 0; config >= 0 && j < count; j++) {
            const double distance = rp_fill_in_distance(filling, (size_t)config, chosen[j]);

            nearest = distance < nearest ? distance : nearest;
        }
        if (config >= 0 && nearest > farthest) {
            farthest = nearest;
            best = config;
        }
    }
    return best;
}

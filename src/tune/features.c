#include "tune/features.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "tune/space.h"

/* Codes of one parameter are a table of its values and, behind them, of "no value"; codes of two
 * are a table of (count of a + 1) * (count of b + 1). */
enum { MOST_PAIRS = UINT16_MAX };

static int out_of_memory(struct rp_err *err)
{
    return rp_fail(err, RP_ENVIRONMENT, "out of memory for the model's features");
}

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
    if (!feature.codes)
        return out_of_memory(err);
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
    rp_autofree struct ranked *ranked = calloc(pa->count * row, sizeof *ranked);
    uint16_t *codes = calloc((pa->count + 1) * row, sizeof *codes);
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
    uint16_t *codes = calloc(count + 1, sizeof *codes);

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
    uint16_t *codes = calloc(count + 1, sizeof *codes);

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

    if (count > RP_MOST_TEXTS || features->count + count > RP_MOST_FEATURES)
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

    if (rc == 0 && features->count < RP_MOST_FEATURES && may_be_absent(features->space, parameter))
        rc = add_yes_or_no(features, RP_FEATURE_PRESENT, parameter, p->count, err);
    if (rc == 0 && features->count < RP_MOST_FEATURES && is_size(p))
        rc = add_ranked(features, RP_FEATURE_TWOS, parameter, parameter, err);
    return rc;
}

/* --- several --------------------------------------------------------------------------------- */

static int add_pair(struct rp_space_features *features, size_t a, size_t b, struct rp_err *err)
{
    const struct rp_parameter *p = features->space->parameters;

    if (features->count + 2 > RP_MOST_FEATURES ||
        (p[a].count + 1) * (p[b].count + 1) > MOST_PAIRS || !is_size(&p[a]) || !is_size(&p[b]))
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
    if (sizes < 2 || features->count == RP_MOST_FEATURES)
        return 0;
    codes = calloc(1, sizeof *codes); /* not used: the code is the sum itself */
    return add(features,
               (struct rp_config_feature){
                   .kind = RP_FEATURE_ALL_TWOS, .levels = (uint16_t)(64 * sizes), .codes = codes},
               err);
}

int rp_features_new(const struct rp_space *space, struct rp_space_features *ret, struct rp_err *err)
{
    rp_cleanup(rp_features_free) struct rp_space_features features = {.space = space};
    int rc = 0;

    features.feature = calloc(RP_MOST_FEATURES, sizeof *features.feature);
    if (!features.feature)
        return out_of_memory(err);
    for (size_t i = 0; rc == 0 && i < space->parameter_count; i++)
        if (features.count + 3 <= RP_MOST_FEATURES)
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

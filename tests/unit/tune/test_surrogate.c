/* The model of a space: what it sees of a configuration, its trees, and how far it says it may be
 * trusted. */
#include "tune/surrogate.h"

#include <math.h>
#include <stdio.h>

#include "base/err.h"
#include "base/stats.h"
#include "tune/space.h"
#include "unit/cmocka_all.h"
#include "unit/tune/made_space.h"

#include "tune/surrogate.c"

/* What the model sees of a configuration, and which configurations are next to each other. */

static const int test_sizes[] = {8, 2, 4}, others[] = {1, 6}, flags[] = {0, 1}, one[] = {5};

static const struct rp_config_feature *find(const struct rp_space_features *features,
                                            enum rp_feature_kind kind, size_t a, size_t b,
                                            size_t *ret_at)
{
    for (*ret_at = 0; *ret_at < features->count; ++*ret_at) {
        const struct rp_config_feature *feature = &features->feature[*ret_at];

        if (feature->kind == kind && feature->a == a && feature->b == b)
            return feature;
    }
    return NULL;
}

static uint16_t test_code(const struct rp_space_features *features, enum rp_feature_kind kind,
                          size_t a, size_t b, size_t config)
{
    uint16_t codes[RP_MAX_FEATURES];
    size_t at;

    assert_non_null(find(features, kind, a, b, &at));
    features_of(features, config, codes);
    assert_true(codes[at] < features->feature[at].levels);
    return codes[at];
}

static void numbers_are_ordered_by_size(void **state)
{
    struct rp_space *space = rp_space_new();
    struct rp_space_features features;
    size_t at;

    (void)state;
    made_parameter(space, "a", test_sizes, 3);
    made_parameter(space, "b", others, 2);
    made_parameter(space, "flag", flags, 2);
    made_parameter(space, "one", one, 1);
    made_product(space); /* a is counted up first: 8 1, 2 1, 4 1, 8 6, 2 6, 4 6, then the flag */
    features = rp_features_new(space);
    assert_int_equal(test_code(&features, RP_FEATURE_VALUE, 0, 0, 0), 3);
    assert_int_equal(test_code(&features, RP_FEATURE_VALUE, 0, 0, 1), 1);
    assert_int_equal(test_code(&features, RP_FEATURE_VALUE, 2, 2, 0), 1);
    assert_int_equal(test_code(&features, RP_FEATURE_VALUE, 2, 2, 6), 2);
    /* products 2 4 8 12 24 48, quotients 1/3 2/3 4/3 2 4 8 */
    assert_int_equal(test_code(&features, RP_FEATURE_PRODUCT, 0, 1, 0), 3);
    assert_int_equal(test_code(&features, RP_FEATURE_PRODUCT, 0, 1, 3), 6);
    assert_int_equal(test_code(&features, RP_FEATURE_PRODUCT, 0, 1, 4), 4);
    assert_int_equal(test_code(&features, RP_FEATURE_QUOTIENT, 0, 1, 4), 1);
    assert_int_equal(test_code(&features, RP_FEATURE_QUOTIENT, 0, 1, 0), 6);
    /* counted from 1: 8 has 3 twos, 6 has one; together with the constant's none */
    assert_int_equal(test_code(&features, RP_FEATURE_TWOS, 0, 0, 0), 4);
    assert_int_equal(test_code(&features, RP_FEATURE_TWOS, 1, 1, 3), 2);
    assert_int_equal(test_code(&features, RP_FEATURE_ALL_TWOS, 0, 0, 3), 6);
    /* a flag has no products, a constant is nothing */
    assert_null(find(&features, RP_FEATURE_PRODUCT, 0, 2, &at));
    assert_null(find(&features, RP_FEATURE_VALUE, 3, 3, &at));
    rp_features_free(&features);
    rp_space_free(space);
}

static void texts_and_conditions_are_questions(void **state)
{
    const struct rp_value texts[] = {{.kind = RP_VALUE_TEXT, .text = "x"},
                                     {.kind = RP_VALUE_TEXT, .text = "y"},
                                     {.kind = RP_VALUE_TEXT, .text = "z"}};
    struct rp_space *space = rp_space_new();
    struct rp_err err = RP_ERR_INIT;
    struct rp_space_features features;

    (void)state;
    assert_int_equal(rp_space_add_parameter(space, "text", texts, 3, &err), 0);
    made_parameter(space, "size", test_sizes, 3);
    made_row(space, (uint16_t[]){0, 0});
    made_row(space, (uint16_t[]){2, RP_NO_VALUE});
    features = rp_features_new(space);
    assert_int_equal(test_code(&features, RP_FEATURE_TEXT, 0, 0, 0), 1);
    assert_int_equal(test_code(&features, RP_FEATURE_TEXT, 0, 0, 1), 0);
    assert_int_equal(test_code(&features, RP_FEATURE_TEXT, 0, 2, 1), 1);
    assert_int_equal(test_code(&features, RP_FEATURE_PRESENT, 1, 3, 0), 1);
    assert_int_equal(test_code(&features, RP_FEATURE_PRESENT, 1, 3, 1), 0);
    assert_int_equal(test_code(&features, RP_FEATURE_VALUE, 1, 1, 1), 0);
    rp_features_free(&features);
    rp_space_free(space);
}

static void nothing_to_see(void **state)
{
    struct rp_space *space = rp_space_new();
    struct rp_space_features features;

    (void)state;
    made_parameter(space, "one", one, 1);
    made_product(space);
    features = rp_features_new(space);
    assert_int_equal(features.count, 0);
    features_of(&features, 0, NULL);
    rp_features_free(&features);
    rp_space_free(space);
}

static void many_parameters_have_as_many_features_as_there_is_room_for(void **state)
{
    struct rp_space *space = rp_space_new();
    struct rp_space_features features;
    uint16_t codes[RP_MAX_FEATURES], row[RP_MAX_PARAMETERS] = {0};
    char name[16];

    (void)state;
    for (int i = 0; i < RP_MAX_PARAMETERS; i++) {
        snprintf(name, sizeof name, "p%d", i);
        made_parameter(space, name, test_sizes, 3);
    }
    for (uint16_t i = 0; i < 3; i++) {
        row[255] = i;
        made_row(space, row);
    }
    features = rp_features_new(space);
    assert_true(features.count <= RP_MAX_FEATURES && features.count > 500);
    features_of(&features, 2, codes);
    rp_features_free(&features);
    rp_space_free(space);
}

/* Extra trees: what is known is given back, what is not lies between; and samples that cannot be
 * told apart. */

static struct rp_trees grow(const uint16_t *codes, const double *values, size_t count,
                            size_t features, uint64_t seed)
{
    struct rp_err err = RP_ERR_INIT;
    struct rp_trees trees;

    assert_int_equal(
        trees_grow(&(struct rp_samples){codes, values, count, features}, 40, seed, &trees, &err),
        0);
    return trees;
}

static void samples_are_given_back(void **state)
{
    enum { COUNT = 60 };
    uint16_t codes[2 * COUNT];
    double values[COUNT], mean[COUNT], variance[COUNT];
    struct rp_trees trees;

    (void)state;
    for (uint16_t i = 0; i < COUNT; i++) {
        codes[2 * i] = i % 10;
        codes[2 * i + 1] = i / 10;
        values[i] = i * 37 % 11;
    }
    trees = grow(codes, values, COUNT, 2, 1);
    trees_predict(&trees, codes, COUNT, mean, variance);
    for (size_t i = 0; i < COUNT; i++) {
        assert_true(fabs(mean[i] - values[i]) < 1e-12);
        assert_true(variance[i] < 1e-20);
    }
    rp_trees_free(&trees);
}

static void between_samples_trees_disagree(void **state)
{
    const uint16_t codes[] = {0, 100}, asked[] = {0, 25, 50, 75, 100};
    const double values[] = {0, 1};
    struct rp_trees trees;
    double mean[5], variance[5];

    (void)state;
    trees = grow(codes, values, 2, 1, 5);
    trees_predict(&trees, asked, 5, mean, variance);
    for (int i = 1; i < 5; i++)
        assert_true(mean[i] >= mean[i - 1]);
    assert_true(mean[0] == 0 && mean[4] == 1 && mean[2] > 0.2 && mean[2] < 0.8);
    assert_true(variance[0] == 0 && variance[2] > 0.15 && variance[2] <= 0.25);
    rp_trees_free(&trees);
}

/** Two features say nothing, one has a step: the model finds the step. */
static void a_step_among_noise_is_found(void **state)
{
    enum { COUNT = 200 };
    struct rp_random random = rp_random_new(3);
    uint16_t codes[3 * COUNT];
    double values[COUNT], mean, variance;
    struct rp_trees trees;
    size_t wrong = 0;

    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        for (size_t j = 0; j < 3; j++)
            codes[3 * i + j] = (uint16_t)rp_random_below(&random, 16);
        values[i] = codes[3 * i + 1] > 7;
    }
    trees = grow(codes, values, COUNT, 3, 1);
    for (int i = 0; i < 1000; i++) {
        uint16_t row[3];

        for (size_t j = 0; j < 3; j++)
            row[j] = (uint16_t)rp_random_below(&random, 16);
        trees_predict(&trees, row, 1, &mean, &variance);
        wrong += (mean > 0.5) != (row[1] > 7);
    }
    assert_true(wrong < 20);
    rp_trees_free(&trees);
}

static void the_same_seed_grows_the_same_trees(void **state)
{
    uint16_t codes[100], asked[] = {3, 7};
    double values[50], a, b, c, variance;
    struct rp_trees first, second, other;

    (void)state;
    for (uint16_t i = 0; i < 50; i++) {
        codes[2 * i] = i;
        codes[2 * i + 1] = i * 7 % 50;
        values[i] = i * 13 % 17;
    }
    first = grow(codes, values, 50, 2, 9);
    second = grow(codes, values, 50, 2, 9);
    other = grow(codes, values, 50, 2, 10);
    trees_predict(&first, asked, 1, &a, &variance);
    trees_predict(&second, asked, 1, &b, &variance);
    trees_predict(&other, asked, 1, &c, &variance);
    assert_true(a == b && a != c);
    rp_trees_free(&first);
    rp_trees_free(&second);
    rp_trees_free(&other);
}

static void samples_that_are_alike(void **state)
{
    const uint16_t codes[] = {4, 4, 4}, apart[] = {1, 2, 3};
    const double values[] = {1, 2, 6}, equal[] = {5, 5, 5};
    struct rp_err err = RP_ERR_INIT;
    struct rp_trees trees;
    double mean, variance;

    (void)state;
    trees = grow(codes, values, 3, 1, 1); /* the same codes: their mean */
    trees_predict(&trees, codes, 1, &mean, &variance);
    assert_true(mean == 3 && variance == 0);
    rp_trees_free(&trees);
    trees = grow(codes, values, 3, 0, 1); /* no feature at all */
    trees_predict(&trees, codes, 1, &mean, &variance);
    assert_true(mean == 3 && variance == 0);
    rp_trees_free(&trees);
    trees = grow(apart, equal, 3, 1, 1); /* equal values */
    trees_predict(&trees, apart, 1, &mean, NULL);
    assert_true(mean == 5);
    rp_trees_free(&trees);
    trees = grow(apart, values, 1, 1, 1); /* one sample */
    trees_predict(&trees, apart + 2, 1, &mean, &variance);
    assert_true(mean == 1 && variance == 0);
    rp_trees_free(&trees);
    assert_int_equal(trees_grow(&(struct rp_samples){.features = 1}, 40, 1, &trees, &err),
                     -RP_BAD_INPUT);
}

/* What the check_model of the model says where the truth is known: of a rule, of noise, of too
 * little. */

enum { SIDE = 20, RUNS = 200 };

static struct rp_space *square(void)
{
    struct rp_space *space = rp_space_new();
    int numbers[SIDE];

    for (int i = 0; i < SIDE; i++)
        numbers[i] = i + 1;
    made_parameter(space, "a", numbers, SIDE);
    made_parameter(space, "b", numbers, SIDE);
    made_product(space);
    return space;
}

/** Of every second configuration, in the order of their times: as a search would not do. */
static struct rp_confidence check_model(double (*log_ms)(size_t), size_t runs)
{
    struct rp_space *space = square();
    struct rp_observation observations[RUNS];
    struct rp_confidence confidence, again;
    struct rp_err err = RP_ERR_INIT;

    for (uint32_t i = 0; i < runs; i++)
        observations[i] = (struct rp_observation){2 * i, RP_REPORTED_OK, log_ms(2 * i)};
    if (runs > 3)
        observations[3].told = RP_REPORTED_FAILED;
    assert_int_equal(rp_confidence_of(space, observations, runs, 7, &confidence, &err), 0);
    assert_int_equal(rp_confidence_of(space, observations, runs, 7, &again, &err), 0);
    assert_true(confidence.r2 == again.r2 && confidence.gain_left == again.gain_left);
    rp_space_free(space);
    return confidence;
}

static double rule(size_t config)
{
    return 0.1 * (double)(config % SIDE) + 0.05 * (double)(config / SIDE);
}

static double chance(size_t config)
{
    struct rp_random random = rp_random_new(config);

    return rp_random_unit(&random);
}

static double constant(size_t config)
{
    (void)config;
    return 0.3;
}

static void a_rule_is_trusted(void **state)
{
    const struct rp_confidence c = check_model(rule, RUNS);

    (void)state;
    assert_true(c.known && !c.low && c.samples == RUNS - 1);
    assert_true(c.r2 > 0.95 && c.r2 < 1 && c.spearman > 0.95 && c.spearman <= 1);
    assert_true(c.coverage > 0.7 && c.coverage <= 1);
    assert_true(c.residual_std > 0 && c.residual_std < 0.15);
}

static void noise_is_not(void **state)
{
    const struct rp_confidence c = check_model(chance, RUNS);

    (void)state;
    assert_true(c.known && c.low);
    assert_true(c.r2 < 0.3 && c.spearman < 0.5);
    assert_true(c.residual_std > 0.2 && c.residual_std < 0.5);
    assert_true(c.gain_left > 0);
}

static void equal_times_leave_nothing_to_explain(void **state)
{
    const struct rp_confidence c = check_model(constant, 50);

    (void)state;
    assert_true(!c.known && c.low && c.samples == 49 && c.r2 == 0 && c.spearman == 0);
}

static void few_runs_tell_nothing(void **state)
{
    struct rp_confidence c = check_model(rule, RP_CONFIDENCE_SAMPLES);

    (void)state;
    assert_true(!c.known && c.low && c.samples == RP_CONFIDENCE_SAMPLES - 1 && c.r2 == 0);
    c = check_model(rule, 0);
    assert_true(!c.known && c.low && c.samples == 0 && c.gain_left == 0);
    c = check_model(rule, 1);
    assert_true(!c.known && c.low && c.samples == 1 && c.gain_left > 0);
    assert_true(check_model(rule, RP_CONFIDENCE_SAMPLES + 1).known);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_ordered_by_size),
        cmocka_unit_test(texts_and_conditions_are_questions),
        cmocka_unit_test(nothing_to_see),
        cmocka_unit_test(many_parameters_have_as_many_features_as_there_is_room_for),
        cmocka_unit_test(samples_are_given_back),
        cmocka_unit_test(between_samples_trees_disagree),
        cmocka_unit_test(a_step_among_noise_is_found),
        cmocka_unit_test(the_same_seed_grows_the_same_trees),
        cmocka_unit_test(samples_that_are_alike),
        cmocka_unit_test(a_rule_is_trusted),
        cmocka_unit_test(noise_is_not),
        cmocka_unit_test(equal_times_leave_nothing_to_explain),
        cmocka_unit_test(few_runs_tell_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

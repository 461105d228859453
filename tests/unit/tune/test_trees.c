/* Extra trees: what is known is given back, what is not lies between; and samples that cannot be
 * told apart. */
#include "tune/surrogate.h"

#include <math.h>

#include "base/err.h"
#include "tune/random.h"
#include "unit/cmocka_all.h"

#include "tune/surrogate.c"

static struct rp_trees grow(const uint16_t *codes, const double *values, size_t count,
                            size_t features, uint64_t seed)
{
    struct rp_err err = RP_ERR_INIT;
    struct rp_trees trees;

    assert_int_equal(
        rp_trees_grow(&(struct rp_samples){codes, values, count, features}, 40, seed, &trees, &err),
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
    rp_trees_predict(&trees, codes, COUNT, mean, variance);
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
    rp_trees_predict(&trees, asked, 5, mean, variance);
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
        rp_trees_predict(&trees, row, 1, &mean, &variance);
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
    rp_trees_predict(&first, asked, 1, &a, &variance);
    rp_trees_predict(&second, asked, 1, &b, &variance);
    rp_trees_predict(&other, asked, 1, &c, &variance);
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
    rp_trees_predict(&trees, codes, 1, &mean, &variance);
    assert_true(mean == 3 && variance == 0);
    rp_trees_free(&trees);
    trees = grow(codes, values, 3, 0, 1); /* no feature at all */
    rp_trees_predict(&trees, codes, 1, &mean, &variance);
    assert_true(mean == 3 && variance == 0);
    rp_trees_free(&trees);
    trees = grow(apart, equal, 3, 1, 1); /* equal values */
    rp_trees_predict(&trees, apart, 1, &mean, NULL);
    assert_true(mean == 5);
    rp_trees_free(&trees);
    trees = grow(apart, values, 1, 1, 1); /* one sample */
    rp_trees_predict(&trees, apart + 2, 1, &mean, &variance);
    assert_true(mean == 1 && variance == 0);
    rp_trees_free(&trees);
    assert_int_equal(rp_trees_grow(&(struct rp_samples){.features = 1}, 40, 1, &trees, &err),
                     -RP_BAD_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_are_given_back),
        cmocka_unit_test(between_samples_trees_disagree),
        cmocka_unit_test(a_step_among_noise_is_found),
        cmocka_unit_test(the_same_seed_grows_the_same_trees),
        cmocka_unit_test(samples_that_are_alike),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What the check of the model says where the truth is known: of a rule, of noise, of too little. */
#include "tune/surrogate.h"

#include <math.h>

#include "base/err.h"
#include "tune/random.h"
#include "tune/space.h"
#include "unit/tune/made_space.h"

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
static struct rp_confidence check(double (*log_ms)(size_t), size_t runs)
{
    struct rp_space *space = square();
    struct rp_observation observations[RUNS];
    struct rp_space_features features;
    struct rp_confidence confidence, again;
    struct rp_err err = RP_ERR_INIT;

    for (uint32_t i = 0; i < runs; i++)
        observations[i] = (struct rp_observation){2 * i, RP_REPORTED_OK, log_ms(2 * i)};
    if (runs > 3)
        observations[3].told = RP_REPORTED_FAILED;
    assert_int_equal(rp_features_new(space, &features, &err), 0);
    assert_int_equal(rp_confidence_of(&features, observations, runs, 7, &confidence, &err), 0);
    assert_int_equal(rp_confidence_of(&features, observations, runs, 7, &again, &err), 0);
    assert_true(confidence.r2 == again.r2 && confidence.gain_left == again.gain_left);
    rp_features_free(&features);
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
    const struct rp_confidence c = check(rule, RUNS);

    (void)state;
    assert_true(c.known && !c.low && c.samples == RUNS - 1);
    assert_true(c.r2 > 0.95 && c.r2 < 1 && c.spearman > 0.95 && c.spearman <= 1);
    assert_true(c.coverage > 0.7 && c.coverage <= 1);
    assert_true(c.residual_std > 0 && c.residual_std < 0.15);
}

static void noise_is_not(void **state)
{
    const struct rp_confidence c = check(chance, RUNS);

    (void)state;
    assert_true(c.known && c.low);
    assert_true(c.r2 < 0.3 && c.spearman < 0.5);
    assert_true(c.residual_std > 0.2 && c.residual_std < 0.5);
    assert_true(c.gain_left > 0);
}

static void equal_times_leave_nothing_to_explain(void **state)
{
    const struct rp_confidence c = check(constant, 50);

    (void)state;
    assert_true(!c.known && c.low && c.samples == 49 && c.r2 == 0 && c.spearman == 0);
}

static void few_runs_tell_nothing(void **state)
{
    struct rp_confidence c = check(rule, RP_CONFIDENCE_SAMPLES);

    (void)state;
    assert_true(!c.known && c.low && c.samples == RP_CONFIDENCE_SAMPLES - 1 && c.r2 == 0);
    c = check(rule, 0);
    assert_true(!c.known && c.low && c.samples == 0 && c.gain_left == 0);
    c = check(rule, 1);
    assert_true(!c.known && c.low && c.samples == 1 && c.gain_left > 0);
    assert_true(check(rule, RP_CONFIDENCE_SAMPLES + 1).known);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rule_is_trusted),
        cmocka_unit_test(noise_is_not),
        cmocka_unit_test(equal_times_leave_nothing_to_explain),
        cmocka_unit_test(few_runs_tell_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

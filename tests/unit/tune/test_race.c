/* What a few noisy samples can tell, and what they cannot. */
#include "tune/race.h"

#include <math.h>

#include "unit/cmocka_all.h"

static void medians(void **state)
{
    const double odd[] = {3, 1, 2}, even[] = {4, 1, 3, 2};

    (void)state;
    assert_true(rp_samples_median(odd, 3) == 2);
    assert_true(rp_samples_median(even, 4) == 2.5);
    assert_true(rp_samples_median(odd, 1) == 3);
}

/* By the binomial distribution: of 9 samples, the second and the eighth hold the median in 96.1 of
 * 100 cases; of 5 all of them in 93.75. */
static void intervals(void **state)
{
    const double samples[] = {9, 8, 7, 6, 5, 4, 3, 2, 1};
    struct rp_interval interval = rp_samples_interval(samples, 9);

    (void)state;
    assert_true(interval.low_ms == 2 && interval.high_ms == 8);
    assert_true(fabs(interval.confidence - (1 - 2 * 10.0 / 512)) < 1e-12);
    interval = rp_samples_interval(samples, 5);
    assert_true(interval.low_ms == 5 && interval.high_ms == 9);
    assert_true(fabs(interval.confidence - 0.9375) < 1e-12);
    interval = rp_samples_interval(samples, 1);
    assert_true(interval.low_ms == 9 && interval.high_ms == 9 && interval.confidence == 0);
}

static bool slower(const double *a, size_t na, const double *b, size_t nb, double sd)
{
    const struct rp_samples_log la = rp_samples_log(a, na), lb = rp_samples_log(b, nb);
    struct rp_noise noise = {0};

    if (sd >= 0)
        noise = (struct rp_noise){.squares = sd * sd * 10, .freedom = 10};
    return rp_race_slower(&la, &lb, &noise);
}

static void one_sample_needs_to_know_the_noise(void **state)
{
    const double best[] = {1.00, 1.01, 0.99}, a[] = {1.2};

    (void)state;
    assert_false(slower(a, 1, best, 3, -1));
    assert_true(slower(a, 1, best, 3, 0.01));
    assert_false(slower(a, 1, best, 3, 0.2));
}

static void welch(void **state)
{
    const double best[] = {1.00, 1.01, 0.99, 1.00}, near[] = {1.01, 1.00}, far[] = {1.10, 1.11};
    const double same[] = {2, 2}, other[] = {2.001, 2.001};

    (void)state;
    assert_false(slower(near, 2, best, 4, -1));
    assert_true(slower(far, 2, best, 4, -1));
    assert_false(slower(best, 4, far, 2, -1));
    /* without any noise, any difference is one, and none is none */
    assert_true(slower(other, 2, same, 2, -1));
    assert_false(slower(same, 2, same, 2, -1));
}

static void two_sided(void **state)
{
    const double a[] = {1.00, 1.01, 0.99, 1.00}, b[] = {1.20, 1.21, 1.19}, c[] = {1.01, 0.99, 1.02};
    const struct rp_samples_log la = rp_samples_log(a, 4), lb = rp_samples_log(b, 3),
                                lc = rp_samples_log(c, 3);

    (void)state;
    assert_true(rp_race_differ(&la, &lb) && rp_race_differ(&lb, &la));
    assert_false(rp_race_differ(&la, &lc));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(medians),
        cmocka_unit_test(intervals),
        cmocka_unit_test(one_sample_needs_to_know_the_noise),
        cmocka_unit_test(welch),
        cmocka_unit_test(two_sided),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

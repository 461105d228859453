#include "analyze/profile.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void close_to(double a, double b)
{
    assert_true(fabs(a - b) < 1e-9);
}

static void describes_three_runs(void **state)
{
    const double ms[] = {10, 11, 12};
    struct rp_stability s;

    (void)state;
    rp_stability_compute(ms, COUNT(ms), &s);
    assert_int_equal(s.runs, 3);
    close_to(s.mean_ms, 11);
    close_to(s.stddev_ms, 1); /* sample: (1 + 0 + 1) / 2 */
    close_to(s.cv, 1.0 / 11);
    assert_int_equal(s.classification, RP_MODERATE);
}

static void one_run_says_nothing_about_stability(void **state)
{
    const double ms[] = {4.5};
    struct rp_stability s;

    (void)state;
    rp_stability_compute(ms, 1, &s);
    assert_int_equal(s.runs, 1);
    close_to(s.mean_ms, 4.5);
    assert_true(s.stddev_ms == 0);
    assert_int_equal(s.classification, RP_STABILITY_UNKNOWN);
    rp_stability_compute(NULL, 0, &s);
    assert_int_equal(s.runs, 0);
    assert_true(s.mean_ms == 0 && s.cv == 0);
    assert_int_equal(s.classification, RP_STABILITY_UNKNOWN);
}

/* 0.1 + 0.1 + 0.1 is not 0.3: equal runs must have no deviation at all, on every host. */
static void equal_runs_do_not_deviate(void **state)
{
    struct rp_stability s;
    double ms[7];

    (void)state;
    for (size_t i = 0; i < COUNT(ms); i++)
        ms[i] = 0.1;
    rp_stability_compute(ms, COUNT(ms), &s);
    assert_true(s.mean_ms == 0.1);
    assert_true(s.stddev_ms == 0);
    assert_int_equal(s.classification, RP_STABLE);
}

static void classes_meet_at_five_and_ten_percent(void **state)
{
    /* Two runs m - d, m + d have sample deviation d * sqrt(2). */
    static const struct {
        double cv;
        enum rp_stability_class expected;
    } rows[] = {
        {0.0, RP_STABLE},      {0.0499, RP_STABLE},   {0.0501, RP_MODERATE},
        {0.0999, RP_MODERATE}, {0.1001, RP_UNSTABLE}, {1.2, RP_UNSTABLE},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        double d = 100 * rows[i].cv / sqrt(2);
        const double ms[] = {100 - d, 100 + d};
        struct rp_stability s;

        rp_stability_compute(ms, 2, &s);
        close_to(s.cv, rows[i].cv);
        assert_int_equal(s.classification, rows[i].expected);
    }
}

static void runs_without_kernels_are_stable(void **state)
{
    const double ms[] = {0, 0, 0};
    struct rp_stability s;

    (void)state;
    rp_stability_compute(ms, COUNT(ms), &s);
    assert_true(s.cv == 0);
    assert_int_equal(s.classification, RP_STABLE);
}

static void classes_have_names(void **state)
{
    (void)state;
    assert_string_equal(rp_stability_class_names[RP_STABLE], "stable");
    assert_string_equal(rp_stability_class_names[RP_MODERATE], "moderate");
    assert_string_equal(rp_stability_class_names[RP_UNSTABLE], "unstable");
    assert_string_equal(rp_stability_class_names[RP_STABILITY_UNKNOWN], "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(describes_three_runs),
        cmocka_unit_test(one_run_says_nothing_about_stability),
        cmocka_unit_test(equal_runs_do_not_deviate),
        cmocka_unit_test(classes_meet_at_five_and_ten_percent),
        cmocka_unit_test(runs_without_kernels_are_stable),
        cmocka_unit_test(classes_have_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

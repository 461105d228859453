/* Medians and their intervals; logarithm, exponential and the normal distribution against the C
 * library's, and far out in the tail against numbers from numerical integration; random numbers. */
#include "base/stats.h"

#include <math.h>

#include "unit/cmocka_all.h"

#include "base/stats.c"

static void near(double got, double wanted, double relative)
{
    if (!(fabs(got - wanted) <= relative * fabs(wanted)))
        fail_msg("%.17g instead of %.17g", got, wanted);
}

static void logarithms_and_exponentials(void **state)
{
    (void)state;
    assert_true(rp_exact_log(1) == 0);
    assert_true(rp_exp(0) == 1);
    assert_true(rp_exp(-800) == 0);
    for (double x = 1e-300; x < 1e300; x *= 1.7) {
        if (fabs(log(x)) > 1e-3)
            near(rp_exact_log(x), log(x), 1e-14);
    }
    near(rp_exact_log(5e-324), log(5e-324), 1e-14);
    for (double x = -700; x < 700; x += 0.37)
        near(rp_exp(x), exp(x), 1e-13);
}

static void normal_distribution(void **state)
{
    (void)state;
    assert_true(normal_below(0) == 0.5);
    for (double z = -37; z < 8; z += 0.01)
        near(normal_below(z), erfc(-z / sqrt(2)) / 2, 1e-10);
}

/* Tables of Student's t; with one degree it is Cauchy's distribution. */
static void student(void **state)
{
    static const struct {
        double t, above;
        size_t freedom;
    } rows[] = {{6.313751515, 0.05, 1},  {2.919985580, 0.05, 2},  {2.353363435, 0.05, 3},
                {63.65674116, 0.005, 1}, {9.924843201, 0.005, 2}, {3.249835542, 0.005, 9},
                {1.697260887, 0.05, 30}, {4.143700494, 0.001, 10}};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        near(rp_student_above(rows[i].t, rows[i].freedom), rows[i].above, 1e-8);
    for (double t = 0; t < 100; t = 1.1 * t + 0.01)
        near(rp_student_above(t, 1), 0.5 - atan(t) / acos(-1), 1e-12);
    near(rp_student_above(2, 1999), rp_student_above(2, 2001), 5e-3);
    for (size_t n = 1; n < 3000; n += 7)
        assert_true(rp_student_above(0, n) == 0.5 && rp_student_above(HUGE_VAL, n) == 0);
}

static void student_of_any_freedom(void **state)
{
    static const struct {
        double alpha, degrees, t;
    } rows[] = {{0.05, 1, 12.7062}, {0.01, 4, 4.6041},  {0.01, 10, 3.1693},
                {0.05, 30, 2.0423}, {0.001, 5, 6.8688}, {0.01, 1000, 2.5808}};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_true(fabs(rp_student_quantile(rows[i].alpha, rows[i].degrees) - rows[i].t) < 6e-5);
        assert_true(fabs(rp_student_two_sided_p(rows[i].t, rows[i].degrees) - rows[i].alpha) <
                    1e-5);
    }
}

static void expected_improvement(void **state)
{
    (void)state;
    near(rp_expected_improvement(1, 0.5, 1), 0.19947114020071635, 1e-14);
    near(rp_expected_improvement(0, 1, 1), 1.0833154705876864, 1e-12);
    near(rp_expected_improvement(1, 1, 0), 0.08331547058768628, 1e-12);
    near(rp_expected_improvement(5, 1, 0), 5.346164e-8, 1e-5);
    near(rp_expected_improvement(10, 1, 0), 7.474560e-25, 1e-3);
    assert_true(rp_expected_improvement(100, 1, 0) == 0);
}

static void medians(void **state)
{
    const double odd[] = {3, 1, 2}, even[] = {4, 1, 3, 2};

    (void)state;
    assert_true(rp_samples_median(odd, 3) == 2);
    assert_true(rp_samples_median(even, 4) == 2.5);
    assert_true(rp_samples_median(odd, 1) == 3);
    assert_true(rp_median_of_sorted((const double[]){1, 2, 4}, 3) == 2);
    assert_true(rp_median((double[]){4, 1, 3, 2}, 4) == 2.5);
    assert_true(isnan(rp_median((double[]){1}, 0)));
}

/* By the binomial distribution: of 9 samples, the second and the eighth hold the median in 96.1 of
 * 100 cases; of 5 all of them in 93.75. */
static void intervals(void **state)
{
    const double samples[] = {9, 8, 7, 6, 5, 4, 3, 2, 1};
    struct rp_interval interval = rp_samples_interval(samples, 9);

    (void)state;
    assert_true(interval.low == 2 && interval.high == 8);
    assert_true(fabs(interval.confidence - (1 - 2 * 10.0 / 512)) < 1e-12);
    interval = rp_samples_interval(samples, 5);
    assert_true(interval.low == 5 && interval.high == 9);
    assert_true(fabs(interval.confidence - 0.9375) < 1e-12);
    interval = rp_samples_interval(samples, 1);
    assert_true(interval.low == 9 && interval.high == 9 && interval.confidence == 0);
}

/* Two sides of the same variance have the degrees of freedom of both. */
static void two_sides(void **state)
{
    const double a[] = {1, 2, 4}, b[] = {2, 4, 8};
    const struct rp_samples_log la = rp_samples_log(a, 3), lb = rp_samples_log(b, 3);
    struct rp_noise noise = {0};
    const double t = 1 / sqrt(2.0 / 3);

    (void)state;
    near(la.variance, log(2) * log(2), 1e-13);
    near(rp_welch_degrees(0.5, 7, 0.5, 7), 14, 1e-13);
    near(rp_welch_degrees(0, 7, 0.5, 3), 3, 1e-13);
    near(rp_welch_chance(&lb, &la), rp_student_two_sided_p(t, 4) / 2, 1e-9);
    near(rp_welch_chance(&la, &lb), 1 - rp_student_two_sided_p(t, 4) / 2, 1e-9);
    assert_true(rp_noise_chance(&lb, &la, &noise) == 1); /* Nothing is known of the noise. */
    rp_noise_add(&noise, &la);
    rp_noise_add(&noise, &lb);
    near(rp_noise_chance(&lb, &la, &noise), rp_student_two_sided_p(t, 4) / 2, 1e-9);
}

static void random_numbers_are_the_published_ones(void **state)
{
    struct rp_random random = {{1, 2, 3, 4}}, seeded = rp_random_new(7), again = rp_random_new(7);

    (void)state;
    /* the first outputs of the published xoshiro256** from that state, and of splitmix64 */
    assert_int_equal(rp_random_next(&random), 11520);
    assert_int_equal(rp_random_next(&random), 0);
    assert_int_equal(rp_random_next(&random), 1509978240);
    assert_int_equal(rp_random_next(&random), 1215971899390074240);
    assert_true(rp_mix64(1234567) == 6457827717110365317u);
    for (int i = 0; i < 1000; i++) {
        const uint32_t below = rp_random_below(&seeded, 7);

        assert_true(below < 7 && below == rp_random_below(&again, 7));
    }
}

/* The examples of Newcombe, "Two-sided confidence intervals for the single proportion", 1998, table
 * I, method 3. */
static void interval_of_a_share(void **state)
{
    static const struct {
        uint64_t part, whole;
        double low, high;
    } rows[] = {{81, 263, 0.2553, 0.3662},
                {15, 148, 0.0624, 0.1605},
                {0, 20, 0, 0.1611},
                {1, 29, 0.0061, 0.1718},
                {20, 20, 0.8389, 1}};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct rp_interval interval = rp_share_interval(rows[i].part, rows[i].whole);

        assert_true(fabs(interval.low - rows[i].low) < 5e-5);
        assert_true(fabs(interval.high - rows[i].high) < 5e-5);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(interval_of_a_share),
        cmocka_unit_test(logarithms_and_exponentials),
        cmocka_unit_test(normal_distribution),
        cmocka_unit_test(student),
        cmocka_unit_test(student_of_any_freedom),
        cmocka_unit_test(expected_improvement),
        cmocka_unit_test(medians),
        cmocka_unit_test(intervals),
        cmocka_unit_test(two_sides),
        cmocka_unit_test(random_numbers_are_the_published_ones),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

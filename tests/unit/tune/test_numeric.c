/* Logarithm, exponential and the normal distribution against the C library's, and far out in the
 * tail against numbers from numerical integration. */
#include "experiment/verdict.h"

#include <math.h>

#include "tune/random.h"
#include "unit/cmocka_all.h"

#include "experiment/verdict.c"

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
    assert_true(rp_normal_below(0) == 0.5);
    for (double z = -37; z < 8; z += 0.01)
        near(rp_normal_below(z), erfc(-z / sqrt(2)) / 2, 1e-10);
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

static void random_numbers_are_the_published_ones(void **state)
{
    struct rp_random random = {{1, 2, 3, 4}}, seeded = rp_random_new(7), again = rp_random_new(7);
    uint64_t mix = 1234567;

    (void)state;
    /* the first outputs of the published xoshiro256** from that state, and of splitmix64 */
    assert_int_equal(rp_random_next(&random), 11520);
    assert_int_equal(rp_random_next(&random), 0);
    assert_int_equal(rp_random_next(&random), 1509978240);
    assert_int_equal(rp_random_next(&random), 1215971899390074240);
    assert_true(rp_random_mix(&mix) == 6457827717110365317u);
    for (int i = 0; i < 1000; i++) {
        const uint32_t below = rp_random_below(&seeded, 7);

        assert_true(below < 7 && below == rp_random_below(&again, 7));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logarithms_and_exponentials),
        cmocka_unit_test(normal_distribution),
        cmocka_unit_test(student),
        cmocka_unit_test(expected_improvement),
        cmocka_unit_test(random_numbers_are_the_published_ones),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

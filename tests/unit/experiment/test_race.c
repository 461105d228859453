/* What a few noisy samples can tell, and what they cannot. */
#include "experiment/verdict.h"

#include <math.h>

#include "tune/surrogate.h"
#include "unit/cmocka_all.h"

static bool slower(const double *a, size_t na, const double *b, size_t nb, double sd)
{
    const struct rp_samples_log la = rp_samples_log(a, na), lb = rp_samples_log(b, nb);
    struct rp_noise noise = {0};

    if (sd >= 0)
        noise = (struct rp_noise){.squares = sd * sd * 10, .freedom = 10};
    return rp_race_slower(&la, &lb, &noise, 0.05);
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

enum { LEAST = 1, MOST = 9, RACES = 20000 };

/** One time with a noise of 5 %. */
static double made_ms(struct rp_random *random, double ms)
{
    double sum = 0;

    for (int i = 0; i < 12; i++)
        sum += rp_random_unit(random);
    return ms * exp(0.05 * (sum - 6));
}

/** How many samples it got; below MOST it was dropped. */
static unsigned race(struct rp_random *random, double ms, unsigned looks)
{
    const struct rp_noise noise = {.squares = 0.05 * 0.05 * 40, .freedom = 40};
    double best[MOST], its[MOST];
    struct rp_samples_log log;

    for (unsigned i = 0; i < MOST; i++)
        best[i] = made_ms(random, 1);
    log = rp_samples_log(best, MOST);
    for (unsigned n = 1;; n++) {
        struct rp_samples_log mine;

        its[n - 1] = made_ms(random, ms);
        mine = rp_samples_log(its, n);
        if (n == MOST || rp_race_slower(&mine, &log, &noise, rp_race_level(MOST - looks, MOST)))
            return n;
    }
}

static double dropped(double ms, unsigned looks, double *ret_samples)
{
    struct rp_random random = rp_random_new(7);
    double dropped = 0, samples = 0;

    for (int i = 0; i < RACES; i++) {
        const unsigned n = race(&random, ms, looks);

        dropped += n < MOST;
        samples += n;
    }
    *ret_samples = samples / RACES;
    return dropped / RACES;
}

/* Eight looks, and all together drop one that is as fast as the best in less than 5 % of races;
 * looks at 5 % each dropped 15 %. One that is slower is still seen soon. */
static void all_looks_together(void **state)
{
    double samples, share = dropped(1, MOST - LEAST, &samples);

    (void)state;
    if (!(share > 0.015 && share <= 0.05))
        fail_msg("%.2f %% of equal ones are dropped", 100 * share);
    assert_true(dropped(1, 1, &samples) > 0.1); /* what a look costs that is not paid for */
    share = dropped(1.3, MOST - LEAST, &samples);
    if (!(share > 0.99 && samples < 2.5))
        fail_msg("of 30 %% slower ones %.2f %% after %.2f samples", 100 * share, samples);
}

static void level_of_looks(void **state)
{
    (void)state;
    assert_true(rp_race_level(1, 9) == 0.05 / 8);
    assert_true(rp_race_level(8, 9) == 0.05 && rp_race_level(9, 9) == 0.05);
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
        cmocka_unit_test(random_numbers_are_the_published_ones),
        cmocka_unit_test(one_sample_needs_to_know_the_noise),
        cmocka_unit_test(welch),
        cmocka_unit_test(two_sided),
        cmocka_unit_test(all_looks_together),
        cmocka_unit_test(level_of_looks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

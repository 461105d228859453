/*
 * Verdicts on tables of comparisons, by hand; false acceptances by simulation; what few samples can
 * tell.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "experiment/judge.h"

#include "unit/cmocka_all.h"

/* Verdicts on tables of comparisons, by hand; false acceptances by simulation of sessions. */

#define SIDE(v, e, l, h)                                                                           \
    {                                                                                              \
        .verdict = RP_COMPARED_##v, .ratio_known = true, .estimate = e, .low = l, .high = h,       \
        .margin = 0.02, .alpha = 0.01, .before_us = 100, .after_us = 100 / (e)                     \
    }

static struct rp_decision decided(const struct rp_weighted_comparison *list, size_t count)
{
    struct rp_decision decision;

    rp_decide(list, count, 0.02, &decision);
    return decision;
}

static void one_geometry(void **state)
{
    static const struct {
        struct rp_comparison comparison;
        enum rp_outcome outcome;
    } rows[] = {
        {SIDE(FASTER, 1.2, 1.1, 1.3), RP_OUTCOME_FASTER},
        {SIDE(FASTER, 1.03, 1.021, 1.04), RP_OUTCOME_FASTER},
        {SIDE(EQUAL, 1.01, 1.0, 1.02), RP_OUTCOME_UNDECIDED}, /* touches the margin */
        {SIDE(EQUAL, 1.0, 0.99, 1.01), RP_OUTCOME_EQUAL},
        {SIDE(UNDECIDED, 1.05, 0.99, 1.2), RP_OUTCOME_UNDECIDED},
        {SIDE(UNDECIDED, 1.0, 0.9, 1.2), RP_OUTCOME_UNDECIDED}, /* may be slower */
        {SIDE(SLOWER, 0.8, 0.7, 0.9), RP_OUTCOME_SLOWER},
        {SIDE(DIFFERENT, 2, 1.9, 2.1), RP_OUTCOME_WRONG},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct rp_weighted_comparison one = {rows[i].comparison, 1, "g"};
        const struct rp_decision d = decided(&one, 1);

        assert_int_equal(d.outcome, rows[i].outcome);
        assert_true(fabs(d.ratio - rows[i].comparison.estimate) < 1e-12);
        assert_true(*d.reason);
    }
}

static void all_geometries_count(void **state)
{
    /* Three quarters of the time twice as fast: 1 / (0.75 / 2 + 0.25) = 1.6. */
    const struct rp_weighted_comparison faster[] = {{SIDE(FASTER, 2, 2, 2), 3, "a"},
                                                    {SIDE(EQUAL, 1, 1, 1), 1, "b"}};
    const struct rp_weighted_comparison slower[] = {{SIDE(FASTER, 2, 2, 2), 99, "a"},
                                                    {SIDE(SLOWER, 0.9, 0.89, 0.91), 1, "b"}};
    const struct rp_weighted_comparison wrong[] = {{SIDE(SLOWER, 0.5, 0.5, 0.5), 99, "a"},
                                                   {SIDE(DIFFERENT, 1, 1, 1), 1, "b"}};
    /* A hundredth of the time twice as fast is worth half a per cent. */
    const struct rp_weighted_comparison little[] = {{SIDE(FASTER, 2, 2, 2), 1, "a"},
                                                    {SIDE(EQUAL, 1, 1, 1), 99, "b"}};
    struct rp_decision d = decided(faster, 2);

    (void)state;
    assert_int_equal(d.outcome, RP_OUTCOME_FASTER);
    assert_true(fabs(d.ratio - 1.6) < 1e-12);
    assert_true(fabs(d.error - 0.02) < 1e-12);
    d = decided(slower, 2);
    assert_int_equal(d.outcome, RP_OUTCOME_SLOWER);
    assert_non_null(strstr(d.reason, "b: "));
    assert_int_equal(decided(wrong, 2).outcome, RP_OUTCOME_WRONG);
    d = decided(little, 2);
    assert_int_equal(d.outcome, RP_OUTCOME_EQUAL);
    assert_true(fabs(d.ratio - 1 / 0.995) < 1e-12);
}

static void nothing_is_not_faster(void **state)
{
    struct rp_weighted_comparison unknown = {{.verdict = RP_COMPARED_FASTER}, 1, "g"};

    (void)state;
    assert_int_equal(decided(NULL, 0).outcome, RP_OUTCOME_UNDECIDED);
    assert_int_equal(decided(&unknown, 1).outcome, RP_OUTCOME_UNDECIDED);
    unknown.comparison = (struct rp_comparison)SIDE(FASTER, 1.2, 0, 1.3);
    assert_int_equal(decided(&unknown, 1).outcome, RP_OUTCOME_UNDECIDED);
    unknown.comparison = (struct rp_comparison)SIDE(FASTER, 1.2, NAN, 1.3);
    assert_int_equal(decided(&unknown, 1).outcome, RP_OUTCOME_UNDECIDED);
}

static void a_wider_margin_of_the_machine_holds(void **state)
{
    struct rp_weighted_comparison one = {SIDE(EQUAL, 1.06, 1.05, 1.07), 1, "g"};

    (void)state;
    assert_int_equal(decided(&one, 1).outcome, RP_OUTCOME_FASTER);
    one.comparison.margin = 0.1; /* a tick of the clock */
    assert_int_equal(decided(&one, 1).outcome, RP_OUTCOME_EQUAL);
}

static void why_it_is_undecided(void **state)
{
    static const struct {
        struct rp_comparison comparison;
        const char *first;
    } rows[] = {
        {SIDE(UNDECIDED, 1.0, 0.9, 1.2), "g: noise: it may be slower"},
        {SIDE(UNDECIDED, 1.03, 1.01, 1.05), "noise: 1.030x faster"},
        {SIDE(UNDECIDED, 1.02, 1.02, 1.02), "at the margin: 1.020x faster"}, /* no noise */
    };
    struct rp_weighted_comparison one = {SIDE(UNDECIDED, 1.2, 1.1, 1.3), 1, "g"};
    struct rp_decision d;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        one.comparison = rows[i].comparison;
        d = decided(&one, 1);
        assert_int_equal(d.outcome, RP_OUTCOME_UNDECIDED);
        assert_int_equal(strncmp(d.reason, rows[i].first, strlen(rows[i].first)), 0);
    }
    /* However fast it seems: a kernel that does nothing leaves what is there right, too. */
    one.comparison = (struct rp_comparison)SIDE(UNDECIDED, 1.2, 1.1, 1.3);
    one.comparison.undecided_by = RP_BY_BLIND;
    d = decided(&one, 1);
    assert_int_equal(d.outcome, RP_OUTCOME_UNDECIDED);
    assert_int_equal(strncmp(d.reason, "g: blind capture: ", 18), 0);
    one.comparison.undecided_by = RP_BY_VALUES;
    d = decided(&one, 1);
    assert_int_equal(d.outcome, RP_OUTCOME_UNDECIDED);
    assert_int_equal(strncmp(d.reason, "g: captured values only: ", 25), 0);
    one.comparison.undecided_by = RP_BY_LIMITS;
    d = decided(&one, 1);
    assert_int_equal(d.outcome, RP_OUTCOME_UNDECIDED);
    assert_int_equal(strncmp(d.reason, "g: not compared to the end: ", 28), 0);
    one.comparison =
        (struct rp_comparison){.verdict = RP_COMPARED_UNDECIDED, .undecided_by = RP_BY_UNSTEADY};
    assert_true(rp_comparison_is_unsteady(&one.comparison));
    d = decided(&one, 1);
    assert_int_equal(d.outcome, RP_OUTCOME_UNDECIDED);
    assert_int_equal(strncmp(d.reason, "g: unsteady: ", 13), 0);
    one.comparison.undecided_by = RP_BY_NOISE;
    assert_false(rp_comparison_is_unsteady(&one.comparison));
}

static void what_the_kernel_differs_from_itself_by_is_no_gain(void **state)
{
    struct rp_weighted_comparison one = {SIDE(UNDECIDED, 1.05, 1.04, 1.06), 1, "g"};
    struct rp_decision d;

    (void)state;
    one.comparison.noise = 0.05;
    d = decided(&one, 1);
    assert_int_equal(d.outcome, RP_OUTCOME_UNDECIDED);
    assert_int_equal(strncmp(d.reason, "noise: ", 7), 0);
    assert_non_null(strstr(d.reason, "differs from itself by 5 %"));
    one.comparison.noise = 0.03;
    assert_int_equal(decided(&one, 1).outcome, RP_OUTCOME_FASTER);
    /* It makes nothing equal that would not be. */
    one.comparison = (struct rp_comparison)SIDE(EQUAL, 1.0, 0.99, 1.01);
    one.comparison.noise = 0.05;
    assert_int_equal(decided(&one, 1).outcome, RP_OUTCOME_EQUAL);
}

/** Whether k + 1 sessions that are false with @p error each are enough, and k are not. */
static void needs(unsigned k, size_t candidate, double error)
{
    assert_true(rp_is_confirmed(candidate, k, pow(error, k + 1), 0.01, false));
    assert_false(rp_is_confirmed(candidate, k - 1, pow(error, k), 0.01, false));
}

static void confirmations_by_hand(void **state)
{
    (void)state;
    /* 0.01^2 = 1e-4 <= 0.01 / (n (n + 1)) up to n = 9: 0.01 / 90 = 1.11e-4, 0.01 / 110 = 0.91e-4 */
    needs(1, 1, 0.01);
    needs(1, 9, 0.01);
    needs(2, 10, 0.01);
    needs(2, 99, 0.01);
    needs(3, 100, 0.01);
    /* Four geometries: 0.04^2 = 1.6e-3 <= 5e-3 = 0.01 / 2; not <= 0.01 / 12. */
    needs(1, 1, 0.04);
    needs(2, 3, 0.04);
    /* A single repeated session costs the sixth to ninth candidate a confirmation more: 0.02 *
     * 0.01 = 2e-4 <= 0.01 / 42 = 2.4e-4 up to n = 6. */
    assert_true(rp_is_confirmed(6, 1, 0.02 * 0.01, 0.01, false));
    assert_false(rp_is_confirmed(7, 1, 0.02 * 0.01, 0.01, false));
    assert_true(rp_is_confirmed(7, 2, 0.02 * 0.01 * 0.01, 0.01, false));
    /* Modelled times. */
    assert_false(rp_is_confirmed(100, 0, 0.01, 0.01, true));
    assert_true(rp_is_confirmed(100, 1, 1, 0.01, true));
    /* What each session may be wrong with: never, with however many. */
    assert_false(rp_is_confirmed(1, 20, 1, 0.01, false));
}

static void a_repeated_session_counts_twice(void **state)
{
    const struct rp_comparison first = {
        .verdict = RP_COMPARED_UNDECIDED, .undecided_by = RP_BY_UNSTEADY, .alpha = 0.01};
    struct rp_weighted_comparison list[] = {{SIDE(FASTER, 1.2, 1.1, 1.3), 1, "a"},
                                            {SIDE(FASTER, 1.2, 1.1, 1.3), 1, "b"}};

    (void)state;
    rp_comparison_repeats(&list[1].comparison, &first);
    assert_true(fabs(decided(list, 2).error - 0.03) < 1e-12);
}

static double uniform(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005U + 1442695040888963407U;
    return (double)(*seed >> 11) / 9007199254740992.0;
}

/** Every session is false as often as it may be: the worst that can be. 500 candidates each. */
static void hardly_ever_accepts_one_of_many_that_gain_nothing(void **state)
{
    enum { SEARCHES = 4000, CANDIDATES = 500 };
    uint64_t seed = 12345;
    unsigned with_false = 0;

    (void)state;
    for (unsigned s = 0; s < SEARCHES; s++) {
        bool any = false;

        for (size_t n = 1; n <= CANDIDATES; n++) {
            double error = 0.01;
            unsigned made = 0;
            bool faster = uniform(&seed) < 0.01;

            while (faster && !rp_is_confirmed(n, made, error, 0.01, false)) {
                faster = uniform(&seed) < 0.01;
                error *= 0.01;
                made++;
            }
            any |= faster;
        }
        with_false += any;
    }
    /* 1 % of 4000 is 40; three standard deviations of that count are 19. */
    assert_true(with_false <= 59);
}

static void below_the_floor(void **state)
{
    struct rp_weighted_comparison one = {SIDE(FASTER, 10, 9, 11), 1, "g"}; /* 10 us after */
    struct rp_time_floor floor = {.write_gbps = {true, 1000}};
    char reason[400];

    (void)state;
    one.comparison.written_bytes = 9e6; /* 9 us at 1000 GB/s */
    assert_false(rp_below_floor(&floor, &one, 1, reason));
    one.comparison.written_bytes = 11e6;
    assert_true(rp_below_floor(&floor, &one, 1, reason));
    assert_non_null(strstr(reason, "11 us"));
    floor.write_gbps.known = false;
    assert_false(rp_below_floor(&floor, &one, 1, reason));
    floor.compute_share = (struct rp_quantity){true, 0.12}; /* 8.33 times at most; 9 is the least */
    assert_false(rp_below_floor(&floor, &one, 1, reason));
    floor.same_work = true;
    assert_true(rp_below_floor(&floor, &one, 1, reason));
    floor.compute_share.value = 0.11;
    assert_false(rp_below_floor(&floor, &one, 1, reason));
}

static void words_are_unique(void **state)
{
    (void)state;
    for (unsigned i = 0; i < RP_OUTCOME_COUNT; i++)
        assert_int_equal(rp_outcome_of(rp_outcome_word((enum rp_outcome)i)), i);
    assert_int_equal(rp_outcome_of("nonsense"), RP_OUTCOME_COUNT);
    assert_int_equal(rp_outcome_of(NULL), RP_OUTCOME_COUNT);
}

static void what_is_right_for_the_captured_inputs_only(void **state)
{
    struct rp_weighted_comparison two[] = {{SIDE(FASTER, 2, 1.9, 2.1), 1, "a"},
                                           {SIDE(FASTER, 2, 1.9, 2.1), 1, "b"}};
    struct rp_decision d;

    (void)state;
    two[0].comparison.inputs_untried = "no page holds numbers";
    d = decided(two, 2);
    rp_decide_by_inputs(two, 2, &d); /* others were tried on the second geometry */
    assert_int_equal(d.outcome, RP_OUTCOME_FASTER);
    two[1].comparison.inputs_untried = "no page holds numbers";
    rp_decide_by_inputs(two, 2, &d);
    assert_int_equal(d.outcome, RP_OUTCOME_UNDECIDED);
    assert_non_null(strstr(d.reason, "no page holds numbers"));
    two[1].comparison.inputs_untried = NULL;
    two[1].comparison.slowest_other = 0.99;
    d = decided(two, 2);
    rp_decide_by_inputs(two, 2, &d); /* within the margin */
    assert_int_equal(d.outcome, RP_OUTCOME_FASTER);
    two[1].comparison.slowest_other = 0.97;
    two[1].comparison.slowest_inputs = "arguments";
    rp_decide_by_inputs(two, 2, &d);
    assert_int_equal(d.outcome, RP_OUTCOME_UNDECIDED);
    assert_non_null(strstr(d.reason, "with other arguments it is 1.031x slower"));
    two[1].comparison = (struct rp_comparison)SIDE(SLOWER, 0.5, 0.4, 0.6);
    two[1].comparison.inputs_untried = "none";
    d = decided(two, 2);
    rp_decide_by_inputs(two, 2, &d);
    assert_int_equal(d.outcome, RP_OUTCOME_SLOWER);
}

static void another_kernel_pays_for_nothing(void **state)
{
    static const struct {
        struct rp_comparison comparison;
        enum rp_outcome outcome;
    } rows[] = {
        {SIDE(FASTER, 1.2, 1.1, 1.3), RP_OUTCOME_FASTER},
        {SIDE(EQUAL, 1.0, 0.99, 1.01), RP_OUTCOME_FASTER},
        {SIDE(UNDECIDED, 1.0, 0.9, 1.2), RP_OUTCOME_UNDECIDED},
        {SIDE(SLOWER, 0.8, 0.7, 0.9), RP_OUTCOME_SLOWER},
        {SIDE(DIFFERENT, 2, 1.9, 2.1), RP_OUTCOME_WRONG},
    };
    struct rp_weighted_comparison one = {SIDE(EQUAL, 1.0, 0.99, 1.01), 1, "g"};
    struct rp_decision d;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct rp_weighted_comparison other = {rows[i].comparison, 1, "g"};

        d = (struct rp_decision){.outcome = RP_OUTCOME_FASTER, .reason = "fast"};
        rp_decide_by_another(&other, 1, "k<1>", &d);
        assert_int_equal(d.outcome, rows[i].outcome);
        assert_true(strncmp(d.reason, "it also changes k<1>: g: ", 25) == 0 ||
                    d.outcome == RP_OUTCOME_FASTER);
    }
    one.comparison.inputs_untried = "none";
    d = (struct rp_decision){.outcome = RP_OUTCOME_FASTER};
    rp_decide_by_another(&one, 1, "k<1>", &d);
    assert_int_equal(d.outcome, RP_OUTCOME_UNDECIDED);
    d = (struct rp_decision){.outcome = RP_OUTCOME_EQUAL};
    rp_decide_by_another(&one, 1, "k<1>", &d);
    assert_int_equal(d.outcome, RP_OUTCOME_EQUAL);
}

static void more_gain_is_no_more_harm(void **state)
{
    (void)state;
    assert_true(rp_max_allowed_slowdown(0.5) == 0.02);
    assert_true(rp_max_allowed_slowdown(0.02) == 0.02);
    assert_true(rp_max_allowed_slowdown(0.005) == 0.005);
    assert_true(rp_max_allowed_slowdown(0) == 0);
}

/* What a few noisy samples can tell, and what they cannot. */

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_geometry),
        cmocka_unit_test(all_geometries_count),
        cmocka_unit_test(nothing_is_not_faster),
        cmocka_unit_test(a_wider_margin_of_the_machine_holds),
        cmocka_unit_test(why_it_is_undecided),
        cmocka_unit_test(what_the_kernel_differs_from_itself_by_is_no_gain),
        cmocka_unit_test(confirmations_by_hand),
        cmocka_unit_test(a_repeated_session_counts_twice),
        cmocka_unit_test(hardly_ever_accepts_one_of_many_that_gain_nothing),
        cmocka_unit_test(below_the_floor),
        cmocka_unit_test(what_is_right_for_the_captured_inputs_only),
        cmocka_unit_test(another_kernel_pays_for_nothing),
        cmocka_unit_test(more_gain_is_no_more_harm),
        cmocka_unit_test(words_are_unique),
        cmocka_unit_test(one_sample_needs_to_know_the_noise),
        cmocka_unit_test(welch),
        cmocka_unit_test(two_sided),
        cmocka_unit_test(all_looks_together),
        cmocka_unit_test(level_of_looks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

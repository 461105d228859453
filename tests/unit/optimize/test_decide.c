/* Verdicts on tables of comparisons, by hand; false acceptances by simulation of sessions. */
#include "optimize/decide.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "unit/cmocka_all.h"

#define SIDE(v, e, l, h)                                                                           \
    {                                                                                              \
        .verdict = RP_COMPARED_##v, .ratio_known = true, .estimate = e, .low = l, .high = h,       \
        .margin = 0.02, .alpha = 0.01, .before_us = 100, .after_us = 100 / (e)                     \
    }

static struct rp_decision decided(const struct rp_weighed *list, size_t count)
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
        const struct rp_weighed one = {rows[i].comparison, 1, "g"};
        const struct rp_decision d = decided(&one, 1);

        assert_int_equal(d.outcome, rows[i].outcome);
        assert_true(fabs(d.ratio - rows[i].comparison.estimate) < 1e-12);
        assert_true(*d.reason);
    }
}

static void all_geometries_count(void **state)
{
    /* Three quarters of the time twice as fast: 1 / (0.75 / 2 + 0.25) = 1.6. */
    const struct rp_weighed faster[] = {{SIDE(FASTER, 2, 2, 2), 3, "a"},
                                        {SIDE(EQUAL, 1, 1, 1), 1, "b"}};
    const struct rp_weighed slower[] = {{SIDE(FASTER, 2, 2, 2), 99, "a"},
                                        {SIDE(SLOWER, 0.9, 0.89, 0.91), 1, "b"}};
    const struct rp_weighed wrong[] = {{SIDE(SLOWER, 0.5, 0.5, 0.5), 99, "a"},
                                       {SIDE(DIFFERENT, 1, 1, 1), 1, "b"}};
    /* A hundredth of the time twice as fast is worth half a per cent. */
    const struct rp_weighed little[] = {{SIDE(FASTER, 2, 2, 2), 1, "a"},
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
    struct rp_weighed unknown = {{.verdict = RP_COMPARED_FASTER}, 1, "g"};

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
    struct rp_weighed one = {SIDE(EQUAL, 1.06, 1.05, 1.07), 1, "g"};

    (void)state;
    assert_int_equal(decided(&one, 1).outcome, RP_OUTCOME_FASTER);
    one.comparison.margin = 0.1; /* A differs from itself by that much */
    assert_int_equal(decided(&one, 1).outcome, RP_OUTCOME_EQUAL);
}

static void confirmations_by_hand(void **state)
{
    (void)state;
    /* 0.01^2 = 1e-4 <= 0.01 / (n (n + 1)) up to n = 9: 0.01 / 90 = 1.11e-4, 0.01 / 110 = 0.91e-4 */
    assert_int_equal(rp_confirmations_needed(1, 0.01, 0.01, false), 1);
    assert_int_equal(rp_confirmations_needed(9, 0.01, 0.01, false), 1);
    assert_int_equal(rp_confirmations_needed(10, 0.01, 0.01, false), 2);
    assert_int_equal(rp_confirmations_needed(99, 0.01, 0.01, false), 2);
    assert_int_equal(rp_confirmations_needed(100, 0.01, 0.01, false), 3);
    assert_int_equal(rp_confirmations_needed(100, 0.01, 0.01, true), 1);
    /* Four geometries: 0.04^2 = 1.6e-3 <= 5e-3 = 0.01 / 2; not <= 0.01 / 12. */
    assert_int_equal(rp_confirmations_needed(1, 0.04, 0.01, false), 1);
    assert_int_equal(rp_confirmations_needed(3, 0.04, 0.01, false), 2);
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
            unsigned left = 1 + rp_confirmations_needed(n, 0.01, 0.01, false);

            while (left && uniform(&seed) < 0.01)
                left--;
            any |= left == 0;
        }
        with_false += any;
    }
    /* 1 % of 4000 is 40; three standard deviations of that count are 19. */
    assert_true(with_false <= 59);
}

static void below_the_floor(void **state)
{
    struct rp_weighed one = {SIDE(FASTER, 10, 9, 11), 1, "g"}; /* 10 us after */
    struct rp_floor floor = {.write_gbps = {true, 1000}};
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_geometry),
        cmocka_unit_test(all_geometries_count),
        cmocka_unit_test(nothing_is_not_faster),
        cmocka_unit_test(a_wider_margin_of_the_machine_holds),
        cmocka_unit_test(confirmations_by_hand),
        cmocka_unit_test(hardly_ever_accepts_one_of_many_that_gain_nothing),
        cmocka_unit_test(below_the_floor),
        cmocka_unit_test(words_are_unique),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

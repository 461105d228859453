/**
 * @file test_ab_test.c
 * @brief Verdicts between two kernels: the exact distribution against all signs, the interval
 * against its definition, and error rates by simulation: clocks that drift, runs that depend on
 * each test_other, times of two kinds, a coarse timer.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "effort.h"
#include "replay/ab_test.h"
#include "unit/cmocka_all.h"

#include "replay/ab_test.c"

/* With sanitizers, what is looked for there needs no exact rates. */
enum { TRIALS = RP_WITH_SANITIZER ? 200 : 2000 };
enum { RUNS = 4, LOOKS = 3, NOT_SLOWER = 4, COUNTS };
static const size_t look_at[LOOKS] = {10, 20, 40};

/* --- random numbers, the same each time (xorshift64*) -------------------------------------- */

static uint64_t test_seed;

static double uniform(void)
{
    test_seed ^= test_seed >> 12;
    test_seed ^= test_seed << 25;
    test_seed ^= test_seed >> 27;
    return ((double)(test_seed * 2685821657736338717u >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
    const double radius = sqrt(-2 * log(uniform()));

    return radius * cos(6.283185307179586 * uniform());
}

/* --- what a GPU does ----------------------------------------------------------------------- */

struct world {
    const char *name;
    double us;
    double noise;      /* of each run, relative */
    double drift;      /* from one run to the next, always */
    double wander;     /* of a random walk, each run */
    double follows;    /* how much of a run's deviation the next one has */
    double slow_share; /* of runs that are slower by a tenth, in spells */
    double tick_us;
};

static const struct world worlds[] = {
    {"noise", 100, 0.02, 0, 0, 0, 0, 0},    {"drift", 100, 0.02, 0.0005, 0, 0, 0, 0},
    {"walk", 100, 0.01, 0, 0.003, 0, 0, 0}, {"dependent", 100, 0.01, 0, 0, 0.9, 0, 0},
    {"spells", 100, 0.01, 0, 0, 0, 0.2, 0}, {"timer", 2, 0.01, 0, 0.001, 0.5, 0, 0.01},
};

struct state {
    double level, deviation;
    bool slow;
};

static double run(const struct world *w, struct state *s, double factor)
{
    double us;

    s->level *= 1 + w->drift + w->wander * normal();
    s->deviation = w->follows * s->deviation + w->noise * normal();
    if (uniform() < 0.1)
        s->slow = uniform() < w->slow_share;
    us = w->us * factor * s->level * exp(s->deviation) * (s->slow ? 1.1 : 1);
    return w->tick_us > 0 ? round(us / w->tick_us) * w->tick_us : us;
}

/* ABBA or BAAB, RUNS / 2 runs for each letter. */
static double block(const struct world *w, struct state *s, double ratio)
{
    const bool turned = uniform() < 0.5;
    double us[2][RUNS], log_ratio = 0;
    size_t have[2] = {0, 0};
    struct rp_err err = RP_ERR_INIT;

    for (unsigned letter = 0; letter < 4; letter++)
        for (unsigned i = 0; i < RUNS / 2; i++) {
            const unsigned which = (letter == 1 || letter == 2) != turned;

            us[which][have[which]++] = run(w, s, which ? 1 : ratio);
        }
    assert_int_equal(rp_decide_block(us[0], us[1], RUNS, &log_ratio, &err), 0);
    return log_ratio;
}

/* With one kind of test_other values, until it is told. */
static enum rp_held test_other(const struct world *w, struct state *s, double ratio,
                               const struct rp_held_rule *rule)
{
    enum rp_held held = RP_HELD_OPEN;
    struct rp_err err = RP_ERR_INIT;
    struct rp_decided d;
    double x[64];
    size_t have = 0;

    for (size_t i = 0; i < LOOKS && held == RP_HELD_OPEN; i++) {
        for (; have < look_at[i]; have++)
            x[have] = block(w, s, ratio);
        assert_int_equal(rp_decide_held(x, have, i + 1 == LOOKS, rule, &d, &held, &err), 0);
    }
    return held;
}

/* What B gains with test_other values in memory: with the first .gaining kinds as much as with the
 * captured ones, with the test_others nothing. */
struct test_others {
    size_t kinds, gaining;
};
static const struct test_others no_others = {0, 0};

/* How many a comparison may have. */
static size_t memory_kinds(void)
{
    size_t count = 0;

    for (unsigned i = 0; i < RP_VARIATIONS; i++)
        count += rp_varies_memory((enum rp_variation)i);
    return count;
}

static enum rp_held all_others(const struct world *w, struct state *s, double ratio,
                               const struct test_others *test_others,
                               const struct rp_held_rule *rule)
{
    enum rp_held held = RP_HELD;

    for (size_t i = 0; i < test_others->kinds && held == RP_HELD; i++)
        held = test_other(w, s, i < test_others->gaining ? ratio : 1, rule);
    return held;
}

/* As ab_test.c does it: A and A, then A and B, then with test_other values.
 * @param ret_by_values  whether it is undecided by these; or NULL */
static struct rp_decided session(const struct world *w, double ratio,
                                 const struct test_others *test_others, bool *ret_by_values)
{
    const struct rp_decide_rule first = {.margin = 0.01, .alpha = 0.01, .looks = 1};
    struct rp_decide_rule rule = {.margin = 0.01, .alpha = 0.01, .looks = LOOKS};
    struct state s = {.level = 1};
    struct rp_err none = RP_ERR_INIT;
    struct rp_held_rule gain;
    struct rp_decided d = {0};
    enum rp_held held;
    double x[64];
    size_t have = 0;

    if (ret_by_values)
        *ret_by_values = false;

    for (size_t i = 0; i < look_at[0]; i++)
        x[i] = block(w, &s, 1);
    assert_int_equal(rp_replay_decide(x, look_at[0], &first, &d, &none), 0);
    if (!rp_decide_steady(&d, &rule.noise))
        return (struct rp_decided){.high = INFINITY};
    d = (struct rp_decided){0};
    for (size_t i = 0; i < LOOKS && d.decision == RP_UNDECIDED; i++) {
        struct rp_err err = RP_ERR_INIT;

        for (; have < look_at[i]; have++)
            x[have] = block(w, &s, ratio);
        assert_int_equal(rp_replay_decide(x, have, &rule, &d, &err), 0);
    }
    if (d.decision != RP_FASTER)
        return d;
    gain = (struct rp_held_rule){.decide = rule, .captured = d.ratio, .kinds = test_others->kinds};
    held = all_others(w, &s, ratio, test_others, &gain);
    if (held != RP_HELD)
        d.decision = RP_UNDECIDED;
    if (ret_by_values)
        *ret_by_values = held == RP_NOT_HELD;
    return d;
}

static void test_count(const struct world *w, double ratio, unsigned ret[COUNTS])
{
    memset(ret, 0, COUNTS * sizeof *ret);
    for (unsigned i = 0; i < TRIALS; i++) {
        const struct rp_decided d = session(w, ratio, &no_others, NULL);

        ret[d.decision]++;
        ret[NOT_SLOWER] += rp_decide_gate(&d, 0.01, RP_GATE_NOT_SLOWER) == RP_GATE_PASSED;
    }
    print_message("%-10s ratio %.3f: undecided %5.1f %%, faster %5.1f, slower %5.1f, equal %5.1f, "
                  "not-slower passed %5.1f\n",
                  w->name, ratio, 100.0 * ret[RP_UNDECIDED] / TRIALS,
                  100.0 * ret[RP_FASTER] / TRIALS, 100.0 * ret[RP_SLOWER] / TRIALS,
                  100.0 * ret[RP_EQUAL] / TRIALS, 100.0 * ret[NOT_SLOWER] / TRIALS);
}

/* alpha, and three standard deviations of what is counted */
static unsigned most_false(void)
{
    return (unsigned)(TRIALS * 0.01 + 3 * sqrt(TRIALS * 0.01 * 0.99));
}

static void test_false_verdicts(void **state)
{
    (void)state;
    test_seed = 88172645463325252u;
    for (size_t i = 0; i < sizeof worlds / sizeof *worlds; i++) {
        unsigned n[COUNTS];

        test_count(&worlds[i], 1, n); /* the same kernel twice */
        assert_true(n[RP_FASTER] <= most_false());
        assert_true(n[RP_SLOWER] <= most_false());
        test_count(&worlds[i], 1.01, n); /* as much as the margin: the worst case, both ways */
        assert_true(n[RP_FASTER] <= most_false());
        assert_true(n[RP_EQUAL] <= most_false());
        test_count(&worlds[i], 1 / 1.01, n);
        assert_true(n[RP_SLOWER] <= most_false());
        assert_true(n[RP_EQUAL] <= most_false());
        assert_true(n[NOT_SLOWER] <= most_false());
    }
    /* Noise makes nothing equal. */
    for (unsigned i = 0; i < 2; i++) {
        const struct world noisy = {"noisy", 100, i ? 0.1 : 0.05, 0, 0, 0, 0, 0};
        unsigned n[COUNTS];

        test_count(&noisy, 1 / 1.015, n);
        assert_true(n[RP_EQUAL] <= most_false());
        assert_true(n[NOT_SLOWER] <= most_false());
    }
}

/* What is 5 % faster or slower is found, and what is the same is called so, where noise allows it.
 */
static void test_power(void **state)
{
    (void)state;
    test_seed = 362436069362436069u;
    for (size_t i = 0; i < sizeof worlds / sizeof *worlds; i++) {
        unsigned n[COUNTS];

        test_count(&worlds[i], 1.05, n);
        assert_true(n[RP_FASTER] >= TRIALS * 9 / 10);
        test_count(&worlds[i], 1 / 1.05, n);
        assert_true(n[RP_SLOWER] >= TRIALS * 9 / 10);
    }
}

/* --- with test_other values ---------------------------------------------------------------- */

struct held_count {
    unsigned faster, by_values;
};

static struct held_count count_held(const struct world *w, double ratio,
                                    const struct test_others *test_others)
{
    struct held_count n = {0, 0};

    for (unsigned i = 0; i < TRIALS; i++) {
        bool by_values;

        n.faster += session(w, ratio, test_others, &by_values).decision == RP_FASTER;
        n.by_values += by_values;
    }
    print_message("%-10s noise %g, ratio %.3f with %zu of %zu kinds of other values: faster "
                  "%5.1f %%, by values %5.1f\n",
                  w->name, w->noise, ratio, test_others->gaining, test_others->kinds,
                  100.0 * n.faster / TRIALS, 100.0 * n.by_values / TRIALS);
    return n;
}

/* What gains with the captured values only. */
static void test_known_values(void **state)
{
    static const struct world noisy = {"noisy", 100, 0.1, 0, 0, 0, 0, 0};
    const struct test_others one = {1, 0}, none = {memory_kinds(), 0},
                             all_but_one = {memory_kinds(), memory_kinds() - 1};

    (void)state;
    test_seed = 88172645463325252u;
    for (size_t i = 0; i <= sizeof worlds / sizeof *worlds; i++) {
        const struct world *w = i < sizeof worlds / sizeof *worlds ? &worlds[i] : &noisy;
        struct held_count n;

        assert_true(count_held(w, 1.03, &one).faster <= most_false());
        assert_true(count_held(w, 1.1, &one).faster <= most_false());
        assert_true(count_held(w, 1.1, &none).faster <= most_false());
        n = count_held(w, 7, &all_but_one); /* one kind without it is enough */
        assert_true(n.faster <= most_false() && n.by_values >= TRIALS * 9 / 10);
    }
}

/* What gains as much with any values is not lost to noise: five points at most, and two standard
 * deviations of the difference of two counts. */
static void test_honest_gains(void **state)
{
    static const struct {
        double noise, ratio;
    } cases[] = {{0.01, 1.02}, {0.02, 1.025}, {0.02, 1.03}, {0.05, 1.03},
                 {0.05, 1.05}, {0.05, 1.07},  {0.1, 1.1},   {0.1, 1.2}};
    const unsigned most = (unsigned)(TRIALS * 0.05 + 2 * sqrt(TRIALS * 0.5));

    (void)state;
    test_seed = 521288629;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct world w = {"honest", 100, cases[i].noise, 0, 0, 0, 0, 0};
        const unsigned alone = count_held(&w, cases[i].ratio, &no_others).faster;

        for (size_t all = 0; all < 2; all++) {
            const size_t kinds = all ? memory_kinds() : 1;
            const struct test_others test_others = {kinds, kinds};
            const struct held_count n = count_held(&w, cases[i].ratio, &test_others);

            assert_true(n.faster + most >= alone);
            assert_true(n.by_values <= most_false());
        }
    }
}

static void test_held_exactly(void **state)
{
    const struct {
        double captured, other, noise;
        enum rp_held held;
    } cases[] =
        {
            {7, 1, 0, RP_NOT_HELD},         {7, 1.5, 0, RP_HELD}, /* less, but beyond the margin */
            {1.05, 1.03, 0, RP_HELD},       {1.05, 1.01, 0, RP_NOT_HELD},
            {1.05, 1.0, 0, RP_NOT_HELD},    {1.05, 0.9, 0, RP_NOT_HELD},
            {1.2, 1.05, 0.06, RP_NOT_HELD}, /* within what A differs from itself by, and not half */
            {1.08, 1.05, 0.06, RP_HELD},
        };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct rp_held_rule rule = {
            .decide = {.margin = 0.02, .noise = cases[i].noise, .alpha = 0.01, .looks = 1},
            .captured = cases[i].captured,
            .kinds = 1};
        struct rp_err err = RP_ERR_INIT;
        enum rp_held held = RP_HELD_OPEN;
        struct rp_decided d;

        assert_int_equal(decide_held_exactly(cases[i].other, &rule, &d, &held, &err), 0);
        assert_int_equal(held, cases[i].held);
        assert_true(d.level == 1 && d.ratio == cases[i].other);
    }
}

/* --- exactness ----------------------------------------------------------------------------- */

static void test_distribution(void **state)
{
    (void)state;
    for (size_t n = 1; n <= 12; n++)
        for (size_t w = 0; w <= n * (n + 1) / 2; w++) {
            unsigned below = 0;

            for (unsigned signs = 0; signs < 1u << n; signs++) {
                size_t sum = 0;

                for (size_t i = 0; i < n; i++)
                    sum += signs >> i & 1 ? i + 1 : 0;
                below += sum <= w;
            }
            assert_true(fabs(rp_signed_rank_below(n, w) - (double)below / (double)(1u << n)) <
                        1e-12);
        }
}

/* The interval has the ratios that the test does not reject: each end, a little inside and outside.
 */
static void test_interval(void **state)
{
    const struct rp_decide_rule rule = {.margin = 0, .alpha = 0.025, .looks = 1};

    (void)state;
    test_seed = 521288629;
    for (unsigned trial = 0; trial < 200; trial++) {
        const size_t n = 8 + trial % 20;
        struct rp_err err = RP_ERR_INIT;
        struct rp_decided d;
        double x[32];

        for (size_t i = 0; i < n; i++)
            x[i] = 0.1 * normal();
        assert_int_equal(rp_replay_decide(x, n, &rule, &d, &err), 0);
        assert_true(d.level >= 0.95 && d.level < 1 && d.low < d.ratio && d.ratio < d.high);
        for (int side = -1; side <= 1; side += 2)
            for (int inside = 0; inside < 2; inside++) {
                const double middle =
                    log(side < 0 ? d.low : d.high) + (inside ? -side : side) * 1e-9;
                size_t sum = 0; /* of the ranks of those on the far side */

                for (size_t i = 0; i < n; i++) {
                    size_t rank = 0;

                    for (size_t j = 0; j < n; j++)
                        rank += fabs(x[j] - middle) <= fabs(x[i] - middle);
                    if ((x[i] - middle) * side > 0)
                        sum += rank;
                }
                assert_int_equal(rp_signed_rank_below(n, sum) > 0.025, inside);
            }
    }
}

static void test_verdicts(void **state)
{
    const struct rp_decide_rule rule = {.margin = 0.01, .alpha = 0.01, .looks = 1};
    const struct {
        double ratio, spread;
        size_t blocks;
        enum rp_replay_decision decision;
    } cases[] = {
        {1.05, 0.001, 10, RP_FASTER},
        {0.95, 0.001, 10, RP_SLOWER},
        {1.0, 0.001, 10, RP_EQUAL},
        {1.01, 0.001, 10, RP_UNDECIDED},
        {1.05, 0.5, 10, RP_UNDECIDED},
        {1.5, 0.001, 6, RP_UNDECIDED}, /* 1 / 64 is more than alpha */
        {1.5, 0.001, 7, RP_FASTER},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rp_err err = RP_ERR_INIT;
        struct rp_decided d;
        double x[16];

        for (size_t j = 0; j < cases[i].blocks; j++)
            x[j] = log(cases[i].ratio) +
                   cases[i].spread * ((double)j - (double)(cases[i].blocks - 1) / 2);
        assert_int_equal(rp_replay_decide(x, cases[i].blocks, &rule, &d, &err), 0);
        assert_int_equal(d.decision, cases[i].decision);
        assert_true(fabs(d.ratio - cases[i].ratio) < 1e-9);
        assert_int_equal(d.level > 0, cases[i].blocks != 6);
    }
}

static void test_exact_ratios(void **state)
{
    const struct rp_decide_rule rule = {.margin = 0.02, .noise = 0.05, .alpha = 0.01, .looks = 1};
    struct rp_err err = RP_ERR_INIT;
    struct rp_decided d;

    (void)state;
    assert_int_equal(replay_decide_exactly(1.06, &rule, &d, &err), 0);
    assert_int_equal(d.decision, RP_FASTER);
    assert_true(d.low == 1.06 && d.ratio == 1.06 && d.high == 1.06 && d.level == 1);
    assert_int_equal(replay_decide_exactly(1.04, &rule, &d, &err), 0);
    assert_int_equal(d.decision, RP_UNDECIDED); /* as A differs from itself by more */
    assert_int_equal(replay_decide_exactly(1.01, &rule, &d, &err), 0);
    assert_int_equal(d.decision, RP_EQUAL);
    assert_int_equal(replay_decide_exactly(0, &rule, &d, &err), -RP_BAD_INPUT);
    assert_int_equal(replay_decide_exactly(INFINITY, &rule, &d, &err), -RP_BAD_INPUT);
}

/* Times from counts are told apart where their bounds are. */
static void test_bounds(void **state)
{
    static const struct {
        double a[2], b[2];
        enum rp_replay_decision decision;
        enum rp_held held;
    } cases[] = {
        {{10, 20}, {5, 9}, RP_FASTER, RP_HELD},
        {{10, 20}, {5, 9.9}, RP_UNDECIDED, RP_HELD}, /* within the margin of it */
        {{10, 20}, {5, 12}, RP_UNDECIDED, RP_HELD_OPEN},
        {{10, 20}, {10, 20}, RP_UNDECIDED, RP_HELD_OPEN}, /* the same kernel, perhaps */
        {{10, 20}, {21, 30}, RP_SLOWER, RP_NOT_HELD},
        {{10, 10.1}, {10, 10.1}, RP_EQUAL, RP_NOT_HELD},
    };
    const struct rp_held_rule rule = {
        .decide = {.margin = 0.02, .alpha = 0.01, .looks = 1}, .captured = 1.5, .kinds = 1};
    struct rp_err err = RP_ERR_INIT;
    struct rp_decided d;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rp_variation_result with = {.us = {15, 7}};
        enum rp_held got = RP_HELD_OPEN;

        assert_int_equal(rp_decide_between(2, cases[i].a, cases[i].b, &rule.decide, &d, &err), 0);
        assert_int_equal(d.decision, cases[i].decision);
        assert_true(d.ratio == 2 && d.level == 1 && d.low == cases[i].a[0] / cases[i].b[1]);
        memcpy(with.between_us[0], cases[i].a, sizeof cases[i].a);
        memcpy(with.between_us[1], cases[i].b, sizeof cases[i].b);
        assert_int_equal(held_modelled(&with, &rule, &d, &got, &err), 0);
        assert_int_equal(got, cases[i].held);
    }
    assert_int_equal(
        rp_decide_between(2, (double[]){0, 2}, (double[]){1, 2}, &rule.decide, &d, &err),
        -RP_BAD_INPUT);
}

static void undecided_by_bounds_has_a_remedy(void **state)
{
    struct rp_replay_comparison c = {.by_bounds = true, .steady = true};
    struct rp_comparison_words words = rp_replay_comparison_words(&c);

    (void)state;
    assert_string_equal(words.undecided_by, "bounds");
    assert_string_equal(words.reason, "the bounds of both times overlap: use --timing detailed");
    c.others_open = true;
    words = rp_replay_comparison_words(&c);
    assert_string_equal(words.undecided_by, "bounds");
    assert_non_null(strstr(words.reason, "with other ones in memory the bounds"));
}

/* On a device without noise: what it is undecided by is the margin. */
static void undecided_at_the_margin(void **state)
{
    struct rp_replay_comparison c = {
        .steady = true, .decided = {.ratio = 1.01, .low = 1.01, .high = 1.01, .level = 0.99}};

    (void)state;
    assert_string_equal(rp_replay_comparison_words(&c).undecided_by, "margin");
    assert_non_null(strstr(rp_replay_comparison_words(&c).reason, "at the end of the margin"));
    c.decided.high = 1.02;
    assert_string_equal(rp_replay_comparison_words(&c).undecided_by, "noise");
}

static void test_gates(void **state)
{
    const struct {
        struct rp_decided d;
        enum rp_gate_result faster, not_slower;
    } cases[] = {
        {{.decision = RP_FASTER, .low = 1.02, .high = 1.03, .level = 0.98},
         RP_GATE_PASSED,
         RP_GATE_PASSED},
        {{.decision = RP_EQUAL, .low = 0.995, .high = 1.005, .level = 0.98},
         RP_GATE_FAILED,
         RP_GATE_PASSED},
        {{.decision = RP_SLOWER, .low = 0.9, .high = 0.95, .level = 0.98},
         RP_GATE_FAILED,
         RP_GATE_FAILED},
        /* faster or equal; slower or equal; no interval */
        {{.low = 0.995, .high = 1.1, .level = 0.98}, RP_GATE_OPEN, RP_GATE_PASSED},
        {{.low = 0.9, .high = 1.005, .level = 0.98}, RP_GATE_OPEN, RP_GATE_OPEN},
        {{.low = 0, .high = INFINITY}, RP_GATE_OPEN, RP_GATE_OPEN},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(rp_decide_gate(&cases[i].d, 0.01, RP_GATE_NONE), RP_GATE_PASSED);
        assert_int_equal(rp_decide_gate(&cases[i].d, 0.01, RP_GATE_FASTER), cases[i].faster);
        assert_int_equal(rp_decide_gate(&cases[i].d, 0.01, RP_GATE_NOT_SLOWER),
                         cases[i].not_slower);
    }
}

static void test_refusals(void **state)
{
    const struct rp_decide_rule rule = {.margin = 0.01, .alpha = 0.01, .looks = 1};
    const double good[2] = {1, 2}, zero[2] = {1, 0}, none[2] = {1, NAN};
    struct rp_err err = RP_ERR_INIT;
    struct rp_decided d;
    double x;

    (void)state;
    assert_int_equal(rp_decide_block(good, zero, 2, &x, &err), -RP_BAD_INPUT);
    assert_int_equal(rp_decide_block(none, good, 2, &x, &err), -RP_BAD_INPUT);
    assert_int_equal(rp_replay_decide(good, 0, &rule, &d, &err), -RP_BAD_INPUT);
    assert_int_equal(rp_replay_decide(good, RP_DECIDE_MOST_BLOCKS + 1, &rule, &d, &err),
                     -RP_BAD_INPUT);
}

/* --- the tables in docs/how-it-decides.md -------------------------------------------------- */

static const double curve_ratios[] = {1,    1.005, 1.01, 1.015, 1.02, 1.025,
                                      1.03, 1.05,  1.07, 1.1,   1.2};

/* @param kinds  of test_other values in memory, with which B gains as much; none of them: 0 */
static void print_curve(size_t kinds, size_t gaining, double least_ratio)
{
    static const double noises[] = {0.005, 0.01, 0.02, 0.05, 0.1};
    const struct test_others test_others = {kinds, gaining};

    test_seed = 88172645463325252u;
    printf("%zu of %zu kinds of other values\n| time of A / time of B | 0.5 %% | 1 %% | 2 %% | "
           "5 %% | 10 %% |\n|---|---|---|---|---|---|\n",
           gaining, kinds);
    for (size_t i = 0; i < sizeof curve_ratios / sizeof *curve_ratios; i++) {
        if (curve_ratios[i] < least_ratio)
            continue;
        printf("| %.3f", curve_ratios[i]);
        for (size_t j = 0; j < sizeof noises / sizeof *noises; j++) {
            const struct world w = {.us = 100, .noise = noises[j], .drift = 0.0002};
            unsigned n[COUNTS] = {0}, by_values = 0;

            for (unsigned k = 0; k < TRIALS; k++) {
                bool values;

                n[session(&w, curve_ratios[i], &test_others, &values).decision]++;
                by_values += values;
            }
            printf(" | %.1f / %.1f", 100.0 * n[RP_FASTER] / TRIALS,
                   100.0 * (kinds ? by_values : n[RP_EQUAL]) / TRIALS);
        }
        printf(" |\n");
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_distribution),
        cmocka_unit_test(test_interval),
        cmocka_unit_test(test_verdicts),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_gates),
        cmocka_unit_test(test_exact_ratios),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(undecided_by_bounds_has_a_remedy),
        cmocka_unit_test(undecided_at_the_margin),
        cmocka_unit_test(test_false_verdicts),
        cmocka_unit_test(test_power),
        cmocka_unit_test(test_known_values),
        cmocka_unit_test(test_honest_gains),
        cmocka_unit_test(test_held_exactly),
    };

    if (argc == 2 && strcmp(argv[1], "curve") == 0) {
        print_curve(0, 0, 1);
        print_curve(1, 1, 1.015);
        print_curve(memory_kinds(), memory_kinds(), 1.015);
        print_curve(1, 0, 1.015);
        print_curve(memory_kinds(), memory_kinds() - 1, 1.015);
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}

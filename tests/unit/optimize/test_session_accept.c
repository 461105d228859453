/**
 * @file test_session_accept.c
 * @brief How often a search accepts what gains nothing, and how often what gains something, by
 * simulation: times of a GPU in worlds of noise go through the rule of `replay compare`, those with
 * other values in memory, too, the decision on all geometries and the confirmations, as in a
 * session on hardware. What comes after these, the whole program, is left out: it can only refuse
 * more.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/journal.h"
#include "unit/scratch.h"

#include "experiment/judge.h"
#include "replay/ab_test.h"

#include "optimize/session_accept.c"

enum {
    RUNS = RP_COMPARE_RUNS,
    LOOKS = 3,
    CANDIDATES = 500,
    MOST_GEOMETRIES = 4,
};
static const size_t look_at[LOOKS] = {RP_COMPARE_FIRST_BLOCKS, 2 * RP_COMPARE_FIRST_BLOCKS,
                                      4 * RP_COMPARE_FIRST_BLOCKS};
static const double TEST_ALPHA = RP_COMPARE_ALPHA, LEAST_IMPROVEMENT = 0.02;

/* --- random numbers, the same each time (xorshift64*) -------------------------------------- */

static double uniform(uint64_t *seed)
{
    *seed ^= *seed >> 12;
    *seed ^= *seed << 25;
    *seed ^= *seed >> 27;
    return ((double)(*seed * 2685821657736338717u >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(uint64_t *seed)
{
    const double radius = sqrt(-2 * log(uniform(seed)));

    return radius * cos(6.283185307179586 * uniform(seed));
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
    {"independent noise, 2 %", 100, 0.02, 0, 0, 0, 0, 0},
    {"noise 2 %, steady drift", 100, 0.02, 0.0005, 0, 0, 0, 0},
    {"a clock that wanders", 100, 0.01, 0, 0.003, 0, 0, 0},
    {"each run like the last", 100, 0.01, 0, 0, 0.9, 0, 0},
    {"spells of 10 % more", 100, 0.01, 0, 0, 0, 0.2, 0},
    {"2 us, timer of 10 ns", 2, 0.01, 0, 0.001, 0.5, 0, 0.01},
    {"independent noise, 10 %", 100, 0.1, 0, 0, 0, 0, 0},
};
enum { WORLDS = sizeof worlds / sizeof *worlds };

struct gpu {
    const struct world *world;
    uint64_t seed;
    double level, deviation;
    bool slow;
};

static double test_run(struct gpu *g, double factor)
{
    const struct world *w = g->world;
    double us;

    g->level *= 1 + w->drift + w->wander * normal(&g->seed);
    g->deviation = w->follows * g->deviation + w->noise * normal(&g->seed);
    if (uniform(&g->seed) < 0.1)
        g->slow = uniform(&g->seed) < w->slow_share;
    us = w->us * factor * g->level * exp(g->deviation) * (g->slow ? 1.1 : 1);
    return w->tick_us > 0 ? round(us / w->tick_us) * w->tick_us : us;
}

static double block(struct gpu *g, double ratio)
{
    const bool turned = uniform(&g->seed) < 0.5;
    double us[2][RUNS], log_ratio = 0;
    size_t have[2] = {0, 0};
    struct rp_err err = RP_ERR_INIT;

    for (unsigned letter = 0; letter < 4; letter++)
        for (unsigned i = 0; i < RUNS / 2; i++) {
            const unsigned which = (letter == 1 || letter == 2) != turned;

            us[which][have[which]++] = test_run(g, which ? 1 : ratio);
        }
    assert_int_equal(rp_decide_block(us[0], us[1], RUNS, &log_ratio, &err), 0);
    return log_ratio;
}

static struct rp_decided decided(const double *x, size_t count, const struct rp_decide_rule *rule)
{
    struct rp_err err = RP_ERR_INIT;
    struct rp_decided d;

    assert_int_equal(rp_replay_decide(x, count, rule, &d, &err), 0);
    return d;
}

/* --- what is measured and decided ---------------------------------------------------------- */

/** Time before / time after. */
struct gain {
    double captured, elsewhere; /* with the captured values, and with others */
    size_t kinds;               /* of others */
};

static struct gain steady_gain(double ratio)
{
    enum { MOST_KINDS = 4 };

    return (struct gain){ratio, ratio, MOST_KINDS};
}

/** Until it is decided whether the gain holds with other values. */
static enum rp_held hold(struct gpu *g, double ratio, const struct rp_held_rule *rule,
                         struct rp_decided *ret)
{
    enum rp_held held = RP_HELD_OPEN;
    struct rp_err err = RP_ERR_INIT;
    double x[RP_DECIDE_MOST_BLOCKS];
    size_t have = 0;

    for (size_t i = 0; i < LOOKS && held == RP_HELD_OPEN; i++) {
        for (; have < look_at[i]; have++)
            x[have] = block(g, ratio);
        assert_int_equal(rp_decide_held(x, have, i + 1 == LOOKS, rule, ret, &held, &err), 0);
    }
    return held;
}

/** As ab_test.c of both does it: what is undecided is no longer of interest. */
static void compare_elsewhere(struct gpu *g, const struct gain *gain,
                              const struct rp_decide_rule *rule, struct rp_comparison *c)
{
    const struct rp_held_rule held_rule = {*rule, c->estimate, gain->kinds};

    for (size_t i = 0; i < gain->kinds && c->verdict == RP_COMPARED_FASTER; i++) {
        struct rp_decided d;
        const enum rp_held held = hold(g, gain->elsewhere, &held_rule, &d);

        if (held != RP_HELD) {
            c->verdict = RP_COMPARED_UNDECIDED;
            c->undecided_by = held == RP_NOT_HELD ? RP_BY_VALUES : RP_BY_NOISE;
        }
        if ((held == RP_HELD ? d.high : d.low) < c->low) {
            c->estimate = d.ratio;
            c->low = d.low;
            c->high = d.high;
        }
    }
}

/** `replay compare` of one geometry: A and A, then A and B until it is decided, then with other
 * values. */
static struct rp_comparison compare(const struct world *w, const struct gain *gain, uint64_t *seed)
{
    static const enum rp_comparison_verdict verdicts[] = {[RP_UNDECIDED] = RP_COMPARED_UNDECIDED,
                                                          [RP_FASTER] = RP_COMPARED_FASTER,
                                                          [RP_SLOWER] = RP_COMPARED_SLOWER,
                                                          [RP_EQUAL] = RP_COMPARED_EQUAL};
    const double margin =
        w->tick_us / w->us > LEAST_IMPROVEMENT ? w->tick_us / w->us : LEAST_IMPROVEMENT;
    const struct rp_decide_rule first = {
        .margin = LEAST_IMPROVEMENT, .alpha = TEST_ALPHA, .looks = 1};
    struct rp_decide_rule rule = {.margin = margin, .alpha = TEST_ALPHA, .looks = LOOKS};
    struct gpu g = {.world = w, .seed = *seed, .level = 1};
    struct rp_comparison c = {.verdict = RP_COMPARED_UNDECIDED,
                              .undecided_by = RP_BY_UNSTEADY,
                              .margin = margin,
                              .alpha = TEST_ALPHA,
                              .before_us = w->us};
    struct rp_decided d = {0};
    double x[RP_DECIDE_MOST_BLOCKS];
    size_t have = 0;

    for (size_t i = 0; i < look_at[0]; i++)
        x[i] = block(&g, 1);
    d = decided(x, look_at[0], &first);
    if (rp_decide_steady(&d, &rule.noise)) {
        d = (struct rp_decided){0};
        for (size_t i = 0; i < LOOKS && d.decision == RP_UNDECIDED; i++) {
            for (; have < look_at[i]; have++)
                x[have] = block(&g, gain->captured);
            d = decided(x, have, &rule);
        }
        c.verdict = verdicts[d.decision];
        c.undecided_by = RP_BY_NOISE;
        c.noise = rule.noise;
        c.ratio_known = d.level > 0;
        c.estimate = d.ratio;
        c.low = d.low;
        c.high = d.high;
        compare_elsewhere(&g, gain, &rule, &c);
    }
    *seed = g.seed;
    return c;
}

/** As session_candidates.c: one that was not steady is made once more. */
static struct rp_comparison compare_steadily(const struct world *w, const struct gain *gain,
                                             uint64_t *seed)
{
    const struct rp_comparison first = compare(w, gain, seed);
    struct rp_comparison again;

    if (!rp_comparison_is_unsteady(&first))
        return first;
    again = compare(w, gain, seed);
    rp_comparison_repeats(&again, &first);
    return again;
}

static bool is_faster(const struct world *w, const struct gain *gain, size_t geometries,
                      uint64_t *seed, double *ret_error)
{
    struct rp_weighted_comparison list[MOST_GEOMETRIES];
    struct rp_decision d;

    for (size_t i = 0; i < geometries; i++)
        list[i] =
            (struct rp_weighted_comparison){compare_steadily(w, gain, seed), (double)(i + 1), "g"};
    rp_decide(list, geometries, LEAST_IMPROVEMENT, &d);
    *ret_error = d.error;
    return d.outcome == RP_OUTCOME_FASTER;
}

struct counted {
    unsigned faster;   /* when first measured */
    unsigned accepted; /* and in each confirmation */
};

/** Candidates of one search, all of them confirmed if they are to be. */
static struct counted search(const struct world *w, struct gain gain, size_t geometries,
                             size_t candidates, uint64_t *seed)
{
    struct counted c = {0};

    for (size_t n = 1; n <= candidates; n++) {
        double error, product;
        bool faster = is_faster(w, &gain, geometries, seed, &product);
        unsigned made = 0;

        c.faster += faster;
        while (faster && !rp_is_confirmed(n, made, product, TEST_ALPHA, false)) {
            faster = made++ < RP_MAX_CONFIRMATIONS && is_faster(w, &gain, geometries, seed, &error);
            product *= error;
        }
        c.accepted += faster;
    }
    return c;
}

/* --- what is claimed ----------------------------------------------------------------------- */

/* The same code, and the worst case: what is gained is just what is asked for. */
static const double nulls[] = {1, 1.02};

static void at_most_one_of_a_hundred_null_candidates_is_accepted(void **state)
{
    uint64_t seed = 88172645463325252u;
    unsigned faster = 0, accepted = 0;

    (void)state;
    for (size_t w = 0; w < WORLDS; w++)
        for (size_t i = 0; i < sizeof nulls / sizeof *nulls; i++) {
            const struct counted c =
                search(&worlds[w], steady_gain(nulls[i]), 1, CANDIDATES, &seed);

            print_message("%-24s ratio %.2f: of %d \"faster\" %u, accepted %u\n", worlds[w].name,
                          nulls[i], CANDIDATES, c.faster, c.accepted);
            assert_true(c.accepted <= CANDIDATES / 100);
            faster += c.faster;
            accepted += c.accepted;
        }
    /* Each search accepts one with 1 % at most: two of these 14 do with less than 1 %. */
    assert_true(accepted <= 1);
    assert_true(faster > 1); /* else there was nothing to refuse */
}

static void several_geometries_add_up_to_no_more(void **state)
{
    uint64_t seed = 521288629;

    (void)state;
    for (size_t i = 0; i < sizeof nulls / sizeof *nulls; i++)
        assert_true(search(&worlds[0], steady_gain(nulls[i]), 3, CANDIDATES, &seed).accepted <=
                    CANDIDATES / 100);
}

/* The first of a search: of 100, each in a search of its own. */
static unsigned found(const struct world *w, struct gain gain, unsigned searches, uint64_t *seed)
{
    unsigned count = 0;

    for (unsigned i = 0; i < searches; i++)
        count += search(w, gain, 1, 1, seed).accepted;
    return count;
}

static void what_gains_a_tenth_is_found(void **state)
{
    uint64_t seed = 362436069362436069u;

    (void)state;
    for (size_t w = 0; w < WORLDS; w++) {
        const unsigned n = found(&worlds[w], steady_gain(1.1), 100, &seed);

        print_message("%-24s ratio 1.10: of 100 accepted %u\n", worlds[w].name, n);
        if (worlds[w].noise < 0.1)
            assert_true(n >= 97); /* 96 on average if unsteady sessions were not repeated */
    }
}

/* What knows the captured values. */
static void what_gains_with_the_captured_values_only_is_not_accepted(void **state)
{
    static const double gains[] = {1.05, 1.1, 7};
    uint64_t seed = 2463534242u;

    (void)state;
    for (size_t w = 0; w < WORLDS; w++)
        for (size_t i = 0; i < sizeof gains / sizeof *gains; i++) {
            const struct gain gain = {gains[i], 1, 1};

            assert_true(found(&worlds[w], gain, 100, &seed) <= 1);
        }
}

/* --- the table in docs/how-it-decides.md --------------------------------------------------- */

static void print_table(void)
{
    enum { SEARCHES = 1000, OF = 8 };
    static const double gains[] = {1.03, 1.05, 1.1, 1.2};
    static const struct gain known = {1.1, 1, 1};
    uint64_t seed = 88172645463325252u;

    printf(
        "| noise of a run | `faster` of 8000 | accepted | searches of 1000 | ratio 1.03 | 1.05 "
        "| 1.10 | 1.20 | captured values only, of 1000 |\n|---|---|---|---|---|---|---|---|---|\n");
    for (size_t w = 0; w < WORLDS; w++) {
        struct counted sum = {0};
        unsigned with_one = 0;

        for (unsigned i = 0; i < SEARCHES; i++) {
            const struct counted c = search(&worlds[w], steady_gain(nulls[1]), 1, OF, &seed);

            sum.faster += c.faster;
            sum.accepted += c.accepted;
            with_one += c.accepted > 0;
        }
        printf("| %s | %u | %u | %u", worlds[w].name, sum.faster, sum.accepted, with_one);
        for (size_t i = 0; i < sizeof gains / sizeof *gains; i++)
            printf(" | %.1f",
                   100.0 * found(&worlds[w], steady_gain(gains[i]), SEARCHES, &seed) / SEARCHES);
        printf(" | %u |\n", found(&worlds[w], known, SEARCHES, &seed));
    }
}

/* In the program times from counts are told apart by their bounds. */
static void overlapping_bounds_accept_nothing(void **state)
{
    static const struct {
        struct rp_program_bounds kernel, whole;
        enum rp_outcome outcome;
        const char *why;
    } cases[] = {
        {{{100, 200}, {50, 90}}, {{150, 300}, {100, 140}}, RP_OUTCOME_ACCEPTED, "faster"},
        {{{100, 200}, {50, 120}}, {{150, 300}, {100, 140}}, RP_OUTCOME_UNDECIDED, "the kernel: "},
        {{{100, 200}, {50, 90}}, {{150, 300}, {100, 290}}, RP_OUTCOME_UNDECIDED, "together: "},
        {{{100, 200}, {210, 300}},
         {{150, 300}, {100, 140}},
         RP_OUTCOME_PROGRAM_SLOWER,
         "the kernel is 1.050x to 3.000x slower"},
        {{{100, 200}, {50, 90}},
         {{150, 300}, {330, 450}},
         RP_OUTCOME_PROGRAM_SLOWER,
         "all kernels together are 1.10x to 3.00x slower"},
        {{{0, 0}, {0, 0}}, {{150, 300}, {100, 140}}, RP_OUTCOME_UNDECIDED, "not all launches"},
        {{{100, 200}, {50, 90}}, {{150, 300}, {0, 0}}, RP_OUTCOME_UNDECIDED, "not all launches"},
        {{{0, 0}, {0, 0}}, {{0, 0}, {0, 0}}, RP_OUTCOME_UNDECIDED, "not all launches"},
    };
    struct rp_program_times detailed = {
        .before_ms = 2, .after_ms = 1, .kernel_before_ns = 150, .kernel_after_ns = 70};
    char text[200];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct rp_program_times times = {.before_ms = 2,
                                               .after_ms = 1,
                                               .kernel_before_ns = 150,
                                               .kernel_after_ns = 70,
                                               .from_counts = true,
                                               .kernel = cases[i].kernel,
                                               .whole = cases[i].whole};
        char why[200];

        assert_int_equal(rp_program_times_judge(&times, LEAST_IMPROVEMENT, why), cases[i].outcome);
        assert_non_null(strstr(why, cases[i].why));
        if (cases[i].outcome == RP_OUTCOME_UNDECIDED)
            assert_non_null(strstr(why, "use --timing detailed"));
        if (cases[i].outcome == RP_OUTCOME_PROGRAM_SLOWER)
            assert_null(strstr(why, "faster"));
    }
    assert_int_equal(rp_program_times_judge(&detailed, LEAST_IMPROVEMENT, text),
                     RP_OUTCOME_ACCEPTED);
}

/* --- modelled times ------------------------------------------------------------------------ */

/** The comparisons of a session, of two geometries, as replay compare prints them. */
static json_t *geometries(const double b_us[2][2])
{
    json_t *list = json_array();

    for (size_t i = 0; i < 2; i++)
        json_array_append_new(list,
                              json_pack("{s:{s:[{s:[f,f], s:[f,f]}]}}", "comparison", "blocks",
                                        "a_us", 30.0, 30.0, "b_us", b_us[i][0], b_us[i][1]));
    return list;
}

/* The journal has what both sessions say, so that nothing runs. */
static void a_confirmation_is_compared_with_the_same_values(void **state)
{
    static const struct {
        const char *what;
        double first[2][2], again[2][2]; /* times of the candidate with the captured values */
        double said, said_again;         /* ratios, the first of which is with other values, too */
        int confirmed;
    } cases[] = {
        {"exact", {{10, 10}, {10, 10}}, {{10, 10}, {10, 10}}, 3, 3, 1},
        {"less with other values", {{10, 10}, {10, 10}}, {{10, 10}, {10, 10}}, 2, 3, 1},
        {"a second time", {{10, 10}, {10, 10}}, {{10, 10}, {10.1, 10.1}}, 3, 2.985, 0},
        {"as with other values", {{10, 10}, {10, 10}}, {{12, 12}, {12, 12}}, 2.5, 2.5, 0},
        {"by a clock", {{9.9, 10.1}, {10, 10.2}}, {{10, 10}, {10.1, 10.3}}, 2.98, 2.96, 1},
        {"by a clock, once", {{10, 10}, {10, 10}}, {{9.9, 10.1}, {10, 10.1}}, 3, 2.99, 1},
        {"never the same", {{9.9, 10.1}, {10, 10.2}}, {{10.2, 10.3}, {10.1, 10.2}}, 3, 2.94, 0},
    };
    rp_autofree char *path = rp_path_join(scratch_dir, "journal.jsonl");
    struct rp_err err = RP_ERR_INIT;
    struct rp_session s = {.modelled = true};
    struct rp_kernel_run of = {.s = &s};

    (void)state;
    assert_int_equal(rp_journal_create(path, &s.journal, &err), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rp_session_candidate tried = {.key = (char *)cases[i].what,
                                             .ratio = cases[i].said,
                                             .error = TEST_ALPHA,
                                             .measured = 1,
                                             .json = json_object()};
        rp_autofree char *key = rp_format("%s/1", tried.key);
        int confirmed;

        assert_int_equal(
            rp_journal_add(s.journal, "attempt", tried.key,
                           json_pack("{s:o}", "comparisons", geometries(cases[i].first)), &err),
            0);
        assert_int_equal(rp_journal_add(s.journal, "confirmation", key,
                                        json_pack("{s:o, s:{s:s, s:f}}", "comparisons",
                                                  geometries(cases[i].again), "confirmation",
                                                  "outcome", rp_outcome_word(RP_OUTCOME_FASTER),
                                                  "ratio", cases[i].said_again),
                                        &err),
                         0);
        confirmed = confirm(&of, &tried, &err);
        if (confirmed != cases[i].confirmed)
            fail_msg("%s: %d", cases[i].what, confirmed);
        free(tried.reason);
        json_decref(tried.json);
    }
    rp_journal_close(s.journal);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(at_most_one_of_a_hundred_null_candidates_is_accepted),
        cmocka_unit_test(several_geometries_add_up_to_no_more),
        cmocka_unit_test(what_gains_a_tenth_is_found),
        cmocka_unit_test(overlapping_bounds_accept_nothing),
        cmocka_unit_test_setup_teardown(a_confirmation_is_compared_with_the_same_values,
                                        scratch_begin, scratch_end),
        cmocka_unit_test(what_gains_with_the_captured_values_only_is_not_accepted),
    };

    if (argc == 2 && strcmp(argv[1], "table") == 0) {
        print_table();
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/**
 * @file test_history.c
 * @brief Series of results: false alarms and power by simulation, changes of exact times, states,
 *        times of day, results as rows.
 *
 * test_history curve: the tables of docs/how-it-decides.md
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compare.h"
#include "analyze/history.h"
#include "base/err.h"
#include "effort.h"
#include "unit/cmocka_all.h"

#include "analyze/history.c"

/* With sanitizers, what is looked for there needs no exact rates. */
enum { TRIALS = RP_WITH_SANITIZER ? 200 : 2000 };
enum { MOST = 64 };

static const double test_alpha = 0.01, usual_margin = 0.01;

/* --- random numbers, the same each time (xorshift64*) -------------------------------------- */

static uint64_t seed;

static double uniform(void)
{
    seed ^= seed >> 12;
    seed ^= seed << 25;
    seed ^= seed >> 27;
    return ((double)(seed * 2685821657736338717u >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
    const double radius = sqrt(-2 * log(uniform()));

    return radius * cos(6.283185307179586 * uniform());
}

/* --- what a machine does from result to result --------------------------------------------- */

struct world {
    const char *name;
    double noise;   /* of each result, relative */
    double drift;   /* at most, over all results, in noises; by lot, up or down */
    double walk;    /* of a random walk, each result, in noises */
    double follows; /* how much of a result's deviation the next one has */
    double odd;     /* probability that a result is off by ten noises, alone */
    double wave;    /* amplitude of a slow wave, in noises */
    double tails;   /* probability of three times the noise */
    double tick;    /* in noises */
};

static const struct world worlds[] = {
    {.name = "noise", .noise = 0.01},
    {.name = "much noise", .noise = 0.1},
    {.name = "drift", .noise = 0.01, .drift = 40},
    {.name = "little drift", .noise = 0.01, .drift = 4},
    {.name = "random walk", .noise = 0.01, .walk = 1},
    {.name = "noise and walk", .noise = 0.01, .walk = 0.3, .follows = 0.001},
    {.name = "dependent, 0.5", .noise = 0.01, .follows = 0.5},
    {.name = "dependent, 0.9", .noise = 0.01, .follows = 0.9},
    {.name = "odd ones", .noise = 0.01, .odd = 0.05},
    {.name = "heavy tails", .noise = 0.01, .tails = 0.1},
    {.name = "slow wave", .noise = 0.01, .wave = 4},
    {.name = "coarse clock", .noise = 0.01, .tick = 1},
};
enum { WORLDS = sizeof worlds / sizeof *worlds };
static const size_t counts[] = {6, 7, 8, 10, 12, 15, 20, 30, 50};
enum { COUNTS = sizeof counts / sizeof *counts };

/* Each of a commit of its own. */
static const struct rp_history_result *result_at(size_t at)
{
    static struct rp_history_result results[MOST];
    static char commits[MOST][8];

    snprintf(commits[at], sizeof commits[at], "c%zu", at % MOST);
    results[at].commit = commits[at];
    return &results[at];
}

/* The last @p changed of them take @p ratio times as long. */
static void test_series(const struct world *w, size_t count, size_t changed, double ratio,
                        struct rp_history_point *ret)
{
    const double drift = w->drift * (2 * uniform() - 1) / (double)count;
    const double phase = 6.283185307179586 * uniform();
    const double period = (double)count * (0.3 + 3 * uniform());
    double follow = normal(), walk = 0;

    for (size_t i = 0; i < count; i++) {
        const double fresh = normal() * (w->tails > 0 && uniform() < w->tails ? 3 : 1);
        double off;

        follow = w->follows * follow + sqrt(1 - w->follows * w->follows) * fresh;
        walk += w->walk * (w->follows > 0 ? normal() : fresh);
        off = walk + (w->walk > 0 && !(w->follows > 0) ? 0 : follow) + drift * (double)i +
              w->wave * sin(phase + 6.283185307179586 * (double)i / period) +
              (w->odd > 0 && uniform() < w->odd ? 10 : 0);
        if (w->tick > 0)
            off = w->tick * round(off / w->tick);
        ret[i] = (struct rp_history_point){.result = result_at(i),
                                           .ms = 2 * exp(w->noise * off) *
                                                 (i + changed < count ? 1 : ratio)};
    }
}

/* @return of TRIALS, how many end with a change to slower (or faster, of what takes less time) */
static unsigned alarms(const struct world *w, size_t count, size_t changed, double ratio,
                       double margin)
{
    struct rp_history_point points[MOST];
    unsigned ret = 0;

    for (unsigned i = 0; i < TRIALS; i++) {
        double found = 1;

        test_series(w, count, changed, ratio, points);
        if (!change_at_end(points, count, test_alpha, margin, &found))
            continue;
        ret += ratio == 1 || (found > 1) == (ratio > 1);
    }
    return ret;
}

static void identical_programs_raise_no_alarm(void **state)
{
    (void)state;
    seed = 88172645463325252u;
    for (size_t i = 0; i < WORLDS; i++)
        for (size_t j = 0; j < COUNTS; j++) {
            const unsigned n = alarms(&worlds[i], counts[j], 0, 1, 0);

            /* one per cent, and three standard deviations of the count */
            if (n > 0.01 * TRIALS + 3 * sqrt(0.01 * 0.99 * TRIALS))
                fail_msg("%s, %zu results: %u of %d", worlds[i].name, counts[j], n, TRIALS);
        }
}

static void regressions_of_three_per_cent_are_found(void **state)
{
    static const struct {
        double noise;
        size_t before, after;
        double least; /* of series in which it is found */
    } rows[] = {{0.001, 4, 2, 0.95},  {0.001, 8, 2, 0.97},  {0.002, 4, 5, 0.65},
                {0.002, 10, 3, 0.9},  {0.002, 18, 2, 0.95}, {0.002, 32, 2, 0.98},
                {0.005, 18, 8, 0.55}, {0.005, 32, 8, 0.85}};

    (void)state;
    seed = 521288629u;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct world w = {.noise = rows[i].noise};
        const unsigned n =
            alarms(&w, rows[i].before + rows[i].after, rows[i].after, 1.03, usual_margin);

        if (n < rows[i].least * TRIALS)
            fail_msg("%g noise, %zu before, %zu after: %u of %d", rows[i].noise, rows[i].before,
                     rows[i].after, n, TRIALS);
    }
}

/* --- whole histories ----------------------------------------------------------------------- */

enum { RESULTS = 40, ROWS = 21 };

/* Results with some kernels each; nothing of it is to be freed but the list of test_series. */
struct made {
    struct rp_history_result results[RESULTS];
    struct rp_history_times times[RESULTS][ROWS];
    double ms[RESULTS][ROWS][3];
    struct rp_history history;
};
static const char names[ROWS][2] = {"",  "a", "b", "c", "d", "e", "f", "g", "h", "i", "j",
                                    "k", "l", "m", "n", "o", "p", "q", "r", "s", "t"};

static struct made *make(size_t count, size_t rows, bool software)
{
    static struct made made;
    static char commits[RESULTS][8];

    memset(&made, 0, sizeof made);
    for (size_t i = 0; i < count; i++) {
        snprintf(commits[i], sizeof commits[i], "abc%zu", i % RESULTS);
        made.results[i] = (struct rp_history_result){.id = (int64_t)i + 1,
                                                     .complete = true,
                                                     .software = software,
                                                     .program = (char *)"app",
                                                     .config = (char *)"",
                                                     .commit = commits[i],
                                                     .device = (char *)"hardware x",
                                                     .added = (char *)"2026-11-23T00:00:00Z",
                                                     .times = made.times[i],
                                                     .times_count = rows};
        for (size_t j = 0; j < rows; j++) {
            made.times[i][j] = (struct rp_history_times){
                .kernel = j ? (char *)names[j] : NULL, .runs_ms = made.ms[i][j], .run_count = 3};
            for (size_t k = 0; k < 3; k++)
                made.ms[i][j][k] = 1;
        }
    }
    made.history = (struct rp_history){.results = made.results, .count = count};
    return &made;
}

static struct rp_series_list judged(const struct made *made, const struct rp_series_filter *filter,
                                    size_t recent)
{
    static const struct rp_series_filter all;
    const struct rp_change_rule rule = {
        .alpha = test_alpha, .margin = usual_margin, .recent = recent};
    struct rp_series_list list;

    assert_int_equal(rp_series_of(&made->history, filter ? filter : &all, &list, NULL), 0);
    assert_int_equal(rp_series_judge(&list, &rule, NULL), 0);
    return list;
}

static void set(struct made *made, size_t result, size_t row, double ms)
{
    for (size_t k = 0; k < 3; k++)
        made->ms[result][row][k] = ms;
}

/* Of 21 test_series of one check that are all the same, none is to raise an alarm. */
static void many_series_raise_no_more_alarms(void **state)
{
    const unsigned trials = TRIALS / 4;
    unsigned n = 0;

    (void)state;
    seed = 123456789u;
    for (unsigned i = 0; i < trials; i++) {
        struct made *made = make(16, ROWS, false);
        struct rp_history_point points[MOST];
        struct rp_series_list list;
        bool alarm = false;

        for (size_t j = 0; j < ROWS; j++) {
            test_series(&worlds[i % WORLDS], 16, 0, 1, points);
            for (size_t r = 0; r < 16; r++)
                set(made, r, j, points[r].ms);
        }
        list = judged(made, NULL, 1);
        for (size_t j = 0; j < list.count; j++)
            for (size_t c = 0; c < list.list[j].change_count; c++)
                alarm |= list.list[j].changes[c].found == 15;
        n += alarm;
        rp_series_list_free(&list);
    }
    if (n > 0.01 * trials + 3 * sqrt(0.01 * 0.99 * trials))
        fail_msg("%u of %u", n, trials);
}

/* Of test_series that are checked after each result: how many have told of a change at any time,
 * and how many end with exit status 1 because one of the last results seemed to be slower. */
static void check_all_along(const struct world *w, size_t count, unsigned trials,
                            unsigned *ret_ever, unsigned *ret_failed)
{
    const struct rp_change_rule rule = {.alpha = test_alpha, .margin = 0, .recent = 5};
    struct rp_history_point points[MOST];

    *ret_ever = *ret_failed = 0;
    for (unsigned i = 0; i < trials; i++) {
        struct rp_series one = {
            .points = points, .point_count = count, .newest = result_at(count - 1)};
        struct rp_series_list list = {.list = &one, .count = 1};

        test_series(w, count, 0, 1, points);
        assert_int_equal(rp_series_judge(&list, &rule, NULL), 0);
        *ret_ever += one.change_count > 0;
        *ret_failed += one.state == RP_SERIES_SLOWER;
        free(one.changes);
    }
}

/* A change that is none is told of for --recent results, and the checks of all of them fail. */
static void identical_programs_pass_their_checks(void **state)
{
    const unsigned trials = TRIALS / 2;
    unsigned ever, failed;

    (void)state;
    seed = 362436069u;
    for (size_t i = 0; i < WORLDS; i++) {
        check_all_along(&worlds[i], 24, trials, &ever, &failed);
        if (failed > 0.01 * trials + 3 * sqrt(0.01 * 0.99 * trials))
            fail_msg("%s: %u of %u", worlds[i].name, failed, trials);
    }
}

static char wide_names[600][8];

/* More test_series than the first slots have room for; each result has them in another order. */
static void many_kernels_keep_their_series(void **state)
{
    enum { KERNELS = 600, EACH = 3 };
    struct rp_history_times *times = calloc((size_t)EACH * KERNELS, sizeof *times);
    static double ms[EACH][KERNELS];
    struct made *made = make(EACH, 1, true);
    struct rp_series_list list;

    (void)state;
    assert_non_null(times);
    for (size_t k = 0; k < KERNELS; k++)
        snprintf(wide_names[k], sizeof wide_names[k], "k%zu", k);
    for (size_t i = 0; i < EACH; i++) {
        made->results[i].times = times + i * KERNELS;
        made->results[i].times_count = KERNELS;
        for (size_t j = 0; j < KERNELS; j++) {
            const size_t k = (j * 7 + i * 31) % KERNELS;

            ms[i][j] = 1 + (double)k;
            made->results[i].times[j] = (struct rp_history_times){
                .kernel = wide_names[k], .runs_ms = &ms[i][j], .run_count = 1};
        }
    }
    list = judged(made, NULL, 5);
    assert_int_equal(list.count, KERNELS);
    for (size_t i = 0; i < list.count; i++) {
        assert_int_equal(list.list[i].point_count, EACH);
        assert_int_equal(list.list[i].change_count, 0);
        assert_int_equal(list.list[i].state, RP_SERIES_STEADY);
    }
    rp_series_list_free(&list);
    free(times);
}

/* As of a team with branches and models of time for years: of each branch one model took the
 * other's place. */
static void many_branches_are_told_apart(void **state)
{
    enum { GROUPS = 2000 };
    static double ms = 1;
    static char configs[GROUPS / 2][16];
    static struct rp_history_times times = {.runs_ms = &ms, .run_count = 1};
    const struct rp_change_rule rule = {.alpha = 0.01, .margin = 0.01, .recent = 5};
    const struct rp_series_filter all = {0};
    struct rp_history history = {.results = calloc(GROUPS, sizeof *history.results),
                                 .count = GROUPS};
    struct rp_series_list list = {0};
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    assert_non_null(history.results);
    for (size_t i = 0; i < GROUPS; i++) {
        char *config = configs[i % (GROUPS / 2)];

        snprintf(config, sizeof configs[0], "branch=%zu", i % (GROUPS / 2));
        history.results[i] = (struct rp_history_result){
            .program = (char *)"app",
            .config = config,
            .device = (char *)(i < GROUPS / 2 ? "software x, detailed timing 1"
                                              : "software x, detailed timing 2"),
            .software = true,
            .complete = true,
            .times = &times,
            .times_count = 1};
    }
    assert_int_equal(rp_series_of(&history, &all, &list, &err), 0);
    assert_int_equal(rp_series_judge(&list, &rule, &err), 0);
    assert_int_equal(list.group_count, GROUPS);
    for (size_t i = 0; i < GROUPS; i++) {
        assert_int_equal(list.groups[i].replaced, i < GROUPS / 2);
        if (i < GROUPS / 2)
            assert_null(list.groups[i].model_before);
        else
            assert_string_equal(list.groups[i].model_before, "detailed timing 1");
    }
    rp_series_list_free(&list);
    free(history.results);
}

static void modelled_times_are_exact(void **state)
{
    struct made *made = make(4, 1, true);
    struct rp_series_list list;

    (void)state;
    set(made, 2, 0, 1.001);
    set(made, 3, 0, 1.001);
    list = judged(made, NULL, 2);
    assert_int_equal(list.count, 1);
    assert_int_equal(list.list[0].change_count, 1);
    assert_int_equal(list.list[0].changes[0].at, 2);
    assert_int_equal(list.list[0].changes[0].found, 2);
    assert_int_equal(list.list[0].state, RP_SERIES_SLOWER);
    rp_series_list_free(&list);
    list = judged(made, NULL, 1); /* known for longer */
    assert_int_equal(list.list[0].state, RP_SERIES_STEADY);
    rp_series_list_free(&list);
    made->ms[1][0][1] = 1.2; /* one that is not exact makes no other rule for all */
    list = judged(made, NULL, 1);
    assert_true(list.list[0].exact);
    assert_int_equal(list.list[0].inexact, 1);
    assert_int_equal(list.list[0].change_count, 1);
    assert_int_equal(list.list[0].state, RP_SERIES_STEADY);
    rp_series_list_free(&list);
    made->ms[0][0][1] = made->ms[2][0][1] = 1.2; /* most of them do */
    list = judged(made, NULL, 1);
    assert_false(list.list[0].exact);
    assert_int_equal(list.list[0].inexact, 0);
    assert_int_equal(list.list[0].state, RP_SERIES_UNDECIDED);
    assert_int_equal(list.list[0].missing, 2);
    rp_series_list_free(&list);
}

/* Modelled, and the newest one is not the same in each run: no change begins with it. */
static void runs_that_differ_are_no_change(void **state)
{
    struct made *made = make(8, 1, true);
    struct rp_series_list list;

    (void)state;
    made->ms[7][0][1] = made->ms[7][0][2] = 1.00001;
    list = judged(made, NULL, 5);
    assert_int_equal(list.list[0].change_count, 0);
    assert_int_equal(list.list[0].state, RP_SERIES_UNDECIDED);
    assert_int_equal(list.list[0].missing, 1);
    rp_series_list_free(&list);
}

/* Ten results of one commit, or added at once without one, are one session: a change does not
 * become old by them. */
static void a_batch_does_not_hide_a_regression(void **state)
{
    (void)state;
    for (int commits = 0; commits < 2; commits++) {
        struct made *made = make(20, 1, false);
        struct rp_series_list list;

        for (size_t i = 0; i < 20; i++) {
            set(made, i, 0, (i < 10 ? 1 : 1.5) * (1 + 0.001 * (double)(i * 7 % 3)));
            if (i >= 10)
                made->results[i].commit = commits ? (char *)"slow" : NULL;
        }
        list = judged(made, NULL, 5);
        assert_int_equal(list.list[0].change_count, 1);
        assert_int_equal(list.list[0].state, RP_SERIES_SLOWER);
        rp_series_list_free(&list);
    }
}

static void what_is_taken_back_fails_no_more(void **state)
{
    struct made *made = make(14, 1, false);
    struct rp_series_list list;

    (void)state;
    for (size_t i = 0; i < 14; i++)
        set(made, i, 0, (i == 10 || i == 11 ? 1.05 : 1) * (1 + 0.001 * (double)(i * 7 % 3)));
    list = judged(made, NULL, 5);
    assert_int_equal(list.list[0].change_count, 1);
    assert_true(list.list[0].taken_back);
    assert_int_equal(list.list[0].state, RP_SERIES_UNDECIDED);
    rp_series_list_free(&list);
}

/* A change of 5 % behind one result of +50 % that was alone. */
static void one_odd_result_hides_no_change(void **state)
{
    struct made *made = make(16, 1, false);
    struct rp_series_list list;

    (void)state;
    for (size_t i = 0; i < 16; i++)
        set(made, i, 0, (i == 10 ? 1.5 : i < 13 ? 1 : 1.05) * (1 + 0.001 * (double)(i * 7 % 3)));
    list = judged(made, NULL, 5);
    assert_int_equal(list.list[0].change_count, 1);
    assert_int_equal(list.list[0].changes[0].at, 13);
    assert_int_equal(list.list[0].state, RP_SERIES_SLOWER);
    rp_series_list_free(&list);
}

/* The least ratio of the last two results that is told as slower; with so many other test_series,
 * which ended before. */
static double least_slower(size_t others)
{
    double ratio = 1;
    bool slower = false;

    while (!slower && ratio < 1.1) {
        struct made *made = make(14, 1 + others, false);
        struct rp_series_list list;

        ratio += 0.0002;
        for (size_t i = 0; i < 14; i++) {
            set(made, i, 0, (i < 12 ? 1 : ratio) * (1 + 0.0008 * (double)(i * 7 % 3)));
            for (size_t j = 1; j <= others; j++)
                set(made, i, j, 1 + 0.0008 * (double)(i * 7 % 3));
            if (i >= 11)
                made->results[i].times_count = 1;
        }
        list = judged(made, NULL, 5);
        slower = list.list[0].state == RP_SERIES_SLOWER;
        rp_series_list_free(&list);
    }
    return ratio;
}

/* What else is in the file makes a change no less sure, where it has ended. */
static void what_has_ended_hides_no_change(void **state)
{
    (void)state;
    assert_true(least_slower(0) < 1.05);
    assert_true(least_slower(20) == least_slower(0));
}

/* A shift that is less than the margin, and an interval that reaches over it on either side. */
static void neither_side_reaches_over_the_margin(void **state)
{
    (void)state;
    for (int up = 0; up < 2; up++) {
        struct made *made = make(20, 1, false);
        struct rp_series_list list;
        const struct rp_change_newest *is;

        for (size_t i = 0; i < 20; i++)
            set(made, i, 0,
                (i < 15 ? 1
                 : up   ? 1.008
                        : 1 / 1.008) *
                    (1 + 0.001 * (double)(i * 7 % 3)));
        list = judged(made, NULL, 5);
        is = &list.list[0].newest_is;
        assert_int_equal(list.list[0].change_count, 0);
        assert_null(is->odd);
        assert_true(up ? is->low > 1 / 1.01 && is->high > 1.01
                       : is->low < 1 / 1.01 && is->high < 1.01);
        assert_int_equal(list.list[0].state, RP_SERIES_UNDECIDED);
        rp_series_list_free(&list);
    }
}

/* What the clock, and the new results' own runs, can be off by is no change. */
static void ticks_and_errors_are_allowed_for(void **state)
{
    struct rp_history_point points[12];
    double ratio;

    (void)state;
    for (size_t i = 0; i < 12; i++)
        points[i] = (struct rp_history_point){.ms = (i < 10 ? 1 : 1.05) *
                                                    (1 + 0.001 * (double)(i * 7 % 3))};
    assert_int_equal(change_at_end(points, 12, test_alpha, 0, &ratio), 2);
    points[3].tick = points[11].tick = 0.03;
    assert_int_equal(change_at_end(points, 12, test_alpha, 0, &ratio), 0);
    points[3].tick = points[11].tick = 0;
    points[10].error = points[11].error = 0.03;
    assert_int_equal(change_at_end(points, 12, test_alpha, 0, &ratio), 0);
}

static void what_creeps_is_found(void **state)
{
    struct made *made = make(30, 1, true);
    const struct rp_series_filter all = {0};
    const struct rp_change_rule rule = {
        .alpha = test_alpha, .margin = 0.05, .exact = 0.05, .recent = 100};
    struct rp_series_list list;

    (void)state;
    for (size_t i = 0; i < 30; i++)
        set(made, i, 0, 1 + 0.01 * (double)i);
    assert_int_equal(rp_series_of(&made->history, &all, &list, NULL), 0);
    assert_int_equal(rp_series_judge(&list, &rule, NULL), 0);
    assert_int_equal(list.list[0].change_count, 4);
    assert_int_equal(list.list[0].changes[0].at, 6);
    rp_series_list_free(&list);
}

/* It is found with the second slower result, and told of until there are as many as asked for. */
static void a_regression_is_told_for_a_while(void **state)
{
    (void)state;
    for (size_t count = 12; count < 20; count++) {
        struct made *made = make(count, 2, false);
        struct rp_series_list list;

        for (size_t i = 0; i < count; i++)
            set(made, i, 1, (i < 12 ? 1 : 1.05) * (1 + 0.001 * (double)(i * 7 % 3)));
        list = judged(made, NULL, 4);
        assert_int_equal(list.count, 2);
        assert_int_equal(list.list[0].state, RP_SERIES_STEADY);
        assert_int_equal(list.list[1].state, count < 13   ? RP_SERIES_STEADY
                                             : count < 14 ? RP_SERIES_UNDECIDED /* one alone */
                                             : count < 17 ? RP_SERIES_SLOWER
                                                          : RP_SERIES_UNDECIDED);
        assert_int_equal(list.list[1].missing, count == 17 ? 1 : 0);
        if (count >= 14) {
            assert_int_equal(list.list[1].changes[0].at, 12);
            assert_int_equal(list.list[1].changes[0].found, 13);
            assert_true(fabs(list.list[1].changes[0].ratio - 1.05) < 0.002);
        }
        rp_series_list_free(&list);
    }
}

/* Nor is it steady: it is said which one it is, and by how much it is off. */
static void one_odd_result_is_no_change(void **state)
{
    struct made *made = make(14, 1, false);
    struct rp_series_list list;

    (void)state;
    for (size_t i = 0; i < 14; i++)
        set(made, i, 0, 1 + 0.001 * (double)(i * 7 % 3));
    list = judged(made, NULL, 5);
    assert_int_equal(list.list[0].state, RP_SERIES_STEADY);
    assert_null(list.list[0].newest_is.odd);
    rp_series_list_free(&list);
    for (size_t at = 12; at < 14; at++) {
        set(made, at, 0, 1.5);
        list = judged(made, NULL, 5);
        assert_int_equal(list.list[0].change_count, 0);
        assert_int_equal(list.list[0].state, RP_SERIES_UNDECIDED);
        assert_int_equal(list.list[0].missing, 0);
        assert_int_equal(list.list[0].newest_is.odd->result->id, at + 1);
        assert_true(fabs(list.list[0].newest_is.odd_ratio - 1.5) < 0.01);
        rp_series_list_free(&list);
        set(made, at, 0, 1);
    }
}

/* Four results are enough before a change, of all and of those since the last one. */
static void changes_near_the_start_are_found(void **state)
{
    struct made *made = make(12, 1, false);
    struct rp_series_list list;

    (void)state;
    for (size_t i = 0; i < 12; i++)
        set(made, i, 0, (i < 4 ? 1 : i < 8 ? 1.05 : 1.1) * (1 + 0.0005 * (double)(i * 7 % 3)));
    list = judged(made, NULL, 5);
    assert_int_equal(list.list[0].change_count, 2);
    assert_int_equal(list.list[0].changes[0].at, 4);
    assert_int_equal(list.list[0].changes[0].found, 5);
    assert_int_equal(list.list[0].changes[1].at, 8);
    assert_int_equal(list.list[0].state, RP_SERIES_SLOWER);
    rp_series_list_free(&list);
}

/* Noise that hides what the margin allows is no steadiness. */
static void steady_is_within_the_margin(void **state)
{
    static const struct {
        double noise;
        enum rp_series_state state;
    } rows[] = {{0.0005, RP_SERIES_STEADY}, {0.02, RP_SERIES_UNDECIDED}};

    (void)state;
    seed = 88172645463325252u;
    for (size_t i = 0; i < 2; i++) {
        struct made *made = make(20, 1, false);
        struct rp_history_point points[MOST];
        struct rp_series_list list;
        const struct rp_change_newest *is;

        test_series(&(struct world){.noise = rows[i].noise}, 20, 0, 1, points);
        for (size_t r = 0; r < 20; r++)
            set(made, r, 0, points[r].ms);
        list = judged(made, NULL, 5);
        is = &list.list[0].newest_is;
        assert_int_equal(list.list[0].state, rows[i].state);
        assert_true(is->low < 1 && is->high > 1);
        assert_int_equal(is->high <= 1.01, rows[i].state == RP_SERIES_STEADY);
        rp_series_list_free(&list);
    }
}

static void results_are_told_apart(void **state)
{
    struct made *made = make(6, 2, true);
    const struct rp_series_filter kernel = {.kernel = "[a-c]"}, commit = {.commit = "ab"},
                                  other = {.commit = "abd"}, device = {.device = "hard"},
                                  pattern = {.device = "*y"};
    struct rp_series_list list;

    (void)state;
    made->results[1].program = (char *)"other";
    made->results[2].config = (char *)"n=1";
    made->results[3].device = (char *)"hardware y";
    made->results[4].complete = false;
    made->results[5].times_count = 1;
    list = judged(made, NULL, 5);
    assert_int_equal(list.count, 8);
    assert_int_equal(list.list[0].point_count, 2);
    assert_int_equal(list.list[1].point_count, 1);
    assert_int_equal(list.list[1].state, RP_SERIES_ENDED);
    rp_series_list_free(&list);
    list = judged(made, &kernel, 5);
    assert_int_equal(list.count, 4);
    assert_int_equal(list.list[0].state, RP_SERIES_ENDED);
    rp_series_list_free(&list);
    list = judged(made, &commit, 5);
    assert_int_equal(list.count, 8);
    rp_series_list_free(&list);
    list = judged(made, &other, 5);
    assert_int_equal(list.count, 0);
    rp_series_list_free(&list);
    list = judged(made, &device, 5);
    assert_int_equal(list.count, 8);
    rp_series_list_free(&list);
    list = judged(made, &pattern, 5);
    assert_int_equal(list.count, 2);
    rp_series_list_free(&list);
}

/* --- results ------------------------------------------------------------------------------- */

static void times_of_day_are_read(void **state)
{
    static const struct {
        const char *text, *utc; /* NULL: refused */
    } rows[] = {{"2026-11-23T20:15:00Z", "2026-11-23T20:15:00Z"},
                {"2026-11-23t20:15:59.999z", "2026-11-23T20:15:59Z"},
                {"2026-12-31 23:30:00-01:00", "2027-01-01T00:30:00Z"},
                {"2024-02-29T00:00:00+05:30", "2024-02-28T18:30:00Z"},
                {"2023-02-29T00:00:00Z", NULL},
                {"2026-11-23T24:00:00Z", NULL},
                {"2026-11-23T20:15:00", NULL},
                {"2026-11-23T20:15Z", NULL},
                {"2026-11-23T20:15:00Z ", NULL},
                {"2026-13-01T00:00:00Z", NULL},
                {"0000-01-01T00:00:00+01:00", NULL},
                {"yesterday", NULL},
                {"", NULL}};
    char utc[RP_RFC3339_BYTES], longest[2 * RP_ERR_TEXT_BYTES];
    struct rp_err told = RP_ERR_INIT;

    (void)state;
    memset(longest, '2', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    assert_int_equal(rp_rfc3339(longest, utc, &told), -RP_USAGE);
    assert_non_null(strstr(told.text, "use a time"));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rp_err err = RP_ERR_INIT;
        const int rc = rp_rfc3339(rows[i].text, utc, &err);

        assert_int_equal(rc, rows[i].utc ? 0 : -RP_USAGE);
        if (rows[i].utc)
            assert_string_equal(utc, rows[i].utc);
    }
}

static void a_result_is_known_by_its_contents(void **state)
{
    double runs[] = {1, NAN, 3, 0}, none[] = {NAN};
    struct rp_versus_gpu gpu = {.architecture = (char *)"gfx942", .compute_units = 304};
    struct rp_versus_kernel kernels[] = {{.name = (char *)"k", .runs = {runs, 3}},
                                         {.name = (char *)"untimed", .runs = {none, 1}}};
    struct rp_versus_side side = {.path = (char *)"p",
                                  .gpus = &gpu,
                                  .gpu_count = 1,
                                  .runs = {runs, 4},
                                  .command = (char *)"./app 1",
                                  .kernels = kernels,
                                  .kernel_count = 2};
    struct rp_history_labels labels = {.added = "2026-11-23T20:15:00Z", .config = ""};
    struct rp_history_result first, again;

    (void)state;
    assert_int_equal(rp_history_result_of(&side, &labels, &first, NULL), 0);
    assert_int_equal(first.times_count, 2);
    assert_int_equal(first.times[0].run_count, 2);
    assert_string_equal(first.device, "hardware gfx942, 304 CUs");
    assert_string_equal(first.program, "./app 1");
    labels.added = "2027-11-23T20:15:00Z";
    assert_int_equal(rp_history_result_of(&side, &labels, &again, NULL), 0);
    assert_string_equal(first.hash, again.hash);
    rp_history_result_free(&again);
    labels.commit = "abc"; /* the same times of another commit are another result */
    assert_int_equal(rp_history_result_of(&side, &labels, &again, NULL), 0);
    assert_string_not_equal(first.hash, again.hash);
    rp_history_result_free(&again);
    labels.commit = NULL;
    side.walls = (char *)"[1.5]"; /* and those of another session, too */
    assert_int_equal(rp_history_result_of(&side, &labels, &again, NULL), 0);
    assert_string_not_equal(first.hash, again.hash);
    rp_history_result_free(&again);
    rp_history_result_free(&first);
    side.software = true;
    side.timing_model = (char *)"fast"; /* what histories of before have */
    assert_int_equal(rp_history_result_of(&side, &labels, &again, NULL), 0);
    side.timing_model = (char *)"counts";
    rp_history_result_free(&first);
    assert_int_equal(rp_history_result_of(&side, &labels, &first, NULL), 0);
    assert_string_equal(first.device, "software gfx942, 304 CUs, counts timing 0");
    assert_string_equal(first.hash, again.hash);
    rp_history_result_free(&again);
    rp_history_result_free(&first);
    side.runs = (struct rp_versus_runs){.ms = none, .count = 1};
    assert_int_equal(rp_history_result_of(&side, &labels, &first, NULL), -RP_BAD_INPUT);
}

/* --- tables -------------------------------------------------------------------------------- */

static void table(const char *title, double noise, double ratio)
{
    static const size_t after[] = {2, 3, 5, 8}, befores[] = {4, 6, 8, 10, 15, 20, 30};

    printf("\n%s, noise %g %%\n\n| before | 2 | 3 | 5 | 8 |\n|---|---|---|---|---|\n", title,
           100 * noise);
    for (size_t b = 0; b < sizeof befores / sizeof *befores; b++) {
        const size_t before = befores[b];
        const struct world w = {.noise = noise};

        printf("| %zu |", before);
        for (size_t i = 0; i < sizeof after / sizeof *after; i++)
            printf(" %.1f |",
                   100.0 * alarms(&w, before + after[i], after[i], ratio, usual_margin) / TRIALS);
        printf("\n");
    }
}

/* How many of TRIALS test_series without a change are called so. */
static unsigned steady(double noise, size_t count)
{
    const struct rp_change_rule rule = {.alpha = test_alpha, .margin = usual_margin, .recent = 5};
    const struct world w = {.noise = noise};
    struct rp_history_point points[MOST];
    unsigned ret = 0;

    for (unsigned i = 0; i < TRIALS; i++) {
        struct rp_series one = {
            .points = points, .point_count = count, .newest = result_at(count - 1)};
        struct rp_series_list list = {.list = &one, .count = 1};

        test_series(&w, count, 0, 1, points);
        rp_series_judge(&list, &rule, NULL);
        ret += one.state == RP_SERIES_STEADY;
        free(one.changes);
    }
    return ret;
}

static void results_are_steady_as_the_docs_say(void **state)
{
    (void)state;
    seed = 88172645463325252u;
    assert_true(steady(0.002, 30) > 0.85 * TRIALS);
    assert_true(steady(0.005, 30) < 0.05 * TRIALS);
}

static void print_steady(void)
{
    static const double noises[] = {0.0005, 0.001, 0.002, 0.003, 0.005};
    static const size_t lengths_[] = {6, 8, 10, 15, 20, 30, 50};

    printf("\n| noise | 6 | 8 | 10 | 15 | 20 | 30 | 50 |\n|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof noises / sizeof *noises; i++) {
        printf("| %g %% |", 100 * noises[i]);
        for (size_t j = 0; j < sizeof lengths_ / sizeof *lengths_; j++)
            printf(" %.1f |", 100.0 * steady(noises[i], lengths_[j]) / TRIALS);
        printf("\n");
    }
}

/* Checks of 20 test_series that each go their own way: in how many one has changed with the newest.
 */
static unsigned alarms_of_many(const struct world *w, size_t count, unsigned trials)
{
    enum { SERIES = 20 };
    const struct rp_change_rule rule = {.alpha = test_alpha, .margin = 0, .recent = 5};
    unsigned ret = 0;

    for (unsigned i = 0; i < trials; i++) {
        static struct rp_history_point points[SERIES][MOST];
        struct rp_series all[SERIES];
        struct rp_series_list list = {.list = all, .count = SERIES};
        bool alarm = false;

        for (size_t k = 0; k < SERIES; k++) {
            test_series(w, count, 0, 1, points[k]);
            all[k] = (struct rp_series){
                .points = points[k], .point_count = count, .newest = result_at(count - 1)};
        }
        rp_series_judge(&list, &rule, NULL);
        for (size_t k = 0; k < SERIES; k++) {
            for (size_t c = 0; c < all[k].change_count; c++)
                alarm |= all[k].changes[c].found == count - 1;
            free(all[k].changes);
        }
        ret += alarm;
    }
    return ret;
}

static void print_many(void)
{
    static const size_t lengths_[] = {6, 7, 8, 10, 20, 30};
    const unsigned trials = TRIALS / 2;

    printf("\n20 series\n\n| | 6 | 7 | 8 | 10 | 20 | 30 |\n|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < WORLDS; i++) {
        printf("| %s |", worlds[i].name);
        for (size_t j = 0; j < sizeof lengths_ / sizeof *lengths_; j++)
            printf(" %.1f |", 100.0 * alarms_of_many(&worlds[i], lengths_[j], trials) / trials);
        printf("\n");
    }
}

static void print_tables(void)
{
    static const double noises[] = {0.001, 0.002, 0.003, 0.005, 0.01};

    seed = 88172645463325252u;
    for (size_t i = 0; i < WORLDS; i++) {
        printf("| %s |", worlds[i].name);
        for (size_t j = 0; j < COUNTS; j++)
            printf(" %.2f |", 100.0 * alarms(&worlds[i], counts[j], 0, 1, 0) / TRIALS);
        printf("\n");
    }
    for (size_t i = 0; i < 5; i++)
        table("3 % longer", noises[i], 1.03);
    table("5 % longer", 0.01, 1.05);
    table("10 % longer", 0.02, 1.1);
    seed = 362436069u;
    printf("\n| | told | failed |\n|---|---|---|\n");
    for (size_t i = 0; i < WORLDS; i++) {
        unsigned ever, failed;

        check_all_along(&worlds[i], 50, TRIALS, &ever, &failed);
        printf("| %s | %.2f | %.2f |\n", worlds[i].name, 100.0 * ever / TRIALS,
               100.0 * failed / TRIALS);
    }
    print_steady();
    print_many();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(identical_programs_raise_no_alarm),
        cmocka_unit_test(regressions_of_three_per_cent_are_found),
        cmocka_unit_test(many_series_raise_no_more_alarms),
        cmocka_unit_test(identical_programs_pass_their_checks),
        cmocka_unit_test(many_kernels_keep_their_series),
        cmocka_unit_test(many_branches_are_told_apart),
        cmocka_unit_test(modelled_times_are_exact),
        cmocka_unit_test(runs_that_differ_are_no_change),
        cmocka_unit_test(a_batch_does_not_hide_a_regression),
        cmocka_unit_test(what_is_taken_back_fails_no_more),
        cmocka_unit_test(one_odd_result_hides_no_change),
        cmocka_unit_test(what_has_ended_hides_no_change),
        cmocka_unit_test(neither_side_reaches_over_the_margin),
        cmocka_unit_test(results_are_steady_as_the_docs_say),
        cmocka_unit_test(ticks_and_errors_are_allowed_for),
        cmocka_unit_test(what_creeps_is_found),
        cmocka_unit_test(a_regression_is_told_for_a_while),
        cmocka_unit_test(one_odd_result_is_no_change),
        cmocka_unit_test(changes_near_the_start_are_found),
        cmocka_unit_test(steady_is_within_the_margin),
        cmocka_unit_test(results_are_told_apart),
        cmocka_unit_test(times_of_day_are_read),
        cmocka_unit_test(a_result_is_known_by_its_contents),
    };

    if (argc > 1 && strcmp(argv[1], "curve") == 0) {
        print_tables();
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}

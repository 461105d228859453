/* Runs of the user's program, by a script in place of rocm-perf: time, verdicts, what is said. */
#include "optimize/program_test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/process.h"
#include "experiment/child_run.h"
#include "run/run_program.h"

#include "unit/scratch.h"

#include "optimize/program_test.c"

static const int64_t SECOND = 1000000000;

static struct rp_run_deadline test_patience;

/** A script in place of rocm-perf. @return its path */
static char *write_self(const char *script)
{
    rp_autofree char *text = rp_format("#!/bin/sh\n%s\n", script);

    return scratch_script("rocm-perf", text);
}

/** `rocm-perf run` is this script. @return of rp_program_test_run */
static int run_by(const char *script, enum rp_run_kind what, const char *check,
                  struct rp_output *ret, struct rp_err *err)
{
    rp_autofree char *self = write_self(script);
    char app[] = "app";
    char *program[] = {app, NULL};
    const struct rp_child_context measure = {
        .self = self, .folder = scratch_dir, .program = program, .patience = &test_patience};

    return rp_program_test_run(&measure, "app", what, check, ret, err);
}

static char *difference(const struct rp_output *before, const struct rp_output *after)
{
    const struct rp_child_context measure = {.folder = scratch_dir, .patience = &test_patience};

    return rp_output_differs(&measure, before, after);
}

static void time_is_by_the_original(void **state)
{
    struct rp_run_deadline p = {0};
    struct rp_proc_end end = {.wall_ns = 20 * SECOND};
    struct rp_err err = RP_ERR_INIT;
    rp_autofree char *unknown = rp_run_deadline_sentence(&p, RP_RUN_KIND_CANDIDATE);
    rp_autofree char *known = NULL;
    rp_autofree char *said = NULL;

    (void)state;
    assert_string_equal(unknown, "within 4 h (--timeout gives it another time)");
    assert_true(rp_run_deadline_left_ns(&p, RP_RUN_KIND_CANDIDATE) == 4 * 3600 * SECOND);
    /* Only what ran as the candidate will is what it is judged by. */
    assert_int_equal(rp_run_deadline_judge_end(&p, RP_RUN_KIND_TRACED, &end, &err), 0);
    assert_int_equal(rp_run_deadline_judge_end(&p, RP_RUN_KIND_CANDIDATE, &end, &err), 0);
    assert_true(p.longest_ns == 0);
    end.wall_ns = SECOND;
    assert_int_equal(rp_run_deadline_judge_end(&p, RP_RUN_KIND_ORIGINAL, &end, &err), 0);
    assert_true(rp_run_deadline_left_ns(&p, RP_RUN_KIND_CANDIDATE) == 60 * SECOND);
    p.modelled = true;
    assert_true(rp_run_deadline_left_ns(&p, RP_RUN_KIND_CANDIDATE) == 600 * SECOND);
    p.modelled = false;
    end.wall_ns = 20 * SECOND;
    assert_int_equal(rp_run_deadline_judge_end(&p, RP_RUN_KIND_ORIGINAL, &end, &err), 0);
    assert_true(rp_run_deadline_left_ns(&p, RP_RUN_KIND_CANDIDATE) == 200 * SECOND);
    known = rp_run_deadline_sentence(&p, RP_RUN_KIND_CANDIDATE);
    assert_non_null(strstr(known, "10 times the time of the program as it is"));
    assert_true(rp_run_deadline_left_ns(&p, RP_RUN_KIND_ORIGINAL) == 4 * 3600 * SECOND);
    p.timeout_ns = 7 * SECOND;
    for (enum rp_run_kind what = RP_RUN_KIND_ORIGINAL; what <= RP_RUN_KIND_CANDIDATE; what++)
        assert_true(rp_run_deadline_left_ns(&p, what) == 7 * SECOND);
    said = rp_run_deadline_sentence(&p, RP_RUN_KIND_ORIGINAL);
    assert_string_equal(said, "within the 7 s of --timeout");
    /* A comparison that this machine cannot make in time decides nothing. */
    assert_true(rp_run_deadline_left_ns(&p, RP_RUN_KIND_REPLAY) == 3600 * SECOND);
    p.timeout_ns = 7200 * SECOND;
    assert_true(rp_run_deadline_left_ns(&p, RP_RUN_KIND_REPLAY) == 7200 * SECOND);
    assert_int_equal(rp_run_deadline_judge_end(&p, RP_RUN_KIND_REPLAY, &end, &err), 0);
    end.timed_out = true;
    assert_int_equal(rp_run_deadline_judge_end(&p, RP_RUN_KIND_REPLAY, &end, &err),
                     -RP_ENVIRONMENT);
    assert_non_null(strstr(err.text, "did not end within 7200 s"));
}

static void the_budget_ends_what_runs(void **state)
{
    struct rp_err err = RP_ERR_INIT;
    struct rp_output output;

    (void)state;
    test_patience = (struct rp_run_deadline){.end_ns = rp_now_ns() + SECOND / 100};
    assert_int_equal(run_by("exec sleep 100000", RP_RUN_KIND_CANDIDATE, NULL, &output, &err),
                     -RP_VERDICT);
    assert_true(test_patience.over);
    assert_non_null(strstr(err.text, "--budget"));
    /* --check as well. */
    test_patience = (struct rp_run_deadline){.end_ns = rp_now_ns() + SECOND};
    assert_int_equal(run_by("echo", RP_RUN_KIND_ORIGINAL, "sleep 100000", &output, &err),
                     -RP_VERDICT);
    assert_true(test_patience.over);
    /* One that ends by its own time is no matter of the budget. */
    test_patience = (struct rp_run_deadline){.end_ns = rp_now_ns() + 10000 * SECOND,
                                             .timeout_ns = SECOND / 100};
    assert_int_equal(run_by("exec sleep 100000", RP_RUN_KIND_CANDIDATE, NULL, &output, &err), 0);
    assert_false(test_patience.over);
    assert_string_equal(output.why, "it did not end within the 0.01 s of --timeout");
    rp_output_free(&output);
    test_patience = (struct rp_run_deadline){0};
}

static void nothing_is_read(void **state)
{
    struct rp_err err = RP_ERR_INIT;
    struct rp_output output;

    (void)state;
    assert_int_equal(run_by("readlink /proc/self/fd/0 >&2; cat >&2; exit 3", RP_RUN_KIND_ORIGINAL,
                            NULL, &output, &err),
                     0);
    assert_string_equal(output.said, "/dev/null");
    assert_int_equal(output.status, 3);
    assert_true(output.bytes == 0);
    assert_null(output.why);
    rp_output_free(&output);
}

static void what_differs_is_said(void **state)
{
    struct rp_err err = RP_ERR_INIT;
    struct rp_output before, after;
    rp_autofree char *same = NULL;
    rp_autofree char *other = NULL;
    rp_autofree char *status = NULL;

    (void)state;
    assert_int_equal(run_by("seq 3", RP_RUN_KIND_ORIGINAL, NULL, &before, &err), 0);
    assert_true(before.bytes == 6);
    assert_int_equal(run_by("seq 3", RP_RUN_KIND_CANDIDATE, NULL, &after, &err), 0);
    same = difference(&before, &after);
    assert_null(same);
    rp_output_free(&after);
    assert_int_equal(run_by("seq 2", RP_RUN_KIND_CANDIDATE, NULL, &after, &err), 0);
    other = difference(&before, &after);
    assert_string_equal(other, "it prints something else: line 3 is missing instead of \"3\"");
    rp_output_free(&after);
    assert_int_equal(run_by("seq 3; exit 2", RP_RUN_KIND_CANDIDATE, NULL, &after, &err), 0);
    status = difference(&before, &after);
    assert_string_equal(status, "its exit status is 2 instead of 0");
    rp_output_free(&after);
    rp_output_free(&before);
}

static void a_check_says_why(void **state)
{
    struct rp_err err = RP_ERR_INIT;
    struct rp_output output;

    (void)state;
    assert_int_equal(run_by("echo 7 apples; exit 7", RP_RUN_KIND_ORIGINAL,
                            "read line; [ \"$line\" = '7 apples' ] && [ $ROCM_PERF_STATUS = 7 ]",
                            &output, &err),
                     0);
    assert_true(output.checked && output.right && !output.check_why);
    rp_output_free(&output);
    assert_int_equal(run_by("echo x", RP_RUN_KIND_ORIGINAL, "/nowhere/judge", &output, &err), 0);
    assert_true(output.checked && !output.right);
    assert_non_null(strstr(output.check_why, "was not found: it ended with exit status 127"));
    assert_non_null(strstr(output.said, "/nowhere/judge"));
    rp_output_free(&output);
    assert_int_equal(run_by("echo x", RP_RUN_KIND_ORIGINAL, "echo bad >&2; false", &output, &err),
                     0);
    assert_string_equal(output.check_why,
                        "the command of --check says no: it ended with exit status 1");
    assert_string_equal(output.said, "bad");
    rp_output_free(&output);
}

/** `rocm-perf profile --runs 1 -o DIR --expect-status 0 -- before` (or after) is this script, with
 * the program in $program. @return of rp_program_times */
static int times_of(const char *script, unsigned pairs, struct rp_program_times *ret,
                    char **ret_why, struct rp_err *err)
{
    rp_autofree char *whole =
        rp_format("mkdir -p $5; program=$9; end() { echo '{\"kernels\": [], \"runtime_ms\": 1}' "
                  ">$5/profile.json; exit 0; }\n%s\nend \"$@\"",
                  script);
    rp_autofree char *self = write_self(whole);
    char app[] = "app";
    char *program[] = {app, NULL};
    const struct rp_child_context measure = {
        .self = self, .folder = scratch_dir, .program = program, .patience = &test_patience};

    return rp_program_times(&measure, "before", "after",
                            (const char *const[]){"_Z1av", "_Z1bv", NULL}, pairs, 0.02, ret,
                            ret_why, err);
}

static int times_by(const char *script, char **ret_why, struct rp_err *err)
{
    struct rp_program_times times = {0};
    int rc = times_of(script, 2, &times, ret_why, err);

    rp_program_times_free(&times);
    return rc;
}

/* Counts timing, whatever it was called, decides by bounds only. */
static void times_say_whether_they_are_from_counts(void **state)
{
    static const struct {
        const char *model;
        bool from_counts;
    } cases[] = {{"counts", true}, {"fast", true}, {"detailed", false}};
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rp_autofree char *script =
            rp_format("echo '{\"kernels\": [{\"name\": \"k\"}], \"runtime_ms\": 1, \"timing\": "
                      "{\"model\": \"%s\"}}' >$5/profile.json; exit 0",
                      cases[i].model);
        struct rp_program_times times = {0};
        char *why = NULL;

        assert_int_equal(times_of(script, 2, &times, &why, &err), 0);
        assert_null(why);
        assert_int_equal(times.from_counts, cases[i].from_counts);
        rp_program_times_free(&times);
    }
}

/** Times of 8 pairs, of which the kernel takes 10 ms of 100. */
static struct rp_program_times measured_times(const double *factors)
{
    enum { PAIRS = 8 };
    struct rp_program_times t = {.measured = true, .kernel_after_ns = 1};
    double before[PAIRS], after[PAIRS];

    for (unsigned i = 0; i < PAIRS; i++) {
        before[i] = 10;
        after[i] = 10 * factors[i];
    }
    assert_true(ratio_of(before, after, PAIRS, &t.kernel_ratio));
    for (unsigned i = 0; i < PAIRS; i++) {
        before[i] += 90;
        after[i] += 90;
    }
    assert_true(ratio_of(before, after, PAIRS, &t.whole_ratio));
    return t;
}

/* The medians of the second are those of a gain, and its runs tell none. */
static void measured_times_decide_by_their_intervals(void **state)
{
    static const struct {
        double factors[8]; /**< time after / time before of each pair */
        enum rp_outcome outcome;
    } cases[] = {
        {{0.99, 0.98, 0.985, 0.99, 0.97, 0.98, 0.99, 0.975}, RP_OUTCOME_ACCEPTED},
        {{0.99, 0.99, 0.99, 0.99, 0.99, 1.04, 1.05, 1.03}, RP_OUTCOME_UNDECIDED},
        {{1.01, 1.01, 1.01, 1.01, 1.01, 0.96, 0.95, 0.97}, RP_OUTCOME_UNDECIDED},
        {{1.02, 1.01, 1.03, 1.02, 1.01, 1.02, 1.03, 1.01}, RP_OUTCOME_PROGRAM_SLOWER},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct rp_program_times t = measured_times(cases[i].factors);
        char why[200];
        const enum rp_outcome outcome = rp_program_times_judge(&t, 0.01, why);

        if (outcome != cases[i].outcome)
            fail_msg("row %zu: %s: %s", i, rp_outcome_word(outcome), why);
        if (outcome == RP_OUTCOME_UNDECIDED)
            assert_int_equal(strncmp(why, "noise: in the program the kernel is ", 36), 0);
    }
}

/* Who launches a kernel less often has not made it faster. */
static void fewer_launches_are_no_gain(void **state)
{
    struct rp_program_times t = {
        .before_ms = 3, .after_ms = 1, .kernel_before_ns = 3e6, .kernel_after_ns = 1e6};
    char why[200];

    (void)state;
    assert_int_equal(rp_program_times_judge(&t, 0.01, why), RP_OUTCOME_ACCEPTED);
    t.launches[0] = 3;
    t.launches[1] = 1;
    assert_int_equal(rp_program_times_judge(&t, 0.01, why), RP_OUTCOME_UNDECIDED);
    assert_int_equal(strncmp(why, "the kernel is launched 1 time in place of 3: ", 45), 0);
    t.after_ms = 4;
    assert_int_equal(rp_program_times_judge(&t, 0.01, why), RP_OUTCOME_PROGRAM_SLOWER);
}

/* Which of the kernels that differ comes first in a profile says nothing of their gain. */
static void the_kernels_that_differ_count_together(void **state)
{
    static const char script[] =
        "b=900; [ $program = after ] && b=400\n"
        "echo '{\"kernels\": [{\"name\": \"a\", \"symbol\": \"_Z1av\", \"total_ms\": 100}, "
        "{\"name\": \"b\", \"symbol\": \"_Z1bv\", \"total_ms\": '$b'}, "
        "{\"name\": \"c\", \"symbol\": \"_Z1cv\", \"total_ms\": 5000}], "
        "\"runtime_ms\": 1}' >$5/profile.json; exit 0";
    struct rp_program_times times = {0};
    struct rp_err err = RP_ERR_INIT;
    char *why = NULL, text[200];

    (void)state;
    assert_int_equal(times_of(script, 8, &times, &why, &err), 0);
    assert_float_equal(times.kernel_before_ns, 1000e6, 1);
    assert_float_equal(times.kernel_after_ns, 500e6, 1);
    assert_int_equal(rp_program_times_judge(&times, 0.01, text), RP_OUTCOME_ACCEPTED);
    assert_non_null(strstr(text, "what differs is 2"));
    rp_program_times_free(&times);
}

static void who_fails_is_blamed(void **state)
{
    struct rp_err err = RP_ERR_INIT;
    char *why;

    (void)state;
    assert_int_equal(times_by("", &why, &err), 0);
    assert_null(why);
    assert_int_equal(times_by("[ $program = after ] && echo boom && exit 5", &why, &err), 0);
    assert_string_equal(why, "profile after: boom");
    free(why);
    assert_int_equal(times_by("[ $program = before ] && echo boom && exit 5", &why, &err),
                     -RP_PROGRAM);
    assert_null(why);
    assert_string_equal(err.text,
                        "the program without the change, run once more: profile before: boom");
    /* An environment that fails is nobody's fault. */
    assert_int_equal(times_by("[ $program = after ] && exit 4", &why, &err), -RP_ENVIRONMENT);
    assert_null(why);
}

/* A program whose launches are refused is fast, and no better. */
static void launches_that_fail_are_no_speed(void **state)
{
    static const char refused[] =
        "fails() { echo '{\"kernels\": [], \"runtime_ms\": 0.5, \"launches\": {\"calls\": 3, "
        "\"failed\": '$1'}}' >$folder/profile.json; exit 0; }\nfolder=$5\n";
    rp_autofree char *after = rp_format("%s[ $program = after ] && fails 2", refused);
    rp_autofree char *both = rp_format("%sfails 2", refused);
    rp_autofree char *fewer = rp_format("%s[ $program = after ] && fails 1\nfails 2", refused);
    struct rp_err err = RP_ERR_INIT;
    char *why;

    (void)state;
    assert_int_equal(times_by(after, &why, &err), 0);
    assert_string_equal(why, "2 of its 3 launch calls started no kernel: HIP refused them");
    free(why);
    assert_int_equal(times_by(both, &why, &err), 0);
    assert_null(why);
    assert_int_equal(times_by(fewer, &why, &err), 0);
    assert_null(why);
}

static void advice_is_for_optimize(void **state)
{
    struct rp_err err = RP_ERR_INIT;
    char *why;

    (void)state;
    assert_int_equal(times_by("[ $program = after ] && echo 'no kernel" RP_WALLCLOCK_INSTEAD
                              "' && exit 3",
                              &why, &err),
                     0);
    assert_null(strstr(why, "--no-rocprof"));
    assert_non_null(strstr(why, "no kernel; its standard input is empty (/dev/null)"));
    free(why);
}

static void check_lines(const char *text, size_t bytes, const char *expected)
{
    rp_autofree char *path = rp_path_join(scratch_dir, "lines");
    struct rp_err err = RP_ERR_INIT;
    rp_autofree char *said = NULL;

    assert_int_equal(rp_write_file(path, text, bytes, &err), 0);
    said = rp_child_last_lines(path);
    assert_string_equal(said, expected);
}

static void last_lines_are_few(void **state)
{
    enum { LONG = 5000 };
    rp_autofree char *none = rp_child_last_lines("/nowhere/at/all");
    char text[LONG];

    (void)state;
    assert_string_equal(none, "");
    check_lines("", 0, "");
    check_lines("\n\n", 2, "");
    check_lines("a\nb\n", 4, "a | b");
    check_lines("1\n2\n3\n4\n5\n6\n7\n8\n\n", 17, "3 | 4 | 5 | 6 | 7 | 8");
    check_lines("bad\nWarning: Resource leak detected by SharedSignalPool, 3 Signals leaked.\n", 72,
                "bad");
    check_lines("Warning: Resource leak detected by AsyncEventsPool, 1 items leaked.\nx\n", 70,
                "x");
    check_lines("\033[31mred\a\n", 10, "[31mred");
    check_lines("a\r\n\n  b\tc\r\n", 12, "a | b c");
    memset(text, 'x', LONG - 1);
    text[LONG - 1] = 0;
    check_lines(text, LONG - 1, text + LONG - 1 - 600);
    memcpy(text + LONG - 1 - 601, "\xc3\xa9", 2);
    check_lines(text, LONG - 1, text + LONG - 1 - 599); /* no half of a character */
}

static void check_difference(const char *a, const char *b, const char *expected)
{
    rp_autofree char *one = rp_path_join(scratch_dir, "one");
    rp_autofree char *two = rp_path_join(scratch_dir, "two");
    struct rp_err err = RP_ERR_INIT;
    rp_autofree char *said = NULL;

    assert_int_equal(rp_write_file(one, a, strlen(a), &err), 0);
    assert_int_equal(rp_write_file(two, b, strlen(b), &err), 0);
    said = first_difference(one, two);
    if (expected)
        assert_string_equal(said, expected);
    else
        assert_null(said);
}

static void first_lines_that_differ(void **state)
{
    char a[300], b[300];

    (void)state;
    check_difference("", "", NULL);
    check_difference("x\n", "x\n", NULL);
    check_difference("", "x\n", "line 1 is \"x\" instead of missing");
    check_difference("a\nb 1\nc\n", "a\nb 2\nd\n", "line 2 is \"b 2\" instead of \"b 1\"");
    check_difference("a\n\n", "a\nb\n", "line 2 is \"b\" instead of \"\"");
    check_difference("a\x1b[2J\xc3\xa4", "b", "line 1 is \"b\" instead of \"a?[2J??\"");
    memset(a, '-', sizeof a);
    a[sizeof a - 1] = 0;
    memcpy(b, a, sizeof b);
    b[150] = '+';
    check_difference(
        a, b,
        "line 1 is \"...----------------------------------------+------------------------------"
        "-----------------------------...\" instead of \"...------------------------------------"
        "----------------------------------------------------------------...\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_is_by_the_original),
        cmocka_unit_test(the_budget_ends_what_runs),
        cmocka_unit_test(nothing_is_read),
        cmocka_unit_test(what_differs_is_said),
        cmocka_unit_test(a_check_says_why),
        cmocka_unit_test(last_lines_are_few),
        cmocka_unit_test(first_lines_that_differ),
        cmocka_unit_test(who_fails_is_blamed),
        cmocka_unit_test(fewer_launches_are_no_gain),
        cmocka_unit_test(the_kernels_that_differ_count_together),
        cmocka_unit_test(measured_times_decide_by_their_intervals),
        cmocka_unit_test(times_say_whether_they_are_from_counts),
        cmocka_unit_test(advice_is_for_optimize),
        cmocka_unit_test(launches_that_fail_are_no_speed),
    };

    return cmocka_run_group_tests(tests, scratch_begin, scratch_end);
}

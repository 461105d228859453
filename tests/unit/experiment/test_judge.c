/*
 * What replay compare prints, read; children that fail instead of it, by scripts in its place; the
 * traces of a profile; a time that the counted work does not allow.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "experiment/child_run.h"
#include "experiment/judge.h"
#include "trace/rocpd.h"

#include "unit/scratch.h"

#include "experiment/judge.c"

/* What replay compare prints, read; children that fail instead of it, by scripts in its place. */

#define RESULT(verdict, reason, ratio)                                                             \
    "{\"verdict\": \"" verdict "\", \"reason\": " reason ", \"a\": {\"median_us\": 20.5},"         \
    " \"b\": {\"median_us\": null}, \"ratio\": " ratio ","                                         \
    " \"memory\": {\"written_bytes\": 4096}, \"rule\": {\"margin\": 0.03, \"alpha\": 0.01}}"
#define RATIO "{\"estimate\": 1.5, \"low\": 1.25, \"high\": 2}"

static void reads_what_is_there(void **state)
{
    struct rp_err err = RP_ERR_INIT;
    struct rp_compared c;

    (void)state;
    assert_int_equal(compared_read(RESULT("faster", "null", RATIO), &c, &err), 0);
    assert_int_equal(c.comparison.verdict, RP_COMPARED_FASTER);
    assert_true(c.comparison.ratio_known && c.comparison.low == 1.25 && c.comparison.high == 2);
    assert_true(c.comparison.margin == 0.03 && c.comparison.alpha == 0.01);
    assert_true(c.comparison.written_bytes == 4096 && c.comparison.before_us == 20.5);
    assert_true(c.comparison.after_us == 0);
    assert_null(c.comparison.reason);
    assert_null(c.comparison.inputs_untried);
    rp_compared_free(&c);
    assert_int_equal(
        compared_read("{\"verdict\": \"faster\", \"b\": {\"other_inputs\": {\"equal\": null,"
                      " \"reason\": \"none\"}}, \"rule\": {\"margin\": 0.03, \"alpha\": 0.01}}",
                      &c, &err),
        0);
    assert_string_equal(c.comparison.inputs_untried, "none");
    assert_true(c.comparison.slowest_other == 0);
    rp_compared_free(&c);
    assert_int_equal(
        compared_read(
            "{\"verdict\": \"undecided\", \"undecided_by\": \"values\", \"ratio\": " RATIO
            ", \"other_ratios\":"
            " [{\"inputs\": \"numbers\", \"demanded\": true,"
            " \"estimate\": 1.25, \"low\": 1.125, \"high\": 1.5}, {\"inputs\": \"arguments\","
            " \"low\": 0.5}, {\"inputs\": \"order\", \"low\": 0.75}],"
            " \"rule\": {\"margin\": 0.03, \"alpha\": 0.01}}",
            &c, &err),
        0);
    assert_int_equal(c.comparison.undecided_by, RP_BY_VALUES);
    assert_true(c.comparison.slowest_other == 0.5);
    /* What holds with other values is the ratio. */
    assert_true(c.comparison.estimate == 1.25 && c.comparison.low == 1.125);
    assert_true(c.comparison.high == 1.5);
    assert_string_equal(c.comparison.slowest_inputs, "arguments");
    rp_compared_free(&c);
    assert_int_equal(compared_read(RESULT("different output", "\"b: 3 bytes\"", "null"), &c, &err),
                     0);
    assert_int_equal(c.comparison.verdict, RP_COMPARED_DIFFERENT);
    assert_false(c.comparison.ratio_known);
    assert_string_equal(c.comparison.reason, "b: 3 bytes");
    rp_compared_free(&c);
    /* Who compares by a session has given nothing the names A and B. */
    assert_int_equal(
        compared_read(RESULT("different output", "\"the output of B differs from A\"", "null"), &c,
                      &err),
        0);
    assert_string_equal(c.reason, "the output of the candidate differs from the original");
    rp_compared_free(&c);
}

/* An atomic that is missing is no other output, unless there is one. */
static void a_missing_atomic_is_unsafe(void **state)
{
    static const struct {
        const char *checks, *b;
        bool unsafe;
    } cases[] = {
        {"\"new\": [], \"atomics\": {\"address\": 4096}", "\"wrong_runs\": 0", true},
        {"\"new\": [], \"atomics\": {\"address\": 4096}", "\"wrong_runs\": 1", false},
        {"\"new\": [{}], \"atomics\": null", "\"wrong_runs\": 0", true},
        {"\"new\": [], \"atomics\": null", "\"wrong_runs\": 0", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rp_autofree char *text =
            rp_format("{\"verdict\": \"different output\", \"reason\": \"x\", \"checks\": {%s}, "
                      "\"b\": {%s}, \"rule\": {\"margin\": 0.03, \"alpha\": 0.01}}",
                      cases[i].checks, cases[i].b);
        struct rp_err err = RP_ERR_INIT;
        struct rp_compared c;

        assert_int_equal(compared_read(text, &c, &err), 0);
        assert_int_equal(c.comparison.unsafe, cases[i].unsafe);
        rp_compared_free(&c);
    }
}

/** `replay compare` prints this file of a capture's folder. */
static void geometries_are_weighted_by_their_time(void **state)
{
    rp_autofree char *self = scratch_script(
        "rocm-perf", "#!/bin/sh\nwhile [ \"$1\" != --capture-dir ]; do shift; done\n"
                     "case $2 in big) us=306 r=1;; *) us=6 r=3;; esac\n"
                     "echo '{\"verdict\": \"equal\", \"a\": {\"median_us\": '$us'}, \"ratio\": "
                     "{\"estimate\": '$r', \"low\": '$r', \"high\": '$r'}, "
                     "\"rule\": {\"margin\": 0.01, \"alpha\": 0.01}}'\n");
    char big[] = "big", small[] = "small";
    struct rp_captured list[] = {{.folder = big, .name = big}, {.folder = small, .name = small}};
    const struct rp_captures captures = {.list = list, .count = 2, .covered = -1};
    struct rp_run_deadline patience = {0};
    const struct rp_child_context measure = {
        .self = self, .folder = scratch_dir, .patience = &patience, .least_improvement = 0.01};
    const struct rp_time_floor floor = {.same_work = false};
    const struct rp_judged_kernel kernel = {
        .measure = &measure, .before = "before", .captures = &captures, .floor = &floor};
    struct rp_err err = RP_ERR_INIT;
    struct rp_decision d;
    json_t *json = NULL;

    (void)state;
    assert_int_equal(rp_judge(&kernel, "after", &d, &json, &err), 0);
    assert_float_equal(d.ratio, 312.0 / 308, 1e-9);
    assert_float_equal(d.weight_ns, 312000, 1e-6);
    json_decref(json);
    /* A profile knows how often there is one of them. */
    list[0].weight = 1000;
    list[1].weight = 9000;
    assert_int_equal(rp_judge(&kernel, "after", &d, &json, &err), 0);
    assert_float_equal(d.ratio, 10.0 / 4, 1e-9);
    json_decref(json);
}

/* What overlaps with the captured values' interval differs by noise, if the verdict is "faster". */
static void a_gain_that_holds_is_less_only_where_that_is_shown(void **state)
{
    const struct {
        const char *verdict, *other;
        double low, estimate, high;
    } cases[] = {
        {"faster", "\"estimate\": 1.25, \"low\": 0.875, \"high\": 1.75", 1.25, 1.5, 2},
        {"faster", "\"estimate\": 1.125, \"low\": 1.0625, \"high\": 1.1875", 1.0625, 1.125, 1.1875},
        {"undecided", "\"estimate\": 1.25, \"low\": 0.875, \"high\": 1.75", 0.875, 1.25, 1.75},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rp_err err = RP_ERR_INIT;
        struct rp_compared c;
        char text[600];

        snprintf(text, sizeof text,
                 "{\"verdict\": \"%s\", \"undecided_by\": null, \"ratio\": " RATIO
                 ", \"other_ratios\": [{\"inputs\": \"signs\", \"demanded\": true, %s}],"
                 " \"rule\": {\"margin\": 0.03, \"alpha\": 0.01}}",
                 cases[i].verdict, cases[i].other);
        assert_int_equal(compared_read(text, &c, &err), 0);
        assert_true(c.comparison.low == cases[i].low && c.comparison.high == cases[i].high);
        assert_true(c.comparison.estimate == cases[i].estimate);
        assert_true(c.comparison.slowest_other == 0);
        rp_compared_free(&c);
    }
}

static void refuses_what_it_does_not_know(void **state)
{
    static const char *const texts[] = {"",
                                        "{}",
                                        "[]",
                                        "null",
                                        "{\"verdict\": \"faster\"}",
                                        RESULT("best", "null", RATIO),
                                        RESULT("faster", "null", RATIO) "x"};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct rp_err err = RP_ERR_INIT;
        struct rp_compared c;

        assert_int_equal(compared_read(texts[i], &c, &err), -RP_BAD_INPUT);
    }
}

/** rocm-perf is a script that ends so. @return of rp_compare */
static int compared_by(const char *script, struct rp_compared *ret, struct rp_err *err)
{
    rp_autofree char *text = rp_format("#!/bin/sh\n%s\n", script);
    rp_autofree char *self = scratch_script("rocm-perf", text);
    char folder[] = "cap", program[] = "app";
    char *argv[] = {program, NULL};
    struct rp_run_deadline patience = {0};
    const struct rp_child_context measure = {.self = self,
                                             .folder = scratch_dir,
                                             .program = argv,
                                             .patience = &patience,
                                             .least_improvement = 0.02};
    const struct rp_captured captured = {.folder = folder};

    return rp_compare(&measure, &captured, "a.hsaco", "b.hsaco", false, ret, err);
}

static void failures_are_whose_they_are(void **state)
{
    struct rp_err err = RP_ERR_INIT;
    struct rp_compared c;

    (void)state;
    /* The candidate does not fit. */
    assert_int_equal(
        compared_by("echo noise >&2; echo 'rocm-perf: b.hsaco: B: LDS' >&2; exit 1", &c, &err), 0);
    assert_int_equal(c.comparison.verdict, RP_COMPARED_DIFFERENT);
    assert_string_equal(c.reason, "LDS");
    assert_true(c.comparison.no_output);
    rp_compared_free(&c);
    assert_int_equal(
        compared_by("echo 'rocm-perf: B: the kernel of b.hsaco does not end within 5 s'"
                    " >&2; exit 1",
                    &c, &err),
        0);
    assert_int_equal(c.comparison.verdict, RP_COMPARED_DIFFERENT);
    assert_string_equal(c.reason, "the kernel of b.hsaco does not end within 5 s");
    rp_compared_free(&c);
    assert_int_equal(
        compared_by("echo 'rocm-perf: b.hsaco cannot take the place' >&2; exit 1", &c, &err), 0);
    assert_int_equal(c.comparison.verdict, RP_COMPARED_DIFFERENT);
    assert_string_equal(c.reason, "b.hsaco cannot take the place");
    rp_compared_free(&c);
    /* The capture tells nothing. */
    assert_int_equal(
        compared_by("echo 'rocm-perf: the captured dispatch leaves nothing' >&2; exit 1", &c, &err),
        0);
    assert_int_equal(c.comparison.verdict, RP_COMPARED_UNDECIDED);
    assert_int_equal(c.comparison.undecided_by, RP_BY_BLIND);
    assert_string_equal(c.reason, "the captured dispatch leaves nothing");
    rp_compared_free(&c);
    /* What it is compared with does not. */
    assert_int_equal(compared_by("echo 'rocm-perf: a.hsaco: A: LDS' >&2; exit 1", &c, &err),
                     -RP_BAD_INPUT);
    assert_int_equal(
        compared_by("echo 'rocm-perf: A: the kernel of a.hsaco crashed' >&2; exit 1", &c, &err),
        -RP_BAD_INPUT);
    /* No device. */
    assert_int_equal(compared_by("echo 'rocm-perf: no ROCm' >&2; exit 4", &c, &err),
                     -RP_ENVIRONMENT);
    assert_non_null(strstr(err.text, "no ROCm"));
    /* Of this kernel only. */
    assert_int_equal(compared_by("kill -SEGV $$", &c, &err), -RP_BAD_INPUT);
    assert_int_equal(compared_by("echo 'rocm-perf: cap: damaged' >&2; exit 3", &c, &err),
                     -RP_BAD_INPUT);
    assert_int_equal(compared_by("exit 0", &c, &err), -RP_BAD_INPUT);
    /* The options are those that were meant. */
    assert_int_equal(compared_by("echo \"rocm-perf: $*\" >&2; exit 1", &c, &err), 0);
    assert_string_equal(c.reason,
                        "replay compare a.hsaco b.hsaco --capture-dir cap --margin 2.0000 "
                        "--json");
    rp_compared_free(&c);
}

static void check_argv(const struct rp_child_context *m, const char *const *words,
                       const char *program, const char *const *expected)
{
    rp_autofree const char **argv = rp_own_command_argv(m, words, program);
    size_t i = 0;

    assert_non_null(argv);
    for (; expected[i]; i++)
        assert_string_equal(argv[i], expected[i]);
    assert_null(argv[i]);
}

static void failures_without_a_message(void **state)
{
    rp_autofree char *none = rp_path_join(scratch_dir, "none");
    const struct rp_proc_end end = {.status = RP_VERDICT};
    struct rp_err err = RP_ERR_INIT;
    struct rp_compared c;

    (void)state;
    assert_int_equal(read_failure(&end, none, "a", "b", &c, &err), -RP_ENVIRONMENT);
    assert_non_null(strstr(err.text, "cannot read"));
    assert_non_null(strstr(err.text, "it ended with exit status"));
}

/* What is said of the device goes before the program, whose own options are behind it. */
static void commands_get_the_device_of_the_session(void **state)
{
    static const char *const replay[] = {"replay", "compare", "--json", NULL};
    static const char *const run[] = {"run", NULL};
    char app[] = "app", device[] = "--device", other[] = "x";
    char *program[] = {app, device, other, NULL};
    struct rp_child_context m = {.self = "rocm-perf", .program = program};

    (void)state;
    check_argv(&m, replay, NULL,
               (const char *const[]){"rocm-perf", "replay", "compare", "--json", NULL});
    check_argv(&m, run, "b",
               (const char *const[]){"rocm-perf", "run", "--", "b", "--device", "x", NULL});
    m.device = "software";
    m.timing = "full";
    check_argv(&m, replay, NULL,
               (const char *const[]){"rocm-perf", "replay", "compare", "--json", "--device",
                                     "software", "--timing", "full", NULL});
    check_argv(&m, run, "b",
               (const char *const[]){"rocm-perf", "run", "--device", "software", "--timing", "full",
                                     "--", "b", "--device", "x", NULL});
}

/* Kernels of one name in several code objects are found in the traces of a profile. */

/** Code object and kernel n have the number n; a kernel is launched once if its letter is in runs.
 */
struct trace {
    const char *uris[3];
    const char *names[3];
    const char *runs;
};

static void write_trace(const char *file, unsigned seed, const struct trace *t)
{
    rp_autofree char *path = rp_path_join(scratch_dir, file);
    const struct rp_store_origin origin = {.hostname = "h",
                                           .system_name = "Linux",
                                           .release = "6",
                                           .version = "1",
                                           .hardware_name = "x86_64",
                                           .machine_id = "0",
                                           .guid_time_ms = 1000 + seed,
                                           .guid_random = {1, seed},
                                           .device = "software",
                                           .complete = true};
    struct rp_err err = RP_ERR_INIT;
    struct rp_store_writer *w;

    assert_int_equal(rp_store_writer_open(path, &origin, &w, &err), 0);
    assert_int_equal(
        rp_store_put_process(w, &(struct rp_row_process){.pid = 9, .command = "app"}, &err), 0);
    assert_int_equal(rp_store_put_agent(w, &(struct rp_row_agent){.id = 1, .name = "g"}, &err), 0);
    for (int64_t i = 0; i < 3 && t->uris[i]; i++) {
        const struct rp_row_code_object object = {.id = i + 1, .agent_id = 1, .uri = t->uris[i]};
        const struct rp_row_kernel kernel = {.id = i + 1,
                                             .code_object_id = i + 1,
                                             .kernel_name = t->names[i],
                                             .display_name = t->names[i]};

        assert_int_equal(rp_store_put_code_object(w, &object, &err), 0);
        assert_int_equal(rp_store_put_kernel(w, &kernel, &err), 0);
    }
    for (const char *c = t->runs; *c; c++) {
        const struct rp_row_dispatch dispatch = {
            .agent_id = 1, .kernel_id = *c - 'a' + 1, .start_ns = 1, .end_ns = 2};

        assert_int_equal(rp_store_put_dispatch(w, &dispatch, &err), 0);
    }
    assert_int_equal(rp_store_writer_commit(w, &err), 0);
}

static int checked(const struct trace *first, const struct trace *second, struct rp_err *err)
{
    rp_remove_tree(scratch_dir);
    assert_int_equal(rp_mkdirs(scratch_dir, err), 0);
    write_trace("trace_results.db", 1, first);
    if (second)
        write_trace("trace_2_results.db", 2, second);
    return rp_check_single_code_object(scratch_dir, "_ZL4workPf", err);
}

static void one_name_of_two_files_is_refused(void **state)
{
    const struct trace two = {
        {"file:///a/app#offset=8192&size=3672", "file:///a/app#offset=16384&size=3664"},
        {"_ZL4workPf.kd", "_ZL4workPf.kd"},
        "ab"};
    const struct trace first = {{two.uris[0]}, {two.names[0]}, "aa"};
    const struct trace second = {{two.uris[1]}, {two.names[1]}, "a"};
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    assert_int_equal(checked(&two, NULL, &err), -RP_VERDICT);
    assert_non_null(strstr(err.text, "two kernels of the program have this name"));
    assert_non_null(strstr(err.text, "offset=8192"));
    assert_non_null(strstr(err.text, "offset=16384"));
    assert_int_equal(checked(&first, &second, &err), -RP_VERDICT); /* of two processes */
}

static void what_is_one_kernel_is_let_pass(void **state)
{
    const char *uri = "file:///a/app#offset=8192&size=3672";
    const struct trace not_launched = {
        {uri, "file:///a/app#offset=16384&size=3664"}, {"_ZL4workPf.kd", "_ZL4workPf.kd"}, "a"};
    const struct trace others = {
        {uri, "file:///b.so#offset=1&size=2"}, {"_ZL4workPf.kd", "_ZL4workPfi.kd"}, "abab"};
    const struct trace process = {{uri}, {"_ZL4workPf.kd"}, "a"};
    /* As on two GPUs. */
    const struct trace gpus = {{uri, uri}, {"_ZL4workPf.kd", "_ZL4workPf.kd"}, "ab"};
    const struct trace again = {
        {"memory://7#offset=0x7f00&size=512", "memory://7#offset=0x8f00&size=512"},
        {"_ZL4workPf", "_ZL4workPf"},
        "ab"};
    const struct trace memory = {
        {"memory://7#offset=0x7f00&size=512", "memory://7#offset=0x8f00&size=513"},
        {"_ZL4workPf", "_ZL4workPf"},
        "ab"};
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    assert_int_equal(checked(&not_launched, NULL, &err), 0);
    assert_int_equal(checked(&others, &process, &err), 0);
    assert_int_equal(checked(&gpus, NULL, &err), 0);
    assert_int_equal(checked(&again, NULL, &err), 0);
    assert_int_equal(checked(&memory, NULL, &err), -RP_VERDICT);
    rp_remove_tree(scratch_dir);
    assert_int_equal(rp_check_single_code_object(scratch_dir, "_ZL4workPf", &err), 0);
}

static void names_are_those_of_the_symbol(void **state)
{
    (void)state;
    assert_true(rp_symbol_is("work.kd", "work"));
    assert_true(rp_symbol_is("work", "work"));
    assert_false(rp_symbol_is("works.kd", "work"));
    assert_false(rp_symbol_is("work.kd.kd", "work"));
    assert_false(rp_symbol_is("wor", "work"));
    assert_false(rp_symbol_is(NULL, "work"));
}

/** Judges a time of 4 us by a script in place of rocm-perf, which has counted work that needs this
 * share of 5 us. */
static enum rp_outcome judged_with(double share, double *ret_least_us)
{
    rp_autofree char *text =
        share < 0
            ? rp_strdup("#!/bin/sh\necho 'rocm-perf: no counters' >&2\nexit 4\n")
            : rp_format("#!/bin/sh\nwhile [ \"$1\" != --output ]; do shift; done\nmkdir -p \"$2\"\n"
                        "echo '{\"kernels\": [{\"name\": \"work(int*) [code 12345678]\", "
                        "\"bound_share\": %g, "
                        "\"time_ns\": 5000}]}' >\"$2/roofline.json\"\n",
                        share);
    rp_autofree char *self = scratch_script("rocm-perf", text);
    struct rp_captured captured = {.folder = scratch_dir,
                                   .name = (char *)(uintptr_t) "grid 1x1x1",
                                   .kernel = (char *)(uintptr_t) "work(int*)"};
    const struct rp_captures captures = {.list = &captured, .count = 1};
    struct rp_run_deadline patience = {0};
    const struct rp_child_context measure = {
        .self = self, .folder = scratch_dir, .patience = &patience};
    const struct rp_judged_kernel kernel = {.measure = &measure, .captures = &captures};
    struct rp_compared compared = {.comparison = {.after_us = 4}};
    const struct comparisons made = {.list = &compared, .count = 1};
    struct rp_decision decision = {.outcome = RP_OUTCOME_FASTER};
    json_t *json = json_pack("[{}]");
    struct rp_err err = RP_ERR_INIT;
    const char *why;

    assert_int_equal(check_counted(&kernel, self, &made, &decision, json, &err), 0);
    *ret_least_us = json_number_value(json_object_get(json_array_get(json, 0), "least_us"));
    why = json_string_value(json_object_get(json_array_get(json, 0), "no_floor"));
    assert_int_equal(why != NULL, share < 0);
    if (why)
        assert_non_null(strstr(why, "exit status 4: rocm-perf: no counters"));
    json_decref(json);
    return decision.outcome;
}

static void counted_work_is_a_floor(void **state)
{
    double least_us;

    (void)state;
    assert_int_equal(judged_with(0.5, &least_us), RP_OUTCOME_FASTER);
    assert_float_equal(least_us, 2.5, 1e-9);
    assert_int_equal(judged_with(0.83, &least_us), RP_OUTCOME_FASTER); /* 4.15 us: 5 % */
    assert_int_equal(judged_with(0.9, &least_us), RP_OUTCOME_IMPOSSIBLE);
    assert_float_equal(least_us, 4.5, 1e-9);
    /* A replay that fails leaves it out, and that is said. */
    assert_int_equal(judged_with(-1, &least_us), RP_OUTCOME_FASTER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_is_there),
        cmocka_unit_test(a_gain_that_holds_is_less_only_where_that_is_shown),
        cmocka_unit_test(refuses_what_it_does_not_know),
        cmocka_unit_test(failures_are_whose_they_are),
        cmocka_unit_test(failures_without_a_message),
        cmocka_unit_test(commands_get_the_device_of_the_session),
        cmocka_unit_test(one_name_of_two_files_is_refused),
        cmocka_unit_test(what_is_one_kernel_is_let_pass),
        cmocka_unit_test(names_are_those_of_the_symbol),
        cmocka_unit_test(a_missing_atomic_is_unsafe),
        cmocka_unit_test(geometries_are_weighted_by_their_time),
        cmocka_unit_test(counted_work_is_a_floor),
    };

    return cmocka_run_group_tests(tests, scratch_begin, scratch_end);
}

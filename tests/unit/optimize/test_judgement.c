/* What comes of a judgement: by the verdicts of its kernels, and by the program. */
#include "optimize/judgement.c"

#include "unit/scratch.h"

enum { MOST = 3 };

struct row {
    enum rp_outcome outcome[MOST];
    const char *arguments[MOST]; /**< NULL: those of the command line */
    size_t count;
    enum rp_judgement_verdict verdict;
};

static const struct row rows[] = {
    {{RP_OUTCOME_FASTER}, {0}, 1, RP_JUDGED_FASTER},
    {{RP_OUTCOME_EQUAL}, {0}, 1, RP_JUDGED_EQUAL},
    {{RP_OUTCOME_UNSAFE}, {0}, 1, RP_JUDGED_UNSAFE},
    /* One that gains is enough, where nothing is lost. */
    {{RP_OUTCOME_EQUAL, RP_OUTCOME_FASTER}, {0}, 2, RP_JUDGED_FASTER},
    {{RP_OUTCOME_FASTER, RP_OUTCOME_SLOWER}, {0}, 2, RP_JUDGED_SLOWER},
    {{RP_OUTCOME_FASTER, RP_OUTCOME_UNDECIDED}, {0}, 2, RP_JUDGED_UNDECIDED},
    {{RP_OUTCOME_UNDECIDED, RP_OUTCOME_SLOWER, RP_OUTCOME_WRONG}, {0}, 3, RP_JUDGED_WRONG},
    /* With other arguments it need not gain, and gains there are none of the command line's. */
    {{RP_OUTCOME_FASTER, RP_OUTCOME_EQUAL}, {NULL, "7"}, 2, RP_JUDGED_FASTER},
    {{RP_OUTCOME_EQUAL, RP_OUTCOME_FASTER}, {NULL, "7"}, 2, RP_JUDGED_EQUAL},
    {{RP_OUTCOME_FASTER, RP_OUTCOME_SLOWER}, {NULL, "7"}, 2, RP_JUDGED_SLOWER},
    {{RP_OUTCOME_FASTER, RP_OUTCOME_IMPOSSIBLE}, {NULL, "7"}, 2, RP_JUDGED_IMPOSSIBLE},
    {{RP_OUTCOME_EQUAL}, {"7"}, 1, RP_JUDGED_UNDECIDED},
    {{RP_OUTCOME_FASTER}, {"7"}, 1, RP_JUDGED_UNDECIDED},
    {{RP_OUTCOME_WRONG}, {"7"}, 1, RP_JUDGED_WRONG},
};

static void the_most_serious_counts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct rp_judgement_options options = {.least_improvement = 0.01};
        struct judged_kernel kernels[MOST] = {{0}};
        struct judging j = {.o = &options, .kernels = kernels, .kernel_count = rows[i].count};

        for (size_t k = 0; k < rows[i].count; k++) {
            kernels[k].name = (char *)(uintptr_t) "work";
            kernels[k].arguments = rows[i].arguments[k];
            kernels[k].decision = (struct rp_decision){.outcome = rows[i].outcome[k],
                                                       .ratio_known = true,
                                                       .ratio = 1.5,
                                                       .low = 1.4,
                                                       .high = 1.6};
        }
        judging_decide(&j);
        if (j.verdict != rows[i].verdict)
            fail_msg("row %zu: %s", i, rp_judgement_word(j.verdict));
        if (strstr(j.reason, "inf") || strstr(j.reason, "nan"))
            fail_msg("row %zu: %s", i, j.reason);
    }
}

/* A kernel that gains makes no whole that does: 10 us become 2, beside what takes 990. */
static void the_whole_has_to_gain(void **state)
{
    static const struct {
        double time_ns, low, high;
        enum rp_judgement_verdict verdict;
    } cases[] = {
        {90, 5, 5, RP_JUDGED_FASTER},    /* 1.0870 */
        {990, 5, 5, RP_JUDGED_EQUAL},    /* 1.0081 */
        {990, 2, 9, RP_JUDGED_EQUAL},    /* 1.0050 to 1.0090 */
        {700, 2, 9, RP_JUDGED_UNDECIDED} /* 1.0071 to 1.0127 */
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct rp_judgement_options options = {.least_improvement = 0.01};
        struct judged_kernel kernels[2] = {
            {.time_ns = 10, .decision = {RP_OUTCOME_FASTER, true, 5, cases[i].low, cases[i].high}},
            {.time_ns = cases[i].time_ns, .decision = {RP_OUTCOME_EQUAL, true, 1, 1, 1}}};
        struct judging j = {.o = &options, .kernels = kernels, .kernel_count = 2};

        judging_decide(&j);
        if (j.verdict != cases[i].verdict)
            fail_msg("row %zu: %s: %s", i, rp_judgement_word(j.verdict), j.reason);
        if (j.verdict != RP_JUDGED_FASTER)
            assert_non_null(strstr(j.reason, "; more than 1.01 times as fast is asked for"));
    }
}

/* Of captures that were given no profile tells the time: the dispatches themselves do. */
static void captures_are_weighted_by_their_time(void **state)
{
    const struct rp_judgement_options options = {.least_improvement = 0.01};
    struct judged_kernel kernels[2] = {
        {.decision = {RP_OUTCOME_EQUAL, true, 1, 1, 1, .weight_ns = 306940}},
        {.decision = {RP_OUTCOME_FASTER, true, 2.25, 2.25, 2.25, .weight_ns = 6370}}};
    struct judging j = {.o = &options, .kernels = kernels, .kernel_count = 2};

    (void)state;
    judging_decide(&j);
    assert_int_equal(j.verdict, RP_JUDGED_FASTER);
    assert_float_equal(j.ratio, 313310.0 / (306940 + 6370 / 2.25), 1e-9); /* 1.0114 */
}

static void ratios_are_weighted_by_time(void **state)
{
    const struct rp_judgement_options options = {.least_improvement = 0.01};
    struct judged_kernel kernels[2] = {{.name = (char *)(uintptr_t) "a", .time_ns = 3000},
                                       {.name = (char *)(uintptr_t) "b", .time_ns = 1000}};
    struct judging j = {.o = &options, .kernels = kernels, .kernel_count = 2};

    (void)state;
    for (size_t i = 0; i < 2; i++)
        kernels[i].decision =
            (struct rp_decision){.outcome = i ? RP_OUTCOME_EQUAL : RP_OUTCOME_FASTER,
                                 .ratio_known = true,
                                 .ratio = i ? 1 : 3,
                                 .low = i ? 1 : 2,
                                 .high = i ? 1 : 6};
    judging_decide(&j);
    assert_string_equal(j.reason, "2 times as fast (1.6 to 2.667)"); /* 4000 to 2000 ns */
}

static void the_program_has_the_last_word(void **state)
{
    const struct rp_judgement_options options = {.least_improvement = 0.01};
    const struct {
        enum rp_outcome in_program;
        enum rp_judgement_verdict before, after;
    } cases[] = {
        {RP_OUTCOME_ACCEPTED, RP_JUDGED_FASTER, RP_JUDGED_FASTER},
        {RP_OUTCOME_PROGRAM_WRONG, RP_JUDGED_FASTER, RP_JUDGED_WRONG},
        {RP_OUTCOME_PROGRAM_WRONG, RP_JUDGED_EQUAL, RP_JUDGED_WRONG},
        {RP_OUTCOME_PROGRAM_SLOWER, RP_JUDGED_FASTER, RP_JUDGED_EQUAL},
        {RP_OUTCOME_PROGRAM_SLOWER, RP_JUDGED_EQUAL, RP_JUDGED_EQUAL},
        {RP_OUTCOME_UNDECIDED, RP_JUDGED_FASTER, RP_JUDGED_UNDECIDED},
        {RP_OUTCOME_REFUSED, RP_JUDGED_FASTER, RP_JUDGED_FASTER},
        {RP_OUTCOME_PROGRAM_WRONG, RP_JUDGED_SAME, RP_JUDGED_WRONG},
        {RP_OUTCOME_PROGRAM_WRONG, RP_JUDGED_UNDECIDED, RP_JUDGED_WRONG},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct judging j = {
            .o = &options, .verdict = cases[i].before, .in_program = cases[i].in_program};

        judging_decide_by_program(&j);
        assert_int_equal(j.verdict, cases[i].after);
    }
}

/* A program that could not be tried, although both versions are sources, confirms nothing. */
static void an_untried_program_is_told(void **state)
{
    const struct rp_judgement_options options = {.least_improvement = 0.01};
    struct judging j = {.o = &options,
                        .verdict = RP_JUDGED_FASTER,
                        .in_program = RP_OUTCOME_UNDECIDED,
                        .ratio_known = true,
                        .ratio = 2,
                        .low = 2,
                        .high = 2,
                        .program_json =
                            json_pack("{s:b, s:s}", "tried", 0, "reason", "it prints a time")};

    (void)state;
    judging_decide_by_program(&j);
    json_decref(j.program_json);
    assert_int_equal(j.verdict, RP_JUDGED_UNDECIDED);
    assert_string_equal(j.reason, "the kernels are right and 2 times as fast (2 to 2), but the "
                                  "program could not be tried: it prints a time");
}

static void put_output(const char *name, const char *lines)
{
    rp_autofree char *text = rp_format("%s\n", lines);
    rp_autofree char *path = scratch_put(name, text);
}

#define FIFTY "12345678901234567890123456789012345678901234567890"

/* Sums in another order end in other digits, which says nothing of a kernel that was right. */
static void other_digits_need_a_check(void **state)
{
    static const struct {
        const char *then, *now;
        double allowed; /**< 0: rounding is the same */
        enum rp_judgement_verdict verdict;
    } cases[] = {
        {"sum 23598503.546", "sum 23598503.555", 3e-4, RP_JUDGED_UNDECIDED},
        {"error 1e-05, ok", "error 3e-05, ok", 3e-4, RP_JUDGED_UNDECIDED},
        {"sum 23598503.546", "sum 23598503.555", 0, RP_JUDGED_WRONG},
        {"sum 25", "sum 24", 3e-4, RP_JUDGED_WRONG},
        {"25", "nan", 3e-4, RP_JUDGED_WRONG},
        {"sum 24", "sum 24.00001 bad", 3e-4, RP_JUDGED_WRONG},
        {"sum 24 ok", "sum 24.00001", 3e-4, RP_JUDGED_WRONG},
        {"sum 24", "total 24", 3e-4, RP_JUDGED_WRONG},
        {"1\n2\n3", "1\n2", 3e-4, RP_JUDGED_WRONG},
        {"1\nsum 24.00001", "1\nsum 24", 3e-4, RP_JUDGED_UNDECIDED},
        /* Words are no numbers. */
        {"inference 0.123456", "inference 0.123457", 3e-4, RP_JUDGED_UNDECIDED},
        {"info: 0.123456 in nanoseconds", "info: 0.123457 in nanoseconds", 3e-4,
         RP_JUDGED_UNDECIDED},
        {"-1 inf -.5", "-1.00001 inf -.50001", 3e-4, RP_JUDGED_UNDECIDED},
        {"sum -1", "sum -nan", 3e-4, RP_JUDGED_WRONG},
        {"sum 1e999", "sum 1", 3e-4, RP_JUDGED_WRONG},
        {"{\"ok\": true}", "{\"ok\": false}", 3e-4, RP_JUDGED_WRONG},
        {"{\"sum\": 1}", "{\"sum\": 1.00001}", 3e-4, RP_JUDGED_UNDECIDED},
        /* The whole line counts, not only what a message shows of it. */
        {"sum 1.00001 " FIFTY FIFTY " 7 PASSED", "sum 1 " FIFTY FIFTY " 7 FAILED", 3e-4,
         RP_JUDGED_WRONG},
        {"sum 1.00001 " FIFTY FIFTY " 7", "sum 1 " FIFTY FIFTY " nan", 3e-4, RP_JUDGED_WRONG},
        {"sum 1.00001 " FIFTY FIFTY " 7", "sum 1 " FIFTY FIFTY " 7", 3e-4, RP_JUDGED_UNDECIDED},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct rp_judgement_options options = {.least_improvement = 0.01};
        const char *reason = "it prints something else: line 1 is \"x\" instead of \"y\"";
        struct judged_kernel kernel = {
            .comparisons = json_pack("[{s:{s:{s:o}}}]", "comparison", "rule", "rounding",
                                     cases[i].allowed > 0 ? json_pack("{s:f, s:f}", "largest", 1e-5,
                                                                      "allowed", cases[i].allowed)
                                                          : json_null())};
        struct judging j = {.o = &options,
                            .kernels = &kernel,
                            .kernel_count = 1,
                            .measure = {.folder = scratch_dir},
                            .verdict = RP_JUDGED_FASTER,
                            .in_program = RP_OUTCOME_PROGRAM_WRONG,
                            .program_json = json_pack("{s:s, s:s}", "outcome",
                                                      "wrong in the program", "reason", reason)};

        put_output("original.out", cases[i].then);
        put_output("program.out", cases[i].now);
        judging_decide_by_program(&j);
        if (j.verdict != cases[i].verdict)
            fail_msg("%s / %s: %s", cases[i].then, cases[i].now, rp_judgement_word(j.verdict));
        if (j.verdict == RP_JUDGED_UNDECIDED) {
            assert_non_null(strstr(j.reason, "say with --check"));
            assert_string_equal(json_string_value(json_object_get(j.program_json, "outcome")),
                                "undecided");
        }
        json_decref(kernel.comparisons);
        json_decref(j.program_json);
    }
}

/* Nothing is said of the new version where a part of what differs was not compared. */
static void what_was_not_judged_is_told(void **state)
{
    char one[] = "one", two[] = "two", three[] = "three";
    char *changed[] = {one, two, NULL};
    char *added[] = {rp_strdup(two), rp_strdup(three), NULL};
    const struct rp_judgement_options options = {.least_improvement = 0.01};
    struct judged_kernel kernel = {.symbol = one};
    struct judging j = {.o = &options,
                        .verdict = RP_JUDGED_FASTER,
                        .reason = "twice as fast",
                        .changed = changed,
                        .added = added,
                        .kernels = &kernel,
                        .kernel_count = 1};
    rp_autofree char *text = NULL;

    (void)state;
    keep_added(&j);
    assert_string_equal(added[0], "three");
    assert_null(added[1]);
    check_kernels(&j);
    assert_false(j.ended);
    text = judging_sentence(&j);
    assert_string_equal(text, "what was judged is right and twice as fast; 2 kernels differ and "
                              "were not judged");
    json_decref(j.not_judged);
    /* Without what differs among the old ones, what is new is told from the same code. */
    changed[0] = NULL;
    check_kernels(&j);
    assert_int_equal(j.verdict, RP_JUDGED_UNDECIDED);
    json_decref(j.not_judged);
    free(added[0]);
    added[0] = NULL;
    check_kernels(&j);
    assert_int_equal(j.verdict, RP_JUDGED_SAME);
    assert_true(judging_tries_program(&j));
    json_decref(j.not_judged);
}

static void put_file(const char *folder, const char *name)
{
    rp_autofree char *path = rp_path_join(folder, name);
    struct rp_err err = RP_ERR_INIT;

    if (strcmp(name, "work") == 0)
        assert_int_equal(rp_mkdirs(path, &err), 0);
    else
        assert_int_equal(rp_write_private_file(path, "mine\n", 5, &err), 0);
}

static int open_once(const char *folder, struct rp_err *err)
{
    const struct rp_judgement_options options = {.folder = folder};
    struct judging j = {.o = &options, .folder.lock = -1};
    int rc = open_folder(&j, err);

    free_judging(&j);
    return rc;
}

/* A folder named work has whatever its user keeps there. */
static void what_others_have_made_stays(void **state)
{
    static const char *const names[] = {"work", "judge.json"};

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *folder = NULL;
        struct rp_err err = RP_ERR_INIT;
        rp_autofree char *path = NULL;

        assert_int_equal(rp_temporary_folder(&folder, &err), 0);
        path = rp_path_join(folder, names[i]);
        put_file(folder, names[i]);
        assert_int_equal(open_once(folder, &err), -RP_USAGE);
        assert_non_null(strstr(err.text, path));
        assert_non_null(strstr(err.text, " is in the way and not of rocm-perf's making"));
        assert_true(rp_path_exists(path));
        rp_temporary_folder_remove(&folder);
    }
}

/* A judgement that fails at its first input leaves no verdict of before, and inputs in its own work
 * folder are not removed. */
static void inputs_are_looked_at_in_time(void **state)
{
    char *folder = NULL;
    struct rp_err err = RP_ERR_INIT;
    rp_autofree char *result = NULL;
    rp_autofree char *kept = NULL;
    struct rp_judgement judgement = {0};
    struct rp_judgement_options options = {.new_version = "/dev/null"};

    (void)state;
    assert_int_equal(rp_temporary_folder(&folder, &err), 0);
    options.folder = folder;
    result = rp_path_join(folder, "judge.json");
    kept = rp_path_join(folder, "work/old.hsaco");
    assert_int_equal(open_once(folder, &err), 0);
    put_file(folder, "judge.json");
    put_file(folder, "work/old.hsaco");
    options.old_version = kept;
    assert_int_equal(rp_judgement_make(&options, &judgement, &err), -RP_USAGE);
    assert_non_null(strstr(err.text, "choose another -o"));
    assert_true(rp_path_exists(kept));
    options.old_version = "/nowhere/old.hip";
    assert_int_equal(rp_judgement_make(&options, &judgement, &err), -RP_BAD_INPUT);
    assert_false(rp_path_exists(result));
    rp_temporary_folder_remove(&folder);
}

/* A verdict that is left from before would be taken for that of a judgement that failed. */
static void a_former_verdict_goes(void **state)
{
    char *folder = NULL;
    struct rp_err err = RP_ERR_INIT;
    rp_autofree char *result = NULL;
    rp_autofree char *work = NULL;

    (void)state;
    assert_int_equal(rp_temporary_folder(&folder, &err), 0);
    result = rp_path_join(folder, "judge.json");
    work = rp_path_join(folder, "work/mine");
    assert_int_equal(open_once(folder, &err), 0);
    put_file(folder, "judge.json");
    put_file(folder, "work/mine");
    assert_int_equal(open_once(folder, &err), 0);
    assert_false(rp_path_exists(result));
    assert_false(rp_path_exists(work));
    /* A file in place of the folder can hold neither. */
    put_file(folder, "file");
    free(result);
    result = rp_path_join(folder, "file");
    assert_int_equal(open_once(result, &err), -RP_USAGE);
    assert_null(strstr(err.text, "--resume"));
    rp_temporary_folder_remove(&folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_most_serious_counts),
        cmocka_unit_test(ratios_are_weighted_by_time),
        cmocka_unit_test(the_whole_has_to_gain),
        cmocka_unit_test(captures_are_weighted_by_their_time),
        cmocka_unit_test(the_program_has_the_last_word),
        cmocka_unit_test(an_untried_program_is_told),
        cmocka_unit_test_setup_teardown(other_digits_need_a_check, scratch_begin, scratch_end),
        cmocka_unit_test(what_was_not_judged_is_told),
        cmocka_unit_test(what_others_have_made_stays),
        cmocka_unit_test(a_former_verdict_goes),
        cmocka_unit_test(inputs_are_looked_at_in_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

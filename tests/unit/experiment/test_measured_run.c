/* Numbers in what a program printed, what it said about its end, and where builds go. */
#include "experiment/measured_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/process.h"
#include "experiment/child_run.h"
#include "run/run_program.h"
#include "trace/rocpd.h"
#include "tune/program_runner.h"
#include "unit/scratch.h"

#include "experiment/measured_run.c"

static char *test_path;

static int test_make_folder(void **state)
{
    if (scratch_begin(state) < 0)
        return -1;
    test_path = rp_path_join(scratch_dir, "output");
    return 0;
}

static int remove_folder(void **state)
{
    free(test_path);
    return scratch_end(state);
}

static void put(const char *text, size_t bytes)
{
    assert_int_equal(rp_write_file(test_path, text, bytes, NULL), 0);
}

static void numbers(void **state)
{
    static const struct {
        const char *text, *pattern;
        double ns;
        const char *why;
    } cases[] = {
        {"12 ms\n", "[0-9]+", 12e6, NULL},
        {"t=1\nt=2.5\nt=", "t=([0-9.]+)", 2.5e6, NULL},
        {"a 1 b 2\n", "([0-9]) b|x([0-9])", 1e6, NULL},
        {"first 7\nsecond 8\n", "^first ([0-9]+)$", 7e6, NULL},
        {"1e-3", ".*", 1e3, NULL},
        {"\n1e-3\n\n", ".*", 1e3, NULL},
        {"", ".*", 0, "nothing that it printed matches .*"},
        {"", "x", 0, "nothing that it printed matches x"},
        {"x0", "x(.)", 0, "0, which is no time"},
        {"nan inf", "nan", 0, "nan, which is no time"},
        {"inf", "inf", 0, "inf, which is no time"},
        {"x5y", "x(.*)", 0, "5y, which is no number"},
        {"1e308", ".*", 0, "which is no time"},
    };
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rp_autofree char *why = NULL;
        double ns = 0;

        put(cases[i].text, strlen(cases[i].text));
        assert_int_equal(objective_of_output(test_path, cases[i].pattern, 1e6, &ns, &why, &err), 0);
        if (!cases[i].why && (why || ns != cases[i].ns))
            fail_msg("%zu: %s %g", i, why, ns);
        if (cases[i].why && (!why || !strstr(why, cases[i].why)))
            fail_msg("%zu: %s", i, why);
    }
    assert_int_equal(rp_objective_check_pattern("(a|b)[0-9]+", &err), 0);
    assert_int_equal(rp_objective_check_pattern("(a", &err), -RP_USAGE);
    assert_non_null(strstr(err.text, "no extended regular expression"));
}

/* What a search takes beyond all bounds says so; the program that asked goes on. */
static void searches_are_bounded(void **state)
{
    static const char *const refused[] = {"((a{1,255}){1,255}){1,255}", "time{32767}"};
    enum { LINE = 1 << 20 };
    rp_autofree char *why = NULL;
    char *line = malloc(LINE + 1);
    struct rp_err err = RP_ERR_INIT;
    double ns = 0;

    (void)state;
    assert_non_null(line);
    memset(line, 'a', LINE);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        assert_int_equal(rp_objective_check_pattern(refused[i], &err), -RP_USAGE);
        assert_non_null(strstr(err.text, "too large"));
    }
    put(line, LINE);
    assert_int_equal(objective_of_output(test_path, "(a*)*\\1b", 1e6, &ns, &why, &err), 0);
    assert_non_null(why);
    assert_non_null(strstr(why, "make the expression simpler"));
    free(line);
}

/** @param tag  NULL: none @return why there is no time of it */
static char *why_of_trace(const char *tag, const char *value, bool closed)
{
    const struct rp_store_origin origin = {.hostname = "test",
                                           .system_name = "Linux",
                                           .release = "6",
                                           .version = "1",
                                           .hardware_name = "x86_64",
                                           .machine_id = "0",
                                           .guid_time_ms = 1000,
                                           .guid_random = {1, 1},
                                           .device = "software",
                                           .complete = closed};
    const struct rp_row_process process = {.pid = 100, .command = "app"};
    struct rp_err err = RP_ERR_INIT;
    struct rp_store_writer *writer;
    char *db = rp_path_join(scratch_dir, "trace.db"), *why = NULL;
    const struct rp_run run = {.db_paths = &db, .db_count = 1};
    struct sum sum = {0};
    bool failed = false;
    double ns = 0;

    assert_int_equal(rp_store_writer_open(db, &origin, &writer, &err), 0);
    assert_int_equal(rp_store_put_process(writer, &process, &err), 0);
    if (tag)
        assert_int_equal(rp_store_put_metadata(writer, tag, value, &err), 0);
    assert_int_equal(rp_store_writer_commit(writer, &err), 0);
    if (objective_of_dispatches(&run, RP_DEVICE_SOFTWARE, &sum, &ns, &why, &failed, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(failed, tag && strcmp(tag, RP_STORE_LAUNCHES_TAG) == 0);
    free(db);
    return why;
}

static void a_sum_of_a_part_is_no_time(void **state)
{
    static const struct {
        const char *tag, *value;
        bool closed;
        const char *why;
    } cases[] = {
        {"rocm_perf_lost_dispatches", "3", true, "3 of its dispatches have no times"},
        {"rocm_perf_lost_records", "3", false, "3 of its dispatches have no times"},
        {"rocm_perf_untraced_queues", "3", false, "it used a queue that could not be traced"},
        {NULL, NULL, false, "its trace was not closed in order"},
        {NULL, NULL, true, "it launched no kernel"},
        {RP_STORE_LAUNCHES_TAG,
         "{\"calls\": 9, \"failed\": 3, \"list\": [{\"api\": \"hipLaunchKernel\", \"calls\": 3, "
         "\"code\": 9, \"error\": \"hipErrorInvalidConfiguration\", \"kernel\": \"k()\"}]}",
         true,
         "3 of 9 launch calls started no kernel: 3 x hipLaunchKernel of k(): "
         "hipErrorInvalidConfiguration"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rp_autofree char *why = why_of_trace(cases[i].tag, cases[i].value, cases[i].closed);

        assert_non_null(why);
        assert_memory_equal(why, cases[i].why, strlen(cases[i].why));
    }
}

static void last_lines(void **state)
{
    static const char noise[] = "one\n\x1b[31mtwo\xff\n \n\n";
    const struct rp_proc_end ends[] = {{.status = 3},
                                       {.signaled = true, .status = 11},
                                       {.timed_out = true},
                                       {.over_limits = true}};
    static const char *const wanted[] = {"ended with exit status 3: ", "was ended by SIGSEGV: ",
                                         "did not end in time: ", "took more memory than it may: "};
    char *much = malloc(200000);
    char *said;
    static const char leak[] = "Warning: Resource leak detected by SharedSignalPool, 1\n";
    static const char fault[] = "started\n"
                                "rocm-perf-device: kernel k: memory access fault: 0x8\n"
                                "  in k\n"
                                ":0:rocdevice.cpp: aborting with error : HSA_STATUS_ERROR\n";

    (void)state;
    put(noise, sizeof noise); /* with its zero */
    said = rp_child_error_line(test_path);
    assert_string_equal(said, " [31mtwo\xef\xbf\xbd");
    free(said);
    for (size_t i = 0; i < 4; i++) {
        said = rp_child_end_reason(&ends[i], test_path);
        assert_memory_equal(said, wanted[i], strlen(wanted[i]));
        free(said);
    }
    put("a.c:1:2: error: that\n1 error\nlast\n", 34);
    said = rp_child_error_line(test_path);
    assert_string_equal(said, "a.c:1:2: error: that");
    free(said);
    put(fault, strlen(fault));
    said = strdup("no times");
    rp_child_add_error_line(&said, test_path);
    assert_string_equal(said, "no times: rocm-perf-device: kernel k: memory access fault: 0x8");
    free(said);
    put(leak, strlen(leak));
    said = strdup("no kernel");
    rp_child_add_error_line(&said, test_path);
    assert_string_equal(said, "no kernel");
    free(said);
    memset(much, 'x', 200000);
    put(much, 200000);
    said = rp_child_error_line(test_path);
    assert_int_equal(strlen(said), 203);
    free(said);
    free(much);
    put("", 0);
    assert_null(rp_child_error_line(test_path));
    assert_null(rp_child_error_line("/nonexistent"));
}

static char *output_of(char **argv, struct rp_env_change *env)
{
    return rp_build_output_path("/cache", &(struct rp_command){.argv = argv, .env = env});
}

/* Words and variables that differ in any way are another program. */
static void where_builds_go(void **state)
{
    char ab[] = "ab", a[] = "a", b[] = "b", c[] = "c", empty[] = "";
    char *words[][4] = {{ab, c, NULL}, {a, b, c, NULL}, {ab, c, empty, NULL},
                        {c, ab, NULL}, {ab, NULL},      {a, b, NULL}};
    struct rp_env_change env[][3] = {
        {{.name = "A", .value = "1"}, {0}},
        {{.name = "A"}, {0}},
        {{.name = "A", .value = ""}, {0}},
        {{.name = "A", .value = "1"}, {.name = "B", .value = ""}, {0}}};
    char *outputs[10];

    (void)state;
    for (size_t i = 0; i < 6; i++)
        outputs[i] = output_of(words[i], NULL);
    for (size_t i = 0; i < 4; i++)
        outputs[6 + i] = output_of(words[0], env[i]);
    for (size_t i = 0; i < 10; i++) {
        assert_memory_equal(outputs[i], "/cache/", 7);
        assert_int_equal(strlen(outputs[i]), 7 + 64 + strlen("/program"));
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(outputs[i], outputs[j]);
    }
    for (size_t i = 0; i < 10; i++)
        free(outputs[i]);
}

/* That nothing was searched is no time of 0, which would be the best of all. */
static void what_cannot_be_searched_has_no_time(void **state)
{
    rp_autofree char *why = NULL;
    struct rp_err err = RP_ERR_INIT;
    struct rlimit before, few;
    double ns = -1;
    int next = dup(STDIN_FILENO), rc;

    (void)state;
    put("12 ms\n", 6);
    assert_true(next >= 0);
    close(next);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = before;
    few.rlim_cur = (rlim_t)next + 1; /* enough for a file, too few for a pipe */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    rc = objective_of_output(test_path, "[0-9]+", 1e6, &ns, &why, &err);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(rc, -RP_ENVIRONMENT);
    assert_non_null(strstr(err.text, "Too many open files"));
    assert_null(why);
    assert_true(ns == -1);
}

/* A build or check that reads would wait until its time is over, or take what the program reads. */
static void commands_have_nothing_to_read(void **state)
{
    char name[] = "cat";
    char *argv[] = {name, NULL};
    const struct rp_proc_limits limits = {0};
    const int kept = dup(STDIN_FILENO);
    struct rp_orphans orphans;
    const struct rp_measure_context context = {.adopted = &orphans};
    struct rp_err err = RP_ERR_INIT;
    struct rp_proc_end end = {0};
    int ends[2], rc;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    dup2(ends[0], STDIN_FILENO);
    rp_orphans_begin(&orphans);
    rc = measure_run_command(&context, &(struct rp_command){.argv = argv}, 2000000000, &limits,
                             test_path, &end, &err);
    rp_orphans_end(&orphans);
    dup2(kept, STDIN_FILENO);
    close(kept);
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(rc, 0);
    assert_false(end.timed_out);
    assert_false(end.signaled);
    assert_int_equal(end.status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),
        cmocka_unit_test(searches_are_bounded),
        cmocka_unit_test(what_cannot_be_searched_has_no_time),
        cmocka_unit_test(a_sum_of_a_part_is_no_time),
        cmocka_unit_test(last_lines),
        cmocka_unit_test(where_builds_go),
        cmocka_unit_test(commands_have_nothing_to_read),
    };

    return cmocka_run_group_tests(tests, test_make_folder, remove_folder);
}

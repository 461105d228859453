/* Command line of rocprofv3, and what its messages mean. */
#include "unit/cmocka_all.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "run/run_program.h"

#include "run/tracer_rocprofv3.c"

static struct rp_err test_err;

static void assert_args(const struct rp_rocprofv3_job *job, char *const *program,
                        const char *wanted)
{
    char text[1024] = "";
    char **args;

    args = rp_rocprofv3_args("/r", job, program);
    for (char **arg = args; *arg; arg++) {
        size_t length = strlen(text);
        snprintf(text + length, sizeof text - length, "%s%s", length ? "|" : "", *arg);
    }
    assert_string_equal(text, wanted);
    rocprofv3_args_free(&args);
    assert_null(args);
}

static void test_args(void **state)
{
    static char app[] = "./app", dashes[] = "--", empty[] = "", pmc[] = "--pmc";
    char *const program[] = {app, dashes, empty, pmc, NULL}, *const plain[] = {app, NULL};
    static const char *const counters[] = {"SQ_WAVES", "TCC_HIT_sum", NULL};
    struct rp_thread_trace_options threads = {
        .target_cu = "2", .kernels = "-x y", .serialize_all = true};
    struct rp_rocprofv3_job job = {.out_dir = "/out dir"};

    (void)state;
    assert_args(&job, program,
                "/r|--output-directory=/out dir|--output-file=%hostname%/%pid%|--output-format|"
                "rocpd|--kernel-trace|--hip-runtime-trace|--memory-copy-trace|--|./app|--||--pmc");
    job.counters = counters;
    job.log = true;
    assert_args(&job, plain,
                "/r|--output-directory=/out dir|--output-file=%hostname%/%pid%|--output-format|"
                "rocpd|--log-level=info|--kernel-trace|--pmc|SQ_WAVES|TCC_HIT_sum|--|./app");
    job = (struct rp_rocprofv3_job){.out_dir = "/o", .thread_trace = &threads};
    assert_args(&job, plain,
                "/r|--output-directory=/o|--output-file=%hostname%/%pid%|--output-format|rocpd|csv|"
                "json|--att|--att-target-cu=2|--kernel-include-regex=-x y|--att-serialize-all|--|"
                "./app");
}

static void test_judge(const char *text, bool has_trace, struct rp_rocprofv3_messages *ret)
{
    rocprofv3_read_messages(text, has_trace, ret);
}

/* Each message in the words of rocprofv3 and its library. */
static void test_messages(void **state)
{
    static const struct {
        const char *text, *fatal, *remedy;
        bool too_much;
    } rows[] = {
        {"[rocprofv3] Fatal error: rocprof-trace-decoder library path not found in "
         "['/opt/rocm/lib']\n",
         "rocprof-trace-decoder library path not found in ['/opt/rocm/lib']", "--att-library-path",
         false},
        {"Fatal error: No application provided\n", "No application provided", "whole", false},
        {"F20260115 09:11:12.123456 4711 tool.cpp:88] rocprofiler_configure_dispatch failed: code "
         "38\n",
         "rocprofiler_configure_dispatch failed: code 38", NULL, false},
        {"F20260115 09:11:12.123456 4711 x.cpp:1] Check failed: a == b\n", NULL, NULL, false},
        {"E20260115 09:11:12.123456 4711 decoder.cpp:5] Error loading decoder: 37\n",
         "Error loading decoder: 37", "newer one", false},
        {"ROCPROFILER_STATUS_ERROR_PROFILE_EXCEEDS_HW_LIMIT\n",
         "ROCPROFILER_STATUS_ERROR_PROFILE_EXCEEDS_HW_LIMIT", NULL, true},
        {"some words\nRequest exceeds the capabilities of the hardware to collect",
         "Request exceeds the capabilities of the hardware to collect", NULL, true},
        {"usage: rocprofv3 [options]\nrocprofv3: error: unrecognized arguments: "
         "--att-target-cu=1\n",
         "unrecognized arguments: --att-target-cu=1", "ROCm 7.0", false},
        {"Traceback (most recent call last):\n  File \"/opt/rocm/bin/rocprofv3\", line 3, in "
         "<module>\n"
         "ModuleNotFoundError: No module named 'yaml'\n",
         "ModuleNotFoundError: No module named 'yaml'", "install it", false},
        {"Traceback (most recent call last):\n  File \"/opt/rocm/bin/rocprofv3\", line 3, in "
         "<module>\n"
         "KeyError: 1\n",
         "File \"/opt/rocm/bin/rocprofv3\", line 3, in <module>", "itself failed", false},
        {"all is well\n", NULL, NULL, false},
        {"", NULL, NULL, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rp_cleanup(rocprofv3_messages_free) struct rp_rocprofv3_messages got = {0};

        test_judge(rows[i].text, false, &got);
        assert_int_equal(got.too_much, rows[i].too_much);
        if (!rows[i].fatal) {
            assert_null(got.fatal);
            continue;
        }
        assert_string_equal(got.fatal, rows[i].fatal);
        if (rows[i].remedy)
            assert_non_null(strstr(got.remedy, rows[i].remedy));
        else
            assert_null(got.remedy);
    }
}

/* A program that was started may print a "Fatal error:" of its own. */
static void test_own_words(void **state)
{
    rp_cleanup(rocprofv3_messages_free) struct rp_rocprofv3_messages got = {0};

    (void)state;
    test_judge("Fatal error: no input file\n", true, &got);
    assert_null(got.fatal);
    test_judge("Fatal error: no input file\n", false, &got);
    assert_string_equal(got.fatal, "no input file");
}

static void test_warnings(void **state)
{
    rp_cleanup(rocprofv3_messages_free) struct rp_rocprofv3_messages got = {0};
    static const char missing[] =
        "W20260101 10:00:00.000000 1 tool.cpp:9] Unable to find all counters for agent 2 (gpu-0, "
        "gfx942) in [A, B]. Found: [A]. Missing: [B]";
    rp_autofree char *twice = rp_format("%s\n%s\n", missing, missing);

    (void)state;
    test_judge(twice, true, &got);
    assert_null(got.fatal);
    assert_int_equal(got.warning_count, 1);
    assert_string_equal(got.warnings[0], "Missing: [B]: this GPU, or this rocprofv3, does not have"
                                         " all of the counters");
    assert_true(rocprofv3_hides_line(missing, strlen(missing)));
    assert_false(rocprofv3_hides_line("Missing: [B]", 12));
    assert_false(rocprofv3_hides_line("", 0));
}

/* --- the test_tap_ -------------------------------------------------------------------------------
 */

static bool hides_log(const char *line, size_t length)
{
    return memmem(line, length, "hide", 4) != NULL;
}

/* Writes to the test_tap_, gives what reached standard error and what was kept. */
static void test_tap_(const char *const *pieces, char *shown, size_t room, char **ret_kept)
{
    char path[] = "/tmp/test_rocprofv3.XXXXXX";
    int file = mkstemp(path), saved = dup(STDERR_FILENO);
    struct rp_stderr_copy *tapped;
    ssize_t got;

    assert_true(file >= 0 && saved >= 0);
    dup2(file, STDERR_FILENO);
    assert_int_equal(stderr_copy_open(hides_log, NULL, 0, &tapped, &test_err), 0);
    for (; *pieces; pieces++)
        assert_int_equal(write(stderr_copy_fd(tapped), *pieces, strlen(*pieces)), strlen(*pieces));
    *ret_kept = stderr_copy_close(tapped);
    dup2(saved, STDERR_FILENO);
    close(saved);
    got = pread(file, shown, room - 1, 0);
    assert_true(got >= 0);
    shown[got] = '\0';
    close(file);
    unlink(path);
}

/** Where a run has a standard error of its own, nothing is shown on that of this process. */
static void test_tap_to_a_file(void **state)
{
    char path[] = "/tmp/test_rocprofv3.XXXXXX", shown[64] = "";
    int file = mkstemp(path);
    struct rp_stderr_copy *tapped;
    char *kept;

    (void)state;
    assert_true(file >= 0);
    assert_int_equal(stderr_copy_open(hides_log, NULL, file, &tapped, &test_err), 0);
    assert_int_equal(write(stderr_copy_fd(tapped), "said\nW20260101 x] hide\n", 23), 23);
    kept = stderr_copy_close(tapped);
    assert_string_equal(kept, "said\nW20260101 x] hide\n");
    assert_int_equal(pread(file, shown, sizeof shown - 1, 0), 5);
    assert_string_equal(shown, "said\n");
    free(kept);
    close(file);
    unlink(path);
}

static void test_tap(void **state)
{
    static const char *const pieces[] = {"10 %\r20 %",
                                         "\nWell hide\nW20260101 x] hide me\n",
                                         "E2026",
                                         "0101 x] show\n",
                                         "I20260101 x] hi",
                                         "de\n",
                                         "W20260101 no end",
                                         NULL};
    rp_autofree char *kept = NULL;
    char shown[256];

    (void)state;
    test_tap_(pieces, shown, sizeof shown, &kept);
    assert_string_equal(shown, "10 %\r20 %\nWell hide\nE20260101 x] show\nW20260101 no end");
    assert_string_equal(kept, "10 %\r20 %\nWell hide\nW20260101 x] hide me\nE20260101 x] show\n"
                              "I20260101 x] hide\nW20260101 no end");
}

/* Of much text the first and the last part are kept, all of it is shown. */
static void test_long_tap(void **state)
{
    enum { LINES = 60000 };
    rp_autofree char *text = malloc(LINES * 16 + 1), *kept = NULL, *shown = malloc(LINES * 16 + 64);
    const char *pieces[] = {"first\n", text, "last\n", NULL};
    size_t at = 0;

    (void)state;
    assert_true(text && shown);
    for (int i = 0; i < LINES; i++)
        at += (size_t)sprintf(text + at, "line %08d\n", i);
    test_tap_(pieces, shown, LINES * 16 + 64, &kept);
    assert_int_equal(strlen(shown), at + strlen("first\nlast\n"));
    assert_true(strncmp(kept, "first\nline 00000000\n", 20) == 0);
    assert_string_equal(kept + strlen(kept) - 20, "\nline 00059999\nlast\n");
    assert_true(strlen(kept) < 600 * 1024);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_args),      cmocka_unit_test(test_messages),
        cmocka_unit_test(test_own_words), cmocka_unit_test(test_warnings),
        cmocka_unit_test(test_tap),       cmocka_unit_test(test_tap_to_a_file),
        cmocka_unit_test(test_long_tap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

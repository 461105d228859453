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
                "rocpd|--disable-signal-handlers=true|--kernel-trace|--hip-runtime-trace|--memory-"
                "copy-trace|--|./app|--||--pmc");
    job.counters = counters;
    job.log = true;
    assert_args(&job, plain,
                "/r|--output-directory=/out dir|--output-file=%hostname%/%pid%|--output-format|"
                "rocpd|--disable-signal-handlers=true|--log-level=info|--kernel-trace|--pmc|SQ_"
                "WAVES|TCC_HIT_sum|--|./app");
    job = (struct rp_rocprofv3_job){.out_dir = "/o", .thread_trace = &threads};
    assert_args(&job, plain,
                "/r|--output-directory=/o|--output-file=%hostname%/%pid%|--output-format|rocpd|csv|"
                "json|--disable-signal-handlers=true|--att|--att-target-cu=2|--kernel-include-"
                "regex=-x y|--att-serialize-all|--|"
                "./app");
}

static void test_judge(const char *text, bool has_trace, struct rp_rocprofv3_messages *ret)
{
    rocprofv3_read_messages(text, has_trace, NULL, ret);
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
        {"F20261127 06:16:55.847267 139892980299840 queue.cpp:586] Could not set agent to be "
         "profiled "
         "- Signal Value: 1\n",
         "Could not set agent to be profiled - Signal Value: 1", "--tracer builtin", false},
        {"F20261127 06:16:55.847267 139892980299840 tool.cpp:1194]  :: [/x/tool.cpp:1194]\n"
         "rocprofiler_create_counter_config(a, b)\n\nno such thing failed with error code 7\n"
         "*** Check failure stack trace: ***\n    @     0x7f39d7a80 google::LogMessage\n",
         "no such thing failed with error code 7", NULL, false},
        {"F20261127 06:16:55.847267 1 tool.cpp:1194]  :: [/x/tool.cpp:1194]\ncall()\n\nCould not "
         "construct profile cfg failed with error code 38: Request exceeds the capabilities of the "
         "hardware to collect\n",
         "Could not construct profile cfg failed with error code 38: Request exceeds the "
         "capabilities of the hardware to collect",
         NULL, true},
        {"F20261127 06:16:55.8 1 tool.cpp:1941] ATT Perf requires setting both perfcounter_ctrl "
         "and "
         "perfcounter list!\n",
         "ATT Perf requires setting both perfcounter_ctrl and perfcounter list!",
         "--att-perfcounter-ctrl", false},
        {"E20261127 06:16:55.8 1 hsa.cpp:9] aqlprofile API table load failed: HSA_STATUS_ERROR: A "
         "generic error has occurred.\n",
         "aqlprofile API table load failed: HSA_STATUS_ERROR: A generic error has occurred.",
         "hsa-amd-aqlprofile", false},
        {"Loading 'libhsa-amd-aqlprofile64.so' failed.\n",
         "Loading 'libhsa-amd-aqlprofile64.so' failed.", "hsa-amd-aqlprofile", false},
        {"F20260115 09:11:12.123456 4711 x.cc:1] Check failed: a == b\n", NULL, NULL, false},
        {"F2026 is a good year tool.cpp:1] \n", NULL, NULL, false},
        {"usage: rocprofv3 [options]\nrocprofv3: error: unrecognized arguments: "
         "--att-gpu-index=0\n",
         "unrecognized arguments: --att-gpu-index=0", "ROCm 7.1", false},
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

/* A fatal line of a program's own log has the name of a source that is in the program. */
static void test_whose_log(void **state)
{
    static const char source[] = "source/of_mine.cpp";
    static const char line[] = "F20260115 09:11:12.123456 4711 of_mine.cpp:1] Check failed: a\n";
    rp_cleanup(rocprofv3_messages_free) struct rp_rocprofv3_messages own = {0}, other = {0};
    char path[] = "/tmp/test_rocprofv3.XXXXXX";
    int file = mkstemp(path);

    (void)state;
    assert_true(file >= 0 && write(file, source, sizeof source) == sizeof source);
    close(file);
    rocprofv3_read_messages(line, true, path, &own);
    assert_null(own.fatal);
    rocprofv3_read_messages(line, true, "/bin/true", &other);
    assert_string_equal(other.fatal, "Check failed: a");
    unlink(path);
}

/* What rocprofv3 tells of itself in each run is not shown, and what it says of the program is. */
static void test_noise(void **state)
{
    static const struct {
        const char *line;
        bool hidden;
    } rows[] = {
        {"W20261127 06:16:55.8 1 simple_timer.cpp:55] [rocprofv3] tool initialization :: 0.002 sec",
         true},
        {"W20261127 06:16:55.8 1 tool.cpp:2181] HIP (runtime) version 7.2.4 initialized", true},
        {"W20261127 06:16:55.8 1 generateRocpd.cpp:580] writing SQL database for process 1 on node "
         "1",
         true},
        {"E20261127 06:16:55.8 1 output_stream.cpp:111] Opened result file: /x", true},
        {"W20261127 06:16:55.8 1 tool.cpp:2181] something else", false},
        {"F20261127 06:16:55.8 1 output_stream.cpp:111] cannot write", false},
        {"W20261127 06:16:55.8 1 my_simple_timer.cpp:55] mine", false},
        {"W simple_timer.cpp:55] mine", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(rocprofv3_hides_line(rows[i].line, strlen(rows[i].line)), rows[i].hidden);
}

static bool ends_on(const char *line, time_t now)
{
    return is_last_word(line, line + strlen(line), now);
}

/* Behind such a line rocprofv3 may hang; a log that a program prints again is of another day. */
static void test_last_word(void **state)
{
    const time_t noon = 1795780800; /* 2026-11-27 12:00 UTC */

    (void)state;
    assert_true(ends_on("F20261127 06:16:55.847267 1 queue.cpp:586] Could not", noon));
    assert_true(ends_on("F20261128 01:16:55.847267 1 queue.cpp:586] Could not", noon));
    assert_false(ends_on("F20261121 06:16:55.847267 1 queue.cpp:586] Could not", noon));
    assert_false(ends_on("E20261127 06:16:55.847267 1 queue.cpp:586] Could not", noon));
    assert_false(ends_on("F20261127 06:16:55.847267 1 queue.cc:586] Could not", noon));
    assert_true(ends_on("E20261127 06:16:55.847267 1 tool.cpp:1194] error code 38: Request exceeds "
                        "the capabilities of the hardware to collect",
                        noon));
    /* Behind a fatal line the same words stand alone; without one they are the program's. */
    assert_false(ends_on(
        "error code 38: Request exceeds the capabilities of the hardware to collect", noon));
    assert_false(ends_on("", noon));
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
        cmocka_unit_test(test_args),          cmocka_unit_test(test_messages),
        cmocka_unit_test(test_own_words),     cmocka_unit_test(test_warnings),
        cmocka_unit_test(test_whose_log),     cmocka_unit_test(test_noise),
        cmocka_unit_test(test_last_word),     cmocka_unit_test(test_tap),
        cmocka_unit_test(test_tap_to_a_file), cmocka_unit_test(test_long_tap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What the messages of rocprofv3 mean. */
#include "unit/cmocka_all.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "run/rocprofv3_messages.h"

static void test_judge(const char *text, bool has_trace, struct rp_rocprofv3_messages *ret)
{
    rp_rocprofv3_read_messages(text, has_trace, NULL, ret);
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
        rp_cleanup(rp_rocprofv3_messages_free) struct rp_rocprofv3_messages got = {0};

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
    rp_cleanup(rp_rocprofv3_messages_free) struct rp_rocprofv3_messages got = {0};

    (void)state;
    test_judge("Fatal error: no input file\n", true, &got);
    assert_null(got.fatal);
    test_judge("Fatal error: no input file\n", false, &got);
    assert_string_equal(got.fatal, "no input file");
}

static void test_warnings(void **state)
{
    rp_cleanup(rp_rocprofv3_messages_free) struct rp_rocprofv3_messages got = {0};
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
    assert_true(rp_rocprofv3_hides_line(missing, strlen(missing)));
    assert_false(rp_rocprofv3_hides_line("Missing: [B]", 12));
    assert_false(rp_rocprofv3_hides_line("", 0));
}

/* A fatal line of a program's own log has the name of a source that is in the program. */
static void test_whose_log(void **state)
{
    static const char source[] = "source/of_mine.cpp";
    static const char line[] = "F20260115 09:11:12.123456 4711 of_mine.cpp:1] Check failed: a\n";
    rp_cleanup(rp_rocprofv3_messages_free) struct rp_rocprofv3_messages own = {0}, other = {0};
    char path[] = "/tmp/test_rocprofv3.XXXXXX";
    int file = mkstemp(path);

    (void)state;
    assert_true(file >= 0 && write(file, source, sizeof source) == sizeof source);
    close(file);
    rp_rocprofv3_read_messages(line, true, path, &own);
    assert_null(own.fatal);
    rp_rocprofv3_read_messages(line, true, "/bin/true", &other);
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
        assert_int_equal(rp_rocprofv3_hides_line(rows[i].line, strlen(rows[i].line)),
                         rows[i].hidden);
}

static bool ends_on(const char *line, time_t now)
{
    return rp_rocprofv3_is_last_word(line, line + strlen(line), now);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages), cmocka_unit_test(test_own_words),
        cmocka_unit_test(test_warnings), cmocka_unit_test(test_whose_log),
        cmocka_unit_test(test_noise),    cmocka_unit_test(test_last_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Command line of rocprofv3. */
#include "unit/cmocka_all.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "run/run_program.h"

#include "run/tracer_rocprofv3.c"

#include "unit/scratch.h"

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
                "copy-trace|--marker-trace|--|./app|--||--pmc");
    job.pid = 7;
    assert_args(&job, plain,
                "/r|--output-directory=/out dir|--output-file=%hostname%/%pid%|--output-format|"
                "rocpd|--disable-signal-handlers=true|--pid=7|--attach-duration-msec=10000000000|"
                "--kernel-trace|--hip-runtime-trace|--memory-copy-trace|--|./app");
    job.pid = 0;
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

/* rocprofv3 1.0.0 misreads the variable, so it gets the folder as an option, too. */
static void test_decoder_of_environment(void **state)
{
    static char app[] = "./app";
    char *const program[] = {app, NULL};
    struct rp_thread_trace_options threads = {0};
    const struct rp_rocprofv3_job job = {.out_dir = "/o", .thread_trace = &threads};
    rp_autofree char *decoder = scratch_put("with/below/librocprof-trace-decoder.so", "");
    rp_autofree char *folders = rp_format("%s/without:%s/with", scratch_dir, scratch_dir);
    rp_autofree char *wanted = rp_format("--att-library-path=%s/with", scratch_dir);
    char **args;
    bool found = false;

    (void)state;
    setenv("ROCPROF_ATT_LIBRARY_PATH", folders, 1);
    args = rp_rocprofv3_args("/r", &job, program);
    for (char **arg = args; *arg; arg++)
        found = found || strcmp(*arg, wanted) == 0;
    rocprofv3_args_free(&args);
    assert_true(found);

    threads.decoder = "/said";
    args = rp_rocprofv3_args("/r", &job, program);
    for (char **arg = args; *arg; arg++)
        assert_true(strncmp(*arg, "--att-library-path=", 19) != 0 ||
                    strcmp(*arg, "--att-library-path=/said") == 0);
    rocprofv3_args_free(&args);
    unsetenv("ROCPROF_ATT_LIBRARY_PATH");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_args),
        cmocka_unit_test_setup_teardown(test_decoder_of_environment, scratch_begin, scratch_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

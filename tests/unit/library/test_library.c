#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* after the headers that it needs */
#include <cmocka.h>

#include "rocm-perf/rocm-perf.h"

static char *data(const char *name)
{
    char *path;

    assert_true(asprintf(&path, "%s/%s", getenv("RP_TEST_DATA"), name) > 0);
    return path;
}

static struct rocm_perf *opened(const char *name)
{
    struct rocm_perf_error error = {0};
    struct rocm_perf *run = NULL;
    char *path = data(name);
    int rc = rocm_perf_open((const char *const[]){path}, 1, &run, &error);

    if (rc < 0)
        print_error("%s\n", error.text);
    assert_int_equal(rc, 0);
    free(path);
    return run;
}

static struct rocm_perf *analysed(const char *name)
{
    struct rocm_perf *run = opened(name);

    assert_int_equal(rocm_perf_analyze(run, NULL), 0);
    return run;
}

static const char trace[] = "rocpd/multik-pmc-synthetic_results.db";

static void test_refused(void **state)
{
    const char *missing = "/nonexistent/trace.db";
    struct rocm_perf_error error = {0};
    struct rocm_perf *run = NULL;

    (void)state;
    assert_string_equal(rocm_perf_version(), RP_VERSION);
    assert_int_equal(rocm_perf_open(NULL, 0, &run, &error), -ROCM_PERF_USAGE);
    assert_string_equal(error.text, "rocm_perf_open: no path is given");
    assert_int_equal(rocm_perf_open(&missing, 1, &run, &error), -ROCM_PERF_BAD_INPUT);
    assert_int_equal(error.code, ROCM_PERF_BAD_INPUT);
    assert_non_null(strstr(error.text, missing));
    assert_true(rocm_perf_open(&missing, 1, &run, NULL) < 0);
    missing = NULL;
    assert_int_equal(rocm_perf_open(&missing, 1, &run, &error), -ROCM_PERF_USAGE);
    assert_null(run);
    rocm_perf_close(NULL);
    rocm_perf_free(NULL);
}

/* A program that forgot to look at what rocm_perf_open returned is told, and goes on. */
static void test_null(void **state)
{
    struct rocm_perf *run = analysed(trace);
    const char *path = "x";
    double number = -1;
    char *json = NULL;

    (void)state;
    assert_int_equal(rocm_perf_open(NULL, 1, &run, NULL), -ROCM_PERF_USAGE);
    assert_int_equal(rocm_perf_open(&path, 1, NULL, NULL), -ROCM_PERF_USAGE);
    assert_int_equal(rocm_perf_set_arch(NULL, "gfx942", NULL), -ROCM_PERF_USAGE);
    assert_int_equal(rocm_perf_set_arch(run, NULL, NULL), -ROCM_PERF_USAGE);
    assert_int_equal(rocm_perf_analyze(NULL, NULL), -ROCM_PERF_USAGE);
    assert_int_equal(rocm_perf_json(NULL, ROCM_PERF_JSON_DAG, &json, NULL), -ROCM_PERF_USAGE);
    assert_int_equal(rocm_perf_json(run, ROCM_PERF_JSON_DAG, NULL, NULL), -ROCM_PERF_USAGE);
    assert_int_equal(rocm_perf_note_count(NULL) + rocm_perf_kernel_count(NULL), 0);
    assert_int_equal(rocm_perf_path_count(NULL), 0);
    assert_null(rocm_perf_note(NULL, 0));
    assert_null(rocm_perf_text(NULL, ROCM_PERF_DEVICE));
    assert_null(rocm_perf_kernel_text(NULL, 0, ROCM_PERF_KERNEL_NAME));
    assert_null(rocm_perf_path_name(NULL, 0));
    assert_true(rocm_perf_number(NULL, ROCM_PERF_KERNELS_NS, &number) < 0);
    assert_true(rocm_perf_number(run, ROCM_PERF_KERNELS_NS, NULL) < 0);
    assert_true(rocm_perf_kernel_number(NULL, 0, ROCM_PERF_KERNEL_CALLS, &number) < 0);
    assert_true(rocm_perf_kernel_number(run, 0, ROCM_PERF_KERNEL_CALLS, NULL) < 0);
    assert_true(rocm_perf_path_ns(NULL, 0, &number) < 0);
    assert_true(rocm_perf_path_ns(run, 0, NULL) < 0);
    assert_true(number == -1);
    assert_null(json);
    rocm_perf_close(run);
}

/* Before the analyses everything is empty or unknown; what there is not is refused. */
static void test_order(void **state)
{
    struct rocm_perf *run = opened(trace);
    struct rocm_perf_error error = {0};
    double number = -1;
    char *json = NULL;

    (void)state;
    assert_int_equal(rocm_perf_kernel_count(run), 0);
    assert_int_equal(rocm_perf_path_count(run), 0);
    for (int which = 0; which <= ROCM_PERF_SPAN_NS; which++)
        assert_int_equal(rocm_perf_number(run, (enum rocm_perf_number)which, &number), 0);
    assert_true(rocm_perf_number(run, (enum rocm_perf_number)99, &number) < 0);
    assert_null(rocm_perf_text(run, ROCM_PERF_DEVICE));
    assert_int_equal(rocm_perf_json(run, ROCM_PERF_JSON_DAG, &json, &error), -ROCM_PERF_USAGE);
    assert_int_equal(rocm_perf_set_arch(run, "gfx1", &error), -ROCM_PERF_USAGE);
    assert_int_equal(rocm_perf_set_arch(run, "gfx90a", &error), 0);
    assert_int_equal(rocm_perf_analyze(run, &error), 0);
    assert_int_equal(rocm_perf_analyze(run, &error), 0);
    assert_int_equal(rocm_perf_set_arch(run, "gfx942", &error), -ROCM_PERF_USAGE);
    assert_int_equal(rocm_perf_json(run, ROCM_PERF_JSON_THREAD_TRACE, &json, &error),
                     -ROCM_PERF_BAD_INPUT);
    assert_int_equal(rocm_perf_json(run, (enum rocm_perf_json)99, &json, &error), -ROCM_PERF_USAGE);
    assert_true(rocm_perf_kernel_number(run, rocm_perf_kernel_count(run), 0, &number) < 0);
    assert_true(rocm_perf_kernel_number(run, 0, (enum rocm_perf_kernel_number)99, &number) < 0);
    assert_null(rocm_perf_kernel_text(run, rocm_perf_kernel_count(run), 0));
    assert_null(rocm_perf_kernel_text(run, 0, (enum rocm_perf_kernel_text)99));
    assert_null(rocm_perf_path_name(run, rocm_perf_path_count(run)));
    assert_true(rocm_perf_path_ns(run, rocm_perf_path_count(run), &number) < 0);
    assert_null(rocm_perf_note(run, rocm_perf_note_count(run)));
    assert_true(number == -1);
    assert_null(json);
    rocm_perf_close(run);
}

static double kernel_number(const struct rocm_perf *run, size_t kernel,
                            enum rocm_perf_kernel_number which)
{
    double ret = -1;

    assert_int_equal(rocm_perf_kernel_number(run, kernel, which, &ret), 1);
    return ret;
}

/* The numbers are those of the files, and add up. */
static void test_numbers(void **state)
{
    struct rocm_perf *run = analysed(trace);
    double sum_ns = 0, calls = 0, kernels_ns, internal_ns, end_to_end_ns, dispatches, path_ns = 0;

    (void)state;
    assert_true(rocm_perf_kernel_count(run) > 1);
    for (size_t i = 0; i < rocm_perf_kernel_count(run); i++) {
        sum_ns += kernel_number(run, i, ROCM_PERF_KERNEL_TIME_NS);
        calls += kernel_number(run, i, ROCM_PERF_KERNEL_CALLS);
        assert_non_null(rocm_perf_kernel_text(run, i, ROCM_PERF_KERNEL_NAME));
        assert_non_null(rocm_perf_kernel_text(run, i, ROCM_PERF_KERNEL_BOTTLENECK));
        assert_true(kernel_number(run, i, ROCM_PERF_KERNEL_VGPRS) > 0);
        assert_true(kernel_number(run, i, ROCM_PERF_KERNEL_WORKGROUP_SIZE) > 0);
    }
    assert_int_equal(rocm_perf_number(run, ROCM_PERF_KERNELS_NS, &kernels_ns), 1);
    assert_int_equal(rocm_perf_number(run, ROCM_PERF_RUNTIME_KERNELS_NS, &internal_ns), 1);
    assert_int_equal(rocm_perf_number(run, ROCM_PERF_DISPATCHES, &dispatches), 1);
    assert_int_equal(rocm_perf_number(run, ROCM_PERF_END_TO_END_NS, &end_to_end_ns), 1);
    assert_true(sum_ns == kernels_ns + internal_ns);
    assert_true(calls == dispatches);
    for (size_t i = 0; i < rocm_perf_path_count(run); i++) {
        double ns;
        assert_non_null(rocm_perf_path_name(run, i));
        assert_int_equal(rocm_perf_path_ns(run, i, &ns), 1);
        path_ns += ns;
    }
    assert_true(path_ns > 0 && path_ns <= end_to_end_ns);
    rocm_perf_close(run);
}

static void test_json(void **state)
{
    locale_t before = uselocale((locale_t)0);
    struct rocm_perf *run = analysed(trace);
    char *json;

    (void)state;
    for (int which = ROCM_PERF_JSON_DAG; which <= ROCM_PERF_JSON_ANALYSIS; which++) {
        assert_int_equal(rocm_perf_json(run, (enum rocm_perf_json)which, &json, NULL), 0);
        assert_int_equal(json[0], '{');
        assert_non_null(strstr(json, "\"schema_version\""));
        rocm_perf_free(json);
    }
    assert_ptr_equal(uselocale((locale_t)0), before); /* the thread's, which is the program's */
    rocm_perf_close(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused), cmocka_unit_test(test_null), cmocka_unit_test(test_order),
        cmocka_unit_test(test_numbers), cmocka_unit_test(test_json),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Kernels of one name in several code objects are found in the traces of a profile. */
#include "experiment/judge.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "trace/rocpd.h"

#include "unit/cmocka_all.h"

static char dir[] = "/tmp/rp-one-code-XXXXXX";

/** Code object and kernel n have the number n; a kernel is launched once if its letter is in runs.
 */
struct trace {
    const char *uris[3];
    const char *names[3];
    const char *runs;
};

static void write_trace(const char *file, unsigned seed, const struct trace *t)
{
    rp_autofree char *path = rp_path_join(dir, file);
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
    rp_remove_tree(dir);
    assert_int_equal(rp_mkdirs(dir, err), 0);
    write_trace("trace_results.db", 1, first);
    if (second)
        write_trace("trace_2_results.db", 2, second);
    return rp_check_single_code_object(dir, "_ZL4workPf", err);
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
    rp_remove_tree(dir);
    assert_int_equal(rp_check_single_code_object(dir, "_ZL4workPf", &err), 0);
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

static int set_up(void **state)
{
    (void)state;
    return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    rp_remove_tree(dir);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_name_of_two_files_is_refused),
        cmocka_unit_test(what_is_one_kernel_is_let_pass),
        cmocka_unit_test(names_are_those_of_the_symbol),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}

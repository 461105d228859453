/* How often, and how, kernels are launched, by a profile; names of kernels as regular expressions.
 */
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "experiment/judge.h"
#include "trace/rocpd.h"

#include "unit/scratch.h"

#include "experiment/captures.c"

static void names_of_kernels_are_found_literally(void **state)
{
    static const char *const names[] = {"void k<3>(float const*, int)", "a.b|c", "x[2]{3}^$\\(?+",
                                        ""};

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        rp_autofree char *quoted = regex_escape(names[i]);
        rp_autofree char *whole = rp_format("^%s$", quoted);
        rp_autofree char *longer = rp_format("%sx", names[i]);
        regex_t regex;

        assert_int_equal(regcomp(&regex, whole, REG_EXTENDED), 0);
        assert_int_equal(regexec(&regex, names[i], 0, NULL, 0), 0);
        assert_int_equal(regexec(&regex, longer, 0, NULL, 0), REG_NOMATCH);
        regfree(&regex);
    }
}

/** @param launches  kernels ("a", "b") with the size of workgroups behind each: "a64 b256" */
static void write_trace(const char *launches)
{
    static const char *const symbols[] = {"_Z1aPf.kd", "_Z1bPf.kd"};
    rp_autofree char *path = rp_path_join(scratch_dir, "trace_results.db");
    const struct rp_store_origin origin = {.hostname = "h",
                                           .system_name = "Linux",
                                           .release = "6",
                                           .version = "1",
                                           .hardware_name = "x86_64",
                                           .machine_id = "0",
                                           .guid_time_ms = 1000,
                                           .guid_random = {1, 1},
                                           .device = "software",
                                           .complete = true};
    struct rp_err err = RP_ERR_INIT;
    struct rp_store_writer *w;

    rp_remove_tree(scratch_dir);
    assert_int_equal(rp_mkdirs(scratch_dir, &err), 0);
    assert_int_equal(rp_store_writer_open(path, &origin, &w, &err), 0);
    assert_int_equal(
        rp_store_put_process(w, &(struct rp_row_process){.pid = 9, .command = "app"}, &err), 0);
    assert_int_equal(rp_store_put_agent(w, &(struct rp_row_agent){.id = 1, .name = "g"}, &err), 0);
    for (int64_t i = 0; i < 2; i++) {
        const struct rp_row_code_object object = {.id = i + 1, .agent_id = 1, .uri = "file:///a"};
        const struct rp_row_kernel kernel = {.id = i + 1,
                                             .code_object_id = i + 1,
                                             .kernel_name = symbols[i],
                                             .display_name = symbols[i]};

        assert_int_equal(rp_store_put_code_object(w, &object, &err), 0);
        assert_int_equal(rp_store_put_kernel(w, &kernel, &err), 0);
    }
    for (const char *at = launches; *at; at += strcspn(at, " "), at += *at == ' ') {
        const long size = strtol(at + 1, NULL, 10);
        const struct rp_row_dispatch dispatch = {.agent_id = 1,
                                                 .kernel_id = *at - 'a' + 1,
                                                 .start_ns = 1,
                                                 .end_ns = 2,
                                                 .workgroup = {size, 1, 1},
                                                 .grid = {1024, 1, 1}};

        assert_int_equal(rp_store_put_dispatch(w, &dispatch, &err), 0);
    }
    assert_int_equal(rp_store_writer_commit(w, &err), 0);
}

static struct rp_launch_counts counts_of(const char *launches)
{
    struct rp_launch_counts counts = {0};
    struct rp_err err = RP_ERR_INIT;

    write_trace(launches);
    if (rp_launch_counts_read(scratch_dir, &counts, &err) < 0)
        fail_msg("%s", err.text);
    return counts;
}

static void launches_are_told_apart_by_their_geometry_and_not_by_their_order(void **state)
{
    static const struct {
        const char *launches;
        bool same;
    } others[] = {{"b256 a64 a64 a128", true},
                  {"a64 a128 a128 b256", false},
                  {"a64 a64 a256 b256", false},
                  {"a64 a128 b256", false}};
    struct rp_launch_counts before = counts_of("a64 a128 a64 b256");
    const struct rp_launch_count *a = rp_launch_counts_find(&before, "_Z1aPf");

    (void)state;
    assert_int_equal(before.count, 2);
    assert_non_null(a);
    assert_int_equal(a->launches, 3);
    assert_null(rp_launch_counts_find(&before, "_Z1c"));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct rp_launch_counts after = counts_of(others[i].launches);
        const struct rp_launch_count *is = rp_launch_counts_find(&after, "_Z1aPf");
        const struct rp_launch_count *b = rp_launch_counts_find(&after, "_Z1bPf");

        assert_int_equal(is->launches == a->launches && is->geometries == a->geometries,
                         others[i].same);
        assert_int_equal(b->geometries, rp_launch_counts_find(&before, "_Z1bPf")->geometries);
        rp_launch_counts_free(&after);
    }
    rp_launch_counts_free(&before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_kernels_are_found_literally),
        cmocka_unit_test(launches_are_told_apart_by_their_geometry_and_not_by_their_order),
    };

    return cmocka_run_group_tests(tests, scratch_begin, scratch_end);
}

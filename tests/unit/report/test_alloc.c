/* Every allocation of the way from rows to report fails once: each failure is reported, nothing
 * leaks (the sanitizer build looks), and what is written without a failure is the same as ever. */
#include "report/alloc_fails.h"
#include "report/samples.h"

#include "analyze/dag.h"
#include "base/buf.h"
#include "base/err.h"
#include "trace/rocpd.h"

#include <jansson.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A store of arrays in place of a database. */
struct rp_store {
    int unused;
};

static const struct rp_row_agent agents[] = {
    {.id = 1, .name = "gfx942", .extdata = "{\"cu_count\": 304}"},
    {.id = 2, .name = "gfx90a"},
};
static const struct rp_row_kernel kernels[] = {
    {.id = 1, .kernel_name = "a.kd", .display_name = "a", .extdata = "{}", .arch_vgpr_count = 8},
    {.id = 2, .kernel_name = "b.kd", .display_name = "b", .arch_vgpr_count = 8},
};
static const struct rp_row_dispatch dispatches[] = {
    {.id = 1, .agent_id = 1, .kernel_id = 1, .start_ns = 1, .end_ns = 9, .workgroup = {64, 1, 1}},
    {.id = 2, .agent_id = 2, .kernel_id = 2, .start_ns = 2, .end_ns = 5, .workgroup = {64, 1, 1}},
    {.id = 3, .agent_id = 2, .kernel_id = 3, .start_ns = 6, .end_ns = 7, .workgroup = {64, 1, 1}},
};

int rp_store_agents(struct rp_store *s, const struct rp_row_agent **ret, size_t *ret_count,
                    struct rp_err *err)
{
    (void)s;
    (void)err;
    *ret = agents;
    *ret_count = sizeof agents / sizeof agents[0];
    return 0;
}

int rp_store_kernels(struct rp_store *s, const struct rp_row_kernel **ret, size_t *ret_count,
                     struct rp_err *err)
{
    (void)s;
    (void)err;
    *ret = kernels;
    *ret_count = sizeof kernels / sizeof kernels[0];
    return 0;
}

uint32_t rp_store_guid_count(const struct rp_store *s)
{
    (void)s;
    return 2;
}

int rp_store_processes(struct rp_store *s, const struct rp_row_process **ret, size_t *ret_count,
                       struct rp_err *err)
{
    (void)s, (void)ret, (void)err;
    *ret_count = 0;
    return 0;
}

int rp_store_nodes(struct rp_store *s, const struct rp_row_node **ret, size_t *ret_count,
                   struct rp_err *err)
{
    (void)s, (void)ret, (void)err;
    *ret_count = 0;
    return 0;
}

int rp_store_each_work(struct rp_store *s, rp_store_row_fn *fn, void *ctx, struct rp_err *err)
{
    int rc = 0;

    (void)s;
    for (size_t i = 0; i < sizeof dispatches / sizeof dispatches[0] && rc == 0; i++)
        rc = fn(ctx, &dispatches[i], err);
    return rc;
}

const struct rp_row_agent *rp_store_find_agent(const struct rp_store *s, uint32_t guid_index,
                                               int64_t id)
{
    (void)s;
    (void)guid_index;
    for (size_t i = 0; i < sizeof agents / sizeof agents[0]; i++)
        if (agents[i].id == id)
            return &agents[i];
    return NULL;
}

const struct rp_row_kernel *rp_store_find_kernel(const struct rp_store *s, uint32_t guid_index,
                                                 int64_t id)
{
    (void)s;
    (void)guid_index;
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++)
        if (kernels[i].id == id)
            return &kernels[i];
    return NULL;
}

int rp_store_each_simulation(struct rp_store *s, rp_store_row_fn *fn, void *ctx, struct rp_err *err)
{
    static const struct rp_row_simulation row = {.id = 1, .waves = 4, .replayed_waves = 2};

    (void)s;
    return fn(ctx, &row, err);
}

bool rp_store_corrected_ends(const struct rp_store *s, const struct rp_corrected_end **ret,
                             size_t *ret_count)
{
    (void)s, (void)ret, (void)ret_count;
    return false;
}

const struct rp_corrected_end *rp_store_find_corrected_end(const struct rp_store *s,
                                                           uint32_t guid_index, int64_t id)
{
    (void)s, (void)guid_index, (void)id;
    return NULL;
}

int rp_store_each_launch(struct rp_store *s, rp_store_row_fn *fn, void *ctx, struct rp_err *err)
{
    static const struct rp_row_launch rows[] = {
        {.dispatch_id = 7, .queue_id = 2, .stream_id = 1},
        {.dispatch_id = 8, .queue_id = 1, .stream_id = -1},
        {.dispatch_id = 9, .queue_id = 9, .stream_id = 9}, /* the graph left it out */
        {.dispatch_id = 7, .queue_id = 5, .stream_id = 5, .guid_index = 3}, /* another process */
    };
    int rc = 0;

    (void)s;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && rc == 0; i++)
        rc = fn(ctx, &rows[i], err);
    return rc;
}

int rp_store_each_copy(struct rp_store *s, rp_store_row_fn *fn, void *ctx, struct rp_err *err)
{
    static const struct rp_row_copy row = {.id = 7, .queue_id = 3, .stream_id = 1};

    (void)s;
    return fn(ctx, &row, err);
}

int rp_store_each_region(struct rp_store *s, rp_store_row_fn *fn, void *ctx, struct rp_err *err)
{
    (void)s, (void)fn, (void)ctx, (void)err;
    return 0;
}

const char *rp_store_path(const struct rp_store *store)
{
    (void)store;
    return "trace.db";
}

const char *rp_store_metadata(const struct rp_store *store, const char *tag)
{
    (void)store;
    (void)tag;
    return NULL;
}

static int step_profile(struct rp_buf *out, struct rp_err *err)
{
    struct rp_store store = {0};
    struct rp_store *stores[] = {&store, &store};
    struct rp_profile *p = NULL;
    int rc = rp_profile_compute(stores, 2, NULL, 0, &p, err);

    if (rc < 0) {
        assert_null(p);
        return rc;
    }
    countdown = -1; /* what follows is not under test */
    rp_buf_printf(out, "%zu kernels, %zu agents", p->kernel_count, p->agent_count);
    rp_profile_free(p);
    return 0;
}

static int step_json(struct rp_buf *out, struct rp_err *err)
{
    return rp_report_profile_json(sample("hostile"), out, err);
}

static int step_term(struct rp_buf *out, struct rp_err *err)
{
    return rp_report_profile_term(sample("unknown_arch"), (struct rp_term_style){.colour = true},
                                  out, err);
}

/* A copy and a kernel of the same id, and a kernel of an unknown stream, by another one's order. */
static int step_timeline(struct rp_buf *out, struct rp_err *err)
{
    struct rp_store store = {0};
    struct rp_store *stores[] = {&store};
    struct rp_dag_process_fact processes[] = {{.store = &store}};
    struct rp_dag_step steps[] = {
        {.id = 8, .agent = 1, .name = "k"},
        {.id = 7, .agent = 1, .name = "k"},
        {.id = 7, .agent = 1, .name = "c", .is_copy = true},
    };
    const struct rp_dag_result dag = {
        .processes = processes, .process_count = 1, .steps = steps, .step_count = 3};
    struct rp_timeline t = {0};
    int rc = rp_timeline_make(stores, 1, &dag, &t, err);

    if (rc < 0) {
        assert_null(t.lanes);
        return rc;
    }
    countdown = -1;
    for (size_t i = 0; i < t.lane_count; i++)
        rp_buf_printf(out, "queue %d stream %d; ", (int)t.lanes[i].queue, (int)t.lanes[i].stream);
    for (size_t i = 0; i < dag.step_count; i++)
        rp_buf_printf(out, "%u", (unsigned)t.track_of_step[i]);
    rp_timeline_free(&t);
    assert_string_equal(rp_buf_text(out),
                        "queue -1 stream 1; queue 1 stream -1; queue 2 stream 1; 120");
    return 0;
}

static int step_page(struct rp_buf *out, struct rp_err *err)
{
    const struct rp_html_document document = {.name = "dag", .text = "{\"a\": \"<\"}", .bytes = 10};

    return rp_report_html("a < b", &document, 1, out, err);
}

static void profile_reports_every_failed_allocation(void **state)
{
    (void)state;
    json_set_alloc_funcs(__real_malloc, free); /* optional detail: see analyze/dispatch_groups.c */
    assert_true(survive(step_profile) > 20);
}

static void json_reports_every_failed_allocation(void **state)
{
    (void)state;
    assert_true(survive(step_json) > 10);
}

static void term_reports_every_failed_allocation(void **state)
{
    (void)state;
    assert_true(survive(step_term) > 20);
}

static void timeline_reports_every_failed_allocation(void **state)
{
    (void)state;
    assert_true(survive(step_timeline) >= 3);
}

static void page_reports_every_failed_allocation(void **state)
{
    (void)state;
    assert_true(survive(step_page) >= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(profile_reports_every_failed_allocation),
        cmocka_unit_test(json_reports_every_failed_allocation),
        cmocka_unit_test(term_reports_every_failed_allocation),
        cmocka_unit_test(timeline_reports_every_failed_allocation),
        cmocka_unit_test(page_reports_every_failed_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Rows that no sound writer makes: the store is replaced by arrays. */
#include "analyze/profile.h"
#include "base/err.h"
#include "trace/rocpd.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/** Stands in for the store's own struct: these definitions win over its library at link time. */
struct rp_store {
    const struct rp_row_agent *agents;
    const struct rp_row_kernel *kernels;
    const struct rp_row_dispatch *dispatches;
    size_t agent_count, kernel_count, dispatch_count;
    bool fails;
};

int rp_store_agents(struct rp_store *s, const struct rp_row_agent **ret, size_t *ret_count,
                    struct rp_err *err)
{
    (void)err;
    *ret = s->agents;
    *ret_count = s->agent_count;
    return 0;
}

int rp_store_kernels(struct rp_store *s, const struct rp_row_kernel **ret, size_t *ret_count,
                     struct rp_err *err)
{
    (void)err;
    *ret = s->kernels;
    *ret_count = s->kernel_count;
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

    if (s->fails)
        return rp_fail(err, RP_BAD_INPUT, "table rocpd_kernel_dispatch is missing");
    for (size_t i = 0; i < s->dispatch_count && rc == 0; i++)
        rc = fn(ctx, &s->dispatches[i], err);
    return rc;
}

const struct rp_row_agent *rp_store_find_agent(const struct rp_store *s, uint32_t guid_index,
                                               int64_t id)
{
    for (size_t i = 0; i < s->agent_count; i++)
        if (s->agents[i].id == id && s->agents[i].guid_index == guid_index)
            return &s->agents[i];
    return NULL;
}

const struct rp_row_kernel *rp_store_find_kernel(const struct rp_store *s, uint32_t guid_index,
                                                 int64_t id)
{
    for (size_t i = 0; i < s->kernel_count; i++)
        if (s->kernels[i].id == id && s->kernels[i].guid_index == guid_index)
            return &s->kernels[i];
    return NULL;
}

int rp_store_each_simulation(struct rp_store *s, rp_store_row_fn *fn, void *ctx, struct rp_err *err)
{
    (void)s, (void)fn, (void)ctx, (void)err;
    return 0;
}

int rp_store_each_copy(struct rp_store *s, rp_store_row_fn *fn, void *ctx, struct rp_err *err)
{
    (void)s, (void)fn, (void)ctx, (void)err;
    return 0;
}

int rp_store_each_region(struct rp_store *s, rp_store_row_fn *fn, void *ctx, struct rp_err *err)
{
    (void)s, (void)fn, (void)ctx, (void)err;
    return 0;
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
    (void)s, (void)fn, (void)ctx, (void)err;
    return 0;
}

const char *rp_store_path(const struct rp_store *store)
{
    (void)store;
    return "damaged.db";
}

const char *rp_store_metadata(const struct rp_store *store, const char *tag)
{
    (void)store;
    (void)tag;
    return NULL;
}

static void dispatches_without_kernel_and_agent_rows_are_kept(void **state)
{
    const struct rp_row_dispatch rows[] = {
        {.id = 1, .agent_id = 9, .kernel_id = 4, .start_ns = 10, .end_ns = 30},
        {.id = 2, .agent_id = 9, .kernel_id = 4, .start_ns = 40, .end_ns = 45},
        {.id = 3, .agent_id = 3, .kernel_id = 0, .start_ns = 50, .end_ns = 51},
    };
    struct rp_store store = {.dispatches = rows, .dispatch_count = 3};
    struct rp_store *stores[] = {&store};
    struct rp_profile *p = NULL;
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    assert_int_equal(rp_profile_compute(stores, 1, NULL, 0, &p, &err), 0);
    assert_int_equal(p->agent_count, 2);
    assert_string_equal(p->agents[0].name, "unknown");
    assert_int_equal(p->agents[0].trace_id, 3);
    assert_int_equal(p->unknown_kernels, 3);
    assert_int_equal(p->kernel_count, 2);
    assert_string_equal(p->kernels[0].name, "(unknown kernel 4)");
    assert_int_equal(p->kernels[0].calls, 2);
    assert_int_equal(p->kernels[0].total_ns, 25);
    assert_false(p->kernels[0].occupancy.known);
    assert_non_null(strstr(p->kernels[0].occupancy.reason, "symbol"));
    rp_profile_free(p);
}

static void merged_processes_keep_their_own_ids(void **state)
{
    const struct rp_row_agent agents[] = {{.id = 1, .name = "gfx942"},
                                          {.id = 1, .guid_index = 1, .name = "gfx90a"}};
    const struct rp_row_kernel kernels[] = {
        {.id = 1, .kernel_name = "first", .arch_vgpr_count = 8, .sgpr_count = 16},
        {.id = 1, .guid_index = 1, .kernel_name = "second", .arch_vgpr_count = 8, .sgpr_count = 16},
    };
    const struct rp_row_dispatch rows[] = {
        {.id = 1, .agent_id = 1, .kernel_id = 1, .start_ns = 1, .end_ns = 11},
        {.id = 1, .guid_index = 1, .agent_id = 1, .kernel_id = 1, .start_ns = 2, .end_ns = 4},
    };
    struct rp_store store = {.agents = agents,
                             .agent_count = 2,
                             .kernels = kernels,
                             .kernel_count = 2,
                             .dispatches = rows,
                             .dispatch_count = 2};
    struct rp_store *stores[] = {&store};
    struct rp_profile *p = NULL;
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    assert_int_equal(rp_profile_compute(stores, 1, NULL, 0, &p, &err), 0);
    assert_int_equal(p->kernel_count, 2);
    assert_string_equal(p->kernels[0].name, "first");
    assert_string_equal(p->agents[p->kernels[0].agent].name, "gfx942");
    assert_string_equal(p->kernels[1].name, "second");
    assert_string_equal(p->agents[p->kernels[1].agent].name, "gfx90a");
    rp_profile_free(p);
}

/* The same number on two hosts; the same GPU of two processes is listed once. */
static void equal_ids_are_not_always_one_gpu(void **state)
{
    const struct rp_row_agent agents[] = {
        {.id = 1, .name = "gfx942", .product_name = "AMD Instinct MI300X"},
        {.id = 1, .guid_index = 1, .name = "gfx942", .product_name = "AMD Instinct MI325X"},
        {.id = 1, .guid_index = 2, .name = "gfx942", .product_name = "AMD Instinct MI300X"},
    };
    const struct rp_row_dispatch rows[] = {
        {.id = 1, .agent_id = 1, .start_ns = 1, .end_ns = 11},
        {.id = 1, .guid_index = 1, .agent_id = 1, .start_ns = 2, .end_ns = 4},
        {.id = 1, .guid_index = 2, .agent_id = 1, .start_ns = 3, .end_ns = 5},
    };
    struct rp_store store = {
        .agents = agents, .agent_count = 3, .dispatches = rows, .dispatch_count = 3};
    struct rp_store *stores[] = {&store};
    struct rp_profile *p = NULL;
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    assert_int_equal(rp_profile_compute(stores, 1, NULL, 0, &p, &err), 0);
    assert_int_equal(p->agent_count, 2);
    assert_string_equal(p->agents[0].product, "AMD Instinct MI300X");
    assert_string_equal(p->agents[1].product, "AMD Instinct MI325X");
    rp_profile_free(p);
}

static void absurd_columns_are_clamped(void **state)
{
    const struct rp_row_agent agents[] = {{.id = 1, .name = "gfx942"}};
    const struct rp_row_kernel kernels[] = {
        {
            .id = 1,
            .kernel_name = "k",
            .arch_vgpr_count = -1,
            .accum_vgpr_count = INT64_MAX,
            .sgpr_count = INT64_MIN,
        },
    };
    const struct rp_row_dispatch rows[] = {
        {
            .id = 1,
            .agent_id = 1,
            .kernel_id = 1,
            .start_ns = 1,
            .end_ns = 2,
            .group_bytes = INT64_MAX,
            .private_bytes = INT64_MIN,
            .workgroup = {INT64_MAX, INT64_MAX, -7},
            .grid = {-1, INT64_MAX, 0},
        },
        {.id = 2, .agent_id = 1, .kernel_id = 1, .start_ns = INT64_MIN, .end_ns = INT64_MAX},
        {.id = 3, .agent_id = 1, .kernel_id = 1, .start_ns = INT64_MAX, .end_ns = INT64_MIN},
    };
    struct rp_store store = {
        .agents = agents,
        .agent_count = 1,
        .kernels = kernels,
        .kernel_count = 1,
        .dispatches = rows,
        .dispatch_count = 3,
    };
    struct rp_store *stores[] = {&store};
    struct rp_profile *p = NULL;
    struct rp_err err = RP_ERR_INIT;
    const struct rp_kernel_summary *k;

    (void)state;
    assert_int_equal(rp_profile_compute(stores, 1, NULL, 0, &p, &err), 0);
    assert_int_equal(p->kernel_count, 1);
    assert_int_equal(p->repaired_timestamps, 2);
    k = &p->kernels[0];
    assert_int_equal(k->calls, 3);
    assert_int_equal(k->total_ns, 1);
    assert_int_equal(k->resources.arch_vgpr, 0);
    assert_true(k->resources.accum_vgpr == UINT32_MAX);
    assert_int_equal(k->resources.sgpr, 0);
    assert_false(k->occupancy.known);
    rp_profile_free(p);
}

static void a_store_that_fails_is_passed_on(void **state)
{
    struct rp_store store = {.fails = true};
    struct rp_store *stores[] = {&store};
    struct rp_profile *p = NULL;
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    assert_int_equal(rp_profile_compute(stores, 1, NULL, 0, &p, &err), -(int)RP_BAD_INPUT);
    assert_null(p);
    assert_string_equal(err.text, "table rocpd_kernel_dispatch is missing");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dispatches_without_kernel_and_agent_rows_are_kept),
        cmocka_unit_test(merged_processes_keep_their_own_ids),
        cmocka_unit_test(equal_ids_are_not_always_one_gpu),
        cmocka_unit_test(absurd_columns_are_clamped),
        cmocka_unit_test(a_store_that_fails_is_passed_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "trace/rocpd.h"
#include "analysis/extdata.h"
#include "rocm-perf/roofline.h"
#include "trace/counter_set.h"

#include "base/cleanup.h"
#include "base/err.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* Rows of the store's agents, and which of them the set knows of. */
struct agents {
    const struct rp_row_agent *rows;
    bool *known;
};

static int describe(const struct rp_row_agent *agent, struct rp_counted_device *ret,
                    struct rp_err *err)
{
    json_t *extdata;
    int result = rp_extdata_load(agent->extdata, &extdata, err);

    if (result < 0)
        return result;
    snprintf(ret->arch, sizeof ret->arch, "%s", agent->name);
    ret->pci_device_id = (uint32_t)rp_extdata_positive(extdata, "device_id", UINT32_MAX);
    ret->compute_units = (uint32_t)rp_extdata_positive(extdata, "cu_count", UINT32_MAX);
    ret->xcc_count = (uint32_t)rp_extdata_positive(extdata, "num_xcc", UINT32_MAX);
    ret->engine_clock_mhz =
        (uint32_t)rp_extdata_positive(extdata, "max_engine_clk_fcompute", UINT32_MAX);
    ret->memory_clock_mhz = (uint32_t)rp_extdata_positive(
        json_array_get(json_object_get(extdata, "mem_banks"), 0), "mem_clk_max", UINT32_MAX);
    json_decref(extdata);
    return 0;
}

/* Processes of one host mean the same GPU by the same id, those of several may not. */
static int add_agent(struct rp_counters *set, const struct agents *agents,
                     const struct rp_row_agent *agent, uint32_t *ret, struct rp_err *err)
{
    struct rp_counted_device gpu = {.id = agent->id}, *d;
    int result = rp_counters_device(set, agent->id, ret, err);

    if (result < 0 || agents->known[agent - agents->rows])
        return result;
    result = describe(agent, &gpu, err);
    if (result < 0)
        return result;
    agents->known[agent - agents->rows] = true;
    d = &set->devices[*ret];
    if (!d->arch[0])
        *d = gpu;
    else if (rp_counted_differ(d, &gpu))
        return rp_fail(err, RP_BAD_INPUT,
                       "GPU %" PRId64 " is %s with %u CUs in one process and %s with %u CUs in "
                       "another: analyse the traces of one host at a time",
                       agent->id, d->arch, d->compute_units, gpu.arch, gpu.compute_units);
    return 0;
}

static int add_dispatch(struct rp_counters *set, struct rp_store *store, size_t number,
                        const struct agents *agents, const struct rp_row_dispatch *row, size_t *ret,
                        struct rp_err *err)
{
    int64_t process = (int64_t)number << 32 | row->guid_index;
    const struct rp_row_agent *agent = rp_store_find_agent(store, row->guid_index, row->agent_id);
    const struct rp_row_kernel *kernel =
        rp_store_find_kernel(store, row->guid_index, row->kernel_id);
    char unnamed[48];
    const char *name = unnamed;
    uint32_t device;
    bool is_new;
    int result = agent ? add_agent(set, agents, agent, &device, err)
                       : rp_counters_device(set, row->agent_id, &device, err);

    snprintf(unnamed, sizeof unnamed, "kernel %" PRId64, row->kernel_id);
    if (kernel && *kernel->kernel_name)
        name = kernel->kernel_name;
    if (kernel && *kernel->display_name)
        name = kernel->display_name;
    if (result == 0)
        result = rp_counters_dispatch(set, device, process, row->id, name, ret, &is_new, err);
    if (result == 0 && row->start_ns > 0 && row->end_ns > row->start_ns) {
        const struct rp_corrected_end *end =
            rp_store_find_corrected_end(store, row->guid_index, row->id);
        set->first_ns =
            set->last_ns && set->first_ns < row->start_ns ? set->first_ns : row->start_ns;
        set->last_ns = set->last_ns > row->end_ns ? set->last_ns : row->end_ns;
        set->dispatches[*ret].timed = true;
        set->dispatches[*ret].duration_ns =
            (double)(end ? end->took_ns : row->end_ns - row->start_ns);
    }
    return result;
}

/* First counter of the dispatch's event. */
static size_t first_counter(const struct rp_row_counter *rows, size_t count,
                            const struct rp_row_dispatch *d)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct rp_row_counter *row = &rows[middle];
        if (row->guid_index < d->guid_index ||
            (row->guid_index == d->guid_index && row->event_id < d->event_id))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int read_store(struct rp_store *store, size_t number, struct rp_counters *set,
                      struct rp_err *err)
{
    struct agents agents = {0};
    rp_autofree bool *known = NULL;
    const struct rp_row_kernel *kernels;
    const struct rp_row_dispatch *dispatches;
    const struct rp_row_counter *rows;
    size_t agent_count, kernel_count, dispatch_count, count, at;
    int result = rp_store_agents(store, &agents.rows, &agent_count, err);

    known = result == 0 ? calloc(agent_count + 1, sizeof *known) : NULL;
    agents.known = known;
    if (result == 0 && !known)
        result = rp_fail(err, RP_ENVIRONMENT, "out of memory");
    if (result == 0)
        result = rp_store_kernels(store, &kernels, &kernel_count, err);
    if (result == 0)
        result = rp_store_dispatches(store, &dispatches, &dispatch_count, err);
    if (result == 0)
        result = rp_store_counters(store, &rows, &count, err);
    for (size_t i = 0; result == 0 && i < dispatch_count; i++) {
        const struct rp_row_dispatch *d = &dispatches[i];

        result = add_dispatch(set, store, number, &agents, d, &at, err);
        for (size_t c = first_counter(rows, count, d);
             result == 0 && c < count && rows[c].event_id == d->event_id &&
             rows[c].guid_index == d->guid_index;
             c++)
            result = rp_counters_add(set, at, rows[c].name, rows[c].value, err);
    }
    return result;
}

int rp_roofline_run_counters(struct rp_store *const *stores, size_t count, struct rp_counters **ret,
                             struct rp_err *err)
{
    struct rp_counters *set = rp_counters_new();
    int result = set ? 0 : rp_fail(err, RP_ENVIRONMENT, "out of memory");

    for (size_t i = 0; i < count && result == 0; i++)
        result = read_store(stores[i], i, set, err);
    if (result == 0 && count == 1)
        result = rp_counters_set_source(set, rp_store_path(stores[0]), err);
    if (result < 0) {
        rp_counters_free(set);
        return result;
    }
    set->is_timeline = set->name_count == 0;
    *ret = set;
    return 0;
}

int rp_roofline_counters(struct rp_store *store, struct rp_counters **ret, struct rp_err *err)
{
    return rp_roofline_run_counters(&store, 1, ret, err);
}

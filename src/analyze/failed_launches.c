/* Finds launches that started no kernel: work that did not happen must not count as fast. */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/profile.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "trace/rocpd.h"

/* --- said by our own collector ------------------------------------------------------------- */

static const char *keep(struct rp_profile *profile, const char *text, bool *ok)
{
    const char *kept = text ? rp_profile_keep(profile->memory, text, strlen(text)) : NULL;

    *ok = *ok && (!text || kept);
    return kept;
}

static bool is_same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static uint64_t number_at(const json_t *array, size_t at)
{
    json_int_t value = json_integer_value(json_array_get(array, at));

    return value > 0 ? (uint64_t)value : 0;
}

/** Reads what one process recorded about one kernel. Strings are borrowed from the JSON. */
static struct rp_failed_launch read_row(const json_t *row)
{
    const json_t *grid = json_object_get(row, "grid"), *block = json_object_get(row, "block");
    struct rp_failed_launch ret = {
        .api = json_string_value(json_object_get(row, "api")),
        .error = json_string_value(json_object_get(row, "error")),
        .kernel = json_string_value(json_object_get(row, "kernel")),
        .symbol = json_string_value(json_object_get(row, "symbol")),
        .code = (uint32_t)rp_extdata_positive(row, "code", UINT32_MAX),
        .calls = rp_extdata_positive(row, "calls", INT64_MAX),
        .dynamic_lds_bytes = rp_extdata_positive(row, "dynamic_lds_bytes", INT64_MAX),
    };

    for (size_t i = 0; i < 3; i++) {
        ret.grid[i] = number_at(grid, i);
        ret.block[i] = rp_column_u32((int64_t)number_at(block, i));
    }
    return ret;
}

/* Our collector writes 64 a process, but a file may have any number, and each is searched among
 * all. */
enum { MOST_LISTED = 1024 };

static int add_row(struct rp_profile *profile, const struct rp_failed_launch *row,
                   struct rp_err *err)
{
    struct rp_launches *launches = &profile->launches;
    struct rp_failed_launch *grown, *added;
    bool ok = true;

    for (size_t i = 0; i < launches->count; i++) {
        struct rp_failed_launch *known = &launches->list[i];

        if (is_same(known->api, row->api) && known->code == row->code &&
            is_same(known->symbol, row->symbol)) {
            known->calls += row->calls;
            return 0;
        }
    }
    if (launches->count == MOST_LISTED)
        return 0;
    grown = reallocarray(launches->list, launches->count + 1, sizeof *grown);
    if (!grown)
        return rp_out_of_memory(err);
    launches->list = grown;
    added = &grown[launches->count];
    *added = *row;
    added->api = keep(profile, row->api, &ok);
    added->error = keep(profile, row->error, &ok);
    added->kernel = keep(profile, row->kernel, &ok);
    added->symbol = keep(profile, row->symbol, &ok);
    launches->count += ok;
    return ok ? 0 : rp_out_of_memory(err);
}

static int take_said(struct rp_profile *profile, const char *text, struct rp_err *err)
{
    struct rp_launches *launches = &profile->launches;
    json_t *said = NULL;
    const json_t *list;
    int rc = rp_extdata_load(text, &said, err);

    list = json_object_get(said, "list");
    launches->known = true;
    launches->calls += rp_extdata_positive(said, "calls", INT64_MAX);
    launches->failed += rp_extdata_positive(said, "failed", INT64_MAX);
    for (size_t i = 0; rc == 0 && i < json_array_size(list); i++) {
        struct rp_failed_launch row = read_row(json_array_get(list, i));

        rc = row.calls ? add_row(profile, &row, err) : 0;
    }
    json_decref(said);
    return rc;
}

/* --- found in traces of rocprofv3 ---------------------------------------------------------- */

/* hipGraphLaunch is not here, because it starts any number of kernels, also none. */
static const char *const launching[] = {
    "hipLaunchKernel",
    "hipLaunchKernel_spt",
    "hipExtLaunchKernel",
    "hipLaunchCooperativeKernel",
    "hipLaunchCooperativeKernel_spt",
    "hipLaunchByPtr",
    "hipLaunchKernelExC",
    "hipDrvLaunchKernelEx",
    "hipModuleLaunchKernel",
    "hipModuleLaunchCooperativeKernel",
    "hipExtModuleLaunchKernel",
    "hipHccModuleLaunchKernel",
};

struct call {
    int64_t correlation_id, start_ns;
    uint32_t guid_index;
    const char *name; /**< the store's */
};

/** A stream capture begins or ends here; within it launches only become nodes of a graph. */
struct turn {
    int64_t at_ns;
    uint32_t guid_index;
    int step;     /**< +1, -1 */
    int going_on; /**< captures behind it */
};

struct search {
    struct call *calls;
    size_t call_count, call_capacity;
    struct turn *turns;
    size_t turn_count, turn_capacity;
    uint64_t uncalled;  /**< dispatches that do not name their call */
    struct call *works; /**< of dispatches; only the identity is used */
    size_t work_count, work_capacity;
};

static bool launches_kernel(const char *name)
{
    for (size_t i = 0; i < sizeof launching / sizeof *launching; i++)
        if (strcmp(name, launching[i]) == 0)
            return true;
    return false;
}

static int add_region(void *ctx, const void *row, struct rp_err *err)
{
    const struct rp_row_region *region = row;
    struct search *s = ctx;
    bool begins = strncmp(region->name, "hipStreamBeginCapture", 21) == 0;
    bool ends = strncmp(region->name, "hipStreamEndCapture", 19) == 0;

    if (begins || ends) {
        struct turn *grown = rp_grow(s->turns, s->turn_count, &s->turn_capacity, sizeof *grown);

        if (!grown)
            return rp_out_of_memory(err);
        s->turns = grown;
        grown[s->turn_count++] = (struct turn){.at_ns = begins ? region->start_ns : region->end_ns,
                                               .guid_index = region->guid_index,
                                               .step = begins ? 1 : -1};
    } else if (region->correlation_id && launches_kernel(region->name)) {
        struct call *grown = rp_grow(s->calls, s->call_count, &s->call_capacity, sizeof *grown);

        if (!grown)
            return rp_out_of_memory(err);
        s->calls = grown;
        grown[s->call_count++] = (struct call){.correlation_id = region->correlation_id,
                                               .start_ns = region->start_ns,
                                               .guid_index = region->guid_index,
                                               .name = region->name};
    }
    return 0;
}

static int add_work(void *ctx, const void *row, struct rp_err *err)
{
    const struct rp_row_launch *launch = row;
    struct search *s = ctx;
    struct call *grown;

    if (!launch->correlation_id) {
        s->uncalled++;
        return 0;
    }
    grown = rp_grow(s->works, s->work_count, &s->work_capacity, sizeof *grown);
    if (!grown)
        return rp_out_of_memory(err);
    s->works = grown;
    grown[s->work_count++] =
        (struct call){.correlation_id = launch->correlation_id, .guid_index = launch->guid_index};
    return 0;
}

static int by_identity(const void *a, const void *b)
{
    const struct call *x = a, *y = b;

    if (x->guid_index != y->guid_index)
        return x->guid_index < y->guid_index ? -1 : 1;
    return (x->correlation_id > y->correlation_id) - (x->correlation_id < y->correlation_id);
}

static int by_process_and_time(const void *a, const void *b)
{
    const struct turn *x = a, *y = b;

    if (x->guid_index != y->guid_index)
        return x->guid_index < y->guid_index ? -1 : 1;
    if (x->at_ns != y->at_ns)
        return x->at_ns < y->at_ns ? -1 : 1;
    return y->step - x->step;
}

/* An end without a beginning belongs to a capture that began before the trace did. */
static void find_captures(struct search *s)
{
    for (size_t begin = 0, end; begin < s->turn_count; begin = end) {
        int depth = 0, lowest = 0;

        for (end = begin;
             end < s->turn_count && s->turns[end].guid_index == s->turns[begin].guid_index; end++) {
            depth += s->turns[end].step;
            lowest = depth < lowest ? depth : lowest;
            s->turns[end].going_on = depth;
        }
        for (size_t i = begin; i < end; i++)
            s->turns[i].going_on -= lowest;
    }
}

static bool is_captured(const struct search *s, const struct call *call)
{
    const struct turn key = {.at_ns = call->start_ns, .guid_index = call->guid_index, .step = -1};
    size_t low = 0, high = s->turn_count;

    while (low < high) { /* These turns are not behind the call. */
        size_t middle = low + (high - low) / 2;

        if (by_process_and_time(&s->turns[middle], &key) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low > 0 && s->turns[low - 1].guid_index == call->guid_index)
        return s->turns[low - 1].going_on > 0;
    /* The turn before it decides. Before the first turn, the call is in a capture if that turn is
     * an end, because the capture began before the trace did. */
    return low < s->turn_count && s->turns[low].guid_index == call->guid_index &&
           s->turns[low].going_on - s->turns[low].step > 0;
}

static int find_missing(struct rp_profile *profile, struct search *s, struct rp_err *err)
{
    struct rp_launches *launches = &profile->launches;
    uint64_t started = 0, missing = 0;
    int rc = 0;

    if (s->work_count)
        qsort(s->works, s->work_count, sizeof *s->works, by_identity);
    if (s->turn_count)
        qsort(s->turns, s->turn_count, sizeof *s->turns, by_process_and_time);
    find_captures(s);
    for (size_t i = 0; i < s->call_count; i++) {
        struct call *call = &s->calls[i];
        bool has_work =
            s->work_count && bsearch(call, s->works, s->work_count, sizeof *s->works, by_identity);

        started += has_work;
        if (has_work || is_captured(s, call))
            call->name = NULL;
        else
            missing++;
    }
    /* Dispatches do not name their call, so that these may be what the calls have started, or calls
     * and dispatches are not of the same time. */
    if (!started || started < missing || (missing && s->uncalled >= missing))
        return 0;
    for (size_t i = 0; rc == 0 && i < s->call_count && missing; i++) {
        const struct rp_failed_launch row = {.api = s->calls[i].name, .calls = 1};

        if (row.api)
            rc = add_row(profile, &row, err);
    }
    launches->known = launches->inferred = true;
    launches->calls += started + missing;
    launches->failed += missing;
    return rc;
}

static int search_trace(struct rp_profile *profile, struct rp_store *store, struct rp_err *err)
{
    struct search s = {0};
    int rc = rp_store_each_region(store, add_region, &s, err);

    if (rc == 0 && s.call_count)
        rc = rp_store_each_launch(store, add_work, &s, err);
    if (rc == 0 && s.work_count)
        rc = find_missing(profile, &s, err);
    free(s.calls);
    free(s.turns);
    free(s.works);
    return rc;
}

/* --- for people ---------------------------------------------------------------------------- */

static bool is_empty(const struct rp_failed_launch *launch)
{
    return !launch->block[0] || !launch->block[1] || !launch->block[2];
}

/* Writes the grid in blocks, as the program gave it, where it has whole ones. With an empty block
 * nobody knows how many there are. */
static void put_grid(struct rp_buf *to, const struct rp_failed_launch *launch)
{
    const uint64_t *grid = launch->grid;
    bool whole = true;

    if (is_empty(launch)) {
        rp_buf_puts(to, ", which is empty");
        return;
    }
    for (size_t i = 0; i < 3; i++)
        whole &= grid[i] % launch->block[i] == 0;
    rp_buf_printf(to, ", grid %" PRIu64 " x %" PRIu64 " x %" PRIu64 " %s",
                  grid[0] / (whole ? launch->block[0] : 1),
                  grid[1] / (whole ? launch->block[1] : 1),
                  grid[2] / (whole ? launch->block[2] : 1), whole ? "blocks" : "work-items");
    if (!grid[0] || !grid[1] || !grid[2])
        rp_buf_puts(to, ", which is empty");
}

/* Launches of one kernel are listed together though their sizes may differ. */
static void put_sizes(struct rp_buf *to, const struct rp_failed_launch *launch)
{
    rp_buf_printf(to, " (%sblock %" PRIu32 " x %" PRIu32 " x %" PRIu32,
                  launch->calls > 1 ? "the first: " : "", launch->block[0], launch->block[1],
                  launch->block[2]);
    put_grid(to, launch);
    if (launch->dynamic_lds_bytes)
        rp_buf_printf(to, ", %" PRIu64 " bytes of dynamic LDS", launch->dynamic_lds_bytes);
    rp_buf_puts(to, ")");
}

void rp_failed_launch_put(struct rp_buf *to, const struct rp_failed_launch *launch)
{
    if (launch->calls > 1)
        rp_buf_printf(to, "%" PRIu64 " x ", launch->calls);
    rp_buf_puts(to, launch->api ? launch->api : "a launch");
    if (launch->kernel)
        rp_buf_printf(to, " of %s", launch->kernel);
    if (launch->error)
        rp_buf_printf(to, ": %s", launch->error);
    else if (launch->code)
        rp_buf_printf(to, ": HIP error %" PRIu32, launch->code);
    else
        rp_buf_puts(to, ": no kernel in the trace");
    if (launch->block[0] || launch->block[1] || launch->block[2])
        put_sizes(to, launch);
}

char *rp_launches_text(const struct rp_launches *launches)
{
    rp_autobuf text = {0};

    rp_buf_printf(&text, "%" PRIu64 " of %" PRIu64 " launch call%s started no kernel",
                  launches->failed, launches->calls, launches->calls == 1 ? "" : "s");
    for (size_t i = 0; i < launches->count && i < 3; i++) {
        rp_buf_puts(&text, i ? "; " : ": ");
        rp_failed_launch_put(&text, &launches->list[i]);
    }
    if (launches->count > 3)
        rp_buf_puts(&text, "; ...");
    return rp_buf_steal(&text);
}

int rp_profile_launches(struct rp_profile *profile, struct rp_store *const *stores, size_t count,
                        struct rp_err *err)
{
    int rc = 0;

    for (size_t i = 0; i < count && rc == 0; i++) {
        const char *said = rp_store_metadata(stores[i], RP_STORE_LAUNCHES_TAG);

        if (said)
            rc = take_said(profile, said, err);
        else if (!rp_store_metadata(stores[i], "rocm_perf_device"))
            /* The trace is not from our own collector. */
            rc = search_trace(profile, stores[i], err);
    }
    return rc;
}

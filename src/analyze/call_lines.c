/**
 * @file call_lines.c
 * @brief Finds which lines of the program's source launch each kernel, copy, and keep the GPU
 * waiting.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/profile.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"
#include "trace/rocpd.h"

/** This is what happened at a line: launches of a kernel, or nanoseconds. */
struct weights {
    struct rp_idmap keys; /**< subject << 32 | number of the line */
    struct {
        RP_VEC(uint64_t);
    } of;
};

struct rp_call_lines {
    struct rp_map lines; /**< "file:line" */
    struct weights launches, copies, host;
};

struct rp_call_lines *rp_call_lines_new(void)
{
    return calloc(1, sizeof(struct rp_call_lines));
}

static void free_weights(struct weights *w)
{
    rp_idmap_free(&w->keys);
    rp_vec_free(&w->of);
}

void rp_call_lines_free(struct rp_call_lines *lines)
{
    if (!lines)
        return;
    rp_map_free(&lines->lines);
    free_weights(&lines->launches);
    free_weights(&lines->copies);
    free_weights(&lines->host);
    free(lines);
}

static int weigh(struct weights *w, size_t subject, uint32_t line, uint64_t more,
                 struct rp_err *err)
{
    const uint32_t at = rp_idmap_add(&w->keys, (uint64_t)subject << 32 | line);

    if (at == RP_NO_NUMBER || (at == w->of.count && rp_vec_push(&w->of, 0) < 0))
        return rp_out_of_memory(err);
    if (__builtin_add_overflow(w->of.items[at], more, &w->of.items[at]))
        w->of.items[at] = UINT64_MAX;
    return 0;
}

/* --- calls --------------------------------------------------------------------------------- */

struct call {
    int64_t correlation_id;
    uint32_t guid_index, line;
};

/** This is a trace, and where its calls were made. */
struct reading {
    struct rp_call_lines *lines;
    rp_kernel_number_fn *number;
    const void *ctx;
    struct {
        RP_VEC(struct call);
    } calls;             /**< sorted by guid_index, correlation_id */
    struct rp_map texts; /**< JSON of the trace, which has the same again and again */
    struct {
        RP_VEC(uint32_t);
    } line_of;            /**< RP_NO_NUMBER: none; numbered as texts */
    struct rp_idmap tids; /**< threads */
    struct {
        RP_VEC(int64_t);
    } ends; /**< of the last call of each, numbered as tids */
};

static void free_reading(struct reading *r)
{
    rp_vec_free(&r->calls);
    rp_map_free(&r->texts);
    rp_vec_free(&r->line_of);
    rp_idmap_free(&r->tids);
    rp_vec_free(&r->ends);
}

/* Returns the number of "file:line", or RP_NO_NUMBER. */
static uint32_t number_line(struct rp_call_lines *lines, const char *json)
{
    json_t *object = json_loads(json, 0, NULL);
    const char *file = json_string_value(json_object_get(object, "file"));
    const json_int_t line = json_integer_value(json_object_get(object, "line"));
    uint32_t number = RP_NO_NUMBER;
    rp_autobuf text = {0};

    if (file && *file && line > 0) {
        rp_buf_printf(&text, "%s:%" JSON_INTEGER_FORMAT, file, line);
        number = text.failed ? RP_NO_NUMBER : rp_map_add_text(&lines->lines, text.data);
    }
    json_decref(object);
    return number;
}

static int take_site(void *ctx, const void *row, struct rp_err *err)
{
    struct reading *r = ctx;
    const struct rp_row_call_site *site = row;
    struct call call = {.correlation_id = site->correlation_id, .guid_index = site->guid_index};
    const uint32_t at = rp_map_add_text(&r->texts, site->line_info);

    if (at == RP_NO_NUMBER)
        return rp_out_of_memory(err);
    if (at == r->line_of.count &&
        rp_vec_push(&r->line_of, number_line(r->lines, site->line_info)) < 0)
        return rp_out_of_memory(err);
    call.line = r->line_of.items[at];
    if (call.line == RP_NO_NUMBER)
        return 0;
    return rp_vec_push(&r->calls, call) < 0 ? rp_out_of_memory(err) : 0;
}

static int by_call(const void *a, const void *b)
{
    const struct call *x = a, *y = b;

    if (x->guid_index != y->guid_index)
        return x->guid_index < y->guid_index ? -1 : 1;
    return (x->correlation_id > y->correlation_id) - (x->correlation_id < y->correlation_id);
}

/* Returns the line of a call, or RP_NO_NUMBER. */
static uint32_t line_at(const struct reading *r, uint32_t guid_index, int64_t correlation_id)
{
    const struct call key = {.correlation_id = correlation_id, .guid_index = guid_index};
    const struct call *found = bsearch(&key, r->calls.items, r->calls.count, sizeof key, by_call);

    return found ? found->line : RP_NO_NUMBER;
}

/* --- what came of them --------------------------------------------------------------------- */

static int take_launch(void *ctx, const void *row, struct rp_err *err)
{
    const struct reading *r = ctx;
    const struct rp_row_launch *launch = row;
    const uint32_t line = line_at(r, launch->guid_index, launch->correlation_id);
    const size_t kernel = r->number(r->ctx, launch->guid_index, launch->kernel_id);

    return line == RP_NO_NUMBER || kernel >= UINT32_MAX
               ? 0
               : weigh(&r->lines->launches, kernel, line, 1, err);
}

static int take_copy(void *ctx, const void *row, struct rp_err *err)
{
    const struct reading *r = ctx;
    const struct rp_row_copy *copy = row;
    const uint32_t line = line_at(r, copy->guid_index, copy->correlation_id);

    return line == RP_NO_NUMBER || copy->end_ns <= copy->start_ns
               ? 0
               : weigh(&r->lines->copies, 0, line, (uint64_t)(copy->end_ns - copy->start_ns), err);
}

/* Calls come in the order of their beginnings. The time since the end of the one before it in its
 * thread is the program's own. */
static int take_call(void *ctx, const void *row, struct rp_err *err)
{
    struct reading *r = ctx;
    const struct rp_row_region *call = row;
    const uint32_t line = line_at(r, call->guid_index, call->correlation_id);
    const uint32_t thread =
        rp_idmap_add(&r->tids, (uint64_t)call->guid_index << 48 ^ (uint64_t)call->tid);
    int64_t own_ns;

    if (thread == RP_NO_NUMBER ||
        (thread == r->ends.count && rp_vec_push(&r->ends, call->start_ns) < 0))
        return rp_out_of_memory(err);
    own_ns = call->start_ns - r->ends.items[thread];
    if (call->end_ns > r->ends.items[thread])
        r->ends.items[thread] = call->end_ns;
    return line == RP_NO_NUMBER || own_ns <= 0
               ? 0
               : weigh(&r->lines->host, 0, line, (uint64_t)own_ns, err);
}

/* On the software device times of calls are made from their order, and say nothing of the host. */
static bool times_are_the_hosts(const struct rp_store *store)
{
    const char *times = rp_store_metadata(store, "rocm_perf_hip_calls");

    return times && strcmp(times, "host") == 0;
}

int rp_call_lines_add(struct rp_call_lines *lines, struct rp_store *store,
                      rp_kernel_number_fn *number, const void *ctx, struct rp_err *err)
{
    rp_cleanup(free_reading) struct reading r = {.lines = lines, .number = number, .ctx = ctx};
    int rc = rp_store_each_call_site(store, take_site, &r, err);

    if (rc < 0 || r.calls.count == 0)
        return rc;
    qsort(r.calls.items, r.calls.count, sizeof *r.calls.items, by_call);
    rc = rp_store_each_launch(store, take_launch, &r, err);
    if (rc == 0)
        rc = rp_store_each_copy(store, take_copy, &r, err);
    if (rc == 0 && times_are_the_hosts(store))
        rc = rp_store_each_region(store, take_call, &r, err);
    return rc;
}

/* --- the result ---------------------------------------------------------------------------- */

/* Returns the number of a line, or RP_NO_NUMBER. The first of equal ones stays. */
static uint32_t heaviest(const struct weights *w, size_t subject)
{
    uint32_t line = RP_NO_NUMBER;
    uint64_t most = 0;

    for (uint32_t i = 0; i < w->keys.count; i++) {
        if (w->keys.keys[i] >> 32 != subject || w->of.items[i] <= most)
            continue;
        most = w->of.items[i];
        line = (uint32_t)w->keys.keys[i];
    }
    return line;
}

static int keep(struct rp_profile *profile, const struct rp_call_lines *lines, uint32_t line,
                const char **ret, struct rp_err *err)
{
    const struct rp_map_key *key = line == RP_NO_NUMBER ? NULL : &lines->lines.keys[line];

    *ret = key ? rp_profile_keep(profile->memory, key->bytes, key->length) : NULL;
    return key && !*ret ? rp_out_of_memory(err) : 0;
}

/* A kernel has a number in each trace, but one rank. */
static int add_by_rank(const struct weights *from, const uint32_t *ranks, size_t count,
                       struct weights *ret, struct rp_err *err)
{
    for (uint32_t i = 0; i < from->keys.count; i++) {
        const uint64_t kernel = from->keys.keys[i] >> 32;
        int rc = kernel < count ? weigh(ret, ranks[kernel], (uint32_t)from->keys.keys[i],
                                        from->of.items[i], err)
                                : 0;

        if (rc < 0)
            return rc;
    }
    return 0;
}

/* Finds the line of each rank with most weight at once. The first of equal ones stays. */
static int heaviest_by_rank(const struct weights *w, struct rp_profile *profile, uint32_t **ret,
                            struct rp_err *err)
{
    size_t ranks = 0;
    rp_autofree uint64_t *most = NULL;
    rp_autofree uint32_t *lines = NULL;

    for (size_t i = 0; i < profile->kernel_count; i++)
        if (profile->kernels[i].rank >= ranks)
            ranks = (size_t)profile->kernels[i].rank + 1;
    most = calloc(ranks + 1, sizeof *most);
    lines = malloc((ranks + 1) * sizeof *lines);
    if (!most || !lines)
        return rp_out_of_memory(err);
    for (size_t i = 0; i < ranks; i++)
        lines[i] = RP_NO_NUMBER;
    for (uint32_t i = 0; i < w->keys.count; i++) {
        const uint64_t rank = w->keys.keys[i] >> 32;

        if (rank >= ranks || w->of.items[i] <= most[rank])
            continue;
        most[rank] = w->of.items[i];
        lines[rank] = (uint32_t)w->keys.keys[i];
    }
    *ret = rp_steal(lines);
    return 0;
}

int rp_call_lines_put(struct rp_call_lines *lines, const uint32_t *ranks, size_t count,
                      struct rp_profile *profile, struct rp_err *err)
{
    rp_cleanup(free_weights) struct weights by_rank = {0};
    rp_autofree uint32_t *of_rank = NULL;
    int rc = add_by_rank(&lines->launches, ranks, count, &by_rank, err);

    if (rc == 0)
        rc = heaviest_by_rank(&by_rank, profile, &of_rank, err);
    for (size_t i = 0; rc == 0 && by_rank.keys.count && i < profile->kernel_count; i++) {
        struct rp_kernel_summary *kernel = &profile->kernels[i];

        kernel->launch_order = of_rank[kernel->rank];
        rc = keep(profile, lines, kernel->launch_order, &kernel->launch_line, err);
    }
    if (rc == 0)
        rc = keep(profile, lines, heaviest(&lines->copies, 0), &profile->copy_line, err);
    return rc < 0 ? rc : keep(profile, lines, heaviest(&lines->host, 0), &profile->host_line, err);
}

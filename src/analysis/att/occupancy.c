#include "analysis/att/parts.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "trace/rocpd.h"

#include <stdlib.h>
#include <string.h>

/* occupancy.json: for each shader engine [time, cu, simd, slot, starts, kernel]. */

enum { MAX_CU = 256, MAX_SIMD = 16 }; /* cu counts from 0 within the engine: at most 16 on gfx9 */

struct event {
    int64_t cycle;
    uint32_t simd; /* cu * MAX_SIMD + simd */
    bool starts;
    int64_t kernel;
    size_t order;
};

struct simd {
    uint32_t waves;
    bool seen;
    int64_t busy_since;
};

static int compare_events(const void *a, const void *b)
{
    const struct event *l = a, *r = b;

    if (l->cycle != r->cycle)
        return l->cycle < r->cycle ? -1 : 1;
    return l->order < r->order ? -1 : l->order > r->order;
}

static int read_events(const json_t *list, struct event **ret, size_t *ret_count,
                       struct rp_err *err)
{
    rp_autofree struct event *events = calloc(json_array_size(list) + 1, sizeof *events);
    size_t i;
    json_t *row;

    if (!events)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    json_array_foreach(list, i, row)
    {
        int64_t values[6];

        for (size_t k = 0; k < 6; k++)
            if (!rp_att_number(json_array_get(row, k), &values[k]))
                return rp_fail(err, RP_BAD_INPUT,
                               "event %zu is not [time, cu, simd, slot, start,"
                               " kernel]",
                               i);
        if (values[1] >= MAX_CU || values[2] >= MAX_SIMD || values[4] > 1)
            return rp_fail(err, RP_BAD_INPUT, "event %zu is of no place that a GPU has", i);
        events[i] = (struct event){.cycle = values[0],
                                   .simd = (uint32_t)(values[1] * MAX_SIMD + values[2]),
                                   .starts = values[4] == 1,
                                   .kernel = values[5],
                                   .order = i};
    }
    qsort(events, json_array_size(list), sizeof *events, compare_events);
    *ret_count = json_array_size(list);
    *ret = rp_steal(events);
    return 0;
}

/* Adds level waves from begin to end to the equal parts of first to last; cycles until then. */
static void fill(struct rp_att_engine *engine, int64_t begin, int64_t end, uint64_t level)
{
    double width = (double)(engine->last_cycle - engine->first_cycle) / RP_ATT_BINS;

    if (level == 0 || end <= begin || width <= 0)
        return;
    for (size_t b = 0; b < RP_ATT_BINS; b++) {
        double low = (double)(begin - engine->first_cycle) - (double)b * width;
        double high = (double)(end - engine->first_cycle) - (double)b * width;

        low = low < 0 ? 0 : low;
        high = high > width ? width : high;
        if (high > low)
            engine->mean_waves[b] += (high - low) / width * (double)level;
    }
}

static bool chosen(const struct event *event, const json_t *kernels)
{
    char id[32];

    if (!kernels)
        return true;
    snprintf(id, sizeof id, "%lld", (long long)event->kernel);
    return json_object_get(kernels, id) != NULL;
}

static void step(struct rp_att_engine *engine, struct simd *simd, const struct event *event)
{
    if (!event->starts) {
        simd->waves--;
        if (simd->waves == 0)
            engine->simd_busy_cycles += (uint64_t)(event->cycle - simd->busy_since);
        return;
    }
    engine->waves++;
    if (simd->waves++ == 0)
        simd->busy_since = event->cycle;
    if (simd->waves > engine->peak_waves_per_simd)
        engine->peak_waves_per_simd = simd->waves;
    simd->seen = true;
}

static void close_engine(struct rp_att_engine *engine, const struct simd *simds)
{
    for (size_t cu = 0; cu < MAX_CU; cu++) {
        bool seen = false;

        for (size_t s = 0; s < MAX_SIMD; s++) {
            const struct simd *simd = &simds[cu * MAX_SIMD + s];

            seen |= simd->seen;
            engine->simds += simd->seen;
            engine->unended += simd->waves;
            if (simd->waves)
                engine->simd_busy_cycles += (uint64_t)(engine->last_cycle - simd->busy_since);
        }
        engine->cus += seen;
    }
}

static bool measure(const struct event *events, size_t count, const json_t *kernels,
                    struct rp_att_engine *engine)
{
    rp_autofree struct simd *simds = calloc(MAX_CU * MAX_SIMD, sizeof *simds);
    uint64_t level = 0;
    int64_t before = 0;
    bool any = false;

    if (!simds)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!chosen(&events[i], kernels))
            continue;
        if (!any)
            engine->first_cycle = events[i].cycle;
        engine->last_cycle = events[i].cycle;
        any = true;
    }
    before = engine->first_cycle;
    for (size_t i = 0; i < count; i++) {
        struct simd *simd = &simds[events[i].simd];

        /* An end without a start: its wave began before the trace. */
        if (!chosen(&events[i], kernels) || (!events[i].starts && simd->waves == 0))
            continue;
        fill(engine, before, events[i].cycle, level);
        engine->wave_cycles += level * (uint64_t)(events[i].cycle - before);
        engine->busy_cycles += level ? (uint64_t)(events[i].cycle - before) : 0;
        before = events[i].cycle;
        step(engine, simd, &events[i]);
        level = events[i].starts ? level + 1 : level - 1;
    }
    fill(engine, before, engine->last_cycle, level);
    engine->wave_cycles += level * (uint64_t)(engine->last_cycle - before);
    engine->busy_cycles += level ? (uint64_t)(engine->last_cycle - before) : 0;
    close_engine(engine, simds);
    return true;
}

/* Ids of the kernel in "dispatches", which gives names, or "number / address" where there is none.
 * The names may end in ".kd". */
static json_t *find_kernel(const json_t *dispatches, const char *symbol, const char *name)
{
    json_t *found = json_object(), *entry;
    const char *id;

    if (!found || (!symbol && !name))
        return found;
    json_object_foreach((json_t *)(uintptr_t)dispatches, id, entry)
    {
        const char *text = json_string_value(entry);
        size_t len = text ? rp_kernel_name_length(text) : 0;

        if (text && ((symbol && strncmp(text, symbol, len) == 0 && !symbol[len]) ||
                     (name && strcmp(text, name) == 0)))
            json_object_set_new(found, id, json_true());
    }
    return found;
}

static bool has_events(const json_t *root, const json_t *kernels)
{
    const char *key;
    json_t *list, *row;
    size_t i;

    json_object_foreach((json_t *)(uintptr_t)root, key, list) json_array_foreach(list, i, row)
    {
        int64_t kernel;

        if (rp_att_number(json_array_get(row, 5), &kernel) &&
            chosen(&(struct event){.kernel = kernel}, kernels))
            return true;
    }
    return false;
}

static int compare_engines(const void *a, const void *b)
{
    const struct rp_att_engine *l = a, *r = b;

    return l->id < r->id ? -1 : l->id > r->id;
}

static int read_engine(const json_t *list, uint32_t id, const json_t *kernels,
                       struct rp_thread_trace *trace, struct rp_err *err)
{
    rp_autofree struct event *events = NULL;
    struct rp_att_engine engine = {.id = id}, *grown;
    size_t count = 0;
    int rc = read_events(list, &events, &count, err);

    if (rc < 0)
        return rc;
    if (!measure(events, count, kernels, &engine))
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    if (engine.waves == 0)
        return 0;
    grown = realloc(trace->engines, (trace->engine_count + 1) * sizeof *grown);
    if (!grown)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    trace->engines = grown;
    grown[trace->engine_count++] = engine;
    return 0;
}

int rp_att_read_occupancy(const json_t *root, const char *symbol, const char *name,
                          struct rp_thread_trace *trace, struct rp_err *err)
{
    json_t *kernels = find_kernel(json_object_get(root, "dispatches"), symbol, name), *list;
    const json_t *filter = kernels;
    const char *key;
    int rc = 0;

    if (!kernels)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    trace->engines_of_kernel = json_object_size(kernels) > 0 && has_events(root, kernels);
    if (!trace->engines_of_kernel)
        filter = NULL;
    json_object_foreach((json_t *)(uintptr_t)root, key, list)
    {
        char *end;
        unsigned long id = strtoul(key, &end, 10);

        if (end == key || *end || id > 1023) /* "dispatches", "version" */
            continue;
        rc = json_is_array(list) ? read_engine(list, (uint32_t)id, filter, trace, err)
                                 : rp_fail(err, RP_BAD_INPUT, "engine %s has no list", key);
        if (rc < 0)
            break;
    }
    json_decref(kernels);
    if (trace->engine_count)
        qsort(trace->engines, trace->engine_count, sizeof *trace->engines, compare_engines);
    return rc;
}

#include "analysis/att/parts.h"

#include "base/err.h"

#include <stdlib.h>
#include <string.h>

/* realtime.json: {"SE0": [[shader clock, real-time clock] ...], "metadata": {"frequency": Hz}} */

static bool read_pair(const json_t *list, size_t index, int64_t *gfx, int64_t *real)
{
    const json_t *pair = json_array_get(list, index);

    return rp_att_number(json_array_get(pair, 0), gfx) &&
           rp_att_number(json_array_get(pair, 1), real);
}

static int compare_clocks(const void *a, const void *b)
{
    const struct rp_att_clock *l = a, *r = b;

    return l->shader_engine < r->shader_engine ? -1 : l->shader_engine > r->shader_engine;
}

static int add_clock(const json_t *list, uint32_t engine, double hz, struct rp_thread_trace *trace,
                     struct rp_err *err)
{
    int64_t gfx[2], real[2];
    size_t count = json_array_size(list);
    struct rp_att_clock *grown;

    if (count < 2) /* one point in time tells no speed */
        return 0;
    if (!read_pair(list, 0, &gfx[0], &real[0]) || !read_pair(list, count - 1, &gfx[1], &real[1]) ||
        gfx[1] <= gfx[0] || real[1] <= real[0])
        return rp_fail(err, RP_BAD_INPUT, "clocks of SE%u do not advance", engine);
    grown = realloc(trace->clocks, (trace->clock_count + 1) * sizeof *grown);
    if (!grown)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    trace->clocks = grown;
    grown[trace->clock_count++] = (struct rp_att_clock){
        .shader_engine = engine,
        .mhz = (double)(gfx[1] - gfx[0]) / ((double)(real[1] - real[0]) / hz) / 1e6};
    return 0;
}

int rp_att_read_clocks(const json_t *root, struct rp_thread_trace *trace, struct rp_err *err)
{
    int64_t hz;
    const char *key;
    json_t *list;
    int rc = 0;

    if (!rp_att_number(json_object_get(json_object_get(root, "metadata"), "frequency"), &hz) ||
        hz == 0)
        return rp_fail(err, RP_BAD_INPUT, "the frequency of its real-time clock is missing");
    json_object_foreach((json_t *)(uintptr_t)root, key, list)
    {
        char *end;
        unsigned long engine;

        if (strncmp(key, "SE", 2) != 0)
            continue;
        engine = strtoul(key + 2, &end, 10);
        if (end == key + 2 || *end || engine > 1023)
            continue;
        rc = add_clock(list, (uint32_t)engine, (double)hz, trace, err);
        if (rc < 0)
            break;
    }
    if (trace->clock_count)
        qsort(trace->clocks, trace->clock_count, sizeof *trace->clocks, compare_clocks);
    return rc;
}

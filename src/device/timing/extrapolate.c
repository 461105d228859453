#include "extrapolate.h"

#include <math.h>
#include <stdlib.h>

/* ---- time ---------------------------------------------------------------------------------- */

/* Instructions of a wave on average: of all that are not replayed, over those that are. */
static double longer(const struct rp_record *r)
{
    double insts = 0, waves = 0;
    for (uint64_t g = 0; g < r->plan.count; g++) {
        waves += r->group[g].wave_count;
        for (uint32_t w = 0; w < r->group[g].wave_count; w++)
            insts += (double)r->group[g].wave[w].insts;
    }
    const double other_waves = (double)r->total_waves - waves;
    const double other_insts = (double)r->total_insts - insts;
    if (insts <= 0 || other_waves <= 0 || other_insts <= 0)
        return 1;
    return other_insts / other_waves / (insts / waves);
}

double rp_extrapolate(const struct rp_record *r, const struct rp_completions *done, uint64_t end,
                      uint64_t resident, double *ret_error)
{
    const uint64_t of_die = (r->plan.group_count + r->plan.stride - 1) / r->plan.stride;
    *ret_error = 0;
    if (of_die <= done->count || !done->count)
        return (double)end;
    /* From the end of the first fill to where there is nothing left to start. */
    uint64_t from = resident - 1, to = done->count - resident - 1;
    if (done->count < 3 * resident) {
        from = done->count / 4;
        to = done->count - 1 - done->count / 4;
    }
    if (to <= from) {
        *ret_error = 1;
        return (double)end * (double)of_die / (double)done->count;
    }
    const uint64_t middle = from + (to - from) / 2;
    const double first = (double)(done->clock[middle] - done->clock[from]) /
                         (double)(middle - from + (middle == from));
    const double second = (double)(done->clock[to] - done->clock[middle]) / (double)(to - middle);
    const double each = (double)(done->clock[to] - done->clock[from]) / (double)(to - from);
    const double more = each * longer(r) * (double)(of_die - done->count);
    const double clocks = (double)end + more;
    if (first + second > 0 && clocks > 0)
        *ret_error = fabs(first - second) / (first + second) * more / clocks;
    return clocks;
}

/* ---- sharing ------------------------------------------------------------------------------- */

struct set {
    uint64_t *line; /* number + 1; 0 = free */
    uint64_t size, count;
};

static uint64_t *place(const struct set *s, uint64_t line)
{
    uint64_t i = (line * 0x9e3779b97f4a7c15u >> 20) & (s->size - 1);
    while (s->line[i] && s->line[i] != line + 1)
        i = (i + 1) & (s->size - 1);
    return &s->line[i];
}

static bool add(struct set *s, uint64_t line)
{
    if (2 * s->count >= s->size) {
        struct set larger = {.size = s->size ? 2 * s->size : 4096};
        larger.line = calloc(larger.size, sizeof *larger.line);
        if (!larger.line)
            return false;
        for (uint64_t i = 0; i < s->size; i++)
            if (s->line[i])
                *place(&larger, s->line[i] - 1) = s->line[i];
        larger.count = s->count;
        free(s->line);
        *s = larger;
    }
    uint64_t *at = place(s, line);
    s->count += !*at;
    *at = line + 1;
    return true;
}

static bool is_private(const struct rp_rec_line *line)
{
    return line->number >= RP_REC_PRIVATE_VA / RP_REC_LINE_BYTES;
}

static bool add_group(struct set *s, const struct rp_rec_group *g)
{
    for (uint32_t w = 0; w < g->wave_count; w++)
        for (uint32_t i = 0; i < g->wave[w].line_count; i++)
            if (!is_private(&g->wave[w].line[i]) && !add(s, g->wave[w].line[i].number))
                return false;
    return true;
}

double rp_shared_lines(const struct rp_record *r)
{
    struct set mains = {0}, probes = {0};
    uint64_t shared = 0;
    bool complete = r->plan.probes > 0;
    for (uint64_t g = 0; g < r->plan.count && complete; g++)
        complete = add_group(&mains, &r->group[g]);
    for (uint64_t g = 0; g < r->plan.probes && complete; g++)
        complete = add_group(&probes, &r->group[r->plan.count + g]);
    for (uint64_t i = 0; i < probes.size && complete && mains.size; i++)
        shared += probes.line[i] && *place(&mains, probes.line[i] - 1);
    const double share = complete && probes.count ? (double)shared / (double)probes.count : 0;
    free(mains.line);
    free(probes.line);
    return share;
}

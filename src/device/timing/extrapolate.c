#include "extrapolate.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* ---- time ---------------------------------------------------------------------------------- */

/* Instructions of a wave on average: of all that are not replayed, over those that are. */
static double longer(const struct rp_wave_record *r)
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

double rp_extrapolate(const struct rp_wave_record *r, const struct rp_completions *done,
                      uint64_t end, uint64_t resident, double *ret_error)
{
    const uint64_t of_die = (r->plan.group_count + r->plan.stride - 1) / r->plan.stride;
    *ret_error = 0;
    if (r->plan.stride > 1 && of_die <= r->plan.count) { /* the slowest die ends the dispatch */
        const double more = longer(r);
        *ret_error = fabs(more - 1);
        return (double)end * (more > 1 ? more : 1);
    }
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

/*
 * When a line is touched, roughly: how many times a die has been filled before the workgroup, and
 * how far its wave is, of 2^MOMENT_BITS. Two moments are about the same within SAME of it.
 */
enum { MOMENT_BITS = 14, MOST_FILLS = 3, SAME = (1 << MOMENT_BITS) / 20, PAGE_LINES = 32 };

struct set {
    struct entry {
        uint64_t line; /* number + 1; 0 = free */
        uint64_t moment;
    } * at;
    uint64_t size, count;
};

/* Lines of a page lie side by side: neighbours are mostly touched soon. */
static struct entry *place(const struct set *s, uint64_t line)
{
    uint64_t i =
        ((line / PAGE_LINES * 0x9e3779b97f4a7c15u >> 20) + line % PAGE_LINES) & (s->size - 1);
    while (s->at[i].line && s->at[i].line != line + 1)
        i = (i + 1) & (s->size - 1);
    return &s->at[i];
}

/* Room for so many lines. */
static bool init_set(struct set *s, uint64_t lines)
{
    s->size = 16;
    while (s->size < 2 * lines)
        s->size *= 2;
    s->at = calloc(s->size, sizeof *s->at);
    return s->at;
}

static void add(struct set *s, uint64_t line, uint64_t moment)
{
    struct entry *e = place(s, line);
    if (!e->line)
        s->count++;
    if (!e->line || moment < e->moment)
        *e = (struct entry){.line = line + 1, .moment = moment};
}

/* Of probes more may have been kept: of all, no more than of main ones. */
static void add_wave(struct set *s, const struct rp_rec_wave *w, uint64_t fills, uint32_t limit)
{
    for (uint32_t i = 0; i < w->access_count && w->access[i].step < limit; i++) {
        const struct rp_rec_access *a = &w->access[i];
        const uint64_t moment =
            (fills << MOMENT_BITS) + ((uint64_t)a->step << MOMENT_BITS) / w->insts;
        for (uint32_t k = 0; k < a->line_count; k++) {
            const uint64_t line = w->line[a->first_line + k].number;
            if (line < RP_REC_PRIVATE_VA / RP_REC_LINE_BYTES)
                add(s, line, moment);
        }
    }
}

/* @p every  how many of its die's workgroups lie between two of these */
static bool add_groups(struct set *s, const struct rp_rec_group *g, uint64_t count, uint64_t every,
                       uint64_t resident, uint32_t limit)
{
    uint64_t lines = 0;
    for (uint64_t i = 0; i < count; i++)
        for (uint32_t w = 0; w < g[i].wave_count; w++)
            lines += g[i].wave[w].line_count;
    if (!init_set(s, lines))
        return false;
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t fills = i * every / resident;
        for (uint32_t w = 0; w < g[i].wave_count; w++)
            add_wave(s, &g[i].wave[w], fills < MOST_FILLS ? fills : MOST_FILLS, limit);
    }
    return true;
}

static struct rp_sharing compare(const struct set *mains, const struct set *probes)
{
    uint64_t shared = 0, together = 0;
    for (uint64_t i = 0; i < probes->size; i++) {
        if (!probes->at[i].line)
            continue;
        const struct entry *e = place(mains, probes->at[i].line - 1);
        const uint64_t a = e->moment, b = probes->at[i].moment;
        shared += e->line != 0;
        together += e->line && (a < b ? b - a : a - b) <= SAME;
    }
    return (struct rp_sharing){
        .lines = mains->count,
        .share = probes->count ? (double)shared / (double)probes->count : 0,
        .together = shared ? (double)together / (double)shared : 0,
    };
}

int rp_sharing_of(const struct rp_wave_record *r, uint64_t resident, struct rp_sharing *ret)
{
    struct set mains = {0}, probes = {0};
    *ret = (struct rp_sharing){0};
    if (!r->plan.probes)
        return 0;
    const bool fits =
        add_groups(&mains, r->group, r->plan.count, 1, resident, r->plan.steps_limit) &&
        add_groups(&probes, r->group + r->plan.count, r->plan.probes, r->plan.probe_every, resident,
                   r->plan.steps_limit);
    if (fits)
        *ret = compare(&mains, &probes);
    free(mains.at);
    free(probes.at);
    return fits ? 0 : -ENOMEM;
}

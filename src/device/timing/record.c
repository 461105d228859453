/* Which workgroups are recorded, and the memory of what is. */
#include "record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"

/*
 * Bounds of what a dispatch's record takes: all its waves up to ALL_WAVES, for timing TIMED_WAVES
 * (dies differ little: tests/unit/timing/test_waits.c), else FILLS times what one die holds (some
 * start while others end, as in the middle of a long kernel). With two fills streams are up to 58 %
 * too fast (bench/model-accuracy), and copies 13 % in test_waits.c, because what is measured is the
 * first and the last; with three errors are about those of four, some larger, some smaller. 32
 * probes and 64 lead to times that are within 0.6 %. With STEPS instructions in all, of 4
 * bytes and in memory-bound code as much again for accesses and lines, a record stays below about
 * 200 MB; that of a usual kernel is a few MB.
 */
enum {
    ALL_WAVES = 4096,
    TIMED_WAVES = 1024,
    FILLS = 4,
    STEPS = 1 << 24,
    PROBE_EVERY = 16,
    PROBES = 32
};

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static struct rp_rec_plan plan_of(const struct rp_arch *arch, uint64_t group_count,
                                  uint32_t waves_per_group, uint32_t groups_per_cu,
                                  uint32_t all_waves)
{
    const uint64_t dies = arch->xcc_count ? arch->xcc_count : 1;
    struct rp_rec_plan p = {.group_count = group_count, .stride = 1, .count = group_count};
    if (!group_count || !waves_per_group)
        return p;
    if (group_count > all_waves / waves_per_group) {
        const uint64_t of_die = (group_count + dies - 1) / dies; /* of the first */
        p.count = FILLS * (uint64_t)groups_per_cu * (arch->compute_units / dies);
        p.count = least(p.count, of_die);
        if (!p.count)
            p.count = 1;
        p.stride = dies;
        p.first = (of_die - p.count) / 2 * dies;
        if (dies > 1 && p.count >= PROBE_EVERY) {
            /* every second or fourth of few: fewer than PROBES tell little */
            p.probe_every = PROBE_EVERY;
            while (p.probe_every > 2 && p.count / p.probe_every < PROBES)
                p.probe_every /= 2;
            p.probes = p.count / p.probe_every;
        }
    }
    const uint64_t waves = (p.count + p.probes) * waves_per_group;
    p.steps_limit = (uint32_t)(STEPS / waves);
    if (!p.steps_limit)
        p.steps_limit = 1;
    return p;
}

struct rp_rec_plan rp_rec_plan_of(const struct rp_arch *arch, uint64_t group_count,
                                  uint32_t waves_per_group, uint32_t groups_per_cu)
{
    return plan_of(arch, group_count, waves_per_group, groups_per_cu, ALL_WAVES);
}

struct rp_rec_plan rp_rec_timing_plan_of(const struct rp_arch *arch, uint64_t group_count,
                                         uint32_t waves_per_group, uint32_t groups_per_cu)
{
    return plan_of(arch, group_count, waves_per_group, groups_per_cu, TIMED_WAVES);
}

/* The probe behind main one number probe * probe_every is on each of the other dies in turn. */
static uint64_t probe_id(const struct rp_rec_plan *p, uint64_t probe)
{
    return p->first + probe * p->probe_every * p->stride + 1 + probe % (p->stride - 1);
}

int64_t rp_rec_index(const struct rp_rec_plan *p, uint64_t linear_id)
{
    if (linear_id < p->first)
        return -1;
    const uint64_t index = (linear_id - p->first) / p->stride;
    if (index >= p->count)
        return -1;
    if ((linear_id - p->first) % p->stride == 0)
        return (int64_t)index;
    if (!p->probe_every || index % p->probe_every)
        return -1;
    const uint64_t probe = index / p->probe_every;
    return probe < p->probes && probe_id(p, probe) == linear_id ? (int64_t)(p->count + probe) : -1;
}

uint64_t rp_rec_linear_id(const struct rp_rec_plan *p, uint64_t index)
{
    return index < p->count ? p->first + index * p->stride : probe_id(p, index - p->count);
}

struct rp_wave_record *rp_record_new(const struct rp_rec_plan *plan,
                                     const struct rp_rec_shape *shape)
{
    struct rp_wave_record *r = calloc(1, sizeof *r);
    const uint64_t groups = plan->count + plan->probes;
    if (!r)
        return NULL;
    r->plan = *plan;
    r->shape = *shape;
    r->group = calloc(groups ? groups : 1, sizeof *r->group);
    if (!r->group) {
        free(r);
        return NULL;
    }
    for (uint64_t i = 0; i < groups; i++)
        r->group[i].linear_id = rp_rec_linear_id(plan, i);
    return r;
}

static void free_group(struct rp_rec_group *g)
{
    for (uint32_t i = 0; g->wave && i < g->wave_count; i++) {
        if (!g->wave[i].same_step)
            free(g->wave[i].step);
        free(g->wave[i].access);
        free(g->wave[i].line);
    }
    free(g->wave);
}

void rp_record_free(struct rp_wave_record *r)
{
    if (!r)
        return;
    for (uint64_t i = 0; i < r->plan.count + r->plan.probes; i++)
        free_group(&r->group[i]);
    free(r->group);
    free(r->code);
    free(r);
}

int rp_record_status(const struct rp_wave_record *r)
{
    for (uint64_t i = 0; i < r->plan.count + r->plan.probes; i++) {
        const struct rp_rec_group *g = &r->group[i];
        if (g->lost)
            return -ENOMEM;
        for (uint32_t w = 0; w < g->wave_count; w++)
            if (g->wave[w].lost)
                return -ENOMEM;
    }
    return 0;
}

bool rp_rec_begin(struct rp_rec_group *g, uint32_t waves, uint32_t steps_limit)
{
    g->wave = calloc(waves ? waves : 1, sizeof *g->wave);
    g->wave_count = g->wave ? waves : 0;
    g->lost = !g->wave;
    for (uint32_t i = 0; i < g->wave_count; i++)
        g->wave[i] = (struct rp_rec_wave){.limit = steps_limit, .full = true};
    return g->wave;
}

enum { FIRST_ROOM = 16 };

static bool has_room(const void *at, uint32_t room, uint32_t count, uint32_t more)
{
    return at && more <= room - count;
}

/* The array at @p at with room for @p more elements behind @p count, or NULL: it is as it was. */
static void *reserve(void *at, uint32_t *room, uint32_t count, uint32_t more, size_t size)
{
    uint64_t wanted = *room ? 2ull * *room : FIRST_ROOM;
    if (wanted < (uint64_t)count + more)
        wanted = (uint64_t)count + more;
    void *grown = wanted <= UINT32_MAX ? realloc(at, wanted * size) : NULL;
    if (grown)
        *room = (uint32_t)wanted;
    return grown;
}

bool rp_rec_grow(struct rp_rec_wave *w, uint32_t steps, uint32_t accesses, uint32_t lines)
{
    if (!has_room(w->step, w->step_room, w->step_count, steps)) {
        void *step = reserve(w->step, &w->step_room, w->step_count, steps, sizeof *w->step);
        if (!step)
            return false;
        w->step = step;
    }
    if (!has_room(w->access, w->access_room, w->access_count, accesses)) {
        void *access =
            reserve(w->access, &w->access_room, w->access_count, accesses, sizeof *w->access);
        if (!access)
            return false;
        w->access = access;
    }
    if (!has_room(w->line, w->line_room, w->line_count, lines)) {
        void *line = reserve(w->line, &w->line_room, w->line_count, lines, sizeof *w->line);
        if (!line)
            return false;
        w->line = line;
    }
    return true;
}

void rp_rec_keep(struct rp_rec_wave *w, uint32_t steps)
{
    if (w->step_count > steps)
        w->step_count = steps;
    while (w->access_count && w->access[w->access_count - 1].step >= w->step_count)
        w->line_count = w->access[--w->access_count].first_line;
}

void rp_rec_cut(struct rp_rec_wave *w, uint64_t insts)
{
    w->insts -= insts < w->insts ? insts : w->insts;
    if (w->step_count > w->insts)
        w->step_count = (uint32_t)w->insts;
    while (w->access_count && w->access[w->access_count - 1].step >= w->insts)
        w->line_count = w->access[--w->access_count].first_line;
}

#include "group_clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../timing/cu.h"
#include "../timing/live.h"
#include "arch/arch.h"
#include "dispatch.h"
#include "resolve.h"

struct rp_group_clock {
    struct rp_live *live; /* NULL: it cannot be told any more */
    struct rp_resolver resolver;
    uint32_t *step; /* resolved, for the replay */
    uint32_t step_room;
    uint64_t added; /* instructions of all waves that the replay has been given */
    struct clock_wave {
        uint32_t steps, accesses; /* of its record, that the replay has been given */
        bool ahead;               /* one more: the instruction that it will try again */
        uint64_t added;           /* rp_group_clock.added when it tried last */
    } wave[RP_CU_GROUP_WAVES];
};

/* Dies get workgroups in turn, and launch them one after another; the machine has room for the
 * first of them at once. */
static uint64_t launch_clock(const struct rp_group *g)
{
    const struct rp_dispatch *d = g->dispatch;
    const uint32_t dies = d->arch->xcc_count ? d->arch->xcc_count : 1;
    const uint64_t waves = d->kernel.waves_per_group;
    if (g->linear_id >= d->kernel.resident_groups)
        return g->start_cycles;
    return (g->linear_id / dies * waves + g->wave_count) * RP_CU_LAUNCH_CLOCKS;
}

static struct rp_group_clock *clock_new(const struct rp_group *g)
{
    const struct rp_dispatch *d = g->dispatch;
    struct rp_group_clock *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->live = rp_live_new(d->arch, g->wave_count, d->kernel.entry_va, launch_clock(g));
    if (c->live && rp_resolver_init(&c->resolver, rp_live_record(c->live), d->kernel.entry_va) == 0)
        return c;
    rp_resolver_release(&c->resolver);
    rp_live_free(c->live);
    free(c);
    return NULL;
}

/* From here on the waves' clocks go on as with fast timing. */
static void give_up(struct rp_group_clock *c)
{
    rp_resolver_release(&c->resolver);
    rp_live_free(c->live);
    free(c->step);
    c->live = NULL;
    c->step = NULL;
}

void rp_group_clock_end(struct rp_group *g)
{
    if (!g->clock)
        return;
    give_up(g->clock);
    free(g->clock);
    g->clock = NULL;
}

/* ---- what has been executed ---------------------------------------------------------------- */

/* Instructions of a record to be added, resolved. 0, -ENOMEM, or -ENOENT: the code is gone. */
static int resolve(struct rp_group_clock *c, struct rp_mem *mem, const struct rp_rec_wave *rec,
                   uint32_t first, uint32_t count)
{
    uint32_t resolved = 0;
    if (count > c->step_room) {
        uint32_t *step = realloc(c->step, count * sizeof *step);
        if (!step)
            return -ENOMEM;
        c->step = step;
        c->step_room = count;
    }
    memcpy(c->step, rec->step + first, count * sizeof *c->step);
    const int status = rp_resolve(&c->resolver, mem, c->step, count, &resolved);
    if (!status && resolved < count)
        return -ENOENT;
    return status;
}

/* What a wave has executed since it was looked at. As resolve. */
static int add_wave(struct rp_group_clock *c, struct rp_mem *mem, uint32_t number,
                    const struct rp_rec_wave *rec)
{
    struct clock_wave *w = &c->wave[number];
    const uint32_t steps = rec->step_count + w->ahead, accesses = rec->access_count + w->ahead;
    if (rec->closed)
        return rec->lost ? -ENOMEM : -ENOENT;
    if (steps <= w->steps) { /* fewer: turns of a loop that waits have been taken back */
        w->steps = steps;
        w->accesses = accesses < w->accesses ? accesses : w->accesses;
        return 0;
    }
    const uint32_t count = steps - w->steps;
    int status = resolve(c, mem, rec, w->steps, count);
    if (!status)
        status = rp_live_add(c->live, number, rec, w->steps, c->step, count, w->accesses);
    w->steps = steps;
    w->accesses = accesses;
    c->added += count;
    return status;
}

static int add_group(struct rp_group_clock *c, const struct rp_group *g)
{
    int status = 0;
    for (uint32_t i = 0; i < g->wave_count && !status; i++)
        status = add_wave(c, &g->hand->mem, i, g->waves[i].record);
    return status;
}

/* ---- reading ------------------------------------------------------------------------------- */

int rp_group_clock_read(struct rp_wave *w, bool *ret_told)
{
    struct rp_group *g = w->group;
    struct rp_group_clock *c = g->clock ? g->clock : clock_new(g);
    uint64_t clock;
    g->clock = c;
    if (!c) {
        w->record->closed = w->record->full = w->record->lost = true;
        return RP_STEP_NEXT;
    }
    if (!c->live)
        return RP_STEP_NEXT;
    struct clock_wave *mine = &c->wave[w->id_in_group];
    const bool again = mine->ahead;
    mine->ahead = false;
    const int status = add_group(c, g);
    /* Others that have done nothing since wait for something: for this one, perhaps. */
    const bool alone = again && c->added == mine->added;
    if (status == -ENOMEM)
        w->record->closed = w->record->full = w->record->lost = true;
    switch (status ? RP_LIVE_NEVER : rp_live_issued(c->live, w->id_in_group, alone, &clock)) {
    case RP_LIVE_KNOWN:
        w->clock_lead = (int64_t)(clock - g->start_cycles - w->cycles);
        *ret_told = true;
        return RP_STEP_NEXT;
    case RP_LIVE_WAITS:
        mine->ahead = true;
        mine->added = c->added;
        return RP_STEP_LATER;
    default:
        give_up(c);
        return RP_STEP_NEXT;
    }
}

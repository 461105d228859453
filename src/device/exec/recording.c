#include "recording.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../timing/cache.h"
#include "../timing/mode.h"
#include "../timing/model.h"
#include "arch/arch.h"
#include "kernel.h"
#include "resolve.h"
#include "threads.h"

struct rp_wave_record *rp_recording_new(const struct rp_arch *arch, const struct rp_kernel *k)
{
    const struct rp_rec_shape shape = {
        .waves_per_group = k->waves_per_group,
        .groups_per_cu = k->groups_per_cu,
        .lds_bytes = k->lds_bytes,
        .vgprs = k->vgpr_rows,
        .limits = k->limits,
    };
    const struct rp_rec_plan plan =
        rp_rec_timing_plan_of(arch, k->group_count, shape.waves_per_group, shape.groups_per_cu);
    struct rp_wave_record *r = rp_record_new(&plan, &shape);
    if (r) {
        r->keeps_steps = rp_timing_mode_for(arch) == RP_TIMING_DETAILED;
        r->keeps_accesses = rp_code_observes();
    }
    return r;
}

/* The plan's limit is in instructions of 4 bytes and as much again for accesses and lines, which
 * alone may take more; of scattered accesses, with a line for each lane, far fewer fit. */
enum { BYTES_PER_STEP = 12 };

void rp_recording_begin(struct rp_wave_record *r, struct rp_group *g)
{
    const int64_t index = rp_rec_index(&r->plan, g->linear_id);
    if (index < 0)
        return;
    struct rp_rec_group *group = &r->group[index];
    const bool is_probe = (uint64_t)index >= r->plan.count;
    const bool keeps_steps = r->keeps_steps && !is_probe;
    if (is_probe && !r->keeps_steps) /* counters are of the others */
        return;
    if (!rp_rec_begin(group, g->wave_count, keeps_steps ? r->plan.steps_limit : 0))
        return;
    for (uint32_t i = 0; i < g->wave_count; i++) {
        group->wave[i].most_bytes = BYTES_PER_STEP * (uint64_t)r->plan.steps_limit;
        group->wave[i].closed = !keeps_steps;
        group->wave[i].full = !r->keeps_accesses && !is_probe;
        group->wave[i].lines_only = is_probe;
        g->waves[i].record = &group->wave[i];
    }
}

/* ---- waves that do the same ---- */

enum { WAYS = 16 }; /* that are told apart: more than usual kernels have */

struct ways {
    struct way {
        const struct rp_rec_wave *wave;
        uint32_t *step, count; /* as recorded */
    } way[WAYS];
    uint32_t count;
};

/* Waves of a kernel mostly go the same way: then they share its steps, so that the replay reads few
 * streams and not one for each wave. Returns whether this one does. */
static bool share_way(const struct ways *ways, struct rp_rec_wave *w)
{
    for (uint32_t i = ways->count; i-- > 0;) {
        const struct way *way = &ways->way[i];
        if (way->count != w->step_count ||
            memcmp(way->step, w->step, way->count * sizeof *way->step))
            continue;
        free(w->step);
        w->step = way->wave->step;
        w->step_room = 0;
        w->same_step = true;
        return true;
    }
    return false;
}

/* The wave's steps before they are resolved; NULL: nobody is compared with it. */
static uint32_t *copy_way(const struct ways *ways, const struct rp_rec_wave *w)
{
    const size_t bytes = w->step_count * sizeof *w->step;
    uint32_t *copy = ways->count < WAYS && bytes ? malloc(bytes) : NULL;
    return copy ? memcpy(copy, w->step, bytes) : NULL;
}

/* ---- resolving ----------------------------------------------------------------------------- */

/* The wave's steps, or those that it shares with another. */
static int resolve_way(struct rp_resolver *m, struct rp_mem *mem, struct ways *ways,
                       struct rp_rec_wave *w)
{
    const uint32_t count = w->step_count;
    uint32_t resolved = 0;
    if (share_way(ways, w))
        return 0;
    uint32_t *copy = copy_way(ways, w);
    const int status = rp_resolve(m, mem, w->step, count, &resolved);
    if (!status && resolved < count) /* nothing after it can be replayed */
        rp_rec_keep(w, resolved);
    if (copy && !status && resolved == count)
        ways->way[ways->count++] = (struct way){w, copy, count};
    else
        free(copy);
    return status;
}

int rp_recording_resolve(struct rp_dispatch *d)
{
    struct rp_wave_record *r = d->record;
    struct rp_resolver m;
    struct ways ways = {.count = 0};
    const uint64_t groups = r->plan.count + r->plan.probes;
    int status = rp_resolver_init(&m, r, d->kernel.entry_va);
    for (uint64_t g = 0; g < groups && status == 0; g++)
        for (uint32_t w = 0; w < r->group[g].wave_count && status == 0; w++)
            status = resolve_way(&m, &d->hands[0]->mem, &ways, &r->group[g].wave[w]);
    for (uint32_t i = 0; i < ways.count; i++)
        free(ways.way[i].step);
    rp_resolver_release(&m);
    return status;
}

int rp_dispatch_replay(struct rp_dispatch *d, const struct rp_arch *arch,
                       const struct rp_engine_watch *watch, struct rp_timing_stats *ret)
{
    if (!d->record || !d->record->keeps_steps || d->state != RP_RUN_DONE)
        return -ENODATA;
    d->record->total_waves = d->counts.waves;
    d->record->total_insts = d->counts.wave_insts;
    int status = 0;
    if (!d->record->code) {
        status = rp_record_status(d->record);
        if (!status)
            status = rp_recording_resolve(d);
        if (!status)
            status = rp_record_place(d->record);
        if (status) { /* half of it is resolved: nobody may replay that */
            rp_record_free(d->record);
            d->record = NULL;
        }
    }
    return status ? status : rp_engine_run(arch, d->record, watch, ret);
}

/* ---- counters ------------------------------------------------------------------------------ */

/* What comes to the caches, in the order in which the modelled machine issues it. */
struct counting {
    const struct rp_wave_record *record;
    struct rp_caches *caches;
    uint32_t cus_per_die;
    uint32_t *next; /* access of each wave */
    struct rp_wave_meter meter;
    bool failed;
};

static void issued(void *ctx, const struct rp_wave_place *where, uint32_t step,
                   const struct rp_issue_times *times)
{
    struct counting *c = ctx;
    const struct rp_rec_wave *w = &c->record->group[where->group].wave[where->wave];
    uint32_t *next = &c->next[where->group * c->record->shape.waves_per_group + where->wave];

    const uint32_t cu = where->xcc * c->cus_per_die + where->cu;
    const struct rp_rec_code *code = &c->record->code[w->step[step]];
    bool memory = false, past_l1 = false;

    if (*next < w->access_count && w->access[*next].step == step) {
        const struct rp_rec_access *a = &w->access[(*next)++];
        const int beyond = rp_caches_access(c->caches, cu, w, a);
        c->failed |= beyond < 0;
        past_l1 = beyond > 0;
        memory = code->unit == RP_REC_VMEM && a->line_count;
    }
    rp_wave_meter_issued(&c->meter, where, cu, code, times, memory, past_l1);
}

static void wave_ended(void *ctx, const struct rp_wave_place *where, uint64_t clock)
{
    (void)where;
    rp_wave_meter_ended(&((struct counting *)ctx)->meter, clock);
}

/* A replay that counts, too: without memory for that it goes on, and nothing is known. */
static int replay_counting(struct rp_dispatch *d, const struct rp_arch *arch,
                           struct rp_timing_stats *ret)
{
    const struct rp_cache_shape shape = rp_cache_shape_of(arch);
    const struct rp_wave_record *r = d->record;
    struct counting c = {
        .record = r, .caches = rp_caches_new(&shape), .cus_per_die = shape.cus_per_die};
    const struct rp_engine_watch watch = {.ctx = &c, .issued = issued, .wave_ends = wave_ended};

    c.next = calloc(r->plan.count * r->shape.waves_per_group + 1, sizeof *c.next);
    d->cache_result = malloc(sizeof *d->cache_result);
    c.failed = rp_wave_meter_init(&c.meter, r, shape.dies * shape.cus_per_die) < 0 || !c.caches ||
               !c.next || !d->cache_result;
    const int status = rp_dispatch_replay(d, arch, c.failed ? NULL : &watch, ret);
    if (c.failed || status < 0) {
        rp_caches_free(c.caches);
        free(d->cache_result);
        d->cache_result = NULL;
    } else {
        rp_caches_end(c.caches, d->cache_result);
        d->wave_sums = rp_wave_meter_end(&c.meter, arch, d->record);
    }
    rp_wave_meter_release(&c.meter);
    free(c.next);
    return status;
}

/* A replay that is traced, if anybody wants that. */
static int replay_traced(struct rp_dispatch *d, const struct rp_arch *arch,
                         struct rp_timing_stats *ret)
{
    const int status = rp_dispatch_replay(d, arch, rp_thread_watch_begin(d->threads, d), ret);

    rp_thread_watch_end(d->threads, status);
    return status;
}

/* The kernel has run, but how long it would take depends on nothing that the host has. */
static int no_memory(struct rp_dispatch *d)
{
    d->state = RP_RUN_FAULT;
    d->fault = (struct rp_fault){
        .kind = RP_FAULT_NO_MEMORY,
        .pc = d->kernel.entry_va,
        .lane = -1,
        .text = "detailed timing cannot tell how long it takes: allow the process more, or use "
                "--timing fast",
    };
    return -ENOMEM;
}

int rp_dispatch_ticks(struct rp_dispatch *d, const struct rp_arch *arch, uint64_t *ret_ticks)
{
    const bool counts = d->record && rp_code_observes() && d->state == RP_RUN_DONE;
    struct rp_timing_stats stats;
    free(d->stats);
    free(d->cache_result);
    d->stats = NULL;
    d->cache_result = NULL;
    *ret_ticks = 1;
    if (rp_timing_mode() == RP_TIMING_OFF)
        return 0;
    const int status = counts ? replay_counting(d, arch, &stats) : replay_traced(d, arch, &stats);
    if (status == -ENODATA) {
        *ret_ticks = rp_timing_dispatch_ticks(arch, &d->counts);
        return 0;
    }
    if (status < 0 || !(d->stats = malloc(sizeof *d->stats)))
        return no_memory(d);
    *d->stats = stats;
    *ret_ticks = rp_timing_replay_ticks(arch, &d->counts, &stats);
    return 0;
}

bool rp_dispatch_replayed(const struct rp_dispatch *d, uint64_t *ret_waves, double *ret_error_share)
{
    if (!d->stats)
        return false;
    *ret_waves = d->stats->waves;
    *ret_error_share = d->stats->error_share;
    return true;
}

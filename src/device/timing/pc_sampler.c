#include "device/timing/pc_sampler.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "arch/arch.h"
#include "device/exec/exec_settings.h"
#include "device/exec/executor.h"
#include "device/exec/kernel_launch.h"
#include "device/timing/dispatch_timing.h"
#include "device/timing/timing_engine.h"
#include "device/timing/wave_record.h"

enum {
    SIMDS = 4,
    SLOTS = 32, /**< of a compute unit of the simulation */
};

/* Of a dispatch: 192 MB. */
#ifndef MOST_SAMPLES
#define MOST_SAMPLES (1 << 22)
#endif

/** A wave that runs. */
struct open_wave {
    uint64_t since; /**< it came to the step then */
    uint32_t step;
    uint8_t slot; /**< in its SIMD */
};

struct sampler {
    const struct rp_dispatch *d;
    const struct rp_wave_record *record;
    struct rp_pc_sampler_times times;
    uint64_t start_ticks, engine_mhz, tick_mhz;
    uint32_t cus_per_die, engines_per_die, slots_per_simd;
    struct open_wave *open; /**< by wave slot of the machine */
    uint32_t *slots;        /**< by SIMD of the machine: slots in use, a bit each */
    struct rp_pc_sample *sample;
    size_t count, room;
    uint64_t lost; /**< for which there was no room */
};

static uint32_t unit_index(const struct sampler *s, const struct rp_wave_placement *p)
{
    return p->xcc * s->cus_per_die + p->cu;
}

static struct open_wave *open_at(struct sampler *s, const struct rp_wave_placement *p)
{
    return &s->open[unit_index(s, p) * SLOTS + p->slot];
}

/* ---- samples ------------------------------------------------------------------------------ */

static void add(struct sampler *s, const struct rp_wave_placement *p, const struct open_wave *o,
                uint64_t ticks)
{
    const struct rp_rec_group *group = &s->record->group[p->group];
    const struct rp_rec_wave *w = &group->wave[p->wave];
    if (s->count == s->room) {
        const size_t room = s->room ? 2 * s->room : 1024;
        void *grown = room > MOST_SAMPLES ? NULL : realloc(s->sample, room * sizeof *s->sample);
        if (!grown) {
            s->lost++;
            return;
        }
        s->sample = grown;
        s->room = room;
    }
    struct rp_pc_sample *sample = &s->sample[s->count++];
    *sample = (struct rp_pc_sample){.ticks = ticks,
                                    .pc = s->record->code[w->step[o->step]].pc,
                                    .exec = rp_rec_mask_at(w, o->step),
                                    .wave = p->wave,
                                    .xcc = p->xcc,
                                    .engine = (uint16_t)(p->cu % s->engines_per_die),
                                    .cu = (uint16_t)(p->cu / s->engines_per_die),
                                    .simd = p->simd,
                                    .slot = o->slot};
    const struct rp_kernel *k = &s->d->kernel;
    rp_kernel_group_id(k,
                       rp_wave_order_group(s->d->settings.order, group->linear_id, k->group_count,
                                           k->resident_groups),
                       sample->group_id);
}

/* Returns the clock of the simulation at which a trap comes; the dispatch has begun by then. */
static uint64_t clock_of(const struct sampler *s, uint64_t ticks)
{
    return (ticks - s->start_ticks) * s->engine_mhz / s->tick_mhz;
}

/* Takes the samples of a wave from when it came to its step up to @p end. */
static void sample_up_to(struct sampler *s, const struct rp_wave_placement *p,
                         const struct open_wave *o, uint64_t end)
{
    const uint64_t turns = (uint64_t)SIMDS * s->slots_per_simd;
    const uint64_t turn = p->simd * (uint64_t)s->slots_per_simd + o->slot;
    const uint64_t interval = s->times.interval_ticks, epoch = s->times.epoch_ticks;
    const uint64_t first = s->start_ticks + o->since * s->tick_mhz / s->engine_mhz;
    const uint64_t wave_steps = s->record->group[p->group].wave[p->wave].step_count;
    uint64_t trap = first > epoch ? (first - epoch) / interval : 0;
    if (o->step >= wave_steps)
        return;
    trap += (turn + turns - trap % turns) % turns;
    for (;; trap += turns) {
        const uint64_t ticks = epoch + trap * interval;
        if (ticks < s->start_ticks || clock_of(s, ticks) < o->since)
            continue;
        if (clock_of(s, ticks) >= end)
            return;
        add(s, p, o, ticks);
    }
}

/* ---- the watch ---------------------------------------------------------------------------- */

static void wave_begins(void *ctx, const struct rp_wave_placement *p, uint64_t clock)
{
    struct sampler *s = ctx;
    uint32_t *used = &s->slots[unit_index(s, p) * SIMDS + p->simd];
    const uint32_t left = ~*used & ((1u << s->slots_per_simd) - 1);
    const uint8_t slot = left ? (uint8_t)__builtin_ctz(left) : (uint8_t)(s->slots_per_simd - 1);
    *used |= 1u << slot;
    *open_at(s, p) = (struct open_wave){.since = clock, .slot = slot};
}

static void issued(void *ctx, const struct rp_wave_placement *p, uint32_t step,
                   const struct rp_issue_times *times)
{
    struct sampler *s = ctx;
    struct open_wave *o = open_at(s, p);
    if (step == 0)
        return;
    sample_up_to(s, p, o, times->arrived);
    o->since = times->arrived;
    o->step = step;
}

static void wave_ends(void *ctx, const struct rp_wave_placement *p, uint64_t clock)
{
    struct sampler *s = ctx;
    const struct open_wave *o = open_at(s, p);
    const struct rp_rec_wave *w = &s->record->group[p->group].wave[p->wave];
    s->slots[unit_index(s, p) * SIMDS + p->simd] &= ~(1u << o->slot);
    if (w->insts <= w->step_count) /* What comes behind the record is not known. */
        sample_up_to(s, p, o, clock);
}

/* ---- all ---------------------------------------------------------------------------------- */

#define ORDER(a, b, member)                                                                        \
    if ((a)->member != (b)->member)                                                                \
    return (a)->member < (b)->member ? -1 : 1

static int compare(const void *left, const void *right)
{
    const struct rp_pc_sample *a = left, *b = right;
    ORDER(a, b, ticks);
    ORDER(a, b, xcc);
    ORDER(a, b, engine);
    ORDER(a, b, cu);
    return 0;
}

static int begin(struct sampler *s, const struct rp_arch *arch)
{
    const uint32_t dies = arch->xcc_count ? arch->xcc_count : 1;
    s->cus_per_die = arch->compute_units / dies ? arch->compute_units / dies : 1;
    s->engines_per_die = arch->shader_engines / dies ? arch->shader_engines / dies : 1;
    s->slots_per_simd = arch->max_waves_per_simd ? arch->max_waves_per_simd : 8;
    s->engine_mhz = arch->engine_clock_mhz;
    s->tick_mhz = arch->timestamp_mhz;
    s->open = calloc((size_t)dies * s->cus_per_die * SLOTS, sizeof *s->open);
    s->slots = calloc((size_t)dies * s->cus_per_die * SIMDS, sizeof *s->slots);
    return s->open && s->slots ? 0 : -ENOMEM;
}

int rp_dispatch_sample(struct rp_dispatch *d, const struct rp_arch *arch,
                       const struct rp_pc_sampler_times *times, uint64_t start_ticks,
                       struct rp_pc_sample **ret, size_t *ret_count, uint64_t *ret_lost)
{
    struct sampler s = {
        .d = d, .record = rp_dispatch_record(d), .times = *times, .start_ticks = start_ticks};
    const struct rp_engine_watch watch = {
        .ctx = &s, .wave_begins = wave_begins, .issued = issued, .wave_ends = wave_ends};
    int status = s.record ? begin(&s, arch) : -ENODATA;

    if (status == 0)
        status = rp_dispatch_watch(d, arch, &watch);
    if (status == 0 && s.lost && !s.count)
        status = -ENOMEM;
    free(s.open);
    free(s.slots);
    if (status < 0) {
        free(s.sample);
        return status;
    }
    if (s.count)
        qsort(s.sample, s.count, sizeof *s.sample, compare);
    *ret = s.sample;
    *ret_count = s.count;
    *ret_lost = s.lost;
    return 0;
}

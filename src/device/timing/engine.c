/*
 * The machine: workgroups are dealt out to dies and compute units (cu.c), which run ahead of each
 * other as far as they have nothing in common; what they share (hierarchy.c) happens in the order
 * of time.
 */
#include "engine.h"

#include <errno.h>
#include <stdlib.h>

#include "agenda.h"
#include "arch/arch.h"
#include "cu.h"
#include "extrapolate.h"

struct engine {
    struct rp_timing_simulation r;
    struct rp_agenda agenda;
    struct rp_cu *cu;
    struct rp_cu_wave *wave;   /* RP_CU_SLOTS for each CU */
    struct rp_cu_group *group; /* of each group in the record */
    struct engine_die {
        uint64_t next_group;  /* index of the first not started */
        uint64_t launch_free; /* when its dispatcher has time */
        uint64_t full_since;  /* when a workgroup began to wait for room; UINT64_MAX: none waits */
        uint32_t next_cu;
    } * die;
    struct rp_completions done;
    int status; /* 0, or -ENOMEM: it ends early */
};

/* ---- dispatchers --------------------------------------------------------------------------- */

/* Whether a CU has room for one more workgroup. */
static bool has_room(const struct engine *e, const struct rp_cu *cu, uint32_t waves)
{
    return cu->groups < e->r.rec->shape.groups_per_cu && cu->waves + waves <= RP_CU_SLOTS;
}

/* The die's next CU with room, or NULL. */
static struct rp_cu *find_room(struct engine *e, uint32_t die, uint32_t waves)
{
    struct rp_cu *cus = &e->cu[die * e->r.m.cus_per_die];
    for (uint32_t tries = 0; tries < e->r.m.cus_per_die; tries++) {
        const uint32_t cu = (e->die[die].next_cu + tries) % e->r.m.cus_per_die;
        if (has_room(e, &cus[cu], waves))
            return &cus[cu];
    }
    return NULL;
}

/*
 * Starts as many workgroups of a die as there is room for. Where one ends the machine is at its
 * compute unit's time, so the next one begins in time; another unit that has room has had it since
 * before, which can only be when workgroups have different numbers of waves (edges of grids): then
 * it may have run ahead, and the workgroup begins where it has run to. Each die has those of its
 * number, modulo dies; those that were lost are left out. @p running is not put into the agenda: it
 * is at work.
 */
static void fill(struct engine *e, uint32_t number, const struct rp_cu *running)
{
    struct engine_die *die = &e->die[number];
    for (; die->next_group < e->r.rec->plan.count; die->next_group += e->r.m.dies) {
        const uint32_t waves = e->r.rec->group[die->next_group].wave_count;
        if (!waves)
            continue;
        struct rp_cu *cu = find_room(e, number, waves);
        if (!cu) {
            if (die->full_since == UINT64_MAX) /* not before it could have been launched */
                die->full_since = die->launch_free > e->r.clock ? die->launch_free : e->r.clock;
            return;
        }
        if (die->full_since < e->r.clock)
            e->r.stats->no_room_clocks += e->r.clock - die->full_since;
        die->full_since = UINT64_MAX;
        const uint64_t free = die->launch_free > e->r.clock ? die->launch_free : e->r.clock;
        die->launch_free = free + (uint64_t)RP_CU_LAUNCH_CLOCKS * waves;
        die->next_cu = (cu->number % e->r.m.cus_per_die + 1) % e->r.m.cus_per_die;
        if (rp_hierarchy_open(&e->r.memory, cu->number) < 0) {
            e->status = -ENOMEM;
            return;
        }
        const uint64_t begin = rp_cu_start(&e->r, cu, &e->group[die->next_group], die->launch_free);
        if (cu != running && !cu->listed) {
            cu->listed = true;
            rp_agenda_put(&e->agenda, cu->number, begin);
        }
    }
}

/* ---- a replay ------------------------------------------------------------------------------ */

/* A compute unit goes on, the machine being at its time. */
static void go_on(struct engine *e, struct rp_cu *cu)
{
    cu->listed = false;
    for (;;)
        switch (rp_cu_run(&e->r, cu)) {
        case RP_CU_IDLE:
        case RP_CU_STARVES: /* never: the record is finished */
            return;
        case RP_CU_WAITS:
            cu->listed = true;
            rp_agenda_put(&e->agenda, cu->number, cu->now);
            return;
        case RP_CU_HAS_ROOM:
            rp_completions_note(&e->done, e->r.clock);
            fill(e, cu->die, cu);
        }
}

static void run(struct engine *e)
{
    for (uint32_t die = 0; die < e->r.m.dies; die++) {
        e->die[die].next_group = die;
        e->die[die].full_since = UINT64_MAX;
        fill(e, die, NULL);
    }
    for (uint32_t n; !e->status && (n = rp_agenda_take(&e->agenda, &e->r.clock)) != RP_AGENDA_NONE;
         e->status = rp_hierarchy_status(&e->r.memory))
        go_on(e, &e->cu[n]);
}

static void count_insts(const struct engine *e, struct rp_timing_stats *s)
{
    for (uint32_t i = 0; i < e->r.m.dies * e->r.m.cus_per_die; i++)
        for (uint32_t unit = 0; unit < RP_REC_UNITS; unit++) {
            s->unit_insts[unit] += e->cu[i].insts[unit];
            s->insts += e->cu[i].insts[unit];
        }
}

/* 0 or -ENOMEM. */
static int machine_of(const struct rp_arch *arch, const struct rp_wave_record *rec,
                      struct rp_machine *ret)
{
    struct rp_machine m = {.arch = arch};
    int status = 0;
    m.all_dies = arch->xcc_count ? arch->xcc_count : 1;
    if (arch->compute_units < m.all_dies)
        m.all_dies = arch->compute_units ? arch->compute_units : 1;
    m.cus_per_die = arch->compute_units / m.all_dies ? arch->compute_units / m.all_dies : 1;
    m.dies = rec->plan.stride > 1 ? 1 : m.all_dies;
    m.memory_channels = arch->timing->memory_channels * m.dies / m.all_dies;
    if (!m.memory_channels)
        m.memory_channels = 1;
    if (m.dies < m.all_dies)
        status = rp_sharing_of(rec, (uint64_t)m.cus_per_die * rec->shape.groups_per_cu, &m.sharing);
    *ret = m;
    return status;
}

static int allocate_replay(struct rp_timing_simulation *r)
{
    const struct rp_arch_timing *t = r->m.arch->timing;
    const uint32_t caches = r->m.dies * t->sqcs_per_xcc;
    int status = rp_program_init(&r->program, r->rec);
    if (status)
        return status;
    /* As many as the cache has, or a small program needs. */
    r->code_slots = t->inst_l1_bytes / RP_REC_LINE_BYTES;
    if (r->program.line_count < r->code_slots)
        r->code_slots = r->program.line_count ? r->program.line_count : 1;
    r->code_slot = calloc((size_t)caches * r->code_slots, sizeof *r->code_slot);
    if (!r->code_slot)
        return -ENOMEM;
    return rp_hierarchy_init(&r->memory, &r->m, r->stats->level);
}

static int allocate(struct engine *e)
{
    const uint32_t cus = e->r.m.dies * e->r.m.cus_per_die;
    const uint64_t groups = e->r.rec->plan.count;
    e->cu = calloc(cus, sizeof *e->cu);
    e->wave = malloc((size_t)cus * RP_CU_SLOTS * sizeof *e->wave); /* set up as they begin */
    e->group = calloc(groups ? groups : 1, sizeof *e->group);
    e->die = calloc(e->r.m.dies, sizeof *e->die);
    e->done.clock = calloc(groups ? groups : 1, sizeof *e->done.clock);
    e->done.room = groups;
    if (!e->cu || !e->wave || !e->group || !e->die || !e->done.clock)
        return -ENOMEM;
    for (uint32_t i = 0; i < cus; i++)
        rp_cu_init(&e->cu[i], i, i / e->r.m.cus_per_die, &e->wave[(size_t)i * RP_CU_SLOTS]);
    for (uint64_t i = 0; i < groups; i++)
        e->group[i].index = (uint32_t)i;
    int status = rp_agenda_init(&e->agenda, cus);
    return status ? status : allocate_replay(&e->r);
}

static void release(struct engine *e)
{
    rp_agenda_release(&e->agenda);
    rp_hierarchy_release(&e->r.memory);
    rp_program_release(&e->r.program);
    free(e->r.code_slot);
    free(e->cu);
    free(e->wave);
    free(e->group);
    free(e->die);
    free(e->done.clock);
}

int rp_engine_run(const struct rp_arch *arch, const struct rp_wave_record *record,
                  const struct rp_engine_watch *watch, struct rp_timing_stats *ret)
{
    struct rp_timing_stats stats = {.group_count = record->plan.group_count,
                                    .sampled = record->plan.count < record->plan.group_count};
    struct engine e = {.r = {.rec = record, .watch = watch, .stats = &stats}};
    int status = machine_of(arch, record, &e.r.m);
    if (!status)
        status = allocate(&e);
    if (!status) {
        run(&e);
        status = e.status;
    }
    if (!status) {
        count_insts(&e, &stats);
        stats.dies = e.r.m.dies;
        stats.all_dies = e.r.m.all_dies;
        const uint64_t drained = rp_hierarchy_drained(&e.r.memory);
        stats.replay_clocks = e.r.end > drained ? e.r.end : drained;
        stats.clocks = rp_extrapolate(record, &e.done, stats.replay_clocks,
                                      (uint64_t)e.r.m.cus_per_die * record->shape.groups_per_cu,
                                      &stats.error_share);
        if (stats.wave_clocks)
            stats.error_share += stats.unsure_clocks / (double)stats.wave_clocks;
        *ret = stats;
    }
    release(&e);
    return status;
}

#include "device/timing/timing_engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "device/exec/executor.h"
#include "device/timing/wave_record.h"

enum rp_group_simulation_answer {
    RP_LIVE_KNOWN,
    RP_LIVE_WAITS, /**< for others, who may do something before that */
    RP_LIVE_NEVER, /**< it cannot be told */
};

struct rp_group_simulation {
    struct rp_timing_simulation r;
    struct rp_timing_stats stats;
    struct rp_engine_watch watch;
    struct rp_wave_record rec; /**< of the group; its waves' are what has not been replayed */
    struct rp_rec_group group;
    struct rp_cu cu;
    struct rp_cu_group cu_group;
    struct rp_cu_wave *slot;
    struct rp_rec_pages pages;
    uint64_t entry_va;
    uint32_t program_count, program_room;
    uint32_t starved; /**< bit for each wave */
    uint64_t issued[RP_CU_GROUP_WAVES];
};

/* ---- set-up -------------------------------------------------------------------------------- */

static void note_issued(void *ctx, const struct rp_wave_placement *where, uint32_t step,
                        const struct rp_issue_times *times)
{
    struct rp_group_simulation *live = ctx;
    (void)step;
    live->issued[where->wave] = times->issued;
}

/* All of the memory and of the Infinity Cache is there for the one die. */
static struct rp_machine machine_of(const struct rp_arch *arch)
{
    const uint32_t dies = arch->xcc_count ? arch->xcc_count : 1;
    const uint32_t cus = arch->compute_units / dies;
    const uint32_t channels = arch->timing->memory_channels;
    return (struct rp_machine){.arch = arch,
                               .dies = 1,
                               .all_dies = 1,
                               .cus_per_die = cus ? cus : 1,
                               .memory_channels = channels ? channels : 1};
}

static int allocate(struct rp_group_simulation *live, uint32_t waves)
{
    struct rp_timing_simulation *r = &live->r;
    const struct rp_arch_timing *t = r->m.arch->timing;
    r->code_slots = t->inst_l1_bytes / RP_REC_LINE_BYTES;
    if (!r->code_slots)
        r->code_slots = 1;
    r->code_slot = calloc((size_t)t->sqcs_per_xcc * r->code_slots, sizeof *r->code_slot);
    live->slot = calloc(waves, sizeof *live->slot);
    live->group.wave = calloc(waves, sizeof *live->group.wave);
    if (!r->code_slot || !live->slot || !live->group.wave)
        return -ENOMEM;
    r->m.blocks = &live->pages.blocks;
    const int status = rp_hierarchy_init(&r->memory, &r->m, live->stats.level);
    return status ? status : rp_hierarchy_open(&r->memory, 0);
}

static void group_simulation_free(struct rp_group_simulation *live);

/** Begins a simulation. @param begin clock at which the waves start @return NULL: no memory */
static struct rp_group_simulation *group_simulation_new(const struct rp_arch *arch, uint32_t waves,
                                                        uint64_t entry_va, uint64_t begin)
{
    struct rp_group_simulation *live =
        waves && waves <= RP_CU_GROUP_WAVES ? calloc(1, sizeof *live) : NULL;
    if (!live)
        return NULL;
    live->r.m = machine_of(arch);
    if (allocate(live, waves) < 0) {
        group_simulation_free(live);
        return NULL;
    }
    live->entry_va = entry_va;
    live->group.wave_count = waves;
    live->rec.group = &live->group;
    for (uint32_t i = 0; i < waves; i++) {
        live->group.wave[i].grows = true;
        if (!rp_rec_grow(&live->group.wave[i], 1, 1, 1)) {
            group_simulation_free(live);
            return NULL;
        }
    }
    live->watch = (struct rp_engine_watch){.ctx = live, .issued = note_issued};
    live->r.program.grows = true;
    live->r.rec = &live->rec;
    live->r.watch = &live->watch;
    live->r.stats = &live->stats;
    rp_cu_init(&live->cu, 0, 0, live->slot);
    rp_cu_start(&live->r, &live->cu, &live->cu_group, begin);
    return live;
}

/** Frees a simulation; NULL is accepted. */
static void group_simulation_free(struct rp_group_simulation *live)
{
    if (!live)
        return;
    for (uint32_t i = 0; live->group.wave && i < live->group.wave_count; i++) {
        free(live->group.wave[i].step);
        free(live->group.wave[i].access);
        free(live->group.wave[i].line);
    }
    free(live->group.wave);
    rp_hierarchy_release(&live->r.memory);
    rp_program_release(&live->r.program);
    rp_rec_pages_release(&live->pages);
    free(live->r.code_slot);
    free(live->rec.code);
    free(live->slot);
    free(live);
}

/** Whose table of instructions the steps below are indices of; whoever adds them fills it. */
static struct rp_wave_record *group_simulation_record(struct rp_group_simulation *live)
{
    return &live->rec;
}

/* ---- what waves did ------------------------------------------------------------------------ */

/* Adds instructions that are new in the table. */
static int extend_program(struct rp_group_simulation *live)
{
    const uint32_t count = live->rec.code_count;
    if (count > live->program_room) {
        struct rp_program_code *code =
            realloc(live->r.program.code, 2 * (size_t)count * sizeof *code);
        if (!code)
            return -ENOMEM;
        live->r.program.code = code;
        live->program_room = 2 * count;
    }
    for (; live->program_count < count; live->program_count++)
        live->r.program.code[live->program_count] =
            rp_program_add(&live->rec.code[live->program_count], live->entry_va);
    return 0;
}

static struct rp_cu_wave *replayed(struct rp_group_simulation *live, uint32_t wave)
{
    return &live->slot[live->cu_group.slot[wave]];
}

/* Forgets what has been replayed. */
static void forget(struct rp_rec_wave *kept, const struct rp_cu_wave *w)
{
    const uint32_t steps = (uint32_t)(w->step - kept->step);
    const uint32_t accesses = (uint32_t)(w->access - kept->access);
    const uint32_t lines =
        accesses < kept->access_count ? kept->access[accesses].first_line : kept->line_count;
    kept->step_count -= steps;
    kept->access_count -= accesses;
    kept->line_count -= lines;
    if (kept->step_count)
        memmove(kept->step, kept->step + steps, kept->step_count * sizeof *kept->step);
    if (kept->access_count)
        memmove(kept->access, kept->access + accesses, kept->access_count * sizeof *kept->access);
    if (kept->line_count)
        memmove(kept->line, kept->line + lines, kept->line_count * sizeof *kept->line);
    for (uint32_t i = 0; i < kept->access_count; i++) {
        kept->access[i].step -= steps;
        kept->access[i].first_line -= lines;
    }
}

/* Room has been made for it. */
static int add_access(struct rp_group_simulation *live, struct rp_rec_wave *kept,
                      const struct rp_rec_wave *rec, const struct rp_rec_access *access,
                      uint32_t step)
{
    struct rp_rec_access *a = &kept->access[kept->access_count++];
    *a = *access;
    a->step = step;
    a->first_line = kept->line_count;
    a->space &= (uint8_t)~RP_REC_PACKED;
    for (uint32_t i = 0; i < a->line_count; i++) {
        struct rp_rec_line *line = &kept->line[kept->line_count++];
        *line = rp_rec_line_of(rec, access, i);
        if (rp_rec_pages_place(&live->pages, line) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int add(struct rp_group_simulation *live, struct rp_rec_wave *kept,
               const struct rp_rec_wave *rec, uint32_t first, const uint32_t *step, uint32_t count,
               uint32_t access)
{
    uint32_t end = access, lines = 0;
    for (; end < rec->access_count && rec->access[end].step < first + count; end++)
        lines += rec->access[end].line_count;
    if (!rp_rec_grow(kept, count, end - access, lines))
        return -ENOMEM;
    for (; access < end; access++) {
        const uint32_t at = rec->access[access].step - first + kept->step_count;
        if (add_access(live, kept, rec, &rec->access[access], at) < 0)
            return -ENOMEM;
    }
    memcpy(kept->step + kept->step_count, step, count * sizeof *step);
    kept->step_count += count;
    return 0;
}

/**
 * Hands over what a wave did after what was handed over before.
 * @param rec  its record
 * @param first  of its instructions: @p count from there on, whose indices are @p step
 * @param access  of its accesses, the first that has not been handed over
 * @return 0 or -ENOMEM
 */
static int group_simulation_add(struct rp_group_simulation *live, uint32_t wave,
                                const struct rp_rec_wave *rec, uint32_t first, const uint32_t *step,
                                uint32_t count, uint32_t access)
{
    struct rp_rec_wave *kept = &live->group.wave[wave];
    struct rp_cu_wave *w = replayed(live, wave);
    if (!count || !kept->grows)
        return 0;
    forget(kept, w);
    if (extend_program(live) < 0 || add(live, kept, rec, first, step, count, access) < 0)
        return -ENOMEM;
    kept->grows = live->rec.code[step[count - 1]].misc != RP_REC_END;
    w->step = kept->step;
    w->half = NULL; /* Nothing is computed from there any more. */
    w->end = kept->step + kept->step_count;
    /* It is not known before the next instruction whether the branch is taken. */
    if (kept->grows && live->rec.code[step[count - 1]].unit == RP_REC_BRANCH)
        w->end--;
    w->access = kept->access;
    w->access_end = kept->access + kept->access_count;
    if (live->starved & 1u << wave && w->step < w->end) {
        live->starved &= ~(1u << wave);
        rp_cu_resume(&live->cu, live->cu_group.slot[wave], live->cu.now);
    }
    return 0;
}

/* ---- time ---------------------------------------------------------------------------------- */

/**
 * Returns when the latest instruction of a wave that has been handed over is issued.
 * @param alone  the others do nothing until then but what is known
 */
static enum rp_group_simulation_answer group_simulation_issued(struct rp_group_simulation *live,
                                                               uint32_t wave, bool alone,
                                                               uint64_t *ret_clock)
{
    const struct rp_cu_wave *w = replayed(live, wave);
    for (;;) {
        if (w->step == w->end) {
            *ret_clock = live->issued[wave];
            return RP_LIVE_KNOWN;
        }
        if (live->starved && !alone)
            return RP_LIVE_WAITS;
        switch (rp_cu_run(&live->r, &live->cu)) {
        case RP_CU_STARVES:
            live->starved |= 1u << live->slot[live->cu.starved].place.wave;
            break;
        case RP_CU_WAITS:
            live->r.clock = live->cu.now;
            break;
        case RP_CU_IDLE:
        case RP_CU_HAS_ROOM:
            return RP_LIVE_NEVER;
        }
    }
}

struct rp_group_clock {
    struct rp_group_simulation *live; /**< NULL: it cannot be told any more */
    struct rp_resolver resolver;
    uint32_t *step; /**< resolved, for the replay */
    uint32_t step_room;
    uint64_t added; /**< instructions of all waves that the replay has been given */
    struct clock_wave {
        uint32_t steps, accesses; /**< of its record, that the replay has been given */
        bool ahead;               /**< one more: the instruction that it will try again */
        uint64_t added;           /**< rp_group_clock.added when it tried last */
    } wave[RP_CU_GROUP_WAVES];
};

/* Dies get workgroups in turn, and launch them one after another; the machine has room for the
 * first of them at once. */
static uint64_t launch_clock(const struct rp_group *g)
{
    const struct rp_dispatch *d = g->dispatch;
    const uint32_t dies = d->arch->xcc_count ? d->arch->xcc_count : 1;
    const uint32_t engines = d->arch->shader_engines / dies ? d->arch->shader_engines / dies : 1;
    const uint64_t waves = d->kernel.waves_per_group;
    const struct rp_arch_timing *t = d->arch->timing;
    if (g->linear_id >= d->kernel.resident_groups)
        return g->start_cycles;
    const uint64_t before = g->linear_id / dies / engines;
    return (uint64_t)((double)(before + 1) * rp_launch_clocks(t, (double)waves) + 0.5) +
           t->wave_clocks;
}

static struct rp_group_clock *clock_new(const struct rp_group *g)
{
    const struct rp_dispatch *d = g->dispatch;
    struct rp_group_clock *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->live = group_simulation_new(d->arch, g->wave_count, d->kernel.entry_va, launch_clock(g));
    if (c->live &&
        rp_resolver_init(&c->resolver, group_simulation_record(c->live), d->kernel.entry_va) == 0)
        return c;
    rp_resolver_release(&c->resolver);
    group_simulation_free(c->live);
    free(c);
    return NULL;
}

/* Lets the waves' clocks go on as with counts timing from here. */
static void give_up(struct rp_group_clock *c)
{
    rp_resolver_release(&c->resolver);
    group_simulation_free(c->live);
    free(c->step);
    c->live = NULL;
    c->step = NULL;
}

void rp_live_clock_end(struct rp_group *g)
{
    give_up(g->clock);
    free(g->clock);
    g->clock = NULL;
}

/* ---- what has been executed ---------------------------------------------------------------- */

/* Resolves the instructions of a record that are to be added. @return 0, -ENOMEM, or -ENOENT: the
 * code is gone */
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

/* Adds what a wave has executed since the last call. It returns what resolving returns. */
static int add_wave(struct rp_group_clock *c, struct rp_mem *mem, uint32_t number,
                    const struct rp_rec_wave *rec)
{
    struct clock_wave *w = &c->wave[number];
    const uint32_t steps = rec->step_count + w->ahead, accesses = rec->access_count + w->ahead;
    if (rec->closed)
        return rec->lost ? -ENOMEM : -ENOENT;
    /* There are fewer steps because turns of a loop that only waits have been taken back. */
    if (steps <= w->steps) {
        w->steps = steps;
        w->accesses = accesses < w->accesses ? accesses : w->accesses;
        return 0;
    }
    const uint32_t count = steps - w->steps;
    int status = resolve(c, mem, rec, w->steps, count);
    if (!status)
        status = group_simulation_add(c->live, number, rec, w->steps, c->step, count, w->accesses);
    w->steps = steps;
    w->accesses = accesses;
    c->added += count;
    return status;
}

static int add_group(struct rp_group_clock *c, const struct rp_group *g)
{
    int status = 0;
    for (uint32_t i = 0; i < g->wave_count && !status; i++)
        status = add_wave(c, &g->env->mem, i, g->waves[i].record);
    return status;
}

/* ---- reading ------------------------------------------------------------------------------- */

int rp_live_clock_read(struct rp_wave *w, bool *ret_told)
{
    if (w->record->closed)
        return RP_STEP_NEXT;
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
    /* Other waves that have done nothing since then wait for something, perhaps for this wave. */
    const bool alone = again && c->added == mine->added;
    if (status == -ENOMEM)
        w->record->closed = w->record->full = w->record->lost = true;
    switch (status ? RP_LIVE_NEVER
                   : group_simulation_issued(c->live, w->id_in_group, alone, &clock)) {
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

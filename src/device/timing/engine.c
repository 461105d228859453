/*
 * The compute units: workgroups are dealt out to dies and compute units, waves issue in the order
 * of time, memory answers (hierarchy.c). An event is a wave that is ready for its next instruction.
 */
#include "engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agenda.h"
#include "arch/arch.h"
#include "extrapolate.h"
#include "hierarchy.h"

enum {
    SLOT_CLOCKS = 4, /* a wave issues once in four clocks: CDNA3 ISA guide, SIMDs take turns */
    WAVE_SLOTS = 32, /* of a CU: 8 per SIMD */
    SIMDS = 4,
    UNDER_WAY = 63,         /* vmcnt counts so far; lgkmcnt less, but its users wait for all */
    LAUNCH_WAVE_CLOCKS = 1, /* of a die's dispatcher, for a wave: assumed */
    QUEUE_CLOCKS =
        64, /* of work in front of a CU's memory units beyond which they take no more: assumed */
};

/* Results under way, oldest first. */
struct under_way {
    uint64_t done[UNDER_WAY];
    uint32_t first, count;
    uint64_t last; /* of those that return in order */
};

struct replay_wave {
    const struct rp_rec_wave *rec;
    struct rp_wave_place place;
    struct replay_group *group;
    uint32_t step, access;
    uint64_t begin, half, fetched;     /* fetched: code line + 1 */
    uint64_t tail_end;                 /* beyond its record: when it ends; 0 = not there */
    uint64_t arrived, arrived_fetched; /* watched: at the present step, and its fetch's end */
    bool watched;                      /* these two are set */
    bool waits;                        /* at a barrier */
    uint8_t lgkm_unit;                 /* of the latest that lgkmcnt counts */
    uint64_t mfma_until;               /* results of matrix instructions are pending until then */
    struct under_way vm, lgkm;
    uint64_t *ready; /* per register, of matrix results; NULL without such instructions */
};

struct replay_group {
    uint32_t index; /* in the record */
    uint32_t cu;
    uint32_t waves_left, at_barrier;
    uint32_t wave[WAVE_SLOTS / 2]; /* numbers: 16 waves are the largest workgroup */
    uint64_t barrier_since;
};

struct replay_cu {
    uint64_t address_free, lds_free;
    uint64_t port_free[SIMDS][RP_REC_UNITS];
    uint32_t used; /* bit for each wave slot */
    uint32_t simd_waves[SIMDS];
    uint64_t since, simd_since[SIMDS]; /* busy since */
    uint32_t groups, waves;
};

struct replay {
    struct rp_machine m;
    const struct rp_record *rec;
    const struct rp_engine_watch *watch;
    struct rp_timing_stats *stats;
    struct rp_hierarchy memory;
    struct rp_agenda agenda;
    struct replay_cu *cu;
    struct replay_wave *wave;   /* WAVE_SLOTS for each CU */
    struct replay_group *group; /* of each group in the record */
    uint64_t *next_group;       /* per die: index of the first not started */
    uint64_t *launch_free;      /* per die */
    uint32_t *next_cu;          /* per die */
    uint32_t *code_line;        /* per code: number of its line of instructions */
    uint64_t *code_ready;       /* per instruction cache and line; 0 = not in */
    uint64_t *registers;
    uint32_t code_lines, inst_caches;
    bool has_mfma;
    uint64_t clock, end;
    struct rp_completions done;
};

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* ---- results under way --------------------------------------------------------------------- */

static void expect(struct under_way *u, uint64_t done, bool in_order)
{
    if (u->count == UNDER_WAY) { /* the oldest has come: when_taken */
        u->first = (u->first + 1) % UNDER_WAY;
        u->count--;
    }
    if (in_order)
        done = u->last = later(done, u->last);
    u->done[(u->first + u->count++) % UNDER_WAY] = done;
}

/* When at most @p left are under way. Those that are done by then are forgotten. */
static uint64_t when_left(struct under_way *u, uint32_t left)
{
    uint64_t when = 0;
    while (u->count > left) {
        when = later(when, u->done[u->first]);
        u->first = (u->first + 1) % UNDER_WAY;
        u->count--;
    }
    return when;
}

/* ---- starting workgroups ------------------------------------------------------------------- */

static uint32_t pick_simd(const struct replay_cu *cu)
{
    uint32_t best = 0;
    for (uint32_t s = 1; s < SIMDS; s++)
        if (cu->simd_waves[s] < cu->simd_waves[best])
            best = s;
    return best;
}

static void start_wave(struct replay *r, struct replay_group *g, uint32_t in_group, uint64_t clock)
{
    struct replay_cu *cu = &r->cu[g->cu];
    const uint32_t slot = (uint32_t)__builtin_ctz(~cu->used), simd = pick_simd(cu);
    const uint32_t number = g->cu * WAVE_SLOTS + slot;
    struct replay_wave *w = &r->wave[number];
    uint64_t *ready = r->has_mfma ? r->registers + (size_t)number * RP_REC_FILE : NULL;
    if (ready)
        memset(ready, 0, RP_REC_FILE * sizeof *ready);
    *w = (struct replay_wave){
        .rec = &r->rec->group[g->index].wave[in_group],
        .group = g,
        .begin = clock,
        .ready = ready,
        .place = {.group = g->index,
                  .wave = in_group,
                  .xcc = (uint16_t)(g->cu / r->m.cus_per_die),
                  .cu = (uint16_t)(g->cu % r->m.cus_per_die),
                  .simd = (uint8_t)simd,
                  .slot = (uint8_t)slot},
    };
    cu->used |= 1u << slot;
    if (!cu->simd_waves[simd]++)
        cu->simd_since[simd] = clock;
    if (!cu->waves++)
        cu->since = clock;
    g->wave[in_group] = number;
    r->stats->waves++;
    if (r->watch && r->watch->wave_begins)
        r->watch->wave_begins(r->watch->ctx, &w->place, clock);
    rp_agenda_put(&r->agenda, number, clock);
}

/* Whether a CU has room for one more workgroup. */
static bool has_room(const struct replay *r, const struct replay_cu *cu, uint32_t waves)
{
    return cu->groups < r->rec->shape.groups_per_cu && cu->waves + waves <= WAVE_SLOTS;
}

/* The die's next recorded workgroup, or NULL; each die has those of its number, modulo dies. */
static struct replay_group *next_of_die(struct replay *r, uint32_t die)
{
    while (r->next_group[die] < r->rec->plan.count) {
        const uint64_t index = r->next_group[die];
        r->next_group[die] += r->m.dies;
        if (r->rec->group[index].wave_count)
            return &r->group[index];
    }
    return NULL;
}

/* Starts as many workgroups of a die as there is room for. */
static void fill(struct replay *r, uint32_t die)
{
    for (;;) {
        const uint64_t index = r->next_group[die];
        if (index >= r->rec->plan.count)
            return;
        const uint32_t waves = r->rec->group[index].wave_count;
        uint32_t tries = 0, cu = 0;
        for (; tries < r->m.cus_per_die; tries++) {
            cu = (r->next_cu[die] + tries) % r->m.cus_per_die;
            if (has_room(r, &r->cu[die * r->m.cus_per_die + cu], waves))
                break;
        }
        if (tries == r->m.cus_per_die)
            return;
        struct replay_group *g = next_of_die(r, die);
        if (!g)
            return;
        if (g->index != index)
            continue; /* the one looked at was lost: look again */
        r->next_cu[die] = (cu + 1) % r->m.cus_per_die;
        r->launch_free[die] = later(r->launch_free[die], r->clock) + LAUNCH_WAVE_CLOCKS * waves;
        g->cu = die * r->m.cus_per_die + cu;
        g->waves_left = waves;
        r->cu[g->cu].groups++;
        for (uint32_t i = 0; i < waves; i++)
            start_wave(r, g, i, r->launch_free[die]);
    }
}

/* ---- ends ---------------------------------------------------------------------------------- */

static void end_wave(struct replay *r, struct replay_wave *w, uint64_t clock)
{
    struct replay_group *g = w->group;
    struct replay_cu *cu = &r->cu[g->cu];
    const uint32_t simd = w->place.simd;
    r->end = later(r->end, clock);
    r->stats->wave_clocks += clock - w->begin;
    if (r->watch && r->watch->wave_ends)
        r->watch->wave_ends(r->watch->ctx, &w->place, clock);
    cu->used &= ~(1u << w->place.slot);
    if (!--cu->simd_waves[simd])
        r->stats->simd_busy_clocks += clock - cu->simd_since[simd];
    if (!--cu->waves)
        r->stats->cu_busy_clocks += clock - cu->since;
    if (--g->waves_left)
        return;
    cu->groups--;
    r->stats->groups++;
    rp_completions_note(&r->done, clock);
    fill(r, w->place.xcc);
}

static void open_barrier(struct replay *r, struct replay_group *g, uint64_t clock)
{
    if (!g->at_barrier || g->at_barrier < g->waves_left)
        return;
    const uint32_t count = r->rec->group[g->index].wave_count;
    for (uint32_t i = 0; i < count; i++) {
        struct replay_wave *w = &r->wave[g->wave[i]];
        /* its slot may have another group's wave by now */
        if (w->group == g && w->place.wave == i && w->waits) {
            w->waits = false;
            rp_agenda_put(&r->agenda, g->wave[i], clock + SLOT_CLOCKS);
        }
    }
    r->stats->wait_clocks[RP_REC_MISC] += clock * g->at_barrier - g->barrier_since;
    g->at_barrier = 0;
    g->barrier_since = 0;
}

/* Its record is over. What it did after that is taken to have gone as the second half of it. */
static void beyond_record(struct replay *r, struct replay_wave *w, uint32_t number, uint64_t clock)
{
    const struct rp_rec_wave *rec = w->rec;
    if (!w->tail_end && rec->insts > rec->step_count && rec->step_count) {
        const uint32_t second = rec->step_count - rec->step_count / 2;
        const double each = (double)(clock - w->half) / second;
        w->tail_end = clock + (uint64_t)(each * (double)(rec->insts - rec->step_count)) + 1;
        rp_agenda_put(&r->agenda, number, w->tail_end);
        return;
    }
    struct replay_group *g = w->group;
    end_wave(r, w, clock);
    if (g->waves_left)
        open_barrier(r, g, clock); /* the others wait for one less */
}

/* ---- instructions -------------------------------------------------------------------------- */

/* When the instruction is at the wave: its line may have to be fetched from the L2. */
static uint64_t fetch(struct replay *r, struct replay_wave *w, uint32_t code, uint64_t clock)
{
    const struct rp_arch_timing *t = r->m.arch->timing;
    const uint32_t line = r->code_line[code];
    if (w->fetched == line + 1u)
        return clock;
    const uint32_t per_die = (r->m.cus_per_die + t->inst_l1_cus - 1) / t->inst_l1_cus;
    const uint32_t cache = w->place.xcc * per_die + w->place.cu / t->inst_l1_cus;
    uint64_t *ready = &r->code_ready[(size_t)cache * r->code_lines + line];
    struct rp_level_stats *s = &r->stats->level[RP_LEVEL_INST_L1];
    w->fetched = line + 1u;
    s->reads++;
    s->read_bytes += RP_REC_LINE_BYTES;
    if (*ready) {
        s->read_hits++;
        return later(clock, *ready);
    }
    *ready = clock + t->l2_clocks;
    if (line + 1 < r->code_lines && !ready[1]) /* fetched ahead with it */
        ready[1] = *ready;
    return *ready;
}

/* When matrix results that the instruction needs, or replaces, are there. */
static uint64_t when_registers(const struct replay *r, const struct replay_wave *w,
                               const struct rp_rec_code *c, uint64_t clock)
{
    const uint32_t rest = SLOT_CLOCKS * r->m.arch->timing->mfma_result_slots;
    uint64_t when = clock;
    if (w->mfma_until <= clock)
        return when;
    for (uint32_t i = 0; i < c->read_count; i++) {
        /* A chain through SrcC goes on as soon as the passes are over. */
        const bool chains = c->unit == RP_REC_MFMA && c->accumulator == i + 1;
        for (uint32_t k = 0; k < c->read[i].count; k++) {
            const uint64_t over = w->ready[c->read[i].first + k];
            if (over)
                when = later(when, chains ? over : over + rest);
        }
    }
    for (uint32_t i = 0; i < c->write_count && c->unit != RP_REC_MFMA; i++)
        for (uint32_t k = 0; k < c->write[i].count; k++)
            when = later(when, w->ready[c->write[i].first + k]);
    return when;
}

/* Takes the port of the instruction's unit; returns when it is issued. */
static uint64_t issue(struct replay *r, struct replay_wave *w, const struct rp_rec_code *c,
                      uint64_t clock)
{
    uint64_t *port = r->cu[w->group->cu].port_free[w->place.simd];
    uint64_t at = later(clock, port[c->unit]);
    uint32_t taken = c->issue_clocks;
    if (c->unit == RP_REC_MFMA) { /* issued as VALU instructions are, then in a pipe of its own */
        at = later(at, port[RP_REC_VALU]);
        port[RP_REC_VALU] = at + SLOT_CLOCKS;
        taken = SLOT_CLOCKS * c->mfma_passes;
    } else if (c->unit != RP_REC_VALU) {
        taken = SLOT_CLOCKS;
    }
    port[c->unit] = at + taken;
    r->stats->port_clocks[c->unit] += taken;
    r->stats->stall_clocks += at - clock;
    return at;
}

static void note_mfma(struct replay_wave *w, const struct rp_rec_code *c, uint64_t over,
                      uint32_t rest)
{
    for (uint32_t i = 0; i < c->write_count; i++)
        for (uint32_t k = 0; k < c->write[i].count; k++)
            w->ready[c->write[i].first + k] = over;
    w->mfma_until = later(w->mfma_until, over + rest);
}

/* The LDS serves one instruction after another. */
static uint64_t share(struct replay *r, const struct replay_wave *w, const struct rp_rec_access *a,
                      uint64_t clock)
{
    struct replay_cu *cu = &r->cu[w->group->cu];
    const uint64_t begin = later(clock, cu->lds_free);
    if (!a->lds_clocks)
        return clock;
    cu->lds_free = begin + a->lds_clocks;
    r->stats->lds_busy_clocks += a->lds_clocks;
    r->stats->lds_conflict_clocks += a->lds_conflict_clocks;
    return begin + r->m.arch->timing->lds_clocks + a->lds_clocks - 1;
}

/* Lines go through the CU's address unit and L1, at its bytes per clock or a look-up per clock. */
static uint64_t vector(struct replay *r, const struct replay_wave *w, const struct rp_rec_access *a,
                       uint64_t clock)
{
    struct replay_cu *cu = &r->cu[w->group->cu];
    const uint32_t width = r->m.arch->timing->l1_bytes_per_clock;
    const uint32_t bytes = (uint32_t)a->lanes * a->lane_bytes;
    uint32_t clocks = (bytes + width - 1) / width;
    if (clocks < a->lookups)
        clocks = a->lookups;
    const uint64_t begin = later(clock, cu->address_free);
    uint64_t done = share(r, w, a, clock);
    if (!a->line_count)
        return later(done, clock + SLOT_CLOCKS);
    cu->address_free = begin + clocks;
    r->stats->level[RP_LEVEL_L1].busy_clocks += clocks;
    for (uint32_t i = 0; i < a->line_count; i++) {
        const uint64_t at = begin + (uint64_t)clocks * i / a->line_count;
        done = later(done, rp_hierarchy_vector(&r->memory, w->group->cu,
                                               &w->rec->line[a->first_line + i], a->flags, at));
    }
    return done;
}

static uint64_t scalar(struct replay *r, const struct replay_wave *w, const struct rp_rec_access *a,
                       uint64_t clock)
{
    uint64_t done = clock + SLOT_CLOCKS;
    for (uint32_t i = 0; i < a->line_count; i++)
        done = later(done, rp_hierarchy_scalar(&r->memory, w->group->cu,
                                               &w->rec->line[a->first_line + i], a->flags, clock));
    return done;
}

/* A memory instruction that is issued; returns when its result is there. */
static uint64_t access_memory(struct replay *r, struct replay_wave *w, const struct rp_rec_code *c,
                              uint64_t clock)
{
    static const struct rp_rec_access nothing = {0};
    const struct rp_rec_access *a = &nothing;
    uint64_t done;
    if (w->access < w->rec->access_count && w->rec->access[w->access].step == w->step)
        a = &w->rec->access[w->access++];
    if (c->unit == RP_REC_LDS)
        done = later(share(r, w, a, clock), clock + SLOT_CLOCKS);
    else if (c->unit == RP_REC_SMEM)
        done = scalar(r, w, a, clock);
    else
        done = vector(r, w, a, clock);
    if (c->counts_vm)
        expect(&w->vm, done, true);
    if (c->counts_lgkm) {
        expect(&w->lgkm, done, c->in_order);
        w->lgkm_unit = c->unit;
    }
    r->end = later(r->end, done);
    return done;
}

/* s_waitcnt: when the wave goes on. */
static uint64_t wait_for(struct replay *r, struct replay_wave *w, const struct rp_rec_code *c,
                         uint64_t clock)
{
    const uint64_t vm = when_left(&w->vm, c->vm), lgkm = when_left(&w->lgkm, c->lgkm);
    const uint64_t next = later(clock + SLOT_CLOCKS, later(vm, lgkm));
    if (next > clock + SLOT_CLOCKS)
        r->stats->wait_clocks[vm >= lgkm ? RP_REC_VMEM : w->lgkm_unit] +=
            next - clock - SLOT_CLOCKS;
    return next;
}

/* MISC instructions; returns when the wave goes on, UINT64_MAX: at a barrier. */
static uint64_t miscellaneous(struct replay *r, struct replay_wave *w, const struct rp_rec_code *c,
                              uint64_t clock)
{
    struct replay_group *g = w->group;
    switch (c->misc) {
    case RP_REC_WAITCNT:
        return wait_for(r, w, c, clock);
    case RP_REC_NOP:
    case RP_REC_SLEEP:
        return clock + (c->value > SLOT_CLOCKS ? c->value : SLOT_CLOCKS);
    case RP_REC_BARRIER:
        g->at_barrier++;
        g->barrier_since += clock;
        w->waits = true;
        return UINT64_MAX;
    default:
        return clock + SLOT_CLOCKS;
    }
}

/* When the wave's next instruction may be issued, after this one. */
static uint64_t after(const struct replay *r, const struct replay_wave *w,
                      const struct rp_rec_code *c, uint64_t issued)
{
    if (c->unit != RP_REC_BRANCH)
        return issued + SLOT_CLOCKS;
    const bool goes_on = w->step + 1 >= w->rec->step_count ||
                         r->rec->code[w->rec->step[w->step + 1]].pc == c->pc + c->size_bytes;
    return issued + (goes_on ? c->issue_clocks : r->m.arch->timing->taken_branch_clocks);
}

/* When the instruction's unit takes it: the queue in front of memory units is short, and counters
 * of what is under way end. */
static uint64_t when_taken(const struct replay *r, const struct replay_wave *w,
                           const struct rp_rec_code *c, uint64_t clock)
{
    const struct replay_cu *cu = &r->cu[w->group->cu];
    uint64_t when = clock;
    if (c->unit == RP_REC_VMEM && cu->address_free > clock + QUEUE_CLOCKS)
        when = cu->address_free - QUEUE_CLOCKS;
    if (c->unit == RP_REC_LDS && cu->lds_free > clock + QUEUE_CLOCKS)
        when = cu->lds_free - QUEUE_CLOCKS;
    if (c->counts_vm && w->vm.count == UNDER_WAY)
        when = later(when, w->vm.done[w->vm.first]);
    if (c->counts_lgkm && w->lgkm.count == UNDER_WAY)
        when = later(when, w->lgkm.done[w->lgkm.first]);
    return when;
}

static void tell(const struct rp_engine_watch *watch, struct replay_wave *w,
                 struct rp_issue_times *times)
{
    times->arrived = w->arrived;
    times->fetched = w->arrived_fetched;
    w->watched = false;
    if (watch->issued)
        watch->issued(watch->ctx, &w->place, w->step, times);
}

/* The wave is ready for its next instruction. */
static void step(struct replay *r, uint32_t number, uint64_t clock)
{
    struct replay_wave *w = &r->wave[number];
    if (w->step >= w->rec->step_count) {
        beyond_record(r, w, number, clock);
        return;
    }
    const uint32_t index = w->rec->step[w->step];
    const struct rp_rec_code *c = &r->rec->code[index];
    const uint32_t rest = SLOT_CLOCKS * r->m.arch->timing->mfma_result_slots;
    if (w->step == w->rec->step_count / 2)
        w->half = clock;
    const uint64_t fetched = fetch(r, w, index, clock);
    if (r->watch && !w->watched) {
        w->watched = true;
        w->arrived = clock;
        w->arrived_fetched = fetched;
    }
    uint64_t ready = when_registers(r, w, c, fetched);
    if (ready > clock) { /* others come first */
        if (w->mfma_until > clock)
            r->stats->wait_clocks[RP_REC_MFMA] += ready - clock;
        rp_agenda_put(&r->agenda, number, ready);
        return;
    }
    ready = when_taken(r, w, c, clock);
    if (ready > clock) {
        r->stats->stall_clocks += ready - clock;
        rp_agenda_put(&r->agenda, number, ready);
        return;
    }
    uint64_t issued = clock, done, next;
    if (c->unit == RP_REC_MISC) {
        done = next = miscellaneous(r, w, c, clock);
        if (next == UINT64_MAX)
            done = clock + SLOT_CLOCKS;
    } else {
        issued = issue(r, w, c, clock);
        next = after(r, w, c, issued);
        done = issued + c->issue_clocks;
        if (c->unit == RP_REC_MFMA) {
            note_mfma(w, c, issued + (uint64_t)SLOT_CLOCKS * c->mfma_passes, rest);
            done = issued + SLOT_CLOCKS * c->mfma_passes + rest;
        } else if (c->unit == RP_REC_VMEM || c->unit == RP_REC_LDS || c->unit == RP_REC_SMEM) {
            done = access_memory(r, w, c, issued);
        }
        r->end = later(r->end, done);
    }
    r->stats->insts++;
    r->stats->unit_insts[c->unit]++;
    if (r->watch)
        tell(
            r->watch, w,
            &(struct rp_issue_times){.ready = clock, .issued = issued, .next = next, .done = done});
    w->step++;
    if (c->misc == RP_REC_END) {
        w->step = w->rec->step_count;
        beyond_record(r, w, number, clock);
    } else if (next != UINT64_MAX) {
        rp_agenda_put(&r->agenda, number, next);
    } else {
        open_barrier(r, w->group, clock);
    }
}

/* ---- a replay ------------------------------------------------------------------------------ */

static struct rp_machine machine_of(const struct rp_arch *arch, const struct rp_record *rec)
{
    struct rp_machine m = {.arch = arch};
    m.all_dies = arch->xcc_count ? arch->xcc_count : 1;
    if (arch->compute_units < m.all_dies)
        m.all_dies = arch->compute_units ? arch->compute_units : 1;
    m.cus_per_die = arch->compute_units / m.all_dies ? arch->compute_units / m.all_dies : 1;
    m.dies = rec->plan.stride > 1 ? 1 : m.all_dies;
    m.memory_channels = arch->timing->memory_channels * m.dies / m.all_dies;
    if (!m.memory_channels)
        m.memory_channels = 1;
    m.shared = m.dies < m.all_dies ? rp_shared_lines(rec) : 0;
    return m;
}

/* Numbers the lines of instructions: neighbours in memory get neighbouring numbers. */
static int number_code(struct replay *r)
{
    const uint32_t count = r->rec->code_count;
    uint64_t first = UINT64_MAX, last = 0;
    r->code_line = calloc(count ? count : 1, sizeof *r->code_line);
    if (!r->code_line)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t line = r->rec->code[i].pc / RP_REC_LINE_BYTES;
        first = line < first ? line : first;
        last = line > last ? line : last;
        r->has_mfma |= r->rec->code[i].unit == RP_REC_MFMA;
    }
    /* Code far apart (of several code objects) shares numbers: as in a cache of that many lines. */
    const uint64_t lines = r->m.arch->timing->inst_l1_bytes / RP_REC_LINE_BYTES;
    r->code_lines = count && last - first < lines ? (uint32_t)(last - first + 1) : (uint32_t)lines;
    for (uint32_t i = 0; i < count; i++)
        r->code_line[i] =
            (uint32_t)((r->rec->code[i].pc / RP_REC_LINE_BYTES - first) % r->code_lines);
    return 0;
}

static int allocate(struct replay *r)
{
    const uint32_t cus = r->m.dies * r->m.cus_per_die, waves = cus * WAVE_SLOTS;
    const uint32_t sharing = r->m.arch->timing->inst_l1_cus;
    r->inst_caches = r->m.dies * ((r->m.cus_per_die + sharing - 1) / sharing);
    if (number_code(r) < 0)
        return -ENOMEM;
    r->cu = calloc(cus, sizeof *r->cu);
    r->wave = calloc(waves, sizeof *r->wave);
    r->group = calloc(r->rec->plan.count, sizeof *r->group);
    r->next_group = calloc(r->m.dies, sizeof *r->next_group);
    r->launch_free = calloc(r->m.dies, sizeof *r->launch_free);
    r->next_cu = calloc(r->m.dies, sizeof *r->next_cu);
    r->code_ready = calloc((size_t)r->inst_caches * r->code_lines, sizeof *r->code_ready);
    r->done.clock = calloc(r->rec->plan.count, sizeof *r->done.clock);
    r->done.room = r->rec->plan.count;
    if (r->has_mfma)
        r->registers = calloc((size_t)waves * RP_REC_FILE, sizeof *r->registers);
    if (!r->cu || !r->wave || !r->group || !r->next_group || !r->launch_free || !r->next_cu ||
        !r->code_ready || !r->done.clock || (r->has_mfma && !r->registers))
        return -ENOMEM;
    for (uint64_t i = 0; i < r->rec->plan.count; i++)
        r->group[i].index = (uint32_t)i;
    return rp_agenda_init(&r->agenda, waves);
}

static void release(struct replay *r)
{
    rp_agenda_release(&r->agenda);
    rp_hierarchy_release(&r->memory);
    free(r->code_line);
    free(r->cu);
    free(r->wave);
    free(r->group);
    free(r->next_group);
    free(r->launch_free);
    free(r->next_cu);
    free(r->code_ready);
    free(r->done.clock);
    free(r->registers);
}

static void run(struct replay *r)
{
    for (uint32_t die = 0; die < r->m.dies; die++) {
        r->next_group[die] = die;
        fill(r, die);
    }
    for (uint32_t number; (number = rp_agenda_take(&r->agenda, &r->clock)) != RP_AGENDA_NONE;)
        step(r, number, r->clock);
}

int rp_engine_run(const struct rp_arch *arch, const struct rp_record *record,
                  const struct rp_engine_watch *watch, struct rp_timing_stats *ret)
{
    struct rp_timing_stats stats = {.group_count = record->plan.group_count,
                                    .sampled = record->plan.count < record->plan.group_count};
    struct replay r = {.rec = record, .watch = watch, .stats = &stats};
    r.m = machine_of(arch, record);
    int status = rp_hierarchy_init(&r.memory, &r.m, stats.level);
    if (!status)
        status = allocate(&r);
    if (!status) {
        run(&r);
        stats.replay_clocks = later(r.end, rp_hierarchy_drained(&r.memory));
        stats.clocks = rp_extrapolate(record, &r.done, stats.replay_clocks,
                                      (uint64_t)r.m.cus_per_die * record->shape.groups_per_cu,
                                      &stats.error_share);
        *ret = stats;
    }
    release(&r);
    return status;
}

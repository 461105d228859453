/* The timing simulation reads recorded code in this form: 16 bytes an instruction, and the lines
 * of the instruction cache that it lies in.
 */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "device/timing/timing_engine.h"
#include "device/timing/wave_record.h"

/** These are the bits of rp_program_code.flags. */
enum {
    RP_PROGRAM_VM = 1u << 0,       /**< a later s_waitcnt vmcnt waits for it */
    RP_PROGRAM_LGKM = 1u << 1,     /**< the same for lgkmcnt */
    RP_PROGRAM_IN_ORDER = 1u << 2, /**< among those that lgkmcnt counts */
};

/* A line has 128 bytes, so code of more than 8 MiB shares numbers. */
enum { RP_PROGRAM_LINES = UINT16_MAX };

static inline void in_flight_clear(struct rp_in_flight *f)
{
    f->first = f->count = 0;
    f->last = 0;
}

/** Forgets those that are done. */
static inline void in_flight_retire(struct rp_in_flight *f, uint64_t clock)
{
    while (f->count && f->done[f->first] <= clock) {
        f->first = (f->first + 1) % RP_IN_FLIGHT_ROOM;
        f->count--;
    }
    if (!f->count) /* The queue restarts where the host's cache has it. */
        f->first = 0;
}

/** Adds one more, when there are fewer than RP_IN_FLIGHT_ROOM. */
static inline void in_flight_add(struct rp_in_flight *f, uint64_t done, bool in_order)
{
    uint32_t at = f->count++;
    if (in_order)
        done = f->last = done > f->last ? done : f->last;
    for (; at; at--) { /* An access that returns out of order may overtake others. */
        const uint64_t before = f->done[(f->first + at - 1) % RP_IN_FLIGHT_ROOM];
        if (before <= done)
            break;
        f->done[(f->first + at) % RP_IN_FLIGHT_ROOM] = before;
    }
    f->done[(f->first + at) % RP_IN_FLIGHT_ROOM] = done;
}

/** Returns when at most @p left are under way; 0: now */
static inline uint64_t in_flight_wait(const struct rp_in_flight *f, uint32_t left)
{
    return f->count > left ? f->done[(f->first + f->count - left - 1) % RP_IN_FLIGHT_ROOM] : 0;
}

/** Tests whether a line is in the vector L1 of a CU, or on its way to it. */
static inline bool hierarchy_in_l1(const struct rp_hierarchy *h, uint32_t cu, uint64_t line)
{
    return rp_tags_has(&h->l1[cu], line);
}

/** Tests whether the next line also belongs to the program. */
static inline bool program_goes_on(const struct rp_program *p, uint32_t line)
{
    return p->grows || (line + 1 < p->line_count && p->line[line + 1] == p->line[line] + 1);
}

enum { SLOT_CLOCKS = 4 };

static int by_number(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void find_lines(struct rp_program *p, const struct rp_wave_record *r)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < r->code_count; i++)
        p->line[i] = r->code[i].pc / RP_REC_LINE_BYTES;
    qsort(p->line, r->code_count, sizeof *p->line, by_number);
    for (uint32_t i = 0; i < r->code_count; i++)
        if (!count || p->line[count - 1] != p->line[i])
            p->line[count++] = p->line[i];
    p->line_count = count < RP_PROGRAM_LINES ? count : RP_PROGRAM_LINES;
}

static uint16_t line_of(const struct rp_program *p, uint64_t line)
{
    const uint64_t *at = bsearch(&line, p->line, p->line_count, sizeof *p->line, by_number);
    return (uint16_t)(at ? (uint64_t)(at - p->line) : line % RP_PROGRAM_LINES);
}

static struct rp_program_code code_of(const struct rp_rec_code *c, uint16_t line)
{
    struct rp_program_code code = {
        .pc_dwords = (uint32_t)(c->pc / 4),
        .line = line,
        .value = c->unit == RP_REC_VALU ? c->valu : c->value,
        .unit = c->unit,
        .port = c->unit == RP_REC_SMEM ? RP_REC_SALU : c->unit,
        .misc = c->misc,
        .port_clocks = c->unit == RP_REC_VALU ? c->issue_clocks : SLOT_CLOCKS,
        .clocks = c->issue_clocks,
        .vm = c->vm,
        .lgkm = c->lgkm,
        .flags =
            (uint8_t)((c->counts_vm ? RP_PROGRAM_VM : 0) | (c->counts_lgkm ? RP_PROGRAM_LGKM : 0) |
                      (c->in_order ? RP_PROGRAM_IN_ORDER : 0)),
        .size_dwords = (uint8_t)(c->size_bytes / 4),
    };
    if (c->unit == RP_REC_MFMA)
        code.port_clocks = (uint8_t)(SLOT_CLOCKS * c->mfma_passes);
    return code;
}

int rp_program_init(struct rp_program *p, const struct rp_wave_record *r)
{
    const uint32_t count = r->code_count ? r->code_count : 1;
    *p = (struct rp_program){.code = calloc(count, sizeof *p->code),
                             .line = calloc(count, sizeof *p->line)};
    if (!p->code || !p->line) {
        rp_program_release(p);
        return -ENOMEM;
    }
    find_lines(p, r);
    for (uint32_t i = 0; i < r->code_count; i++)
        p->code[i] = code_of(&r->code[i], line_of(p, r->code[i].pc / RP_REC_LINE_BYTES));
    return 0;
}

struct rp_program_code rp_program_add(const struct rp_rec_code *code, uint64_t entry_va)
{
    return code_of(code, (uint16_t)(code->pc / RP_REC_LINE_BYTES - entry_va / RP_REC_LINE_BYTES));
}

void rp_program_release(struct rp_program *p)
{
    free(p->code);
    free(p->line);
    *p = (struct rp_program){0};
}

enum {
    CU_SLOT_CLOCKS = 4, /**< a wave issues once in four clocks: CDNA3 ISA guide, SIMDs take turns */
    QUEUE_CLOCKS =
        64, /**< of work in front of a CU's memory units beyond which they take no more: assumed */
};

static const uint64_t NEVER = UINT64_MAX;

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* ---- turns --------------------------------------------------------------------------------- */

static void put(struct rp_cu_turns *t, uint32_t slot, uint64_t clock)
{
    const uint64_t ahead = clock - t->base;
    if (ahead < RP_CU_LAP) {
        t->occupied |= 1ull << ahead;
        t->slots[ahead] |= 1u << slot;
        return;
    }
    t->far |= 1u << slot;
    t->far_time[slot] = clock;
    if (clock < t->far_first)
        t->far_first = clock;
}

static void next_lap(struct rp_cu_turns *t)
{
    uint32_t left = t->far;
    t->base = t->far_first;
    t->far = 0;
    t->far_first = NEVER;
    for (; left; left &= left - 1) {
        const uint32_t slot = (uint32_t)__builtin_ctz(left);
        put(t, slot, t->far_time[slot]);
    }
}

/* Returns when the next turn is; NEVER: there is none */
static inline uint64_t first(const struct rp_cu_turns *t)
{
    return t->occupied ? t->base + (uint64_t)__builtin_ctzll(t->occupied) : t->far_first;
}

/* Returns the slot whose wave goes first of some. */
static uint32_t first_of(const struct rp_cu_wave *wave, uint32_t slots)
{
    uint32_t best = (uint32_t)__builtin_ctz(slots);
    for (slots &= slots - 1; slots; slots &= slots - 1) {
        const uint32_t slot = (uint32_t)__builtin_ctz(slots);
        if (wave[slot].turn < wave[best].turn)
            best = slot;
    }
    return best;
}

static inline uint32_t take(struct rp_cu *cu, uint64_t *ret_clock)
{
    struct rp_cu_turns *t = &cu->turns;
    if (!t->occupied)
        next_lap(t);
    const uint32_t at = (uint32_t)__builtin_ctzll(t->occupied);
    const uint32_t slot = first_of(cu->wave, t->slots[at]);
    t->slots[at] &= ~(1u << slot);
    if (!t->slots[at])
        t->occupied &= t->occupied - 1;
    *ret_clock = t->base + at;
    return slot;
}

/* ---- begin and end of waves ---------------------------------------------------------------- */

static uint32_t pick_simd(const struct rp_cu *cu)
{
    uint32_t best = 0;
    for (uint32_t s = 1; s < RP_CU_SIMDS; s++)
        if (cu->simd_waves[s] < cu->simd_waves[best])
            best = s;
    return best;
}

static void start_wave(struct rp_timing_simulation *r, struct rp_cu *cu, struct rp_cu_group *g,
                       uint32_t in_group, uint64_t clock)
{
    const uint32_t slot = (uint32_t)__builtin_ctz(~cu->used), simd = pick_simd(cu);
    struct rp_cu_wave *w = &cu->wave[slot];
    memset(w, 0, offsetof(struct rp_cu_wave, result));
    memset(w->result, 0, sizeof w->result);
    in_flight_clear(&w->vm);
    in_flight_clear(&w->lgkm);
    w->rec = &r->rec->group[g->index].wave[in_group];
    w->step = w->rec->step;
    /* A wave without steps, or without accesses, has no array of them, either. */
    w->half = w->end = w->step;
    if (w->step) {
        w->half += w->rec->step_count / 2;
        w->end += w->rec->step_count;
    }
    w->access = w->access_end = w->rec->access;
    if (w->access)
        w->access_end += w->rec->access_count;
    w->simd = (uint8_t)simd;
    w->simd_slot = (uint8_t)__builtin_ctz(~cu->simd_used[simd]);
    cu->simd_used[simd] |= 1u << w->simd_slot;
    w->group = g;
    w->begin = clock;
    w->turn = cu->started++ | (uint64_t)(RP_REC_PRIORITIES - 1) << 32;
    w->place = (struct rp_wave_placement){.group = g->index,
                                          .wave = in_group,
                                          .xcc = (uint16_t)cu->die,
                                          .cu = (uint16_t)(cu->number % r->m.cus_per_die),
                                          .simd = (uint8_t)simd,
                                          .slot = (uint8_t)slot};
    cu->used |= 1u << slot;
    if (!cu->simd_waves[simd]++)
        cu->simd_since[simd] = clock;
    if (!cu->waves++)
        cu->since = clock;
    g->slot[in_group] = (uint8_t)slot;
    r->stats->waves++;
    if (r->watch && r->watch->wave_begins)
        r->watch->wave_begins(r->watch->ctx, &w->place, clock);
    put(&cu->turns, slot, clock);
}

void rp_cu_init(struct rp_cu *cu, uint32_t number, uint32_t die, struct rp_cu_wave *wave)
{
    *cu = (struct rp_cu){
        .number = number, .die = die, .wave = wave, .turns = {.far_first = UINT64_MAX}};
}

uint64_t rp_cu_start(struct rp_timing_simulation *r, struct rp_cu *cu, struct rp_cu_group *g,
                     uint64_t clock)
{
    const uint32_t waves = r->rec->group[g->index].wave_count;
    clock = later(clock, cu->now);
    g->waves_left = g->waves_recorded = waves;
    cu->groups++;
    for (uint32_t i = 0; i < waves; i++)
        start_wave(r, cu, g, i, clock);
    return clock;
}

static void end_wave(struct rp_timing_simulation *r, struct rp_cu *cu, struct rp_cu_wave *w,
                     uint64_t clock)
{
    const uint32_t simd = w->place.simd;
    r->end = later(r->end, clock);
    r->stats->wave_clocks += clock - w->begin;
    if (r->watch && r->watch->wave_ends)
        r->watch->wave_ends(r->watch->ctx, &w->place, clock);
    cu->used &= ~(1u << w->place.slot);
    cu->simd_used[simd] &= ~(1u << w->simd_slot);
    if (!--cu->simd_waves[simd])
        r->stats->simd_busy_clocks += clock - cu->simd_since[simd];
    if (!--cu->waves)
        r->stats->cu_busy_clocks += clock - cu->since;
    for (unsigned level = 0; level < RP_LEVELS; level++)
        w->group->work_64ths[level] += w->work_64ths[level];
    if (!w->tail_end)
        r->known_bytes += (double)w->rec->bytes;
    if (--w->group->waves_left)
        return;
    cu->groups--;
    cu->ended = w->group;
    r->stats->groups++;
}

/* Opens the barrier when all waves that it waits for have come. */
static void open_barrier(struct rp_timing_simulation *r, struct rp_cu *cu, struct rp_cu_group *g,
                         uint64_t clock)
{
    if (!g->at_barrier || g->at_barrier < g->waves_recorded)
        return;
    for (uint32_t i = 0; i < r->rec->group[g->index].wave_count; i++) {
        struct rp_cu_wave *w = &cu->wave[g->slot[i]];
        /* The slot may have another group's wave by now. */
        if (w->group == g && w->place.wave == i && w->waits) {
            w->waits = false;
            put(&cu->turns, g->slot[i], clock + CU_SLOT_CLOCKS);
        }
    }
    r->stats->wait_clocks[RP_REC_MISC] += clock * g->at_barrier - g->barrier_since;
    g->at_barrier = 0;
    g->barrier_since = 0;
}

/* ---- instructions -------------------------------------------------------------------------- */

/* This is the result of a wave's turn. */
struct turn {
    uint64_t next; /**< its next turn; NEVER: it has ended, or is at a barrier */
    bool machine;  /**< nothing happened: it needs what compute units share */
    bool ended;    /**< its workgroup, with it */
    bool starves;  /**< nothing happened: what it does is not known yet */
};

static const struct turn needs_machine = {.next = 0, .machine = true};
static const struct turn needs_steps = {.next = 0, .machine = true, .starves = true};

/* Returns how far two rates are from each other, from 0 to 1; it is near 0 where both are small. */
static double disagreement(double a, double b, double small)
{
    return a + b > 0 ? fabs(a - b) / (a + b + small) : 0;
}

/* Returns the bytes that a record's steps from one on have moved, as its sum of them counts. */
static double kept_bytes(const struct rp_rec_wave *rec, uint32_t first)
{
    double bytes = 0;
    for (uint32_t i = 0; i < rec->access_count && rec->access[i].step < rec->step_count; i++) {
        const struct rp_rec_access *a = &rec->access[i];
        if (a->step >= first)
            bytes += (double)a->lanes * a->lane_bytes * (a->flags & RP_REC_ATOMIC ? 2 : 1);
    }
    return bytes;
}

/* Estimates how much of a wave's record may be unlike the work that came after it: as much as the
 * halves of the record disagree, or the bytes that an instruction moves, which are known of all.
 */
static double unsure(const struct rp_cu_wave *w, uint64_t clock, double each)
{
    const struct rp_rec_wave *rec = w->rec;
    const uint32_t first = rec->step_count / 2;
    const double before = first ? (double)(w->half_clock - w->begin) / first : each;
    const double halves = disagreement(before, each, 0), kept = kept_bytes(rec, 0);
    double bytes = (double)rec->bytes - kept;
    bytes = disagreement(kept / rec->step_count,
                         bytes > 0 ? bytes / (double)(rec->insts - rec->step_count) : 0, 1);
    return (halves > bytes ? halves : bytes) * (double)(w->tail_end - clock);
}

/* What a wave does beyond its record asks caches and memory for as much, by bytes, as the second
 * half of the record did, or where that moved nothing, as all waves did in the end. Nobody waits
 * for it here, but the dispatch does not end before it can have been served (timing_model.c, the
 * floor).
 */
static void add_tail_work(struct rp_timing_simulation *r, struct rp_cu_wave *w)
{
    const struct rp_rec_wave *rec = w->rec;
    const double all = kept_bytes(rec, 0), late = kept_bytes(rec, rec->step_count / 2);
    const double rest = (double)rec->bytes > all ? (double)rec->bytes - all : 0;
    r->known_bytes += late > 0 ? all + rest : all;
    r->unknown_bytes += late > 0 ? 0 : rest;
    for (unsigned level = 0; late > 0 && level < RP_LEVELS; level++)
        w->work_64ths[level] +=
            (uint64_t)((double)(w->work_64ths[level] - w->half_work_64ths[level]) / late * rest);
}

/* Returns how much longer a wave would have waited for ports in the second half of its record if it
 * had done so as in all of it. The oldest waves come first, and are the first whose records are
 * over: those that are left do not wait for them any more, as if they had ended. */
static double more_waits(const struct rp_cu_wave *w)
{
    const double early = (double)w->half_port_wait, late = (double)w->port_wait - early;
    return early > late ? (early - late) / 2 : 0;
}

/*
 * Its record is over. What it did after that is taken to have gone as the second half of it, with
 * as many waits for ports as in all of it; barriers are for the others, whose records end somewhere
 * near.
 */
static struct turn beyond_record(struct rp_timing_simulation *r, struct rp_cu *cu,
                                 struct rp_cu_wave *w, uint64_t clock)
{
    const struct rp_rec_wave *rec = w->rec;
    struct rp_cu_group *g = w->group;
    if (rec->grows)
        return needs_steps;
    if (!w->tail_end && rec->insts > rec->step_count && rec->step_count) {
        const uint32_t second = rec->step_count - rec->step_count / 2;
        const double each = ((double)(clock - w->half_clock) + more_waits(w)) / second;
        w->tail_end = clock + (uint64_t)(each * (double)(rec->insts - rec->step_count)) + 1;
        add_tail_work(r, w);
        r->stats->unsure_clocks += unsure(w, clock, each);
        r->stats->cut_waves++;
        g->waves_recorded--;
        open_barrier(r, cu, g, clock);
        return (struct turn){.next = w->tail_end};
    }
    if (g->waves_left == 1 && clock != r->clock)
        return needs_machine;
    if (!w->tail_end)
        g->waves_recorded--;
    end_wave(r, cu, w, clock);
    if (g->waves_left)
        open_barrier(r, cu, g, clock); /* The other waves wait for one wave less. */
    return (struct turn){.next = NEVER, .ended = !g->waves_left};
}

/* Finds when the instruction's line arrives at the wave; it may have to come from the L2. @return
 * false: the shared caches must be asked when the machine has reached that time
 */
static bool fetch(struct rp_timing_simulation *r, const struct rp_cu *cu, struct rp_cu_wave *w,
                  uint32_t line, uint64_t clock, uint64_t *ret_when)
{
    const struct rp_arch_timing *t = r->m.arch->timing;
    const uint32_t cache = rp_sqc_of(cu->number, r->m.cus_per_die, t->sqcs_per_xcc);
    struct rp_code_slot *slots = &r->code_slot[(size_t)cache * r->code_slots];
    struct rp_code_slot *slot = &slots[line % r->code_slots];
    struct rp_level_stats *s = &r->stats->level[RP_LEVEL_INST_L1];
    const bool hit = slot->line == line + 1;
    if (!hit && clock != r->clock)
        return false;
    w->fetched = line + 1;
    s->reads++;
    s->read_bytes += RP_REC_LINE_BYTES;
    s->read_hits += hit;
    s->late_hits += hit && slot->ready > clock;
    if (!hit) {
        *slot = (struct rp_code_slot){line + 1, clock + t->code_clocks};
        struct rp_code_slot *ahead = &slots[(line + 1) % r->code_slots];
        if (program_goes_on(&r->program, line) && ahead->line != line + 2)
            /* The line ahead is fetched with it. */
            *ahead = (struct rp_code_slot){line + 2, slot->ready};
    }
    *ret_when = later(clock, slot->ready);
    return true;
}

static bool overlap(struct rp_rec_regs a, struct rp_rec_regs b)
{
    return a.first < b.first + b.count && b.first < a.first + a.count;
}

/* Returns when matrix results that the instruction needs, or replaces, are complete. */
static uint64_t when_registers(const struct rp_timing_simulation *r, const struct rp_cu_wave *w,
                               const struct rp_rec_code *c, uint64_t clock)
{
    const uint32_t rest = CU_SLOT_CLOCKS * r->m.arch->timing->mfma_result_slots;
    const bool matrix = c->unit == RP_REC_MFMA;
    uint64_t when = clock;
    for (uint32_t k = 0; k < RP_CU_MFMAS; k++) {
        const struct rp_cu_result *result = &w->result[k];
        if (result->over + rest <= clock)
            continue;
        for (uint32_t i = 0; i < c->read_count; i++) {
            /* A chain through SrcC goes on as soon as the passes are over. */
            const bool chains = matrix && c->accumulator == i + 1;
            if (overlap(c->read[i], result->regs))
                when = later(when, chains ? result->over : result->over + rest);
        }
        for (uint32_t i = 0; i < c->write_count && !matrix; i++)
            if (overlap(c->write[i], result->regs))
                when = later(when, result->over);
    }
    return when;
}

/* Returns until when an instruction of f64 keeps its wave, or its half of the SIMD. */
static inline uint32_t valu_clocks(const struct rp_timing_simulation *r,
                                   const struct rp_program_code *c)
{
    const bool slow = c->value == RP_REC_VALU_WHOLE_F64 || c->value == RP_REC_VALU_HALF_F64;
    return slow ? r->m.arch->timing->valu_f64_clocks : c->port_clocks;
}

/* Tests whether an instruction takes only the half of the VALU that is for waves of odd or of even
 * slots. Published chains say that three waves of a SIMD take as long as four
 * (bench/published.csv, mi300x-vmul2-fp32-12w): the first and the third have one port. */
static inline bool takes_half(const struct rp_timing_simulation *r, const struct rp_program_code *c)
{
    return c->unit == RP_REC_VALU && c->value >= RP_REC_VALU_HALF &&
           r->m.arch->timing->valu_ports == 2;
}

/* Returns when the port of the instruction's unit is free. */
static inline uint64_t when_free(const struct rp_timing_simulation *r, const struct rp_cu *cu,
                                 const struct rp_cu_wave *w, const struct rp_program_code *c)
{
    const uint64_t *half = cu->valu_free[w->simd];
    const uint64_t port = cu->port_free[w->simd][c->port];
    if (takes_half(r, c))
        return half[w->simd_slot % RP_CU_HALVES];
    /* MFMA is issued as VALU instructions are, and then goes through a pipe of its own. */
    if (c->unit == RP_REC_MFMA || c->unit == RP_REC_VALU)
        return later(port, later(half[0], half[1]));
    return port;
}

/* Takes the port of the instruction's unit, which is free. */
static inline void issue(struct rp_timing_simulation *r, struct rp_cu *cu,
                         const struct rp_cu_wave *w, const struct rp_program_code *c,
                         uint64_t clock)
{
    uint64_t *half = cu->valu_free[w->simd];
    if (takes_half(r, c)) {
        half[w->simd_slot % RP_CU_HALVES] = clock + valu_clocks(r, c);
        r->stats->half_clocks += valu_clocks(r, c);
        return;
    }
    if (c->unit == RP_REC_VALU)
        half[0] = half[1] = clock + c->port_clocks;
    else
        cu->port_free[w->simd][c->port] = clock + c->port_clocks;
    if (c->unit == RP_REC_MFMA)
        half[0] = half[1] = clock + CU_SLOT_CLOCKS;
    r->stats->port_clocks[c->unit] += c->port_clocks;
}

static uint64_t note_mfma(const struct rp_timing_simulation *r, struct rp_cu_wave *w,
                          const struct rp_rec_code *c, uint64_t over)
{
    const uint64_t done = over + CU_SLOT_CLOCKS * r->m.arch->timing->mfma_result_slots;
    for (uint32_t i = 0; i < c->write_count; i++)
        w->result[w->results++ % RP_CU_MFMAS] = (struct rp_cu_result){c->write[i], over};
    w->mfma_until = later(w->mfma_until, done);
    return done;
}

/* ---- memory -------------------------------------------------------------------------------- */

/* Returns the clocks of one of the two ports of the LDS (ROCm Compute Profiler documentation,
 * "Local data share"). Each takes 64 bytes in, addresses and data: 8 clocks for a store of 4 bytes
 * by each lane, 20 for one of 16. How much comes out depends on the architecture.
 */
static uint32_t lds_port_clocks(const struct rp_arch_timing *t, const struct rp_rec_access *a)
{
    const uint32_t bytes = (uint32_t)a->lanes * a->lane_bytes;
    const uint32_t in = 4 + (a->flags & RP_REC_WRITES ? (bytes + 63) / 64 : 0);
    const uint32_t out = (bytes + t->lds_read_port_bytes - 1) / t->lds_read_port_bytes;
    return a->flags & RP_REC_READS && out > in ? out : in;
}

/* Returns when the LDS begins with an instruction: its banks and ports serve one after another. */
static uint64_t lds_begin(const struct rp_cu *cu, const struct rp_cu_wave *w, uint64_t clock)
{
    return later(clock, later(cu->lds_free, cu->lds_port_free[w->simd / 2]));
}

static uint64_t share(struct rp_timing_simulation *r, struct rp_cu *cu, const struct rp_cu_wave *w,
                      const struct rp_rec_access *a, uint64_t clock)
{
    if (!a->lds_clocks)
        return clock;
    uint64_t *port = &cu->lds_port_free[w->simd / 2];
    const uint64_t begin = lds_begin(cu, w, clock);
    cu->lds_free = later(clock, cu->lds_free) + a->lds_clocks;
    *port = later(clock, *port) + lds_port_clocks(r->m.arch->timing, a);
    r->stats->lds_busy_clocks += a->lds_clocks;
    r->stats->lds_conflict_clocks += a->lds_conflict_clocks;
    return begin + r->m.arch->timing->lds_clocks + a->lds_clocks - 1;
}

enum { DWORD_BYTES = 4, WIDE_BYTES = 16 };

/* Lines go through the CU's address unit and L1, at its bytes per clock or a look-up per clock.
 * Lanes of more than a dword take as long as those of 16 bytes: counters of real copies have 16
 * accesses of the L1 for 64 lanes of 8 bytes (tests/isa/test_counters.c), and the L1 of an MI210
 * gives 31.8 bytes a clock to doubles and 59 to floats (bench/published.csv). */
static uint32_t address_clocks(const struct rp_timing_simulation *r, const struct rp_rec_access *a)
{
    const uint32_t width = r->m.arch->timing->l1_bytes_per_clock;
    const uint32_t at_once = width / WIDE_BYTES;
    uint32_t clocks = ((uint32_t)a->lanes * a->lane_bytes + width - 1) / width;
    if (a->lane_bytes > DWORD_BYTES && a->lanes > clocks * at_once)
        clocks = (a->lanes + at_once - 1) / at_once;
    return clocks > a->lookups ? clocks : a->lookups;
}

/* Takes a place in front of the address unit, in the order of arrival. It returns when the
 * access's turn comes.
 */
static uint64_t queue_up(const struct rp_timing_simulation *r, struct rp_cu *cu,
                         struct rp_cu_wave *w, const struct rp_rec_access *a, uint64_t clock)
{
    if (!a->line_count)
        return clock;
    if (!w->queued) {
        const uint32_t clocks = address_clocks(r, a);
        w->queued = true;
        w->queued_until = later(clock, cu->address_free);
        cu->address_free = w->queued_until + clocks;
        r->stats->level[RP_LEVEL_L1].busy_clocks += clocks;
    }
    return w->queued_until;
}

/* Returns which part of 256 of the time so far was not the arithmetic's, nor the LDS's. */
static uint32_t part_waiting(const struct rp_timing_simulation *r, uint64_t clock)
{
    const uint64_t units = (uint64_t)r->m.dies * r->m.cus_per_die * r->m.arch->simds_per_cu;
    const uint64_t arithmetic =
        r->stats->port_clocks[RP_REC_VALU] + r->stats->port_clocks[RP_REC_MFMA];
    const uint64_t lds = r->stats->lds_busy_clocks * r->m.arch->simds_per_cu;
    const uint64_t busy = arithmetic > lds ? arithmetic : lds, all = units * clock;
    return busy < all ? (uint32_t)(256 - busy * 256 / all) : 0;
}

static uint64_t vector(struct rp_timing_simulation *r, struct rp_cu *cu, struct rp_cu_wave *w,
                       const struct rp_rec_access *a, uint64_t clock)
{
    uint64_t done = share(r, cu, w, a, clock);
    if (!a->line_count)
        return later(done, clock + CU_SLOT_CLOCKS);
    const uint64_t begin = later(clock, w->queued_until);
    const uint32_t clocks = address_clocks(r, a);
    w->queued = false;
    r->memory.waiting = part_waiting(r, clock);
    for (uint32_t i = 0; i < a->line_count; i++) {
        const uint64_t at = begin + (uint64_t)clocks * i / a->line_count;
        done = later(done, rp_hierarchy_vector(&r->memory, cu->number,
                                               &w->rec->line[a->first_line + i], a->flags, at));
    }
    return done;
}

static uint64_t scalar(struct rp_timing_simulation *r, struct rp_cu *cu, const struct rp_cu_wave *w,
                       const struct rp_rec_access *a, uint64_t clock)
{
    /* s_memtime and similar instructions have no lines, and are assumed to take as long as a hit.
     */
    uint64_t done = clock + (a->line_count ? CU_SLOT_CLOCKS : r->m.arch->timing->scalar_l1_clocks);
    for (uint32_t i = 0; i < a->line_count; i++)
        done = later(done, rp_hierarchy_scalar(&r->memory, cu->number,
                                               &w->rec->line[a->first_line + i], a->flags, clock));
    return done;
}

/* Returns what a memory instruction touches. Accesses of earlier steps are left over where code
 * has been rewritten, because another instruction accessed memory then.
 */
static const struct rp_rec_access *access_of(struct rp_cu_wave *w)
{
    static const struct rp_rec_access nothing = {0};
    const uint32_t step = (uint32_t)(w->step - w->rec->step);
    while (w->access < w->access_end && w->access->step < step)
        w->access++;
    const bool there = w->access < w->access_end && w->access->step == step;
    return there ? w->access : &nothing;
}

/* Tests whether others may notice the access. They do not if the L1, or the LDS, has everything. */
static bool goes_beyond(const struct rp_timing_simulation *r, const struct rp_cu *cu,
                        const struct rp_cu_wave *w, const struct rp_rec_access *a)
{
    if (!a->line_count)
        return false;
    if (a->space == RP_REC_SCALAR || a->flags & (RP_REC_WRITES | RP_REC_PAST_L1))
        return true;
    for (uint32_t i = 0; i < a->line_count; i++)
        if (!hierarchy_in_l1(&r->memory, cu->number, w->rec->line[a->first_line + i].number))
            return true;
    return false;
}

/* Returns when counters of what is under way have room. */
static uint64_t when_counted(struct rp_cu_wave *w, const struct rp_program_code *c, uint64_t clock)
{
    uint64_t when = clock;
    if (c->flags & RP_PROGRAM_VM) {
        in_flight_retire(&w->vm, clock);
        when = later(when, in_flight_wait(&w->vm, RP_IN_FLIGHT_VMCNT - 1));
    }
    if (c->flags & RP_PROGRAM_LGKM) {
        in_flight_retire(&w->lgkm, clock);
        when = later(when, in_flight_wait(&w->lgkm, RP_IN_FLIGHT_LGKMCNT - 1));
    }
    return when;
}

/* Returns when the instruction's unit takes it: the queues in front of memory units are short. */
static uint64_t when_taken(const struct rp_timing_simulation *r, struct rp_cu *cu,
                           struct rp_cu_wave *w, const struct rp_program_code *c,
                           const struct rp_rec_access *a, uint64_t clock)
{
    uint64_t when = when_counted(w, c, clock), turn = clock;
    if (when > clock)
        return when;
    if (c->unit == RP_REC_VMEM)
        turn = queue_up(r, cu, w, a, clock);
    return turn > clock + QUEUE_CLOCKS ? turn - QUEUE_CLOCKS : clock;
}

/* Issues a memory instruction and returns when its result arrives. */
static uint64_t access_memory(struct rp_timing_simulation *r, struct rp_cu *cu,
                              struct rp_cu_wave *w, const struct rp_program_code *c,
                              const struct rp_rec_access *a, uint64_t clock)
{
    uint64_t done;
    r->memory.work_64ths = w->work_64ths;
    if (c->unit == RP_REC_LDS)
        done = later(share(r, cu, w, a, clock), clock + CU_SLOT_CLOCKS);
    else if (c->unit == RP_REC_SMEM)
        done = scalar(r, cu, w, a, clock);
    else
        done = vector(r, cu, w, a, clock);
    w->access += a == w->access;
    if (c->flags & RP_PROGRAM_VM)
        in_flight_add(&w->vm, done, true);
    if (c->flags & RP_PROGRAM_LGKM) {
        in_flight_add(&w->lgkm, done, c->flags & RP_PROGRAM_IN_ORDER);
        w->lgkm_unit = c->unit;
    }
    return done;
}

/* ---- instructions that no unit executes ---------------------------------------------------- */

/* Returns when the wave goes on after s_waitcnt. */
static uint64_t wait_for(struct rp_timing_simulation *r, struct rp_cu_wave *w,
                         const struct rp_program_code *c, uint64_t clock)
{
    const uint64_t vm = in_flight_wait(&w->vm, c->vm), lgkm = in_flight_wait(&w->lgkm, c->lgkm);
    const uint64_t next = later(clock + CU_SLOT_CLOCKS, later(vm, lgkm));
    if (next > clock + CU_SLOT_CLOCKS)
        r->stats->wait_clocks[vm >= lgkm ? RP_REC_VMEM : w->lgkm_unit] +=
            next - clock - CU_SLOT_CLOCKS;
    in_flight_retire(&w->vm, next);
    in_flight_retire(&w->lgkm, next);
    return next;
}

/* Returns when the wave goes on; NEVER: at a barrier */
static uint64_t miscellaneous(struct rp_timing_simulation *r, struct rp_cu_wave *w,
                              const struct rp_program_code *c, uint64_t clock)
{
    struct rp_cu_group *g = w->group;
    switch (c->misc) {
    case RP_REC_WAITCNT:
        return wait_for(r, w, c, clock);
    case RP_REC_NOP:
    case RP_REC_SLEEP:
        return clock + (c->value > CU_SLOT_CLOCKS ? c->value : CU_SLOT_CLOCKS);
    case RP_REC_PRIORITY:
        w->turn = (uint32_t)w->turn | (uint64_t)(RP_REC_PRIORITIES - 1 - c->value) << 32;
        return clock + CU_SLOT_CLOCKS;
    case RP_REC_WAVE_BARRIER:
        g->at_barrier++;
        g->barrier_since += clock;
        w->waits = true;
        return NEVER;
    default:
        return clock + CU_SLOT_CLOCKS;
    }
}

/* ---- a turn -------------------------------------------------------------------------------- */

/* Returns when the wave's next instruction may be issued after this one. */
static inline uint64_t after(const struct rp_timing_simulation *r, const struct rp_cu_wave *w,
                             const struct rp_program_code *c, uint64_t issued)
{
    if (c->unit == RP_REC_VALU)
        return issued + later(CU_SLOT_CLOCKS, c->value ? valu_clocks(r, c) : 0);
    if (c->unit != RP_REC_BRANCH)
        return issued + CU_SLOT_CLOCKS;
    const struct rp_program_code *code = r->program.code;
    const bool goes_on =
        w->step + 1 == w->end || code[w->step[1]].pc_dwords == c->pc_dwords + c->size_dwords;
    return issued + (goes_on ? c->clocks : r->m.arch->timing->taken_branch_clocks);
}

static void tell(const struct rp_timing_simulation *r, struct rp_cu_wave *w, uint64_t ready,
                 uint64_t issued, uint64_t next, uint64_t done)
{
    const struct rp_issue_times times = {.arrived = w->arrived,
                                         .fetched = w->arrived_fetched,
                                         .ready = ready,
                                         .issued = issued,
                                         .next = next,
                                         .done = done};
    w->watched = false;
    if (r->watch->issued)
        r->watch->issued(r->watch->ctx, &w->place, (uint32_t)(w->step - w->rec->step), &times);
}

/* A wave keeps its slot until the L2 has acknowledged what it stored last: waves of a copy on a
 * real MI300X live as long as that (SQ_WAVE_CYCLES of rocprof-compute's sample), and published
 * rates of streams with few waves show the latency of their stores as they show that of loads. */
static uint64_t when_acknowledged(const struct rp_cu_wave *w, uint64_t clock)
{
    return later(clock, in_flight_wait(&w->vm, 0));
}

/* The instruction is there, and so are its registers: it is executed, or waits for its unit. */
static struct turn execute(struct rp_timing_simulation *r, struct rp_cu *cu, struct rp_cu_wave *w,
                           uint32_t index, uint64_t clock)
{
    const struct rp_program_code *c = &r->program.code[index];
    uint64_t issued = clock, done, next;
    if (c->unit == RP_REC_MISC) {
        done = next = miscellaneous(r, w, c, clock);
        if (next == NEVER)
            done = clock + CU_SLOT_CLOCKS;
    } else if (when_free(r, cu, w, c) > clock) { /* Then the oldest of those that wait takes it. */
        const uint64_t turn = when_free(r, cu, w, c);
        w->port_wait += turn - clock;
        r->stats->stall_clocks[c->unit] += turn - clock;
        return (struct turn){.next = turn};
    } else if (c->unit == RP_REC_VMEM || c->unit == RP_REC_LDS || c->unit == RP_REC_SMEM) {
        const struct rp_rec_access *a = access_of(w);
        const uint64_t turn = when_taken(r, cu, w, c, a, clock);
        if (turn > clock) {
            r->stats->stall_clocks[c->unit] += turn - clock;
            return (struct turn){.next = turn};
        }
        if (clock != r->clock && goes_beyond(r, cu, w, a))
            return needs_machine;
        issue(r, cu, w, c, clock);
        if (c->unit == RP_REC_LDS && lds_begin(cu, w, issued) > issued + QUEUE_CLOCKS) {
            const uint64_t taken = lds_begin(cu, w, issued) - QUEUE_CLOCKS;
            r->stats->stall_clocks[c->unit] += taken - issued;
            issued = taken;
        }
        next = issued + CU_SLOT_CLOCKS;
        done = access_memory(r, cu, w, c, a, issued);
        r->end = later(r->end, done);
    } else {
        issue(r, cu, w, c, clock);
        next = after(r, w, c, issued);
        done = issued + c->clocks;
        if (c->unit == RP_REC_MFMA)
            done = note_mfma(r, w, &r->rec->code[index], issued + c->port_clocks);
    }
    cu->insts[c->unit]++;
    if (r->watch)
        tell(r, w, clock, issued, next, done);
    w->step++;
    if (c->misc == RP_REC_END)
        w->step = w->end;
    else if (next == NEVER)
        open_barrier(r, cu, w->group, clock);
    return (struct turn){.next = c->misc == RP_REC_END ? when_acknowledged(w, clock) : next};
}

static inline struct turn turn_of(struct rp_timing_simulation *r, struct rp_cu *cu,
                                  struct rp_cu_wave *w, uint64_t clock)
{
    if (w->step == w->end)
        return beyond_record(r, cu, w, clock);
    const uint32_t index = *w->step;
    const uint32_t line = r->program.code[index].line;
    uint64_t ready = clock;
    if (w->step == w->half) {
        w->half_clock = clock;
        w->half_port_wait = w->port_wait;
        memcpy(w->half_work_64ths, w->work_64ths, sizeof w->half_work_64ths);
    }
    /* There are many waves and so many streams that the CPU's prefetching does not keep up. */
    __builtin_prefetch(w->step + 64);
    if (w->fetched != line + 1 && !fetch(r, cu, w, line, clock, &ready))
        return needs_machine;
    if (r->watch && !w->watched) {
        w->watched = true;
        w->arrived = clock;
        w->arrived_fetched = ready;
    }
    if (w->mfma_until > clock) {
        const uint64_t fetched = ready;
        ready = when_registers(r, w, &r->rec->code[index], ready);
        r->stats->wait_clocks[RP_REC_MFMA] += ready - fetched;
    }
    if (ready > clock) /* Other waves come first. */
        return (struct turn){.next = ready};
    return execute(r, cu, w, index, clock);
}

void rp_cu_resume(struct rp_cu *cu, uint32_t slot, uint64_t clock)
{
    put(&cu->turns, slot, later(clock, cu->now));
}

enum rp_cu_pause rp_cu_run(struct rp_timing_simulation *r, struct rp_cu *cu)
{
    while (first(&cu->turns) != NEVER) {
        uint64_t clock;
        const uint32_t slot = take(cu, &clock);
        struct rp_cu_wave *w = &cu->wave[slot];
        struct turn turn;
        for (;;) { /* While the wave is the first of all, its turns follow each other. */
            cu->now = clock;
            turn = turn_of(r, cu, w, clock);
            if (turn.machine || turn.next >= first(&cu->turns))
                break;
            clock = turn.next;
        }
        if (turn.starves) {
            cu->starved = slot;
            return RP_CU_STARVES;
        }
        if (turn.machine) {
            put(&cu->turns, slot, clock);
            return RP_CU_WAITS;
        }
        if (turn.ended)
            return RP_CU_HAS_ROOM;
        if (turn.next != NEVER)
            put(&cu->turns, slot, turn.next);
    }
    return RP_CU_IDLE;
}

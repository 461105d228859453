/* The inner loop: executes a wave, the waves of a workgroup, and the workgroups of a slice.
 *
 * A recorded wave runs through translated code as well. That code notes each straight run of
 * instructions that it has executed; before anything reads the wave's record (wave_record.h), the
 * runs are written out there, one instruction after another.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/exec/code_cache.h"
#include "device/exec/exec_settings.h"
#include "device/exec/executor.h"
#include "device/exec/host_traps.h"
#include "device/isa/instruction.h"
#include "device/isa/wave_state.h"

/** A place (such as a branch target) is translated after this many entries. */
enum { RP_JIT_HOT = 24 };

/**
 * Counts an execution of the instruction at @p slot, which is @p dwords long; @p times may be -1.
 */
static inline void page_counters_add(struct rp_page_counters *t, size_t slot, unsigned dwords,
                                     int64_t times)
{
    t->runs[slot] += times;
    t->runs[slot + dwords] -= times;
}

static inline void page_counters_add_lanes(struct rp_page_counters *t, size_t slot, unsigned dwords,
                                           unsigned active)
{
    t->lanes[slot] += (int64_t)active - RP_LANES;
    t->lanes[slot + dwords] -= (int64_t)active - RP_LANES;
}

/** The wave is about to execute up to RP_RUN_LOG_RUNS instructions in translated code of a page. */
static inline void run_log_begin(struct rp_run_log *t, const struct rp_code_page *page)
{
    t->next = t->run;
    t->page = page;
}

enum { SLOT_BYTES = 4 };

/** Writes out what there is; the log is empty. */
static void run_log_flush(struct rp_run_log *t, struct rp_wave *w)
{
    const struct rp_observer *observer = rp_observer_of(w);
    const uint64_t entry_va = w->group->dispatch->kernel.entry_va;
    const int64_t distance = (int64_t)(t->page->base_va - entry_va) / SLOT_BYTES;
    for (const uint32_t *run = t->run; run < t->next; run++)
        observer->on_run(w, t->page->insn, *run & 0xffff, *run >> 16, distance);
    t->next = t->run;
}

void rp_run_log_note(struct rp_wave *w, const struct rp_insn *in)
{
    run_log_flush(w->run_log, w);
    rp_observer_of(w)->on_access(w, in);
}

int rp_run_log_access(struct rp_wave *w, const struct rp_insn *in)
{
    rp_run_log_note(w, in);
    return in->fn(w, in);
}

/* The cost of waiting must not depend on how long it takes. A wave that polls memory goes round
 * its loop as often as the host happens to let it. A turn of such a loop that leaves the wave
 * exactly as it was (all registers, no writes, no LDS traffic) did nothing, so it is subtracted
 * from the counts and the wave's clock again. A loop that counts, reads the clock or computes
 * changes the wave, and is charged.
 */

/* After this many loads of one address in a row a wave is assumed to wait for another one. */
enum { POLL_LIMIT = 16 };

/* Four chains run side by side, because one would wait for its multiplications. count is a
 * multiple of 4.
 */
static uint64_t mix(uint64_t hash, const uint32_t *words, size_t count)
{
    uint64_t chain[4] = {hash, hash + 1, hash + 2, hash + 3};
    for (size_t i = 0; i < count; i += 4)
        for (unsigned k = 0; k < 4; k++) {
            uint64_t mixed = (chain[k] ^ words[i + k]) * 0x9e3779b97f4a7c15u;
            chain[k] = mixed ^ mixed >> 32;
        }
    for (unsigned k = 1; k < 4; k++) {
        chain[0] = (chain[0] ^ chain[k]) * 0x9e3779b97f4a7c15u;
        chain[0] ^= chain[0] >> 32;
    }
    return chain[0];
}

/* This hashes every register on which a wave's next instructions can depend. */
static uint64_t state_hash(const struct rp_wave *w)
{
    const uint32_t rest[8] = {(uint32_t)w->pc, (uint32_t)(w->pc >> 32), w->scc, w->mode,
                              w->gpr_idx};
    uint64_t hash = mix(1, rest, 8);
    hash = mix(hash, w->sgpr, RP_SGPR_COUNT);
    for (uint32_t i = 0; i < w->vgpr_count; i++)
        hash = mix(hash, w->vgpr[i], RP_LANES);
    return hash;
}

/** Adds a turn of @p w to the cost of the present turn of its loop; @p before: counts before it. */
static void wait_turn(struct rp_wave *w, const struct rp_counts *before,
                      const struct rp_counts *after)
{
    struct rp_counts *cost = &w->wait.cost;
    cost->wave_insts += after->wave_insts - before->wave_insts;
    cost->issue_cycles += after->issue_cycles - before->issue_cycles;
    cost->read_bytes += after->read_bytes - before->read_bytes;
    cost->write_bytes += after->write_bytes - before->write_bytes;
    cost->lds_bytes += after->lds_bytes - before->lds_bytes;
    for (unsigned i = 0; i < 2 * RP_PLACES; i++)
        cost->link_bytes[i / 2][i % 2] +=
            after->link_bytes[i / 2][i % 2] - before->link_bytes[i / 2][i % 2];
}

/* Begins to compare turns of the loop with the wave as it is now. */
static void begin(struct rp_wave *w, uint64_t hash)
{
    w->wait.hash = hash;
    w->wait.cycles = w->cycles;
    w->wait.cost = (struct rp_counts){0};
    w->wait.kept_bytes = 0;
    w->wait.armed = true;
}

static void take_back(struct rp_wave *w, struct rp_counts *counts)
{
    const struct rp_counts *cost = &w->wait.cost;
    counts->wave_insts -= cost->wave_insts;
    counts->issue_cycles -= cost->issue_cycles;
    counts->read_bytes -= cost->read_bytes;
    counts->write_bytes -= cost->write_bytes;
    for (unsigned i = 0; i < 2 * RP_PLACES; i++)
        counts->link_bytes[i / 2][i % 2] -= cost->link_bytes[i / 2][i % 2];
    w->cycles = w->wait.cycles;
    if (w->record)
        rp_observer_of(w)->on_take_back(w, cost->wave_insts);
}

/**
 * Is called after a turn that ended in RP_STEP_POLL, and after wait_turn(). It subtracts a turn
 * of the loop that changed nothing from @p counts.
 * @return whether others should run first
 */
static bool wait_poll(struct rp_wave *w, struct rp_counts *counts)
{
    struct rp_wait *wait = &w->wait;
    bool others_first = w->poll_count % POLL_LIMIT == 0;
    /* Comparing is not cheap: a loop that computes is looked at ever more seldom. */
    bool begins = (w->poll_count & (w->poll_count - 1)) == 0;
    if (!wait->armed && !begins)
        return others_first;
    uint64_t hash = state_hash(w);
    if (wait->armed && hash == wait->hash && !wait->cost.lds_bytes &&
        wait->cost.write_bytes == wait->kept_bytes) {
        take_back(w, counts);
        begin(w, hash);
        return wait->idle = true;
    }
    if (wait->idle) /* The value that it waited for has come. */
        w->poll_count = 0;
    wait->armed = wait->idle = false;
    if (begins)
        begin(w, hash);
    return others_first;
}

/* Instructions a wave runs before the next wave of its workgroup gets a turn, and after how many
 * of them a thread looks whether it is to stop: translated code ends at each look, and what is left
 * before it is interpreted. */
enum { WAVE_SLICE = 2048, LOOK_INSTS = WAVE_SLICE };
_Static_assert(LOOK_INSTS <= (int)RP_RUN_LOG_RUNS, "the way of a turn fits into a run log");

/* A thread uses this much of the shared budget before it reports. */
enum { SPEND_INSTS = 2048 };

/* A slice may execute this much after an ordered operation, so that others need not wait long. */
enum { AFTER_ORDERED = 512 };

enum group_state {
    GROUP_MORE,
    GROUP_TURN,  /**< its wave waits for its turn in the sequence */
    GROUP_ENDED, /**< all waves executed s_endpgm */
    GROUP_FAULT, /**< the wave's fault says why */
};

static int fetch_fault(struct rp_wave *w, enum rp_fault_kind kind)
{
    w->fault = (struct rp_fault){.kind = kind, .pc = w->pc, .address = w->pc, .lane = -1};
    snprintf(w->fault.text, sizeof w->fault.text, "%s 0x%llx",
             kind == RP_FAULT_NO_MEMORY ? "out of host memory decoding code at"
                                        : "instruction fetch from unmapped address",
             (unsigned long long)w->pc);
    return RP_STEP_FAULT;
}

/* Does the work of page_of() for a page that the worker has not used lately. */
static __attribute__((noinline)) struct rp_code_page *
find_page(struct rp_exec_worker *h, struct rp_wave *w, struct rp_code_page **way)
{
    enum rp_fault_kind kind;
    struct rp_code_page *page =
        rp_code_page_get(&h->env.mem, w->pc, h->dispatch->counting != RP_COUNT_NOTHING, &kind);
    if (!page) {
        fetch_fault(w, kind);
        return NULL;
    }
    rp_code_page_put(*way);
    *way = page;
    return page;
}

/* Returns the page of the wave's pc, from the worker's own small table or the shared cache. */
static inline struct rp_code_page *page_of(struct rp_exec_worker *h, struct rp_wave *w)
{
    struct rp_code_page **way = &h->code[w->pc / RP_CODE_PAGE_BYTES % RP_CODE_WAYS];
    if (__builtin_expect(*way && w->pc - (*way)->base_va < RP_CODE_PAGE_BYTES, 1))
        return *way;
    return find_page(h, w, way);
}

static int register_fault(struct rp_wave *w, const struct rp_insn *in)
{
    char text[120];
    rp_isa_print(in, w->pc, text, sizeof text);
    w->fault = (struct rp_fault){.kind = RP_FAULT_ILLEGAL_OPCODE, .pc = w->pc, .lane = -1};
    snprintf(w->fault.text, sizeof w->fault.text,
             "register beyond the kernel's %u vector registers: %s", w->vgpr_count, text);
    return RP_STEP_FAULT;
}

/* Skips a vector instruction while VSKIP is on. */
static int skip_vector(struct rp_wave *w, const struct rp_insn *in)
{
    (void)w;
    (void)in;
    return RP_STEP_NEXT;
}

/* Tests whether the instruction names registers that the wave does not have, or VSKIP is on. */
static inline bool is_beyond(const struct rp_wave *w, const struct rp_insn *in)
{
    return in->vgpr_top > w->vgpr_count || in->agpr_top > w->agpr_count;
}

/* Execution comes to an instruction from elsewhere: where that happens often is translated. */
static void enter_at(struct rp_code_page *page, uint64_t pc)
{
    const uint64_t index = (pc - page->base_va) / 4;
    if (index >= RP_CODE_PAGE_INSNS) /* The next instruction is on another page. */
        return;
    const uint8_t heat = __atomic_load_n(&page->heat[index], __ATOMIC_RELAXED);
    if (heat >= RP_JIT_HOT)
        return;
    __atomic_store_n(&page->heat[index], heat + 1, __ATOMIC_RELAXED);
    if (heat + 1 == RP_JIT_HOT)
        rp_code_translate(page, (unsigned)index);
}

/* Does the same for recorded waves. */
static void enter_recorded_at(struct rp_code_page *page, uint64_t pc)
{
    const uint64_t index = (pc - page->base_va) / 4;
    struct rp_code_recorded *r = __atomic_load_n(&page->recorded, __ATOMIC_ACQUIRE);
    if (index >= RP_CODE_PAGE_INSNS || (!r && !(r = rp_code_recorded_new(page))))
        return;
    const uint8_t heat = __atomic_load_n(&r->heat[index], __ATOMIC_RELAXED);
    if (heat >= RP_JIT_HOT)
        return;
    __atomic_store_n(&r->heat[index], heat + 1, __ATOMIC_RELAXED);
    if (heat + 1 == RP_JIT_HOT)
        rp_code_translate_recorded(page, (unsigned)index);
}

/* This describes a wave's turn. Compilers zero it in pieces of 16 bytes. If such a piece lies
 * across two lines of the cache, reading a part of it waits for all stores of the turn before.
 */
struct turn {
    _Alignas(RP_LINE_BYTES) uint64_t cycles; /**< used */
    struct rp_code_page *page;               /**< the latest, or NULL */
    struct rp_page_counters *tally;          /**< its, when executions are counted */
    uint32_t left;                           /**< instructions */
    bool interpret;                          /**< the next instruction, whatever there is for it */
    bool records;                            /**< the wave's record is open */
    bool translates;                         /**< what is hot */
};

static inline bool is_to_be_retried(int step)
{
    return step == RP_STEP_TURN || step == RP_STEP_LATER;
}

/* The instruction just executed is one that has not been reached. */
static void run_take_back(struct turn *t, struct rp_wave *w, const struct rp_insn *in)
{
    w->pc -= in->size_bytes;
    w->cycles -= in->issue_cycles;
    t->cycles -= in->issue_cycles;
    t->left++;
    if (t->tally)
        page_counters_add(t->tally, (size_t)(in - t->page->insn), in->size_bytes / 4, -1);
}

static void enter_turn_at(const struct turn *t, uint64_t pc)
{
    if (t->records)
        enter_recorded_at(t->page, pc);
    else
        enter_at(t->page, pc);
}

/* Translated code has come back with a step that is not as the interpreter's would be. */
static __attribute__((noinline)) int after_native(struct turn *t, struct rp_wave *w,
                                                  const struct rp_insn *in, int step)
{
    t->interpret = step == RP_JIT_INTERPRET;
    if (step == RP_JIT_INTERPRET)
        return RP_STEP_NEXT;
    if (step == RP_JIT_ELSEWHERE) {
        enter_turn_at(t, w->pc);
        return RP_STEP_NEXT;
    }
    if (is_to_be_retried(step)) {
        run_take_back(t, w, in);
        if (t->records)
            rp_observer_of(w)->on_take_back(w, 1);
    }
    return step;
}

/* Executes translated code. Returns the step that ended the turn, or NEXT. */
static inline int run_native(struct turn *t, struct rp_wave *w, const struct rp_jit_entry *native)
{
    struct rp_jit_state state = {.left = t->left, .cycles = t->cycles, .tally = t->tally};
    if (t->records)
        run_log_begin(w->run_log, t->page);
    const int step = native->enter(w, &state, native->code);
    if (t->records)
        run_log_flush(w->run_log, w);
    t->left = state.left;
    t->cycles = state.cycles;
    t->interpret = false;
    return step == RP_STEP_END ? step : after_native(t, w, state.in, step);
}

/* Returns what is translated at an instruction, for the wave or any of its kind. */
static inline const struct rp_jit_entry *native_of(const struct rp_code_page *page,
                                                   const struct rp_insn *in, bool records)
{
    if (!records)
        return __atomic_load_n(&in->native, __ATOMIC_ACQUIRE);
    const struct rp_code_recorded *r = __atomic_load_n(&page->recorded, __ATOMIC_ACQUIRE);
    return r ? __atomic_load_n(&r->native[in - page->insn], __ATOMIC_ACQUIRE) : NULL;
}

/* Returns what is translated at the wave's pc, if it can be entered. The next instruction was
 * decoded when it was translated.
 */
static inline const struct rp_jit_entry *native_at(const struct turn *t, const struct rp_wave *w)
{
    const struct rp_insn *in = &t->page->insn[(w->pc - t->page->base_va) / 4];
    const struct rp_jit_entry *native = native_of(t->page, in, t->records);
    return native && !t->interpret && rp_jit_fits(native, w, t->left) ? native : NULL;
}

/* Notes an execution before it changes EXEC. */
static inline void note(const struct turn *t, const struct rp_wave *w, const struct rp_insn *in)
{
    const size_t slot = (size_t)(in - t->page->insn);
    page_counters_add(t->tally, slot, in->size_bytes / 4, 1);
    const uint64_t exec = RP_EXEC(w);
    if (exec != ~0ull && rp_insn_counts_lanes(in))
        page_counters_add_lanes(t->tally, slot, in->size_bytes / 4,
                                (unsigned)__builtin_popcountll(exec));
}

/* Interpretation may do this as well. */
enum beside { NOTHING, TRANSLATE, RECORD };

/* Interprets from the wave's pc in t->page up to the end of the turn or of the page. If it is to
 * TRANSLATE, it also stops at translated code that fits. @return as run_native
 */
static inline __attribute__((always_inline)) int interpret(struct turn *turn, struct rp_wave *w,
                                                           enum beside beside, bool counts)
{
    struct rp_code_page *const page = turn->page;
    uint64_t pc = w->pc, cycles = turn->cycles;
    uint32_t left = turn->left;
    const struct rp_insn *in = &page->insn[(pc - page->base_va) / 4];
    const struct rp_insn *const end = page->insn + RP_CODE_PAGE_INSNS;
    bool must = turn->interpret;
    int step = RP_STEP_NEXT;
    do {
        rp_insn_fn *fn = __atomic_load_n(&in->fn, __ATOMIC_ACQUIRE);
        if (__builtin_expect(!fn, 0)) {
            rp_code_decode(page, (unsigned)(in - page->insn));
            continue;
        }
        if (beside == TRANSLATE || (beside == RECORD && turn->translates)) {
            const struct rp_jit_entry *native = native_of(page, in, beside == RECORD);
            if (native && !must && rp_jit_fits(native, w, left)) {
                turn->left = left;
                turn->cycles = cycles;
                return run_native(turn, w, native);
            }
            must = false;
        }
        if (__builtin_expect(is_beyond(w, in), 0)) {
            if (!(w->gpr_idx & RP_VALU_SKIP)) {
                step = register_fault(w, in);
                break;
            }
            fn = skip_vector;
        }
        if (beside == RECORD)
            rp_observer_of(w)->on_issue(w, in, pc);
        const uint64_t next = pc + in->size_bytes;
        w->pc = next;
        w->cycles += in->issue_cycles;
        cycles += in->issue_cycles;
        left--;
        if (counts)
            note(turn, w, in);
        step = fn(w, in);
        if (__builtin_expect(step != RP_STEP_NEXT, 0)) {
            turn->left = left;
            turn->cycles = cycles;
            turn->interpret = false;
            if (is_to_be_retried(step)) {
                run_take_back(turn, w, in);
                if (beside == RECORD)
                    rp_observer_of(w)->on_take_back(w, 1);
            }
            return step;
        }
        pc = w->pc;
        if (pc == next) {
            in = (const struct rp_insn *)((const char *)in + in->slot_bytes);
            if (in >= end)
                break;
        } else { /* The instruction is a branch. */
            if (pc - page->base_va >= RP_CODE_PAGE_BYTES)
                break;
            if (beside == TRANSLATE)
                enter_at(page, pc);
            else if (beside == RECORD && turn->translates)
                enter_recorded_at(page, pc);
            in = &page->insn[(pc - page->base_va) / 4];
        }
    } while (left);
    turn->left = left;
    turn->cycles = cycles;
    turn->interpret = false;
    return step;
}

/* These are not inlined, because their loops need all of the CPU's registers. */
static __attribute__((noinline)) int interpret_only(struct turn *turn, struct rp_wave *w)
{
    return interpret(turn, w, NOTHING, false);
}

static __attribute__((noinline)) int interpret_some(struct turn *turn, struct rp_wave *w)
{
    return interpret(turn, w, TRANSLATE, false);
}

static __attribute__((noinline)) int interpret_counted(struct turn *turn, struct rp_wave *w,
                                                       bool translates)
{
    return interpret(turn, w, translates ? TRANSLATE : NOTHING, true);
}

static __attribute__((noinline)) int interpret_recorded(struct turn *turn, struct rp_wave *w)
{
    return interpret(turn, w, RECORD, turn->tally);
}

static uint64_t bytes_of(const struct rp_counts *c)
{
    return c->read_bytes + c->write_bytes + c->lds_bytes;
}

/* Executes up to *budget instructions of one wave, counting it down. @return the step that ended
 * the turn; NEXT = budget used up
 */
static int run_wave(struct rp_exec_worker *h, struct rp_wave *w, uint32_t *budget)
{
    w->run_log = &h->run_log;
    const bool records = __builtin_expect(w->record && rp_observer_of(w)->on_turn(w), 0);
    /* Translated code changes EXEC without saying when. */
    const bool translates =
        h->dispatch->translates && !(records && h->dispatch->launch.keeps_masks);
    struct turn turn = {.left = *budget, .records = records, .translates = translates};
    const struct rp_code_page *before = NULL;
    const uint64_t bytes = w->record ? bytes_of(&h->env.counts) : 0;
    int step = RP_STEP_NEXT;
    while (turn.left && step == RP_STEP_NEXT) {
        turn.page = page_of(h, w);
        if (!turn.page) {
            step = RP_STEP_FAULT;
            break;
        }
        if (turn.page->counts && !(turn.tally = rp_page_counters_of(h, turn.page))) {
            step = fetch_fault(w, RP_FAULT_NO_MEMORY);
            break;
        }
        const struct rp_jit_entry *native = translates ? native_at(&turn, w) : NULL;
        if (translates && !native && turn.page != before &&
            (before || w->pc == h->dispatch->kernel.entry_va)) {
            enter_turn_at(&turn, w->pc);
            native = native_at(&turn, w);
        }
        before = turn.page;
        if (native)
            step = run_native(&turn, w, native);
        else if (records)
            step = interpret_recorded(&turn, w);
        else if (turn.tally)
            step = interpret_counted(&turn, w, translates);
        else
            step = translates ? interpret_some(&turn, w) : interpret_only(&turn, w);
    }
    /* The wave goes on here. */
    if (translates && step != RP_STEP_NEXT && step != RP_STEP_END && turn.page)
        enter_turn_at(&turn, w->pc);
    if (w->record)
        rp_observer_of(w)->on_retire(w, records ? 0 : *budget - turn.left,
                                     bytes_of(&h->env.counts) - bytes);
    h->env.counts.wave_insts += *budget - turn.left;
    h->env.counts.issue_cycles += turn.cycles;
    *budget = turn.left;
    return step;
}

struct guarded_wave {
    struct rp_exec_worker *worker;
    struct rp_wave *wave;
    uint32_t left;
    int step;
};

static void wave_body(void *ctx)
{
    struct guarded_wave *g = ctx;
    g->step = run_wave(g->worker, g->wave, &g->left);
}

/* Does what run_wave() does where memory may vanish under an access, which is then the wave's
 * fault.
 */
static int run_guarded(struct rp_exec_worker *h, struct rp_wave *w, uint32_t *budget)
{
    /* FLAT, MUBUF, MTBUF and SMEM have this size, and the pc is already behind the instruction. */
    enum { MEMORY_INSN_BYTES = 8 };
    struct guarded_wave g = {.worker = h, .wave = w, .left = *budget};
    char text[120] = "";
    struct rp_trap trap;
    if (rp_trap_run(wave_body, &g, &trap)) {
        *budget = g.left;
        return g.step;
    }
    h->env.logging = h->ordered = false;
    w->pc -= MEMORY_INSN_BYTES;
    const struct rp_code_page *page = page_of(h, w);
    if (page)
        rp_isa_print(&page->insn[(w->pc - page->base_va) / 4], w->pc, text, sizeof text);
    w->fault = (struct rp_fault){
        .kind = RP_FAULT_MEMORY, .pc = w->pc, .address = trap.address, .lane = -1};
    snprintf(w->fault.text, sizeof w->fault.text, "%s: the program's memory at 0x%llx %s", text,
             (unsigned long long)trap.address, rp_trap_text(trap.kind));
    return RP_STEP_FAULT;
}

static void release_barrier(struct rp_group *g)
{
    if (!g->waves_at_barrier || g->waves_at_barrier + g->waves_ended < g->wave_count)
        return;
    for (uint32_t i = 0; i < g->wave_count; i++) {
        g->waves[i].at_barrier = false;
        g->waves[i].past_barrier =
            g->wave_count > 1 && g->dispatch->settings.order == RP_WAVE_ORDER_FORWARD;
    }
    g->waves_at_barrier = 0;
}

static void next_wave(struct rp_group *g)
{
    if (__builtin_expect(g->dispatch->settings.order != RP_WAVE_ORDER_FORWARD, 0))
        g->cursor = rp_wave_order_next(g->dispatch->settings.order, g);
    else
        g->cursor = g->cursor + 1 == g->wave_count ? 0 : g->cursor + 1;
    g->wave_budget = 0;
}

static enum group_state end_wave(struct rp_exec_worker *h, struct rp_group *g, struct rp_wave *w)
{
    w->ended = true;
    if (g->check)
        rp_exec_checker()->on_barrier(w, true);
    g->waves_ended++;
    g->idle_turns = 0;
    h->done.cycles += w->cycles;
    h->env.counts.waves++;
    if (w->cycles > h->env.counts.max_wave_cycles)
        h->env.counts.max_wave_cycles = w->cycles;
    release_barrier(g);
    next_wave(g);
    return g->waves_ended == g->wave_count ? GROUP_ENDED : GROUP_MORE;
}

/* After s_icache_inv, each page of code is compared with memory when the thread next enters it,
 * and decoded again if it has been rewritten (rp_code_page_get). Waves of other threads keep what
 * they have until they execute an s_icache_inv themselves, as those of other compute units do.
 */
static void forget_code(struct rp_exec_worker *h)
{
    for (unsigned i = 0; i < RP_CODE_WAYS; i++) {
        rp_code_page_put(h->code[i]);
        h->code[i] = NULL;
    }
}

/* Says what a wave's turn means for its workgroup. */
static enum group_state after_turn(struct rp_exec_worker *h, struct rp_group *g, struct rp_wave *w,
                                   int step)
{
    switch (step) {
    case RP_STEP_REFETCH:
        forget_code(h);
        /* fallthrough */
    case RP_STEP_NEXT:
    case RP_STEP_ORDERED:
        if (!g->wave_budget) { /* Otherwise the turn has only been interrupted. */
            next_wave(g);
            g->idle_turns = 0;
        }
        return GROUP_MORE;
    case RP_STEP_TURN:
        return GROUP_TURN;
    case RP_STEP_LATER:
        next_wave(g);
        return GROUP_MORE;
    case RP_STEP_BARRIER:
        w->at_barrier = true;
        if (g->check)
            rp_exec_checker()->on_barrier(w, false);
        g->waves_at_barrier++;
        g->idle_turns = 0;
        release_barrier(g);
        next_wave(g);
        return GROUP_MORE;
    case RP_STEP_PAUSE:
        g->idle_turns = 0;
        next_wave(g);
        return GROUP_MORE;
    case RP_STEP_POLL:
        if (!wait_poll(w, &h->env.counts)) {
            if (!g->wave_budget)
                next_wave(g);
            return GROUP_MORE;
        }
        /* fallthrough */
    case RP_STEP_YIELD:
        g->idle_turns++;
        next_wave(g);
        return GROUP_MORE;
    case RP_STEP_END:
        return end_wave(h, g, w);
    default:
        return GROUP_FAULT;
    }
}

/* Tells the others what this worker has used of the budget they share. */
static void spend(struct rp_exec_worker *h)
{
    struct rp_dispatch *d = h->dispatch;
    if (__atomic_sub_fetch(&d->budget, h->spent, __ATOMIC_RELAXED) <= 0)
        __atomic_store_n(&d->stop, 1, __ATOMIC_RELAXED);
    /* The caller waits for its own thread: a dispatch that only this one can execute must not take
     * the time that all of them would have had together. */
    if (h == d->workers[0] && (h->share_left -= h->spent) <= 0)
        __atomic_store_n(&d->stop, 1, __ATOMIC_RELAXED);
    h->spent = 0;
}

/* Runs part of the turn of the workgroup's present wave. */
static enum group_state run_turn(struct rp_exec_worker *h, struct rp_workgroup_slot *lane,
                                 struct rp_group *g)
{
    struct rp_wave *w = &g->waves[g->cursor];
    if (w->ended || w->at_barrier) { /* They are never all of the waves (release_barrier()). */
        next_wave(g);
        return GROUP_MORE;
    }
    if (!g->wave_budget)
        g->wave_budget =
            rp_wave_order_turn(h->dispatch->settings.order, g,
                               lane->left < WAVE_SLICE ? (uint32_t)lane->left : WAVE_SLICE);
    uint32_t turn = g->wave_budget < LOOK_INSTS ? g->wave_budget : LOOK_INSTS;
    uint32_t unused = turn;
    const bool polls = w->wait.armed; /* Otherwise nobody asks what its loop has cost. */
    const uint64_t insts = h->env.counts.wave_insts;
    struct rp_counts before = {0};
    if (polls)
        before = h->env.counts;
    int step = __builtin_expect(rp_mem_borrows(&h->env.mem), 0) ? run_guarded(h, w, &unused)
                                                                : run_wave(h, w, &unused);
    if (polls)
        wait_turn(w, &before, &h->env.counts);
    uint32_t used = turn - unused;
    g->wave_budget -= used;
    lane->left -= used;
    if (h->ordered) {
        h->ordered = false;
        if (lane->left > AFTER_ORDERED)
            lane->left = AFTER_ORDERED;
        if (rp_wave_order_is_interleaved(h->dispatch->settings.order)) {
            lane->stalled = rp_wave_order_stall(h->dispatch->settings.order, h->order);
            lane->left = 0;
        }
        if (g->wave_budget > lane->left)
            g->wave_budget = (uint32_t)lane->left;
    }
    h->spent += used;
    if (h->spent >= SPEND_INSTS)
        spend(h);
    enum group_state state = after_turn(h, g, w, step);
    g->insts += h->env.counts.wave_insts - insts; /* A poll takes back earlier turns, too. */
    if (state == GROUP_FAULT) {
        lane->fault = w->fault;
        lane->fault.in_wave = true;
        lane->fault.wave = w->id_in_group;
        memcpy(lane->fault.group_id, g->id, sizeof g->id);
    }
    /* Every wave that could run went to sleep in turn, so other workgroups must run to change
     * that.
     */
    if (state == GROUP_MORE &&
        g->idle_turns >= g->wave_count - g->waves_ended - g->waves_at_barrier) {
        lane->idle = true;
        lane->left = 0;
    }
    return state;
}

static bool must_stop(const struct rp_exec_worker *h)
{
    const struct rp_dispatch *d = h->dispatch;
    return __atomic_load_n(&d->stop, __ATOMIC_RELAXED) ||
           h->order > __atomic_load_n(&d->fault_order, __ATOMIC_RELAXED);
}

static bool begin_group(struct rp_exec_worker *h, struct rp_workgroup_slot *lane)
{
    struct rp_resident_group *slot = h->spare;
    h->spare = NULL;
    if (!slot)
        slot = rp_resident_group_take(h->dispatch);
    if (!slot) {
        lane->fault = (struct rp_fault){.kind = RP_FAULT_NO_MEMORY,
                                        .pc = h->dispatch->kernel.entry_va,
                                        .lane = -1,
                                        .text = "out of host memory for the state of a workgroup"};
        return false;
    }
    slot->group.env = &h->env;
    rp_resident_group_start(h->dispatch, slot, lane->chunk_next++,
                            lane->known.cycles + h->done.cycles);
    lane->slot = slot;
    return true;
}

static void end_group(struct rp_exec_worker *h, struct rp_workgroup_slot *lane)
{
    const struct rp_group *g = &lane->slot->group;
    const uint32_t dies = h->dispatch->arch->xcc_count;
    h->done.groups++;
    if (dies > 1 && dies <= RP_EXEC_DIES)
        rp_die_work_add(&h->done.die[g->linear_id % dies],
                        &(struct rp_die_work){1, g->wave_count, g->insts});
    rp_group_clock_end(&lane->slot->group);
    rp_group_check_end(&lane->slot->group);
    rp_resident_group_give(h->spare);
    h->spare = lane->slot;
    lane->slot = NULL;
}

static enum rp_slice_state run_slice(struct rp_exec_worker *h, struct rp_workgroup_slot *lane)
{
    if (lane->slot)
        lane->slot->group.env = &h->env;
    while (lane->left) {
        if (must_stop(h))
            return RP_SLICE_SUSPENDED;
        if (!lane->slot) {
            if (lane->chunk_next == lane->chunk_end)
                break;
            if (!begin_group(h, lane))
                return RP_SLICE_FAULT;
        }
        rp_exec_worker_enter(h);
        enum group_state state = run_turn(h, lane, &lane->slot->group);
        rp_exec_worker_leave(h);
        switch (state) {
        case GROUP_MORE:
            break;
        case GROUP_TURN:
            return RP_SLICE_TURN;
        case GROUP_ENDED:
            end_group(h, lane);
            lane->idle = false;
            break;
        case GROUP_FAULT:
            return RP_SLICE_FAULT;
        }
    }
    return RP_SLICE_OVER;
}

enum rp_slice_state rp_slice_run(struct rp_exec_worker *h, struct rp_workgroup_slot *lane)
{
    enum rp_slice_state state = run_slice(h, lane);
    spend(h);
    return state;
}

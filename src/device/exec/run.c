#include "run.h"

#include <stdio.h>
#include <string.h>

#include "../isa/ops.h"
#include "../timing/cost.h"
#include "wait.h"

/* Instructions a wave runs before the next wave of its workgroup gets a turn. */
enum { WAVE_SLICE = 2048 };

static int fetch_fault(struct rp_wave *w, enum rp_fault_kind kind)
{
    w->fault = (struct rp_fault){.kind = kind, .pc = w->pc, .address = w->pc, .lane = -1};
    snprintf(w->fault.text, sizeof w->fault.text, "%s 0x%llx",
             kind == RP_FAULT_NO_MEMORY ? "out of host memory decoding code at"
                                        : "instruction fetch from unmapped address",
             (unsigned long long)w->pc);
    return RP_STEP_FAULT;
}

/* The page of the wave's pc, from the dispatch's own small table or the shared cache. */
static struct rp_code_page *page_of(struct rp_dispatch *d, struct rp_wave *w)
{
    struct rp_code_page **way = &d->code[w->pc / RP_CODE_PAGE_BYTES % RP_CODE_WAYS];
    if (*way && w->pc - (*way)->base_va < RP_CODE_PAGE_BYTES)
        return *way;
    enum rp_fault_kind kind;
    struct rp_code_page *page = rp_code_page_get(&d->mem, w->pc, &kind);
    if (!page) {
        fetch_fault(w, kind);
        return NULL;
    }
    rp_code_page_put(*way);
    *way = page;
    return page;
}

static int register_fault(struct rp_wave *w, const struct rp_insn *in)
{
    char text[120];
    rp_isa_print(in, w->pc, text, sizeof text);
    w->fault = (struct rp_fault){.kind = RP_FAULT_ILLEGAL_OPCODE, .pc = w->pc, .lane = -1};
    snprintf(w->fault.text, sizeof w->fault.text,
             "register beyond the kernel's %u+%u vector registers: %s", w->vgpr_count,
             w->agpr_count, text);
    return RP_STEP_FAULT;
}

/* Whether MODE (rounding, denormals, clamp) has a say in what a VALU instruction computes. */
static bool obeys_mode(const struct rp_insn *in)
{
    const struct rp_op_row *row = &rp_op_rows[in->op];
    bool valu = row->fmt == RP_FMT_VOP1 || row->fmt == RP_FMT_VOP2 || row->fmt == RP_FMT_VOPC ||
                row->fmt == RP_FMT_VOP3 || row->fmt == RP_FMT_VOP3P;
    bool floats = rp_type_is_float(row->dst);

    for (unsigned i = 0; i < 4; i++)
        floats |= rp_type_is_float(row->src[i]);
    return valu && floats;
}

static int mode_fault(struct rp_wave *w, const struct rp_insn *in)
{
    char text[120];
    rp_isa_print(in, w->pc, text, sizeof text);
    w->fault = (struct rp_fault){.kind = RP_FAULT_UNIMPLEMENTED, .pc = w->pc, .lane = -1};
    snprintf(w->fault.text, sizeof w->fault.text,
             "float instruction with MODE 0x%x, only 0x3f0 is implemented: %s", w->mode, text);
    return RP_STEP_FAULT;
}

/*
 * Executes up to *budget instructions of one wave, counting it down. Returns the step that ended
 * the turn; NEXT = budget used up.
 */
static int run_wave(struct rp_dispatch *d, struct rp_wave *w, uint32_t *budget)
{
    uint32_t left = *budget;
    uint64_t cycles = 0;
    int step = RP_STEP_NEXT;
    bool no_floats = d->kernel.no_floats;
    while (left) {
        struct rp_code_page *page = page_of(d, w);
        if (!page) {
            step = RP_STEP_FAULT;
            break;
        }
        struct rp_insn *insns = page->insn;
        uint64_t base_va = page->base_va, offset;
        while (left && (offset = w->pc - base_va) < RP_CODE_PAGE_BYTES) {
            const struct rp_insn *in = &insns[offset / 4];
            rp_insn_fn *fn = __atomic_load_n(&in->fn, __ATOMIC_ACQUIRE);
            if (__builtin_expect(!fn, 0)) {
                rp_code_decode(page, (unsigned)(offset / 4));
                continue;
            }
            if (__builtin_expect(in->vgpr_top > w->vgpr_count || in->agpr_top > w->agpr_count, 0)) {
                step = register_fault(w, in);
                goto out;
            }
            if (__builtin_expect(no_floats, 0) && obeys_mode(in)) {
                step = mode_fault(w, in);
                goto out;
            }
            w->pc += in->size_bytes;
            unsigned cost = rp_cost_cycles[in->cost_class];
            cycles += cost;
            w->cycles += cost;
            left--;
            step = fn(w, in);
            if (__builtin_expect(step != RP_STEP_NEXT, 0))
                goto out;
        }
    }
out:
    d->counts.wave_insts += *budget - left;
    d->counts.issue_cycles += cycles;
    *budget = left;
    return step;
}

static void release_barrier(struct rp_group *g)
{
    if (!g->waves_at_barrier || g->waves_at_barrier + g->waves_ended < g->wave_count)
        return;
    for (uint32_t i = 0; i < g->wave_count; i++)
        g->waves[i].at_barrier = false;
    g->waves_at_barrier = 0;
}

static void next_wave(struct rp_group *g)
{
    g->cursor = g->cursor + 1 == g->wave_count ? 0 : g->cursor + 1;
    g->wave_budget = 0;
}

static void end_idle_slice(struct rp_group *g)
{
    g->slice_budget = 0;
    g->waiting = true;
}

/* What a wave's turn means for its workgroup. */
static enum rp_group_state after_turn(struct rp_dispatch *d, struct rp_group *g, struct rp_wave *w,
                                      int step)
{
    switch (step) {
    case RP_STEP_NEXT:
        if (!g->wave_budget)
            next_wave(g);
        g->idle_turns = 0;
        return RP_GROUP_MORE;
    case RP_STEP_BARRIER:
        w->at_barrier = true;
        g->waves_at_barrier++;
        g->idle_turns = 0;
        release_barrier(g);
        next_wave(g);
        return RP_GROUP_MORE;
    case RP_STEP_POLL:
        if (!rp_wait_poll(w, &d->counts)) {
            if (!g->wave_budget)
                next_wave(g);
            return RP_GROUP_MORE;
        }
        /* fallthrough */
    case RP_STEP_YIELD:
        g->idle_turns++;
        next_wave(g);
        return RP_GROUP_MORE;
    case RP_STEP_END:
        w->ended = true;
        g->waves_ended++;
        g->idle_turns = 0;
        d->retired_cycles += w->cycles;
        d->counts.waves++;
        if (w->cycles > d->counts.max_wave_cycles)
            d->counts.max_wave_cycles = w->cycles;
        release_barrier(g);
        next_wave(g);
        return g->waves_ended == g->wave_count ? RP_GROUP_ENDED : RP_GROUP_MORE;
    default:
        d->fault = w->fault;
        return RP_GROUP_FAULT;
    }
}

enum rp_group_state rp_group_run(struct rp_dispatch *d, struct rp_group *g, uint64_t *budget)
{
    while (g->slice_budget && *budget) {
        struct rp_wave *w = &g->waves[g->cursor];
        if (w->ended || w->at_barrier) { /* never all of them: see release_barrier */
            next_wave(g);
            continue;
        }
        if (!g->wave_budget)
            g->wave_budget = g->slice_budget < WAVE_SLICE ? (uint32_t)g->slice_budget : WAVE_SLICE;
        uint32_t turn = g->wave_budget < *budget ? g->wave_budget : (uint32_t)*budget;
        uint32_t left = turn;
        struct rp_counts before = d->counts;
        int step = run_wave(d, w, &left);
        rp_wait_turn(w, &before, &d->counts);
        uint32_t used = turn - left;
        g->wave_budget -= used;
        g->slice_budget -= used;
        *budget -= used;
        enum rp_group_state state = after_turn(d, g, w, step);
        if (state != RP_GROUP_MORE)
            return state;
        /* Every wave that could run went to sleep in turn: let other workgroups change that. */
        if (g->idle_turns >= g->wave_count - g->waves_ended - g->waves_at_barrier)
            end_idle_slice(g);
    }
    return RP_GROUP_MORE;
}

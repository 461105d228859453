/* What makes the result independent of the number of threads.
 *
 * Slices are executed at the same time, but an *ordered operation* waits until every earlier slice
 * has retired: a memory atomic that returns a value, any load or store with sc1 (so HIP compiles
 * atomic and volatile accesses; for gfx90a, loads with glc), a message to the host. Everything a
 * program may synchronise with is among them, so a program without data races gets exactly what it
 * would get if slices were executed one after another. Atomics that return nothing do not wait:
 * they are noted, and applied when their slice retires, or before it touches their pages in another
 * way.
 *
 * After an ordered operation a slice ends soon, so that what follows overlaps with other slices.
 */
#include <stdlib.h>
#include <string.h>
#include <xmmintrin.h>

#include "device/exec/exec_settings.h"
#include "device/exec/executor.h"
#include "device/exec/host_traps.h"
#include "device/isa/instruction.h"
#include "device/isa/lane.h"
#include "device/isa/mem_address.h"
#include "device/isa/wave_state.h"

/** Returns an empty log, or NULL when the host is out of memory. */
static struct rp_atomic_log *atomic_log_new(struct rp_dispatch *d)
{
    pthread_mutex_lock(&d->lock);
    struct rp_atomic_log *log = d->free_logs;
    if (log)
        d->free_logs = log->next;
    pthread_mutex_unlock(&d->lock);
    if (log)
        return log;
    log = malloc(sizeof *log);
    if (log)
        rp_atomic_log_clear(log);
    return log;
}

struct application {
    struct rp_atomic_log *log;
    struct rp_mem *mem;
};

static void apply_body(void *ctx)
{
    const struct application *a = ctx;
    rp_atomic_log_apply(a->log, a->mem);
}

void rp_atomic_log_retire(struct rp_atomic_log *log, struct rp_mem *mem)
{
    struct application application = {log, mem};
    struct rp_trap trap;
    if (!rp_mem_borrows(mem))
        rp_atomic_log_apply(log, mem);
    else
        while (!rp_trap_run(apply_body, &application, &trap)) {
        }
}

static bool in_turn(const struct rp_exec_worker *h)
{
    return __atomic_load_n(&h->dispatch->turn, __ATOMIC_ACQUIRE) == h->order;
}

/* ---- gates --------------------------------------------------------------------------------- */

/* An ordered instruction is tried again when every earlier slice has retired. */
static int ordered_gate(struct rp_wave *w, const struct rp_insn *in)
{
    struct rp_exec_worker *h = rp_worker_of(w);
    if (!in_turn(h))
        return RP_STEP_TURN;
    if (h->env.log && h->env.log->count)
        rp_atomic_log_apply(h->env.log, &h->env.mem);
    h->ordered = true;
    int step = in->gated(w, in);
    return step == RP_STEP_NEXT ? RP_STEP_ORDERED : step;
}

/* This gate notes an atomic without result. */
static int note_gate(struct rp_wave *w, const struct rp_insn *in)
{
    struct rp_exec_worker *h = rp_worker_of(w);
    if (in_turn(h)) {
        if (h->env.log && h->env.log->count)
            rp_atomic_log_apply(h->env.log, &h->env.mem);
        return in->gated(w, in);
    }
    if (!h->env.log)
        h->env.log = atomic_log_new(h->dispatch);
    if (!h->env.log || h->env.log->count + RP_LANES > RP_ATOMIC_LOG_ENTRIES)
        return RP_STEP_TURN;
    h->env.logging = true;
    int step = in->gated(w, in);
    h->env.logging = false;
    return step;
}

enum { WIDEST_ACCESS = 64 }; /* The widest access is that of s_load_dwordx16, in bytes. */

static bool flat_touches(struct rp_wave *w, const struct rp_insn *in,
                         const struct rp_atomic_log *log)
{
    const struct rp_mem_lanes *lanes = w->group->env->lanes;
    const uint32_t(*v)[RP_LANES] = (const uint32_t(*)[RP_LANES])w->vgpr + in->src[0].index;
    uint64_t exec = RP_EXEC(w), base = (uint64_t)(int64_t)in->offset;
    uint32_t low, high;
    if (!exec)
        return false;
    if (in->flags & RP_IF_SADDR) {
        base += rp_opnd_u64(w, &in->src[2]);
    } else {
        lanes->bounds(v[1], exec, &low, &high);
        if (low != high)
            return true;
        base += (uint64_t)low << 32;
    }
    lanes->bounds(v[0], exec, &low, &high);
    return rp_atomic_log_touches(log, base + low, base + high + WIDEST_ACCESS);
}

static bool is_private(const struct rp_wave *w, const struct rp_insn *in)
{
    return in->fmt == RP_FMT_MUBUF && in->src[2].kind == RP_OPND_SGPR &&
           rp_buffer_is_private(&w->sgpr[in->src[2].index]);
}

static bool touches(struct rp_wave *w, const struct rp_insn *in, const struct rp_atomic_log *log)
{
    if (in->fmt == RP_FMT_FLAT)
        return flat_touches(w, in, log);
    /* s_scratch counts in other units. */
    bool scratch = !strncmp(rp_isa_mnemonic(in->op), "s_scratch", 9);
    if (in->fmt == RP_FMT_SMEM && in->src[2].dwords == 2 && !scratch) {
        uint64_t va = rp_opnd_u64(w, &in->src[2]) + (uint64_t)(int64_t)in->offset;
        if (in->flags & RP_IF_SOFFSET_EN)
            va += rp_opnd_u32(w, &in->src[1]);
        return rp_atomic_log_touches(log, va & ~3ull, va + WIDEST_ACCESS);
    }
    return !is_private(w, in); /* Other buffer resources may be anywhere. */
}

/* A plain access must see the slice's own atomics. */
static int plain_gate(struct rp_wave *w, const struct rp_insn *in)
{
    struct rp_exec_worker *h = rp_worker_of(w);
    if (__builtin_expect(h->env.log && h->env.log->count && touches(w, in, h->env.log), 0)) {
        if (!in_turn(h))
            return RP_STEP_TURN;
        rp_atomic_log_apply(h->env.log, &h->env.mem);
    }
    return in->gated(w, in);
}

bool rp_order_is_plain(const struct rp_insn *in)
{
    return in->fn == plain_gate;
}

/*
 * A store of gfx90a, which may be an atomic one that releases what was done before: then whoever
 * sees it must see the slice's atomics.
 */
static int store_gate(struct rp_wave *w, const struct rp_insn *in)
{
    struct rp_exec_worker *h = rp_worker_of(w);
    if (__builtin_expect(h->env.log && h->env.log->count && !is_private(w, in), 0)) {
        if (!in_turn(h))
            return RP_STEP_TURN;
        rp_atomic_log_apply(h->env.log, &h->env.mem);
    }
    return in->gated(w, in);
}

/* ---- which gate ---------------------------------------------------------------------------- */

static bool is_memory(const struct rp_insn *in)
{
    const struct rp_op_row *row = &rp_op_rows[in->op];
    switch (in->fmt) {
    case RP_FMT_FLAT:
        return in->seg != RP_SEG_SCRATCH;
    case RP_FMT_SMEM: /* The others are clocks and cache maintenance. */
        return row->src[2] != RP_T_NONE;
    case RP_FMT_MUBUF:
    case RP_FMT_MTBUF:
        return row->src[2] != RP_T_NONE;
    default:
        return false;
    }
}

/* HIP's atomic and volatile accesses are compiled to these instructions. gfx90a's only tell that
 * loads bypass the near cache (glc; nontemporal ones have slc beside it), and tell nothing about
 * stores (store_gate).
 */
static bool is_synchronising(const struct rp_insn *in)
{
    if (rp_isa_target_get() == RP_ISA_GFX90A)
        return in->dst.kind != RP_OPND_NONE && (in->flags & (RP_IF_SC0 | RP_IF_NT)) == RP_IF_SC0;
    return in->flags & RP_IF_SC1;
}

static rp_insn_fn *ordering_of(const struct rp_insn *in)
{
    bool returns = in->dst.kind != RP_OPND_NONE || in->flags & RP_IF_SC0;
    if (in->op == RP_OP_s_sendmsg || in->op == RP_OP_s_sendmsghalt ||
        (in->fmt == RP_FMT_DS && in->flags & RP_IF_GDS))
        return ordered_gate;
    if (!is_memory(in))
        return NULL;
    const uint8_t access = rp_op_rows[in->op].access;
    if (access == RP_ACCESS_CMPSWAP) /* A log entry holds one operand. */
        return ordered_gate;
    if (access == RP_ACCESS_ATOMIC)
        return returns || in->fmt == RP_FMT_SMEM ? ordered_gate : note_gate;
    if (in->fmt != RP_FMT_SMEM && is_synchronising(in))
        return ordered_gate;
    return rp_isa_target_get() == RP_ISA_GFX90A && in->dst.kind == RP_OPND_NONE ? store_gate
                                                                                : plain_gate;
}

/* This is of the process, because decoded code is. */
static const struct rp_checker *the_checker;

void rp_exec_set_checker(const struct rp_checker *checker)
{
    the_checker = checker;
}

const struct rp_checker *rp_exec_checker(void)
{
    return the_checker;
}

static void bind_order(struct rp_insn *in)
{
    rp_insn_fn *gate =
        in->op != RP_OP_INVALID && in->fn == rp_op_rows[in->op].fn ? ordering_of(in) : NULL;
    if (!gate)
        return;
    in->gated = in->fn;
    in->fn = gate;
}

void rp_order_bind(struct rp_insn *in)
{
    bind_order(in);
    rp_insn_fn *gate = the_checker ? the_checker->gate(in) : NULL;
    if (!gate)
        return;
    in->watched = in->fn;
    in->fn = gate;
}

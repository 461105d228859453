/*
 * Global wave sync: a barrier for waves of different workgroups. gfx90a's grid synchronisation uses
 * it; on gfx942 HIP does without. (ISA guide, "Global Wave Sync".) Its semaphores are refused.
 */
#include "../timing/cost.h"
#include "mem_access.h"

/* Resource of the instruction: M0[21:16] and the offset. The device's are all one process's. */
static unsigned resource_of(const struct rp_wave *w, const struct rp_insn *in)
{
    return ((w->sgpr[RP_SGPR_M0] >> 16) + (uint32_t)in->offset) % RP_GWS_RESOURCES;
}

/* The value is that of the first active lane. */
static uint32_t value_of(struct rp_wave *w, const struct rp_insn *in)
{
    uint64_t exec = RP_EXEC(w);
    return rp_rows(w, &in->src[0])[0][exec ? rp_first_lane(exec) : 0];
}

static int no_gws(struct rp_wave *w, const struct rp_insn *in)
{
    return rp_wave_fault(w, in, RP_FAULT_UNIMPLEMENTED, "no global wave sync resources here");
}

int rp_ds_gws_init(struct rp_wave *w, const struct rp_insn *in)
{
    struct rp_gws *gws = rp_wave_host(w)->gws;
    if (!gws)
        return no_gws(w, in);
    __atomic_store_n(&gws->resource[resource_of(w, in)].counter, value_of(w, in), __ATOMIC_SEQ_CST);
    return RP_STEP_NEXT;
}

/* The wave tries again later, as if it had not come here: waiting costs nothing. */
static int wait_here(struct rp_wave *w, const struct rp_insn *in)
{
    struct rp_counts *c = rp_counts_of(w);
    unsigned cost = rp_cost_cycles[in->cost_class];
    w->pc -= in->size_bytes;
    w->cycles -= cost;
    c->wave_insts--;
    c->issue_cycles -= cost;
    return RP_STEP_YIELD;
}

/*
 * All but the last of the expected waves wait; the last one opens the barrier and sets how many are
 * expected the next time. Within a dispatch it is executed in turn only (exec/order.h).
 */
int rp_ds_gws_barrier(struct rp_wave *w, const struct rp_insn *in)
{
    struct rp_gws *gws = rp_wave_host(w)->gws;
    if (!gws)
        return no_gws(w, in);
    unsigned id = resource_of(w, in);
    uint32_t *counter = &gws->resource[id].counter, *phase = &gws->resource[id].phase;
    if (w->at_gws_barrier) {
        if (__atomic_load_n(phase, __ATOMIC_SEQ_CST) == w->gws_phase)
            return wait_here(w, in);
        w->at_gws_barrier = false;
        return RP_STEP_NEXT;
    }
    if (__atomic_load_n(counter, __ATOMIC_SEQ_CST) == 0) {
        __atomic_store_n(counter, value_of(w, in), __ATOMIC_SEQ_CST);
        __atomic_add_fetch(phase, 1, __ATOMIC_SEQ_CST);
        return RP_STEP_NEXT;
    }
    w->at_gws_barrier = true;
    w->gws_phase = __atomic_load_n(phase, __ATOMIC_SEQ_CST);
    __atomic_sub_fetch(counter, 1, __ATOMIC_SEQ_CST);
    return wait_here(w, in);
}

#include "accesses.h"

#include "../isa/counted.h"
#include "../isa/ops.h"
#include "../timing/observe.h"
#include "dispatch.h"

enum { BYTES_PER_STEP = 12 };

/* The wave's record, if its workgroup is one of the sampled. Only the thread that executes the
 * workgroup looks at it. */
static struct rp_rec_wave *record_of(const struct rp_wave *w)
{
    struct rp_record *r = w->group->dispatch->accesses;
    const int64_t index = r ? rp_rec_index(&r->plan, w->group->linear_id) : -1;
    struct rp_rec_group *g = index < 0 ? NULL : &r->group[index];

    if (!g || g->lost || (!g->wave && !rp_rec_begin(g, w->group->wave_count, UINT32_MAX)))
        return NULL;
    return &g->wave[w->id_in_group];
}

/* The plan's limit is in instructions of 4 bytes and as much again for accesses and lines: of
 * scattered accesses, with a line for each lane, far fewer fit than of others. */
static bool is_full(const struct rp_rec_wave *r, const struct rp_rec_plan *plan)
{
    return (uint64_t)r->access_count * sizeof *r->access +
               (uint64_t)r->line_count * sizeof *r->line >=
           BYTES_PER_STEP * (uint64_t)plan->steps_limit;
}

static int observe(struct rp_wave *w, const struct rp_insn *in)
{
    struct rp_rec_wave *r = record_of(w);
    const bool noted =
        r && !is_full(r, &w->group->dispatch->accesses->plan) && rp_rec_observe_access(r, w, in);
    const int step = in->observed(w, in);
    if (noted && step == RP_STEP_TURN) /* not executed: it comes again */
        r->line_count = r->access[--r->access_count].first_line;
    return step;
}

void rp_accesses_bind(struct rp_insn *in)
{
    const enum rp_unit unit = rp_insn_unit(in);
    const bool always = unit == RP_UNIT_LDS;
    const bool by_kind = unit == RP_UNIT_FLAT || unit == RP_UNIT_BUFFER || unit == RP_UNIT_SMEM;
    if (in->op == RP_OP_INVALID || !(always || (by_kind && rp_insn_access(in) != RP_ACCESS_NONE)))
        return;
    in->observed = in->fn;
    in->fn = observe;
}

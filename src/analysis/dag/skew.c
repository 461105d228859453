#include "skew.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "late.h"
#include "shift.h"
#include "waited.h"

/* Between the return of a launch and the first start of a GPU that has nothing else to do. */
enum { NO_LAUNCH_NS = 1000000000 };

/* The clock of one GPU, with what calls say of it. */
struct gpu {
    int32_t agent;
    int64_t least_ns, most_ns; /* to be added at least, at most */
    int64_t soonest_ns;        /* from the return of a call to the start of what it launched */
    size_t starts, ends;
    struct rp_dag_bounds least, most; /* where the two do not agree with no shift */
    struct rp_dag_shift shift;
    bool moves;
};

struct gpus {
    const struct rp_dag_process *process;
    struct gpu *list;
    size_t count;
    size_t last; /* found */
    bool listing;
    bool failed;
};

static struct gpu *gpu_of(struct gpus *gpus, int32_t agent)
{
    struct gpu *grown;

    if (gpus->last < gpus->count && gpus->list[gpus->last].agent == agent)
        return &gpus->list[gpus->last];
    for (size_t i = 0; i < gpus->count; i++)
        if (gpus->list[i].agent == agent) {
            gpus->last = i;
            return &gpus->list[i];
        }
    grown = realloc(gpus->list, (gpus->count + 1) * sizeof *grown);
    if (!grown) {
        gpus->failed = true;
        return NULL;
    }
    gpus->list = grown;
    gpus->last = gpus->count;
    grown[gpus->count] = (struct gpu){
        .agent = agent, .least_ns = INT64_MIN, .most_ns = INT64_MAX, .soonest_ns = INT64_MAX};
    return &grown[gpus->count++];
}

/* --- what calls say --------------------------------------------------------------------------- */

static void list_bound(struct rp_dag_bounds *b, int64_t at_ns, int64_t by_ns)
{
    b->list[b->count++] = (struct rp_dag_bound){at_ns, by_ns};
}

static void see_starts(struct gpus *gpus, struct rp_dag_repairs *repairs)
{
    const struct rp_dag_process *p = gpus->process;

    for (size_t i = 0; i < p->op_count && p->op_rows[i].call != RP_DAG_NONE; i++) {
        const struct rp_dag_op *op = &p->ops[i];
        const struct rp_dag_call_row *call = &p->call_rows[p->op_rows[i].call];
        int64_t by_ns = call->start_ns - op->start_ns, after_ns = op->start_ns - call->end_ns;
        struct gpu *gpu = gpu_of(gpus, op->agent);

        if (!gpu)
            return;
        if (gpus->listing) {
            if (gpu->moves)
                list_bound(&gpu->least, op->start_ns, by_ns);
            continue;
        }
        gpu->starts++;
        repairs->early_starts += by_ns > 0;
        gpu->least_ns = by_ns > gpu->least_ns ? by_ns : gpu->least_ns;
        gpu->soonest_ns = after_ns < gpu->soonest_ns ? after_ns : gpu->soonest_ns;
    }
}

static void see_end(void *ctx, uint32_t op, uint32_t call)
{
    struct gpus *gpus = ctx;
    const struct rp_dag_process *p = gpus->process;
    int64_t end_ns = p->ops[op].end_ns, by_ns = p->call_rows[call].end_ns - end_ns;
    struct gpu *gpu = gpu_of(gpus, p->ops[op].agent);

    if (!gpu)
        return;
    if (gpus->listing) {
        if (gpu->moves)
            list_bound(&gpu->most, end_ns, by_ns);
        return;
    }
    gpu->ends++;
    gpu->most_ns = by_ns < gpu->most_ns ? by_ns : gpu->most_ns;
}

static int see_all(const struct rp_dag_trace *trace, struct gpus *gpus,
                   struct rp_dag_repairs *repairs, struct rp_err *err)
{
    int rc;

    see_starts(gpus, repairs);
    rc = rp_dag_each_waited(trace, gpus->process, see_end, gpus, err);
    return rc == 0 && gpus->failed ? rp_fail(err, RP_ENVIRONMENT, "out of memory") : rc;
}

/* Lists of what calls say are needed only of clocks that they contradict: most are none. */
static int find_shifts(const struct rp_dag_trace *trace, struct gpus *gpus,
                       struct rp_dag_repairs *repairs, struct rp_err *err)
{
    bool any = false;
    int rc = see_all(trace, gpus, repairs, err);

    for (size_t i = 0; i < gpus->count && rc == 0; i++) {
        struct gpu *gpu = &gpus->list[i];
        if (!gpu->ends && gpu->soonest_ns != INT64_MAX && gpu->soonest_ns > NO_LAUNCH_NS)
            gpu->shift = (struct rp_dag_shift){.by_ns = -gpu->soonest_ns};
        gpu->moves = gpu->least_ns > 0 || gpu->most_ns < 0;
        if (!gpu->moves)
            continue;
        any = true;
        gpu->least.list = malloc((gpu->starts + 1) * sizeof *gpu->least.list);
        gpu->most.list = malloc((gpu->ends + 1) * sizeof *gpu->most.list);
        if (!gpu->least.list || !gpu->most.list)
            rc = rp_fail(err, RP_ENVIRONMENT, "out of memory");
    }
    gpus->listing = true;
    if (rc == 0 && any)
        rc = see_all(trace, gpus, repairs, err);
    for (size_t i = 0; i < gpus->count && rc == 0; i++)
        if (gpus->list[i].moves)
            gpus->list[i].shift = rp_dag_shift_find(&gpus->list[i].least, &gpus->list[i].most);
    return rc;
}

/* --- moving ----------------------------------------------------------------------------------- */

/* Markers say their queue, which is of one agent. */
static void move_marks(struct rp_dag_process *p, struct gpus *gpus, const int32_t *agent_of_queue,
                       int32_t queue_count)
{
    for (size_t i = 0; i < p->mark_count; i++) {
        int32_t queue = p->marks[i].queue;
        const struct gpu *gpu =
            queue >= 0 && queue < queue_count && agent_of_queue[queue] != INT32_MIN
                ? gpu_of(gpus, agent_of_queue[queue])
                : NULL;
        if (gpu)
            p->marks[i].end_ns = rp_dag_shifted(&gpu->shift, p->marks[i].end_ns);
    }
}

static int move(struct rp_dag_process *p, struct gpus *gpus, struct rp_err *err)
{
    rp_autofree int32_t *agent_of_queue = NULL;
    int32_t queue_count = 0;

    for (size_t i = 0; i < p->op_count; i++)
        if (p->op_rows[i].queue >= queue_count)
            queue_count = p->op_rows[i].queue + 1;
    agent_of_queue = malloc(((size_t)queue_count + 1) * sizeof *agent_of_queue);
    if (!agent_of_queue)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    if (rp_dag_keep_recorded(p, err) < 0)
        return -(int)RP_ENVIRONMENT;
    for (int32_t q = 0; q < queue_count; q++)
        agent_of_queue[q] = INT32_MIN;
    for (size_t i = 0; i < p->op_count; i++) {
        struct rp_dag_op *op = &p->ops[i];
        const struct gpu *gpu = gpu_of(gpus, op->agent);
        if (p->op_rows[i].queue >= 0)
            agent_of_queue[p->op_rows[i].queue] = op->agent;
        if (!gpu)
            return rp_fail(err, RP_ENVIRONMENT, "out of memory");
        op->start_ns = rp_dag_shifted(&gpu->shift, op->start_ns);
        op->end_ns = rp_dag_shifted(&gpu->shift, op->end_ns);
    }
    move_marks(p, gpus, agent_of_queue, queue_count);
    return 0;
}

/* --- the whole -------------------------------------------------------------------------------- */

static int64_t magnitude(int64_t ns)
{
    return ns < 0 ? -ns : ns;
}

/* Says of the process what was found of its GPUs' clocks. Returns whether any moves. */
static bool put_facts(const struct gpus *gpus, struct rp_dag_process *p,
                      struct rp_dag_repairs *repairs, struct rp_dag_process_fact *fact)
{
    bool any = false;

    for (size_t i = 0; i < gpus->count; i++) {
        const struct gpu *gpu = &gpus->list[i];
        const struct rp_dag_shift *s = &gpu->shift;
        p->clocks_apart |= s->contradicted;
        if (!s->by_ns && s->drift == 0)
            continue;
        any = true;
        repairs->moved_clocks++;
        fact->clocks_apart |= magnitude(s->by_ns) >= RP_DAG_CLOCKS_APART_NS;
        if (magnitude(s->by_ns) >= magnitude(fact->clock_ahead_ns))
            fact->clock_ahead_ns = -s->by_ns;
    }
    fact->clocks_apart |= p->clocks_apart;
    fact->clocks_contradict = p->clocks_apart;
    fact->moved_ns = magnitude(fact->clock_ahead_ns);
    return any;
}

static int fix_clock(struct rp_dag_trace *trace, size_t process, struct rp_dag_process_fact *fact,
                     struct rp_err *err)
{
    struct rp_dag_process *p = &trace->processes[process];
    struct gpus gpus = {.process = p};
    int rc = find_shifts(trace, &gpus, &trace->repairs, err);

    bool contradicted = false;

    if (rc == 0 && put_facts(&gpus, p, &trace->repairs, fact))
        rc = move(p, &gpus, err);
    for (size_t i = 0; i < gpus.count; i++) {
        contradicted |= gpus.list[i].moves;
        free(gpus.list[i].least.list);
        free(gpus.list[i].most.list);
    }
    free(gpus.list);
    return rc == 0 && contradicted && !p->clocks_apart ? rp_dag_clip_at_calls(trace, p, err) : rc;
}

int rp_dag_mend_skew(struct rp_dag_trace *trace, struct rp_dag_result *ret, struct rp_err *err)
{
    int rc = 0;

    for (size_t i = 0; i < trace->process_count && rc == 0; i++)
        rc = fix_clock(trace, i, &ret->processes[i], err);
    return rc;
}

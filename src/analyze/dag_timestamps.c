/* Clips ends that are too late by the order of a hardware queue, or by a call that waited. Firmware
 * stamps ends up to some hundred nanoseconds late, so that consecutive kernels of a queue overlap:
 * their durations are still good. An end that is later by more cannot be right, as packets of a
 * queue run in order; the graph has it where the next one starts, unless so many kernels overlap by
 * so much that they must have run at the same time (packets without the barrier bit). Even then
 * durations are as recorded, unless most of one is impossible. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "analyze/dag_graph.h"
#include "base/cleanup.h"
#include "base/err.h"

static inline int64_t dag_clock_shifted(const struct rp_dag_clock_shift *s, int64_t ns)
{
    return ns + s->by_ns + (s->drift ? (int64_t)((double)(ns - s->at_ns) * s->drift) : 0);
}

/* Kernels ran at the same time when this many pairs of neighbours overlap by more than ends are
 * late, one pair of so many, and the half of them by half of the shorter one. */
enum { FEWEST_AT_ONCE = 4, ONE_AT_ONCE_OF = 10, PARTS_OF_SHORTER = 2 };

/* This part of an operation's recorded duration lies behind the start of the next one. */
enum { PARTS_OF_WRONG = 2 };

/* Ends are stamped late throughout when this part of the kernels that follow each other at once has
 * late ends. */
enum { ONE_LATE_OF = 2 };

/* Remembers the trace's times before any of them is changed. */
static bool note_clip(struct rp_dag_trace *trace, const struct rp_dag_process *p,
                      const struct rp_dag_op *op, int64_t by_ns)
{
    const uint32_t index = (uint32_t)(op - p->ops);

    if (op->end_clipped || op->start_clipped)
        return true;
    if (p->recorded &&
        p->recorded[index].end_ns > RP_DAG_LATEST_NS && /* It was reduced in dag_machines.c. */
        __builtin_add_overflow(by_ns, p->recorded[index].end_ns - RP_DAG_LATEST_NS, &by_ns))
        by_ns = INT64_MAX;
    if (!rp_dag_room(&trace->clips, trace->clip_count, &trace->clip_room, sizeof *trace->clips))
        return false;
    trace->clips[trace->clip_count++] = (struct rp_dag_clip){
        .process = (uint32_t)(p - trace->processes),
        .op = index,
        .recorded =
            p->recorded ? p->recorded[index] : (struct rp_dag_times){op->start_ns, op->end_ns},
        .by_ns = by_ns,
    };
    return true;
}

/* --- queues ----------------------------------------------------------------------------------- */

/* This is an operation that ends after the next one of its queue or stream starts. */
struct overlap {
    uint32_t op;
    int64_t next_ns;
    bool is_most;  /**< of the shorter of the two */
    bool is_more;  /**< of itself */
    bool outlasts; /**< it ends no earlier than the next one */
};

struct overlaps {
    struct overlap *list;
    size_t count, room;
    size_t pairs; /**< neighbours */
    bool failed;
};

/* Holds the last operation of a queue or stream, and where it is the next one of an overlap. */
struct tail {
    uint32_t op;
    struct overlaps *in; /**< NULL: nowhere */
    size_t at;
};

/* Counts kernels that follow each other at once, and by how much they overlap. */
struct lateness {
    size_t near, late;
    uint32_t by_ns[RP_DAG_LATE_END_NS + 1];
};

static bool add_overlap(struct overlaps *o, struct overlap one)
{
    if (o->count == o->room) {
        size_t room = o->room ? o->room * 2 : 64;
        struct overlap *grown = realloc(o->list, room * sizeof *grown);
        if (!grown)
            return false;
        o->list = grown;
        o->room = room;
    }
    o->list[o->count++] = one;
    return true;
}

static int64_t duration_of(const struct rp_dag_op *op)
{
    return op->end_ns - op->start_ns;
}

static void see_lateness(struct lateness *l, int64_t by_ns)
{
    if (by_ns < -RP_DAG_LATE_END_NS || by_ns > RP_DAG_LATE_END_NS)
        return;
    l->near++;
    if (by_ns <= 0)
        return;
    l->late++;
    l->by_ns[by_ns]++;
}

/* Returns the median overlap, where most of them overlap. */
static int64_t usual_lateness_ns(const struct lateness *l)
{
    size_t seen = 0;
    int64_t ns = 0;

    if (!l->late || l->late * ONE_LATE_OF < l->near)
        return 0;
    while (seen * 2 < l->late)
        seen += l->by_ns[++ns];
    return ns;
}

static void see_pair(struct overlaps *o, struct lateness *l, const struct rp_dag_process *p,
                     struct tail *tail, uint32_t next)
{
    const struct rp_dag_op *a = &p->ops[tail->op], *b = &p->ops[next];
    int64_t by_ns = a->end_ns - b->start_ns, shorter_ns = duration_of(a);

    if (tail->in) /* The one before ends at the start of this one at the latest. */
        tail->in->list[tail->at].outlasts =
            p->ops[tail->in->list[tail->at].op].end_ns >= b->start_ns;
    tail->in = NULL;
    if (b->start_ns < a->start_ns || a->end_lost)
        return;
    o->pairs++;
    if (!a->is_copy && !b->is_copy)
        see_lateness(l, by_ns);
    if (by_ns <= RP_DAG_LATE_END_NS)
        return;
    if (!b->end_lost && duration_of(b) < shorter_ns)
        shorter_ns = duration_of(b);
    o->failed |= !add_overlap(o, (struct overlap){
                                     .op = tail->op,
                                     .next_ns = b->start_ns,
                                     .is_most = by_ns >= shorter_ns / PARTS_OF_SHORTER,
                                     .is_more = by_ns >= duration_of(a) / PARTS_OF_WRONG,
                                     .outlasts = b->end_lost || a->end_ns >= b->end_ns,
                                 });
    if (o->failed)
        return;
    tail->in = o;
    tail->at = o->count - 1;
}

/* Nodes of one graph may run at the same time. Without calls, copies may be such nodes. */
static bool follows_copy(const struct rp_dag_process *p, uint32_t first, uint32_t next)
{
    return (p->ops[first].is_copy || p->ops[next].is_copy) && p->op_rows[next].stream > 0 &&
           p->op_rows[next].call != RP_DAG_NONE && p->op_rows[next].call != p->op_rows[first].call;
}

static void find_overlaps(const struct rp_dag_process *p, struct tail *queues, struct tail *streams,
                          bool several_ranks, struct overlaps *o, struct overlaps *in_calls,
                          struct lateness *l)
{
    const struct tail none = {.op = RP_DAG_NONE};

    for (uint32_t i = 0; i < p->op_count && !o->failed && !in_calls->failed; i++) {
        const struct rp_dag_op_row *row = &p->op_rows[i];
        struct tail *in_queue = row->queue >= 0 ? &queues[row->queue] : NULL;
        struct tail *in_stream = row->stream >= 0 ? &streams[row->stream] : NULL;

        if (p->ops[i].is_collective && several_ranks) { /* It ends with the others (dag_build.c). */
            if (in_queue)
                *in_queue = none;
            if (in_stream)
                *in_stream = none;
            continue;
        }
        if (in_queue && in_queue->op != RP_DAG_NONE)
            see_pair(row->call != RP_DAG_NONE && row->call == p->op_rows[in_queue->op].call
                         ? in_calls
                         : o,
                     l, p, in_queue, i);
        if (in_stream && in_stream->op != RP_DAG_NONE && follows_copy(p, in_stream->op, i))
            see_pair(o, l, p, in_stream, i);
        else if (in_stream)
            in_stream->in = NULL;
        if (in_queue)
            in_queue->op = i;
        if (in_stream)
            in_stream->op = i;
    }
}

static bool ran_at_once(const struct overlaps *o, size_t fewest)
{
    size_t most = 0;

    for (size_t i = 0; i < o->count; i++)
        most += o->list[i].is_most;
    return o->count >= fewest && o->count * ONE_AT_ONCE_OF >= o->pairs && most * 2 >= o->count;
}

static bool clip_all(struct rp_dag_trace *trace, struct rp_dag_process *p, const struct overlaps *o)
{
    for (size_t i = 0; i < o->count; i++) {
        const struct overlap *at = &o->list[i];
        struct rp_dag_op *op = &p->ops[at->op];

        if (!note_clip(trace, p, op, op->end_ns - at->next_ns))
            return false;
        op->end_clipped = true;
        op->is_wrong |= at->is_more && at->outlasts;
        op->end_ns = op->end_ns < at->next_ns ? op->end_ns : at->next_ns;
    }
    return true;
}

static uint32_t *no_ops(size_t count)
{
    uint32_t *list = malloc((count + 1) * sizeof *list);

    for (size_t i = 0; list && i < count; i++)
        list[i] = RP_DAG_NONE;
    return list;
}

static struct tail *no_tails(size_t count)
{
    struct tail *list = calloc(count + 1, sizeof *list);

    for (size_t i = 0; list && i < count; i++)
        list[i].op = RP_DAG_NONE;
    return list;
}

static int32_t queue_count(const struct rp_dag_process *p)
{
    int32_t count = 0;

    for (size_t i = 0; i < p->op_count; i++)
        count = p->op_rows[i].queue >= count ? p->op_rows[i].queue + 1 : count;
    return count;
}

static int clip_in_queues(struct rp_dag_trace *trace, struct rp_dag_process *p, struct rp_err *err)
{
    int32_t stream_count = 0;
    rp_autofree struct tail *queues = NULL, *streams = NULL;
    rp_autofree struct lateness *late = calloc(1, sizeof *late);
    /* in_calls is for operations of one call, which are nodes of a graph. */
    struct overlaps o = {0}, in_calls = {0};

    for (size_t i = 0; i < p->op_count; i++)
        if (p->op_rows[i].stream >= stream_count)
            stream_count = p->op_rows[i].stream + 1;
    queues = no_tails((size_t)queue_count(p));
    streams = no_tails((size_t)stream_count);
    if (!queues || !streams || !late)
        return rp_out_of_memory(err);
    find_overlaps(p, queues, streams, trace->process_count > 1, &o, &in_calls, late);
    p->late_ns = usual_lateness_ns(late);
    if (!ran_at_once(&o, FEWEST_AT_ONCE))
        o.failed |= !clip_all(trace, p, &o);
    if (!ran_at_once(&in_calls, 1))
        in_calls.failed |= !clip_all(trace, p, &in_calls);
    free(o.list);
    free(in_calls.list);
    return o.failed || in_calls.failed ? rp_out_of_memory(err) : 0;
}

int rp_dag_clip_in_queues(struct rp_dag_trace *trace, struct rp_err *err)
{
    int rc = 0;

    for (size_t i = 0; i < trace->process_count && rc == 0; i++)
        rc = clip_in_queues(trace, &trace->processes[i], err);
    return rc;
}

/* --- calls ------------------------------------------------------------------------------------ */

struct clipping {
    struct rp_dag_trace *trace;
    struct rp_dag_process *process;
    bool failed;
};

static void clip_at_return(void *ctx, uint32_t op, uint32_t call)
{
    struct clipping *c = ctx;
    struct rp_dag_op *o = &c->process->ops[op];
    int64_t end_ns = c->process->call_rows[call].end_ns;

    if (o->end_ns <= end_ns)
        return;
    if (!note_clip(c->trace, c->process, o, o->end_ns - end_ns)) {
        c->failed = true;
        return;
    }
    o->is_wrong |= o->end_ns - end_ns > RP_DAG_LATE_END_NS;
    if (o->start_ns > end_ns) { /* All of it is late. */
        o->start_ns -= o->end_ns - end_ns;
        o->start_clipped = true;
    }
    o->end_ns = end_ns;
    o->end_clipped = true;
}

static bool clip_start(struct rp_dag_trace *trace, const struct rp_dag_process *p,
                       struct rp_dag_op *op, int64_t start_ns)
{
    int64_t early_ns = start_ns - op->start_ns;

    if (!note_clip(trace, p, op, early_ns))
        return false;
    if (op->end_ns < start_ns) /* All of it is early. */
        op->end_ns += early_ns;
    op->start_ns = start_ns;
    op->start_clipped = op->is_wrong = true;
    return true;
}

/* Operations start no earlier than their calls, nor than the end of the packet before them. */
static int clip_starts(struct rp_dag_trace *trace, struct rp_dag_process *p, struct rp_err *err)
{
    rp_autofree uint32_t *queues = no_ops((size_t)queue_count(p));

    if (!queues)
        return rp_out_of_memory(err);
    for (uint32_t i = 0; i < p->op_count && p->op_rows[i].call != RP_DAG_NONE; i++) {
        int64_t start_ns = p->call_rows[p->op_rows[i].call].start_ns;
        uint32_t *queue = p->op_rows[i].queue >= 0 ? &queues[p->op_rows[i].queue] : NULL;
        if (p->ops[i].start_ns < start_ns) {
            if (queue && *queue != RP_DAG_NONE && p->ops[*queue].end_ns > start_ns &&
                p->ops[*queue].end_ns < p->ops[i].end_ns)
                start_ns = p->ops[*queue].end_ns;
            if (!clip_start(trace, p, &p->ops[i], start_ns))
                return rp_out_of_memory(err);
        }
        if (queue)
            *queue = i;
    }
    return 0;
}

/** Clips starts before their calls, and ends after the return of calls that waited for them. It is
 * for the few that are left when the clocks of a process have been corrected. */
static int dag_clip_at_calls(struct rp_dag_trace *trace, struct rp_dag_process *p,
                             struct rp_err *err)
{
    struct clipping c = {trace, p, false};
    int rc = rp_dag_each_certain_wait(trace, p, clip_at_return, &c, err);

    if (rc == 0 && c.failed)
        return rp_out_of_memory(err);
    return rc < 0 ? rc : clip_starts(trace, p, err);
}

/* --- sums ------------------------------------------------------------------------------------- */

/* Holds durations of all operations that have the name of a clipped one. */
struct lasting {
    uint32_t symbol;
    int64_t ns;
};

static int by_symbol(const void *a, const void *b)
{
    const struct lasting *x = a, *y = b;

    if (x->symbol != y->symbol)
        return x->symbol < y->symbol ? -1 : 1;
    return (x->ns > y->ns) - (x->ns < y->ns);
}

static size_t list_lasting(const struct rp_dag_trace *trace, const bool *wanted,
                           struct lasting *list)
{
    size_t count = 0;

    for (size_t i = 0; i < trace->process_count; i++)
        for (size_t k = 0; k < trace->processes[i].op_count; k++) {
            const struct rp_dag_op *op = &trace->processes[i].ops[k];
            if (!wanted[op->symbol] || op->end_lost || op->end_clipped || op->start_clipped)
                continue;
            if (list)
                list[count] = (struct lasting){op->symbol, op->end_ns - op->start_ns};
            count++;
        }
    return count;
}

/* Finds the first that is not before the symbol. */
static size_t first_of(const struct lasting *list, size_t count, uint32_t symbol)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list[middle].symbol < symbol)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* An end that is only late, though by more than usual, counts as recorded. */
static void note_late(struct rp_dag_repairs *repairs, const struct rp_dag_clip *clip,
                      struct rp_dag_op *op)
{
    repairs->overlaps += !op->end_late;
    repairs->late_by_ns = clip->by_ns > repairs->late_by_ns ? clip->by_ns : repairs->late_by_ns;
    op->end_late = true;
}

static void count_clip(struct rp_dag_trace *trace, const struct lasting *list, size_t count,
                       struct rp_dag_clip *clip)
{
    struct rp_dag_repairs *repairs = &trace->repairs;
    struct rp_dag_op *op = &trace->processes[clip->process].ops[clip->op];
    size_t first = first_of(list, count, op->symbol), end = first_of(list, count, op->symbol + 1);
    int64_t most_ns = op->end_ns > op->start_ns ? op->end_ns - op->start_ns : 0;
    int64_t usual_ns = end > first ? list[first + (end - first) / 2].ns : most_ns;
    int64_t *sum_ns = op->is_copy ? &trace->copy_time_ns : &trace->kernel_time_ns;
    /* The subtracted time was added without a check, so it may be more than a sum holds
     * (dag_read.c). */
    uint64_t recorded_ns = clip->recorded.end_ns > clip->recorded.start_ns
                               ? (uint64_t)clip->recorded.end_ns - (uint64_t)clip->recorded.start_ns
                               : 0;

    if (!op->is_wrong) {
        clip->took_ns = recorded_ns < RP_DAG_LATEST_NS ? (int64_t)recorded_ns : RP_DAG_LATEST_NS;
        note_late(repairs, clip, op);
        return;
    }
    repairs->clipped_ends++;
    repairs->clipped_by_ns =
        clip->by_ns > repairs->clipped_by_ns ? clip->by_ns : repairs->clipped_by_ns;
    clip->took_ns = op->end_lost ? 0 : usual_ns < most_ns ? usual_ns : most_ns;
    *sum_ns = (int64_t)((uint64_t)*sum_ns - recorded_ns + (uint64_t)clip->took_ns);
}

int rp_dag_count_clips(struct rp_dag_trace *trace, struct rp_err *err)
{
    rp_autofree bool *wanted = NULL;
    rp_autofree struct lasting *list = NULL;
    size_t count;

    if (!trace->clip_count)
        return 0;
    wanted = calloc(trace->symbol_count + 1, sizeof *wanted);
    if (!wanted)
        return rp_out_of_memory(err);
    for (size_t i = 0; i < trace->clip_count; i++)
        wanted[trace->processes[trace->clips[i].process].ops[trace->clips[i].op].symbol] = true;
    count = list_lasting(trace, wanted, NULL);
    list = malloc((count + 1) * sizeof *list);
    if (!list)
        return rp_out_of_memory(err);
    list_lasting(trace, wanted, list);
    qsort(list, count, sizeof *list, by_symbol);
    for (size_t i = 0; i < trace->clip_count; i++)
        count_clip(trace, list, count, &trace->clips[i]);
    return 0;
}

void rp_dag_restore_ends(struct rp_dag_trace *trace)
{
    for (size_t i = 0; i < trace->clip_count; i++) {
        const struct rp_dag_clip *clip = &trace->clips[i];
        struct rp_dag_op *op = &trace->processes[clip->process].ops[clip->op];

        if (!op->end_lost)
            op->end_ns = op->start_ns + clip->took_ns;
    }
}

/* This is the time between the return of a launch and the first start of a GPU that has nothing
 * else to do. */
enum { NO_LAUNCH_NS = 1000000000 };

/* This is the clock of one GPU, with what calls say of it. */
struct gpu {
    int32_t agent;
    int64_t least_ns, most_ns; /**< bounds for the time that is added */
    int64_t soonest_ns;        /**< from the return of a call to the start of its work */
    size_t starts, ends;
    struct rp_dag_bounds least, most; /**< where no shift agrees with both */
    struct rp_dag_clock_shift shift;
    bool moves;
};

struct gpus {
    const struct rp_dag_process *process;
    struct gpu *list;
    size_t count;
    size_t last; /**< the last one found */
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
    rc = rp_dag_each_certain_wait(trace, gpus->process, see_end, gpus, err);
    return rc == 0 && gpus->failed ? rp_out_of_memory(err) : rc;
}

/* Lists of bounds from calls are needed only for clocks that they contradict, which are few. */
static int find_shifts(const struct rp_dag_trace *trace, struct gpus *gpus,
                       struct rp_dag_repairs *repairs, struct rp_err *err)
{
    bool any = false;
    int rc = see_all(trace, gpus, repairs, err);

    for (size_t i = 0; i < gpus->count && rc == 0; i++) {
        struct gpu *gpu = &gpus->list[i];
        if (!gpu->ends && gpu->soonest_ns != INT64_MAX && gpu->soonest_ns > NO_LAUNCH_NS)
            gpu->shift = (struct rp_dag_clock_shift){.by_ns = -gpu->soonest_ns};
        gpu->moves = gpu->least_ns > 0 || gpu->most_ns < 0;
        if (!gpu->moves)
            continue;
        any = true;
        gpu->least.list = malloc((gpu->starts + 1) * sizeof *gpu->least.list);
        gpu->most.list = malloc((gpu->ends + 1) * sizeof *gpu->most.list);
        if (!gpu->least.list || !gpu->most.list)
            rc = rp_out_of_memory(err);
    }
    gpus->listing = true;
    if (rc == 0 && any)
        rc = see_all(trace, gpus, repairs, err);
    for (size_t i = 0; i < gpus->count && rc == 0; i++)
        if (gpus->list[i].moves)
            gpus->list[i].shift =
                rp_dag_clock_shift_find(&gpus->list[i].least, &gpus->list[i].most);
    return rc;
}

/* --- moving ----------------------------------------------------------------------------------- */

/* Markers name their queue, which belongs to one agent. */
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
            p->marks[i].end_ns = dag_clock_shifted(&gpu->shift, p->marks[i].end_ns);
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
        return rp_out_of_memory(err);
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
            return rp_out_of_memory(err);
        op->start_ns = dag_clock_shifted(&gpu->shift, op->start_ns);
        op->end_ns = dag_clock_shifted(&gpu->shift, op->end_ns);
    }
    move_marks(p, gpus, agent_of_queue, queue_count);
    return 0;
}

/* --- the whole -------------------------------------------------------------------------------- */

static int64_t magnitude(int64_t ns)
{
    return ns < 0 ? -ns : ns;
}

/* Notes in the process what was found about its GPUs' clocks.
 * @return whether any of them is moved */
static bool put_facts(const struct gpus *gpus, struct rp_dag_process *p,
                      struct rp_dag_repairs *repairs, struct rp_dag_process_fact *fact)
{
    bool any = false;

    for (size_t i = 0; i < gpus->count; i++) {
        const struct gpu *gpu = &gpus->list[i];
        const struct rp_dag_clock_shift *s = &gpu->shift;
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
    return rc == 0 && contradicted && !p->clocks_apart ? dag_clip_at_calls(trace, p, err) : rc;
}

int rp_dag_fix_skew(struct rp_dag_trace *trace, struct rp_dag_result *ret, struct rp_err *err)
{
    int rc = 0;

    for (size_t i = 0; i < trace->process_count && rc == 0; i++)
        rc = fix_clock(trace, i, &ret->processes[i], err);
    return rc;
}

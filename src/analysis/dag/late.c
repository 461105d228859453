#include "late.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "load.h"
#include "waited.h"

/* Kernels ran at the same time when this many pairs of neighbours overlap by more than ends are
 * late, one pair of so many, and the half of them by half of the shorter one. */
enum { FEWEST_AT_ONCE = 4, ONE_AT_ONCE_OF = 10, PARTS_OF_SHORTER = 2 };

/* Ends are stamped late throughout when those of one kernel in so many are, of kernels that follow
 * each other at once. */
enum { ONE_LATE_OF = 2 };

/* What the operation took is taken off the sum; what it takes instead result.c adds. */
static bool note_clip(struct rp_dag_trace *trace, const struct rp_dag_op *op)
{
    int64_t took_ns = op->end_ns - op->start_ns;
    int64_t *sum_ns = op->is_copy ? &trace->copy_time_ns : &trace->kernel_time_ns;

    if (op->end_clipped)
        return true;
    if (op->end_lost) { /* it took no time, but then */
        trace->repairs.clipped_ends++;
        return true;
    }
    if (!rp_dag_room(&trace->clips, trace->clip_count, &trace->clip_room, sizeof *trace->clips))
        return false;
    trace->clips[trace->clip_count++] = (struct rp_dag_clip){op, took_ns};
    *sum_ns = (int64_t)((uint64_t)*sum_ns - (uint64_t)took_ns);
    trace->repairs.clipped_ends++;
    return true;
}

static bool clip_end(struct rp_dag_trace *trace, struct rp_dag_op *op, int64_t end_ns)
{
    struct rp_dag_repairs *repairs = &trace->repairs;
    int64_t late_ns = op->end_ns - end_ns;

    if (!note_clip(trace, op))
        return false;
    repairs->clipped_by_ns = late_ns > repairs->clipped_by_ns ? late_ns : repairs->clipped_by_ns;
    op->end_clipped = !op->end_lost;
    op->end_ns = end_ns;
    return true;
}

/* --- queues ----------------------------------------------------------------------------------- */

/* An operation that ends after the next one of its queue or stream starts. */
struct overlap {
    uint32_t op;
    int64_t next_ns;
    bool is_most; /* of the shorter of the two */
};

struct overlaps {
    struct overlap *list;
    size_t count, room;
    size_t pairs; /* neighbours */
    bool failed;
};

/* Kernels that follow each other at once: how many, and of those that overlap, by how much. */
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

/* The overlap in the middle, where they overlap for the greater part. */
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
                     uint32_t first, uint32_t next)
{
    const struct rp_dag_op *a = &p->ops[first], *b = &p->ops[next];
    int64_t by_ns = a->end_ns - b->start_ns, shorter_ns = duration_of(a);

    if (b->start_ns < a->start_ns || a->end_lost)
        return;
    o->pairs++;
    if (!a->is_copy && !b->is_copy)
        see_lateness(l, by_ns);
    if (by_ns <= RP_DAG_LATE_END_NS)
        return;
    if (!b->end_lost && duration_of(b) < shorter_ns)
        shorter_ns = duration_of(b);
    o->failed |= !add_overlap(
        o, (struct overlap){first, b->start_ns, by_ns >= shorter_ns / PARTS_OF_SHORTER});
}

/* Nodes of one graph may run at the same time; without calls, copies may be such nodes. */
static bool follows_copy(const struct rp_dag_process *p, uint32_t first, uint32_t next)
{
    return (p->ops[first].is_copy || p->ops[next].is_copy) && p->op_rows[next].stream > 0 &&
           p->op_rows[next].call != RP_DAG_NONE && p->op_rows[next].call != p->op_rows[first].call;
}

static void find_overlaps(const struct rp_dag_process *p, uint32_t *queues, uint32_t *streams,
                          bool several_ranks, struct overlaps *o, struct overlaps *in_calls,
                          struct lateness *l)
{
    for (uint32_t i = 0; i < p->op_count && !o->failed && !in_calls->failed; i++) {
        const struct rp_dag_op_row *row = &p->op_rows[i];
        uint32_t *in_queue = row->queue >= 0 ? &queues[row->queue] : NULL;
        uint32_t *in_stream = row->stream >= 0 ? &streams[row->stream] : NULL;

        if (p->ops[i].is_collective && several_ranks) { /* it ends with the others: build.c */
            if (in_queue)
                *in_queue = RP_DAG_NONE;
            if (in_stream)
                *in_stream = RP_DAG_NONE;
            continue;
        }
        if (in_queue && *in_queue != RP_DAG_NONE)
            see_pair(row->call != RP_DAG_NONE && row->call == p->op_rows[*in_queue].call ? in_calls
                                                                                         : o,
                     l, p, *in_queue, i);
        if (in_stream && *in_stream != RP_DAG_NONE && follows_copy(p, *in_stream, i))
            see_pair(o, l, p, *in_stream, i);
        if (in_queue)
            *in_queue = i;
        if (in_stream)
            *in_stream = i;
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
    bool fits = true;

    for (size_t i = 0; i < o->count && fits; i++)
        fits = clip_end(trace, &p->ops[o->list[i].op], o->list[i].next_ns);
    return fits;
}

static uint32_t *no_ops(size_t count)
{
    uint32_t *list = malloc((count + 1) * sizeof *list);

    for (size_t i = 0; list && i < count; i++)
        list[i] = RP_DAG_NONE;
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
    rp_autofree uint32_t *queues = NULL, *streams = NULL;
    rp_autofree struct lateness *late = calloc(1, sizeof *late);
    struct overlaps o = {0}, in_calls = {0}; /* between calls, and of one: nodes of a graph */

    for (size_t i = 0; i < p->op_count; i++)
        if (p->op_rows[i].stream >= stream_count)
            stream_count = p->op_rows[i].stream + 1;
    queues = no_ops((size_t)queue_count(p));
    streams = no_ops((size_t)stream_count);
    if (!queues || !streams || !late)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    find_overlaps(p, queues, streams, trace->process_count > 1, &o, &in_calls, late);
    p->late_ns = usual_lateness_ns(late);
    if (!ran_at_once(&o, FEWEST_AT_ONCE))
        o.failed |= !clip_all(trace, p, &o);
    if (!ran_at_once(&in_calls, 1))
        in_calls.failed |= !clip_all(trace, p, &in_calls);
    free(o.list);
    free(in_calls.list);
    return o.failed || in_calls.failed ? rp_fail(err, RP_ENVIRONMENT, "out of memory") : 0;
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
    if (o->start_ns > end_ns) { /* all of it is late */
        o->start_ns -= o->end_ns - end_ns;
        o->start_clipped = true;
    }
    c->failed |= !clip_end(c->trace, o, end_ns);
}

static void clip_start(struct rp_dag_trace *trace, struct rp_dag_op *op, int64_t start_ns)
{
    int64_t early_ns = start_ns - op->start_ns;
    struct rp_dag_repairs *repairs = &trace->repairs;

    if (op->end_ns < start_ns) /* all of it is early */
        op->end_ns += early_ns;
    else if (!op->end_lost && !op->end_clipped)
        *(op->is_copy ? &trace->copy_time_ns : &trace->kernel_time_ns) -= early_ns;
    op->start_ns = start_ns;
    op->start_clipped = true;
    repairs->clipped_ends++;
    repairs->clipped_by_ns = early_ns > repairs->clipped_by_ns ? early_ns : repairs->clipped_by_ns;
}

/* No earlier than their calls, nor than the end of the packet before them. */
static int clip_starts(struct rp_dag_trace *trace, struct rp_dag_process *p, struct rp_err *err)
{
    rp_autofree uint32_t *queues = no_ops((size_t)queue_count(p));

    if (!queues)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (uint32_t i = 0; i < p->op_count && p->op_rows[i].call != RP_DAG_NONE; i++) {
        int64_t start_ns = p->call_rows[p->op_rows[i].call].start_ns;
        uint32_t *queue = p->op_rows[i].queue >= 0 ? &queues[p->op_rows[i].queue] : NULL;
        if (p->ops[i].start_ns < start_ns) {
            if (queue && *queue != RP_DAG_NONE && p->ops[*queue].end_ns > start_ns &&
                p->ops[*queue].end_ns < p->ops[i].end_ns)
                start_ns = p->ops[*queue].end_ns;
            clip_start(trace, &p->ops[i], start_ns);
        }
        if (queue)
            *queue = i;
    }
    return 0;
}

int rp_dag_clip_at_calls(struct rp_dag_trace *trace, struct rp_dag_process *p, struct rp_err *err)
{
    struct clipping c = {trace, p, false};
    int rc = rp_dag_each_waited(trace, p, clip_at_return, &c, err);

    if (rc == 0 && c.failed)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    return rc < 0 ? rc : clip_starts(trace, p, err);
}

/* Makes points and edges from the rows of a trace, with the delays that the trace shows. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analyze/dag_graph.h"
#include "base/err.h"

static const int64_t longest_ns = 366ll * 24 * 3600 * 1000000000;

struct stream {
    uint32_t tail;      /**< point of its last packet, or RP_DAG_NONE */
    uint32_t last_op;   /**< the same, but of kernels and copies: markers' times are not known */
    uint32_t null_seen; /**< packets of the default stream that its own are behind */
    uint32_t synced;    /**< tail that a thread has waited for with all others, */
    uint32_t synced_by; /**< and the thread */
};

/* This is one process on its way through its calls. */
struct walk {
    struct rp_dag_process *process;
    struct rp_dag_streams names;
    struct stream *streams;
    int32_t *used; /**< streams with a tail */
    int32_t used_count;
    uint32_t *queue_tails;
    uint32_t *queue_kernels; /**< as the tails, but of kernels: markers' times are not known */
    uint32_t null_tail;
    uint32_t null_packets; /**< of the default stream so far */
    uint32_t *threads;     /**< per thread: end of its last call */
    uint32_t *op_finish;   /**< per operation, where waits are recorded: its last point */
    uint32_t *events;      /**< per handle: point of the last record, or RP_DAG_NONE */
    size_t next_call;
    size_t first_op;         /**< of the next call */
    size_t forgotten_ops;    /**< operations before it have no rows any more */
    uint32_t call_start;     /**< point; of a call that is stuck in a collective */
    uint32_t next_op;        /**< of the call's */
    size_t first_loose;      /**< of operations without a known call */
    size_t next_leading;     /**< of those of them that come first */
    size_t next_loose;       /**< of the others */
    int64_t *called_ns;      /**< per stream: start of its first operation with a call */
    int64_t any_called_ns;   /**< the first of these */
    uint32_t parked;         /**< operation: a collective that waits for the other ranks */
    uint32_t parked_start;   /**< its point */
    enum rp_dag_grade grade; /**< of edges that follow from calls */
    bool guesses;            /**< calls have no arguments: some waits are found by times */
    bool host_is_free;       /**< of the software device: the program itself takes no time */
    struct rp_dag_usual_delays usual; /**< where waits are guessed */
    bool done;
};

struct build {
    struct rp_dag *dag;
    struct rp_dag_trace *trace;
    size_t point_room;
    uint32_t root;
    bool failed;
};

/* --- points --------------------------------------------------------------------------------- */

static uint32_t add_point(struct build *b, int64_t time_ns, unsigned flags, uint32_t owner)
{
    uint32_t p = rp_dag_point(&b->dag->graph, time_ns);

    if (b->dag->graph.failed)
        return 0;
    if (p >= b->point_room) {
        size_t room = b->dag->graph.point_room;
        uint8_t *f = realloc(b->dag->flags, room * sizeof *f);
        uint32_t *o;
        if (f)
            b->dag->flags = f;
        o = realloc(b->dag->owner, room * sizeof *o);
        if (o)
            b->dag->owner = o;
        if (!f || !o) {
            b->failed = true;
            return 0;
        }
        b->point_room = room;
    }
    b->dag->flags[p] = (uint8_t)flags;
    b->dag->owner[p] = owner;
    return p;
}

static void add_edge(struct build *b, uint32_t from, enum rp_dag_class class,
                     enum rp_dag_grade grade)
{
    rp_dag_edge(&b->dag->graph, from, class, grade);
}

static void add_duration(struct build *b, uint32_t start, enum rp_dag_grade grade)
{
    add_edge(b, start, RP_DAG_DURATION, grade);
}

/* Returns the number over all processes. */
static uint32_t op_number(const struct walk *w, uint32_t index)
{
    return RP_DAG_OP_BIT | (w->process->op_base + index);
}

/* --- packets -------------------------------------------------------------------------------- */

/* Returns when an operation ends in the graph, until it is known what waits for it. Where ends are
 * stamped late throughout, this end is late, too, even if nothing follows it at once; the sums of
 * time are as recorded. The last end stays, so that the whole is as long as the trace. */
static int64_t assumed_end_ns(const struct build *b, const struct rp_dag_process *p,
                              const struct rp_dag_op *op)
{
    int64_t by_ns = p->late_ns, half_ns = (op->end_ns - op->start_ns) / 2;

    if (op->is_copy || op->end_lost || op->end_clipped || op->end_ns >= b->dag->end_ns)
        return op->end_ns;
    return op->end_ns - (by_ns < half_ns ? by_ns : half_ns);
}

/* The next packet waited for an end that is stamped a little late, so the end was before. Where
 * that is the exception, nobody knows by how much, and the end is distrusted. */
static void fix_late_end(struct build *b, const struct walk *w, uint32_t point,
                         int64_t next_start_ns)
{
    struct rp_dag *dag = b->dag;
    struct rp_dag_repairs *repairs = &b->trace->repairs;
    int64_t *end_ns = &dag->graph.time_ns[point];
    struct rp_dag_op *op;
    int64_t late_ns;

    if (*end_ns + w->process->late_ns <= next_start_ns || !rp_dag_is_op(dag->owner[point]))
        return;
    op = rp_dag_op_of(b->trace, dag->owner[point]);
    late_ns = (op->end_late ? *end_ns : op->end_ns) - next_start_ns;
    if (late_ns <= 0 || late_ns > RP_DAG_LATE_END_NS || op->start_ns > next_start_ns)
        return;
    *end_ns = next_start_ns;
    rp_dag_note_late(repairs, op, next_start_ns);
    if (!w->process->late_ns)
        dag->flags[point] |= RP_DAG_DISTRUSTED; /* dag_delays.c looks at this flag. */
}

/* Adds what a packet waits for. The edges belong to the point that is made next. */
static void packet_edges(struct build *b, struct walk *w, uint32_t call, int32_t stream,
                         int32_t queue, int64_t start_ns)
{
    uint32_t tail = stream >= 0 ? w->streams[stream].tail : RP_DAG_NONE;
    uint32_t behind = queue >= 0 ? w->queue_tails[queue] : RP_DAG_NONE;

    if (call != RP_DAG_NONE)
        add_edge(b, call, RP_DAG_LAUNCH, RP_DAG_RECORDED);
    if (queue >= 0 && w->queue_kernels[queue] != RP_DAG_NONE)
        fix_late_end(b, w, w->queue_kernels[queue], start_ns);
    if (stream >= 0 && w->streams[stream].last_op != RP_DAG_NONE &&
        (queue < 0 || w->streams[stream].last_op != w->queue_kernels[queue]))
        fix_late_end(b, w, w->streams[stream].last_op, start_ns);
    if (tail != RP_DAG_NONE)
        add_edge(b, tail, RP_DAG_STREAM, w->grade);
    if (behind != RP_DAG_NONE && behind != tail)
        add_edge(b, behind, RP_DAG_QUEUE, w->grade);
    if (stream == 0) {
        for (int32_t i = 0; i < w->used_count; i++)
            if (w->used[i] > 0 && w->names.blocking[w->used[i]])
                add_edge(b, w->streams[w->used[i]].tail, RP_DAG_NULL_STREAM, w->grade);
    } else if (stream > 0 && w->names.blocking[stream] &&
               w->streams[stream].null_seen != w->null_packets) {
        add_edge(b, w->null_tail, RP_DAG_NULL_STREAM, w->grade);
        w->streams[stream].null_seen = w->null_packets;
    }
}

/* Finds the latest end among the tails of the other streams that is not after the given time. */
static uint32_t latest_tail(const struct build *b, const struct walk *w, int32_t own,
                            int64_t before_ns)
{
    uint32_t latest = RP_DAG_NONE;

    for (int32_t i = 0; i < w->used_count; i++) {
        uint32_t tail = w->streams[w->used[i]].tail;
        if (w->used[i] == own || !(b->dag->flags[tail] & RP_DAG_PINNED) ||
            b->dag->graph.time_ns[tail] > before_ns)
            continue;
        if (latest == RP_DAG_NONE || b->dag->graph.time_ns[tail] > b->dag->graph.time_ns[latest])
            latest = tail;
    }
    return latest;
}

static int64_t later(const struct build *b, uint32_t point, int64_t delay_ns, int64_t other_ns)
{
    int64_t t = point == RP_DAG_NONE ? INT64_MIN : b->dag->graph.time_ns[point] + delay_ns;

    return t > other_ns ? t : other_ns;
}

/* Returns how long after an end an operation may begin that has waited for it. On AMD GPUs waits of
 * one stream for another take up to 20 us; where the operation is late by far more than that,
 * chance is no better explanation. */
static int64_t reach_of(const struct rp_dag_usual_delays *usual, int64_t late_by_ns)
{
    enum { LONGEST_REACH_NS = 50000, PART_OF_LATENESS = 20 };
    int64_t reach_ns = late_by_ns / PART_OF_LATENESS;

    if (reach_ns > LONGEST_REACH_NS)
        reach_ns = LONGEST_REACH_NS;
    return reach_ns > usual->reach_ns ? reach_ns : usual->reach_ns;
}

/* Calls have no arguments here: an operation that begins later than its call, stream and queue
 * explain, right behind the end of one in another stream, waited for that one. */
static void guess_wait(struct build *b, const struct walk *w, uint32_t call, uint32_t index)
{
    const struct rp_dag_op *op = &w->process->ops[index];
    const struct rp_dag_op_row *row = &w->process->op_rows[index];
    const struct rp_dag_usual_delays *usual = &w->usual;
    int64_t reason_ns = later(b, call, usual->launch_ns, INT64_MIN);
    bool late;
    uint32_t other;

    if (row->stream >= 0)
        reason_ns = later(b, w->streams[row->stream].tail, usual->gap_ns, reason_ns);
    if (row->queue >= 0)
        reason_ns = later(b, w->queue_tails[row->queue], usual->gap_ns, reason_ns);
    if (reason_ns == INT64_MIN)
        return;
    late = op->start_ns - reason_ns > usual->jitter_ns;
    if (!late && (w->process->call_count || op->start_ns - reason_ns <= RP_DAG_LONGEST_GAP_NS))
        return;
    other = latest_tail(b, w, row->stream, op->start_ns);
    if (other == RP_DAG_NONE || b->dag->graph.time_ns[other] <= reason_ns - usual->gap_ns)
        return;
    if (late &&
        op->start_ns - b->dag->graph.time_ns[other] <= reach_of(usual, op->start_ns - reason_ns))
        add_edge(b, other, RP_DAG_EVENT, RP_DAG_INFERRED);
    else if (!w->process->call_count)
        /* Nothing is recorded, so the path goes where the GPU was busy. */
        add_edge(b, other, RP_DAG_UNKNOWN, RP_DAG_INFERRED);
}

static void op_done(struct walk *w, int32_t stream, int32_t queue, uint32_t finish)
{
    if (stream >= 0)
        w->streams[stream].last_op = finish;
    if (queue >= 0)
        w->queue_kernels[queue] = finish;
}

static void packet_done(struct walk *w, int32_t stream, int32_t queue, uint32_t finish)
{
    if (stream >= 0 && w->streams[stream].tail == RP_DAG_NONE)
        w->used[w->used_count++] = stream;
    if (stream >= 0)
        w->streams[stream].tail = finish;
    if (queue >= 0)
        w->queue_tails[queue] = finish;
    if (stream == 0) {
        w->null_tail = finish;
        w->null_packets++;
    }
}

/* Adds an operation's two points. A collective gets only the first, because it ends with those of
 * all ranks.
 * @return true when the walk has to wait for them */
static bool add_op(struct build *b, struct walk *w, uint32_t call, uint32_t index)
{
    const struct rp_dag_op *op = &w->process->ops[index];
    const struct rp_dag_op_row *row = &w->process->op_rows[index];
    uint32_t start, finish;

    packet_edges(b, w, call, row->stream, row->queue, op->start_ns);
    if (w->op_finish)
        rp_dag_recorded_edges(
            &(struct rp_dag_recorded_op){b->dag, w->process, w->op_finish, index});
    else if (w->guesses)
        guess_wait(b, w, call, index);
    if (call == RP_DAG_NONE)
        add_edge(b, b->root, RP_DAG_UNKNOWN, RP_DAG_INFERRED);
    start = add_point(b, op->start_ns,
                      RP_DAG_PINNED | RP_DAG_OP_START | (op->start_clipped ? RP_DAG_DISTRUSTED : 0),
                      op_number(w, index));
    if (op->is_collective && b->trace->process_count > 1) {
        w->parked = index;
        w->parked_start = start;
        return true;
    }
    /* For one rank alone nobody knows how much of it is a wait for the others. */
    add_duration(b, start, op->is_collective ? RP_DAG_INFERRED : RP_DAG_RECORDED);
    finish = add_point(b, assumed_end_ns(b, w->process, op),
                       RP_DAG_PINNED | (op->end_lost || op->end_clipped ? RP_DAG_DISTRUSTED : 0),
                       op_number(w, index));
    if (w->op_finish)
        w->op_finish[index] = finish;
    packet_done(w, row->stream, row->queue, finish);
    op_done(w, row->stream, row->queue, finish);
    return false;
}

/* Returns the point when its event was last recorded. */
static uint32_t recorded_at(const struct walk *w, uint32_t call)
{
    uint32_t event = w->process->call_rows[call].event;

    return event == RP_DAG_NONE ? RP_DAG_NONE : w->events[event];
}

/* Returns the stream that a call names; -1: none, or not known. */
static int32_t stream_of(const struct walk *w, uint32_t call)
{
    uint32_t stream = w->process->call_rows[call].stream;

    return stream == RP_DAG_NONE
               ? -1
               : rp_dag_stream_at(&w->names, w->process->handles.keys[stream], call);
}

/* Returns the earliest time of the point that is made next, without any delays until dag_delays.c
 * knows them. */
static int64_t earliest(const struct build *b)
{
    const struct rp_dag_graph *g = &b->dag->graph;
    int64_t last_ns = 0;

    for (size_t e = rp_dag_first(g, g->point_count); e < g->edge_count; e++)
        if (g->time_ns[g->from[e]] > last_ns)
            last_ns = g->time_ns[g->from[e]];
    return last_ns;
}

/* This is for hipEventRecord and hipStreamWaitEvent. */
static void add_marker(struct build *b, struct walk *w, uint32_t call_point, uint32_t index)
{
    const struct rp_dag_process *p = w->process;
    bool waits = p->calls[index].kind == RP_DAG_CALL_STREAM_WAIT;
    uint32_t number = p->call_marks ? p->call_marks[index] : RP_DAG_NONE, point;
    const struct rp_dag_mark *mark = number == RP_DAG_NONE ? NULL : &p->marks[number];
    int32_t stream = mark ? mark->stream : stream_of(w, index);
    int32_t queue = mark ? mark->queue : stream >= 0 ? w->names.queue[stream] : -1;

    if (stream < 0)
        return;
    if (waits && recorded_at(w, index) == RP_DAG_NONE)
        return; /* The event was never recorded, so nothing waits. */
    packet_edges(b, w, call_point, stream, queue, INT64_MAX);
    if (waits)
        add_edge(b, recorded_at(w, index), RP_DAG_EVENT, mark ? RP_DAG_RECORDED : w->grade);
    point = add_point(b, mark ? mark->end_ns : earliest(b), mark ? RP_DAG_PINNED : 0, RP_DAG_NONE);
    packet_done(w, stream, queue, point);
    if (!waits && p->call_rows[index].event != RP_DAG_NONE)
        w->events[p->call_rows[index].event] = point;
}

/* --- the ends of calls ---------------------------------------------------------------------- */

static unsigned wait_for(struct build *b, const struct walk *w, uint32_t point)
{
    if (point == RP_DAG_NONE)
        return 0;
    add_edge(b, point, RP_DAG_SYNC, w->grade);
    return RP_DAG_BLOCKED;
}

/* A thread need not wait again for something that it has waited for before. */
static unsigned wait_for_all(struct build *b, struct walk *w, uint32_t thread)
{
    unsigned flags = 0;

    for (int32_t i = 0; i < w->used_count; i++) {
        struct stream *s = &w->streams[w->used[i]];
        if (s->synced == s->tail && s->synced_by == thread)
            continue;
        flags |= wait_for(b, w, s->tail);
        s->synced = s->tail;
        s->synced_by = thread;
    }
    return flags;
}

/* Says whether the call ends behind everything on the device, some of which ended while it ran. An
 * event that was recorded last has no time of its own: then the operation before it tells. */
static bool seems_to_wait(const struct build *b, const struct walk *w,
                          const struct rp_dag_call_row *call)
{
    int64_t last = INT64_MIN;

    for (int32_t i = 0; i < w->used_count; i++) {
        const struct stream *s = &w->streams[w->used[i]];
        const uint32_t end = b->dag->flags[s->tail] & RP_DAG_PINNED ? s->tail : s->last_op;

        if (end != RP_DAG_NONE && b->dag->graph.time_ns[end] > last)
            last = b->dag->graph.time_ns[end];
    }
    return last > call->start_ns && last <= call->end_ns;
}

/* Calls have no arguments here: the call waited for the work that ended last before it could have
 * woken up. */
static unsigned guess_sync(struct build *b, const struct walk *w,
                           const struct rp_dag_call_row *call)
{
    uint32_t tail = latest_tail(b, w, -1, call->end_ns - w->usual.wake_ns);

    if (tail == RP_DAG_NONE || b->dag->graph.time_ns[tail] <= call->start_ns)
        return 0;
    add_edge(b, tail, RP_DAG_SYNC, RP_DAG_INFERRED);
    return RP_DAG_BLOCKED;
}

/* A loop of queries waited when the queried work ended before the last of them, but not before the
 * first, because the trace has no answers. */
static unsigned poll_for(struct build *b, const struct rp_dag_call_row *call, uint32_t point)
{
    int64_t end_ns;

    if (point == RP_DAG_NONE)
        return 0;
    end_ns = b->dag->graph.time_ns[point];
    if (end_ns <= call->start_ns || end_ns > call->end_ns)
        return 0;
    add_edge(b, point, RP_DAG_SYNC, RP_DAG_INFERRED);
    return RP_DAG_BLOCKED | RP_DAG_POLLED;
}

/* Adds edges of what the call waited for, if it waited. */
static unsigned sync_edges(struct build *b, struct walk *w, uint32_t index)
{
    const struct rp_dag_call *call = &w->process->calls[index];
    const struct rp_dag_call_row *row = &w->process->call_rows[index];
    int32_t stream;
    unsigned flags = 0;

    switch ((enum rp_dag_call_kind)call->kind) {
    case RP_DAG_CALL_EVENT_SYNC:
        return row->event == RP_DAG_NONE ? guess_sync(b, w, row)
                                         : wait_for(b, w, recorded_at(w, index));
    case RP_DAG_CALL_STREAM_SYNC:
        if (row->stream == RP_DAG_NONE)
            return guess_sync(b, w, row);
        stream = stream_of(w, index);
        return stream >= 0 ? wait_for(b, w, w->streams[stream].tail) : 0;
    case RP_DAG_CALL_EVENT_POLL:
        return poll_for(b, row, recorded_at(w, index));
    case RP_DAG_CALL_STREAM_POLL:
        stream = stream_of(w, index);
        return stream >= 0 ? poll_for(b, row, w->streams[stream].tail) : 0;
    case RP_DAG_CALL_DEVICE_SYNC:
        return wait_for_all(b, w, call->thread);
    case RP_DAG_CALL_MAYBE_SYNC:
        return seems_to_wait(b, w, row) ? wait_for_all(b, w, call->thread) : 0;
    case RP_DAG_CALL_OWN_SYNC:
    case RP_DAG_CALL_OTHER: /* The ends decide about copies of pageable memory. */
        for (uint32_t i = 0; i < call->op_count; i++) {
            const struct rp_dag_op *op = &w->process->ops[w->first_op + i];
            stream = w->process->op_rows[w->first_op + i].stream;
            if (op->end_ns <= row->end_ns && stream >= 0 &&
                (op->is_copy || call->kind == RP_DAG_CALL_OWN_SYNC))
                flags |= wait_for(b, w, w->streams[stream].tail);
        }
        return flags;
    case RP_DAG_CALL_EVENT_RECORD:
    case RP_DAG_CALL_STREAM_WAIT:
    case RP_DAG_CALL_STREAM_CREATE:
    case RP_DAG_CALL_NEUTRAL:
    case RP_DAG_CALL_EVENT_QUERY:
    case RP_DAG_CALL_STREAM_QUERY:
        return 0;
    }
    return 0;
}

/*
 * Where the program takes no time, a thread that began a call later than its last one ended has
 * waited for another thread: in pthread_join or for a lock, which no trace shows. It depends on
 * everything that the other thread had waited for. RP_DAG_NONE means that no thread's last call
 * ended then.
 */
static uint32_t heard_from(const struct build *b, const struct walk *w, uint32_t index,
                           uint32_t before)
{
    const struct rp_dag_graph *g = &b->dag->graph;
    const uint32_t thread = w->process->calls[index].thread;
    const int64_t start_ns = w->process->call_rows[index].start_ns;

    if (!w->host_is_free || g->time_ns[before] >= start_ns)
        return RP_DAG_NONE;
    for (uint32_t t = 0; t < w->process->thread_count; t++)
        if (t != thread && w->threads[t] != RP_DAG_NONE && g->time_ns[w->threads[t]] == start_ns)
            return w->threads[t];
    return RP_DAG_NONE;
}

static uint32_t begin_call(struct build *b, struct walk *w, uint32_t index)
{
    const struct rp_dag_call *call = &w->process->calls[index];
    uint32_t before = w->threads[call->thread], other;

    before = before == RP_DAG_NONE ? b->root : before;
    other = heard_from(b, w, index, before);
    if (other == RP_DAG_NONE)
        add_edge(b, before, RP_DAG_HOST_GAP, RP_DAG_RECORDED);
    else
        add_edge(b, other, RP_DAG_HOST_GAP, RP_DAG_INFERRED);
    return add_point(b, w->process->call_rows[index].start_ns, RP_DAG_PINNED,
                     w->process->call_base + index);
}

static void end_call(struct build *b, struct walk *w, uint32_t index)
{
    unsigned flags = RP_DAG_PINNED;

    add_duration(b, w->call_start, RP_DAG_RECORDED);
    flags |= sync_edges(b, w, index);
    w->threads[w->process->calls[index].thread] =
        add_point(b, w->process->call_rows[index].end_ns, flags, w->process->call_base + index);
}

/* --- walking -------------------------------------------------------------------------------- */

/* Gives back the memory of whole pages that nobody reads any more; they would read as zeros.
 * Everything before from was given back already. */
static void forget(void *array, size_t from, size_t to)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)array;
    uintptr_t first = (begin + from) / page * page, end = (begin + to) / page * page;

    if (first < begin)
        first += page;
    if (end > first)
        madvise((void *)first, end - first, MADV_DONTNEED);
}

/* Frees the rows of calls and operations that have been read, because the graph grows meanwhile. */
static void forget_rows(struct walk *w)
{
    enum { CALLS_AT_ONCE = 1 << 10 };
    const size_t call_bytes = sizeof *w->process->call_rows, op_bytes = sizeof *w->process->op_rows;

    if (w->next_call % CALLS_AT_ONCE)
        return;
    forget(w->process->call_rows, (w->next_call - CALLS_AT_ONCE) * call_bytes,
           w->next_call * call_bytes);
    forget(w->process->op_rows, w->forgotten_ops * op_bytes, w->first_op * op_bytes);
    w->forgotten_ops = w->first_op;
}

/* Finds the operations whose calls are not in the trace, and where the others begin. */
static int find_loose(struct walk *w, struct rp_err *err)
{
    const struct rp_dag_process *p = w->process;

    w->called_ns = malloc((size_t)w->names.stream_count * sizeof *w->called_ns);
    if (!w->called_ns)
        return rp_out_of_memory(err);
    for (int32_t k = 0; k < w->names.stream_count; k++)
        w->called_ns[k] = INT64_MAX;
    w->any_called_ns = INT64_MAX;
    for (; w->first_loose < p->op_count; w->first_loose++) {
        const struct rp_dag_op_row *row = &p->op_rows[w->first_loose];
        const int64_t start_ns = p->ops[w->first_loose].start_ns;
        if (row->call == RP_DAG_NONE)
            break;
        if (row->stream >= 0 && start_ns < w->called_ns[row->stream])
            w->called_ns[row->stream] = start_ns;
        if (start_ns < w->any_called_ns)
            w->any_called_ns = start_ns;
    }
    w->next_leading = w->next_loose = w->first_loose;
    return 0;
}

/* Says whether an operation without a call comes before all that have one. A profiler that began
 * while the program ran has the kernels that were in the queues by then, but not their calls. */
static bool is_leading(const struct walk *w, size_t op)
{
    const int32_t stream = w->process->op_rows[op].stream;
    const int64_t start_ns = w->process->ops[op].start_ns;

    if (stream < 0 || w->any_called_ns == INT64_MAX)
        return false;
    return start_ns < (w->called_ns[stream] == INT64_MAX ? w->any_called_ns : w->called_ns[stream]);
}

/* Adds operations without a call, either the leading ones or the others.
 * @return true when the walk has to wait in a collective */
static bool add_loose(struct build *b, struct walk *w, bool leading)
{
    size_t *next = leading ? &w->next_leading : &w->next_loose;

    while (*next < w->process->op_count && !b->failed && !b->dag->graph.failed) {
        size_t i = (*next)++;
        if (is_leading(w, i) == leading && add_op(b, w, RP_DAG_NONE, (uint32_t)i))
            return true;
    }
    return false;
}

/* Goes on until the process is done or waits in a collective. */
static void advance(struct build *b, struct walk *w)
{
    struct rp_dag_process *p = w->process;

    if (add_loose(b, w, true))
        return;
    while (w->next_call < p->call_count && !b->failed && !b->dag->graph.failed) {
        uint32_t index = (uint32_t)w->next_call;
        const struct rp_dag_call *call = &p->calls[index];
        if (w->call_start == RP_DAG_NONE) {
            w->call_start = begin_call(b, w, index);
            w->next_op = 0;
            if (call->kind == RP_DAG_CALL_EVENT_RECORD || call->kind == RP_DAG_CALL_STREAM_WAIT)
                add_marker(b, w, w->call_start, index);
        }
        while (w->next_op < call->op_count)
            if (add_op(b, w, w->call_start, (uint32_t)w->first_op + w->next_op++))
                return;
        end_call(b, w, index);
        w->call_start = RP_DAG_NONE;
        w->first_op += call->op_count;
        w->next_call++;
        forget_rows(w);
    }
    if (add_loose(b, w, false))
        return;
    w->done = true;
}

/* Returns the collective that a process waits in, or NULL. */
static const struct rp_dag_op *parked_op(const struct walk *w)
{
    return w->parked == RP_DAG_NONE ? NULL : &w->process->ops[w->parked];
}

/* One rank's part of a collective ends with the common point. */
static void leave_collective(struct build *b, struct walk *w, uint32_t common)
{
    struct rp_dag_op *op = &w->process->ops[w->parked];
    const struct rp_dag_op_row *row = &w->process->op_rows[w->parked];
    uint32_t finish;

    if (op->end_lost) /* It ends with the others. */
        op->end_ns = later(b, common, 0, op->start_ns);
    add_edge(b, common, RP_DAG_COLLECTIVE, RP_DAG_INFERRED);
    finish =
        add_point(b, assumed_end_ns(b, w->process, op), RP_DAG_PINNED, op_number(w, w->parked));
    packet_done(w, row->stream, row->queue, finish);
    if (w->op_finish)
        w->op_finish[w->parked] = finish;
    op_done(w, row->stream, row->queue, finish);
    w->parked = RP_DAG_NONE;
}

/* All ranks that are left stand at a collective. The first one's ends everywhere a certain time
 * after the last one has begun. Ranks that stand at another one wait for their turn. */
static void finish_collective(struct build *b, struct walk *walks, size_t count)
{
    const struct rp_dag_op *first = NULL;
    int64_t end_ns = INT64_MAX, last_ns = INT64_MIN;
    uint32_t common;

    for (size_t i = 0; i < count; i++) {
        const struct rp_dag_op *op = parked_op(&walks[i]);
        first = first ? first : op;
        if (!op || op->symbol != first->symbol)
            continue;
        add_duration(b, walks[i].parked_start, RP_DAG_RECORDED);
        if (!op->end_lost && assumed_end_ns(b, walks[i].process, op) < end_ns)
            end_ns = assumed_end_ns(b, walks[i].process, op);
        last_ns = op->start_ns > last_ns ? op->start_ns : last_ns;
    }
    end_ns = end_ns == INT64_MAX ? last_ns : end_ns; /* The end is lost on all ranks. */
    common = add_point(b, end_ns, RP_DAG_PINNED | RP_DAG_COMMON, RP_DAG_NONE);
    for (size_t i = 0; i < count && !b->failed; i++) {
        const struct rp_dag_op *op = parked_op(&walks[i]);
        if (op && op->symbol == first->symbol)
            leave_collective(b, &walks[i], common);
    }
}

static int begin_walk(struct walk *w, struct rp_dag_process *p, struct rp_err *err)
{
    const char *device = rp_store_metadata(p->from.store, "rocm_perf_device");
    int rc;

    *w = (struct walk){.process = p,
                       .host_is_free = device && strcmp(device, "software") == 0,
                       .null_tail = RP_DAG_NONE,
                       .call_start = RP_DAG_NONE,
                       .parked = RP_DAG_NONE,
                       .guesses = !p->call_count || !p->has_args,
                       .grade = !p->call_count                    ? RP_DAG_INFERRED
                                : p->has_args && !p->clocks_apart ? RP_DAG_DERIVED
                                                                  : RP_DAG_PARTIAL};
    rc = rp_dag_streams_find(p, &w->names, err);
    if (rc == 0)
        rc = find_loose(w, err);
    if (rc == 0 && w->guesses)
        rc = rp_dag_usual_delays_find(p, &w->names, &w->usual, err);
    if (rc < 0)
        return rc;
    w->streams = malloc((size_t)w->names.stream_count * sizeof *w->streams);
    w->used = malloc((size_t)w->names.stream_count * sizeof *w->used);
    w->queue_tails = malloc((size_t)w->names.queue_count * sizeof *w->queue_tails);
    w->queue_kernels = malloc((size_t)w->names.queue_count * sizeof *w->queue_kernels);
    w->threads = malloc((p->thread_count + 1) * sizeof *w->threads);
    w->events = malloc(((size_t)p->handles.count + 1) * sizeof *w->events);
    if (!w->streams || !w->used || !w->queue_tails || !w->queue_kernels || !w->threads ||
        !w->events)
        return rp_out_of_memory(err);
    w->op_finish = p->first_wait ? malloc((p->op_count + 1) * sizeof *w->op_finish) : NULL;
    if (p->first_wait && !w->op_finish)
        return rp_out_of_memory(err);
    for (size_t k = 0; k < p->handles.count; k++)
        w->events[k] = RP_DAG_NONE;
    for (size_t k = 0; w->op_finish && k < p->op_count; k++)
        w->op_finish[k] = RP_DAG_NONE;
    for (int32_t k = 0; k < w->names.stream_count; k++)
        w->streams[k] =
            (struct stream){.tail = RP_DAG_NONE, .last_op = RP_DAG_NONE, .synced = RP_DAG_NONE};
    for (int32_t k = 0; k < w->names.queue_count; k++)
        w->queue_tails[k] = w->queue_kernels[k] = RP_DAG_NONE;
    for (uint32_t k = 0; k < p->thread_count; k++)
        w->threads[k] = RP_DAG_NONE;
    return 0;
}

static void end_walk(struct walk *w)
{
    rp_dag_streams_free(&w->names);
    free(w->streams);
    free(w->used);
    free(w->queue_tails);
    free(w->queue_kernels);
    free(w->threads);
    free(w->op_finish);
    free(w->called_ns);
    free(w->events);
}

static void walk_all(struct build *b, struct walk *walks, size_t count)
{
    bool waiting = true;

    while (waiting && !b->failed) {
        waiting = false;
        for (size_t i = 0; i < count; i++) {
            if (!walks[i].done && walks[i].parked == RP_DAG_NONE)
                advance(b, &walks[i]);
            waiting |= walks[i].parked != RP_DAG_NONE;
        }
        if (waiting && !b->failed)
            finish_collective(b, walks, count);
    }
}

/* Holds the first and the last time, and which trace has them. */
struct window {
    int64_t first_ns, last_ns;
    const struct rp_dag_process *first, *last;
};

static void widen(struct window *w, const struct rp_dag_process *p, int64_t start_ns,
                  int64_t end_ns)
{
    w->first = start_ns < w->first_ns ? p : w->first;
    w->last = end_ns > w->last_ns ? p : w->last;
    w->first_ns = start_ns < w->first_ns ? start_ns : w->first_ns;
    w->last_ns = end_ns > w->last_ns ? end_ns : w->last_ns;
}

static int refuse_window(const struct window *w, struct rp_err *err)
{
    const char *first = rp_store_path(w->first->from.store),
               *last = rp_store_path(w->last->from.store);
    const bool is_one = strcmp(first, last) == 0, is_beyond = w->last_ns >= RP_DAG_LATEST_NS;

    return rp_fail(err, RP_BAD_INPUT,
                   "%s%s%s reach%s from %" PRId64 " to %s%" PRId64
                   " ns, more than a year: %s times are damaged. Record the program again",
                   first, is_one ? "" : " and ", is_one ? "" : last, is_one ? "es" : "",
                   w->first_ns < RP_DAG_LATEST_NS ? w->first_ns : RP_DAG_LATEST_NS,
                   is_beyond ? "beyond " : "", is_beyond ? RP_DAG_LATEST_NS : w->last_ns,
                   is_one ? "its" : "their");
}

/* Says whether it has a time that no clock shows and that was not corrected. */
static bool is_damaged(const struct rp_dag_process *p, size_t op)
{
    const struct rp_dag_times *recorded = p->recorded ? &p->recorded[op] : NULL;
    const struct rp_dag_op *o = &p->ops[op];

    return recorded && ((recorded->start_ns >= RP_DAG_LATEST_NS && !o->start_clipped) ||
                        (recorded->end_ns >= RP_DAG_LATEST_NS && !o->end_clipped));
}

static void widen_by_op(struct window *w, const struct rp_dag_process *p, size_t op)
{
    widen(w, p, p->ops[op].start_ns, p->ops[op].end_ns);
    if (is_damaged(p, op))
        widen(w, p, INT64_MAX, RP_DAG_LATEST_NS);
}

/* The whole must not be too long, nor beyond what a clock can show. There are calls or operations
 * (dag.c). */
static int find_window(const struct rp_dag_trace *trace, struct rp_dag *dag, struct rp_err *err)
{
    struct window calls_ops = {.first_ns = INT64_MAX, .last_ns = INT64_MIN}, all;

    for (size_t i = 0; i < trace->process_count; i++) {
        const struct rp_dag_process *p = &trace->processes[i];
        for (size_t k = 0; k < p->call_count; k++)
            widen(&calls_ops, p, p->call_rows[k].start_ns, p->call_rows[k].end_ns);
        for (size_t k = 0; k < p->op_count; k++)
            widen_by_op(&calls_ops, p, k);
    }
    all = calls_ops;
    for (size_t i = 0; i < trace->process_count; i++) {
        const struct rp_dag_process *p = &trace->processes[i];
        for (size_t k = 0; k < p->mark_count; k++)
            widen(&all, p, p->marks[k].end_ns, p->marks[k].end_ns);
    }
    if (all.last_ns >= RP_DAG_LATEST_NS || all.last_ns - all.first_ns > longest_ns)
        return refuse_window(&all, err);
    dag->start_ns = calls_ops.first_ns;
    dag->end_ns = calls_ops.last_ns;
    return 0;
}

/* Numbers calls and operations; each has two points. */
static int number_all(struct rp_dag_trace *trace, struct rp_dag *dag, struct rp_err *err)
{
    size_t calls = 0, ops = 0;

    for (size_t i = 0; i < trace->process_count; i++) {
        trace->processes[i].call_base = (uint32_t)calls;
        trace->processes[i].op_base = (uint32_t)ops;
        calls += trace->processes[i].call_count;
        ops += trace->processes[i].op_count;
        if (calls + ops >= RP_DAG_OP_BIT - 1)
            return rp_fail(err, RP_BAD_INPUT, "too long a trace for one DAG");
    }
    dag->op_count = ops;
    return 0;
}

int rp_dag_build(struct rp_dag_trace *trace, struct rp_dag *ret, struct rp_err *err)
{
    struct rp_dag dag = {0};
    struct build b = {.dag = &dag, .trace = trace};
    struct walk *walks = calloc(trace->process_count + 1, sizeof *walks);
    int rc = 0;

    if (!walks)
        return rp_out_of_memory(err);
    rc = number_all(trace, &dag, err);
    if (rc == 0)
        rc = find_window(trace, &dag, err);
    for (size_t i = 0; i < trace->process_count && rc == 0; i++)
        rc = begin_walk(&walks[i], &trace->processes[i], err);
    if (rc == 0) {
        b.root = add_point(&b, dag.start_ns, RP_DAG_PINNED, RP_DAG_NONE);
        walk_all(&b, walks, trace->process_count);
        if (b.failed || dag.graph.failed)
            rc = rp_fail(err, RP_ENVIRONMENT, "out of memory, or too long a trace for one DAG");
    }
    for (size_t i = 0; i < trace->process_count; i++)
        end_walk(&walks[i]);
    free(walks);
    rp_dag_trace_free_rows(trace);
    /* This is done before the edges have weights, because it needs much memory for a while. */
    if (rc == 0)
        rc = rp_dag_slots_find(&dag.graph, &dag.slots, err);
    if (rc == 0)
        rc = rp_dag_learn_delays(&dag, trace, err);
    if (rc < 0)
        rp_dag_free(&dag);
    else
        *ret = dag;
    return rc;
}

void rp_dag_free(struct rp_dag *dag)
{
    rp_dag_graph_free(&dag->graph);
    rp_dag_slots_free(&dag->slots);
    free(dag->flags);
    free(dag->owner);
    free(dag->unsure);
    memset(dag, 0, sizeof *dag);
}

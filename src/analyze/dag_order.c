/* Orders the calls of several threads as the device took what they launched. Threads that launch
 * into one stream or hardware queue write their packets in another order than they entered their
 * calls in, and a packet waits for those before it in the queue, not for those that were asked for
 * before.
 *
 * The order is that of entry. Where a packet stands behind one of another thread's later call, that
 * thread goes first, up to this call. Nobody is moved ahead of what he waited for: of an event's
 * record, and for calls that look at all streams of everything before them.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/dag_graph.h"
#include "base/cleanup.h"
#include "base/err.h"

/* So many threads may go first because of each other. With this limit no trace uses up the stack.
 */
enum { DEEPEST = 256 };

/* A trace whose calls contradict each other throughout is left as it is from here on. */
enum { STEPS_PER_CALL = 16 };

struct ordering {
    struct rp_dag_process *p;
    const struct rp_dag_new_op *ops;
    uint32_t *first_op; /**< per call and one more: its operations in by_call */
    uint32_t *by_call;  /**< operations, sorted by call */
    uint32_t *before;   /**< per operation: the one before it on the device, or RP_DAG_NONE */
    uint32_t *needs;    /**< per call: an earlier one that must stand before it, or RP_DAG_NONE */
    uint32_t *next;     /**< per call: the next one of its thread, or RP_DAG_NONE */
    uint32_t *at;       /**< per thread: the next call that has no place yet */
    bool *busy;         /**< per thread: it has been asked to go first */
    uint32_t *place;    /**< per call: its place in the new order, or RP_DAG_NONE */
    uint32_t placed;
    uint32_t oldest; /**< all calls before it have places */
    uint64_t steps_left;
    unsigned depth;
};

/* --- lines of the device -------------------------------------------------------------------- */

/* The sort has no other way to the operations. */
struct in_line {
    int64_t line, start_ns;
    uint32_t op;
};

/* Returns what an operation stands in: a hardware queue, or its stream where none is known. */
static int64_t line_of(const struct rp_dag_op_row *row)
{
    return row->queue >= 0 ? row->queue : row->stream >= 0 ? (INT64_C(1) << 32) + row->stream : -1;
}

static int by_line(const void *a, const void *b)
{
    const struct in_line *x = a, *y = b;

    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return (x->op > y->op) - (x->op < y->op);
}

/* Fills before. @return 1 when a packet stands behind one of a later call, 0 when none does, or
 * -ENOMEM */
static int find_before(struct ordering *o)
{
    const size_t count = o->p->op_count;
    rp_autofree struct in_line *list = malloc((count + 1) * sizeof *list);
    int later = 0;

    if (!list)
        return -1;
    for (size_t i = 0; i < count; i++)
        list[i] = (struct in_line){line_of(&o->ops[i].row), o->ops[i].op.start_ns, (uint32_t)i};
    rp_dag_sort(list, count, sizeof *list, by_line);
    for (size_t i = 0; i < count; i++) {
        const bool behind = i && list[i].line >= 0 && list[i - 1].line == list[i].line;
        const uint32_t here = list[i].op, there = behind ? list[i - 1].op : RP_DAG_NONE;
        o->before[here] = there;
        if (behind && o->ops[there].row.call != RP_DAG_NONE &&
            o->ops[here].row.call < o->ops[there].row.call)
            later = 1;
    }
    return later;
}

/* --- what stands before what ---------------------------------------------------------------- */

/* Sorts the operations by call. Those without one are not in the list. */
static void list_by_call(struct ordering *o)
{
    const struct rp_dag_process *p = o->p;

    memset(o->first_op, 0, (p->call_count + 2) * sizeof *o->first_op);
    for (size_t i = 0; i < p->op_count; i++)
        if (o->ops[i].row.call != RP_DAG_NONE)
            o->first_op[o->ops[i].row.call + 2]++;
    for (size_t c = 2; c < p->call_count + 2; c++)
        o->first_op[c] += o->first_op[c - 1];
    for (size_t i = 0; i < p->op_count; i++)
        if (o->ops[i].row.call != RP_DAG_NONE)
            o->by_call[o->first_op[o->ops[i].row.call + 1]++] = (uint32_t)i;
}

static bool launches_in_null_stream(const struct ordering *o, uint32_t call)
{
    for (uint32_t i = o->first_op[call]; i < o->first_op[call + 1]; i++)
        if (o->ops[o->by_call[i]].row.stream == 0)
            return true;
    return false;
}

/* A call that looks at all streams, or waits for something that is not known. */
static bool looks_at_all(const struct ordering *o, uint32_t call)
{
    switch ((enum rp_dag_call_kind)o->p->calls[call].kind) {
    case RP_DAG_CALL_DEVICE_SYNC:
    case RP_DAG_CALL_MAYBE_SYNC:
    case RP_DAG_CALL_STREAM_SYNC:
    case RP_DAG_CALL_STREAM_POLL:
    case RP_DAG_CALL_STREAM_CREATE:
    case RP_DAG_CALL_OWN_SYNC:
        return true;
    default:
        return launches_in_null_stream(o, call);
    }
}

/* Fills next, at and needs: of an event's record, or the last launch into the default stream, for
 * which other streams wait. @return whether there was memory */
static bool find_needs(struct ordering *o)
{
    const struct rp_dag_process *p = o->p;
    rp_autofree uint32_t *last = malloc((p->thread_count + 1) * sizeof *last);
    rp_autofree uint32_t *recorded = malloc(((size_t)p->handles.count + 1) * sizeof *recorded);
    uint32_t null_launch = RP_DAG_NONE;

    if (!last || !recorded)
        return false;
    for (uint32_t t = 0; t < p->thread_count; t++)
        last[t] = o->at[t] = RP_DAG_NONE;
    for (size_t i = 0; i < p->handles.count; i++)
        recorded[i] = RP_DAG_NONE;
    for (uint32_t c = 0; c < p->call_count; c++) {
        const uint32_t thread = p->calls[c].thread, event = p->call_rows[c].event;

        *(last[thread] == RP_DAG_NONE ? &o->at[thread] : &o->next[last[thread]]) = c;
        o->next[c] = RP_DAG_NONE;
        last[thread] = c;
        o->needs[c] = event == RP_DAG_NONE ? null_launch : recorded[event];
        if (event != RP_DAG_NONE && p->calls[c].kind == RP_DAG_CALL_EVENT_RECORD)
            recorded[event] = c;
        if (launches_in_null_stream(o, c))
            null_launch = c;
    }
    return true;
}

/* --- the order ------------------------------------------------------------------------------ */

static void place_until(struct ordering *o, uint32_t call);

static bool has_place(const struct ordering *o, uint32_t call)
{
    return o->place[call] != RP_DAG_NONE;
}

static void let_first(struct ordering *o, uint32_t call)
{
    if (call != RP_DAG_NONE && !has_place(o, call) && !o->busy[o->p->calls[call].thread] &&
        o->depth < DEEPEST && o->steps_left)
        place_until(o, call);
}

/* Lets all calls before this one have their places first, but those of threads that wait for it. */
static void let_all_first(struct ordering *o, uint32_t call)
{
    while (o->oldest < o->p->call_count && has_place(o, o->oldest))
        o->oldest++;
    for (uint32_t c = o->oldest; c < call && o->steps_left; c++, o->steps_left--)
        let_first(o, c);
}

/* Lets what an operation stands behind on the device go first. It was launched before that began:
 * where clocks say otherwise, nothing can be told from them. */
static void let_packets_first(struct ordering *o, uint32_t call)
{
    for (uint32_t i = o->first_op[call]; i < o->first_op[call + 1]; i++) {
        const uint32_t op = o->by_call[i], before = o->before[op];
        const uint32_t other = before == RP_DAG_NONE ? RP_DAG_NONE : o->ops[before].row.call;

        if (other != RP_DAG_NONE && o->p->call_rows[other].start_ns < o->ops[op].op.start_ns)
            let_first(o, other);
    }
}

/* Gives places to the calls of a thread up to one of them. */
static void place_until(struct ordering *o, uint32_t call)
{
    const uint32_t thread = o->p->calls[call].thread;

    o->busy[thread] = true;
    o->depth++;
    while (o->at[thread] != RP_DAG_NONE && o->at[thread] <= call) {
        const uint32_t c = o->at[thread];

        o->steps_left -= o->steps_left > 0;
        if (looks_at_all(o, c))
            let_all_first(o, c);
        let_first(o, o->needs[c]);
        let_packets_first(o, c);
        o->place[c] = o->placed++;
        o->at[thread] = o->next[c];
    }
    o->depth--;
    o->busy[thread] = false;
}

/* --- the move ------------------------------------------------------------------------------- */

/* Moves the elements of an array to their places. @return whether there was memory */
static bool move(void *array, size_t bytes, const uint32_t *place, size_t count)
{
    rp_autofree char *old = malloc(count * bytes + 1);

    if (!old)
        return false;
    memcpy(old, array, count * bytes);
    for (size_t i = 0; i < count; i++)
        memcpy((char *)array + place[i] * bytes, old + i * bytes, bytes);
    return true;
}

static bool move_all(struct ordering *o, struct rp_dag_new_op *ops)
{
    struct rp_dag_process *p = o->p;

    for (size_t i = 0; i < p->op_count; i++)
        if (ops[i].row.call != RP_DAG_NONE)
            ops[i].row.call = o->place[ops[i].row.call];
    return move(p->calls, sizeof *p->calls, o->place, p->call_count) &&
           move(p->call_rows, sizeof *p->call_rows, o->place, p->call_count) &&
           (!p->call_marks || move(p->call_marks, sizeof *p->call_marks, o->place, p->call_count));
}

static bool order(struct ordering *o, struct rp_dag_new_op *ops)
{
    const struct rp_dag_process *p = o->p;

    list_by_call(o);
    if (!find_needs(o))
        return false;
    for (uint32_t c = 0; c < p->call_count; c++)
        o->place[c] = RP_DAG_NONE;
    o->steps_left = STEPS_PER_CALL * (uint64_t)p->call_count;
    for (uint32_t c = 0; c < p->call_count; c++)
        if (!has_place(o, c))
            place_until(o, c);
    return move_all(o, ops);
}

int rp_dag_order_calls(struct rp_dag_loading *l, struct rp_err *err)
{
    struct rp_dag_process *p = &l->process;
    const size_t calls = p->call_count + 2, ops = p->op_count + 1;
    rp_autofree uint32_t *first_op = NULL, *by_call = NULL, *before = NULL, *needs = NULL,
                         *next = NULL, *at = NULL, *place = NULL;
    rp_autofree bool *busy = NULL;
    struct ordering o = {.p = p, .ops = l->ops};
    int later;

    if (p->thread_count < 2 || !p->op_count)
        return 0;
    o.before = before = malloc(ops * sizeof *before);
    later = before ? find_before(&o) : -1;
    if (later <= 0)
        return later < 0 ? rp_out_of_memory(err) : 0;
    o.first_op = first_op = malloc(calls * sizeof *first_op);
    o.by_call = by_call = malloc(ops * sizeof *by_call);
    o.needs = needs = malloc(calls * sizeof *needs);
    o.next = next = malloc(calls * sizeof *next);
    o.place = place = malloc(calls * sizeof *place);
    o.at = at = malloc((p->thread_count + 1) * sizeof *at);
    o.busy = busy = calloc(p->thread_count + 1, sizeof *busy);
    if (!first_op || !by_call || !needs || !next || !place || !at || !busy || !order(&o, l->ops))
        return rp_out_of_memory(err);
    return 0;
}

/* Finds which stream a handle meant at a call, which queue a stream's markers go to, and whether it
 * takes part in the legacy default stream's ordering. */
#include <stdlib.h>
#include <string.h>

#include "analyze/dag_graph.h"
#include "base/cleanup.h"
#include "base/err.h"

static int by_handle(const void *a, const void *b)
{
    const struct rp_dag_handle *x = a, *y = b;

    if (x->handle != y->handle)
        return x->handle < y->handle ? -1 : 1;
    return (x->from_call > y->from_call) - (x->from_call < y->from_call);
}

/* Returns the stream that a call's own operation or marker ran on, or -1 without one. */
static int32_t shown_stream(const struct rp_dag_process *p, size_t call, size_t first_op)
{
    uint32_t mark = p->call_marks ? p->call_marks[call] : RP_DAG_NONE;

    if (p->calls[call].op_count)
        return p->op_rows[first_op].stream;
    return mark != RP_DAG_NONE ? p->marks[mark].stream : -1;
}

/* Keeps an entry where a handle's stream changes. */
static void compress(struct rp_dag_streams *s)
{
    size_t kept = 0;

    if (s->handle_count)
        qsort(s->handles, s->handle_count, sizeof *s->handles, by_handle);
    for (size_t i = 0; i < s->handle_count; i++) {
        const struct rp_dag_handle *last = kept ? &s->handles[kept - 1] : NULL;
        if (!last || last->handle != s->handles[i].handle || last->stream != s->handles[i].stream)
            s->handles[kept++] = s->handles[i];
    }
    s->handle_count = kept;
}

static bool add_handle(struct rp_dag_streams *s, uint64_t handle, uint32_t call, int32_t stream)
{
    size_t n = s->handle_count;

    if ((n & (n - 1)) == 0) {
        struct rp_dag_handle *grown = realloc(s->handles, (n ? n * 2 : 1) * sizeof *grown);
        if (!grown)
            return false;
        s->handles = grown;
    }
    s->handles[s->handle_count++] = (struct rp_dag_handle){handle, call, stream};
    return true;
}

/* Collects the streams of handles, each from the call on where it changes. */
static int collect(const struct rp_dag_process *p, struct rp_dag_streams *s, struct rp_err *err)
{
    rp_autofree int32_t *last = malloc(((size_t)p->handles.count + 1) * sizeof *last);
    bool fits = last;

    if (last)
        memset(last, -1, ((size_t)p->handles.count + 1) * sizeof *last);
    for (size_t i = 0, op = 0; i < p->call_count && fits; op += p->calls[i++].op_count) {
        uint32_t handle = p->call_rows[i].stream;
        int32_t stream = handle != RP_DAG_NONE ? shown_stream(p, i, op) : -1;
        if (stream < 0 || stream == last[handle])
            continue;
        last[handle] = stream;
        fits = add_handle(s, p->handles.keys[handle], (uint32_t)i, stream);
    }
    if (!fits)
        return rp_out_of_memory(err);
    compress(s);
    return 0;
}

int32_t rp_dag_stream_at(const struct rp_dag_streams *s, uint64_t handle, uint32_t call)
{
    size_t low = 0, high = s->handle_count;

    /* Find the first entry behind (handle, call). */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct rp_dag_handle *h = &s->handles[middle];
        if (h->handle < handle || (h->handle == handle && h->from_call <= call))
            low = middle + 1;
        else
            high = middle;
    }
    if (low && s->handles[low - 1].handle == handle)
        return s->handles[low - 1].stream;
    if (low < s->handle_count && s->handles[low].handle == handle)
        return s->handles[low].stream; /* It is used before its first operation. */
    return handle == 0 ? 0 : -1;
}

static uint32_t created_streams(const struct rp_dag_process *p)
{
    uint32_t created = 0;

    for (size_t i = 0; i < p->call_count; i++)
        created += p->calls[i].kind == RP_DAG_CALL_STREAM_CREATE;
    return created;
}

/* A call that makes a stream has an argument which says where to put the handle. */
static bool names_stream(const struct rp_dag_process *p, size_t call)
{
    return p->call_rows[call].stream != RP_DAG_NONE &&
           p->calls[call].kind != RP_DAG_CALL_STREAM_CREATE;
}

static int32_t next_free(const struct rp_dag_streams *s, const bool *taken, int32_t stream)
{
    while (stream < s->stream_count && taken[stream])
        stream++;
    return stream;
}

static int by_number(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* Lists handles that calls name and no operation shows, each once, ascending. */
static int list_unseen(const struct rp_dag_process *p, const struct rp_dag_streams *s,
                       uint64_t **ret, size_t *ret_count, struct rp_err *err)
{
    rp_autofree bool *listed = calloc((size_t)p->handles.count + 1, sizeof *listed);
    uint64_t *list = malloc(((size_t)p->handles.count + 1) * sizeof *list);
    size_t count = 0;

    if (!listed || !list) {
        free(list);
        return rp_out_of_memory(err);
    }
    for (size_t i = 0; i < p->call_count; i++) {
        uint32_t handle = p->call_rows[i].stream;
        if (!names_stream(p, i) || listed[handle] ||
            rp_dag_stream_at(s, p->handles.keys[handle], (uint32_t)i) >= 0)
            continue;
        listed[handle] = true;
        list[count++] = p->handles.keys[handle];
    }
    qsort(list, count, sizeof *list, by_number);
    *ret = list;
    *ret_count = count;
    return 0;
}

/* Handles that no operation shows get the streams that no other handle has, both in ascending
 * order. Remaining handles get numbers of their own. */
static int name_the_rest(const struct rp_dag_process *p, struct rp_dag_streams *s, bool *taken,
                         struct rp_err *err)
{
    rp_autofree uint64_t *unseen = NULL;
    struct rp_dag_handle *grown;
    size_t count = 0;
    int32_t next = 1;
    int rc = list_unseen(p, s, &unseen, &count, err);

    if (rc < 0)
        return rc;
    grown = realloc(s->handles, (s->handle_count + count + 1) * sizeof *grown);
    if (!grown)
        return rp_out_of_memory(err);
    s->handles = grown;
    for (size_t i = 0; i < count; i++) {
        next = next_free(s, taken, next);
        s->handles[s->handle_count++] = (struct rp_dag_handle){unseen[i], 0, next++};
    }
    if (count && next > s->stream_count)
        s->stream_count = next;
    compress(s);
    return 0;
}

/* HIP assigns queues in turn: when all known streams fit such a pattern, the others do, too. */
static void guess_queues(const struct rp_dag_process *p, struct rp_dag_streams *s)
{
    int32_t shift = -1, known = 0;

    if (p->queue_count < 1)
        return;
    for (int32_t k = 1; k < s->stream_count; k++) {
        int32_t fits;
        if (s->queue[k] < 0)
            continue;
        fits = ((s->queue[k] - 1 - k) % p->queue_count + p->queue_count) % p->queue_count;
        if (s->queue[k] < 1 || s->queue[k] > p->queue_count || (shift >= 0 && shift != fits))
            return;
        shift = fits;
        known++;
    }
    for (int32_t k = 1; k < s->stream_count && known > 1; k++)
        if (s->queue[k] < 0)
            s->queue[k] = 1 + (k + shift) % p->queue_count;
}

static void find_queues(const struct rp_dag_process *p, struct rp_dag_streams *s)
{
    for (int32_t k = 0; k < s->stream_count; k++)
        s->queue[k] = -1;
    for (size_t i = 0; i < p->op_count; i++) {
        const struct rp_dag_op_row *op = &p->op_rows[i];
        if (op->stream >= 0 && op->queue >= 0 && s->queue[op->stream] < 0)
            s->queue[op->stream] = op->queue;
    }
    for (size_t i = 0; i < p->mark_count; i++)
        if (p->marks[i].stream >= 0 && s->queue[p->marks[i].stream] < 0)
            s->queue[p->marks[i].stream] = p->marks[i].queue;
    guess_queues(p, s);
}

/* Streams are numbered in the order of their creation. */
static void find_blocking(const struct rp_dag_process *p, struct rp_dag_streams *s)
{
    int32_t next = 1;

    for (size_t i = 0; i < p->call_count; i++) {
        if (p->calls[i].kind != RP_DAG_CALL_STREAM_CREATE)
            continue;
        if (next < s->stream_count)
            s->blocking[next] = p->has_args && !p->calls[i].first_flag;
        next++;
    }
}

static void count_ids(const struct rp_dag_process *p, struct rp_dag_streams *s)
{
    s->stream_count = (int32_t)created_streams(p) + 1;
    s->queue_count = p->queue_count + 1;
    for (size_t i = 0; i < p->op_count; i++) {
        if (p->op_rows[i].stream >= s->stream_count)
            s->stream_count = p->op_rows[i].stream + 1;
        if (p->op_rows[i].queue >= s->queue_count)
            s->queue_count = p->op_rows[i].queue + 1;
    }
    for (size_t i = 0; i < p->mark_count; i++) {
        if (p->marks[i].stream >= s->stream_count)
            s->stream_count = p->marks[i].stream + 1;
        if (p->marks[i].queue >= s->queue_count)
            s->queue_count = p->marks[i].queue + 1;
    }
}

int rp_dag_streams_find(const struct rp_dag_process *p, struct rp_dag_streams *ret,
                        struct rp_err *err)
{
    struct rp_dag_streams s = {0};
    rp_autofree bool *taken = NULL;
    int rc = collect(p, &s, err);

    count_ids(p, &s);
    taken = calloc((size_t)s.stream_count + 1, sizeof *taken);
    if (rc == 0 && !taken)
        rc = rp_out_of_memory(err);
    for (size_t i = 0; rc == 0 && i < s.handle_count; i++)
        taken[s.handles[i].stream] = true;
    if (rc == 0)
        rc = name_the_rest(p, &s, taken, err);
    s.queue = malloc((size_t)s.stream_count * sizeof *s.queue);
    s.blocking = calloc((size_t)s.stream_count, sizeof *s.blocking);
    if (rc == 0 && (!s.queue || !s.blocking))
        rc = rp_out_of_memory(err);
    if (rc < 0) {
        rp_dag_streams_free(&s);
        return rc;
    }
    find_queues(p, &s);
    find_blocking(p, &s);
    *ret = s;
    return 0;
}

void rp_dag_streams_free(struct rp_dag_streams *streams)
{
    free(streams->handles);
    free(streams->queue);
    free(streams->blocking);
    memset(streams, 0, sizeof *streams);
}

/* A thread's calls are for the GPU of its last launch. */
enum { NO_LAUNCH_YET = -2 };

struct waiting {
    const struct rp_dag_trace *trace;
    const struct rp_dag_process *process;
    struct rp_dag_streams names;
    uint32_t *tails;  /**< per stream: its last operation */
    uint32_t *events; /**< per handle: the last operation before its record */
    int32_t *agents;  /**< per thread */
    int32_t only_stream;
    bool one_agent;
    rp_dag_certain_wait_fn *told;
    void *ctx;
};

static bool is_copy_to_host(const struct waiting *w, const struct rp_dag_op *op)
{
    return op->is_copy && strstr(w->trace->symbols[op->symbol], "DEVICE_TO_HOST");
}

/* Work that another thread launches while the call runs may come behind the work that it waits for.
 */
static void tell(const struct waiting *w, uint32_t op, uint32_t call)
{
    const struct rp_dag_process *p = w->process;
    uint32_t from;

    if (op == RP_DAG_NONE)
        return;
    from = p->op_rows[op].call;
    if (p->call_rows[from].end_ns <= p->call_rows[call].start_ns)
        w->told(w->ctx, op, call);
}

static int32_t stream_of(const struct waiting *w, uint32_t call)
{
    uint32_t handle = w->process->call_rows[call].stream;

    return handle == RP_DAG_NONE
               ? w->only_stream
               : rp_dag_stream_at(&w->names, w->process->handles.keys[handle], call);
}

static void tell_all(const struct waiting *w, uint32_t call)
{
    int32_t agent = w->agents[w->process->calls[call].thread];

    if (agent == NO_LAUNCH_YET && !w->one_agent)
        return;
    for (int32_t s = 0; s < w->names.stream_count; s++)
        if (w->tails[s] != RP_DAG_NONE &&
            (w->one_agent || w->process->ops[w->tails[s]].agent == agent))
            tell(w, w->tails[s], call);
}

static void at_call(const struct waiting *w, uint32_t call, uint32_t first_op)
{
    const struct rp_dag_process *p = w->process;
    uint32_t event = p->call_rows[call].event;
    int32_t stream;

    switch ((enum rp_dag_call_kind)p->calls[call].kind) {
    case RP_DAG_CALL_EVENT_RECORD:
        stream = stream_of(w, call);
        if (event != RP_DAG_NONE)
            w->events[event] = stream >= 0 ? w->tails[stream] : RP_DAG_NONE;
        return;
    case RP_DAG_CALL_EVENT_SYNC:
        if (event != RP_DAG_NONE)
            tell(w, w->events[event], call);
        return;
    case RP_DAG_CALL_STREAM_SYNC:
        stream = stream_of(w, call);
        if (stream >= 0)
            tell(w, w->tails[stream], call);
        return;
    case RP_DAG_CALL_DEVICE_SYNC:
        tell_all(w, call);
        return;
    case RP_DAG_CALL_OWN_SYNC:
        for (uint32_t i = first_op; i < first_op + p->calls[call].op_count; i++)
            if (is_copy_to_host(w, &p->ops[i]))
                w->told(w->ctx, i, call);
        return;
    default:
        return;
    }
}

/* Returns the stream of all operations, or -1 when there are several, or it is not known. */
static int32_t only_stream(const struct rp_dag_process *p)
{
    int32_t stream = p->op_count ? p->op_rows[0].stream : -1;

    for (size_t i = 1; i < p->op_count; i++)
        if (p->op_rows[i].stream != stream)
            return -1;
    return stream;
}

static bool has_one_agent(const struct rp_dag_process *p)
{
    for (size_t i = 1; i < p->op_count; i++)
        if (p->ops[i].agent != p->ops[0].agent)
            return false;
    return true;
}

static bool may_change_device(const struct waiting *w, uint32_t call)
{
    const char *name = w->trace->call_names[w->process->calls[call].name];

    return !w->one_agent &&
           (strncmp(name, "hipSetDevice", 12) == 0 || strncmp(name, "hipCtx", 6) == 0);
}

static void walk(struct waiting *w)
{
    const struct rp_dag_process *p = w->process;
    uint32_t op = 0;

    for (uint32_t call = 0; call < p->call_count; call++) {
        at_call(w, call, op);
        for (uint32_t end = op + p->calls[call].op_count; op < end; op++) {
            if (p->op_rows[op].stream >= 0)
                w->tails[p->op_rows[op].stream] = op;
            w->agents[p->calls[call].thread] = p->ops[op].agent;
        }
        if (may_change_device(w, call))
            w->agents[p->calls[call].thread] = NO_LAUNCH_YET;
    }
}

int rp_dag_each_certain_wait(const struct rp_dag_trace *trace, const struct rp_dag_process *p,
                             rp_dag_certain_wait_fn *told, void *ctx, struct rp_err *err)
{
    struct waiting w = {.trace = trace, .process = p, .told = told, .ctx = ctx};
    rp_autofree uint32_t *tails = NULL, *events = NULL;
    rp_autofree int32_t *agents = NULL;
    int rc;

    if (!p->call_count || !p->op_count)
        return 0;
    rc = rp_dag_streams_find(p, &w.names, err);
    if (rc < 0)
        return rc;
    w.only_stream = only_stream(p);
    w.one_agent = has_one_agent(p);
    w.tails = tails = malloc((size_t)w.names.stream_count * sizeof *tails);
    w.events = events = malloc(((size_t)p->handles.count + 1) * sizeof *events);
    w.agents = agents = malloc(((size_t)p->thread_count + 1) * sizeof *agents);
    if (tails && events && agents) {
        for (int32_t s = 0; s < w.names.stream_count; s++)
            tails[s] = RP_DAG_NONE;
        for (size_t k = 0; k < p->handles.count; k++)
            events[k] = RP_DAG_NONE;
        for (uint32_t t = 0; t < p->thread_count; t++)
            agents[t] = NO_LAUNCH_YET;
        walk(&w);
    } else {
        rc = rp_out_of_memory(err);
    }
    rp_dag_streams_free(&w.names);
    return rc;
}

/* Experience shows that waits are passed on within some microseconds. */
enum { LEAST_REACH_NS = 10000, GAPS_OF_REACH = 3 };

static int by_value(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* Lists gaps between consecutive operations of each stream, in the order of the operations. */
static size_t stream_gaps(const struct rp_dag_process *p, const struct rp_dag_streams *streams,
                          int64_t *last_end_ns, int64_t *gaps)
{
    size_t count = 0;

    for (int32_t k = 0; k < streams->stream_count; k++)
        last_end_ns[k] = INT64_MAX;
    for (size_t i = 0; i < p->op_count; i++) {
        const struct rp_dag_op *op = &p->ops[i];
        int32_t stream = p->op_rows[i].stream;
        if (stream < 0)
            continue;
        if (op->start_ns >= last_end_ns[stream])
            gaps[count++] = op->start_ns - last_end_ns[stream];
        last_end_ns[stream] = op->end_ns;
    }
    return count;
}

int rp_dag_usual_delays_find(const struct rp_dag_process *p, const struct rp_dag_streams *streams,
                             struct rp_dag_usual_delays *ret, struct rp_err *err)
{
    rp_autofree int64_t *ends = malloc((size_t)streams->stream_count * sizeof *ends);
    rp_autofree int64_t *gaps = malloc((p->op_count + 1) * sizeof *gaps);
    struct rp_dag_usual_delays usual = {.launch_ns = INT64_MAX, .wake_ns = INT64_MAX};
    size_t count;

    if (!ends || !gaps)
        return rp_out_of_memory(err);
    count = stream_gaps(p, streams, ends, gaps);
    qsort(gaps, count, sizeof *gaps, by_value);
    usual.gap_ns = !count ? 0 : gaps[0] < RP_DAG_LONGEST_GAP_NS ? gaps[0] : RP_DAG_LONGEST_GAP_NS;
    usual.jitter_ns = count ? gaps[count / 2] : 0;
    usual.reach_ns = usual.jitter_ns * GAPS_OF_REACH;
    if (usual.reach_ns < LEAST_REACH_NS)
        usual.reach_ns = LEAST_REACH_NS;
    for (size_t i = 0; i < p->op_count && p->op_rows[i].call != RP_DAG_NONE; i++) {
        const struct rp_dag_op *op = &p->ops[i];
        uint32_t number = p->op_rows[i].call;
        const struct rp_dag_call_row *call = &p->call_rows[number];
        int64_t launch = op->start_ns - call->start_ns, wake = call->end_ns - op->end_ns;
        if (launch >= 0 && launch < usual.launch_ns)
            usual.launch_ns = launch;
        if (p->calls[number].kind == RP_DAG_CALL_OWN_SYNC && wake >= 0 && wake < usual.wake_ns)
            usual.wake_ns = wake;
    }
    if (usual.launch_ns == INT64_MAX)
        usual.launch_ns = 0;
    if (usual.launch_ns > RP_DAG_LONGEST_LAUNCH_NS)
        usual.launch_ns = RP_DAG_LONGEST_LAUNCH_NS;
    if (usual.wake_ns == INT64_MAX)
        usual.wake_ns = 0;
    *ret = usual;
    return 0;
}

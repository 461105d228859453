#include "streams.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"

static int by_handle(const void *a, const void *b)
{
    const struct rp_dag_handle *x = a, *y = b;

    if (x->handle != y->handle)
        return x->handle < y->handle ? -1 : 1;
    return (x->from_call > y->from_call) - (x->from_call < y->from_call);
}

/* The stream that a call's own operation or marker ran on, -1 without one. */
static int32_t seen_stream(const struct rp_dag_process *p, size_t call, size_t first_op)
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

/* The streams of handles, each from the call on where it is another one than before. */
static int collect(const struct rp_dag_process *p, struct rp_dag_streams *s, struct rp_err *err)
{
    rp_autofree int32_t *last = malloc(((size_t)p->handles.count + 1) * sizeof *last);
    bool fits = last;

    if (last)
        memset(last, -1, ((size_t)p->handles.count + 1) * sizeof *last);
    for (size_t i = 0, op = 0; i < p->call_count && fits; op += p->calls[i++].op_count) {
        uint32_t handle = p->call_rows[i].stream;
        int32_t stream = handle != RP_DAG_NONE ? seen_stream(p, i, op) : -1;
        if (stream < 0 || stream == last[handle])
            continue;
        last[handle] = stream;
        fits = add_handle(s, p->handles.keys[handle], (uint32_t)i, stream);
    }
    if (!fits)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    compress(s);
    return 0;
}

int32_t rp_dag_stream_at(const struct rp_dag_streams *s, uint64_t handle, uint32_t call)
{
    size_t low = 0, high = s->handle_count;

    /* The first entry behind (handle, call). */
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
        return s->handles[low].stream; /* used before its first operation */
    return handle == 0 ? 0 : -1;
}

static uint32_t created_streams(const struct rp_dag_process *p)
{
    uint32_t created = 0;

    for (size_t i = 0; i < p->call_count; i++)
        created += p->calls[i].kind == RP_DAG_CALL_STREAM_CREATE;
    return created;
}

/* The argument of a call that makes a stream is where the handle is to be put. */
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

/* Handles that calls name and no operation shows, each once, ascending. */
static int list_unseen(const struct rp_dag_process *p, const struct rp_dag_streams *s,
                       uint64_t **ret, size_t *ret_count, struct rp_err *err)
{
    rp_autofree bool *listed = calloc((size_t)p->handles.count + 1, sizeof *listed);
    uint64_t *list = malloc(((size_t)p->handles.count + 1) * sizeof *list);
    size_t count = 0;

    if (!listed || !list) {
        free(list);
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
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
 * order; what is left over gets numbers of its own. */
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
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
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

/* HIP deals queues out in turn: when all streams that are known fit such a pattern, the others do
 * too. */
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
        rc = rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (size_t i = 0; rc == 0 && i < s.handle_count; i++)
        taken[s.handles[i].stream] = true;
    if (rc == 0)
        rc = name_the_rest(p, &s, taken, err);
    s.queue = malloc((size_t)s.stream_count * sizeof *s.queue);
    s.blocking = calloc((size_t)s.stream_count, sizeof *s.blocking);
    if (rc == 0 && (!s.queue || !s.blocking))
        rc = rp_fail(err, RP_ENVIRONMENT, "out of memory");
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

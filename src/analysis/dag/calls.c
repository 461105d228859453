#include "load.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

/* --- names --------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    enum rp_dag_call_kind kind;
} known_calls[] = {
#define RP_DAG_CALL(n, k) {#n, RP_DAG_CALL_##k},
#include "calls.def"
#undef RP_DAG_CALL
};

static enum rp_dag_call_kind kind_of(const char *name)
{
    for (size_t i = 0; i < sizeof known_calls / sizeof known_calls[0]; i++)
        if (strcmp(known_calls[i].name, name) == 0)
            return known_calls[i].kind;
    return RP_DAG_CALL_OTHER;
}

/* Calls of the program to HIP: not the compiler's registration calls, HSA below, or ranges. A name
 * lives as long as the store, so that its address says which it is. */
static bool is_hip_call(struct rp_dag_loader *l, const char *name, uint8_t *ret_kind)
{
    size_t at = ((uintptr_t)name >> 3 ^ (uintptr_t)name >> 12) % RP_DAG_CALLS_CACHED;

    if (l->calls[at].name != name) {
        l->calls[at].name = name;
        l->calls[at].is_hip = strncmp(name, "hip", 3) == 0;
        l->calls[at].kind = (uint8_t)kind_of(name);
    }
    *ret_kind = l->calls[at].kind;
    return l->calls[at].is_hip;
}

/* --- threads ------------------------------------------------------------------------------- */

struct rp_dag_thread_slot {
    int64_t tid;
    uint32_t number; /* + 1; 0 = free */
};

static struct rp_dag_thread_slot *thread_slot(struct rp_dag_thread_slot *slots, size_t count,
                                              int64_t tid)
{
    size_t at = (size_t)((uint64_t)tid * 0x9e3779b97f4a7c15u >> 32) & (count - 1);

    while (slots[at].number && slots[at].tid != tid)
        at = (at + 1) & (count - 1);
    return &slots[at];
}

static bool grow_threads(struct rp_dag_threads *t)
{
    size_t count = t->slot_count ? t->slot_count * 2 : 64;
    struct rp_dag_thread_slot *slots = calloc(count, sizeof *slots);

    if (!slots)
        return false;
    for (size_t i = 0; i < t->slot_count; i++)
        if (t->slots[i].number)
            *thread_slot(slots, count, t->slots[i].tid) = t->slots[i];
    free(t->slots);
    t->slots = slots;
    t->slot_count = count;
    return true;
}

/* Threads become 0, 1, 2 ... in the order of their first calls. */
static bool thread_number(struct rp_dag_threads *t, int64_t tid, uint32_t *ret)
{
    struct rp_dag_thread_slot *slot;

    if (!t->count || t->last_tid != tid) {
        if ((size_t)t->count * 2 >= t->slot_count && !grow_threads(t))
            return false;
        slot = thread_slot(t->slots, t->slot_count, tid);
        if (!slot->number)
            *slot = (struct rp_dag_thread_slot){tid, ++t->count};
        t->last_tid = tid;
        t->last = slot->number - 1;
    }
    *ret = t->last;
    return true;
}

/* --- reading ------------------------------------------------------------------------------- */

static bool add_inner(struct rp_dag_loading *p, int64_t order, int64_t outer)
{
    size_t n = p->inner_count;

    if ((n & (n - 1)) == 0) {
        struct rp_dag_inner *grown = realloc(p->inners, (n ? n * 2 : 1) * sizeof *grown);
        if (!grown)
            return false;
        p->inners = grown;
    }
    p->inners[p->inner_count++] = (struct rp_dag_inner){order, outer};
    return true;
}

static bool add_call(struct rp_dag_loader *l, struct rp_dag_loading *p,
                     const struct rp_row_region *r)
{
    uint8_t kind;
    uint32_t thread;

    if (!is_hip_call(l, r->name, &kind)) {
        if (rp_dag_is_range(r->name) &&
            (!thread_number(&p->threads, r->tid, &thread) || !rp_dag_add_range(p, r, thread)))
            return false;
        return add_inner(p, r->correlation_id, r->parent_id);
    }
    if (!thread_number(&p->threads, r->tid, &thread))
        return false;
    if (r->start_ns <= 0) {
        l->repairs->never_ended++;
        return true;
    }
    if (!rp_dag_room(&p->process.calls, p->process.call_count, &p->call_room,
                     sizeof *p->process.calls))
        return false;
    p->process.calls[p->process.call_count++] = (struct rp_dag_call){
        .start_ns = r->start_ns,
        .end_ns = r->end_ns > r->start_ns ? r->end_ns : r->start_ns,
        .order = r->correlation_id,
        .name = r->name,
        .event = (uint64_t)r->event_id, /* the row, until its arguments are read */
        .thread = thread,
        .mark = RP_DAG_NONE,
        .kind = kind,
    };
    return true;
}

static int take_region(void *ctx, const void *row, struct rp_err *err)
{
    struct rp_dag_loader *l = ctx;
    const struct rp_row_region *r = row;
    struct rp_dag_loading *p = rp_dag_loading_of(l, r->guid_index);

    return p && add_call(l, p, r) ? 0 : rp_fail(err, RP_ENVIRONMENT, "out of memory");
}

/* --- nesting ------------------------------------------------------------------------------- */

static int by_thread_and_time(const void *a, const void *b)
{
    const struct rp_dag_call *x = a, *y = b;

    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return (x->end_ns < y->end_ns) - (x->end_ns > y->end_ns); /* the outer one first */
}

static int by_order(const void *a, const void *b)
{
    const struct rp_dag_call *x = a, *y = b;

    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static int by_inner(const void *a, const void *b)
{
    const struct rp_dag_inner *x = a, *y = b;

    return (x->order > y->order) - (x->order < y->order);
}

/* Does every thread make its calls in the order of the rows, outer ones before those in them? */
static bool is_in_order(const struct rp_dag_process *p, uint32_t *last)
{
    for (uint32_t t = 0; t < p->thread_count; t++)
        last[t] = RP_DAG_NONE;
    for (size_t i = 0; i < p->call_count; i++) {
        const struct rp_dag_call *call = &p->calls[i];
        if (last[call->thread] != RP_DAG_NONE &&
            by_thread_and_time(&p->calls[last[call->thread]], call) > 0)
            return false;
        last[call->thread] = (uint32_t)i;
    }
    return true;
}

/* A call made by another call is part of it; what it started belongs to the outer one. */
static bool drop_nested(struct rp_dag_loading *l, uint32_t *last)
{
    struct rp_dag_process *p = &l->process;
    size_t kept = 0;

    if (!is_in_order(p, last))
        rp_dag_sort(p->calls, p->call_count, sizeof *p->calls, by_thread_and_time);
    for (uint32_t t = 0; t < p->thread_count; t++)
        last[t] = RP_DAG_NONE;
    for (size_t i = 0; i < p->call_count; i++) {
        const struct rp_dag_call *call = &p->calls[i];
        const struct rp_dag_call *outer =
            last[call->thread] == RP_DAG_NONE ? NULL : &p->calls[last[call->thread]];
        /* Where calls take no time, the order tells the next one from an inner one. */
        if (outer && outer->order <= call->order && call->start_ns < outer->end_ns &&
            call->end_ns <= outer->end_ns) {
            if (!add_inner(l, call->order, outer->order))
                return false;
            continue;
        }
        last[call->thread] = (uint32_t)kept;
        p->calls[kept++] = *call;
    }
    p->call_count = kept;
    return true;
}

/* --- the rows of arguments ----------------------------------------------------------------- */

static int by_event(const void *a, const void *b, void *ctx)
{
    const int64_t *events = ctx, x = events[*(const uint32_t *)a], y = events[*(const uint32_t *)b];

    return (x > y) - (x < y);
}

static bool index_events(struct rp_dag_loading *l)
{
    struct rp_dag_process *p = &l->process;
    bool in_order = true;

    l->events = malloc((p->call_count + 1) * sizeof *l->events);
    if (!l->events)
        return false;
    for (size_t i = 0; i < p->call_count; i++) {
        l->events[i] = (int64_t)p->calls[i].event;
        p->calls[i].event = 0;
        in_order &= i == 0 || l->events[i - 1] <= l->events[i];
    }
    if (in_order)
        return true;
    l->by_event = malloc(p->call_count * sizeof *l->by_event);
    if (!l->by_event)
        return false;
    for (size_t i = 0; i < p->call_count; i++)
        l->by_event[i] = (uint32_t)i;
    qsort_r(l->by_event, p->call_count, sizeof *l->by_event, by_event, l->events);
    return true;
}

static bool settle(struct rp_dag_loading *l)
{
    struct rp_dag_process *p = &l->process;
    uint32_t *last = malloc(((size_t)l->threads.count + 1) * sizeof *last);
    bool done;

    p->thread_count = l->threads.count;
    done = last && drop_nested(l, last);
    free(last);
    if (!done)
        return false;
    rp_dag_sort(l->inners, l->inner_count, sizeof *l->inners, by_inner);
    rp_dag_sort(p->calls, p->call_count, sizeof *p->calls, by_order);
    return index_events(l);
}

int rp_dag_load_calls(struct rp_dag_loader *l, struct rp_err *err)
{
    int rc = rp_store_each_region(l->store, take_region, l, err);

    for (size_t i = 0; i < l->count && rc == 0; i++)
        if (!settle(&l->list[i]))
            rc = rp_fail(err, RP_ENVIRONMENT, "out of memory");
    return rc < 0 ? rc : rp_dag_name_ranges(l, err);
}

/* --- arguments ----------------------------------------------------------------------------- */

static void take_value(struct rp_dag_call *call, const struct rp_row_arg *arg)
{
    /* "(nil)" is 0, too. */
    if (strcmp(arg->name, "stream") == 0 || strcmp(arg->name, "hStream") == 0) {
        call->stream = strtoull(arg->value, NULL, 0);
        call->has_stream = true;
    } else if (strcmp(arg->name, "event") == 0) {
        call->event = strtoull(arg->value, NULL, 0);
        call->has_event = true;
    } else if (strcmp(arg->name, "flags") == 0)
        call->flags = strtoll(arg->value, NULL, 0);
}

static int64_t event_at(const struct rp_dag_loading *p, size_t i)
{
    return p->events[p->by_event ? p->by_event[i] : i];
}

/* The call whose event this is, or NULL. Arguments mostly come in the order of the calls. */
static struct rp_dag_call *call_of_event(struct rp_dag_loading *p, int64_t event_id)
{
    size_t count = p->process.call_count, low = p->last_call, high;

    if (low < count && event_at(p, low) < event_id)
        low++;
    if (low >= count || event_at(p, low) != event_id) {
        for (low = 0, high = count; low < high;) {
            size_t middle = low + (high - low) / 2;
            if (event_at(p, middle) < event_id)
                low = middle + 1;
            else
                high = middle;
        }
        if (low == count || event_at(p, low) != event_id)
            return NULL;
    }
    p->last_call = (uint32_t)low;
    return &p->process.calls[p->by_event ? p->by_event[low] : low];
}

static int take_arg(void *ctx, const void *row, struct rp_err *err)
{
    struct rp_dag_loader *l = ctx;
    const struct rp_row_arg *arg = row;
    struct rp_dag_loading *p = rp_dag_loading_of(l, arg->guid_index);
    struct rp_dag_call *call;

    if (!p)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    call = call_of_event(p, arg->event_id);
    if (call) {
        p->process.has_args = true;
        take_value(call, arg);
    }
    return 0;
}

int rp_dag_load_args(struct rp_dag_loader *l, struct rp_err *err)
{
    int rc = rp_store_each_arg(l->store, take_arg, l, err);

    for (size_t i = 0; i < l->count; i++) {
        free(l->list[i].events);
        free(l->list[i].by_event);
        l->list[i].events = NULL;
        l->list[i].by_event = NULL;
    }
    return rc;
}

/* --- finding ------------------------------------------------------------------------------- */

static uint32_t call_with(struct rp_dag_loading *l, int64_t correlation_id)
{
    const struct rp_dag_process *p = &l->process;
    size_t low = l->last_found, high = p->call_count;

    /* Operations mostly come in the order of their calls. */
    for (int i = 0; i < 4 && low < p->call_count && p->calls[low].order < correlation_id; i++)
        low++;
    if (low >= p->call_count || p->calls[low].order != correlation_id) {
        for (low = 0; low < high;) {
            size_t middle = low + (high - low) / 2;
            if (p->calls[middle].order < correlation_id)
                low = middle + 1;
            else
                high = middle;
        }
        if (low == p->call_count || p->calls[low].order != correlation_id)
            return RP_DAG_NONE;
    }
    l->last_found = low;
    return (uint32_t)low;
}

uint32_t rp_dag_outer_call(struct rp_dag_loading *p, int64_t correlation_id)
{
    enum { DEEPEST = 16 };

    for (int depth = 0; depth < DEEPEST && correlation_id; depth++) {
        const struct rp_dag_inner key = {.order = correlation_id}, *found;
        uint32_t call = call_with(p, correlation_id);
        if (call != RP_DAG_NONE)
            return call;
        found =
            p->inner_count ? bsearch(&key, p->inners, p->inner_count, sizeof key, by_inner) : NULL;
        correlation_id = found ? found->outer : 0;
    }
    return RP_DAG_NONE;
}

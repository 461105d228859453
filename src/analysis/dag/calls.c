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
static bool is_hip_call(struct rp_dag_loader *l, const char *name, struct rp_dag_call *ret)
{
    size_t at = ((uintptr_t)name >> 3 ^ (uintptr_t)name >> 12) % RP_DAG_CALLS_CACHED;

    if (l->calls[at].name != name) {
        l->calls[at].name = name;
        l->calls[at].is_hip = strncmp(name, "hip", 3) == 0;
        l->calls[at].kind = (uint8_t)kind_of(name);
        if (l->calls[at].is_hip)
            l->calls[at].number = rp_dag_symbols_add(l->call_names, name);
    }
    ret->kind = l->calls[at].kind & ((1u << RP_DAG_KIND_BITS) - 1);
    ret->name = l->calls[at].number;
    return l->calls[at].is_hip;
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

/* Threads become 0, 1, 2 ... in the order of their first calls. */
static bool thread_number(struct rp_dag_loading *p, int64_t tid, uint32_t *ret)
{
    *ret = rp_numbering_add(&p->threads, (uint64_t)tid);
    return *ret != RP_NO_NUMBER;
}

static bool add_call(struct rp_dag_loader *l, struct rp_dag_loading *p,
                     const struct rp_row_region *r)
{
    struct rp_dag_call call = {0};

    if (!is_hip_call(l, r->name, &call)) {
        if (rp_dag_is_range(r->name) &&
            (!thread_number(p, r->tid, &call.thread) || !rp_dag_add_range(p, r, call.thread)))
            return false;
        return add_inner(p, r->correlation_id, r->parent_id);
    }
    if (call.name == UINT32_MAX || !thread_number(p, r->tid, &call.thread))
        return false;
    if (r->start_ns <= 0) {
        l->repairs->never_ended++;
        return true;
    }
    if (!rp_dag_room(&p->calls, p->process.call_count, &p->call_room, sizeof *p->calls))
        return false;
    p->calls[p->process.call_count++] = (struct rp_dag_new_call){
        .start_ns = r->start_ns,
        .end_ns = r->end_ns > r->start_ns ? r->end_ns : r->start_ns,
        .order = r->correlation_id,
        .event_id = r->event_id,
        .call = call,
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
    const struct rp_dag_new_call *x = a, *y = b;

    if (x->call.thread != y->call.thread)
        return x->call.thread < y->call.thread ? -1 : 1;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return (x->end_ns < y->end_ns) - (x->end_ns > y->end_ns); /* the outer one first */
}

static int by_order(const void *a, const void *b)
{
    const struct rp_dag_new_call *x = a, *y = b;

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
static bool is_in_order(const struct rp_dag_loading *l, uint32_t *last)
{
    for (uint32_t t = 0; t < l->process.thread_count; t++)
        last[t] = RP_DAG_NONE;
    for (size_t i = 0; i < l->process.call_count; i++) {
        const struct rp_dag_new_call *call = &l->calls[i];
        if (last[call->call.thread] != RP_DAG_NONE &&
            by_thread_and_time(&l->calls[last[call->call.thread]], call) > 0)
            return false;
        last[call->call.thread] = (uint32_t)i;
    }
    return true;
}

/* A call made by another call is part of it; what it started belongs to the outer one. */
static bool drop_nested(struct rp_dag_loading *l, uint32_t *last)
{
    size_t kept = 0, count = l->process.call_count;

    if (!is_in_order(l, last))
        rp_dag_sort(l->calls, count, sizeof *l->calls, by_thread_and_time);
    for (uint32_t t = 0; t < l->process.thread_count; t++)
        last[t] = RP_DAG_NONE;
    for (size_t i = 0; i < count; i++) {
        const struct rp_dag_new_call *call = &l->calls[i];
        const struct rp_dag_new_call *outer =
            last[call->call.thread] == RP_DAG_NONE ? NULL : &l->calls[last[call->call.thread]];
        /* Where calls take no time, the order tells the next one from an inner one. */
        if (outer && outer->order <= call->order && call->start_ns < outer->end_ns &&
            call->end_ns <= outer->end_ns) {
            if (!add_inner(l, call->order, outer->order))
                return false;
            continue;
        }
        last[call->call.thread] = (uint32_t)kept;
        l->calls[kept++] = *call;
    }
    l->process.call_count = kept;
    return true;
}

/* --- the process's calls ------------------------------------------------------------------- */

static int by_event(const void *a, const void *b, void *ctx)
{
    const int64_t *events = ctx, x = events[*(const uint32_t *)a], y = events[*(const uint32_t *)b];

    return (x > y) - (x < y);
}

/* Which calls the rows of arguments belong to. */
static bool sort_events(struct rp_dag_loading *l, bool in_order)
{
    size_t count = l->process.call_count;

    if (in_order)
        return true;
    l->by_event = malloc(count * sizeof *l->by_event);
    if (!l->by_event)
        return false;
    for (size_t i = 0; i < count; i++)
        l->by_event[i] = (uint32_t)i;
    qsort_r(l->by_event, count, sizeof *l->by_event, by_event, l->events);
    return true;
}

/* What was read goes to where it is needed, for as long as it is. */
static bool spread(struct rp_dag_loading *l)
{
    struct rp_dag_process *p = &l->process;
    size_t room = p->call_count + 1;
    bool in_order = true;

    p->calls = malloc(room * sizeof *p->calls);
    p->call_rows = malloc(room * sizeof *p->call_rows);
    l->orders = malloc(room * sizeof *l->orders);
    l->events = malloc(room * sizeof *l->events);
    if (!p->calls || !p->call_rows || !l->orders || !l->events)
        return false;
    for (size_t i = 0; i < p->call_count; i++) {
        const struct rp_dag_new_call *call = &l->calls[i];
        p->calls[i] = call->call;
        p->call_rows[i] = (struct rp_dag_call_row){
            .start_ns = call->start_ns,
            .end_ns = call->end_ns,
            .stream = RP_DAG_NONE,
            .event = RP_DAG_NONE,
        };
        l->orders[i] = call->order;
        l->events[i] = call->event_id;
        in_order &= i == 0 || l->events[i - 1] <= l->events[i];
    }
    free(l->calls);
    l->calls = NULL;
    return sort_events(l, in_order);
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
    rp_dag_sort(l->calls, p->call_count, sizeof *l->calls, by_order);
    return spread(l);
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

/* An address: nearly always written "0x7f...", which needs no library for it. */
static uint64_t address_of(const char *text)
{
    static const int8_t digits[256] = {
        ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,
        ['6'] = 7,  ['7'] = 8,  ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12,
        ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16}; /* + 1: 0 is none */
    enum { MOST_DIGITS = 16 };
    uint64_t number = 0;
    int i = 0;

    if (text[0] != '0' || text[1] != 'x')
        return strtoull(text, NULL, 0);
    for (; digits[(unsigned char)text[2 + i]] && i < MOST_DIGITS; i++)
        number = number << 4 | (uint64_t)(digits[(unsigned char)text[2 + i]] - 1);
    return text[2 + i] == '\0' && i ? number : strtoull(text, NULL, 0);
}

/* Handles are numbered in the order in which they come. */
static uint32_t handle_of(struct rp_dag_loading *l, const struct rp_row_arg *arg)
{
    return rp_numbering_add(&l->process.handles, address_of(arg->value));
}

/* False: out of memory. */
static bool take_value(struct rp_dag_loading *l, uint32_t call, const struct rp_row_arg *arg)
{
    struct rp_dag_call_row *row = &l->process.call_rows[call];

    /* "(nil)" is 0, too. */
    if (strcmp(arg->name, "stream") == 0 || strcmp(arg->name, "hStream") == 0)
        return (row->stream = handle_of(l, arg)) != RP_NO_NUMBER;
    if (strcmp(arg->name, "event") == 0)
        return (row->event = handle_of(l, arg)) != RP_NO_NUMBER;
    if (strcmp(arg->name, "flags") == 0)
        l->process.calls[call].first_flag = strtoll(arg->value, NULL, 0) & 1;
    return true;
}

static int64_t event_at(const struct rp_dag_loading *p, size_t i)
{
    return p->events[p->by_event ? p->by_event[i] : i];
}

/* The call whose event this is, or RP_DAG_NONE. Arguments mostly come in the order of the calls. */
static uint32_t call_of_event(struct rp_dag_loading *p, int64_t event_id)
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
            return RP_DAG_NONE;
    }
    p->last_call = (uint32_t)low;
    return p->by_event ? p->by_event[low] : (uint32_t)low;
}

static int take_arg(void *ctx, const void *row, struct rp_err *err)
{
    struct rp_dag_loader *l = ctx;
    const struct rp_row_arg *arg = row;
    struct rp_dag_loading *p = rp_dag_loading_of(l, arg->guid_index);
    uint32_t call;

    if (!p)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    call = call_of_event(p, arg->event_id);
    if (call == RP_DAG_NONE)
        return 0;
    p->process.has_args = true;
    return take_value(p, call, arg) ? 0 : rp_fail(err, RP_ENVIRONMENT, "out of memory");
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
    const int64_t *orders = l->orders;
    size_t count = l->process.call_count, low = l->last_found, high = count;

    /* Operations mostly come in the order of their calls. */
    for (int i = 0; i < 4 && low < count && orders[low] < correlation_id; i++)
        low++;
    if (low >= count || orders[low] != correlation_id) {
        for (low = 0; low < high;) {
            size_t middle = low + (high - low) / 2;
            if (orders[middle] < correlation_id)
                low = middle + 1;
            else
                high = middle;
        }
        if (low == count || orders[low] != correlation_id)
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

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analyze/dag_graph.h"
#include "analyze/profile.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/work_progress.h"
#include "trace/rocpd.h"

/* --- loading -------------------------------------------------------------------------------- */

/* rocprofv3 names the call and keeps the message apart. */
static bool dag_is_range(const char *region_name)
{
    return strncmp(region_name, "roctx", 5) == 0;
}

/** @return false: memory has ended */
static bool dag_add_range(struct rp_dag_loading *l, const struct rp_row_region *r, uint32_t thread)
{
    struct rp_dag_process *p = &l->process;
    char *name;

    if (r->start_ns <= 0 || r->end_ns <= r->start_ns)
        return true; /* It is a mark, or a range that never ended. */
    name = strdup(r->name);
    if (!name || !rp_dag_room(&p->ranges, p->range_count, &l->range_room, sizeof *p->ranges)) {
        free(name);
        return false;
    }
    p->ranges[p->range_count++] = (struct rp_dag_range){
        .start_ns = r->start_ns,
        .end_ns = r->end_ns,
        .event_id = r->event_id,
        .name = name,
        .thread = strncmp(r->name, "roctxProcess", 12) == 0 ? RP_DAG_NONE : thread,
    };
    return true;
}

static int ranges_by_event(const void *a, const void *b)
{
    const struct rp_dag_range *x = a, *y = b;

    return (x->event_id > y->event_id) - (x->event_id < y->event_id);
}

static int take_note(void *ctx, const void *row, struct rp_err *err)
{
    struct rp_dag_loader *l = ctx;
    const struct rp_row_note *note = row;
    struct rp_dag_loading *p = note->guid_index < l->count ? &l->list[note->guid_index] : NULL;
    const struct rp_dag_range key = {.event_id = note->event_id};
    struct rp_dag_range *range;
    json_t *object = NULL;
    const char *message;
    int rc = 0;

    if (!p || !p->process.range_count || strcmp(note->extdata, "{}") == 0)
        return 0;
    range = bsearch(&key, p->process.ranges, p->process.range_count, sizeof key, ranges_by_event);
    if (range)
        rc = rp_extdata_load(note->extdata, &object, err);
    message = json_string_value(json_object_get(object, "message"));
    if (rc == 0 && message) {
        free(range->name);
        range->name = strdup(message);
        if (!range->name)
            rc = rp_out_of_memory(err);
    }
    json_decref(object);
    return rc;
}

/** Gives the ranges their messages. */
static int dag_name_ranges(struct rp_dag_loader *l, struct rp_err *err)
{
    bool any = false;

    for (size_t i = 0; i < l->count; i++) {
        struct rp_dag_process *p = &l->list[i].process;
        rp_dag_sort(p->ranges, p->range_count, sizeof *p->ranges, ranges_by_event);
        any |= p->range_count > 0;
    }
    return any ? rp_store_each_note(l->store, take_note, l, err) : 0;
}

/* --- names --------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    enum rp_dag_call_kind kind;
} known_calls[] = {
#define RP_DAG_CALL(n, k) {#n, RP_DAG_CALL_##k},
#include "analyze/dag_calls.def"
#undef RP_DAG_CALL
};

/* Returns how many letters before the name proper say whose API it is: hipFree, cudaFree,
 * cuMemFree. 0: neither HIP's nor CUDA's, which traces of PyTorch have. */
static size_t api_length(const char *name)
{
    static const char *const apis[] = {"hip", "cuda", "cu"};

    for (size_t i = 0; i < sizeof apis / sizeof *apis; i++) {
        size_t len = strlen(apis[i]);
        if (strncmp(name, apis[i], len) == 0)
            return len < 3 && (name[len] < 'A' || name[len] > 'Z') ? 0 : len;
    }
    return 0;
}

/* CUDA's calls are called as HIP's are. */
static enum rp_dag_call_kind kind_of(const char *name)
{
    size_t api = api_length(name);

    for (size_t i = 0; api && i < sizeof known_calls / sizeof known_calls[0]; i++)
        if (strcmp(known_calls[i].name + strlen("hip"), name + api) == 0)
            return known_calls[i].kind;
    return RP_DAG_CALL_OTHER;
}

/* Calls of the program to HIP exclude the compiler's registration calls, HSA below, and ranges. A
 * name lives as long as the store, so its address identifies it. */
static bool is_hip_call(struct rp_dag_loader *l, const char *name, struct rp_dag_call *ret)
{
    size_t at = ((uintptr_t)name >> 3 ^ (uintptr_t)name >> 12) % RP_DAG_CALLS_CACHED;

    if (l->calls[at].name != name) {
        l->calls[at].name = name;
        l->calls[at].is_hip = api_length(name) > 0;
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
    *ret = rp_idmap_add(&p->threads, (uint64_t)tid);
    return *ret != RP_NO_NUMBER;
}

static bool add_call(struct rp_dag_loader *l, struct rp_dag_loading *p,
                     const struct rp_row_region *r)
{
    struct rp_dag_call call = {0};

    if (!is_hip_call(l, r->name, &call)) {
        if (dag_is_range(r->name) &&
            (!thread_number(p, r->tid, &call.thread) || !dag_add_range(p, r, call.thread)))
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

    return p && add_call(l, p, r) ? 0 : rp_out_of_memory(err);
}

/* --- nesting ------------------------------------------------------------------------------- */

static int by_thread_and_time(const void *a, const void *b)
{
    const struct rp_dag_new_call *x = a, *y = b;

    if (x->call.thread != y->call.thread)
        return x->call.thread < y->call.thread ? -1 : 1;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    /* The outer one of two calls comes first. */
    return (x->end_ns < y->end_ns) - (x->end_ns > y->end_ns);
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

/* Says whether every thread makes its calls in the order of the rows, outer ones before those in
 * them. */
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

/* A call made by another call is part of it, and its work belongs to the outer one. */
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
        /* Where calls take no time, only the order distinguishes the next call from an inner one.
         */
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

/* Finds which calls the rows of arguments belong to. */
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

/* Moves the rows to where they are needed, for as long as they are. */
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
            rc = rp_out_of_memory(err);
    return rc < 0 ? rc : dag_name_ranges(l, err);
}

/* --- arguments ----------------------------------------------------------------------------- */

/* Reads an address: it is nearly always written "0x7f...", which needs no library. */
static uint64_t address_of(const char *text)
{
    /* The values are increased by 1, because 0 stands for no digit. */
    static const int8_t digits[256] = {
        ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,
        ['6'] = 7,  ['7'] = 8,  ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12,
        ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16};
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
    return rp_idmap_add(&l->process.handles, address_of(arg->value));
}

/* @return false: memory has ended */
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

/* Finds the call of an event, or RP_DAG_NONE. Arguments mostly come in the order of the calls. */
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
        return rp_out_of_memory(err);
    call = call_of_event(p, arg->event_id);
    if (call == RP_DAG_NONE)
        return 0;
    p->process.has_args = true;
    return take_value(p, call, arg) ? 0 : rp_out_of_memory(err);
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

    /* Operations mostly come in the order of their calls, so the next ones are tried first. */
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

/* A program that asks again within this time only waits. */
enum { LONGEST_PAUSE_NS = 20000 };

static bool is_query(const struct rp_dag_call *call)
{
    return call->kind == RP_DAG_CALL_EVENT_QUERY || call->kind == RP_DAG_CALL_STREAM_QUERY ||
           call->kind == RP_DAG_CALL_EVENT_POLL || call->kind == RP_DAG_CALL_STREAM_POLL;
}

static bool asks_again(const struct rp_dag_process *p, size_t before, size_t call)
{
    const struct rp_dag_call *x = &p->calls[before], *y = &p->calls[call];
    const struct rp_dag_call_row *a = &p->call_rows[before], *b = &p->call_rows[call];

    return is_query(x) && is_query(y) && x->thread == y->thread && x->name == y->name &&
           a->event == b->event && a->stream == b->stream && b->end_ns >= a->end_ns &&
           b->start_ns - a->end_ns <= LONGEST_PAUSE_NS;
}

/* A loop of queries becomes one call that waits: otherwise the path would go through the host's
 * queries, not through the work that the host waits for. */
bool rp_dag_merge_polls(struct rp_dag_loading *l)
{
    struct rp_dag_process *p = &l->process;
    size_t *last = malloc(((size_t)p->thread_count + 1) * sizeof *last), kept = 0;

    if (!last)
        return false;
    for (uint32_t t = 0; t < p->thread_count; t++)
        last[t] = SIZE_MAX;
    for (size_t i = 0; i < p->call_count; i++) {
        size_t before = last[p->calls[i].thread];
        if (before != SIZE_MAX && asks_again(p, before, i)) {
            p->call_rows[before].end_ns = p->call_rows[i].end_ns;
            p->calls[before].kind = p->calls[i].kind == RP_DAG_CALL_EVENT_QUERY
                                        ? RP_DAG_CALL_EVENT_POLL
                                        : RP_DAG_CALL_STREAM_POLL;
            continue;
        }
        last[p->calls[i].thread] = kept;
        p->calls[kept] = p->calls[i];
        p->call_rows[kept] = p->call_rows[i];
        l->orders[kept++] = l->orders[i];
    }
    p->call_count = kept;
    free(last);
    return true;
}

static size_t hash_of(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325u; /* The hash is FNV-1a with 64 bits. */

    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return (size_t)(hash ^ hash >> 32);
}

static uint32_t *slot_of(const struct rp_dag_symbols *s, const char *name)
{
    size_t at = hash_of(name) & (s->slot_count - 1);

    while (s->slots[at] && strcmp(s->names[s->slots[at] - 1], name) != 0)
        at = (at + 1) & (s->slot_count - 1);
    return &s->slots[at];
}

static bool grow(struct rp_dag_symbols *s)
{
    size_t room = s->room ? s->room * 2 : 64;
    const char **names = realloc(s->names, room * sizeof *names);
    uint32_t *slots = calloc(room * 2, sizeof *slots);

    if (names)
        s->names = names;
    if (!names || !slots) {
        free(slots);
        return false;
    }
    free(s->slots);
    s->slots = slots;
    s->slot_count = room * 2;
    s->room = room;
    for (size_t i = 0; i < s->count; i++)
        *slot_of(s, s->names[i]) = (uint32_t)i + 1;
    return true;
}

uint32_t rp_dag_symbols_add(struct rp_dag_symbols *s, const char *name)
{
    uint32_t *slot;

    if (s->count == s->room && !grow(s))
        return UINT32_MAX;
    slot = slot_of(s, name);
    if (!*slot) {
        s->names[s->count++] = name;
        *slot = (uint32_t)s->count;
    }
    return *slot - 1;
}

struct numbered {
    const char *name;
    uint32_t number;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct numbered *)a)->name, ((const struct numbered *)b)->name);
}

uint32_t *rp_dag_symbols_sort(struct rp_dag_symbols *s)
{
    struct numbered *order = malloc((s->count + 1) * sizeof *order);
    uint32_t *numbers = malloc((s->count + 1) * sizeof *numbers);

    if (!order || !numbers) {
        free(order);
        free(numbers);
        return NULL;
    }
    for (size_t i = 0; i < s->count; i++)
        order[i] = (struct numbered){s->names[i], (uint32_t)i};
    qsort(order, s->count, sizeof *order, by_name);
    for (size_t i = 0; i < s->count; i++) {
        s->names[i] = order[i].name;
        numbers[order[i].number] = (uint32_t)i;
    }
    free(order);
    free(s->slots); /* The slots have the old numbers. */
    s->slots = NULL;
    s->slot_count = s->room = 0;
    return numbers;
}

void rp_dag_symbols_free(struct rp_dag_symbols *s)
{
    free(s->names);
    free(s->slots);
    *s = (struct rp_dag_symbols){0};
}

bool rp_dag_is_collective(const char *symbol)
{
    /* RCCL's and NCCL's, of now and before, and those of algorithms that RCCL reads from files. */
    static const char *const begins[] = {"ncclDevKernel", "ncclKernel", "rcclKernel",
                                         "mscclKernel"};

    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (strncmp(symbol, begins[i], strlen(begins[i])) == 0)
            return true;
    return false;
}

void rp_dag_sort(void *rows, size_t count, size_t bytes, int (*order)(const void *, const void *))
{
    const char *p = rows;
    size_t i = 1;

    while (i < count && order(p + (i - 1) * bytes, p + i * bytes) <= 0)
        i++;
    if (i < count)
        qsort(rows, count, bytes, order);
}

bool rp_dag_room(void *array, size_t count, size_t *room, size_t element_bytes)
{
    void **slot = array;
    size_t wanted = *room ? *room * 2 : 1024;
    void *grown;

    if (count < *room)
        return true;
    grown = realloc(*slot, wanted * element_bytes);
    if (!grown)
        return false;
    *slot = grown;
    *room = wanted;
    return true;
}

struct rp_dag_loading *rp_dag_loading_of(struct rp_dag_loader *l, uint32_t guid_index)
{
    if (guid_index >= l->count) {
        struct rp_dag_loading *grown = realloc(l->list, ((size_t)guid_index + 1) * sizeof *l->list);
        if (!grown)
            return NULL;
        l->list = grown;
        memset(l->list + l->count, 0, ((size_t)guid_index + 1 - l->count) * sizeof *l->list);
        l->count = (size_t)guid_index + 1;
    }
    return &l->list[guid_index];
}

int rp_dag_keep_recorded(struct rp_dag_process *p, struct rp_err *err)
{
    if (p->recorded)
        return 0;
    p->recorded = malloc((p->op_count + 1) * sizeof *p->recorded);
    if (!p->recorded)
        return rp_out_of_memory(err);
    for (size_t i = 0; i < p->op_count; i++)
        p->recorded[i] = (struct rp_dag_times){p->ops[i].start_ns, p->ops[i].end_ns};
    return 0;
}

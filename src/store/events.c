#include "store/events.h"

#include "base/err.h"
#include "store/pass.h"

#include <stdlib.h>

struct rp_event_run {
    int64_t base; /* first id */
    size_t at, count;
    uint32_t guid_index;
};

struct rp_event_odd {
    int64_t id;
    struct rp_event event;
    uint32_t guid_index;
};

enum { MAX_RUNS = 1 << 16 };

static bool fits(int64_t number)
{
    return number >= 0 && number <= UINT32_MAX;
}

static bool add_number(struct rp_events *e, const struct rp_event *event)
{
    if (e->count == e->room) {
        size_t room = e->room ? e->room * 2 : 1024;
        uint32_t *calls = realloc(e->calls, room * sizeof *calls), *parents;
        if (calls)
            e->calls = calls;
        parents = realloc(e->parents, room * sizeof *parents);
        if (parents)
            e->parents = parents;
        if (!calls || !parents)
            return false;
        e->room = room;
    }
    e->calls[e->count] = (uint32_t)event->call;
    e->parents[e->count++] = (uint32_t)event->parent;
    return true;
}

static bool add_odd(struct rp_events *e, uint32_t guid, int64_t id, struct rp_event event)
{
    struct rp_event_odd *slot = rp_next_slot((void **)&e->odd, &e->odd_count, sizeof *slot);

    if (slot)
        *slot = (struct rp_event_odd){.id = id, .event = event, .guid_index = guid};
    return slot != NULL;
}

static bool add(struct rp_events *e, uint32_t guid, int64_t id, const struct rp_event *event)
{
    struct rp_event_run *run = e->run_count ? &e->runs[e->run_count - 1] : NULL;

    if (!fits(event->call) || !fits(event->parent))
        return add_odd(e, guid, id, *event);
    if (!run || run->guid_index != guid || id < run->base ||
        (uint64_t)(id - run->base) != run->count) {
        if (e->run_count == MAX_RUNS)
            return add_odd(e, guid, id, *event);
        run = rp_next_slot((void **)&e->runs, &e->run_count, sizeof *run);
        if (!run)
            return false;
        *run = (struct rp_event_run){.base = id, .at = e->count, .guid_index = guid};
    }
    run->count++;
    return add_number(e, event);
}

static int add_row(struct rp_pass *pass, uint32_t guid, void *ctx, struct rp_err *err)
{
    struct rp_event event;
    int64_t id;
    int result = rp_pass_number(pass, 0, 0, &id, err);

    if (result == 0)
        result = rp_pass_number(pass, 1, 0, &event.call, err);
    if (result == 0)
        result = rp_pass_number(pass, 2, 0, &event.parent, err);
    if (result < 0)
        return result;
    if (event.call == 0) /* some traces name the launching call only as the parent */
        event.call = event.parent;
    return add(ctx, guid, id, &event) ? 0 : rp_fail(err, RP_ENVIRONMENT, "out of memory");
}

/* --- order -------------------------------------------------------------------------------- */

static int run_order(const void *a, const void *b)
{
    const struct rp_event_run *x = a, *y = b;

    if (x->guid_index != y->guid_index)
        return x->guid_index < y->guid_index ? -1 : 1;
    return (x->base > y->base) - (x->base < y->base);
}

static int odd_order(const void *a, const void *b)
{
    const struct rp_event_odd *x = a, *y = b;

    if (x->guid_index != y->guid_index)
        return x->guid_index < y->guid_index ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

/* Ids that come twice make runs that cannot be searched. */
static bool dissolve_runs(struct rp_events *e)
{
    for (size_t r = 0; r < e->run_count; r++)
        for (size_t i = 0; i < e->runs[r].count; i++) {
            size_t at = e->runs[r].at + i;
            struct rp_event event = {e->calls[at], e->parents[at]};
            if (!add_odd(e, e->runs[r].guid_index, e->runs[r].base + (int64_t)i, event))
                return false;
        }
    e->run_count = 0;
    return true;
}

static bool settle(struct rp_events *e)
{
    bool apart = true;

    if (e->run_count)
        qsort(e->runs, e->run_count, sizeof *e->runs, run_order);
    for (size_t i = 1; i < e->run_count; i++) {
        const struct rp_event_run *a = &e->runs[i - 1], *b = &e->runs[i];
        apart &= a->guid_index != b->guid_index || (uint64_t)(b->base - a->base) >= a->count;
    }
    if (!apart && !dissolve_runs(e))
        return false;
    if (e->odd_count)
        qsort(e->odd, e->odd_count, sizeof *e->odd, odd_order);
    return true;
}

int rp_events_load(struct rp_store *s, struct rp_err *err)
{
    static const char *const columns[] = {"id", "stack_id", "parent_stack_id"};
    static const bool required[] = {true, false, false};
    const struct rp_pass_order order = {
        .table = RP_TABLE_event, .columns = columns, .column_count = 3, .required = required};
    int result = s->events.loaded ? 0 : rp_pass_each(s, &order, add_row, &s->events, err);

    if (result == 0 && !s->events.loaded && !settle(&s->events))
        result = rp_fail(err, RP_ENVIRONMENT, "out of memory");
    if (result < 0)
        rp_events_free(&s->events);
    else
        s->events.loaded = true;
    return result;
}

/* --- finding ------------------------------------------------------------------------------ */

static bool is_in(const struct rp_event_run *run, uint32_t guid, int64_t id)
{
    return run->guid_index == guid && id >= run->base && (uint64_t)(id - run->base) < run->count;
}

/* The run that may hold the id: the last that does not begin behind it. */
static size_t find_run(const struct rp_events *e, uint32_t guid, int64_t id)
{
    const struct rp_event_run key = {.base = id, .guid_index = guid};
    size_t low = 0, high = e->run_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (run_order(&e->runs[middle], &key) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? low - 1 : 0;
}

bool rp_events_find(struct rp_events *e, uint32_t guid, int64_t id, struct rp_event *ret)
{
    const struct rp_event_odd key = {.id = id, .guid_index = guid}, *odd;

    if (e->run_count && !is_in(&e->runs[e->last_run], guid, id))
        e->last_run = find_run(e, guid, id);
    if (e->run_count && is_in(&e->runs[e->last_run], guid, id)) {
        size_t at = e->runs[e->last_run].at + (size_t)(id - e->runs[e->last_run].base);
        *ret = (struct rp_event){e->calls[at], e->parents[at]};
        return true;
    }
    odd = e->odd_count ? bsearch(&key, e->odd, e->odd_count, sizeof key, odd_order) : NULL;
    if (odd)
        *ret = odd->event;
    return odd != NULL;
}

void rp_events_free(struct rp_events *events)
{
    free(events->runs);
    free(events->calls);
    free(events->parents);
    free(events->odd);
    *events = (struct rp_events){0};
}

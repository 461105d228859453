/**
 * @file dag_ranges.c
 * @brief In which of the program's own ranges (ROCTx, operators of PyTorch) a call was made, and
 * how long what was launched in each range took.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/dag_graph.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"

/* A range with those around it is a context. Ranges of a thread nest; those of a whole process need
 * not, so that contexts are made anew when one of them ends. Deeper ones than this are ignored. */
enum { DEEPEST = 64 };

/** A stretch lasts up to the next one of the same thread. */
struct rp_dag_stretch {
    int64_t start_ns;
    uint32_t name;    /**< of the innermost range; RP_DAG_NONE: no range is open */
    uint32_t context; /**< of that range; RP_DAG_NONE as well */
    uint32_t process, thread;
};

/* --- which ranges are open ------------------------------------------------------------------- */

struct turn {
    int64_t time_ns, other_ns; /**< of the range's other end */
    uint32_t thread;
    uint32_t range;
    bool opens;
};

/** This is a range that has been opened. */
struct opened {
    uint32_t range, name; /**< name: RP_DAG_NONE once it is closed */
    uint32_t context;     /**< of the outermost DEEPEST that are open */
};

/** These are the ranges of a thread that are open, the outermost first, among some that are closed:
 * those of a process may end in any order. The first and the last of them are open. */
struct open_ranges {
    struct opened *at; /**< as many as there are ranges */
    uint32_t *slots;   /**< per range: where it is */
    size_t begin, end, live;
    uint32_t deepest; /**< context of the last one that has one */
};

/* Of ranges that open together the longest is the outermost; of those that end together it ends
 * last. */
static int by_turn(const void *a, const void *b)
{
    const struct turn *x = a, *y = b;

    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    if (x->opens != y->opens)
        return x->opens ? 1 : -1;
    if (x->other_ns != y->other_ns)
        return x->other_ns > y->other_ns ? -1 : 1;
    return (x->range > y->range) - (x->range < y->range);
}

static int by_place(const void *a, const void *b)
{
    const struct rp_dag_stretch *x = a, *y = b;

    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* @return the context of a range within one; RP_NO_NUMBER: memory has ended */
static uint32_t context_of(struct rp_dag_ranges *ranges, uint32_t around, uint32_t name)
{
    return rp_idmap_add(&ranges->contexts, ((uint64_t)around + 1) << 32 | name);
}

/* Finds the contexts again after a range ended that had others inside. */
static bool find_contexts(struct rp_dag_ranges *ranges, struct open_ranges *open)
{
    uint32_t around = RP_DAG_NONE;
    size_t found = 0;

    for (size_t i = open->begin; i < open->end && found < DEEPEST; i++)
        if (open->at[i].name != RP_DAG_NONE) {
            around = open->at[i].context = context_of(ranges, around, open->at[i].name);
            if (around == RP_NO_NUMBER)
                return false;
            found++;
        }
    open->deepest = around;
    return true;
}

/* Removes what is closed when it is so much that finding the contexts takes long. */
static void tidy(struct open_ranges *open)
{
    size_t kept = 0;

    if (open->live && open->end - open->begin <= open->live + open->live / DEEPEST + DEEPEST)
        return;
    for (size_t i = open->begin; i < open->end; i++)
        if (open->at[i].name != RP_DAG_NONE) {
            open->slots[open->at[i].range] = (uint32_t)kept;
            open->at[kept++] = open->at[i];
        }
    open->begin = 0;
    open->end = kept;
}

static bool begin_range(struct rp_dag_ranges *ranges, const char *text, uint32_t range,
                        struct open_ranges *open)
{
    const uint32_t name = rp_map_add_text(&ranges->names, text);
    struct opened *at = &open->at[open->end];

    *at = (struct opened){.range = range, .name = name, .context = open->deepest};
    if (name == RP_NO_NUMBER)
        return false;
    if (open->live < DEEPEST)
        open->deepest = at->context = context_of(ranges, open->deepest, name);
    open->slots[range] = (uint32_t)open->end++;
    open->live++;
    return at->context != RP_NO_NUMBER;
}

static bool end_range(struct rp_dag_ranges *ranges, uint32_t range, struct open_ranges *open)
{
    const size_t slot = open->slots[range];
    const bool last = slot + 1 == open->end;

    open->at[slot].name = RP_DAG_NONE;
    open->live--;
    while (open->end > open->begin && open->at[open->end - 1].name == RP_DAG_NONE)
        open->end--;
    while (open->begin < open->end && open->at[open->begin].name == RP_DAG_NONE)
        open->begin++;
    tidy(open);
    if (last && open->live < DEEPEST)
        open->deepest = open->live ? open->at[open->end - 1].context : RP_DAG_NONE;
    return last || find_contexts(ranges, open);
}

static bool turn_ranges(struct rp_dag_ranges *ranges, const struct rp_dag_process *p,
                        const struct turn *turn, struct open_ranges *open)
{
    return turn->opens ? begin_range(ranges, p->ranges[turn->range].name, turn->range, open)
                       : end_range(ranges, turn->range, open);
}

static bool add_stretches(struct rp_dag_ranges *ranges, const struct rp_dag_process *p,
                          uint32_t process, const struct turn *turns, size_t count,
                          struct open_ranges *open)
{
    for (size_t i = 0; i < count; i++) {
        if (!turn_ranges(ranges, p, &turns[i], open))
            return false;
        ranges->list[ranges->count++] = (struct rp_dag_stretch){
            .start_ns = turns[i].time_ns,
            .name = open->live ? open->at[open->end - 1].name : RP_DAG_NONE,
            .context = open->deepest,
            .process = process,
            .thread = turns[i].thread,
        };
    }
    return true;
}

static int add_process(const struct rp_dag_process *p, uint32_t process,
                       struct rp_dag_ranges *ranges, struct rp_err *err)
{
    size_t count = 0;
    rp_autofree struct turn *turns = malloc((2 * p->range_count + 1) * sizeof *turns);
    rp_autofree struct opened *at = malloc((p->range_count + 1) * sizeof *at);
    rp_autofree uint32_t *slots = malloc((p->range_count + 1) * sizeof *slots);
    struct open_ranges open = {.at = at, .slots = slots, .deepest = RP_DAG_NONE};
    struct rp_dag_stretch *grown =
        realloc(ranges->list, (ranges->count + 2 * p->range_count + 1) * sizeof *grown);

    if (grown)
        ranges->list = grown;
    if (!turns || !at || !slots || !grown)
        return rp_out_of_memory(err);
    for (uint32_t i = 0; i < p->range_count; i++) {
        const struct rp_dag_range *r = &p->ranges[i];
        if (r->end_ns <= r->start_ns)
            continue; /* Repaired clocks may have left it no time. */
        turns[count++] = (struct turn){r->start_ns, r->end_ns, r->thread, i, true};
        turns[count++] = (struct turn){r->end_ns, r->start_ns, r->thread, i, false};
    }
    qsort(turns, count, sizeof *turns, by_turn);
    return add_stretches(ranges, p, process, turns, count, &open) ? 0 : rp_out_of_memory(err);
}

/* Returns the number of turns of the thread, and of all before it, that came at or before the
 * time. Turns at the same time stand in the order in which they took effect. */
static size_t turns_until(const struct rp_dag_ranges *r, uint32_t process, uint32_t thread,
                          int64_t time_ns)
{
    const struct rp_dag_stretch key = {.start_ns = time_ns, .process = process, .thread = thread};
    size_t low = 0, high = r->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (by_place(&r->list[middle], &key) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_of(const struct rp_dag_stretch *s, uint32_t process, uint32_t thread)
{
    return s->process == process && s->thread == thread;
}

static const struct rp_dag_stretch *stretch_at(const struct rp_dag_ranges *r, uint32_t process,
                                               uint32_t thread, int64_t time_ns)
{
    const size_t count = turns_until(r, process, thread, time_ns);
    const struct rp_dag_stretch *found = count ? &r->list[count - 1] : NULL;

    return found && is_of(found, process, thread) && found->name != RP_DAG_NONE ? found : NULL;
}

/* Returns when the thread enters or leaves its next range, at most @p end_ns. */
static int64_t next_turn(const struct rp_dag_ranges *r, uint32_t process, uint32_t thread,
                         int64_t time_ns, int64_t end_ns)
{
    const size_t next = turns_until(r, process, thread, time_ns);

    return next < r->count && is_of(&r->list[next], process, thread) &&
                   r->list[next].start_ns < end_ns
               ? r->list[next].start_ns
               : end_ns;
}

/* --- places ---------------------------------------------------------------------------------- */

/** A place is where calls were made: in a range of the thread, of the process, or in both. */
struct rp_dag_place {
    uint32_t name; /**< of the innermost range, which is the thread's if it has one */
    uint32_t thread_context, process_context; /**< RP_DAG_NONE: in no such range */
    uint64_t launches, copies;
    int64_t kernel_ns, copy_ns, path_ns;
};

/* Returns the number of the place, RP_DAG_NONE outside all ranges. */
static uint32_t place_at(struct rp_dag_ranges *ranges, uint32_t process, uint32_t thread,
                         int64_t time_ns, bool *failed)
{
    const struct rp_dag_stretch *own = stretch_at(ranges, process, thread, time_ns);
    const struct rp_dag_stretch *whole = stretch_at(ranges, process, RP_DAG_NONE, time_ns);
    const uint32_t key[] = {own     ? own->name
                            : whole ? whole->name
                                    : RP_DAG_NONE,
                            own ? own->context : RP_DAG_NONE, whole ? whole->context : RP_DAG_NONE};
    uint32_t number;

    if (!own && !whole)
        return RP_DAG_NONE;
    number = rp_map_add(&ranges->place_keys, key, sizeof key);
    if (number == ranges->places.count &&
        rp_vec_push(&ranges->places, (struct rp_dag_place){.name = key[0],
                                                           .thread_context = key[1],
                                                           .process_context = key[2]}) < 0)
        number = RP_NO_NUMBER;
    *failed |= number == RP_NO_NUMBER;
    return number;
}

/* Finds where each operation was launched, while the calls have their times. */
static int find_places(const struct rp_dag_trace *trace, struct rp_dag_ranges *ranges,
                       struct rp_err *err)
{
    size_t ops = 0, at = 0;
    bool failed = false;

    for (size_t i = 0; i < trace->process_count; i++)
        ops += trace->processes[i].op_count;
    ranges->place_of_op = malloc((ops + 1) * sizeof *ranges->place_of_op);
    if (!ranges->place_of_op)
        return rp_out_of_memory(err);
    for (uint32_t i = 0; i < trace->process_count; i++) {
        const struct rp_dag_process *p = &trace->processes[i];

        for (size_t k = 0; k < p->op_count && !failed; k++) {
            const uint32_t call = p->op_rows[k].call;
            uint32_t place = RP_DAG_NONE;

            if (call != RP_DAG_NONE) {
                const struct rp_dag_call_row *row = &p->call_rows[call];
                place = place_at(ranges, i, p->calls[call].thread,
                                 row->start_ns + (row->end_ns - row->start_ns) / 2, &failed);
            }
            ranges->place_of_op[at++] = place;
        }
    }
    return failed ? rp_out_of_memory(err) : 0;
}

int rp_dag_ranges_find(const struct rp_dag_trace *trace, struct rp_dag_ranges *ret,
                       struct rp_err *err)
{
    struct rp_dag_ranges ranges = {0};
    int rc = 0;

    for (size_t i = 0; i < trace->process_count && rc == 0; i++)
        if (trace->processes[i].range_count)
            rc = add_process(&trace->processes[i], (uint32_t)i, &ranges, err);
    if (rc == 0 && ranges.count)
        rc = find_places(trace, &ranges, err);
    if (rc < 0)
        rp_dag_ranges_free(&ranges);
    else
        *ret = ranges;
    return rc;
}

void rp_dag_ranges_free(struct rp_dag_ranges *ranges)
{
    free(ranges->list);
    free(ranges->place_of_op);
    rp_map_free(&ranges->names);
    rp_idmap_free(&ranges->contexts);
    rp_map_free(&ranges->place_keys);
    rp_vec_free(&ranges->places);
    memset(ranges, 0, sizeof *ranges);
}

uint32_t rp_dag_range_of(struct rp_dag_ranges *ranges, const struct rp_dag *dag,
                         const struct rp_dag_trace *trace, uint32_t e, uint32_t to,
                         int64_t start_ns, int64_t *end_ns)
{
    enum rp_dag_class class = rp_dag_class_of(&dag->graph, e);
    uint32_t owner = class == RP_DAG_HOST_GAP   ? dag->owner[to]
                     : class == RP_DAG_DURATION ? dag->owner[dag->graph.from[e]]
                                                : RP_DAG_NONE,
             process, thread;

    if (!ranges->count || !rp_dag_is_call(owner))
        return RP_DAG_NONE;
    process = rp_dag_process_of(trace, owner);
    thread = rp_dag_call_of(trace, owner)->thread;
    *end_ns = next_turn(ranges, process, thread, start_ns, *end_ns);
    *end_ns = next_turn(ranges, process, RP_DAG_NONE, start_ns, *end_ns);
    return place_at(ranges, process, thread, start_ns, &ranges->failed);
}

const char *rp_dag_range_name(const struct rp_dag_ranges *ranges, uint32_t place)
{
    return place == RP_DAG_NONE || ranges->failed
               ? NULL
               : ranges->names.keys[ranges->places.items[place].name].bytes;
}

uint32_t rp_dag_range_of_op(const struct rp_dag_ranges *ranges, uint32_t op)
{
    return ranges->place_of_op ? ranges->place_of_op[op & ~(uint32_t)RP_DAG_OP_BIT] : RP_DAG_NONE;
}

void rp_dag_range_add_path(struct rp_dag_ranges *ranges, uint32_t place, int64_t ns)
{
    if (place != RP_DAG_NONE && !ranges->failed)
        ranges->places.items[place].path_ns += ns;
}

/* --- sums ------------------------------------------------------------------------------------ */

/** What was launched directly in a range, by kernel. */
struct own_kernels {
    struct rp_idmap keys; /**< name of the range << 32 | symbol */
    struct {
        RP_VEC(struct rp_dag_range_kernel);
    } of;
};

/* Returns what an operation takes in sums: one whose end is lost has none there, and in the graph
 * an estimate. */
static int64_t counted_ns(const struct rp_dag_op *op)
{
    return op->end_lost ? 0 : op->end_ns - op->start_ns;
}

/* @return false: memory has ended */
static bool count_op(struct rp_dag_ranges *ranges, const struct rp_dag_trace *trace,
                     const struct rp_dag_op *op, uint32_t number, struct own_kernels *kernels)
{
    struct rp_dag_place *place = &ranges->places.items[number];
    const int64_t took_ns = counted_ns(op);
    uint32_t at;

    if (op->is_copy) {
        place->copies++;
        place->copy_ns += took_ns;
        return true;
    }
    place->launches++;
    place->kernel_ns += took_ns;
    at = rp_idmap_add(&kernels->keys, (uint64_t)place->name << 32 | op->symbol);
    if (at == RP_NO_NUMBER ||
        (at == kernels->of.count &&
         rp_vec_push(&kernels->of,
                     (struct rp_dag_range_kernel){.name = trace->symbols[op->symbol]}) < 0))
        return false;
    kernels->of.items[at].launches++;
    kernels->of.items[at].ns += took_ns;
    return true;
}

static bool count_ops(struct rp_dag_ranges *ranges, const struct rp_dag_trace *trace,
                      struct own_kernels *kernels, int64_t *outside_ns)
{
    size_t at = 0;

    for (size_t i = 0; i < trace->process_count; i++)
        for (size_t k = 0; k < trace->processes[i].op_count; k++) {
            const struct rp_dag_op *op = &trace->processes[i].ops[k];
            const uint32_t place = ranges->place_of_op[at++];

            if (place != RP_DAG_NONE && !count_op(ranges, trace, op, place, kernels))
                return false;
            if (place == RP_DAG_NONE && !op->is_copy)
                *outside_ns += counted_ns(op);
        }
    return true;
}

/* Adds a place to a range around it, unless that has it already: ranges of one name may nest. */
static void add_place(const struct rp_dag_place *place, uint32_t number,
                      struct rp_dag_range_sum *sum, uint32_t *last)
{
    if (*last == number)
        return;
    *last = number;
    sum->launches += place->launches;
    sum->copies += place->copies;
    sum->kernel_ns += place->kernel_ns;
    sum->copy_ns += place->copy_ns;
    sum->path_ns += place->path_ns;
}

static void add_around(const struct rp_dag_ranges *ranges, uint32_t number, uint32_t context,
                       struct rp_dag_range_sum *sums, uint32_t *last)
{
    while (context != RP_DAG_NONE) {
        const uint64_t key = ranges->contexts.keys[context];
        const uint32_t name = (uint32_t)key;

        add_place(&ranges->places.items[number], number, &sums[name], &last[name]);
        context = (uint32_t)((key >> 32) - 1);
    }
}

/* Fills the sums, which are numbered as the names. last is all ones. */
static void add_places(const struct rp_dag_ranges *ranges, struct rp_dag_range_sum *sums,
                       uint32_t *last)
{
    for (uint32_t i = 0; i < ranges->places.count; i++) {
        const struct rp_dag_place *place = &ranges->places.items[i];

        add_place(place, i, &sums[place->name], &last[place->name]);
        add_around(ranges, i, place->thread_context, sums, last);
        add_around(ranges, i, place->process_context, sums, last);
        sums[place->name].own_launches += place->launches;
        sums[place->name].own_kernel_ns += place->kernel_ns;
    }
}

static void count_entry(const struct rp_dag_ranges *ranges, const char *name,
                        struct rp_dag_range_sum *sums)
{
    const uint32_t number = rp_map_find_text(&ranges->names, name);

    if (number != RP_NO_NUMBER)
        sums[number].calls++;
}

static void count_entries(const struct rp_dag_trace *trace, const struct rp_dag_ranges *ranges,
                          struct rp_dag_range_sum *sums)
{
    for (size_t i = 0; i < trace->process_count; i++)
        for (size_t k = 0; k < trace->processes[i].range_count; k++)
            count_entry(ranges, trace->processes[i].ranges[k].name, sums);
}

static int kernels_by_time(const void *a, const void *b)
{
    const struct rp_dag_range_kernel *x = a, *y = b;

    if (x->ns != y->ns)
        return x->ns > y->ns ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Each range gets its own kernels. @return false: memory has ended */
static bool share_out_kernels(const struct own_kernels *kernels, struct rp_dag_range_sum *sums,
                              size_t count)
{
    for (uint32_t i = 0; i < kernels->keys.count; i++)
        sums[kernels->keys.keys[i] >> 32].kernel_count++;
    for (size_t i = 0; i < count; i++) {
        if (sums[i].kernel_count) {
            sums[i].kernels = malloc(sums[i].kernel_count * sizeof *sums[i].kernels);
            if (!sums[i].kernels)
                return false;
        }
        sums[i].kernel_count = 0;
    }
    for (uint32_t i = 0; i < kernels->keys.count; i++) {
        struct rp_dag_range_sum *sum = &sums[kernels->keys.keys[i] >> 32];
        sum->kernels[sum->kernel_count++] = kernels->of.items[i];
    }
    for (size_t i = 0; i < count; i++)
        if (sums[i].kernel_count)
            qsort(sums[i].kernels, sums[i].kernel_count, sizeof *sums[i].kernels, kernels_by_time);
    return true;
}

static int sums_by_own_time(const void *a, const void *b)
{
    const struct rp_dag_range_sum *x = a, *y = b;

    if (x->own_kernel_ns != y->own_kernel_ns)
        return x->own_kernel_ns > y->own_kernel_ns ? -1 : 1;
    if (x->kernel_ns != y->kernel_ns)
        return x->kernel_ns > y->kernel_ns ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* The names from one on are not yet their own. */
static int drop_ranges(struct rp_dag_result *r, size_t from, struct rp_err *err)
{
    for (size_t i = from; i < r->range_count; i++)
        free(r->ranges[i].kernels);
    r->range_count = from;
    return rp_out_of_memory(err);
}

/* Keeps the ranges that launched something, with names of their own. The steps' ranges become
 * indices of these. */
static int keep_ranges(const struct rp_dag_ranges *ranges, struct rp_dag_result *r,
                       struct rp_err *err)
{
    rp_autofree uint32_t *index = malloc((ranges->names.count + 1) * sizeof *index);
    size_t kept = 0;

    if (!index)
        return drop_ranges(r, 0, err);
    qsort(r->ranges, r->range_count, sizeof *r->ranges, sums_by_own_time);
    for (size_t i = 0; i < r->range_count; i++) {
        if (r->ranges[i].launches || r->ranges[i].copies) {
            index[rp_map_find_text(&ranges->names, r->ranges[i].name)] = (uint32_t)kept;
            r->ranges[kept++] = r->ranges[i];
        }
    }
    r->range_count = kept;
    for (size_t i = 0; i < r->step_count; i++)
        if (r->steps[i].range != RP_DAG_NO_STEP)
            r->steps[i].range = index[ranges->places.items[r->steps[i].range].name];
    for (size_t i = 0; i < kept; i++) {
        char *name = strdup(r->ranges[i].name);
        if (!name)
            return drop_ranges(r, i, err);
        r->ranges[i].name = name;
    }
    return 0;
}

int rp_dag_ranges_sum(struct rp_dag_ranges *ranges, const struct rp_dag_trace *trace,
                      struct rp_dag_result *r, struct rp_err *err)
{
    const size_t count = ranges->names.count;
    rp_autofree uint32_t *last = malloc((count + 1) * sizeof *last);
    struct own_kernels kernels = {0};
    bool good;

    if (ranges->failed)
        return rp_out_of_memory(err);
    if (!ranges->count)
        return 0;
    r->ranges = calloc(count + 1, sizeof *r->ranges);
    good = last && r->ranges && count_ops(ranges, trace, &kernels, &r->outside_ranges_ns);
    if (good) {
        memset(last, 0xff, count * sizeof *last);
        r->range_count = count;
        for (size_t i = 0; i < count; i++)
            r->ranges[i].name = (char *)ranges->names.keys[i].bytes;
        add_places(ranges, r->ranges, last);
        count_entries(trace, ranges, r->ranges);
        good = share_out_kernels(&kernels, r->ranges, count);
    }
    rp_idmap_free(&kernels.keys);
    rp_vec_free(&kernels.of);
    return good ? keep_ranges(ranges, r, err) : drop_ranges(r, 0, err);
}

void rp_dag_range_sums_free(struct rp_dag_range_sum *sums, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(sums[i].name);
        free(sums[i].kernels);
    }
    free(sums);
}

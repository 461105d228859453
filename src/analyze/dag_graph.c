#include "analyze/dag_graph.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"

void rp_dag_graph_free(struct rp_dag_graph *g)
{
    free(g->time_ns);
    free(g->offset);
    free(g->base);
    free(g->first);
    free(g->from);
    free(g->kinds);
    free(g->weight);
    rp_idmap_free(&g->odd);
    free(g->odd_weight_ns);
    memset(g, 0, sizeof *g);
}

static bool grow(void *array, size_t room, size_t element_bytes)
{
    void **slot = array;
    void *grown = realloc(*slot, room * element_bytes);

    if (grown)
        *slot = grown;
    return grown != NULL;
}

static bool edge_room(struct rp_dag_graph *g)
{
    size_t room = g->edge_room ? g->edge_room + g->edge_room / 2 : 1024;

    if (g->edge_count < g->edge_room)
        return true;
    if (room >= RP_DAG_NO_POINT)
        return false;
    if (!grow(&g->from, room, sizeof *g->from) || !grow(&g->kinds, room, sizeof *g->kinds))
        return false;
    g->edge_room = room;
    return true;
}

static bool point_room(struct rp_dag_graph *g)
{
    size_t room = g->point_room ? g->point_room + g->point_room / 2 : 1024;

    if (g->point_count + 1 < g->point_room) /**< one more for the end of the last one's edges */
        return true;
    if (room >= RP_DAG_NO_POINT)
        return false;
    if (!grow(&g->time_ns, room, sizeof *g->time_ns))
        return false;
    if (g->first ? !grow(&g->first, room, sizeof *g->first)
                 : !grow(&g->offset, room, sizeof *g->offset) ||
                       !grow(&g->base, room / RP_DAG_BLOCK_POINTS + 1, sizeof *g->base))
        return false;
    if (!g->point_room)
        g->base[0] = g->offset[0] = 0;
    g->point_room = room;
    return true;
}

/* Gives every point a number, because one of the blocks has more edges than an offset can count. */
static bool widen(struct rp_dag_graph *g)
{
    uint32_t *first = malloc(g->point_room * sizeof *first);

    if (!first)
        return false;
    for (size_t p = 0; p <= g->point_count; p++)
        first[p] = rp_dag_first(g, p);
    free(g->offset);
    free(g->base);
    g->offset = NULL;
    g->base = NULL;
    g->first = first;
    return true;
}

/* The edges so far belong to the points before this one. */
static bool set_first(struct rp_dag_graph *g, size_t point)
{
    uint32_t *base = g->first ? NULL : &g->base[point / RP_DAG_BLOCK_POINTS];

    if (base && point % RP_DAG_BLOCK_POINTS == 0)
        *base = (uint32_t)g->edge_count;
    if (base && g->edge_count - *base > UINT16_MAX && !widen(g))
        return false;
    if (g->first)
        g->first[point] = (uint32_t)g->edge_count;
    else
        g->offset[point] = (uint16_t)(g->edge_count - *base);
    return true;
}

void rp_dag_edge(struct rp_dag_graph *g, uint32_t from, enum rp_dag_class class,
                 enum rp_dag_grade grade)
{
    size_t e = g->edge_count;

    if (g->failed || !edge_room(g)) {
        g->failed = true;
        return;
    }
    g->from[e] = from;
    rp_dag_set_kind(g, e, class, grade);
    g->edge_count++;
}

uint32_t rp_dag_point(struct rp_dag_graph *g, int64_t time_ns)
{
    size_t p = g->point_count;

    if (g->failed || !point_room(g) || !set_first(g, p + 1)) {
        g->failed = true;
        return 0;
    }
    g->time_ns[p] = time_ns;
    g->point_count++;
    return (uint32_t)p;
}

/* --- weights -------------------------------------------------------------------------------- */

void rp_dag_weigh(struct rp_dag_graph *g)
{
    g->weight = calloc(g->edge_count + 1, sizeof *g->weight);
    g->failed |= !g->weight;
}

static bool set_odd(struct rp_dag_graph *g, size_t edge, int64_t weight_ns)
{
    uint32_t number = rp_idmap_add(&g->odd, edge);

    if (number == RP_NO_NUMBER)
        return false;
    if (number >= g->odd_room) {
        size_t room = g->odd_room ? g->odd_room * 2 : 64;
        if (!grow(&g->odd_weight_ns, room, sizeof *g->odd_weight_ns))
            return false;
        g->odd_room = room;
    }
    g->odd_weight_ns[number] = weight_ns;
    g->weight[edge] = RP_DAG_ODD_WEIGHT;
    return true;
}

void rp_dag_set_weight(struct rp_dag_graph *g, size_t edge, int64_t weight_ns)
{
    if (g->failed)
        return;
    if (weight_ns == RP_DAG_DROPPED_NS) {
        g->weight[edge] = RP_DAG_DROPPED_WEIGHT;
    } else if (weight_ns >= 0 && weight_ns < RP_DAG_ODD_WEIGHT) {
        g->weight[edge] = (uint32_t)weight_ns;
    } else if (!set_odd(g, edge, weight_ns)) {
        g->failed = true;
    }
}

uint32_t rp_dag_binding(const struct rp_dag_graph *g, uint32_t point)
{
    uint32_t best = RP_DAG_NO_POINT;
    int64_t best_time = 0;

    for (uint32_t e = rp_dag_first(g, point); e < rp_dag_first(g, point + 1); e++) {
        int64_t t = g->time_ns[g->from[e]] + rp_dag_weight(g, e);
        bool better = best == RP_DAG_NO_POINT || t > best_time;
        if (!better && t == best_time)
            better = rp_dag_class_of(g, e) != rp_dag_class_of(g, best)
                         ? rp_dag_class_of(g, e) < rp_dag_class_of(g, best)
                         : g->from[e] < g->from[best];
        if (better) {
            best = e;
            best_time = t;
        }
    }
    return best;
}

struct pool {
    uint32_t *last; /**< per slot: the last point that needs it */
    uint32_t *free; /**< slots that nothing needs any more */
    size_t count, free_count, room;
};

static bool take(struct pool *pool, uint32_t *ret)
{
    if (pool->free_count) {
        *ret = pool->free[--pool->free_count];
        return true;
    }
    if (pool->count == pool->room) {
        size_t room = pool->room ? pool->room * 2 : 256;
        uint32_t *last = realloc(pool->last, room * sizeof *last), *grown;
        if (last)
            pool->last = last;
        grown = realloc(pool->free, room * sizeof *grown);
        if (grown)
            pool->free = grown;
        if (!last || !grown)
            return false;
        pool->room = room;
    }
    *ret = (uint32_t)pool->count++;
    return true;
}

static void give_back(struct pool *pool, uint32_t slot)
{
    pool->last[slot] = RP_DAG_NO_POINT; /* Two edges may come from one point. */
    pool->free[pool->free_count++] = slot;
}

/* of holds each point's last successor, or itself, until its slot is known. */
static bool assign(const struct rp_dag_graph *g, uint32_t *of, struct pool *pool)
{
    for (uint32_t p = 0; p < g->point_count; p++) {
        uint32_t slot;
        if (!take(pool, &slot))
            return false;
        pool->last[slot] = of[p];
        of[p] = slot;
        for (uint32_t e = rp_dag_first(g, p); e < rp_dag_first(g, p + 1); e++)
            if (pool->last[of[g->from[e]]] == p)
                give_back(pool, of[g->from[e]]);
        if (pool->last[slot] == p)
            give_back(pool, slot);
    }
    return true;
}

/* Halves the size of the numbers in place, because this is the largest array at that time. */
static struct rp_dag_slots narrowed(uint32_t *wide, size_t count)
{
    char *bytes = (char *)wide;
    uint16_t *shrunk;

    for (size_t p = 0; p < count; p++) {
        uint16_t slot = (uint16_t)wide[p];
        memcpy(bytes + p * sizeof slot, &slot, sizeof slot);
    }
    shrunk = realloc(wide, (count + 1) * sizeof *shrunk);
    return (struct rp_dag_slots){.of = shrunk ? shrunk : (uint16_t *)wide};
}

int rp_dag_slots_find(const struct rp_dag_graph *g, struct rp_dag_slots *ret, struct rp_err *err)
{
    struct pool pool = {0};
    uint32_t *of = malloc((g->point_count + 1) * sizeof *of);
    bool done;

    for (uint32_t p = 0; of && p < g->point_count; p++) {
        of[p] = p;
        for (uint32_t e = rp_dag_first(g, p); e < rp_dag_first(g, p + 1); e++)
            of[g->from[e]] = p;
    }
    if (of && g->point_count)
        /* It is never given back, because contradicted edges come from it. */
        of[0] = RP_DAG_NO_POINT;
    done = of && assign(g, of, &pool);
    free(pool.last);
    free(pool.free);
    if (!done) {
        free(of);
        return rp_out_of_memory(err);
    }
    *ret = pool.count <= (size_t)UINT16_MAX + 1 ? narrowed(of, g->point_count)
                                                : (struct rp_dag_slots){.wide = of};
    ret->count = pool.count;
    return 0;
}

void rp_dag_slots_free(struct rp_dag_slots *slots)
{
    free(slots->of);
    free(slots->wide);
    *slots = (struct rp_dag_slots){0};
}

/* The sweep goes backwards: a point's slot is in use from its last successor, where the latest time
 * of the point first matters, down to the point itself, where the slot is prepared for the one
 * before. */
int rp_dag_slack_find(const struct rp_dag *dag, int64_t **ret, struct rp_err *err)
{
    const struct rp_dag_graph *g = &dag->graph;
    rp_autofree int64_t *latest_ns = malloc((dag->slots.count + 1) * sizeof *latest_ns);
    int64_t *slack_ns = malloc((dag->op_count + 1) * sizeof *slack_ns);

    if (!latest_ns || !slack_ns) {
        free(slack_ns);
        return rp_out_of_memory(err);
    }
    for (size_t k = 0; k < dag->slots.count; k++)
        latest_ns[k] = dag->end_ns;
    for (uint32_t p = (uint32_t)g->point_count; p-- > 0;) {
        int64_t here_ns = latest_ns[rp_dag_slot(&dag->slots, p)];
        latest_ns[rp_dag_slot(&dag->slots, p)] = dag->end_ns;
        for (uint32_t e = rp_dag_first(g, p); e < rp_dag_first(g, p + 1); e++) {
            uint32_t from = g->from[e];
            int64_t t = here_ns - rp_dag_weight(g, e);
            if (t < latest_ns[rp_dag_slot(&dag->slots, from)])
                latest_ns[rp_dag_slot(&dag->slots, from)] = t;
            /* In a collective only the rank that comes last has no slack. */
            if (rp_dag_class_of(g, e) == RP_DAG_DURATION && rp_dag_is_op(dag->owner[from]))
                slack_ns[dag->owner[from] & ~(uint32_t)RP_DAG_OP_BIT] = t - g->time_ns[from];
        }
    }
    *ret = slack_ns;
    return 0;
}

/* --- parts ---------------------------------------------------------------------------------- */

static const char *const part_labels[RP_DAG_PART_COUNT] = {
    [RP_DAG_PART_HOST_GAP] = "[host_gap]",
    [RP_DAG_PART_LAUNCH] = "[launch]",
    [RP_DAG_PART_STREAM] = "[stream]",
    [RP_DAG_PART_QUEUE] = "[queue]",
    [RP_DAG_PART_EVENT] = "[event]",
    [RP_DAG_PART_NULL_STREAM] = "[null_stream]",
    [RP_DAG_PART_SYNC] = "[sync]",
    [RP_DAG_PART_COLLECTIVE] = "[collective]",
    [RP_DAG_PART_UNKNOWN] = "[nothing recorded]",
};

static const enum rp_dag_part part_of_class[RP_DAG_CLASS_COUNT] = {
    [RP_DAG_STREAM] = RP_DAG_PART_STREAM,
    [RP_DAG_EVENT] = RP_DAG_PART_EVENT,
    [RP_DAG_NULL_STREAM] = RP_DAG_PART_NULL_STREAM,
    [RP_DAG_COLLECTIVE] = RP_DAG_PART_COLLECTIVE,
    [RP_DAG_QUEUE] = RP_DAG_PART_QUEUE,
    [RP_DAG_SYNC] = RP_DAG_PART_SYNC,
    [RP_DAG_LAUNCH] = RP_DAG_PART_LAUNCH,
    [RP_DAG_HOST_GAP] = RP_DAG_PART_HOST_GAP,
    [RP_DAG_DURATION] = RP_DAG_PART_HOST_API,
    [RP_DAG_UNKNOWN] = RP_DAG_PART_UNKNOWN,
};

const char *rp_dag_part_label(enum rp_dag_part part)
{
    return part_labels[part];
}

uint32_t rp_dag_item_of(const struct rp_dag *dag, uint32_t e)
{
    return rp_dag_class_of(&dag->graph, e) == RP_DAG_DURATION ? dag->owner[dag->graph.from[e]]
                                                              : RP_DAG_NONE;
}

/* Without calls in the trace, a long gap in a stream or queue has other causes than its order. */
static bool is_unrecorded(const struct rp_dag *dag, uint32_t e)
{
    switch (rp_dag_class_of(&dag->graph, e)) {
    case RP_DAG_STREAM:
    case RP_DAG_QUEUE:
    case RP_DAG_NULL_STREAM:
    case RP_DAG_EVENT:
        return rp_dag_grade_of(&dag->graph, e) == RP_DAG_INFERRED &&
               rp_dag_weight(&dag->graph, e) > RP_DAG_LONGEST_GAP_NS;
    default:
        return false;
    }
}

enum rp_dag_part rp_dag_part_of(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                                uint32_t e, const char **ret_name)
{
    uint32_t item = rp_dag_item_of(dag, e);
    enum rp_dag_part part = is_unrecorded(dag, e) ? RP_DAG_PART_UNKNOWN
                                                  : part_of_class[rp_dag_class_of(&dag->graph, e)];

    if (rp_dag_is_op(item)) {
        const struct rp_dag_op *op = rp_dag_op_of(trace, item);
        *ret_name = trace->symbols[op->symbol];
        return op->is_copy ? RP_DAG_PART_COPY : RP_DAG_PART_KERNEL;
    }
    *ret_name = rp_dag_is_call(item) ? trace->call_names[rp_dag_call_of(trace, item)->name]
                                     : part_labels[part];
    return part;
}

/* --- sums by name --------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct rp_dag_share *)a)->name, ((const struct rp_dag_share *)b)->name);
}

static int by_share(const void *a, const void *b)
{
    const struct rp_dag_share *x = a, *y = b;

    if (x->path_ns != y->path_ns)
        return x->path_ns > y->path_ns ? -1 : 1;
    return strcmp(x->name, y->name);
}

/** Adds up equal names and puts the largest first.
 * @return how many are left */
static size_t dag_merge_shares(struct rp_dag_share *shares, size_t count)
{
    size_t kept = 0;

    qsort(shares, count, sizeof *shares, by_name);
    for (size_t i = 0; i < count; i++) {
        if (kept && strcmp(shares[kept - 1].name, shares[i].name) == 0)
            shares[kept - 1].path_ns += shares[i].path_ns;
        else
            shares[kept++] = shares[i];
    }
    qsort(shares, kept, sizeof *shares, by_share);
    /* Entries that take no time have no part in it. */
    while (kept && shares[kept - 1].path_ns == 0)
        kept--;
    return kept;
}

int rp_dag_names_add(struct rp_dag_names *names, const char *name, int64_t ns)
{
    uint32_t before = names->addresses.count;
    uint32_t number = rp_idmap_add(&names->addresses, (uintptr_t)name);

    if (number == RP_NO_NUMBER)
        return -1;
    if (number == before) {
        if (!rp_dag_room(&names->shares, number, &names->room, sizeof *names->shares))
            return -1;
        names->shares[number] = (struct rp_dag_share){.name = name};
    }
    names->shares[number].path_ns += ns;
    return 0;
}

int rp_dag_names_take(struct rp_dag_names *names, struct rp_dag_share **ret, size_t *ret_count,
                      struct rp_err *err)
{
    uint32_t count = names->addresses.count;

    if (!rp_dag_room(&names->shares, count, &names->room, sizeof *names->shares))
        return rp_out_of_memory(err); /* Memory ended before there was a list. */
    *ret = names->shares;
    *ret_count = dag_merge_shares(names->shares, count);
    names->shares = NULL;
    rp_dag_names_free(names);
    return 0;
}

int rp_dag_names_take_copies(struct rp_dag_names *names, struct rp_dag_share **ret,
                             size_t *ret_count, struct rp_err *err)
{
    struct rp_dag_share *list = NULL;
    size_t count = 0;
    int rc = rp_dag_names_take(names, &list, &count, err);

    for (size_t i = 0; i < count && rc == 0; i++) {
        list[i].name = strdup(list[i].name);
        if (!list[i].name) {
            rp_dag_owned_shares_free(list, i);
            return rp_out_of_memory(err);
        }
    }
    if (rc == 0) {
        *ret = list;
        *ret_count = count;
    }
    return rc;
}

void rp_dag_owned_shares_free(struct rp_dag_share *shares, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free((char *)shares[i].name);
    free(shares);
}

void rp_dag_names_free(struct rp_dag_names *names)
{
    rp_idmap_free(&names->addresses);
    free(names->shares);
    memset(names, 0, sizeof *names);
}

/* Finds the operation whose end is the last on the way of binding edges to a point. One sweep is
 * enough, because the way to a point is that to its predecessor and one edge more. */
static uint32_t last_on_way(const struct rp_dag *dag, const uint32_t *last, uint32_t edge)
{
    uint32_t item = edge == RP_DAG_NO_POINT ? RP_DAG_NONE : rp_dag_item_of(dag, edge);

    if (edge == RP_DAG_NO_POINT)
        return RP_DAG_NONE;
    return rp_dag_is_op(item) ? item & ~(uint32_t)RP_DAG_OP_BIT : last[dag->graph.from[edge]];
}

int rp_dag_causes_find(const struct rp_dag *dag, struct rp_dag_cause **ret, struct rp_err *err)
{
    const struct rp_dag_graph *g = &dag->graph;
    rp_autofree uint32_t *last = malloc((g->point_count + 1) * sizeof *last);
    struct rp_dag_cause *causes = malloc((dag->op_count + 1) * sizeof *causes);

    if (!last || !causes) {
        free(causes);
        return rp_out_of_memory(err);
    }
    for (uint32_t p = 0; p < g->point_count; p++) {
        uint32_t edge = rp_dag_binding(g, p);

        last[p] = last_on_way(dag, last, edge);
        if (dag->flags[p] & RP_DAG_OP_START)
            causes[dag->owner[p] & ~(uint32_t)RP_DAG_OP_BIT] = (struct rp_dag_cause){
                .op = last[p],
                .class = edge == RP_DAG_NO_POINT ? RP_DAG_UNKNOWN : rp_dag_class_of(g, edge),
            };
    }
    *ret = causes;
    return 0;
}

/* Slack below this does not matter in practice, and neither does less than a thousandth of the
 * whole. */
enum { LEAST_EPSILON_NS = 1000, EPSILON_PARTS = 1000 };

/* --- histogram and criticality --------------------------------------------------------------- */

static int by_bound(const void *a, const void *b)
{
    const struct rp_dag_slack_bin *x = a, *y = b;

    if (x->up_to_ns != y->up_to_ns)
        return x->up_to_ns < y->up_to_ns ? -1 : 1;
    return strcmp(x->name, y->name);
}

static void name_bins(int64_t makespan_ns, struct rp_dag_slack_bin *bins)
{
    const struct rp_dag_slack_bin all[RP_DAG_SLACK_BINS] = {
        {.name = "0"},
        {.name = "1us", .up_to_ns = 1000},
        {.name = "0.1%", .up_to_ns = makespan_ns / 1000},
        {.name = "1%", .up_to_ns = makespan_ns / 100},
        {.name = "10%", .up_to_ns = makespan_ns / 10},
        {.name = "more", .up_to_ns = INT64_MAX},
    };

    memcpy(bins, all, sizeof all);
    qsort(bins, RP_DAG_SLACK_BINS, sizeof *bins, by_bound);
}

static int by_critical(const void *a, const void *b)
{
    const struct rp_dag_critical *x = a, *y = b;

    if (x->near_ns != y->near_ns)
        return x->near_ns > y->near_ns ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Counts one operation. */
static void count_slack(const struct rp_dag_trace *trace, const struct rp_dag_op *op,
                        int64_t slack_ns, struct rp_dag_result *r)
{
    struct rp_dag_critical *critical = &r->critical[op->symbol];
    struct rp_dag_slack_bin *bin = r->slack_bins;
    int64_t took_ns = op->end_ns - op->start_ns;

    while (slack_ns > bin->up_to_ns)
        bin++;
    bin->count++;
    bin->time_ns += took_ns;
    critical->name = trace->symbols[op->symbol];
    critical->count++;
    critical->time_ns += took_ns;
    if (slack_ns <= r->epsilon_ns)
        critical->near_ns += took_ns;
}

static int put_slack(const struct rp_dag_trace *trace, const int64_t *slack_ns,
                     struct rp_dag_result *r, struct rp_err *err)
{
    size_t kept = 0;

    r->critical = calloc(trace->symbol_count + 1, sizeof *r->critical);
    if (!r->critical)
        return rp_out_of_memory(err);
    for (size_t i = 0; i < trace->process_count; i++) {
        const struct rp_dag_process *p = &trace->processes[i];
        for (size_t k = 0; k < p->op_count; k++)
            count_slack(trace, &p->ops[k], slack_ns[p->op_base + k], r);
    }
    for (size_t k = 0; k < trace->symbol_count; k++)
        if (r->critical[k].name)
            r->critical[kept++] = r->critical[k];
    r->critical_count = kept;
    qsort(r->critical, kept, sizeof *r->critical, by_critical);
    return 0;
}

/* --- the next paths -------------------------------------------------------------------------- */

/* Holds the starts of calls and operations that are on one of these paths: a bit per point. */
struct taken {
    const struct rp_dag *dag;
    uint64_t *bits;
};

static void near_take(struct taken *taken, uint32_t start)
{
    taken->bits[start / 64] |= (uint64_t)1 << start % 64;
}

/* Operations on the critical path are included. */
static bool is_taken(const struct taken *taken, uint32_t start)
{
    return (taken->dag->flags[start] & RP_DAG_ON_PATH) ||
           (taken->bits[start / 64] >> start % 64 & 1);
}

/* Holds the starts of all operations with at most a certain slack, so that operations with more are
 * not looked at again for every path. */
struct candidates {
    uint32_t *starts; /**< ascending; NULL: too many */
    size_t count;
};

enum { ENOUGH_CANDIDATES = 1 << 12, MOST_CANDIDATES = 1 << 20, SLACK_BITS = 64 };

/* Counts its binary digits. */
static unsigned size_of_slack(int64_t slack_ns)
{
    return slack_ns > 0 ? SLACK_BITS - (unsigned)__builtin_clzll((uint64_t)slack_ns) : 0;
}

static bool is_open(const struct taken *taken, uint32_t p)
{
    return (taken->dag->flags[p] & RP_DAG_OP_START) && !is_taken(taken, p);
}

static int find_candidates(const struct taken *taken, const int64_t *slack_ns,
                           struct candidates *ret, struct rp_err *err)
{
    const struct rp_dag *dag = taken->dag;
    size_t sizes[SLACK_BITS + 1] = {0}, count = 0;
    unsigned most = 0;

    *ret = (struct candidates){0};
    for (uint32_t p = 0; p < dag->graph.point_count; p++)
        if (is_open(taken, p))
            sizes[size_of_slack(rp_dag_slack_of(slack_ns, dag->owner[p]))]++;
    for (count = sizes[0]; most < SLACK_BITS && count < ENOUGH_CANDIDATES; most++)
        count += sizes[most + 1];
    if (count > MOST_CANDIDATES)
        return 0;
    ret->starts = malloc((count + 1) * sizeof *ret->starts);
    if (!ret->starts)
        return rp_out_of_memory(err);
    for (uint32_t p = 0; p < dag->graph.point_count; p++)
        if (is_open(taken, p) && size_of_slack(rp_dag_slack_of(slack_ns, dag->owner[p])) <= most)
            ret->starts[ret->count++] = p;
    return 0;
}

struct min_slack_op {
    uint32_t start;
    int64_t slack_ns, end_ns;
};

static void compare(const struct taken *taken, const struct rp_dag_trace *trace,
                    const int64_t *slack_ns, uint32_t p, struct min_slack_op *least)
{
    const struct rp_dag *dag = taken->dag;
    int64_t this_ns;

    if (!is_open(taken, p))
        return;
    this_ns = rp_dag_slack_of(slack_ns, dag->owner[p]);
    if (least->start != RP_DAG_NONE &&
        (this_ns > least->slack_ns || (this_ns == least->slack_ns &&
                                       rp_dag_op_of(trace, dag->owner[p])->end_ns < least->end_ns)))
        return;
    *least = (struct min_slack_op){p, this_ns, rp_dag_op_of(trace, dag->owner[p])->end_ns};
}

/* Finds among the operations that are on no path yet one with the least slack, and the last of
 * those. It returns its start or RP_DAG_NONE. */
static uint32_t min_slack(const struct taken *taken, const struct rp_dag_trace *trace,
                          const int64_t *slack_ns, const struct candidates *candidates,
                          int64_t *ret_ns)
{
    struct min_slack_op least = {.start = RP_DAG_NONE};

    for (size_t i = 0; i < candidates->count; i++)
        compare(taken, trace, slack_ns, candidates->starts[i], &least);
    if (least.start == RP_DAG_NONE)
        for (uint32_t p = 0; p < taken->dag->graph.point_count; p++)
            compare(taken, trace, slack_ns, p, &least);
    *ret_ns = least.slack_ns;
    return least.start;
}

static int add_op(const struct rp_dag_trace *trace, const struct rp_dag_op *op,
                  struct rp_dag_next_path *path, struct rp_dag_names *names)
{
    path->op_count++;
    path->start_ns = op->start_ns;
    *(op->is_copy ? &path->copy_ns : &path->kernel_ns) += op->end_ns - op->start_ns;
    return rp_dag_names_add(names, trace->symbols[op->symbol], op->end_ns - op->start_ns);
}

/* Goes back from an operation along the edges that bind, to another path or the start of the trace.
 * A binding predecessor has no more slack than its successor, so this is a chain of equal slack. */
static int follow(struct taken *taken, const struct rp_dag_trace *trace, uint32_t last,
                  struct rp_dag_next_path *path, struct rp_dag_names *names, struct rp_err *err)
{
    const struct rp_dag *dag = taken->dag;
    const struct rp_dag_graph *g = &dag->graph;
    const struct rp_dag_op *op = rp_dag_op_of(trace, dag->owner[last]);
    uint32_t point = last, e;
    int rc = add_op(trace, op, path, names);

    path->end_ns = op->end_ns;
    near_take(taken, last);
    while (rc == 0 && (e = rp_dag_binding(g, point)) != RP_DAG_NO_POINT) {
        uint32_t item = rp_dag_item_of(dag, e);
        if (item != RP_DAG_NONE && is_taken(taken, g->from[e]))
            break;
        if (rp_dag_is_op(item))
            rc = add_op(trace, rp_dag_op_of(trace, item), path, names);
        if (item != RP_DAG_NONE)
            near_take(taken, g->from[e]);
        point = g->from[e];
    }
    return rc < 0 ? rp_out_of_memory(err) : 0;
}

static int put_paths(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                     const int64_t *slack_ns, struct rp_dag_result *r, struct rp_err *err)
{
    rp_autofree uint64_t *bits = calloc(dag->graph.point_count / 64 + 1, sizeof *bits);
    rp_autofree uint32_t *starts = NULL;
    struct taken taken = {dag, bits};
    struct candidates candidates = {0};
    int found = bits ? find_candidates(&taken, slack_ns, &candidates, err) : rp_out_of_memory(err);

    if (found < 0)
        return found;
    starts = candidates.starts;
    for (size_t k = 0; k < RP_DAG_NEXT_PATHS; k++) {
        struct rp_dag_next_path *path = &r->near_paths[k];
        struct rp_dag_names names = {0};
        uint32_t last = min_slack(&taken, trace, slack_ns, &candidates, &path->slack_ns);
        int rc;

        if (last == RP_DAG_NONE)
            break;
        rc = follow(&taken, trace, last, path, &names, err);
        if (rc == 0)
            rc = rp_dag_names_take(&names, &path->shares, &path->share_count, err);
        rp_dag_names_free(&names);
        if (rc < 0)
            return rc;
        r->near_path_count++;
    }
    return 0;
}

int rp_dag_next_paths(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                      const int64_t *slack_ns, struct rp_dag_result *ret, struct rp_err *err)
{
    int64_t makespan_ns = dag->end_ns - dag->start_ns;
    int rc;

    ret->epsilon_ns = makespan_ns / EPSILON_PARTS;
    if (ret->epsilon_ns < LEAST_EPSILON_NS)
        ret->epsilon_ns = LEAST_EPSILON_NS;
    name_bins(makespan_ns, ret->slack_bins);
    rc = put_slack(trace, slack_ns, ret, err);
    return rc < 0 ? rc : put_paths(dag, trace, slack_ns, ret, err);
}

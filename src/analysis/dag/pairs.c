#include "pairs.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/intern.h"
#include "lanes.h"
#include "load.h"

static_assert((int)RP_DAG_KIND_COUNT - (int)RP_DAG_KIND_MARKED == (int)RP_DAG_LANES,
              "a kind for each pair");

/* An edge of class queue that held back what would have run at the same time. */
struct wait {
    uint32_t edge, pair;
};

/* All waits of two symbols. */
struct pair {
    uint32_t first, second;
    uint32_t number; /* in the order in which they were found */
    uint64_t count;
    int64_t waited_ns;
};

struct waits {
    struct wait *list;
    size_t count, room;
    struct rp_numbering symbols; /* the pairs' */
    struct pair *pairs;          /* by number */
    size_t pair_room;
};

/* The pair of two symbols; NULL: out of memory. */
static struct pair *pair_of(struct waits *w, uint32_t first, uint32_t second)
{
    uint32_t before = w->symbols.count;
    uint32_t number = rp_numbering_add(&w->symbols, (uint64_t)first << 32 | second);

    if (number == RP_NO_NUMBER)
        return NULL;
    if (number == before) {
        if (!rp_dag_room(&w->pairs, number, &w->pair_room, sizeof *w->pairs))
            return NULL;
        w->pairs[number] = (struct pair){.first = first, .second = second, .number = number};
    }
    return &w->pairs[number];
}

static bool add_wait(struct waits *w, uint32_t first, uint32_t second, uint32_t edge, int64_t ns)
{
    struct pair *pair = pair_of(w, first, second);

    if (!pair || !rp_dag_room(&w->list, w->count, &w->room, sizeof *w->list))
        return false;
    pair->count++;
    pair->waited_ns += ns;
    w->list[w->count++] = (struct wait){edge, pair->number};
    return true;
}

static const struct rp_dag_op *op_at(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                                     uint32_t point)
{
    return rp_dag_is_op(dag->owner[point]) ? rp_dag_op_of(trace, dag->owner[point]) : NULL;
}

/* The end of the operation that a packet is behind: markers wait for something themselves. None
 * when that is the host. */
static uint32_t blocker(const struct rp_dag *dag, const struct rp_dag_trace *trace, uint32_t point)
{
    const struct rp_dag_graph *g = &dag->graph;

    while (dag->owner[point] == RP_DAG_NONE) {
        uint32_t e = rp_dag_binding(g, point);
        if (e == RP_DAG_NO_POINT)
            return RP_DAG_NONE;
        point = g->from[e];
    }
    return op_at(dag, trace, point) ? point : RP_DAG_NONE;
}

/* How much earlier a point could be without one of its edges. */
static int64_t held_back(const struct rp_dag_graph *g, uint32_t point, uint32_t edge)
{
    int64_t latest = INT64_MIN;

    for (uint32_t e = rp_dag_first(g, point); e < rp_dag_first(g, point + 1); e++) {
        int64_t t = g->time_ns[g->from[e]] + rp_dag_weight(g, e);
        if (e != edge && t > latest)
            latest = t;
    }
    return latest < g->time_ns[point] ? g->time_ns[point] - latest : 0;
}

/* The graph without the edges of class queue, as far as it is gone through. */
struct unshared {
    int64_t *time_ns; /* per slot */
    int64_t *end_ns;  /* per operation */
    int64_t first_ns, last_ns;
};

/* When a point is reached at the earliest. One that only queues hold stays where it is; what is
 * left of the others' edges may all be dropped ones: nothing is before the first point. */
static int64_t unshared_at(const struct rp_dag *dag, const struct unshared *u, uint32_t p)
{
    const struct rp_dag_graph *g = &dag->graph;
    int64_t latest_ns = INT64_MIN;

    for (uint32_t e = rp_dag_first(g, p); e < rp_dag_first(g, p + 1); e++) {
        int64_t t = u->time_ns[rp_dag_slot(&dag->slots, g->from[e])] + rp_dag_weight(g, e);
        if (t > latest_ns && rp_dag_class_of(g, e) != RP_DAG_QUEUE)
            latest_ns = t;
    }
    if (latest_ns == INT64_MIN)
        return g->time_ns[p];
    return latest_ns > u->first_ns ? latest_ns : u->first_ns;
}

/* Notes an edge into the start of an operation when it held that back, and both would have run at
 * the same time with queues of their own: then no true dependency leads from one to the other. */
static bool note(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                 const struct unshared *u, int64_t start_ns, uint32_t to, uint32_t edge,
                 struct waits *waits)
{
    const struct rp_dag_op *second = op_at(dag, trace, to), *first;
    int64_t held_ns = held_back(&dag->graph, to, edge);
    uint32_t from;

    if (!second || held_ns <= 0 ||
        (from = blocker(dag, trace, dag->graph.from[edge])) == RP_DAG_NONE)
        return true;
    first = op_at(dag, trace, from);
    if (first->is_copy || second->is_copy ||
        start_ns >= u->end_ns[dag->owner[from] & ~(uint32_t)RP_DAG_OP_BIT])
        return true;
    return add_wait(waits, first->symbol, second->symbol, edge, held_ns);
}

static bool sweep(const struct rp_dag *dag, const struct rp_dag_trace *trace, struct unshared *u,
                  struct waits *ret)
{
    const struct rp_dag_graph *g = &dag->graph;

    for (uint32_t p = 0; p < g->point_count; p++) {
        int64_t here_ns = unshared_at(dag, u, p);
        u->time_ns[rp_dag_slot(&dag->slots, p)] = here_ns;
        u->last_ns = here_ns > u->last_ns ? here_ns : u->last_ns;
        if (!rp_dag_is_op(dag->owner[p]))
            continue;
        if (!(dag->flags[p] & RP_DAG_OP_START)) {
            u->end_ns[dag->owner[p] & ~(uint32_t)RP_DAG_OP_BIT] = here_ns;
            continue;
        }
        for (uint32_t e = rp_dag_first(g, p); e < rp_dag_first(g, p + 1); e++)
            if (rp_dag_class_of(g, e) == RP_DAG_QUEUE && rp_dag_weight(g, e) != RP_DAG_DROPPED_NS &&
                !note(dag, trace, u, here_ns, p, e, ret))
                return false;
    }
    return true;
}

static int find_waits(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                      int64_t *ret_end_ns, struct waits *ret, struct rp_err *err)
{
    rp_autofree int64_t *time_ns = malloc((dag->slots.count + 1) * sizeof *time_ns);
    rp_autofree int64_t *end_ns = malloc((dag->op_count + 1) * sizeof *end_ns);
    struct unshared u = {time_ns, end_ns, dag->graph.time_ns[0], INT64_MIN};

    if (!time_ns || !end_ns || !sweep(dag, trace, &u, ret))
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    *ret_end_ns = u.last_ns;
    return 0;
}

/* --- the pairs that waited longest ---------------------------------------------------------- */

static int by_wait(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;

    if (x->waited_ns != y->waited_ns)
        return x->waited_ns > y->waited_ns ? -1 : 1;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return (x->second > y->second) - (x->second < y->second);
}

/* The edges of the first pairs, each of its pair's kind. Edges were found in ascending order. */
static size_t mark(const struct waits *waits, size_t count, struct rp_dag_marked *ret)
{
    size_t marked = 0;

    for (size_t i = 0; i < waits->count; i++)
        for (size_t k = 0; k < count; k++)
            if (waits->list[i].pair == waits->pairs[k].number)
                ret[marked++] =
                    (struct rp_dag_marked){waits->list[i].edge, RP_DAG_KIND_MARKED + (uint32_t)k};
    return marked;
}

static int by_gain(const void *a, const void *b)
{
    const struct rp_dag_pair *x = a, *y = b;
    int order;

    if (x->gain_ns != y->gain_ns)
        return x->gain_ns > y->gain_ns ? -1 : 1;
    if (x->waited_ns != y->waited_ns)
        return x->waited_ns > y->waited_ns ? -1 : 1;
    order = strcmp(x->first, y->first);
    return order ? order : strcmp(x->second, y->second);
}

static int put_pairs(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                     struct waits *waits, struct rp_dag_result *ret, struct rp_err *err)
{
    rp_autofree struct rp_dag_marked *marked = malloc((waits->count + 1) * sizeof *marked);
    size_t count = waits->symbols.count < RP_DAG_LANES ? waits->symbols.count : RP_DAG_LANES;
    struct rp_dag_lane lanes[RP_DAG_LANES] = {0};
    const struct pair *pairs = waits->pairs;
    size_t marked_count;
    int rc;

    ret->pairs = malloc((count + 1) * sizeof *ret->pairs);
    if (!marked || !ret->pairs)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    qsort(waits->pairs, waits->symbols.count, sizeof *waits->pairs, by_wait);
    marked_count = mark(waits, count, marked);
    for (size_t k = 0; k < count; k++)
        lanes[k].without = 1u << (RP_DAG_KIND_MARKED + k);
    rc = rp_dag_lanes(dag, trace, lanes, count, marked, marked_count, err);
    if (rc < 0)
        return rc;
    for (size_t k = 0; k < count; k++)
        ret->pairs[k] = (struct rp_dag_pair){
            .first = trace->symbols[pairs[k].first],
            .second = trace->symbols[pairs[k].second],
            .count = pairs[k].count,
            .waited_ns = pairs[k].waited_ns,
            .gain_ns = dag->end_ns - lanes[k].end_ns,
        };
    ret->pair_count = count;
    qsort(ret->pairs, count, sizeof *ret->pairs, by_gain);
    return 0;
}

int rp_dag_pairs(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                 struct rp_dag_result *ret, struct rp_err *err)
{
    struct waits waits = {0};
    int64_t end_ns = 0;
    int rc = find_waits(dag, trace, &end_ns, &waits, err);

    if (rc == 0)
        ret->unshared_queues_ns = end_ns - dag->start_ns;
    if (rc == 0 && waits.count)
        rc = put_pairs(dag, trace, &waits, ret, err);
    free(waits.list);
    free(waits.pairs);
    rp_numbering_free(&waits.symbols);
    return rc;
}

#include "pairs.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "lanes.h"

static_assert((int)RP_DAG_KIND_COUNT - (int)RP_DAG_KIND_MARKED == (int)RP_DAG_LANES,
              "a kind for each pair");

/* An edge of class queue that held back what would have run at the same time. */
struct wait {
    uint32_t first, second; /* symbols */
    uint32_t edge;
    int64_t ns;
};

/* All waits of two symbols. */
struct pair {
    uint32_t first, second;
    uint64_t count;
    int64_t waited_ns;
};

struct waits {
    struct wait *list;
    size_t count, room;
};

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
        uint32_t e = rp_dag_binding(g, g->time_ns, g->weight_ns, point);
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

    for (uint32_t e = g->first[point]; e < g->first[point + 1]; e++) {
        int64_t t = g->time_ns[g->from[e]] + g->weight_ns[e];
        if (e != edge && t > latest)
            latest = t;
    }
    return latest < g->time_ns[point] ? g->time_ns[point] - latest : 0;
}

/* Notes an edge into the start of an operation when it held that back, and both would have run at
 * the same time with queues of their own: then no true dependency leads from one to the other. */
static bool note(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                 const int64_t *unshared_ns, uint32_t to, uint32_t edge, struct waits *waits)
{
    const struct rp_dag_op *second = op_at(dag, trace, to), *first;
    int64_t held_ns = held_back(&dag->graph, to, edge);
    uint32_t from;

    if (!second || held_ns <= 0 ||
        (from = blocker(dag, trace, dag->graph.from[edge])) == RP_DAG_NONE)
        return true;
    first = op_at(dag, trace, from);
    if (first->is_copy || second->is_copy || unshared_ns[to] >= unshared_ns[from])
        return true;
    if (waits->count == waits->room) {
        size_t room = waits->room ? waits->room * 2 : 256;
        struct wait *grown = realloc(waits->list, room * sizeof *grown);
        if (!grown)
            return false;
        waits->list = grown;
        waits->room = room;
    }
    waits->list[waits->count++] = (struct wait){first->symbol, second->symbol, edge, held_ns};
    return true;
}

static int find_waits(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                      const int64_t *unshared_ns, struct waits *ret, struct rp_err *err)
{
    const struct rp_dag_graph *g = &dag->graph;

    for (uint32_t p = 0; p < g->point_count; p++)
        for (uint32_t e = g->first[p]; (dag->flags[p] & RP_DAG_OP_START) && e < g->first[p + 1];
             e++)
            if (g->class[e] == RP_DAG_QUEUE && g->weight_ns[e] != RP_DAG_DROPPED_NS &&
                !note(dag, trace, unshared_ns, p, e, ret))
                return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    return 0;
}

/* --- the pairs that waited longest ---------------------------------------------------------- */

static int by_symbols(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;

    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return (x->second > y->second) - (x->second < y->second);
}

static int by_wait(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;

    if (x->waited_ns != y->waited_ns)
        return x->waited_ns > y->waited_ns ? -1 : 1;
    return by_symbols(a, b);
}

/* Adds up the waits of equal symbols; those that waited longest come first. */
static struct pair *add_up(const struct waits *waits, size_t *ret_count)
{
    struct pair *pairs = malloc((waits->count + 1) * sizeof *pairs);
    size_t kept = 0;

    if (!pairs)
        return NULL;
    for (size_t i = 0; i < waits->count; i++)
        pairs[i] = (struct pair){waits->list[i].first, waits->list[i].second, 1, waits->list[i].ns};
    qsort(pairs, waits->count, sizeof *pairs, by_symbols);
    for (size_t i = 0; i < waits->count; i++) {
        if (!kept || by_symbols(&pairs[kept - 1], &pairs[i]) != 0) {
            pairs[kept++] = pairs[i];
            continue;
        }
        pairs[kept - 1].count++;
        pairs[kept - 1].waited_ns += pairs[i].waited_ns;
    }
    qsort(pairs, kept, sizeof *pairs, by_wait);
    *ret_count = kept;
    return pairs;
}

/* The edges of the first pairs, each of its pair's kind. Edges were found in ascending order. */
static size_t mark(const struct waits *waits, const struct pair *pairs, size_t count,
                   struct rp_dag_marked *ret)
{
    size_t marked = 0;

    for (size_t i = 0; i < waits->count; i++)
        for (size_t k = 0; k < count; k++)
            if (waits->list[i].first == pairs[k].first && waits->list[i].second == pairs[k].second)
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
                     const struct waits *waits, struct rp_dag_result *ret, struct rp_err *err)
{
    rp_autofree struct rp_dag_marked *marked = malloc((waits->count + 1) * sizeof *marked);
    size_t count = 0, marked_count;
    rp_autofree struct pair *pairs = add_up(waits, &count);
    struct rp_dag_lane lanes[RP_DAG_LANES] = {0};
    int rc;

    if (count > RP_DAG_LANES)
        count = RP_DAG_LANES;
    ret->pairs = malloc((count + 1) * sizeof *ret->pairs);
    if (!marked || !pairs || !ret->pairs)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    marked_count = mark(waits, pairs, count, marked);
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
                 const int64_t *unshared_ns, struct rp_dag_result *ret, struct rp_err *err)
{
    struct waits waits = {0};
    int rc = find_waits(dag, trace, unshared_ns, &waits, err);

    if (rc == 0 && waits.count)
        rc = put_pairs(dag, trace, &waits, ret, err);
    free(waits.list);
    return rc;
}

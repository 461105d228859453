#include "graph.h"

#include <stdlib.h>
#include <string.h>

void rp_dag_graph_free(struct rp_dag_graph *g)
{
    free(g->time_ns);
    free(g->offset);
    free(g->base);
    free(g->first);
    free(g->from);
    free(g->kinds);
    free(g->weight);
    rp_numbering_free(&g->odd);
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

    if (g->point_count + 1 < g->point_room) /* one more for the end of the last one's edges */
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

/* A number for every point: one of the blocks has more edges than an offset can count. */
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
    uint32_t number = rp_numbering_add(&g->odd, edge);

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

int64_t rp_dag_odd_weight(const struct rp_dag_graph *g, size_t edge)
{
    return g->odd_weight_ns[rp_numbering_find(&g->odd, edge)];
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

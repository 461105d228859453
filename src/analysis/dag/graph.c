#include "graph.h"

#include <stdlib.h>
#include <string.h>

void rp_dag_graph_free(struct rp_dag_graph *g)
{
    free(g->time_ns);
    free(g->first);
    free(g->from);
    free(g->weight_ns);
    free(g->class);
    free(g->grade);
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
    if (!grow(&g->from, room, sizeof *g->from) ||
        !grow(&g->weight_ns, room, sizeof *g->weight_ns) ||
        !grow(&g->class, room, sizeof *g->class) || !grow(&g->grade, room, sizeof *g->grade))
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
    if (!grow(&g->time_ns, room, sizeof *g->time_ns) || !grow(&g->first, room, sizeof *g->first))
        return false;
    if (!g->point_room)
        g->first[0] = 0;
    g->point_room = room;
    return true;
}

uint32_t rp_dag_edge(struct rp_dag_graph *g, uint32_t from, int64_t weight_ns,
                     enum rp_dag_class class, enum rp_dag_grade grade)
{
    size_t e = g->edge_count;

    if (g->failed || !edge_room(g)) {
        g->failed = true;
        return 0;
    }
    g->from[e] = from;
    g->weight_ns[e] = weight_ns;
    g->class[e] = (uint8_t) class;
    g->grade[e] = (uint8_t)grade;
    g->edge_count++;
    return (uint32_t)e;
}

uint32_t rp_dag_point(struct rp_dag_graph *g, int64_t time_ns)
{
    size_t p = g->point_count;

    if (g->failed || !point_room(g)) {
        g->failed = true;
        return 0;
    }
    g->time_ns[p] = time_ns;
    g->first[p + 1] = (uint32_t)g->edge_count;
    g->point_count++;
    return (uint32_t)p;
}

void rp_dag_forward(const struct rp_dag_graph *g, const int64_t *weight_ns,
                    enum rp_dag_class without, int64_t *ret_time_ns)
{
    /* What is left of a point's edges may all be dropped ones: it is not before the first point. */
    int64_t first_ns = g->point_count ? g->time_ns[0] : 0;

    for (size_t p = 0; p < g->point_count; p++) {
        int64_t latest = INT64_MIN;

        for (uint32_t e = g->first[p]; e < g->first[p + 1]; e++) {
            int64_t t = ret_time_ns[g->from[e]] + weight_ns[e];
            if (t > latest && g->class[e] != without)
                latest = t;
        }
        ret_time_ns[p] = latest == INT64_MIN ? g->time_ns[p]
                         : latest > first_ns ? latest
                                             : first_ns;
    }
}

void rp_dag_backward(const struct rp_dag_graph *g, int64_t end_ns, int64_t *ret_latest_ns)
{
    for (size_t p = 0; p < g->point_count; p++)
        ret_latest_ns[p] = end_ns;
    for (size_t p = g->point_count; p-- > 0;)
        for (uint32_t e = g->first[p]; e < g->first[p + 1]; e++) {
            int64_t t = ret_latest_ns[p] - g->weight_ns[e];
            if (t < ret_latest_ns[g->from[e]])
                ret_latest_ns[g->from[e]] = t;
        }
}

uint32_t rp_dag_binding(const struct rp_dag_graph *g, const int64_t *time_ns,
                        const int64_t *weight_ns, uint32_t point)
{
    uint32_t best = RP_DAG_NO_POINT;
    int64_t best_time = 0;

    for (uint32_t e = g->first[point]; e < g->first[point + 1]; e++) {
        int64_t t = time_ns[g->from[e]] + weight_ns[e];
        bool better = best == RP_DAG_NO_POINT || t > best_time;
        if (!better && t == best_time)
            better = g->class[e] != g->class[best] ? g->class[e] < g->class[best]
                                                   : g->from[e] < g->from[best];
        if (better) {
            best = e;
            best_time = t;
        }
    }
    return best;
}

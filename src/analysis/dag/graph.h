/**
 * @file graph.h
 * @brief A max-plus graph of points in time: when can each happen at the earliest, and how late may
 *        it be.
 *
 * An edge (u, v, w) says t(v) >= t(u) + w. Points are made in an order in which every edge goes
 * from an earlier point to a later one, so all passes are one sweep. Times and weights are
 * nanoseconds.
 */
#ifndef RP_ANALYSIS_DAG_GRAPH_H
#define RP_ANALYSIS_DAG_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/intern.h"
#include "rocm-perf/dag.h"

enum { RP_DAG_NO_POINT = UINT32_MAX };

enum { RP_DAG_BLOCK_POINTS = 64 };

/** Weight of a dependency that the recorded times contradict: it holds nothing back. */
#define RP_DAG_DROPPED_NS (INT64_MIN / 4)

/* What stands for a weight that is none of the usual ones: up to 4 s. */
enum { RP_DAG_ODD_WEIGHT = UINT32_MAX - 1, RP_DAG_DROPPED_WEIGHT = UINT32_MAX };

/**
 * A trace has tens of millions of points and edges: each of them takes few bytes. The functions
 * below read and change classes, grades and weights.
 */
struct rp_dag_graph {
    int64_t *time_ns; /**< per point */
    uint16_t *offset; /**< per point and one more: the first of its incoming edges, counted from */
    uint32_t *base;   /**< that of its block's first point */
    uint32_t *first;  /**< instead of these two, once a block has too many edges for them */
    size_t point_count, point_room;
    uint32_t *from;   /**< per edge */
    uint8_t *kinds;   /**< per edge: enum rp_dag_class, and enum rp_dag_grade above it */
    uint32_t *weight; /**< per edge; NULL until rp_dag_weigh */
    size_t edge_count, edge_room;
    struct rp_numbering odd; /**< edges whose weights do not fit */
    int64_t *odd_weight_ns;  /**< per such edge */
    size_t odd_room;
    bool failed; /**< out of memory, or more than 2^32 - 2 points or edges: the graph is incomplete
                  */
};

void rp_dag_graph_free(struct rp_dag_graph *g);

/** Adds an edge into the point that the next rp_dag_point makes. */
void rp_dag_edge(struct rp_dag_graph *g, uint32_t from, enum rp_dag_class class,
                 enum rp_dag_grade grade);
/** Makes a point with the edges added since the last one; time_ns as recorded, or 0. */
uint32_t rp_dag_point(struct rp_dag_graph *g, int64_t time_ns);

/** The first edge into a point; that of the next point is behind the last. */
static inline uint32_t rp_dag_first(const struct rp_dag_graph *g, size_t point)
{
    return g->first ? g->first[point] : g->base[point / RP_DAG_BLOCK_POINTS] + g->offset[point];
}

/** Gives all edges the weight 0: after the last of them was added. */
void rp_dag_weigh(struct rp_dag_graph *g);
void rp_dag_set_weight(struct rp_dag_graph *g, size_t edge, int64_t weight_ns);
int64_t rp_dag_odd_weight(const struct rp_dag_graph *g, size_t edge);

static inline int64_t rp_dag_weight(const struct rp_dag_graph *g, size_t edge)
{
    uint32_t weight = g->weight[edge];

    return weight < RP_DAG_ODD_WEIGHT        ? (int64_t)weight
           : weight == RP_DAG_DROPPED_WEIGHT ? RP_DAG_DROPPED_NS
                                             : rp_dag_odd_weight(g, edge);
}

enum { RP_DAG_CLASS_BITS = 4 };

static inline enum rp_dag_class rp_dag_class_of(const struct rp_dag_graph *g, size_t edge)
{
    return (enum rp_dag_class)(g->kinds[edge] & ((1 << RP_DAG_CLASS_BITS) - 1));
}

static inline enum rp_dag_grade rp_dag_grade_of(const struct rp_dag_graph *g, size_t edge)
{
    return (enum rp_dag_grade)(g->kinds[edge] >> RP_DAG_CLASS_BITS);
}

static inline void rp_dag_set_kind(struct rp_dag_graph *g, size_t edge, enum rp_dag_class class,
                                   enum rp_dag_grade grade)
{
    g->kinds[edge] = (uint8_t)((unsigned)grade << RP_DAG_CLASS_BITS | (unsigned)class);
}

/**
 * Of the edges into a point, the one that determines its time: among equals the class that comes
 * first in the order of rp_dag_class, then the earlier point. @return RP_DAG_NO_POINT: no edge
 */
uint32_t rp_dag_binding(const struct rp_dag_graph *g, uint32_t point);

#endif

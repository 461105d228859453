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

#include "rocm-perf/dag.h"

enum { RP_DAG_NO_POINT = UINT32_MAX };

/** Weight of a dependency that the recorded times contradict: it holds nothing back. */
#define RP_DAG_DROPPED_NS (INT64_MIN / 4)

struct rp_dag_graph {
    int64_t *time_ns; /**< per point */
    uint32_t *first;  /**< per point and one more: its incoming edges */
    size_t point_count, point_room;
    uint32_t *from; /**< per edge */
    int64_t *weight_ns;
    uint8_t *class; /**< enum rp_dag_class */
    uint8_t *grade; /**< enum rp_dag_grade */
    size_t edge_count, edge_room;
    bool failed; /**< out of memory, or more than 2^32 - 2 points or edges: the graph is incomplete
                  */
};

void rp_dag_graph_free(struct rp_dag_graph *g);

/** Adds an edge into the point that the next rp_dag_point makes. @return its index */
uint32_t rp_dag_edge(struct rp_dag_graph *g, uint32_t from, int64_t weight_ns,
                     enum rp_dag_class class, enum rp_dag_grade grade);
/** Makes a point with the edges added since the last one; time_ns as recorded, or 0. */
uint32_t rp_dag_point(struct rp_dag_graph *g, int64_t time_ns);

/**
 * Earliest time of every point with the given weights: of a point without edges, its own.
 * @param without  a class whose edges do not count, RP_DAG_CLASS_COUNT for none; a point that has
 *                 no other edges keeps them
 */
void rp_dag_forward(const struct rp_dag_graph *g, const int64_t *weight_ns,
                    enum rp_dag_class without, int64_t *ret_time_ns);

/** Latest time of every point such that none comes after end_ns, with the graph's weights. */
void rp_dag_backward(const struct rp_dag_graph *g, int64_t end_ns, int64_t *ret_latest_ns);

/**
 * Of the edges into a point, the one that determines its time: among equals the class that comes
 * first in the order of rp_dag_class, then the earlier point. @return RP_DAG_NO_POINT: no edge
 */
uint32_t rp_dag_binding(const struct rp_dag_graph *g, const int64_t *time_ns,
                        const int64_t *weight_ns, uint32_t point);

#endif

/**
 * @file lanes.h
 * @brief End-to-end times of DAGs in which kinds of edges take no time or do not hold, several at
 *        a time.
 */
#ifndef RP_ANALYSIS_DAG_LANES_H
#define RP_ANALYSIS_DAG_LANES_H

#include "build.h"

struct rp_err;

/** What an edge stands for, finer than its class. */
enum rp_dag_kind {
    RP_DAG_KIND_STREAM,
    RP_DAG_KIND_EVENT,
    RP_DAG_KIND_NULL_STREAM,
    RP_DAG_KIND_COLLECTIVE,
    RP_DAG_KIND_QUEUE,
    RP_DAG_KIND_SYNC,
    RP_DAG_KIND_LAUNCH,
    RP_DAG_KIND_HOST_GAP,
    RP_DAG_KIND_KERNEL,
    RP_DAG_KIND_COPY,
    RP_DAG_KIND_CALL,
    RP_DAG_KIND_UNKNOWN,
    RP_DAG_KIND_CAPTURED_GAP,  /**< before a call that a graph would save: RP_DAG_CAPTURED */
    RP_DAG_KIND_CAPTURED_CALL, /**< of such a call */
    RP_DAG_KIND_MARKED,        /**< this and those behind it: edges that the caller lists */
    RP_DAG_KIND_COUNT = RP_DAG_KIND_MARKED + 8
};

enum { RP_DAG_LANES = 8 };

/** Kinds are bits: 1 << enum rp_dag_kind. */
struct rp_dag_lane {
    uint32_t without_time; /**< weigh nothing */
    uint32_t without;      /**< do not hold */
    int64_t end_ns;        /**< result: the last time of all points */
};

/** Edges that are of a kind of their own, instead of their class's: ascending. */
struct rp_dag_marked {
    uint32_t edge;
    uint32_t kind; /**< RP_DAG_KIND_MARKED and up */
};

/** At most RP_DAG_LANES lanes. Nothing comes before the start of the trace, whatever is left out.
 */
int rp_dag_lanes(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                 struct rp_dag_lane *lanes, size_t lane_count, const struct rp_dag_marked *marked,
                 size_t marked_count, struct rp_err *err);

#endif

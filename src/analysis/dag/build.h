/**
 * @file build.h
 * @brief From the rows of a trace to points and edges, with the delays that the trace shows.
 */
#ifndef RP_ANALYSIS_DAG_BUILD_H
#define RP_ANALYSIS_DAG_BUILD_H

#include "graph.h"
#include "slots.h"
#include "trace.h"

/** What a point is. */
enum {
    RP_DAG_PINNED = 1,     /**< the trace has its time */
    RP_DAG_OP_START = 2,   /**< of a kernel or copy: waits for packets take the dispatch delay */
    RP_DAG_BLOCKED = 4,    /**< the end of a call that waited for something */
    RP_DAG_DISTRUSTED = 8, /**< its time was mended: delays are not learned from it */
    RP_DAG_COMMON = 16,    /**< the end of a collective on all ranks */
    RP_DAG_CAPTURED = 32,  /**< start of a call that one graph launch could replace: limits.c */
    RP_DAG_POLLED = 64,    /**< with BLOCKED: the host asked again and again, it was not woken up */
    RP_DAG_ON_PATH = 128,  /**< start of what is on the critical path: result.c */
};

/** Packets of a queue follow each other within some microseconds: a longer gap is no delay of the
 *  device. */
enum { RP_DAG_LONGEST_GAP_NS = 10000 };

/** Shortest delays that agree with every time in the trace; 0 when it shows none. */
struct rp_dag_delays {
    int64_t launch_ns;   /**< start of a call to start of its operation */
    int64_t dispatch_ns; /**< end of a packet to start of the next one */
    int64_t event_ns;    /**< recorded marker to waiting marker */
    int64_t wake_ns;     /**< end of what a call waits for to the end of the call */
    /** Blocking calls that always waited: how long they take otherwise is not known. */
    uint32_t unknown_costs;
};

/** A duration that the trace does not show: anything from 0 to this. */
struct rp_dag_unsure {
    uint32_t edge;
    int64_t most_ns;
};

struct rp_dag {
    struct rp_dag_graph graph;
    uint8_t *flags;  /**< per point */
    uint32_t *owner; /**< per point: the call or operation that starts or ends there, or NONE */
    size_t op_count; /**< of all processes */
    struct rp_dag_delays delays;
    struct rp_dag_unsure *unsure; /**< few, if any: ends.h */
    size_t unsure_count;
    int64_t start_ns, end_ns;   /**< of the whole */
    uint32_t end_point;         /**< the first point with the last time */
    struct rp_dag_slots slots;  /**< for sweeps */
    const struct rp_work *work; /**< told how far it is, or NULL */
};

/**
 * Does a call or operation end at the point? Then the first of its edges is the duration, and comes
 * from the start. A collective of several ranks ends at a point that is nobody's own, COMMON.
 */
static inline bool rp_dag_is_end(const struct rp_dag *dag, uint32_t point)
{
    return dag->owner[point] != RP_DAG_NONE &&
           rp_dag_class_of(&dag->graph, rp_dag_first(&dag->graph, point)) == RP_DAG_DURATION;
}

/** When the operation that starts at a point ends in the graph: there, none that its successor
 * waited for ends after that one's start. */
static inline int64_t rp_dag_end_ns(const struct rp_dag *dag, uint32_t start,
                                    const struct rp_dag_op *op)
{
    return start + 1 < dag->graph.point_count && dag->owner[start + 1] == dag->owner[start]
               ? dag->graph.time_ns[start + 1]
               : op->end_ns;
}

int rp_dag_build(struct rp_dag_trace *trace, struct rp_dag *ret, struct rp_err *err);
void rp_dag_free(struct rp_dag *dag);

/** Is a kernel of this name one that waits for those of other ranks? */
bool rp_dag_is_collective(const char *symbol);

#endif

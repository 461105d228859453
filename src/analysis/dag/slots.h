/**
 * @file slots.h
 * @brief Places for the times of points that later points still need.
 *
 * A sweep over a graph needs the time of a point only until the last of its successors. Few points
 * wait so long: with a place for each of those, a sweep stays in the cache however long the trace
 * is, and takes no memory to speak of.
 */
#ifndef RP_ANALYSIS_DAG_SLOTS_H
#define RP_ANALYSIS_DAG_SLOTS_H

#include "graph.h"

struct rp_err;

/** Zero-initialise; release with rp_dag_slots_free. */
struct rp_dag_slots {
    uint16_t *of;   /**< per point; never that of a predecessor */
    uint32_t *wide; /**< instead, where there are too many */
    size_t count;
};

static inline uint32_t rp_dag_slot(const struct rp_dag_slots *slots, uint32_t point)
{
    return slots->of ? slots->of[point] : slots->wide[point];
}

/** Edges may be taken away afterwards, and others added that come from the first point. */
int rp_dag_slots_find(const struct rp_dag_graph *g, struct rp_dag_slots *ret, struct rp_err *err);
void rp_dag_slots_free(struct rp_dag_slots *slots);

#endif

/**
 * @file recorded.h
 * @brief Which operations each operation waited for on the device, where the trace says so:
 * packets' barrier bits, barrier packets and signals, as the built-in collector records them.
 */
#ifndef RP_ANALYSIS_DAG_RECORDED_H
#define RP_ANALYSIS_DAG_RECORDED_H

#include "build.h"
#include "load.h"

/** Reads the table, if there is one; the operations have been joined and sorted. */
int rp_dag_load_recorded(struct rp_dag_loader *l, struct rp_err *err);

/** Operations that an operation waited for. */
const uint32_t *rp_dag_recorded_waits(const struct rp_dag_process *p, uint32_t op,
                                      uint32_t *ret_count);

/** What is needed to compare the edges into an operation with the record. */
struct rp_dag_recorded_op {
    struct rp_dag *dag;
    const struct rp_dag_process *process;
    const uint32_t *finish; /**< per operation: its last point, or RP_DAG_NONE */
    uint32_t op;
};

/**
 * Gives the edges that were added for the operation's start the grade "recorded" where the record
 * has the same dependency, also by way of markers, and adds those that it has besides.
 */
void rp_dag_recorded_edges(const struct rp_dag_recorded_op *r);

#endif

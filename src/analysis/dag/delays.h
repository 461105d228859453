/**
 * @file delays.h
 * @brief The weights of a built DAG: delays learned from the trace, such that the DAG reproduces
 *        every recorded time.
 */
#ifndef RP_ANALYSIS_DAG_DELAYS_H
#define RP_ANALYSIS_DAG_DELAYS_H

#include "build.h"

int rp_dag_settle(struct rp_dag *dag, struct rp_dag_trace *trace, struct rp_err *err);

/** What an edge of a class weighs by the learned delays, 0 for those without one. */
int64_t rp_dag_delay(const struct rp_dag *dag, enum rp_dag_class class, uint32_t to);

#endif

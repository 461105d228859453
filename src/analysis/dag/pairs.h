/** @file pairs.h @brief Kernels that waited for each other only because they share a queue. */
#ifndef RP_ANALYSIS_DAG_PAIRS_H
#define RP_ANALYSIS_DAG_PAIRS_H

#include "build.h"

/** Fills unshared_queues_ns, the end-to-end time without queues, and pairs. */
int rp_dag_pairs(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                 struct rp_dag_result *ret, struct rp_err *err);

#endif

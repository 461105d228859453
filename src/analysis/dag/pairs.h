/** @file pairs.h @brief Kernels that waited for each other only because they share a queue. */
#ifndef RP_ANALYSIS_DAG_PAIRS_H
#define RP_ANALYSIS_DAG_PAIRS_H

#include "build.h"

/** Fills pairs. unshared_ns: time of every point without the edges of class queue. */
int rp_dag_pairs(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                 const int64_t *unshared_ns, struct rp_dag_result *ret, struct rp_err *err);

#endif

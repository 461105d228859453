/** @file overlap.h @brief How many kernels and copies ran at the same time, and for how long. */
#ifndef RP_ANALYSIS_DAG_OVERLAP_H
#define RP_ANALYSIS_DAG_OVERLAP_H

#include "build.h"

/** Fills concurrency_ns and exposed_copy_ns. @param starts  from rp_dag_starts_find */
int rp_dag_overlap(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                   const uint32_t *starts, struct rp_dag_result *ret, struct rp_err *err);

#endif

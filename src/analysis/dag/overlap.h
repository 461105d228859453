/** @file overlap.h @brief How many kernels and copies ran at the same time, and for how long. */
#ifndef RP_ANALYSIS_DAG_OVERLAP_H
#define RP_ANALYSIS_DAG_OVERLAP_H

#include "trace.h"

#include "rocm-perf/dag.h"

/** Fills concurrency_ns and exposed_copy_ns for the time from start_ns to end_ns. */
int rp_dag_overlap(const struct rp_dag_trace *trace, int64_t start_ns, int64_t end_ns,
                   struct rp_dag_result *ret, struct rp_err *err);

#endif

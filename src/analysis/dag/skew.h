/** @file skew.h @brief Operations that begin before the calls that started them. */
#ifndef RP_ANALYSIS_DAG_SKEW_H
#define RP_ANALYSIS_DAG_SKEW_H

#include "trace.h"

#include "rocm-perf/dag.h"

/** Moves the operations of a GPU whose clock is a little behind; notes a process whose GPUs' clocks
 *  are further apart. Sets moved_ns and clocks_apart of the result's processes. */
int rp_dag_mend_skew(struct rp_dag_trace *trace, struct rp_dag_result *ret, struct rp_err *err);

#endif

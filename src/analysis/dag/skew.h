/** @file skew.h @brief GPUs whose clock is not the host's. */
#ifndef RP_ANALYSIS_DAG_SKEW_H
#define RP_ANALYSIS_DAG_SKEW_H

#include "trace.h"

#include "rocm-perf/dag.h"

/** Moves the operations of a GPU that begin before their calls, or end after calls that waited for
 *  them returned. Sets moved_ns, clocks and clocks_apart of the result's processes. */
int rp_dag_mend_skew(struct rp_dag_trace *trace, struct rp_dag_result *ret, struct rp_err *err);

#endif

/** @file machines.h @brief Where and how each process of a run was recorded. */
#ifndef RP_ANALYSIS_DAG_MACHINES_H
#define RP_ANALYSIS_DAG_MACHINES_H

#include "trace.h"

#include "rocm-perf/dag.h"

/** Fills machines, processes and disturbed of the result, and the machine of each process. */
int rp_dag_machines(struct rp_dag_trace *trace, struct rp_dag_result *ret, struct rp_err *err);

#endif

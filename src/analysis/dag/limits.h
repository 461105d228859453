/** @file limits.h @brief How long the program would take without the host, the copies, a delay. */
#ifndef RP_ANALYSIS_DAG_LIMITS_H
#define RP_ANALYSIS_DAG_LIMITS_H

#include "build.h"

/** Fills limit_ns and true_span_ns. Marks what a graph would capture: RP_DAG_CAPTURED. */
int rp_dag_limits(struct rp_dag *dag, const struct rp_dag_trace *trace, struct rp_dag_result *ret,
                  struct rp_err *err);

#endif

/** @file collectives.h @brief How much of the time of collectives is waiting for other ranks. */
#ifndef RP_ANALYSIS_DAG_COLLECTIVES_H
#define RP_ANALYSIS_DAG_COLLECTIVES_H

#include "build.h"

/** Fills collectives and the processes' collective_wait_ns. */
int rp_dag_collectives(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                       struct rp_dag_result *ret, struct rp_err *err);

#endif

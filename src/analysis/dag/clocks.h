/** @file clocks.h @brief The clocks of several machines put together by the collectives of a run.
 */
#ifndef RP_ANALYSIS_DAG_CLOCKS_H
#define RP_ANALYSIS_DAG_CLOCKS_H

#include "trace.h"

#include "rocm-perf/dag.h"

/**
 * Moves the times of every machine but the first to the first one's clock, and fills offset, drift
 * and uncertainty of the machines.
 * @return RP_BAD_INPUT when no collective relates a machine to the first, or no offset fits all
 */
int rp_dag_clocks(struct rp_dag_trace *trace, struct rp_dag_result *ret, struct rp_err *err);

#endif

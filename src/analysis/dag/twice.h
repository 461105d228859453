/** @file twice.h
 *  @brief The same process given twice would count twice. */
#ifndef RP_ANALYSIS_DAG_TWICE_H
#define RP_ANALYSIS_DAG_TWICE_H

#include "trace.h"

#include "rocm-perf/dag.h"

/** @param facts  of the processes of the trace, with their pids  @return 0; RP_BAD_INPUT */
int rp_dag_refuse_twice(const struct rp_dag_trace *trace, const struct rp_dag_process_fact *facts,
                        struct rp_err *err);

#endif

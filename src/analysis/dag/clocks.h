/** @file clocks.h @brief The clocks of several machines put together by the collectives of a run.
 */
#ifndef RP_ANALYSIS_DAG_CLOCKS_H
#define RP_ANALYSIS_DAG_CLOCKS_H

#include <stdint.h>

#include "trace.h"

#include "rocm-perf/dag.h"

/**
 * No clock shows this or a later time: with two times that are none, or one that is moved by
 * another, arithmetic does not overflow. Of clocks that count from 1970 that is the year 2043.
 */
#define RP_DAG_LATEST_NS (INT64_MAX / 4)

/**
 * Of a trace that was just read, whose times are all positive: brings those that are later down to
 * RP_DAG_LATEST_NS; those of operations are kept as recorded. What is wrong may be clipped
 * (late.c); what is not, build.c refuses.
 */
int rp_dag_limit_times(struct rp_dag_trace *trace, struct rp_err *err);

/**
 * Moves the times of every machine but the first to the first one's clock, and fills offset, drift
 * and uncertainty of the machines.
 * @return RP_BAD_INPUT when no collective relates a machine to the first, or no offset fits all
 */
int rp_dag_clocks(struct rp_dag_trace *trace, struct rp_dag_result *ret, struct rp_err *err);

#endif

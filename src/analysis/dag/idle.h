/** @file idle.h @brief When each GPU was busy, and what it waited for when it was not. */
#ifndef RP_ANALYSIS_DAG_IDLE_H
#define RP_ANALYSIS_DAG_IDLE_H

#include "build.h"

struct rp_dag_ranges;

/** Fills agents, idle_shares and idle_ranges. @param starts  from rp_dag_starts_find */
int rp_dag_idle(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                const struct rp_dag_ranges *ranges, const uint32_t *starts,
                struct rp_dag_result *ret, struct rp_err *err);

#endif

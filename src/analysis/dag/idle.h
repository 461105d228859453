/** @file idle.h @brief When each GPU was busy, and what it waited for when it was not. */
#ifndef RP_ANALYSIS_DAG_IDLE_H
#define RP_ANALYSIS_DAG_IDLE_H

#include "build.h"

/** Fills agents and idle_shares. */
int rp_dag_idle(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                struct rp_dag_result *ret, struct rp_err *err);

#endif

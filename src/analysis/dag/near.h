/** @file derived_tolerance.h @brief What would limit the end-to-end time next: little slack, and
 * chains of it.
 */
#ifndef RP_ANALYSIS_DAG_NEAR_H
#define RP_ANALYSIS_DAG_NEAR_H

#include "build.h"

/**
 * Fills slack_bins, epsilon_ns, critical and near_paths.
 * @param slack_ns  from rp_dag_slack_find; RP_DAG_ON_PATH must be set
 */
int rp_dag_near(const struct rp_dag *dag, const struct rp_dag_trace *trace, const int64_t *slack_ns,
                struct rp_dag_result *ret, struct rp_err *err);

#endif

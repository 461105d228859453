/** @file near.h @brief What would limit the end-to-end time next: little slack, and chains of it.
 */
#ifndef RP_ANALYSIS_DAG_NEAR_H
#define RP_ANALYSIS_DAG_NEAR_H

#include "build.h"

/** How much longer an operation could take with the same end-to-end time. */
int64_t rp_dag_slack(const struct rp_dag *dag, const struct rp_dag_activity *a,
                     const int64_t *latest_ns);

/**
 * Fills slack_bins, epsilon_ns, critical and near_paths.
 * @param latest_ns  per point, from rp_dag_backward. on_path of the activities must be set.
 */
int rp_dag_near(struct rp_dag *dag, const struct rp_dag_trace *trace, const int64_t *latest_ns,
                struct rp_dag_result *ret, struct rp_err *err);

#endif

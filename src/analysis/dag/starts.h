/** @file starts.h @brief The operations of all processes in the order of their starts. */
#ifndef RP_ANALYSIS_DAG_STARTS_H
#define RP_ANALYSIS_DAG_STARTS_H

#include "build.h"

/** @param ret  points where operations start, by time, then number; dag->op_count; to be freed */
int rp_dag_starts_find(const struct rp_dag *dag, uint32_t **ret, struct rp_err *err);

#endif

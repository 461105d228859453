/** @file slack.h @brief How much longer each operation could take with the same end-to-end time. */
#ifndef RP_ANALYSIS_DAG_SLACK_H
#define RP_ANALYSIS_DAG_SLACK_H

#include "build.h"

/** @param ret  per operation of all processes; to be freed */
int rp_dag_slack_find(const struct rp_dag *dag, int64_t **ret, struct rp_err *err);

/** Of the operation with that number. */
static inline int64_t rp_dag_slack_of(const int64_t *slack_ns, uint32_t op)
{
    return slack_ns[op & ~(uint32_t)RP_DAG_OP_BIT];
}

#endif

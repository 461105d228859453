/** @file causes.h @brief Which operation each one waited for: what a timeline draws as an edge. */
#ifndef RP_ANALYSIS_DAG_CAUSES_H
#define RP_ANALYSIS_DAG_CAUSES_H

#include "build.h"

struct rp_dag_cause {
    uint32_t op;             /**< number without RP_DAG_OP_BIT; RP_DAG_NONE: none before it */
    enum rp_dag_class class; /**< of the edge that bound the start; UNKNOWN without one */
};

/** Per operation, by number; the caller frees it. */
int rp_dag_causes_find(const struct rp_dag *dag, struct rp_dag_cause **ret, struct rp_err *err);

#endif

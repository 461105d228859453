/** @file replay.h @brief Which GPU an operation ran on, across the processes of a run. */
#ifndef RP_ANALYSIS_DAG_PLACES_H
#define RP_ANALYSIS_DAG_PLACES_H

#include "trace.h"

#include "rocm-perf/dag.h"

/** A GPU as a process knows it. */
struct rp_dag_place {
    int32_t agent;  /**< id in the process's trace, -1: operations that name none */
    uint32_t index; /**< into the agents of the result */
};

struct rp_dag_places {
    struct rp_dag_place *list; /**< by process, then agent id */
    size_t *first;             /**< per process and one more */
};

/** Finds the agents that operations ran on; two processes on one GPU share one. */
int rp_dag_places_find(const struct rp_dag_trace *trace, struct rp_dag_places *ret,
                       struct rp_dag_agent **ret_agents, size_t *ret_count, struct rp_err *err);
void rp_dag_places_free(struct rp_dag_places *places);

/** Index of the agent of an operation. */
uint32_t rp_dag_place_of(const struct rp_dag_places *places, uint32_t process, int32_t agent);

#endif

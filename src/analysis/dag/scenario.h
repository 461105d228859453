/**
 * @file scenario.h
 * @brief End-to-end time of changed DAGs, several at a time.
 */
#ifndef RP_ANALYSIS_DAG_SCENARIO_H
#define RP_ANALYSIS_DAG_SCENARIO_H

#include "build.h"

/** All operations of a symbol take den/num of their time, rounded to the nearest nanosecond. */
struct rp_dag_scenario {
    uint32_t symbol;
    uint32_t num, den; /**< num 0: no time */
    int64_t end_ns;    /**< result */
};

enum { RP_DAG_SCENARIOS_PER_SYMBOL = 8 };

/** Scenarios of one symbol follow each other, at most that many. */
int rp_dag_scenarios(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                     struct rp_dag_scenario *scenarios, size_t count, const struct rp_work *work,
                     struct rp_err *err);

#endif

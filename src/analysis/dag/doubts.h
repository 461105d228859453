/**
 * @file doubts.h
 * @brief How far off what-ifs may be where the trace does not show all that they rest on.
 */
#ifndef RP_ANALYSIS_DAG_DOUBTS_H
#define RP_ANALYSIS_DAG_DOUBTS_H

#include "build.h"

/**
 * Fills least_ns and most_ns of the result's what-ifs. Where dependencies are guessed, nothing is
 * certain to get faster, and at best only the certain dependencies hold, with the shortest delays.
 * Where durations are not known, they may be anything that what follows allows.
 * Changes the weights of the graph: nothing else can be computed from it afterwards.
 */
int rp_dag_doubts(struct rp_dag *dag, const struct rp_dag_trace *trace, struct rp_dag_result *ret,
                  struct rp_err *err);

#endif

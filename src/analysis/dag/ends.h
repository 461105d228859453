/**
 * @file ends.h
 * @brief Kernels and copies whose end is not in the trace, or is wrong there: when they ended.
 *
 * What certainly waited for such an operation bounds its end from above. When that begins later
 * than all else explains, the operation ended right before it, if it is the only lost one that can
 * have kept it; otherwise it is taken to have lasted as long as others of its name usually do, if
 * the bound allows that.
 */
#ifndef RP_ANALYSIS_DAG_ENDS_H
#define RP_ANALYSIS_DAG_ENDS_H

#include "build.h"

/** Takes all such operations to last no time; what is learned from the trace is not to rest on
 *  their ends. @return how many edges lead to these, one each but for collectives */
size_t rp_dag_forget_ends(struct rp_dag *dag, const struct rp_dag_trace *trace);

/** Finds these ends, once the graph has weights, and markers are as early as they can be; fills
 *  dag->unsure. Markers must be placed again. */
int rp_dag_find_ends(struct rp_dag *dag, const struct rp_dag_trace *trace, size_t count,
                     struct rp_err *err);

#endif

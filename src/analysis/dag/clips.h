/** @file clips.h @brief Tells stores which dispatches have an end that cannot be. */
#ifndef RP_ANALYSIS_DAG_CLIPS_H
#define RP_ANALYSIS_DAG_CLIPS_H

#include "trace.h"

struct rp_err;

/** When clips are counted (late.h): from then on all that sums up dispatches of the stores has what
 *  they took instead of what is recorded. */
int rp_dag_tell_clips(const struct rp_dag_trace *trace, struct rp_store *const *stores,
                      size_t count, struct rp_err *err);

#endif

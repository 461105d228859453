/** @file ranges.h @brief In which of the program's own ranges (ROCTx) a stretch of host time lies.
 */
#ifndef RP_ANALYSIS_DAG_RANGES_H
#define RP_ANALYSIS_DAG_RANGES_H

#include "build.h"

struct rp_dag_ranges {
    struct rp_dag_stretch *list; /**< by process, thread and start: the innermost range of each */
    size_t count;
};

int rp_dag_ranges_find(const struct rp_dag_trace *trace, struct rp_dag_ranges *ret,
                       struct rp_err *err);
void rp_dag_ranges_free(struct rp_dag_ranges *ranges);

/**
 * The innermost range around the middle of a stretch of an edge's time, that of the thread before
 * those of the whole process; NULL: none, or the edge is no time of the host.
 * @param to  the point that the edge goes to
 */
const char *rp_dag_range_of(const struct rp_dag_ranges *ranges, const struct rp_dag *dag,
                            const struct rp_dag_trace *trace, uint32_t e, uint32_t to,
                            int64_t start_ns, int64_t end_ns);

#endif

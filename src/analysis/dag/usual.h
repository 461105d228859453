/**
 * @file usual.h
 * @brief The delays that operations show by themselves, before there is a graph: what begins later
 *        than they explain has waited for something that the trace does not name.
 */
#ifndef RP_ANALYSIS_DAG_USUAL_H
#define RP_ANALYSIS_DAG_USUAL_H

#include "streams.h"
#include "trace.h"

struct rp_dag_usual {
    int64_t launch_ns; /**< shortest from a call to its operation */
    int64_t gap_ns;    /**< shortest between two operations of a stream */
    int64_t
        wake_ns; /**< shortest from the end of a copy to the end of the call that waits for it */
    int64_t jitter_ns; /**< so much later than the shortest needs no reason: the median gap */
    int64_t reach_ns;  /**< what ended so long before is not the reason */
};

int rp_dag_usual_find(const struct rp_dag_process *p, const struct rp_dag_streams *streams,
                      struct rp_dag_usual *ret, struct rp_err *err);

#endif

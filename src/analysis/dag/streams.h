/**
 * @file streams.h
 * @brief Which stream a handle meant at a call, which queue a stream's markers go to, and whether
 *        it takes part in the legacy default stream's ordering.
 */
#ifndef RP_ANALYSIS_DAG_STREAMS_H
#define RP_ANALYSIS_DAG_STREAMS_H

#include "trace.h"

/** A handle stands for a stream from a call on: handles are used again for other streams. */
struct rp_dag_handle {
    uint64_t handle;
    uint32_t from_call;
    int32_t stream;
};

struct rp_dag_streams {
    struct rp_dag_handle *handles; /**< sorted by handle, then call */
    size_t handle_count;
    int32_t
        *queue; /**< per stream: of its first kernel, else by the pattern of the others, or -1 */
    bool *blocking;       /**< per stream: waits for the default stream and it for this one */
    int32_t stream_count; /**< streams 0 to this */
    int32_t queue_count;  /**< queue ids are below this */
};

int rp_dag_streams_find(const struct rp_dag_process *p, struct rp_dag_streams *ret,
                        struct rp_err *err);
void rp_dag_streams_free(struct rp_dag_streams *streams);

/** The stream that a handle means at a call, -1 when it is not known. */
int32_t rp_dag_stream_at(const struct rp_dag_streams *streams, uint64_t handle, uint32_t call);

#endif

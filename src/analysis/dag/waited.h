/** @file waited.h @brief Which operations a call is certain to have waited for. */
#ifndef RP_ANALYSIS_DAG_WAITED_H
#define RP_ANALYSIS_DAG_WAITED_H

#include "trace.h"

struct rp_err;

/** Told of an operation and of a call that returned after its end, whatever their clocks say. */
typedef void rp_dag_waited_fn(void *ctx, uint32_t op, uint32_t call);

/** Only what holds without looking at times of the GPU: a synchronisation of a stream that is
 * known, of an event with its record, of the only GPU, and copies to the host that block. Of what
 * was put on a stream, the last operation is told. */
int rp_dag_each_waited(const struct rp_dag_trace *trace, const struct rp_dag_process *p,
                       rp_dag_waited_fn *told, void *ctx, struct rp_err *err);

#endif

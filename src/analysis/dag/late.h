/**
 * @file late.h
 * @brief Ends that the order of a hardware queue, or a call that waited, says to be too late.
 *
 * Firmware stamps ends up to some hundred nanoseconds late, so that consecutive kernels of a queue
 * overlap: their durations are as good as any. An end that is later by more cannot be right, as
 * packets of a queue run in order; the graph has it where the next one starts, unless so many
 * kernels overlap by so much that they must have run at the same time (packets without the barrier
 * bit). Durations are as recorded even so, but for those of which most cannot be.
 */
#ifndef RP_ANALYSIS_DAG_LATE_H
#define RP_ANALYSIS_DAG_LATE_H

#include "trace.h"

struct rp_err;

/** An operation that ends this much behind the start of the next packet of its queue did not: the
 *  firmware wrote the time late. More is a wrong time or true concurrency. */
enum { RP_DAG_LATE_END_NS = 2000 };

/** Counts an end that is a little late: what waited for it began at the given time. */
static inline void rp_dag_note_late(struct rp_dag_repairs *repairs, struct rp_dag_op *op,
                                    int64_t began_ns)
{
    int64_t by_ns = op->end_ns - began_ns;

    repairs->overlaps += !op->end_late;
    repairs->late_by_ns = by_ns > repairs->late_by_ns ? by_ns : repairs->late_by_ns;
    op->end_late = true;
}

/** Clips ends by the order of queues, and of streams where copies are concerned. Before clocks are
 *  compared: the last operation of a queue then has the last end. */
int rp_dag_clip_in_queues(struct rp_dag_trace *trace, struct rp_err *err);

/** Clips starts before their calls, and ends after the return of calls that waited for them. For
 *  the few that are left when the clocks of a process have been put right. */
int rp_dag_clip_at_calls(struct rp_dag_trace *trace, struct rp_dag_process *p, struct rp_err *err);

/** When all is clipped: what is wrong lasted as long as the median of its name, or as long as it
 * can have if that is shorter; the sums of the trace have that of it instead of what is recorded.
 */
int rp_dag_count_clips(struct rp_dag_trace *trace, struct rp_err *err);

/** When the graph is built, which has ends of its own: operations last as long as they count. */
void rp_dag_restore_ends(struct rp_dag_trace *trace);

#endif

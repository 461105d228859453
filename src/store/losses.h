/**
 * @file losses.h
 * @brief What a collector says in a trace that it could not record.
 */
#ifndef RP_STORE_LOSSES_H
#define RP_STORE_LOSSES_H

#include <stdbool.h>
#include <stdint.h>

struct rp_store;

/** Sums over traces; zeros: nothing was lost. */
struct rp_losses {
    uint64_t incomplete_traces; /**< not closed in order: what came last may be missing */
    uint64_t lost_records;      /**< that the tracer could not write */
    uint64_t lost_dispatches;   /**< whose times the tracer never got */
    uint64_t untraced_queues;   /**< processes with a queue that could not be traced */
};

void rp_losses_add(struct rp_losses *sum, const struct rp_store *store);
/** Is that all there was? The one rule of whether a result is complete. */
bool rp_losses_none(const struct rp_losses *losses);

#endif

/**
 * @file worker_pool.h
 * @brief Threads that help with large dispatches. Started when first needed, then kept.
 *
 * There is one pool in a process. A thread looks for work for some microseconds, then sleeps. A
 * forked child has no threads and starts its own.
 */
#ifndef RP_DEVICE_EXEC_POOL_H
#define RP_DEVICE_EXEC_POOL_H

#include "dispatch.h"

/** After how many instructions a dispatch is worth waking other threads for. */
uint64_t rp_pool_help_after(void);

/** Lets the pool's threads work on @p d until it is withdrawn. Called with d->lock held. */
void rp_pool_post(struct rp_dispatch *d);

/** Processor time of the calling thread. */
int64_t rp_pool_thread_ns(void);

/** Returns when no thread of the pool works on @p d any more; d->stop must be set. */
void rp_pool_withdraw(struct rp_dispatch *d);

#endif

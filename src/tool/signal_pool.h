/**
 * @file signal_pool.h
 * @brief Signals owned by the tool, kept for reuse. Grows, never shrinks.
 */
#ifndef RP_TOOL_SIGNAL_POOL_H
#define RP_TOOL_SIGNAL_POOL_H

#include <pthread.h>
#include <stddef.h>

#include "tool/hsa_abi.h"

struct rp_signal_pool {
    pthread_mutex_t lock;
    const struct rp_hsa *hsa;
    uint64_t attributes; /**< for hsa_amd_signal_create */
    rp_hsa_signal *free_signals;
    size_t free_count, capacity;
    size_t made; /**< signals that exist, free or in use */
};

void rp_signal_pool_init(struct rp_signal_pool *pool, const struct rp_hsa *hsa,
                         uint64_t attributes);
/** Makes sure that at least @p count are free; what cannot be created is left out. */
void rp_signal_pool_reserve(struct rp_signal_pool *pool, size_t count);
/** A signal with value 1 and times 0; 0 when none is free and none can be created. */
rp_hsa_signal rp_signal_pool_take(struct rp_signal_pool *pool);
/** Up to @p most of them at once. @return how many */
size_t rp_signal_pool_take_some(struct rp_signal_pool *pool, rp_hsa_signal *ret, size_t most);
/** Signals of rp_signal_pool_take_some as they were taken. */
void rp_signal_pool_give_unused(struct rp_signal_pool *pool, const rp_hsa_signal *signals,
                                size_t count);
/** The signal must not be in use by the device any more. */
void rp_signal_pool_give(struct rp_signal_pool *pool, rp_hsa_signal signal);
/** Destroys the free signals; those in use stay with the device. */
void rp_signal_pool_free(struct rp_signal_pool *pool);

#endif

/**
 * @file memory_counters.h
 * @brief Memory counters of a dispatch, from the recorded part of it.
 */
#ifndef RP_DEVICE_TIMING_MEMORY_COUNTERS_H
#define RP_DEVICE_TIMING_MEMORY_COUNTERS_H

#include "cache.h"

/**
 * Fills in the counters of kind CACHES. What was replayed is taken times what was executed: of each
 * kind of instruction that is known exactly. Where all was recorded that factor is 1.
 * @param values  indexed by enum rp_device_counter; those of instructions are there;
 *                RP_COUNTER_FETCH_SIZE and RP_COUNTER_WRITE_SIZE in bytes
 * @return 0; -ENODATA when a kind was executed of which nothing is recorded
 */
int rp_memory_counters(const struct rp_arch *arch, const struct rp_cache_result *replayed,
                       uint64_t *values);

#endif

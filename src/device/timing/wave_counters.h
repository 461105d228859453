/**
 * @file wave_counters.h
 * @brief Hardware counters of waves and of units through time, from a replay.
 */
#ifndef RP_DEVICE_TIMING_WAVE_COUNTERS_H
#define RP_DEVICE_TIMING_WAVE_COUNTERS_H

#include "wave_sums.h"

struct rp_counts;

/**
 * Sets those of kind WAVES.
 * @param shape   what a compute unit holds
 * @param counts  of the dispatch, replayed or not
 * @param values  indexed by enum rp_device_counter; those of instructions are there
 */
void rp_wave_counters(const struct rp_arch *arch, const struct rp_timing_stats *stats,
                      const struct rp_wave_sums *sums, const struct rp_rec_shape *shape,
                      const struct rp_counts *counts, uint64_t *values);

#endif

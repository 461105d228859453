/**
 * @file wave_counters.h
 * @brief Hardware counters of waves through time, from a replay.
 */
#ifndef RP_DEVICE_TIMING_WAVE_COUNTERS_H
#define RP_DEVICE_TIMING_WAVE_COUNTERS_H

#include "engine.h"

struct rp_counts;

/** What a watcher of the replay (rp_engine_watch) adds up. */
struct rp_wave_sums {
    uint64_t level_clocks[RP_REC_UNITS]; /**< from issue to result, summed over instructions */
    uint64_t last_clock;                 /**< at which a wave ends */
};

/**
 * Sets those of kind WAVES.
 * @param counts  of the dispatch, replayed or not
 * @param values  indexed by enum rp_device_counter
 */
void rp_wave_counters(const struct rp_arch *arch, const struct rp_timing_stats *stats,
                      const struct rp_wave_sums *sums, const struct rp_counts *counts,
                      uint64_t *values);

#endif

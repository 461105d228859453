/**
 * @file surrogate.h
 * @brief How long a dispatch takes on the modelled GPU.
 */
#ifndef RP_DEVICE_TIMING_MODEL_H
#define RP_DEVICE_TIMING_MODEL_H

#include <stdint.h>

struct rp_arch;
struct rp_counts;
struct rp_timing_stats;

/**
 * Modelled duration of a finished dispatch, from its counts alone: the same counts give the same
 * time on any host. The longest of
 *   - the issue cycles of its longest wave,
 *   - all issue cycles spread over the SIMDs that so many waves can use,
 *   - its global memory traffic at the sustained bandwidth of the memory,
 *   - its traffic to other GPUs' and the host's memory at the rate of the link,
 *   - its LDS traffic at the LDS bandwidth of the compute units in use,
 * plus the latency of one memory access, which no kernel avoids.
 * @return ticks of the device clock (arch->timestamp_mhz), at least 1
 */
uint64_t rp_timing_dispatch_ticks(const struct rp_arch *arch, const struct rp_counts *c);

/**
 * The same from a replay: its clocks, but no less than the traffic over links takes and, unless all
 * waves were replayed as a whole, the issue cycles of the longest; and what it takes to launch
 * anything at all.
 */
uint64_t rp_timing_replay_ticks(const struct rp_arch *arch, const struct rp_counts *c,
                                const struct rp_timing_stats *stats);

#endif

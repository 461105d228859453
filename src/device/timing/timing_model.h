/**
 * @file timing_model.h
 * @brief This header says how much the software device does to tell how long a kernel takes.
 */
#ifndef RP_DEVICE_TIMING_TIMING_MODEL_H
#define RP_DEVICE_TIMING_TIMING_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "device/isa/wave_state.h"
#include "trace/records.h"

struct rp_arch;
struct rp_counts;
struct rp_timing_stats;

enum rp_timing_mode {
    RP_TIMING_COUNTS = 0, /**< from counts alone (timing_model.c) */
    RP_TIMING_DETAILED,   /**< a replay of sampled workgroups (timing_engine.h) */
    RP_TIMING_OFF,        /**< not at all: each kernel and copy takes a tick */
};

/** Returns what ROCM_PERF_DEVICE_TIMING says, or detailed if it says nothing or has another value.
 */
enum rp_timing_mode rp_timing_mode(void);

/** Tests whether it says warm: detailed, and what launches of a queue leave in caches is there when
 * its next one begins. */
bool rp_timing_keeps_caches(void);

/** Returns the mode for a GPU, which is counts if the machine to simulate is not known. */
enum rp_timing_mode rp_timing_mode_for(const struct rp_arch *arch);

/** Returns what a value of that variable says, or -1. */
int rp_timing_mode_of(const char *text);

/** Changes it, between dispatches. */
void rp_timing_set_mode(enum rp_timing_mode mode);

/** Sets the mode off, or back to what the environment says, between dispatches. */
void rp_timing_set_timed(bool timed);

/* This models how long a DMA engine's copy takes on the GPU. */

/**
 * Modelled duration of one copy or fill command: its bytes over the slowest link they cross, or
 * read and written at the sustained bandwidth of the local memory when they cross none.
 * @param source RP_PLACE_LOCAL for a fill, which reads nothing (@p reads false)
 * @param follows the engine was already copying: the first access's latency is hidden
 * @return ticks of the device clock, at least 1
 */
uint64_t rp_timing_copy_ticks(const struct rp_arch *arch, uint64_t bytes,
                              enum rp_memory_location source, enum rp_memory_location destination,
                              bool reads, bool follows);

/* This models how long a dispatch takes on the GPU. */

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
 * Between which times a finished dispatch takes what detailed timing would say, from its counts
 * alone. The lower end is what it surely needs of ports, LDS, L1s, links and its longest wave, all
 * at once, and every line from a cache. At the upper end nothing overlaps: every access is one of
 * the memory, lanes share no lines, each LDS bank conflict that is possible happens, all atomics
 * mean one dword, and as many waves follow one another as there are for a SIMD.
 *
 * Counts do not tell how long a wave sleeps or waits for another workgroup, nor that accesses
 * meet in few channels of the memory: the upper end takes them to be spread.
 * @param counters  executions as rp_dispatch_count() has them, which bring the ends closer
 *                  together, or NULL
 * @param groups    workgroups of the dispatch
 * @param ret_low, ret_high  ticks of the device clock, at least 1
 */
void rp_timing_bounds(const struct rp_arch *arch, const struct rp_counts *c,
                      const uint64_t *counters, uint64_t groups, uint64_t *ret_low,
                      uint64_t *ret_high);

/**
 * No dispatch with detailed timing takes less than any of these needs, however its waves were
 * sampled, cut and extrapolated.
 */
enum rp_timing_floor {
    RP_FLOOR_HBM,  /**< lines that come from memory, and what is written there, at HBM's rates */
    RP_FLOOR_MALL, /**< what the Infinity Cache is asked for, at its rate */
    RP_FLOOR_L2,   /**< what the L2 is asked for, at the rates of its channels */
    RP_FLOOR_L1,   /**< look-ups and bytes of the vector L1s */
    RP_FLOOR_L1_BYTES, /**< bytes of all lanes: exact, and of every dispatch by itself */
    RP_FLOOR_SCALAR,   /**< look-ups of the scalar L1s */
    RP_FLOOR_LDS,      /**< clocks of the LDS, bank conflicts included */
    RP_FLOOR_VALU,     /**< vector instructions: FLOPs over their peak */
    RP_FLOOR_MATRIX,   /**< passes of matrix instructions, likewise */
    RP_FLOOR_ATOMICS,  /**< of the line that has most of them: one after another */
    RP_FLOOR_WAVE,     /**< the longest wave's issue cycles, unless all were simulated as a whole */
    RP_FLOOR_PEER_LINK, /**< bytes over the link to other GPUs */
    RP_FLOOR_HOST_LINK, /**< and to the host */
    RP_FLOORS,
};

/** Returns the clocks that a dispatch needs of a resource. */
double rp_timing_floor_clocks(const struct rp_arch *arch, const struct rp_counts *c,
                              const struct rp_timing_stats *stats, enum rp_timing_floor resource);

/**
 * Computes how long a dispatch needs what the whole device has of each resource.
 * @param waves_per_cu  that there is room for
 */
void rp_timing_needs(const struct rp_arch *arch, const struct rp_counts *c,
                     const struct rp_timing_stats *stats, uint32_t waves_per_cu,
                     double ret_ns[RP_SHARED_RESOURCES]);

/** Returns the clocks of a simulation, but at least all of the floor. */
double rp_timing_simulated_clocks(const struct rp_arch *arch, const struct rp_counts *c,
                                  const struct rp_timing_stats *stats);

/** Computes the time from these clocks, and what it takes to launch anything at all. */
uint64_t rp_timing_simulated_ticks(const struct rp_arch *arch, const struct rp_counts *c,
                                   const struct rp_timing_stats *stats);

#endif

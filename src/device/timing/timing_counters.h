/**
 * @file timing_counters.h
 * @brief This header says what caches and LDS make of recorded accesses: the input of memory
 * counters.
 *
 * Accesses come in the order of a replay (timing_engine.h), which knows when; or, without one, of
 * turns: recorded workgroups are put on compute units as the dispatcher would, round robin over
 * dies and then over the CUs of a die; as many as fit are resident. Resident waves take turns, a
 * memory instruction each. That order is not the one that latencies would give, but it is the same
 * on any host, and neighbours share what they would share. All caches are cold at the start and the
 * L2 is written back at the end, as real counters of a copy that was launched three times show.
 */
#ifndef RP_DEVICE_TIMING_TIMING_COUNTERS_H
#define RP_DEVICE_TIMING_TIMING_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "device/timing/timing_engine.h"
#include "device/timing/wave_record.h"

struct rp_arch;
struct rp_count_watch;
struct rp_counts;

/** All executions are only known by how many accesses there were of each kind. */
enum rp_cache_kind {
    RP_CACHE_LOAD,
    RP_CACHE_STORE,
    RP_CACHE_ATOMIC, /**< without result */
    RP_CACHE_FETCH,  /**< atomics with result */
    RP_CACHE_SCALAR,
    RP_CACHE_LDS,
    RP_CACHE_KINDS,
};

/** This is what accesses of one kind did. */
struct rp_cache_sums {
    uint64_t insts;        /**< wave instructions */
    uint64_t lanes;        /**< active */
    uint64_t lookups;      /**< of the vector L1 */
    uint64_t requests;     /**< from an L1 to the L2: reads, or halves of lines written */
    uint64_t hits, misses; /**< of these in the L2 */
    uint64_t reads_128, reads_64, reads_32; /**< from the L2 to memory */
    uint64_t scalar_misses;                 /**< of the scalar L1 */
    uint64_t lds_clocks, lds_conflict_clocks;
    uint64_t lds_return_clocks; /**< of lds_clocks, of atomics with result */
    uint64_t streaming;         /**< of requests, those of nt accesses */
};

struct rp_cache_result {
    struct rp_cache_sums of[RP_CACHE_KINDS];
    /** These go to memory, and belong to stores and atomics. */
    uint64_t writes_64, writes_32;
    uint64_t evicted_lines, flushed_lines; /**< written back before and at the end */
    uint64_t replaced_lines;               /**< that gave way to others, dirty or not */
};

/* A watcher of the simulation (rp_engine_watch) adds these up for counters of waves and units. */

struct rp_wave_sums {
    uint64_t level_clocks[RP_REC_UNITS]; /**< from issue to result, summed over instructions */
    uint64_t last_clock;                 /**< at which a wave ends */
    uint64_t vmem_clocks;    /**< summed over CUs: a vector memory instruction is under way */
    uint64_t pending_clocks; /**< of these: one that waits for what the L1 did not have */
    uint64_t fetches;        /**< of RP_FETCH_BYTES of code, summed over waves */
    bool code_fits;          /**< the program into an instruction cache */
};

/**
 * Counts what a simulation does, which must be reported to @p ret_watch. NULL: no memory for that.
 * @param arch  the GPU, or what a queue's CU mask leaves of it
 */
struct rp_count_watch *rp_count_watch_begin(const struct rp_arch *arch,
                                            const struct rp_wave_record *record,
                                            struct rp_engine_watch *ret_watch);

/**
 * Ends the count and frees it; NULL is accepted.
 * @param replayed  to the end
 * @return whether it is known what it did
 */
bool rp_count_watch_end(struct rp_count_watch *c, const struct rp_arch *arch, bool replayed,
                        struct rp_cache_result *ret_caches, struct rp_wave_sums *ret_waves);

/**
 * Sets those of kind WAVES.
 * @param shape   what a compute unit holds
 * @param counts  of the dispatch, replayed or not
 * @param values  indexed by enum rp_device_counter; those of instructions are there
 */
void rp_wave_counters(const struct rp_arch *arch, const struct rp_timing_stats *stats,
                      const struct rp_wave_sums *sums, const struct rp_rec_shape *shape,
                      const struct rp_counts *counts, uint64_t *values);

/**
 * Fills in the counters of kind CACHES. What was replayed is taken times what was executed: of each
 * kind of instruction that is known exactly. Where all was recorded that factor is 1.
 * @param values  indexed by enum rp_device_counter; those of instructions are there;
 *                RP_COUNTER_FETCH_SIZE and RP_COUNTER_WRITE_SIZE in bytes
 * @return 0; -ENODATA when a kind was executed of which nothing is recorded
 */
int rp_memory_counters(const struct rp_arch *arch, const struct rp_cache_result *replayed,
                       uint64_t *values);

/**
 * Does the same for the main workgroups of a record, in the order of turns.
 * @return 0 or -ENOMEM
 */
int rp_memory_counters_by_turns(const struct rp_arch *arch, const struct rp_wave_record *record,
                                uint64_t *values);

#endif

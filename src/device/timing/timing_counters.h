/**
 * @file timing_counters.h
 * @brief What caches and LDS make of recorded accesses: the input of memory counters.
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
struct rp_caches;
struct rp_counts;

/** Sizes of the caches of one architecture. */
struct rp_cache_shape {
    uint32_t dies, cus_per_die, scalar_caches_per_die;
    uint32_t l1_lines, l1_ways, scalar_lines, scalar_ways, l2_lines, l2_ways;
    uint32_t read_bytes; /**< of a vector L1's read request: 128, gfx90a 64 */
};

/** Kinds of accesses: what is known of all executions is how many there were of each. */
enum rp_cache_kind {
    RP_CACHE_LOAD,
    RP_CACHE_STORE,
    RP_CACHE_ATOMIC, /**< without result */
    RP_CACHE_FETCH,  /**< atomics with result */
    RP_CACHE_SCALAR,
    RP_CACHE_LDS,
    RP_CACHE_KINDS,
};

/** What accesses of one kind did. */
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
    /** To memory: they belong to stores and atomics. */
    uint64_t writes_64, writes_32;
    uint64_t evicted_lines, flushed_lines; /**< written back before and at the end */
    uint64_t replaced_lines;               /**< that gave way to others, dirty or not */
};

/**
 * Of a GPU, or what a CU mask leaves of it; CUs are numbered as by the replay (timing_engine.h). An
 * MI300X has 20 scalar caches a die (rocprof-compute's sysinfo).
 */
struct rp_cache_shape rp_cache_shape_of(const struct rp_arch *arch);

/** NULL when the host is out of memory. */
struct rp_caches *rp_caches_new(const struct rp_cache_shape *shape);
/** Accepts NULL. */
void rp_caches_free(struct rp_caches *c);

/**
 * A wave on compute unit @p cu, numbered over all dies, accesses memory.
 * @return 0; 1 when a vector access waits for the L2; or -ENOMEM: nothing was counted
 */
int rp_caches_access(struct rp_caches *c, uint32_t cu, const struct rp_rec_wave *w,
                     const struct rp_rec_access *a);

/** The end of the dispatch; frees them. */
void rp_caches_end(struct rp_caches *c, struct rp_cache_result *ret);

/**
 * Replays the main workgroups of a record.
 * @return 0, or -ENOMEM
 */
int rp_cache_run(const struct rp_cache_shape *shape, const struct rp_wave_record *record,
                 struct rp_cache_result *ret);

/* What a watcher of the replay (rp_engine_watch) adds up for counters of waves and units. */

struct rp_wave_sums {
    uint64_t level_clocks[RP_REC_UNITS]; /**< from issue to result, summed over instructions */
    uint64_t last_clock;                 /**< at which a wave ends */
    uint64_t vmem_clocks;    /**< summed over CUs: a vector memory instruction is under way */
    uint64_t pending_clocks; /**< of these: one that waits for what the L1 did not have */
    uint64_t fetches;        /**< of RP_FETCH_BYTES of code, summed over waves */
    bool code_fits;          /**< the program into an instruction cache */
};

/** What it takes to add them up. */
struct rp_wave_meter {
    struct rp_wave_sums sums;
    struct rp_meter_cu {
        uint64_t vmem_until, pending_until;
    } * cu;
    uint64_t *code_end; /**< per wave: behind its latest instruction; 0 = none yet */
    uint32_t waves_per_group;
};

/** 0 or -ENOMEM. @p cus over all dies */
int rp_wave_meter_init(struct rp_wave_meter *m, const struct rp_wave_record *record, uint32_t cus);

/** All sums, when the replay is over. */
struct rp_wave_sums rp_wave_meter_end(struct rp_wave_meter *m, const struct rp_arch *arch,
                                      const struct rp_wave_record *record);

/** Accepts one that could not be made. */
void rp_wave_meter_release(struct rp_wave_meter *m);

/**
 * An instruction was issued; on each compute unit about in the order of time.
 * @param cu        numbered over all dies
 * @param memory    vector memory: it touches lines
 * @param past_l1   some of them were not in the vector L1
 */
void rp_wave_meter_issued(struct rp_wave_meter *m, const struct rp_wave_placement *where,
                          uint32_t cu, const struct rp_rec_code *code,
                          const struct rp_issue_times *times, bool memory, bool past_l1);

/* Hardware counters of waves and of units through time, from a replay. */

/**
 * Sets those of kind WAVES.
 * @param shape   what a compute unit holds
 * @param counts  of the dispatch, replayed or not
 * @param values  indexed by enum rp_device_counter; those of instructions are there
 */
void rp_wave_counters(const struct rp_arch *arch, const struct rp_timing_stats *stats,
                      const struct rp_wave_sums *sums, const struct rp_rec_shape *shape,
                      const struct rp_counts *counts, uint64_t *values);

static inline void rp_wave_meter_ended(struct rp_wave_meter *m, uint64_t clock)
{
    m->sums.last_clock = clock > m->sums.last_clock ? clock : m->sums.last_clock;
}

#endif

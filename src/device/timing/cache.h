/**
 * @file cache.h
 * @brief What caches and LDS make of recorded accesses: the input of memory counters.
 *
 * Accesses come in the order of a replay (engine.h), which knows when; or, without one, of turns:
 * recorded workgroups are put on compute units as the dispatcher would, round robin over dies and
 * then over the CUs of a die; as many as fit are resident. Resident waves take turns, a memory
 * instruction each. That order is not the one that latencies would give, but it is the same on any
 * host, and neighbours share what they would share. All caches are cold at the start and the L2 is
 * written back at the end, as real counters of a copy that was launched three times show.
 */
#ifndef RP_DEVICE_TIMING_CACHE_H
#define RP_DEVICE_TIMING_CACHE_H

#include "record.h"

struct rp_arch;

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
 * Of a GPU, or what a CU mask leaves of it; CUs are numbered as by the replay (engine.h). An MI300X
 * has 20 scalar caches a die (rocprof-compute's sysinfo).
 */
struct rp_cache_shape rp_cache_shape_of(const struct rp_arch *arch);

/** The caches of a GPU, empty, and what has been done to them. */
struct rp_caches;

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

#endif

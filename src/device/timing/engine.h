/**
 * @file engine.h
 * @brief Replays recorded waves on the modelled machine, clock by clock, and counts.
 *
 * One thread, one order of events: the same record gives the same result everywhere.
 */
#ifndef RP_DEVICE_TIMING_ENGINE_H
#define RP_DEVICE_TIMING_ENGINE_H

#include "record.h"

struct rp_arch;

/** Requests to a level of the memory hierarchy. */
struct rp_level_stats {
    uint64_t reads, writes, atomics; /**< requests: lines (writes below the L1: 64-byte halves) */
    uint64_t read_hits, write_hits;
    uint64_t late_hits;               /**< of read_hits, those whose line was still on its way */
    uint64_t read_bytes, write_bytes; /**< moved between this level and the one above */
    uint64_t busy_clocks;             /**< summed over its instances */
    uint64_t pending_clocks; /**< L2: summed over channels with a request that is not yet served */
    uint64_t read_clocks;    /**< MALL: from when the L2 asks to when it has the line, summed */
};

enum rp_level {
    RP_LEVEL_SCALAR_L1,
    RP_LEVEL_INST_L1,
    RP_LEVEL_L1,
    RP_LEVEL_L2,
    RP_LEVEL_MALL,
    RP_LEVEL_HBM,
    RP_LEVELS,
};

/**
 * Of the workgroups replayed. A sample's numbers are sums over the sample, not over the dispatch:
 * rp_timing_stats.groups of group_count.
 */
struct rp_timing_stats {
    uint64_t group_count; /**< of the dispatch */
    uint64_t groups;      /**< replayed */
    uint64_t waves;       /**< replayed */
    uint64_t insts;       /**< replayed, wave granularity */
    uint64_t unit_insts[RP_REC_UNITS];
    uint64_t replay_clocks; /**< from the first workgroup's start to the last one's end */
    double clocks;          /**< modelled time of the whole dispatch */
    double error_share;     /**< estimate of the relative error that what is not replayed adds */
    bool sampled;
    uint32_t dies, all_dies; /**< replayed; of the GPU */
    uint64_t no_room_clocks; /**< summed over dies: a workgroup waits for room on a compute unit */
    struct rp_level_stats level[RP_LEVELS];
    uint64_t lds_busy_clocks, lds_conflict_clocks;
    uint64_t wave_clocks;               /**< summed over waves: resident */
    uint64_t cut_waves;                 /**< that were not kept whole */
    double unsure_clocks;               /**< of wave_clocks, by how much these may be off */
    uint64_t wait_clocks[RP_REC_UNITS]; /**< summed over waves: waiting for results of the unit
                                             (s_waitcnt, registers); MISC: at barriers */
    uint64_t port_clocks[RP_REC_UNITS]; /**< summed over SIMDs: the unit's port is taken */
    uint64_t
        stall_clocks[RP_REC_UNITS]; /**< summed over waves: ready, but the unit takes nothing */
    uint64_t cu_busy_clocks;        /**< summed over compute units with a wave */
    uint64_t simd_busy_clocks;      /**< summed over SIMDs with a wave */
};

/** Where a wave was placed, and when. */
struct rp_wave_place {
    uint32_t group;   /**< index into rp_record.group */
    uint32_t wave;    /**< in the group */
    uint16_t xcc, cu; /**< cu: on its die */
    uint8_t simd, slot;
};

/** When an instruction of a wave went through its stages, in order but for done. */
struct rp_issue_times {
    uint64_t arrived; /**< the instruction before lets the wave go on */
    uint64_t fetched; /**< the instruction itself is there */
    uint64_t ready;   /**< operands are there, and the unit takes instructions */
    uint64_t issued;  /**< the unit's port is free */
    uint64_t next;    /**< the wave goes on; UINT64_MAX: at a barrier, its next arrival tells */
    uint64_t done;    /**< the result is there */
};

/**
 * Tells about every instruction; for traces. Calls come in the order of time for each compute unit,
 * not for all of them. NULL members are not called.
 */
struct rp_engine_watch {
    void *ctx;
    void (*wave_begins)(void *ctx, const struct rp_wave_place *where, uint64_t clock);
    void (*issued)(void *ctx, const struct rp_wave_place *where, uint32_t step,
                   const struct rp_issue_times *times);
    void (*wave_ends)(void *ctx, const struct rp_wave_place *where, uint64_t clock);
};

/**
 * Replays a record whose code is resolved.
 * @param watch  NULL or whom to tell
 * @return 0, or -ENOMEM
 */
int rp_engine_run(const struct rp_arch *arch, const struct rp_wave_record *record,
                  const struct rp_engine_watch *watch, struct rp_timing_stats *ret);

#endif

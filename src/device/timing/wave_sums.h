/**
 * @file wave_sums.h
 * @brief What a watcher of the replay (rp_engine_watch) adds up for counters of waves and units.
 */
#ifndef RP_DEVICE_TIMING_WAVE_SUMS_H
#define RP_DEVICE_TIMING_WAVE_SUMS_H

#include "engine.h"

/** Bytes that a wave fetches of its code at a time: a real MI300X (and MI100, MI200, MI350) counts
 *  four requests for each wave of a copy of 100 to 128 bytes. */
enum { RP_FETCH_BYTES = 32 };

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
void rp_wave_meter_issued(struct rp_wave_meter *m, const struct rp_wave_place *where, uint32_t cu,
                          const struct rp_rec_code *code, const struct rp_issue_times *times,
                          bool memory, bool past_l1);

static inline void rp_wave_meter_ended(struct rp_wave_meter *m, uint64_t clock)
{
    m->sums.last_clock = clock > m->sums.last_clock ? clock : m->sums.last_clock;
}

#endif

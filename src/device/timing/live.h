/**
 * @file program_runner.h
 * @brief Replay of one workgroup while it is executed, alone in a machine that was idle: for the
 * clock that its waves read.
 *
 * What waves have done is handed over bit by bit and forgotten once it has been replayed. The
 * machine goes on in the order of time, as in engine.h: up to where it is not known what a wave
 * does next.
 */
#ifndef RP_DEVICE_TIMING_LIVE_H
#define RP_DEVICE_TIMING_LIVE_H

#include "record.h"

struct rp_arch;
struct rp_live;

/** NULL: no memory. @param begin  clock at which the waves start */
struct rp_live *rp_live_new(const struct rp_arch *arch, uint32_t waves, uint64_t entry_va,
                            uint64_t begin);
/** Accepts NULL. */
void rp_live_free(struct rp_live *live);

/** Whose table of instructions the steps below are indices of; whoever adds them fills it. */
struct rp_wave_record *rp_live_record(struct rp_live *live);

/**
 * Hands over what a wave did, after what was handed over before.
 * @param rec    its record
 * @param first  of its instructions: @p count from there on, whose indices are @p step
 * @param access of its accesses, the first that has not been handed over
 * @return 0 or -ENOMEM
 */
int rp_live_add(struct rp_live *live, uint32_t wave, const struct rp_rec_wave *rec, uint32_t first,
                const uint32_t *step, uint32_t count, uint32_t access);

enum rp_live_answer {
    RP_LIVE_KNOWN,
    RP_LIVE_WAITS, /**< for others, who may do something before that */
    RP_LIVE_NEVER, /**< it cannot be told */
};

/**
 * When the latest instruction of a wave that has been handed over is issued.
 * @param alone  the others do nothing until then but what is known
 */
enum rp_live_answer rp_live_issued(struct rp_live *live, uint32_t wave, bool alone,
                                   uint64_t *ret_clock);

#endif

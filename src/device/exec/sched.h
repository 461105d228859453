/**
 * @file sched.h
 * @brief Which slices a dispatch is executed in, in which order, and who executes them.
 *
 * Lanes are places for resident workgroups. They are served round robin: a lane whose previous
 * slice has retired gets the next one, for the workgroup it holds, or for the next workgroups that
 * nobody holds (short ones by the chunk). A round in which no workgroup ended, while some wait or
 * for the third time in a row, makes the lanes twice as many, up to what the hardware would hold,
 * so that workgroups that wait for one another always make progress. Slices grow with every visit:
 * short for a workgroup that spins, long for one that computes.
 *
 * Every decision uses only what is known of slices that must have retired at that point of the
 * sequence, however many threads there are: of the lane's own previous slice, and of the round
 * before the previous one. Neither host time nor the caller's budgets have a say.
 */
#ifndef RP_DEVICE_EXEC_SCHED_H
#define RP_DEVICE_EXEC_SCHED_H

#include "dispatch.h"

void rp_sched_init(struct rp_dispatch *d);

/** Frees lanes, logs, and the workgroup memory they hold. Nobody may be at work. */
void rp_sched_release(struct rp_dispatch *d);

/**
 * Executes slices with @p h until the dispatch is over, its budget is used up, or it waits for the
 * outside. Several threads may do so at the same time, each with a hand of its own.
 */
void rp_sched_work(struct rp_dispatch *d, struct rp_hand *h);

/** An empty log, or NULL when the host is out of memory. */
struct rp_atomic_log *rp_sched_log(struct rp_dispatch *d);

#endif

/**
 * @file live_clock.h
 * @brief Replay of one workgroup while it is executed, alone in a machine that was idle: for the
 * clock that its waves read.
 *
 * What waves have done is handed over bit by bit and forgotten once it has been replayed. The
 * machine goes on in the order of time, as in timing_engine.h: up to where it is not known what a
 * wave does next.
 */
#ifndef RP_DEVICE_TIMING_LIVE_CLOCK_H
#define RP_DEVICE_TIMING_LIVE_CLOCK_H

#include <stdbool.h>

#include "device/isa/wave_state.h"
#include "device/timing/wave_record.h"

/* The clock as recorded waves read it: what detailed timing gives for the wave so far.
 *
 * Their workgroup is replayed as it is executed (live_clock.h). Execution is in no order of time:
 * a wave whose clock depends on what another of its workgroup does before that lets it go first.
 */

/**
 * The wave has come to an instruction that reads the clock, and it is recorded.
 * @param ret_told  the replay says what it reads; else it goes on as with fast timing
 * @return RP_STEP_NEXT: rp_wave.clock_lead says what it reads; or RP_STEP_LATER
 */
int rp_live_clock_read(struct rp_wave *w, bool *ret_told);

/** The workgroup has ended, or will not be executed any further. */
void rp_live_clock_end(struct rp_group *g);

#endif

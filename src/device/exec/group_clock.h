/**
 * @file group_clock.h
 * @brief The clock as recorded waves read it: what detailed timing gives for the wave so far.
 *
 * Their workgroup is replayed as it is executed (timing/live.h). Execution is in no order of time:
 * a wave whose clock depends on what another of its workgroup does before that lets it go first.
 */
#ifndef RP_DEVICE_EXEC_GROUP_CLOCK_H
#define RP_DEVICE_EXEC_GROUP_CLOCK_H

#include "../timing/record.h"
#include "wave.h"

/** Whether the clock that a wave reads is that of detailed timing. */
static inline bool rp_group_clock_reads(const struct rp_wave *w)
{
    return w->record && !w->record->closed;
}

/**
 * The wave has come to an instruction that reads the clock, and it is recorded.
 * @param ret_told  the replay says what it reads; else it goes on as with fast timing
 * @return RP_STEP_NEXT: rp_wave.clock_lead says what it reads; or RP_STEP_LATER
 */
int rp_group_clock_read(struct rp_wave *w, bool *ret_told);

/** The workgroup has ended, or will not be executed any further. */
void rp_group_clock_end(struct rp_group *g);

#endif

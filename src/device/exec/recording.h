/**
 * @file recording.h
 * @brief Recording of a dispatch's sampled workgroups, from its launch to the modelled time.
 */
#ifndef RP_DEVICE_EXEC_RECORDING_H
#define RP_DEVICE_EXEC_RECORDING_H

#include "../timing/engine.h"
#include "dispatch.h"

/** What a dispatch's record will be, or NULL when the host is out of memory. */
struct rp_wave_record *rp_recording_new(const struct rp_arch *arch, const struct rp_kernel *k);

/** A workgroup starts: if it is one of the sampled, its waves get their records. */
void rp_recording_begin(struct rp_wave_record *r, struct rp_group *g);

/**
 * Replaces what the steps of a finished dispatch's record hold, distances from the kernel's entry,
 * by indices into record->code. Waves whose code is not mapped any more lose their record.
 * @return 0, or -ENOMEM
 */
int rp_recording_resolve(struct rp_dispatch *d);

/**
 * Replays what was recorded of a dispatch that is done.
 * @param arch   the GPU, or what a queue's CU mask leaves of it
 * @param watch  NULL, or whom to tell about every instruction
 * @return 0; -ENODATA nothing was recorded; -ENOMEM
 */
int rp_dispatch_replay(struct rp_dispatch *d, const struct rp_arch *arch,
                       const struct rp_engine_watch *watch, struct rp_timing_stats *ret);

#endif

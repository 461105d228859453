/**
 * @file dispatch_timing.h
 * @brief Recording of a dispatch's sampled workgroups, from its launch to the modelled time.
 */
#ifndef RP_DEVICE_TIMING_DISPATCH_TIMING_H
#define RP_DEVICE_TIMING_DISPATCH_TIMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device/exec/dispatch.h"
#include "device/isa/wave_state.h"
#include "device/timing/timing_engine.h"
#include "device/timing/timing_model.h"
#include "trace/records.h"

struct rp_arch;
struct rp_dispatch;
struct rp_kernel;
struct rp_thread_watch;
struct rp_wave_record;

/** What a dispatch's record will be, or NULL when the host is out of memory. */
struct rp_wave_record *rp_recording_new(const struct rp_arch *arch, const struct rp_kernel *k);

/** A workgroup starts: if it is one of the sampled, its waves get their records. */
void rp_recording_begin(struct rp_wave_record *r, struct rp_group *g);

/* The thread trace of a dispatch: what the replay did, with the code it is about, as the
 * bytes of a file (trace/records.h).
 */

/** Of a replay that takes long, now and then: how much is done, and the seconds that are left. */
typedef void (*rp_threads_tell)(double share, double left_s);

/**
 * Before rp_dispatch_ticks: the replay that tells the time is the one that is traced, so that there
 * is one only. Without memory for that there are two.
 */
void rp_dispatch_watch_threads(struct rp_dispatch *d, const struct rp_arch *arch,
                               const struct rp_threads_request *wish, rp_threads_tell tell);

/** Accepts NULL. */
void rp_thread_watch_free(struct rp_thread_watch *w);

/**
 * Replays a dispatch that is done and was recorded, unless that has been watched already.
 * @param arch       the GPU, or what a queue's CU mask leaves of it
 * @param ret_bytes  for free()
 * @return 0; -ENODATA nothing was recorded; -ENOMEM
 */
int rp_dispatch_trace(struct rp_dispatch *d, const struct rp_arch *arch,
                      const struct rp_threads_request *wish, uint64_t start_ticks, void **ret_bytes,
                      size_t *ret_count);

/* Execution of one kernel dispatch on the CPU: the only face the driver side (kfd/) sees.
 *
 * A dispatch is resumable: rp_dispatch_run executes at most a budget of wave instructions and
 * returns, so that the caller can interleave queues fairly; a spinning kernel never hangs another.
 * All functions may be called from any thread, but a dispatch from one at a time.
 */

/**
 * After DONE: what hardware counters say that follow from the instructions executed, and from the
 * accesses noted; indexed by enum rp_device_counter, the others are 0.
 * @return what is known: NOTHING when the dispatch began while it was not counted
 */
enum rp_counting rp_dispatch_count(const struct rp_dispatch *d, uint64_t *values);

#endif

/**
 * @file software_device.h
 * @brief The thread trace of a dispatch: what the replay did, with the code it is about, as the
 * bytes of a file (trace/records.h).
 */
#ifndef RP_DEVICE_EXEC_THREADS_H
#define RP_DEVICE_EXEC_THREADS_H

#include <stddef.h>
#include <stdint.h>

#include "trace/records.h"

struct rp_arch;
struct rp_dispatch;

struct rp_engine_watch;
struct rp_thread_watch;

/** Of a replay that takes long, now and then: how much is done, and the seconds that are left. */
typedef void (*rp_threads_tell)(double share, double left_s);

/**
 * Before rp_dispatch_ticks: the replay that tells the time is the one that is traced, so that there
 * is one only. Without memory for that there are two.
 */
void rp_dispatch_watch_threads(struct rp_dispatch *d, const struct rp_arch *arch,
                               const struct rp_threads_request *wish, rp_threads_tell tell);

/** For the replay, which is about to begin; NULL: nobody wants to know. */
const struct rp_engine_watch *rp_thread_watch_begin(struct rp_thread_watch *w,
                                                    const struct rp_dispatch *d);

/** The replay has ended: as rp_dispatch_replay. */
void rp_thread_watch_end(struct rp_thread_watch *w, int status);

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

#endif

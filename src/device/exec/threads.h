/**
 * @file threads.h
 * @brief The thread trace of a dispatch: what the replay did, with the code it is about, as the
 * bytes of a file (capture/thread_trace.h).
 */
#ifndef RP_DEVICE_EXEC_THREADS_H
#define RP_DEVICE_EXEC_THREADS_H

#include <stddef.h>
#include <stdint.h>

#include "capture/thread_trace.h"

struct rp_arch;
struct rp_dispatch;

/**
 * Replays a dispatch that is done and was recorded.
 * @param arch       the GPU, or what a queue's CU mask leaves of it
 * @param ret_bytes  for free()
 * @return 0; -ENODATA nothing was recorded; -ENOMEM
 */
int rp_dispatch_trace(struct rp_dispatch *d, const struct rp_arch *arch,
                      const struct rp_threads_wish *wish, uint64_t start_ticks, void **ret_bytes,
                      size_t *ret_count);

#endif

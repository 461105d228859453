/**
 * @file hip_quiet.h
 * @brief Streams are taken apart only when the runtime has nothing left to report of them.
 */
#ifndef RP_TOOL_HIP_QUIET_H
#define RP_TOOL_HIP_QUIET_H

#include <stdint.h>

struct rp_tool;

/** The runtime's functions that this file calls; both or none. */
struct rp_hip_quiet {
    int (*sync_stream)(void *stream);
    int (*sync_device)(void);
    uint32_t handler_tid; /**< atomic: ROCr's thread for signals, 0 = not known yet */
};

/**
 * At the beginning of the program's call that destroys @p stream, or all of the device (NULL):
 * waits for its end, and for ROCr's thread to have told HIP so. Calls HIP: the caller ignores its
 * reports. Waits no longer than some tenths of a second when that thread is busy with something
 * else.
 */
void rp_hip_quiet(struct rp_tool *tool, void *stream);

#endif

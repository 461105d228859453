/**
 * @file hip_quiet.h
 * @brief Streams and graphs are taken apart only when the runtime has nothing left to report of
 *        them.
 *
 * Who registers for HIP's calls is told of the end of every marker and graph, too, in a callback of
 * a signal on ROCr's thread; HIP 7.2 reads the marker's stream and the names of the graph's kernels
 * for that, even when the answer is that nobody wants it. hipStreamDestroy and hipGraphExecDestroy
 * do not wait for that thread: as soon as there is a tracer, about one program in three that
 * destroys busy streams dies in libamdhip64, and every one that destroys graphs that still run.
 */
#ifndef RP_TOOL_HIP_QUIET_H
#define RP_TOOL_HIP_QUIET_H

struct rp_tool;

/** The runtime's functions that this file calls; all or none. */
struct rp_hip_quiet {
    int (*sync_stream)(void *stream);
    int (*sync_device)(void);
    int (*is_capturing)(void *stream, int *ret_status);
    int (*exchange_capture_mode)(int *mode);
};

/** Where hip_quiet.c's functions are looked for. */
void rp_hip_quiet_find(struct rp_hip_quiet *quiet, void *handle);

/**
 * At the beginning of the program's call that destroys @p stream, or all of the device (NULL):
 * waits for its end and for the callbacks that belong to it. Calls HIP: the caller ignores its
 * reports. Leaves captures that are going on alone. Does nothing in a callback itself.
 */
void rp_hip_quiet_stream(struct rp_tool *tool, void *stream);

#endif

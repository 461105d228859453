/**
 * @file hip_launch.h
 * @brief Launches that HIP refuses: nothing runs, and many programs do not look at the error.
 *
 * HIP hands a tracer the arguments of a call, not its result. hipExtGetLastError gives the result
 * of the thread's last call, of which the one that is just returning is the last.
 */
#ifndef RP_TOOL_HIP_LAUNCH_H
#define RP_TOOL_HIP_LAUNCH_H

#include <stddef.h>
#include <stdint.h>

struct rp_hip_trace_data;
struct rp_rec_failed_launch;
struct rp_tool;

/** The runtime's functions that this file calls; without the first two no failure is seen. */
struct rp_hip_launch_calls {
    int (*take_result)(void);                                       /**< hipExtGetLastError */
    int (*peek_error)(void);                                        /**< hipPeekAtLastError */
    const char *(*error_name)(int error);                           /**< hipGetErrorName */
    const char *(*host_kernel)(const void *function, void *stream); /**< hipKernelNameRefByPtr */
    const char *(*module_kernel)(void *function);                   /**< hipKernelNameRef */
};

void rp_hip_launch_find(struct rp_hip_launch_calls *calls, void *handle);

/** Place of a call's description among those that launch, plus 1; 0: it launches nothing. */
uint8_t rp_hip_launch_at(const char *call);

/**
 * When a call that launches has returned: counts it, and writes a record when it failed. Calls HIP:
 * the caller ignores its reports. @param at  as rp_hip_launch_at says
 */
void rp_hip_launch_end(struct rp_tool *tool, uint8_t at, const struct rp_hip_trace_data *data,
                       uint32_t api_name_id);

#endif

/**
 * @file thread_trace_registers.h
 * @brief The thread trace units of a GPU, one in each shader engine: what tools do with their
 * registers (SQ_THREAD_TRACE_*), and the streams that they write to memory.
 *
 * While a unit is on, its stream has the dispatches of all queues, simulated in detail, and what is
 * written to the user data registers. Register numbers and fields are those of AMD's public
 * gc_9_4_2_offset.h and gc_9_4_2_sh_mask.h; the order of writes is that of aqlprofile
 * (sqtt_builder.h).
 */
#ifndef RP_DEVICE_DRIVER_THREAD_TRACE_REGISTERS_H
#define RP_DEVICE_DRIVER_THREAD_TRACE_REGISTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/records.h"

struct rp_arch;
struct rp_dispatch;
struct rp_exec_host;
struct rp_registers;
struct rp_thread_trace_engine;

enum {
    RP_THREAD_TRACE_FIRST = 0xc330, /**< SQ_THREAD_TRACE_BASE */
    RP_THREAD_TRACE_LAST = 0xc343,  /**< SQ_THREAD_TRACE_USERDATA_3 */
    RP_COMPUTE_FIRST = 0x2e00,      /**< COMPUTE_DISPATCH_INITIATOR */
    RP_COMPUTE_LAST = 0x2e7f,       /**< COMPUTE_NOWHERE, where streams show events */
};

struct rp_thread_trace {
    const struct rp_arch *arch;
    const struct rp_exec_host *host;
    struct rp_registers *registers;
    int report_fd;
    uint32_t engines, engines_per_die;
    struct rp_thread_trace_engine *engine; /**< NULL until the first one is switched on */
    unsigned on;                           /**< how many are */
    uint32_t told;                         /**< a bit for each message that has been printed */
};

/** Attaches the units to the registers. rp_thread_trace_release() undoes it. */
void rp_thread_trace_init(struct rp_thread_trace *t, const struct rp_arch *arch,
                          const struct rp_exec_host *host, struct rp_registers *registers,
                          int report_fd);
void rp_thread_trace_release(struct rp_thread_trace *t);

/**
 * Tells whether dispatches that are launched now are traced, and what of them.
 * @param t  may be NULL
 */
bool rp_thread_trace_wants(const struct rp_thread_trace *t, struct rp_threads_request *ret);

/** The launch that follows is traced by the built-in collector, which is the only one that can. */
void rp_thread_trace_leave_out(struct rp_thread_trace *t);

/**
 * Writes a finished dispatch, whose simulation was watched with what was wanted at the launch
 * (rp_trace_requests_begin), into the streams of all units that are on.
 * @param arch  the GPU, or what a queue's CU mask leaves of it
 */
void rp_thread_trace_dispatch(struct rp_thread_trace *t, const struct rp_arch *arch,
                              struct rp_dispatch *dispatch, const struct rp_threads_request *wish,
                              uint64_t packet_va, uint64_t kernel_object_va, uint64_t start_ticks);

#endif

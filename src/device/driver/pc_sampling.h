/**
 * @file pc_sampling.h
 * @brief PC sampling by host traps of one GPU: the driver's sessions, and what the runtime's trap
 * handler does with a trap.
 *
 * The driver only interrupts waves. It is ROCr's second-level trap handler (trap_handler.s, public)
 * that writes a record into one of two buffers, to which the handler's memory (TMA) leads, and that
 * completes a signal at a watermark; ROCr then exchanges the buffers by a command buffer. No code
 * of the handler is executed here: what it does to memory is done for it. Where it would lose
 * samples, because both the buffer is full and the program has not been given time yet to empty it,
 * the dispatch waits, for modelled time does not go on meanwhile.
 */
#ifndef RP_DEVICE_DRIVER_PC_SAMPLING_H
#define RP_DEVICE_DRIVER_PC_SAMPLING_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device/timing/pc_sampler.h"

struct rp_arch;
struct rp_clock;
struct rp_cp;
struct rp_cp_queue;

/** The argument of AMDKFD_IOC_PC_SAMPLE (AMD's kfd_ioctl.h). */
struct rp_kfd_pc_sample {
    uint64_t infos_ptr;
    uint32_t info_count; /**< in: room; out: how many there are */
    uint32_t operation;
    uint32_t gpu_id;
    uint32_t trace_id; /**< out, of a created one */
    uint32_t flags;
    uint32_t version; /**< out, of a query */
};

enum { RP_PC_SAMPLING_SESSIONS = 32 };

/** Zero-initialise it, and call rp_pc_sampling_init(). */
struct rp_pc_sampling {
    pthread_mutex_t lock;      /**< a leaf */
    uint64_t handler_va;       /**< the trap handler's memory; 0: it has none */
    uint64_t interval_us;      /**< of all sessions */
    uint32_t created, started; /**< a bit for each session */
    struct rp_pc_sampler_times times;
    bool told;        /**< that it needs detailed timing */
    bool unread;      /**< nobody has emptied a full buffer in time, or since */
    bool told_unread; /**< these two are the server thread's */
};

void rp_pc_sampling_init(struct rp_pc_sampling *s);

/** Executes the ioctl. @return 0 or -errno */
int rp_pc_sampling_call(struct rp_pc_sampling *s, const struct rp_arch *arch,
                        const struct rp_clock *clock, struct rp_kfd_pc_sample *args);

/** The runtime has set its trap handler's memory. */
void rp_pc_sampling_set_handler(struct rp_pc_sampling *s, uint64_t va);

/** Returns when a dispatch that begins now is sampled; an interval of 0: it is not. */
struct rp_pc_sampler_times rp_pc_sampling_times(struct rp_pc_sampling *s);

/** These are samples of a dispatch that has ended, on their way to the program. */
struct rp_pc_delivery {
    struct rp_pc_sample *samples; /**< NULL: there are none */
    size_t count, next;
    uint64_t lost;          /**< samples beside these, which are counted only */
    int64_t waits_since_ns; /**< for room; 0: it does not */
    uint64_t end_ticks;     /**< of the dispatch */
};

/**
 * Delivers as many samples as there is room for.
 * @param queue  the packet at its read index is the dispatch
 * @return whether that was the last one: the delivery is released then
 */
bool rp_pc_sampling_deliver(struct rp_pc_sampling *s, const struct rp_cp *cp,
                            const struct rp_cp_queue *queue, struct rp_pc_delivery *delivery);

#endif

/**
 * @file packet.h
 * @brief The packet processor: consumes one AQL queue's packets in order.
 *
 * A queue runs one packet at a time; several queues are interleaved by the caller (dispatches.c).
 * All memory is reached through struct rp_exec_host, so a test can give it any memory.
 */
#ifndef RP_DEVICE_KFD_PACKET_H
#define RP_DEVICE_KFD_PACKET_H

#include <stdbool.h>
#include <stdint.h>

#include "abi.h"
#include "causal.h"
#include "clock.h"
#include "device/exec/exec.h"
#include "device/timing/copy.h"
#include "event.h"
#include "trace/records.h"

struct rp_counted;
struct rp_trace_requests;
struct rp_store_times;

/** What the packet processors work with; one per GPU. */
struct rp_cp {
    const struct rp_exec_host *host;
    const struct rp_arch *arch;
    struct rp_clock *clock;
    struct rp_events *events;
    int report_fd;   /**< where a fault's line goes: 2 */
    uint32_t gpu_id; /**< KFD's */
    char label[24];  /**< "GPU 1, " in that line; empty when there is one GPU only */
    /** Whether @p va is the program's own memory, and XNACK is off; called with host->ctx. */
    bool (*is_programs)(void *ctx, uint64_t va);
    int64_t patience_ns; /**< before a dispatch that waits, or goes on and on, is mentioned */
    struct rp_store_times *stores;    /**< signal.h; NULL: DMA completions carry no time */
    struct rp_causal *causal;         /**< when the host submits; NULL: when the device sees it */
    struct rp_counted *counted;       /**< hardware counters (counted.h); NULL: none */
    struct rp_trace_requests *traced; /**< thread traces (traced.h); NULL: none */
};

struct rp_cp_queue {
    uint32_t id;
    const struct rp_cp *cp;      /**< of its GPU */
    uint64_t queue_va;           /**< amd_queue_t */
    struct rp_amd_queue *shared; /**< the same, in this process */
    uint8_t *ring;
    uint64_t ring_va;
    uint32_t ring_packets; /**< power of two */
    bool enabled;          /**< percentage > 0 */
    bool faulted;          /**< reported; nothing more is consumed */
    uint64_t read_index;   /**< next packet */
    uint64_t end_ticks;    /**< when the previous packet ended */
    bool begun;            /**< the packet at read_index was looked at, seen_ticks is valid */
    uint64_t seen_ticks;   /**< device time when it was submitted */
    struct rp_causal_line line;
    uint64_t start_ticks;   /**< of the running dispatch */
    uint32_t compute_units; /**< left by the CU mask; 0 = all */
    struct rp_dispatch *dispatch;
    bool traced;                    /**< of the running dispatch: a thread trace is wanted, */
    struct rp_threads_request wish; /**< of these waves */
    int64_t waits_since_ns; /**< host time since when all of the dispatch waits; 0 = it does not */
    bool waits_told;        /**< of the running dispatch: that was reported */
    uint64_t busy_told;     /**< the kernel whose long run was reported last */
};

enum rp_cp_progress {
    RP_CP_IDLE,     /**< nothing to do: empty, disabled or faulted */
    RP_CP_PROGRESS, /**< consumed a packet or executed instructions */
    RP_CP_WAITING,  /**< a barrier packet waits for its signals */
};

/**
 * Binds a queue to its memory. @p queue must be zeroed.
 * @return 0, -EINVAL (sizes, pointers that do not belong to one amd_queue_t), -EFAULT (not mapped)
 */
int rp_cp_queue_init(const struct rp_cp *cp, struct rp_cp_queue *queue, uint64_t ring_va,
                     uint32_t ring_bytes, uint64_t read_pointer_va, uint64_t write_pointer_va);

/** Does a bounded piece of work: at most @p budget wave instructions. */
enum rp_cp_progress rp_cp_step(const struct rp_cp *cp, struct rp_cp_queue *queue, uint64_t budget);

/** Empty, disabled or faulted: rp_cp_step would find nothing to do. */
bool rp_cp_queue_idle(const struct rp_cp_queue *queue);

/** Frees the dispatch in flight. */
void rp_cp_queue_release(struct rp_cp_queue *queue);

/** Undoes rp_cp_queue_init, also one that failed. */
void rp_cp_queue_close(struct rp_cp_queue *queue);

#endif

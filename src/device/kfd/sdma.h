/**
 * @file sdma.h
 * @brief The DMA engine: consumes one SDMA queue's packets in order.
 *
 * As packet.h: one queue runs one packet at a time, several are interleaved by the caller
 * (dispatches.c), memory is reached through struct rp_exec_host. Large packets are done in pieces.
 */
#ifndef RP_DEVICE_KFD_SDMA_H
#define RP_DEVICE_KFD_SDMA_H

#include "packet.h"

struct rp_sdma_queue {
    uint32_t id;
    const struct rp_cp *cp; /**< of its GPU */
    bool enabled;           /**< percentage > 0 */
    bool faulted;           /**< reported; nothing more is consumed */
    uint8_t *ring;
    uint64_t ring_va;
    uint32_t ring_bytes; /**< power of two */
    /* Both pointers count bytes and never wrap. */
    uint64_t *read_pointer, *write_pointer;
    uint64_t read_bytes;      /**< next packet */
    uint64_t batch_end_bytes; /**< packets below this were seen at seen_ticks */
    uint64_t seen_ticks;
    struct rp_causal_line line;
    uint64_t end_ticks;   /**< when the previous packet ended */
    uint64_t done;        /**< of the packet at read_bytes: bytes, or rows of a rectangle */
    bool streaming;       /**< the previous packet moved data */
    uint64_t fault_va;    /**< after a fault: the address that was not mapped, or 0 */
    bool fault_read_only; /**< the fault was a write */
};

/**
 * Binds a queue to its memory. @p queue must be zeroed.
 * @return 0, -EINVAL (sizes, alignment), -EFAULT (not mapped)
 */
int rp_sdma_queue_init(const struct rp_cp *cp, struct rp_sdma_queue *queue, uint64_t ring_va,
                       uint32_t ring_bytes, uint64_t read_pointer_va, uint64_t write_pointer_va);

/**
 * Does a bounded piece of work: at most about @p budget_bytes moved. After a packet that cannot
 * be done, one line is on cp->report_fd and queue->faulted is set.
 */
enum rp_cp_progress rp_sdma_step(const struct rp_cp *cp, struct rp_sdma_queue *queue,
                                 uint64_t budget_bytes);

/** Undoes rp_sdma_queue_init, also one that failed. */
void rp_sdma_queue_close(struct rp_sdma_queue *queue);

/** Empty, disabled or faulted: rp_sdma_step would find nothing to do. */
bool rp_sdma_queue_idle(const struct rp_sdma_queue *queue);

#endif

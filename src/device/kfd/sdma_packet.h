/**
 * @file sdma_packet.h
 * @brief Inside the DMA engine: packet opcodes, and how the packet handlers work together.
 *
 * Opcodes and fields of SDMA 4.4 (gfx90a to gfx950), as amdgpu's and ROCr's public headers name
 * them. A packet is a row of little-endian dwords; the first holds opcode and sub-opcode.
 */
#ifndef RP_DEVICE_KFD_SDMA_PACKET_H
#define RP_DEVICE_KFD_SDMA_PACKET_H

#include "sdma.h"

enum rp_sdma_opcode {
    RP_SDMA_NOP = 0,
    RP_SDMA_COPY = 1,
    RP_SDMA_WRITE = 2,
    RP_SDMA_FENCE = 5,
    RP_SDMA_TRAP = 6,
    RP_SDMA_POLL_REGMEM = 8,
    RP_SDMA_ATOMIC = 10,
    RP_SDMA_CONST_FILL = 11,
    RP_SDMA_TIMESTAMP = 13,
    RP_SDMA_GCR = 17,
};

enum { RP_SDMA_COPY_LINEAR = 0, RP_SDMA_COPY_RECT = 4 };
enum { RP_SDMA_TIMESTAMP_GLOBAL = 2 };
enum { RP_SDMA_GCR_USER = 1 };
enum { RP_SDMA_PACKET_DWORDS = 13 }; /**< the longest of those with a fixed length */

/** State of one rp_sdma_step call. */
struct rp_sdma_turn {
    const struct rp_cp *cp;
    struct rp_sdma_queue *queue;
    const uint32_t *dw;    /**< the packet */
    uint64_t budget_bytes; /**< left in this turn */
    uint64_t ticks;        /**< queue time at which the packet may start */
};

enum rp_sdma_result {
    RP_SDMA_DONE,  /**< the packet is finished */
    RP_SDMA_MORE,  /**< out of budget, go on here next turn */
    RP_SDMA_WAIT,  /**< its condition does not hold yet */
    RP_SDMA_FAULT, /**< reported, the queue is stopped */
};

/** Reports and stops the queue. @p fmt completes "rocm-perf-device: SDMA queue 1, byte 0x40: ". */
enum rp_sdma_result rp_sdma_fault(struct rp_sdma_turn *turn, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/** Host pointer to @p bytes at @p va for a packet of kind @p what, or NULL after rp_sdma_fault. */
void *rp_sdma_at(struct rp_sdma_turn *turn, const char *what, uint64_t va, uint64_t bytes,
                 bool write);

static inline uint64_t rp_sdma_address(const uint32_t *low)
{
    return low[0] | (uint64_t)low[1] << 32;
}

/** Handlers that move data; queue->done tells how far they are. */
enum rp_sdma_result rp_sdma_copy_linear(struct rp_sdma_turn *turn);
enum rp_sdma_result rp_sdma_copy_rect(struct rp_sdma_turn *turn);
enum rp_sdma_result rp_sdma_fill(struct rp_sdma_turn *turn);

#endif

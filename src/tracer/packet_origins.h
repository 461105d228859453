/**
 * @file packet_origins.h
 * @brief Which thread put a packet into a queue, and what it was doing.
 *
 * Threads share hardware queues. Who rings the doorbell hands over all packets that are ready,
 * those of other threads too, and ROCr's own thread does so when the hardware queue was full. So
 * the thread is asked when it takes the packet's place in the queue, and the answer waits under the
 * place's number until the packet is handed over.
 */
#ifndef RP_TRACER_PACKET_ORIGINS_H
#define RP_TRACER_PACKET_ORIGINS_H

#include <stdbool.h>
#include <stdint.h>

#include "tracer/hsa_abi.h"

struct rp_tool;
struct rp_packet_origins;

struct rp_packet_origin {
    uint64_t correlation_id; /**< of the thread's HIP call; 0: it is in none */
    uint64_t stream;         /**< what HIP calls the stream of that call; UINT64_MAX: not known */
    uint64_t submit_ns;
    uint32_t tid;
    bool recorded; /**< what the thread submits is to be recorded */
};

/** Says what the calling thread is doing now. */
struct rp_packet_origin rp_packet_origin_now(struct rp_tool *tool);

/**
 * Begins to ask who takes places in the queue.
 * @return NULL: no memory; nothing is known of its packets then
 */
struct rp_packet_origins *rp_packet_origins_begin(const struct rp_hsa_queue *queue);
/** The queue is gone, and nobody takes places in it. NULL does nothing. */
void rp_packet_origins_end(struct rp_packet_origins *origins);

/**
 * Returns the origin of a packet and forgets it. Where nobody was seen to take its place, the
 * calling thread is taken for it.
 * @param origins  of the packet's queue, or NULL
 */
struct rp_packet_origin rp_packet_origins_take(struct rp_packet_origins *origins, uint64_t index);

void rp_packet_origins_hook(const struct rp_hsa_tables *tables);

#endif

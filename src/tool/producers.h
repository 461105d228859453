/**
 * @file producers.h
 * @brief Which packet or copy completes a signal: what those that wait for the signal depend on.
 *
 * Signals are used again, so what counts is the moment of submission: a packet that waits names the
 * producer that was submitted last before it.
 */
#ifndef RP_TOOL_PRODUCERS_H
#define RP_TOOL_PRODUCERS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tool/hsa_abi.h"

enum { RP_PRODUCER_BUCKETS = 4096, RP_PRODUCER_STRIPES = 64, RP_PRODUCERS_KEPT = 4 };

struct rp_producer {
    struct rp_producer *next;
    rp_hsa_signal signal;
    uint64_t orders[RP_PRODUCERS_KEPT]; /**< several decrement one signal; the last ones */
    uint32_t count;                     /**< of all, also those that were not kept */
};

struct rp_producers {
    uint64_t order_count; /**< atomic: kernels, copies and barriers submitted */
    struct rp_producer *buckets[RP_PRODUCER_BUCKETS];
    pthread_mutex_t stripes[RP_PRODUCER_STRIPES];
};

void rp_producers_init(struct rp_producers *producers);
void rp_producers_free(struct rp_producers *producers);

/** Number of what is being submitted; taken before it is handed over. */
uint64_t rp_producers_order(struct rp_producers *producers);

/** @p order completes the signal; alone, or together with what was submitted before. */
void rp_producers_set(struct rp_producers *producers, rp_hsa_signal signal, uint64_t order,
                      bool alone);
/** The signal is destroyed, or what completes it is not known. */
void rp_producers_forget(struct rp_producers *producers, rp_hsa_signal signal);

/** What waits for some signals depends on. */
struct rp_waits {
    uint64_t *orders;
    uint32_t room, count;
    uint32_t unknown_count; /**< signals without a known producer, and producers without room */
};

/** Adds the producers of @p signal, if it is one. */
void rp_producers_wait(struct rp_producers *producers, rp_hsa_signal signal,
                       struct rp_waits *waits);

#endif

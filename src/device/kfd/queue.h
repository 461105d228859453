/**
 * @file queue.h
 * @brief All queues of the process, compute and DMA, and the thread that serves them, round robin.
 *
 * The runtime rings a doorbell with a plain store, which nobody can wait for: the thread looks at
 * the queues' write indices, at once while there is work, then ever more seldom (at most 4 ms
 * apart). Every driver call that may wait for the device kicks it.
 */
#ifndef RP_DEVICE_KFD_QUEUE_H
#define RP_DEVICE_KFD_QUEUE_H

#include <pthread.h>

#include "packet.h"
#include "sdma.h"

enum { RP_QUEUE_LIMIT = 1024 }; /* 8-byte doorbells in the process's two doorbell pages */

/** One of the two is not NULL; both are: the slot is free. */
struct rp_queue_slot {
    struct rp_cp_queue *compute;
    struct rp_sdma_queue *dma;
};

struct rp_queues {
    pthread_mutex_t lock;
    struct rp_queue_slot slots[RP_QUEUE_LIMIT]; /**< index = queue id */
    uint32_t used;                              /**< slots below this were ever in use */
    bool running;                               /**< the thread exists */
    uint32_t callers; /**< threads that want the lock: the server lets them in */
    uint32_t asleep;  /**< futex word: 1 while the server sleeps */
};

void rp_queues_init(struct rp_queues *queues);

/** CREATE_QUEUE on the GPU of @p cp: fills queue_id and doorbell_offset. -EINVAL, -EFAULT, -ENOMEM,
 *  -ENOSPC. */
int rp_queues_create(struct rp_queues *queues, const struct rp_cp *cp,
                     struct rp_kfd_create_queue *args);

/** Returns when the queue's dispatch has been stopped and its memory is no longer used. */
int rp_queues_destroy(struct rp_queues *queues, uint32_t id);

/** Whether there is any. */
bool rp_queues_exist(struct rp_queues *queues);

/** Percentage 0 suspends the queue. */
int rp_queues_update(struct rp_queues *queues, uint32_t id, uint32_t percentage);

/** No queue has a packet that could still complete by itself. */
bool rp_queues_idle(struct rp_queues *queues);

/** How long ago the last dispatch that is under way began to do nothing but wait; 0: one of them
 * works, or there is none. Host time. */
int64_t rp_queues_only_wait_ns(struct rp_queues *queues);

/** From now on the queue's dispatches are timed for so many compute units. 0 or -EINVAL. */
int rp_queues_set_compute_units(struct rp_queues *queues, uint32_t id, uint32_t count);

/** Wakes the server if it sleeps. */
void rp_queues_kick(struct rp_queues *queues);

#endif

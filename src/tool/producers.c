#include "tool/producers.h"

#include <stdlib.h>
#include <string.h>

void rp_producers_init(struct rp_producers *producers)
{
    memset(producers, 0, sizeof(*producers));
    for (size_t i = 0; i < RP_PRODUCER_STRIPES; i++)
        pthread_mutex_init(&producers->stripes[i], NULL);
}

void rp_producers_free(struct rp_producers *producers)
{
    for (size_t i = 0; i < RP_PRODUCER_BUCKETS; i++) {
        while (producers->buckets[i]) {
            struct rp_producer *producer = producers->buckets[i];

            producers->buckets[i] = producer->next;
            free(producer);
        }
    }
}

uint64_t rp_producers_order(struct rp_producers *producers)
{
    return __atomic_add_fetch(&producers->order_count, 1, __ATOMIC_RELAXED);
}

static uint32_t bucket_of(rp_hsa_signal signal)
{
    return (uint32_t)((signal >> 6) * 0x9e3779b97f4a7c15u >> 32) % RP_PRODUCER_BUCKETS;
}

/* With the bucket's lock held. */
static struct rp_producer **find(struct rp_producers *producers, uint32_t bucket,
                                 rp_hsa_signal signal)
{
    struct rp_producer **at = &producers->buckets[bucket];

    while (*at && (*at)->signal != signal)
        at = &(*at)->next;
    return at;
}

void rp_producers_set(struct rp_producers *producers, rp_hsa_signal signal, uint64_t order,
                      bool alone)
{
    uint32_t bucket = bucket_of(signal);
    pthread_mutex_t *lock = &producers->stripes[bucket % RP_PRODUCER_STRIPES];
    struct rp_producer **at, *producer;

    pthread_mutex_lock(lock);
    at = find(producers, bucket, signal);
    if (!*at)
        *at = calloc(1, sizeof(**at)); /* without memory the dependency is an unknown one */
    producer = *at;
    if (producer) {
        producer->signal = signal;
        if (alone)
            producer->count = 0;
        producer->orders[producer->count++ % RP_PRODUCERS_KEPT] = order;
    }
    pthread_mutex_unlock(lock);
}

void rp_producers_forget(struct rp_producers *producers, rp_hsa_signal signal)
{
    uint32_t bucket = bucket_of(signal);
    pthread_mutex_t *lock = &producers->stripes[bucket % RP_PRODUCER_STRIPES];
    struct rp_producer **at, *producer;

    pthread_mutex_lock(lock);
    at = find(producers, bucket, signal);
    producer = *at;
    if (producer)
        *at = producer->next;
    pthread_mutex_unlock(lock);
    free(producer);
}

static void add(struct rp_waits *waits, const struct rp_producer *producer)
{
    uint32_t kept = producer->count < RP_PRODUCERS_KEPT ? producer->count : RP_PRODUCERS_KEPT;

    waits->unknown_count += producer->count - kept;
    for (uint32_t i = 0; i < kept; i++) {
        if (waits->count < waits->room)
            waits->orders[waits->count++] = producer->orders[i];
        else
            waits->unknown_count++;
    }
}

void rp_producers_wait(struct rp_producers *producers, rp_hsa_signal signal, struct rp_waits *waits)
{
    uint32_t bucket = bucket_of(signal);
    pthread_mutex_t *lock = &producers->stripes[bucket % RP_PRODUCER_STRIPES];
    const struct rp_producer *producer;

    if (!signal)
        return;
    pthread_mutex_lock(lock);
    producer = *find(producers, bucket, signal);
    if (producer)
        add(waits, producer);
    else
        waits->unknown_count++;
    pthread_mutex_unlock(lock);
}

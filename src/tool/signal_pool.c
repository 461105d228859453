/**
 * @file signal_pool.c
 * @brief Signals owned by the tool, kept for reuse.
 */
#include "tool/signal_pool.h"

#include <stdlib.h>

enum { GROW_BY = 64 };

void rp_signal_pool_init(struct rp_signal_pool *pool, const struct rp_hsa *hsa, uint64_t attributes)
{
    *pool = (struct rp_signal_pool){.hsa = hsa, .attributes = attributes};
    pthread_mutex_init(&pool->lock, NULL);
}

/* There is always room to give back every signal that exists, so that giving cannot fail. */
static bool make_room(struct rp_signal_pool *pool, size_t count)
{
    rp_hsa_signal *bigger;
    size_t capacity = pool->capacity ? pool->capacity : GROW_BY;

    if (count <= pool->capacity)
        return true;
    while (capacity < count)
        capacity *= 2;
    bigger = realloc(pool->free_signals, capacity * sizeof(*bigger));
    if (!bigger)
        return false;
    pool->free_signals = bigger;
    pool->capacity = capacity;
    return true;
}

static void grow(struct rp_signal_pool *pool, size_t count)
{
    if (!make_room(pool, pool->made + count))
        return;
    for (size_t i = 0; i < count; i++) {
        rp_hsa_signal signal = 0;

        if (pool->hsa->hsa_amd_signal_create(1, 0, NULL, pool->attributes, &signal) !=
                RP_HSA_SUCCESS ||
            !signal)
            return;
        pool->free_signals[pool->free_count++] = signal;
        pool->made++;
    }
}

void rp_signal_pool_reserve(struct rp_signal_pool *pool, size_t count)
{
    pthread_mutex_lock(&pool->lock);
    if (pool->free_count < count)
        grow(pool, count - pool->free_count);
    pthread_mutex_unlock(&pool->lock);
}

rp_hsa_signal rp_signal_pool_take(struct rp_signal_pool *pool)
{
    rp_hsa_signal signal = 0;

    pthread_mutex_lock(&pool->lock);
    if (pool->free_count == 0)
        grow(pool, GROW_BY);
    if (pool->free_count > 0)
        signal = pool->free_signals[--pool->free_count];
    pthread_mutex_unlock(&pool->lock);
    return signal;
}

size_t rp_signal_pool_take_some(struct rp_signal_pool *pool, rp_hsa_signal *ret, size_t most)
{
    size_t count;

    pthread_mutex_lock(&pool->lock);
    if (pool->free_count < most)
        grow(pool, GROW_BY);
    count = pool->free_count < most ? pool->free_count : most;
    for (size_t i = 0; i < count; i++)
        ret[i] = pool->free_signals[--pool->free_count];
    pthread_mutex_unlock(&pool->lock);
    return count;
}

void rp_signal_pool_give_unused(struct rp_signal_pool *pool, const rp_hsa_signal *signals,
                                size_t count)
{
    pthread_mutex_lock(&pool->lock);
    for (size_t i = 0; i < count; i++)
        pool->free_signals[pool->free_count++] = signals[i];
    pthread_mutex_unlock(&pool->lock);
}

void rp_signal_pool_give(struct rp_signal_pool *pool, rp_hsa_signal signal)
{
    struct rp_amd_signal *raw = (struct rp_amd_signal *)signal;

    raw->start_ts = 0;
    raw->end_ts = 0;
    pool->hsa->hsa_signal_store_relaxed(signal, 1);
    pthread_mutex_lock(&pool->lock);
    pool->free_signals[pool->free_count++] = signal;
    pthread_mutex_unlock(&pool->lock);
}

void rp_signal_pool_free(struct rp_signal_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    for (size_t i = 0; i < pool->free_count; i++)
        pool->hsa->hsa_signal_destroy(pool->free_signals[i]);
    pool->made -= pool->free_count;
    pool->free_count = 0;
    if (pool->made == 0) { /* else the array waits for those that are in use */
        free(pool->free_signals);
        pool->free_signals = NULL;
        pool->capacity = 0;
    }
    pthread_mutex_unlock(&pool->lock);
}

/**
 * @file signals.c
 * @brief The tool owns signals, which are kept for reuse.
 */
#include "tracer/completions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/blocked_thread.h"
#include "trace/records.h"
#include "tracer/tracer.h"

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

void rp_signal_pool_free(struct rp_signal_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    for (size_t i = 0; i < pool->free_count; i++)
        pool->hsa->hsa_signal_destroy(pool->free_signals[i]);
    pool->made -= pool->free_count;
    pool->free_count = 0;
    if (pool->made == 0) { /* Otherwise the array waits for those that are in use. */
        free(pool->free_signals);
        pool->free_signals = NULL;
        pool->capacity = 0;
    }
    pthread_mutex_unlock(&pool->lock);
}

void rp_submitters_init(struct rp_submitters *producers)
{
    memset(producers, 0, sizeof(*producers));
    for (size_t i = 0; i < RP_SUBMITTER_STRIPES; i++)
        pthread_mutex_init(&producers->stripes[i], NULL);
}

void rp_submitters_free(struct rp_submitters *producers)
{
    for (size_t i = 0; i < RP_SUBMITTER_BUCKETS; i++) {
        while (producers->buckets[i]) {
            struct rp_submitter *producer = producers->buckets[i];

            producers->buckets[i] = producer->next;
            free(producer);
        }
    }
}

static uint32_t bucket_of(rp_hsa_signal signal)
{
    return (uint32_t)((signal >> 6) * 0x9e3779b97f4a7c15u >> 32) % RP_SUBMITTER_BUCKETS;
}

/* Finds a submitter; the caller holds the bucket's lock. */
static struct rp_submitter **find(struct rp_submitters *producers, uint32_t bucket,
                                  rp_hsa_signal signal)
{
    struct rp_submitter **at = &producers->buckets[bucket];

    while (*at && (*at)->signal != signal)
        at = &(*at)->next;
    return at;
}

void rp_submitters_set(struct rp_submitters *producers, rp_hsa_signal signal, uint64_t order,
                       bool alone)
{
    uint32_t bucket = bucket_of(signal);
    pthread_mutex_t *lock = &producers->stripes[bucket % RP_SUBMITTER_STRIPES];
    struct rp_submitter **at, *producer;

    pthread_mutex_lock(lock);
    at = find(producers, bucket, signal);
    if (!*at)
        *at = calloc(1, sizeof(**at)); /* Without memory the dependency is unknown. */
    producer = *at;
    if (producer) {
        producer->signal = signal;
        if (alone)
            producer->count = 0;
        producer->orders[producer->count++ % RP_SUBMITTERS_KEPT] = order;
    }
    pthread_mutex_unlock(lock);
}

void rp_submitters_forget(struct rp_submitters *producers, rp_hsa_signal signal)
{
    uint32_t bucket = bucket_of(signal);
    pthread_mutex_t *lock = &producers->stripes[bucket % RP_SUBMITTER_STRIPES];
    struct rp_submitter **at, *producer;

    pthread_mutex_lock(lock);
    at = find(producers, bucket, signal);
    producer = *at;
    if (producer)
        *at = producer->next;
    pthread_mutex_unlock(lock);
    free(producer);
}

static void add(struct rp_signal_dependencies *waits, const struct rp_submitter *producer)
{
    uint32_t kept = producer->count < RP_SUBMITTERS_KEPT ? producer->count : RP_SUBMITTERS_KEPT;

    waits->unknown_count += producer->count - kept;
    for (uint32_t i = 0; i < kept; i++) {
        if (waits->count < waits->room)
            waits->orders[waits->count++] = producer->orders[i];
        else
            waits->unknown_count++;
    }
}

void rp_submitters_wait(struct rp_submitters *producers, rp_hsa_signal signal,
                        struct rp_signal_dependencies *waits)
{
    uint32_t bucket = bucket_of(signal);
    pthread_mutex_t *lock = &producers->stripes[bucket % RP_SUBMITTER_STRIPES];
    const struct rp_submitter *producer;

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

/* Keeps count of the runtime's callbacks of signals. */

enum {
    PATIENCE_MS = 10000, /**< for one that gets no processor: see blocked_thread.h for others */
    PATIENCE_GRAPH_MS = 60000,
};

/* These are hsa_signal_condition_t of hsa.h. */
enum { CONDITION_EQ, CONDITION_NE, CONDITION_LT, CONDITION_GTE };

struct rp_handler {
    struct rp_handler *previous, *next;
    uint64_t number;
    rp_hsa_signal signal;
    uint32_t condition;
    int64_t value;
    bool (*callback)(int64_t value, void *data);
    void *data;
    const void *graph;
    uint32_t tid; /**< of the runtime's thread, while .running */
    bool running;
    bool unreadable; /**< the program has destroyed the signal */
    bool stuck;      /**< was waited for in vain */
};

static __thread const void *this_graph;
static __thread bool inside; /* This thread is inside a callback. */

void rp_handlers_init(struct rp_handlers *handlers)
{
    if (handlers->made)
        return; /* Callbacks from an earlier load of the tool may still come. */
    /* A wall clock that is set must not stretch the patience, so this uses the monotonic clock. */
    pthread_condattr_t monotonic;

    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&handlers->lock, NULL);
    pthread_cond_init(&handlers->ended, &monotonic);
    pthread_condattr_destroy(&monotonic);
    handlers->made = true;
}

void rp_handlers_set_graph(void *graph)
{
    this_graph = graph;
}

bool rp_handlers_inside(void)
{
    return inside;
}

static void link_in(struct rp_handlers *handlers, struct rp_handler *h)
{
    pthread_mutex_lock(&handlers->lock);
    h->number = ++handlers->registered;
    h->next = handlers->first;
    if (h->next)
        h->next->previous = h;
    handlers->first = h;
    __atomic_add_fetch(&handlers->count, 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&handlers->lock);
}

static void unlink_locked(struct rp_handlers *handlers, struct rp_handler *h)
{
    if (h->previous)
        h->previous->next = h->next;
    else
        handlers->first = h->next;
    if (h->next)
        h->next->previous = h->previous;
    __atomic_sub_fetch(&handlers->count, 1, __ATOMIC_RELEASE);
}

/* Stands before the runtime's callback. */
static bool on_signal(int64_t value, void *data)
{
    struct rp_handlers *handlers = &rp_the_tool.handlers;
    struct rp_handler *h = data;
    bool again, nested = inside;

    pthread_mutex_lock(&handlers->lock);
    h->running = true;
    h->tid = rp_tool_tid();
    pthread_mutex_unlock(&handlers->lock);
    inside = true;
    again = h->callback(value, h->data);
    inside = nested;
    pthread_mutex_lock(&handlers->lock);
    h->running = false;
    if (!again)
        unlink_locked(handlers, h);
    if (handlers->waiting > 0)
        pthread_cond_broadcast(&handlers->ended);
    pthread_mutex_unlock(&handlers->lock);
    if (!again)
        free(h);
    return again;
}

rp_hsa_status rp_handlers_register(rp_hsa_signal signal, uint32_t condition, int64_t value,
                                   bool (*callback)(int64_t value, void *data), void *data)
{
    struct rp_tool *tool = &rp_the_tool;
    struct rp_handler *h = rp_tool_active(tool) && callback ? calloc(1, sizeof(*h)) : NULL;
    rp_hsa_status status;

    if (!h)
        return tool->hsa.hsa_amd_signal_async_handler(signal, condition, value, callback, data);
    h->signal = signal;
    h->condition = condition;
    h->value = value;
    h->callback = callback;
    h->data = data;
    h->graph = this_graph;
    link_in(&tool->handlers, h);
    /* It may come before this returns. */
    status = tool->hsa.hsa_amd_signal_async_handler(signal, condition, value, on_signal, h);
    if (status != RP_HSA_SUCCESS) {
        pthread_mutex_lock(&tool->handlers.lock);
        unlink_locked(&tool->handlers, h);
        pthread_mutex_unlock(&tool->handlers.lock);
        free(h);
    }
    return status;
}

/* ROCr keeps the signal of a callback until it is over, which it is not while the lock is held and
 * it is in the list. */
static bool signal_has_come(const struct rp_handler *h)
{
    int64_t now = rp_the_tool.hsa.hsa_signal_load_relaxed(h->signal);

    switch (h->condition) {
    case CONDITION_EQ:
        return now == h->value;
    case CONDITION_NE:
        return now != h->value;
    case CONDITION_LT:
        return now < h->value;
    case CONDITION_GTE:
        return now >= h->value;
    default:
        return false;
    }
}

/* Returns the callback that runs; the runtime has one thread for all of them. */
static struct rp_handler *running_one(struct rp_handlers *handlers)
{
    struct rp_handler *h = handlers->first;

    while (h && !h->running)
        h = h->next;
    return h;
}

static bool is_awaited(const struct rp_handler *h, uint64_t upto_number, const void *graph)
{
    if (h->number > upto_number || h->stuck)
        return false;
    if (graph)
        return h->graph == graph;
    return h->running || (h->signal && !h->unreadable && signal_has_come(h));
}

static struct rp_handler *first_awaited(struct rp_handlers *handlers, uint64_t upto_number,
                                        const void *graph)
{
    const struct rp_handler *running = graph ? NULL : running_one(handlers);

    if (running && running->stuck)
        return NULL; /* All others come after it. */
    for (struct rp_handler *h = handlers->first; h; h = h->next)
        if (is_awaited(h, upto_number, graph))
            return h;
    return NULL;
}

static struct timespec in_ms(int64_t ms)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += ms / 1000;
    t.tv_nsec += ms % 1000 * 1000000;
    if (t.tv_nsec >= 1000000000) {
        t.tv_sec++;
        t.tv_nsec -= 1000000000;
    }
    return t;
}

static bool has_passed(const struct timespec *t)
{
    const struct timespec now = in_ms(0);

    return now.tv_sec > t->tv_sec || (now.tv_sec == t->tv_sec && now.tv_nsec >= t->tv_nsec);
}

static struct rp_handler *blocked_one(struct rp_handlers *handlers,
                                      struct rp_blocked_callback *seen)
{
    struct rp_handler *h = running_one(handlers);

    return rp_callback_is_blocked(seen, h ? h->tid : 0, h ? h->number : 0) ? h : NULL;
}

static void give_up(struct rp_tool *tool, struct rp_handler *h)
{
    h->stuck = true;
    rp_tool_log(tool, "a callback of signal %llx does not end: not waited for again",
                (unsigned long long)h->signal);
}

static void wait_for(struct rp_tool *tool, const void *graph, int64_t patience_ms)
{
    struct rp_handlers *handlers = &tool->handlers;
    const struct timespec end = in_ms(patience_ms);
    struct rp_blocked_callback seen = {0};
    struct rp_handler *h;

    pthread_mutex_lock(&handlers->lock);
    const uint64_t upto_number = handlers->registered;
    handlers->waiting++;
    while (first_awaited(handlers, upto_number, graph) && !has_passed(&end)) {
        const struct timespec look = in_ms(RP_BLOCKED_LOOK_MS);

        if (pthread_cond_timedwait(&handlers->ended, &handlers->lock, &look) == 0 || graph)
            continue;
        h = blocked_one(handlers, &seen);
        if (h && !h->stuck)
            give_up(tool, h);
    }
    handlers->waiting--;
    while ((h = first_awaited(handlers, upto_number, graph)))
        give_up(tool, h);
    pthread_mutex_unlock(&handlers->lock);
}

static bool has_any(const struct rp_tool *tool)
{
    return !inside && __atomic_load_n(&tool->handlers.count, __ATOMIC_ACQUIRE) > 0;
}

/* The software device puts off some of those that have come here. */
static void settle_device(const struct rp_tool *tool, bool all)
{
    if (!inside && tool->device)
        tool->device->settle_callbacks(all);
}

void rp_handlers_wait(struct rp_tool *tool)
{
    int saved_errno = errno;

    if (has_any(tool))
        wait_for(tool, NULL, PATIENCE_MS);
    settle_device(tool, false);
    errno = saved_errno;
}

void rp_handlers_wait_graph(struct rp_tool *tool, const void *graph)
{
    int saved_errno = errno;

    if (graph && has_any(tool))
        wait_for(tool, graph, PATIENCE_GRAPH_MS);
    if (graph)
        settle_device(tool, true);
    errno = saved_errno;
}

void rp_handlers_forget(struct rp_tool *tool, rp_hsa_signal signal)
{
    struct rp_handlers *handlers = &tool->handlers;

    if (__atomic_load_n(&handlers->count, __ATOMIC_ACQUIRE) == 0)
        return;
    pthread_mutex_lock(&handlers->lock);
    for (struct rp_handler *h = handlers->first; h; h = h->next)
        if (h->signal == signal)
            h->unreadable = true;
    pthread_mutex_unlock(&handlers->lock);
}

void rp_handlers_hook(const struct rp_hsa_tables *tables)
{
    RP_TOOL_REPLACE(tables->amd, hsa_amd_signal_async_handler, rp_handlers_register);
}

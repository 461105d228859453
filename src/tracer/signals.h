/**
 * @file signals.h
 * @brief The tool owns signals, which are kept for reuse. Grows, never shrinks.
 */
#ifndef RP_TRACER_SIGNALS_H
#define RP_TRACER_SIGNALS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/hsa_abi.h"

struct rp_handler;
struct rp_tool;

struct rp_signal_pool {
    pthread_mutex_t lock;
    const struct rp_hsa *hsa;
    uint64_t attributes; /**< for hsa_amd_signal_create */
    rp_hsa_signal *free_signals;
    size_t free_count, capacity;
    size_t made; /**< signals that exist, free or in use */
};

void rp_signal_pool_init(struct rp_signal_pool *pool, const struct rp_hsa *hsa,
                         uint64_t attributes);
/**
 * Makes sure that at least @p count signals are free; those that cannot be created are left out.
 */
void rp_signal_pool_reserve(struct rp_signal_pool *pool, size_t count);
/**
 * Takes up to @p most signals with value 1 and times 0.
 * @return how many: none when none is free and none can be created
 */
size_t rp_signal_pool_take_some(struct rp_signal_pool *pool, rp_hsa_signal *ret, size_t most);
/** Takes one of them, or returns 0. */
static inline rp_hsa_signal rp_signal_pool_take(struct rp_signal_pool *pool)
{
    rp_hsa_signal signal = 0;

    rp_signal_pool_take_some(pool, &signal, 1);
    return signal;
}

/** Returns signals of rp_signal_pool_take_some() unused. */
void rp_signal_pool_give_unused(struct rp_signal_pool *pool, const rp_hsa_signal *signals,
                                size_t count);
/** Gives back a signal, which the device must not use any more. */
static inline void rp_signal_pool_give(struct rp_signal_pool *pool, rp_hsa_signal signal)
{
    struct rp_amd_signal *raw = (struct rp_amd_signal *)signal;

    raw->start_ts = 0;
    raw->end_ts = 0;
    pool->hsa->hsa_signal_store_relaxed(signal, 1);
    rp_signal_pool_give_unused(pool, &signal, 1);
}

/** Destroys the free signals; those in use stay with the device. */
void rp_signal_pool_free(struct rp_signal_pool *pool);

/* Waiters for a signal depend on the packet or copy that completes it. Signals are used again, so
 * the moment of submission counts: a packet that waits names the producer that was submitted last
 * before it.
 */

enum { RP_SUBMITTER_BUCKETS = 4096, RP_SUBMITTER_STRIPES = 64, RP_SUBMITTERS_KEPT = 4 };

struct rp_submitter {
    struct rp_submitter *next;
    rp_hsa_signal signal;
    uint64_t orders[RP_SUBMITTERS_KEPT]; /**< several decrement one signal; the last ones */
    uint32_t count;                      /**< of all, also those that were not kept */
};

struct rp_submitters {
    uint64_t order_count; /**< atomic: kernels, copies and barriers submitted */
    struct rp_submitter *buckets[RP_SUBMITTER_BUCKETS];
    pthread_mutex_t stripes[RP_SUBMITTER_STRIPES];
};

void rp_submitters_init(struct rp_submitters *producers);
void rp_submitters_free(struct rp_submitters *producers);

/** Returns the number of what is being submitted. It is taken before the packet is handed over. */
static inline uint64_t rp_submitters_order(struct rp_submitters *producers)
{
    return __atomic_add_fetch(&producers->order_count, 1, __ATOMIC_RELAXED);
}

/** Says that @p order completes the signal, alone or together with what was submitted before. */
void rp_submitters_set(struct rp_submitters *producers, rp_hsa_signal signal, uint64_t order,
                       bool alone);
/** The signal is destroyed, or what completes it is not known. */
void rp_submitters_forget(struct rp_submitters *producers, rp_hsa_signal signal);

/** Waiters for some signals depend on these. */
struct rp_signal_dependencies {
    uint64_t *orders;
    uint32_t room, count;
    uint32_t unknown_count; /**< signals without a known producer, and producers without room */
};

/** Adds the producers of @p signal, if it is one. */
void rp_submitters_wait(struct rp_submitters *producers, rp_hsa_signal signal,
                        struct rp_signal_dependencies *waits);

/* The runtime's callbacks of signals, so that what they look at is taken apart after them.
 *
 * hip_hooks.h says why. Ends of streams for which there is no call (of a thread that has one of its
 * own) are covered, too: they destroy their signals first, which waits for callbacks that are due.
 */

struct rp_handlers {
    pthread_mutex_t lock;
    pthread_cond_t ended;
    struct rp_handler *first; /**< not yet over, newest first */
    uint32_t count;           /**< atomic: of these */
    uint32_t waiting;         /**< threads that wait for .ended */
    uint64_t registered;      /**< in all */
    bool made;
};

void rp_handlers_init(struct rp_handlers *handlers);

/**
 * Tests whether this thread is in a callback, where waiting for another callback would never end.
 */
bool rp_handlers_inside(void);

/**
 * Does what hsa_amd_signal_async_handler does, for the tool's own callbacks that the program's
 * depend on.
 */
rp_hsa_status rp_handlers_register(rp_hsa_signal signal, uint32_t condition, int64_t value,
                                   bool (*callback)(int64_t value, void *data), void *data);

void rp_handlers_hook(const struct rp_hsa_tables *tables);

/** Callbacks that this thread registers from now on belong to @p graph. NULL: to none */
void rp_handlers_set_graph(void *graph);

/**
 * Waits for the callbacks that run or whose signals have come. A callback may wait for this thread
 * or for something else in the program. If it has slept for a second, or used a second of
 * processor time, it is not waited for again, nor are those behind it until it ends. The same
 * holds for a callback that has not ended after ten seconds. Inside a callback this does nothing.
 */
void rp_handlers_wait(struct rp_tool *tool);

/** Waits for all callbacks of a graph's launches, a minute at most. Does nothing inside one. */
void rp_handlers_wait_graph(struct rp_tool *tool, const void *graph);

/** The program gives up a signal: it is not read any more. */
void rp_handlers_forget(struct rp_tool *tool, rp_hsa_signal signal);

#endif

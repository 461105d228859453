/**
 * @file completions.h
 * @brief This header says what has been submitted but not yet recorded, and how its times are
 * collected.
 *
 * The program's own completion signals stay in its packets, so that nothing the program or another
 * queue waits for passes through the host: no added latency, no reordering, and hipEvent times are
 * the ones the device wrote. Three ways exist:
 *
 *   OWN      the packet had no signal: it gets one of ours, without interrupt.
 *   WATCH    the packet has the program's signal: it is left alone. Its times stay readable until
 *            the program uses the signal again, which it cannot do without first changing the value
 *            or destroying it; those functions are hooked (completions.c) and harvest first.
 *   FORWARD  the same signal is awaited by more than one packet (its value is not 1, or an earlier
 *            packet with it is pending), so its times would be overwritten. The packet gets a
 *            signal of ours with an interrupt; ROCr's event thread copies times and subtracts 1
 *            from the program's signal. rocprofiler does this for every packet; HIP never needs it.
 *
 * Harvesting happens in a thread of the tool, and also in the program's threads when they are about
 * to learn that something completed (a wait or load that returns a completed value): whatever a
 * program can know to be complete is in the file before it can act on it, even by _exit().
 */
#ifndef RP_TRACER_COMPLETIONS_H
#define RP_TRACER_COMPLETIONS_H

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/records.h"
#include "tracer/hsa_abi.h"

struct rp_handler;
struct rp_pending_list;
struct rp_tool;

/* Producer and consumer do not write to the same cache lines: two of 64 bytes, which are fetched
 * together, lie between. */
enum { RP_PENDING_CHUNK_ENTRIES = 128, RP_PENDING_APART_BYTES = 128 };

/**
 * Entries are in order of submission. There is one producer (the queue's lock, or copies_lock) and
 * one consumer (harvest.lock). Entries do not move until all of their chunk are done.
 */
struct rp_pending_list {
    struct rp_pending_chunk *tail;  /**< producer */
    uint64_t published;             /**< atomic, written by the producer: entries so far */
    struct rp_pending_chunk *spare; /**< atomic: emptied by the consumer for the producer */
    uint8_t apart[RP_PENDING_APART_BYTES];
    struct rp_pending_list *next;  /**< of rp_completion_reader.lines */
    struct rp_pending_chunk *head; /**< consumer */
    uint32_t head_index;           /**< consumer */
    uint64_t finished;             /**< atomic, written by the consumer: of those published */
    uint64_t passed;               /**< atomic, likewise: highest position that finished */
};

enum rp_pending_path { RP_PENDING_OWN, RP_PENDING_WATCH, RP_PENDING_FORWARD, RP_PENDING_COPY };

struct rp_pending {
    struct rp_pending_list *line;
    uint64_t position;     /**< packets handed over on this line up to and with this one */
    rp_hsa_signal signal;  /**< completes and carries the times */
    rp_hsa_signal program; /**< FORWARD: the program's signal */
    uint64_t start0, end0; /**< raw times in the signal at submission: unchanged = never written */
    struct rp_pending *hash_next;
    enum rp_pending_path way;
    bool done;       /**< under harvest.lock */
    bool traced;     /**< the device traces its waves */
    bool unrecorded; /**< it is only followed to its end */
    union {
        struct rp_rec_dispatch dispatch;
        struct rp_rec_copy copy;
    } rec;
};

struct rp_pending_chunk {
    struct rp_pending_chunk *next; /**< atomic */
    uint32_t filled;               /**< atomic: entries the consumer may read */
    struct rp_pending entries[RP_PENDING_CHUNK_ENTRIES];
};

enum { RP_COMPLETION_BUCKETS = 4096, RP_COMPLETION_STRIPES = 64 };

struct rp_completion_reader {
    pthread_mutex_t lock;
    uint64_t pending_dispatches;                       /**< atomic */
    uint64_t pending_copies;                           /**< atomic */
    struct rp_pending *buckets[RP_COMPLETION_BUCKETS]; /**< WATCH and COPY by signal */
    pthread_mutex_t stripes[RP_COMPLETION_STRIPES];
    struct rp_pending_list *lines; /**< under .lock: those of queues, the newest first */
    struct rp_pending_list copies;
    pthread_mutex_t copies_lock; /**< producers of copies */
    pthread_t thread;
    bool thread_running;
    uint32_t stop; /**< atomic */
    uint32_t idle; /**< atomic: the thread sleeps on wake */
    sem_t wake;
};

void rp_completions_init(struct rp_completion_reader *harvest);

/** Makes the first chunk of a list. @return -1 when out of memory */
int rp_pending_list_init(struct rp_pending_list *line);
void rp_pending_list_free(struct rp_pending_list *line);
/** Its entries are harvested from now on (the first list starts the thread that does so), or no
 * longer; with harvest.lock held. */
void rp_completions_add_list(struct rp_tool *tool, struct rp_pending_list *line);
void rp_completions_remove_list(struct rp_completion_reader *harvest,
                                const struct rp_pending_list *line);
/**
 * Gives the producer an entry to fill, which is zeroed except for .rec, or NULL when out of
 * memory. Readers do not see it until it is published.
 */
struct rp_pending *rp_pending_list_next(struct rp_pending_list *line);

/** The producer has filled the entry; from here on it can complete. */
void rp_completions_publish(struct rp_tool *tool, struct rp_pending_list *line,
                            struct rp_pending *entry);

/**
 * Tests whether @p signal still belongs to an unfinished entry. Entries that are complete are
 * finished first.
 */
bool rp_completions_is_pending(struct rp_tool *tool, rp_hsa_signal signal);
/** The program saw a completed signal: records everything complete. */
void rp_completions_read(struct rp_tool *tool);

/** The runtime refused what was published last on the list of copies. */
void rp_completions_withdraw(struct rp_tool *tool, struct rp_pending *entry);
/** The packet processor finished a FORWARD entry. */
void rp_completions_forwarded(struct rp_tool *tool, struct rp_pending *entry);

/**
 * Gives up what is left of a line, which is no longer among those that are harvested; counts it as
 * lost. Takes harvest.lock. @p destroyed: its queue is gone, no packet processor will touch the
 * signals any more.
 * @return whether the runtime may still call back with an entry of the line, which then must stay
 */
bool rp_completions_abandon(struct rp_tool *tool, struct rp_pending_list *line, bool destroyed);

/** Puts the hooks of functions by which the program learns of completions into the tables. */
void rp_signals_hook(const struct rp_hsa_tables *tables);

/** Ends the thread; waits until nothing is pending, or nothing moved for @p patience_ms. */
void rp_completions_end(struct rp_tool *tool, unsigned patience_ms);
/** Bounded wait for one line. */
void rp_completions_drain_list(struct rp_tool *tool, struct rp_pending_list *line,
                               unsigned patience_ms);

/* The tool owns signals, which are kept for reuse. Grows, never shrinks. */

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

/** Returns signals of rp_signal_pool_take_some() unused. */
void rp_signal_pool_give_unused(struct rp_signal_pool *pool, const rp_hsa_signal *signals,
                                size_t count);

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
 * tracer.h says why. Ends of streams for which there is no call (of a thread that has one of its
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
/** Takes one of them, or returns 0. */
static inline rp_hsa_signal rp_signal_pool_take(struct rp_signal_pool *pool)
{
    rp_hsa_signal signal = 0;

    rp_signal_pool_take_some(pool, &signal, 1);
    return signal;
}
/** Gives back a signal, which the device must not use any more. */
static inline void rp_signal_pool_give(struct rp_signal_pool *pool, rp_hsa_signal signal)
{
    struct rp_amd_signal *raw = (struct rp_amd_signal *)signal;

    raw->start_ts = 0;
    raw->end_ts = 0;
    pool->hsa->hsa_signal_store_relaxed(signal, 1);
    rp_signal_pool_give_unused(pool, &signal, 1);
}

/** Returns the number of what is being submitted. It is taken before the packet is handed over. */
static inline uint64_t rp_submitters_order(struct rp_submitters *producers)
{
    return __atomic_add_fetch(&producers->order_count, 1, __ATOMIC_RELAXED);
}

#endif

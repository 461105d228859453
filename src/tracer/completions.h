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
#include <stdint.h>

#include "trace/records.h"
#include "tracer/hsa_abi.h"

struct rp_pending_list;
struct rp_tool;

enum rp_pending_path { RP_PENDING_OWN, RP_PENDING_WATCH, RP_PENDING_FORWARD, RP_PENDING_COPY };

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

struct rp_pending {
    struct rp_pending_list *line;
    uint64_t position;     /**< packets handed over on this line up to and with this one */
    rp_hsa_signal signal;  /**< completes and carries the times */
    rp_hsa_signal program; /**< FORWARD: the program's signal */
    uint64_t start0, end0; /**< raw times in the signal at submission: unchanged = never written */
    struct rp_pending *hash_next;
    enum rp_pending_path way;
    bool done;   /**< under harvest.lock */
    bool traced; /**< the device traces its waves */
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

/** Ends the thread; waits until nothing is pending, or nothing moved for @p patience_ms. */
void rp_completions_end(struct rp_tool *tool, unsigned patience_ms);
/** Bounded wait for one line. */
void rp_completions_drain_list(struct rp_tool *tool, struct rp_pending_list *line,
                               unsigned patience_ms);

#endif

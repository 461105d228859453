/**
 * @file command_processor.h
 * @brief The device clock: one virtual counter per process, of the rate that the architecture's
 *        timestamps have (rp_arch.timestamp_mhz). Host time never enters it.
 *
 * It moves only when a packet completes (to the packet's end). The runtime's readings move by a
 * tick each, so that ROCr's calibration pairs differ and its ratio stays exactly that of the rates
 * (10 ns per tick at 100 MHz); they do not move the clock itself, because how often ROCr reads
 * depends on the host's time.
 */
#ifndef RP_DEVICE_DRIVER_COMMAND_PROCESSOR_H
#define RP_DEVICE_DRIVER_COMMAND_PROCESSOR_H

#include <linux/futex.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/map.h"
#include "base/monotonic_clock.h"
#include "base/vec.h"
#include "device/driver/kfd_abi.h"
#include "device/exec/dispatch.h"
#include "device/timing/timing_model.h"
#include "trace/records.h"

struct rp_counter_results;
struct rp_counts;
struct rp_dispatch;
struct rp_exec_host;
struct rp_fault;
struct rp_sdma_queue;
struct rp_store_times;
struct rp_trace_requests;

/* Wakes host threads that wait for the device without spinning.
 *
 * One for the process: the device rings it after every store to a signal, and whoever waits looks
 * at the signal again.
 */

/** How often the bell has rung (wraps). Read it before looking at what is waited for. */
uint32_t rp_host_wakeups(void);

/** Something that a thread may wait for has changed. A system call only if one waits. */
void rp_host_wake(void);

/** Sleeps until the bell has rung since @p seen was read, at most @p ns; may return early. */
void rp_host_sleep(uint32_t seen, uint64_t ns);

struct rp_clock {
    uint32_t mhz; /**< ticks per microsecond */
    uint64_t ticks;
    uint64_t sampled; /**< the last reading given out: at or ahead of ticks at that moment */
};

/* When, in modelled time, the host submitted a packet.
 *
 * The host is infinitely fast: what it submits, it submits at the end of the latest piece of work
 * that it had waited for or seen complete by then, in modelled time. What has happened to end by
 * the host's clock, and so depends on how busy the machine is, does not count.
 *
 * Nobody sees the doorbells, so the submission is told from the queues' write indices: before the
 * host learns of an end, a stamp is put behind everything that stands in the queues by then.
 *
 * While a call is open whose packets may get a later time when it closes, packets that came since
 * it was opened are held.
 *
 * Not active (a program whose HSA functions are not seen, see signal_hooks.h): a packet is
 * submitted when the device sees it, at the latest end so far.
 */

/** Packets below the index, and not below that of the stamp before, were submitted at .ticks. */
struct rp_happens_before_stamp {
    uint64_t index, ticks;
};

/** One queue, of packets or bytes. */
struct rp_happens_before_queue {
    const uint64_t *written; /**< the queue's write index */
    uint64_t stamped;        /**< below this everything has a stamp */
    struct rp_happens_before_stamp *stamps;
    size_t first, count, capacity; /**< [first, count) are in use */
    struct rp_happens_before_queue *next;
};

struct rp_happens_before {
    pthread_mutex_t lock;
    bool active;
    uint64_t known; /**< the latest end that the host knows of */
    uint32_t open;  /**< calls */
    uint64_t floor; /**< of those that have closed while others are open */
    int64_t opened_ns;
    uint32_t hold_nothing; /**< how many times that was asked for */
    struct rp_happens_before_queue *lines;
};

/** @param now_ticks  where modelled time begins */
static inline void rp_happens_before_init(struct rp_happens_before *causal, uint64_t now_ticks)
{
    *causal = (struct rp_happens_before){.known = now_ticks};
    pthread_mutex_init(&causal->lock, NULL);
}

/** From now on; for good. */
static inline void rp_happens_before_activate(struct rp_happens_before *causal)
{
    __atomic_store_n(&causal->active, true, __ATOMIC_RELEASE);
}
static inline bool rp_happens_before_is_active(const struct rp_happens_before *causal)
{
    return __atomic_load_n(&causal->active, __ATOMIC_ACQUIRE);
}

/** Before the queue's first packet. */
void rp_happens_before_add(struct rp_happens_before *causal, struct rp_happens_before_queue *line,
                           const uint64_t *written, uint64_t read);
/** Also for a line that was never added. */
void rp_happens_before_remove(struct rp_happens_before *causal,
                              struct rp_happens_before_queue *line);

/** The host knows of an end. Returns whether that is news. */
bool rp_happens_before_learn(struct rp_happens_before *causal, uint64_t ticks);

static inline uint64_t rp_happens_before_known(const struct rp_happens_before *causal)
{
    return __atomic_load_n(&causal->known, __ATOMIC_ACQUIRE);
}

/** Around a call of the host that may submit packets: they are held until it is over, */
void rp_happens_before_open(struct rp_happens_before *causal);
/** and then were submitted at @p floor_ticks at the earliest. */
void rp_happens_before_close(struct rp_happens_before *causal, uint64_t floor_ticks);

/** Calls that are open wait for who now submits: between the two calls nothing is held. */
static inline void rp_happens_before_hold_nothing(struct rp_happens_before *causal, bool begins)
{
    pthread_mutex_lock(&causal->lock);
    causal->hold_nothing += begins ? 1u : -1u;
    causal->opened_ns = rp_now_ns(); /* the open calls have just begun to get on */
    pthread_mutex_unlock(&causal->lock);
}

/**
 * When the packet at @p index, the oldest of its queue, was submitted.
 * @return false while it is held
 */
bool rp_happens_before_submitted(struct rp_happens_before *causal,
                                 struct rp_happens_before_queue *line, uint64_t index,
                                 uint64_t *ret_ticks);

/* KFD events: what a sleeping host thread waits for and what a completing packet sets.
 *
 * Semantics of the driver: an auto-reset event wakes one wait and clears; a signal event also
 * carries an age, so that a waiter that names the age it has seen never misses a set.
 */

struct rp_event {
    bool used, auto_reset, signaled;
    uint32_t type; /**< enum rp_kfd_event_type */
    uint64_t age;
    struct rp_kfd_memory_exception memory; /**< of a MEMORY event */
};

/** A wait in progress. */
struct rp_waiter {
    const struct rp_kfd_event_data *data;
    uint32_t count;
    bool wait_for_all;
    pid_t tid;
    struct rp_waiter *next;
};

enum { RP_EVENT_SERVERS = 16 };

struct rp_events {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct rp_waiter *waiters;
    /* Threads that ever waited for several events at once: the runtime's own, which run the
     * callbacks of completed signals between two waits. 0 = free. */
    pid_t servers[RP_EVENT_SERVERS];
    struct rp_event slots[RP_KFD_EVENT_LIMIT]; /**< index = event id; 0 is never given out */
};

void rp_events_init(struct rp_events *events);

/** Returns 0, -EINVAL (type) or -ENOSPC. */
int rp_events_create(struct rp_events *events, uint32_t type, bool auto_reset, uint32_t *ret_id);

enum rp_event_change { RP_EVENT_SET, RP_EVENT_RESET, RP_EVENT_DESTROY };

/** 0, or -EINVAL: there is no such event. */
int rp_events_change(struct rp_events *events, uint32_t id, enum rp_event_change change);

/** Reports a memory exception on every MEMORY event; returns how many there were. */
unsigned rp_events_memory_fault(struct rp_events *events,
                                const struct rp_kfd_memory_exception *what);

/**
 * Waits for one (or all) of the events. @p timeout_ms: 0 polls, UINT32_MAX never ends.
 * Writes ages and exception data of the events that fired back into @p data.
 * @return 0 with *ret_result = enum rp_kfd_wait_result, or -EINVAL for an unknown event
 */
int rp_events_wait(struct rp_events *events, struct rp_kfd_event_data *data, uint32_t count,
                   bool wait_for_all, uint32_t timeout_ms, uint32_t *ret_result);

/** True when every server thread but the caller waits, and for nothing that has already fired. */
bool rp_events_quiet(struct rp_events *events);

/* The packet processor: consumes one AQL queue's packets in order.
 *
 * A queue runs one packet at a time; several queues are interleaved by the caller.
 * All memory is reached through struct rp_exec_host, so a test can give it any memory.
 */

/* Stores to HSA signals the way the hardware makes them. */

/** The last store to an address by the device, or by the host if it is seen (signal_hooks.h). */
struct rp_store_time {
    uint64_t ticks;
    int64_t value;   /**< what it left; when something else is there, the times say nothing */
    uint32_t looks;  /**< of the host, since, that did not tell it of the end (signal_hooks.h) */
    int64_t host_ns; /**< CLOCK_MONOTONIC when it was stored */
};

/**
 * When what signals hold was stored. The DMA engines complete a signal with a bare atomic, and the
 * host stores without any time, so the signal itself does not say when; a packet that waits for it
 * must not start before. No two addresses share an entry, so that
 * modelled time does not depend on where they are. After rp_store_times_init; not initialised =
 * NULL in rp_cp.
 */
struct rp_store_times {
    pthread_mutex_t lock; /**< a leaf: nothing else is taken under it */
    struct rp_idmap addresses;
    struct {
        RP_VEC(struct rp_store_time);
    } stores; /**< by the number of the address */
};

/** What the packet processors work with; one per GPU. */
struct rp_cp {
    const struct rp_exec_host *host;
    const struct rp_arch *arch;
    struct rp_clock *clock;
    struct rp_events *events;
    int report_fd;   /**< where a fault's line goes: 2 */
    uint32_t gpu_id; /**< KFD's */
    char label[24];  /**< "GPU 1, " in that line; empty when there is one GPU only */
    /** Whether @p va is the program's own memory, and XNACK is off; called with host->ctx. */
    bool (*is_programs)(void *ctx, uint64_t va);
    int64_t patience_ns; /**< before a dispatch that waits, or goes on and on, is mentioned */
    struct rp_store_times *stores; /**< command_processor.h; NULL: DMA completions carry no time */
    struct rp_happens_before *causal;   /**< when the host submits; NULL: when the device sees it */
    struct rp_counter_results *counted; /**< hardware counters (dispatch_results.h); NULL: none */
    struct rp_trace_requests *traced;   /**< thread traces (dispatch_results.h); NULL: none */
};

struct rp_cp_queue {
    uint32_t id;
    const struct rp_cp *cp;      /**< of its GPU */
    uint64_t queue_va;           /**< amd_queue_t */
    struct rp_amd_queue *shared; /**< the same, in this process */
    uint8_t *ring;
    uint64_t ring_va;
    uint32_t ring_packets; /**< power of two */
    bool enabled;          /**< percentage > 0 */
    bool faulted;          /**< reported; nothing more is consumed */
    uint64_t read_index;   /**< next packet */
    uint64_t end_ticks;    /**< when the previous packet ended */
    bool begun;            /**< the packet at read_index was looked at, seen_ticks is valid */
    uint64_t seen_ticks;   /**< device time when it was submitted */
    struct rp_happens_before_queue line;
    uint64_t start_ticks;   /**< of the running dispatch */
    uint32_t compute_units; /**< left by the CU mask; 0 = all */
    struct rp_dispatch *dispatch;
    bool traced;                    /**< of the running dispatch: a thread trace is wanted, */
    struct rp_threads_request wish; /**< of these waves */
    int64_t waits_since_ns; /**< host time since when all of the dispatch waits; 0 = it does not */
    bool waits_told;        /**< of the running dispatch: that was reported */
    uint64_t busy_told;     /**< the kernel whose long run was reported last */
};

enum rp_cp_progress {
    RP_CP_IDLE,     /**< nothing to do: empty, disabled or faulted */
    RP_CP_PROGRESS, /**< consumed a packet or executed instructions */
    RP_CP_WAITING,  /**< a barrier packet waits for its signals */
};

/* The DMA engine: consumes one SDMA queue's packets in order.
 *
 * As command_processor.h: one queue runs one packet at a time, several are interleaved by the
 * caller, memory is reached through struct rp_exec_host. Large packets are done in
 * pieces.
 */

struct rp_sdma_queue {
    uint32_t id;
    const struct rp_cp *cp; /**< of its GPU */
    bool enabled;           /**< percentage > 0 */
    bool faulted;           /**< reported; nothing more is consumed */
    uint8_t *ring;
    uint64_t ring_va;
    uint32_t ring_bytes; /**< power of two */
    /* Both pointers count bytes and never wrap. */
    uint64_t *read_pointer, *write_pointer;
    uint64_t read_bytes;      /**< next packet */
    uint64_t batch_end_bytes; /**< packets below this were seen at seen_ticks */
    uint64_t seen_ticks;
    struct rp_happens_before_queue line;
    uint64_t end_ticks;   /**< when the previous packet ended */
    uint64_t done;        /**< of the packet at read_bytes: bytes, or rows of a rectangle */
    bool streaming;       /**< the previous packet moved data */
    uint64_t fault_va;    /**< after a fault: the address that was not mapped, or 0 */
    bool fault_read_only; /**< the fault was a write */
};

/**
 * Binds a queue to its memory. @p queue must be zeroed.
 * @return 0, -EINVAL (sizes, alignment), -EFAULT (not mapped)
 */
int rp_sdma_queue_init(const struct rp_cp *cp, struct rp_sdma_queue *queue, uint64_t ring_va,
                       uint32_t ring_bytes, uint64_t read_pointer_va, uint64_t write_pointer_va);

/**
 * Does a bounded piece of work: at most about @p budget_bytes moved. After a packet that cannot
 * be done, one line is on cp->report_fd and queue->faulted is set.
 */
enum rp_cp_progress rp_sdma_step(const struct rp_cp *cp, struct rp_sdma_queue *queue,
                                 uint64_t budget_bytes);

/** Undoes rp_sdma_queue_init, also one that failed. */
static inline void rp_sdma_queue_close(struct rp_sdma_queue *queue)
{
    if (queue->cp && queue->cp->causal)
        rp_happens_before_remove(queue->cp->causal, &queue->line);
}

/** Empty, disabled or faulted: rp_sdma_step would find nothing to do. */
static inline bool rp_sdma_queue_idle(const struct rp_sdma_queue *queue)
{
    return !queue->enabled || queue->faulted ||
           queue->read_bytes >= __atomic_load_n(queue->write_pointer, __ATOMIC_ACQUIRE);
}

/* All queues of the process, compute and DMA, and the thread that serves them, round robin.
 *
 * The runtime rings a doorbell with a plain store, which nobody can wait for: the thread looks at
 * the queues' write indices, at once while there is work, then ever more seldom (at most 4 ms
 * apart). Every driver call that may wait for the device kicks it.
 */

enum { RP_QUEUE_LIMIT = 1024 }; /* 8-byte doorbells in the process's two doorbell pages */

/** One of the two is not NULL; both are: the slot is free. */
struct rp_queue_slot {
    struct rp_cp_queue *compute;
    struct rp_sdma_queue *dma;
};

enum rp_queue_change {
    RP_QUEUE_PERCENTAGE,    /**< 0 suspends it */
    RP_QUEUE_COMPUTE_UNITS, /**< for so many its dispatches are timed; only of a compute queue */
};

struct rp_queues {
    pthread_mutex_t lock;
    struct rp_queue_slot slots[RP_QUEUE_LIMIT]; /**< index = queue id */
    uint32_t used;                              /**< slots below this were ever in use */
    bool running;                               /**< the thread exists */
    uint32_t callers; /**< threads that want the lock: the server lets them in */
    uint32_t asleep;  /**< futex word: 1 while the server sleeps */
};

static inline void rp_queues_init(struct rp_queues *queues)
{
    *queues = (struct rp_queues){0};
    pthread_mutex_init(&queues->lock, NULL);
}

/** CREATE_QUEUE on the GPU of @p cp: fills queue_id and doorbell_offset. -EINVAL, -EFAULT, -ENOMEM,
 *  -ENOSPC. */
int rp_queues_create(struct rp_queues *queues, const struct rp_cp *cp,
                     struct rp_kfd_create_queue *args);

/** Returns when the queue's dispatch has been stopped and its memory is no longer used. */
int rp_queues_destroy(struct rp_queues *queues, uint32_t id);

/** Whether there is any. */
bool rp_queues_exist(struct rp_queues *queues);

/** Changes a queue. @return 0 or -EINVAL */
int rp_queues_change(struct rp_queues *queues, uint32_t id, enum rp_queue_change change,
                     uint32_t value);

/** No queue has a packet that could still complete by itself. */
bool rp_queues_idle(struct rp_queues *queues);

/** How long ago the last dispatch that is under way began to do nothing but wait; 0: one of them
 * works, or there is none. Host time. */
int64_t rp_queues_only_wait_ns(struct rp_queues *queues);

/** Wakes the server if it sleeps. */
static inline void rp_queues_kick(struct rp_queues *queues)
{
    if (__atomic_exchange_n(&queues->asleep, 0, __ATOMIC_SEQ_CST))
        syscall(SYS_futex, &queues->asleep, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static inline void rp_store_times_init(struct rp_store_times *times)
{
    *times = (struct rp_store_times){0};
    pthread_mutex_init(&times->lock, NULL);
}
static inline void rp_store_times_release(struct rp_store_times *times)
{
    rp_idmap_free(&times->addresses);
    rp_vec_free(&times->stores);
}

/** The signal at @p va in this process, or NULL if it is not mapped for writing. */
static inline struct rp_amd_signal *rp_signal_at(const struct rp_exec_host *host, uint64_t va)
{
    if (va % sizeof(uint64_t))
        return NULL;
    return host->translate(host->ctx, va, sizeof(struct rp_amd_signal), 1);
}

/**
 * End of a packet: timestamps, then the value goes down by one, then mailbox and event.
 * @return 0, or -EFAULT when the signal is not mapped; va 0 = no signal, 0
 */
int rp_signal_complete(const struct rp_cp *cp, uint64_t va, uint64_t start_ticks,
                       uint64_t end_ticks);

/** Stores @p value (queue errors) and wakes the waiters. 0 or -EFAULT. */
int rp_signal_store(const struct rp_cp *cp, uint64_t va, int64_t value);

/**
 * With the lock held: the entry of an address, valid until the lock is given.
 * @param make  if there is none, it is made
 * @return NULL: there is none, or no memory
 */
struct rp_store_time *rp_store_time_of(struct rp_store_times *times, uint64_t va, bool make);

/**
 * Around a DMA engine's store at device time @p ticks to the eight bytes that @p va is in: before
 * the first nobody sees the store, after the second its time is known to who does.
 */
static inline void rp_signal_store_begin(const struct rp_cp *cp)
{
    if (cp->stores)
        pthread_mutex_lock(&cp->stores->lock);
}
void rp_signal_store_end(const struct rp_cp *cp, uint64_t va, const void *at, uint64_t ticks);

/**
 * When the value at @p value_va (of a signal, if it is one) got what it holds, never later than
 * now. Not known (neither the device wrote it nor the host by a function that is seen): now, or
 * with @p cp->causal not active the end that the signal carries, or 0.
 */
uint64_t rp_signal_end_ticks(const struct rp_cp *cp, uint64_t value_va);

/** s_sendmsg: wakes the event whose low bits are in @p m0. */
void rp_signal_interrupt(struct rp_events *events, uint32_t m0);

/* Turns a dispatch that cannot go on into what the runtime sees of it, and one line. */

/**
 * Reports a kernel's fault: one line on cp->report_fd naming kernel, reason, PC and lane, indented
 * lines with the C++ name, the place in the grid and the instructions before it, and the error code
 * in the queue's inactive signal. The queue stops.
 */
void rp_fault_kernel(const struct rp_cp *cp, struct rp_cp_queue *queue, uint64_t kernel_object_va,
                     const struct rp_fault *fault);

/**
 * Says on cp->report_fd that after cp->patience_ns a kernel is still not over.
 * @param counts  how far it is; NULL: it has only waited
 */
void rp_fault_long(const struct rp_cp *cp, uint64_t kernel_object_va,
                   const struct rp_counts *counts);

/** As rp_fault_kernel, for a packet that the processor refuses. @p why is a complete phrase. */
void rp_fault_packet(const struct rp_cp *cp, struct rp_cp_queue *queue, uint32_t error,
                     const char *why);

/** The line for a DMA packet that cannot be done; whom to tell is the caller's business. */
void rp_fault_sdma(const struct rp_cp *cp, const struct rp_sdma_queue *queue, const char *why);

/** Stops a queue that did nothing wrong itself: the runtime only listens to compute queues. */
void rp_fault_stop(const struct rp_cp *cp, struct rp_cp_queue *queue, uint32_t error);

/* The debug log: nothing unless ROCM_PERF_DEVICE_DEBUG names a file. Thread safe; keeps errno. */

/** Appends one line (the newline is added). */
void rp_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static inline uint64_t rp_clock_now(const struct rp_clock *clock)
{
    return __atomic_load_n(&clock->ticks, __ATOMIC_ACQUIRE);
}

/** Moves the clock forward to @p ticks; never back. */
static inline void rp_clock_advance(struct rp_clock *clock, uint64_t ticks)
{
    uint64_t now = rp_clock_now(clock);
    while (now < ticks && !__atomic_compare_exchange_n(&clock->ticks, &now, ticks, 0,
                                                       __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        ;
}

#endif

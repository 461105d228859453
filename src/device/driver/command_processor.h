/**
 * @file command_processor.h
 * @brief The packet processors of AQL and DMA queues, and what they share: signals, events, the
 * results of dispatches, and the device clock.
 *
 * The clock is one virtual counter per process, of the rate that the architecture's timestamps have
 * (rp_arch.timestamp_mhz). Host time never enters it.
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

#include "arch/arch.h"
#include "base/map.h"
#include "base/process.h"
#include "base/vec.h"
#include "device/driver/kfd_abi.h"
#include "device/driver/pc_sampling.h"
#include "device/driver/pm4.h"
#include "device/exec/dispatch.h"
#include "device/timing/timing_model.h"
#include "trace/records.h"

struct rp_arch;
struct rp_counter_results;
struct rp_counter_results_entry;
struct rp_dispatch;
struct rp_exec_host;
struct rp_performance_counters;
struct rp_registers;
struct rp_thread_trace;
struct rp_rec_simulation;
struct rp_sdma_queue;
struct rp_store_times;
struct rp_trace_requests;
struct rp_trace_requests_entry;

/* Hardware counters of finished dispatches, and how their times were found, are kept until the
 * collector takes them. The environment says which counters (RP_DEVICE_COUNTERS_VARIABLE); without
 * it nothing is counted. They are kept under the signal that the dispatch completes, together with
 * the times that are written to it.
 */

enum {
    RP_COUNTER_RESULTS_NAMES = 256,
    RP_COUNTER_RESULTS_BUCKETS = 1024,
    RP_COUNTER_RESULTS_PENDING = 1 << 16
};

struct rp_counter_results {
    uint32_t count; /**< 0 = nothing is counted */
    bool memory;    /**< some need to know what is accessed, or a replay */
    uint64_t left;  /**< dispatches that are still counted; under the lock */
    char *names;    /**< of the environment: what name[] points into */
    const char *name[RP_COUNTER_RESULTS_NAMES];
    uint16_t value[RP_COUNTER_RESULTS_NAMES]; /**< enum rp_device_counter */
    uint8_t kind[RP_COUNTER_RESULTS_NAMES];   /**< enum rp_device_counter_kind */
    pthread_mutex_t lock;                     /**< for what follows */
    struct rp_counter_results_entry *bucket[RP_COUNTER_RESULTS_BUCKETS];
    uint32_t pending; /**< entries that nobody has taken */
};

/** This is one queue of packets or bytes. */
struct rp_happens_before_queue {
    const uint64_t *written; /**< the queue's write index */
    uint64_t stamped;        /**< below this everything has a stamp */
    struct rp_happens_before_stamp *stamps;
    size_t first, count, capacity; /**< [first, count) are in use */
    struct rp_happens_before_queue *next;
};

/* The DMA engine: consumes one SDMA queue's packets in order.
 *
 * As with AQL packets, one queue runs one packet at a time, several are interleaved by the
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

/* Stores to HSA signals the way the hardware makes them. */

/** The last store to an address by the device, or by the host if it is seen (signal_hooks.h). */
struct rp_store_time {
    uint64_t ticks;
    int64_t value;   /**< what it left; when something else is there, the times say nothing */
    uint32_t looks;  /**< of the host, since, that did not tell it of the end (signal_hooks.h) */
    int64_t host_ns; /**< CLOCK_MONOTONIC when it was stored */
};

/**
 * This records when the value of a signal was stored. The DMA engines complete a signal with a
 * bare atomic and the host stores without any time, so the signal itself does not say when; a
 * packet that waits for it must not start before. No two addresses share an entry, so that
 * modelled time does not depend on where they are. Call rp_store_times_init() first; without it
 * rp_cp has NULL.
 */
struct rp_store_times {
    pthread_mutex_t lock; /**< a leaf: nothing else is taken under it */
    struct rp_idmap addresses;
    struct {
        RP_VEC(struct rp_store_time);
    } stores; /**< by the number of the address */
};

/* Dispatches that the collector wants a thread trace of, and the traces until it takes them.
 *
 * A dispatch is named before it is submitted, by its completion signal and its kernel. Its trace is
 * kept under that signal and the times that are written to it, as hardware counters are.
 */

struct rp_trace_requests {
    uint32_t pending; /**< entries; atomic: 0 is looked at without the lock */
    pthread_mutex_t lock;
    struct rp_trace_requests_entry *first, **last; /**< last: where the next one goes */
    size_t bytes;                                  /**< of traces that nobody has taken */
};

/** Returns how often threads were woken (wraps). Read it before looking at what is waited for. */
uint32_t rp_host_wakeups(void);

/**
 * Something that a thread may wait for has changed. This makes a system call only if a thread
 * waits.
 */
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

/** Call this before the queue's first packet. */
void rp_happens_before_add(struct rp_happens_before *causal, struct rp_happens_before_queue *line,
                           const uint64_t *written, uint64_t read);
/** This also accepts a queue that was never added. */
void rp_happens_before_remove(struct rp_happens_before *causal,
                              struct rp_happens_before_queue *line);

/** The host knows of an end. Returns whether that is news. */
bool rp_happens_before_learn(struct rp_happens_before *causal, uint64_t ticks);

/** This opens a call of the host that may submit packets, which are held until it is over. */
void rp_happens_before_open(struct rp_happens_before *causal);
/** This closes the call; its packets were submitted at @p floor_ticks at the earliest. */
void rp_happens_before_close(struct rp_happens_before *causal, uint64_t floor_ticks);
/** The host works for so long: what it submits from now on comes later. */
void rp_happens_before_spend(struct rp_happens_before *causal, uint64_t ticks);

/**
 * Returns when the packet at @p index, the oldest of its queue, was submitted.
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
    /* These threads have waited for several events at once. They are the runtime's own, which run
     * the callbacks of completed signals between two waits. 0 means free.
     */
    pid_t servers[RP_EVENT_SERVERS];
    struct rp_event slots[RP_KFD_EVENT_LIMIT]; /**< index = event id; 0 is never given out */
};

void rp_events_init(struct rp_events *events);

/** Returns 0, -EINVAL (type) or -ENOSPC. */
int rp_events_create(struct rp_events *events, uint32_t type, bool auto_reset, uint32_t *ret_id);

enum rp_event_change { RP_EVENT_SET, RP_EVENT_RESET, RP_EVENT_DESTROY };

/** Changes an event. @return 0, or -EINVAL: there is no such event */
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

/**
 * Tests whether every server thread but the caller waits, and for nothing that has already fired.
 */
bool rp_events_quiet(struct rp_events *events);

/** Each GPU has one of these, with which its packet processors work. */
struct rp_cp {
    const struct rp_exec_host *host;
    const struct rp_arch *arch;
    struct rp_clock *clock;
    struct rp_events *events;
    int report_fd;   /**< where a fault's line goes: 2 */
    uint32_t gpu_id; /**< KFD's */
    char label[24];  /**< "GPU 1, " in that line; empty when there is one GPU only */
    /**
     * Tests whether @p va is the program's own memory while XNACK is off. It is called with
     * host->ctx.
     */
    bool (*is_programs)(void *ctx, uint64_t va);
    int64_t patience_ns; /**< before a dispatch that waits, or goes on and on, is mentioned */
    struct rp_store_times *stores;      /**< NULL: DMA completions carry no time */
    struct rp_happens_before *causal;   /**< when the host submits; NULL: when the device sees it */
    struct rp_counter_results *counted; /**< hardware counters; NULL: none */
    struct rp_trace_requests *traced;   /**< thread traces; NULL: none */
    bool reports_exceptions;            /**< a queue's errors, by the signal of its save area */
    struct rp_pc_sampling *sampling;    /**< PC samples; NULL: none */
    struct rp_registers *registers;     /**< what PM4 commands reach; NULL: there are none */
    struct rp_performance_counters *performance; /**< among them; NULL: none */
    struct rp_thread_trace *thread_trace;        /**< streams in memory; NULL: there are none */
    bool warm_caches; /**< they keep what earlier dispatches of a queue have left in them */
};

struct rp_cp_queue {
    uint32_t id;
    const struct rp_cp *cp;      /**< of its GPU */
    uint64_t queue_va;           /**< amd_queue_t */
    uint64_t save_va;            /**< if errors are exceptions: its save area, else 0 */
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
    struct rp_pm4_walk commands; /**< of the vendor packet that is walked */
    uint32_t performance_run;    /**< of the running dispatch: that counts it; 0: none */
    bool streamed; /**< of the running dispatch: thread trace units were on at the launch, for */
    struct rp_threads_request streamed_wish; /**< these waves */
    bool traced;                      /**< of the running dispatch: a thread trace is wanted, */
    struct rp_threads_request wish;   /**< of these waves */
    struct rp_pc_sampler_times traps; /**< when the running dispatch is sampled */
    struct rp_pc_delivery delivery;   /**< of the dispatch that has just ended */
    int64_t waits_since_ns; /**< host time since when all of the dispatch waits; 0 = it does not */
    bool waits_told;        /**< of the running dispatch: that was reported */
    uint64_t busy_told;     /**< the kernel whose long run was reported last */
    struct rp_cache_history *history; /**< what its dispatches have left in the caches, or NULL */
};

enum rp_cp_progress {
    RP_CP_IDLE,     /**< nothing to do: empty, disabled or faulted */
    RP_CP_PROGRESS, /**< consumed a packet or executed instructions */
    RP_CP_WAITING,  /**< a barrier packet waits for its signals */
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

enum { RP_QUEUE_LIMIT = 1024 }; /* The process has two pages of 8-byte doorbells. */

/** One of the two is not NULL. If both are NULL, the slot is free. */
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

/**
 * Executes CREATE_QUEUE on the GPU of @p cp, which fills queue_id and doorbell_offset.
 * @return -EINVAL, -EFAULT, -ENOMEM, -ENOSPC
 */
int rp_queues_create(struct rp_queues *queues, const struct rp_cp *cp,
                     struct rp_kfd_create_queue *args);

/** Returns when the queue's dispatch has been stopped and its memory is no longer used. */
int rp_queues_destroy(struct rp_queues *queues, uint32_t id);

/** Tests whether there is any queue. */
bool rp_queues_exist(struct rp_queues *queues);

/** Changes a queue. @return 0 or -EINVAL */
int rp_queues_change(struct rp_queues *queues, uint32_t id, enum rp_queue_change change,
                     uint32_t value);

/** No queue has a packet that could still complete by itself. */
bool rp_queues_idle(struct rp_queues *queues);

/**
 * Returns how long ago, in host time, the last dispatch that is under way began to do nothing but
 * wait. 0: one of them works, or there is none
 */
int64_t rp_queues_only_wait_ns(struct rp_queues *queues);

/**
 * End of a packet: timestamps, then the value goes down by one, then mailbox and event.
 * @return 0, or -EFAULT when the signal is not mapped; va 0 = no signal, 0
 */
int rp_signal_complete(const struct rp_cp *cp, uint64_t va, uint64_t start_ticks,
                       uint64_t end_ticks);

/** Stores @p value (queue errors) and wakes the waiters. 0 or -EFAULT. */
int rp_signal_store(const struct rp_cp *cp, uint64_t va, int64_t value);

/**
 * Returns the entry of an address, which is valid until the lock is released. The caller holds the
 * lock.
 * @param make  if there is none, it is made
 * @return NULL: there is none, or no memory
 */
struct rp_store_time *rp_store_time_of(struct rp_store_times *times, uint64_t va, bool make);
void rp_signal_store_end(const struct rp_cp *cp, uint64_t va, const void *at, uint64_t ticks);

/**
 * Returns when the value at @p value_va (of a signal, if it is one) was stored, which is never
 * later than now. The time is unknown if neither the device nor a host function that is hooked
 * wrote it. Then it is now, or with inactive @p cp->causal the end that the signal carries, or 0.
 */
uint64_t rp_signal_end_ticks(const struct rp_cp *cp, uint64_t value_va);

/** s_sendmsg calls this, which wakes the event whose low bits are in @p m0. */
void rp_signal_interrupt(struct rp_events *events, uint32_t m0);

/** Stops a queue that did nothing wrong itself: the runtime only listens to compute queues. */
void rp_fault_stop(const struct rp_cp *cp, struct rp_cp_queue *queue, uint32_t error);
/** Returns which address the kernel could not reach that was stopped last; 0: none was. */
uint64_t rp_fault_last_address(void);

/**
 * Reports a kernel's fault: one line on cp->report_fd naming kernel, reason, PC and lane, indented
 * lines with the C++ name, the place in the grid and the instructions before it, and the error code
 * in the queue's inactive signal. The queue stops.
 */
void rp_fault_kernel(const struct rp_cp *cp, struct rp_cp_queue *queue, uint64_t kernel_object_va,
                     const struct rp_fault *fault);

/**
 * Reports on cp->report_fd that a kernel has not ended after cp->patience_ns.
 * @param counts  how far it is; NULL: it has only waited
 */
void rp_fault_long(const struct rp_cp *cp, uint64_t kernel_object_va,
                   const struct rp_counts *counts);

/**
 * Does the same as rp_fault_kernel() for a packet that the processor refuses. @p why is a complete
 * phrase.
 */
void rp_fault_packet(const struct rp_cp *cp, struct rp_cp_queue *queue, uint32_t error,
                     const char *why);

/** Writes the line for a DMA packet that cannot be executed; the caller decides whom to notify. */
void rp_fault_sdma(const struct rp_cp *cp, const struct rp_sdma_queue *queue, const char *why);

/* The debug log: nothing unless ROCM_PERF_DEVICE_DEBUG names a file. Thread safe; keeps errno. */

/** Appends one line (the newline is added). */
void rp_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/** @param names  separated by commas; NULL = none. Unknown ones, and others twice, are left out. */
void rp_counter_results_init(struct rp_counter_results *counted, const char *names);
void rp_counter_results_release(struct rp_counter_results *counted);

/**
 * Fills in all counters of a dispatch that is done, by enum rp_device_counter: sums over the GPU.
 * @return what is known of it
 */
enum rp_counting rp_counter_values(const struct rp_arch *arch, const struct rp_dispatch *dispatch,
                                   uint64_t ticks, uint64_t *values);

/** @param known  as rp_counter_values() returned it for the dispatch */
bool rp_counter_is_known(enum rp_device_counter_kind kind, enum rp_counting known,
                         const struct rp_dispatch *dispatch);

/**
 * Adds the results of a dispatch that is done and has its time. It is called before the signal
 * completes. @p signal_va 0: nobody will ask
 */
void rp_counter_results_add(struct rp_counter_results *counted, const struct rp_arch *arch,
                            const struct rp_dispatch *dispatch, uint64_t signal_va,
                            uint64_t start_ticks, uint64_t end_ticks);

/** This implements rp_device_table.take. */
bool rp_counter_results_take(struct rp_counter_results *counted, uint64_t signal_va,
                             uint64_t start_ticks, uint64_t end_ticks, double *ret_values,
                             struct rp_rec_simulation *ret_replay);
void rp_trace_requests_release(struct rp_trace_requests *traced);

/** This implements rp_device_table.trace_threads. */
bool rp_trace_requests_add(struct rp_trace_requests *traced, uint64_t signal_va,
                           uint64_t kernel_object_va, const struct rp_threads_request *wish);

/** A dispatch begins: whether its trace is wanted, and of which waves. */
bool rp_trace_requests_has(struct rp_trace_requests *traced, uint64_t signal_va,
                           uint64_t kernel_object_va, struct rp_threads_request *ret_wish);

/**
 * Arranges that the timing simulation of a requested dispatch is traced. It is called before the
 * time is modelled. A simulation that takes long reports its progress on standard error.
 */
void rp_trace_requests_begin(const struct rp_arch *arch, struct rp_dispatch *dispatch,
                             const struct rp_threads_request *wish);

/**
 * Keeps the trace of a requested dispatch that is done. It is called before the signal completes.
 */
void rp_trace_requests_keep(struct rp_trace_requests *traced, const struct rp_arch *arch,
                            struct rp_dispatch *dispatch, const struct rp_threads_request *wish,
                            uint64_t signal_va, uint64_t start_ticks, uint64_t end_ticks);

/** This implements rp_device_table.take_threads. */
bool rp_trace_requests_take(struct rp_trace_requests *traced, uint64_t signal_va,
                            uint64_t start_ticks, uint64_t end_ticks, void **ret_bytes,
                            size_t *ret_count);

/** @param now_ticks  where modelled time begins */
static inline void rp_happens_before_init(struct rp_happens_before *causal, uint64_t now_ticks)
{
    *causal = (struct rp_happens_before){.known = now_ticks};
    pthread_mutex_init(&causal->lock, NULL);
}

/** Activates happens-before stamps for good. */
static inline void rp_happens_before_activate(struct rp_happens_before *causal)
{
    __atomic_store_n(&causal->active, true, __ATOMIC_RELEASE);
}
static inline bool rp_happens_before_is_active(const struct rp_happens_before *causal)
{
    return __atomic_load_n(&causal->active, __ATOMIC_ACQUIRE);
}

static inline uint64_t rp_happens_before_known(const struct rp_happens_before *causal)
{
    return __atomic_load_n(&causal->known, __ATOMIC_ACQUIRE);
}

/** Open calls wait for the thread that submits now, so nothing is held between the two calls. */
static inline void rp_happens_before_hold_nothing(struct rp_happens_before *causal, bool begins)
{
    pthread_mutex_lock(&causal->lock);
    causal->hold_nothing += begins ? 1u : -1u;
    causal->opened_ns = rp_now_ns(); /* The open calls have just begun to make progress. */
    pthread_mutex_unlock(&causal->lock);
}

/**
 * Tests whether the queue is empty, disabled or faulted, so that rp_sdma_step() would find nothing
 * to do.
 */
static inline bool rp_sdma_queue_idle(const struct rp_sdma_queue *queue)
{
    return !queue->enabled || queue->faulted ||
           queue->read_bytes >= __atomic_load_n(queue->write_pointer, __ATOMIC_ACQUIRE);
}

static inline void rp_queues_init(struct rp_queues *queues)
{
    *queues = (struct rp_queues){0};
    pthread_mutex_init(&queues->lock, NULL);
}

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

/** Returns the signal at @p va in this process, or NULL if it is not mapped for writing. */
static inline struct rp_amd_signal *rp_signal_at(const struct rp_exec_host *host, uint64_t va)
{
    if (va % sizeof(uint64_t))
        return NULL;
    return host->translate(host->ctx, va, sizeof(struct rp_amd_signal), 1);
}

/**
 * These calls surround a DMA engine's store at device time @p ticks to the eight bytes that @p va
 * is in. Before the first call nobody sees the store; after the second one, whoever sees it knows
 * its time.
 */
static inline void rp_signal_store_begin(const struct rp_cp *cp)
{
    if (cp->stores)
        pthread_mutex_lock(&cp->stores->lock);
}

static inline uint64_t rp_clock_now(const struct rp_clock *clock)
{
    return __atomic_load_n(&clock->ticks, __ATOMIC_ACQUIRE);
}

/** Moves the clock forward to @p ticks, but never back. */
static inline void rp_clock_advance(struct rp_clock *clock, uint64_t ticks)
{
    uint64_t now = rp_clock_now(clock);
    while (now < ticks && !__atomic_compare_exchange_n(&clock->ticks, &now, ticks, 0,
                                                       __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        ;
}

static inline void rp_trace_requests_init(struct rp_trace_requests *traced)
{
    *traced = (struct rp_trace_requests){.last = &traced->first};
    pthread_mutex_init(&traced->lock, NULL);
}

#endif

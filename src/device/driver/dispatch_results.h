/**
 * @file dispatch_results.h
 * @brief Hardware counters of finished dispatches, and how their times were found, until the
 *        collector takes them.
 *
 * The environment says which counters (RP_DEVICE_COUNTERS_VARIABLE); without it nothing is counted.
 * They are kept under the signal that the dispatch completes, and the times that are written to it.
 */
#ifndef RP_DEVICE_DRIVER_DISPATCH_RESULTS_H
#define RP_DEVICE_DRIVER_DISPATCH_RESULTS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/hardware_counters.h"
#include "trace/records.h"

struct rp_arch;
struct rp_counter_results_entry;
struct rp_dispatch;
struct rp_rec_simulation;
struct rp_trace_requests_entry;

enum {
    RP_COUNTER_RESULTS_NAMES = 256,
    RP_COUNTER_RESULTS_BUCKETS = 1024,
    RP_COUNTER_RESULTS_PENDING = 1 << 16
};

struct rp_counter_results {
    uint32_t count; /**< 0 = nothing is counted */
    bool memory;    /**< some need to know what is accessed, or a replay */
    char *names;    /**< of the environment: what name[] points into */
    const char *name[RP_COUNTER_RESULTS_NAMES];
    uint16_t value[RP_COUNTER_RESULTS_NAMES]; /**< enum rp_device_counter */
    uint8_t kind[RP_COUNTER_RESULTS_NAMES];   /**< enum rp_device_counter_kind */
    pthread_mutex_t lock;                     /**< for what follows */
    struct rp_counter_results_entry *bucket[RP_COUNTER_RESULTS_BUCKETS];
    uint32_t pending; /**< entries that nobody has taken */
};

/** @param names  separated by commas; NULL = none. Unknown ones, and others twice, are left out. */
void rp_counter_results_init(struct rp_counter_results *counted, const char *names);
void rp_counter_results_release(struct rp_counter_results *counted);

/** A dispatch is done and has its time; before its signal is told. @p signal_va 0: nobody will ask.
 */
void rp_counter_results_add(struct rp_counter_results *counted, const struct rp_arch *arch,
                            const struct rp_dispatch *dispatch, uint64_t signal_va,
                            uint64_t start_ticks, uint64_t end_ticks);

/** As rp_device_table.take. */
bool rp_counter_results_take(struct rp_counter_results *counted, uint64_t signal_va,
                             uint64_t start_ticks, uint64_t end_ticks, double *ret_values,
                             struct rp_rec_simulation *ret_replay);

/* Dispatches that the collector wants a thread trace of, and the traces until it takes them.
 *
 * A dispatch is named before it is submitted, by its completion signal and its kernel. Its trace is
 * kept under that signal and the times that are written to it, as hardware counters are
 * (dispatch_results.h).
 */

struct rp_trace_requests {
    uint32_t pending; /**< entries; atomic: 0 is looked at without the lock */
    pthread_mutex_t lock;
    struct rp_trace_requests_entry *first, **last; /**< last: where the next one goes */
    size_t bytes;                                  /**< of traces that nobody has taken */
};

static inline void rp_trace_requests_init(struct rp_trace_requests *traced)
{
    *traced = (struct rp_trace_requests){.last = &traced->first};
    pthread_mutex_init(&traced->lock, NULL);
}
void rp_trace_requests_release(struct rp_trace_requests *traced);

/** As rp_device_table.trace_threads. */
bool rp_trace_requests_add(struct rp_trace_requests *traced, uint64_t signal_va,
                           uint64_t kernel_object_va, const struct rp_threads_request *wish);

/** A dispatch begins: whether its trace is wanted, and of which waves. */
bool rp_trace_requests_has(struct rp_trace_requests *traced, uint64_t signal_va,
                           uint64_t kernel_object_va, struct rp_threads_request *ret_wish);

/** Before the time of a wanted dispatch is modelled: that replay is to be traced. One that takes
 * long tells on standard error how far it is. */
void rp_trace_requests_begin(const struct rp_arch *arch, struct rp_dispatch *dispatch,
                             const struct rp_threads_request *wish);

/** A dispatch that was wanted is done; before its signal is told. */
void rp_trace_requests_keep(struct rp_trace_requests *traced, const struct rp_arch *arch,
                            struct rp_dispatch *dispatch, const struct rp_threads_request *wish,
                            uint64_t signal_va, uint64_t start_ticks, uint64_t end_ticks);

/** As rp_device_table.take_threads. */
bool rp_trace_requests_take(struct rp_trace_requests *traced, uint64_t signal_va,
                            uint64_t start_ticks, uint64_t end_ticks, void **ret_bytes,
                            size_t *ret_count);

#endif

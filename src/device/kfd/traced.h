/**
 * @file traced.h
 * @brief Dispatches that the collector wants a thread trace of, and the traces until it takes them.
 *
 * A dispatch is named before it is submitted, by its completion signal and its kernel. Its trace is
 * kept under that signal and the times that are written to it, as hardware counters are
 * (counted.h).
 */
#ifndef RP_DEVICE_KFD_TRACED_H
#define RP_DEVICE_KFD_TRACED_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/records.h"

struct rp_arch;
struct rp_dispatch;
struct rp_traced_entry;

struct rp_trace_requests {
    uint32_t pending; /**< entries; atomic: 0 is looked at without the lock */
    pthread_mutex_t lock;
    struct rp_traced_entry *first, **last; /**< last: where the next one goes */
    size_t bytes;                          /**< of traces that nobody has taken */
};

void rp_traced_init(struct rp_trace_requests *traced);
void rp_traced_release(struct rp_trace_requests *traced);

/** As rp_device_table.trace_threads. */
bool rp_traced_want(struct rp_trace_requests *traced, uint64_t signal_va, uint64_t kernel_object_va,
                    const struct rp_threads_request *wish);

/** A dispatch begins: whether its trace is wanted, and of which waves. */
bool rp_traced_is_wanted(struct rp_trace_requests *traced, uint64_t signal_va,
                         uint64_t kernel_object_va, struct rp_threads_request *ret_wish);

/** Before the time of a wanted dispatch is modelled: that replay is to be traced. One that takes
 * long tells on standard error how far it is. */
void rp_traced_begin(const struct rp_arch *arch, struct rp_dispatch *dispatch,
                     const struct rp_threads_request *wish);

/** A dispatch that was wanted is done; before its signal is told. */
void rp_traced_note(struct rp_trace_requests *traced, const struct rp_arch *arch,
                    struct rp_dispatch *dispatch, const struct rp_threads_request *wish,
                    uint64_t signal_va, uint64_t start_ticks, uint64_t end_ticks);

/** As rp_device_table.take_threads. */
bool rp_traced_take(struct rp_trace_requests *traced, uint64_t signal_va, uint64_t start_ticks,
                    uint64_t end_ticks, void **ret_bytes, size_t *ret_count);

#endif

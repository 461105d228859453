/**
 * @file dispatch_timing.h
 * @brief This header records a dispatch's sampled workgroups, from its launch to the
 * modelled time.
 */
#ifndef RP_DEVICE_TIMING_DISPATCH_TIMING_H
#define RP_DEVICE_TIMING_DISPATCH_TIMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device/exec/dispatch.h"
#include "device/isa/wave_state.h"
#include "device/timing/timing_engine.h"
#include "device/timing/timing_model.h"
#include "trace/records.h"

struct rp_arch;
struct rp_observer;
struct rp_trace_rows;

/** Records what sampled workgroups do, for detailed timing and for counters of memory. */
extern const struct rp_observer rp_timing_observer;

/**
 * Returns the modelled duration of a dispatch that is done, in ticks of the device clock, at least
 * 1.
 * @param arch  the GPU, or what a queue's CU mask leaves of it
 * @return 0; negative: the host had no memory for the model, rp_dispatch_fault says so
 */
int rp_dispatch_ticks(struct rp_dispatch *d, const struct rp_arch *arch, uint64_t *ret_ticks);

/**
 * Tells, after rp_dispatch_ticks(), whether its time is from a simulation.
 * @param ret_waves  that were simulated
 * @param ret_error_share  as rp_timing_stats.error_share
 */
bool rp_dispatch_simulated(const struct rp_dispatch *d, uint64_t *ret_waves,
                           double *ret_error_share);

/** Tells, after rp_dispatch_simulated(), what it needs of the device (rp_timing_needs). */
void rp_dispatch_needs(const struct rp_dispatch *d, const struct rp_arch *arch,
                       double ret_ns[RP_SHARED_RESOURCES]);

/** Tells whether that simulation was an earlier launch's, which did the same. */
bool rp_dispatch_shares(const struct rp_dispatch *d);

/* The thread trace of a dispatch says what the simulation did, with the code that it is about, as
 * the bytes of a file (trace/records.h).
 */

/**
 * Is called now and then during a long simulation with the share that is done and the seconds that
 * are left.
 */
typedef void (*rp_threads_tell)(double share, double left_s);

/**
 * Is called before rp_dispatch_ticks(), so that the simulation that gives the time is also the one
 * that is traced. If memory does not suffice for that, there are two simulations.
 */
void rp_dispatch_watch_threads(struct rp_dispatch *d, const struct rp_arch *arch,
                               const struct rp_threads_request *wish, rp_threads_tell tell);

/**
 * Simulates a dispatch that is done and was recorded, unless that has been watched already.
 * @param arch  the GPU, or what a queue's CU mask leaves of it
 * @param ret_bytes  for free()
 * @return 0; -ENODATA nothing was recorded; -ENOMEM
 */
int rp_dispatch_trace(struct rp_dispatch *d, const struct rp_arch *arch,
                      const struct rp_threads_request *wish, uint64_t start_ticks, void **ret_bytes,
                      size_t *ret_count);

/** Returns what was recorded of a dispatch, or NULL: nothing was. */
const struct rp_wave_record *rp_dispatch_record(const struct rp_dispatch *d);

/**
 * Simulates a dispatch that is done and was recorded, once more.
 * @param watch  is told about every instruction
 * @return 0; -ENODATA nothing was recorded; -ENOMEM
 */
int rp_dispatch_watch(struct rp_dispatch *d, const struct rp_arch *arch,
                      const struct rp_engine_watch *watch);

/**
 * Simulates like rp_dispatch_trace(), for whoever writes the rows down in another form. They stay
 * until the dispatch is freed or traced.
 * @return 0; -ENODATA nothing was recorded; -ENOMEM
 */
int rp_dispatch_rows(struct rp_dispatch *d, const struct rp_arch *arch,
                     const struct rp_threads_request *wish, const struct rp_trace_rows **ret);

/**
 * Returns, after DONE, the hardware counters that follow from executed instructions and noted
 * accesses; they are indexed by enum rp_device_counter, and the others are 0.
 * @return what is known: NOTHING when the dispatch began while it was not counted
 */
enum rp_counting rp_dispatch_count(const struct rp_dispatch *d, uint64_t *values);

/** Tells whether rp_dispatch_count() has counters of waves: its simulation counted them. */
bool rp_dispatch_counted_waves(const struct rp_dispatch *d);

/**
 * Computes, after DONE, between which times it takes, from what it executed.
 * @param arch  as of rp_dispatch_ticks()
 * @return false: times are not modelled
 */
bool rp_dispatch_between(const struct rp_dispatch *d, const struct rp_arch *arch, double ret_ns[2]);

/* A watcher of the simulation writes down what the waves of chosen compute units did. */

struct rp_kernel;
struct rp_trace_rows_wave;
struct rp_wave_record;

/**
 * Zero-initialise it, call rp_trace_rows_begin(), simulate with rp_trace_rows_watch(), and call
 * rp_trace_rows_end().
 */
struct rp_trace_rows {
    const struct rp_arch *arch;
    const struct rp_wave_record *record;
    const struct rp_kernel *kernel; /**< whose record it is, if work-items are wished; else NULL */
    uint32_t order;                 /**< of the kernel's workgroups, as of rp_wave_order_group() */
    struct rp_threads_request wish;
    uint32_t cus_per_die, engines_per_die;
    struct rp_trace_rows_wave **open; /**< by wave slot of the machine: of traced waves */
    uint8_t *slots;                   /**< by SIMD of the machine: slots in use, a bit each */
    uint8_t *slot_of;                 /**< by wave slot of the machine: the one in its SIMD */
    struct rp_threads_wave *wave;
    struct rp_threads_row *row; /**< code: indices into record->code */
    struct rp_threads_wait *wait;
    struct rp_threads_event *event;
    uint64_t wave_count, row_count, wait_count, event_count;
    uint64_t wave_room, row_room, wait_room, event_room;
    uint64_t lost; /**< waves of which no row had room; rp_trace_rows_end knows */
    uint64_t rows; /**< of waves that run as well: up to wish.rows */
    bool failed;   /**< no memory */
};

/** @return 0, or -ENOMEM */
int rp_trace_rows_begin(struct rp_trace_rows *t, const struct rp_arch *arch,
                        const struct rp_wave_record *record, const struct rp_threads_request *wish);

/** Returns the watch for rp_engine_run(); @p t must not move. */
struct rp_engine_watch rp_trace_rows_watch(struct rp_trace_rows *t);

/** Chooses among compute units after the simulation, and sorts everything. @return 0 or -ENOMEM */
int rp_trace_rows_end(struct rp_trace_rows *t);

void rp_trace_rows_release(struct rp_trace_rows *t);

#endif

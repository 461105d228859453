/**
 * @file thread_trace_rows.h
 * @brief A watcher of the simulation writes down what the waves of chosen
 * compute units did.
 */
#ifndef RP_DEVICE_TIMING_THREAD_TRACE_ROWS_H
#define RP_DEVICE_TIMING_THREAD_TRACE_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "device/timing/timing_engine.h"
#include "trace/records.h"

struct rp_trace_rows_wave;
struct rp_wave_record;

/**
 * Zero-initialise it, call rp_trace_rows_begin(), simulate with rp_trace_rows_watch(), and call
 * rp_trace_rows_end().
 */
struct rp_trace_rows {
    const struct rp_arch *arch;
    const struct rp_wave_record *record;
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

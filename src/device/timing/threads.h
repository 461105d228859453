/**
 * @file software_device.h
 * @brief A watcher of the replay that writes down what the waves of chosen compute units did.
 */
#ifndef RP_DEVICE_TIMING_THREADS_H
#define RP_DEVICE_TIMING_THREADS_H

#include "engine.h"
#include "trace/records.h"

struct rp_threads_open;

/** Zero-initialise, rp_threads_begin, a replay with rp_threads_watch, rp_threads_end. */
struct rp_threads {
    const struct rp_arch *arch;
    const struct rp_wave_record *record;
    struct rp_threads_request wish;
    uint32_t cus_per_die, engines_per_die;
    struct rp_threads_open **open; /**< by wave slot of the machine: of traced waves */
    uint8_t *slots;                /**< by SIMD of the machine: slots in use, a bit each */
    uint8_t *slot_of;              /**< by wave slot of the machine: the one in its SIMD */
    struct rp_threads_wave *wave;
    struct rp_threads_row *row; /**< code: indices into record->code */
    struct rp_threads_wait *wait;
    struct rp_threads_event *event;
    uint64_t wave_count, row_count, wait_count, event_count;
    uint64_t wave_room, row_room, wait_room, event_room;
    uint64_t lost; /**< waves of which no row had room; rp_threads_end knows */
    uint64_t rows; /**< of waves that run as well: up to wish.rows */
    bool failed;   /**< no memory */
};

/** @return 0, or -ENOMEM */
int rp_threads_begin(struct rp_threads *t, const struct rp_arch *arch,
                     const struct rp_wave_record *record, const struct rp_threads_request *wish);

/** For rp_engine_run; @p t must stay where it is. */
struct rp_engine_watch rp_threads_watch(struct rp_threads *t);

/** After the replay: chooses among compute units and brings everything in order. 0, or -ENOMEM. */
int rp_threads_end(struct rp_threads *t);

void rp_threads_release(struct rp_threads *t);

#endif

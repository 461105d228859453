/**
 * @file counted.h
 * @brief Hardware counters of finished dispatches, and how their times were found, until the
 *        collector takes them.
 *
 * The environment says which counters (RP_DEVICE_COUNTERS_VARIABLE); without it nothing is counted.
 * They are kept under the signal that the dispatch completes, and the times that are written to it.
 */
#ifndef RP_DEVICE_KFD_COUNTED_H
#define RP_DEVICE_KFD_COUNTED_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "arch/hardware_counters.h"

struct rp_arch;
struct rp_dispatch;
struct rp_rec_simulation;

enum { RP_COUNTED_MOST = 256, RP_COUNTED_BUCKETS = 1024, RP_COUNTED_PENDING = 1 << 16 };

struct rp_counted_entry;

struct rp_counted {
    uint32_t count; /**< 0 = nothing is counted */
    bool memory;    /**< some need to know what is accessed, or a replay */
    char *names;    /**< of the environment: what name[] points into */
    const char *name[RP_COUNTED_MOST];
    uint16_t value[RP_COUNTED_MOST]; /**< enum rp_device_counter */
    uint8_t kind[RP_COUNTED_MOST];   /**< enum rp_device_counter_kind */
    pthread_mutex_t lock;            /**< for what follows */
    struct rp_counted_entry *bucket[RP_COUNTED_BUCKETS];
    uint32_t pending; /**< entries that nobody has taken */
};

/** @param names  separated by commas; NULL = none. Unknown ones, and others twice, are left out. */
void rp_counted_init(struct rp_counted *counted, const char *names);
void rp_counted_release(struct rp_counted *counted);

/** A dispatch is done and has its time; before its signal is told. @p signal_va 0: nobody will ask.
 */
void rp_counted_note(struct rp_counted *counted, const struct rp_arch *arch,
                     const struct rp_dispatch *dispatch, uint64_t signal_va, uint64_t start_ticks,
                     uint64_t end_ticks);

/** As rp_device_table.take. */
bool rp_counted_take(struct rp_counted *counted, uint64_t signal_va, uint64_t start_ticks,
                     uint64_t end_ticks, double *ret_values, struct rp_rec_simulation *ret_replay);

#endif

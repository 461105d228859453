/**
 * @file performance_counters.h
 * @brief The performance counters of one GPU behind their registers, as AMD's tools use them.
 *
 * Commands select an event for each counter, start, stop and reset all of them (CP_PERFMON_CNTL),
 * and read them in each die, engine and instance. Kernels are counted that begin while counters
 * run; nothing else pays. A counter that adds something up over the GPU is spread evenly over its
 * instances, so that sums are exact, and times are those of each die. What has no counterpart in
 * the timing model reads 0, and is named once on standard error.
 */
#ifndef RP_DEVICE_DRIVER_PERFORMANCE_COUNTERS_H
#define RP_DEVICE_DRIVER_PERFORMANCE_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "base/map.h"
#include "device/exec/dispatch.h"

struct rp_cp;

/** This is what a counter counts. */
struct rp_performance_choice {
    bool known;
    uint32_t block;                          /**< enum block */
    uint32_t number;                         /**< of the event */
    const char *name;                        /**< NULL: none is published */
    const struct rp_device_counter_row *row; /**< NULL: the device does not know the name */
};

struct rp_performance_counters {
    const struct rp_cp *cp;
    bool running;
    bool has_run;        /**< since an event was selected */
    bool needs_accesses; /**< some event that is selected does */
    uint32_t run;        /**< counts resets, from 1 */
    uint32_t unknown;    /**< kinds of counters, a bit each, that some kernel of the run lacked */
    uint64_t values[RP_DEVICE_COUNTERS]; /**< of the run, over the GPU */
    struct rp_performance_choice latest; /**< that was looked up */
    struct rp_idmap named;               /**< events that standard error has been told of */
};

/** Attaches the counters to the registers of @p cp, which must not move. */
void rp_performance_counters_init(struct rp_performance_counters *counters, const struct rp_cp *cp);
void rp_performance_counters_release(struct rp_performance_counters *counters);

/**
 * A kernel begins.
 * @param counters  NULL: there are none
 * @param ret_counting  set to what has to be counted of it
 * @return which run counts it; 0: none
 */
uint32_t rp_performance_counters_run(struct rp_performance_counters *counters,
                                     enum rp_counting *ret_counting);

/** Counts a kernel that is done for @p run, unless it has been reset. */
void rp_performance_counters_add(struct rp_performance_counters *counters, uint32_t run,
                                 const struct rp_arch *arch, const struct rp_dispatch *dispatch,
                                 uint64_t ticks);

#endif

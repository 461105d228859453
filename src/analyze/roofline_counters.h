/**
 * @file roofline_counters.h
 * @brief Does the steps of rp_roofline_compute: counters of a kernel, amounts, GPUs, rates.
 */
#ifndef RP_ANALYZE_ROOFLINE_COUNTERS_H
#define RP_ANALYZE_ROOFLINE_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/roofline.h"
#include "arch/arch.h"
#include "trace/counter_set.h"

enum rp_roof_counter {
#define COUNTER(id, name, other, what) RP_ROOF_##id,
#include "analyze/roofline_counters.def"
#undef COUNTER
    RP_ROOF_COUNTERS
};

/** Returns NULL when nothing is known of this GPU that a roofline needs. */
static inline const struct rp_arch_roofline *rp_roof_arch_find(const char *name)
{
    const struct rp_arch *arch = rp_arch_find(name);

    return arch && arch->roofline.traffic != RP_TRAFFIC_UNKNOWN ? &arch->roofline : NULL;
}

/** Adds up by how much parts were more than their whole, dispatch by dispatch. */
struct rp_roof_excess {
    uint64_t negative;
    double most, sum;
};

/** Holds sums of the counters of a derived value over the dispatches that have them all. */
struct rp_roof_inputs {
    uint64_t dispatches;
    double sums[RP_DERIVED_COUNTERS];
};

/** Holds sums over the dispatches of a kernel. */
struct rp_roof_sums {
    struct rp_quantity of[RP_ROOF_COUNTERS]; /**< known: all dispatches have it */
    uint64_t counted[RP_ROOF_COUNTERS];      /**< dispatches that have it */
    struct rp_roof_excess excess[RP_DIFFERENCE_COUNT];
    struct rp_roof_inputs inputs[RP_DERIVED_COUNT];
};

/** Holds all counters of the file, for one kernel. */
struct rp_roof_counts {
    struct rp_kernel_count *of; /**< one for each name of the file */
    uint32_t *seen;             /**< those that the kernel has */
    size_t seen_count;
};
/** @return false: memory has ended. Free it with rp_roof_counts_free. */
bool rp_roof_counts_make(const struct rp_counters *counters, struct rp_roof_counts *ret);
void rp_roof_counts_add(const struct rp_counted_dispatch *d, struct rp_roof_counts *counts);
/** Gives those that were counted to the kernel, and begins anew.
 * @return false: memory has ended */
bool rp_roof_counts_take(struct rp_roof_counts *counts, struct rp_roofline_kernel *kernel);
void rp_roof_counts_free(struct rp_roof_counts *counts);

/** Adds the counters of one dispatch. */
void rp_roof_see_inputs(const struct rp_quantity of[RP_ROOF_COUNTERS], struct rp_roof_sums *sums);
/** Computes all derived values of a kernel that was measured.
 * @param reads exact bytes read by the dispatches that have READS and READS_32 */
void rp_roof_derive_counters(const struct rp_roof_sums *sums,
                             const struct rp_roofline_device *device, struct rp_quantity reads,
                             struct rp_roofline_kernel *kernel);

/** Names the counters of a difference: its whole and its parts. */
struct rp_roof_difference {
    enum rp_roof_counter whole;
    enum rp_roof_counter parts[RP_DIFFERENCE_PARTS];
    size_t part_count;
};
const struct rp_roof_difference *rp_roof_difference(enum rp_difference difference);
/** Adds the counters of one dispatch. */
void rp_roof_see_excess(const struct rp_quantity of[RP_ROOF_COUNTERS], struct rp_roof_sums *sums);
/** Computes the rest of the whole, at least 0. It is unknown when a counter is, or passes
 * contradict each other. */
struct rp_quantity rp_roof_rest(const struct rp_roof_sums *sums, enum rp_difference difference,
                                struct rp_roofline_kernel *kernel);
/** Returns what a counter counts: "read requests". */
const char *rp_roof_counter_what(enum rp_roof_counter counter);

/** Collects what is known of each GPU, completed from tables. */
int rp_roof_devices(const struct rp_counters *counters, const struct rp_roofline_options *options,
                    struct rp_roofline *ret, struct rp_err *err);

/** Adds a note unless it is there.
 * @return false when memory has ended */
bool rp_roof_note(struct rp_roofline *roofline, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/** Adds what a reader must know of these numbers.
 * @return false when memory has ended */
bool rp_roof_notes(const struct rp_counters *counters, const struct rp_roofline_options *options,
                   struct rp_roofline *roofline);

/** Finds the counter among those of the file; -1: absent. @p sum asks for "<name>_sum". */
int64_t rp_roof_find(const struct rp_counters *counters, enum rp_roof_counter counter, bool sum);

#endif

/**
 * @file hardware_counters.h
 * @brief This header says which hardware counters the software device has, and why it has no
 * others.
 */
#ifndef RP_ARCH_HARDWARE_COUNTERS_H
#define RP_ARCH_HARDWARE_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>

/** Those it has: indices of values. */
enum rp_device_counter {
#define COUNTER(name, block, kind, text) RP_COUNTER_##name,
#define NO_COUNTER(name, block, why)
#include "arch/hardware_counters.def"
#undef COUNTER
#undef NO_COUNTER
    RP_DEVICE_COUNTERS
};

enum rp_device_counter_kind {
    RP_COUNTER_NONE, /**< the device cannot know it */
    RP_COUNTER_EXACT,
    RP_COUNTER_CACHES,
    RP_COUNTER_TIME,
    RP_COUNTER_WAVES, /**< with detailed timing only */
};

struct rp_device_counter_row {
    const char *name, *block;
    enum rp_device_counter_kind kind;
    const char *text; /**< what it counts; NONE: why the device cannot */
    int value;        /**< enum rp_device_counter; -1 of NONE */
};

/** Returns all rows in the table's order, even those that the device does not have. */
const struct rp_device_counter_row *rp_device_counter_rows(size_t *ret_count);

/**
 * By its name, or of instances by "NAME_sum"; gfx90a's TCC_EA_ is TCC_EA0_.
 * @return NULL when there is no such counter
 */
const struct rp_device_counter_row *rp_device_counter_find(const char *name);

/** The name in the table that is most like @p name; NULL: none is near. */
const char *rp_device_counter_nearest(const char *name);

/** Returns "exact", "caches", "time" or "waves". */
const char *rp_device_counter_kind_name(enum rp_device_counter_kind kind);

#endif

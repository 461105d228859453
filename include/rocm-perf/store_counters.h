/**
 * @file store_counters.h
 * @brief Hardware counters in a rocpd database that is being written.
 */
#ifndef ROCM_PERF_STORE_COUNTERS_H
#define ROCM_PERF_STORE_COUNTERS_H

#include <stdint.h>

#include "rocm-perf/store.h"

/** A counter of an agent. */
struct rp_row_counter_info {
    int64_t id;       /**< 1, 2 ... */
    int64_t agent_id; /**< must be written too */
    const char *name, *block, *description;
};

int rp_store_put_counter(struct rp_store_writer *w, const struct rp_row_counter_info *row,
                         struct rp_err *err);

/** What a counter says of the dispatch that was written last. */
int rp_store_put_counter_value(struct rp_store_writer *w, int64_t counter_id, double value,
                               struct rp_err *err);

#endif

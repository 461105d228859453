/**
 * @file dispatch_groups.h
 * @brief The steps of rp_profile_compute: GPUs, kernel identities, grouping.
 */
#ifndef RP_ANALYZE_DISPATCH_GROUPS_H
#define RP_ANALYZE_DISPATCH_GROUPS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/profile.h"
#include "trace/rocpd.h"

struct rp_err;

/** Strings of one profile. */
struct rp_profile_memory {
    char **strings;
    size_t count, capacity;
};

/** Copies len bytes; NULL when out of memory. Owned by the memory. */
const char *rp_profile_keep(struct rp_profile_memory *memory, const char *text, size_t len);

enum { RP_GEOMETRY_COLUMNS = 8 }; /**< grid, block, LDS, scratch: what one launch chose */

/** Dispatches of one trace that differ in nothing but their times. */
struct rp_dispatch_group {
    int64_t agent_id, kernel_id; /**< in the trace */
    int64_t geometry[RP_GEOMETRY_COLUMNS];
    int64_t first_start_ns, first_id; /**< of the first of them */
    uint64_t count, timed_count;      /**< all; those whose times are good */
    uint64_t total_ns, min_ns, max_ns;
    struct rp_simulated_timing replayed;
    uint64_t replayed_ns; /**< the time of these, which their errors are of */
    uint32_t guid_index;
    uint32_t store;        /**< index of the trace */
    uint32_t agent;        /**< index into rp_profile.agents */
    size_t identity;       /**< index of the kernel identity */
    bool counts_are_whole; /**< our own tracer: register counts are right by construction */
};

/** Groups the dispatches of a trace, in the order of their first ones. The array is the caller's to
 *  free. */
int rp_profile_read_groups(struct rp_store *store, uint32_t number, struct rp_dispatch_group **ret,
                           size_t *ret_count, struct rp_overlapped *ret_overlapped,
                           struct rp_err *err);
/** Which was launched first? Over all traces; last resort of every comparison. */
int rp_profile_by_first(const struct rp_dispatch_group *a, const struct rp_dispatch_group *b);

/** Adds what is known of other dispatches, of @p ns in all, to *@p sum of *@p sum_ns. */
void rp_simulated_timing_add(struct rp_simulated_timing *sum, uint64_t *sum_ns,
                             const struct rp_simulated_timing *more, uint64_t ns);
/** Which model of time the traces are of; they must say the same. */
int rp_profile_timing(struct rp_profile *profile, struct rp_store *const *stores, size_t count,
                      struct rp_err *err);

/** Which launches of the traces started no kernel. */
int rp_profile_launches(struct rp_profile *profile, struct rp_store *const *stores, size_t count,
                        struct rp_err *err);

/** Grows an array to hold one more; *capacity elements before. NULL: out of memory, old kept. */
void *rp_grow(void *array, size_t count, size_t *capacity, size_t element_bytes);

/** Refuses kernels whose times add up to more than 64 bits hold. @param store  NULL: several */
int rp_refuse_sum(const struct rp_store *store, struct rp_err *err);

/** Clamps a column of unknown origin to what the result holds; negative becomes 0. */
uint32_t rp_column_u32(int64_t value);

/* The JSON columns of a trace. They add detail: text that is not JSON counts as empty. */

/**
 * Reads an extdata column (NULL = none). The result may be NULL, which every json_object_get
 * accepts; release it with json_decref.
 * @return 0, or RP_ENVIRONMENT (out of memory)
 */
int rp_extdata_load(const char *text, json_t **ret, struct rp_err *err);

/** A positive integer of the object, 0 when absent, of another kind or above most. */
uint64_t rp_extdata_positive(const json_t *object, const char *key, uint64_t most);

#endif

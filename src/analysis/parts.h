/**
 * @file parts.h
 * @brief The steps of rp_profile_compute: GPUs, kernel identities, grouping.
 */
#ifndef RP_ANALYSIS_PARTS_H
#define RP_ANALYSIS_PARTS_H

#include "rocm-perf/analysis.h"
#include "trace/rocpd.h"

/** Strings of one profile. */
struct rp_profile_memory {
    char **strings;
    size_t count, capacity;
};

/** Copies len bytes; NULL when out of memory. Owned by the memory. */
const char *rp_profile_keep(struct rp_profile_memory *memory, const char *text, size_t len);

/** What makes two kernel symbols the same kernel, whichever process loaded them. */
struct rp_kernel_identity {
    const char *name, *symbol; /**< owned by the profile's memory */
    bool runtime_internal;
    bool symbol_known; /**< false: the trace has no row for the kernel id */
    uint32_t arch_vgpr, accum_vgpr, sgpr, wave_size;
    uint64_t code_hash; /**< rp_kernel_contents */
    uint32_t rank;      /**< equal for equal kernels, ordered by name; set by the ranking */
};

enum { RP_GEOMETRY_COLUMNS = 8 }; /**< grid, block, LDS, scratch: what one launch chose */

/** Dispatches of one trace that differ in nothing but their times. */
struct rp_dispatch_group {
    int64_t agent_id, kernel_id; /**< in the trace */
    int64_t geometry[RP_GEOMETRY_COLUMNS];
    int64_t first_start_ns, first_id; /**< of the first of them */
    uint64_t count, timed_count;      /**< all; those whose times are good */
    uint64_t total_ns, min_ns, max_ns;
    struct rp_replayed replayed;
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
void rp_replayed_add(struct rp_replayed *sum, uint64_t *sum_ns, const struct rp_replayed *more,
                     uint64_t ns);

/** Replays of one trace, by dispatch. */
struct rp_replays {
    struct rp_row_replay *rows;
    size_t count, capacity;
};
/** The rows are the caller's to free. */
int rp_replays_read(struct rp_store *store, struct rp_replays *ret, struct rp_err *err);
/** That of a dispatch; calls 0: none. */
struct rp_replayed rp_replays_of(const struct rp_replays *r, const struct rp_row_dispatch *row);
/** Dispatches of one trace with their times. */
struct rp_overlaps {
    struct rp_overlaps_row {
        int64_t agent_id, start_ns, end_ns;
        uint32_t guid_index;
    } * rows;
    size_t count, capacity;
};
/** @return false: no memory; the rows are the caller's to free */
bool rp_overlaps_add(struct rp_overlaps *o, const struct rp_row_dispatch *row);
/** Adds to *@p sum; sorts the rows. */
int rp_overlaps_sum(struct rp_overlaps *o, struct rp_overlapped *sum, struct rp_err *err);
/** Which model of time the traces are of; they must say the same. */
int rp_profile_timing(struct rp_profile *profile, struct rp_store *const *stores, size_t count,
                      struct rp_err *err);

/** Which launches of the traces started no kernel. */
int rp_profile_launches(struct rp_profile *profile, struct rp_store *const *stores, size_t count,
                        struct rp_err *err);

/** Working state; the profile under construction is owned by the caller. */
struct rp_profile_build {
    struct rp_profile *profile;
    struct rp_kernel_identity *identities;
    size_t identity_count, identity_capacity;
    struct rp_dispatch_group *groups;
    size_t group_count;
};

/** Grows an array to hold one more; *capacity elements before. NULL: out of memory, old kept. */
void *rp_grow(void *array, size_t count, size_t *capacity, size_t element_bytes);

/**
 * Index of the GPU in the profile's agents, added when new.
 * @param row  NULL: the trace has no such agent; then only trace_id is known of it
 */
int rp_profile_agent(struct rp_profile *profile, const struct rp_row_agent *row, int64_t trace_id,
                     uint32_t *ret_index, struct rp_err *err);
/** Puts the agents in order of trace id and name; renumbers the groups. */
int rp_profile_sort_agents(struct rp_profile_build *build, struct rp_err *err);
/** Doubles the vector registers of gfx950 agents whose trace shows the ROCm 7.0/7.1 bug. */
int rp_profile_mend_gfx950(struct rp_profile_build *build, struct rp_err *err);

/** Adds an identity for a kernel row (NULL: kernel_id is unknown in the trace). */
int rp_profile_identity(struct rp_profile_build *build, const struct rp_row_kernel *row,
                        int64_t kernel_id, size_t *ret_index, struct rp_err *err);
/** Gives equal identities equal ranks. */
int rp_profile_rank(struct rp_profile_build *build, struct rp_err *err);

/** Puts the groups together in profile->kernels, with totals, geometries, occupancy and order. */
int rp_profile_group(struct rp_profile_build *build, struct rp_err *err);

/** end - start, or what counts instead, by rp_times_settle; false when a time is missing or
 * end < start. */
bool rp_dispatch_duration_ns(const struct rp_store *store, const struct rp_row_dispatch *row,
                             uint64_t *ret_ns);

/** Refuses kernels whose times add up to more than 64 bits hold. @param store  NULL: several */
int rp_refuse_sum(const struct rp_store *store, struct rp_err *err);

/** Clamps a column of unknown origin to what the result holds; negative becomes 0. */
uint32_t rp_column_u32(int64_t value);

#endif

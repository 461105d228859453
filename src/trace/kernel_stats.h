/**
 * @file kernel_stats.h
 * @brief Sums of kernels without their dispatches: *kernel_stats.csv of rocprofv3 and *.stats.csv
 *        of rocprof. docs/formats.md. Times are nanoseconds.
 */
#ifndef RP_TRACE_KERNEL_STATS_H
#define RP_TRACE_KERNEL_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rp_err;
struct rp_store;
struct rp_string_pool;

/** This stands for all dispatches of a kernel. */
struct rp_kernel_stat {
    const char *name; /**< without ".kd" at its end; owned by the whole */
    uint64_t calls, total_ns;
    bool extremes_known, deviation_known; /**< rocprof gives neither */
    double min_ns, max_ns, deviation_ns;
};

struct rp_kernel_stats {
    char *path;
    struct rp_kernel_stat *kernels; /**< each name once, in the order of the file */
    size_t count;
    uint64_t calls, total_ns; /**< of all of them */

    struct rp_string_pool *text; /**< owned by the functions below */
};

/**
 * Is it called so? @param ret_prefix_len  NULL, or how much of the path stands before
 * "kernel_stats.csv": other files of the process begin in the same way; 0 for those of rocprof
 */
bool rp_kernel_stats_is_one(const char *path, size_t *ret_prefix_len);
/** @return 0; RP_BAD_INPUT naming file and line; RP_ENVIRONMENT */
int rp_kernel_stats_open(const char *path, struct rp_kernel_stats **ret, struct rp_err *err);
/** Frees the statistics; NULL is accepted. */
void rp_kernel_stats_free(struct rp_kernel_stats *stats);

/**
 * Does a trace of the same process say the same of every kernel?
 * @param ret  the first kernel of the file that the trace has other calls or another time of;
 *             NULL: none
 */
int rp_kernel_stats_compare(const struct rp_kernel_stats *stats, struct rp_store *store,
                            const struct rp_kernel_stat **ret, struct rp_err *err);

#endif

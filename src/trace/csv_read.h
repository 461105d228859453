/**
 * @file csv_read.h
 * @brief This header reads comma-separated values, RFC 4180: quoted fields may hold commas, line
 * ends and, doubled, quotes.
 */
#ifndef RP_TRACE_CSV_READ_H
#define RP_TRACE_CSV_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/buf.h"

struct rp_err;
struct rp_store;
struct rp_string_pool;

/** Set at and end, zero the rest, and release it with rp_csv_free(). */
struct rp_csv {
    const char *at, *end;
    unsigned long line;  /**< of the record that was read, from 1 */
    unsigned long lines; /**< read so far */
    struct rp_buf text;
    size_t *starts; /**< of each field in text; each is terminated */
    size_t count, capacity;
};

/**
 * Reads the next record that is not empty.
 * @return 1, or 0 at the end; RP_BAD_INPUT naming the line; RP_ENVIRONMENT
 */
int rp_csv_next(struct rp_csv *csv, struct rp_err *err);

typedef int rp_csv_fn(void *ctx, struct rp_err *err);

/**
 * Reads a file that begins with the names of its columns: @p header is called for these, @p row for
 * every other record, which has as many fields, until one returns a negative number.
 * @return 0; what they returned; RP_BAD_INPUT, RP_ENVIRONMENT
 */
int rp_csv_each(struct rp_csv *csv, rp_csv_fn *header, rp_csv_fn *row, void *ctx,
                struct rp_err *err);

/* Statistics have sums of kernels without their dispatches: *kernel_stats.csv of rocprofv3 and
 * *.stats.csv of rocprof (docs/formats.md). Times are nanoseconds.
 */

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
 * Tests whether the file is called so.
 * @param ret_prefix_len  NULL, or how much of the path stands before "kernel_stats.csv": other
 *         files of the process begin in the same way; 0 for those of rocprof
 */
bool rp_kernel_stats_is_one(const char *path, size_t *ret_prefix_len);
/** @return 0; RP_BAD_INPUT naming file and line; RP_ENVIRONMENT */
int rp_kernel_stats_open(const char *path, struct rp_kernel_stats **ret, struct rp_err *err);
/** Frees the statistics; NULL is accepted. */
void rp_kernel_stats_free(struct rp_kernel_stats *stats);

/**
 * Tests whether a trace of the same process says the same of every kernel.
 * @param ret  the first kernel of the file that the trace has other calls or another time of;
 *         NULL: none
 */
int rp_kernel_stats_compare(const struct rp_kernel_stats *stats, struct rp_store *store,
                            const struct rp_kernel_stat **ret, struct rp_err *err);

/** Field of the record, "" when it has fewer. */
static inline const char *rp_csv_field(const struct rp_csv *csv, size_t index)
{
    return index < csv->count ? csv->text.data + csv->starts[index] : "";
}

static inline void rp_csv_free(struct rp_csv *csv)
{
    rp_buf_free(&csv->text);
    free(csv->starts);
    *csv = (struct rp_csv){0};
}

#endif

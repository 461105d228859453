/**
 * @file csv_read.h
 * @brief Comma-separated values, RFC 4180: quoted fields may hold commas, line ends and, doubled,
 *        quotes.
 */
#ifndef RP_TRACE_CSV_READ_H
#define RP_TRACE_CSV_READ_H

#include <stddef.h>
#include <stdlib.h>

#include "base/buf.h"

struct rp_err;

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

typedef int rp_csv_fn(void *ctx, struct rp_err *err);

/**
 * Reads a file that begins with the names of its columns: @p header is called for these, @p row for
 * every other record, which has as many fields, until one returns a negative number.
 * @return 0; what they returned; RP_BAD_INPUT, RP_ENVIRONMENT
 */
int rp_csv_each(struct rp_csv *csv, rp_csv_fn *header, rp_csv_fn *row, void *ctx,
                struct rp_err *err);

#endif

#include "trace/csv_read.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/vec.h"
#include "trace/gzip.h"

enum {
    RP_CSV_MAX_FIELDS = 65536,    /**< rocprof-compute's widest file has 3,000 */
    RP_CSV_MAX_RECORD = 16 << 20, /**< bytes */
};

static int begin_field(struct rp_csv *csv, struct rp_err *err)
{
    if (csv->count == RP_CSV_MAX_FIELDS)
        return rp_fail(err, RP_BAD_INPUT, "line %lu: more than %d fields", csv->line,
                       RP_CSV_MAX_FIELDS);
    if (rp_vec_grow(&csv->starts, &csv->capacity, csv->count, 1, sizeof *csv->starts) < 0)
        return rp_out_of_memory(err);
    csv->starts[csv->count++] = csv->text.len;
    return 0;
}

/* Reads the text behind the opening quote and stops behind the closing one. */
static int read_quoted(struct rp_csv *csv, struct rp_err *err)
{
    unsigned long opened = csv->lines;

    for (;;) {
        const char *quote = memchr(csv->at, '"', (size_t)(csv->end - csv->at));

        if (!quote)
            return rp_fail(err, RP_BAD_INPUT, "line %lu: the quoted field has no end", opened);
        for (const char *p = csv->at; p < quote; p++)
            csv->lines += *p == '\n';
        rp_buf_add(&csv->text, csv->at, (size_t)(quote - csv->at));
        csv->at = quote + 1;
        if (csv->at == csv->end || *csv->at != '"')
            return 0;
        rp_buf_add(&csv->text, "\"", 1);
        csv->at++;
    }
}

static int read_plain(struct rp_csv *csv, struct rp_err *err)
{
    const char *p = csv->at;

    while (p < csv->end && *p != ',' && *p != '\n' && *p != '\r') {
        if (*p == '"')
            return rp_fail(err, RP_BAD_INPUT, "line %lu: a quote within a field that has none",
                           csv->lines);
        p++;
    }
    rp_buf_add(&csv->text, csv->at, (size_t)(p - csv->at));
    csv->at = p;
    return 0;
}

/* Takes "
 * ", "\r
 * " or a lone "\r". @return false when something else follows
 */
static bool take_line_end(struct rp_csv *csv)
{
    if (csv->at == csv->end)
        return true;
    if (*csv->at != '\n' && *csv->at != '\r')
        return false;
    if (*csv->at == '\r' && csv->end - csv->at > 1 && csv->at[1] == '\n')
        csv->at++;
    csv->at++;
    return true;
}

static int read_record(struct rp_csv *csv, struct rp_err *err)
{
    csv->line = csv->lines;
    for (;;) {
        size_t start = csv->text.len;
        int result = begin_field(csv, err);

        if (result == 0 && csv->at < csv->end && *csv->at == '"') {
            csv->at++;
            result = read_quoted(csv, err);
        } else if (result == 0) {
            result = read_plain(csv, err);
        }
        if (result < 0)
            return result;
        if (csv->text.len > RP_CSV_MAX_RECORD)
            return rp_fail(err, RP_BAD_INPUT, "line %lu is longer than %d bytes", csv->line,
                           RP_CSV_MAX_RECORD);
        if (csv->text.len > start && memchr(csv->text.data + start, '\0', csv->text.len - start))
            return rp_fail(err, RP_BAD_INPUT, "line %lu holds a zero byte: this is no text",
                           csv->line);
        rp_buf_add(&csv->text, "", 1);
        if (csv->text.failed)
            return rp_out_of_memory(err);
        if (csv->at < csv->end && *csv->at == ',') {
            csv->at++;
            continue;
        }
        return take_line_end(csv) ? 0
                                  : rp_fail(err, RP_BAD_INPUT,
                                            "line %lu: text behind a closing quote", csv->lines);
    }
}

int rp_csv_next(struct rp_csv *csv, struct rp_err *err)
{
    static const char mark[] = "\xef\xbb\xbf"; /* Spreadsheets put this mark in front. */
    int result;

    if (csv->lines == 0 && csv->end - csv->at >= 3 && memcmp(csv->at, mark, 3) == 0)
        csv->at += 3;
    do {
        if (csv->at == csv->end)
            return 0;
        csv->count = 0;
        csv->text.len = 0;
        csv->lines++;
        result = read_record(csv, err);
        if (result < 0)
            return result;
    } while (csv->count == 1 && *rp_csv_field(csv, 0) == '\0');
    return 1;
}

int rp_csv_each(struct rp_csv *csv, rp_csv_fn *header, rp_csv_fn *row, void *ctx,
                struct rp_err *err)
{
    int result = rp_csv_next(csv, err);
    const size_t fields = csv->count;

    if (result == 0)
        return rp_fail(err, RP_BAD_INPUT, "the file is empty");
    if (result > 0)
        result = header(ctx, err);
    while (result >= 0 && (result = rp_csv_next(csv, err)) > 0) {
        if (csv->count != fields)
            return rp_fail(err, RP_BAD_INPUT, "line %lu has %zu fields, the header %zu", csv->line,
                           csv->count, fields);
        result = row(ctx, err);
    }
    return result;
}

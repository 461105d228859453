#include "trace/csv_read.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/map.h"
#include "base/path.h"
#include "base/vec.h"
#include "trace/gzip.h"
#include "trace/rocpd.h"
#include "trace/rocpd_read.h"

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

enum column { NAME, CALLS, TOTAL, MIN, MAX, DEVIATION, COLUMN_COUNT, NEEDED = MIN };

static const char *const words[COLUMN_COUNT] = {"Name",  "Calls", "TotalDurationNs",
                                                "MinNs", "MaxNs", "StdDev"};

struct reader {
    struct rp_csv csv;
    struct rp_map names;
    size_t at[COLUMN_COUNT]; /**< from 1; 0: the file has no such column */
    struct rp_kernel_stats *stats;
};

bool rp_kernel_stats_is_one(const char *path, size_t *ret_prefix_len)
{
    static const char of_rocprofv3[] = "kernel_stats.csv";
    size_t len = rp_gzip_name_length(path), end = strlen(of_rocprofv3);
    bool by_process = rp_gzip_name_ends_with(path, of_rocprofv3) &&
                      (len == end || strchr("/_", path[len - end - 1]));

    if (ret_prefix_len)
        *ret_prefix_len = by_process ? len - end : 0;
    return by_process || rp_gzip_name_ends_with(path, ".stats.csv");
}

void rp_kernel_stats_free(struct rp_kernel_stats *stats)
{
    if (!stats)
        return;
    if (stats->text)
        rp_string_pool_free(stats->text);
    free(stats->text);
    free(stats->kernels);
    free(stats->path);
    free(stats);
}

/* --- rows --------------------------------------------------------------------------------- */

static const char *field(const struct reader *r, enum column column)
{
    return r->at[column] ? rp_csv_field(&r->csv, r->at[column] - 1) : "";
}

static int refuse(const struct reader *r, enum column column, struct rp_err *err)
{
    return rp_fail(err, RP_BAD_INPUT, "line %lu: '%.40s' is no value of %s", r->csv.line,
                   field(r, column), words[column]);
}

static int whole(const struct reader *r, enum column column, uint64_t *ret, struct rp_err *err)
{
    const char *text = field(r, column);
    char *end;

    errno = 0;
    *ret = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == '\0' && !errno && *ret <= INT64_MAX
               ? 0
               : refuse(r, column, err);
}

/* Where the column or its field is empty, nothing is known. */
static int fraction(const struct reader *r, enum column column, bool *ret_known, double *ret,
                    struct rp_err *err)
{
    const char *text = field(r, column);
    char *end;

    *ret_known = *text != '\0';
    *ret = strtod(text, &end);
    if (!*ret_known)
        return 0;
    return end != text && *end == '\0' && isfinite(*ret) && *ret >= 0 ? 0 : refuse(r, column, err);
}

static int read_row(struct reader *r, struct rp_kernel_stat *ret, struct rp_err *err)
{
    bool has_max = false;
    int rc = whole(r, CALLS, &ret->calls, err);

    if (rc == 0)
        rc = whole(r, TOTAL, &ret->total_ns, err);
    if (rc == 0)
        rc = fraction(r, MIN, &ret->extremes_known, &ret->min_ns, err);
    if (rc == 0)
        rc = fraction(r, MAX, &has_max, &ret->max_ns, err);
    if (rc == 0)
        rc = fraction(r, DEVIATION, &ret->deviation_known, &ret->deviation_ns, err);
    if (rc < 0)
        return rc;
    ret->extremes_known &= has_max;
    if (ret->calls == 0)
        return refuse(r, CALLS, err);
    if (ret->extremes_known && ret->min_ns > ret->max_ns)
        return rp_fail(err, RP_BAD_INPUT, "line %lu: MinNs is above MaxNs", r->csv.line);
    return 0;
}

/* Names that only differ in how they name the descriptor are one kernel, whose deviation is that
 * of neither row.
 */
static void add_up(struct rp_kernel_stat *to, const struct rp_kernel_stat *row)
{
    to->calls += row->calls;
    to->total_ns += row->total_ns;
    to->extremes_known &= row->extremes_known;
    to->min_ns = fmin(to->min_ns, row->min_ns);
    to->max_ns = fmax(to->max_ns, row->max_ns);
    to->deviation_known = false;
}

static int add_row(void *ctx, struct rp_err *err)
{
    struct reader *r = ctx;
    struct rp_kernel_stats *stats = r->stats;
    struct rp_kernel_stat row = {0}, *place;
    const char *name = field(r, NAME);
    uint32_t number;

    if (read_row(r, &row, err) < 0)
        return -(int)RP_BAD_INPUT;
    if (row.total_ns > INT64_MAX - stats->total_ns || row.calls > INT64_MAX - stats->calls)
        return rp_fail(err, RP_BAD_INPUT, "line %lu: the sum of all kernels is above 2^63",
                       r->csv.line);
    row.name = rp_string_pool_add(stats->text, name, rp_kernel_name_length(name));
    number = row.name ? rp_map_add_text(&r->names, row.name) : RP_NO_NUMBER;
    if (number == RP_NO_NUMBER)
        return rp_out_of_memory(err);
    stats->calls += row.calls;
    stats->total_ns += row.total_ns;
    if (number < stats->count) {
        add_up(&stats->kernels[number], &row);
        return 0;
    }
    place = rp_array_add(&stats->kernels, &stats->count);
    if (!place)
        return rp_out_of_memory(err);
    *place = row;
    return 0;
}

static int read_header(void *ctx, struct rp_err *err)
{
    struct reader *r = ctx;

    for (size_t i = 0; i < r->csv.count; i++)
        for (size_t c = 0; c < COLUMN_COUNT; c++)
            if (strcasecmp(rp_csv_field(&r->csv, i), words[c]) == 0)
                r->at[c] = i + 1;
    for (size_t c = 0; c < NEEDED; c++)
        if (!r->at[c])
            return rp_fail(err, RP_BAD_INPUT,
                           "it has no column %s: is it of rocprofv3 --stats or rocprof --stats?",
                           words[c]);
    return 0;
}

int rp_kernel_stats_open(const char *path, struct rp_kernel_stats **ret, struct rp_err *err)
{
    struct reader r = {.stats = calloc(1, sizeof *r.stats)};
    rp_autobuf text = {0};
    int rc = -RP_ENVIRONMENT;

    if (r.stats) {
        r.stats->path = strdup(path);
        r.stats->text = calloc(1, sizeof *r.stats->text);
    }
    if (!r.stats || !r.stats->path || !r.stats->text) {
        rp_kernel_stats_free(r.stats);
        return rp_out_of_memory(err);
    }
    r.stats->text->limit_bytes = UINT64_MAX;
    rc = rp_gzip_read_buf(path, &text, err);
    if (rc == 0) {
        r.csv = (struct rp_csv){.at = rp_buf_text(&text), .end = rp_buf_text(&text) + text.len};
        rc = rp_csv_each(&r.csv, read_header, add_row, &r, err);
        if (rc == 0 && r.stats->count == 0)
            rc = rp_fail(err, RP_BAD_INPUT, "it names no kernel");
        rp_csv_free(&r.csv);
        rp_map_free(&r.names);
    }
    if (rc < 0) {
        rp_kernel_stats_free(r.stats);
        return rp_wrap(err, "read kernel statistics %s", path);
    }
    *ret = r.stats;
    return 0;
}

/* --- the same of a trace ------------------------------------------------------------------- */

struct sums {
    struct rp_store *store;
    struct rp_map names; /**< of the file */
    struct rp_kernel_stat *of;
};

static int add_dispatch(void *ctx, const void *row, struct rp_err *err)
{
    struct sums *sums = ctx;
    const struct rp_row_dispatch *d = row;
    const struct rp_row_kernel *kernel =
        rp_store_find_kernel(sums->store, d->guid_index, d->kernel_id);
    const uint32_t number =
        kernel ? rp_map_find_text(&sums->names, kernel->plain_name) : RP_NO_NUMBER;

    (void)err;
    if (number != RP_NO_NUMBER) {
        sums->of[number].calls++;
        sums->of[number].total_ns += (uint64_t)d->end_ns - (uint64_t)d->start_ns;
    }
    return 0;
}

int rp_kernel_stats_compare(const struct rp_kernel_stats *stats, struct rp_store *store,
                            const struct rp_kernel_stat **ret, struct rp_err *err)
{
    rp_autofree struct rp_kernel_stat *of = calloc(stats->count + 1, sizeof *of);
    struct sums sums = {.store = store, .of = of};
    const struct rp_row_kernel *kernels;
    size_t count;
    int rc = of ? rp_store_kernels(store, &kernels, &count, err) : rp_out_of_memory(err);

    for (size_t i = 0; i < stats->count && rc == 0; i++)
        if (rp_map_add_text(&sums.names, stats->kernels[i].name) == RP_NO_NUMBER)
            rc = rp_out_of_memory(err);
    if (rc == 0)
        rc = rp_store_each_work(store, add_dispatch, &sums, err);
    rp_map_free(&sums.names);
    *ret = NULL;
    for (size_t i = 0; i < stats->count && rc == 0 && !*ret; i++)
        if (of[i].calls != stats->kernels[i].calls || of[i].total_ns != stats->kernels[i].total_ns)
            *ret = &stats->kernels[i];
    return rc;
}

#include "collect/modelled_time.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "trace/records.h"
#include "trace/rocpd.h"

struct rp_replay_rows {
    struct rp_store_writer *writer;
    const struct rp_rec_simulation **records; /* by dispatch */
    size_t count;
};

int rp_modelled_time_put(const struct rp_record_file *file, struct rp_store_writer *writer,
                         struct rp_err *err)
{
    static const char *const names[] = {
        [RP_TRACE_TIMING_FAST] = "fast",
        [RP_TRACE_TIMING_DETAILED] = "detailed",
        [RP_TRACE_TIMING_OFF] = "off",
    };
    const struct rp_trace_header *header = rp_record_file_header(file);
    char version[12];
    int rc;

    if (header->timing == RP_TRACE_TIMING_NONE)
        return 0;
    if (header->timing >= sizeof names / sizeof *names)
        return rp_fail(err, RP_BAD_INPUT, "unknown timing model %" PRIu32, header->timing);
    snprintf(version, sizeof version, "%" PRIu32, header->timing_version);
    rc = rp_store_put_metadata(writer, RP_STORE_TIMING_TAG, names[header->timing], err);
    return rc < 0 ? rc : rp_store_put_metadata(writer, RP_STORE_TIMING_VERSION_TAG, version, err);
}

static int by_dispatch(const void *a, const void *b)
{
    const struct rp_rec_simulation *x = *(const struct rp_rec_simulation *const *)a;
    const struct rp_rec_simulation *y = *(const struct rp_rec_simulation *const *)b;

    return (x->dispatch_id > y->dispatch_id) - (x->dispatch_id < y->dispatch_id);
}

int rp_replay_rows_new(const struct rp_record_file *file, struct rp_store_writer *writer,
                       struct rp_replay_rows **ret, struct rp_err *err)
{
    size_t count;
    const struct rp_record *records = rp_record_file_records(file, &count);
    struct rp_replay_rows *rows = calloc(1, sizeof *rows);

    if (rows)
        rows->records = malloc((count + 1) * sizeof(*rows->records));
    if (!rows || !rows->records) {
        free(rows);
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    }
    rows->writer = writer;
    for (size_t i = 0; i < count; i++)
        if (records[i].kind == RP_REC_SIMULATION)
            rows->records[rows->count++] = &records[i].u.replay;
    qsort(rows->records, rows->count, sizeof(*rows->records), by_dispatch);
    *ret = rows;
    return 0;
}

void rp_replay_rows_free(struct rp_replay_rows *rows)
{
    if (!rows)
        return;
    free(rows->records);
    free(rows);
}

int rp_replay_rows_put(struct rp_replay_rows *rows, uint64_t dispatch_id, int64_t row_id,
                       struct rp_err *err)
{
    const struct rp_rec_simulation key = {.dispatch_id = dispatch_id}, *wanted = &key;
    const struct rp_rec_simulation *const *found =
        bsearch(&wanted, rows->records, rows->count, sizeof(*rows->records), by_dispatch);

    if (!found)
        return 0;
    return rp_store_put_replay(
        rows->writer,
        &(struct rp_row_replay){.id = row_id,
                                .waves = (int64_t)(*found)->waves,
                                .replayed_waves = (int64_t)(*found)->replayed_waves,
                                .error_share = (*found)->error_share,
                                .fast_clock_waves = (int64_t)(*found)->fast_clock_waves},
        err);
}

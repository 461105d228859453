#include "collect/device_counters.h"

#include <stdlib.h>

#include "arch/hardware_counters.h"
#include "base/err.h"
#include "trace/records.h"
#include "trace/rocpd.h"

/* A counter of an agent that has a row. */
struct counter {
    int64_t agent_id;
    uint32_t name_id;
};

struct rp_counter_rows {
    const struct rp_record_file *file;
    struct rp_store_writer *writer;
    const struct rp_rec_counters **records; /* by dispatch, then as they were recorded */
    size_t record_count;
    struct counter *counters; /* row n has id n + 1 */
    size_t counter_count;
};

static int by_dispatch(const void *a, const void *b)
{
    const struct rp_rec_counters *x = *(const struct rp_rec_counters *const *)a;
    const struct rp_rec_counters *y = *(const struct rp_rec_counters *const *)b;

    if (x->dispatch_id != y->dispatch_id)
        return x->dispatch_id < y->dispatch_id ? -1 : 1;
    return (x > y) - (x < y);
}

int rp_counter_rows_new(const struct rp_record_file *file, struct rp_store_writer *writer,
                        struct rp_counter_rows **ret, struct rp_err *err)
{
    size_t count;
    const struct rp_record *records = rp_record_file_records(file, &count);
    struct rp_counter_rows *rows = calloc(1, sizeof *rows);

    if (rows)
        rows->records = malloc((count + 1) * sizeof(*rows->records));
    if (!rows || !rows->records) {
        free(rows);
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    }
    rows->file = file;
    rows->writer = writer;
    for (size_t i = 0; i < count; i++)
        if (records[i].kind == RP_REC_COUNTERS)
            rows->records[rows->record_count++] = &records[i].u.counters;
    qsort(rows->records, rows->record_count, sizeof(*rows->records), by_dispatch);
    *ret = rows;
    return 0;
}

void rp_counter_rows_free(struct rp_counter_rows *rows)
{
    if (!rows)
        return;
    free(rows->records);
    free(rows->counters);
    free(rows);
}

static int new_counter(struct rp_counter_rows *rows, uint32_t name_id, int64_t agent_id,
                       struct rp_err *err)
{
    const char *name = rp_record_file_string(rows->file, name_id);
    const struct rp_device_counter_row *known = rp_device_counter_find(name);
    struct counter *grown =
        reallocarray(rows->counters, rows->counter_count + 1, sizeof(*rows->counters));
    struct rp_row_counter_info row = {
        .id = (int64_t)rows->counter_count + 1,
        .agent_id = agent_id,
        .name = name,
        .block = known ? known->block : NULL,
        .description = known ? known->text : NULL,
    };

    if (!grown)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    rows->counters = grown;
    grown[rows->counter_count++] = (struct counter){.agent_id = agent_id, .name_id = name_id};
    return rp_store_put_counter(rows->writer, &row, err);
}

static int put_value(struct rp_counter_rows *rows, uint32_t name_id, int64_t agent_id, double value,
                     struct rp_err *err)
{
    size_t at = 0;
    int rc = 0;

    while (at < rows->counter_count &&
           (rows->counters[at].name_id != name_id || rows->counters[at].agent_id != agent_id))
        at++;
    if (at == rows->counter_count)
        rc = new_counter(rows, name_id, agent_id, err);
    return rc < 0 ? rc : rp_store_put_counter_value(rows->writer, (int64_t)at + 1, value, err);
}

/* The first record of the dispatch. */
static size_t first_of(const struct rp_counter_rows *rows, uint64_t dispatch_id)
{
    size_t low = 0, high = rows->record_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (rows->records[middle]->dispatch_id < dispatch_id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int rp_counter_rows_put(struct rp_counter_rows *rows, uint64_t dispatch_id, int64_t agent_id,
                        struct rp_err *err)
{
    int rc = 0;

    for (size_t i = first_of(rows, dispatch_id);
         i < rows->record_count && rows->records[i]->dispatch_id == dispatch_id; i++)
        for (uint32_t j = 0; j < rows->records[i]->count && rc == 0; j++)
            rc = put_value(rows, rows->records[i]->name_id[j], agent_id, rows->records[i]->value[j],
                           err);
    return rc;
}

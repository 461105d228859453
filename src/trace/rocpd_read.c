#include "trace/rocpd_read.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/vec.h"
#include "base/work_progress.h"
#include "trace/counter_set.h"
#include "trace/csv_trace.h"
#include "trace/gzip.h"
#include "trace/rocpd.h"
#include "trace/rocpd_schema.h"

static int add_metadata(struct rp_table_scan *pass, uint32_t guid, void *ctx, struct rp_err *err)
{
    struct rp_store *s = ctx;
    const char **pair = rp_array_next(&s->metadata, &s->metadata_count, 2 * sizeof *pair);
    int result;

    (void)guid;
    if (!pair)
        return rp_out_of_memory(err);
    pair[0] = pair[1] = "";
    result = rp_table_scan_text(pass, 0, "", &pair[0], err);
    return result < 0 ? result : rp_table_scan_text(pass, 1, "", &pair[1], err);
}

static int load_metadata(struct rp_store *s, struct rp_err *err)
{
    static const char *const columns[] = {"tag", "value"};
    static const bool required[] = {true, true};

    const struct rp_table_scan_request order = {.table = RP_TABLE_metadata,
                                                .columns = columns,
                                                .column_count = 2,
                                                .required = required,
                                                .keep_texts = true};

    return rp_table_scan_each(s, &order, add_metadata, s, err);
}

/* Rows may repeat a text through views, but not without end. */
static int find_all(struct rp_store *s, uint64_t size_bytes, struct rp_err *err)
{
    int result;

    s->size_bytes = size_bytes;
    s->text.limit_bytes = 8 * size_bytes + ((uint64_t)16 << 20);
    result = rp_table_scan_prepare(s, err);
    if (result == 0)
        result = rp_relations_find(s, err);
    return result < 0 ? result : load_metadata(s, err);
}

/* SQLite reads files by name: what is unpacked has one until it is open. */
static int open_database(const char *path, sqlite3 **ret, uint64_t *ret_bytes, struct rp_err *err)
{
    rp_autofree char *unpacked = NULL;
    int result = rp_gzip_unpack(path, &unpacked, err);

    if (result == 0)
        result = rp_probe_open(unpacked ? unpacked : path, ret, ret_bytes, err);
    if (unpacked)
        unlink(unpacked);
    return result;
}

static int open_and_find(struct rp_store *s, struct rp_err *err)
{
    uint64_t size_bytes;
    int result = open_database(s->path, &s->db, &size_bytes, err);

    return result < 0 ? result : find_all(s, size_bytes, err);
}

/* Opens the processes, which number the guids, and takes the store. */
static int begin(struct rp_store *s, int result, struct rp_store **ret, struct rp_err *err)
{
    if (result < 0)
        result = rp_wrap(err, "read trace %s", s->path);
    else /* This reader adds context to its errors itself. */
        result = rp_load_rows(s, RP_ROWS_process, err);
    if (result < 0)
        rp_store_close(s);
    else
        *ret = s;
    return result;
}

static struct rp_store *new_store(const char *path, size_t path_len)
{
    struct rp_store *s = calloc(1, sizeof *s);

    if (s && !(s->path = strndup(path, path_len))) {
        free(s);
        s = NULL;
    }
    return s;
}

int rp_store_open(const char *path, struct rp_store **ret, struct rp_err *err)
{
    struct rp_store *s = new_store(path, strlen(path));

    return s ? begin(s, open_and_find(s, err), ret, err) : rp_out_of_memory(err);
}

int rp_store_adopt(sqlite3 *db, const char *path, size_t path_len, uint64_t size_bytes,
                   struct rp_store **ret, struct rp_err *err)
{
    struct rp_store *s = new_store(path, path_len);
    int result;

    if (!s) {
        sqlite3_close(db);
        return rp_out_of_memory(err);
    }
    s->db = db;
    s->named = strdup(path);
    /* The common name of several files is shown to people without its last separator. */
    if (path_len && strchr("/_", path[path_len - 1])) {
        free(s->path);
        s->path = rp_format("%.*s*", (int)path_len, path);
    }
    while (path_len && strchr("/_", path[path_len - 1]))
        path_len--;
    s->text.limit_bytes = path_len + 1;
    s->guids[0] = !s->path || !s->named ? NULL : rp_string_pool_add(&s->text, path, path_len);
    s->guid_count = 1;
    result = s->guids[0] ? find_all(s, size_bytes, err) : rp_out_of_memory(err);
    return begin(s, result, ret, err);
}

bool rp_store_is_foreign(const char *path)
{
    struct rp_err err = RP_ERR_INIT;
    uint64_t size_bytes;
    sqlite3 *db = NULL;
    bool found;

    if (open_database(path, &db, &size_bytes, &err) < 0)
        return false;
    found = rp_relations_exist(db);
    sqlite3_close(db);
    return !found;
}

void rp_store_close(struct rp_store *store)
{
    if (!store)
        return;
    sqlite3_close(store->db);
    for (int t = 0; t < RP_TABLE_COUNT; t++)
        rp_relations_free(&store->tables[t]);
    for (int r = 0; r < RP_ROWS_COUNT; r++)
        free(store->rows[r].rows);
    free(store->strings.rows);
    rp_events_free(&store->events);
    free(store->counters.rows);
    free(store->metadata);
    free(store->ends);
    rp_string_pool_free(&store->text);
    free(store->path);
    free(store->named);
    free(store);
}

void rp_store_watch(struct rp_store *store, const struct rp_work *work)
{
    store->work = work;
    store->pages_read = 0;
}

const char *rp_store_named(const struct rp_store *store)
{
    return store->named ? store->named : store->path;
}

const char *rp_store_path(const struct rp_store *store)
{
    return store->path;
}

const char *rp_store_schema(const struct rp_store *store)
{
    return store->schema;
}

const char *rp_store_metadata(const struct rp_store *store, const char *tag)
{
    for (size_t i = 0; i < store->metadata_count; i++)
        if (strcmp(store->metadata[2 * i], tag) == 0)
            return store->metadata[2 * i + 1];
    return NULL;
}

uint32_t rp_store_guid_count(const struct rp_store *store)
{
    return store->guid_count;
}

const char *rp_store_guid(const struct rp_store *store, uint32_t guid_index)
{
    return guid_index < store->guid_count ? store->guids[guid_index] : NULL;
}

/* rp_store_<plural>() loads rows once and lends the array. */
#define DEFINE_ROWS(plural, rows_name, row)                                                        \
    int rp_store_##plural(struct rp_store *s, const struct row **ret, size_t *ret_count,           \
                          struct rp_err *err)                                                      \
    {                                                                                              \
        int result = rp_load_rows(s, RP_ROWS_##rows_name, err);                                    \
                                                                                                   \
        if (result < 0)                                                                            \
            return result;                                                                         \
        *ret = s->rows[RP_ROWS_##rows_name].rows;                                                  \
        *ret_count = s->rows[RP_ROWS_##rows_name].count;                                           \
        return 0;                                                                                  \
    }

DEFINE_ROWS(nodes, node, rp_row_node)
DEFINE_ROWS(processes, process, rp_row_process)
DEFINE_ROWS(threads, thread, rp_row_thread)
DEFINE_ROWS(agents, agent, rp_row_agent)
DEFINE_ROWS(queues, queue, rp_row_queue)
DEFINE_ROWS(streams, stream, rp_row_queue)
DEFINE_ROWS(code_objects, code_object, rp_row_code_object)
DEFINE_ROWS(kernels, kernel, rp_row_kernel)
DEFINE_ROWS(dispatches, dispatch, rp_row_dispatch)
DEFINE_ROWS(copies, copy, rp_row_copy)
DEFINE_ROWS(regions, region, rp_row_region)
DEFINE_ROWS(args, arg, rp_row_arg)
DEFINE_ROWS(hip_events, hip_event, rp_row_hip_event)

#define DEFINE_EACH(plural, rows_name)                                                             \
    int rp_store_each_##plural(struct rp_store *s, rp_store_row_fn *fn, void *ctx,                 \
                               struct rp_err *err)                                                 \
    {                                                                                              \
        return rp_each_row(s, RP_ROWS_##rows_name, fn, ctx, err);                                  \
    }

DEFINE_EACH(launch, launch)
DEFINE_EACH(work, work)
DEFINE_EACH(copy, copy)
DEFINE_EACH(region, region)
DEFINE_EACH(arg, arg_value)
DEFINE_EACH(hip_event, hip_event)
DEFINE_EACH(dependency, dependency)
DEFINE_EACH(simulation, simulation)
DEFINE_EACH(collective, collective)
DEFINE_EACH(pc_sample, pc_sample)
DEFINE_EACH(note, note)

struct sited {
    rp_store_row_fn *fn;
    void *ctx;
};

static int pass_line(void *ctx, const void *row, struct rp_err *err)
{
    const struct sited *sited = ctx;
    const struct rp_row_call_site *site = row;

    return strcmp(site->line_info, "{}") == 0 ? 0 : sited->fn(sited->ctx, row, err);
}

int rp_store_each_call_site(struct rp_store *s, rp_store_row_fn *fn, void *ctx, struct rp_err *err)
{
    struct sited sited = {.fn = fn, .ctx = ctx};

    return rp_store_metadata(s, RP_STORE_CALL_SITES_TAG)
               ? rp_each_row(s, RP_ROWS_call_site, pass_line, &sited, err)
               : 0;
}

void rp_store_forget_events(struct rp_store *s)
{
    rp_events_free(&s->events);
}

const struct rp_row_agent *rp_store_find_agent(const struct rp_store *s, uint32_t guid_index,
                                               int64_t id)
{
    return rp_find_row(s, RP_ROWS_agent, guid_index, id);
}

const struct rp_row_kernel *rp_store_find_kernel(const struct rp_store *s, uint32_t guid_index,
                                                 int64_t id)
{
    return rp_find_row(s, RP_ROWS_kernel, guid_index, id);
}

/* A dispatch has one row for every counter and instance of the hardware that counted (a shader
 * engine, a cache channel), but a formula needs their sum.
 */

/* Names of one counter may come from several rows of info_pmc, one for each GPU. */
static int in_order(const void *left, const void *right)
{
    const struct rp_row_counter *a = left, *b = right;

    if (a->guid_index != b->guid_index)
        return a->guid_index < b->guid_index ? -1 : 1;
    if (a->event_id != b->event_id)
        return a->event_id < b->event_id ? -1 : 1;
    return strcmp(a->name, b->name);
}

/* A sum would hide the one instance that cannot be. */
static int check_value(const struct rp_row_pmc_event *v, const char *name, struct rp_err *err)
{
    const char *refusal = rp_counter_refusal(name, v->value);

    return !refusal ? 0
                    : rp_fail(err, RP_BAD_INPUT,
                              "event %" PRId64 ": %.17g is no value of the counter %.60s: %s",
                              v->event_id, v->value, name, refusal);
}

/* A full register makes the sum of its dispatch unknown. */
static double usable(double value)
{
    return rp_counter_is_full(value) ? NAN : value;
}

/* Adds up rows of one dispatch and counter at once, which keeps the array small because they
 * mostly follow each other. @p ret_count: how many are left.
 */
static int take_values(struct rp_store *s, const struct rp_rowset *set, struct rp_row_counter *ret,
                       size_t *ret_count, struct rp_err *err)
{
    const struct rp_row_pmc_event *values = set->rows, *last = NULL;
    const char *name = "";
    size_t used = 0;

    for (size_t i = 0; i < set->count; i++) {
        const struct rp_row_pmc_event *v = &values[i];
        const struct rp_row_pmc *pmc;
        bool same;

        if (v->sample_id >= 0 || v->event_id < 0)
            continue;
        same = last && last->event_id == v->event_id && last->pmc_id == v->pmc_id &&
               last->guid_index == v->guid_index;
        if (!same) {
            pmc = rp_find_row(s, RP_ROWS_pmc, v->guid_index, v->pmc_id);
            if (!pmc || !*pmc->name)
                continue;
            name = pmc->name;
        }
        if (check_value(v, name, err) < 0)
            return -RP_BAD_INPUT;
        /* A metric that is not finite counts as one that was not collected. */
        if (!isfinite(v->value))
            continue;
        if (!same) {
            last = v;
            ret[used++] = (struct rp_row_counter){
                .event_id = v->event_id, .name = name, .guid_index = v->guid_index};
        }
        ret[used - 1].value += usable(v->value);
    }
    *ret_count = used;
    return 0;
}

static size_t add_up(struct rp_row_counter *rows, size_t count)
{
    size_t used = 0;

    for (size_t i = 0; i < count; i++) {
        if (used && in_order(&rows[used - 1], &rows[i]) == 0)
            rows[used - 1].value += rows[i].value;
        else
            rows[used++] = rows[i];
    }
    return used;
}

static int load(struct rp_store *s, struct rp_err *err)
{
    struct rp_rowset *values = &s->rows[RP_ROWS_pmc_event];
    struct rp_row_counter *rows, *fitting;
    size_t used = 0;
    int result = rp_load_rows(s, RP_ROWS_pmc, err);

    if (result == 0)
        result = rp_load_rows(s, RP_ROWS_pmc_event, err);
    if (result < 0)
        return result;
    rows = calloc(values->count + 1, sizeof *rows);
    if (!rows)
        return rp_out_of_memory(err);
    if (take_values(s, values, rows, &used, err) < 0) {
        free(rows);
        return rp_wrap(err, "read counters %s", rp_store_path(s));
    }
    /* There may be a hundred times more of them than sums. */
    free(values->rows);
    *values = (struct rp_rowset){0};
    qsort(rows, used, sizeof *rows, in_order);
    used = add_up(rows, used);
    fitting = realloc(rows, (used + 1) * sizeof *rows);
    s->counters =
        (struct rp_rowset){.rows = fitting ? fitting : rows, .count = used, .loaded = true};
    return 0;
}

int rp_store_counters(struct rp_store *s, const struct rp_row_counter **ret, size_t *ret_count,
                      struct rp_err *err)
{
    int result = s->counters.loaded ? 0 : load(s, err);

    if (result < 0)
        return result;
    *ret = s->counters.rows;
    *ret_count = s->counters.count;
    return 0;
}

void rp_store_set_corrected_ends(struct rp_store *s, struct rp_corrected_end *ends, size_t count)
{
    free(s->ends);
    s->ends = ends;
    s->end_count = count;
    s->ends_known = true;
}

bool rp_store_corrected_ends(const struct rp_store *s, const struct rp_corrected_end **ret,
                             size_t *ret_count)
{
    *ret = s->ends;
    *ret_count = s->end_count;
    return s->ends_known;
}

static int by_row(const void *a, const void *b)
{
    const struct rp_corrected_end *x = a, *y = b;

    if (x->guid_index != y->guid_index)
        return x->guid_index < y->guid_index ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

const struct rp_corrected_end *rp_store_find_corrected_end(const struct rp_store *s,
                                                           uint32_t guid_index, int64_t id)
{
    const struct rp_corrected_end key = {.id = id, .guid_index = guid_index};

    return s->end_count ? bsearch(&key, s->ends, s->end_count, sizeof key, by_row) : NULL;
}

static uint64_t count_in(const struct rp_store *store, const char *tag)
{
    const char *value = rp_store_metadata(store, tag);

    return value ? strtoull(value, NULL, 10) : 0;
}

void rp_losses_add(struct rp_losses *sum, const struct rp_store *store)
{
    sum->incomplete_traces += rp_store_metadata(store, "rocm_perf_incomplete") != NULL;
    sum->lost_records += count_in(store, "rocm_perf_lost_records");
    sum->lost_dispatches += count_in(store, "rocm_perf_lost_dispatches");
    sum->untraced_queues += count_in(store, "rocm_perf_untraced_queues");
}

bool rp_losses_none(const struct rp_losses *losses)
{
    return !losses->incomplete_traces && !losses->lost_records && !losses->lost_dispatches &&
           !losses->untraced_queues;
}

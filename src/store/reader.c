#include "store/reader.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "rocm-perf/store.h"
#include "store/gzip.h"
#include "store/json_rows.h"
#include "store/pass.h"
#include "store/probe.h"

#include <string.h>
#include <unistd.h>

/* Rows may repeat a text through views, but not without end. */
static int find_all(struct rp_store *s, uint64_t size_bytes, struct rp_err *err)
{
    int result;

    s->size_bytes = size_bytes;
    s->text.limit_bytes = 8 * size_bytes + ((uint64_t)16 << 20);
    result = rp_pass_prepare(s, err);
    if (result == 0)
        result = rp_relations_find(s, err);
    return result < 0 ? result : rp_load_metadata(s, err);
}

/* SQLite reads files by name: what is unpacked has one until it is open. */
static int open_database(const char *path, struct rp_probe *probe, sqlite3 **ret,
                         struct rp_err *err)
{
    rp_autofree char *unpacked = NULL;
    int result = rp_is_packed(path) ? rp_unpack(path, &unpacked, err) : 0;

    if (result == 0)
        result = rp_probe_file(unpacked ? unpacked : path, probe, err);
    if (result == 0)
        result = rp_probe_open(unpacked ? unpacked : path, probe, ret, err);
    if (unpacked)
        unlink(unpacked);
    return result;
}

static int open_and_find(struct rp_store *s, struct rp_err *err)
{
    struct rp_probe probe;
    int result = open_database(s->path, &probe, &s->db, err);

    return result < 0 ? result : find_all(s, probe.size_bytes, err);
}

/* The processes number the guids. Takes the store. */
static int begin(struct rp_store *s, int result, struct rp_store **ret, struct rp_err *err)
{
    if (result < 0)
        result = rp_wrap(err, "read trace %s", s->path);
    else /* this one wraps its own errors */
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

    return s ? begin(s, open_and_find(s, err), ret, err)
             : rp_fail(err, RP_ENVIRONMENT, "out of memory");
}

int rp_store_adopt(sqlite3 *db, const char *path, size_t path_len, uint64_t size_bytes,
                   struct rp_store **ret, struct rp_err *err)
{
    struct rp_store *s = new_store(path, path_len);
    int result;

    if (!s) {
        sqlite3_close(db);
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    }
    s->db = db;
    s->named = strdup(path);
    if (path_len && strchr("/_", path[path_len - 1])) { /* that of several files, for people */
        free(s->path);
        s->path = rp_format("%.*s*", (int)path_len, path);
    }
    while (path_len && strchr("/_", path[path_len - 1]))
        path_len--;
    s->text.limit_bytes = path_len + 1;
    s->guids[0] = !s->path || !s->named ? NULL : rp_text_add(&s->text, path, path_len);
    s->guid_count = 1;
    result =
        s->guids[0] ? find_all(s, size_bytes, err) : rp_fail(err, RP_ENVIRONMENT, "out of memory");
    return begin(s, result, ret, err);
}

bool rp_store_is_foreign(const char *path)
{
    struct rp_err err = RP_ERR_INIT;
    struct rp_probe probe;
    sqlite3 *db = NULL;
    bool found;

    if (open_database(path, &probe, &db, &err) < 0)
        return false;
    found = rp_relations_exist(db);
    sqlite3_close(db);
    return !found;
}

/* --- what says more of a process ---------------------------------------------------------- */

/* What has more comes later. */
enum content { NO_TRACE, OF_PROCESS, WITH_KERNELS, WITH_COUNTERS };

static int one_is_enough(void *ctx, const void *row, struct rp_err *err)
{
    (void)row;
    *(bool *)ctx = true;
    return rp_fail(err, RP_BAD_INPUT, "one is enough");
}

static int one_of_dispatch(void *ctx, const void *row, struct rp_err *err)
{
    const struct rp_row_pmc_event *value = row;

    return value->sample_id >= 0 || value->event_id < 0 ? 0 : one_is_enough(ctx, row, err);
}

static bool database_has(const char *path, enum content content)
{
    struct rp_err err = RP_ERR_INIT;
    struct rp_store *s;
    bool found = false;

    if (rp_store_open(path, &s, &err) < 0)
        return false;
    if (content == WITH_COUNTERS)
        rp_each_row(s, RP_ROWS_pmc_event, one_of_dispatch, &found, &err);
    else if (content == WITH_KERNELS)
        rp_each_row(s, RP_ROWS_launch, one_is_enough, &found, &err);
    rp_store_close(s);
    return found || content == OF_PROCESS;
}

/* Dispatches that were counted are kernels, too: without a kernel trace they are all of them. */
static bool json_has(const char *path, enum content content)
{
    return rp_store_is_json(path, true) &&
           (content == OF_PROCESS ||
            rp_json_has_records(path, "callback_records.counter_collection") ||
            (content == WITH_KERNELS &&
             rp_json_has_records(path, "buffer_records.kernel_dispatch")));
}

/* A line behind that of the columns. */
static bool csv_has_rows(const char *path)
{
    rp_autoclose int fd = -1;
    char head[4096];
    ssize_t got;
    const char *end;

    if (rp_plain_open(path, sizeof head, &fd, NULL) < 0)
        return false;
    got = read(fd, head, sizeof head);
    end = got > 0 ? memchr(head, '\n', (size_t)got) : NULL;
    return end && end + 1 < head + got;
}

static enum content content_of_csv(const char *path, size_t prefix_len)
{
    rp_autofree char *name = rp_format("%.*skernel_trace.csv", (int)prefix_len, path);
    rp_autofree char *kernels = name ? rp_plain_find(name) : NULL;

    return kernels && csv_has_rows(kernels) ? WITH_KERNELS : OF_PROCESS;
}

static enum content content_of_json(const char *path)
{
    return json_has(path, WITH_COUNTERS)  ? WITH_COUNTERS
           : json_has(path, WITH_KERNELS) ? WITH_KERNELS
                                          : OF_PROCESS;
}

/* A file of that name, that is a trace and lacks nothing of what the other file has, may be of
 * another run of rocprofv3 with the same -o: then both are read. */
char *rp_store_said_by(const char *path)
{
    static const char counters[] = "counter_collection.csv", json[] = "results.json";
    const bool is_counters = rp_plain_ends_with(path, counters);
    const bool is_json = rp_plain_ends_with(path, json);
    const char *const better[] = {"results.db", is_json ? NULL : json};
    size_t len = rp_plain_length(path);
    enum content needed = NO_TRACE;

    if (is_counters || is_json)
        len -= is_json ? strlen(json) : strlen(counters);
    else if (!rp_store_csv_prefix(path, &len))
        return NULL;
    for (size_t i = 0; i < 2 && better[i]; i++) {
        rp_autofree char *name = rp_format("%.*s%s", (int)len, path, better[i]);
        rp_autofree char *there = name ? rp_plain_find(name) : NULL;

        if (!there)
            continue;
        if (needed == NO_TRACE)
            needed = is_counters ? WITH_COUNTERS
                     : is_json   ? content_of_json(path)
                                 : content_of_csv(path, len);
        if (i == 0 ? database_has(there, needed) : json_has(there, needed))
            return rp_steal(there);
    }
    return NULL;
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
    rp_text_free(&store->text);
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

/* rp_store_<plural>: loads once and lends the array. */
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
DEFINE_EACH(replay, replay)
DEFINE_EACH(note, note)

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

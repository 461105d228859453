/* Opens what a user names: traces, counters, thread traces, and folders of them. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyze/roofline.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "library/library.h"
#include "run/result_folder.h"
#include "trace/counter_set.h"
#include "trace/csv_read.h"
#include "trace/gzip.h"
#include "trace/rocpd.h"

/* This section finds when and where a process ran. */

static const char *machine_of(const struct rp_row_node *nodes, size_t count, uint32_t guid_index)
{
    for (size_t i = 0; i < count; i++)
        if (nodes[i].guid_index == guid_index)
            return *nodes[i].machine_id ? nodes[i].machine_id : nodes[i].hostname;
    return "";
}

/* CSV does not say when a process began and ended, so the times of its kernels are used. */
static int times_of_kernels(struct rp_store *store, struct rp_lifetime *life, struct rp_err *err)
{
    const struct rp_row_dispatch *rows;
    size_t count;
    int rc = rp_store_dispatches(store, &rows, &count, err);

    if (rc < 0)
        return rc;
    for (size_t i = 0; i < count; i++) {
        if (rows[i].start_ns <= 0 || rows[i].end_ns < rows[i].start_ns)
            continue;
        if (life->start_ns == 0 || rows[i].start_ns < life->start_ns)
            life->start_ns = rows[i].start_ns;
        if (rows[i].end_ns > life->end_ns)
            life->end_ns = rows[i].end_ns;
    }
    return 0;
}

int rp_lifetime_of(struct rp_store *store, struct rp_lifetime *ret, struct rp_err *err)
{
    const struct rp_row_process *p;
    const struct rp_row_node *nodes;
    const char *device;
    size_t count, node_count;
    int rc = rp_store_processes(store, &p, &count, err);

    if (rc == 0)
        rc = rp_store_nodes(store, &nodes, &node_count, err);
    if (rc < 0)
        return rc;
    *ret = (struct rp_lifetime){.path = rp_store_path(store),
                                .machine = "",
                                .command = "",
                                .guid = rp_store_guid(store, 0)};
    ret->guid = ret->guid ? ret->guid : "";
    device = rp_store_metadata(store, "rocm_perf_device");
    ret->own_clock = device && strcmp(device, "software") == 0;
    ret->of_pytorch = rp_store_is_of_pytorch(store);
    if (count) {
        ret->machine = machine_of(nodes, node_count, p->guid_index);
        ret->command = p->command ? p->command : "";
        ret->pid = p->pid;
        ret->ppid = p->ppid;
        ret->run = rp_store_metadata(store, RP_STORE_RUN_TAG);
        ret->start_ns = p->start_ns > 0 ? p->start_ns : p->init_ns;
        ret->end_ns = p->end_ns > 0 ? p->end_ns : p->fini_ns;
    }
    if (ret->start_ns > 0 && ret->end_ns > ret->start_ns && !ret->own_clock)
        return 0;
    ret->start_ns = ret->end_ns = 0;
    if (ret->own_clock)
        return 0;
    ret->by_kernels = true;
    return times_of_kernels(store, ret, err);
}

bool rp_lifetimes_on_one_machine(const struct rp_lifetime *a, const struct rp_lifetime *b)
{
    return strcmp(a->machine, b->machine) == 0;
}

void rp_note(const struct rp_note_sink *sink, const char *fmt, ...)
{
    rp_autobuf text = {0};
    va_list ap;

    if (!sink->put)
        return;
    va_start(ap, fmt);
    rp_buf_vprintf(&text, fmt, ap);
    va_end(ap);
    if (!text.failed)
        sink->put(sink->ctx, rp_buf_text(&text));
}

/* Finds the name that both databases have, or NULL. A merged database has several. */
static const char *common_guid(struct rp_store *a, struct rp_store *b)
{
    for (uint32_t i = 0; i < rp_store_guid_count(a); i++) {
        const char *guid = rp_store_guid(a, i);

        for (uint32_t k = 0; guid && *guid && k < rp_store_guid_count(b); k++) {
            const char *other = rp_store_guid(b, k);

            if (other && strcmp(guid, other) == 0)
                return guid;
        }
    }
    return NULL;
}

static int have_same_kernels(struct rp_store *a, struct rp_store *b, bool *ret, struct rp_err *err)
{
    const struct rp_row_dispatch *x, *y;
    size_t x_count, y_count;
    int rc = rp_store_dispatches(a, &x, &x_count, err);

    if (rc == 0)
        rc = rp_store_dispatches(b, &y, &y_count, err);
    if (rc < 0)
        return rc;
    *ret = x_count > 0 && x_count == y_count;
    for (size_t i = 0; i < x_count && *ret; i++)
        *ret = x[i].start_ns == y[i].start_ns && x[i].end_ns == y[i].end_ns &&
               x[i].queue_id == y[i].queue_id;
    return 0;
}

static int refuse(struct rp_store *a, struct rp_store *b, const char *guid, struct rp_err *err)
{
    const char *first = rp_store_path(a), *second = rp_store_path(b);

    if (strcmp(first, second) == 0)
        return rp_fail(err, RP_BAD_INPUT, "process %s is given twice: give %s once",
                       guid ? guid : rp_store_guid(b, 0), first);
    return rp_fail(err, RP_BAD_INPUT,
                   "process %s is given twice: %s and %s are of the same one; leave out one of"
                   " them",
                   guid ? guid : rp_store_guid(b, 0), first, second);
}

/**
 * Refuses the same process given twice. Databases have a name of the process that no other has.
 * JSON and CSV do not, and a file can be copied, but two processes never run all of their kernels
 * in the same nanoseconds. Traces without kernels are checked by those who read more of them
 * (analyze/dag_graph.h).
 * @return 0; RP_BAD_INPUT names both files
 */
static int refuse_duplicate_inputs(struct rp_store *const *stores, size_t count, struct rp_err *err)
{
    rp_autofree struct rp_lifetime *lives = calloc(count + 1, sizeof *lives);

    if (!lives)
        return rp_out_of_memory(err);
    for (size_t i = 0; i < count && count > 1; i++) {
        int rc = rp_lifetime_of(stores[i], &lives[i], err);

        if (rc < 0)
            return rc;
    }
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < i; k++) {
            const char *guid = common_guid(stores[k], stores[i]);
            bool same = guid != NULL;

            /* Modelled times of two runs are the same, and in containers so are their pids. */
            if (!guid && lives[i].pid == lives[k].pid && !lives[i].own_clock &&
                rp_lifetimes_on_one_machine(&lives[i], &lives[k])) {
                int rc = have_same_kernels(stores[k], stores[i], &same, err);

                if (rc < 0)
                    return rc;
            }
            if (same)
                return refuse(stores[k], stores[i], guid, err);
        }
    return 0;
}

void rp_inputs_close(struct rp_inputs *in)
{
    for (size_t i = 0; i < in->store_count; i++)
        rp_store_close(in->stores[i]);
    for (size_t i = 0; i < in->store_count; i++)
        free(in->csv_prefixes[i]);
    free(in->stores);
    free(in->csv_prefixes);
    rp_counter_parts_free(in->unjoined);
    rp_counters_free(in->counters);
    rp_kernel_stats_free(in->stats);
    rp_thread_traces_free(&in->waves);
    memset(in, 0, sizeof *in);
}

static void note_warnings(struct rp_inputs *in)
{
    for (; in->counters && in->noted < in->counters->warning_count; in->noted++)
        rp_note(&in->notes, "%s", in->counters->warnings[in->noted]);
}

int rp_inputs_add_counters(struct rp_inputs *in, struct rp_counters *set, struct rp_err *err)
{
    int result = 0;

    if (in->counters) {
        result = rp_counters_merge(in->counters, set, err);
        rp_counters_free(set);
    } else
        in->counters = set;
    note_warnings(in);
    return result;
}

static int join_counters(struct rp_inputs *in, struct rp_err *err)
{
    struct rp_counter_parts *parts = in->unjoined;
    int result;

    if (!parts)
        return 0;
    in->unjoined = NULL;
    result = rp_counters_join(parts, &in->counters, err);
    if (result == 0)
        note_warnings(in);
    return result;
}

/* Takes over the store and the prefix, which may be NULL. */
static int add_store(struct rp_inputs *in, struct rp_store *store, char *prefix, struct rp_err *err)
{
    size_t room = in->store_count + 1;
    struct rp_store **stores = realloc(in->stores, room * sizeof *stores);
    char **prefixes = NULL;

    if (stores) {
        in->stores = stores;
        prefixes = realloc(in->csv_prefixes, room * sizeof *prefixes);
    }
    if (!prefixes) {
        rp_store_close(store);
        free(prefix);
        return rp_out_of_memory(err);
    }
    in->csv_prefixes = prefixes;
    in->stores[in->store_count] = store;
    in->csv_prefixes[in->store_count++] = prefix;
    return 0;
}

/* One file under two names is read once, or refused where it would count twice. Where both files
 * differ, nobody knows which of them was meant. */
static int refuse_other_packed(const char *one, const char *other, struct rp_err *err)
{
    const size_t len = rp_gzip_name_length(one);
    const char *packed = one[len] ? one : other;

    if (strcmp(one, other) == 0 || !rp_gzip_name_ends_with(one, ".csv") ||
        rp_gzip_name_length(other) != len || strncmp(one, other, len) != 0 ||
        !rp_gzip_differs(packed))
        return 0;
    return rp_fail(err, RP_BAD_INPUT, "%s and %.*s hold different things: give one of them", packed,
                   (int)len, packed);
}

/* A packed file beside the one that was named, or in the folder, was not read. */
static int refuse_unread(const struct rp_store *store, const char *path, struct rp_err *err)
{
    rp_autofree char *plain = strndup(path, rp_gzip_name_length(path));
    const char *named = rp_store_named(store);

    if (!plain)
        return rp_out_of_memory(err);
    if (rp_gzip_name_length(named) != strlen(plain) || strncmp(named, plain, strlen(plain)) != 0)
        named = plain; /* Nobody named the packed file. */
    return refuse_other_packed(path, named, err);
}

/* CSV traces of one process are one trace, however many of them are given. */
static int open_csv(const char *path, size_t prefix_len, struct rp_inputs *in, struct rp_err *err)
{
    struct rp_store *store;
    char *prefix;
    int rc;

    for (size_t i = 0; i < in->store_count; i++)
        if (in->csv_prefixes[i] && strlen(in->csv_prefixes[i]) == prefix_len &&
            strncmp(in->csv_prefixes[i], path, prefix_len) == 0)
            return refuse_unread(in->stores[i], path, err);
    rc = rp_store_open_csv(path, &store, err);
    if (rc < 0)
        return rc;
    prefix = strndup(path, prefix_len);
    if (!prefix) {
        rp_store_close(store);
        return rp_out_of_memory(err);
    }
    return add_store(in, store, prefix, err);
}

/* One file may hold several processes. */
static int open_json(const char *path, struct rp_inputs *in, struct rp_err *err)
{
    for (size_t process = 0;; process++) {
        struct rp_store *store;
        int rc = rp_store_open_json(path, process, &store, err);

        if (rc < 0 || !store)
            return rc;
        rc = add_store(in, store, NULL, err);
        if (rc < 0)
            return rc;
    }
}

/* Says so where a result will have no roofline and no occupancy. */
static int note_other_vendor(struct rp_inputs *in, struct rp_store *store, struct rp_err *err)
{
    const struct rp_row_agent *agents;
    size_t count;
    int rc = rp_store_agents(store, &agents, &count, err);

    for (size_t i = 0; i < count && rc == 0; i++)
        if (strcmp(agents[i].vendor_name, "NVIDIA") == 0) {
            rp_note(&in->notes,
                    "%s is of GPUs of NVIDIA (%s): the graph and its times are read,"
                    " limits of the GPU are not known",
                    rp_store_path(store), agents[i].product_name);
            break;
        }
    return rc;
}

static void note_oddities(struct rp_inputs *in, struct rp_store *store)
{
    const char *line = rp_store_metadata(store, RP_STORE_READ_NOTES_TAG), *end;

    for (; line && (end = strchr(line, '\n')); line = end + 1)
        rp_note(&in->notes, "%s: %.*s", rp_store_path(store), (int)(end - line), line);
}

static int open_kineto(const char *path, struct rp_inputs *in, struct rp_err *err)
{
    struct rp_store *store;
    int rc = rp_store_open_kineto(path, &store, err);

    if (rc == 0)
        rc = add_store(in, store, NULL, err);
    if (rc == 0)
        note_oddities(in, store);
    return rc < 0 ? rc : note_other_vendor(in, store, err);
}

static int open_trace(const char *path, struct rp_inputs *in, struct rp_err *err)
{
    struct rp_store *store;
    const char *foreign;
    size_t prefix_len;
    bool is_json;
    int rc;

    if (rp_store_csv_prefix(path, &prefix_len))
        return open_csv(path, prefix_len, in, err);
    is_json = rp_store_is_json(path, false);
    if (!is_json && rp_store_is_kineto(path))
        return open_kineto(path, in, err);
    foreign = is_json ? NULL : rp_foreign_what(path);
    if (foreign)
        return rp_fail(err, RP_BAD_INPUT, "%s: it is %s", path, foreign);
    if (is_json || rp_store_is_named_json(path))
        return open_json(path, in, err);
    rc = rp_store_open(path, &store, err);
    return rc < 0 ? rc : add_store(in, store, NULL, err);
}

/* These are the folders of rocprofv3: HOST/PID_results.db, pass_1/HOST/PID_results.db. */
enum { FOLDER_DEPTH = 2 };

static int visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* Says whether rocprofv3 wrote the same process in a form that holds more. */
static bool is_said(const char *path, const struct rp_note_sink *notes)
{
    rp_autofree char *other = rp_store_said_by(path);

    if (other)
        rp_note(notes, "%s is of the same process as %s: left out", path, other);
    return other;
}

static bool is_json_trace(const char *path, const struct rp_note_sink *notes)
{
    if (rp_gzip_name_ends_with(path, ".json") && rp_store_is_kineto(path))
        return true;
    return rp_gzip_name_ends_with(path, "results.json") && rp_store_is_json(path, true) &&
           !is_said(path, notes);
}

/* This is for all files that are read of a folder, counters and statistics included. */
static void note_other_packed(const char *path, const struct rp_note_sink *notes)
{
    static const char *const ends[] = {".csv", ".db", ".json"};

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (rp_gzip_name_ends_with(path, ends[i]) && rp_gzip_differs(path))
            rp_note(notes, "%s is left out: it holds something else than %.*s, which is read", path,
                    (int)rp_gzip_name_length(path), path);
}

/* rocprof-compute keeps a database of its own beside its results. */
static bool is_trace(const char *path, const struct rp_note_sink *notes)
{
    const bool is_counters = rp_gzip_name_ends_with(path, "counter_collection.csv");
    size_t prefix_len;

    if (rp_gzip_has_unpacked(path)) { /* Both names lead to the same file. */
        note_other_packed(path, notes);
        return false;
    }
    if (is_counters || rp_store_csv_prefix(path, &prefix_len))
        return !is_said(path, notes) && !is_counters;
    if (!rp_gzip_name_ends_with(path, ".db"))
        return is_json_trace(path, notes);
    if (!rp_store_is_foreign(path))
        return true;
    rp_note(notes, "%s is a database, but not a rocpd trace: left out", path);
    return false;
}

static bool is_there_packed_or_not(const char *path)
{
    rp_autofree char *there = rp_gzip_find(path);

    return there != NULL;
}

/* Says whether `profile` has made the folder: repeats are not ranks, and a run that failed is no
 * result. */
static bool is_profile(const char *folder)
{
    rp_autofree char *result = rp_path_join(folder, "profile.json");
    rp_autofree char *trace = rp_path_join(folder, "trace_results.db");

    return result && trace && is_there_packed_or_not(result) && is_there_packed_or_not(trace);
}

/* A decoded thread trace has thousands of files, none of them a trace of dispatches. */
static bool is_decoded(const char *name)
{
    return strncmp(name, "ui_output_agent_", strlen("ui_output_agent_")) == 0;
}

static bool is_aside(const char *name)
{
    return strcmp(name, "repeats") == 0 || strncmp(name, "failed", strlen("failed")) == 0 ||
           strcmp(name, "thread-trace") == 0;
}

/* This is true of sockets and devices, too: nobody meant them to be read, and opening one may wait
 * for ever. */
static bool is_pipe(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

static bool is_newer(const char *path, const char *than)
{
    struct stat a, b;

    if (stat(path, &a) != 0 || stat(than, &b) != 0)
        return false;
    return a.st_mtim.tv_sec != b.st_mtim.tv_sec ? a.st_mtim.tv_sec > b.st_mtim.tv_sec
                                                : a.st_mtim.tv_nsec > b.st_mtim.tv_nsec;
}

/* Its result, if there is one, is of an earlier job. */
static bool has_failed_last(const char *rank)
{
    rp_autofree char *failed = rp_path_join(rank, "failed");
    rp_autofree char *result = rp_path_join(rank, "profile.json");

    return failed && result && rp_path_is_dir(failed) &&
           (!rp_path_exists(result) || is_newer(failed, result));
}

/* Says whether a rank of a job has ended well: those that have not are then left out, as profile
 * leaves them out of its table. */
static bool has_good_rank(const char *folder, struct dirent *const *names, int count)
{
    for (int i = 0; i < count; i++) {
        rp_autofree char *path = rp_path_join(folder, names[i]->d_name);

        if (path && strncmp(names[i]->d_name, "rank-", strlen("rank-")) == 0 && is_profile(path) &&
            !has_failed_last(path))
            return true;
    }
    return false;
}

static bool leaves_out(const char *path, const char *name, const struct rp_note_sink *notes)
{
    if (strncmp(name, "rank-", strlen("rank-")) != 0 || !has_failed_last(path))
        return false;
    rp_note(notes, "%s: its last run failed, and is left out; it is in %s/failed", path, path);
    return true;
}

static int open_traces_in(const char *folder, int depth, struct rp_inputs *in, struct rp_err *err)
{
    bool own = is_profile(folder);
    struct dirent **names = NULL;
    int count = scandir(folder, &names, visible, versionsort), rc = 0;

    if (count < 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "read folder %s", folder);
    const bool has_good = has_good_rank(folder, names, count);

    for (int i = 0; i < count; i++) {
        rp_autofree char *path = rp_path_join(folder, names[i]->d_name);
        if (rc == 0 && !path)
            rc = rp_out_of_memory(err);
        else if (rc == 0 && rp_path_is_dir(path) && has_good &&
                 leaves_out(path, names[i]->d_name, &in->notes))
            rc = 0;
        else if (rc == 0 && rp_path_is_dir(path))
            rc = depth && !(own && is_aside(names[i]->d_name)) && !is_decoded(names[i]->d_name)
                     ? open_traces_in(path, depth - 1, in, err)
                     : 0;
        else if (rc == 0 && !is_pipe(path) && is_trace(path, &in->notes))
            rc = open_trace(path, in, err);
        free(names[i]);
    }
    free(names);
    return rc;
}

static int open_counters(const char *path, struct rp_inputs *in, struct rp_err *err)
{
    int rc = rp_counters_open_part(path, &in->unjoined, err);
    const char *foreign = rc == -(int)RP_BAD_INPUT ? rp_foreign_what(path) : NULL;

    if (foreign)
        return rp_fail(err, RP_BAD_INPUT, "%s: it is %s", path, foreign);
    return rc;
}

/* --- statistics of kernels ---------------------------------------------------------------- */

/* Takes over the statistics. Sums of two processes could be those of two runs, because no number in
 * them says when they ran. */
static int add_stats(struct rp_inputs *in, struct rp_kernel_stats *stats, struct rp_err *err)
{
    int rc = 0;

    if (!in->stats) {
        in->stats = stats;
        return 0;
    }
    rc = rp_fail(err, RP_BAD_INPUT,
                 "%s and %s are sums of two processes or runs, and nothing in them says which: give"
                 " one of them, or the traces",
                 in->stats->path, stats->path);
    rp_kernel_stats_free(stats);
    return rc;
}

static int open_stats(const char *path, struct rp_inputs *in, struct rp_err *err)
{
    struct rp_kernel_stats *stats;
    int rc = rp_kernel_stats_open(path, &stats, err);

    return rc < 0 ? rc : add_stats(in, stats, err);
}

/* Counts the traces that rocprofv3 wrote of the process whose statistics begin with this prefix. */
static size_t traces_beside(const struct rp_inputs *in, const char *path, size_t prefix_len,
                            struct rp_store **ret)
{
    size_t found = 0;

    for (size_t i = 0; i < in->store_count; i++) {
        const char *trace = rp_store_path(in->stores[i]), *prefix = in->csv_prefixes[i];
        const char *end = rp_gzip_name_ends_with(trace, "results.db")     ? "results.db"
                          : rp_gzip_name_ends_with(trace, "results.json") ? "results.json"
                                                                          : NULL;
        size_t len;

        if (!prefix && !end)
            continue;
        len = prefix ? strlen(prefix) : rp_gzip_name_length(trace) - strlen(end);
        if (len != prefix_len || strncmp(trace, path, len) != 0)
            continue;
        *ret = in->stores[i];
        found++;
    }
    return found;
}

static void drop_stats(struct rp_kernel_stats **stats)
{
    rp_kernel_stats_free(*stats);
}

/* A trace holds all that its statistics do, so these are only checked against it. */
static int check_stats(const char *path, struct rp_store *trace, const struct rp_note_sink *notes,
                       struct rp_err *err)
{
    rp_cleanup(drop_stats) struct rp_kernel_stats *stats = NULL;
    const struct rp_kernel_stat *differs = NULL;
    struct rp_err why = RP_ERR_INIT;
    int rc = rp_kernel_stats_open(path, &stats, &why);

    if (rc == -(int)RP_BAD_INPUT) {
        rp_note(notes, "%s: left out, the trace beside it says the same", why.text);
        return 0;
    }
    if (rc < 0)
        return rp_fail(err, why.code, "%s", why.text);
    rc = rp_kernel_stats_compare(stats, trace, &differs, err);
    if (rc == 0 && differs)
        rp_note(notes,
                "%s says of %.60s other calls or another time than the trace beside it, whose"
                " numbers are used: are they of one run?",
                path, differs->name);
    return rc;
}

static int take_stats(const char *path, struct rp_inputs *in, struct rp_err *err)
{
    struct rp_store *trace = NULL;
    size_t prefix_len, found;

    if (!rp_kernel_stats_is_one(path, &prefix_len) || rp_gzip_has_unpacked(path))
        return 0;
    found = traces_beside(in, path, prefix_len, &trace);
    if (found == 0)
        return open_stats(path, in, err);
    /* A JSON trace of several processes has one file of statistics for each, which is not named
     * after it. */
    return found == 1 ? check_stats(path, trace, &in->notes, err) : 0;
}

static int open_stats_in(const char *folder, int depth, struct rp_inputs *in, struct rp_err *err)
{
    struct dirent **names = NULL;
    int count = scandir(folder, &names, visible, versionsort), rc = 0;

    if (count < 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "read folder %s", folder);
    for (int i = 0; i < count; i++) {
        rp_autofree char *path = rp_path_join(folder, names[i]->d_name);

        if (rc == 0 && !path)
            rc = rp_out_of_memory(err);
        else if (rc == 0 && rp_path_is_dir(path))
            rc = depth && !is_decoded(names[i]->d_name) ? open_stats_in(path, depth - 1, in, err)
                                                        : 0;
        else if (rc == 0 && !is_pipe(path))
            rc = take_stats(path, in, err);
        free(names[i]);
    }
    free(names);
    return rc;
}

/* Sums are not used where there are dispatches. */
static void drop_stats_beside(struct rp_inputs *in)
{
    if (!in->stats || (in->store_count == 0 && !in->unjoined && !in->counters))
        return;
    rp_note(&in->notes, "%s has sums of kernels alone, of no trace that is read: left out",
            in->stats->path);
    rp_kernel_stats_free(in->stats);
    in->stats = NULL;
}

/* Opens the thread trace of a profile, or of the run that left it, if there is one. */
static int open_waves_of(const char *folder, const char *within, struct rp_inputs *in,
                         struct rp_err *err)
{
    rp_autofree char *path = rp_path_join(folder, within);

    if (!path)
        return rp_out_of_memory(err);
    return rp_thread_trace_can_open(path) ? rp_thread_trace_open(path, &in->waves, err) : 0;
}

/* rocprofv3 --att -d DIR leaves DIR/ui_output_agent_... beside DIR/HOST/PID_results.db, and jobs of
 * one input file leave both in DIR/pass_N. */
static int open_waves_in(const char *folder, int depth, struct rp_inputs *in, struct rp_err *err)
{
    bool here = rp_thread_trace_can_open(folder);
    struct dirent **names = NULL;
    int count, rc = here ? rp_thread_trace_open(folder, &in->waves, err) : 0;

    if (rc < 0 || depth == 0)
        return rc;
    count = scandir(folder, &names, visible, versionsort);
    if (count < 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "read folder %s", folder);
    for (int i = 0; i < count; i++) {
        const char *name = names[i]->d_name;
        /* Folders process-2 ... are read with the folder that they lie in. */
        bool is_read = is_decoded(name) || (here && strncmp(name, "process-", 8) == 0);
        rp_autofree char *path = is_read ? NULL : rp_path_join(folder, name);

        if (rc == 0 && !is_read && !path)
            rc = rp_out_of_memory(err);
        if (rc == 0 && path && rp_path_is_dir(path))
            rc = open_waves_in(path, depth - 1, in, err);
        free(names[i]);
    }
    free(names);
    return rc;
}

static int is_there(void *ctx, const void *row, struct rp_err *err)
{
    (void)row;
    *(bool *)ctx = true;
    return rp_fail(err, RP_BAD_INPUT, "one is enough");
}

static int has_work(struct rp_store *store, bool *ret, struct rp_err *err)
{
    const struct rp_row_dispatch *dispatches;
    const struct rp_row_copy *copies;
    size_t dispatch_count, copy_count = 0;
    int rc = rp_store_dispatches(store, &dispatches, &dispatch_count, err);

    if (rc == 0)
        rc = rp_store_copies(store, &copies, &copy_count, err);
    if (rc < 0)
        return rc;
    *ret = dispatch_count + copy_count > 0;
    rc = *ret ? 0 : rp_store_each_region(store, is_there, ret, err);
    if (*ret)
        *err = (struct rp_err)RP_ERR_INIT;
    return *ret ? 0 : rc;
}

/* rocprofv3 --att without --kernel-trace leaves a database that holds only agents and code objects.
 */
static int drop_idle_stores(struct rp_inputs *in, size_t first, struct rp_err *err)
{
    size_t kept = first;
    int rc = 0;

    for (size_t i = first; i < in->store_count; i++) {
        bool works = true;

        if (rc == 0)
            rc = has_work(in->stores[i], &works, err);
        if (works) {
            in->stores[kept] = in->stores[i];
            in->csv_prefixes[kept++] = in->csv_prefixes[i];
            continue;
        }
        if (!rp_store_has_pc_samples(in->stores[i])) /* These are kept elsewhere. */
            rp_note(&in->notes, "%s has neither kernels, copies nor HIP calls: left out",
                    rp_store_path(in->stores[i]));
        rp_store_close(in->stores[i]);
        free(in->csv_prefixes[i]);
    }
    in->store_count = kept;
    return rc;
}

static bool has_samples(const struct rp_inputs *in, size_t first)
{
    for (size_t i = first; i < in->store_count; i++)
        if (rp_store_has_pc_samples(in->stores[i]))
            return true;
    return false;
}

/* PC samples become thread traces. What was recorded without kernels has no graph. */
static int take_samples(struct rp_inputs *in, struct rp_err *err)
{
    const size_t before = in->waves.count;
    int rc = 0;

    for (size_t i = 0; i < in->store_count && rc == 0; i++)
        rc = rp_thread_traces_add_samples(&in->waves, in->stores[i], err);
    return rc == 0 && in->waves.count > before ? drop_idle_stores(in, 0, err) : rc;
}

static int refuse_folder(const char *path, struct rp_err *err)
{
    const char *what = NULL;
    rp_autofree char *foreign = rp_foreign_in(path, FOLDER_DEPTH, &what);

    if (foreign)
        return rp_fail(err, RP_BAD_INPUT, "folder %s holds nothing that is read; %s is %s", path,
                       foreign, what);
    return rp_fail(
        err, RP_BAD_INPUT,
        "folder %s holds neither rocpd databases (*.db), nor JSON traces (*results.json), nor "
        "traces"
        " of the PyTorch profiler (*.json), nor CSV"
        " files of rocprofv3 or rocprof-compute (*kernel_trace.csv, *counter_collection.csv,"
        " pmc_perf.csv, *kernel_stats.csv, *pc_sampling_host_trap.csv,"
        " *pc_sampling_stochastic.csv), nor decoded thread traces "
        "(ui_output_agent_..._dispatch_...)",
        path);
}

/* A folder has to hold something. The kernels of its CSV traces are of use to counters, too. */
static int open_folder(const char *path, struct rp_inputs *in, struct rp_err *err)
{
    const struct rp_kernel_stats *stats_before = in->stats;
    size_t before = in->store_count, waves_before = in->waves.count;
    bool counted = false;
    int rc = rp_result_finish_commit(path, err);

    if (rc == 0)
        rc = open_traces_in(path, FOLDER_DEPTH, in, err);

    if (rc < 0)
        return rc;
    if (is_profile(path))
        return open_waves_of(path, "thread-trace/att-threads", in, err);
    rc = open_waves_in(path, FOLDER_DEPTH, in, err);
    if (rc == 0 && in->waves.count > waves_before && !has_samples(in, before))
        rc = drop_idle_stores(in, before, err);
    if (rc < 0)
        return rc;
    counted = rp_counters_in(path);
    if (counted)
        rc = open_counters(path, in, err);
    if (rc == 0)
        rc = open_stats_in(path, FOLDER_DEPTH, in, err);
    if (rc == 0 && in->store_count == before && in->waves.count == waves_before && !counted &&
        in->stats == stats_before)
        rc = refuse_folder(path, err);
    return rc;
}

static int open_one(const char *path, struct rp_inputs *in, struct rp_err *err)
{
    size_t prefix_len;
    int rc;

    if (rp_thread_trace_is_one(path)) /* This is tested before counters, which may be any folder. */
        return rp_thread_trace_open(path, &in->waves, err);
    if (rp_path_is_dir(path))
        return open_folder(path, in, err);
    if (rp_kernel_stats_is_one(path, NULL))
        return open_stats(path, in, err);
    if (!rp_counters_can_open(path))
        return open_trace(path, in, err);
    if (!rp_store_csv_prefix(path, &prefix_len))
        return open_counters(path, in, err);
    rc = open_trace(path, in, err);
    return rc == 0 && rp_gzip_name_ends_with(path, "kernel_trace.csv")
               ? open_counters(path, in, err)
               : rc;
}

/* --- ranks --------------------------------------------------------------------------------- */

static uint64_t count_at(const struct rp_store *store, const char *tag)
{
    const char *count = rp_store_metadata(store, tag);

    return count ? strtoull(count, NULL, 10) : 0;
}

/* The folder of a rank alone is no job of which ranks are missing. */
static bool is_job(char *const *paths, size_t count, const bool *has, uint64_t ranks)
{
    uint64_t found = 0;

    for (uint64_t rank = 0; rank < ranks; rank++) {
        char name[32];

        found += has[rank];
        snprintf(name, sizeof name, "rank-%" PRIu64, rank);
        for (size_t i = 0; has[rank] && i < count; i++) {
            rp_autofree char *folder = rp_path_join(paths[i], name);

            if (folder && rp_path_is_dir(folder))
                return true;
        }
    }
    return found > 1;
}

/* @param has room for all ranks; those that the trace is of are set */
static int find_ranks(struct rp_store *store, bool *has, uint64_t ranks, struct rp_err *err)
{
    const struct rp_row_process *rows;
    json_t *environment = NULL;
    size_t count;
    int64_t rank;
    int rc = rp_store_processes(store, &rows, &count, err);

    for (size_t i = 0; i < count && rc == 0; i++) {
        rc = rp_extdata_load(rows[i].environment, &environment, err);
        if (rc == 0 && rp_environment_rank(environment, &rank) && rank >= 0 &&
            (uint64_t)rank < ranks)
            has[rank] = true;
        json_decref(environment);
        environment = NULL;
    }
    return rc;
}

static void note_missing(const struct rp_inputs *in, const bool *has, uint64_t ranks,
                         uint64_t missing)
{
    enum { MOST_NAMED = 8 };
    rp_autobuf names = {0};
    size_t named = 0;

    for (uint64_t i = 0; i < ranks && named < MOST_NAMED; i++)
        if (!has[i])
            rp_buf_printf(&names, "%s%" PRIu64, named++ ? ", " : "", i);
    rp_note(&in->notes, "rank%s %s%s of %" PRIu64 " %s left no result: nothing here is of %s",
            missing > 1 ? "s" : "", rp_buf_text(&names), missing > named ? ", ..." : "", ranks,
            missing > 1 ? "have" : "has", missing > 1 ? "them" : "it");
}

/* What is left of an earlier run would be taken for a part of this one. */
static int refuse_other_runs(const char *folder, const struct rp_inputs *in, struct rp_err *err)
{
    const char *first = in->store_count ? rp_store_metadata(in->stores[0], RP_STORE_RUN_TAG) : NULL;

    for (size_t i = 1; i < in->store_count; i++) {
        const char *run = rp_store_metadata(in->stores[i], RP_STORE_RUN_TAG);

        if (strcmp(run ? run : "", first ? first : "") != 0)
            return rp_fail(err, RP_BAD_INPUT,
                           "%s and %s are of two runs: remove the older from %s, or name "
                           "the folders of one run",
                           rp_store_path(in->stores[i]), rp_store_path(in->stores[0]), folder);
    }
    return 0;
}

bool rp_store_is_of_pytorch(struct rp_store *store)
{
    const char *format = rp_store_metadata(store, RP_STORE_FORMAT_TAG);

    return format && strcmp(format, RP_STORE_FORMAT_PYTORCH) == 0;
}

/* A rank is one process there, which may have written a file for each of some steps.
 * @param firsts has room for all ranks */
static int note_doubled(struct rp_inputs *in, struct rp_store **firsts, uint64_t ranks,
                        struct rp_err *err)
{
    rp_autofree bool *has = calloc(ranks, sizeof *has);
    int rc = has ? 0 : rp_out_of_memory(err);

    for (size_t i = 0; i < in->store_count && rc == 0; i++) {
        uint64_t rank = 0;

        if (!rp_store_is_of_pytorch(in->stores[i]))
            continue;
        rc = find_ranks(in->stores[i], has, ranks, err);
        while (rank < ranks && !has[rank])
            rank++;
        if (rank == ranks)
            continue;
        has[rank] = false;
        if (firsts[rank])
            rp_note(&in->notes,
                    "%s and %s are both of rank %" PRIu64
                    ": unless they are of different steps, its times count twice; give one",
                    rp_store_path(firsts[rank]), rp_store_path(in->stores[i]), rank);
        else
            firsts[rank] = in->stores[i];
    }
    return rc;
}

static int check_ranks(char *const *paths, size_t count, struct rp_inputs *in, struct rp_err *err)
{
    enum { MOST_RANKS = 1 << 20 }; /* The number is that of a file. */
    rp_autofree struct rp_store **firsts = NULL;
    rp_autofree bool *has = NULL;
    uint64_t ranks = 0, found = 0;
    int rc = 0;

    for (size_t i = 0; i < in->store_count; i++) {
        const uint64_t of_store = count_at(in->stores[i], RP_STORE_RANKS_TAG);

        ranks = of_store > ranks ? of_store : ranks;
    }
    if (ranks < 2 || ranks > MOST_RANKS)
        return 0;
    has = calloc(ranks, sizeof *has);
    firsts = calloc(ranks, sizeof(*firsts));
    if (!has || !firsts)
        return rp_out_of_memory(err);
    rc = note_doubled(in, firsts, ranks, err);
    for (size_t i = 0; i < in->store_count && rc == 0; i++)
        rc = find_ranks(in->stores[i], has, ranks, err);
    for (uint64_t i = 0; i < ranks; i++)
        found += has[i];
    if (rc == 0 && count == 1 && is_job(paths, count, has, ranks))
        rc = refuse_other_runs(paths[0], in, err);
    if (rc < 0 || found == ranks || !is_job(paths, count, has, ranks))
        return rc;
    note_missing(in, has, ranks, ranks - found);
    /* Who gives traces of a profiler may have chosen some of the ranks. */
    if (!rp_store_is_of_pytorch(in->stores[0]))
        in->ranks_missing = ranks - found;
    return 0;
}

static bool is_of_software(struct rp_store *store)
{
    const char *device = rp_store_metadata(store, "rocm_perf_device");

    return device && strcmp(device, "software") == 0;
}

/* Modelled times and counters say nothing of what a GPU has run, not even as counters only. */
static int refuse_mixed_devices(struct rp_store *const *stores, size_t count, struct rp_err *err)
{
    for (size_t i = 1; i < count; i++) {
        const bool software = is_of_software(stores[i]);

        if (software != is_of_software(stores[0]))
            return rp_fail(err, RP_BAD_INPUT,
                           "%s is of the software device and %s is not, so they are not of one "
                           "run: give them one at a time",
                           rp_store_path(stores[software ? i : 0]),
                           rp_store_path(stores[software ? 0 : i]));
    }
    return 0;
}

static void note_unrecorded(struct rp_inputs *in)
{
    uint64_t all = 0;

    for (size_t i = 0; i < in->store_count; i++)
        all += count_at(in->stores[i], RP_STORE_UNRECORDED_TAG);
    if (all)
        rp_note(&in->notes,
                "%" PRIu64 " launch%s of the program %s outside of the part that was recorded", all,
                all == 1 ? "" : "es", all == 1 ? "is" : "are");
}

int rp_inputs_open(char *const *paths, size_t count, struct rp_inputs *in, struct rp_err *err)
{
    for (size_t i = 0; i < count; i++) {
        int rc = rp_check_input(paths[i], err);

        for (size_t k = 0; k < i && rc == 0; k++)
            rc = refuse_other_packed(paths[k], paths[i], err);
        if (rc == 0)
            rc = open_one(paths[i], in, err);
        if (rc < 0)
            return rc;
    }
    drop_stats_beside(in);
    int rc = join_counters(in, err);

    if (rc == 0)
        rc = refuse_duplicate_inputs(in->stores, in->store_count, err);
    if (rc == 0)
        rc = refuse_mixed_devices(in->stores, in->store_count, err);
    if (rc == 0)
        rc = rp_store_tell_apart(in->stores, in->store_count, NULL, err);
    if (rc == 0)
        rc = check_ranks(paths, count, in, err);
    if (rc == 0)
        note_unrecorded(in);
    if (rc == 0)
        rc = take_samples(in, err);
    return rc < 0 ? rc : rp_thread_traces_name(&in->waves, in->stores, in->store_count, err);
}

int rp_inputs_read_counters(struct rp_inputs *in, bool wanted, struct rp_err *err)
{
    bool without_csv = in->counters || !wanted;

    wanted |= in->counters && in->counters->name_count;
    for (size_t i = 0; i < in->store_count; i++) {
        const struct rp_row_counter *rows;
        size_t count;
        int rc = rp_store_counters(in->stores[i], &rows, &count, err);

        if (rc < 0)
            return rc;
        wanted |= count > 0;
    }
    /* The counters know the CSV traces already, unless only calls or copies were named. */
    for (size_t i = 0; i < in->store_count && wanted; i++) {
        struct rp_counters *set;
        int rc = 0;

        if (without_csv && in->csv_prefixes && in->csv_prefixes[i])
            continue;
        if (in->counters) /* The counters come first. */
            rc = rp_counters_add_part(&in->unjoined, in->counters, NULL, err);
        in->counters = NULL;
        if (rc == 0)
            rc = rp_roofline_counters(in->stores[i], &set, err);
        if (rc == 0)
            rc = rp_counters_add_part(&in->unjoined, set, rp_store_path(in->stores[i]), err);
        if (rc < 0)
            return rc;
    }
    return join_counters(in, err);
}

/* A mistaken option must not cost a measurement. */

/* The deepest files are HOST/pass_1/PID_results.db and
 * thread-trace/att-threads/ui_output_.../wave.json. */
enum { MOST_DEPTH = 4 };

/* Files that are read in folders have these endings. Pictures and pages have others. */
static bool is_read(const char *name)
{
    static const char *const endings[] = {
        ".db",  ".json",      "_trace.csv",   "counter_collection.csv",
        ".att", ".jsonl",     "pmc_perf.csv", "agent_info.csv",
        ".out", "sysinfo.csv"};

    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (rp_gzip_name_ends_with(name, endings[i]))
            return true;
    return false;
}

/* @param ret the file below the folder that the output would replace; NULL: none */
static int find_in(const char *folder, const char *output, int depth, char **ret,
                   struct rp_err *err)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    int rc = 0;

    while (dir && rc == 0 && !*ret && (entry = readdir(dir))) {
        rp_autofree char *path = NULL;

        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        path = rp_path_join(folder, entry->d_name);
        if (!path)
            rc = rp_out_of_memory(err);
        else if (depth && rp_path_is_dir(path))
            rc = find_in(path, output, depth - 1, ret, err);
        else if (is_read(entry->d_name) && rp_same_file(path, output))
            *ret = rp_steal(path);
    }
    if (dir)
        closedir(dir);
    return rc;
}

int rp_refuse_overwriting_inputs(const char *option, const char *output, char *const *inputs,
                                 size_t count, struct rp_err *err)
{
    struct stat st;

    if (!output || strcmp(output, "-") == 0 || stat(output, &st) != 0 || !S_ISREG(st.st_mode))
        return 0;
    for (size_t i = 0; i < count; i++) {
        rp_autofree char *found = NULL;
        int rc = 0;

        if (rp_path_is_dir(inputs[i]))
            rc = find_in(inputs[i], output, MOST_DEPTH, &found, err);
        if (rc < 0)
            return rc;
        if (found || rp_same_file(inputs[i], output))
            return rp_fail(err, RP_USAGE,
                           "%s %s would overwrite what is read%s%s: give another name", option,
                           output, found && strcmp(found, output) != 0 ? ", " : "",
                           found && strcmp(found, output) != 0 ? found : "");
    }
    return 0;
}

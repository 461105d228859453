#include "cli/results.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "cli/cli.h"
#include "cli/pending.h"
#include "collect/result_commit.h"
#include "rocm-perf/analysis.h"
#include "rocm-perf/bottleneck.h"
#include "rocm-perf/counters.h"
#include "rocm-perf/dag.h"
#include "rocm-perf/report.h"
#include "rocm-perf/store.h"

/* --- inputs -------------------------------------------------------------------------------- */

void rp_inputs_close(struct rp_inputs *in)
{
    for (size_t i = 0; i < in->store_count; i++)
        rp_store_close(in->stores[i]);
    for (size_t i = 0; i < in->store_count; i++)
        free(in->csv_prefixes[i]);
    free(in->stores);
    free(in->csv_prefixes);
    rp_counters_free(in->counters);
    rp_thread_traces_free(&in->waves);
    memset(in, 0, sizeof *in);
}

int rp_inputs_add_counters(struct rp_inputs *in, struct rp_counters *set, struct rp_err *err)
{
    int result;

    if (!in->counters) {
        in->counters = set;
        return 0;
    }
    result = rp_counters_merge(in->counters, set, err);
    rp_counters_free(set);
    return result;
}

/* Takes the store and the prefix, which may be NULL. */
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
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    }
    in->csv_prefixes = prefixes;
    in->stores[in->store_count] = store;
    in->csv_prefixes[in->store_count++] = prefix;
    return 0;
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
            return 0;
    rc = rp_store_open_csv(path, &store, err);
    if (rc < 0)
        return rc;
    prefix = strndup(path, prefix_len);
    if (!prefix) {
        rp_store_close(store);
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
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

static int open_trace(const char *path, struct rp_inputs *in, struct rp_err *err)
{
    struct rp_store *store;
    size_t prefix_len;
    int rc;

    if (rp_store_csv_prefix(path, &prefix_len))
        return open_csv(path, prefix_len, in, err);
    if (rp_store_is_json(path, false) || rp_store_is_named_json(path))
        return open_json(path, in, err);
    rc = rp_store_open(path, &store, err);
    return rc < 0 ? rc : add_store(in, store, NULL, err);
}

static bool ends_with(const char *text, const char *end)
{
    size_t len = strlen(text), part = strlen(end);

    return len >= part && strcmp(text + len - part, end) == 0;
}

/* Folders of rocprofv3: HOST/PID_results.db, pass_1/HOST/PID_results.db. */
enum { FOLDER_DEPTH = 2 };

static int visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* What rocprofv3 wrote of the same process in a form that says more. */
static bool is_said_by(const char *path, size_t prefix_len, const char *better)
{
    rp_autofree char *other = rp_format("%.*s%s", (int)prefix_len, path, better);

    if (!other || !rp_path_exists(other))
        return false;
    rp_cli_note("%s is of the same process as %s: left out", path, other);
    return true;
}

static bool is_json_trace(const char *path)
{
    size_t len = strlen(path), end = strlen("results.json");

    return ends_with(path, "results.json") && rp_store_is_json(path, true) &&
           !is_said_by(path, len - end, "results.db");
}

/* rocprof-compute keeps a database of its own beside its results. */
static bool is_trace(const char *path)
{
    size_t prefix_len;

    if (rp_store_csv_prefix(path, &prefix_len))
        return !is_said_by(path, prefix_len, "results.db") &&
               !is_said_by(path, prefix_len, "results.json");
    if (!ends_with(path, ".db"))
        return is_json_trace(path);
    if (!rp_store_is_foreign(path))
        return true;
    rp_cli_note("%s is a database, but not a rocpd trace: left out", path);
    return false;
}

/* What `profile` has made: repeats are not ranks, and a run that failed is no result. */
static bool is_profile(const char *folder)
{
    rp_autofree char *result = rp_path_join(folder, "profile.json");
    rp_autofree char *trace = rp_path_join(folder, "trace_results.db");

    return result && trace && rp_path_exists(result) && rp_path_exists(trace);
}

static bool is_aside(const char *name)
{
    return strcmp(name, "repeats") == 0 || strcmp(name, "failed") == 0 ||
           strcmp(name, "thread-trace") == 0;
}

static int open_traces_in(const char *folder, int depth, struct rp_inputs *in, struct rp_err *err)
{
    bool own = is_profile(folder);
    struct dirent **names = NULL;
    int count = scandir(folder, &names, visible, versionsort), rc = 0;

    if (count < 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "read folder %s", folder);
    for (int i = 0; i < count; i++) {
        rp_autofree char *path = rp_path_join(folder, names[i]->d_name);
        if (rc == 0 && !path)
            rc = rp_fail(err, RP_ENVIRONMENT, "out of memory");
        else if (rc == 0 && rp_path_is_dir(path))
            rc = depth && !(own && is_aside(names[i]->d_name))
                     ? open_traces_in(path, depth - 1, in, err)
                     : 0;
        else if (rc == 0 && is_trace(path))
            rc = open_trace(path, in, err);
        free(names[i]);
    }
    free(names);
    return rc;
}

static int open_counters(const char *path, struct rp_inputs *in, struct rp_err *err)
{
    struct rp_counters *set;
    int rc = rp_counters_open(path, &set, err);

    return rc < 0 ? rc : rp_inputs_add_counters(in, set, err);
}

/* The thread trace of a profile, or of the run that left it, if there is one. */
static int open_waves_of(const char *folder, const char *within, struct rp_inputs *in,
                         struct rp_err *err)
{
    rp_autofree char *path = rp_path_join(folder, within);

    if (!path)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    return rp_thread_trace_can_open(path) ? rp_thread_trace_open(path, &in->waves, err) : 0;
}

/* A folder has to hold something; what its CSV traces say of kernels is of use to counters, too. */
static int open_folder(const char *path, struct rp_inputs *in, struct rp_err *err)
{
    size_t before = in->store_count, waves_before = in->waves.count;
    int rc = rp_result_settle(path, err);

    if (rc == 0)
        rc = open_traces_in(path, FOLDER_DEPTH, in, err);

    if (rc < 0)
        return rc;
    if (is_profile(path))
        return open_waves_of(path, "thread-trace/att-threads", in, err);
    rc = open_waves_of(path, "att-threads", in, err);
    if (rc < 0)
        return rc;
    if (rp_counters_in(path))
        return open_counters(path, in, err);
    if (in->store_count == before && in->waves.count == waves_before)
        return rp_fail(
            err, RP_BAD_INPUT,
            "folder %s holds neither rocpd databases (*.db), nor JSON traces (*results.json), nor "
            "CSV "
            "files of rocprofv3 or rocprof-compute (*kernel_trace.csv, *counter_collection.csv, "
            "pmc_perf.csv), nor decoded thread traces (ui_output_agent_..._dispatch_...)",
            path);
    return 0;
}

static int open_one(const char *path, struct rp_inputs *in, struct rp_err *err)
{
    size_t prefix_len;
    int rc;

    if (rp_thread_trace_can_open(path)) /* before counters, which may be any folder */
        return rp_thread_trace_open(path, &in->waves, err);
    if (rp_path_is_dir(path))
        return open_folder(path, in, err);
    if (!rp_counters_can_open(path))
        return open_trace(path, in, err);
    if (!rp_store_csv_prefix(path, &prefix_len))
        return open_counters(path, in, err);
    rc = open_trace(path, in, err);
    return rc == 0 && ends_with(path, "kernel_trace.csv") ? open_counters(path, in, err) : rc;
}

int rp_inputs_open(char **paths, size_t count, struct rp_inputs *in, struct rp_err *err)
{
    for (size_t i = 0; i < count; i++) {
        int rc = open_one(paths[i], in, err);

        if (rc < 0)
            return rc;
    }
    return 0;
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
    /* Of CSV traces the counters know already, unless only calls or copies were named. */
    for (size_t i = 0; i < in->store_count && wanted; i++) {
        struct rp_counters *set;
        int rc;

        if (without_csv && in->csv_prefixes && in->csv_prefixes[i])
            continue;
        rc = rp_roofline_counters(in->stores[i], &set, err);

        if (rc == 0)
            rc = rp_inputs_add_counters(in, set, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* --- results ------------------------------------------------------------------------------- */

/* The JSON goes to the file and, if it is what was asked for, to the text, without a copy: that of
 * a long trace is hundreds of megabytes. */
static int put_json(const struct rp_wish *wish, const char *name, struct rp_buf *json,
                    struct rp_buf *text, struct rp_err *err)
{
    rp_autofree char *path = wish->folder ? rp_path_join(wish->folder, name) : NULL;
    int rc = 0;

    if (wish->folder)
        rc = path ? rp_mkdirs(wish->folder, err) : rp_fail(err, RP_ENVIRONMENT, "out of memory");
    if (rc == 0 && path)
        rc = wish->pending ? rp_pending_write(wish->pending, path, json, err)
                           : rp_write_file(path, rp_buf_text(json), json->len, err);
    if (rc == 0 && wish->print == RP_PRINT_JSON && text->len == 0) {
        struct rp_buf empty = *text;
        *text = *json;
        *json = empty;
    } else if (rc == 0 && wish->print == RP_PRINT_JSON) {
        rp_buf_add(text, json->data, json->len);
    }
    return rc;
}

int rp_results_drop(const char *folder, const char *const *names, size_t count, struct rp_err *err)
{
    for (size_t i = 0; i < count; i++) {
        rp_autofree char *path = rp_path_join(folder, names[i]);

        if (!path)
            return rp_fail(err, RP_ENVIRONMENT, "out of memory");
        if (!rp_path_is_dir(path) && unlink(path) != 0 && errno != ENOENT)
            return rp_fail_errno(err, RP_ENVIRONMENT, errno,
                                 "remove %s of the result before, which this one lacks", path);
    }
    return 0;
}

/* Counters of one dispatch, the first that has any. */
struct counted {
    const struct rp_row_counter *rows;
    size_t count;
};

static int first_counted(struct rp_store *store, struct counted *ret, struct rp_err *err)
{
    size_t count, n = 0;
    int rc = rp_store_counters(store, &ret->rows, &count, err);

    if (rc < 0)
        return rc;
    while (n < count && ret->rows[n].guid_index == ret->rows[0].guid_index &&
           ret->rows[n].event_id == ret->rows[0].event_id)
        n++;
    ret->count = n;
    return 0;
}

static bool same_counters(const struct counted *a, const struct counted *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (strcmp(a->rows[i].name, b->rows[i].name) != 0)
            return false;
    return true;
}

int rp_inputs_choose_run(const struct rp_inputs *in, struct rp_store **ret, size_t *ret_count,
                         struct rp_err *err)
{
    rp_autofree struct counted *counted = calloc(in->store_count + 1, sizeof *counted);
    size_t first = 0;

    if (!counted)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (size_t i = 0; i < in->store_count; i++) {
        int rc = first_counted(in->stores[i], &counted[i], err);
        if (rc < 0)
            return rc;
    }
    for (size_t i = in->store_count; i-- > 0;)
        if (counted[i].count == 0)
            first = i;
    *ret_count = 0;
    for (size_t i = 0; i < in->store_count; i++)
        if (same_counters(&counted[i], &counted[first]))
            ret[(*ret_count)++] = in->stores[i];
    return 0;
}

int rp_make_dag(const struct rp_inputs *in, bool full, struct rp_dag_result *ret,
                struct rp_err *err)
{
    rp_autofree struct rp_store **run = malloc((in->store_count + 1) * sizeof *run);
    size_t count = 0;
    int rc = run ? rp_inputs_choose_run(in, run, &count, err)
                 : rp_fail(err, RP_ENVIRONMENT, "out of memory");

    if (rc == 0)
        rc = rp_dag_analyze(run, count, full, ret, err);
    if (rc == 0 && count < in->store_count)
        rp_cli_note("%zu of %zu traces are of further runs that collected other counters: they are"
                    " left out of the graph",
                    in->store_count - count, in->store_count);
    return rc;
}

int rp_put_dag(const struct rp_dag_result *dag, const struct rp_wish *wish, struct rp_buf *text,
               struct rp_err *err)
{
    rp_autobuf json = {0};
    int rc = 0;

    if (wish->folder || wish->print == RP_PRINT_JSON)
        rc = rp_report_dag_json(dag, wish->full, &json, err);
    if (rc == 0)
        rc = put_json(wish, "dag.json", &json, text, err);
    if (rc == 0 && wish->print == RP_PRINT_TERM)
        rc = rp_report_dag_term(dag, rp_cli_style(), text, err);
    return rc;
}

int rp_make_roofline(const struct rp_inputs *in, const struct rp_roofline_options *options,
                     struct rp_roofline *ret, struct rp_err *err)
{
    struct rp_roofline_options completed = *options;
    int rc;

    completed.origin = rp_origin_of(in->stores, in->store_count);
    rc = rp_roofline_compute(in->counters, &completed, ret, err);
    for (size_t i = 0; rc == 0 && i < ret->device_count; i++)
        if (ret->devices[i].overruled[0])
            rp_cli_note("--arch %s is used for GPU %lld although the files say %s: leave it out"
                        " unless they are wrong",
                        options->arch, (long long)ret->devices[i].id, ret->devices[i].overruled);
    return rc;
}

int rp_put_roofline(const struct rp_roofline *roofline, const struct rp_wish *wish,
                    struct rp_buf *text, struct rp_err *err)
{
    rp_autobuf json = {0};
    int rc = rp_report_roofline_json(roofline, &json, err);

    if (rc == 0)
        rc = put_json(wish, "roofline.json", &json, text, err);
    if (rc == 0 && wish->print == RP_PRINT_TERM)
        rc = rp_report_roofline_term(roofline, rp_cli_style(), text, err);
    return rc;
}

int rp_put_thread_trace(const struct rp_inputs *in, const struct rp_wish *wish, struct rp_buf *text,
                        struct rp_err *err)
{
    rp_autobuf json = {0};
    int rc = rp_report_thread_trace_json(&in->waves, &json, err);

    if (rc == 0)
        rc = put_json(wish, "thread_trace.json", &json, text, err);
    if (rc == 0 && wish->print == RP_PRINT_TERM)
        rc = rp_report_thread_trace_term(&in->waves, rp_cli_style(), text, err);
    return rc;
}

void rp_ranking_free(struct rp_ranking *ranking)
{
    rp_bottlenecks_free(&ranking->found);
    rp_profile_free(ranking->profile);
}

int rp_make_ranking(const struct rp_inputs *in, const struct rp_ranking_from *from,
                    struct rp_ranking *ret, struct rp_err *err)
{
    struct rp_bottleneck_inputs inputs = {.dag = from->dag,
                                          .roofline = from->roofline,
                                          .counters = in->counters,
                                          .traces = &in->waves,
                                          .arch = from->arch,
                                          .origin = rp_origin_of(in->stores, in->store_count)};
    const double no_runtime_ms = 0; /* stability is not asked for */
    int rc = 0;

    if (in->store_count)
        rc = rp_profile_compute(in->stores, in->store_count, &no_runtime_ms, 1, &ret->profile, err);
    inputs.profile = ret->profile;
    return rc < 0 ? rc : rp_bottlenecks_find(&inputs, &ret->found, err);
}

int rp_put_ranking(const struct rp_ranking *ranking, size_t top, const struct rp_wish *wish,
                   struct rp_buf *text, struct rp_err *err)
{
    struct rp_wish to_file = *wish;
    rp_autobuf json = {0};
    int rc = 0;

    /* Of the printed JSON and of the file, only the former may be cut short. */
    to_file.print = RP_PRINT_NOTHING;
    if (to_file.folder)
        rc = rp_report_analysis_json(&ranking->found, 0, &json, err);
    if (rc == 0 && to_file.folder)
        rc = put_json(&to_file, "analysis.json", &json, text, err);
    if (rc == 0 && wish->print == RP_PRINT_JSON)
        rc = rp_report_analysis_json(&ranking->found, top, text, err);
    if (rc == 0 && wish->print == RP_PRINT_TERM)
        rc = rp_report_analysis_term(&ranking->found, top, rp_cli_style(), text, err);
    return rc;
}

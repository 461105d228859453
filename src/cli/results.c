#include "cli/cli.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/bottleneck.h"
#include "analyze/compare.h"
#include "analyze/dag.h"
#include "analyze/profile.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/units.h"
#include "base/utf8.h"
#include "cli/profile_session.h"
#include "library/library.h"
#include "report/report.h"
#include "run/device_thread_trace.h"
#include "run/result_folder.h"
#include "trace/counter_set.h"
#include "trace/gzip.h"
#include "trace/rocpd.h"

/** Writes the file under a temporary name beside its own. @return 0 or RP_ENVIRONMENT */
static int file_set_write(struct rp_file_set *pending, const char *path, const struct rp_buf *text,
                          struct rp_err *err)
{
    size_t at = pending->count;
    int rc;

    if (at == RP_FILE_SET_MAX)
        return rp_fail(err, RP_ENVIRONMENT, "too many files of one result");
    pending->files[at].path = rp_strdup(path);
    pending->files[at].partial = rp_format("%s.pending.%d", path, (int)getpid());
    pending->count++;
    if (rp_path_is_dir(path)) /* This is checked before any of them has its name. */
        return rp_fail_errno(err, RP_ENVIRONMENT, EISDIR,
                             "cannot write %s: a folder is in the way, remove it", path);
    rc = rp_write_file_for(pending->files[at].partial, path, rp_buf_text(text), text->len, err);
    return rc < 0 ? rp_wrap(err, "cannot write %s", path) : 0;
}

int rp_file_set_commit(struct rp_file_set *pending, struct rp_err *err)
{
    for (size_t i = 0; i < pending->count; i++) {
        if (rename(pending->files[i].partial, pending->files[i].path) != 0)
            return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot write %s",
                                 pending->files[i].path);
        free(pending->files[i].partial);
        pending->files[i].partial = NULL;
    }
    return 0;
}

void rp_file_set_drop(struct rp_file_set *pending)
{
    for (size_t i = 0; i < pending->count; i++) {
        if (pending->files[i].partial)
            unlink(pending->files[i].partial);
        free(pending->files[i].partial);
        free(pending->files[i].path);
    }
    memset(pending, 0, sizeof *pending);
}

static void rescue(const char *folder)
{
    rp_autofree char *where = NULL;
    struct rp_err err = RP_ERR_INIT;

    if (rp_result_folder_rescue(folder, &where, &err) < 0)
        rp_cli_note("warning: %s", err.text);
    if (where)
        rp_cli_note("a rocm-perf was killed before it had made its result of %s: what it had "
                    "recorded is now in %s",
                    folder, where);
}

void rp_cli_rescue(const char *folder)
{
    rp_autofree char *pattern = rp_path_pattern(folder, "rank-*");
    glob_t ranks = {0};

    rescue(folder);
    if (glob(pattern, 0, NULL, &ranks) == 0)
        for (size_t i = 0; i < ranks.gl_pathc; i++)
            rescue(ranks.gl_pathv[i]);
    globfree(&ranks);
}

json_t *rp_text_json(const char *text)
{
    rp_autobuf fixed = {0};

    if (!text || !*text)
        return json_null();
    rp_utf8_fix(&fixed, text, strlen(text));
    return json_string(rp_buf_text(&fixed));
}

/* The JSON goes to the file and, if it was asked for, to the text, without a copy, because that of
 * a long trace is hundreds of megabytes. */
static int put_json(const struct rp_result_request *wish, const char *name, struct rp_buf *json,
                    struct rp_buf *text, struct rp_err *err)
{
    rp_autofree char *path = wish->folder ? rp_path_join(wish->folder, name) : NULL;
    int rc = 0;

    if (wish->folder)
        rc = rp_mkdirs(wish->folder, err);
    if (rc == 0 && path)
        rc = wish->pending ? file_set_write(wish->pending, path, json, err)
                           : rp_write_file(path, rp_buf_text(json), json->len, err);
    if (rc == 0 && wish->print == RP_RESULT_JSON && text->len == 0) {
        struct rp_buf empty = *text;
        *text = *json;
        *json = empty;
    } else if (rc == 0 && wish->print == RP_RESULT_JSON) {
        rp_buf_add(text, json->data, json->len);
    }
    return rc;
}

int rp_results_drop(const char *folder, const char *const *names, size_t count, struct rp_err *err)
{
    for (size_t i = 0; i < count; i++) {
        rp_autofree char *path = rp_path_join(folder, names[i]);

        if (!rp_path_is_dir(path) && unlink(path) != 0 && errno != ENOENT)
            return rp_fail_errno(err, RP_ENVIRONMENT, errno,
                                 "remove %s of the result before, which this one lacks", path);
    }
    return 0;
}

int rp_put_dag(const struct rp_dag_result *dag, const struct rp_result_request *wish,
               struct rp_buf *text, struct rp_err *err)
{
    rp_autobuf json = {0};
    int rc = 0;

    if (wish->folder || wish->print == RP_RESULT_JSON)
        rc = rp_report_dag_json(dag, wish->full ? RP_DAG_FULL : RP_DAG_CHAIN, &json, err);
    if (rc == 0)
        rc = put_json(wish, "dag.json", &json, text, err);
    if (rc == 0 && wish->print == RP_RESULT_TERMINAL)
        rc = rp_report_dag_term(dag, rp_cli_style_of(wish->verbose), text, err);
    return rc;
}

int rp_put_roofline(const struct rp_roofline *roofline, const struct rp_result_request *wish,
                    struct rp_buf *text, struct rp_err *err)
{
    rp_autobuf json = {0};
    int rc = rp_report_roofline_json(roofline, &json, err);

    if (rc == 0)
        rc = put_json(wish, "roofline.json", &json, text, err);
    if (rc == 0 && wish->print == RP_RESULT_TERMINAL)
        rc = rp_report_roofline_term(roofline, rp_cli_style_of(wish->verbose), text, err);
    return rc;
}

int rp_put_thread_trace(const struct rp_inputs *in, const struct rp_result_request *wish,
                        struct rp_buf *text, struct rp_err *err)
{
    rp_autobuf json = {0};
    int rc = rp_report_thread_trace_json(&in->waves, &json, err);

    if (rc == 0)
        rc = put_json(wish, "thread_trace.json", &json, text, err);
    if (rc == 0 && wish->print == RP_RESULT_TERMINAL)
        rc = rp_report_thread_trace_term(&in->waves, rp_cli_style_of(wish->verbose), text, err);
    return rc;
}

int rp_put_ranking(const struct rp_ranking *ranking, size_t top,
                   const struct rp_result_request *wish, struct rp_buf *text, struct rp_err *err)
{
    struct rp_result_request to_file = *wish;
    rp_autobuf json = {0};
    int rc = 0;

    /* The printed JSON may be cut short, but not the file. */
    to_file.print = RP_RESULT_SILENT;
    if (to_file.folder)
        rc = rp_report_analysis_json(&ranking->found, 0, &json, err);
    if (rc == 0 && to_file.folder)
        rc = put_json(&to_file, "analysis.json", &json, text, err);
    if (rc == 0 && wish->print == RP_RESULT_JSON)
        rc = rp_report_analysis_json(&ranking->found, top, text, err);
    if (rc == 0 && wish->print == RP_RESULT_TERMINAL)
        rc = rp_report_analysis_term(&ranking->found, top, rp_cli_style_of(wish->verbose), text,
                                     err);
    return rc;
}

/* --- JSON ---------------------------------------------------------------------------------- */

static int read_text(const char *path, char **ret, struct rp_err *err)
{
    if (rp_check_input(path, err) < 0)
        return -(int)RP_BAD_INPUT;
    return rp_gzip_read_text(path, SIZE_MAX / 2, ret, err) < 0 ? rp_wrap(err, "read %s", path) : 0;
}

static int read_json(const char *path, const char *shown, struct rp_versus_side *ret,
                     struct rp_err *err)
{
    rp_autofree char *text = NULL;
    int rc = read_text(path, &text, err);

    return rc < 0 ? rc : rp_versus_side_parse(text, shown, ret, err);
}

/* Adds what deeper analyses have left in the folder of a profile. */
static int add_beside(const char *folder, struct rp_versus_side *side, struct rp_err *err)
{
    static const char *const names[] = {"roofline.json", "analysis.json"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        rp_autofree char *path = rp_path_join(folder, names[i]);
        rp_autofree char *there = rp_gzip_find(path);
        rp_autofree char *text = NULL;
        int rc;

        if (!there)
            continue;
        rc = read_text(there, &text, err);
        if (rc == 0)
            rc = rp_versus_side_add(side, text, there, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int read_profile(const char *folder, const char *json, struct rp_versus_side *ret,
                        struct rp_err *err)
{
    struct rp_versus_side side = {0};
    int rc = read_json(json, folder, &side, err);

    if (rc == 0)
        rc = add_beside(folder, &side, err);
    if (rc < 0) {
        rp_versus_side_free(&side);
        return rc;
    }
    *ret = side;
    return 0;
}

/* Databases are binary, and JSON of traces begins in another way. */
static bool is_json(const char *path)
{
    enum { PEEK_BYTES = 4096 };
    rp_autoclose int fd = -1;
    unsigned char c = 0;

    if (rp_store_is_json(path, false) || rp_store_is_kineto(path) || rp_store_is_named_json(path) ||
        rp_gzip_open(path, PEEK_BYTES, &fd, NULL) < 0)
        return false;
    while (read(fd, &c, 1) == 1 && isspace(c))
        c = 0;
    return c == '{' || c == '[';
}

/* --- traces -------------------------------------------------------------------------------- */

static int origin_of(struct rp_store *const *stores, size_t count, struct rp_origin *ret,
                     struct rp_err *err)
{
    *ret = rp_origin_of(stores, count);
    for (size_t i = 0; i < count && !ret->device; i++) {
        const char *device;
        int rc = rp_profile_device_of(stores[i], &device, err);

        if (rc < 0)
            return rc;
        ret->device = device && strcmp(device, "software") == 0 ? device : NULL;
    }
    return 0;
}

static void free_profile(struct rp_profile **profile)
{
    rp_profile_free(*profile);
}

/* Takes the command of the first process. With several, all have to be of the same command. */
static int command_of(struct rp_store *const *stores, size_t count, char **ret, struct rp_err *err)
{
    struct rp_lifetime life, other;
    int rc = rp_lifetime_of(stores[0], &life, err);

    for (size_t i = 1; rc == 0 && i < count; i++) {
        rc = rp_lifetime_of(stores[i], &other, err);
        if (rc == 0 && strcmp(life.command, other.command) != 0)
            return 0;
    }
    if (rc < 0 || !life.command[0])
        return rc;
    *ret = rp_strdup(life.command);
    return 0;
}

static int read_run(struct rp_store *const *run, size_t count, const char *path,
                    struct rp_versus_side *ret, struct rp_err *err)
{
    rp_cleanup(free_profile) struct rp_profile *profile = NULL;
    rp_cleanup(rp_versus_side_free) struct rp_versus_side side = {0};
    struct rp_origin origin;
    int rc = rp_clip_late_ends(run, count, err);

    if (rc == 0)
        rc = rp_profile_compute(run, count, NULL, 0, &profile, err);
    if (rc == 0)
        rc = origin_of(run, count, &origin, err);
    if (rc == 0 && profile->dispatches == 0)
        rc = rp_fail(err, RP_BAD_INPUT, "%s: there is no kernel in %s, so nothing to compare", path,
                     rp_store_path(run[0]));
    if (rc == 0)
        rc = rp_versus_side_of(profile, &origin, path, &side, err);
    if (rc == 0)
        rc = command_of(run, count, &side.command, err);
    if (rc < 0)
        return rc;
    *ret = side;
    side = (struct rp_versus_side){0};
    return 0;
}

/* Launches count where there are too few runs. Modelled times need none, and several processes have
 * clocks of their own. */
static bool needs_launches(const struct rp_versus_side *side, size_t runs, size_t traces)
{
    return !side->software && !side->wall && !side->told.is && traces == 1 &&
           runs < RP_COMPARE_LEAST_RUNS;
}

static int read_repeats(const struct rp_repeats *repeats, const char *path,
                        struct rp_versus_side *ret, struct rp_err *err)
{
    rp_cleanup(rp_versus_side_free) struct rp_versus_side side = {0};
    struct rp_store **run = repeats->stores;
    int rc = read_run(run, repeats->counts[0], path, &side, err);

    if (rc == 0 && needs_launches(&side, repeats->count, repeats->counts[0]))
        rc = rp_versus_side_add_launches(&side, run[0], err);
    for (size_t i = 1; rc == 0 && i < repeats->count; i++) {
        rp_cleanup(rp_versus_side_free) struct rp_versus_side more = {0};

        run += repeats->counts[i - 1];
        rc = read_run(run, repeats->counts[i], path, &more, err);
        if (rc == 0)
            rc = rp_versus_side_add_run(&side, &more, err);
    }
    if (rc < 0)
        return rc;
    *ret = side;
    side = (struct rp_versus_side){0};
    return 0;
}

static void note_clipped(const struct rp_inputs *in, struct rp_store *const *stores, size_t count,
                         const char *path)
{
    size_t clipped = 0;

    for (size_t i = 0; i < count; i++) {
        const struct rp_corrected_end *ends;
        size_t of_store = 0;

        if (rp_store_corrected_ends(stores[i], &ends, &of_store))
            clipped += of_store;
    }
    if (clipped)
        rp_note(&in->notes, "%zu end%s in %s cannot be: clipped (analyze says by how much)",
                clipped, rp_plural(clipped), path);
}

static int read_runs(const struct rp_inputs *in, const char *path, struct rp_versus_side *ret,
                     struct rp_err *err)
{
    rp_autofree struct rp_store **stores = rp_alloc_zero(in->store_count + 1, sizeof *stores);
    rp_cleanup(rp_repeats_free) struct rp_repeats repeats = {0};
    size_t count = 0;
    int rc = rp_inputs_choose_run(in, stores, &count, err);

    if (rc == 0)
        rc = rp_repeats_of(stores, count, &repeats, err);
    if (rc == 0)
        rc = read_repeats(&repeats, path, ret, err);
    if (rc == 0)
        note_clipped(in, stores, count, path);
    if (rc == 0 && repeats.count > 1)
        rp_note(&in->notes, "%s: %zu traces are %zu runs of the same command", path, count,
                repeats.count);
    return rc;
}

static int read_traces(char *path, struct rp_versus_side *ret, struct rp_err *err)
{
    rp_cleanup(rp_inputs_close) struct rp_inputs in = {.notes = rp_cli_notes()};
    int rc = rp_inputs_open(&path, 1, &in, err);

    if (rc == 0 && in.store_count == 0)
        rc = rp_fail(err, RP_BAD_INPUT,
                     in.stats ? "%s: only sums of kernels, whose spread nobody knows: give the"
                                " trace, or the result of profile"
                              : "%s: neither a profile nor a trace of kernels, so there are no"
                                " times to compare",
                     path);
    if (rc == 0)
        rc = read_runs(&in, path, ret, err);
    if (rc == 0)
        ret->incomplete |= in.ranks_missing > 0;
    return rc;
}

int rp_compare_read_side(char *path, struct rp_versus_side *ret, struct rp_err *err)
{
    rp_autofree char *name = rp_path_join(path, "profile.json"), *json = NULL;
    int rc;

    rc = rp_check_input(path, err);
    if (rc < 0)
        return rc;
    if (!rp_path_exists(path))
        return rp_fail(err, RP_BAD_INPUT, "%s: no such file or folder", path);
    if (!rp_path_is_dir(path))
        return is_json(path) ? read_json(path, path, ret, err) : read_traces(path, ret, err);
    rc = rp_result_finish_commit(path, err);
    if (rc < 0)
        return rc;
    json = rp_gzip_find(name);
    return json ? read_profile(path, json, ret, err) : read_traces(path, ret, err);
}

void rp_compare_add_launches(char *path, struct rp_versus_side *side)
{
    rp_cleanup(rp_inputs_close) struct rp_inputs in = {0};
    rp_autofree struct rp_store **stores = NULL;
    struct rp_err err = RP_ERR_INIT;
    size_t count = 0;

    if (!needs_launches(side, side->runs.count, 1) || !rp_path_is_dir(path) ||
        (side->kernel_count && side->kernels[0].launches.count) ||
        rp_inputs_open(&path, 1, &in, &err) < 0 || !in.store_count)
        return;
    stores = rp_alloc_zero(in.store_count + 1, sizeof *stores);
    if (rp_inputs_choose_run(&in, stores, &count, &err) == 0 && count == 1 &&
        rp_clip_late_ends(stores, 1, &err) == 0)
        rp_versus_side_add_launches(side, stores[0], &err);
}

int rp_profile_device_of(struct rp_store *store, const char **ret, struct rp_err *err)
{
    const struct rp_row_process *rows;
    size_t count;
    int rc;

    *ret = rp_store_metadata(store, "rocm_perf_device");
    if (*ret)
        return 0;
    rc = rp_store_processes(store, &rows, &count, err);
    for (size_t i = 0; rc == 0 && i < count; i++)
        if (strstr(rows[i].environment, "librocm-perf-device.so"))
            *ret = rp_device_label(RP_DEVICE_SOFTWARE);
    return rc;
}

uint64_t rp_profile_unrecorded_of(const struct rp_store *store)
{
    const char *count = rp_store_metadata(store, RP_STORE_UNRECORDED_TAG);

    return count ? strtoull(count, NULL, 10) : 0;
}

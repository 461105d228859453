#include <dirent.h>
#include <glob.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/profile.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "optimize/child.h"
#include "optimize/measure.h"
#include "optimize/one_code.h"
#include "optimize/self.h"
#include "trace/capture.h"
#include "trace/rocpd.h"

enum { MOST_MESSAGE = 4096 };

void rp_captures_free(struct rp_captures *captures)
{
    for (size_t i = 0; i < captures->count; i++) {
        free(captures->list[i].folder);
        free(captures->list[i].name);
    }
    free(captures->list);
    *captures = (struct rp_captures){0};
}

char *rp_regex_quoted(const char *text)
{
    rp_autobuf out = {0};

    rp_buf_puts(&out, "");
    for (; *text; text++) {
        if (strchr("\\^$.|?*+()[]{}", *text))
            rp_buf_puts(&out, "\\");
        rp_buf_add(&out, text, 1);
    }
    return rp_buf_steal(&out);
}

/** A program that crashes or hangs while this kernel is captured says nothing about others. */
static enum rp_code failure_code(const struct rp_proc_end *end)
{
    if (end->signaled || end->timed_out || end->over_memory)
        return RP_PROGRAM;
    return end->status == RP_VERDICT || end->status == RP_BAD_INPUT || end->status == RP_PROGRAM
               ? (enum rp_code)end->status
               : RP_ENVIRONMENT;
}

static int isolate(const struct rp_measure *m, const char *program, const char *name,
                   const char *output, struct rp_err *err)
{
    rp_autofree char *quoted = rp_regex_quoted(name);
    rp_autofree char *regex = quoted ? rp_format("^%s$", quoted) : NULL;
    rp_autofree char *most = rp_format("%u", m->most_geometries);
    rp_autofree char *log = rp_path_join(m->folder, "isolate.log");
    rp_autofree char *text = NULL;
    rp_autofree char *said = NULL;
    rp_autofree char *status = rp_format("%d", m->status);
    const char *const words[] = {"isolate",         "--kernel", regex, "--representative",
                                 "--most",          most,       "-o",  output,
                                 "--expect-status", status,     NULL};
    struct rp_proc_end end;
    int rc;

    if (!regex || !most || !log || !status)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    rc = rp_self_run(m,
                     &(struct rp_self){.words = words,
                                       .program = program,
                                       .stdout_path = log,
                                       .stderr_path = log,
                                       .what = RP_RUNS_LONGER},
                     &end, err);
    if (rc < 0)
        return rc;
    if (!end.signaled && end.status == 0)
        return 0;
    text = rp_child_text(log, MOST_MESSAGE);
    said = rp_child_one_line(text ? text : "");
    return rp_fail(err, failure_code(&end), "its dispatches cannot be captured: %s",
                   said ? said : "");
}

static void close_capture(struct rp_capture **capture)
{
    rp_capture_close(*capture);
}

/** Why it cannot be replayed here, in the words of its self-check. */
static int check_replays(const char *folder, const char *name, struct rp_err *err)
{
    rp_autofree char *path = rp_path_join(folder, RP_CAPTURE_SELF_CHECK_FILE);
    json_t *json = path ? json_load_file(path, 0, NULL) : NULL;
    const char *label = json_string_value(json_object_get(json, "label"));
    const char *reason = json_string_value(json_object_get(json, "reason"));
    int rc = 0;

    if (!label || strcmp(label, "not replayable") == 0 || strcmp(label, "unknown") == 0)
        rc = rp_fail(err, RP_VERDICT, "%s: it cannot be replayed: %s", name,
                     reason ? reason : "nothing says why");
    json_decref(json);
    return rc;
}

static int read_one(const char *folder, const char *symbol, struct rp_captured *ret,
                    struct rp_err *err)
{
    rp_cleanup(close_capture) struct rp_capture *capture = NULL;
    const struct rp_snapshot_dispatch *d;
    const struct rp_capture_facts *facts;
    int rc = rp_capture_open(folder, &capture, err);

    if (rc < 0)
        return rc;
    facts = rp_capture_get_facts(capture);
    d = &facts->dispatch;
    if (!rp_symbol_is(facts->symbol, symbol))
        return rp_fail(err, RP_BAD_INPUT, "%s is of %s instead of %s", folder, facts->symbol,
                       symbol);
    for (size_t i = 0; i < 3; i++) {
        ret->grid[i] = d->grid[i];
        ret->workgroup[i] = d->workgroup[i];
    }
    ret->group_bytes = d->group_bytes;
    ret->folder = strdup(folder);
    ret->name =
        rp_format("grid %ux%ux%u workgroup %ux%ux%u lds %u", d->grid[0], d->grid[1], d->grid[2],
                  d->workgroup[0], d->workgroup[1], d->workgroup[2], d->group_bytes);
    if (!ret->folder || !ret->name)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    return check_replays(folder, ret->name, err);
}

static int wanted_entry(const struct dirent *entry)
{
    return strncmp(entry->d_name, "dispatch-", 9) == 0;
}

static int read_all(const char *output, const char *symbol, struct rp_captures *ret,
                    struct rp_err *err)
{
    struct dirent **names;
    int count = scandir(output, &names, wanted_entry, versionsort), rc = 0;

    if (count < 0)
        return rp_fail(err, RP_BAD_INPUT, "%s cannot be read", output);
    ret->list = calloc((size_t)count + 1, sizeof *ret->list);
    for (int i = 0; i < count; i++) {
        rp_autofree char *folder = rp_path_join(output, names[i]->d_name);

        if (rc == 0 && (!ret->list || !folder))
            rc = rp_fail(err, RP_ENVIRONMENT, "out of memory");
        if (rc == 0)
            rc = read_one(folder, symbol, &ret->list[ret->count++], err);
        free(names[i]);
    }
    free(names);
    if (rc == 0 && !ret->count)
        rc = rp_fail(err, RP_VERDICT, "none of its dispatches was captured");
    return rc;
}

/* --- weights ------------------------------------------------------------------------------- */

struct weighing {
    const struct rp_store *store;
    struct rp_captures *captures;
    const struct rp_row_kernel *kernels;
    size_t kernel_count;
    const char *symbol;
    double sum_ns, covered_ns;
};

static bool is_kernel(const struct weighing *w, const struct rp_row_dispatch *row)
{
    for (size_t i = 0; i < w->kernel_count; i++) {
        const struct rp_row_kernel *k = &w->kernels[i];

        if (k->id == row->kernel_id && k->guid_index == row->guid_index)
            return rp_symbol_is(k->kernel_name, w->symbol);
    }
    return false;
}

static int weigh_row(void *context, const void *at, struct rp_err *err)
{
    struct weighing *w = context;
    const struct rp_row_dispatch *row = at;
    const struct rp_corrected_end *end =
        rp_store_find_corrected_end(w->store, row->guid_index, row->id);
    const double ns = end                           ? (double)end->took_ns
                      : row->end_ns > row->start_ns ? (double)(row->end_ns - row->start_ns)
                                                    : 0;

    (void)err;
    if (!is_kernel(w, row))
        return 0;
    w->sum_ns += ns;
    for (size_t i = 0; i < w->captures->count; i++) {
        struct rp_captured *c = &w->captures->list[i];
        bool same = row->group_bytes == c->group_bytes;

        for (size_t axis = 0; axis < 3; axis++)
            same = same && row->grid[axis] == c->grid[axis] &&
                   row->workgroup[axis] == c->workgroup[axis];
        if (same) {
            c->weight += ns;
            w->covered_ns += ns;
            break;
        }
    }
    return 0;
}

static int weigh_by(const char *path, struct weighing *w, struct rp_err *err)
{
    struct rp_store *store;
    int rc = rp_store_open(path, &store, err);

    if (rc < 0)
        return rc;
    w->store = store;
    rc = rp_clip_late_ends(&store, 1, err);
    if (rc == 0)
        rc = rp_store_kernels(store, &w->kernels, &w->kernel_count, err);
    if (rc == 0)
        rc = rp_store_each_work(store, weigh_row, w, err);
    rp_store_close(store);
    return rc;
}

static int weigh(const char *profile, const char *symbol, struct rp_captures *captures,
                 struct rp_err *err)
{
    struct weighing w = {.captures = captures, .symbol = symbol};
    rp_autofree char *pattern = rp_path_pattern(profile, "*.db");
    glob_t found;
    int rc = 0;

    captures->covered = -1;
    if (!pattern)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    if (glob(pattern, 0, NULL, &found) != 0)
        return 0;
    for (size_t i = 0; i < found.gl_pathc && rc == 0; i++)
        rc = weigh_by(found.gl_pathv[i], &w, err);
    globfree(&found);
    if (rc == 0 && w.sum_ns > 0)
        captures->covered = w.covered_ns / w.sum_ns;
    return rc;
}

int rp_captures_make(const struct rp_measure *measure, const char *program, const char *name,
                     const char *symbol, const char *profile, const char *output,
                     struct rp_captures *ret, struct rp_err *err)
{
    struct rp_captures captures = {0};
    int rc = rp_one_code_check(profile, symbol, err);

    if (rc == 0 && !rp_path_exists(output))
        rc = isolate(measure, program, name, output, err);
    if (rc == 0)
        rc = read_all(output, symbol, &captures, err);
    if (rc == 0)
        rc = weigh(profile, symbol, &captures, err);
    if (rc < 0) {
        rp_captures_free(&captures);
        return rc;
    }
    *ret = captures;
    return 0;
}

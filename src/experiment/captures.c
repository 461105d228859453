/* The dispatches of a kernel, captured where a program launches it, and captured once more where
 * another build of the program launches it otherwise. */
#include <dirent.h>
#include <glob.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/profile.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/stats.h"
#include "experiment/child_run.h"
#include "experiment/judge.h"
#include "trace/capture.h"
#include "trace/rocpd.h"

enum { MOST_MESSAGE = 4096 };

void rp_captures_free(struct rp_captures *captures)
{
    for (size_t i = 0; i < captures->count; i++) {
        free(captures->list[i].folder);
        free(captures->list[i].name);
        free(captures->list[i].kernel);
        free(captures->list[i].symbol);
        free(captures->list[i].gpu);
        free(captures->list[i].product);
    }
    free(captures->list);
    *captures = (struct rp_captures){0};
}

/** Quotes a text so that a regular expression finds it as it is. The caller frees it. */
static char *regex_escape(const char *text)
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
    if (end->signaled || end->timed_out || end->over_limits)
        return RP_PROGRAM;
    return end->status == RP_VERDICT || end->status == RP_BAD_INPUT || end->status == RP_PROGRAM
               ? (enum rp_code)end->status
               : RP_ENVIRONMENT;
}

/** @param dispatches  their numbers, "1,4"; NULL: the first one of each geometry */
static int isolate(const struct rp_child_context *m, const char *program, const char *name,
                   const char *dispatches, const char *output, struct rp_err *err)
{
    rp_autofree char *quoted = regex_escape(name);
    rp_autofree char *regex = rp_format("^%s$", quoted);
    rp_autofree char *most = rp_format("%u", m->most_geometries);
    rp_autofree char *log = rp_path_join(m->folder, "isolate.log");
    rp_autofree char *text = NULL;
    rp_autofree char *said = NULL;
    rp_autofree char *status = rp_format("%d", m->status);
    const char *const first[] = {
        "isolate", "--kernel",         regex,    "-o", output, "--expect-status",
        status,    "--representative", "--most", most, NULL};
    const char *const again[] = {"isolate",  "--kernel",        regex,  "-o",
                                 output,     "--expect-status", status, "--dispatch",
                                 dispatches, "--no-self-check", NULL};
    struct rp_child_context trusted = *m;
    struct rp_proc_end end;
    int rc;

    trusted.sandbox = NULL; /* The program is what its user has, and a capture needs a socket. */
    rc = rp_own_command_run(&trusted,
                            &(struct rp_own_command){.words = dispatches ? again : first,
                                                     .program = program,
                                                     .stdout_path = log,
                                                     .stderr_path = log,
                                                     .what = RP_RUN_KIND_TRACED},
                            &end, err);
    if (rc < 0)
        return rc;
    if (!end.signaled && end.status == 0)
        return 0;
    text = rp_child_text(log, MOST_MESSAGE);
    said = rp_text_join_lines(text ? text : "");
    return rp_fail(err, failure_code(&end), "its dispatches cannot be captured: %s",
                   said ? said : "");
}

static void close_capture(struct rp_capture **capture)
{
    rp_capture_close(*capture);
}

/** Says why a capture cannot be replayed here, in the words of its self-check. */
static int check_replays(const char *folder, const char *name, struct rp_err *err)
{
    rp_autofree char *path = rp_path_join(folder, RP_CAPTURE_SELF_CHECK_FILE);
    json_t *json = json_load_file(path, 0, NULL);
    const char *label = json_string_value(json_object_get(json, "label"));
    const char *reason = json_string_value(json_object_get(json, "reason"));
    int rc = 0;

    if (!label || strcmp(label, "not replayable") == 0 || strcmp(label, "unknown") == 0)
        rc = rp_fail(err, RP_VERDICT, "%s: it cannot be replayed: %s", name,
                     reason ? reason : "nothing says why");
    json_decref(json);
    return rc;
}

/** Returns its length without ".kd". */
static size_t symbol_length(const char *symbol)
{
    const size_t length = strlen(symbol);

    return length > 3 && strcmp(symbol + length - 3, ".kd") == 0 ? length - 3 : length;
}

/** @param symbol NULL: of any kernel */
static int read_one(const char *folder, const char *symbol, struct rp_captured *ret,
                    struct rp_err *err)
{
    rp_cleanup(close_capture) struct rp_capture *capture = NULL;
    rp_autofree char *sums = rp_path_join(folder, "checksums.json");
    const struct rp_snapshot_dispatch *d;
    const struct rp_capture_facts *facts;
    int rc = rp_capture_open(folder, &capture, err);

    if (rc < 0)
        return rc;
    if (rp_sha256_file(sums, ret->sums_sha256, NULL) < 0)
        ret->sums_sha256[0] = 0;
    facts = &rp_capture_contents(capture)->facts;
    d = &facts->dispatch;
    if (symbol && !rp_symbol_is(facts->symbol, symbol))
        return rp_fail(err, RP_BAD_INPUT, "%s is of %s instead of %s", folder, facts->symbol,
                       symbol);
    for (size_t i = 0; i < 3; i++) {
        ret->grid[i] = d->grid[i];
        ret->workgroup[i] = d->workgroup[i];
    }
    ret->group_bytes = d->group_bytes;
    ret->number = d->match;
    ret->kernel = rp_strdup(facts->name);
    ret->symbol = rp_strndup(facts->symbol, symbol_length(facts->symbol));
    ret->gpu = rp_strndup(facts->isa, strcspn(facts->isa, ":"));
    ret->product = rp_strdup(facts->product);
    ret->software = facts->software;
    ret->folder = rp_strdup(folder);
    ret->name =
        rp_format("grid %ux%ux%u workgroup %ux%ux%u lds %u", d->grid[0], d->grid[1], d->grid[2],
                  d->workgroup[0], d->workgroup[1], d->workgroup[2], d->group_bytes);
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
    ret->list = rp_alloc_zero((size_t)count + 1, sizeof *ret->list);
    for (int i = 0; i < count; i++) {
        rp_autofree char *folder = rp_path_join(output, names[i]->d_name);

        if (rc == 0)
            rc = read_one(folder, symbol, &ret->list[ret->count++], err);
        free(names[i]);
    }
    free(names);
    if (rc == 0 && !ret->count)
        rc = symbol ? rp_fail(err, RP_VERDICT, "none of its dispatches was captured")
                    : rp_fail(err, RP_BAD_INPUT,
                              "%s is no capture, and holds none (dispatch-1 and so on): rocm-perf "
                              "isolate makes one",
                              output);
    return rc;
}

uint64_t rp_captures_largest(const struct rp_captures *captures)
{
    uint64_t largest = captures->largest_items;

    for (size_t i = 0; i < captures->count; i++) {
        const uint32_t *size = captures->list[i].workgroup;
        const uint64_t items = (uint64_t)size[0] * size[1] * size[2];

        largest = items > largest ? items : largest;
    }
    return largest;
}

int rp_captures_read(const char *folder, struct rp_captures *ret, struct rp_err *err)
{
    rp_autofree char *file = rp_path_join(folder, "dispatch.json");
    struct rp_captures captures = {.covered = -1};
    int rc;

    if (rp_path_exists(file)) {
        captures.list = rp_alloc_zero(1, sizeof *captures.list);
        captures.count = 1;
        rc = read_one(folder, NULL, &captures.list[0], err);
    } else {
        rc = read_all(folder, NULL, &captures, err);
    }
    if (rc < 0) {
        rp_captures_free(&captures);
        return rc;
    }
    *ret = captures;
    return 0;
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

static void count_items(struct rp_captures *captures, uint64_t items)
{
    if (items > captures->largest_items)
        captures->largest_items = items;
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
    count_items(w->captures, row->workgroup[0] * row->workgroup[1] * row->workgroup[2]);
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
    if (glob(pattern, 0, NULL, &found) != 0)
        return 0;
    for (size_t i = 0; i < found.gl_pathc && rc == 0; i++)
        rc = weigh_by(found.gl_pathv[i], &w, err);
    globfree(&found);
    if (rc == 0 && w.sum_ns > 0)
        captures->covered = w.covered_ns / w.sum_ns;
    return rc;
}

int rp_captures_make(const struct rp_child_context *measure, const char *program, const char *name,
                     const char *symbol, const char *profile, const char *output,
                     struct rp_captures *ret, struct rp_err *err)
{
    struct rp_captures captures = {0};
    int rc = rp_check_single_code_object(profile, symbol, err);

    if (rc == 0 && !rp_path_exists(output))
        rc = isolate(measure, program, name, NULL, output, err);
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

/* --- launched otherwise -------------------------------------------------------------------- */

void rp_launches_free(struct rp_captures *launches)
{
    for (size_t i = 0; i < launches->count; i++)
        free(launches->list[i].launch);
    free(launches->list);
    *launches = (struct rp_captures){0};
}

/** Lists the numbers of dispatches, rising, as isolate wants them. */
static char *numbers_of(const struct rp_captures *captures)
{
    rp_autobuf text = {0};
    uint64_t last = 0;

    for (size_t i = 0; i < captures->count; i++) {
        uint64_t next = UINT64_MAX;

        for (size_t j = 0; j < captures->count; j++)
            if (captures->list[j].number > last && captures->list[j].number < next)
                next = captures->list[j].number;
        if (next == UINT64_MAX)
            break;
        rp_buf_printf(&text, "%s%" PRIu64, last ? "," : "", next);
        last = next;
    }
    return rp_buf_steal(&text);
}

/** Where one dispatch is captured, the folder is that capture. */
static char *folder_of(const char *output, uint64_t number)
{
    rp_autofree char *of_several = rp_format("%s/" RP_CAPTURE_SEVERAL_FOLDER, output, number);
    rp_autofree char *file = rp_path_join(output, RP_CAPTURE_DISPATCH_FILE);

    return rp_path_is_dir(of_several) ? rp_steal(of_several)
           : rp_path_exists(file)     ? rp_strdup(output)
                                      : NULL;
}

static int read_launch(const struct rp_captured *captured, const char *output,
                       struct rp_captured *ret, struct rp_err *err)
{
    rp_cleanup(close_capture) struct rp_capture *capture = NULL;
    const struct rp_snapshot_dispatch *d;
    int rc;

    *ret = *captured;
    ret->launch = folder_of(output, captured->number);
    if (!ret->launch)
        return rp_fail(err, RP_VERDICT, "its dispatch %" PRIu64 " is not captured then",
                       captured->number);
    rc = rp_capture_open(ret->launch, &capture, err);
    if (rc < 0)
        return rc;
    d = &rp_capture_contents(capture)->facts.dispatch;
    for (size_t i = 0; i < 3; i++)
        ret->launched[i] = d->workgroup[i];
    return 0;
}

int rp_launches_capture(const struct rp_child_context *measure, const char *program,
                        const char *name, const struct rp_captures *captures, const char *output,
                        struct rp_captures *ret, struct rp_err *err)
{
    rp_autofree char *numbers = numbers_of(captures);
    struct rp_captures launches = *captures;
    int rc = rp_path_exists(output) ? 0 : isolate(measure, program, name, numbers, output, err);

    launches.count = 0;
    launches.list = rp_alloc_zero(captures->count + 1, sizeof *launches.list);
    for (size_t i = 0; i < captures->count && rc == 0; i++)
        rc = read_launch(&captures->list[i], output, &launches.list[launches.count++], err);
    if (rc < 0) {
        rp_launches_free(&launches);
        return rc;
    }
    *ret = launches;
    return 0;
}

/* --- how often, and how, kernels are launched ----------------------------------------------- */

void rp_launch_counts_free(struct rp_launch_counts *counts)
{
    for (size_t i = 0; i < counts->count; i++) {
        free(counts->list[i].symbol);
        rp_vec_free(&counts->list[i].kinds);
    }
    free(counts->list);
    *counts = (struct rp_launch_counts){0};
}

const struct rp_launch_count *rp_launch_counts_find(const struct rp_launch_counts *counts,
                                                    const char *symbol)
{
    for (size_t i = 0; i < counts->count; i++)
        if (rp_symbol_is(symbol, counts->list[i].symbol))
            return &counts->list[i];
    return NULL;
}

struct counting {
    const struct rp_store *store;
    struct rp_launch_counts *counts;
};

static struct rp_launch_count *count_of(struct rp_launch_counts *counts, const char *symbol)
{
    const struct rp_launch_count *found = rp_launch_counts_find(counts, symbol);

    if (found)
        return &counts->list[found - counts->list];
    counts->list = rp_realloc_array(counts->list, counts->count + 1, sizeof *counts->list);
    counts->list[counts->count] =
        (struct rp_launch_count){.symbol = rp_strndup(symbol, symbol_length(symbol))};
    return &counts->list[counts->count++];
}

static uint64_t geometry_hash(const struct rp_row_dispatch *row, int64_t lds_bytes)
{
    uint64_t hash = rp_mix64((uint64_t)lds_bytes + 1);

    for (size_t i = 0; i < 3; i++)
        hash = rp_mix64(rp_mix64(hash ^ (uint64_t)row->grid[i]) ^ (uint64_t)row->workgroup[i]);
    return hash;
}

/** Kernels may run in another order each time, so that the sum has none. */
static int count_row(void *context, const void *at, struct rp_err *err)
{
    struct counting *c = context;
    const struct rp_row_dispatch *row = at;
    const struct rp_row_kernel *kernel =
        rp_store_find_kernel(c->store, row->guid_index, row->kernel_id);
    struct rp_launch_count *count;
    uint64_t kind;

    (void)err;
    if (!kernel || !kernel->kernel_name)
        return 0;
    count = count_of(c->counts, kernel->kernel_name);
    count->launches++;
    count->geometries += geometry_hash(row, row->group_bytes);
    kind = geometry_hash(row, row->group_bytes - kernel->group_bytes);
    if (!count->kinds.count || count->kinds.items[count->kinds.count - 1] != kind)
        rp_vec_push(&count->kinds, kind);
    return 0;
}

static int by_hash(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static void sort_kinds(struct rp_launch_count *count)
{
    size_t kept = 0;

    if (count->kinds.count)
        qsort(count->kinds.items, count->kinds.count, sizeof(uint64_t), by_hash);
    for (size_t i = 0; i < count->kinds.count; i++)
        if (!kept || count->kinds.items[kept - 1] != count->kinds.items[i])
            count->kinds.items[kept++] = count->kinds.items[i];
    count->kinds.count = kept;
}

bool rp_launch_count_includes(const struct rp_launch_count *all, const struct rp_launch_count *of)
{
    size_t i = 0;

    for (size_t k = 0; k < of->kinds.count; k++) {
        while (i < all->kinds.count && all->kinds.items[i] < of->kinds.items[k])
            i++;
        if (i == all->kinds.count || all->kinds.items[i] != of->kinds.items[k])
            return false;
    }
    return true;
}

static int count_in(const char *path, struct rp_launch_counts *counts, struct rp_err *err)
{
    struct counting c = {.counts = counts};
    const struct rp_row_kernel *kernels; /* rp_store_find_kernel searches them. */
    struct rp_store *store;
    size_t count;
    int rc = rp_store_open(path, &store, err);

    if (rc < 0)
        return rc;
    c.store = store;
    rc = rp_store_kernels(store, &kernels, &count, err);
    if (rc == 0)
        rc = rp_store_each_work(store, count_row, &c, err);
    rp_store_close(store);
    return rc;
}

int rp_launch_counts_read(const char *profile, struct rp_launch_counts *ret, struct rp_err *err)
{
    rp_autofree char *pattern = rp_path_pattern(profile, "*.db");
    struct rp_launch_counts counts = {0};
    glob_t found;
    int rc = 0;

    if (glob(pattern, 0, NULL, &found) != 0)
        return rp_fail(err, RP_BAD_INPUT, "%s has no database", profile);
    for (size_t i = 0; i < found.gl_pathc && rc == 0; i++)
        rc = count_in(found.gl_pathv[i], &counts, err);
    globfree(&found);
    for (size_t i = 0; i < counts.count; i++)
        sort_kinds(&counts.list[i]);
    if (rc < 0)
        rp_launch_counts_free(&counts);
    else
        *ret = counts;
    return rc;
}

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/intern.h"
#include "base/path.h"
#include "trace/counter_set.h"
#include "trace/foreign_trace.h"
#include "trace/gzip.h"
#include "trace/rocpd.h"
#include "trace/rocpd_read.h"
#include "trace/sqlite_file.h"

/* Folders of counter files: which files are read, and what their folders say of them. */

/* --- names of files ----------------------------------------------------------------------- */

/* "pmc_perf_3.csv": a run of rocprof-compute, before it has joined them to pmc_perf.csv. */
static bool is_single_run(const char *name)
{
    static const char begin[] = "pmc_perf_";
    size_t digits;

    if (strncasecmp(name, begin, sizeof begin - 1) != 0)
        return false;
    name += sizeof begin - 1;
    digits = strspn(name, "0123456789");
    return digits > 0 && rp_gzip_name_length(name) == digits + 4 &&
           rp_gzip_name_ends_with(name + digits, ".csv");
}

static bool is_default_name(const char *name)
{
    static const char by_itself[] = "results.csv";

    return rp_gzip_name_length(name) == sizeof by_itself - 1 &&
           rp_gzip_name_ends_with(name, by_itself);
}

static int is_default(const struct dirent *entry)
{
    return is_default_name(entry->d_name);
}

static int is_wanted(const struct dirent *entry)
{
    return is_single_run(entry->d_name) || rp_gzip_name_ends_with(entry->d_name, "pmc_perf.csv") ||
           is_default_name(entry->d_name) ||
           rp_gzip_name_ends_with(entry->d_name, "counter_collection.csv") ||
           rp_gzip_name_ends_with(entry->d_name, "kernel_trace.csv");
}

static int is_other_csv(const struct dirent *entry)
{
    return rp_gzip_name_ends_with(entry->d_name, ".csv") && !is_wanted(entry);
}

static int is_levels(const struct dirent *entry)
{
    return rp_counters_is_level_waves_file(entry->d_name);
}

static bool is_joined(const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    rp_autofree char *whole = rp_format("%.*spmc_perf.csv", (int)(base - path), path);
    rp_autofree char *there = whole ? rp_gzip_find(whole) : NULL;

    return is_single_run(base) && there;
}

static bool counts(const struct rp_counters *set, const char *name)
{
    for (size_t i = 0; i < set->name_count; i++)
        if (strcmp(set->names[i], name) == 0)
            return true;
    return false;
}

/* What rocprofv3 wrote of one process in another form has the same counters. */
static bool is_said(const char *path)
{
    rp_autofree char *better = rp_gzip_name_ends_with(path, "counter_collection.csv") ||
                                       rp_gzip_name_ends_with(path, "kernel_trace.csv")
                                   ? rp_store_said_by(path)
                                   : NULL;

    return better;
}

/* --- folders ------------------------------------------------------------------------------ */

enum { FOLDER_DEPTH = 2 }; /* pmc_1/HOST */

/* What lies in a folder, until it is joined. */
struct folder {
    const char *path;
    struct rp_counter_parts *parts;
    int depth;         /* so many levels of folders are read below */
    bool only_passes;  /* of the folders in it: there are counters beside them */
    bool skips_passes; /* not even those: what lies beside is made of them */
};

static int add_file(struct folder *f, const char *path, struct rp_err *err)
{
    struct rp_counters *set;
    int result;

    if (rp_gzip_has_unpacked(path) || is_joined(path) || is_said(path))
        return 0;
    result = rp_counters_read_file(path, &set, err);
    if (result < 0)
        return result;
    if (rp_counters_is_level_waves_file(path) &&
        !counts(set, RP_COUNTER_LEVEL_WAVES_ACCUM)) { /* of 3.2 and later, or empty */
        rp_counters_free(set);
        return 0;
    }
    f->only_passes |= set->name_count > 0;
    f->skips_passes |=
        set->name_count > 0 && !rp_gzip_name_ends_with(path, "counter_collection.csv");
    return rp_counters_add_part(&f->parts, set, path, err);
}

/* It may be of another run, or program: nobody has said that it belongs to the rest. */
static int name_rocprof(struct folder *f, const char *path, struct rp_err *err)
{
    if (!f->parts || rp_gzip_has_unpacked(path) || !rp_counters_is_rocprof(path))
        return 0;
    return rp_counters_warn(f->parts->list[0].set, err,
                            "%s is a result of rocprof, too: left out; name all files of one run to"
                            " read them together",
                            path);
}

static int is_folder(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && (entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN);
}

static bool has_entry(const char *path, int (*wanted)(const struct dirent *))
{
    struct dirent **names = NULL;
    int count = scandir(path, &names, wanted, NULL);
    bool found = false;

    for (int i = 0; i < count; i++) {
        rp_autofree char *entry = rp_path_join(path, names[i]->d_name);

        found |= entry && !is_said(entry);
        free(names[i]);
    }
    if (count >= 0)
        free(names);
    return found;
}

/* Is there such a file, or a folder that holds one? */
static bool holds(const char *path, int (*wanted)(const struct dirent *), int depth)
{
    struct dirent **names = NULL;
    bool found = has_entry(path, wanted);
    int count = found || depth <= 0 ? -1 : scandir(path, &names, is_folder, NULL);

    for (int i = 0; i < count; i++) {
        rp_autofree char *entry = found ? NULL : rp_path_join(path, names[i]->d_name);

        found = found || (entry && rp_path_is_dir(entry) && holds(entry, wanted, depth - 1));
        free(names[i]);
    }
    if (count >= 0)
        free(names);
    return found;
}

static int is_read(const struct dirent *entry)
{
    return is_wanted(entry) || is_levels(entry);
}

static int is_counted(const struct dirent *entry)
{
    return is_read(entry) && !rp_gzip_name_ends_with(entry->d_name, "kernel_trace.csv");
}

bool rp_counters_of_two_passes(const char *a, const char *b)
{
    size_t a_length = 0, b_length = 0;
    const char *pass_of_a = rp_counters_pass_in(a, &a_length),
               *pass_of_b = rp_counters_pass_in(b, &b_length);

    return pass_of_a && pass_of_b && pass_of_a - a == pass_of_b - b &&
           strncmp(a, b, (size_t)(pass_of_a - a)) == 0 &&
           (a_length != b_length || strncmp(pass_of_a, pass_of_b, a_length) != 0);
}

static int read_entries(struct folder *f, int (*wanted)(const struct dirent *),
                        int (*read_entry)(struct folder *, const char *, struct rp_err *),
                        struct rp_err *err)
{
    struct dirent **names = NULL;
    int count = scandir(f->path, &names, wanted, versionsort), result = 0;

    if (count < 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "read folder %s", f->path);
    for (int i = 0; i < count; i++) {
        rp_autofree char *entry = rp_path_join(f->path, names[i]->d_name);
        if (result == 0)
            result = entry ? read_entry(f, entry, err) : rp_out_of_memory(err);
        free(names[i]);
    }
    free(names);
    return result;
}

static int read_level(const char *path, int depth, struct rp_counter_parts **ret,
                      struct rp_err *err);

static int add_folder(struct folder *f, const char *path, struct rp_err *err)
{
    const bool is_pass = rp_counters_is_pass_folder(path);
    struct rp_counter_parts *below = NULL;
    int result;

    if (!rp_path_is_dir(path))
        return 0;
    if (f->skips_passes || (f->only_passes && !is_pass))
        return holds(path, is_counted, f->depth - 1)
                   ? rp_counters_warn(f->parts->list[0].set, err,
                                      "counters in %s are left out: those beside it, in %s, are"
                                      " read; give it, too, if they are of one run",
                                      path, f->path)
                   : 0;
    result = read_level(path, f->depth - 1, &below, err);
    return result < 0 || !below ? result
                                : rp_counters_add_folder(&f->parts, below, path, is_pass, err);
}

/* Passes lie in pmc_1/HOST/PID_counter_collection.csv, processes in one folder or in one for each.
 * A trace says nothing of where the counters are. */
static int read_level(const char *path, int depth, struct rp_counter_parts **ret,
                      struct rp_err *err)
{
    struct folder f = {.path = path, .depth = depth};
    int result = read_entries(&f, is_wanted, add_file, err);

    if (result == 0)
        result = read_entries(&f, is_levels, add_file, err);
    if (result == 0 && has_entry(path, is_default))
        result = read_entries(&f, is_other_csv, name_rocprof, err);
    if (result == 0 && depth > 0)
        result = read_entries(&f, is_folder, add_folder, err);
    if (result < 0)
        rp_counter_parts_free(f.parts);
    else
        *ret = f.parts;
    return result;
}

static size_t count_dispatches(const struct rp_counter_parts *parts)
{
    size_t count = 0;

    for (size_t i = 0; parts && i < parts->count; i++) {
        const struct rp_counter_part *part = &parts->list[i];

        count += part->set ? part->set->dispatch_count : count_dispatches(part->below);
    }
    return count;
}

static int read_folder(const char *path, struct rp_counter_parts **ret, struct rp_err *err)
{
    struct rp_counter_parts *parts = NULL;
    int result = read_level(path, FOLDER_DEPTH, &parts, err);

    if (result == 0 && count_dispatches(parts) == 0 && has_entry(path, is_levels))
        result =
            rp_fail(err, RP_BAD_INPUT,
                    "folder %s is of rocprof-compute, and no dispatch was counted in it: did a"
                    " filter leave out every kernel? Profile again without it, or with another",
                    path);
    if (result == 0 && !parts)
        result = rp_fail(err, RP_BAD_INPUT,
                         "folder %s holds neither pmc_perf.csv nor *counter_collection.csv nor"
                         " *kernel_trace.csv",
                         path);
    if (result < 0) {
        rp_counter_parts_free(parts);
        return result;
    }
    *ret = parts;
    return 0;
}

bool rp_counters_in(const char *folder)
{
    return holds(folder, is_read, FOLDER_DEPTH);
}

int rp_counters_open_part(const char *path, struct rp_counter_parts **parts, struct rp_err *err)
{
    struct rp_counter_parts *below = NULL;
    struct rp_counters *set = NULL;
    int result = rp_path_is_dir(path) ? read_folder(path, &below, err)
                                      : rp_counters_read_file(path, &set, err);

    if (result < 0)
        return result;
    return set ? rp_counters_add_part(parts, set, path, err)
               : rp_counters_add_folder(parts, below, path, false, err);
}

int rp_counters_open(const char *path, struct rp_counters **ret, struct rp_err *err)
{
    struct rp_counter_parts *parts = NULL;
    int result = rp_counters_open_part(path, &parts, err);

    return result < 0 ? result : rp_counters_join(parts, ret, err);
}

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

    if (rp_gzip_open(path, sizeof head, &fd, NULL) < 0)
        return false;
    got = read(fd, head, sizeof head);
    end = got > 0 ? memchr(head, '\n', (size_t)got) : NULL;
    return end && end + 1 < head + got;
}

static enum content content_of_csv(const char *path, size_t prefix_len)
{
    rp_autofree char *name = rp_format("%.*skernel_trace.csv", (int)prefix_len, path);
    rp_autofree char *kernels = name ? rp_gzip_find(name) : NULL;

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
    const bool is_counters = rp_gzip_name_ends_with(path, counters);
    const bool is_json = rp_gzip_name_ends_with(path, json);
    const char *const better[] = {"results.db", is_json ? NULL : json};
    size_t len = rp_gzip_name_length(path);
    enum content needed = NO_TRACE;

    if (is_counters || is_json)
        len -= is_json ? strlen(json) : strlen(counters);
    else if (!rp_store_csv_prefix(path, &len))
        return NULL;
    for (size_t i = 0; i < 2 && better[i]; i++) {
        rp_autofree char *name = rp_format("%.*s%s", (int)len, path, better[i]);
        rp_autofree char *there = name ? rp_gzip_find(name) : NULL;

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

#include "store/counter_set.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "rocm-perf/store.h"
#include "store/gzip.h"
#include "store/text.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

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
    return digits > 0 && rp_plain_length(name) == digits + 4 &&
           rp_plain_ends_with(name + digits, ".csv");
}

static bool is_default_name(const char *name)
{
    static const char by_itself[] = "results.csv";

    return rp_plain_length(name) == sizeof by_itself - 1 && rp_plain_ends_with(name, by_itself);
}

static int is_default(const struct dirent *entry)
{
    return is_default_name(entry->d_name);
}

static int is_wanted(const struct dirent *entry)
{
    return is_single_run(entry->d_name) || rp_plain_ends_with(entry->d_name, "pmc_perf.csv") ||
           is_default_name(entry->d_name) ||
           rp_plain_ends_with(entry->d_name, "counter_collection.csv") ||
           rp_plain_ends_with(entry->d_name, "kernel_trace.csv");
}

/* rocprof -o NAME.csv gives its result whatever name; results.csv is what it does by itself. */
bool rp_counters_is_rocprof(const char *path)
{
    static const char begin[] = "Index,KernelName,";
    char head[2 * sizeof begin] = "";
    rp_autoclose int fd = -1;
    size_t at = 0;

    if (!rp_plain_ends_with(path, ".csv") || rp_plain_open(path, sizeof head, &fd, NULL) < 0 ||
        read(fd, head, sizeof head - 1) <= 0)
        return false;
    for (size_t i = 0; head[i] && at < sizeof begin - 1; i++)
        if (head[i] != '"' && head[i] != begin[at++])
            return false;
    return at == sizeof begin - 1;
}

static int is_other_csv(const struct dirent *entry)
{
    return rp_plain_ends_with(entry->d_name, ".csv") && !is_wanted(entry);
}

static int is_levels(const struct dirent *entry)
{
    return rp_counters_is_of_levels(entry->d_name);
}

static bool is_joined(const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    rp_autofree char *whole = rp_format("%.*spmc_perf.csv", (int)(base - path), path);
    rp_autofree char *there = whole ? rp_plain_find(whole) : NULL;

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
    rp_autofree char *better = rp_plain_ends_with(path, "counter_collection.csv") ||
                                       rp_plain_ends_with(path, "kernel_trace.csv")
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

    if (rp_plain_is_beside(path) || is_joined(path) || is_said(path))
        return 0;
    result = rp_counters_read_file(path, &set, err);
    if (result < 0)
        return result;
    if (rp_counters_is_of_levels(path) &&
        !counts(set, RP_COUNTER_LEVEL_WAVES_ACCUM)) { /* of 3.2 and later, or empty */
        rp_counters_free(set);
        return 0;
    }
    f->only_passes |= set->name_count > 0;
    f->skips_passes |= set->name_count > 0 && !rp_plain_ends_with(path, "counter_collection.csv");
    return rp_counters_add_part(&f->parts, set, path, err);
}

/* It may be of another run, or program: nobody has said that it belongs to the rest. */
static int name_rocprof(struct folder *f, const char *path, struct rp_err *err)
{
    if (!f->parts || rp_plain_is_beside(path) || !rp_counters_is_rocprof(path))
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
    return is_read(entry) && !rp_plain_ends_with(entry->d_name, "kernel_trace.csv");
}

/* rocprofv3 writes each pass of an input file to a folder "pmc_1" or "pass_1". */
static bool is_pass_name(const char *base, size_t length)
{
    static const char *const begins[] = {"pmc_", "pass_"};

    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++) {
        const size_t len = strlen(begins[i]);

        if (length > len && strncmp(base, begins[i], len) == 0 &&
            len + strspn(base + len, "0123456789") == length)
            return true;
    }
    return false;
}

static bool is_pass_folder(const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;

    return is_pass_name(base, strlen(base));
}

const char *rp_counters_pass_in(const char *path, size_t *ret_length)
{
    const char *found = NULL;

    for (const char *at = path, *slash; (slash = strchr(at, '/')); at = slash + 1)
        if (is_pass_name(at, (size_t)(slash - at))) {
            found = at;
            *ret_length = (size_t)(slash - at);
        }
    return found;
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
    const bool is_pass = is_pass_folder(path);
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

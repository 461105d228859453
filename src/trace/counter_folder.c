#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/map.h"
#include "base/path.h"
#include "base/vec.h"
#include "trace/counter_set.h"
#include "trace/csv_trace.h"
#include "trace/gzip.h"
#include "trace/rocpd.h"
#include "trace/rocpd_read.h"
#include "trace/rocpd_schema.h"

/* Folders of counter files: which files to read, what their folders say about them, which exist
 * twice, and which belong to one process or one pass.
 */

/* --- names of passes ---------------------------------------------------------------------- */

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

/* Finds the last folder of a pass ("pmc_1") in a path, and the length of its name. A folder's path
 * must end in a slash. NULL: none
 */
static const char *pass_in(const char *path, size_t *ret_length)
{
    const char *found = NULL;

    for (const char *at = path, *slash; (slash = strchr(at, '/')); at = slash + 1)
        if (is_pass_name(at, (size_t)(slash - at))) {
            found = at;
            *ret_length = (size_t)(slash - at);
        }
    return found;
}

/* --- the tree of folders ------------------------------------------------------------------ */

void rp_counter_parts_free(struct rp_counter_parts *parts)
{
    for (size_t i = 0; parts && i < parts->count; i++) {
        rp_counters_free(parts->list[i].set);
        rp_counter_parts_free(parts->list[i].below);
        free(parts->list[i].path);
    }
    if (parts)
        free(parts->list);
    free(parts);
}

static bool add(struct rp_counter_parts **parts, const struct rp_counter_part *part)
{
    struct rp_counter_part *place;

    if (!*parts)
        *parts = rp_new(struct rp_counter_parts);
    place = *parts ? rp_array_add(&(*parts)->list, &(*parts)->count) : NULL;
    if (place)
        *place = *part;
    return place;
}

int rp_counters_add_part(struct rp_counter_parts **parts, struct rp_counters *set, const char *path,
                         struct rp_err *err)
{
    char *copy = path ? strdup(path) : NULL;

    if ((copy || !path) && add(parts, &(struct rp_counter_part){.set = set, .path = copy}))
        return 0;
    free(copy);
    rp_counters_free(set);
    return rp_out_of_memory(err);
}

/* Takes the folder's parts, also when it fails. */
static int add_folder_part(struct rp_counter_parts **parts, struct rp_counter_parts *below,
                           const char *path, bool is_pass, struct rp_err *err)
{
    char *copy = strdup(path);

    if (copy &&
        add(parts, &(struct rp_counter_part){.below = below, .path = copy, .is_pass = is_pass}))
        return 0;
    free(copy);
    rp_counter_parts_free(below);
    return rp_out_of_memory(err);
}

/* --- passes that are named one by one ----------------------------------------------------- */

/* This says where a part lies in folders of passes: "run/pmc_1/host/1_counter_collection.csv". */
struct pass_place {
    char *within; /**< "/home/me/run", however it was named; NULL: in no folder of a pass */
    char *folder; /**< "run/" */
    char *pass;   /**< "pmc_1" */
};

static void pass_places_free(struct pass_place *places, size_t count)
{
    for (size_t i = 0; places && i < count; i++) {
        free(places[i].within);
        free(places[i].folder);
        free(places[i].pass);
    }
    free(places);
}

static bool find_pass(const struct rp_counter_part *part, struct pass_place *ret)
{
    rp_autofree char *path =
        part->path ? rp_format("%s%s", part->path, part->below ? "/" : "") : NULL;
    size_t length = 0;
    const char *pass = path ? pass_in(path, &length) : NULL;

    if (!pass)
        return !part->path || path;
    ret->folder = strndup(path, (size_t)(pass - path));
    ret->pass = strndup(pass, length);
    if (ret->folder)
        ret->within = realpath(*ret->folder ? ret->folder : ".", NULL);
    if (ret->folder && !ret->within)
        ret->within = strdup(ret->folder);
    return ret->within && ret->pass;
}

static bool in_one_folder(const struct pass_place *a, const struct pass_place *b)
{
    return a->within && b->within && strcmp(a->within, b->within) == 0;
}

static bool has_other_pass(const struct pass_place *places, size_t count, size_t at)
{
    for (size_t i = 0; i < count; i++)
        if (in_one_folder(&places[i], &places[at]) && strcmp(places[i].pass, places[at].pass) != 0)
            return true;
    return false;
}

/* Finds the part with that name, or adds it. */
static struct rp_counter_part *folder_in(struct rp_counter_parts **parts, const char *path,
                                         bool is_pass, struct rp_err *err)
{
    struct rp_counter_part part = {.is_pass = is_pass};

    for (size_t i = 0; *parts && i < (*parts)->count; i++)
        if (strcmp((*parts)->list[i].path, path) == 0)
            return &(*parts)->list[i];
    part.below = calloc(1, sizeof *part.below);
    part.path = strdup(path);
    if (part.below && part.path && add(parts, &part))
        return &(*parts)->list[(*parts)->count - 1];
    free(part.below);
    free(part.path);
    rp_out_of_memory(err);
    return NULL;
}

/* Moves the parts of one folder of passes into the first of them, which becomes that folder. */
static int group(struct rp_counter_parts *parts, const struct pass_place *places, size_t first,
                 struct rp_err *err)
{
    struct rp_counter_part folder = {.path = strdup(places[first].folder)};
    int result = folder.path ? 0 : rp_out_of_memory(err);

    for (size_t i = first; i < parts->count && result == 0; i++) {
        struct rp_counter_part *pass, *part = &parts->list[i];
        rp_autofree char *path = NULL;

        if (!in_one_folder(&places[i], &places[first]))
            continue;
        path = rp_format("%s%s", folder.path, places[i].pass);
        pass = path ? folder_in(&folder.below, path, true, err) : NULL;
        if (!pass || !add(&pass->below, part))
            result = rp_out_of_memory(err);
        else
            *part = (struct rp_counter_part){0};
    }
    if (result < 0) {
        rp_counter_parts_free(folder.below);
        free(folder.path);
        return result;
    }
    parts->list[first] = folder;
    return 0;
}

/* Several passes that were named from one folder are joined as if the folder had been named. */
static int group_passes(struct rp_counter_parts *parts, struct rp_err *err)
{
    const size_t count = parts->count;
    struct pass_place *places = calloc(count + 1, sizeof *places);
    bool ok = places != NULL;
    int result = 0;

    for (size_t i = 0; i < count && ok; i++)
        ok = find_pass(&parts->list[i], &places[i]);
    for (size_t i = 0; i < count && ok && result == 0; i++)
        if (places[i].within && (parts->list[i].set || parts->list[i].below) &&
            has_other_pass(places, count, i))
            result = group(parts, places, i, err);
    pass_places_free(places, count);
    return ok ? result : rp_out_of_memory(err);
}

/* --- files that are there twice ----------------------------------------------------------- */

struct file_identity {
    const struct rp_counter_file *file;
    size_t part;
    size_t same; /**< number of all that are the same */
};

static int by_number(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int by_contents(const void *left, const void *right)
{
    const struct file_identity *a = left, *b = right;
    int order = by_number(a->file->contents, b->file->contents);

    return order ? order : by_number(a->part, b->part);
}

static int by_inode(const void *left, const void *right)
{
    const struct file_identity *a = left, *b = right;
    int order = by_number(a->file->device, b->file->device);

    order = order ? order : by_number(a->file->inode, b->file->inode);
    return order ? order : by_number(a->part, b->part);
}

static bool are_same(const struct rp_counter_file *a, const struct rp_counter_file *b)
{
    return (a->contents && a->contents == b->contents) ||
           (a->inode && a->inode == b->inode && a->device == b->device);
}

static int refuse_twins(const struct rp_counter_file *a, const struct rp_counter_file *b,
                        struct rp_err *err)
{
    if (strcmp(a->path, b->path) == 0)
        return rp_fail(err, RP_BAD_INPUT,
                       "counters %s are given twice: give the file, or its folder, once", a->path);
    return rp_fail(err, RP_BAD_INPUT,
                   "%s and %s are the same counters of the same dispatches: leave out one of them",
                   a->path, b->path);
}

/* Compares neighbours in this order. */
static int find_twins(struct file_identity *files, size_t count,
                      int (*order)(const void *, const void *), struct rp_err *err)
{
    if (count)
        qsort(files, count, sizeof *files, order);
    for (size_t i = 1; i < count; i++) {
        struct file_identity *a = &files[i - 1], *b = &files[i];

        if (a->part == b->part || !are_same(a->file, b->file))
            continue;
        if (!a->file->is_timeline || !b->file->is_timeline)
            return refuse_twins(a->file, b->file, err);
        b->same = a->same;
    }
    return 0;
}

static void drop(struct rp_counter_part *part)
{
    rp_counters_free(part->set);
    part->set = NULL;
}

static int by_part(const void *left, const void *right)
{
    const struct file_identity *a = left, *b = right;

    return by_number(a->part, b->part);
}

/* Drops parts whose every file is also in a part that stays. Of equal parts the first stays.
 * @param left parts that have a file, by what is the same
 */
static void drop_spare(struct rp_counter_part *parts, struct file_identity *files, size_t count,
                       size_t *left)
{
    if (count)
        qsort(files, count, sizeof *files, by_part);
    for (size_t i = 0; i < count; i++)
        left[files[i].same]++;
    for (size_t end = count, first; end > 0; end = first) {
        bool is_spare = true;

        for (first = end; first > 0 && files[first - 1].part == files[end - 1].part; first--)
            is_spare &= left[files[first - 1].same] > 1;
        if (!is_spare)
            continue;
        for (size_t i = first; i < end; i++)
            left[files[i].same]--;
        drop(&parts[files[first].part]);
    }
}

/* Counters would be added up twice; of a trace, which only gives times, one is enough. */
static int drop_twins(struct rp_counter_part *parts, size_t count, struct rp_err *err)
{
    size_t file_count = 0, at = 0;
    rp_autofree struct file_identity *files = NULL;
    rp_autofree size_t *left = NULL;
    int result;

    for (size_t i = 0; i < count; i++)
        file_count += parts[i].set ? parts[i].set->file_count : 0;
    files = calloc(file_count + 1, sizeof *files);
    left = calloc(file_count + 1, sizeof *left);
    if (!files || !left)
        return rp_out_of_memory(err);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; parts[i].set && k < parts[i].set->file_count; k++, at++)
            files[at] =
                (struct file_identity){.file = &parts[i].set->files[k], .part = i, .same = at};
    result = find_twins(files, at, by_contents, err);
    if (result == 0)
        result = find_twins(files, at, by_inode, err);
    if (result == 0)
        drop_spare(parts, files, at, left);
    return result;
}

/* --- which belong together ---------------------------------------------------------------- */

/* rocprofv3 calls the files of one process PREFIXcounter_collection.csv and so on. */
static char *prefix_of(const struct rp_counters *set, const char *end)
{
    if (set->file_count != 1 || !rp_gzip_name_ends_with(set->path, end))
        return NULL;
    return strndup(set->path, rp_gzip_name_length(set->path) - strlen(end));
}

/* A trace gives its times to the counters of its process. */
static int join_traces(struct rp_counter_part *parts, size_t count, struct rp_map *prefixes,
                       struct rp_err *err)
{
    /* Each prefix maps to its part + 1. */
    rp_autofree size_t *counted = calloc(count + 1, sizeof *counted);
    int result = counted ? 0 : rp_out_of_memory(err);

    for (int traces = 0; traces < 2; traces++)
        for (size_t i = 0; i < count && result == 0; i++) {
            rp_autofree char *prefix =
                parts[i].set ? prefix_of(parts[i].set,
                                         traces ? "kernel_trace.csv" : "counter_collection.csv")
                             : NULL;
            const uint32_t n = prefix ? rp_map_add_text(prefixes, prefix) : RP_NO_NUMBER;

            if (prefix && n == RP_NO_NUMBER)
                result = rp_out_of_memory(err);
            if (n == RP_NO_NUMBER || (traces && !counted[n]))
                continue;
            if (!traces) {
                counted[n] = i + 1;
                continue;
            }
            result = rp_counters_merge_as(parts[counted[n] - 1].set, parts[i].set, RP_COUNTERS_PASS,
                                          err);
            drop(&parts[i]);
        }
    return result;
}

static int by_text(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* Describes what was counted in one text, which differs for each pass. NULL: no memory */
static char *kind_of(const struct rp_counter_part *part, size_t at)
{
    const struct rp_counters *set = part->set;
    rp_autofree const char **names = malloc((set->name_count + 1) * sizeof *names);
    rp_autobuf text = {0};

    if (!names)
        return NULL;
    if (part->is_pass || (set->name_count == 0 && !set->is_timeline))
        return rp_format("pass\n%zu", at);
    if (set->name_count) {
        memcpy(names, set->names, set->name_count * sizeof *names);
        qsort(names, set->name_count, sizeof *names, by_text);
    }
    for (size_t i = 0; i < set->name_count; i++)
        rp_buf_printf(&text, "%s\n", names[i]);
    return text.failed ? NULL : strdup(rp_buf_text(&text));
}

/* Processes of one pass become one part, the first of them. */
static int join_processes(struct rp_counter_part *parts, size_t count, struct rp_map *kinds,
                          struct rp_err *err)
{
    /* Each kind maps to its first part. */
    rp_autofree size_t *first = calloc(count + 1, sizeof *first);
    int result = first ? 0 : rp_out_of_memory(err);

    for (size_t i = 0; i < count && result == 0; i++) {
        rp_autofree char *kind = parts[i].set ? kind_of(&parts[i], i) : NULL;
        const uint32_t known = kinds->count;
        const uint32_t n = kind ? rp_map_add_text(kinds, kind) : RP_NO_NUMBER;
        struct rp_counters *into;
        bool is_process;

        if (!parts[i].set)
            continue;
        if (n == RP_NO_NUMBER)
            return rp_out_of_memory(err);
        if (n == known) {
            first[n] = i;
            continue;
        }
        into = parts[first[n]].set;
        is_process =
            !into->is_timeline || into->name_count || rp_counters_at_one_time(into, parts[i].set);
        result = rp_counters_merge_as(into, parts[i].set,
                                      is_process ? RP_COUNTERS_PROCESS : RP_COUNTERS_PASS, err);
        drop(&parts[i]);
    }
    return result;
}

static int join_passes(struct rp_counter_part *parts, size_t count, struct rp_err *err)
{
    struct rp_counter_part *into = NULL;
    int result = 0;

    for (size_t i = 0; i < count && result == 0; i++) {
        if (!parts[i].set)
            continue;
        if (!into) {
            into = &parts[i];
            continue;
        }
        result = rp_counters_merge_as(
            into->set, parts[i].set, parts[i].is_pass ? RP_COUNTERS_PASS : RP_COUNTERS_UNSAID, err);
        drop(&parts[i]);
    }
    return result;
}

/* Joins what is below folders, then the folders. @p ret is one of the sets, or NULL. */
static int unite(struct rp_counter_parts *parts, struct rp_counters **ret, struct rp_err *err)
{
    rp_cleanup(rp_map_free) struct rp_map prefixes = {0};
    rp_cleanup(rp_map_free) struct rp_map kinds = {0};
    int result = 0;

    for (size_t i = 0; i < parts->count && result == 0; i++) {
        struct rp_counter_part *part = &parts->list[i];

        if (part->below)
            result = unite(part->below, &part->set, err);
        if (result == 0 && part->below && part->set) {
            part->set->path = rp_string_pool_add(&part->set->text, part->path, strlen(part->path));
            result = part->set->path ? 0 : rp_out_of_memory(err);
        }
    }
    if (result == 0)
        result = drop_twins(parts->list, parts->count, err);
    if (result == 0)
        result = join_traces(parts->list, parts->count, &prefixes, err);
    if (result == 0)
        result = join_processes(parts->list, parts->count, &kinds, err);
    if (result == 0)
        result = join_passes(parts->list, parts->count, err);
    for (size_t i = 0; i < parts->count && result == 0; i++)
        if (parts->list[i].set) { /* This is the only part that is left. */
            *ret = parts->list[i].set;
            parts->list[i].set = NULL;
        }
    return result;
}

/* All sets of the tree, as far as there is room. @return how many there are */
static size_t list_sets(const struct rp_counter_parts *parts, struct rp_counters **ret, size_t room)
{
    size_t count = 0;

    for (size_t i = 0; parts && i < parts->count; i++) {
        const struct rp_counter_part *part = &parts->list[i];

        if (part->set && count < room)
            ret[count] = part->set;
        count += part->set != NULL;
        count += list_sets(part->below, ret ? ret + count : NULL, room > count ? room - count : 0);
    }
    return count;
}

static int tell_all_apart(const struct rp_counter_parts *parts, struct rp_err *err)
{
    const size_t count = list_sets(parts, NULL, 0);
    rp_autofree struct rp_counters **sets = calloc(count + 1, sizeof(struct rp_counters *));

    if (!sets)
        return rp_out_of_memory(err);
    list_sets(parts, sets, count);
    return rp_counters_tell_apart(sets, count, err);
}

int rp_counters_join(struct rp_counter_parts *parts, struct rp_counters **ret, struct rp_err *err)
{
    struct rp_counters *joined = NULL;
    int result = tell_all_apart(parts, err);

    if (result == 0)
        result = group_passes(parts, err);
    if (result == 0)
        result = unite(parts, &joined, err);
    rp_counter_parts_free(parts);
    if (result == 0)
        *ret = joined;
    return result;
}

/* --- names of files ----------------------------------------------------------------------- */

/* "pmc_perf_3.csv" is a run of rocprof-compute, before it has joined them to pmc_perf.csv. */
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

/* Files that rocprofv3 wrote of one process in another form have the same counters. */
static bool is_said(const char *path)
{
    rp_autofree char *better = rp_gzip_name_ends_with(path, "counter_collection.csv") ||
                                       rp_gzip_name_ends_with(path, "kernel_trace.csv")
                                   ? rp_store_said_by(path)
                                   : NULL;

    return better;
}

/* --- folders ------------------------------------------------------------------------------ */

enum { FOLDER_DEPTH = 2 }; /* Folders are read to the depth of pmc_1/HOST. */

/* This lies in a folder until it is joined. */
struct folder {
    const char *path;
    struct rp_counter_parts *parts;
    int depth;         /**< so many levels of folders are read below */
    bool only_passes;  /**< of the folders in it: there are counters beside them */
    bool skips_passes; /**< not even those: what lies beside is made of them */
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
        !counts(set, RP_COUNTER_LEVEL_WAVES_ACCUM)) { /* 3.2 or later wrote it, or it is empty. */
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

/* Tests whether there is such a file, or a folder that holds one. */
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
    const char *pass_of_a = pass_in(a, &a_length), *pass_of_b = pass_in(b, &b_length);

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
    return result < 0 || !below ? result : add_folder_part(&f->parts, below, path, is_pass, err);
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
               : add_folder_part(parts, below, path, false, err);
}

int rp_counters_open(const char *path, struct rp_counters **ret, struct rp_err *err)
{
    struct rp_counter_parts *parts = NULL;
    int result = rp_counters_open_part(path, &parts, err);

    return result < 0 ? result : rp_counters_join(parts, ret, err);
}

/* The content with more comes later. */
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

static bool has_samples(struct rp_store *s)
{
    struct rp_err err = RP_ERR_INIT;
    bool found = false;

    rp_each_row(s, RP_ROWS_pc_sample, one_is_enough, &found, &err);
    return found;
}

static bool database_has(const char *path, enum content content, bool samples)
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
    found = (found || content == OF_PROCESS) && (!samples || has_samples(s));
    rp_store_close(s);
    return found;
}

/* Dispatches that were counted are kernels, too, and without a kernel trace they are all of them.
 */
static bool json_has(const char *path, enum content content)
{
    return rp_store_is_json(path, true) &&
           (content == OF_PROCESS ||
            rp_json_has_records(path, "callback_records.counter_collection") ||
            (content == WITH_KERNELS &&
             rp_json_has_records(path, "buffer_records.kernel_dispatch")));
}

/* Tests whether a line follows that of the columns. */
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

static bool json_has_samples(const char *path)
{
    return rp_json_has_records(path, "buffer_records.pc_sample_host_trap") ||
           rp_json_has_records(path, "buffer_records.pc_sample_stochastic");
}

static bool csv_has_samples(const char *path, size_t prefix_len)
{
    static const char *const methods[] = {"host_trap", "stochastic"};

    for (size_t i = 0; i < 2; i++) {
        rp_autofree char *name =
            rp_format("%.*spc_sampling_%s.csv", (int)prefix_len, path, methods[i]);
        rp_autofree char *there = name ? rp_gzip_find(name) : NULL;

        if (there && csv_has_rows(there))
            return true;
    }
    return false;
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
    bool samples = false;

    if (is_counters || is_json)
        len -= is_json ? strlen(json) : strlen(counters);
    else if (!rp_store_csv_prefix(path, &len))
        return NULL;
    for (size_t i = 0; i < 2 && better[i]; i++) {
        rp_autofree char *name = rp_format("%.*s%s", (int)len, path, better[i]);
        rp_autofree char *there = name ? rp_gzip_find(name) : NULL;

        if (!there)
            continue;
        if (needed == NO_TRACE) {
            needed = is_counters ? WITH_COUNTERS
                     : is_json   ? content_of_json(path)
                                 : content_of_csv(path, len);
            samples =
                !is_counters && (is_json ? json_has_samples(path) : csv_has_samples(path, len));
        }
        if (i == 0 ? database_has(there, needed, samples)
                   : json_has(there, needed) && (!samples || json_has_samples(there)))
            return rp_steal(there);
    }
    return NULL;
}

#include "store/counter_set.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "store/gzip.h"
#include "store/names.h"
#include "store/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Files and folders of one run: which of them are there twice, which are of one process, which of
 * one pass. */

/* --- files -------------------------------------------------------------------------------- */

static uint64_t rp_counters_mix(uint64_t hash, const void *bytes, size_t len)
{
    const unsigned char *p = bytes;

    for (size_t i = 0; i < len; i++)
        hash = (hash ^ p[i]) * 0x100000001b3u; /* FNV-1a, 64 bits */
    return hash;
}

/* No two processes have the same dispatches at the same nanoseconds. 0: times are not known. */
static uint64_t contents_of(const struct rp_counters *set)
{
    uint64_t hash = rp_counters_mix(0xcbf29ce484222325u, &set->first_ns, sizeof set->first_ns);

    if (!set->last_ns)
        return 0;
    hash = rp_counters_mix(hash, &set->last_ns, sizeof set->last_ns);
    for (size_t i = 0; i < set->dispatch_count; i++) {
        const struct rp_counted_dispatch *d = &set->dispatches[i];
        const char *kernel = set->kernels[d->kernel];

        hash = rp_counters_mix(hash, &set->devices[d->device].id, sizeof set->devices[d->device].id);
        hash = rp_counters_mix(hash, &d->process, sizeof d->process);
        hash = rp_counters_mix(hash, &d->id, sizeof d->id);
        hash = rp_counters_mix(hash, &d->duration_ns, sizeof d->duration_ns);
        hash = rp_counters_mix(hash, kernel, strlen(kernel) + 1);
        for (uint32_t v = 0; v < d->value_count; v++) {
            const char *name = set->names[d->values[v].counter];

            hash = rp_counters_mix(hash, name, strlen(name) + 1);
            hash = rp_counters_mix(hash, &d->values[v].value, sizeof d->values[v].value);
        }
    }
    return hash ? hash : 1;
}

int rp_counters_set_file(struct rp_counters *set, const char *path, struct rp_err *err)
{
    struct rp_counter_file file = {.path = rp_text_add(set->text, path, strlen(path)),
                                   .contents = contents_of(set),
                                   .is_timeline = set->is_timeline};
    struct stat st;

    if (!file.path || !rp_counters_grow((void **)&set->files, set->file_count, sizeof file))
        return rp_out_of_memory(err);
    if (stat(path, &st) == 0) {
        file.device = st.st_dev;
        file.inode = st.st_ino;
    }
    set->files[set->file_count++] = file;
    set->path = file.path;
    return 0;
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
    if (!*parts)
        *parts = calloc(1, sizeof **parts);
    if (!*parts || !rp_counters_grow((void **)&(*parts)->list, (*parts)->count, sizeof *part))
        return false;
    (*parts)->list[(*parts)->count++] = *part;
    return true;
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

int rp_counters_add_folder(struct rp_counter_parts **parts, struct rp_counter_parts *below,
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

/* Where a part lies in folders of passes: "run/pmc_1/host/1_counter_collection.csv". */
struct pass_place {
    char *within; /* "/home/me/run", however it was named; NULL: in no folder of a pass */
    char *folder; /* "run/" */
    char *pass;   /* "pmc_1" */
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
    const char *pass = path ? rp_counters_pass_in(path, &length) : NULL;

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

/* The part of that name among them, added when new. */
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

/* What was named of several passes in one folder is joined as if the folder had been named. */
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

struct seen_file {
    const struct rp_counter_file *file;
    size_t part;
    size_t same; /* number of all that are the same */
};

static int by_number(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int by_contents(const void *left, const void *right)
{
    const struct seen_file *a = left, *b = right;
    int order = by_number(a->file->contents, b->file->contents);

    return order ? order : by_number(a->part, b->part);
}

static int by_inode(const void *left, const void *right)
{
    const struct seen_file *a = left, *b = right;
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

/* Of neighbours in this order. */
static int find_twins(struct seen_file *files, size_t count,
                      int (*order)(const void *, const void *), struct rp_err *err)
{
    if (count)
        qsort(files, count, sizeof *files, order);
    for (size_t i = 1; i < count; i++) {
        struct seen_file *a = &files[i - 1], *b = &files[i];

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
    const struct seen_file *a = left, *b = right;

    return by_number(a->part, b->part);
}

/* Parts of which every file is in one that stays, too; of those that are the same the first stays.
 * @param left  parts that have a file, by what is the same */
static void drop_spare(struct rp_counter_part *parts, struct seen_file *files, size_t count,
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
    rp_autofree struct seen_file *files = NULL;
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
            files[at] = (struct seen_file){.file = &parts[i].set->files[k], .part = i, .same = at};
    result = find_twins(files, at, by_contents, err);
    if (result == 0)
        result = find_twins(files, at, by_inode, err);
    if (result == 0)
        drop_spare(parts, files, at, left);
    return result;
}

/* --- which belong together ---------------------------------------------------------------- */

/* rocprofv3 calls what it writes of one process PREFIXcounter_collection.csv and so on. */
static char *prefix_of(const struct rp_counters *set, const char *end)
{
    if (set->file_count != 1 || !rp_plain_ends_with(set->path, end))
        return NULL;
    return strndup(set->path, rp_plain_length(set->path) - strlen(end));
}

/* A trace gives its times to the counters of its process. */
static int join_traces(struct rp_counter_part *parts, size_t count, struct rp_names *prefixes,
                       struct rp_err *err)
{
    rp_autofree size_t *counted = calloc(count + 1, sizeof *counted); /* part + 1 of each prefix */
    int result = counted ? 0 : rp_out_of_memory(err);

    for (int traces = 0; traces < 2; traces++)
        for (size_t i = 0; i < count && result == 0; i++) {
            rp_autofree char *prefix =
                parts[i].set ? prefix_of(parts[i].set,
                                         traces ? "kernel_trace.csv" : "counter_collection.csv")
                             : NULL;
            bool is_new;
            int64_t id = prefix ? rp_names_id(prefixes, prefix, &is_new) : 0;

            if (prefix && !id)
                result = rp_out_of_memory(err);
            if (!id || (traces && !counted[id - 1]))
                continue;
            if (!traces) {
                counted[id - 1] = i + 1;
                continue;
            }
            result = rp_counters_merge_as(parts[counted[id - 1] - 1].set, parts[i].set,
                                          RP_COUNTERS_PASS, err);
            drop(&parts[i]);
        }
    return result;
}

static int by_text(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* What was counted, in one text; other text for what has a pass of its own. NULL: no memory. */
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
static int join_processes(struct rp_counter_part *parts, size_t count, struct rp_names *kinds,
                          struct rp_err *err)
{
    rp_autofree size_t *first = calloc(count + 1, sizeof *first); /* part of each kind */
    int result = first ? 0 : rp_out_of_memory(err);

    for (size_t i = 0; i < count && result == 0; i++) {
        rp_autofree char *kind = parts[i].set ? kind_of(&parts[i], i) : NULL;
        bool is_new, is_process;
        int64_t id = kind ? rp_names_id(kinds, kind, &is_new) : 0;
        struct rp_counters *into;

        if (!parts[i].set)
            continue;
        if (!id)
            return rp_out_of_memory(err);
        if (is_new) {
            first[id - 1] = i;
            continue;
        }
        into = parts[first[id - 1]].set;
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
    rp_cleanup(rp_names_free) struct rp_names prefixes = {0};
    rp_cleanup(rp_names_free) struct rp_names kinds = {0};
    int result = 0;

    for (size_t i = 0; i < parts->count && result == 0; i++) {
        struct rp_counter_part *part = &parts->list[i];

        if (part->below)
            result = unite(part->below, &part->set, err);
        if (result == 0 && part->below && part->set) {
            part->set->path = rp_text_add(part->set->text, part->path, strlen(part->path));
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
        if (parts->list[i].set) { /* the only one that is left */
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

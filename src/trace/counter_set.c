#include "trace/counter_set.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/intern.h"
#include "base/path.h"
#include "base/vec.h"
#include "trace/gzip.h"
#include "trace/rocpd.h"

enum { MAX_COUNTERS = 65536 };

struct rp_counters *rp_counters_new(void)
{
    struct rp_counters *set = rp_new(struct rp_counters);

    if (!set)
        return NULL;
    set->any.id = -1;
    set->text.limit_bytes = UINT64_MAX;
    set->name_ids.borrows = set->kernel_ids.borrows = true;
    return set;
}

void rp_counters_free(struct rp_counters *set)
{
    if (!set)
        return;
    for (size_t i = 0; i < set->dispatch_count; i++)
        free(set->dispatches[i].values);
    rp_string_pool_free(&set->text);
    rp_map_free(&set->name_ids);
    rp_map_free(&set->kernel_ids);
    rp_map_free(&set->dispatch_ids);
    rp_idmap_free(&set->device_ids);
    for (size_t i = 0; i < set->warning_count; i++)
        free(set->warnings[i]);
    free(set->warnings);
    free(set->names);
    free(set->kernels);
    free(set->devices);
    free(set->dispatches);
    free(set->disputes);
    free(set->files);
    free(set);
}

int rp_counters_warn(struct rp_counters *set, struct rp_err *err, const char *fmt, ...)
{
    rp_autobuf text = {0};
    char *copy, **place;
    va_list ap;

    va_start(ap, fmt);
    rp_buf_vprintf(&text, fmt, ap);
    va_end(ap);
    for (size_t i = 0; i < set->warning_count && !text.failed; i++)
        if (strcmp(set->warnings[i], rp_buf_text(&text)) == 0)
            return 0;
    copy = text.failed ? NULL : rp_strdup(rp_buf_text(&text));
    place = copy ? rp_array_add(&set->warnings, &set->warning_count) : NULL;
    if (!place) {
        free(copy);
        return rp_out_of_memory(err);
    }
    *place = copy;
    return 0;
}

/* Returns the number of a text in a list of different texts. */
static int intern(struct rp_counters *set, struct rp_map *ids, const char ***list, size_t *count,
                  const char *text, size_t len, uint32_t *ret, struct rp_err *err)
{
    uint32_t number = rp_map_find(ids, text, len);

    if (number == RP_NO_NUMBER) { /* A text that is not UTF-8 is not in the list either. */
        const char *copy = rp_string_pool_add(&set->text, text, len);

        number = copy ? rp_map_add_text(ids, copy) : RP_NO_NUMBER;
        if (number == RP_NO_NUMBER)
            return rp_out_of_memory(err);
        if (number == *count) {
            const char **place = rp_array_add(list, count);

            if (!place)
                return rp_out_of_memory(err);
            *place = copy;
        }
    }
    *ret = number;
    return 0;
}

int rp_counters_device(struct rp_counters *set, int64_t id, uint32_t *ret, struct rp_err *err)
{
    const uint32_t number = rp_idmap_add(&set->device_ids, (uint64_t)id);
    struct rp_counted_device *device;

    if (number == RP_NO_NUMBER)
        return rp_out_of_memory(err);
    if (number == set->device_count) {
        if (number == MAX_COUNTERS)
            return rp_fail(err, RP_BAD_INPUT, "more than %d different GPUs", MAX_COUNTERS);
        device = rp_array_add(&set->devices, &set->device_count);
        if (!device)
            return rp_out_of_memory(err);
        *device = (struct rp_counted_device){.id = id};
    }
    *ret = number;
    return 0;
}

/* --- dispatches by device, process and id ------------------------------------------------- */

int rp_counters_kernel(struct rp_counters *set, const char *name, uint32_t *ret, struct rp_err *err)
{
    return intern(set, &set->kernel_ids, &set->kernels, &set->kernel_count, name,
                  rp_kernel_name_length(name), ret, err);
}

int rp_counters_dispatch(struct rp_counters *set, uint32_t device, int64_t process, int64_t id,
                         const char *kernel, size_t *ret, bool *ret_new, struct rp_err *err)
{
    const int64_t key[] = {device, process, id};
    struct rp_counted_dispatch d = {.device = device, .process = process, .id = id}, *place;
    const uint32_t number = rp_map_find(&set->dispatch_ids, key, sizeof key);
    int result;

    *ret_new = number == RP_NO_NUMBER;
    *ret = *ret_new ? set->dispatch_count : number;
    if (!*ret_new)
        return 0;
    if (set->dispatch_count == UINT32_MAX / 2)
        return rp_fail(err, RP_BAD_INPUT, "too many dispatches");
    result = rp_counters_kernel(set, kernel, &d.kernel, err);
    if (result < 0)
        return result;
    if (rp_map_add(&set->dispatch_ids, key, sizeof key) == RP_NO_NUMBER ||
        !(place = rp_array_add(&set->dispatches, &set->dispatch_count)))
        return rp_out_of_memory(err);
    *place = d;
    return 0;
}

/* --- kernels of one name ------------------------------------------------------------------ */

/** This identifies a kernel on a device. */
struct where {
    const char *kernel;
    size_t plain_bytes; /**< of its name */
    int64_t device;
    size_t set;
    bool coded;
};

static int by_plain_name(const void *left, const void *right)
{
    const struct where *a = left, *b = right;
    const size_t both = a->plain_bytes < b->plain_bytes ? a->plain_bytes : b->plain_bytes;
    int order = memcmp(a->kernel, b->kernel, both);

    if (!order)
        order = (a->plain_bytes > b->plain_bytes) - (a->plain_bytes < b->plain_bytes);
    return order ? order : (a->device > b->device) - (a->device < b->device);
}

static int by_name_and_set(const void *left, const void *right)
{
    const struct where *a = left, *b = right;
    int order = by_plain_name(left, right);

    return order ? order : (a->set > b->set) - (a->set < b->set);
}

/* How much of "NAME [code 1a2b3c4d00000000]" is the name; other ends are none of ours. */
static size_t plain_length(const char *name)
{
    static const char added[] = " [code 1a2b3c4d00000000]";
    const size_t length = strlen(name), plain = rp_kernel_plain_length(name);

    return length - plain == strlen(added) ? plain : length;
}

static size_t list_kernels(struct rp_counters *const *sets, size_t set_count, struct where *ret)
{
    size_t count = 0;

    for (size_t s = 0; s < set_count; s++) {
        const struct rp_counted_dispatch *last = NULL;

        for (size_t i = 0; i < sets[s]->dispatch_count; i++) {
            const struct rp_counted_dispatch *d = &sets[s]->dispatches[i];
            const char *kernel = sets[s]->kernels[d->kernel];
            const size_t plain = plain_length(kernel);

            if (last && last->kernel == d->kernel && last->device == d->device)
                continue;
            ret[count++] = (struct where){.kernel = kernel,
                                          .plain_bytes = plain,
                                          .device = sets[s]->devices[d->device].id,
                                          .set = s,
                                          .coded = kernel[plain] != '\0'};
            last = d;
        }
    }
    return count;
}

/* Tests whether one name on one device stands for several kernels. A file without registers, such
 * as a trace, does not say which one it means; a file with registers has them for all kernels.
 */
static bool are_several(const struct where *list, size_t count)
{
    const struct where *first = NULL;

    for (size_t i = 0; i < count; i++) {
        if (i > 0 && list[i].set == list[i - 1].set && list[i].coded != list[i - 1].coded)
            return true;
        if (!list[i].coded)
            continue;
        if (first && strcmp(first->kernel, list[i].kernel) != 0)
            return true;
        first = first ? first : &list[i];
    }
    return false;
}

/* Adds the names that are not enough without the code. */
static int find_several(struct rp_counters *const *sets, size_t set_count, struct rp_map *several,
                        struct rp_err *err)
{
    size_t most = 0, count;
    struct where *list;
    bool ok = true;

    for (size_t s = 0; s < set_count; s++)
        most += sets[s]->dispatch_count;
    list = calloc(most + 1, sizeof *list);
    if (!list)
        return rp_out_of_memory(err);
    count = list_kernels(sets, set_count, list);
    if (count)
        qsort(list, count, sizeof *list, by_name_and_set);
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && by_plain_name(&list[i], &list[end]) == 0;)
            end++;
        if (!are_several(list + i, end - i))
            continue;
        for (size_t k = i; k < end; k++)
            ok = ok && (!list[k].coded || rp_map_add_text(several, list[k].kernel) != RP_NO_NUMBER);
    }
    free(list);
    return ok ? 0 : rp_out_of_memory(err);
}

/* As the readers of traces have it: with 8 digits. */
static size_t short_name(char *name)
{
    enum { SPARE_DIGITS = 8 };
    const size_t length = strlen(name);

    memcpy(name + length - 1 - SPARE_DIGITS, "]", 2);
    return length - SPARE_DIGITS;
}

/* The new name of a kernel. @param several  names that keep their code */
static int rename_kernel(struct rp_counters *set, const char *old, const struct rp_map *several,
                         uint32_t *ret, struct rp_err *err)
{
    rp_autofree char *name = strdup(old);
    size_t length = name ? plain_length(name) : 0;

    if (name && name[length] && rp_map_find_text(several, name) != RP_NO_NUMBER)
        length = short_name(name);
    return name ? intern(set, &set->kernel_ids, &set->kernels, &set->kernel_count, name, length,
                         ret, err)
                : rp_out_of_memory(err);
}

static int rename_kernels(struct rp_counters *set, const struct rp_map *several, struct rp_err *err)
{
    rp_autofree const char **old = set->kernels;
    const size_t count = set->kernel_count;
    rp_autofree uint32_t *now = calloc(count + 1, sizeof *now);
    int result = now ? 0 : rp_out_of_memory(err);

    rp_map_free(&set->kernel_ids);
    set->kernels = NULL;
    set->kernel_count = 0;
    for (size_t i = 0; i < count && result == 0; i++)
        result = rename_kernel(set, old[i], several, &now[i], err);
    for (size_t i = 0; i < set->dispatch_count && result == 0; i++)
        set->dispatches[i].kernel = now[set->dispatches[i].kernel];
    for (size_t i = 0; i < set->dispute_count && result == 0; i++)
        set->disputes[i].kernel = now[set->disputes[i].kernel];
    return result;
}

int rp_counters_tell_apart(struct rp_counters *const *sets, size_t count, struct rp_err *err)
{
    rp_cleanup(rp_map_free) struct rp_map several = {0};
    int result = find_several(sets, count, &several, err);

    for (size_t i = 0; i < count && result == 0; i++)
        result = rename_kernels(sets[i], &several, err);
    return result;
}

/* --- values ------------------------------------------------------------------------------- */

struct rp_counter_value *rp_counter_find(const struct rp_counted_dispatch *d, uint32_t counter)
{
    /* Files that list counters in the same order find each counter at its own index at once. */
    if (counter < d->value_count && d->values[counter].counter == counter)
        return &d->values[counter];
    for (uint32_t i = d->value_count; i-- > 0;)
        if (d->values[i].counter == counter)
            return &d->values[i];
    return NULL;
}

bool rp_counters_value(const struct rp_counted_dispatch *dispatch, uint32_t counter, double *ret)
{
    const struct rp_counter_value *found = rp_counter_find(dispatch, counter);

    if (!found || !isfinite(found->value))
        return false;
    *ret = found->value;
    return true;
}

/* Counters of the hardware are named after their block and have no small letters; what rocprofv3
 * derives from them has another name, or ends in _avr, _max, _min. */
static bool is_of_hardware(const char *name)
{
    static const char *const blocks[] = {"SQ",  "SQC", "SPI",  "TA",   "TD",   "TCP",  "TCC",
                                         "TCA", "CPC", "CPF",  "CPG",  "GRBM", "GDS",  "GCEA",
                                         "EA",  "GCR", "GL1A", "GL1C", "GL2A", "GL2C", "SDMA"};
    size_t block = strcspn(name, "_"), len = strcspn(name, "[");

    if (len > 4 && strncmp(name + len - 4, "_sum", 4) == 0)
        len -= 4;
    if (block >= len || strcspn(name, "abcdefghijklmnopqrstuvwxyz") < len)
        return false;
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        if (strlen(blocks[i]) == block && strncmp(name, blocks[i], block) == 0)
            return true;
    return false;
}

const char *rp_counter_refusal(const char *name, double value)
{
    /* This is 2^63, which no GPU counts in a day. */
    static const double most = 9223372036854775808.0;

    if (!isfinite(value)) /* A tool that divides 0 by 0 says by this that there is no number. */
        return is_of_hardware(name) ? "it is not finite" : NULL;
    if (value < 0)
        return "counters only count up from 0";
    if (value >= most)
        return "it is near 2^63 or above, as when a counter of 64 bits fell below 0";
    if (value != floor(value) && is_of_hardware(name))
        return "the hardware counts whole events";
    return NULL;
}

int rp_counter_put(struct rp_counted_dispatch *d, uint32_t counter, double value,
                   struct rp_err *err)
{
    if (d->value_count == d->value_capacity) {
        uint32_t capacity = d->value_capacity ? d->value_capacity * 2 : 4;
        struct rp_counter_value *grown = rp_realloc_array(d->values, capacity, sizeof *grown);

        if (!grown)
            return rp_out_of_memory(err);
        d->values = grown;
        d->value_capacity = capacity;
    }
    d->values[d->value_count++] = (struct rp_counter_value){.counter = counter, .value = value};
    return 0;
}

int rp_counters_name(struct rp_counters *set, const char *name, uint32_t *ret, struct rp_err *err)
{
    if (set->name_count == MAX_COUNTERS)
        return rp_fail(err, RP_BAD_INPUT, "more than %d different counters", MAX_COUNTERS);
    return intern(set, &set->name_ids, &set->names, &set->name_count, name, strcspn(name, "["), ret,
                  err);
}

int rp_counters_add(struct rp_counters *set, size_t dispatch, const char *name, double value,
                    struct rp_err *err)
{
    struct rp_counted_dispatch *d = &set->dispatches[dispatch];
    struct rp_counter_value *found;
    uint32_t counter;
    size_t known = set->name_count;
    int result = rp_counters_name(set, name, &counter, err);

    if (result < 0)
        return result;
    if (rp_counter_is_full(value))
        value = NAN; /* A sum with an unknown value is unknown too. */
    found = set->name_count > known ? NULL : rp_counter_find(d, counter);
    if (!found)
        return rp_counter_put(d, counter, value, err);
    found->value += value;
    return 0;
}

bool rp_counter_adds_up(const char *name)
{
    static const char *const amounts[] = {"FetchSize", "WriteSize", "Wavefronts"};
    static const char *const parts[] = {"UTIL", "UTILIZATION", "PERCENT", "RATIO", "RATE"};
    /* The name looks like "SQ_LEVEL_WAVES.csv:GRBM_GUI_ACTIVE". */
    const char *file = strrchr(name, ':');
    size_t len;

    name = file ? file + 1 : name;
    len = strcspn(name, "[");

    if (len > 4 && strncmp(name + len - 4, "_sum", 4) == 0)
        len -= 4;
    for (size_t i = 0; i < sizeof amounts / sizeof amounts[0]; i++)
        if (strlen(amounts[i]) == len && strncmp(name, amounts[i], len) == 0)
            return true;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        size_t part = strlen(parts[i]);

        if (len >= part && strncmp(name + len - part, parts[i], part) == 0)
            return false;
    }
    return strcspn(name, "abcdefghijklmnopqrstuvwxyz") >= len;
}

static uint64_t rp_counters_mix(uint64_t hash, const void *bytes, size_t len)
{
    const unsigned char *p = bytes;

    for (size_t i = 0; i < len; i++)
        hash = (hash ^ p[i]) * 0x100000001b3u; /* This is FNV-1a with 64 bits. */
    return hash;
}

/* No two processes have the same dispatches at the same nanoseconds. 0: times are not known. */
static uint64_t rp_counters_hash(const struct rp_counters *set)
{
    uint64_t hash = rp_counters_mix(0xcbf29ce484222325u, &set->first_ns, sizeof set->first_ns);

    if (!set->last_ns)
        return 0;
    hash = rp_counters_mix(hash, &set->last_ns, sizeof set->last_ns);
    for (size_t i = 0; i < set->dispatch_count; i++) {
        const struct rp_counted_dispatch *d = &set->dispatches[i];
        const char *kernel = set->kernels[d->kernel];

        hash =
            rp_counters_mix(hash, &set->devices[d->device].id, sizeof set->devices[d->device].id);
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
    const char *copy = rp_string_pool_add(&set->text, path, strlen(path));
    const uint64_t contents = rp_counters_hash(set);
    struct rp_counter_file *file = copy ? rp_array_add(&set->files, &set->file_count) : NULL;
    struct stat st;

    if (!file)
        return rp_out_of_memory(err);
    *file = (struct rp_counter_file){
        .path = copy, .contents = contents, .is_timeline = set->is_timeline};
    if (stat(path, &st) == 0) {
        file->device = st.st_dev;
        file->inode = st.st_ino;
    }
    set->path = copy;
    return 0;
}

int rp_counters_set_device_source(struct rp_counters *set, struct rp_counted_device *d,
                                  const char *path, struct rp_err *err)
{
    if (d->source || !d->arch[0])
        return 0;
    d->source = rp_string_pool_add(&set->text, path, strlen(path));
    return d->source ? 0 : rp_out_of_memory(err);
}

int rp_counters_set_source(struct rp_counters *set, const char *path, struct rp_err *err)
{
    int result = rp_counters_set_device_source(set, &set->any, path, err);

    for (size_t i = 0; i < set->device_count && result == 0; i++)
        result = rp_counters_set_device_source(set, &set->devices[i], path, err);
    return result;
}

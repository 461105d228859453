#include "trace/counter_set.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
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

/** Returns the index of a kernel, which is added when new. */
static int counters_kernel(struct rp_counters *set, const char *name, uint32_t *ret,
                           struct rp_err *err)
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
    result = counters_kernel(set, kernel, &d.kernel, err);
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

/* Returns how much of "NAME [code 1a2b3c4d00000000]" is the name. Other ends were not added by the
 * suite.
 */
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

/* Shortens the name to 8 digits, as the readers of traces have it. */
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

static uint64_t counters_mix(uint64_t hash, const void *bytes, size_t len)
{
    const unsigned char *p = bytes;

    for (size_t i = 0; i < len; i++)
        hash = (hash ^ p[i]) * 0x100000001b3u; /* This is FNV-1a with 64 bits. */
    return hash;
}

/* No two processes have the same dispatches at the same nanoseconds. 0: times are not known. */
static uint64_t counters_hash(const struct rp_counters *set)
{
    uint64_t hash = counters_mix(0xcbf29ce484222325u, &set->first_ns, sizeof set->first_ns);

    if (!set->last_ns)
        return 0;
    hash = counters_mix(hash, &set->last_ns, sizeof set->last_ns);
    for (size_t i = 0; i < set->dispatch_count; i++) {
        const struct rp_counted_dispatch *d = &set->dispatches[i];
        const char *kernel = set->kernels[d->kernel];

        hash = counters_mix(hash, &set->devices[d->device].id, sizeof set->devices[d->device].id);
        hash = counters_mix(hash, &d->process, sizeof d->process);
        hash = counters_mix(hash, &d->id, sizeof d->id);
        hash = counters_mix(hash, &d->duration_ns, sizeof d->duration_ns);
        hash = counters_mix(hash, kernel, strlen(kernel) + 1);
        for (uint32_t v = 0; v < d->value_count; v++) {
            const char *name = set->names[d->values[v].counter];

            hash = counters_mix(hash, name, strlen(name) + 1);
            hash = counters_mix(hash, &d->values[v].value, sizeof d->values[v].value);
        }
    }
    return hash ? hash : 1;
}

int rp_counters_set_file(struct rp_counters *set, const char *path, struct rp_err *err)
{
    const char *copy = rp_string_pool_add(&set->text, path, strlen(path));
    const uint64_t contents = counters_hash(set);
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

static int counters_set_device_source(struct rp_counters *set, struct rp_counted_device *d,
                                      const char *path, struct rp_err *err)
{
    if (d->source || !d->arch[0])
        return 0;
    d->source = rp_string_pool_add(&set->text, path, strlen(path));
    return d->source ? 0 : rp_out_of_memory(err);
}

int rp_counters_set_source(struct rp_counters *set, const char *path, struct rp_err *err)
{
    int result = counters_set_device_source(set, &set->any, path, err);

    for (size_t i = 0; i < set->device_count && result == 0; i++)
        result = counters_set_device_source(set, &set->devices[i], path, err);
    return result;
}

/* Counters of one run that lie in several files: of passes, of processes, of both. */

/* --- which GPU ---------------------------------------------------------------------------- */

static bool is_other_number(uint32_t a, uint32_t b)
{
    return a && b && a != b;
}

bool rp_counted_differ(const struct rp_counted_device *a, const struct rp_counted_device *b)
{
    /* "gfx90a:sramecc+:xnack-" is a gfx90a. */
    size_t a_len = strcspn(a->arch, ":"), b_len = strcspn(b->arch, ":");

    if (a_len == 0 || b_len == 0)
        return false;
    if (a_len != b_len || strncmp(a->arch, b->arch, a_len) != 0)
        return true;
    /* Guesses are wrong by themselves, and then they are all wrong in the same way. */
    return is_other_number(a->pci_device_id, b->pci_device_id) ||
           (a->guessed == b->guessed && is_other_number(a->compute_units, b->compute_units));
}

int rp_refuse_clocks(const char *a, uint64_t a_mhz, const char *b, uint64_t b_mhz,
                     const char *remedy, struct rp_err *err)
{
    if (!a_mhz)
        return rp_refuse_clocks(b, b_mhz, a, a_mhz, remedy, err);
    if (!b_mhz)
        return rp_fail(err, RP_BAD_INPUT,
                       "%s was modelled at %" PRIu64 " MHz (--clock), and %s was not: %s", a, a_mhz,
                       b, remedy);
    return rp_fail(err, RP_BAD_INPUT,
                   "%s was modelled at %" PRIu64 " MHz (--clock), and %s at %" PRIu64 " MHz: %s", a,
                   a_mhz, b, b_mhz, remedy);
}

const struct rp_counted_device *rp_counters_facts(const struct rp_counters *set, size_t device)
{
    return set->devices[device].arch[0] ? &set->devices[device] : &set->any;
}

static const char *source_of(const struct rp_counted_device *d)
{
    return d->source ? d->source : "one file";
}

static int check_gpu(const struct rp_counted_device *a, const struct rp_counted_device *b,
                     struct rp_err *err)
{
    if (!rp_counted_differ(a, b)) {
        if (!a->arch[0] || !b->arch[0] || a->modelled_clock_mhz == b->modelled_clock_mhz)
            return 0;
        return rp_refuse_clocks(source_of(a), a->modelled_clock_mhz, source_of(b),
                                b->modelled_clock_mhz, RP_ONE_CLOCK, err);
    }
    return rp_fail(
        err, RP_BAD_INPUT,
        "counters of different GPUs: %s says %s with %u CUs (device %#x), %s says %s with"
        " %u CUs (device %#x): analyse the files of one GPU at a time",
        source_of(a), a->arch, a->compute_units, a->pci_device_id, source_of(b), b->arch,
        b->compute_units, b->pci_device_id);
}

/* A pass on another GPU is no pass of the same run: one ceiling cannot hold for both. */
static int check_gpus(const struct rp_counters *into, const struct rp_counters *from,
                      struct rp_err *err)
{
    int result = check_gpu(&into->any, &from->any, err);

    for (size_t i = 0; i < from->device_count && result == 0; i++) {
        const uint32_t j = rp_idmap_find(&into->device_ids, (uint64_t)from->devices[i].id);

        if (j != RP_NO_NUMBER)
            result = check_gpu(rp_counters_facts(into, j), rp_counters_facts(from, i), err);
    }
    return result;
}

/* --- passes ------------------------------------------------------------------------------- */

/* A dispatch is identified as the n-th of its kernel on its GPU. */
struct place {
    const char *kernel;
    int64_t device;
    size_t index;
};

static int by_kernel(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    int order = strcmp(a->kernel, b->kernel);

    if (order == 0)
        order = (a->device > b->device) - (a->device < b->device);
    return order;
}

static int by_place(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    int order = by_kernel(a, b);

    return order ? order : (a->index > b->index) - (a->index < b->index);
}

static struct place *places_of(const struct rp_counters *set)
{
    struct place *places = calloc(set->dispatch_count + 1, sizeof *places);

    for (size_t i = 0; places && i < set->dispatch_count; i++) {
        const struct rp_counted_dispatch *d = &set->dispatches[i];
        places[i] = (struct place){
            .kernel = set->kernels[d->kernel], .device = set->devices[d->device].id, .index = i};
    }
    if (places && set->dispatch_count)
        qsort(places, set->dispatch_count, sizeof *places, by_place);
    return places;
}

static int add_pass(struct rp_counters *into, size_t at, const struct rp_counters *from,
                    const struct rp_counted_dispatch *d, const uint32_t *ids, struct rp_err *err)
{
    struct rp_counted_dispatch *to = &into->dispatches[at];
    int result = 0;

    if (d->timed && (!to->timed || (from->is_timeline && !into->is_timeline))) {
        to->timed = true;
        to->duration_ns = d->duration_ns;
    }
    for (uint32_t i = 0; i < d->value_count && result == 0; i++) {
        uint32_t counter = ids[d->values[i].counter];
        if (!rp_counter_find(to, counter))
            result = rp_counter_put(to, counter, d->values[i].value, err);
    }
    return result;
}

/* Dispatches of another process get ids of their own. */
static int add_other(struct rp_counters *into, const struct rp_counters *from,
                     const struct rp_counted_dispatch *d, int64_t process, const uint32_t *ids,
                     struct rp_err *err)
{
    uint32_t device;
    size_t at;
    bool is_new;
    int result = rp_counters_device(into, from->devices[d->device].id, &device, err);

    if (result == 0)
        result = rp_counters_dispatch(into, device, process, (int64_t)into->dispatch_count,
                                      from->kernels[d->kernel], &at, &is_new, err);
    return result < 0 ? result : add_pass(into, at, from, d, ids, err);
}

static int take_fact(struct rp_counters *into, struct rp_counted_device *to,
                     const struct rp_counted_device *from, struct rp_err *err)
{
    if (to->arch[0])
        return 0;
    *to = *from;
    to->source = NULL; /* The text belongs to the other set, which is about to be freed. */
    return from->source ? counters_set_device_source(into, to, from->source, err) : 0;
}

static int take_facts(struct rp_counters *into, const struct rp_counters *from, struct rp_err *err)
{
    int result = take_fact(into, &into->any, &from->any, err);

    for (size_t i = 0; i < from->device_count && result == 0; i++) {
        const uint32_t j = rp_idmap_find(&into->device_ids, (uint64_t)from->devices[i].id);

        if (j != RP_NO_NUMBER)
            result = take_fact(into, &into->devices[j], &from->devices[i], err);
    }
    return result;
}

/* --- counters that several passes have ------------------------------------------------------ */

static const size_t NO_PLACE = SIZE_MAX;

/* Dispatches of two passes by place, and which of the first each of the second one is. */
struct pairs {
    struct place *old, *new;
    size_t *old_of; /**< per new; NO_PLACE: none */
};

static void pairs_free(struct pairs *p)
{
    free(p->old);
    free(p->new);
    free(p->old_of);
}

static int pair_up(const struct rp_counters *into, const struct rp_counters *from, bool is_pass,
                   struct pairs *ret, struct rp_err *err)
{
    size_t have = is_pass ? into->dispatch_count : 0, i = 0;

    ret->old = is_pass ? places_of(into) : NULL;
    ret->new = places_of(from);
    ret->old_of = calloc(from->dispatch_count + 1, sizeof *ret->old_of);
    if ((is_pass && !ret->old) || !ret->new || !ret->old_of)
        return rp_out_of_memory(err);
    for (size_t j = 0; j < from->dispatch_count; j++) {
        while (i < have && by_kernel(&ret->old[i], &ret->new[j]) < 0)
            i++;
        ret->old_of[j] =
            i < have && by_kernel(&ret->old[i], &ret->new[j]) == 0 ? ret->old[i++].index : NO_PLACE;
    }
    return 0;
}

/* This is what both passes say of each counter, over the dispatches of a kernel on a GPU. */
struct repeats {
    struct repeat {
        double first, other;
        bool seen, was_disputed;
    } * of;         /**< by counter */
    uint32_t *seen; /**< counters that both have */
    size_t seen_count;
};

static void repeats_free(struct repeats *r)
{
    free(r->of);
    free(r->seen);
}

/* "SQ_LEVEL_WAVES" is read at one moment: two runs have no reason to agree. */
static bool is_momentary(const char *name)
{
    return strncmp(name, "SQ", 2) == 0 && strstr(name, "_LEVEL") && !strstr(name, "_ACCUM");
}

/* Tests whether it counts clocks, like "GRBM_GUI_ACTIVE", because the same work takes a different
 * time in each run. That also applies to percentages and means that rocprof makes of clocks, like
 * "MemUnitBusy", and to what was in flight, which is added up in each clock.
 */
static bool depends_on_time(const char *name)
{
    static const char *const of_time[] = {"GRBM_", "CYCLE",  "BUSY",    "ACTIVE", "WAIT",
                                          "STALL", "_ACCUM", "LATENCY", "_LEVEL"};

    if (!rp_counter_adds_up(name))
        return true;

    for (size_t i = 0; i < sizeof of_time / sizeof *of_time; i++)
        if (strstr(name, of_time[i]))
            return true;
    return false;
}

static void see_pair(const struct rp_counters *into, const struct rp_counted_dispatch *to,
                     const struct rp_counted_dispatch *d, const uint32_t *ids, struct repeats *r)
{
    for (uint32_t i = 0; i < d->value_count; i++) {
        const uint32_t counter = ids[d->values[i].counter];
        const struct rp_counter_value *have = rp_counter_find(to, counter);
        const double other = d->values[i].value;
        struct repeat *repeat = &r->of[counter];

        if (!have || isnan(have->value) || isnan(other) || is_momentary(into->names[counter]))
            continue;
        if (!repeat->seen)
            r->seen[r->seen_count++] = counter;
        repeat->seen = true;
        repeat->was_disputed |= isinf(have->value) || isinf(other);
        repeat->first += have->value;
        repeat->other += other;
    }
}

static int add_dispute(struct rp_counters *into, const struct rp_counter_dispute *dispute,
                       struct rp_err *err)
{
    struct rp_counter_dispute *place = rp_array_add(&into->disputes, &into->dispute_count);

    if (!place)
        return rp_out_of_memory(err);
    *place = *dispute;
    return 0;
}

/* @return whether the counter cannot be told */
static bool is_disputed(struct rp_counters *into, uint32_t counter, const struct repeat *repeat)
{
    const double most = fmax(repeat->first, repeat->other);
    const double by = most > 0 ? fabs(repeat->first - repeat->other) / most : 0;

    if (repeat->was_disputed ||
        (by > RP_PASS_TOLERANCE_PERCENT / 100.0 && !depends_on_time(into->names[counter])))
        return true;
    if (by > into->repeat_difference) {
        into->repeat_difference = by;
        into->repeat_counter = counter;
    }
    return false;
}

/* Decides on the counters of one kernel, whose dispatches are @p count pairs from @p first on. */
static int settle(struct rp_counters *into, const struct pairs *pairs, size_t first, size_t count,
                  struct repeats *r, struct rp_err *err)
{
    int result = 0;

    for (size_t i = 0; i < r->seen_count; i++) {
        const uint32_t counter = r->seen[i];
        const struct repeat repeat = r->of[counter];
        uint32_t kernel = 0;

        r->of[counter] = (struct repeat){0};
        if (!is_disputed(into, counter, &repeat))
            continue;
        for (size_t j = first; j < first + count; j++) {
            const size_t at = pairs->old_of[j];
            struct rp_counter_value *v =
                at == NO_PLACE ? NULL : rp_counter_find(&into->dispatches[at], counter);

            if (v)
                v->value = INFINITY;
            kernel = v ? into->dispatches[at].kernel : kernel;
        }
        if (result == 0 && !repeat.was_disputed)
            result = add_dispute(into,
                                 &(struct rp_counter_dispute){.kernel = kernel,
                                                              .counter = counter,
                                                              .first = repeat.first,
                                                              .other = repeat.other},
                                 err);
    }
    r->seen_count = 0;
    return result;
}

/* Two passes that have counted the same must agree. A kernel that differs by more than runs do has
 * other work in each, or its dispatches came in another order.
 */
static int check_repeats(struct rp_counters *into, const struct rp_counters *from,
                         const struct pairs *pairs, const uint32_t *ids, struct rp_err *err)
{
    rp_cleanup(repeats_free) struct repeats r = {
        .of = calloc(into->name_count + 1, sizeof *r.of),
        .seen = calloc(into->name_count + 1, sizeof *r.seen),
    };
    int result = r.of && r.seen ? 0 : rp_out_of_memory(err);

    for (size_t j = 0, end; j < from->dispatch_count && result == 0; j = end) {
        for (end = j;
             end < from->dispatch_count && by_kernel(&pairs->new[j], &pairs->new[end]) == 0; end++)
            if (pairs->old_of[end] != NO_PLACE)
                see_pair(into, &into->dispatches[pairs->old_of[end]],
                         &from->dispatches[pairs->new[end].index], ids, &r);
        result = settle(into, pairs, j, end - j, &r, err);
    }
    return result;
}

/* A dispute is of a kernel on a GPU: a sum over the dispatches that had no partner would pass for
 * that of the kernel. */
static void spread_dispute(struct rp_counters *into, const struct place *places, size_t count,
                           bool *is_disputed)
{
    for (size_t i = 0; i < count; i++) {
        const struct rp_counted_dispatch *d = &into->dispatches[places[i].index];

        for (uint32_t v = 0; v < d->value_count; v++)
            is_disputed[d->values[v].counter] |= isinf(d->values[v].value);
    }
    for (size_t i = 0; i < count; i++) {
        struct rp_counted_dispatch *d = &into->dispatches[places[i].index];

        for (uint32_t v = 0; v < d->value_count; v++)
            if (is_disputed[d->values[v].counter])
                d->values[v].value = INFINITY;
    }
}

static int spread_disputes(struct rp_counters *into, struct rp_err *err)
{
    const size_t count = into->dispatch_count;
    rp_autofree struct place *places = into->dispute_count ? places_of(into) : NULL;
    rp_autofree bool *is_disputed = calloc(into->name_count + 1, sizeof *is_disputed);

    if (!is_disputed || (into->dispute_count && !places))
        return rp_out_of_memory(err);
    for (size_t first = 0, end; places && first < count; first = end) {
        for (end = first; end < count && by_kernel(&places[first], &places[end]) == 0;)
            end++;
        memset(is_disputed, 0, into->name_count * sizeof *is_disputed);
        spread_dispute(into, &places[first], end - first, is_disputed);
    }
    return 0;
}

static int take_disputes(struct rp_counters *into, const struct rp_counters *from,
                         const uint32_t *ids, struct rp_err *err)
{
    int result = 0;

    for (size_t i = 0; i < from->dispute_count && result == 0; i++) {
        struct rp_counter_dispute dispute = from->disputes[i];

        dispute.counter = ids[dispute.counter];
        result = counters_kernel(into, from->kernels[dispute.kernel], &dispute.kernel, err);
        if (result == 0)
            result = add_dispute(into, &dispute, err);
    }
    if (from->repeat_difference > into->repeat_difference) {
        into->repeat_difference = from->repeat_difference;
        into->repeat_counter = ids[from->repeat_counter];
    }
    return result;
}

/* --- joining two -------------------------------------------------------------------------- */

static int merge_dispatches(struct rp_counters *into, const struct rp_counters *from, bool is_pass,
                            const uint32_t *ids, struct rp_err *err)
{
    /* No process has this number: ids start anew with every file. */
    int64_t process = INT64_MIN + (int64_t)into->dispatch_count;
    rp_cleanup(pairs_free) struct pairs pairs = {0};
    int result = pair_up(into, from, is_pass, &pairs, err);

    if (result == 0 && is_pass)
        result = check_repeats(into, from, &pairs, ids, err);
    for (size_t j = 0; j < from->dispatch_count && result == 0; j++) {
        const struct rp_counted_dispatch *d = &from->dispatches[pairs.new[j].index];

        if (pairs.old_of[j] != NO_PLACE)
            result = add_pass(into, pairs.old_of[j], from, d, ids, err);
        else
            result = add_other(into, from, d, process, ids, err);
    }
    return result;
}

/* Ranks of a run count at the same time. What is not known to have done so may be another run of
 * the program, whose dispatches would be added to this one's. */
static int warn_of_other_run(struct rp_counters *into, const struct rp_counters *from,
                             struct rp_err *err)
{
    if (!from->path || from->dispatch_count == 0 || rp_counters_at_one_time(into, from))
        return 0;
    into->added_files++;
    return rp_counters_warn(into, err,
                            "%s has the counters of the files before it, and not their times: its"
                            " dispatches are added as those of another process; results only hold"
                            " for one run, so give files of different runs one at a time",
                            from->path);
}

static void take_times(struct rp_counters *into, const struct rp_counters *from)
{
    if (!from->last_ns)
        return;
    if (!into->last_ns || from->first_ns < into->first_ns)
        into->first_ns = from->first_ns;
    if (from->last_ns > into->last_ns)
        into->last_ns = from->last_ns;
}

static int take_files(struct rp_counters *into, const struct rp_counters *from, struct rp_err *err)
{
    for (size_t i = 0; i < from->file_count; i++) {
        const char *path =
            rp_string_pool_add(&into->text, from->files[i].path, strlen(from->files[i].path));
        struct rp_counter_file *file = path ? rp_array_add(&into->files, &into->file_count) : NULL;

        if (!file)
            return rp_out_of_memory(err);
        *file = from->files[i];
        file->path = path;
    }
    return 0;
}

/* Takes what is known of a set beside its dispatches. */
static int take_rest(struct rp_counters *into, const struct rp_counters *from, const uint32_t *ids,
                     struct rp_err *err)
{
    int result = take_facts(into, from, err);

    if (result == 0)
        result = take_disputes(into, from, ids, err);
    if (result == 0)
        result = spread_disputes(into, err);
    if (result == 0)
        result = take_files(into, from, err);
    for (size_t i = 0; i < from->warning_count && result == 0; i++)
        result = rp_counters_warn(into, err, "%s", from->warnings[i]);
    if (result < 0)
        return result;
    take_times(into, from);
    into->spoilt_times += from->spoilt_times;
    into->added_files += from->added_files;
    into->is_timeline |= from->is_timeline;
    return 0;
}

int rp_counters_merge_as(struct rp_counters *into, const struct rp_counters *from,
                         enum rp_counters_relation relation, struct rp_err *err)
{
    bool is_pass = relation == RP_COUNTERS_PASS;
    size_t had = into->name_count;
    rp_autofree uint32_t *ids = calloc(from->name_count + 1, sizeof *ids);
    int result = ids ? check_gpus(into, from, err) : rp_out_of_memory(err);

    for (size_t i = 0; i < from->name_count && result == 0; i++)
        result = rp_counters_name(into, from->names[i], &ids[i], err);
    if (relation == RP_COUNTERS_UNSAID)
        is_pass = had == 0 || into->name_count > had || from->name_count == 0;
    if (result == 0 && !is_pass && from->name_count)
        result = warn_of_other_run(into, from, err);
    if (result == 0)
        result = merge_dispatches(into, from, is_pass, ids, err);
    return result < 0 ? result : take_rest(into, from, ids, err);
}

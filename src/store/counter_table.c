#include "rocm-perf/counters.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "rocm-perf/store.h"
#include "store/names.h"
#include "store/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_COUNTERS = 65536 };

static int no_memory(struct rp_err *err)
{
    return rp_fail(err, RP_ENVIRONMENT, "out of memory");
}

struct rp_counters *rp_counters_new(void)
{
    struct rp_counters *set = calloc(1, sizeof *set);

    if (!set)
        return NULL;
    set->any.id = -1;
    set->text = calloc(1, sizeof *set->text);
    set->name_ids = calloc(1, sizeof *set->name_ids);
    set->kernel_ids = calloc(1, sizeof *set->kernel_ids);
    if (!set->text || !set->name_ids || !set->kernel_ids) {
        rp_counters_free(set);
        return NULL;
    }
    set->text->limit_bytes = UINT64_MAX;
    return set;
}

void rp_counters_free(struct rp_counters *set)
{
    if (!set)
        return;
    for (size_t i = 0; i < set->dispatch_count; i++)
        free(set->dispatches[i].values);
    if (set->text)
        rp_text_free(set->text);
    if (set->name_ids)
        rp_names_free(set->name_ids);
    if (set->kernel_ids)
        rp_names_free(set->kernel_ids);
    for (size_t i = 0; i < set->warning_count; i++)
        free(set->warnings[i]);
    free(set->warnings);
    free(set->text);
    free(set->name_ids);
    free(set->kernel_ids);
    free(set->names);
    free(set->kernels);
    free(set->devices);
    free(set->dispatches);
    free(set->slots);
    free(set);
}

/* Room for one more element; the capacity is the next power of two. */
static bool grow(void **rows, size_t count, size_t row_bytes)
{
    void *grown;

    if (count & (count - 1))
        return true;
    grown = realloc(*rows, (count ? count * 2 : 1) * row_bytes);
    if (grown)
        *rows = grown;
    return grown != NULL;
}

int rp_counters_warn(struct rp_counters *set, struct rp_err *err, const char *fmt, ...)
{
    rp_autobuf text = {0};
    va_list ap;

    va_start(ap, fmt);
    rp_buf_vprintf(&text, fmt, ap);
    va_end(ap);
    for (size_t i = 0; i < set->warning_count && !text.failed; i++)
        if (strcmp(set->warnings[i], rp_buf_text(&text)) == 0)
            return 0;
    if (text.failed || !grow((void **)&set->warnings, set->warning_count, sizeof *set->warnings))
        return no_memory(err);
    set->warnings[set->warning_count] = strdup(rp_buf_text(&text));
    if (!set->warnings[set->warning_count])
        return no_memory(err);
    set->warning_count++;
    return 0;
}

/* Number of a text in a list of different texts. */
static int intern(struct rp_counters *set, struct rp_names *ids, const char ***list, size_t *count,
                  const char *text, size_t len, uint32_t *ret, struct rp_err *err)
{
    const char *copy = rp_text_add(set->text, text, len);
    bool is_new;
    int64_t id = copy ? rp_names_id(ids, copy, &is_new) : 0;

    if (id == 0 || (is_new && !grow((void **)list, *count, sizeof **list)))
        return no_memory(err);
    if (is_new)
        (*list)[(*count)++] = copy;
    *ret = (uint32_t)(id - 1);
    return 0;
}

int rp_counters_device(struct rp_counters *set, int64_t id, uint32_t *ret, struct rp_err *err)
{
    for (size_t i = 0; i < set->device_count; i++)
        if (set->devices[i].id == id) {
            *ret = (uint32_t)i;
            return 0;
        }
    if (set->device_count == MAX_COUNTERS)
        return rp_fail(err, RP_BAD_INPUT, "more than %d different GPUs", MAX_COUNTERS);
    if (!grow((void **)&set->devices, set->device_count, sizeof *set->devices))
        return no_memory(err);
    set->devices[set->device_count] = (struct rp_counted_device){.id = id};
    *ret = (uint32_t)set->device_count++;
    return 0;
}

/* --- dispatches by device, process and id ------------------------------------------------- */

static uint64_t hash_of(uint32_t device, int64_t process, int64_t id)
{
    uint64_t h = (uint64_t)id * 0x9e3779b97f4a7c15u;

    h = (h ^ (uint64_t)process ^ h >> 29) * 0xbf58476d1ce4e5b9u;
    h = (h ^ device ^ h >> 32) * 0x94d049bb133111ebu;
    return h ^ h >> 31;
}

/* Slots hold index + 1, 0 is free. */
static uint32_t *slot_of(const struct rp_counters *set, uint32_t *slots, size_t slot_count,
                         uint32_t device, int64_t process, int64_t id)
{
    size_t at = hash_of(device, process, id) & (slot_count - 1);

    while (slots[at]) {
        const struct rp_counted_dispatch *d = &set->dispatches[slots[at] - 1];
        if (d->id == id && d->device == device && d->process == process)
            break;
        at = (at + 1) & (slot_count - 1);
    }
    return &slots[at];
}

static bool grow_slots(struct rp_counters *set)
{
    size_t slot_count = set->slot_count ? set->slot_count * 2 : 64;
    uint32_t *slots = calloc(slot_count, sizeof *slots);

    if (!slots)
        return false;
    for (size_t i = 0; i < set->dispatch_count; i++) {
        const struct rp_counted_dispatch *d = &set->dispatches[i];
        *slot_of(set, slots, slot_count, d->device, d->process, d->id) = (uint32_t)i + 1;
    }
    free(set->slots);
    set->slots = slots;
    set->slot_count = slot_count;
    return true;
}

int rp_counters_dispatch(struct rp_counters *set, uint32_t device, int64_t process, int64_t id,
                         const char *kernel, size_t *ret, bool *ret_new, struct rp_err *err)
{
    struct rp_counted_dispatch d = {.device = device, .process = process, .id = id};
    uint32_t *slot;
    int result;

    if (set->dispatch_count * 2 >= set->slot_count && !grow_slots(set))
        return no_memory(err);
    slot = slot_of(set, set->slots, set->slot_count, device, process, id);
    *ret_new = *slot == 0;
    if (*slot) {
        *ret = *slot - 1;
        return 0;
    }
    if (set->dispatch_count == UINT32_MAX / 2)
        return rp_fail(err, RP_BAD_INPUT, "too many dispatches");
    result = intern(set, set->kernel_ids, &set->kernels, &set->kernel_count, kernel,
                    rp_kernel_name_length(kernel), &d.kernel, err);
    if (result < 0)
        return result;
    if (!grow((void **)&set->dispatches, set->dispatch_count, sizeof d))
        return no_memory(err);
    *ret = set->dispatch_count++;
    set->dispatches[*ret] = d;
    *slot = (uint32_t)set->dispatch_count;
    return 0;
}

/* --- kernels of one name ------------------------------------------------------------------ */

/** A kernel on a device. */
struct where {
    const char *kernel;
    size_t plain_bytes; /* of its name */
    uint32_t device, number;
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

/* How much of "NAME [code 1a2b3c4d00000000]" is the name; other ends are none of ours. */
static size_t plain_length(const char *name)
{
    static const char added[] = " [code 1a2b3c4d00000000]";
    const size_t length = strlen(name), plain = rp_kernel_plain_length(name);

    return length - plain == strlen(added) ? plain : length;
}

/* @param ret_several  per kernel: another one of its name is on the same device */
static int find_several(const struct rp_counters *set, bool *ret_several, struct rp_err *err)
{
    struct where *list = calloc(set->dispatch_count + 1, sizeof *list);
    size_t count = 0;

    if (!list)
        return no_memory(err);
    for (size_t i = 0; i < set->dispatch_count; i++) {
        const struct rp_counted_dispatch *d = &set->dispatches[i];
        const struct where w = {
            .kernel = set->kernels[d->kernel], .device = d->device, .number = d->kernel};

        if (!count || list[count - 1].number != w.number || list[count - 1].device != w.device) {
            list[count] = w;
            list[count++].plain_bytes = plain_length(w.kernel);
        }
    }
    if (count)
        qsort(list, count, sizeof *list, by_plain_name);
    for (size_t i = 0, end; i < count; i = end) {
        bool several = false;

        for (end = i + 1; end < count && by_plain_name(&list[i], &list[end]) == 0; end++)
            several |= list[end].number != list[i].number;
        for (size_t k = i; k < end && several; k++)
            ret_several[list[k].number] = true;
    }
    free(list);
    return 0;
}

/* As the readers of traces have it: with 8 digits. */
static size_t short_name(char *name)
{
    enum { SPARE_DIGITS = 8 };
    const size_t length = strlen(name);

    if (plain_length(name) == length)
        return length;
    memcpy(name + length - 1 - SPARE_DIGITS, "]", 2);
    return length - SPARE_DIGITS;
}

int rp_counters_tell_apart(struct rp_counters *set, struct rp_err *err)
{
    const char **old = set->kernels;
    const size_t count = set->kernel_count;
    bool *several = calloc(count + 1, sizeof *several);
    uint32_t *now = calloc(count + 1, sizeof *now);
    int result = several && now ? find_several(set, several, err) : no_memory(err);

    if (result == 0) {
        rp_names_free(set->kernel_ids);
        set->kernels = NULL;
        set->kernel_count = 0;
        for (size_t i = 0; i < count && result == 0; i++) {
            char *name = strdup(old[i]);
            size_t length = name && several[i] ? short_name(name) : name ? plain_length(name) : 0;

            result = name ? intern(set, set->kernel_ids, &set->kernels, &set->kernel_count, name,
                                   length, &now[i], err)
                          : no_memory(err);
            free(name);
        }
        free(old);
    }
    for (size_t i = 0; i < set->dispatch_count && result == 0; i++)
        set->dispatches[i].kernel = now[set->dispatches[i].kernel];
    free(several);
    free(now);
    return result;
}

/* --- values ------------------------------------------------------------------------------- */

static struct rp_counter_value *find_value(const struct rp_counted_dispatch *d, uint32_t counter)
{
    /* Files that go through the counters in the same order find theirs at its own place. */
    if (counter < d->value_count && d->values[counter].counter == counter)
        return &d->values[counter];
    for (uint32_t i = d->value_count; i-- > 0;)
        if (d->values[i].counter == counter)
            return &d->values[i];
    return NULL;
}

bool rp_counters_value(const struct rp_counted_dispatch *dispatch, uint32_t counter, double *ret)
{
    const struct rp_counter_value *found = find_value(dispatch, counter);

    if (!found || isnan(found->value))
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
    static const double most = 9223372036854775808.0; /* 2^63: no GPU counts that in a day */

    if (!isfinite(value)) /* of what is divided, 0 by 0 for one, it says that there is no number */
        return is_of_hardware(name) ? "it is not finite" : NULL;
    if (value < 0)
        return "counters only count up from 0";
    if (value >= most)
        return "it is above 2^63, as when a counter of 64 bits fell below 0";
    if (value != floor(value) && is_of_hardware(name))
        return "the hardware counts whole events";
    return NULL;
}

bool rp_counter_is_full(double value)
{
    return value == (double)UINT32_MAX;
}

static int put_value(struct rp_counted_dispatch *d, uint32_t counter, double value,
                     struct rp_err *err)
{
    if (d->value_count == d->value_capacity) {
        uint32_t capacity = d->value_capacity ? d->value_capacity * 2 : 4;
        struct rp_counter_value *grown = realloc(d->values, capacity * sizeof *grown);

        if (!grown)
            return no_memory(err);
        d->values = grown;
        d->value_capacity = capacity;
    }
    d->values[d->value_count++] = (struct rp_counter_value){.counter = counter, .value = value};
    return 0;
}

static int counter_id(struct rp_counters *set, const char *name, uint32_t *ret, struct rp_err *err)
{
    if (set->name_count == MAX_COUNTERS)
        return rp_fail(err, RP_BAD_INPUT, "more than %d different counters", MAX_COUNTERS);
    return intern(set, set->name_ids, &set->names, &set->name_count, name, strcspn(name, "["), ret,
                  err);
}

int rp_counters_add(struct rp_counters *set, size_t dispatch, const char *name, double value,
                    struct rp_err *err)
{
    struct rp_counted_dispatch *d = &set->dispatches[dispatch];
    struct rp_counter_value *found;
    uint32_t counter;
    int result = counter_id(set, name, &counter, err);

    if (result < 0)
        return result;
    if (rp_counter_is_full(value))
        value = NAN; /* and so is every sum with it */
    found = find_value(d, counter);
    if (!found)
        return put_value(d, counter, value, err);
    found->value += value;
    return 0;
}

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

const struct rp_counted_device *rp_counters_facts(const struct rp_counters *set, size_t device)
{
    return set->devices[device].arch[0] ? &set->devices[device] : &set->any;
}

static int set_source(struct rp_counters *set, struct rp_counted_device *d, const char *path,
                      struct rp_err *err)
{
    if (d->source || !d->arch[0])
        return 0;
    d->source = rp_text_add(set->text, path, strlen(path));
    return d->source ? 0 : no_memory(err);
}

int rp_counters_set_source(struct rp_counters *set, const char *path, struct rp_err *err)
{
    int result = set_source(set, &set->any, path, err);

    for (size_t i = 0; i < set->device_count && result == 0; i++)
        result = set_source(set, &set->devices[i], path, err);
    return result;
}

static const char *source_of(const struct rp_counted_device *d)
{
    return d->source ? d->source : "one file";
}

static int check_gpu(const struct rp_counted_device *a, const struct rp_counted_device *b,
                     struct rp_err *err)
{
    if (!rp_counted_differ(a, b))
        return 0;
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

    for (size_t i = 0; i < from->device_count; i++)
        for (size_t j = 0; j < into->device_count && result == 0; j++)
            if (into->devices[j].id == from->devices[i].id)
                result = check_gpu(rp_counters_facts(into, j), rp_counters_facts(from, i), err);
    return result;
}

/* --- passes ------------------------------------------------------------------------------- */

/* A dispatch as the n-th of its kernel on its GPU. */
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
        if (!find_value(to, counter))
            result = put_value(to, counter, d->values[i].value, err);
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
    to->source = NULL; /* the other set's text goes */
    return from->source ? set_source(into, to, from->source, err) : 0;
}

static int take_facts(struct rp_counters *into, const struct rp_counters *from, struct rp_err *err)
{
    int result = take_fact(into, &into->any, &from->any, err);

    for (size_t i = 0; i < from->device_count; i++)
        for (size_t j = 0; j < into->device_count && result == 0; j++)
            if (into->devices[j].id == from->devices[i].id)
                result = take_fact(into, &into->devices[j], &from->devices[i], err);
    return result;
}

static int merge_passes(struct rp_counters *into, const struct rp_counters *from, bool is_pass,
                        const uint32_t *ids, struct rp_err *err)
{
    /* No process has this number: ids start anew with every file. */
    int64_t process = INT64_MIN + (int64_t)into->dispatch_count;
    size_t have = is_pass ? into->dispatch_count : 0, i = 0;
    struct place *old = places_of(into), *new = places_of(from);
    int result = old && new ? 0 : no_memory(err);

    for (size_t j = 0; j < from->dispatch_count && result == 0; j++) {
        const struct rp_counted_dispatch *d = &from->dispatches[new[j].index];
        while (i < have && by_kernel(&old[i], &new[j]) < 0)
            i++;
        if (i < have && by_kernel(&old[i], &new[j]) == 0)
            result = add_pass(into, old[i++].index, from, d, ids, err);
        else
            result = add_other(into, from, d, process, ids, err);
    }
    free(old);
    free(new);
    return result;
}

static bool at_one_time(const struct rp_counters *a, const struct rp_counters *b)
{
    return a->last_ns && b->last_ns && a->first_ns < b->last_ns && b->first_ns < a->last_ns;
}

/* Ranks of a run count at the same time. What is not known to have done so may be another run of
 * the program, whose dispatches would be added to this one's. */
static int warn_of_other_run(struct rp_counters *into, const struct rp_counters *from,
                             struct rp_err *err)
{
    if (!from->path || from->dispatch_count == 0 || at_one_time(into, from))
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

int rp_counters_merge(struct rp_counters *into, const struct rp_counters *from, struct rp_err *err)
{
    size_t had = into->name_count;
    uint32_t *ids = calloc(from->name_count + 1, sizeof *ids);
    int result = ids ? check_gpus(into, from, err) : no_memory(err);
    bool is_pass;

    for (size_t i = 0; i < from->name_count && result == 0; i++)
        result = counter_id(into, from->names[i], &ids[i], err);
    is_pass = had == 0 || into->name_count > had || from->name_count == 0;
    if (result == 0 && !is_pass)
        result = warn_of_other_run(into, from, err);
    if (result == 0)
        result = merge_passes(into, from, is_pass, ids, err);
    free(ids);
    if (result < 0)
        return result;
    result = take_facts(into, from, err);
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

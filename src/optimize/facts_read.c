/* The JSON files of a profile as facts: by symbol in profile.json and thread_trace.json, by name in
 * the others, whose rows have no symbol. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "optimize/facts.h"

enum { MOST_LINES = 10 };

RP_DEFINE_CLEANUP(json_t, json_decref)
#define autojson rp_cleanup(rp_cleanup_json_decref) json_t *

/** @return 0 with NULL when it is not there and need not be */
static int load(const char *folder, const char *name, bool needed, json_t **ret, struct rp_err *err)
{
    rp_autofree char *path = rp_path_join(folder, name);
    json_error_t why;
    json_t *json;

    if (!path)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    *ret = NULL;
    if (!needed && !rp_path_exists(path))
        return 0;
    json = json_load_file(path, 0, &why);
    if (!json)
        return rp_fail(err, RP_BAD_INPUT, "%s: %s", path, why.text);
    if (!json_is_object(json)) {
        json_decref(json);
        return rp_fail(err, RP_BAD_INPUT, "%s is not an object", path);
    }
    *ret = json;
    return 0;
}

static struct rp_quantity number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    return json_is_number(value) ? (struct rp_quantity){true, json_number_value(value)}
                                 : (struct rp_quantity){0};
}

static bool same_text(const json_t *object, const char *key, const char *text)
{
    const char *value = json_string_value(json_object_get(object, key));

    return value && text && strcmp(value, text) == 0;
}

/** NULL when it is no text. *failed is set when out of memory. */
static char *text(const json_t *object, const char *key, bool *failed)
{
    const char *value = json_string_value(json_object_get(object, key));
    char *copy = value ? strdup(value) : NULL;

    *failed |= value && !copy;
    return copy;
}

static void read_extent(const json_t *array, uint32_t ret[3])
{
    for (size_t i = 0; i < 3; i++) {
        json_int_t value = json_integer_value(json_array_get(array, i));

        ret[i] = value > 0 && value <= UINT32_MAX ? (uint32_t)value : 0;
    }
}

static void read_needs(const json_t *row, struct rp_kernel_facts *kernel, bool *failed)
{
    const json_t *resources = json_object_get(row, "resources");
    const json_t *occupancy = json_object_get(row, "occupancy");

    kernel->vgprs = number(resources, "vgpr_per_thread");
    kernel->agprs = number(resources, "agpr_per_thread");
    kernel->sgprs = number(resources, "sgpr_per_wave");
    kernel->lds_bytes = number(resources, "lds_bytes");
    kernel->scratch_bytes = number(resources, "scratch_bytes");
    kernel->occupancy = number(occupancy, "theoretical");
    kernel->waves = number(occupancy, "waves");
    kernel->waves_per_simd = number(occupancy, "waves_per_simd");
    kernel->max_waves_per_simd = number(occupancy, "max_waves_per_simd");
    kernel->limiter = text(occupancy, "limiter", failed);
    read_extent(json_object_get(row, "grid"), kernel->grid);
    read_extent(json_object_get(row, "block"), kernel->block);
    kernel->geometry_count = (size_t)json_integer_value(json_object_get(row, "geometries"));
}

static void read_row(const json_t *profile, const json_t *row, struct rp_kernel_facts *kernel,
                     bool *failed)
{
    const json_t *gpus = json_object_get(profile, "gpus");
    const json_t *index = json_object_get(row, "gpu");
    const json_t *gpu = json_is_integer(index)
                            ? json_array_get(gpus, (size_t)json_integer_value(index))
                            : json_object_get(profile, "gpu");
    struct rp_quantity total_ms = number(row, "total_ms");

    kernel->name = text(row, "name", failed);
    kernel->symbol = text(row, "symbol", failed);
    kernel->arch = text(gpu, "architecture", failed);
    kernel->product = text(gpu, "product", failed);
    kernel->device = text(profile, "device", failed);
    kernel->timing = text(json_object_get(profile, "timing"), "model", failed);
    kernel->calls = number(row, "calls");
    kernel->time_ns = (struct rp_quantity){total_ms.known, total_ms.value * 1e6};
    kernel->runtime_internal = json_is_true(json_object_get(row, "runtime_internal"));
    read_needs(row, kernel, failed);
}

/** A list that grows by one zeroed entry; NULL when out of memory. */
static void *grow(void *list, size_t count, size_t entry_bytes)
{
    char *more = realloc(list, (count + 1) * entry_bytes);

    if (more)
        memset(more + count * entry_bytes, 0, entry_bytes);
    return more;
}

static bool add_fraction(struct rp_named_fraction **list, size_t *count, const char *name,
                         double fraction)
{
    struct rp_named_fraction *more = grow(*list, *count, sizeof **list);

    if (!more)
        return false;
    *list = more;
    more[*count] = (struct rp_named_fraction){strdup(name), fraction};
    return more[(*count)++].name != NULL;
}

static char *conditions_text(const json_t *rule)
{
    rp_autobuf out = {0};
    const json_t *condition;
    size_t i;

    json_array_foreach(json_object_get(rule, "conditions"), i, condition)
        rp_buf_printf(&out, "%s%s %.3g is %s %.3g", i ? " and " : "",
                      json_string_value(json_object_get(condition, "feature")) ?: "?",
                      json_number_value(json_object_get(condition, "value")),
                      same_text(condition, "is", "below") ? "below" : "at least",
                      json_number_value(json_object_get(condition, "threshold")));
    rp_buf_puts(&out, "");
    return rp_buf_steal(&out);
}

static bool add_rules(const json_t *rules, struct rp_kernel_facts *kernel)
{
    const json_t *rule;
    size_t i;

    json_array_foreach(rules, i, rule)
    {
        struct rp_fired_rule *more = grow(kernel->rules, kernel->rule_count, sizeof *more);

        if (!more)
            return false;
        kernel->rules = more;
        more += kernel->rule_count++;
        more->id = strdup(json_string_value(json_object_get(rule, "id")) ?: "?");
        more->text = conditions_text(rule);
        if (!more->id || !more->text)
            return false;
    }
    return true;
}

static int most_first(const void *a, const void *b)
{
    const struct rp_named_fraction *x = a, *y = b;

    if (x->fraction != y->fraction)
        return x->fraction > y->fraction ? -1 : 1;
    return strcmp(x->name, y->name);
}

static bool add_features(const json_t *features, struct rp_kernel_facts *kernel)
{
    static const struct {
        const char *key, *name;
        bool stall;
    } known[] = {{"stall_memory", "memory", true}, {"stall_lds", "lds", true},
                 {"stall_math", "math", true},     {"stall_barrier", "barrier", true},
                 {"hbm_share", "hbm", false},      {"l2_share", "l2", false},
                 {"l1_share", "l1", false},        {"lds_share", "lds", false},
                 {"valu_share", "valu", false},    {"mfma_share", "mfma", false}};

    kernel->stall = number(features, "stall");
    kernel->bound_share = number(features, "bound_share");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct rp_quantity value = number(features, known[i].key);

        if (value.known &&
            !(known[i].stall
                  ? add_fraction(&kernel->stalls, &kernel->stall_count, known[i].name, value.value)
                  : add_fraction(&kernel->ceilings, &kernel->ceiling_count, known[i].name,
                                 value.value)))
            return false;
    }
    if (kernel->stall_count)
        qsort(kernel->stalls, kernel->stall_count, sizeof *kernel->stalls, most_first);
    return true;
}

/** The row of that name in a list; NULL: none, or several (then it is not known which). */
static const json_t *row_named(const json_t *list, const char *name)
{
    const json_t *row, *found = NULL;
    size_t i;

    json_array_foreach(list, i, row) if (same_text(row, "name", name))
    {
        if (found)
            return NULL;
        found = row;
    }
    return found;
}

static void add_analysis(const json_t *analysis, struct rp_kernel_facts *kernel, bool *failed)
{
    const json_t *row = row_named(json_object_get(analysis, "kernels"), kernel->name);
    const json_t *label = json_object_get(row, "bottleneck");
    const json_t *traces = json_object_get(row, "thread_traces");

    if (!row)
        return;
    kernel->weight_basis = text(analysis, "basis", failed);
    kernel->weight = number(row, "weight");
    kernel->headroom = number(row, "headroom_fraction");
    kernel->headroom_assumption = text(row, "headroom_assumption", failed);
    kernel->end_to_end_bound = number(row, "end_to_end_bound");
    kernel->free_bound = number(row, "end_to_end_bound_if_free");
    kernel->bottleneck = text(label, "label", failed);
    kernel->achieved_waves_per_simd =
        number(json_object_get(row, "occupancy"), "achieved_waves_per_simd");
    kernel->trace_partial = number(traces, "partial").value > 0;
    *failed |= !add_rules(json_object_get(label, "rules"), kernel);
    *failed |= !add_features(json_object_get(row, "features"), kernel);
}

static void add_roofline(const json_t *roofline, struct rp_kernel_facts *kernel, bool *failed)
{
    const json_t *row = row_named(json_object_get(roofline, "kernels"), kernel->name);
    struct rp_quantity read = number(row, "hbm_read_bytes"), write = number(row, "hbm_write_bytes");

    if (!row)
        return;
    kernel->bound = text(row, "bound", failed);
    if (!kernel->bound_share.known)
        kernel->bound_share = number(row, "bound_share");
    kernel->flops = number(row, "flops");
    kernel->bytes = (struct rp_quantity){read.known && write.known, read.value + write.value};
    kernel->intensity = number(row, "arithmetic_intensity");
    kernel->gflops = number(row, "achieved_gflops");
    kernel->gbps = number(row, "achieved_bandwidth_gbps");
}

static bool add_line(struct rp_kernel_facts *kernel, const char *place, uint64_t cycles)
{
    struct rp_stalled_line *more;
    size_t i;

    for (i = 0; i < kernel->line_count; i++)
        if (strcmp(kernel->lines[i].place, place) == 0) {
            kernel->lines[i].stall_cycles += cycles;
            return true;
        }
    more = grow(kernel->lines, kernel->line_count, sizeof *more);
    if (!more)
        return false;
    kernel->lines = more;
    more[kernel->line_count] = (struct rp_stalled_line){strdup(place), cycles, 0};
    return more[kernel->line_count++].place != NULL;
}

static int most_stalled_first(const void *a, const void *b)
{
    const struct rp_stalled_line *x = a, *y = b;

    if (x->stall_cycles != y->stall_cycles)
        return x->stall_cycles > y->stall_cycles ? -1 : 1;
    return strcmp(x->place, y->place);
}

/** Instructions of the kernel's own rows only: a trace lists the functions of its code object. */
static bool add_trace(const json_t *trace, struct rp_kernel_facts *kernel, uint64_t *sum)
{
    const json_t *row, *kernels = json_object_get(trace, "kernels");
    size_t i;

    json_array_foreach(json_object_get(trace, "instructions"), i, row)
    {
        const json_t *index = json_object_get(row, "kernel");
        const char *source = json_string_value(json_object_get(row, "source"));
        json_int_t cycles =
            json_integer_value(json_object_get(json_object_get(row, "sums"), "stall_cycles"));

        if (!json_is_integer(index) || cycles <= 0 ||
            !same_text(json_array_get(kernels, (size_t)json_integer_value(index)), "symbol",
                       kernel->symbol))
            continue;
        *sum += (uint64_t)cycles;
        if (source && *source && !add_line(kernel, source, (uint64_t)cycles))
            return false;
    }
    return true;
}

static void add_lines(const json_t *traces, struct rp_kernel_facts *kernel, bool *failed)
{
    const json_t *trace;
    uint64_t sum = 0;
    size_t i;

    json_array_foreach(json_object_get(traces, "thread_trace"), i,
                       trace) if (!same_text(trace, "completeness", "damaged")) *failed |=
        !add_trace(trace, kernel, &sum);
    if (!kernel->line_count || *failed)
        return;
    qsort(kernel->lines, kernel->line_count, sizeof *kernel->lines, most_stalled_first);
    for (i = MOST_LINES; i < kernel->line_count; i++)
        free(kernel->lines[i].place);
    if (kernel->line_count > MOST_LINES)
        kernel->line_count = MOST_LINES;
    for (i = 0; i < kernel->line_count; i++)
        kernel->lines[i].share = (double)kernel->lines[i].stall_cycles / (double)sum;
}

struct files {
    json_t *profile, *analysis, *roofline, *traces;
};

static int read_kernels(const struct files *files, struct rp_facts *facts, struct rp_err *err)
{
    const json_t *rows = json_object_get(files->profile, "kernels"), *row;
    bool failed = false;
    size_t i;

    if (!json_is_array(rows))
        return rp_fail(err, RP_BAD_INPUT, "profile.json has no kernels[]");
    facts->device = text(files->profile, "device", &failed);
    facts->runtime_ms = number(files->profile, "runtime_ms");
    facts->launches = number(json_object_get(files->profile, "launches"), "calls");
    facts->failed_launches = number(json_object_get(files->profile, "launches"), "failed");
    facts->kernels = calloc(json_array_size(rows) + 1, sizeof *facts->kernels);
    if (!facts->kernels)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    json_array_foreach(rows, i, row)
    {
        struct rp_kernel_facts *kernel = &facts->kernels[facts->count++];

        read_row(files->profile, row, kernel, &failed);
        if (!kernel->name && !failed)
            return rp_fail(err, RP_BAD_INPUT, "profile.json: a kernel has no name");
        if (failed)
            break;
        add_analysis(files->analysis, kernel, &failed);
        add_roofline(files->roofline, kernel, &failed);
        add_lines(files->traces, kernel, &failed);
    }
    return failed ? rp_fail(err, RP_ENVIRONMENT, "out of memory") : 0;
}

int rp_facts_read(const char *folder, struct rp_facts *ret, struct rp_err *err)
{
    autojson profile = NULL;
    autojson analysis = NULL;
    autojson roofline = NULL;
    autojson traces = NULL;
    struct rp_facts facts = {0};
    int rc;

    if (load(folder, "profile.json", true, &profile, err) < 0 ||
        load(folder, "analysis.json", false, &analysis, err) < 0 ||
        load(folder, "roofline.json", false, &roofline, err) < 0 ||
        load(folder, "thread_trace.json", false, &traces, err) < 0)
        return rp_wrap(err, "read the profile");
    rc = read_kernels(&(struct files){profile, analysis, roofline, traces}, &facts, err);
    if (rc < 0) {
        rp_facts_free(&facts);
        return rp_wrap(err, "read the profile in %s", folder);
    }
    *ret = facts;
    return 0;
}

#include "optimize/kernel_facts.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"

static void free_kernel(struct rp_kernel_facts *kernel)
{
    char *const texts[] = {
        kernel->name,       kernel->symbol, kernel->arch,         kernel->product,
        kernel->device,     kernel->timing, kernel->weight_basis, kernel->headroom_assumption,
        kernel->bottleneck, kernel->bound,  kernel->limiter};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        free(texts[i]);
    for (size_t i = 0; i < kernel->rule_count; i++) {
        free(kernel->rules[i].id);
        free(kernel->rules[i].text);
    }
    for (size_t i = 0; i < kernel->ceiling_count; i++)
        free(kernel->ceilings[i].name);
    for (size_t i = 0; i < kernel->stall_count; i++)
        free(kernel->stalls[i].name);
    for (size_t i = 0; i < kernel->line_count; i++)
        free(kernel->lines[i].place);
    free(kernel->rules);
    free(kernel->ceilings);
    free(kernel->stalls);
    free(kernel->lines);
}

void rp_facts_free(struct rp_facts *facts)
{
    for (size_t i = 0; i < facts->count; i++)
        free_kernel(&facts->kernels[i]);
    free(facts->kernels);
    free(facts->device);
    *facts = (struct rp_facts){0};
}

/* The JSON files of a profile as facts: by symbol in profile.json and thread_trace.json, by name in
 * the others, whose rows have no symbol. */

enum { MOST_LINES = 10 };

RP_DEFINE_CLEANUP(json_t, json_decref)
#define autojson rp_cleanup(rp_cleanup_json_decref) json_t *

/** @return 0 with NULL when it is not there and need not be */
static int load(const char *folder, const char *name, bool needed, json_t **ret, struct rp_err *err)
{
    rp_autofree char *path = rp_path_join(folder, name);
    json_error_t why;
    json_t *json;

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

/** NULL when it is no text. */
static char *text(const json_t *object, const char *key)
{
    const char *value = json_string_value(json_object_get(object, key));

    return value ? rp_strdup(value) : NULL;
}

static void read_extent(const json_t *array, uint32_t ret[3])
{
    for (size_t i = 0; i < 3; i++) {
        json_int_t value = json_integer_value(json_array_get(array, i));

        ret[i] = value > 0 && value <= UINT32_MAX ? (uint32_t)value : 0;
    }
}

static void read_needs(const json_t *row, struct rp_kernel_facts *kernel)
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
    kernel->limiter = text(occupancy, "limiter");
    read_extent(json_object_get(row, "grid"), kernel->grid);
    read_extent(json_object_get(row, "block"), kernel->block);
    kernel->geometry_count = (size_t)json_integer_value(json_object_get(row, "geometries"));
}

static void read_row(const json_t *profile, const json_t *row, struct rp_kernel_facts *kernel)
{
    const json_t *gpus = json_object_get(profile, "gpus");
    const json_t *index = json_object_get(row, "gpu");
    const json_t *gpu = json_is_integer(index)
                            ? json_array_get(gpus, (size_t)json_integer_value(index))
                            : json_object_get(profile, "gpu");
    struct rp_quantity total_ms = number(row, "total_ms");

    kernel->name = text(row, "name");
    kernel->symbol = text(row, "symbol");
    kernel->arch = text(gpu, "architecture");
    kernel->product = text(gpu, "product");
    kernel->device = text(profile, "device");
    kernel->timing = text(json_object_get(profile, "timing"), "model");
    kernel->calls = number(row, "calls");
    kernel->time_ns = (struct rp_quantity){total_ms.known, total_ms.value * 1e6};
    kernel->runtime_internal = json_is_true(json_object_get(row, "runtime_internal"));
    read_needs(row, kernel);
}

static void add_fraction(struct rp_named_fraction **list, size_t *count, const char *name,
                         double fraction)
{
    *list = rp_realloc_array(*list, *count + 1, sizeof **list);
    (*list)[(*count)++] = (struct rp_named_fraction){rp_strdup(name), fraction};
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

static void add_rules(const json_t *rules, struct rp_kernel_facts *kernel)
{
    const json_t *rule;
    size_t i;

    json_array_foreach(rules, i, rule)
    {
        kernel->rules =
            rp_realloc_array(kernel->rules, kernel->rule_count + 1, sizeof *kernel->rules);
        kernel->rules[kernel->rule_count++] = (struct rp_fired_rule){
            .id = rp_strdup(json_string_value(json_object_get(rule, "id")) ?: "?"),
            .text = conditions_text(rule)};
    }
}

static int most_first(const void *a, const void *b)
{
    const struct rp_named_fraction *x = a, *y = b;

    if (x->fraction != y->fraction)
        return x->fraction > y->fraction ? -1 : 1;
    return strcmp(x->name, y->name);
}

static void add_features(const json_t *features, struct rp_kernel_facts *kernel)
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

        if (value.known && known[i].stall)
            add_fraction(&kernel->stalls, &kernel->stall_count, known[i].name, value.value);
        else if (value.known)
            add_fraction(&kernel->ceilings, &kernel->ceiling_count, known[i].name, value.value);
    }
    if (kernel->stall_count)
        qsort(kernel->stalls, kernel->stall_count, sizeof *kernel->stalls, most_first);
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

static void add_analysis(const json_t *analysis, struct rp_kernel_facts *kernel)
{
    const json_t *row = row_named(json_object_get(analysis, "kernels"), kernel->name);
    const json_t *label = json_object_get(row, "bottleneck");
    const json_t *traces = json_object_get(row, "thread_traces");

    if (!row)
        return;
    kernel->weight_basis = text(analysis, "basis");
    kernel->weight = number(row, "weight");
    kernel->headroom = number(row, "headroom_fraction");
    kernel->headroom_assumption = text(row, "headroom_assumption");
    kernel->end_to_end_bound = number(row, "end_to_end_bound");
    kernel->free_bound = number(row, "end_to_end_bound_if_free");
    kernel->bottleneck = text(label, "label");
    kernel->achieved_waves_per_simd =
        number(json_object_get(row, "occupancy"), "achieved_waves_per_simd");
    kernel->trace_partial = number(traces, "partial").value > 0;
    add_rules(json_object_get(label, "rules"), kernel);
    add_features(json_object_get(row, "features"), kernel);
}

static void add_roofline(const json_t *roofline, struct rp_kernel_facts *kernel)
{
    const json_t *row = row_named(json_object_get(roofline, "kernels"), kernel->name);
    struct rp_quantity read = number(row, "hbm_read_bytes"), write = number(row, "hbm_write_bytes");

    if (!row)
        return;
    kernel->bound = text(row, "bound");
    if (!kernel->bound_share.known)
        kernel->bound_share = number(row, "bound_share");
    kernel->flops = number(row, "flops");
    kernel->bytes = (struct rp_quantity){read.known && write.known, read.value + write.value};
    kernel->intensity = number(row, "arithmetic_intensity");
    kernel->gflops = number(row, "achieved_gflops");
    kernel->gbps = number(row, "achieved_bandwidth_gbps");
}

static void add_line(struct rp_kernel_facts *kernel, const char *place, uint64_t cycles)
{
    for (size_t i = 0; i < kernel->line_count; i++)
        if (strcmp(kernel->lines[i].place, place) == 0) {
            kernel->lines[i].stall_cycles += cycles;
            return;
        }
    kernel->lines = rp_realloc_array(kernel->lines, kernel->line_count + 1, sizeof *kernel->lines);
    kernel->lines[kernel->line_count++] = (struct rp_stalled_line){rp_strdup(place), cycles, 0};
}

static int most_stalled_first(const void *a, const void *b)
{
    const struct rp_stalled_line *x = a, *y = b;

    if (x->stall_cycles != y->stall_cycles)
        return x->stall_cycles > y->stall_cycles ? -1 : 1;
    return strcmp(x->place, y->place);
}

/** Instructions of the kernel's own rows only: a trace lists the functions of its code object. */
static void add_trace(const json_t *trace, struct rp_kernel_facts *kernel, uint64_t *sum)
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
        if (source && *source)
            add_line(kernel, source, (uint64_t)cycles);
    }
}

static void add_lines(const json_t *traces, struct rp_kernel_facts *kernel)
{
    const json_t *trace;
    uint64_t sum = 0;
    size_t i;

    json_array_foreach(json_object_get(traces, "thread_trace"), i, trace)
    {
        if (!same_text(trace, "completeness", "damaged"))
            add_trace(trace, kernel, &sum);
    }
    if (!kernel->line_count)
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
    size_t i;

    if (!json_is_array(rows))
        return rp_fail(err, RP_BAD_INPUT, "profile.json has no kernels[]");
    facts->device = text(files->profile, "device");
    facts->runtime_ms = number(files->profile, "runtime_ms");
    facts->launches = number(json_object_get(files->profile, "launches"), "calls");
    facts->failed_launches = number(json_object_get(files->profile, "launches"), "failed");
    facts->kernels = rp_alloc_zero(json_array_size(rows) + 1, sizeof *facts->kernels);
    json_array_foreach(rows, i, row)
    {
        struct rp_kernel_facts *kernel = &facts->kernels[facts->count++];

        read_row(files->profile, row, kernel);
        if (!kernel->name)
            return rp_fail(err, RP_BAD_INPUT, "profile.json: a kernel has no name");
        add_analysis(files->analysis, kernel);
        add_roofline(files->roofline, kernel);
        add_lines(files->traces, kernel);
    }
    return 0;
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

static double sum_of_times(const struct rp_facts *facts)
{
    double sum = 0;

    for (size_t i = 0; i < facts->count; i++)
        sum += facts->kernels[i].time_ns.known ? facts->kernels[i].time_ns.value : 0;
    return sum;
}

/** The analysis knows what remains when the headroom is gone; else the other part of the time. */
static struct rp_quantity amdahl(const struct rp_rank_entry *entry,
                                 const struct rp_kernel_facts *kernel)
{
    const double gone = entry->weight.value * entry->headroom.value;

    if (kernel->end_to_end_bound.known)
        return kernel->end_to_end_bound;
    if (!entry->weight.known || !entry->headroom.known || gone >= 1)
        return (struct rp_quantity){0};
    return (struct rp_quantity){true, 1 / (1 - gone)};
}

static void weigh(const struct rp_kernel_facts *kernel, double sum_ns, struct rp_rank_entry *entry)
{
    entry->weight = kernel->weight;
    entry->weight_of_kernel_time = !kernel->weight.known || !kernel->weight_basis ||
                                   strcmp(kernel->weight_basis, "critical_path") != 0;
    if (!entry->weight.known && kernel->time_ns.known && sum_ns > 0)
        entry->weight = (struct rp_quantity){true, kernel->time_ns.value / sum_ns};
    entry->headroom = kernel->headroom;
    if (entry->weight.known)
        entry->priority = (struct rp_quantity){
            true, entry->weight.value * (entry->headroom.known ? entry->headroom.value : 1)};
    entry->bound = amdahl(entry, kernel);
}

static char *percent_text(const char *what, double part, double least)
{
    return rp_format("%s %.1f %%, less than %.0f %%", what, 100 * part, 100 * least);
}

/** Says why it is not tried, if it is not. */
static void set_stop(const struct rp_kernel_facts *kernel, const struct rp_rank_limits *limits,
                     bool is_named, bool others_named, struct rp_rank_entry *entry)
{
    const char *why = NULL;

    if (kernel->runtime_internal)
        why = "it belongs to the HIP runtime";
    else if (!kernel->symbol || !*kernel->symbol)
        why = "the trace does not name its symbol";
    else if (others_named && !is_named)
        why = "--kernel does not name it";
    else if (is_named)
        return;
    else if (!entry->weight.known)
        why = "its part of the time is not known";
    else if (kernel->bottleneck && strcmp(kernel->bottleneck, "launch_host_bound") == 0)
        why = "its launches take the time, not its code";
    if (why)
        entry->stop = rp_strdup(why);
    else if (entry->weight.value < limits->least_weight)
        entry->stop =
            percent_text("its part of the time is", entry->weight.value, limits->least_weight);
    else if (entry->headroom.known && entry->headroom.value < limits->least_headroom)
        entry->stop =
            percent_text("what it could gain is", entry->headroom.value, limits->least_headroom);
}

static int by_number(struct rp_quantity a, struct rp_quantity b)
{
    if (a.known != b.known)
        return a.known ? -1 : 1;
    return a.value > b.value ? -1 : a.value < b.value;
}

static int compare(const void *left, const void *right, void *context)
{
    const struct rp_rank_entry *a = left, *b = right;
    const struct rp_facts *facts = context;
    const char *x = facts->kernels[a->kernel].symbol, *y = facts->kernels[b->kernel].symbol;
    int order;

    if (!a->stop != !b->stop)
        return a->stop ? 1 : -1;
    order = by_number(a->priority, b->priority);
    if (order == 0)
        order = by_number(a->weight, b->weight);
    if (order == 0)
        order = strcmp(x ? x : "", y ? y : "");
    return order ? order : a->kernel < b->kernel ? -1 : 1;
}

void rp_rank_kernels(const struct rp_facts *facts, const struct rp_rank_limits *limits,
                     const bool *wanted, struct rp_rank *ret)
{
    struct rp_rank rank = {.entries = rp_alloc_zero(facts->count + 1, sizeof *rank.entries),
                           .count = facts->count};
    const double sum_ns = sum_of_times(facts);

    for (size_t i = 0; i < facts->count; i++) {
        struct rp_rank_entry *entry = &rank.entries[i];

        entry->kernel = i;
        weigh(&facts->kernels[i], sum_ns, entry);
        set_stop(&facts->kernels[i], limits, wanted && wanted[i], wanted != NULL, entry);
        rank.tried += !entry->stop;
    }
    qsort_r(rank.entries, rank.count, sizeof *rank.entries, compare,
            (void *)(uintptr_t)(const void *)facts);
    *ret = rank;
}

void rp_rank_free(struct rp_rank *rank)
{
    for (size_t i = 0; i < rank->count; i++)
        free(rank->entries[i].stop);
    free(rank->entries);
    *rank = (struct rp_rank){0};
}

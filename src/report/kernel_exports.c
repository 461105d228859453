/* Writes the numbers of kernels for other programs: CSV and OpenMetrics. The forms of a report
 * share what is said of the origin of times. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/bottleneck.h"
#include "analyze/dag.h"
#include "analyze/profile.h"
#include "analyze/roofline.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/utf8.h"
#include "report/ci_text.h"
#include "report/report.h"

/* This is a number of a kernel, from a row of kernel_values.def. */
struct rp_form_value {
    const char *name, *metric, *unit, *help;
    double scale; /**< from the value to the unit of the metric */
};

/* Holds a kernel with its rows there. NULL means that there is none, or more than one. */
struct rp_form_kernel {
    const struct rp_bottleneck_kernel *k;
    const struct rp_roofline_kernel *r;
    const struct rp_kernel_summary *s;
    const char *gpu; /**< "gfx942"; "" */
};

enum { RP_FORM_MOST_VALUES = 32 };

/* --- numbers of kernels --------------------------------------------------------------------- */

static const struct rp_form_value parts_values[] = {
#define RP_KERNEL_VALUE(name_, metric_, unit_, scale_, help_, value_)                              \
    {.name = name_, .metric = metric_, .unit = unit_, .scale = scale_, .help = help_},
#include "report/kernel_values.def"
#undef RP_KERNEL_VALUE
};

static_assert(sizeof parts_values / sizeof parts_values[0] <= RP_FORM_MOST_VALUES,
              "callers have no room");

static const struct rp_form_value *form_values(size_t *ret_count)
{
    *ret_count = sizeof parts_values / sizeof parts_values[0];
    return parts_values;
}

static struct rp_quantity rp_form_count(uint64_t calls)
{
    return (struct rp_quantity){.known = calls != 0, .value = (double)calls};
}

#define RP_FORM_OF(r, field) ((r) ? (r)->field : (struct rp_quantity){0})

static struct rp_quantity rp_form_register(const struct rp_kernel_summary *s, uint32_t value)
{
    return (struct rp_quantity){.known = s && s->symbol_known, .value = value};
}

static struct rp_quantity rp_form_bytes(const struct rp_kernel_summary *s, uint32_t value)
{
    return (struct rp_quantity){.known = rp_kernel_bytes_known(s, value), .value = value};
}

/* Computes work-items of a kernel that is always launched in the same way. */
static struct rp_quantity rp_form_items(const struct rp_kernel_summary *s, double x, double y,
                                        double z)
{
    return (struct rp_quantity){.known = rp_kernel_launch_known(s) && s->geometries == 1,
                                .value = x * y * z};
}

/* Computes all numbers of a kernel.
 * @param ret RP_FORM_MOST_VALUES */
static void form_values_of(const struct rp_form_kernel *kernel, struct rp_quantity *ret)
{
    static const struct rp_kernel_summary none;
    const struct rp_bottleneck_kernel *k = kernel->k;
    const struct rp_roofline_kernel *r = kernel->r;
    const struct rp_kernel_summary *s = kernel->s;
    const struct rp_kernel_resources *of = s ? &s->resources : &none.resources;
    const uint64_t *grid = s ? s->grid : none.grid;
    const uint32_t *block = s ? s->block : none.block;
    size_t i = 0;

#define RP_KERNEL_VALUE(name_, metric_, unit_, scale_, help_, value_) ret[i++] = value_;
#include "report/kernel_values.def"
#undef RP_KERNEL_VALUE
}

/* --- what else is known of kernels ---------------------------------------------------------- */

static int by_kernel_name(const void *a, const void *b)
{
    const struct rp_roofline_kernel *const *x = a, *const *y = b;

    return strcmp((*x)->name, (*y)->name);
}

static int by_summary_name(const void *a, const void *b)
{
    const struct rp_kernel_summary *const *x = a, *const *y = b;

    return strcmp((*x)->name, (*y)->name);
}

int rp_form_known_make(const struct rp_report_parts *parts, struct rp_form_known *ret,
                       struct rp_err *err)
{
    const size_t counted = parts->roofline ? parts->roofline->kernel_count : 0;
    const size_t launched = parts->profile ? parts->profile->kernel_count : 0;

    *ret = (struct rp_form_known){.counted = malloc((counted + 1) * sizeof *ret->counted),
                                  .launched = malloc((launched + 1) * sizeof *ret->launched),
                                  .profile = parts->profile};
    if (!ret->counted || !ret->launched) {
        rp_form_known_free(ret);
        return rp_out_of_memory(err);
    }
    for (size_t i = 0; i < counted; i++)
        ret->counted[ret->counted_count++] = &parts->roofline->kernels[i];
    for (size_t i = 0; i < launched; i++)
        ret->launched[ret->launched_count++] = &parts->profile->kernels[i];
    qsort(ret->counted, counted, sizeof *ret->counted, by_kernel_name);
    qsort(ret->launched, launched, sizeof *ret->launched, by_summary_name);
    return 0;
}

void rp_form_known_free(struct rp_form_known *known)
{
    free(known->counted);
    free(known->launched);
    *known = (struct rp_form_known){0};
}

/* Finds the rows of a kernel in the roofline, one for each GPU that it ran on. */
static const struct rp_roofline_kernel *const *form_counted(const struct rp_form_known *known,
                                                            const char *name, size_t *ret_count)
{
    const struct rp_roofline_kernel key = {.name = name}, *wanted = &key, **found;
    const struct rp_roofline_kernel **end = known->counted + known->counted_count;

    *ret_count = 0;
    found = bsearch(&wanted, known->counted, known->counted_count, sizeof *known->counted,
                    by_kernel_name);
    if (!found)
        return NULL;
    while (found > known->counted && strcmp(found[-1]->name, name) == 0)
        found--;
    while (found + *ret_count < end && strcmp(found[*ret_count]->name, name) == 0)
        ++*ret_count;
    return found;
}

static const struct rp_roofline_kernel *find_counted(const struct rp_form_known *known,
                                                     const char *name)
{
    size_t count;
    const struct rp_roofline_kernel *const *found = form_counted(known, name, &count);

    return count == 1 ? *found : NULL;
}

static const struct rp_kernel_summary *find_launched(const struct rp_form_known *known,
                                                     const char *name)
{
    const struct rp_kernel_summary key = {.name = name}, *wanted = &key, **found;
    size_t at;

    found = bsearch(&wanted, known->launched, known->launched_count, sizeof *known->launched,
                    by_summary_name);
    if (!found)
        return NULL;
    at = (size_t)(found - known->launched);
    if ((at > 0 && strcmp(found[-1]->name, name) == 0) ||
        (at + 1 < known->launched_count && strcmp(found[1]->name, name) == 0))
        return NULL;
    return *found;
}

static struct rp_form_kernel form_kernel_of(const struct rp_form_known *known,
                                            const struct rp_bottleneck_kernel *k)
{
    struct rp_form_kernel ret = {
        .k = k, .r = find_counted(known, k->name), .s = find_launched(known, k->name), .gpu = ""};

    if (ret.s)
        ret.gpu = known->profile->agents[ret.s->agent].name;
    return ret;
}

/* --- what is wrong -------------------------------------------------------------------------- */

const struct rp_launches *rp_form_launches(const struct rp_report_parts *parts)
{
    return parts->profile && parts->profile->launches.known ? &parts->profile->launches : NULL;
}

/* Says whether the kernel has a rate at this level, on any GPU, that no GPU of its kind can have.
 */
static bool form_is_impossible(const struct rp_form_known *known, const char *name,
                               enum rp_level level)
{
    size_t count;
    const struct rp_roofline_kernel *const *of = form_counted(known, name, &count);

    for (size_t i = 0; i < count; i++)
        if (of[i]->peak[level] == RP_PEAK_IMPOSSIBLE)
            return true;
    return false;
}

size_t rp_form_put_impossible(struct rp_buf *buf, const struct rp_form_known *known,
                              const char *name, const char *separator)
{
    size_t count = 0;

    for (unsigned l = 0; l < RP_LEVEL_COUNT; l++)
        if (form_is_impossible(known, name, (enum rp_level)l))
            rp_buf_printf(buf, "%s%s", count++ ? separator : "", rp_level_names[l]);
    return count;
}

/* --- where times are from ------------------------------------------------------------------- */

const char *rp_form_device(const struct rp_report_parts *parts)
{
    if (rp_form_is_software(parts))
        return "software";
    return parts->bottlenecks->origin.device ?: "";
}

bool rp_form_is_software(const struct rp_report_parts *parts)
{
    const char *device = parts->bottlenecks->origin.device;
    const char *graph = parts->dag ? parts->dag->device : NULL;

    return (device && strcmp(device, "software") == 0) ||
           (graph && strcmp(graph, "software") == 0) || parts->bottlenecks->modelled_waves;
}

/* Returns "counts" and so on, or "". */
static const char *form_timing(const struct rp_report_parts *parts)
{
    return parts->bottlenecks->origin.timing_model ?: "";
}

void rp_form_put_mark(struct rp_buf *buf, const struct rp_report_parts *parts)
{
    rp_autobuf line = {0};
    const struct rp_page page = {.out = &line, .width = 200};

    if (!rp_form_is_software(parts))
        return;
    rp_software_line(&page, parts->bottlenecks->origin.timing_model);
    rp_buf_add(buf, rp_buf_text(&line), line.len ? line.len - 1 : 0);
    buf->failed |= line.failed;
}

/* Appends a number if it is known and finite.
 * @return whether it is */
static bool form_put_number(struct rp_buf *buf, struct rp_quantity value, double scale)
{
    /* It is divided by a whole number, because 1500 * 1e-9 is not 1.5e-6. */
    double scaled = scale < 1 ? value.value / round(1 / scale) : value.value * scale;

    if (!value.known || !isfinite(scaled))
        return false;
    rp_buf_number(buf, scale < 1 ? scaled : rp_round6(scaled));
    return true;
}

/* The CSV has a row for each kernel, for spreadsheets and scripts. It follows RFC 4180, but lines
 * end as on Unix. */

/* Holds sums of a kernel's counters over its GPUs. */
struct counted {
    double *sums;
    uint64_t *dispatches;
    size_t count;
};

static void counted_free(struct counted *c)
{
    free(c->sums);
    free(c->dispatches);
}

static bool has_counters(const struct rp_report_parts *parts)
{
    return parts->roofline && parts->roofline->counter_name_count > 0;
}

/* Writes the derived values first, then each counter under its own name: sum, mean and how often.
 */
static void put_counter_heads(struct rp_buf *buf, const struct rp_report_parts *parts)
{
    static const char *const suffixes[] = {"", ":mean", ":dispatches"};

    if (!has_counters(parts))
        return;
    for (unsigned i = 0; i < RP_DERIVED_COUNT; i++)
        rp_buf_printf(buf, ",%s", rp_derived_info((enum rp_derived)i)->name);
    for (size_t i = 0; i < parts->roofline->counter_name_count; i++)
        for (size_t k = 0; k < sizeof suffixes / sizeof *suffixes; k++) {
            rp_autobuf name = {0};

            rp_buf_printf(&name, "%s%s", parts->roofline->counter_names[i], suffixes[k]);
            rp_buf_puts(buf, ",");
            rp_csv_cell(buf, rp_buf_text(&name));
            buf->failed |= name.failed;
        }
}

/* Derived values belong to one GPU. Where all GPUs have the same value, it is the kernel's. */
static struct rp_quantity derived_of_all(const struct rp_roofline_kernel *const *of, size_t count,
                                         unsigned derived)
{
    struct rp_quantity q = count ? of[0]->derived[derived].q : (struct rp_quantity){0};

    for (size_t k = 1; k < count; k++) {
        const struct rp_quantity *other = &of[k]->derived[derived].q;

        q.known = q.known && other->known && other->value == q.value;
    }
    return q;
}

static void put_counters(struct rp_buf *buf, const struct rp_form_known *known, const char *name,
                         struct counted *c)
{
    size_t count;
    const struct rp_roofline_kernel *const *of = form_counted(known, name, &count);

    memset(c->sums, 0, c->count * sizeof *c->sums);
    memset(c->dispatches, 0, c->count * sizeof *c->dispatches);
    for (unsigned i = 0; i < RP_DERIVED_COUNT; i++) {
        rp_buf_puts(buf, ",");
        form_put_number(buf, derived_of_all(of, count, i), 1);
    }
    for (size_t k = 0; k < count; k++)
        for (size_t i = 0; i < of[k]->count_count; i++) {
            c->sums[of[k]->counts[i].counter] += of[k]->counts[i].sum;
            c->dispatches[of[k]->counts[i].counter] += of[k]->counts[i].dispatches;
        }
    for (size_t i = 0; i < c->count; i++) {
        double n = (double)c->dispatches[i];

        rp_buf_puts(buf, ",");
        if (c->dispatches[i] == 0) {
            rp_buf_puts(buf, ",,0");
            continue;
        }
        rp_buf_number(buf, c->sums[i]);
        rp_buf_puts(buf, ",");
        rp_buf_number(buf, rp_round6(c->sums[i] / n));
        rp_buf_printf(buf, ",%" PRIu64, c->dispatches[i]);
    }
}

/* Writes what only statistics of kernels have. */
static void put_statistics(struct rp_buf *buf, const struct rp_bottleneck_kernel *k)
{
    const struct rp_quantity of[] = {k->features.of[RP_FEATURE_DURATION_NS], k->min_ns, k->max_ns,
                                     k->deviation_ns};

    for (size_t i = 0; i < sizeof of / sizeof of[0]; i++) {
        rp_buf_puts(buf, ",");
        form_put_number(buf, of[i], 1);
    }
}

static void put_row(struct rp_buf *buf, const struct rp_report_parts *parts,
                    const struct rp_form_kernel *kernel)
{
    const struct rp_bottleneck_kernel *k = kernel->k;
    const struct rp_roofline_kernel *r = kernel->r;
    struct rp_quantity numbers[RP_FORM_MOST_VALUES];
    size_t count;

    form_values(&count);
    form_values_of(kernel, numbers);
    rp_csv_cell(buf, k->name);
    rp_buf_puts(buf, ",");
    rp_csv_cell(buf, rp_form_device(parts));
    rp_buf_puts(buf, ",");
    rp_csv_cell(buf, form_timing(parts));
    rp_buf_printf(buf, ",%s,%s,%s,%s", rp_bottleneck_names[k->label],
                  rp_rank_basis_names[parts->bottlenecks->basis] ?: "", k->residency.limiter ?: "",
                  r ? rp_bound_names[r->bound] ?: "" : "");
    for (size_t i = 0; i < count; i++) {
        rp_buf_puts(buf, ",");
        form_put_number(buf, numbers[i], 1);
    }
    rp_buf_puts(buf, ",");
    rp_csv_cell(buf, kernel->gpu);
}

/* Writes the reasons to doubt a row: rates that no GPU can have, launches that failed. */
static void put_doubts(struct rp_buf *buf, const struct rp_report_parts *parts,
                       const struct rp_form_known *known, const char *name)
{
    const struct rp_launches *launches = rp_form_launches(parts);

    rp_buf_puts(buf, ",");
    rp_form_put_impossible(buf, known, name, " ");
    rp_buf_puts(buf, ",");
    if (launches)
        rp_buf_printf(buf, "%" PRIu64, launches->failed);
}

int rp_form_csv(const struct rp_report_parts *parts, struct rp_buf *buf, struct rp_err *err)
{
    rp_cleanup(rp_form_known_free) struct rp_form_known known = {0};
    rp_cleanup(counted_free) struct counted counted = {0};
    const struct rp_bottlenecks *b = parts->bottlenecks;
    const struct rp_form_value *values;
    size_t count;

    if (rp_form_known_make(parts, &known, err) < 0)
        return -RP_ENVIRONMENT;
    if (has_counters(parts))
        counted.count = parts->roofline->counter_name_count;
    counted.sums = calloc(counted.count + 1, sizeof *counted.sums);
    counted.dispatches = calloc(counted.count + 1, sizeof *counted.dispatches);
    if (!counted.sums || !counted.dispatches)
        return rp_out_of_memory(err);
    values = form_values(&count);
    rp_buf_puts(buf, "kernel,device,timing_model,bottleneck,weight_of,occupancy_limiter,bound");
    for (size_t i = 0; i < count; i++)
        rp_buf_printf(buf, ",%s", values[i].name);
    rp_buf_puts(buf, ",gpu");
    put_counter_heads(buf, parts);
    rp_buf_puts(buf, b->sums_alone ? ",mean_ns,min_ns,max_ns,stddev_ns" : "");
    rp_buf_puts(buf, ",impossible_rates,failed_launches\n");
    for (size_t i = 0; i < b->kernel_count; i++) {
        const struct rp_form_kernel kernel = form_kernel_of(&known, &b->kernels[i]);

        put_row(buf, parts, &kernel);
        if (has_counters(parts))
            put_counters(buf, &known, b->kernels[i].name, &counted);
        if (b->sums_alone)
            put_statistics(buf, &b->kernels[i]);
        put_doubts(buf, parts, &known, b->kernels[i].name);
        rp_buf_puts(buf, "\n");
    }
    return rp_report_end(buf, err);
}

/* The format is OpenMetrics 1.0: gauges with the unit in their names. */

/* Writes the labels that each sample has: the origin and the subject of its time. */
static void put_origin(struct rp_buf *buf, const struct rp_report_parts *parts)
{
    const char *device = rp_form_device(parts);

    rp_metrics_label(buf, "device", *device ? device : "unknown");
    if (*form_timing(parts)) {
        rp_buf_puts(buf, ",");
        rp_metrics_label(buf, "timing_model", form_timing(parts));
    }
    rp_buf_puts(buf, ",");
    rp_metrics_label(buf, "title", parts->title);
}

static void put_family(struct rp_buf *buf, const struct rp_report_parts *parts, const char *metric,
                       const char *unit, const char *help)
{
    rp_buf_printf(buf, "# TYPE rocm_perf_%s gauge\n", metric);
    if (*unit)
        rp_buf_printf(buf, "# UNIT rocm_perf_%s %s\n", metric, unit);
    rp_buf_printf(buf, "# HELP rocm_perf_%s %s%s\n", metric, help,
                  rp_form_is_software(parts) ? " Software device: times are modelled." : "");
}

/* --- of kernels ----------------------------------------------------------------------------- */

/* No two samples of a family may have the same labels, so names that are the same once they are
 * escaped get numbers. */
struct labels {
    char **text; /**< per kernel */
    size_t count;
};

static void free_labels(struct labels *labels)
{
    for (size_t i = 0; i < labels->count; i++)
        free(labels->text[i]);
    free(labels->text);
}

static int by_label(const void *a, const void *b)
{
    const char *const *const *x = a, *const *const *y = b;
    int order = strcmp(**x, **y);

    return order ? order : (*x > *y) - (*x < *y);
}

static int number_same(struct labels *labels, struct rp_err *err)
{
    rp_autofree char ***sorted = malloc((labels->count + 1) * sizeof *sorted);
    size_t same = 1;

    if (!sorted)
        return rp_out_of_memory(err);
    for (size_t i = 0; i < labels->count; i++)
        sorted[i] = &labels->text[i];
    qsort(sorted, labels->count, sizeof *sorted, by_label);
    for (size_t i = labels->count; i-- > 1;) {
        struct rp_buf text = {0};

        for (same = 1; same <= i && strcmp(*sorted[i], *sorted[i - same]) == 0;)
            same++;
        if (same == 1)
            continue;
        rp_buf_printf(&text, "%s #%zu", *sorted[i], same);
        free(*sorted[i]);
        *sorted[i] = rp_buf_steal(&text);
        if (!*sorted[i])
            return rp_out_of_memory(err);
    }
    return 0;
}

static int make_labels(const struct rp_bottlenecks *b, struct labels *ret, struct rp_err *err)
{
    ret->text = calloc(b->kernel_count + 1, sizeof *ret->text);
    if (!ret->text)
        return rp_out_of_memory(err);
    for (ret->count = 0; ret->count < b->kernel_count; ret->count++) {
        struct rp_buf text = {0};

        rp_metrics_clean(&text, b->kernels[ret->count].name);
        ret->text[ret->count] = rp_buf_steal(&text);
        if (!ret->text[ret->count])
            return rp_out_of_memory(err);
    }
    return number_same(ret, err);
}

static void put_kernels(struct rp_buf *buf, const struct rp_report_parts *parts,
                        const struct labels *labels, const struct rp_form_known *known)
{
    const struct rp_bottlenecks *b = parts->bottlenecks;
    struct rp_quantity numbers[RP_FORM_MOST_VALUES];
    const struct rp_form_value *values;
    size_t count;

    values = form_values(&count);
    for (size_t v = 0; v < count; v++) {
        put_family(buf, parts, values[v].metric, values[v].unit, values[v].help);
        for (size_t i = 0; i < b->kernel_count; i++) {
            const struct rp_form_kernel kernel = form_kernel_of(known, &b->kernels[i]);
            rp_autobuf number = {0};

            form_values_of(&kernel, numbers);
            if (!form_put_number(&number, numbers[v], values[v].scale))
                continue;
            rp_buf_printf(buf, "rocm_perf_%s{", values[v].metric);
            put_origin(buf, parts);
            rp_buf_puts(buf, ",");
            rp_metrics_label(buf, "kernel", labels->text[i]);
            rp_buf_printf(buf, "} %s\n", rp_buf_text(&number));
            buf->failed |= number.failed;
        }
    }
}

/* Writes the device and the findings of a kernel, to be joined with its numbers. */
static void put_info(struct rp_buf *buf, const struct rp_report_parts *parts,
                     const struct labels *labels, const struct rp_form_known *known)
{
    const struct rp_bottlenecks *b = parts->bottlenecks;

    rp_buf_puts(buf, "# TYPE rocm_perf_kernel info\n"
                     "# HELP rocm_perf_kernel GPU and bottleneck of a kernel.\n");
    for (size_t i = 0; i < b->kernel_count; i++) {
        const struct rp_form_kernel kernel = form_kernel_of(known, &b->kernels[i]);

        rp_buf_puts(buf, "rocm_perf_kernel_info{");
        put_origin(buf, parts);
        rp_buf_puts(buf, ",");
        rp_metrics_label(buf, "kernel", labels->text[i]);
        rp_buf_puts(buf, ",");
        rp_metrics_label(buf, "gpu", kernel.gpu);
        rp_buf_puts(buf, ",");
        rp_metrics_label(buf, "bottleneck", rp_bottleneck_names[b->kernels[i].label]);
        rp_buf_puts(buf, "} 1\n");
    }
}

/* Writes rates that no GPU of this kind can have: counters, times or the GPU are then not of one
 * run. */
static void put_impossible(struct rp_buf *buf, const struct rp_report_parts *parts,
                           const struct labels *labels, const struct rp_form_known *known)
{
    const struct rp_bottlenecks *b = parts->bottlenecks;

    put_family(buf, parts, "kernel_impossible_rate", "",
               "1: no GPU of this kind has such a rate at this level of memory; the counters, the "
               "times or the GPU are wrong.");
    for (size_t i = 0; i < b->kernel_count; i++)
        for (unsigned l = 0; l < RP_LEVEL_COUNT; l++) {
            if (!form_is_impossible(known, b->kernels[i].name, (enum rp_level)l))
                continue;
            rp_buf_puts(buf, "rocm_perf_kernel_impossible_rate{");
            put_origin(buf, parts);
            rp_buf_puts(buf, ",");
            rp_metrics_label(buf, "kernel", labels->text[i]);
            rp_buf_puts(buf, ",");
            rp_metrics_label(buf, "level", rp_level_names[l]);
            rp_buf_puts(buf, "} 1\n");
        }
}

/* --- of the whole --------------------------------------------------------------------------- */

static void put_seconds(struct rp_buf *buf, int64_t ns)
{
    rp_buf_number(buf, (double)ns / 1e9);
    rp_buf_puts(buf, "\n");
}

static void put_whole(struct rp_buf *buf, const struct rp_report_parts *parts)
{
    put_family(buf, parts, "end_to_end_seconds", "seconds",
               "From the first call or operation to the last.");
    rp_buf_puts(buf, "rocm_perf_end_to_end_seconds{");
    put_origin(buf, parts);
    rp_buf_puts(buf, "} ");
    put_seconds(buf, parts->dag->makespan_ns);
    put_family(buf, parts, "critical_path_seconds", "seconds",
               "What the end-to-end time is spent on.");
    for (unsigned i = 0; i < RP_DAG_PART_COUNT; i++) {
        rp_buf_puts(buf, "rocm_perf_critical_path_seconds{");
        put_origin(buf, parts);
        rp_buf_puts(buf, ",");
        rp_metrics_label(buf, "part", rp_dag_part_names[i]);
        rp_buf_puts(buf, "} ");
        put_seconds(buf, parts->dag->path_ns[i]);
    }
}

static void put_launches(struct rp_buf *buf, const struct rp_report_parts *parts)
{
    const struct rp_launches *launches = rp_form_launches(parts);

    if (!launches)
        return;
    put_family(buf, parts, "failed_launches", "",
               "Launches that started no kernel: their work is in no time.");
    rp_buf_puts(buf, "rocm_perf_failed_launches{");
    put_origin(buf, parts);
    rp_buf_printf(buf, "} %" PRIu64 "\n", launches->failed);
}

int rp_form_openmetrics(const struct rp_report_parts *parts, struct rp_buf *buf, struct rp_err *err)
{
    rp_cleanup(rp_form_known_free) struct rp_form_known known = {0};
    rp_cleanup(free_labels) struct labels labels = {0};

    if (rp_form_known_make(parts, &known, err) < 0 ||
        make_labels(parts->bottlenecks, &labels, err) < 0)
        return -RP_ENVIRONMENT;
    if (parts->dag)
        put_whole(buf, parts);
    put_launches(buf, parts);
    put_info(buf, parts, &labels, &known);
    put_kernels(buf, parts, &labels, &known);
    if (parts->roofline)
        put_impossible(buf, parts, &labels, &known);
    rp_buf_puts(buf, "# EOF\n");
    return rp_report_end(buf, err);
}

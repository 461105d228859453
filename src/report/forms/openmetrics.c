/* OpenMetrics 1.0: gauges with the unit in their names. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/utf8.h"
#include "report/forms/forms.h"
#include "report/forms/parts.h"
#include "report/text.h"
#include "rocm-perf/dag.h"

/* Escaped, but for line ends: the format has its own way to write these. */
static void clean_label(struct rp_buf *buf, const char *text)
{
    for (;;) {
        const size_t bytes = strcspn(text, "\n");
        rp_autobuf line = {0};

        rp_buf_add(&line, text, bytes);
        rp_escape(buf, rp_buf_text(&line));
        buf->failed |= line.failed;
        if (!text[bytes])
            return;
        rp_buf_puts(buf, "\n");
        text += bytes + 1;
    }
}

static void put_label(struct rp_buf *buf, const char *name, const char *text)
{
    rp_autobuf clean = {0};

    clean_label(&clean, text);
    rp_buf_printf(buf, "%s=\"", name);
    for (const char *p = rp_buf_text(&clean); *p; p++)
        if (*p == '\n')
            rp_buf_puts(buf, "\\n");
        else
            rp_buf_printf(buf, *p == '"' || *p == '\\' ? "\\%c" : "%c", *p);
    rp_buf_puts(buf, "\"");
    buf->failed |= clean.failed;
}

/* The labels that each sample has: where its time is from, and of what. */
static void put_origin(struct rp_buf *buf, const struct rp_report_parts *parts)
{
    const char *device = rp_form_device(parts);

    put_label(buf, "device", *device ? device : "unknown");
    if (*rp_form_timing(parts)) {
        rp_buf_puts(buf, ",");
        put_label(buf, "timing_model", rp_form_timing(parts));
    }
    rp_buf_puts(buf, ",");
    put_label(buf, "title", parts->title);
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

/* No two samples of a family may have the same labels: names that are the same once they are
 * escaped get numbers. */
struct labels {
    char **text; /* per kernel */
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

        clean_label(&text, b->kernels[ret->count].name);
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

    values = rp_form_values(&count);
    for (size_t v = 0; v < count; v++) {
        put_family(buf, parts, values[v].metric, values[v].unit, values[v].help);
        for (size_t i = 0; i < b->kernel_count; i++) {
            const struct rp_form_kernel kernel = rp_form_kernel_of(known, &b->kernels[i]);
            rp_autobuf number = {0};

            rp_form_values_of(&kernel, numbers);
            if (!rp_form_put_number(&number, numbers[v], values[v].scale))
                continue;
            rp_buf_printf(buf, "rocm_perf_%s{", values[v].metric);
            put_origin(buf, parts);
            rp_buf_puts(buf, ",");
            put_label(buf, "kernel", labels->text[i]);
            rp_buf_printf(buf, "} %s\n", rp_buf_text(&number));
            buf->failed |= number.failed;
        }
    }
}

/* What a kernel ran on, and what was found of it: to be joined with its numbers. */
static void put_info(struct rp_buf *buf, const struct rp_report_parts *parts,
                     const struct labels *labels, const struct rp_form_known *known)
{
    const struct rp_bottlenecks *b = parts->bottlenecks;

    rp_buf_puts(buf, "# TYPE rocm_perf_kernel info\n"
                     "# HELP rocm_perf_kernel GPU and bottleneck of a kernel.\n");
    for (size_t i = 0; i < b->kernel_count; i++) {
        const struct rp_form_kernel kernel = rp_form_kernel_of(known, &b->kernels[i]);

        rp_buf_puts(buf, "rocm_perf_kernel_info{");
        put_origin(buf, parts);
        rp_buf_puts(buf, ",");
        put_label(buf, "kernel", labels->text[i]);
        rp_buf_puts(buf, ",");
        put_label(buf, "gpu", kernel.gpu);
        rp_buf_puts(buf, ",");
        put_label(buf, "bottleneck", rp_bottleneck_name(b->kernels[i].label));
        rp_buf_puts(buf, "} 1\n");
    }
}

/* Rates that no GPU of the kind can have: counters, times or the GPU are not those of one run. */
static void put_impossible(struct rp_buf *buf, const struct rp_report_parts *parts,
                           const struct labels *labels, const struct rp_form_known *known)
{
    const struct rp_bottlenecks *b = parts->bottlenecks;

    put_family(buf, parts, "kernel_impossible_rate", "",
               "1: no GPU of this kind has such a rate at this level of memory; the counters, the "
               "times or the GPU are wrong.");
    for (size_t i = 0; i < b->kernel_count; i++)
        for (unsigned l = 0; l < RP_LEVEL_COUNT; l++) {
            if (!rp_form_is_impossible(known, b->kernels[i].name, (enum rp_level)l))
                continue;
            rp_buf_puts(buf, "rocm_perf_kernel_impossible_rate{");
            put_origin(buf, parts);
            rp_buf_puts(buf, ",");
            put_label(buf, "kernel", labels->text[i]);
            rp_buf_puts(buf, ",");
            put_label(buf, "level", rp_level_name((enum rp_level)l));
            rp_buf_puts(buf, "} 1\n");
        }
}

/* --- of the whole --------------------------------------------------------------------------- */

static void put_seconds(struct rp_buf *buf, int64_t ns)
{
    rp_text_json_number(buf, (double)ns / 1e9);
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
        put_label(buf, "part", rp_dag_part_name((enum rp_dag_part)i));
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
    return buf->failed ? rp_out_of_memory(err) : 0;
}

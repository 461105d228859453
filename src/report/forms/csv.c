/* A row for each kernel, for spreadsheets and scripts: RFC 4180 with lines that end as on Unix. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "report/csv.h"
#include "report/forms/forms.h"
#include "report/forms/parts.h"
#include "report/text.h"
#include "rocm-perf/roofline.h"

/* Sums of a kernel's counters over its GPUs. */
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

/* What is made of counters, then each of them under its own name: sum, mean and how often. */
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

/* What is made of counters is of one GPU; where all have the same value, it is the kernel's. */
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
    const struct rp_roofline_kernel *const *of = rp_form_counted(known, name, &count);

    memset(c->sums, 0, c->count * sizeof *c->sums);
    memset(c->dispatches, 0, c->count * sizeof *c->dispatches);
    for (unsigned i = 0; i < RP_DERIVED_COUNT; i++) {
        rp_buf_puts(buf, ",");
        rp_form_put_number(buf, derived_of_all(of, count, i), 1);
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
        rp_text_json_number(buf, c->sums[i]);
        rp_buf_puts(buf, ",");
        rp_text_json_number(buf, rp_text_round6(c->sums[i] / n));
        rp_buf_printf(buf, ",%" PRIu64, c->dispatches[i]);
    }
}

/* What only statistics of kernels say. */
static void put_statistics(struct rp_buf *buf, const struct rp_bottleneck_kernel *k)
{
    const struct rp_quantity of[] = {k->features.of[RP_FEATURE_DURATION_NS], k->min_ns, k->max_ns,
                                     k->deviation_ns};

    for (size_t i = 0; i < sizeof of / sizeof of[0]; i++) {
        rp_buf_puts(buf, ",");
        rp_form_put_number(buf, of[i], 1);
    }
}

static void put_row(struct rp_buf *buf, const struct rp_report_parts *parts,
                    const struct rp_form_kernel *kernel)
{
    const struct rp_bottleneck_kernel *k = kernel->k;
    const struct rp_roofline_kernel *r = kernel->r;
    struct rp_quantity numbers[RP_FORM_MOST_VALUES];
    size_t count;

    rp_form_values(&count);
    rp_form_values_of(kernel, numbers);
    rp_csv_cell(buf, k->name);
    rp_buf_puts(buf, ",");
    rp_csv_cell(buf, rp_form_device(parts));
    rp_buf_puts(buf, ",");
    rp_csv_cell(buf, rp_form_timing(parts));
    rp_buf_printf(buf, ",%s,%s,%s,%s", rp_bottleneck_name(k->label),
                  rp_rank_basis_name(parts->bottlenecks->basis) ?: "", k->residency.limiter ?: "",
                  r ? rp_bound_name(r->bound) ?: "" : "");
    for (size_t i = 0; i < count; i++) {
        rp_buf_puts(buf, ",");
        rp_form_put_number(buf, numbers[i], 1);
    }
    rp_buf_puts(buf, ",");
    rp_csv_cell(buf, kernel->gpu);
}

/* What keeps a row from being taken for good: rates that no GPU can have, launches that failed. */
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
    values = rp_form_values(&count);
    rp_buf_puts(buf, "kernel,device,timing_model,bottleneck,weight_of,occupancy_limiter,bound");
    for (size_t i = 0; i < count; i++)
        rp_buf_printf(buf, ",%s", values[i].name);
    rp_buf_puts(buf, ",gpu");
    put_counter_heads(buf, parts);
    rp_buf_puts(buf, b->sums_alone ? ",mean_ns,min_ns,max_ns,stddev_ns" : "");
    rp_buf_puts(buf, ",impossible_rates,failed_launches\n");
    for (size_t i = 0; i < b->kernel_count; i++) {
        const struct rp_form_kernel kernel = rp_form_kernel_of(&known, &b->kernels[i]);

        put_row(buf, parts, &kernel);
        if (has_counters(parts))
            put_counters(buf, &known, b->kernels[i].name, &counted);
        if (b->sums_alone)
            put_statistics(buf, &b->kernels[i]);
        put_doubts(buf, parts, &known, b->kernels[i].name);
        rp_buf_puts(buf, "\n");
    }
    return buf->failed ? rp_out_of_memory(err) : 0;
}

#include <inttypes.h>
#include <math.h>

#include "base/buf.h"
#include "base/err.h"
#include "report/text.h"
#include "rocm-perf/report.h"
#include "rocm-perf/roofline.h"

/* Keys are in alphabetical order in every object. What is not known is null. */

static void put(struct rp_buf *buf, struct rp_quantity q)
{
    if (q.known)
        rp_text_json_number(buf, q.value);
    else
        rp_buf_puts(buf, "null");
}

static void key(struct rp_buf *buf, const char *name, struct rp_quantity q)
{
    rp_buf_printf(buf, ", \"%s\": ", name);
    put(buf, q);
}

/* Types in the order of their names. */
static const enum rp_flop_type by_name[RP_FLOP_COUNT] = {
    RP_FLOP_MFMA_BF16, RP_FLOP_MFMA_F16, RP_FLOP_MFMA_F32, RP_FLOP_MFMA_F64, RP_FLOP_MFMA_F6F4,
    RP_FLOP_MFMA_F8,   RP_FLOP_VALU_F16, RP_FLOP_VALU_F32, RP_FLOP_VALU_F64,
};
static const enum rp_level levels[RP_LEVEL_COUNT] = {RP_LEVEL_HBM, RP_LEVEL_L1, RP_LEVEL_L2,
                                                     RP_LEVEL_LDS};

static void put_ceilings(struct rp_buf *buf, const struct rp_ceilings *c)
{
    rp_buf_puts(buf, "{");
    for (size_t i = 0; i < RP_LEVEL_COUNT; i++) {
        rp_buf_printf(buf, "%s\"%s_gbps\": ", i ? ", " : "", rp_level_name(levels[i]));
        put(buf, c->gbps[levels[i]]);
    }
    for (size_t i = 0; i < RP_FLOP_COUNT; i++) {
        rp_buf_printf(buf, ", \"%s_gflops\": ", rp_flop_name(by_name[i]));
        put(buf, c->gflops[by_name[i]]);
    }
    rp_buf_puts(buf, "}");
}

static void put_conventions(struct rp_buf *buf, const struct rp_roofline_kernel *k)
{
    static const enum rp_convention order[RP_CONVENTION_COUNT] = {
        RP_L1_ACCESSES_128, RP_L1_ACCESSES_64, RP_L2_REQUESTS_128, RP_L2_FROM_L1_READS_128,
        RP_L2_FROM_L1_64};

    rp_buf_puts(buf, ", \"bytes_by_convention\": {");
    for (size_t i = 0; i < RP_CONVENTION_COUNT; i++) {
        rp_buf_printf(buf, "%s\"%s\": ", i ? ", " : "", rp_convention_name(order[i]));
        put(buf, k->by_convention[order[i]]);
    }
    rp_buf_puts(buf, "}");
}

static void put_levels(struct rp_buf *buf, const struct rp_roofline_kernel *k)
{
    rp_buf_puts(buf, ", \"levels\": {");
    for (size_t i = 0; i < RP_LEVEL_COUNT; i++) {
        enum rp_level level = levels[i];

        rp_buf_printf(buf, "%s\"%s\": {\"arithmetic_intensity\": ", i ? ", " : "",
                      rp_level_name(level));
        put(buf, k->intensity[level]);
        rp_buf_puts(buf, ", \"class\": ");
        rp_text_json(buf, rp_level_class_name(k->level_class[level]));
        key(buf, "gbps", k->gbps[level]);
        rp_buf_puts(buf, ", \"peak\": ");
        rp_text_json(buf, rp_peak_name(k->peak[level]));
        rp_buf_puts(buf, "}");
    }
    rp_buf_puts(buf, "}");
}

/* What cannot be a number of JSON is none: nothing was counted of which the parts are so many. */
static void put_finite(struct rp_buf *buf, const char *name, double value)
{
    key(buf, name, (struct rp_quantity){.known = isfinite(value), .value = value});
}

/* Those in which passes contradict each other. */
static void put_differences(struct rp_buf *buf, const struct rp_roofline_kernel *k)
{
    bool first = true;

    rp_buf_puts(buf, ", \"pass_differences\": [");
    for (unsigned i = 0; i < RP_DIFFERENCE_COUNT; i++) {
        const struct rp_pass_difference *d = &k->differences[i];

        if (!d->asked || d->negative == 0)
            continue;
        rp_buf_printf(buf, "%s{\"dispatches\": %" PRIu64, first ? "" : ", ", d->negative);
        put_finite(buf, "largest", d->most);
        rp_buf_puts(buf, ", \"of\": ");
        rp_text_json(buf, rp_difference_name((enum rp_difference)i));
        rp_buf_puts(buf, ", \"parts\": [");
        for (size_t p = 0; p < RP_DIFFERENCE_PARTS && d->parts[p]; p++) {
            rp_buf_puts(buf, p ? ", " : "");
            rp_text_json(buf, d->parts[p]);
        }
        rp_buf_puts(buf, "]");
        put_finite(buf, "share", d->share);
        rp_buf_puts(buf, ", \"whole\": ");
        rp_text_json(buf, d->whole);
        rp_buf_printf(buf, ", \"withheld\": %s}", d->withheld ? "true" : "false");
        first = false;
    }
    rp_buf_puts(buf, "]");
}

static void put_kernel(struct rp_buf *buf, const struct rp_roofline *r,
                       const struct rp_roofline_kernel *k, bool one_device)
{
    static const struct rp_ceilings unknown;

    rp_buf_puts(buf, "{\"achieved_bandwidth_gbps\": ");
    put(buf, k->gbps[RP_LEVEL_HBM]);
    key(buf, "achieved_gflops", k->gflops);
    key(buf, "arithmetic_intensity", k->intensity[RP_LEVEL_HBM]);
    rp_buf_puts(buf, ", \"bound\": ");
    rp_text_json(buf, rp_bound_name(k->bound));
    key(buf, "bound_share", k->bound_share);
    put_conventions(buf, k);
    rp_buf_printf(buf, ", \"calls\": %" PRIu64 ", \"ceilings\": ", k->calls);
    put_ceilings(buf, one_device ? &r->devices[k->device].ceilings : &unknown);
    rp_buf_puts(buf, ", \"device\": ");
    if (one_device)
        rp_buf_printf(buf, "%" PRIu32, k->device);
    else
        rp_buf_puts(buf, "null");
    rp_buf_printf(buf, ", \"flop_model\": \"%s\"", k->flops_by_width ? "width" : "exact");
    key(buf, "flops", k->flops);
    rp_buf_puts(buf, ", \"flops_by_type\": {");
    for (size_t i = 0; i < RP_FLOP_COUNT; i++) {
        rp_buf_printf(buf, "%s\"%s\": ", i ? ", " : "", rp_flop_name(by_name[i]));
        put(buf, k->flops_by_type[by_name[i]]);
    }
    rp_buf_puts(buf, "}");
    key(buf, "hbm_read_bytes", k->hbm_read);
    rp_buf_puts(buf, ", \"hbm_read_bytes_range\": ");
    if (k->hbm_read_least.known && k->hbm_read_most.known) {
        rp_buf_puts(buf, "[");
        put(buf, k->hbm_read_least);
        rp_buf_puts(buf, ", ");
        put(buf, k->hbm_read_most);
        rp_buf_puts(buf, "]");
    } else {
        rp_buf_puts(buf, "null");
    }
    key(buf, "hbm_write_bytes", k->hbm_write);
    key(buf, "l1_bytes", k->bytes[RP_LEVEL_L1]);
    key(buf, "l2_bytes", k->bytes[RP_LEVEL_L2]);
    key(buf, "lds_bytes", k->bytes[RP_LEVEL_LDS]);
    put_levels(buf, k);
    key(buf, "mfma_i8_ops", k->matrix_int8_ops);
    rp_buf_puts(buf, ", \"name\": ");
    rp_text_json(buf, k->name);
    put_differences(buf, k);
    rp_buf_printf(buf, ", \"read_model\": \"%s\"", k->reads_by_width ? "width" : "exact");
    key(buf, "time_ns", k->time_ns);
    rp_buf_puts(buf, "}");
}

static void put_number(struct rp_buf *buf, const char *name, uint32_t value)
{
    key(buf, name, (struct rp_quantity){.known = value > 0, .value = value});
}

static void put_devices(struct rp_buf *buf, const struct rp_roofline *r)
{
    rp_buf_puts(buf, "  \"devices\": [");
    for (size_t i = 0; i < r->device_count; i++) {
        const struct rp_roofline_device *d = &r->devices[i];

        rp_buf_printf(buf, "%s\n    {\"arch\": ", i ? "," : "");
        rp_text_json(buf, d->arch[0] ? d->arch : NULL);
        put_number(buf, "compute_units", d->compute_units);
        put_number(buf, "engine_clock_mhz", d->engine_clock_mhz);
        rp_buf_printf(buf, ", \"id\": %" PRId64 ", \"product\": ", d->id);
        rp_text_json(buf, d->product);
        put_number(buf, "xcc_count", d->xcc_count);
        rp_buf_puts(buf, "}");
    }
    rp_buf_puts(buf, "],\n");
}

/* --- kernel x counter --------------------------------------------------------------------- */

static void put_counts(struct rp_buf *buf, const struct rp_roofline_kernel *k)
{
    rp_buf_puts(buf, ", \"values\": [");
    for (size_t i = 0; i < k->count_count; i++) {
        const struct rp_kernel_count *c = &k->counts[i];

        rp_buf_puts(buf, i ? ", {\"counter\": " : "{\"counter\": ");
        rp_text_json(buf, c->name);
        rp_buf_printf(buf, ", \"dispatches\": %" PRIu64 ", \"mean\": ", c->dispatches);
        rp_text_json_number(buf, c->sum / (double)c->dispatches);
        rp_buf_puts(buf, ", \"sum\": ");
        rp_text_json_number(buf, c->sum);
        rp_buf_puts(buf, "}");
    }
    rp_buf_puts(buf, "]");
}

/* Those that some of their counters were collected for. */
static void put_derived(struct rp_buf *buf, const struct rp_roofline_kernel *k)
{
    bool first = true;

    rp_buf_puts(buf, ", \"derived\": [");
    for (unsigned i = 0; i < RP_DERIVED_COUNT; i++) {
        const struct rp_derived_value *d = &k->derived[i];
        const struct rp_derived_info *info = rp_derived_info((enum rp_derived)i);

        if (!d->asked)
            continue;
        rp_buf_printf(buf, "%s{\"dispatches\": %" PRIu64 ", \"missing\": [", first ? "" : ", ",
                      d->dispatches);
        for (size_t m = 0; m < RP_DERIVED_COUNTERS && d->missing[m]; m++) {
            rp_buf_puts(buf, m ? ", " : "");
            rp_text_json(buf, d->missing[m]);
        }
        rp_buf_puts(buf, "], \"name\": ");
        rp_text_json(buf, info->name);
        rp_buf_puts(buf, ", \"reason\": ");
        rp_text_json(buf, d->reason);
        rp_buf_puts(buf, ", \"title\": ");
        rp_text_json(buf, info->title);
        rp_buf_puts(buf, ", \"unit\": ");
        rp_text_json(buf, info->unit);
        key(buf, "value", d->q);
        rp_buf_puts(buf, "}");
        first = false;
    }
    rp_buf_puts(buf, "]");
}

/* Also where no roofline can be made of them. */
static void put_counters(struct rp_buf *buf, const struct rp_roofline *r)
{
    bool first = true;

    rp_buf_puts(buf, "  \"counters\": [");
    for (size_t i = 0; i < r->kernel_count; i++) {
        const struct rp_roofline_kernel *k = &r->kernels[i];

        if (k->count_count == 0)
            continue;
        rp_buf_printf(buf, "%s\n    {\"calls\": %" PRIu64, first ? "" : ",", k->calls);
        put_derived(buf, k);
        rp_buf_printf(buf, ", \"gpu\": %" PRId64 ", \"name\": ", r->devices[k->device].id);
        rp_text_json(buf, k->name);
        put_counts(buf, k);
        rp_buf_puts(buf, "}");
        first = false;
    }
    rp_buf_puts(buf, "],\n");
}

static void put_notes(struct rp_buf *buf, const struct rp_roofline *r)
{
    rp_buf_puts(buf, "\"notes\": [");
    for (size_t i = 0; i < r->note_count; i++) {
        rp_buf_printf(buf, "%s\n    ", i ? "," : "");
        rp_text_json(buf, r->notes[i]);
    }
    rp_buf_puts(buf, "]");
}

static bool one_device(const struct rp_roofline *r)
{
    for (size_t i = 1; i < r->kernel_count; i++)
        if (r->kernels[i].device != r->kernels[0].device)
            return false;
    return r->kernel_count > 0;
}

static void put_end(struct rp_buf *buf, const struct rp_roofline *r)
{
    rp_buf_puts(buf, ",\n  \"schema_version\": \"1.0\",\n  \"timing\": ");
    rp_text_json_timing(buf, r->origin.timing_model, r->origin.timing_version);
    rp_buf_puts(buf, "\n}\n");
}

int rp_report_roofline_json(const struct rp_roofline *r, struct rp_buf *buf, struct rp_err *err)
{
    rp_buf_puts(buf, "{\n");
    put_counters(buf, r);
    rp_buf_puts(buf, "  \"device\": ");
    rp_text_json(buf, r->origin.device);
    rp_buf_puts(buf, ",\n");
    if (r->reason) {
        rp_buf_puts(buf, "  ");
        put_notes(buf, r);
        rp_buf_puts(buf, ",\n  \"reason\": ");
        rp_text_json(buf, r->reason);
        rp_buf_puts(buf, ",\n  \"roofline\": null");
        put_end(buf, r);
        return buf->failed ? rp_fail(err, RP_ENVIRONMENT, "out of memory") : 0;
    }
    put_devices(buf, r);
    rp_buf_puts(buf, "  \"kernels\": [");
    for (size_t i = 0; i < r->kernel_count; i++) {
        rp_buf_printf(buf, "%s\n    ", i ? "," : "");
        put_kernel(buf, r, &r->kernels[i], true);
    }
    rp_buf_puts(buf, "],\n  ");
    put_notes(buf, r);
    rp_buf_puts(buf, ",\n  \"program\": ");
    put_kernel(buf, r, &r->program, one_device(r));
    put_end(buf, r);
    return buf->failed ? rp_fail(err, RP_ENVIRONMENT, "out of memory") : 0;
}

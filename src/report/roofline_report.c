#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/roofline.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/units.h"
#include "report/report.h"
#include "report/report_text.h"

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
static const enum rp_level roofline_json_levels[RP_LEVEL_COUNT] = {RP_LEVEL_HBM, RP_LEVEL_L1,
                                                                   RP_LEVEL_L2, RP_LEVEL_LDS};

static void put_ceilings(struct rp_buf *buf, const struct rp_ceilings *c)
{
    rp_buf_puts(buf, "{");
    for (size_t i = 0; i < RP_LEVEL_COUNT; i++) {
        rp_buf_printf(buf, "%s\"%s_gbps\": ", i ? ", " : "",
                      rp_level_name(roofline_json_levels[i]));
        put(buf, c->gbps[roofline_json_levels[i]]);
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
        enum rp_level level = roofline_json_levels[i];

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

enum {
    DEFAULT_WIDTH = 80,
    LEAST_WIDTH = 60,
    MOST_KERNELS = 12 /* shown; roofline.json has them all */
};

static const double GIGA = 1e9;

static struct rp_number_text number(struct rp_quantity q, double unit, unsigned decimals)
{
    static const struct rp_number_text unknown = {"-"};

    return q.known ? rp_number_small(q.value / unit, decimals) : unknown;
}

static void see(struct rp_unit_span *span, struct rp_quantity q, double scale)
{
    if (q.known)
        rp_unit_span_add(span, q.value * scale);
}

/* @param scale  what the quantity counts, in what the unit was chosen for */
static struct rp_number_text in_unit(struct rp_unit unit, struct rp_quantity q, double scale)
{
    static const struct rp_number_text unknown = {"-"};

    return q.known ? rp_unit_number(unit, q.value * scale) : unknown;
}

/* Each in its own unit: there are some sixteen times as many of matrices. */
static struct rp_unit_text peak(const struct rp_page *page, struct rp_quantity gflops)
{
    static const struct rp_unit_text unknown = {"-"};

    return gflops.known ? rp_unit_one(RP_UNIT_FLOPS, gflops.value * GIGA, page->utf8) : unknown;
}

static void put_device(const struct rp_page *page, const struct rp_roofline_device *d)
{
    static const enum rp_level levels[] = {RP_LEVEL_HBM, RP_LEVEL_L2, RP_LEVEL_L1, RP_LEVEL_LDS};
    const struct rp_ceilings *c = &d->ceilings;
    struct rp_unit_span bytes = {0};
    struct rp_unit rate;

    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        see(&bytes, c->gbps[levels[i]], GIGA);
    rate = rp_unit_of(RP_UNIT_RATE, bytes, page->utf8);
    rp_page_line(page, RP_INK_BOLD, 0, "GPU %" PRId64 "  %s%s%s", d->id,
                 d->arch[0] ? d->arch : "unknown", d->product ? "  " : "",
                 d->product ? d->product : "");
    rp_page_line(page, RP_INK_PLAIN, 2, "at most  HBM %s, L2 %s, L1 %s, LDS %s %s",
                 in_unit(rate, c->gbps[RP_LEVEL_HBM], GIGA).text,
                 in_unit(rate, c->gbps[RP_LEVEL_L2], GIGA).text,
                 in_unit(rate, c->gbps[RP_LEVEL_L1], GIGA).text,
                 in_unit(rate, c->gbps[RP_LEVEL_LDS], GIGA).text, rate.name);
    rp_page_line(page, RP_INK_PLAIN, 2, "         vector FP32 %s, matrix FP16 %s",
                 peak(page, c->gflops[RP_FLOP_VALU_F32]).text,
                 peak(page, c->gflops[RP_FLOP_MFMA_F16]).text);
}

/** Units of the table. */
struct columns {
    struct rp_unit time, flops, bytes;
};

/* The program's row is looked at, too: its time is the largest, its rates are between the others.
 */
static struct columns columns_of(const struct rp_page *page, const struct rp_roofline *r,
                                 size_t shown)
{
    struct rp_unit_span time = {0}, flops = {0}, bytes = {0};

    for (size_t i = 0; i <= shown; i++) {
        const struct rp_roofline_kernel *k = i < shown ? &r->kernels[i] : &r->program;

        see(&time, k->time_ns, 1);
        see(&flops, k->gflops, GIGA);
        see(&bytes, k->gbps[RP_LEVEL_HBM], GIGA);
    }
    return (struct columns){.time = rp_unit_of(RP_UNIT_TIME, time, page->utf8),
                            .flops = rp_unit_of(RP_UNIT_FLOPS, flops, page->utf8),
                            .bytes = rp_unit_of(RP_UNIT_RATE, bytes, page->utf8)};
}

/* @param gpu  where it ran; "": on the only one */
static void roofline_term_put_kernel(const struct rp_page *page, const struct rp_roofline_kernel *k,
                                     const char *name, const char *gpu, const struct columns *in)
{
    const char *bound = rp_bound_name(k->bound);
    struct rp_quantity share = k->bound_share;

    share.value *= 100;
    rp_page_text(page, RP_INK_PLAIN, 2, name);
    rp_page_line(page, RP_INK_PLAIN, 4, "%12s %10s %11s %9s  %s%s%s%s%s",
                 in_unit(in->time, k->time_ns, 1).text,
                 number(k->intensity[RP_LEVEL_HBM], 1, 3).text,
                 in_unit(in->flops, k->gflops, GIGA).text,
                 in_unit(in->bytes, k->gbps[RP_LEVEL_HBM], GIGA).text, bound ? bound : "-",
                 share.known ? " " : "", share.known ? number(share, 1, 1).text : "",
                 share.known ? " %" : "", gpu);
}

static void put_kernels(const struct rp_page *page, const struct rp_roofline *r, size_t shown,
                        const struct columns *in)
{
    for (size_t i = 0; i < shown; i++) {
        const struct rp_roofline_kernel *k = &r->kernels[i];
        char gpu[40] = "";

        if (r->device_count > 1)
            snprintf(gpu, sizeof gpu, ", GPU %" PRId64, r->devices[k->device].id);
        roofline_term_put_kernel(page, k, k->name, gpu, in);
    }
}

/* Notes are sentences: broken between words. */
static void put_note(const struct rp_page *page, const char *note)
{
    size_t most = page->width - 6;
    const char *mark = "Note: ";

    while (*note) {
        size_t len = strlen(note), cut = len;

        if (len > most) {
            for (cut = most; cut > 0 && note[cut] != ' '; cut--)
                ;
            cut = cut ? cut : most;
        }
        rp_page_line(page, RP_INK_YELLOW, 0, "%s%.*s", mark, (int)cut, note);
        note += cut + strspn(note + cut, " ");
        mark = "      ";
    }
}

int rp_report_roofline_term(const struct rp_roofline *r, struct rp_term_style style,
                            struct rp_buf *buf, struct rp_err *err)
{
    struct rp_page page = {.out = buf,
                           .colour = style.colour,
                           .utf8 = style.utf8,
                           .width = style.width == 0            ? DEFAULT_WIDTH
                                    : style.width < LEAST_WIDTH ? LEAST_WIDTH
                                                                : style.width};
    size_t shown = r->kernel_count < MOST_KERNELS ? r->kernel_count : MOST_KERNELS;
    const struct columns in = columns_of(&page, r, shown);

    if (r->reason) {
        rp_page_line(&page, RP_INK_YELLOW, 0, "No roofline:");
        put_note(&page, r->reason);
        for (size_t i = 0; i < r->note_count; i++)
            put_note(&page, r->notes[i]);
        return buf->failed ? rp_fail(err, RP_ENVIRONMENT, "out of memory") : 0;
    }
    for (size_t i = 0; i < r->device_count; i++)
        put_device(&page, &r->devices[i]);
    rp_page_line(&page, RP_INK_BOLD, 4, "%s %10s %s %s  %s", rp_unit_heading("", in.time, 12).text,
                 "FLOP/byte", rp_unit_heading("", in.flops, 11).text,
                 rp_unit_heading("HBM", in.bytes, 9).text, "bound, and how near");
    put_kernels(&page, r, shown, &in);
    if (shown < r->kernel_count)
        rp_page_line(&page, RP_INK_DIM, 2, "and %zu more: -o DIR writes roofline.json",
                     r->kernel_count - shown);
    roofline_term_put_kernel(&page, &r->program, "[all kernels]", "", &in);
    for (size_t i = 0; i < r->note_count; i++)
        put_note(&page, r->notes[i]);
    return buf->failed ? rp_fail(err, RP_ENVIRONMENT, "out of memory") : 0;
}

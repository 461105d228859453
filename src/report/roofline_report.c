#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/bottleneck.h"
#include "analyze/roofline.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/json_write.h"
#include "base/units.h"
#include "base/utf8.h"
#include "report/finding_text.h"
#include "report/report.h"

/* Keys are in alphabetical order in every object, and unknown values are null. */

static void add(struct rp_json_writer *json, const char *key, struct rp_quantity q)
{
    rp_json_add_number(json, key, q.known ? q.value : NAN);
}

/* Writes a key of a table's name and its unit, as "hbm_gbps". */
static void add_of_unit(struct rp_json_writer *json, const char *name, const char *unit,
                        struct rp_quantity q)
{
    char key[64];

    snprintf(key, sizeof key, "%s_%s", name, unit);
    add(json, key, q);
}

static void add_ceilings(struct rp_json_writer *json, const struct rp_ceilings *c)
{
    unsigned levels[RP_LEVEL_COUNT], types[RP_FLOP_COUNT];

    rp_by_name(rp_level_names, RP_LEVEL_COUNT, levels);
    rp_by_name(rp_flop_names, RP_FLOP_COUNT, types);
    rp_json_add_object(json, "ceilings");
    for (size_t i = 0; i < RP_LEVEL_COUNT; i++)
        add_of_unit(json, rp_level_names[levels[i]], "gbps", c->gbps[levels[i]]);
    for (size_t i = 0; i < RP_FLOP_COUNT; i++)
        add_of_unit(json, rp_flop_names[types[i]], "gflops", c->gflops[types[i]]);
    rp_json_end(json);
}

/* Writes an object of quantities, by their names. */
static void add_named(struct rp_json_writer *json, const char *key, const struct rp_quantity *of,
                      const char *const *names, unsigned count)
{
    unsigned order[RP_MOST_BY_NAME];

    rp_by_name(names, count, order);
    rp_json_add_object(json, key);
    for (unsigned i = 0; i < count; i++)
        add(json, names[order[i]], of[order[i]]);
    rp_json_end(json);
}

static void add_levels(struct rp_json_writer *json, const struct rp_roofline_kernel *k)
{
    unsigned levels[RP_LEVEL_COUNT];

    rp_by_name(rp_level_names, RP_LEVEL_COUNT, levels);
    rp_json_add_object(json, "levels");
    for (size_t i = 0; i < RP_LEVEL_COUNT; i++) {
        const unsigned level = levels[i];

        rp_json_add_object(json, rp_level_names[level]);
        add(json, "arithmetic_intensity", k->intensity[level]);
        rp_json_add_text(json, "class", rp_level_class_names[k->level_class[level]]);
        add(json, "gbps", k->gbps[level]);
        rp_json_add_text(json, "peak", rp_peak_names[k->peak[level]]);
        rp_json_end(json);
    }
    rp_json_end(json);
}

/* Writes those in which passes contradict each other. Where the whole was not counted, the share is
 * no number. */
static void add_differences(struct rp_json_writer *json, const struct rp_roofline_kernel *k)
{
    rp_json_add_array(json, "pass_differences");
    for (unsigned i = 0; i < RP_DIFFERENCE_COUNT; i++) {
        const struct rp_pass_difference *d = &k->differences[i];

        if (!d->asked || d->negative == 0)
            continue;
        rp_json_add_object(json, NULL);
        rp_json_add_count(json, "dispatches", d->negative);
        rp_json_add_number(json, "largest", d->most);
        rp_json_add_text(json, "of", rp_difference_names[i]);
        rp_json_add_array(json, "parts");
        for (size_t p = 0; p < RP_DIFFERENCE_PARTS && d->parts[p]; p++)
            rp_json_add_text(json, NULL, d->parts[p]);
        rp_json_end(json);
        rp_json_add_number(json, "share", d->share);
        rp_json_add_text(json, "whole", d->whole);
        rp_json_add_bool(json, "withheld", d->withheld);
        rp_json_end(json);
    }
    rp_json_end(json);
}

static void add_read_range(struct rp_json_writer *json, const struct rp_roofline_kernel *k)
{
    if (!k->hbm_read_least.known || !k->hbm_read_most.known) {
        rp_json_add_null(json, "hbm_read_bytes_range");
        return;
    }
    rp_json_add_array(json, "hbm_read_bytes_range");
    add(json, NULL, k->hbm_read_least);
    add(json, NULL, k->hbm_read_most);
    rp_json_end(json);
}

static void add_kernel(struct rp_json_writer *json, const char *key, const struct rp_roofline *r,
                       const struct rp_roofline_kernel *k, bool one_device)
{
    static const struct rp_ceilings unknown;

    rp_json_add_object(json, key);
    add(json, "achieved_bandwidth_gbps", k->gbps[RP_LEVEL_HBM]);
    add(json, "achieved_gflops", k->gflops);
    add(json, "arithmetic_intensity", k->intensity[RP_LEVEL_HBM]);
    rp_json_add_text(json, "bound", rp_bound_names[k->bound]);
    add(json, "bound_share", k->bound_share);
    add_named(json, "bytes_by_convention", k->by_convention, rp_convention_names,
              RP_CONVENTION_COUNT);
    rp_json_add_count(json, "calls", k->calls);
    add_ceilings(json, one_device ? &r->devices[k->device].ceilings : &unknown);
    rp_json_add_count_if(json, "device", one_device, k->device);
    rp_json_add_text(json, "flop_model", k->flops_by_width ? "width" : "exact");
    add(json, "flops", k->flops);
    add_named(json, "flops_by_type", k->flops_by_type, rp_flop_names, RP_FLOP_COUNT);
    add(json, "hbm_read_bytes", k->hbm_read);
    add_read_range(json, k);
    add(json, "hbm_write_bytes", k->hbm_write);
    add(json, "l1_bytes", k->bytes[RP_LEVEL_L1]);
    add(json, "l2_bytes", k->bytes[RP_LEVEL_L2]);
    add(json, "lds_bytes", k->bytes[RP_LEVEL_LDS]);
    add_levels(json, k);
    add(json, "mfma_i8_ops", k->matrix_int8_ops);
    rp_json_add_text(json, "name", k->name);
    add_differences(json, k);
    rp_json_add_text(json, "read_model", k->reads_by_width ? "width" : "exact");
    add(json, "time_ns", k->time_ns);
    rp_json_end(json);
}

static void add_devices(struct rp_json_writer *json, const struct rp_roofline *r)
{
    rp_json_add_array(json, "devices");
    for (size_t i = 0; i < r->device_count; i++) {
        const struct rp_roofline_device *d = &r->devices[i];

        rp_json_break(json, 4);
        rp_json_add_object(json, NULL);
        rp_json_add_text(json, "arch", d->arch[0] ? d->arch : NULL);
        rp_json_add_count_if(json, "compute_units", d->compute_units, d->compute_units);
        rp_json_add_count_if(json, "engine_clock_mhz", d->engine_clock_mhz, d->engine_clock_mhz);
        rp_json_add_int(json, "id", d->id);
        if (d->modelled_clock_mhz)
            rp_json_add_count(json, "modelled_clock_mhz", d->modelled_clock_mhz);
        rp_json_add_text(json, "product", d->product);
        rp_json_add_count_if(json, "xcc_count", d->xcc_count, d->xcc_count);
        rp_json_end(json);
    }
    rp_json_end(json);
}

/* --- kernel x counter --------------------------------------------------------------------- */

/* Writes those for which some of their counters were collected. */
static void add_derived(struct rp_json_writer *json, const struct rp_roofline_kernel *k)
{
    rp_json_add_array(json, "derived");
    for (unsigned i = 0; i < RP_DERIVED_COUNT; i++) {
        const struct rp_derived_value *d = &k->derived[i];
        const struct rp_derived_info *info = rp_derived_info((enum rp_derived)i);

        if (!d->asked)
            continue;
        rp_json_add_object(json, NULL);
        rp_json_add_count(json, "dispatches", d->dispatches);
        rp_json_add_array(json, "missing");
        for (size_t m = 0; m < RP_DERIVED_COUNTERS && d->missing[m]; m++)
            rp_json_add_text(json, NULL, d->missing[m]);
        rp_json_end(json);
        rp_json_add_text(json, "name", info->name);
        rp_json_add_text(json, "reason", d->reason);
        rp_json_add_text(json, "title", info->title);
        rp_json_add_text(json, "unit", info->unit);
        add(json, "value", d->q);
        rp_json_end(json);
    }
    rp_json_end(json);
}

/* Counters are written also where no roofline can be made of them. */
static void add_counters(struct rp_json_writer *json, const struct rp_roofline *r)
{
    rp_json_add_array(json, "counters");
    for (size_t i = 0; i < r->kernel_count; i++) {
        const struct rp_roofline_kernel *k = &r->kernels[i];

        if (k->count_count == 0)
            continue;
        rp_json_break(json, 4);
        rp_json_add_object(json, NULL);
        rp_json_add_count(json, "calls", k->calls);
        add_derived(json, k);
        rp_json_add_int(json, "gpu", r->devices[k->device].id);
        rp_json_add_text(json, "name", k->name);
        rp_json_add_array(json, "values");
        for (size_t c = 0; c < k->count_count; c++) {
            const struct rp_kernel_count *count = &k->counts[c];

            rp_json_add_object(json, NULL);
            rp_json_add_text(json, "counter", count->name);
            rp_json_add_count(json, "dispatches", count->dispatches);
            rp_json_add_number(json, "mean", count->sum / (double)count->dispatches);
            rp_json_add_number(json, "sum", count->sum);
            rp_json_end(json);
        }
        rp_json_end(json);
        rp_json_end(json);
    }
    rp_json_end(json);
}

static void add_notes(struct rp_json_writer *json, const struct rp_roofline *r)
{
    rp_json_add_array(json, "notes");
    for (size_t i = 0; i < r->note_count; i++) {
        rp_json_break(json, 4);
        rp_json_add_text(json, NULL, r->notes[i]);
    }
    rp_json_end(json);
}

/* Says where ceilings are from that rocm-perf bench has measured. */
static void add_ceilings_from(struct rp_json_writer *json, const struct rp_measured_ceilings *m)
{
    rp_json_add_object(json, "ceilings_from");
    rp_json_add_text(json, "arch", m->arch);
    rp_json_add_number(json, "compute_units", m->compute_units);
    rp_json_add_text(json, "date", m->date);
    rp_json_add_text(json, "device", m->software ? "software" : "hardware");
    rp_json_add_text(json, "gpu", m->gpu);
    rp_json_end(json);
}

static bool one_device(const struct rp_roofline *r)
{
    for (size_t i = 1; i < r->kernel_count; i++)
        if (r->kernels[i].device != r->kernels[0].device)
            return false;
    return r->kernel_count > 0;
}

int rp_report_roofline_json(const struct rp_roofline *r, struct rp_buf *buf, struct rp_err *err)
{
    struct rp_json_writer json = rp_report_json(buf);

    if (r->measured.by_bench)
        add_ceilings_from(&json, &r->measured);
    add_counters(&json, r);
    rp_json_add_text(&json, "device", r->origin.device);
    if (r->reason) {
        add_notes(&json, r);
        rp_json_add_text(&json, "reason", r->reason);
        rp_json_add_null(&json, "roofline");
    } else {
        add_devices(&json, r);
        rp_json_add_array(&json, "kernels");
        for (size_t i = 0; i < r->kernel_count; i++) {
            rp_json_break(&json, 4);
            add_kernel(&json, NULL, r, &r->kernels[i], true);
        }
        rp_json_end(&json);
        add_notes(&json, r);
        add_kernel(&json, "program", r, &r->program, one_device(r));
    }
    rp_json_add_text(&json, "schema_version", "1.0");
    rp_report_timing(&json, "timing", r->origin.timing_model, r->origin.timing_version,
                     r->origin.clock_mhz);
    return rp_report_json_end(&json, err);
}

enum {
    LEAST_WIDTH = 60,
    MOST_KERNELS = 12 /**< shown; roofline.json has them all */
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

/* @param scale from the quantity to the unit */
static struct rp_number_text in_unit(struct rp_unit unit, struct rp_quantity q, double scale)
{
    static const struct rp_number_text unknown = {"-"};

    return q.known ? rp_unit_number(unit, q.value * scale) : unknown;
}

/* Each peak has its own unit, because that of matrices is some sixteen times as high. */
static struct rp_unit_text peak(const struct rp_page *page, struct rp_quantity gflops)
{
    static const struct rp_unit_text unknown = {"-"};

    return gflops.known ? rp_unit_one(RP_UNIT_FLOPS, gflops.value * GIGA, page->utf8) : unknown;
}

/* A single GPU needs no number. */
static void put_device(const struct rp_page *page, const struct rp_roofline *r,
                       const struct rp_roofline_device *d)
{
    const bool alone = r->device_count == 1;
    const char *called = !r->measured.by_bench  ? "Peak"
                         : r->measured.software ? "Modelled"
                                                : "Measured";
    static const enum rp_level levels[] = {RP_LEVEL_HBM, RP_LEVEL_L2, RP_LEVEL_L1, RP_LEVEL_LDS};
    const struct rp_ceilings *c = &d->ceilings;
    struct rp_unit_span bytes = {0};
    struct rp_unit rate;

    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        see(&bytes, c->gbps[levels[i]], GIGA);
    rate = rp_unit_of(RP_UNIT_RATE, bytes, page->utf8);
    if (alone)
        rp_page_line(page, RP_INK_BOLD, 0, "%s%s%s", d->product ? d->product : "",
                     d->product ? ", " : "", d->arch[0] ? d->arch : "unknown GPU");
    else
        rp_page_line(page, RP_INK_BOLD, 0, "GPU %" PRId64 "  %s%s%s", d->id,
                     d->arch[0] ? d->arch : "unknown", d->product ? "  " : "",
                     d->product ? d->product : "");
    if (d->modelled_clock_mhz)
        rp_page_line(page, RP_INK_PLAIN, 2, "at %u MHz, which was modelled (--clock)",
                     d->modelled_clock_mhz);
    rp_page_line(page, RP_INK_PLAIN, 2, "%s: HBM %s, L2 %s, L1 %s, LDS %s %s", called,
                 in_unit(rate, c->gbps[RP_LEVEL_HBM], GIGA).text,
                 in_unit(rate, c->gbps[RP_LEVEL_L2], GIGA).text,
                 in_unit(rate, c->gbps[RP_LEVEL_L1], GIGA).text,
                 in_unit(rate, c->gbps[RP_LEVEL_LDS], GIGA).text, rate.name);
    rp_page_line(page, RP_INK_PLAIN, 2, "%*s  vector FP32 %s, matrix FP16 %s", (int)strlen(called),
                 "", peak(page, c->gflops[RP_FLOP_VALU_F32]).text,
                 peak(page, c->gflops[RP_FLOP_MFMA_F16]).text);
}

/** Holds the units of the table. */
struct columns {
    struct rp_unit time, flops, bytes;
};

/* The program's row counts, too: its time is the largest, and its rates are between the others. */
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

/* @param gpu where it ran; "": on the only one */
static void roofline_term_put_kernel(const struct rp_page *page, const struct rp_roofline_kernel *k,
                                     const char *name, const char *gpu, const struct columns *in)
{
    const char *bound = rp_bound_names[k->bound];
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

static void put_note(const struct rp_page *page, const char *note)
{
    rp_page_words(page, RP_INK_YELLOW, 0, 6, "Note: %s", note);
}

int rp_report_roofline_term(const struct rp_roofline *r, struct rp_term_style style,
                            struct rp_buf *buf, struct rp_err *err)
{
    struct rp_page page = rp_page_of(buf, style, LEAST_WIDTH);
    size_t shown = r->kernel_count < MOST_KERNELS ? r->kernel_count : MOST_KERNELS;
    const struct columns in = columns_of(&page, r, shown);

    if (r->reason) {
        rp_page_line(&page, RP_INK_YELLOW, 0, "No roofline:");
        put_note(&page, r->reason);
        for (size_t i = 0; i < r->note_count; i++)
            put_note(&page, r->notes[i]);
        return rp_report_end(buf, err);
    }
    for (size_t i = 0; i < r->device_count; i++)
        put_device(&page, r, &r->devices[i]);
    rp_page_line(&page, RP_INK_BOLD, 4, "%s %10s %s %s  %s", rp_unit_heading("", in.time, 12).text,
                 "FLOP/byte", rp_unit_heading("", in.flops, 11).text,
                 rp_unit_heading("HBM", in.bytes, 9).text,
                 r->measured.by_bench ? "limiter, % of ceiling" : "limiter, % of peak");
    put_kernels(&page, r, shown, &in);
    if (shown < r->kernel_count)
        rp_page_line(&page, RP_INK_DIM, 2, "and %zu more: -o DIR writes roofline.json",
                     r->kernel_count - shown);
    roofline_term_put_kernel(&page, &r->program, "[all kernels]", "", &in);
    for (size_t i = 0; i < r->note_count; i++)
        put_note(&page, r->notes[i]);
    return rp_report_end(buf, err);
}

/* Keys are in alphabetical order in every object, and unknown values are null. */

/* --- the verdict --------------------------------------------------------------------------- */

static void add_condition(struct rp_json_writer *json, const struct rp_condition *c,
                          const struct rp_features *f)
{
    rp_json_add_object(json, NULL);
    rp_json_add_text(json, "feature", rp_feature_name(c->feature));
    rp_json_add_text(json, "is", rp_sense_names[c->sense]);
    rp_json_add_number(json, "threshold", c->value);
    rp_report_quantity(json, "value", f->of[c->feature]);
    rp_json_end(json);
}

static void add_range(struct rp_json_writer *json, const char *key, struct rp_factor_range range)
{
    if (!range.known) {
        rp_json_add_null(json, key);
        return;
    }
    rp_json_add_array(json, key);
    rp_json_add_real(json, NULL, range.low, 4);
    rp_json_add_real(json, NULL, range.high, 4);
    rp_json_end(json);
}

static void add_rule(struct rp_json_writer *json, const struct rp_rule *rule,
                     const struct rp_features *f)
{
    rp_json_add_object(json, NULL);
    rp_json_add_text(json, "cause", rp_cause_facts(rule->cause)->name);
    rp_json_add_array(json, "conditions");
    for (size_t i = 0; i < rule->count; i++)
        add_condition(json, &rule->when[i], f);
    rp_json_end(json);
    add_range(json, "gain", rp_rule_gain(rule, f));
    rp_json_add_text(json, "id", rule->id);
    rp_json_add_text(json, "label", rp_bottleneck_names[rp_cause_facts(rule->cause)->label]);
    rp_json_end(json);
}

static bool rule_asks(const struct rp_rule *rule, unsigned feature)
{
    for (size_t i = 0; i < rule->count; i++)
        if (rule->when[i].feature == feature && rule->when[i].sense != RP_SENSE_UNKNOWN)
            return true;
    return false;
}

/* Writes features that rules need and nobody counted, in the order of the table, which is that of
 * the names. */
static void add_missing(struct rp_json_writer *json, const struct rp_features *f)
{
    const struct rp_rule *rules;
    size_t count;

    rules = rp_rules(&count);
    rp_json_add_array(json, "missing");
    for (unsigned feature = 0; feature < RP_FEATURE_COUNT; feature++) {
        bool asked = false;

        for (size_t i = 0; i < count; i++)
            asked |= rp_rule_open(&rules[i], f) && rule_asks(&rules[i], feature);
        if (!asked || f->of[feature].known)
            continue;
        rp_json_add_object(json, NULL);
        rp_json_add_text(json, "feature", rp_feature_name((enum rp_feature)feature));
        rp_json_add_text(json, "needs", rp_feature_needs((enum rp_feature)feature));
        rp_json_end(json);
    }
    rp_json_end(json);
}

/* Writes the cause that cannot be told from the verdict's, and what would tell. */
static void add_other(struct rp_json_writer *json, const struct rp_finding *f)
{
    if (f->or_cause == RP_CAUSE_UNKNOWN) {
        rp_json_add_null(json, "or");
        return;
    }
    rp_json_add_object(json, "or");
    rp_json_add_text(json, "cause", rp_cause_facts(f->or_cause)->name);
    rp_json_add_text(json, "feature", rp_feature_name(f->to_tell));
    rp_json_add_text(json, "needs", rp_feature_needs(f->to_tell));
    rp_json_end(json);
}

/* Writes further mistakes of the kernel. */
static void add_also(struct rp_json_writer *json, const struct rp_bottleneck_kernel *k)
{
    rp_json_add_array(json, "also");
    for (size_t i = 0; i < k->also_count; i++) {
        rp_json_add_object(json, NULL);
        rp_json_add_text(json, "cause", rp_cause_facts(k->also[i].cause)->name);
        add_range(json, "expected_gain", k->also[i].gain);
        rp_json_add_text(json, "line", k->also[i].line);
        rp_json_end(json);
    }
    rp_json_end(json);
}

static void add_evidence(struct rp_json_writer *json, const struct rp_bottleneck_kernel *k)
{
    struct rp_finding_evidence rows[RP_CAUSE_EVIDENCE];
    const size_t count = rp_finding_evidence(k, rows);

    rp_json_add_array(json, "evidence");
    for (size_t i = 0; i < count; i++) {
        rp_json_add_object(json, NULL);
        rp_json_add_text(json, "feature", rows[i].name);
        rp_json_add_text(json, "name", rows[i].words);
        rp_json_add_text(json, "unit", rows[i].unit);
        rp_json_add_text(json, "value", rows[i].value);
        rp_json_end(json);
    }
    rp_json_end(json);
}

static void add_verdict(struct rp_json_writer *json, const struct rp_bottleneck_kernel *k,
                        const struct rp_finding_texts *texts, size_t kernel)
{
    rp_autobuf text = {0};
    const struct rp_rule *rules;
    size_t count;

    rules = rp_rules(&count);
    rp_json_add_object(json, "bottleneck");
    rp_json_add_text(json, "advice", rp_finding_advice(&k->finding));
    add_also(json, k);
    rp_json_add_text(json, "cause", rp_cause_facts(k->finding.cause)->name);
    add_evidence(json, k);
    rp_json_add_text(json, "inlined_at", k->finding.outer);
    rp_json_add_text(json, "label", rp_bottleneck_names[k->label]);
    rp_json_add_text(json, "line", k->finding.line);
    add_missing(json, &k->features);
    add_other(json, &k->finding);
    rp_json_add_text(json, "rule", k->finding.rule ? k->finding.rule->id : NULL);
    rp_json_add_array(json, "rules");
    for (size_t i = 0; i < count; i++)
        if (rp_rule_fires(&rules[i], &k->features))
            add_rule(json, &rules[i], &k->features);
    rp_json_end(json);
    rp_json_add_text(json, "rules_version", rp_rules_version());
    rp_finding_put_kernel(texts, kernel, &text);
    rp_json_add_text(json, "text", rp_buf_text(&text));
    rp_json_add_text(json, "waits_at", k->finding.waits_at);
    rp_json_end(json);
    json->out->failed |= text.failed;
}

/* --- a kernel ------------------------------------------------------------------------------ */

static void add_residency(struct rp_json_writer *json, const struct rp_residency *r)
{
    rp_json_add_object(json, "occupancy");
    rp_report_quantity(json, "achieved_waves_per_simd", r->waves_per_simd);
    rp_json_add_text(json, "formula", r->formula);
    rp_json_add_text(json, "limiter", r->limiter);
    rp_json_add_count_if(json, "max_waves_per_simd", r->max_waves_per_simd > 0,
                         r->max_waves_per_simd);
    rp_report_quantity(json, "theoretical", r->theoretical);
    rp_json_end(json);
}

static void add_traced(struct rp_json_writer *json, const struct rp_traced *t)
{
    if (t->used + t->damaged == 0) {
        rp_json_add_null(json, "thread_traces");
        return;
    }
    rp_json_add_object(json, "thread_traces");
    rp_json_add_count(json, "damaged", t->damaged);
    rp_json_add_count(json, "partial", t->partial);
    rp_json_add_count(json, "sampled", t->sampled);
    rp_json_add_count(json, "used", t->used);
    rp_json_end(json);
}

/* Writes the parts that took any time, as fractions of all of it. */
static void add_wave_time(struct rp_json_writer *json, const struct rp_wave_time *t)
{
    if (t->cycles <= 0) {
        rp_json_add_null(json, "wave_time");
        return;
    }
    rp_json_add_array(json, "wave_time");
    for (unsigned p = 0; p < RP_WAVE_PART_COUNT; p++) {
        const struct rp_wave_part_time *part = &t->of[p];

        if (part->cycles <= 0)
            continue;
        rp_json_add_object(json, NULL);
        rp_json_add_real(json, "awaited", part->awaited / t->cycles, 6);
        rp_json_add_real(json, "issue_stall", part->issue / t->cycles, 6);
        rp_json_add_text(json, "line", part->line);
        rp_json_add_real(json, "line_share", part->line_cycles / t->cycles, 6);
        rp_json_add_text(json, "part", rp_wave_part_names[p]);
        rp_json_add_real(json, "share", part->cycles / t->cycles, 6);
        rp_json_end(json);
    }
    rp_json_end(json);
}

static void add_statistics(struct rp_json_writer *json, const struct rp_bottleneck_kernel *k)
{
    rp_json_add_object(json, "statistics");
    rp_report_quantity(json, "max_ns", k->max_ns);
    rp_report_quantity(json, "mean_ns", k->features.of[RP_FEATURE_DURATION_NS]);
    rp_report_quantity(json, "min_ns", k->min_ns);
    rp_report_quantity(json, "stddev_ns", k->deviation_ns);
    rp_json_end(json);
}

static void bottleneck_report_add_kernel(struct rp_json_writer *json,
                                         const struct rp_finding_texts *texts, size_t kernel)
{
    const struct rp_bottleneck_kernel *k = &texts->of->kernels[kernel];

    rp_json_break(json, 4);
    rp_json_add_object(json, NULL);
    add_verdict(json, k, texts, kernel);
    rp_json_add_count_if(json, "calls", k->calls > 0, k->calls);
    rp_report_quantity(json, "end_to_end_bound", k->end_to_end_bound);
    rp_report_quantity(json, "end_to_end_bound_if_free", k->free_bound);
    add_range(json, "end_to_end_gain", k->finding.program_gain);
    add_range(json, "expected_gain", k->finding.gain);
    rp_json_break(json, 5);
    rp_json_add_object(json, "features");
    for (unsigned i = 0; i < RP_FEATURE_COUNT; i++)
        rp_report_quantity(json, rp_feature_name((enum rp_feature)i), k->features.of[i]);
    rp_json_end(json);
    rp_json_add_text(json, "headroom_assumption", k->assumption);
    rp_report_quantity(json, "headroom_fraction", k->headroom);
    rp_json_add_text(json, "name", k->name);
    add_residency(json, &k->residency);
    rp_report_quantity(json, "priority", k->priority);
    if (texts->of->sums_alone)
        add_statistics(json, k);
    add_traced(json, &k->traced);
    rp_report_quantity(json, "time_ns", k->time_ns);
    add_wave_time(json, &k->waves);
    rp_report_quantity(json, "weight", k->weight);
    rp_json_end(json);
}

/* Writes what limits the program as a whole. */
static void add_program(struct rp_json_writer *json, const struct rp_finding_texts *texts)
{
    const struct rp_bottlenecks *b = texts->of;
    const struct rp_cause_facts *facts = rp_cause_facts(b->program.cause);
    rp_autobuf text = {0};

    rp_json_add_object(json, "program");
    rp_json_add_text(json, "advice", rp_finding_advice(&b->program));
    rp_json_add_text(json, "cause", facts->name);
    add_range(json, "end_to_end_gain", b->program.program_gain);
    rp_json_add_text(json, "kernel",
                     b->program_is_kernel ? b->kernels[b->program_kernel].name : NULL);
    rp_json_add_text(json, "label", rp_bottleneck_names[facts->label]);
    rp_json_add_text(json, "line", b->program.line);
    rp_report_quantity(json, "share", b->program_share);
    rp_finding_put_program(texts, &text);
    rp_json_add_text(json, "text", text.len ? rp_buf_text(&text) : NULL);
    rp_json_end(json);
    json->out->failed |= text.failed;
}

int rp_report_analysis_json(const struct rp_bottlenecks *b, size_t top, struct rp_buf *buf,
                            struct rp_err *err)
{
    struct rp_json_writer json;
    size_t count = top && top < b->kernel_count ? top : b->kernel_count;
    struct rp_finding_texts texts;

    if (rp_finding_texts_make(b, &texts, err) < 0)
        return -(int)RP_ENVIRONMENT;
    json = rp_report_json(buf);

    rp_json_add_text(&json, "basis", rp_rank_basis_names[b->basis]);
    json.indent = 0; /* They stay on the same line. */
    rp_report_quantity(&json, "basis_ns", b->total_ns);
    json.indent = 2;
    rp_json_add_text(&json, "device", b->origin.device);
    rp_json_add_count(&json, "kernel_count", b->kernel_count);
    rp_json_add_array(&json, "kernels");
    for (size_t i = 0; i < count; i++)
        bottleneck_report_add_kernel(&json, &texts, i);
    rp_json_end(&json);
    rp_report_processes(&json, b->profile);
    add_program(&json, &texts);
    rp_finding_texts_free(&texts);
    rp_json_add_text(&json, "rules_version", rp_rules_version());
    rp_json_add_text(&json, "schema_version", "1.1");
    /* These values are made of the thread trace alone. */
    rp_json_add_text(&json, "thread_trace_timing", b->modelled_waves ? "detailed" : NULL);
    rp_report_timing(&json, "timing", b->origin.timing_model, b->origin.timing_version,
                     b->origin.clock_mhz);
    return rp_report_json_end(&json, err);
}

enum { BOTTLENECK_REPORT_LEAST_WIDTH = 60, DEFAULT_TOP = 12 };

static struct rp_number_text bottleneck_report_number(struct rp_quantity q, double unit,
                                                      unsigned decimals)
{
    static const struct rp_number_text unknown = {"-"};

    return q.known ? rp_number_small(q.value * unit, decimals) : unknown;
}

static void put_occupancy(const struct rp_page *page, const struct rp_residency *r)
{
    if (r->waves_per_simd.known && r->max_waves_per_simd)
        rp_page_line(page, RP_INK_DIM, 6, "%s of %u waves on a SIMD%s%s%s%s",
                     bottleneck_report_number(r->waves_per_simd, 1, 1).text, r->max_waves_per_simd,
                     r->theoretical.known ? ", resources allow " : "",
                     r->theoretical.known
                         ? bottleneck_report_number(r->theoretical, r->max_waves_per_simd, 1).text
                         : "",
                     r->limiter ? ", limit: " : "", r->limiter ? r->limiter : "");
}

/* Writes the rules of the verdict, or all rules of a mixed one. */
static void put_reasons(const struct rp_page *page, const struct rp_bottleneck_kernel *k)
{
    const struct rp_rule *rules;
    rp_autobuf text = {0};
    size_t count;

    rules = rp_rules(&count);
    for (size_t i = 0; i < count; i++) {
        if (!rp_rule_fires(&rules[i], &k->features) || rules[i].cause != k->finding.cause)
            continue;
        for (size_t c = 0; c < rules[i].count; c++) {
            const struct rp_condition *when = &rules[i].when[c];
            const char *name = rp_feature_name(when->feature);

            if (strstr(rp_buf_text(&text), name) || !k->features.of[when->feature].known)
                continue;
            rp_buf_printf(&text, "%s%s %s", text.len ? ", " : "", name,
                          bottleneck_report_number(k->features.of[when->feature], 1,
                                                   when->feature == RP_FEATURE_DURATION_NS ? 0 : 2)
                              .text);
        }
    }
    if (text.len)
        rp_page_line(page, RP_INK_DIM, 6, "%s", rp_buf_text(&text));
}

/* Writes what contradicts the stalls and waves above. */
static void analysis_term_put_traced(const struct rp_page *page, const struct rp_traced *t)
{
    rp_autobuf text = {0};

    if (t->partial)
        rp_buf_printf(&text, ", %" PRIu64 " partial", t->partial);
    if (t->sampled)
        rp_buf_printf(&text, ", %" PRIu64 " of sampled workgroups", t->sampled);
    if (t->damaged)
        rp_buf_printf(&text, ", %" PRIu64 " damaged and left out", t->damaged);
    if (text.len)
        rp_page_line(page, RP_INK_YELLOW, 6, "%" PRIu64 " thread trace%s%s", t->used + t->damaged,
                     rp_plural(t->used + t->damaged), rp_buf_text(&text));
}

static void analysis_term_put_kernel(const struct rp_page *page,
                                     const struct rp_bottleneck_kernel *k)
{
    rp_page_text(page, RP_INK_PLAIN, 2, k->name);
    rp_page_line(page, RP_INK_PLAIN, 4, "%9s %10s %12s %10s  %s",
                 bottleneck_report_number(k->weight, 100, 1).text,
                 bottleneck_report_number(k->headroom, 100, 1).text,
                 bottleneck_report_number(k->end_to_end_bound, 1, 3).text,
                 bottleneck_report_number(k->free_bound, 1, 3).text, rp_bottleneck_names[k->label]);
    if (page->verbose) {
        put_reasons(page, k);
        put_occupancy(page, &k->residency);
    }
    analysis_term_put_traced(page, &k->traced);
}

/* There is nothing to look at, because the row would have only zeros. */
static bool is_nothing(const struct rp_bottleneck_kernel *k)
{
    return k->weight.known && strcmp(rp_number_fixed(k->weight.value * 100, 1).text, "0.0") == 0 &&
           (!k->free_bound.known ||
            strcmp(bottleneck_report_number(k->free_bound, 1, 3).text, "1.000") == 0);
}

static void put_ranking(const struct rp_page *page, const struct rp_bottlenecks *b, size_t shown)
{
    rp_page_line(page, RP_INK_BOLD, 0, "Kernels by what there is to gain (rules %s)",
                 rp_rules_version());
    rp_page_line(page, RP_INK_BOLD, 4, "%9s %10s %12s %10s  %s",
                 b->basis == RP_RANK_CRITICAL_PATH ? "% of path" : "% of time", "headroom %",
                 "max speed-up", "if removed", "bottleneck");
    for (size_t i = 0; i < shown; i++)
        analysis_term_put_kernel(page, &b->kernels[i]);
}

static void put_evidence(const struct rp_page *page, const struct rp_finding_texts *texts,
                         size_t kernel)
{
    struct rp_finding_evidence rows[RP_CAUSE_EVIDENCE];
    const size_t count = rp_finding_evidence(&texts->of->kernels[kernel], rows);
    rp_autobuf text = {0}, advice = {0};

    for (size_t i = 0; i < count; i++)
        rp_buf_printf(&text, "%s%s %s %s", i ? ", " : "", rows[i].words, rows[i].value,
                      rows[i].unit);
    if (text.len)
        rp_page_words(page, RP_INK_DIM, 8, 2, "%s", rp_buf_text(&text));
    rp_finding_put_advice(texts, kernel, &advice);
    if (advice.len)
        rp_page_words(page, RP_INK_DIM, 8, 2, "Try: %s", rp_buf_text(&advice));
    page->out->failed |= text.failed || advice.failed;
}

/** Writes a line with a bar: the share, the kernel, what limits it, where, and what is to gain. */
static void put_finding(const struct rp_page *page, const struct rp_finding_texts *texts,
                        size_t kernel)
{
    enum { BAR = 12, HANG = 21 }; /* Further lines begin below the kernel. */
    const struct rp_bottleneck_kernel *k = &texts->of->kernels[kernel];
    rp_autobuf bar = {0}, text = {0};

    rp_page_bar(page, k->weight.known ? k->weight.value : 0, BAR, &bar);
    rp_escape(&text, texts->names.at[kernel]);
    rp_buf_puts(&text, ": ");
    rp_finding_put_kernel(texts, kernel, &text);
    rp_page_words(page, RP_INK_PLAIN, 0, HANG, "%6s %s  %s",
                  bottleneck_report_number(k->weight, 100, 1).text, rp_buf_text(&bar),
                  rp_buf_text(&text));
    page->out->failed |= bar.failed || text.failed;
    if (page->verbose)
        put_evidence(page, texts, kernel);
    else
        analysis_term_put_traced(page, &k->traced);
}

static int put_findings(const struct rp_page *page, const struct rp_bottlenecks *b, size_t shown,
                        struct rp_err *err)
{
    struct rp_finding_texts texts;

    if (rp_finding_texts_make(b, &texts, err) < 0)
        return -(int)RP_ENVIRONMENT;
    rp_page_line(page, RP_INK_DIM, 0, "%6s %-12s  kernel: what limits it",
                 b->basis == RP_RANK_CRITICAL_PATH ? "% path" : "% time", "");
    for (size_t i = 0; i < shown; i++)
        put_finding(page, &texts, i);
    rp_finding_texts_free(&texts);
    return 0;
}

/* Sums have no timeline to rank by, so they only give a table. */
static void analysis_term_put_statistics(const struct rp_page *page,
                                         const struct rp_bottleneck_kernel *k)
{
    rp_page_text(page, RP_INK_PLAIN, 2, k->name);
    rp_page_line(page, RP_INK_PLAIN, 4, "%9s %11s %10s %10s %10s %10s %7s",
                 bottleneck_report_number(
                     (struct rp_quantity){.known = k->calls > 0, .value = (double)k->calls}, 1, 0)
                     .text,
                 bottleneck_report_number(k->time_ns, 1e-6, 3).text,
                 bottleneck_report_number(k->features.of[RP_FEATURE_DURATION_NS], 1e-3, 2).text,
                 bottleneck_report_number(k->min_ns, 1e-3, 2).text,
                 bottleneck_report_number(k->max_ns, 1e-3, 2).text,
                 bottleneck_report_number(k->deviation_ns, 1e-3, 2).text,
                 bottleneck_report_number(k->weight, 100, 1).text);
}

static void put_statistics_head(const struct rp_page *page, const struct rp_bottlenecks *b)
{
    rp_page_line(page, RP_INK_BOLD, 0, "Kernel statistics: %s ms total",
                 bottleneck_report_number(b->total_ns, 1e-6, 3).text);
    rp_page_line(page, RP_INK_DIM, 0,
                 "Sums alone: no timeline, so no critical path, gaps or slack");
    rp_page_line(page, RP_INK_BOLD, 4, "%9s %11s %10s %10s %10s %10s %7s", "calls", "total ms",
                 "mean us", "min us", "max us", "stddev us", "% time");
}

int rp_report_analysis_term(const struct rp_bottlenecks *b, size_t top, struct rp_term_style style,
                            struct rp_buf *buf, struct rp_err *err)
{
    struct rp_page page = rp_page_of(buf, style, BOTTLENECK_REPORT_LEAST_WIDTH);
    size_t most = top ? top : DEFAULT_TOP, shown = b->kernel_count < most ? b->kernel_count : most;

    if (b->kernel_count == 0)
        return 0;
    if (b->sums_alone)
        put_statistics_head(&page, b);
    else
        while (!top && shown > 1 && is_nothing(&b->kernels[shown - 1]))
            shown--;
    for (size_t i = 0; i < shown && b->sums_alone; i++)
        analysis_term_put_statistics(&page, &b->kernels[i]);
    if (!b->sums_alone && put_findings(&page, b, shown, err) < 0)
        return -(int)RP_ENVIRONMENT;
    if (!b->sums_alone && page.verbose)
        put_ranking(&page, b, shown);
    if (shown < b->kernel_count)
        rp_page_line(&page, RP_INK_DIM, 2,
                     "and %zu more: --top %zu shows all, -o DIR writes analysis.json",
                     b->kernel_count - shown, b->kernel_count);
    return rp_report_end(buf, err);
}

#include <inttypes.h>
#include <string.h>

#include "analyze/bottleneck.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "report/report.h"
#include "report/report_text.h"

/* Keys are in alphabetical order in every object. What is not known is null. */

/* --- the verdict --------------------------------------------------------------------------- */

static void add_condition(struct rp_json_writer *json, const struct rp_condition *c,
                          const struct rp_features *f)
{
    rp_json_add_object(json, NULL);
    rp_json_add_text(json, "feature", rp_feature_name(c->feature));
    rp_json_add_text(json, "is", c->at_least ? "at_least" : "below");
    rp_json_add_number(json, "threshold", c->value);
    rp_report_quantity(json, "value", f->of[c->feature]);
    rp_json_end(json);
}

static void add_rule(struct rp_json_writer *json, const struct rp_rule *rule,
                     const struct rp_features *f)
{
    rp_json_add_object(json, NULL);
    rp_json_add_array(json, "conditions");
    add_condition(json, &rule->when[0], f);
    if (rule->when[1].feature != rule->when[0].feature)
        add_condition(json, &rule->when[1], f);
    rp_json_end(json);
    rp_json_add_text(json, "id", rule->id);
    rp_json_add_text(json, "label", rp_bottleneck_names[rule->label]);
    rp_json_add_count(json, "points", rule->points);
    rp_json_end(json);
}

/* Features that rules ask for and nobody counted; by the order of the table, which is that of the
 * names. */
static void add_missing(struct rp_json_writer *json, const struct rp_features *f)
{
    const struct rp_rule *rules;
    size_t count;

    rules = rp_rules(&count);
    rp_json_add_array(json, "missing");
    for (unsigned feature = 0; feature < RP_FEATURE_COUNT; feature++) {
        bool asked = false;

        for (size_t i = 0; i < count; i++)
            asked |= rp_rule_open(&rules[i], f) &&
                     (rules[i].when[0].feature == feature || rules[i].when[1].feature == feature);
        if (!asked || f->of[feature].known)
            continue;
        rp_json_add_object(json, NULL);
        rp_json_add_text(json, "feature", rp_feature_name((enum rp_feature)feature));
        rp_json_add_text(json, "needs", rp_feature_needs((enum rp_feature)feature));
        rp_json_end(json);
    }
    rp_json_end(json);
}

static void add_verdict(struct rp_json_writer *json, const struct rp_bottleneck_kernel *k)
{
    const struct rp_rule *rules;
    size_t count;

    rules = rp_rules(&count);
    rp_json_add_object(json, "bottleneck");
    rp_json_add_text(json, "label", rp_bottleneck_names[k->label]);
    add_missing(json, &k->features);
    rp_json_add_array(json, "rules");
    for (size_t i = 0; i < count; i++)
        if (rp_rule_fires(&rules[i], &k->features))
            add_rule(json, &rules[i], &k->features);
    rp_json_end(json);
    rp_json_add_text(json, "rules_version", rp_rules_version());
    rp_json_end(json);
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

static void add_statistics(struct rp_json_writer *json, const struct rp_bottleneck_kernel *k)
{
    rp_json_add_object(json, "statistics");
    rp_report_quantity(json, "max_ns", k->max_ns);
    rp_report_quantity(json, "mean_ns", k->features.of[RP_FEATURE_DURATION_NS]);
    rp_report_quantity(json, "min_ns", k->min_ns);
    rp_report_quantity(json, "stddev_ns", k->deviation_ns);
    rp_json_end(json);
}

static void add_kernel(struct rp_json_writer *json, const struct rp_bottleneck_kernel *k,
                       bool sums_alone)
{
    rp_json_break(json, 4);
    rp_json_add_object(json, NULL);
    add_verdict(json, k);
    rp_json_add_count_if(json, "calls", k->calls > 0, k->calls);
    rp_report_quantity(json, "end_to_end_bound", k->end_to_end_bound);
    rp_report_quantity(json, "end_to_end_bound_if_free", k->free_bound);
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
    if (sums_alone)
        add_statistics(json, k);
    add_traced(json, &k->traced);
    rp_report_quantity(json, "time_ns", k->time_ns);
    rp_report_quantity(json, "weight", k->weight);
    rp_json_end(json);
}

int rp_report_analysis_json(const struct rp_bottlenecks *b, size_t top, struct rp_buf *buf,
                            struct rp_err *err)
{
    struct rp_json_writer json = rp_report_json(buf);
    size_t count = top && top < b->kernel_count ? top : b->kernel_count;

    rp_json_add_text(&json, "basis", rp_rank_basis_names[b->basis]);
    json.indent = 0; /* on the same line */
    rp_report_quantity(&json, "basis_ns", b->total_ns);
    json.indent = 2;
    rp_json_add_text(&json, "device", b->origin.device);
    rp_json_add_count(&json, "kernel_count", b->kernel_count);
    rp_json_add_array(&json, "kernels");
    for (size_t i = 0; i < count; i++)
        add_kernel(&json, &b->kernels[i], b->sums_alone);
    rp_json_end(&json);
    rp_json_add_text(&json, "rules_version", rp_rules_version());
    rp_json_add_text(&json, "schema_version", "1.0");
    rp_json_add_text(&json, "thread_trace_timing", /* they are made of it alone */
                     b->modelled_waves ? "detailed" : NULL);
    rp_report_timing(&json, "timing", b->origin.timing_model, b->origin.timing_version);
    return rp_report_json_end(&json, err);
}

enum { LEAST_WIDTH = 60, DEFAULT_TOP = 12 };

static struct rp_number_text number(struct rp_quantity q, double unit, unsigned decimals)
{
    static const struct rp_number_text unknown = {"-"};

    return q.known ? rp_number_small(q.value * unit, decimals) : unknown;
}

static void put_occupancy(const struct rp_page *page, const struct rp_residency *r)
{
    if (r->waves_per_simd.known && r->max_waves_per_simd)
        rp_page_line(page, RP_INK_DIM, 6, "%s of %u waves on a SIMD%s%s%s%s",
                     number(r->waves_per_simd, 1, 1).text, r->max_waves_per_simd,
                     r->theoretical.known ? ", resources allow " : "",
                     r->theoretical.known ? number(r->theoretical, r->max_waves_per_simd, 1).text
                                          : "",
                     r->limiter ? ", limit: " : "", r->limiter ? r->limiter : "");
}

/* Rules of the verdict; of a mixed one, all. */
static void put_reasons(const struct rp_page *page, const struct rp_bottleneck_kernel *k)
{
    const struct rp_rule *rules;
    rp_autobuf text = {0};
    size_t count;

    rules = rp_rules(&count);
    for (size_t i = 0; i < count; i++) {
        if (!rp_rule_fires(&rules[i], &k->features) ||
            (rules[i].label != k->label && k->label != RP_BOTTLENECK_MIXED))
            continue;
        for (size_t c = 0; c < 2; c++) {
            const struct rp_condition *when = &rules[i].when[c];
            const char *name = rp_feature_name(when->feature);

            if (strstr(rp_buf_text(&text), name))
                continue;
            rp_buf_printf(&text, "%s%s %s", text.len ? ", " : "", name,
                          number(k->features.of[when->feature], 1,
                                 when->feature == RP_FEATURE_DURATION_NS ? 0 : 2)
                              .text);
        }
    }
    if (text.len)
        rp_page_line(page, RP_INK_DIM, 6, "%s", rp_buf_text(&text));
}

/* What speaks against the stalls and waves above. */
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
                     t->used + t->damaged == 1 ? "" : "s", rp_buf_text(&text));
}

static void analysis_term_put_kernel(const struct rp_page *page,
                                     const struct rp_bottleneck_kernel *k)
{
    rp_page_text(page, RP_INK_PLAIN, 2, k->name);
    rp_page_line(page, RP_INK_PLAIN, 4, "%7s %9s %9s %9s  %s", number(k->weight, 100, 1).text,
                 number(k->headroom, 100, 1).text, number(k->end_to_end_bound, 1, 3).text,
                 number(k->free_bound, 1, 3).text, rp_bottleneck_names[k->label]);
    put_reasons(page, k);
    put_occupancy(page, &k->residency);
    analysis_term_put_traced(page, &k->traced);
}

/* Nothing to look at: it would be a row of zeros. */
static bool is_nothing(const struct rp_bottleneck_kernel *k)
{
    return k->weight.known && strcmp(rp_number_fixed(k->weight.value * 100, 1).text, "0.0") == 0 &&
           (!k->free_bound.known || strcmp(number(k->free_bound, 1, 3).text, "1.000") == 0);
}

static void put_ranking(const struct rp_page *page, const struct rp_bottlenecks *b, size_t shown)
{
    rp_page_line(page, RP_INK_BOLD, 0, "What to look at first (rules %s)", rp_rules_version());
    rp_page_line(page, RP_INK_BOLD, 4, "%7s %9s %9s %9s  %s",
                 b->basis == RP_RANK_CRITICAL_PATH ? "% path" : "% time", "% to gain", "speed-up",
                 "if free", "what limits it");
    for (size_t i = 0; i < shown; i++)
        analysis_term_put_kernel(page, &b->kernels[i]);
}

/* Sums have no timeline to rank by: a table of them is all that they say. */
static void analysis_term_put_statistics(const struct rp_page *page,
                                         const struct rp_bottleneck_kernel *k)
{
    rp_page_text(page, RP_INK_PLAIN, 2, k->name);
    rp_page_line(
        page, RP_INK_PLAIN, 4, "%9s %11s %10s %10s %10s %10s %7s",
        number((struct rp_quantity){.known = k->calls > 0, .value = (double)k->calls}, 1, 0).text,
        number(k->time_ns, 1e-6, 3).text,
        number(k->features.of[RP_FEATURE_DURATION_NS], 1e-3, 2).text,
        number(k->min_ns, 1e-3, 2).text, number(k->max_ns, 1e-3, 2).text,
        number(k->deviation_ns, 1e-3, 2).text, number(k->weight, 100, 1).text);
}

static void put_statistics_head(const struct rp_page *page, const struct rp_bottlenecks *b)
{
    rp_page_line(page, RP_INK_BOLD, 0, "Kernel statistics: %s ms in all",
                 number(b->total_ns, 1e-6, 3).text);
    rp_page_line(page, RP_INK_DIM, 0,
                 "Sums alone: no timeline, so no critical path, gaps or slack");
    rp_page_line(page, RP_INK_BOLD, 4, "%9s %11s %10s %10s %10s %10s %7s", "calls", "total ms",
                 "mean us", "min us", "max us", "stddev us", "% time");
}

int rp_report_analysis_term(const struct rp_bottlenecks *b, size_t top, struct rp_term_style style,
                            struct rp_buf *buf, struct rp_err *err)
{
    struct rp_page page = rp_page_of(buf, style, LEAST_WIDTH);
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
    if (!b->sums_alone)
        put_ranking(&page, b, shown);
    if (shown < b->kernel_count)
        rp_page_line(&page, RP_INK_DIM, 2,
                     "and %zu more: --top %zu shows all, -o DIR writes analysis.json",
                     b->kernel_count - shown, b->kernel_count);
    return rp_report_end(buf, err);
}

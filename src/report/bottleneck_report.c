#include <inttypes.h>
#include <string.h>

#include "analyze/bottleneck.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "report/report.h"
#include "report/report_text.h"

/* Keys are in alphabetical order in every object. What is not known is null. */

static void put(struct rp_buf *buf, struct rp_quantity q)
{
    if (q.known)
        rp_text_json_number(buf, rp_text_round6(q.value));
    else
        rp_buf_puts(buf, "null");
}

static void key(struct rp_buf *buf, const char *name, struct rp_quantity q)
{
    rp_buf_printf(buf, ", \"%s\": ", name);
    put(buf, q);
}

static void key_text(struct rp_buf *buf, const char *name, const char *text)
{
    rp_buf_printf(buf, ", \"%s\": ", name);
    rp_text_json(buf, text);
}

/* --- the verdict --------------------------------------------------------------------------- */

static void put_condition(struct rp_buf *buf, const struct rp_condition *c,
                          const struct rp_features *f)
{
    rp_buf_printf(buf, "{\"feature\": \"%s\", \"is\": \"%s\", \"threshold\": ",
                  rp_feature_name(c->feature), c->at_least ? "at_least" : "below");
    rp_text_json_number(buf, c->value);
    key(buf, "value", f->of[c->feature]);
    rp_buf_puts(buf, "}");
}

static void put_rule(struct rp_buf *buf, const struct rp_rule *rule, const struct rp_features *f)
{
    rp_buf_puts(buf, "{\"conditions\": [");
    put_condition(buf, &rule->when[0], f);
    if (rule->when[1].feature != rule->when[0].feature) {
        rp_buf_puts(buf, ", ");
        put_condition(buf, &rule->when[1], f);
    }
    rp_buf_printf(buf, "], \"id\": \"%s\", \"label\": \"%s\", \"points\": %u}", rule->id,
                  rp_bottleneck_name(rule->label), rule->points);
}

/* Features that rules ask for and nobody counted; by the order of the table, which is that of the
 * names. */
static void put_missing(struct rp_buf *buf, const struct rp_features *f)
{
    const char *comma = "";
    const struct rp_rule *rules;
    size_t count;

    rules = rp_rules(&count);
    for (unsigned feature = 0; feature < RP_FEATURE_COUNT; feature++) {
        bool asked = false;

        for (size_t i = 0; i < count; i++)
            asked |= rp_rule_open(&rules[i], f) &&
                     (rules[i].when[0].feature == feature || rules[i].when[1].feature == feature);
        if (!asked || f->of[feature].known)
            continue;
        rp_buf_printf(buf, "%s{\"feature\": \"%s\"", comma,
                      rp_feature_name((enum rp_feature)feature));
        key_text(buf, "needs", rp_feature_needs((enum rp_feature)feature));
        rp_buf_puts(buf, "}");
        comma = ", ";
    }
}

static void put_verdict(struct rp_buf *buf, const struct rp_bottleneck_kernel *k)
{
    const char *comma = "";
    const struct rp_rule *rules;
    size_t count;

    rules = rp_rules(&count);
    rp_buf_printf(buf, "{\"label\": \"%s\", \"missing\": [", rp_bottleneck_name(k->label));
    put_missing(buf, &k->features);
    rp_buf_puts(buf, "], \"rules\": [");
    for (size_t i = 0; i < count; i++)
        if (rp_rule_fires(&rules[i], &k->features)) {
            rp_buf_puts(buf, comma);
            put_rule(buf, &rules[i], &k->features);
            comma = ", ";
        }
    rp_buf_printf(buf, "], \"rules_version\": \"%s\"}", rp_rules_version());
}

/* --- a kernel ------------------------------------------------------------------------------ */

static void put_features(struct rp_buf *buf, const struct rp_features *f)
{
    rp_buf_puts(buf, "{");
    for (unsigned i = 0; i < RP_FEATURE_COUNT; i++) {
        rp_buf_printf(buf, "%s\"%s\": ", i ? ", " : "", rp_feature_name((enum rp_feature)i));
        put(buf, f->of[i]);
    }
    rp_buf_puts(buf, "}");
}

static void put_residency(struct rp_buf *buf, const struct rp_residency *r)
{
    rp_buf_puts(buf, "{\"achieved_waves_per_simd\": ");
    put(buf, r->waves_per_simd);
    key_text(buf, "formula", r->formula);
    key_text(buf, "limiter", r->limiter);
    key(buf, "max_waves_per_simd",
        (struct rp_quantity){.known = r->max_waves_per_simd > 0, .value = r->max_waves_per_simd});
    key(buf, "theoretical", r->theoretical);
    rp_buf_puts(buf, "}");
}

static void put_traced(struct rp_buf *buf, const struct rp_traced *t)
{
    rp_buf_puts(buf, ", \"thread_traces\": ");
    if (t->used + t->damaged == 0)
        rp_buf_puts(buf, "null");
    else
        rp_buf_printf(buf,
                      "{\"damaged\": %" PRIu64 ", \"partial\": %" PRIu64 ", \"sampled\": %" PRIu64
                      ", \"used\": %" PRIu64 "}",
                      t->damaged, t->partial, t->sampled, t->used);
}

static void put_statistics(struct rp_buf *buf, const struct rp_bottleneck_kernel *k)
{
    rp_buf_puts(buf, ", \"statistics\": {\"max_ns\": ");
    put(buf, k->max_ns);
    key(buf, "mean_ns", k->features.of[RP_FEATURE_DURATION_NS]);
    key(buf, "min_ns", k->min_ns);
    key(buf, "stddev_ns", k->deviation_ns);
    rp_buf_puts(buf, "}");
}

static void put_kernel(struct rp_buf *buf, const struct rp_bottleneck_kernel *k, bool sums_alone)
{
    rp_buf_puts(buf, "\n    {\"bottleneck\": ");
    put_verdict(buf, k);
    key(buf, "calls", (struct rp_quantity){.known = k->calls > 0, .value = (double)k->calls});
    key(buf, "end_to_end_bound", k->end_to_end_bound);
    key(buf, "end_to_end_bound_if_free", k->free_bound);
    rp_buf_puts(buf, ",\n     \"features\": ");
    put_features(buf, &k->features);
    key_text(buf, "headroom_assumption", k->assumption);
    key(buf, "headroom_fraction", k->headroom);
    key_text(buf, "name", k->name);
    rp_buf_puts(buf, ", \"occupancy\": ");
    put_residency(buf, &k->residency);
    key(buf, "priority", k->priority);
    if (sums_alone)
        put_statistics(buf, k);
    put_traced(buf, &k->traced);
    key(buf, "time_ns", k->time_ns);
    key(buf, "weight", k->weight);
    rp_buf_puts(buf, "}");
}

int rp_report_analysis_json(const struct rp_bottlenecks *b, size_t top, struct rp_buf *buf,
                            struct rp_err *err)
{
    size_t count = top && top < b->kernel_count ? top : b->kernel_count;

    rp_buf_puts(buf, "{\n  \"basis\": ");
    rp_text_json(buf, rp_rank_basis_name(b->basis));
    key(buf, "basis_ns", b->total_ns);
    rp_buf_puts(buf, ",\n  \"device\": ");
    rp_text_json(buf, b->origin.device);
    rp_buf_printf(buf, ",\n  \"kernel_count\": %zu,\n  \"kernels\": [", b->kernel_count);
    for (size_t i = 0; i < count; i++) {
        rp_buf_puts(buf, i ? "," : "");
        put_kernel(buf, &b->kernels[i], b->sums_alone);
    }
    rp_buf_printf(buf, "],\n  \"rules_version\": \"%s\",\n  \"schema_version\": \"1.0\",\n",
                  rp_rules_version());
    rp_buf_puts(buf, "  \"thread_trace_timing\": ");
    rp_text_json(buf, b->modelled_waves ? "detailed" : NULL); /* they are made of it alone */
    rp_buf_puts(buf, ",\n  \"timing\": ");
    rp_text_json_timing(buf, b->origin.timing_model, b->origin.timing_version);
    rp_buf_puts(buf, "\n}\n");
    return buf->failed ? rp_fail(err, RP_ENVIRONMENT, "out of memory") : 0;
}

enum { DEFAULT_WIDTH = 80, LEAST_WIDTH = 60, DEFAULT_TOP = 12 };

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
                 number(k->free_bound, 1, 3).text, rp_bottleneck_name(k->label));
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
    struct rp_page page = {.out = buf,
                           .colour = style.colour,
                           .utf8 = style.utf8,
                           .width = style.width == 0            ? DEFAULT_WIDTH
                                    : style.width < LEAST_WIDTH ? LEAST_WIDTH
                                                                : style.width};
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
    return buf->failed ? rp_fail(err, RP_ENVIRONMENT, "out of memory") : 0;
}

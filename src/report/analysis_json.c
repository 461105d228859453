#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "report/text.h"
#include "rocm-perf/bottleneck.h"
#include "rocm-perf/report.h"

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

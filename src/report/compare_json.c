#include <inttypes.h>
#include <math.h>

#include "base/buf.h"
#include "base/err.h"
#include "report/text.h"
#include "rocm-perf/compare.h"
#include "rocm-perf/report.h"

/* Keys are in alphabetical order in every object. What is not known is null. */

static void number(struct rp_buf *buf, double value)
{
    if (isfinite(value))
        rp_text_json_number(buf, rp_text_round6(value));
    else
        rp_buf_puts(buf, "null");
}

static void key_number(struct rp_buf *buf, const char *name, double value)
{
    rp_buf_printf(buf, ", \"%s\": ", name);
    number(buf, value);
}

static void key_text(struct rp_buf *buf, const char *name, const char *text)
{
    rp_buf_printf(buf, ", \"%s\": ", name);
    rp_text_json(buf, text);
}

static void put_quantity(struct rp_buf *buf, struct rp_quantity q)
{
    number(buf, q.known ? q.value : NAN);
}

static void put_count(struct rp_buf *buf, uint64_t count)
{
    if (count)
        rp_buf_printf(buf, "%" PRIu64, count);
    else
        rp_buf_puts(buf, "null");
}

/* --- sides --------------------------------------------------------------------------------- */

static void put_gpus(struct rp_buf *buf, const struct rp_versus_side *side)
{
    rp_buf_puts(buf, "[");
    for (size_t i = 0; i < side->gpu_count; i++) {
        const struct rp_versus_gpu *gpu = &side->gpus[i];

        rp_buf_printf(buf, "%s{\"architecture\": ", i ? ", " : "");
        rp_text_json(buf, gpu->architecture);
        rp_buf_puts(buf, ", \"compute_units\": ");
        put_count(buf, gpu->compute_units);
        rp_buf_puts(buf, ", \"engine_clock_mhz\": ");
        put_count(buf, gpu->engine_clock_mhz);
        key_text(buf, "product", gpu->product);
        rp_buf_puts(buf, "}");
    }
    rp_buf_puts(buf, "]");
}

static void put_side(struct rp_buf *buf, const struct rp_versus_side *side)
{
    rp_buf_puts(buf, "{\"command\": ");
    rp_text_json(buf, side->command);
    rp_buf_printf(buf, ", \"complete\": %s", side->incomplete ? "false" : "true");
    key_text(buf, "device", side->software ? "software" : "hardware");
    rp_buf_printf(buf, ", \"failed\": %" PRIu64, side->failed);
    key_text(buf, "failed_launches", side->failed_launches);
    rp_buf_puts(buf, ", \"gpus\": ");
    put_gpus(buf, side);
    key_text(buf, "measurement",
             side->told.is ? "replay"
             : side->wall  ? "wallclock"
                           : "dispatches");
    key_text(buf, "path", side->path);
    key_text(buf, "rocm_version", side->rocm_version);
    rp_buf_puts(buf, ", \"timing\": ");
    rp_text_json_timing(buf, side->told.is ? NULL : side->timing_model, side->timing_version);
    key_text(buf, "tracer", side->tracer);
    rp_buf_puts(buf, "}");
}

/* --- what was found ------------------------------------------------------------------------ */

static void put_time(struct rp_buf *buf, const struct rp_versus_time *t)
{
    rp_buf_puts(buf, "{\"after_ms\": ");
    number(buf, t->after_ms);
    rp_buf_printf(buf, ", \"after_runs\": %zu", t->after_runs);
    key_text(buf, "basis", rp_versus_basis_name(t->basis));
    key_number(buf, "before_ms", t->before_ms);
    rp_buf_printf(buf, ", \"before_runs\": %zu", t->before_runs);
    key_number(buf, "drift", t->basis == RP_COMPARE_MEASURED ? t->drift : NAN);
    key_number(buf, "high", t->bounded ? t->high : NAN);
    key_number(buf, "level", t->bounded ? t->level : NAN);
    key_number(buf, "low", t->bounded ? t->low : NAN);
    key_number(buf, "ratio", t->ratio);
    key_text(buf, "reason", t->reason);
    key_text(buf, "verdict", rp_versus_verdict_name(t->verdict));
    rp_buf_puts(buf, "}");
}

static void put_pair(struct rp_buf *buf, struct rp_quantity before, struct rp_quantity after)
{
    rp_buf_puts(buf, "{\"after\": ");
    put_quantity(buf, after);
    rp_buf_puts(buf, ", \"before\": ");
    put_quantity(buf, before);
    rp_buf_puts(buf, "}");
}

/* Alphabetical, as all keys. */
static const enum rp_versus_metric by_name[RP_COMPARE_METRICS] = {
    RP_COMPARE_AGPRS,         RP_COMPARE_BYTES,     RP_COMPARE_CV,
    RP_COMPARE_DISPATCHES,    RP_COMPARE_LDS_BYTES, RP_COMPARE_OCCUPANCY,
    RP_COMPARE_SCRATCH_BYTES, RP_COMPARE_SGPRS,     RP_COMPARE_VGPRS};

static void put_metrics(struct rp_buf *buf, const struct rp_quantity *before,
                        const struct rp_quantity *after, bool of_kernel)
{
    static const struct rp_quantity unknown = {0};
    const char *comma = "";

    rp_buf_puts(buf, "{");
    for (size_t i = 0; i < RP_COMPARE_METRICS; i++) {
        const enum rp_versus_metric m = by_name[i];

        if (!of_kernel && rp_versus_metric_per_kernel(m))
            continue;
        rp_buf_printf(buf, "%s\"%s\": ", comma, rp_versus_metric_name(m));
        put_pair(buf, before ? before[m] : unknown, after ? after[m] : unknown);
        comma = ", ";
    }
    rp_buf_puts(buf, "}");
}

static void put_size(struct rp_buf *buf, const uint64_t *size)
{
    if (!size || !size[0])
        rp_buf_puts(buf, "null");
    else
        rp_buf_printf(buf, "[%" PRIu64 ", %" PRIu64 ", %" PRIu64 "]", size[0], size[1], size[2]);
}

static void key_sizes(struct rp_buf *buf, const char *name, const uint64_t *before,
                      const uint64_t *after)
{
    rp_buf_printf(buf, ", \"%s\": {\"after\": ", name);
    put_size(buf, after);
    rp_buf_puts(buf, ", \"before\": ");
    put_size(buf, before);
    rp_buf_puts(buf, "}");
}

static void put_kernel(struct rp_buf *buf, const struct rp_versus_pair *k)
{
    const struct rp_versus_kernel *a = k->before, *b = k->after, *some = a ? a : b;

    rp_buf_puts(buf, "{\"bound\": {\"after\": ");
    rp_text_json(buf, b ? b->bound : NULL);
    key_text(buf, "before", a ? a->bound : NULL);
    rp_buf_puts(buf, "}");
    key_sizes(buf, "block", a ? a->block : NULL, b ? b->block : NULL);
    key_sizes(buf, "grid", a ? a->grid : NULL, b ? b->grid : NULL);
    rp_buf_puts(buf, ", \"metrics\": ");
    put_metrics(buf, a ? a->metrics : NULL, b ? b->metrics : NULL, true);
    key_text(buf, "name", some->name);
    rp_buf_printf(buf, ", \"runs_in\": \"%s\", \"runtime_internal\": %s, \"time\": ",
                  a && b ? "both"
                  : a    ? "before"
                         : "after",
                  some->runtime_internal ? "true" : "false");
    if (a && b)
        put_time(buf, &k->time);
    else
        rp_buf_puts(buf, "null");
    rp_buf_puts(buf, "}");
}

static void put_gate(struct rp_buf *buf, const struct rp_versus_gate *gate,
                     const struct rp_versus_gated *gated)
{
    rp_buf_puts(buf, "{\"gate\": ");
    rp_text_json(buf, gate->text);
    key_text(buf, "kernel", gated->kernel);
    rp_buf_puts(buf, ", \"limit\": ");
    put_quantity(buf, gated->limit);
    key_text(buf, "reason", gated->reason[0] ? gated->reason : NULL);
    key_text(buf, "result", rp_versus_passed_name(gated->passed));
    rp_buf_puts(buf, ", \"value\": ");
    put_quantity(buf, gated->value);
    rp_buf_puts(buf, "}");
}

static void put_comparison(struct rp_buf *buf, const struct rp_compare_report *r, size_t at)
{
    const struct rp_versus_found *c = &r->list[at];

    rp_buf_puts(buf, "    {\"after\": ");
    put_side(buf, c->after);
    rp_buf_puts(buf, ",\n     \"gates\": [");
    for (size_t i = 0; i < r->gate_count; i++) {
        rp_buf_puts(buf, i ? ",\n       " : "\n       ");
        put_gate(buf, &r->gates[i], &r->gated[at * r->gate_count + i]);
    }
    rp_buf_puts(buf, "],\n     \"kernels\": [");
    for (size_t i = 0; i < c->kernel_count; i++) {
        rp_buf_puts(buf, i ? ",\n       " : "\n       ");
        put_kernel(buf, &c->kernels[i]);
    }
    rp_buf_puts(buf, "],\n     \"whole\": {\"different_output\": ");
    rp_buf_puts(buf, !c->after->told.is ? "null" : c->after->told.wrong ? "true" : "false");
    rp_buf_puts(buf, ", \"metrics\": ");
    put_metrics(buf, c->before->metrics, c->after->metrics, false);
    rp_buf_puts(buf, ", \"time\": ");
    put_time(buf, &c->whole);
    rp_buf_puts(buf, "}}");
}

int rp_report_compare_json(const struct rp_compare_report *report, struct rp_buf *buf,
                           struct rp_err *err)
{
    rp_buf_puts(buf, "{\n  \"baseline\": ");
    put_side(buf, report->list[0].before);
    rp_buf_puts(buf, ",\n  \"comparisons\": [\n");
    for (size_t i = 0; i < report->count; i++) {
        rp_buf_puts(buf, i ? ",\n" : "");
        put_comparison(buf, report, i);
    }
    rp_buf_puts(buf, "],\n  \"rule\": {\"alpha\": ");
    number(buf, report->rule.alpha);
    rp_buf_printf(buf, ", \"least_runs\": %d", RP_COMPARE_LEAST_RUNS);
    key_number(buf, "margin", report->rule.margin);
    rp_buf_puts(buf, "},\n  \"schema_version\": \"1.0\"\n}\n");
    return buf->failed ? rp_fail(err, RP_ENVIRONMENT, "out of memory") : 0;
}

#include "report/compare_report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/compare.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/units.h"
#include "report/report.h"
#include "report/report_text.h"

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

static void put_gate(struct rp_buf *buf, const struct rp_versus_condition *gate,
                     const struct rp_versus_outcome *gated)
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

void rp_versus_ratio_text(struct rp_buf *buf, const struct rp_versus_time *t)
{
    rp_buf_puts(buf, isnan(t->ratio) ? "?" : rp_number_fixed(t->ratio, 4).text);
    if (t->bounded && t->low < t->high)
        rp_buf_printf(buf, " (%s to %s)", rp_number_fixed(t->low, 4).text,
                      rp_number_fixed(t->high, 4).text);
    else if (t->bounded)
        rp_buf_puts(buf, " (exact)");
}

static void compare_text_number(struct rp_buf *buf, struct rp_quantity q)
{
    if (q.known)
        rp_text_json_number(buf, rp_text_round6(q.value));
    else
        rp_buf_puts(buf, "?");
}

static void add_size(struct rp_buf *buf, const char *name, const uint64_t *a, const uint64_t *b)
{
    if (!a[0] || !b[0] || memcmp(a, b, 3 * sizeof *a) == 0)
        return;
    rp_buf_printf(buf,
                  "%s%s %" PRIu64 "x%" PRIu64 "x%" PRIu64 " -> %" PRIu64 "x%" PRIu64 "x%" PRIu64,
                  buf->len ? ", " : "", name, a[0], a[1], a[2], b[0], b[1], b[2]);
}

static void add_gaps(struct rp_buf *buf, const char *side, const struct rp_versus_runs *runs,
                     size_t timed)
{
    if (timed && timed < runs->count)
        rp_buf_printf(buf, "%sno time in %zu of %zu runs %s", buf->len ? ", " : "",
                      runs->count - timed, runs->count, side);
}

/** "no time in 2 of 10 runs before": where the verdict is of fewer runs than there were. */
static void rp_versus_gaps_text(struct rp_buf *buf, const struct rp_versus_runs *before,
                                const struct rp_versus_runs *after, const struct rp_versus_time *t)
{
    add_gaps(buf, "before", before, t->before_runs);
    add_gaps(buf, "after", after, t->after_runs);
}

void rp_versus_changes_text(struct rp_buf *buf, const struct rp_versus_pair *k)
{
    const struct rp_versus_kernel *a = k->before, *b = k->after;
    rp_autobuf text = {0};

    if (!a || !b)
        return;
    rp_versus_gaps_text(&text, &a->runs, &b->runs, &k->time);
    for (unsigned i = 0; i < RP_COMPARE_METRICS; i++) {
        if (i == RP_COMPARE_CV || !a->metrics[i].known || !b->metrics[i].known ||
            a->metrics[i].value == b->metrics[i].value)
            continue;
        rp_buf_printf(&text, "%s%s ", text.len ? ", " : "",
                      rp_versus_metric_name((enum rp_versus_metric)i));
        compare_text_number(&text, a->metrics[i]);
        rp_buf_puts(&text, " -> ");
        compare_text_number(&text, b->metrics[i]);
    }
    add_size(&text, "grid", a->grid, b->grid);
    add_size(&text, "block", a->block, b->block);
    if (a->bound && b->bound && strcmp(a->bound, b->bound) != 0)
        rp_buf_printf(&text, "%sbound by %s -> %s", text.len ? ", " : "", a->bound, b->bound);
    rp_buf_add(buf, rp_buf_text(&text), text.len);
    buf->failed |= text.failed;
}

void rp_versus_outcome_text(struct rp_buf *buf, const struct rp_versus_outcome *gated)
{
    rp_buf_puts(buf, "it is ");
    compare_text_number(buf, gated->value);
    if (gated->limit.known) {
        rp_buf_puts(buf, ", the bound is ");
        compare_text_number(buf, gated->limit);
    }
    if (gated->reason[0])
        rp_buf_printf(buf, "; %s", gated->reason);
    if (gated->kernel)
        rp_buf_printf(buf, "; in %s", gated->kernel);
}

bool rp_versus_is_shown(const struct rp_versus_pair *k, size_t at, size_t most)
{
    return at < most || (k->before && k->after && k->time.verdict <= RP_COMPARE_SLOWER);
}

enum { MOST_KERNELS = 20, LEAST_WIDTH = 60, USUAL_WIDTH = 80 };

static enum rp_ink ink_of(enum rp_versus_verdict verdict)
{
    static const enum rp_ink inks[] = {[RP_COMPARE_FASTER] = RP_INK_GREEN,
                                       [RP_COMPARE_SLOWER] = RP_INK_RED,
                                       [RP_COMPARE_EQUAL] = RP_INK_PLAIN,
                                       [RP_COMPARE_UNDECIDED] = RP_INK_YELLOW};

    return inks[verdict];
}

static void put_head(const struct rp_page *page, const struct rp_versus_side *side,
                     const char *label)
{
    const struct rp_versus_gpu *gpu = side->gpu_count ? &side->gpus[0] : NULL;
    const char *name = gpu && gpu->product ? gpu->product : gpu ? gpu->architecture : NULL;

    rp_page_line(page, RP_INK_PLAIN, 0, "%s %s (%zu run%s%s%s%s)", label, side->path,
                 side->runs.count, side->runs.count == 1 ? "" : "s", name ? ", " : "",
                 name ? name : "", side->incomplete ? ", INCOMPLETE" : "");
}

static void put_failed(const struct rp_page *page, const struct rp_versus_side *side)
{
    if (!side->failed)
        return;
    rp_page_words(page, RP_INK_RED, 7, 2, "%llu of %llu launches started no kernel: %s",
                  (unsigned long long)side->failed, (unsigned long long)side->launches,
                  side->failed_launches);
}

/* One unit for both, chosen line by line: these compare with each other, kernels by their ratio. */
static void put_times(const struct rp_page *page, struct rp_buf *buf,
                      const struct rp_versus_time *t)
{
    struct rp_unit_span span = {0};
    struct rp_unit unit;

    if (isnan(t->before_ms) || isnan(t->after_ms))
        return;
    rp_unit_span_add_both(&span, t->before_ms * 1e6, t->after_ms * 1e6);
    unit = rp_unit_of(RP_UNIT_TIME, span, page->utf8);
    rp_buf_printf(buf, "  %s -> %s %s", rp_unit_number(unit, t->before_ms * 1e6).text,
                  rp_unit_number(unit, t->after_ms * 1e6).text, unit.name);
}

static void compare_term_put_time(const struct rp_page *page, const struct rp_versus_time *t,
                                  const char *name)
{
    rp_autobuf line = {0};

    rp_versus_ratio_text(&line, t);
    put_times(page, &line, t);
    rp_page_named(page, ink_of(t->verdict), 0, name, "%-9s %s  ",
                  rp_versus_verdict_name(t->verdict), rp_buf_text(&line));
    page->out->failed |= line.failed;
}

/* @param said  a reason that was given before; NULL */
static void compare_term_put_kernel(const struct rp_page *page, const struct rp_versus_pair *k,
                                    const char *said)
{
    rp_autobuf changes = {0};

    if (!k->before || !k->after) {
        rp_page_named(page, RP_INK_DIM, 0, k->before ? k->before->name : k->after->name,
                      "%-9s only %s  ", "-", k->before ? "before" : "after");
        return;
    }
    compare_term_put_time(page, &k->time, k->before->name);
    rp_versus_changes_text(&changes, k);
    if (changes.len)
        rp_page_text(page, RP_INK_DIM, 10, rp_buf_text(&changes));
    if (k->time.reason && !(said && strcmp(said, k->time.reason) == 0))
        rp_page_text(page, RP_INK_DIM, 10, k->time.reason);
    page->out->failed |= changes.failed;
}

static void put_kernels(const struct rp_page *page, const struct rp_versus_found *c)
{
    size_t hidden = 0;

    for (size_t i = 0; i < c->kernel_count; i++)
        if (rp_versus_is_shown(&c->kernels[i], i, MOST_KERNELS))
            compare_term_put_kernel(page, &c->kernels[i], c->whole.reason);
        else
            hidden++;
    if (hidden)
        rp_page_line(page, RP_INK_DIM, 0, "and %zu more kernels, none faster or slower: --json",
                     hidden);
}

static void put_gates(const struct rp_page *page, const struct rp_compare_report *r, size_t at)
{
    for (size_t i = 0; i < r->gate_count; i++) {
        const struct rp_versus_outcome *gated = &r->gated[at * r->gate_count + i];
        rp_autobuf text = {0};

        rp_versus_outcome_text(&text, gated);
        rp_page_line(page, gated->passed == RP_COMPARE_PASSED ? RP_INK_GREEN : RP_INK_RED, 0,
                     "gate %-9s %s", rp_versus_passed_name(gated->passed), r->gates[i].text);
        rp_page_words(page, RP_INK_DIM, 15, 0, "%s", rp_buf_text(&text));
        page->out->failed |= text.failed;
    }
}

static void put_gaps(const struct rp_page *page, const struct rp_versus_found *c)
{
    rp_autobuf gaps = {0};

    rp_versus_gaps_text(&gaps, &c->before->runs, &c->after->runs, &c->whole);
    if (gaps.len)
        rp_page_text(page, RP_INK_DIM, 10, rp_buf_text(&gaps));
    page->out->failed |= gaps.failed;
}

static void compare_term_put_comparison(const struct rp_page *page,
                                        const struct rp_compare_report *r, size_t at)
{
    const struct rp_versus_found *c = &r->list[at];
    char level[80] = "";

    if (at)
        rp_page_text(page, RP_INK_PLAIN, 0, "");
    if (c->after->told.is) {
        rp_page_named(page, RP_INK_PLAIN, 0, c->after->path, "replay compare, A before, B after ");
    } else {
        put_head(page, c->before, "before");
        put_failed(page, c->before);
        put_head(page, c->after, "after ");
        put_failed(page, c->after);
    }
    if (c->before->software)
        rp_software_line(page, c->before->timing_model);
    if (c->whole.bounded && c->whole.level < 1)
        snprintf(level, sizeof level, ", intervals of %s %% and more",
                 rp_number_fixed(100 * c->whole.level, 1).text);
    rp_page_line(page, RP_INK_DIM, 0, "time after / time before, margin %s %%%s",
                 rp_number_fixed(100 * r->rule.margin, 2).text, level);
    compare_term_put_time(page, &c->whole, c->after->told.is ? "kernel B" : "all kernels");
    if (c->whole.reason)
        rp_page_text(page, RP_INK_DIM, 10, c->whole.reason);
    put_gaps(page, c);
    put_kernels(page, c);
    put_gates(page, r, at);
}

int rp_report_compare_term(const struct rp_compare_report *report, struct rp_term_style style,
                           struct rp_buf *buf, struct rp_err *err)
{
    const unsigned width = style.width ? style.width : USUAL_WIDTH;
    const struct rp_page page = {.out = buf,
                                 .colour = style.colour,
                                 .utf8 = style.utf8,
                                 .width = width < LEAST_WIDTH ? LEAST_WIDTH : width};

    for (size_t i = 0; i < report->count; i++)
        compare_term_put_comparison(&page, report, i);
    return buf->failed ? rp_fail(err, RP_ENVIRONMENT, "out of memory") : 0;
}

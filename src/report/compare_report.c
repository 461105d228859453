#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compare.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/units.h"
#include "report/report.h"

/* Keys are in alphabetical order in every object, and unknown values are null. */

static void add(struct rp_json_writer *json, const char *key, double value)
{
    rp_json_add_number(json, key, rp_round6(value));
}

/* --- sides --------------------------------------------------------------------------------- */

static void add_gpus(struct rp_json_writer *json, const struct rp_versus_side *side)
{
    rp_json_add_array(json, "gpus");
    for (size_t i = 0; i < side->gpu_count; i++) {
        const struct rp_versus_gpu *gpu = &side->gpus[i];

        rp_json_add_object(json, NULL);
        rp_json_add_text(json, "architecture", gpu->architecture);
        rp_json_add_count_if(json, "compute_units", gpu->compute_units, gpu->compute_units);
        rp_json_add_count_if(json, "engine_clock_mhz", gpu->engine_clock_mhz,
                             gpu->engine_clock_mhz);
        rp_json_add_text(json, "product", gpu->product);
        rp_json_end(json);
    }
    rp_json_end(json);
}

static void add_side(struct rp_json_writer *json, const char *key,
                     const struct rp_versus_side *side)
{
    rp_json_add_object(json, key);
    rp_json_add_text(json, "command", side->command);
    rp_json_add_bool(json, "complete", !side->incomplete);
    rp_json_add_text(json, "device", side->software ? "software" : "hardware");
    rp_json_add_count(json, "failed", side->failed);
    rp_json_add_text(json, "failed_launches", side->failed_launches);
    add_gpus(json, side);
    rp_json_add_text(json, "measurement",
                     side->told.is ? "replay"
                     : side->wall  ? "wallclock"
                                   : "dispatches");
    rp_json_add_bool(json, "part", side->part);
    rp_json_add_text(json, "path", side->path);
    rp_json_add_text(json, "rocm_version", side->rocm_version);
    rp_report_timing(json, "timing", side->told.is ? NULL : side->timing_model,
                     side->timing_version, (uint32_t)side->clock_mhz);
    rp_json_add_text(json, "tracer", side->tracer);
    rp_json_end(json);
}

/* --- what was found ------------------------------------------------------------------------ */

static void add_step(struct rp_json_writer *json, const char *key,
                     const struct rp_versus_step *step)
{
    if (!step->at) {
        rp_json_add_null(json, key);
        return;
    }
    rp_json_add_object(json, key);
    rp_json_add_count(json, "at", step->at);
    add(json, "from_ms", step->from_ms);
    add(json, "to_ms", step->to_ms);
    rp_json_end(json);
}

static void add_steps(struct rp_json_writer *json, const struct rp_versus_time *t)
{
    if (!t->before_step.at && !t->after_step.at) {
        rp_json_add_null(json, "steps");
        return;
    }
    rp_json_add_object(json, "steps");
    add_step(json, "after", &t->after_step);
    add_step(json, "before", &t->before_step);
    rp_json_add_text(json, "of", t->basis == RP_COMPARE_MEASURED ? "runs" : "launches");
    rp_json_end(json);
}

static void add_within(struct rp_json_writer *json, const struct rp_versus_within *within)
{
    if (!within->bounded) {
        rp_json_add_null(json, "within_run");
        return;
    }
    rp_json_add_object(json, "within_run");
    add(json, "between_runs", RP_COMPARE_BETWEEN_RUNS);
    add(json, "high", within->high);
    rp_json_add_count(json, "launches", within->launches);
    add(json, "level", within->level);
    add(json, "low", within->low);
    add(json, "ratio", within->ratio);
    rp_json_add_text(json, "verdict", rp_versus_verdict_names[within->verdict]);
    rp_json_end(json);
}

static void add_time(struct rp_json_writer *json, const char *key, const struct rp_versus_time *t)
{
    rp_json_add_object(json, key);
    add(json, "after_ms", t->after_ms);
    rp_json_add_count(json, "after_runs", t->after_runs);
    rp_json_add_text(json, "basis", rp_versus_basis_names[t->basis]);
    add(json, "before_ms", t->before_ms);
    rp_json_add_count(json, "before_runs", t->before_runs);
    add(json, "drift", t->basis == RP_COMPARE_MEASURED ? t->drift : NAN);
    add(json, "high", t->bounded ? t->high : NAN);
    add(json, "level", t->bounded ? t->level : NAN);
    add(json, "low", t->bounded ? t->low : NAN);
    add(json, "ratio", t->ratio);
    rp_json_add_text(json, "reason", t->reason);
    add_steps(json, t);
    rp_json_add_text(json, "verdict", rp_versus_verdict_names[t->verdict]);
    add_within(json, &t->within);
    rp_json_end(json);
}

static void add_metrics(struct rp_json_writer *json, const struct rp_quantity *before,
                        const struct rp_quantity *after, bool of_kernel)
{
    static const struct rp_quantity unknown = {0};
    unsigned order[RP_COMPARE_METRICS];

    rp_by_name(rp_versus_metric_names, RP_COMPARE_METRICS, order);
    rp_json_add_object(json, "metrics");
    for (size_t i = 0; i < RP_COMPARE_METRICS; i++) {
        const enum rp_versus_metric m = (enum rp_versus_metric)order[i];

        if (!of_kernel && rp_versus_metric_per_kernel(m))
            continue;
        rp_json_add_object(json, rp_versus_metric_names[m]);
        rp_report_quantity(json, "after", after ? after[m] : unknown);
        rp_report_quantity(json, "before", before ? before[m] : unknown);
        rp_json_end(json);
    }
    rp_json_end(json);
}

static void add_size(struct rp_json_writer *json, const char *key, const uint64_t *size)
{
    if (!size || !size[0]) {
        rp_json_add_null(json, key);
        return;
    }
    rp_json_add_array(json, key);
    for (size_t i = 0; i < 3; i++)
        rp_json_add_count(json, NULL, size[i]);
    rp_json_end(json);
}

static void add_sizes(struct rp_json_writer *json, const char *key, const uint64_t *before,
                      const uint64_t *after)
{
    rp_json_add_object(json, key);
    add_size(json, "after", after);
    add_size(json, "before", before);
    rp_json_end(json);
}

static void add_kernel(struct rp_json_writer *json, const struct rp_versus_pair *k)
{
    const struct rp_versus_kernel *a = k->before, *b = k->after, *some = a ? a : b;

    rp_json_add_object(json, NULL);
    rp_json_add_object(json, "bound");
    rp_json_add_text(json, "after", b ? b->bound : NULL);
    rp_json_add_text(json, "before", a ? a->bound : NULL);
    rp_json_end(json);
    add_sizes(json, "block", a ? a->block : NULL, b ? b->block : NULL);
    add_sizes(json, "grid", a ? a->grid : NULL, b ? b->grid : NULL);
    add_metrics(json, a ? a->metrics : NULL, b ? b->metrics : NULL, true);
    rp_json_add_text(json, "name", some->name);
    rp_json_add_text(json, "runs_in", a && b ? "both" : a ? "before" : "after");
    rp_json_add_bool(json, "runtime_internal", some->runtime_internal);
    if (a && b)
        add_time(json, "time", &k->time);
    else
        rp_json_add_null(json, "time");
    rp_json_end(json);
}

static void add_gate(struct rp_json_writer *json, const struct rp_versus_condition *gate,
                     const struct rp_versus_outcome *gated)
{
    rp_json_add_object(json, NULL);
    rp_json_add_text(json, "gate", gate->text);
    rp_json_add_text(json, "kernel", gated->kernel);
    rp_report_quantity(json, "limit", gated->limit);
    rp_json_add_text(json, "near", gated->near[0] ? gated->near : NULL);
    rp_json_add_text(json, "reason", gated->reason[0] ? gated->reason : NULL);
    rp_json_add_text(json, "result", rp_versus_passed_names[gated->passed]);
    rp_report_quantity(json, "value", gated->value);
    rp_json_end(json);
}

static void add_whole(struct rp_json_writer *json, const struct rp_versus_found *c)
{
    rp_json_add_object(json, "whole");
    if (c->after->told.is)
        rp_json_add_bool(json, "different_output", c->after->told.wrong);
    else
        rp_json_add_null(json, "different_output");
    add_metrics(json, c->before->metrics, c->after->metrics, false);
    if (c->span.basis != RP_COMPARE_NOT_TIMED)
        add_time(json, "span", &c->span);
    else
        rp_json_add_null(json, "span");
    add_time(json, "time", &c->whole);
    rp_json_end(json);
}

static void add_comparison(struct rp_json_writer *json, const struct rp_compare_report *r,
                           size_t at)
{
    const struct rp_versus_found *c = &r->list[at];

    rp_json_break(json, 4);
    rp_json_add_object(json, NULL);
    add_side(json, "after", c->after);
    rp_json_break(json, 5);
    rp_json_add_array(json, "gates");
    for (size_t i = 0; i < r->gate_count; i++) {
        rp_json_break(json, 7);
        add_gate(json, &r->gates[i], &r->gated[at * r->gate_count + i]);
    }
    rp_json_end(json);
    rp_json_break(json, 5);
    rp_json_add_array(json, "kernels");
    for (size_t i = 0; i < c->kernel_count; i++) {
        rp_json_break(json, 7);
        add_kernel(json, &c->kernels[i]);
    }
    rp_json_end(json);
    rp_json_break(json, 5);
    add_whole(json, c);
    rp_json_end(json);
}

int rp_report_compare_json(const struct rp_compare_report *report, struct rp_buf *buf,
                           struct rp_err *err)
{
    struct rp_json_writer json = rp_report_json(buf);

    add_side(&json, "baseline", report->list[0].before);
    rp_json_add_array(&json, "comparisons");
    for (size_t i = 0; i < report->count; i++)
        add_comparison(&json, report, i);
    rp_json_end(&json);
    rp_json_add_object(&json, "rule");
    add(&json, "alpha", report->rule.alpha);
    rp_json_add_int(&json, "least_runs", RP_COMPARE_LEAST_RUNS);
    add(&json, "margin", report->rule.margin);
    rp_json_end(&json);
    rp_json_add_text(&json, "schema_version", "1.0");
    return rp_report_json_end(&json, err);
}

/** Says whether the time is known between bounds only: the ratio is then a formula's, and no
 * estimate. */
static bool is_between_bounds(const struct rp_versus_time *t)
{
    return t->basis == RP_COMPARE_MODELLED && t->bounded && t->low < t->high;
}

/** Says whether one run of each side tells what several are needed for. */
static bool tells_within(const struct rp_versus_time *t)
{
    return t->verdict == RP_COMPARE_UNDECIDED && t->within.bounded &&
           t->within.verdict != RP_COMPARE_UNDECIDED;
}

void rp_versus_change_text(struct rp_buf *buf, const struct rp_versus_time *t)
{
    const bool decided = t->verdict == RP_COMPARE_FASTER || t->verdict == RP_COMPARE_SLOWER;

    if (decided && is_between_bounds(t)) {
        rp_buf_puts(buf, rp_speed_range(1 / t->high, 1 / t->low).text);
        return;
    }
    rp_buf_puts(buf,
                decided ? rp_speed_change(1 / t->ratio).text : rp_versus_verdict_names[t->verdict]);
    if (t->bounded && t->low < t->high)
        rp_buf_printf(buf, " (%s)", rp_speed_range(1 / t->high, 1 / t->low).text);
    else if (t->bounded)
        rp_buf_puts(buf, " (exact)");
    else if (t->before_step.at || t->after_step.at)
        rp_buf_puts(buf, decided ? "" : " (a step)");
    else if (tells_within(t))
        rp_buf_printf(buf, " (within one run %s)", rp_speed_change(1 / t->within.ratio).text);
    else if (!decided && !isnan(t->ratio) && t->basis != RP_COMPARE_MODELLED)
        rp_buf_printf(buf, " (measured %s)", rp_speed_change(1 / t->ratio).text);
}

static void compare_text_number(struct rp_buf *buf, struct rp_quantity q)
{
    if (q.known)
        rp_buf_number(buf, rp_round6(q.value));
    else
        rp_buf_puts(buf, "?");
}

static void put_size_change(struct rp_buf *buf, const char *name, const uint64_t *a,
                            const uint64_t *b)
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

/** Writes "no time in 2 of 10 runs before" where the verdict is from fewer runs than there were. */
static void versus_gaps_text(struct rp_buf *buf, const struct rp_versus_runs *before,
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
    versus_gaps_text(&text, &a->runs, &b->runs, &k->time);
    for (unsigned i = 0; i < RP_COMPARE_METRICS; i++) {
        if (i == RP_COMPARE_CV || !a->metrics[i].known || !b->metrics[i].known ||
            a->metrics[i].value == b->metrics[i].value)
            continue;
        rp_buf_printf(&text, "%s%s ", text.len ? ", " : "", rp_versus_metric_names[i]);
        compare_text_number(&text, a->metrics[i]);
        rp_buf_puts(&text, " -> ");
        compare_text_number(&text, b->metrics[i]);
    }
    put_size_change(&text, "grid", a->grid, b->grid);
    put_size_change(&text, "block", a->block, b->block);
    if (a->bound && b->bound && strcmp(a->bound, b->bound) != 0)
        rp_buf_printf(&text, "%sbound by %s -> %s", text.len ? ", " : "", a->bound, b->bound);
    rp_buf_add(buf, rp_buf_text(&text), text.len);
    buf->failed |= text.failed;
}

/** Four digits are enough, unless the value then seems to be the limit. */
static void put_value(struct rp_buf *buf, struct rp_quantity value, struct rp_quantity limit)
{
    char text[32], bound[32];

    snprintf(text, sizeof text, "%.4g", value.value);
    snprintf(bound, sizeof bound, "%.4g", limit.value);
    if (value.known && (value.value == limit.value || strcmp(text, bound) != 0) &&
        fabs(value.value) < 10000)
        rp_buf_puts(buf, text);
    else
        compare_text_number(buf, value);
}

void rp_versus_outcome_text(struct rp_buf *buf, const struct rp_versus_outcome *gated)
{
    put_value(buf, gated->value, gated->limit);
    if (gated->limit.known) {
        rp_buf_puts(buf, " (limit ");
        compare_text_number(buf, gated->limit);
        rp_buf_puts(buf, ")");
    }
    if (gated->reason[0])
        rp_buf_printf(buf, "; %s", gated->reason);
    if (gated->near[0])
        rp_buf_printf(buf, ", near: %s", gated->near);
    if (gated->kernel)
        rp_buf_printf(buf, "; in %s", gated->kernel);
}

bool rp_versus_is_shown(const struct rp_versus_pair *k, size_t at, size_t most)
{
    return at < most || (k->before && k->after && k->time.verdict <= RP_COMPARE_SLOWER);
}

enum { MOST_KERNELS = 20, LEAST_WIDTH = 60 };

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

    rp_page_line(page, RP_INK_PLAIN, 0, "%s %s (%zu run%s%s%s%s%s)", label, side->path,
                 side->runs.count, rp_plural(side->runs.count), name ? ", " : "", name ? name : "",
                 side->part ? ", PART OF A RUN" : "", side->incomplete ? ", INCOMPLETE" : "");
}

static void put_failed(const struct rp_page *page, const struct rp_versus_side *side)
{
    if (!side->failed)
        return;
    rp_page_words(page, RP_INK_RED, 7, 2, "%llu of %llu launch calls started no kernel: %s",
                  (unsigned long long)side->failed, (unsigned long long)side->launches,
                  side->failed_launches);
}

/* Both times have one unit, chosen line by line, because these two are compared; kernels are
 * compared by their ratio. */
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
    enum { CHANGE = 42 };
    rp_autobuf line = {0};

    rp_versus_change_text(&line, t);
    if (line.len < CHANGE)
        rp_buf_printf(&line, "%*s", (int)(CHANGE - line.len), "");
    put_times(page, &line, t);
    rp_page_named(page, ink_of(t->verdict), 0, name, "%s  ", rp_buf_text(&line));
    page->out->failed |= line.failed;
}

/* @param said a reason that was given before, or NULL */
static void compare_term_put_kernel(const struct rp_page *page, const struct rp_versus_pair *k,
                                    const char *name, const char *said)
{
    rp_autobuf changes = {0};

    if (!k->before || !k->after) {
        rp_page_named(page, RP_INK_DIM, 0, name, "only %s  ", k->before ? "before" : "after");
        return;
    }
    compare_term_put_time(page, &k->time, name);
    rp_versus_changes_text(&changes, k);
    if (changes.len)
        rp_page_text(page, RP_INK_DIM, 10, rp_buf_text(&changes));
    if (k->time.reason && !(said && strcmp(said, k->time.reason) == 0))
        rp_page_text(page, RP_INK_DIM, 10, k->time.reason);
    page->out->failed |= changes.failed;
}

static const char *name_of(const struct rp_versus_pair *k)
{
    return (k->before ? k->before : k->after)->name;
}

/** Makes short names, in the order of the kernels. */
static int name_kernels(const struct rp_versus_found *c, struct rp_short_names *ret,
                        struct rp_err *err)
{
    rp_autofree const char **names = calloc(c->kernel_count + 1, sizeof *names);

    if (!names)
        return rp_out_of_memory(err);
    for (size_t i = 0; i < c->kernel_count; i++)
        names[i] = name_of(&c->kernels[i]);
    return rp_short_names_make(names, c->kernel_count, ret, err);
}

static void put_kernels(const struct rp_page *page, const struct rp_versus_found *c,
                        const struct rp_short_names *short_names)
{
    size_t hidden = 0;

    for (size_t i = 0; i < c->kernel_count; i++)
        if (page->verbose || rp_versus_is_shown(&c->kernels[i], i, MOST_KERNELS))
            compare_term_put_kernel(page, &c->kernels[i],
                                    page->verbose ? name_of(&c->kernels[i]) : short_names->at[i],
                                    c->whole.reason);
        else
            hidden++;
    if (hidden)
        rp_page_line(page, RP_INK_DIM, 0, "and %zu more kernels, none faster or slower: -v",
                     hidden);
}

/** Names the kernel that decided a gate as the rows below it do. */
static const char *name_gated(const struct rp_versus_found *c, const char *kernel,
                              const struct rp_short_names *short_names)
{
    for (size_t i = 0; i < c->kernel_count && kernel; i++)
        if (strcmp(name_of(&c->kernels[i]), kernel) == 0)
            return short_names->at[i];
    return kernel;
}

static void put_gates(const struct rp_page *page, const struct rp_compare_report *r, size_t at,
                      const struct rp_short_names *short_names)
{
    for (size_t i = 0; i < r->gate_count; i++) {
        const struct rp_versus_outcome *gated = &r->gated[at * r->gate_count + i];
        struct rp_versus_outcome named = *gated;
        rp_autobuf text = {0};

        if (!page->verbose)
            named.kernel = name_gated(&r->list[at], gated->kernel, short_names);
        rp_versus_outcome_text(&text, &named);
        rp_page_words(page,
                      gated->passed == RP_COMPARE_PASSED ? RP_INK_GREEN
                      : gated->passed == RP_COMPARE_OPEN ? RP_INK_YELLOW
                                                         : RP_INK_RED,
                      0, 5, "gate %-9s %s: %s", rp_versus_passed_names[gated->passed],
                      r->gates[i].text, rp_buf_text(&text));
        page->out->failed |= text.failed;
    }
}

static void put_gaps(const struct rp_page *page, const struct rp_versus_found *c)
{
    rp_autobuf gaps = {0};

    versus_gaps_text(&gaps, &c->before->runs, &c->after->runs, &c->whole);
    if (gaps.len)
        rp_page_text(page, RP_INK_DIM, 10, rp_buf_text(&gaps));
    page->out->failed |= gaps.failed;
}

/** Appends what is known of a time that is neither faster nor slower for certain.
 * @param of_kernels  copies and waits are not in it, and may have become shorter */
static void put_open(struct rp_buf *to, const struct rp_versus_time *t, const char *after,
                     const char *before, bool of_kernels)
{
    if (t->verdict == RP_COMPARE_EQUAL)
        rp_buf_printf(to, "No difference%s: %s is as fast as %s",
                      of_kernels ? " in the time of kernels" : "", after, before);
    else
        rp_buf_printf(to, "Undecided whether %s is faster or slower than %s", after, before);
    if (t->verdict == RP_COMPARE_UNDECIDED && t->bounded)
        rp_buf_printf(to, ": %s", rp_speed_range(1 / t->high, 1 / t->low).text);
}

static bool tells_change(const struct rp_versus_time *t)
{
    return (t->verdict == RP_COMPARE_FASTER || t->verdict == RP_COMPARE_SLOWER) &&
           !rp_is_no_change(1 / t->ratio);
}

/** Appends what becomes of the time from the first kernel or copy to the last one, where that is
 * another verdict: fewer copies or waits change no kernel. */
static void put_span(struct rp_buf *to, const struct rp_versus_found *c)
{
    const struct rp_versus_time *t = &c->span;

    if (!rp_versus_span_matters(c) || t->verdict == c->whole.verdict)
        return;
    if (tells_change(t))
        rp_buf_printf(to, "; from first to last on the GPU it is %s",
                      rp_speed_change(1 / t->ratio).text);
    else if (t->verdict == RP_COMPARE_EQUAL)
        rp_buf_puts(to, "; from first to last on the GPU there is no difference");
}

void rp_versus_result_text(struct rp_buf *to, const struct rp_versus_found *c)
{
    const struct rp_versus_time *t = &c->whole;
    const bool replay = c->after->told.is;
    const char *after = replay ? "B" : c->after->path, *before = replay ? "A" : c->before->path;
    const bool decided = t->verdict == RP_COMPARE_FASTER || t->verdict == RP_COMPARE_SLOWER;

    if (replay && c->after->told.wrong) {
        rp_buf_puts(to, "B gives different output, so its speed does not count");
    } else if (t->verdict == RP_COMPARE_EQUAL && rp_versus_span_matters(c) &&
               tells_change(&c->span)) {
        rp_buf_printf(
            to,
            "%s is %s than %s from first to last on the GPU; no difference in the time of kernels.",
            after, rp_speed_change(1 / c->span.ratio).text, before);
        return;
    } else if (decided && rp_is_no_change(1 / t->ratio)) {
        rp_buf_printf(to, "%s is slightly %s than %s", after, rp_versus_verdict_names[t->verdict],
                      before);
    } else if (decided && is_between_bounds(t)) {
        rp_buf_printf(to, "%s is %s than %s", after, rp_speed_range(1 / t->high, 1 / t->low).text,
                      before);
    } else if (decided) {
        rp_buf_printf(to, "%s is %s than %s", after, rp_speed_change(1 / t->ratio).text, before);
    } else if (tells_within(t)) {
        rp_buf_printf(to,
                      "%s is %s than %s within one run of each (%zu launches); the noise between "
                      "runs is not known: a verdict needs 6 runs of each side (profile --runs 10)",
                      after, rp_speed_change(1 / t->within.ratio).text, before, t->within.launches);
    } else {
        put_open(to, t, after, before, !replay && !c->after->wall);
    }
    if (t->reason && !tells_within(t))
        rp_buf_printf(to, "%s%s", t->verdict == RP_COMPARE_UNDECIDED ? "; " : ": ", t->reason);
    put_span(to, c);
    rp_buf_puts(to, ".");
}

static void put_result(const struct rp_page *page, const struct rp_versus_found *c)
{
    rp_autobuf text = {0};

    rp_versus_result_text(&text, c);
    rp_page_words(page, RP_INK_BOLD, 0, 0, "%s", rp_buf_text(&text));
    rp_buf_puts(page->out, "\n");
    page->out->failed |= text.failed;
}

/** The result is the first line, gates stand before the kernels that explain them. */
static void put_comparison(const struct rp_page *page, const struct rp_compare_report *r, size_t at,
                           const struct rp_short_names *short_names)
{
    const struct rp_versus_found *c = &r->list[at];
    char level[80] = "";

    if (at)
        rp_page_text(page, RP_INK_PLAIN, 0, "");
    put_result(page, c);
    compare_term_put_time(page, &c->whole, c->after->told.is ? "kernel B" : "all kernels");
    if (rp_versus_span_matters(c))
        compare_term_put_time(page, &c->span,
                              "first to last on the GPU: kernels, copies, gaps between them");
    put_gaps(page, c);
    put_gates(page, r, at, short_names);
    if (c->after->told.is) {
        rp_page_line(page, RP_INK_PLAIN, 0, "replay compare, A before, B after: %s",
                     c->after->path);
    } else {
        put_head(page, c->before, "before");
        put_failed(page, c->before);
        put_head(page, c->after, "after ");
        put_failed(page, c->after);
    }
    if (c->before->software)
        rp_software_line(page, c->before->timing_model);
    rp_clock_line(page, (uint32_t)c->before->clock_mhz);
    if (c->whole.bounded && c->whole.level < 1)
        snprintf(level, sizeof level, ", intervals of %s %% and more",
                 rp_number_fixed(100 * c->whole.level, 1).text);
    if (page->verbose)
        rp_page_line(page, RP_INK_DIM, 0, "margin %s %%%s",
                     rp_number_fixed(100 * r->rule.margin, 2).text, level);
    put_kernels(page, c, short_names);
}

static int compare_term_put_comparison(const struct rp_page *page,
                                       const struct rp_compare_report *r, size_t at,
                                       struct rp_err *err)
{
    struct rp_short_names short_names;

    if (name_kernels(&r->list[at], &short_names, err) < 0)
        return -1;
    put_comparison(page, r, at, &short_names);
    rp_short_names_free(&short_names);
    return 0;
}

int rp_report_compare_term(const struct rp_compare_report *report, struct rp_term_style style,
                           struct rp_buf *buf, struct rp_err *err)
{
    const struct rp_page page = rp_page_of(buf, style, LEAST_WIDTH);

    for (size_t i = 0; i < report->count; i++)
        if (compare_term_put_comparison(&page, report, i, err) < 0)
            return -(int)RP_ENVIRONMENT;
    return rp_report_end(buf, err);
}

/* --- the page --------------------------------------------------------------------------------- */

static void put_title(struct rp_buf *title, const char *before, const char *after)
{
    rp_buf_puts(title, before);
    if (after)
        rp_buf_printf(title, " and %s", after);
}

/* Several results after the first are named by their sections. */
int rp_report_compare_html(const struct rp_compare_report *report, struct rp_buf *buf,
                           struct rp_err *err)
{
    const struct rp_versus_found *first = report->list;
    struct rp_html_document document = {.name = "compare"};
    rp_autobuf title = {0}, json = {0};

    put_title(&title, first->before->path,
              report->count == 1 && !first->after->told.is ? first->after->path : NULL);
    if (report->count > 1)
        rp_buf_printf(&title, " and %zu more results", report->count);
    if (rp_report_compare_json(report, &json, err) < 0)
        return -1;
    document.text = rp_buf_text(&json);
    document.bytes = json.len;
    buf->failed |= title.failed;
    return rp_report_html(rp_buf_text(&title), &document, 1, buf, err);
}

int rp_report_compare_refused_html(char *const *paths, size_t count, const struct rp_err *why,
                                   struct rp_buf *buf, struct rp_err *err)
{
    struct rp_html_document document = {.name = "refused"};
    rp_autobuf title = {0}, text = {0};
    struct rp_json_writer json = rp_report_json(&text);

    put_title(&title, paths[0], count == 2 ? paths[1] : NULL);
    rp_json_add_text(&json, "message", why->text);
    if (rp_report_json_end(&json, err) < 0)
        return -1;
    document.text = rp_buf_text(&text);
    document.bytes = text.len;
    buf->failed |= title.failed;
    return rp_report_html(rp_buf_text(&title), &document, 1, buf, err);
}

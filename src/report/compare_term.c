#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/units.h"
#include "report/compare_text.h"
#include "report/page.h"
#include "report/text.h"
#include "rocm-perf/report.h"

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

static void put_time(const struct rp_page *page, const struct rp_versus_time *t, const char *name)
{
    rp_autobuf line = {0};

    rp_versus_ratio_text(&line, t);
    put_times(page, &line, t);
    rp_page_named(page, ink_of(t->verdict), 0, name, "%-9s %s  ",
                  rp_versus_verdict_name(t->verdict), rp_buf_text(&line));
    page->out->failed |= line.failed;
}

/* @param said  a reason that was given before; NULL */
static void put_kernel(const struct rp_page *page, const struct rp_versus_pair *k, const char *said)
{
    rp_autobuf changes = {0};

    if (!k->before || !k->after) {
        rp_page_named(page, RP_INK_DIM, 0, k->before ? k->before->name : k->after->name,
                      "%-9s only %s  ", "-", k->before ? "before" : "after");
        return;
    }
    put_time(page, &k->time, k->before->name);
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
            put_kernel(page, &c->kernels[i], c->whole.reason);
        else
            hidden++;
    if (hidden)
        rp_page_line(page, RP_INK_DIM, 0, "and %zu more kernels, none faster or slower: --json",
                     hidden);
}

static void put_gates(const struct rp_page *page, const struct rp_compare_report *r, size_t at)
{
    for (size_t i = 0; i < r->gate_count; i++) {
        const struct rp_versus_gated *gated = &r->gated[at * r->gate_count + i];
        rp_autobuf text = {0};

        rp_versus_gate_text(&text, gated);
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

static void put_comparison(const struct rp_page *page, const struct rp_compare_report *r, size_t at)
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
    put_time(page, &c->whole, c->after->told.is ? "kernel B" : "all kernels");
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
        put_comparison(&page, report, i);
    return buf->failed ? rp_fail(err, RP_ENVIRONMENT, "out of memory") : 0;
}

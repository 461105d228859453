/* For GitHub: annotations of a workflow, and a table for a pull request. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/units.h"
#include "base/utf8.h"
#include "report/compare_text.h"
#include "report/markdown.h"
#include "report/text.h"
#include "rocm-perf/report.h"

/* --- annotations --------------------------------------------------------------------------- */

/* As workflow commands want it; a property ends with a comma or two colons, too. */
static void escape(struct rp_buf *buf, const char *text, bool property)
{
    rp_autobuf clean = {0};

    rp_escape(&clean, text);
    for (const char *p = rp_buf_text(&clean); *p; p++)
        if (*p == '%' || (property && (*p == ':' || *p == ',')))
            rp_buf_printf(buf, "%%%02X", (unsigned)(unsigned char)*p);
        else
            rp_buf_add(buf, p, 1);
    buf->failed |= clean.failed;
}

static void annotate(struct rp_buf *buf, const char *kind, const char *title, const char *text)
{
    rp_buf_printf(buf, "::%s title=", kind);
    escape(buf, title, true);
    rp_buf_puts(buf, "::");
    escape(buf, text, false);
    rp_buf_puts(buf, "\n");
}

static void annotate_gate(struct rp_buf *buf, const struct rp_versus_gate *gate,
                          const struct rp_versus_gated *gated, const char *path)
{
    rp_autobuf title = {0}, text = {0};

    rp_buf_printf(&title, "rocm-perf compare: %s %s", gate->text,
                  rp_versus_passed_name(gated->passed));
    rp_buf_printf(&text, "%s: ", path);
    rp_versus_gate_text(&text, gated);
    annotate(buf, "error", rp_buf_text(&title), rp_buf_text(&text));
    buf->failed |= title.failed || text.failed;
}

/* Said beside the gates: what they do not ask for may matter, too. */
static void annotate_time(struct rp_buf *buf, const struct rp_versus_found *c,
                          const struct rp_versus_time *t, const char *name)
{
    rp_autobuf text = {0};

    if (t->verdict != RP_COMPARE_SLOWER && t->verdict != RP_COMPARE_FASTER)
        return;
    rp_buf_printf(&text, "%s%s takes ", c->after->software ? "modelled time: " : "", name);
    rp_versus_ratio_text(&text, t);
    rp_buf_printf(&text, " times as long in %s", c->after->path);
    annotate(buf, t->verdict == RP_COMPARE_SLOWER ? "warning" : "notice",
             t->verdict == RP_COMPARE_SLOWER ? "rocm-perf compare: slower"
                                             : "rocm-perf compare: faster",
             rp_buf_text(&text));
    buf->failed |= text.failed;
}

int rp_report_compare_github(const struct rp_compare_report *r, struct rp_buf *buf,
                             struct rp_err *err)
{
    for (size_t i = 0; i < r->count; i++) {
        const struct rp_versus_found *c = &r->list[i];

        for (size_t g = 0; g < r->gate_count; g++)
            if (r->gated[i * r->gate_count + g].passed != RP_COMPARE_PASSED)
                annotate_gate(buf, &r->gates[g], &r->gated[i * r->gate_count + g], c->after->path);
        annotate_time(buf, c, &c->whole, "all of it");
        for (size_t k = 0; k < c->kernel_count; k++)
            if (c->kernels[k].before && c->kernels[k].after)
                annotate_time(buf, c, &c->kernels[k].time, c->kernels[k].before->name);
    }
    return buf->failed ? rp_fail(err, RP_ENVIRONMENT, "out of memory") : 0;
}

/* --- pull requests ------------------------------------------------------------------------- */

enum { MOST_ROWS = 50 };

/* One unit for both: rows differ by more than their ratios. */
static void put_times(struct rp_buf *buf, const struct rp_versus_time *t)
{
    struct rp_unit_span span = {0};
    struct rp_unit unit;

    if (isnan(t->before_ms) || isnan(t->after_ms)) {
        rp_buf_puts(buf, " | | | ");
        return;
    }
    rp_unit_span_add_both(&span, t->before_ms * 1e6, t->after_ms * 1e6);
    unit = rp_unit_of(RP_UNIT_TIME, span, true);
    rp_buf_printf(buf, " | %s %s | %s %s | ", rp_unit_number(unit, t->before_ms * 1e6).text,
                  unit.name, rp_unit_number(unit, t->after_ms * 1e6).text, unit.name);
}

/* @p name: NULL for the whole. */
static void put_row(struct rp_buf *buf, const struct rp_versus_time *t, const char *name,
                    const char *changes)
{
    rp_buf_printf(buf, "| %s | ", rp_versus_verdict_name(t->verdict));
    rp_versus_ratio_text(buf, t);
    put_times(buf, t);
    if (name)
        rp_markdown_cell(buf, name);
    else
        rp_buf_puts(buf, "all");
    rp_buf_puts(buf, " | ");
    rp_markdown_cell(buf, changes);
    rp_buf_puts(buf, " |\n");
}

static void put_kernel(struct rp_buf *buf, const struct rp_versus_pair *k)
{
    rp_autobuf changes = {0};

    if (k->before && k->after) {
        rp_versus_changes_text(&changes, k);
        put_row(buf, &k->time, k->before->name, rp_buf_text(&changes));
        buf->failed |= changes.failed;
        return;
    }
    rp_buf_puts(buf, "| only ");
    rp_buf_puts(buf, k->before ? "before | | | | " : "after | | | | ");
    rp_markdown_cell(buf, k->before ? k->before->name : k->after->name);
    rp_buf_puts(buf, " | |\n");
}

static void put_table(struct rp_buf *buf, const struct rp_compare_report *r, size_t at)
{
    const struct rp_versus_found *c = &r->list[at];
    size_t hidden = 0;

    rp_buf_puts(buf, at ? "\n### " : "### ");
    rp_markdown_code(buf, c->before->path);
    rp_buf_puts(buf, " → ");
    rp_markdown_code(buf, c->after->path);
    if (c->after->software)
        rp_buf_puts(buf, "\n\n**Software device: modelled time, not hardware time**");
    rp_buf_puts(buf, "\n\n| verdict | time after / before | before | after | kernel | changes "
                     "|\n|---|---|---|---|---|---|\n");
    put_row(buf, &c->whole, NULL, "");
    for (size_t i = 0; i < c->kernel_count; i++)
        if (buf->len < RP_MARKDOWN_MOST_BYTES * (at + 1) / r->count &&
            rp_versus_is_shown(&c->kernels[i], i, MOST_ROWS))
            put_kernel(buf, &c->kernels[i]);
        else
            hidden++;
    if (hidden)
        rp_buf_printf(buf, "\n%zu more kernels are in the JSON.\n", hidden);
}

static void put_gates(struct rp_buf *buf, const struct rp_compare_report *r, size_t at)
{
    rp_buf_puts(buf, r->gate_count ? "\n" : "");
    for (size_t i = 0; i < r->gate_count && buf->len < RP_MARKDOWN_MOST_BYTES; i++) {
        const struct rp_versus_gated *gated = &r->gated[at * r->gate_count + i];
        struct rp_versus_gated numbers = *gated; /* what else there is may be of the results */
        rp_autobuf text = {0};

        numbers.reason[0] = '\0';
        numbers.kernel = NULL;
        rp_versus_gate_text(&text, &numbers);
        rp_buf_printf(buf, "* gate %s: ", rp_versus_passed_name(gated->passed));
        rp_markdown_code(buf, r->gates[i].text);
        rp_buf_puts(buf, ": ");
        rp_markdown_plain(buf, rp_buf_text(&text));
        rp_buf_puts(buf, gated->reason[0] ? "; " : "");
        rp_markdown_code(buf, gated->reason);
        rp_buf_puts(buf, gated->kernel ? "; in " : "");
        rp_markdown_code(buf, gated->kernel ? gated->kernel : "");
        rp_buf_puts(buf, "\n");
        buf->failed |= text.failed;
    }
}

int rp_report_compare_markdown(const struct rp_compare_report *r, struct rp_buf *buf,
                               struct rp_err *err)
{
    for (size_t i = 0; i < r->count; i++) {
        put_table(buf, r, i);
        put_gates(buf, r, i);
    }
    return buf->failed ? rp_fail(err, RP_ENVIRONMENT, "out of memory") : 0;
}

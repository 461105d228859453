/* A comparison is written as JUnit XML for CI servers. It agrees with the exit status: a gate that
 * does not hold or is undecided, and a replay with other output, are failures. A verdict is no
 * failure, because only gates say what a program may cost. */
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "analyze/dag.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/units.h"
#include "base/utf8.h"
#include "report/ci_text.h"
#include "report/finding_text.h"
#include "report/report.h"

static void begin_case(struct rp_buf *buf, const struct rp_versus_found *c, const char *name)
{
    rp_junit_begin_case(buf, c->after->path, name);
}

/* --- cases --------------------------------------------------------------------------------- */

static void put_gate(struct rp_buf *buf, const struct rp_versus_found *c,
                     const struct rp_versus_condition *gate, const struct rp_versus_outcome *gated)
{
    const char *word = rp_versus_passed_names[gated->passed];
    rp_autobuf text = {0};

    if (gated->passed != RP_COMPARE_PASSED)
        rp_buf_printf(&text, "%s: ", word);
    rp_versus_outcome_text(&text, gated);
    begin_case(buf, c, gate->text);
    rp_buf_puts(buf, ">\n");
    if (gated->passed == RP_COMPARE_PASSED)
        rp_junit_said(buf, rp_buf_text(&text));
    else
        rp_junit_outcome(buf, "failure", word, rp_buf_text(&text));
    rp_junit_end_case(buf);
    buf->failed |= text.failed;
}

/* No measured time is larger, and servers take no larger number. */
static const double most_ms = 1e12;

/* @param changes NULL: none */
static void put_time(struct rp_buf *buf, const struct rp_versus_found *c, const char *name,
                     const struct rp_versus_time *t, const char *changes)
{
    rp_autobuf text = {0};

    begin_case(buf, c, name);
    if (t->after_ms < most_ms)
        rp_buf_printf(buf, " time=\"%s\"", rp_number_fixed(t->after_ms / 1000, 9).text);
    rp_buf_puts(buf, ">\n");
    if (t->verdict == RP_COMPARE_UNDECIDED)
        rp_junit_outcome(buf, "skipped", "undecided", t->reason ? t->reason : "undecided");
    rp_versus_change_text(&text, t);
    if (!isnan(t->before_ms) && !isnan(t->after_ms))
        rp_buf_printf(&text, "; %s -> %s ms", rp_number_fixed(t->before_ms, 4).text,
                      rp_number_fixed(t->after_ms, 4).text);
    if (changes && *changes)
        rp_buf_printf(&text, "; %s", changes);
    rp_junit_said(buf, rp_buf_text(&text));
    rp_junit_end_case(buf);
    buf->failed |= text.failed;
}

static void put_kernel(struct rp_buf *buf, const struct rp_versus_found *c,
                       const struct rp_versus_pair *k)
{
    rp_autobuf changes = {0};

    if (!k->before || !k->after) {
        begin_case(buf, c, k->before ? k->before->name : k->after->name);
        rp_buf_puts(buf, ">\n");
        rp_junit_outcome(buf, "skipped", "one side", k->before ? "only before" : "only after");
        rp_junit_end_case(buf);
        return;
    }
    rp_versus_changes_text(&changes, k);
    put_time(buf, c, k->before->name, &k->time, rp_buf_text(&changes));
    buf->failed |= changes.failed;
}

static void put_output(struct rp_buf *buf, const struct rp_versus_found *c)
{
    begin_case(buf, c, "output");
    rp_buf_puts(buf, ">\n");
    rp_junit_outcome(buf, "failure", "different output", "B gives different output");
    rp_junit_end_case(buf);
}

/* --- suites -------------------------------------------------------------------------------- */

static struct rp_junit_counts count_cases(const struct rp_compare_report *r, size_t at)
{
    const struct rp_versus_found *c = &r->list[at];
    struct rp_junit_counts n = {.tests = r->gate_count ? r->gate_count : 1 + c->kernel_count};

    for (size_t i = 0; i < r->gate_count; i++)
        n.failures += r->gated[at * r->gate_count + i].passed != RP_COMPARE_PASSED;
    if (r->gate_count == 0) {
        n.skipped = c->whole.verdict == RP_COMPARE_UNDECIDED;
        for (size_t i = 0; i < c->kernel_count; i++)
            n.skipped += !c->kernels[i].before || !c->kernels[i].after ||
                         c->kernels[i].time.verdict == RP_COMPARE_UNDECIDED;
    }
    n.tests += c->after->told.wrong;
    n.failures += c->after->told.wrong;
    return n;
}

static void put_properties(struct rp_buf *buf, const struct rp_compare_report *r,
                           const struct rp_versus_found *c)
{
    rp_buf_puts(buf, "    <properties>\n");
    rp_junit_property(buf, "device", c->after->software ? "software" : "hardware");
    if (c->after->software)
        rp_junit_property(buf, "time", "Software device: modelled time, not hardware time");
    if (!c->after->told.is) {
        rp_junit_property(buf, "before", c->before->path);
        rp_junit_property(buf, "margin_percent", rp_number_fixed(r->rule.margin * 100, 3).text);
    }
    rp_junit_property(buf, "after", c->after->path);
    rp_buf_puts(buf, "    </properties>\n");
}

static void put_suite(struct rp_buf *buf, const struct rp_compare_report *r, size_t at)
{
    const struct rp_versus_found *c = &r->list[at];
    rp_autobuf name = {0};

    if (c->after->told.is)
        rp_buf_printf(&name, "replay compare: %s", c->after->path);
    else
        rp_buf_printf(&name, "compare: %s -> %s", c->before->path, c->after->path);
    rp_junit_begin_suite(buf, rp_buf_text(&name), count_cases(r, at));
    put_properties(buf, r, c);
    for (size_t i = 0; i < r->gate_count; i++)
        put_gate(buf, c, &r->gates[i], &r->gated[at * r->gate_count + i]);
    if (r->gate_count == 0) {
        put_time(buf, c, "all of it", &c->whole, NULL);
        for (size_t i = 0; i < c->kernel_count; i++)
            put_kernel(buf, c, &c->kernels[i]);
    }
    if (c->after->told.wrong)
        put_output(buf, c);
    rp_buf_puts(buf, "  </testsuite>\n");
    buf->failed |= name.failed;
}

int rp_report_compare_junit(const struct rp_compare_report *r, struct rp_buf *buf,
                            struct rp_err *err)
{
    rp_buf_puts(buf, rp_junit_first_line);
    for (size_t i = 0; i < r->count; i++)
        put_suite(buf, r, i);
    rp_buf_puts(buf, "</testsuites>\n");
    return rp_report_end(buf, err);
}

int rp_report_compare_refused(char *const *paths, size_t count, const struct rp_err *why,
                              struct rp_buf *buf, struct rp_err *err)
{
    rp_autobuf name = {0};

    rp_buf_puts(&name, "compare:");
    for (size_t i = 0; i < count; i++)
        rp_buf_printf(&name, "%s %s", i ? i == 1 ? " ->" : "," : "", paths[i]);
    rp_buf_puts(buf, rp_junit_first_line);
    rp_junit_begin_suite(buf, rp_buf_text(&name),
                         (struct rp_junit_counts){.tests = 1, .errors = 1});
    rp_junit_begin_case(buf, paths[count - 1], "comparison");
    rp_buf_puts(buf, ">\n");
    rp_junit_outcome(buf, "error", why->code == RP_BAD_INPUT ? "refused" : "environment",
                     why->text);
    rp_junit_end_case(buf);
    rp_buf_puts(buf, "  </testsuite>\n</testsuites>\n");
    return buf->failed || name.failed ? rp_out_of_memory(err) : 0;
}

/* JUnit XML has kernels as test cases with their times, which CI servers draw over builds. None
 * fails, because a report judges nothing; gates are for `compare`. */

static void put_seconds(struct rp_buf *buf, double ns, unsigned decimals)
{
    rp_buf_printf(buf, " time=\"%s\"", rp_number_fixed(ns * 1e-9, decimals).text);
}

/* Launches that started no kernel fail no case, but a reader sees them. */
static void put_launches(struct rp_buf *buf, const struct rp_report_parts *parts)
{
    const struct rp_launches *launches = rp_form_launches(parts);
    rp_autofree char *text = NULL;

    if (!launches)
        return;
    rp_buf_printf(buf, "      <property name=\"failed_launches\" value=\"%" PRIu64 "\"/>\n",
                  launches->failed);
    if (!launches->failed)
        return;
    text = rp_launches_text(launches);
    buf->failed |= !text;
    rp_buf_puts(buf, "      <property name=\"warning\"");
    rp_xml_attribute(buf, "value", text ? text : "");
    rp_buf_puts(buf, "/>\n");
}

static void put_impossible(struct rp_buf *buf, const struct rp_form_known *known, const char *name)
{
    rp_autobuf levels = {0};

    if (rp_form_put_impossible(&levels, known, name, ", "))
        rp_buf_printf(buf, "; warning: no GPU of this kind has its rate of %s",
                      rp_buf_text(&levels));
    buf->failed |= levels.failed;
}

static void put_case(struct rp_buf *buf, const struct rp_report_parts *parts,
                     const struct rp_form_known *known, const struct rp_bottleneck_kernel *k)
{
    rp_junit_begin_case(buf, "kernel", k->name);
    if (k->time_ns.known)
        put_seconds(buf, k->time_ns.value, 9);
    rp_buf_puts(buf, ">\n      <system-out>");
    if (rp_form_is_software(parts)) {
        rp_form_put_mark(buf, parts);
        rp_buf_puts(buf, "; ");
    }
    rp_buf_printf(buf, "bottleneck: %s", rp_bottleneck_names[k->label]);
    if (k->calls)
        rp_buf_printf(buf, "; calls: %" PRIu64, k->calls);
    if (k->weight.known)
        rp_buf_printf(buf, "; %% of the %s: %s",
                      parts->bottlenecks->basis == RP_RANK_CRITICAL_PATH ? "end-to-end time"
                                                                         : "time of all kernels",
                      rp_number_fixed(k->weight.value * 100, 1).text);
    if (k->headroom.known)
        rp_buf_printf(buf, "; %% to gain: %s", rp_number_fixed(k->headroom.value * 100, 1).text);
    put_impossible(buf, known, k->name);
    rp_buf_puts(buf, "</system-out>\n    </testcase>\n");
}

int rp_form_junit(const struct rp_report_parts *parts, struct rp_buf *buf, struct rp_err *err)
{
    const struct rp_bottlenecks *b = parts->bottlenecks;
    const char *device = rp_form_device(parts);
    rp_cleanup(rp_form_known_free) struct rp_form_known known = {0};

    if (rp_form_known_make(parts, &known, err) < 0)
        return -RP_ENVIRONMENT;
    rp_buf_puts(buf, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite");
    rp_xml_attribute(buf, "name", parts->title);
    rp_buf_printf(buf, " tests=\"%zu\" failures=\"0\" errors=\"0\" skipped=\"0\"", b->kernel_count);
    if (parts->dag) /* Jenkins refuses a suite with more decimals. */
        put_seconds(buf, (double)parts->dag->makespan_ns, 3);
    rp_buf_puts(buf, ">\n    <properties>\n      <property name=\"device\"");
    rp_xml_attribute(buf, "value", *device ? device : "unknown");
    rp_buf_puts(buf, "/>\n");
    if (rp_form_is_software(parts)) {
        rp_buf_puts(buf, "      <property name=\"time\" value=\"");
        rp_form_put_mark(buf, parts);
        rp_buf_puts(buf, "\"/>\n");
    }
    put_launches(buf, parts);
    rp_buf_puts(buf, "    </properties>\n");
    for (size_t i = 0; i < b->kernel_count; i++)
        put_case(buf, parts, &known, &b->kernels[i]);
    rp_buf_puts(buf, "  </testsuite>\n</testsuites>\n");
    return rp_report_end(buf, err);
}

/* For GitHub there are annotations of a workflow, and a table for a pull request. */

static void annotate_gate(struct rp_buf *buf, const struct rp_versus_condition *gate,
                          const struct rp_versus_outcome *gated, const char *path)
{
    rp_autobuf title = {0}, text = {0};

    rp_buf_printf(&title, "rocm-perf compare: %s %s", gate->text,
                  rp_versus_passed_names[gated->passed]);
    rp_buf_printf(&text, "%s: ", path);
    rp_versus_outcome_text(&text, gated);
    rp_workflow_annotate(buf, "error", rp_buf_text(&title), NULL, 0, rp_buf_text(&text));
    buf->failed |= title.failed || text.failed;
}

/* Times are reported beside the gates, because a time without a gate may matter, too. */
static void annotate_time(struct rp_buf *buf, const struct rp_versus_found *c,
                          const struct rp_versus_time *t, const char *name)
{
    rp_autobuf text = {0};

    if (t->verdict != RP_COMPARE_SLOWER && t->verdict != RP_COMPARE_FASTER)
        return;
    rp_buf_printf(&text, "%s%s is ", c->after->software ? "modelled time: " : "", name);
    rp_versus_change_text(&text, t);
    rp_buf_printf(&text, " in %s", c->after->path);
    rp_workflow_annotate(buf, t->verdict == RP_COMPARE_SLOWER ? "warning" : "notice",
                         t->verdict == RP_COMPARE_SLOWER ? "rocm-perf compare: slower"
                                                         : "rocm-perf compare: faster",
                         NULL, 0, rp_buf_text(&text));
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
    return rp_report_end(buf, err);
}

/* --- pull requests ------------------------------------------------------------------------- */

enum { MOST_ROWS = 50 };

/* Both times have one unit, because rows differ by more than their ratios. */
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

/* @param whole says of what it is, if it is no kernel; else NULL */
static void put_row(struct rp_buf *buf, const struct rp_versus_time *t, const char *whole,
                    const char *name, const char *changes)
{
    rp_buf_puts(buf, "| ");
    rp_versus_change_text(buf, t);
    put_times(buf, t);
    if (whole)
        rp_buf_puts(buf, whole);
    else
        rp_markdown_cell(buf, name);
    rp_buf_puts(buf, " | ");
    rp_markdown_cell(buf, changes);
    rp_buf_puts(buf, " |\n");
}

static void github_markdown_put_kernel(struct rp_buf *buf, const struct rp_versus_pair *k)
{
    rp_autobuf changes = {0};

    if (k->before && k->after) {
        rp_versus_changes_text(&changes, k);
        put_row(buf, &k->time, NULL, k->before->name, rp_buf_text(&changes));
        buf->failed |= changes.failed;
        return;
    }
    rp_buf_puts(buf, "| only ");
    rp_buf_puts(buf, k->before ? "before | | | " : "after | | | ");
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
    rp_buf_puts(buf, "\n\n| change | before | after | kernel | changes "
                     "|\n|---|---|---|---|---|\n");
    put_row(buf, &c->whole, "all", NULL, "");
    if (rp_versus_span_matters(c))
        put_row(buf, &c->span, "first to last on the GPU", NULL, "");
    for (size_t i = 0; i < c->kernel_count; i++)
        if (buf->len < RP_MARKDOWN_MOST_BYTES * (at + 1) / r->count &&
            rp_versus_is_shown(&c->kernels[i], i, MOST_ROWS))
            github_markdown_put_kernel(buf, &c->kernels[i]);
        else
            hidden++;
    if (hidden)
        rp_buf_printf(buf, "\n%zu more kernels are in the JSON.\n", hidden);
}

static void put_gates(struct rp_buf *buf, const struct rp_compare_report *r, size_t at)
{
    rp_buf_puts(buf, r->gate_count ? "\n" : "");
    for (size_t i = 0; i < r->gate_count && buf->len < RP_MARKDOWN_MOST_BYTES; i++) {
        const struct rp_versus_outcome *gated = &r->gated[at * r->gate_count + i];
        struct rp_versus_outcome numbers = *gated; /* The rest may be numbers of the results. */
        rp_autobuf text = {0};

        numbers.reason[0] = numbers.near[0] = '\0';
        numbers.kernel = NULL;
        rp_versus_outcome_text(&text, &numbers);
        rp_buf_printf(buf, "* gate %s: ", rp_versus_passed_names[gated->passed]);
        rp_markdown_code(buf, r->gates[i].text);
        rp_buf_puts(buf, ": ");
        rp_markdown_plain(buf, rp_buf_text(&text), RP_MARKDOWN_NAME_CELLS);
        rp_buf_puts(buf, gated->reason[0] ? "; " : "");
        rp_markdown_code(buf, gated->reason);
        rp_buf_puts(buf, gated->near[0] ? ", near: " : "");
        rp_markdown_code(buf, gated->near);
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
    return rp_report_end(buf, err);
}

/* This section writes tables for a pull request. */

enum { MARKDOWN_MOST_ROWS = 50, MOST_DOUBTS = 5 };

static const char *number(struct rp_number_text *room, struct rp_quantity q, double scale,
                          unsigned decimals)
{
    if (!q.known)
        return "";
    *room = rp_number_fixed(q.value * scale, decimals);
    return room->text;
}

static void put_path(struct rp_buf *buf, const struct rp_dag_result *dag)
{
    double whole = dag->makespan_ns ? (double)dag->makespan_ns : 1;
    struct rp_unit_span span = {0};
    struct rp_unit unit;

    for (unsigned i = 0; i < RP_DAG_PART_COUNT; i++)
        rp_unit_span_add(&span, (double)dag->path_ns[i]);
    unit = rp_unit_of(RP_UNIT_TIME, span, true);
    rp_buf_printf(buf, "End-to-end time: %s\n",
                  rp_unit_one(RP_UNIT_TIME, (double)dag->makespan_ns, true).text);
    if (dag->incomplete)
        rp_buf_puts(buf, "\n**The trace is incomplete: what came last may be missing.**\n");
    if (dag->disturbed)
        rp_buf_puts(buf, "\n**The run was disturbed: counters or instructions were traced.**\n");
    rp_buf_printf(buf, "\n| critical path | %s | %% |\n|---|---:|---:|\n", unit.name);
    for (unsigned i = 0; i < RP_DAG_PART_COUNT; i++)
        if (dag->path_ns[i])
            rp_buf_printf(buf, "| %s | %s | %s |\n", rp_dag_part_names[i],
                          rp_unit_number(unit, (double)dag->path_ns[i]).text,
                          rp_number_fixed((double)dag->path_ns[i] / whole * 100, 1).text);
}

/* @param unit of the column of times */
static void markdown_put_kernel(struct rp_buf *buf, const struct rp_finding_texts *texts,
                                size_t kernel, struct rp_unit unit)
{
    const struct rp_bottleneck_kernel *k = &texts->of->kernels[kernel];
    struct rp_number_text rooms[4];

    rp_buf_puts(buf, "| ");
    rp_markdown_cell(buf, k->name);
    rp_buf_puts(buf, " | ");
    if (k->calls)
        rp_buf_printf(buf, "%" PRIu64, k->calls);
    rp_buf_printf(buf, " | %s | %s | ",
                  k->time_ns.known ? rp_unit_number(unit, k->time_ns.value).text : "",
                  number(&rooms[0], k->weight, 100, 1));
    rp_finding_put_kernel(texts, kernel, buf);
    rp_buf_printf(buf, " | %s | %s | %s |\n", number(&rooms[1], k->headroom, 100, 1),
                  number(&rooms[2], k->end_to_end_bound, 1, 3),
                  number(&rooms[3], k->free_bound, 1, 3));
}

static int put_kernels(struct rp_buf *buf, const struct rp_bottlenecks *b, struct rp_err *err)
{
    struct rp_finding_texts texts;
    struct rp_unit_span span = {0};
    struct rp_unit unit;
    size_t shown = 0;

    if (rp_finding_texts_make(b, &texts, err) < 0)
        return -1;
    texts.put_code = rp_markdown_cell;
    for (size_t i = 0; i < b->kernel_count && i < MARKDOWN_MOST_ROWS; i++)
        if (b->kernels[i].time_ns.known)
            rp_unit_span_add(&span, b->kernels[i].time_ns.value);
    unit = rp_unit_of(RP_UNIT_TIME, span, true);
    rp_buf_printf(
        buf,
        "\n| kernel | calls | %s | %% of %s | what limits it | headroom %% | max speed-up "
        "| if removed |\n|---|---:|---:|---:|---|---:|---:|---:|\n",
        unit.name, b->basis == RP_RANK_CRITICAL_PATH ? "path" : "time");
    while (shown < b->kernel_count && shown < MARKDOWN_MOST_ROWS &&
           buf->len < RP_MARKDOWN_MOST_BYTES)
        markdown_put_kernel(buf, &texts, shown++, unit);
    rp_finding_texts_free(&texts);
    if (shown < b->kernel_count)
        rp_buf_printf(buf, "\n%zu more kernels are in the other forms of this report.\n",
                      b->kernel_count - shown);
    return 0;
}

/* The verdict comes first; names and places in it are code, the rest are this program's own words.
 */
static int put_finding(struct rp_buf *buf, const struct rp_bottlenecks *b, struct rp_err *err)
{
    struct rp_finding_texts texts;
    const size_t before = buf->len;

    if (rp_finding_texts_make(b, &texts, err) < 0)
        return -1;
    texts.put_code = rp_markdown_code;
    rp_finding_put_program(&texts, buf);
    rp_buf_puts(buf, buf->len > before ? "\n\n" : "");
    rp_finding_texts_free(&texts);
    return 0;
}

/* Work that did not happen took no time, so the reader is told. */
static void github_markdown_put_launches(struct rp_buf *buf, const struct rp_report_parts *parts)
{
    const struct rp_launches *launches = rp_form_launches(parts);

    if (!launches || !launches->failed)
        return;
    rp_buf_printf(buf,
                  "**%" PRIu64 " of %" PRIu64
                  " launch call%s started no kernel, so that this work is in no time here:**\n\n",
                  launches->failed, launches->calls, launches->calls == 1 ? "" : "s");
    for (size_t i = 0; i < launches->count && i < MOST_DOUBTS; i++) {
        rp_autobuf text = {0};

        rp_failed_launch_put(&text, &launches->list[i]);
        rp_buf_puts(buf, "* ");
        rp_markdown_code(buf, rp_buf_text(&text));
        rp_buf_puts(buf, "\n");
        buf->failed |= text.failed;
    }
    if (launches->count > MOST_DOUBTS)
        rp_buf_printf(buf, "* and %zu more\n", launches->count - MOST_DOUBTS);
    rp_buf_puts(buf, "\n");
}

/* Rates that no GPU of this kind can have show that something else is wrong, too. */
static void github_markdown_put_impossible(struct rp_buf *buf, const struct rp_report_parts *parts,
                                           const struct rp_form_known *known)
{
    const struct rp_bottlenecks *b = parts->bottlenecks;
    size_t count = 0;

    for (size_t i = 0; i < b->kernel_count; i++) {
        rp_autobuf levels = {0};

        if (!rp_form_put_impossible(&levels, known, b->kernels[i].name, ", ") ||
            count++ >= MOST_DOUBTS)
            continue;
        if (count == 1)
            rp_buf_puts(buf, "\n**No GPU of this kind has these rates: counters, times or the GPU "
                             "are not those of one run.**\n\n");
        rp_buf_puts(buf, "* ");
        rp_markdown_code(buf, b->kernels[i].name);
        rp_buf_printf(buf, ": %s\n", rp_buf_text(&levels));
        buf->failed |= levels.failed;
    }
    if (count > MOST_DOUBTS)
        rp_buf_printf(buf, "* and %zu more\n", count - MOST_DOUBTS);
}

int rp_form_markdown(const struct rp_report_parts *parts, struct rp_buf *buf, struct rp_err *err)
{
    rp_cleanup(rp_form_known_free) struct rp_form_known known = {0};

    if (rp_form_known_make(parts, &known, err) < 0)
        return -RP_ENVIRONMENT;
    rp_buf_puts(buf, "### ");
    rp_markdown_code(buf, parts->title);
    rp_buf_puts(buf, "\n\n");
    if (rp_form_is_software(parts)) {
        rp_buf_puts(buf, "**");
        rp_form_put_mark(buf, parts);
        rp_buf_puts(buf, "**\n\n");
    }
    if (put_finding(buf, parts->bottlenecks, err) < 0)
        return -RP_ENVIRONMENT;
    github_markdown_put_launches(buf, parts);
    if (parts->dag)
        put_path(buf, parts->dag);
    if (parts->bottlenecks->kernel_count && put_kernels(buf, parts->bottlenecks, err) < 0)
        return -RP_ENVIRONMENT;
    github_markdown_put_impossible(buf, parts, &known);
    return rp_report_end(buf, err);
}

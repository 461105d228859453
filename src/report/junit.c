/* JUnit XML of a comparison, for CI servers. It agrees with the exit status: a gate that does not
 * hold or is undecided, and a replay with other output, are failures. A verdict is none, for only
 * gates say what a program may cost. */
#include <inttypes.h>
#include <limits.h>
#include <math.h>

#include "analyze/dag.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "report/report.h"
#include "report/report_forms.h"
#include "report/report_text.h"

/* Servers tell cases of several results apart by the class. */
static void begin_case(struct rp_buf *buf, const struct rp_versus_found *c, const char *name)
{
    rp_buf_puts(buf, "    <testcase");
    rp_xml_attribute(buf, "classname", c->after->path);
    rp_xml_attribute(buf, "name", name);
}

/* The text twice: some servers show the attribute, others the element. */
static void put_outcome(struct rp_buf *buf, const char *element, const char *type, const char *text)
{
    rp_buf_printf(buf, "      <%s", element);
    rp_xml_attribute(buf, "type", type);
    rp_xml_attribute(buf, "message", text);
    rp_buf_puts(buf, ">");
    rp_xml_text(buf, text, UINT_MAX);
    rp_buf_printf(buf, "</%s>\n", element);
}

static void put_said(struct rp_buf *buf, const char *text)
{
    rp_buf_puts(buf, "      <system-out>");
    rp_xml_text(buf, text, UINT_MAX);
    rp_buf_puts(buf, "</system-out>\n");
}

static void end_case(struct rp_buf *buf)
{
    rp_buf_puts(buf, "    </testcase>\n");
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
        put_said(buf, rp_buf_text(&text));
    else
        put_outcome(buf, "failure", word, rp_buf_text(&text));
    end_case(buf);
    buf->failed |= text.failed;
}

/* Beyond it is nothing that was measured, and nothing that servers take for a number. */
static const double most_ms = 1e12;

/* @param changes  NULL: none */
static void put_time(struct rp_buf *buf, const struct rp_versus_found *c, const char *name,
                     const struct rp_versus_time *t, const char *changes)
{
    rp_autobuf text = {0};

    begin_case(buf, c, name);
    if (t->after_ms < most_ms)
        rp_buf_printf(buf, " time=\"%s\"", rp_number_fixed(t->after_ms / 1000, 9).text);
    rp_buf_puts(buf, ">\n");
    if (t->verdict == RP_COMPARE_UNDECIDED)
        put_outcome(buf, "skipped", "undecided", t->reason ? t->reason : "undecided");
    rp_buf_printf(&text, "%s; time after / before ", rp_versus_verdict_names[t->verdict]);
    rp_versus_ratio_text(&text, t);
    if (!isnan(t->before_ms) && !isnan(t->after_ms))
        rp_buf_printf(&text, "; %s -> %s ms", rp_number_fixed(t->before_ms, 4).text,
                      rp_number_fixed(t->after_ms, 4).text);
    if (changes && *changes)
        rp_buf_printf(&text, "; %s", changes);
    put_said(buf, rp_buf_text(&text));
    end_case(buf);
    buf->failed |= text.failed;
}

static void put_kernel(struct rp_buf *buf, const struct rp_versus_found *c,
                       const struct rp_versus_pair *k)
{
    rp_autobuf changes = {0};

    if (!k->before || !k->after) {
        begin_case(buf, c, k->before ? k->before->name : k->after->name);
        rp_buf_puts(buf, ">\n");
        put_outcome(buf, "skipped", "one side", k->before ? "only before" : "only after");
        end_case(buf);
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
    put_outcome(buf, "failure", "different output", "B gives different output");
    end_case(buf);
}

/* --- suites -------------------------------------------------------------------------------- */

struct counts {
    size_t tests, failures, skipped;
};

static struct counts count_cases(const struct rp_compare_report *r, size_t at)
{
    const struct rp_versus_found *c = &r->list[at];
    struct counts n = {.tests = r->gate_count ? r->gate_count : 1 + c->kernel_count};

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

static void put_property(struct rp_buf *buf, const char *name, const char *value)
{
    rp_buf_puts(buf, "      <property");
    rp_xml_attribute(buf, "name", name);
    rp_xml_attribute(buf, "value", value);
    rp_buf_puts(buf, "/>\n");
}

static void begin_suite(struct rp_buf *buf, const char *name, struct counts n, size_t errors)
{
    rp_buf_puts(buf, "  <testsuite");
    rp_xml_attribute(buf, "name", name);
    rp_buf_printf(buf, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\">\n", n.tests,
                  n.failures, errors, n.skipped);
}

static void put_properties(struct rp_buf *buf, const struct rp_compare_report *r,
                           const struct rp_versus_found *c)
{
    rp_buf_puts(buf, "    <properties>\n");
    put_property(buf, "device", c->after->software ? "software" : "hardware");
    if (c->after->software)
        put_property(buf, "time", "Software device: modelled time, not hardware time");
    if (!c->after->told.is) {
        put_property(buf, "before", c->before->path);
        put_property(buf, "margin_percent", rp_number_fixed(r->rule.margin * 100, 3).text);
    }
    put_property(buf, "after", c->after->path);
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
    begin_suite(buf, rp_buf_text(&name), count_cases(r, at), 0);
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

static const char first_line[] = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n";

int rp_report_compare_junit(const struct rp_compare_report *r, struct rp_buf *buf,
                            struct rp_err *err)
{
    rp_buf_puts(buf, first_line);
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
    rp_buf_puts(buf, first_line);
    begin_suite(buf, rp_buf_text(&name), (struct counts){.tests = 1}, 1);
    rp_buf_puts(buf, "    <testcase");
    rp_xml_attribute(buf, "classname", paths[count - 1]);
    rp_xml_attribute(buf, "name", "comparison");
    rp_buf_puts(buf, ">\n");
    put_outcome(buf, "error", why->code == RP_BAD_INPUT ? "refused" : "environment", why->text);
    end_case(buf);
    rp_buf_puts(buf, "  </testsuite>\n</testsuites>\n");
    return buf->failed || name.failed ? rp_out_of_memory(err) : 0;
}

/* JUnit XML: kernels as test cases with their times, which CI servers draw over builds. None fails:
 * a report judges nothing; gates are for `compare`. */

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
    rp_buf_puts(buf, "    <testcase");
    rp_xml_attribute(buf, "classname", "kernel");
    rp_xml_attribute(buf, "name", k->name);
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
    if (parts->dag) /* Jenkins refuses a suite with more decimals */
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

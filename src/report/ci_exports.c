/* What programs read of a result of `rocm-perf ci`: JUnit XML, OpenMetrics, JSON. */
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/json_write.h"
#include "base/units.h"
#include "report/ci_result.h"
#include "report/ci_text.h"
#include "report/report.h"

/* --- JUnit XML -------------------------------------------------------------------------------- */

static void put_case(struct rp_buf *to, const struct rp_ci_gate *gate)
{
    const char *word = rp_ci_outcome_names[gate->outcome];
    rp_autobuf text = {0};

    rp_ci_gate_text(&text, gate, 1);
    rp_junit_begin_case(to, gate->program ? gate->program : "build", gate->name);
    rp_buf_puts(to, ">\n");
    if (gate->outcome == RP_CI_SKIPPED)
        rp_junit_outcome(to, "skipped", word, rp_buf_text(&text));
    else if (gate->outcome == RP_CI_HOLDS)
        rp_junit_said(to, rp_buf_text(&text));
    else
        rp_junit_outcome(to, "failure", word, rp_buf_text(&text));
    if (gate->evidence && gate->outcome != RP_CI_HOLDS)
        rp_junit_said(to, gate->evidence);
    rp_junit_end_case(to);
    to->failed |= text.failed;
}

static struct rp_junit_counts count_cases(const struct rp_ci_result *r)
{
    struct rp_junit_counts n = {.tests = r->gates.count};

    for (size_t i = 0; i < r->gates.count; i++) {
        n.skipped += r->gates.items[i].outcome == RP_CI_SKIPPED;
        n.failures += r->gates.items[i].outcome >= RP_CI_UNDECIDED;
    }
    return n;
}

void rp_ci_junit(const struct rp_ci_result *r, struct rp_buf *to)
{
    rp_autobuf device = {0};

    rp_ci_device_text(&device, r);
    rp_buf_puts(to, rp_junit_first_line);
    rp_junit_begin_suite(to, "rocm-perf ci", count_cases(r));
    rp_buf_puts(to, "    <properties>\n");
    rp_junit_property(to, "base", r->base_commit);
    rp_junit_property(to, "head", r->head_commit);
    rp_junit_property(to, "device", r->device ? r->device : "unknown");
    if (device.len)
        rp_junit_property(to, "time", rp_buf_text(&device));
    rp_buf_puts(to, "    </properties>\n");
    for (size_t i = 0; i < r->gates.count; i++)
        put_case(to, &r->gates.items[i]);
    rp_buf_puts(to, "  </testsuite>\n</testsuites>\n");
    to->failed |= device.failed;
}

/* --- OpenMetrics --------------------------------------------------------------------------- */

static void put_family(struct rp_buf *to, const struct rp_ci_result *r, const char *name,
                       const char *unit, const char *help)
{
    rp_buf_printf(to, "# TYPE rocm_perf_ci_%s gauge\n", name);
    if (*unit)
        rp_buf_printf(to, "# UNIT rocm_perf_ci_%s %s\n", name, unit);
    rp_buf_printf(to, "# HELP rocm_perf_ci_%s %s%s\n", name, help,
                  r->device && strcmp(r->device, "software") == 0
                      ? " Software device: times are modelled."
                      : "");
}

static void put_number(struct rp_buf *to, const struct rp_ci_result *r, const char *family,
                       const char *program, const char *side, struct rp_quantity value)
{
    if (!value.known || !isfinite(value.value))
        return;
    rp_buf_printf(to, "rocm_perf_ci_%s{", family);
    rp_metrics_label(to, "program", program);
    if (side) {
        rp_buf_puts(to, ",");
        rp_metrics_label(to, "side", side);
    }
    rp_buf_puts(to, ",");
    rp_metrics_label(to, "device", r->device ? r->device : "unknown");
    rp_buf_puts(to, "} ");
    rp_buf_number(to, value.value);
    rp_buf_puts(to, "\n");
}

static struct rp_quantity scaled(struct rp_quantity q, double scale)
{
    return (struct rp_quantity){.known = q.known, .value = q.value * scale};
}

static void put_gate_metric(struct rp_buf *to, const struct rp_ci_gate *gate)
{
    rp_buf_puts(to, "rocm_perf_ci_gate{");
    rp_metrics_label(to, "program", gate->program ? gate->program : "build");
    rp_buf_puts(to, ",");
    rp_metrics_label(to, "gate", gate->name);
    rp_buf_printf(to, "} %d\n", gate->outcome == RP_CI_HOLDS || gate->outcome == RP_CI_SKIPPED);
}

/* What came of a gate is no label of it: a gate that fails keeps the name that it had before. */
static void put_outcomes(struct rp_buf *to, const struct rp_ci_result *r)
{
    size_t counts[RP_CI_FAILS + 1] = {0};

    for (size_t i = 0; i < r->gates.count; i++)
        counts[r->gates.items[i].outcome]++;
    for (unsigned i = 0; i <= RP_CI_FAILS; i++)
        rp_buf_printf(to, "rocm_perf_ci_gates{outcome=\"%s\"} %zu\n", rp_ci_outcome_names[i],
                      counts[i]);
}

void rp_ci_metrics(const struct rp_ci_result *r, struct rp_buf *to)
{
    put_family(to, r, "gate", "", "1: the gate holds or was skipped, 0: it fails or is undecided.");
    for (size_t i = 0; i < r->gates.count; i++)
        put_gate_metric(to, &r->gates.items[i]);
    put_family(to, r, "gates", "", "Gates by what came of them.");
    put_outcomes(to, r);
    put_family(to, r, "runtime_seconds", "seconds", "Time of all kernels of a run.");
    for (size_t i = 0; i < r->programs.count; i++) {
        const struct rp_ci_numbers *p = &r->programs.items[i];

        put_number(to, r, "runtime_seconds", p->program, "base", scaled(p->base_ms, 1e-3));
        put_number(to, r, "runtime_seconds", p->program, "head", scaled(p->head_ms, 1e-3));
    }
    put_family(to, r, "memory_bytes", "bytes", "Bytes between L2 and memory of all kernels.");
    for (size_t i = 0; i < r->programs.count; i++) {
        const struct rp_ci_numbers *p = &r->programs.items[i];

        put_number(to, r, "memory_bytes", p->program, "base", p->base_bytes);
        put_number(to, r, "memory_bytes", p->program, "head", p->head_bytes);
    }
    rp_buf_puts(to, "# EOF\n");
}

/* --- JSON ---------------------------------------------------------------------------------- */

static void add_notes(struct rp_json_writer *json, const struct rp_ci_gate *gate)
{
    rp_json_add_array(json, "notes");
    for (size_t i = 0; i < gate->notes.count; i++) {
        const struct rp_ci_note *note = &gate->notes.items[i];

        rp_json_add_object(json, NULL);
        rp_json_add_text(json, "file", note->file);
        rp_json_add_count_if(json, "line", note->line, note->line);
        rp_json_add_text(json, "text", note->text);
        rp_json_end(json);
    }
    rp_json_end(json);
}

static void add_gate(struct rp_json_writer *json, const struct rp_ci_gate *gate)
{
    rp_json_add_object(json, NULL);
    rp_json_add_text(json, "evidence", gate->evidence);
    rp_report_quantity(json, "limit", gate->limit);
    rp_json_add_text(json, "name", gate->name);
    add_notes(json, gate);
    rp_json_add_text(json, "outcome", rp_ci_outcome_names[gate->outcome]);
    rp_json_add_text(json, "program", gate->program);
    rp_json_add_text(json, "sentence", gate->sentence);
    rp_report_quantity(json, "value", gate->value);
    rp_json_end(json);
}

static void add_program(struct rp_json_writer *json, const struct rp_ci_numbers *p)
{
    rp_json_add_object(json, NULL);
    rp_report_quantity(json, "base_bytes", p->base_bytes);
    rp_report_quantity(json, "base_ms", p->base_ms);
    rp_report_quantity(json, "head_bytes", p->head_bytes);
    rp_report_quantity(json, "head_ms", p->head_ms);
    rp_json_add_text(json, "name", p->program);
    rp_json_add_text(json, "page", p->page);
    rp_json_end(json);
}

static void add_lists(struct rp_json_writer *json, const struct rp_ci_result *r)
{
    rp_json_add_array(json, "gates");
    for (size_t i = 0; i < r->gates.count; i++)
        add_gate(json, &r->gates.items[i]);
    rp_json_end(json);
    rp_json_add_object(json, "head");
    rp_json_add_bool(json, "changed", r->head_changed);
    rp_json_add_text(json, "commit", r->head_commit);
    rp_json_end(json);
    rp_json_add_array(json, "notes");
    for (size_t i = 0; i < r->remarks.count; i++)
        rp_json_add_text(json, NULL, r->remarks.items[i]);
    rp_json_end(json);
    rp_json_add_array(json, "programs");
    for (size_t i = 0; i < r->programs.count; i++)
        add_program(json, &r->programs.items[i]);
    rp_json_end(json);
}

int rp_ci_json(const struct rp_ci_result *r, struct rp_buf *to, struct rp_err *err)
{
    static const char *const words[] = {
        [RP_CI_HOLDS] = "passed", [RP_CI_UNDECIDED] = "undecided", [RP_CI_FAILS] = "failed"};
    struct rp_json_writer json = rp_report_json(to);
    rp_autobuf sentence = {0};

    rp_ci_verdict_text(&sentence, r);
    rp_json_add_object(&json, "base");
    rp_json_add_text(&json, "commit", r->base_commit);
    rp_json_add_text(&json, "name", r->base_name);
    rp_json_end(&json);
    rp_json_add_text(&json, "config", r->config);
    rp_json_add_text(&json, "device", r->device);
    add_lists(&json, r);
    rp_json_add_text(&json, "schema_version", "1.0");
    rp_json_add_text(&json, "sentence", rp_buf_text(&sentence));
    rp_json_add_text(&json, "timing", r->timing);
    rp_json_add_text(&json, "verdict", words[rp_ci_verdict(r)]);
    return rp_report_json_end(&json, err);
}

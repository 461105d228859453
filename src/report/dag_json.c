#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "report/dag_parts.h"
#include "report/text.h"
#include "rocm-perf/dag.h"
#include "rocm-perf/report.h"

/* Written by hand: a trace may have millions of dispatches, and no tree of them is needed. Keys
 * are in alphabetical order in every object. */

static const char *comma(size_t i)
{
    return i ? "," : "";
}

static void put_step(struct rp_buf *buf, const struct rp_dag_step *s, const char *extra)
{
    rp_buf_printf(buf, "{\"duration_ns\": %" PRId64 ", \"guid\": ", s->duration_ns);
    rp_text_json(buf, s->guid ? s->guid : "");
    rp_buf_printf(buf, ", \"id\": %" PRId64 ", \"kind\": \"%s\", \"name\": ", s->id,
                  s->is_copy ? "copy" : "kernel");
    rp_text_json(buf, s->name);
    rp_buf_printf(buf, ", \"start_ns\": %" PRId64 "%s}", s->start_ns, extra);
}

static void put_path(struct rp_buf *buf, const struct rp_dag_result *r)
{
    rp_buf_puts(buf, "  \"critical_path\": {\n    \"by_class\": ");
    rp_dag_json_by_part(buf, r->path_ns);
    rp_buf_puts(buf, ",\n");
    rp_dag_json_ranges(buf, r->path_ranges, r->path_range_count);
    rp_buf_puts(buf, "    \"by_symbol\": [");
    for (size_t i = 0; i < r->share_count; i++) {
        rp_buf_printf(buf, "%s\n      {\"name\": ", comma(i));
        rp_text_json(buf, r->shares[i].name);
        rp_buf_printf(buf, ", \"ns\": %" PRId64 ", \"weight\": %.9f}", r->shares[i].path_ns,
                      r->makespan_ns ? (double)r->shares[i].path_ns / (double)r->makespan_ns : 0);
    }
    rp_buf_puts(buf, "],\n    \"chain\": [");
    for (size_t i = 0; i < r->chain_count; i++) {
        rp_buf_printf(buf, "%s\n      ", comma(i));
        put_step(buf, &r->chain[i], "");
    }
    rp_buf_puts(buf, "]\n  },\n");
}

static void put_delays(struct rp_buf *buf, const struct rp_dag_result *r)
{
    rp_buf_printf(buf,
                  "  \"delays\": {\"dispatch_ns\": %" PRId64 ", \"event_ns\": %" PRId64
                  ", \"launch_ns\": %" PRId64 ", \"wake_ns\": %" PRId64 "},\n",
                  r->dispatch_ns, r->event_ns, r->launch_ns, r->wake_ns);
}

/* Kernels or copies with their slack. */
static void put_steps(struct rp_buf *buf, const struct rp_dag_result *r, bool copies)
{
    size_t put = 0;

    rp_buf_printf(buf, "  \"%s\": [", copies ? "copies" : "dispatches");
    for (size_t i = 0; i < r->step_count; i++) {
        const struct rp_dag_step *s = &r->steps[i];
        if (s->is_copy != copies)
            continue;
        rp_buf_printf(buf, "%s\n    {", comma(put++));
        if (copies)
            rp_buf_printf(buf, "\"copy_id\": %" PRId64 ", \"guid\": ", s->id);
        else
            rp_buf_printf(buf, "\"dispatch_id\": %" PRId64 ", \"guid\": ", s->id);
        rp_text_json(buf, s->guid ? s->guid : "");
        rp_buf_printf(buf, ", \"on_critical_path\": %s, \"slack_ns\": %" PRId64 "}",
                      s->on_path ? "true" : "false", s->slack_ns);
    }
    rp_buf_puts(buf, "],\n");
}

static void put_grades(struct rp_buf *buf, const struct rp_dag_result *r)
{
    static const enum rp_dag_grade order[RP_DAG_GRADE_COUNT] = {RP_DAG_DERIVED, RP_DAG_INFERRED,
                                                                RP_DAG_PARTIAL, RP_DAG_RECORDED};

    rp_buf_puts(buf, "  \"grades\": {");
    for (size_t i = 0; i < RP_DAG_GRADE_COUNT; i++)
        rp_buf_printf(
            buf,
            "%s\"%s\": {\"dependency_share\": %.9f, \"edges\": %" PRIu64 ", \"path_share\": %.9f}",
            i ? ", " : "", rp_dag_grade_name(order[i]), rp_dag_dependency_share(r, order[i]),
            r->grade_edges[order[i]],
            r->makespan_ns ? (double)r->grade_path_ns[order[i]] / (double)r->makespan_ns : 0);
    rp_buf_puts(buf, "},\n");
}

static void put_repairs(struct rp_buf *buf, const struct rp_dag_mended *m)
{
    rp_buf_printf(
        buf,
        "  \"repairs\": {\"clipped_by_ns\": %" PRId64 ", \"clipped_ends\": %" PRIu64
        ", \"concurrent_packets\": %" PRIu64 ", \"dropped_edges\": %" PRIu64
        ", \"early_starts\": %" PRIu64 ", \"late_by_ns\": %" PRId64 ", \"late_ends\": %" PRIu64
        ", \"moved_clocks\": %" PRIu64 ", \"negative_durations\": %" PRIu64
        ", \"never_ended\": %" PRIu64 ", \"shortened_edges\": %" PRIu64
        ", \"unknown_costs\": %" PRIu32 ", \"zero_durations\": %" PRIu64 "},\n",
        m->clipped_by_ns, m->clipped_ends, m->concurrent_packets, m->dropped_edges, m->early_starts,
        m->late_by_ns, m->late_ends, m->moved_clocks, m->negative_durations, m->never_ended,
        m->shortened_edges, m->unknown_costs, m->zero_durations);
}

static void put_what_ifs(struct rp_buf *buf, const struct rp_dag_result *r)
{
    rp_buf_puts(buf, "  \"what_if\": [");
    for (size_t i = 0; i < r->what_if_count; i++) {
        const struct rp_dag_what_if *w = &r->what_ifs[i];
        if (w->num)
            rp_buf_printf(buf, "%s\n    {\"factor\": %g, ", comma(i),
                          (double)w->num / (double)w->den);
        else
            rp_buf_printf(buf, "%s\n    {\"factor\": \"inf\", ", comma(i));
        rp_buf_printf(buf,
                      "\"least_ns\": %" PRId64 ", \"makespan_ns\": %" PRId64
                      ", \"most_ns\": %" PRId64 ", \"symbol\": ",
                      w->least_ns, w->makespan_ns, w->most_ns);
        rp_text_json(buf, w->symbol);
        rp_buf_puts(buf, "}");
    }
    rp_buf_printf(buf, "],\n  \"what_if_unshared_queues_ns\": %" PRId64 "\n",
                  r->unshared_queues_ns);
}

static void put_timing(struct rp_buf *buf, const struct rp_dag_result *r)
{
    rp_buf_puts(buf, "  \"timing\": ");
    rp_text_json_timing(buf, r->timing_model,
                        r->timing_version ? (uint32_t)strtoul(r->timing_version, NULL, 10) : 0);
    rp_buf_puts(buf, ",\n");
}

int rp_report_dag_json(const struct rp_dag_result *r, bool full, struct rp_buf *buf,
                       struct rp_err *err)
{
    rp_buf_puts(buf, "{\n");
    rp_dag_json_collectives(buf, r);
    rp_buf_printf(buf, "  \"complete\": %s,\n", r->incomplete ? "false" : "true");
    if (full)
        put_steps(buf, r, true);
    put_path(buf, r);
    put_delays(buf, r);
    if (r->device) {
        rp_buf_puts(buf, "  \"device\": ");
        rp_text_json(buf, r->device);
        rp_buf_puts(buf, ",\n");
    } else {
        rp_buf_puts(buf, "  \"device\": null,\n");
    }
    if (full)
        put_steps(buf, r, false);
    rp_dag_json_disturbed(buf, r);
    put_grades(buf, r);
    rp_dag_json_idle(buf, r);
    rp_buf_printf(buf, "  \"kernel_span_ns\": %" PRId64 ",\n", r->kernel_span_ns);
    rp_dag_json_limits(buf, r);
    rp_dag_json_machines(buf, r);
    rp_buf_printf(buf, "  \"makespan_ns\": %" PRId64 ",\n", r->makespan_ns);
    rp_dag_json_near(buf, r);
    rp_dag_json_overlap(buf, r);
    rp_dag_json_processes(buf, r);
    put_repairs(buf, &r->mended);
    rp_buf_puts(buf, "  \"schema_version\": \"1.0\",\n");
    put_timing(buf, r);
    put_what_ifs(buf, r);
    rp_buf_puts(buf, "}\n");
    return buf->failed ? rp_fail(err, RP_ENVIRONMENT, "out of memory") : 0;
}

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/dag.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/units.h"
#include "report/report.h"
#include "report/report_text.h"

/* Pieces of dag.json, each one key and its value. */

/* Keys are in alphabetical order in every object, as in the rest of dag.json. */

static const char *dag_parts_comma(size_t i)
{
    return i ? "," : "";
}

static double share(int64_t part, int64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

/** Nanoseconds by part, as an object. */
static void rp_dag_json_by_part(struct rp_buf *buf, const int64_t *part_ns)
{
    /* Parts in the order of their names. */
    static const enum rp_dag_part order[RP_DAG_PART_COUNT] = {
        RP_DAG_PART_COLLECTIVE, RP_DAG_PART_COPY,   RP_DAG_PART_EVENT,  RP_DAG_PART_HOST_API,
        RP_DAG_PART_HOST_GAP,   RP_DAG_PART_KERNEL, RP_DAG_PART_LAUNCH, RP_DAG_PART_NULL_STREAM,
        RP_DAG_PART_QUEUE,      RP_DAG_PART_STREAM, RP_DAG_PART_SYNC,   RP_DAG_PART_UNKNOWN,
    };

    rp_buf_puts(buf, "{");
    for (size_t i = 0; i < RP_DAG_PART_COUNT; i++)
        rp_buf_printf(buf, "%s\"%s\": %" PRId64, i ? ", " : "", rp_dag_part_name(order[i]),
                      part_ns[order[i]]);
    rp_buf_puts(buf, "}");
}

/** "by_range" of host time. */
static void rp_dag_json_ranges(struct rp_buf *buf, const struct rp_dag_share *shares, size_t count)
{
    rp_buf_puts(buf, "    \"by_range\": [");
    for (size_t i = 0; i < count; i++) {
        rp_buf_printf(buf, "%s\n      {\"name\": ", dag_parts_comma(i));
        rp_text_json(buf, shares[i].name);
        rp_buf_printf(buf, ", \"ns\": %" PRId64 "}", shares[i].path_ns);
    }
    rp_buf_puts(buf, "],\n");
}

/* --- idle ------------------------------------------------------------------------------------ */

static void put_agent(struct rp_buf *buf, const struct rp_dag_agent *a)
{
    rp_buf_printf(buf, "{\"after_last_ns\": %" PRId64, a->after_ns);
    if (a->id >= 0)
        rp_buf_printf(buf, ", \"agent_id\": %" PRId64, a->id);
    else
        rp_buf_puts(buf, ", \"agent_id\": null");
    rp_buf_printf(buf,
                  ", \"before_first_ns\": %" PRId64 ", \"busy_ns\": %" PRId64 ", \"by_class\": ",
                  a->before_ns, a->busy_ns);
    rp_dag_json_by_part(buf, a->idle_part_ns);
    rp_buf_printf(buf,
                  ", \"exposed_collective_ns\": %" PRId64 ", \"exposed_copy_ns\": %" PRId64
                  ", \"gaps\": %" PRIu64 ", \"guid\": ",
                  a->exposed_collective_ns, a->exposed_copy_ns, a->gap_count);
    rp_text_json(buf, a->guid ? a->guid : "");
    rp_buf_printf(buf, ", \"idle_ns\": %" PRId64 ", \"name\": ", a->idle_ns);
    rp_text_json(buf, a->name);
    rp_buf_puts(buf, "}");
}

static void rp_dag_json_idle(struct rp_buf *buf, const struct rp_dag_result *r)
{
    rp_buf_puts(buf, "  \"idle\": {\"agents\": [");
    for (size_t i = 0; i < r->agent_count; i++) {
        rp_buf_printf(buf, "%s\n    ", dag_parts_comma(i));
        put_agent(buf, &r->agents[i]);
    }
    rp_buf_puts(buf, "],\n");
    rp_dag_json_ranges(buf, r->idle_ranges, r->idle_range_count);
    rp_buf_puts(buf, "    \"by_symbol\": [");
    for (size_t i = 0; i < r->idle_share_count; i++) {
        rp_buf_printf(buf, "%s\n      {\"name\": ", dag_parts_comma(i));
        rp_text_json(buf, r->idle_shares[i].name);
        rp_buf_printf(buf, ", \"ns\": %" PRId64 "}", r->idle_shares[i].path_ns);
    }
    rp_buf_puts(buf, "]\n  },\n");
}

/* --- limits and overlap ------------------------------------------------------------------------
 */

static void rp_dag_json_limits(struct rp_buf *buf, const struct rp_dag_result *r)
{
    rp_buf_puts(buf, "  \"limits\": [");
    for (size_t i = 0; i < RP_DAG_LIMIT_COUNT; i++)
        rp_buf_printf(buf, "%s\n    {\"makespan_ns\": %" PRId64 ", \"name\": \"%s\"}",
                      dag_parts_comma(i), r->limit_ns[i], rp_dag_limit_name((enum rp_dag_limit)i));
    rp_buf_puts(buf, "],\n");
}

/* --- the run ------------------------------------------------------------------------------------
 */

static void rp_dag_json_collectives(struct rp_buf *buf, const struct rp_dag_result *r)
{
    rp_buf_puts(buf, "  \"collectives\": [");
    for (size_t i = 0; i < r->collective_count; i++) {
        const struct rp_dag_collective *c = &r->collectives[i];
        rp_buf_printf(buf, "%s\n    {\"count\": %" PRIu64 ", \"name\": ", dag_parts_comma(i),
                      c->count);
        rp_text_json(buf, c->name);
        rp_buf_printf(buf, ", \"time_ns\": %" PRId64 ", \"wait_ns\": ", c->time_ns);
        if (c->wait_known)
            rp_buf_printf(buf, "%" PRId64 "}", c->wait_ns);
        else
            rp_buf_puts(buf, "null}");
    }
    rp_buf_puts(buf, "],\n");
}

static void put_disturbances(struct rp_buf *buf, unsigned disturbed)
{
    bool any = false;

    rp_buf_puts(buf, "[");
    for (unsigned bit = 1; bit < RP_DAG_DISTURBANCE_END; bit *= 2)
        if (disturbed & bit) {
            rp_buf_printf(buf, "%s\"%s\"", any ? ", " : "", rp_dag_disturbance_name(bit));
            any = true;
        }
    rp_buf_puts(buf, "]");
}

static void rp_dag_json_disturbed(struct rp_buf *buf, const struct rp_dag_result *r)
{
    rp_buf_puts(buf, "  \"disturbed_by\": ");
    put_disturbances(buf, r->disturbed);
    rp_buf_puts(buf, ",\n");
}

static void rp_dag_json_machines(struct rp_buf *buf, const struct rp_dag_result *r)
{
    rp_buf_puts(buf, "  \"machines\": [");
    for (size_t i = 0; i < r->machine_count; i++) {
        const struct rp_dag_machine *m = &r->machines[i];
        rp_buf_printf(buf,
                      "%s\n    {\"collectives\": %" PRIu64 ", \"drift_ppb\": %.3f, \"hostname\": ",
                      dag_parts_comma(i), m->collectives, m->drift * 1e9);
        rp_text_json(buf, m->hostname);
        rp_buf_puts(buf, ", \"machine_id\": ");
        rp_text_json(buf, m->machine_id);
        rp_buf_printf(buf, ", \"offset_ns\": %" PRId64 ", \"uncertainty_ns\": %" PRId64 "}",
                      m->offset_ns, m->uncertainty_ns);
    }
    rp_buf_puts(buf, "],\n");
}

static void rp_dag_json_processes(struct rp_buf *buf, const struct rp_dag_result *r)
{
    rp_buf_puts(buf, "  \"processes\": [");
    for (size_t i = 0; i < r->process_count; i++) {
        const struct rp_dag_process_fact *p = &r->processes[i];
        rp_buf_printf(buf,
                      "%s\n    {\"clock_ahead_ns\": %" PRId64 ", \"clocks_apart\": %s"
                      ", \"clocks_contradict\": %s, \"collective_wait_ns\": %" PRId64
                      ", \"disturbed_by\": ",
                      dag_parts_comma(i), p->clock_ahead_ns, p->clocks_apart ? "true" : "false",
                      p->clocks_contradict ? "true" : "false", p->collective_wait_ns);
        put_disturbances(buf, p->disturbed);
        rp_buf_puts(buf, ", \"guid\": ");
        rp_text_json(buf, p->guid ? p->guid : "");
        rp_buf_printf(buf,
                      ", \"machine\": %" PRIu32 ", \"moved_ns\": %" PRId64 ", \"pid\": %" PRId64
                      ", \"rank\": ",
                      p->machine, p->moved_ns, p->pid);
        if (p->rank_known)
            rp_buf_printf(buf, "%" PRId64 "}", p->rank);
        else
            rp_buf_puts(buf, "null}");
    }
    rp_buf_puts(buf, "],\n");
}

/* --- what comes next ----------------------------------------------------------------------------
 */

static void put_next_path(struct rp_buf *buf, const struct rp_dag_next_path *p)
{
    rp_buf_puts(buf, "{\"by_symbol\": [");
    for (size_t i = 0; i < p->share_count; i++) {
        rp_buf_puts(buf, i ? ", {\"name\": " : "{\"name\": ");
        rp_text_json(buf, p->shares[i].name);
        rp_buf_printf(buf, ", \"ns\": %" PRId64 "}", p->shares[i].path_ns);
    }
    rp_buf_printf(buf,
                  "], \"copy_ns\": %" PRId64 ", \"end_ns\": %" PRId64 ", \"kernel_ns\": %" PRId64
                  ", \"operations\": %" PRIu64 ", \"slack_ns\": %" PRId64 ", \"start_ns\": %" PRId64
                  "}",
                  p->copy_ns, p->end_ns, p->kernel_ns, p->op_count, p->slack_ns, p->start_ns);
}

static void rp_dag_json_next_paths(struct rp_buf *buf, const struct rp_dag_result *r)
{
    rp_buf_printf(buf, "  \"near_critical\": {\"by_symbol\": [");
    for (size_t i = 0; i < r->critical_count; i++) {
        const struct rp_dag_critical *c = &r->critical[i];
        rp_buf_printf(buf, "%s\n      {\"count\": %" PRIu64 ", \"criticality\": %.9f, \"name\": ",
                      dag_parts_comma(i), c->count, share(c->near_ns, c->time_ns));
        rp_text_json(buf, c->name);
        rp_buf_printf(buf, ", \"near_ns\": %" PRId64 ", \"time_ns\": %" PRId64 "}", c->near_ns,
                      c->time_ns);
    }
    rp_buf_printf(buf, "],\n    \"epsilon_ns\": %" PRId64 ",\n    \"paths\": [", r->epsilon_ns);
    for (size_t i = 0; i < r->near_path_count; i++) {
        rp_buf_printf(buf, "%s\n      ", dag_parts_comma(i));
        put_next_path(buf, &r->near_paths[i]);
    }
    rp_buf_puts(buf, "],\n    \"slack_histogram\": [");
    for (size_t i = 0; i < RP_DAG_SLACK_BINS; i++) {
        const struct rp_dag_slack_bin *b = &r->slack_bins[i];
        rp_buf_printf(buf, "%s\n      {\"count\": %" PRIu64 ", \"time_ns\": %" PRId64,
                      dag_parts_comma(i), b->count, b->time_ns);
        rp_buf_printf(buf, ", \"up_to\": \"%s\", \"up_to_ns\": ", b->name);
        if (b->up_to_ns == INT64_MAX)
            rp_buf_puts(buf, "null}");
        else
            rp_buf_printf(buf, "%" PRId64 "}", b->up_to_ns);
    }
    rp_buf_puts(buf, "]\n  },\n");
}

static void rp_dag_json_overlap(struct rp_buf *buf, const struct rp_dag_result *r)
{
    int64_t work_ns = r->kernel_time_ns + r->copy_time_ns;

    rp_buf_puts(buf, "  \"overlap\": {\"concurrency_ns\": [");
    for (size_t i = 0; i < RP_DAG_CONCURRENCY; i++)
        rp_buf_printf(buf, "%s%" PRId64, i ? ", " : "", r->concurrency_ns[i]);
    rp_buf_printf(buf,
                  "], \"copy_time_ns\": %" PRId64 ", \"exposed_copy_ns\": %" PRId64
                  ", \"kernel_time_ns\": %" PRId64 ", \"pairs\": [",
                  r->copy_time_ns, r->exposed_copy_ns, r->kernel_time_ns);
    for (size_t i = 0; i < r->pair_count; i++) {
        const struct rp_dag_pair *p = &r->pairs[i];
        rp_buf_printf(buf, "%s\n    {\"count\": %" PRIu64 ", \"first\": ", dag_parts_comma(i),
                      p->count);
        rp_text_json(buf, p->first);
        rp_buf_printf(buf, ", \"gain_ns\": %" PRId64 ", \"second\": ", p->gain_ns);
        rp_text_json(buf, p->second);
        rp_buf_printf(buf, ", \"waited_ns\": %" PRId64 "}", p->waited_ns);
    }
    rp_buf_printf(buf, "], \"potential\": %.9f, \"queue_loss\": %.9f, ",
                  share(r->makespan_ns - r->true_span_ns, r->makespan_ns),
                  share(r->makespan_ns - r->unshared_queues_ns, r->makespan_ns));
    if (work_ns)
        rp_buf_printf(buf, "\"realised\": %.9f, ", 1 - share(r->makespan_ns, work_ns));
    else
        rp_buf_puts(buf, "\"realised\": null, ");
    rp_buf_printf(buf, "\"true_span_ns\": %" PRId64 "},\n", r->true_span_ns);
}

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

static void put_repairs(struct rp_buf *buf, const struct rp_dag_fixes *m)
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
    rp_dag_json_next_paths(buf, r);
    rp_dag_json_overlap(buf, r);
    rp_dag_json_processes(buf, r);
    put_repairs(buf, &r->mended);
    rp_buf_puts(buf, "  \"schema_version\": \"1.0\",\n");
    put_timing(buf, r);
    put_what_ifs(buf, r);
    rp_buf_puts(buf, "}\n");
    return buf->failed ? rp_fail(err, RP_ENVIRONMENT, "out of memory") : 0;
}

enum {
    DEFAULT_WIDTH = 80,
    LEAST_WIDTH = 60,
    MOST_SHARES = 12, /* shown; dag.json has them all */
    MOST_KERNELS = 5, /* with their what-ifs */
    MOST_AGENTS = 8,
    MOST_RANGES = 5,
    LEAST_GAIN = 1000, /* of the end-to-end time, one part in so many: less is not shown */
    MOST_CAUSES = 3,   /* of an agent's idle time */
};

static struct rp_unit_text time_of(const struct rp_page *page, int64_t ns)
{
    return rp_unit_one(RP_UNIT_TIME, (double)ns, page->utf8);
}

static struct rp_number_text percent(int64_t part, int64_t whole)
{
    return rp_number_fixed(whole ? (double)part / (double)whole * 100 : 0, 1);
}

/* How much of the end-to-end time is won, with the sign of a change; "0.0" has none. */
static struct rp_number_text change(int64_t to_ns, int64_t from_ns)
{
    return rp_number_signed(from_ns ? (double)(to_ns - from_ns) / (double)from_ns * 100 : 0, 1);
}

/* Would it be printed as 0.0 %? */
static bool is_nothing(int64_t part, int64_t whole)
{
    return strcmp(percent(part, whole).text, "0.0") == 0;
}

static void put_head(const struct rp_page *page, const struct rp_dag_result *r)
{
    if (r->device && strcmp(r->device, "software") == 0)
        rp_software_line(page, r->timing_model);
    rp_page_line(page, RP_INK_BOLD, 0, "End to end    %s", time_of(page, r->makespan_ns).text);
    /* Of what has no usable time the sum has nothing, and the chain what it is taken to have
     * lasted. */
    rp_page_line(page, RP_INK_PLAIN, 0,
                 r->kernel_span_ns > r->kernel_time_ns
                     ? "Kernels       %s recorded, %s the longest chain with repaired times"
                     : "Kernels       %s in all, %s the longest chain of them",
                 time_of(page, r->kernel_time_ns).text, time_of(page, r->kernel_span_ns).text);
    rp_page_line(page, RP_INK_PLAIN, 0, "              %s %% of the time no kernel or copy runs",
                 percent(r->concurrency_ns[0], r->makespan_ns).text);
}

static void put_shares(const struct rp_page *page, const struct rp_dag_result *r)
{
    struct rp_unit_span span = {0};
    struct rp_unit unit;
    size_t shown = 0;

    for (; shown < r->share_count && shown < MOST_SHARES &&
           !is_nothing(r->shares[shown].path_ns, r->makespan_ns);
         shown++)
        rp_unit_span_add(&span, (double)r->shares[shown].path_ns);
    unit = rp_unit_of(RP_UNIT_TIME, span, page->utf8);
    rp_page_line(page, RP_INK_BOLD, 0, "Critical path");
    for (size_t i = 0; i < shown; i++)
        rp_page_named(page, RP_INK_PLAIN, 2, r->shares[i].name, "%6s %%  %8s %s  ",
                      percent(r->shares[i].path_ns, r->makespan_ns).text,
                      rp_unit_number(unit, (double)r->shares[i].path_ns).text, unit.name);
    if (shown < r->share_count)
        rp_page_line(page, RP_INK_DIM, 2, "and %zu more (--json has them all)",
                     r->share_count - shown);
}

static void dag_term_put_agent(const struct rp_page *page, const struct rp_dag_result *r,
                               const struct rp_dag_agent *a)
{
    bool shown[RP_DAG_PART_COUNT] = {false};
    const int64_t unrecorded_ns = a->idle_part_ns[RP_DAG_PART_UNKNOWN];
    rp_autobuf text = {0};

    shown[RP_DAG_PART_UNKNOWN] = true;
    for (size_t n = 0; n < MOST_CAUSES; n++) {
        size_t most = 0;
        for (size_t i = 1; i < RP_DAG_PART_COUNT; i++)
            if (shown[most] || (!shown[i] && a->idle_part_ns[i] > a->idle_part_ns[most]))
                most = i;
        if (shown[most] || is_nothing(a->idle_part_ns[most], r->makespan_ns))
            break;
        shown[most] = true;
        rp_buf_printf(&text, "%s%s %s %%", n ? ", " : ": waits for ",
                      rp_dag_part_name((enum rp_dag_part)most),
                      percent(a->idle_part_ns[most], r->makespan_ns).text);
    }
    if (!is_nothing(unrecorded_ns, r->makespan_ns))
        rp_buf_printf(&text, "%s nothing recorded for %s %%", text.len ? "," : ":",
                      percent(unrecorded_ns, r->makespan_ns).text);
    rp_page_line(page, RP_INK_PLAIN, 2, "%s %" PRId64 "  %s %% busy%s",
                 *a->name ? a->name : "agent", a->id, percent(a->busy_ns, r->makespan_ns).text,
                 rp_buf_text(&text));
}

static void put_agents(const struct rp_page *page, const struct rp_dag_result *r)
{
    size_t shown = r->agent_count < MOST_AGENTS ? r->agent_count : MOST_AGENTS;

    rp_page_line(page, RP_INK_BOLD, 0, "GPUs");
    for (size_t i = 0; i < shown; i++)
        dag_term_put_agent(page, r, &r->agents[i]);
    if (shown < r->agent_count)
        rp_page_line(page, RP_INK_DIM, 2, "and %zu more (--json has them all)",
                     r->agent_count - shown);
}

/* Only those that would bring something. */
static void put_limits(const struct rp_page *page, const struct rp_dag_result *r)
{
    static const char *const texts[RP_DAG_LIMIT_COUNT] = {
        [RP_DAG_LIMIT_gpu_infinitely_fast] = "kernels and copies took no time: bound by the host",
        [RP_DAG_LIMIT_no_host_gap] = "the program's own code between calls took no time",
        [RP_DAG_LIMIT_no_host_time] = "the host took no time at all: bound by the GPU",
        [RP_DAG_LIMIT_no_launch_delay] = "launches had no delay",
        [RP_DAG_LIMIT_no_wake_delay] = "the host woke up at once",
        [RP_DAG_LIMIT_no_copies] = "copies took no time",
        [RP_DAG_LIMIT_graph_capture] = "each series of launches were one graph",
    };
    bool any = false;

    for (size_t i = 0; i < RP_DAG_LIMIT_COUNT; i++) {
        if (r->makespan_ns - r->limit_ns[i] <= r->makespan_ns / LEAST_GAIN)
            continue;
        if (!any)
            rp_page_line(page, RP_INK_BOLD, 0, "End to end, if");
        any = true;
        rp_page_line(page, RP_INK_PLAIN, 2, "%6s %%  %s",
                     change(r->limit_ns[i], r->makespan_ns).text, texts[i]);
    }
}

/* What-ifs stand together by kernel: the line of a kernel names its doubling and its limit. */
static void dag_term_put_what_ifs(const struct rp_page *page, const struct rp_dag_result *r)
{
    static const char title[] = "If a kernel were faster, end to end";
    const char *last = NULL;
    int64_t twice_ns = r->makespan_ns;
    size_t shown = 0;

    for (size_t i = 0; i < r->what_if_count && shown < MOST_KERNELS; i++) {
        const struct rp_dag_what_if *w = &r->what_ifs[i];
        if (w->num == 2 && w->den == 1)
            twice_ns = w->makespan_ns;
        if (w->num || w->symbol == last ||
            is_nothing(r->makespan_ns - w->makespan_ns, r->makespan_ns))
            continue;
        last = w->symbol;
        if (!shown++)
            rp_page_line(page, RP_INK_BOLD, 0, "%s", title);
        rp_page_named(page, RP_INK_PLAIN, 2, w->symbol,
                      "twice as fast %s %%, at most %s %%: ", change(twice_ns, r->makespan_ns).text,
                      change(w->makespan_ns, r->makespan_ns).text);
    }
    if (is_nothing(r->makespan_ns - r->unshared_queues_ns, r->makespan_ns))
        return;
    if (!shown)
        rp_page_line(page, RP_INK_BOLD, 0, "%s", title);
    rp_page_line(page, RP_INK_PLAIN, 2, "%s %% if streams did not share hardware queues",
                 change(r->unshared_queues_ns, r->makespan_ns).text);
}

static void put_ranges(const struct rp_page *page, const struct rp_dag_result *r)
{
    size_t shown = r->path_range_count < MOST_RANGES ? r->path_range_count : MOST_RANGES;
    struct rp_unit_span span = {0};
    struct rp_unit unit;

    for (size_t i = 0; i < shown; i++)
        rp_unit_span_add(&span, (double)r->path_ranges[i].path_ns);
    unit = rp_unit_of(RP_UNIT_TIME, span, page->utf8);
    if (shown)
        rp_page_line(page, RP_INK_BOLD, 0, "Host time on the path, by range of the program");
    for (size_t i = 0; i < shown; i++)
        rp_page_line(page, RP_INK_PLAIN, 2, "%6s %%  %8s %s  %s",
                     percent(r->path_ranges[i].path_ns, r->makespan_ns).text,
                     rp_unit_number(unit, (double)r->path_ranges[i].path_ns).text, unit.name,
                     r->path_ranges[i].name);
    if (shown < r->path_range_count)
        rp_page_line(page, RP_INK_DIM, 2, "and %zu more (--json has them all)",
                     r->path_range_count - shown);
}

/* By dependencies, not by the path's time: what a path of recorded durations goes through, and what
 * a faster kernel would free, depends on all of them. */
static void put_guesses(const struct rp_page *page, const struct rp_dag_result *r)
{
    const uint64_t *of = r->grade_dependencies;
    uint64_t derived = of[RP_DAG_DERIVED], partial = of[RP_DAG_PARTIAL];
    uint64_t guessed = partial + of[RP_DAG_INFERRED];

    if (guessed)
        rp_page_line(
            page, RP_INK_YELLOW, 0, "%s %% of the dependencies are guessed: the trace lacks %s",
            percent((int64_t)guessed, (int64_t)(guessed + derived + of[RP_DAG_RECORDED])).text,
            derived   ? "some calls"
            : partial ? "the arguments of HIP calls"
                      : "HIP calls");
    if (r->grade_path_ns[RP_DAG_INFERRED] > r->makespan_ns / LEAST_GAIN)
        rp_page_line(page, RP_INK_YELLOW, 0, "%s %% of the critical path's time rests on guesses",
                     percent(r->grade_path_ns[RP_DAG_INFERRED], r->makespan_ns).text);
}

/* Of the first kernel whose what-ifs may be something else: the rest is in dag.json. */
static void put_bounds(const struct rp_page *page, const struct rp_dag_result *r)
{
    for (size_t i = 0; i < r->what_if_count; i++) {
        const struct rp_dag_what_if *w = &r->what_ifs[i];
        struct rp_number_text least = change(w->least_ns, r->makespan_ns);
        struct rp_number_text most = change(w->most_ns, r->makespan_ns);
        if (w->num || strcmp(least.text, most.text) == 0)
            continue;
        rp_page_named(page, RP_INK_YELLOW, 0, w->symbol,
                      "so that at most %s %% may be anything from %s to %s %%: ",
                      change(w->makespan_ns, r->makespan_ns).text, most.text, least.text);
        return;
    }
}

static void dag_term_put_disturbances(const struct rp_page *page, const struct rp_dag_result *r)
{
    static const char *const texts[] = {
        "counters were collected, which makes kernels run one after the other",
        "instructions were traced, which slows kernels down",
        "program counters were sampled, which slows kernels down",
    };

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (r->disturbed >> i & 1)
            rp_page_text(page, RP_INK_YELLOW, 0, texts[i]);
    if (r->disturbed)
        rp_page_text(page, RP_INK_YELLOW, 0,
                     "the times are not representative: record the program again without");
}

static int64_t magnitude(int64_t ns)
{
    return ns < 0 ? -ns : ns;
}

static void put_clocks(const struct rp_page *page, const struct rp_dag_result *r)
{
    int64_t worst_ns = 0, ahead_ns = 0;
    size_t contradicted = 0;

    for (size_t i = 0; i < r->machine_count; i++)
        if (r->machines[i].uncertainty_ns > worst_ns)
            worst_ns = r->machines[i].uncertainty_ns;
    for (size_t i = 0; i < r->process_count; i++) {
        contradicted += r->processes[i].clocks_contradict;
        if (magnitude(r->processes[i].clock_ahead_ns) > magnitude(ahead_ns))
            ahead_ns = r->processes[i].clock_ahead_ns;
    }
    if (r->machine_count > 1)
        rp_page_line(page, RP_INK_PLAIN, 0,
                     "the clocks of %zu machines were put together by collectives, to %s or "
                     "better",
                     r->machine_count, time_of(page, worst_ns).text);
    if (ahead_ns)
        rp_page_line(page, RP_INK_YELLOW, 0,
                     "clocks apart: a GPU's is %s %s the host's; its times are moved",
                     time_of(page, magnitude(ahead_ns)).text, ahead_ns > 0 ? "ahead of" : "behind");
    if (contradicted)
        rp_page_line(page, RP_INK_YELLOW, 0,
                     "clocks apart: no shift fits GPU and calls in %zu process%s; nothing is moved",
                     contradicted, contradicted == 1 ? "" : "es");
}

static void dag_term_put_repairs(const struct rp_page *page, const struct rp_dag_fixes *m)
{
    const uint64_t lost = m->negative_durations + m->zero_durations;

    if (lost)
        rp_page_line(page, RP_INK_YELLOW, 0,
                     "%" PRIu64 " end%s not after the start: estimated for the path, 0 in sums",
                     lost, lost == 1 ? " is" : "s are");
    if (m->never_ended)
        rp_page_line(page, RP_INK_YELLOW, 0,
                     "%" PRIu64 " %s left out: a start or end is missing, 0 or negative",
                     m->never_ended, m->never_ended == 1 ? "is" : "are");
    if (m->clipped_ends)
        rp_page_line(page, RP_INK_YELLOW, 0,
                     "%" PRIu64 " time%s clipped: beyond the next kernel or a call by up to %s",
                     m->clipped_ends, m->clipped_ends == 1 ? " is" : "s are",
                     time_of(page, m->clipped_by_ns).text);
    if (m->late_ends)
        rp_page_line(page, RP_INK_PLAIN, 0,
                     "%" PRIu64 " end%s up to %s behind the next start: durations are as recorded",
                     m->late_ends, m->late_ends == 1 ? " is" : "s are",
                     time_of(page, m->late_by_ns).text);
}

static void put_trust(const struct rp_page *page, const struct rp_dag_result *r)
{
    const struct rp_dag_fixes *m = &r->mended;

    if (r->incomplete)
        rp_page_text(page, RP_INK_YELLOW, 0,
                     "a trace was not closed in order: the end of the run may be missing");
    dag_term_put_disturbances(page, r);
    put_clocks(page, r);
    put_guesses(page, r);
    dag_term_put_repairs(page, m);
    put_bounds(page, r);
    if (m->dropped_edges)
        rp_page_line(page, RP_INK_YELLOW, 0,
                     "%" PRIu64 " expected dependencies contradict the recorded times",
                     m->dropped_edges);
}

int rp_report_dag_term(const struct rp_dag_result *r, struct rp_term_style style,
                       struct rp_buf *buf, struct rp_err *err)
{
    unsigned width = style.width ? style.width : DEFAULT_WIDTH;
    struct rp_page page = {.out = buf,
                           .colour = style.colour,
                           .utf8 = style.utf8,
                           .width = width < LEAST_WIDTH ? LEAST_WIDTH : width};

    put_head(&page, r);
    put_shares(&page, r);
    put_ranges(&page, r);
    if (r->what_if_count)
        dag_term_put_what_ifs(&page, r);
    put_limits(&page, r);
    put_agents(&page, r);
    put_trust(&page, r);
    return buf->failed ? rp_fail(err, RP_ENVIRONMENT, "out of memory") : 0;
}

/* Column by column: a page with 100,000 kernels is read by a browser, in which an object for each
 * would take ten times as long. */

static const char *timeline_json_comma(size_t i)
{
    return i % 16 ? "," : i ? ",\n  " : "";
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Names of all steps, each once, sorted. */
static size_t list_names(const struct rp_dag_result *dag, const char **names)
{
    size_t kept = 0;

    for (size_t i = 0; i < dag->step_count; i++)
        names[i] = dag->steps[i].name;
    qsort(names, dag->step_count, sizeof *names, by_text);
    for (size_t i = 0; i < dag->step_count; i++)
        if (kept == 0 || strcmp(names[kept - 1], names[i]) != 0)
            names[kept++] = names[i];
    return kept;
}

static void put_id(struct rp_buf *buf, const char *key, int64_t id)
{
    if (id < 0)
        rp_buf_printf(buf, "\"%s\": null", key);
    else
        rp_buf_printf(buf, "\"%s\": %" PRId64, key, id);
}

static void put_lanes(struct rp_buf *buf, const struct rp_timeline *t)
{
    rp_buf_puts(buf, "  \"lanes\": [");
    for (size_t i = 0; i < t->lane_count; i++) {
        const struct rp_timeline_track *lane = &t->lanes[i];

        rp_buf_puts(buf, i ? ",\n    {" : "\n    {");
        put_id(buf, "agent", lane->agent);
        rp_buf_printf(buf, ", \"process\": %" PRIu32 ", ", lane->process);
        put_id(buf, "queue", lane->queue);
        rp_buf_puts(buf, ", ");
        put_id(buf, "stream", lane->stream);
        rp_buf_puts(buf, "}");
    }
    rp_buf_puts(buf, "],\n");
}

static void put_classes(struct rp_buf *buf)
{
    rp_buf_puts(buf, "  \"classes\": [");
    for (unsigned i = 0; i < RP_DAG_CLASS_COUNT; i++)
        rp_buf_printf(buf, "%s\"%s\"", i ? ", " : "", rp_dag_class_name((enum rp_dag_class)i));
    rp_buf_puts(buf, "],\n");
}

/* A number of each step. */
#define PUT_COLUMN(key, value)                                                                     \
    do {                                                                                           \
        rp_buf_puts(buf, "  \"" key "\": [");                                                      \
        for (size_t i = 0; i < dag->step_count; i++) {                                             \
            const struct rp_dag_step *s = &dag->steps[i];                                          \
            (void)s;                                                                               \
            rp_buf_printf(buf, "%s%" PRId64, timeline_json_comma(i), (int64_t)(value));            \
        }                                                                                          \
        rp_buf_puts(buf, "],\n");                                                                  \
    } while (0)

static void put_name_column(struct rp_buf *buf, const struct rp_dag_result *dag,
                            const char *const *names, size_t count)
{
    rp_buf_puts(buf, "  \"name\": [");
    for (size_t i = 0; i < dag->step_count; i++) {
        const char *const *name =
            bsearch(&dag->steps[i].name, names, count, sizeof *names, by_text);
        rp_buf_printf(buf, "%s%zu", timeline_json_comma(i), (size_t)(name - names));
    }
    rp_buf_puts(buf, "],\n  \"names\": [");
    for (size_t i = 0; i < count; i++) {
        rp_buf_puts(buf, i ? ",\n    " : "\n    ");
        rp_text_json(buf, names[i]);
    }
    rp_buf_puts(buf, "],\n");
}

int rp_report_timeline_json(const struct rp_dag_result *dag, const struct rp_timeline *t,
                            struct rp_buf *buf, struct rp_err *err)
{
    rp_autofree const char **names = malloc((dag->step_count + 1) * sizeof *names);
    size_t count = names ? list_names(dag, names) : 0;

    if (!names)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    rp_buf_puts(buf, "{\n");
    put_classes(buf);
    PUT_COLUMN("copy", s->is_copy);
    PUT_COLUMN("duration_ns", s->duration_ns);
    PUT_COLUMN("id", s->id);
    PUT_COLUMN("lane", t->track_of_step[i]);
    put_lanes(buf, t);
    rp_buf_printf(buf, "  \"makespan_ns\": %" PRId64 ",\n", dag->makespan_ns);
    put_name_column(buf, dag, names, count);
    PUT_COLUMN("on_path", s->on_path);
    rp_buf_puts(buf, "  \"schema_version\": \"1.0\",\n");
    PUT_COLUMN("slack_ns", s->slack_ns);
    PUT_COLUMN("start_ns", s->start_ns - dag->start_ns);
    PUT_COLUMN("via", s->via);
    rp_buf_puts(buf, "  \"waited_for\": [");
    for (size_t i = 0; i < dag->step_count; i++)
        rp_buf_printf(buf, "%s%" PRId64, timeline_json_comma(i),
                      dag->steps[i].waited_for == RP_DAG_NO_STEP
                          ? (int64_t)-1
                          : (int64_t)dag->steps[i].waited_for);
    rp_buf_puts(buf, "]\n}\n");
    return buf->failed ? rp_fail(err, RP_ENVIRONMENT, "out of memory") : 0;
}

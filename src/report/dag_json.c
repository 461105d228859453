#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/dag.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "report/report.h"

/* The document is written piece by piece: a trace may have millions of dispatches, and no tree of
 * them is needed. Keys are in alphabetical order in every object. */

static double share(int64_t part, int64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

static void add_share(struct rp_json_writer *json, const char *key, double value)
{
    rp_json_add_json(json, key, "%.9f", value);
}

/* Writes nanoseconds by part. */
static void add_parts(struct rp_json_writer *json, const char *key, const int64_t *part_ns)
{
    unsigned order[RP_DAG_PART_COUNT];

    rp_by_name(rp_dag_part_names, RP_DAG_PART_COUNT, order);
    rp_json_add_object(json, key);
    for (size_t i = 0; i < RP_DAG_PART_COUNT; i++)
        rp_json_add_int(json, rp_dag_part_names[order[i]], part_ns[order[i]]);
    rp_json_end(json);
}

/* Begins an item of a list of the document on its own line. */
static void add_item(struct rp_json_writer *json, unsigned blanks)
{
    rp_json_break(json, blanks);
    rp_json_add_object(json, NULL);
}

/* Writes the time of ranges of the host or of symbols. */
static void add_shares(struct rp_json_writer *json, const char *key,
                       const struct rp_dag_share *shares, size_t count)
{
    rp_json_break(json, 4);
    rp_json_add_array(json, key);
    for (size_t i = 0; i < count; i++) {
        add_item(json, 6);
        rp_json_add_text(json, "name", shares[i].name);
        rp_json_add_int(json, "ns", shares[i].path_ns);
        rp_json_end(json);
    }
    rp_json_end(json);
}

/* --- idle ------------------------------------------------------------------------------------ */

static void add_agent(struct rp_json_writer *json, const struct rp_dag_agent *a)
{
    add_item(json, 4);
    rp_json_add_int(json, "after_last_ns", a->after_ns);
    rp_json_add_int_if(json, "agent_id", a->id >= 0, a->id);
    rp_json_add_int(json, "before_first_ns", a->before_ns);
    rp_json_add_int(json, "busy_ns", a->busy_ns);
    add_parts(json, "by_class", a->idle_part_ns);
    rp_json_add_int(json, "exposed_collective_ns", a->exposed_collective_ns);
    rp_json_add_int(json, "exposed_copy_ns", a->exposed_copy_ns);
    rp_json_add_count(json, "gaps", a->gap_count);
    rp_json_add_text(json, "guid", a->guid ? a->guid : "");
    rp_json_add_int(json, "idle_ns", a->idle_ns);
    rp_json_add_text(json, "name", a->name);
    if (a->rank_known)
        rp_json_add_int(json, "rank", a->rank);
    rp_json_end(json);
}

static void add_idle(struct rp_json_writer *json, const struct rp_dag_result *r)
{
    rp_json_add_object(json, "idle");
    rp_json_add_array(json, "agents");
    for (size_t i = 0; i < r->agent_count; i++)
        add_agent(json, &r->agents[i]);
    rp_json_end(json);
    add_shares(json, "by_range", r->idle_ranges, r->idle_range_count);
    add_shares(json, "by_symbol", r->idle_shares, r->idle_share_count);
    rp_json_break(json, 2);
    rp_json_end(json);
}

/* --- the run ------------------------------------------------------------------------------- */

static void add_limits(struct rp_json_writer *json, const struct rp_dag_result *r)
{
    rp_json_add_array(json, "limits");
    for (size_t i = 0; i < RP_DAG_LIMIT_COUNT; i++) {
        add_item(json, 4);
        rp_json_add_int(json, "makespan_ns", r->limit_ns[i]);
        rp_json_add_text(json, "name", rp_dag_limit_names[i]);
        rp_json_end(json);
    }
    rp_json_end(json);
}

static void add_collectives(struct rp_json_writer *json, const struct rp_dag_result *r)
{
    rp_json_add_array(json, "collectives");
    for (size_t i = 0; i < r->collective_count; i++) {
        const struct rp_dag_collective *c = &r->collectives[i];

        add_item(json, 4);
        rp_json_add_count(json, "count", c->count);
        rp_json_add_int(json, "exposed_ns", c->exposed_ns);
        rp_json_add_text(json, "name", c->name);
        rp_json_add_int(json, "time_ns", c->time_ns);
        rp_json_add_int_if(json, "wait_ns", c->wait_known, c->wait_ns);
        rp_json_end(json);
    }
    rp_json_end(json);
}

static void add_gbps(struct rp_json_writer *json, const char *key, double gbps)
{
    if (gbps > 0)
        rp_json_add_json(json, key, "%.3f", gbps);
    else
        rp_json_add_json(json, key, "null");
}

static void add_messages(struct rp_json_writer *json, const struct rp_dag_result *r)
{
    rp_json_add_array(json, "messages");
    for (size_t i = 0; i < r->message_count; i++) {
        const struct rp_dag_message *m = &r->messages[i];

        add_item(json, 4);
        add_gbps(json, "best_bus_gbps", m->best_bus_gbps);
        add_gbps(json, "bus_gbps", m->bus_gbps);
        rp_json_add_int_if(json, "bytes", m->sized == m->count, m->bytes);
        rp_json_add_text(json, "collective", m->collective);
        rp_json_add_count(json, "count", m->count);
        rp_json_add_text(json, "dtype", m->dtype);
        rp_json_add_int(json, "exposed_ns", m->exposed_ns);
        add_gbps(json, "link_gbps", m->peak_gbps);
        rp_json_add_int_if(json, "ranks", m->ranks > 0, m->ranks);
        rp_json_add_int(json, "time_ns", m->time_ns);
        rp_json_add_int_if(json, "wait_ns", r->process_count > 1, m->wait_ns);
        rp_json_end(json);
    }
    rp_json_end(json);
}

static void add_disturbances(struct rp_json_writer *json, unsigned disturbed)
{
    rp_json_add_array(json, "disturbed_by");
    for (unsigned bit = 1; bit < RP_DAG_DISTURBANCE_END; bit *= 2)
        if (disturbed & bit)
            rp_json_add_text(json, NULL, rp_dag_disturbance_name(bit));
    rp_json_end(json);
}

static void add_machines(struct rp_json_writer *json, const struct rp_dag_result *r)
{
    rp_json_add_array(json, "machines");
    for (size_t i = 0; i < r->machine_count; i++) {
        const struct rp_dag_machine *m = &r->machines[i];

        add_item(json, 4);
        rp_json_add_count(json, "collectives", m->collectives);
        rp_json_add_json(json, "drift_ppb", "%.3f", m->drift * 1e9);
        rp_json_add_text(json, "hostname", m->hostname);
        rp_json_add_text(json, "machine_id", m->machine_id);
        rp_json_add_int(json, "offset_ns", m->offset_ns);
        rp_json_add_int(json, "uncertainty_ns", m->uncertainty_ns);
        rp_json_end(json);
    }
    rp_json_end(json);
}

static void add_processes(struct rp_json_writer *json, const struct rp_dag_result *r)
{
    rp_json_add_array(json, "processes");
    for (size_t i = 0; i < r->process_count; i++) {
        const struct rp_dag_process_fact *p = &r->processes[i];

        add_item(json, 4);
        rp_json_add_int(json, "clock_ahead_ns", p->clock_ahead_ns);
        rp_json_add_bool(json, "clocks_apart", p->clocks_apart);
        rp_json_add_bool(json, "clocks_contradict", p->clocks_contradict);
        rp_json_add_int(json, "collective_wait_ns", p->collective_wait_ns);
        add_disturbances(json, p->disturbed);
        rp_json_add_text(json, "guid", p->guid ? p->guid : "");
        rp_json_add_count(json, "machine", p->machine);
        rp_json_add_int(json, "moved_ns", p->moved_ns);
        rp_json_add_int(json, "pid", p->pid);
        rp_json_add_int_if(json, "rank", p->rank_known, p->rank);
        rp_json_add_int(json, "waited_for_ns", p->waited_for_ns);
        rp_json_end(json);
    }
    rp_json_end(json);
}

static void add_range_kernels(struct rp_json_writer *json, const struct rp_dag_range_sum *range)
{
    rp_json_add_array(json, "kernels");
    for (size_t i = 0; i < range->kernel_count; i++) {
        add_item(json, 8);
        rp_json_add_count(json, "launches", range->kernels[i].launches);
        rp_json_add_text(json, "name", range->kernels[i].name);
        rp_json_add_int(json, "ns", range->kernels[i].ns);
        rp_json_end(json);
    }
    rp_json_end(json);
}

static void add_ranges(struct rp_json_writer *json, const struct rp_dag_result *r)
{
    rp_json_add_array(json, "ranges");
    for (size_t i = 0; i < r->range_count; i++) {
        const struct rp_dag_range_sum *range = &r->ranges[i];

        add_item(json, 4);
        rp_json_add_count(json, "calls", range->calls);
        rp_json_add_count(json, "copies", range->copies);
        rp_json_add_int(json, "copy_ns", range->copy_ns);
        rp_json_add_int(json, "kernel_ns", range->kernel_ns);
        add_range_kernels(json, range);
        rp_json_add_count(json, "launches", range->launches);
        rp_json_add_text(json, "name", range->name);
        rp_json_add_int(json, "own_kernel_ns", range->own_kernel_ns);
        rp_json_add_count(json, "own_launches", range->own_launches);
        rp_json_add_int(json, "path_ns", range->path_ns);
        rp_json_end(json);
    }
    rp_json_end(json);
}

/* --- what comes next ----------------------------------------------------------------------- */

static void add_next_path(struct rp_json_writer *json, const struct rp_dag_next_path *p)
{
    add_item(json, 6);
    rp_json_add_array(json, "by_symbol");
    for (size_t i = 0; i < p->share_count; i++) {
        rp_json_add_object(json, NULL);
        rp_json_add_text(json, "name", p->shares[i].name);
        rp_json_add_int(json, "ns", p->shares[i].path_ns);
        rp_json_end(json);
    }
    rp_json_end(json);
    rp_json_add_int(json, "copy_ns", p->copy_ns);
    rp_json_add_int(json, "end_ns", p->end_ns);
    rp_json_add_int(json, "kernel_ns", p->kernel_ns);
    rp_json_add_count(json, "operations", p->op_count);
    rp_json_add_int(json, "slack_ns", p->slack_ns);
    rp_json_add_int(json, "start_ns", p->start_ns);
    rp_json_end(json);
}

static void add_slack_bins(struct rp_json_writer *json, const struct rp_dag_result *r)
{
    rp_json_break(json, 4);
    rp_json_add_array(json, "slack_histogram");
    for (size_t i = 0; i < RP_DAG_SLACK_BINS; i++) {
        const struct rp_dag_slack_bin *b = &r->slack_bins[i];

        add_item(json, 6);
        rp_json_add_count(json, "count", b->count);
        rp_json_add_int(json, "time_ns", b->time_ns);
        rp_json_add_text(json, "up_to", b->name);
        rp_json_add_int_if(json, "up_to_ns", b->up_to_ns != INT64_MAX, b->up_to_ns);
        rp_json_end(json);
    }
    rp_json_end(json);
}

static void add_near_critical(struct rp_json_writer *json, const struct rp_dag_result *r)
{
    rp_json_add_object(json, "near_critical");
    rp_json_add_array(json, "by_symbol");
    for (size_t i = 0; i < r->critical_count; i++) {
        const struct rp_dag_critical *c = &r->critical[i];

        add_item(json, 6);
        rp_json_add_count(json, "count", c->count);
        add_share(json, "criticality", share(c->near_ns, c->time_ns));
        rp_json_add_text(json, "name", c->name);
        rp_json_add_int(json, "near_ns", c->near_ns);
        rp_json_add_int(json, "time_ns", c->time_ns);
        rp_json_end(json);
    }
    rp_json_end(json);
    rp_json_break(json, 4);
    rp_json_add_int(json, "epsilon_ns", r->epsilon_ns);
    rp_json_break(json, 4);
    rp_json_add_array(json, "paths");
    for (size_t i = 0; i < r->near_path_count; i++)
        add_next_path(json, &r->near_paths[i]);
    rp_json_end(json);
    add_slack_bins(json, r);
    rp_json_break(json, 2);
    rp_json_end(json);
}

static void add_overlap(struct rp_json_writer *json, const struct rp_dag_result *r)
{
    int64_t work_ns = r->kernel_time_ns + r->copy_time_ns;

    rp_json_add_object(json, "overlap");
    rp_json_add_array(json, "concurrency_ns");
    for (size_t i = 0; i < RP_DAG_CONCURRENCY; i++)
        rp_json_add_int(json, NULL, r->concurrency_ns[i]);
    rp_json_end(json);
    rp_json_add_int(json, "copy_time_ns", r->copy_time_ns);
    rp_json_add_int(json, "exposed_copy_ns", r->exposed_copy_ns);
    rp_json_add_int(json, "kernel_time_ns", r->kernel_time_ns);
    rp_json_add_array(json, "pairs");
    for (size_t i = 0; i < r->pair_count; i++) {
        const struct rp_dag_pair *p = &r->pairs[i];

        add_item(json, 4);
        rp_json_add_count(json, "count", p->count);
        rp_json_add_text(json, "first", p->first);
        rp_json_add_int(json, "gain_ns", p->gain_ns);
        rp_json_add_text(json, "second", p->second);
        rp_json_add_int(json, "waited_ns", p->waited_ns);
        rp_json_end(json);
    }
    rp_json_end(json);
    add_share(json, "potential", share(r->makespan_ns - r->true_span_ns, r->makespan_ns));
    add_share(json, "queue_loss", share(r->makespan_ns - r->unshared_queues_ns, r->makespan_ns));
    if (work_ns)
        add_share(json, "realised", 1 - share(r->makespan_ns, work_ns));
    else
        rp_json_add_null(json, "realised");
    rp_json_add_int(json, "true_span_ns", r->true_span_ns);
    rp_json_end(json);
}

/* --- the path ------------------------------------------------------------------------------- */

static void add_step(struct rp_json_writer *json, const struct rp_dag_step *s)
{
    add_item(json, 6);
    rp_json_add_int(json, "duration_ns", s->duration_ns);
    rp_json_add_text(json, "guid", s->guid ? s->guid : "");
    rp_json_add_int(json, "id", s->id);
    rp_json_add_text(json, "kind", s->is_copy ? "copy" : "kernel");
    rp_json_add_text(json, "name", s->name);
    rp_json_add_int(json, "start_ns", s->start_ns);
    rp_json_end(json);
}

static void add_path(struct rp_json_writer *json, const struct rp_dag_result *r, bool with_chain)
{
    rp_json_add_object(json, "critical_path");
    rp_json_break(json, 4);
    add_parts(json, "by_class", r->path_ns);
    add_shares(json, "by_range", r->path_ranges, r->path_range_count);
    rp_json_break(json, 4);
    rp_json_add_array(json, "by_symbol");
    for (size_t i = 0; i < r->share_count; i++) {
        add_item(json, 6);
        rp_json_add_text(json, "name", r->shares[i].name);
        rp_json_add_int(json, "ns", r->shares[i].path_ns);
        add_share(json, "weight", share(r->shares[i].path_ns, r->makespan_ns));
        rp_json_end(json);
    }
    rp_json_end(json);
    rp_json_break(json, 4);
    rp_json_add_array(json, "chain");
    for (size_t i = 0; with_chain && i < r->chain_count; i++)
        add_step(json, &r->chain[i]);
    rp_json_end(json);
    rp_json_break(json, 2);
    rp_json_end(json);
}

static void add_delays(struct rp_json_writer *json, const struct rp_dag_result *r)
{
    rp_json_add_object(json, "delays");
    rp_json_add_int(json, "dispatch_ns", r->dispatch_ns);
    rp_json_add_int(json, "event_ns", r->event_ns);
    rp_json_add_int(json, "launch_ns", r->launch_ns);
    rp_json_add_int(json, "wake_ns", r->wake_ns);
    rp_json_end(json);
}

/* Writes kernels or copies with their slack. */
static void add_steps(struct rp_json_writer *json, const struct rp_dag_result *r, bool copies)
{
    rp_json_add_array(json, copies ? "copies" : "dispatches");
    for (size_t i = 0; i < r->step_count; i++) {
        const struct rp_dag_step *s = &r->steps[i];

        if (s->is_copy != copies)
            continue;
        add_item(json, 4);
        rp_json_add_int(json, copies ? "copy_id" : "dispatch_id", s->id);
        rp_json_add_text(json, "guid", s->guid ? s->guid : "");
        rp_json_add_bool(json, "on_critical_path", s->on_path);
        rp_json_add_int(json, "slack_ns", s->slack_ns);
        rp_json_end(json);
    }
    rp_json_end(json);
}

static void add_grades(struct rp_json_writer *json, const struct rp_dag_result *r)
{
    unsigned order[RP_DAG_GRADE_COUNT];

    rp_by_name(rp_dag_grade_names, RP_DAG_GRADE_COUNT, order);
    rp_json_add_object(json, "grades");
    for (size_t i = 0; i < RP_DAG_GRADE_COUNT; i++) {
        const enum rp_dag_grade grade = (enum rp_dag_grade)order[i];

        rp_json_add_object(json, rp_dag_grade_names[grade]);
        add_share(json, "dependency_share", rp_dag_dependency_share(r, grade));
        rp_json_add_count(json, "edges", r->grade_edges[grade]);
        add_share(json, "path_share", share(r->grade_path_ns[grade], r->makespan_ns));
        rp_json_end(json);
    }
    rp_json_end(json);
}

static void add_repairs(struct rp_json_writer *json, const struct rp_dag_fixes *m)
{
    rp_json_add_object(json, "repairs");
    rp_json_add_int(json, "clipped_by_ns", m->clipped_by_ns);
    rp_json_add_count(json, "clipped_ends", m->clipped_ends);
    rp_json_add_count(json, "concurrent_packets", m->concurrent_packets);
    rp_json_add_count(json, "dropped_edges", m->dropped_edges);
    rp_json_add_count(json, "early_starts", m->early_starts);
    rp_json_add_int(json, "late_by_ns", m->late_by_ns);
    rp_json_add_count(json, "late_ends", m->late_ends);
    rp_json_add_count(json, "moved_clocks", m->moved_clocks);
    rp_json_add_count(json, "negative_durations", m->negative_durations);
    rp_json_add_count(json, "never_ended", m->never_ended);
    rp_json_add_count(json, "shortened_edges", m->shortened_edges);
    rp_json_add_count(json, "unknown_costs", m->unknown_costs);
    rp_json_add_count(json, "zero_durations", m->zero_durations);
    rp_json_end(json);
}

static void add_what_ifs(struct rp_json_writer *json, const struct rp_dag_result *r)
{
    rp_json_add_array(json, "what_if");
    for (size_t i = 0; i < r->what_if_count; i++) {
        const struct rp_dag_what_if *w = &r->what_ifs[i];

        add_item(json, 4);
        if (w->num)
            rp_json_add_json(json, "factor", "%g", (double)w->num / (double)w->den);
        else
            rp_json_add_text(json, "factor", "inf");
        rp_json_add_int(json, "least_ns", w->least_ns);
        rp_json_add_int(json, "makespan_ns", w->makespan_ns);
        rp_json_add_int(json, "most_ns", w->most_ns);
        rp_json_add_text(json, "symbol", w->symbol);
        rp_json_end(json);
    }
    rp_json_end(json);
    rp_json_add_int(json, "what_if_unshared_queues_ns", r->unshared_queues_ns);
}

int rp_report_dag_json(const struct rp_dag_result *r, enum rp_dag_extent extent, struct rp_buf *buf,
                       struct rp_err *err)
{
    const char *version = r->timing_version;
    struct rp_json_writer json = rp_report_json(buf);

    add_collectives(&json, r);
    rp_json_add_bool(&json, "complete", !r->incomplete);
    if (extent == RP_DAG_FULL)
        add_steps(&json, r, true);
    add_path(&json, r, extent != RP_DAG_SUMS);
    /* It begins and ends with the work. */
    rp_json_add_int(&json, "critical_path_ns", r->makespan_ns);
    add_delays(&json, r);
    rp_json_add_text(&json, "device", r->device);
    if (extent == RP_DAG_FULL)
        add_steps(&json, r, false);
    add_disturbances(&json, r->disturbed);
    add_grades(&json, r);
    add_idle(&json, r);
    rp_json_add_int(&json, "kernel_span_ns", r->kernel_span_ns);
    add_limits(&json, r);
    add_machines(&json, r);
    rp_json_add_int(&json, "makespan_ns", r->makespan_ns);
    add_messages(&json, r);
    add_near_critical(&json, r);
    rp_json_add_int(&json, "outside_ranges_ns", r->outside_ranges_ns);
    add_overlap(&json, r);
    add_processes(&json, r);
    add_ranges(&json, r);
    add_repairs(&json, &r->mended);
    rp_json_add_text(&json, "schema_version", "1.0");
    rp_report_timing(&json, "timing", r->timing_model,
                     version ? (uint32_t)strtoul(version, NULL, 10) : 0, r->clock_mhz);
    add_what_ifs(&json, r);
    return rp_report_json_end(&json, err);
}

/* The timeline is written column by column, because a browser would take ten times as long to read
 * an object for each of 100,000 kernels. */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Lists the names of all steps, each once, sorted. */
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

static void add_lanes(struct rp_json_writer *json, const struct rp_timeline *t)
{
    rp_json_add_array(json, "lanes");
    for (size_t i = 0; i < t->lane_count; i++) {
        const struct rp_timeline_track *lane = &t->lanes[i];

        add_item(json, 4);
        rp_json_add_int_if(json, "agent", lane->agent >= 0, lane->agent);
        rp_json_add_count(json, "process", lane->process);
        rp_json_add_int_if(json, "queue", lane->queue >= 0, lane->queue);
        rp_json_add_int_if(json, "stream", lane->stream >= 0, lane->stream);
        rp_json_end(json);
    }
    rp_json_end(json);
}

static void add_classes(struct rp_json_writer *json)
{
    rp_json_add_array(json, "classes");
    for (unsigned i = 0; i < RP_DAG_CLASS_COUNT; i++)
        rp_json_add_text(json, NULL, rp_dag_class_names[i]);
    rp_json_end(json);
}

/* Writes a column of numbers: sixteen to a line, without blanks between. */
static void add_number(struct rp_json_writer *json, size_t i, int64_t number)
{
    if (i && i % 16 == 0)
        rp_json_break(json, 2);
    rp_json_add_int(json, NULL, number);
}

/* Writes a number of each step. */
#define ADD_COLUMN(key, value)                                                                     \
    do {                                                                                           \
        rp_json_add_array(&json, key);                                                             \
        json.compact = true;                                                                       \
        for (size_t i = 0; i < dag->step_count; i++) {                                             \
            const struct rp_dag_step *s = &dag->steps[i];                                          \
            (void)s;                                                                               \
            add_number(&json, i, (int64_t)(value));                                                \
        }                                                                                          \
        json.compact = false;                                                                      \
        rp_json_end(&json);                                                                        \
    } while (0)

static size_t number_of_name(const char *const *names, size_t count, const char *name)
{
    return (size_t)((const char *const *)bsearch(&name, names, count, sizeof *names, by_text) -
                    names);
}

int rp_report_timeline_json(const struct rp_dag_result *dag, const struct rp_timeline *t,
                            struct rp_buf *buf, struct rp_err *err)
{
    rp_autofree const char **names = malloc((dag->step_count + 1) * sizeof *names);
    size_t count = names ? list_names(dag, names) : 0;
    struct rp_json_writer json;

    if (!names)
        return rp_out_of_memory(err);
    json = rp_report_json(buf);
    add_classes(&json);
    ADD_COLUMN("copy", s->is_copy);
    ADD_COLUMN("duration_ns", s->duration_ns);
    ADD_COLUMN("id", s->id);
    ADD_COLUMN("lane", t->track_of_step[i]);
    add_lanes(&json, t);
    rp_json_add_int(&json, "makespan_ns", dag->makespan_ns);
    ADD_COLUMN("name", number_of_name(names, count, s->name));
    rp_json_add_array(&json, "names");
    for (size_t i = 0; i < count; i++) {
        rp_json_break(&json, 4);
        rp_json_add_text(&json, NULL, names[i]);
    }
    rp_json_end(&json);
    ADD_COLUMN("on_path", s->on_path);
    if (dag->range_count) {
        ADD_COLUMN("range", s->range == RP_DAG_NO_STEP ? -1 : (int64_t)s->range);
        rp_json_add_array(&json, "ranges");
        for (size_t i = 0; i < dag->range_count; i++)
            rp_json_add_text(&json, NULL, dag->ranges[i].name);
        rp_json_end(&json);
    }
    rp_json_add_text(&json, "schema_version", "1.0");
    ADD_COLUMN("slack_ns", s->slack_ns);
    ADD_COLUMN("start_ns", s->start_ns - dag->start_ns);
    ADD_COLUMN("via", s->via);
    ADD_COLUMN("waited_for", s->waited_for == RP_DAG_NO_STEP ? -1 : (int64_t)s->waited_for);
    return rp_report_json_end(&json, err);
}

#include "report/dag_parts.h"

#include <inttypes.h>

#include "base/buf.h"
#include "report/text.h"
#include "rocm-perf/dag.h"

/* Keys are in alphabetical order in every object, as in the rest of dag.json. */

static const char *comma(size_t i)
{
    return i ? "," : "";
}

static double share(int64_t part, int64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

void rp_dag_json_by_part(struct rp_buf *buf, const int64_t *part_ns)
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

void rp_dag_json_ranges(struct rp_buf *buf, const struct rp_dag_share *shares, size_t count)
{
    rp_buf_puts(buf, "    \"by_range\": [");
    for (size_t i = 0; i < count; i++) {
        rp_buf_printf(buf, "%s\n      {\"name\": ", comma(i));
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

void rp_dag_json_idle(struct rp_buf *buf, const struct rp_dag_result *r)
{
    rp_buf_puts(buf, "  \"idle\": {\"agents\": [");
    for (size_t i = 0; i < r->agent_count; i++) {
        rp_buf_printf(buf, "%s\n    ", comma(i));
        put_agent(buf, &r->agents[i]);
    }
    rp_buf_puts(buf, "],\n");
    rp_dag_json_ranges(buf, r->idle_ranges, r->idle_range_count);
    rp_buf_puts(buf, "    \"by_symbol\": [");
    for (size_t i = 0; i < r->idle_share_count; i++) {
        rp_buf_printf(buf, "%s\n      {\"name\": ", comma(i));
        rp_text_json(buf, r->idle_shares[i].name);
        rp_buf_printf(buf, ", \"ns\": %" PRId64 "}", r->idle_shares[i].path_ns);
    }
    rp_buf_puts(buf, "]\n  },\n");
}

/* --- limits and overlap ------------------------------------------------------------------------
 */

void rp_dag_json_limits(struct rp_buf *buf, const struct rp_dag_result *r)
{
    rp_buf_puts(buf, "  \"limits\": [");
    for (size_t i = 0; i < RP_DAG_LIMIT_COUNT; i++)
        rp_buf_printf(buf, "%s\n    {\"makespan_ns\": %" PRId64 ", \"name\": \"%s\"}", comma(i),
                      r->limit_ns[i], rp_dag_limit_name((enum rp_dag_limit)i));
    rp_buf_puts(buf, "],\n");
}

/* --- the run ------------------------------------------------------------------------------------
 */

void rp_dag_json_collectives(struct rp_buf *buf, const struct rp_dag_result *r)
{
    rp_buf_puts(buf, "  \"collectives\": [");
    for (size_t i = 0; i < r->collective_count; i++) {
        const struct rp_dag_collective *c = &r->collectives[i];
        rp_buf_printf(buf, "%s\n    {\"count\": %" PRIu64 ", \"name\": ", comma(i), c->count);
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

void rp_dag_json_disturbed(struct rp_buf *buf, const struct rp_dag_result *r)
{
    rp_buf_puts(buf, "  \"disturbed_by\": ");
    put_disturbances(buf, r->disturbed);
    rp_buf_puts(buf, ",\n");
}

void rp_dag_json_machines(struct rp_buf *buf, const struct rp_dag_result *r)
{
    rp_buf_puts(buf, "  \"machines\": [");
    for (size_t i = 0; i < r->machine_count; i++) {
        const struct rp_dag_machine *m = &r->machines[i];
        rp_buf_printf(buf,
                      "%s\n    {\"collectives\": %" PRIu64 ", \"drift_ppb\": %.3f, \"hostname\": ",
                      comma(i), m->collectives, m->drift * 1e9);
        rp_text_json(buf, m->hostname);
        rp_buf_puts(buf, ", \"machine_id\": ");
        rp_text_json(buf, m->machine_id);
        rp_buf_printf(buf, ", \"offset_ns\": %" PRId64 ", \"uncertainty_ns\": %" PRId64 "}",
                      m->offset_ns, m->uncertainty_ns);
    }
    rp_buf_puts(buf, "],\n");
}

void rp_dag_json_processes(struct rp_buf *buf, const struct rp_dag_result *r)
{
    rp_buf_puts(buf, "  \"processes\": [");
    for (size_t i = 0; i < r->process_count; i++) {
        const struct rp_dag_process_fact *p = &r->processes[i];
        rp_buf_printf(buf,
                      "%s\n    {\"clock_ahead_ns\": %" PRId64 ", \"clocks_apart\": %s"
                      ", \"clocks_contradict\": %s, \"collective_wait_ns\": %" PRId64
                      ", \"disturbed_by\": ",
                      comma(i), p->clock_ahead_ns, p->clocks_apart ? "true" : "false",
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

static void put_near_path(struct rp_buf *buf, const struct rp_dag_near_path *p)
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

void rp_dag_json_near(struct rp_buf *buf, const struct rp_dag_result *r)
{
    rp_buf_printf(buf, "  \"near_critical\": {\"by_symbol\": [");
    for (size_t i = 0; i < r->critical_count; i++) {
        const struct rp_dag_critical *c = &r->critical[i];
        rp_buf_printf(buf, "%s\n      {\"count\": %" PRIu64 ", \"criticality\": %.9f, \"name\": ",
                      comma(i), c->count, share(c->near_ns, c->time_ns));
        rp_text_json(buf, c->name);
        rp_buf_printf(buf, ", \"near_ns\": %" PRId64 ", \"time_ns\": %" PRId64 "}", c->near_ns,
                      c->time_ns);
    }
    rp_buf_printf(buf, "],\n    \"epsilon_ns\": %" PRId64 ",\n    \"paths\": [", r->epsilon_ns);
    for (size_t i = 0; i < r->near_path_count; i++) {
        rp_buf_printf(buf, "%s\n      ", comma(i));
        put_near_path(buf, &r->near_paths[i]);
    }
    rp_buf_puts(buf, "],\n    \"slack_histogram\": [");
    for (size_t i = 0; i < RP_DAG_SLACK_BINS; i++) {
        const struct rp_dag_slack_bin *b = &r->slack_bins[i];
        rp_buf_printf(buf, "%s\n      {\"count\": %" PRIu64 ", \"time_ns\": %" PRId64, comma(i),
                      b->count, b->time_ns);
        rp_buf_printf(buf, ", \"up_to\": \"%s\", \"up_to_ns\": ", b->name);
        if (b->up_to_ns == INT64_MAX)
            rp_buf_puts(buf, "null}");
        else
            rp_buf_printf(buf, "%" PRId64 "}", b->up_to_ns);
    }
    rp_buf_puts(buf, "]\n  },\n");
}

void rp_dag_json_overlap(struct rp_buf *buf, const struct rp_dag_result *r)
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
        rp_buf_printf(buf, "%s\n    {\"count\": %" PRIu64 ", \"first\": ", comma(i), p->count);
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

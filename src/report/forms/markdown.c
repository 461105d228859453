/* Tables for a pull request. */
#include <inttypes.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/units.h"
#include "report/forms/forms.h"
#include "report/forms/parts.h"
#include "report/markdown.h"
#include "report/text.h"
#include "rocm-perf/dag.h"

enum { MOST_ROWS = 50, MOST_DOUBTS = 5 };

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
            rp_buf_printf(buf, "| %s | %s | %s |\n", rp_dag_part_name((enum rp_dag_part)i),
                          rp_unit_number(unit, (double)dag->path_ns[i]).text,
                          rp_number_fixed((double)dag->path_ns[i] / whole * 100, 1).text);
}

/* @param unit  of the column of times */
static void put_kernel(struct rp_buf *buf, const struct rp_bottleneck_kernel *k,
                       struct rp_unit unit)
{
    struct rp_number_text rooms[4];

    rp_buf_puts(buf, "| ");
    rp_markdown_cell(buf, k->name);
    rp_buf_puts(buf, " | ");
    if (k->calls)
        rp_buf_printf(buf, "%" PRIu64, k->calls);
    rp_buf_printf(buf, " | %s | %s | ",
                  k->time_ns.known ? rp_unit_number(unit, k->time_ns.value).text : "",
                  number(&rooms[0], k->weight, 100, 1));
    rp_markdown_plain(buf, rp_bottleneck_name(k->label));
    rp_buf_printf(buf, " | %s | %s | %s |\n", number(&rooms[1], k->headroom, 100, 1),
                  number(&rooms[2], k->end_to_end_bound, 1, 3),
                  number(&rooms[3], k->free_bound, 1, 3));
}

static void put_kernels(struct rp_buf *buf, const struct rp_bottlenecks *b)
{
    struct rp_unit_span span = {0};
    struct rp_unit unit;
    size_t shown = 0;

    for (size_t i = 0; i < b->kernel_count && i < MOST_ROWS; i++)
        if (b->kernels[i].time_ns.known)
            rp_unit_span_add(&span, b->kernels[i].time_ns.value);
    unit = rp_unit_of(RP_UNIT_TIME, span, true);
    rp_buf_printf(buf,
                  "\n| kernel | calls | %s | %% of %s | bottleneck | %% to gain | speed-up "
                  "| if free |\n|---|---:|---:|---:|---|---:|---:|---:|\n",
                  unit.name, b->basis == RP_RANK_CRITICAL_PATH ? "path" : "time");
    while (shown < b->kernel_count && shown < MOST_ROWS && buf->len < RP_MARKDOWN_MOST_BYTES)
        put_kernel(buf, &b->kernels[shown++], unit);
    if (shown < b->kernel_count)
        rp_buf_printf(buf, "\n%zu more kernels are in the other forms of this report.\n",
                      b->kernel_count - shown);
}

/* Work that did not happen took no time. */
static void put_launches(struct rp_buf *buf, const struct rp_report_parts *parts)
{
    const struct rp_launches *launches = rp_form_launches(parts);

    if (!launches || !launches->failed)
        return;
    rp_buf_printf(buf,
                  "**%" PRIu64 " of %" PRIu64
                  " launch%s started no kernel, so that this work is in no time here:**\n\n",
                  launches->failed, launches->calls, launches->calls == 1 ? "" : "es");
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

/* Rates that no GPU of the kind has say that something else is wrong, too. */
static void put_impossible(struct rp_buf *buf, const struct rp_report_parts *parts,
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
    put_launches(buf, parts);
    if (parts->dag)
        put_path(buf, parts->dag);
    if (parts->bottlenecks->kernel_count)
        put_kernels(buf, parts->bottlenecks);
    put_impossible(buf, parts, &known);
    return buf->failed ? rp_out_of_memory(err) : 0;
}

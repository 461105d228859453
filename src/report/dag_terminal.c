/**
 * @file dag_terminal.c
 * @brief Prints what the execution graph tells: the critical path, ranges, communication, limits.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/dag.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/units.h"
#include "report/report.h"

enum {
    LEAST_WIDTH = 60,
    MOST_SHARES = 12, /**< shown; dag.json has them all */
    MOST_KERNELS = 5, /**< with their what-ifs */
    MOST_AGENTS = 8,
    MOST_RANGES = 5,
    LEAST_GAIN = 1000, /**< of the end-to-end time, one part in so many: less is not shown */
    MOST_CAUSES = 3,   /**< of an agent's idle time */
    BAR = 12,
};

static struct rp_unit_text time_of(const struct rp_page *page, int64_t ns)
{
    return rp_unit_one(RP_UNIT_TIME, (double)ns, page->utf8);
}

static struct rp_number_text percent(int64_t part, int64_t whole)
{
    return rp_number_fixed(whole ? (double)part / (double)whole * 100 : 0, 1);
}

/* Says how much of the end-to-end time is won, with the sign of a change. "0.0" has none. */
static struct rp_number_text change(int64_t to_ns, int64_t from_ns)
{
    return rp_number_signed(from_ns ? (double)(to_ns - from_ns) / (double)from_ns * 100 : 0, 1);
}

/* Says whether it would be printed as 0.0 %. */
static bool is_nothing(int64_t part, int64_t whole)
{
    return strcmp(percent(part, whole).text, "0.0") == 0;
}

static void put_head(const struct rp_page *page, const struct rp_dag_result *r)
{
    if (r->device && strcmp(r->device, "software") == 0)
        rp_software_line(page, r->timing_model);
    rp_clock_line(page, r->clock_mhz);
    rp_page_line(page, RP_INK_BOLD, 0, "End to end    %s%s", time_of(page, r->makespan_ns).text,
                 rp_not_modelled(r->device, r->timing_model));
    /* The sum lacks operations without a usable time, while the chain has their assumed time. */
    rp_page_line(page, RP_INK_PLAIN, 0,
                 r->kernel_span_ns > r->kernel_time_ns
                     ? "Kernels       %s recorded, %s on the longest dependency chain with "
                       "repaired times"
                     : "Kernels       %s total; %s on the longest dependency chain",
                 time_of(page, r->kernel_time_ns).text, time_of(page, r->kernel_span_ns).text);
    if (r->agent_count != 1) /* Of one GPU the line below says it. */
        rp_page_line(page, RP_INK_PLAIN, 0,
                     "GPU idle      %s %% of the time (no kernel, no copy on any GPU)",
                     percent(r->concurrency_ns[0], r->makespan_ns).text);
}

/** Traces name copies by a constant of the runtime. */
static const char *operation_words(const char *name)
{
    static const char *const words[][2] = {
        {"MEMORY_COPY_HOST_TO_DEVICE", "copy from host to GPU"},
        {"MEMORY_COPY_DEVICE_TO_HOST", "copy from GPU to host"},
        {"MEMORY_COPY_DEVICE_TO_DEVICE", "copy from GPU to GPU"},
        {"MEMORY_COPY_HOST_TO_HOST", "copy from host to host"},
    };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(name, words[i][0]) == 0)
            return words[i][1];
    return name;
}

static void put_shares(const struct rp_page *page, const struct rp_dag_result *r)
{
    const char *names[MOST_SHARES];
    struct rp_short_names short_names;
    struct rp_unit_span span = {0};
    struct rp_unit unit;
    size_t shown = 0;

    for (; shown < r->share_count && shown < MOST_SHARES &&
           !is_nothing(r->shares[shown].path_ns, r->makespan_ns);
         shown++)
        rp_unit_span_add(&span, (double)r->shares[shown].path_ns);
    unit = rp_unit_of(RP_UNIT_TIME, span, page->utf8);
    for (size_t i = 0; i < shown; i++)
        names[i] = r->shares[i].name;
    if (rp_short_names_make(names, shown, &short_names, NULL) < 0) {
        page->out->failed = true;
        return;
    }
    rp_page_line(page, RP_INK_BOLD, 0, "Critical path");
    for (size_t i = 0; i < shown; i++) {
        const double share = (double)r->shares[i].path_ns / (double)r->makespan_ns;
        rp_autobuf bar = {0};

        rp_page_bar(page, share, BAR, &bar);
        rp_page_named(
            page, RP_INK_PLAIN, 2, operation_words(page->verbose ? names[i] : short_names.at[i]),
            "%6s %% %s %8s %s  ", percent(r->shares[i].path_ns, r->makespan_ns).text,
            rp_buf_text(&bar), rp_unit_number(unit, (double)r->shares[i].path_ns).text, unit.name);
        page->out->failed |= bar.failed;
    }
    rp_short_names_free(&short_names);
    if (shown < r->share_count)
        rp_page_line(page, RP_INK_DIM, 2, "and %zu more (--json has them all)",
                     r->share_count - shown);
}

/** Appends what the GPU waits for, as ": waits for launch 3.2 %, ...". */
static void put_causes(const struct rp_dag_result *r, const struct rp_dag_agent *a,
                       struct rp_buf *text)
{
    bool shown[RP_DAG_PART_COUNT] = {false};
    const int64_t unrecorded_ns = a->idle_part_ns[RP_DAG_PART_UNKNOWN];
    bool any = false;

    shown[RP_DAG_PART_UNKNOWN] = true;
    for (size_t n = 0; n < MOST_CAUSES; n++) {
        size_t most = 0;
        for (size_t i = 1; i < RP_DAG_PART_COUNT; i++)
            if (shown[most] || (!shown[i] && a->idle_part_ns[i] > a->idle_part_ns[most]))
                most = i;
        if (shown[most] || is_nothing(a->idle_part_ns[most], r->makespan_ns))
            break;
        shown[most] = any = true;
        rp_buf_printf(text, "%s%s %s %%", n ? ", " : ": waits for ", rp_dag_part_names[most],
                      percent(a->idle_part_ns[most], r->makespan_ns).text);
    }
    if (!is_nothing(unrecorded_ns, r->makespan_ns))
        rp_buf_printf(text, "%s nothing recorded for %s %%", any ? "," : ":",
                      percent(unrecorded_ns, r->makespan_ns).text);
}

/* One GPU has one number: how much of the time it idles. */
static void put_one_agent(const struct rp_page *page, const struct rp_dag_result *r)
{
    rp_autobuf text = {0};

    put_causes(r, &r->agents[0], &text);
    page->out->failed |= text.failed;
    rp_page_line(page, RP_INK_PLAIN, 0, "GPU idle      %s %% of the time (no kernel, no copy)%s",
                 percent(r->makespan_ns - r->agents[0].busy_ns, r->makespan_ns).text,
                 rp_buf_text(&text));
}

static void dag_term_put_agent(const struct rp_page *page, const struct rp_dag_result *r,
                               const struct rp_dag_agent *a)
{
    rp_autobuf text = {0};
    char rank[40] = "";

    if (a->rank_known)
        snprintf(rank, sizeof rank, " of rank %" PRId64, a->rank);
    put_causes(r, a, &text);
    page->out->failed |= text.failed;
    rp_page_line(page, RP_INK_PLAIN, 2, "%s %" PRId64 "%s  %s %% busy%s",
                 *a->name ? a->name : "agent", a->id, rank,
                 percent(a->busy_ns, r->makespan_ns).text, rp_buf_text(&text));
}

static void put_agents(const struct rp_page *page, const struct rp_dag_result *r)
{
    size_t shown = r->agent_count < MOST_AGENTS ? r->agent_count : MOST_AGENTS;

    if (r->agent_count < 2)
        return;
    rp_page_line(page, RP_INK_BOLD, 0, "GPUs");
    for (size_t i = 0; i < shown; i++)
        dag_term_put_agent(page, r, &r->agents[i]);
    if (shown < r->agent_count)
        rp_page_line(page, RP_INK_DIM, 2, "and %zu more (--json has them all)",
                     r->agent_count - shown);
}

static void add_times(struct rp_buf *line, uint64_t count)
{
    if (count == 1)
        rp_buf_puts(line, "once");
    else
        rp_buf_printf(line, "%" PRIu64 " times", count);
}

static void put_message(const struct rp_page *page, const struct rp_dag_message *m,
                        bool waits_known)
{
    rp_autobuf line = {0};

    rp_buf_printf(&line, "%s", m->collective);
    if (*m->dtype)
        rp_buf_printf(&line, " of %s", m->dtype);
    if (m->ranks > 0)
        rp_buf_printf(&line, " between %" PRId64, m->ranks);
    rp_buf_puts(&line, ": ");
    add_times(&line, m->count);
    if (m->sized == m->count)
        rp_buf_printf(
            &line, ", %s each",
            rp_unit_one(RP_UNIT_BYTES, (double)m->bytes / (double)m->count, page->utf8).text);
    if (m->bus_gbps > 0)
        rp_buf_printf(&line, ", bus bandwidth %s%.1f GB/s, at best %.1f",
                      waits_known ? "" : "at least ", m->bus_gbps, m->best_bus_gbps);
    if (m->bus_gbps > 0 && m->peak_gbps > 0)
        rp_buf_printf(&line, "; links have %.0f", m->peak_gbps);
    if (!line.failed)
        rp_page_line(page, RP_INK_PLAIN, 4, "%s", rp_buf_text(&line));
}

/* The rank that the others wait for longest holds all of them up. */
static void put_last_rank(const struct rp_page *page, const struct rp_dag_result *r)
{
    const struct rp_dag_process_fact *last = NULL;
    int64_t all_ns = 0;

    for (size_t i = 0; i < r->process_count; i++) {
        all_ns += r->processes[i].waited_for_ns;
        if (!last || r->processes[i].waited_for_ns > last->waited_for_ns)
            last = &r->processes[i];
    }
    if (!last || all_ns == 0)
        return;
    rp_page_line(page, RP_INK_PLAIN, 2,
                 "%s %" PRId64 " comes last most: the others wait %s for it, of %s for any rank",
                 last->rank_known ? "rank" : "process", last->rank_known ? last->rank : last->pid,
                 time_of(page, last->waited_for_ns).text, time_of(page, all_ns).text);
}

static bool is_longer(const struct rp_dag_collective *a, const struct rp_dag_collective *b)
{
    return a->time_ns > b->time_ns || (a->time_ns == b->time_ns && a < b);
}

/* Returns the one with the most time of those that come behind the last one; they are few. */
static const struct rp_dag_collective *longest_after(const struct rp_dag_result *r,
                                                     const struct rp_dag_collective *last)
{
    const struct rp_dag_collective *longest = NULL;

    for (size_t i = 0; i < r->collective_count; i++) {
        const struct rp_dag_collective *c = &r->collectives[i];
        if ((!last || is_longer(last, c)) && (!longest || is_longer(c, longest)))
            longest = c;
    }
    return longest;
}

static void put_collective(const struct rp_page *page, const struct rp_dag_collective *c)
{
    rp_autobuf times = {0};

    add_times(&times, c->count);
    rp_page_line(page, RP_INK_PLAIN, 2, "%s: %s, %s, %s %% of it behind kernels", c->name,
                 rp_buf_text(&times), time_of(page, c->time_ns).text,
                 percent(c->time_ns - c->exposed_ns, c->time_ns).text);
    page->out->failed |= times.failed;
}

static void put_communication(const struct rp_page *page, const struct rp_dag_result *r)
{
    enum { MOST_LINES = 5 };
    const struct rp_dag_collective *last = NULL;

    if (r->collective_count)
        rp_page_line(page, RP_INK_BOLD, 0, "Communication between GPUs");
    for (size_t i = 0; i < r->collective_count && i < MOST_LINES; i++) {
        last = longest_after(r, last);
        put_collective(page, last);
    }
    for (size_t i = 0; i < r->message_count && i < MOST_LINES; i++)
        put_message(page, &r->messages[i], r->process_count > 1);
    put_last_rank(page, r);
    if (r->collective_count > MOST_LINES || r->message_count > MOST_LINES)
        rp_page_line(page, RP_INK_DIM, 2, "and more (--json has them all)");
}

/* Shows only limits with a gain. */
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

/* What-ifs are grouped by kernel: the line of a kernel has its doubling and its limit. */
static void dag_term_put_what_ifs(const struct rp_page *page, const struct rp_dag_result *r)
{
    static const char title[] = "If a kernel were faster";
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
        rp_page_line(page, RP_INK_PLAIN, 2, "%s: 2x faster %s %s %% end to end (limit %s %%)",
                     w->symbol, page->utf8 ? "→" : "->", change(twice_ns, r->makespan_ns).text,
                     change(w->makespan_ns, r->makespan_ns).text);
    }
    if (is_nothing(r->makespan_ns - r->unshared_queues_ns, r->makespan_ns))
        return;
    if (!shown)
        rp_page_line(page, RP_INK_BOLD, 0, "%s", title);
    rp_page_line(page, RP_INK_PLAIN, 2, "streams without shared hardware queues: %s %% end to end",
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

/** Names the ranges that launch nothing by themselves: steps and phases around the others. */
static void put_outer_ranges(const struct rp_page *page, const struct rp_dag_result *r, size_t from)
{
    enum { MOST = 3 };
    rp_autobuf line = {0};
    size_t end = from;

    for (; end < r->range_count && r->ranges[end].kernel_ns > 0; end++)
        if (end < from + MOST)
            rp_buf_printf(&line, "%s%s %s",
                          end > from ? ", " : "around them: ", r->ranges[end].name,
                          time_of(page, r->ranges[end].kernel_ns).text);
    if (end > from + MOST)
        rp_buf_printf(&line, " and %zu more (--json has them all)", end - from - MOST);
    page->out->failed |= line.failed;
    if (end > from)
        rp_page_text(page, RP_INK_DIM, 2, rp_buf_text(&line));
}

/* Each kernel counts for the innermost range, so that the lines add up. */
static void put_launching_ranges(const struct rp_page *page, const struct rp_dag_result *r)
{
    struct rp_unit_span span = {0};
    struct rp_unit unit;
    size_t own = 0, shown;

    while (own < r->range_count && r->ranges[own].own_kernel_ns > 0)
        own++;
    shown = page->verbose || own < MOST_SHARES ? own : MOST_SHARES;
    for (size_t i = 0; i < shown; i++)
        rp_unit_span_add(&span, (double)r->ranges[i].own_kernel_ns);
    unit = rp_unit_of(RP_UNIT_TIME, span, page->utf8);
    if (shown)
        rp_page_line(page, RP_INK_BOLD, 0, "Kernel time, by range of the program");
    for (size_t i = 0; i < shown; i++) {
        const struct rp_dag_range_sum *range = &r->ranges[i];
        rp_page_named(page, RP_INK_PLAIN, 2, range->name, "%6s %% %8s %s %6" PRIu64 " launch%s  ",
                      percent(range->own_kernel_ns, r->kernel_time_ns).text,
                      rp_unit_number(unit, (double)range->own_kernel_ns).text, unit.name,
                      range->own_launches, range->own_launches == 1 ? "  " : "es");
    }
    if (shown < own)
        rp_page_line(page, RP_INK_DIM, 2, "and %zu more (--json has them all)", own - shown);
    if (shown && !is_nothing(r->outside_ranges_ns, r->kernel_time_ns))
        rp_page_line(page, RP_INK_DIM, 2, "%6s %% %8s %s in no range",
                     percent(r->outside_ranges_ns, r->kernel_time_ns).text,
                     rp_unit_number(unit, (double)r->outside_ranges_ns).text, unit.name);
    if (shown)
        put_outer_ranges(page, r, own);
}

/* Guesses are counted by dependencies, not by the path's time, because the course of a path and the
 * gain of a faster kernel depend on all of them. */
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

/* Shows the first kernel whose what-ifs are uncertain; dag.json has the others. */
static void put_bounds(const struct rp_page *page, const struct rp_dag_result *r)
{
    for (size_t i = 0; i < r->what_if_count; i++) {
        const struct rp_dag_what_if *w = &r->what_ifs[i];
        struct rp_number_text least = change(w->least_ns, r->makespan_ns);
        struct rp_number_text most = change(w->most_ns, r->makespan_ns);
        if (w->num || strcmp(least.text, most.text) == 0)
            continue;
        rp_page_line(page, RP_INK_YELLOW, 0,
                     "%s: if it took no time, %s %% end to end; guessed dependencies leave that "
                     "between %s and %s %%",
                     w->symbol, change(w->makespan_ns, r->makespan_ns).text, most.text, least.text);
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
                     "%" PRIu64 " end%s not after the start%s%.60s%s: estimated for the path, 0 in "
                     "sums; record it again",
                     lost, lost == 1 ? " is" : "s are",
                     !m->without_time ? ""
                     : lost == 1      ? " ("
                                      : " (first ",
                     m->without_time ? m->without_time : "", m->without_time ? ")" : "");
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
    struct rp_page page = rp_page_of(buf, style, LEAST_WIDTH);

    put_head(&page, r);
    if (r->agent_count == 1)
        put_one_agent(&page, r);
    put_shares(&page, r);
    put_launching_ranges(&page, r);
    put_ranges(&page, r);
    if (r->what_if_count && page.verbose)
        dag_term_put_what_ifs(&page, r);
    if (page.verbose)
        put_limits(&page, r);
    put_agents(&page, r);
    put_communication(&page, r);
    put_trust(&page, r);
    return rp_report_end(buf, err);
}

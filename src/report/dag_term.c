#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/units.h"
#include "report/page.h"
#include "report/text.h"
#include "rocm-perf/dag.h"
#include "rocm-perf/report.h"

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

static void put_agent(const struct rp_page *page, const struct rp_dag_result *r,
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
        put_agent(page, r, &r->agents[i]);
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
static void put_what_ifs(const struct rp_page *page, const struct rp_dag_result *r)
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

static void put_disturbances(const struct rp_page *page, const struct rp_dag_result *r)
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

static void put_repairs(const struct rp_page *page, const struct rp_dag_mended *m)
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
    const struct rp_dag_mended *m = &r->mended;

    if (r->incomplete)
        rp_page_text(page, RP_INK_YELLOW, 0,
                     "a trace was not closed in order: the end of the run may be missing");
    put_disturbances(page, r);
    put_clocks(page, r);
    put_guesses(page, r);
    put_repairs(page, m);
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
        put_what_ifs(&page, r);
    put_limits(&page, r);
    put_agents(&page, r);
    put_trust(&page, r);
    return buf->failed ? rp_fail(err, RP_ENVIRONMENT, "out of memory") : 0;
}

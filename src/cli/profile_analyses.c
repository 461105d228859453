#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/bottleneck.h"
#include "analyze/dag.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/utf8.h"
#include "cli/cli.h"
#include "cli/profile_session.h"
#include "run/counter_plan.h"
#include "trace/counter_set.h"

/* The program's output was shown in the base run. */
static int open_nowhere(void)
{
    return open("/dev/null", O_WRONLY | O_CLOEXEC);
}

/* --- counters ------------------------------------------------------------------------------ */

static const char *traced_gpu(const struct rp_profile_session *session)
{
    const struct rp_profile *p = session->profile;

    return p->agent_count ? p->agents[p->kernel_count ? p->kernels[0].agent : 0].name : "";
}

static int plan_counters(const struct rp_profile_cli *options,
                         const struct rp_profile_session *session, struct rp_counter_plan *ret,
                         struct rp_err *err)
{
    enum { MOST_NEEDS = 128 };
    struct rp_roofline_need needs[MOST_NEEDS];
    struct rp_counter_request wishes[MOST_NEEDS + RP_MAX_PMC];
    bool roofline = options->roofline || options->deep_analysis;
    size_t count = roofline ? rp_roofline_needs(traced_gpu(session), needs, MOST_NEEDS) : 0;

    if (options->deep_analysis) /* groups of rooflines are far below */
        count +=
            rp_bottleneck_needs(traced_gpu(session), MOST_NEEDS, needs + count, MOST_NEEDS - count);
    for (size_t i = 0; i < count; i++)
        wishes[i] = (struct rp_counter_request){.name = needs[i].name, .group = needs[i].group};
    for (size_t i = 0; i < options->counters.count; i++)
        wishes[count + i] = (struct rp_counter_request){.name = options->counters.at[i],
                                                        .group = (unsigned)(2 * MOST_NEEDS + i)};
    return rp_counter_plan_make(traced_gpu(session), wishes, count + options->counters.count, ret,
                                err);
}

/* Counters of a run with all of its processes. */
static int read_run(const struct rp_run *run, struct rp_counters **ret, struct rp_err *err)
{
    struct rp_store **stores;
    int rc = rp_profile_open_stores(run, &stores, err);

    if (rc < 0)
        return rc;
    rc = rp_roofline_run_counters(stores, run->db_count, ret, err);
    rp_profile_close_stores(stores, run->db_count);
    return rc;
}

static int run_pass(const struct rp_profile_cli *options, struct rp_profile_session *session,
                    const struct rp_counter_plan *plan, size_t at, double left_s,
                    struct rp_run *ret, struct rp_err *err)
{
    rp_autofree char *prefix = rp_format("pass-%zu", at + 1);
    rp_autofree char *what = rp_format("counters, pass %zu of %zu", at + 1, plan->count);
    const struct rp_profile_step step = {.folder = "counters",
                                         .prefix = prefix,
                                         .what = what,
                                         .left_s = left_s,
                                         .counters = (const char *const *)plan->passes[at].names,
                                         .stdout_fd = open_nowhere()};
    int rc = rp_profile_run(options, session, &step, ret, err);

    if (rc == 0 && !ret->too_much && rp_profile_ended_badly(options, ret))
        rc = rp_profile_session_failed(options, session, ret, what, err);
    return rc;
}

/* Takes the pass's counters; the base run's dispatches, which have the times, come first. */
static int take_pass(struct rp_profile_session *session, const struct rp_run *run,
                     struct rp_err *err)
{
    struct rp_inputs in = {.counters = session->counters, .notes = rp_cli_notes()};
    struct rp_counters *set;
    int rc = 0;

    if (!in.counters)
        rc = rp_roofline_run_counters(session->stores, session->store_count, &in.counters, err);
    session->counters = in.counters;
    if (rc == 0)
        rc = read_run(run, &set, err);
    if (rc == 0)
        rc = rp_inputs_add_counters(&in, set, err);
    return rc;
}

/* A pass takes about as long as those before it; the first one, as the runs without counters. */
static double passes_left_s(const struct rp_profile_session *session,
                            const struct rp_counter_plan *plan, size_t done, double done_ms)
{
    double all_ms = done_ms;

    for (size_t i = 0; !done && i < session->run_count; i++)
        all_ms += session->wall_ms[i];
    return all_ms / 1e3 / (double)(done ? done : session->run_count) * (double)(plan->count - done);
}

/* A pass that the GPU refuses is halved. One counter alone that is refused is left out, with a
 * word; if it is the very first thing tried, the others would fare no better. */
static int count_all(const struct rp_profile_cli *options, struct rp_profile_session *session,
                     struct rp_counter_plan *plan, struct rp_err *err)
{
    double done_ms = 0;

    for (size_t i = 0; i < plan->count;) {
        rp_cleanup(rp_run_free) struct rp_run run = {0};
        int rc = run_pass(options, session, plan, i, passes_left_s(session, plan, i, done_ms), &run,
                          err);

        if (rc == 0 && !run.too_much)
            rc = take_pass(session, &run, err);
        else if (rc == 0 && plan->passes[i].count > 1) {
            rp_counter_plan_split(plan, i);
            i--;
        } else if (rc == 0) {
            rp_cli_note("warning: the GPU cannot count %s", plan->passes[i].names[0]);
            if (session->counter_passes == 0) {
                session->roofline_reason =
                    "the GPU refuses hardware counters, as virtual functions do";
                return 0;
            }
        }
        if (rc < 0)
            return rc;
        session->counter_passes += !run.too_much;
        done_ms += run.too_much ? 0 : (double)run.end.wall_ns / 1e6;
        i++;
    }
    return 0;
}

static int collect_counters(const struct rp_profile_cli *options,
                            struct rp_profile_session *session, struct rp_err *err)
{
    rp_cleanup(rp_counter_plan_free) struct rp_counter_plan plan = {0};
    int rc;

    if (rp_device_counts(session)) { /* the base run counted */
        rc = rp_roofline_run_counters(session->stores, session->store_count, &session->counters,
                                      err);
        return rc < 0 ? rc : rp_warn_of_missing_counters(options, session, err);
    }
    if (!session->tracer->count) {
        session->roofline_reason =
            "the built-in tracer cannot read hardware counters: they need rocprofv3";
        return 0;
    }
    rc = plan_counters(options, session, &plan, err);
    return rc < 0 ? rc : count_all(options, session, &plan, err);
}

static int make_roofline(struct rp_profile_session *session, const struct rp_result_request *wish,
                         struct rp_err *err)
{
    static const struct rp_roofline_options plain;
    struct rp_inputs in = {.stores = session->stores,
                           .store_count = session->store_count,
                           .counters = session->counters,
                           .notes = rp_cli_notes()};
    int rc;

    if (!session->counters) {
        if (wish->print == RP_RESULT_TERMINAL)
            rp_buf_printf(&session->summary, "\nNo roofline: %s.\n", session->roofline_reason);
        return 0;
    }
    rp_buf_puts(&session->summary, wish->print == RP_RESULT_TERMINAL ? "\n" : "");
    rc = rp_make_roofline(&in, &plain, &session->roofline, err);
    if (rc == 0)
        rc = rp_put_roofline(&session->roofline, wish, &session->summary, err);
    session->has_roofline = rc == 0;
    return rc;
}

/* What was counted and what is made of it; the counters themselves where somebody asked for them.
 */
static int show_counters(const struct rp_profile_cli *options, struct rp_profile_session *session,
                         struct rp_err *err)
{
    static const struct rp_roofline_options plain;
    rp_cleanup(rp_roofline_free) struct rp_roofline made = {0};
    rp_autobuf text = {0};
    int rc = 0;

    if (!session->has_roofline)
        rc = rp_roofline_compute(session->counters, &plain, &made, err);
    if (rc == 0)
        rc = rp_report_counters_term(session->has_roofline ? &session->roofline : &made,
                                     options->counters.count > 0, rp_cli_style(), &text, err);
    if (rc == 0 && text.len)
        rp_buf_printf(&session->summary, "\n%s", rp_buf_text(&text));
    return rc;
}

/* --- graph --------------------------------------------------------------------------------- */

/* Traces whose times cannot be compared, as those of several processes on the software device, have
 * no graph. That does not spoil the profile. */
static int make_graph(struct rp_profile_session *session, const struct rp_result_request *wish,
                      struct rp_dag_result *graph, bool *ret_has_graph, struct rp_err *err)
{
    struct rp_inputs base = {
        .stores = session->stores, .store_count = session->store_count, .notes = rp_cli_notes()};
    rp_autobuf text = {0};
    int rc = rp_make_dag(&base, wish->full, graph, err);

    if (rc == 0)
        rc = rp_put_dag(graph, wish, &text, err);
    if (rc < 0 && rc != -RP_BAD_INPUT)
        return rc;
    *ret_has_graph = rc == 0;
    if (rc < 0 && wish->print == RP_RESULT_TERMINAL) {
        rp_buf_puts(&text, "No graph: ");
        rp_escape(&text, err->text);
        rp_buf_puts(&text, ".\n");
    } else if (rc < 0) {
        rp_cli_note("warning: no graph: %s", err->text);
    }
    if (rc < 0)
        *err = (struct rp_err)RP_ERR_INIT;
    if (wish->print == RP_RESULT_TERMINAL)
        rp_buf_printf(&session->summary, "\n%s", rp_buf_text(&text));
    session->summary.failed |= text.failed;
    return 0;
}

/* --- thread trace -------------------------------------------------------------------------- */

/* A regular expression of exactly this name, as it is in the program. */
static char *exact_regex(const char *name)
{
    const char *end = name + rp_kernel_plain_length(name);
    rp_autobuf text = {0};

    rp_buf_puts(&text, "^");
    for (; name < end; name++)
        rp_buf_printf(&text, "%s%c", strchr("\\^$.|?*+()[]{}", *name) ? "\\" : "", *name);
    rp_buf_puts(&text, "$");
    return rp_buf_steal(&text);
}

/* Where the files will be after the commit: "DIR/.partial-7/..." is "DIR/...". */
static void name_as_committed(const struct rp_profile_session *session, char *text)
{
    const char *component = session->dir.partial + strlen(session->dir.path);
    size_t length = strlen(component);

    for (char *at = text; text && (at = strstr(at, component));)
        memmove(at, at + length, strlen(at + length) + 1);
}

/* A trace that cannot be read does not spoil the profile. */
static int read_threads(struct rp_profile_session *session, const char *folder,
                        const struct rp_result_request *wish, struct rp_err *err)
{
    struct rp_inputs in = {0};
    int rc = rp_thread_trace_open(folder, &session->waves, err);

    if (rc == 0)
        rc = rp_thread_traces_name(&session->waves, session->stores, session->store_count, err);

    if (rc == -RP_BAD_INPUT) {
        name_as_committed(session, err->text);
        rp_cli_note("warning: thread trace: %s", err->text);
        *err = (struct rp_err)RP_ERR_INIT;
        session->no_threads_reason = "what was recorded cannot be read";
        return 0;
    }
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < session->waves.count; i++) {
        struct rp_thread_trace *trace = &session->waves.traces[i];

        name_as_committed(session, trace->path);
        for (size_t j = 0; j < trace->problem_count; j++) {
            name_as_committed(session, trace->problems[j].file);
            name_as_committed(session, trace->problems[j].text);
        }
    }
    in.waves = session->waves;
    rp_buf_puts(&session->summary, wish->print == RP_RESULT_TERMINAL ? "\n" : "");
    if (wish->print == RP_RESULT_TERMINAL && session->run.device == RP_DEVICE_SOFTWARE &&
        session->run.timing != RP_TIMING_DETAILED)
        rp_buf_puts(&session->summary,
                    "Thread traces need detailed timing: they are of a further run that has it, "
                    "and\ntheir cycles are not those of the times above.\n");
    return rp_put_thread_trace(&in, wish, &session->summary, err);
}

/* Only options that were given are to blame. */
static const char *no_trace(const struct rp_profile_session *session, const struct rp_run *run)
{
    const char *why =
        run->threads_elsewhere
            ? "the chosen launches ran on other GPUs than those of --att-gpu-index"
        : session->threads.kernels && session->threads.iterations
            ? "no launch was chosen: no kernel that ran matches --kernel-include-regex and was "
              "launched as often as --kernel-iteration-range says"
        : session->threads.kernels
            ? "no launch was chosen: no kernel that ran matches --kernel-include-regex"
        : session->threads.iterations
            ? "no launch was chosen: the kernel was not launched as often as "
              "--kernel-iteration-range says"
            : "the run with the thread trace left none of the kernel";
    if (session->tracer->count) /* rocprofv3 does not say */
        why = session->threads.gpus
                  ? "rocprofv3 wrote none; --att-gpu-index may leave out the GPU of the kernel"
              : session->threads.kernels
                  ? "rocprofv3 wrote none; --kernel-include-regex may match no kernel that ran"
                  : "rocprofv3 wrote none";
    return why;
}

static int trace_threads(const struct rp_profile_cli *options, struct rp_profile_session *session,
                         const struct rp_result_request *wish, struct rp_err *err)
{
    struct rp_thread_trace_options threads = session->threads;
    rp_cleanup(rp_run_free) struct rp_run run = {0};
    rp_autofree char *regex = exact_regex(session->profile->kernels[0].name);
    rp_autofree const char **symbols = NULL;
    struct rp_profile_step step = {
        .folder = "thread-trace", .prefix = "att", .what = "thread trace", .threads = &threads};
    int rc = 0;

    if (!session->tracer->count) /* rocprofv3 matches names itself */
        rc = rp_kernel_symbols(session, threads.kernels, session->profile->kernels[0].name,
                               &symbols, err);
    if (rc < 0)
        return rc;
    threads.symbols = symbols;
    if (!threads.kernels)
        threads.kernels = regex;
    step.stdout_fd = open_nowhere();
    rc = rp_profile_run(options, session, &step, &run, err);
    if (rc == 0 && rp_profile_ended_badly(options, &run))
        rc = rp_profile_session_failed(options, session, &run, "the thread trace", err);
    if (rc == 0 && !run.thread_trace)
        session->no_threads_reason = no_trace(session, &run);
    else if (rc == 0)
        rc = read_threads(session, run.thread_trace, wish, err);
    return rc;
}

static int deep(const struct rp_profile_cli *options, struct rp_profile_session *session,
                const struct rp_result_request *wish, struct rp_err *err)
{
    if (session->tracer->count) /* rocprofv3 */
        return trace_threads(options, session, wish, err);
    if (session->run.device != RP_DEVICE_SOFTWARE)
        session->no_threads_reason =
            "the built-in tracer cannot trace threads: that needs rocprofv3";
    else if (!rp_software_gpu(&session->run).timing)
        session->no_threads_reason =
            "it follows from detailed timing, which there is not for this target";
    else
        return trace_threads(options, session, wish, err);
    return 0;
}

/* Which kernel to look at first, from everything that was learned. */
static int rank(const struct rp_profile_session *session, const struct rp_dag_result *dag,
                const struct rp_result_request *wish, struct rp_buf *summary, struct rp_err *err)
{
    struct rp_inputs in = {.stores = session->stores,
                           .store_count = session->store_count,
                           .counters = session->counters,
                           .waves = session->waves,
                           .notes = rp_cli_notes()};
    struct rp_ranking_from from = {.dag = dag,
                                   .roofline = session->has_roofline ? &session->roofline : NULL};
    rp_cleanup(rp_ranking_free) struct rp_ranking ranking = {0};
    int rc = rp_make_ranking(&in, &from, &ranking, err);

    rp_buf_puts(summary, wish->print == RP_RESULT_TERMINAL ? "\n" : "");
    return rc < 0 ? rc : rp_put_ranking(&ranking, 0, wish, summary, err);
}

/* --- all ----------------------------------------------------------------------------------- */

int rp_profile_analyses(const struct rp_profile_cli *options, struct rp_profile_session *session,
                        struct rp_err *err)
{
    struct rp_result_request wish = {
        .print = options->json || options->quiet ? RP_RESULT_SILENT : RP_RESULT_TERMINAL,
        .folder = session->dir.partial,
    };
    bool has_graph = false;
    bool roofline = options->roofline || options->deep_analysis;
    rp_cleanup(rp_dag_result_free) struct rp_dag_result graph = {0};
    int rc = 0;

    if (options->focus_critical || options->deep_analysis)
        rc = make_graph(session, &wish, &graph, &has_graph, err);
    if (rc == 0 && (roofline || options->counters.count))
        rc = collect_counters(options, session, err);
    if (rc == 0 && roofline)
        rc = make_roofline(session, &wish, err);
    if (rc == 0 && options->deep_analysis)
        rc = deep(options, session, &wish, err);
    if (rc == 0 && session->no_threads_reason && wish.print == RP_RESULT_TERMINAL)
        rp_buf_printf(&session->summary, "\nNo thread trace: %s.\n", session->no_threads_reason);
    if (rc == 0 && options->deep_analysis)
        rc = rank(session, has_graph ? &graph : NULL, &wish, &session->summary, err);
    if (rc == 0 && session->counters && wish.print == RP_RESULT_TERMINAL)
        rc = show_counters(options, session, err);
    if (rc == 0 && session->summary.failed)
        rc = rp_fail(err, RP_ENVIRONMENT, "out of memory");
    return rc;
}

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "library/library.h"
#include "report/finding_text.h"
#include "report/report.h"

/* --- results ------------------------------------------------------------------------------- */

/* Says how much of the graph is guessed. */
struct inferred {
    double of_path, of_dependencies; /**< of the critical path's time; of all dependencies */
};

/* A user whose gate failed wants to know this: a path of recorded durations may still lead through
 * guessed dependencies only. */
static int check_inferred(const struct rp_analyze_cli *options, const struct inferred *inferred)
{
    struct rp_err err = RP_ERR_INIT;
    bool by_path = inferred->of_path >= inferred->of_dependencies;
    double share = by_path ? inferred->of_path : inferred->of_dependencies;

    if (!RP_IS_GIVEN(analyze, options, max_inferred_percent) ||
        share * 100 <= options->max_inferred_percent)
        return RP_OK;
    rp_fail(&err, RP_VERDICT,
            "analyze: %.2f %% of %s guessed, more than "
            "--max-inferred %g: record HIP calls with their arguments, or allow more",
            share * 100,
            by_path ? "the critical path's time is on dependencies that are"
                    : "the dependencies are",
            options->max_inferred_percent);
    return rp_cli_error(&err);
}

/* --json, --roofline ... choose what is printed. Without any of them all is printed for people. */
static struct rp_result_request request_for(const struct rp_analyze_cli *options, bool chosen)
{
    struct rp_result_request ret = {
        .folder = options->output, .full = options->full, .verbose = options->verbose};

    if (chosen)
        ret.print = RP_RESULT_JSON;
    else if (!options->json && !options->roofline && !options->thread_trace && !options->analysis)
        ret.print = RP_RESULT_TERMINAL;
    return ret;
}

/* The ranking needs all of the others, so it is only made where somebody asked for it. */
static int make_parts(struct rp_inputs *in, const struct rp_analyze_cli *options,
                      const struct rp_roof_options *roof, struct rp_analysis *parts,
                      struct rp_err *err)
{
    bool other = options->roofline || options->thread_trace;
    const struct rp_analysis_request wanted = {
        .dag = !other || options->output || RP_IS_GIVEN(analyze, options, max_inferred_percent),
        .needs_dag = options->json || RP_IS_GIVEN(analyze, options, max_inferred_percent),
        .steps = options->full,
        .roofline = options->roofline,
        .ranking = request_for(options, options->analysis).print != RP_RESULT_SILENT ||
                   options->output != NULL,
        .roof = &roof->roof,
    };

    return rp_analysis_make(in, &wanted, parts, err);
}

/* People get a part where they asked for all, or where nothing else says as much. */
static void leave_out(struct rp_result_request *request, bool other)
{
    if (request->print == RP_RESULT_TERMINAL && !request->verbose && other)
        request->print = RP_RESULT_SILENT;
}

static void put_next(const struct rp_analyze_cli *options, struct rp_buf *text)
{
    const struct rp_page page = rp_page_of_words(text, rp_cli_style());
    rp_autofree const char **words = rp_alloc_zero(options->args.operand_count + 5, sizeof *words);
    size_t count = 0;

    words[count++] = "rocm-perf";
    words[count++] = options->verbose ? "report" : "analyze";
    if (!options->verbose)
        words[count++] = "-v";
    for (size_t i = 0; i < options->args.operand_count; i++)
        words[count++] = options->args.operands[i];
    rp_page_next(&page, words);
}

/* They have no graph together, whose head would say what the times are. */
static int put_processes(const struct rp_profile *profile, struct rp_buf *text, struct rp_err *err)
{
    const struct rp_page page = rp_page_of_words(text, rp_cli_style());

    if (!profile || profile->process_count < 2)
        return 0;
    if (profile->own_clocks)
        rp_software_line(&page, profile->timing_model);
    return rp_report_processes_term(profile, rp_cli_style(), text, err);
}

static int put_parts(const struct rp_inputs *in, const struct rp_analyze_cli *options,
                     const struct rp_analysis *parts, struct rp_file_set *pending,
                     struct rp_buf *text, struct rp_err *err)
{
    struct rp_result_request for_dag = request_for(options, options->json);
    struct rp_result_request for_roofline = request_for(options, options->roofline);
    struct rp_result_request for_waves = request_for(options, options->thread_trace);
    struct rp_result_request for_ranking = request_for(options, options->analysis);
    int rc = 0;

    leave_out(&for_roofline, parts->has_ranking && parts->ranking.found.kernel_count);
    leave_out(&for_waves, parts->has_ranking && parts->ranking.found.kernel_count &&
                              !rp_thread_traces_have_pc_samples(&in->waves));
    for_dag.pending = for_roofline.pending = for_waves.pending = for_ranking.pending = pending;
    if (parts->has_ranking && for_ranking.print == RP_RESULT_TERMINAL)
        rc = rp_report_verdict_term(&parts->ranking.found, rp_cli_style(), text, err);
    if (rc == 0 && parts->has_dag)
        rc = rp_put_dag(&parts->dag, &for_dag, text, err);
    else if (rc == 0 && parts->has_ranking && for_dag.print == RP_RESULT_TERMINAL)
        rc = put_processes(parts->ranking.profile, text, err);
    if (rc == 0 && parts->has_roofline)
        rc = rp_put_roofline(&parts->roofline, &for_roofline, text, err);
    if (rc == 0 && in->waves.count)
        rc = rp_put_thread_trace(in, &for_waves, text, err);
    if (rc == 0 && parts->has_ranking)
        rc = rp_put_ranking(&parts->ranking, (size_t)options->top, &for_ranking, text, err);
    if (rc == 0 && parts->has_roofline && for_roofline.print == RP_RESULT_TERMINAL)
        rc = rp_report_counters_term(&parts->roofline, true, rp_cli_style(), text, err);
    if (rc == 0 && for_dag.print == RP_RESULT_TERMINAL)
        put_next(options, text);
    return rc;
}

/* An earlier result that this one lacks would be taken for a part of it, so it is removed. */
static int drop_others(const struct rp_inputs *in, const char *folder,
                       const struct rp_analysis *parts, struct rp_err *err)
{
    const char *lacking[3];
    size_t count = 0;

    if (!parts->has_dag)
        lacking[count++] = "dag.json";
    if (!parts->has_roofline)
        lacking[count++] = "roofline.json";
    if (!in->waves.count)
        lacking[count++] = "thread_trace.json";
    return rp_results_drop(folder, lacking, count, err);
}

static int put_results(struct rp_inputs *in, const struct rp_analyze_cli *options,
                       const struct rp_roof_options *roof, struct rp_buf *text,
                       struct inferred *ret_inferred, struct rp_err *err)
{
    rp_cleanup(rp_analysis_free) struct rp_analysis parts = {0};
    rp_cleanup(rp_file_set_drop) struct rp_file_set pending = {0};
    int rc = make_parts(in, options, roof, &parts, err);

    rp_work_at(&in->work, RP_WORK_WRITE, 0);
    if (rc == 0)
        rc = put_parts(in, options, &parts, &pending, text, err);
    if (rc == 0)
        rc = rp_file_set_commit(&pending, err);
    if (rc == 0 && options->output)
        rc = drop_others(in, options->output, &parts, err);
    if (rc == 0 && parts.dag.makespan_ns)
        *ret_inferred = (struct inferred){
            .of_path =
                (double)parts.dag.grade_path_ns[RP_DAG_INFERRED] / (double)parts.dag.makespan_ns,
            .of_dependencies = rp_dag_guessed_share(&parts.dag),
        };
    return rc;
}

/* Names what was asked for and the files do not hold, or returns NULL. */
static const char *lacking(const struct rp_inputs *in, const struct rp_analyze_cli *options)
{
    if (options->json && in->store_count == 0)
        return in->stats
                   ? "--json prints the graph of a trace, and there are only statistics of kernels;"
                     " use --analysis"
               : in->waves.count
                   ? "--json prints the graph of a rocpd trace, and there is none; use "
                     "--thread-trace"
                   : "--json prints the graph of a rocpd trace, and there is none; use "
                     "--roofline";
    if (options->roofline && in->stats)
        return "--roofline: statistics of kernels have neither counters nor dispatches; use"
               " --analysis";
    if (options->roofline && in->store_count == 0 && !in->counters)
        return "--roofline: neither counters nor a trace of kernels is among the files, so there "
               "is no roofline; use --thread-trace";
    if (RP_IS_GIVEN(analyze, options, max_inferred_percent) && in->store_count == 0)
        return "--max-inferred is about the graph of a rocpd trace, and there is none";
    if (options->thread_trace && in->waves.count == 0)
        return "--thread-trace: no thread trace is among the files; give a folder "
               "ui_output_agent_..._dispatch_...";
    return NULL;
}

static int analyze(const struct rp_analyze_cli *options, const struct rp_roof_options *roof,
                   struct rp_activity *busy)
{
    rp_cleanup(rp_inputs_close) struct rp_inputs in = {.notes = rp_activity_notes(busy),
                                                       .work = rp_activity_work(busy)};
    struct rp_err err = RP_ERR_INIT;
    rp_autobuf text = {0};
    struct inferred inferred = {0};
    int code, rc = rp_inputs_open(options->args.operands, options->args.operand_count, &in, &err);
    const char *missing = rc == 0 ? lacking(&in, options) : NULL;

    if (rc == 0 && !missing)
        rc = put_results(&in, options, roof, &text, &inferred, &err);
    rp_activity_end(busy);
    if (missing)
        return rp_cli_usage_error("analyze", "%s", missing);
    if (rc < 0)
        return rp_cli_error(&err);
    code = rp_cli_result(rp_buf_text(&text));
    return code == RP_OK ? check_inferred(options, &inferred) : code;
}

/* Results may stand beside the traces they are made of, but a trace may have the name of a result.
 */
static int keep_apart(const char *folder, char **paths, size_t count, struct rp_err *err)
{
    static const char *const names[] = {"dag.json", "roofline.json", "thread_trace.json",
                                        "analysis.json"};
    int rc = 0;

    for (size_t i = 0; folder && rc == 0 && i < sizeof names / sizeof *names; i++) {
        rp_autofree char *file = rp_path_join(folder, names[i]);

        for (size_t k = 0; rc == 0 && k < count; k++)
            if (!rp_path_is_dir(paths[k]))
                rc = rp_refuse_overwriting_inputs("analyze: -o, which makes", file, &paths[k], 1,
                                                  err);
    }
    return rc;
}

int rp_cmd_analyze(int argc, char **argv)
{
    struct rp_analyze_cli options;
    rp_cleanup(rp_roof_options_free) struct rp_roof_options roof = {0};
    struct rp_err err = RP_ERR_INIT;
    struct rp_activity busy;
    int code;

    if (!rp_options_parse(RP_COMMAND_analyze, argc, argv, &options, &code))
        return code;
    roof = (struct rp_roof_options)RP_ROOF_OPTIONS(options);
    if (rp_roof_options_read(&roof, &err) < 0 ||
        keep_apart(options.output, options.args.operands, options.args.operand_count, &err) < 0)
        return rp_cli_error(&err);
    for (size_t i = 0; i < options.args.operand_count; i++)
        rp_cli_rescue(options.args.operands[i]);
    /* A summary is soon written, so only a full result shows the writing. */
    rp_activity_begin(options.full, &busy);
    code = analyze(&options, &roof, &busy);
    rp_activity_end(&busy);
    return code;
}

#include <getopt.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "cli/cli.h"
#include "cli/device_options.h"
#include "cli/results.h"
#include "library/library.h"
#include "report/report.h"

static const char help[] =
    "usage: rocm-perf analyze [--json | --roofline | --thread-trace | --analysis] [--full]\n"
    "                         [-o DIR] [--top N] [--max-inferred PERCENT] [--arch ARCH]\n"
    "                         [--memory-bandwidth-gbps N] [--clock-mhz N] [--ceilings FILE]\n"
    "                         [--flop-model MODEL] TRACE...\n"
    "\n"
    "Says from rocpd traces of one run, one file per process or rank, what bounds its end-to-end\n"
    "time: the critical path, the slack of everything else, and what a faster kernel would bring.\n"
    "A trace may also be the JSON file of rocprofv3 (PREFIX_results.json) or its CSV files\n"
    "(PREFIX_kernel_trace.csv and what lies beside it), or a folder of any of these.\n"
    "Where hardware counters were collected, says of each kernel how far it is from what the GPU\n"
    "can do. Counters may also be CSV files, or folders of them, of rocprofv3 and "
    "rocprof-compute.\n"
    "Of *kernel_stats.csv alone there is a table of kernels. Any of these may be packed by gzip.\n"
    "Folders of decoded thread traces (ATT) say what the waves waited for, by instruction.\n"
    "\n"
    "  --json        print dag.json (schemas/dag.schema.json) instead of a summary\n"
    "  --full        with every kernel and copy and its slack\n"
    "  --roofline    print roofline.json (schemas/roofline.schema.json) instead\n"
    "  --thread-trace\n"
    "                print thread_trace.json (schemas/thread_trace.schema.json) instead\n"
    "  --analysis    print analysis.json (schemas/analysis.schema.json) instead: what limits each\n"
    "                kernel, and which one to look at first\n"
    "  --top N       of the ranking of kernels, print the first N\n"
    "  -o DIR        also write DIR/dag.json, DIR/roofline.json, DIR/thread_trace.json and\n"
    "                DIR/analysis.json, as far as there is something to say; those of them that\n"
    "                there is nothing for are removed\n"
    "  --max-inferred PERCENT\n"
    "                fail when more of the critical path's time rests on guessed dependencies,\n"
    "                or more of the dependencies are guessed\n"
    "  --help        this text\n"
    "\n" RP_ROOF_HELP "\n"
    "exit status: 0 done, 1 more than --max-inferred is guessed, 2 usage, 3 a trace cannot be\n"
    "used, 4 environment\n";

struct options {
    bool json, full, roofline, thread_trace, analysis;
    size_t top; /* 0: the default */
    const char *folder;
    bool gated;
    double max_inferred_percent;
    struct rp_roof_options roof;
};

/* --- options ------------------------------------------------------------------------------- */

static int take_gate(const char *word, struct options *ret)
{
    char *end;

    ret->max_inferred_percent = strtod(word, &end);
    ret->gated =
        end != word && !*end && ret->max_inferred_percent >= 0 && ret->max_inferred_percent <= 100;
    return ret->gated ? 0
                      : rp_cli_usage_error(
                            "analyze", "--max-inferred %s: use a percentage from 0 to 100", word);
}

static int take_top(const char *word, struct options *ret)
{
    char *end;
    unsigned long count = strtoul(word, &end, 10);

    if (end == word || *end || *word == '-' || count == 0 || count > 1000000)
        return rp_cli_usage_error("analyze", "--top %s: use a number from 1 to 1000000", word);
    ret->top = count;
    return 0;
}

/* 0 or an exit code. */
static int take_option(int c, const char *word, struct options *ret)
{
    switch (c) {
    case 'j':
        ret->json = true;
        return 0;
    case 'f':
        ret->full = true;
        return 0;
    case 'r':
        ret->roofline = true;
        return 0;
    case 't':
        ret->thread_trace = true;
        return 0;
    case 'n':
        ret->analysis = true;
        return 0;
    case 'k':
        return take_top(word, ret);
    case 'o':
        ret->folder = word;
        return 0;
    case 'i':
        return take_gate(word, ret);
    default:
        return rp_roof_option_parse("analyze", c, word, &ret->roof);
    }
}

static int parse(int argc, char **argv, struct options *ret, int *ret_code)
{
    static const struct option options[] = {
        {"json", no_argument, NULL, 'j'},
        {"full", no_argument, NULL, 'f'},
        {"roofline", no_argument, NULL, 'r'},
        {"thread-trace", no_argument, NULL, 't'},
        {"analysis", no_argument, NULL, 'n'},
        {"top", required_argument, NULL, 'k'},
        {"output", required_argument, NULL, 'o'},
        RP_ROOF_OPTIONS,
        {"max-inferred", required_argument, NULL, 'i'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int c;

    opterr = 0;
    while ((c = getopt_long(argc, argv, ":ho:", options, NULL)) != -1) {
        if (c == 'h')
            *ret_code = rp_cli_help(help);
        else if (c == '?' || c == ':')
            *ret_code = rp_cli_bad_option("analyze", argv[optind - 1], c);
        else if ((*ret_code = take_option(c, optarg, ret)) == 0)
            continue;
        return -1;
    }
    if (ret->json + ret->roofline + ret->thread_trace + ret->analysis > 1)
        *ret_code =
            rp_cli_usage_error("analyze", "--json, --roofline, --thread-trace and --analysis"
                                          " print different results: choose one");
    else if (ret->full && !ret->json && !ret->folder)
        *ret_code = rp_cli_usage_error("analyze", "--full is about dag.json: add --json or -o DIR");
    else if (ret->top && ret->json + ret->roofline + ret->thread_trace)
        *ret_code = rp_cli_usage_error("analyze", "--top is about the ranking: leave out --json,"
                                                  " --roofline and --thread-trace");
    else if (optind == argc)
        *ret_code = rp_cli_usage_error("analyze", "no trace given");
    else
        return 0;
    return -1;
}

/* --- results ------------------------------------------------------------------------------- */

/* How much of the graph is guessed. */
struct inferred {
    double of_path, of_dependencies; /* of the critical path's time; of all dependencies */
};

/* What people want to know of a gate that failed: a path of recorded durations may still lead
 * through guessed dependencies only. */
static int check_inferred(const struct options *options, const struct inferred *inferred)
{
    struct rp_err err = RP_ERR_INIT;
    bool by_path = inferred->of_path >= inferred->of_dependencies;
    double share = by_path ? inferred->of_path : inferred->of_dependencies;

    if (!options->gated || share * 100 <= options->max_inferred_percent)
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

/* --json, --roofline ... choose what is printed; none of them: all, for people. */
static struct rp_result_request request_for(const struct options *options, bool chosen)
{
    struct rp_result_request ret = {.folder = options->folder, .full = options->full};

    if (chosen)
        ret.print = RP_RESULT_JSON;
    else if (!options->json && !options->roofline && !options->thread_trace && !options->analysis)
        ret.print = RP_RESULT_TERMINAL;
    return ret;
}

/* The ranking needs all of the others; where nobody asked for it, it is not worth their time. */
static int make_parts(struct rp_inputs *in, const struct options *options,
                      struct rp_analysis *parts, struct rp_err *err)
{
    bool other = options->roofline || options->thread_trace;
    const struct rp_analysis_request wanted = {
        .dag = !other || options->folder || options->gated,
        .steps = options->full,
        .roofline = options->roofline,
        .ranking = request_for(options, options->analysis).print != RP_RESULT_SILENT ||
                   options->folder != NULL,
        .roof = &options->roof.roof,
    };

    return rp_analysis_make(in, &wanted, parts, err);
}

static int put_parts(const struct rp_inputs *in, const struct options *options,
                     const struct rp_analysis *parts, struct rp_file_set *pending,
                     struct rp_buf *text, struct rp_err *err)
{
    struct rp_result_request for_dag = request_for(options, options->json);
    struct rp_result_request for_roofline = request_for(options, options->roofline);
    struct rp_result_request for_waves = request_for(options, options->thread_trace);
    struct rp_result_request for_ranking = request_for(options, options->analysis);
    int rc = 0;

    for_dag.pending = for_roofline.pending = for_waves.pending = for_ranking.pending = pending;
    if (parts->has_dag)
        rc = rp_put_dag(&parts->dag, &for_dag, text, err);
    if (rc == 0 && parts->has_roofline)
        rc = rp_put_roofline(&parts->roofline, &for_roofline, text, err);
    if (rc == 0 && in->waves.count)
        rc = rp_put_thread_trace(in, &for_waves, text, err);
    if (rc == 0 && parts->has_ranking)
        rc = rp_put_ranking(&parts->ranking, options->top, &for_ranking, text, err);
    if (rc == 0 && parts->has_roofline && for_roofline.print == RP_RESULT_TERMINAL)
        rc = rp_report_counters_term(&parts->roofline, true, rp_cli_style(), text, err);
    return rc == 0 && text->failed ? rp_fail(err, RP_ENVIRONMENT, "out of memory") : rc;
}

/* A result of before that this one lacks would be taken for a part of it. */
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

static int put_results(struct rp_inputs *in, const struct options *options, struct rp_buf *text,
                       struct inferred *ret_inferred, struct rp_err *err)
{
    rp_cleanup(rp_analysis_free) struct rp_analysis parts = {0};
    rp_cleanup(rp_file_set_drop) struct rp_file_set pending = {0};
    int rc = make_parts(in, options, &parts, err);

    rp_work_at(&in->work, RP_WORK_WRITE, 0);
    if (rc == 0)
        rc = put_parts(in, options, &parts, &pending, text, err);
    if (rc == 0)
        rc = rp_file_set_commit(&pending, err);
    if (rc == 0 && options->folder)
        rc = drop_others(in, options->folder, &parts, err);
    if (rc == 0 && parts.dag.makespan_ns)
        *ret_inferred = (struct inferred){
            .of_path =
                (double)parts.dag.grade_path_ns[RP_DAG_INFERRED] / (double)parts.dag.makespan_ns,
            .of_dependencies = rp_dag_dependency_share(&parts.dag, RP_DAG_INFERRED),
        };
    return rc;
}

static void free_options(struct options *options)
{
    rp_roof_options_free(&options->roof);
}

/* What was asked for and the files do not hold; NULL: nothing. */
static const char *lacking(const struct rp_inputs *in, const struct options *options)
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
    if (options->gated && in->store_count == 0)
        return "--max-inferred is about the graph of a rocpd trace, and there is none";
    if (options->thread_trace && in->waves.count == 0)
        return "--thread-trace: no thread trace is among the files; give a folder "
               "ui_output_agent_..._dispatch_...";
    return NULL;
}

static int analyze(char *const *paths, size_t count, const struct options *options,
                   struct rp_activity *busy)
{
    rp_cleanup(rp_inputs_close) struct rp_inputs in = {.notes = rp_activity_notes(busy),
                                                       .work = rp_activity_work(busy)};
    struct rp_err err = RP_ERR_INIT;
    rp_autobuf text = {0};
    struct inferred inferred = {0};
    int code, rc = rp_inputs_open(paths, count, &in, &err);
    const char *missing = rc == 0 ? lacking(&in, options) : NULL;

    if (rc == 0 && !missing)
        rc = put_results(&in, options, &text, &inferred, &err);
    rp_activity_end(busy);
    if (missing)
        return rp_cli_usage_error("analyze", "%s", missing);
    if (rc < 0)
        return rp_cli_error(&err);
    code = rp_cli_result(rp_buf_text(&text));
    return code == RP_OK ? check_inferred(options, &inferred) : code;
}

/* Results beside what they are of are the rule; a trace may have the name of one. */
static int keep_apart(const char *folder, char **paths, size_t count, struct rp_err *err)
{
    static const char *const names[] = {"dag.json", "roofline.json", "thread_trace.json",
                                        "analysis.json"};
    int rc = 0;

    for (size_t i = 0; folder && rc == 0 && i < sizeof names / sizeof *names; i++) {
        rp_autofree char *file = rp_path_join(folder, names[i]);

        if (!file)
            rc = rp_out_of_memory(err);
        for (size_t k = 0; rc == 0 && k < count; k++)
            if (!rp_path_is_dir(paths[k]))
                rc = rp_refuse_overwriting_inputs("analyze: -o, which makes", file, &paths[k], 1,
                                                  err);
    }
    return rc;
}

int rp_cmd_analyze(int argc, char **argv)
{
    rp_cleanup(free_options) struct options options = {0};
    struct rp_err err = RP_ERR_INIT;
    struct rp_activity busy;
    int code;

    if (parse(argc, argv, &options, &code) < 0)
        return code;
    if (rp_roof_options_read(&options.roof, &err) < 0)
        return rp_cli_error(&err);
    if (keep_apart(options.folder, argv + optind, (size_t)(argc - optind), &err) < 0)
        return rp_cli_error(&err);
    rp_activity_begin(options.full, &busy); /* a summary is soon written */
    code = analyze(argv + optind, (size_t)(argc - optind), &options, &busy);
    rp_activity_end(&busy);
    return code;
}

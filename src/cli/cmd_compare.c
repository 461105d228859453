#include <getopt.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compare.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "cli/cli.h"
#include "cli/device_options.h"
#include "cli/results.h"
#include "library/library.h"

static const char help[] =
    "usage: rocm-perf compare [--gate CONDITION]... [--allow-missing] [--margin X]\n"
    "                         [--json | --markdown | --github] [--junit FILE] BEFORE AFTER...\n"
    "       rocm-perf compare [options] REPLAY.json\n"
    "\n"
    "Says of the whole program and of each kernel whether AFTER is faster or slower than BEFORE,\n"
    "equal, or undecided, by how much, and what else has changed: registers, LDS, occupancy,\n"
    "bytes, bottleneck. Each AFTER is compared with BEFORE.\n"
    "A result is a folder of `rocm-perf profile`, its profile.json, a trace, or a folder of "
    "traces:\n"
    "those of one command, one after the other, are its runs. Each may be packed by gzip.\n"
    "REPLAY.json is what `replay compare --json` printed: told again.\n"
    "Measured times need 6 runs of each side at least (profile --runs 10); modelled times of the\n"
    "software device need one. Results of different devices or models of time are refused.\n"
    "\n"
    "  --gate CONDITION  exit with 1 unless it holds; may be repeated. METRIC<=BOUND or\n"
    "                    kernel:NAME:METRIC<=BOUND, also with >= < > ==.\n"
    "                    METRIC: runtime (after / before, of the sum of kernel times, not end to\n"
    "                    end; all of its interval must hold), or of AFTER vgprs, agprs, sgprs,\n"
    "                    lds_bytes, scratch_bytes, occupancy, bytes, dispatches, cv.\n"
    "                    BOUND: a number, before, or NUMBER*before\n"
    "  --allow-missing   a gate of runtime holds also where a kernel of the program that ran\n"
    "                    before does not run after; without it such a gate fails\n"
    "  --margin X        by how many per cent times may differ and be equal (default 1)\n"
    "  --json            print compare.json (schemas/compare.schema.json) instead of a table\n"
    "  --markdown        print a table for a pull request instead\n"
    "  --github          after the table, print annotations for a workflow of GitHub\n"
    "  --junit FILE      also write JUnit XML for a CI server: a test case for each gate, or\n"
    "                    without gates for each kernel; - prints it instead of the table\n"
    "  --help            this text\n"
    "\n"
    "exit status: 0 done, 1 a gate does not hold or is undecided, or the replay had other\n"
    "output, 2 usage, 3 a result cannot be used or they do not compare, 4 environment\n";

static const double alpha = 0.01, usual_margin = 0.01;

struct options {
    enum { FORM_TERM, FORM_JSON, FORM_MARKDOWN, FORM_GITHUB } form;
    const char *junit; /* file, or "-"; NULL: none */
    double margin;
    bool allow_missing;
    struct rp_versus_condition *gates;
    size_t gate_count;
};

static void free_options(struct options *options)
{
    for (size_t i = 0; i < options->gate_count; i++)
        rp_versus_condition_free(&options->gates[i]);
    free(options->gates);
}

/* --- options ------------------------------------------------------------------------------- */

static int take_gate(const char *word, struct options *ret)
{
    struct rp_versus_condition *grown =
        reallocarray(ret->gates, ret->gate_count + 1, sizeof *grown);
    struct rp_err err = RP_ERR_INIT;

    if (!grown) {
        rp_fail(&err, RP_ENVIRONMENT, "out of memory");
        return rp_cli_error(&err);
    }
    ret->gates = grown;
    if (rp_versus_condition_parse(word, &grown[ret->gate_count], &err) < 0)
        return err.code == RP_USAGE ? rp_cli_usage_error("compare", "%s", err.text)
                                    : rp_cli_error(&err);
    ret->gate_count++;
    return 0;
}

static int take_margin(const char *word, struct options *ret)
{
    char *end;

    ret->margin = strtod(word, &end) / 100;
    if (end != word && !*end && ret->margin >= 0 && ret->margin <= 1)
        return 0;
    return rp_cli_usage_error("compare", "--margin %s: use per cent, from 0 to 100", word);
}

static int take_form(int form, struct options *ret)
{
    if (ret->form != FORM_TERM && (int)ret->form != form)
        return rp_cli_usage_error("compare", "--json, --markdown and --github exclude each other");
    ret->form = form;
    return 0;
}

static int take_junit(const char *word, struct options *ret)
{
    if (ret->junit)
        return rp_cli_usage_error("compare", "--junit %s: there is one already, %s", word,
                                  ret->junit);
    if (!*word)
        return rp_cli_usage_error("compare", "--junit: the name of the file is empty");
    ret->junit = word;
    return 0;
}

static bool prints_junit(const struct options *options)
{
    return options->junit && strcmp(options->junit, "-") == 0;
}

static int take_option(int c, const char *word, struct options *ret)
{
    ret->allow_missing |= c == 'a';
    return c == 'g'   ? take_gate(word, ret)
           : c == 'a' ? 0
           : c == 'm' ? take_margin(word, ret)
           : c == 'x' ? take_junit(word, ret)
                      : take_form(c, ret);
}

/* @return 0, or -1 with an exit code */
static int parse(int argc, char **argv, struct options *ret, int *ret_code)
{
    static const struct option options[] = {
        {"gate", required_argument, NULL, 'g'},
        {"margin", required_argument, NULL, 'm'},
        {"json", no_argument, NULL, FORM_JSON},
        {"markdown", no_argument, NULL, FORM_MARKDOWN},
        {"github", no_argument, NULL, FORM_GITHUB},
        {"junit", required_argument, NULL, 'x'},
        {"allow-missing", no_argument, NULL, 'a'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int c;

    opterr = 0;
    while ((c = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
        if (c == 'h')
            *ret_code = rp_cli_help(help);
        else if (c == '?' || c == ':')
            *ret_code = rp_cli_bad_option("compare", argv[optind - 1], c);
        else if ((*ret_code = take_option(c, optarg, ret)) == 0)
            continue;
        return -1;
    }
    for (size_t i = 0; i < ret->gate_count; i++)
        ret->gates[i].may_miss = ret->allow_missing;
    if (prints_junit(ret) && ret->form != FORM_TERM)
        *ret_code =
            rp_cli_usage_error("compare", "--junit - takes standard output, which --json,"
                                          " --markdown and --github want, too: give a file");
    else if (optind == argc)
        *ret_code = rp_cli_usage_error("compare", "no result given: give one before and one after");
    else
        return 0;
    return -1;
}

/* --- comparing ----------------------------------------------------------------------------- */

struct work {
    struct rp_versus_side *sides;
    size_t side_count;
    struct rp_versus_found *list;
    size_t count;
    struct rp_versus_outcome *gated;
};

static void free_work(struct work *work)
{
    for (size_t i = 0; i < work->count; i++)
        rp_versus_found_free(&work->list[i]);
    for (size_t i = 0; i < work->side_count; i++)
        rp_versus_side_free(&work->sides[i]);
    free(work->list);
    free(work->sides);
    free(work->gated);
}

static int read_sides(char **paths, size_t count, struct work *work, struct rp_err *err)
{
    for (size_t i = 0; i < count; i++) {
        int rc = rp_compare_read_side(paths[i], &work->sides[i], err);

        if (rc < 0)
            return rc;
        work->side_count++;
    }
    return 0;
}

static int compare_sides(struct work *work, const struct rp_versus_rule *rule, struct rp_err *err)
{
    int rc = 0;

    if (work->side_count == 1) {
        rc = rp_versus_reported(&work->sides[0], &work->list[0], err);
        work->count = rc == 0;
        return rc;
    }
    for (size_t i = 1; rc == 0 && i < work->side_count; i++) {
        rc = rp_versus(&work->sides[0], &work->sides[i], rule, &work->list[i - 1], err);
        work->count += rc == 0;
    }
    return rc;
}

static int make(char **paths, size_t count, const struct options *options, struct work *work,
                struct rp_err *err)
{
    const struct rp_versus_rule rule = {.margin = options->margin, .alpha = alpha};
    int rc;

    work->sides = calloc(count + 1, sizeof *work->sides);
    work->list = calloc(count + 1, sizeof *work->list);
    work->gated = calloc(count * options->gate_count + 1, sizeof *work->gated);
    if (!work->sides || !work->list || !work->gated)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    rc = read_sides(paths, count, work, err);
    if (rc == 0)
        rc = compare_sides(work, &rule, err);
    for (size_t i = 0; rc == 0 && i < work->count; i++)
        for (size_t g = 0; g < options->gate_count; g++)
            rp_versus_condition_judge(&options->gates[g], &work->list[i],
                                      &work->gated[i * options->gate_count + g]);
    return rc;
}

static int put(const struct options *options, const struct rp_compare_report *report,
               struct rp_buf *text, struct rp_err *err)
{
    int rc;

    if (options->form == FORM_JSON)
        return rp_report_compare_json(report, text, err);
    if (options->form == FORM_MARKDOWN)
        return rp_report_compare_markdown(report, text, err);
    rc = rp_report_compare_term(report, rp_cli_style(), text, err);
    return rc < 0 || options->form == FORM_TERM ? rc : rp_report_compare_github(report, text, err);
}

/* What goes to standard output, and the file beside it. */
static int put_all(const struct options *options, const struct work *work, struct rp_buf *text,
                   struct rp_err *err)
{
    const struct rp_compare_report report = {
        .list = work->list,
        .count = work->count,
        .gates = options->gates,
        .gate_count = options->gate_count,
        .gated = work->gated,
        .rule = {.margin = options->margin, .alpha = alpha},
    };
    rp_autobuf xml = {0};
    int rc;

    if (prints_junit(options))
        return rp_report_compare_junit(&report, text, err);
    rc = put(options, &report, text, err);
    if (rc == 0 && options->junit)
        rc = rp_report_compare_junit(&report, &xml, err);
    if (rc == 0 && options->junit)
        rc = rp_write_output(options->junit, xml.data, xml.len, err);
    return rc;
}

/* The file of the build before would be taken for this one's. @return the exit code */
static int refuse(const struct options *options, char **paths, size_t count,
                  const struct rp_err *why)
{
    struct rp_err err = RP_ERR_INIT;
    rp_autobuf xml = {0};

    if (options->junit && rp_report_compare_refused(paths, count, why, &xml, &err) == 0) {
        if (prints_junit(options))
            rp_cli_result(rp_buf_text(&xml));
        else
            rp_write_output(options->junit, xml.data, xml.len, &err);
    }
    if (err.code != RP_OK)
        rp_cli_error(&err);
    return rp_cli_error(why);
}

/* One sentence for each: the table may be somewhere else. */
static int judge(const struct options *options, const struct work *work)
{
    int code = RP_OK;

    for (size_t i = 0; i < work->count; i++) {
        for (size_t g = 0; g < options->gate_count; g++) {
            const struct rp_versus_outcome *gated = &work->gated[i * options->gate_count + g];

            if (gated->passed == RP_COMPARE_PASSED)
                continue;
            code = RP_VERDICT;
            rp_cli_note("compare: %s: --gate %s %s%s%s%s%s", work->list[i].after->path,
                        options->gates[g].text,
                        gated->passed == RP_COMPARE_OPEN ? "is undecided" : "does not hold",
                        gated->reason[0] ? ": " : "", gated->reason, gated->kernel ? "; in " : "",
                        gated->kernel ? gated->kernel : "");
        }
        if (work->list[i].after->told.wrong) {
            code = RP_VERDICT;
            rp_cli_note("compare: %s: B gives different output", work->list[i].after->path);
        }
    }
    return code;
}

int rp_cmd_compare(int argc, char **argv)
{
    rp_cleanup(free_options) struct options options = {.margin = usual_margin};
    rp_cleanup(free_work) struct work work = {0};
    struct rp_err err = RP_ERR_INIT;
    rp_autobuf text = {0};
    size_t count;
    int code;

    if (parse(argc, argv, &options, &code) < 0)
        return code;
    count = (size_t)(argc - optind);
    if (rp_refuse_overwriting_inputs("compare: --junit", options.junit, argv + optind, count,
                                     &err) < 0)
        return rp_cli_error(&err);
    if (make(argv + optind, count, &options, &work, &err) < 0)
        return refuse(&options, argv + optind, count, &err);
    if (put_all(&options, &work, &text, &err) < 0)
        return rp_cli_error(&err);
    code = rp_cli_result(rp_buf_text(&text));
    return code == RP_OK ? judge(&options, &work) : code;
}

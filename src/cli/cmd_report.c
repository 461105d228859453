#include <getopt.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "cli/cli.h"
#include "cli/results.h"
#include "library/parts.h"
#include "rocm-perf/timeline.h"

static const char help[] =
    "usage: rocm-perf report [-o FILE] [--title TEXT] [--arch ARCH] TRACE...\n"
    "\n"
    "Writes one HTML page of what analyze finds in the traces, counters and thread traces of one\n"
    "run: timeline with the critical path, what faster kernels would bring, rooflines, and what\n"
    "limits each kernel. The page is one file, needs no network, and has its data in it.\n"
    "TRACE is what analyze takes; the folder of a profile is best, for it has profile.json, too.\n"
    "\n"
    "  -o FILE       where the page goes (default report.html)\n"
    "  --title TEXT  of the page; default: what was profiled, else the name of the first TRACE\n"
    "  --arch ARCH   GPU that the files do not name: gfx942, gfx942:mi300a ...\n"
    "  --help        this text\n"
    "\n"
    "exit status: 0 done, 2 usage, 3 a trace cannot be used, 4 environment\n";

enum { MOST_DOCUMENTS = 6, MOST_PROFILE_BYTES = 256 << 20 };

struct options {
    const char *file, *title;
    struct rp_roofline_options roof;
};

static int parse(int argc, char **argv, struct options *ret, int *ret_code)
{
    static const struct option options[] = {
        {"output", required_argument, NULL, 'o'},
        {"title", required_argument, NULL, 't'},
        {"arch", required_argument, NULL, 'a'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int c;

    opterr = 0;
    while ((c = getopt_long(argc, argv, ":ho:", options, NULL)) != -1) {
        switch (c) {
        case 'o':
            ret->file = optarg;
            continue;
        case 't':
            ret->title = optarg;
            continue;
        case 'a':
            ret->roof.arch = optarg;
            continue;
        case 'h':
            *ret_code = rp_cli_help(help);
            return -1;
        default:
            *ret_code = rp_cli_bad_option("report", argv[optind - 1], c);
            return -1;
        }
    }
    if (optind < argc && *ret->file)
        return 0;
    *ret_code = optind == argc ? rp_cli_usage_error("report", "no trace given")
                               : rp_cli_usage_error("report", "-o: the name of the file is empty");
    return -1;
}

/* --- the documents ---------------------------------------------------------------------------- */

/* The JSON that the other commands write, in the order of the page. */
struct documents {
    struct rp_buf texts[MOST_DOCUMENTS];
    const char *names[MOST_DOCUMENTS];
    size_t count;
};

static void free_documents(struct documents *d)
{
    for (size_t i = 0; i < MOST_DOCUMENTS; i++)
        rp_buf_free(&d->texts[i]);
}

static struct rp_buf *add(struct documents *d, const char *name)
{
    d->names[d->count] = name;
    return &d->texts[d->count++];
}

/* Of one folder that `profile` has made. The whole is not known to be its, where there are others.
 */
static int add_profile(char **paths, size_t count, struct documents *d, json_t **ret,
                       struct rp_err *err)
{
    rp_autofree char *path = rp_path_join(paths[0], "profile.json");
    rp_autofree char *text = NULL;
    json_error_t at;

    if (!path)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    if (count > 1 || !rp_path_is_dir(paths[0]) || !rp_path_exists(path))
        return 0;
    text = rp_read_text(path, MOST_PROFILE_BYTES);
    if (!text)
        return rp_fail(err, RP_BAD_INPUT, "%s cannot be read, or is no result of profile", path);
    *ret = json_loads(text, JSON_REJECT_DUPLICATES, &at);
    if (!json_is_object(*ret))
        return rp_fail(err, RP_BAD_INPUT,
                       "%s is damaged (line %d: %s): profile again, or remove it", path, at.line,
                       *ret ? "no object" : at.text);
    rp_buf_puts(add(d, "profile"), text);
    return 0;
}

static int add_timeline(const struct rp_inputs *in, const struct rp_dag_result *dag,
                        struct documents *d, struct rp_err *err)
{
    rp_cleanup(rp_timeline_free) struct rp_timeline timeline = {0};
    int rc = rp_timeline_make(in->stores, in->store_count, dag, &timeline, err);

    return rc < 0 ? rc : rp_report_timeline_json(dag, &timeline, add(d, "timeline"), err);
}

static int add_parts(const struct rp_inputs *in, const struct rp_parts *parts, struct documents *d,
                     struct rp_err *err)
{
    int rc = 0;

    if (parts->has_dag)
        rc = rp_report_dag_json(&parts->dag, false, add(d, "dag"), err);
    if (rc == 0 && parts->has_dag)
        rc = add_timeline(in, &parts->dag, d, err);
    if (rc == 0 && parts->has_roofline)
        rc = rp_report_roofline_json(&parts->roofline, add(d, "roofline"), err);
    if (rc == 0 && in->waves.count)
        rc = rp_report_thread_trace_json(&in->waves, add(d, "thread_trace"), err);
    if (rc == 0)
        rc = rp_report_analysis_json(&parts->ranking.found, 0, add(d, "analysis"), err);
    return rc;
}

static int make_documents(char **paths, size_t count, const struct options *options,
                          struct documents *d, json_t **ret_profile, struct rp_err *err)
{
    rp_cleanup(rp_inputs_close) struct rp_inputs in = {.notes = rp_cli_notes()};
    rp_cleanup(rp_parts_free) struct rp_parts parts = {0};
    const struct rp_parts_wish wish = {
        .dag = true, .steps = true, .ranking = true, .roof = &options->roof};
    int rc = rp_inputs_open(paths, count, &in, err);

    if (rc == 0)
        rc = add_profile(paths, count, d, ret_profile, err);
    if (rc == 0)
        rc = rp_parts_make(&in, &wish, &parts, err);
    return rc < 0 ? rc : add_parts(&in, &parts, d, err);
}

/* --- the page --------------------------------------------------------------------------------- */

/* The command that was profiled; NULL: out of memory. */
static char *choose_title(const struct options *options, const char *path, const json_t *profile)
{
    const json_t *command = json_object_get(json_object_get(profile, "provenance"), "command");
    struct rp_buf text = {0};

    for (size_t i = 0; i < json_array_size(command); i++) {
        rp_buf_puts(&text, i ? " " : "");
        rp_buf_puts(&text, json_string_value(json_array_get(command, i)) ?: "");
    }
    if (options->title || text.len == 0) {
        rp_buf_free(&text);
        return strdup(options->title ? options->title : path);
    }
    return rp_buf_steal(&text);
}

static int write_page(const struct documents *d, const char *title, const char *file,
                      struct rp_buf *summary, struct rp_err *err)
{
    struct rp_html_document documents[MOST_DOCUMENTS];
    rp_autobuf page = {0};
    int rc;

    for (size_t i = 0; i < d->count; i++)
        documents[i] = (struct rp_html_document){
            .name = d->names[i], .text = rp_buf_text(&d->texts[i]), .bytes = d->texts[i].len};
    rc = rp_report_html(title, documents, d->count, &page, err);
    if (rc == 0)
        rc = rp_write_output(file, page.data, page.len, err);
    if (rc < 0)
        return rc;
    rp_buf_printf(summary, "%s:", file);
    for (size_t i = 0; i < d->count; i++)
        rp_buf_printf(summary, "%s %s", i ? "," : "", d->names[i]);
    rp_buf_puts(summary, "\n");
    return summary->failed ? rp_fail(err, RP_ENVIRONMENT, "out of memory") : 0;
}

static void drop(json_t **json)
{
    json_decref(*json);
}

int rp_cmd_report(int argc, char **argv)
{
    rp_cleanup(free_documents) struct documents documents = {0};
    rp_cleanup(drop) json_t *profile = NULL;
    struct options options = {.file = "report.html"};
    struct rp_err err = RP_ERR_INIT;
    rp_autofree char *title = NULL;
    rp_autobuf summary = {0};
    char **paths;
    int code;

    if (parse(argc, argv, &options, &code) < 0)
        return code;
    if (options.roof.arch && rp_roofline_check_arch(options.roof.arch, &err) < 0)
        return rp_cli_error(&err);
    paths = argv + optind;
    if (make_documents(paths, (size_t)(argc - optind), &options, &documents, &profile, &err) < 0)
        return rp_cli_error(&err);
    title = choose_title(&options, paths[0], profile);
    if (!title) {
        rp_fail(&err, RP_ENVIRONMENT, "out of memory");
        return rp_cli_error(&err);
    }
    if (write_page(&documents, title, options.file, &summary, &err) < 0)
        return rp_cli_error(&err);
    return rp_cli_result(rp_buf_text(&summary));
}

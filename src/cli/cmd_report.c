#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/dag.h"
#include "analyze/source_texts.h"
#include "analyze/thread_trace.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json_read.h"
#include "base/path.h"
#include "base/utf8.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "library/library.h"
#include "trace/gzip.h"

enum { MOST_DOCUMENTS = 8, MOST_PROFILE_BYTES = 256 << 20 };

struct options {
    const char *file, *title;
    const struct rp_report_form *form;
    struct rp_roof_options roof;
    struct rp_activity *busy; /**< shown while the report is made */
};

/* Returns "" where the name has no ending: "-", "page", "/dev/fd/3", ".page". */
static const char *ending_of(const char *file)
{
    const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;
    const char *dot = strrchr(name, '.');

    return dot && dot != name ? dot : "";
}

static int no_form(const char *file, const char *ending, struct rp_err *err)
{
    rp_autobuf known = {0};
    size_t count;
    const struct rp_report_form *forms = rp_report_forms(&count);

    if (strcmp(ending, ".svg") == 0)
        return rp_fail(err, RP_USAGE,
                       "report -o %s: say which picture: --format svg-roofline or svg-timeline",
                       file);
    for (size_t i = 0; i < count; i++)
        rp_buf_printf(&known, "%s%s", i ? ", " : "", forms[i].ending);
    return rp_fail(err, RP_USAGE,
                   "report -o %s: no form ends in %s: name one with --format, or end the name in"
                   " one of %s",
                   file, ending, rp_buf_text(&known));
}

/* Fills in what was not given from what was. */
static int settle(struct options *options, char **ret_name, struct rp_err *err)
{
    size_t count;

    if (!options->form && options->file)
        options->form = rp_report_form_of_file(options->file);
    if (!options->form && options->file && *ending_of(options->file))
        return no_form(options->file, ending_of(options->file), err);
    if (!options->form)
        options->form = rp_report_forms(&count);
    if (options->file)
        return 0;
    *ret_name = rp_format("report%s", options->form->ending);
    options->file = *ret_name;
    return 0;
}

/* --- the documents ---------------------------------------------------------------------------- */

/* This is the JSON that the other commands write, in the order of the page. */
struct documents {
    struct rp_buf texts[MOST_DOCUMENTS];
    const char *names[MOST_DOCUMENTS];
    size_t count;
    size_t told; /**< those that are about something of their own */
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

/* Adds the documents of one folder that `profile` has made. With several folders, nobody knows that
 * the whole belongs to this one. */
static int add_profile(char **paths, size_t count, struct documents *d, json_t **ret,
                       struct rp_err *err)
{
    rp_autofree char *name = rp_path_join(paths[0], "profile.json");
    rp_autofree char *path = rp_gzip_find(name);
    rp_autofree char *text = NULL;
    json_error_t at;

    if (count > 1 || !rp_path_is_dir(paths[0]) || !path)
        return 0;
    if (rp_check_input(path, err) < 0)
        return -(int)RP_BAD_INPUT;
    if (rp_gzip_read_text(path, MOST_PROFILE_BYTES, &text, err) < 0)
        return rp_wrap(err, "read %s, the result of profile", path);
    *ret = json_loads(text, JSON_REJECT_DUPLICATES, &at);
    if (!json_is_object(*ret))
        return rp_fail(err, RP_BAD_INPUT,
                       "%s is damaged (line %d: %s): profile again, or remove it", path, at.line,
                       *ret ? "no object" : at.text);
    if (rp_schema_version_check(json_string_value(json_object_get(*ret, "schema_version")), path,
                                err) < 0)
        return -(int)RP_BAD_INPUT;
    rp_buf_puts(add(d, "profile"), text);
    return 0;
}

/* Adds the source lines that profile has copied with the thread traces, if any. */
static int add_sources(const struct rp_inputs *in, struct documents *d, struct rp_err *err)
{
    rp_cleanup(rp_source_texts_free) struct rp_source_texts texts = {0};

    if (rp_source_texts_read(&in->waves, &texts, err) < 0)
        return -1;
    return texts.trace_count ? rp_report_sources_json(&texts, add(d, "sources"), err) : 0;
}

/* Adds the parts of the page. */
static int add_parts(const struct rp_inputs *in, const struct rp_report_parts *parts,
                     struct documents *d, struct rp_err *err)
{
    int rc = 0;

    if (parts->dag)
        rc = rp_report_dag_json(parts->dag, RP_DAG_SUMS, add(d, "dag"), err);
    if (rc == 0 && parts->dag)
        rc = rp_report_timeline_json(parts->dag, parts->timeline, add(d, "timeline"), err);
    if (rc == 0 && parts->roofline)
        rc = rp_report_roofline_json(parts->roofline, add(d, "roofline"), err);
    if (rc == 0 && in->waves.count)
        rc = rp_report_thread_trace_json(&in->waves, add(d, "thread_trace"), err);
    if (rc == 0)
        rc = rp_report_analysis_json(parts->bottlenecks, 0, add(d, "analysis"), err);
    if (rc == 0)
        rc = add_sources(in, d, err);
    d->told = d->count;
    return rc == 0 ? rp_report_names_json(parts->bottlenecks, add(d, "names"), err) : rc;
}

/* --- the page --------------------------------------------------------------------------------- */

/* Chooses the command that was profiled as the title. */
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
        return rp_strdup(options->title ? options->title : path);
    }
    return rp_buf_steal(&text);
}

static int write_out(const struct rp_buf *made, const struct options *options, struct rp_err *err)
{
    const char *file = options->file;

    if (strcmp(file, "-") != 0)
        return rp_write_output(file, made->data, made->len, err);
    rp_activity_end(options->busy);
    if (fwrite(made->data, 1, made->len, stdout) != made->len || fflush(stdout) == EOF)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot write to standard output");
    return 0;
}

static int write_form(const struct options *options, struct rp_report_parts *parts,
                      const struct documents *d, struct rp_buf *summary, struct rp_err *err)
{
    struct rp_html_document documents[MOST_DOCUMENTS];
    rp_autobuf made = {0};
    int rc;

    for (size_t i = 0; i < d->count; i++)
        documents[i] = (struct rp_html_document){
            .name = d->names[i], .text = rp_buf_text(&d->texts[i]), .bytes = d->texts[i].len};
    parts->documents = documents;
    parts->document_count = d->count;
    rc = options->form->write(parts, &made, err);
    parts->documents = NULL;
    if (rc == 0)
        rc = write_out(&made, options, err);
    if (rc < 0 || strcmp(options->file, "-") == 0)
        return rc;
    rp_escape(summary, options->file);
    rp_buf_printf(summary, ": %s", d->count ? "" : options->form->name);
    for (size_t i = 0; i < d->told; i++)
        rp_buf_puts(summary, i ? ", " : ""), rp_escape(summary, d->names[i]);
    rp_buf_puts(summary, "\n");
    return 0;
}

static void drop(json_t **json)
{
    json_decref(*json);
}

/* Writes the form that is wanted from all that is known. */
static int write_parts(const struct rp_inputs *in, const struct options *options, char **paths,
                       size_t count, struct rp_report_parts *parts, struct rp_buf *summary,
                       struct rp_err *err)
{
    rp_cleanup(free_documents) struct documents documents = {0};
    rp_cleanup(drop) json_t *profile = NULL;
    rp_autofree char *title = NULL;
    const bool is_page = strcmp(options->form->name, "html") == 0;
    int rc = add_profile(paths, count, &documents, &profile, err);

    if (rc < 0)
        return rc;
    title = choose_title(options, paths[0], profile);
    parts->title = title;
    if (is_page)
        rc = add_parts(in, parts, &documents, err);
    else
        documents.count = 0;
    return rc < 0 ? rc : write_form(options, parts, &documents, summary, err);
}

static int make_report(char **paths, size_t count, const struct options *options,
                       struct rp_buf *summary, struct rp_err *err)
{
    rp_cleanup(rp_inputs_close) struct rp_inputs in = {.notes = rp_activity_notes(options->busy),
                                                       .work = rp_activity_work(options->busy)};
    rp_cleanup(rp_analysis_free) struct rp_analysis made = {0};
    rp_cleanup(rp_timeline_free) struct rp_timeline timeline = {0};
    const struct rp_analysis_request wish = {
        .dag = true, .steps = true, .ranking = true, .roof = &options->roof.roof};
    struct rp_report_parts parts = {.bottlenecks = &made.ranking.found};

    if (rp_inputs_open(paths, count, &in, err) < 0 || rp_analysis_make(&in, &wish, &made, err) < 0)
        return -1;
    parts.profile = made.ranking.profile;
    rp_work_at(&in.work, RP_WORK_WRITE, 0);
    if (made.has_dag) {
        if (rp_timeline_make(in.stores, in.store_count, &made.dag, &timeline, err) < 0)
            return -1;
        parts.dag = &made.dag;
        parts.timeline = &timeline;
    }
    if (made.has_roofline)
        parts.roofline = &made.roofline;
    return write_parts(&in, options, paths, count, &parts, summary, err);
}

static void free_options(struct options *options)
{
    rp_roof_options_free(&options->roof);
}

static int keep_apart(const struct options *options, char **paths, size_t count, struct rp_err *err)
{
    char *ceilings = (char *)options->roof.ceilings;
    int rc = rp_refuse_overwriting_inputs("report: -o", options->file, paths, count, err);

    return rc < 0 ? rc
                  : rp_refuse_overwriting_inputs("report: -o", options->file, &ceilings,
                                                 ceilings != NULL, err);
}

int rp_cmd_report(int argc, char **argv)
{
    rp_cleanup(free_options) struct options options = {0};
    struct rp_report_cli args;
    struct rp_err err = RP_ERR_INIT;
    rp_autofree char *name = NULL;
    rp_autobuf summary = {0};
    struct rp_activity busy;
    int code, rc;

    if (!rp_options_parse(RP_COMMAND_report, argc, argv, &args, &code))
        return code;
    options = (struct options){.file = args.output,
                               .title = args.title,
                               .form = args.format ? rp_report_form_named(args.format) : NULL,
                               .roof = RP_ROOF_OPTIONS(args),
                               .busy = &busy};
    if (rp_roof_options_read(&options.roof, &err) < 0)
        return rp_cli_error(&err);
    if (settle(&options, &name, &err) < 0 ||
        keep_apart(&options, args.args.operands, args.args.operand_count, &err) < 0)
        return rp_cli_error(&err);
    for (size_t i = 0; i < args.args.operand_count; i++)
        rp_cli_rescue(args.args.operands[i]);
    rp_activity_begin(true, &busy);
    rc = make_report(args.args.operands, args.args.operand_count, &options, &summary, &err);
    rp_activity_end(&busy);
    if (rc < 0)
        return rp_cli_error(&err);
    return rp_cli_result(rp_buf_text(&summary));
}

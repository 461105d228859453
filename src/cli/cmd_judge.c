#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "base/process.h"
#include "cli/cli.h"
#include "cli/judge_text.h"
#include "cli/options.h"
#include "experiment/judge.h"
#include "optimize/judgement.h"
#include "report/report.h"
#include "run/machine.h"
#include "run/source_lines.h"

struct command {
    struct rp_judge_cli args;
    struct rp_judgement_options o;
    struct rp_work_progress progress;
    struct rp_device_identity on;
    char target[128]; /**< the GPU of captures that are there, for the software device */
};

/* --- for people ----------------------------------------------------------------------------- */

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static double number_of(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static void put_kernel(const struct rp_page *page, const json_t *kernel)
{
    const char *arguments = text_of(kernel, "arguments");

    rp_page_words(page, RP_INK_PLAIN, 0, 2, "%s%s%s%s: %s", text_of(kernel, "name"),
                  arguments ? " with the arguments '" : "", arguments ? arguments : "",
                  arguments ? "'" : "", text_of(kernel, "outcome"));
    rp_judge_text_comparisons(page, json_object_get(kernel, "comparisons"));
    if (!json_array_size(json_object_get(kernel, "comparisons")))
        rp_page_words(page, RP_INK_PLAIN, 2, 4, "%s", text_of(kernel, "reason"));
}

static void put_not_judged(const struct rp_page *page, const json_t *list)
{
    enum { MOST_SHOWN = 10 };
    const size_t count = json_array_size(list);
    const json_t *one;
    size_t i;

    json_array_foreach(list, i, one) if (i < MOST_SHOWN)
        rp_page_words(page, RP_INK_YELLOW, 0, 2, "not judged: %s: %s", text_of(one, "name"),
                      text_of(one, "reason"));
    if (count > MOST_SHOWN)
        rp_page_words(page, RP_INK_YELLOW, 0, 2, "not judged: %zu more, in judge.json",
                      count - MOST_SHOWN);
}

static void put_program(const struct rp_page *page, const json_t *program)
{
    if (json_is_true(json_object_get(program, "tried")))
        rp_page_words(page, RP_INK_PLAIN, 0, 2, "program: %s: %s", text_of(program, "outcome"),
                      text_of(program, "reason"));
    else if (program && !json_is_null(program))
        rp_page_words(page, RP_INK_YELLOW, 0, 2, "program: not tried: %s",
                      text_of(program, "reason"));
}

static void put_text(const struct command *c, const struct rp_judgement *judgement,
                     struct rp_buf *text)
{
    const struct rp_page page = rp_page_of_words(text, rp_cli_style());
    const json_t *kernel;
    size_t i;

    rp_page_words(&page,
                  judgement->verdict == RP_JUDGED_FASTER      ? RP_INK_GREEN
                  : judgement->verdict == RP_JUDGED_UNDECIDED ? RP_INK_PLAIN
                                                              : RP_INK_RED,
                  0, 2, "%s", text_of(judgement->json, "sentence"));
    put_program(&page, json_object_get(judgement->json, "program"));
    put_not_judged(&page, json_object_get(judgement->json, "not_judged"));
    json_array_foreach(json_object_get(judgement->json, "kernels"), i, kernel)
        put_kernel(&page, kernel);
    rp_sandbox_text(&page, json_object_get(judgement->json, "sandbox"));
    if (c->on.software && json_is_real(json_object_get(judgement->json, "error")))
        rp_page_words(&page, RP_INK_PLAIN, 0, 2,
                      "SOFTWARE DEVICE: modelled time (%s), not hardware time",
                      text_of(json_object_get(judgement->json, "on"), "timing"));
    else if (json_is_real(json_object_get(judgement->json, "error")))
        rp_page_words(&page, RP_INK_PLAIN, 0, 2,
                      "by noise alone, such a gain is found in at most %.2g %% of cases",
                      100 * number_of(judgement->json, "error"));
    rp_page_words(&page, RP_INK_PLAIN, 0, 2, "all of it: %s/judge.json", c->o.folder);
    rp_page_words(
        &page, RP_INK_PLAIN, 0, 2,
        "record %zu of %s/journal.jsonl: SHA-256 %s; kept elsewhere, it shows whether the "
        "journal was written anew",
        judgement->records, c->o.folder, judgement->head_sha256);
}

/* --- the command ---------------------------------------------------------------------------- */

/** A capture is judged on what it was made on, where the user does not say otherwise. */
static int choose_device(struct command *c, struct rp_err *err)
{
    rp_cleanup(rp_captures_free) struct rp_captures captures = {0};
    int rc;

    if (!c->o.captures || c->args.device)
        return 0;
    rc = rp_captures_read(c->o.captures, &captures, err);
    if (rc < 0)
        return rp_wrap(err, "--capture-dir");
    if (!captures.list[0].software)
        return 0;
    c->o.run.device = RP_DEVICE_SOFTWARE;
    if (rp_arch_spec(captures.list[0].gpu, captures.list[0].product, c->target, sizeof c->target) ==
        0)
        c->o.run.usual_target = c->target;
    return 0;
}

static struct rp_judgement_options judgement_options(struct command *c)
{
    const struct rp_judge_cli *a = &c->args;

    return (struct rp_judgement_options){
        .old_version = a->old_version,
        .new_version = a->new_version,
        .program = a->args.operand_count ? a->args.operands : NULL,
        .captures = a->capture_dir,
        .build = {.build = a->build,
                  .compile_commands = a->compile_commands,
                  .flags = a->flags,
                  .unit = a->unit},
        .kernel = a->kernel,
        .sizes = a->sizes,
        .compare = a->compare,
        .check = a->check,
        .most_geometries = (unsigned)a->geometries,
        .least_improvement = a->min_improvement,
        .timeout_s = a->timeout_s,
        .device = a->device,
        .timing = a->timing >= 0 ? rp_timing_words[a->timing] : NULL,
        .sandbox = {.none = a->no_sandbox,
                    .writable = a->writable.at,
                    .writable_count = a->writable.count},
        .folder = a->output,
        .progress = rp_work_progress_note,
        .waiting = rp_work_progress_wait,
        .context = &c->progress,
    };
}

/** @return RP_USAGE where neither or both are given */
static int check_place(const struct command *c)
{
    if (c->o.program || c->o.captures)
        return 0;
    return rp_cli_usage_error("judge", "where does the kernel run? Name the program that launches "
                                       "it, or captures with --capture-dir");
}

static int print(const struct command *c, const struct rp_judgement *judgement)
{
    rp_autobuf text = {0};
    int code;

    if (c->args.json)
        rp_buf_printf(&text, "%s\n", judgement->text);
    else
        put_text(c, judgement, &text);
    code = rp_cli_result(rp_buf_text(&text));
    return code == RP_OK ? rp_judgement_status(judgement->verdict) : code;
}

static int judge(struct command *c, struct rp_judgement *judgement, struct rp_err *err)
{
    rp_autofree char *self = realpath("/proc/self/exe", NULL);
    rp_autofree char *program = NULL;
    int rc = c->o.program ? rp_find_program(c->o.program[0], &program, err) : 0;

    if (rc == 0 && !self)
        rc = rp_fail(err, RP_ENVIRONMENT, "/proc is not there");
    if (rc == 0)
        rc = choose_device(c, err);
    if (rc == 0)
        rc = rp_cli_device_of_times(&c->o.run, &c->on, err);
    c->o.self = self;
    c->o.on = &c->on;
    c->o.program_path = program;
    c->o.build.has_lines = rc == 0 && program && rp_has_source_lines(program);
    /* Signals are caught until the end, because half a record must not be left. */
    rp_proc_catch_signals();
    c->progress = rp_work_progress_begin(0);
    if (rc == 0)
        rc = rp_judgement_make(&c->o, judgement, err);
    rp_progress_line_clear(&c->progress.line);
    return rc;
}

int rp_cmd_judge(int argc, char **argv)
{
    rp_cleanup(rp_judgement_free) struct rp_judgement judgement = {0};
    struct command c = {.on = {0}};
    struct rp_err err = RP_ERR_INIT;
    int code = 0;

    if (!rp_options_parse(RP_COMMAND_judge, argc, argv, &c.args, &code))
        return code;
    c.o = judgement_options(&c);
    code = check_place(&c);
    if (code)
        return code;
    rp_device_options_read(c.args.device, c.args.threads, 0, c.args.timing, &c.o.run);
    code = judge(&c, &judgement, &err) < 0 ? rp_cli_error(&err) : print(&c, &judgement);
    rp_device_identity_free(&c.on);
    return code;
}

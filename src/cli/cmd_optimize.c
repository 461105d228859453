#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "base/process.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "optimize/program_source.h"
#include "optimize/session.h"
#include "run/kernel_names.h"
#include "run/machine.h"
#include "run/source_lines.h"

struct command {
    struct rp_optimize_cli args;
    struct rp_session_options o;
    struct rp_work_progress progress;
    struct rp_device_identity on;
    char **words;                   /**< the command line as it was written; NULL: not known */
    struct rp_program_source found; /**< where --source is not given */
};

/** Returns a name like that of the session's folder which nothing has yet. */
static char *other_folder(const char *folder)
{
    enum { MOST = 1000 };
    char *path = NULL;

    for (unsigned i = 2; i < MOST; i++) {
        free(path);
        path = rp_format("%s-%u", folder, i);
        if (!rp_path_exists(path))
            break;
    }
    return path;
}

/** A session that ended in the middle goes on. One that has tried all that it was allowed to is
 * done anew with more, in another folder, because a session keeps its options. */
static void put_next(const struct command *c, const struct rp_session_result *result,
                     struct rp_buf *text)
{
    const char *ended = json_string_value(json_object_get(result->json, "ended_by"));
    const bool dry = strcmp(ended, "dry-run") == 0;
    rp_autofree char *folder = other_folder(c->o.folder);
    char value[32];
    const struct rp_other_option anew[] = {
        dry ? (struct rp_other_option){.option = "--dry-run", .gone = true}
            : (struct rp_other_option){.option = "--max-iters", .value = value},
        {.option = "--output", .value = folder},
        {.option = "--resume", .gone = true}};
    const struct rp_other_option on[] = {{.option = "--resume"},
                                         {.option = "--budget", .value = value}};

    if (result->backup_path)
        return;
    if (rp_optimize_goes_on(ended)) {
        snprintf(value, sizeof value, "%.6g", 2 * c->o.budget_s);
        rp_next_command(&c->args.args, c->words, on, strcmp(ended, "budget") == 0 ? 2 : 1, text);
    } else if (dry || (!result->accepted && strcmp(ended, "max-iters") == 0)) {
        snprintf(value, sizeof value, "%u", 2 * c->o.most_attempts);
        if (dry || 2 * c->o.most_attempts <= 1000)
            rp_next_command(&c->args.args, c->words, anew, sizeof anew / sizeof *anew, text);
    }
}

static int print(const struct command *c, const struct rp_session_result *result)
{
    rp_autobuf text = {0};

    if (c->args.json)
        rp_buf_printf(&text, "%s\n", result->text);
    else {
        rp_optimize_summary(result, c->o.source, rp_cli_style_of(c->args.verbose), &text);
        put_next(c, result, &text);
    }
    return rp_cli_result(rp_buf_text(&text));
}

/** The last words say what was decided, and how to go on. */
static int print_failure(const struct rp_session_result *result, const struct rp_err *err)
{
    const int code = rp_cli_error(err);

    if (result->resumable && !strstr(err->text, "--resume"))
        rp_cli_note("%zu change%s tried, %zu accepted so far: --resume goes on", result->tried,
                    rp_plural(result->tried), result->accepted);
    return code;
}

int rp_cli_device_of_times(const struct rp_run_options *options, struct rp_device_identity *ret,
                           struct rp_err *err)
{
    struct rp_run_options run = *options;
    struct rp_environment env;
    int rc = rp_environment_detect(&env, err);

    if (rc == 0) {
        rc = rp_device_resolve(&env, &run, err);
        if (rc == 0)
            rc = rp_device_identify(&env, &run, ret, err);
        rp_environment_free(&env);
    }
    if (rc == 0 && run.device == RP_DEVICE_SOFTWARE && run.timing == RP_TIMING_OFF)
        rc =
            rp_fail(err, RP_USAGE,
                    "--timing off (or ROCM_PERF_DEVICE_TIMING): without times nothing can be found "
                    "to be faster; use counts or detailed");
    return rc;
}

/** Finds the source where --source does not name it, and says so. */
static int find_source(struct command *c, struct rp_err *err)
{
    struct rp_environment env;
    int rc = c->o.source ? 0 : rp_environment_detect(&env, err);

    if (rc < 0 || c->o.source)
        return rc;
    rc = rp_program_source_find(&env, c->o.program_path, c->o.kernel, &c->found, err);
    rp_environment_free(&env);
    if (rc < 0)
        return rc;
    c->o.source = c->found.path;
    rp_cli_note("--source %s, according to %s", c->found.path, c->found.from);
    return 0;
}

static struct rp_session_options session_options(struct command *c)
{
    const struct rp_optimize_cli *a = &c->args;

    return (struct rp_session_options){
        .source = a->source,
        .build = {.build = a->build,
                  .compile_commands = a->compile_commands,
                  .flags = a->flags,
                  .unit = a->unit},
        .kernel = a->kernel,
        .proposer = rp_proposer_named(a->proposer),
        .llm_settings = a->llm_config,
        .scope = a->allow >= 0 ? RP_EDIT_BODY : RP_EDIT_UNROLL,
        .check = a->check,
        .compare = a->compare,
        .most_attempts = (unsigned)a->max_iters,
        .most_rounds = (unsigned)a->max_rounds,
        .most_geometries = (unsigned)a->geometries,
        .least_improvement = a->min_improvement,
        .budget_s = a->budget_s,
        .timeout_s = a->timeout_s,
        .device = a->device,
        .timing = a->timing >= 0 ? rp_timing_words[a->timing] : NULL,
        .folder = a->output,
        .resume = a->resume,
        .dry_run = a->dry_run,
        .sandbox = {.none = a->no_sandbox,
                    .writable = a->writable.at,
                    .writable_count = a->writable.count},
        .apply = a->apply,
        .program = a->args.operands,
        .progress = rp_work_progress_note,
        .waiting = rp_work_progress_wait,
        .context = &c->progress,
    };
}

static void free_command(struct command *c)
{
    rp_program_source_free(&c->found);
    free(c->words);
}

int rp_cmd_optimize(int argc, char **argv)
{
    rp_cleanup(free_command) struct command c = {.words = rp_words_copy(argc, argv)};
    struct rp_session_result result = {0};
    struct rp_err err = RP_ERR_INIT;
    rp_autofree char *self = realpath("/proc/self/exe", NULL);
    rp_autofree char *program = NULL;
    const char *ended;
    int code = 0, rc;

    if (!rp_options_parse(RP_COMMAND_optimize, argc, argv, &c.args, &code))
        return code;
    c.o = session_options(&c);
    rp_device_options_read(c.args.device, c.args.threads, 0, c.args.timing, &c.o.run);
    rc = rp_find_program(c.o.program[0], &program, &err);
    if (rc == 0 && !self)
        rc = rp_fail(&err, RP_ENVIRONMENT, "/proc is not there");
    if (rc == 0)
        rc = rp_cli_device_of_times(&c.o.run, &c.on, &err);
    c.o.self = self;
    c.o.on = &c.on;
    c.o.program_path = program;
    if (rc == 0)
        rc = find_source(&c, &err);
    c.o.build.has_lines = rc == 0 && rp_has_source_lines(program);
    /* Signals are caught until the end, so that what was accepted is written. */
    rp_proc_catch_signals();
    c.progress = rp_work_progress_begin(c.o.resume ? 0 : c.o.budget_s);
    if (rc == 0)
        rc = rp_session_run(&c.o, &result, &err);
    rp_progress_line_clear(&c.progress.line);
    rp_device_identity_free(&c.on);
    if (result.json)
        code = print(&c, &result);
    if (rc < 0) {
        code = print_failure(&result, &err);
        rp_session_result_free(&result);
        return code;
    }
    ended = json_string_value(json_object_get(result.json, "proposer_ended"));
    if (ended)
        rp_cli_note("no more proposals: %s; --resume goes on", ended);
    if (code == RP_OK && !result.accepted)
        code = result.proposer_failed ? RP_ENVIRONMENT : RP_VERDICT;
    rp_session_result_free(&result);
    return code;
}

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/process.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "experiment/measured_run.h"
#include "run/machine.h"
#include "tune/autotune.h"
#include "tune/program_runner.h"
#include "tune/strategy.h"
#include "tune/worker_pool.h"

struct command {
    struct rp_autotune_cli args;
    struct rp_autotune_options o;
    char *all_gpus; /**< of --gpus all: what args.gpus points to then */
    char **words;   /**< the command line as it was written; NULL: not known */
};

/** An output must not replace one of the search's own files: without the journal all answers would
 * be lost. */
static int check_folder(const char *option, const char *path, const char *folder,
                        struct rp_err *err)
{
    static const char *const own[] = {"journal.jsonl", "journal.jsonl.head", "autotune.json",
                                      "lock"};
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < sizeof own / sizeof *own; i++) {
        rp_autofree char *file = rp_path_join(folder, own[i]);

        if (rp_same_file(file, path))
            rc = rp_fail(err, RP_USAGE, "%s %s is a file of the search itself: take another name",
                         option, path);
    }
    return rc;
}

/** No output may replace another one, or an input. */
static int check_files(const struct rp_autotune_options *o, struct rp_err *err)
{
    enum { OUTPUTS = 5 };
    const struct {
        const char *option, *path;
    } files[] = {{"--plot", o->plot},           {"--export-t4", o->export_t4},
                 {"--export-t1", o->export_t1}, {"--export-triton", o->export_triton},
                 {"--tuned-csv", o->tuned_csv}, {"--space", o->space},
                 {"--simulate", o->simulate},   {"--import", o->import}};
    int rc = 0;

    for (size_t i = 0; o->folder && rc == 0 && i < OUTPUTS; i++)
        if (files[i].path)
            rc = check_folder(files[i].option, files[i].path, o->folder, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < OUTPUTS; i++)
        for (size_t j = i + 1; files[i].path && j < sizeof files / sizeof *files; j++)
            if (files[j].path && rp_same_file(files[i].path, files[j].path))
                return rp_fail(err, RP_USAGE, "%s and %s are the same file: %s", files[i].option,
                               files[j].option, files[i].path);
    return 0;
}

static int check_gpus(const struct rp_word_list *gpus, struct rp_err *err)
{
    for (size_t i = 0; i < gpus->count; i++) {
        if (strcmp(gpus->at[i], "all") == 0 && gpus->count > 1)
            return rp_fail(err, RP_USAGE, "--gpus all goes with no others");
        for (size_t j = 0; j < i; j++)
            if (strcmp(gpus->at[i], gpus->at[j]) == 0)
                return rp_fail(err, RP_USAGE,
                               "--gpus names GPU %s twice: two workers on one disturb each other",
                               gpus->at[i]);
    }
    return 0;
}

static int read_repeats(const char *word, struct rp_search_options *to, struct rp_err *err)
{
    char *end;
    long least = strtol(word, &end, 10), most = least;

    if (*end == ':') {
        word = end + 1;
        most = strtol(word, &end, 10);
    }
    if (end == word || *end || least < 1 || most < least || most > 1000)
        return rp_fail(err, RP_USAGE,
                       "--repeats: use MIN:MAX, two whole numbers from 1 to 1000, like 1:9");
    to->least_samples = (unsigned)least;
    to->most_samples = (unsigned)most;
    return 0;
}

/** Reads how long and how often the search runs, and where it begins. */
static struct rp_search_options search_options(const struct rp_autotune_cli *a)
{
    return (struct rp_search_options){
        .seed = a->seed,
        .max_fraction = a->max_fraction,
        .seed_fraction = a->seed_fraction,
        .timeout_ms = a->timeout_s * 1000,
        .warmups = (unsigned)a->warmup,
        .budget_ms = a->budget_s * 1000,
        .target_ms = a->target_ms,
        .budget_evals = (size_t)a->budget_evals,
        .patience = (size_t)a->patience,
        /* A recorded space has no command that could be wrong. */
        .most_failures =
            a->simulate && !RP_IS_GIVEN(autotune, a, max_failures) ? 0 : (size_t)a->max_failures,
        .finalists = (unsigned)a->top,
    };
}

static struct rp_program_runner_options runner_options(const struct rp_autotune_cli *a)
{
    static const char *const launchers[] = {"local", "slurm"};
    static const double units_ns[] = {1, 1e3, 1e6, 1e9};

    return (struct rp_program_runner_options){
        .command = a->command,
        .build = a->build,
        .flags = (a->shell ? RP_TEMPLATE_SHELL : 0) | (a->env ? RP_TEMPLATE_ENVIRONMENT : 0),
        .check = a->check,
        .objective = a->output_regex ? RP_OBJECTIVE_OUTPUT
                     : a->wallclock  ? RP_OBJECTIVE_WALL
                                     : RP_OBJECTIVE_DISPATCH,
        .pattern = a->output_regex,
        .unit_ns = units_ns[a->output_unit],
        .memory_bytes = a->memory_mb << 20,
        .pool = {.workers = (unsigned)a->workers,
                 .launcher = RP_IS_GIVEN(autotune, a, launcher)
                                 ? rp_launcher_named(launchers[a->launcher])
                                 : NULL,
                 .gpus = (const char **)a->gpus.at,
                 .step_words = (const char **)a->srun.at,
                 .allocation_words = (const char **)a->salloc.at},
    };
}

static int read_objectives(struct command *c, struct rp_err *err)
{
    struct rp_objectives *objectives = &c->o.search.objectives;
    const struct rp_autotune_cli *a = &c->args;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < a->objectives.count; i++)
        rc = rp_objectives_add(objectives, a->objectives.at[i], err);
    for (size_t i = 0; rc == 0 && i < a->limits.count; i++)
        rc = rp_objectives_limit(objectives, a->limits.at[i], err);
    if (objectives->count)
        c->o.live.objective = RP_OBJECTIVE_WALL;
    for (size_t i = 0; i < objectives->count; i++)
        if (rp_number_rows[objectives->numbers[i].source].traced)
            c->o.live.objective = RP_OBJECTIVE_DISPATCH;
    return rc;
}

static int read_options(struct command *c, struct rp_err *err)
{
    const struct rp_autotune_cli *a = &c->args;

    c->o = (struct rp_autotune_options){
        .space = a->space,
        .simulate = a->simulate,
        .folder = a->output || a->simulate ? a->output : "autotune_result",
        .import = a->import,
        .resume = a->resume,
        .plot = a->plot,
        .export_t4 = a->export_t4,
        .export_t1 = a->export_t1,
        .export_triton = a->export_triton,
        .tuned_csv = a->tuned_csv,
        .shape = a->shape,
        .strategy = a->strategy,
        .workers = (unsigned)a->workers,
        .search = search_options(a),
        .live = runner_options(a),
    };
    rp_device_options_read(a->device, a->threads, 0, a->timing, &c->o.live.pool.run);
    if (a->seed_fraction > a->max_fraction)
        return rp_fail(err, RP_USAGE,
                       "--seed-fraction %.6g is more than --max-fraction %.6g, which the whole "
                       "search may run: raise that, too",
                       a->seed_fraction, a->max_fraction);
    if (read_objectives(c, err) < 0 || read_repeats(a->repeats, &c->o.search, err) < 0 ||
        check_gpus(&a->gpus, err) < 0)
        return -(int)err->code;
    return a->worker ? 0 : check_files(&c->o, err);
}

/** Expands --gpus all to all GPUs that there are.
 * @return 0; RP_ENVIRONMENT */
static int find_gpus(struct command *c, struct rp_err *err)
{
    struct rp_word_list *gpus = &c->args.gpus;
    int rc = 0;

    if (!gpus->count || strcmp(gpus->at[0], "all") != 0)
        return 0;
    rc = rp_gpu_choice(&c->o.live.pool.run, &c->all_gpus, err);
    gpus->count = 0;
    if (rc == 0)
        rp_word_list_split(c->all_gpus, ",", gpus);
    return rc;
}

/** The struct holds what is shown during the search. */
struct session {
    struct rp_progress_line line;
    double began_ms,
        said_ms; /**< of the enumeration: when it began, and when it was last told of */
};

static double now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static void note(void *context, const char *line)
{
    struct session *session = context;

    rp_progress_line_clear(&session->line);
    rp_cli_note("%s", line);
}

/** Without a terminal these get a line: each configuration that is faster, and of failures the
 * first, second, fourth... */
static bool deserves_line(const struct rp_search_progress *p)
{
    if (strcmp(p->phase, "confirm") == 0)
        return false;
    return p->best ? p->last == p->best : (p->evaluated & (p->evaluated - 1)) == 0;
}

static void progress(void *context, const struct rp_search_progress *p)
{
    struct session *session = context;
    rp_autobuf line = {0};

    rp_autotune_put_progress(p, session->line.terminal, &line);
    rp_progress_line_show(&session->line, rp_buf_text(&line));
    if (!session->line.terminal && deserves_line(p))
        rp_cli_note("%s", rp_buf_text(&line));
}

/** Most spaces are counted at once. Progress is shown on a terminal each second after two,
 * elsewhere after 2, 4, 8 s... */
static void counting(void *context, uint64_t tried, uint64_t most, size_t found)
{
    enum { PATIENCE_MS = 2000, EACH_MS = 1000 };
    struct session *session = context;
    const double ms = now_ms() - session->began_ms;
    const double wait_ms = session->line.terminal ? EACH_MS : session->said_ms;
    rp_autobuf line = {0};

    if (ms < PATIENCE_MS || ms < session->said_ms + wait_ms)
        return;
    session->said_ms = ms;
    rp_buf_printf(&line,
                  "the space: %.0f million combinations tried (at most %.0f million), %zu "
                  "configurations so far",
                  (double)tried / 1e6, (double)most / 1e6, found);
    rp_progress_line_show(&session->line, rp_buf_text(&line));
    if (!session->line.terminal)
        rp_cli_note("%s", rp_buf_text(&line));
}

/** Names the limit that ended a search too early, with twice of it.
 * @return NULL: no other limit would help */
static const char *raised_limit(const struct command *c, const json_t *result, char value[32])
{
    const json_int_t most = json_integer_value(json_object_get(result, "max_configs"));
    const json_int_t size = json_integer_value(json_object_get(result, "search_space_size"));
    const char *ended = json_string_value(json_object_get(result, "ended_by"));
    const struct rp_search_options *o = &c->o.search;
    const bool found = json_is_object(json_object_get(result, "best_config"));

    if (strcmp(ended, "small_space") == 0 && !found) {
        snprintf(value, 32, "1");
        return "--max-fraction";
    }
    if (!found || !json_is_string(json_object_get(result, "warning")))
        return NULL;
    if (strcmp(ended, "max_fraction") == 0 && most + 1 < size) {
        snprintf(value, 32, "%.6g", o->max_fraction < 0.5 ? 2 * o->max_fraction : 1);
        return "--max-fraction";
    }
    if (strcmp(ended, "budget_evals") == 0) {
        snprintf(value, 32, "%zu", 2 * o->budget_evals);
        return "--budget-evals";
    }
    if (strcmp(ended, "budget_time") == 0) {
        snprintf(value, 32, "%.6g", 2 * c->args.budget_s);
        return "--budget-time";
    }
    return NULL;
}

/** The search goes on where it was interrupted, or where its model says that a limit came too
 * early. */
static void put_next(const struct command *c, const struct rp_autotune_result *result,
                     struct rp_buf *text)
{
    char value[32];
    const char *raised = result->interrupted ? NULL : raised_limit(c, result->json, value);
    struct rp_other_option others[2];
    size_t count = 0;

    if (result->gave_up || (!raised && !(result->interrupted && c->o.folder)))
        return;
    if (c->o.folder)
        others[count++] = (struct rp_other_option){.option = "--resume"};
    if (raised)
        others[count++] = (struct rp_other_option){.option = raised, .value = value};
    rp_next_command(&c->args.args, c->words, others, count, text);
}

static int print(const struct command *c, const struct rp_autotune_result *result)
{
    rp_autobuf text = {0};

    if (c->args.json) {
        rp_autofree char *json = json_dumps(result->json, JSON_INDENT(2) | JSON_REAL_PRECISION(12));

        rp_buf_printf(&text, "%s\n", json);
    } else if (c->args.quiet) {
        rp_autotune_put_runtime(result->json, &text);
    } else {
        rp_autotune_put_text(result->json, rp_cli_style_of(c->args.verbose), &text);
        put_next(c, result, &text);
    }
    return rp_cli_result(rp_buf_text(&text));
}

/** The pool starts this on this machine or another one. */
static int serve(const struct command *c)
{
    const struct rp_worker_options options = {.run = c->o.live.pool.run, .version = RP_VERSION};
    struct rp_err err = RP_ERR_INIT;
    bool told;

    rp_proc_catch_signals();
    if (rp_worker_serve(&options, &told, &err) == 0)
        return RP_OK;
    /* The pool says itself what its workers tell it. */
    return err.code == RP_INTERRUPTED || (c->args.quiet && told) ? (int)err.code
                                                                 : rp_cli_error(&err);
}

/** Returns zero or a negative verdict. A program that does not work is an error. */
static int verdict(const struct command *c, const struct rp_autotune_result *result)
{
    if (result->interrupted) {
        if (c->o.folder)
            rp_cli_note("interrupted: with -o %s --resume goes on", c->o.folder);
        return RP_INTERRUPTED;
    }
    if (!result->gave_up)
        return result->found ? RP_OK : RP_VERDICT;
    rp_cli_note("%s", result->gave_up);
    return RP_PROGRAM;
}

/** Launches that fail are only seen in traced runs: those of the objective, or a warm-up. */
static bool sees_launches(const struct command *c)
{
    return c->o.live.objective == RP_OBJECTIVE_DISPATCH || c->o.search.warmups > 0;
}

/** A configuration is fast, too, when its launch fails, so the user is told that this was not
 * checked. */
static void say_unchecked(const struct command *c, const struct rp_autotune_result *found)
{
    if (found->found && !c->args.quiet && !c->o.simulate && !c->o.live.check)
        rp_cli_note("nothing has checked what the program computes%s: --check COMMAND does",
                    sees_launches(c) ? ""
                                     : ", nor whether HIP has refused launches of it, which a "
                                       "warm-up would show (--warmup)");
}

/** A worker may be on another machine, so it gets the options that this command was given. */
static void add_worker_options(const struct command *c, const char **to, char threads[16])
{
    if (c->args.device) {
        *to++ = "--device";
        *to++ = c->args.device;
    }
    if (c->args.timing >= 0) {
        *to++ = "--timing";
        *to++ = rp_timing_words[c->args.timing];
    }
    if (c->o.live.pool.run.threads) {
        snprintf(threads, 16, "%" PRIu32, c->o.live.pool.run.threads);
        *to++ = "--threads";
        *to++ = threads;
    }
}

static int run(struct command *c)
{
    rp_autofree char *self = realpath("/proc/self/exe", NULL);
    const char *worker[11] = {self, "autotune", "--worker", "--quiet"};
    char threads[16];
    struct session session = {.line = rp_progress_line_begin(), .began_ms = now_ms()};
    struct rp_autotune_result result = {0};
    struct rp_err err = RP_ERR_INIT;
    int code, rc;

    if (!self) {
        rp_cli_note("/proc is not there");
        return RP_ENVIRONMENT;
    }
    add_worker_options(c, worker + 4, threads);
    c->o.live.pool.worker = worker;
    c->o.live.pool.note = c->o.note = note;
    c->o.context = c->o.search.context = c->o.live.pool.context = &session;
    c->o.search.progress = c->args.quiet ? NULL : progress;
    c->o.counting = c->args.quiet ? NULL : counting;
    rp_proc_catch_signals();
    rc = find_gpus(c, &err);
    c->o.live.pool.gpus = (const char **)c->args.gpus.at;
    if (rc == 0)
        rc = rp_autotune(&c->o, &result, &err);
    rp_progress_line_clear(&session.line);
    /* The result is printed even when a copy of it cannot be written. */
    code = result.json ? print(c, &result) : RP_OK;
    if (rc < 0)
        code = rp_cli_error(&err);
    if (code == RP_OK)
        say_unchecked(c, &result);
    if (code == RP_OK)
        code = verdict(c, &result);
    rp_autotune_result_free(&result);
    return code;
}

static void free_command(struct command *c)
{
    rp_args_free(&c->args);
    rp_objectives_free(&c->o.search.objectives);
    free(c->all_gpus);
    free(c->words);
}

int rp_cmd_autotune(int argc, char **argv)
{
    rp_cleanup(free_command) struct command c = {.words = rp_words_copy(argc, argv)};
    struct rp_err err = RP_ERR_INIT;
    int code = 0;

    if (!rp_options_parse(RP_COMMAND_autotune, argc, argv, &c.args, &code))
        return code;
    if (read_options(&c, &err) < 0)
        return rp_args_refuse(&c.args.args, &err);
    return c.args.worker ? serve(&c) : run(&c);
}

#include "tune/autotune.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/units.h"
#include "experiment/measured_run.h"
#include "experiment/session_folder.h"
#include "tune/bridge.h"
#include "tune/recorded_space.h"
#include "tune/search.h"
#include "tune/search_journal.h"
#include "tune/space.h"
#include "tune/space_file.h"
#include "tune/strategy.h"

struct autotune {
    const struct rp_autotune_options *o;
    struct rp_search_options search;
    struct rp_recorded recorded; /**< of a simulation */
    struct rp_space *own;        /**< of a file */
    struct rp_rules rules;
    struct rp_program_runner_options live;
    char *build_folder;
    struct rp_imported imported;
    struct rp_tuned_table table; /**< of --tuned-csv */
    struct rp_runner inner, remembered;
    struct rp_session_folder folder; /**< no path: nothing is kept */
    struct rp_search_result result;
    struct rp_search_about about;
};

static void note(const struct autotune *a, const char *line)
{
    if (a->o->note)
        a->o->note(a->o->context, line);
}

static void close_autotune(struct autotune *a)
{
    rp_search_result_free(&a->result);
    rp_journal_runner_close(&a->remembered);
    rp_runner_close(&a->inner);
    free(a->build_folder);
    rp_imported_free(&a->imported);
    rp_tuned_table_free(&a->table);
    rp_recorded_free(&a->recorded);
    rp_space_free(a->own);
    rp_rules_free(&a->rules);
    rp_session_folder_close(&a->folder);
}

/* --- what is searched ------------------------------------------------------------------------- */

static int open_space(struct autotune *a, struct rp_err *err)
{
    const struct rp_enumerate_watch watch = {a->o->counting, a->o->context};
    rp_autobuf notes = {0};
    int rc;

    if (a->o->simulate) {
        rc = rp_recorded_read(a->o->simulate, &a->recorded, err);
        a->search.space = a->recorded.space;
        a->about.name = a->recorded.name && *a->recorded.name ? a->recorded.name : a->o->simulate;
        return rc;
    }
    rc =
        rp_space_read(a->o->space, &notes, a->o->counting ? &watch : NULL, &a->own, &a->rules, err);
    a->search.space = a->own;
    a->about.name = a->o->space;
    a->about.command = a->live.command;
    a->live.space = a->own;
    if (rc == 0 && notes.len)
        note(a, rp_buf_text(&notes));
    return rc == 0 ? rp_program_runner_check(&a->live, err) : rc;
}

static int read_import(struct autotune *a, struct rp_err *err)
{
    rp_autofree char *line = NULL;

    if (!a->o->import)
        return 0;
    if (rp_import(a->o->import, a->search.space, &a->imported, err) < 0)
        return rp_wrap(err, "--import");
    a->search.first = a->imported.fastest;
    a->search.first_count = a->imported.fastest_count;
    line =
        rp_format("%s has %zu configuration%s of this space; the fastest %zu of them %s run first",
                  a->o->import, a->imported.known, rp_plural(a->imported.known),
                  a->imported.fastest_count, a->imported.fastest_count == 1 ? "is" : "are");
    note(a, line);
    return 0;
}

/** The row of the shape is run first, as what it says was the best one once. */
static int read_table(struct autotune *a, struct rp_err *err)
{
    rp_autofree char *line = NULL;
    int rc;

    if (!a->o->tuned_csv)
        return 0;
    rc = rp_tuned_table_read(a->o->tuned_csv, a->o->shape, a->search.space, &a->table, err);
    if (rc < 0)
        return rc;
    a->search.first = a->table.first;
    a->search.first_count = a->table.first_count;
    line =
        rp_format("%s has %s of this shape%s", a->o->tuned_csv, a->table.row ? "a row" : "no row",
                  !a->table.row               ? ""
                  : a->table.first_count == 0 ? ", which is not in the space"
                                              : ": it is run first");
    note(a, line);
    return 0;
}

static int find_strategy(struct autotune *a, struct rp_err *err)
{
    static const char *const compared[] = {"annealing", "genetic", "greedy-ils", "regression"};
    const char *name = a->o->strategy;

    a->search.strategy = name ? rp_strategy_find(name) : rp_strategy_number(0);
    if (a->search.strategy)
        return 0;
    for (size_t i = 0; i < sizeof compared / sizeof *compared; i++)
        if (strcmp(name, compared[i]) == 0)
            return rp_fail(err, RP_USAGE,
                           "--strategy %s: it was there only to be compared with portfolio, which "
                           "bench/tune-search still does; use portfolio or random",
                           name);
    return rp_fail(err, RP_USAGE, "--strategy %s: there is none of that name (--help has them)",
                   name);
}

/** Programs that were built stay in the folder, so that --resume finds them. */
static int open_live(struct autotune *a, struct rp_err *err)
{
    int rc = rp_session_folder_keep_input(&a->folder, err);

    if (rc == 0 && a->live.build)
        rc = rp_session_folder_make(&a->folder, "builds", &a->build_folder, err);
    if (rc < 0)
        return rc;
    a->live.objectives = &a->search.objectives;
    a->live.input = a->folder.input;
    a->live.build_folder = a->build_folder;
    return rp_program_runner_open(&a->live, &a->inner, err);
}

static int open_runner(struct autotune *a, struct rp_err *err)
{
    return a->o->simulate ? rp_simulated_open(&a->recorded, &a->search.objectives,
                                              a->o->workers ? a->o->workers : 1, &a->inner, err)
                          : open_live(a, err);
}

/* --- the journal ------------------------------------------------------------------------------ */

/** Answers go through the journal of the folder, if there is a folder. */
static int open_journal(struct autotune *a, struct rp_err *err)
{
    const struct rp_search_identity identity = {.search = &a->search,
                                                .live = &a->live,
                                                .runner = &a->inner,
                                                .objective = a->about.objective,
                                                .recording =
                                                    a->o->simulate ? a->recorded.sha256 : NULL};
    int rc;

    if (!a->folder.path)
        return 0;
    rc = rp_search_journal_open(&a->folder, &identity, err);
    if (rc < 0)
        return rc;
    rp_journal_runner_open(&a->folder, a->search.space, a->search.objectives.count, &a->inner,
                           &a->remembered);
    return 0;
}

/* --- what it leaves --------------------------------------------------------------------------- */

static int write_t1(const struct autotune *a, struct rp_err *err)
{
    rp_autofree char *text = NULL;

    if (!a->own)
        return rp_fail(err, RP_USAGE, "--export-t1: a recorded space has no rules to export");
    if (rp_fair_t1_text(a->own, &a->rules, a->about.name, &text, err) < 0)
        return rp_wrap(err, "--export-t1 %s", a->o->export_t1);
    return rp_write_output(a->o->export_t1, text, strlen(text), err);
}

static enum rp_fair_t4_validity validity(enum rp_evaluation_outcome outcome)
{
    switch (outcome) {
    case RP_EVALUATION_OK:
        return RP_T4_CORRECT;
    case RP_EVALUATION_TIMEOUT:
        return RP_T4_TIMEOUT;
    case RP_EVALUATION_WRONG:
        return RP_T4_CORRECTNESS;
    case RP_EVALUATION_NOT_BUILT:
        return RP_T4_COMPILE;
    case RP_EVALUATION_LIMIT:
        return RP_T4_CONSTRAINTS;
    default:
        return RP_T4_RUNTIME;
    }
}

static int write_t4(const struct autotune *a, struct rp_err *err)
{
    const struct rp_search_result *result = &a->result;
    const struct rp_fair_t4_source source = {a->about.name, a->inner.device.name,
                                             &a->search.objectives};
    const bool times =
        !a->search.objectives.count || rp_objectives_time(&a->search.objectives) == 0;
    rp_autofree struct rp_fair_t4_result *list =
        rp_alloc_zero(result->tuned_count + 1, sizeof *list);

    for (size_t i = 0; i < result->tuned_count; i++) {
        const struct rp_config_result *tuned = &result->tuned[i];

        list[i] = (struct rp_fair_t4_result){.config = tuned->config,
                                             .validity = validity(tuned->outcome),
                                             .runtime_ms = tuned->runtime_ms,
                                             .values = tuned->values,
                                             .samples_ms = tuned->samples_ms,
                                             .sample_count = times ? tuned->sample_count : 0,
                                             .compile_ms = tuned->build_ms,
                                             .bench_ms = tuned->run_ms};
    }
    return rp_fair_t4_write(a->o->export_t4, a->search.space, list, result->tuned_count, &source,
                            err);
}

static int write_plot(const struct autotune *a, struct rp_err *err)
{
    struct rp_search_about about = a->about;
    rp_autobuf svg = {0};

    about.device = a->inner.device.kind;
    rp_search_svg(&a->search, &a->result, &about, &svg);
    return rp_write_output(a->o->plot, rp_buf_text(&svg), svg.len, err);
}

static int write_json(const struct autotune *a, const json_t *json, struct rp_err *err)
{
    rp_autofree char *path = rp_path_join(a->o->folder, "autotune.json");
    rp_autofree char *text = json_dumps(json, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
    rp_autofree char *line = rp_format("%s\n", text);

    return rp_write_private_file(path, line, strlen(line), err);
}

/** The result must not be lost because a copy of it cannot be written. */
static int without(const struct autotune *a, const char *option, struct rp_err *err)
{
    const struct rp_err failed = *err;

    if (!a->o->folder)
        return rp_wrap(err, "%s", option);
    return rp_fail(err, failed.code, "%s: %s; %s/autotune.json has the result", option, failed.text,
                   a->o->folder);
}

/** The answers are in the journal already. */
static int unwritten(struct rp_err *err)
{
    const struct rp_err failed = *err;

    return rp_fail(err, failed.code, "%s: fix that: --resume runs nothing again", failed.text);
}

static int write_row(const struct autotune *a, const struct rp_finalist *best, struct rp_err *err)
{
    const double us = best->runtime_ms * 1000;
    rp_autofree char *line = NULL;
    double kept_us = 0;
    int rc = rp_tuned_table_write(a->o->tuned_csv, a->o->shape, a->search.space, best->config, us,
                                  &kept_us, err);

    if (rc < 0)
        return without(a, "--tuned-csv", err);
    if (!(kept_us > 0))
        return 0;
    line = rp_format("%s is as it was: its row says %.4f us, the best one here takes %.4f us",
                     a->o->tuned_csv, kept_us, us);
    note(a, line);
    return 0;
}

/** Leaves the best one where users keep it. Nothing is written without one. */
static int write_best(const struct autotune *a, struct rp_err *err)
{
    const struct rp_finalist *best = a->result.finalist_count ? a->result.finalists : NULL;
    rp_autobuf text = {0};
    int rc;

    if (!best || a->result.end == RP_END_INTERRUPT)
        return 0;
    if (a->o->export_triton) {
        rp_triton_put(a->search.space, best->config, &text);
        rc = rp_write_output(a->o->export_triton, rp_buf_text(&text), text.len, err);
        if (rc < 0)
            return without(a, "--export-triton", err);
    }
    return a->o->tuned_csv ? write_row(a, best, err) : 0;
}

static int leave(const struct autotune *a, const json_t *json, struct rp_err *err)
{
    int rc = rp_session_folder_check_place(&a->folder, err);

    if (rc < 0)
        return rc;
    rc = a->o->folder ? write_json(a, json, err) : 0;
    if (rc == 0 && a->folder.journal)
        rc = rp_search_journal_end(&a->folder, err);
    if (rc < 0)
        return unwritten(err);
    if (a->o->plot && (rc = write_plot(a, err)) < 0)
        return without(a, "--plot", err);
    if (a->o->export_t4 && (rc = write_t4(a, err)) < 0)
        return without(a, "--export-t4", err);
    return write_best(a, err);
}

/** A fraction that is less than one configuration stands for one. */
static void note_small_seed(const struct autotune *a)
{
    const struct rp_search_options *o = &a->search;
    const double count = (double)o->space->count;
    rp_autofree char *line = NULL;

    if (o->seed_fraction <= 0 || o->seed_fraction * count >= 1 || count < 2 ||
        o->max_fraction * count < 1)
        return;
    line = rp_format("--seed-fraction %.6g of %zu configurations is less than one of them: the "
                     "first phase runs one",
                     o->seed_fraction, o->space->count);
    note(a, line);
}

/** The first failure tells most, because those behind it often have the same cause. */
static char *why_given_up(const struct autotune *a)
{
    const struct rp_config_result *first = &a->result.tuned[0];
    const size_t count = a->result.tuned_count;
    rp_autofree char *all =
        count == 1
            ? rp_strdup("the first configuration has failed")
            : rp_format("the first %zu configurations have all failed; the first one", count);
    rp_autobuf values = {0};

    rp_search_put_parameters(a->search.space, first->config, &values);
    return rp_format("%s (%s): %s%s%s; fix the command and take another -o, or go on with "
                     "--resume --max-failures 0",
                     all, rp_buf_text(&values), rp_evaluation_outcome_word(first->outcome),
                     first->reason ? ": " : "", first->reason ? first->reason : "");
}

/** The outputs are checked here, so that they do not fail after an hour of runs. */
static int check_outputs(const struct rp_autotune_options *o, struct rp_err *err)
{
    const struct {
        const char *option, *path;
    } outputs[] = {{"--plot", o->plot},
                   {"--export-t4", o->export_t4},
                   {"--export-t1", o->export_t1},
                   {"--export-triton", o->export_triton},
                   {"--tuned-csv", o->tuned_csv}};

    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++)
        if (outputs[i].path && rp_check_output(outputs[i].path, err) < 0)
            return rp_wrap(err, "%s", outputs[i].option);
    return 0;
}

static int run(struct autotune *a, struct rp_autotune_result *ret, struct rp_err *err)
{
    const struct rp_runner *runner;
    int rc;

    if ((rc = find_strategy(a, err)) < 0 || (rc = open_space(a, err)) < 0 ||
        (rc = read_import(a, err)) < 0 || (rc = read_table(a, err)) < 0)
        return rc;
    note_small_seed(a);
    if ((rc = check_outputs(a->o, err)) < 0 || (a->o->export_t1 && (rc = write_t1(a, err)) < 0))
        return rc;
    if (!a->o->simulate && (rc = rp_program_runner_check_device(&a->live, err)) < 0)
        return rc;
    if (a->folder.path && (rc = rp_session_folder_claim(&a->folder, err)) < 0)
        return rc;
    if ((rc = open_runner(a, err)) < 0 || (rc = open_journal(a, err)) < 0)
        return rc;
    runner = a->folder.journal ? &a->remembered : &a->inner;
    if ((rc = rp_search(&a->search, runner, &a->result, err)) < 0)
        return rc;
    ret->json = rp_search_json(&a->search, runner, &a->result, &a->about);
    if (!ret->json)
        return rp_fail(err, RP_BAD_INPUT,
                       "the result has a name or a number that JSON cannot hold");
    ret->found = !json_is_null(json_object_get(ret->json, "best_config"));
    ret->interrupted = a->result.end == RP_END_INTERRUPT;
    if (a->result.end == RP_END_FAILURES && !ret->found)
        ret->gave_up = why_given_up(a);
    return leave(a, ret->json, err);
}

int rp_autotune(const struct rp_autotune_options *options, struct rp_autotune_result *ret,
                struct rp_err *err)
{
    struct autotune a = {.o = options,
                         .search = options->search,
                         .live = options->live,
                         .folder = {.path = options->folder,
                                    .noun = "search",
                                    .resume = options->resume,
                                    .note = options->note,
                                    .context = options->context,
                                    .lock = -1},
                         .about = {.objective = options->simulate
                                                    ? "recorded"
                                                    : rp_objective_word(options->live.objective)}};
    int rc;

    *ret = (struct rp_autotune_result){0};
    rc = run(&a, ret, err);
    close_autotune(&a);
    return rc;
}

void rp_autotune_result_free(struct rp_autotune_result *result)
{
    json_decref(result->json);
    free(result->gave_up);
    *result = (struct rp_autotune_result){0};
}

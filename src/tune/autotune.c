#include "tune/autotune.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/journal.h"
#include "base/path.h"
#include "base/sha256.h"
#include "tune/enumerate.h"
#include "tune/import.h"
#include "tune/json_space.h"
#include "tune/recorded.h"
#include "tune/remembered.h"
#include "tune/results_t4.h"
#include "tune/search_json.h"
#include "tune/simulated.h"
#include "tune/space.h"
#include "tune/space_file.h"
#include "tune/strategy.h"
#include "tune/t1.h"

struct autotune {
    const struct rp_autotune_options *o;
    struct rp_search_options search;
    struct rp_recorded recorded; /**< of a simulation */
    struct rp_space *own;        /**< of a file */
    struct rp_rules rules;
    struct rp_live_options live;
    char *build_folder;
    struct rp_imported imported;
    struct rp_runner inner, remembered;
    struct rp_journal *journal;
    int lock_fd;
    struct rp_search_result result;
    struct rp_search_about about;
};

static int out_of_memory(struct rp_err *err)
{
    return rp_fail(err, RP_ENVIRONMENT, "out of memory");
}

static void note(const struct autotune *a, const char *line)
{
    if (a->o->note)
        a->o->note(a->o->context, line);
}

static void close_autotune(struct autotune *a)
{
    rp_search_result_free(&a->result);
    rp_remembered_close(&a->remembered);
    if (a->o->simulate)
        rp_simulated_close(&a->inner);
    else
        rp_live_close(&a->inner);
    free(a->build_folder);
    rp_imported_free(&a->imported);
    rp_journal_close(a->journal);
    rp_recorded_free(&a->recorded);
    rp_space_free(a->own);
    rp_rules_free(&a->rules);
    if (a->lock_fd >= 0)
        close(a->lock_fd);
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
    return rc == 0 ? rp_live_check(&a->live, err) : rc;
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
    line = rp_format("%s has %zu configurations of this space; the %zu fastest are run first",
                     a->o->import, a->imported.known, a->imported.fastest_count);
    if (line)
        note(a, line);
    return 0;
}

static int find_strategy(struct autotune *a, struct rp_err *err)
{
    a->search.strategy = a->o->strategy ? rp_strategy_find(a->o->strategy) : rp_strategy_number(0);
    return a->search.strategy ? 0
                              : rp_fail(err, RP_USAGE,
                                        "--strategy %s: there is none of that name (--help has "
                                        "them)",
                                        a->o->strategy);
}

/** Programs that were built stay in the folder, for --resume. */
static int open_live(struct autotune *a, struct rp_err *err)
{
    rp_autofree char *builds = NULL;
    int rc;

    if (a->live.build) {
        builds = rp_path_join(a->o->folder, "builds");
        if (!builds)
            return out_of_memory(err);
        if ((rc = rp_mkdirs(builds, err)) < 0)
            return rc;
        a->build_folder = realpath(builds, NULL);
        if (!a->build_folder)
            return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot use %s", builds);
        a->live.build_folder = a->build_folder;
    }
    return rp_live_open(&a->live, &a->inner, err);
}

static int open_runner(struct autotune *a, struct rp_err *err)
{
    return a->o->simulate
               ? rp_simulated_open(&a->recorded, a->o->workers ? a->o->workers : 1, &a->inner, err)
               : open_live(a, err);
}

/* --- the journal ------------------------------------------------------------------------------ */

/** The parameters as they were given, and which of their combinations there are. */
static void hash_space(const struct rp_space *space, char ret[RP_SHA256_TEXT])
{
    rp_autobuf text = {0};
    char choices[RP_SHA256_TEXT];

    rp_sha256(space->choices, space->count * space->parameter_count * sizeof *space->choices,
              choices);
    rp_buf_puts(&text, choices);
    for (size_t i = 0; i < space->parameter_count; i++) {
        rp_buf_printf(&text, "\n%s", space->parameters[i].name);
        for (size_t j = 0; j < space->parameters[i].count; j++) {
            rp_buf_printf(&text, "%c%d", 0, (int)space->parameters[i].values[j].kind);
            rp_value_text(&space->parameters[i].values[j], &text);
        }
    }
    rp_sha256(rp_buf_text(&text), text.len, ret);
}

/** What is run, as far as texts say it; they need not be UTF-8. */
static bool add_texts(const struct rp_live_options *live, json_t *to)
{
    const struct {
        const char *key, *text;
    } texts[] = {{"command", live->command},
                 {"build", live->build},
                 {"check", live->check},
                 {"pattern", live->pattern}};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].text &&
            json_object_set_new(to, texts[i].key,
                                rp_journal_text(texts[i].text, strlen(texts[i].text))) < 0)
            return false;
    return true;
}

static bool add_first(const struct rp_search_options *search, json_t *to)
{
    json_t *list = json_array();

    for (size_t i = 0; i < search->first_count; i++)
        if (!list || json_array_append_new(list, json_integer(search->first[i])) < 0)
            break;
    return json_object_set_new(to, "first", list) == 0 &&
           json_array_size(list) == search->first_count;
}

/** All that decides what is asked and what comes of it. */
static json_t *identity(const struct autotune *a)
{
    const struct rp_search_options *s = &a->search;
    const struct rp_run_device *device = &a->inner.device;
    char space[RP_SHA256_TEXT];
    json_t *json;

    hash_space(s->space, space);
    json = json_pack("{s:s,s:s,s:f,s:i,s:I, s:s,s:s,s:s,s:s,s:i, s:s,s:I,s:f,s:I,s:f,s:f,s:I,s:f,"
                     "s:i,s:i,s:i,s:i}",
                     "space_sha256", space, "objective", a->about.objective, "unit_ns",
                     a->live.unit_ns, "flags", (int)a->live.flags, "memory_bytes",
                     (json_int_t)a->live.memory_bytes, "device", device->kind, "device_name",
                     device->name, "timing", device->timing, "rocm", device->rocm, "workers",
                     (int)a->inner.workers, "strategy", s->strategy->name, "seed",
                     (json_int_t)s->seed, "max_fraction", s->max_fraction, "budget_evals",
                     (json_int_t)s->budget_evals, "budget_ms", s->budget_ms, "target_ms",
                     s->target_ms, "patience", (json_int_t)s->patience, "timeout_ms", s->timeout_ms,
                     "least_samples", (int)s->least_samples, "most_samples", (int)s->most_samples,
                     "warmups", (int)s->warmups, "finalists", (int)s->finalists);
    if (json && (!add_texts(&a->live, json) || !add_first(s, json))) {
        json_decref(json);
        json = NULL;
    }
    return json;
}

/** Before workers are started. */
static int check_new(const struct autotune *a, struct rp_err *err)
{
    rp_autofree char *path = rp_path_join(a->o->folder, "journal.jsonl");

    if (!path)
        return out_of_memory(err);
    if (!a->o->resume && rp_path_exists(path))
        return rp_fail(err, RP_USAGE, "%s is there already: --resume goes on with it", path);
    if (a->o->resume && !rp_path_exists(path))
        return rp_fail(err, RP_BAD_INPUT, "%s is not there: there is nothing to go on with", path);
    return 0;
}

static int lock_folder(struct autotune *a, struct rp_err *err)
{
    rp_autofree char *path = NULL;
    int rc;

    if (!a->o->folder)
        return 0;
    if ((rc = rp_mkdirs(a->o->folder, err)) < 0)
        return rc;
    path = rp_path_join(a->o->folder, "lock");
    if (!path)
        return out_of_memory(err);
    a->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (a->lock_fd < 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot make %s", path);
    if (flock(a->lock_fd, LOCK_EX | LOCK_NB) != 0)
        return rp_fail(err, RP_USAGE, "%s is in use by another search: choose another -o",
                       a->o->folder);
    return check_new(a, err);
}

static void note_resumed(const struct autotune *a, uint64_t cut_bytes)
{
    rp_autofree char *line =
        rp_format("%zu answers are in the journal%s", rp_remembered_count(&a->remembered),
                  cut_bytes ? "; what a kill left of the last line is cut off" : "");

    if (line)
        note(a, line);
}

/** What was another in the search that began the journal; of long values only the name. */
static int compare_identity(const json_t *its, json_t *mine, const char *path, struct rp_err *err)
{
    enum { MOST_VALUE = 60 };
    rp_autobuf differ = {0};
    const char *key;
    json_t *now;

    json_object_foreach(mine, key, now)
    {
        const json_t *then = json_object_get(its, key);
        rp_autofree char *now_text = json_dumps(now, JSON_COMPACT | JSON_ENCODE_ANY);
        rp_autofree char *then_text =
            then ? json_dumps(then, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;

        /* as texts: numbers in the journal went through one */
        if (!now_text || (then_text && strcmp(now_text, then_text) == 0))
            continue;
        rp_buf_printf(&differ, "%s%s", differ.len ? "; " : "", key);
        if (then_text && strlen(then_text) <= MOST_VALUE && strlen(now_text) <= MOST_VALUE)
            rp_buf_printf(&differ, " was %s, is %s", then_text, now_text);
    }
    if (differ.failed)
        return out_of_memory(err);
    return differ.len
               ? rp_fail(err, RP_USAGE, "%s was begun otherwise: %s", path, rp_buf_text(&differ))
               : 0;
}

static int begin_journal(struct autotune *a, const char *path, uint64_t *ret_cut,
                         struct rp_err *err)
{
    json_t *mine = identity(a);
    int rc;

    if (!mine)
        return out_of_memory(err);
    if (!a->o->resume) {
        rc = rp_journal_create(path, &a->journal, err);
        return rc < 0 ? (json_decref(mine), rc)
                      : rp_journal_add(a->journal, "autotune", NULL, mine, err);
    }
    rc = rp_journal_resume(path, &a->journal, ret_cut, err);
    if (rc == 0)
        rc = compare_identity(rp_journal_find(a->journal, "autotune", NULL), mine, path, err);
    json_decref(mine);
    return rc;
}

/** With a folder, answers go through the journal there. */
static int open_journal(struct autotune *a, struct rp_err *err)
{
    rp_autofree char *path = NULL;
    uint64_t cut = 0;
    int rc;

    if (!a->o->folder)
        return 0;
    path = rp_path_join(a->o->folder, "journal.jsonl");
    rc = path ? begin_journal(a, path, &cut, err) : out_of_memory(err);
    if (rc == 0)
        rc = rp_remembered_open(a->journal, a->search.space, &a->inner, &a->remembered, err);
    if (rc == 0 && a->o->resume)
        note_resumed(a, cut);
    return rc;
}

/* --- what it leaves --------------------------------------------------------------------------- */

static int write_t1(const struct autotune *a, struct rp_err *err)
{
    rp_autofree char *text = NULL;

    if (!a->own)
        return rp_fail(err, RP_USAGE, "--export-t1: a recorded space has no rules to export");
    if (rp_t1_text(a->own, &a->rules, a->about.name, &text, err) < 0)
        return rp_wrap(err, "--export-t1 %s", a->o->export_t1);
    return rp_write_output(a->o->export_t1, text, strlen(text), err);
}

static enum rp_t4_validity validity(enum rp_evaluation_outcome outcome)
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
    default:
        return RP_T4_RUNTIME;
    }
}

static int write_t4(const struct autotune *a, struct rp_err *err)
{
    const struct rp_search_result *result = &a->result;
    const struct rp_t4_source source = {a->about.name, a->inner.device.name};
    rp_autofree struct rp_t4_result *list = calloc(result->tuned_count + 1, sizeof *list);

    if (!list)
        return out_of_memory(err);
    for (size_t i = 0; i < result->tuned_count; i++) {
        const struct rp_tuned *tuned = &result->tuned[i];

        list[i] = (struct rp_t4_result){.config = tuned->config,
                                        .validity = validity(tuned->outcome),
                                        .runtime_ms = tuned->runtime_ms,
                                        .samples_ms = tuned->samples_ms,
                                        .sample_count = tuned->sample_count,
                                        .compile_ms = tuned->build_ms,
                                        .bench_ms = tuned->run_ms};
    }
    return rp_t4_write(a->o->export_t4, a->search.space, list, result->tuned_count, &source, err);
}

static int write_plot(const struct autotune *a, struct rp_err *err)
{
    struct rp_search_about about = a->about;
    rp_autobuf svg = {0};

    about.device = a->inner.device.kind;
    rp_search_svg(&a->search, &a->result, &about, &svg);
    return svg.failed ? out_of_memory(err)
                      : rp_write_output(a->o->plot, rp_buf_text(&svg), svg.len, err);
}

static int write_json(const struct autotune *a, const json_t *json, struct rp_err *err)
{
    rp_autofree char *path = rp_path_join(a->o->folder, "autotune.json");
    rp_autofree char *text = json_dumps(json, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
    rp_autofree char *line = text ? rp_format("%s\n", text) : NULL;

    return path && line ? rp_write_file(path, line, strlen(line), err) : out_of_memory(err);
}

static int leave(const struct autotune *a, const json_t *json, struct rp_err *err)
{
    int rc = a->o->folder ? write_json(a, json, err) : 0;

    if (rc == 0 && a->o->plot)
        rc = write_plot(a, err);
    if (rc == 0 && a->o->export_t4)
        rc = write_t4(a, err);
    return rc;
}

/** The first failure tells most: those behind it are often due to the same. */
static char *why_given_up(const struct autotune *a)
{
    const struct rp_tuned *first = &a->result.tuned[0];
    rp_autobuf values = {0};

    rp_search_put_parameters(a->search.space, first->config, &values);
    return rp_format(
        "the first %zu configurations have all failed; the first one (%s): %s%s%s; "
        "mend the command and take another -o, or go on with --resume --max-failures 0",
        a->result.tuned_count, rp_buf_text(&values), rp_evaluation_outcome_word(first->outcome),
        first->reason ? ": " : "", first->reason ? first->reason : "");
}

static int run(struct autotune *a, struct rp_autotune_result *ret, struct rp_err *err)
{
    const struct rp_runner *runner;
    int rc;

    if ((rc = find_strategy(a, err)) < 0 || (rc = open_space(a, err)) < 0 ||
        (rc = read_import(a, err)) < 0)
        return rc;
    if (a->o->export_t1 && (rc = write_t1(a, err)) < 0)
        return rc;
    if ((rc = lock_folder(a, err)) < 0 || (rc = open_runner(a, err)) < 0 ||
        (rc = open_journal(a, err)) < 0)
        return rc;
    runner = a->journal ? &a->remembered : &a->inner;
    if ((rc = rp_search(&a->search, runner, &a->result, err)) < 0)
        return rc;
    ret->json = rp_search_json(&a->search, runner, &a->result, &a->about);
    if (!ret->json)
        return out_of_memory(err);
    ret->found = !json_is_null(json_object_get(ret->json, "best_config"));
    ret->interrupted = a->result.end == RP_END_INTERRUPT;
    if (a->result.end == RP_END_FAILURES && !ret->found && !(ret->gave_up = why_given_up(a)))
        return out_of_memory(err);
    return leave(a, ret->json, err);
}

int rp_autotune(const struct rp_autotune_options *options, struct rp_autotune_result *ret,
                struct rp_err *err)
{
    struct autotune a = {.o = options,
                         .search = options->search,
                         .live = options->live,
                         .lock_fd = -1,
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

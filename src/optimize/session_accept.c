/* A faster candidate is confirmed by fresh sessions, and then tried in the whole program. */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/roofline.h"
#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/stats.h"
#include "base/units.h"
#include "experiment/build_command.h"
#include "optimize/session_parts.h"

enum { RP_MAX_CONFIRMATIONS = 20 };

/* As in replay compare, this is the probability of a false acceptance among all candidates of a
 * session. */
static const double ALPHA = 0.01;

static void end_with(struct rp_session_candidate *tried, enum rp_outcome outcome,
                     const char *reason)
{
    free(tried->reason);
    tried->reason = rp_strdup(reason);
    tried->outcome = outcome;
    json_object_set_new(tried->json, "outcome", json_string(rp_outcome_word(outcome)));
    json_object_set_new(tried->json, "reason", rp_session_text(reason));
}

/* The candidate's sums are in another order, for which other inputs say how far they may be off. */
static const char *rounding_of(const struct rp_session_candidate *tried)
{
    return tried->reason ? strstr(tried->reason, "; changes rounding: ") : NULL;
}

/** Widens the range by the runs of one kernel in a block. */
static void add_runs(const json_t *runs_us, double range[2])
{
    const json_t *us;
    size_t i;

    json_array_foreach(runs_us, i, us)
    {
        range[0] = fmin(range[0], json_number_value(us));
        range[1] = fmax(range[1], json_number_value(us));
    }
}

/** Finds between which ratios all runs with the captured values lie. What the session says of the
 * candidate may be less, where it gains less with other values in memory. */
static void captured_ratios(const json_t *one, double ret[2])
{
    const json_t *blocks = json_object_get(json_object_get(one, "comparison"), "blocks"), *block;
    double a[2] = {INFINITY, 0}, b[2] = {INFINITY, 0};
    size_t i;

    json_array_foreach(blocks, i, block)
    {
        add_runs(json_object_get(block, "a_us"), a);
        add_runs(json_object_get(block, "b_us"), b);
    }
    ret[0] = a[0] / b[1];
    ret[1] = a[1] / b[0];
}

/**
 * Modelled times are exact, so that a session which finds another ratio has not measured the same.
 * Only what a kernel does by a clock or by a race takes other times in each launch: then some of
 * both sessions must be the same.
 * @param first, again the comparisons of all geometries; another session with the captured values
 * alone says nothing of other kernels
 */
static bool repeats(const json_t *first, const json_t *again)
{
    static const double most = 1 + 1e-3;
    const json_t *one;
    size_t i;

    json_array_foreach(again, i, one)
    {
        double before[2], now[2];

        if (json_object_get(one, "kernel"))
            continue;
        captured_ratios(json_array_get(first, i), before);
        captured_ratios(one, now);
        if (!(before[0] < now[1] * most && now[0] < before[1] * most))
            return false;
    }
    return true;
}

/**
 * Does one fresh session. Where times are modelled, it asks whether they and the results repeat:
 * what other inputs and the checks of memory say is the same each time.
 * @param error is multiplied by the probability that this one is false, at most
 * @return 1 faster again, 0 not, negative
 */
static int confirm_once(struct rp_kernel_run *run, struct rp_session_candidate *tried,
                        unsigned number, double *error, struct rp_err *err)
{
    rp_autofree char *key = rp_format("%s/%u", tried->key, number);
    const json_t *known = rp_journal_find(run->s->journal, "confirmation", key);
    const json_t *shown = json_object_get(known, "confirmation");
    struct rp_decision d;
    json_t *comparisons, *json;
    int rc;

    if (!shown) {
        rc = rp_session_compare(run, tried, run->s->modelled && !rounding_of(tried), &d,
                                &comparisons, err);
        if (rc < 0)
            return rc;
        if (d.outcome == RP_OUTCOME_WRONG && rp_session_folder_check(&run->s->folder, err) < 0) {
            json_decref(comparisons);
            return rp_wrap(err, "%s: %s", tried->title, d.reason);
        }
        json =
            json_pack("{s:s, s:o, s:f, s:f, s:f}", "outcome", rp_outcome_word(d.outcome), "reason",
                      rp_session_text(d.reason), "ratio", d.ratio, "low", d.low, "high", d.high);
        rc = rp_journal_add(run->s->journal, "confirmation", key,
                            json_pack("{s:o, s:o, s:f}", "confirmation", json, "comparisons",
                                      comparisons, "error", d.error),
                            err);
        if (rc < 0)
            return rc;
        known = rp_journal_find(run->s->journal, "confirmation", key);
        shown = json_object_get(known, "confirmation");
    }
    if (json_is_real(json_object_get(known, "error")))
        *error *= json_number_value(json_object_get(known, "error"));
    json_array_append_new(json_object_get(tried->json, "confirmations"), json_deep_copy(shown));
    if (rp_outcome_of(json_string_value(json_object_get(shown, "outcome"))) == RP_OUTCOME_FASTER) {
        const json_t *first = rp_journal_find(run->s->journal, "attempt", tried->key);

        if (!run->s->modelled ||
            repeats(json_object_get(first, "comparisons"), json_object_get(known, "comparisons")))
            return 1;
        end_with(tried, RP_OUTCOME_NOT_CONFIRMED,
                 "its modelled time is another one in each session");
        return 0;
    }
    end_with(tried, RP_OUTCOME_NOT_CONFIRMED,
             json_string_value(json_object_get(shown, "reason")) ?: "?");
    return 0;
}

static int confirm(struct rp_kernel_run *run, struct rp_session_candidate *tried,
                   struct rp_err *err)
{
    double error = tried->error;
    unsigned made = 0;
    int rc = 1;

    json_object_set_new(tried->json, "confirmations", json_array());
    while (rc == 1 && !rp_is_confirmed(tried->measured, made, error, ALPHA, run->s->modelled)) {
        if (made == RP_MAX_CONFIRMATIONS) {
            end_with(tried, RP_OUTCOME_NOT_CONFIRMED,
                     "each session said that it is faster, but with so many geometries all of them "
                     "are not enough: use fewer (--geometries)");
            return 0;
        }
        rc = confirm_once(run, tried, ++made, &error, err);
    }
    return rc;
}

/* --- the whole program --------------------------------------------------------------------- */

static json_t *times_json(const struct rp_program_times *t, double margin, const char *hash)
{
    char text[200];
    const enum rp_outcome outcome = rp_program_times_judge(t, margin, text);

    return json_pack("{s:s, s:s, s:f, s:f, s:f, s:f, s:O, s:O, s:s}", "outcome",
                     rp_outcome_word(outcome), "reason", text, "program_before_ms", t->before_ms,
                     "program_after_ms", t->after_ms, "kernel_before_ns", t->kernel_before_ns,
                     "kernel_after_ns", t->kernel_after_ns, "runs", t->runs, "slower_kernels",
                     t->slower, "program_sha256", hash);
}

/** Tries it in the program, and keeps the result in the journal. */
static int try_program(struct rp_kernel_run *run, struct rp_session_candidate *tried,
                       const char *program, json_t **ret, struct rp_err *err)
{
    const struct rp_session *s = run->s;
    const char *const symbols[] = {run->facts->symbol, NULL};
    const struct rp_program_trial trial = {.measure = &s->measure,
                                           .command = s->command,
                                           .expected = &s->expected,
                                           .check = s->o->check,
                                           .symbols = symbols,
                                           .modelled = s->modelled};
    struct rp_program_times times = {0};
    rp_autofree char *why = NULL;
    char hash[RP_SHA256_TEXT];
    int rc = rp_program_trial_run(&trial, tried->source, s->rebuilt, program, &times, &why, err);

    if (rc == 0 && !why)
        rc = rp_sha256_file(program, hash, err);
    if (rc == 0)
        *ret = why ? json_pack("{s:s, s:o}", "outcome", rp_outcome_word(RP_OUTCOME_PROGRAM_WRONG),
                               "reason", rp_session_text(why))
                   : times_json(&times, rp_max_allowed_slowdown(s->o->least_improvement), hash);
    rp_program_times_free(&times);
    return rc;
}

/** Takes the ratio of the last confirmation: that of the session which chose the candidate among
 * others is too good. */
static json_t *fresh_ratio(const struct rp_session_candidate *tried)
{
    const json_t *list = json_object_get(tried->json, "confirmations");
    const json_t *last = json_array_get(list, json_array_size(list) - 1);

    return json_pack("{s:O, s:O, s:O}", "estimate", json_object_get(last, "ratio"), "low",
                     json_object_get(last, "low"), "high", json_object_get(last, "high"));
}

/** Takes it from the comparisons of the last session that tried them. */
static json_t *not_tried(const struct rp_kernel_run *run, const struct rp_session_candidate *tried)
{
    rp_autofree char *key = rp_format(
        "%s/%zu", tried->key, json_array_size(json_object_get(tried->json, "confirmations")));
    const json_t *last = run->s->modelled ? rp_journal_find(run->s->journal, "attempt", tried->key)
                                          : rp_journal_find(run->s->journal, "confirmation", key);

    return rp_session_untried_inputs(json_object_get(last, "comparisons"), run->facts->name);
}

/** Takes its source as the new base. */
static int take(struct rp_kernel_run *run, struct rp_session_candidate *tried, char **program,
                const json_t *application)
{
    struct rp_session *s = run->s;
    char *source = rp_strdup(tried->source), *rebuilt = rp_strdup(*program);

    free(s->source);
    free(s->program);
    free(s->rebuilt);
    s->source = source;
    s->rebuilt = rebuilt;
    s->program = rp_steal(*program);
    json_array_append_new(
        s->accepted,
        json_pack("{s:I, s:s, s:s, s:I, s:o, s:o, s:o, s:O, s:O*}", "round", (json_int_t)run->round,
                  "kernel", run->facts->name, "symbol", run->facts->symbol, "attempt",
                  (json_int_t)(tried - run->tried) + 1, "title", rp_session_text(tried->title),
                  "ratio", fresh_ratio(tried), "not_tried", not_tried(run, tried), "program",
                  application, "launch", json_object_get(tried->json, "launch")));
    return 1;
}

static int in_the_program(struct rp_kernel_run *run, struct rp_session_candidate *tried,
                          struct rp_err *err)
{
    const char *rounding;
    bool accepted;
    rp_autofree char *why = NULL;
    struct rp_journal *journal = run->s->journal;
    rp_autofree char *program = rp_format("%s.program", tried->hsaco);
    const json_t *data = rp_journal_find(journal, "application", tried->key);
    json_t *shown, *made = NULL;
    enum rp_outcome outcome;
    int rc = 0;

    if (!data ||
        !rp_session_is_file(program, json_object_get(data, "application"), "program_sha256")) {
        rp_session_message(run->s, "  %s: building and running the program with it", tried->title);
        rc = try_program(run, tried, program, &made, err);
        if (rc == 0 && !json_object_get(made, "program_sha256"))
            rc = rp_session_folder_check(&run->s->folder, err);
        if (rc == 0)
            rc = rp_journal_add(journal, "application", tried->key,
                                json_pack("{s:o}", "application", made), err);
        else
            json_decref(made);
        data = rp_journal_find(journal, "application", tried->key);
    }
    if (rc < 0)
        return rc;
    shown = json_deep_copy(json_object_get(data, "application"));
    json_object_del(shown, "program_sha256"); /* A linker may write paths into the program. */
    json_object_set_new(tried->json, "program", shown);
    outcome = rp_outcome_of(json_string_value(json_object_get(shown, "outcome")));
    /* Who reads what was accepted must see that its sums are in another order. */
    rounding = rounding_of(tried);
    accepted = outcome == RP_OUTCOME_ACCEPTED;
    why = rp_format("%s%s%s%s", json_string_value(json_object_get(shown, "reason")) ?: "?",
                    accepted && rounding ? rounding : "", accepted && tried->note ? "; " : "",
                    accepted && tried->note ? tried->note : "");
    end_with(tried, outcome, why);
    return accepted ? take(run, tried, &program, shown) : 0;
}

int rp_session_accept(struct rp_kernel_run *run, struct rp_session_candidate *tried,
                      struct rp_err *err)
{
    int rc = confirm(run, tried, err);

    if (rc == 1)
        rc = in_the_program(run, tried, err);
    rp_session_launch_end(tried);
    if (rc >= 0)
        rp_session_message(run->s, "  %s: %s: %s", tried->title, rp_outcome_word(tried->outcome),
                           tried->reason);
    return rc;
}

/* This section lists the other inputs with which an accepted change was not compared. A kind that
 * replay compare could not vary is no fault of the candidate, but its user should know. */

static bool is(const json_t *entry, const char *key, const char *text)
{
    return strcmp(json_string_value(json_object_get(entry, key)), text) == 0;
}

static json_t *find(const json_t *list, const char *kernel, const char *kind, const char *reason)
{
    json_t *entry;
    size_t i;

    json_array_foreach(list, i, entry)
    {
        if (is(entry, "kernel", kernel) && is(entry, "inputs", kind) && is(entry, "reason", reason))
            return entry;
    }
    return NULL;
}

static bool add(json_t *list, const char *kernel, const char *kind, const char *reason,
                const json_t *geometry)
{
    json_t *entry = find(list, kernel, kind, reason);

    if (!entry) {
        entry = json_pack("{s:s, s:s, s:s, s:[]}", "kernel", kernel, "inputs", kind, "reason",
                          reason, "geometries");
        if (json_array_append_new(list, entry) < 0)
            return false;
    }
    return json_array_append(json_object_get(entry, "geometries"), (json_t *)geometry) == 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/** Sorts them by name, because the journal and replay have them in different orders. */
static const char **sorted_input_kinds(json_t *inputs)
{
    const char **kinds = rp_alloc_zero(json_object_size(inputs) + 1, sizeof *kinds), *kind;
    size_t count = 0;
    json_t *variation;

    json_object_foreach(inputs, kind, variation) kinds[count++] = kind;
    qsort(kinds, count, sizeof *kinds, by_name);
    return kinds;
}

static bool add_all(json_t *list, const json_t *one, const char *kernel)
{
    const json_t *comparison = json_object_get(one, "comparison");
    json_t *inputs = json_object_get(json_object_get(comparison, "b"), "other_inputs");
    const char *all = json_string_value(json_object_get(inputs, "reason"));
    const char *whose = json_string_value(json_object_get(one, "kernel"));
    rp_autofree const char **kinds = sorted_input_kinds(inputs);

    for (size_t i = 0; kinds && kinds[i]; i++) {
        const json_t *variation = json_object_get(inputs, kinds[i]);
        const char *reason = json_string_value(json_object_get(variation, "reason"));

        if (!json_is_false(json_object_get(variation, "tried")))
            continue;
        reason = reason ? reason : all ? all : "";
        if (!add(list, whose ? whose : kernel, kinds[i], reason, json_object_get(one, "geometry")))
            return false;
    }
    return kinds != NULL;
}

json_t *rp_session_untried_inputs(const json_t *comparisons, const char *kernel)
{
    json_t *list = json_array(), *one;
    size_t i;

    json_array_foreach(comparisons, i, one)
    {
        if (!list || !add_all(list, one, kernel)) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

/* The gain of all accepted changes is measured at the end: the original program and the result, in
 * fresh interleaved runs. Times of the sessions by which candidates were chosen are not used,
 * because the best of many is partly chosen for its luck. */

/* With six pairs the interval is from the smallest ratio to the largest, at 1 - 2 / 2^6 = 96.9 %.
 */
enum { SESSION_WHOLE_PAIRS_ON_A_GPU = 6 };

/** @return NULL when a run has no time */
static json_t *whole_json(const struct rp_program_times *times)
{
    double ratios[SESSION_WHOLE_PAIRS_ON_A_GPU];
    struct rp_interval interval;
    size_t count = json_array_size(times->runs);

    for (size_t i = 0; i < count; i++) {
        const json_t *run = json_array_get(times->runs, i);
        const double after = json_number_value(json_object_get(run, "after_ms"));

        if (i == SESSION_WHOLE_PAIRS_ON_A_GPU || !(after > 0))
            return NULL;
        ratios[i] = json_number_value(json_object_get(run, "before_ms")) / after;
    }
    if (!count)
        return NULL;
    interval = rp_samples_interval(ratios, count);
    if (rp_program_has_bounds(&times->whole))
        interval =
            (struct rp_interval){.low = times->whole.before_ns[0] / times->whole.after_ns[1],
                                 .high = times->whole.before_ns[1] / times->whole.after_ns[0]};
    return json_pack("{s:f, s:f, s:f, s:f, s:f, s:O, s:O}", "before_ms", times->before_ms,
                     "after_ms", times->after_ms, "speedup", rp_samples_median(ratios, count),
                     "low", interval.low, "high", interval.high, "runs", times->runs,
                     "slower_kernels", times->slower);
}

static int measure(struct rp_session *s, const char *before, const char *key, struct rp_err *err)
{
    struct rp_program_times times = {0};
    rp_autofree char *why = NULL;
    char hash[RP_SHA256_TEXT];
    json_t *json;
    int rc;

    rp_session_message(s, "measuring the program as it was against the result");
    rc = rp_program_times(&s->measure, before, s->rebuilt, (const char *const[]){NULL},
                          s->modelled ? 1 : SESSION_WHOLE_PAIRS_ON_A_GPU,
                          rp_max_allowed_slowdown(s->o->least_improvement), &times, &why, err);
    if (rc == 0 && why)
        rc = rp_fail(err, RP_PROGRAM, "with the changes: %s", why);
    if (rc < 0)
        return rc;
    json = whole_json(&times);
    rp_program_times_free(&times);
    if (!json)
        return rp_fail(err, RP_BAD_INPUT, "the program's dispatches have no times");
    rc = rp_sha256_file(s->rebuilt, hash, err);
    if (rc < 0) {
        json_decref(json);
        return rc;
    }
    return rp_journal_add(s->journal, "whole", key,
                          json_pack("{s:s, s:o}", "program_sha256", hash, "program", json), err);
}

int rp_session_measure_all_changes(struct rp_session *s, struct rp_err *err)
{
    rp_autofree char *before = rp_path_join(s->o->folder, "program");
    rp_autofree char *key = rp_format("%zu", json_array_size(s->accepted));
    const json_t *data;
    int rc = 0;

    data = rp_journal_find(s->journal, "whole", key);
    if (!data || !rp_session_is_file(s->rebuilt, data, "program_sha256"))
        rc = measure(s, before, key, err);
    if (rc < 0)
        return rp_wrap(err, "the program before and after all changes");
    data = rp_journal_find(s->journal, "whole", key);
    s->whole = json_incref(json_object_get(data, "program"));
    return 0;
}

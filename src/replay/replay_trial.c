#include "replay/replay_trial.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "replay/output_rules.h"
#include "replay/page_changes.h"
#include "replay/replay.h"
#include "replay/replay_protocol.h"

/** Returns the rule whose type decides which poison cannot be a right result. */
static const struct rp_compare_rule *trial_rule(const struct rp_replay_trial *trial,
                                                const struct rp_capture_memory *m)
{
    return trial->own.regions ? &trial->own.regions[rp_replay_region(trial->r, m)].rule
                              : &trial->rule;
}

void rp_trial_compare(const struct rp_replay_trial *trial, const struct rp_capture_memory *m,
                      uint64_t page, const uint8_t *got, const uint8_t *expected, uint64_t *ret_bad)
{
    if (trial->own.regions)
        rp_derived_tolerance_compare(&trial->own, rp_replay_region(trial->r, m), page, got,
                                     expected, ret_bad);
    else
        rp_compare_words(&trial->rule, got, expected, RP_PAGE_BYTES, ret_bad);
}

/* --- other memory -------------------------------------------------------------------------- */

int rp_trial_poison_page(void *data, const struct rp_capture_memory *m, uint64_t page, size_t bytes,
                         uint8_t *contents, struct rp_err *err)
{
    const struct rp_replay_trial *trial = data;
    const struct rp_write_page *w =
        rp_write_set_find(&trial->set, rp_replay_region(trial->r, m), page);
    uint8_t after[RP_PAGE_BYTES];
    int rc;

    if (!w || trial->poison == RP_POISON_NONE)
        return 0;
    rc = rp_capture_page(trial->r->capture, m, RP_STATE_AFTER, page, after, err);
    if (rc == 0)
        rp_write_set_poison(trial_rule(trial, m), trial->poison, w->poisoned, after, bytes,
                            contents);
    return rc;
}

static bool trial_changes_variables(const struct rp_replay *r)
{
    return r->code && r->code->changed_pages;
}

/* Sets what LDS, scratch and registers hold at the start of workgroups from now on: words that
 * follow from the seed; 0: zeros. @return false: the device is a GPU, which takes no such orders
 */
static bool fill_uninitialised(uint32_t seed)
{
    const struct rp_device_table *software = rp_replay_software();

    if (software)
        software->set_poison(seed);
    return software != NULL;
}

const struct rp_trial_run rp_trial_first[RP_TRIAL_FIRST_RUNS] = {
    {.poison = RP_POISON_NONE, .restore_all = true, .check_all = true},
    {.poison = RP_POISON_HIGH, .restore_all = true, .check_all = true},
    {.poison = RP_POISON_LOW, .restore_all = true, .check_all = true},
    {.poison = RP_POISON_LIKE, .restore_all = true, .check_all = true},
    {.poison = RP_POISON_NONE, .restore_all = true, .check_all = true, .leftovers = true},
};
const struct rp_trial_run rp_trial_timed = {.poison = RP_POISON_NAN};

/* --- judging ------------------------------------------------------------------------------- */

/* Goes through the pages that the captured kernel writes, row by row. @return false: there are no
 * more
 */
static bool next_row(const struct rp_replay_trial *trial, size_t *at, struct rp_replay_row *ret)
{
    const struct rp_write_page *w = trial->set.items, *first = w + *at;

    if (*at >= trial->set.count)
        return false;
    *ret =
        (struct rp_replay_row){.m = &trial->r->memory[first->key.region], .first = first->key.page};
    while (*at < trial->set.count && ret->pages < RP_REPLAY_STAGE_BYTES / RP_PAGE_BYTES &&
           w[*at].key.region == first->key.region && w[*at].key.page == ret->first + ret->pages) {
        ret->pages++;
        ++*at;
    }
    return true;
}

int rp_trial_fill(struct rp_replay_trial *trial, struct rp_err *err)
{
    return rp_replay_fill(trial->r, rp_trial_poison_page, trial, err);
}

/* Resets the variables of both kernels of a comparison, so that before each run the same bytes
 * were copied and caches hold the same of them. The variables of the kernel that runs next come
 * last.
 */
static int reset_all(struct rp_replay *r, struct rp_err *err)
{
    const struct rp_replay_kernel *own = r->kernel;
    int rc = 0;

    for (size_t i = 0; i < RP_REPLAY_CANDIDATES && rc == 0; i++) {
        r->kernel = &r->candidates[i];
        if (r->kernel != own && r->kernel->path)
            rc = rp_replay_reset_loaded(r, err);
    }
    r->kernel = own;
    return rc < 0 ? rc : rp_replay_reset_loaded(r, err);
}

/**
 * Restores memory that had this state, if only what the captured kernel writes was changed since.
 */
static int trial_restore(struct rp_replay_trial *trial, struct rp_err *err)
{
    struct rp_replay_row row;
    int rc = reset_all(trial->r, err);

    /* These variables are the ones at the captured address. */
    if (rc == 0 && trial_changes_variables(trial->r))
        rc = rp_replay_restore_region(trial->r, trial->r->code, err);
    for (size_t at = 0; rc == 0 && next_row(trial, &at, &row);)
        rc = rp_replay_fill_row(trial->r, &row, rp_trial_poison_page, trial, err);
    if (rc == 0)
        rc = rp_redzone_fill(trial->r, err);
    return rc < 0 || !trial_changes_variables(trial->r) ? rc
                                                        : rp_replay_fill_variables(trial->r, err);
}

/**
 * Visits the pages that the captured kernel writes, with what they should hold after the dispatch.
 */
static int trial_look_written(struct rp_replay_trial *trial, rp_replay_visit_page look, void *data,
                              struct rp_err *err)
{
    struct rp_replay_row row;
    int rc = 0;

    for (size_t at = 0; rc == 0 && next_row(trial, &at, &row);)
        rc = rp_replay_look_at_row(trial->r, &row, look, data, err);
    return rc;
}

/**
 * Prepares the caches before a timed run, as r->cache says. Memory already has its state, and
 * keeps it.
 */
static int trial_settle(struct rp_replay_trial *trial, struct rp_err *err)
{
    double us;
    int rc = 0;

    if (trial->r->cache == RP_CACHE_WARM)
        rc = rp_replay_run(trial->r, &us, err);
    if (rc == 0 && trial->r->cache == RP_CACHE_WARM)
        rc = trial_restore(trial, err);
    return rc < 0 ? rc : rp_replay_empty_caches(trial->r, err);
}

struct judge {
    struct rp_replay_trial *trial;
    struct rp_replay_outcome outcome;
};

static int judge_page(void *data, const struct rp_capture_memory *m, uint64_t page,
                      const uint8_t *contents, const uint8_t *expected, struct rp_err *err)
{
    struct judge *judge = data;
    static const uint64_t nothing[RP_PAGE_MASKS];
    const struct rp_write_page *w;
    uint64_t different[RP_PAGE_MASKS], bad[RP_PAGE_MASKS];
    uint8_t shown[RP_PAGE_BYTES];

    (void)err;
    if (memcmp(contents, expected, RP_PAGE_BYTES) == 0)
        return 0;
    w = rp_write_set_find(&judge->trial->set, rp_replay_region(judge->trial->r, m), page);
    rp_compare_words(&rp_exact, contents, expected, RP_PAGE_BYTES, different);
    rp_trial_compare(judge->trial, m, page, contents, expected, bad);
    rp_rounding_bound_allow(&judge->trial->bound, RP_BOUND_CAPTURED,
                            (struct rp_page_key){rp_replay_region(judge->trial->r, m), page},
                            contents, expected, bad);
    memcpy(shown, contents, sizeof shown);
    for (size_t i = 0; i < RP_PAGE_WORDS; i++) {
        const bool written = rp_word_in(w ? w->written : nothing, i);

        if (written && rp_word_in(bad, i))
            judge->outcome.wrong_bytes += 4;
        else if (!written && rp_word_in(different, i))
            judge->outcome.outside_bytes += 4;
        else /* The value is within the tolerance. */
            memcpy(shown + 4 * i, expected + 4 * i, 4);
    }
    rp_mismatch_note(&judge->outcome.off, shown, expected, RP_PAGE_BYTES);
    rp_compare_words(&rp_exact, shown, expected, RP_PAGE_BYTES, bad);
    rp_word_difference_note(&judge->outcome.first, m->region.base + page * RP_PAGE_BYTES, bad,
                            shown, expected);
    rp_replay_note_difference(&judge->outcome.verdict, m->region.base + page * RP_PAGE_BYTES, shown,
                              expected, RP_PAGE_BYTES);
    return 0;
}

/* Judges what was changed outside the captured memory. */
static void judge_beyond(struct judge *judge)
{
    const struct rp_redzone_writes beyond = rp_redzone_take(judge->trial->r);

    if (!beyond.bytes)
        return;
    rp_replay_note_difference(&judge->outcome.verdict, beyond.first_address, &beyond.got,
                              &beyond.expected, 1);
    judge->outcome.verdict.different_bytes += beyond.bytes - 1;
    judge->outcome.outside_bytes += beyond.bytes;
}

static int finish(struct judge *judge, struct rp_replay_outcome *ret, struct rp_err *err)
{
    struct rp_replay_verdict *v = &judge->outcome.verdict;
    const uint64_t elsewhere = v->different_bytes;
    int rc = rp_replay_compare_variables(judge->trial->r, v, err);

    judge->outcome.variable_bytes = v->different_bytes - elsewhere;
    if (rc == 0)
        *ret = judge->outcome;
    return rc;
}

/** Checks only where the captured kernel writes, and variables only if it writes any. */
static int trial_check_written(struct rp_replay_trial *trial, struct rp_replay_outcome *ret,
                               struct rp_err *err)
{
    struct judge judge = {.trial = trial};
    int rc = trial_look_written(trial, judge_page, &judge, err);

    judge_beyond(&judge);
    if (rc == 0 && trial_changes_variables(trial->r))
        return finish(&judge, ret, err);
    if (rc == 0)
        *ret = judge.outcome;
    return rc;
}

int rp_trial_check(struct rp_replay_trial *trial, struct rp_replay_outcome *ret, struct rp_err *err)
{
    struct judge judge = {.trial = trial};
    struct rp_replay_verdict *v = &judge.outcome.verdict;
    const struct rp_replay *r = trial->r;
    int rc = rp_replay_look_at(trial->r, judge_page, &judge, err);

    judge_beyond(&judge);
    for (size_t i = 0; i < r->memory_count; i++)
        if (&r->memory[i] != r->code) {
            v->bytes += r->memory[i].region.bytes;
            v->regions++;
        }
    return rc < 0 ? rc : finish(&judge, ret, err);
}

static int run_once(struct rp_replay_trial *trial, const struct rp_trial_run *how, double *ret_us,
                    struct rp_replay_outcome *ret, struct rp_err *err)
{
    int rc;

    trial->poison = how->poison;
    rc = how->restore_all ? rp_trial_fill(trial, err) : trial_restore(trial, err);
    if (rc == 0 && how == &rp_trial_timed)
        rc = trial_settle(trial, err);
    if (how->leftovers && trial->leftovers)
        fill_uninitialised(RP_TRIAL_UNINITIALISED_SEED);
    if (rc == 0)
        rc = rp_replay_run(trial->r, ret_us, err);
    if (how->leftovers && trial->leftovers)
        fill_uninitialised(0);
    if (rc == 0)
        rc =
            how->check_all ? rp_trial_check(trial, ret, err) : trial_check_written(trial, ret, err);
    if (rc == 0)
        ret->leftovers = how->leftovers && trial->leftovers;
    trial->poison = RP_POISON_NAN;
    return rc;
}

int rp_trial_run(struct rp_replay_trial *trial, const struct rp_trial_run *how, double *ret_us,
                 struct rp_replay_outcome *ret, struct rp_err *err)
{
    int rc = run_once(trial, how, ret_us, ret, err);

    if (rc < 0 || !ret->wrong_bytes || !trial->bound.wanted ||
        trial->bound.inputs == RP_BOUND_CAPTURED || trial->r->kernel == &trial->r->original)
        return rc;
    rc = rp_rounding_bound_find(trial, err);
    /* What was run in between has left another memory. */
    return rc < 0 || !trial->bound.wanted ? rc
                                          : run_once(trial, &rp_trial_first[0], ret_us, ret, err);
}

/* The words that the captured kernel writes are found by running it from memory that differs from
 * the captured one.
 */

/* A kernel that runs after the captured one, from the captured memory, may take this many times as
 * long. The bound is at least this many seconds, because the machine may be busy. The manual page
 * says so.
 */
enum { BOUND_TIMES = 100, LEAST_BOUND_S = 5, MOST_BOUND_S = 24 * 3600 };

/* On the software device the kernel's work decides instead. Time is the last resort there, and
 * then gives no verdict.
 */
enum { WORK_TIMES = 32, LEAST_WORK = 1 << 24, TIMES_TOO_SLOW = 1000, LEAST_TOO_SLOW_S = 600 };

enum { ROUNDS = 2 };

/* These are the ways of changing memory, each of which can be left out: those of enum rp_flip,
 * whole pages, variables, and what is not memory of the capture.
 */
enum { WHOLE_PAGES = RP_FLIPS, VARIABLES, LEFTOVERS, WAYS };

_Static_assert((int)WAYS <= (int)RP_STEP_CHANGES, "a digit of the step for each");

/* --- what is written ----------------------------------------------------------------------- */

/* Notes the words of a page that differ. */
static void note(struct rp_replay_trial *trial, const struct rp_capture_memory *m, uint64_t page,
                 const uint8_t *before, const uint8_t *after)
{
    struct rp_write_page w = {.key = {rp_replay_region(trial->r, m), page}};
    const uint64_t bytes = rp_replay_page_bytes(m, page);

    if (memcmp(before, after, bytes) == 0)
        return;
    rp_compare_words(&rp_exact, before, after, bytes, w.written);
    rp_write_set_add(&trial->set, &w);
}

/* Notes the words that differ between the states of the capture. */
static int note_captured(struct rp_replay_trial *trial, const struct rp_capture_memory *m,
                         struct rp_err *err)
{
    uint8_t before[RP_PAGE_BYTES], after[RP_PAGE_BYTES];
    int rc = 0;

    for (uint64_t i = 0; i < m->after.header.run_count; i++) {
        const struct rp_page_run *run = &m->after.runs[i];

        for (uint64_t page = run->page; page < run->page + run->pages && rc == 0; page++) {
            rc = rp_capture_page(trial->r->capture, m, RP_STATE_BEFORE, page, before, err);
            if (rc == 0)
                rc = rp_capture_page(trial->r->capture, m, RP_STATE_AFTER, page, after, err);
            if (rc == 0)
                note(trial, m, page, before, after);
        }
    }
    return rc;
}

static int note_all_captured(struct rp_replay_trial *trial, struct rp_err *err)
{
    int rc = 0;

    for (size_t i = 0; i < trial->r->memory_count && rc == 0; i++)
        if (&trial->r->memory[i] != trial->r->code)
            rc = note_captured(trial, &trial->r->memory[i], err);
    rp_write_set_sort(&trial->set);
    return rc;
}

/* Runs the captured kernel from memory that differs from the captured one. */
static int run_from(struct rp_replay_trial *trial, char step, struct rp_err *err)
{
    double us;
    int rc;

    rp_replay_step(trial->r, step);
    rc = rp_replay_run(trial->r, &us, err);
    trial->probe_broke = rc < 0 && err->code == RP_VERDICT;
    if (rc == 0)
        rp_replay_step(trial->r, RP_STEP_REST);
    return rc;
}

/* --- memory that is changed ---------------------------------------------------------------- */

struct change {
    struct rp_replay_trial *trial;
    rp_replay_edit_page edit;
    enum rp_flip way;
    struct rp_inputs_rule inputs;
    uint64_t changed_numbers;
};

static int flip_page(void *data, const struct rp_capture_memory *m, uint64_t page, size_t bytes,
                     uint8_t *contents, struct rp_err *err)
{
    const struct change *change = data;

    (void)err;
    /* Pages of zeros, of which there may be many, are changed the first time only. */
    if (rp_trial_may_change(m) && (change->way == RP_FLIP_EACH || !rp_is_zero_page(contents)))
        rp_write_set_flip(change->way, rp_replay_place(change->trial->r, m, page), contents, bytes,
                          &change->trial->addresses);
    return 0;
}

static int other_page(void *data, const struct rp_capture_memory *m, uint64_t page, size_t bytes,
                      uint8_t *contents, struct rp_err *err)
{
    struct change *change = data;

    (void)err;
    if (rp_trial_may_change(m) && !rp_is_zero_page(contents))
        change->changed_numbers +=
            rp_inputs_vary(RP_VARY_NUMBERS, &change->inputs, &change->trial->addresses,
                           rp_replay_place(change->trial->r, m, page), bytes, contents);
    return 0;
}

static int note_page(void *data, const struct rp_capture_memory *m, uint64_t page,
                     const uint8_t *contents, const uint8_t *expected, struct rp_err *err)
{
    struct change *change = data;
    struct rp_replay_trial *trial = change->trial;
    uint8_t before[RP_PAGE_BYTES];
    int rc = rp_capture_page(trial->r->capture, m, RP_STATE_BEFORE, page, before, err);

    (void)expected;
    if (rc == 0)
        rc = change->edit(change, m, page, rp_replay_page_bytes(m, page), before, err);
    if (rc == 0)
        note(trial, m, page, before, contents);
    return rc;
}

static int try_change(struct change *change, char step, struct rp_err *err)
{
    struct rp_replay_trial *trial = change->trial;
    int rc = rp_replay_fill(trial->r, change->edit, change, err);

    if (rc < 0 || (change->edit == other_page && change->changed_numbers == 0))
        return rc;
    rc = run_from(trial, step, err);
    if (rc == 0)
        rc = rp_replay_look_at(trial->r, note_page, change, err);
    rp_write_set_sort(&trial->set);
    return rc;
}

static bool is_wanted(const struct rp_replay_trial *trial, unsigned way)
{
    return !(trial->left_out >> way & 1);
}

/* Another way may show what one way does not. */
static int try_changes(struct rp_replay_trial *trial, struct rp_err *err)
{
    struct change change = {.trial = trial, .edit = flip_page};
    int rc = 0;

    for (unsigned way = 0; way < RP_FLIPS && rc == 0; way++) {
        change.way = (enum rp_flip)way;
        if (is_wanted(trial, way))
            rc = try_change(&change, (char)(RP_STEP_CHANGE + way), err);
    }
    if (rc == 0)
        rc = rp_inputs_parse(trial->inputs, trial->rule.type, &change.inputs, err);
    change.edit = other_page;
    return rc < 0 || change.inputs.none || (trial->not_varied >> RP_VARY_NUMBERS & 1)
               ? rc
               : try_change(&change, (char)(RP_STEP_VARY + RP_VARY_NUMBERS), err);
}

/* --- pages all over ------------------------------------------------------------------------ */

/* A number that is computed from flipped ones can equal the flipped one by chance. Pages that are
 * written in part are therefore poisoned as a whole: a word that is right afterwards was written.
 */
static int poison_whole_page(void *data, const struct rp_capture_memory *m, uint64_t page,
                             size_t bytes, uint8_t *contents, struct rp_err *err)
{
    const struct rp_replay_trial *trial = data;
    uint64_t all[RP_PAGE_MASKS] = {0};
    uint8_t flipped[RP_PAGE_BYTES], after[RP_PAGE_BYTES];
    int rc;

    if (!rp_trial_may_change(m) ||
        !rp_write_set_find(&trial->set, rp_replay_region(trial->r, m), page))
        return 0;
    rc = rp_capture_page(trial->r->capture, m, RP_STATE_AFTER, page, after, err);
    if (rc < 0)
        return rc;
    memcpy(flipped, contents, bytes);
    rp_write_set_flip(RP_FLIP_EACH, 0, flipped, bytes, &trial->addresses);
    rp_compare_words(&rp_exact, contents, flipped, bytes, all); /* These words hold no addresses. */
    rp_write_set_poison(trial_rule(trial, m), RP_POISON_NAN, all, after, bytes, contents);
    return 0;
}

static int note_poisoned_page(void *data, const struct rp_capture_memory *m, uint64_t page,
                              const uint8_t *contents, const uint8_t *expected, struct rp_err *err)
{
    struct rp_replay_trial *trial = data;
    struct rp_write_page *w = rp_write_set_find(&trial->set, rp_replay_region(trial->r, m), page);
    uint8_t start[RP_PAGE_BYTES] = {0};
    uint64_t put[RP_PAGE_MASKS], wrong[RP_PAGE_MASKS];
    int rc = w ? rp_capture_page(trial->r->capture, m, RP_STATE_BEFORE, page, start, err) : 0;

    if (w && rc == 0)
        rc = poison_whole_page(trial, m, page, rp_replay_page_bytes(m, page), start, err);
    if (!w || rc < 0)
        return rc;
    rp_compare_words(&rp_exact, start, expected, RP_PAGE_BYTES, put);
    rp_compare_words(&rp_exact, contents, expected, RP_PAGE_BYTES, wrong);
    for (size_t i = 0; i < RP_PAGE_MASKS; i++)
        w->written[i] |= put[i] & ~wrong[i];
    return 0;
}

static int try_whole_pages(struct rp_replay_trial *trial, struct rp_err *err)
{
    int rc = rp_replay_fill(trial->r, poison_whole_page, trial, err);

    if (rc == 0)
        rc = run_from(trial, RP_STEP_CHANGE + WHOLE_PAGES, err);
    return rc < 0 ? rc : trial_look_written(trial, note_poisoned_page, trial, err);
}

/* --- what can be poisoned ------------------------------------------------------------------ */

/* Variables are not poisoned: what is written there with the value that was there tells nothing. */
static int try_variables(struct rp_replay_trial *trial, struct rp_err *err)
{
    struct rp_variables_written written = {0};
    int rc = rp_replay_fill(trial->r, NULL, NULL, err);

    if (rc == 0)
        rc = rp_replay_flip_variables(trial->r, err);
    if (rc <= 0) /* There are no variables to flip, or it failed. */
        return rc;
    rc = run_from(trial, RP_STEP_CHANGE + VARIABLES, err);
    if (rc == 0)
        rc = rp_replay_count_variables(trial->r, &written, err);
    trial->written_bytes += written.bytes;
    trial->blind_bytes += written.blind_bytes;
    return rc;
}

struct round {
    struct rp_replay_trial *trial;
    bool drop; /**< poison that comes through is no longer used */
    uint64_t wrong_words;
};

static int count_page(void *data, const struct rp_capture_memory *m, uint64_t page,
                      const uint8_t *contents, const uint8_t *expected, struct rp_err *err)
{
    struct round *round = data;
    struct rp_replay_trial *trial = round->trial;
    struct rp_write_page *w;
    uint64_t bad[RP_PAGE_MASKS];

    (void)err;
    if (memcmp(contents, expected, RP_PAGE_BYTES) == 0)
        return 0;
    rp_trial_compare(trial, m, page, contents, expected, bad);
    w = rp_write_set_find(&trial->set, rp_replay_region(trial->r, m), page);
    for (size_t i = 0; i < RP_PAGE_MASKS; i++) {
        round->wrong_words += (uint64_t)__builtin_popcountll(bad[i]);
        if (w && round->drop)
            w->poisoned[i] &= ~bad[i];
    }
    return 0;
}

/* LDS, scratch and registers: a kernel that reads none of them before it has written there gives
 * the same whatever they hold, and so must any other in its place. */
static int try_uninitialised(struct rp_replay_trial *trial, struct rp_err *err)
{
    struct round round = {.trial = trial};
    struct rp_replay_verdict variables = {0};
    int rc = rp_replay_fill(trial->r, NULL, NULL, err);

    if (rc == 0 && !fill_uninitialised(RP_TRIAL_UNINITIALISED_SEED)) {
        trial->leftovers_reason = "only the software device can fill them";
        return 0;
    }
    if (rc == 0)
        rc = run_from(trial, RP_STEP_CHANGE + LEFTOVERS, err);
    fill_uninitialised(0);
    if (rc == 0)
        rc = rp_replay_look_at(trial->r, count_page, &round, err);
    if (rc == 0)
        rc = rp_replay_compare_variables(trial->r, &variables, err);
    trial->leftovers = rc == 0 && !round.wrong_words && !variables.different_pages;
    trial->leftovers_reason =
        trial->leftovers ? NULL : "the captured kernel itself reads some that it has not written";
    return rc;
}

/* Tries each kind of poison. All memory is compared in the end, because poison that is used as an
 * index leads elsewhere.
 */
static int try_poison(struct round *round, struct rp_err *err)
{
    struct rp_replay_trial *trial = round->trial;
    int rc = 0;

    for (unsigned kind = 0; kind < RP_POISON_KINDS && rc == 0; kind++) {
        trial->poison = (enum rp_poison)kind;
        rc = kind == 0 ? rp_trial_fill(trial, err) : trial_restore(trial, err);
        if (rc == 0)
            rc = run_from(trial, RP_STEP_PROBE, err);
        if (rc == 0 && kind + 1 < RP_POISON_KINDS)
            rc = trial_look_written(trial, count_page, round, err);
        else if (rc == 0)
            rc = rp_replay_look_at(trial->r, count_page, round, err);
    }
    trial->poison = RP_POISON_NAN;
    return rc;
}

/* Words that are updated in place, or computed from such words, are dropped in the first round;
 * the second shows whether all the rest is right then.
 */
static int choose_poison(struct rp_replay_trial *trial, struct rp_err *err)
{
    struct round round = {.trial = trial, .drop = true, .wrong_words = 1};

    for (size_t i = 0; i < trial->set.count; i++)
        memcpy(trial->set.items[i].poisoned, trial->set.items[i].written,
               sizeof trial->set.items[i].poisoned);
    for (unsigned i = 0; i < ROUNDS && round.wrong_words; i++) {
        int rc;

        round.wrong_words = 0;
        round.drop = i + 1 < ROUNDS;
        rc = try_poison(&round, err);
        if (rc < 0)
            return rc;
    }
    for (size_t i = 0; round.wrong_words && i < trial->set.count; i++)
        memset(trial->set.items[i].poisoned, 0, sizeof trial->set.items[i].poisoned);
    return 0;
}

static int sum_up(struct rp_replay_trial *trial, struct rp_err *err)
{
    for (size_t i = 0; i < trial->set.count; i++) {
        const struct rp_write_page *w = &trial->set.items[i];
        const struct rp_capture_memory *m = &trial->r->memory[w->key.region];
        uint8_t before[RP_PAGE_BYTES], after[RP_PAGE_BYTES];
        uint64_t bad[RP_PAGE_MASKS];
        int rc = rp_capture_page(trial->r->capture, m, RP_STATE_BEFORE, w->key.page, before, err);

        if (rc == 0)
            rc = rp_capture_page(trial->r->capture, m, RP_STATE_AFTER, w->key.page, after, err);
        if (rc < 0)
            return rc;
        rp_trial_compare(trial, m, w->key.page, before, after, bad);
        for (size_t j = 0; j < RP_PAGE_MASKS; j++) {
            const uint64_t blind = w->written[j] & ~w->poisoned[j] & ~bad[j];

            trial->written_bytes += 4 * (uint64_t)__builtin_popcountll(w->written[j]);
            trial->poisoned_bytes += 4 * (uint64_t)__builtin_popcountll(w->poisoned[j]);
            trial->blind_bytes += 4 * (uint64_t)__builtin_popcountll(blind);
        }
    }
    return 0;
}

/* --- preparing ----------------------------------------------------------------------------- */

static void set_bound(struct rp_replay *r, const struct timespec *from, const struct timespec *to)
{
    const bool by_work = r->captured_work > 0;
    const unsigned least_s = by_work ? LEAST_TOO_SLOW_S : LEAST_BOUND_S;
    double bound_s;

    if (by_work)
        r->bound_work =
            r->captured_work > LEAST_WORK / WORK_TIMES ? WORK_TIMES * r->captured_work : LEAST_WORK;
    r->captured_s =
        (double)(to->tv_sec - from->tv_sec) + (double)(to->tv_nsec - from->tv_nsec) / 1e9;
    bound_s = (by_work ? TIMES_TOO_SLOW : BOUND_TIMES) * r->captured_s;
    if (bound_s < least_s)
        bound_s = least_s;
    r->bound_s = bound_s > MOST_BOUND_S ? MOST_BOUND_S : (unsigned)bound_s;
}

/* Runs the kernel as captured. Its time is the measure for the bounds of later runs. */
static int run_original(struct rp_replay_trial *trial, struct rp_err *err)
{
    struct rp_replay *r = trial->r;
    struct round round = {.trial = trial};
    struct rp_replay_verdict variables = {0};
    struct timespec from, to;
    double us;
    int rc = rp_replay_fill(r, NULL, NULL, err);

    clock_gettime(CLOCK_MONOTONIC, &from);
    if (rc == 0)
        rc = rp_replay_run(r, &us, err);
    rp_replay_hit_work_limit(&r->captured_work);
    clock_gettime(CLOCK_MONOTONIC, &to);
    if (rc == 0)
        rc = rp_replay_look_at(r, count_page, &round, err);
    if (rc == 0)
        rc = rp_replay_compare_variables(r, &variables, err);
    if (rc < 0)
        return rc;
    if (round.wrong_words || variables.different_pages)
        return rp_fail(err, RP_VERDICT,
                       "the captured kernel itself does not give the captured memory here "
                       "(%" PRIu64 " bytes differ), so no other can be judged%s",
                       4 * round.wrong_words,
                       trial->rule.type != RP_EXACT ? ""
                       : trial->own_spread ? ": what varies is not near, as numbers of any type"
                                           : "; if it adds up in varying order, give a tolerance "
                                             "with --compare, or leave that out");
    set_bound(r, &from, &to);
    return 0;
}

static int find_written(struct rp_replay_trial *trial, struct rp_err *err)
{
    int rc = note_all_captured(trial, err);

    if (rc < 0 || !trial->probe)
        return rc;
    rc = try_changes(trial, err);
    if (rc == 0 && trial->set.count && is_wanted(trial, WHOLE_PAGES))
        rc = try_whole_pages(trial, err);
    if (rc == 0 && is_wanted(trial, VARIABLES))
        rc = try_variables(trial, err);
    if (rc == 0 && is_wanted(trial, LEFTOVERS))
        rc = try_uninitialised(trial, err);
    if (rc == 0 && trial->set.count && !trial->no_poison)
        rc = choose_poison(trial, err);
    return rc;
}

int rp_trial_prepare(struct rp_replay_trial *trial, struct rp_err *err)
{
    struct rp_replay *r = trial->r;
    int rc;

    trial->addresses = (struct rp_addresses){.ranges = r->ranges, .count = r->range_count};
    trial->leftovers_reason =
        trial->probe ? "the captured kernel does not end with others" : "not asked for";
    trial->bound = (struct rp_rounding_bound){.wanted = trial->own_spread, .inputs = RP_BOUND_NONE};
    r->kernel = &r->original;
    rp_replay_set_timed(r, false);
    rc = trial->own_spread ? rp_derived_tolerance_find(&trial->own, r, &trial->rule, err) : 0;
    if (trial->own.regions)
        rp_derived_tolerance_print(&trial->own, r, trial->rule_text, sizeof trial->rule_text);
    else
        rp_compare_rule_print(&trial->rule, trial->rule_text, sizeof trial->rule_text);
    if (rc == 0)
        rc = run_original(trial, err);
    if (rc == 0)
        rc = find_written(trial, err);
    if (rc == 0)
        rc = sum_up(trial, err);
    if (rc == 0 && trial->written_bytes == trial->blind_bytes && !trial_changes_variables(r))
        rc = rp_fail(err, RP_VERDICT,
                     "the captured dispatch leaves nothing by which another kernel could be "
                     "judged: memory is the same without it");
    rp_replay_set_timed(r, true);
    r->kernel = &r->candidates[0];
    return rc;
}

#include "replay/candidate.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "capture/replay_again.h"
#include "replay/watch.h"

/* How long any kernel may take that runs after the captured one has, from the captured memory: so
 * many times as long, but not less than so many seconds, as a machine may have other work. In the
 * manual page. */
enum { BOUND_TIMES = 100, LEAST_BOUND_S = 5, MOST_BOUND_S = 24 * 3600 };

enum { ROUNDS = 2 };

static size_t index_of(const struct rp_replay *r, const struct rp_capture_memory *m)
{
    return (size_t)(m - r->memory);
}

static uint64_t bytes_of(const struct rp_capture_memory *m, uint64_t page)
{
    const uint64_t left = m->region.bytes - page * RP_PAGE_BYTES;

    return left < RP_PAGE_BYTES ? left : RP_PAGE_BYTES;
}

/* By which type poison is no right result. */
static const struct rp_compare_rule *rule_of(const struct rp_replay_trial *trial,
                                             const struct rp_capture_memory *m)
{
    return trial->own.regions ? &trial->own.regions[index_of(trial->r, m)].rule : &trial->rule;
}

void rp_trial_compare(const struct rp_replay_trial *trial, const struct rp_capture_memory *m,
                      uint64_t page, const uint8_t *got, const uint8_t *expected, uint64_t *ret_bad)
{
    if (trial->own.regions)
        rp_own_rule_compare(&trial->own, index_of(trial->r, m), page, got, expected, ret_bad);
    else
        rp_compare_words(&trial->rule, got, expected, RP_PAGE_BYTES, ret_bad);
}

/* --- other memory -------------------------------------------------------------------------- */

/* Code and arguments stay as they are. */
bool rp_trial_may_change(const struct rp_capture_memory *m)
{
    return m->region.memory_class != RP_MEMORY_CODE && !(m->region.flags & RP_MEMORY_KERNARG);
}

static void flip(const struct rp_replay_trial *trial, const struct rp_capture_memory *m,
                 uint64_t page, size_t bytes, uint8_t *contents)
{
    const struct rp_replay *r = trial->r;
    uint64_t low = UINT64_MAX, high = 0;

    for (size_t i = 0; i < r->range_count; i++) {
        const uint64_t end = r->ranges[i].base + r->ranges[i].bytes;

        low = r->ranges[i].base < low ? r->ranges[i].base : low;
        high = end > high ? end : high;
    }
    if (rp_trial_may_change(m))
        rp_write_set_flip(trial->flip, m->region.base + page * RP_PAGE_BYTES, contents, bytes, low,
                          high);
}

static int flip_page(void *data, const struct rp_capture_memory *m, uint64_t page, size_t bytes,
                     uint8_t *contents, struct rp_err *err)
{
    const struct rp_replay_trial *trial = data;

    (void)err;
    flip(trial, m, page, bytes, contents);
    return 0;
}

int rp_trial_poison_page(void *data, const struct rp_capture_memory *m, uint64_t page, size_t bytes,
                         uint8_t *contents, struct rp_err *err)
{
    const struct rp_replay_trial *trial = data;
    const struct rp_write_page *w = rp_write_set_find(&trial->set, index_of(trial->r, m), page);
    uint8_t after[RP_PAGE_BYTES];
    int rc;

    if (!w || trial->poison == RP_POISON_NONE)
        return 0;
    rc = rp_capture_page(trial->r->capture, m, RP_STATE_AFTER, page, after, err);
    if (rc == 0)
        rp_write_set_poison(rule_of(trial, m), trial->poison, w->poisoned, after, bytes, contents);
    return rc;
}

/* --- what is written ----------------------------------------------------------------------- */

/* Known pages are those of a pass before this one. */
static int add_written(struct rp_replay_trial *trial, struct rp_write_page *w, struct rp_err *err)
{
    const struct rp_write_set known = {.pages = trial->set.pages, .count = trial->known_pages};
    struct rp_write_page *before = rp_write_set_find(&known, w->region, w->page);
    uint64_t any = 0;

    for (size_t i = 0; i < RP_PAGE_MASKS; i++) {
        any |= w->written[i];
        if (before)
            before->written[i] |= w->written[i];
    }
    return any && !before ? rp_write_set_add(&trial->set, w, err) : 0;
}

static int note_page(void *data, const struct rp_capture_memory *m, uint64_t page,
                     const uint8_t *contents, const uint8_t *expected, struct rp_err *err)
{
    struct rp_replay_trial *trial = data;
    struct rp_write_page w = {.region = index_of(trial->r, m), .page = page};
    const uint64_t bytes = bytes_of(m, page);
    uint8_t before[RP_PAGE_BYTES];
    int rc = rp_capture_page(trial->r->capture, m, RP_STATE_BEFORE, page, before, err);

    if (rc < 0)
        return rc;
    rp_write_set_note(before, expected, bytes, w.written);
    if (trial->probe) {
        flip(trial, m, page, bytes, before);
        rp_write_set_note(before, contents, bytes, w.written);
    }
    return add_written(trial, &w, err);
}

/* A number that was computed from flipped ones can be the flipped one by chance. Pages where some
 * are written are thus poisoned all over: what is right afterwards was written. */
static int poison_whole_page(void *data, const struct rp_capture_memory *m, uint64_t page,
                             size_t bytes, uint8_t *contents, struct rp_err *err)
{
    const struct rp_replay_trial *trial = data;
    uint64_t all[RP_PAGE_MASKS] = {0};
    uint8_t flipped[RP_PAGE_BYTES], after[RP_PAGE_BYTES];
    int rc;

    if (!rp_trial_may_change(m) || !rp_write_set_find(&trial->set, index_of(trial->r, m), page))
        return 0;
    rc = rp_capture_page(trial->r->capture, m, RP_STATE_AFTER, page, after, err);
    if (rc < 0)
        return rc;
    memcpy(flipped, contents, bytes);
    flip(trial, m, page, bytes, flipped);
    rp_write_set_note(contents, flipped, bytes, all); /* no addresses */
    rp_write_set_poison(rule_of(trial, m), RP_POISON_NAN, all, after, bytes, contents);
    return 0;
}

static int note_poisoned_page(void *data, const struct rp_capture_memory *m, uint64_t page,
                              const uint8_t *contents, const uint8_t *expected, struct rp_err *err)
{
    static const struct rp_compare_rule exact = {.type = RP_EXACT};
    struct rp_replay_trial *trial = data;
    struct rp_write_page *w = rp_write_set_find(&trial->set, index_of(trial->r, m), page);
    uint8_t start[RP_PAGE_BYTES] = {0};
    uint64_t put[RP_PAGE_MASKS], wrong[RP_PAGE_MASKS];
    int rc = w ? rp_capture_page(trial->r->capture, m, RP_STATE_BEFORE, page, start, err) : 0;

    if (w && rc == 0)
        rc = poison_whole_page(trial, m, page, bytes_of(m, page), start, err);
    if (!w || rc < 0)
        return rc;
    rp_compare_words(&exact, start, expected, RP_PAGE_BYTES, put);
    rp_compare_words(&exact, contents, expected, RP_PAGE_BYTES, wrong);
    for (size_t i = 0; i < RP_PAGE_MASKS; i++) {
        w->written[i] |= put[i] & ~wrong[i];
        w->poisoned[i] = w->written[i];
    }
    return 0;
}

/* Runs of the captured kernel from memory that is not the captured one. */
static int probe_run(struct rp_replay_trial *trial, rp_replay_edit edit, struct rp_err *err)
{
    double us;
    int rc = rp_replay_fill(trial->r, edit, trial, err);

    if (rc < 0)
        return rc;
    rp_replay_step(trial->r, RP_STEP_PROBE);
    rc = rp_replay_run(trial->r, &us, err);
    trial->probe_broke = rc < 0;
    if (rc == 0)
        rp_replay_step(trial->r, RP_STEP_REST);
    return rc;
}

static int find_written(struct rp_replay_trial *trial, struct rp_err *err)
{
    int rc = 0;

    for (trial->flip = 0; trial->flip < (trial->probe ? RP_FLIPS : 1) && rc == 0; trial->flip++) {
        rc = trial->probe ? probe_run(trial, flip_page, err) : 0;
        if (rc == 0)
            rc = rp_replay_look_at(trial->r, note_page, trial, err);
        rp_write_set_sort(&trial->set);
        trial->known_pages = trial->set.count;
    }
    trial->flip = RP_FLIP_LOWEST;
    for (size_t i = 0; i < trial->set.count && trial->probe; i++)
        memcpy(trial->set.pages[i].poisoned, trial->set.pages[i].written,
               sizeof trial->set.pages[i].poisoned);
    return rc;
}

/* --- what can be poisoned ------------------------------------------------------------------ */

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
    w = rp_write_set_find(&trial->set, index_of(trial->r, m), page);
    for (size_t i = 0; i < RP_PAGE_MASKS; i++) {
        round->wrong_words += (uint64_t)__builtin_popcountll(bad[i]);
        if (w && round->drop)
            w->poisoned[i] &= ~bad[i];
    }
    return 0;
}

static int poison_round(struct rp_replay_trial *trial, struct round *round, struct rp_err *err)
{
    int rc = probe_run(trial, rp_trial_poison_page, err);

    round->wrong_words = 0;
    return rc < 0 ? rc : rp_replay_look_at(trial->r, count_page, round, err);
}

/* Updated in place, or computed from what is: dropped in the first pass, in which each kind of
 * poison is tried; if there was any, the second one shows whether all the rest is right then. */
static int choose_poison(struct rp_replay_trial *trial, struct rp_err *err)
{
    struct round round = {.trial = trial};
    bool wrong = true;
    int rc = 0;

    for (unsigned i = 0; i < ROUNDS && wrong; i++) {
        round.drop = i + 1 < ROUNDS;
        wrong = false;
        for (unsigned kind = 0; kind < RP_POISON_KINDS && rc == 0; kind++) {
            trial->poison = (enum rp_poison)kind;
            rc = poison_round(trial, &round, err);
            wrong = wrong || round.wrong_words;
        }
    }
    trial->poison = RP_POISON_NAN;
    for (size_t i = 0; wrong && i < trial->set.count; i++)
        memset(trial->set.pages[i].poisoned, 0, sizeof trial->set.pages[i].poisoned);
    return rc;
}

static int sum_up(struct rp_replay_trial *trial, struct rp_err *err)
{
    for (size_t i = 0; i < trial->set.count; i++) {
        const struct rp_write_page *w = &trial->set.pages[i];
        const struct rp_capture_memory *m = &trial->r->memory[w->region];
        uint8_t before[RP_PAGE_BYTES], after[RP_PAGE_BYTES];
        uint64_t bad[RP_PAGE_MASKS];
        int rc = rp_capture_page(trial->r->capture, m, RP_STATE_BEFORE, w->page, before, err);

        if (rc == 0)
            rc = rp_capture_page(trial->r->capture, m, RP_STATE_AFTER, w->page, after, err);
        if (rc < 0)
            return rc;
        rp_trial_compare(trial, m, w->page, before, after, bad);
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

static bool changes_variables(const struct rp_replay *r)
{
    const struct rp_capture_memory *code = rp_replay_kernel_code(r);

    return code && code->changed_pages;
}

static void set_bound(struct rp_replay *r, const struct timespec *from, const struct timespec *to)
{
    double bound_s;

    r->captured_s =
        (double)(to->tv_sec - from->tv_sec) + (double)(to->tv_nsec - from->tv_nsec) / 1e9;
    bound_s = BOUND_TIMES * r->captured_s;
    if (bound_s < LEAST_BOUND_S)
        bound_s = LEAST_BOUND_S;
    r->bound_s = bound_s > MOST_BOUND_S ? MOST_BOUND_S : (unsigned)bound_s;
}

/* As captured; how long it takes is the measure for what follows. */
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

int rp_trial_prepare(struct rp_replay_trial *trial, struct rp_err *err)
{
    struct rp_replay *r = trial->r;
    int rc;

    r->kernel = &r->original;
    rc = trial->own_spread ? rp_own_rule_find(&trial->own, r, &trial->rule, err) : 0;
    if (trial->own.regions)
        rp_own_rule_print(&trial->own, r, trial->rule_text, sizeof trial->rule_text);
    else
        rp_compare_rule_print(&trial->rule, trial->rule_text, sizeof trial->rule_text);
    if (rc == 0)
        rc = run_original(trial, err);
    if (rc == 0)
        rc = find_written(trial, err);
    if (rc == 0 && trial->probe && trial->set.count)
        rc = probe_run(trial, poison_whole_page, err);
    if (rc == 0 && trial->probe && trial->set.count)
        rc = rp_replay_look_at(r, note_poisoned_page, trial, err);
    if (rc == 0 && trial->probe && trial->set.count)
        rc = choose_poison(trial, err);
    if (rc == 0)
        rc = sum_up(trial, err);
    if (rc == 0 && trial->written_bytes == trial->blind_bytes && !changes_variables(r))
        rc = rp_fail(err, RP_VERDICT,
                     "the captured dispatch leaves nothing by which another kernel could be "
                     "judged: memory is the same without it");
    r->kernel = &r->candidates[0];
    return rc;
}

/* --- judging ------------------------------------------------------------------------------- */

/* Pages that the captured kernel writes, row by row. @return false: there are no more */
static bool next_row(const struct rp_replay_trial *trial, size_t *at, struct rp_replay_row *ret)
{
    const struct rp_write_page *w = trial->set.pages, *first = w + *at;

    if (*at >= trial->set.count)
        return false;
    *ret = (struct rp_replay_row){.m = &trial->r->memory[first->region], .first = first->page};
    while (*at < trial->set.count && ret->pages < RP_REPLAY_STAGE_BYTES / RP_PAGE_BYTES &&
           w[*at].region == first->region && w[*at].page == ret->first + ret->pages) {
        ret->pages++;
        ++*at;
    }
    return true;
}

enum rp_poison rp_trial_first_poison(unsigned run)
{
    static const enum rp_poison poisons[RP_TRIAL_FIRST_RUNS] = {RP_POISON_NONE, RP_POISON_HIGH,
                                                                RP_POISON_LOW};

    return poisons[run % RP_TRIAL_FIRST_RUNS];
}

int rp_trial_fill(struct rp_replay_trial *trial, struct rp_err *err)
{
    return rp_replay_fill(trial->r, rp_trial_poison_page, trial, err);
}

int rp_trial_restore(struct rp_replay_trial *trial, struct rp_err *err)
{
    const struct rp_capture_memory *code = rp_replay_kernel_code(trial->r);
    struct rp_replay_row row;
    int rc = rp_replay_reset_loaded(trial->r, err);

    if (rc == 0 && changes_variables(trial->r)) /* at the captured address */
        rc = rp_replay_restore_region(trial->r, code, err);
    for (size_t at = 0; rc == 0 && next_row(trial, &at, &row);)
        rc = rp_replay_fill_row(trial->r, &row, rp_trial_poison_page, trial, err);
    if (rc == 0)
        rc = rp_watch_prepare(trial->r, err);
    return rc < 0 || !changes_variables(trial->r) ? rc : rp_replay_fill_variables(trial->r, err);
}

int rp_trial_settle(struct rp_replay_trial *trial, struct rp_err *err)
{
    double us;
    int rc = 0;

    if (trial->r->cache == RP_CACHE_WARM)
        rc = rp_replay_run(trial->r, &us, err);
    if (rc == 0 && trial->r->cache == RP_CACHE_WARM)
        rc = rp_trial_restore(trial, err);
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
    static const struct rp_compare_rule exact = {.type = RP_EXACT};
    static const uint64_t nothing[RP_PAGE_MASKS];
    const struct rp_write_page *w;
    uint64_t different[RP_PAGE_MASKS], bad[RP_PAGE_MASKS];
    uint8_t shown[RP_PAGE_BYTES];

    (void)err;
    if (memcmp(contents, expected, RP_PAGE_BYTES) == 0)
        return 0;
    w = rp_write_set_find(&judge->trial->set, index_of(judge->trial->r, m), page);
    rp_compare_words(&exact, contents, expected, RP_PAGE_BYTES, different);
    rp_trial_compare(judge->trial, m, page, contents, expected, bad);
    memcpy(shown, contents, sizeof shown);
    for (size_t i = 0; i < RP_PAGE_WORDS; i++) {
        const bool written = rp_word_in(w ? w->written : nothing, i);

        if (written && rp_word_in(bad, i))
            judge->outcome.wrong_bytes += 4;
        else if (!written && rp_word_in(different, i))
            judge->outcome.outside_bytes += 4;
        else /* near enough */
            memcpy(shown + 4 * i, expected + 4 * i, 4);
    }
    rp_off_note(&judge->outcome.off, shown, expected, RP_PAGE_BYTES);
    rp_replay_note(&judge->outcome.verdict, m->region.base + page * RP_PAGE_BYTES, shown, expected,
                   RP_PAGE_BYTES);
    return 0;
}

/* Beside the captured memory. */
static void judge_beyond(struct judge *judge)
{
    const struct rp_beyond beyond = rp_watch_take(judge->trial->r);

    if (!beyond.bytes)
        return;
    rp_replay_note(&judge->outcome.verdict, beyond.first_address, &beyond.got, &beyond.expected, 1);
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

int rp_trial_check_written(struct rp_replay_trial *trial, struct rp_replay_outcome *ret,
                           struct rp_err *err)
{
    struct judge judge = {.trial = trial};
    struct rp_replay_row row;
    int rc = 0;

    for (size_t at = 0; rc == 0 && next_row(trial, &at, &row);)
        rc = rp_replay_look_at_row(trial->r, &row, judge_page, &judge, err);
    judge_beyond(&judge);
    if (rc == 0 && changes_variables(trial->r))
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
        if (&r->memory[i] != rp_replay_kernel_code(r)) {
            v->bytes += r->memory[i].region.bytes;
            v->regions++;
        }
    return rc < 0 ? rc : finish(&judge, ret, err);
}

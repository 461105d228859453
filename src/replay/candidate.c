#include "replay/candidate.h"

#include <string.h>

#include "base/err.h"
#include "replay/watch.h"

static size_t index_of(const struct rp_replay *r, const struct rp_capture_memory *m)
{
    return (size_t)(m - r->memory);
}

const struct rp_compare_rule *rp_trial_rule(const struct rp_replay_trial *trial,
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
        rp_write_set_poison(rp_trial_rule(trial, m), trial->poison, w->poisoned, after, bytes,
                            contents);
    return rc;
}

bool rp_trial_changes_variables(const struct rp_replay *r)
{
    const struct rp_capture_memory *code = rp_replay_kernel_code(r);

    return code && code->changed_pages;
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

int rp_trial_fill(struct rp_replay_trial *trial, struct rp_err *err)
{
    return rp_replay_fill(trial->r, rp_trial_poison_page, trial, err);
}

/* The variables of both kernels of a comparison: before each run the same has been copied, and
 * caches hold the same of it. The own ones come last. */
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

int rp_trial_restore(struct rp_replay_trial *trial, struct rp_err *err)
{
    const struct rp_capture_memory *code = rp_replay_kernel_code(trial->r);
    struct rp_replay_row row;
    int rc = reset_all(trial->r, err);

    if (rc == 0 && rp_trial_changes_variables(trial->r)) /* at the captured address */
        rc = rp_replay_restore_region(trial->r, code, err);
    for (size_t at = 0; rc == 0 && next_row(trial, &at, &row);)
        rc = rp_replay_fill_row(trial->r, &row, rp_trial_poison_page, trial, err);
    if (rc == 0)
        rc = rp_watch_prepare(trial->r, err);
    return rc < 0 || !rp_trial_changes_variables(trial->r)
               ? rc
               : rp_replay_fill_variables(trial->r, err);
}

int rp_trial_look_written(struct rp_replay_trial *trial, rp_replay_look look, void *data,
                          struct rp_err *err)
{
    struct rp_replay_row row;
    int rc = 0;

    for (size_t at = 0; rc == 0 && next_row(trial, &at, &row);)
        rc = rp_replay_look_at_row(trial->r, &row, look, data, err);
    return rc;
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
    int rc = rp_trial_look_written(trial, judge_page, &judge, err);

    judge_beyond(&judge);
    if (rc == 0 && rp_trial_changes_variables(trial->r))
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

int rp_trial_run(struct rp_replay_trial *trial, const struct rp_trial_run *how, double *ret_us,
                 struct rp_replay_outcome *ret, struct rp_err *err)
{
    int rc;

    trial->poison = how->poison;
    rc = how->restore_all ? rp_trial_fill(trial, err) : rp_trial_restore(trial, err);
    if (rc == 0 && how == &rp_trial_timed)
        rc = rp_trial_settle(trial, err);
    if (how->leftovers && trial->leftovers)
        rp_replay_leave(RP_TRIAL_LEFTOVERS);
    if (rc == 0)
        rc = rp_replay_run(trial->r, ret_us, err);
    if (how->leftovers && trial->leftovers)
        rp_replay_leave(0);
    if (rc == 0)
        rc = how->check_all ? rp_trial_check(trial, ret, err)
                            : rp_trial_check_written(trial, ret, err);
    if (rc == 0)
        ret->leftovers = how->leftovers && trial->leftovers;
    trial->poison = RP_POISON_NAN;
    return rc;
}

#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "tune/search_parts.h"
#include "tune/space.h"

/* The best of many noisy numbers is too good to be true: the first ones are run again, one sample
 * of each in turn, so that whatever changes meanwhile changes all of them. */

static int by_runtime(const void *left, const void *right)
{
    const struct rp_finalist *a = left, *b = right;

    if (a->runtime_ms != b->runtime_ms)
        return a->runtime_ms < b->runtime_ms ? -1 : 1;
    return (a->config > b->config) - (a->config < b->config);
}

int rp_search_choose(struct rp_search *s, struct rp_err *err)
{
    struct rp_search_result *result = s->result;

    result->finalists = calloc(result->tuned_count + 1, sizeof *result->finalists);
    if (!result->finalists)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (size_t i = 0; i < result->tuned_count; i++) {
        const struct rp_tuned *tuned = &result->tuned[i];

        if (tuned->outcome == RP_EVALUATION_OK && !tuned->failed_again)
            result->finalists[result->finalist_count++] = (struct rp_finalist){
                .config = tuned->config,
                .runtime_ms = tuned->runtime_ms,
                .interval = s->runner->exact
                                ? (struct rp_interval){tuned->runtime_ms, tuned->runtime_ms, 1}
                                : rp_samples_interval(tuned->samples_ms, tuned->sample_count)};
    }
    qsort(result->finalists, result->finalist_count, sizeof *result->finalists, by_runtime);
    s->ranked = result->finalist_count;
    if (result->finalist_count > s->o->finalists)
        result->finalist_count = s->o->finalists;
    return 0;
}

/** Whom not to run again, and not to name when the search is interrupted. */
static void note_failure(struct rp_search *s, size_t config)
{
    for (size_t i = 0; i < s->result->tuned_count; i++)
        if (s->result->tuned[i].config == config)
            s->result->tuned[i].failed_again = true;
}

static void report(const struct rp_search *s, size_t most_runs)
{
    const size_t runs = s->result->confirm.runs, left = most_runs > runs ? most_runs - runs : 0;
    const struct rp_search_progress progress = {
        .space = s->o->space,
        .evaluated = s->result->tuned_count,
        .most = s->result->most,
        .last = &s->result->tuned[s->result->tuned_count - 1],
        .best = &s->result->tuned[s->best],
        .phase = "confirm",
        .runs = runs,
        .most_runs = most_runs,
        .at_ms = s->now_ms,
        .left_ms = (s->now_ms - s->confirm_began_ms) / (double)runs * (double)left};

    if (s->o->progress)
        s->o->progress(s->o->context, &progress);
}

/** @param most_runs  until all is confirmed */
static int take_one(struct rp_search *s, size_t most_runs, struct rp_err *err)
{
    struct rp_run_answer answer = {0};
    struct rp_tune_task *task;
    struct rp_finalist *finalist;
    int rc = rp_search_next(s, &answer, &task, err);

    if (rc == 0) {
        finalist = &s->result->finalists[task->at];
        *task = (struct rp_tune_task){0};
        s->out--;
        s->result->confirm.runs++;
        if (answer.count == 0 && !finalist->failed) {
            finalist->failed = true;
            note_failure(s, finalist->config);
        }
        report(s, most_runs);
        rc = rp_search_take_samples(&finalist->samples_ms, &finalist->sample_count, &answer, err);
    }
    rp_run_answer_free(&answer);
    return rc;
}

/** Answers of another search count only if it had the same ones in turn. */
static int name_contest(struct rp_search *s, size_t begin, struct rp_err *err)
{
    rp_autobuf names = {0};

    for (size_t i = begin; i < s->result->finalist_count; i++) {
        rp_autofree char *config = rp_space_key(s->o->space, s->result->finalists[i].config);

        names.failed |= !config;
        rp_buf_printf(&names, "%s\n", config ? config : "");
    }
    if (names.failed)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    rp_sha256(rp_buf_text(&names), names.len, s->contest);
    return 0;
}

/** Those from begin to the last one that counts as a finalist. */
static int run_rounds(struct rp_search *s, size_t begin, struct rp_err *err)
{
    const size_t count = s->result->finalist_count - begin, all = count * s->o->most_samples;
    const size_t most_runs = s->result->confirm.runs + all;
    int rc = name_contest(s, begin, err);

    for (size_t i = 0; rc == 0 && i < all; i++) {
        /* each round begins with another one */
        const size_t at = begin + (i % count + i / count) % count;
        struct rp_tune_task *task;

        while (rc == 0 && !(task = rp_search_free_task(s)))
            rc = take_one(s, most_runs, err);
        if (rc < 0)
            break;
        if (s->result->finalists[at].failed)
            continue;
        *task =
            (struct rp_tune_task){.at = at, .tuned = {.config = s->result->finalists[at].config}};
        rc = rp_search_submit(s, task, i < count ? s->o->warmups : 0, 1, err);
    }
    while (rc == 0 && s->out > 0)
        rc = take_one(s, most_runs, err);
    return rc;
}

/**
 * Who has failed now is out, and stands behind the others: nothing that works sometimes is the
 * best.
 */
static void judge(struct rp_search *s)
{
    struct rp_search_result *result = s->result;
    const size_t count = result->finalist_count;
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        struct rp_finalist finalist = result->finalists[i];

        if (finalist.failed)
            continue;
        finalist.runtime_ms = rp_samples_median(finalist.samples_ms, finalist.sample_count);
        finalist.interval = rp_samples_interval(finalist.samples_ms, finalist.sample_count);
        result->finalists[i] = result->finalists[kept];
        result->finalists[kept++] = finalist;
    }
    result->finalist_count = kept;
    result->lost_count = count - kept;
    qsort(result->finalists, kept, sizeof *result->finalists, by_runtime);
}

/** Where all of them fail, the next best ones are run, and those behind them. */
static int run_again(struct rp_search *s, struct rp_err *err)
{
    enum { GROUPS = 3 };
    struct rp_search_result *result = s->result;
    const size_t all = s->ranked, group = s->o->finalists;

    for (size_t begin = 0; begin < all && begin < GROUPS * group; begin += group) {
        int rc;

        result->finalist_count = begin + group < all ? begin + group : all;
        result->lost_count = 0; /* they stand before these now */
        if ((rc = run_rounds(s, begin, err)) < 0)
            return rc;
        result->confirm.configs = result->finalist_count;
        judge(s);
        if (result->finalist_count)
            break;
    }
    result->confirmed = result->finalist_count + result->lost_count > 0;
    return 0;
}

/**
 * The first one is the luckiest of several, so the test is stricter than that of two: of five equal
 * ones with nine samples one is not named a tie in 5.6 % of 20,000 simulated searches.
 */
static void name_ties(struct rp_search *s)
{
    struct rp_search_result *result = s->result;
    const struct rp_finalist *first = result->finalists;
    const struct rp_samples_log best = rp_samples_log(first->samples_ms, first->sample_count);

    for (size_t i = 1; i < result->finalist_count; i++) {
        struct rp_finalist *other = &result->finalists[i];
        const struct rp_samples_log log = rp_samples_log(other->samples_ms, other->sample_count);

        if (!rp_search_noisy(s))
            other->tied = other->runtime_ms == first->runtime_ms;
        else if (log.count > 1 && best.count > 1) /* one slow run hides any difference of means */
            other->tied =
                !rp_race_differ(&log, &best) && other->interval.low_ms <= first->interval.high_ms;
        else
            other->tied = !rp_race_slower(&log, &best, &s->noise, rp_race_level(0, 1));
    }
}

int rp_search_confirm(struct rp_search *s, struct rp_err *err)
{
    int rc = rp_search_choose(s, err);

    s->confirm_began_ms = s->now_ms;
    if (rc < 0)
        return rc;
    if (rp_search_noisy(s) && (rc = run_again(s, err)) < 0)
        return rc;
    s->result->confirm.ms = s->now_ms - s->confirm_began_ms;
    if (s->result->finalist_count && (s->runner->exact || s->result->confirmed))
        name_ties(s);
    return 0;
}

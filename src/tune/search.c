#include "tune/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/sha256.h"
#include "base/stats.h"
#include "experiment/judge.h"
#include "experiment/measured_run.h"
#include "tune/objective.h"
#include "tune/space.h"
#include "tune/strategy.h"
#include "tune/surrogate.h"

struct rp_tune_task {
    uint64_t job;     /**< 0: free */
    bool drift;       /**< the best one once more, not a configuration to be judged */
    size_t at;        /**< confirm: the finalist */
    double warmup_ms; /**< one warm-up of it by the clock; 0: not known */
    struct rp_config_result tuned;
};

struct rp_search {
    const struct rp_search_options *o;
    const struct rp_runner *runner;
    struct rp_search_result *result;
    void *strategy;
    struct rp_tune_task *tasks; /**< one per worker */
    size_t out;                 /**< tasks that are not free */
    uint64_t jobs;              /**< submitted */
    size_t begun;               /**< configurations that were submitted */
    int64_t best;               /**< number in result->tuned, or -1 */
    double best_run_ms;         /**< one run of it by the clock; below 0: not known */
    double best_warmup_ms;      /**< one warm-up of it; 0: not known */
    size_t best_at;             /**< evaluations when it was found */
    size_t drift_at;            /**< evaluations when it was last run again */
    size_t ranked; /**< all that work, in result->finalists when it is chosen from them */
    struct rp_noise noise;
    struct rp_scalarisation scale; /**< of several objectives */
    struct rp_random weights;
    size_t *tuned_as; /**< of several objectives, per configuration: number in tuned + 1 */
    size_t drawn_at;  /**< evaluations when weights were drawn last */
    size_t drawn;     /**< how often */
    char contest[RP_SHA256_TEXT]; /**< confirm: who runs in it; "" before */
    double now_ms, confirm_began_ms;
    bool stopped;
};

/** Says whether another run can tell anything. */
static inline bool search_noisy(const struct rp_search *s)
{
    return !s->runner->exact && s->o->most_samples > 1;
}

static bool has_several(const struct rp_search *s)
{
    return s->o->objectives.goals > 1;
}

/** Says whether one that worked is better in an objective and worse in none. */
static bool is_dominated(const struct rp_search *s, const struct rp_config_result *tuned)
{
    for (size_t i = 0; i < s->result->tuned_count; i++) {
        const struct rp_config_result *other = &s->result->tuned[i];

        if (other->values && !other->failed_again && other != tuned &&
            rp_objectives_dominate(&s->o->objectives, other->values, tuned->values))
            return true;
    }
    return false;
}

/* The best of many noisy numbers is better than the truth, so the first ones are run again. They
 * take turns with one sample each, so that a change of the machine affects all of them. */

static int by_runtime(const void *left, const void *right)
{
    const struct rp_finalist *a = left, *b = right;

    if (a->runtime_ms != b->runtime_ms)
        return a->runtime_ms < b->runtime_ms ? -1 : 1;
    return (a->config > b->config) - (a->config < b->config);
}

/** Chooses the configurations that the search has seen as the fastest, fastest first. */
static void search_choose(struct rp_search *s)
{
    struct rp_search_result *result = s->result;

    result->finalists = rp_alloc_zero(result->tuned_count + 1, sizeof *result->finalists);
    for (size_t i = 0; i < result->tuned_count; i++) {
        const struct rp_config_result *tuned = &result->tuned[i];

        if (tuned->outcome == RP_EVALUATION_OK && !tuned->failed_again &&
            !(has_several(s) && is_dominated(s, tuned)))
            result->finalists[result->finalist_count++] = (struct rp_finalist){
                .config = tuned->config,
                .runtime_ms = tuned->runtime_ms,
                .interval = s->runner->exact
                                ? (struct rp_interval){tuned->runtime_ms, tuned->runtime_ms, 1}
                                : rp_samples_interval(tuned->samples_ms, tuned->sample_count)};
    }
    qsort(result->finalists, result->finalist_count, sizeof *result->finalists, by_runtime);
    s->ranked = result->finalist_count;
    if (!has_several(s) && result->finalist_count > s->o->finalists)
        result->finalist_count = s->o->finalists;
}

/** Notes a configuration that must not be run again, nor named when the search is interrupted. */
static void note_failure(struct rp_search *s, size_t config)
{
    for (size_t i = 0; i < s->result->tuned_count; i++)
        if (s->result->tuned[i].config == config)
            s->result->tuned[i].failed_again = true;
}

static void search_confirm_report(const struct rp_search *s, size_t most_runs)
{
    const size_t runs = s->result->confirm.runs, left = most_runs > runs ? most_runs - runs : 0;
    const struct rp_search_progress progress = {
        .space = s->o->space,
        .evaluated = s->result->tuned_count,
        .most = s->result->most,
        .last = &s->result->tuned[s->result->tuned_count - 1],
        .best = &s->result->tuned[s->best],
        .objectives = &s->o->objectives,
        .phase = "confirm",
        .runs = runs,
        .most_runs = most_runs,
        .at_ms = s->now_ms,
        .left_ms = (s->now_ms - s->confirm_began_ms) / (double)runs * (double)left};

    if (s->o->progress)
        s->o->progress(s->o->context, &progress);
}

static void search_take_samples(const struct rp_search *s, double **to, double **numbers,
                                size_t *count, const struct rp_run_answer *answer);
static void check_numbers(const struct rp_search *s, struct rp_run_answer *answer);
static int search_next(struct rp_search *s, struct rp_run_answer *ret,
                       struct rp_tune_task **ret_task, struct rp_err *err);

/** @param most_runs upper limit of runs until all is confirmed */
static int take_one(struct rp_search *s, size_t most_runs, struct rp_err *err)
{
    struct rp_run_answer answer = {0};
    struct rp_tune_task *task;
    struct rp_finalist *finalist;
    int rc = search_next(s, &answer, &task, err);

    if (rc == 0) {
        finalist = &s->result->finalists[task->at];
        *task = (struct rp_tune_task){0};
        s->out--;
        s->result->confirm.runs++;
        check_numbers(s, &answer);
        if (answer.count == 0 && !finalist->failed) {
            finalist->failed = true;
            note_failure(s, finalist->config);
        }
        search_confirm_report(s, most_runs);
        search_take_samples(s, &finalist->samples_ms, NULL, &finalist->sample_count, &answer);
    }
    rp_run_answer_free(&answer);
    return rc;
}

/** Answers of another search count only if the same configurations took turns in it. */
static void name_contest(struct rp_search *s, size_t begin)
{
    rp_autobuf names = {0};

    for (size_t i = begin; i < s->result->finalist_count; i++) {
        rp_autofree char *config = rp_space_key(s->o->space, s->result->finalists[i].config);

        rp_buf_printf(&names, "%s\n", config);
    }
    rp_sha256(rp_buf_text(&names), names.len, s->contest);
}

static struct rp_tune_task *search_free_task(struct rp_search *s);
static int search_submit(struct rp_search *s, struct rp_tune_task *task, unsigned warmups,
                         unsigned samples, struct rp_err *err);

/** Runs the finalists from begin to the last one that counts. */
static int run_rounds(struct rp_search *s, size_t begin, struct rp_err *err)
{
    const size_t count = s->result->finalist_count - begin, all = count * s->o->most_samples;
    const size_t most_runs = s->result->confirm.runs + all;
    int rc = 0;

    name_contest(s, begin);
    for (size_t i = 0; rc == 0 && i < all; i++) {
        /* Each round begins with another configuration. */
        const size_t at = begin + (i % count + i / count) % count;
        struct rp_tune_task *task;

        while (rc == 0 && !(task = search_free_task(s)))
            rc = take_one(s, most_runs, err);
        if (rc < 0)
            break;
        if (s->result->finalists[at].failed)
            continue;
        *task =
            (struct rp_tune_task){.at = at, .tuned = {.config = s->result->finalists[at].config}};
        rc = search_submit(s, task, i < count ? s->o->warmups : 0, 1, err);
    }
    while (rc == 0 && s->out > 0)
        rc = take_one(s, most_runs, err);
    return rc;
}

/**
 * A finalist that has failed now is out, and goes behind the others, because a program that works
 * only sometimes cannot be the best.
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

/** Where all of them fail, the next best ones are run, and so on. */
static int run_again(struct rp_search *s, struct rp_err *err)
{
    enum { GROUPS = 3 };
    struct rp_search_result *result = s->result;
    const size_t all = s->ranked, group = s->o->finalists;

    for (size_t begin = 0; begin < all && begin < GROUPS * group; begin += group) {
        int rc;

        result->finalist_count = begin + group < all ? begin + group : all;
        result->lost_count = 0; /* Earlier failures are listed before these. */
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

        if (!search_noisy(s))
            other->tied = other->runtime_ms == first->runtime_ms;
        else if (log.count > 1 && best.count > 1)
            /* A single slow run hides any difference of means, so the samples are compared. */
            other->tied =
                !rp_race_differ(&log, &best) && other->interval.low <= first->interval.high;
        else
            other->tied = !rp_race_slower(&log, &best, &s->noise, rp_race_level(0, 1));
    }
}

/** Runs the best ones again, orders them, and names ties.
 * @return as rp_search */
static int search_confirm(struct rp_search *s, struct rp_err *err)
{
    int rc;

    search_choose(s);
    s->confirm_began_ms = s->now_ms;
    /* Who is on a front is not a question of one number, so those that may be have had all their
     * samples during the search. */
    if (search_noisy(s) && !has_several(s) && (rc = run_again(s, err)) < 0)
        return rc;
    s->result->confirm.ms = s->now_ms - s->confirm_began_ms;
    if (s->result->finalist_count && !has_several(s) && (s->runner->exact || s->result->confirmed))
        name_ties(s);
    return 0;
}

enum {
    DRIFT_EVERY = 50, /**< evaluations between two looks at the best one */
    DRIFT_SAMPLES = 3,
};

/** A run that takes that many times what the best one takes by the clock is stopped. */
static const double slack = 5;

/** A run is not stopped before that, because starting a program takes its time whatever it
 * computes. */
static const double least_cap_ms = 30000;

/**
 * Returns how many configurations of a space may be run: floor(max_fraction * count), and never all
 * of them. It is 0 where that is less than 1.
 */
static size_t search_most(size_t count, double max_fraction)
{
    const double most = floor(max_fraction * (double)count);

    if (count == 0 || most < 1)
        return 0;
    return most < (double)count ? (size_t)most : count - 1;
}

/* --- jobs ------------------------------------------------------------------------------------- */

static struct rp_tune_task *search_free_task(struct rp_search *s)
{
    for (unsigned i = 0; i < s->runner->workers; i++)
        if (!s->tasks[i].job)
            return &s->tasks[i];
    return NULL;
}

/** @param its_ms time of the best one; 0 or below: not known */
static double cap_ms(const struct rp_search *s, double its_ms)
{
    double cap = its_ms > 0 ? fmax(slack * its_ms, least_cap_ms) : 0;

    if (s->o->timeout_ms > 0 && (cap == 0 || s->o->timeout_ms < cap))
        cap = s->o->timeout_ms;
    return cap;
}

/** @return 0; RP_ENVIRONMENT */
static int search_submit(struct rp_search *s, struct rp_tune_task *task, unsigned warmups,
                         unsigned samples, struct rp_err *err)
{
    const struct rp_run_job job = {.number = s->jobs + 1,
                                   .config = task->tuned.config,
                                   .purpose = task->drift     ? RP_RUN_DRIFT
                                              : s->contest[0] ? RP_RUN_CONFIRM
                                                              : RP_RUN_EXPLORE,
                                   .contest = s->contest[0] ? s->contest : NULL,
                                   .warmups = warmups,
                                   .samples = samples,
                                   .cap_ms = cap_ms(s, s->best_run_ms),
                                   .warmup_cap_ms =
                                       cap_ms(s, fmax(s->best_run_ms, s->best_warmup_ms)),
                                   .begun_ms = s->now_ms};
    int rc = s->runner->submit(s->runner->state, &job, err);

    if (rc < 0)
        return rc;
    s->out += !task->job;
    task->job = job.number;
    s->jobs++;
    return 0;
}

/** Waits for the next answer, and says whose it is.
 * @return 0; RP_ENVIRONMENT; RP_INTERRUPTED */
static int search_next(struct rp_search *s, struct rp_run_answer *ret,
                       struct rp_tune_task **ret_task, struct rp_err *err)
{
    int rc = s->runner->next(s->runner->state, ret, err);

    if (rc < 0)
        return rc;
    s->now_ms = ret->at_ms;
    for (unsigned i = 0; i < s->runner->workers; i++)
        if (s->tasks[i].job == ret->number) {
            *ret_task = &s->tasks[i];
            return 0;
        }
    return rp_fail(err, RP_ENVIRONMENT, "an answer to job %llu, which is not out",
                   (unsigned long long)ret->number);
}

/** Adds the answer's samples to *to, and its numbers to *numbers, which may be NULL. With
 * objectives a sample is the cost of the first one. */
static void search_take_samples(const struct rp_search *s, double **to, double **numbers,
                                size_t *count, const struct rp_run_answer *answer)
{
    const struct rp_objectives *objectives = &s->o->objectives;
    const size_t each = answer->numbers ? objectives->count : 0;

    if (answer->count == 0)
        return;
    *to = rp_realloc(*to, (*count + answer->count) * sizeof **to);
    for (size_t i = 0; i < answer->count; i++)
        (*to)[*count + i] = each ? rp_cost_of(&objectives->numbers[0], answer->numbers[i * each])
                                 : answer->samples_ms[i];
    if (numbers && each) {
        *numbers = rp_realloc(*numbers, (*count + answer->count) * each * sizeof **numbers);
        memcpy(*numbers + *count * each, answer->numbers, answer->count * each * sizeof **numbers);
    }
    *count += answer->count;
}

/** Ratios of an objective are compared, so it has to be above 0; and limits must be kept. An answer
 * that does not count gets an outcome that says why. */
static void check_numbers(const struct rp_search *s, struct rp_run_answer *answer)
{
    const struct rp_objectives *objectives = &s->o->objectives;
    char *why = NULL;

    for (size_t i = 0; !why && answer->numbers && i < answer->count; i++) {
        const double *values = answer->numbers + i * objectives->count;

        for (size_t j = 0; !why && j < objectives->goals; j++)
            if (rp_cost_of(&objectives->numbers[j], values[j]) == 0)
                why = rp_format("%s is %g: an objective must be above 0, as ratios are compared",
                                objectives->numbers[j].name, values[j]);
        if (why)
            answer->outcome = RP_EVALUATION_NO_TIME;
        else if ((why = rp_objectives_refuse(objectives, values)))
            answer->outcome = RP_EVALUATION_LIMIT;
    }
    if (!why)
        return;
    free(answer->reason);
    answer->reason = why;
    answer->count = 0;
}

/** Computes the medians of all numbers over all samples. */
static void sum_up(const struct rp_search *s, struct rp_config_result *tuned)
{
    const size_t each = s->o->objectives.count, count = tuned->sample_count;
    rp_autofree double *column = rp_alloc_zero(count + 1, sizeof *column);

    if (!tuned->numbers)
        return;
    tuned->values = rp_alloc_zero(each, sizeof *tuned->values);
    for (size_t i = 0; i < each; i++) {
        for (size_t j = 0; j < count; j++)
            column[j] = tuned->numbers[j * each + i];
        tuned->values[i] = rp_median(column, count);
    }
}

/* --- one configuration ------------------------------------------------------------------------ */

static const struct rp_config_result *best(const struct rp_search *s)
{
    return s->best < 0 ? NULL : &s->result->tuned[s->best];
}

/** Says how many more samples would tell something, or 0. */
static unsigned more_samples(const struct rp_search *s, const struct rp_config_result *tuned)
{
    const unsigned most = search_noisy(s) ? s->o->most_samples : 1;
    struct rp_samples_log mine, its;

    if (tuned->outcome != RP_EVALUATION_OK || tuned->sample_count >= most)
        return 0;
    if (has_several(s)) {
        struct rp_config_result so_far = *tuned;
        bool out;

        sum_up(s, &so_far);
        out = is_dominated(s, &so_far);
        free(so_far.values);
        return out ? 0 : most - (unsigned)tuned->sample_count;
    }
    if (!best(s))
        return most - (unsigned)tuned->sample_count;
    mine = rp_samples_log(tuned->samples_ms, tuned->sample_count);
    its = rp_samples_log(best(s)->samples_ms, best(s)->sample_count);
    return rp_race_slower(&mine, &its, &s->noise, rp_race_level(s->o->least_samples, most)) ? 0 : 1;
}

/** Returns the lower limit of its time, as a multiple of the best one's run. */
static double timed_out_at(const struct rp_search *s)
{
    if (!(s->o->timeout_ms > 0) || !(s->best_run_ms > 0))
        return slack;
    return fmax(fmin(slack, s->o->timeout_ms / s->best_run_ms), 1);
}

/** @param context the search */
static double log_of_all(const void *context, size_t config)
{
    const struct rp_search *s = context;

    return rp_scalarisation_log(&s->scale, &s->o->objectives,
                                s->result->tuned[s->tuned_as[config] - 1].values);
}

/** One number is made of several objectives, by weights that last for a tenth of the evaluations so
 * far. */
static void tell_several(struct rp_search *s, const struct rp_config_result *tuned, size_t number)
{
    s->tuned_as[tuned->config] = number + 1;
    rp_scalarisation_see(&s->scale, &s->o->objectives, tuned->values);
    if (s->drawn == 0 || number >= s->drawn_at + s->drawn_at / 10 + 1) {
        rp_scalarisation_draw(&s->scale, &s->o->objectives, s->drawn++, &s->weights);
        s->drawn_at = number;
        s->o->strategy->tell_log(s->strategy, tuned->config, log_of_all(s, tuned->config));
        s->o->strategy->retell(s->strategy, log_of_all, s);
        return;
    }
    s->o->strategy->tell_log(s->strategy, tuned->config, log_of_all(s, tuned->config));
}

static void tell(struct rp_search *s, struct rp_config_result *tuned)
{
    enum rp_reported told = RP_REPORTED_FAILED;

    if (tuned->outcome == RP_EVALUATION_OK) {
        tuned->runtime_ms = rp_samples_median(tuned->samples_ms, tuned->sample_count);
        told = RP_REPORTED_OK;
        sum_up(s, tuned);
        if (has_several(s) && s->o->strategy->tell_log) {
            tell_several(s, tuned, (size_t)(tuned - s->result->tuned));
            return;
        }
    } else if (tuned->outcome == RP_EVALUATION_TIMEOUT && best(s) && !s->o->objectives.count) {
        /* It is slower by that much on the clock, and most of the difference is in the part that is
         * measured. */
        tuned->runtime_ms = timed_out_at(s) * best(s)->runtime_ms;
        told = RP_REPORTED_CENSORED;
    }
    s->o->strategy->tell(s->strategy, tuned->config, told, tuned->runtime_ms);
}

/** The remaining runs take as long as those before, or as long as there is time for. Nobody waits
 * for recorded runs. */
static double left_ms(const struct rp_search *s)
{
    const size_t done = s->result->tuned_count;
    double left;

    if (done == 0 || strcmp(s->runner->device.kind, "recorded") == 0)
        return -1;
    left = s->now_ms / (double)done * (double)(s->result->most - done);
    if (s->o->budget_ms > 0)
        left = fmin(left, fmax(s->o->budget_ms - s->now_ms, 0));
    return left;
}

static void report(const struct rp_search *s, const struct rp_config_result *last,
                   const char *phase)
{
    const struct rp_search_progress progress = {.space = s->o->space,
                                                .evaluated = s->result->tuned_count,
                                                .most = s->result->most,
                                                .last = last,
                                                .best = best(s),
                                                .objectives = &s->o->objectives,
                                                .phase = phase,
                                                .at_ms = s->now_ms,
                                                .left_ms = left_ms(s)};

    if (s->o->progress)
        s->o->progress(s->o->context, &progress);
}

static void stop(struct rp_search *s, enum rp_search_end end)
{
    if (!s->stopped)
        s->result->end = end;
    s->stopped = true;
}

static void look_whether_to_stop(struct rp_search *s)
{
    if (s->o->target_ms > 0 && best(s) && best(s)->runtime_ms <= s->o->target_ms)
        stop(s, RP_END_TARGET);
    else if (s->o->most_failures && !best(s) && s->result->tuned_count >= s->o->most_failures)
        stop(s, RP_END_FAILURES);
    else if (s->o->patience && s->result->tuned_count - s->best_at >= s->o->patience)
        stop(s, RP_END_PATIENCE);
    else if (s->o->budget_ms > 0 && s->now_ms >= s->o->budget_ms)
        stop(s, RP_END_TIME);
}

/** Puts the finished configuration into the result. */
static void finish(struct rp_search *s, struct rp_tune_task *task, double run_ms)
{
    struct rp_search_result *result = s->result;
    struct rp_config_result *tuned = &result->tuned[result->tuned_count];
    struct rp_phase_sum *phase =
        strcmp(task->tuned.phase, "seed") == 0 ? &result->seed : &result->predict;
    const double warmup_ms = task->warmup_ms;
    struct rp_samples_log log;

    *tuned = task->tuned;
    *task = (struct rp_tune_task){0};
    s->out--;
    tuned->at_ms = s->now_ms;
    tell(s, tuned);
    if (tuned->outcome != RP_EVALUATION_OK) {
        free(tuned->samples_ms);
        free(tuned->numbers);
        tuned->samples_ms = tuned->numbers = NULL;
        tuned->sample_count = 0;
    }
    log = rp_samples_log(tuned->samples_ms, tuned->sample_count);
    rp_noise_add(&s->noise, &log);
    phase->configs++;
    if (phase == &result->seed)
        phase->ms = s->now_ms;
    result->tuned_count++;
    if (tuned->outcome == RP_EVALUATION_OK &&
        (!best(s) || tuned->runtime_ms < best(s)->runtime_ms)) {
        s->best = (int64_t)result->tuned_count - 1;
        s->best_at = result->tuned_count;
        s->drift_at = result->tuned_count;
        s->best_run_ms = run_ms;
        s->best_warmup_ms = warmup_ms;
    }
    if (has_several(s) && tuned->values && !is_dominated(s, tuned))
        s->best_at = result->tuned_count;
    if (best(s) && s->stopped && result->end == RP_END_FAILURES)
        s->stopped = false; /* It was given up already, and works nevertheless. */
    report(s, tuned, tuned->phase);
    look_whether_to_stop(s);
}

/** The best one has been run again, which shows whether the machine still has the same speed. */
static void finish_drift(struct rp_search *s, struct rp_tune_task *task,
                         struct rp_run_answer *answer)
{
    const struct rp_config_result *was = NULL;
    struct rp_samples_log before, now;
    rp_autofree double *now_ms = NULL;
    size_t now_count = 0;
    double change;

    check_numbers(s, answer);
    for (size_t i = 0; i < s->result->tuned_count; i++)
        if (s->result->tuned[i].config == task->tuned.config)
            was = &s->result->tuned[i];
    *task = (struct rp_tune_task){0};
    s->out--;
    if (answer->outcome != RP_EVALUATION_OK && s->result->drift_failures++ == 0)
        s->result->drift_reason = rp_steal(answer->reason);
    if (!was || answer->count < 2 || was->sample_count < 2)
        return;
    search_take_samples(s, &now_ms, NULL, &now_count, answer);
    before = rp_samples_log(was->samples_ms, was->sample_count);
    now = rp_samples_log(now_ms, now_count);
    change = rp_samples_median(now_ms, now_count) / was->runtime_ms - 1;
    s->result->drift_checks++;
    if (fabs(change) > fabs(s->result->drift))
        s->result->drift = change;
    if (rp_race_differ(&now, &before) && fabs(change) > 0.02)
        s->result->drifted = true;
}

/* --- the loop --------------------------------------------------------------------------------- */

/** Returns the wall-clock time of one measured run. Below 0 it is not known. */
static double one_run_ms(const struct rp_run_answer *answer)
{
    const double ms = answer->run_ms - answer->warmup_ms;

    return ms > 0 && answer->count ? ms / (double)answer->count : -1;
}

static int take(struct rp_search *s, struct rp_tune_task *task, struct rp_run_answer *answer,
                struct rp_err *err)
{
    struct rp_config_result *tuned = &task->tuned;
    const unsigned runs = (unsigned)answer->count;
    struct rp_phase_sum *phase =
        tuned->phase && strcmp(tuned->phase, "seed") == 0 ? &s->result->seed : &s->result->predict;
    unsigned more;

    phase->runs += runs ? runs : 1;
    if (task->drift) {
        finish_drift(s, task, answer);
        return 0;
    }
    if (answer->warmup_ms > 0 && s->o->warmups)
        task->warmup_ms = answer->warmup_ms / s->o->warmups;
    check_numbers(s, answer);
    tuned->outcome = answer->outcome;
    if (answer->build_ms > 0)
        tuned->build_ms += answer->build_ms;
    if (answer->run_ms > 0)
        tuned->run_ms += answer->run_ms;
    free(tuned->reason);
    tuned->reason = rp_steal(answer->reason);
    search_take_samples(s, &tuned->samples_ms, &tuned->numbers, &tuned->sample_count, answer);
    if (tuned->outcome == RP_EVALUATION_OK && tuned->sample_count == 0)
        tuned->outcome = RP_EVALUATION_NO_TIME;
    if ((more = more_samples(s, tuned)) > 0)
        return search_submit(s, task, 0, more, err);
    finish(s, task, one_run_ms(answer));
    return 0;
}

/** Chooses what is run next, or what a strategy answers instead. Strategies get the results of the
 * first ones before they are asked for more. */
static int64_t choose(struct rp_search *s, const char **ret_phase)
{
    int64_t config;

    *ret_phase = "seed";
    if (s->begun < s->o->first_count)
        return s->o->first[s->begun];
    if (s->result->tuned_count < s->o->first_count)
        return RP_ASK_WAIT;
    config = s->o->strategy->ask(s->strategy);
    *ret_phase = s->o->strategy->phase(s->strategy);
    return config;
}

/** @return 1: a job went out; 0: none for now; negative */
static int begin_one(struct rp_search *s, struct rp_err *err)
{
    struct rp_tune_task *task = search_free_task(s);
    const unsigned samples = !search_noisy(s) ? 1
                             : best(s)        ? s->o->least_samples
                                              : s->o->most_samples;
    const char *phase;
    int64_t config;
    int rc;

    if (!task)
        return 0;
    if (search_noisy(s) && best(s) && s->result->tuned_count >= s->drift_at + DRIFT_EVERY) {
        s->drift_at = s->result->tuned_count;
        *task = (struct rp_tune_task){.drift = true, .tuned = {.config = best(s)->config}};
        rc = search_submit(s, task, s->o->warmups, DRIFT_SAMPLES, err);
        return rc < 0 ? rc : 1;
    }
    if (s->begun >= s->result->most) {
        stop(s, s->o->budget_evals == s->result->most ? RP_END_EVALS : RP_END_FRACTION);
        return 0;
    }
    config = choose(s, &phase);
    if (config == RP_ASK_NONE_LEFT)
        stop(s, RP_END_STRATEGY);
    if (config < 0)
        return 0;
    *task = (struct rp_tune_task){.tuned = {.config = (size_t)config, .phase = phase}};
    s->begun++;
    rc = search_submit(s, task, s->runner->exact ? 0 : s->o->warmups, samples, err);
    return rc < 0 ? rc : 1;
}

static int explore(struct rp_search *s, struct rp_err *err)
{
    for (;;) {
        struct rp_run_answer answer = {0};
        struct rp_tune_task *task;
        int rc = 1;

        while (!s->stopped && rc > 0)
            rc = begin_one(s, err);
        if (rc < 0)
            return rc;
        if (s->out == 0)
            return 0;
        rc = search_next(s, &answer, &task, err);
        if (rc == 0)
            rc = take(s, task, &answer, err);
        rp_run_answer_free(&answer);
        if (rc < 0)
            return rc;
    }
}

/** Says how good a model of the finished runs is, whatever strategy has searched. */
static int judge_model(struct rp_search *s, struct rp_err *err)
{
    const struct rp_search_result *result = s->result;
    rp_autofree struct rp_observation *observations =
        rp_alloc_zero(result->tuned_count + 1, sizeof *observations);

    for (size_t i = 0; i < result->tuned_count; i++) {
        const struct rp_config_result *tuned = &result->tuned[i];

        observations[i] = (struct rp_observation){
            .config = (uint32_t)tuned->config,
            .told = tuned->outcome == RP_EVALUATION_OK ? RP_REPORTED_OK
                    : tuned->outcome == RP_EVALUATION_TIMEOUT && tuned->runtime_ms > 0
                        ? RP_REPORTED_CENSORED
                        : RP_REPORTED_FAILED,
            .log_ms = tuned->runtime_ms > 0 ? rp_exact_log(tuned->runtime_ms) : 0};
    }
    return rp_confidence_of(s->o->space, observations, result->tuned_count, s->o->seed,
                            &s->result->model, err);
}

static void free_finalists(struct rp_search_result *result)
{
    for (size_t i = 0; i < result->finalist_count + result->lost_count; i++)
        free(result->finalists[i].samples_ms);
    free(result->finalists);
    result->finalists = NULL;
    result->finalist_count = result->lost_count = 0;
}

/** The least is one where a fraction is given. */
static size_t seeds(const struct rp_search_options *o)
{
    const double count = floor(o->seed_fraction * (double)o->space->count);

    return o->seed_fraction > 0 && count < 1 ? 1 : (size_t)count;
}

static int run(struct rp_search *s, struct rp_err *err)
{
    const struct rp_strategy_options how = {.seed = s->o->seed,
                                            .most_evaluations = s->result->most,
                                            .workers = s->runner->workers,
                                            .seeds = seeds(s->o)};
    int rc;

    if (s->result->most == 0) {
        stop(s, RP_END_SMALL);
        return judge_model(s, err);
    }
    s->strategy = s->o->strategy->open(s->o->space, &how);
    rc = explore(s, err);
    s->result->predict.ms = s->now_ms - s->result->seed.ms;
    if (rc == 0)
        rc = search_confirm(s, err);
    if (rc == -RP_INTERRUPTED) { /* The result is what was found so far. */
        s->stopped = false;
        stop(s, RP_END_INTERRUPT);
        free_finalists(s->result);
        search_choose(s);
        rc = 0;
    }
    return rc == 0 ? judge_model(s, err) : rc;
}

int rp_search(const struct rp_search_options *options, const struct rp_runner *runner,
              struct rp_search_result *ret, struct rp_err *err)
{
    struct rp_search search = {
        .o = options,
        .runner = runner,
        .result = ret,
        .weights = rp_random_new(options->seed),
        .tuned_as = options->objectives.goals > 1
                        ? rp_alloc_zero(options->space->count + 1, sizeof *search.tuned_as)
                        : NULL,
        .best = -1,
        .best_run_ms = -1};
    int rc;

    *ret = (struct rp_search_result){.most =
                                         search_most(options->space->count, options->max_fraction)};
    if (options->budget_evals && options->budget_evals < ret->most)
        ret->most = options->budget_evals;
    ret->tuned = rp_alloc_zero(ret->most + 1, sizeof *ret->tuned);
    search.tasks = rp_alloc_zero(runner->workers, sizeof *search.tasks);
    rc = run(&search, err);
    for (unsigned i = 0; i < runner->workers; i++) {
        free(search.tasks[i].tuned.samples_ms);
        free(search.tasks[i].tuned.numbers);
        free(search.tasks[i].tuned.reason);
    }
    free(search.tasks);
    free(search.tuned_as);
    if (search.strategy)
        options->strategy->close(search.strategy);
    return rc;
}

const struct rp_config_result *rp_search_tuned(const struct rp_search_result *result, size_t config)
{
    for (size_t i = 0; i < result->tuned_count; i++)
        if (result->tuned[i].config == config)
            return &result->tuned[i];
    return NULL;
}

void rp_search_result_free(struct rp_search_result *result)
{
    for (size_t i = 0; i < result->tuned_count; i++) {
        free(result->tuned[i].samples_ms);
        free(result->tuned[i].numbers);
        free(result->tuned[i].values);
        free(result->tuned[i].reason);
    }
    free_finalists(result);
    free(result->drift_reason);
    free(result->tuned);
    *result = (struct rp_search_result){0};
}

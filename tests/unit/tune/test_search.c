/* Searches over runners that are made up: test_noise, test_drift, failures, time-outs, several
 * workers, limits, and journals that end anywhere. */
#include "experiment/session_folder.h"
#include "tune/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/journal.h"
#include "base/path.h"
#include "base/stats.h"
#include "tune/search_journal.h"
#include "tune/strategy.h"
#include "tune/surrogate.h"

#include "unit/tune/made_space.h"

#include "compared_strategies.h"

#include "tune/search.c"

enum { MOST_OUT = 8 };

/** Runs nothing: times come from a formula, with test_noise. */
struct made_runner {
    const struct rp_space *space;
    double sd;           /**< of the logarithm */
    unsigned slow_every; /**< jobs: the samples of one take 20 times as long; 0: of none */
    double drift;        /**< factor from the 200th job on; 0: none */
    bool fails, hangs;   /**< some configurations do */
    size_t fails_first;  /**< answers until any works */
    bool drift_fails;    /**< what looks for drift: three samples at a time */
    unsigned ends_after; /**< jobs until it is interrupted; 0: never */
    size_t spoilt_after; /**< answers until `spoilt` fails, or all; 0: never */
    size_t spoilt_until; /**< answers until it works again; 0: never */
    size_t spoilt;       /**< configuration; SIZE_MAX: all */
    double run_ms;       /**< by the clock; 0: 20 */
    double warmup_ms;    /**< each warm-up by the clock */
    struct rp_run_job out[MOST_OUT];
    size_t out_count, answers, samples;
    unsigned most_runs; /**< of one configuration in the search */
    double last_cap_ms, last_warmup_cap_ms;
};

static double true_ms(const struct rp_space *space, size_t config)
{
    const uint16_t *row = rp_space_row(space, config);
    double log_ms = 0;

    for (size_t i = 0; i < space->parameter_count; i++)
        if (strcmp(space->parameters[i].name, "T") != 0) /* of twins */
            log_ms += 0.1 * pow((double)row[i] - 2, 2);
    return exp(log_ms);
}

static double sample(struct made_runner *r, const struct rp_run_job *job, unsigned number)
{
    struct rp_random random = rp_random_new(job->number * 1000 + number);
    double sum = 0;

    for (int i = 0; i < 12; i++)
        sum += rp_random_unit(&random);
    return true_ms(r->space, job->config) * exp(r->sd * (sum - 6)) *
           (r->slow_every && job->number % r->slow_every == 0 ? 20 : 1) *
           (r->drift > 0 && r->answers >= 200 ? r->drift : 1);
}

static int test_submit(void *state, const struct rp_run_job *job, struct rp_err *err)
{
    struct made_runner *r = state;

    (void)err;
    assert_true(r->out_count < MOST_OUT);
    r->out[r->out_count++] = *job;
    r->last_cap_ms = job->cap_ms;
    r->last_warmup_cap_ms = job->warmup_cap_ms;
    return 0;
}

static void run_job(struct made_runner *r, const struct rp_run_job *job, struct rp_run_answer *ret)
{
    const uint16_t *row = rp_space_row(r->space, job->config);

    *ret = (struct rp_run_answer){
        .number = job->number, .build_ms = -1, .run_ms = 20, .at_ms = job->begun_ms + 1};
    if (r->answers < r->fails_first || (r->fails && row[0] == 0) ||
        (r->drift_fails && job->samples == 3) ||
        (r->spoilt_after && r->answers >= r->spoilt_after &&
         (!r->spoilt_until || r->answers < r->spoilt_until) &&
         (r->spoilt == SIZE_MAX || r->spoilt == job->config))) {
        ret->outcome = RP_EVALUATION_FAILED;
        ret->reason = strdup("made up");
        return;
    }
    if ((r->hangs && row[1] == 4) ||
        (job->warmups && job->warmup_cap_ms > 0 && r->warmup_ms > job->warmup_cap_ms)) {
        ret->outcome = RP_EVALUATION_TIMEOUT;
        return;
    }
    ret->samples_ms = malloc(job->samples * sizeof *ret->samples_ms);
    for (unsigned i = 0; i < job->samples; i++)
        ret->samples_ms[ret->count++] = sample(r, job, i);
    ret->warmup_ms = r->warmup_ms * job->warmups;
    ret->run_ms = (r->run_ms > 0 ? r->run_ms : 20) * job->samples + ret->warmup_ms;
    r->samples += job->samples;
}

/** The one that was submitted last is answered first: nothing may rely on an order. */
static int test_next(void *state, struct rp_run_answer *ret, struct rp_err *err)
{
    struct made_runner *r = state;

    assert_true(r->out_count > 0);
    if (r->ends_after && r->answers >= r->ends_after)
        return rp_fail(err, RP_INTERRUPTED, "interrupted");
    run_job(r, &r->out[--r->out_count], ret);
    r->answers++;
    return 0;
}

static struct rp_runner runner_of(struct made_runner *made, unsigned workers)
{
    return (struct rp_runner){.workers = workers,
                              .exact = made->sd == 0,
                              .device = {"hardware", "made", "", ""},
                              .submit = test_submit,
                              .next = test_next,
                              .state = made};
}

static struct rp_space *space_of(size_t parameters)
{
    static const int numbers[] = {1, 2, 4, 8, 16};
    static const char *const names[] = {"A", "B", "C", "D", "E"};
    struct rp_space *space = rp_space_new();

    for (size_t i = 0; i < parameters; i++)
        made_parameter(space, names[i], numbers, 5);
    made_product(space);
    return space;
}

static struct rp_search_options options_for(const struct rp_space *space)
{
    return (struct rp_search_options){.space = space,
                                      .strategy = rp_strategy_number(0),
                                      .seed = 1,
                                      .max_fraction = 0.2,
                                      .least_samples = 1,
                                      .most_samples = 9,
                                      .warmups = 1,
                                      .finalists = 5};
}

static struct rp_search_result test_search(const struct rp_search_options *options,
                                           struct made_runner *made, unsigned workers)
{
    const struct rp_runner runner = runner_of(made, workers);
    struct rp_search_result result;
    struct rp_err err = RP_ERR_INIT;

    if (rp_search(options, &runner, &result, &err) < 0)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < result.tuned_count; i++) /* nothing is run twice */
        for (size_t j = 0; j < i; j++)
            assert_int_not_equal(result.tuned[i].config, result.tuned[j].config);
    assert_true(result.tuned_count <= result.most);
    return result;
}

static void never_the_whole_space(void **state)
{
    (void)state;
    for (size_t n = 0; n <= 10; n++) {
        assert_int_equal(search_most(n, 0.2), n / 5);
        assert_int_equal(search_most(n, 1), n ? n - 1 : 0);
        assert_int_equal(search_most(n, 0.99), n ? n - 1 : 0);
    }
    assert_int_equal(search_most(1660, 0.2), 332);
}

static void small_spaces(void **state)
{
    static const int numbers[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};

    (void)state;
    for (size_t n = 1; n <= 10; n++)
        for (int whole = 0; whole < 2; whole++) {
            struct rp_space *space = rp_space_new();
            struct rp_search_options options = options_for(space);
            struct made_runner made = {.space = space, .sd = 0.01};
            struct rp_search_result result;

            made_parameter(space, "A", numbers, n);
            made_product(space);
            options.max_fraction = whole ? 1 : 0.2;
            result = test_search(&options, &made, 1);
            assert_int_equal(result.tuned_count, whole ? n - 1 : n / 5);
            assert_int_equal(result.finalist_count > 0, result.tuned_count > 0);
            assert_int_equal(result.end, result.most ? RP_END_FRACTION : RP_END_SMALL);
            assert_true(result.model.low);
            rp_search_result_free(&result);
            rp_space_free(space);
        }
}

struct heard {
    size_t evaluations, runs;
};

static void hear(void *context, const struct rp_search_progress *p)
{
    struct heard *heard = context;

    assert_true(p->left_ms >= 0);
    if (strcmp(p->phase, "confirm") == 0) {
        assert_int_equal(p->runs, ++heard->runs);
        assert_int_equal(p->most_runs, 45);
    } else {
        assert_int_equal(p->evaluated, ++heard->evaluations);
    }
}

/* Whoever looks at it hears of each configuration, and of each run that confirms. */
static void test_progress(void **state)
{
    struct rp_space *space = space_of(3);
    struct rp_search_options options = options_for(space);
    struct made_runner made = {.space = space, .sd = 0.05};
    struct heard heard = {0};
    struct rp_search_result result;

    (void)state;
    options.progress = hear;
    options.context = &heard;
    result = test_search(&options, &made, 2);
    assert_int_equal(heard.evaluations, 25);
    assert_int_equal(heard.runs, 45);
    rp_search_result_free(&result);
    rp_space_free(space);
}

/* Bad ones get few samples, and the best one is found although single samples lie. */
static void test_noise(void **state)
{
    struct rp_space *space = space_of(4);
    struct rp_search_options options = options_for(space);
    struct made_runner made = {.space = space, .sd = 0.05};
    struct rp_search_result result = test_search(&options, &made, 1);
    size_t samples = 0;

    (void)state;
    assert_int_equal(result.tuned_count, 125);
    for (size_t i = 0; i < result.tuned_count; i++)
        samples += result.tuned[i].sample_count;
    assert_true(samples < 4 * result.tuned_count);
    assert_int_equal(result.finalist_count, 5);
    assert_true(result.confirmed);
    assert_true(true_ms(space, result.finalists[0].config) < 1.11);
    for (size_t i = 0; i < 5; i++) {
        const struct rp_finalist *finalist = &result.finalists[i];

        assert_int_equal(finalist->sample_count, 9);
        assert_true(finalist->interval.low <= finalist->runtime_ms &&
                    finalist->runtime_ms <= finalist->interval.high);
        assert_true(finalist->interval.confidence >= 0.95);
    }
    assert_int_equal(result.seed.configs + result.predict.configs, 125);
    assert_int_equal(result.confirm.runs, 45);
    assert_int_equal(result.seed.runs + result.predict.runs + result.confirm.runs, made.samples);
    assert_int_equal(result.drift_checks > 0, 1);
    assert_false(result.drifted);
    rp_search_result_free(&result);
    rp_space_free(space);
}

/* What fails when it is run again is not the best, and not gone without a word either. */
static void what_fails_again(void **state)
{
    struct rp_space *space = space_of(4);
    struct rp_search_options options = options_for(space);
    struct made_runner made = {.space = space, .sd = 0.05}, spoilt = made;
    struct rp_search_result result = test_search(&options, &made, 1);
    const size_t best = result.finalists[0].config, confirm = made.answers - 45;

    (void)state;
    rp_search_result_free(&result);
    spoilt.spoilt_after = confirm;
    spoilt.spoilt = best;
    result = test_search(&options, &spoilt, 1);
    assert_int_equal(result.finalist_count, 4);
    assert_int_equal(result.lost_count, 1);
    assert_int_equal(result.finalists[4].config, best);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(result.finalists[i].sample_count, 9);
    rp_search_result_free(&result);

    spoilt = (struct made_runner){
        .space = space, .sd = 0.05, .spoilt_after = confirm, .spoilt = SIZE_MAX};
    result = test_search(&options, &spoilt, 1);
    assert_int_equal(result.finalist_count, 0);
    assert_int_equal(result.lost_count, 15); /* three times five, and none of them twice */
    assert_int_equal(result.confirm.configs, 15);
    assert_int_equal(result.confirm.runs, 15);
    for (size_t i = 0; i < 15; i++)
        for (size_t j = 0; j < i; j++)
            assert_int_not_equal(result.finalists[i].config, result.finalists[j].config);
    rp_search_result_free(&result);

    /* the five fail, and then it works again: the test_next five are the finalists */
    spoilt.answers = spoilt.out_count = 0;
    spoilt.spoilt_until = confirm + 5;
    result = test_search(&options, &spoilt, 1);
    assert_int_equal(result.finalist_count, 5);
    assert_int_equal(result.lost_count, 5);
    assert_true(result.confirmed);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(result.finalists[i].sample_count, 9);
        assert_false(result.finalists[i].failed);
        assert_true(result.finalists[5 + i].failed);
    }
    assert_true(result.finalists[0].interval.low <= result.finalists[0].runtime_ms);
    assert_int_equal(result.confirm.runs, 5 + 45);
    rp_search_result_free(&result);

    /* interrupted then, those that failed are not named */
    spoilt.answers = spoilt.out_count = 0;
    spoilt.spoilt_until = 0;
    spoilt.ends_after = (unsigned)confirm + 5;
    result = test_search(&options, &spoilt, 1);
    assert_int_equal(result.end, RP_END_INTERRUPT);
    assert_int_equal(result.finalist_count, 5);
    for (size_t i = 0; i < 5; i++)
        for (size_t j = 0; j < result.tuned_count; j++)
            assert_false(result.tuned[j].failed_again &&
                         result.tuned[j].config == result.finalists[i].config);
    rp_search_result_free(&result);
    rp_space_free(space);
}

/* Warm-ups that take much longer than what follows are no reason to stop those of others, nor to
 * let others run for ever. */
static void slow_warmups(void **state)
{
    struct rp_space *space = space_of(3);
    struct rp_search_options options = options_for(space);
    struct made_runner made = {.space = space, .sd = 0.05, .run_ms = 10000, .warmup_ms = 100000};
    struct rp_search_result result = test_search(&options, &made, 1);

    (void)state;
    for (size_t i = 0; i < result.tuned_count; i++)
        assert_int_equal(result.tuned[i].outcome, RP_EVALUATION_OK);
    assert_true(made.last_cap_ms == 50000 && made.last_warmup_cap_ms == 500000);
    rp_search_result_free(&result);
    rp_space_free(space);
}

/* One slow run in nine makes no tie of what takes longer. */
static void slow_runs(void **state)
{
    static const int numbers[] = {1, 2, 4, 8, 16};
    struct rp_space *space = rp_space_new();
    struct rp_search_options options;
    struct made_runner made = {.space = space, .sd = 0.01, .slow_every = 9};
    struct rp_search_result result;

    (void)state;
    made_parameter(space, "A", numbers, 5);
    made_parameter(space, "B", numbers, 5);
    made_product(space);
    options = options_for(space);
    options.max_fraction = 0.9;
    result = test_search(&options, &made, 1);
    assert_true(result.finalist_count > 1);
    for (size_t i = 1; i < result.finalist_count; i++)
        assert_true(!result.finalists[i].tied ||
                    true_ms(space, result.finalists[i].config) <
                        1.05 * true_ms(space, result.finalists[0].config));
    rp_search_result_free(&result);
    rp_space_free(space);
}

/* Configurations that are the same are named as such. */
static void ties(void **state)
{
    static const int numbers[] = {1, 2, 4, 8, 16};
    struct rp_space *space = rp_space_new();
    struct rp_search_options options;
    struct made_runner made = {.space = space, .sd = 0.02};
    struct rp_search_result result;

    (void)state;
    made_parameter(space, "A", numbers, 5);
    made_parameter(space, "B", numbers, 5);
    made_parameter(space, "T", (const int[]){0, 1, 2, 3, 4}, 5);
    made_product(space);
    options = options_for(space);
    options.max_fraction = 0.9;
    result = test_search(&options, &made, 1);
    assert_int_equal(result.finalist_count, 5);
    for (size_t i = 0; i < 5; i++) {
        const bool twin = true_ms(space, result.finalists[i].config) == 1;

        /* 10 % apart with a test_noise of 2 % and nine samples each: no doubt about either */
        assert_int_equal(result.finalists[i].tied, i > 0 && twin);
    }
    assert_true(result.finalists[1].tied);
    rp_search_result_free(&result);
    rp_space_free(space);
}

static void test_drift(void **state)
{
    struct rp_space *space = space_of(4);
    struct rp_search_options options = options_for(space);
    struct made_runner made = {.space = space, .sd = 0.01, .drift = 1.5};
    struct rp_search_result result;

    (void)state;
    options.max_fraction = 0.5;
    result = test_search(&options, &made, 1);
    assert_true(result.drifted);
    assert_true(result.drift > 0.3 && result.drift < 0.7);
    assert_int_equal(result.drift_failures, 0);
    rp_search_result_free(&result);

    /* the best one works no more: nobody would know that it was run again */
    made = (struct made_runner){.space = space, .sd = 0.01, .drift_fails = true};
    result = test_search(&options, &made, 1);
    assert_true(result.drift_failures > 0);
    assert_int_equal(result.drift_checks, 0);
    assert_string_equal(result.drift_reason, "made up");
    rp_search_result_free(&result);
    rp_space_free(space);
}

static void failures(void **state)
{
    struct rp_space *space = space_of(4);
    struct rp_search_options options = options_for(space);
    struct made_runner made = {.space = space, .fails = true, .hangs = true};
    struct rp_search_result result;
    size_t failed = 0, timeouts = 0;

    (void)state;
    options.timeout_ms = 60000;
    result = test_search(&options, &made, 3);
    for (size_t i = 0; i < result.tuned_count; i++) {
        const struct rp_config_result *tuned = &result.tuned[i];

        failed += tuned->outcome == RP_EVALUATION_FAILED;
        timeouts += tuned->outcome == RP_EVALUATION_TIMEOUT;
        assert_int_equal(tuned->sample_count, tuned->outcome == RP_EVALUATION_OK);
    }
    assert_true(failed > 0 && timeouts > 0 && failed + timeouts < result.tuned_count / 2);
    assert_true(true_ms(space, result.finalists[0].config) < 1.2);
    /* five times the best one's 20 ms is less than what is always given */
    assert_true(made.last_cap_ms == 30000);
    rp_search_result_free(&result);
    rp_space_free(space);
}

static void all_fail(void **state)
{
    static const int numbers[] = {1};
    struct rp_space *space = rp_space_new();
    struct rp_search_options options;
    struct made_runner made = {.space = space, .fails = true};
    struct rp_search_result result;

    (void)state;
    made_parameter(space, "A", numbers, 1);
    made_parameter(space, "B", (const int[]){1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 10);
    made_product(space);
    options = options_for(space);
    options.max_fraction = 0.5;
    result = test_search(&options, &made, 1);
    assert_int_equal(result.tuned_count, 5);
    assert_int_equal(result.finalist_count, 0);
    assert_true(result.model.low);
    rp_search_result_free(&result);
    options.most_failures = 3;
    result = test_search(&options, &made, 1);
    assert_int_equal(result.tuned_count, 3);
    assert_int_equal(result.end, RP_END_FAILURES);
    rp_search_result_free(&result);
    rp_space_free(space);
}

/* Failures behind one that works do not count, also when that was out as the limit was reached. */
static void test_most_failures(void **state)
{
    struct rp_space *space = space_of(4);
    struct rp_search_options options = options_for(space);
    struct made_runner made = {
        .space = space, .spoilt_after = 1, .spoilt_until = 100, .spoilt = SIZE_MAX};
    struct rp_search_result result;

    (void)state;
    options.most_failures = 5;
    result = test_search(&options, &made, 1);
    assert_int_equal(result.tuned[0].outcome, RP_EVALUATION_OK);
    assert_int_equal(result.end, RP_END_FRACTION);
    rp_search_result_free(&result);
    made = (struct made_runner){.space = space, .fails_first = 5};
    result = test_search(&options, &made, 4); /* three are out then, and work */
    assert_int_equal(result.tuned[4].outcome, RP_EVALUATION_FAILED);
    assert_int_equal(result.end, RP_END_FRACTION);
    assert_int_equal(result.tuned_count, 125);
    rp_search_result_free(&result);
    rp_space_free(space);
}

static void ends(void **state)
{
    struct rp_space *space = space_of(4);
    const struct rp_search_options plain = options_for(space);
    struct made_runner made = {.space = space};
    struct rp_search_options options = plain;
    struct rp_search_result result;

    (void)state;
    options.budget_evals = 7;
    result = test_search(&options, &made, 1);
    assert_int_equal(result.tuned_count, 7);
    assert_int_equal(result.end, RP_END_EVALS);
    rp_search_result_free(&result);
    options = plain;
    options.budget_ms = 20;
    result = test_search(&options, &made, 1);
    assert_int_equal(result.tuned_count, 20);
    assert_int_equal(result.end, RP_END_TIME);
    rp_search_result_free(&result);
    options = plain;
    options.target_ms = 2;
    result = test_search(&options, &made, 1);
    assert_int_equal(result.end, RP_END_TARGET);
    assert_true(result.finalists[0].runtime_ms <= 2);
    rp_search_result_free(&result);
    options = plain;
    options.patience = 10;
    result = test_search(&options, &made, 1);
    assert_int_equal(result.end, RP_END_PATIENCE);
    rp_search_result_free(&result);
    made = (struct made_runner){.space = space, .sd = 0.01, .ends_after = 30};
    result = test_search(&plain, &made, 2);
    assert_int_equal(result.end, RP_END_INTERRUPT);
    assert_true(result.finalist_count > 0 && !result.confirmed);
    rp_search_result_free(&result);
    rp_space_free(space);
}

/* What is known from elsewhere is run first, and no strategy asks for it again. */
static void begins_with(void **state)
{
    static const uint32_t first[] = {17, 3, 99};
    struct rp_space *space = space_of(3);
    struct rp_search_options options = options_for(space);

    (void)state;
    options.first = first;
    options.first_count = 3;
    for (size_t i = 0; (options.strategy = compared_strategy(i)) != NULL; i++)
        for (unsigned workers = 1; workers < 4; workers++) {
            struct made_runner made = {.space = space};
            struct rp_search_result result = test_search(&options, &made, workers);
            bool found[3] = {0};

            assert_int_equal(result.tuned_count, 25);
            for (size_t j = 0; j < 3; j++)
                for (size_t k = 0; k < 3; k++)
                    found[k] |= result.tuned[j].config == first[k];
            assert_true(found[0] && found[1] && found[2]);
            rp_search_result_free(&result);
        }
    rp_space_free(space);
}

/* --- journals --------------------------------------------------------------------------------- */

static void same_tuned(const struct rp_search_result *a, const struct rp_search_result *b)
{
    assert_int_equal(a->tuned_count, b->tuned_count);
    for (size_t i = 0; i < a->tuned_count; i++) {
        assert_int_equal(a->tuned[i].config, b->tuned[i].config);
        assert_int_equal(a->tuned[i].outcome, b->tuned[i].outcome);
        assert_true(a->tuned[i].runtime_ms == b->tuned[i].runtime_ms);
        assert_int_equal(a->tuned[i].sample_count, b->tuned[i].sample_count);
    }
}

static void same(const struct rp_search_result *a, const struct rp_search_result *b)
{
    same_tuned(a, b);
    assert_int_equal(a->finalist_count, b->finalist_count);
    for (size_t i = 0; i < a->finalist_count; i++) {
        assert_int_equal(a->finalists[i].config, b->finalists[i].config);
        assert_true(a->finalists[i].runtime_ms == b->finalists[i].runtime_ms);
        assert_int_equal(a->finalists[i].tied, b->finalists[i].tied);
    }
}

static struct rp_search_result search_journaled(const struct rp_search_options *options,
                                                struct made_runner *made, unsigned workers,
                                                const char *path, bool resume)
{
    const struct rp_runner inner = runner_of(made, workers);
    struct rp_runner runner;
    struct rp_session_folder folder = {.path = "/tmp", .lock = -1};
    struct rp_search_result result;
    struct rp_err err = RP_ERR_INIT;
    uint64_t cut;
    int rc = resume ? rp_journal_resume(path, &folder.journal, &cut, &err)
                    : rp_journal_create(path, &folder.journal, &err);

    assert_int_equal(rc, 0);
    rp_journal_runner_open(&folder, options->space, 0, &inner, &runner);
    if (rp_search(options, &runner, &result, &err) < 0)
        fail_msg("%s", err.text);
    rp_journal_runner_close(&runner);
    rp_session_folder_close(&folder);
    return result;
}

/** With two workers two runs of a finalist may be out, and answers know only the configuration: the
 * other one of them is run again, so that its samples may differ. */
static void goes_on_with(unsigned workers)
{
    char dir[] = "/tmp/rp-search-XXXXXX";
    struct rp_space *space = space_of(3);
    const struct rp_search_options options = options_for(space);
    struct made_runner made = {.space = space, .sd = 0.03, .fails = true};
    struct rp_search_result whole = test_search(&options, &made, workers), result;
    const size_t answers = made.answers;
    char *path;

    assert_non_null(mkdtemp(dir));
    path = rp_path_join(dir, "journal.jsonl");
    for (unsigned after = 1; after < answers; after += 1 + after / 4) {
        made = (struct made_runner){.space = space, .sd = 0.03, .fails = true, .ends_after = after};
        result = search_journaled(&options, &made, workers, path, false);
        rp_search_result_free(&result);
        made = (struct made_runner){.space = space, .sd = 0.03, .fails = true};
        result = search_journaled(&options, &made, workers, path, true);
        /* what was out is run again, and nothing else */
        assert_int_equal(made.answers, answers - after);
        assert_int_equal(result.tuned_count, whole.tuned_count);
        rp_search_result_free(&result);
        /* and then all is in the journal */
        made = (struct made_runner){.space = space, .sd = 0.03, .fails = true};
        result = search_journaled(&options, &made, workers, path, true);
        assert_int_equal(made.answers, 0);
        (workers == 1 ? same : same_tuned)(&result, &whole);
        rp_search_result_free(&result);
        remove(path);
    }
    rp_search_result_free(&whole);
    rp_remove_tree(dir);
    free(path);
    rp_space_free(space);
}

static void goes_on(void **state)
{
    (void)state;
    goes_on_with(1);
    goes_on_with(2);
}

/** A test_search with a smaller limit ends; with a larger one it is what it would have been at
 * once. */
static void goes_on_further(void **state)
{
    char dir[] = "/tmp/rp-search-XXXXXX";
    struct rp_space *space = space_of(3);
    struct rp_search_options options = options_for(space);
    struct made_runner made = {.space = space, .fails = true};
    struct rp_search_result whole = test_search(&options, &made, 1), first, result;
    size_t both = 0;
    char *path;

    (void)state;
    assert_non_null(mkdtemp(dir));
    path = rp_path_join(dir, "journal.jsonl");
    options.budget_evals = 12;
    first = search_journaled(&options, &made, 1, path, false);
    assert_int_equal(first.tuned_count, 12);
    options.budget_evals = 0;
    made = (struct made_runner){.space = space, .fails = true};
    result = search_journaled(&options, &made, 1, path, true);
    same(&result, &whole);
    for (size_t i = 0; i < first.tuned_count; i++)
        for (size_t j = 0; j < result.tuned_count; j++)
            both += first.tuned[i].config == result.tuned[j].config;
    assert_true(both >= 6);
    assert_int_equal(made.answers, result.tuned_count - both);
    rp_search_result_free(&first);
    rp_search_result_free(&result);
    /* with test_noise, the finalists may be others, and run in turn anew; all is kept */
    made = (struct made_runner){.space = space, .sd = 0.03, .fails = true};
    remove(path);
    options.budget_evals = 12;
    first = search_journaled(&options, &made, 2, path, false);
    options.budget_evals = 24;
    made = (struct made_runner){.space = space, .sd = 0.03, .fails = true};
    result = search_journaled(&options, &made, 2, path, true);
    assert_int_equal(result.tuned_count, 24);
    for (size_t i = 0; i < result.finalist_count; i++)
        assert_int_equal(result.finalists[i].sample_count, 9);
    rp_search_result_free(&first);
    made = (struct made_runner){.space = space, .sd = 0.03, .fails = true};
    first = search_journaled(&options, &made, 2, path, true);
    assert_int_equal(made.answers, 0);
    same(&first, &result);
    rp_search_result_free(&first);
    rp_search_result_free(&result);
    rp_search_result_free(&whole);
    rp_remove_tree(dir);
    free(path);
    rp_space_free(space);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(never_the_whole_space),
        cmocka_unit_test(small_spaces),
        cmocka_unit_test(test_progress),
        cmocka_unit_test(test_noise),
        cmocka_unit_test(what_fails_again),
        cmocka_unit_test(slow_warmups),
        cmocka_unit_test(ties),
        cmocka_unit_test(slow_runs),
        cmocka_unit_test(test_drift),
        cmocka_unit_test(failures),
        cmocka_unit_test(all_fail),
        cmocka_unit_test(test_most_failures),
        cmocka_unit_test(ends),
        cmocka_unit_test(begins_with),
        cmocka_unit_test(goes_on),
        cmocka_unit_test(goes_on_further),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

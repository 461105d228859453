/* Answers of a journal: which question they answer, in which order and when they come, and which
 * searches may have them. */
#include "tune/search_journal.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/journal.h"
#include "base/path.h"
#include "tune/strategy.h"

#include "experiment/measured_run.h"
#include "experiment/session_folder.h"
#include "unit/scratch.h"
#include "unit/tune/made_space.h"

enum { WORKERS = 3 };

static char *path;
static struct rp_space *space;

static int set_up(void **state)
{
    static const int numbers[] = {1, 2, 3, 4, 5, 6, 7, 8};

    if (scratch_begin(state) < 0)
        return -1;
    path = rp_path_join(scratch_dir, "journal.jsonl");
    space = rp_space_new();
    made_parameter(space, "A", numbers, 8);
    made_product(space);
    return 0;
}

static int tear_down(void **state)
{
    rp_space_free(space);
    free(path);
    return scratch_end(state);
}

/* --- a runner that answers in order ----------------------------------------------------------- */

struct inner {
    struct rp_run_job jobs[16];
    size_t submitted, answered;
    enum rp_evaluation_outcome outcome;
    bool wrong_number; /**< of no job */
};

static int submit(void *state, const struct rp_run_job *job, struct rp_err *err)
{
    struct inner *inner = state;

    (void)err;
    inner->jobs[inner->submitted++] = *job;
    return 0;
}

static int next(void *state, struct rp_run_answer *ret, struct rp_err *err)
{
    struct inner *inner = state;
    const struct rp_run_job *job = &inner->jobs[inner->answered];

    if (inner->answered == inner->submitted)
        return rp_fail(err, RP_ENVIRONMENT, "no job is out");
    inner->answered++;
    *ret = (struct rp_run_answer){.number = inner->wrong_number ? 77 : job->number,
                                  .outcome = inner->outcome,
                                  .run_ms = 4,
                                  .build_ms = -1,
                                  .at_ms = job->begun_ms + 10};
    if (inner->outcome == RP_EVALUATION_OK) {
        ret->samples_ms = calloc(job->samples, sizeof *ret->samples_ms);
        for (ret->count = 0; ret->count < job->samples; ret->count++)
            ret->samples_ms[ret->count] = (double)(job->config + 1);
    }
    return 0;
}

static struct rp_runner runner_of(struct inner *inner)
{
    return (struct rp_runner){.workers = WORKERS,
                              .device = {"hardware", "made", "7.2", ""},
                              .submit = submit,
                              .next = next,
                              .state = inner};
}

struct session {
    struct inner inner;
    struct rp_runner under, runner;
    struct rp_session_folder folder;
};

static void begin(struct session *s, bool resume)
{
    struct rp_err err = RP_ERR_INIT;
    uint64_t cut;

    *s = (struct session){.folder = {.path = scratch_dir, .lock = -1}};
    s->under = runner_of(&s->inner);
    assert_int_equal(resume ? rp_journal_resume(path, &s->folder.journal, &cut, &err)
                            : rp_journal_create(path, &s->folder.journal, &err),
                     0);
    rp_journal_runner_open(&s->folder, space, 0, &s->under, &s->runner);
}

static void end(struct session *s)
{
    rp_journal_runner_close(&s->runner);
    rp_session_folder_close(&s->folder);
}

static void ask(struct session *s, struct rp_run_job job)
{
    struct rp_err err = RP_ERR_INIT;

    if (s->runner.submit(s->runner.state, &job, &err) < 0)
        fail_msg("%s", err.text);
}

/** @return when it came */
static double answered(struct session *s, uint64_t number, enum rp_evaluation_outcome outcome,
                       size_t samples)
{
    struct rp_run_answer answer;
    struct rp_err err = RP_ERR_INIT;
    double at_ms;

    if (s->runner.next(s->runner.state, &answer, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(answer.number, number);
    assert_int_equal(answer.outcome, outcome);
    assert_int_equal(answer.count, samples);
    at_ms = answer.at_ms;
    rp_run_answer_free(&answer);
    return at_ms;
}

/* --- which answer ----------------------------------------------------------------------------- */

static void by_configuration(void **state)
{
    struct session s;

    (void)state;
    begin(&s, false);
    for (size_t i = 0; i < 3; i++) {
        ask(&s, (struct rp_run_job){.number = i + 1, .config = i, .samples = 2});
        answered(&s, i + 1, RP_EVALUATION_OK, 2);
    }
    assert_int_equal(s.inner.submitted, 3);
    end(&s);
    /* other numbers, another order, other numbers of samples, one that is new */
    begin(&s, true);
    assert_int_equal(rp_journal_runner_count(&s.runner), 3);
    ask(&s, (struct rp_run_job){.number = 1, .config = 5, .samples = 1});
    ask(&s, (struct rp_run_job){.number = 2, .config = 2, .samples = 9});
    ask(&s, (struct rp_run_job){.number = 3, .config = 0, .samples = 1});
    answered(&s, 3, RP_EVALUATION_OK, 2); /* that which was there first */
    answered(&s, 2, RP_EVALUATION_OK, 2);
    answered(&s, 1, RP_EVALUATION_OK, 1);
    assert_int_equal(s.inner.submitted, 1);
    /* each once: more of it is run */
    ask(&s, (struct rp_run_job){.number = 4, .config = 2, .samples = 7});
    answered(&s, 4, RP_EVALUATION_OK, 7);
    assert_int_equal(s.inner.submitted, 2);
    end(&s);
    begin(&s, true);
    assert_int_equal(rp_journal_runner_count(&s.runner), 5);
    ask(&s, (struct rp_run_job){.number = 1, .config = 2, .samples = 9});
    ask(&s, (struct rp_run_job){.number = 2, .config = 2, .samples = 7});
    answered(&s, 1, RP_EVALUATION_OK, 2);
    answered(&s, 2, RP_EVALUATION_OK, 7);
    assert_int_equal(s.inner.submitted, 0);
    end(&s);
}

/** Asked in another order, the answers still come in that of then: time does not go back. */
static void time_goes_on(void **state)
{
    struct session s;

    (void)state;
    begin(&s, false);
    for (size_t i = 0; i < 2; i++) {
        ask(&s, (struct rp_run_job){
                    .number = i + 1, .config = i, .samples = 1, .begun_ms = 100 + 10 * (double)i});
        assert_true(answered(&s, i + 1, RP_EVALUATION_OK, 1) == 110 + 10 * (double)i);
    }
    end(&s);
    begin(&s, true);
    ask(&s, (struct rp_run_job){.number = 1, .config = 1, .samples = 1, .begun_ms = 0});
    ask(&s, (struct rp_run_job){.number = 2, .config = 0, .samples = 1, .begun_ms = 50});
    assert_true(answered(&s, 2, RP_EVALUATION_OK, 1) == 60);
    assert_true(answered(&s, 1, RP_EVALUATION_OK, 1) == 60); /* due at 10 */
    end(&s);
}

/** Values that were added, or stand elsewhere, change nothing for those that were there. */
static void in_another_space(void **state)
{
    static const int numbers[] = {16, 3, 1};
    struct session s;

    (void)state;
    begin(&s, false);
    ask(&s, (struct rp_run_job){.number = 1, .config = 2, .samples = 4}); /* A = 3 */
    answered(&s, 1, RP_EVALUATION_OK, 4);
    end(&s);
    rp_space_free(space);
    space = rp_space_new();
    made_parameter(space, "A", numbers, 3);
    made_product(space);
    begin(&s, true);
    for (size_t i = 0; i < 3; i++) {
        ask(&s, (struct rp_run_job){.number = i + 1, .config = i, .samples = 1});
        answered(&s, i + 1, RP_EVALUATION_OK, numbers[i] == 3 ? 4 : 1);
    }
    assert_int_equal(s.inner.submitted, 2);
    end(&s);
}

static void by_purpose(void **state)
{
    const struct rp_run_job confirm = {.number = 2,
                                       .config = 1,
                                       .purpose = RP_RUN_CONFIRM,
                                       .contest = "1 against 2",
                                       .samples = 1};
    struct rp_run_job other = confirm;
    struct session s;

    (void)state;
    begin(&s, false);
    ask(&s, (struct rp_run_job){.number = 1, .config = 1, .samples = 1});
    answered(&s, 1, RP_EVALUATION_OK, 1);
    ask(&s, confirm);
    answered(&s, 2, RP_EVALUATION_OK, 1);
    end(&s);
    begin(&s, true);
    ask(&s, (struct rp_run_job){.number = 1, .config = 1, .purpose = RP_RUN_DRIFT, .samples = 3});
    answered(&s, 1, RP_EVALUATION_OK, 3);
    other.contest = "1 against 3";
    ask(&s, other);
    answered(&s, 2, RP_EVALUATION_OK, 1);
    assert_int_equal(s.inner.submitted, 2); /* neither of them was in the journal */
    ask(&s, confirm);
    answered(&s, 2, RP_EVALUATION_OK, 1);
    assert_int_equal(s.inner.submitted, 2);
    end(&s);
}

/** Who was stopped might have come to its end with more time; with less, not. */
static void stopped_ones(void **state)
{
    static const struct {
        double cap_ms, warmup_cap_ms;
        size_t runs;
    } rows[] = {{1000, 2000, 0}, {500, 900, 0},  {1001, 2000, 1},
                {0, 2000, 1},    {500, 2001, 1}, {500, 0, 1}};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rp_run_job job = {.number = 1,
                                 .config = 1,
                                 .warmups = 1,
                                 .samples = 1,
                                 .cap_ms = 1000,
                                 .warmup_cap_ms = 2000};
        struct session s;

        remove(path);
        begin(&s, false);
        s.inner.outcome = RP_EVALUATION_TIMEOUT;
        ask(&s, job);
        answered(&s, 1, RP_EVALUATION_TIMEOUT, 0);
        end(&s);
        begin(&s, true);
        job.cap_ms = rows[i].cap_ms;
        job.warmup_cap_ms = rows[i].warmup_cap_ms;
        ask(&s, job);
        answered(&s, 1, rows[i].runs ? RP_EVALUATION_OK : RP_EVALUATION_TIMEOUT, rows[i].runs);
        assert_int_equal(s.inner.submitted, rows[i].runs);
        end(&s);
    }
}

/** Runs take as long as they took then, whenever they begin now; time does not go back. */
static void when(void **state)
{
    struct session s;

    (void)state;
    begin(&s, false);
    ask(&s, (struct rp_run_job){.number = 1, .config = 1, .samples = 1, .begun_ms = 100});
    assert_true(answered(&s, 1, RP_EVALUATION_OK, 1) == 110);
    end(&s);
    begin(&s, true);
    ask(&s, (struct rp_run_job){.number = 1, .config = 2, .samples = 1, .begun_ms = 0});
    ask(&s, (struct rp_run_job){.number = 2, .config = 1, .samples = 1, .begun_ms = 50});
    assert_true(answered(&s, 2, RP_EVALUATION_OK, 1) == 60);
    assert_true(answered(&s, 1, RP_EVALUATION_OK, 1) == 60);
    end(&s);
}

/* --- which search ----------------------------------------------------------------------------- */

static struct rp_buf notes;

static void note(void *context, const char *line)
{
    (void)context;
    rp_buf_printf(&notes, "%s\n", line);
}

static int open_journal(bool resume, const struct rp_search_identity *identity, bool answer,
                        struct rp_err *err)
{
    struct rp_session_folder folder = {
        .path = scratch_dir, .noun = "search", .resume = resume, .note = note, .lock = -1};
    int rc;

    notes.len = 0;
    rc = rp_session_folder_claim(&folder, err);
    if (rc == 0)
        rc = rp_search_journal_open(&folder, identity, err);
    if (rc == 0 && answer)
        rc = rp_journal_add(folder.journal, "answer", "{\"A\":1}", json_object(), err);
    rp_session_folder_close(&folder);
    return rc;
}

static void limits_may_differ(void **state)
{
    struct inner inner = {0};
    const struct rp_runner runner = runner_of(&inner);
    struct rp_search_options search = {.space = space, .strategy = rp_strategy_number(0)};
    struct rp_program_runner_options live = {.command = "run {A}", .unit_ns = 1e6};
    const struct rp_search_identity identity = {
        .search = &search, .live = &live, .runner = &runner, .objective = "output"};
    struct rp_search_identity simulation = identity, elsewhere = identity;
    struct rp_runner later = runner;
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    /* one without an answer begins anew, whatever it was */
    assert_int_equal(open_journal(true, &identity, false, &err), -RP_USAGE);
    assert_int_equal(open_journal(false, &identity, false, &err), 0);
    assert_int_equal(notes.len, 0);
    for (int resume = 0; resume < 2; resume++) {
        live.command = resume ? "run {A}" : "walk {A}";
        assert_int_equal(open_journal(resume, &identity, resume, &err), 0);
        assert_non_null(
            strstr(rp_buf_text(&notes), "ended before it had done anything; it begins anew"));
    }
    assert_int_equal(open_journal(false, &identity, false, &err), -RP_USAGE);
    assert_non_null(strstr(err.text, "--resume goes on with it"));

    assert_int_equal(open_journal(true, &identity, false, &err), 0);
    assert_string_equal(rp_buf_text(&notes), "1 answer is in the journal\n");
    search.budget_evals = 40;
    search.seed = 3;
    assert_int_equal(open_journal(true, &identity, false, &err), 0);
    assert_non_null(strstr(rp_buf_text(&notes), "other than before: --seed, --budget-evals; what"));
    assert_int_equal(open_journal(true, &identity, false, &err), 0);
    assert_string_equal(rp_buf_text(&notes), "1 answer is in the journal\n");

    live.check = "grep -q PASS";
    assert_int_equal(open_journal(true, &identity, false, &err), -RP_USAGE);
    assert_non_null(
        strstr(err.text, "begun otherwise: --check was not given, is \"grep -q PASS\";"));
    live.check = NULL;
    search.warmups = 2;
    assert_int_equal(open_journal(true, &identity, false, &err), -RP_USAGE);
    assert_non_null(strstr(err.text, "--warmup was 0, is 2;"));
    search.warmups = 0;
    later.device.timing_version++;
    elsewhere.runner = &later;
    assert_int_equal(open_journal(true, &elsewhere, false, &err), -RP_USAGE);
    assert_non_null(strstr(err.text, "the version of the model of time was not given, is 1;"));
    simulation.recording = "0123";
    assert_int_equal(open_journal(true, &simulation, false, &err), -RP_USAGE);
    assert_non_null(strstr(err.text, "begun otherwise: --simulate was not given, and is;"));
    /* A recording has no device. */
    later = runner;
    later.device.rocm = "";
    elsewhere = simulation;
    elsewhere.runner = &later;
    assert_int_equal(open_journal(true, &elsewhere, false, &err), -RP_USAGE);
    assert_non_null(
        strstr(err.text, "ROCm (ROCM_PATH) was \"7.2\", is not given; --simulate was not"));
    assert_int_equal(open_journal(true, &identity, false, &err), 0);
}

static void answers_to_nothing(void **state)
{
    struct rp_run_answer answer;
    struct rp_err err = RP_ERR_INIT;
    struct session s;

    (void)state;
    begin(&s, false);
    s.inner.wrong_number = true;
    ask(&s, (struct rp_run_job){.number = 1, .config = 2, .samples = 1});
    assert_int_equal(s.runner.next(s.runner.state, &answer, &err), -RP_ENVIRONMENT);
    assert_string_equal(err.text, "an answer to job 77, which is not out");
    assert_int_equal(rp_journal_count(s.folder.journal), 0);
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(by_configuration, set_up, tear_down),
        cmocka_unit_test_setup_teardown(time_goes_on, set_up, tear_down),
        cmocka_unit_test_setup_teardown(in_another_space, set_up, tear_down),
        cmocka_unit_test_setup_teardown(by_purpose, set_up, tear_down),
        cmocka_unit_test_setup_teardown(stopped_ones, set_up, tear_down),
        cmocka_unit_test_setup_teardown(when, set_up, tear_down),
        cmocka_unit_test_setup_teardown(limits_may_differ, set_up, tear_down),
        cmocka_unit_test_setup_teardown(answers_to_nothing, set_up, tear_down),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    rp_buf_free(&notes);
    return failed;
}

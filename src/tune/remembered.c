#include "tune/remembered.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/journal.h"
#include "tune/space.h"

static const char kind[] = "answer";

struct remembered {
    struct rp_journal *journal;
    const struct rp_space *space;
    const struct rp_runner *inner;
    size_t *answers; /**< numbers of the journal's records, in order */
    size_t answer_count, answer_at;
    struct rp_run_job *pending; /**< out, one per worker; number 0: free */
    bool live;                  /**< those that are out went to the inner runner */
};

static struct rp_run_job *pending(const struct remembered *r, uint64_t number)
{
    for (unsigned i = 0; i < r->inner->workers; i++)
        if (r->pending[i].number == number)
            return &r->pending[i];
    return NULL;
}

static int submit(void *state, const struct rp_run_job *job, struct rp_err *err)
{
    struct remembered *r = state;
    struct rp_run_job *to = pending(r, 0);

    if (!to)
        return rp_fail(err, RP_ENVIRONMENT, "more jobs than workers");
    *to = *job;
    return r->live ? r->inner->submit(r->inner->state, job, err) : 0;
}

/* --- what stands in the journal --------------------------------------------------------------- */

static double number_or(const json_t *data, const char *key, double otherwise)
{
    const json_t *value = json_object_get(data, key);

    return json_is_number(value) ? json_number_value(value) : otherwise;
}

static int read_samples(const json_t *samples, struct rp_run_answer *to, struct rp_err *err)
{
    const size_t count = json_array_size(samples);

    to->samples_ms = calloc(count + 1, sizeof *to->samples_ms);
    if (!to->samples_ms)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (size_t i = 0; i < count; i++) {
        const double ms = json_number_value(json_array_get(samples, i));

        if (!isfinite(ms) || ms <= 0)
            return rp_fail(err, RP_BAD_INPUT, "a sample is not above 0");
        to->samples_ms[to->count++] = ms;
    }
    return 0;
}

static int read_answer(const json_t *data, struct rp_run_answer *ret, struct rp_err *err)
{
    const char *outcome = json_string_value(json_object_get(data, "outcome"));
    const char *reason = json_string_value(json_object_get(data, "reason"));
    struct rp_run_answer answer = {.number =
                                       (uint64_t)json_integer_value(json_object_get(data, "job")),
                                   .build_ms = number_or(data, "build_ms", -1),
                                   .run_ms = number_or(data, "run_ms", -1),
                                   .warmup_ms = number_or(data, "warmup_ms", 0),
                                   .at_ms = number_or(data, "at_ms", 0),
                                   .reason = reason ? strdup(reason) : NULL};
    int rc = !reason || answer.reason ? 0 : rp_fail(err, RP_ENVIRONMENT, "out of memory");

    if (rc == 0 && !rp_run_outcome_find(outcome, &answer.outcome))
        rc = rp_fail(err, RP_BAD_INPUT, "no outcome");
    if (rc == 0)
        rc = read_samples(json_object_get(data, "samples_ms"), &answer, err);
    if (rc < 0)
        rp_run_answer_free(&answer);
    else
        *ret = answer;
    return rc;
}

/** @return 0; RP_BAD_INPUT: it is not the answer to what is out now */
static int remember(struct remembered *r, struct rp_run_answer *ret, struct rp_err *err)
{
    const char *key;
    const json_t *data = rp_journal_at(r->journal, r->answers[r->answer_at++], NULL, &key);
    rp_autofree char *expected = NULL;
    struct rp_run_job *job;
    int rc = read_answer(data, ret, err);

    if (rc < 0)
        return rp_wrap(err, "the journal's answer %zu", r->answer_at);
    job = pending(r, ret->number);
    expected = job && job->number ? rp_space_key(r->space, job->config) : NULL;
    if (!expected || strcmp(expected, key) != 0) {
        rp_run_answer_free(ret);
        return rp_fail(err, RP_BAD_INPUT,
                       "the journal's answer %zu is to another question: it was made by another "
                       "version of this program; begin anew with another folder (-o)",
                       r->answer_at);
    }
    job->number = 0;
    return 0;
}

/* --- what is new ------------------------------------------------------------------------------ */

static int set(json_t *object, const char *key, json_t *value)
{
    return json_object_set_new(object, key, value);
}

static json_t *answer_json(const struct rp_run_job *job, const struct rp_run_answer *answer)
{
    json_t *samples = json_array(),
           *data = json_pack("{s:I,s:i,s:i,s:f,s:s,s:f,s:f,s:f}", "job", (json_int_t)answer->number,
                             "warmups", (int)job->warmups, "samples", (int)job->samples, "cap_ms",
                             job->cap_ms, "outcome", rp_evaluation_outcome_word(answer->outcome),
                             "build_ms", answer->build_ms, "run_ms", answer->run_ms, "at_ms",
                             answer->at_ms);
    bool whole = data && samples;

    for (size_t i = 0; whole && i < answer->count; i++)
        whole = json_array_append_new(samples, json_real(answer->samples_ms[i])) == 0;
    if (whole && answer->warmup_ms > 0)
        whole = set(data, "warmup_ms", json_real(answer->warmup_ms)) == 0;
    if (whole && answer->reason)
        whole = set(data, "reason", rp_journal_text(answer->reason, strlen(answer->reason))) == 0;
    if (whole) {
        whole = set(data, "samples_ms", samples) == 0;
        samples = NULL;
    }
    json_decref(samples);
    if (whole)
        return data;
    json_decref(data);
    return NULL;
}

/** What was out when the search was killed, and what was asked since, is run now. */
static int go_live(struct remembered *r, struct rp_err *err)
{
    int rc = 0;

    for (uint64_t last = 0; rc == 0 && !r->live;) {
        const struct rp_run_job *first = NULL;

        for (unsigned i = 0; i < r->inner->workers; i++)
            if (r->pending[i].number > last && (!first || r->pending[i].number < first->number))
                first = &r->pending[i];
        if (!first) {
            r->live = true;
            break;
        }
        last = first->number;
        rc = r->inner->submit(r->inner->state, first, err);
    }
    return rc;
}

static int next(void *state, struct rp_run_answer *ret, struct rp_err *err)
{
    struct remembered *r = state;
    rp_autofree char *key = NULL;
    struct rp_run_job *job;
    int rc;

    if (r->answer_at < r->answer_count)
        return remember(r, ret, err);
    if ((rc = go_live(r, err)) < 0 || (rc = r->inner->next(r->inner->state, ret, err)) < 0)
        return rc;
    job = pending(r, ret->number);
    key = job ? rp_space_key(r->space, job->config) : NULL;
    rc = key ? rp_journal_add(r->journal, kind, key, answer_json(job, ret), err)
             : rp_fail(err, RP_ENVIRONMENT, "out of memory");
    if (job)
        job->number = 0;
    if (rc < 0)
        rp_run_answer_free(ret);
    return rc;
}

static bool find_answers(struct remembered *r)
{
    const size_t count = rp_journal_count(r->journal);

    r->answers = calloc(count + 1, sizeof *r->answers);
    for (size_t i = 0; r->answers && i < count; i++) {
        const char *its_kind;

        rp_journal_at(r->journal, i, &its_kind, NULL);
        if (strcmp(its_kind, kind) == 0)
            r->answers[r->answer_count++] = i;
    }
    return r->answers != NULL;
}

int rp_remembered_open(struct rp_journal *journal, const struct rp_space *space,
                       const struct rp_runner *inner, struct rp_runner *ret, struct rp_err *err)
{
    struct remembered *r = calloc(1, sizeof *r);

    *ret = *inner;
    ret->submit = submit;
    ret->next = next;
    ret->state = r;
    if (r) {
        *r = (struct remembered){.journal = journal, .space = space, .inner = inner};
        r->pending = calloc(inner->workers, sizeof *r->pending);
    }
    if (r && r->pending && find_answers(r))
        return 0;
    rp_remembered_close(ret);
    return rp_fail(err, RP_ENVIRONMENT, "out of memory");
}

void rp_remembered_close(struct rp_runner *runner)
{
    struct remembered *r = runner->state;

    if (r) {
        free(r->answers);
        free(r->pending);
    }
    free(r);
    *runner = (struct rp_runner){0};
}

size_t rp_remembered_count(const struct rp_runner *runner)
{
    return ((const struct remembered *)runner->state)->answer_count;
}

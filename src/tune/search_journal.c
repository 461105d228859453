#include "tune/search_journal.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/journal.h"
#include "base/path.h"
#include "base/sha256.h"
#include "experiment/measured_run.h"
#include "experiment/session_folder.h"
#include "tune/space.h"
#include "tune/strategy.h"

static const char format[] = "rocm-perf-autotune 2";

/* --- what an answer means --------------------------------------------------------------------- */

/** Adds the texts that say what is run. They need not be UTF-8. */
static bool add_texts(const struct rp_search_identity *of, json_t *to)
{
    const struct rp_runner *runner = of->runner;
    rp_autofree char *objectives = rp_objectives_text(&of->search->objectives);
    char threads[16];
    /* The threads say how the software device runs programs; modelled times do not depend on them.
     */
    const bool has_threads = runner->device.threads && !runner->exact;
    const struct {
        const char *key, *text;
    } texts[] = {{"command", of->live->command},
                 {"build", of->live->build},
                 {"check", of->live->check},
                 {"pattern", of->live->pattern},
                 {"objectives", *objectives ? objectives : NULL},
                 {"recording_sha256", of->recording},
                 {"threads", has_threads ? threads : NULL}};

    snprintf(threads, sizeof threads, "%" PRIu32, runner->device.threads);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].text &&
            json_object_set_new(to, texts[i].key,
                                rp_journal_string(texts[i].text, strlen(texts[i].text))) < 0)
            return false;
    return true;
}

/** These decide what the result of a configuration is, so --resume with other values is refused. */
static json_t *meaning_of(const struct rp_search_identity *of)
{
    const struct rp_run_device *device = &of->runner->device;
    json_t *json = json_pack(
        "{s:s,s:s,s:f,s:i,s:I,s:i,s:s,s:s,s:s,s:s}", "format", format, "objective", of->objective,
        "unit_ns", of->live->unit_ns, "flags", (int)of->live->flags, "memory_bytes",
        (json_int_t)of->live->memory_bytes, "warmups", (int)of->search->warmups, "device",
        device->kind, "device_name", device->name, "timing", device->timing, "rocm", device->rocm);

    if (json && device->timing_version &&
        json_object_set_new(json, "timing_version", json_integer(device->timing_version)) < 0) {
        json_decref(json);
        return NULL;
    }
    if (json && !add_texts(of, json)) {
        json_decref(json);
        json = NULL;
    }
    return json;
}

/* --- what is asked ---------------------------------------------------------------------------- */

/** Hashes the parameters as they were given, and which of their combinations exist. */
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

static bool add_first(const struct rp_search_options *search, json_t *to)
{
    json_t *list = json_array();

    for (size_t i = 0; i < search->first_count; i++)
        if (json_array_append_new(list, json_integer(search->first[i])) < 0)
            break;
    return json_object_set_new(to, "first", list) == 0 &&
           json_array_size(list) == search->first_count;
}

/** These decide what a search asks. --resume with other values asks differently, and uses the
 * answers that exist. */
static json_t *questions_of(const struct rp_search_identity *of)
{
    const struct rp_search_options *s = of->search;
    char space[RP_SHA256_TEXT];
    json_t *json;

    hash_space(s->space, space);
    json = json_pack("{s:s,s:i,s:s,s:I,s:f,s:I,s:f,s:f,s:I,s:I,s:f,s:i,s:i,s:i}", "space_sha256",
                     space, "workers", (int)of->runner->workers, "strategy", s->strategy->name,
                     "seed", (json_int_t)s->seed, "max_fraction", s->max_fraction, "budget_evals",
                     (json_int_t)s->budget_evals, "budget_ms", s->budget_ms, "target_ms",
                     s->target_ms, "patience", (json_int_t)s->patience, "most_failures",
                     (json_int_t)s->most_failures, "timeout_ms", s->timeout_ms, "least_samples",
                     (int)s->least_samples, "most_samples", (int)s->most_samples, "finalists",
                     (int)s->finalists);
    if (json && s->seed_fraction > 0) /* Sessions of before have no such key. */
        json_object_set_new(json, "seed_fraction", json_real(s->seed_fraction));
    if (json && !add_first(s, json)) {
        json_decref(json);
        json = NULL;
    }
    return json;
}

/* --- what differs ----------------------------------------------------------------------------- */

static char *given(bool is)
{
    return rp_strdup(is ? "given" : "not given");
}

static char *shell_text(const json_t *flags)
{
    return given(json_integer_value(flags) & RP_TEMPLATE_SHELL);
}

static char *environment_text(const json_t *flags)
{
    return given(json_integer_value(flags) & RP_TEMPLATE_ENVIRONMENT);
}

static char *unit_text(const json_t *ns)
{
    const double value = json_number_value(ns);

    return rp_strdup(value == 1 ? "ns" : value == 1e3 ? "us" : value == 1e6 ? "ms" : "s");
}

static char *memory_text(const json_t *bytes)
{
    const json_int_t mib = json_integer_value(bytes) >> 20;

    return mib ? rp_format("%" JSON_INTEGER_FORMAT, mib) : given(false);
}

/** A recorded search has no device, and keeps "" for what it would be. */
static char *device_text(const json_t *word)
{
    const char *text = json_string_value(word);

    return text && *text ? json_dumps(word, JSON_ENCODE_ANY | JSON_ENSURE_ASCII) : given(false);
}

static const struct rp_identity_row rows[] = {
    {"format", "the format of the journal", NULL},
    {"command", "--cmd-template", NULL},
    {"build", "--build", NULL},
    {"check", "--check", NULL},
    {"pattern", "--output-regex", NULL},
    {"objectives", "--objective and --limit", NULL},
    {"objective", "what is minimised (--no-rocprof, --output-regex)", NULL},
    {"unit_ns", "--output-unit", unit_text},
    {"flags", "--shell", shell_text},
    {"flags", "--env", environment_text},
    {"memory_bytes", "--memory", memory_text},
    {"warmups", "--warmup", NULL},
    {"threads", "--threads", rp_identity_word},
    {"device", "the device (--device, ROCM_PERF_DEVICE)", device_text},
    {"device_name", "the GPU (--device, ROCM_PERF_DEVICE)", device_text},
    {"rocm", "ROCm (ROCM_PATH)", device_text},
    {"timing", "the model of time (--timing, ROCM_PERF_DEVICE_TIMING)", rp_identity_model},
    {"timing_version", "the version of the model of time", NULL},
    {"recording_sha256", "--simulate", NULL},
};

static const struct rp_identity_row question_rows[] = {
    {"space_sha256", "--space", NULL},
    {"workers", "--workers", NULL},
    {"strategy", "--strategy", NULL},
    {"seed", "--seed", NULL},
    {"max_fraction", "--max-fraction", NULL},
    {"seed_fraction", "--seed-fraction", NULL},
    {"budget_evals", "--budget-evals", NULL},
    {"budget_ms", "--budget-time", NULL},
    {"target_ms", "--target-ms", NULL},
    {"patience", "--patience", NULL},
    {"most_failures", "--max-failures", NULL},
    {"timeout_ms", "--timeout", NULL},
    {"least_samples", "MIN of --repeats", NULL},
    {"most_samples", "MAX of --repeats", NULL},
    {"finalists", "--top", NULL},
    {"first", "--import", NULL},
};

/* --- opening ---------------------------------------------------------------------------------- */

static int begin(struct rp_session_folder *folder, json_t *meaning, json_t *questions,
                 struct rp_err *err)
{
    json_object_set(meaning, "search", questions);
    return rp_journal_add(folder->journal, "autotune", NULL, json_incref(meaning), err);
}

/** Passes the line on and frees it. */
static void tell(const struct rp_session_folder *folder, char *line)
{
    if (folder->note)
        folder->note(folder->context, line);
    free(line);
}

/** The journal records the settings that hold from here on. */
static int keep_questions(struct rp_session_folder *folder, const json_t *opening, json_t *now,
                          struct rp_err *err)
{
    const json_t *then = rp_journal_find(folder->journal, "search", NULL);
    rp_autobuf differ = {0};

    if (!then)
        then = json_object_get(opening, "search");
    rp_identity_put_differences(question_rows, sizeof question_rows / sizeof *question_rows, then,
                                now, false, &differ);
    if (!differ.len)
        return 0;
    tell(folder, rp_format("other than before: %s; what the journal has is not run again",
                           rp_buf_text(&differ)));
    return rp_journal_add(folder->journal, "search", NULL, json_incref(now), err);
}

static size_t count_answers(const struct rp_journal *journal)
{
    size_t answers = 0;

    for (size_t i = 0; i < rp_journal_count(journal); i++) {
        const char *kind;

        rp_journal_at(journal, i, &kind, NULL);
        answers += strcmp(kind, "answer") == 0;
    }
    return answers;
}

static int resume(struct rp_session_folder *folder, const json_t *opening, const json_t *meaning,
                  json_t *questions, struct rp_err *err)
{
    const size_t answers = count_answers(folder->journal);
    rp_autobuf differ = {0};

    rp_identity_put_differences(rows, sizeof rows / sizeof *rows, opening, meaning, true, &differ);
    if (differ.len)
        return rp_identity_refuse(folder, &differ, err);
    tell(folder,
         rp_format("%zu %s in the journal", answers, answers == 1 ? "answer is" : "answers are"));
    return keep_questions(folder, opening, questions, err);
}

int rp_search_journal_open(struct rp_session_folder *folder,
                           const struct rp_search_identity *identity, struct rp_err *err)
{
    json_t *meaning = meaning_of(identity), *questions = questions_of(identity);
    int rc = meaning && questions ? rp_session_folder_open_journal(folder, err)
                                  : rp_fail(err, RP_BAD_INPUT, "a name of the search is not UTF-8");

    if (rc == 0 && !rp_journal_count(folder->journal)) {
        rc = begin(folder, meaning, questions, err);
    } else if (rc == 0) {
        const json_t *opening = rp_journal_find(folder->journal, "autotune", NULL);

        rc = opening
                 ? resume(folder, opening, meaning, questions, err)
                 : rp_fail(err, RP_BAD_INPUT,
                           "--resume: the journal in %s is none of autotune: name the folder of a "
                           "search with -o",
                           folder->path);
    }
    json_decref(meaning);
    json_decref(questions);
    return rc;
}

static const char remembered_kind[] = "answer";

static const char *const purposes[] = {
    [RP_RUN_EXPLORE] = "explore", [RP_RUN_DRIFT] = "drift", [RP_RUN_CONFIRM] = "confirm"};

struct pending {
    struct rp_run_job job; /**< number 0: free */
    size_t answer; /**< 1 + which answer of the journal is its; 0: the inner runner has it */
    double due_ms; /**< when that answer is there */
};

struct remembered {
    const struct rp_session_folder *folder;
    struct rp_journal *journal; /**< that of the folder */
    const struct rp_space *space;
    const struct rp_runner *inner;
    size_t numbers;  /**< of each sample */
    size_t *answers; /**< numbers of the journal's records, in order */
    bool *used;      /**< of each: this search has had it */
    size_t answer_count;
    json_t *known;           /**< by what was asked: numbers of answers, in order */
    struct pending *pending; /**< one per worker */
    double now_ms;           /**< when the last answer was there */
};

static struct pending *find_pending(const struct remembered *r, uint64_t number)
{
    for (unsigned i = 0; i < r->inner->workers; i++)
        if (r->pending[i].job.number == number)
            return &r->pending[i];
    return NULL;
}

/* --- what stands in the journal --------------------------------------------------------------- */

/** Makes the text that is equal for equal questions. The number of samples and the budget do not
 * matter. */
static char *question(const char *purpose, const char *contest, const char *config)
{
    return rp_format("%s %s %s", purpose, contest ? contest : "", config);
}

static double number_or(const json_t *data, const char *key, double otherwise)
{
    const json_t *value = json_object_get(data, key);

    return json_is_number(value) ? json_number_value(value) : otherwise;
}

static const json_t *data_of(const struct remembered *r, size_t answer, const char **ret_config)
{
    return rp_journal_at(r->journal, r->answers[answer], NULL, ret_config);
}

static int read_samples(const json_t *samples, struct rp_run_answer *to, struct rp_err *err)
{
    const size_t count = json_array_size(samples);

    to->samples_ms = rp_alloc_zero(count + 1, sizeof *to->samples_ms);
    for (size_t i = 0; i < count; i++) {
        const double ms = json_number_value(json_array_get(samples, i));

        if (!isfinite(ms) || ms <= 0)
            return rp_fail(err, RP_BAD_INPUT,
                           "a sample is not above 0: begin anew with another -o");
        to->samples_ms[to->count++] = ms;
    }
    return 0;
}

/** @param each of each sample */
static int read_numbers(const json_t *list, size_t each, struct rp_run_answer *to,
                        struct rp_err *err)
{
    if (!each || !to->count)
        return 0;
    if (json_array_size(list) != each * to->count)
        return rp_fail(err, RP_BAD_INPUT,
                       "not as many numbers as objectives: begin anew with another -o");
    to->numbers = rp_alloc_zero(each * to->count, sizeof *to->numbers);
    for (size_t i = 0; i < each * to->count; i++)
        to->numbers[i] = json_number_value(json_array_get(list, i));
    return 0;
}

/** @param numbers of each sample */
static int read_answer(const json_t *data, size_t numbers, struct rp_run_answer *ret,
                       struct rp_err *err)
{
    const char *outcome = json_string_value(json_object_get(data, "outcome"));
    const char *reason = json_string_value(json_object_get(data, "reason"));
    struct rp_run_answer answer = {.build_ms = number_or(data, "build_ms", -1),
                                   .run_ms = number_or(data, "run_ms", -1),
                                   .warmup_ms = number_or(data, "warmup_ms", 0),
                                   .reason = reason ? rp_strdup(reason) : NULL};
    int rc = 0;

    if (rc == 0 && !rp_run_outcome_find(outcome, &answer.outcome))
        rc = rp_fail(err, RP_BAD_INPUT, "no outcome: begin anew with another -o");
    if (rc == 0)
        rc = read_samples(json_object_get(data, "samples_ms"), &answer, err);
    if (rc == 0)
        rc = read_numbers(json_object_get(data, "numbers"), numbers, &answer, err);
    if (rc < 0)
        rp_run_answer_free(&answer);
    else
        *ret = answer;
    return rc;
}

/** 0 stands for ever. */
static bool is_longer(double cap_ms, double than_ms)
{
    return than_ms > 0 && (cap_ms == 0 || cap_ms > than_ms);
}

/** A run that was stopped earlier than it would be now might end, so its answer is not enough. */
static bool says_enough(const json_t *data, const struct rp_run_job *job)
{
    const char *outcome = json_string_value(json_object_get(data, "outcome"));
    enum rp_evaluation_outcome its;

    return !rp_run_outcome_find(outcome, &its) || its != RP_EVALUATION_TIMEOUT ||
           !(is_longer(job->cap_ms, number_or(data, "cap_ms", 0)) ||
             (job->warmups && is_longer(job->warmup_cap_ms, number_or(data, "warmup_cap_ms", 0))));
}

/**
 * Finds the first answer to the same question that this search has not had. It prefers the answer
 * to the very same job, because with several workers equal jobs may have overtaken each other.
 * @return 1 + its number; 0: there is none
 */
static size_t find_answer(const struct remembered *r, const char *asked,
                          const struct rp_run_job *job)
{
    const json_t *list = json_object_get(r->known, asked);
    size_t found = 0;

    for (size_t i = 0; i < json_array_size(list); i++) {
        const size_t at = (size_t)json_integer_value(json_array_get(list, i));
        const json_t *data = data_of(r, at, NULL);

        if (r->used[at] || !says_enough(data, job))
            continue;
        if ((uint64_t)json_integer_value(json_object_get(data, "job")) == job->number)
            return at + 1;
        found = found ? found : at + 1;
    }
    return found;
}

/** A recorded job takes as long as it took then. */
static double due_ms(const json_t *data, const struct rp_run_job *job)
{
    const double begun = number_or(data, "begun_ms", 0), at = number_or(data, "at_ms", begun);

    return job->begun_ms == begun ? at : job->begun_ms + fmax(at - begun, 0);
}

static int submit(void *state, const struct rp_run_job *job, struct rp_err *err)
{
    struct remembered *r = state;
    struct pending *to = find_pending(r, 0);
    rp_autofree char *config = rp_space_key(r->space, job->config);
    rp_autofree char *asked = question(purposes[job->purpose], job->contest, config);

    if (!to)
        return rp_fail(err, RP_ENVIRONMENT, "more jobs than workers");
    *to = (struct pending){.job = *job, .answer = find_answer(r, asked, job)};
    if (!to->answer)
        return r->inner->submit(r->inner->state, job, err);
    r->used[to->answer - 1] = true;
    to->due_ms = due_ms(data_of(r, to->answer - 1, NULL), job);
    return 0;
}

/* --- answers ---------------------------------------------------------------------------------- */

static bool is_before(const struct remembered *r, const struct pending *a, const struct pending *b)
{
    if (!r->inner->due_ms)
        return a->answer < b->answer; /* Answers keep the order of then. */
    return a->due_ms < b->due_ms || (a->due_ms == b->due_ms && a->job.number < b->job.number);
}

/** Finds the job whose answer stands in the journal and is to come next.
 * @return NULL: none */
static struct pending *next_known(const struct remembered *r)
{
    struct pending *first = NULL, inner = {0};

    for (unsigned i = 0; i < r->inner->workers; i++) {
        struct pending *p = &r->pending[i];

        if (p->job.number && p->answer && (!first || is_before(r, p, first)))
            first = p;
    }
    /* With simulated time, a job that runs now may end earlier. */
    if (first && r->inner->due_ms &&
        r->inner->due_ms(r->inner->state, &inner.due_ms, &inner.job.number) &&
        is_before(r, &inner, first))
        return NULL;
    return first;
}

static int remember(struct remembered *r, struct pending *of, struct rp_run_answer *ret,
                    struct rp_err *err)
{
    int rc = read_answer(data_of(r, of->answer - 1, NULL), r->numbers, ret, err);

    if (rc < 0)
        return rp_wrap(err, "the journal's answer %zu", of->answer);
    ret->number = of->job.number;
    ret->at_ms = fmax(of->due_ms, r->now_ms); /* In the order of then, it may come late. */
    return 0;
}

static int set(json_t *object, const char *key, json_t *value)
{
    return json_object_set_new(object, key, value);
}

static json_t *answer_json(const struct rp_run_job *job, const struct rp_run_answer *answer,
                           size_t numbers)
{
    json_t *samples = json_array(),
           *data = json_pack("{s:I,s:s,s:i,s:i,s:f,s:f,s:s,s:f,s:f,s:f}", "job",
                             (json_int_t)answer->number, "for", purposes[job->purpose], "warmups",
                             (int)job->warmups, "samples", (int)job->samples, "cap_ms", job->cap_ms,
                             "begun_ms", job->begun_ms, "outcome",
                             rp_evaluation_outcome_word(answer->outcome), "build_ms",
                             answer->build_ms, "run_ms", answer->run_ms, "at_ms", answer->at_ms);
    bool whole = data && samples;

    for (size_t i = 0; whole && i < answer->count; i++)
        whole = json_array_append_new(samples, json_real(answer->samples_ms[i])) == 0;
    if (whole && answer->numbers && answer->count) {
        json_t *list = json_array();

        for (size_t i = 0; i < numbers * answer->count; i++)
            json_array_append_new(list, json_real(answer->numbers[i]));
        whole = set(data, "numbers", list) == 0;
    }
    if (whole && job->warmups)
        whole = set(data, "warmup_cap_ms", json_real(job->warmup_cap_ms)) == 0;
    if (whole && answer->warmup_ms > 0)
        whole = set(data, "warmup_ms", json_real(answer->warmup_ms)) == 0;
    if (whole && job->contest)
        whole = set(data, "finalists", json_string(job->contest)) == 0;
    if (whole && answer->reason)
        whole = set(data, "reason", rp_journal_string(answer->reason, strlen(answer->reason))) == 0;
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

/** Writes an answer of the inner runner to the journal before anybody sees it. */
static int keep(struct remembered *r, struct rp_run_answer *answer, struct rp_err *err)
{
    struct pending *of = find_pending(r, answer->number);
    rp_autofree char *config = of ? rp_space_key(r->space, of->job.config) : NULL;
    int rc;

    if (!of)
        return rp_fail(err, RP_ENVIRONMENT, "an answer to job %llu, which is not out",
                       (unsigned long long)answer->number);
    /* What fails on a full disk says nothing about the configuration. */
    rc = answer->outcome == RP_EVALUATION_OK ? rp_session_folder_check_place(r->folder, err)
                                             : rp_session_folder_check(r->folder, err);
    if (rc < 0)
        return answer->reason ? rp_wrap(err, "%s", answer->reason) : rc;
    /* The inner clock knows nothing of what was before. */
    answer->at_ms = fmax(answer->at_ms, r->now_ms);
    rc = rp_journal_add(r->journal, remembered_kind, config,
                        answer_json(&of->job, answer, r->numbers), err);
    if (rc < 0) /* The journal says itself what helps, where its folder is there. */
        rp_session_folder_check_place(r->folder, err);
    return rc;
}

static int next(void *state, struct rp_run_answer *ret, struct rp_err *err)
{
    struct remembered *r = state;
    struct pending *of = next_known(r);
    int rc;

    if (of)
        rc = remember(r, of, ret, err);
    else if ((rc = r->inner->next(r->inner->state, ret, err)) == 0)
        if ((rc = keep(r, ret, err)) < 0)
            rp_run_answer_free(ret);
    if (rc < 0)
        return rc;
    r->now_ms = ret->at_ms;
    find_pending(r, ret->number)->job.number = 0;
    return 0;
}

/* --- opening ---------------------------------------------------------------------------------- */

static void add_known(struct remembered *r, size_t answer)
{
    const char *config;
    const json_t *data = data_of(r, answer, &config);
    const char *purpose = json_string_value(json_object_get(data, "for"));
    rp_autofree char *asked =
        question(purpose ? purpose : purposes[RP_RUN_EXPLORE],
                 json_string_value(json_object_get(data, "finalists")), config);
    json_t *list = json_object_get(r->known, asked);

    if (!list)
        json_object_set_new(r->known, asked, list = json_array());
    json_array_append_new(list, json_integer((json_int_t)answer));
}

static void find_answers(struct remembered *r)
{
    const size_t count = rp_journal_count(r->journal);

    r->answers = rp_alloc_zero(count + 1, sizeof *r->answers);
    r->used = rp_alloc_zero(count + 1, sizeof *r->used);
    r->known = json_object();
    for (size_t i = 0; i < count; i++) {
        const char *its_kind;

        rp_journal_at(r->journal, i, &its_kind, NULL);
        if (strcmp(its_kind, remembered_kind) != 0)
            continue;
        r->answers[r->answer_count] = i;
        add_known(r, r->answer_count++);
    }
}

void rp_journal_runner_open(const struct rp_session_folder *folder, const struct rp_space *space,
                            size_t numbers, const struct rp_runner *inner, struct rp_runner *ret)
{
    struct remembered *r = rp_new(struct remembered);

    *r = (struct remembered){.folder = folder,
                             .journal = folder->journal,
                             .space = space,
                             .numbers = numbers,
                             .inner = inner};
    r->pending = rp_alloc_zero(inner->workers, sizeof *r->pending);
    find_answers(r);
    *ret = *inner;
    ret->submit = submit;
    ret->next = next;
    ret->due_ms = NULL;
    ret->state = r;
}

int rp_search_journal_end(const struct rp_session_folder *folder, struct rp_err *err)
{
    /* Without an answer nothing would be lost: another search may begin there. */
    return count_answers(folder->journal) ? rp_journal_write_head(folder->journal, err) : 0;
}

void rp_journal_runner_close(struct rp_runner *runner)
{
    struct remembered *r = runner->state;

    if (r) {
        json_decref(r->known);
        free(r->answers);
        free(r->used);
        free(r->pending);
    }
    free(r);
    *runner = (struct rp_runner){0};
}

size_t rp_journal_runner_count(const struct rp_runner *runner)
{
    return ((const struct remembered *)runner->state)->answer_count;
}

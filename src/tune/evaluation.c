#include "tune/evaluation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/process.h"
#include "tune/json_text.h"

static const char *const outcome_words[] = {
#define RP_OUTCOME(id, word) [RP_EVALUATION_##id] = word,
#include "tune/evaluation_outcomes.def"
#undef RP_OUTCOME
};
enum { OUTCOMES = sizeof outcome_words / sizeof *outcome_words };

static const char *const objective_words[] = {[RP_OBJECTIVE_DISPATCH] = "dispatch",
                                              [RP_OBJECTIVE_WALL] = "wall",
                                              [RP_OBJECTIVE_OUTPUT] = "output"};
enum { OBJECTIVES = sizeof objective_words / sizeof *objective_words };

const char *rp_evaluation_outcome_word(enum rp_evaluation_outcome outcome)
{
    return outcome_words[outcome];
}

void rp_evaluation_request_free(struct rp_evaluation_request *request)
{
    rp_command_free(&request->command);
    rp_command_free(&request->build);
    free(request->build_output);
    free(request->pattern);
    free(request->check);
    free(request->input);
    *request = (struct rp_evaluation_request){0};
}

void rp_evaluation_free(struct rp_evaluation *evaluation)
{
    free(evaluation->reason);
    free(evaluation->runtimes_ns);
    *evaluation = (struct rp_evaluation){0};
}

/* --- requests ------------------------------------------------------------------------------- */

static int set(json_t *object, const char *key, json_t *value)
{
    return object && json_object_set_new(object, key, value) == 0 ? 0 : -1;
}

static int set_text(json_t *object, const char *key, const char *text)
{
    return text ? set(object, key, rp_json_of_text(text)) : 0;
}

static int set_build(json_t *object, const struct rp_evaluation_request *r)
{
    if (!r->build.argv)
        return 0;
    return set(object, "build", rp_json_of_words(r->build.argv)) |
           set(object, "build_environment", rp_json_of_variables(r->build.env)) |
           set_text(object, "build_output", r->build_output) |
           set(object, "build_timeout_ns", json_integer(r->build_timeout_ns));
}

static int set_objective(json_t *object, const struct rp_evaluation_request *r)
{
    int failed = set(object, "objective", json_string(objective_words[r->objective]));

    if (r->objective != RP_OBJECTIVE_OUTPUT)
        return failed;
    return failed | set_text(object, "pattern", r->pattern) |
           set(object, "unit_ns", json_real(r->unit_ns));
}

int rp_evaluation_request_write(const struct rp_evaluation_request *r, struct rp_buf *to,
                                struct rp_err *err)
{
    json_t *object = json_object();
    const int failed = set(object, "id", json_integer((json_int_t)r->id)) |
                       set(object, "command", rp_json_of_words(r->command.argv)) |
                       set(object, "environment", rp_json_of_variables(r->command.env)) |
                       set_build(object, r) | set_objective(object, r) |
                       set_text(object, "check", r->check) | set_text(object, "input", r->input) |
                       set(object, "timeout_ns", json_integer(r->timeout_ns)) |
                       set(object, "warmup_timeout_ns", json_integer(r->warmup_timeout_ns)) |
                       set(object, "memory_bytes", json_integer((json_int_t)r->memory_bytes)) |
                       set(object, "warmups", json_integer(r->warmups)) |
                       set(object, "samples", json_integer(r->samples));

    if (failed) {
        json_decref(object);
        object = NULL;
    }
    return rp_json_write_line(object, to, err);
}

/** The number of a word in a list. */
static int take_word(const json_t *object, const char *key, const char *const *words, size_t count,
                     size_t *ret, struct rp_err *err)
{
    const char *word = json_string_value(json_object_get(object, key));

    for (size_t i = 0; word && i < count; i++)
        if (strcmp(word, words[i]) == 0) {
            *ret = i;
            return 0;
        }
    return rp_fail(err, RP_BAD_INPUT, "\"%s\" is none of the words that it may be", key);
}

static int take_build(const json_t *object, struct rp_evaluation_request *r, struct rp_err *err)
{
    int rc = rp_json_take_words(object, "build", false, &r->build.argv, err);

    if (rc < 0 || !r->build.argv)
        return rc;
    rc = rp_json_take_variables(object, "build_environment", &r->build.env, err);
    if (rc == 0)
        rc = rp_json_take_text(object, "build_output", true, &r->build_output, err);
    if (rc == 0 && r->build_output[0] != '/')
        rc = rp_fail(err, RP_BAD_INPUT, "\"build_output\" is not an absolute path");
    if (rc == 0)
        rc = rp_json_take_integer(object, "build_timeout_ns", 1, INT64_MAX, &r->build_timeout_ns,
                                  err);
    return rc;
}

static int take_objective(const json_t *object, struct rp_evaluation_request *r, struct rp_err *err)
{
    size_t objective = 0;
    int rc = take_word(object, "objective", objective_words, OBJECTIVES, &objective, err);

    r->objective = (enum rp_objective)objective;
    if (rc < 0 || r->objective != RP_OBJECTIVE_OUTPUT)
        return rc;
    r->unit_ns = json_number_value(json_object_get(object, "unit_ns"));
    if (!(r->unit_ns > 0) || !isfinite(r->unit_ns))
        return rp_fail(err, RP_BAD_INPUT, "\"unit_ns\" is not a number above 0");
    return rp_json_take_text(object, "pattern", true, &r->pattern, err);
}

/** 0 where it is not there. */
static int take_optional_ns(const json_t *object, const char *key, int64_t *ret, struct rp_err *err)
{
    *ret = 0;
    return json_object_get(object, key) ? rp_json_take_integer(object, key, 0, INT64_MAX, ret, err)
                                        : 0;
}

static int take_limits(const json_t *object, struct rp_evaluation_request *r, struct rp_err *err)
{
    int64_t memory_bytes = 0, warmups = 0, samples = 0;
    int rc = rp_json_take_integer(object, "timeout_ns", 1, INT64_MAX, &r->timeout_ns, err);

    if (rc == 0)
        rc = take_optional_ns(object, "warmup_timeout_ns", &r->warmup_timeout_ns, err);
    if (rc == 0)
        rc = rp_json_take_integer(object, "memory_bytes", 0, INT64_MAX, &memory_bytes, err);
    if (rc == 0)
        rc = rp_json_take_integer(object, "samples", 1, RP_EVALUATION_MOST_RUNS, &samples, err);
    if (rc == 0)
        rc = rp_json_take_integer(object, "warmups", 0, RP_EVALUATION_MOST_RUNS - samples, &warmups,
                                  err);
    r->memory_bytes = (uint64_t)memory_bytes;
    r->warmups = (unsigned)warmups;
    r->samples = (unsigned)samples;
    return rc;
}

static int take_request(const json_t *object, struct rp_evaluation_request *r, struct rp_err *err)
{
    int64_t id = 0;
    int rc = rp_json_take_integer(object, "id", 0, INT64_MAX, &id, err);

    r->id = (uint64_t)id;
    if (rc == 0)
        rc = rp_json_take_words(object, "command", true, &r->command.argv, err);
    if (rc == 0)
        rc = rp_json_take_variables(object, "environment", &r->command.env, err);
    if (rc == 0)
        rc = take_build(object, r, err);
    if (rc == 0)
        rc = take_objective(object, r, err);
    if (rc == 0)
        rc = rp_json_take_text(object, "check", false, &r->check, err);
    if (rc == 0)
        rc = rp_json_take_text(object, "input", false, &r->input, err);
    if (rc == 0 && r->input && r->input[0] != '/')
        rc = rp_fail(err, RP_BAD_INPUT, "\"input\" is not an absolute path");
    return rc < 0 ? rc : take_limits(object, r, err);
}

int rp_evaluation_request_parse(const char *line, size_t bytes, struct rp_evaluation_request *ret,
                                struct rp_err *err)
{
    struct rp_evaluation_request request = {0};
    json_t *object = rp_json_read_line(line, bytes, err);
    int rc = object ? take_request(object, &request, err) : -RP_BAD_INPUT;

    json_decref(object);
    if (rc < 0)
        rp_evaluation_request_free(&request);
    else
        *ret = request;
    return rc;
}

/* --- answers -------------------------------------------------------------------------------- */

static json_t *runtimes(const struct rp_evaluation *e)
{
    json_t *list = json_array();

    for (size_t i = 0; list && i < e->count; i++)
        if (json_array_append_new(list, json_real(e->runtimes_ns[i])) != 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

int rp_evaluation_write(const struct rp_evaluation *e, struct rp_buf *to, struct rp_err *err)
{
    json_t *object = json_object();
    const int failed = set(object, "id", json_integer((json_int_t)e->id)) |
                       set(object, "outcome", json_string(outcome_words[e->outcome])) |
                       set_text(object, "reason", e->reason) |
                       set(object, "runtimes_ns", runtimes(e)) |
                       set(object, "signaled", json_boolean(e->signaled)) |
                       set(object, "status", json_integer(e->status)) |
                       set(object, "cap_ns", json_integer(e->cap_ns)) |
                       set(object, "built", json_boolean(e->built)) |
                       set(object, "build_ns", json_integer(e->build_ns)) |
                       set(object, "bench_ns", json_integer(e->bench_ns)) |
                       set(object, "warmup_ns", json_integer(e->warmup_ns));

    if (failed) {
        json_decref(object);
        object = NULL;
    }
    return rp_json_write_line(object, to, err);
}

static int take_runtimes(const json_t *object, struct rp_evaluation *e, struct rp_err *err)
{
    const json_t *list = json_object_get(object, "runtimes_ns");
    const size_t count = json_array_size(list);

    if (!json_is_array(list) || count > RP_EVALUATION_MOST_RUNS)
        return rp_fail(err, RP_BAD_INPUT, "\"runtimes_ns\" is not a list of numbers");
    if (!(e->runtimes_ns = calloc(count + 1, sizeof *e->runtimes_ns)))
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (; e->count < count; e->count++) {
        const double ns = json_number_value(json_array_get(list, e->count));

        if (!(ns > 0) || !isfinite(ns))
            return rp_fail(err, RP_BAD_INPUT, "\"runtimes_ns\" has what is no time");
        e->runtimes_ns[e->count] = ns;
    }
    return 0;
}

static int take_times(const json_t *object, struct rp_evaluation *e, struct rp_err *err)
{
    int rc = rp_json_take_integer(object, "cap_ns", 0, INT64_MAX, &e->cap_ns, err);

    if (rc == 0)
        rc = rp_json_take_bool(object, "built", &e->built, err);
    if (rc == 0)
        rc = rp_json_take_integer(object, "build_ns", 0, INT64_MAX, &e->build_ns, err);
    if (rc == 0)
        rc = rp_json_take_integer(object, "bench_ns", 0, INT64_MAX, &e->bench_ns, err);
    if (rc == 0)
        rc = take_optional_ns(object, "warmup_ns", &e->warmup_ns, err);
    return rc < 0 ? rc : take_runtimes(object, e, err);
}

static int take_answer(const json_t *object, struct rp_evaluation *e, struct rp_err *err)
{
    int64_t id = 0, status = 0;
    size_t outcome = 0;
    int rc = rp_json_take_integer(object, "id", 0, INT64_MAX, &id, err);

    if (rc == 0)
        rc = take_word(object, "outcome", outcome_words, OUTCOMES, &outcome, err);
    if (rc == 0)
        rc = rp_json_take_text(object, "reason", outcome != RP_EVALUATION_OK, &e->reason, err);
    if (rc == 0)
        rc = rp_json_take_bool(object, "signaled", &e->signaled, err);
    if (rc == 0)
        rc = rp_json_take_integer(object, "status", 0, 255, &status, err);
    e->id = (uint64_t)id;
    e->outcome = (enum rp_evaluation_outcome)outcome;
    e->status = (int)status;
    if (rc == 0)
        rc = take_times(object, e, err);
    if (rc == 0 && e->outcome == RP_EVALUATION_OK && e->count == 0)
        rc = rp_fail(err, RP_BAD_INPUT, "\"runtimes_ns\" is empty");
    return rc;
}

int rp_evaluation_parse(const char *line, size_t bytes, struct rp_evaluation *ret,
                        struct rp_err *err)
{
    struct rp_evaluation evaluation = {0};
    json_t *object = rp_json_read_line(line, bytes, err);
    int rc = object ? take_answer(object, &evaluation, err) : -RP_BAD_INPUT;

    json_decref(object);
    if (rc < 0)
        rp_evaluation_free(&evaluation);
    else
        *ret = evaluation;
    return rc;
}

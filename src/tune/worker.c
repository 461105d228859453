#include "tune/worker_pool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "base/lock.h"
#include "base/path.h"
#include "base/process.h"
#include "experiment/measured_run.h"
#include "run/run_program.h"

/* --- writing ---------------------------------------------------------------------------------- */

/** Makes a string, or {"base16": "61ff"} for bytes that are not UTF-8. */
static json_t *json_of_text(const char *text)
{
    json_t *string = json_string(text); /* It is NULL for bytes that are not UTF-8. */
    rp_autobuf digits = {0};

    if (string)
        return string;
    for (const char *c = text; *c; c++)
        rp_buf_printf(&digits, "%02x", (unsigned char)*c);
    return json_pack("{s:s}", "base16", rp_buf_text(&digits));
}

/** Makes [text, ...]. */
static json_t *json_of_words(char *const *words)
{
    json_t *list = json_array();

    for (; *words; words++)
        json_array_append_new(list, json_of_text(*words));
    return list;
}

/** Makes [[name, text or null], ...]. It accepts NULL. */
static json_t *json_of_variables(const struct rp_env_change *variables)
{
    json_t *list = json_array();

    for (; variables && variables->name; variables++) {
        json_t *value = variables->value ? json_of_text(variables->value) : json_null();

        json_array_append_new(list, json_pack("[o, o]", json_of_text(variables->name), value));
    }
    return list;
}

/** Appends the value and a newline, and takes the value over.
 * @param value NULL: a number in it is not finite */
static int json_write_line(json_t *value, struct rp_buf *to, struct rp_err *err)
{
    rp_autofree char *text = value ? json_dumps(value, JSON_COMPACT) : NULL;

    json_decref(value);
    if (!text)
        return rp_fail(err, RP_BAD_INPUT,
                       "a number that is not finite: a line of JSON cannot hold it");
    rp_buf_puts(to, text);
    rp_buf_puts(to, "\n");
    return 0;
}

/* --- reading ---------------------------------------------------------------------------------- */

/** @return the object in the line; NULL with a message: it is none */
static json_t *json_read_line(const char *line, size_t bytes, struct rp_err *err)
{
    json_error_t why;
    json_t *value = json_loadb(line, bytes, JSON_REJECT_DUPLICATES, &why);

    if (json_is_object(value))
        return value;
    if (value)
        rp_fail(err, RP_BAD_INPUT, "the line is not a JSON object");
    else
        rp_fail(err, RP_BAD_INPUT, "the line is not JSON: column %d: %.200s", why.column, why.text);
    json_decref(value);
    return NULL;
}

static int fail_member(struct rp_err *err, const char *key, const char *wanted)
{
    return rp_fail(err, RP_BAD_INPUT, "\"%s\" is not %s", key, wanted);
}

static int digit_of(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c ? strchr(digits, c) : NULL;

    return at ? (int)(at - digits) : -1;
}

/** @return owned by the caller; NULL: it is no text */
static char *text_of(const json_t *value)
{
    const char *digits = json_string_value(json_object_get(value, "base16"));
    const size_t bytes = digits ? strlen(digits) / 2 : 0;
    rp_autofree char *text = NULL;

    if (json_is_string(value))
        return rp_strdup(json_string_value(value));
    if (!digits || strlen(digits) % 2 || !(text = rp_alloc_zero(bytes + 1, 1)))
        return NULL;
    for (size_t i = 0; i < bytes; i++) {
        const int high = digit_of(digits[2 * i]), low = digit_of(digits[2 * i + 1]);

        if (high < 0 || low < 0 || high + low == 0)
            return NULL;
        text[i] = (char)(16 * high + low);
    }
    return rp_steal(text);
}

/** @param ret owned by the caller; NULL when it is null or absent, which is an error if it is
 * needed */
static int json_take_text(const json_t *object, const char *key, bool needed, char **ret,
                          struct rp_err *err)
{
    const json_t *value = json_object_get(object, key);
    char *text;

    if (!needed && (!value || json_is_null(value))) {
        *ret = NULL;
        return 0;
    }
    text = text_of(value);
    if (!text)
        return fail_member(err, key, "a text");
    *ret = text;
    return 0;
}

static void free_words(char **words)
{
    for (size_t i = 0; words && words[i]; i++)
        free(words[i]);
    free(words);
}

/** @param ret owned by the caller, NULL-terminated, at least one word; NULL when it is absent */
static int json_take_words(const json_t *object, const char *key, bool needed, char ***ret,
                           struct rp_err *err)
{
    const json_t *list = json_object_get(object, key);
    const size_t count = json_array_size(list);
    char **words;

    if (!needed && (!list || json_is_null(list))) {
        *ret = NULL;
        return 0;
    }
    if (count == 0)
        return fail_member(err, key, "a list of words");
    words = rp_alloc_zero(count + 1, sizeof *words);
    for (size_t i = 0; i < count; i++)
        if (!(words[i] = text_of(json_array_get(list, i)))) {
            free_words(words);
            return fail_member(err, key, "a list of words");
        }
    *ret = words;
    return 0;
}

static void free_variables(struct rp_env_change *variables)
{
    for (size_t i = 0; variables[i].name; i++) {
        free((char *)variables[i].name);
        free((char *)variables[i].value);
    }
    free(variables);
}

static bool take_variable(const json_t *pair, struct rp_env_change *to)
{
    const json_t *value = json_array_get(pair, 1);

    if (json_array_size(pair) != 2 || !(to->name = text_of(json_array_get(pair, 0))))
        return false;
    if (!*to->name || strchr(to->name, '='))
        return false;
    return json_is_null(value) || (to->value = text_of(value)) != NULL;
}

/** @param ret owned by the caller, terminated by a NULL name; NULL when it is absent */
static int json_take_variables(const json_t *object, const char *key, struct rp_env_change **ret,
                               struct rp_err *err)
{
    const json_t *list = json_object_get(object, key);
    const size_t count = json_array_size(list);
    struct rp_env_change *variables;

    if (!list || json_is_null(list)) {
        *ret = NULL;
        return 0;
    }
    if (!json_is_array(list))
        return fail_member(err, key, "a list of variables");
    variables = rp_alloc_zero(count + 1, sizeof *variables);
    for (size_t i = 0; i < count; i++)
        if (!take_variable(json_array_get(list, i), &variables[i])) {
            free_variables(variables);
            return fail_member(err, key, "a list of variables");
        }
    *ret = variables;
    return 0;
}

static int json_take_integer(const json_t *object, const char *key, int64_t least, int64_t most,
                             int64_t *ret, struct rp_err *err)
{
    const json_t *value = json_object_get(object, key);
    const int64_t integer = json_integer_value(value);

    if (!json_is_integer(value) || integer < least || integer > most)
        return rp_fail(err, RP_BAD_INPUT,
                       "\"%s\" is not a whole number from %" PRId64 " to %" PRId64, key, least,
                       most);
    *ret = integer;
    return 0;
}

static int json_take_bool(const json_t *object, const char *key, bool *ret, struct rp_err *err)
{
    const json_t *value = json_object_get(object, key);

    if (!json_is_boolean(value))
        return fail_member(err, key, "true or false");
    *ret = json_is_true(value);
    return 0;
}

enum { RP_EVALUATION_MOST_RUNS = 10000 };

static const char *const outcome_words[] = {
#define RP_OUTCOME(id, word) [RP_EVALUATION_##id] = word,
#include "experiment/evaluation_outcomes.def"
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

const char *rp_objective_word(enum rp_objective objective)
{
    return objective_words[objective];
}

/* --- requests --------------------------------------------------------------------------------- */

static const char printed_word[] = "printed";

static int set(json_t *object, const char *key, json_t *value)
{
    return object && json_object_set_new(object, key, value) == 0 ? 0 : -1;
}

static int set_text(json_t *object, const char *key, const char *text)
{
    return text ? set(object, key, json_of_text(text)) : 0;
}

static int set_build(json_t *object, const struct rp_evaluation_request *r)
{
    if (!r->build.argv)
        return 0;
    return set(object, "build", json_of_words(r->build.argv)) |
           set(object, "build_environment", json_of_variables(r->build.env)) |
           set_text(object, "build_output", r->build_output) |
           set(object, "build_timeout_ns", json_integer(r->build_timeout_ns));
}

/** Makes [{"source": "vgprs", "name": NAME}, {"source": "printed", "pattern": RE}, ...]. */
static json_t *json_of_numbers(const struct rp_evaluation_request *r)
{
    json_t *list = json_array();

    for (size_t i = 0; i < r->number_count; i++) {
        const char *word = rp_number_rows[r->numbers[i].source].word;
        json_t *number = json_pack("{s:s}", "source", word ? word : printed_word);

        if (r->numbers[i].pattern)
            json_object_set_new(number, "pattern", json_of_text(r->numbers[i].pattern));
        if (r->numbers[i].name)
            json_object_set_new(number, "name", json_of_text(r->numbers[i].name));
        json_array_append_new(list, number);
    }
    return list;
}

static int set_objective(json_t *object, const struct rp_evaluation_request *r)
{
    int failed = set(object, "objective", json_string(objective_words[r->objective]));

    if (r->number_count)
        failed |= set(object, "numbers", json_of_numbers(r));

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
                       set(object, "command", json_of_words(r->command.argv)) |
                       set(object, "environment", json_of_variables(r->command.env)) |
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
    return json_write_line(object, to, err);
}

/** Finds the number of a word in a list. */
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
    int rc = json_take_words(object, "build", false, &r->build.argv, err);

    if (rc < 0 || !r->build.argv)
        return rc;
    rc = json_take_variables(object, "build_environment", &r->build.env, err);
    if (rc == 0)
        rc = json_take_text(object, "build_output", true, &r->build_output, err);
    if (rc == 0 && r->build_output[0] != '/')
        rc = rp_fail(err, RP_BAD_INPUT, "\"build_output\" is not an absolute path");
    if (rc == 0)
        rc = json_take_integer(object, "build_timeout_ns", 1, INT64_MAX, &r->build_timeout_ns, err);
    return rc;
}

static int take_number(const json_t *json, struct rp_wanted_number *to, struct rp_err *err)
{
    const char *words[RP_NUMBER_SOURCES];
    size_t source = 0;
    int rc;

    for (size_t i = 0; i < RP_NUMBER_SOURCES; i++)
        words[i] = rp_number_rows[i].word ? rp_number_rows[i].word : printed_word;
    rc = take_word(json, "source", words, RP_NUMBER_SOURCES, &source, err);
    to->source = (enum rp_number_source)source;
    if (rc == 0)
        rc = json_take_text(json, "pattern", to->source == RP_NUMBER_PRINTED, &to->pattern, err);
    return rc < 0 ? rc : json_take_text(json, "name", false, &to->name, err);
}

/** Without the key no further numbers are wanted. */
static int take_wanted(const json_t *object, struct rp_evaluation_request *r, struct rp_err *err)
{
    const json_t *list = json_object_get(object, "numbers");
    int rc = 0;

    if (list && (!json_is_array(list) || json_array_size(list) > RP_MAX_NUMBERS))
        return fail_member(err, "numbers", "a list of at most 8 numbers");
    while (rc == 0 && r->number_count < json_array_size(list)) {
        rc = take_number(json_array_get(list, r->number_count), &r->numbers[r->number_count], err);
        r->number_count++;
        if (rc == 0 && rp_number_rows[r->numbers[r->number_count - 1].source].traced &&
            r->objective != RP_OBJECTIVE_DISPATCH)
            rc = rp_fail(err, RP_BAD_INPUT,
                         "\"numbers\" has one of records, and the run is not recorded");
    }
    return rc;
}

static int take_objective(const json_t *object, struct rp_evaluation_request *r, struct rp_err *err)
{
    size_t objective = 0;
    int rc = take_word(object, "objective", objective_words, OBJECTIVES, &objective, err);

    r->objective = (enum rp_objective)objective;
    if (rc == 0)
        rc = take_wanted(object, r, err);
    if (rc < 0 || r->objective != RP_OBJECTIVE_OUTPUT)
        return rc;
    r->unit_ns = json_number_value(json_object_get(object, "unit_ns"));
    if (!(r->unit_ns > 0) || !isfinite(r->unit_ns))
        return rp_fail(err, RP_BAD_INPUT, "\"unit_ns\" is not a number above 0");
    return json_take_text(object, "pattern", true, &r->pattern, err);
}

/** Reads 0 where the key is absent. */
static int take_optional_ns(const json_t *object, const char *key, int64_t *ret, struct rp_err *err)
{
    *ret = 0;
    return json_object_get(object, key) ? json_take_integer(object, key, 0, INT64_MAX, ret, err)
                                        : 0;
}

static int take_limits(const json_t *object, struct rp_evaluation_request *r, struct rp_err *err)
{
    int64_t memory_bytes = 0, warmups = 0, samples = 0;
    int rc = json_take_integer(object, "timeout_ns", 1, INT64_MAX, &r->timeout_ns, err);

    if (rc == 0)
        rc = take_optional_ns(object, "warmup_timeout_ns", &r->warmup_timeout_ns, err);
    if (rc == 0)
        rc = json_take_integer(object, "memory_bytes", 0, INT64_MAX, &memory_bytes, err);
    if (rc == 0)
        rc = json_take_integer(object, "samples", 1, RP_EVALUATION_MOST_RUNS, &samples, err);
    if (rc == 0)
        rc = json_take_integer(object, "warmups", 0, RP_EVALUATION_MOST_RUNS - samples, &warmups,
                               err);
    r->memory_bytes = (uint64_t)memory_bytes;
    r->warmups = (unsigned)warmups;
    r->samples = (unsigned)samples;
    return rc;
}

static int take_request(const json_t *object, struct rp_evaluation_request *r, struct rp_err *err)
{
    int64_t id = 0;
    int rc = json_take_integer(object, "id", 0, INT64_MAX, &id, err);

    r->id = (uint64_t)id;
    if (rc == 0)
        rc = json_take_words(object, "command", true, &r->command.argv, err);
    if (rc == 0)
        rc = json_take_variables(object, "environment", &r->command.env, err);
    if (rc == 0)
        rc = take_build(object, r, err);
    if (rc == 0)
        rc = take_objective(object, r, err);
    if (rc == 0)
        rc = json_take_text(object, "check", false, &r->check, err);
    if (rc == 0)
        rc = json_take_text(object, "input", false, &r->input, err);
    if (rc == 0 && r->input && r->input[0] != '/')
        rc = rp_fail(err, RP_BAD_INPUT, "\"input\" is not an absolute path");
    return rc < 0 ? rc : take_limits(object, r, err);
}

int rp_evaluation_request_parse(const char *line, size_t bytes, struct rp_evaluation_request *ret,
                                struct rp_err *err)
{
    struct rp_evaluation_request request = {0};
    json_t *object = json_read_line(line, bytes, err);
    int rc = object ? take_request(object, &request, err) : -RP_BAD_INPUT;

    json_decref(object);
    if (rc < 0)
        rp_evaluation_request_free(&request);
    else
        *ret = request;
    return rc;
}

/* --- answers ---------------------------------------------------------------------------------- */

static json_t *list_of(const double *numbers, size_t count)
{
    json_t *list = json_array();

    for (size_t i = 0; list && i < count; i++)
        if (json_array_append_new(list, json_real(numbers[i])) != 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

int rp_evaluation_write(const struct rp_evaluation *e, struct rp_buf *to, struct rp_err *err)
{
    json_t *object = json_object();
    const size_t numbers = e->count * e->number_count;
    const int failed = set(object, "id", json_integer((json_int_t)e->id)) |
                       (numbers ? set(object, "numbers", list_of(e->numbers, numbers)) : 0) |
                       set(object, "outcome", json_string(outcome_words[e->outcome])) |
                       set_text(object, "reason", e->reason) |
                       set(object, "runtimes_ns", list_of(e->runtimes_ns, e->count)) |
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
    return json_write_line(object, to, err);
}

static int take_runtimes(const json_t *object, struct rp_evaluation *e, struct rp_err *err)
{
    const json_t *list = json_object_get(object, "runtimes_ns");
    const size_t count = json_array_size(list);

    if (!json_is_array(list) || count > RP_EVALUATION_MOST_RUNS)
        return rp_fail(err, RP_BAD_INPUT, "\"runtimes_ns\" is not a list of numbers");
    e->runtimes_ns = rp_alloc_zero(count + 1, sizeof *e->runtimes_ns);
    for (; e->count < count; e->count++) {
        const double ns = json_number_value(json_array_get(list, e->count));

        if (!(ns > 0) || !isfinite(ns))
            return rp_fail(err, RP_BAD_INPUT, "\"runtimes_ns\" has what is no time");
        e->runtimes_ns[e->count] = ns;
    }
    return 0;
}

/** There are as many of each sample; nobody else says how many. */
static int take_numbers(const json_t *object, struct rp_evaluation *e, struct rp_err *err)
{
    const json_t *list = json_object_get(object, "numbers");
    const size_t count = json_array_size(list);

    if (!list)
        return 0;
    if (e->count == 0 || count == 0 || count % e->count || count / e->count > RP_MAX_NUMBERS)
        return fail_member(err, "numbers", "a list of some numbers of each sample");
    e->number_count = count / e->count;
    e->numbers = rp_alloc_zero(count, sizeof *e->numbers);
    for (size_t i = 0; i < count; i++) {
        const json_t *number = json_array_get(list, i);

        e->numbers[i] = json_number_value(number);
        if (!json_is_number(number) || !isfinite(e->numbers[i]))
            return rp_fail(err, RP_BAD_INPUT, "\"numbers\" has what is no number");
    }
    return 0;
}

static int take_times(const json_t *object, struct rp_evaluation *e, struct rp_err *err)
{
    int rc = json_take_integer(object, "cap_ns", 0, INT64_MAX, &e->cap_ns, err);

    if (rc == 0)
        rc = json_take_bool(object, "built", &e->built, err);
    if (rc == 0)
        rc = json_take_integer(object, "build_ns", 0, INT64_MAX, &e->build_ns, err);
    if (rc == 0)
        rc = json_take_integer(object, "bench_ns", 0, INT64_MAX, &e->bench_ns, err);
    if (rc == 0)
        rc = take_optional_ns(object, "warmup_ns", &e->warmup_ns, err);
    if (rc == 0)
        rc = take_runtimes(object, e, err);
    return rc < 0 ? rc : take_numbers(object, e, err);
}

static int take_answer(const json_t *object, struct rp_evaluation *e, struct rp_err *err)
{
    int64_t id = 0, status = 0;
    size_t outcome = 0;
    int rc = json_take_integer(object, "id", 0, INT64_MAX, &id, err);

    if (rc == 0)
        rc = take_word(object, "outcome", outcome_words, OUTCOMES, &outcome, err);
    if (rc == 0)
        rc = json_take_text(object, "reason", outcome != RP_EVALUATION_OK, &e->reason, err);
    if (rc == 0)
        rc = json_take_bool(object, "signaled", &e->signaled, err);
    if (rc == 0)
        rc = json_take_integer(object, "status", 0, 255, &status, err);
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
    json_t *object = json_read_line(line, bytes, err);
    int rc = object ? take_answer(object, &evaluation, err) : -RP_BAD_INPUT;

    json_decref(object);
    if (rc < 0)
        rp_evaluation_free(&evaluation);
    else
        *ret = evaluation;
    return rc;
}

void rp_worker_hello_free(struct rp_worker_hello *hello)
{
    free(hello->version);
    free(hello->host);
    free(hello->visible);
    rp_device_identity_free(&hello->on);
    *hello = (struct rp_worker_hello){0};
}

int rp_worker_hello_write(const struct rp_worker_hello *h, struct rp_buf *to, struct rp_err *err)
{
    json_t *object =
        json_pack("{s:i, s:o, s:o, s:I, s:s, s:o, s:o, s:I, s:I, s:o, s:o, s:o, s:I}", "protocol",
                  h->protocol, "version", json_of_text(h->version), "host", json_of_text(h->host),
                  "pid", (json_int_t)h->pid, "device", h->on.software ? "software" : "hardware",
                  "gfx", json_of_text(h->on.gfx), "gpu", json_of_text(h->on.gpu), "compute_units",
                  (json_int_t)h->on.compute_units, "node", (json_int_t)h->on.node, "visible",
                  json_of_text(h->visible), "rocm", json_of_text(h->on.rocm), "timing",
                  json_of_text(h->on.timing), "timing_version", (json_int_t)h->on.timing_version);

    return json_write_line(object, to, err);
}

static int take_hello_numbers(const json_t *object, struct rp_worker_hello *h, struct rp_err *err)
{
    int64_t protocol = 0, units = 0, version = 0;
    int rc = json_take_integer(object, "protocol", 1, INT32_MAX, &protocol, err);

    if (rc == 0)
        rc = json_take_integer(object, "pid", 1, INT32_MAX, &h->pid, err);
    if (rc == 0)
        rc = json_take_integer(object, "compute_units", 0, UINT32_MAX, &units, err);
    if (rc == 0)
        rc = json_take_integer(object, "node", -1, UINT32_MAX, &h->on.node, err);
    /* Only our software device has a timing version. */
    if (rc == 0 && json_object_get(object, "timing_version"))
        rc = json_take_integer(object, "timing_version", 0, UINT32_MAX, &version, err);
    h->protocol = (int)protocol;
    h->on.compute_units = (uint32_t)units;
    h->on.timing_version = (uint32_t)version;
    return rc;
}

static int take_hello(const json_t *object, struct rp_worker_hello *h, struct rp_err *err)
{
    const struct {
        const char *key;
        char **to;
    } texts[] = {{"version", &h->version}, {"host", &h->host},    {"gfx", &h->on.gfx},
                 {"gpu", &h->on.gpu},      {"rocm", &h->on.rocm}, {"visible", &h->visible},
                 {"timing", &h->on.timing}};
    const char *device = json_string_value(json_object_get(object, "device"));
    int rc = take_hello_numbers(object, h, err);

    for (size_t i = 0; rc == 0 && i < sizeof texts / sizeof *texts; i++)
        rc = json_take_text(object, texts[i].key, true, texts[i].to, err);
    if (rc < 0)
        return rc;
    h->on.software = device && strcmp(device, "software") == 0;
    if (!h->on.software && (!device || strcmp(device, "hardware") != 0))
        return rp_fail(err, RP_BAD_INPUT, "\"device\" is neither software nor hardware");
    return 0;
}

int rp_worker_hello_parse(const char *line, size_t bytes, struct rp_worker_hello *ret,
                          struct rp_err *err)
{
    struct rp_worker_hello hello = {0};
    json_t *object = json_read_line(line, bytes, err);
    int rc = object ? take_hello(object, &hello, err) : -RP_BAD_INPUT;

    json_decref(object);
    if (rc < 0)
        rp_worker_hello_free(&hello);
    else
        *ret = hello;
    return rc;
}

char *rp_worker_fatal_of(const char *line, size_t bytes)
{
    struct rp_err ignored = RP_ERR_INIT;
    json_t *object = json_read_line(line, bytes, &ignored);
    char *text = NULL;

    if (object)
        json_take_text(object, "fatal", false, &text, &ignored);
    json_decref(object);
    return text;
}

/* --- the folder of a worker ------------------------------------------------------------------- */

struct rp_worker_folder {
    char *path; /**< NULL: there is none */
    int lock;   /**< held while the worker lives */
};

#define PREFIX "rocm-perf-worker-"

enum { LOCKED = RP_LOCK_FOLDER | RP_LOCK_NO_LINK };

/** Nobody holds the folder's lock, so its worker has ended without removing it. */
static void remove_stale(const char *base)
{
    DIR *dir = opendir(base);
    struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        rp_autofree char *path = NULL;
        rp_autoclose int fd = -1;
        struct stat st;

        if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) != 0)
            continue;
        path = rp_path_join(base, entry->d_name);
        fd = rp_lock_path(path, LOCKED);
        if (fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid())
            rp_remove_tree(path);
    }
    if (dir)
        closedir(dir);
}

/** Another worker may have removed it before it was locked. */
static bool is_there(const char *path, int fd)
{
    struct stat by_name, by_fd;

    return stat(path, &by_name) == 0 && fstat(fd, &by_fd) == 0 && by_name.st_ino == by_fd.st_ino &&
           by_name.st_dev == by_fd.st_dev;
}

/**
 * Makes a new folder in $TMPDIR, or /tmp. It removes those of workers that were killed.
 * @return 0, RP_ENVIRONMENT
 */
static int worker_folder_open(struct rp_worker_folder *ret, struct rp_err *err)
{
    const char *tmp = getenv("TMPDIR");
    const char *base = tmp && *tmp ? tmp : "/tmp";

    remove_stale(base);
    for (;;) {
        rp_autofree char *path = rp_path_join(base, PREFIX "XXXXXX");
        int fd;

        if (!mkdtemp(path))
            return rp_fail(err, RP_ENVIRONMENT,
                           "cannot make a folder in %s: %s: let TMPDIR name one that can be "
                           "written",
                           base, strerror(errno));
        fd = rp_lock_path(path, LOCKED);
        if (fd >= 0 && is_there(path, fd)) {
            *ret = (struct rp_worker_folder){.path = rp_steal(path), .lock = fd};
            return 0;
        }
        if (fd >= 0)
            close(fd);
        else if (errno != EWOULDBLOCK && errno != ENOENT)
            return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot lock %s", path);
    }
}

/** Removes the folder. It accepts one that has no path. */
static void worker_folder_close(struct rp_worker_folder *folder)
{
    if (!folder->path)
        return;
    rp_remove_tree(folder->path);
    close(folder->lock);
    free(folder->path);
    *folder = (struct rp_worker_folder){0};
}

/* When nobody asks for this process any more, it ends, with the program that it runs. */

/** A program gets this time to end by itself. */
enum { GRACE_MS = 3000 };

static void *watch(void *arg)
{
    struct pollfd parent = {.fd = (int)(intptr_t)arg, .events = POLLIN};

    while (poll(&parent, 1, -1) < 1)
        ;
    kill(getpid(), SIGTERM);
    poll(NULL, 0, GRACE_MS);
    kill(getpid(), SIGTERM);
    return NULL;
}

/**
 * Starts the watch: from here on the end of the parent causes SIGTERM for this process, and a while
 * later SIGTERM again: the second one kills what rp_proc_run runs. Without pidfds (Linux before
 * 5.3) there is no such watch.
 */
static void orphan_watch_begin(void)
{
    const int parent = rp_pidfd_open(getppid());
    sigset_t all, before;
    pthread_t thread;

    if (parent < 0)
        return;
    sigfillset(&all); /* Signals are for the thread that runs programs. */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&thread, NULL, watch, (void *)(intptr_t)parent) == 0)
        pthread_detach(thread);
    else
        close(parent);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

struct worker {
    const struct rp_worker_options *options;
    struct rp_environment env;
    struct rp_run_options run; /**< resolved */
    const struct rp_tracer *tracer;
    struct rp_orphans adopted;
    struct rp_worker_folder folder;
    int in, out;
};

/* --- who it is -------------------------------------------------------------------------------- */

static int describe(const struct worker *w, struct rp_worker_hello *h, struct rp_err *err)
{
    const char *visible = getenv("ROCR_VISIBLE_DEVICES");
    struct utsname host;

    uname(&host);
    *h = (struct rp_worker_hello){.protocol = RP_WORKER_PROTOCOL,
                                  .version = rp_strdup(w->options->version),
                                  .host = rp_strdup(host.nodename),
                                  .pid = getpid(),
                                  .visible = rp_strdup(visible ? visible : "")};
    return rp_device_identify(&w->env, &w->run, &h->on, err);
}

/* --- talking ---------------------------------------------------------------------------------- */

static int write_all(const struct worker *w, const struct rp_buf *text, struct rp_err *err)
{
    for (size_t at = 0; at < text->len;) {
        ssize_t put = write(w->out, text->data + at, text->len - at);
        const int why = errno;

        /* The socket was given to us by a process that made it so that writes do not wait. */
        if (put < 0 && why == EAGAIN) {
            poll(&(struct pollfd){.fd = w->out, .events = POLLOUT}, 1, -1);
            continue;
        }
        if (put < 0 && why != EINTR)
            return rp_fail_errno(err, RP_ENVIRONMENT, why, "nobody reads the answers");
        at += put > 0 ? (size_t)put : 0;
    }
    return 0;
}

static int send_hello(const struct worker *w, struct rp_err *err)
{
    rp_cleanup(rp_worker_hello_free) struct rp_worker_hello hello = {0};
    rp_autobuf line = {0};
    int rc = describe(w, &hello, err);

    if (rc == 0)
        rc = rp_worker_hello_write(&hello, &line, err);
    return rc < 0 ? rc : write_all(w, &line, err);
}

/** Sends the last line before the worker ends for a reason that no configuration has.
 * @return whether it was written */
static bool send_fatal(const struct worker *w, const struct rp_err *why)
{
    rp_autobuf line = {0};
    struct rp_err ignored = RP_ERR_INIT;

    return json_write_line(json_pack("{s:o}", "fatal", json_of_text(why->text)), &line, &ignored) ==
               0 &&
           write_all(w, &line, &ignored) == 0;
}

static int answer(const struct worker *w, const char *line, size_t bytes, struct rp_err *err)
{
    const struct rp_measure_context evaluator = {.env = &w->env,
                                                 .options = &w->run,
                                                 .tracer = w->tracer,
                                                 .folder = w->folder.path,
                                                 .adopted = &w->adopted};
    rp_cleanup(rp_evaluation_request_free) struct rp_evaluation_request request = {0};
    rp_cleanup(rp_evaluation_free) struct rp_evaluation evaluation = {0};
    rp_autobuf text = {0};
    int rc = rp_evaluation_request_parse(line, bytes, &request, err);

    if (rc == 0)
        rc = rp_measure_config(&evaluator, &request, &evaluation, err);
    if (rc == 0)
        rc = rp_evaluation_write(&evaluation, &text, err);
    return rc < 0 ? rc : write_all(w, &text, err);
}

static int answer_all(const struct worker *w, struct rp_err *err)
{
    rp_cleanup(rp_line_reader_free) struct rp_line_reader reader = {0};
    int rc = 0;

    while (rc == 0) {
        size_t bytes;
        const char *line = rp_line_reader_next(&reader, &bytes);

        rc = rp_proc_interrupted(err);
        if (rc < 0 || (!line && reader.ended))
            break;
        rc = line ? answer(w, line, bytes, err) : rp_line_reader_fill(&reader, w->in, err);
    }
    return rc;
}

/* --- beginning and end ------------------------------------------------------------------------ */

static void hear_pipe(int signo)
{
    /* The signal is caught and not ignored, because programs would inherit that it is ignored. */
    (void)signo;
}

/** Programs must see neither the requests nor the descriptor for answers. */
static int take_standard_files(struct worker *w, struct rp_err *err)
{
    const struct sigaction pipe_action = {.sa_handler = hear_pipe};
    rp_autoclose int null = -1;

    /* A file that is opened before would take the place of one that is closed. */
    w->in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    w->out = w->in < 0 ? -1 : fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (w->out >= 0)
        null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null < 0 || w->in < 0 || w->out < 0 || dup2(null, STDIN_FILENO) < 0 ||
        dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno,
                             "a worker needs standard input, output and error");
    sigaction(SIGPIPE, &pipe_action, NULL);
    return 0;
}

/** Slurm may name a step's GPU only in a variable of its own. */
static void take_step_gpus(void)
{
    const char *of_step = getenv("SLURM_STEP_GPUS");

    if (of_step && *of_step)
        setenv("ROCR_VISIBLE_DEVICES", of_step, 0);
}

static int prepare(struct worker *w, struct rp_err *err)
{
    int rc = rp_environment_detect(&w->env, err);

    w->run = w->options->run;
    if (rc == 0)
        rc = rp_device_resolve(&w->env, &w->run, err);
    if (rc == 0)
        rc = rp_tracer_choose(&w->env, w->run.device, RP_TRACER_AUTO, &w->tracer, err);
    return rc < 0 ? rc : worker_folder_open(&w->folder, err);
}

static void close_worker(struct worker *w)
{
    worker_folder_close(&w->folder);
    rp_environment_free(&w->env);
    rp_orphans_end(&w->adopted);
    if (w->in >= 0)
        close(w->in);
    if (w->out >= 0)
        close(w->out);
}

int rp_worker_serve(const struct rp_worker_options *options, bool *ret_told, struct rp_err *err)
{
    struct worker w = {.options = options, .in = -1, .out = -1};
    int rc;

    rp_proc_catch_signals();
    rc = take_standard_files(&w, err);
    orphan_watch_begin();
    /* From here on this process adopts all that programs leave behind. */
    rp_orphans_begin(&w.adopted);
    take_step_gpus();
    if (rc == 0)
        rc = prepare(&w, err);
    if (rc == 0)
        rc = send_hello(&w, err);
    if (rc == 0)
        rc = answer_all(&w, err);
    *ret_told = rc < 0 && rc != -RP_INTERRUPTED && w.out >= 0 && send_fatal(&w, err);
    close_worker(&w);
    return rc;
}

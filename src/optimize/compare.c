#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "optimize/child.h"
#include "optimize/measure.h"
#include "optimize/self.h"

enum { MOST_JSON = 64 << 20, MOST_MESSAGE = 4096 };

void rp_compared_free(struct rp_compared *compared)
{
    free(compared->reason);
    json_decref(compared->json);
    *compared = (struct rp_compared){0};
}

static bool number(const json_t *object, const char *key, double *ret)
{
    const json_t *value = json_object_get(object, key);

    if (json_is_number(value))
        *ret = json_number_value(value);
    return json_is_number(value);
}

static bool read_verdict(const json_t *json, enum rp_comparison_verdict *ret)
{
    static const char *const words[] = {[RP_COMPARED_FASTER] = "faster",
                                        [RP_COMPARED_SLOWER] = "slower",
                                        [RP_COMPARED_EQUAL] = "equal",
                                        [RP_COMPARED_UNDECIDED] = "undecided",
                                        [RP_COMPARED_DIFFERENT] = "different output"};
    const char *word = json_string_value(json_object_get(json, "verdict"));

    for (unsigned i = 0; word && i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i], word) == 0) {
            *ret = (enum rp_comparison_verdict)i;
            return true;
        }
    return false;
}

/** What is undecided without a word of this is so by noise, as replay compare says it. */
static enum rp_undecided_by read_cause(const json_t *json)
{
    const char *cause = json_string_value(json_object_get(json, "undecided_by"));

    return !cause                           ? RP_BY_NOISE
           : strcmp(cause, "unsteady") == 0 ? RP_BY_UNSTEADY
           : strcmp(cause, "blind") == 0    ? RP_BY_BLIND
           : strcmp(cause, "values") == 0   ? RP_BY_VALUES
                                            : RP_BY_NOISE;
}

/** The gain is that with the values it is least with, of those that count. Where it holds with all
 * of them, intervals that overlap differ by noise: only what is all below tells. */
static void read_demanded(const json_t *one, struct rp_comparison *c)
{
    const bool holds = c->verdict == RP_COMPARED_FASTER;
    double low, high;

    if (!c->ratio_known || !number(one, "low", &low) || !number(one, "high", &high) ||
        !((holds ? high : low) < c->low))
        return;
    c->low = low;
    c->high = high;
    number(one, "estimate", &c->estimate);
}

static void read_others(const json_t *json, struct rp_comparison *c)
{
    const json_t *one;
    double low;
    size_t i;

    json_array_foreach(json_object_get(json, "other_ratios"), i, one)
    {
        if (json_is_true(json_object_get(one, "demanded"))) {
            read_demanded(one, c);
            continue;
        }
        if (!number(one, "low", &low) || (c->slowest_other > 0 && low >= c->slowest_other))
            continue;
        c->slowest_other = low;
        c->slowest_inputs = json_string_value(json_object_get(one, "inputs"));
    }
}

static bool read_numbers(const json_t *json, struct rp_comparison *c)
{
    const json_t *ratio = json_object_get(json, "ratio"), *rule = json_object_get(json, "rule");
    const json_t *inputs = json_object_get(json_object_get(json, "b"), "other_inputs");

    c->ratio_known = number(ratio, "estimate", &c->estimate) && number(ratio, "low", &c->low) &&
                     number(ratio, "high", &c->high);
    number(json_object_get(json, "a"), "median_us", &c->before_us);
    number(json_object_get(json, "b"), "median_us", &c->after_us);
    number(json_object_get(json, "memory"), "written_bytes", &c->written_bytes);
    c->inputs_untried = json_string_value(json_object_get(inputs, "reason"));
    number(rule, "noise", &c->noise);
    read_others(json, c);
    return number(rule, "margin", &c->margin) && number(rule, "alpha", &c->alpha);
}

/** A and B are names of replay compare; a user of a session knows neither. Owned; NULL: out of
 * memory. */
static char *in_words(const char *reason)
{
    rp_autobuf text = {0};

    for (const char *at = reason; *at;) {
        const char *end = at + strcspn(at, " ");
        const bool is_name = end - at == 1 && (*at == 'A' || *at == 'B');

        if (is_name)
            rp_buf_puts(&text, *at == 'A' ? "the original" : "the candidate");
        else
            rp_buf_add(&text, at, (size_t)(end - at));
        if (*end)
            rp_buf_puts(&text, " ");
        at = *end ? end + 1 : end;
    }
    return rp_buf_steal(&text);
}

int rp_compared_read(const char *text, struct rp_compared *ret, struct rp_err *err)
{
    struct rp_compared compared = {.json = json_loads(text, JSON_REJECT_DUPLICATES, NULL)};
    const char *reason = json_string_value(json_object_get(compared.json, "reason"));

    compared.reason = reason ? in_words(reason) : NULL;
    if (!read_verdict(compared.json, &compared.comparison.verdict) ||
        !read_numbers(compared.json, &compared.comparison)) {
        rp_compared_free(&compared);
        return rp_fail(err, RP_BAD_INPUT, "replay compare printed something else than its JSON");
    }
    compared.comparison.undecided_by = read_cause(compared.json);
    compared.comparison.reason = compared.reason;
    *ret = compared;
    return 0;
}

/** The last line of what a command said, without the name of the program; owned. */
static char *last_message(const char *path)
{
    static const char prefix[] = "rocm-perf: ";
    rp_autofree char *text = rp_child_text(path, MOST_MESSAGE);
    char *line;

    if (!text)
        return NULL;
    for (size_t n = strlen(text); n && text[n - 1] == '\n'; n--)
        text[n - 1] = 0;
    line = strrchr(text, '\n');
    line = line ? line + 1 : text;
    if (strncmp(line, prefix, sizeof prefix - 1) == 0)
        line += sizeof prefix - 1;
    return strdup(line);
}

/** What it says of one of the two; NULL: it is about something else. */
static const char *said_of(const char *message, char letter, const char *path)
{
    const char first[] = {letter, ':', ' ', 0}, later[] = {':', ' ', letter, ':', ' ', 0};
    const char *at = strstr(message, later);

    if (strncmp(message, first, sizeof first - 1) == 0)
        return message + sizeof first - 1;
    if (at)
        return at + sizeof later - 1;
    return strncmp(message, path, strlen(path)) == 0 ? message : NULL;
}

/** It printed no JSON: `after` does not fit, crashes or hangs, or the capture tells nothing. */
static int read_failure(const struct rp_proc_end *end, const char *messages, const char *before,
                        const char *after, struct rp_compared *ret, struct rp_err *err)
{
    rp_autofree char *message = last_message(messages);
    rp_autofree char *how = rp_child_end_text(end);
    const bool verdict = !end->signaled && end->status == RP_VERDICT;
    const char *said = message ? said_of(message, 'B', after) : NULL;
    char *reason;

    if (!message || !how)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    if (end->over_memory) {
        *ret = (struct rp_compared){
            .comparison = {.verdict = RP_COMPARED_UNDECIDED, .undecided_by = RP_BY_LIMITS},
            .reason = rp_steal(how)};
    } else if (verdict && !said_of(message, 'A', before)) {
        reason = strdup(said ? said : message);
        if (!reason)
            return rp_fail(err, RP_ENVIRONMENT, "out of memory");
        *ret = (struct rp_compared){
            .comparison = {.verdict = said ? RP_COMPARED_DIFFERENT : RP_COMPARED_UNDECIDED,
                           .undecided_by = RP_BY_BLIND,
                           .no_output = said != NULL},
            .reason = reason};
    } else {
        return rp_fail(
            err, !end->signaled && end->status == RP_ENVIRONMENT ? RP_ENVIRONMENT : RP_BAD_INPUT,
            "replay compare: %s (%s)", message, how);
    }
    ret->comparison.reason = ret->reason;
    return 0;
}

int rp_compare(const struct rp_measure *measure, const struct rp_captured *captured,
               const char *before, const char *after, struct rp_compared *ret, struct rp_err *err)
{
    rp_autofree char *out = rp_path_join(measure->folder, "compare.json");
    rp_autofree char *messages = rp_path_join(measure->folder, "compare.log");
    rp_autofree char *margin = rp_format("%.4f", 100 * rp_most_harm(measure->least_improvement));
    rp_autofree char *text = NULL;
    const char *const words[] = {"replay",         "compare",  before, after,    "--capture-dir",
                                 captured->folder, "--margin", margin, "--json", NULL};
    struct rp_proc_end end;
    int rc;

    if (!out || !messages || !margin)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    rc = rp_self_run(
        measure,
        &(struct rp_self){
            .words = words, .stdout_path = out, .stderr_path = messages, .what = RP_RUNS_REPLAY},
        &end, err);
    if (rc < 0)
        return rc;
    text = rp_read_text(out, MOST_JSON);
    if (end.signaled || end.timed_out || end.status > 1 || !text || !*text)
        return read_failure(&end, messages, before, after, ret, err);
    return rp_compared_read(text, ret, err);
}

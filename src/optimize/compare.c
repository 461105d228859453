#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "optimize/child.h"
#include "optimize/measure.h"

enum { MOST_JSON = 64 << 20, MOST_MESSAGE = 4096 };
static const int64_t PATIENCE_NS = (int64_t)3600 * 1000000000;

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

static bool read_numbers(const json_t *json, struct rp_comparison *c)
{
    const json_t *ratio = json_object_get(json, "ratio"), *rule = json_object_get(json, "rule");

    c->ratio_known = number(ratio, "estimate", &c->estimate) && number(ratio, "low", &c->low) &&
                     number(ratio, "high", &c->high);
    number(json_object_get(json, "a"), "median_us", &c->before_us);
    number(json_object_get(json, "b"), "median_us", &c->after_us);
    number(json_object_get(json, "memory"), "written_bytes", &c->written_bytes);
    return number(rule, "margin", &c->margin) && number(rule, "alpha", &c->alpha);
}

int rp_compared_read(const char *text, struct rp_compared *ret, struct rp_err *err)
{
    struct rp_compared compared = {.json = json_loads(text, JSON_REJECT_DUPLICATES, NULL)};
    const char *reason = json_string_value(json_object_get(compared.json, "reason"));

    compared.reason = reason ? strdup(reason) : NULL;
    if (!read_verdict(compared.json, &compared.comparison.verdict) ||
        !read_numbers(compared.json, &compared.comparison)) {
        rp_compared_free(&compared);
        return rp_fail(err, RP_BAD_INPUT, "replay compare printed something else than its JSON");
    }
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

/** It printed no JSON: `after` does not fit, crashes or hangs, or nothing could be measured. */
static int read_failure(const struct rp_proc_end *end, const char *messages,
                        struct rp_compared *ret, struct rp_err *err)
{
    rp_autofree char *message = last_message(messages);
    rp_autofree char *how = rp_child_end_text(end);

    if (!message || !how)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    if (end->over_memory || end->timed_out) { /* compare itself ends what does not */
        *ret = (struct rp_compared){.comparison = {.verdict = RP_COMPARED_DIFFERENT},
                                    .reason = rp_steal(how)};
    } else if (!end->signaled && end->status == RP_VERDICT && !strstr(message, ": A: ")) {
        *ret = (struct rp_compared){.comparison = {.verdict = RP_COMPARED_DIFFERENT},
                                    .reason = rp_steal(message)};
    } else {
        return rp_fail(err,
                       !end->signaled && end->status == RP_VERDICT ? RP_BAD_INPUT : RP_ENVIRONMENT,
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
    rp_autofree char *margin = rp_format("%.4f", 100 * measure->least_improvement);
    rp_autofree char *text = NULL;
    const char *argv[16] = {measure->self,   "replay",         "compare",  before, after,
                            "--capture-dir", captured->folder, "--margin", margin, "--json"};
    struct rp_proc_end end;
    size_t at = 10;
    int rc;

    if (!out || !messages || !margin)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    if (measure->device) {
        argv[at++] = "--device";
        argv[at++] = measure->device;
    }
    if (measure->timing) {
        argv[at++] = "--timing";
        argv[at++] = measure->timing;
    }
    rc = rp_child_run(&(struct rp_child){.argv = argv,
                                         .stdout_path = out,
                                         .stderr_path = messages,
                                         .timeout_ns = PATIENCE_NS,
                                         .limits = rp_program_limits()},
                      &end, err);
    if (rc < 0)
        return rc;
    text = rp_read_text(out, MOST_JSON);
    if (end.signaled || end.timed_out || end.status > 1 || !text || !*text)
        return read_failure(&end, messages, ret, err);
    return rp_compared_read(text, ret, err);
}

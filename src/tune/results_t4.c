#include "tune/results_t4.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/journal.h"
#include "base/path.h"
#include "tune/json_build.h"
#include "tune/search_json.h"

/** What is wrong with a configuration, and the value which Kernel Tuner then gives the objective:
 *  autotuning_methodology takes no other texts. */
static const struct {
    const char *invalidity, *value;
} validities[] = {
    [RP_T4_CORRECT] = {"correct", NULL},
    [RP_T4_TIMEOUT] = {"timeout", "RuntimeFailedConfig"},
    [RP_T4_COMPILE] = {"compile", "CompilationFailedConfig"},
    [RP_T4_RUNTIME] = {"runtime", "RuntimeFailedConfig"},
    [RP_T4_CORRECTNESS] = {"correctness", "RuntimeFailedConfig"},
    [RP_T4_CONSTRAINTS] = {"constraints", "InvalidConfig"},
};

static json_t *known(double ms)
{
    return json_real(ms > 0 ? ms : 0);
}

/* The schema has compilation_time; Kernel Tuner and autotuning_methodology compilation. */
static json_t *times(const struct rp_t4_result *result)
{
    json_t *object = json_object(), *runtimes = json_array();

    for (size_t i = 0; i < result->sample_count; i++)
        rp_json_append(&runtimes, json_real(result->samples_ms[i]));
    rp_json_set(&object, "compilation_time", known(result->compile_ms));
    rp_json_set(&object, "compilation", known(result->compile_ms));
    rp_json_set(&object, "benchmark", known(result->bench_ms));
    rp_json_set(&object, "framework", known(result->framework_ms));
    rp_json_set(&object, "search_algorithm", known(result->search_ms));
    rp_json_set(&object, "validation", known(result->check_ms));
    rp_json_set(&object, "runtimes", runtimes);
    return object;
}

static json_t *result_json(const struct rp_space *space, const struct rp_t4_result *result)
{
    const bool correct = result->validity == RP_T4_CORRECT;
    json_t *object = json_object();

    if (result->timestamp)
        rp_json_set(&object, "timestamp", json_string(result->timestamp));
    rp_json_set(&object, "configuration", rp_search_parameters(space, result->config));
    rp_json_set(&object, "times", times(result));
    rp_json_set(&object, "invalidity", json_string(validities[result->validity].invalidity));
    rp_json_set(&object, "correctness", json_integer(result->validity != RP_T4_CORRECTNESS));
    rp_json_set(&object, "measurements",
                json_pack("[{s:s,s:o,s:s}]", "name", "time", "value",
                          correct ? json_real(result->runtime_ms)
                                  : json_string(validities[result->validity].value),
                          "unit", "ms"));
    rp_json_set(&object, "objectives", json_pack("[s]", "time"));
    return object;
}

int rp_t4_text(const struct rp_space *space, const struct rp_t4_result *results, size_t count,
               const struct rp_t4_source *source, char **ret, struct rp_err *err)
{
    json_t *root = json_object(), *list = json_array();

    for (size_t i = 0; i < count; i++)
        rp_json_append(&list, result_json(space, &results[i]));
    rp_json_set(&root, "schema_version", json_string("1.0.0"));
    rp_json_set(&root, "metadata",
                json_pack("{s:s,s:o,s:o,s:s}", "timeunit", "milliseconds", "name",
                          rp_journal_string(source->name, strlen(source->name)), "device",
                          rp_journal_string(source->device, strlen(source->device)), "tool",
                          "rocm-perf autotune"));
    rp_json_set(&root, "results", list);
    *ret = root ? json_dumps(root, JSON_INDENT(1)) : NULL;
    json_decref(root);
    return *ret ? 0 : rp_fail(err, RP_ENVIRONMENT, "out of memory for T4 results");
}

int rp_t4_write(const char *path, const struct rp_space *space, const struct rp_t4_result *results,
                size_t count, const struct rp_t4_source *source, struct rp_err *err)
{
    rp_autofree char *text = NULL;

    if (rp_t4_text(space, results, count, source, &text, err) < 0)
        return rp_wrap(err, "T4 results %s", path);
    return rp_write_output(path, text, strlen(text), err);
}

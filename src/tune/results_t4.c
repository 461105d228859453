#include "tune/results_t4.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "tune/json_space.h"
#include "tune/space.h"

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

/* Failures to add are remembered: the value is NULL, and so is what it should be part of. */
static void set(json_t **object, const char *key, json_t *value)
{
    if (*object && json_object_set_new(*object, key, value) < 0) {
        json_decref(*object);
        *object = NULL;
    } else if (!*object) {
        json_decref(value);
    }
}

static json_t *configuration(const struct rp_space *space, size_t config)
{
    json_t *object = json_object();

    for (size_t i = 0; i < space->parameter_count; i++) {
        const struct rp_value *value = rp_space_value(space, config, i);

        if (value)
            set(&object, space->parameters[i].name, rp_json_of_value(value));
    }
    return object;
}

static json_t *known(double ms)
{
    return json_real(ms > 0 ? ms : 0);
}

/* The schema has compilation_time; Kernel Tuner and autotuning_methodology compilation. */
static json_t *times(const struct rp_t4_result *result)
{
    json_t *object = json_object(), *runtimes = json_array();

    for (size_t i = 0; runtimes && i < result->sample_count; i++)
        if (json_array_append_new(runtimes, json_real(result->samples_ms[i])) < 0) {
            json_decref(runtimes);
            runtimes = NULL;
        }
    set(&object, "compilation_time", known(result->compile_ms));
    set(&object, "compilation", known(result->compile_ms));
    set(&object, "benchmark", known(result->bench_ms));
    set(&object, "framework", known(result->framework_ms));
    set(&object, "search_algorithm", known(result->search_ms));
    set(&object, "validation", known(result->check_ms));
    set(&object, "runtimes", runtimes);
    return object;
}

static json_t *result_json(const struct rp_space *space, const struct rp_t4_result *result)
{
    const bool correct = result->validity == RP_T4_CORRECT;
    json_t *object = json_object();

    if (result->timestamp)
        set(&object, "timestamp", json_string(result->timestamp));
    set(&object, "configuration", configuration(space, result->config));
    set(&object, "times", times(result));
    set(&object, "invalidity", json_string(validities[result->validity].invalidity));
    set(&object, "correctness", json_integer(result->validity != RP_T4_CORRECTNESS));
    set(&object, "measurements",
        json_pack("[{s:s,s:o,s:s}]", "name", "time", "value",
                  correct ? json_real(result->runtime_ms)
                          : json_string(validities[result->validity].value),
                  "unit", "ms"));
    set(&object, "objectives", json_pack("[s]", "time"));
    return object;
}

int rp_t4_text(const struct rp_space *space, const struct rp_t4_result *results, size_t count,
               const struct rp_t4_source *source, char **ret, struct rp_err *err)
{
    json_t *root = json_object(), *list = json_array();
    bool whole = list != NULL;

    for (size_t i = 0; whole && i < count; i++)
        whole = json_array_append_new(list, result_json(space, &results[i])) == 0;
    set(&root, "schema_version", json_string("1.0.0"));
    set(&root, "metadata",
        json_pack("{s:s,s:s,s:s,s:s}", "timeunit", "milliseconds", "name", source->name, "device",
                  source->device, "tool", "rocm-perf autotune"));
    set(&root, "results", list);
    *ret = whole && root ? json_dumps(root, JSON_INDENT(1)) : NULL;
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

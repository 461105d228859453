/* T4, the results of the tuning community: {"schema_version", "metadata": {"timeunit"}, "results":
 * [{"configuration": {NAME: value}, "times": {"compilation" or "compilation_time", "benchmark",
 * "runtimes": [...], ...}, "invalidity": "correct" or why not, "correctness", "measurements":
 * [{"name", "value", "unit"}], "objectives": [NAME]}]}. */
#include <math.h>
#include <string.h>

#include "base/err.h"
#include "tune/json_space.h"
#include "tune/recorded_formats.h"

/** @return in ms; 0: no time */
static double unit_of(const char *name)
{
    static const struct {
        const char *name;
        double ms;
    } units[] = {{"ms", 1},
                 {"milliseconds", 1},
                 {"miliseconds", 1},
                 {"s", 1000},
                 {"seconds", 1000},
                 {"us", 1e-3},
                 {"microseconds", 1e-3},
                 {"ns", 1e-6},
                 {"nanoseconds", 1e-6}};

    for (size_t i = 0; name && i < sizeof units / sizeof *units; i++)
        if (strcmp(units[i].name, name) == 0)
            return units[i].ms;
    return 0;
}

static const json_t *measurement(const json_t *result, const char *name)
{
    const json_t *list = json_object_get(result, "measurements");

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        const char *own = json_string_value(json_object_get(item, "name"));

        if (own && strcmp(own, name) == 0)
            return item;
    }
    return NULL;
}

/** The objective's, or else the mean of the runs. @param unit  of times that do not say theirs */
static int runtime_of(const json_t *result, double unit, double *ret, struct rp_err *err)
{
    const char *objective =
        json_string_value(json_array_get(json_object_get(result, "objectives"), 0));
    const json_t *found = measurement(result, objective ? objective : "time");
    const json_t *value = json_object_get(found, "value"),
                 *runs = json_object_get(json_object_get(result, "times"), "runtimes");
    const char *name = json_string_value(json_object_get(found, "unit"));

    if (json_is_number(value)) {
        if (name && *name)
            unit = unit_of(name);
        else if (objective && strncmp(objective, "time", 4) != 0)
            unit = 0;
        if (unit == 0)
            return rp_fail(err, RP_BAD_INPUT, "its objective %.60s is no time",
                           objective ? objective : "");
        *ret = json_number_value(value) * unit;
        return isfinite(*ret) ? 0 : rp_fail(err, RP_BAD_INPUT, "its time does not fit");
    }
    *ret = 0;
    for (size_t i = 0; i < json_array_size(runs); i++)
        *ret += json_number_value(json_array_get(runs, i)) / (double)json_array_size(runs) * unit;
    if (*ret > 0 && isfinite(*ret))
        return 0;
    return rp_fail(err, RP_BAD_INPUT, "it is correct, but has neither its objective nor runtimes");
}

static int set_duration(json_t *config, const char *key, const json_t *times, const char *from,
                        double unit, struct rp_err *err)
{
    const double ms = json_number_value(json_object_get(times, from)) * unit;

    return ms > 0 && isfinite(ms) ? rp_recorded_set(config, key, json_real(ms), err) : 0;
}

static int convert(const json_t *result, const json_t *names, double unit, json_t *configs,
                   struct rp_err *err)
{
    const char *invalidity = json_string_value(json_object_get(result, "invalidity"));
    const json_t *times = json_object_get(result, "times");
    json_t *config = json_object();
    double ms = 0;
    bool ok;

    if (!config || json_array_append_new(configs, config) < 0)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory for the recorded space");
    if (!invalidity)
        return rp_fail(err, RP_BAD_INPUT, "it has no \"invalidity\"");
    ok = strcmp(invalidity, "correct") == 0;
    if (rp_recorded_add_parameters(config, names, json_object_get(result, "configuration"), err) <
            0 ||
        (ok && runtime_of(result, unit, &ms, err) < 0) ||
        rp_recorded_set(config, "runtime_ms", ok ? json_real(ms) : json_null(), err) < 0 ||
        (ok &&
         rp_recorded_add_repeats(config, json_object_get(times, "runtimes"), unit, err) < 0) ||
        set_duration(config, "compile_ms", times, "compilation_time", unit, err) < 0 ||
        set_duration(config, "compile_ms", times, "compilation", unit, err) < 0 ||
        set_duration(config, "bench_ms", times, "benchmark", unit, err) < 0)
        return -(int)err->code;
    return 0;
}

/** Names of all configurations, in the order in which they come. */
static int list_names(const json_t *results, json_t *names, struct rp_err *err)
{
    rp_autojson seen = json_object();
    const char *name;
    json_t *value;

    for (size_t i = 0; i < json_array_size(results); i++) {
        const json_t *of = json_object_get(json_array_get(results, i), "configuration");

        if (!json_is_object(of))
            return rp_fail(err, RP_BAD_INPUT, "result %zu has no \"configuration\"", i + 1);
        json_object_foreach((json_t *)of, name, value)
        {
            if (json_object_get(seen, name))
                continue;
            if (rp_recorded_set(seen, name, json_true(), err) < 0 ||
                json_array_append_new(names, json_string(name)) < 0)
                return rp_fail(err, RP_ENVIRONMENT, "out of memory for the recorded space");
        }
    }
    return json_array_size(names)
               ? 0
               : rp_fail(err, RP_BAD_INPUT, "no \"configuration\" has a parameter");
}

static int copy_metadata(json_t *native, const json_t *metadata, struct rp_err *err)
{
    static const char *const keys[] = {"name", "device"};

    for (size_t i = 0; i < 2; i++) {
        json_t *value = json_object_get(metadata, keys[i]);

        if (value && rp_recorded_set(native, keys[i], json_incref(value), err) < 0)
            return -(int)err->code;
    }
    return 0;
}

int rp_recorded_of_t4(const json_t *root, json_t **ret, struct rp_err *err)
{
    const json_t *results = json_object_get(root, "results");
    const json_t *metadata = json_object_get(root, "metadata");
    const char *unit_name = json_string_value(json_object_get(metadata, "timeunit"));
    const double unit = unit_name ? unit_of(unit_name) : 1;
    json_t *names = json_array(), *configs = json_array();
    rp_autojson native = json_object();

    if (rp_recorded_set(native, "parameters", names, err) < 0 ||
        rp_recorded_set(native, "configs", configs, err) < 0)
        return -(int)err->code;
    if (unit == 0)
        return rp_fail(err, RP_BAD_INPUT, "T4: timeunit %.60s is not known", unit_name);
    if (!json_is_array(results))
        return rp_fail(err, RP_BAD_INPUT, "T4: \"results\" is not a list");
    if (json_array_size(results) == 0)
        return rp_fail(err, RP_BAD_INPUT, "T4: \"results\" is empty: no configuration is in it");
    if (copy_metadata(native, metadata, err) < 0 || list_names(results, names, err) < 0)
        return rp_wrap(err, "T4");
    for (size_t i = 0; i < json_array_size(results); i++)
        if (convert(json_array_get(results, i), names, unit, configs, err) < 0)
            return rp_wrap(err, "T4: result %zu", i + 1);
    *ret = native;
    native = NULL;
    return 0;
}

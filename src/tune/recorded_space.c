#include "tune/recorded_space.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/stats.h"
#include "tune/space.h"

/* --- text that is no JSON yet ----------------------------------------------------------------- */

/** Returns the place behind the string that begins at at. */
static size_t after_string(const char *text, size_t bytes, size_t at)
{
    for (at++; at < bytes && text[at] != '"'; at++)
        at += text[at] == '\\';
    return at < bytes ? at + 1 : bytes;
}

/** Replaces NaN, Infinity and -Infinity, which Python writes, by null.
 * @return whether there are any */
static bool json_without_nan(const char *text, size_t bytes, struct rp_buf *ret)
{
    static const char *const words[] = {"NaN", "Infinity", "-Infinity"};
    size_t copied = 0;
    bool any = false;

    for (size_t at = 0; at < bytes;) {
        size_t length = 0;

        if (text[at] == '"') {
            at = after_string(text, bytes, at);
            continue;
        }
        for (size_t i = 0; !length && i < 3; i++)
            if (bytes - at >= strlen(words[i]) &&
                memcmp(text + at, words[i], strlen(words[i])) == 0)
                length = strlen(words[i]);
        if (length) {
            rp_buf_add(ret, text + copied, at - copied);
            rp_buf_puts(ret, "null");
            copied = at + length;
            any = true;
        }
        at += length ? length : 1;
    }
    rp_buf_add(ret, text + copied, bytes - copied);
    return any;
}

/** Finds where the last complete entry ends. It returns 0 when none is complete. */
static size_t end_of_entries(const char *text, size_t bytes, size_t from)
{
    size_t end = 0;
    int depth = 0;

    for (size_t at = from; at < bytes;) {
        if (text[at] == '"') {
            at = after_string(text, bytes, at);
            continue;
        }
        if (text[at] == '{' || text[at] == '[')
            depth++;
        if (depth == 1 && text[at] == '{' && !end)
            end = at + 1;
        if (text[at] == '}' || text[at] == ']') {
            if (--depth == 0)
                return 0; /* The object was closed, so something else is wrong with it. */
            if (depth == 1)
                end = at + 1;
        }
        at++;
    }
    return end;
}

static size_t find(const char *text, size_t bytes, const char *what)
{
    const char *found = memmem(text, bytes, what, strlen(what));

    return found ? (size_t)(found - text) + strlen(what) : 0;
}

/**
 * Completes a file that Kernel Tuner did not finish: a last entry that a kill left incomplete is
 * removed, and the missing brackets are added.
 * @return whether it looks like such a file at all
 */
static bool kernel_tuner_close(const char *text, size_t bytes, struct rp_buf *ret)
{
    const size_t keys = find(text, bytes, "\"tune_params_keys\"");
    const size_t entries = keys ? find(text + keys, bytes - keys, "\"cache\"") : 0;
    const size_t end = entries ? end_of_entries(text, bytes, keys + entries) : 0;

    if (!end)
        return false;
    rp_buf_add(ret, text, end);
    rp_buf_puts(ret, "}}");
    return true;
}

/* --- parts of an entry ------------------------------------------------------------------------ */

/** Sets a member and takes over value.
 * @return 0, or RP_BAD_INPUT */
static int recorded_set(json_t *object, const char *key, json_t *value, struct rp_err *err)
{
    if (!value || json_object_set_new(object, key, value) < 0)
        return rp_fail(err, RP_BAD_INPUT, "\"%s\": a value that JSON cannot hold", key);
    return 0;
}

/** Copies parameters to an entry that will get times.
 * @return 0, RP_BAD_INPUT, RP_ENVIRONMENT */
static int recorded_add_parameters(json_t *config, const json_t *names, const json_t *from,
                                   struct rp_err *err)
{
    static const char *const ours[] = {"runtime_ms",     "runtime_median_ms", "runtime_std_ms",
                                       "runtime_min_ms", "runtime_first_ms",  "compile_ms",
                                       "bench_ms",       "repeats",           "values"};

    for (size_t i = 0; i < json_array_size(names); i++) {
        const char *name = json_string_value(json_array_get(names, i));
        json_t *value = name ? json_object_get(from, name) : NULL;

        for (size_t k = 0; name && k < sizeof ours / sizeof *ours; k++)
            if (strcmp(name, ours[k]) == 0)
                return rp_fail(err, RP_BAD_INPUT, "a parameter must not be named %s", name);
        if (value && recorded_set(config, name, json_incref(value), err) < 0)
            return -(int)err->code;
    }
    return 0;
}

/** Keeps a further number of an entry. */
static void add_value(json_t *config, const char *name, const json_t *number)
{
    json_t *values = json_object_get(config, "values");

    if (!json_is_number(number) || !isfinite(json_number_value(number)) || !*name)
        return;
    if (!values)
        json_object_set_new(config, "values", values = json_object());
    json_object_set_new(values, name, json_real(json_number_value(number)));
}

static int set_time(json_t *config, const char *key, double ms, struct rp_err *err)
{
    return isfinite(ms) && ms >= 0 ? recorded_set(config, key, json_real(ms), err) : 0;
}

/** Adds median, deviation, least and first of an array of times, if it is one. */
static int recorded_add_repeats(json_t *config, const json_t *times, double unit_ms,
                                struct rp_err *err)
{
    const size_t count = json_array_size(times);
    rp_autofree double *list = rp_alloc_zero(count + 1, sizeof *list);
    double mean = 0, squares = 0, first;

    for (size_t i = 0; i < count; i++) {
        if (!json_is_number(json_array_get(times, i)))
            return 0; /* A value that is no list of times says nothing about them. */
        list[i] = json_number_value(json_array_get(times, i)) * unit_ms;
        mean += list[i] / (double)count;
    }
    if (count == 0)
        return 0;
    first = list[0];
    for (size_t i = 0; i < count; i++)
        squares += (list[i] - mean) * (list[i] - mean);
    /* rp_median sorts them. */
    if (set_time(config, "runtime_median_ms", rp_median(list, count), err) < 0 ||
        set_time(config, "runtime_min_ms", list[0], err) < 0 ||
        set_time(config, "runtime_first_ms", first, err) < 0 ||
        (count > 1 &&
         set_time(config, "runtime_std_ms", sqrt(squares / (double)(count - 1)), err) < 0))
        return -(int)err->code;
    return recorded_set(config, "repeats", json_integer((json_int_t)count), err);
}

/* Cache files of Kernel Tuner are {"device_name", "kernel_name", "tune_params_keys": [NAME, ...],
 * "tune_params", "objective", "cache": {"16,1": {NAME: value, ..., "time": mean in ms or the name
 * of an error, "times": [...], "compile_time", "benchmark_time", ...}, ...}}. While it runs, and
 * after a kill, the last two brackets are missing. Newer ones also name errors under "__error__";
 * in old ones a failure has the time 1e20. */

static const double failed_ms = 1e20;

/** @return 1 its time is written; 0 it failed; < 0 it has none and does not say why */
static int recorded_kernel_tuner_time_of(const json_t *entry, double *ret, struct rp_err *err)
{
    const json_t *time = json_object_get(entry, "time");

    if (json_object_get(entry, "__error__") || json_is_string(time) || json_is_null(time))
        return 0;
    if (!json_is_number(time))
        return rp_fail(err, RP_BAD_INPUT, "it has no \"time\": only times are searched for");
    *ret = json_number_value(time);
    return *ret < failed_ms;
}

/** For an entry that has failed, the time it took to find that out counts, too. */
static int set_duration(json_t *config, const char *key, const json_t *entry, const char *from,
                        struct rp_err *err)
{
    const double ms = json_number_value(json_object_get(entry, from));

    return ms > 0 && isfinite(ms) ? recorded_set(config, key, json_real(ms), err) : 0;
}

static int convert(const json_t *entry, const json_t *names, json_t *configs, struct rp_err *err)
{
    json_t *config = json_object(), *value;
    const char *name;
    double ms = 0;
    int ok, rc;

    json_array_append_new(configs, config);
    if ((ok = recorded_kernel_tuner_time_of(entry, &ms, err)) < 0 ||
        (rc = recorded_add_parameters(config, names, entry, err)) < 0)
        return ok < 0 ? ok : rc;
    rc = recorded_set(config, "runtime_ms", ok ? json_real(ms) : json_null(), err);
    json_object_foreach((json_t *)entry, name,
                        value) if (strcmp(name, "time") != 0 && !json_object_get(config, name))
        add_value(config, name, value);
    if (rc == 0 && ok)
        rc = recorded_add_repeats(config, json_object_get(entry, "times"), 1, err);
    if (rc == 0)
        rc = set_duration(config, "compile_ms", entry, "compile_time", err);
    return rc < 0 ? rc : set_duration(config, "bench_ms", entry, "benchmark_time", err);
}

static int set_text(json_t *native, const char *key, const json_t *root, const char *from,
                    struct rp_err *err)
{
    json_t *text = json_object_get(root, from);

    return text ? recorded_set(native, key, json_incref(text), err) : 0;
}

/** Makes {"parameters", "configs", …}, which the caller owns.
 * @return 0; RP_BAD_INPUT; RP_ENVIRONMENT */
static int recorded_of_kernel_tuner(const json_t *root, json_t **ret, struct rp_err *err)
{
    const json_t *cache = json_object_get(root, "cache");
    json_t *names = json_object_get(root, "tune_params_keys"), *entry;
    json_t *configs = json_array();
    rp_autojson native = json_object();
    const char *key;

    if (!json_is_array(names) || !json_is_object(cache)) {
        json_decref(configs);
        return rp_fail(
            err, RP_BAD_INPUT,
            "Kernel Tuner's cache: no list \"tune_params_keys\", or \"cache\" is no object");
    }
    if (recorded_set(native, "configs", configs, err) < 0 ||
        recorded_set(native, "parameters", json_incref(names), err) < 0 ||
        set_text(native, "name", root, "kernel_name", err) < 0 ||
        set_text(native, "device", root, "device_name", err) < 0)
        return -(int)err->code;
    json_object_foreach((json_t *)cache, key,
                        entry) if (convert(entry, names, configs, err) <
                                   0) return rp_wrap(err, "configuration \"%.60s\"", key);
    *ret = native;
    native = NULL;
    return 0;
}

/* T4 is the format in which the tuning community exchanges results: {"schema_version", "metadata":
 * {"timeunit"}, "results": [{"configuration": {NAME: value}, "times": {"compilation" or
 * "compilation_time", "benchmark", "runtimes": [...], ...}, "invalidity": "correct" or why not,
 * "correctness", "measurements": [{"name", "value", "unit"}], "objectives": [NAME]}]}. */

/** @return the unit in ms; 0: it is no time */
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

/** Reads the objective's time, or else the mean of the runs.
 * @param unit for times without their own */
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

static int recorded_t4_set_duration(json_t *config, const char *key, const json_t *times,
                                    const char *from, double unit, struct rp_err *err)
{
    const double ms = json_number_value(json_object_get(times, from)) * unit;

    return ms > 0 && isfinite(ms) ? recorded_set(config, key, json_real(ms), err) : 0;
}

static int recorded_t4_convert(const json_t *result, const json_t *names, double unit,
                               json_t *configs, struct rp_err *err)
{
    const char *invalidity = json_string_value(json_object_get(result, "invalidity"));
    const json_t *times = json_object_get(result, "times");
    const json_t *measured = json_object_get(result, "measurements");
    json_t *config = json_object();
    double ms = 0;
    bool ok;

    json_array_append_new(configs, config);
    if (!invalidity)
        return rp_fail(err, RP_BAD_INPUT, "it has no \"invalidity\"");
    ok = strcmp(invalidity, "correct") == 0;
    if (recorded_add_parameters(config, names, json_object_get(result, "configuration"), err) < 0 ||
        (ok && runtime_of(result, unit, &ms, err) < 0) ||
        recorded_set(config, "runtime_ms", ok ? json_real(ms) : json_null(), err) < 0 ||
        (ok && recorded_add_repeats(config, json_object_get(times, "runtimes"), unit, err) < 0) ||
        recorded_t4_set_duration(config, "compile_ms", times, "compilation_time", unit, err) < 0 ||
        recorded_t4_set_duration(config, "compile_ms", times, "compilation", unit, err) < 0 ||
        recorded_t4_set_duration(config, "bench_ms", times, "benchmark", unit, err) < 0)
        return -(int)err->code;
    for (size_t i = 0; i < json_array_size(measured); i++) {
        const json_t *item = json_array_get(measured, i);
        const char *name = json_string_value(json_object_get(item, "name"));

        if (name && strcmp(name, "time") != 0)
            add_value(config, name, json_object_get(item, "value"));
    }
    return 0;
}

/** Lists the names of all configurations, in the order in which they come. */
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
            json_object_set_new(seen, name, json_true());
            json_array_append_new(names, json_string(name));
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

        if (value && recorded_set(native, keys[i], json_incref(value), err) < 0)
            return -(int)err->code;
    }
    return 0;
}

static int recorded_of_fair_t4(const json_t *root, json_t **ret, struct rp_err *err)
{
    const json_t *results = json_object_get(root, "results");
    const json_t *metadata = json_object_get(root, "metadata");
    const char *unit_name = json_string_value(json_object_get(metadata, "timeunit"));
    const double unit = unit_name ? unit_of(unit_name) : 1;
    json_t *names = json_array(), *configs = json_array();
    rp_autojson native = json_object();

    if (recorded_set(native, "parameters", names, err) < 0 ||
        recorded_set(native, "configs", configs, err) < 0)
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
        if (recorded_t4_convert(json_array_get(results, i), names, unit, configs, err) < 0)
            return rp_wrap(err, "T4: result %zu", i + 1);
    *ret = native;
    native = NULL;
    return 0;
}

/* --- configurations --------------------------------------------------------------------------- */

/** @return false: it is there, but not a finite number */
static bool time_of(const json_t *config, const char *key, double *ret)
{
    const json_t *json = json_object_get(config, key);

    *ret = -1;
    if (!json || json_is_null(json))
        return true;
    *ret = json_number_value(json);
    return json_is_number(json) && isfinite(*ret) && *ret >= 0;
}

static int read_run(const json_t *config, struct rp_recorded_run *run, struct rp_err *err)
{
    const struct {
        const char *key;
        double *to;
    } times[] = {{"runtime_ms", &run->runtime_ms},     {"runtime_median_ms", &run->median_ms},
                 {"runtime_std_ms", &run->std_ms},     {"runtime_min_ms", &run->min_ms},
                 {"runtime_first_ms", &run->first_ms}, {"compile_ms", &run->compile_ms},
                 {"bench_ms", &run->bench_ms}};
    const json_int_t repeats = json_integer_value(json_object_get(config, "repeats"));

    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        if (!time_of(config, times[i].key, times[i].to))
            return rp_fail(err, RP_BAD_INPUT, "%s is not a number from 0 on", times[i].key);
    if (run->runtime_ms == 0)
        return rp_fail(err, RP_BAD_INPUT, "runtime_ms is 0; null says that it failed");
    run->ok = run->runtime_ms > 0;
    run->repeats = repeats > 0 && repeats <= UINT32_MAX ? (unsigned)repeats : 0;
    return 0;
}

static int read_configs(const json_t *configs, struct rp_recorded *to, struct rp_err *err)
{
    const size_t count = json_array_size(configs);

    to->runs = rp_alloc_zero(count, sizeof *to->runs);
    for (size_t i = 0; i < count; i++) {
        const json_t *config = json_array_get(configs, i);
        int rc = rp_json_add_config(to->space, config, err);

        if (rc > 0)
            rc = rp_fail(err, RP_BAD_INPUT, "the same configuration as one before it");
        if (rc < 0 || read_run(config, &to->runs[i], err) < 0)
            return rp_wrap(err, "configuration %zu", i + 1);
    }
    return 0;
}

/** Lists the names of further numbers, and which configuration has what. */
static void read_values(const json_t *configs, struct rp_recorded *to)
{
    rp_autojson places = json_object();
    const char *name;
    json_t *value;

    for (size_t i = 0; i < json_array_size(configs); i++)
        json_object_foreach(json_object_get(json_array_get(configs, i), "values"), name, value)
        {
            if (!json_is_number(value) || json_object_get(places, name))
                continue;
            json_object_set_new(places, name, json_integer((json_int_t)to->name_count));
            to->names = rp_realloc_array(to->names, to->name_count + 1, sizeof *to->names);
            to->names[to->name_count++] = rp_strdup(name);
        }
    to->values = rp_alloc_zero(json_array_size(configs) * to->name_count + 1, sizeof *to->values);
    for (size_t i = 0; i < json_array_size(configs); i++)
        for (size_t j = 0; j < to->name_count; j++) {
            const json_t *number = json_object_get(
                json_object_get(json_array_get(configs, i), "values"), to->names[j]);

            to->values[i * to->name_count + j] =
                json_is_number(number) ? json_number_value(number) : NAN;
        }
}

/* --- the format of ours ----------------------------------------------------------------------- */

static int check_native(const json_t *names, const json_t *configs, struct rp_err *err)
{
    if (!json_is_array(names) || json_array_size(names) == 0)
        return rp_fail(err, RP_BAD_INPUT, "no list \"parameters\" of names");
    for (size_t i = 0; i < json_array_size(names); i++)
        if (!json_is_string(json_array_get(names, i)))
            return rp_fail(err, RP_BAD_INPUT, "\"parameters\": name %zu is not a text", i + 1);
    if (!json_is_array(configs) || json_array_size(configs) == 0)
        return rp_fail(err, RP_BAD_INPUT, "no list \"configs\" of configurations");
    for (size_t i = 0; i < json_array_size(configs); i++)
        if (!json_is_object(json_array_get(configs, i)))
            return rp_fail(err, RP_BAD_INPUT, "configuration %zu is not an object", i + 1);
    return 0;
}

static char *text_of(const json_t *root, const char *key)
{
    const char *text = json_string_value(json_object_get(root, key));

    return rp_strdup(text ? text : "");
}

static int read_native(const json_t *root, struct rp_recorded *to, struct rp_err *err)
{
    const json_t *names = json_object_get(root, "parameters");
    const json_t *configs = json_object_get(root, "configs");
    int rc = check_native(names, configs, err);

    to->space = rp_space_new();
    to->name = text_of(root, "name");
    to->device = text_of(root, "device");
    for (size_t i = 0; rc == 0 && i < json_array_size(names); i++)
        rc = rp_json_add_parameter(to->space, json_string_value(json_array_get(names, i)), configs,
                                   err);
    if (rc == 0 && (rc = read_configs(configs, to, err)) == 0)
        read_values(configs, to);
    return rc;
}

/* --- other formats ---------------------------------------------------------------------------- */

/** Converts to our own format; the caller owns the result. */
static int to_native(json_t *root, json_t **ret, struct rp_err *err)
{
    if (json_object_get(root, "cache"))
        return recorded_of_kernel_tuner(root, ret, err);
    if (json_object_get(root, "results"))
        return recorded_of_fair_t4(root, ret, err);
    if (!json_object_get(root, "configs"))
        return rp_fail(err, RP_BAD_INPUT,
                       "neither \"configs\" (a recorded space), \"cache\" (Kernel Tuner) nor "
                       "\"results\" (T4) is in it");
    *ret = json_incref(root);
    return 0;
}

/** Python writes NaN, and Kernel Tuner leaves its caches open, so such text is fixed first. */
static int parse_mended(const char *text, size_t bytes, json_t **ret, struct rp_err *err)
{
    rp_autobuf closed = {0}, mended = {0};

    if (rp_json_space_parse(text, bytes, ret, err) == 0)
        return 0;
    if (kernel_tuner_close(text, bytes, &closed)) {
        text = rp_buf_text(&closed);
        bytes = closed.len;
    }
    if (json_without_nan(text, bytes, &mended)) {
        text = rp_buf_text(&mended);
        bytes = mended.len;
    }
    return rp_json_space_parse(text, bytes, ret, err);
}

/** Does the same as its reader, from text in memory. */
static int recorded_parse(const char *text, size_t bytes, struct rp_recorded *ret,
                          struct rp_err *err)
{
    rp_autojson root = NULL;
    rp_autojson native = NULL;
    rp_cleanup(rp_recorded_free) struct rp_recorded recorded = {0};
    int rc = parse_mended(text, bytes, &root, err);

    if (rc < 0 || (rc = to_native(root, &native, err)) < 0 ||
        (rc = read_native(native, &recorded, err)) < 0)
        return rc;
    rp_sha256(text, bytes, recorded.sha256);
    *ret = recorded;
    recorded = (struct rp_recorded){0};
    return 0;
}

int rp_recorded_read(const char *path, struct rp_recorded *ret, struct rp_err *err)
{
    rp_autobuf text = {0};

    if (rp_json_read_file(path, &text, err) < 0 ||
        recorded_parse(rp_buf_text(&text), text.len, ret, err) < 0)
        return rp_wrap(err, "recorded space %s", path);
    return 0;
}

void rp_recorded_free(struct rp_recorded *recorded)
{
    if (!recorded)
        return;
    rp_space_free(recorded->space);
    for (size_t i = 0; i < recorded->name_count; i++)
        free(recorded->names[i]);
    free(recorded->names);
    free(recorded->values);
    free(recorded->runs);
    free(recorded->name);
    free(recorded->device);
    *recorded = (struct rp_recorded){0};
}

struct out {
    uint64_t number; /**< 0: this worker has nothing to do */
    size_t config;
    double ends_ms;
};

struct simulated {
    const struct rp_recorded *recorded;
    const struct rp_objectives *objectives; /**< NULL: none */
    size_t places[RP_MAX_NUMBERS];          /**< of each: among recorded->names; SIZE_MAX: time */
    struct out *out;                        /**< one per worker */
    unsigned workers;
};

/** Returns the simulated runtime: the median of the repeats, or their mean where only that is
 * known. */
static double simulated_ms(const struct rp_recorded *recorded, size_t config)
{
    const struct rp_recorded_run *run = &recorded->runs[config];

    return run->median_ms > 0 ? run->median_ms : run->runtime_ms;
}

static double at_least_0(double ms)
{
    return ms > 0 ? ms : 0;
}

static double run_ms(const struct rp_recorded *recorded, size_t config)
{
    const struct rp_recorded_run *run = &recorded->runs[config];

    return run->bench_ms > 0 || !run->ok ? at_least_0(run->bench_ms)
                                         : simulated_ms(recorded, config);
}

static int submit(void *state, const struct rp_run_job *job, struct rp_err *err)
{
    struct simulated *s = state;

    for (unsigned i = 0; i < s->workers; i++)
        if (!s->out[i].number) {
            s->out[i] =
                (struct out){.number = job->number,
                             .config = job->config,
                             .ends_ms = job->begun_ms + run_ms(s->recorded, job->config) +
                                        at_least_0(s->recorded->runs[job->config].compile_ms)};
            return 0;
        }
    return rp_fail(err, RP_ENVIRONMENT, "more jobs than workers");
}

static struct out *first_out(const struct simulated *s)
{
    struct out *first = NULL;

    for (unsigned i = 0; i < s->workers; i++)
        if (s->out[i].number &&
            (!first || s->out[i].ends_ms < first->ends_ms ||
             (s->out[i].ends_ms == first->ends_ms && s->out[i].number < first->number)))
            first = &s->out[i];
    return first;
}

static bool due_ms(void *state, double *ret_ms, uint64_t *ret_number)
{
    const struct out *first = first_out(state);

    if (first) {
        *ret_ms = first->ends_ms;
        *ret_number = first->number;
    }
    return first != NULL;
}

/** Adds what was recorded under the names of the objectives. */
static void add_numbers(const struct simulated *s, size_t config, struct rp_run_answer *to)
{
    const struct rp_recorded *recorded = s->recorded;

    to->numbers = rp_alloc_zero(s->objectives->count, sizeof *to->numbers);
    for (size_t i = 0; i < s->objectives->count; i++) {
        to->numbers[i] = s->places[i] == SIZE_MAX
                             ? simulated_ms(recorded, config)
                             : recorded->values[config * recorded->name_count + s->places[i]];
        if (!isnan(to->numbers[i]) || to->outcome != RP_EVALUATION_OK)
            continue;
        to->outcome = RP_EVALUATION_NO_TIME;
        to->count = 0;
        to->reason = rp_format("%s is not recorded of it", s->objectives->numbers[i].name);
    }
}

/** Finds what was recorded under a name. */
static int find_place(const struct rp_recorded *recorded, const struct rp_tuned_number *number,
                      size_t *ret, struct rp_err *err)
{
    enum { MOST_NAMED = 12 };
    rp_autobuf names = {0};

    *ret = SIZE_MAX;
    for (size_t i = 0; i < recorded->name_count; i++)
        if (strcmp(recorded->names[i], number->name) == 0)
            *ret = i;
    if (*ret != SIZE_MAX || strcmp(number->name, rp_number_rows[RP_NUMBER_TIME].word) == 0)
        return 0;
    for (size_t i = 0; i < recorded->name_count && i < MOST_NAMED; i++)
        rp_buf_printf(&names, ", %.60s", recorded->names[i]);
    return rp_fail(err, RP_USAGE, "%.60s is not in the recorded space, which has time%s",
                   number->name, rp_buf_text(&names));
}

static int next(void *state, struct rp_run_answer *ret, struct rp_err *err)
{
    struct simulated *s = state;
    const struct rp_recorded_run *run;
    struct out *first = first_out(s);
    struct rp_run_answer answer = {0};

    if (!first)
        return rp_fail(err, RP_ENVIRONMENT, "no job is out");
    run = &s->recorded->runs[first->config];
    answer = (struct rp_run_answer){.number = first->number,
                                    .outcome = run->ok ? RP_EVALUATION_OK : RP_EVALUATION_FAILED,
                                    .samples_ms = run->ok ? rp_alloc(sizeof(double)) : NULL,
                                    .reason = run->ok ? NULL : rp_strdup("recorded as a failure"),
                                    .build_ms = run->compile_ms,
                                    .run_ms = run_ms(s->recorded, first->config),
                                    .at_ms = first->ends_ms};
    if (run->ok)
        answer.samples_ms[answer.count++] = simulated_ms(s->recorded, first->config);
    if (run->ok && s->objectives && s->objectives->count)
        add_numbers(s, first->config, &answer);
    first->number = 0;
    *ret = answer;
    return 0;
}

static void close_simulated(void *state)
{
    struct simulated *s = state;

    free(s->out);
    free(s);
}

int rp_simulated_open(const struct rp_recorded *recorded, const struct rp_objectives *objectives,
                      unsigned workers, struct rp_runner *ret, struct rp_err *err)
{
    struct simulated found = {.recorded = recorded, .objectives = objectives, .workers = workers};
    struct simulated *s;

    for (size_t i = 0; objectives && i < objectives->count; i++)
        if (find_place(recorded, &objectives->numbers[i], &found.places[i], err) < 0)
            return -(int)err->code;
    found.out = rp_alloc_zero(workers, sizeof *found.out);
    s = rp_new(struct simulated);
    *s = found;
    *ret = (struct rp_runner){
        .workers = workers,
        .exact = true,
        .device = {.kind = "recorded", .name = recorded->device, .rocm = "", .timing = ""},
        .submit = submit,
        .next = next,
        .due_ms = due_ms,
        .close = close_simulated,
        .state = s,
    };
    return 0;
}

enum { RP_IMPORT_MAX = 10 };

struct known {
    double ms;
    uint32_t config;
};

static int by_config(const void *left, const void *right)
{
    const struct known *a = left, *b = right;

    if (a->config != b->config)
        return a->config < b->config ? -1 : 1;
    return (a->ms > b->ms) - (a->ms < b->ms);
}

static int by_time(const void *left, const void *right)
{
    const struct known *a = left, *b = right;

    if (a->ms != b->ms)
        return a->ms < b->ms ? -1 : 1;
    return (a->config > b->config) - (a->config < b->config);
}

/** Finds by names and values which of our configurations is its configuration.
 * @return -1: none */
static int64_t import_find(const struct rp_space *space, const struct rp_space *its,
                           const int *places, size_t config)
{
    uint16_t row[RP_MAX_PARAMETERS];

    for (size_t i = 0; i < space->parameter_count; i++) {
        const struct rp_value *value =
            places[i] < 0 ? NULL : rp_space_value(its, config, (size_t)places[i]);
        const int number = value ? rp_parameter_value(&space->parameters[i], value) : 0;

        if (number < 0)
            return -1;
        row[i] = value ? (uint16_t)number : RP_NO_VALUE;
    }
    return rp_space_find(space, row);
}

static size_t collect(const struct rp_recorded *from, const struct rp_space *space,
                      struct known *known)
{
    int places[RP_MAX_PARAMETERS];
    size_t count = 0;

    for (size_t i = 0; i < space->parameter_count; i++)
        places[i] = rp_space_parameter(from->space, space->parameters[i].name);
    for (size_t i = 0; i < from->space->count; i++) {
        const int64_t config = from->runs[i].ok ? import_find(space, from->space, places, i) : -1;

        if (config >= 0)
            known[count++] =
                (struct known){.ms = simulated_ms(from, i), .config = (uint32_t)config};
    }
    return count;
}

/**
 * Rows that differ only in a parameter which this space does not have are one configuration, and
 * its time is the lowest of theirs. This space may have fixed that parameter at its best value; if
 * not, one run shows it.
 */
static size_t keep_fastest_of_each(struct known *known, size_t count)
{
    size_t kept = 0;

    qsort(known, count, sizeof *known, by_config);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || known[kept - 1].config != known[i].config)
            known[kept++] = known[i];
    return kept;
}

int rp_import(const char *path, const struct rp_space *space, struct rp_imported *ret,
              struct rp_err *err)
{
    rp_cleanup(rp_recorded_free) struct rp_recorded recorded = {0};
    rp_autofree struct known *known = NULL;
    uint32_t *fastest;
    size_t count, kept;
    int rc = rp_recorded_read(path, &recorded, err);

    if (rc < 0)
        return rc;
    known = rp_alloc_zero(recorded.space->count + 1, sizeof *known);
    fastest = rp_alloc_zero(RP_IMPORT_MAX, sizeof *fastest);
    count = collect(&recorded, space, known);
    if (count == 0) {
        free(fastest);
        return rp_fail(err, RP_BAD_INPUT,
                       "%s: no configuration that ran there is in this space: names and values "
                       "must be the same",
                       path);
    }
    count = keep_fastest_of_each(known, count);
    qsort(known, count, sizeof *known, by_time);
    for (kept = 0; kept < count && kept < RP_IMPORT_MAX; kept++)
        fastest[kept] = known[kept].config;
    *ret = (struct rp_imported){.fastest = fastest, .fastest_count = kept, .known = count};
    return 0;
}

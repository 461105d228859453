/* Cache files of Kernel Tuner: {"device_name", "kernel_name", "tune_params_keys": [NAME, ...],
 * "tune_params", "objective", "cache": {"16,1": {NAME: value, ..., "time": mean in ms or the name
 * of an error, "times": [...], "compile_time", "benchmark_time", ...}, ...}}. While it runs, and
 * after a kill, the last two brackets are missing. Newer ones also name errors under "__error__";
 * in old ones a failure has the time 1e20. */
#include <math.h>
#include <string.h>

#include "base/err.h"
#include "tune/json_space.h"
#include "tune/recorded_formats.h"

static const double failed_ms = 1e20;

/** @return 1 its time is written; 0 it failed; < 0 it has none and does not say why */
static int time_of(const json_t *entry, double *ret, struct rp_err *err)
{
    const json_t *time = json_object_get(entry, "time");

    if (json_object_get(entry, "__error__") || json_is_string(time) || json_is_null(time))
        return 0;
    if (!json_is_number(time))
        return rp_fail(err, RP_BAD_INPUT, "it has no \"time\": only times are searched for");
    *ret = json_number_value(time);
    return *ret < failed_ms;
}

/** Of an entry that has failed, the time it took to find that out counts, too. */
static int set_duration(json_t *config, const char *key, const json_t *entry, const char *from,
                        struct rp_err *err)
{
    const double ms = json_number_value(json_object_get(entry, from));

    return ms > 0 && isfinite(ms) ? rp_recorded_set(config, key, json_real(ms), err) : 0;
}

static int convert(const json_t *entry, const json_t *names, json_t *configs, struct rp_err *err)
{
    json_t *config = json_object();
    double ms = 0;
    int ok, rc;

    if (!config || json_array_append_new(configs, config) < 0)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory for the recorded space");
    if ((ok = time_of(entry, &ms, err)) < 0 ||
        (rc = rp_recorded_add_parameters(config, names, entry, err)) < 0)
        return ok < 0 ? ok : rc;
    rc = rp_recorded_set(config, "runtime_ms", ok ? json_real(ms) : json_null(), err);
    if (rc == 0 && ok)
        rc = rp_recorded_add_repeats(config, json_object_get(entry, "times"), 1, err);
    if (rc == 0)
        rc = set_duration(config, "compile_ms", entry, "compile_time", err);
    return rc < 0 ? rc : set_duration(config, "bench_ms", entry, "benchmark_time", err);
}

static int set_text(json_t *native, const char *key, const json_t *root, const char *from,
                    struct rp_err *err)
{
    json_t *text = json_object_get(root, from);

    return text ? rp_recorded_set(native, key, json_incref(text), err) : 0;
}

int rp_recorded_of_kernel_tuner(const json_t *root, json_t **ret, struct rp_err *err)
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
    if (!native || rp_recorded_set(native, "configs", configs, err) < 0 ||
        rp_recorded_set(native, "parameters", json_incref(names), err) < 0 ||
        set_text(native, "name", root, "kernel_name", err) < 0 ||
        set_text(native, "device", root, "device_name", err) < 0)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory for the recorded space");
    json_object_foreach((json_t *)cache, key,
                        entry) if (convert(entry, names, configs, err) <
                                   0) return rp_wrap(err, "configuration \"%.60s\"", key);
    *ret = native;
    native = NULL;
    return 0;
}

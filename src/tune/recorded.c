#include "tune/recorded.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "tune/json_space.h"
#include "tune/recorded_formats.h"
#include "tune/space.h"

static int out_of_memory(struct rp_err *err)
{
    return rp_fail(err, RP_ENVIRONMENT, "out of memory for the recorded space");
}

/* --- configurations ------------------------------------------------------------------------- */

/** @return false: there, but not a finite number */
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

    to->runs = calloc(count, sizeof *to->runs);
    if (!to->runs)
        return out_of_memory(err);
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

/* --- the format of ours ---------------------------------------------------------------------- */

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

    return strdup(text ? text : "");
}

static int read_native(const json_t *root, struct rp_recorded *to, struct rp_err *err)
{
    const json_t *names = json_object_get(root, "parameters");
    const json_t *configs = json_object_get(root, "configs");
    int rc = check_native(names, configs, err);

    to->space = rp_space_new();
    to->name = text_of(root, "name");
    to->device = text_of(root, "device");
    if (rc == 0 && (!to->space || !to->name || !to->device))
        rc = out_of_memory(err);
    for (size_t i = 0; rc == 0 && i < json_array_size(names); i++)
        rc = rp_json_add_parameter(to->space, json_string_value(json_array_get(names, i)), configs,
                                   err);
    return rc == 0 ? read_configs(configs, to, err) : rc;
}

/* --- other formats --------------------------------------------------------------------------- */

/** In the format of ours; owned. */
static int to_native(json_t *root, json_t **ret, struct rp_err *err)
{
    if (json_object_get(root, "cache"))
        return rp_recorded_of_kernel_tuner(root, ret, err);
    if (json_object_get(root, "results"))
        return rp_recorded_of_t4(root, ret, err);
    if (!json_object_get(root, "configs"))
        return rp_fail(err, RP_BAD_INPUT,
                       "neither \"configs\" (a recorded space), \"cache\" (Kernel Tuner) nor "
                       "\"results\" (T4) is in it");
    *ret = json_incref(root);
    return 0;
}

/** Python writes NaN, and Kernel Tuner leaves its caches open: then text is mended. */
static int parse_mended(const char *text, size_t bytes, json_t **ret, struct rp_err *err)
{
    rp_autobuf closed = {0}, mended = {0};

    if (rp_json_space_parse(text, bytes, ret, err) == 0)
        return 0;
    if (rp_kernel_tuner_close(text, bytes, &closed)) {
        text = rp_buf_text(&closed);
        bytes = closed.len;
    }
    if (rp_json_without_nan(text, bytes, &mended)) {
        text = rp_buf_text(&mended);
        bytes = mended.len;
    }
    if (closed.failed || mended.failed)
        return out_of_memory(err);
    return rp_json_space_parse(text, bytes, ret, err);
}

int rp_recorded_parse(const char *text, size_t bytes, struct rp_recorded *ret, struct rp_err *err)
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
        rp_recorded_parse(rp_buf_text(&text), text.len, ret, err) < 0)
        return rp_wrap(err, "recorded space %s", path);
    return 0;
}

void rp_recorded_free(struct rp_recorded *recorded)
{
    if (!recorded)
        return;
    rp_space_free(recorded->space);
    free(recorded->runs);
    free(recorded->name);
    free(recorded->device);
    *recorded = (struct rp_recorded){0};
}

/* JSON of other commands as one side of a comparison. It may be damaged, or made by anyone. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compare.h"
#include "analyze/profile.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/json_read.h"

enum { MOST_RUNS = 100000 };

static void drop(json_t **json)
{
    json_decref(*json);
}

static int bad(const char *path, struct rp_err *err, const char *what)
{
    return rp_fail(err, RP_BAD_INPUT, "%s: %s: not a result that compare can use", path, what);
}

static int load(const char *text, const char *path, json_t **ret, struct rp_err *err)
{
    json_error_t error;

    *ret = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    if (!*ret)
        return rp_fail(err, RP_BAD_INPUT, "%s: line %d: %s", path, error.line, error.text);
    if (!json_is_object(*ret))
        return bad(path, err, "no JSON object");
    return rp_schema_version_check(json_string_value(json_object_get(*ret, "schema_version")), path,
                                   err);
}

/* A number that is no number, or below 0, is not known. */
static struct rp_quantity quantity(const json_t *json)
{
    const double value = json_is_number(json) ? json_number_value(json) : -1;

    return (struct rp_quantity){.known = isfinite(value) && value >= 0, .value = value};
}

static struct rp_quantity number_at(const json_t *object, const char *key)
{
    return quantity(json_object_get(object, key));
}

static uint64_t count_at(const json_t *object, const char *key)
{
    const struct rp_quantity q = number_at(object, key);

    return q.known && q.value <= 9e15 ? (uint64_t)q.value : 0;
}

/* 16 hexadecimal digits; anything else is not known. */
static uint64_t hash_at(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text && strspn(text, "0123456789abcdef") == 16 && !text[16] ? strtoull(text, NULL, 16)
                                                                       : 0;
}

/* @return false: no memory; a text that is not there is NULL */
static bool text_at(const json_t *object, const char *key, char **ret)
{
    const char *text = json_string_value(json_object_get(object, key));

    free(*ret);
    *ret = text ? strdup(text) : NULL;
    return !text || *ret;
}

static int no_memory(struct rp_err *err)
{
    return rp_fail(err, RP_ENVIRONMENT, "out of memory");
}

/* --- profile.json -------------------------------------------------------------------------- */

static int read_runs(const json_t *array, struct rp_versus_runs *ret, struct rp_err *err)
{
    const size_t count = json_array_size(array);

    ret->ms = calloc(count + 1, sizeof *ret->ms);
    if (!ret->ms)
        return no_memory(err);
    ret->count = count;
    for (size_t i = 0; i < count; i++) {
        const struct rp_quantity q = quantity(json_array_get(array, i));

        ret->ms[i] = q.known ? q.value : NAN;
    }
    return 0;
}

static void read_sizes(const json_t *array, uint64_t *ret)
{
    for (size_t i = 0; i < 3; i++) {
        const struct rp_quantity q = quantity(json_array_get(array, i));

        ret[i] = q.known && q.value <= 9e15 ? (uint64_t)q.value : 0;
    }
}

static void read_metrics(const json_t *row, struct rp_quantity *ret)
{
    const json_t *resources = json_object_get(row, "resources");

    ret[RP_COMPARE_VGPRS] = number_at(resources, "vgpr_per_thread");
    ret[RP_COMPARE_AGPRS] = number_at(resources, "agpr_per_thread");
    ret[RP_COMPARE_SGPRS] = number_at(resources, "sgpr_per_wave");
    ret[RP_COMPARE_LDS_BYTES] = number_at(resources, "lds_bytes");
    ret[RP_COMPARE_SCRATCH_BYTES] = number_at(resources, "scratch_bytes");
    ret[RP_COMPARE_OCCUPANCY] = number_at(json_object_get(row, "occupancy"), "theoretical");
    ret[RP_COMPARE_DISPATCHES] = number_at(row, "calls");
}

/* Versions before this key knew the base run only. */
static int read_kernel(const json_t *row, struct rp_versus_side *side, const char *path,
                       struct rp_err *err)
{
    const char *name = json_string_value(json_object_get(row, "name"));
    const json_t *runs = json_object_get(row, "runs_ms");
    const struct rp_quantity total = number_at(row, "total_ms");
    double ms = total.known && count_at(row, "timed_calls") ? total.value : NAN;
    rp_autofree double *read = NULL;
    struct rp_versus_kernel k = {.name = (char *)name,
                                 .runtime_internal =
                                     json_is_true(json_object_get(row, "runtime_internal")),
                                 .heaviest_ms = total.known ? total.value : 0,
                                 .runs = {.ms = &ms, .count = 1}};
    int rc = 0;

    if (!name)
        return bad(path, err, "a row of kernels has no name");
    if (json_array_size(runs) > MOST_RUNS)
        return bad(path, err, "a kernel has more than 100000 runs");
    if (json_is_array(runs)) {
        rc = read_runs(runs, &k.runs, err);
        read = k.runs.ms;
    }
    read_sizes(json_object_get(row, "grid"), k.grid);
    read_sizes(json_object_get(row, "block"), k.block);
    read_metrics(row, k.metrics);
    k.code_hash = hash_at(row, "code_hash");
    return rc < 0 ? rc : rp_versus_side_add_kernel(side, &k, err);
}

static int read_kernels(const json_t *root, struct rp_versus_side *side, const char *path,
                        struct rp_err *err)
{
    const json_t *rows = json_object_get(root, "kernels"), *row;
    size_t i;

    if (!json_is_array(rows))
        return bad(path, err, "it has no kernels");
    json_array_foreach(rows, i, row)
    {
        int rc = read_kernel(row, side, path, err);

        if (rc < 0)
            return rc;
    }
    return 0;
}

/* A kernel that only further runs launched. Launches are those of the first of them; of a name that
 * the base run launched, too, there are none to add to the base run's. */
static int read_repeat(const json_t *row, struct rp_versus_side *side, const char *path,
                       struct rp_err *err)
{
    const char *name = json_string_value(json_object_get(row, "name"));
    const json_t *runs = json_object_get(row, "runs_ms");
    const json_t *calls = json_object_get(row, "runs_calls");
    const bool again = name && rp_versus_side_find(side, name);
    struct rp_versus_kernel k = {.name = (char *)name,
                                 .runtime_internal =
                                     json_is_true(json_object_get(row, "runtime_internal"))};
    struct rp_quantity launches = {.known = true};
    int rc;

    if (!name || !json_is_array(runs) || json_array_size(runs) > MOST_RUNS)
        return bad(path, err, "a row of repeat_kernels has no name, or not 0 to 100000 runs_ms");
    read_sizes(json_object_get(row, "grid"), k.grid);
    read_sizes(json_object_get(row, "block"), k.block);
    read_metrics(row, k.metrics);
    for (size_t i = 0; !again && !(launches.value > 0) && i < json_array_size(calls); i++)
        launches = quantity(json_array_get(calls, i));
    k.metrics[RP_COMPARE_DISPATCHES] = launches;
    rc = read_runs(runs, &k.runs, err);
    if (rc == 0)
        rc = rp_versus_side_add_kernel(side, &k, err);
    free(k.runs.ms);
    return rc;
}

/* Versions before this key knew of kernels of the base run only. */
static int read_repeats(const json_t *root, struct rp_versus_side *side, const char *path,
                        struct rp_err *err)
{
    const json_t *rows = json_object_get(root, "repeat_kernels"), *row;
    size_t i;

    if (rows && !json_is_array(rows))
        return bad(path, err, "repeat_kernels is no list");
    json_array_foreach(rows, i, row)
    {
        int rc = read_repeat(row, side, path, err);

        if (rc < 0)
            return rc;
    }
    return 0;
}

/* Of the dominant kernel; where its name has several rows, it is not of all of them. */
static int read_roofline(const json_t *root, struct rp_versus_side *side, struct rp_err *err)
{
    const char *name = json_string_value(json_object_get(json_object_get(root, "kernel"), "name"));
    const json_t *roofline = json_object_get(root, "roofline");
    struct rp_versus_kernel *k = rp_versus_side_find(side, name);
    size_t rows = 0, i;
    const json_t *row;

    json_array_foreach(json_object_get(root, "kernels"), i, row)
    {
        const char *other = json_string_value(json_object_get(row, "name"));
        rows += name && other && strcmp(name, other) == 0;
    }
    if (!k || rows != 1 || !json_is_object(roofline))
        return 0;
    k->metrics[RP_COMPARE_BYTES] = number_at(roofline, "bytes");
    return text_at(roofline, "bound", &k->bound) ? 0 : no_memory(err);
}

static int read_gpus(const json_t *root, struct rp_versus_side *side, const char *path,
                     struct rp_err *err)
{
    const json_t *rows = json_object_get(root, "gpus"), *row;
    size_t i;

    if (!side->wall && json_array_size(rows) == 0)
        return bad(path, err, "it has no gpus");
    side->gpus = calloc(json_array_size(rows) + 1, sizeof *side->gpus);
    if (!side->gpus)
        return no_memory(err);
    json_array_foreach(rows, i, row)
    {
        struct rp_versus_gpu *gpu = &side->gpus[side->gpu_count++];

        if (!text_at(row, "architecture", &gpu->architecture) ||
            !text_at(row, "product", &gpu->product))
            return no_memory(err);
        gpu->compute_units = count_at(row, "compute_units");
        gpu->engine_clock_mhz = count_at(row, "engine_clock_mhz");
    }
    return 0;
}

static int read_command(const json_t *provenance, struct rp_versus_side *side, struct rp_err *err)
{
    const json_t *words = json_object_get(provenance, "command"), *word;
    rp_autobuf text = {0};
    size_t i;

    json_array_foreach(words, i, word)
    {
        const char *bytes = json_string_value(word);
        rp_buf_printf(&text, "%s%s", i ? " " : "", bytes ? bytes : "");
    }
    if (!json_array_size(words))
        return 0;
    side->command = rp_buf_steal(&text);
    return side->command ? 0 : no_memory(err);
}

/* Modelled times are the same each time a program runs: the machine's clock is not. */
static int read_walls(const json_t *provenance, struct rp_versus_side *side, struct rp_err *err)
{
    const json_t *walls = json_object_get(json_object_get(provenance, "varies"), "wall_ms");

    if (!side->software || !json_is_array(walls) || !json_array_size(walls))
        return 0;
    side->walls = json_dumps(walls, JSON_COMPACT | JSON_REAL_PRECISION(17));
    return side->walls ? 0 : no_memory(err);
}

static int read_origin(const json_t *root, struct rp_versus_side *side, const char *path,
                       struct rp_err *err)
{
    const char *device = json_string_value(json_object_get(root, "device"));
    const char *what = json_string_value(json_object_get(root, "measurement"));
    const json_t *timing = json_object_get(root, "timing");
    const json_t *provenance = json_object_get(root, "provenance");
    const json_t *complete = json_object_get(provenance, "complete");

    if (!device || (strcmp(device, "software") != 0 && strcmp(device, "hardware") != 0))
        return bad(path, err, "it does not say of which device it is");
    if (!what || (strcmp(what, "dispatches") != 0 && strcmp(what, "wallclock") != 0))
        return bad(path, err, "it does not say what was measured");
    if (!json_is_boolean(complete)) /* what was lost would look like a gain */
        return bad(path, err, "provenance does not say whether it is complete");
    side->software = strcmp(device, "software") == 0;
    side->wall = strcmp(what, "wallclock") == 0;
    side->timing_version = (uint32_t)count_at(timing, "version");
    side->incomplete = json_is_false(complete);
    side->metrics[RP_COMPARE_DISPATCHES] =
        side->wall ? (struct rp_quantity){0} : number_at(provenance, "dispatches");
    if (!text_at(timing, "model", &side->timing_model) ||
        !text_at(provenance, "rocm_version", &side->rocm_version) ||
        !text_at(provenance, "tracer", &side->tracer))
        return no_memory(err);
    if (read_walls(provenance, side, err) < 0)
        return -(int)RP_ENVIRONMENT;
    return read_command(provenance, side, err);
}

/* Versions before this key did not know of them. */
static int read_launches(const json_t *root, struct rp_versus_side *side, struct rp_err *err)
{
    const json_t *launches = json_object_get(root, "launches");
    const json_t *rows = json_object_get(launches, "failed_launches"), *row;
    const json_t *runs = json_object_get(launches, "runs_failed");
    rp_autofree struct rp_failed_launch *list = calloc(json_array_size(rows) + 1, sizeof *list);
    struct rp_launches found = {
        .list = list, .failed = count_at(launches, "failed"), .calls = count_at(launches, "calls")};
    size_t i;

    if (!list)
        return no_memory(err);
    json_array_foreach(rows, i, row)
    {
        list[found.count++] = (struct rp_failed_launch){
            .api = json_string_value(json_object_get(row, "api")),
            .error = json_string_value(json_object_get(row, "error")),
            .code = (uint32_t)count_at(row, "code"),
            .kernel = json_string_value(json_object_get(row, "kernel")),
            .calls = count_at(row, "calls"),
        };
    }
    for (i = 0; !found.failed && i < json_array_size(runs); i++) { /* only of a further run */
        const struct rp_quantity failed = quantity(json_array_get(runs, i));

        found.failed = failed.known && failed.value <= 9e15 ? (uint64_t)failed.value : 0;
    }
    return rp_versus_side_add_launches(side, &found, err);
}

static int read_profile(const json_t *root, struct rp_versus_side *side, const char *path,
                        struct rp_err *err)
{
    const json_t *runs = json_object_get(json_object_get(root, "stability"), "runs_ms");
    int rc = read_origin(root, side, path, err);

    if (rc == 0 && (json_array_size(runs) == 0 || json_array_size(runs) > MOST_RUNS))
        rc = bad(path, err, "stability.runs_ms has not 1 to 100000 times");
    if (rc == 0)
        rc = read_runs(runs, &side->runs, err);
    if (rc == 0)
        rc = read_launches(root, side, err);
    if (rc == 0)
        rc = read_gpus(root, side, path, err);
    if (rc == 0)
        rc = read_kernels(root, side, path, err);
    if (rc == 0)
        rc = read_repeats(root, side, path, err);
    return rc < 0 ? rc : read_roofline(root, side, err);
}

/* --- replay compare ------------------------------------------------------------------------ */

/* There it is time of A / time of B, here time after / time before. */
static void read_ratio(const json_t *ratio, struct rp_versus_reported *told)
{
    const struct rp_quantity estimate = number_at(ratio, "estimate");
    const struct rp_quantity low = number_at(ratio, "low"), high = number_at(ratio, "high");

    told->ratio_known = estimate.known && low.known && high.known && low.value > 0 &&
                        estimate.value >= low.value && high.value >= estimate.value;
    if (!told->ratio_known)
        return;
    told->ratio = 1 / estimate.value;
    told->low = 1 / high.value;
    told->high = 1 / low.value;
    told->level = fmin(number_at(ratio, "level").value, 1);
}

static int read_replay(const json_t *root, struct rp_versus_side *side, const char *path,
                       struct rp_err *err)
{
    const json_t *environment = json_object_get(root, "environment");
    const char *device = json_string_value(json_object_get(environment, "device"));

    if (!device || (strcmp(device, "software") != 0 && strcmp(device, "gpu") != 0))
        return bad(path, err, "environment.device is neither gpu nor software");
    side->told.is = true;
    side->software = strcmp(device, "software") == 0;
    read_ratio(json_object_get(root, "ratio"), &side->told);
    if (!text_at(root, "verdict", &side->told.verdict) ||
        !text_at(root, "reason", &side->told.reason) ||
        !text_at(environment, "timing_model", &side->timing_model) ||
        !text_at(environment, "rocm_version", &side->rocm_version))
        return no_memory(err);
    side->told.wrong = side->told.verdict && strcmp(side->told.verdict, "different output") == 0;
    return side->told.verdict ? 0 : bad(path, err, "it has no verdict");
}

int rp_versus_side_parse(const char *text, const char *path, struct rp_versus_side *ret,
                         struct rp_err *err)
{
    rp_cleanup(drop) json_t *root = NULL;
    struct rp_versus_side side = {.path = strdup(path)};
    int rc = side.path ? load(text, path, &root, err) : no_memory(err);

    if (rc == 0 && json_object_get(root, "stability") && json_object_get(root, "kernels"))
        rc = read_profile(root, &side, path, err);
    else if (rc == 0 && json_object_get(root, "a_to_a_blocks"))
        rc = read_replay(root, &side, path, err);
    else if (rc == 0)
        rc = rp_fail(err, RP_BAD_INPUT,
                     "%s is neither profile.json nor the JSON of `replay compare`", path);
    if (rc < 0) {
        rp_versus_side_free(&side);
        return rc;
    }
    rp_versus_side_finish(&side);
    *ret = side;
    return 0;
}

/* --- beside profile.json ------------------------------------------------------------------- */

/* Of analysis.json; of several rows of a name the first, which is worth most. */
static int add_label(struct rp_versus_kernel *k, const json_t *bottleneck, bool again,
                     struct rp_err *err)
{
    if (again || !json_is_string(json_object_get(bottleneck, "label")))
        return 0;
    return text_at(bottleneck, "label", &k->bound) ? 0 : no_memory(err);
}

/* Of roofline.json: a kernel on several GPUs has a row for each, and their bytes add up. */
static int add_bytes(struct rp_versus_kernel *k, const json_t *row, bool again, struct rp_err *err)
{
    const struct rp_quantity in = number_at(row, "hbm_read_bytes");
    const struct rp_quantity out = number_at(row, "hbm_write_bytes");
    struct rp_quantity *bytes = &k->metrics[RP_COMPARE_BYTES];

    *bytes = (struct rp_quantity){
        .known = in.known && out.known && (!again || bytes->known),
        .value = in.value + out.value + (again ? bytes->value : 0),
    };
    if (again || !json_is_string(json_object_get(row, "bound")))
        return 0;
    return text_at(row, "bound", &k->bound) ? 0 : no_memory(err);
}

/* @param seen  of each kernel: it had a row */
static int add_row(struct rp_versus_side *side, const json_t *row, bool *seen, struct rp_err *err)
{
    const json_t *bottleneck = json_object_get(row, "bottleneck");
    const char *name = json_string_value(json_object_get(row, "name"));
    struct rp_versus_kernel *k = rp_versus_side_find(side, name);
    bool again;

    if (!k)
        return 0;
    again = seen[k - side->kernels];
    seen[k - side->kernels] = true;
    return bottleneck ? add_label(k, bottleneck, again, err) : add_bytes(k, row, again, err);
}

int rp_versus_side_add(struct rp_versus_side *side, const char *text, const char *path,
                       struct rp_err *err)
{
    rp_autofree bool *seen = calloc(side->kernel_count + 1, sizeof *seen);
    rp_cleanup(drop) json_t *root = NULL;
    const json_t *rows;
    int rc = seen ? load(text, path, &root, err) : no_memory(err);

    rows = json_object_get(root, "kernels");
    for (size_t i = 0; rc == 0 && i < json_array_size(rows); i++)
        rc = add_row(side, json_array_get(rows, i), seen, err);
    return rc;
}

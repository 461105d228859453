#include "analyze/benchmark_json.h"

#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"

enum { MOST_BENCHMARKS = 10000, MOST_RUNS = 100000 };

/** What is collected of one file. Where memory ends, jansson's functions fail, and so does all. */
struct benchmarks {
    const char *tool, *command;
    bool has_devices; /**< more than one, whose times are not those of one benchmark */
    const char *gpu;  /**< NULL: the tool does not say */
    json_t *kernels;  /**< objects with name and runs_ms */
    json_t *by_name;  /**< the same lists of runs */
    bool is_wall;     /**< a clock of the host, not of the GPU */
    bool is_incomplete;
    bool failed; /**< memory has ended, or it is too large */
};

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/** @return the list of the runs of a benchmark, which is made if it is not there; NULL: no memory,
 * or too many */
static json_t *runs_of(struct benchmarks *b, const char *name)
{
    json_t *runs = json_object_get(b->by_name, name), *kernel;

    if (runs || json_array_size(b->kernels) >= MOST_BENCHMARKS)
        return runs;
    kernel =
        json_pack("{ss s[] sf si}", "name", name, "runs_ms", "total_ms", 0.0, "timed_calls", 1);
    runs = json_object_get(kernel, "runs_ms");
    return kernel && json_array_append_new(b->kernels, kernel) == 0 &&
                   json_object_set(b->by_name, name, runs) == 0
               ? runs
               : NULL;
}

/* A time that is none, as of a benchmark with an error, is left out, and the result marked. */
static void add_time(struct benchmarks *b, const char *name, double ms)
{
    json_t *runs;

    if (b->failed)
        return;
    if (!(isfinite(ms) && ms > 0)) {
        b->is_incomplete = true;
        return;
    }
    runs = runs_of(b, name);
    b->failed |= !runs || json_array_size(runs) >= MOST_RUNS ||
                 json_array_append_new(runs, json_real(ms)) < 0;
}

/* --- google-benchmark ---------------------------------------------------------------------- */

/** @return 0: it is no unit */
static double ms_of_unit(const char *unit)
{
    static const struct {
        const char *unit;
        double ms;
    } units[] = {{"ns", 1e-6}, {"us", 1e-3}, {"ms", 1}, {"s", 1e3}};

    for (size_t i = 0; unit && i < sizeof units / sizeof *units; i++)
        if (strcmp(unit, units[i].unit) == 0)
            return units[i].ms;
    return 0;
}

static bool is_aggregate(const json_t *row)
{
    const char *type = text_of(row, "run_type");

    return type && strcmp(type, "aggregate") == 0;
}

/* Of aggregates the median stands for one run, where --benchmark_report_aggregates_only left no
 * more. */
static bool counts(const json_t *row, bool only_aggregates)
{
    const char *name = text_of(row, "aggregate_name");

    return only_aggregates ? name && strcmp(name, "median") == 0 : !is_aggregate(row);
}

static void read_google(const json_t *root, struct benchmarks *ret)
{
    const json_t *rows = json_object_get(root, "benchmarks"), *row;
    bool only_aggregates = true;
    size_t i;

    ret->tool = "google-benchmark";
    ret->command = text_of(json_object_get(root, "context"), "executable");
    ret->is_wall = true;
    json_array_foreach(rows, i, row) only_aggregates &= is_aggregate(row);
    json_array_foreach(rows, i, row)
    {
        const char *name = text_of(row, "run_name");

        name = name ? name : text_of(row, "name");
        if (!name || !counts(row, only_aggregates) || json_is_true(json_object_get(row, "skipped")))
            continue;
        add_time(ret, name,
                 json_is_true(json_object_get(row, "error_occurred"))
                     ? NAN
                     : json_number_value(json_object_get(row, "real_time")) *
                           ms_of_unit(text_of(row, "time_unit")));
    }
}

/* --- nvbench ------------------------------------------------------------------------------- */

/** The time of the GPU, in seconds; nvbench writes numbers as texts. NAN: it has none. */
static double gpu_seconds(const json_t *state)
{
    const json_t *summaries = json_object_get(state, "summaries"), *summary, *item;
    size_t i, j;

    json_array_foreach(summaries, i, summary)
    {
        const char *tag = text_of(summary, "tag");

        if (!tag || strcmp(tag, "nv/cold/time/gpu/mean") != 0)
            continue;
        json_array_foreach(json_object_get(summary, "data"), j, item)
        {
            const json_t *value = json_object_get(item, "value");
            const char *name = text_of(item, "name");

            if (name && strcmp(name, "value") == 0)
                return json_is_string(value) ? strtod(json_string_value(value), NULL)
                                             : json_number_value(value);
        }
    }
    return NAN;
}

/** A benchmark with its axes, as "copy T=F32 Elements=65536". */
static void read_state(const char *benchmark, const json_t *state, struct benchmarks *ret)
{
    const json_t *axis;
    rp_autobuf name = {0};
    size_t i;

    if (json_is_true(json_object_get(state, "is_skipped")))
        return;
    rp_buf_puts(&name, benchmark);
    json_array_foreach(json_object_get(state, "axis_values"), i, axis)
    {
        const char *key = text_of(axis, "name"), *value = text_of(axis, "value");

        if (key && value)
            rp_buf_printf(&name, " %s=%s", key, value);
    }
    if (ret->has_devices)
        rp_buf_printf(&name, " device=%lld",
                      (long long)json_integer_value(json_object_get(state, "device")));
    ret->failed |= name.failed;
    add_time(ret, rp_buf_text(&name), 1e3 * gpu_seconds(state));
}

static void read_nvbench(const json_t *root, struct benchmarks *ret)
{
    const json_t *benchmark, *state;
    size_t i, j;

    ret->tool = "nvbench";
    ret->command = json_string_value(
        json_array_get(json_object_get(json_object_get(root, "meta"), "argv"), 0));
    ret->gpu = text_of(json_array_get(json_object_get(root, "devices"), 0), "name");
    ret->has_devices = json_array_size(json_object_get(root, "devices")) > 1;
    json_array_foreach(json_object_get(root, "benchmarks"), i, benchmark)
    {
        const char *name = text_of(benchmark, "name");

        json_array_foreach(json_object_get(benchmark, "states"), j, state) if (name)
            read_state(name, state, ret);
    }
}

/* --- hyperfine ----------------------------------------------------------------------------- */

/** Says of each name whether several commands have it. */
static json_t *shared_names(const json_t *rows)
{
    json_t *ret = json_object();
    const json_t *row;
    size_t i;

    json_array_foreach(rows, i, row)
    {
        const char *name = text_of(row, "command");

        if (name)
            json_object_set_new(ret, name, json_boolean(json_object_get(ret, name) != NULL));
    }
    return ret;
}

/** With --command-name commands that differ by their parameters may have one name. */
static void put_name(const json_t *row, const json_t *shared, struct rp_buf *to)
{
    const char *name = text_of(row, "command"), *key;
    json_t *value;

    rp_buf_puts(to, name);
    json_object_foreach(json_object_get(row, "parameters"), key, value)
    {
        if (json_is_true(json_object_get(shared, name)) && json_is_string(value))
            rp_buf_printf(to, " %s=%s", key, json_string_value(value));
    }
}

static void read_hyperfine(const json_t *root, struct benchmarks *ret)
{
    const json_t *rows = json_object_get(root, "results"), *row, *item;
    json_t *shared = shared_names(rows);
    size_t i, j;

    ret->failed |= !shared;
    ret->tool = "hyperfine";
    ret->is_wall = true;
    if (json_array_size(rows) == 1)
        ret->command = text_of(json_array_get(rows, 0), "command");
    json_array_foreach(rows, i, row)
    {
        rp_autobuf name = {0};

        if (text_of(row, "command"))
            put_name(row, shared, &name);
        ret->failed |= name.failed;
        json_array_foreach(json_object_get(row, "times"), j, item) if (name.len)
            add_time(ret, rp_buf_text(&name), 1e3 * json_number_value(item));
        json_array_foreach(json_object_get(row, "exit_codes"), j, item) ret->is_incomplete |=
            !json_is_integer(item) || json_integer_value(item) != 0;
    }
    json_decref(shared);
}

/* --- as a profile -------------------------------------------------------------------------- */

/** Each tool is known by what no profile.json has. */
static void (*reader_of(const json_t *root))(const json_t *, struct benchmarks *)
{
    const json_t *first = json_array_get(json_object_get(root, "results"), 0);
    const bool has_rows = json_is_array(json_object_get(root, "benchmarks"));

    if (json_is_string(json_object_get(first, "command")) &&
        json_is_array(json_object_get(first, "times")))
        return read_hyperfine;
    if (has_rows && json_is_array(json_object_get(root, "devices")) &&
        json_is_object(json_object_get(root, "meta")))
        return read_nvbench;
    return has_rows && json_is_object(json_object_get(root, "context")) ? read_google : NULL;
}

/* @return NULL: memory has ended, or there is no run of all */
static json_t *sums_of(const json_t *kernels)
{
    json_t *sums = json_array();
    size_t least = MOST_RUNS, i, run;
    const json_t *kernel;

    json_array_foreach(kernels, i, kernel)
    {
        const size_t count = json_array_size(json_object_get(kernel, "runs_ms"));

        least = count < least ? count : least;
    }
    for (run = 0; sums && run < least; run++) {
        double ms = 0;

        json_array_foreach(kernels, i, kernel) ms +=
            json_real_value(json_array_get(json_object_get(kernel, "runs_ms"), run));
        json_array_append_new(sums, json_real(ms));
    }
    return sums;
}

/* The device says by which tool it was timed, as no two of them time the same. */
static json_t *profile_of(const struct benchmarks *b)
{
    json_t *root =
        json_pack("{ss ss s{sb ss} s[{ss ss*}] s{so*} sO}", "device", "hardware", "measurement",
                  b->is_wall ? "wallclock" : "dispatches", "provenance", "complete",
                  !b->is_incomplete, "tracer", b->tool, "gpus", "architecture", b->tool, "product",
                  b->gpu, "stability", "runs_ms", sums_of(b->kernels), "kernels", b->kernels);
    json_t *command = b->command ? json_pack("[s]", b->command) : NULL;

    if (root && command)
        json_object_set_new(json_object_get(root, "provenance"), "command", command);
    return root;
}

int rp_benchmark_profile(const json_t *root, json_t **ret, struct rp_err *err)
{
    void (*read)(const json_t *, struct benchmarks *) = reader_of(root);
    struct benchmarks b = {.kernels = json_array(), .by_name = json_object()};
    int rc = 0;

    *ret = NULL;
    if (read && b.kernels && b.by_name)
        read(root, &b);
    if (!b.kernels || !b.by_name)
        rc = rp_out_of_memory(err);
    else if (b.failed)
        rc = rp_fail(err, RP_BAD_INPUT, "%s has more than %d benchmarks or %d times of one", b.tool,
                     MOST_BENCHMARKS, MOST_RUNS);
    else if (read && !json_array_size(b.kernels))
        rc = rp_fail(err, RP_BAD_INPUT, "no benchmark of %s has a time", b.tool);
    else if (read && !(*ret = profile_of(&b)))
        rc = rp_out_of_memory(err);
    json_decref(b.by_name);
    json_decref(b.kernels);
    return rc;
}

/* Steps of the self-test that compile and run the workload, and find it in the traces of both
 * tracers. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/stats.h"
#include "cli/selftest.h"
#include "cli/selftest_steps.h"
#include "trace/rocpd.h"

/* What is not known is null. */
void rp_selftest_put(json_t *values, const char *name, double value)
{
    const bool whole = value == floor(value) && fabs(value) < 9e15;

    json_object_set_new(values, name,
                        !isfinite(value) ? json_null()
                        : whole          ? json_integer((json_int_t)value)
                                         : json_real(value));
}

void rp_selftest_put_bool(json_t *values, const char *name, bool value)
{
    json_object_set_new(values, name, json_boolean(value));
}

double rp_selftest_number(const json_t *json, const char *a, const char *b)
{
    const json_t *value = json_object_get(json, a);

    if (b)
        value = json_object_get(value, b);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

const json_t *rp_selftest_named(const json_t *list, const char *name)
{
    const json_t *each;
    size_t i;

    json_array_foreach(list, i, each)
    {
        const char *its = json_string_value(json_object_get(each, "name"));

        if (its && strncmp(its, name, strlen(name)) == 0)
            return each;
    }
    return NULL;
}

bool rp_selftest_has_matrix(const struct rp_selftest *test)
{
    return strcmp(test->work.isa, "gfx90a") == 0 || strcmp(test->work.isa, "gfx942") == 0 ||
           strcmp(test->work.isa, "gfx950") == 0;
}

int rp_selftest_no_rocprofv3(struct rp_err *err)
{
    rp_fail(err, RP_ENVIRONMENT,
            "there is no rocprofv3 in the ROCm in use; install the package rocprofiler-sdk");
    return RP_SELFTEST_SKIP;
}

void rp_selftest_add_known(const struct rp_selftest *test, const char *result, unsigned rounds,
                           unsigned launches, struct rp_workload_words *words)
{
    rp_workload_add(&test->work, "known", result, words);
    rp_workload_word(words, "%u", test->sizes.blocks);
    rp_workload_word(words, "%u", rounds);
    rp_workload_word(words, "%u", launches);
}

/* --- what the workload has said ------------------------------------------------------------ */

static const char *const rate_kernels[] = {"selftest_copy", "selftest_cache", "selftest_lds",
                                           "selftest_fma", "selftest_matrix"};
static void said_line(const char *line, struct rp_selftest_said *said)
{
    struct rp_selftest_launch_times times;
    char name[64];
    double value;

    if (said->count < 64 && sscanf(line, "launch %lf %" SCNd64 " %" SCNd64, &times.event_ns,
                                   &times.begin_ns, &times.end_ns) == 3) {
        times.event_ns *= 1e6;
        said->launches[said->count++] = times;
        return;
    }
    if (sscanf(line, "memory %" SCNu64, &said->memory) == 1 ||
        sscanf(line, "%63s %lf", name, &value) != 2)
        return;
    if (strcmp(name, "wrong") == 0)
        said->wrong += value;
    if (strcmp(name, "numbers") == 0)
        said->numbers = value;
    for (size_t i = 0; i < RP_SELFTEST_RATES; i++)
        if (strcmp(name, rate_kernels[i]) == 0)
            said->ms[i] = value;
}

int rp_selftest_read_said(const struct rp_selftest *test, const char *result,
                          struct rp_selftest_said *ret, struct rp_err *err)
{
    rp_autofree char *path = rp_format("%s/%s.txt", test->work.folder, result);
    rp_autofree char *text = rp_read_text(path, 1 << 20);
    char *rest = NULL;

    if (!text)
        return rp_fail(err, RP_PROGRAM, "the workload wrote no result");
    memset(ret, 0, sizeof *ret);
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        said_line(line, ret);
    return 0;
}

/* --- what a trace has ---------------------------------------------------------------------- */

/* The last launch of the known kernel is the producer, which the other kernel waits for. */
static void trace_order(const struct rp_workload_trace *trace, json_t *values)
{
    const struct rp_row_dispatch *producer = NULL, *consumer = NULL;
    double after = 0, backwards = 0;

    for (size_t i = 0; i < trace->dispatch_count; i++) {
        const struct rp_row_dispatch *d = &trace->dispatches[i];

        backwards += d->end_ns <= d->start_ns;
        if (rp_workload_is_named(trace, d, RP_SELFTEST_KNOWN) &&
            (!producer || d->dispatch_id > producer->dispatch_id))
            producer = d;
        if (rp_workload_is_named(trace, d, "selftest_after")) {
            consumer = d;
            after++;
        }
    }
    rp_selftest_put(values, "after_launches", after);
    rp_selftest_put(values, "backwards", backwards);
    rp_selftest_put(values, "early_ns",
                    producer && consumer ? (double)(producer->end_ns - consumer->start_ns) : NAN);
}

/* A launch is outside when the host had not begun it yet, or no longer waited for it. */
static double outside(const struct rp_row_dispatch *d, const struct rp_selftest_launch_times *host)
{
    const int64_t slack_ns = 200000;

    return d->start_ns < host->begin_ns - slack_ns || d->end_ns > host->end_ns + slack_ns;
}

static void trace_known(const struct rp_workload_trace *trace, const struct rp_selftest_said *said,
                        json_t *values)
{
    double ns[64], events[64], hosts[64], count = 0, out = 0;
    const struct rp_row_dispatch *one = NULL;
    size_t timed = 0;

    for (size_t i = 0; i < trace->dispatch_count; i++) {
        const struct rp_row_dispatch *d = &trace->dispatches[i];

        if (!rp_workload_is_named(trace, d, RP_SELFTEST_KNOWN))
            continue;
        one = d;
        count++;
        if (timed >= said->count)
            continue; /* The producer was not timed. */
        ns[timed] = (double)(d->end_ns - d->start_ns);
        events[timed] = said->launches[timed].event_ns;
        hosts[timed] = (double)(said->launches[timed].end_ns - said->launches[timed].begin_ns);
        out += outside(d, &said->launches[timed++]);
    }
    rp_selftest_put(values, "known_launches", count);
    rp_selftest_put(values, "grid", one ? (double)one->grid[0] : NAN);
    rp_selftest_put(values, "workgroup", one ? (double)one->workgroup[0] : NAN);
    rp_selftest_put(values, "lds_bytes", one ? (double)one->group_bytes : NAN);
    rp_selftest_put(values, "kernel_ns", rp_median(ns, timed));
    rp_selftest_put(values, "event_ns", rp_median(events, timed));
    rp_selftest_put(values, "host_ns", rp_median(hosts, timed));
    rp_selftest_put(values, "outside", out);
}

static int count_launch_calls(void *context, const void *row, struct rp_err *err)
{
    double *count = context;

    (void)err;
    *count += strcmp(((const struct rp_row_region *)row)->name, "hipModuleLaunchKernel") == 0;
    return 0;
}

static int note_dependency(void *context, const void *row, struct rp_err *err)
{
    const struct rp_row_dependency *dependency = row;

    (void)err;
    *(bool *)context |= !dependency->is_copy && !dependency->waits_for_copy;
    return 0;
}

static int trace_calls(struct rp_store *store, json_t *values, struct rp_err *err)
{
    double launches = 0;
    bool dependency = false;
    int rc = rp_store_each_region(store, count_launch_calls, &launches, err);

    if (rc == 0)
        rc = rp_store_each_dependency(store, note_dependency, &dependency, err);
    rp_selftest_put(values, "hip_launches", launches);
    rp_selftest_put_bool(values, "dependency_recorded", dependency);
    return rc;
}

static int trace_copies(struct rp_store *store, json_t *values, struct rp_err *err)
{
    const struct rp_row_copy *copies;
    size_t count;
    double bytes = 0;
    int rc = rp_store_copies(store, &copies, &count, err);

    for (size_t i = 0; rc == 0 && i < count; i++)
        bytes += (double)copies[i].bytes;
    rp_selftest_put(values, "copies", rc == 0 ? (double)count : NAN);
    rp_selftest_put(values, "copied_bytes", rc == 0 ? bytes : NAN);
    return rc;
}

/* What is in the trace of the known workload. */
static int trace_values(struct rp_selftest *test, const char *folder, const char *result,
                        json_t *values, struct rp_err *err)
{
    rp_autofree char *path = rp_format("%s/%s/trace_results.db", test->work.folder, folder);
    struct rp_store *store = NULL;
    struct rp_workload_trace trace = {0};
    struct rp_selftest_said said;
    int rc = rp_selftest_read_said(test, result, &said, err);

    if (rc == 0)
        rc = rp_store_open(path, &store, err);
    if (rc == 0)
        rc = rp_workload_read_trace(store, &trace, err);
    if (rc == 0) {
        trace_order(&trace, values);
        trace_known(&trace, &said, values);
        rc = trace_calls(store, values, err);
    }
    if (rc == 0)
        rc = trace_copies(store, values, err);
    rp_store_close(store);
    return rc;
}

/* --- compile and run ----------------------------------------------------------------------- */

int rp_selftest_compile(struct rp_selftest *test, json_t *values, struct rp_err *err)
{
    const char *compiler;
    void *bytes = NULL;
    size_t count = 0;
    int rc = rp_workload_compile(&test->work, rp_selftest_kernels, "selftest_kernels.hip",
                                 &compiler, err);

    if (rc > 0)
        return RP_SELFTEST_SKIP;
    if (rc == 0)
        rc = rp_read_file(test->work.code, 16 << 20, RP_ENVIRONMENT, &bytes, &count, err);
    free(bytes);
    rp_selftest_put(values, "code_bytes", (double)count);
    json_object_set_new(values, "compiler", json_string(compiler));
    return rc;
}

/* The host's and the events' times without a tracer, for its cost. */
static void untraced_values(const struct rp_selftest_said *said, json_t *values)
{
    double events[64], hosts[64];

    for (size_t i = 0; i < said->count; i++) {
        events[i] = said->launches[i].event_ns;
        hosts[i] = (double)(said->launches[i].end_ns - said->launches[i].begin_ns);
    }
    rp_selftest_put(values, "event_ns", rp_median(events, said->count));
    rp_selftest_put(values, "host_ns", rp_median(hosts, said->count));
}

int rp_selftest_run(struct rp_selftest *test, json_t *values, struct rp_err *err)
{
    rp_cleanup(rp_workload_words_free) struct rp_workload_words words = {0};
    struct rp_selftest_said said = {0};
    int rc;

    rp_workload_suite(&test->work, "run", &words);
    rp_workload_add_device(&test->work, &words);
    rp_selftest_add_known(test, "run", test->sizes.rounds, test->sizes.launches, &words);
    rc = rp_workload_run(&test->work, "run", &words, NULL, err);
    if (rc == 0)
        rc = rp_selftest_read_said(test, "run", &said, err);
    if (rc < 0)
        return rc;
    rp_selftest_put(values, "wrong", said.wrong);
    rp_selftest_put(values, "numbers", said.numbers);
    rp_selftest_put(values, "numbers_expected", (double)test->sizes.blocks * RP_SELFTEST_BLOCK);
    untraced_values(&said, values);
    return 0;
}

/* --- both tracers, and clocks -------------------------------------------------------------- */

/* As profile tells them: some versions of rocprofv3 report half of the registers, which it
 * corrects.
 */
static void register_values(const json_t *profile, json_t *values)
{
    const json_t *found = json_object_get(
        rp_selftest_named(json_object_get(profile, "kernels"), RP_SELFTEST_KNOWN), "resources");

    rp_selftest_put(values, "vgprs",
                    rp_selftest_number(found, "vgpr_per_thread", NULL) +
                        rp_selftest_number(found, "agpr_per_thread", NULL));
    rp_selftest_put(values, "sgprs", rp_selftest_number(found, "sgpr_per_wave", NULL));
}

static int profile_known(struct rp_selftest *test, const char *tracer, const char *name,
                         json_t *values, struct rp_err *err)
{
    rp_cleanup(rp_workload_words_free) struct rp_workload_words words = {0};
    json_t *profile = NULL;
    int rc;

    rp_workload_suite(&test->work, "profile", &words);
    rp_workload_add_device(&test->work, &words);
    for (const char *const *each =
             (const char *const[]){"--runs", "1", "--json", "--tracer", tracer, "-o", name, NULL};
         *each; each++)
        rp_workload_word(&words, "%s", *each);
    rp_selftest_add_known(test, name, test->sizes.rounds, test->sizes.launches, &words);
    rc = rp_workload_run_json(&test->work, name, &words, &profile, err);
    if (rc == 0)
        rc = trace_values(test, name, name, values, err);
    if (rc == 0) {
        const json_t *from = json_object_get(profile, "provenance");

        register_values(profile, values);
        rp_selftest_put(values, "lost",
                        rp_selftest_number(from, "lost_records", NULL) +
                            rp_selftest_number(from, "lost_dispatches", NULL) +
                            rp_selftest_number(from, "untraced_queues", NULL) +
                            rp_selftest_number(from, "incomplete_traces", NULL));
    }
    json_decref(profile);
    return rc;
}

int rp_selftest_collector(struct rp_selftest *test, json_t *values, struct rp_err *err)
{
    rp_selftest_put(values, "launches_expected", test->sizes.launches + 1.0);
    rp_selftest_put(values, "hip_launches_expected", test->sizes.launches + 2.0);
    rp_selftest_put(values, "grid_expected", (double)test->sizes.blocks * RP_SELFTEST_BLOCK);
    return profile_known(test, "builtin", "collector", values, err);
}

int rp_selftest_rocprofv3(struct rp_selftest *test, json_t *values, struct rp_err *err)
{
    if (!test->work.env->rocprofv3)
        return rp_selftest_no_rocprofv3(err);
    return profile_known(test, "rocprofv3", "rocprofv3", values, err);
}

static void clock_values(const struct rp_selftest *test, enum rp_selftest_step step, json_t *values)
{
    static const char *const of[][2] = {{"ns", "kernel_ns"},
                                        {"event_ns", "event_ns"},
                                        {"host_ns", "host_ns"},
                                        {"outside", "outside"}};

    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        char name[64];

        snprintf(name, sizeof name, "%s_%s", rp_selftest_name(step), of[i][0]);
        rp_selftest_put(values, name, rp_selftest_number(test->steps[step].values, of[i][1], NULL));
    }
}

int rp_selftest_clocks(struct rp_selftest *test, json_t *values, struct rp_err *err)
{
    (void)err;
    clock_values(test, RP_SELFTEST_collector, values);
    clock_values(test, RP_SELFTEST_rocprofv3, values);
    return 0;
}

/* --- JSON traces of rocprofv3 -------------------------------------------------------------- */

static int json_trace_values(struct rp_selftest *test, json_t *values, struct rp_err *err)
{
    rp_autofree char *path = rp_path_join(test->work.folder, "json_trace/selftest_results.json");
    struct rp_store *store = NULL;
    struct rp_workload_trace trace = {0};
    struct rp_selftest_said said;
    int rc = rp_selftest_read_said(test, "json_trace", &said, err);

    if (rc == 0)
        rc = rp_store_open_json(path, 0, &store, err);
    if (rc == 0)
        rc = rp_workload_read_trace(store, &trace, err);
    if (rc == 0) {
        trace_order(&trace, values);
        trace_known(&trace, &said, values);
    }
    rp_store_close(store);
    return rc;
}

int rp_selftest_json_trace(struct rp_selftest *test, json_t *values, struct rp_err *err)
{
    rp_cleanup(rp_workload_words_free) struct rp_workload_words words = {0};
    int rc;

    if (!test->work.env->rocprofv3)
        return rp_selftest_no_rocprofv3(err);
    rp_workload_suite(&test->work, "run", &words);
    rp_workload_add_device(&test->work, &words);
    rp_workload_word(&words, "--");
    rp_workload_word(&words, "%s", test->work.env->rocprofv3);
    for (const char *const *each =
             (const char *const[]){"--kernel-trace", "--output-format", "json", "-d", "json_trace",
                                   "-o", "selftest", NULL};
         *each; each++)
        rp_workload_word(&words, "%s", *each);
    rp_selftest_add_known(test, "json_trace", test->sizes.rounds, test->sizes.launches, &words);
    rc = rp_workload_run(&test->work, "json_trace", &words, NULL, err);
    return rc < 0 ? rc : json_trace_values(test, values, err);
}

/* Steps of the self-test that compile and run the workload, and find it in the traces of both
 * tracers. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "cli/selftest.h"
#include "cli/selftest_steps.h"
#include "trace/rocpd.h"

/* --- what a trace has
 * ----------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *values, size_t count)
{
    if (!count)
        return NAN;
    qsort(values, count, sizeof *values, by_value);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static const struct rp_row_kernel *kernel_of(const struct rp_selftest_trace *trace,
                                             const struct rp_row_dispatch *dispatch)
{
    for (size_t i = 0; i < trace->kernel_count; i++)
        if (trace->kernels[i].id == dispatch->kernel_id &&
            trace->kernels[i].guid_index == dispatch->guid_index)
            return &trace->kernels[i];
    return NULL;
}

bool rp_selftest_is_named(const struct rp_selftest_trace *trace,
                          const struct rp_row_dispatch *dispatch, const char *name)
{
    const struct rp_row_kernel *kernel = kernel_of(trace, dispatch);

    return kernel && strncmp(kernel->plain_name, name, strlen(name)) == 0;
}

/* The last launch of the known kernel is the producer, which the other kernel waits for. */
static void trace_order(const struct rp_selftest_trace *trace, json_t *values)
{
    const struct rp_row_dispatch *producer = NULL, *consumer = NULL;
    double after = 0, backwards = 0;

    for (size_t i = 0; i < trace->dispatch_count; i++) {
        const struct rp_row_dispatch *d = &trace->dispatches[i];

        backwards += d->end_ns <= d->start_ns;
        if (rp_selftest_is_named(trace, d, RP_SELFTEST_KNOWN) &&
            (!producer || d->dispatch_id > producer->dispatch_id))
            producer = d;
        if (rp_selftest_is_named(trace, d, "selftest_after")) {
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

static void trace_known(const struct rp_selftest_trace *trace, const struct rp_selftest_said *said,
                        json_t *values)
{
    double ns[64], events[64], hosts[64], count = 0, out = 0;
    const struct rp_row_dispatch *one = NULL;
    size_t timed = 0;

    for (size_t i = 0; i < trace->dispatch_count; i++) {
        const struct rp_row_dispatch *d = &trace->dispatches[i];

        if (!rp_selftest_is_named(trace, d, RP_SELFTEST_KNOWN))
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
    rp_selftest_put(values, "kernel_ns", median(ns, timed));
    rp_selftest_put(values, "event_ns", median(events, timed));
    rp_selftest_put(values, "host_ns", median(hosts, timed));
    rp_selftest_put(values, "outside", out);
}

int rp_selftest_read_trace(struct rp_store *store, struct rp_selftest_trace *ret,
                           struct rp_err *err)
{
    int rc = rp_store_kernels(store, &ret->kernels, &ret->kernel_count, err);

    return rc < 0 ? rc : rp_store_dispatches(store, &ret->dispatches, &ret->dispatch_count, err);
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
    rp_autofree char *path = rp_format("%s/%s/trace_results.db", test->folder, folder);
    struct rp_store *store = NULL;
    struct rp_selftest_trace trace = {0};
    struct rp_selftest_said said;
    int rc = rp_selftest_read_said(test, result, &said, err);

    if (rc == 0)
        rc = rp_store_open(path, &store, err);
    if (rc == 0)
        rc = rp_selftest_read_trace(store, &trace, err);
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

/* --- compile and run
 * ------------------------------------------------------------------------------ */

static int compile_by_hiprtc(struct rp_selftest *test, const char *source, struct rp_err *err)
{
    rp_cleanup(rp_selftest_words_free) struct rp_selftest_words words = {0};

    rp_selftest_add_loader(test, &words);
    rp_selftest_word(&words, "%s", test->workload);
    rp_selftest_word(&words, "%s/libhiprtc.so.7", test->libraries);
    rp_selftest_word(&words, "compile");
    rp_selftest_word(&words, "%s", source);
    rp_selftest_word(&words, "%s", test->code);
    rp_selftest_word(&words, "--offload-arch=%s", test->isa);
    return rp_selftest_run_words(test, "hiprtc", &words, NULL, err);
}

static int compile_by_hipcc(struct rp_selftest *test, const char *source, struct rp_err *err)
{
    rp_cleanup(rp_selftest_words_free) struct rp_selftest_words words = {0};

    rp_selftest_suite(test, "hipcc", &words);
    for (const char *const *each = (const char *const[]){"-O3", "-g", "--genco", "-o", NULL}; *each;
         each++)
        rp_selftest_word(&words, "%s", *each);
    rp_selftest_word(&words, "%s", test->code);
    rp_selftest_word(&words, "--offload-arch=%s", test->isa);
    rp_selftest_word(&words, "%s", source);
    return rp_selftest_run_words(test, "hipcc", &words, NULL, err);
}

int rp_selftest_compile(struct rp_selftest *test, json_t *values, struct rp_err *err)
{
    rp_autofree char *source = rp_path_join(test->folder, "selftest_kernels.hip");
    rp_autofree char *rtc = rp_path_join(test->libraries, "libhiprtc.so.7");
    const bool by_rtc = rp_path_exists(rtc);
    const char *compiler = "hipRTC";
    void *bytes = NULL;
    size_t count = 0;
    int rc = rp_write_file(source, rp_selftest_kernels, strlen(rp_selftest_kernels), err);

    if (rc == 0 && !by_rtc && !test->env->compiler) {
        rp_fail(err, RP_ENVIRONMENT,
                "ROCm has neither libhiprtc.so.7 nor a HIP compiler here; install its HIP runtime "
                "completely");
        return RP_SELFTEST_SKIP;
    }
    if (rc == 0 && by_rtc)
        rc = compile_by_hiprtc(test, source, err);
    /* Where hipRTC fails, a compiler may do. */
    if (test->env->compiler && ((rc == 0 && !by_rtc) || rc == -RP_PROGRAM)) {
        compiler = "hipcc";
        rc = compile_by_hipcc(test, source, err);
    }
    if (rc == 0)
        rc = rp_read_file(test->code, 16 << 20, RP_ENVIRONMENT, &bytes, &count, err);
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
    rp_selftest_put(values, "event_ns", median(events, said->count));
    rp_selftest_put(values, "host_ns", median(hosts, said->count));
}

int rp_selftest_run(struct rp_selftest *test, json_t *values, struct rp_err *err)
{
    rp_cleanup(rp_selftest_words_free) struct rp_selftest_words words = {0};
    struct rp_selftest_said said = {0};
    int rc;

    rp_selftest_suite(test, "run", &words);
    rp_selftest_add_device(test, &words);
    rp_selftest_add_known(test, "run", test->sizes.rounds, test->sizes.launches, &words);
    rc = rp_selftest_run_words(test, "run", &words, NULL, err);
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

/* --- both tracers, and clocks
 * --------------------------------------------------------------------- */

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
    rp_cleanup(rp_selftest_words_free) struct rp_selftest_words words = {0};
    json_t *profile = NULL;
    int rc;

    rp_selftest_suite(test, "profile", &words);
    rp_selftest_add_device(test, &words);
    for (const char *const *each =
             (const char *const[]){"--runs", "1", "--json", "--tracer", tracer, "-o", name, NULL};
         *each; each++)
        rp_selftest_word(&words, "%s", *each);
    rp_selftest_add_known(test, name, test->sizes.rounds, test->sizes.launches, &words);
    rc = rp_selftest_run_json(test, name, &words, &profile, err);
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
    if (!test->env->rocprofv3)
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

/* --- JSON traces of rocprofv3
 * --------------------------------------------------------------------- */

static int json_trace_values(struct rp_selftest *test, json_t *values, struct rp_err *err)
{
    rp_autofree char *path = rp_path_join(test->folder, "json_trace/selftest_results.json");
    struct rp_store *store = NULL;
    struct rp_selftest_trace trace = {0};
    struct rp_selftest_said said;
    int rc = rp_selftest_read_said(test, "json_trace", &said, err);

    if (rc == 0)
        rc = rp_store_open_json(path, 0, &store, err);
    if (rc == 0)
        rc = rp_selftest_read_trace(store, &trace, err);
    if (rc == 0) {
        trace_order(&trace, values);
        trace_known(&trace, &said, values);
    }
    rp_store_close(store);
    return rc;
}

int rp_selftest_json_trace(struct rp_selftest *test, json_t *values, struct rp_err *err)
{
    rp_cleanup(rp_selftest_words_free) struct rp_selftest_words words = {0};
    int rc;

    if (!test->env->rocprofv3)
        return rp_selftest_no_rocprofv3(err);
    rp_selftest_suite(test, "run", &words);
    rp_selftest_add_device(test, &words);
    rp_selftest_word(&words, "--");
    rp_selftest_word(&words, "%s", test->env->rocprofv3);
    for (const char *const *each =
             (const char *const[]){"--kernel-trace", "--output-format", "json", "-d", "json_trace",
                                   "-o", "selftest", NULL};
         *each; each++)
        rp_selftest_word(&words, "%s", *each);
    rp_selftest_add_known(test, "json_trace", test->sizes.rounds, test->sizes.launches, &words);
    rc = rp_selftest_run_words(test, "json_trace", &words, NULL, err);
    return rc < 0 ? rc : json_trace_values(test, values, err);
}

/* What each step of the self-test does: it runs commands of this suite on the workload, as a user
 * would, and finds the values that the rows of selftest_steps.def judge. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/process.h"
#include "base/vec.h"
#include "cli/selftest.h"
#include "trace/capture.h"
#include "trace/rocpd.h"

enum { BLOCK = 256, FMA_A_ROUND = 16, MOST_WORDS = 64, MOST_OUTPUT = 64 << 20 };

#define KNOWN "selftest_known"

/* What is not known is null. */
static void put(json_t *values, const char *name, double value)
{
    const bool whole = value == floor(value) && fabs(value) < 9e15;

    json_object_set_new(values, name,
                        !isfinite(value) ? json_null()
                        : whole          ? json_integer((json_int_t)value)
                                         : json_real(value));
}

static void put_bool(json_t *values, const char *name, bool value)
{
    json_object_set_new(values, name, json_boolean(value));
}

/* --- running commands ----------------------------------------------------------------------- */

/** The words of a command, which the struct owns. */
struct words {
    char *at[MOST_WORDS];
    size_t count;
};

static void words_free(struct words *words)
{
    for (size_t i = 0; i < words->count; i++)
        free(words->at[i]);
}

static void word(struct words *words, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void word(struct words *words, const char *fmt, ...)
{
    va_list args;
    rp_autobuf text = {0};

    if (words->count + 1 >= MOST_WORDS)
        return;
    va_start(args, fmt);
    rp_buf_vprintf(&text, fmt, args);
    va_end(args);
    words->at[words->count++] = rp_strdup(rp_buf_text(&text));
}

/* The last line that the command has said, which is its error. */
static char *last_line(const char *path)
{
    rp_autofree char *text = rp_read_text(path, 1 << 20);
    char *end = text ? text + strlen(text) : NULL;

    while (end && end > text && end[-1] == '\n')
        *--end = '\0';
    if (!end || end == text)
        return rp_strdup("it said nothing");
    char *line = strrchr(text, '\n');
    line = line ? line + 1 : text;
    return rp_strdup(strncmp(line, "rocm-perf: ", 11) == 0 ? line + 11 : line);
}

static int open_new(const char *path, struct rp_err *err)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    return fd < 0 ? rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot write %s", path) : fd;
}

/* What ended, for messages: "rocm-perf profile (side_once)". */
static char *called(const struct rp_selftest *test, const struct words *words, const char *name)
{
    if (strcmp(words->at[0], test->suite) != 0)
        return rp_strdup(name);
    if (strcmp(words->at[1], name) == 0)
        return rp_format("rocm-perf %s", name);
    return rp_format("rocm-perf %s (%s)", words->at[1], name);
}

static int ended(const char *what, const struct rp_proc_end *end, const char *said,
                 struct rp_err *err)
{
    rp_autofree char *why = NULL;

    if (end->timed_out)
        return rp_fail(err, RP_PROGRAM, "%s did not end within its time", what);
    if (!end->signaled && end->status == 0)
        return 0;
    why = last_line(said);
    if (end->signaled)
        return rp_fail(err, RP_PROGRAM, "%s was killed by signal %d: %s", what, end->status, why);
    return rp_fail(err, RP_PROGRAM, "%s ended with exit status %d: %s", what, end->status, why);
}

/**
 * Runs a command in the folder of the self-test, until the step's time has passed.
 * @param name for messages, and of the files with what it said
 * @param ret_out what it printed; NULL: not wanted
 */
static int run_words(struct rp_selftest *test, const char *name, struct words *words,
                     char **ret_out, struct rp_err *err)
{
    rp_autofree char *out_path = rp_format("%s/%s.out", test->folder, name);
    rp_autofree char *err_path = rp_format("%s/%s.err", test->folder, name);
    rp_autofree char *what = called(test, words, name);
    const int64_t left_ns = test->deadline_ns - rp_now_ns();
    rp_autoclose int none = open("/dev/null", O_RDONLY | O_CLOEXEC);
    rp_autoclose int out = open_new(out_path, err);
    rp_autoclose int said = out < 0 ? -1 : open_new(err_path, err);
    struct rp_proc_end end = {0};
    struct rp_proc proc = {.path = words->at[0],
                           .argv = words->at,
                           .directory = test->folder,
                           .stdin_fd = none,
                           .stdout_fd = out,
                           .stderr_fd = said,
                           .timeout_ns = left_ns > 0 ? left_ns : 1};
    int rc = out < 0 || said < 0 ? -RP_ENVIRONMENT : rp_proc_run(&proc, &end, err);

    if (rc == 0)
        rc = ended(what, &end, err_path, err);
    if (rc == 0 && ret_out) {
        *ret_out = rp_read_text(out_path, MOST_OUTPUT);
        rc = *ret_out ? 0 : rp_fail(err, RP_PROGRAM, "%s printed nothing", what);
    }
    return rc;
}

static int run_json(struct rp_selftest *test, const char *name, struct words *words, json_t **ret,
                    struct rp_err *err)
{
    rp_autofree char *text = NULL;
    int rc = run_words(test, name, words, &text, err);

    if (rc < 0)
        return rc;
    *ret = json_loads(text, 0, NULL);
    return *ret ? 0
                : rp_fail(err, RP_PROGRAM, "rocm-perf %s printed no JSON (%s)", words->at[1], name);
}

static void add_device(const struct rp_selftest *test, struct words *words)
{
    word(words, "--device");
    if (!test->software)
        word(words, "gpu");
    else if (test->options.target)
        word(words, "software:%s", test->options.target);
    else
        word(words, "software");
}

/* The GPU's own model, on the machine of the GPU. */
static void add_model(const struct rp_selftest *test, struct words *words)
{
    char spec[64];

    if (test->software) {
        add_device(test, words);
        return;
    }
    word(words, "--device");
    if (rp_arch_spec(test->isa, test->arch.product, spec, sizeof spec) == 0)
        word(words, "software:%s", spec);
    else
        word(words, "software:%s", test->isa);
}

static void suite(const struct rp_selftest *test, const char *command, struct words *words)
{
    word(words, "%s", test->suite);
    word(words, "%s", command);
}

/* The private ROCm is newer than the machine's libc, so its own loader starts the workload. */
static void add_loader(const struct rp_selftest *test, struct words *words)
{
    if (test->env->rocm_kind != RP_ROCM_PRIVATE)
        return;
    word(words, "%s/lib64/ld-linux-x86-64.so.2", test->env->rocm_root);
    word(words, "--library-path");
    word(words, "%s", test->libraries);
}

/* The workload in a mode; what it finds is in RESULT.txt. Numbers follow. */
static void add_workload(const struct rp_selftest *test, const char *mode, const char *result,
                         struct words *words)
{
    word(words, "--");
    add_loader(test, words);
    word(words, "%s", test->workload);
    word(words, "%s/libamdhip64.so.7", test->libraries);
    word(words, "%s", mode);
    word(words, "%s", test->code);
    word(words, "%s/%s.txt", test->folder, result);
}

static void add_known(const struct rp_selftest *test, const char *result, unsigned rounds,
                      unsigned launches, struct words *words)
{
    add_workload(test, "known", result, words);
    word(words, "%u", test->sizes.blocks);
    word(words, "%u", rounds);
    word(words, "%u", launches);
}

/* --- what the workload has said ------------------------------------------------------------- */

struct launch_times {
    double event_ns;
    int64_t begin_ns, end_ns;
};

struct said {
    double wrong, numbers;
    uint64_t memory;
    struct launch_times launches[64];
    size_t count;
    double ms[5];
};

static const char *const rate_kernels[] = {"selftest_copy", "selftest_cache", "selftest_lds",
                                           "selftest_fma", "selftest_matrix"};
enum { COPY, CACHE, LDS, FMA, MATRIX, RATES };

static void said_line(const char *line, struct said *said)
{
    struct launch_times times;
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
    for (size_t i = 0; i < RATES; i++)
        if (strcmp(name, rate_kernels[i]) == 0)
            said->ms[i] = value;
}

static int read_said(const struct rp_selftest *test, const char *result, struct said *ret,
                     struct rp_err *err)
{
    rp_autofree char *path = rp_format("%s/%s.txt", test->folder, result);
    rp_autofree char *text = rp_read_text(path, 1 << 20);
    char *rest = NULL;

    if (!text)
        return rp_fail(err, RP_PROGRAM, "the workload wrote no result");
    memset(ret, 0, sizeof *ret);
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        said_line(line, ret);
    return 0;
}

/* --- what a trace has ----------------------------------------------------------------------- */

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

struct trace {
    const struct rp_row_dispatch *dispatches;
    const struct rp_row_kernel *kernels;
    size_t dispatch_count, kernel_count;
};

static const struct rp_row_kernel *kernel_of(const struct trace *trace,
                                             const struct rp_row_dispatch *dispatch)
{
    for (size_t i = 0; i < trace->kernel_count; i++)
        if (trace->kernels[i].id == dispatch->kernel_id &&
            trace->kernels[i].guid_index == dispatch->guid_index)
            return &trace->kernels[i];
    return NULL;
}

static bool is_named(const struct trace *trace, const struct rp_row_dispatch *dispatch,
                     const char *name)
{
    const struct rp_row_kernel *kernel = kernel_of(trace, dispatch);

    return kernel && strncmp(kernel->plain_name, name, strlen(name)) == 0;
}

/* The last launch of the known kernel is the producer, which the other kernel waits for. */
static void trace_order(const struct trace *trace, json_t *values)
{
    const struct rp_row_dispatch *producer = NULL, *consumer = NULL;
    double after = 0, backwards = 0;

    for (size_t i = 0; i < trace->dispatch_count; i++) {
        const struct rp_row_dispatch *d = &trace->dispatches[i];

        backwards += d->end_ns <= d->start_ns;
        if (is_named(trace, d, KNOWN) && (!producer || d->dispatch_id > producer->dispatch_id))
            producer = d;
        if (is_named(trace, d, "selftest_after")) {
            consumer = d;
            after++;
        }
    }
    put(values, "after_launches", after);
    put(values, "backwards", backwards);
    put(values, "early_ns",
        producer && consumer ? (double)(producer->end_ns - consumer->start_ns) : NAN);
}

/* A launch is outside when the host had not begun it yet, or no longer waited for it. */
static double outside(const struct rp_row_dispatch *d, const struct launch_times *host)
{
    const int64_t slack_ns = 200000;

    return d->start_ns < host->begin_ns - slack_ns || d->end_ns > host->end_ns + slack_ns;
}

static void trace_known(const struct trace *trace, const struct said *said, json_t *values)
{
    double ns[64], events[64], hosts[64], count = 0, out = 0;
    const struct rp_row_dispatch *one = NULL;
    size_t timed = 0;

    for (size_t i = 0; i < trace->dispatch_count; i++) {
        const struct rp_row_dispatch *d = &trace->dispatches[i];

        if (!is_named(trace, d, KNOWN))
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
    put(values, "known_launches", count);
    put(values, "grid", one ? (double)one->grid[0] : NAN);
    put(values, "workgroup", one ? (double)one->workgroup[0] : NAN);
    put(values, "lds_bytes", one ? (double)one->group_bytes : NAN);
    put(values, "kernel_ns", median(ns, timed));
    put(values, "event_ns", median(events, timed));
    put(values, "host_ns", median(hosts, timed));
    put(values, "outside", out);
}

static int read_trace(struct rp_store *store, struct trace *ret, struct rp_err *err)
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
    put(values, "hip_launches", launches);
    put_bool(values, "dependency_recorded", dependency);
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
    put(values, "copies", rc == 0 ? (double)count : NAN);
    put(values, "copied_bytes", rc == 0 ? bytes : NAN);
    return rc;
}

/* What is in the trace of the known workload. */
static int trace_values(struct rp_selftest *test, const char *folder, const char *result,
                        json_t *values, struct rp_err *err)
{
    rp_autofree char *path = rp_format("%s/%s/trace_results.db", test->folder, folder);
    struct rp_store *store = NULL;
    struct trace trace = {0};
    struct said said;
    int rc = read_said(test, result, &said, err);

    if (rc == 0)
        rc = rp_store_open(path, &store, err);
    if (rc == 0)
        rc = read_trace(store, &trace, err);
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

static double number_at(const json_t *json, const char *a, const char *b)
{
    const json_t *value = json_object_get(json, a);

    if (b)
        value = json_object_get(value, b);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static const json_t *named_in(const json_t *list, const char *name)
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

/* --- compile and run ------------------------------------------------------------------------ */

static int compile_by_hiprtc(struct rp_selftest *test, const char *source, struct rp_err *err)
{
    rp_cleanup(words_free) struct words words = {0};

    add_loader(test, &words);
    word(&words, "%s", test->workload);
    word(&words, "%s/libhiprtc.so.7", test->libraries);
    word(&words, "compile");
    word(&words, "%s", source);
    word(&words, "%s", test->code);
    word(&words, "--offload-arch=%s", test->isa);
    return run_words(test, "hiprtc", &words, NULL, err);
}

static int compile_by_hipcc(struct rp_selftest *test, const char *source, struct rp_err *err)
{
    rp_cleanup(words_free) struct words words = {0};

    suite(test, "hipcc", &words);
    for (const char *const *each = (const char *const[]){"-O3", "-g", "--genco", "-o", NULL}; *each;
         each++)
        word(&words, "%s", *each);
    word(&words, "%s", test->code);
    word(&words, "--offload-arch=%s", test->isa);
    word(&words, "%s", source);
    return run_words(test, "hipcc", &words, NULL, err);
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
    put(values, "code_bytes", (double)count);
    json_object_set_new(values, "compiler", json_string(compiler));
    return rc;
}

/* The host's and the events' times without a tracer, for its cost. */
static void untraced_values(const struct said *said, json_t *values)
{
    double events[64], hosts[64];

    for (size_t i = 0; i < said->count; i++) {
        events[i] = said->launches[i].event_ns;
        hosts[i] = (double)(said->launches[i].end_ns - said->launches[i].begin_ns);
    }
    put(values, "event_ns", median(events, said->count));
    put(values, "host_ns", median(hosts, said->count));
}

int rp_selftest_run(struct rp_selftest *test, json_t *values, struct rp_err *err)
{
    rp_cleanup(words_free) struct words words = {0};
    struct said said = {0};
    int rc;

    suite(test, "run", &words);
    add_device(test, &words);
    add_known(test, "run", test->sizes.rounds, test->sizes.launches, &words);
    rc = run_words(test, "run", &words, NULL, err);
    if (rc == 0)
        rc = read_said(test, "run", &said, err);
    if (rc < 0)
        return rc;
    put(values, "wrong", said.wrong);
    put(values, "numbers", said.numbers);
    put(values, "numbers_expected", (double)test->sizes.blocks * BLOCK);
    untraced_values(&said, values);
    return 0;
}

/* --- both tracers, and clocks --------------------------------------------------------------- */

/* As profile tells them: some versions of rocprofv3 report half of the registers, which it
 * corrects.
 */
static void register_values(const json_t *profile, json_t *values)
{
    const json_t *found =
        json_object_get(named_in(json_object_get(profile, "kernels"), KNOWN), "resources");

    put(values, "vgprs",
        number_at(found, "vgpr_per_thread", NULL) + number_at(found, "agpr_per_thread", NULL));
    put(values, "sgprs", number_at(found, "sgpr_per_wave", NULL));
}

static int profile_known(struct rp_selftest *test, const char *tracer, const char *name,
                         json_t *values, struct rp_err *err)
{
    rp_cleanup(words_free) struct words words = {0};
    json_t *profile = NULL;
    int rc;

    suite(test, "profile", &words);
    add_device(test, &words);
    for (const char *const *each =
             (const char *const[]){"--runs", "1", "--json", "--tracer", tracer, "-o", name, NULL};
         *each; each++)
        word(&words, "%s", *each);
    add_known(test, name, test->sizes.rounds, test->sizes.launches, &words);
    rc = run_json(test, name, &words, &profile, err);
    if (rc == 0)
        rc = trace_values(test, name, name, values, err);
    if (rc == 0) {
        const json_t *from = json_object_get(profile, "provenance");

        register_values(profile, values);
        put(values, "lost",
            number_at(from, "lost_records", NULL) + number_at(from, "lost_dispatches", NULL) +
                number_at(from, "untraced_queues", NULL) +
                number_at(from, "incomplete_traces", NULL));
    }
    json_decref(profile);
    return rc;
}

int rp_selftest_collector(struct rp_selftest *test, json_t *values, struct rp_err *err)
{
    put(values, "launches_expected", test->sizes.launches + 1.0);
    put(values, "hip_launches_expected", test->sizes.launches + 2.0);
    put(values, "grid_expected", (double)test->sizes.blocks * BLOCK);
    return profile_known(test, "builtin", "collector", values, err);
}

static int without_rocprofv3(struct rp_err *err)
{
    rp_fail(err, RP_ENVIRONMENT,
            "there is no rocprofv3 in the ROCm in use; install the package rocprofiler-sdk");
    return RP_SELFTEST_SKIP;
}

int rp_selftest_rocprofv3(struct rp_selftest *test, json_t *values, struct rp_err *err)
{
    if (!test->env->rocprofv3)
        return without_rocprofv3(err);
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
        put(values, name, number_at(test->steps[step].values, of[i][1], NULL));
    }
}

int rp_selftest_clocks(struct rp_selftest *test, json_t *values, struct rp_err *err)
{
    (void)err;
    clock_values(test, RP_SELFTEST_collector, values);
    clock_values(test, RP_SELFTEST_rocprofv3, values);
    return 0;
}

/* --- counters ------------------------------------------------------------------------------- */

/* A counter of a kernel, for one launch. */
static double counter(const json_t *profile, const char *kernel, const char *name)
{
    const json_t *found = named_in(json_object_get(profile, "kernels"), kernel);

    return number_at(json_object_get(found, "counters"), name, NULL) /
           number_at(found, "calls", NULL);
}

static void counter_values(const struct rp_selftest *test, const json_t *profile, json_t *values)
{
    const double waves = (double)test->sizes.blocks * BLOCK / test->arch.wave_size;

    put(values, "waves_expected", waves);
    put(values, "fma_expected", waves * FMA_A_ROUND * test->sizes.rounds);
    put(values, "lds_expected", waves * 2);
    put(values, "waves", counter(profile, KNOWN, "SQ_WAVES"));
    put(values, "fma", counter(profile, KNOWN, "SQ_INSTS_VALU_FMA_F32"));
    put(values, "loads", counter(profile, KNOWN, "SQ_INSTS_VMEM_RD"));
    put(values, "stores", counter(profile, KNOWN, "SQ_INSTS_VMEM_WR"));
    put(values, "lds", counter(profile, KNOWN, "SQ_INSTS_LDS"));
}

static bool has_matrix_products(const struct rp_selftest *test)
{
    return strcmp(test->isa, "gfx90a") == 0 || strcmp(test->isa, "gfx942") == 0 ||
           strcmp(test->isa, "gfx950") == 0;
}

static void roofline_values(const struct rp_selftest *test, const json_t *roofline, json_t *values)
{
    const json_t *kernels = json_object_get(roofline, "kernels");
    const json_t *known = named_in(kernels, KNOWN), *copy = named_in(kernels, "selftest_copy"),
                 *matrix = named_in(kernels, "selftest_matrix"),
                 *peaks = json_object_get(known, "ceilings");
    const struct rp_selftest_sizes *sizes = &test->sizes;
    const double waves = (double)sizes->blocks * BLOCK / 64;

    put(values, "flops_expected", (double)sizes->blocks * BLOCK * FMA_A_ROUND * sizes->rounds * 2);
    put(values, "matrix_flops_expected", waves * 4 * sizes->matrix_rounds * 32 * 32 * 8 * 2);
    put(values, "copy_bytes", (double)sizes->copy_mib * (1 << 20));
    put(values, "flops", number_at(known, "flops_by_type", "valu_f32"));
    put(values, "matrix_flops", number_at(matrix, "flops_by_type", "mfma_f16"));
    put(values, "copy_read_bytes", number_at(copy, "hbm_read_bytes", NULL));
    put(values, "copy_write_bytes", number_at(copy, "hbm_write_bytes", NULL));
    put(values, "peak_hbm_gbps", number_at(peaks, "hbm_gbps", NULL));
    put(values, "peak_lds_gbps", number_at(peaks, "lds_gbps", NULL));
    put(values, "peak_fma_gflops", number_at(peaks, "valu_f32_gflops", NULL));
    put(values, "peak_matrix_gflops", number_at(peaks, "mfma_f16_gflops", NULL));
}

static int read_json(const struct rp_selftest *test, const char *path, json_t **ret,
                     struct rp_err *err)
{
    rp_autofree char *whole = rp_format("%s/%s", test->folder, path);

    *ret = json_load_file(whole, 0, NULL);
    return *ret ? 0 : rp_fail(err, RP_PROGRAM, "%s is missing", path);
}

/* What was counted beside the known counts: of each kernel, all of it. It goes into the file for
 * who compares. */
static void all_counters(const json_t *profile, json_t *values)
{
    json_t *all = json_object();
    const json_t *kernel;
    size_t i;

    json_array_foreach(json_object_get(profile, "kernels"), i, kernel)
    {
        const char *name = json_string_value(json_object_get(kernel, "name"));
        json_t *counters = json_object_get(kernel, "counters");

        if (name && strncmp(name, "selftest_", 9) == 0 && counters)
            json_object_set(all, name, counters);
    }
    json_object_set_new(values, "counters", all);
}

static bool can_count(const struct rp_selftest *test)
{
    return test->software ? strcmp(test->tracer, "rocprofv3") != 0 || test->env->rocprofv3
                          : test->env->rocprofv3 && strcmp(test->tracer, "builtin") != 0;
}

int rp_selftest_counters(struct rp_selftest *test, json_t *values, struct rp_err *err)
{
    rp_cleanup(words_free) struct words words = {0};
    json_t *profile = NULL, *roofline = NULL;
    int rc;

    if (!can_count(test))
        return without_rocprofv3(err);
    suite(test, "profile", &words);
    add_device(test, &words);
    for (const char *const *each =
             (const char *const[]){"--runs", "1", "--json", "--roofline", "--pmc",
                                   "SQ_WAVES SQ_INSTS_VALU_FMA_F32 SQ_INSTS_VMEM_RD "
                                   "SQ_INSTS_VMEM_WR SQ_INSTS_LDS",
                                   "--tracer", test->tracer, "-o", "counters", NULL};
         *each; each++)
        word(&words, "%s", *each);
    add_workload(test, "counted", "counters", &words);
    word(&words, "%u", test->sizes.blocks);
    word(&words, "%u", test->sizes.rounds);
    word(&words, "%u", test->sizes.copy_mib);
    word(&words, "%u", has_matrix_products(test) ? test->sizes.matrix_rounds : 0);
    rc = run_json(test, "counters", &words, &profile, err);
    if (rc == 0)
        rc = read_json(test, "counters/roofline.json", &roofline, err);
    if (rc == 0) {
        counter_values(test, profile, values);
        roofline_values(test, roofline, values);
        all_counters(profile, values);
    }
    json_decref(profile);
    json_decref(roofline);
    return rc;
}

/* --- thread trace --------------------------------------------------------------------------- */

static double executed(const json_t *instruction)
{
    return number_at(instruction, "sums", "executed");
}

static void thread_trace_values(const struct rp_selftest *test, const json_t *trace, json_t *values)
{
    const json_t *each,
        *waves = json_object_get(trace, "waves"),
        *occupancy = json_object_get(json_object_get(trace, "occupancy"), "engines");
    const double count = (double)json_array_size(waves);
    double fma = 0, barriers = 0, unnamed = 0, lines = 0;
    size_t i;

    json_array_foreach(json_object_get(trace, "instructions"), i, each)
    {
        const char *text = json_string_value(json_object_get(each, "isa"));

        unnamed += !text || !*text;
        lines += !json_is_null(json_object_get(each, "source"));
        if (text && strncmp(text, "v_fma_f32", 9) == 0)
            fma += executed(each);
        if (text && strncmp(text, "s_barrier", 9) == 0)
            barriers += executed(each);
    }
    const bool whole = number_at(trace, "waves_cut_short", NULL) == 0;
    put(values, "waves", count);
    put(values, "fma", whole ? fma : NAN);
    put(values, "fma_expected", barriers * FMA_A_ROUND * test->sizes.rounds);
    put(values, "barriers", whole ? barriers : NAN);
    put(values, "unnamed", unnamed);
    put(values, "without_lines", lines == 0);
    for (const char *const *name =
             (const char *const[]){"waves_cut_short", "waves_lost", "clock_mhz", NULL};
         *name; name++)
        put(values, *name, number_at(trace, *name, NULL));
    put(values, "executed", number_at(trace, "sums", "executed"));
    put(values, "stall_cycles", number_at(trace, "sums", "stall_cycles"));
    put(values, "latency_cycles", number_at(trace, "sums", "latency_cycles"));
    put(values, "mean_waves_per_simd",
        number_at(json_array_get(occupancy, 0), "mean_waves_per_simd", NULL));
}

/* What the suite says that limits the kernel is reported: nobody knows yet whether it is right on a
 * GPU. */
static void label_values(const struct rp_selftest *test, json_t *values)
{
    rp_autofree char *path = rp_format("%s/thread_trace/analysis.json", test->folder);
    json_t *analysis = json_load_file(path, 0, NULL);
    const json_t *kernel = named_in(json_object_get(analysis, "kernels"), KNOWN);
    const json_t *label = json_object_get(json_object_get(kernel, "bottleneck"), "label");
    const json_t *occupancy = json_object_get(kernel, "occupancy");

    json_object_set_new(values, "label",
                        json_is_string(label) ? json_string(json_string_value(label))
                                              : json_null());
    put(values, "achieved_waves_per_simd", number_at(occupancy, "achieved_waves_per_simd", NULL));
    put(values, "theoretical_occupancy", number_at(occupancy, "theoretical", NULL));
    json_decref(analysis);
}

static int profile_deep(struct rp_selftest *test, struct rp_err *err)
{
    rp_cleanup(words_free) struct words words = {0};

    suite(test, "profile", &words);
    add_device(test, &words);
    for (const char *const *each =
             (const char *const[]){"--runs", "1", "--quiet", "--deep-analysis",
                                   "--kernel-include-regex", KNOWN, "--tracer", test->tracer, "-o",
                                   "thread_trace", NULL};
         *each; each++)
        word(&words, "%s", *each);
    add_known(test, "thread_trace", test->sizes.rounds, 1, &words);
    return run_words(test, "thread_trace", &words, NULL, err);
}

/* Whether the decoder is what is missing stands in what profile has said. */
static int no_thread_trace(const struct rp_selftest *test, struct rp_err *err)
{
    rp_autofree char *path = rp_format("%s/thread_trace.err", test->folder);
    rp_autofree char *said = rp_read_text(path, 1 << 20);

    if (said && strstr(said, "decoder")) {
        rp_fail(err, RP_ENVIRONMENT,
                "the decoder of thread traces is missing; install the package "
                "rocprof-trace-decoder, or ROCm 7.13 or later");
        return RP_SELFTEST_SKIP;
    }
    return err->code ? -(int)err->code
                     : rp_fail(err, RP_PROGRAM, "profile --deep-analysis left no thread trace");
}

int rp_selftest_thread_trace(struct rp_selftest *test, json_t *values, struct rp_err *err)
{
    json_t *traces = NULL;
    int rc;

    if (!can_count(test))
        return without_rocprofv3(err);
    if (test->software && !test->arch.timing) {
        rp_fail(err, RP_ENVIRONMENT, "the software device has no thread traces of %s", test->isa);
        return RP_SELFTEST_SKIP;
    }
    rc = profile_deep(test, err);
    if (rc == -RP_INTERRUPTED)
        return rc;
    if (rc == 0)
        rc = read_json(test, "thread_trace/thread_trace.json", &traces, err);
    const json_t *first = json_array_get(json_object_get(traces, "thread_trace"), 0);
    if (rc == 0 && first) {
        thread_trace_values(test, first, values);
        label_values(test, values);
    } else {
        rc = no_thread_trace(test, err);
    }
    json_decref(traces);
    return rc;
}

/* --- capture and replay --------------------------------------------------------------------- */

enum { WORDS_A_PAGE = RP_PAGE_BYTES / 4, CHANGE_BLOCKS = 64, REPLAYS = 20 };

/* The workload wrote 7 i + 1 there, and the kernel made 3 of each, and i. */
static double wrong_words(const uint8_t *page, uint64_t first, uint64_t count, bool after)
{
    double wrong = 0;

    for (uint64_t i = 0; i < count; i++) {
        const uint32_t before = (uint32_t)(first + i) * 7 + 1;
        uint32_t got;

        memcpy(&got, page + i * 4, sizeof got);
        wrong += got != (after ? before * 3 + (uint32_t)(first + i) : before);
    }
    return wrong;
}

static int check_memory(struct rp_capture *capture, const struct rp_capture_memory *memory,
                        uint64_t address, json_t *values, struct rp_err *err)
{
    const uint64_t page = (address - memory->region.base) / RP_PAGE_BYTES,
                   words = CHANGE_BLOCKS * BLOCK;
    double before = 0, after = 0;
    uint64_t at = 0;
    int rc = 0;

    for (; rc == 0 && at < words &&
           (page + at / WORDS_A_PAGE + 1) * RP_PAGE_BYTES <= memory->region.bytes;
         at += WORDS_A_PAGE) {
        uint8_t bytes[RP_PAGE_BYTES];

        rc =
            rp_capture_page(capture, memory, RP_STATE_BEFORE, page + at / WORDS_A_PAGE, bytes, err);
        before += wrong_words(bytes, at, WORDS_A_PAGE, false);
        if (rc == 0)
            rc = rp_capture_page(capture, memory, RP_STATE_AFTER, page + at / WORDS_A_PAGE, bytes,
                                 err);
        after += wrong_words(bytes, at, WORDS_A_PAGE, true);
    }
    put(values, "words", (double)at);
    put(values, "wrong_before", before);
    put(values, "wrong_after", after);
    return rc;
}

static int capture_values(struct rp_selftest *test, json_t *values, struct rp_err *err)
{
    rp_autofree char *folder = rp_path_join(test->folder, "captured");
    struct rp_capture *capture = NULL;
    struct said said;
    int rc = read_said(test, "isolate", &said, err);

    put(values, "words_expected", (double)CHANGE_BLOCKS * BLOCK);
    put(values, "words", 0);
    if (rc == 0)
        rc = rp_capture_open(folder, &capture, err);
    if (rc < 0)
        return rc;
    const struct rp_capture_contents *contents = rp_capture_contents(capture);
    put(values, "regions", (double)contents->memory_count);
    put(values, "regions_refused", (double)contents->refusal_count);
    for (size_t i = 0; rc == 0 && i < contents->memory_count; i++) {
        const struct rp_snapshot_region *region = &contents->memory[i].region;

        if (said.memory >= region->base && said.memory - region->base < region->bytes)
            rc = check_memory(capture, &contents->memory[i], said.memory, values, err);
    }
    rp_capture_close(capture);
    return rc;
}

int rp_selftest_isolate(struct rp_selftest *test, json_t *values, struct rp_err *err)
{
    rp_cleanup(words_free) struct words words = {0};
    int rc;

    suite(test, "isolate", &words);
    add_device(test, &words);
    for (const char *const *each = (const char *const[]){"--kernel", "selftest_change",
                                                         "--no-self-check", "-o", "captured", NULL};
         *each; each++)
        word(&words, "%s", *each);
    add_workload(test, "change", "isolate", &words);
    word(&words, "%d", CHANGE_BLOCKS);
    rc = run_words(test, "isolate", &words, NULL, err);
    return rc < 0 ? rc : capture_values(test, values, err);
}

static int replay(struct rp_selftest *test, const char *name, const char *const *more, json_t **ret,
                  struct rp_err *err)
{
    rp_cleanup(words_free) struct words words = {0};

    suite(test, "replay", &words);
    for (; *more; more++)
        word(&words, "%s", *more);
    add_device(test, &words);
    word(&words, "--capture-dir");
    word(&words, "captured");
    word(&words, "--json");
    return run_json(test, name, &words, ret, err);
}

int rp_selftest_replay(struct rp_selftest *test, json_t *values, struct rp_err *err)
{
    const char *const more[] = {"full-vm", "--iterations", "20", "--verify", NULL};
    json_t *result = NULL;
    const int rc = replay(test, "replay", more, &result, err);

    if (rc < 0)
        return rc;
    const json_t *verify = json_object_get(result, "verify"),
                 *timing = json_object_get(result, "timing");
    put_bool(values, "equal", json_is_true(json_object_get(verify, "equal")));
    put(values, "different_pages", number_at(verify, "different_pages", NULL));
    put(values, "iterations", (double)json_array_size(json_object_get(timing, "samples")));
    put(values, "iterations_expected", REPLAYS);
    put(values, "median_us", number_at(timing, "median", NULL));
    put(values, "min_us", number_at(timing, "min", NULL));
    put(values, "max_us", number_at(timing, "max", NULL));
    json_decref(result);
    return 0;
}

int rp_selftest_replay_compare(struct rp_selftest *test, json_t *values, struct rp_err *err)
{
    const char *const more[] = {"compare", test->code, test->code, "--blocks", "10", NULL};
    json_t *result = NULL;
    const int rc = replay(test, "replay_compare", more, &result, err);

    if (rc < 0)
        return rc;
    const char *verdict = json_string_value(json_object_get(result, "verdict"));
    put(values, "wrong_runs",
        number_at(result, "a", "wrong_runs") + number_at(result, "b", "wrong_runs"));
    put_bool(values, "same",
             verdict && strcmp(verdict, "faster") != 0 && strcmp(verdict, "slower") != 0);
    json_object_set_new(values, "verdict", json_string(verdict ? verdict : "none"));
    json_decref(result);
    return 0;
}

/* --- compare, autotune ---------------------------------------------------------------------- */

static int profile_side(struct rp_selftest *test, const char *name, unsigned rounds,
                        struct rp_err *err)
{
    rp_cleanup(words_free) struct words words = {0};

    suite(test, "profile", &words);
    add_device(test, &words);
    for (const char *const *each =
             (const char *const[]){"--quiet", "--tracer", "builtin", "-o", name, NULL};
         *each; each++)
        word(&words, "%s", *each);
    word(&words, "--runs");
    word(&words, "%u", test->sizes.compare_runs);
    add_known(test, name, rounds, test->sizes.launches, &words);
    return run_words(test, name, &words, NULL, err);
}

/* The ratio of the known kernel's times: how much longer the second takes. */
static int compare_sides(struct rp_selftest *test, const char *a, const char *b, char *ret_verdict,
                         size_t room, double *ret_ratio, struct rp_err *err)
{
    rp_cleanup(words_free) struct words words = {0};
    rp_autofree char *name = rp_format("compare_%s", b);
    json_t *result = NULL;
    int rc;

    suite(test, "compare", &words);
    word(&words, "%s", a);
    word(&words, "%s", b);
    word(&words, "--json");
    rc = run_json(test, name, &words, &result, err);
    if (rc < 0)
        return rc;
    const json_t *kernels =
        json_object_get(json_array_get(json_object_get(result, "comparisons"), 0), "kernels");
    const json_t *time = json_object_get(named_in(kernels, KNOWN), "time");
    const char *verdict = json_string_value(json_object_get(time, "verdict"));
    snprintf(ret_verdict, room, "%s", verdict ? verdict : "none");
    *ret_ratio = number_at(time, "ratio", NULL);
    json_decref(result);
    return 0;
}

int rp_selftest_compare(struct rp_selftest *test, json_t *values, struct rp_err *err)
{
    const unsigned rounds = test->sizes.rounds;
    char again[32] = "", twice[32] = "";
    double ratio = NAN, twice_ratio = NAN;
    int rc = profile_side(test, "side_once", rounds, err);

    if (rc == 0)
        rc = profile_side(test, "side_again", rounds, err);
    if (rc == 0)
        rc = profile_side(test, "side_twice", rounds * 2, err);
    if (rc == 0)
        rc = compare_sides(test, "side_once", "side_again", again, sizeof again, &ratio, err);
    if (rc == 0)
        rc = compare_sides(test, "side_once", "side_twice", twice, sizeof twice, &twice_ratio, err);
    if (rc < 0)
        return rc;
    put_bool(values, "slower", strcmp(twice, "slower") == 0);
    put_bool(values, "same", strcmp(again, "faster") != 0 && strcmp(again, "slower") != 0);
    json_object_set_new(values, "verdict_of_the_same", json_string(again));
    put(values, "ratio_of_the_same", ratio);
    put(values, "ratio_of_twice_the_work", twice_ratio);
    return 0;
}

static void put_quoted(struct rp_buf *to, const struct words *words, size_t from)
{
    for (size_t i = from; i < words->count; i++)
        rp_buf_printf(to, "%s'%s'", i > from ? " " : "", words->at[i]);
}

/* The command of a configuration: the workload with its own number of rounds. */
static void put_template(const struct rp_selftest *test, struct rp_buf *to)
{
    rp_cleanup(words_free) struct words words = {0};

    add_workload(test, "known", "autotune", &words);
    word(&words, "%u", test->sizes.blocks);
    word(&words, "{ROUNDS}");
    word(&words, "1");
    word(&words, "{TWICE}");   /* is not looked at */
    put_quoted(to, &words, 1); /* without "--" */
}

/* autotune never runs all of a space: each number of rounds is in it twice, so that the best is
 * run. */
static int write_space(const struct rp_selftest *test, struct rp_err *err)
{
    rp_autofree char *path = rp_path_join(test->folder, "space.json");
    const unsigned rounds = test->sizes.rounds;
    rp_autofree char *text = rp_format("{\"ROUNDS\": [%u, %u, %u], \"TWICE\": [0, 1]}\n",
                                       rounds * 4, rounds, rounds * 2);

    return rp_write_file(path, text, strlen(text), err);
}

int rp_selftest_autotune(struct rp_selftest *test, json_t *values, struct rp_err *err)
{
    rp_cleanup(words_free) struct words words = {0};
    rp_autobuf command = {0};
    json_t *result = NULL;
    int rc = write_space(test, err);

    put_template(test, &command);
    suite(test, "autotune", &words);
    add_device(test, &words);
    for (const char *const *each =
             (const char *const[]){"--space", "space.json", "--max-fraction", "0.99", "--warmup",
                                   "0", "--repeats", "1:2", "--top", "2", "--cmd-template",
                                   rp_buf_text(&command), "-o", "tuned", NULL};
         *each; each++)
        word(&words, "%s", *each);
    if (rc == 0)
        rc = run_words(test, "autotune", &words, NULL, err);
    if (rc == 0)
        rc = read_json(test, "tuned/autotune.json", &result, err);
    if (rc < 0)
        return rc;
    put(values, "best", number_at(json_object_get(result, "best_config"), "parameters", "ROUNDS"));
    put(values, "best_expected", test->sizes.rounds);
    put(values, "evaluated", number_at(result, "evaluated_configs", NULL));
    json_decref(result);
    return 0;
}

/* --- streams, approximations, rates: the GPU beside its model -------------------------------- */

static void add_sizes(const unsigned *sizes, size_t count, struct words *words)
{
    for (size_t i = 0; i < count; i++)
        word(words, "%u", sizes[i]);
}

/* Times of the second half of the launches: the first ones made their queues. */
static int overlap_values(struct rp_selftest *test, const char *name, const char *prefix,
                          json_t *values, struct rp_err *err)
{
    rp_autofree char *path = rp_format("%s/%s/trace_results.db", test->folder, name);
    rp_autofree char *key = rp_format("%soverlap", prefix);
    struct rp_store *store = NULL;
    struct trace trace = {0};
    int64_t begin = INT64_MAX, end = 0, sum = 0;
    size_t launches = 0;
    int rc = rp_store_open(path, &store, err);

    if (rc == 0)
        rc = read_trace(store, &trace, err);
    for (size_t i = 0; rc == 0 && i < trace.dispatch_count; i++) {
        const struct rp_row_dispatch *d = &trace.dispatches[i];

        if (!is_named(&trace, d, KNOWN) || ++launches <= test->sizes.streams)
            continue;
        begin = d->start_ns < begin ? d->start_ns : begin;
        end = d->end_ns > end ? d->end_ns : end;
        sum += d->end_ns - d->start_ns;
    }
    rp_store_close(store);
    if (!*prefix)
        put(values, "launches", (double)launches);
    put(values, key, end > begin ? (double)sum / (double)(end - begin) : NAN);
    return rc;
}

static int profile_overlap(struct rp_selftest *test, bool model, const char *name,
                           struct rp_err *err)
{
    const unsigned sizes[] = {test->sizes.overlap_blocks,
                              (model ? test->modelled : test->sizes).overlap_rounds,
                              test->sizes.streams};
    rp_cleanup(words_free) struct words words = {0};

    suite(test, "profile", &words);
    (model ? add_model : add_device)(test, &words);
    for (const char *const *each = (const char *const[]){"--runs", "1", "--quiet", "--tracer",
                                                         "builtin", "-o", name, NULL};
         *each; each++)
        word(&words, "%s", *each);
    add_workload(test, "overlap", name, &words);
    add_sizes(sizes, 3, &words);
    return run_words(test, name, &words, NULL, err);
}

/* Whether there is a model of this GPU to compare with. */
static bool is_modelled(const struct rp_selftest *test)
{
    return !test->arch.software_refusal && test->env->device_library;
}

int rp_selftest_overlap(struct rp_selftest *test, json_t *values, struct rp_err *err)
{
    int rc = profile_overlap(test, false, "overlap", err);

    put(values, "launches_expected", test->sizes.streams * 2.0);
    put(values, "streams", test->sizes.streams);
    if (rc == 0)
        rc = overlap_values(test, "overlap", "", values, err);
    if (rc == 0 && is_modelled(test))
        rc = profile_overlap(test, true, "overlap_model", err);
    if (rc == 0 && is_modelled(test))
        rc = overlap_values(test, "overlap_model", "modelled_", values, err);
    return rc;
}

enum { FUNCTIONS = 7, APPROXIMATION_BLOCKS = 16 };

static int approximate(struct rp_selftest *test, bool model, const char *name, void **ret,
                       size_t *ret_bytes, struct rp_err *err)
{
    rp_cleanup(words_free) struct words words = {0};
    rp_autofree char *path = rp_format("%s/%s.floats", test->folder, name);
    int rc;

    suite(test, "run", &words);
    (model ? add_model : add_device)(test, &words);
    add_workload(test, "approximate", name, &words);
    word(&words, "%d", APPROXIMATION_BLOCKS);
    word(&words, "%s", path);
    rc = run_words(test, name, &words, NULL, err);
    return rc < 0 ? rc : rp_read_file(path, 1 << 20, RP_PROGRAM, ret, ret_bytes, err);
}

/* Neighbouring numbers of one sign have neighbouring bits. */
static double steps_between(uint32_t a, uint32_t b)
{
    return (a ^ b) >> 31 ? INFINITY : fabs((double)a - (double)b);
}

static void compare_bits(const uint32_t *got, const uint32_t *modelled, size_t count,
                         json_t *values)
{
    static const char *const functions[FUNCTIONS] = {"rcp",  "sqrt", "rsq", "exp2",
                                                     "log2", "sin",  "cos"};
    const size_t each = count / FUNCTIONS;
    double different = 0;

    for (size_t f = 0; f < FUNCTIONS; f++) {
        double its = 0, most = 0;
        char name[32];

        for (size_t i = f * each; i < (f + 1) * each; i++) {
            its += got[i] != modelled[i];
            most = fmax(most, steps_between(got[i], modelled[i]));
        }
        different += its;
        snprintf(name, sizeof name, "%s_different", functions[f]);
        put(values, name, its);
        snprintf(name, sizeof name, "%s_most_ulp", functions[f]);
        put(values, name, most);
    }
    put(values, "different", different);
}

int rp_selftest_approximations(struct rp_selftest *test, json_t *values, struct rp_err *err)
{
    rp_autofree void *got = NULL;
    rp_autofree void *modelled = NULL;
    size_t bytes = 0, modelled_bytes = 0;
    int rc = approximate(test, false, "approximations", &got, &bytes, err);

    if (rc < 0)
        return rc;
    put(values, "numbers", (double)bytes / 4);
    put(values, "numbers_expected", (double)FUNCTIONS * APPROXIMATION_BLOCKS * BLOCK);
    json_object_set_new(values, "different", json_null());
    if (!is_modelled(test))
        return 0;
    rc = approximate(test, true, "approximations_model", &modelled, &modelled_bytes, err);
    if (rc == 0 && bytes == modelled_bytes)
        compare_bits(got, modelled, bytes / 4, values);
    return rc;
}

static int run_rates(struct rp_selftest *test, bool model, const char *name, struct said *ret,
                     struct rp_err *err)
{
    const struct rp_selftest_sizes *s = model ? &test->modelled : &test->sizes;
    const unsigned sizes[] = {s->blocks,
                              s->launches,
                              s->copy_mib,
                              s->cache_rounds,
                              s->lds_rounds,
                              s->fma_rounds,
                              has_matrix_products(test) ? s->matrix_rounds : 0};
    rp_cleanup(words_free) struct words words = {0};
    int rc;

    suite(test, "run", &words);
    (model ? add_model : add_device)(test, &words);
    add_workload(test, "rates", name, &words);
    add_sizes(sizes, sizeof sizes / sizeof *sizes, &words);
    rc = run_words(test, name, &words, NULL, err);
    return rc < 0 ? rc : read_said(test, name, ret, err);
}

/* Gigabytes and thousands of millions of operations a second: work by ms. */
static void rate_values(const struct rp_selftest_sizes *s, const struct said *said,
                        const char *prefix, json_t *values)
{
    const double items = (double)s->blocks * BLOCK, waves = items / 64;
    const struct {
        const char *name;
        double work;
    } rates[RATES] = {
        {"copy_gbps", 2.0 * s->copy_mib * (1 << 20)},
        {"l2_gbps", items * s->cache_rounds * 8 * 16},
        {"lds_gbps", items * s->lds_rounds * 8 * 16},
        {"fma_gflops", items * s->fma_rounds * 32 * 2},
        {"matrix_gflops", waves * s->matrix_rounds * 4 * 32 * 32 * 8 * 2},
    };

    for (size_t i = 0; i < RATES; i++) {
        rp_autofree char *name = rp_format("%s%s", prefix, rates[i].name);

        put(values, name, rates[i].work / (said->ms[i] * 1e6));
    }
}

int rp_selftest_model(struct rp_selftest *test, json_t *values, struct rp_err *err)
{
    struct said said, modelled = {0};
    int rc = run_rates(test, false, "rates", &said, err);

    if (rc < 0)
        return rc;
    rate_values(&test->sizes, &said, "", values);
    if (is_modelled(test)) {
        rc = run_rates(test, true, "rates_model", &modelled, err);
        if (rc < 0)
            return rc;
        rate_values(&test->modelled, &modelled, "modelled_", values);
    }
    put(values, "wrong", said.wrong + modelled.wrong);
    return 0;
}

/* --- JSON traces of rocprofv3 --------------------------------------------------------------- */

static int json_trace_values(struct rp_selftest *test, json_t *values, struct rp_err *err)
{
    rp_autofree char *path = rp_path_join(test->folder, "json_trace/selftest_results.json");
    struct rp_store *store = NULL;
    struct trace trace = {0};
    struct said said;
    int rc = read_said(test, "json_trace", &said, err);

    if (rc == 0)
        rc = rp_store_open_json(path, 0, &store, err);
    if (rc == 0)
        rc = read_trace(store, &trace, err);
    if (rc == 0) {
        trace_order(&trace, values);
        trace_known(&trace, &said, values);
    }
    rp_store_close(store);
    return rc;
}

int rp_selftest_json_trace(struct rp_selftest *test, json_t *values, struct rp_err *err)
{
    rp_cleanup(words_free) struct words words = {0};
    int rc;

    if (!test->env->rocprofv3)
        return without_rocprofv3(err);
    suite(test, "run", &words);
    add_device(test, &words);
    word(&words, "--");
    word(&words, "%s", test->env->rocprofv3);
    for (const char *const *each =
             (const char *const[]){"--kernel-trace", "--output-format", "json", "-d", "json_trace",
                                   "-o", "selftest", NULL};
         *each; each++)
        word(&words, "%s", *each);
    add_known(test, "json_trace", test->sizes.rounds, test->sizes.launches, &words);
    rc = run_words(test, "json_trace", &words, NULL, err);
    return rc < 0 ? rc : json_trace_values(test, values, err);
}

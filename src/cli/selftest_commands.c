/* Running commands of this suite on the workload of the self-test, as a user would. */
#include "cli/selftest_steps.h"

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
#include "cli/selftest.h"

enum { MOST_OUTPUT = 64 << 20 };

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

/* --- running commands
 * ----------------------------------------------------------------------------- */

void rp_selftest_words_free(struct rp_selftest_words *words)
{
    for (size_t i = 0; i < words->count; i++)
        free(words->at[i]);
}

void rp_selftest_word(struct rp_selftest_words *words, const char *fmt, ...)
{
    va_list args;
    rp_autobuf text = {0};

    if (words->count + 1 >= RP_SELFTEST_MOST_WORDS)
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
static char *called(const struct rp_selftest *test, const struct rp_selftest_words *words,
                    const char *name)
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
int rp_selftest_run_words(struct rp_selftest *test, const char *name,
                          struct rp_selftest_words *words, char **ret_out, struct rp_err *err)
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

int rp_selftest_run_json(struct rp_selftest *test, const char *name,
                         struct rp_selftest_words *words, json_t **ret, struct rp_err *err)
{
    rp_autofree char *text = NULL;
    int rc = rp_selftest_run_words(test, name, words, &text, err);

    if (rc < 0)
        return rc;
    *ret = json_loads(text, 0, NULL);
    return *ret ? 0
                : rp_fail(err, RP_PROGRAM, "rocm-perf %s printed no JSON (%s)", words->at[1], name);
}

void rp_selftest_add_device(const struct rp_selftest *test, struct rp_selftest_words *words)
{
    rp_selftest_word(words, "--device");
    if (!test->software)
        rp_selftest_word(words, "gpu");
    else if (test->options.target)
        rp_selftest_word(words, "software:%s", test->options.target);
    else
        rp_selftest_word(words, "software");
}

/* The GPU's own model, on the machine of the GPU. */
void rp_selftest_add_model(const struct rp_selftest *test, struct rp_selftest_words *words)
{
    char spec[64];

    if (test->software) {
        rp_selftest_add_device(test, words);
        return;
    }
    rp_selftest_word(words, "--device");
    if (rp_arch_spec(test->isa, test->arch.product, spec, sizeof spec) == 0)
        rp_selftest_word(words, "software:%s", spec);
    else
        rp_selftest_word(words, "software:%s", test->isa);
}

void rp_selftest_suite(const struct rp_selftest *test, const char *command,
                       struct rp_selftest_words *words)
{
    rp_selftest_word(words, "%s", test->suite);
    rp_selftest_word(words, "%s", command);
}

/* The private ROCm is newer than the machine's libc, so its own loader starts the workload. */
void rp_selftest_add_loader(const struct rp_selftest *test, struct rp_selftest_words *words)
{
    if (test->env->rocm_kind != RP_ROCM_PRIVATE)
        return;
    rp_selftest_word(words, "%s/lib64/ld-linux-x86-64.so.2", test->env->rocm_root);
    rp_selftest_word(words, "--library-path");
    rp_selftest_word(words, "%s", test->libraries);
}

/* The workload in a mode; what it finds is in RESULT.txt. Numbers follow. */
void rp_selftest_add_workload(const struct rp_selftest *test, const char *mode, const char *result,
                              struct rp_selftest_words *words)
{
    rp_selftest_word(words, "--");
    rp_selftest_add_loader(test, words);
    rp_selftest_word(words, "%s", test->workload);
    rp_selftest_word(words, "%s/libamdhip64.so.7", test->libraries);
    rp_selftest_word(words, "%s", mode);
    rp_selftest_word(words, "%s", test->code);
    rp_selftest_word(words, "%s/%s.txt", test->folder, result);
}

void rp_selftest_add_known(const struct rp_selftest *test, const char *result, unsigned rounds,
                           unsigned launches, struct rp_selftest_words *words)
{
    rp_selftest_add_workload(test, "known", result, words);
    rp_selftest_word(words, "%u", test->sizes.blocks);
    rp_selftest_word(words, "%u", rounds);
    rp_selftest_word(words, "%u", launches);
}

int rp_selftest_read_json(const struct rp_selftest *test, const char *path, json_t **ret,
                          struct rp_err *err)
{
    rp_autofree char *whole = rp_format("%s/%s", test->folder, path);

    *ret = json_load_file(whole, 0, NULL);
    return *ret ? 0 : rp_fail(err, RP_PROGRAM, "%s is missing", path);
}

bool rp_selftest_has_matrix(const struct rp_selftest *test)
{
    return strcmp(test->isa, "gfx90a") == 0 || strcmp(test->isa, "gfx942") == 0 ||
           strcmp(test->isa, "gfx950") == 0;
}

int rp_selftest_no_rocprofv3(struct rp_err *err)
{
    rp_fail(err, RP_ENVIRONMENT,
            "there is no rocprofv3 in the ROCm in use; install the package rocprofiler-sdk");
    return RP_SELFTEST_SKIP;
}

/* --- what the workload has said
 * ------------------------------------------------------------------- */

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

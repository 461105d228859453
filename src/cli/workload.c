/* Commands of this suite that run kernels of their own: where everything is, how the kernels are
 * compiled, and how other commands are run on the program that launches them. */
#include "cli/workload.h"

#include <errno.h>
#include <fcntl.h>
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
#include "run/machine.h"
#include "trace/rocpd.h"

enum { MOST_OUTPUT = 64 << 20 };

/* --- where everything is --------------------------------------------------------------------- */

/* What is not in our tables still has a name and a size. */
static int find_gpu(struct rp_workload *work, struct rp_err *err)
{
    const struct rp_device_identity *on = &work->on;
    char spec[64];
    int rc = rp_device_identify(work->env, &work->options, &work->on, err);

    if (rc < 0)
        return rc;
    snprintf(work->isa, sizeof work->isa, "%s", on->gfx);
    if (work->software) {
        work->arch = rp_software_gpu(&work->options);
        return 0;
    }
    if (rp_arch_spec(work->isa, on->gpu, spec, sizeof spec) != 0)
        snprintf(spec, sizeof spec, "%s", work->isa);
    rp_arch_select(spec, &work->arch);
    if (!work->arch.name)
        work->arch.software_refusal = "it is not in the tables";
    if (on->compute_units)
        work->arch.compute_units = on->compute_units;
    if (!work->arch.wave_size)
        work->arch.wave_size = strncmp(work->isa, "gfx9", 4) == 0 ? 64 : 32;
    return 0;
}

/* The workload is beside this program, or with the injected libraries once installed. */
static int find_programs(struct rp_workload *work, struct rp_err *err)
{
    rp_autofree char *here = NULL;
    int rc = rp_executable_dir(&here, err);

    if (rc < 0)
        return rc;
    work->suite = rp_path_join(here, "rocm-perf");
    work->code = rp_path_join(work->folder, "kernels.hsaco");
    work->program = rp_path_join(here, "rocm-perf-selftest");
    if (!rp_path_exists(work->program)) {
        free(work->program);
        work->program = rp_format("%s/../lib/rocm-perf-lab/rocm-perf-selftest", here);
    }
    if (!rp_path_exists(work->program))
        return rp_fail(err, RP_ENVIRONMENT,
                       "rocm-perf-selftest is not beside this program; build or install "
                       "rocm-perf-lab completely");
    if (!work->env->rocm_libraries)
        return rp_fail(err, RP_ENVIRONMENT, "%s",
                       work->env->rocm_problem ? work->env->rocm_problem
                                               : "there is no ROCm here; run rocm-perf doctor");
    work->libraries = rp_strdup(work->env->rocm_libraries);
    return 0;
}

int rp_workload_open(struct rp_workload *work, struct rp_err *err)
{
    int rc = rp_device_resolve(work->env, &work->options, err);

    if (rc == 0)
        rc = rp_temporary_folder(&work->folder, err);
    work->software = work->options.device == RP_DEVICE_SOFTWARE;
    if (rc == 0)
        rc = find_programs(work, err);
    return rc < 0 ? rc : find_gpu(work, err);
}

void rp_workload_close(struct rp_workload *work)
{
    rp_temporary_folder_remove(&work->folder);
    rp_device_identity_free(&work->on);
    free(work->suite);
    free(work->program);
    free(work->libraries);
    free(work->code);
}

/* --- running commands ------------------------------------------------------------------------- */

void rp_workload_words_free(struct rp_workload_words *words)
{
    for (size_t i = 0; i < words->count; i++)
        free(words->at[i]);
}

void rp_workload_word(struct rp_workload_words *words, const char *fmt, ...)
{
    va_list args;
    rp_autobuf text = {0};

    if (words->count + 1 >= RP_WORKLOAD_MOST_WORDS)
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
static char *called(const struct rp_workload *work, const struct rp_workload_words *words,
                    const char *name)
{
    if (strcmp(words->at[0], work->suite) != 0)
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

static int run(struct rp_workload *work, const char *name, struct rp_workload_words *words,
               const struct rp_env_change *env, char **ret_out, struct rp_err *err)
{
    rp_autofree char *out_path = rp_format("%s/%s.out", work->folder, name);
    rp_autofree char *err_path = rp_format("%s/%s.err", work->folder, name);
    rp_autofree char *what = called(work, words, name);
    const int64_t left_ns = work->deadline_ns - rp_now_ns();
    rp_autoclose int none = open("/dev/null", O_RDONLY | O_CLOEXEC);
    rp_autoclose int out = open_new(out_path, err);
    rp_autoclose int said = out < 0 ? -1 : open_new(err_path, err);
    struct rp_proc_end end = {0};
    struct rp_proc proc = {.path = words->at[0],
                           .argv = words->at,
                           .env = env,
                           .directory = work->folder,
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

int rp_workload_run(struct rp_workload *work, const char *name, struct rp_workload_words *words,
                    char **ret_out, struct rp_err *err)
{
    return run(work, name, words, NULL, ret_out, err);
}

int rp_workload_run_json(struct rp_workload *work, const char *name,
                         struct rp_workload_words *words, json_t **ret, struct rp_err *err)
{
    rp_autofree char *text = NULL;
    int rc = rp_workload_run(work, name, words, &text, err);

    if (rc < 0)
        return rc;
    *ret = json_loads(text, 0, NULL);
    return *ret ? 0
                : rp_fail(err, RP_PROGRAM, "rocm-perf %s printed no JSON (%s)", words->at[1], name);
}

void rp_workload_add_device(const struct rp_workload *work, struct rp_workload_words *words)
{
    rp_workload_word(words, "--device");
    if (!work->software)
        rp_workload_word(words, "gpu");
    else if (work->options.target)
        rp_workload_word(words, "software:%s", work->options.target);
    else
        rp_workload_word(words, "software");
}

/* The GPU's own model, on the machine of the GPU. */
void rp_workload_add_model(const struct rp_workload *work, struct rp_workload_words *words)
{
    char spec[64];

    if (work->software) {
        rp_workload_add_device(work, words);
        return;
    }
    rp_workload_word(words, "--device");
    if (rp_arch_spec(work->isa, work->arch.product, spec, sizeof spec) == 0)
        rp_workload_word(words, "software:%s", spec);
    else
        rp_workload_word(words, "software:%s", work->isa);
}

void rp_workload_suite(const struct rp_workload *work, const char *command,
                       struct rp_workload_words *words)
{
    rp_workload_word(words, "%s", work->suite);
    rp_workload_word(words, "%s", command);
}

/* The private ROCm is newer than the machine's libc, so its own loader starts the workload. */
void rp_workload_add_loader(const struct rp_workload *work, struct rp_workload_words *words)
{
    if (work->env->rocm_kind != RP_ROCM_PRIVATE)
        return;
    rp_workload_word(words, "%s/lib64/ld-linux-x86-64.so.2", work->env->rocm_root);
    rp_workload_word(words, "--library-path");
    rp_workload_word(words, "%s", work->libraries);
}

/* The workload in a mode; what it finds is in RESULT.txt. Numbers follow. */
void rp_workload_add(const struct rp_workload *work, const char *mode, const char *result,
                     struct rp_workload_words *words)
{
    rp_workload_word(words, "--");
    rp_workload_add_loader(work, words);
    rp_workload_word(words, "%s", work->program);
    rp_workload_word(words, "%s/libamdhip64.so.7", work->libraries);
    rp_workload_word(words, "%s", mode);
    rp_workload_word(words, "%s", work->code);
    rp_workload_word(words, "%s/%s.txt", work->folder, result);
}

int rp_workload_read_json(const struct rp_workload *work, const char *path, json_t **ret,
                          struct rp_err *err)
{
    rp_autofree char *whole = rp_format("%s/%s", work->folder, path);

    *ret = json_load_file(whole, 0, NULL);
    return *ret ? 0 : rp_fail(err, RP_PROGRAM, "%s is missing", path);
}

/* --- what was traced -------------------------------------------------------------------------- */

int rp_workload_read_trace(struct rp_store *store, struct rp_workload_trace *ret,
                           struct rp_err *err)
{
    int rc = rp_store_kernels(store, &ret->kernels, &ret->kernel_count, err);

    return rc < 0 ? rc : rp_store_dispatches(store, &ret->dispatches, &ret->dispatch_count, err);
}

static const struct rp_row_kernel *kernel_of(const struct rp_workload_trace *trace,
                                             const struct rp_row_dispatch *dispatch)
{
    for (size_t i = 0; i < trace->kernel_count; i++)
        if (trace->kernels[i].id == dispatch->kernel_id &&
            trace->kernels[i].guid_index == dispatch->guid_index)
            return &trace->kernels[i];
    return NULL;
}

bool rp_workload_is_named(const struct rp_workload_trace *trace,
                          const struct rp_row_dispatch *dispatch, const char *name)
{
    const struct rp_row_kernel *kernel = kernel_of(trace, dispatch);

    return kernel && strncmp(kernel->plain_name, name, strlen(name)) == 0;
}

/* --- compiling -------------------------------------------------------------------------------- */

/** Runs a compiler, which leaves its files where it works when it is killed: they go with the
 * folder. */
static int run_compiler(struct rp_workload *work, const char *name, struct rp_workload_words *words,
                        struct rp_err *err)
{
    const struct rp_env_change env[] = {{.name = "TMPDIR", .value = work->folder}, {0}};

    return run(work, name, words, env, NULL, err);
}

static int compile_by_hiprtc(struct rp_workload *work, const char *source, struct rp_err *err)
{
    rp_cleanup(rp_workload_words_free) struct rp_workload_words words = {0};

    rp_workload_add_loader(work, &words);
    rp_workload_word(&words, "%s", work->program);
    rp_workload_word(&words, "%s/libhiprtc.so.7", work->libraries);
    rp_workload_word(&words, "compile");
    rp_workload_word(&words, "%s", source);
    rp_workload_word(&words, "%s", work->code);
    rp_workload_word(&words, "--offload-arch=%s", work->isa);
    return run_compiler(work, "hiprtc", &words, err);
}

static int compile_by_hipcc(struct rp_workload *work, const char *source, struct rp_err *err)
{
    rp_cleanup(rp_workload_words_free) struct rp_workload_words words = {0};

    rp_workload_suite(work, "hipcc", &words);
    for (const char *const *each = (const char *const[]){"-O3", "-g", "--genco", "-o", NULL}; *each;
         each++)
        rp_workload_word(&words, "%s", *each);
    rp_workload_word(&words, "%s", work->code);
    rp_workload_word(&words, "--offload-arch=%s", work->isa);
    rp_workload_word(&words, "%s", source);
    return run_compiler(work, "hipcc", &words, err);
}

int rp_workload_compile(struct rp_workload *work, const char *text, const char *name,
                        const char **ret_compiler, struct rp_err *err)
{
    rp_autofree char *source = rp_path_join(work->folder, name);
    rp_autofree char *rtc = rp_path_join(work->libraries, "libhiprtc.so.7");
    const bool by_rtc = rp_path_exists(rtc);
    int rc = rp_write_file(source, text, strlen(text), err);

    *ret_compiler = by_rtc ? "hipRTC" : "hipcc";
    if (rc == 0 && !by_rtc && !work->env->compiler) {
        rp_fail(err, RP_ENVIRONMENT,
                "ROCm has neither libhiprtc.so.7 nor a HIP compiler here; install its HIP runtime "
                "completely");
        return 1;
    }
    if (rc == 0 && by_rtc)
        rc = compile_by_hiprtc(work, source, err);
    /* Where hipRTC fails, a compiler may do. */
    if (work->env->compiler && ((rc == 0 && !by_rtc) || rc == -RP_PROGRAM)) {
        *ret_compiler = "hipcc";
        rc = compile_by_hipcc(work, source, err);
    }
    return rc;
}

char *rp_workload_document_text(json_t *document)
{
    char *text =
        document ? json_dumps(document, JSON_INDENT(1) | JSON_SORT_KEYS | JSON_REAL_PRECISION(12))
                 : NULL;
    char *line = text ? rp_format("%s\n", text) : NULL;

    json_decref(document);
    free(text);
    return line;
}

#include "cli/replay_child.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/memfd.h"
#include "base/path.h"
#include "replay/replay_protocol.h"
#include "run/machine.h"
#include "run/run_program.h"
#include "trace/capture.h"

/* Beside this program, or with the injected libraries once installed. */
static int find_program(const struct rp_environment *env, char **ret, struct rp_err *err)
{
    rp_autofree char *here = NULL;
    rp_autofree char *path = NULL;
    int rc = rp_executable_dir(&here, err);

    if (rc < 0)
        return rc;
    path = rp_path_join(here, "rocm-perf-replay");
    if (path && !rp_path_exists(path) && env->tool_library) {
        char *end = strrchr(env->tool_library, '/');

        free(path);
        path =
            rp_format("%.*s/rocm-perf-replay", (int)(end - env->tool_library), env->tool_library);
    }
    if (!path || !rp_path_exists(path))
        return rp_fail(err, RP_ENVIRONMENT,
                       "rocm-perf-replay is not beside this program; build or install "
                       "rocm-perf-lab completely");
    *ret = rp_steal(path);
    return 0;
}

enum { NOT_LOADED = 127 /* as of ld.so; it has no such status of its own */ };

struct child {
    char *program, *libraries, *hsa_library, *loader;
    struct rp_replay_args args;
    char *argv[4 + RP_REPLAY_MOST_ARGS]; /* the loader and its arguments, the program, its own */
};

static void free_child(struct child *child)
{
    free(child->program);
    free(child->libraries);
    free(child->hsa_library);
    free(child->loader);
    rp_replay_args_free(&child->args);
}

/* The private ROCm is newer than the machine's libc: its own loader starts the program. */
static int plan_child(const struct rp_environment *env, const struct rp_replay_options *asked,
                      struct child *child, struct rp_err *err)
{
    const bool private_rocm = env->rocm_kind == RP_ROCM_PRIVATE;
    struct rp_replay_options options = *asked;
    size_t at = 0;
    int rc = find_program(env, &child->program, err);

    if (rc < 0)
        return rc;
    child->libraries =
        rp_format("%s/%s", env->rocm_root, private_rocm ? "usr/lib/x86_64-linux-gnu" : "lib");
    child->hsa_library = rp_path_join(child->libraries, "libhsa-runtime64.so.1");
    child->loader = rp_format("%s/lib64/ld-linux-x86-64.so.2", env->rocm_root);
    options.hsa_library = child->hsa_library;
    options.rocm_version = env->rocm_version;
    rc = rp_replay_options_print(&options, &child->args, err);
    if (private_rocm) {
        child->argv[at++] = child->loader;
        child->argv[at++] = (char *)(uintptr_t) "--library-path";
        child->argv[at++] = child->libraries;
    }
    child->argv[at++] = child->program;
    memcpy(child->argv + at, child->args.argv, sizeof child->args.argv);
    return rc;
}

int rp_replay_child_run(const struct rp_environment *env, const struct rp_run_options *options,
                        const struct rp_replay_child *o, struct rp_proc_end *ret,
                        struct rp_err *err)
{
    rp_cleanup(rp_launch_free) struct rp_launch_plan plan = {0};
    rp_cleanup(free_child) struct child child = {0};
    struct rp_proc proc = {.stdout_fd = o->stdout_fd,
                           .stderr_fd = o->stderr_fd,
                           .timeout_ns = o->timeout_ns,
                           .waiting = o->waiting,
                           .context = o->context};
    int rc = plan_child(env, &o->options, &child, err);

    if (rc == 0)
        rc = rp_launch_plan(env, options, child.argv, &plan, err);
    if (rc < 0)
        return rc;
    proc.path = plan.path;
    proc.argv = plan.argv;
    proc.env = plan.env.list;
    rc = rp_proc_run(&proc, ret, err);
    if (rc == 0 && !ret->signaled && ret->status == NOT_LOADED)
        rc = rp_fail(err, RP_ENVIRONMENT,
                     "%s cannot be loaded (the loader's message is above): build or install "
                     "rocm-perf-lab anew, with the ROCm of %s",
                     child.program, env->rocm_root);
    return rc;
}

struct rp_replay_progress rp_replay_progress_begin(int step_fd)
{
    struct rp_replay_progress watch = {
        .progress = rp_progress_begin(), .step_fd = step_fd, .stderr_fd = -1};

    if (watch.progress.line.terminal)
        watch.stderr_fd = rp_memfd("stderr", MFD_CLOEXEC);
    return watch;
}

static size_t whole_lines(const char *text, size_t bytes)
{
    const char *end = memrchr(text, '\n', bytes);

    return end ? (size_t)(end + 1 - text) : 0;
}

/* What was said since it was last looked at. A line that is not whole yet waits for its end. */
static void show_said(struct rp_replay_progress *w, bool all)
{
    char some[4096];
    ssize_t got;

    while (w->stderr_fd >= 0 && (got = pread(w->stderr_fd, some, sizeof some, w->shown)) > 0) {
        const size_t whole =
            all || got == sizeof some ? (size_t)got : whole_lines(some, (size_t)got);

        if (!whole)
            return;
        rp_progress_clear(&w->progress);
        fwrite(some, 1, whole, stderr);
        fflush(stderr);
        w->shown += (off_t)whole;
    }
}

static const char *words_for(uint32_t phase)
{
    static const char *const words[] = {
#define RP_REPLAY_PHASE(name, words) [RP_REPLAY_AT_##name] = words,
#include "replay/replay_phases.def"
#undef RP_REPLAY_PHASE
    };

    return phase < sizeof words / sizeof *words ? words[phase] : NULL;
}

void rp_replay_progress_look(void *context, int64_t elapsed_ns)
{
    struct rp_replay_progress *w = context;
    struct rp_replay_at at = {0};

    (void)elapsed_ns;
    show_said(w, false);
    if (w->step_fd >= 0 && pread(w->step_fd, &at, sizeof at, RP_STEP_PROGRESS_AT) == sizeof at &&
        words_for(at.phase))
        rp_progress_at(&w->progress, words_for(at.phase), at.done, at.most);
}

void rp_replay_progress_end(struct rp_replay_progress *w)
{
    rp_progress_clear(&w->progress);
    show_said(w, true);
    if (w->stderr_fd >= 0)
        close(w->stderr_fd);
    w->stderr_fd = -1;
}

enum { MOST_STARTS = 8, MOST_BYTES = 1 << 16, RUNS = 3 };
#define PATIENCE_NS ((int64_t)900 * 1000000000)

static void drop(json_t **json)
{
    json_decref(*json);
}

/* What the child has written; NULL: nothing that can be used. */
static json_t *read_result(int fd)
{
    char text[MOST_BYTES];
    const ssize_t got = pread(fd, text, sizeof text, 0);

    return got > 0 ? json_loadb(text, (size_t)got, JSON_REJECT_DUPLICATES, NULL) : NULL;
}

/* It did not come to a result of its own. */
static json_t *made_result(const struct rp_proc_end *end)
{
    const bool kernels_fault = end->signaled || end->timed_out;
    rp_autofree char *reason =
        end->timed_out  ? rp_format("the replay does not end")
        : end->signaled ? rp_format("the replay was ended by signal %d", end->status)
        : end->status == RP_REPLAY_AGAIN || end->status == RP_VERDICT
            ? rp_format("its addresses could not be had on this machine")
            : rp_format("it could not be replayed on this machine (exit status %d)", end->status);

    return reason ? json_pack("{s:s, s:s, s:s, s:i, s:i, s:n, s:s, s:s}", "schema_version", "1.0",
                              "label", kernels_fault ? "not replayable" : "unknown", "reason",
                              reason, "runs", 0, "equal_runs", 0, "first_difference", "gpu_agent",
                              "", "rocm_version", "")
                  : NULL;
}

static int replay(const struct rp_environment *env, const struct rp_run_options *options,
                  const char *folder, int fd, struct rp_proc_end *ret, struct rp_err *err)
{
    /* The child has it as well. */
    rp_autoclose int step_fd = rp_memfd("step", 0);
    struct rp_replay_progress watch = rp_replay_progress_begin(step_fd);
    int rc = 0;

    for (unsigned i = 0; i < MOST_STARTS && rc == 0; i++) {
        const struct rp_replay_child child = {.options = {.action = RP_REPLAY_SELF_CHECK,
                                                          .capture_dir = folder,
                                                          .iterations = RUNS,
                                                          .may_retry = true,
                                                          .compare = "exact",
                                                          .step_fd = step_fd},
                                              .stdout_fd = fd,
                                              .stderr_fd = watch.stderr_fd,
                                              .waiting = rp_replay_progress_look,
                                              .context = &watch,
                                              .timeout_ns = PATIENCE_NS};

        rc = rp_replay_child_run(env, options, &child, ret, err);
        if (ret->signaled || ret->status != RP_REPLAY_AGAIN)
            break;
    }
    rp_replay_progress_end(&watch);
    return rc;
}

static int keep(const char *folder, const json_t *result, struct rp_err *err)
{
    rp_autofree char *path = rp_path_join(folder, RP_CAPTURE_SELF_CHECK_FILE);
    rp_autofree char *text = json_dumps(result, JSON_INDENT(2));
    rp_autofree char *line = text ? rp_format("%s\n", text) : NULL;

    if (rp_write_private_file(path, line, strlen(line), err) < 0)
        return -(int)err->code;
    /* Until this is done the file is there and not in the list: the capture is sound. What the
     * others have become since they were written is not blessed. */
    return rp_capture_add_checksum(folder, RP_CAPTURE_SELF_CHECK_FILE, err);
}

/* The program may have chosen its software device itself. @param ret_target  unchanged where the
 * software device cannot be that GPU */
static int take_captured_gpu(const char *folder, char *spec, size_t room, const char **ret_target,
                             struct rp_err *err)
{
    struct rp_capture *capture;
    int rc = rp_capture_open(folder, &capture, err);

    if (rc < 0)
        return rc;
    if (rp_arch_spec(rp_capture_contents(capture)->facts.isa,
                     rp_capture_contents(capture)->facts.product, spec, room) == 0)
        *ret_target = spec;
    rp_capture_close(capture);
    return 0;
}

int rp_capture_self_check(const struct rp_environment *env, const struct rp_run_options *options,
                          const char *folder, char **ret_label, char **ret_reason,
                          struct rp_err *err)
{
    rp_autoclose int fd = rp_memfd("self_check", MFD_CLOEXEC);
    rp_cleanup(drop) json_t *result = NULL;
    struct rp_proc_end end = {0};
    struct rp_run_options checked = *options;
    const char *label, *reason;
    char target[128];
    int rc;

    if (fd < 0)
        return rp_fail(err, RP_ENVIRONMENT, "no memory for a file");
    checked.timing = RP_TIMING_OFF; /* memory is looked at, not time */
    rc = take_captured_gpu(folder, target, sizeof target, &checked.target, err);
    if (rc < 0)
        return rc;
    rc = replay(env, &checked, folder, fd, &end, err);
    if (rc < 0)
        return rc;
    result = !end.signaled && end.status == 0 ? read_result(fd) : made_result(&end);
    label = json_string_value(json_object_get(result, "label"));
    reason = json_string_value(json_object_get(result, "reason"));
    if (!label)
        return rp_fail(err, RP_ENVIRONMENT, "the replay has left no result");
    rc = keep(folder, result, err);
    if (rc < 0)
        return rc;
    *ret_label = rp_strdup(label);
    *ret_reason = reason ? rp_strdup(reason) : NULL;
    return 0;
}

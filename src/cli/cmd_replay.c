#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "base/path.h"
#include "base/process.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "replay/page_changes.h"
#include "replay/replay_protocol.h"
#include "run/machine.h"
#include "run/run_program.h"
#include "trace/capture.h"

/* This is rocm-perf-replay, started in the environment of the ROCm in use. */

struct rp_replay_child {
    /** The HSA library and the version of ROCm are those of the environment. */
    struct rp_replay_options options;
    int stdout_fd, stderr_fd;                           /**< 0 = inherit */
    int64_t timeout_ns;                                 /**< 0 = may take for ever */
    void (*waiting)(void *context, int64_t elapsed_ns); /**< as of struct rp_proc */
    void *context;
};

/** Shows how far rocm-perf-replay is, while it runs. */
struct rp_replay_progress {
    struct rp_progress progress;
    int step_fd;   /**< of replay_protocol.h; -1: none */
    int stderr_fd; /**< what it says, shown between two lines about how far it is; 0: shown by
                    * itself
                    */
    off_t shown;   /**< bytes of that */
};

/* The program is beside this one, or with the injected libraries once installed. */
static int find_program(const struct rp_environment *env, char **ret, struct rp_err *err)
{
    rp_autofree char *here = NULL;
    rp_autofree char *path = NULL;
    int rc = rp_executable_dir(&here, err);

    if (rc < 0)
        return rc;
    path = rp_path_join(here, "rocm-perf-replay");
    if (!rp_path_exists(path) && env->tool_library) {
        char *end = strrchr(env->tool_library, '/');

        free(path);
        path =
            rp_format("%.*s/rocm-perf-replay", (int)(end - env->tool_library), env->tool_library);
    }
    if (!rp_path_exists(path))
        return rp_fail(err, RP_ENVIRONMENT,
                       "rocm-perf-replay is not beside this program; build or install "
                       "rocm-perf-lab completely");
    *ret = rp_steal(path);
    return 0;
}

enum {
    NOT_LOADED = 127 /* ld.so ends with this status, which rocm-perf-replay itself does not use. */
};

struct child {
    char *program, *libraries, *hsa_library, *loader;
    struct rp_replay_args args;
    char *argv[4 + RP_REPLAY_MOST_ARGS]; /**< the loader and its arguments, the program, its own */
};

static void free_child(struct child *child)
{
    free(child->program);
    free(child->libraries);
    free(child->hsa_library);
    free(child->loader);
    rp_replay_args_free(&child->args);
}

/* The private ROCm is newer than the machine's libc, so its own loader starts the program. */
static int plan_child(const struct rp_environment *env, const struct rp_replay_options *asked,
                      struct child *child, struct rp_err *err)
{
    const bool private_rocm = env->rocm_kind == RP_ROCM_PRIVATE;
    struct rp_replay_options options = *asked;
    size_t at = 0;
    int rc = find_program(env, &child->program, err);

    if (rc < 0)
        return rc;
    child->libraries = rp_strdup(env->rocm_libraries);
    child->hsa_library = rp_path_join(child->libraries, "libhsa-runtime64.so.1");
    child->loader = rp_format("%s/lib64/ld-linux-x86-64.so.2", env->rocm_root);
    options.hsa_library = child->hsa_library;
    options.rocm_version = env->rocm_version;
    rp_replay_options_print(&options, &child->args);
    if (private_rocm) {
        child->argv[at++] = child->loader;
        child->argv[at++] = (char *)(uintptr_t) "--library-path";
        child->argv[at++] = child->libraries;
    }
    child->argv[at++] = child->program;
    memcpy(child->argv + at, child->args.argv, sizeof child->args.argv);
    return 0;
}

static int replay_child_run(const struct rp_environment *env, const struct rp_run_options *options,
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

/** On a terminal the child's standard error goes into a file first. Release it with
 * replay_progress_end. */
static struct rp_replay_progress replay_progress_begin(int step_fd)
{
    struct rp_replay_progress watch = {.progress = rp_progress_begin(), .step_fd = step_fd};

    if (watch.progress.line.terminal)
        watch.stderr_fd = rp_memfd("stderr", MFD_CLOEXEC);
    return watch;
}

static size_t whole_lines(const char *text, size_t bytes)
{
    const char *end = memrchr(text, '\n', bytes);

    return end ? (size_t)(end + 1 - text) : 0;
}

/* Shows what was said since the last look. A line that is not whole yet waits for its end. */
static void show_said(struct rp_replay_progress *w, bool all)
{
    char some[4096];
    ssize_t got;

    while (w->stderr_fd > 0 && (got = pread(w->stderr_fd, some, sizeof some, w->shown)) > 0) {
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

/** struct rp_proc calls this; context is the watch. */
static void replay_progress_look(void *context, int64_t elapsed_ns)
{
    struct rp_replay_progress *w = context;
    struct rp_replay_at at = {0};

    (void)elapsed_ns;
    show_said(w, false);
    if (w->step_fd >= 0 && pread(w->step_fd, &at, sizeof at, RP_STEP_PROGRESS_AT) == sizeof at &&
        words_for(at.phase))
        rp_progress_at(&w->progress, words_for(at.phase), at.done, at.most);
}

/** Call it when the child has ended, in whatever way: it clears the line on the terminal, and
 * prints all that the child said. */
static void replay_progress_end(struct rp_replay_progress *w)
{
    rp_progress_clear(&w->progress);
    show_said(w, true);
    if (w->stderr_fd > 0)
        close(w->stderr_fd);
    w->stderr_fd = 0;
}

enum { MOST_STARTS = 8, MOST_BYTES = 1 << 16, RUNS = 3 };
#define PATIENCE_NS ((int64_t)900 * 1000000000)

static void drop(json_t **json)
{
    json_decref(*json);
}

/* Reads what the child has written. It returns NULL when nothing can be used. */
static json_t *read_result(int fd)
{
    char text[MOST_BYTES];
    const ssize_t got = pread(fd, text, sizeof text, 0);

    return got > 0 ? json_loadb(text, (size_t)got, JSON_REJECT_DUPLICATES, NULL) : NULL;
}

/* Makes a result for a child that did not come to one of its own. */
static json_t *made_result(const struct rp_proc_end *end)
{
    const bool kernels_fault = end->signaled || end->timed_out;
    rp_autofree char *reason =
        end->timed_out  ? rp_format("the replay does not end")
        : end->signaled ? rp_format("the replay was ended by signal %d", end->status)
        : end->status == RP_REPLAY_AGAIN || end->status == RP_VERDICT
            ? rp_format("its addresses could not be had on this machine")
            : rp_format("it could not be replayed on this machine (exit status %d)", end->status);

    return json_pack("{s:s, s:s, s:s, s:i, s:i, s:n, s:s, s:s}", "schema_version", "1.0", "label",
                     kernels_fault ? "not replayable" : "unknown", "reason", reason, "runs", 0,
                     "equal_runs", 0, "first_difference", "gpu_agent", "", "rocm_version", "");
}

static int replay(const struct rp_environment *env, const struct rp_run_options *options,
                  const char *folder, int fd, struct rp_proc_end *ret, struct rp_err *err)
{
    /* The child inherits this descriptor. */
    rp_autoclose int step_fd = rp_memfd("step", 0);
    struct rp_replay_progress watch = replay_progress_begin(step_fd);
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
                                              .waiting = replay_progress_look,
                                              .context = &watch,
                                              .timeout_ns = PATIENCE_NS};

        rc = replay_child_run(env, options, &child, ret, err);
        if (ret->signaled || ret->status != RP_REPLAY_AGAIN)
            break;
    }
    replay_progress_end(&watch);
    return rc;
}

static int keep(const char *folder, const json_t *result, struct rp_err *err)
{
    rp_autofree char *path = rp_path_join(folder, RP_CAPTURE_SELF_CHECK_FILE);
    rp_autofree char *text = json_dumps(result, JSON_INDENT(2));
    rp_autofree char *line = rp_format("%s\n", text);

    if (rp_write_private_file(path, line, strlen(line), err) < 0)
        return -(int)err->code;
    /* Until this is done the file is there but not in the list, and the capture is valid. Changes
     * that were made to the other files since they were written are not approved. */
    return rp_capture_add_checksum(folder, RP_CAPTURE_SELF_CHECK_FILE, err);
}

/* The program may have chosen its software device itself.
 * @param ret_target unchanged where the software device cannot be that GPU */
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
    checked.timing = RP_TIMING_OFF; /* The check looks at memory and not at time. */
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

enum { MOST_ATTEMPTS = 4 + RP_STEP_CHANGES + RP_STEP_VARIATIONS, MOST_GPUS = 8 };

struct options {
    struct rp_replay_cli args;
    const char *action;
    const char *hsaco; /**< of --hsaco, or A of compare; "": the captured one */
    const char *other; /**< B of compare; NULL: none */
    struct rp_run_options run;
    char target[128];            /**< the GPU of the capture, where the software device can be it */
    unsigned gpus;               /**< of the capture */
    char other_gpu[192];         /**< of the capture, where the software device cannot be it */
    const char *captured_timing; /**< of the software device; "": unknown. Static */
    struct rp_short_names kernel; /**< of the capture, for people; none: the whole name */
    char **words;                 /**< the command line as it was written; NULL: not known */
};

/* --- the process --------------------------------------------------------------------------- */

/* An attempt uses memory that differs from the captured one. */
struct attempt {
    bool probe, no_poison;
    unsigned changes_left_out, inputs_left_out; /**< of the ways to probe, and of other inputs */
    bool last;                                  /**< a range that is taken is the end */
    int step_fd;
    struct rp_replay_progress *watch;
    int text_fd; /**< where text for people goes first; 0: JSON goes where it belongs */
};

/* What a race gives may be right in every run on this device and not on a GPU. */
static const char *what_to_check(const struct options *o)
{
    if (o->args.check)
        return strcmp(o->args.check, "none") == 0 ? NULL : o->args.check;
    return o->other && o->run.device == RP_DEVICE_SOFTWARE ? "races,uninit,bounds" : NULL;
}

static int start(const struct rp_environment *env, const struct options *o,
                 const struct attempt *attempt, struct rp_proc_end *ret, struct rp_err *err)
{
    const struct rp_replay_child child = {
        .options = {.action = o->other                                  ? RP_REPLAY_COMPARE
                              : strcmp(o->action, "reserve-check") == 0 ? RP_REPLAY_RESERVE_CHECK
                                                                        : RP_REPLAY_FULL_VM,
                    .capture_dir = o->args.capture_dir,
                    .iterations = o->other ? o->args.blocks : o->args.iterations,
                    .warmup = o->args.warmup,
                    .no_recopy = o->args.no_recopy,
                    .verify = o->args.verify,
                    .hsaco = o->hsaco,
                    .other = o->other,
                    .launch_of = o->args.launch_of,
                    .compare = o->args.compare,
                    .inputs = o->args.inputs ? o->args.inputs : "auto",
                    .check = what_to_check(o),
                    .cache = (enum rp_cache)(o->args.cache + 1),
                    .margin = o->args.margin_percent,
                    .gate = (enum rp_gate)(o->args.gate + 1),
                    .verbose = o->args.verbose,
                    .kernel = o->kernel.count ? o->kernel.at[0] : NULL,
                    .json = o->args.json,
                    .timing = o->run.device == RP_DEVICE_SOFTWARE
                                  ? rp_timing_word(rp_timing_in_force(&o->run))
                                  : NULL,
                    .traced = o->args.traced,
                    .may_retry = !attempt->last,
                    .probe = attempt->probe,
                    .no_poison = attempt->no_poison,
                    .changes_left_out = attempt->changes_left_out,
                    .inputs_left_out = attempt->inputs_left_out,
                    .step_fd = attempt->step_fd},
        .stdout_fd = attempt->text_fd,
        .stderr_fd = attempt->watch->stderr_fd,
        .waiting = replay_progress_look,
        .context = attempt->watch};
    int rc = replay_child_run(env, &o->run, &child, ret, err);

    replay_progress_end(attempt->watch);
    return rc;
}

/* Leaves out one way of changing memory, so that it does not cost the results of the others. */
static bool leave_out(struct attempt *attempt, unsigned way)
{
    if (!attempt->changes_left_out || way >= RP_STEP_CHANGES_ALIKE) {
        rp_cli_note("the replay did not come to its end with memory changed in one of the ways to "
                    "see what the captured kernel writes; once more without that way");
        attempt->changes_left_out |= 1u << way;
        return true;
    }
    rp_cli_note("the replay did not come to its end with memory changed to see what the captured "
                "kernel writes; once more without: results that were there before the dispatch "
                "already may not be told from new ones");
    attempt->changes_left_out |= (1u << RP_STEP_CHANGES_ALIKE) - 1;
    return true;
}

/* Memory that is not the captured one can make a kernel run astray.
 * @return whether to start again */
static bool without(struct attempt *attempt, const struct rp_proc_end *end)
{
    char step = RP_STEP_REST;

    if (!end->signaled && end->status != RP_REPLAY_NO_PROBE)
        return false;
    if (attempt->step_fd >= 0 && pread(attempt->step_fd, &step, 1, 0) < 0)
        return false;
    if (step >= RP_STEP_CHANGE && step < RP_STEP_CHANGE + RP_STEP_CHANGES && attempt->probe)
        return leave_out(attempt, (unsigned)(step - RP_STEP_CHANGE));
    if (step == RP_STEP_PROBE && !attempt->no_poison) {
        rp_cli_note("the captured kernel does not come to its end with poison where its results "
                    "belong; once more without: results that are right there before are not told "
                    "from new ones");
        attempt->no_poison = true;
        return true;
    }
    if (step >= RP_STEP_VARY && step < RP_STEP_VARY + RP_STEP_VARIATIONS &&
        !(attempt->inputs_left_out >> (step - RP_STEP_VARY) & 1)) {
        rp_cli_note("the captured kernel does not come to its end %s; once more without: a kernel "
                    "that is right with the captured ones only may not be found out",
                    rp_variations[step - RP_STEP_VARY].how);
        attempt->inputs_left_out |= 1u << (step - RP_STEP_VARY);
        return true;
    }
    return false;
}

/* A kernel's fault ends a process by these signals; other signals come from a user who wants it to
 * end. */
static bool is_crash(int signal)
{
    return signal == SIGABRT || signal == SIGSEGV || signal == SIGBUS || signal == SIGILL ||
           signal == SIGFPE || signal == SIGTRAP || signal == SIGSYS;
}

static int how_it_ended(const struct options *o, const struct attempt *attempt,
                        const struct rp_proc_end *end)
{
    char steps[] = {RP_STEP_REST, RP_STEP_KERNEL_NONE};
    char which = RP_STEP_KERNEL_NONE;

    if (!end->signaled)
        return end->status;
    if (is_crash(end->status) && attempt->step_fd >= 0 &&
        pread(attempt->step_fd, steps, sizeof steps, 0) == sizeof steps)
        which = steps[RP_STEP_KERNEL_AT];
    if (which == RP_STEP_KERNEL_A || which == RP_STEP_KERNEL_B) {
        rp_cli_note("%sthe kernel of %s crashed: it was ended by signal %d with %s, with which the "
                    "captured kernel comes to its end%s",
                    !o->other                   ? ""
                    : which == RP_STEP_KERNEL_A ? "A: "
                                                : "B: ",
                    which == RP_STEP_KERNEL_A ? o->hsaco : o->other, end->status,
                    steps[0] == RP_STEP_OTHER ? "other inputs than the captured ones"
                                              : "the captured inputs",
                    steps[0] == RP_STEP_OTHER ? "; --inputs none leaves them out" : "");
        return RP_VERDICT;
    }
    rp_cli_note("the replay of %s was ended by signal %d", o->args.capture_dir, end->status);
    return RP_PROGRAM;
}

/* Noise may end with more blocks, and intervals from counts with exact times. Nothing that this
 * command could do helps against the other reasons.
 * @param by  RP_REPLAY_OPEN */
static void put_next(const struct options *o, const char *by, struct rp_buf *text)
{
    enum { MOST_BLOCKS = 200 };
    struct rp_other_option other = {.option = "--blocks", .value = "200"};

    if (!by)
        return;
    if (strcmp(by, "bounds") == 0)
        other = (struct rp_other_option){.option = "--timing", .value = "detailed"};
    else if ((strcmp(by, "noise") != 0 && strcmp(by, "unsteady") != 0) ||
             o->args.blocks >= MOST_BLOCKS)
        return;
    rp_next_command(&o->args.args, o->words, &other, 1, text);
}

/* @return RP_OK or RP_ENVIRONMENT */
static int show(const struct options *o, int text_fd)
{
    rp_autobuf lines = {0}, text = {0};
    struct rp_err err = RP_ERR_INIT;

    if (rp_replay_read_text(text_fd, &lines, &err) < 0)
        return rp_cli_error(&err);
    put_next(o, rp_replay_put_text(rp_buf_text(&lines), rp_cli_style(), &text), &text);
    return rp_cli_result(rp_buf_text(&text));
}

static int run(const struct rp_environment *env, const struct options *o)
{
    /* The child inherits this descriptor. */
    rp_autoclose int step_fd = rp_memfd("step", 0);
    rp_autoclose int text_fd = o->args.json ? -1 : rp_memfd("text", MFD_CLOEXEC);
    struct attempt attempt = {.probe = o->hsaco[0] && !o->args.traced,
                              .step_fd = step_fd,
                              .text_fd = o->args.json ? 0 : text_fd};
    struct rp_proc_end end = {0};
    struct rp_err err = RP_ERR_INIT;
    int code;

    if (!o->args.json && text_fd < 0) {
        rp_fail_errno(&err, RP_ENVIRONMENT, errno, "no memory for a file");
        return rp_cli_error(&err);
    }

    for (unsigned i = 0; i < MOST_ATTEMPTS; i++) {
        struct rp_replay_progress watch = replay_progress_begin(step_fd);

        attempt.watch = &watch;
        attempt.last = i + 1 == MOST_ATTEMPTS;
        if (start(env, o, &attempt, &end, &err) < 0)
            return rp_cli_error(&err);
        if (!without(&attempt, &end) && (end.signaled || end.status != RP_REPLAY_AGAIN))
            break;
    }
    code = text_fd < 0 ? RP_OK : show(o, text_fd);
    return code == RP_OK ? how_it_ended(o, &attempt, &end) : code;
}

/* Counts the software GPUs, as far as the capture names them: they have the nodes 1, 2 and so on
 * (src/device/driver). Other GPUs may have any node. */
static unsigned count_gpus(const struct rp_capture *capture)
{
    const struct rp_capture_facts *facts = &rp_capture_contents(capture)->facts;
    size_t count = rp_capture_contents(capture)->memory_count;
    const struct rp_capture_memory *memory = rp_capture_contents(capture)->memory;
    uint32_t last = facts->dispatch.node;

    for (size_t i = 0; i < count; i++) {
        const struct rp_snapshot_region *region = &memory[i].region;

        if (!(region->flags & RP_MEMORY_HOST) && region->node != UINT32_MAX && region->node > last)
            last = region->node;
    }
    return facts->software && last >= 1 && last <= MOST_GPUS ? last : 1;
}

/* Makes a short name of the kernel. Without memory for it the whole one is as good. */
static void name_kernel(const char *name, struct options *o)
{
    struct rp_err err = RP_ERR_INIT;

    if (o->other && !o->args.verbose && rp_short_names_make(&name, 1, &o->kernel, &err) < 0)
        o->kernel = (struct rp_short_names){0};
}

/* Captures of the software device replay there, and the software device is the GPU that was
 * captured, unless the user chooses another device. */
static int choose_device(struct options *o, struct rp_err *err)
{
    const struct rp_capture_facts *facts;
    struct rp_capture *capture;
    int rc = rp_capture_open(o->args.capture_dir, &capture, err);

    if (rc == 0) {
        rc = rp_capture_check_small_files(o->args.capture_dir, err);
        if (rc < 0)
            rp_capture_close(capture);
    }
    if (rc < 0)
        return rc;
    facts = &rp_capture_contents(capture)->facts;
    if (!o->args.device && facts->software)
        o->run.device = RP_DEVICE_SOFTWARE;
    if (rp_arch_spec(facts->isa, facts->product, o->target, sizeof o->target) == 0)
        o->run.usual_target = o->target;
    else if (facts->software)
        snprintf(o->other_gpu, sizeof o->other_gpu, "%s%s%s", facts->isa,
                 *facts->product ? " " : "", facts->product);
    o->captured_timing = facts->timing;
    name_kernel(facts->name, o);
    o->gpus = count_gpus(capture);
    rp_capture_close(capture);
    return 0;
}

/* A replay gives verdicts, so its timing is the usual one, however the capture was made; but what
 * was captured without times is replayed without, unless they are what is asked for. */
static void choose_timing(struct options *o)
{
    if (o->run.timing != RP_TIMING_UNSAID || strcmp(o->captured_timing, "off") != 0 ||
        strcmp(o->action, "reserve-check") == 0)
        return;
    if (o->other) {
        rp_cli_note("the capture was made with --timing off, which gives compare no times: it "
                    "takes --timing %s",
                    rp_timing_word(rp_timing_in_force(&o->run)));
    } else {
        rp_cli_note("not timed, as the capture was made with --timing off; --timing detailed "
                    "gives times");
        o->run.timing = RP_TIMING_OFF;
    }
}

/* Settings that the user has not given are as they were when the capture was made. */
static void choose_software(struct options *o)
{
    if (o->run.device != RP_DEVICE_SOFTWARE)
        return;
    if (!o->run.target && *o->other_gpu)
        rp_cli_note("the software device cannot be what the capture was made on (%s); it is "
                    "replayed on its default, or say --device software:TARGET",
                    o->other_gpu);
    if (!o->run.gpus && o->gpus != 1)
        o->run.gpus = o->gpus;
    choose_timing(o);
}

/* --- counters and traces ---------------------------------------------------------------------- */

static char *joined(const struct rp_word_list *words)
{
    rp_autobuf text = {0};

    for (size_t i = 0; i < words->count; i++)
        rp_buf_printf(&text, "%s%s", i ? "," : "", words->at[i]);
    return rp_buf_steal(&text);
}

/** Makes "rocm-perf profile --runs 1 ... -- rocm-perf replay full-vm --traced ...". */
static void put_profile_words(const struct options *o, const char *self, const char *counters,
                              const char *device, char **argv)
{
    const bool software = o->run.device == RP_DEVICE_SOFTWARE;
    const char *const words[] = {
        self,
        "profile",
        "--runs",
        "1",
        "--output",
        o->args.output,
        "--device",
        device,
        software ? "--timing" : NULL,
        software ? rp_timing_word(rp_timing_in_force(&o->run)) : NULL,
        o->args.counters.count ? "--pmc" : NULL,
        o->args.counters.count ? counters : NULL,
        o->args.roofline ? "--roofline" : NULL,
        o->args.deep_analysis ? "--deep-analysis" : NULL,
        o->args.json ? "--json" : NULL,
        "--",
        self,
        "replay",
        "full-vm",
        "--traced",
        "--capture-dir",
        o->args.capture_dir,
        o->hsaco[0] ? "--hsaco" : NULL,
        o->hsaco[0] ? o->hsaco : NULL,
        o->args.launch_of ? "--launch-of" : NULL,
        o->args.launch_of,
    };
    size_t at = 0;

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i])
            argv[at++] = (char *)(uintptr_t)words[i];
}

/** The profile has the device of the capture, and its program finds the same. */
static char *profiled_device(const struct options *o)
{
    return o->run.device != RP_DEVICE_SOFTWARE ? rp_strdup("gpu")
           : o->run.target                     ? rp_format("software:%s", o->run.target)
           : *o->target                        ? rp_format("software:%s", o->target)
                                               : rp_strdup("software");
}

/** Profiles a replay: counters, rooflines and thread traces are then found, kept and told as those
 * of any program. */
static int profile(const struct options *o)
{
    enum { MOST_WORDS = 32 };
    rp_autofree char *self = realpath("/proc/self/exe", NULL);
    rp_autofree char *counters = joined(&o->args.counters);
    rp_autofree char *device = profiled_device(o);
    char *argv[MOST_WORDS] = {NULL};
    struct rp_proc_end end;
    struct rp_err err = RP_ERR_INIT;

    if (!self) {
        rp_fail(&err, RP_ENVIRONMENT, "/proc is not there");
        return rp_cli_error(&err);
    }
    put_profile_words(o, self, counters, device, argv);
    if (rp_proc_run(&(struct rp_proc){.path = self, .argv = argv}, &end, &err) < 0)
        return rp_cli_error(&err);
    return end.signaled ? RP_PROGRAM : end.status;
}

/* Reads the words that are no options. */
static int take_words(struct options *o, struct rp_err *err)
{
    const struct rp_args *args = &o->args.args;
    const size_t wanted = strcmp(o->action, "compare") == 0 ? 2 : 0;

    o->hsaco = o->args.hsaco ? o->args.hsaco : "";
    if (args->operand_count > wanted)
        return rp_fail(err, RP_USAGE, "%s is not understood", args->operands[wanted]);
    if (args->operand_count < wanted || (wanted && !(*args->operands[0] && *args->operands[1])))
        return rp_fail(err, RP_USAGE, "compare needs two code objects: A.hsaco B.hsaco");
    if (wanted) {
        o->hsaco = args->operands[0];
        o->other = args->operands[1];
    }
    return 0;
}

static void free_options(struct options *o)
{
    rp_short_names_free(&o->kernel);
    free(o->words);
}

int rp_cmd_replay(int argc, char **argv)
{
    rp_cleanup(free_options) struct options o = {.words = rp_words_copy(argc, argv)};
    rp_cleanup(rp_environment_free) struct rp_environment env = {0};
    struct rp_err err = RP_ERR_INIT;
    int code;

    if (!rp_options_parse(RP_COMMAND_replay, argc, argv, &o.args, &code))
        return code;
    o.action = o.args.args.action;
    if (take_words(&o, &err) < 0)
        return rp_args_refuse(&o.args.args, &err);
    rp_device_options_read(o.args.device, 0, 0, o.args.timing, &o.run);
    if (choose_device(&o, &err) < 0 || rp_environment_detect(&env, &err) < 0 ||
        rp_device_resolve(&env, &o.run, &err) < 0)
        return rp_cli_error(&err);
    choose_software(&o);
    if (o.args.counters.count || o.args.roofline || o.args.deep_analysis)
        return profile(&o);
    return run(&env, &o);
}

#include "run/run_program.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <gnu/libc-version.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "base/path.h"
#include "base/program_loader.h"
#include "run/device_thread_trace.h"
#include "run/kernel_names.h"
#include "run/record_to_db.h"
#include "run/source_lines.h"
#include "trace/code_object.h"
#include "trace/records.h"

static size_t count_args(char *const *argv)
{
    size_t n = 0;

    while (argv[n])
        n++;
    return n;
}

/* What is said first counts: a variable of the configuration, then this process's. */
static const char *variable_of(const struct rp_run_options *options, const char *name)
{
    const char *value = getenv(name);

    for (const struct rp_env_change *v = options->more; v && v->name; v++)
        if (strcmp(v->name, name) == 0)
            value = v->value;
    return value;
}

/** Returns what exec() is told, which a script finds as its own name: with the links in it that led
 * to the program. */
static char *path_as_named(const char *search, const char *name, const char *executable)
{
    char found[PATH_MAX];

    if (strchr(name, '/'))
        return rp_strdup(name);
    return rp_strdup(rp_loader_search(search, name, found) ? found : executable);
}

static void plan_argv(const struct rp_environment *env, const struct rp_run_options *options,
                      char *const *argv, struct rp_launch_plan *plan)
{
    rp_autofree char *setting = rp_loader_setting(env, gnu_get_libc_version());
    const struct rp_loader_environment loader = {
        .setting = setting,
        .own_loader = variable_of(options, RP_OWN_LOADER_VARIABLE),
        .libraries = variable_of(options, "LD_LIBRARY_PATH"),
        .search_path = variable_of(options, "PATH"),
        .has_gpu = true, /* a true one, or the device that is loaded with the program */
    };
    const size_t argc = count_args(argv);

    plan->argv = rp_alloc_zero(argc + RP_LOADER_ARGUMENTS, sizeof *plan->argv);
    plan->words = rp_alloc_zero(1, sizeof *plan->words);
    plan->named = path_as_named(variable_of(options, "PATH"), argv[0], plan->executable);
    if (rp_loader_command(&loader, plan->named, argv, plan->words, plan->argv)) {
        plan->path = rp_strdup(plan->argv[0]);
    } else {
        memcpy(plan->argv, argv, argc * sizeof *argv);
        plan->path = rp_strdup(plan->named);
    }
}

/* The kernel would say the same of it as of a text, or would start it without a device. */
static int check_processor(const char *path, struct rp_err *err)
{
    rp_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    Elf64_Ehdr header; /* What is looked at is at the same place in files of 32 bits. */

    if (fd < 0 || read(fd, &header, sizeof header) < (ssize_t)sizeof(Elf32_Ehdr) ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        (header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_machine == EM_X86_64))
        return 0;
    return rp_fail(
        err, RP_USAGE,
        "%s is a program %s: ROCm has libraries for 64-bit x86 only; compile it for that", path,
        header.e_ident[EI_CLASS] == ELFCLASS32 ? "of 32 bits" : "for another processor");
}

int rp_launch_plan(const struct rp_environment *env, const struct rp_run_options *options,
                   char *const *argv, struct rp_launch_plan *ret, struct rp_err *err)
{
    struct rp_launch_plan plan = {0};
    int rc = rp_find_program_in(variable_of(options, "PATH"), argv[0], &plan.executable, err);

    if (rc == 0)
        rc = check_processor(plan.executable, err);
    if (rc == 0)
        plan_argv(env, options, argv, &plan);
    if (rc == 0)
        rc = rp_run_env_make(env, options, &plan.env, err);
    if (rc < 0) {
        rp_launch_free(&plan);
        return rc;
    }
    *ret = plan;
    return 0;
}

void rp_launch_free(struct rp_launch_plan *plan)
{
    rp_run_env_free(&plan->env);
    free(plan->words);
    free(plan->executable);
    free(plan->named);
    free(plan->path);
    free(plan->argv);
    memset(plan, 0, sizeof *plan);
}

typedef void note_fn(struct rp_bundle_fit *fit, const uint8_t *at, size_t bytes);

/* Notes every place of the file that begins with the magic. */
static void note_all(struct rp_bundle_fit *fit, const uint8_t *file, size_t bytes,
                     const char *magic, note_fn *note)
{
    const size_t length = strlen(magic);

    for (const uint8_t *at = file; (at = memmem(at, bytes - (size_t)(at - file), magic, length));
         at += length)
        note(fit, at, bytes - (size_t)(at - file));
}

enum rp_offload_fit rp_program_fits_gpu(const char *path, const char *gfx, bool xnack,
                                        char *ret_targets, size_t room)
{
    rp_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct rp_bundle_fit fit = {.gfx = gfx};
    struct stat st;

    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size <= 0)
        return RP_OFFLOAD_FITS;
    const size_t bytes = (size_t)st.st_size;
    uint8_t *file = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    if (file == MAP_FAILED)
        return RP_OFFLOAD_FITS;
    note_all(&fit, file, bytes, RP_BUNDLE_MAGIC, rp_bundle_note);
    note_all(&fit, file, bytes, RP_BUNDLE_COMPRESSED_MAGIC, rp_bundle_note_compressed);
    rp_bundle_fit_end(&fit);
    munmap(file, bytes);
    const enum rp_offload_fit verdict = rp_bundle_verdict(&fit, xnack);
    if (verdict == RP_OFFLOAD_OTHER_GPU)
        snprintf(ret_targets, room, "%s", fit.targets);
    return verdict;
}

void rp_run_free(struct rp_run *run)
{
    for (size_t i = 0; i < run->db_count; i++)
        free(run->db_paths[i]);
    free(run->db_paths);
    for (size_t i = 0; i < run->warning_count; i++)
        free(run->warnings[i]);
    free(run->warnings);
    free(run->thread_trace);
    free(run->decoder_said);
    memset(run, 0, sizeof *run);
}

/* --- the built-in collector ---------------------------------------------------------------- */

#define RECORD_FOLDER "records"
#define REQUEST_FILE  "request"        /* ranks, run_id, a line's end, the command */
enum { MOST_REQUEST_BYTES = 4 << 20 }; /* Arguments have 2 MiB at most. */

struct record_file {
    char *path;
    uint64_t init_ns;
    uint32_t pid;
};

/* Sorts processes by start on the device clock, then by pid, and never by directory order. */
static int by_start(const void *a, const void *b)
{
    const struct record_file *x = a, *y = b;

    if (x->init_ns != y->init_ns)
        return x->init_ns < y->init_ns ? -1 : 1;
    return (x->pid > y->pid) - (x->pid < y->pid);
}

static void read_start(struct record_file *file)
{
    struct rp_trace_header header;
    rp_autoclose int fd = open(file->path, O_RDONLY | O_CLOEXEC);

    if (fd >= 0 && read(fd, &header, sizeof header) == (ssize_t)sizeof header) {
        file->init_ns = header.init_ns;
        file->pid = header.pid;
    }
}

static void free_files(struct record_file *files, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(files[i].path);
    free(files);
}

static void list_records(const char *dir, struct record_file **ret, size_t *ret_count)
{
    rp_autofree char *pattern = rp_path_pattern(dir, "*.rptrace");
    struct record_file *files;
    glob_t found = {0};
    size_t count;

    if (glob(pattern, GLOB_NOSORT, NULL, &found) == GLOB_NOSPACE)
        rp_memory_ended();
    count = found.gl_pathc;
    files = rp_alloc_zero(count + 1, sizeof *files);
    for (size_t i = 0; i < count; i++) {
        files[i].path = rp_strdup(found.gl_pathv[i]);
        read_start(&files[i]);
    }
    globfree(&found);
    qsort(files, count, sizeof *files, by_start);
    *ret = files;
    *ret_count = count;
}

static char *join_command(char *const *argv)
{
    rp_autobuf line = {0};

    for (size_t i = 0; argv[i]; i++)
        rp_buf_printf(&line, "%s%s", i ? " " : "", argv[i]);
    return rp_buf_steal(&line);
}

/* No two runs have the same: the first process, and when it was done with. */
static char *run_id_of(const struct record_file *files)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return rp_format("%u-%lld.%09ld", files[0].pid, (long long)now.tv_sec, now.tv_nsec);
}

const char *rp_recorded_part(const struct rp_recording_window *window, const struct rp_run *run)
{
    return window->start_paused || rp_proc_was_switched() ? "hand"
           : window->delay_ns > 0 || run->window_over     ? "time"
           : run->end.interrupted                         ? "signal"
                                                          : NULL;
}

static int convert(const struct rp_run_request *request, const struct record_file *files,
                   size_t count, struct rp_run *run, struct rp_err *err)
{
    rp_autofree char *command = join_command(request->argv);
    rp_autofree char *symbolizer =
        request->options->call_sites ? rp_find_symbolizer(request->env) : NULL;
    rp_cleanup(rp_demangler_close) struct rp_demangler demangler = {0};
    rp_autofree char *run_id = request->run_id ? rp_strdup(request->run_id)
                               : count > 1     ? run_id_of(files)
                                               : NULL;
    struct utsname host;
    int rc = 0;

    rp_demangler_open(request->env, &demangler);
    uname(&host);
    run->db_paths = rp_alloc_zero(count + 1, sizeof *run->db_paths);
    for (size_t i = 0; i < count && rc == 0; i++) {
        struct rp_record_to_db_options options = {.demangler = &demangler,
                                                  .command = command,
                                                  .hostname = host.nodename,
                                                  .host = &host,
                                                  .run = run_id,
                                                  .part = rp_recorded_part(&request->window, run),
                                                  .ranks = request->ranks,
                                                  .kept = request->kept,
                                                  .database = (uint32_t)i,
                                                  .symbolizer = symbolizer};
        char *path = rp_run_db_path(request, i + 1);

        run->db_paths[run->db_count++] = path;
        rc = rp_record_to_db(files[i].path, path, &options, err);
    }
    return rc;
}

static int convert_threads(const struct rp_run_request *request, const struct record_file *files,
                           size_t count, struct rp_run *run, struct rp_err *err)
{
    rp_autofree const char **paths = rp_alloc_zero(count + 1, sizeof *paths);

    for (size_t i = 0; i < count; i++)
        paths[i] = files[i].path;
    return rp_device_thread_trace_convert(request, request->options->thread_trace, paths, count,
                                          run, err);
}

/* A process whose collector could not even make its file has run unrecorded, so there is no result.
 */
static int check_failures(const char *dir, struct rp_err *err)
{
    rp_autofree char *pattern = rp_path_pattern(dir, "*" RP_TRACE_FAILED_SUFFIX "*");
    glob_t found = {0};
    int rc = 0;

    if (glob(pattern, 0, NULL, &found) == 0)
        rc = rp_fail_errno(err, RP_ENVIRONMENT, atoi(strrchr(found.gl_pathv[0], '-') + 1),
                           "the collector cannot write its records in %s", dir);
    globfree(&found);
    return rc;
}

static int collect_records(const struct rp_run_request *request, const char *record_dir,
                           struct rp_run *run, struct rp_err *err)
{
    struct record_file *files = NULL;
    size_t count = 0;
    int rc = check_failures(record_dir, err);

    if (rc == 0)
        list_records(record_dir, &files, &count);
    if (rc == 0)
        rc = convert(request, files, count, run, err);
    if (rc == 0 && request->options->thread_trace)
        rc = convert_threads(request, files, count, run, err);
    free_files(files, count);
    return rc;
}

/* Without this a rocm-perf that is killed would leave records of which nobody knows the program. */
static int note_request(const struct rp_run_request *request, const char *record_dir,
                        struct rp_err *err)
{
    rp_autofree char *path = rp_path_join(record_dir, REQUEST_FILE);
    rp_autofree char *command = join_command(request->argv);
    rp_autofree char *text = rp_format("%" PRIu32 " %s\n%s", request->ranks,
                                       request->run_id ? request->run_id : "", command);

    return rp_write_file(path, text, strlen(text), err);
}

int rp_convert_left_records(const struct rp_environment *env, const char *folder,
                            struct rp_err *err)
{
    rp_autofree char *record_dir = rp_format("%s/" RECORD_FOLDER, folder);
    rp_autofree char *path = rp_path_join(record_dir, REQUEST_FILE);
    rp_autofree char *text = rp_read_text(path, MOST_REQUEST_BYTES);
    char *command = text ? strchr(text, '\n') : NULL;
    char *run_id = NULL;
    const uint32_t ranks = command ? (uint32_t)strtoul(text, &run_id, 10) : 0;
    rp_cleanup(rp_run_free) struct rp_run run = {.end = {.interrupted = SIGKILL}};
    /* As in a result: a trace with counters would be taken for one of a further run. */
    rp_cleanup(rp_kept_counters_free) struct rp_kept_counters kept = {0};
    const struct rp_run_options options = {0};
    char *argv[] = {command ? command + 1 : NULL, NULL};
    const struct rp_run_request request = {.env = env,
                                           .options = &options,
                                           .argv = argv,
                                           .run_id =
                                               run_id && command > run_id + 1 ? run_id + 1 : NULL,
                                           .ranks = ranks,
                                           .kept = &kept,
                                           .out_dir = folder,
                                           .db_prefix = "trace"};

    if (command)
        *command = '\0';
    return collect_records(&request, record_dir, &run, err);
}

/* Switches recording off and on for all processes of the program, and ends it when that is over. */
struct recording {
    const struct rp_recording_window *window;
    struct rp_recording_control *control; /**< NULL: nothing is traced */
    bool delayed;                         /**< and the delay is over */
    int64_t began_ns;                     /**< since the start of the program; 0: not yet */
    struct rp_recording_end end;          /**< at_ns 0: it is not over yet */
};

static int open_recording(const struct rp_run_request *request, const char *record_dir,
                          struct recording *ret, struct rp_err *err)
{
    rp_autofree char *path = rp_path_join(record_dir, RP_RECORDING_CONTROL_FILE);
    rp_autoclose int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, RP_MODE_PRIVATE_FILE);
    void *map = MAP_FAILED;

    if (fd >= 0 && ftruncate(fd, sizeof *ret->control) == 0)
        map = mmap(NULL, sizeof *ret->control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot make %s", path);
    ret->control = map;
    ret->control->paused = request->window.delay_ns > 0 || request->window.start_paused;
    rp_proc_switch_by_signals(&ret->control->paused);
    return 0;
}

static void close_recording(struct recording *recording)
{
    if (!recording->control)
        return;
    rp_proc_switch_by_signals(NULL);
    munmap(recording->control, sizeof *recording->control);
}

/* Until the first signal every process has noted that nothing of what it recorded is missing. A
 * tracer that works writes, "up to 1-2 minutes" as rocprofv3 says, and a signal would end that. */
void rp_recording_end(void *context, int64_t elapsed_ns)
{
    static const int64_t s = 1000000000;
    static const struct {
        int64_t after_ns; /* the step before */
        int signo;
    } steps[] = {{s / 2, SIGINT}, {10 * s, SIGTERM}, {5 * s, SIGKILL}};
    const size_t count = sizeof steps / sizeof *steps;
    struct rp_recording_end *end = context;
    const int64_t waited_ns = elapsed_ns - (end->asked ? end->asked_at_ns : end->at_ns);
    const bool busy = end->busy_at_ns && elapsed_ns - end->busy_at_ns < 5 * s;

    if (end->asked == count || waited_ns < steps[end->asked].after_ns ||
        (end->asked && busy && waited_ns < RP_MOST_WRITING_NS))
        return;
    rp_proc_signal(steps[end->asked++].signo);
    end->asked_at_ns = elapsed_ns;
}

static void watch_recording(void *context, int64_t elapsed_ns)
{
    struct recording *r = context;
    uint32_t *paused = &r->control->paused;

    if (!r->delayed && r->window->delay_ns && elapsed_ns >= r->window->delay_ns) {
        r->delayed = true;
        __atomic_store_n(paused, 0, __ATOMIC_RELEASE);
    }
    if (!r->began_ns && !__atomic_load_n(paused, __ATOMIC_ACQUIRE))
        r->began_ns = elapsed_ns;
    if (!r->window->duration_ns || !r->began_ns)
        return;
    if (!r->end.at_ns && elapsed_ns - r->began_ns >= r->window->duration_ns)
        r->end.at_ns = elapsed_ns;
    if (!r->end.at_ns)
        return;
    __atomic_store_n(paused, 1, __ATOMIC_RELEASE);
    rp_recording_end(&r->end, elapsed_ns);
}

static int run_process(const struct rp_run_request *request, const char *record_dir,
                       struct rp_run *run, struct rp_err *err)
{
    rp_cleanup(close_recording) struct recording recording = {.window = &request->window};
    rp_cleanup(rp_launch_free) struct rp_launch_plan plan = {0};
    /* The path is absolute, because the program may change its folder before it loads the
     * collector. */
    rp_autofree char *dir = request->log ? realpath(request->out_dir, NULL) : NULL;
    rp_autofree char *log = dir ? rp_path_join(dir, "tracer.log") : NULL;
    struct rp_proc proc = {.stdin_fd = request->stdin_fd,
                           .stdout_fd = request->stdout_fd,
                           .stderr_fd = request->stderr_fd,
                           .timeout_ns = request->timeout_ns,
                           .result_survives = request->survives_signals,
                           .limits = request->limits};
    struct rp_run_options options = *request->options;
    int rc;

    options.trace_dir = record_dir;
    options.tracer_log = log;
    rc = rp_launch_plan(request->env, &options, request->argv, &plan, err);
    if (rc < 0)
        return rc;
    proc.path = plan.path;
    proc.argv = plan.argv;
    proc.env = plan.env.list;
    if (record_dir)
        rc = open_recording(request, record_dir, &recording, err);
    if (rc < 0)
        return rc;
    if (record_dir && (request->window.delay_ns || request->window.duration_ns)) {
        proc.waiting = watch_recording;
        proc.context = &recording;
    }
    rc = rp_proc_run(&proc, &run->end, err);
    run->window_over = recording.end.asked > 0;
    return rc;
}

int rp_run_program(const struct rp_run_request *request, struct rp_run *ret, struct rp_err *err)
{
    struct rp_run run = {0};
    rp_autofree char *record_dir = NULL;
    rp_autofree char *absolute = NULL;
    int rc = 0;

    if (request->traced) {
        record_dir = rp_format("%s/" RECORD_FOLDER, request->out_dir);
        rc = rp_mkdirs(record_dir, err);
        if (rc < 0)
            return rc;
        /* The path is absolute, because the program may change its folder. */
        absolute = realpath(record_dir, NULL);
        if (!absolute)
            return rp_fail_errno(err, RP_ENVIRONMENT, errno, "%s", record_dir);
        rc = note_request(request, record_dir, err);
    }
    if (rc == 0)
        rc = run_process(request, absolute, &run, err);
    if (rc == 0 && request->traced)
        rc = collect_records(request, absolute, &run, err);
    if (rc == 0)
        rc = rp_proc_interrupted(err);
    if (record_dir)
        rp_remove_tree(record_dir);
    if (rc < 0) {
        rp_run_free(&run);
        return rc;
    }
    *ret = run;
    return 0;
}

/* --- choice of the tracer ------------------------------------------------------------------ */

static const struct {
    enum rp_tracer_request id;
    const struct rp_tracer *tracer;
} tracers[] = {
#define TRACER(id, name) {RP_TRACER_##id, &rp_tracer_##name},
#include "run/tracers.def"
#undef TRACER
};

int rp_tracer_parse(const char *word, enum rp_tracer_request *ret, struct rp_err *err)
{
    if (strcmp(word, "auto") == 0) {
        *ret = RP_TRACER_AUTO;
        return 0;
    }
    for (size_t i = 0; i < sizeof tracers / sizeof *tracers; i++)
        if (strcmp(word, tracers[i].tracer->name) == 0) {
            *ret = tracers[i].id;
            return 0;
        }
    return rp_fail(err, RP_USAGE, "--tracer %s: use auto, rocprofv3 or builtin", word);
}

int rp_tracer_choose(const struct rp_environment *env, enum rp_device device,
                     enum rp_tracer_request wish, const struct rp_tracer **ret, struct rp_err *err)
{
    if (wish == RP_TRACER_AUTO)
        wish = device == RP_DEVICE_GPU && env->rocprofv3 ? RP_TRACER_ROCPROFV3 : RP_TRACER_BUILTIN;
    if (wish == RP_TRACER_ROCPROFV3 && !env->rocprofv3)
        return rp_fail(err, RP_ENVIRONMENT,
                       "--tracer rocprofv3: there is none in %s/bin or $PATH; install the package "
                       "rocprofiler-sdk (ROCm 10: amdrocm-profiler-base), or use --tracer builtin",
                       env->rocm_root ? env->rocm_root : "$ROCM_PATH");
    for (size_t i = 0; i < sizeof tracers / sizeof *tracers; i++)
        if (tracers[i].id == wish)
            *ret = tracers[i].tracer;
    return 0;
}

static int trace_threads(const struct rp_run_request *request,
                         const struct rp_thread_trace_options *options, struct rp_run *ret,
                         struct rp_err *err)
{
    struct rp_run_request with = *request;
    struct rp_run_options traced = *request->options;

    traced.thread_trace = options;
    with.options = &traced;
    return rp_run_program(&with, ret, err);
}

const struct rp_tracer rp_tracer_builtin = {
    .name = "builtin",
    .switched = true,
    .trace = rp_run_program,
    .trace_threads = trace_threads,
};

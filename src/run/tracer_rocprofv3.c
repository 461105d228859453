#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "base/path.h"
#include "run/rocprofv3_messages.h"
#include "run/run_program.h"
#include "run/stderr_copy.h"
#include "trace/rocpd.h"

/** At most one of counters and thread_trace is set; with neither the job records the timeline. */
struct rp_rocprofv3_job {
    const char *out_dir;         /**< absolute */
    const char *const *counters; /**< NULL-terminated: one pass */
    const struct rp_thread_trace_options *thread_trace;
    int pid;          /**< it attaches to this process; 0: it starts the program */
    bool sync_output; /**< then it is told to wait for its files */
    bool log;         /**< many messages */
    bool no_hip_calls;
    bool selected_regions;
    struct rp_recording_window window;
};

struct list {
    char **items;
    size_t count;
};

static void put(struct list *list, char *text)
{
    list->items = rp_realloc_array(list->items, list->count + 2, sizeof *list->items);
    list->items[list->count++] = text;
    list->items[list->count] = NULL;
}

/* Writes "--name=value", so that a value that begins with a dash stays a value. */
static void put_value(struct list *list, const char *name, const char *value)
{
    if (value)
        put(list, rp_format("--%s=%s", name, value));
}

/* A range of ROCTx is of use with the calls that were made in it. Where rocprofv3 attaches, its own
 * functions cannot be put before those of the program. */
static void put_trace(struct list *list, bool hip_calls, bool starts)
{
    put(list, rp_strdup("--kernel-trace"));
    if (hip_calls)
        put(list, rp_strdup("--hip-runtime-trace"));
    put(list, rp_strdup("--memory-copy-trace"));
    if (hip_calls && starts)
        put(list, rp_strdup("--marker-trace"));
}

/* The dispatches come with their times, so that each counter can be assigned to its launch. */
static void put_counters(struct list *list, const char *const *counters)
{
    put(list, rp_strdup("--kernel-trace"));
    put(list, rp_strdup("--pmc"));
    for (; *counters; counters++)
        put(list, rp_strdup(*counters));
}

static bool is_decoder_in(const char *dir)
{
    char *paths[] = {(char *)(uintptr_t)dir, NULL};
    bool found = false;
    FTSENT *entry;
    FTS *fts = *dir ? fts_open(paths, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, NULL) : NULL;

    while (fts && !found && (entry = fts_read(fts)))
        found = entry->fts_info != FTS_D && entry->fts_info != FTS_DP &&
                strstr(entry->fts_name, "librocprof-trace-decoder.so") != NULL;
    if (fts)
        fts_close(fts);
    return found;
}

/* The folder of ROCPROF_ATT_LIBRARY_PATH that has the decoder, which the caller frees; NULL: none.
 */
static char *inherited_decoder(void)
{
    const char *inherited = getenv("ROCPROF_ATT_LIBRARY_PATH");
    rp_autofree char *list = rp_strdup(inherited ? inherited : "");
    char *rest = list;

    for (char *dir; (dir = strsep(&rest, ":")) != NULL;)
        if (*dir && is_decoder_in(dir))
            return rp_strdup(dir);
    return NULL;
}

/* rocprofv3 1.0.0 takes each letter of ROCPROF_ATT_LIBRARY_PATH for a folder, "/" among them, and
 * loads the first decoder that lies anywhere. The option it reads rightly. */
static void put_decoder(struct list *list, const struct rp_thread_trace_options *options)
{
    rp_autofree char *inherited = options->decoder ? NULL : inherited_decoder();

    put_value(list, "att-library-path", inherited);
}

static void put_thread_trace(struct list *list, const struct rp_thread_trace_options *options)
{
    put(list, rp_strdup("--att"));
#define NUMBER(member, option, ...) put_value(list, option, options->member);
#define WORD(member, option, ...)   put_value(list, option, options->member);
#include "run/thread_trace_options.def"
#undef NUMBER
#undef WORD
    put_decoder(list, options);
    if (options->serialize_all)
        put(list, rp_strdup("--att-serialize-all"));
}

enum { FOR_EVER_S = 10000000 };

/* Without a duration it would wait for Enter, and fail where standard input has an end. */
static void put_attachment(struct list *list, const struct rp_rocprofv3_job *job)
{
    const int64_t ns = job->window.duration_ns, ms = 1000000;

    put(list, rp_format("--pid=%d", job->pid));
    put(list, rp_format("--attach-duration-msec=%lld",
                        (long long)(ns ? (ns + ms - 1) / ms : (int64_t)FOR_EVER_S * 1000)));
    if (job->sync_output)
        put(list, rp_strdup("--attach-sync-output"));
}

/* It knows no period without an end, and none where it attaches. */
static void put_window(struct list *list, const struct rp_rocprofv3_job *job)
{
    const struct rp_recording_window *w = &job->window;

    if (job->pid) {
        put_attachment(list, job);
        return;
    }
    if (job->selected_regions)
        put(list, rp_strdup("--selected-regions"));
    if (!w->delay_ns && !w->duration_ns)
        return;
    put(list, rp_strdup("--collection-period"));
    put(list, rp_format("%.6f:%.6f:1", (double)w->delay_ns / 1e9,
                        w->duration_ns ? (double)w->duration_ns / 1e9 : FOR_EVER_S));
}

static int check_window(const struct rp_recording_window *window,
                        const struct rp_run_options *options, struct rp_err *err)
{
    if (window->start_paused)
        return rp_fail(err, RP_USAGE,
                       "--start-paused: no signal switches recording of rocprofv3 on: use --tracer "
                       "builtin, or --selected-regions with roctxProfilerResume in the program");
    if (options->roctx_range)
        return rp_fail(err, RP_USAGE,
                       "--roctx-range: rocprofv3 does not choose by the name of a range: use "
                       "--tracer builtin, or --selected-regions with roctxProfilerResume in the "
                       "program");
    if (options->selected_regions && (window->delay_ns || window->duration_ns))
        return rp_fail(
            err, RP_USAGE,
            "--selected-regions with --delay or --duration: rocprofv3 takes one of them: "
            "leave out the others, or use --tracer builtin");
    return 0;
}

static void rocprofv3_args_free(char ***args);

/**
 * @param program its argv, passed on unchanged; must outlive the result. NULL: job->pid
 * @return NULL-terminated; free with rocprofv3_args_free
 */
static char **rp_rocprofv3_args(const char *rocprofv3, const struct rp_rocprofv3_job *job,
                                char *const *program)
{
    struct list list = {0};

    put(&list, rp_strdup(rocprofv3));
    /* Each process gets a file, because programs start others. */
    put_value(&list, "output-directory", job->out_dir);
    put_value(&list, "output-file", "%hostname%/%pid%");
    put(&list, rp_strdup("--output-format"));
    put(&list, rp_strdup("rocpd"));
    if (job->thread_trace) { /* Before 7.1 its tables were written for these formats only. */
        put(&list, rp_strdup("csv"));
        put(&list, rp_strdup("json"));
    }
    /* Before 2026 its handler of signals enters itself where a program aborts, and waits for itself
     * for ever. Without it the trace is whole all the same. */
    put_value(&list, "disable-signal-handlers", "true");
    if (job->log)
        put_value(&list, "log-level", "info");
    put_window(&list, job);
    if (job->counters)
        put_counters(&list, job->counters);
    else if (job->thread_trace)
        put_thread_trace(&list, job->thread_trace);
    else
        put_trace(&list, !job->no_hip_calls, !job->pid);
    if (program)
        put(&list, rp_strdup("--"));
    while (program && *program)
        put(&list, *program++);
    return list.items;
}

/** Frees what rocprofv3_args made, up to the "--". */
static void rocprofv3_args_free(char ***args)
{
    for (char **arg = *args; arg && *arg; arg++) {
        bool last = strcmp(*arg, "--") == 0;

        free(*arg);
        if (last)
            break;
    }
    free(*args);
    *args = NULL;
}

/** Release it with rocprofv3_files_free. */
struct rp_rocprofv3_files {
    char **databases; /**< rocpd, of processes that used the GPU, by start of the process */
    size_t database_count;
    size_t unreadable;  /**< databases that were cut short */
    bool thread_traces; /**< at least one folder with a decoded thread trace */
};

struct database {
    char *path;
    int64_t start_ns, pid;
};

struct rocprofv3_files_list {
    struct database *items;
    size_t count;
};

static void free_list(struct rocprofv3_files_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i].path);
    free(list->items);
}

static bool is_sqlite(const char *path)
{
    char magic[16];
    rp_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);

    return fd >= 0 && read(fd, magic, sizeof magic) == (ssize_t)sizeof magic &&
           memcmp(magic, "SQLite format 3", sizeof magic) == 0;
}

/* Processes that never touched the GPU, such as a shell, may leave a database, too. One that cannot
 * be read must be reported. */
static bool used_gpu(const char *path)
{
    struct rp_err ignored = RP_ERR_INIT;
    const struct rp_row_dispatch *dispatches;
    const struct rp_row_copy *copies;
    const struct rp_row_region *regions;
    struct rp_store *store;
    size_t n = 0;
    bool used;

    if (rp_store_open(path, &store, &ignored) < 0)
        return true;
    used = rp_store_dispatches(store, &dispatches, &n, &ignored) < 0 || n ||
           rp_store_copies(store, &copies, &n, &ignored) < 0 || n ||
           rp_store_regions(store, &regions, &n, &ignored) < 0 || n;
    rp_store_close(store);
    return used;
}

/* @return false when it is no rocpd database, or not complete */
static bool look(const char *path, struct database *ret)
{
    struct rp_err ignored = RP_ERR_INIT;
    const struct rp_row_process *rows;
    struct rp_store *store;
    size_t count = 0;
    bool ok;

    if (rp_store_open(path, &store, &ignored) < 0)
        return false;
    ok = rp_store_processes(store, &rows, &count, &ignored) == 0;
    if (ok && count) {
        ret->start_ns = rows[0].init_ns ? rows[0].init_ns : rows[0].start_ns;
        ret->pid = rows[0].pid;
    }
    rp_store_close(store);
    return ok;
}

static void take_file(const char *path, struct rocprofv3_files_list *list,
                      struct rp_rocprofv3_files *files)
{
    struct database found = {0};

    if (!is_sqlite(path))
        return;
    if (!look(path, &found)) {
        files->unreadable++;
        return;
    }
    found.path = rp_strdup(path);
    list->items = rp_realloc_array(list->items, list->count + 1, sizeof *list->items);
    list->items[list->count++] = found;
}

/* The list of instructions and the index of waves stand in one folder. */
static bool is_thread_trace(const char *dir)
{
    rp_autofree char *code = rp_path_join(dir, "code.json");
    rp_autofree char *index = rp_path_join(dir, "filenames.json");

    return code && index && rp_path_exists(code) && rp_path_exists(index);
}

static int walk(const char *dir, struct rocprofv3_files_list *list,
                struct rp_rocprofv3_files *files, struct rp_err *err)
{
    char *paths[] = {(char *)(uintptr_t)dir, NULL};
    FTS *fts = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    FTSENT *entry;

    if (!fts)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "%s", dir);
    while ((entry = fts_read(fts))) {
        if (entry->fts_info == FTS_D && is_thread_trace(entry->fts_accpath)) {
            files->thread_traces = true;
            fts_set(fts, entry, FTS_SKIP); /* It has thousands of waves, and no database. */
        } else if (entry->fts_info == FTS_F) {
            take_file(entry->fts_accpath, list, files);
        }
    }
    fts_close(fts);
    return 0;
}

/* Sorts by start, then pid, then name, and never by the order of the folder. */
static int by_start(const void *left, const void *right)
{
    const struct database *a = left, *b = right;

    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    if (a->pid != b->pid)
        return a->pid < b->pid ? -1 : 1;
    return strcmp(a->path, b->path);
}

/** @return 0, RP_ENVIRONMENT when the folder cannot be read */
static int rocprofv3_files_find(const char *dir, struct rp_rocprofv3_files *ret, struct rp_err *err)
{
    rp_cleanup(free_list) struct rocprofv3_files_list list = {0};
    struct rp_rocprofv3_files files = {0};
    int rc = walk(dir, &list, &files, err);

    if (rc < 0)
        return rc;
    if (list.count)
        qsort(list.items, list.count, sizeof *list.items, by_start);
    files.databases = rp_alloc_zero(list.count + 1, sizeof *files.databases);
    for (size_t i = 0; i < list.count; i++)
        if (list.count == 1 || used_gpu(list.items[i].path))
            files.databases[files.database_count++] = rp_steal(list.items[i].path);
    *ret = files;
    return 0;
}

static void rocprofv3_files_free(struct rp_rocprofv3_files *files)
{
    for (size_t i = 0; i < files->database_count; i++)
        free(files->databases[i]);
    free(files->databases);
    memset(files, 0, sizeof *files);
}

/* --- environment --------------------------------------------------------------------------- */

/* Options of the user's own rocprofv3 runs would change ours. The two that name libraries stay. */
static bool is_foreign_option(const char *entry)
{
    return strncmp(entry, "ROCPROF_", 8) == 0 &&
           strncmp(entry, "ROCPROF_ATT_LIBRARY_PATH=", 25) != 0 &&
           strncmp(entry, "ROCPROF_PRELOAD=", 16) != 0;
}

struct changes {
    struct rp_env_change *list;
    char **names; /**< of those that are taken out */
};

static void free_changes(struct changes *changes)
{
    for (char **name = changes->names; name && *name; name++)
        free(*name);
    free(changes->names);
    free(changes->list);
}

static void plan_env(const struct rp_launch_plan *plan, struct changes *ret)
{
    size_t at = 0, inherited = 0, out = 0;

    while (plan->env.list && plan->env.list[at].name)
        at++;
    while (environ[inherited])
        inherited++;
    ret->list = rp_alloc_zero(at + inherited + 1, sizeof *ret->list);
    ret->names = rp_alloc_zero(inherited + 1, sizeof *ret->names);
    if (at)
        memcpy(ret->list, plan->env.list, at * sizeof *ret->list);
    for (char **entry = environ; *entry; entry++) {
        if (!is_foreign_option(*entry))
            continue;
        ret->names[out] = rp_strndup(*entry, strcspn(*entry, "="));
        ret->list[at++].name = ret->names[out++];
    }
}

/* --- running ------------------------------------------------------------------------------- */

enum { ROCPROFV3_START_NS = 1000000000 };
/** This is what is known of a run that may hang. */
struct hang {
    struct rp_recording_end ending;
    const struct rp_stderr_copy *tap;
    bool attached;
    int64_t until_ns;  /**< attached: by then it must have detached; 0: when it is asked to */
    int64_t asked_ns;  /**< a signal asked to end; 0: none did */
    int64_t looked_ns; /**< when these were found: */
    uint64_t cpu_ms, bytes;
    int64_t busy_ns; /**< when they last grew */
};

/* A program that works, and rocprofv3 that writes, take processor time or say something. The time
 * of a process that has ended counts no more: the sum of the others is compared from then on. */
static void look_whether_busy(struct hang *hang, int64_t now_ns)
{
    enum { SOME_MS = 50 };
    const uint64_t cpu_ms = rp_proc_tree_cpu_ms(), bytes = rp_stderr_copy_bytes(hang->tap);

    if (cpu_ms > hang->cpu_ms + SOME_MS || cpu_ms < hang->cpu_ms || bytes > hang->bytes) {
        hang->busy_ns = now_ns;
        hang->cpu_ms = cpu_ms;
        hang->bytes = bytes;
    }
    hang->looked_ns = now_ns;
}

/* Where rocprofv3 gives up, some releases wait for themselves for ever: 10 s are enough for their
 * last words. Asked to end, one has 5 s from when it last did anything. */
static bool hangs(void *context)
{
    const int64_t s = 1000000000;
    struct hang *hang = context;
    const int64_t now_ns = rp_now_ns(), fatal_ns = rp_stderr_copy_fatal_ns(hang->tap);

    if (!hang->asked_ns && (rp_proc_stop_asked() || rp_proc_interrupting_signal())) {
        hang->asked_ns = hang->busy_ns = now_ns;
        look_whether_busy(hang, now_ns);
    }
    if (fatal_ns &&
        (now_ns - fatal_ns >= 10 * s || (hang->asked_ns && now_ns - hang->asked_ns >= 5 * s)))
        return true;
    if (hang->attached)
        return (hang->asked_ns && now_ns - hang->asked_ns >= RP_MOST_WRITING_NS) ||
               (hang->until_ns && now_ns >= hang->until_ns);
    if (hang->asked_ns && now_ns - hang->looked_ns >= s)
        look_whether_busy(hang, now_ns);
    return hang->asked_ns && now_ns - hang->busy_ns >= 5 * s;
}

static void end_recording(void *context, int64_t elapsed_ns)
{
    const int64_t s = 1000000000;
    struct hang *hang = context;
    const int64_t now_ns = rp_now_ns();

    if (hang->ending.asked && now_ns - hang->looked_ns >= s) {
        look_whether_busy(hang, now_ns);
        if (hang->busy_ns == now_ns)
            hang->ending.busy_at_ns = elapsed_ns;
    }
    rp_recording_end(&hang->ending, elapsed_ns);
}

/* @param ret_text the text on standard error */
static int run_under_rocprofv3(const struct rp_run_request *request,
                               const struct rp_rocprofv3_job *job, struct rp_proc_end *ret,
                               char **ret_text, char **ret_program, bool *ret_over,
                               struct rp_err *err)
{
    /* Its own clock begins some time after the program. */
    struct hang hang = {.ending.at_ns =
                            job->window.delay_ns + job->window.duration_ns + ROCPROFV3_START_NS};
    rp_cleanup(rp_launch_free) struct rp_launch_plan plan = {0};
    rp_cleanup(rocprofv3_args_free) char **args = NULL;
    rp_cleanup(free_changes) struct changes changes = {0};
    rp_autofree char *log = job->log ? rp_path_join(request->out_dir, "tracer.log") : NULL;
    struct rp_proc proc = {.path = request->env->rocprofv3,
                           .stdin_fd = request->stdin_fd,
                           .stdout_fd = request->stdout_fd,
                           .timeout_ns = request->timeout_ns,
                           .result_survives = request->survives_signals,
                           .limits = request->limits,
                           .ends_by_interrupt = job->pid > 0,
                           .hangs = hangs,
                           .context = &hang,
                           .guarded = true};
    rp_autoclose int null = job->pid ? open("/dev/null", O_WRONLY | O_CLOEXEC) : -1;
    struct rp_stderr_copy *tap = NULL;
    int rc =
        job->pid ? 0 : rp_launch_plan(request->env, request->options, request->argv, &plan, err);

    if (rc == 0)
        rc = rp_stderr_copy_open(job->log ? NULL : rp_rocprofv3_hides_line, log, request->stderr_fd,
                                 &tap, err);
    if (rc < 0)
        return rc;
    plan_env(&plan, &changes);
    proc.argv = args = rp_rocprofv3_args(request->env->rocprofv3, job, job->pid ? NULL : plan.argv);
    proc.env = changes.list;
    proc.stderr_fd = rp_stderr_copy_fd(tap);
    if (job->pid) /* The words are rocprofv3's own, and standard output is for results. */
        proc.stdout_fd = job->log ? proc.stderr_fd : null;
    else if (job->window.duration_ns)
        proc.waiting = end_recording;
    hang.tap = tap;
    hang.attached = job->pid > 0;
    if (hang.attached && job->window.duration_ns)
        hang.until_ns = rp_now_ns() + job->window.duration_ns + RP_MOST_WRITING_NS;
    rc = rp_proc_run(&proc, ret, err);
    *ret_over = hang.ending.asked > 0;
    if (rc == -RP_USAGE) /* The user's program cannot be the cause, because it was found. */
        rc = rp_fail(err, RP_ENVIRONMENT, "%s cannot be executed; use --tracer builtin", proc.path);
    *ret_text = rp_stderr_copy_close(tap);
    *ret_program = rp_steal(plan.executable);
    return rc;
}

/* --- results ------------------------------------------------------------------------------- */

static int explain(const struct rp_rocprofv3_messages *verdict, struct rp_err *err)
{
    return rp_fail(err, RP_ENVIRONMENT, "rocprofv3 failed: %s%s%s", verdict->fatal,
                   verdict->remedy ? "; " : "", verdict->remedy ? verdict->remedy : "");
}

/* Databases get the names of a result. Thread traces stay in their folder under another name. */
static int take_files(const struct rp_run_request *request, const char *dir,
                      const struct rp_rocprofv3_files *files, struct rp_run *run,
                      struct rp_err *err)
{
    run->db_paths = rp_alloc_zero(files->database_count + 1, sizeof *run->db_paths);
    for (size_t i = 0; i < files->database_count; i++) {
        char *path = rp_run_db_path(request, i + 1);

        run->db_paths[run->db_count++] = path;
        if (rename(files->databases[i], path) != 0)
            return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot write %s", path);
    }
    if (!files->thread_traces)
        return 0;
    run->thread_trace = rp_format("%s/%s-threads", request->out_dir, request->db_prefix);
    if (rename(dir, run->thread_trace) != 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot write %s", run->thread_trace);
    return 0;
}

/* All that fails is rocprofv3's: the process goes on. */
static int judge_attached(const struct rp_run_request *request, const struct rp_proc_end *end,
                          struct rp_err *err)
{
    if (end->hung)
        return rp_fail(err, RP_ENVIRONMENT,
                       "rocprofv3 did not detach from process %d within 3 minutes, and was killed: "
                       "the process may be recorded until it ends",
                       request->pid);
    if (end->interrupted && end->signaled)
        return rp_fail(err, RP_INTERRUPTED,
                       "interrupted by SIG%s before rocprofv3 had attached to process %d",
                       rp_signal_abbreviation(end->interrupted), request->pid);
    if (end->signaled || end->status)
        return rp_fail(
            err, RP_ENVIRONMENT,
            "rocprofv3 could not record process %d, and ended with %s %d: " RP_ATTACH_NEEDS,
            request->pid, end->signaled ? "signal" : "status", end->status);
    return 0;
}

/* Some releases return while the other process still writes. One that recorded nothing writes
 * nothing. */
static void await_files(const struct rp_run_request *request, const char *dir)
{
    enum { MOST_ROUNDS = 100, ROUND_NS = 100000000 };
    const struct timespec round = {0, ROUND_NS};
    bool whole = false;

    for (int i = 0; i < MOST_ROUNDS && !whole && kill(request->pid, 0) == 0; i++) {
        struct rp_rocprofv3_files files = {0};
        struct rp_err ignored = RP_ERR_INIT;

        if (i)
            nanosleep(&round, NULL);
        whole = rocprofv3_files_find(dir, &files, &ignored) == 0 && files.database_count &&
                !files.unreadable;
        rocprofv3_files_free(&files);
    }
}

/* Decides whether rocprofv3 failed, or the program, or neither. */
static int judge(const struct rp_run_request *request, const char *dir, const char *text,
                 const char *program, struct rp_run *run, struct rp_err *err)
{
    rp_cleanup(rocprofv3_files_free) struct rp_rocprofv3_files files = {0};
    rp_cleanup(rp_rocprofv3_messages_free) struct rp_rocprofv3_messages verdict = {0};
    bool failed = run->end.signaled || run->end.status != 0;
    bool has_trace;
    int rc = rocprofv3_files_find(dir, &files, err);

    has_trace = files.database_count || files.unreadable || files.thread_traces;
    if (rc < 0)
        return rc;
    rp_rocprofv3_read_messages(text, has_trace, program, &verdict);
    run->warnings = rp_steal(verdict.warnings);
    run->warning_count = verdict.warning_count;
    verdict.warning_count = 0;
    if (verdict.too_much && (failed || !has_trace)) {
        run->too_much = true;
        return 0;
    }
    /* A Ctrl-C that comes early looks like a failure of Python. */
    if (verdict.fatal && (failed || !has_trace) &&
        !(request->pid && run->end.interrupted && run->end.signaled))
        return explain(&verdict, err);
    rc = request->pid ? judge_attached(request, &run->end, err) : 0;
    if (rc < 0)
        return rc;
    if (!failed && files.unreadable)
        return rp_fail(err, RP_BAD_INPUT,
                       "rocprofv3 left a database that is not whole; is the disk full?");
    if (files.thread_traces) /* Its decoder did not stop it, but says why there is nothing. */
        run->decoder_said = rp_steal(verdict.fatal);
    run->trace_is_whole = run->end.signaled && files.database_count && !files.unreadable;
    return take_files(request, dir, &files, run, err);
}

static bool knows_option(const struct rp_environment *env, const char *option);

static int run_job(const struct rp_run_request *request, struct rp_rocprofv3_job *job,
                   struct rp_run *ret, struct rp_err *err)
{
    rp_autofree char *relative = rp_path_join(request->out_dir, "rocprofv3");
    rp_autofree char *dir = NULL, *text = NULL, *program = NULL;
    struct rp_run run = {0};
    int rc = rp_mkdirs(relative, err);

    if (rc < 0)
        return rc;
    /* The path is absolute, because the program may change its folder. */
    dir = realpath(relative, NULL);
    if (!dir)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "%s", relative);
    job->out_dir = dir;
    job->log = request->log;
    job->no_hip_calls = request->options->no_hip_calls;
    job->selected_regions = request->options->selected_regions;
    job->window = request->window;
    job->pid = request->pid;
    job->sync_output = request->pid && knows_option(request->env, "--attach-sync-output");
    rc = run_under_rocprofv3(request, job, &run.end, &text, &program, &run.window_over, err);
    if (rc == 0 && job->pid && !job->sync_output && !run.end.signaled && !run.end.status)
        await_files(request, dir);
    if (rc == 0)
        rc = judge(request, dir, text, program, &run, err);
    if (rc == 0)
        rc = rp_proc_interrupted(err);
    rp_remove_tree(dir);
    if (rc < 0)
        rp_run_free(&run);
    else
        *ret = run;
    return rc;
}

static int trace(const struct rp_run_request *request, struct rp_run *ret, struct rp_err *err)
{
    struct rp_rocprofv3_job job = {0};

    return run_job(request, &job, ret, err);
}

static int count(const struct rp_run_request *request, const char *const *counters,
                 struct rp_run *ret, struct rp_err *err)
{
    struct rp_rocprofv3_job job = {.counters = counters};

    return run_job(request, &job, ret, err);
}

static int trace_threads(const struct rp_run_request *request,
                         const struct rp_thread_trace_options *options, struct rp_run *ret,
                         struct rp_err *err)
{
    struct rp_rocprofv3_job job = {.thread_trace = options};

    return run_job(request, &job, ret, err);
}

/* --- the decoder of thread traces ---------------------------------------------------------- */

/* Looks where rocprofv3 does: in the first of these that is given, and all below it. */
static char *decoder_folders(const struct rp_environment *env, const char *said)
{
    const char *inherited = getenv("ROCPROF_ATT_LIBRARY_PATH"), *libraries;
    rp_autofree char *root = NULL;

    if (said)
        return rp_strdup(said);
    if (inherited && *inherited)
        return rp_strdup(inherited);
    root = realpath(env->rocprofv3, NULL);
    for (int up = 0; root && up < 2 && strrchr(root, '/'); up++) /* ROOT/bin/rocprofv3 */
        *strrchr(root, '/') = '\0';
    libraries = getenv("LD_LIBRARY_PATH");
    return rp_format("%s%s%s/lib", libraries ? libraries : "", libraries && *libraries ? ":" : "",
                     root ? root : "");
}

static int check_threads(const struct rp_environment *env,
                         const struct rp_thread_trace_options *options, struct rp_err *err)
{
    rp_autofree char *folders = decoder_folders(env, options->decoder);
    rp_autofree char *list = rp_strdup(folders);
    char *rest = list;
    bool found = false;

    if (options->gpus && !knows_option(env, "--att-gpu-index"))
        return rp_fail(err, RP_ENVIRONMENT,
                       "--att-gpu-index: this rocprofv3 does not know the option: leave it out, or "
                       "install ROCm 7.1 or later");
    for (char *dir; !found && (dir = strsep(&rest, options->decoder ? "" : ":")) != NULL;)
        found = is_decoder_in(dir);
    if (found)
        return 0;
    return rp_fail(err, RP_ENVIRONMENT,
                   "librocprof-trace-decoder.so is not in or below %s; " RP_DECODER_REMEDY,
                   folders);
}

/* --- version ------------------------------------------------------------------------------- */

/* The lines are " version: 1.1.0", " rocm_version: 7.1.0" ... */
static char *find_version(const char *text)
{
    static const char key[] = " version: ";
    const char *found = strstr(text, key);

    return found ? rp_strndup(found + strlen(key), strcspn(found + strlen(key), "\r\n")) : NULL;
}

/* What it prints with one option, which the caller frees; NULL: nothing. */
static char *answer(const struct rp_environment *env, const char *option)
{
    rp_autofree char *name = rp_strdup(option);
    char path[64], *args[] = {env->rocprofv3, name, NULL};
    rp_autoclose int out = rp_memfd("answer", MFD_CLOEXEC);
    rp_autoclose int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    struct rp_proc proc = {.path = env->rocprofv3,
                           .argv = args,
                           .stdout_fd = out,
                           .stderr_fd = null,
                           .timeout_ns = (int64_t)30 * 1000000000};
    struct rp_err ignored = RP_ERR_INIT;
    struct rp_proc_end end;

    if (out < 0 || null < 0 || rp_proc_run(&proc, &end, &ignored) < 0)
        return NULL;
    snprintf(path, sizeof path, "/proc/self/fd/%d", out);
    return rp_read_text(path, 1 << 20);
}

static char *version(const struct rp_environment *env)
{
    rp_autofree char *text = answer(env, "--version");

    return text ? find_version(text) : NULL;
}

/* One that does not say which options it has is taken to know all. */
static bool knows_option(const struct rp_environment *env, const char *option)
{
    rp_autofree char *text = answer(env, "--help");

    return !text || !strstr(text, "--att-target-cu") || strstr(text, option);
}

static int check_attach(const struct rp_environment *env, struct rp_err *err)
{
    rp_autofree char *known = NULL;

    if (knows_option(env, "--attach-duration-msec"))
        return 0;
    known = version(env);
    return rp_fail(err, RP_ENVIRONMENT,
                   "--pid: this rocprofv3 (%s) cannot attach to a process: install ROCm 7.1 or "
                   "later, or start the program with rocm-perf profile",
                   known ? known : "of unknown version");
}

const struct rp_tracer rp_tracer_rocprofv3 = {
    .name = "rocprofv3",
    .shows_log = true,
    .version = version,
    .check_window = check_window,
    .check_attach = check_attach,
    .trace = trace,
    .count = count,
    .check_threads = check_threads,
    .trace_threads = trace_threads,
};

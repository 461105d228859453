#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/memfd.h"
#include "base/path.h"
#include "collect/launch.h"
#include "collect/rocprofv3_files.h"
#include "collect/rocprofv3_log.h"
#include "collect/stderr_tap.h"
#include "collect/tracer.h"

enum { MAX_CHANGES = 128 };

/* --- environment --------------------------------------------------------------------------- */

/* Options of the user's own rocprofv3 runs would change ours. The two that name libraries stay. */
static bool is_foreign_option(const char *entry)
{
    return strncmp(entry, "ROCPROF_", 8) == 0 &&
           strncmp(entry, "ROCPROF_ATT_LIBRARY_PATH=", 25) != 0 &&
           strncmp(entry, "ROCPROF_PRELOAD=", 16) != 0;
}

struct changes {
    struct rp_env_change list[MAX_CHANGES];
    char *names[MAX_CHANGES];
};

static void free_changes(struct changes *changes)
{
    for (size_t i = 0; i < MAX_CHANGES; i++)
        free(changes->names[i]);
}

static int plan_env(const struct rp_launch_plan *plan, struct changes *ret, struct rp_err *err)
{
    size_t at = 0;

    for (; plan->env[at].name; at++)
        ret->list[at] = plan->env[at];
    for (char **entry = environ; *entry && at + 1 < MAX_CHANGES; entry++) {
        if (!is_foreign_option(*entry))
            continue;
        ret->names[at] = strndup(*entry, strcspn(*entry, "="));
        if (!ret->names[at])
            return rp_fail(err, RP_ENVIRONMENT, "out of memory");
        ret->list[at].name = ret->names[at];
        at++;
    }
    return 0;
}

/* --- running ------------------------------------------------------------------------------- */

/* @param ret_text  what was written on standard error */
static int start(const struct rp_run_request *request, const struct rp_rocprofv3_job *job,
                 struct rp_proc_end *ret, char **ret_text, struct rp_err *err)
{
    rp_cleanup(rp_launch_free) struct rp_launch_plan plan = {0};
    rp_cleanup(rp_rocprofv3_args_free) char **args = NULL;
    rp_cleanup(free_changes) struct changes changes = {0};
    rp_autofree char *log = job->log ? rp_path_join(request->out_dir, "tracer.log") : NULL;
    struct rp_proc proc = {.path = request->env->rocprofv3,
                           .stdout_fd = request->stdout_fd,
                           .timeout_ns = request->timeout_ns,
                           .limits = request->limits};
    struct rp_stderr_tap *tap;
    int rc = rp_launch_plan(request->env, request->device, request->argv, NULL, NULL, &plan, err);

    if (rc == 0)
        rc = rp_rocprofv3_args(request->env->rocprofv3, job, plan.argv, &args, err);
    if (rc == 0)
        rc = plan_env(&plan, &changes, err);
    if (rc == 0)
        rc = rp_stderr_tap_open(job->log ? NULL : rp_rocprofv3_hides, log, &tap, err);
    if (rc < 0)
        return rc;
    proc.argv = args;
    proc.env = changes.list;
    proc.stderr_fd = rp_stderr_tap_fd(tap);
    rc = rp_proc_run(&proc, ret, err);
    if (rc == -RP_USAGE) /* not the user's program: that one was found */
        rc = rp_fail(err, RP_ENVIRONMENT, "%s cannot be executed; use --tracer builtin", proc.path);
    *ret_text = rp_stderr_tap_close(tap);
    if (rc == 0 && !*ret_text)
        rc = rp_fail(err, RP_ENVIRONMENT, "out of memory");
    return rc;
}

/* --- results ------------------------------------------------------------------------------- */

static int explain(const struct rp_rocprofv3_verdict *verdict, struct rp_err *err)
{
    return rp_fail(err, RP_ENVIRONMENT, "rocprofv3 failed: %s%s%s", verdict->fatal,
                   verdict->remedy ? "; " : "", verdict->remedy ? verdict->remedy : "");
}

/* Databases get the names of a result; thread traces stay in their folder under another name. */
static int take_files(const struct rp_run_request *request, const char *dir,
                      const struct rp_rocprofv3_files *files, struct rp_run *run,
                      struct rp_err *err)
{
    run->db_paths = calloc(files->database_count + 1, sizeof *run->db_paths);
    if (!run->db_paths)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (size_t i = 0; i < files->database_count; i++) {
        char *path = rp_run_db_path(request, i + 1);

        if (!path)
            return rp_fail(err, RP_ENVIRONMENT, "out of memory");
        run->db_paths[run->db_count++] = path;
        if (rename(files->databases[i], path) != 0)
            return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot write %s", path);
    }
    if (!files->thread_traces)
        return 0;
    run->thread_trace = rp_format("%s/%s-threads", request->out_dir, request->db_prefix);
    if (!run->thread_trace)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    if (rename(dir, run->thread_trace) != 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot write %s", run->thread_trace);
    return 0;
}

/* Was it rocprofv3 that failed, or the program, or nobody? */
static int judge(const struct rp_run_request *request, const char *dir, const char *text,
                 struct rp_run *run, struct rp_err *err)
{
    rp_cleanup(rp_rocprofv3_files_free) struct rp_rocprofv3_files files = {0};
    rp_cleanup(rp_rocprofv3_verdict_free) struct rp_rocprofv3_verdict verdict = {0};
    bool failed = run->end.signaled || run->end.status != 0;
    bool has_trace;
    int rc = rp_rocprofv3_files_find(dir, &files, err);

    has_trace = files.database_count || files.unreadable || files.thread_traces;
    if (rc == 0)
        rc = rp_rocprofv3_judge(text, has_trace, &verdict, err);
    if (rc < 0)
        return rc;
    run->warnings = rp_steal(verdict.warnings);
    run->warning_count = verdict.warning_count;
    verdict.warning_count = 0;
    if (verdict.too_much && (failed || !has_trace)) {
        run->too_much = true;
        return 0;
    }
    if (verdict.fatal && (failed || !has_trace))
        return explain(&verdict, err);
    if (!failed && files.unreadable)
        return rp_fail(err, RP_BAD_INPUT,
                       "rocprofv3 left a database that is not whole; is the disk full?");
    return take_files(request, dir, &files, run, err);
}

static int run_job(const struct rp_run_request *request, struct rp_rocprofv3_job *job,
                   struct rp_run *ret, struct rp_err *err)
{
    rp_autofree char *relative = rp_path_join(request->out_dir, "rocprofv3");
    rp_autofree char *dir = NULL, *text = NULL;
    struct rp_run run = {0};
    int rc = relative ? rp_mkdirs(relative, err) : rp_fail(err, RP_ENVIRONMENT, "out of memory");

    if (rc < 0)
        return rc;
    dir = realpath(relative, NULL); /* the program may change its folder */
    if (!dir)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "%s", relative);
    job->out_dir = dir;
    job->log = request->log;
    job->no_hip_calls = request->no_hip_calls;
    rc = start(request, job, &run.end, &text, err);
    if (rc == 0)
        rc = judge(request, dir, text, &run, err);
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

/* --- version ------------------------------------------------------------------------------- */

/* The lines are "   version: 1.1.0", "   rocm_version: 7.1.0" ... */
static char *find_version(const char *text)
{
    static const char key[] = " version: ";
    const char *found = strstr(text, key);

    return found ? strndup(found + strlen(key), strcspn(found + strlen(key), "\r\n")) : NULL;
}

static char *version(const struct rp_environment *env)
{
    char name[] = "--version", path[64], *args[] = {env->rocprofv3, name, NULL};
    rp_autoclose int out = rp_memfd("version", MFD_CLOEXEC);
    rp_autoclose int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    struct rp_proc proc = {.path = env->rocprofv3,
                           .argv = args,
                           .stdout_fd = out,
                           .stderr_fd = null,
                           .timeout_ns = (int64_t)30 * 1000000000};
    rp_autofree char *text = NULL;
    struct rp_err ignored = RP_ERR_INIT;
    struct rp_proc_end end;

    if (out < 0 || null < 0 || rp_proc_run(&proc, &end, &ignored) < 0)
        return NULL;
    snprintf(path, sizeof path, "/proc/self/fd/%d", out);
    text = rp_read_text(path, 1 << 16);
    return text ? find_version(text) : NULL;
}

const struct rp_tracer rp_tracer_rocprofv3 = {
    .name = "rocprofv3",
    .shows_log = true,
    .version = version,
    .trace = trace,
    .count = count,
    .trace_threads = trace_threads,
};

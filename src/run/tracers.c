#include "run/run_program.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "run/device_thread_trace.h"
#include "run/kernel_names.h"
#include "run/record_to_db.h"
#include "trace/records.h"

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
                       "--tracer rocprofv3: there is none in $ROCM_PATH/bin, /opt/rocm/bin or"
                       " $PATH; install the package rocprofiler-sdk, or use --tracer builtin");
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
    .trace = rp_run_program,
    .trace_threads = trace_threads,
};

struct record_file {
    char *path;
    uint64_t init_ns;
    uint32_t pid;
};

/* Order of processes: by start on the device clock, then by pid; never by directory order. */
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

static int convert(const struct rp_run_request *request, const struct record_file *files,
                   size_t count, struct rp_run *run, struct rp_err *err)
{
    rp_autofree char *command = join_command(request->argv);
    rp_cleanup(rp_demangler_close) struct rp_demangler demangler = {0};
    struct utsname host;
    int rc = 0;

    rp_demangler_open(request->env, &demangler);
    uname(&host);
    run->db_paths = rp_alloc_zero(count + 1, sizeof *run->db_paths);
    for (size_t i = 0; i < count && rc == 0; i++) {
        struct rp_record_to_db_options options = {
            .demangler = &demangler, .command = command, .hostname = host.nodename, .host = &host};
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

/* A process whose collector could not even make its file has run unrecorded: not a result. */
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

static int start(const struct rp_run_request *request, const char *record_dir, struct rp_run *run,
                 struct rp_err *err)
{
    rp_cleanup(rp_launch_free) struct rp_launch_plan plan = {0};
    /* Absolute: the program may change its folder before it loads the collector. */
    rp_autofree char *dir = request->log ? realpath(request->out_dir, NULL) : NULL;
    rp_autofree char *log = dir ? rp_path_join(dir, "tracer.log") : NULL;
    struct rp_proc proc = {.stdin_fd = request->stdin_fd,
                           .stdout_fd = request->stdout_fd,
                           .stderr_fd = request->stderr_fd > 0 ? request->stderr_fd : -1,
                           .timeout_ns = request->timeout_ns,
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
    return rp_proc_run(&proc, &run->end, err);
}

int rp_run_program(const struct rp_run_request *request, struct rp_run *ret, struct rp_err *err)
{
    struct rp_run run = {0};
    rp_autofree char *record_dir = NULL;
    rp_autofree char *absolute = NULL;
    int rc = 0;

    if (request->traced) {
        record_dir = rp_format("%s/records", request->out_dir);
        rc = rp_mkdirs(record_dir, err);
        if (rc < 0)
            return rc;
        absolute = realpath(record_dir, NULL); /* the program may change its folder */
        if (!absolute)
            return rp_fail_errno(err, RP_ENVIRONMENT, errno, "%s", record_dir);
    }
    rc = start(request, absolute, &run, err);
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

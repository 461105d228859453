#include "collect/isolate_run.h"

#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "collect/launch.h"
#include "collect/snapshot_server.h"
#include "trace/capture.h"
#include "trace/records.h"

void rp_isolation_free(struct rp_isolation *isolation)
{
    free(isolation->declined);
    free(isolation->matches);
    for (size_t i = 0; i < RP_ISOLATION_NAMES; i++)
        free(isolation->names[i]);
    memset(isolation, 0, sizeof *isolation);
}

#define SCRATCH_NAME "rocm-perf-capture-"

enum { SCRATCH_YOUNG_S = 60 }; /* it may have been made, and not be locked yet */

/* Removes what a rocm-perf that was killed has left: nobody holds the lock on it. */
static void remove_if_stale(const char *path)
{
    rp_autoclose int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat about;

    if (fd >= 0 && fstat(fd, &about) == 0 && about.st_uid == geteuid() &&
        time(NULL) - about.st_mtime > SCRATCH_YOUNG_S && flock(fd, LOCK_EX | LOCK_NB) == 0)
        rp_remove_tree(path);
}

static void remove_stale(const char *parent)
{
    rp_autofree char *pattern = rp_path_pattern(parent, SCRATCH_NAME "??????");
    glob_t found = {0};

    if (pattern && glob(pattern, GLOB_NOSORT, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++)
            remove_if_stale(found.gl_pathv[i]);
    globfree(&found);
}

struct scratch {
    char *folder, *socket;
    int lock; /* 0: none */
};

/* A folder of our own for the socket and the collector's records, which nobody reads. */
static int make_scratch(struct scratch *scratch, struct rp_err *err)
{
    const char *wish = getenv("TMPDIR"), *parent = wish && *wish ? wish : "/tmp";
    rp_autofree char *path = rp_format("%s/" SCRATCH_NAME "XXXXXX", parent);
    int fd;

    if (!path)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    remove_stale(parent);
    if (!mkdtemp(path))
        return rp_fail(err, RP_ENVIRONMENT, "cannot make a folder %s; set TMPDIR to another place",
                       path);
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd > 0) {
        flock(fd, LOCK_EX);
        scratch->lock = fd;
    }
    scratch->folder = rp_steal(path);
    return 0;
}

static void add_env(struct rp_launch_plan *plan, const char *name, const char *value)
{
    struct rp_env_change *at = plan->env;

    while (at->name)
        at++;
    *at = (struct rp_env_change){name, value, NULL};
}

static void drop_scratch(struct scratch *scratch)
{
    if (scratch->folder)
        rp_remove_tree(scratch->folder);
    if (scratch->lock)
        close(scratch->lock);
    free(scratch->folder);
    free(scratch->socket);
}

static int start(const struct rp_isolation_request *request, const struct scratch *scratch,
                 int stdout_fd, struct rp_proc_end *ret, struct rp_err *err)
{
    rp_cleanup(rp_launch_free) struct rp_launch_plan plan = {0};
    struct rp_proc proc = {.stdout_fd = stdout_fd, .stderr_fd = -1};
    int rc = rp_launch_plan(request->env, request->device, request->argv, scratch->folder,
                            getenv("ROCM_PERF_TOOL_DEBUG"), &plan, err);

    if (rc < 0)
        return rc;
    add_env(&plan, RP_SNAPSHOT_SOCKET_VARIABLE, scratch->socket);
    proc.path = plan.path;
    proc.argv = plan.argv;
    proc.env = plan.env;
    return rp_proc_run(&proc, ret, err);
}

/* One run of the program, with somebody who listens. */
static int run(const struct rp_isolation_request *request, struct scratch *scratch, int stdout_fd,
               struct rp_isolation *ret, struct rp_err *err)
{
    struct rp_snapshot_request wishes = {.folder = request->folder,
                                         .several = request->several,
                                         .waits = request->waits,
                                         .origin = {.command = (const char *const *)request->argv,
                                                    .version = request->version,
                                                    .rocm = request->env->rocm_version}};
    const struct rp_snapshot_wanted wanted = {.env = request->env,
                                              .kernel_regex = request->kernel,
                                              .selection = request->selection,
                                              .numbers = request->numbers};
    struct rp_snapshot_server *server;
    struct rp_err late = RP_ERR_INIT;
    int rc = make_scratch(scratch, err), late_rc;

    if (rc < 0)
        return rc;
    scratch->socket = rp_path_join(scratch->folder, "socket");
    if (!scratch->socket)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    rc = rp_snapshot_server_start(scratch->socket, &wishes, &wanted, &server, err);
    if (rc < 0)
        return rc;
    rc = start(request, scratch, stdout_fd, &ret->end, err);
    late_rc = rp_snapshot_server_stop(server, ret, &late);
    if (rc == 0 && late_rc < 0) {
        *err = late;
        rc = late_rc;
    }
    return rc;
}

/* What is whole stays. */
static void name_kept(const struct rp_isolation_request *request, const struct rp_isolation *found,
                      struct rp_err *err)
{
    rp_cleanup(rp_buf_free) struct rp_buf text = {0};
    const enum rp_code code = err->code;

    rp_buf_printf(&text, "%s; whole and kept, but not replayed: ", err->text);
    for (size_t i = 0; request->several && i < found->captured; i++)
        rp_buf_printf(&text, "%s%s/" RP_CAPTURE_SEVERAL_FOLDER, i ? ", " : "", request->folder,
                      found->matches[i]);
    if (!request->several)
        rp_buf_printf(&text, "%s", request->folder);
    if (!text.failed)
        rp_fail(err, code, "%s", rp_buf_text(&text));
}

int rp_isolate_program(const struct rp_isolation_request *request, struct rp_isolation *ret,
                       struct rp_err *err)
{
    rp_cleanup(drop_scratch) struct scratch scratch = {0};
    struct rp_isolation isolation = {0};
    int rc;

    if (rp_path_exists(request->folder))
        return rp_fail(err, RP_USAGE, "%s exists already; remove it or give another folder with -o",
                       request->folder);
    rc = run(request, &scratch, -1, &isolation, err);
    if (rc == 0 && !isolation.captured)
        rc = rp_proc_interrupted(err);
    if (request->several)
        rmdir(request->folder); /* unless there is something in it */
    if (rc < 0 && isolation.captured)
        name_kept(request, &isolation, err);
    if (rc < 0)
        rp_isolation_free(&isolation);
    else
        *ret = isolation;
    return rc;
}

/* --- the longest --------------------------------------------------------------------------- */

RP_DEFINE_CLEANUP(struct rp_record_file, rp_record_file_close)

static void look_at(const struct rp_rec_dispatch *d, struct rp_isolate_longest *longest)
{
    const uint64_t duration_ns = d->end_ns > d->start_ns ? d->end_ns - d->start_ns : 0;

    if (d->match == 0)
        return;
    if (longest->match == 0 || duration_ns > longest->duration_ns ||
        (duration_ns == longest->duration_ns && d->match < longest->match)) {
        longest->match = d->match;
        longest->duration_ns = duration_ns;
        memcpy(longest->grid, d->grid, sizeof longest->grid);
        memcpy(longest->workgroup, d->workgroup, sizeof longest->workgroup);
    }
    longest->matches = d->match > longest->matches ? d->match : longest->matches;
}

static int read_trace(const char *path, struct rp_isolate_longest *ret, struct rp_err *err)
{
    rp_cleanup(rp_cleanup_rp_record_file_close) struct rp_record_file *file = NULL;
    struct rp_isolate_longest longest = {0};
    const struct rp_record *records;
    uint64_t seen = 0;
    size_t count;
    int rc = rp_record_file_open(path, &file, err);

    if (rc < 0)
        return rc;
    records = rp_record_file_records(file, &count);
    for (size_t i = 0; i < count; i++)
        if (records[i].kind == RP_REC_DISPATCH) {
            look_at(&records[i].u.dispatch, &longest);
            seen += records[i].u.dispatch.match > 0;
        }
    if (seen < longest.matches || rp_record_file_header(file)->lost_records > 0)
        return rp_fail(
            err, RP_BAD_INPUT,
            "--longest: not all dispatches of the program could be timed: choose one with "
            "--dispatch");
    if (longest.match > 0 && longest.duration_ns == 0)
        return rp_fail(err, RP_BAD_INPUT,
                       "--longest: the device gives no times: choose one with --dispatch");
    if (longest.match > 0 && ret->match > 0)
        return rp_fail(
            err, RP_VERDICT,
            "--longest: several processes have dispatches that match, and which one is "
            "captured is not known beforehand: trace the one, or choose with --dispatch");
    if (longest.match > 0)
        *ret = longest;
    return 0;
}

static int read_traces(const char *folder, struct rp_isolate_longest *ret, struct rp_err *err)
{
    rp_autofree char *pattern = rp_path_pattern(folder, "*.rptrace");
    struct rp_isolate_longest longest = {0};
    glob_t found = {0};
    int rc = 0;

    if (!pattern)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc && rc == 0; i++)
            rc = read_trace(found.gl_pathv[i], &longest, err);
    globfree(&found);
    if (rc == 0)
        *ret = longest;
    return rc;
}

int rp_isolate_find_longest(const struct rp_isolation_request *request,
                            struct rp_isolate_longest *ret, struct rp_isolation *ret_isolation,
                            struct rp_err *err)
{
    rp_cleanup(drop_scratch) struct scratch scratch = {0};
    rp_autoclose int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    struct rp_isolation_request survey = *request;
    struct rp_isolation isolation = {0};
    int rc;

    survey.selection.mode = RP_SNAPSHOT_SCAN;
    survey.selection.number_count = 0;
    rc = run(&survey, &scratch, nowhere, &isolation, err);
    if (rc == 0)
        rc = rp_proc_interrupted(err);
    if (rc == 0)
        rc = read_traces(scratch.folder, ret, err);
    if (rc < 0)
        rp_isolation_free(&isolation);
    else
        *ret_isolation = isolation;
    return rc;
}

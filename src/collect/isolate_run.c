#include "collect/isolate_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "collect/launch.h"
#include "collect/snapshot_server.h"

void rp_isolation_free(struct rp_isolation *isolation)
{
    free(isolation->declined);
    for (size_t i = 0; i < RP_ISOLATION_NAMES; i++)
        free(isolation->names[i]);
    memset(isolation, 0, sizeof *isolation);
}

/* A folder of our own for the socket and the collector's records, which nobody reads. */
static int make_scratch(char **ret, struct rp_err *err)
{
    const char *parent = getenv("TMPDIR");
    rp_autofree char *path =
        rp_format("%s/rocm-perf-isolate-XXXXXX", parent && *parent ? parent : "/tmp");

    if (!path)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    if (!mkdtemp(path))
        return rp_fail(err, RP_ENVIRONMENT, "cannot make a folder %s; set TMPDIR to another place",
                       path);
    *ret = rp_steal(path);
    return 0;
}

static void remove_scratch(char **path)
{
    if (*path)
        rp_remove_tree(*path);
    free(*path);
}

static void add_env(struct rp_launch_plan *plan, const char *name, const char *value)
{
    struct rp_env_change *at = plan->env;

    while (at->name)
        at++;
    *at = (struct rp_env_change){name, value, NULL};
}

static int start(const struct rp_isolation_request *request, const char *scratch,
                 const char *socket_path, struct rp_proc_end *ret, struct rp_err *err)
{
    rp_cleanup(rp_launch_free) struct rp_launch_plan plan = {0};
    struct rp_proc proc = {.stdout_fd = -1, .stderr_fd = -1};
    char number[24];
    int rc = rp_launch_plan(request->env, request->device, request->argv, scratch,
                            getenv("ROCM_PERF_TOOL_DEBUG"), &plan, err);

    if (rc < 0)
        return rc;
    snprintf(number, sizeof number, "%llu", (unsigned long long)request->dispatch);
    add_env(&plan, RP_SNAPSHOT_SOCKET_VARIABLE, socket_path);
    add_env(&plan, RP_SNAPSHOT_DISPATCH_VARIABLE, number);
    proc.path = plan.path;
    proc.argv = plan.argv;
    proc.env = plan.env;
    return rp_proc_run(&proc, ret, err);
}

int rp_isolate_program(const struct rp_isolation_request *request, struct rp_isolation *ret,
                       struct rp_err *err)
{
    rp_cleanup(remove_scratch) char *scratch = NULL;
    rp_autofree char *path = NULL;
    struct rp_snapshot_wishes wishes = {.folder = request->folder,
                                        .origin = {.command = (const char *const *)request->argv,
                                                   .version = request->version,
                                                   .rocm = request->env->rocm_version}};
    struct rp_snapshot_server *server;
    struct rp_isolation isolation = {0};
    struct rp_err late = RP_ERR_INIT;
    int rc, late_rc;

    if (rp_path_exists(request->folder))
        return rp_fail(err, RP_USAGE, "%s exists already; remove it or give another folder with -o",
                       request->folder);
    rc = make_scratch(&scratch, err);
    if (rc < 0)
        return rc;
    path = rp_path_join(scratch, "socket");
    if (!path)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    rc = rp_snapshot_server_start(path, &wishes, request->kernel, &server, err);
    if (rc < 0)
        return rc;
    rc = start(request, scratch, path, &isolation.end, err);
    late_rc = rp_snapshot_server_stop(server, &isolation, &late);
    if (rc == 0 && late_rc < 0) {
        *err = late;
        rc = late_rc;
    }
    if (rc == 0 && !isolation.captured)
        rc = rp_proc_interrupted(err);
    if (rc < 0)
        rp_isolation_free(&isolation);
    else
        *ret = isolation;
    return rc;
}

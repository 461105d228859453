#include "cli/replay_child.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "collect/launch.h"

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

enum { MOST_ARGS = 24, NOT_LOADED = 127 /* as of ld.so; it has no such status of its own */ };

struct child {
    char *strings[4]; /* owned */
    char *argv[MOST_ARGS];
};

static void free_child(struct child *child)
{
    for (size_t i = 0; i < 4; i++)
        free(child->strings[i]);
}

/* The private ROCm is newer than the machine's libc: its own loader starts the program. */
static int plan_child(const struct rp_environment *env, const struct rp_replay_child *o,
                      struct child *child, struct rp_err *err)
{
    const bool private_rocm = env->rocm_kind == RP_ROCM_PRIVATE;
    size_t at = 0;
    int rc = find_program(env, &child->strings[0], err);

    if (rc < 0)
        return rc;
    child->strings[1] =
        rp_format("%s/%s", env->rocm_root, private_rocm ? "usr/lib/x86_64-linux-gnu" : "lib");
    child->strings[2] =
        rp_format("%s/libhsa-runtime64.so.1", child->strings[1] ? child->strings[1] : "");
    child->strings[3] = rp_format("%s/lib64/ld-linux-x86-64.so.2", env->rocm_root);
    for (size_t i = 0; i < 4; i++)
        if (!child->strings[i])
            return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    if (private_rocm) {
        child->argv[at++] = child->strings[3];
        child->argv[at++] = (char *)(uintptr_t) "--library-path";
        child->argv[at++] = child->strings[1];
    }
    child->argv[at++] = child->strings[0];
    child->argv[at++] = (char *)(uintptr_t)o->action;
    child->argv[at++] = (char *)(uintptr_t)o->folder;
    child->argv[at++] = child->strings[2];
    child->argv[at++] = env->rocm_version ? env->rocm_version : (char *)(uintptr_t) "";
    child->argv[at++] = (char *)(uintptr_t)o->iterations;
    child->argv[at++] = (char *)(uintptr_t)o->warmup;
    child->argv[at++] = (char *)(uintptr_t)o->flags;
    child->argv[at++] = (char *)(uintptr_t)o->hsaco;
    child->argv[at++] = (char *)(uintptr_t)o->compare;
    child->argv[at++] = (char *)(uintptr_t)(o->other ? o->other : "");
    child->argv[at++] = (char *)(uintptr_t)(o->margin ? o->margin : "0");
    child->argv[at++] = (char *)(uintptr_t)(o->inputs ? o->inputs : "none");
    child->argv[at] = (char *)(uintptr_t)(o->step_fd ? o->step_fd : "-1");
    return 0;
}

int rp_replay_child_run(const struct rp_environment *env, enum rp_device device,
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
    int rc = plan_child(env, o, &child, err);

    if (rc == 0)
        rc = rp_launch_plan(env, device, child.argv, NULL, NULL, &plan, err);
    if (rc < 0)
        return rc;
    proc.path = plan.path;
    proc.argv = plan.argv;
    proc.env = plan.env;
    rc = rp_proc_run(&proc, ret, err);
    if (rc == 0 && !ret->signaled && ret->status == NOT_LOADED)
        rc = rp_fail(err, RP_ENVIRONMENT,
                     "%s cannot be loaded (the loader's message is above): build or install "
                     "rocm-perf-lab anew, with the ROCm of %s",
                     child.strings[0], env->rocm_root);
    return rc;
}

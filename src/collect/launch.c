#include "collect/launch.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "collect/elf_needs.h"

static size_t count_args(char *const *argv)
{
    size_t n = 0;

    while (argv[n])
        n++;
    return n;
}

/*
 * A program that was linked elsewhere against ROCm has the machine's own loader, which finds no
 * ROCm here, and whose libc is older than the private ROCm's. The private loader runs it. Programs
 * made by `rocm-perf hipcc` name that loader themselves, and everything else (scripts, Python) is
 * left alone.
 */
static bool wants_private_loader(const struct rp_environment *env, const char *executable)
{
    struct rp_elf_needs needs;

    if (env->rocm_kind != RP_ROCM_PRIVATE)
        return false;
    rp_elf_needs(executable, env->rocm_root, &needs);
    return needs.is_elf && needs.needs_rocm && !needs.interp_is_in;
}

static int plan_argv(const struct rp_environment *env, char *const *argv,
                     struct rp_launch_plan *plan, struct rp_err *err)
{
    size_t argc = count_args(argv), at = 0;

    plan->argv = calloc(argc + 7, sizeof *plan->argv);
    if (!plan->argv)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    if (wants_private_loader(env, plan->executable)) {
        plan->loader_args[0] = rp_format("%s/lib64/ld-linux-x86-64.so.2", env->rocm_root);
        plan->loader_args[1] = strdup("--library-path");
        plan->loader_args[2] = rp_format("%s/usr/lib/x86_64-linux-gnu", env->rocm_root);
        plan->loader_args[3] = strdup("--argv0");
        for (unsigned i = 0; i < 4; i++) {
            if (!plan->loader_args[i])
                return rp_fail(err, RP_ENVIRONMENT, "out of memory");
            plan->argv[at++] = plan->loader_args[i];
        }
        plan->argv[at++] = argv[0];
        plan->argv[at++] = plan->executable;
        plan->path = strdup(plan->loader_args[0]);
    } else {
        plan->argv[at++] = argv[0];
        plan->path = strdup(plan->executable);
    }
    memcpy(plan->argv + at, argv + 1, argc * sizeof *argv); /* with the terminator */
    return plan->path ? 0 : rp_fail(err, RP_ENVIRONMENT, "out of memory");
}

static int plan_env(const struct rp_environment *env, enum rp_device device, const char *trace_dir,
                    const char *tracer_log, struct rp_launch_plan *plan, struct rp_err *err)
{
    size_t at = 0;

    if (device == RP_DEVICE_SOFTWARE)
        plan->env[at++] = (struct rp_env_change){"LD_PRELOAD", env->device_library, ":"};
    if (!trace_dir)
        return 0;
    if (!env->tool_library)
        return rp_fail(err, RP_ENVIRONMENT,
                       "librocm-perf-tool.so is not beside this program; build or install "
                       "rocm-perf-lab completely");
    plan->env[at++] = (struct rp_env_change){"HSA_TOOLS_LIB", env->tool_library, NULL};
    plan->env[at++] = (struct rp_env_change){"ROCM_PERF_TRACE_DIR", trace_dir, NULL};
    plan->env[at++] = (struct rp_env_change){"ROCM_PERF_TOOL_DEBUG", tracer_log, NULL};
    return 0;
}

int rp_launch_plan(const struct rp_environment *env, enum rp_device device, char *const *argv,
                   const char *trace_dir, const char *tracer_log, struct rp_launch_plan *ret,
                   struct rp_err *err)
{
    struct rp_launch_plan plan = {0};
    int rc = rp_find_program(argv[0], &plan.executable, err);

    if (rc == 0)
        rc = plan_argv(env, argv, &plan, err);
    if (rc == 0)
        rc = plan_env(env, device, trace_dir, tracer_log, &plan, err);
    if (rc < 0) {
        rp_launch_free(&plan);
        return rc;
    }
    *ret = plan;
    return 0;
}

void rp_launch_free(struct rp_launch_plan *plan)
{
    for (unsigned i = 0; i < 4; i++)
        free(plan->loader_args[i]);
    free(plan->executable);
    free(plan->path);
    free(plan->argv);
    memset(plan, 0, sizeof *plan);
}

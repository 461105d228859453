/**
 * @file launch.h
 * @brief How to start a program on a device, traced or not.
 */
#ifndef RP_COLLECT_LAUNCH_H
#define RP_COLLECT_LAUNCH_H

#include "base/process.h"
#include "collect/environment.h"

/** A command that is ready for rp_proc_run. Owned; release with rp_launch_free. */
struct rp_launch_plan {
    char *path;
    char **argv; /**< NULL-terminated; strings owned by path, loader args or caller */
    struct rp_env_change env[8];
    char *loader_args[4]; /**< what stands before the program when the private loader runs it */
    char *executable;     /**< absolute path of the user's program */
};

/**
 * @param device      RP_DEVICE_GPU or RP_DEVICE_SOFTWARE (resolved)
 * @param argv        program and arguments; must outlive the plan
 * @param trace_dir   folder for the collector's record files; NULL = no tracing
 * @param tracer_log  file for the collector's raw log; NULL = none
 * @return 0; RP_USAGE when the program cannot be found; RP_ENVIRONMENT when the collector is
 * missing
 */
int rp_launch_plan(const struct rp_environment *env, enum rp_device device, char *const *argv,
                   const char *trace_dir, const char *tracer_log, struct rp_launch_plan *ret,
                   struct rp_err *err);
void rp_launch_free(struct rp_launch_plan *plan);

#endif

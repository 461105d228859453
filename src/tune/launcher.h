/**
 * @file launcher.h
 * @brief How workers are started: on this machine, or as steps of Slurm.
 */
#ifndef RP_TUNE_LAUNCHER_H
#define RP_TUNE_LAUNCHER_H

#include <sys/types.h>

struct rp_env_change;
struct rp_err;
struct rp_tune_pool_options;

/** A child of this process, in a process group of its own. */
struct rp_launched {
    pid_t pid;
    int fd; /**< a socket, which does not wait: its standard input and output */
};

struct rp_launcher {
    const char *word;
    /** @param ret_workers  how many to start, at least 1. @return 0, RP_ENVIRONMENT, RP_USAGE ...
     */
    int (*open)(const struct rp_tune_pool_options *options, void **ret_state, unsigned *ret_workers,
                struct rp_err *err);
    /** @param number  from 0 on; the same again after it has died */
    int (*start)(void *state, unsigned number, struct rp_launched *ret, struct rp_err *err);
    /** After all workers have ended. Accepts what open has left when it failed: NULL. */
    void (*close)(void *state);
};

#define RP_LAUNCHER(id, word) extern const struct rp_launcher rp_launcher_##word;
#include "tune/launchers.def"
#undef RP_LAUNCHER

/**
 * Starts a program that gets SIGTERM when this process dies.
 * @param path  what to execute
 * @return 0; RP_ENVIRONMENT: it cannot be executed
 */
int rp_launch_child(const char *path, const char *const *argv, const struct rp_env_change *env,
                    struct rp_launched *ret, struct rp_err *err);

#endif

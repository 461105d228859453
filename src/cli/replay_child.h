/**
 * @file replay_child.h
 * @brief Starts rocm-perf-replay in the environment of the ROCm in use.
 */
#ifndef RP_CLI_REPLAY_CHILD_H
#define RP_CLI_REPLAY_CHILD_H

#include "base/process.h"
#include "collect/environment.h"

struct rp_err;

/** Its arguments, src/replay/replay_main.c. */
struct rp_replay_child {
    const char *action, *folder, *iterations, *warmup, *flags, *hsaco, *compare;
    const char *other, *margin, *inputs, *step_fd;      /**< NULL: none */
    int stdout_fd, stderr_fd;                           /**< -1 = inherit */
    int64_t timeout_ns;                                 /**< 0 = may take for ever */
    void (*waiting)(void *context, int64_t elapsed_ns); /**< as of struct rp_proc */
    void *context;
};

int rp_replay_child_run(const struct rp_environment *env, enum rp_device device,
                        const struct rp_replay_child *child, struct rp_proc_end *ret,
                        struct rp_err *err);

/**
 * Replays a new capture and leaves what it finds in self_check.json there, and in its checksums.
 * @param ret_label  "deterministic", ...; to be freed
 * @param ret_reason NULL: none is needed; to be freed
 */
int rp_capture_self_check(const struct rp_environment *env, enum rp_device device,
                          const char *folder, char **ret_label, char **ret_reason,
                          struct rp_err *err);

#endif

/**
 * @file replay_child.h
 * @brief Starts rocm-perf-replay in the environment of the ROCm in use.
 */
#ifndef RP_CLI_REPLAY_CHILD_H
#define RP_CLI_REPLAY_CHILD_H

#include <stdint.h>
#include <sys/types.h>

#include "base/process.h"
#include "cli/cli.h"
#include "replay/replay_protocol.h"
#include "run/run_options.h"

struct rp_err;

struct rp_replay_child {
    /** The HSA library and the version of ROCm are those of the environment. */
    struct rp_replay_options options;
    int stdout_fd, stderr_fd;                           /**< -1 = inherit */
    int64_t timeout_ns;                                 /**< 0 = may take for ever */
    void (*waiting)(void *context, int64_t elapsed_ns); /**< as of struct rp_proc */
    void *context;
};

int rp_replay_child_run(const struct rp_environment *env, const struct rp_run_options *options,
                        const struct rp_replay_child *child, struct rp_proc_end *ret,
                        struct rp_err *err);

/**
 * Replays a new capture and leaves what it finds in self_check.json there, and in its checksums.
 * @param ret_label  "deterministic", ...; to be freed
 * @param ret_reason NULL: none is needed; to be freed
 */
int rp_capture_self_check(const struct rp_environment *env, const struct rp_run_options *options,
                          const char *folder, char **ret_label, char **ret_reason,
                          struct rp_err *err);

/* How far rocm-perf-replay is, while it runs. */

struct rp_replay_progress {
    struct rp_progress progress;
    int step_fd;   /**< of replay_protocol.h; -1: none */
    int stderr_fd; /**< what it says, shown between two lines about how far it is; -1: shown by
                    * itself
                    */
    off_t shown;   /**< bytes of that */
};

/** On a terminal its standard error goes into a file first. Release with rp_replay_progress_end. */
struct rp_replay_progress rp_replay_progress_begin(int step_fd);

/** As struct rp_proc wants it; context is the watch. */
void rp_replay_progress_look(void *context, int64_t elapsed_ns);

/** When it has ended, however: nothing is left on the terminal, and all that it said is there. */
void rp_replay_progress_end(struct rp_replay_progress *watch);

#endif

/**
 * @file replay_watch.h
 * @brief How far rocm-perf-replay is, while it runs.
 */
#ifndef RP_CLI_REPLAY_WATCH_H
#define RP_CLI_REPLAY_WATCH_H

#include <sys/types.h>

#include "cli/progress.h"

struct rp_replay_watch {
    struct rp_progress progress;
    int step_fd;   /**< of replay_protocol.h; -1: none */
    int stderr_fd; /**< what it says, shown between two lines about how far it is; -1: shown by
                    * itself
                    */
    off_t shown;   /**< bytes of that */
};

/** On a terminal its standard error goes into a file first. Release with rp_replay_watch_end. */
struct rp_replay_watch rp_replay_watch_begin(int step_fd);

/** As struct rp_proc wants it; context is the watch. */
void rp_replay_watch_look(void *context, int64_t elapsed_ns);

/** When it has ended, however: nothing is left on the terminal, and all that it said is there. */
void rp_replay_watch_end(struct rp_replay_watch *watch);

#endif

/**
 * @file busy.h
 * @brief What a computation of this process is at, and how long it will take: on a terminal, from
 *        two seconds on, one line that changes; elsewhere nothing.
 *
 * A thread of its own shows it: the work has steps of seconds that say nothing. That thread also
 * gets the signals that end a process, and takes the line away before one does.
 */
#ifndef RP_CLI_BUSY_H
#define RP_CLI_BUSY_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/work_progress.h"
#include "cli/progress_line.h"
#include "library/library.h"

struct rp_buf;

/** Where it is. */
struct rp_busy_at {
    enum rp_work_step step;
    double share;    /**< of the step */
    int64_t told_ns; /**< when that was said, since the begin */
};

struct rp_busy {
    struct rp_progress_line line;
    struct rp_busy_at at;
    bool writes; /**< RP_WORK_WRITE takes its time */
    bool runs;   /**< there is a thread */
    int64_t began_ns;
    pthread_t thread;
    pthread_mutex_t lock; /**< the line, and where it is */
    sigset_t before;      /**< signals that were blocked */
    int signal_fd, end_fd;
};

/** Until rp_busy_end, also after a failure, it must stay where it is. No child is started
 * meanwhile: it would not get those signals. */
void rp_busy_begin(bool writes, struct rp_busy *ret);

/** Before anything is printed. Any number of times. */
void rp_busy_end(struct rp_busy *busy);

/** What the work tells. */
struct rp_work rp_busy_work(struct rp_busy *busy);
/** As rp_cli_notes, above the line. */
struct rp_note_sink rp_busy_notes(struct rp_busy *busy);

/** "the graph is built: 31 %, 5 s left"; "the trace is read, 3 s" as long as nobody knows. */
void rp_busy_put(const struct rp_busy_at *at, bool writes, int64_t elapsed_ns, struct rp_buf *to);

#endif

/**
 * @file process.h
 * @brief Starts a program and waits for it, with limits and redirected files. Processes that it
 *        leaves behind become ours, so that they can be waited for and killed.
 */
#ifndef RP_BASE_PROCESS_H
#define RP_BASE_PROCESS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

struct rp_err;
struct rp_sandbox;

/* What glibc 2.28 has not: packages that run everywhere are linked for it. */

/** @return "INT", ...; NULL: no such signal */
const char *rp_signal_abbreviation(int signal);

static inline pid_t rp_gettid(void)
{
    return (pid_t)syscall(SYS_gettid);
}

/** As pidfd_open(), which glibc has from 2.36 on only. @return -1: Linux before 5.3 */
int rp_pidfd_open(pid_t pid);

/** These are the children that this process had before, which must be left alone. */
struct rp_orphans {
    pid_t *before;
    size_t befores;
    bool adopts_anyway;      /**< as it was found */
    struct sigaction on_end; /**< SIGCHLD, as it was found */
};

/** From here on this process adopts, and learns how its children end: it does not where SIGCHLD is
 * ignored, as some programs leave it to those they start. Before Linux 3.5, or without /proc,
 * nothing is ever found. */
void rp_orphans_begin(struct rp_orphans *ret);

/** Stops adopting. Processes that were adopted stay. It frees what begin took. */
void rp_orphans_end(struct rp_orphans *adopted);

/** Runs in a child, and restores SIGCHLD as it would be without us. */
void rp_orphans_leave(const struct rp_orphans *adopted);

/** Kills them until none is left: each round makes orphans of its victims' children, which come to
 *  us. */
void rp_orphans_kill(const struct rp_orphans *adopted, pid_t except);

/* Child processes: start one with a changed environment, wait for it, forward signals. */

/** These changes are made on top of the parent's environment. */
struct rp_env_change {
    const char *name;
    const char *value;     /**< NULL removes the variable */
    const char *separator; /**< not NULL: an existing value is kept behind value and separator */
};

/** These are limits for unknown programs; 0 means none. Each process gets the ones of setrlimit. */
struct rp_proc_limits {
    uint64_t address_bytes; /**< not for programs that reserve addresses: those of a GPU do */
    uint64_t
        resident_bytes;  /**< of all processes together, looked at now and then; needs a timeout */
    uint64_t file_bytes; /**< of each file that is written */
    uint64_t cpu_s;
    unsigned processes; /**< of all together, threads not counted; looked at as resident_bytes is */
};

/** A member that is zero changes nothing: the program inherits it from this process. So a
 * descriptor is 0 where it is inherited, here and in every struct that hands one on. One below 0,
 * of a file that could not be opened, is inherited, too; descriptor 0 is always standard input, as
 * the command line makes sure at its start, and needs no redirection. */
struct rp_proc {
    const char *path;                    /**< what to execute */
    char *const *argv;                   /**< NULL-terminated */
    const struct rp_env_change *env;     /**< terminated by name == NULL; may be NULL */
    const char *directory;               /**< to run in, with an absolute path; NULL: here */
    int stdin_fd, stdout_fd, stderr_fd;  /**< 0 = inherit */
    int64_t timeout_ns;                  /**< 0 = may take for ever */
    const struct rp_proc_limits *limits; /**< NULL: none. With limits it has its own group */
    const struct rp_sandbox *sandbox;    /**< with limits; NULL: it may do what this process may */
    bool result_survives; /**< after rp_proc_survive_signals: it is what a signal is to end */
    /**< called ten times a second while it runs; may be NULL */
    void (*waiting)(void *context, int64_t elapsed_ns);
    /** called as often; may be NULL. True: it will never end, and is killed with all that it has
     * started */
    bool (*hangs)(void *context);
    void *context;
    bool ends_by_interrupt; /**< with result_survives: it gets SIGINT, whichever signal asks */
    /** It may not end when this process dies: another process then ends all of its group, at the
     * latest after 5 s. */
    bool guarded;
};

struct rp_proc_end {
    bool signaled;
    int status;          /**< exit status, or the signal's number */
    bool over_limits;    /**< it took more than limits.resident_bytes, and was killed ... */
    bool over_processes; /**< ... or that was because of limits.processes */
    bool hung;           /**< it was killed because of proc.hangs */
    bool over_output;    /**< as of rp_child: it printed more than that, and was killed */
    bool timed_out;  /**< it took too long: SIGTERM, within 5 s SIGKILL for all that it started */
    int interrupted; /**< with result_survives: the signal that came, at the latest now; 0: none */
    int64_t wall_ns; /**< start to end, monotonic clock */
};

/** Starts the program and waits for it. While it runs, SIGINT, SIGTERM, SIGHUP and SIGQUIT reach it
 * (from the terminal, or forwarded) and do not end this process; it is ended if this process dies.
 * A further signal, at least a second later, kills it, because it may hang. Processes that it has
 * started get these signals, too, unless standard input is a terminal (which sends Ctrl-C to all of
 * them). A program that is killed, or takes too long, goes with all that it has started, in
 * whatever group. A program that ends by itself may leave processes, which go on.
 * @return 0 when it ran to an end, whatever its status; RP_USAGE when it cannot be executed (the
 * message says why); RP_INTERRUPTED when a signal asked to stop: the child has ended */
int rp_proc_run(const struct rp_proc *proc, struct rp_proc_end *ret, struct rp_err *err);

/** From here on these signals do not end this process at any time: they are remembered. Commands
 * that have something to clean up after the program need this. */
void rp_proc_catch_signals(void);

/** From here on the first of these signals asks a program with result_survives to end, and nothing
 * else: what it leaves is still wanted, so rp_proc_interrupted stays 0, and other processes are
 * started as before. A second one, at least a second later, kills the program. Where no program
 * runs any more the first one says so, and the second ends this process with status 130, unless it
 * is blocked. */
void rp_proc_survive_signals(void);

/** Returns the signal that has come since then, or 0. */
int rp_proc_stop_asked(void);

/** Sends a signal to the program that rp_proc_run waits for, if any. */
void rp_proc_signal(int signo);

/** From here on SIGUSR1 stores 0 there, and SIGUSR2 1. NULL: the last one waits until there is
 * something to switch. */
void rp_proc_switch_by_signals(uint32_t *paused);

/** Says whether such a signal has switched anything. */
bool rp_proc_was_switched(void);

/** From here on these signals switch nothing: each writes this line, with its end, to standard
 * error. */
void rp_proc_refuse_switches(const char *line);

/** Returns the signal that has come, or 0. */
int rp_proc_interrupting_signal(void);
/** @return 0, or RP_INTERRUPTED when such a signal has come */
int rp_proc_interrupted(struct rp_err *err);

/** Adds up the processor time of all that descend from this process and run now; 0 without /proc.
 */
uint64_t rp_proc_tree_cpu_ms(void);

/** Replaces this process; returns only on failure, with RP_USAGE. */
int rp_proc_exec(const struct rp_proc *proc, struct rp_err *err);

/** Returns the time of the clock that nobody sets. */
static inline int64_t rp_now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

#endif

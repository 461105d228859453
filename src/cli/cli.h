/**
 * @file cli.h
 * @brief What the command files share. A command parses its own options, prints its result on
 *        stdout, and returns an exit code (enum rp_code); messages go to stderr.
 */
#ifndef RP_CLI_CLI_H
#define RP_CLI_CLI_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/work_progress.h"
#include "library/library.h"
#include "report/report.h"
#include "run/run_options.h"

struct rp_buf;

/* Shows how far something is: one line on a terminal, which changes; elsewhere lines now and then.
 */

struct rp_progress_line {
    bool terminal; /**< standard error is one */
    size_t shown;  /**< columns that are written */
};

struct rp_progress_line rp_progress_line_begin(void);

/** Replaces the line that is shown. The text is cut to the width of the terminal, and written
 * without escape codes. */
void rp_progress_line_show(struct rp_progress_line *line, const char *text);

/** Call it before anything else is printed there. It does nothing without a terminal. */
void rp_progress_line_clear(struct rp_progress_line *line);

/* Shows what a computation of this process is doing, and how long it will take: on a terminal, from
 * two seconds on, one line that changes; elsewhere nothing. A thread of its own shows it, because
 * the work has steps of seconds that report nothing. That thread also gets the signals that end a
 * process, and removes the line before one does. */

/** Says where the computation is. */
struct rp_activity_at {
    enum rp_work_step step;
    double share;    /**< of the step */
    int64_t told_ns; /**< when that was said, since the begin */
};

struct rp_activity {
    struct rp_progress_line line;
    struct rp_activity_at at;
    bool writes; /**< RP_WORK_WRITE takes its time */
    bool runs;   /**< there is a thread */
    int64_t began_ns;
    pthread_t thread;
    pthread_mutex_t lock; /**< the line, and where it is */
    sigset_t before;      /**< signals that were blocked */
    int signal_fd, end_fd;
};

/** Until rp_activity_end, also after a failure, it must stay at its address. No child may be
 * started meanwhile, because it would not get those signals. */
void rp_activity_begin(bool writes, struct rp_activity *ret);

/** Call it before anything is printed. It may be called any number of times. */
void rp_activity_end(struct rp_activity *busy);

/** Returns what the work reports its steps to. */
struct rp_work rp_activity_work(struct rp_activity *busy);
/** Prints as rp_cli_notes does, above the line. */
struct rp_note_sink rp_activity_notes(struct rp_activity *busy);

#define COMMAND(id, operands, summary) int rp_cmd_##id(int argc, char **argv);
#include "cli/options.def"

/** Prints "rocm-perf: message" and returns err->code. */
int rp_cli_error(const struct rp_err *err);

/** Prints a remark that changes no result. As all messages it is one line (base/utf8.h). */
void rp_cli_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/** Prints an indented line below a remark. */
void rp_cli_item(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/** Prints remarks of the library as rp_cli_note does. */
struct rp_note_sink rp_cli_notes(void);

/** Prints a usage error for a command and returns RP_USAGE. */
int rp_cli_usage_error(const char *command, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/** Prints help text on stdout.
 * @return RP_OK, or RP_ENVIRONMENT when stdout cannot be written */
int rp_cli_help(const char *text);

/** Writes a result to stdout and flushes it.
 * @return RP_OK, or RP_ENVIRONMENT with a message */
int rp_cli_result(const char *text);

/** Says how standard output is to be written: how wide, and coloured on a terminal unless NO_COLOR
 * is set. */
struct rp_term_style rp_cli_style(void);

/* Shows what a command is doing, how far it is and how long that will take: on a terminal, from two
 * seconds on, one line that changes; elsewhere nothing. Whoever else writes to the terminal
 * meanwhile must clear the line first. While the user's program runs there is no line, because the
 * program may print at any time. */

enum { RP_PROGRESS_PATIENCE_S = 2 }; /**< what takes less is not worth a word */

struct rp_progress {
    struct rp_progress_line line;
    int64_t began_ns, step_ns, done_ns; /**< the command; what it is at; the last of done */
    const char *what;                   /**< NULL: nothing yet */
    uint64_t done, most;
};

struct rp_progress rp_progress_begin(void);

/**
 * Says what goes on now; it is shown when it is time.
 * @param what "run": borrowed, and recognised by its address
 * @param most of which @p done are done; 0: nobody knows
 */
void rp_progress_at(struct rp_progress *progress, const char *what, uint64_t done, uint64_t most);

/** Call it before anything else is printed there, and at the end. */
void rp_progress_clear(struct rp_progress *progress);

/**
 * Writes "run 3 of 40, 12 s left". Without a number of runs, or before the first is done, it writes
 * "run, 12 s".
 * @param done_ns when the last of those was done that are, counted from the first one's begin
 * @param elapsed_ns what has passed since then in all
 */
void rp_progress_put(const char *what, uint64_t done, uint64_t most, int64_t done_ns,
                     int64_t elapsed_ns, struct rp_buf *to);

/**
 * Prints a line that stays before a run of the user's program: "profile: run 2 of 3, 12 s left".
 * The program may write to this terminal at any time, and a line that changes would be in the midst
 * of that. Nothing is printed without a terminal.
 * @param left_s not said when it is too short, as 0 is
 */
void rp_progress_say(const char *command, const char *what, double left_s);

/** Writes ", 40 s left", ", 3 min left" or ", 2.5 h left". */
void rp_progress_put_left(double seconds, struct rp_buf *to);

/* The section checks whether the program has code for the GPU that it is to run on. */

/** HIP 7.2 crashes at the launch of a kernel that it has no code for, so this warns before. Code
 * for a GPU with XNACK only, or without, does not run on the other. For the program's libraries the
 * software device gives the warning when one of their kernels is asked for
 * (device/driver/runtime_hooks.c). */
void rp_cli_warn_about_target(const char *executable, struct rp_run_options *options);

/**
 * Replays a new capture and writes the result to self_check.json there, and to its checksums.
 * @param ret_label "deterministic", ...; to be freed
 * @param ret_reason NULL: none is needed; to be freed
 */
int rp_capture_self_check(const struct rp_environment *env, const struct rp_run_options *options,
                          const char *folder, char **ret_label, char **ret_reason,
                          struct rp_err *err);

#endif

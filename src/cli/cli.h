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

/* How far something is: one line on a terminal, which changes; elsewhere lines now and then. */

struct rp_progress_line {
    bool terminal; /**< standard error is one */
    size_t shown;  /**< columns that are written */
};

struct rp_progress_line rp_progress_line_begin(void);

/** Takes the place of what is shown; cut to the width of the terminal. No escape codes. */
void rp_progress_line_show(struct rp_progress_line *line, const char *text);

/** Before anything else is printed there. Nothing without a terminal. */
void rp_progress_line_clear(struct rp_progress_line *line);

/* What a computation of this process is at, and how long it will take: on a terminal, from
 *        two seconds on, one line that changes; elsewhere nothing.
 *
 * A thread of its own shows it: the work has steps of seconds that say nothing. That thread also
 * gets the signals that end a process, and takes the line away before one does.
 */

/** Where it is. */
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

/** Until rp_activity_end, also after a failure, it must stay where it is. No child is started
 * meanwhile: it would not get those signals. */
void rp_activity_begin(bool writes, struct rp_activity *ret);

/** Before anything is printed. Any number of times. */
void rp_activity_end(struct rp_activity *busy);

/** What the work tells. */
struct rp_work rp_activity_work(struct rp_activity *busy);
/** As rp_cli_notes, above the line. */
struct rp_note_sink rp_activity_notes(struct rp_activity *busy);

#define COMMAND(id, operands, summary) int rp_cmd_##id(int argc, char **argv);
#include "cli/options.def"

/** Prints "rocm-perf: message" and returns err->code. */
int rp_cli_error(const struct rp_err *err);

/** Prints a remark that changes no result; as all messages, on one line (base/utf8.h). */
void rp_cli_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/** The same below a remark, indented. */
void rp_cli_item(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/** What the library has to remark, as rp_cli_note. */
struct rp_note_sink rp_cli_notes(void);

/** Prints a usage error for a command and returns RP_USAGE. */
int rp_cli_usage_error(const char *command, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/** Prints help text on stdout; @return RP_OK, or RP_ENVIRONMENT when stdout cannot be written. */
int rp_cli_help(const char *text);

/** Writes a result to stdout and flushes; @return RP_OK or RP_ENVIRONMENT with a message. */
int rp_cli_result(const char *text);

/** How standard output is to be written: coloured on a terminal unless NO_COLOR, and how wide. */
struct rp_term_style rp_cli_style(void);

/* What a command is at, how far it is and how long that will take: on a terminal, from two
 *        seconds on, one line that changes; elsewhere nothing.
 *
 * Nobody else may write to the terminal meanwhile, who has not had the line cleared. While the
 * user's program runs there is none: what that prints, and when, is its own affair.
 */

enum { RP_PROGRESS_PATIENCE_S = 2 }; /**< what takes less is not worth a word */

struct rp_progress {
    struct rp_progress_line line;
    int64_t began_ns, step_ns, done_ns; /**< the command; what it is at; the last of done */
    const char *what;                   /**< NULL: nothing yet */
    uint64_t done, most;
};

struct rp_progress rp_progress_begin(void);

/**
 * What goes on now; shown when it is time.
 * @param what  "run": borrowed, and known again by its address
 * @param most  of which @p done are done; 0: nobody knows
 */
void rp_progress_at(struct rp_progress *progress, const char *what, uint64_t done, uint64_t most);

/** Before anything else is printed there, and at the end. */
void rp_progress_clear(struct rp_progress *progress);

/**
 * "run 3 of 40, 12 s left"; without a number of them, or before the first is done, "run, 12 s".
 * @param done_ns     when the last of those was done that are, counted from the first one's begin
 * @param elapsed_ns  what has passed since then in all
 */
void rp_progress_put(const char *what, uint64_t done, uint64_t most, int64_t done_ns,
                     int64_t elapsed_ns, struct rp_buf *to);

/**
 * Before a run of the user's program, a line that stays: "profile: run 2 of 3, 12 s left". The
 * program writes to this terminal, too, whenever it wants, and a line that changes would be in the
 * midst of that. Nothing without a terminal.
 * @param left_s  less than is worth a word, as 0 is: not said
 */
void rp_progress_say(const char *command, const char *what, double left_s);

/** ", 40 s left", ", 3 min left", ", 2.5 h left" */
void rp_progress_put_left(double seconds, struct rp_buf *to);

/* Does the program have code for the GPU that it is to run on? */

/** HIP 7.2 crashes at the launch of a kernel that it has no code for: says why before. Code for a
 *  GPU with XNACK only, or without, is none for the other. Of the program's libraries the software
 *  device says so when a kernel of theirs is asked for (device/driver/runtime_hooks.c). */
void rp_cli_warn_about_target(const char *executable, struct rp_run_options *options);

/**
 * Replays a new capture and leaves what it finds in self_check.json there, and in its checksums.
 * @param ret_label  "deterministic", ...; to be freed
 * @param ret_reason NULL: none is needed; to be freed
 */
int rp_capture_self_check(const struct rp_environment *env, const struct rp_run_options *options,
                          const char *folder, char **ret_label, char **ret_reason,
                          struct rp_err *err);

#endif

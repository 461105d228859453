/**
 * @file cli.h
 * @brief What the command files share. A command parses its own options, prints its result on
 *        stdout, and returns an exit code (enum rp_code); messages go to stderr.
 */
#ifndef RP_CLI_CLI_H
#define RP_CLI_CLI_H

#include <jansson.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/profile.h"
#include "analyze/roofline.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/work_progress.h"
#include "library/library.h"
#include "report/report.h"
#include "run/machine.h"
#include "run/result_folder.h"
#include "run/run_program.h"
#include "run/standard_input.h"
#include "trace/capture.h"
#include "trace/rocpd.h"

struct rp_buf;
struct rp_err;
struct rp_file_set;
struct rp_search_progress;
struct rp_session_result;
struct rp_versus_side;

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

/** What optimize and judge tell while they work. */
struct rp_work_progress {
    struct rp_progress_line line;
    int64_t began_ns;
    double budget_s; /**< of all; 0: there is none */
};

struct rp_work_progress rp_work_progress_begin(double budget_s);
/** Prints a line that stays. @param progress a struct rp_work_progress, as of the next */
void rp_work_progress_note(void *progress, const char *line);
/** Shows on a terminal, below the last line, how long that goes on, and what the budget has left.
 * Nobody knows how much there will be to do. */
void rp_work_progress_wait(void *progress, int64_t elapsed_ns);

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
/** Makes what killed processes have recorded in a folder, or in those of its ranks, their failed
 * results, and prints where they are. What cannot be made one is a warning. */
void rp_cli_rescue(const char *folder);
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
/** The same with all that is known, if @p verbose. */
struct rp_term_style rp_cli_style_of(bool verbose);

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

/* What was made of traces and counters (library/library.h), as dag.json, roofline.json,
 *        thread_trace.json, analysis.json and their summaries.
 */

/* These files appear together, when all of them are written. If a result cannot be finished, none
 * appears. */

enum { RP_FILE_SET_MAX = 4 };

/** Initialise it with zeros, and release it with rp_file_set_drop. */
struct rp_file_set {
    struct {
        char *path, *partial;
    } files[RP_FILE_SET_MAX];
    size_t count;
};

/** Returns a text of unknown origin as JSON: null where it is NULL or empty. Bytes that are
 * not UTF-8, as names of files may have, become U+FFFD, because JSON has none of them. */
json_t *rp_text_json(const char *text);

/** Says what a result is wanted for. */
struct rp_result_request {
    enum { RP_RESULT_SILENT, RP_RESULT_JSON, RP_RESULT_TERMINAL } print;
    const char *folder;          /**< the JSON also goes to a file there; NULL: not */
    struct rp_file_set *pending; /**< of the files there; NULL: each appears at once */
    bool full;                   /**< dag.json with every kernel and copy */
    bool verbose;                /**< for people: all tables */
};

int rp_put_dag(const struct rp_dag_result *dag, const struct rp_result_request *wish,
               struct rp_buf *text, struct rp_err *err);

int rp_put_roofline(const struct rp_roofline *roofline, const struct rp_result_request *wish,
                    struct rp_buf *text, struct rp_err *err);

/** Writes the result of the thread traces. */
int rp_put_thread_trace(const struct rp_inputs *in, const struct rp_result_request *wish,
                        struct rp_buf *text, struct rp_err *err);

/** @param top  kernels that are printed, 0: the default; the file has all of them */
int rp_put_ranking(const struct rp_ranking *ranking, size_t top,
                   const struct rp_result_request *wish, struct rp_buf *text, struct rp_err *err);

/** Removes files of an earlier result, because beside the new ones they would be taken for a part
 * of them. */
int rp_results_drop(const char *folder, const char *const *names, size_t count, struct rp_err *err);

/** Gives all files their names.
 * @return 0 or RP_ENVIRONMENT */
int rp_file_set_commit(struct rp_file_set *pending, struct rp_err *err);
/** Removes the files that have not got their names. */
void rp_file_set_drop(struct rp_file_set *pending);

/* This section reads whatever holds a result as one side of a comparison. */

/**
 * Reads the folder of `profile`, its profile.json, what `replay compare --json` printed, or traces
 * as `analyze` takes them.
 * @return 0; RP_BAD_INPUT, RP_ENVIRONMENT
 */
int rp_compare_read_side(char *path, struct rp_versus_side *ret, struct rp_err *err);
/** Adds the launches of the base run to a profile with too few measured runs, if its trace stands
 * beside it. A trace that is gone, or cannot be read, only takes what one run tells. */
void rp_compare_add_launches(char *path, struct rp_versus_side *side);

/* This section is for `rocm-perf profile`, between its options and its report. */

/** Returns "software", "hardware" or NULL. Our collector writes it down; rocprofv3 writes the
 * environment of the process. */
int rp_profile_device_of(struct rp_store *store, const char **ret, struct rp_err *err);

/** Returns how many dispatches of the program were outside of the part that was recorded. */
uint64_t rp_profile_unrecorded_of(const struct rp_store *store);

/* Writes results of commands as text for people. */

/** Writes rounds, kernels and candidates, and in its last lines what ended the session and what was
 * won. */
/** Says by what a candidate was kept in its folder, and what this machine has no means for. A
 * result of before says nothing. */
void rp_sandbox_text(const struct rp_page *page, const json_t *sandbox);

void rp_optimize_summary(const struct rp_session_result *result, const char *source,
                         struct rp_term_style style, struct rp_buf *ret);

/** Checks that there is a device that gives times, before anything is built, and says which.
 * @return 0; RP_USAGE: --timing off; RP_ENVIRONMENT */
int rp_cli_device_of_times(const struct rp_run_options *options, struct rp_device_identity *ret,
                           struct rp_err *err);

/* This section writes what `rocm-perf autotune` says to people. */

/**
 * Writes "12 of at most 332: 0.91 ms, the best so far: A=1 B=2", or why nothing has worked, without
 * a newline.
 * @param left with how long it will take, as far as that is known: "12 of at most 332, 40 s left"
 */
void rp_autotune_put_progress(const struct rp_search_progress *progress, bool left,
                              struct rp_buf *to);

/** Says whether --resume with the same options goes on, as it ended in the middle.
 * @param ended_by of optimize.json */
bool rp_optimize_goes_on(const char *ended_by);

/** Writes the result of autotune.json as text. */
void rp_autotune_put_text(const json_t *result, struct rp_term_style style, struct rp_buf *to);

/** Writes the best runtime in ms and a newline. Without a best one it writes nothing. */
void rp_autotune_put_runtime(const json_t *result, struct rp_buf *to);

/** @param lines  with marks of replay_protocol.h
 * @return the word of its last line by which a comparison is undecided, in @p lines; NULL: none */
const char *rp_replay_put_text(const char *lines, struct rp_term_style style, struct rp_buf *to);

/** Reads all that is in a file that the child has written.
 * @return 0 or RP_ENVIRONMENT */
int rp_replay_read_text(int fd, struct rp_buf *to, struct rp_err *err);

/* This section describes capture folders for people and programs. */

/** Writes one line: folder, kernel, geometry, memory. */
void rp_capture_line(const char *folder, const struct rp_capture *capture,
                     struct rp_term_style style, struct rp_buf *to);

/** Describes what the capture holds. */
void rp_capture_describe(const char *folder, const struct rp_capture *capture,
                         struct rp_term_style style, struct rp_buf *to);

/** Writes the same as JSON (schemas/capture.schema.json). */
void rp_capture_describe_json(const char *folder, const struct rp_capture *capture,
                              struct rp_buf *to);

#endif

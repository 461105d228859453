/**
 * @file result_folder.h
 * @brief The folder that holds a profile, changed only when a new profile is complete.
 *
 *     DIR/profile.json             the result
 *     DIR/trace_results.db         base run, first process; trace_2_results.db the second, ...
 *     DIR/repeats/run-2_results.db the other runs (run-2_2_results.db: their second process)
 *     DIR/dag.json, roofline.json, thread_trace.json, analysis.json
 *     DIR/counters/pass-1_results.db  runs that counted (pass-1_2_results.db: second process)
 *     DIR/thread-trace/att-threads/   a run whose waves were traced
 *     DIR/failed/                  what was recorded of a run that failed
 *     DIR/.partial-<pid>/          work in progress, locked by its process; that of a process that
 * was killed goes to failed/ as far as it was recorded DIR/.rocm-perf-...           a commit in
 * progress
 */
#ifndef RP_RUN_RESULT_FOLDER_H
#define RP_RUN_RESULT_FOLDER_H

#include <stdbool.h>

struct rp_err;

/** The struct owns its strings. Release it with rp_result_folder_close, which removes what was not
 * committed. */
struct rp_result_folder {
    char *path;
    int lock;      /**< on DIR/.partial-<pid>/lock; -1: the file system has none */
    char *partial; /**< DIR/.partial-<pid>: new files are made here under their final names */
    bool fresh;    /**< DIR was not there before: it goes again if nothing is kept in it */
};

/** Creates the folders; finishes the commit of a run that was killed. @return 0; RP_USAGE: a
 * session is running in it; RP_ENVIRONMENT (not writable; something in it has one of the names
 * above and is not of our making) */
int rp_result_folder_open(const char *path, struct rp_result_folder *ret, struct rp_err *err);

/** Moves the new result into place and removes the one before. A result that
 * cannot be moved goes to DIR/failed/. */
int rp_result_folder_commit(struct rp_result_folder *dir, struct rp_err *err);

/** Moves the incomplete result to DIR/failed/, and leaves the result before untouched. */
int rp_result_folder_keep_failed(struct rp_result_folder *dir, struct rp_err *err);

/**
 * Makes what killed processes have recorded in this folder, and made no result of, DIR/failed/, or
 * failed-2/ and so on where that is there, and removes what else is left of them. The result in DIR
 * is not touched, nor is what a process of another machine has left.
 * @param ret_where the new folders, owned by the caller; NULL: none
 * @return 0; RP_ENVIRONMENT; RP_BAD_INPUT: records are damaged, and stay where they are; the others
 * are kept all the same
 */
int rp_result_folder_rescue(const char *path, char **ret_where, struct rp_err *err);

/** Accepts a zeroed struct. */
void rp_result_folder_close(struct rp_result_folder *dir);

/* Puts a new result in the place of the one before, so that a kill at any moment loses
 *        neither.
 *
 *     DIR/.rocm-perf-complete/  the whole new result: from here on it is the result
 *     DIR/.rocm-perf-former/    the result before, on its way out
 *     DIR/.rocm-perf-moving/    the new one, once nothing of the one before stands in its way
 *
 * Each step is one rename. A process that is killed before the first of these folders exists has
 * changed nothing; what a later one leaves unfinished, rp_result_finish_commit finishes.
 * DIR/profile.json is there all the time, the old one or the new one.
 */

/** Finishes the commit of a process that was killed, if there is one. @return 0 or RP_ENVIRONMENT
 */
int rp_result_finish_commit(const char *dir, struct rp_err *err);

/* An output folder that is made at the end has one writer. Other runs are refused at their start.
 */

/**
 * Claims the name of a folder on this machine (within one network namespace) for as long as @p
 * ret_fd is open, at most until the process ends. It binds an address of the abstract socket
 * namespace, which leaves nothing behind.
 * @param ret_fd -1: claiming is not possible, and a conflict is only noticed at the end
 * @return 0, or RP_USAGE: another run has it
 */
int rp_output_lock(const char *folder, int *ret_fd, struct rp_err *err);

/**
 * Tests whether a folder of that name can be made, with its missing parents: it makes the first
 * missing one, with @p suffix and the process's number behind its name, and removes it.
 */
int rp_output_check_folder(const char *folder, const char *suffix, struct rp_err *err);

#endif

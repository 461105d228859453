/**
 * @file result_dir.h
 * @brief The folder that holds a profile, changed only when a new profile is complete.
 *
 *     DIR/profile.json             the result
 *     DIR/trace_results.db         base run, first process; trace_2_results.db the second, ...
 *     DIR/repeats/run-2_results.db the other runs (run-2_2_results.db: their second process)
 *     DIR/dag.json, roofline.json, thread_trace.json, analysis.json
 *     DIR/counters/pass-1_results.db  runs that counted (pass-1_2_results.db: second process)
 *     DIR/thread-trace/att-threads/   a run whose waves were traced
 *     DIR/failed/                  what was recorded of a run that failed
 *     DIR/.partial-<pid>/          work in progress; an abandoned one is removed by the next run
 *     DIR/.rocm-perf-...           a commit in progress (result_commit.h)
 */
#ifndef RP_COLLECT_RESULT_DIR_H
#define RP_COLLECT_RESULT_DIR_H

#include <stdbool.h>

struct rp_err;

/** Owned strings. Release with rp_result_dir_close, which removes what was not committed. */
struct rp_result_dir {
    char *path;
    char *partial; /**< DIR/.partial-<pid>: new files are made here under their final names */
    bool fresh;    /**< DIR was not there before: it goes again if nothing is kept in it */
};

/** May a result consist of a file or folder of this name? Nothing else is ever touched. */
bool rp_result_has_name(const char *name);

/** Creates the folders; finishes the commit of a run that was killed. @return 0 or RP_ENVIRONMENT
 * (not writable; something in it has one of the names above and is not of our making) */
int rp_result_dir_open(const char *path, struct rp_result_dir *ret, struct rp_err *err);

/** Moves the new result into place and removes the one before; see rp_result_commit. One that
 * cannot be moved there goes to DIR/failed/. */
int rp_result_dir_commit(struct rp_result_dir *dir, struct rp_err *err);

/** Moves what there is to DIR/failed/, leaving the result before untouched. */
int rp_result_dir_keep_failed(struct rp_result_dir *dir, struct rp_err *err);

/** Accepts a zeroed struct. */
void rp_result_dir_close(struct rp_result_dir *dir);

#endif

/**
 * @file history_db.h
 * @brief A history has the results of a program over time, in one SQLite file or in a database of
 * PostgreSQL. docs/history.md has its tables.
 */
#ifndef RP_TRACE_HISTORY_DB_H
#define RP_TRACE_HISTORY_DB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "trace/sqlite.h"

struct rp_err;

enum { RP_HISTORY_VERSION = 1, RP_HISTORY_HASH = 65 };

/** These are the times of one kernel, or of all of them, in one result. */
struct rp_history_times {
    char *kernel; /**< NULL: all kernels */
    bool runtime_internal;
    uint64_t launches; /**< of a run; 0: not known */
    double *runs_ms;   /**< sums of a run's launches; usable ones only */
    size_t run_count;
};

/** This is one result, in which NULL stands for what is not known. */
struct rp_history_result {
    int64_t id;                 /**< from 1 on, in the order of adding */
    char hash[RP_HISTORY_HASH]; /**< of its contents, commit and configuration */
    char *added;                /**< RFC 3339, UTC, to the second */
    char *commit;
    char *config;  /**< "KEY=VALUE" lines, sorted; "" for none */
    char *program; /**< command line, or a name that was given */
    char *device;  /**< kinds of GPU, how and by which model it was timed */
    bool software, wall, complete;
    char *rocm_version, *tracer;
    struct rp_history_times *times; /**< first all kernels */
    size_t times_count;
};
void rp_history_result_free(struct rp_history_result *result);

/** This is the contents of a file, in order of time. */
struct rp_history {
    struct rp_history_result *results;
    size_t count;
};
static inline void rp_history_free(struct rp_history *history)
{
    for (size_t i = 0; i < history->count; i++)
        rp_history_result_free(&history->results[i]);
    free(history->results);
    *history = (struct rp_history){0};
}

/* The name of a history is the path of a file, or an address as
 * postgresql://USER@HOST:PORT/DATABASE, which may have a password and parameters. */

bool rp_history_is_file(const char *name);
/** Returns the name as people and files may see it: an address without password and parameters. It
 * is in fresh memory; NULL: memory has ended. */
char *rp_history_shown_name(const char *name);

/**
 * Tests whether a name can be that of a history: not an empty one, a database of SQLite without a
 * file, a URI of another kind, or a folder. The file need not exist, and no server is asked.
 * @return 0; RP_USAGE; RP_BAD_INPUT: it is a pipe or a device
 */
int rp_history_check_path(const char *name, struct rp_err *err);

/**
 * Adds a result to a history, which is made if it does not exist. Any number of processes may do
 * so at once. A result that is already there is not added again.
 * @param ret_id  of the result, also when it was there
 * @return 0; RP_USAGE: see rp_history_check_path; RP_BAD_INPUT: it is no history, of a later
 *         version, damaged, or has what no rocm-perf makes, as a trigger; RP_ENVIRONMENT. Nothing
 *         is changed then
 */
int rp_history_add(const char *name, const struct rp_history_result *result, int64_t *ret_id,
                   bool *ret_new, struct rp_err *err);

/**
 * Removes results by their numbers, all or none. Their numbers are not given again.
 * @return 0; RP_USAGE: there is none of that number; RP_BAD_INPUT; RP_ENVIRONMENT
 */
int rp_history_remove(const char *name, const int64_t *ids, size_t count, struct rp_err *err);

/** @return 0; RP_BAD_INPUT: there is no such history, or it is none; RP_ENVIRONMENT */
int rp_history_read(const char *name, struct rp_history *ret, struct rp_err *err);

#endif

/**
 * @file stderr_tap.h
 * @brief Shows what a child process writes on standard error and keeps a copy to read afterwards.
 */
#ifndef RP_COLLECT_STDERR_TAP_H
#define RP_COLLECT_STDERR_TAP_H

#include <stdbool.h>
#include <stddef.h>

struct rp_err;
struct rp_stderr_tap;

/** Whether a line (without its end) is not to be shown: it is kept in the copy all the same. */
typedef bool rp_stderr_hides(const char *line, size_t length);

/**
 * Everything goes to this process's standard error at once, only what may become a line of the
 * tracer's log waits for its end.
 * @param hides     NULL: nothing is hidden
 * @param log_path  also to this file, whole; NULL: no file
 */
int rp_stderr_tap_open(rp_stderr_hides *hides, const char *log_path, struct rp_stderr_tap **ret,
                       struct rp_err *err);

/** For the child. */
int rp_stderr_tap_fd(const struct rp_stderr_tap *tap);

/**
 * After the child has ended. What a process that it left behind writes later is not waited for.
 * @return the text, owned by the caller: all of it, or the first and the last part of much; NULL
 *         when out of memory. Bytes of 0 are blanks
 */
char *rp_stderr_tap_close(struct rp_stderr_tap *tap);

#endif

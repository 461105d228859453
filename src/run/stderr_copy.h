/**
 * @file stderr_copy.h
 * @brief A copy of what a tracer and the program print on standard error while it is shown.
 *
 * A thread of its own reads, so that nobody has to wait for whoever prints.
 */
#ifndef RP_RUN_STDERR_COPY_H
#define RP_RUN_STDERR_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rp_err;
struct rp_stderr_copy;

/** Says whether a line (without its end) is hidden. The copy keeps it all the same. */
typedef bool rp_stderr_filter(const char *line, size_t length);

/**
 * Passes everything on at once to shown_fd, or without one to this process's standard error. Only a
 * line that may become one of the tracer's log waits for its end.
 * @param hides NULL: nothing is hidden
 * @param log_path file that gets everything; NULL: no file
 */
int rp_stderr_copy_open(rp_stderr_filter *hides, const char *log_path, int shown_fd,
                        struct rp_stderr_copy **ret, struct rp_err *err);

/** Returns the descriptor for the child. */
int rp_stderr_copy_fd(const struct rp_stderr_copy *tap);

/**
 * Call it when the child has ended. It does not wait for output of a process that the child left
 * behind.
 * @return the text, owned by the caller: all of it, or the first and the last part of a long one;
 * zero bytes become blanks
 */
char *rp_stderr_copy_close(struct rp_stderr_copy *tap);

/** Returns when the log said that rocprofv3 cannot go on; 0: it did not. */
int64_t rp_stderr_copy_fatal_ns(const struct rp_stderr_copy *tap);

/** Returns how many bytes were read until now. */
uint64_t rp_stderr_copy_bytes(const struct rp_stderr_copy *tap);

#endif

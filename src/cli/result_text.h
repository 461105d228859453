/**
 * @file result_text.h
 * @brief Writes results of commands as text for people.
 */
#ifndef RP_CLI_RESULT_TEXT_H
#define RP_CLI_RESULT_TEXT_H

#include <jansson.h>
#include <stdbool.h>

#include "base/buf.h"
#include "report/report.h"
#include "trace/capture.h"

struct rp_buf;
struct rp_err;
struct rp_search_progress;
struct rp_session_result;

/** Writes rounds, kernels and candidates, and in its last lines what ended the session and what was
 * won. */
void rp_optimize_summary(const struct rp_session_result *result, const char *source,
                         struct rp_term_style style, struct rp_buf *ret);

/* This section writes what `rocm-perf autotune` says to people. */

/**
 * Writes "12 of at most 332: 0.91 ms, the best so far: A=1 B=2", or why nothing has worked, without
 * a newline.
 * @param left with how long it will take, as far as that is known: "12 of at most 332, 40 s left"
 */
void rp_autotune_put_progress(const struct rp_search_progress *progress, bool left,
                              struct rp_buf *to);

/** Writes the result of autotune.json as text. */
void rp_autotune_put_text(const json_t *result, struct rp_term_style style, struct rp_buf *to);

/** Writes the best runtime in ms and a newline. Without a best one it writes nothing. */
void rp_autotune_put_runtime(const json_t *result, struct rp_buf *to);

/* This section formats what rocm-perf-replay prints for people for the terminal. */

/** @param lines  with marks of replay_protocol.h */
void rp_replay_put_text(const char *lines, struct rp_term_style style, struct rp_buf *to);

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

/** Writes the same as JSON (schemas/capture.schema.json).
 * @return false: memory has ended */
bool rp_capture_describe_json(const char *folder, const struct rp_capture *capture,
                              struct rp_buf *to);

#endif

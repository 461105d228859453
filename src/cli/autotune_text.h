/**
 * @file autotune_text.h
 * @brief What `rocm-perf autotune` says to people.
 */
#ifndef RP_CLI_AUTOTUNE_TEXT_H
#define RP_CLI_AUTOTUNE_TEXT_H

#include <jansson.h>
#include <stdbool.h>

#include "report/report.h"

struct rp_buf;
struct rp_search_progress;

/**
 * "12 of at most 332: 0.91 ms, the best so far: A=1 B=2", or why nothing has worked; no newline.
 * @param left  with how long it will take, as far as that can be told: "12 of at most 332, 40 s
 * left"
 */
void rp_autotune_put_progress(const struct rp_search_progress *progress, bool left,
                              struct rp_buf *to);

/** The result, from autotune.json. */
void rp_autotune_put_text(const json_t *result, struct rp_term_style style, struct rp_buf *to);

/** The best runtime in ms and a newline; without one, nothing. */
void rp_autotune_put_runtime(const json_t *result, struct rp_buf *to);

#endif

/**
 * @file progress_line.h
 * @brief How far something is: one line on a terminal, which changes; elsewhere lines now and then.
 */
#ifndef RP_CLI_PROGRESS_LINE_H
#define RP_CLI_PROGRESS_LINE_H

#include <stdbool.h>
#include <stddef.h>

struct rp_progress_line {
    bool terminal; /**< standard error is one */
    size_t shown;  /**< columns that are written */
};

struct rp_progress_line rp_progress_line_begin(void);

/** Takes the place of what is shown; cut to the width of the terminal. No escape codes. */
void rp_progress_line_show(struct rp_progress_line *line, const char *text);

/** Before anything else is printed there. Nothing without a terminal. */
void rp_progress_line_clear(struct rp_progress_line *line);

#endif

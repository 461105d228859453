/**
 * @file replay_text.h
 * @brief What rocm-perf-replay prints for people, on the page of the terminal.
 */
#ifndef RP_CLI_REPLAY_TEXT_H
#define RP_CLI_REPLAY_TEXT_H

#include "report/report.h"

struct rp_buf;
struct rp_err;

/** @param lines  with marks of replay_protocol.h */
void rp_replay_put_text(const char *lines, struct rp_term_style style, struct rp_buf *to);

/** All that is in a file that the child has written. @return 0 or RP_ENVIRONMENT */
int rp_replay_read_text(int fd, struct rp_buf *to, struct rp_err *err);

#endif

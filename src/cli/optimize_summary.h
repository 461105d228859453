/**
 * @file optimize_summary.h
 * @brief What a session of `rocm-perf optimize` came to, for a person.
 */
#ifndef RP_CLI_OPTIMIZE_SUMMARY_H
#define RP_CLI_OPTIMIZE_SUMMARY_H

#include "report/report.h"

struct rp_buf;
struct rp_session_result;

/** Rounds, kernels and candidates, and in its last lines what ended it and what was won. */
void rp_optimize_summary(const struct rp_session_result *result, const char *source,
                         struct rp_term_style style, struct rp_buf *ret);

#endif

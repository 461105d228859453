/**
 * @file rocprofv3_log.h
 * @brief What rocprofv3 says on standard error, and what it means.
 */
#ifndef RP_COLLECT_ROCPROFV3_LOG_H
#define RP_COLLECT_ROCPROFV3_LOG_H

#include <stdbool.h>
#include <stddef.h>

struct rp_err;

/** Owned; release with rp_rocprofv3_verdict_free. */
struct rp_rocprofv3_verdict {
    char *fatal;        /**< its line; NULL: none */
    const char *remedy; /**< static; NULL: none is known */
    bool too_much;      /**< the GPU cannot count all of it in one run */
    char **warnings;    /**< "line: meaning", each one once */
    size_t warning_count;
};

/**
 * @param text       what the run wrote on standard error: rocprofv3's messages and the program's
 * @param has_trace  it left a trace: then the program was started, and a plain "Fatal error:" may
 *                   be its own
 */
int rp_rocprofv3_judge(const char *text, bool has_trace, struct rp_rocprofv3_verdict *ret,
                       struct rp_err *err);
/** A line of the log that is explained elsewhere or says nothing: need not be shown. */
bool rp_rocprofv3_hides(const char *line, size_t length);

void rp_rocprofv3_verdict_free(struct rp_rocprofv3_verdict *verdict);

#endif

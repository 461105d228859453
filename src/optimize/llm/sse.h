/**
 * @file sse.h
 * @brief Server-sent events out of a stream of bytes, however it is cut.
 *
 * The format: html.spec.whatwg.org, "Server-sent events", section "Parsing an event stream".
 */
#ifndef RP_OPTIMIZE_LLM_SSE_H
#define RP_OPTIMIZE_LLM_SSE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct rp_err;

/** Called with the data of each event, terminated. @return 0, or negative to stop */
typedef int (*rp_sse_event)(void *context, const char *data, size_t bytes, struct rp_err *err);

/** Zero-initialise, set event and context; release with rp_sse_free. */
struct rp_sse {
    rp_sse_event event;
    void *context;
    struct rp_buf line;
    struct rp_buf data;
    bool has_data;
    bool after_return; /**< a line feed here belongs to the carriage return before it */
    bool begun;        /**< the first line is over: no byte order mark any more */
};

/** @return 0; RP_VERDICT when one line or event is too large; what the callback returned */
int rp_sse_feed(struct rp_sse *sse, const char *bytes, size_t count, struct rp_err *err);

/** The stream is over. An event that no empty line ended is one all the same: servers do that. */
int rp_sse_end(struct rp_sse *sse, struct rp_err *err);

void rp_sse_free(struct rp_sse *sse);

#endif

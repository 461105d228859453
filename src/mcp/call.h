/**
 * @file call.h
 * @brief A call of a tool: waiting, running, and what comes of it.
 */
#ifndef RP_MCP_CALL_H
#define RP_MCP_CALL_H

#include <jansson.h>
#include <stdbool.h>

#include "base/buf.h"
#include "mcp/child.h"
#include "mcp/news.h"
#include "mcp/tools.h"

struct rp_err;

enum {
    RP_MCP_MOST_RESULT_BYTES = 4 << 20, /**< of a command's output; what is more is not passed on */
    RP_MCP_MOST_SAID_BYTES = 16 << 10,  /**< the last of what it said on stderr */
};

struct rp_mcp_call {
    json_t *id;
    bool modern; /**< in the form of 2026-07-28 */
    const struct rp_mcp_tool *tool;
    struct rp_mcp_command command;
    struct rp_mcp_child child; /**< pid == 0: not started */
    struct rp_buf out;
    size_t out_bytes;   /**< with what is not in out */
    struct rp_buf said; /**< the last of it */
    struct rp_mcp_news news;
    bool cancelled;
};

void rp_mcp_call_free(struct rp_mcp_call *call);

int rp_mcp_call_start(struct rp_mcp_call *call, const char *program, struct rp_err *err);

/** Takes what the command has said meanwhile. */
void rp_mcp_call_pump(struct rp_mcp_call *call);

/** Once the child has ended and was pumped. @return the result of tools/call; NULL: out of memory
 */
json_t *rp_mcp_call_result(struct rp_mcp_call *call, int status);

/** Of a tool that did not run, or failed: the text says why. */
json_t *rp_mcp_call_failure(const char *text);

#endif

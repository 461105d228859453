/**
 * @file message.h
 * @brief JSON-RPC 2.0 messages as the Model Context Protocol has them: one per line, no batches.
 */
#ifndef RP_MCP_MESSAGE_H
#define RP_MCP_MESSAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct rp_buf;
struct rp_err;

/** Codes of JSON-RPC 2.0, and the one that the protocol adds. */
enum rp_mcp_code {
    RP_MCP_PARSE = -32700,
    RP_MCP_INVALID_REQUEST = -32600,
    RP_MCP_NO_METHOD = -32601,
    RP_MCP_BAD_PARAMS = -32602,
    RP_MCP_INTERNAL = -32603,
    RP_MCP_VERSION = -32022,
};

enum rp_mcp_kind { RP_MCP_REQUEST, RP_MCP_NOTIFICATION, RP_MCP_RESPONSE };

/** Release with rp_mcp_message_free; the other pointers are within root. */
struct rp_mcp_message {
    json_t *root;
    enum rp_mcp_kind kind;
    json_t *id;         /**< string or integer; NULL unless a request */
    const char *method; /**< NULL for a response */
    json_t *params;     /**< an object, or NULL */
};

/**
 * @param ret  on failure only its id and kind are of use: that of the request, as far as it could
 *             be read; RP_MCP_NOTIFICATION: nobody waits for an answer, also not for a refusal
 * @return 0, or a code of JSON-RPC with a message in err
 */
int rp_mcp_message_parse(const char *line, size_t bytes, struct rp_mcp_message *ret,
                         struct rp_err *err);
void rp_mcp_message_free(struct rp_mcp_message *message);

/* Messages of ours. All return NULL when out of memory; result and data are taken over. */

json_t *rp_mcp_result(json_t *id, json_t *result);
/** @param id  NULL: that of the request is not known */
json_t *rp_mcp_error(json_t *id, int code, const char *text, json_t *data);
json_t *rp_mcp_progress(json_t *token, json_int_t progress, const char *text, size_t bytes);

/** A string whatever the bytes: what is no UTF-8, or a zero, becomes '?'. */
json_t *rp_mcp_text(const char *text, size_t bytes);

#endif

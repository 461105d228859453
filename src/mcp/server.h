/**
 * @file server.h
 * @brief A server of the Model Context Protocol over two file descriptors.
 *
 * Versions 2025-06-18 and 2025-11-25 begin with a handshake; with 2026-07-28 each request says its
 * version. Calls run one at a time, in the order in which they came: measurements beside each other
 * would disturb each other. Everything else is answered at once.
 */
#ifndef RP_MCP_SERVER_H
#define RP_MCP_SERVER_H

#include <stddef.h>

struct rp_err;

enum {
    RP_MCP_MOST_MESSAGE_BYTES = 1 << 20,
    RP_MCP_MOST_WAITING = 32, /**< calls; a further one is refused */
};

struct rp_mcp_server {
    int in, out;
    const char *program; /**< what runs the commands */
    const char *version; /**< of it */
};

/**
 * Serves until the other side closes in; what runs then is ended.
 * @return 0; RP_INTERRUPTED; RP_ENVIRONMENT: out cannot be written
 */
int rp_mcp_serve(const struct rp_mcp_server *server, struct rp_err *err);

#endif

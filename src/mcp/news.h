/**
 * @file news.h
 * @brief When the client hears of a call that is not answered yet, and what.
 *
 * A command that says much is not passed on line by line, and one that says nothing is spoken for:
 * clients give calls up of which they do not hear.
 */
#ifndef RP_MCP_NEWS_H
#define RP_MCP_NEWS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum {
    RP_MCP_LEAST_MS = 250,             /**< between two notifications of what a command says */
    RP_MCP_SILENCE_MS = 10000,         /**< after so long without one, there is one all the same */
    RP_MCP_MOST_PROGRESS_BYTES = 1000, /**< of one line */
};

/** The times are those of rp_mcp_now_ms, so that a test can have its own. */
struct rp_mcp_news {
    json_t *token;      /**< of the client; NULL: it does not want to hear */
    json_int_t steps;   /**< notifications so far */
    long long begun_ms; /**< when the command was started; 0: it waits for its turn */
    long long told_ms;  /**< when the last notification was */
    bool fresh;         /**< something was said since */
};

/** A notification of this text, now. @return NULL: not wanted, or out of memory */
json_t *rp_mcp_news_tell(struct rp_mcp_news *news, const char *text, size_t bytes,
                         long long now_ms);

/**
 * What is to be told now: of what the command has said the last line, or that it still runs.
 * @param said  the end of all that it has said
 * @return NULL: nothing yet
 */
json_t *rp_mcp_news_due(struct rp_mcp_news *news, const char *said, size_t bytes, long long now_ms);

/** Milliseconds until rp_mcp_news_due may have something if nothing is said; -1: never. */
int rp_mcp_news_patience_ms(const struct rp_mcp_news *news, long long now_ms);

/** Monotonic, never 0. */
long long rp_mcp_now_ms(void);

#endif

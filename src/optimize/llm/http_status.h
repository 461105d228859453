/**
 * @file http_status.h
 * @brief What a refusal of a model server means to the user.
 */
#ifndef RP_OPTIMIZE_LLM_HTTP_STATUS_H
#define RP_OPTIMIZE_LLM_HTTP_STATUS_H

#include <stdbool.h>
#include <stddef.h>

struct rp_err;
struct rp_exchange;
struct rp_llm_settings;

/** Too many requests, or the server's own trouble. */
bool rp_http_status_is_temporary(long status);

/**
 * @param body     what came with it
 * @param location of a redirect, or NULL
 * @return RP_ENVIRONMENT with a message that names the remedy
 */
int rp_http_status_fail(const struct rp_llm_settings *settings, struct rp_exchange *exchange,
                        const char *body, size_t bytes, const char *location, struct rp_err *err);

#endif

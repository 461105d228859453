/**
 * @file exchange.h
 * @brief One question to a model server over HTTP, and what came of it. The only user of libcurl
 *        beside url.c.
 */
#ifndef RP_OPTIMIZE_LLM_EXCHANGE_H
#define RP_OPTIMIZE_LLM_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "optimize/llm/completion.h"

struct rp_err;
struct rp_llm_settings;

/** Zero-initialise; release with rp_exchange_free. All of it is valid after a failure, too. */
struct rp_exchange {
    struct rp_completion completion; /**< after a failure: as far as it came */
    long http_status;                /**< 0: no answer at all */
    bool temporary;                  /**< failed, and the same again may succeed */
    bool retry_after_known;
    int64_t retry_after_ns;       /**< what the server asks for */
    bool wants_completion_tokens; /**< it knows max_completion_tokens, not max_tokens */
    uint64_t received_bytes;
};

/**
 * POSTs the body to BASE/chat/completions and reads the answer, as a stream of events or whole,
 * whatever the server chose. Redirects are not followed. SIGINT stops it (rp_proc_interrupted).
 * @return 0; RP_VERDICT: an answer came that cannot be used; RP_ENVIRONMENT: none came;
 *         RP_INTERRUPTED
 */
int rp_llm_exchange(const struct rp_llm_settings *settings, const char *body, size_t bytes,
                    struct rp_exchange *exchange, struct rp_err *err);

void rp_exchange_free(struct rp_exchange *exchange);

#endif

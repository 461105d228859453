/**
 * @file client.h
 * @brief Questions to a model server within a budget: again when that may help, never the key in
 *        what is told.
 */
#ifndef RP_OPTIMIZE_LLM_CLIENT_H
#define RP_OPTIMIZE_LLM_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "optimize/llm/completion.h"

struct rp_err;
struct rp_llm_client;
struct rp_llm_settings;

/** One attempt, for the journal: texts and outcome, without headers, without the key. */
struct rp_llm_record {
    unsigned attempt;     /**< of this question, from 1 */
    const char *base_url; /**< who was asked */
    const char *model;
    const char *system, *user; /**< what was asked */
    const char *answer;        /**< as far as it came, without control characters; "" */
    const char *failure;       /**< NULL: the answer is complete */
    long http_status;          /**< 0: no answer at all */
    uint64_t prompt_tokens, answer_tokens;
    bool tokens_estimated; /**< the server did not say */
};

typedef void (*rp_llm_log)(void *context, const struct rp_llm_record *record);

/** Tokens of a text, estimated: source code has about three bytes in each. */
uint64_t rp_llm_estimate_tokens(size_t bytes);

/** Their sum, which does not overflow: above any budget it stays where it is. */
uint64_t rp_llm_add_tokens(uint64_t spent, uint64_t more);

/**
 * The client takes the settings over; *settings is empty afterwards.
 * @param spent_tokens of the budget, by others before
 * @param log          may be NULL
 */
int rp_llm_client_open(struct rp_llm_settings *settings, uint64_t spent_tokens, rp_llm_log log,
                       void *log_context, struct rp_llm_client **ret, struct rp_err *err);
void rp_llm_client_close(struct rp_llm_client *client);

const struct rp_llm_settings *rp_llm_client_settings(const struct rp_llm_client *client);

/** Of all attempts so far. */
uint64_t rp_llm_client_spent_tokens(const struct rp_llm_client *client);

/**
 * Asks, and again after a wait where a fault was temporary (429, 5xx, a broken connection).
 * @return 1 with an answer; 0 when the session's budget allows no further question; RP_VERDICT: an
 *         answer came that cannot be used; RP_ENVIRONMENT; RP_INTERRUPTED
 */
int rp_llm_client_ask(struct rp_llm_client *client, const char *system, const char *user,
                      struct rp_completion *ret, struct rp_err *err);

#endif

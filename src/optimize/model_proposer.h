/**
 * @file model_proposer.h
 * @brief What the proposer "llm" needs to know: struct rp_proposer rp_proposer_llm is in
 *        proposers.def.
 *
 * propose() says RP_VERDICT when an answer came that holds no kernel: an attempt that failed, and
 * the next question may tell the model why. 0: the session's budget of tokens is used up. Other
 * errors: this server cannot be asked; asking again does not help.
 */
#ifndef RP_OPTIMIZE_MODEL_PROPOSER_H
#define RP_OPTIMIZE_MODEL_PROPOSER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "optimize/model_exchange.h"

struct rp_completion;
struct rp_err;
struct rp_llm_client;

/* Questions to a model server within a budget: again when that may help, never the key in
 *        what is told.
 */

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

/** Their sum, which does not overflow: above any budget it stays where it is. */
uint64_t rp_llm_add_tokens(uint64_t spent, uint64_t more);

/** Of all attempts so far. */
uint64_t rp_llm_client_spent_tokens(const struct rp_llm_client *client);

struct rp_llm_config {
    const char *settings_file; /**< --llm-config, or NULL: see model_settings.h */
    rp_llm_log log;            /**< each attempt at a question, for the journal; may be NULL */
    void *log_context;
    uint64_t spent_tokens; /**< of the budget: before the session was resumed */
};

/* A key out of a text before anybody reads it. */

/**
 * Overwrites the key with asterisks wherever it stands, and beginnings of it of eight and more
 * characters: a message may have been cut in its middle. @param key NULL: nothing to do
 */
void rp_llm_redact(char *text, const char *key);

/* The kernel in a model's answer: exactly one fenced block of code. */

/**
 * Fences are lines of three or more back-quotes or tildes, as CommonMark has them; text around the
 * block is the model's talk and means nothing.
 * @param ret_kernel what stands between the fences, without the last line feed; free it
 * @return 0; RP_VERDICT with one sentence for the next attempt: no block, several, an open one, an
 *         empty one, an answer that was cut or refused, no UTF-8
 */
int rp_llm_answer_kernel(const struct rp_completion *completion, char **ret_kernel,
                         size_t *ret_bytes, struct rp_err *err);

#endif

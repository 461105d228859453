/**
 * @file propose.h
 * @brief What the proposer "llm" needs to know: struct rp_proposer rp_proposer_llm is in
 *        proposers.def.
 *
 * propose() says RP_VERDICT when an answer came that holds no kernel: an attempt that failed, and
 * the next question may tell the model why. 0: the session's budget of tokens is used up. Other
 * errors: this server cannot be asked; asking again does not help.
 */
#ifndef RP_OPTIMIZE_LLM_PROPOSE_H
#define RP_OPTIMIZE_LLM_PROPOSE_H

#include "optimize/llm/client.h"

struct rp_llm_config {
    const char *settings_file; /**< --llm-config, or NULL: see settings.h */
    rp_llm_log log;            /**< each attempt at a question, for the journal; may be NULL */
    void *log_context;
    uint64_t spent_tokens; /**< of the budget: before the session was resumed */
};

#endif

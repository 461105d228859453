/**
 * @file prompt.h
 * @brief Makes the question to a model: the kernel, what is known of it, what was tried, what is
 * allowed.
 *
 * The same input gives the same text. All text of the user's files, of tools and of earlier answers
 * stands between fences that do not occur in it, and the rules say that it is data. If it is too
 * long, parts are left out in this order: texts of earlier attempts, oldest first; declarations of
 * the file, last first; earlier attempts, oldest first; lines with stalls and rules of the
 * bottleneck, least first; in a repair the text that failed; what the compiler said of it. A
 * proposal that would take up more than a third is never shown. The kernel and the rules always
 * stand there.
 */
#ifndef RP_OPTIMIZE_PROMPT_H
#define RP_OPTIMIZE_PROMPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/buf.h"
#include "optimize/model_exchange.h"

struct rp_err;
struct rp_proposer_input;

/** Release it with rp_llm_prompt_free. */
struct rp_llm_prompt {
    char *system;    /**< the rules */
    char *user;      /**< everything else */
    uint64_t tokens; /**< of both, estimated */
    size_t left_out; /**< parts that did not fit */
};

/** @return 0; RP_BAD_INPUT when the kernel alone is too large */
int rp_llm_prompt_make(const struct rp_proposer_input *input, uint64_t max_tokens,
                       struct rp_llm_prompt *ret, struct rp_err *err);
static inline void rp_llm_prompt_free(struct rp_llm_prompt *prompt)
{
    free(prompt->system);
    free(prompt->user);
    *prompt = (struct rp_llm_prompt){0};
}

/* This section puts the measurements of a kernel into words. */

/* A prompt has sections, of which the less important parts are left out when it is too long. */

/* A model server gets only the part of a compiler's output that is about the kernel's own lines.
 * Errors bring lines of other places with them (where a name was declared, a macro expanded), and
 * the user's source may hold text there that the question does not. */

/* This section asks a model server within a budget. It asks again when that may help, and never
 * prints the key. */

/** Estimates the tokens of a text: source code has about three bytes in each. */
static inline uint64_t rp_llm_estimate_tokens(size_t bytes)
{
    return (bytes + 2) / 3;
}

#endif

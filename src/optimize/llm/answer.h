/**
 * @file answer.h
 * @brief The kernel in a model's answer: exactly one fenced block of code.
 */
#ifndef RP_OPTIMIZE_LLM_ANSWER_H
#define RP_OPTIMIZE_LLM_ANSWER_H

#include <stddef.h>

struct rp_completion;
struct rp_err;

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

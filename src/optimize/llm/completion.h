/**
 * @file completion.h
 * @brief What a chat completion says, whether it came whole or in pieces.
 *
 * The format: platform.openai.com, API reference, "Chat"; servers add and leave out members.
 */
#ifndef RP_OPTIMIZE_LLM_COMPLETION_H
#define RP_OPTIMIZE_LLM_COMPLETION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct rp_err;

enum rp_finish {
    RP_FINISH_NONE,   /**< it was not said: the answer may be a part */
    RP_FINISH_STOP,   /**< the answer is complete */
    RP_FINISH_LENGTH, /**< the limit of tokens cut it */
    RP_FINISH_OTHER,  /**< a filter of the server, a call of a tool */
};

enum {
    RP_COMPLETION_MAX_TEXT_BYTES = 1 << 20, /**< of an answer; a kernel is some thousand */
};

/** Zero-initialise; release with rp_completion_free. */
struct rp_completion {
    struct rp_buf text;
    enum rp_finish finish;
    char finish_word[32]; /**< as the server said */
    bool usage_known;
    uint64_t prompt_tokens, answer_tokens;
    bool done;    /**< the end of a stream was announced */
    bool refused; /**< the model said that it will not answer */
};

/** A whole answer. @return as rp_completion_event; RP_VERDICT, too, when it holds no message */
int rp_completion_whole(struct rp_completion *completion, const char *json, size_t bytes,
                        struct rp_err *err);

/**
 * One event of a stream: of type rp_sse_event.
 * @param context struct rp_completion
 * @return 0; RP_VERDICT: it is no JSON, no UTF-8 or too large, so another try may do better;
 *         RP_ENVIRONMENT: this server does not do chat completions, or says that it failed
 */
int rp_completion_event(void *context, const char *data, size_t bytes, struct rp_err *err);

/** What the body of a refused request says, one line without control characters; may be "". */
void rp_completion_error_text(const char *body, size_t bytes, char *ret, size_t capacity);

void rp_completion_free(struct rp_completion *completion);

#endif

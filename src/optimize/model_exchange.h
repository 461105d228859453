/**
 * @file model_exchange.h
 * @brief Asks a model server one question over HTTP. Only this module uses libcurl.
 */
#ifndef RP_OPTIMIZE_MODEL_EXCHANGE_H
#define RP_OPTIMIZE_MODEL_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct rp_err;
struct rp_exchange;
struct rp_llm_settings;

/* This section reads a chat completion, whether it came whole or in pieces. The format is described
 * at platform.openai.com, API reference, "Chat"; servers add and leave out members. */

enum rp_finish {
    RP_FINISH_NONE,   /**< it was not said: the answer may be a part */
    RP_FINISH_STOP,   /**< the answer is complete */
    RP_FINISH_LENGTH, /**< the limit of tokens cut it */
    RP_FINISH_OTHER,  /**< a filter of the server, a call of a tool */
};

/** Initialise it with zeros, and release it with rp_completion_free. */
struct rp_completion {
    struct rp_buf text;
    enum rp_finish finish;
    char finish_word[32]; /**< as the server said */
    bool usage_known;
    uint64_t prompt_tokens, answer_tokens;
    bool done;    /**< the end of a stream was announced */
    bool refused; /**< the model said that it will not answer */
};

/** Reads a whole answer.
 * @return as rp_completion_event; RP_VERDICT, too, when it holds no message */
int rp_completion_whole(struct rp_completion *completion, const char *json, size_t bytes,
                        struct rp_err *err);

/**
 * Reads one event of a stream. Its type is rp_sse_event.
 * @param context struct rp_completion
 * @return 0; RP_VERDICT: it is no JSON, no UTF-8 or too large, so another try may do better;
 * RP_ENVIRONMENT: this server does not do chat completions, or says that it failed
 */
int rp_completion_event(void *context, const char *data, size_t bytes, struct rp_err *err);

/** Extracts the message from the body of a refused request, as one line without control characters.
 * It may be "". */
void rp_completion_error_text(const char *body, size_t bytes, char *ret, size_t capacity);

static inline void rp_completion_free(struct rp_completion *completion)
{
    rp_buf_free(&completion->text);
}

/** Initialise it with zeros, and release it with rp_exchange_free. All of it is valid after a
 * failure, too. */
struct rp_exchange {
    struct rp_completion completion; /**< after a failure: as far as it came */
    long http_status;                /**< 0: no answer at all */
    bool temporary;                  /**< failed, and the same again may succeed */
    bool retry_after_known;
    int64_t retry_after_ns;       /**< what the server asks for */
    bool wants_completion_tokens; /**< it knows max_completion_tokens, not max_tokens */
    uint64_t received_bytes;
};

/** libcurl, which is loaded when a model server is to be asked: nothing else needs it. */
struct rp_http;

/** @return 0; RP_ENVIRONMENT: it is not installed, or does not start. Close it with
 * rp_http_close(), which accepts NULL. */
int rp_http_open(struct rp_http **ret, struct rp_err *err);
void rp_http_close(struct rp_http *http);

/**
 * POSTs the body to BASE/chat/completions and reads the answer, as a stream of events or whole, as
 * the server chooses. Redirects are not followed. SIGINT stops it (rp_proc_interrupted).
 * @return 0; RP_VERDICT: an answer came that cannot be used; RP_ENVIRONMENT: none came;
 * RP_INTERRUPTED
 */
int rp_llm_exchange(const struct rp_http *http, const struct rp_llm_settings *settings,
                    const char *body, size_t bytes, struct rp_exchange *exchange,
                    struct rp_err *err);

static inline void rp_exchange_free(struct rp_exchange *exchange)
{
    rp_completion_free(&exchange->completion);
}

/* This section explains to the user why a model server refused. */

/* Reads server-sent events from a stream of bytes, wherever it is cut. html.spec.whatwg.org
 * describes the format in "Server-sent events", section "Parsing an event stream". */

/** It is called with the data of each event, terminated.
 * @return 0, or negative to stop */
typedef int (*rp_sse_event)(void *context, const char *data, size_t bytes, struct rp_err *err);

/** Initialise it with zeros, and set event and context. Release it with rp_sse_free. */
struct rp_sse {
    rp_sse_event event;
    void *context;
    struct rp_buf line;
    struct rp_buf data;
    bool has_data;
    bool after_return; /**< a line feed here belongs to the carriage return before it */
    bool begun;        /**< the first line is over: no byte order mark any more */
};

/** @return 0; RP_VERDICT when one line or event is too large; what the callback returned */
int rp_sse_feed(struct rp_sse *sse, const char *bytes, size_t count, struct rp_err *err);

/** Ends the stream. An event that no empty line ended counts all the same, because servers do that.
 */
int rp_sse_end(struct rp_sse *sse, struct rp_err *err);

void rp_sse_free(struct rp_sse *sse);

#endif

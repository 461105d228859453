/**
 * @file propose.h
 * @brief Proposes changes of a kernel. Each kind of proposer is a struct, listed in proposers.def.
 */
#ifndef RP_OPTIMIZE_PROPOSE_H
#define RP_OPTIMIZE_PROPOSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "optimize/candidate_check.h"
#include "optimize/model_exchange.h"

struct rp_completion;
struct rp_err;
struct rp_kernel_facts;
struct rp_kernel_source;
struct rp_source_loop;
struct rp_llm_client;
struct rp_llm_config;
struct rp_llm_record;
struct rp_llm_settings;

/* Which model server is asked, as whom, and within which limits.
 *
 * The settings come whole from one place, the first of these that is there: the file of
 * --llm-config; ROCM_PERF_LLM_BASE_URL, _MODEL and _API_KEY; $XDG_CONFIG_HOME (or
 * ~/.config)/rocm-perf/llm.json; OPENAI_BASE_URL, _MODEL and _API_KEY. They are never mixed: a key
 * goes to no server but the one that it was configured with.
 */

typedef void (*rp_llm_log)(void *context, const struct rp_llm_record *record);

struct rp_llm_config {
    const char *settings_file; /**< --llm-config, or NULL */
    rp_llm_log log;            /**< each attempt at a question, for the journal; may be NULL */
    void *log_context;
    uint64_t spent_tokens; /**< of the budget: before the session was resumed */
};

/** The proposers need these beforehand; each looks at its own part. */
struct rp_proposer_config {
    const struct rp_llm_config *llm; /**< NULL: no server is configured */
};

/** This is an earlier proposal, with how it ended. */
struct rp_attempt {
    const char *title;
    const char *kernel_text;
    uint32_t workgroup;  /**< as of struct rp_proposal */
    const char *outcome; /**< word of the journal: "refused", "slower", "accepted" ... */
    const char *reason;
    bool ratio_known;
    double ratio; /**< time before / time after */
};

struct rp_proposer_input {
    const struct rp_kernel_source *source;
    const struct rp_kernel_facts *facts; /**< NULL: nothing is known */
    const struct rp_attempt *attempts;   /**< oldest first */
    size_t attempt_count;
    uint64_t largest_workgroup; /**< work-items of a launch that was seen; 0: unknown */
    const char *failed_text, *compiler_output; /**< both set: a repair of that text is wanted */
    enum rp_edit_scope scope;
};

/** Release it with rp_proposal_free. */
struct rp_proposal {
    char *kernel_text; /**< the complete definition */
    size_t bytes;
    uint32_t workgroup; /**< work-items, where it changes how the kernel is launched: then the text
                             is that of the whole file (launch_size.h); 0: it does not */
    char *title;        /**< a few words: "unroll the loop at line 12 by 4" */
};

struct rp_proposer {
    const char *name;
    const char *summary;
    bool changes_body; /**< by rules of its own, also where the user has not allowed a server to */
    bool changes_launches; /**< it needs the constants of the source: launch_size.h */
    int (*open)(const struct rp_proposer_config *config, void **ret_state, struct rp_err *err);
    /** @return 1 with a proposal; 0 when it has nothing more for this kernel, or with a text in err
     * for any; RP_VERDICT: its answer is no proposal; RP_BAD_INPUT: it cannot be asked about this
     * kernel; RP_ENVIRONMENT: about any; other errors end the session */
    int (*propose)(void *state, const struct rp_proposer_input *input, struct rp_proposal *ret,
                   struct rp_err *err);
    void (*close)(void *state);
};

/** Finds a proposer in proposers.def.
 * @return NULL when none has that name */
const struct rp_proposer *rp_proposer_named(const char *name);
/** @return NULL behind the last */
const struct rp_proposer *rp_proposer_at(size_t index);

/** Release it with rp_llm_settings_free. */
struct rp_llm_settings {
    char *base_url; /**< as configured, without a slash at the end */
    char *model;
    char *api_key;        /**< NULL: none. In no message, no file, and on no command line */
    char *ca_file;        /**< certificates to trust; NULL: the machine's */
    char *origin;         /**< where they were found, for messages */
    bool loopback;        /**< the server is on this machine */
    bool stream;          /**< ask for the answer in pieces */
    bool has_temperature; /**< else the server's own */
    double temperature;
    uint32_t max_attempts; /**< of one question, the first included */
    int64_t connect_timeout_ns;
    int64_t idle_timeout_ns;    /**< nothing at all came for so long */
    int64_t total_timeout_ns;   /**< one attempt */
    int64_t retry_delay_ns;     /**< before the second attempt; doubles */
    int64_t max_retry_after_ns; /**< longest wait that a server may ask for */
    uint64_t prompt_tokens;     /**< largest prompt, estimated */
    uint64_t answer_tokens;     /**< largest answer that is asked for */
    uint64_t budget_tokens;     /**< prompts and answers of the whole session */
};

/**
 * Reads the settings.
 * @param file --llm-config, or NULL
 * @return 0; RP_USAGE when no server is configured or the settings are unsafe, RP_BAD_INPUT when
 * the file cannot be used. Each message names the remedy.
 */
int rp_llm_settings_read(const char *file, struct rp_llm_settings *ret, struct rp_err *err);

void rp_llm_settings_free(struct rp_llm_settings *settings);

/* The proposer "llm" needs these; struct rp_proposer rp_proposer_llm is in proposers.def. propose()
 * returns RP_VERDICT when the answer holds no kernel: the attempt failed, and the next question may
 * tell the model why. It returns 0 when the session's budget of tokens is used up. Other errors
 * mean that this server cannot be asked, and asking again does not help. */

/* Questions to a model server within a budget: again when that may help, never the key in
 * what is told.
 */

/** This is one attempt for the journal: texts and outcome, without headers and without the key. */
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

/** Returns the tokens of all attempts so far. */
uint64_t rp_llm_client_spent_tokens(const struct rp_llm_client *client);

/* The kernel in a model's answer: exactly one fenced block of code. */

/**
 * Takes the kernel from an answer. Fences are lines of three or more back-quotes or tildes, as
 * CommonMark has them. The text around the block is ignored.
 * @param ret_kernel the text between the fences, without the last line feed; free it
 * @return 0; RP_VERDICT with one sentence for the next attempt: no block, several, an open one, an
 * empty one, an answer that was cut or refused, no UTF-8
 */
int rp_llm_answer_kernel(const struct rp_completion *completion, char **ret_kernel,
                         size_t *ret_bytes, struct rp_err *err);

/** Makes the kernel with one loop that adds up as many variables in place of one. Free it.
 * @return NULL: it is no such loop */
char *rp_split_sum(const struct rp_kernel_source *source, const struct rp_source_loop *of,
                   unsigned ways);

static inline void rp_proposal_free(struct rp_proposal *proposal)
{
    free(proposal->kernel_text);
    free(proposal->title);
    *proposal = (struct rp_proposal){0};
}

/** Adds without overflow: a sum above any budget stays where it is. */
static inline uint64_t rp_llm_add_tokens(uint64_t spent, uint64_t more)
{
    const uint64_t max = UINT64_MAX / 4; /* A server that counts absurdly is not asked any more. */

    return spent > max || more > max - spent ? max : spent + more;
}

#endif

/**
 * @file model_settings.h
 * @brief Which model server is asked, as whom, and within which limits.
 *
 * The settings come whole from one place, the first of these that is there: the file of
 * --llm-config; ROCM_PERF_LLM_BASE_URL, _MODEL and _API_KEY; $XDG_CONFIG_HOME (or
 * ~/.config)/rocm-perf/llm.json; OPENAI_BASE_URL, _MODEL and _API_KEY. They are never mixed: a key
 * goes to no server but the one that it was configured with.
 */
#ifndef RP_OPTIMIZE_MODEL_SETTINGS_H
#define RP_OPTIMIZE_MODEL_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"

struct rp_err;
struct rp_llm_settings;

/** Release with rp_llm_settings_free. */
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
 * @param file --llm-config, or NULL
 * @return 0; RP_USAGE when no server is configured or the settings are unsafe, RP_BAD_INPUT when
 *         the file cannot be used. Each message names the remedy.
 */
int rp_llm_settings_read(const char *file, struct rp_llm_settings *ret, struct rp_err *err);

void rp_llm_settings_free(struct rp_llm_settings *settings);

/* The settings of a model server in a JSON file that only its owner can read. */

/* What the address of a model server says, as the HTTP library itself reads it. */

#endif

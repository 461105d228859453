#include "optimize/llm/client.h"

#include <curl/curl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/process.h"
#include "optimize/llm/exchange.h"
#include "optimize/llm/redact.h"
#include "optimize/llm/settings.h"
#include "optimize/llm/utf8.h"

enum {
    /* Too little for a kernel: better no question than an answer that is cut. */
    LEAST_ANSWER_TOKENS = 256,
    /* Servers on one's own machine get keys such as "none", which answers may well hold. */
    LEAST_SECRET_BYTES = 8,
    WAIT_STEP_NS = 50000000,
};

/* More than any budget (settings_file.c). */
static const uint64_t MOST_TOKENS = UINT64_MAX / 4;

struct rp_llm_client {
    struct rp_llm_settings settings;
    rp_llm_log log;
    void *log_context;
    uint64_t spent_tokens;
    const char *limit_member; /* how this server calls the limit of an answer */
};

uint64_t rp_llm_estimate_tokens(size_t bytes)
{
    return (bytes + 2) / 3;
}

/* A server that counts absurdly is not asked on. */
uint64_t rp_llm_add_tokens(uint64_t spent, uint64_t more)
{
    return spent > MOST_TOKENS || more > MOST_TOKENS - spent ? MOST_TOKENS : spent + more;
}

int rp_llm_client_open(struct rp_llm_settings *settings, uint64_t spent_tokens, rp_llm_log log,
                       void *log_context, struct rp_llm_client **ret, struct rp_err *err)
{
    struct rp_llm_client *client = calloc(1, sizeof *client);

    if (!client || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        free(client);
        return rp_fail(err, RP_ENVIRONMENT, "the HTTP library does not start (out of memory?)");
    }
    *client = (struct rp_llm_client){.settings = *settings,
                                     .log = log,
                                     .log_context = log_context,
                                     .spent_tokens = spent_tokens,
                                     .limit_member = "max_tokens"};
    *settings = (struct rp_llm_settings){0};
    *ret = client;
    return 0;
}

void rp_llm_client_close(struct rp_llm_client *client)
{
    if (!client)
        return;
    rp_llm_settings_free(&client->settings);
    free(client);
    curl_global_cleanup();
}

const struct rp_llm_settings *rp_llm_client_settings(const struct rp_llm_client *client)
{
    return &client->settings;
}

uint64_t rp_llm_client_spent_tokens(const struct rp_llm_client *client)
{
    return client->spent_tokens;
}

static char *make_body(const struct rp_llm_client *client, const char *system, const char *user,
                       uint64_t answer_tokens)
{
    const struct rp_llm_settings *s = &client->settings;
    json_t *root =
        json_pack("{s:s, s:[{s:s, s:s}, {s:s, s:s}], s:I, s:b}", "model", s->model, "messages",
                  "role", "system", "content", system, "role", "user", "content", user,
                  client->limit_member, (json_int_t)answer_tokens, "stream", (int)s->stream);
    char *text = NULL;

    if (root && s->stream)
        json_object_set_new(root, "stream_options", json_pack("{s:b}", "include_usage", 1));
    if (root && s->has_temperature)
        json_object_set_new(root, "temperature", json_real(s->temperature));
    if (root)
        text = json_dumps(root, JSON_COMPACT);
    json_decref(root);
    return text;
}

/* What an attempt cost: the server's count, or an estimate of what went over the line. */
static void account(struct rp_llm_client *client, const struct rp_exchange *x,
                    struct rp_llm_record *record)
{
    const struct rp_completion *c = &x->completion;

    record->tokens_estimated = !c->usage_known;
    if (c->usage_known) {
        record->prompt_tokens = c->prompt_tokens;
        record->answer_tokens = c->answer_tokens;
    } else if (x->http_status >= 200 && x->http_status <= 299) {
        record->prompt_tokens =
            rp_llm_estimate_tokens(strlen(record->system) + strlen(record->user));
        record->answer_tokens = rp_llm_estimate_tokens(c->text.len);
    }
    client->spent_tokens = rp_llm_add_tokens(client->spent_tokens, record->prompt_tokens);
    client->spent_tokens = rp_llm_add_tokens(client->spent_tokens, record->answer_tokens);
}

static void tell(struct rp_llm_client *client, const struct rp_exchange *x, unsigned attempt,
                 const char *system, const char *user, const char *failure)
{
    rp_autobuf answer = {0};
    rp_autofree char *asked_system = strdup(system), *asked_user = strdup(user);
    struct rp_llm_record record = {.attempt = attempt,
                                   .base_url = client->settings.base_url,
                                   .model = client->settings.model,
                                   .system = system,
                                   .user = user,
                                   .failure = failure,
                                   .http_status = x->http_status};

    account(client, x, &record);
    rp_utf8_add(&answer, rp_buf_text(&x->completion.text), x->completion.text.len);
    if (!client->log || answer.failed || !asked_system || !asked_user)
        return;
    rp_llm_redact(answer.data, client->settings.api_key);
    rp_llm_redact(asked_system, client->settings.api_key);
    rp_llm_redact(asked_user, client->settings.api_key);
    record.answer = rp_buf_text(&answer);
    record.system = asked_system;
    record.user = asked_user;
    client->log(client->log_context, &record);
}

static int wait_ns(int64_t ns, struct rp_err *err)
{
    struct timespec step = {.tv_nsec = WAIT_STEP_NS};

    for (; ns > 0; ns -= WAIT_STEP_NS) {
        if (rp_proc_interrupted(err) < 0)
            return -(int)err->code;
        if (ns < WAIT_STEP_NS)
            step.tv_nsec = (long)ns;
        nanosleep(&step, NULL); /* a signal ends it early: seen in the next round */
    }
    return rp_proc_interrupted(err);
}

/* @return 1: try again; negative: err says why not */
static int before_next(struct rp_llm_client *client, const struct rp_exchange *x, unsigned attempt,
                       struct rp_err *err)
{
    const struct rp_llm_settings *s = &client->settings;
    int64_t delay_ns = s->retry_delay_ns << (attempt - 1 < 6 ? attempt - 1 : 6);

    if (x->wants_completion_tokens && strcmp(client->limit_member, "max_tokens") == 0) {
        client->limit_member = "max_completion_tokens";
        return 1;
    }
    if (!x->temporary)
        return -(int)err->code;
    if (attempt >= s->max_attempts)
        return attempt > 1 ? rp_wrap(err, "%u attempts, the last", attempt) : -(int)err->code;
    if (x->retry_after_known && x->retry_after_ns > s->max_retry_after_ns)
        return rp_wrap(err, "the model server asks to wait for %.15g s, which is too long",
                       (double)x->retry_after_ns / 1e9);
    if (x->retry_after_known && x->retry_after_ns > delay_ns)
        delay_ns = x->retry_after_ns;
    return wait_ns(delay_ns, err) < 0 ? -(int)err->code : 1;
}

/* The answer must not carry the key into a file. */
static int take_answer(const struct rp_llm_client *client, struct rp_exchange *x,
                       struct rp_completion *ret, struct rp_err *err)
{
    const char *key = client->settings.api_key;

    if (key && strlen(key) >= LEAST_SECRET_BYTES && strstr(rp_buf_text(&x->completion.text), key))
        return rp_fail(err, RP_VERDICT, "the answer holds the key of the model server");
    *ret = x->completion;
    x->completion = (struct rp_completion){0};
    return 1;
}

static int attempt_once(struct rp_llm_client *client, const char *system, const char *user,
                        uint64_t answer_tokens, unsigned attempt, struct rp_exchange *x,
                        struct rp_err *err)
{
    rp_autofree char *body = make_body(client, system, user, answer_tokens);
    int rc;

    if (!body)
        return rp_fail(err, RP_ENVIRONMENT, "no request can be made of the prompt (not UTF-8?)");
    rc = rp_llm_exchange(&client->settings, body, strlen(body), x, err);
    if (rc < 0)
        rp_llm_redact(err->text, client->settings.api_key);
    tell(client, x, attempt, system, user, rc < 0 ? err->text : NULL);
    return rc;
}

int rp_llm_client_ask(struct rp_llm_client *client, const char *system, const char *user,
                      struct rp_completion *ret, struct rp_err *err)
{
    uint64_t prompt_tokens = rp_llm_estimate_tokens(strlen(system) + strlen(user));

    for (unsigned attempt = 1;; attempt++) {
        rp_cleanup(rp_exchange_free) struct rp_exchange x = {0};
        uint64_t used = client->spent_tokens + prompt_tokens;
        uint64_t answer_tokens = client->settings.answer_tokens;
        int rc;

        if (used + LEAST_ANSWER_TOKENS > client->settings.budget_tokens)
            return 0;
        if (answer_tokens > client->settings.budget_tokens - used)
            answer_tokens = client->settings.budget_tokens - used;
        rc = attempt_once(client, system, user, answer_tokens, attempt, &x, err);
        if (rc == 0)
            return take_answer(client, &x, ret, err);
        if (before_next(client, &x, attempt, err) < 0)
            return -(int)err->code;
    }
}

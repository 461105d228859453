#include "optimize/model_proposer.h"

#include <ctype.h>
#include <curl/curl.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/process.h"
#include "base/utf8.h"
#include "optimize/model_exchange.h"
#include "optimize/model_settings.h"
#include "optimize/prompt.h"
#include "optimize/propose.h"
#include "optimize/source_text.h"

enum {
    /* Too little for a kernel: better no question than an answer that is cut. */
    LEAST_ANSWER_TOKENS = 256,
    /* Servers on one's own machine get keys such as "none", which answers may well hold. */
    LEAST_SECRET_BYTES = 8,
    WAIT_STEP_NS = 50000000,
};

/* More than any budget (model_settings.c). */
static const uint64_t MOST_TOKENS = UINT64_MAX / 4;

struct rp_llm_client {
    struct rp_llm_settings settings;
    rp_llm_log log;
    void *log_context;
    uint64_t spent_tokens;
    const char *limit_member; /* how this server calls the limit of an answer */
};

/* A server that counts absurdly is not asked on. */
uint64_t rp_llm_add_tokens(uint64_t spent, uint64_t more)
{
    return spent > MOST_TOKENS || more > MOST_TOKENS - spent ? MOST_TOKENS : spent + more;
}

/**
 * The client takes the settings over; *settings is empty afterwards.
 * @param spent_tokens of the budget, by others before
 * @param log          may be NULL
 */
static int rp_llm_client_open(struct rp_llm_settings *settings, uint64_t spent_tokens,
                              rp_llm_log log, void *log_context, struct rp_llm_client **ret,
                              struct rp_err *err)
{
    struct rp_llm_client *client = rp_alloc_zero(1, sizeof *client);

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

static void rp_llm_client_close(struct rp_llm_client *client)
{
    if (!client)
        return;
    rp_llm_settings_free(&client->settings);
    free(client);
    curl_global_cleanup();
}

static const struct rp_llm_settings *rp_llm_client_settings(const struct rp_llm_client *client)
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
    rp_autofree char *asked_system = rp_strdup(system), *asked_user = rp_strdup(user);
    struct rp_llm_record record = {.attempt = attempt,
                                   .base_url = client->settings.base_url,
                                   .model = client->settings.model,
                                   .system = system,
                                   .user = user,
                                   .failure = failure,
                                   .http_status = x->http_status};

    account(client, x, &record);
    rp_buf_add_model_text(&answer, rp_buf_text(&x->completion.text), x->completion.text.len);
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

/**
 * Asks, and again after a wait where a fault was temporary (429, 5xx, a broken connection).
 * @return 1 with an answer; 0 when the session's budget allows no further question; RP_VERDICT: an
 *         answer came that cannot be used; RP_ENVIRONMENT; RP_INTERRUPTED
 */
static int rp_llm_client_ask(struct rp_llm_client *client, const char *system, const char *user,
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

enum { TITLE_BYTES = 100 };

extern const struct rp_proposer rp_proposer_llm;

static int open_llm(const struct rp_proposer_config *config, void **ret_state, struct rp_err *err)
{
    const struct rp_llm_config none = {0}, *llm = config->llm ? config->llm : &none;
    rp_cleanup(rp_llm_settings_free) struct rp_llm_settings settings = {0};
    struct rp_llm_client *client = NULL;

    if (rp_llm_settings_read(llm->settings_file, &settings, err) < 0 ||
        rp_llm_client_open(&settings, llm->spent_tokens, llm->log, llm->log_context, &client, err) <
            0)
        return -(int)err->code;
    *ret_state = client;
    return 0;
}

static void close_llm(void *state)
{
    rp_llm_client_close(state);
}

/* The first words of the answer that are not code: the model was asked to say what it changed. */
static char *title_of(const char *answer, const char *model)
{
    const char *line = answer + strspn(answer, " \t\r\n#*-");
    size_t bytes = strcspn(line, "\r\n");
    rp_autobuf title = {0};

    if (bytes == 0 || *line == '`' || *line == '~')
        return rp_format("a change by %s", model);
    rp_buf_add_model_text(&title, line, bytes);
    for (bytes = title.len > TITLE_BYTES ? TITLE_BYTES : title.len;
         bytes < title.len && bytes > 0 && ((unsigned char)title.data[bytes] & 0xC0) == 0x80;)
        bytes--;
    while (bytes > 0 && isspace((unsigned char)title.data[bytes - 1]))
        bytes--;
    for (size_t i = 0; i < bytes; i++) /* behind a colon messages have the outcome */
        if (title.data[i] == ':')
            title.data[i] = ';';
    return title.failed ? NULL : rp_format("%.*s", (int)bytes, title.data);
}

static int propose_llm(void *state, const struct rp_proposer_input *input, struct rp_proposal *ret,
                       struct rp_err *err)
{
    struct rp_llm_client *client = state;
    const struct rp_llm_settings *settings = rp_llm_client_settings(client);
    rp_cleanup(rp_llm_prompt_free) struct rp_llm_prompt prompt = {0};
    rp_cleanup(rp_completion_free) struct rp_completion completion = {0};
    rp_autofree char *kernel = NULL;
    char *title;
    size_t bytes;
    int rc;

    if (rp_llm_prompt_make(input, settings->prompt_tokens, &prompt, err) < 0)
        return err->code == RP_BAD_INPUT
                   ? rp_wrap(err, "prompt_tokens of the settings is too small")
                   : -(int)err->code;
    rc = rp_llm_client_ask(client, prompt.system, prompt.user, &completion, err);
    if (rc == 0)
        return rp_fail(err, RP_OK, "the budget of %llu tokens is used up (budget_tokens)",
                       (unsigned long long)settings->budget_tokens);
    if (rc < 0)
        return rc;
    if (rp_llm_answer_kernel(&completion, &kernel, &bytes, err) < 0)
        return -(int)err->code;
    title = title_of(rp_buf_text(&completion.text), settings->model);
    *ret = (struct rp_proposal){.kernel_text = rp_steal(kernel), .bytes = bytes, .title = title};
    return 1;
}

const struct rp_proposer rp_proposer_llm = {
    .name = "llm",
    .summary = "questions to a model server (OpenAI-compatible)",
    .open = open_llm,
    .propose = propose_llm,
    .close = close_llm,
};

enum { TELLING_BYTES = 8 };

static size_t common_bytes(const char *a, const char *b)
{
    size_t n = 0;

    while (a[n] && a[n] == b[n])
        n++;
    return n;
}

void rp_llm_redact(char *text, const char *key)
{
    size_t length = key ? strlen(key) : 0;

    for (char *at = text; length > 0 && at && (at = strchr(at, *key));) {
        size_t common = common_bytes(at, key);

        if (common < length && common < TELLING_BYTES)
            common = 0;
        memset(at, '*', common);
        at += common ? common : 1;
    }
}

struct blocks {
    size_t count;      /* closed and open ones */
    bool open;         /* the last has no end */
    size_t begin, end; /* contents of the first */
};

struct fence {
    char mark;     /* back-quote or tilde */
    size_t length; /* how many */
    bool alone;    /* nothing behind them: may close */
};

static bool is_blank(const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (text[i] != ' ' && text[i] != '\t' && text[i] != '\r' && text[i] != '\n')
            return false;
    return true;
}

/* CommonMark 4.5: up to three spaces, then at least three of one mark. */
static bool read_fence(const char *line, size_t bytes, struct fence *ret)
{
    size_t at = 0, begin;

    while (at < bytes && at < 3 && line[at] == ' ')
        at++;
    begin = at;
    if (at == bytes || (line[at] != '`' && line[at] != '~'))
        return false;
    while (at < bytes && line[at] == line[begin])
        at++;
    *ret = (struct fence){
        .mark = line[begin], .length = at - begin, .alone = is_blank(line + at, bytes - at)};
    /* ```code``` within one line is no fence. */
    return ret->length >= 3 && !(ret->mark == '`' && memchr(line + at, '`', bytes - at));
}

static struct blocks find_blocks(const char *text, size_t bytes)
{
    struct blocks found = {0};
    struct fence opened = {0};

    for (size_t at = 0, next; at < bytes; at = next) {
        const char *feed = memchr(text + at, '\n', bytes - at);
        struct fence fence;

        next = feed ? (size_t)(feed - text) + 1 : bytes;
        if (!read_fence(text + at, next - at, &fence))
            continue;
        if (!found.open) {
            opened = fence;
            found.open = true;
            if (++found.count == 1)
                found.begin = found.end = next;
        } else if (fence.alone && fence.mark == opened.mark && fence.length >= opened.length) {
            found.open = false;
            if (found.count == 1)
                found.end = at;
        }
    }
    return found;
}

static int check_finish(const struct rp_completion *c, struct rp_err *err)
{
    if (c->refused)
        return rp_fail(err, RP_VERDICT, "the model declined to answer");
    if (c->finish == RP_FINISH_LENGTH)
        return rp_fail(err, RP_VERDICT,
                       "the answer was cut at the limit of tokens; answer with the code only");
    if (c->finish == RP_FINISH_OTHER)
        return rp_fail(err, RP_VERDICT, "the server ended the answer with the reason \"%s\"",
                       c->finish_word);
    return 0;
}

static int check_text(const char *text, size_t bytes, struct rp_err *err)
{
    for (size_t at = 0, length; at < bytes; at += length) {
        length = rp_utf8_length(text + at, bytes - at);
        if (length == 0)
            return rp_fail(err, RP_VERDICT, "the answer is not UTF-8 at byte %zu", at);
        if (text[at] == '\0')
            return rp_fail(err, RP_VERDICT, "the answer holds a zero byte");
    }
    return 0;
}

static int check_blocks(const struct blocks *found, struct rp_err *err)
{
    if (found->count == 0)
        return rp_fail(err, RP_VERDICT,
                       "the answer holds no fenced block; answer with one that holds the complete "
                       "kernel");
    if (found->count > 1)
        return rp_fail(err, RP_VERDICT,
                       "the answer holds more than one fenced block; answer with exactly one that "
                       "holds the complete kernel");
    if (found->open)
        return rp_fail(err, RP_VERDICT, "the fenced block of the answer has no end");
    return 0;
}

int rp_llm_answer_kernel(const struct rp_completion *completion, char **ret_kernel,
                         size_t *ret_bytes, struct rp_err *err)
{
    const char *text = rp_buf_text(&completion->text);
    size_t bytes = completion->text.len;
    struct blocks found = find_blocks(text, bytes);
    char *kernel;

    if (check_finish(completion, err) < 0 || check_text(text, bytes, err) < 0)
        return -(int)err->code;
    if (is_blank(text, bytes))
        return rp_fail(err, RP_VERDICT, "the answer is empty");
    if (check_blocks(&found, err) < 0)
        return -(int)err->code;
    if (is_blank(text + found.begin, found.end - found.begin))
        return rp_fail(err, RP_VERDICT, "the fenced block of the answer is empty");
    bytes = found.end - found.begin;
    if (text[found.begin + bytes - 1] == '\n')
        bytes--;
    kernel = rp_alloc(bytes + 1);
    memcpy(kernel, text + found.begin, bytes);
    kernel[bytes] = '\0';
    *ret_kernel = kernel;
    *ret_bytes = bytes;
    return 0;
}

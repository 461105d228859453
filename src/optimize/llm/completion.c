#include "optimize/llm/completion.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/utf8.h"
#include "optimize/llm/utf8.h"

static void cleanup_json(json_t **slot)
{
    json_decref(*slot);
}

void rp_completion_free(struct rp_completion *completion)
{
    rp_buf_free(&completion->text);
}

/* Text of a server in a line of ours: no line feeds, no escape sequences for the terminal. */
static void one_line(const char *text, size_t bytes, char *ret, size_t capacity)
{
    rp_autobuf clean = {0};
    size_t room = capacity - 1;

    if (bytes > 4 * capacity)
        bytes = 4 * capacity;
    rp_utf8_add(&clean, text, bytes);
    for (size_t i = 0; i < clean.len; i++)
        if (clean.data[i] == '\n' || clean.data[i] == '\t')
            clean.data[i] = ' ';
    if (room > clean.len)
        room = clean.len;
    while (room > 0 && room < clean.len && ((unsigned char)clean.data[room] & 0xC0) == 0x80)
        room--; /* not in the middle of a character */
    memcpy(ret, rp_buf_text(&clean), room);
    ret[room] = '\0';
}

/* {"error": {"message": ...}}, {"error": "..."} and {"message": ...} are all in use. */
static const json_t *error_message(const json_t *root)
{
    const json_t *error = json_object_get(root, "error");
    const json_t *inner = json_object_get(error, "message");

    if (json_is_string(inner))
        return inner;
    if (json_is_string(error))
        return error;
    return error && !json_is_null(error) ? error : NULL;
}

void rp_completion_error_text(const char *body, size_t bytes, char *ret, size_t capacity)
{
    rp_cleanup(cleanup_json) json_t *root = json_loadb(body, bytes, JSON_ALLOW_NUL, NULL);
    const json_t *message = error_message(root);

    if (!message)
        message = json_object_get(root, "message");
    if (json_is_string(message))
        one_line(json_string_value(message), json_string_length(message), ret, capacity);
    else
        one_line(body, root ? 0 : bytes, ret, capacity);
}

static int server_failed(const json_t *message, struct rp_err *err)
{
    char text[200] = "";

    if (json_is_string(message))
        one_line(json_string_value(message), json_string_length(message), text, sizeof text);
    return rp_fail(err, RP_ENVIRONMENT, "the model server reports an error%s%s", *text ? ": " : "",
                   text);
}

static void take_usage(struct rp_completion *c, const json_t *root)
{
    const json_t *usage = json_object_get(root, "usage");
    json_int_t prompt = json_integer_value(json_object_get(usage, "prompt_tokens"));
    json_int_t answer = json_integer_value(json_object_get(usage, "completion_tokens"));

    if (prompt < 0 || answer < 0 || (prompt == 0 && answer == 0))
        return;
    c->usage_known = true;
    c->prompt_tokens = (uint64_t)prompt;
    c->answer_tokens = (uint64_t)answer;
}

static void take_finish(struct rp_completion *c, const json_t *choice)
{
    const char *word = json_string_value(json_object_get(choice, "finish_reason"));

    if (!word)
        return;
    one_line(word, strlen(word), c->finish_word, sizeof c->finish_word);
    if (strcmp(word, "stop") == 0)
        c->finish = RP_FINISH_STOP;
    else if (strcmp(word, "length") == 0)
        c->finish = RP_FINISH_LENGTH;
    else
        c->finish = RP_FINISH_OTHER;
}

static int take_text(struct rp_completion *c, const json_t *message, struct rp_err *err)
{
    const json_t *content = json_object_get(message, "content");
    size_t bytes = json_string_length(content);

    if (json_is_string(json_object_get(message, "refusal")))
        c->refused = true;
    if (!content || json_is_null(content))
        return 0;
    if (!json_is_string(content))
        return rp_fail(err, RP_VERDICT, "the content of the model's message is not a text");
    if (c->text.len + bytes > RP_COMPLETION_MAX_TEXT_BYTES)
        return rp_fail(err, RP_VERDICT, "the answer is larger than %d bytes",
                       RP_COMPLETION_MAX_TEXT_BYTES);
    rp_buf_add(&c->text, json_string_value(content), bytes);
    return c->text.failed ? rp_fail(err, RP_ENVIRONMENT, "out of memory") : 0;
}

/* jansson's own text quotes the answer: say where, not what. */
static int not_json(const char *text, size_t bytes, const json_error_t *where, struct rp_err *err)
{
    for (size_t at = 0, length; at < bytes; at += length)
        if ((length = rp_utf8_length(text + at, bytes - at)) == 0)
            return rp_fail(err, RP_VERDICT, "the model server's answer is not UTF-8 at byte %zu",
                           at);
    return rp_fail(err, RP_VERDICT, "the model server's answer is not JSON at byte %d",
                   where->position);
}

/* Only the first choice was asked for; the last event of a stream has none, only the usage. */
static int take(struct rp_completion *c, const char *json, size_t bytes, const char *member,
                bool *ret_message, struct rp_err *err)
{
    json_error_t where;
    rp_cleanup(cleanup_json) json_t *root = json_loadb(json, bytes, JSON_ALLOW_NUL, &where);
    const json_t *choices, *choice;
    size_t i;

    *ret_message = false;
    if (!root)
        return not_json(json, bytes, &where, err);
    if (error_message(root))
        return server_failed(error_message(root), err);
    choices = json_object_get(root, "choices");
    if (!json_is_array(choices) && !json_object_get(root, "usage"))
        return rp_fail(err, RP_ENVIRONMENT,
                       "the model server's answer is not a chat completion; is the address right "
                       "(it mostly ends in /v1)?");
    take_usage(c, root);
    json_array_foreach(choices, i, choice)
    {
        if (json_integer_value(json_object_get(choice, "index")) != 0)
            continue;
        take_finish(c, choice);
        *ret_message = json_is_object(json_object_get(choice, member));
        return take_text(c, json_object_get(choice, member), err);
    }
    return 0;
}

int rp_completion_whole(struct rp_completion *c, const char *json, size_t bytes, struct rp_err *err)
{
    bool message;

    if (take(c, json, bytes, "message", &message, err) < 0)
        return -(int)err->code;
    if (!message)
        return rp_fail(err, RP_VERDICT, "the model server's answer holds no message");
    c->done = true;
    return 0;
}

int rp_completion_event(void *context, const char *data, size_t bytes, struct rp_err *err)
{
    struct rp_completion *c = context;
    bool message;

    if (bytes == 6 && memcmp(data, "[DONE]", 6) == 0) {
        c->done = true;
        return 0;
    }
    if (c->done || bytes == 0)
        return 0; /* what comes behind the end is no part of the answer */
    return take(c, data, bytes, "delta", &message, err);
}

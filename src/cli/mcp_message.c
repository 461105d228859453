/* Messages of JSON-RPC 2.0 as the protocol has them, and when a client hears of a call that is not
 * answered yet. */
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/utf8.h"
#include "cli/mcp.h"

json_t *rp_mcp_text(const char *text, size_t bytes)
{
    json_t *plain = json_stringn(text, bytes);
    rp_autobuf clean = {0};

    if (plain && !memchr(text, '\0', bytes))
        return plain;
    json_decref(plain);
    for (size_t i = 0, length; i < bytes; i += length ? length : 1) {
        length = text[i] ? rp_utf8_length(text + i, bytes - i) : 0;
        rp_buf_add(&clean, length ? text + i : "?", length ? length : 1);
    }
    return json_stringn(rp_buf_text(&clean), clean.len);
}

long long rp_mcp_now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000 + 1;
}

static bool is_id(const json_t *id)
{
    return json_is_string(id) || json_is_integer(id);
}

static int message_refuse(struct rp_err *err, enum rp_mcp_code code, const char *text)
{
    rp_fail(err, RP_BAD_INPUT, "%s", text);
    return code;
}

static int take_members(struct rp_mcp_message *m, struct rp_err *err)
{
    const char *version = json_string_value(json_object_get(m->root, "jsonrpc"));
    json_t *id = json_object_get(m->root, "id");
    json_t *method = json_object_get(m->root, "method");

    if (is_id(id))
        m->id = id;
    if (!version || strcmp(version, "2.0") != 0)
        return message_refuse(err, RP_MCP_INVALID_REQUEST, "jsonrpc is not \"2.0\"");
    if (!method && (json_object_get(m->root, "result") || json_object_get(m->root, "error"))) {
        m->kind = RP_MCP_RESPONSE;
        return 0;
    }
    if (!json_is_string(method))
        return message_refuse(err, RP_MCP_INVALID_REQUEST, "method is not a string");
    if (id && !m->id)
        return message_refuse(err, RP_MCP_INVALID_REQUEST, "id is neither a string nor an integer");
    m->kind = id ? RP_MCP_REQUEST : RP_MCP_NOTIFICATION;
    m->method = json_string_value(method);
    m->params = json_object_get(m->root, "params");
    if (json_is_null(m->params)) /* as some clients write what they do not give */
        m->params = NULL;
    if (m->params && !json_is_object(m->params))
        return message_refuse(err, RP_MCP_BAD_PARAMS, "params is not an object");
    return 0;
}

/* A client waits for an answer with its id, which can be read of some messages that are refused as
 * a whole: numbers that are too large, a key that is there twice. */
static void find_id(struct rp_mcp_message *m, const char *line, size_t bytes)
{
    const double most = 9007199254740992; /* Beyond it integers are not told apart. */
    json_error_t where;
    json_t *id;

    m->root = json_loadb(line, bytes, JSON_DECODE_INT_AS_REAL | JSON_ALLOW_NUL, &where);
    id = json_object_get(m->root, "id");
    if (json_is_real(id) && fabs(json_real_value(id)) <= most &&
        floor(json_real_value(id)) == json_real_value(id)) {
        json_object_set_new(m->root, "id", json_integer((json_int_t)json_real_value(id)));
        id = json_object_get(m->root, "id");
    }
    if (is_id(id))
        m->id = id;
}

static const char *why_no_json(const json_error_t *where)
{
    return json_error_code(where) == json_error_null_character
               ? "a text has \\u0000, which no argument may have"
               : where->text;
}

int rp_mcp_message_parse(const char *line, size_t bytes, struct rp_mcp_message *ret,
                         struct rp_err *err)
{
    struct rp_mcp_message m = {0};
    json_error_t where;
    int code;

    m.root = json_loadb(line, bytes, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &where);
    if (!m.root) {
        rp_fail(err, RP_BAD_INPUT, "not JSON: %s", why_no_json(&where));
        code = RP_MCP_PARSE;
        find_id(&m, line, bytes);
    } else if (json_is_array(m.root)) {
        code = message_refuse(err, RP_MCP_INVALID_REQUEST, "batches are not part of the protocol");
    } else if (!json_is_object(m.root)) {
        code = message_refuse(err, RP_MCP_INVALID_REQUEST, "a message is an object");
    } else {
        code = take_members(&m, err);
    }
    *ret = m;
    return code;
}

void rp_mcp_message_free(struct rp_mcp_message *message)
{
    json_decref(message->root);
    *message = (struct rp_mcp_message){0};
}

json_t *rp_mcp_result(json_t *id, json_t *result)
{
    return json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", id, "result", result);
}

json_t *rp_mcp_error(json_t *id, int code, const char *text, json_t *data)
{
    json_t *error =
        json_pack("{s:i, s:o}", "code", code, "message", rp_mcp_text(text, strlen(text)));

    if (data && json_object_set_new(error, "data", data) < 0)
        return NULL;
    return json_pack("{s:s, s:o, s:o}", "jsonrpc", "2.0", "id", id ? json_incref(id) : json_null(),
                     "error", error);
}

static json_t *mcp_progress(json_t *token, json_int_t progress, const char *text, size_t bytes)
{
    return json_pack("{s:s, s:s, s:{s:O, s:I, s:o}}", "jsonrpc", "2.0", "method",
                     "notifications/progress", "params", "progressToken", token, "progress",
                     progress, "message", rp_mcp_text(text, bytes));
}

json_t *rp_mcp_notifier_notify(struct rp_mcp_notifier *news, const char *text, size_t bytes,
                               long long now_ms)
{
    if (!news->token)
        return NULL;
    news->told_ms = now_ms;
    news->fresh = false;
    return mcp_progress(news->token, ++news->steps, text, bytes);
}

/* Finds the last line that is not empty. Lines that a terminal would overwrite end in \r. */
static const char *last_line(const char *bytes, size_t count, size_t *ret_count)
{
    size_t begin;

    while (count && strchr("\r\n ", bytes[count - 1]))
        count--;
    for (begin = count; begin && bytes[begin - 1] != '\n' && bytes[begin - 1] != '\r';)
        begin--;
    *ret_count = count - begin;
    if (*ret_count > RP_MCP_MOST_PROGRESS_BYTES)
        *ret_count = RP_MCP_MOST_PROGRESS_BYTES;
    return bytes + begin;
}

static long long due_ms(const struct rp_mcp_notifier *news)
{
    return news->told_ms + (news->fresh ? RP_MCP_LEAST_MS : RP_MCP_SILENCE_MS);
}

json_t *rp_mcp_notifier_due(struct rp_mcp_notifier *news, const char *said, size_t bytes,
                            long long now_ms)
{
    rp_autobuf text = {0};
    size_t line_bytes = 0;
    const char *line;

    if (!news->token || now_ms < due_ms(news))
        return NULL;
    line = last_line(said, bytes, &line_bytes);
    if (news->fresh && line_bytes)
        return rp_mcp_notifier_notify(news, line, line_bytes, now_ms);
    if (news->fresh) { /* There was only an empty line. */
        news->fresh = false;
        return rp_mcp_notifier_due(news, said, bytes, now_ms);
    }
    if (news->begun_ms)
        rp_buf_printf(&text, "it still runs, after %lld s", (now_ms - news->begun_ms) / 1000);
    else
        rp_buf_puts(&text, "it still waits for the calls before");
    return rp_mcp_notifier_notify(news, rp_buf_text(&text), text.len, now_ms);
}

int rp_mcp_notifier_wait_ms(const struct rp_mcp_notifier *news, long long now_ms)
{
    const long long left_ms = due_ms(news) - now_ms;

    if (!news->token)
        return -1;
    return left_ms > 0 ? (int)left_ms : 0;
}

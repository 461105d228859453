/* Messages of the Model Context Protocol, and when a client hears of a call. */
#include <string.h>

#include "base/err.h"
#include "cli/mcp.h"
#include "unit/cmocka_all.h"

/** JSON-RPC as it comes, and as it goes. */

static int parse(const char *line, struct rp_mcp_message *m)
{
    struct rp_err err = RP_ERR_INIT;
    const int code = rp_mcp_message_parse(line, strlen(line), m, &err);

    assert_true(!code == !err.text[0]);
    return code;
}

static void what_is_no_message(void **state)
{
    static const struct {
        const char *line;
        int code;
        bool has_id;
    } rows[] = {
        {"{", RP_MCP_PARSE, false},
        {"{\"a\":1,\"a\":2}", RP_MCP_PARSE, false},
        {"\"\xff\"", RP_MCP_PARSE, false},
        {"{\"jsonrpc\":\"2.0\",\"id\":7,\"params\":{\"a\":\"\\u0000\"}}", RP_MCP_PARSE, true},
        {"{\"jsonrpc\":\"2.0\",\"id\":\"b\",\"params\":{\"a\":1,\"a\":2}}", RP_MCP_PARSE, true},
        {"{\"jsonrpc\":\"2.0\",\"id\":-7,\"params\":{\"a\":99999999999999999999}}", RP_MCP_PARSE,
         true},
        {"{\"jsonrpc\":\"2.0\",\"id\":99999999999999999999}", RP_MCP_PARSE, false},
        {"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"id\":1.5}", RP_MCP_PARSE, false},
        {"[]", RP_MCP_INVALID_REQUEST, false},
        {"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", RP_MCP_INVALID_REQUEST, false},
        {"7", RP_MCP_INVALID_REQUEST, false},
        {"{\"id\":1,\"method\":\"ping\"}", RP_MCP_INVALID_REQUEST, true},
        {"{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}", RP_MCP_INVALID_REQUEST, true},
        {"{\"jsonrpc\":\"2.0\",\"id\":1}", RP_MCP_INVALID_REQUEST, true},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":3}", RP_MCP_INVALID_REQUEST, true},
        {"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"x\"}", RP_MCP_INVALID_REQUEST, false},
        {"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"x\"}", RP_MCP_INVALID_REQUEST, false},
        {"{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"x\",\"params\":[]}", RP_MCP_BAD_PARAMS,
         true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rp_mcp_message m;

        assert_int_equal(parse(rows[i].line, &m), rows[i].code);
        assert_int_equal(m.id != NULL, rows[i].has_id);
        rp_mcp_message_free(&m);
    }
}

static void kinds_of_messages(void **state)
{
    static const struct {
        const char *line;
        enum rp_mcp_kind kind;
    } rows[] = {
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":{}}", RP_MCP_REQUEST},
        {"{\"jsonrpc\":\"2.0\",\"id\":\"\",\"method\":\"x\"}", RP_MCP_REQUEST},
        {"{\"jsonrpc\":\"2.0\",\"method\":\"x\"}", RP_MCP_NOTIFICATION},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", RP_MCP_RESPONSE},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{}}", RP_MCP_RESPONSE},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rp_mcp_message m;

        assert_int_equal(parse(rows[i].line, &m), 0);
        assert_int_equal(m.kind, rows[i].kind);
        rp_mcp_message_free(&m);
    }
}

/* Nobody waits for an answer to these, however wrong they are. */
static void wrong_notifications(void **state)
{
    struct rp_mcp_message m;

    (void)state;
    assert_int_equal(parse("{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":[]}", &m),
                     RP_MCP_BAD_PARAMS);
    assert_int_equal(m.kind, RP_MCP_NOTIFICATION);
    rp_mcp_message_free(&m);
    assert_int_equal(parse("{\"method\":\"x\"}", &m), RP_MCP_INVALID_REQUEST);
    assert_int_equal(m.kind, RP_MCP_REQUEST); /* not known to be one */
    rp_mcp_message_free(&m);
}

static void texts_of_any_bytes(void **state)
{
    static const struct {
        const char *bytes;
        size_t count;
        const char *wanted;
    } rows[] = {
        {"a\xc3\xa4", 3, "a\xc3\xa4"}, {"a\xff\xc3", 3, "a??"}, {"a\0b", 3, "a?b"}, {"", 0, ""}};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_t *text = rp_mcp_text(rows[i].bytes, rows[i].count);

        assert_string_equal(json_string_value(text), rows[i].wanted);
        json_decref(text);
    }
}

static void errors_without_an_id(void **state)
{
    json_t *error = rp_mcp_error(NULL, RP_MCP_PARSE, "not JSON", NULL);

    (void)state;
    assert_true(json_is_null(json_object_get(error, "id")));
    assert_int_equal(json_integer_value(json_object_get(json_object_get(error, "error"), "code")),
                     -32700);
    json_decref(error);
}

/** When a client hears of a call, by times that are said here. */

/* What is told at this time is that text (NULL: nothing), and steps go up by one. */
static void check_due(struct rp_mcp_notifier *news, const char *said, long long now_ms,
                      const char *wanted)
{
    const json_int_t before = news->steps;
    json_t *told = rp_mcp_notifier_due(news, said, strlen(said), now_ms);
    json_t *params = json_object_get(told, "params");

    if (wanted) {
        assert_string_equal(json_string_value(json_object_get(params, "message")), wanted);
        assert_int_equal(json_integer_value(json_object_get(params, "progress")), before + 1);
    } else {
        assert_null(told);
    }
    json_decref(told);
}

static void what_is_said_is_told_seldom(void **state)
{
    struct rp_mcp_notifier news = {.token = json_string("t"), .begun_ms = 1, .told_ms = 1};

    (void)state;
    news.fresh = true;
    check_due(&news, "one\ntwo\n", RP_MCP_LEAST_MS, NULL);
    assert_int_equal(rp_mcp_notifier_wait_ms(&news, RP_MCP_LEAST_MS), 1);
    check_due(&news, "one\ntwo\nthree\rfour\r", RP_MCP_LEAST_MS + 1, "four");
    check_due(&news, "one\ntwo\nthree\rfour\r", 3 * RP_MCP_LEAST_MS, NULL);
    news.fresh = true;
    check_due(&news, "\n \n", 3 * RP_MCP_LEAST_MS, NULL); /* nothing that could be read */
    assert_false(news.fresh);
    json_decref(news.token);
}

static void silence_is_broken(void **state)
{
    struct rp_mcp_notifier news = {.token = json_integer(7), .begun_ms = 1001, .told_ms = 1001};
    struct rp_mcp_notifier waits = {.token = json_integer(8), .told_ms = 1001};

    (void)state;
    assert_int_equal(rp_mcp_notifier_wait_ms(&news, 1001), RP_MCP_SILENCE_MS);
    check_due(&news, "said before\n", 1000 + RP_MCP_SILENCE_MS, NULL);
    check_due(&news, "said before\n", 1001 + RP_MCP_SILENCE_MS, "it still runs, after 10 s");
    check_due(&news, "said before\n", 1001 + RP_MCP_SILENCE_MS, NULL);
    check_due(&waits, "", 1001 + RP_MCP_SILENCE_MS, "it still waits for the calls before");
    json_decref(news.token);
    json_decref(waits.token);
}

static void who_has_not_asked_hears_nothing(void **state)
{
    struct rp_mcp_notifier news = {.begun_ms = 1, .told_ms = 1, .fresh = true};

    (void)state;
    check_due(&news, "x\n", 1000000, NULL);
    assert_int_equal(rp_mcp_notifier_wait_ms(&news, 1000000), -1);
    assert_null(rp_mcp_notifier_notify(&news, "x", 1, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_no_message),   cmocka_unit_test(kinds_of_messages),
        cmocka_unit_test(wrong_notifications),  cmocka_unit_test(texts_of_any_bytes),
        cmocka_unit_test(errors_without_an_id), cmocka_unit_test(what_is_said_is_told_seldom),
        cmocka_unit_test(silence_is_broken),    cmocka_unit_test(who_has_not_asked_hears_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

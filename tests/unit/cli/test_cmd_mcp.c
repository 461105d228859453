/* The server of the Model Context Protocol: its messages, calls and notifications. */
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "cli/mcp.h"
#include "unit/cmocka_all.h"

#include "cli/cmd_mcp.c"

/** JSON-RPC as it comes, and as it goes. */

static int parse(const char *line, struct rp_mcp_message *m)
{
    struct rp_err err = RP_ERR_INIT;
    const int code = mcp_message_parse(line, strlen(line), m, &err);

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
        mcp_message_free(&m);
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
        mcp_message_free(&m);
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
    mcp_message_free(&m);
    assert_int_equal(parse("{\"method\":\"x\"}", &m), RP_MCP_INVALID_REQUEST);
    assert_int_equal(m.kind, RP_MCP_REQUEST); /* not known to be one */
    mcp_message_free(&m);
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
        json_t *text = mcp_text(rows[i].bytes, rows[i].count);

        assert_string_equal(json_string_value(text), rows[i].wanted);
        json_decref(text);
    }
}

static void errors_without_an_id(void **state)
{
    json_t *error = mcp_error(NULL, RP_MCP_PARSE, "not JSON", NULL);

    (void)state;
    assert_true(json_is_null(json_object_get(error, "id")));
    assert_int_equal(json_integer_value(json_object_get(json_object_get(error, "error"), "code")),
                     -32700);
    json_decref(error);
}

/** What a command's output and end become. The command is a shell here. */

/* Runs a script to its end. @return the result, which is the caller's */
static json_t *run_script(const char *tool, const char *script)
{
    struct rp_mcp_call *call = calloc(1, sizeof *call);
    struct rp_err err = RP_ERR_INIT;
    json_t *result;
    int status;

    assert_non_null(call);
    call->tool = rp_mcp_tool_find(tool);
    call->command.argv = calloc(4, sizeof(char *));
    call->command.words = 3;
    call->command.argv[0] = strdup("sh");
    call->command.argv[1] = strdup("-c");
    call->command.argv[2] = strdup(script);
    assert_int_equal(mcp_call_start(call, "/bin/sh", &err), 0);
    while (!mcp_child_has_ended(&call->child)) {
        struct pollfd fds[] = {{.fd = call->child.out, .events = POLLIN},
                               {.fd = call->child.err, .events = POLLIN},
                               {.fd = call->child.pidfd, .events = POLLIN}};

        poll(fds, 3, call->child.pidfd < 0 ? 10 : -1);
        mcp_call_pump(call);
    }
    status = mcp_child_reap(&call->child);
    while (call->child.out >= 0 || call->child.err >= 0)
        mcp_call_pump(call);
    result = mcp_call_result(call, status);
    mcp_call_free(call);
    assert_non_null(result);
    return result;
}

static const char *block(const json_t *result, size_t at)
{
    const json_t *content = json_object_get(result, "content");

    return json_string_value(json_object_get(json_array_get(content, at), "text"));
}

static void ends_of_commands(void **state)
{
    static const struct {
        const char *tool, *script;
        int status;
        bool failed, structured;
    } rows[] = {
        {"analyze", "echo '{\"a\": 0.1}'", 0, false, true},
        {"analyze", "echo '{}'; exit 1", 1, false, true},
        {"analyze", "echo '{}'; exit 3", 3, true, false},
        {"analyze", "echo text", 0, false, false},
        {"analyze", "printf '\\377'", 0, false, false},
        {"analyze", "echo '{}'; exit 6", 6, true, false},
        {"replay", "echo '{}'; exit 6", 6, false, true}, /* undecided: an answer */
        {"doctor", "echo '{}'; exit 4", 4, false, true}, /* what is missing: likewise */
        {"doctor", "exit 4", 4, true, false},
        {"doctor", "echo text", 0, true, false}, /* which has promised an object */
        {"analyze", "kill -9 $$", 137, true, false},
        {"analyze", "true", 0, false, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_t *result = run_script(rows[i].tool, rows[i].script);
        const json_t *meta = json_object_get(result, "_meta");

        assert_int_equal(json_integer_value(json_object_get(meta, "rocm-perf/exitStatus")),
                         rows[i].status);
        assert_int_equal(json_is_true(json_object_get(result, "isError")), rows[i].failed);
        assert_int_equal(json_object_get(result, "structuredContent") != NULL, rows[i].structured);
        assert_non_null(block(result, 0));
        json_decref(result);
    }
}

static void what_it_said(void **state)
{
    json_t *result = run_script("analyze", "echo out; echo why >&2; exit 3");

    (void)state;
    assert_string_equal(block(result, 0), "out\n");
    assert_string_equal(block(result, 1), "exit status 3: input cannot be used\nwhy\n");
    json_decref(result);
}

/** The result comes before its evidence, where there is one. */
static void the_verdict_comes_first(void **state)
{
    static const struct {
        const char *tool, *script, *first;
    } rows[] = {
        {"analyze", "echo '{\"program\": {\"text\": \"`k` is compute bound.\"}}'",
         "`k` is compute bound.\n"},
        {"analyze", "echo '{\"program\": {\"text\": null}}'", "{\"program\": {\"text\": null}}\n"},
        {"analyze", "echo '{}'", "{}\n"},
        {"compare",
         "echo '{\"baseline\": {\"path\": \"a\"}, \"comparisons\": [{\"after\": {\"path\": \"b\", "
         "\"measurement\": \"dispatches\"}, \"whole\": {\"different_output\": null, \"time\": "
         "{\"verdict\": \"faster\", \"ratio\": 0.5, \"low\": 0.5, \"high\": 0.5, \"reason\": "
         "null}}}, {\"after\": {\"path\": \"c\", \"measurement\": \"dispatches\"}, \"whole\": "
         "{\"different_output\": null, \"time\": {\"verdict\": \"undecided\", \"ratio\": 1.1, "
         "\"low\": null, \"high\": null, \"reason\": \"too few runs\"}}}]}'",
         "b is 2.0x faster than a.\nUndecided whether c is faster or slower than a; too few "
         "runs.\n"},
        {"compare",
         "echo '{\"baseline\": {\"path\": \"a\"}, \"comparisons\": [{\"after\": {\"path\": \"b\", "
         "\"measurement\": \"dispatches\"}, \"whole\": {\"time\": {\"verdict\": \"equal\", "
         "\"ratio\": 1, \"low\": 1, \"high\": 1, \"reason\": null}}}, {\"after\": {\"path\": "
         "\"c\", "
         "\"measurement\": \"wallclock\"}, \"whole\": {\"time\": {\"verdict\": \"equal\", "
         "\"ratio\": 1, "
         "\"low\": 1, \"high\": 1, \"reason\": null}}}]}'",
         "No difference in the time of kernels: b is as fast as a.\nNo difference: c is as fast as "
         "a.\n"},
        {"compare", "echo '{\"comparisons\": [1, {\"after\": 2}]}'",
         "{\"comparisons\": [1, {\"after\": 2}]}\n"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_t *result = run_script(rows[i].tool, rows[i].script);

        assert_string_equal(block(result, 0), rows[i].first);
        assert_non_null(json_object_get(result, "structuredContent"));
        json_decref(result);
    }
}

/** A profile's folder has the verdict, if it was asked for and the program's words do not only look
 * like it. */
static void the_verdict_of_a_profile(void **state)
{
    static char folder[] = "/tmp/verdict-XXXXXX";
    const struct rp_mcp_tool *tool = rp_mcp_tool_find("profile");
    rp_autofree char *file = NULL;
    rp_autofree char *output = NULL;
    rp_autobuf asked = {0}, not_asked = {0};
    FILE *to;

    (void)state;
    assert_non_null(mkdtemp(folder));
    file = rp_path_join(folder, "analysis.json");
    output = rp_path_join("--output=", folder + 1);
    to = fopen(file, "w");
    assert_non_null(to);
    fputs("{\"program\": {\"text\": \"`k` is compute bound.\"}}", to);
    fclose(to);
    {
        const char *why[] = {"rocm-perf", "profile", "--why", output, "--", "a", NULL};
        const char *of_program[] = {"rocm-perf", "profile", output, "--", "a", "--why", NULL};

        rp_mcp_put_verdict(tool, &(struct rp_mcp_command){.argv = (char **)why, .words = 6}, NULL,
                           &asked);
        rp_mcp_put_verdict(tool, &(struct rp_mcp_command){.argv = (char **)of_program, .words = 6},
                           NULL, &not_asked);
    }
    assert_string_equal(rp_buf_text(&asked), "`k` is compute bound.\n");
    assert_string_equal(rp_buf_text(&not_asked), "");
    unlink(file);
    rmdir(folder);
}

static void more_than_is_passed_on(void **state)
{
    json_t *result =
        run_script("analyze", "head -c 5000000 /dev/zero | tr '\\0' x; "
                              "head -c 100000 /dev/zero | tr '\\0' y >&2; echo end >&2");
    const char *said = block(result, 1);

    (void)state;
    assert_int_equal(strlen(block(result, 0)), RP_MCP_MOST_RESULT_BYTES);
    assert_true(json_is_true(json_object_get(result, "isError")));
    assert_non_null(strstr(said, "the output has 5000000 bytes"));
    assert_non_null(strstr(said, "yend\n"));
    assert_true(strlen(said) < RP_MCP_MOST_SAID_BYTES + 500);
    json_decref(result);
}

/** When a client hears of a call, by times that are said here. */

/* What is told at this time is that text (NULL: nothing), and steps go up by one. */
static void check_due(struct rp_mcp_notifier *news, const char *said, long long now_ms,
                      const char *wanted)
{
    const json_int_t before = news->steps;
    json_t *told = mcp_notifier_due(news, said, strlen(said), now_ms);
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
    assert_int_equal(mcp_notifier_wait_ms(&news, RP_MCP_LEAST_MS), 1);
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
    assert_int_equal(mcp_notifier_wait_ms(&news, 1001), RP_MCP_SILENCE_MS);
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
    assert_int_equal(mcp_notifier_wait_ms(&news, 1000000), -1);
    assert_null(mcp_notifier_notify(&news, "x", 1, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_no_message),
        cmocka_unit_test(kinds_of_messages),
        cmocka_unit_test(wrong_notifications),
        cmocka_unit_test(texts_of_any_bytes),
        cmocka_unit_test(errors_without_an_id),
        cmocka_unit_test(ends_of_commands),
        cmocka_unit_test(what_it_said),
        cmocka_unit_test(the_verdict_comes_first),
        cmocka_unit_test(the_verdict_of_a_profile),
        cmocka_unit_test(more_than_is_passed_on),
        cmocka_unit_test(what_is_said_is_told_seldom),
        cmocka_unit_test(silence_is_broken),
        cmocka_unit_test(who_has_not_asked_hears_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

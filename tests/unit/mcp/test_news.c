/** When a client hears of a call, by times that are said here. */
#include "cli/mcp.h"

#include <string.h>

#include "unit/cmocka_all.h"

/* What is told at this time is that text (NULL: nothing), and steps go up by one. */
static void due(struct rp_mcp_notifier *news, const char *said, long long now_ms,
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
    due(&news, "one\ntwo\n", RP_MCP_LEAST_MS, NULL);
    assert_int_equal(rp_mcp_notifier_wait_ms(&news, RP_MCP_LEAST_MS), 1);
    due(&news, "one\ntwo\nthree\rfour\r", RP_MCP_LEAST_MS + 1, "four");
    due(&news, "one\ntwo\nthree\rfour\r", 3 * RP_MCP_LEAST_MS, NULL);
    news.fresh = true;
    due(&news, "\n \n", 3 * RP_MCP_LEAST_MS, NULL); /* nothing that could be read */
    assert_false(news.fresh);
    json_decref(news.token);
}

static void silence_is_broken(void **state)
{
    struct rp_mcp_notifier news = {.token = json_integer(7), .begun_ms = 1001, .told_ms = 1001};
    struct rp_mcp_notifier waits = {.token = json_integer(8), .told_ms = 1001};

    (void)state;
    assert_int_equal(rp_mcp_notifier_wait_ms(&news, 1001), RP_MCP_SILENCE_MS);
    due(&news, "said before\n", 1000 + RP_MCP_SILENCE_MS, NULL);
    due(&news, "said before\n", 1001 + RP_MCP_SILENCE_MS, "it still runs, after 10 s");
    due(&news, "said before\n", 1001 + RP_MCP_SILENCE_MS, NULL);
    due(&waits, "", 1001 + RP_MCP_SILENCE_MS, "it still waits for the calls before");
    json_decref(news.token);
    json_decref(waits.token);
}

static void who_has_not_asked_hears_nothing(void **state)
{
    struct rp_mcp_notifier news = {.begun_ms = 1, .told_ms = 1, .fresh = true};

    (void)state;
    due(&news, "x\n", 1000000, NULL);
    assert_int_equal(rp_mcp_notifier_wait_ms(&news, 1000000), -1);
    assert_null(rp_mcp_notifier_notify(&news, "x", 1, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_said_is_told_seldom),
        cmocka_unit_test(silence_is_broken),
        cmocka_unit_test(who_has_not_asked_hears_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

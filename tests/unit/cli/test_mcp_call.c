/* Calls of tools: what becomes of a command's output and end. */
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "cli/mcp.h"
#include "unit/cmocka_all.h"

/** What a command's output and end become. The command is a shell here. */

/* Runs a script to its end. @param results NULL: the text has all
 * @return the result, which is the caller's */
static json_t *run_kept(const char *tool, const char *script, struct rp_mcp_results *results)
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
    assert_int_equal(rp_mcp_call_start(call, "/bin/sh", &err), 0);
    while (!rp_mcp_child_has_ended(&call->child)) {
        struct pollfd fds[] = {{.fd = call->child.out, .events = POLLIN},
                               {.fd = call->child.err, .events = POLLIN},
                               {.fd = call->child.pidfd, .events = POLLIN}};

        poll(fds, 3, call->child.pidfd < 0 ? 10 : -1);
        rp_mcp_call_pump(call);
    }
    status = rp_mcp_child_reap(&call->child);
    while (call->child.out >= 0 || call->child.err >= 0)
        rp_mcp_call_pump(call);
    result = rp_mcp_call_result(call, status, results);
    rp_mcp_call_free(call);
    assert_non_null(result);
    return result;
}

static json_t *run_script(const char *tool, const char *script)
{
    return run_kept(tool, script, NULL);
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

/** The result is told once: its summary, where it can be read, and structuredContent. */
static void a_result_is_told_once(void **state)
{
    struct rp_mcp_results results = {0};
    json_t *result =
        run_kept("doctor", "echo '{\"ready\": false, \"problem\": \"no ROCm\"}'; exit 4", &results);

    (void)state;
    assert_string_equal(block(result, 0),
                        "not ready: no ROCm\nDetails: resource rocm-perf://calls/1\n");
    assert_non_null(json_object_get(result, "structuredContent"));
    json_decref(result);
    result = run_kept("analyze", "echo text", &results); /* which stands nowhere else */
    assert_string_equal(block(result, 0), "text\n");
    json_decref(result);
    result = run_kept("analyze", "echo '{}'; exit 3", &results);
    assert_string_equal(block(result, 0), "{}\n");
    assert_int_equal(results.count, 1);
    json_decref(result);
    rp_mcp_results_free(&results);
}

static void a_long_text_is_told_in_pages(void **state)
{
    struct rp_mcp_results results = {0};
    json_t *result = run_kept("analyze", "yes 123456789 | head -n 10000", &results);

    (void)state;
    assert_int_equal(strlen(block(result, 0)), RP_MCP_PAGE_BYTES / 10 * 10);
    assert_string_equal(block(result, 1),
                        "Details: resource rocm-perf://calls/1 (4 pages; the second "
                        "is rocm-perf://calls/1?page=2)\n");
    json_decref(result);
    rp_mcp_results_free(&results);
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

        rp_mcp_put_summary(tool, &(struct rp_mcp_command){.argv = (char **)why, .words = 6}, NULL,
                           &asked);
        rp_mcp_put_summary(tool, &(struct rp_mcp_command){.argv = (char **)of_program, .words = 6},
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_of_commands),
        cmocka_unit_test(what_it_said),
        cmocka_unit_test(the_verdict_comes_first),
        cmocka_unit_test(a_result_is_told_once),
        cmocka_unit_test(a_long_text_is_told_in_pages),
        cmocka_unit_test(the_verdict_of_a_profile),
        cmocka_unit_test(more_than_is_passed_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/**
 * @file fuzz_mcp.c
 * @brief Any bytes as a message of a client: refused with a reason, or a command whose values stay
 * values; as a URI of a resource: none, or one that is there; as a path: outside of the workspace,
 * or in it; as a result: summed up in a few lines.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "cli/mcp.h"
#include "fuzz/must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Before "--" there are options and words of ours only. */
static void check(const struct rp_mcp_tool *tool, const struct rp_mcp_command *command)
{
    size_t i = 2;

    must(command->argv[0] && strcmp(command->argv[0], "rocm-perf") == 0);
    must(command->argv[1] != NULL);
    i += tool->command == RP_COMMAND_replay || tool->command == RP_COMMAND_history; /* the action */
    for (; command->argv[i] && strcmp(command->argv[i], "--") != 0; i++)
        must(strncmp(command->argv[i], "--", 2) == 0);
    must(command->argv[i] != NULL);
}

static void check_uri(const char *uri)
{
    static char *roots[] = {(char *)"/none-of-the-fuzzer"};
    static const struct rp_mcp_workspace workspace = {.roots = roots, .count = 1};
    static char long_text[3 * RP_MCP_PAGE_BYTES];
    struct rp_mcp_results results = {
        .kept =
            {{.number = 1, .tool = "doctor", .text = (char *)"{}", .bytes = 2},
             {.number = 2, .tool = "profile", .text = long_text, .bytes = sizeof long_text - 1}},
        .count = 2};
    json_t *contents, *one;
    char *path = rp_mcp_workspace_resolve(&workspace, roots[0], uri);
    size_t i;

    must(!path || strncmp(path, roots[0], strlen(roots[0])) == 0);
    must(!path || !strstr(path, "/../"));
    free(path);
    memset(long_text, 'x', sizeof long_text - 1);
    contents = rp_mcp_resource_read(&results, &workspace, uri);
    must(!contents || strncmp(uri, "rocm-perf://calls/", 18) == 0);
    json_array_foreach(contents, i, one)
        must(json_string_length(json_object_get(one, "text")) <= RP_MCP_PAGE_BYTES);
    json_decref(contents);
}

/* What is made in a workspace is made without one, too, and is the same. */
static void check_paths(const struct rp_mcp_tool *tool, const json_t *arguments)
{
    static char *roots[] = {(char *)"/none-of-the-fuzzer"};
    static const struct rp_mcp_workspace workspace = {.roots = roots, .count = 1};
    struct rp_mcp_command inside, anywhere;
    struct rp_err err = RP_ERR_INIT;

    if (rp_mcp_command_make(tool, arguments, &workspace, &inside, &err) < 0) {
        must(err.code == RP_USAGE && err.text[0]);
        return;
    }
    must(rp_mcp_command_make(tool, arguments, NULL, &anywhere, &err) == 0);
    must(inside.words == anywhere.words && !inside.directory == !anywhere.directory);
    rp_mcp_command_free(&inside);
    rp_mcp_command_free(&anywhere);
}

/* optimize and autotune are left out: their text is made as it is of their own result on disk. */
static void check_summary(const json_t *object)
{
    static const char *const names[] = {"profile", "analyze", "compare", "history",
                                        "replay",  "judge",   "bench",   "doctor"};
    const struct rp_mcp_command command = {0};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct rp_buf text = {0};
        size_t lines = 0;

        rp_mcp_put_summary(rp_mcp_tool_find(names[i]), &command, object, &text);
        for (size_t at = 0; at < text.len; at++)
            lines += text.data[at] == '\n';
        must(lines <= 3);
        rp_buf_free(&text);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rp_mcp_message m;
    struct rp_err err = RP_ERR_INIT;
    const char *name;
    const struct rp_mcp_tool *tool;
    struct rp_mcp_command command;

    char *uri = strndup((const char *)data, size);

    json_decref(rp_mcp_text((const char *)data, size));
    check_uri(uri);
    free(uri);
    if (rp_mcp_message_parse((const char *)data, size, &m, &err) != 0) {
        must(err.text[0]);
        rp_mcp_message_free(&m);
        return 0;
    }
    if (m.params)
        check_summary(m.params);
    if (json_is_string(json_object_get(m.params, "uri")))
        check_uri(json_string_value(json_object_get(m.params, "uri")));
    name = json_string_value(json_object_get(m.params, "name"));
    tool = name ? rp_mcp_tool_find(name) : NULL;
    if (tool && json_is_object(json_object_get(m.params, "arguments"))) {
        check_paths(tool, json_object_get(m.params, "arguments"));
        if (rp_mcp_command_make(tool, json_object_get(m.params, "arguments"), NULL, &command,
                                &err) < 0) {
            must(err.code == RP_USAGE && err.text[0]);
        } else {
            check(tool, &command);
            rp_mcp_command_free(&command);
        }
    }
    rp_mcp_message_free(&m);
    return 0;
}

/**
 * @file fuzz_mcp.c
 * @brief Any bytes as a message of a client: refused with a reason, or a command whose values stay
 * values.
 */
#include <stdint.h>
#include <string.h>

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rp_mcp_message m;
    struct rp_err err = RP_ERR_INIT;
    const char *name;
    const struct rp_mcp_tool *tool;
    struct rp_mcp_command command;

    json_decref(rp_mcp_text((const char *)data, size));
    if (rp_mcp_message_parse((const char *)data, size, &m, &err) != 0) {
        must(err.text[0]);
        rp_mcp_message_free(&m);
        return 0;
    }
    name = json_string_value(json_object_get(m.params, "name"));
    tool = name ? rp_mcp_tool_find(name) : NULL;
    if (tool && json_is_object(json_object_get(m.params, "arguments"))) {
        if (rp_mcp_command_make(tool, json_object_get(m.params, "arguments"), &command, &err) < 0) {
            must(err.code == RP_USAGE && err.text[0]);
        } else {
            check(tool, &command);
            rp_mcp_command_free(&command);
        }
    }
    rp_mcp_message_free(&m);
    return 0;
}

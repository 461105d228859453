#include "mcp/tools.h"

#include <math.h>
#include <string.h>

#include "base/err.h"
#include "mcp/schemas.h"

/* Rows of one tool stand together, and a row without a name ends those of the tool before. */
static const struct rp_mcp_argument rows[] = {
#define RP_MCP_TOOL(id, words, title, schema, read_only, answer, description) {.name = NULL},
#define RP_MCP_ARGUMENT(id, name, kind, needed, option, least, most, choices, description)         \
    {name, RP_MCP_##kind, needed, option, least, most, choices, description},
#include "mcp/tools.def"
#undef RP_MCP_TOOL
#undef RP_MCP_ARGUMENT
    {.name = NULL},
};

static const struct rp_mcp_tool tools[] = {
#define RP_MCP_TOOL(id, words, title, schema, read_only, answer, description)                      \
    {#id, words, title, schema, read_only, answer, description},
#define RP_MCP_ARGUMENT(id, name, kind, needed, option, least, most, choices, description)
#include "mcp/tools.def"
#undef RP_MCP_TOOL
#undef RP_MCP_ARGUMENT
};

enum { TOOLS = sizeof tools / sizeof *tools };

const struct rp_mcp_tool *rp_mcp_tool_find(const char *name)
{
    for (size_t i = 0; i < TOOLS; i++)
        if (strcmp(tools[i].name, name) == 0)
            return &tools[i];
    return NULL;
}

const struct rp_mcp_argument *rp_mcp_tool_arguments(const struct rp_mcp_tool *tool)
{
    const struct rp_mcp_argument *row = rows + 1;

    for (const struct rp_mcp_tool *before = tools; before < tool; before++) {
        while (row->name)
            row++;
        row++;
    }
    return row;
}

static json_t *choices_json(const char *choices)
{
    json_t *array = json_array();

    while (choices && *choices) {
        const size_t bytes = strcspn(choices, " ");

        json_array_append_new(array, json_stringn(choices, bytes));
        choices += bytes + (choices[bytes] == ' ');
    }
    return array;
}

static json_t *number_json(double value)
{
    return value == floor(value) && fabs(value) < 1e15 ? json_integer((json_int_t)value)
                                                       : json_real(value);
}

static json_t *argument_json(const struct rp_mcp_argument *a)
{
    static const char *const types[] = {
        [RP_MCP_FLAG] = "boolean",   [RP_MCP_TEXT] = "string",     [RP_MCP_INTEGER] = "integer",
        [RP_MCP_NUMBER] = "number",  [RP_MCP_CHOICE] = "string",   [RP_MCP_FORM] = "string",
        [RP_MCP_FIRST] = "string",   [RP_MCP_REPEATED] = "array",  [RP_MCP_OPERAND] = "string",
        [RP_MCP_OPERANDS] = "array", [RP_MCP_ALWAYS] = "undefined"};
    json_t *schema = json_pack("{s:s, s:s}", "type", types[a->kind], "description", a->description);

    if (a->choices)
        json_object_set_new(schema, "enum", choices_json(a->choices));
    if (a->kind == RP_MCP_INTEGER || a->kind == RP_MCP_NUMBER) {
        json_object_set_new(schema, "minimum", number_json(a->least));
        json_object_set_new(schema, "maximum", number_json(a->most));
    }
    if (a->kind == RP_MCP_REPEATED || a->kind == RP_MCP_OPERANDS)
        json_object_set_new(schema, "items", json_pack("{s:s}", "type", "string"));
    if (a->needed && a->kind == RP_MCP_OPERANDS)
        json_object_set_new(schema, "minItems", json_integer(1));
    return schema;
}

static json_t *input_schema(const struct rp_mcp_tool *tool)
{
    json_t *properties = json_object(), *required = json_array();

    for (const struct rp_mcp_argument *a = rp_mcp_tool_arguments(tool); a->name; a++) {
        if (a->kind == RP_MCP_ALWAYS)
            continue;
        json_object_set_new(properties, a->name, argument_json(a));
        if (a->needed)
            json_array_append_new(required, json_string(a->name));
    }
    json_object_set_new(properties, "directory",
                        json_pack("{s:s, s:s}", "type", "string", "description",
                                  "the folder to run in, which other paths are relative to "
                                  "(default: that of the server)"));
    return json_pack("{s:s, s:o, s:o, s:b}", "type", "object", "properties", properties, "required",
                     required, "additionalProperties", 0);
}

static json_t *tool_json(const struct rp_mcp_tool *tool)
{
    json_t *json =
        json_pack("{s:s, s:s, s:s, s:o, s:{s:b, s:b}}", "name", tool->name, "title", tool->title,
                  "description", tool->description, "inputSchema", input_schema(tool),
                  "annotations", "readOnlyHint", (int)tool->read_only, "openWorldHint", 0);
    json_t *schema = tool->output_schema ? json_loads(tool->output_schema, 0, NULL) : NULL;

    if (schema) {
        /* 2020-12, which is what the protocol has in mind when nothing is said; its readers do not
         * all know that name. */
        json_object_del(schema, "$schema");
        json_object_del(schema, "$id");
        json_object_set_new(json, "outputSchema", schema);
    }
    return json;
}

json_t *rp_mcp_tools(void)
{
    json_t *array = json_array();

    for (size_t i = 0; i < TOOLS; i++)
        if (json_array_append_new(array, tool_json(&tools[i])) < 0) {
            json_decref(array);
            return NULL;
        }
    return array;
}

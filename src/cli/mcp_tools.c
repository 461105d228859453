/* The tools that are offered, all from one table, and how a call of one becomes a command. */
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/path.h"
#include "cli/mcp.h"

/** What a command takes of Linux, which else refuses to start it without saying why. */
enum {
    RP_MCP_MOST_WORD_BYTES = (1 << 17) - 1, /**< MAX_ARG_STRLEN, without the zero */
    RP_MCP_MOST_WORDS = 1 << 14,            /**< with a message of 1 MiB far below ARG_MAX */
};

/* Rows of one tool stand together, and a row without a name ends those of the tool before. */
static const struct rp_mcp_argument rows[] = {
#define RP_MCP_TOOL(id, words, title, schema, read_only, answer, description) {.name = NULL},
#define RP_MCP_ARGUMENT(id, name, kind, needed, option, least, most, choices, description)         \
    {name, RP_MCP_##kind, needed, option, least, most, choices, description},
#include "cli/mcp_tools.def"
#undef RP_MCP_TOOL
#undef RP_MCP_ARGUMENT
    {.name = NULL},
};

static const struct rp_mcp_tool tools[] = {
#define RP_MCP_TOOL(id, words, title, schema, read_only, answer, description)                      \
    {#id, words, title, schema, read_only, answer, description},
#define RP_MCP_ARGUMENT(id, name, kind, needed, option, least, most, choices, description)
#include "cli/mcp_tools.def"
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

void rp_mcp_command_free(struct rp_mcp_command *command)
{
    for (size_t i = 0; i < command->words; i++)
        free(command->argv[i]);
    free(command->argv);
    free(command->directory);
    *command = (struct rp_mcp_command){0};
}

/* Takes over the word. */
static int add(struct rp_mcp_command *c, char *word, struct rp_err *err)
{
    char **argv = word ? reallocarray(c->argv, c->words + 2, sizeof *argv) : NULL;

    if (!argv) {
        free(word);
        return rp_out_of_memory(err);
    }
    c->argv = argv;
    argv[c->words++] = word;
    argv[c->words] = NULL;
    return 0;
}

static int wrong(const struct rp_mcp_argument *a, const char *what, struct rp_err *err)
{
    return rp_fail(err, RP_USAGE, "argument %s: %s", a->name, what);
}

/* Takes over the word, which is of an argument. */
static int add_of(const struct rp_mcp_argument *a, char *word, struct rp_mcp_command *c,
                  struct rp_err *err)
{
    const size_t bytes = word ? strlen(word) : 0;
    int rc = 0;

    if (bytes > RP_MCP_MOST_WORD_BYTES)
        rc = rp_fail(err, RP_USAGE,
                     "argument %s: is too long: %zu bytes with its option, %d is the most", a->name,
                     bytes, RP_MCP_MOST_WORD_BYTES);
    else if (c->words >= RP_MCP_MOST_WORDS)
        rc = rp_fail(err, RP_USAGE, "argument %s: the command gets more than %d words", a->name,
                     RP_MCP_MOST_WORDS);
    if (rc == 0)
        return add(c, word, err);
    free(word);
    return rc;
}

static bool is_choice(const char *choices, const char *word)
{
    const size_t bytes = strlen(word);

    for (const char *at = choices; *at; at += *at == ' ') {
        const size_t length = strcspn(at, " ");

        if (length == bytes && strncmp(at, word, bytes) == 0)
            return true;
        at += length;
    }
    return false;
}

static int add_text(const struct rp_mcp_argument *a, const json_t *value, struct rp_mcp_command *c,
                    struct rp_err *err)
{
    const char *text = json_string_value(value);

    if (!text)
        return wrong(a, "must be a string", err);
    if (a->choices && !is_choice(a->choices, text))
        return rp_fail(err, RP_USAGE, "argument %s: use one of: %s", a->name, a->choices);
    if (a->kind == RP_MCP_FIRST)
        return add_of(a, strdup(text), c, err);
    if (a->kind == RP_MCP_FORM)
        return add(c, rp_format("--%s", text), err);
    if (!*text && strcmp(a->option, "-o") == 0) /* would take the next word for its value */
        return wrong(a, "must not be empty", err);
    return add_of(a, rp_format("%s%s", a->option, text), c, err);
}

static int add_number(const struct rp_mcp_argument *a, const json_t *value,
                      struct rp_mcp_command *c, struct rp_err *err)
{
    const double number = json_number_value(value);

    if (!json_is_number(value) || (a->kind == RP_MCP_INTEGER && floor(number) != number))
        return wrong(a, a->kind == RP_MCP_INTEGER ? "must be an integer" : "must be a number", err);
    if (number < a->least || number > a->most)
        return rp_fail(err, RP_USAGE, "argument %s: use %g to %g", a->name, a->least, a->most);
    return add(c, rp_format("%s%.15g", a->option, number), err);
}

static int add_texts(const struct rp_mcp_argument *a, const json_t *value, struct rp_mcp_command *c,
                     struct rp_err *err)
{
    const json_t *item;
    size_t i;
    int rc = 0;

    if (!json_is_array(value))
        return wrong(a, "must be an array of strings", err);
    if (a->needed && !json_array_size(value))
        return wrong(a, "must not be empty", err);
    json_array_foreach(value, i, item) if (rc == 0) rc = add_text(a, item, c, err);
    return rc;
}

/* Of those before "--", or of those behind it. */
static int add_arguments(const struct rp_mcp_tool *tool, const json_t *arguments, bool behind,
                         struct rp_mcp_command *c, struct rp_err *err)
{
    int rc = 0;

    for (const struct rp_mcp_argument *a = rp_mcp_tool_arguments(tool); rc == 0 && a->name; a++) {
        const json_t *value = json_object_get(arguments, a->name);
        const bool is_behind = a->kind == RP_MCP_OPERAND || a->kind == RP_MCP_OPERANDS;

        if (is_behind != behind)
            continue;
        if (a->kind == RP_MCP_ALWAYS || (!value && a->kind == RP_MCP_FIRST))
            rc = add(c, strdup(a->option), err);
        else if (!value && a->kind == RP_MCP_FORM)
            rc = add(c, rp_format("--%s", a->option), err);
        else if (!value)
            rc = a->needed ? wrong(a, "is missing", err) : 0;
        else if (a->kind == RP_MCP_FLAG)
            rc = !json_is_boolean(value) ? wrong(a, "must be true or false", err)
                 : json_is_true(value)   ? add(c, strdup(a->option), err)
                                         : 0;
        else if (a->kind == RP_MCP_INTEGER || a->kind == RP_MCP_NUMBER)
            rc = add_number(a, value, c, err);
        else if (a->kind == RP_MCP_REPEATED || a->kind == RP_MCP_OPERANDS)
            rc = add_texts(a, value, c, err);
        else
            rc = add_text(a, value, c, err);
    }
    return rc;
}

static int check_names(const struct rp_mcp_tool *tool, const json_t *arguments, struct rp_err *err)
{
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)arguments, name, value)
    {
        const struct rp_mcp_argument *a = rp_mcp_tool_arguments(tool);

        while (a->name && strcmp(a->name, name) != 0)
            a++;
        if ((!a->name && strcmp(name, "directory") != 0) || (a->name && a->kind == RP_MCP_ALWAYS))
            return rp_fail(err, RP_USAGE, "%s has no argument %.100s; tools/list has those it has",
                           tool->name, name);
    }
    return 0;
}

static int take_directory(const json_t *arguments, struct rp_mcp_command *c, struct rp_err *err)
{
    const json_t *value = json_object_get(arguments, "directory");

    if (!value)
        return 0;
    if (!json_is_string(value) || !rp_path_is_dir(json_string_value(value)))
        return rp_fail(err, RP_USAGE, "argument directory: must be a folder that is there");
    c->directory = rp_path_absolute(json_string_value(value));
    return c->directory ? 0 : rp_out_of_memory(err);
}

static int add_words(const char *words, struct rp_mcp_command *c, struct rp_err *err)
{
    int rc = add(c, strdup("rocm-perf"), err);

    while (rc == 0 && *words) {
        const size_t bytes = strcspn(words, " ");

        rc = add(c, strndup(words, bytes), err);
        words += bytes + (words[bytes] == ' ');
    }
    return rc;
}

int rp_mcp_command_make(const struct rp_mcp_tool *tool, const json_t *arguments,
                        struct rp_mcp_command *ret, struct rp_err *err)
{
    struct rp_mcp_command c = {0};
    int rc = check_names(tool, arguments, err);

    if (rc == 0)
        rc = take_directory(arguments, &c, err);
    if (rc == 0)
        rc = add_words(tool->words, &c, err);
    if (rc == 0)
        rc = add_arguments(tool, arguments, false, &c, err);
    if (rc == 0)
        rc = add(&c, strdup("--"), err);
    if (rc == 0)
        rc = add_arguments(tool, arguments, true, &c, err);
    if (rc < 0)
        rp_mcp_command_free(&c);
    else
        *ret = c;
    return rc;
}

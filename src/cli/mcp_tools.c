/* The tools that are offered are commands of options.def; this file makes a command of a call. */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/path.h"
#include "cli/mcp.h"
#include "cli/options.h"

/** Linux limits a command to this, and refuses to start a longer one without saying why. */
enum {
    RP_MCP_MOST_WORD_BYTES = (1 << 17) - 1, /**< MAX_ARG_STRLEN, without the zero */
    RP_MCP_MOST_WORDS = 1 << 14,            /**< with a message of 1 MiB far below ARG_MAX */
};

static const struct rp_mcp_tool tools[] = {
#define TOOL(id, words, title, schema, read_only, answer, description)                             \
    {RP_COMMAND_##id, #id, words, NULL, NULL, title, schema, read_only, answer, description},
#define TOOL_OF(name, id, words, arguments, operand, title, schema, read_only, answer, text)       \
    {RP_COMMAND_##id, #name, words, arguments, operand, title, schema, read_only, answer, text},
#include "cli/options.def"
};

enum { TOOLS = sizeof tools / sizeof *tools };

const struct rp_mcp_tool *rp_mcp_tool_find(const char *name)
{
    for (size_t i = 0; i < TOOLS; i++)
        if (strcmp(tools[i].name, name) == 0)
            return &tools[i];
    return NULL;
}

const char *rp_mcp_tool_near(const char *name)
{
    struct rp_nearest nearest = {.word = name};

    for (size_t i = 0; i < TOOLS; i++)
        rp_nearest_try(&nearest, tools[i].name);
    return nearest.name;
}

/** Says whether a list with blanks between has the word. */
static bool has_word(const char *list, const char *word, size_t length)
{
    for (size_t bytes; *list; list += bytes + (list[bytes] == ' ')) {
        bytes = strcspn(list, " ");
        if (bytes == length && strncmp(list, word, length) == 0)
            return true;
    }
    return false;
}

const struct rp_row *rp_mcp_argument_next(const struct rp_mcp_tool *tool, const struct rp_row *row)
{
    size_t count;
    const struct rp_row *rows = rp_command_rows(tool->command, &count);

    for (row = row ? row + 1 : rows; row < rows + count; row++)
        if (row->argument &&
            (!tool->arguments || has_word(tool->arguments, row->argument, strlen(row->argument))))
            return row;
    return NULL;
}

static const struct rp_row *argument_named(const struct rp_mcp_tool *tool, const char *name,
                                           size_t length)
{
    const struct rp_row *row = NULL;

    while ((row = rp_mcp_argument_next(tool, row)) != NULL)
        if (row->name && strncmp(row->name, name, length) == 0 && !row->name[length])
            return row;
    return NULL;
}

/** Says whether a rule wants the option, and no other argument can take its place. */
static bool is_needed(const struct rp_mcp_tool *tool, const struct rp_row *option)
{
    size_t count, length;
    const struct rp_row *rows = rp_command_rows(tool->command, &count);

    if (option->kind != RP_ROW_OPTION)
        return option->flags & RP_OPTION_NEEDED && !tool->operand;
    for (size_t i = 0; i < count; i++) {
        size_t others = 0, mine = 0;

        if (rows[i].kind != RP_ROW_RULE || rows[i].rule != RP_RULE_MISSING)
            continue;
        for (const char *at = rows[i].words; *at; at += length + (at[length] == ' ')) {
            const struct rp_row *row = argument_named(tool, at, length = strcspn(at, " "));

            mine += row == option;
            others += row && row != option;
        }
        if (mine && !others)
            return true;
    }
    return false;
}

/** @param old with the name that a choice had before, which is taken, too */
static json_t *choices_json(const struct rp_row *row, bool old)
{
    json_t *array = json_array();
    const char *name, *what;

    for (size_t i = 0; row->names && (name = row->names(i, &what)) != NULL; i++)
        json_array_append_new(array, json_string(name));
    for (const char *at = row->words; at && *at;) {
        const size_t bytes = strcspn(at, " ");

        json_array_append_new(array, json_stringn(at, bytes));
        at += bytes + (at[bytes] == ' ');
    }
    if (row->was && old) /* Clients that know the old name may go on to say it. */
        json_array_append_new(array, json_stringn(row->was, strcspn(row->was, " ")));
    return array;
}

static json_t *number_json(double value)
{
    return value == floor(value) && fabs(value) < 1e15 ? json_integer((json_int_t)value)
                                                       : json_real(value);
}

static bool is_list(const struct rp_row *row)
{
    return row->kind == RP_ROW_OPERAND
               ? row->flags & RP_OPTION_ALL
               : row->kind == RP_ROW_OPTION &&
                     (row->type == RP_VALUE_WORDS || row->type == RP_VALUE_EACH);
}

static bool is_choice(const struct rp_row *row)
{
    return row->kind == RP_ROW_TOOL_CHOICE || row->type == RP_VALUE_CHOICE || row->names;
}

static bool is_number(const struct rp_row *row)
{
    return row->kind == RP_ROW_OPTION &&
           (row->type == RP_VALUE_UINT || row->type == RP_VALUE_REAL ||
            row->type == RP_VALUE_ABOVE_0 || row->type == RP_VALUE_PERCENT);
}

static bool is_flag(const struct rp_row *row)
{
    return row->kind == RP_ROW_OPTION && row->type == RP_VALUE_FLAG;
}

static void add_limits(const struct rp_row *row, json_t *schema)
{
    if (row->type == RP_VALUE_UINT) {
        json_object_set_new(schema, "minimum", json_integer((json_int_t)row->min));
        json_object_set_new(schema, "maximum", json_integer((json_int_t)row->max));
        return;
    }
    json_object_set_new(schema, row->type == RP_VALUE_ABOVE_0 ? "exclusiveMinimum" : "minimum",
                        number_json(row->low));
    json_object_set_new(schema, "maximum", number_json(row->high));
}

static json_t *type_json(const struct rp_row *row)
{
    if (row->kind == RP_ROW_OPTION && row->type == RP_VALUE_NUMBERS)
        return json_pack("[s, s]", "integer", "string");
    return json_string(is_flag(row)                 ? "boolean"
                       : is_list(row)               ? "array"
                       : !is_number(row)            ? "string"
                       : row->type == RP_VALUE_UINT ? "integer"
                                                    : "number");
}

/** Says whether these are names of actions of the command, as of "list, show". */
static bool are_actions(const struct rp_mcp_tool *tool, const char *text, size_t length)
{
    size_t count;
    const struct rp_row *rows = rp_command_rows(tool->command, &count);

    for (size_t at = 0, bytes; at < length; at += bytes, at += strspn(text + at, ", ")) {
        bool found = false;

        bytes = strcspn(text + at, ", :");
        for (size_t i = 0; i < count; i++)
            found |= rows[i].kind == RP_ROW_ACTION && strlen(rows[i].name) == bytes &&
                     strncmp(rows[i].name, text + at, bytes) == 0;
        if (!found)
            return false;
    }
    return true;
}

/** Returns how many bytes of the text of a row say what the argument is: up to the mark of the row
 * where it has one, else up to what explains it further. */
static size_t short_bytes(const struct rp_mcp_tool *tool, const char *text)
{
    const char *mark = strstr(text, RP_ROW_SHORT);
    size_t at = 0;

    if (mark)
        return (size_t)(mark - text);
    for (; text[at]; at++)
        if (strncmp(text + at, " (", 2) == 0 || strncmp(text + at, ". ", 2) == 0 ||
            text[at] == ';' || strncmp(text + at, ", %l", 4) == 0 ||
            (strncmp(text + at, ": ", 2) == 0 && !are_actions(tool, text, at)))
            break;
    return at;
}

static char *short_text(const struct rp_mcp_tool *tool, const struct rp_row *row)
{
    struct rp_row cut = *row;
    rp_autofree char *begin = rp_strndup(row->text, short_bytes(tool, row->text));
    rp_autobuf text = {0};

    cut.text = begin;
    rp_row_put_text(&cut, &text);
    return rp_strdup(rp_buf_text(&text));
}

/** Says whether a tool before this one has the argument with the same text. */
static bool is_told(const struct rp_mcp_tool *tool, const struct rp_row *row, const char *text)
{
    for (const struct rp_mcp_tool *before = tools; before < tool; before++)
        for (const struct rp_row *other = NULL;
             (other = rp_mcp_argument_next(before, other)) != NULL;) {
            rp_autofree char *same =
                strcmp(other->argument, row->argument) == 0 ? short_text(before, other) : NULL;

            if (same && strcmp(same, text) == 0)
                return true;
        }
    return false;
}

static void describe(const struct rp_mcp_tool *tool, const struct rp_row *row, bool whole,
                     json_t *schema)
{
    rp_autofree char *brief = whole ? NULL : short_text(tool, row);
    rp_autobuf text = {0};

    if (whole)
        rp_row_put_text(row, &text);
    else if (!is_told(tool, row, brief))
        rp_buf_puts(&text, brief);
    if (text.len)
        json_object_set_new(schema, "description", json_string(rp_buf_text(&text)));
}

static json_t *argument_json(const struct rp_mcp_tool *tool, const struct rp_row *row, bool whole)
{
    const bool needed = is_needed(tool, row);
    json_t *schema = json_pack("{s:o}", "type", type_json(row));

    describe(tool, row, whole, schema);
    if (is_choice(row))
        json_object_set_new(schema, "enum", choices_json(row, whole));
    if (is_number(row) && whole)
        add_limits(row, schema);
    if (is_list(row))
        json_object_set_new(schema, "items", json_pack("{s:s}", "type", "string"));
    if (is_list(row) && needed)
        json_object_set_new(schema, "minItems", json_integer(1));
    return schema;
}

static json_t *directory_json(const struct rp_mcp_tool *tool, bool whole)
{
    json_t *schema = json_pack("{s:s}", "type", "string");

    if (whole)
        json_object_set_new(schema, "description",
                            json_string("the folder to run in, which other paths are relative to "
                                        "(default: that of the server)"));
    else if (tool == tools)
        json_object_set_new(schema, "description",
                            json_string("the folder to run in, which other paths are relative to"));
    return schema;
}

static json_t *input_schema(const struct rp_mcp_tool *tool, bool whole)
{
    json_t *properties = json_object(), *required = json_array(), *schema;
    const struct rp_row *row = NULL;

    while ((row = rp_mcp_argument_next(tool, row)) != NULL) {
        json_object_set_new(properties, row->argument, argument_json(tool, row, whole));
        if (is_needed(tool, row))
            json_array_append_new(required, json_string(row->argument));
    }
    json_object_set_new(properties, "directory", directory_json(tool, whole));
    schema = json_pack("{s:s, s:o, s:o}", "type", "object", "properties", properties, "required",
                       required);
    if (whole)
        json_object_set_new(schema, "additionalProperties", json_false());
    else if (!json_array_size(required))
        json_object_del(schema, "required");
    return schema;
}

static void add_whole(const struct rp_mcp_tool *tool, json_t *json)
{
    json_t *schema = tool->output_schema ? json_loads(tool->output_schema, 0, NULL) : NULL;

    if (!schema)
        return;
    /* The protocol means 2020-12 when nothing is said, and not all of its readers know that name.
     */
    json_object_del(schema, "$schema");
    json_object_del(schema, "$id");
    json_object_set_new(json, "outputSchema", schema);
}

static json_t *tool_json(const struct rp_mcp_tool *tool, bool whole)
{
    const struct rp_row row = {.text = tool->description};
    const char *mark = whole ? NULL : strstr(row.text, RP_ROW_SHORT);
    rp_autobuf text = {0};
    json_t *json;

    if (mark)
        rp_buf_add(&text, row.text, (size_t)(mark - row.text));
    else
        rp_row_put_text(&row, &text);
    json = json_pack("{s:s, s:s, s:o}", "name", tool->name, "description", rp_buf_text(&text),
                     "inputSchema", input_schema(tool, whole));

    if (whole)
        json_object_set_new(json, "title", json_string(tool->title));
    if (whole || tool->read_only) /* Clients take false, where nothing is said. */
        json_object_set_new(
            json, "annotations",
            json_pack("{s:b, s:b}", "readOnlyHint", (int)tool->read_only, "openWorldHint", 0));
    if (whole)
        add_whole(tool, json);
    return json;
}

json_t *rp_mcp_tools(bool whole)
{
    json_t *array = json_array();

    for (size_t i = 0; i < TOOLS; i++)
        if (json_array_append_new(array, tool_json(&tools[i], whole)) < 0) {
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

/* Adds the word and frees it. */
static int add(struct rp_mcp_command *c, char *word)
{
    char **argv = rp_realloc_array(c->argv, c->words + 2, sizeof *argv);

    c->argv = argv;
    argv[c->words++] = word;
    argv[c->words] = NULL;
    return 0;
}

/** Returns the value of an argument; null, as some clients write what they do not give, is none. */
static const json_t *value_of(const json_t *arguments, const char *name)
{
    const json_t *value = json_object_get(arguments, name);

    return json_is_null(value) ? NULL : value;
}

static int wrong(const struct rp_row *row, const char *what, struct rp_err *err)
{
    return rp_fail(err, RP_USAGE, "argument %s: %s", row->argument, what);
}

/* Adds the word, which is of an argument, and frees it. */
static int add_of(const struct rp_row *row, char *word, struct rp_mcp_command *c,
                  struct rp_err *err)
{
    const size_t bytes = word ? strlen(word) : 0;
    int rc = 0;

    if (bytes > RP_MCP_MOST_WORD_BYTES)
        rc = rp_fail(err, RP_USAGE,
                     "argument %s: is too long: %zu bytes with its option, %d is the most",
                     row->argument, bytes, RP_MCP_MOST_WORD_BYTES);
    else if (c->words >= RP_MCP_MOST_WORDS)
        rc = rp_fail(err, RP_USAGE, "argument %s: the command gets more than %d words",
                     row->argument, RP_MCP_MOST_WORDS);
    if (rc == 0)
        return add(c, word);
    free(word);
    return rc;
}

static int check_choice(const struct rp_row *row, const char *word, struct rp_err *err)
{
    json_t *choices = choices_json(row, true);
    rp_autobuf known = {0};
    bool found = false;

    for (size_t i = 0; i < json_array_size(choices); i++) {
        const char *one = json_string_value(json_array_get(choices, i));

        found |= strcmp(one, word) == 0;
        rp_buf_printf(&known, " %s", one);
    }
    json_decref(choices);
    return found ? 0
                 : rp_fail(err, RP_USAGE, "argument %s: use one of:%s", row->argument,
                           rp_buf_text(&known));
}

static int add_text(const struct rp_row *row, const json_t *value, struct rp_mcp_command *c,
                    struct rp_err *err)
{
    const char *text = json_string_value(value);

    if (!text)
        return wrong(row, "must be a string", err);
    if (is_choice(row) && check_choice(row, text, err) < 0)
        return -(int)err->code;
    if (row->kind == RP_ROW_OPERAND || row->flags & RP_OPTION_IS_ACTION)
        return add_of(row, rp_strdup(text), c, err);
    if (row->kind == RP_ROW_TOOL_CHOICE)
        return add(c, rp_format("--%s", text));
    if (!*text && row->type != RP_VALUE_TEXT)
        return wrong(row, "must not be empty", err);
    return add_of(row, rp_format("--%s=%s", row->name, text), c, err);
}

static int add_number(const struct rp_row *row, const json_t *value, struct rp_mcp_command *c,
                      struct rp_err *err)
{
    const bool whole = row->type == RP_VALUE_UINT || row->type == RP_VALUE_NUMBERS;
    const double number = json_number_value(value);
    const double least = whole ? (double)row->min : row->low;
    const double most = whole && row->max ? (double)row->max : whole ? INT64_MAX : row->high;
    rp_autobuf limits = {0};

    if (!json_is_number(value) || (whole && floor(number) != number))
        return wrong(row, whole ? "must be an integer" : "must be a number", err);
    if (number < least || number > most || (row->type == RP_VALUE_ABOVE_0 && number <= 0)) {
        rp_row_put_limits(row, &limits);
        return rp_fail(err, RP_USAGE, "argument %s: use %s", row->argument, rp_buf_text(&limits));
    }
    if (json_is_integer(value))
        return add(c,
                   rp_format("--%s=%" JSON_INTEGER_FORMAT, row->name, json_integer_value(value)));
    return add(c, rp_format("--%s=%.15g", row->name, number));
}

static bool is_path(const struct rp_row *row)
{
    return row->kind == RP_ROW_OPTION ? row->type == RP_VALUE_FILE || row->type == RP_VALUE_DIR
                                      : row->flags & (RP_OPTION_PATHS | RP_OPTION_RUNS);
}

/** Checks a path, or a program that is not looked for in PATH. */
static int check_path(const struct rp_row *row, const char *path,
                      const struct rp_mcp_workspace *workspace, const struct rp_mcp_command *c,
                      struct rp_err *err)
{
    const char *colon = strrchr(path, ':');
    rp_autofree char *file = colon ? rp_strndup(path, (size_t)(colon - path)) : NULL;
    int rc;

    if (row->flags & RP_OPTION_RUNS && !strchr(path, '/'))
        return 0;
    rc = rp_mcp_workspace_check(workspace, c->directory, row->argument, path, err);
    /* Of "kernel.py:12" the file is opened that is called so without the line. */
    if (rc == 0 && file && *file)
        rc = rp_mcp_workspace_check(workspace, c->directory, row->argument, file, err);
    return rc;
}

/** Checks the paths of an argument, or what stands for one that is not given. What is no text is
 * refused by others. */
static int check_paths_of(const struct rp_mcp_tool *tool, const struct rp_row *row,
                          const json_t *value, const struct rp_mcp_workspace *workspace,
                          const struct rp_mcp_command *c, struct rp_err *err)
{
    const char *standard = row->kind == RP_ROW_OPTION ? row->preset : tool->operand;
    const json_t *item;
    size_t i;
    int rc = 0;

    if (json_is_string(value))
        return check_path(row, json_string_value(value), workspace, c, err);
    if (standard && !json_array_size(value))
        return check_path(row, standard, workspace, c, err);
    json_array_foreach(value, i, item) if (rc == 0 && json_is_string(item)) rc =
        check_path(row, json_string_value(item), workspace, c, err);
    return rc;
}

static int check_paths(const struct rp_mcp_tool *tool, const json_t *arguments,
                       const struct rp_mcp_workspace *workspace, const struct rp_mcp_command *c,
                       struct rp_err *err)
{
    const struct rp_row *row = NULL;
    int rc = 0;

    while (rc == 0 && workspace && (row = rp_mcp_argument_next(tool, row)) != NULL)
        if (is_path(row))
            rc = check_paths_of(tool, row, value_of(arguments, row->argument), workspace, c, err);
    return rc;
}

static int add_texts(const struct rp_row *row, bool needed, const json_t *value,
                     struct rp_mcp_command *c, struct rp_err *err)
{
    const json_t *item;
    size_t i;
    int rc = 0;

    if (!json_is_array(value))
        return wrong(row, "must be an array of strings", err);
    if (needed && !json_array_size(value))
        return wrong(row, "must not be empty", err);
    json_array_foreach(value, i, item) if (rc == 0) rc = add_text(row, item, c, err);
    return rc;
}

static int add_argument(const struct rp_mcp_tool *tool, const struct rp_row *row,
                        const json_t *value, struct rp_mcp_command *c, struct rp_err *err)
{
    const bool needed = is_needed(tool, row);

    if (!value && row->kind == RP_ROW_TOOL_CHOICE)
        return add(c, rp_format("%s%.*s", row->flags & RP_OPTION_IS_ACTION ? "" : "--",
                                (int)strcspn(row->words, " "), row->words));
    if (!value)
        return needed ? wrong(row, "is missing", err) : 0;
    if (is_flag(row))
        return !json_is_boolean(value) ? wrong(row, "must be true or false", err)
               : json_is_true(value)   ? add(c, rp_format("--%s", row->name))
                                       : 0;
    if (is_number(row) || (row->type == RP_VALUE_NUMBERS && json_is_number(value)))
        return add_number(row, value, c, err);
    return is_list(row) ? add_texts(row, needed, value, c, err) : add_text(row, value, c, err);
}

/** Says where an argument stands in the command line. */
enum place { FIRST, BEFORE_OPERANDS, BEHIND };

static enum place place_of(const struct rp_row *row)
{
    return row->kind == RP_ROW_OPERAND        ? BEHIND
           : row->flags & RP_OPTION_IS_ACTION ? FIRST
                                              : BEFORE_OPERANDS;
}

static int add_arguments(const struct rp_mcp_tool *tool, const json_t *arguments, enum place place,
                         struct rp_mcp_command *c, struct rp_err *err)
{
    const struct rp_row *row = NULL;
    int rc = 0;

    while (rc == 0 && (row = rp_mcp_argument_next(tool, row)) != NULL)
        if (place_of(row) == place)
            rc = add_argument(tool, row, value_of(arguments, row->argument), c, err);
    return rc;
}

static int no_argument_named(const struct rp_mcp_tool *tool, const char *name, struct rp_err *err)
{
    struct rp_nearest nearest = {.word = name};

    for (const struct rp_row *row = NULL; (row = rp_mcp_argument_next(tool, row)) != NULL;)
        rp_nearest_try(&nearest, row->argument);
    if (nearest.name)
        return rp_fail(err, RP_USAGE, "%s has no argument %.100s, did you mean %s?", tool->name,
                       name, nearest.name);
    return rp_fail(err, RP_USAGE, "%s has no argument %.100s; tools/list has those it has",
                   tool->name, name);
}

static int check_names(const struct rp_mcp_tool *tool, const json_t *arguments, struct rp_err *err)
{
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)arguments, name, value)
    {
        const struct rp_row *row = NULL;

        while ((row = rp_mcp_argument_next(tool, row)) != NULL && strcmp(row->argument, name) != 0)
            ;
        if (!row && strcmp(name, "directory") != 0)
            return no_argument_named(tool, name, err);
    }
    return 0;
}

static int take_directory(const json_t *arguments, const struct rp_mcp_workspace *workspace,
                          struct rp_mcp_command *c, struct rp_err *err)
{
    const json_t *value = value_of(arguments, "directory");

    if (!value)
        return 0;
    /* Whether a folder is there is nothing to be told of those outside. */
    if (json_is_string(value) && workspace &&
        rp_mcp_workspace_check(workspace, NULL, "directory", json_string_value(value), err) < 0)
        return -(int)err->code;
    if (!json_is_string(value) || !rp_path_is_dir(json_string_value(value)))
        return rp_fail(err, RP_USAGE, "argument directory: must be a folder that is there");
    c->directory = rp_path_absolute(json_string_value(value));
    return c->directory ? 0
                        : rp_fail_errno(err, RP_ENVIRONMENT, errno,
                                        "argument directory: cannot find the current folder");
}

/** Says whether a rule of the command wants other actions for an option than this one. */
static bool is_of_another_action(const struct rp_mcp_tool *tool, const char *action,
                                 const char *option, size_t length)
{
    size_t count;
    const struct rp_row *rows = rp_command_rows(tool->command, &count);

    for (size_t i = 0; i < count; i++) {
        rp_autofree char *wanted = rp_format("=%s", action);

        if (rows[i].kind == RP_ROW_RULE && rows[i].rule == RP_RULE_NEEDS &&
            has_word(rows[i].words, option, length) && rows[i].other[0] == '=' &&
            !has_word(rows[i].other, wanted, strlen(wanted)))
            return true;
    }
    return false;
}

static int add_words(const struct rp_mcp_tool *tool, struct rp_mcp_command *c)
{
    const char *action = c->argv[c->words - 1];
    int rc = 0;

    for (const char *at = tool->words; rc == 0 && *at;) {
        const size_t bytes = strcspn(at, " ");

        if (!is_of_another_action(tool, action, at + 2, bytes - 2))
            rc = add(c, rp_strndup(at, bytes));
        at += bytes + (at[bytes] == ' ');
    }
    return rc;
}

/** Adds the operand that stands where the caller has given none. */
static int add_operand(const struct rp_mcp_tool *tool, size_t words, struct rp_mcp_command *c)
{
    return tool->operand && c->words == words ? add(c, rp_strdup(tool->operand)) : 0;
}

int rp_mcp_command_make(const struct rp_mcp_tool *tool, const json_t *arguments,
                        const struct rp_mcp_workspace *workspace, struct rp_mcp_command *ret,
                        struct rp_err *err)
{
    struct rp_mcp_command c = {0};
    size_t count;
    int rc = check_names(tool, arguments, err);

    if (rc == 0)
        rc = take_directory(arguments, workspace, &c, err);
    if (rc == 0)
        rc = check_paths(tool, arguments, workspace, &c, err);
    if (rc == 0 && workspace && tool->command == RP_COMMAND_ci)
        rc = rp_mcp_workspace_check_repository(workspace, c.directory, err);
    if (rc == 0)
        rc = add(&c, rp_strdup("rocm-perf"));
    if (rc == 0)
        rc = add(&c, rp_strdup(rp_command_rows(tool->command, &count)->name));
    if (rc == 0)
        rc = add_arguments(tool, arguments, FIRST, &c, err);
    if (rc == 0)
        rc = add_words(tool, &c);
    if (rc == 0)
        rc = add_arguments(tool, arguments, BEFORE_OPERANDS, &c, err);
    if (rc == 0)
        rc = add(&c, rp_strdup("--"));
    count = c.words;
    if (rc == 0)
        rc = add_arguments(tool, arguments, BEHIND, &c, err);
    if (rc == 0)
        rc = add_operand(tool, count, &c);
    if (rc < 0)
        rp_mcp_command_free(&c);
    else
        *ret = c;
    return rc;
}

/**
 * @file tools.h
 * @brief The tools that are offered, all from one table, and how a call of one becomes a command.
 */
#ifndef RP_MCP_TOOLS_H
#define RP_MCP_TOOLS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct rp_err;

/** Exit status of replay with a gate that neither holds nor fails; 6 in its manual page. */
enum { RP_MCP_UNDECIDED = 6 };

/** What a command takes of Linux, which else refuses to start it without saying why. */
enum {
    RP_MCP_MOST_WORD_BYTES = (1 << 17) - 1, /**< MAX_ARG_STRLEN, without the zero */
    RP_MCP_MOST_WORDS = 1 << 14,            /**< with a message of 1 MiB far below ARG_MAX */
};

enum rp_mcp_kind_of_argument {
    RP_MCP_FLAG,     /**< true: the option */
    RP_MCP_TEXT,     /**< the option and the text, one word */
    RP_MCP_INTEGER,  /**< likewise */
    RP_MCP_NUMBER,   /**< likewise */
    RP_MCP_CHOICE,   /**< likewise, one of choices */
    RP_MCP_FORM,     /**< one of choices, which becomes --CHOICE; option is the default */
    RP_MCP_FIRST,    /**< one of choices, the word after the command; option is the default */
    RP_MCP_REPEATED, /**< texts, each with the option */
    RP_MCP_OPERAND,  /**< a text after "--" */
    RP_MCP_OPERANDS, /**< texts after "--" */
    RP_MCP_ALWAYS,   /**< no argument: the option is always there */
};

struct rp_mcp_argument {
    const char *name;
    enum rp_mcp_kind_of_argument kind;
    bool needed;
    const char *option;
    double least, most;  /**< of numbers; both inclusive */
    const char *choices; /**< blanks between */
    const char *description;
};

struct rp_mcp_tool {
    const char *name;
    const char *words; /**< of the command, blanks between */
    const char *title;
    const char *output_schema; /**< text of a JSON Schema; NULL: it has several forms */
    bool read_only;            /**< changes no file in any case, as clients may call it unasked */
    int answer; /**< exit status that is a result besides 0 and 1; 0: there is none */
    const char *description;
};

/** @return NULL: there is no such tool */
const struct rp_mcp_tool *rp_mcp_tool_find(const char *name);

/** Terminated by name == NULL. */
const struct rp_mcp_argument *rp_mcp_tool_arguments(const struct rp_mcp_tool *tool);

/** The array of tools/list; NULL: out of memory. */
json_t *rp_mcp_tools(void);

/** A command to run. Release with rp_mcp_command_free. */
struct rp_mcp_command {
    char **argv; /**< NULL-terminated; argv[0] is "rocm-perf" */
    size_t words;
    char *directory; /**< to run in; NULL: here */
};

/**
 * No value can become an option, or another argument.
 * @param arguments  an object, or NULL
 * @return 0, or RP_USAGE naming the argument
 */
int rp_mcp_command_make(const struct rp_mcp_tool *tool, const json_t *arguments,
                        struct rp_mcp_command *ret, struct rp_err *err);
void rp_mcp_command_free(struct rp_mcp_command *command);

#endif

/**
 * @file mcp.h
 * @brief Tools that the server of the Model Context Protocol offers.
 */
#ifndef RP_CLI_MCP_H
#define RP_CLI_MCP_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/process.h"
#include "cli/options.h"

struct rp_buf;
struct rp_err;

/* This section has the tools of options.def, and makes a command of a call. */

/** replay has this exit status with a gate that neither holds nor fails, judge where nothing could
 * be decided; their manual pages list it as 6. */
enum { RP_MCP_UNDECIDED = 6 };

struct rp_mcp_tool {
    enum rp_command_id command;
    const char *name;
    const char *words; /**< that are always there, blanks between */
    const char *title;
    const char *output_schema; /**< text of a JSON Schema; NULL: it has several forms */
    bool read_only;            /**< changes no file in any case, as clients may call it unasked */
    int answer; /**< exit status that is a result besides 0 and 1; 0: there is none */
    const char *description;
};

/** Returns the tool that was probably meant, or NULL. */
const char *rp_mcp_tool_near(const char *name);
/** @return NULL: there is no such tool */
const struct rp_mcp_tool *rp_mcp_tool_find(const char *name);

/** Returns the next row that is an argument of the tool.
 * @param row NULL: the first one
 * @return NULL: there is none */
const struct rp_row *rp_mcp_argument_next(const struct rp_mcp_tool *tool, const struct rp_row *row);

/** Makes the array of tools/list. */
json_t *rp_mcp_tools(void);

/** This is a command to run. Release it with rp_mcp_command_free. */
struct rp_mcp_command {
    char **argv; /**< NULL-terminated; argv[0] is "rocm-perf" */
    size_t words;
    char *directory; /**< to run in; NULL: here */
};

/**
 * Makes the command so that no value can become an option, or another argument.
 * @param arguments an object, or NULL
 * @return 0, or RP_USAGE naming the argument
 */
int rp_mcp_command_make(const struct rp_mcp_tool *tool, const json_t *arguments,
                        struct rp_mcp_command *ret, struct rp_err *err);
void rp_mcp_command_free(struct rp_mcp_command *command);

/** Appends the sentences that the command prints first for people, each with a newline: what limits
 * the program (profile with why or deep_analysis, analyze with analysis), which result is faster
 * (compare), whether a kernel is right and faster (judge). Of other answers it appends nothing.
 * @param object what the command printed */
void rp_mcp_put_verdict(const struct rp_mcp_tool *tool, const struct rp_mcp_command *command,
                        const json_t *object, struct rp_buf *to);

/* The build makes these texts of the files of schemas/. */

extern const char rp_mcp_schema_autotune[];
extern const char rp_mcp_schema_compare[];
extern const char rp_mcp_schema_bench[];
extern const char rp_mcp_schema_doctor[];
extern const char rp_mcp_schema_judge[];
extern const char rp_mcp_schema_optimize[];
extern const char rp_mcp_schema_profile[];

#endif

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
struct rp_mcp_results;
struct rp_mcp_workspace;

/* This section has the tools of options.def, and makes a command of a call. */

/** replay and ci have this exit status with a gate that neither holds nor fails, judge where
 * nothing could be decided; their manual pages list it as 6. */
enum { RP_MCP_UNDECIDED = 6 };

struct rp_mcp_tool {
    enum rp_command_id command;
    const char *name;
    const char *words;     /**< that are always there, blanks between, unless a rule of the command
                              forbids them with the action */
    const char *arguments; /**< which of the command's it has, blanks between; NULL: all */
    const char *operand;   /**< what stands where none is given; NULL: nothing */
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

/** Makes the array of tools/list.
 * @param whole with schemas of the results, limits, and whole descriptions of arguments; else short
 * ones, which an argument lacks that a tool before it has as well */
json_t *rp_mcp_tools(bool whole);

/** This is a command to run. Release it with rp_mcp_command_free. */
struct rp_mcp_command {
    char **argv; /**< NULL-terminated; argv[0] is "rocm-perf" */
    size_t words;
    char *directory; /**< to run in; NULL: here */
};

/**
 * Makes the command so that no value can become an option, or another argument.
 * @param arguments an object, or NULL
 * @param workspace in which paths must lie; NULL: anywhere
 * @return 0, or RP_USAGE naming the argument
 */
int rp_mcp_command_make(const struct rp_mcp_tool *tool, const json_t *arguments,
                        const struct rp_mcp_workspace *workspace, struct rp_mcp_command *ret,
                        struct rp_err *err);
void rp_mcp_command_free(struct rp_mcp_command *command);

/* This is the command of a call while it runs: it has a process group of its own and nothing to
 * read. When it has ended, or is to end, everything that it has started is ended with it, in
 * whatever group. */

/** Initialise it with zeros; pid == 0 means that none runs. */
struct rp_mcp_child {
    pid_t pid;
    int pidfd;             /**< readable when it has ended; -1 before Linux 5.3 */
    int out, err;          /**< what it says, never waited for; -1: it has closed that */
    unsigned asked;        /**< how often it was asked to end */
    long long next_ask_ms; /**< on the monotonic clock */
    struct rp_orphans adopted;
};

/** Asks it to end. */
void rp_mcp_child_end(struct rp_mcp_child *child);

/** Returns the milliseconds until rp_mcp_child_has_ended should look again, or -1: when an fd is
 * readable. */
int rp_mcp_child_wait_ms(const struct rp_mcp_child *child);

/** Asks again, and at last kills the child, if it was asked to end and does not do so for a while.
 * It reaps nothing. */
bool rp_mcp_child_has_ended(struct rp_mcp_child *child);

/**
 * Kills what the ended child has left behind, and forgets it. The caller closes out and err.
 * @return the exit status, or 128 and the signal's number
 */
int rp_mcp_child_reap(struct rp_mcp_child *child);

/* These say when the client hears of a call that is not answered yet, and what. A command that says
 * much is not passed on line by line. For a command that says nothing the server speaks, because
 * clients give up calls of which they do not hear. */

enum {
    RP_MCP_LEAST_MS = 250,             /**< between two notifications of what a command says */
    RP_MCP_SILENCE_MS = 10000,         /**< after so long without one, there is one all the same */
    RP_MCP_MOST_PROGRESS_BYTES = 1000, /**< of one line */
};

/** The times are those of rp_mcp_now_ms, so that a test can use its own. */
struct rp_mcp_notifier {
    json_t *token;      /**< of the client; NULL: it does not want to hear */
    json_int_t steps;   /**< notifications so far */
    long long begun_ms; /**< when the command was started; 0: it waits for its turn */
    long long told_ms;  /**< when the last notification was */
    bool fresh;         /**< something was said since */
};

/** Makes a notification of this text now.
 * @return NULL: not wanted */
json_t *rp_mcp_notifier_notify(struct rp_mcp_notifier *news, const char *text, size_t bytes,
                               long long now_ms);

/**
 * Makes the notification that is due: the last line that the command has said, or that it still
 * runs.
 * @param said the end of all that it has said
 * @return NULL: nothing yet
 */
json_t *rp_mcp_notifier_due(struct rp_mcp_notifier *news, const char *said, size_t bytes,
                            long long now_ms);

/** Returns the milliseconds until rp_mcp_notifier_due may have something although nothing is said,
 * or -1: never. */
int rp_mcp_notifier_wait_ms(const struct rp_mcp_notifier *news, long long now_ms);

/** Reads a monotonic clock; the result is never 0. */
long long rp_mcp_now_ms(void);

/* This is a call of a tool: it waits, runs, and has a result. */

enum {
    RP_MCP_MOST_RESULT_BYTES = 4 << 20, /**< of a command's output; what is more is not passed on */
    RP_MCP_MOST_SAID_BYTES = 16 << 10,  /**< the last of what it said on stderr */
};

struct rp_mcp_call {
    json_t *id;
    bool modern; /**< in the form of 2026-07-28 */
    const struct rp_mcp_tool *tool;
    struct rp_mcp_command command;
    struct rp_mcp_child child; /**< pid == 0: not started */
    struct rp_buf out;
    size_t out_bytes;   /**< with what is not in out */
    struct rp_buf said; /**< the last of it */
    struct rp_mcp_notifier news;
    bool cancelled;
};

void rp_mcp_call_free(struct rp_mcp_call *call);

int rp_mcp_call_start(struct rp_mcp_call *call, const char *program, struct rp_err *err);

/** Reads what the command has said meanwhile. */
void rp_mcp_call_pump(struct rp_mcp_call *call);

/** Makes the result of tools/call. Call it when the child has ended and everything was read.
 * @param results keep what the text does not have; NULL: it has all */
json_t *rp_mcp_call_result(struct rp_mcp_call *call, int status, struct rp_mcp_results *results);

/** Makes the result of a tool that did not run, or failed; the text says why. */
json_t *rp_mcp_call_failure(const char *text);

enum {
    RP_MCP_MOST_MESSAGE_BYTES = 1 << 20,
    RP_MCP_MOST_WAITING = 32, /**< calls; a further one is refused */
};

/* The Model Context Protocol has JSON-RPC 2.0 messages, one per line and without batches. */

/** These are the codes of JSON-RPC 2.0, and those that the protocol adds. */
enum rp_mcp_code {
    RP_MCP_PARSE = -32700,
    RP_MCP_INVALID_REQUEST = -32600,
    RP_MCP_NO_METHOD = -32601,
    RP_MCP_BAD_PARAMS = -32602,
    RP_MCP_INTERNAL = -32603,
    RP_MCP_VERSION = -32022,
    RP_MCP_NO_RESOURCE = -32002, /**< before 2026-07-28, which has RP_MCP_BAD_PARAMS for it */
};

enum rp_mcp_kind { RP_MCP_REQUEST, RP_MCP_NOTIFICATION, RP_MCP_RESPONSE };

/** Release it with rp_mcp_message_free; the other pointers are within root. */
struct rp_mcp_message {
    json_t *root;
    enum rp_mcp_kind kind;
    json_t *id;         /**< string or integer; NULL unless a request */
    const char *method; /**< NULL for a response */
    json_t *params;     /**< an object, or NULL */
};

/**
 * @param ret on failure only the id and kind are set, as far as the request could be read;
 * RP_MCP_NOTIFICATION gets no answer, and no refusal either
 * @return 0, or a code of JSON-RPC with a message in err
 */
int rp_mcp_message_parse(const char *line, size_t bytes, struct rp_mcp_message *ret,
                         struct rp_err *err);
void rp_mcp_message_free(struct rp_mcp_message *message);

/** @param id of the request */
json_t *rp_mcp_result(json_t *id, json_t *result);
/** @param id of the request; NULL: not known
 * @param data is given away; NULL: none */
json_t *rp_mcp_error(json_t *id, int code, const char *text, json_t *data);

/** Makes a string of any bytes: those that are not UTF-8, and zeros, become '?'. */
json_t *rp_mcp_text(const char *text, size_t bytes);

/** Appends the summary of a result: at most three lines in the words that the command prints for
 * people, with their numbers, and what its times are where no GPU took them. Of an object that is
 * none of the tool's results it appends nothing.
 * @param object what the command printed */
void rp_mcp_put_summary(const struct rp_mcp_tool *tool, const struct rp_mcp_command *command,
                        const json_t *object, struct rp_buf *to);

/* These are the folders in which arguments and resources may lie. */

/** Initialise it with zeros, and release it with rp_mcp_workspace_free. */
struct rp_mcp_workspace {
    char **roots; /**< resolved; "/": everything is in it */
    size_t count;
};

/** @return 0, or RP_USAGE: it is no folder */
int rp_mcp_workspace_add(struct rp_mcp_workspace *workspace, const char *folder,
                         struct rp_err *err);
void rp_mcp_workspace_free(struct rp_mcp_workspace *workspace);

/** Resolves a path with all its links, as far as it exists.
 * @param below what a relative path is relative to; NULL: the current folder
 * @return NULL: it is not in the workspace */
char *rp_mcp_workspace_resolve(const struct rp_mcp_workspace *workspace, const char *below,
                               const char *path);

/** Refuses a path of an argument that is not in the workspace.
 * @return 0, or RP_USAGE naming the argument, the path, and the option that allows it */
int rp_mcp_workspace_check(const struct rp_mcp_workspace *workspace, const char *below,
                           const char *argument, const char *path, struct rp_err *err);

/** Refuses a folder of a repository that is not in the workspace as a whole: its top may be above.
 * @param directory NULL: the current folder
 * @return 0, also where there is no repository, or RP_USAGE */
int rp_mcp_workspace_check_repository(const struct rp_mcp_workspace *workspace,
                                      const char *directory, struct rp_err *err);

/* These are what a client can read besides answers. */

enum {
    RP_MCP_KEPT = 8,             /**< results of calls */
    RP_MCP_PAGE_BYTES = 1 << 15, /**< of a page, at most */
};

struct rp_mcp_kept {
    unsigned number; /**< of the call, from 1 on */
    const char *tool;
    char *text; /**< NULL: there is none */
    size_t bytes;
    bool is_json;
};

/** Initialise it with zeros, and release it with rp_mcp_results_free. */
struct rp_mcp_results {
    struct rp_mcp_kept kept[RP_MCP_KEPT]; /**< the newest is at (count - 1) % RP_MCP_KEPT */
    unsigned count;                       /**< ever kept */
};

/** Keeps what a command printed, in place of the oldest.
 * @return its number */
unsigned rp_mcp_results_keep(struct rp_mcp_results *results, const struct rp_mcp_tool *tool,
                             const struct rp_buf *out, bool is_json);
void rp_mcp_results_free(struct rp_mcp_results *results);

/** Finds the end of the page that begins there: behind a line where there is one, else behind a
 * character. */
size_t rp_mcp_page_end(const char *text, size_t bytes, size_t begin);
/** Returns how many pages a text has: 1 at least. */
size_t rp_mcp_pages(const char *text, size_t bytes);

/** Makes the contents of resources/read.
 * @return NULL: there is no such resource */
json_t *rp_mcp_resource_read(const struct rp_mcp_results *results,
                             const struct rp_mcp_workspace *workspace, const char *uri);
/** Makes the array of resources/list: results and captures in the workspace, and results of calls.
 */
json_t *rp_mcp_resource_list(const struct rp_mcp_results *results,
                             const struct rp_mcp_workspace *workspace);
/** Makes the array of resources/templates/list. */
json_t *rp_mcp_resource_templates(void);

/* The build makes these texts of the files of schemas/. */

extern const char rp_mcp_schema_autotune[];
extern const char rp_mcp_schema_compare[];
extern const char rp_mcp_schema_bench[];
extern const char rp_mcp_schema_ci[];
extern const char rp_mcp_schema_doctor[];
extern const char rp_mcp_schema_judge[];
extern const char rp_mcp_schema_optimize[];
extern const char rp_mcp_schema_profile[];

#endif

/**
 * @file mcp.h
 * @brief A server of the Model Context Protocol over two file descriptors.
 *
 * Versions 2025-06-18 and 2025-11-25 begin with a handshake; with 2026-07-28 each request says its
 * version. Calls run one at a time, in the order in which they came: measurements beside each other
 * would disturb each other. Everything else is answered at once.
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

/* The command of a call while it runs: in a process group of its own, with nothing to read.
 *
 * When it has ended, or is to end, everything that it has started goes with it, in whatever group.
 */

/** Zero-initialise; pid == 0: none runs. */
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

/** Milliseconds until rp_mcp_child_has_ended should look again; -1: when an fd is readable. */
int rp_mcp_child_wait_ms(const struct rp_mcp_child *child);

/** Asks again, and at last kills it, if it was asked to end and takes its time. Reaps nothing. */
bool rp_mcp_child_has_ended(struct rp_mcp_child *child);

/**
 * Once it has ended: kills what it has left behind, and forgets it. Its out and err are the
 * caller's to close.
 * @return the exit status, or 128 and the signal's number
 */
int rp_mcp_child_reap(struct rp_mcp_child *child);

/* When the client hears of a call that is not answered yet, and what.
 *
 * A command that says much is not passed on line by line, and one that says nothing is spoken for:
 * clients give calls up of which they do not hear.
 */

enum {
    RP_MCP_LEAST_MS = 250,             /**< between two notifications of what a command says */
    RP_MCP_SILENCE_MS = 10000,         /**< after so long without one, there is one all the same */
    RP_MCP_MOST_PROGRESS_BYTES = 1000, /**< of one line */
};

/** The times are those of rp_mcp_now_ms, so that a test can have its own. */
struct rp_mcp_notifier {
    json_t *token;      /**< of the client; NULL: it does not want to hear */
    json_int_t steps;   /**< notifications so far */
    long long begun_ms; /**< when the command was started; 0: it waits for its turn */
    long long told_ms;  /**< when the last notification was */
    bool fresh;         /**< something was said since */
};

/** A notification of this text, now. @return NULL: not wanted, or out of memory */
json_t *rp_mcp_notifier_notify(struct rp_mcp_notifier *news, const char *text, size_t bytes,
                               long long now_ms);

/**
 * What is to be told now: of what the command has said the last line, or that it still runs.
 * @param said  the end of all that it has said
 * @return NULL: nothing yet
 */
json_t *rp_mcp_notifier_due(struct rp_mcp_notifier *news, const char *said, size_t bytes,
                            long long now_ms);

/** Milliseconds until rp_mcp_notifier_due may have something if nothing is said; -1: never. */
int rp_mcp_notifier_wait_ms(const struct rp_mcp_notifier *news, long long now_ms);

/** Monotonic, never 0. */
long long rp_mcp_now_ms(void);

/* The tools that are offered, of options.def, and how a call of one becomes a command. */

/** Exit status of replay with a gate that neither holds nor fails; 6 in its manual page. */
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

/** @return NULL: there is no such tool */
const struct rp_mcp_tool *rp_mcp_tool_find(const char *name);

/** The next row that is an argument of the tool. @param row  NULL: the first one. @return NULL:
 * none */
const struct rp_row *rp_mcp_argument_next(const struct rp_mcp_tool *tool, const struct rp_row *row);

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

/* A call of a tool: waiting, running, and what comes of it. */

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

/** Takes what the command has said meanwhile. */
void rp_mcp_call_pump(struct rp_mcp_call *call);

/** Once the child has ended and was pumped. @return the result of tools/call; NULL: out of memory
 */
json_t *rp_mcp_call_result(struct rp_mcp_call *call, int status);

/** Of a tool that did not run, or failed: the text says why. */
json_t *rp_mcp_call_failure(const char *text);

enum {
    RP_MCP_MOST_MESSAGE_BYTES = 1 << 20,
    RP_MCP_MOST_WAITING = 32, /**< calls; a further one is refused */
};

/* JSON-RPC 2.0 messages as the Model Context Protocol has them: one per line, no batches. */

/** Codes of JSON-RPC 2.0, and the one that the protocol adds. */
enum rp_mcp_code {
    RP_MCP_PARSE = -32700,
    RP_MCP_INVALID_REQUEST = -32600,
    RP_MCP_NO_METHOD = -32601,
    RP_MCP_BAD_PARAMS = -32602,
    RP_MCP_INTERNAL = -32603,
    RP_MCP_VERSION = -32022,
};

enum rp_mcp_kind { RP_MCP_REQUEST, RP_MCP_NOTIFICATION, RP_MCP_RESPONSE };

/** Release with rp_mcp_message_free; the other pointers are within root. */
struct rp_mcp_message {
    json_t *root;
    enum rp_mcp_kind kind;
    json_t *id;         /**< string or integer; NULL unless a request */
    const char *method; /**< NULL for a response */
    json_t *params;     /**< an object, or NULL */
};

/**
 * @param ret  on failure only its id and kind are of use: that of the request, as far as it could
 *             be read; RP_MCP_NOTIFICATION: nobody waits for an answer, also not for a refusal
 * @return 0, or a code of JSON-RPC with a message in err
 */
int rp_mcp_message_parse(const char *line, size_t bytes, struct rp_mcp_message *ret,
                         struct rp_err *err);
void rp_mcp_message_free(struct rp_mcp_message *message);

/** A string whatever the bytes: what is no UTF-8, or a zero, becomes '?'. */
json_t *rp_mcp_text(const char *text, size_t bytes);

/* Files of schemas/, as text, made by the build. */

extern const char rp_mcp_schema_autotune[];
extern const char rp_mcp_schema_compare[];
extern const char rp_mcp_schema_doctor[];
extern const char rp_mcp_schema_optimize[];
extern const char rp_mcp_schema_profile[];

#endif

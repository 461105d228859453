/* This is a server of the Model Context Protocol over two file descriptors. Versions 2025-06-18 and
 * 2025-11-25 begin with a handshake; with 2026-07-28 each request says its version. Calls run one
 * at a time, in the order in which they came, because measurements would disturb each other.
 * Everything else is answered at once. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "base/path.h"
#include "base/process.h"
#include "base/utf8.h"
#include "cli/cli.h"
#include "cli/mcp.h"
#include "cli/options.h"

struct rp_mcp_server {
    int in, out;
    const char *program; /**< what runs the commands */
    const char *version; /**< of it */
    bool schemas;        /**< tools are listed with all that is known of them, and answers have
                              their JSON in the text as well */
    const struct rp_mcp_workspace *workspace;
};

#define META   "io.modelcontextprotocol/"
#define MODERN "2026-07-28"

/* These versions begin with a handshake; the newest is the first. */
static const char *const handshaken[] = {"2025-11-25", "2025-06-18"};
enum { HANDSHAKEN = sizeof handshaken / sizeof *handshaken };

struct state {
    const struct rp_mcp_server *server;
    struct rp_line_reader reader;
    bool initialized;
    bool closing;                                   /**< nothing more is read */
    struct rp_mcp_call *calls[RP_MCP_MOST_WAITING]; /**< the first one runs */
    size_t count;
    struct rp_mcp_results results;
    int write_errno;
    sigset_t unblocked; /**< signals are taken while the server waits, and at no other time */
};

static const char instructions[] =
    "Profiles, analyzes and optimizes HIP programs for AMD GPUs. Call doctor first: without a GPU "
    "programs run on a software MI300X, whose times are modelled, not measured on hardware. Calls "
    "run one after another and may take minutes. An argument that several tools have is described "
    "in the first of them; numbers have limits, of which a refusal tells. Paths lie in the folder "
    "in "
    "which this server was started, or in one that its option --allow names. An answer begins with "
    "a summary; its details are a resource.";

/* A client that does not read can still end us: then PIPE_BUF bytes can be written without waiting.
 */
static int wait_to_write(const struct state *s)
{
    struct pollfd fd = {.fd = s->server->out, .events = POLLOUT};

    return ppoll(&fd, 1, NULL, &s->unblocked);
}

/* Sends the message and frees it. */
static void send_json(struct state *s, json_t *message)
{
    rp_autofree char *text =
        message ? json_dumps(message, JSON_COMPACT | JSON_REAL_PRECISION(15)) : NULL;
    rp_autobuf line = {0};
    size_t at = 0;

    json_decref(message);
    /* The text is escaped, because the client's own id is in it, and the reader of the log has a
     * terminal. */
    if (text)
        rp_escape_invisible(&line, text);
    rp_buf_puts(&line, "\n");
    if (!text)
        s->write_errno = ENOMEM;
    while (at < line.len && !s->write_errno) {
        const size_t left = line.len - at;
        const ssize_t put = wait_to_write(s) < 0 ? -1
                                                 : write(s->server->out, line.data + at,
                                                         left < PIPE_BUF ? left : PIPE_BUF);

        if (put >= 0)
            at += (size_t)put;
        else if (errno != EINTR || rp_proc_interrupted(NULL) < 0)
            s->write_errno = errno;
    }
}

static json_t *server_info(const struct state *s)
{
    return json_pack("{s:s, s:s, s:s}", "name", "rocm-perf-lab", "title", "ROCm performance lab",
                     "version", s->server->version);
}

static json_t *versions(void)
{
    json_t *array = json_array();

    json_array_append_new(array, json_string(MODERN));
    for (size_t i = 0; i < HANDSHAKEN; i++)
        json_array_append_new(array, json_string(handshaken[i]));
    return array;
}

/* Sends the result and frees it. */
static void answer(struct state *s, json_t *id, bool modern, json_t *result)
{
    if (result && modern) {
        json_t *meta = json_object_get(result, "_meta");

        if (!meta)
            json_object_set_new(result, "_meta", meta = json_object());
        json_object_set_new(meta, META "serverInfo", server_info(s));
        json_object_set_new(result, "resultType", json_string("complete"));
    }
    send_json(s, rp_mcp_result(id, result));
}

static void refuse(struct state *s, json_t *id, int code, const char *text)
{
    send_json(s, rp_mcp_error(id, code, text, NULL));
}

static void initialize(struct state *s, const struct rp_mcp_message *m)
{
    const char *wanted = json_string_value(json_object_get(m->params, "protocolVersion"));
    const char *version = handshaken[0];

    if (!wanted || !json_is_object(json_object_get(m->params, "capabilities")) ||
        !json_is_object(json_object_get(m->params, "clientInfo"))) {
        refuse(s, m->id, RP_MCP_BAD_PARAMS,
               "initialize needs protocolVersion, capabilities and clientInfo");
        return;
    }
    if (s->initialized) {
        refuse(s, m->id, RP_MCP_INVALID_REQUEST, "initialized already");
        return;
    }
    for (size_t i = 0; i < HANDSHAKEN; i++)
        if (strcmp(wanted, handshaken[i]) == 0)
            version = handshaken[i];
    s->initialized = true;
    answer(s, m->id, false,
           json_pack("{s:s, s:{s:{}, s:{}}, s:o, s:s}", "protocolVersion", version, "capabilities",
                     "tools", "resources", "serverInfo", server_info(s), "instructions",
                     instructions));
}

/* Marks an answer that clients may keep as long as this program runs, or that may be another one
 * at once. */
static void make_cacheable(json_t *result, bool stays)
{
    json_object_set_new(result, "ttlMs", json_integer(stays ? 3600000 : 0));
    json_object_set_new(result, "cacheScope", json_string(stays ? "public" : "private"));
}

static void discover(struct state *s, const struct rp_mcp_message *m)
{
    json_t *result = json_pack("{s:o, s:{s:{}, s:{}}, s:s}", "supportedVersions", versions(),
                               "capabilities", "tools", "resources", "instructions", instructions);

    make_cacheable(result, true);
    answer(s, m->id, true, result);
}

/* @return whether the one page that there is was asked for */
static bool is_first_page(struct state *s, const struct rp_mcp_message *m)
{
    if (!json_object_get(m->params, "cursor"))
        return true;
    refuse(s, m->id, RP_MCP_BAD_PARAMS, "cursor is not one of ours");
    return false;
}

/* @param stays whether the list is the same as long as this program runs */
static void answer_list(struct state *s, const struct rp_mcp_message *m, bool modern,
                        const char *key, json_t *list, bool stays)
{
    json_t *result = json_pack("{s:o}", key, list);

    if (modern)
        make_cacheable(result, stays);
    answer(s, m->id, modern, result);
}

static void read_resource(struct state *s, const struct rp_mcp_message *m, bool modern)
{
    json_t *uri = json_object_get(m->params, "uri"), *contents;

    if (!json_is_string(uri)) {
        refuse(s, m->id, RP_MCP_BAD_PARAMS, "uri is missing");
        return;
    }
    contents = rp_mcp_resource_read(&s->results, s->server->workspace, json_string_value(uri));
    if (contents)
        answer_list(s, m, modern, "contents", contents, false);
    else
        send_json(s, rp_mcp_error(m->id, modern ? RP_MCP_BAD_PARAMS : RP_MCP_NO_RESOURCE,
                                  "Resource not found", json_pack("{s:O}", "uri", uri)));
}

static void progress(struct state *s, struct rp_mcp_call *call, const char *text)
{
    if (call->news.token)
        send_json(s, rp_mcp_notifier_notify(&call->news, text, strlen(text), rp_mcp_now_ms()));
}

/* Removes a call whose result has been sent. */
static void drop(struct state *s, size_t at)
{
    rp_mcp_call_free(s->calls[at]);
    s->count--;
    memmove(s->calls + at, s->calls + at + 1, (s->count - at) * sizeof *s->calls);
}

static void start_next(struct state *s)
{
    while (s->count && !s->calls[0]->child.pid) {
        struct rp_mcp_call *call = s->calls[0];
        struct rp_err err = RP_ERR_INIT;

        if (rp_mcp_call_start(call, s->server->program, &err) == 0) {
            progress(s, call, "started");
            return;
        }
        answer(s, call->id, call->modern, rp_mcp_call_failure(err.text));
        drop(s, 0);
    }
}

static void refuse_tool(struct state *s, json_t *id, const char *name)
{
    const char *near = name ? rp_mcp_tool_near(name) : NULL;
    rp_autobuf text = {0};

    rp_buf_puts(&text, name ? "there is no such tool" : "name is missing");
    if (near)
        rp_buf_printf(&text, ", did you mean %s?", near);
    refuse(s, id, RP_MCP_BAD_PARAMS, rp_buf_text(&text));
}

static void call_tool(struct state *s, const struct rp_mcp_message *m, bool modern)
{
    const char *name = json_string_value(json_object_get(m->params, "name"));
    const struct rp_mcp_tool *tool = name ? rp_mcp_tool_find(name) : NULL;
    const json_t *arguments = json_object_get(m->params, "arguments");
    json_t *token = json_object_get(json_object_get(m->params, "_meta"), "progressToken");
    struct rp_mcp_command command;
    struct rp_err err = RP_ERR_INIT;
    struct rp_mcp_call *call;

    if (!tool) {
        refuse_tool(s, m->id, name);
        return;
    }
    if (json_is_null(arguments)) /* as some clients write what they do not give */
        arguments = NULL;
    if (arguments && !json_is_object(arguments)) {
        refuse(s, m->id, RP_MCP_BAD_PARAMS, "arguments is not an object");
        return;
    }
    if (token && !json_is_string(token) && !json_is_integer(token)) {
        refuse(s, m->id, RP_MCP_BAD_PARAMS, "progressToken is neither a string nor an integer");
        return;
    }
    if (rp_mcp_command_make(tool, arguments, s->server->workspace, &command, &err) < 0) {
        answer(s, m->id, modern, rp_mcp_call_failure(err.text));
        return;
    }
    call = s->count < RP_MCP_MOST_WAITING ? rp_alloc_zero(1, sizeof *call) : NULL;
    if (!call) {
        rp_mcp_command_free(&command);
        refuse(s, m->id, RP_MCP_INTERNAL, "too many calls are waiting");
        return;
    }
    *call = (struct rp_mcp_call){.id = json_incref(m->id),
                                 .news.token = json_incref(token),
                                 .modern = modern,
                                 .tool = tool,
                                 .command = command};
    s->calls[s->count++] = call;
    if (s->count > 1)
        progress(s, call, "waiting for the calls before");
    start_next(s);
}

static void cancel(struct state *s, const json_t *id)
{
    for (size_t i = 0; i < s->count; i++) {
        if (!json_equal(s->calls[i]->id, id))
            continue;
        if (s->calls[i]->child.pid) {
            s->calls[i]->cancelled = true;
            rp_mcp_child_end(&s->calls[i]->child);
        } else {
            drop(s, i);
        }
        return;
    }
}

/* @return whether the request is in a version that is served, and which form that has */
static bool take_version(struct state *s, const struct rp_mcp_message *m, bool *ret_modern)
{
    const json_t *meta = json_object_get(m->params, "_meta");
    const json_t *wanted = json_object_get(meta, META "protocolVersion");

    *ret_modern = wanted != NULL || strcmp(m->method, "server/discover") == 0;
    if (*ret_modern && (!json_is_string(wanted) ||
                        !json_is_object(json_object_get(meta, META "clientCapabilities")))) {
        refuse(s, m->id, RP_MCP_BAD_PARAMS,
               "_meta needs " META "protocolVersion and " META "clientCapabilities");
        return false;
    }
    if (*ret_modern && strcmp(json_string_value(wanted), MODERN) != 0) {
        send_json(
            s, rp_mcp_error(m->id, RP_MCP_VERSION, "Unsupported protocol version",
                            json_pack("{s:o, s:O}", "supported", versions(), "requested", wanted)));
        return false;
    }
    return true;
}

static bool is_in_use(const struct state *s, const json_t *id)
{
    for (size_t i = 0; i < s->count; i++)
        if (json_equal(s->calls[i]->id, id))
            return true;
    return false;
}

static void list(struct state *s, const struct rp_mcp_message *m, bool modern)
{
    const struct rp_mcp_workspace *workspace = s->server->workspace;
    const bool tools = strcmp(m->method, "tools/list") == 0;
    const bool resources = strcmp(m->method, "resources/list") == 0;

    if (!tools && !resources && strcmp(m->method, "resources/templates/list") != 0)
        refuse(s, m->id, RP_MCP_NO_METHOD, "there is no such method");
    else if (!is_first_page(s, m))
        return;
    else if (tools)
        answer_list(s, m, modern, "tools", rp_mcp_tools(s->server->schemas), true);
    else if (resources)
        answer_list(s, m, modern, "resources", rp_mcp_resource_list(&s->results, workspace), false);
    else
        answer_list(s, m, modern, "resourceTemplates", rp_mcp_resource_templates(), true);
}

static void serve_request(struct state *s, const struct rp_mcp_message *m)
{
    bool modern;

    if (is_in_use(s, m->id)) {
        refuse(s, m->id, RP_MCP_INVALID_REQUEST, "a request with this id is not answered yet");
        return;
    }
    if (!take_version(s, m, &modern))
        return;
    if (!modern && strcmp(m->method, "initialize") == 0)
        initialize(s, m);
    else if (!modern && strcmp(m->method, "ping") == 0)
        answer(s, m->id, false, json_object());
    else if (!modern && !s->initialized)
        refuse(s, m->id, RP_MCP_INVALID_REQUEST,
               "initialize comes first, or " META "protocolVersion in _meta");
    else if (strcmp(m->method, "server/discover") == 0)
        discover(s, m);
    else if (strstr(m->method, "/list"))
        list(s, m, modern);
    else if (strcmp(m->method, "resources/read") == 0)
        read_resource(s, m, modern);
    else if (strcmp(m->method, "tools/call") == 0)
        call_tool(s, m, modern);
    else
        refuse(s, m->id, RP_MCP_NO_METHOD, "there is no such method");
}

static void refuse_long(struct state *s)
{
    char text[80];

    snprintf(text, sizeof text, "a message has more than %d bytes (1 MiB)",
             RP_MCP_MOST_MESSAGE_BYTES);
    refuse(s, NULL, RP_MCP_INVALID_REQUEST, text);
}

static void serve_line(struct state *s, const char *line, size_t bytes)
{
    struct rp_mcp_message m;
    struct rp_err err = RP_ERR_INIT;
    int code;

    /* The line came whole, in few reads, so its length is checked here, too. */
    if (bytes > RP_MCP_MOST_MESSAGE_BYTES) {
        refuse_long(s);
        return;
    }
    if (strspn(line, " \t\r") >= bytes)
        return;
    code = rp_mcp_message_parse(line, bytes, &m, &err);
    if (code) {
        if (m.kind != RP_MCP_NOTIFICATION)
            refuse(s, m.id, code, err.text);
    } else if (m.kind == RP_MCP_REQUEST) {
        serve_request(s, &m);
    } else if (m.kind == RP_MCP_NOTIFICATION && strcmp(m.method, "notifications/cancelled") == 0) {
        cancel(s, json_object_get(m.params, "requestId"));
    }
    rp_mcp_message_free(&m);
}

static void read_lines(struct state *s)
{
    struct rp_err err = RP_ERR_INIT;
    const char *line;
    size_t bytes;
    int rc = rp_line_reader_fill(&s->reader, s->server->in, &err);

    if (rc == -(int)RP_BAD_INPUT) {
        refuse_long(s);
        rp_line_reader_skip(&s->reader);
        rc = 0;
    }
    while (!s->write_errno && (line = rp_line_reader_next(&s->reader, &bytes)))
        serve_line(s, line, bytes);
    if (!s->write_errno && (line = rp_line_reader_rest(&s->reader, &bytes)))
        /* A client that writes only one message may leave the newline out. */
        serve_line(s, line, bytes);
    if (rc < 0 || s->reader.ended)
        s->closing = true;
}

static void finish(struct state *s)
{
    struct rp_mcp_call *call = s->calls[0];
    const int status = rp_mcp_child_reap(&call->child);

    while (call->child.out >= 0 || call->child.err >= 0) { /* The pipes may still hold output. */
        const size_t before = call->out_bytes + call->said.len;

        rp_mcp_call_pump(call);
        if (call->out_bytes + call->said.len == before)
            break;
    }
    if (!call->cancelled && !s->closing)
        answer(s, call->id, call->modern,
               rp_mcp_call_result(call, status, s->server->schemas ? NULL : &s->results));
    drop(s, 0);
}

static void look_after_call(struct state *s)
{
    struct rp_mcp_call *call = s->count ? s->calls[0] : NULL;

    if (!call)
        return;
    rp_mcp_call_pump(call);
    if (rp_mcp_child_has_ended(&call->child))
        finish(s);
}

/* Calls that wait for their turn send notifications, too. */
static void tell_news(struct state *s)
{
    const long long now_ms = rp_mcp_now_ms();

    for (size_t i = 0; i < s->count && !s->write_errno; i++) {
        struct rp_mcp_call *call = s->calls[i];
        json_t *told = call->cancelled ? NULL
                                       : rp_mcp_notifier_due(&call->news, rp_buf_text(&call->said),
                                                             call->said.len, now_ms);

        if (told)
            send_json(s, told);
    }
}

/* No client is left, so all calls are ended. */
static void close_down(struct state *s)
{
    while (s->count > 1)
        drop(s, s->count - 1);
    if (s->count)
        rp_mcp_child_end(&s->calls[0]->child);
}

/* Returns how long to wait until something is to be done although nothing has come, or -1: for
 * ever. */
static int patience_ms(const struct state *s)
{
    const long long now_ms = rp_mcp_now_ms();
    int least_ms = s->count ? rp_mcp_child_wait_ms(&s->calls[0]->child) : -1;

    for (size_t i = 0; i < s->count && !s->closing; i++) {
        const int ms =
            s->calls[i]->cancelled ? -1 : rp_mcp_notifier_wait_ms(&s->calls[i]->news, now_ms);

        if (ms >= 0 && (least_ms < 0 || ms < least_ms))
            least_ms = ms;
    }
    return least_ms;
}

static void wait_for_something(const struct state *s)
{
    const struct rp_mcp_child *child = s->count ? &s->calls[0]->child : NULL;
    struct pollfd fds[] = {{.fd = s->closing ? -1 : s->server->in, .events = POLLIN},
                           {.fd = child ? child->pidfd : -1, .events = POLLIN},
                           {.fd = child ? child->out : -1, .events = POLLIN},
                           {.fd = child ? child->err : -1, .events = POLLIN}};
    const int ms = patience_ms(s);
    const struct timespec patience = {ms / 1000, ms % 1000 * 1000000L};

    ppoll(fds, sizeof fds / sizeof *fds, ms < 0 ? NULL : &patience, &s->unblocked);
}

static bool can_read(int fd)
{
    struct pollfd look = {.fd = fd, .events = POLLIN};

    return poll(&look, 1, 0) > 0;
}

/**
 * Serves until the other side closes in, and ends what runs then.
 * @return 0; RP_INTERRUPTED; RP_ENVIRONMENT: out cannot be written
 */
static int mcp_serve(const struct rp_mcp_server *server, struct rp_err *err)
{
    struct state s = {.server = server, .reader = {.most_bytes = RP_MCP_MOST_MESSAGE_BYTES}};
    sigset_t ending;
    int rc = 0;

    signal(SIGPIPE, SIG_IGN);
    rp_proc_catch_signals();
    sigemptyset(&ending);
    sigaddset(&ending, SIGINT);
    sigaddset(&ending, SIGTERM);
    sigaddset(&ending, SIGHUP);
    sigaddset(&ending, SIGQUIT);
    sigprocmask(SIG_BLOCK, &ending, &s.unblocked);
    while (!s.closing || s.count) {
        wait_for_something(&s);
        rc = rp_proc_interrupted(err);
        if (!s.closing && rc == 0 && can_read(server->in))
            read_lines(&s);
        look_after_call(&s);
        if (rc < 0 || s.write_errno)
            s.closing = true;
        if (s.closing)
            close_down(&s);
        else
            start_next(&s);
        if (!s.closing)
            tell_news(&s);
    }
    sigprocmask(SIG_SETMASK, &s.unblocked, NULL);
    rp_line_reader_free(&s.reader);
    rp_mcp_results_free(&s.results);
    if (rc == 0) /* A signal may have come while an answer was written. */
        rc = rp_proc_interrupted(err);
    if (rc == 0 && s.write_errno)
        return rp_fail_errno(err, RP_ENVIRONMENT, s.write_errno, "cannot write an answer");
    return rc;
}

static int make_workspace(const struct rp_mcp_cli *options, struct rp_mcp_workspace *ret,
                          struct rp_err *err)
{
    int rc = rp_mcp_workspace_add(ret, ".", err);

    if (rc < 0)
        return rp_wrap(err, "the current folder");
    for (size_t i = 0; i < options->allow.count; i++) {
        rc = rp_mcp_workspace_add(ret, options->allow.at[i], err);
        if (rc < 0)
            return rp_wrap(err, "--allow %s", options->allow.at[i]);
    }
    return 0;
}

int rp_cmd_mcp(int argc, char **argv)
{
    struct rp_mcp_server server = {.in = STDIN_FILENO,
                                   .out = STDOUT_FILENO,
                                   .program = "/proc/self/exe",
                                   .version = RP_VERSION};
    rp_cleanup(rp_mcp_workspace_free) struct rp_mcp_workspace workspace = {0};
    rp_cleanup(rp_args_free) struct rp_mcp_cli options;
    struct rp_err err = RP_ERR_INIT;
    int code;

    if (!rp_options_parse(RP_COMMAND_mcp, argc, argv, &options, &code))
        return code;
    if (make_workspace(&options, &workspace, &err) < 0)
        return rp_args_refuse(&options.args, &err);
    server.schemas = options.output_schemas;
    server.workspace = &workspace;
    return mcp_serve(&server, &err) < 0 ? rp_cli_error(&err) : RP_OK;
}

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
static void mcp_child_end(struct rp_mcp_child *child);

/** Returns the milliseconds until mcp_child_has_ended should look again, or -1: when an fd is
 * readable. */
static int mcp_child_wait_ms(const struct rp_mcp_child *child);

/** Asks again, and at last kills the child, if it was asked to end and does not do so for a while.
 * It reaps nothing. */
static bool mcp_child_has_ended(struct rp_mcp_child *child);

/**
 * Kills what the ended child has left behind, and forgets it. The caller closes out and err.
 * @return the exit status, or 128 and the signal's number
 */
static int mcp_child_reap(struct rp_mcp_child *child);

/* These say when the client hears of a call that is not answered yet, and what. A command that says
 * much is not passed on line by line. For a command that says nothing the server speaks, because
 * clients give up calls of which they do not hear. */

enum {
    RP_MCP_LEAST_MS = 250,             /**< between two notifications of what a command says */
    RP_MCP_SILENCE_MS = 10000,         /**< after so long without one, there is one all the same */
    RP_MCP_MOST_PROGRESS_BYTES = 1000, /**< of one line */
};

/** The times are those of mcp_now_ms, so that a test can use its own. */
struct rp_mcp_notifier {
    json_t *token;      /**< of the client; NULL: it does not want to hear */
    json_int_t steps;   /**< notifications so far */
    long long begun_ms; /**< when the command was started; 0: it waits for its turn */
    long long told_ms;  /**< when the last notification was */
    bool fresh;         /**< something was said since */
};

/** Makes a notification of this text now.
 * @return NULL: not wanted */
static json_t *mcp_notifier_notify(struct rp_mcp_notifier *news, const char *text, size_t bytes,
                                   long long now_ms);

/**
 * Makes the notification that is due: the last line that the command has said, or that it still
 * runs.
 * @param said the end of all that it has said
 * @return NULL: nothing yet
 */
static json_t *mcp_notifier_due(struct rp_mcp_notifier *news, const char *said, size_t bytes,
                                long long now_ms);

/** Returns the milliseconds until mcp_notifier_due may have something although nothing is said,
 * or -1: never. */
static int mcp_notifier_wait_ms(const struct rp_mcp_notifier *news, long long now_ms);

/** Reads a monotonic clock; the result is never 0. */
static long long mcp_now_ms(void);

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

static void mcp_call_free(struct rp_mcp_call *call);

static int mcp_call_start(struct rp_mcp_call *call, const char *program, struct rp_err *err);

/** Reads what the command has said meanwhile. */
static void mcp_call_pump(struct rp_mcp_call *call);

/** Makes the result of tools/call. Call it when the child has ended and everything was read. */
static json_t *mcp_call_result(struct rp_mcp_call *call, int status);

/** Makes the result of a tool that did not run, or failed; the text says why. */
static json_t *mcp_call_failure(const char *text);

enum {
    RP_MCP_MOST_MESSAGE_BYTES = 1 << 20,
    RP_MCP_MOST_WAITING = 32, /**< calls; a further one is refused */
};

/* The Model Context Protocol has JSON-RPC 2.0 messages, one per line and without batches. */

/** These are the codes of JSON-RPC 2.0, and the one that the protocol adds. */
enum rp_mcp_code {
    RP_MCP_PARSE = -32700,
    RP_MCP_INVALID_REQUEST = -32600,
    RP_MCP_NO_METHOD = -32601,
    RP_MCP_BAD_PARAMS = -32602,
    RP_MCP_INTERNAL = -32603,
    RP_MCP_VERSION = -32022,
};

enum rp_mcp_kind { RP_MCP_REQUEST, RP_MCP_NOTIFICATION, RP_MCP_RESPONSE };

/** Release it with mcp_message_free; the other pointers are within root. */
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
static int mcp_message_parse(const char *line, size_t bytes, struct rp_mcp_message *ret,
                             struct rp_err *err);
static void mcp_message_free(struct rp_mcp_message *message);

/** Makes a string of any bytes: those that are not UTF-8, and zeros, become '?'. */
static json_t *mcp_text(const char *text, size_t bytes);

/* A second request, at least a second after the first, makes a command kill what it runs. */
enum { AGAIN_MS = 3000, KILL_MS = 5000, LOOK_MS = 50 };

static void child_main(const struct rp_proc *proc, const struct rp_orphans *adopted, pid_t parent)
{
    struct rp_err err = RP_ERR_INIT;
    struct rp_buf text = {0};
    sigset_t none;

    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(RP_ENVIRONMENT);
    setpgid(0, 0);
    rp_orphans_leave(adopted);
    signal(SIGPIPE, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    rp_proc_exec(proc, &err);
    rp_escape(&text, err.text);
    dprintf(STDERR_FILENO, "rocm-perf: %s\n", rp_buf_text(&text));
    _exit(RP_ENVIRONMENT);
}

/** @param proc only path, argv and directory are used */
static int mcp_child_start(const struct rp_proc *proc, struct rp_mcp_child *ret, struct rp_err *err)
{
    struct rp_mcp_child child = {.pidfd = -1};
    rp_autoclose int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    struct rp_proc ready = *proc;
    const pid_t self = getpid();
    int out[2], said[2];

    if (nothing < 0 || pipe2(out, O_CLOEXEC) != 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot start a command");
    if (pipe2(said, O_CLOEXEC) != 0) {
        close(out[0]);
        close(out[1]);
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot start a command");
    }
    ready.stdin_fd = nothing;
    ready.stdout_fd = out[1];
    ready.stderr_fd = said[1];
    rp_orphans_begin(&child.adopted);
    child.pid = fork();
    if (child.pid == 0)
        child_main(&ready, &child.adopted, self);
    close(out[1]);
    close(said[1]);
    if (child.pid < 0) {
        const int why = errno;

        rp_orphans_end(&child.adopted);
        close(out[0]);
        close(said[0]);
        return rp_fail_errno(err, RP_ENVIRONMENT, why, "cannot start a process");
    }
    /* The child does so too, because nobody knows which of the two is first. */
    setpgid(child.pid, child.pid);
    fcntl(out[0], F_SETFL, O_NONBLOCK);
    fcntl(said[0], F_SETFL, O_NONBLOCK);
    child.out = out[0];
    child.err = said[0];
    child.pidfd = rp_pidfd_open(child.pid);
    *ret = child;
    return 0;
}

static void mcp_child_end(struct rp_mcp_child *child)
{
    if (child->asked)
        return;
    child->asked = 1;
    child->next_ask_ms = mcp_now_ms() + AGAIN_MS;
    kill(-child->pid, SIGTERM);
}

static int mcp_child_wait_ms(const struct rp_mcp_child *child)
{
    const long long left_ms = child->next_ask_ms - mcp_now_ms();
    int patience_ms = child->asked ? (left_ms > 0 ? (int)left_ms : 0) : -1;

    if (child->asked > 2) /* It was killed already. */
        patience_ms = LOOK_MS;
    if (child->pidfd < 0 && (patience_ms < 0 || patience_ms > LOOK_MS))
        patience_ms = LOOK_MS;
    return patience_ms;
}

static bool mcp_child_has_ended(struct rp_mcp_child *child)
{
    siginfo_t info = {0};

    if (waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid)
        return true;
    if (child->asked && child->asked <= 2 && mcp_now_ms() >= child->next_ask_ms) {
        kill(-child->pid, ++child->asked > 2 ? SIGKILL : SIGTERM);
        child->next_ask_ms = mcp_now_ms() + KILL_MS;
    }
    return false;
}

static int mcp_child_reap(struct rp_mcp_child *child)
{
    int status = 0;

    /* The rest of its group is killed as well, because the process is not reaped yet. */
    kill(-child->pid, SIGKILL);
    while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
        ;
    rp_orphans_kill(&child->adopted, 0);
    rp_orphans_end(&child->adopted);
    if (child->pidfd >= 0)
        close(child->pidfd);
    child->pid = 0;
    child->pidfd = -1;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void mcp_call_free(struct rp_mcp_call *call)
{
    if (!call)
        return;
    json_decref(call->id);
    json_decref(call->news.token);
    rp_mcp_command_free(&call->command);
    rp_buf_free(&call->out);
    rp_buf_free(&call->said);
    if (call->child.out > 0)
        close_fd(&call->child.out);
    if (call->child.err > 0)
        close_fd(&call->child.err);
    free(call);
}

static int mcp_call_start(struct rp_mcp_call *call, const char *program, struct rp_err *err)
{
    const struct rp_proc proc = {
        .path = program, .argv = call->command.argv, .directory = call->command.directory};

    call->news.begun_ms = mcp_now_ms();
    return mcp_child_start(&proc, &call->child, err);
}

/* Takes bytes from a pipe without waiting, only this many at a time, because others want to be
 * served, too. */
static size_t take(int *fd, char *bytes, size_t most)
{
    ssize_t got = *fd < 0 ? 0 : read(*fd, bytes, most);

    if (got == 0)
        close_fd(fd);
    return got > 0 ? (size_t)got : 0;
}

static void keep_last(struct rp_buf *said, const char *bytes, size_t count)
{
    rp_buf_add(said, bytes, count);
    if (said->len > 2 * RP_MCP_MOST_SAID_BYTES) {
        memmove(said->data, said->data + said->len - RP_MCP_MOST_SAID_BYTES,
                RP_MCP_MOST_SAID_BYTES);
        said->len = RP_MCP_MOST_SAID_BYTES;
        said->data[said->len] = '\0';
    }
}

static void mcp_call_pump(struct rp_mcp_call *call)
{
    char bytes[1 << 16];
    size_t got = take(&call->child.out, bytes, sizeof bytes);
    const size_t room = RP_MCP_MOST_RESULT_BYTES - call->out.len;

    call->out_bytes += got;
    rp_buf_add(&call->out, bytes, got < room ? got : room);
    got = take(&call->child.err, bytes, sizeof bytes);
    if (!got)
        return;
    keep_last(&call->said, bytes, got);
    call->news.fresh = true;
}

/* Says whether the command has answered the question: "no" and "not known" are answers, too. */
static bool is_answer(const struct rp_mcp_tool *tool, int status)
{
    return status == RP_OK || status == RP_VERDICT || status == tool->answer;
}

static const char *meaning(const struct rp_mcp_tool *tool, int status)
{
    if (is_answer(tool, status) && status == RP_ENVIRONMENT)
        return "something is missing here; problem says what to do";
    switch (status) {
    case RP_OK:
        return "ok";
    case RP_VERDICT:
        return "a negative verdict";
    case RP_USAGE:
        return "the arguments are wrong, or the program cannot be run";
    case RP_BAD_INPUT:
        return "input cannot be used";
    case RP_ENVIRONMENT:
        return "something is missing here; call doctor";
    case RP_PROGRAM:
        return "the program failed";
    case RP_MCP_UNDECIDED:
        return "undecided";
    default:
        return "failed";
    }
}

static void add_block(json_t *content, const char *text, size_t bytes)
{
    if (bytes)
        json_array_append_new(
            content, json_pack("{s:s, s:o}", "type", "text", "text", mcp_text(text, bytes)));
}

static json_t *mcp_call_failure(const char *text)
{
    json_t *content = json_array();

    add_block(content, text, strlen(text));
    return json_pack("{s:o, s:b}", "content", content, "isError", 1);
}

/* Adds what is known besides the output: how the command ended, and what it said. */
static void add_remarks(const struct rp_mcp_call *call, int status, bool cut, json_t *content)
{
    const size_t over =
        call->said.len > RP_MCP_MOST_SAID_BYTES ? call->said.len - RP_MCP_MOST_SAID_BYTES : 0;
    rp_autobuf text = {0};

    rp_buf_printf(&text, "exit status %d: %s\n", status, meaning(call->tool, status));
    if (cut)
        rp_buf_printf(&text,
                      "the output has %zu bytes; only the first %d are above. Ask for less (top, a "
                      "shorter run), or read the files that the command wrote\n",
                      call->out_bytes, RP_MCP_MOST_RESULT_BYTES);
    rp_buf_add(&text, rp_buf_text(&call->said) + over, call->said.len - over);
    if (status != RP_OK || cut || call->said.len)
        add_block(content, rp_buf_text(&text), text.len);
}

static json_t *mcp_call_result(struct rp_mcp_call *call, int status)
{
    const bool cut = call->out_bytes > call->out.len;
    json_t *content = json_array(), *result;
    rp_autobuf verdict = {0};
    json_t *object = cut ? NULL : json_loadb(rp_buf_text(&call->out), call->out.len, 0, NULL);
    /* A client that was promised an object must get one, or a failure. */
    const bool failed = !is_answer(call->tool, status) || cut ||
                        (call->tool->output_schema && !json_is_object(object));

    if (json_is_object(object) && !failed)
        rp_mcp_put_verdict(call->tool, &call->command, object, &verdict);
    add_block(content, rp_buf_text(&verdict), verdict.len);
    add_block(content, rp_buf_text(&call->out), call->out.len);
    add_remarks(call, status, cut, content);
    if (!json_array_size(content))
        add_block(content, "done\n", 5);
    result = json_pack("{s:o, s:b, s:{s:i}}", "content", content, "isError", (int)failed, "_meta",
                       "rocm-perf/exitStatus", status);
    if (json_is_object(object) && !failed)
        json_object_set(result, "structuredContent", object);
    json_decref(object);
    return result;
}

static json_t *mcp_progress(json_t *token, json_int_t progress, const char *text, size_t bytes)
{
    return json_pack("{s:s, s:s, s:{s:O, s:I, s:o}}", "jsonrpc", "2.0", "method",
                     "notifications/progress", "params", "progressToken", token, "progress",
                     progress, "message", mcp_text(text, bytes));
}

static json_t *mcp_text(const char *text, size_t bytes)
{
    json_t *plain = json_stringn(text, bytes);
    rp_autobuf clean = {0};

    if (plain && !memchr(text, '\0', bytes))
        return plain;
    json_decref(plain);
    for (size_t i = 0, length; i < bytes; i += length ? length : 1) {
        length = text[i] ? rp_utf8_length(text + i, bytes - i) : 0;
        rp_buf_add(&clean, length ? text + i : "?", length ? length : 1);
    }
    return json_stringn(rp_buf_text(&clean), clean.len);
}

static long long mcp_now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000 + 1;
}

static json_t *mcp_notifier_notify(struct rp_mcp_notifier *news, const char *text, size_t bytes,
                                   long long now_ms)
{
    if (!news->token)
        return NULL;
    news->told_ms = now_ms;
    news->fresh = false;
    return mcp_progress(news->token, ++news->steps, text, bytes);
}

/* Finds the last line that is not empty. Lines that a terminal would overwrite end in \r. */
static const char *last_line(const char *bytes, size_t count, size_t *ret_count)
{
    size_t begin;

    while (count && strchr("\r\n ", bytes[count - 1]))
        count--;
    for (begin = count; begin && bytes[begin - 1] != '\n' && bytes[begin - 1] != '\r';)
        begin--;
    *ret_count = count - begin;
    if (*ret_count > RP_MCP_MOST_PROGRESS_BYTES)
        *ret_count = RP_MCP_MOST_PROGRESS_BYTES;
    return bytes + begin;
}

static long long due_ms(const struct rp_mcp_notifier *news)
{
    return news->told_ms + (news->fresh ? RP_MCP_LEAST_MS : RP_MCP_SILENCE_MS);
}

static json_t *mcp_notifier_due(struct rp_mcp_notifier *news, const char *said, size_t bytes,
                                long long now_ms)
{
    rp_autobuf text = {0};
    size_t line_bytes = 0;
    const char *line;

    if (!news->token || now_ms < due_ms(news))
        return NULL;
    line = last_line(said, bytes, &line_bytes);
    if (news->fresh && line_bytes)
        return mcp_notifier_notify(news, line, line_bytes, now_ms);
    if (news->fresh) { /* There was only an empty line. */
        news->fresh = false;
        return mcp_notifier_due(news, said, bytes, now_ms);
    }
    if (news->begun_ms)
        rp_buf_printf(&text, "it still runs, after %lld s", (now_ms - news->begun_ms) / 1000);
    else
        rp_buf_puts(&text, "it still waits for the calls before");
    return mcp_notifier_notify(news, rp_buf_text(&text), text.len, now_ms);
}

static int mcp_notifier_wait_ms(const struct rp_mcp_notifier *news, long long now_ms)
{
    const long long left_ms = due_ms(news) - now_ms;

    if (!news->token)
        return -1;
    return left_ms > 0 ? (int)left_ms : 0;
}

static bool is_id(const json_t *id)
{
    return json_is_string(id) || json_is_integer(id);
}

static int message_refuse(struct rp_err *err, enum rp_mcp_code code, const char *text)
{
    rp_fail(err, RP_BAD_INPUT, "%s", text);
    return code;
}

static int take_members(struct rp_mcp_message *m, struct rp_err *err)
{
    const char *version = json_string_value(json_object_get(m->root, "jsonrpc"));
    json_t *id = json_object_get(m->root, "id");
    json_t *method = json_object_get(m->root, "method");

    if (is_id(id))
        m->id = id;
    if (!version || strcmp(version, "2.0") != 0)
        return message_refuse(err, RP_MCP_INVALID_REQUEST, "jsonrpc is not \"2.0\"");
    if (!method && (json_object_get(m->root, "result") || json_object_get(m->root, "error"))) {
        m->kind = RP_MCP_RESPONSE;
        return 0;
    }
    if (!json_is_string(method))
        return message_refuse(err, RP_MCP_INVALID_REQUEST, "method is not a string");
    if (id && !m->id)
        return message_refuse(err, RP_MCP_INVALID_REQUEST, "id is neither a string nor an integer");
    m->kind = id ? RP_MCP_REQUEST : RP_MCP_NOTIFICATION;
    m->method = json_string_value(method);
    m->params = json_object_get(m->root, "params");
    if (m->params && !json_is_object(m->params))
        return message_refuse(err, RP_MCP_BAD_PARAMS, "params is not an object");
    return 0;
}

static int mcp_message_parse(const char *line, size_t bytes, struct rp_mcp_message *ret,
                             struct rp_err *err)
{
    struct rp_mcp_message m = {0};
    json_error_t where;
    int code;

    m.root = json_loadb(line, bytes, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &where);
    if (!m.root) {
        rp_fail(err, RP_BAD_INPUT, "not JSON: %s", where.text);
        code = RP_MCP_PARSE;
    } else if (json_is_array(m.root)) {
        code = message_refuse(err, RP_MCP_INVALID_REQUEST, "batches are not part of the protocol");
    } else if (!json_is_object(m.root)) {
        code = message_refuse(err, RP_MCP_INVALID_REQUEST, "a message is an object");
    } else {
        code = take_members(&m, err);
    }
    *ret = m;
    return code;
}

static void mcp_message_free(struct rp_mcp_message *message)
{
    json_decref(message->root);
    *message = (struct rp_mcp_message){0};
}

static json_t *mcp_result(json_t *id, json_t *result)
{
    return json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", id, "result", result);
}

/** @param id of the request; NULL: not known */
static json_t *mcp_error(json_t *id, int code, const char *text, json_t *data)
{
    json_t *error = json_pack("{s:i, s:o}", "code", code, "message", mcp_text(text, strlen(text)));

    if (data && json_object_set_new(error, "data", data) < 0)
        return NULL;
    return json_pack("{s:s, s:o, s:o}", "jsonrpc", "2.0", "id", id ? json_incref(id) : json_null(),
                     "error", error);
}

struct rp_mcp_server {
    int in, out;
    const char *program; /**< what runs the commands */
    const char *version; /**< of it */
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
    int write_errno;
    sigset_t unblocked; /**< signals are taken while the server waits, and at no other time */
};

static const char instructions[] =
    "Profiles, analyzes and optimizes HIP programs for AMD GPUs. Call doctor first: without a GPU "
    "programs run on a software MI300X, whose times are modelled, not measured on hardware. Calls "
    "run one after another and may take minutes.";

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
    send_json(s, mcp_result(id, result));
}

static void refuse(struct state *s, json_t *id, int code, const char *text)
{
    send_json(s, mcp_error(id, code, text, NULL));
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
           json_pack("{s:s, s:{s:{}}, s:o, s:s}", "protocolVersion", version, "capabilities",
                     "tools", "serverInfo", server_info(s), "instructions", instructions));
}

/* Marks an answer that clients may keep as long as this program runs. */
static void make_cacheable(json_t *result)
{
    json_object_set_new(result, "ttlMs", json_integer(3600000));
    json_object_set_new(result, "cacheScope", json_string("public"));
}

static void discover(struct state *s, const struct rp_mcp_message *m)
{
    json_t *result = json_pack("{s:o, s:{s:{}}, s:s}", "supportedVersions", versions(),
                               "capabilities", "tools", "instructions", instructions);

    make_cacheable(result);
    answer(s, m->id, true, result);
}

static void list_tools(struct state *s, const struct rp_mcp_message *m, bool modern)
{
    json_t *result;

    if (json_object_get(m->params, "cursor")) { /* There is only one page, so a cursor is wrong. */
        refuse(s, m->id, RP_MCP_BAD_PARAMS, "cursor is not one of ours");
        return;
    }
    result = json_pack("{s:o}", "tools", rp_mcp_tools());
    if (modern)
        make_cacheable(result);
    answer(s, m->id, modern, result);
}

static void progress(struct state *s, struct rp_mcp_call *call, const char *text)
{
    if (call->news.token)
        send_json(s, mcp_notifier_notify(&call->news, text, strlen(text), mcp_now_ms()));
}

/* Removes a call whose result has been sent. */
static void drop(struct state *s, size_t at)
{
    mcp_call_free(s->calls[at]);
    s->count--;
    memmove(s->calls + at, s->calls + at + 1, (s->count - at) * sizeof *s->calls);
}

static void start_next(struct state *s)
{
    while (s->count && !s->calls[0]->child.pid) {
        struct rp_mcp_call *call = s->calls[0];
        struct rp_err err = RP_ERR_INIT;

        if (mcp_call_start(call, s->server->program, &err) == 0) {
            progress(s, call, "started");
            return;
        }
        answer(s, call->id, call->modern, mcp_call_failure(err.text));
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
    if ((arguments && !json_is_object(arguments)) ||
        (token && !json_is_string(token) && !json_is_integer(token))) {
        refuse(s, m->id, RP_MCP_BAD_PARAMS,
               "arguments is not an object, or progressToken neither a string nor an integer");
        return;
    }
    if (rp_mcp_command_make(tool, arguments, &command, &err) < 0) {
        answer(s, m->id, modern, mcp_call_failure(err.text));
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
            mcp_child_end(&s->calls[i]->child);
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
        send_json(s,
                  mcp_error(m->id, RP_MCP_VERSION, "Unsupported protocol version",
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
    else if (strcmp(m->method, "tools/list") == 0)
        list_tools(s, m, modern);
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
    code = mcp_message_parse(line, bytes, &m, &err);
    if (code) {
        if (m.kind != RP_MCP_NOTIFICATION)
            refuse(s, m.id, code, err.text);
    } else if (m.kind == RP_MCP_REQUEST) {
        serve_request(s, &m);
    } else if (m.kind == RP_MCP_NOTIFICATION && strcmp(m.method, "notifications/cancelled") == 0) {
        cancel(s, json_object_get(m.params, "requestId"));
    }
    mcp_message_free(&m);
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
    const int status = mcp_child_reap(&call->child);

    while (call->child.out >= 0 || call->child.err >= 0) { /* The pipes may still hold output. */
        const size_t before = call->out_bytes + call->said.len;

        mcp_call_pump(call);
        if (call->out_bytes + call->said.len == before)
            break;
    }
    if (!call->cancelled && !s->closing)
        answer(s, call->id, call->modern, mcp_call_result(call, status));
    drop(s, 0);
}

static void look_after_call(struct state *s)
{
    struct rp_mcp_call *call = s->count ? s->calls[0] : NULL;

    if (!call)
        return;
    mcp_call_pump(call);
    if (mcp_child_has_ended(&call->child))
        finish(s);
}

/* Calls that wait for their turn send notifications, too. */
static void tell_news(struct state *s)
{
    const long long now_ms = mcp_now_ms();

    for (size_t i = 0; i < s->count && !s->write_errno; i++) {
        struct rp_mcp_call *call = s->calls[i];
        json_t *told = call->cancelled ? NULL
                                       : mcp_notifier_due(&call->news, rp_buf_text(&call->said),
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
        mcp_child_end(&s->calls[0]->child);
}

/* Returns how long to wait until something is to be done although nothing has come, or -1: for
 * ever. */
static int patience_ms(const struct state *s)
{
    const long long now_ms = mcp_now_ms();
    int least_ms = s->count ? mcp_child_wait_ms(&s->calls[0]->child) : -1;

    for (size_t i = 0; i < s->count && !s->closing; i++) {
        const int ms =
            s->calls[i]->cancelled ? -1 : mcp_notifier_wait_ms(&s->calls[i]->news, now_ms);

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
    if (rc == 0) /* A signal may have come while an answer was written. */
        rc = rp_proc_interrupted(err);
    if (rc == 0 && s.write_errno)
        return rp_fail_errno(err, RP_ENVIRONMENT, s.write_errno, "cannot write an answer");
    return rc;
}

int rp_cmd_mcp(int argc, char **argv)
{
    const struct rp_mcp_server server = {.in = STDIN_FILENO,
                                         .out = STDOUT_FILENO,
                                         .program = "/proc/self/exe",
                                         .version = RP_VERSION};
    struct rp_err err = RP_ERR_INIT;
    struct rp_mcp_cli options;
    int code;

    if (!rp_options_parse(RP_COMMAND_mcp, argc, argv, &options, &code))
        return code;
    return mcp_serve(&server, &err) < 0 ? rp_cli_error(&err) : RP_OK;
}

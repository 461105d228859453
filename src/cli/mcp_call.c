/* This is a call of a tool: its process, what that says, and what becomes of it. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/process.h"
#include "base/utf8.h"
#include "cli/mcp.h"

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
static int child_start(const struct rp_proc *proc, struct rp_mcp_child *ret, struct rp_err *err)
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

void rp_mcp_child_end(struct rp_mcp_child *child)
{
    if (child->asked)
        return;
    child->asked = 1;
    child->next_ask_ms = rp_mcp_now_ms() + AGAIN_MS;
    kill(-child->pid, SIGTERM);
}

int rp_mcp_child_wait_ms(const struct rp_mcp_child *child)
{
    const long long left_ms = child->next_ask_ms - rp_mcp_now_ms();
    int patience_ms = child->asked ? (left_ms > 0 ? (int)left_ms : 0) : -1;

    if (child->asked > 2) /* It was killed already. */
        patience_ms = LOOK_MS;
    if (child->pidfd < 0 && (patience_ms < 0 || patience_ms > LOOK_MS))
        patience_ms = LOOK_MS;
    return patience_ms;
}

bool rp_mcp_child_has_ended(struct rp_mcp_child *child)
{
    siginfo_t info = {0};

    if (waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid)
        return true;
    if (child->asked && child->asked <= 2 && rp_mcp_now_ms() >= child->next_ask_ms) {
        kill(-child->pid, ++child->asked > 2 ? SIGKILL : SIGTERM);
        child->next_ask_ms = rp_mcp_now_ms() + KILL_MS;
    }
    return false;
}

int rp_mcp_child_reap(struct rp_mcp_child *child)
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

void rp_mcp_call_free(struct rp_mcp_call *call)
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

int rp_mcp_call_start(struct rp_mcp_call *call, const char *program, struct rp_err *err)
{
    const struct rp_proc proc = {
        .path = program, .argv = call->command.argv, .directory = call->command.directory};

    call->news.begun_ms = rp_mcp_now_ms();
    return child_start(&proc, &call->child, err);
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

void rp_mcp_call_pump(struct rp_mcp_call *call)
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
            content, json_pack("{s:s, s:o}", "type", "text", "text", rp_mcp_text(text, bytes)));
}

json_t *rp_mcp_call_failure(const char *text)
{
    json_t *content = json_array();
    rp_autobuf line = {0};

    rp_escape(&line, text); /* It may have what the client sent. */
    add_block(content, rp_buf_text(&line), line.len);
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
        rp_buf_printf(
            &text,
            "the output has %zu bytes; only the first %d are passed on. Ask for less (top, a "
            "shorter run), or read the files that the command wrote\n",
            call->out_bytes, RP_MCP_MOST_RESULT_BYTES);
    rp_buf_add(&text, rp_buf_text(&call->said) + over, call->said.len - over);
    if (status != RP_OK || cut || call->said.len)
        add_block(content, rp_buf_text(&text), text.len);
}

/** Keeps the output, and says where it can be read. */
static void put_details(const struct rp_mcp_call *call, bool is_json,
                        struct rp_mcp_results *results, struct rp_buf *to)
{
    const unsigned number = rp_mcp_results_keep(results, call->tool, &call->out, is_json);
    const size_t pages = rp_mcp_pages(rp_buf_text(&call->out), call->out.len);

    rp_buf_printf(to, "Details: resource rocm-perf://calls/%u", number);
    if (pages > 1)
        rp_buf_printf(to, " (%zu pages; the second is rocm-perf://calls/%u?page=2)", pages, number);
    rp_buf_puts(to, "\n");
}

/** Adds a result that structuredContent has: its summary, and where its details are. */
static void add_summary(const struct rp_mcp_call *call, const json_t *object,
                        struct rp_mcp_results *results, json_t *content)
{
    rp_autobuf text = {0};

    rp_mcp_put_summary(call->tool, &call->command, object, &text);
    if (results)
        put_details(call, true, results, &text);
    add_block(content, rp_buf_text(&text), text.len);
    if (!results)
        add_block(content, rp_buf_text(&call->out), call->out.len);
}

/** Adds output that the text alone has, or of a long one its first page. */
static void add_output(const struct rp_mcp_call *call, struct rp_mcp_results *results,
                       json_t *content)
{
    const bool is_long = results && call->out.len > RP_MCP_PAGE_BYTES;
    rp_autobuf text = {0};

    add_block(content, rp_buf_text(&call->out),
              is_long ? rp_mcp_page_end(rp_buf_text(&call->out), call->out.len, 0) : call->out.len);
    if (!is_long)
        return;
    put_details(call, false, results, &text);
    add_block(content, rp_buf_text(&text), text.len);
}

json_t *rp_mcp_call_result(struct rp_mcp_call *call, int status, struct rp_mcp_results *results)
{
    const bool cut = call->out_bytes > call->out.len;
    json_t *content = json_array(), *result;
    json_t *object = cut ? NULL : json_loadb(rp_buf_text(&call->out), call->out.len, 0, NULL);
    /* A client that was promised an object must get one, or a failure. */
    const bool failed = !is_answer(call->tool, status) || cut ||
                        (call->tool->output_schema && !json_is_object(object));

    if (json_is_object(object) && !failed)
        add_summary(call, object, results, content);
    else
        add_output(call, results, content);
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

#include "mcp/call.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/process.h"
#include "mcp/message.h"

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
    return rp_mcp_child_start(&proc, &call->child, err);
}

/* Bytes from a pipe without waiting, at most so many at a time: others want to be served, too. */
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
    if (!said->failed && said->len > 2 * RP_MCP_MOST_SAID_BYTES) {
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

/* Whether the command has answered the question: "no" and "not known" are answers, too. */
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

    add_block(content, text, strlen(text));
    return json_pack("{s:o, s:b}", "content", content, "isError", 1);
}

/* What is known besides the output: how it ended, and what it said. */
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

json_t *rp_mcp_call_result(struct rp_mcp_call *call, int status)
{
    const bool cut = call->out_bytes > call->out.len;
    json_t *content = json_array(), *result;
    json_t *object = cut ? NULL : json_loadb(rp_buf_text(&call->out), call->out.len, 0, NULL);
    /* Who has been promised an object gets one, or a failure. */
    const bool failed = !is_answer(call->tool, status) || cut ||
                        (call->tool->output_schema && !json_is_object(object));

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

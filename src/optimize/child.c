#include "optimize/child.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "collect/compiler_cache.h"

static const uint64_t GIB = (uint64_t)1 << 30;

struct rp_proc_limits rp_compiler_limits(void)
{
    /* clang of the HIP examples has about 2 GB of addresses and 0.3 GB of memory. */
    return (struct rp_proc_limits){
        .address_bytes = 16 * GIB, .resident_bytes = 6 * GIB, .file_bytes = 2 * GIB, .cpu_s = 1800};
}

struct rp_proc_limits rp_program_limits(void)
{
    /* The software device keeps its memory in a file of the size of a GPU's. */
    return (struct rp_proc_limits){.resident_bytes = 32 * GIB};
}

static int open_output(const char *path, struct rp_err *err)
{
    int fd =
        open(path ? path : "/dev/null", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_APPEND, 0600);

    return fd >= 0 ? fd
                   : rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot write %s",
                                   path ? path : "/dev/null");
}

int rp_child_run(const struct rp_child *child, struct rp_proc_end *ret, struct rp_err *err)
{
    const bool one_file = child->stdout_path && child->stderr_path &&
                          strcmp(child->stdout_path, child->stderr_path) == 0;
    rp_autofree char *path = NULL;
    rp_autoclose int in = -1;
    rp_autoclose int out = -1;
    rp_autoclose int other = -1;
    int rc = rp_find_program(child->argv[0], &path, err);

    if (rc < 0)
        return rc;
    /* In a group of its own a read from the terminal would stop it for ever. */
    in = open(child->stdin_path ? child->stdin_path : "/dev/null", O_RDONLY | O_CLOEXEC);
    if (in < 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot open %s",
                             child->stdin_path ? child->stdin_path : "/dev/null");
    out = open_output(child->stdout_path, err);
    if (out < 0)
        return out;
    other = one_file ? -1 : open_output(child->stderr_path, err);
    if (!one_file && other < 0)
        return other;
    const struct rp_proc proc = {.path = path,
                                 .argv = (char *const *)(uintptr_t)child->argv,
                                 .env = child->env,
                                 .directory = child->directory,
                                 .stdin_fd = in,
                                 .stdout_fd = out,
                                 .stderr_fd = one_file ? out : other,
                                 .timeout_ns = child->timeout_ns,
                                 .limits = &child->limits,
                                 .waiting = child->waiting,
                                 .context = child->context};

    return child->compiler_of ? rp_compiler_run(child->compiler_of, &proc, child->again, ret, err)
                              : rp_proc_run(&proc, ret, err);
}

static bool read_part(int fd, off_t offset, char *at, size_t bytes)
{
    size_t have = 0;

    while (have < bytes) {
        ssize_t got = pread(fd, at + have, bytes - have, offset + (off_t)have);

        if (got <= 0)
            return false;
        have += (size_t)got;
    }
    return true;
}

/** ROCr says so at the end of programs that are in order, and it is no line of theirs. */
static void drop_leaks(char *text)
{
    static const char leak[] = "Warning: Resource leak detected by ";

    for (char *line = text; *line;) {
        char *next = line + strcspn(line, "\n");

        next += *next != 0;
        if (strncmp(line, leak, sizeof leak - 1) == 0)
            memmove(line, next, strlen(next) + 1);
        else
            line = next;
    }
}

static char *read_text(const char *path, size_t most_bytes)
{
    static const char between[] = "\n...\n";
    rp_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    rp_autofree char *text = malloc(most_bytes + sizeof between);
    const size_t half = most_bytes / 2;
    struct stat st;
    size_t bytes;

    if (fd < 0 || !text || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return NULL;
    bytes = (size_t)st.st_size;
    if (bytes <= most_bytes) {
        if (!read_part(fd, 0, text, bytes))
            return NULL;
        text[bytes] = 0;
        return rp_steal(text);
    }
    if (!read_part(fd, 0, text, half) ||
        !read_part(fd, (off_t)(bytes - half), text + half + sizeof between - 1, half))
        return NULL;
    memcpy(text + half, between, sizeof between - 1);
    text[2 * half + sizeof between - 1] = 0;
    return rp_steal(text);
}

char *rp_child_text(const char *path, size_t most_bytes)
{
    char *text = read_text(path, most_bytes);

    if (text)
        drop_leaks(text);
    return text;
}

static bool is_blank(char c)
{
    return (unsigned char)c <= ' ';
}

char *rp_child_one_line(const char *text)
{
    rp_autobuf line = {0};

    while (*text) {
        const size_t bytes = strcspn(text, "\n");
        size_t first = 0, end = bytes;

        while (first < end && is_blank(text[first]))
            first++;
        while (end > first && is_blank(text[end - 1]))
            end--;
        if (end > first && line.len)
            rp_buf_puts(&line, " | ");
        for (size_t i = first; i < end; i++)
            rp_buf_add(&line, is_blank(text[i]) ? " " : text + i, 1);
        text += bytes + (text[bytes] == '\n');
    }
    return line.len || line.failed ? rp_buf_steal(&line) : strdup("");
}

size_t rp_child_whole_bytes(const char *text, size_t most_bytes)
{
    size_t bytes = strnlen(text, most_bytes + 1);

    if (bytes <= most_bytes)
        return bytes;
    for (bytes = most_bytes; bytes && ((unsigned char)text[bytes] & 0xC0) == 0x80;)
        bytes--;
    return bytes;
}

char *rp_child_last_lines(const char *path)
{
    enum { MOST_LINES = 6, MOST_BYTES = 600 };
    rp_autofree char *text = rp_child_text(path, (size_t)2 * MOST_BYTES);
    size_t length = text ? strlen(text) : 0, begin;

    while (length && text[length - 1] == '\n')
        length--;
    begin = length;
    for (unsigned lines = 0; begin && length - begin < MOST_BYTES; begin--)
        if (text[begin - 1] == '\n' && ++lines == MOST_LINES)
            break;
    while (begin < length && ((unsigned char)text[begin] & 0xC0) == 0x80)
        begin++; /* inside a character */
    if (text)
        text[length] = 0;
    return rp_child_one_line(text ? text + begin : "");
}

char *rp_child_end_text(const struct rp_proc_end *end)
{
    if (end->over_memory)
        return rp_format("it took more memory than it may");
    if (end->timed_out)
        return rp_format("it did not end in time");
    if (end->signaled)
        return rp_format("it was ended by SIG%s", sigabbrev_np(end->status) ?: "?");
    return rp_format("it ended with exit status %d", end->status);
}

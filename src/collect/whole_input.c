#include "collect/whole_input.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/process.h"

enum {
    CHUNK_BYTES = 64 << 10,
    SLICE_MS = 500,
    NOTICE_MS = 2000,
    /* Who starts us may leave a pipe open into which nobody writes: that must not last for ever. */
    PATIENCE_MS = 60000,
};

static bool is_readable(void)
{
    struct stat info;

    return fstat(STDIN_FILENO, &info) == 0 &&
           (S_ISREG(info.st_mode) || S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode));
}

__attribute__((format(printf, 2, 3))) static void note(const struct rp_whole_input *in,
                                                       const char *fmt, ...)
{
    rp_autobuf text = {0};
    va_list ap;

    if (!in->note)
        return;
    va_start(ap, fmt);
    rp_buf_vprintf(&text, fmt, ap);
    va_end(ap);
    in->note(in->context, rp_buf_text(&text));
}

static int paused_too_long(uint64_t bytes, int patience_ms, struct rp_err *err)
{
    return rp_fail(
        err, RP_USAGE,
        "standard input has paused for %g s after %" PRIu64
        " bytes, and has not ended; each run gets all of it: give it as a file (< FILE), "
        "or an empty one (< /dev/null)",
        patience_ms / 1000.0, bytes);
}

/* Until something can be read, or the end. */
static int wait_for_some(const struct rp_whole_input *in, uint64_t bytes, bool *noted,
                         struct rp_err *err)
{
    const int patience_ms = in->patience_ms ? in->patience_ms : PATIENCE_MS;
    const int notice_ms = in->notice_ms ? in->notice_ms : NOTICE_MS;
    struct pollfd fds = {.fd = STDIN_FILENO, .events = POLLIN};

    for (int waited_ms = 0; waited_ms < patience_ms;) {
        const int left_ms = patience_ms - waited_ms;
        const int slice_ms = left_ms < SLICE_MS ? left_ms : SLICE_MS;
        const int ready = poll(&fds, 1, slice_ms);
        const int code = errno, rc = rp_proc_interrupted(err);

        if (rc < 0)
            return rc;
        if (ready > 0)
            return 0;
        if (ready < 0 && code != EINTR)
            return rp_fail_errno(err, RP_ENVIRONMENT, code, "standard input");
        waited_ms += ready == 0 ? slice_ms : 0;
        if (waited_ms >= notice_ms && !*noted) {
            note(in, "waiting for the end of standard input, all of which each run gets; "
                     "< /dev/null gives an empty one");
            *noted = true;
        }
    }
    return paused_too_long(bytes, patience_ms, err);
}

/* @return 0; *ret_bytes: what has come */
static int copy(const struct rp_whole_input *in, int fd, const char *path, uint64_t *ret_bytes,
                struct rp_err *err)
{
    const uint64_t most_bytes = in->most_bytes ? in->most_bytes : RP_WHOLE_INPUT_MOST_BYTES;
    char bytes[CHUNK_BYTES];
    bool noted = false;
    uint64_t count = 0;

    for (;;) {
        int rc = wait_for_some(in, count, &noted, err);
        ssize_t n;

        if (rc < 0)
            return rc;
        n = read(STDIN_FILENO, bytes, sizeof bytes);
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (n < 0)
            return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot read standard input");
        if (n == 0)
            break;
        count += (uint64_t)n;
        if (count > most_bytes)
            return rp_fail(err, RP_USAGE,
                           "standard input has more than %" PRIu64
                           " MiB, or no end; each run gets all of "
                           "it: let the program read a file instead",
                           most_bytes >> 20);
        if (rp_write_all(fd, bytes, (size_t)n) < 0)
            return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot write %s", path);
    }
    *ret_bytes = count;
    return 0;
}

static bool is_same(const char *a, const char *b)
{
    rp_autoclose int x = open(a, O_RDONLY | O_CLOEXEC), y = -1;
    char p[CHUNK_BYTES / 2], q[CHUNK_BYTES / 2];
    bool same;
    ssize_t n = 1;

    y = open(b, O_RDONLY | O_CLOEXEC);
    same = x >= 0 && y >= 0;
    while (same && n > 0) {
        n = read(x, p, sizeof p);
        same = n >= 0 && read(y, q, sizeof q) == n && memcmp(p, q, (size_t)n) == 0;
    }
    if (y >= 0)
        close(y);
    return same;
}

/* Other input than what the first programs had. */
static int differs(const char *path, struct rp_err *err)
{
    const char *slash = strrchr(path, '/');

    if (rp_path_exists(path))
        return rp_fail(err, RP_USAGE,
                       "standard input is not what it was when this was begun (%s): give the same, "
                       "or none (< /dev/null), which goes on with that",
                       path);
    return rp_fail(err, RP_USAGE,
                   "programs of %.*s had no standard input when this was begun: give none "
                   "(< /dev/null)",
                   slash ? (int)(slash - path) : 1, slash ? path : ".");
}

static int take(const char *fresh, const struct rp_whole_input *in, uint64_t bytes,
                struct rp_err *err)
{
    if (bytes == 0 || (in->resumed && is_same(fresh, in->path))) {
        unlink(fresh);
        if (!in->resumed)
            unlink(in->path);
        return 0;
    }
    if (in->resumed)
        return differs(in->path, err);
    return rename(fresh, in->path) == 0
               ? 0
               : rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot write %s", in->path);
}

int rp_whole_input_save(const struct rp_whole_input *in, bool *ret_has, struct rp_err *err)
{
    rp_autofree char *fresh = rp_format("%s.new", in->path);
    const bool readable = is_readable(); /* a file that is opened may take its place */
    rp_autoclose int fd = -1;
    uint64_t bytes = 0;
    int rc = 0;

    if (!fresh)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot write %s", fresh);
    if (readable)
        rc = copy(in, fd, fresh, &bytes, err);
    if (rc == 0)
        rc = take(fresh, in, bytes, err);
    if (rc < 0) {
        unlink(fresh);
        return rc;
    }
    if (bytes > 0)
        note(in, "%" PRIu64 " bytes of standard input were read; each run gets all of them", bytes);
    *ret_has = rp_path_exists(in->path);
    return 0;
}

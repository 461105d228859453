#include "collect/whole_input.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/proc.h"

enum {
    CHUNK_BYTES = 64 << 10,
    /* Who starts us may leave a pipe open into which nobody writes: that must not hold us up. */
    FIRST_MS = 2000,
    NEXT_MS = 10000,
};

static bool is_readable(void)
{
    struct stat info;

    return fstat(STDIN_FILENO, &info) == 0 &&
           (S_ISREG(info.st_mode) || S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode));
}

/* @return 1: something can be read, or the end; 0: nothing has come for so long; or an error */
static int wait_for_some(int timeout_ms, struct rp_err *err)
{
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};

    for (;;) {
        const int ready = poll(&in, 1, timeout_ms);
        const int rc = rp_proc_interrupted(err);

        if (rc < 0)
            return rc;
        if (ready >= 0)
            return ready;
        if (errno != EINTR)
            return rp_fail_errno(err, RP_ENVIRONMENT, errno, "standard input");
    }
}

static int write_all(int fd, const char *bytes, size_t count, const char *path, struct rp_err *err)
{
    while (count > 0) {
        const ssize_t n = write(fd, bytes, count);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return rp_fail_errno(err, RP_ENVIRONMENT, n < 0 ? errno : ENOSPC, "cannot write %s",
                                 path);
        bytes += n;
        count -= (size_t)n;
    }
    return 0;
}

/* @return 0; *ret_bytes: what has come */
static int copy(int fd, const char *path, uint64_t most_bytes, uint64_t *ret_bytes, bool *ret_idle,
                struct rp_err *err)
{
    char bytes[CHUNK_BYTES];
    uint64_t count = 0;

    for (;;) {
        int rc = wait_for_some(count ? NEXT_MS : FIRST_MS, err);
        ssize_t n;

        if (rc < 0)
            return rc;
        *ret_idle = rc == 0 && count == 0;
        if (rc == 0 && count)
            return rp_fail(
                err, RP_USAGE,
                "standard input does not end: after %" PRIu64
                " bytes nothing has come for %d s; each run gets all of it: give it as a "
                "file (< FILE)",
                count, NEXT_MS / 1000);
        n = rc == 0 ? 0 : read(STDIN_FILENO, bytes, sizeof bytes);
        if (n < 0 && errno == EINTR)
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
        rc = write_all(fd, bytes, (size_t)n, path, err);
        if (rc < 0)
            return rc;
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

static int take(const char *fresh, const char *path, uint64_t bytes, bool resumed,
                struct rp_err *err)
{
    if (bytes == 0 || (resumed && is_same(fresh, path))) {
        unlink(fresh);
        if (!resumed)
            unlink(path);
        return 0;
    }
    if (resumed)
        return rp_fail(err, RP_USAGE,
                       "standard input is not what it was when this was begun (%s): give the same, "
                       "or none (< /dev/null), which goes on with that",
                       path);
    return rename(fresh, path) == 0
               ? 0
               : rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot write %s", path);
}

int rp_whole_input_save(const char *path, uint64_t most_bytes, bool resumed, bool *ret_has,
                        bool *ret_idle, struct rp_err *err)
{
    rp_autofree char *fresh = rp_format("%s.new", path);
    const bool readable = is_readable(); /* a file that is opened may take its place */
    rp_autoclose int fd = -1;
    uint64_t bytes = 0;
    bool idle = false;
    int rc = 0;

    if (!fresh)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot write %s", fresh);
    if (readable)
        rc = copy(fd, fresh, most_bytes, &bytes, &idle, err);
    if (rc == 0)
        rc = take(fresh, path, bytes, resumed, err);
    if (rc < 0) {
        unlink(fresh);
        return rc;
    }
    *ret_has = rp_path_exists(path);
    *ret_idle = idle;
    return 0;
}

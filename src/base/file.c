/* Reads and writes whole files, as text or as bytes, and reads lines of a pipe or socket. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/process.h"

int rp_read_file(const char *path, size_t most_bytes, enum rp_code code, void **ret,
                 size_t *ret_bytes, struct rp_err *err)
{
    /* Without O_NONBLOCK, opening a pipe that has no writer would wait for one. */
    rp_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    rp_autofree char *bytes = NULL;
    struct stat st;
    size_t have = 0;

    if (fd < 0 || fstat(fd, &st) != 0)
        return rp_fail_errno(err, code, errno, "cannot read %s", path);
    if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size > most_bytes)
        return rp_fail(err, code, "%s is no file, or larger than %zu MiB", path, most_bytes >> 20);
    bytes = rp_alloc((size_t)st.st_size + 1);
    if (!bytes)
        return rp_out_of_memory(err);
    while (have < (size_t)st.st_size) {
        ssize_t got = read(fd, bytes + have, (size_t)st.st_size - have);

        if (got < 0)
            return rp_fail_errno(err, code, errno, "cannot read %s", path);
        if (got == 0)
            return rp_fail(err, code, "cannot read all of %s", path);
        have += (size_t)got;
    }
    *ret = rp_steal(bytes);
    *ret_bytes = have;
    return 0;
}

char *rp_read_text(const char *path, size_t max_bytes)
{
    rp_autobuf buf = {0};
    rp_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    char block[4096];
    ssize_t got;

    if (fd < 0)
        return NULL;
    while ((got = read(fd, block, sizeof block)) > 0) {
        rp_buf_add(&buf, block, (size_t)got);
        if (buf.len > max_bytes)
            return NULL;
    }
    return got < 0 ? NULL : rp_buf_steal(&buf);
}

char *rp_read_line(const char *path)
{
    char *text = rp_read_text(path, 1 << 20);

    if (text)
        text[strcspn(text, "\n")] = '\0';
    return text;
}

/* Files are there whole or not at all. What is written has no name until it is complete, so a
 * process that is killed meanwhile leaves nothing to sweep up. */

int rp_write_all(int fd, const void *data, size_t bytes)
{
    for (const char *at = data; bytes;) {
        ssize_t put = write(fd, at, bytes);

        /* The pipe is somebody else's, who made it so that writes do not wait. */
        if (put < 0 && errno == EAGAIN) {
            poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, -1);
            continue;
        }
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return -1;
        at += put;
        bytes -= (size_t)put;
    }
    return 0;
}

static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return !slash ? rp_strdup(".") : rp_strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

int rp_sync_folder_of(const char *path)
{
    rp_autofree char *folder = folder_of(path);
    rp_autoclose int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    if (fd < 0)
        /* A user who may write to a folder need not be allowed to read it. */
        return folder && errno == EACCES ? 0 : -1;
    /* Some file systems have nothing to do there, and say so by an error. */
    return fsync(fd) == 0 || errno == EINVAL || errno == ENOSYS || errno == ENOTSUP ? 0 : -1;
}

/** Makes the name that a file without a name has in /proc. */
static void fd_path(int fd, char ret[32])
{
    snprintf(ret, 32, "/proc/self/fd/%d", fd);
}

/** A file without a name is gone when we are killed. Not every file system has such files, and
 * naming one takes /proc. */
static int open_new(const char *folder, const char *partial, mode_t mode, bool *ret_named)
{
    int fd = open(folder, O_WRONLY | O_TMPFILE | O_CLOEXEC, mode);
    char at[32];

    if (fd >= 0) {
        fd_path(fd, at);
        if (access(at, F_OK) == 0)
            return fd;
        close(fd);
    }
    *ret_named = true;
    /* The file is of a process that had our number, and others may be able to read it. */
    unlink(partial);
    return open(partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
}

/** A file that has that name is of a process that had our number. */
static int give_name(int fd, const char *partial)
{
    char at[32];

    fd_path(fd, at);
    unlink(partial);
    return linkat(AT_FDCWD, at, AT_FDCWD, partial, AT_SYMLINK_FOLLOW);
}

/* A new file gets the permissions of this one whatever the umask is, unless a file is there under
 * its name already. */
struct model {
    const char *path; /**< the file, or NULL */
    mode_t most;      /**< the permissions that it may give at most */
};

/* @return whether such a file is there */
static bool is_to_be_like(const char *path, struct model model, mode_t *ret)
{
    struct stat st;

    if (lstat(path, &st) == 0 && S_ISREG(st.st_mode))
        model.most = 07777;
    else if (!model.path || stat(model.path, &st) != 0)
        return false;
    *ret = st.st_mode & model.most;
    return true;
}

static int write_new(const char *path, struct model model, mode_t mode, const void *data,
                     size_t bytes, struct rp_err *err)
{
    const bool known = is_to_be_like(path, model, &mode);
    rp_autofree char *partial = rp_format("%s" RP_WRITE_PARTIAL "%d", path, (int)getpid());
    rp_autofree char *folder = folder_of(path);
    bool named = false;
    int fd, saved;

    if (!partial || !folder)
        return rp_out_of_memory(err);
    fd = open_new(folder, partial, known ? RP_MODE_PRIVATE_FILE : mode, &named);
    if (fd < 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot write %s", path);
    /* The mode is set before the file holds anything that others may not read. */
    if ((known && fchmod(fd, mode) != 0) || rp_write_all(fd, data, bytes) != 0 || fsync(fd) != 0 ||
        (!named && give_name(fd, partial) != 0) || rename(partial, path) != 0 ||
        rp_sync_folder_of(path) != 0) {
        saved = errno;
        close(fd);
        unlink(partial);
        return rp_fail_errno(err, RP_ENVIRONMENT, saved, "cannot write %s", path);
    }
    close(fd);
    return 0;
}

int rp_write_file(const char *path, const void *data, size_t bytes, struct rp_err *err)
{
    return write_new(path, (struct model){0}, RP_MODE_FILE, data, bytes, err);
}

int rp_write_private_file(const char *path, const void *data, size_t bytes, struct rp_err *err)
{
    return write_new(path, (struct model){0}, RP_MODE_PRIVATE_FILE, data, bytes, err);
}

int rp_write_file_like(const char *path, const char *like, const void *data, size_t bytes,
                       struct rp_err *err)
{
    return write_new(path, (struct model){like, RP_MODE_FILE}, RP_MODE_FILE, data, bytes, err);
}

int rp_write_file_for(const char *path, const char *place, const void *data, size_t bytes,
                      struct rp_err *err)
{
    return write_new(path, (struct model){place, 07777}, RP_MODE_FILE, data, bytes, err);
}

FILE *rp_create_private_file(const char *path)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, RP_MODE_PRIVATE_FILE);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;

    if (fd >= 0 && !file)
        close(fd);
    return file;
}

int rp_write_output(const char *path, const void *data, size_t bytes, struct rp_err *err)
{
    rp_autofree char *real = NULL;
    rp_autoclose int fd = -1;
    struct stat st;

    if (stat(path, &st) != 0)
        return rp_write_file(path, data, bytes, err);
    if (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)) {
        real = realpath(path, NULL);
        return rp_write_file(real ? real : path, data, bytes, err);
    }
    fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || rp_write_all(fd, data, bytes) != 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot write %s", path);
    return 0;
}

int rp_check_output(const char *path, struct rp_err *err)
{
    rp_autofree char *real = realpath(path, NULL);
    rp_autofree char *partial =
        rp_format("%s" RP_WRITE_PARTIAL "%d", real ? real : path, (int)getpid());
    struct stat st;
    int fd;

    if (!partial)
        return rp_out_of_memory(err);
    if (real && stat(real, &st) == 0 && !S_ISREG(st.st_mode)) {
        errno = S_ISDIR(st.st_mode) ? EISDIR : 0;
        if (errno || access(real, W_OK) != 0)
            return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot write %s", path);
        return 0;
    }
    fd = open(partial, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot write %s", path);
    close(fd);
    unlink(partial);
    return 0;
}

/** No request or answer is longer, because all words of a command together have at most 2 MiB. */
enum { RP_LINE_MAX_BYTES = 32 << 20 };

enum { STEP_BYTES = 1 << 16 };

void rp_line_reader_free(struct rp_line_reader *reader)
{
    rp_buf_free(&reader->buf);
    *reader = (struct rp_line_reader){.most_bytes = reader->most_bytes};
}

/** Lines that were given out are not needed any more, so their room is used again. */
static void compact(struct rp_line_reader *r)
{
    if (!r->begin)
        return;
    memmove(r->buf.data, r->buf.data + r->begin, r->buf.len - r->begin);
    r->buf.len -= r->begin;
    r->scanned -= r->begin;
    r->begin = 0;
}

int rp_line_reader_fill(struct rp_line_reader *r, int fd, struct rp_err *err)
{
    const size_t most_bytes = r->most_bytes ? r->most_bytes : RP_LINE_MAX_BYTES;
    char bytes[STEP_BYTES];
    ssize_t got;
    int rc;

    compact(r);
    if (r->buf.len > most_bytes)
        return rp_fail(err, RP_BAD_INPUT, "a line has more than %zu bytes", most_bytes);
    while ((got = read(fd, bytes, sizeof bytes)) < 0) {
        const int why = errno;

        if (why == ECONNRESET) /* The other side ended while it still had something to read. */
            break;
        if (why == EAGAIN)
            return 0;
        rc = why == EINTR ? rp_proc_interrupted(err)
                          : rp_fail_errno(err, RP_ENVIRONMENT, why, "cannot read");
        if (rc < 0)
            return rc;
    }
    if (got <= 0)
        r->ended = true;
    else
        rp_buf_add(&r->buf, bytes, (size_t)got);
    return r->buf.failed ? rp_out_of_memory(err) : 0;
}

static const char *next(struct rp_line_reader *r, size_t *ret_bytes)
{
    const char *end = r->buf.len > r->scanned
                          ? memchr(r->buf.data + r->scanned, '\n', r->buf.len - r->scanned)
                          : NULL;
    size_t begin = r->begin;

    if (!end) {
        r->scanned = r->buf.len;
        return NULL;
    }
    r->begin = r->scanned = (size_t)(end - r->buf.data) + 1;
    *ret_bytes = r->scanned - 1 - begin;
    return r->buf.data + begin;
}

void rp_line_reader_skip(struct rp_line_reader *r)
{
    r->begin = r->scanned = r->buf.len;
    r->skipping = true;
}

/** Passes over as much as has arrived of a line that is not wanted. */
static void skip(struct rp_line_reader *r)
{
    const size_t bytes = r->buf.len - r->begin;
    const char *end = bytes ? memchr(r->buf.data + r->begin, '\n', bytes) : NULL;

    r->begin = end ? (size_t)(end - r->buf.data) + 1 : r->buf.len;
    r->scanned = r->begin;
    r->skipping = !end;
}

const char *rp_line_reader_next(struct rp_line_reader *r, size_t *ret_bytes)
{
    if (r->skipping)
        skip(r);
    return next(r, ret_bytes);
}

const char *rp_line_reader_rest(struct rp_line_reader *r, size_t *ret_bytes)
{
    const char *line = r->buf.data + r->begin;
    const size_t bytes = r->buf.len - r->begin;

    if (!r->ended || r->skipping || !bytes)
        return NULL;
    *ret_bytes = bytes;
    r->begin = r->scanned = r->buf.len;
    return line;
}

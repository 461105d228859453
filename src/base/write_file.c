/* Files that are there whole or not at all. What is written has no name until it is all there:
 * there is nothing to be swept up after a process that was killed meanwhile. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mode.h"
#include "base/path.h"

int rp_write_all(int fd, const void *data, size_t bytes)
{
    for (const char *at = data; bytes;) {
        ssize_t put = write(fd, at, bytes);

        if (put < 0 && errno == EAGAIN) { /* somebody else's pipe */
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

    return !slash ? strdup(".") : strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

int rp_sync_folder_of(const char *path)
{
    rp_autofree char *folder = folder_of(path);
    rp_autoclose int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    if (fd < 0)
        return folder && errno == EACCES ? 0 : -1; /* who may write there need not read it */
    /* some file systems have nothing to do there, and say so */
    return fsync(fd) == 0 || errno == EINVAL || errno == ENOSYS || errno == ENOTSUP ? 0 : -1;
}

/** The name in /proc of a file that has none. */
static void fd_path(int fd, char ret[32])
{
    snprintf(ret, 32, "/proc/self/fd/%d", fd);
}

/** A file without a name is gone when we are killed; not every file system has them, and naming one
 * takes /proc. */
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
    unlink(partial); /* of a process that had our number, and perhaps for others to read */
    return open(partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
}

/** What has that name is of a process that had our number. */
static int give_name(int fd, const char *partial)
{
    char at[32];

    fd_path(fd, at);
    unlink(partial);
    return linkat(AT_FDCWD, at, AT_FDCWD, partial, AT_SYMLINK_FOLLOW);
}

/* The file whose permissions a new one gets whatever the umask is, if it is not one that is there
 * under its name already. */
struct model {
    const char *path; /* or NULL */
    mode_t most;      /* what it may give at most */
};

/* @return whether there is such a file */
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
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    fd = open_new(folder, partial, known ? RP_MODE_PRIVATE_FILE : mode, &named);
    if (fd < 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot write %s", path);
    /* Before there is anything in it that others are not to read. */
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
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
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

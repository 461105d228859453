#include "base/box.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "base/path.h"
#include "base/sandbox.h"

/** Deeper folders are of somebody who wants to use up our descriptors. */
enum { MOST_DEPTH = 64 };

static bool is_dot(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static int open_folder(int parent, const char *name)
{
    return openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* --- removing --------------------------------------------------------------------------------- */

/** Opens it after giving ourselves all rights, which its maker may have taken from us. A mode is
 * changed by a descriptor only, so that it is that of no other file. */
static int open_to_remove(int parent, const char *name)
{
    rp_autoclose int fd = openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    char path[64];

    if (fd < 0)
        return -1;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return chmod(path, RP_MODE_PRIVATE_FOLDER) == 0 ? open_folder(fd, ".") : -1;
}

/** @return 0, or -1 with errno */
static int remove_at(int parent, const char *name, unsigned depth)
{
    const struct dirent *entry;
    DIR *dir;
    int fd, rc = 0;

    if (unlinkat(parent, name, 0) == 0 || errno == ENOENT)
        return 0;
    fd = depth < MOST_DEPTH ? open_to_remove(parent, name) : -1;
    dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        if (fd >= 0)
            close(fd);
        return -1;
    }
    while (rc == 0 && (entry = readdir(dir)))
        if (!is_dot(entry->d_name))
            rc = remove_at(fd, entry->d_name, depth + 1);
    closedir(dir);
    return rc == 0 ? unlinkat(parent, name, AT_REMOVEDIR) : rc;
}

int rp_box_remove(const char *folder, struct rp_err *err)
{
    return remove_at(AT_FDCWD, folder, 0) == 0
               ? 0
               : rp_fail_with_remedy(err, RP_ENVIRONMENT,
                                     "cannot remove %s, which is of a program that ran before: %s: "
                                     "remove it, or choose another -o",
                                     folder, strerror(errno));
}

int rp_box_renew(const struct rp_sandbox *sandbox, struct rp_err *err)
{
    const char *folder = sandbox->writable[0];
    int rc = rp_box_remove(folder, err);

    if (rc == 0 && mkdir(folder, RP_MODE_PRIVATE_FOLDER) != 0)
        rc = rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot create folder %s", folder);
    return rc;
}

/* --- taking ----------------------------------------------------------------------------------- */

struct taking {
    const char *place;   /**< for messages */
    uint64_t left_bytes; /**< that may still be copied */
    struct rp_err *err;
};

static int refuse(const struct taking *t, const char *what)
{
    return rp_fail(t->err, RP_BAD_INPUT, "what was to become %s %s", t->place, what);
}

static int cannot_copy(const struct taking *t)
{
    return rp_fail_errno(t->err, RP_ENVIRONMENT, errno, "cannot write %s", t->place);
}

static int copy_bytes(int from, int to, struct taking *t)
{
    enum { STEP = 1 << 16 };
    char bytes[STEP];
    ssize_t got;

    while ((got = read(from, bytes, sizeof bytes)) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return refuse(t, "cannot be read");
        if ((uint64_t)got > t->left_bytes)
            return refuse(t, "is too large");
        t->left_bytes -= (uint64_t)got;
        if (rp_write_all(to, bytes, (size_t)got) != 0)
            return cannot_copy(t);
    }
    return 0;
}

static int copy_file(int from, const struct stat *st, int to_parent, const char *name,
                     struct taking *t)
{
    rp_autoclose int to =
        openat(to_parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
               RP_MODE_PRIVATE_FILE);

    if (to < 0 || ((st->st_mode & S_IXUSR) && fchmod(to, RP_MODE_PRIVATE_FOLDER) != 0))
        return cannot_copy(t);
    return copy_bytes(from, to, t);
}

static int copy_at(int from_parent, const char *from_name, int to_parent, const char *name,
                   unsigned depth, struct taking *t);

/** @param from a folder, which is closed */
static int copy_folder(int from, int to_parent, const char *name, unsigned depth, struct taking *t)
{
    DIR *dir = fdopendir(from);
    rp_autoclose int to = -1;
    const struct dirent *entry;
    int rc = 0;

    if (dir && mkdirat(to_parent, name, RP_MODE_PRIVATE_FOLDER) == 0)
        to = open_folder(to_parent, name);
    if (to < 0)
        rc = cannot_copy(t);
    while (rc == 0 && (entry = readdir(dir)))
        if (!is_dot(entry->d_name))
            rc = copy_at(from, entry->d_name, to, entry->d_name, depth + 1, t);
    if (dir)
        closedir(dir);
    else
        close(from);
    return rc;
}

/** The name is opened once, and what was opened is looked at: it may be another file afterwards. */
static int copy_at(int from_parent, const char *from_name, int to_parent, const char *name,
                   unsigned depth, struct taking *t)
{
    int from = openat(from_parent, from_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat st;
    int rc;

    if (from < 0)
        return refuse(t, errno == ENOENT  ? "was not made"
                         : errno == ELOOP ? "is a link, or has one"
                                          : "cannot be opened");
    if (fstat(from, &st) != 0)
        rc = refuse(t, "cannot be opened");
    else if (S_ISDIR(st.st_mode) && depth < MOST_DEPTH)
        return copy_folder(from, to_parent, name, depth, t);
    else if (S_ISREG(st.st_mode) && st.st_nlink == 1)
        rc = copy_file(from, &st, to_parent, name, t);
    else
        rc = refuse(t, "has something other than files with one name");
    close(from);
    return rc;
}

static const char *last_part(const char *place)
{
    const char *slash = strrchr(place, '/');

    return slash ? slash + 1 : place;
}

char *rp_box_place(const struct rp_sandbox *sandbox, const char *place)
{
    return sandbox ? rp_path_join(sandbox->writable[0], last_part(place)) : rp_strdup(place);
}

int rp_box_take(const struct rp_sandbox *sandbox, const char *place, struct rp_err *err)
{
    static const uint64_t most_bytes = (uint64_t)16 << 30;
    struct taking t = {.place = place, .left_bytes = most_bytes, .err = err};
    rp_autoclose int box = -1;
    int rc;

    if (!sandbox)
        return 0;
    rc = rp_box_remove(place, err);
    if (rc < 0)
        return rc;
    box = open_folder(AT_FDCWD, sandbox->writable[0]);
    return box < 0 ? cannot_copy(&t) : copy_at(box, last_part(place), AT_FDCWD, place, 0, &t);
}

#include "tune/worker_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"

#define PREFIX "rocm-perf-worker-"

static int open_locked(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/** Nobody holds its lock: its worker has ended without its clean-up. */
static void remove_stale(const char *base)
{
    DIR *dir = opendir(base);
    struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        rp_autofree char *path = NULL;
        rp_autoclose int fd = -1;
        struct stat st;

        if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) != 0)
            continue;
        path = rp_path_join(base, entry->d_name);
        fd = path ? open_locked(path) : -1;
        if (fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid())
            rp_remove_tree(path);
    }
    if (dir)
        closedir(dir);
}

/** Another worker may have removed it before it was locked. */
static bool is_there(const char *path, int fd)
{
    struct stat by_name, by_fd;

    return stat(path, &by_name) == 0 && fstat(fd, &by_fd) == 0 && by_name.st_ino == by_fd.st_ino &&
           by_name.st_dev == by_fd.st_dev;
}

int rp_worker_folder_open(struct rp_worker_folder *ret, struct rp_err *err)
{
    const char *tmp = getenv("TMPDIR");
    const char *base = tmp && *tmp ? tmp : "/tmp";

    remove_stale(base);
    for (;;) {
        rp_autofree char *path = rp_path_join(base, PREFIX "XXXXXX");
        int fd;

        if (!path)
            return rp_fail(err, RP_ENVIRONMENT, "out of memory");
        if (!mkdtemp(path))
            return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot make a folder in %s", base);
        fd = open_locked(path);
        if (fd >= 0 && is_there(path, fd)) {
            *ret = (struct rp_worker_folder){.path = rp_steal(path), .lock = fd};
            return 0;
        }
        if (fd >= 0)
            close(fd);
        else if (errno != EWOULDBLOCK && errno != ENOENT)
            return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot lock %s", path);
    }
}

void rp_worker_folder_close(struct rp_worker_folder *folder)
{
    if (!folder->path)
        return;
    rp_remove_tree(folder->path);
    close(folder->lock);
    free(folder->path);
    *folder = (struct rp_worker_folder){0};
}

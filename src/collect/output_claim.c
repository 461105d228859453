#include "collect/output_claim.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "base/path.h"

static uint64_t hash_text(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */

    for (; *text; text++)
        hash = (hash ^ (uint8_t)*text) * 0x100000001b3u;
    return hash;
}

/* The folder that it lies in and its name there: however it is spelled. @return the length of the
 * address, 0: there is no such folder */
static socklen_t address_of(const char *folder, struct sockaddr_un *ret)
{
    rp_autofree char *path = strdup(folder);
    const char *name, *parent;
    struct stat about;
    size_t length = path ? strlen(path) : 0;
    char *slash;
    int count;

    while (length > 1 && path[length - 1] == '/')
        path[--length] = '\0';
    if (!length)
        return 0;
    slash = strrchr(path, '/');
    name = slash ? slash + 1 : path;
    parent = !slash ? "." : slash == path ? "/" : path;
    if (slash && slash != path)
        *slash = '\0';
    if (stat(parent, &about) < 0)
        return 0;
    *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
    count = snprintf(ret->sun_path + 1, sizeof ret->sun_path - 1, /* it begins with a 0 */
                     "rocm-perf-output-%" PRIx64 "-%" PRIx64 "-%" PRIx64, (uint64_t)about.st_dev,
                     (uint64_t)about.st_ino, hash_text(name));
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)count);
}

int rp_output_claim(const char *folder, int *ret_fd, struct rp_err *err)
{
    struct sockaddr_un address;
    const socklen_t length = address_of(folder, &address);
    rp_autoclose int fd = length ? socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) : -1;

    if (fd >= 0 && bind(fd, (const struct sockaddr *)&address, length) < 0) {
        if (errno == EADDRINUSE)
            return rp_fail(err, RP_USAGE,
                           "%s is being written by another rocm-perf at this moment: wait for it "
                           "or give another folder with -o",
                           folder);
        close(fd);
        fd = -1;
    }
    *ret_fd = fd;
    fd = -1; /* the caller's */
    return 0;
}

/* "a/b/c", of which "a" is there: "a/b". @return whether all of it is there */
static bool cut_to_first_missing(char *path)
{
    for (char *at = path + 1;; at++) {
        const char was = *at;

        if (was != '/' && was)
            continue;
        *at = '\0';
        if (!rp_path_exists(path))
            return false;
        *at = was;
        if (!was)
            return true;
    }
}

int rp_output_try(const char *folder, const char *suffix, struct rp_err *err)
{
    rp_autofree char *path = strdup(folder);
    const char *slash = strrchr(folder, '/');
    const char *name = slash ? slash + 1 : folder;
    rp_autofree char *probe = NULL;

    if (!path || !*path)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return rp_fail(err, RP_USAGE, "%s: give the new folder a name of its own", folder);
    if (cut_to_first_missing(path))
        return 0;
    probe = rp_format("%s%s%d", path, suffix, (int)getpid());
    if (!probe)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    if (mkdir(probe, RP_MODE_PRIVATE_FOLDER) < 0 && errno != EEXIST)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot create folder %s", path);
    rmdir(probe);
    return 0;
}

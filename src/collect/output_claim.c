#include "collect/output_claim.h"

#include <errno.h>
#include <inttypes.h>
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

#include "capture/capture_open.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"

int rp_capture_open_file(const char *path, int *ret_fd, struct rp_err *err)
{
    rp_autoclose int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    struct stat st;

    if (fd < 0 && errno == ENOENT)
        return rp_fail(err, RP_BAD_INPUT, "%s is missing", path);
    if (fd < 0 && errno != ENXIO) /* that is a socket, or a device that is not there */
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot read %s", path);
    if (fd >= 0 && fstat(fd, &st) < 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot read %s", path);
    if (fd < 0 || !S_ISREG(st.st_mode))
        return rp_fail(err, RP_BAD_INPUT, "%s is damaged: it is no regular file", path);
    *ret_fd = fd;
    fd = -1;
    return 0;
}

/* Through a stream: json_loadfd reads one byte at a time. */
int rp_capture_load_json(const char *path, json_error_t *why, json_t **ret, struct rp_err *err)
{
    rp_autoclose int fd = -1;
    FILE *stream;
    int rc = rp_capture_open_file(path, &fd, err);

    if (rc < 0)
        return rc;
    stream = fdopen(fd, "r");
    if (!stream)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    fd = -1; /* the stream's */
    *ret = json_loadf(stream, JSON_REJECT_DUPLICATES, why);
    fclose(stream);
    return 0;
}

/* Whole files as text or bytes. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/path.h"

int rp_read_file(const char *path, size_t most_bytes, enum rp_code code, void **ret,
                 size_t *ret_bytes, struct rp_err *err)
{
    /* A pipe without a writer would be waited for. */
    rp_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    rp_autofree char *bytes = NULL;
    struct stat st;
    size_t have = 0;

    if (fd < 0 || fstat(fd, &st) != 0)
        return rp_fail_errno(err, code, errno, "cannot read %s", path);
    if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size > most_bytes)
        return rp_fail(err, code, "%s is no file, or larger than %zu MiB", path, most_bytes >> 20);
    bytes = malloc((size_t)st.st_size + 1);
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

#include "optimize/source_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/err.h"

enum { MOST_BYTES = 16 << 20 };

static void close_file(FILE **file)
{
    if (*file)
        fclose(*file);
}

int rp_source_file_read(const char *path, char **ret_path, char **ret_text, size_t *ret_bytes,
                        struct rp_err *err)
{
    rp_autofree char *real = realpath(path, NULL);
    rp_cleanup(close_file) FILE *file = real ? fopen(real, "rb") : NULL;
    rp_autofree char *text = NULL;
    struct stat status;
    size_t bytes;

    if (!file || fstat(fileno(file), &status) != 0)
        return rp_fail_errno(err, RP_BAD_INPUT, errno, "%s", path);
    if (!S_ISREG(status.st_mode) || status.st_size > MOST_BYTES)
        return rp_fail(err, RP_BAD_INPUT, "%s %s", path,
                       S_ISDIR(status.st_mode)   ? "is a folder"
                       : S_ISREG(status.st_mode) ? "is larger than 16 MiB: kernels are in less"
                                                 : "is no regular file");
    text = malloc((size_t)status.st_size + 1);
    if (!text)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    bytes = fread(text, 1, (size_t)status.st_size, file);
    if (bytes != (size_t)status.st_size)
        return rp_fail(err, RP_BAD_INPUT, "%s changes while it is read", path);
    text[bytes] = '\0';
    if (memchr(text, '\0', bytes))
        return rp_fail(err, RP_BAD_INPUT, "%s holds a NUL byte: it is no source", path);
    *ret_path = rp_steal(real);
    *ret_text = rp_steal(text);
    *ret_bytes = bytes;
    return 0;
}

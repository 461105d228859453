#include "cli/pending.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/path.h"

int rp_pending_write(struct rp_file_set *pending, const char *path, const struct rp_buf *text,
                     struct rp_err *err)
{
    size_t at = pending->count;
    int rc;

    if (at == RP_PENDING_MOST)
        return rp_fail(err, RP_ENVIRONMENT, "too many files of one result");
    pending->files[at].path = strdup(path);
    pending->files[at].partial = rp_format("%s.pending.%d", path, (int)getpid());
    pending->count++;
    if (!pending->files[at].path || !pending->files[at].partial)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    if (rp_path_is_dir(path)) /* before any of them has its name */
        return rp_fail_errno(err, RP_ENVIRONMENT, EISDIR,
                             "cannot write %s: a folder is in the way, remove it", path);
    rc = rp_write_file_for(pending->files[at].partial, path, rp_buf_text(text), text->len, err);
    return rc < 0 ? rp_wrap(err, "cannot write %s", path) : 0;
}

int rp_pending_commit(struct rp_file_set *pending, struct rp_err *err)
{
    for (size_t i = 0; i < pending->count; i++) {
        if (rename(pending->files[i].partial, pending->files[i].path) != 0)
            return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot write %s",
                                 pending->files[i].path);
        free(pending->files[i].partial);
        pending->files[i].partial = NULL;
    }
    return 0;
}

void rp_pending_drop(struct rp_file_set *pending)
{
    for (size_t i = 0; i < pending->count; i++) {
        if (pending->files[i].partial)
            unlink(pending->files[i].partial);
        free(pending->files[i].partial);
        free(pending->files[i].path);
    }
    memset(pending, 0, sizeof *pending);
}

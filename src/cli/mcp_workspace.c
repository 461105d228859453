/* The folders in which arguments and resources may lie. Paths are resolved as the system would, so
 * that neither ".." nor a link leads out; of what does not exist yet the names count. */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "cli/mcp.h"

enum { MOST_LINKS = 40 /**< as in Linux */ };

/** Takes the last name off a path that begins with a slash. */
static void go_up(struct rp_buf *path)
{
    while (path->len && path->data[path->len - 1] != '/')
        path->len--;
    if (path->len)
        path->len--;
    if (path->data)
        path->data[path->len] = '\0';
}

/** Returns what stands in a link, before the rest of the path; NULL: it is none. */
static char *link_target(const char *path, const char *rest)
{
    char target[PATH_MAX];
    const ssize_t bytes = readlink(path, target, sizeof target);

    if (bytes <= 0 || (size_t)bytes == sizeof target)
        return NULL;
    return rp_format("%.*s/%s", (int)bytes, target, rest);
}

/** Resolves an absolute path name by name.
 * @return NULL: it is longer than the system allows, or its links have no end */
static char *resolve(const char *path)
{
    rp_autobuf done = {0};
    rp_autofree char *text = rp_strdup(path);
    unsigned links = 0;

    for (const char *at = text; *(at += strspn(at, "/"));) {
        const size_t length = strcspn(at, "/"), before = done.len;
        char *target;

        if (length == 2 && strncmp(at, "..", 2) == 0) {
            go_up(&done);
            at += length;
            continue;
        }
        if (length == 1 && *at == '.') {
            at += length;
            continue;
        }
        rp_buf_printf(&done, "/%.*s", (int)length, at);
        at += length;
        if (done.len >= PATH_MAX)
            return NULL;
        target = link_target(rp_buf_text(&done), at);
        if (!target)
            continue;
        done.len = target[0] == '/' ? 0 : before;
        done.data[done.len] = '\0';
        free(text);
        at = text = target;
        if (++links > MOST_LINKS || strlen(text) >= 2 * PATH_MAX)
            return NULL;
    }
    return rp_strdup(done.len ? rp_buf_text(&done) : "/");
}

static bool is_inside(const char *path, const char *root)
{
    const size_t bytes = strlen(root);

    return strcmp(root, "/") == 0 ||
           (strncmp(path, root, bytes) == 0 && (!path[bytes] || path[bytes] == '/'));
}

char *rp_mcp_workspace_resolve(const struct rp_mcp_workspace *workspace, const char *below,
                               const char *path)
{
    rp_autofree char *joined = path[0] == '/' || !below ? NULL : rp_path_join(below, path);
    rp_autofree char *absolute = rp_path_absolute(joined ? joined : path);
    rp_autofree char *resolved = absolute ? resolve(absolute) : NULL;

    for (size_t i = 0; resolved && i < workspace->count; i++)
        if (is_inside(resolved, workspace->roots[i]))
            return rp_steal(resolved);
    return NULL;
}

int rp_mcp_workspace_add(struct rp_mcp_workspace *workspace, const char *folder, struct rp_err *err)
{
    char *path = realpath(folder, NULL);

    if (!path || !rp_path_is_dir(path)) {
        free(path);
        return rp_fail(err, RP_USAGE, "--allow %s: must be a folder that is there", folder);
    }
    workspace->roots =
        rp_realloc_array(workspace->roots, workspace->count + 1, sizeof *workspace->roots);
    workspace->roots[workspace->count++] = path;
    return 0;
}

void rp_mcp_workspace_free(struct rp_mcp_workspace *workspace)
{
    for (size_t i = 0; i < workspace->count; i++)
        free(workspace->roots[i]);
    free(workspace->roots);
    *workspace = (struct rp_mcp_workspace){0};
}

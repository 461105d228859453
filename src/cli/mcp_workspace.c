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
#include "trace/history_db.h"

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

static char *resolve_below(const char *below, const char *path)
{
    rp_autofree char *joined = path[0] == '/' || !below ? NULL : rp_path_join(below, path);
    rp_autofree char *absolute = rp_path_absolute(joined ? joined : path);

    return absolute ? resolve(absolute) : NULL;
}

static bool has(const struct rp_mcp_workspace *workspace, const char *resolved)
{
    for (size_t i = 0; i < workspace->count; i++)
        if (is_inside(resolved, workspace->roots[i]))
            return true;
    return false;
}

char *rp_mcp_workspace_resolve(const struct rp_mcp_workspace *workspace, const char *below,
                               const char *path)
{
    rp_autofree char *resolved = resolve_below(below, path);

    return resolved && has(workspace, resolved) ? rp_steal(resolved) : NULL;
}

int rp_mcp_workspace_check(const struct rp_mcp_workspace *workspace, const char *below,
                           const char *argument, const char *path, struct rp_err *err)
{
    const bool all = has(workspace, "/");
    rp_autofree char *resolved = all ? NULL : resolve_below(below, path);
    rp_autofree char *folder = NULL;
    char *slash;

    if (all)
        return 0;
    /* Its address may have a password, which is not repeated. */
    if (!rp_history_is_file(path))
        return rp_fail(err, RP_USAGE,
                       "argument %s: a database server is not in the workspace, %.200s; rocm-perf "
                       "mcp --allow / allows it",
                       argument, workspace->roots[0]);
    if (!resolved)
        return rp_fail(err, RP_USAGE, "argument %s: %.200s: too long, or its links have no end",
                       argument, path);
    if (has(workspace, resolved))
        return 0;
    folder = rp_strdup(resolved);
    slash = strrchr(folder, '/');
    if (!rp_path_is_dir(folder))
        slash[slash == folder] = '\0';
    return rp_fail(err, RP_USAGE,
                   "argument %s: %.200s is not in the workspace, %.200s; rocm-perf mcp --allow "
                   "%.200s allows it",
                   argument, path, workspace->roots[0], folder);
}

int rp_mcp_workspace_check_repository(const struct rp_mcp_workspace *workspace,
                                      const char *directory, struct rp_err *err)
{
    rp_autofree char *resolved = resolve_below(NULL, directory ? directory : ".");
    rp_autobuf folder = {0};

    rp_buf_puts(&folder, resolved && resolved[1] ? resolved : "");
    for (;;) {
        const char *top = folder.len ? folder.data : "/";
        rp_autofree char *mark = rp_path_join(top, ".git");

        if (rp_path_exists(mark))
            return rp_mcp_workspace_check(workspace, NULL, "directory", top, err);
        if (!folder.len)
            return 0;
        go_up(&folder);
    }
}

int rp_mcp_workspace_add(struct rp_mcp_workspace *workspace, const char *folder, struct rp_err *err)
{
    rp_autofree char *path = realpath(folder, NULL);

    if (!path || !rp_path_is_dir(path))
        return rp_fail(err, RP_USAGE, "must be a folder that is there");
    workspace->roots =
        rp_realloc_array(workspace->roots, workspace->count + 1, sizeof *workspace->roots);
    workspace->roots[workspace->count++] = rp_steal(path);
    return 0;
}

void rp_mcp_workspace_free(struct rp_mcp_workspace *workspace)
{
    for (size_t i = 0; i < workspace->count; i++)
        free(workspace->roots[i]);
    free(workspace->roots);
    *workspace = (struct rp_mcp_workspace){0};
}

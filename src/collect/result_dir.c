#include "collect/result_dir.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "collect/result_commit.h"

#define PARTIAL_PREFIX ".partial-"

static bool has_suffix(const char *name, const char *suffix)
{
    size_t n = strlen(name), s = strlen(suffix);

    return n >= s && strcmp(name + n - s, suffix) == 0;
}

static const struct folder {
    const char *name, *begin, *end; /**< what it may hold: begin...end, and tracer.log */
} folders[] = {
    {"repeats", "run-", "_results.db"},
    {"counters", "pass-", "_results.db"},
    {"thread-trace", "att", ""},
};

static const struct folder *find_folder(const char *name)
{
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (strcmp(folders[i].name, name) == 0)
            return &folders[i];
    return NULL;
}

bool rp_result_has_name(const char *name)
{
    static const char *const files[] = {"profile.json",  "dag.json",          "roofline.json",
                                        "analysis.json", "thread_trace.json", "tracer.log"};

    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (strcmp(name, files[i]) == 0)
            return true;
    if (find_folder(name))
        return true;
    if (strncmp(name, "trace_", 6) != 0 || !has_suffix(name, "results.db"))
        return false;
    for (name += 6; isdigit((unsigned char)*name) || *name == '_'; name++)
        ;
    return strcmp(name, "results.db") == 0;
}

/* Calls fn for every entry of a folder but "." and "..". */
static void each_entry(const char *path, void (*fn)(const char *dir, const char *name, void *ctx),
                       void *ctx)
{
    DIR *dir = opendir(path);
    struct dirent *entry;

    if (!dir)
        return;
    while ((entry = readdir(dir)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            fn(path, entry->d_name, ctx);
    closedir(dir);
}

struct search {
    const struct folder *folder;
    char **ret;
};

static void find_foreign_inside(const char *dir, const char *name, void *ctx)
{
    const struct search *search = ctx;
    const struct folder *folder = search->folder;
    bool ours =
        strcmp(name, "tracer.log") == 0 ||
        (strncmp(name, folder->begin, strlen(folder->begin)) == 0 && has_suffix(name, folder->end));

    if (!ours && !*search->ret)
        *search->ret = rp_path_join(dir, name);
}

static void find_foreign(const char *dir, const char *name, void *ctx)
{
    struct search search = {.folder = find_folder(name), .ret = ctx};
    rp_autofree char *path = rp_path_join(dir, name);

    if (*search.ret || !path || !rp_result_has_name(name))
        return;
    if ((search.folder != NULL) != rp_path_is_dir(path))
        *search.ret = strdup(path);
    else if (search.folder)
        each_entry(path, find_foreign_inside, &search);
}

/* Refuses a folder in which something else has a name of ours, before anything is done. */
static int check_foreign(const char *path, struct rp_err *err)
{
    rp_autofree char *foreign = NULL;

    each_entry(path, find_foreign, &foreign);
    if (foreign)
        return rp_fail(
            err, RP_ENVIRONMENT,
            "%s is in the way and not of rocm-perf's making; name another folder with -o", foreign);
    return 0;
}

static void remove_stale_partial(const char *dir, const char *name, void *ctx)
{
    long pid;

    (void)ctx;
    if (strncmp(name, PARTIAL_PREFIX, strlen(PARTIAL_PREFIX)) != 0)
        return;
    pid = strtol(name + strlen(PARTIAL_PREFIX), NULL, 10);
    if (pid > 0 && kill((pid_t)pid, 0) != 0 && errno == ESRCH) {
        rp_autofree char *path = rp_path_join(dir, name);
        if (path)
            rp_remove_tree(path);
    }
}

int rp_result_dir_open(const char *path, struct rp_result_dir *ret, struct rp_err *err)
{
    struct rp_result_dir dir = {.fresh = !rp_path_is_dir(path)};
    int rc = rp_mkdirs(path, err);

    if (rc < 0)
        return rc;
    rc = rp_result_settle(path, err);
    if (rc == 0)
        rc = check_foreign(path, err);
    if (rc < 0)
        return rc;
    dir.path = strdup(path);
    dir.partial = rp_format("%s/" PARTIAL_PREFIX "%d", path, (int)getpid());
    if (!dir.path || !dir.partial) {
        rc = rp_fail(err, RP_ENVIRONMENT, "out of memory");
    } else {
        each_entry(path, remove_stale_partial, NULL);
        rp_remove_tree(dir.partial);
        rc = rp_mkdirs(dir.partial, err);
    }
    if (rc < 0) {
        rp_result_dir_close(&dir);
        return rc;
    }
    *ret = dir;
    return 0;
}

struct move {
    const char *target;
    int errno_value; /**< of the first move that failed */
    char failed[256];
};

static void move_in(const char *from_dir, const char *name, void *ctx)
{
    struct move *move = ctx;
    rp_autofree char *from = rp_path_join(from_dir, name);
    rp_autofree char *to = rp_path_join(move->target, name);

    if (!from || !to || !rp_result_has_name(name))
        return;
    if (rename(from, to) != 0 && !move->errno_value) {
        move->errno_value = errno;
        snprintf(move->failed, sizeof move->failed, "%s", to);
    }
}

int rp_result_dir_keep_failed(struct rp_result_dir *dir, struct rp_err *err)
{
    rp_autofree char *failed = rp_path_join(dir->path, "failed");
    struct move move = {.target = failed};
    int rc;

    if (!failed)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    rp_remove_tree(failed);
    rc = rp_mkdirs(failed, err);
    if (rc < 0)
        return rc;
    each_entry(dir->partial, move_in, &move);
    return move.errno_value
               ? rp_fail_errno(err, RP_ENVIRONMENT, move.errno_value,
                               "cannot keep what the failed run recorded as %s", move.failed)
               : 0;
}

/* What takes the place of a file or a folder gets its mode: who has closed a result keeps it so. */
static void keep_mode(const char *partial, const char *name, void *ctx)
{
    rp_autofree char *ours = rp_path_join(partial, name);
    rp_autofree char *theirs = rp_path_join(ctx, name);
    struct stat new, old;

    if (!ours || !theirs || lstat(ours, &new) != 0 || lstat(theirs, &old) != 0 ||
        (new.st_mode &S_IFMT) != (old.st_mode & S_IFMT) ||
        !(S_ISREG(new.st_mode) || S_ISDIR(new.st_mode)))
        return;
    if (S_ISDIR(new.st_mode))
        each_entry(ours, keep_mode, theirs);
    (void)!chmod(ours, old.st_mode & 07777);
}

/* Where the commit has been undone, the new result is in the partial folder, which goes when the
 * session ends: it took a run of the program. */
int rp_result_dir_commit(struct rp_result_dir *dir, struct rp_err *err)
{
    int rc;

    each_entry(dir->partial, keep_mode, dir->path);
    rc = rp_result_commit(dir->path, dir->partial, err);

    if (rc < 0 && rp_path_is_dir(dir->partial) && rp_result_dir_keep_failed(dir, NULL) == 0)
        return rp_wrap(err, "the new result is in %s/failed", dir->path);
    return rc;
}

void rp_result_dir_close(struct rp_result_dir *dir)
{
    if (dir->partial)
        rp_remove_tree(dir->partial);
    if (dir->fresh && dir->path)
        rmdir(dir->path); /* nothing was kept: as if we had not been here */
    free(dir->partial);
    free(dir->path);
    memset(dir, 0, sizeof *dir);
}

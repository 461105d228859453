#include "collect/result_commit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "base/path.h"
#include "collect/result_dir.h"

static const char result_name[] = "profile.json"; /* what a reader looks at first */

struct places {
    char *complete, *moving, *former;
};

static void free_places(struct places *at)
{
    free(at->complete);
    free(at->moving);
    free(at->former);
}

static int find_places(const char *dir, struct places *ret, struct rp_err *err)
{
    ret->complete = rp_path_join(dir, ".rocm-perf-complete");
    ret->moving = rp_path_join(dir, ".rocm-perf-moving");
    ret->former = rp_path_join(dir, ".rocm-perf-former");
    return ret->complete && ret->moving && ret->former
               ? 0
               : rp_fail(err, RP_ENVIRONMENT, "out of memory");
}

/* --- names --------------------------------------------------------------------------------- */

struct names {
    char **at;
    size_t count;
};

static void free_names(struct names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->at[i]);
    free(names->at);
}

static int add_name(struct names *names, const char *name)
{
    char **grown = reallocarray(names->at, names->count + 1, sizeof *grown);

    if (!grown)
        return -1;
    names->at = grown;
    grown[names->count] = strdup(name);
    return grown[names->count++] ? 0 : -1;
}

/* What of a folder belongs to a result. All of it, or a failure: a name that is overlooked would
 * be a part of the result that is lost. */
static int list_result(const char *path, struct names *ret, struct rp_err *err)
{
    DIR *dir = opendir(path);
    struct dirent *entry;
    int saved, failed = 0;

    if (!dir)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot read folder %s", path);
    while (errno = 0, !failed && (entry = readdir(dir))) /* malloc may set it, too */
        if (rp_result_has_name(entry->d_name))
            failed = add_name(ret, entry->d_name);
    saved = errno;
    closedir(dir);
    if (failed)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    return saved ? rp_fail_errno(err, RP_ENVIRONMENT, saved, "cannot read folder %s", path) : 0;
}

static int move_name(const char *from_dir, const char *to_dir, const char *name, struct rp_err *err)
{
    rp_autofree char *from = rp_path_join(from_dir, name);
    rp_autofree char *to = rp_path_join(to_dir, name);

    if (!from || !to)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    if (rename(from, to) != 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot move %s to %s", from, to);
    return 0;
}

/* Moves a result, or all of it but profile.json; that comes last. */
static int move_result(const char *from, const char *to, bool but_profile, struct rp_err *err)
{
    rp_cleanup(free_names) struct names names = {0};
    bool has_profile = false;
    int rc = list_result(from, &names, err);

    for (size_t i = 0; i < names.count && rc == 0; i++) {
        if (strcmp(names.at[i], result_name) == 0)
            has_profile = true;
        else
            rc = move_name(from, to, names.at[i], err);
    }
    if (rc == 0 && has_profile && !but_profile)
        rc = move_name(from, to, result_name, err);
    return rc;
}

static bool has_profile_json(const char *dir)
{
    rp_autofree char *path = rp_path_join(dir, result_name);

    return path && rp_path_exists(path);
}

/* --- the steps ----------------------------------------------------------------------------- */

/* Files and renames that are on the disk in this order stay so over a crash of the machine. Best
 * effort: not every file system can. */
static void sync_path(const char *path)
{
    rp_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd >= 0)
        fsync(fd);
}

static int sync_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)at;
    if (type == FTW_DP || (type == FTW_F && S_ISREG(st->st_mode)))
        sync_path(path);
    return 0;
}

static void sync_tree(const char *path)
{
    nftw(path, sync_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* Moving: nothing of the result before is left but, perhaps, its profile.json. */
static int move_in(const char *dir, const struct places *at, struct rp_err *err)
{
    int rc = move_result(at->moving, dir, false, err);

    if (rc < 0)
        return rp_wrap(err, "the new result is complete, but a part of it is still in %s",
                       at->moving);
    sync_path(dir);
    rp_remove_tree(at->moving);
    rp_remove_tree(at->former);
    return 0;
}

/* Complete: the result before steps aside. */
static int go_on(const char *dir, const struct places *at, struct rp_err *err)
{
    int rc = 0;

    if (mkdir(at->former, RP_MODE_PRIVATE_FOLDER) != 0 && errno != EEXIST)
        rc = rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot create folder %s", at->former);
    if (rc == 0)
        rc = move_result(dir, at->former, has_profile_json(at->complete), err);
    if (rc == 0 && rename(at->complete, at->moving) != 0)
        rc = rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot rename %s", at->complete);
    if (rc < 0)
        return rc;
    sync_path(dir);
    return move_in(dir, at, err);
}

/* What go_on did, the other way round; the folders of a commit that cannot be undone stay, and
 * rp_result_settle goes on with them. */
static void step_back(const char *dir, const struct places *at, const char *partial)
{
    if (rp_path_is_dir(at->former) && move_result(at->former, dir, false, NULL) < 0)
        return;
    rmdir(at->former);
    (void)!rename(at->complete, partial);
}

static int settle(const char *dir, struct rp_err *err)
{
    rp_cleanup(free_places) struct places at = {0};
    int rc = find_places(dir, &at, err);

    if (rc < 0)
        return rc;
    if (rp_path_is_dir(at.moving))
        rc = move_in(dir, &at, err);
    else if (rp_path_is_dir(at.complete))
        rc = go_on(dir, &at, err);
    else
        rp_remove_tree(at.former);
    return rc < 0 ? rp_wrap(err, "finish the result that an interrupted run left in %s", dir) : 0;
}

static int commit(const char *dir, const char *partial, struct rp_err *err)
{
    rp_cleanup(free_places) struct places at = {0};
    int rc = find_places(dir, &at, err);

    if (rc == 0)
        rc = settle(dir, err);
    if (rc < 0)
        return rc;
    sync_tree(partial);
    if (rename(partial, at.complete) != 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot rename %s", partial);
    sync_path(dir);
    rc = go_on(dir, &at, err);
    if (rc < 0 && rp_path_is_dir(at.complete))
        step_back(dir, &at, partial);
    return rc;
}

/* --- alone and undisturbed ----------------------------------------------------------------- */

struct held_signals {
    int lock;
    sigset_t mask;
};

/* Two runs with the same folder commit one after the other; file systems without locks leave that
 * to their users. */
static struct held_signals begin(const char *dir)
{
    struct held_signals quiet = {.lock = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    sigset_t all;

    /* The wait for the other run first: it may be long, and Ctrl-C must end it. */
    while (quiet.lock >= 0 && flock(quiet.lock, LOCK_EX) != 0 && errno == EINTR)
        ;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &quiet.mask);
    return quiet;
}

static void end(struct held_signals *quiet)
{
    if (quiet->lock >= 0)
        close(quiet->lock);
    sigprocmask(SIG_SETMASK, &quiet->mask, NULL);
}

int rp_result_commit(const char *dir, const char *partial, struct rp_err *err)
{
    struct held_signals quiet = begin(dir);
    int rc = commit(dir, partial, err);

    end(&quiet);
    return rc;
}

int rp_result_settle(const char *dir, struct rp_err *err)
{
    struct held_signals quiet = begin(dir);
    int rc = settle(dir, err);

    end(&quiet);
    return rc;
}

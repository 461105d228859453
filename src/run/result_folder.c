#include "run/result_folder.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "base/lock.h"
#include "base/path.h"
#include "run/machine.h"
#include "run/run_program.h"

static const char result_name[] = "profile.json"; /* A reader looks at this file first. */

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

static bool result_has_name(const char *name);

/* Lists the files of a folder that belong to a result. It lists all of them or fails, because a
 * name that is overlooked would be a lost part of the result. */
static int list_result(const char *path, struct names *ret, struct rp_err *err)
{
    DIR *dir = opendir(path);
    struct dirent *entry;
    int saved, failed = 0;

    if (!dir)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot read folder %s", path);
    while (errno = 0, !failed && (entry = readdir(dir))) /* malloc may set errno, too. */
        if (result_has_name(entry->d_name))
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

/* Moves a result, or all of it but profile.json, which comes last. */
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

/* Files and renames that reach the disk in this order stay in it over a crash of the machine.
 * Failures are ignored, because not every file system can do it. */
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

/* In the state "moving" nothing of the result before is left except, perhaps, its profile.json. */
static int result_commit_move_in(const char *dir, const struct places *at, struct rp_err *err)
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

/* In the state "complete" the result before is moved away. */
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
    return result_commit_move_in(dir, at, err);
}

/* Undoes what go_on did. The folders of a commit that cannot be undone stay, and
 * rp_result_finish_commit goes on with them. */
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
        rc = result_commit_move_in(dir, &at, err);
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

/* Two runs with the same folder commit one after the other. File systems without locks leave that
 * to their users. */
static struct held_signals begin(const char *dir)
{
    struct held_signals quiet = {0};
    sigset_t all;

    /* The wait for the other run comes first, because it may be long, and Ctrl-C must end it. */
    do
        quiet.lock = rp_lock_path(dir, RP_LOCK_FOLDER | RP_LOCK_WAIT);
    while (quiet.lock < 0 && errno == EINTR);
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

/**
 * Makes the contents of @p partial, a folder in @p dir, the result in @p dir.
 * @return 0; RP_ENVIRONMENT with the result before in place, or with a message that says where the
 *         new one is
 */
static int rp_result_commit(const char *dir, const char *partial, struct rp_err *err)
{
    struct held_signals quiet = begin(dir);
    int rc = commit(dir, partial, err);

    end(&quiet);
    return rc;
}

int rp_result_finish_commit(const char *dir, struct rp_err *err)
{
    struct held_signals quiet = begin(dir);
    int rc = settle(dir, err);

    end(&quiet);
    return rc;
}

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

/** Says whether a result may have a file or folder of this name. Nothing else is ever touched. */
static bool result_has_name(const char *name)
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
    bool has_result; /**< the folder's profile.json is one of a result */
    char **ret;
};

/** Says whether a file has that text somewhere. */
static bool file_has(const char *path, const char *text)
{
    enum { CHUNK = 1 << 16 };
    const size_t length = strlen(text);
    rp_autoclose int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    char chunk[CHUNK];
    size_t kept = 0;
    ssize_t got;

    while (fd >= 0 && (got = read(fd, chunk + kept, sizeof chunk - kept)) > 0) {
        const size_t all = kept + (size_t)got;

        if (memmem(chunk, all, text, length))
            return true;
        kept = all < length ? all : length - 1;
        memmove(chunk, chunk + all - kept, kept);
    }
    return false;
}

/** Each document of a result names its schema; each trace of the suite has rows of that name. */
static bool is_ours(const char *path, const char *name)
{
    if (strcmp(name, "tracer.log") == 0)
        return true;
    return file_has(path, has_suffix(name, ".db") ? "rocm_perf_" : "\"schema_version\"");
}

/** A folder's profile.json says that what has a result's name there is the result's: traces of
 * rocprofv3 are what it wrote. */
static bool has_result(const char *dir)
{
    rp_autofree char *path = rp_path_join(dir, "profile.json");

    return path && file_has(path, "\"schema_version\"") && file_has(path, "\"runtime_ms\"");
}

static void find_foreign_inside(const char *dir, const char *name, void *ctx)
{
    const struct search *search = ctx;
    const struct folder *looked = search->folder;
    rp_autofree char *path = rp_path_join(dir, name);
    bool ours = strcmp(name, "tracer.log") == 0 ||
                (strncmp(name, looked->begin, strlen(looked->begin)) == 0 &&
                 has_suffix(name, looked->end) &&
                 (search->has_result || rp_path_is_dir(path) || is_ours(path, name)));

    if (path && !ours && !*search->ret)
        *search->ret = rp_steal(path);
}

static void find_foreign(const char *dir, const char *name, void *ctx)
{
    struct search search = {.folder = find_folder(name), .ret = ctx};
    rp_autofree char *path = rp_path_join(dir, name);

    if (*search.ret || !path || !result_has_name(name))
        return;
    search.has_result = has_result(dir);
    if ((search.folder != NULL) != rp_path_is_dir(path))
        *search.ret = strdup(path);
    else if (search.folder)
        each_entry(path, find_foreign_inside, &search);
    else if (!search.has_result && !is_ours(path, name))
        *search.ret = strdup(path);
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

/** A session keeps its lock in its folder. Its files are not to be mixed with those of a profile.
 * The lock is shared, so that those who look at it do not take each other for a session. */
static int check_session(const char *path, struct rp_err *err)
{
    rp_autofree char *name = rp_path_join(path, "lock");
    rp_autoclose int fd = name ? rp_lock_path(name, RP_LOCK_SHARED | RP_LOCK_NO_LINK) : -1;

    if (!name || fd >= 0 || errno != EWOULDBLOCK)
        return 0;
    return rp_fail(err, RP_USAGE,
                   "%s is in use by a session of optimize or a search of autotune: name another "
                   "folder with -o",
                   path);
}

/* @return "HOST BOOT", to be freed: locks and numbers of processes say nothing of another machine
 */
static char *this_machine(void)
{
    rp_autofree char *boot = rp_read_text("/proc/sys/kernel/random/boot_id", 64);
    struct utsname host;

    uname(&host);
    return rp_format("%s %.36s", host.nodename, boot ? boot : "");
}

/* After a start of its machine nobody works there any more. */
static bool is_of_this_machine(const char *written)
{
    rp_autofree char *here = this_machine();
    const char *blank = strchr(here, ' ');

    return strcmp(written, here) == 0 || strncmp(written, here, (size_t)(blank - here) + 1) == 0;
}

/* The file has its text before it has its name, so that nobody takes it for one of an older
 * version. */
static int open_partial(struct rp_result_folder *dir, struct rp_err *err)
{
    rp_autofree char *lock = rp_path_join(dir->partial, "lock");
    rp_autofree char *machine = this_machine();
    int rc;

    rp_remove_tree(dir->partial);
    rc = rp_mkdirs(dir->partial, err);
    if (rc == 0 && lock)
        rc = rp_write_file(lock, machine, strlen(machine), err);
    if (rc == 0 && lock)
        dir->lock = rp_lock_path(lock, RP_LOCK_NO_LINK | RP_LOCK_WAIT); /* Others only look. */
    return rc;
}

int rp_result_folder_open(const char *path, struct rp_result_folder *ret, struct rp_err *err)
{
    struct rp_result_folder dir = {.fresh = !rp_path_is_dir(path), .lock = -1};
    int rc = check_session(path, err);

    if (rc == 0)
        rc = rp_mkdirs(path, err);
    if (rc < 0)
        return rc;
    rc = rp_result_finish_commit(path, err);
    if (rc == 0)
        rc = check_foreign(path, err);
    if (rc < 0)
        return rc;
    dir.path = strdup(path);
    dir.partial = rp_format("%s/" PARTIAL_PREFIX "%d", path, (int)getpid());
    rc = dir.path && dir.partial ? open_partial(&dir, err)
                                 : rp_fail(err, RP_ENVIRONMENT, "out of memory");
    if (rc < 0) {
        rp_result_folder_close(&dir);
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

    if (!from || !to || !result_has_name(name))
        return;
    if (rename(from, to) != 0 && !move->errno_value) {
        move->errno_value = errno;
        snprintf(move->failed, sizeof move->failed, "%s", to);
    }
}

int rp_result_folder_keep_failed(struct rp_result_folder *dir, struct rp_err *err)
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

/* --- what is left of a killed process ------------------------------------------------------ */

/* Some file systems have no locks, and some have them for one machine alone. A folder without the
 * file is of an older version. */
static bool is_abandoned(const char *partial)
{
    rp_autofree char *path = rp_path_join(partial, "lock");
    rp_autofree char *written = path ? rp_read_text(path, 256) : NULL;
    const long pid = strtol(strrchr(partial, '-') + 1, NULL, 10);
    rp_autoclose int fd = -1;

    if (written && !is_of_this_machine(written))
        return false;
    fd = written ? rp_lock_path(path, RP_LOCK_SHARED | RP_LOCK_NO_LINK) : -1;
    if (fd >= 0)
        return true;
    return (!written || errno != EWOULDBLOCK) && pid > 0 && kill((pid_t)pid, 0) != 0 &&
           errno == ESRCH;
}

static void find_abandoned(const char *dir, const char *name, void *ctx)
{
    rp_autofree char *path = rp_path_join(dir, name);

    if (path && strncmp(name, PARTIAL_PREFIX, strlen(PARTIAL_PREFIX)) == 0 && is_abandoned(path))
        add_name(ctx, path);
}

/* What failed before stays: somebody may be looking at it. */
static char *new_failed(const char *dir)
{
    char *path = rp_format("%s/failed", dir);

    for (int i = 2; path && rp_path_exists(path); i++) {
        free(path);
        path = rp_format("%s/failed-%d", dir, i);
    }
    return path;
}

static int move_to_failed(const char *dir, const char *partial, struct rp_buf *where,
                          struct rp_err *err)
{
    rp_autofree char *failed = new_failed(dir);
    struct move move = {.target = failed};
    int rc = failed ? rp_mkdirs(failed, err) : rp_fail(err, RP_ENVIRONMENT, "out of memory");

    if (rc < 0)
        return rc;
    each_entry(partial, move_in, &move);
    if (move.errno_value)
        return rp_fail_errno(err, RP_ENVIRONMENT, move.errno_value, "cannot write %s", move.failed);
    rp_buf_printf(where, "%s%s", where->len ? ", " : "", failed);
    return 0;
}

/* A trace appears when it is whole, and the records are removed when all traces are. */
static int rescue(const char *dir, const char *partial, struct rp_buf *where, struct rp_err *err)
{
    rp_autofree char *trace = rp_path_join(partial, "trace_results.db");
    rp_autofree char *records = rp_path_join(partial, "records");
    rp_cleanup(rp_environment_free) struct rp_environment env = {0};
    int rc = 0;

    if (!trace || !records)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    if (rp_path_is_dir(records)) {
        rc = rp_environment_detect(&env, err);
        if (rc == 0)
            rc = rp_convert_left_records(&env, partial, err);
    }
    if (rc == 0 && rp_path_exists(trace))
        rc = move_to_failed(dir, partial, where, err);
    if (rc == 0)
        rp_remove_tree(partial);
    return rc < 0 ? rp_wrap(err,
                            "keep what a killed rocm-perf has recorded in %s (remove that folder "
                            "if nobody wants it)",
                            partial)
                  : 0;
}

int rp_result_folder_rescue(const char *path, char **ret_where, struct rp_err *err)
{
    rp_cleanup(free_names) struct names seen = {0};
    rp_cleanup(free_names) struct names left = {0};
    rp_autoclose int alone = -1;
    rp_autobuf where = {0};
    int rc = 0;

    *ret_where = NULL;
    each_entry(path, find_abandoned, &seen);
    if (!seen.count)
        return 0;
    do /* Another one may do the same. */
        alone = rp_lock_path(path, RP_LOCK_FOLDER | RP_LOCK_WAIT);
    while (alone < 0 && errno == EINTR);
    each_entry(path, find_abandoned, &left);
    for (size_t i = 0; i < left.count; i++) {
        struct rp_err another = RP_ERR_INIT;
        int of_this = rescue(path, left.at[i], &where, rc < 0 ? &another : err);

        rc = rc < 0 ? rc : of_this;
    }
    if (where.len)
        *ret_where = rp_buf_steal(&where);
    return rc;
}

/* A replaced file or folder passes its mode on, so that a result stays as private as its user made
 * it. */
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

/* Where the commit has been undone, the new result is in the partial folder, which is removed when
 * the session ends. It took a run of the program, so it is kept elsewhere. */
int rp_result_folder_commit(struct rp_result_folder *dir, struct rp_err *err)
{
    int rc;

    each_entry(dir->partial, keep_mode, dir->path);
    rc = rp_result_commit(dir->path, dir->partial, err);

    if (rc < 0 && rp_path_is_dir(dir->partial) && rp_result_folder_keep_failed(dir, NULL) == 0)
        return rp_wrap(err, "the new result is in %s/failed", dir->path);
    return rc;
}

void rp_result_folder_close(struct rp_result_folder *dir)
{
    if (dir->partial)
        rp_remove_tree(dir->partial);
    if (dir->path && dir->lock >= 0)
        close(dir->lock);
    if (dir->fresh && dir->path)
        rmdir(dir->path); /* Nothing was kept, so the folder goes as well. */
    free(dir->partial);
    free(dir->path);
    memset(dir, 0, sizeof *dir);
}

static uint64_t hash_text(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325u; /* The hash is FNV-1a. */

    for (; *text; text++)
        hash = (hash ^ (uint8_t)*text) * 0x100000001b3u;
    return hash;
}

/* The address is made of the parent folder and the name there, so the spelling of the path does not
 * matter.
 * @return the length of the address, 0: there is no such folder */
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
    count = snprintf(ret->sun_path + 1, sizeof ret->sun_path - 1, /* The address begins with a 0. */
                     "rocm-perf-output-%" PRIx64 "-%" PRIx64 "-%" PRIx64, (uint64_t)about.st_dev,
                     (uint64_t)about.st_ino, hash_text(name));
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)count);
}

int rp_output_lock(const char *folder, int *ret_fd, struct rp_err *err)
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
    fd = -1; /* The descriptor belongs to the caller now. */
    return 0;
}

/* Cuts "a/b/c", of which only "a" exists, to "a/b".
 * @return whether all of it exists */
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

int rp_output_check_folder(const char *folder, const char *suffix, struct rp_err *err)
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

#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"

char *rp_format(const char *fmt, ...)
{
    rp_autobuf buf = {0};
    va_list ap;

    va_start(ap, fmt);
    rp_buf_vprintf(&buf, fmt, ap);
    va_end(ap);
    return rp_buf_steal(&buf);
}

char *rp_path_absolute(const char *path)
{
    rp_autofree char *here = path[0] == '/' ? NULL : getcwd(NULL, 0);

    return path[0] == '/' ? rp_strdup(path) : here ? rp_path_join(here, path) : NULL;
}

char *rp_path_join(const char *dir, const char *name)
{
    size_t len = strlen(dir);

    return rp_format("%s%s%s", dir, len && dir[len - 1] == '/' ? "" : "/", name);
}

char *rp_path_literal(const char *text)
{
    char *pattern = rp_alloc(2 * strlen(text) + 1), *to = pattern;

    for (const char *c = text; pattern && *c; c++) {
        if (strchr("*?[]\\", *c))
            *to++ = '\\';
        *to++ = *c;
    }
    if (pattern)
        *to = '\0';
    return pattern;
}

char *rp_path_pattern(const char *dir, const char *names)
{
    rp_autofree char *literal = rp_path_literal(dir);

    return literal ? rp_path_join(literal, names) : NULL;
}

bool rp_path_exists(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0;
}

bool rp_path_is_dir(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool rp_same_file(const char *a, const char *b)
{
    struct stat first, second;

    if (stat(a, &first) != 0 || stat(b, &second) != 0)
        return strcmp(a, b) == 0;
    return S_ISREG(first.st_mode) && first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

int rp_check_input(const char *path, struct rp_err *err)
{
    struct stat st;

    if (stat(path, &st) != 0 && errno == ENAMETOOLONG)
        return rp_fail(err, RP_USAGE,
                       "%.60s...: a path of %zu bytes is longer than the system allows: correct it",
                       path, strlen(path));
    if (stat(path, &st) != 0 || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
        return 0;
    return rp_fail(err, RP_BAD_INPUT,
                   "%s is a pipe or a device: write what comes from it to a file, and give that",
                   path);
}

static int make_folders(const char *path, mode_t mode, struct rp_err *err)
{
    rp_autofree char *copy = rp_strdup(path);

    if (!copy)
        return rp_out_of_memory(err);
    for (char *slash = strchr(copy + 1, '/');; slash = strchr(slash + 1, '/')) {
        if (slash)
            *slash = '\0';
        if (mkdir(copy, mode) != 0 && !(errno == EEXIST && rp_path_is_dir(copy)))
            return rp_fail_errno(err, RP_ENVIRONMENT, errno == EEXIST ? ENOTDIR : errno,
                                 "cannot create folder %s", copy);
        if (!slash)
            return 0;
        *slash = '/';
    }
}

int rp_mkdirs(const char *path, struct rp_err *err)
{
    return make_folders(path, RP_MODE_FOLDER, err);
}

int rp_mkdirs_private(const char *path, struct rp_err *err)
{
    return make_folders(path, RP_MODE_PRIVATE_FOLDER, err);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    remove(path);
    return 0;
}

void rp_remove_tree(const char *path)
{
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static int close_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)type;
    (void)ftw;
    if (S_ISREG(st->st_mode) || S_ISDIR(st->st_mode))
        (void)!chmod(path, st->st_mode & RP_MODE_PRIVATE_FOLDER);
    return 0;
}

void rp_close_tree(const char *path)
{
    nftw(path, close_one, 16, FTW_PHYS);
}

int rp_temporary_folder(char **ret_path, struct rp_err *err)
{
    const char *wish = getenv("TMPDIR"), *parent = wish && *wish ? wish : "/tmp";
    rp_autofree char *path = rp_path_join(parent, "rocm-perf-XXXXXX");

    if (!path)
        return rp_out_of_memory(err);
    if (!mkdtemp(path))
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot make a folder in %s", parent);
    *ret_path = rp_steal(path);
    return 0;
}

void rp_temporary_folder_remove(char **path)
{
    if (*path)
        rp_remove_tree(*path);
    free(*path);
    *path = NULL;
}

static bool is_source(const char *name)
{
    static const char *const ends[] = {".hip", ".cu", ".c", ".cc", ".cpp", ".cxx"};
    const char *end = strrchr(name, '.');

    for (size_t i = 0; end && i < sizeof ends / sizeof *ends; i++)
        if (strcmp(end, ends[i]) == 0)
            return true;
    return false;
}

/* A program and its arguments in one word is what comes of a shell's line in quotes. */
static int no_such_program(const char *name, int why, struct rp_err *err)
{
    rp_autofree char *first = rp_strndup(name, strcspn(name, " "));

    if (strchr(name, ' ') && access(first, X_OK) == 0 && !rp_path_is_dir(first))
        return rp_fail(
            err, RP_USAGE,
            "program %s is not there, but %s is: give each of its arguments as a word of "
            "its own",
            name, first);
    return rp_fail_errno(err, RP_USAGE, why, "program %s", name);
}

static int usable_program(const char *path, const char *name, char **ret_path, struct rp_err *err)
{
    struct stat st;

    if (stat(path, &st) != 0)
        return no_such_program(name, errno, err);
    if (S_ISDIR(st.st_mode))
        return rp_fail(err, RP_USAGE, "program %s is a folder", name);
    if (access(path, X_OK) != 0 && is_source(name))
        return rp_fail(err, RP_USAGE,
                       "program %s is a source: compile it first, and name what came of it", name);
    if (access(path, X_OK) != 0)
        return rp_fail(err, RP_USAGE, "program %s may not be executed; chmod +x it?", name);
    *ret_path = realpath(path, NULL);
    return *ret_path ? 0 : rp_fail_errno(err, RP_USAGE, errno, "program %s", name);
}

int rp_find_program(const char *name, char **ret_path, struct rp_err *err)
{
    return rp_find_program_in(getenv("PATH"), name, ret_path, err);
}

int rp_find_program_in(const char *search, const char *name, char **ret_path, struct rp_err *err)
{
    if (!*name)
        return rp_fail(err, RP_USAGE, "the program's name is empty");
    if (strchr(name, '/'))
        return usable_program(name, name, ret_path, err);
    for (const char *at = search ? search : "/usr/bin:/bin"; *at;) {
        size_t len = strcspn(at, ":");
        rp_autofree char *path = rp_format("%.*s/%s", len ? (int)len : 1, len ? at : ".", name);

        if (path && access(path, X_OK) == 0 && !rp_path_is_dir(path))
            return usable_program(path, name, ret_path, err);
        at += len + (at[len] == ':');
    }
    if (rp_path_exists(name) && (is_source(name) || rp_path_is_dir(name)))
        return usable_program(name, name, ret_path, err);
    if (rp_path_exists(name))
        return rp_fail(err, RP_USAGE, "program %s is not in PATH; did you mean ./%s?", name, name);
    return rp_fail(err, RP_USAGE, "program %s not found in PATH", name);
}

int rp_executable_dir(char **ret_dir, struct rp_err *err)
{
    char path[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", path, sizeof path - 1);
    char *slash;

    if (len < 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "/proc/self/exe");
    path[len] = '\0';
    slash = strrchr(path, '/');
    *slash = '\0';
    *ret_dir = rp_strdup(path);
    return *ret_dir ? 0 : rp_out_of_memory(err);
}

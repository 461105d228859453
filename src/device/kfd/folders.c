/**
 * @file folders.c
 * @brief The libc functions that list folders: opendir and its relatives, scandir, glob.
 *
 * A folder that the host has, too, is listed with the host's entries first. The C library's own
 * glob() and scandir() call its inner functions, which nothing can stand in front of.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "device.h"
#include "export.h"
#include "hooks.h"

bool rp_vfs_is_hosts(const struct rp_vfs_node *node)
{
    if (node->kind != RP_VFS_SHARED)
        return node->kind == RP_VFS_NONE;
    int errno_before = errno;
    bool is = syscall(SYS_faccessat, AT_FDCWD, node->path, F_OK) == 0;
    errno = errno_before;
    return is;
}

/** An open directory of the generated tree, in the place of a DIR. */
struct tree_dir {
    char path[RP_TOPOLOGY_PATH_BYTES];
    DIR *hosts; /* the host's folder of that name, whose entries come first; NULL: none is left */
    bool is_shared;
    unsigned next;
    struct dirent entry;
};

static_assert(sizeof(struct dirent) == sizeof(struct dirent64), "one layout on x86-64");

/* Which DIR pointers are ours. Few are open at a time; the count keeps readdir() cheap. */
enum { OPEN_DIRS = 32 };
static struct tree_dir *open_dirs[OPEN_DIRS];
static unsigned open_dir_count;

static struct tree_dir **find_dir(const void *dir)
{
    if (__atomic_load_n(&open_dir_count, __ATOMIC_ACQUIRE) == 0)
        return NULL;
    for (unsigned i = 0; i < OPEN_DIRS; i++)
        if (dir && __atomic_load_n(&open_dirs[i], __ATOMIC_ACQUIRE) == dir)
            return &open_dirs[i];
    return NULL;
}

static DIR *open_tree_dir(const struct rp_vfs_node *node)
{
    struct tree_dir *dir = calloc(1, sizeof *dir);
    if (!dir)
        return NULL;
    memcpy(dir->path, node->path, sizeof dir->path);
    dir->is_shared = node->kind == RP_VFS_SHARED;
    dir->hosts = dir->is_shared ? NEXT(opendir)(node->path) : NULL;
    __atomic_add_fetch(&open_dir_count, 1, __ATOMIC_ACQ_REL);
    for (unsigned i = 0; i < OPEN_DIRS; i++) {
        struct tree_dir *expected = NULL;
        if (__atomic_compare_exchange_n(&open_dirs[i], &expected, dir, 0, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE))
            return (DIR *)dir;
    }
    __atomic_sub_fetch(&open_dir_count, 1, __ATOMIC_ACQ_REL);
    if (dir->hosts)
        NEXT(closedir)(dir->hosts);
    free(dir);
    errno = EMFILE;
    return NULL;
}

RP_EXPORT DIR *opendir(const char *path)
{
    struct rp_vfs_node node = rp_vfs_lookup(path, true);
    if (node.kind == RP_VFS_NONE)
        return NEXT(opendir)(path);
    if (node.kind == RP_VFS_DIR || node.kind == RP_VFS_SHARED)
        return open_tree_dir(&node);
    errno = node.kind == RP_VFS_ABSENT ? ENOENT : ENOTDIR;
    return NULL;
}

/** The host has an entry of that name, which was listed already. */
static bool hosts_have(const struct tree_dir *dir, const char *name)
{
    char path[RP_TOPOLOGY_PATH_BYTES + sizeof dir->entry.d_name + 1];
    snprintf(path, sizeof path, "%s/%s", dir->path, name);
    return syscall(SYS_faccessat, AT_FDCWD, path, F_OK) == 0;
}

/** Copies the entry with that number to dir->entry. */
static enum rp_topology_kind tree_entry(struct tree_dir *dir, unsigned index)
{
    static const char *const dots[] = {".", ".."};
    struct rp_topology topology = rp_device_topology();
    char *name = dir->entry.d_name;
    if (index >= 2)
        return rp_topology_entry(&topology, dir->path, index - 2, name, sizeof dir->entry.d_name);
    strcpy(name, dots[index]);
    return RP_TOPOLOGY_DIR;
}

static unsigned char type_of(enum rp_topology_kind kind)
{
    return kind == RP_TOPOLOGY_DIR      ? DT_DIR
           : kind == RP_TOPOLOGY_LINK   ? DT_LNK
           : kind == RP_TOPOLOGY_DEVICE ? DT_CHR
                                        : DT_REG;
}

static struct dirent *read_tree_dir(struct tree_dir *dir)
{
    int errno_before = errno;
    struct dirent *of_host = dir->hosts ? NEXT(readdir)(dir->hosts) : NULL;
    if (of_host)
        return of_host;
    for (;;) {
        unsigned index = dir->next;
        enum rp_topology_kind kind = tree_entry(dir, index);
        if (kind == RP_TOPOLOGY_NONE) {
            errno = errno_before;
            return NULL;
        }
        dir->next++;
        if (dir->is_shared && hosts_have(dir, dir->entry.d_name))
            continue;
        errno = errno_before;
        dir->entry.d_ino = index + 1;
        dir->entry.d_off = dir->next;
        dir->entry.d_reclen = sizeof dir->entry;
        dir->entry.d_type = type_of(kind);
        return &dir->entry;
    }
}

RP_EXPORT struct dirent *readdir(DIR *dir)
{
    struct tree_dir **slot = find_dir(dir);
    return slot ? read_tree_dir(*slot) : NEXT(readdir)(dir);
}

RP_EXPORT struct dirent64 *readdir64(DIR *dir)
{
    struct tree_dir **slot = find_dir(dir);
    return slot ? (struct dirent64 *)read_tree_dir(*slot) : NEXT(readdir64)(dir);
}

RP_EXPORT void rewinddir(DIR *dir)
{
    struct tree_dir **slot = find_dir(dir);
    if (!slot) {
        NEXT(rewinddir)(dir);
        return;
    }
    (*slot)->next = 0;
    if ((*slot)->hosts)
        NEXT(rewinddir)((*slot)->hosts);
}

RP_EXPORT int dirfd(DIR *dir)
{
    return find_dir(dir) ? fail(ENOTSUP) : NEXT(dirfd)(dir);
}

RP_EXPORT int closedir(DIR *dir)
{
    struct tree_dir **slot = find_dir(dir);
    if (!slot)
        return NEXT(closedir)(dir);
    struct tree_dir *ours = *slot;
    __atomic_store_n(slot, NULL, __ATOMIC_RELEASE);
    if (ours->hosts)
        NEXT(closedir)(ours->hosts);
    free(ours);
    __atomic_sub_fetch(&open_dir_count, 1, __ATOMIC_ACQ_REL);
    return 0;
}

/* ---- scandir() and glob() ------------------------------------------------------------------- */

static void free_names(struct dirent **names, size_t count)
{
    while (count)
        free(names[--count]);
    free(names);
}

/** Adds a copy of @p entry. */
static bool keep_name(struct dirent ***names, size_t count, const struct dirent *entry)
{
    struct dirent *copy = malloc(sizeof *copy);
    struct dirent **more = copy ? realloc(*names, (count + 1) * sizeof *more) : NULL;
    if (!more) {
        free(copy);
        return false;
    }
    memcpy(copy, entry, offsetof(struct dirent, d_name));
    strcpy(copy->d_name, entry->d_name);
    more[count] = copy;
    *names = more;
    return true;
}

typedef int name_order(const struct dirent **a, const struct dirent **b);

RP_EXPORT int scandir(const char *restrict path, struct dirent ***restrict ret_names,
                      int (*wanted)(const struct dirent *entry), name_order *order)
{
    struct rp_vfs_node node = rp_vfs_lookup(path, true);
    if (node.kind == RP_VFS_NONE)
        return NEXT(scandir)(path, ret_names, wanted, order);
    DIR *dir = opendir(path);
    struct dirent **names = NULL;
    size_t count = 0;
    if (!dir)
        return -1;
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (wanted && !wanted(entry))
            continue;
        if (!keep_name(&names, count, entry)) {
            closedir(dir);
            free_names(names, count);
            return fail(ENOMEM);
        }
        count++;
    }
    closedir(dir);
    if (order && count)
        qsort(names, count, sizeof *names, (int (*)(const void *, const void *))order);
    *ret_names = names;
    return (int)count;
}

/** What glob() calls in place of the C library's inner functions. */
static void *glob_opendir(const char *path)
{
    return opendir(path);
}

static struct dirent *glob_readdir(void *dir)
{
    return readdir(dir);
}

static void glob_closedir(void *dir)
{
    closedir(dir);
}

static bool may_glob_ours(const char *pattern, int flags)
{
    return !(flags & GLOB_ALTDIRFUNC) && rp_device_wanted() &&
           (strncmp(pattern, "/sys/", 5) == 0 || strncmp(pattern, "/dev/", 5) == 0);
}

RP_EXPORT int glob(const char *restrict pattern, int flags,
                   int (*on_error)(const char *path, int error), glob_t *restrict found)
{
    if (!may_glob_ours(pattern, flags))
        return NEXT(glob)(pattern, flags, on_error, found);
    found->gl_opendir = glob_opendir;
    found->gl_readdir = glob_readdir;
    found->gl_closedir = glob_closedir;
    found->gl_stat = stat;
    found->gl_lstat = lstat;
    int rc = NEXT(glob)(pattern, flags | GLOB_ALTDIRFUNC, on_error, found);
    found->gl_flags &= ~GLOB_ALTDIRFUNC;
    return rc;
}

static_assert(sizeof(glob_t) == sizeof(glob64_t), "one layout on x86-64");

RP_EXPORT int glob64(const char *restrict pattern, int flags,
                     int (*on_error)(const char *path, int error), glob64_t *restrict found)
{
    return glob(pattern, flags, on_error, (glob_t *)found);
}

/**
 * @file folder_hooks.c
 * @brief This file hooks the libc functions that list folders: opendir and its relatives,
 * scandir, glob.
 *
 * A folder that the host has, too, is listed with the host's entries first. The C library's own
 * glob() and scandir() call its inner functions, which nothing can stand in front of. A folder of
 * ours is no DIR of the C library, whose fields and lock are its own: every function that takes one
 * is here.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "device/driver/device_context.h"
#include "device/driver/libc_hooks.h"

/** An open directory of the generated tree, in the place of a DIR. */
struct tree_dir {
    pthread_mutex_t lock; /**< protects fd, hosts_ended, next, entry and the position of hosts */
    char path[RP_TOPOLOGY_PATH_BYTES];
    int fd; /**< below 0: none yet */
    bool is_shared;
    DIR *hosts; /**< the host's folder of that name, whose entries come first, and which owns fd */
    bool hosts_ended;
    unsigned next;
    struct dirent entry;
};

static_assert(sizeof(struct dirent) == sizeof(struct dirent64), "one layout on x86-64");

/* This remembers which DIR pointers are ours. It is global because readdir() gets only the
 * pointer, from any thread. Few are open at a time, and the count keeps readdir() cheap.
 */
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

/** Returns where @p dir is kept now, or NULL with errno. */
static struct tree_dir **keep_dir(struct tree_dir *dir)
{
    __atomic_add_fetch(&open_dir_count, 1, __ATOMIC_ACQ_REL);
    for (unsigned i = 0; i < OPEN_DIRS; i++) {
        struct tree_dir *expected = NULL;
        if (__atomic_compare_exchange_n(&open_dirs[i], &expected, dir, 0, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE))
            return &open_dirs[i];
    }
    __atomic_sub_fetch(&open_dir_count, 1, __ATOMIC_ACQ_REL);
    errno = EMFILE;
    return NULL;
}

static void drop_dir(struct tree_dir **slot)
{
    struct tree_dir *dir = *slot;
    __atomic_store_n(slot, NULL, __ATOMIC_RELEASE);
    __atomic_sub_fetch(&open_dir_count, 1, __ATOMIC_ACQ_REL);
    pthread_mutex_destroy(&dir->lock);
    free(dir);
}

/**
 * A folder of ours gets a descriptor when dirfd() asks for one: few programs do, and a process may
 * have no more of them.
 * @param fd  the folder's, which the DIR takes over; below 0: there is none yet
 */
static DIR *open_tree_dir(const struct rp_vfs_node *node, int fd)
{
    int errno_before = errno;
    struct tree_dir *dir = calloc(1, sizeof *dir), **slot = dir ? keep_dir(dir) : NULL;
    if (!slot) {
        free(dir);
        return NULL;
    }
    pthread_mutex_init(&dir->lock, NULL);
    memcpy(dir->path, node->path, sizeof dir->path);
    dir->is_shared = node->kind == RP_VFS_SHARED;
    dir->fd = fd;
    if (dir->is_shared) {
        dir->hosts = fd < 0 ? NEXT(opendir)(node->path) : NEXT(fdopendir)(fd);
        if (dir->hosts) {
            dir->fd = NEXT(dirfd)(dir->hosts);
        } else if (errno != ENOENT && errno != ENOTDIR) { /* The host has the folder. */
            drop_dir(slot);
            return NULL;
        }
    }
    errno = errno_before;
    return (DIR *)dir;
}

static int open_folder(const struct tree_dir *dir)
{
    struct rp_vfs_node node = {.kind = RP_VFS_DIR};
    memcpy(node.path, dir->path, sizeof node.path);
    return rp_vfs_open(&node, true);
}

RP_EXPORT DIR *opendir(const char *path)
{
    struct rp_vfs_node node = rp_vfs_lookup(path, true);
    if (node.kind == RP_VFS_NONE)
        return NEXT(opendir)(rp_vfs_hosts_path(&node, path));
    if (node.kind == RP_VFS_DIR || node.kind == RP_VFS_SHARED)
        return open_tree_dir(&node, -1);
    errno = node.kind == RP_VFS_ABSENT ? ENOENT : ENOTDIR;
    return NULL;
}

RP_EXPORT DIR *fdopendir(int fd)
{
    struct rp_vfs_node node;
    return rp_vfs_of_fd(fd, &node) && node.kind != RP_VFS_FILE ? open_tree_dir(&node, fd)
                                                               : NEXT(fdopendir)(fd);
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
        return rp_topology_list(&topology, dir->path, index - 2, name, sizeof dir->entry.d_name);
    strcpy(name, dots[index]);
    return RP_TOPOLOGY_DIR;
}

/** A position behind the host's entries is negative, because those from 0 on are the kernel's. */
static long position_of(const struct tree_dir *dir)
{
    return !dir->hosts        ? (long)dir->next
           : dir->hosts_ended ? LONG_MIN + (long)dir->next
                              : NEXT(telldir)(dir->hosts);
}

static unsigned char type_of(enum rp_topology_kind kind)
{
    return kind == RP_TOPOLOGY_DIR      ? DT_DIR
           : kind == RP_TOPOLOGY_LINK   ? DT_LNK
           : kind == RP_TOPOLOGY_DEVICE ? DT_CHR
                                        : DT_REG;
}

/** Returns NULL after the last entry. */
static struct dirent *next_entry(struct tree_dir *dir)
{
    struct dirent *of_host = dir->hosts && !dir->hosts_ended ? NEXT(readdir)(dir->hosts) : NULL;
    if (of_host)
        return of_host;
    dir->hosts_ended = true;
    for (;;) {
        unsigned index = dir->next;
        enum rp_topology_kind kind = tree_entry(dir, index);
        if (kind == RP_TOPOLOGY_NONE)
            return NULL;
        dir->next++;
        if (dir->is_shared && hosts_have(dir, dir->entry.d_name))
            continue;
        char path[RP_TOPOLOGY_PATH_BYTES + sizeof dir->entry.d_name + 1];
        snprintf(path, sizeof path, "%s/%s", dir->path, dir->entry.d_name);
        dir->entry.d_ino = rp_vfs_inode(path);
        dir->entry.d_off = position_of(dir);
        dir->entry.d_reclen = sizeof dir->entry;
        dir->entry.d_type = type_of(kind);
        return &dir->entry;
    }
}

static struct dirent *read_tree_dir(struct tree_dir *dir)
{
    int errno_before = errno;
    pthread_mutex_lock(&dir->lock);
    struct dirent *entry = next_entry(dir);
    pthread_mutex_unlock(&dir->lock);
    errno = errno_before;
    return entry;
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

static void copy_entry(struct dirent *to, const struct dirent *entry)
{
    memcpy(to, entry, offsetof(struct dirent, d_name));
    strcpy(to->d_name, entry->d_name);
}

static int copy_next(struct tree_dir *dir, struct dirent *out, void **ret_out)
{
    int errno_before = errno;
    pthread_mutex_lock(&dir->lock);
    const struct dirent *entry = next_entry(dir);
    if (entry)
        copy_entry(out, entry);
    pthread_mutex_unlock(&dir->lock);
    errno = errno_before;
    *ret_out = entry ? out : NULL;
    return 0;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* Old programs call these functions.   \
                                                            */
RP_EXPORT int readdir_r(DIR *restrict dir, struct dirent *restrict out,
                        struct dirent **restrict ret_out)
{
    struct tree_dir **slot = find_dir(dir);
    return slot ? copy_next(*slot, out, (void **)ret_out) : NEXT(readdir_r)(dir, out, ret_out);
}

RP_EXPORT int readdir64_r(DIR *restrict dir, struct dirent64 *restrict out,
                          struct dirent64 **restrict ret_out)
{
    struct tree_dir **slot = find_dir(dir);
    return slot ? copy_next(*slot, (struct dirent *)out, (void **)ret_out)
                : NEXT(readdir64_r)(dir, out, ret_out);
}
#pragma GCC diagnostic pop

/** Goes to the beginning, to a position of ours, or to one of the host's folder. */
static void go_to(struct tree_dir *dir, long position)
{
    pthread_mutex_lock(&dir->lock);
    dir->hosts_ended = position < 0 || !dir->hosts;
    dir->next = position < 0 ? (unsigned)(position - LONG_MIN)
                : dir->hosts ? 0
                             : (unsigned)position;
    if (!dir->hosts_ended)
        NEXT(seekdir)(dir->hosts, position);
    pthread_mutex_unlock(&dir->lock);
}

RP_EXPORT void rewinddir(DIR *dir)
{
    struct tree_dir **slot = find_dir(dir);
    if (!slot) {
        NEXT(rewinddir)(dir);
        return;
    }
    go_to(*slot, 0);
}

RP_EXPORT long telldir(DIR *dir)
{
    struct tree_dir **slot = find_dir(dir);
    if (!slot)
        return NEXT(telldir)(dir);
    pthread_mutex_lock(&(*slot)->lock);
    long position = position_of(*slot);
    pthread_mutex_unlock(&(*slot)->lock);
    return position;
}

RP_EXPORT void seekdir(DIR *dir, long position)
{
    struct tree_dir **slot = find_dir(dir);
    if (slot)
        go_to(*slot, position);
    else
        NEXT(seekdir)(dir, position);
}

RP_EXPORT int dirfd(DIR *dir)
{
    struct tree_dir **slot = find_dir(dir);
    if (!slot)
        return NEXT(dirfd)(dir);
    pthread_mutex_lock(&(*slot)->lock);
    int fd = (*slot)->fd < 0 ? open_folder(*slot) : (*slot)->fd;
    if (fd >= 0)
        (*slot)->fd = fd;
    pthread_mutex_unlock(&(*slot)->lock);
    return fd < 0 ? fail(-fd) : fd;
}

RP_EXPORT int closedir(DIR *dir)
{
    struct tree_dir **slot = find_dir(dir);
    if (!slot)
        return NEXT(closedir)(dir);
    DIR *hosts = (*slot)->hosts;
    int fd = (*slot)->fd;
    /* The slot goes first, because another thread may get the same memory for its own folder. */
    drop_dir(slot);
    return hosts ? NEXT(closedir)(hosts) : fd < 0 ? 0 : close(fd);
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
    copy_entry(copy, entry);
    more[count] = copy;
    *names = more;
    return true;
}

typedef int name_order(const struct dirent **a, const struct dirent **b);

/** @param dir  is closed; NULL: errno says why */
static int scan(DIR *dir, struct dirent ***restrict ret_names,
                int (*wanted)(const struct dirent *entry), name_order *order)
{
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

RP_EXPORT int scandir(const char *restrict path, struct dirent ***restrict ret_names,
                      int (*wanted)(const struct dirent *entry), name_order *order)
{
    struct rp_vfs_node node = rp_vfs_lookup(path, true);
    return node.kind == RP_VFS_NONE
               ? NEXT(scandir)(rp_vfs_hosts_path(&node, path), ret_names, wanted, order)
               : scan(opendir(path), ret_names, wanted, order);
}

RP_EXPORT int scandirat(int from, const char *restrict path, struct dirent ***restrict ret_names,
                        int (*wanted)(const struct dirent *entry), name_order *order)
{
    struct rp_vfs_at at;
    rp_vfs_lookup_at(from, path, true, &at);
    return at.node.kind == RP_VFS_NONE ? NEXT(scandirat)(at.dir, at.path, ret_names, wanted, order)
                                       : scan(opendir(at.node.path), ret_names, wanted, order);
}

/* Programs built with _FILE_OFFSET_BITS=64 call these instead. */
typedef int name_order64(const struct dirent64 **a, const struct dirent64 **b);

RP_EXPORT int scandir64(const char *restrict path, struct dirent64 ***restrict ret_names,
                        int (*wanted)(const struct dirent64 *entry), name_order64 *order)
{
    return scandir(path, (struct dirent ***)ret_names, (int (*)(const struct dirent *))wanted,
                   (name_order *)order);
}

RP_EXPORT int scandirat64(int from, const char *restrict path,
                          struct dirent64 ***restrict ret_names,
                          int (*wanted)(const struct dirent64 *entry), name_order64 *order)
{
    return scandirat(from, path, (struct dirent ***)ret_names,
                     (int (*)(const struct dirent *))wanted, (name_order *)order);
}

/** glob() calls these instead of the C library's inner functions. */
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

/**
 * @file libc_hooks.c
 * @brief This file hooks libc functions.
 *
 * Each looks at its path or descriptor, answers for the software device, and passes everything
 * else on unchanged. Nothing runs before a hooked function is called, so a shell or another child
 * that merely inherits the preload is not touched. errno changes only as the function says.
 */
#include "device/driver/libc_hooks.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/ioctl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "device/driver/device_context.h"
#include "device/driver/kfd_abi.h"
#include "device/driver/vfs.h"
#include "device/exec/host_traps.h"

/**
 * Tests whether the kernel answers: for a path that is not ours, or for a folder of the host that
 * has files of ours in it. If the host lacks that folder, it is ours. It keeps errno.
 */
static inline bool vfs_is_hosts(const struct rp_vfs_node *node)
{
    if (node->kind != RP_VFS_SHARED)
        return node->kind == RP_VFS_NONE;
    int errno_before = errno;
    bool is = syscall(SYS_faccessat, AT_FDCWD, node->path, F_OK) == 0;
    errno = errno_before;
    return is;
}

/** Returns 0, or -1 with errno from a negative code. */
static int result(int rc)
{
    return rc < 0 ? fail(-rc) : rc;
}

/* ---- opening ------------------------------------------------------------------------------ */

/** Opens a node. @return -errno on failure */
static int open_node(const struct rp_vfs_node *node, int flags)
{
    const bool folder = node->kind == RP_VFS_DIR || node->kind == RP_VFS_SHARED;
    if (node->kind == RP_VFS_ABSENT)
        return -ENOENT;
    if (!folder && flags & O_DIRECTORY)
        return -ENOTDIR;
    if (folder)
        return (flags & O_ACCMODE) != O_RDONLY || flags & O_CREAT
                   ? -EISDIR
                   : rp_vfs_open(node, flags & O_CLOEXEC);
    if (node->kind == RP_VFS_DEVICE)
        return rp_device_open(node->gpu, node->minor < RP_TOPOLOGY_RENDER_MINOR, flags & O_CLOEXEC);
    if (node->kind == RP_VFS_LINK)
        return -ELOOP; /* O_NOFOLLOW */
    return (flags & O_ACCMODE) == O_RDONLY ? rp_vfs_open(node, flags & O_CLOEXEC) : -EACCES;
}

/** Returns whether the node is ours; then *ret_fd is what open() returns. */
static bool open_ours(const struct rp_vfs_node *node, int flags, int *ret_fd)
{
    if (vfs_is_hosts(node))
        return false;
    int rc = open_node(node, flags);
    rp_log("open %s: %d", node->path, rc);
    *ret_fd = result(rc);
    return true;
}

/** The mode argument exists only with these flags. */
static mode_t mode_argument(int flags, va_list args)
{
    return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(args, mode_t) : 0;
}

#define OPEN_HOOK(name)                                                                            \
    RP_EXPORT int name(const char *path, int flags, ...)                                           \
    {                                                                                              \
        int fd;                                                                                    \
        va_list args;                                                                              \
        va_start(args, flags);                                                                     \
        mode_t mode = mode_argument(flags, args);                                                  \
        va_end(args);                                                                              \
        struct rp_vfs_node node = rp_vfs_lookup(path, !(flags & O_NOFOLLOW));                      \
        return open_ours(&node, flags, &fd)                                                        \
                   ? fd                                                                            \
                   : NEXT(name)(rp_vfs_hosts_path(&node, path), flags, mode);                      \
    }
OPEN_HOOK(open)
OPEN_HOOK(open64)

#define OPENAT_HOOK(name)                                                                          \
    RP_EXPORT int name(int dir, const char *path, int flags, ...)                                  \
    {                                                                                              \
        int fd;                                                                                    \
        struct rp_vfs_at at;                                                                       \
        va_list args;                                                                              \
        va_start(args, flags);                                                                     \
        mode_t mode = mode_argument(flags, args);                                                  \
        va_end(args);                                                                              \
        rp_vfs_lookup_at(dir, path, !(flags & O_NOFOLLOW), &at);                                   \
        return open_ours(&at.node, flags, &fd) ? fd : NEXT(name)(at.dir, at.path, flags, mode);    \
    }
OPENAT_HOOK(openat)
OPENAT_HOOK(openat64)

/* Programs built with _FORTIFY_SOURCE call these instead. */
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int dir, const char *path, int flags);
int __openat64_2(int dir, const char *path, int flags);

#define CHECKED_OPEN_HOOK(name)                                                                    \
    RP_EXPORT int name(const char *path, int flags)                                                \
    {                                                                                              \
        int fd;                                                                                    \
        struct rp_vfs_node node = rp_vfs_lookup(path, !(flags & O_NOFOLLOW));                      \
        return open_ours(&node, flags, &fd) ? fd                                                   \
                                            : NEXT(name)(rp_vfs_hosts_path(&node, path), flags);   \
    }
CHECKED_OPEN_HOOK(__open_2)
CHECKED_OPEN_HOOK(__open64_2)

#define CHECKED_OPENAT_HOOK(name)                                                                  \
    RP_EXPORT int name(int dir, const char *path, int flags)                                       \
    {                                                                                              \
        int fd;                                                                                    \
        struct rp_vfs_at at;                                                                       \
        rp_vfs_lookup_at(dir, path, !(flags & O_NOFOLLOW), &at);                                   \
        return open_ours(&at.node, flags, &fd) ? fd : NEXT(name)(at.dir, at.path, flags);          \
    }
CHECKED_OPENAT_HOOK(__openat_2)
CHECKED_OPENAT_HOOK(__openat64_2)

static FILE *stream(int fd, const char *mode)
{
    FILE *file = fd < 0 ? NULL : fdopen(fd, mode);
    if (!file && fd >= 0)
        close(fd);
    return file;
}

#define FOPEN_HOOK(name)                                                                           \
    RP_EXPORT FILE *name(const char *path, const char *mode)                                       \
    {                                                                                              \
        int fd, flags = mode[0] == 'r' && !strchr(mode, '+') ? O_RDONLY : O_RDWR;                  \
        if (strchr(mode, 'e'))                                                                     \
            flags |= O_CLOEXEC;                                                                    \
        struct rp_vfs_node node = rp_vfs_lookup(path, true);                                       \
        return open_ours(&node, flags, &fd) ? stream(fd, mode)                                     \
                                            : NEXT(name)(rp_vfs_hosts_path(&node, path), mode);    \
    }
FOPEN_HOOK(fopen)
FOPEN_HOOK(fopen64)

/* ---- asking about paths ------------------------------------------------------------------- */

static int access_ours(const struct rp_vfs_node *node, int mode)
{
    if (node->kind == RP_VFS_ABSENT)
        return fail(ENOENT);
    return mode & W_OK && node->kind != RP_VFS_DEVICE ? fail(EACCES) : 0;
}

RP_EXPORT int access(const char *path, int mode)
{
    struct rp_vfs_node node = rp_vfs_lookup(path, true);
    return vfs_is_hosts(&node) ? NEXT(access)(rp_vfs_hosts_path(&node, path), mode)
                               : access_ours(&node, mode);
}

RP_EXPORT int faccessat(int dir, const char *path, int mode, int flags)
{
    struct rp_vfs_at at;
    rp_vfs_lookup_at(dir, path, !(flags & AT_SYMLINK_NOFOLLOW), &at);
    return vfs_is_hosts(&at.node) ? NEXT(faccessat)(at.dir, at.path, mode, flags)
                                  : access_ours(&at.node, mode);
}

static ssize_t readlink_ours(const struct rp_vfs_node *node, char *out, size_t room)
{
    char target[2 * RP_TOPOLOGY_PATH_BYTES];
    if (node->kind != RP_VFS_LINK)
        return fail(node->kind == RP_VFS_ABSENT ? ENOENT : EINVAL);
    int bytes = rp_vfs_readlink(node, target);
    if (bytes < 0)
        return fail(-bytes);
    size_t taken = (size_t)bytes < room ? (size_t)bytes : room;
    memcpy(out, target, taken);
    return (ssize_t)taken;
}

/** Answers for /proc/self/exe where that must be shown as another file. */
static bool readlink_program(const char *path, char *out, size_t room, ssize_t *ret)
{
    char program[PATH_MAX];
    if (!rp_exec_is_own_program(path, program))
        return false;
    const size_t bytes = strlen(program);
    *ret = (ssize_t)(bytes < room ? bytes : room);
    memcpy(out, program, (size_t)*ret);
    return true;
}

RP_EXPORT ssize_t readlink(const char *restrict path, char *restrict out, size_t room)
{
    ssize_t bytes;
    if (readlink_program(path, out, room, &bytes))
        return bytes;
    struct rp_vfs_node node = rp_vfs_lookup(path, false);
    return vfs_is_hosts(&node) ? NEXT(readlink)(rp_vfs_hosts_path(&node, path), out, room)
                               : readlink_ours(&node, out, room);
}

RP_EXPORT ssize_t readlinkat(int dir, const char *restrict path, char *restrict out, size_t room)
{
    struct rp_vfs_at at;
    ssize_t bytes;
    if (readlink_program(path, out, room, &bytes))
        return bytes;
    rp_vfs_lookup_at(dir, path, false, &at);
    return vfs_is_hosts(&at.node) ? NEXT(readlinkat)(at.dir, at.path, out, room)
                                  : readlink_ours(&at.node, out, room);
}

/* Programs built with _FORTIFY_SOURCE call this instead of readlink(). */
ssize_t __readlink_chk(const char *restrict path, char *restrict out, size_t room, size_t there);
RP_EXPORT ssize_t __readlink_chk(const char *restrict path, char *restrict out, size_t room,
                                 size_t there)
{
    ssize_t bytes;
    if (room <= there && readlink_program(path, out, room, &bytes))
        return bytes;
    struct rp_vfs_node node = rp_vfs_lookup(path, false);
    return vfs_is_hosts(&node) || room > there
               ? NEXT(__readlink_chk)(rp_vfs_hosts_path(&node, path), out, room, there)
               : readlink_ours(&node, out, room);
}

ssize_t __readlinkat_chk(int dir, const char *restrict path, char *restrict out, size_t room,
                         size_t there);
RP_EXPORT ssize_t __readlinkat_chk(int dir, const char *restrict path, char *restrict out,
                                   size_t room, size_t there)
{
    struct rp_vfs_at at;
    ssize_t bytes;
    if (room <= there && readlink_program(path, out, room, &bytes))
        return bytes;
    rp_vfs_lookup_at(dir, path, false, &at);
    return vfs_is_hosts(&at.node) || room > there
               ? NEXT(__readlinkat_chk)(at.dir, at.path, out, room, there)
               : readlink_ours(&at.node, out, room);
}

static char *realpath_ours(const struct rp_vfs_node *node, char *out)
{
    if (node->kind == RP_VFS_ABSENT) {
        errno = ENOENT;
        return NULL;
    }
    return out ? strcpy(out, node->path) : strdup(node->path);
}

RP_EXPORT char *realpath(const char *restrict path, char *restrict out)
{
    char program[PATH_MAX];
    if (rp_exec_is_own_program(path, program))
        return out ? strcpy(out, program) : strdup(program);
    struct rp_vfs_node node = rp_vfs_lookup(path, true);
    return vfs_is_hosts(&node) ? NEXT(realpath)(rp_vfs_hosts_path(&node, path), out)
                               : realpath_ours(&node, out);
}

char *__realpath_chk(const char *restrict path, char *restrict out, size_t there);
RP_EXPORT char *__realpath_chk(const char *restrict path, char *restrict out, size_t there)
{
    char program[PATH_MAX];
    if (there >= sizeof program && rp_exec_is_own_program(path, program))
        return strcpy(out, program);
    struct rp_vfs_node node = rp_vfs_lookup(path, true);
    return vfs_is_hosts(&node) ? NEXT(__realpath_chk)(rp_vfs_hosts_path(&node, path), out, there)
                               : realpath_ours(&node, out);
}

RP_EXPORT char *canonicalize_file_name(const char *path)
{
    char program[PATH_MAX];
    if (rp_exec_is_own_program(path, program))
        return strdup(program);
    struct rp_vfs_node node = rp_vfs_lookup(path, true);
    return vfs_is_hosts(&node) ? NEXT(canonicalize_file_name)(rp_vfs_hosts_path(&node, path))
                               : realpath_ours(&node, NULL);
}

static int stat_ours(const struct rp_vfs_node *node, void *out)
{
    if (node->kind == RP_VFS_ABSENT)
        return fail(ENOENT);
    rp_vfs_stat(node, out);
    return 0;
}

static_assert(sizeof(struct stat) == sizeof(struct stat64), "one layout on x86-64");

#define STAT_HOOK(name, type, follow)                                                              \
    RP_EXPORT int name(const char *restrict path, struct type *restrict out)                       \
    {                                                                                              \
        struct rp_vfs_node node = rp_vfs_lookup(path, follow);                                     \
        return vfs_is_hosts(&node) ? NEXT(name)(rp_vfs_hosts_path(&node, path), out)               \
                                   : stat_ours(&node, out);                                        \
    }
STAT_HOOK(stat, stat, true)
STAT_HOOK(stat64, stat64, true)
STAT_HOOK(lstat, stat, false)
STAT_HOOK(lstat64, stat64, false)

/**
 * A descriptor on the device is one on its memory's file; libdrm wants to see the device. One of a
 * folder or a file is one on a file in memory, of which cp would say that it is not the file that
 * stat() told of. All are shown as what they stand for, where @p rc is 0 and @p out is of such a
 * descriptor. Returns @p rc, with errno as it was.
 */
static int stat_descriptor(int rc, int fd, void *out)
{
    struct stat *st = out;
    struct rp_vfs_node node;
    const struct rp_device *device = rc == 0 ? rp_device_get() : NULL;
    if (device && st->st_ino == device->file_ino && st->st_dev == device->file_dev)
        rp_vfs_stat(
            &(struct rp_vfs_node){.kind = RP_VFS_DEVICE, .minor = rp_device_minor_of_fd(fd)}, st);
    else if (rc == 0 && rp_vfs_is_like_ours(st) && rp_vfs_of_fd(fd, &node))
        rp_vfs_stat(&node, st);
    return rc;
}

#define FSTAT_HOOK(name, type)                                                                     \
    RP_EXPORT int name(int fd, struct type *out)                                                   \
    {                                                                                              \
        return stat_descriptor(NEXT(name)(fd, out), fd, out);                                      \
    }
FSTAT_HOOK(fstat, stat)
FSTAT_HOOK(fstat64, stat64)

#define FSTATAT_HOOK(name, type)                                                                   \
    RP_EXPORT int name(int dir, const char *restrict path, struct type *restrict out, int flags)   \
    {                                                                                              \
        struct rp_vfs_at at;                                                                       \
        rp_vfs_lookup_at(dir, path, !(flags & AT_SYMLINK_NOFOLLOW), &at);                          \
        if (!vfs_is_hosts(&at.node))                                                               \
            return stat_ours(&at.node, out);                                                       \
        int rc = NEXT(name)(at.dir, at.path, out, flags);                                          \
        return flags & AT_EMPTY_PATH ? stat_descriptor(rc, dir, out) : rc;                         \
    }
FSTATAT_HOOK(fstatat, stat)
FSTATAT_HOOK(fstatat64, stat64)

/**
 * Tests whether @p fd stands for the device, or for a folder or file of ours. It does not ask
 * where the kernel knows the answer.
 */
static bool stat_ours_of_fd(int fd, struct stat *ret_stat)
{
    const struct rp_device *device = rp_device_get();
    struct rp_vfs_node node;
    if (device && rp_device_owns(device, fd))
        node = (struct rp_vfs_node){.kind = RP_VFS_DEVICE, .minor = rp_device_minor_of_fd(fd)};
    else if (!rp_vfs_of_fd(fd, &node) || vfs_is_hosts(&node))
        return false;
    rp_vfs_stat(&node, ret_stat);
    return true;
}

RP_EXPORT int statx(int dir, const char *restrict path, int flags, unsigned mask,
                    struct statx *restrict out)
{
    struct rp_vfs_at at;
    struct stat st;
    rp_vfs_lookup_at(dir, path, !(flags & AT_SYMLINK_NOFOLLOW), &at);
    /* Since Linux 6.11 the path may be NULL; glibc's declaration says that it never is. */
    const bool is_of_fd = flags & AT_EMPTY_PATH && (!at.path || !*at.path);
    if (!is_of_fd || !stat_ours_of_fd(dir, &st)) {
        if (vfs_is_hosts(&at.node))
            return NEXT(statx)(at.dir, at.path, flags, mask, out);
        if (stat_ours(&at.node, &st) < 0)
            return -1;
    }
    *out = (struct statx){
        .stx_mask = STATX_TYPE | STATX_MODE | STATX_NLINK | STATX_SIZE | STATX_INO,
        .stx_blksize = (uint32_t)st.st_blksize,
        .stx_nlink = (uint32_t)st.st_nlink,
        .stx_mode = (uint16_t)st.st_mode,
        .stx_ino = st.st_ino,
        .stx_size = (uint64_t)st.st_size,
        .stx_rdev_major = major(st.st_rdev),
        .stx_rdev_minor = minor(st.st_rdev),
    };
    return 0;
}

/* Programs linked against glibc before 2.33 call these instead of stat(). */
#define XSTAT_HOOK(name, type, follow)                                                             \
    int name(int version, const char *path, struct type *out);                                     \
    RP_EXPORT int name(int version, const char *path, struct type *out)                            \
    {                                                                                              \
        struct rp_vfs_node node = rp_vfs_lookup(path, follow);                                     \
        return vfs_is_hosts(&node) ? NEXT(name)(version, rp_vfs_hosts_path(&node, path), out)      \
                                   : stat_ours(&node, out);                                        \
    }
XSTAT_HOOK(__xstat, stat, true)
XSTAT_HOOK(__xstat64, stat64, true)
XSTAT_HOOK(__lxstat, stat, false)
XSTAT_HOOK(__lxstat64, stat64, false)

#define FXSTAT_HOOK(name, type)                                                                    \
    int name(int version, int fd, struct type *out);                                               \
    RP_EXPORT int name(int version, int fd, struct type *out)                                      \
    {                                                                                              \
        return stat_descriptor(NEXT(name)(version, fd, out), fd, out);                             \
    }
FXSTAT_HOOK(__fxstat, stat)
FXSTAT_HOOK(__fxstat64, stat64)

#define FXSTATAT_HOOK(name, type)                                                                  \
    int name(int version, int dir, const char *path, struct type *out, int flags);                 \
    RP_EXPORT int name(int version, int dir, const char *path, struct type *out, int flags)        \
    {                                                                                              \
        struct rp_vfs_at at;                                                                       \
        rp_vfs_lookup_at(dir, path, !(flags & AT_SYMLINK_NOFOLLOW), &at);                          \
        if (!vfs_is_hosts(&at.node))                                                               \
            return stat_ours(&at.node, out);                                                       \
        int rc = NEXT(name)(version, at.dir, at.path, out, flags);                                 \
        return flags & AT_EMPTY_PATH ? stat_descriptor(rc, dir, out) : rc;                         \
    }
FXSTATAT_HOOK(__fxstatat, stat)
FXSTATAT_HOOK(__fxstatat64, stat64)

/* Tools that list files also ask for access lists, which our files do not have. */
#define XATTR_HOOK(name, follow)                                                                   \
    RP_EXPORT ssize_t name(const char *path, const char *key, void *out, size_t room)              \
    {                                                                                              \
        struct rp_vfs_node node = rp_vfs_lookup(path, follow);                                     \
        return vfs_is_hosts(&node) ? NEXT(name)(rp_vfs_hosts_path(&node, path), key, out, room)    \
                                   : fail(node.kind == RP_VFS_ABSENT ? ENOENT : ENODATA);          \
    }
XATTR_HOOK(getxattr, true)
XATTR_HOOK(lgetxattr, false)

/* ---- the device --------------------------------------------------------------------------- */

/** The descriptor is a device file of a process that this one was forked from. */
static bool is_foreign_store(int fd)
{
    char link[40], target[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = syscall(SYS_readlink, link, target, sizeof target - 1);
    if (n < 0)
        return false;
    target[n] = '\0';
    return strncmp(target, "/memfd:rocm-perf-device", 23) == 0;
}

RP_EXPORT int ioctl(int fd, unsigned long request, ...)
{
    va_list args;
    va_start(args, request);
    void *argument = va_arg(args, void *);
    va_end(args);
    const bool to_kfd = _IOC_TYPE(request) == RP_KFD_IOCTL_TYPE;
    /* Terminal calls of the same letter carry no direction bits. */
    if ((to_kfd || _IOC_TYPE(request) == RP_DRM_IOCTL_TYPE) && _IOC_DIR(request) != _IOC_NONE) {
        int errno_before = errno;
        struct rp_device *device = rp_device_get();
        if (device && rp_device_owns(device, fd)) {
            int rc = to_kfd ? rp_kfd_ioctl(device, request, argument)
                            : rp_drm_ioctl(device, fd, request, argument);
            errno = errno_before;
            return result(rc);
        }
        if (is_foreign_store(fd))
            return fail(EBADF);
        errno = errno_before;
    }
    return NEXT(ioctl)(fd, request, argument);
}

/**
 * Returns the mmap() behind ours: the C library's, or that of another library in front of it. It
 * is NULL while the lookup runs, which may allocate and so come back here.
 */
static __typeof__(mmap) *next_mmap(void)
{
    static __thread bool looking __attribute__((tls_model("initial-exec")));
    if (looking)
        return NULL;
    looking = true;
    __typeof__(mmap) *found = NEXT(mmap);
    looking = false;
    return found;
}

static void *map_memory(void *address, size_t bytes, int protection, int flags, int fd,
                        off_t offset)
{
    struct rp_device *device;
    if ((uint64_t)offset >= RP_MEMORY_IMPORT_OFFSET && offset > 0 && !(flags & MAP_ANONYMOUS) &&
        (device = rp_device_get()) && rp_device_owns(device, fd)) {
        void *mapped;
        int rc = rp_memory_mmap_imported(&device->memory, address, bytes, protection, flags,
                                         (uint64_t)offset, &mapped);
        return rc < 0 ? (errno = -rc, MAP_FAILED) : mapped;
    }
    __typeof__(mmap) *next = next_mmap();
    return next ? next(address, bytes, protection, flags, fd, offset)
                : (void *)syscall(SYS_mmap, address, bytes, protection, flags, fd, offset);
}

RP_EXPORT void *mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    return map_memory(address, bytes, protection, flags, fd, offset);
}

RP_EXPORT void *mmap64(void *address, size_t bytes, int protection, int flags, int fd,
                       off64_t offset)
{
    return map_memory(address, bytes, protection, flags, fd, offset);
}

/*
 * The program sees its own handlers, not those of host_traps.c. Both are looked up by whichever is
 * called first: a handler may call them, and dlsym() is not for handlers.
 */
static __typeof__(sigaction) *next_sigaction(void)
{
    (void)NEXT(signal);
    return NEXT(sigaction);
}

static __typeof__(signal) *next_signal(void)
{
    (void)next_sigaction();
    return NEXT(signal);
}

RP_EXPORT int sigaction(int sig, const struct sigaction *restrict fresh,
                        struct sigaction *restrict ret_old)
{
    if (!rp_trap_owns_signal(sig))
        return next_sigaction()(sig, fresh, ret_old);
    rp_trap_sigaction(sig, fresh, ret_old);
    return 0;
}

RP_EXPORT __sighandler_t signal(int sig, __sighandler_t handler)
{
    struct sigaction fresh = {.sa_handler = handler, .sa_flags = SA_RESTART}, old;
    if (!rp_trap_owns_signal(sig))
        return next_signal()(sig, handler);
    sigemptyset(&fresh.sa_mask);
    sigaddset(&fresh.sa_mask, sig);
    rp_trap_sigaction(sig, &fresh, &old);
    return old.sa_handler;
}

RP_EXPORT int munmap(void *address, size_t bytes)
{
    struct rp_device *device = rp_device_get();
    if (device)
        rp_memory_host_unmapped(&device->memory, (uintptr_t)address, bytes);
    return NEXT(munmap)(address, bytes);
}

/* ---- what ROCr prints -------------------------------------------------------------------- */

/* Libraries built with _FORTIFY_SOURCE, such as Debian's ROCr, call this instead of fprintf(). */
int __fprintf_chk(FILE *stream, int flag, const char *format, ...);
int __vfprintf_chk(FILE *stream, int flag, const char *format, va_list args);

/* Debian's ROCr is built with its own checks on, and reports at the end of every HIP program that
 * "SharedSignalPool" or the like has leaked, because HIP keeps signals until the process ends.
 * Users take it for a fault of theirs, so it is dropped. Other callers may print the same words.
 */
static bool is_leak_notice(const char *format, const void *caller)
{
    static const char leak[] = "Warning: Resource leak detected by ";
    Dl_info who;
    return format && strncmp(format, leak, sizeof leak - 1) == 0 && dladdr(caller, &who) &&
           who.dli_fname && strstr(who.dli_fname, "libhsa-runtime64");
}

/* Writes into the raw log of `profile --debug`, and our own. */
static __attribute__((format(printf, 1, 0))) void log_notice(const char *format, va_list args)
{
    const char *path = secure_getenv("ROCM_PERF_TOOL_DEBUG");
    char line[256];
    const int n = vsnprintf(line, sizeof line - 1, format, args);
    if (n <= 0)
        return;
    const size_t used = strcspn(line, "\n");
    line[used] = '\0';
    rp_log("ROCr: %s", line);
    line[used] = '\n';
    const int fd = path ? (int)syscall(SYS_openat, AT_FDCWD, path,
                                       O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)
                        : -1;
    if (fd >= 0 && write(fd, line, used + 1) < 0) {
        /* A debug log that cannot be written is not the program's problem. */
    }
    if (fd >= 0)
        close(fd);
}

RP_EXPORT int __fprintf_chk(FILE *stream, int flag, const char *format, ...)
{
    const int errno_before = errno;
    int rc = 0;
    va_list args;
    va_start(args, format);
    if (is_leak_notice(format, __builtin_return_address(0))) {
        log_notice(format, args);
        errno = errno_before;
    } else {
        rc = __vfprintf_chk(stream, flag, format, args);
    }
    va_end(args);
    return rc;
}

/* ROCr calls these few libdrm functions, which are answered for the software device. They are
 * exported, so they win over libdrm's own. A call for a device or buffer that is not ours, or for
 * a device that is switched off, goes on to the real library; without one it fails as in libdrm.
 */

/** This is laid out as struct amdgpu_bo_import_result. */
struct rp_drm_import_result {
    void *bo;
    uint64_t alloc_bytes;
};

/* These functions are libdrm's, under its names. Handles are opaque pointers here. */
int drmOpenRender(int minor);
int drmClose(int fd);
int drmCommandWriteRead(int fd, unsigned long command, void *data, unsigned long bytes);
int amdgpu_device_initialize(int fd, uint32_t *major, uint32_t *minor, void **ret_handle);
int amdgpu_device_deinitialize(void *handle);
int amdgpu_device_get_fd(void *handle);
const char *amdgpu_get_marketing_name(void *handle);
int amdgpu_query_gpu_info(void *handle, struct rp_drm_gpu_info *info);
int amdgpu_bo_import(void *handle, int type, uint32_t shared, struct rp_drm_import_result *result);
int amdgpu_bo_export(void *handle, int type, uint32_t *shared);
int amdgpu_bo_free(void *handle);
int amdgpu_bo_va_op(void *handle, uint64_t offset, uint64_t bytes, uint64_t va, uint64_t flags,
                    uint32_t op);
int amdgpu_bo_cpu_map(void *handle, void **ret_cpu);
int amdgpu_bo_query_info(void *handle, struct rp_drm_bo_info *info);
int amdgpu_bo_set_metadata(void *handle, struct rp_drm_bo_metadata *metadata);

enum rp_drm_handle_type {
    RP_DRM_HANDLE_KMS = 1,
    RP_DRM_HANDLE_DMABUF = 2,
    RP_DRM_HANDLE_KMS_NOIMPORT = 3
};

enum { RP_DRM_VA_MAP = 1, RP_DRM_VA_UNMAP = 2, RP_DRM_VA_CLEAR = 3, RP_DRM_VA_REPLACE = 4 };

enum { RP_DRM_PAGE_READABLE = 1 << 1, RP_DRM_PAGE_WRITEABLE = 1 << 2 };

/** An amdgpu_bo_handle of ours points to this. */
struct rp_drm_bo {
    uint64_t magic;
    unsigned gpu; /**< which it was imported to */
    struct rp_buffer_object *buffer;
    void *cpu; /**< CPU mapping, or NULL */
};

#define BO_MAGIC 0x6f622d6d72642d70ull

/* Our amdgpu_device_handle is the address of the GPU's element. */
static const char device_tokens[RP_GPU_LIMIT];

static unsigned gpu_of(const void *handle)
{
    return (unsigned)((uintptr_t)handle - (uintptr_t)device_tokens);
}

static bool ours(const void *handle)
{
    return (uintptr_t)handle - (uintptr_t)device_tokens < RP_GPU_LIMIT;
}

static bool our_bo(const struct rp_drm_bo *bo)
{
    return bo && bo->magic == BO_MAGIC;
}

/** Calls the next library's function of the same name, or returns @p otherwise. */
#define FORWARD(otherwise, name, ...)                                                              \
    do {                                                                                           \
        __typeof__(name) *next_ = (__typeof__(name) *)dlsym(RTLD_NEXT, #name);                     \
        return next_ ? next_(__VA_ARGS__) : (otherwise);                                           \
    } while (0)

RP_EXPORT int drmOpenRender(int minor)
{
    unsigned gpu = (unsigned)minor - RP_TOPOLOGY_RENDER_MINOR;
    if (!rp_device_wanted() || gpu >= rp_device_gpu_count())
        FORWARD(-ENODEV, drmOpenRender, minor);
    return rp_device_open(gpu, false, true);
}

RP_EXPORT int drmClose(int fd)
{
    return close(fd);
}

RP_EXPORT int drmCommandWriteRead(int fd, unsigned long command, void *data, unsigned long bytes)
{
    struct rp_device *device = rp_device_get();
    if (!device || !rp_device_owns(device, fd))
        FORWARD(-ENODEV, drmCommandWriteRead, fd, command, data, bytes);
    if (command != RP_DRM_GEM_MMAP || bytes < sizeof(uint64_t)) {
        rp_log("drm command 0x%lx is not supported", command);
        return -EINVAL;
    }
    return rp_drm_gem_mmap(device, data);
}

RP_EXPORT int amdgpu_device_initialize(int fd, uint32_t *major, uint32_t *minor, void **ret_handle)
{
    struct rp_device *device = rp_device_get();
    if (!device || !rp_device_owns(device, fd))
        FORWARD(-ENODEV, amdgpu_device_initialize, fd, major, minor, ret_handle);
    *major = RP_DRM_MAJOR;
    *minor = RP_DRM_MINOR;
    *ret_handle = (void *)(uintptr_t)&device_tokens[rp_device_gpu_of_fd(fd)];
    return 0;
}

RP_EXPORT int amdgpu_device_deinitialize(void *handle)
{
    if (!ours(handle))
        FORWARD(-EINVAL, amdgpu_device_deinitialize, handle);
    return 0;
}

RP_EXPORT int amdgpu_device_get_fd(void *handle)
{
    struct rp_device *device = rp_device_get();
    if (!ours(handle) || !device)
        FORWARD(-1, amdgpu_device_get_fd, handle);
    return device->gpus[gpu_of(handle)].fd;
}

RP_EXPORT const char *amdgpu_get_marketing_name(void *handle)
{
    if (!ours(handle))
        FORWARD(NULL, amdgpu_get_marketing_name, handle);
    return rp_device_arch().product;
}

RP_EXPORT int amdgpu_query_gpu_info(void *handle, struct rp_drm_gpu_info *info)
{
    if (!ours(handle))
        FORWARD(-EINVAL, amdgpu_query_gpu_info, handle, info);
    const struct rp_arch arch = rp_device_arch();
    *info = (struct rp_drm_gpu_info){
        .asic_id = arch.pci_device_id,
        .ids_flags = arch.apu ? RP_DRM_IDS_FUSION : 0,
        .family_id = RP_DRM_FAMILY_AI,
        .max_engine_clk_khz = (uint64_t)arch.engine_clock_mhz * 1000,
        .max_memory_clk_khz = (uint64_t)arch.memory_clock_mhz * 1000,
        .shader_engines = arch.shader_engines,
        .shader_arrays_per_engine = 1,
        .gpu_counter_freq_khz = arch.timestamp_mhz * 1000,
        .cu_active_number = arch.compute_units,
        .vram_type = RP_DRM_VRAM_HBM,
        .vram_bit_width = arch.memory_width_bits,
    };
    return 0;
}

RP_EXPORT int amdgpu_bo_import(void *handle, int type, uint32_t shared,
                               struct rp_drm_import_result *result)
{
    struct rp_device *device = rp_device_get();
    if (!ours(handle) || !device)
        FORWARD(-EINVAL, amdgpu_bo_import, handle, type, shared, result);
    struct rp_buffer_object *buffer;
    if (type != RP_DRM_HANDLE_DMABUF)
        return -ENOTSUP;
    int rc = rp_memory_buffer_from_fd(&device->memory, (int)shared, &buffer);
    if (rc < 0)
        return rc;
    struct rp_drm_bo *bo = malloc(sizeof *bo);
    if (!bo) {
        rp_memory_buffer_unref(&device->memory, buffer);
        return -ENOMEM;
    }
    *bo = (struct rp_drm_bo){.magic = BO_MAGIC, .gpu = gpu_of(handle), .buffer = buffer};
    *result = (struct rp_drm_import_result){.bo = bo, .alloc_bytes = buffer->bytes};
    return 0;
}

RP_EXPORT int amdgpu_bo_export(void *handle, int type, uint32_t *shared)
{
    struct rp_drm_bo *bo = handle;
    if (!our_bo(bo))
        FORWARD(-EINVAL, amdgpu_bo_export, handle, type, shared);
    if (type != RP_DRM_HANDLE_KMS && type != RP_DRM_HANDLE_KMS_NOIMPORT)
        return -ENOTSUP;
    *shared = bo->buffer->id;
    return 0;
}

RP_EXPORT int amdgpu_bo_free(void *handle)
{
    struct rp_drm_bo *bo = handle;
    if (!our_bo(bo))
        FORWARD(-EINVAL, amdgpu_bo_free, handle);
    struct rp_device *device = rp_device_get();
    if (bo->cpu)
        munmap(bo->cpu, bo->buffer->bytes);
    if (device)
        rp_memory_buffer_unref(&device->memory, bo->buffer);
    bo->magic = 0;
    free(bo);
    return 0;
}

RP_EXPORT int amdgpu_bo_va_op(void *handle, uint64_t offset, uint64_t bytes, uint64_t va,
                              uint64_t flags, uint32_t op)
{
    struct rp_drm_bo *bo = handle;
    struct rp_device *device = rp_device_get();
    if (!our_bo(bo) || !device)
        FORWARD(-EINVAL, amdgpu_bo_va_op, handle, offset, bytes, va, flags, op);
    bool writable = (flags & RP_DRM_PAGE_WRITEABLE) != 0;
    int rc = -EINVAL;
    if (op == RP_DRM_VA_MAP || op == RP_DRM_VA_REPLACE)
        rc = rp_memory_buffer_map(&device->memory, bo->gpu, bo->buffer, offset, bytes, va, writable,
                                  op == RP_DRM_VA_REPLACE);
    else if (op == RP_DRM_VA_UNMAP || op == RP_DRM_VA_CLEAR)
        rc = rp_memory_va_unmap(&device->memory, bo->gpu, va, bytes);
    rp_log("bo %u va op %u at 0x%llx, %llu bytes: %d", bo->buffer->id, op, (unsigned long long)va,
           (unsigned long long)bytes, rc);
    return rc;
}

RP_EXPORT int amdgpu_bo_cpu_map(void *handle, void **ret_cpu)
{
    struct rp_drm_bo *bo = handle;
    struct rp_device *device = rp_device_get();
    if (!our_bo(bo) || !device)
        FORWARD(-EINVAL, amdgpu_bo_cpu_map, handle, ret_cpu);
    if (!bo->cpu) {
        void *cpu =
            mmap(NULL, bo->buffer->bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                 rp_memory_buffer_file(&device->memory, bo->buffer), (off_t)bo->buffer->offset);
        if (cpu == MAP_FAILED)
            return -errno;
        bo->cpu = cpu;
    }
    *ret_cpu = bo->cpu;
    return 0;
}

RP_EXPORT int amdgpu_bo_query_info(void *handle, struct rp_drm_bo_info *info)
{
    struct rp_drm_bo *bo = handle;
    if (!our_bo(bo))
        FORWARD(-EINVAL, amdgpu_bo_query_info, handle, info);
    *info = (struct rp_drm_bo_info){
        .alloc_bytes = bo->buffer->bytes,
        .phys_alignment = RP_BACKING_PAGE,
        /* These are the GEM domains VRAM and GTT. */
        .preferred_heap = bo->buffer->flags & RP_KFD_MEM_VRAM ? 4 : 2,
        .metadata = bo->buffer->metadata,
    };
    return 0;
}

RP_EXPORT int amdgpu_bo_set_metadata(void *handle, struct rp_drm_bo_metadata *metadata)
{
    struct rp_drm_bo *bo = handle;
    if (!our_bo(bo))
        FORWARD(-EINVAL, amdgpu_bo_set_metadata, handle, metadata);
    if (metadata->size_bytes > sizeof metadata->umd)
        return -EINVAL;
    bo->buffer->metadata = *metadata;
    return 0;
}

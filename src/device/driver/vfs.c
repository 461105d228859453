/* Answers which paths are of the tree that topology.c describes, and with what: links and ".." are
 * followed here, descriptors are made, and what they belong to is found.
 */
#include "device/driver/vfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/file.h"
#include "device/driver/device_context.h"

enum { DRM_MAJOR = 226, MOST_LINKS = 40 };

static bool is_below(const char *path, const char *folder)
{
    size_t n = strlen(folder);
    return strncmp(path, folder, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

/** Tests whether everything at @p path and below it is ours. */
static bool is_owned(const struct rp_topology *topology, const char *path)
{
    static const char *const folders[] = {"/sys/class/kfd", "/sys/devices/virtual/kfd",
                                          "/sys/module/amdgpu", "/sys/class/drm",
                                          "/sys/bus/pci/drivers/amdgpu"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (is_below(path, folders[i]))
            return true;
    for (unsigned gpu = 0; gpu < topology->gpu_count; gpu++) {
        char folder[40];
        snprintf(folder, sizeof folder, "/sys/devices/pci%04x:%02x", RP_TOPOLOGY_DOMAIN,
                 RP_TOPOLOGY_BUS + gpu);
        if (is_below(path, folder))
            return true;
    }
    return false;
}

/** This is the path so far, without links, and what exists there. */
struct place {
    char path[RP_TOPOLOGY_PATH_BYTES];
    size_t used;
    enum rp_topology_kind kind;
    bool is_detour;
};

/** The host has a folder of that name, and none of the names in it is a link. */
static bool is_hosts_folder(const char *path)
{
    char part[RP_TOPOLOGY_PATH_BYTES];
    int errno_before = errno;
    bool is = true;
    for (const char *end = path; is && *end;) {
        struct stat st;
        end += 1 + strcspn(end + 1, "/");
        snprintf(part, sizeof part, "%.*s", (int)(end - path), path);
        is = syscall(SYS_newfstatat, AT_FDCWD, part, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
             S_ISDIR(st.st_mode);
    }
    errno = errno_before;
    return is;
}

static bool go_up(struct place *place)
{
    if (place->kind != RP_TOPOLOGY_DIR && !is_hosts_folder(place->path))
        /* The path went through a link of the host, so only the kernel knows where ".." leads. */
        return false;
    while (place->used && place->path[place->used - 1] != '/')
        place->used--;
    if (place->used)
        place->used--;
    place->path[place->used] = '\0';
    place->is_detour = true;
    return true;
}

static bool go_into(struct place *place, const char *name, size_t bytes)
{
    if (place->used + 1 + bytes >= sizeof place->path)
        return false;
    place->path[place->used++] = '/';
    memcpy(place->path + place->used, name, bytes);
    place->used += bytes;
    place->path[place->used] = '\0';
    return true;
}

/** Goes where @p path leads. Returns false if that is for the kernel to say. */
static bool resolve(const struct rp_topology *topology, const char *path, bool follow,
                    struct place *place)
{
    unsigned links = 0;
    *place = (struct place){.kind = RP_TOPOLOGY_DIR};
    for (const char *name = path + strspn(path, "/"); *name;) {
        size_t bytes = strcspn(name, "/");
        const char *next = name + bytes + strspn(name + bytes, "/");
        bool is_up = bytes == 2 && memcmp(name, "..", 2) == 0;
        if (is_up ? !go_up(place) : !(bytes == 1 && *name == '.') && !go_into(place, name, bytes))
            return false;
        struct rp_topology_entry entry = {.kind = RP_TOPOLOGY_DIR};
        if (place->used)
            entry = rp_topology_find(topology, place->path);
        place->kind = entry.kind;
        bool is_last = !*next && name[bytes] != '/';
        if (place->kind == RP_TOPOLOGY_LINK && (!is_last || follow)) {
            if (++links > MOST_LINKS)
                return false;
            memcpy(place->path, entry.target, sizeof place->path);
            place->used = strlen(place->path);
            place->is_detour = true;
            place->kind = rp_topology_kind(topology, place->path);
        }
        name = next;
    }
    return true;
}

static enum rp_vfs_kind vfs_kind_of(const struct rp_topology *topology, const struct place *place)
{
    if (!place->used)
        return RP_VFS_NONE; /* This is the root. */
    switch (place->kind) {
    case RP_TOPOLOGY_FILE:
        return RP_VFS_FILE;
    case RP_TOPOLOGY_LINK:
        return RP_VFS_LINK;
    case RP_TOPOLOGY_DEVICE:
        return RP_VFS_DEVICE;
    case RP_TOPOLOGY_DIR:
        return is_owned(topology, place->path) ? RP_VFS_DIR : RP_VFS_SHARED;
    default:
        return is_owned(topology, place->path) ? RP_VFS_ABSENT : RP_VFS_NONE;
    }
}

static bool is_name(const char *name, size_t bytes, const char *of)
{
    return strncmp(name, of, bytes) == 0 && !of[bytes];
}

/** Are there files of ours in folder @p name of /sys or /dev, or is it one? */
static bool is_known_there(bool in_sys, const char *name, size_t bytes)
{
    static const char *const names[2][6] = {{"dri", "kfd"},
                                            {"class", "bus", "devices", "dev", "module"}};
    for (const char *const *known = names[in_sys]; *known; known++)
        if (is_name(name, bytes, *known))
            return true;
    return false;
}

/**
 * Tests, by names alone, whether @p path passes a folder with files of ours: it may begin with
 * "//", "/." or "/usr/..", as one that is joined to the folder of a descriptor does. The test is
 * cheap, because most paths have nothing to do with GPUs.
 */
static bool may_be_ours(const char *path)
{
    unsigned depth = 0;
    bool in_sys = false, in_dev = false;
    if (!path || *path != '/')
        return false;
    if (strcmp(path, RP_TOPOLOGY_NAMES) == 0)
        return true;
    for (const char *name = path + strspn(path, "/"), *next; *name; name = next) {
        size_t bytes = strcspn(name, "/");
        next = name + bytes + strspn(name + bytes, "/");
        if (is_name(name, bytes, "."))
            continue;
        if (is_name(name, bytes, "..")) {
            depth -= depth > 0;
            continue;
        }
        if (depth == 0) {
            in_sys = is_name(name, bytes, "sys");
            in_dev = is_name(name, bytes, "dev");
        } else if (depth == 1 && (in_sys || in_dev) && is_known_there(in_sys, name, bytes)) {
            return true;
        }
        depth++;
    }
    return false;
}

/** Only these values decide which files exist. Facts about the host would take system calls. */
static struct rp_topology shape(void)
{
    return (struct rp_topology){.arch = rp_device_arch(),
                                .clock_mhz = rp_device_clock_mhz(),
                                .gpu_count = rp_device_gpu_count(),
                                .reports_exceptions = rp_device_samples()};
}

struct rp_vfs_node rp_vfs_lookup(const char *path, bool follow)
{
    struct rp_vfs_node node = {.kind = RP_VFS_NONE};
    struct place place;
    if (!may_be_ours(path) || !rp_device_wanted())
        return node;
    struct rp_topology topology = shape();
    if (!resolve(&topology, path, follow, &place))
        return node;
    node.kind = vfs_kind_of(&topology, &place);
    if (node.kind == RP_VFS_DEVICE) {
        const struct rp_topology_entry device = rp_topology_find(&topology, place.path);
        node.gpu = device.gpu;
        node.minor = device.minor;
    }
    node.is_detour = place.is_detour;
    memcpy(node.path, place.used ? place.path : "/", place.used ? sizeof node.path : sizeof "/");
    return node;
}

/* This is a descriptor's name, behind which is where its file is. */
#define FOLDER_NAME "rocm-perf-folder:"
#define FILE_NAME   "rocm-perf-file:"

enum whose { OF_HOST, OUR_FOLDER, OUR_FILE };

/**
 * Finds the path of @p fd by /proc, and keeps errno.
 * @return false if @p out is too small, or there is none
 */
static bool path_of_fd(int fd, char *out, size_t room, enum whose *ret_whose)
{
    static const char folder[] = "/memfd:" FOLDER_NAME, file[] = "/memfd:" FILE_NAME;
    static const char suffix[] = " (deleted)";
    char link[40], target[sizeof folder + sizeof suffix + 2 * RP_TOPOLOGY_PATH_BYTES];
    const char *path = target;
    int errno_before = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = fd < 0 ? -1 : syscall(SYS_readlink, link, target, sizeof target - 1);
    errno = errno_before;
    if (n < 0 || (size_t)n == sizeof target - 1)
        return false;
    target[n] = '\0';
    *ret_whose = OF_HOST;
    if (strncmp(target, folder, sizeof folder - 1) == 0) {
        path += sizeof folder - 1;
        *ret_whose = OUR_FOLDER;
    } else if (strncmp(target, file, sizeof file - 1) == 0) {
        path += sizeof file - 1;
        *ret_whose = OUR_FILE;
    }
    char *end = *ret_whose == OF_HOST ? NULL : strstr(target, suffix);
    if (end)
        *end = '\0';
    return (size_t)snprintf(out, room, "%s", path) < room;
}

void rp_vfs_lookup_at(int dir, const char *path, bool follow, struct rp_vfs_at *ret_at)
{
    char *joined = ret_at->joined;
    const size_t room = sizeof ret_at->joined;
    enum whose whose;
    ret_at->dir = dir;
    ret_at->path = path;
    ret_at->node.kind = RP_VFS_NONE;
    if (!path || *path == '/' || dir == AT_FDCWD) {
        ret_at->node = rp_vfs_lookup(path, follow);
        ret_at->path = rp_vfs_hosts_path(&ret_at->node, path);
        return;
    }
    if (!*path || !rp_device_wanted() || !path_of_fd(dir, joined, room, &whose) ||
        whose == OUR_FILE) /* It is not a folder, and the kernel says the same. */
        return;
    size_t used = strlen(joined);
    if ((size_t)snprintf(joined + used, room - used, "/%s", path) >= room - used)
        return;
    ret_at->node = rp_vfs_lookup(joined, follow);
    if (whose == OUR_FOLDER || ret_at->node.is_detour) {
        ret_at->dir = AT_FDCWD;
        ret_at->path = rp_vfs_hosts_path(&ret_at->node, joined);
    }
}

bool rp_vfs_of_fd(int fd, struct rp_vfs_node *ret_node)
{
    char path[2 * RP_TOPOLOGY_PATH_BYTES];
    enum whose whose;
    if (!rp_device_wanted() || !path_of_fd(fd, path, sizeof path, &whose))
        return false;
    struct rp_vfs_node node = rp_vfs_lookup(path, true);
    if (whose == OUR_FILE ? node.kind != RP_VFS_FILE
                          : node.kind != RP_VFS_DIR && node.kind != RP_VFS_SHARED)
        return false;
    *ret_node = node;
    return true;
}

/** Opens a descriptor that tells where it belongs. @return -errno on failure */
static int open_named(const char *prefix, const char *path, bool close_on_exec)
{
    char name[sizeof FOLDER_NAME + RP_TOPOLOGY_PATH_BYTES];
    int errno_before = errno;
    snprintf(name, sizeof name, "%s%s", prefix, path);
    int fd = rp_memfd(name, close_on_exec ? MFD_CLOEXEC : 0);
    if (fd >= 0 && fchmod(fd, RP_VFS_RIGHTS) == 0)
        return fd;
    int rc = -errno;
    if (fd >= 0)
        close(fd);
    errno = errno_before;
    return rc;
}

/** All but the many files of a GPU's node in the topology may. */
static bool tells_of_host(const char *path)
{
    static const char nodes[] = "/sys/devices/virtual/kfd/kfd/topology/nodes/";
    return strncmp(path, nodes, sizeof nodes - 1) != 0 || path[sizeof nodes - 1] == '0';
}

/** Returns the clock of the host's first processor; 0: the host does not tell */
static uint32_t host_clock_mhz(void)
{
    char text[24] = "";
    int errno_before = errno;
    int fd =
        (int)syscall(SYS_openat, AT_FDCWD, "/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq",
                     O_RDONLY | O_CLOEXEC);
    ssize_t bytes = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    errno = errno_before;
    return bytes > 0 ? (uint32_t)(strtoull(text, NULL, 10) / 1000) : 0;
}

int rp_vfs_open(const struct rp_vfs_node *node, bool close_on_exec)
{
    if (node->kind == RP_VFS_DIR || node->kind == RP_VFS_SHARED)
        return open_named(FOLDER_NAME, node->path, close_on_exec);
    char text[RP_TOPOLOGY_FILE_BYTES];
    struct rp_topology topology = tells_of_host(node->path) ? rp_device_topology() : shape();
    if (tells_of_host(node->path))
        topology.host.clock_mhz = host_clock_mhz();
    int bytes = rp_topology_read(&topology, node->path, text);
    if (bytes < 0)
        return bytes;
    int fd = open_named(FILE_NAME, node->path, close_on_exec);
    if (fd < 0)
        return fd;
    if (write(fd, text, (size_t)bytes) != bytes || lseek(fd, 0, SEEK_SET) < 0) {
        int rc = -errno;
        close(fd);
        return rc;
    }
    return fd;
}

/** The number of a device says which device it is, and a descriptor of it tells no more. */
static ino_t inode_of(const struct rp_vfs_node *node)
{
    char path[40];
    if (node->kind != RP_VFS_DEVICE)
        return rp_vfs_inode(node->path);
    snprintf(path, sizeof path, "/dev/dri/%s%u",
             node->minor < RP_TOPOLOGY_RENDER_MINOR ? "card" : "renderD", node->minor);
    return rp_vfs_inode(path);
}

void rp_vfs_stat(const struct rp_vfs_node *node, struct stat *ret_stat)
{
    *ret_stat = (struct stat){
        .st_ino = inode_of(node), .st_nlink = 1, .st_blksize = RP_TOPOLOGY_FILE_BYTES};
    switch (node->kind) {
    case RP_VFS_DEVICE:
        ret_stat->st_mode = S_IFCHR | 0666;
        ret_stat->st_rdev = makedev(DRM_MAJOR, node->minor);
        break;
    case RP_VFS_DIR:
    case RP_VFS_SHARED:
        ret_stat->st_mode = S_IFDIR | 0555;
        break;
    case RP_VFS_LINK:
        ret_stat->st_mode = S_IFLNK | 0777;
        break;
    default:
        ret_stat->st_mode = S_IFREG | 0444;
        ret_stat->st_size = RP_TOPOLOGY_FILE_BYTES;
        break;
    }
}

/**
 * Returns how many bytes of both paths are the same whole folders, without the last name of @p
 * target.
 */
static size_t common_folders(const char *from, const char *target)
{
    size_t common = 0;
    for (size_t i = 0; target[i] && from[i] == target[i]; i++)
        if (target[i] == '/')
            common = i;
    return common;
}

int rp_vfs_readlink(const struct rp_vfs_node *node, char out[2 * RP_TOPOLOGY_PATH_BYTES])
{
    const struct rp_topology topology = shape();
    const struct rp_topology_entry link = rp_topology_find(&topology, node->path);
    const char *target = link.target;
    size_t used = 0;
    if (link.kind != RP_TOPOLOGY_LINK)
        return -EINVAL;
    /* The path goes up to the folder that both are below and down from there, as in the kernel. */
    size_t common = common_folders(node->path, target);
    for (const char *up = strchr(node->path + common + 1, '/'); up; up = strchr(up + 1, '/'))
        used += (size_t)sprintf(out + used, "../");
    used += (size_t)sprintf(out + used, "%s", target + common + 1);
    return (int)used;
}

#include "vfs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "device.h"
#include "topology.h"

static const struct {
    const char *prefix, *tree;
} roots[] = {
    {"/sys/devices/virtual/kfd/kfd/topology", "topology"},
    {"/sys/class/kfd/kfd/topology", "topology"},
    {"/sys/module/amdgpu", "module"},
};

/** Which GPU's device file @p path is (0 for /dev/kfd), or -1. */
static int device_of(const char *path)
{
    static const char render[] = "/dev/dri/renderD";
    if (strcmp(path, "/dev/kfd") == 0)
        return 0;
    if (strncmp(path, render, sizeof render - 1) != 0)
        return -1;
    for (unsigned gpu = 0; gpu < rp_device_gpu_count(); gpu++) {
        char minor[16];
        snprintf(minor, sizeof minor, "%u", RP_TOPOLOGY_RENDER_MINOR + gpu);
        if (strcmp(path + sizeof render - 1, minor) == 0)
            return (int)gpu;
    }
    return -1;
}

static struct rp_vfs_node in_tree(const char *tree, const char *rest)
{
    struct rp_vfs_node node = {.kind = RP_VFS_ABSENT};
    int n = snprintf(node.tree_path, sizeof node.tree_path, "%s%s", tree, rest);
    if (n < 0 || (size_t)n >= sizeof node.tree_path)
        return node;
    while (n > 0 && node.tree_path[n - 1] == '/')
        node.tree_path[--n] = '\0';
    struct rp_topology topology = rp_device_topology();
    enum rp_topology_kind kind = rp_topology_kind(&topology, node.tree_path);
    if (kind == RP_TOPOLOGY_FILE)
        node.kind = RP_VFS_FILE;
    else if (kind == RP_TOPOLOGY_DIR)
        node.kind = RP_VFS_DIR;
    return node;
}

struct rp_vfs_node rp_vfs_lookup(const char *path)
{
    struct rp_vfs_node none = {.kind = RP_VFS_NONE};
    if (!path || (strncmp(path, "/sys/", 5) != 0 && strncmp(path, "/dev/", 5) != 0))
        return none;
    int gpu = rp_device_wanted() ? device_of(path) : -1;
    if (gpu >= 0)
        return (struct rp_vfs_node){.kind = RP_VFS_DEVICE, .gpu = (unsigned)gpu};
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
        size_t n = strlen(roots[i].prefix);
        if (strncmp(path, roots[i].prefix, n) == 0 && (path[n] == '\0' || path[n] == '/'))
            return rp_device_wanted() ? in_tree(roots[i].tree, path + n) : none;
    }
    return none;
}

int rp_vfs_open_file(const struct rp_vfs_node *node, bool close_on_exec)
{
    char text[RP_TOPOLOGY_FILE_BYTES];
    struct rp_topology topology = rp_device_topology();
    int bytes = rp_topology_read(&topology, node->tree_path, text);
    if (bytes < 0)
        return bytes;
    int fd = memfd_create("rocm-perf-topology", close_on_exec ? MFD_CLOEXEC : 0);
    if (fd < 0)
        return -errno;
    if (write(fd, text, (size_t)bytes) != bytes || lseek(fd, 0, SEEK_SET) < 0) {
        int rc = -errno;
        close(fd);
        return rc;
    }
    return fd;
}

void rp_vfs_stat(const struct rp_vfs_node *node, struct stat *ret_stat)
{
    *ret_stat = (struct stat){.st_nlink = 1, .st_blksize = RP_TOPOLOGY_FILE_BYTES};
    switch (node->kind) {
    case RP_VFS_DEVICE:
        ret_stat->st_mode = S_IFCHR | 0666;
        ret_stat->st_rdev = makedev(226, RP_TOPOLOGY_RENDER_MINOR + node->gpu);
        break;
    case RP_VFS_DIR:
        ret_stat->st_mode = S_IFDIR | 0555;
        break;
    default:
        ret_stat->st_mode = S_IFREG | 0444;
        ret_stat->st_size = RP_TOPOLOGY_FILE_BYTES;
        break;
    }
}

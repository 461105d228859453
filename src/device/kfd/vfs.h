/**
 * @file vfs.h
 * @brief Which paths are answered by the library, and with what.
 */
#ifndef RP_DEVICE_KFD_VFS_H
#define RP_DEVICE_KFD_VFS_H

#include <stdbool.h>
#include <sys/stat.h>

enum rp_vfs_kind {
    RP_VFS_NONE = 0, /**< not ours: pass on */
    RP_VFS_ABSENT,   /**< inside one of our trees, but there is no such file */
    RP_VFS_FILE,
    RP_VFS_DIR,
    RP_VFS_DEVICE,
};

struct rp_vfs_node {
    enum rp_vfs_kind kind;
    unsigned gpu;        /**< of a DEVICE */
    char tree_path[128]; /**< of a FILE or DIR: topology.h */
};

/** Looks an absolute path up. Cheap for paths outside /dev and /sys; keeps errno. */
struct rp_vfs_node rp_vfs_lookup(const char *path);

/** A read-only descriptor on a FILE's text. -errno on failure. */
int rp_vfs_open_file(const struct rp_vfs_node *node, bool close_on_exec);

/** struct stat of a FILE, DIR or DEVICE. */
void rp_vfs_stat(const struct rp_vfs_node *node, struct stat *ret_stat);

#endif

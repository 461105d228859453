/**
 * @file vfs.h
 * @brief The driver describes the machine by these files: KFD topology,
 * PCI and DRM devices.
 *
 * A tree of small files, links and device files, generated from struct rp_arch. In the topology
 * node 0 is the host's processor, nodes 1 to N are the GPUs. Paths are absolute and in the form of
 * the kernel (/sys/devices/virtual/kfd/kfd/topology/nodes/1/properties), without links in them.
 * Several GPUs are one XGMI hive: every GPU has a link to every other one.
 */
#ifndef RP_DEVICE_DRIVER_VFS_H
#define RP_DEVICE_DRIVER_VFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "arch/arch.h"

enum {
    RP_TOPOLOGY_GPU_ID = 2,         /**< of GPU 0; the others follow */
    RP_TOPOLOGY_RENDER_MINOR = 128, /**< of GPU 0, too */
    RP_TOPOLOGY_SDMA_QUEUES = 8,    /**< of each engine */
    RP_TOPOLOGY_FILE_BYTES = 4096,  /**< no file is longer */
    RP_TOPOLOGY_PATH_BYTES = 128,   /**< nor a path */
    RP_TOPOLOGY_DOMAIN = 0x7f00,    /**< of the PCI buses: topology.c */
    RP_TOPOLOGY_BUS = 1,            /**< in that domain, of GPU 0; the others follow */
};

enum { RP_GPU_LIMIT = 8 }; /**< GPUs in one process: a full OAM board */

/** Node 0 shows these facts about the host. */
struct rp_topology_host {
    uint32_t cores;
    uint64_t memory_bytes;
    uint32_t clock_mhz; /**< highest; 0: the host does not tell, as in most virtual machines */
};

enum rp_topology_kind {
    RP_TOPOLOGY_NONE = 0,
    RP_TOPOLOGY_FILE,
    RP_TOPOLOGY_DIR,
    RP_TOPOLOGY_LINK,
    RP_TOPOLOGY_DEVICE, /**< /dev/kfd or one of a GPU */
};

/** This is the machine to describe. */
struct rp_topology {
    struct rp_arch arch; /**< of every GPU */
    uint32_t clock_mhz;  /**< that is modelled; 0: the GPU's highest */
    unsigned gpu_count;
    struct rp_topology_host host;
    uint64_t memory_used_bytes[RP_GPU_LIMIT]; /**< of each GPU, by this process */
    bool reports_exceptions; /**< queue errors go to the queue's exception signal */
};

/**
 * This path is libdrm's and not the driver's: a GPU that is not in that file is called "AMD Radeon
 * Graphics". The host's own file may be missing, or older than the product.
 */
#define RP_TOPOLOGY_NAMES "/usr/share/libdrm/amdgpu.ids"

/** A path in the tree names such an entry. */
struct rp_topology_entry {
    enum rp_topology_kind kind;
    unsigned gpu, minor;                 /**< of a DEVICE: its GPU, its number in /dev/dri */
    char target[RP_TOPOLOGY_PATH_BYTES]; /**< of a LINK: an absolute path without links in it */
};

struct rp_topology_entry rp_topology_find(const struct rp_topology *topology, const char *path);

/** Writes the file's text (terminated) to @p out; returns its length or -ENOENT. */
int rp_topology_read(const struct rp_topology *topology, const char *path,
                     char out[RP_TOPOLOGY_FILE_BYTES]);

/**
 * Copies the name of entry @p index of directory @p path to @p name.
 * @return enum rp_topology_kind of the entry, RP_TOPOLOGY_NONE after the last
 */
enum rp_topology_kind rp_topology_list(const struct rp_topology *topology, const char *path,
                                       unsigned index, char *name, size_t room);

/* Which paths are answered by the library, and with what.
 *
 * Paths may lead through links of the tree and through "..", as libdrm's and RCCL's do. Folders
 * that the host has, too (/sys/class, /sys/bus/pci/devices, /dev/dri) are shared: what is in them
 * of the host is answered by the kernel. A descriptor of a folder or file of ours is a file in
 * memory whose name, which /proc tells, is where that is: so dup(), fork(), exec() and the like
 * keep it.
 */

enum rp_vfs_kind {
    RP_VFS_NONE = 0, /**< not ours: pass on */
    RP_VFS_ABSENT,   /**< inside a folder of ours, but there is no such file */
    RP_VFS_FILE,
    RP_VFS_DIR,    /**< all of it is ours */
    RP_VFS_SHARED, /**< a folder of the host, or one that it could have, with files of ours */
    RP_VFS_LINK,
    RP_VFS_DEVICE,
};

struct rp_vfs_node {
    enum rp_vfs_kind kind;
    bool is_detour;                    /**< the way led through links of ours, or up from folders
                                            of ours: the kernel may not know them, but `path` */
    unsigned gpu;                      /**< of a DEVICE */
    unsigned minor;                    /**< of a DEVICE, too: its number in /dev/dri */
    char path[RP_TOPOLOGY_PATH_BYTES]; /**< where it is, without links in it */
};

/**
 * Looks up an absolute path. It is cheap for paths outside /dev and /sys, and keeps errno.
 * @param follow  a link at the end of the path is followed
 */
struct rp_vfs_node rp_vfs_lookup(const char *path, bool follow);

/** This says what @p path names from a folder, as openat() takes them. */
struct rp_vfs_at {
    struct rp_vfs_node node;
    int dir;          /**< what to ask the kernel for instead, if it is the host's: */
    const char *path; /**< that of a folder of ours means nothing to the kernel */
    char joined[2 * RP_TOPOLOGY_PATH_BYTES];
};

/** Does the same as rp_vfs_lookup() from @p dir: AT_FDCWD, or a descriptor of any folder. */
void rp_vfs_lookup_at(int dir, const char *path, bool follow, struct rp_vfs_at *ret_at);

/** Tests whether @p fd is of a folder with files of ours, or of such a FILE; keeps errno. */
bool rp_vfs_of_fd(int fd, struct rp_vfs_node *ret_node);

/** A read-only descriptor on a FILE's text, or one of a DIR, or of a SHARED that the host lacks: of
 * these kind and path suffice. -errno on failure. */
int rp_vfs_open(const struct rp_vfs_node *node, bool close_on_exec);

/**
 * Our descriptors have these rights, which hardly any other file without a name has. They have
 * none to execute, which the kernel refuses where vm.memfd_noexec is not 0.
 */
enum { RP_VFS_RIGHTS = 0444 };

/** Tests whether fstat()'s answer can be that of a descriptor of such a folder, or of a FILE. */
static inline bool rp_vfs_is_like_ours(const struct stat *st)
{
    return st->st_nlink == 0 && st->st_mode == (S_IFREG | RP_VFS_RIGHTS);
}

/** Fills struct stat for a FILE, DIR, SHARED, LINK or DEVICE. */
void rp_vfs_stat(const struct rp_vfs_node *node, struct stat *ret_stat);

/** Writes where a LINK leads, as readlink() does: relative. @return its length; it is not cut */
int rp_vfs_readlink(const struct rp_vfs_node *node, char out[2 * RP_TOPOLOGY_PATH_BYTES]);

static inline enum rp_topology_kind rp_topology_kind(const struct rp_topology *topology,
                                                     const char *path)
{
    return rp_topology_find(topology, path).kind;
}

/** KFD's name of a GPU. */
static inline uint32_t rp_topology_gpu_id(unsigned gpu)
{
    return RP_TOPOLOGY_GPU_ID + gpu;
}

/** Returns how much memory of the host GPUs may use: TTM's default is half of it. */
static inline uint64_t rp_topology_gtt_bytes(const struct rp_topology *topology)
{
    return topology->host.memory_bytes / 2;
}

/**
 * Returns the number of the file at @p path, which distinguishes it from others (FNV-1a). Programs
 * that walk folders take two files with the same number for one.
 */
static inline ino_t rp_vfs_inode(const char *path)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (; *path; path++)
        hash = (hash ^ (uint8_t)*path) * 0x100000001b3;
    return hash | 1; /* 0 means that there is no file. */
}

/** Returns what to ask the kernel for if @p path, which was looked up, is the host's. */
static inline const char *rp_vfs_hosts_path(const struct rp_vfs_node *node, const char *path)
{
    return node->is_detour ? node->path : path;
}

#endif

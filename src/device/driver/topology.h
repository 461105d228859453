/**
 * @file topology.h
 * @brief The files by which the driver describes the machine: KFD topology, PCI and DRM devices.
 *
 * A tree of small files, links and device files, generated from struct rp_arch. In the topology
 * node 0 is the host's processor, nodes 1 to N are the GPUs. Paths are absolute and in the form of
 * the kernel (/sys/devices/virtual/kfd/kfd/topology/nodes/1/properties): vfs.h resolves links.
 * Several GPUs are one XGMI hive: every GPU has a link to every other one.
 */
#ifndef RP_DEVICE_DRIVER_TOPOLOGY_H
#define RP_DEVICE_DRIVER_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"

enum {
    RP_TOPOLOGY_GPU_ID = 2,         /**< of GPU 0; the others follow */
    RP_TOPOLOGY_RENDER_MINOR = 128, /**< likewise */
    RP_TOPOLOGY_SDMA_QUEUES = 8,    /**< of each engine */
    RP_TOPOLOGY_FILE_BYTES = 4096,  /**< no file is longer */
    RP_TOPOLOGY_PATH_BYTES = 128,   /**< nor a path */
    RP_TOPOLOGY_DOMAIN = 0x7f00,    /**< of the PCI buses: topology.c */
    RP_TOPOLOGY_BUS = 1,            /**< in that domain, of GPU 0; the others follow */
};

/** Not the driver's but libdrm's: a GPU that is not in it is called "AMD Radeon Graphics". The
 * host's own may be missing, or older than the product. */
#define RP_TOPOLOGY_NAMES "/usr/share/libdrm/amdgpu.ids"

enum { RP_GPU_LIMIT = 8 }; /**< GPUs in one process: a full OAM board */

/** Facts about the host that node 0 shows. */
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

/** The machine to describe. */
struct rp_topology {
    struct rp_arch arch; /**< of every GPU */
    unsigned gpu_count;
    struct rp_topology_host host;
    uint64_t memory_used_bytes[RP_GPU_LIMIT]; /**< of each GPU, by this process */
};

/** What a path names in the tree. */
struct rp_topology_entry {
    enum rp_topology_kind kind;
    unsigned gpu, minor;                 /**< of a DEVICE: its GPU, its number in /dev/dri */
    char target[RP_TOPOLOGY_PATH_BYTES]; /**< of a LINK: an absolute path without links in it */
};

struct rp_topology_entry rp_topology_find(const struct rp_topology *topology, const char *path);

static inline enum rp_topology_kind rp_topology_kind(const struct rp_topology *topology,
                                                     const char *path)
{
    return rp_topology_find(topology, path).kind;
}

/** Writes the file's text (terminated) to @p out; returns its length or -ENOENT. */
int rp_topology_read(const struct rp_topology *topology, const char *path,
                     char out[RP_TOPOLOGY_FILE_BYTES]);

/**
 * Name number @p index in directory @p path, copied to @p name.
 * @return enum rp_topology_kind of the entry, RP_TOPOLOGY_NONE after the last
 */
enum rp_topology_kind rp_topology_list(const struct rp_topology *topology, const char *path,
                                       unsigned index, char *name, size_t room);

/** KFD's name of a GPU. */
static inline uint32_t rp_topology_gpu_id(unsigned gpu)
{
    return RP_TOPOLOGY_GPU_ID + gpu;
}

/** The serial number that the driver reads from a GPU. No real one has it. */
static inline uint64_t rp_topology_unique_id(unsigned gpu)
{
    return 1234567890 + (uint64_t)gpu;
}

/** Memory of the host that GPUs may use: TTM's default is half of it. */
static inline uint64_t rp_topology_gtt_bytes(const struct rp_topology *topology)
{
    return topology->host.memory_bytes / 2;
}

#endif

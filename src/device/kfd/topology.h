/**
 * @file topology.h
 * @brief The text files by which the driver describes the machine: KFD topology, module state.
 *
 * A tree of small files, generated from struct rp_arch: node 0 is the host's processor, nodes 1 to
 * N are the GPUs. Paths are relative to the tree ("topology/nodes/1/properties"). Several GPUs are
 * one XGMI hive: every GPU has a link to every other one.
 */
#ifndef RP_DEVICE_KFD_TOPOLOGY_H
#define RP_DEVICE_KFD_TOPOLOGY_H

#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"

enum {
    RP_TOPOLOGY_GPU_ID = 2,         /**< of GPU 0; the others follow */
    RP_TOPOLOGY_RENDER_MINOR = 128, /**< likewise */
    RP_TOPOLOGY_SDMA_QUEUES = 8,    /**< of each engine */
    RP_TOPOLOGY_FILE_BYTES = 4096,  /**< no file is longer */
};

/** Facts about the host that node 0 shows. */
struct rp_topology_host {
    uint32_t cores;
    uint64_t memory_bytes;
};

enum rp_topology_kind { RP_TOPOLOGY_NONE = 0, RP_TOPOLOGY_FILE, RP_TOPOLOGY_DIR };

/** The machine to describe. */
struct rp_topology {
    struct rp_arch arch; /**< of every GPU */
    unsigned gpu_count;
    struct rp_topology_host host;
};

/** KFD's name of a GPU. */
static inline uint32_t rp_topology_gpu_id(unsigned gpu)
{
    return RP_TOPOLOGY_GPU_ID + gpu;
}

/** What @p path names in the tree. */
enum rp_topology_kind rp_topology_kind(const struct rp_topology *topology, const char *path);

/** Writes the file's text (terminated) to @p out; returns its length or -ENOENT. */
int rp_topology_read(const struct rp_topology *topology, const char *path,
                     char out[RP_TOPOLOGY_FILE_BYTES]);

/**
 * Name number @p index in directory @p path, copied to @p name.
 * @return enum rp_topology_kind of the entry, RP_TOPOLOGY_NONE after the last
 */
enum rp_topology_kind rp_topology_entry(const struct rp_topology *topology, const char *path,
                                        unsigned index, char *name, size_t room);

#endif

/**
 * @file topology.h
 * @brief The text files by which the driver describes the machine: KFD topology, module state.
 *
 * A tree of small files, generated from struct rp_arch: node 0 is the host's processor, node 1
 * the software device. Paths are relative to the tree ("topology/nodes/1/properties").
 */
#ifndef RP_DEVICE_KFD_TOPOLOGY_H
#define RP_DEVICE_KFD_TOPOLOGY_H

#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"

enum {
    RP_TOPOLOGY_GPU_ID = 2,
    RP_TOPOLOGY_RENDER_MINOR = 128,
    RP_TOPOLOGY_FILE_BYTES = 4096, /**< no file is longer */
};

/** Facts about the host that node 0 shows. */
struct rp_topology_host {
    uint32_t cores;
    uint64_t memory_bytes;
};

enum rp_topology_kind { RP_TOPOLOGY_NONE = 0, RP_TOPOLOGY_FILE, RP_TOPOLOGY_DIR };

/** What @p path names in the tree. */
enum rp_topology_kind rp_topology_kind(const char *path);

/** Writes the file's text (terminated) to @p out; returns its length or -ENOENT. */
int rp_topology_read(const struct rp_arch *arch, const struct rp_topology_host *host,
                     const char *path, char out[RP_TOPOLOGY_FILE_BYTES]);

/**
 * Name number @p index in directory @p path, copied to @p name.
 * @return enum rp_topology_kind of the entry, RP_TOPOLOGY_NONE after the last
 */
enum rp_topology_kind rp_topology_entry(const char *path, unsigned index, char *name, size_t room);

#endif

/**
 * @file memory_map.h
 * @brief The memory map has all memory that kernels can reach, as the program allocates, maps and
 * frees it.
 *
 * Followed only where a dispatch is to be captured. Each class of trace/memory_classes.def but
 * PAGEABLE has its entries here.
 */
#ifndef RP_TRACER_MEMORY_MAP_H
#define RP_TRACER_MEMORY_MAP_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "trace/capture.h"
#include "tracer/hsa_abi.h"

struct rp_tool;

struct rp_memory_entry {
    struct rp_snapshot_region region;
    rp_hsa_agent owner;  /**< 0: unknown */
    rp_hsa_agent reader; /**< a GPU that can reach it; 0: the host reads it, or nobody knows */
    uint64_t key;        /**< what ends it: base, the host's pointer, an executable */
    uint64_t handle;     /**< VMEM: the memory that is mapped */
    uint64_t start;      /**< VMEM: where byte 0 of it would be; may wrap */
    uint64_t same_as;    /**< in a list: where that memory is mapped, too; 0: nowhere */
    bool unreachable;    /**< mapped, and no agent has access */
    bool gone;           /**< in a list: announced once, and unmapped by the program since */
};

struct rp_memory {
    RP_VEC(struct rp_memory_entry);
    pthread_mutex_t lock;
    uint64_t lost; /**< entries for which there was no memory */
};

/** Forgets what an earlier life knew; follows memory if a dispatch is to be captured. */
void rp_memory_start(struct rp_tool *tool, const struct rp_hsa_tables *tables);

/** A code object of an executable is loaded. */
void rp_memory_add_code(struct rp_tool *tool, rp_hsa_executable executable, rp_hsa_agent agent,
                        uint64_t base, uint64_t bytes);

#endif

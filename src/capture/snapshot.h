/**
 * @file snapshot.h
 * @brief What the tool, in the program, tells rocm-perf, which writes the capture folder.
 *
 * A stream socket: the tool does no compression and keeps no file, and what it has sent survives
 * the program. Each message is a header and its bytes; little endian, both ends on one machine.
 * In order of time:
 *
 *     HELLO, KERNEL*                          each KERNEL is answered by a uint32_t: 1 = captured
 *     BEGIN, CODE, KERNARG, (REGION, PAGES* | REFUSED | UNMAPPED)*     before the dispatch
 *     AFTER, (REGION, PAGES*)*                              and after it
 *     END                                                   or DECLINED at any time after HELLO
 *
 * Pages that are not sent are zero.
 */
#ifndef RP_CAPTURE_SNAPSHOT_H
#define RP_CAPTURE_SNAPSHOT_H

#include <assert.h>
#include <stdint.h>

#define RP_SNAPSHOT_SOCKET_VARIABLE "ROCM_PERF_CAPTURE_SOCKET"
#define RP_SNAPSHOT_DISPATCH_VARIABLE                                                              \
    "ROCM_PERF_CAPTURE_DISPATCH" /* 1, 2, ... of those that match */
#define RP_SNAPSHOT_PATIENCE_VARIABLE "ROCM_PERF_CAPTURE_PATIENCE_MS"

enum { RP_SNAPSHOT_VERSION = 2, RP_SNAPSHOT_MOST_PAGES = 256, RP_SNAPSHOT_MOST_TEXT = 1 << 20 };

enum rp_snapshot_kind {
    RP_SNAPSHOT_HELLO = 1,
    RP_SNAPSHOT_KERNEL,  /**< a symbol */
    RP_SNAPSHOT_BEGIN,   /**< struct rp_snapshot_dispatch, and the symbol */
    RP_SNAPSHOT_CODE,    /**< the ELF file of the kernel */
    RP_SNAPSHOT_KERNARG, /**< the bytes of its arguments */
    RP_SNAPSHOT_REGION,  /**< struct rp_snapshot_region */
    RP_SNAPSHOT_PAGES,   /**< a page number, and pages from there on; of the region before it */
    RP_SNAPSHOT_REFUSED, /**< struct rp_snapshot_region, and why it is not captured */
    RP_SNAPSHOT_AFTER,
    RP_SNAPSHOT_END,
    RP_SNAPSHOT_DECLINED, /**< why */
    RP_SNAPSHOT_UNMAPPED, /**< struct rp_snapshot_region that the program announced and then
                             unmapped: no kernel can reach it */
};

struct rp_snapshot_message {
    uint32_t kind;
    uint32_t reserved;
    uint64_t bytes; /**< they follow */
};
static_assert(sizeof(struct rp_snapshot_message) == 16, "both ends agree");

struct rp_snapshot_hello {
    uint32_t version;
    uint32_t pid;
    uint32_t software; /**< the software device answers */
    uint32_t reserved;
};
static_assert(sizeof(struct rp_snapshot_hello) == 16, "both ends agree");

struct rp_snapshot_dispatch {
    uint64_t dispatch_id; /**< among all of the process: 1, 2, ... */
    uint64_t match;       /**< among those that match */
    uint64_t kernel_object;
    uint64_t kernarg;
    uint64_t code_base, code_bytes;
    uint32_t grid[3];
    uint32_t private_bytes, group_bytes;
    uint32_t kernarg_bytes, kernarg_align_bytes;
    uint32_t queue_index;
    uint32_t node;
    uint16_t workgroup[3];
    uint16_t header, setup;
    uint16_t reserved;
    uint8_t isa[64];
    uint8_t product[64];
};
static_assert(sizeof(struct rp_snapshot_dispatch) == 224, "both ends agree");

enum rp_memory_class {
#define RP_MEMORY(id, name, what) RP_MEMORY_##id,
#include "capture/memory_classes.def"
#undef RP_MEMORY
    RP_MEMORY_CLASSES,
};

enum rp_memory_flag {
    RP_MEMORY_HOST = 1,    /**< it lies in host memory */
    RP_MEMORY_FINE = 2,    /**< fine-grained */
    RP_MEMORY_COARSE = 4,  /**< coarse-grained */
    RP_MEMORY_KERNARG = 8, /**< of a pool for kernel arguments */
    RP_MEMORY_EXECUTABLE = 16,
};

struct rp_snapshot_region {
    uint64_t base, bytes;
    uint32_t memory_class; /**< enum rp_memory_class */
    uint32_t flags;        /**< enum rp_memory_flag */
    uint32_t node;         /**< of the agent that it belongs to; UINT32_MAX: unknown */
    uint32_t reserved;
};
static_assert(sizeof(struct rp_snapshot_region) == 32, "both ends agree");

/** "pool" etc.; NULL: there is no such class. */
static inline const char *rp_memory_class_name(uint32_t memory_class)
{
    static const char *const names[] = {
#define RP_MEMORY(id, name, what) name,
#include "capture/memory_classes.def"
#undef RP_MEMORY
    };

    return memory_class < RP_MEMORY_CLASSES ? names[memory_class] : 0;
}

#endif

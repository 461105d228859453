/**
 * @file capture_stream.h
 * @brief What the tool, in the program, tells rocm-perf, which writes the capture folder.
 *
 * A stream socket: the tool does no compression and keeps no file, and what it has sent survives
 * the program. Each message is a header and its bytes; little endian, both ends on one machine.
 * In order of time:
 *
 *     HELLO, KERNEL*
 *     BEGIN, CODE, KERNARG                           a dispatch that is wanted
 *     (REGION, PAGES* | REFUSED | UNMAPPED)*         before it
 *     WAITS                                          it takes long
 *     AFTER, (REGION, PAGES*)*                       and after it
 *     END                                            or DECLINED at any time after HELLO
 *
 * HELLO is answered by struct rp_snapshot_selection and its numbers, each KERNEL by a uint32_t:
 * 1 = its dispatches are wanted. PASSED may come at any time outside of a capture.
 * From BEGIN on it starts again where several dispatches are wanted.
 *
 * Pages that are not sent are zero.
 */
#ifndef RP_TRACE_CAPTURE_STREAM_H
#define RP_TRACE_CAPTURE_STREAM_H

#include <assert.h>
#include <stdint.h>

#include "trace/records.h"

#define RP_SNAPSHOT_SOCKET_VARIABLE   "ROCM_PERF_CAPTURE_SOCKET"
#define RP_SNAPSHOT_PATIENCE_VARIABLE "ROCM_PERF_CAPTURE_PATIENCE_MS"

enum { RP_SNAPSHOT_VERSION = 3, RP_SNAPSHOT_MAX_PAGES = 256, RP_SNAPSHOT_MAX_TEXT = 1 << 20 };

/** Which dispatches of the kernels are wanted. */
enum rp_snapshot_mode {
    RP_SNAPSHOT_NUMBERS = 0,    /**< those with one of the numbers, among all that match */
    RP_SNAPSHOT_GEOMETRIES = 1, /**< the first one of each geometry, up to .most */
    RP_SNAPSHOT_SCAN =
        2, /**< none: the trace says which dispatches match, and how long they take */
};

/** Which members of struct rp_snapshot_selection a dispatch must have. */
enum rp_snapshot_filter {
    RP_SNAPSHOT_GRID = 1,
    RP_SNAPSHOT_WORKGROUP = 2,
    RP_SNAPSHOT_QUEUE = 4,
    RP_SNAPSHOT_STREAM = 8,
    RP_SNAPSHOT_GPU = 16,
};

enum { RP_SNAPSHOT_MAX_NUMBERS = 4096 };

/** The answer to HELLO; .number_count numbers (uint64_t) follow, each larger than that before it.
 */
struct rp_snapshot_selection {
    uint32_t mode;    /**< enum rp_snapshot_mode */
    uint32_t filters; /**< enum rp_snapshot_filter */
    uint32_t grid[3]; /**< work-items */
    uint32_t workgroup[3];
    uint32_t queue;  /**< 0, 1, ... in order of creation in the process */
    uint32_t stream; /**< 0 the default one, 1, 2, ... in order of creation */
    uint32_t gpu;    /**< 0, 1, ... as the runtime lists them */
    uint32_t most;   /**< captures */
    uint32_t number_count;
    uint32_t reserved;
};
static_assert(sizeof(struct rp_snapshot_selection) == 56, "both ends agree");

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
    RP_SNAPSHOT_FILTERED, /**< struct rp_snapshot_filtered: a dispatch that filters leave out; any
                           * time
                           */
    RP_SNAPSHOT_WAITS,    /**< struct rp_snapshot_waits: the dispatch has been running for long */
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
    uint32_t timing;   /**< of that: enum rp_trace_timing */
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
    uint32_t stream; /**< of HIP, as of a selection; UINT32_MAX: unknown */
    uint32_t gpu;    /**< as of a selection */
    uint8_t isa[64];
    uint8_t product[64];
};
static_assert(sizeof(struct rp_snapshot_dispatch) == 232, "both ends agree");

/**
 * This says what such a dispatch has. Each is sent once, and only the first
 * RP_SNAPSHOT_MAX_FILTERED of a process are sent.
 */
struct rp_snapshot_filtered {
    uint32_t grid[3], workgroup[3];
    uint32_t queue, stream, gpu; /**< as of a selection; UINT32_MAX: unknown */
    uint32_t reserved;
};
static_assert(sizeof(struct rp_snapshot_filtered) == 40, "both ends agree");
enum { RP_SNAPSHOT_MAX_FILTERED = 16 };

/** This says how long the captured dispatch has been running, and when it is declined. */
struct rp_snapshot_waits {
    uint32_t running_ms, patience_ms;
    uint32_t waiting_patience_ms; /**< once it does nothing but wait; 0: that cannot be known */
    uint32_t reserved;
};
static_assert(sizeof(struct rp_snapshot_waits) == 16, "both ends agree");

enum rp_memory_class {
#define RP_MEMORY(id, name, what) RP_MEMORY_##id,
#include "trace/memory_classes.def"
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

/** Returns "pool" etc., or NULL for an unknown class. */
static inline const char *rp_memory_class_name(uint32_t memory_class)
{
    static const char *const names[] = {
#define RP_MEMORY(id, name, what) name,
#include "trace/memory_classes.def"
#undef RP_MEMORY
    };

    return memory_class < RP_MEMORY_CLASSES ? names[memory_class] : 0;
}

/**
 * Returns "fast" etc. for enum rp_trace_timing, which are also the words of --timing. NULL: none
 */
static inline const char *rp_snapshot_timing_word(uint32_t timing)
{
    static const char *const words[] = {[RP_TRACE_TIMING_FAST] = "fast",
                                        [RP_TRACE_TIMING_DETAILED] = "detailed",
                                        [RP_TRACE_TIMING_OFF] = "off"};

    return timing < sizeof words / sizeof *words ? words[timing] : 0;
}

#endif

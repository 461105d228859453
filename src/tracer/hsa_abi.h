/**
 * @file hsa_abi.h
 * @brief This header declares the parts of the HSA runtime's binary interface that the tool uses.
 *
 * The tool is built by the host's compiler without ROCm headers, so it declares what it needs. The
 * runtime's handles are structs with one 64-bit member; on every 64-bit ABI that ROCm supports such
 * a struct travels exactly like a uint64_t, which is what stands here. tests/unit/tracer/test_abi
 * compares sizes, offsets and constants with the installed headers.
 */
#ifndef RP_TRACER_HSA_ABI_H
#define RP_TRACER_HSA_ABI_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rp_kernel_table;

typedef uint32_t rp_hsa_status; /**< 0 = success */
typedef uint64_t rp_hsa_agent;
typedef uint64_t rp_hsa_signal;
typedef uint64_t rp_hsa_executable;
typedef uint64_t rp_hsa_code_object; /**< hsa_loaded_code_object_t */
typedef uint64_t rp_hsa_symbol;
typedef uint64_t rp_hsa_pool;
typedef uint64_t rp_hsa_region;

enum {
    RP_HSA_SUCCESS = 0,
    RP_HSA_STATUS_ERROR = 0x1000,
};

struct rp_hsa_version {
    uint32_t major_id;
    uint32_t minor_id; /**< size of the table in bytes */
    uint32_t step_id;
    uint32_t reserved;
};

/** A table of functions has the version first, and then pointers. */
struct rp_hsa_table {
    struct rp_hsa_version version;
    void *fn[];
};
static_assert(offsetof(struct rp_hsa_table, fn) == 16, "version block of an API table");

struct rp_hsa_tables {
    struct rp_hsa_version version;
    struct rp_hsa_table *core;
    struct rp_hsa_table *amd;
};

struct rp_hsa_queue {
    uint32_t type;
    uint32_t features;
    void *base_address;
    rp_hsa_signal doorbell;
    uint32_t size_packets;
    uint32_t reserved1;
    uint64_t id;
};
static_assert(sizeof(struct rp_hsa_queue) == 40, "hsa_queue_t");

typedef void (*rp_hsa_queue_error)(rp_hsa_status status, struct rp_hsa_queue *queue, void *data);
typedef void (*rp_hsa_packet_writer)(const void *packets, uint64_t count);
typedef void (*rp_hsa_intercept)(const void *packets, uint64_t count, uint64_t user_index,
                                 void *data, rp_hsa_packet_writer writer);

/** This is the kernel dispatch packet; every AQL packet has this size. */
struct rp_hsa_packet {
    uint16_t header;
    uint16_t setup;
    uint16_t workgroup[3];
    uint16_t reserved0;
    uint32_t grid[3]; /**< work-items */
    uint32_t private_bytes;
    uint32_t group_bytes;
    uint64_t kernel_object;
    uint64_t kernarg;
    uint64_t reserved2;
    rp_hsa_signal completion;
};
static_assert(sizeof(struct rp_hsa_packet) == 64, "AQL packet");

/**
 * Of the barrier packets AND and OR have five signals, and AMD's barrier-value packet has the
 * first one.
 */
struct rp_hsa_barrier_packet {
    uint16_t header;
    uint8_t amd_format; /**< of a vendor packet */
    uint8_t reserved0;
    uint32_t reserved1;
    rp_hsa_signal waits[5];
    uint64_t reserved2;
    rp_hsa_signal completion;
};
static_assert(sizeof(struct rp_hsa_barrier_packet) == 64, "AQL packet");

enum {
    RP_AQL_TYPE_MASK = 0xff,
    RP_AQL_VENDOR = 0,
    RP_AQL_KERNEL_DISPATCH = 2,
    RP_AQL_BARRIER_AND = 3,
    RP_AQL_BARRIER_OR = 5,
    RP_AMD_FORMAT_BARRIER_VALUE = 2,
    RP_AQL_BARRIER_BIT = 1 << 8,
};

/** A signal's handle points to this amd_signal_t, which is shared with the packet processor. */
struct rp_amd_signal {
    int64_t kind;
    int64_t value;
    uint64_t event_mailbox;
    uint32_t event_id;
    uint32_t reserved1;
    uint64_t start_ts; /**< device ticks, written before the value is decremented */
    uint64_t end_ts;
    uint64_t queue;
    uint32_t reserved3[2];
};
static_assert(sizeof(struct rp_amd_signal) == 64, "amd_signal_t");

enum {
    RP_HSA_SIGNAL_GPU_ONLY = 1, /**< no interrupt, hence no driver event behind it */
    RP_HSA_CONDITION_LT = 2,
};

struct rp_hsa_times {
    uint64_t start;
    uint64_t end;
};

struct rp_hsa_pitched {
    void *base;
    size_t pitch;
    size_t slice;
};

struct rp_hsa_dim3 {
    uint32_t x, y, z;
};

/** This is laid out as hsa_amd_pointer_info_t. */
struct rp_hsa_pointer_info {
    uint32_t bytes; /**< of this struct, given by the caller */
    uint32_t type;  /**< 0: unknown */
    void *agent_base;
    void *host_base;
    size_t region_bytes;
    void *user_data;
    rp_hsa_agent owner;
    uint32_t pool_flags;
    bool registered;
};
static_assert(sizeof(struct rp_hsa_pointer_info) == 56, "hsa_amd_pointer_info_t");

/** This is laid out as hsa_amd_memory_access_desc_t. */
struct rp_hsa_access {
    uint32_t permissions; /**< 0: none */
    rp_hsa_agent agent;
};
static_assert(sizeof(struct rp_hsa_access) == 16, "hsa_amd_memory_access_desc_t");

/** This is laid out as hsa_amd_svm_attribute_pair_t. */
struct rp_hsa_attribute {
    uint64_t attribute;
    uint64_t value;
};
static_assert(sizeof(struct rp_hsa_attribute) == 16, "hsa_amd_svm_attribute_pair_t");

enum {
    RP_HSA_SYSTEM_TIMESTAMP = 2,
    RP_HSA_SYSTEM_TIMESTAMP_FREQUENCY = 3,

    RP_HSA_QUEUE_TYPE_COOPERATIVE = 2,

    RP_HSA_AGENT_NAME = 0,        /**< char[64] */
    RP_HSA_AGENT_VENDOR_NAME = 1, /**< char[64] */
    RP_HSA_AGENT_WAVEFRONT_SIZE = 6,
    RP_HSA_AGENT_WORKGROUP_MAX_SIZE = 8,
    RP_HSA_AGENT_NODE = 16,
    RP_HSA_AGENT_DEVICE = 17, /**< 0 CPU, 1 GPU */
    RP_AMD_AGENT_CHIP_ID = 0xA000,
    RP_AMD_AGENT_CU_COUNT = 0xA002,
    RP_AMD_AGENT_MAX_CLOCK_MHZ = 0xA003,
    RP_AMD_AGENT_DRIVER_NODE_ID = 0xA004,
    RP_AMD_AGENT_BDFID = 0xA006,
    RP_AMD_AGENT_MEMORY_WIDTH = 0xA007,
    RP_AMD_AGENT_MEMORY_MAX_MHZ = 0xA008,
    RP_AMD_AGENT_PRODUCT_NAME = 0xA009, /**< char[64] */
    RP_AMD_AGENT_MAX_WAVES_PER_CU = 0xA00A,
    RP_AMD_AGENT_SIMDS_PER_CU = 0xA00B,
    RP_AMD_AGENT_SHADER_ENGINES = 0xA00C,
    RP_AMD_AGENT_SHADER_ARRAYS_PER_SE = 0xA00D,
    RP_AMD_AGENT_DOMAIN = 0xA00F,
    RP_AMD_AGENT_UUID = 0xA011,                /**< char[21] */
    RP_AMD_AGENT_TIMESTAMP_FREQUENCY = 0xA016, /**< uint64_t */
    RP_AMD_AGENT_ASIC_FAMILY_ID = 0xA107,
    RP_AMD_AGENT_SDMA_ENGINES = 0xA10A,
    RP_AMD_AGENT_XCC_COUNT = 0xA111,

    RP_AMD_POOL_SEGMENT = 0,
    RP_AMD_POOL_GLOBAL_FLAGS = 1,
    RP_AMD_POOL_SIZE = 2,
    RP_AMD_POOL_ALLOC_ALLOWED = 5, /**< bool */
    RP_AMD_POOL_FLAG_KERNARG = 1,
    RP_AMD_POOL_FLAG_FINE = 2,
    RP_AMD_POOL_FLAG_COARSE = 4,
    RP_AMD_POOL_FLAG_EXTENDED_FINE = 8,
    RP_AMD_SYSTEM_XNACK = 0x206, /**< bool */
    RP_AMD_SEGMENT_GLOBAL = 0,
    RP_AMD_SEGMENT_GROUP = 3,

    RP_HSA_SYMBOL_TYPE = 0, /**< 1 = kernel */
    RP_HSA_SYMBOL_NAME_LENGTH = 1,
    RP_HSA_SYMBOL_NAME = 2,
    RP_HSA_SYMBOL_KERNARG_BYTES = 11,
    RP_HSA_SYMBOL_KERNARG_ALIGN = 12,
    RP_HSA_SYMBOL_GROUP_BYTES = 13,
    RP_HSA_SYMBOL_PRIVATE_BYTES = 14,
    RP_HSA_SYMBOL_KERNEL_OBJECT = 22,
    RP_HSA_SYMBOL_KIND_KERNEL = 1,

    RP_HSA_EXTENSION_AMD_LOADER = 0x201,
    RP_LOADER_INFO_AGENT = 3,
    RP_LOADER_INFO_STORAGE_TYPE = 4, /**< 1 file, 2 memory */
    RP_LOADER_INFO_MEMORY_BASE = 5,
    RP_LOADER_INFO_MEMORY_SIZE = 6,
    RP_LOADER_INFO_LOAD_DELTA = 8,
    RP_LOADER_INFO_LOAD_BASE = 9,
    RP_LOADER_INFO_LOAD_SIZE = 10,
    RP_LOADER_INFO_URI_LENGTH = 11,
    RP_LOADER_INFO_URI = 12,
    RP_LOADER_STORAGE_FILE = 1,
    RP_LOADER_STORAGE_MEMORY = 2,
};

/** This is laid out as hsa_ven_amd_loader_1_01_pfn_t. */
struct rp_hsa_loader {
    rp_hsa_status (*query_host_address)(const void *device, const void **ret_host);
    rp_hsa_status (*query_segment_descriptors)(void *descriptors, size_t *count);
    rp_hsa_status (*query_executable)(const void *device, rp_hsa_executable *ret);
    rp_hsa_status (*iterate_code_objects)(rp_hsa_executable executable,
                                          rp_hsa_status (*visit)(rp_hsa_executable executable,
                                                                 rp_hsa_code_object object,
                                                                 void *data),
                                          void *data);
    rp_hsa_status (*code_object_get_info)(rp_hsa_code_object object, uint32_t what, void *ret);
};

/**
 * These are the runtime's own functions, saved before any entry is replaced. Optional ones may be
 * NULL.
 */
struct rp_hsa {
#define RP_HSA(table, index, need, ret, name, args) ret(*name) args;
#include "tracer/hsa_entries.def"
};

/**
 * Copies the entries of hsa_entries.def out of the runtime's tables.
 * @return false when a table is of another major version or lacks a required entry
 */
bool rp_hsa_bind(struct rp_hsa *hsa, const struct rp_hsa_tables *tables);

/* Kernel object address -> kernel id, read without locks by the packet callbacks.
 *
 * Open addressing, never more than half full. Growing publishes a new table and keeps the old one
 * until rp_kernel_map_free, because a reader may still be in it (all of them together are smaller
 * than the newest).
 */

struct rp_kernel_map {
    struct rp_kernel_table *table; /**< atomic */
    uint32_t used;
};

/** Remembers or replaces; writers must be serialised. -1 when out of memory: of one that is there
 * never. */
int rp_kernel_map_put(struct rp_kernel_map *map, uint64_t kernel_object, uint32_t id);
/** Returns the kernel's id, or 0 when it is unknown. */
uint32_t rp_kernel_map_get(const struct rp_kernel_map *map, uint64_t kernel_object);
void rp_kernel_map_free(struct rp_kernel_map *map);

#endif

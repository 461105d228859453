/**
 * @file kfd_abi.h
 * @brief This header declares the parts of the amdkfd, libdrm_amdgpu and HSA queue ABIs that the
 * driver's face speaks.
 *
 * Layouts only, under our own names. They are restated here because the build machine's kernel
 * headers are older than the interface that ROCr 7 uses (Debian 12 carries KFD 1.11, 1.15 is
 * needed), and because the injected library depends on libc alone. Every size is asserted.
 */
#ifndef RP_DEVICE_DRIVER_KFD_ABI_H
#define RP_DEVICE_DRIVER_KFD_ABI_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

enum {
    RP_KFD_IOCTL_TYPE = 'K',
    RP_KFD_MAJOR = 1,
    RP_KFD_MINOR = 17, /* >= 1.15 switches ROCr's virtual memory API on */
};

struct rp_kfd_create_queue {
    uint64_t ring_base, write_pointer, read_pointer;
    uint64_t doorbell_offset; /**< out */
    uint32_t ring_bytes, gpu_id, type, percentage, priority;
    uint32_t queue_id; /**< out */
    uint64_t eop_base, eop_bytes, save_base;
    uint32_t save_bytes, ctl_stack_bytes, sdma_engine, metadata_ring_bytes;
};
static_assert(sizeof(struct rp_kfd_create_queue) == 96, "kfd_ioctl_create_queue_args");

enum rp_kfd_queue_type {
    RP_KFD_QUEUE_SDMA = 1,
    RP_KFD_QUEUE_COMPUTE_AQL = 2,
    RP_KFD_QUEUE_SDMA_XGMI = 3,
    RP_KFD_QUEUE_SDMA_BY_ENGINE = 4,
};

enum rp_kfd_event_type {
    RP_KFD_EVENT_SIGNAL = 0,
    RP_KFD_EVENT_HW_EXCEPTION = 3,
    RP_KFD_EVENT_DEBUG = 5,
    RP_KFD_EVENT_MEMORY = 8,
    RP_KFD_EVENT_TYPE_MAX = 9,
};

enum { RP_KFD_EVENT_LIMIT = 4096 };

enum rp_kfd_wait_result { RP_KFD_WAIT_COMPLETE = 0, RP_KFD_WAIT_TIMEOUT = 1, RP_KFD_WAIT_FAIL = 2 };

struct rp_kfd_memory_exception {
    uint32_t not_present, read_only, no_execute, imprecise;
    uint64_t va;
    uint32_t gpu_id, error_type;
};

struct rp_kfd_event_data {
    union {
        struct rp_kfd_memory_exception memory;
        uint64_t last_age;
    };
    uint64_t extension;
    uint32_t event_id, pad;
};
static_assert(sizeof(struct rp_kfd_event_data) == 48, "kfd_event_data");

enum {
    RP_KFD_MEM_VRAM = 1u << 0,
    RP_KFD_MEM_GTT = 1u << 1,
    RP_KFD_MEM_USERPTR = 1u << 2,
    RP_KFD_MEM_DOORBELL = 1u << 3,
    RP_KFD_MEM_MMIO = 1u << 4,
    RP_KFD_MEM_KINDS = 0x1f,
};
#define RP_KFD_MEM_WRITABLE (1u << 31)

struct rp_kfd_alloc {
    uint64_t va, bytes;
    uint64_t handle;      /* out */
    uint64_t mmap_offset; /* out; in for userptr: the host address */
    uint32_t gpu_id, flags;
};
static_assert(sizeof(struct rp_kfd_alloc) == 40, "kfd_ioctl_alloc_memory_of_gpu_args");

struct rp_drm_gpu_info {
    uint32_t asic_id, chip_rev, chip_external_rev, family_id;
    uint64_t ids_flags, max_engine_clk_khz, max_memory_clk_khz;
    uint32_t shader_engines, shader_arrays_per_engine, avail_quad_shader_pipes,
        max_quad_shader_pipes, cache_entries_per_quad_pipe, hw_gfx_contexts, rb_pipes,
        enabled_rb_pipes_mask, gpu_counter_freq_khz;
    uint32_t backend_disable[4], mc_arb_ramcfg, gb_addr_cfg, gb_tile_mode[32],
        gb_macro_tile_mode[16], pa_sc_raster_cfg[4], pa_sc_raster_cfg1[4];
    uint32_t cu_active_number, cu_ao_mask, cu_bitmap[4][4];
    uint32_t vram_type, vram_bit_width, ce_ram_size, vce_harvest_config, pci_rev_id;
};

struct rp_drm_bo_metadata {
    uint64_t flags, tiling_info;
    uint32_t size_bytes, umd[64];
};

struct rp_drm_bo_info {
    uint64_t alloc_bytes, phys_alignment;
    uint32_t preferred_heap;
    uint64_t alloc_flags;
    struct rp_drm_bo_metadata metadata;
};
enum { RP_DRM_GEM_MMAP = 1, RP_DRM_INFO = 5 };

/** This is the version of the amdgpu interface, that of Linux 6.x. */
enum { RP_DRM_MAJOR = 3, RP_DRM_MINOR = 61 };
enum { RP_DRM_IOCTL_TYPE = 'd', RP_DRM_VERSION = 0, RP_DRM_CLIENT = 5, RP_DRM_COMMANDS = 0x40 };
enum {
    RP_DRM_FAMILY_AI = 141, /**< Vega and the CDNA parts */
    RP_DRM_IDS_FUSION = 1,
    RP_DRM_VRAM_HBM = 6
};

enum { RP_AQL_PACKET_BYTES = 64 };

enum rp_aql_type {
    RP_AQL_VENDOR = 0,
    RP_AQL_INVALID = 1,
    RP_AQL_DISPATCH = 2,
    RP_AQL_BARRIER_AND = 3,
    RP_AQL_AGENT = 4,
    RP_AQL_BARRIER_OR = 5,
};

union rp_aql_packet {
    uint16_t header; /**< type in bits 7:0, barrier in bit 8, fence scopes above */
    struct {
        uint16_t header, setup;
        uint16_t workgroup_size[3], reserved0;
        uint32_t grid_size[3], private_bytes, group_bytes;
        uint64_t kernel_object, kernarg, reserved2, completion;
    } dispatch;
    struct {
        uint16_t header, reserved0;
        uint32_t reserved1;
        uint64_t dependency[5], reserved2, completion;
    } barrier;
    struct {
        uint16_t header;
        uint8_t format, reserved0;
        uint32_t reserved1;
        uint64_t signal;
        int64_t value, mask;
        uint32_t condition, reserved2;
        uint64_t reserved3[2], completion;
    } barrier_value;
    struct {
        uint16_t header;
        uint8_t format, reserved0;
        uint32_t jump[4], dwords_remaining, reserved1[8];
        uint64_t completion;
    } pm4;
    uint8_t bytes[RP_AQL_PACKET_BYTES];
};
static_assert(sizeof(union rp_aql_packet) == RP_AQL_PACKET_BYTES, "AQL packet");
static_assert(offsetof(union rp_aql_packet, dispatch.completion) == 56, "dispatch packet");
static_assert(offsetof(union rp_aql_packet, barrier.completion) == 56, "barrier packet");
static_assert(offsetof(union rp_aql_packet, barrier_value.completion) == 56,
              "barrier-value packet");
static_assert(offsetof(union rp_aql_packet, pm4.completion) == 56, "PM4-IB packet");

struct rp_amd_signal {
    int64_t kind;
    int64_t value;
    uint64_t mailbox_va;
    uint32_t event_id, reserved1;
    uint64_t start_ticks, end_ticks;
    uint64_t queue_va;
    uint32_t reserved3[2];
};
static_assert(sizeof(struct rp_amd_signal) == 64, "amd_signal_t");

/** This is the head of amd_queue_v2_t, as far as the packet processor reads and writes it. */
struct rp_amd_queue {
    uint8_t hsa_queue[40];
    uint32_t caps, reserved1[3];
    uint64_t write_dispatch_id;
    uint32_t group_aperture_hi, private_aperture_hi, max_cu_id, max_wave_id;
    uint64_t legacy_doorbell_id;
    uint32_t legacy_doorbell_lock, reserved2[9];
    uint64_t read_dispatch_id;
    uint32_t read_dispatch_id_offset, compute_tmpring_size, scratch_srd[4];
    uint64_t scratch_va, scratch_bytes;
    uint32_t scratch_lane_bytes, properties;
    uint64_t scratch_max_use_index;
    uint64_t inactive_signal_va;
};
static_assert(offsetof(struct rp_amd_queue, write_dispatch_id) == 56, "amd_queue_t");
static_assert(offsetof(struct rp_amd_queue, read_dispatch_id) == 128, "amd_queue_t");
static_assert(offsetof(struct rp_amd_queue, inactive_signal_va) == 192, "amd_queue_t");

/** The hardware stores these bits in amd_queue_t.queue_inactive_signal (HSA AMD extension). */
enum rp_queue_error {
    RP_QUEUE_ERR_DIMENSIONS = 0x2,
    RP_QUEUE_ERR_GROUP_MEMORY = 0x4,
    RP_QUEUE_ERR_CODE = 0x8,
    RP_QUEUE_ERR_PACKET = 0x20,
    RP_QUEUE_ERR_GROUP_SIZE = 0x40,
    RP_QUEUE_ERR_VENDOR_PACKET = 0x100,
    RP_QUEUE_ERR_MEMORY = 0x20000000,
    RP_QUEUE_ERR_ILLEGAL_INSTRUCTION = 0x40000000,
};

#endif

/**
 * @file abi.h
 * @brief The parts of the amdkfd, libdrm_amdgpu and HSA queue ABIs that the driver's face speaks.
 *
 * Layouts only, under our own names. They are restated here because the build machine's kernel
 * headers are older than the interface that ROCr 7 uses (Debian 12 carries KFD 1.11, 1.15 is
 * needed), and because the injected library depends on libc alone. Every size is asserted.
 */
#ifndef RP_DEVICE_KFD_ABI_H
#define RP_DEVICE_KFD_ABI_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

/* ---- /dev/kfd ioctls (linux/kfd_ioctl.h, KFD 1.17) ---------------------------------------- */

enum {
    RP_KFD_IOCTL_TYPE = 'K',
    RP_KFD_MAJOR = 1,
    RP_KFD_MINOR = 17, /* >= 1.15 switches ROCr's virtual memory API on */
};

struct rp_kfd_version {
    uint32_t major, minor;
};

struct rp_kfd_create_queue {
    uint64_t ring_base, write_pointer, read_pointer;
    uint64_t doorbell_offset; /* out */
    uint32_t ring_bytes, gpu_id, type, percentage, priority;
    uint32_t queue_id; /* out */
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

struct rp_kfd_queue_id {
    uint32_t queue_id, pad;
};

struct rp_kfd_update_queue {
    uint64_t ring_base;
    uint32_t queue_id, ring_bytes, percentage, priority;
};
static_assert(sizeof(struct rp_kfd_update_queue) == 24, "kfd_ioctl_update_queue_args");

struct rp_kfd_memory_policy {
    uint64_t alternate_base, alternate_bytes;
    uint32_t gpu_id, default_policy, alternate_policy, flags;
};
static_assert(sizeof(struct rp_kfd_memory_policy) == 32, "kfd_ioctl_set_memory_policy_args");

struct rp_kfd_clock_counters {
    uint64_t gpu_ticks, cpu_ns, system_ns, system_hz; /* out */
    uint32_t gpu_id, pad;
};
static_assert(sizeof(struct rp_kfd_clock_counters) == 40, "kfd_ioctl_get_clock_counters_args");

struct rp_kfd_aperture {
    uint64_t lds_base, lds_limit, scratch_base, scratch_limit, gpuvm_base, gpuvm_limit;
    uint32_t gpu_id, pad;
};
static_assert(sizeof(struct rp_kfd_aperture) == 56, "kfd_process_device_apertures");

struct rp_kfd_apertures_new {
    uint64_t apertures_ptr;
    uint32_t node_count, pad; /* in: room, out: filled */
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

struct rp_kfd_create_event {
    uint64_t page_offset;  /* out, or in: handle of the event page */
    uint32_t trigger_data; /* out */
    uint32_t type, auto_reset, node_id;
    uint32_t event_id, slot; /* out */
};
static_assert(sizeof(struct rp_kfd_create_event) == 32, "kfd_ioctl_create_event_args");

struct rp_kfd_event_id {
    uint32_t event_id, pad;
};

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

struct rp_kfd_wait_events {
    uint64_t events_ptr;
    uint32_t count, wait_for_all, timeout_ms;
    uint32_t result; /* out */
};
static_assert(sizeof(struct rp_kfd_wait_events) == 24, "kfd_ioctl_wait_events_args");

struct rp_kfd_scratch_backing {
    uint64_t va;
    uint32_t gpu_id, pad;
};

struct rp_kfd_tile_config {
    uint64_t tiles_ptr, macro_tiles_ptr;
    uint32_t tile_count, macro_tile_count, gpu_id, gb_addr_config, banks, ranks;
};
static_assert(sizeof(struct rp_kfd_tile_config) == 40, "kfd_ioctl_get_tile_config_args");

struct rp_kfd_trap_handler {
    uint64_t tba, tma;
    uint32_t gpu_id, pad;
};

struct rp_kfd_acquire_vm {
    uint32_t drm_fd, gpu_id;
};

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

struct rp_kfd_handle {
    uint64_t handle;
};

struct rp_kfd_map {
    uint64_t handle, device_ids_ptr;
    uint32_t device_count, success_count;
};
static_assert(sizeof(struct rp_kfd_map) == 24, "kfd_ioctl_map_memory_to_gpu_args");

struct rp_kfd_cu_mask {
    uint32_t queue_id, bit_count;
    uint64_t mask_ptr;
};

struct rp_kfd_dmabuf_info {
    uint64_t bytes, metadata_ptr;
    uint32_t metadata_bytes, gpu_id, flags, dmabuf_fd;
};
static_assert(sizeof(struct rp_kfd_dmabuf_info) == 32, "kfd_ioctl_get_dmabuf_info_args");

struct rp_kfd_import_dmabuf {
    uint64_t va;
    uint64_t handle; /* out */
    uint32_t gpu_id, dmabuf_fd;
};
static_assert(sizeof(struct rp_kfd_import_dmabuf) == 24, "kfd_ioctl_import_dmabuf_args");

struct rp_kfd_export_dmabuf {
    uint64_t handle;
    uint32_t flags;
    uint32_t dmabuf_fd; /* out */
};
static_assert(sizeof(struct rp_kfd_export_dmabuf) == 16, "kfd_ioctl_export_dmabuf_args");

struct rp_kfd_queue_gws {
    uint32_t queue_id, count;
    uint32_t first, pad; /* out */
};

struct rp_kfd_smi_events {
    uint32_t gpu_id;
    uint32_t anon_fd; /* out */
};

struct rp_kfd_xnack {
    int32_t enabled; /* in: negative = query */
};

struct rp_kfd_available_memory {
    uint64_t bytes; /* out */
    uint32_t gpu_id, pad;
};

struct rp_kfd_runtime_enable {
    uint64_t r_debug;
    uint32_t mode_mask, capabilities_mask;
};

/* ---- libdrm_amdgpu (amdgpu.h) ------------------------------------------------------------- */

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

enum rp_drm_handle_type {
    RP_DRM_HANDLE_KMS = 1,
    RP_DRM_HANDLE_DMABUF = 2,
    RP_DRM_HANDLE_KMS_NOIMPORT = 3
};

enum { RP_DRM_VA_MAP = 1, RP_DRM_VA_UNMAP = 2, RP_DRM_VA_CLEAR = 3, RP_DRM_VA_REPLACE = 4 };
enum { RP_DRM_PAGE_READABLE = 1 << 1, RP_DRM_PAGE_WRITEABLE = 1 << 2 };
enum { RP_DRM_GEM_MMAP = 1, RP_DRM_INFO = 5 };

/* ---- /dev/dri (drm.h and amdgpu_drm.h of Linux) ------------------------------------------- */

/** The amdgpu interface that is spoken, as of Linux 6.x. */
enum { RP_DRM_MAJOR = 3, RP_DRM_MINOR = 61 };
enum { RP_DRM_IOCTL_TYPE = 'd', RP_DRM_VERSION = 0, RP_DRM_CLIENT = 5, RP_DRM_COMMANDS = 0x40 };

struct rp_drm_version {
    int32_t major, minor, patch;
    uint64_t name_bytes, name, date_bytes, date, description_bytes, description;
};

struct rp_drm_client {
    int32_t index, authenticated;
    uint64_t pid, uid, magic, ioctls;
};

enum {
    RP_DRM_INFO_ACCEL_WORKING = 0x00,
    RP_DRM_INFO_TIMESTAMP = 0x05,
    RP_DRM_INFO_FW_VERSION = 0x0e,
    RP_DRM_INFO_VRAM_USAGE = 0x10,
    RP_DRM_INFO_VRAM_GTT = 0x14,
    RP_DRM_INFO_READ_MMR_REG = 0x15,
    RP_DRM_INFO_DEV_INFO = 0x16,
    RP_DRM_INFO_VIS_VRAM_USAGE = 0x17,
};

enum { RP_DRM_FW_MEC = 0x08, RP_DRM_FW_SDMA = 0x0b };
enum {
    RP_DRM_FAMILY_AI = 141, /**< Vega and the CDNA parts */
    RP_DRM_IDS_FUSION = 1,
    RP_DRM_VRAM_HBM = 6
};

/** A question: what it is about, where the answer goes and how many bytes of it. */
struct rp_drm_info {
    uint64_t out;
    uint32_t bytes, query;
    uint32_t which, more[3]; /**< firmware, register, ... of the query */
};

struct rp_drm_device_info {
    uint32_t device_id, chip_revision, external_revision, pci_revision, family, shader_engines,
        shader_arrays_per_engine, counter_khz;
    uint64_t most_engine_khz, most_memory_khz;
    uint32_t active_cus, always_on_mask, cu_bitmap[4][4], rb_pipes_mask, rb_pipes, gfx_contexts,
        pcie_generation;
    uint64_t ids_flags, va_begin, va_end;
    uint32_t va_alignment, pte_fragment_bytes, gart_page_bytes, ce_ram_bytes, vram_type, vram_bits,
        vce_harvest, double_offchip_lds;
    uint64_t ngg_buffers[4];
    uint32_t ngg_bytes[4], wave_size, shader_visible_vgprs, cus_per_array, tcc_blocks,
        gs_table_depth, gs_buffer_depth, most_gs_waves, pcie_lanes, always_on_bitmap[4][4];
    uint64_t high_va_begin, high_va_end;
    uint32_t tile_steering;
    uint64_t disabled_tccs, least_engine_khz, least_memory_khz;
    uint32_t of_gfx11[6]; /**< cache sizes that older chips leave at 0 */
    uint64_t mall_of_gfx11;
};

/* ---- HSA: AQL packets, amd_queue_t, amd_signal_t ------------------------------------------- */

enum { RP_AQL_PACKET_BYTES = 64 };

enum rp_aql_type {
    RP_AQL_VENDOR = 0,
    RP_AQL_INVALID = 1,
    RP_AQL_DISPATCH = 2,
    RP_AQL_BARRIER_AND = 3,
    RP_AQL_AGENT = 4,
    RP_AQL_BARRIER_OR = 5,
};

enum rp_aql_vendor_format { RP_AQL_VENDOR_PM4_IB = 1, RP_AQL_VENDOR_BARRIER_VALUE = 2 };

union rp_aql_packet {
    uint16_t header; /* type in bits 7:0, barrier in bit 8, fence scopes above */
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

/** Head of amd_queue_v2_t, as far as the packet processor reads and writes it. */
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

/** Bits that the hardware stores in amd_queue_t.queue_inactive_signal (HSA AMD extension). */
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
#define RP_QUEUE_ERR_TRAP 0x80000000u

#endif

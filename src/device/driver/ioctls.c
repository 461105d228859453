#include <assert.h>
#include <errno.h>
#include <linux/ioctl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include "device/driver/command_processor.h"
#include "device/driver/device_context.h"
#include "device/driver/device_memory.h"
#include "device/driver/vfs.h"
#include "device/exec/dispatch.h"
#include "device/exec/host_traps.h"

struct rp_kfd_version {
    uint32_t major, minor;
};

struct rp_kfd_queue_id {
    uint32_t queue_id, pad;
};

struct rp_kfd_update_queue {
    uint64_t ring_base;
    uint32_t queue_id, ring_bytes, percentage, priority;
};

struct rp_kfd_memory_policy {
    uint64_t alternate_base, alternate_bytes;
    uint32_t gpu_id, default_policy, alternate_policy, flags;
};

struct rp_kfd_clock_counters {
    uint64_t gpu_ticks, cpu_ns, system_ns, system_hz; /**< out */
    uint32_t gpu_id, pad;
};

struct rp_kfd_aperture {
    uint64_t lds_base, lds_limit, scratch_base, scratch_limit, gpuvm_base, gpuvm_limit;
    uint32_t gpu_id, pad;
};

struct rp_kfd_apertures_new {
    uint64_t apertures_ptr;
    uint32_t node_count, pad; /**< in: room, out: filled */
};

struct rp_kfd_create_event {
    uint64_t page_offset;  /**< out, or in: handle of the event page */
    uint32_t trigger_data; /**< out */
    uint32_t type, auto_reset, node_id;
    uint32_t event_id, slot; /**< out */
};

struct rp_kfd_event_id {
    uint32_t event_id, pad;
};

struct rp_kfd_wait_events {
    uint64_t events_ptr;
    uint32_t count, wait_for_all, timeout_ms;
    uint32_t result; /**< out */
};

struct rp_kfd_scratch_backing {
    uint64_t va;
    uint32_t gpu_id, pad;
};

struct rp_kfd_tile_config {
    uint64_t tiles_ptr, macro_tiles_ptr;
    uint32_t tile_count, macro_tile_count, gpu_id, gb_addr_config, banks, ranks;
};

struct rp_kfd_trap_handler {
    uint64_t tba, tma;
    uint32_t gpu_id, pad;
};

struct rp_kfd_acquire_vm {
    uint32_t drm_fd, gpu_id;
};

struct rp_kfd_handle {
    uint64_t handle;
};

struct rp_kfd_map {
    uint64_t handle, device_ids_ptr;
    uint32_t device_count, success_count;
};

struct rp_kfd_cu_mask {
    uint32_t queue_id, bit_count;
    uint64_t mask_ptr;
};

struct rp_kfd_dmabuf_info {
    uint64_t bytes, metadata_ptr;
    uint32_t metadata_bytes, gpu_id, flags, dmabuf_fd;
};

struct rp_kfd_import_dmabuf {
    uint64_t va;
    uint64_t handle; /**< out */
    uint32_t gpu_id, dmabuf_fd;
};

struct rp_kfd_export_dmabuf {
    uint64_t handle;
    uint32_t flags;
    uint32_t dmabuf_fd; /**< out */
};

struct rp_kfd_queue_gws {
    uint32_t queue_id, count;
    uint32_t first, pad; /**< out */
};

struct rp_kfd_smi_events {
    uint32_t gpu_id;
    uint32_t anon_fd; /**< out */
};

struct rp_kfd_xnack {
    int32_t enabled; /**< in: negative = query */
};

struct rp_kfd_available_memory {
    uint64_t bytes; /**< out */
    uint32_t gpu_id, pad;
};

struct rp_kfd_runtime_enable {
    uint64_t r_debug;
    uint32_t mode_mask, capabilities_mask;
};

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

/** A question has its subject, the place for the answer, and how many bytes of it are wanted. */
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

#define RP_SVM_UNDEFINED 0xffffffffu

/* ROCr accepts these apertures on 48-bit parts. A GPU VM limit of 2^47-1 makes the runtime use the
 * same addresses on both sides (measured with ROCr 7.2.4).
 */
#define RP_GPUVM_BASE 0x1000000ull

#define RP_GPUVM_LIMIT 0x7fffffffffffull

#define RP_APERTURE_4G 0xffffffffull

static_assert(sizeof(struct rp_kfd_update_queue) == 24, "kfd_ioctl_update_queue_args");
static_assert(sizeof(struct rp_kfd_memory_policy) == 32, "kfd_ioctl_set_memory_policy_args");
static_assert(sizeof(struct rp_kfd_clock_counters) == 40, "kfd_ioctl_get_clock_counters_args");
static_assert(sizeof(struct rp_kfd_aperture) == 56, "kfd_process_device_apertures");
static_assert(sizeof(struct rp_kfd_create_event) == 32, "kfd_ioctl_create_event_args");
static_assert(sizeof(struct rp_kfd_wait_events) == 24, "kfd_ioctl_wait_events_args");
static_assert(sizeof(struct rp_kfd_tile_config) == 40, "kfd_ioctl_get_tile_config_args");
static_assert(sizeof(struct rp_kfd_map) == 24, "kfd_ioctl_map_memory_to_gpu_args");
static_assert(sizeof(struct rp_kfd_dmabuf_info) == 32, "kfd_ioctl_get_dmabuf_info_args");
static_assert(sizeof(struct rp_kfd_import_dmabuf) == 24, "kfd_ioctl_import_dmabuf_args");
static_assert(sizeof(struct rp_kfd_export_dmabuf) == 16, "kfd_ioctl_export_dmabuf_args");

static inline uint64_t clock_ns(const struct rp_clock *clock, uint64_t ticks)
{
    return ticks * 1000 / clock->mhz; /* The result is whole for 25 and 100 MHz. */
}

/** Returns a reading for the driver's counter query, which is later than every reading before. */
static inline uint64_t clock_sample(struct rp_clock *clock)
{
    uint64_t last = __atomic_load_n(&clock->sampled, __ATOMIC_ACQUIRE), next;
    do {
        uint64_t now = rp_clock_now(clock);
        next = last + 1 > now ? last + 1 : now;
    } while (!__atomic_compare_exchange_n(&clock->sampled, &last, next, 0, __ATOMIC_ACQ_REL,
                                          __ATOMIC_ACQUIRE));
    return next;
}

struct svm_attribute {
    uint32_t type, value;
};

struct svm_args {
    uint64_t start, bytes;
    uint32_t op, count;
    struct svm_attribute attributes[];
};

enum svm_op { SVM_SET = 0, SVM_GET = 1 };

enum svm_type {
    SVM_PREFERRED_LOCATION = 0,
    SVM_PREFETCH_LOCATION = 1,
    SVM_ACCESS = 2,
    SVM_ACCESS_IN_PLACE = 3,
    SVM_NO_ACCESS = 4,
    SVM_SET_FLAGS = 5,
    SVM_CLEAR_FLAGS = 6,
    SVM_GRANULARITY = 7,
    SVM_TYPE_MAX,
};

enum svm_flag { SVM_HOST_ACCESS = 1, SVM_COHERENT = 2, SVM_GPU_READ_ONLY = 8 };

enum {
    SVM_GRANULARITY_DEFAULT = 9, /**< the driver's: 2 MiB */
    SVM_GRANULARITY_MAX = 0x3f,
};

/** Returns the attributes of memory that nobody has set; with XNACK every GPU has access. */
static struct rp_svm_attributes initial(const struct rp_memory *memory)
{
    return (struct rp_svm_attributes){
        .preferred = RP_SVM_UNDEFINED,
        .prefetched = RP_SVM_UNDEFINED,
        .access = memory->xnack ? (1u << memory->gpu_count) - 1 : 0,
        .flags = SVM_HOST_ACCESS | SVM_COHERENT,
        .granularity = SVM_GRANULARITY_DEFAULT,
    };
}

/** Sets *ret_gpu from an attribute that names a GPU. 0 or -EINVAL. */
static int gpu_of(const struct rp_memory *memory, const struct svm_attribute *attribute,
                  unsigned *ret_gpu)
{
    uint32_t gpu = attribute->value - RP_TOPOLOGY_GPU_ID;
    if (gpu >= memory->gpu_count)
        return -EINVAL;
    *ret_gpu = gpu;
    return 0;
}

/* ---- set ---------------------------------------------------------------------------------- */

static int check(const struct rp_memory *memory, const struct svm_attribute *attribute)
{
    unsigned gpu;
    switch (attribute->type) {
    case SVM_PREFERRED_LOCATION:
    case SVM_PREFETCH_LOCATION:
        if (attribute->value == 0 || attribute->value == RP_SVM_UNDEFINED)
            return 0;
        return gpu_of(memory, attribute, &gpu);
    case SVM_ACCESS:
    case SVM_ACCESS_IN_PLACE:
    case SVM_NO_ACCESS:
        return gpu_of(memory, attribute, &gpu);
    default:
        return attribute->type < SVM_TYPE_MAX ? 0 : -EINVAL;
    }
}

static void apply(struct rp_svm_attributes *a, const void *ctx)
{
    const struct svm_args *args = ctx;
    for (uint32_t i = 0; i < args->count; i++) {
        uint32_t value = args->attributes[i].value;
        /* The value was checked before to be a GPU's id. */
        uint32_t gpu = 1u << (value - RP_TOPOLOGY_GPU_ID) % 32;
        switch (args->attributes[i].type) {
        case SVM_PREFERRED_LOCATION:
            a->preferred = value;
            break;
        case SVM_PREFETCH_LOCATION:
            a->prefetched = value;
            break;
        case SVM_ACCESS:
            a->access |= gpu;
            a->in_place &= ~gpu;
            break;
        case SVM_ACCESS_IN_PLACE:
            a->access &= ~gpu;
            a->in_place |= gpu;
            break;
        case SVM_NO_ACCESS:
            a->access &= ~gpu;
            a->in_place &= ~gpu;
            break;
        case SVM_SET_FLAGS:
            a->flags |= value;
            break;
        case SVM_CLEAR_FLAGS:
            a->flags &= ~value;
            break;
        default:
            a->granularity = value < SVM_GRANULARITY_MAX ? value : SVM_GRANULARITY_MAX;
            break;
        }
    }
}

/** Lets the page tables follow what the pieces of the range now say. */
static int follow(struct rp_memory *memory, uint64_t begin, uint64_t end)
{
    const struct rp_svm_range *range;
    for (uint64_t va = begin; va < end; va = range->end) {
        range = rp_svm_ranges_next(&memory->svm, va);
        if (!range)
            break;
        uint64_t stop = range->end < end ? range->end : end;
        const struct rp_svm_attributes *a = &range->attributes;
        for (unsigned gpu = 0; gpu < memory->gpu_count; gpu++) {
            bool visible = (a->access | a->in_place) >> gpu & 1;
            int rc = rp_memory_set_shared(memory, gpu, va, stop, visible,
                                          !(a->flags & SVM_GPU_READ_ONLY));
            if (rc < 0)
                return rc;
        }
    }
    return 0;
}

static int set(struct rp_memory *memory, const struct svm_args *args)
{
    for (uint32_t i = 0; i < args->count; i++) {
        int rc = check(memory, &args->attributes[i]);
        if (rc < 0)
            return rc;
    }
    const struct rp_svm_attributes first = initial(memory);
    int rc = rp_svm_ranges_update(&memory->svm, args->start, args->start + args->bytes, &first,
                                  apply, args);
    return rc < 0 ? rc : follow(memory, args->start, args->start + args->bytes);
}

/* ---- get ---------------------------------------------------------------------------------- */

/** This is what all pieces of a range have in common. */
struct summary {
    struct rp_svm_attributes all;
    uint32_t any_flags;
};

static uint32_t common(uint32_t a, uint32_t b)
{
    return a == b ? a : RP_SVM_UNDEFINED;
}

static struct summary summarise(const struct rp_memory *memory, uint64_t begin, uint64_t end)
{
    struct summary sum = {.all = initial(memory)};
    const struct rp_svm_range *range = rp_svm_ranges_next(&memory->svm, begin);
    sum.any_flags = sum.all.flags;
    if (!range || range->begin >= end)
        return sum;
    sum.all = range->attributes;
    sum.any_flags = sum.all.flags;
    /* Pieces without attributes do not count, as in the driver. */
    while ((range = rp_svm_ranges_next(&memory->svm, range->end)) && range->begin < end) {
        const struct rp_svm_attributes *a = &range->attributes;
        sum.all.preferred = common(sum.all.preferred, a->preferred);
        sum.all.prefetched = common(sum.all.prefetched, a->prefetched);
        sum.all.access &= a->access;
        sum.all.in_place &= a->in_place;
        sum.all.flags &= a->flags;
        sum.any_flags |= a->flags;
        if (a->granularity < sum.all.granularity)
            sum.all.granularity = a->granularity;
    }
    return sum;
}

/** An access attribute is asked for as SVM_ACCESS, and answered by changing that. */
static int access_of(const struct rp_memory *memory, const struct summary *sum,
                     struct svm_attribute *attribute)
{
    unsigned gpu;
    int rc = gpu_of(memory, attribute, &gpu);
    if (rc < 0)
        return rc;
    attribute->type = sum->all.access >> gpu & 1     ? SVM_ACCESS
                      : sum->all.in_place >> gpu & 1 ? SVM_ACCESS_IN_PLACE
                                                     : SVM_NO_ACCESS;
    return 0;
}

static int get(const struct rp_memory *memory, struct svm_args *args)
{
    const struct summary sum = summarise(memory, args->start, args->start + args->bytes);
    for (uint32_t i = 0; i < args->count; i++) {
        struct svm_attribute *attribute = &args->attributes[i];
        int rc = 0;
        switch (attribute->type) {
        case SVM_PREFERRED_LOCATION:
            attribute->value = sum.all.preferred;
            break;
        case SVM_PREFETCH_LOCATION:
            attribute->value = sum.all.prefetched;
            break;
        case SVM_ACCESS:
            rc = access_of(memory, &sum, attribute);
            break;
        case SVM_SET_FLAGS:
            attribute->value = sum.all.flags;
            break;
        case SVM_CLEAR_FLAGS:
            attribute->value = ~sum.any_flags;
            break;
        case SVM_GRANULARITY:
            attribute->value = sum.all.granularity;
            break;
        default:
            rc = -EINVAL;
        }
        if (rc < 0)
            return rc;
    }
    return 0;
}

int rp_svm_ioctl(struct rp_memory *memory, void *user, uint32_t bytes)
{
    struct svm_args *args = user;
    if (bytes < sizeof *args ||
        args->count > (bytes - sizeof *args) / sizeof(struct svm_attribute) || args->bytes == 0 ||
        args->start % RP_BACKING_PAGE || args->bytes % RP_BACKING_PAGE ||
        args->start + args->bytes < args->start)
        return -EINVAL;
    pthread_mutex_lock(&memory->lock);
    int rc = args->op == SVM_SET   ? set(memory, args)
             : args->op == SVM_GET ? get(memory, args)
                                   : -EINVAL;
    pthread_mutex_unlock(&memory->lock);
    if (rc == 0 && args->op == SVM_SET)
        rp_exec_settle(); /* A kernel may be using what it has just lost. */
    rp_log("svm op %u, 0x%llx, %llu bytes, %u attributes: %d", args->op,
           (unsigned long long)args->start, (unsigned long long)args->bytes, args->count, rc);
    return rc;
}

/* The system calls on /dev/dri: what libdrm asks when a program links or loads it itself.
 *
 * ROCr's calls of libdrm end in libc_hooks.c. AMD SMI and others look libdrm's functions up in the
 * library that they have loaded, so that libdrm's own come here. A question that only a sensor, a
 * flash chip or graphics could answer fails with EINVAL, as with a driver that does not know it.
 */

/** Copies as much as there is room for, and says how long all of it is, as the kernel does. */
static void give_text(uint64_t out, uint64_t *bytes, const char *text)
{
    size_t length = strlen(text);
    if (out && *bytes)
        memcpy((void *)(uintptr_t)out, text, *bytes < length ? *bytes : length);
    *bytes = length;
}

static int do_version(struct rp_drm_version *args)
{
    args->major = RP_DRM_MAJOR;
    args->minor = RP_DRM_MINOR;
    args->patch = 0;
    give_text(args->name, &args->name_bytes, "amdgpu");
    give_text(args->date, &args->date_bytes, "0"); /* Linux has said so since 6.14. */
    give_text(args->description, &args->description_bytes, "AMD GPU");
    return 0;
}

/**
 * Only cards are asked who uses them. The process is the card's only user and may do everything.
 */
static int do_client(struct rp_drm_client *args)
{
    if (args->index != 0)
        return -EINVAL;
    args->authenticated = 1;
    args->pid = (uint64_t)getpid();
    args->uid = getuid();
    args->magic = args->ioctls = 0;
    return 0;
}

/** Returns the generation of PCI Express from its rate per lane. */
static uint32_t pcie_generation(uint32_t mtransfers_s)
{
    uint32_t generation = mtransfers_s ? 1 : 0;
    for (uint32_t rate = 2500; rate < mtransfers_s; generation++)
        rate = rate == 5000 ? 8000 : rate * 2;
    return generation;
}

static struct rp_drm_device_info device_info(const struct rp_arch *a)
{
    return (struct rp_drm_device_info){
        .device_id = a->pci_device_id,
        .family = RP_DRM_FAMILY_AI,
        .shader_engines = a->shader_engines,
        .shader_arrays_per_engine = 1,
        .counter_khz = a->timestamp_mhz * 1000,
        .most_engine_khz = (uint64_t)a->engine_clock_mhz * 1000,
        .most_memory_khz = (uint64_t)a->memory_clock_mhz * 1000,
        .active_cus = a->compute_units,
        .pcie_generation = pcie_generation(a->pcie_mtransfers_s),
        .ids_flags = a->apu ? RP_DRM_IDS_FUSION : 0,
        .va_begin = RP_GPUVM_BASE,
        .va_end = RP_GPUVM_LIMIT + 1,
        .va_alignment = RP_BACKING_PAGE,
        .gart_page_bytes = RP_BACKING_PAGE,
        .vram_type = RP_DRM_VRAM_HBM,
        .vram_bits = a->memory_width_bits,
        .wave_size = a->wave_size,
        .cus_per_array = (a->compute_units + a->shader_engines - 1) / a->shader_engines,
        .tcc_blocks = a->l2_channels_per_xcc * a->xcc_count,
        .pcie_lanes = a->pcie_lanes,
    };
}

static int firmware_info(const struct rp_arch *arch, uint32_t type, uint32_t ret_version[2])
{
    ret_version[1] = 0; /* This is the version of its features. */
    ret_version[0] = type == RP_DRM_FW_MEC ? arch->mec_firmware : arch->sdma_firmware;
    return type == RP_DRM_FW_MEC || type == RP_DRM_FW_SDMA ? 0 : -EINVAL;
}

/** Tile modes are for graphics: libdrm wants one of their registers, nobody uses it. */
static int register_info(const struct rp_drm_info *args, uint32_t ret_value[1])
{
    enum { GB_ADDR_CONFIG = 0x263e };
    ret_value[0] = 0;
    return args->which == GB_ADDR_CONFIG && args->more[0] == 1 ? 0 : -EINVAL;
}

static int do_info(struct rp_device *device, unsigned gpu, struct rp_drm_info *args)
{
    const struct rp_arch *arch = &device->arch;
    const struct rp_topology topology = rp_device_topology();
    union {
        uint32_t words[2];
        uint64_t longs[3];
        struct rp_drm_device_info device;
    } answer = {0};
    size_t bytes = sizeof(uint64_t);
    int rc = 0;
    if (!args->out || !args->bytes)
        return -EINVAL;
    switch (args->query) {
    case RP_DRM_INFO_ACCEL_WORKING:
        answer.words[0] = 1;
        bytes = sizeof(uint32_t);
        break;
    case RP_DRM_INFO_TIMESTAMP:
        answer.longs[0] = rp_clock_now(&device->clock);
        break;
    case RP_DRM_INFO_FW_VERSION:
        rc = firmware_info(arch, args->which, answer.words);
        break;
    case RP_DRM_INFO_VRAM_USAGE: /* The host can see all of it. */
    case RP_DRM_INFO_VIS_VRAM_USAGE:
        answer.longs[0] = topology.memory_used_bytes[gpu];
        break;
    case RP_DRM_INFO_VRAM_GTT:
        answer.longs[0] = answer.longs[1] = arch->memory_bytes;
        answer.longs[2] = rp_topology_gtt_bytes(&topology);
        bytes = 3 * sizeof(uint64_t);
        break;
    case RP_DRM_INFO_READ_MMR_REG:
        rc = register_info(args, answer.words);
        bytes = sizeof(uint32_t);
        break;
    case RP_DRM_INFO_DEV_INFO:
        answer.device = device_info(&topology.arch); /* whose clock is the highest */
        bytes = sizeof answer.device;
        break;
    default:
        rc = -EINVAL;
    }
    if (rc == 0)
        memcpy((void *)(uintptr_t)args->out, &answer, args->bytes < bytes ? args->bytes : bytes);
    rp_log("drm info 0x%x of GPU %u: %d", args->query, gpu, rc);
    return rc;
}

int rp_drm_gem_mmap(struct rp_device *device, uint64_t *id_and_offset)
{
    uint32_t id;
    struct rp_buffer_object *buffer;
    memcpy(&id, id_and_offset, sizeof id);
    int rc = rp_memory_buffer_from_id(&device->memory, id, &buffer);
    if (rc < 0)
        return rc;
    *id_and_offset = rp_memory_mmap_offset(buffer);
    rp_memory_buffer_unref(&device->memory, buffer);
    return rc;
}

int rp_drm_ioctl(struct rp_device *device, int fd, unsigned long request, void *user)
{
    /* Libraries of different ages ask for different sizes of the same structures, which only grow.
     */
    static const struct {
        unsigned number, bytes;
    } calls[] = {
        {RP_DRM_VERSION, sizeof(struct rp_drm_version)},
        {RP_DRM_CLIENT, sizeof(struct rp_drm_client)},
        {RP_DRM_COMMANDS + RP_DRM_GEM_MMAP, sizeof(uint64_t)},
        {RP_DRM_COMMANDS + RP_DRM_INFO, sizeof(struct rp_drm_info)},
    };
    unsigned number = _IOC_NR(request);
    bool known = false;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        known = known || (calls[i].number == number && _IOC_SIZE(request) >= calls[i].bytes);
    if (!known || !user) {
        rp_log("drm call 0x%lx is not supported", request);
        return -EINVAL;
    }
    switch (number) {
    case RP_DRM_VERSION:
        return do_version(user);
    case RP_DRM_CLIENT:
        return do_client(user);
    case RP_DRM_COMMANDS + RP_DRM_GEM_MMAP:
        return rp_drm_gem_mmap(device, user);
    default:
        return do_info(device, rp_device_gpu_of_fd(fd), user);
    }
}

/* The system calls on /dev/kfd: a table of handlers (ioctls.def). */

/* ---- identity ----------------------------------------------------------------------------- */

static int do_get_version(struct rp_device *device, struct rp_kfd_version *args)
{
    (void)device;
    *args = (struct rp_kfd_version){.major = RP_KFD_MAJOR, .minor = RP_KFD_MINOR};
    return 0;
}

static int do_get_process_apertures_new(struct rp_device *device, struct rp_kfd_apertures_new *args)
{
    struct rp_kfd_aperture *out = (void *)(uintptr_t)args->apertures_ptr;
    for (unsigned i = 0; out && i < args->node_count && i < device->gpu_count; i++)
        out[i] = (struct rp_kfd_aperture){
            .lds_base = RP_LDS_BASE,
            .lds_limit = RP_LDS_BASE + RP_APERTURE_4G,
            .scratch_base = RP_SCRATCH_BASE,
            .scratch_limit = RP_SCRATCH_BASE + RP_APERTURE_4G,
            .gpuvm_base = RP_GPUVM_BASE,
            .gpuvm_limit = RP_GPUVM_LIMIT,
            .gpu_id = device->gpus[i].id,
        };
    args->node_count = device->gpu_count;
    return 0;
}

static int do_acquire_vm(struct rp_device *device, struct rp_kfd_acquire_vm *args)
{
    const struct rp_gpu *gpu = rp_device_gpu(device, args->gpu_id);
    bool its_node = gpu && rp_device_owns(device, (int)args->drm_fd) &&
                    rp_device_gpu_of_fd((int)args->drm_fd) == gpu->index;
    return its_node ? 0 : -EINVAL;
}

static int do_get_clock_counters(struct rp_device *device, struct rp_kfd_clock_counters *args)
{
    uint64_t ticks = clock_sample(&device->clock);
    /* For a node without a GPU the driver answers with the host's clocks alone. */
    args->gpu_ticks = rp_device_gpu(device, args->gpu_id) ? ticks : 0;
    args->system_ns = args->cpu_ns = clock_ns(&device->clock, ticks);
    args->system_hz = 1000000000;
    return 0;
}

static int do_get_tile_config(struct rp_device *device, struct rp_kfd_tile_config *args)
{
    if (!rp_device_gpu(device, args->gpu_id))
        return -EINVAL;
    args->tile_count = args->macro_tile_count = 0; /* gfx9 has no tile mode tables. */
    args->gb_addr_config = args->banks = args->ranks = 0;
    return 0;
}

/* ---- settings that change nothing the model can show --------------------------------------- */

static int do_set_memory_policy(struct rp_device *device, struct rp_kfd_memory_policy *args)
{
    /* There is one coherent memory, so this is accepted without effect. */
    return rp_device_gpu(device, args->gpu_id) ? 0 : -EINVAL;
}

static int do_set_scratch_backing_va(struct rp_device *device, struct rp_kfd_scratch_backing *args)
{
    /* The executor has scratch of its own for every wave. */
    return rp_device_gpu(device, args->gpu_id) ? 0 : -EINVAL;
}

static int do_set_trap_handler(struct rp_device *device, struct rp_kfd_trap_handler *args)
{
    /* Traps end the dispatch; no handler code runs. Its memory leads to buffers for PC samples. */
    struct rp_gpu *gpu = rp_device_gpu(device, args->gpu_id);
    if (!gpu)
        return -EINVAL;
    rp_pc_sampling_set_handler(&gpu->sampling, args->tma);
    return 0;
}

static int do_pc_sample(struct rp_device *device, struct rp_kfd_pc_sample *args)
{
    struct rp_gpu *gpu = rp_device_gpu(device, args->gpu_id);
    return gpu ? rp_pc_sampling_call(&gpu->sampling, &device->arch, &device->clock, args) : -EINVAL;
}

/** The model knows how many compute units a queue has, not which. */
static int do_set_cu_mask(struct rp_device *device, struct rp_kfd_cu_mask *args)
{
    const uint32_t *mask = (const uint32_t *)(uintptr_t)args->mask_ptr;
    uint32_t enabled = 0;
    if (!mask || args->bit_count % 32)
        return -EINVAL;
    for (uint32_t word = 0; word < args->bit_count / 32; word++)
        enabled += (uint32_t)__builtin_popcount(mask[word]);
    return rp_queues_change(&device->queues, args->queue_id, RP_QUEUE_COMPUTE_UNITS, enabled);
}

/** Cooperative queues ask for global wave sync, but the code that runs on them does not use it. */
static int do_alloc_queue_gws(struct rp_device *device, struct rp_kfd_queue_gws *args)
{
    (void)device;
    args->first = 0;
    return 0;
}

static int do_runtime_enable(struct rp_device *device, struct rp_kfd_runtime_enable *args)
{
    const uint32_t dumps_cores = 1u << 31;
    (void)device;
    /* Without this bit ROCr writes a core dump of the GPU for an exception. */
    args->capabilities_mask = rp_device_samples() ? dumps_cores : 0;
    return 0;
}

static int do_set_xnack_mode(struct rp_device *device, struct rp_kfd_xnack *args)
{
    if (args->enabled < 0) {
        args->enabled = device->memory.xnack;
        return 0;
    }
    if (rp_queues_exist(&device->queues)) /* The driver cannot change it under them either. */
        return -EBUSY;
    int rc = args->enabled ? rp_trap_install() : 0;
    if (rc == 0)
        __atomic_store_n(&device->memory.xnack, args->enabled != 0, __ATOMIC_RELAXED);
    rp_log("XNACK %s: %d", args->enabled ? "on" : "off", rc);
    return rc;
}

/* ---- memory ------------------------------------------------------------------------------- */

static int do_alloc_memory(struct rp_device *device, struct rp_kfd_alloc *args)
{
    const struct rp_gpu *gpu = rp_device_gpu(device, args->gpu_id);
    int rc = gpu ? rp_memory_alloc(&device->memory, gpu->index, args) : -EINVAL;
    rp_log("alloc gpu %u, va 0x%llx, %llu bytes, flags 0x%x: handle 0x%llx, %d", args->gpu_id,
           (unsigned long long)args->va, (unsigned long long)args->bytes, args->flags,
           (unsigned long long)args->handle, rc);
    return rc;
}

static int do_free_memory(struct rp_device *device, struct rp_kfd_handle *args)
{
    return rp_memory_free(&device->memory, args->handle);
}

/** Does @p one for each device of the list. success_count says how many were done already. */
static int for_each_device(struct rp_device *device, struct rp_kfd_map *args,
                           int (*one)(struct rp_memory *, uint64_t, uint32_t))
{
    const uint32_t *ids = (const uint32_t *)(uintptr_t)args->device_ids_ptr;
    if (args->device_count == 0 || !ids || args->success_count > args->device_count)
        return -EINVAL;
    while (args->success_count < args->device_count) {
        const struct rp_gpu *gpu = rp_device_gpu(device, ids[args->success_count]);
        int rc = gpu ? one(&device->memory, args->handle, 1u << gpu->index) : -EINVAL;
        if (rc < 0)
            return rc;
        args->success_count++;
    }
    return 0;
}

static int do_map_memory(struct rp_device *device, struct rp_kfd_map *args)
{
    return for_each_device(device, args, rp_memory_map);
}

static int do_unmap_memory(struct rp_device *device, struct rp_kfd_map *args)
{
    return for_each_device(device, args, rp_memory_unmap);
}

static int do_available_memory(struct rp_device *device, struct rp_kfd_available_memory *args)
{
    const struct rp_gpu *gpu = rp_device_gpu(device, args->gpu_id);
    if (!gpu)
        return -EINVAL;
    args->bytes = rp_memory_available_vram(&device->memory, gpu->index);
    return 0;
}

static int do_export_dmabuf(struct rp_device *device, struct rp_kfd_export_dmabuf *args)
{
    int fd;
    int rc = rp_memory_export(&device->memory, args->handle, (int)args->flags, &fd);
    if (rc == 0)
        args->dmabuf_fd = (uint32_t)fd;
    return rc;
}

static int do_import_dmabuf(struct rp_device *device, struct rp_kfd_import_dmabuf *args)
{
    const struct rp_gpu *gpu = rp_device_gpu(device, args->gpu_id);
    return gpu ? rp_memory_import(&device->memory, gpu->index, (int)args->dmabuf_fd, args->va,
                                  &args->handle)
               : -EINVAL;
}

static int do_get_dmabuf_info(struct rp_device *device, struct rp_kfd_dmabuf_info *args)
{
    struct rp_buffer_object *buffer;
    int rc = rp_memory_buffer_from_fd(&device->memory, (int)args->dmabuf_fd, &buffer);
    if (rc < 0)
        return rc;
    uint32_t bytes = buffer->metadata.size_bytes;
    if (args->metadata_ptr && bytes <= args->metadata_bytes)
        memcpy((void *)(uintptr_t)args->metadata_ptr, buffer->metadata.umd, bytes);
    else if (bytes > args->metadata_bytes)
        rc = -EINVAL;
    args->metadata_bytes = bytes;
    args->bytes = buffer->bytes;
    args->gpu_id = rp_topology_gpu_id(buffer->gpu);
    args->flags = buffer->flags;
    rp_memory_buffer_unref(&device->memory, buffer);
    return rc;
}

/* ---- events and queues -------------------------------------------------------------------- */

static int do_create_event(struct rp_device *device, struct rp_kfd_create_event *args)
{
    int rc = rp_events_create(&device->events, args->type, args->auto_reset != 0, &args->event_id);
    if (rc < 0)
        return rc;
    args->slot = args->trigger_data = args->event_id;
    /* It must not be 0, so that signals get a mailbox. */
    args->page_offset = RP_MEMORY_EVENT_PAGE_OFFSET;
    return 0;
}

static int do_destroy_event(struct rp_device *device, struct rp_kfd_event_id *args)
{
    return rp_events_change(&device->events, args->event_id, RP_EVENT_DESTROY);
}

static int do_set_event(struct rp_device *device, struct rp_kfd_event_id *args)
{
    return rp_events_change(&device->events, args->event_id, RP_EVENT_SET);
}

static int do_reset_event(struct rp_device *device, struct rp_kfd_event_id *args)
{
    return rp_events_change(&device->events, args->event_id, RP_EVENT_RESET);
}

static int do_wait_events(struct rp_device *device, struct rp_kfd_wait_events *args)
{
    rp_queues_kick(&device->queues); /* A thread that waits has most likely just submitted work. */
    return rp_events_wait(&device->events, (void *)(uintptr_t)args->events_ptr, args->count,
                          args->wait_for_all != 0, args->timeout_ms, &args->result);
}

static int do_create_queue(struct rp_device *device, struct rp_kfd_create_queue *args)
{
    const struct rp_gpu *gpu = rp_device_gpu(device, args->gpu_id);
    int rc = gpu ? rp_queues_create(&device->queues, &gpu->cp, args) : -EINVAL;
    rp_log("create queue on gpu %u, type %u, ring 0x%llx, %u bytes: id %u, %d", args->gpu_id,
           args->type, (unsigned long long)args->ring_base, args->ring_bytes, args->queue_id, rc);
    return rc;
}

static int do_destroy_queue(struct rp_device *device, struct rp_kfd_queue_id *args)
{
    rp_log("destroy queue %u", args->queue_id);
    return rp_queues_destroy(&device->queues, args->queue_id);
}

static int do_update_queue(struct rp_device *device, struct rp_kfd_update_queue *args)
{
    rp_log("update queue %u: %u percent", args->queue_id, args->percentage);
    return rp_queues_change(&device->queues, args->queue_id, RP_QUEUE_PERCENTAGE, args->percentage);
}

/**
 * Returns a descriptor on which no event ever arrives, because nothing throttles, resets or
 * migrates here.
 */
static int do_smi_events(struct rp_device *device, struct rp_kfd_smi_events *args)
{
    if (!rp_device_gpu(device, args->gpu_id))
        return -EINVAL;
    /* The other end stays open, so that reading reports "nothing yet" and not "over". */
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
        return -errno;
    args->anon_fd = (uint32_t)ends[0];
    return 0;
}

/* ---- the table ---------------------------------------------------------------------------- */

enum { ARGS_MAX_BYTES = 128, NR_MAX = 0x90, NR_SVM = 0x20 };

/* One adapter per call gives the table a single type. */
#define X(nr, name, type)                                                                          \
    static int call_##name(struct rp_device *device, void *args)                                   \
    {                                                                                              \
        static_assert(sizeof(type) <= ARGS_MAX_BYTES && (nr) < NR_MAX, #name);                     \
        return do_##name(device, args);                                                            \
    }
#include "device/driver/ioctls.def"
#undef X

static const struct {
    int (*call)(struct rp_device *device, void *args);
    uint32_t bytes;
    const char *name;
} table[NR_MAX] = {
#define X(nr, name, type) [nr] = {call_##name, sizeof(type), #name},
#include "device/driver/ioctls.def"
#undef X
};

int rp_kfd_ioctl(struct rp_device *device, unsigned long request, void *user)
{
    unsigned nr = _IOC_NR(request);
    uint32_t bytes = _IOC_SIZE(request);
    if (nr == NR_SVM) /* The size in its code is that of a variable-length argument. */
        return rp_svm_ioctl(&device->memory, user, bytes);
    if (nr >= NR_MAX || !table[nr].call) {
        rp_log("ioctl 0x%02x (request 0x%lx) is not supported", nr, request);
        return -ENOTTY;
    }
    /* Arguments grew over the years: an old caller's are short, a new one's are cut. */
    uint64_t args[ARGS_MAX_BYTES / sizeof(uint64_t)] = {0};
    uint32_t common = bytes < table[nr].bytes ? bytes : table[nr].bytes;
    if (common)
        memcpy(args, user, common);
    int rc = table[nr].call(device, args);
    if (common && (_IOC_DIR(request) & _IOC_READ))
        memcpy(user, args, common);
    if (rc < 0)
        rp_log("%s: %s", table[nr].name, strerror(-rc));
    return rc;
}

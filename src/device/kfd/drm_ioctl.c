/**
 * @file drm_ioctl.c
 * @brief The system calls on /dev/dri: what libdrm asks when a program links or loads it itself.
 *
 * ROCr's calls of libdrm end in drm.c. AMD SMI and others look libdrm's functions up in the library
 * that they have loaded, so that libdrm's own come here. A question that only a sensor, a flash
 * chip or graphics could answer fails with EINVAL, as with a driver that does not know it.
 */
#include <errno.h>
#include <linux/ioctl.h>
#include <string.h>
#include <unistd.h>

#include "device.h"
#include "log.h"

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
    give_text(args->date, &args->date_bytes, "0"); /* what Linux says since 6.14 */
    give_text(args->description, &args->description_bytes, "AMD GPU");
    return 0;
}

/** Only asked of a card: who uses it. The process is its only user and may do all. */
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

/** PCI Express by its rate per lane. */
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
    ret_version[1] = 0; /* the version of its features */
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
    case RP_DRM_INFO_VRAM_USAGE: /* all of it can be seen by the host */
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
        answer.device = device_info(arch);
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
    /* Libraries of other ages give other sizes of the same structures, which only grow: */
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

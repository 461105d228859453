/**
 * @file ioctl.c
 * @brief The system calls on /dev/kfd: a table of handlers (ioctls.def).
 */
#include <errno.h>
#include <linux/ioctl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "device.h"
#include "device/exec/guard.h"
#include "log.h"
#include "svm.h"

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
    uint64_t ticks = rp_clock_sample(&device->clock);
    /* As the driver answers for a node without a GPU: the host's clocks alone. */
    args->gpu_ticks = rp_device_gpu(device, args->gpu_id) ? ticks : 0;
    args->system_ns = args->cpu_ns = rp_clock_ns(&device->clock, ticks);
    args->system_hz = 1000000000;
    return 0;
}

static int do_get_tile_config(struct rp_device *device, struct rp_kfd_tile_config *args)
{
    if (!rp_device_gpu(device, args->gpu_id))
        return -EINVAL;
    args->tile_count = args->macro_tile_count = 0; /* gfx9 has no tile mode tables */
    args->gb_addr_config = args->banks = args->ranks = 0;
    return 0;
}

/* ---- settings that change nothing the model can show --------------------------------------- */

static int do_set_memory_policy(struct rp_device *device, struct rp_kfd_memory_policy *args)
{
    /* One coherent memory: accepted, without effect. */
    return rp_device_gpu(device, args->gpu_id) ? 0 : -EINVAL;
}

static int do_set_scratch_backing_va(struct rp_device *device, struct rp_kfd_scratch_backing *args)
{
    /* The executor has scratch of its own for every wave. */
    return rp_device_gpu(device, args->gpu_id) ? 0 : -EINVAL;
}

static int do_set_trap_handler(struct rp_device *device, struct rp_kfd_trap_handler *args)
{
    /* Traps end the dispatch; no handler code runs. */
    return rp_device_gpu(device, args->gpu_id) ? 0 : -EINVAL;
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
    return rp_queues_set_compute_units(&device->queues, args->queue_id, enabled);
}

/** Global wave sync: asked for by cooperative queues, not used by the code that runs on them. */
static int do_alloc_queue_gws(struct rp_device *device, struct rp_kfd_queue_gws *args)
{
    (void)device;
    args->first = 0;
    return 0;
}

static int do_runtime_enable(struct rp_device *device, struct rp_kfd_runtime_enable *args)
{
    (void)device;
    args->capabilities_mask = 0;
    return 0;
}

static int do_set_xnack_mode(struct rp_device *device, struct rp_kfd_xnack *args)
{
    if (args->enabled < 0) {
        args->enabled = device->memory.xnack;
        return 0;
    }
    if (rp_queues_exist(&device->queues)) /* the driver cannot change it under them either */
        return -EBUSY;
    int rc = args->enabled ? rp_guard_install() : 0;
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

/** Does @p one for each device of the list, which success_count says how far it came already. */
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
    args->page_offset = RP_MEMORY_EVENT_PAGE_OFFSET; /* not 0: signals get a mailbox */
    return 0;
}

static int do_destroy_event(struct rp_device *device, struct rp_kfd_event_id *args)
{
    return rp_events_destroy(&device->events, args->event_id);
}

static int do_set_event(struct rp_device *device, struct rp_kfd_event_id *args)
{
    return rp_events_set(&device->events, args->event_id);
}

static int do_reset_event(struct rp_device *device, struct rp_kfd_event_id *args)
{
    return rp_events_reset(&device->events, args->event_id);
}

static int do_wait_events(struct rp_device *device, struct rp_kfd_wait_events *args)
{
    rp_queues_kick(&device->queues); /* whoever waits has most likely just submitted */
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
    return rp_queues_update(&device->queues, args->queue_id, args->percentage);
}

/** A descriptor on which no event ever arrives: nothing throttles, resets or migrates here. */
static int do_smi_events(struct rp_device *device, struct rp_kfd_smi_events *args)
{
    if (!rp_device_gpu(device, args->gpu_id))
        return -EINVAL;
    int ends[2]; /* the other end stays open so that reading says "nothing yet", not "over" */
    if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
        return -errno;
    args->anon_fd = (uint32_t)ends[0];
    return 0;
}

/* ---- the table ---------------------------------------------------------------------------- */

enum { ARGS_MAX_BYTES = 128, NR_MAX = 0x40, NR_SVM = 0x20 };

/* One adapter per call gives the table a single type. */
#define X(nr, name, type)                                                                          \
    static int call_##name(struct rp_device *device, void *args)                                   \
    {                                                                                              \
        static_assert(sizeof(type) <= ARGS_MAX_BYTES && (nr) < NR_MAX, #name);                     \
        return do_##name(device, args);                                                            \
    }
#include "ioctls.def"
#undef X

static const struct {
    int (*call)(struct rp_device *device, void *args);
    uint32_t bytes;
    const char *name;
} table[NR_MAX] = {
#define X(nr, name, type) [nr] = {call_##name, sizeof(type), #name},
#include "ioctls.def"
#undef X
};

int rp_kfd_ioctl(struct rp_device *device, unsigned long request, void *user)
{
    unsigned nr = _IOC_NR(request);
    uint32_t bytes = _IOC_SIZE(request);
    if (nr == NR_SVM) /* the size in its code is that of a variable-length argument */
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

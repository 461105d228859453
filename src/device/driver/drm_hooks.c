/**
 * @file drm_hooks.c
 * @brief The few libdrm functions that ROCr calls, answered for the software device.
 *
 * Exported, so they win over libdrm's own. A device or buffer that is not ours, or a device that
 * is switched off, goes on to the real library; without one, the call fails as libdrm would.
 */
#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "device/driver/device_context.h"
#include "device/driver/kfd_abi.h"
#include "device/driver/libc_hooks.h"

/** struct amdgpu_bo_import_result */
struct rp_drm_import_result {
    void *bo;
    uint64_t alloc_bytes;
};

/* libdrm's, under its names. Handles are opaque pointers here. */
int drmOpenRender(int minor);
int drmClose(int fd);
int drmCommandWriteRead(int fd, unsigned long command, void *data, unsigned long bytes);
int amdgpu_device_initialize(int fd, uint32_t *major, uint32_t *minor, void **ret_handle);
int amdgpu_device_deinitialize(void *handle);
int amdgpu_device_get_fd(void *handle);
const char *amdgpu_get_marketing_name(void *handle);
int amdgpu_query_gpu_info(void *handle, struct rp_drm_gpu_info *info);
int amdgpu_bo_import(void *handle, int type, uint32_t shared, struct rp_drm_import_result *result);
int amdgpu_bo_export(void *handle, int type, uint32_t *shared);
int amdgpu_bo_free(void *handle);
int amdgpu_bo_va_op(void *handle, uint64_t offset, uint64_t bytes, uint64_t va, uint64_t flags,
                    uint32_t op);
int amdgpu_bo_cpu_map(void *handle, void **ret_cpu);
int amdgpu_bo_query_info(void *handle, struct rp_drm_bo_info *info);
int amdgpu_bo_set_metadata(void *handle, struct rp_drm_bo_metadata *metadata);

enum rp_drm_handle_type {
    RP_DRM_HANDLE_KMS = 1,
    RP_DRM_HANDLE_DMABUF = 2,
    RP_DRM_HANDLE_KMS_NOIMPORT = 3
};

enum { RP_DRM_VA_MAP = 1, RP_DRM_VA_UNMAP = 2, RP_DRM_VA_CLEAR = 3, RP_DRM_VA_REPLACE = 4 };

enum { RP_DRM_PAGE_READABLE = 1 << 1, RP_DRM_PAGE_WRITEABLE = 1 << 2 };

/** What an amdgpu_bo_handle of ours points to. */
struct rp_drm_bo {
    uint64_t magic;
    unsigned gpu; /**< which it was imported to */
    struct rp_buffer_object *buffer;
    void *cpu; /**< CPU mapping, or NULL */
};

#define BO_MAGIC 0x6f622d6d72642d70ull

/* Our amdgpu_device_handle is the address of the GPU's element. */
static const char device_tokens[RP_GPU_LIMIT];

static unsigned gpu_of(const void *handle)
{
    return (unsigned)((uintptr_t)handle - (uintptr_t)device_tokens);
}

static bool ours(const void *handle)
{
    return (uintptr_t)handle - (uintptr_t)device_tokens < RP_GPU_LIMIT;
}

static bool our_bo(const struct rp_drm_bo *bo)
{
    return bo && bo->magic == BO_MAGIC;
}

/** Calls the next library's function of the same name, or returns @p otherwise. */
#define FORWARD(otherwise, name, ...)                                                              \
    do {                                                                                           \
        __typeof__(name) *next_ = (__typeof__(name) *)dlsym(RTLD_NEXT, #name);                     \
        return next_ ? next_(__VA_ARGS__) : (otherwise);                                           \
    } while (0)

RP_EXPORT int drmOpenRender(int minor)
{
    unsigned gpu = (unsigned)minor - RP_TOPOLOGY_RENDER_MINOR;
    if (!rp_device_wanted() || gpu >= rp_device_gpu_count())
        FORWARD(-ENODEV, drmOpenRender, minor);
    return rp_device_open(gpu, false, true);
}

RP_EXPORT int drmClose(int fd)
{
    return close(fd);
}

RP_EXPORT int drmCommandWriteRead(int fd, unsigned long command, void *data, unsigned long bytes)
{
    struct rp_device *device = rp_device_get();
    if (!device || !rp_device_owns(device, fd))
        FORWARD(-ENODEV, drmCommandWriteRead, fd, command, data, bytes);
    if (command != RP_DRM_GEM_MMAP || bytes < sizeof(uint64_t)) {
        rp_log("drm command 0x%lx is not supported", command);
        return -EINVAL;
    }
    return rp_drm_gem_mmap(device, data);
}

RP_EXPORT int amdgpu_device_initialize(int fd, uint32_t *major, uint32_t *minor, void **ret_handle)
{
    struct rp_device *device = rp_device_get();
    if (!device || !rp_device_owns(device, fd))
        FORWARD(-ENODEV, amdgpu_device_initialize, fd, major, minor, ret_handle);
    *major = RP_DRM_MAJOR;
    *minor = RP_DRM_MINOR;
    *ret_handle = (void *)(uintptr_t)&device_tokens[rp_device_gpu_of_fd(fd)];
    return 0;
}

RP_EXPORT int amdgpu_device_deinitialize(void *handle)
{
    if (!ours(handle))
        FORWARD(-EINVAL, amdgpu_device_deinitialize, handle);
    return 0;
}

RP_EXPORT int amdgpu_device_get_fd(void *handle)
{
    struct rp_device *device = rp_device_get();
    if (!ours(handle) || !device)
        FORWARD(-1, amdgpu_device_get_fd, handle);
    return device->gpus[gpu_of(handle)].fd;
}

RP_EXPORT const char *amdgpu_get_marketing_name(void *handle)
{
    if (!ours(handle))
        FORWARD(NULL, amdgpu_get_marketing_name, handle);
    return rp_device_arch().product;
}

RP_EXPORT int amdgpu_query_gpu_info(void *handle, struct rp_drm_gpu_info *info)
{
    if (!ours(handle))
        FORWARD(-EINVAL, amdgpu_query_gpu_info, handle, info);
    const struct rp_arch arch = rp_device_arch();
    *info = (struct rp_drm_gpu_info){
        .asic_id = arch.pci_device_id,
        .ids_flags = arch.apu ? RP_DRM_IDS_FUSION : 0,
        .family_id = RP_DRM_FAMILY_AI,
        .max_engine_clk_khz = (uint64_t)arch.engine_clock_mhz * 1000,
        .max_memory_clk_khz = (uint64_t)arch.memory_clock_mhz * 1000,
        .shader_engines = arch.shader_engines,
        .shader_arrays_per_engine = 1,
        .gpu_counter_freq_khz = arch.timestamp_mhz * 1000,
        .cu_active_number = arch.compute_units,
        .vram_type = RP_DRM_VRAM_HBM,
        .vram_bit_width = arch.memory_width_bits,
    };
    return 0;
}

RP_EXPORT int amdgpu_bo_import(void *handle, int type, uint32_t shared,
                               struct rp_drm_import_result *result)
{
    struct rp_device *device = rp_device_get();
    if (!ours(handle) || !device)
        FORWARD(-EINVAL, amdgpu_bo_import, handle, type, shared, result);
    struct rp_buffer_object *buffer;
    if (type != RP_DRM_HANDLE_DMABUF)
        return -ENOTSUP;
    int rc = rp_memory_buffer_from_fd(&device->memory, (int)shared, &buffer);
    if (rc < 0)
        return rc;
    struct rp_drm_bo *bo = malloc(sizeof *bo);
    if (!bo) {
        rp_memory_buffer_unref(&device->memory, buffer);
        return -ENOMEM;
    }
    *bo = (struct rp_drm_bo){.magic = BO_MAGIC, .gpu = gpu_of(handle), .buffer = buffer};
    *result = (struct rp_drm_import_result){.bo = bo, .alloc_bytes = buffer->bytes};
    return 0;
}

RP_EXPORT int amdgpu_bo_export(void *handle, int type, uint32_t *shared)
{
    struct rp_drm_bo *bo = handle;
    if (!our_bo(bo))
        FORWARD(-EINVAL, amdgpu_bo_export, handle, type, shared);
    if (type != RP_DRM_HANDLE_KMS && type != RP_DRM_HANDLE_KMS_NOIMPORT)
        return -ENOTSUP;
    *shared = bo->buffer->id;
    return 0;
}

RP_EXPORT int amdgpu_bo_free(void *handle)
{
    struct rp_drm_bo *bo = handle;
    if (!our_bo(bo))
        FORWARD(-EINVAL, amdgpu_bo_free, handle);
    struct rp_device *device = rp_device_get();
    if (bo->cpu)
        munmap(bo->cpu, bo->buffer->bytes);
    if (device)
        rp_memory_buffer_unref(&device->memory, bo->buffer);
    bo->magic = 0;
    free(bo);
    return 0;
}

RP_EXPORT int amdgpu_bo_va_op(void *handle, uint64_t offset, uint64_t bytes, uint64_t va,
                              uint64_t flags, uint32_t op)
{
    struct rp_drm_bo *bo = handle;
    struct rp_device *device = rp_device_get();
    if (!our_bo(bo) || !device)
        FORWARD(-EINVAL, amdgpu_bo_va_op, handle, offset, bytes, va, flags, op);
    bool writable = (flags & RP_DRM_PAGE_WRITEABLE) != 0;
    int rc = -EINVAL;
    if (op == RP_DRM_VA_MAP || op == RP_DRM_VA_REPLACE)
        rc = rp_memory_buffer_map(&device->memory, bo->gpu, bo->buffer, offset, bytes, va, writable,
                                  op == RP_DRM_VA_REPLACE);
    else if (op == RP_DRM_VA_UNMAP || op == RP_DRM_VA_CLEAR)
        rc = rp_memory_va_unmap(&device->memory, bo->gpu, va, bytes);
    rp_log("bo %u va op %u at 0x%llx, %llu bytes: %d", bo->buffer->id, op, (unsigned long long)va,
           (unsigned long long)bytes, rc);
    return rc;
}

RP_EXPORT int amdgpu_bo_cpu_map(void *handle, void **ret_cpu)
{
    struct rp_drm_bo *bo = handle;
    struct rp_device *device = rp_device_get();
    if (!our_bo(bo) || !device)
        FORWARD(-EINVAL, amdgpu_bo_cpu_map, handle, ret_cpu);
    if (!bo->cpu) {
        void *cpu =
            mmap(NULL, bo->buffer->bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                 rp_memory_buffer_file(&device->memory, bo->buffer), (off_t)bo->buffer->offset);
        if (cpu == MAP_FAILED)
            return -errno;
        bo->cpu = cpu;
    }
    *ret_cpu = bo->cpu;
    return 0;
}

RP_EXPORT int amdgpu_bo_query_info(void *handle, struct rp_drm_bo_info *info)
{
    struct rp_drm_bo *bo = handle;
    if (!our_bo(bo))
        FORWARD(-EINVAL, amdgpu_bo_query_info, handle, info);
    *info = (struct rp_drm_bo_info){
        .alloc_bytes = bo->buffer->bytes,
        .phys_alignment = RP_BACKING_PAGE,
        .preferred_heap = bo->buffer->flags & RP_KFD_MEM_VRAM ? 4 : 2, /* GEM domain VRAM, GTT */
        .metadata = bo->buffer->metadata,
    };
    return 0;
}

RP_EXPORT int amdgpu_bo_set_metadata(void *handle, struct rp_drm_bo_metadata *metadata)
{
    struct rp_drm_bo *bo = handle;
    if (!our_bo(bo))
        FORWARD(-EINVAL, amdgpu_bo_set_metadata, handle, metadata);
    if (metadata->size_bytes > sizeof metadata->umd)
        return -EINVAL;
    bo->buffer->metadata = *metadata;
    return 0;
}

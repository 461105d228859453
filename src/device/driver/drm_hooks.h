/**
 * @file drm_hooks.h
 * @brief Prototypes of the libdrm functions that the library answers, under libdrm's names.
 *
 * Handles are opaque pointers here; struct layouts are in kfd_abi.h.
 */
#ifndef RP_DEVICE_DRIVER_DRM_HOOKS_H
#define RP_DEVICE_DRIVER_DRM_HOOKS_H

#include <stdint.h>

#include "device/driver/kfd_abi.h"

/** struct amdgpu_bo_import_result */
struct rp_drm_import_result {
    void *bo;
    uint64_t alloc_bytes;
};

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

#endif

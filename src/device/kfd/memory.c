#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/exec/exec.h"
#include "memory_private.h"
#include "topology.h"

/* Sparse: it only has to be larger than everything that can be modelled at once. */
#define MIN_STORE_BYTES (1ull << 40)

int rp_memory_open(struct rp_memory *memory, unsigned gpu_count, uint64_t vram_bytes,
                   uint64_t gtt_bytes)
{
    *memory = (struct rp_memory){
        .gpu_count = gpu_count, .vram_limit_bytes = vram_bytes, .gtt_limit_bytes = gtt_bytes};
    pthread_mutex_init(&memory->lock, NULL);
    uint64_t store_bytes = MIN_STORE_BYTES;
    while (store_bytes < gpu_count * vram_bytes + gtt_bytes)
        store_bytes *= 2;
    return rp_backing_open(&memory->store, store_bytes, RP_MEMORY_RESERVED_BYTES);
}

int rp_memory_grow(void **array, size_t *capacity, size_t element_bytes)
{
    size_t larger = *capacity ? *capacity * 2 : 32;
    void *grown = realloc(*array, larger * element_bytes);
    if (!grown)
        return -ENOMEM;
    memset((char *)grown + *capacity * element_bytes, 0, (larger - *capacity) * element_bytes);
    *array = grown;
    *capacity = larger;
    return 0;
}

/* ---- buffers ------------------------------------------------------------------------------ */

static void account(struct rp_memory *memory, const struct rp_buffer_object *buffer, int sign)
{
    uint64_t bytes = sign < 0 ? 0 - buffer->bytes : buffer->bytes;
    if (buffer->imported)
        return;
    if (buffer->flags & RP_KFD_MEM_VRAM)
        memory->vram_used_bytes[buffer->gpu] += bytes;
    else if (buffer->flags & RP_KFD_MEM_GTT)
        memory->gtt_used_bytes += bytes;
}

static bool fits(const struct rp_memory *memory, const struct rp_buffer_object *buffer)
{
    if (buffer->flags & RP_KFD_MEM_VRAM)
        return buffer->bytes <= memory->vram_limit_bytes - memory->vram_used_bytes[buffer->gpu];
    if (buffer->flags & RP_KFD_MEM_GTT)
        return buffer->bytes <= memory->gtt_limit_bytes - memory->gtt_used_bytes;
    return true;
}

/** Finds the storage for a new buffer. */
static int back(struct rp_memory *memory, struct rp_buffer_object *buffer, uint64_t user_address)
{
    switch (buffer->flags & RP_KFD_MEM_KINDS) {
    case RP_KFD_MEM_VRAM:
    case RP_KFD_MEM_GTT:
        if (!fits(memory, buffer))
            return -ENOMEM;
        int rc = rp_backing_alloc(&memory->store, buffer->bytes, &buffer->offset);
        if (rc < 0)
            return rc;
        break;
    case RP_KFD_MEM_USERPTR:
        if (user_address == 0)
            return -EINVAL;
        buffer->host = (uint8_t *)(uintptr_t)user_address;
        return 0;
    case RP_KFD_MEM_DOORBELL:
        if (buffer->bytes > RP_MEMORY_DOORBELL_BYTES)
            return -EINVAL;
        buffer->offset = RP_MEMORY_DOORBELL_OFFSET;
        break;
    case RP_KFD_MEM_MMIO:
        if (buffer->bytes > RP_MEMORY_MMIO_BYTES)
            return -EINVAL;
        buffer->offset = RP_MEMORY_MMIO_OFFSET;
        break;
    default:
        return -EINVAL;
    }
    buffer->host = memory->store.window + buffer->offset;
    return 0;
}

int rp_memory_buffer_slot(struct rp_memory *memory, struct rp_buffer_object **ret_buffer)
{
    size_t slot = 0;
    while (slot < memory->buffer_capacity && memory->buffers[slot])
        slot++;
    if (slot == memory->buffer_capacity &&
        rp_memory_grow((void **)&memory->buffers, &memory->buffer_capacity,
                       sizeof *memory->buffers) < 0)
        return -ENOMEM;
    struct rp_buffer_object *buffer = malloc(sizeof *buffer);
    if (!buffer)
        return -ENOMEM;
    *buffer = (struct rp_buffer_object){.id = (uint32_t)slot + 1, .refs = 1};
    *ret_buffer = buffer;
    return 0;
}

void rp_memory_buffer_put(struct rp_memory *memory, struct rp_buffer_object *buffer)
{
    account(memory, buffer, +1);
    memory->buffers[buffer->id - 1] = buffer;
}

static int buffer_new(struct rp_memory *memory, unsigned gpu, const struct rp_kfd_alloc *args,
                      struct rp_buffer_object **ret_buffer)
{
    struct rp_buffer_object *buffer;
    int rc = rp_memory_buffer_slot(memory, &buffer);
    if (rc < 0)
        return rc;
    buffer->flags = args->flags;
    buffer->gpu = gpu;
    buffer->bytes = args->bytes;
    rc = back(memory, buffer, args->mmap_offset);
    if (rc < 0) {
        free(buffer);
        return rc;
    }
    rp_memory_buffer_put(memory, buffer);
    *ret_buffer = buffer;
    return 0;
}

void rp_memory_buffer_drop(struct rp_memory *memory, struct rp_buffer_object *buffer)
{
    if (--buffer->refs > 0)
        return;
    if (buffer->imported)
        rp_memory_drop_import(buffer);
    else if (buffer->flags & (RP_KFD_MEM_VRAM | RP_KFD_MEM_GTT))
        rp_backing_free(&memory->store, buffer->offset, buffer->bytes);
    account(memory, buffer, -1);
    memory->buffers[buffer->id - 1] = NULL;
    free(buffer);
}

void rp_memory_buffer_unref(struct rp_memory *memory, struct rp_buffer_object *buffer)
{
    pthread_mutex_lock(&memory->lock);
    rp_memory_buffer_drop(memory, buffer);
    pthread_mutex_unlock(&memory->lock);
}

/* ---- mappings ----------------------------------------------------------------------------- */

/** A buffer's mapping takes the place of leftovers of the program's own pages. */
static int map_range(struct rp_vm *vm, const struct rp_vm_range *range)
{
    int rc = rp_vm_map(vm, range);
    while (rc == -EEXIST) {
        const struct rp_vm_range *old = rp_vm_next(vm, range->begin);
        if (!old || !old->shared)
            return -EEXIST;
        uint64_t begin = old->begin > range->begin ? old->begin : range->begin;
        uint64_t end = old->end < range->end ? old->end : range->end;
        if (rp_vm_unmap(vm, begin, end) < 0)
            return -ENOMEM;
        rc = rp_vm_map(vm, range);
    }
    return rc;
}

struct rp_memory_handle *rp_memory_lookup(struct rp_memory *memory, uint64_t handle)
{
    uint64_t slot = (handle & UINT32_MAX) - 1;
    if (handle >> 32 < RP_TOPOLOGY_GPU_ID ||
        handle >> 32 >= RP_TOPOLOGY_GPU_ID + memory->gpu_count || slot >= memory->handle_capacity ||
        !memory->handles[slot].buffer)
        return NULL;
    return &memory->handles[slot];
}

int rp_memory_handle_new(struct rp_memory *memory, unsigned gpu, struct rp_buffer_object *buffer,
                         uint64_t va, uint64_t *ret_handle)
{
    size_t slot = 0;
    while (slot < memory->handle_capacity && memory->handles[slot].buffer)
        slot++;
    if (slot == memory->handle_capacity &&
        rp_memory_grow((void **)&memory->handles, &memory->handle_capacity,
                       sizeof *memory->handles) < 0)
        return -ENOMEM;
    memory->handles[slot] = (struct rp_memory_handle){.buffer = buffer, .va = va};
    *ret_handle = (uint64_t)rp_topology_gpu_id(gpu) << 32 | (slot + 1);
    return 0;
}

static int unmap_handle(struct rp_memory *memory, struct rp_memory_handle *handle, uint32_t gpus)
{
    for (unsigned gpu = 0; gpu < memory->gpu_count; gpu++) {
        if (!(handle->mapped & gpus & 1u << gpu))
            continue;
        int rc = rp_vm_unmap(&memory->vm[gpu], handle->va, handle->va + handle->buffer->bytes);
        if (rc < 0)
            return rc;
        handle->mapped &= ~(1u << gpu);
    }
    return 0;
}

/* ---- the driver's calls ------------------------------------------------------------------- */

static int alloc_locked(struct rp_memory *memory, unsigned gpu, struct rp_kfd_alloc *args)
{
    struct rp_buffer_object *buffer;
    rp_memory_reap_dmabufs(memory);
    int rc = buffer_new(memory, gpu, args, &buffer);
    if (rc < 0)
        return rc;
    rc = rp_memory_handle_new(memory, gpu, buffer, args->va, &args->handle);
    if (rc < 0) {
        rp_memory_buffer_drop(memory, buffer);
        return rc;
    }
    if (!(args->flags & RP_KFD_MEM_USERPTR))
        args->mmap_offset = buffer->offset;
    return 0;
}

int rp_memory_alloc(struct rp_memory *memory, unsigned gpu, struct rp_kfd_alloc *args)
{
    if (args->bytes == 0 || args->va + args->bytes < args->va)
        return -EINVAL;
    pthread_mutex_lock(&memory->lock);
    int rc = alloc_locked(memory, gpu, args);
    pthread_mutex_unlock(&memory->lock);
    return rc;
}

/* Decoded instructions are dropped after the lock is released, and running work is waited for: the
 * executor calls back into this file while it holds its own. */
static void drop_uses(uint64_t va, uint64_t bytes)
{
    rp_exec_invalidate_code(va, bytes);
    rp_exec_settle();
}

int rp_memory_free(struct rp_memory *memory, uint64_t handle)
{
    pthread_mutex_lock(&memory->lock);
    struct rp_memory_handle *h = rp_memory_lookup(memory, handle);
    struct rp_memory_handle old = h ? *h : (struct rp_memory_handle){0};
    int rc = h ? unmap_handle(memory, h, UINT32_MAX) : -EINVAL;
    if (rc == 0)
        h->buffer = NULL;
    pthread_mutex_unlock(&memory->lock);
    if (rc < 0)
        return rc;
    if (old.va)
        drop_uses(old.va, old.buffer->bytes);
    pthread_mutex_lock(&memory->lock);
    rp_memory_buffer_drop(memory,
                          old.buffer); /* now that nobody uses it: somebody else gets its storage */
    rp_memory_reap_dmabufs(memory);
    pthread_mutex_unlock(&memory->lock);
    return 0;
}

/** Maps what is not mapped yet of the program's own pages: they may have been gone meanwhile. */
static int map_again(struct rp_vm *vm, const struct rp_vm_range *all)
{
    for (uint64_t va = all->begin; va < all->end;) {
        const struct rp_vm_range *next = rp_vm_next(vm, va);
        if (next && next->begin <= va) {
            va = next->end;
            continue;
        }
        struct rp_vm_range hole = *all;
        hole.begin = va;
        if (next && next->begin < hole.end)
            hole.end = next->begin;
        int rc = rp_vm_map(vm, &hole);
        if (rc < 0)
            return rc;
        va = hole.end;
    }
    return 0;
}

static int map_handle(struct rp_memory *memory, struct rp_memory_handle *handle, uint32_t gpus)
{
    if (handle->va == 0)
        return -EINVAL; /* physical memory only: it is mapped through libdrm */
    const struct rp_buffer_object *buffer = handle->buffer;
    struct rp_vm_range range = {
        .begin = handle->va,
        .end = handle->va + buffer->bytes,
        .delta = (int64_t)((uint64_t)(uintptr_t)buffer->host - handle->va),
        .writable = (buffer->flags & RP_KFD_MEM_WRITABLE) != 0,
        .home = buffer->flags & RP_KFD_MEM_VRAM ? (uint8_t)(buffer->gpu + 1) : 0,
        .shared = (uint64_t)(uintptr_t)buffer->host == handle->va,
    };
    for (unsigned gpu = 0; gpu < memory->gpu_count; gpu++) {
        bool mapped = handle->mapped & 1u << gpu;
        if (!(gpus & 1u << gpu) || (mapped && !range.shared))
            continue;
        int rc = mapped ? map_again(&memory->vm[gpu], &range) : map_range(&memory->vm[gpu], &range);
        if (rc < 0)
            return rc;
        memory->shared_ranges += range.shared;
        handle->mapped |= 1u << gpu;
    }
    return 0;
}

int rp_memory_map(struct rp_memory *memory, uint64_t handle, uint32_t gpus)
{
    pthread_mutex_lock(&memory->lock);
    struct rp_memory_handle *h = rp_memory_lookup(memory, handle);
    int rc = h ? map_handle(memory, h, gpus) : -EINVAL;
    pthread_mutex_unlock(&memory->lock);
    return rc;
}

int rp_memory_unmap(struct rp_memory *memory, uint64_t handle, uint32_t gpus)
{
    uint64_t va = 0, bytes = 0;
    pthread_mutex_lock(&memory->lock);
    struct rp_memory_handle *h = rp_memory_lookup(memory, handle);
    int rc = h ? unmap_handle(memory, h, gpus) : -EINVAL;
    if (rc == 0) {
        va = h->va;
        bytes = h->buffer->bytes;
    }
    pthread_mutex_unlock(&memory->lock);
    if (va)
        drop_uses(va, bytes);
    return rc;
}

uint64_t rp_memory_available_vram(struct rp_memory *memory, unsigned gpu)
{
    pthread_mutex_lock(&memory->lock);
    uint64_t bytes = memory->vram_limit_bytes - memory->vram_used_bytes[gpu];
    pthread_mutex_unlock(&memory->lock);
    return bytes;
}

int rp_memory_buffer_map(struct rp_memory *memory, unsigned gpu, struct rp_buffer_object *buffer,
                         uint64_t offset, uint64_t bytes, uint64_t va, bool writable, bool replace)
{
    if (bytes == 0 || offset > buffer->bytes || bytes > buffer->bytes - offset)
        return -EINVAL;
    struct rp_vm_range range = {
        .begin = va,
        .end = va + bytes,
        .delta = (int64_t)((uint64_t)(uintptr_t)buffer->host + offset - va),
        .writable = writable,
        .home = buffer->flags & RP_KFD_MEM_VRAM ? (uint8_t)(buffer->gpu + 1) : 0,
    };
    pthread_mutex_lock(&memory->lock);
    int rc = replace ? rp_vm_unmap(&memory->vm[gpu], va, va + bytes) : 0;
    if (rc == 0)
        rc = map_range(&memory->vm[gpu], &range);
    pthread_mutex_unlock(&memory->lock);
    if (replace)
        drop_uses(va, bytes);
    return rc;
}

int rp_memory_va_unmap(struct rp_memory *memory, unsigned gpu, uint64_t va, uint64_t bytes)
{
    pthread_mutex_lock(&memory->lock);
    int rc = rp_vm_unmap(&memory->vm[gpu], va, va + bytes);
    pthread_mutex_unlock(&memory->lock);
    drop_uses(va, bytes);
    return rc;
}

void rp_memory_close(struct rp_memory *memory)
{
    for (size_t i = 0; i < memory->dmabuf_count; i++)
        close(memory->dmabufs[i].read_end);
    for (size_t i = 0; i < memory->buffer_capacity; i++) {
        if (memory->buffers[i] && memory->buffers[i]->imported)
            rp_memory_drop_import(memory->buffers[i]);
        free(memory->buffers[i]);
    }
    free(memory->buffers);
    free(memory->handles);
    free(memory->dmabufs);
    for (unsigned gpu = 0; gpu < memory->gpu_count; gpu++)
        rp_vm_release(&memory->vm[gpu]);
    rp_svm_ranges_release(&memory->svm);
    rp_pages_release(&memory->pages);
    rp_backing_close(&memory->store);
    pthread_mutex_destroy(&memory->lock);
}

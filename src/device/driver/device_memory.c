#include "device/driver/device_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "device/driver/kfd_abi.h"
#include "device/driver/vfs.h"
#include "device/exec/dispatch.h"

struct rp_dmabuf_record {
    uint64_t magic;
    int32_t pid, fd;        /**< the exporter and its descriptor of the file */
    uint64_t dev, ino;      /**< of that file */
    uint64_t offset, bytes; /**< in that file; pages */
    uint32_t flags;         /**< RP_KFD_MEM_* */
    uint32_t gpu;           /**< index */
    struct rp_drm_bo_metadata metadata;
};

#define RECORD_MAGIC 0x31667562616d6472ull

/** Puts the record for @p file_fd into the pipe; fills magic, pid, fd, dev and ino. -errno. */
static int dmabuf_describe(int write_end, int file_fd, struct rp_dmabuf_record *record)
{
    struct stat st;
    if (rp_backing_stat(file_fd, &st) < 0)
        return -errno;
    record->magic = RECORD_MAGIC;
    record->pid = getpid();
    record->fd = file_fd;
    record->dev = st.st_dev;
    record->ino = st.st_ino;
    /* A record is smaller than PIPE_BUF, so it is written whole or not at all. */
    ssize_t n = write(write_end, record, sizeof *record);
    return n == (ssize_t)sizeof *record ? 0 : n < 0 ? -errno : -EIO;
}

/** Copies the record and leaves it in the pipe. */
static int peek(int fd, struct rp_dmabuf_record *ret_record)
{
    char path[64];
    struct stat st;
    int copy[2];
    if (rp_backing_stat(fd, &st) < 0 || !S_ISFIFO(st.st_mode))
        return -EINVAL;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int read_end = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (read_end < 0)
        return -errno;
    int rc = pipe2(copy, O_CLOEXEC | O_NONBLOCK) < 0 ? -errno : 0;
    if (rc == 0) {
        ssize_t n = tee(read_end, copy[1], sizeof *ret_record, SPLICE_F_NONBLOCK);
        if (n != (ssize_t)sizeof *ret_record ||
            read(copy[0], ret_record, sizeof *ret_record) != (ssize_t)sizeof *ret_record)
            rc = -EINVAL;
        close(copy[0]);
        close(copy[1]);
    }
    close(read_end);
    return rc;
}

/** Tests whether the file is the one in the record, and has the bytes. */
static bool plausible(const struct rp_dmabuf_record *record, int file_fd)
{
    struct stat st;
    return rp_backing_stat(file_fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_dev == record->dev &&
           st.st_ino == record->ino && record->bytes > 0 && record->offset % RP_BACKING_PAGE == 0 &&
           record->offset <= (uint64_t)st.st_size &&
           record->bytes <= (uint64_t)st.st_size - record->offset;
}

/**
 * Reads the record behind a descriptor and opens its file; the caller closes *ret_file_fd.
 * -EINVAL for what is no such descriptor or lies about its file, else -errno.
 */
static int dmabuf_resolve(int fd, struct rp_dmabuf_record *ret_record, int *ret_file_fd)
{
    struct rp_dmabuf_record record = {0};
    char path[64];
    int rc = peek(fd, &record);
    if (rc < 0)
        return rc;
    if (record.magic != RECORD_MAGIC)
        return -EINVAL;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", record.pid, record.fd);
    int file_fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (file_fd < 0)
        return -errno;
    if (!plausible(&record, file_fd)) {
        close(file_fd);
        return -EINVAL;
    }
    *ret_record = record;
    *ret_file_fd = file_fd;
    return 0;
}

/* The store is sparse, so it only has to be larger than everything that can be modelled at once. */
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

/** Makes room for one more element and clears the new ones. 0 or -ENOMEM. */
static int memory_grow(void **array, size_t *capacity, size_t element_bytes)
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

/** Returns an empty buffer that is not in the table yet, where memory_buffer_put() puts it. */
static int memory_buffer_slot(struct rp_memory *memory, struct rp_buffer_object **ret_buffer)
{
    size_t slot = 0;
    while (slot < memory->buffer_capacity && memory->buffers[slot])
        slot++;
    if (slot == memory->buffer_capacity &&
        memory_grow((void **)&memory->buffers, &memory->buffer_capacity, sizeof *memory->buffers) <
            0)
        return -ENOMEM;
    struct rp_buffer_object *buffer = malloc(sizeof *buffer);
    if (!buffer)
        return -ENOMEM;
    *buffer = (struct rp_buffer_object){.id = (uint32_t)slot + 1, .refs = 1};
    *ret_buffer = buffer;
    return 0;
}

static void memory_buffer_put(struct rp_memory *memory, struct rp_buffer_object *buffer)
{
    account(memory, buffer, +1);
    memory->buffers[buffer->id - 1] = buffer;
}

static int buffer_new(struct rp_memory *memory, unsigned gpu, const struct rp_kfd_alloc *args,
                      struct rp_buffer_object **ret_buffer)
{
    struct rp_buffer_object *buffer;
    int rc = memory_buffer_slot(memory, &buffer);
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
    memory_buffer_put(memory, buffer);
    *ret_buffer = buffer;
    return 0;
}

static void memory_drop_import(struct rp_buffer_object *buffer);

/** Gives a reference back. */
static void memory_buffer_drop(struct rp_memory *memory, struct rp_buffer_object *buffer)
{
    if (--buffer->refs > 0)
        return;
    if (buffer->imported)
        memory_drop_import(buffer);
    else if (buffer->flags & (RP_KFD_MEM_VRAM | RP_KFD_MEM_GTT))
        rp_backing_free(&memory->store, buffer->offset, buffer->bytes);
    account(memory, buffer, -1);
    memory->buffers[buffer->id - 1] = NULL;
    free(buffer);
}

void rp_memory_buffer_unref(struct rp_memory *memory, struct rp_buffer_object *buffer)
{
    pthread_mutex_lock(&memory->lock);
    memory_buffer_drop(memory, buffer);
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

/** Returns NULL if there is no such handle. */
static struct rp_memory_handle *memory_lookup(struct rp_memory *memory, uint64_t handle)
{
    uint64_t slot = (handle & UINT32_MAX) - 1;
    if (handle >> 32 < RP_TOPOLOGY_GPU_ID ||
        handle >> 32 >= RP_TOPOLOGY_GPU_ID + memory->gpu_count || slot >= memory->handle_capacity ||
        !memory->handles[slot].buffer)
        return NULL;
    return &memory->handles[slot];
}

/** Takes the caller's reference over. 0 or -ENOMEM. */
static int memory_handle_new(struct rp_memory *memory, unsigned gpu,
                             struct rp_buffer_object *buffer, uint64_t va, uint64_t *ret_handle)
{
    size_t slot = 0;
    while (slot < memory->handle_capacity && memory->handles[slot].buffer)
        slot++;
    if (slot == memory->handle_capacity &&
        memory_grow((void **)&memory->handles, &memory->handle_capacity, sizeof *memory->handles) <
            0)
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

static void memory_reap_dmabufs(struct rp_memory *memory);

static int alloc_locked(struct rp_memory *memory, unsigned gpu, struct rp_kfd_alloc *args)
{
    struct rp_buffer_object *buffer;
    memory_reap_dmabufs(memory);
    int rc = buffer_new(memory, gpu, args, &buffer);
    if (rc < 0)
        return rc;
    rc = memory_handle_new(memory, gpu, buffer, args->va, &args->handle);
    if (rc < 0) {
        memory_buffer_drop(memory, buffer);
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
    struct rp_memory_handle *h = memory_lookup(memory, handle);
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
    memory_buffer_drop(memory,
                       old.buffer); /* Nobody uses it any more, so its storage can be reused. */
    memory_reap_dmabufs(memory);
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
        return -EINVAL; /* It is physical memory only, which libdrm maps. */
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
    struct rp_memory_handle *h = memory_lookup(memory, handle);
    int rc = h ? map_handle(memory, h, gpus) : -EINVAL;
    pthread_mutex_unlock(&memory->lock);
    return rc;
}

int rp_memory_unmap(struct rp_memory *memory, uint64_t handle, uint32_t gpus)
{
    uint64_t va = 0, bytes = 0;
    pthread_mutex_lock(&memory->lock);
    struct rp_memory_handle *h = memory_lookup(memory, handle);
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
            memory_drop_import(memory->buffers[i]);
        free(memory->buffers[i]);
    }
    free(memory->buffers);
    free(memory->handles);
    free(memory->dmabufs);
    for (unsigned gpu = 0; gpu < memory->gpu_count; gpu++)
        rp_vm_release(&memory->vm[gpu]);
    rp_vec_free(&memory->svm);
    rp_vec_free(&memory->pages);
    rp_backing_close(&memory->store);
    pthread_mutex_destroy(&memory->lock);
}

/* This part handles buffers as descriptors: given out, taken from this or another process, and
 * mapped.
 */

/** Lets go of buffers whose last descriptor was closed. */
static void memory_reap_dmabufs(struct rp_memory *memory)
{
    for (size_t i = 0; i < memory->dmabuf_count;) {
        struct rp_dmabuf *dmabuf = &memory->dmabufs[i];
        struct pollfd probe = {.fd = dmabuf->read_end, .events = POLLIN};
        if (poll(&probe, 1, 0) <= 0 || !(probe.revents & (POLLHUP | POLLNVAL))) {
            i++;
            continue;
        }
        if (!(probe.revents & POLLNVAL)) /* Otherwise somebody closed our descriptor. */
            close(dmabuf->read_end);
        memory_buffer_drop(memory, dmabuf->buffer);
        memory->dmabufs[i] = memory->dmabufs[--memory->dmabuf_count];
    }
}

int rp_memory_mmap_imported(struct rp_memory *memory, void *at, uint64_t bytes, int protection,
                            int flags, uint64_t offset, void **ret_at)
{
    struct rp_buffer_object *buffer;
    uint64_t id = (offset - RP_MEMORY_IMPORT_OFFSET) >> RP_MEMORY_IMPORT_SHIFT;
    uint64_t inside = offset & ((1ull << RP_MEMORY_IMPORT_SHIFT) - 1);
    int rc = id <= UINT32_MAX ? rp_memory_buffer_from_id(memory, (uint32_t)id, &buffer) : -EINVAL;
    if (rc < 0)
        return -EINVAL;
    if (!buffer->imported || inside > buffer->bytes || bytes > buffer->bytes - inside) {
        rc = -EINVAL;
    } else {
        long mapped = syscall(SYS_mmap, at, bytes, protection, flags, buffer->file_fd,
                              buffer->offset + inside);
        if (mapped == -1)
            rc = -errno;
        else
            *ret_at = (void *)mapped;
    }
    rp_memory_buffer_unref(memory, buffer);
    return rc;
}

/**
 * Describes a buffer for other processes. The program's own pages are in no file, so they get no
 * record.
 */
static int describe(struct rp_memory *memory, const struct rp_buffer_object *buffer, int write_end)
{
    struct rp_dmabuf_record record = {.offset = buffer->offset,
                                      .bytes = buffer->bytes,
                                      .flags = buffer->flags,
                                      .gpu = buffer->gpu,
                                      .metadata = buffer->metadata};
    if (!(buffer->flags & (RP_KFD_MEM_VRAM | RP_KFD_MEM_GTT)))
        return 0;
    return dmabuf_describe(write_end, rp_memory_buffer_file(memory, buffer), &record);
}

static int export_buffer(struct rp_memory *memory, struct rp_buffer_object *buffer, int fd_flags,
                         int *ret_fd)
{
    if (memory->dmabuf_count == memory->dmabuf_capacity &&
        memory_grow((void **)&memory->dmabufs, &memory->dmabuf_capacity, sizeof *memory->dmabufs) <
            0)
        return -ENOMEM;
    int ends[2];
    struct stat st;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    if (!(fd_flags & O_CLOEXEC))
        fcntl(ends[1], F_SETFD, 0);
    rp_backing_stat(ends[0], &st);
    int rc = describe(memory, buffer, ends[1]);
    if (rc < 0) {
        close(ends[0]);
        close(ends[1]);
        return rc;
    }
    buffer->refs++;
    memory->dmabufs[memory->dmabuf_count++] = (struct rp_dmabuf){
        .read_end = ends[0], .dev = st.st_dev, .ino = st.st_ino, .buffer = buffer};
    *ret_fd = ends[1];
    return 0;
}

static struct rp_buffer_object *find_dmabuf(struct rp_memory *memory, int fd)
{
    struct stat st;
    if (rp_backing_stat(fd, &st) < 0)
        return NULL;
    for (size_t i = 0; i < memory->dmabuf_count; i++)
        if (memory->dmabufs[i].ino == st.st_ino && memory->dmabufs[i].dev == st.st_dev)
            return memory->dmabufs[i].buffer;
    for (size_t i = 0; i < memory->buffer_capacity; i++) {
        struct rp_buffer_object *buffer = memory->buffers[i];
        if (buffer && buffer->imported && buffer->ino == st.st_ino && buffer->dev == st.st_dev)
            return buffer;
    }
    return NULL;
}

/** Maps what a record describes; the buffer takes @p file_fd over on success. */
static int map_import(struct rp_buffer_object *buffer, const struct rp_dmabuf_record *record,
                      int fd, int file_fd)
{
    struct stat st;
    int keep = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (keep < 0)
        return -errno;
    rp_backing_stat(keep, &st);
    void *host = mmap(NULL, record->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                      file_fd, (off_t)record->offset);
    if (host == MAP_FAILED) {
        int rc = -errno;
        close(keep);
        return rc;
    }
    /* The window of the store is treated in the same way. */
    madvise(host, record->bytes, MADV_DONTFORK);
    madvise(host, record->bytes, MADV_DONTDUMP);
    buffer->imported = true;
    buffer->file_fd = file_fd;
    buffer->dmabuf_fd = keep;
    buffer->dev = st.st_dev;
    buffer->ino = st.st_ino;
    buffer->host = host;
    return 0;
}

static int import_foreign(struct rp_memory *memory, int fd, struct rp_buffer_object **ret_buffer)
{
    struct rp_dmabuf_record record = {0};
    struct rp_buffer_object *buffer;
    int file_fd = -1;
    int rc = dmabuf_resolve(fd, &record, &file_fd);
    if (rc < 0)
        return rc;
    rc = record.gpu < memory->gpu_count ? memory_buffer_slot(memory, &buffer) : -EINVAL;
    if (rc == 0) {
        buffer->flags = record.flags;
        buffer->gpu = record.gpu;
        buffer->bytes = record.bytes;
        buffer->offset = record.offset;
        buffer->metadata = record.metadata;
        rc = map_import(buffer, &record, fd, file_fd);
        if (rc < 0)
            free(buffer);
    }
    if (rc < 0) {
        close(file_fd);
        return rc;
    }
    memory_buffer_put(memory, buffer);
    *ret_buffer = buffer;
    return 0;
}

/** Takes a new reference to the buffer behind a descriptor of this or another process. */
static int ref_dmabuf(struct rp_memory *memory, int fd, struct rp_buffer_object **ret_buffer)
{
    struct rp_buffer_object *buffer = find_dmabuf(memory, fd);
    if (!buffer)
        return import_foreign(memory, fd, ret_buffer);
    buffer->refs++;
    *ret_buffer = buffer;
    return 0;
}

int rp_memory_export(struct rp_memory *memory, uint64_t handle, int fd_flags, int *ret_fd)
{
    pthread_mutex_lock(&memory->lock);
    memory_reap_dmabufs(memory);
    struct rp_memory_handle *h = memory_lookup(memory, handle);
    int rc = h ? export_buffer(memory, h->buffer, fd_flags, ret_fd) : -EINVAL;
    pthread_mutex_unlock(&memory->lock);
    return rc;
}

int rp_memory_buffer_from_fd(struct rp_memory *memory, int fd, struct rp_buffer_object **ret_buffer)
{
    pthread_mutex_lock(&memory->lock);
    int rc = ref_dmabuf(memory, fd, ret_buffer);
    pthread_mutex_unlock(&memory->lock);
    return rc;
}

int rp_memory_buffer_from_id(struct rp_memory *memory, uint32_t id,
                             struct rp_buffer_object **ret_buffer)
{
    pthread_mutex_lock(&memory->lock);
    struct rp_buffer_object *buffer =
        id > 0 && id <= memory->buffer_capacity ? memory->buffers[id - 1] : NULL;
    if (buffer) {
        buffer->refs++;
        *ret_buffer = buffer;
    }
    pthread_mutex_unlock(&memory->lock);
    return buffer ? 0 : -ENOENT;
}

int rp_memory_import(struct rp_memory *memory, unsigned gpu, int fd, uint64_t va,
                     uint64_t *ret_handle)
{
    pthread_mutex_lock(&memory->lock);
    struct rp_buffer_object *buffer;
    int rc = ref_dmabuf(memory, fd, &buffer);
    if (rc == 0) {
        rc = memory_handle_new(memory, gpu, buffer, va, ret_handle);
        if (rc < 0)
            memory_buffer_drop(memory, buffer);
    }
    pthread_mutex_unlock(&memory->lock);
    return rc;
}

/** Ends an imported buffer's life here. */
static void memory_drop_import(struct rp_buffer_object *buffer)
{
    /* munmap() is hooked and takes our lock, so this calls the kernel. */
    syscall(SYS_munmap, buffer->host, buffer->bytes);
    close(buffer->file_fd);
    close(buffer->dmabuf_fd);
}

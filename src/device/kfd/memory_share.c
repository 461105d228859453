/**
 * @file memory_share.c
 * @brief Buffers as descriptors: given out, taken from this or another process, mapped.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "dmabuf.h"
#include "memory_private.h"

void rp_memory_reap_dmabufs(struct rp_memory *memory)
{
    for (size_t i = 0; i < memory->dmabuf_count;) {
        struct rp_dmabuf *dmabuf = &memory->dmabufs[i];
        struct pollfd probe = {.fd = dmabuf->read_end, .events = POLLIN};
        if (poll(&probe, 1, 0) <= 0 || !(probe.revents & (POLLHUP | POLLNVAL))) {
            i++;
            continue;
        }
        if (!(probe.revents & POLLNVAL)) /* else somebody closed our descriptor */
            close(dmabuf->read_end);
        rp_memory_buffer_drop(memory, dmabuf->buffer);
        memory->dmabufs[i] = memory->dmabufs[--memory->dmabuf_count];
    }
}

int rp_memory_buffer_file(const struct rp_memory *memory, const struct rp_buffer_object *buffer)
{
    return buffer->imported ? buffer->file_fd : memory->store.fd;
}

enum { IMPORT_SHIFT = 40 }; /* bytes per import in the space of offsets: more than any buffer has */

uint64_t rp_memory_mmap_offset(const struct rp_buffer_object *buffer)
{
    return buffer->imported ? RP_MEMORY_IMPORT_OFFSET + ((uint64_t)buffer->id << IMPORT_SHIFT)
                            : buffer->offset;
}

int rp_memory_mmap_imported(struct rp_memory *memory, void *at, uint64_t bytes, int protection,
                            int flags, uint64_t offset, void **ret_at)
{
    struct rp_buffer_object *buffer;
    uint64_t id = (offset - RP_MEMORY_IMPORT_OFFSET) >> IMPORT_SHIFT;
    uint64_t inside = offset & ((1ull << IMPORT_SHIFT) - 1);
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

/** For other processes; the program's own pages are in no file, so they get no record. */
static int describe(struct rp_memory *memory, const struct rp_buffer_object *buffer, int write_end)
{
    struct rp_dmabuf_record record = {.offset = buffer->offset,
                                      .bytes = buffer->bytes,
                                      .flags = buffer->flags,
                                      .gpu = buffer->gpu,
                                      .metadata = buffer->metadata};
    if (!(buffer->flags & (RP_KFD_MEM_VRAM | RP_KFD_MEM_GTT)))
        return 0;
    return rp_dmabuf_describe(write_end, rp_memory_buffer_file(memory, buffer), &record);
}

static int export_buffer(struct rp_memory *memory, struct rp_buffer_object *buffer, int fd_flags,
                         int *ret_fd)
{
    if (memory->dmabuf_count == memory->dmabuf_capacity &&
        rp_memory_grow((void **)&memory->dmabufs, &memory->dmabuf_capacity,
                       sizeof *memory->dmabufs) < 0)
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
    madvise(host, record->bytes, MADV_DONTFORK); /* as the store's window */
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
    struct rp_dmabuf_record record;
    struct rp_buffer_object *buffer;
    int file_fd;
    int rc = rp_dmabuf_resolve(fd, &record, &file_fd);
    if (rc < 0)
        return rc;
    rc = record.gpu < memory->gpu_count ? rp_memory_buffer_slot(memory, &buffer) : -EINVAL;
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
    rp_memory_buffer_put(memory, buffer);
    *ret_buffer = buffer;
    return 0;
}

/** A new reference to the buffer behind a descriptor of this or another process. */
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
    rp_memory_reap_dmabufs(memory);
    struct rp_memory_handle *h = rp_memory_lookup(memory, handle);
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
        rc = rp_memory_handle_new(memory, gpu, buffer, va, ret_handle);
        if (rc < 0)
            rp_memory_buffer_drop(memory, buffer);
    }
    pthread_mutex_unlock(&memory->lock);
    return rc;
}

void rp_memory_drop_import(struct rp_buffer_object *buffer)
{
    syscall(SYS_munmap, buffer->host, buffer->bytes); /* munmap() is hooked and takes our lock */
    close(buffer->file_fd);
    close(buffer->dmabuf_fd);
}

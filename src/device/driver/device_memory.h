/**
 * @file device_memory.h
 * @brief This header declares the memory of the software GPUs: the store of its bytes, what is
 * mapped where, and the driver's calls on it.
 */
#ifndef RP_DEVICE_DRIVER_DEVICE_MEMORY_H
#define RP_DEVICE_DRIVER_DEVICE_MEMORY_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/vec.h"
#include "device/driver/kfd_abi.h"
#include "device/driver/vfs.h"
#include "device/isa/wave_state.h"
#include "device/timing/timing_model.h"

/* Parts of the store that are used densely get large host pages; page_tables.c says when and why.
 */

enum { RP_LARGE_PAGE = 2 << 20, RP_LARGE_PAGE_LOCKS = 8 };

struct rp_large_pages {
    uint8_t *window; /**< on a large page's boundary */
    size_t count;    /**< chunks */
    uint8_t *state;  /**< of each; NULL = switched off */
    uint32_t *cost;  /**< of each GiB: what noticing has cost more than it brought */
    pthread_mutex_t making[RP_LARGE_PAGE_LOCKS]; /**< by chunk: who needs it waits for it */
    unsigned failures;
    uint64_t taken_bytes; /**< of the store */
    uint64_t ample_bytes; /**< so many may be taken and really used */
};

struct rp_vm_range {
    uint64_t begin, end; /**< half-open, bytes */
    int64_t delta;       /**< host address = gpu address + delta */
    bool writable;
    uint8_t
        home;    /**< GPU index + 1 whose memory it is, 0 = system memory; shared ranges always 0 */
    bool shared; /**< pages of the program itself at their own address (delta 0) */
    bool svm;    /**< that because of SVM attributes, which can take it back */
};

struct rp_vm {
    RP_VEC(struct rp_vm_range);
    uint64_t generation; /**< changes with every successful map and unmap */
};

/** Returns 0, -EINVAL (empty or wrapping), -EEXIST (overlap) or -ENOMEM. */
int rp_vm_map(struct rp_vm *vm, const struct rp_vm_range *range);

/** Removes every mapped byte of [begin, end); splits ranges. Returns 0, -EINVAL or -ENOMEM. */
int rp_vm_unmap(struct rp_vm *vm, uint64_t begin, uint64_t end);

/** Returns the first range that holds @p va or lies above it, or NULL. */
const struct rp_vm_range *rp_vm_next(const struct rp_vm *vm, uint64_t va);

/* Where the modelled memories keep their bytes: one sparse file without a name.
 *
 * The file is mapped once, whole, into this process: that window is what kernels see. The
 * runtimes map parts of the same file where they want them (the device files they open are this
 * file). Extents are given out first fit; a freed extent gives its pages back and reads as zero.
 */

enum { RP_BACKING_PAGE = 4096 };

struct rp_backing_extent {
    uint64_t begin, end;
};

struct rp_backing {
    int fd;
    uint8_t *window; /**< on a large page's boundary, so that host pages of that size fit */
    uint64_t bytes;
    bool strict; /**< the host promises no memory that it lacks: extents are allocated for real */
    struct {
        RP_VEC(struct rp_backing_extent);
    } free; /**< sorted, never touching */
    struct rp_large_pages large;
};

/** @p reserved_bytes at the start are never given out. Returns 0 or -errno. */
int rp_backing_open(struct rp_backing *store, uint64_t bytes, uint64_t reserved_bytes);

/** Allocates @p bytes, rounded up to pages. @return 0, -EINVAL or -ENOMEM */
int rp_backing_alloc(struct rp_backing *store, uint64_t bytes, uint64_t *ret_offset);

/** Gives back what rp_backing_alloc gave, same size. */
void rp_backing_free(struct rp_backing *store, uint64_t offset, uint64_t bytes);

void rp_backing_close(struct rp_backing *store);

/* Which pages the program itself may access: what the kernel says in /proc/self/maps.
 *
 * A copy, read when an address is not in it or something else was mapped since. It may be out of
 * date (free() unmaps without notice); whoever uses it must survive that (host_traps.h).
 */

struct rp_page_span {
    uint64_t begin, end;
    bool writable;
};

struct rp_pages {
    RP_VEC(struct rp_page_span); /**< readable ones, sorted */
    uint64_t generation;         /**< of the device's page tables when it was read */
};

/* What the program said about ranges of its memory (SVM attributes): remembered per page.
 *
 * Sorted ranges that do not overlap; setting part of one splits it. Not locked: the owner
 * (device_memory.c) serialises calls.
 */

struct rp_svm_attributes {
    uint32_t preferred, prefetched; /**< KFD's gpu_id, 0 = system memory, RP_SVM_UNDEFINED */
    uint32_t access, in_place;      /**< masks of GPU indices, disjoint */
    uint32_t flags;                 /**< KFD_IOCTL_SVM_FLAG_* */
    uint32_t granularity;           /**< log2 of pages */
};

struct rp_svm_range {
    uint64_t begin, end;
    struct rp_svm_attributes attributes;
};

struct rp_svm_ranges {
    RP_VEC(struct rp_svm_range);
};

/**
 * Calls @p change for the attributes of every piece of [begin, end); pieces nobody has set before
 * begin with @p initial. Returns 0 or -ENOMEM, then without having called it.
 */
int rp_svm_ranges_update(struct rp_svm_ranges *ranges, uint64_t begin, uint64_t end,
                         const struct rp_svm_attributes *initial,
                         void (*change)(struct rp_svm_attributes *attributes, const void *ctx),
                         const void *ctx);

/** Returns the first range that holds @p va or lies above it, or NULL. */
const struct rp_svm_range *rp_svm_ranges_next(const struct rp_svm_ranges *ranges, uint64_t va);

enum {
    RP_MEMORY_DOORBELL_OFFSET = 0x10000, /**< in the store; two pages of 8-byte doorbells */
    RP_MEMORY_DOORBELL_BYTES = 0x2000,
    RP_MEMORY_MMIO_OFFSET = 0x20000,
    RP_MEMORY_MMIO_BYTES = 0x1000,
    RP_MEMORY_EVENT_PAGE_OFFSET =
        0x30000, /**< for a runtime that brings no event page of its own */
    RP_MEMORY_RESERVED_BYTES = 2 << 20,
};

struct rp_buffer_object {
    uint32_t id, refs;
    uint32_t flags; /**< RP_KFD_MEM_* */
    uint32_t gpu;   /**< whose memory it takes, if it is VRAM */
    uint64_t bytes;
    uint64_t offset; /**< in the store, unless userptr */
    uint8_t *host;   /**< first byte in this process */
    bool imported;   /**< from another process: in its file, not charged here */
    int file_fd;     /**< of that file, if imported; offset is in it */
    int dmabuf_fd;   /**< keeps the buffer alive in the exporter, if imported */
    dev_t dev;       /**< what the descriptor it was imported from is, if imported */
    ino_t ino;
    struct rp_drm_bo_metadata metadata;
};

struct rp_memory_handle {
    struct rp_buffer_object *buffer; /**< NULL = free slot */
    uint64_t va;
    uint32_t mapped; /**< mask of the GPUs that see it at va */
};

struct rp_dmabuf {
    int read_end; /**< we keep it: hung up when the last descriptor given out is closed */
    dev_t dev;
    ino_t ino;
    struct rp_buffer_object *buffer;
};

struct rp_memory {
    pthread_mutex_t lock;
    struct rp_backing store;
    unsigned gpu_count;
    struct rp_vm vm[RP_GPU_LIMIT];
    uint64_t vram_limit_bytes; /**< of each GPU */
    uint64_t vram_used_bytes[RP_GPU_LIMIT];
    uint64_t gtt_limit_bytes, gtt_used_bytes;
    struct rp_buffer_object **buffers; /**< index = id - 1 */
    size_t buffer_capacity;
    struct rp_memory_handle *handles; /**< index = low half of the handle - 1 */
    size_t handle_capacity;
    struct rp_dmabuf *dmabufs;
    size_t dmabuf_count, dmabuf_capacity;
    bool xnack; /**< a GPU reaches what the program itself can access; set once, read by anyone */
    struct rp_pages pages;
    struct rp_svm_ranges svm;
    uint64_t shared_ranges; /**< how many shared mappings were ever made: 0 = unmap needs no look */
};

/** @p vram_bytes is the memory of each GPU. */
int rp_memory_open(struct rp_memory *memory, unsigned gpu_count, uint64_t vram_bytes,
                   uint64_t gtt_bytes);

/**
 * Executes ALLOC_MEMORY_OF_GPU, which fills handle and mmap_offset.
 * @return -ENOMEM when the modelled memory is full
 */
int rp_memory_alloc(struct rp_memory *memory, unsigned gpu, struct rp_kfd_alloc *args);
int rp_memory_free(struct rp_memory *memory, uint64_t handle);

/**
 * These execute MAP_MEMORY_TO_GPU and its reverse for each of @p gpus. Mapping again changes
 * nothing, except that it restores pages of the program that it has unmapped meanwhile.
 */
int rp_memory_map(struct rp_memory *memory, uint64_t handle, uint32_t gpus);
int rp_memory_unmap(struct rp_memory *memory, uint64_t handle, uint32_t gpus);

/** Gives out a descriptor that stands for the buffer; the buffer lives while it is open. */
int rp_memory_export(struct rp_memory *memory, uint64_t handle, int fd_flags, int *ret_fd);

/** Takes a new reference to the buffer behind a dmabuf descriptor of this or another process. */
int rp_memory_buffer_from_fd(struct rp_memory *memory, int fd,
                             struct rp_buffer_object **ret_buffer);
int rp_memory_buffer_from_id(struct rp_memory *memory, uint32_t id,
                             struct rp_buffer_object **ret_buffer);
void rp_memory_buffer_unref(struct rp_memory *memory, struct rp_buffer_object *buffer);

/** IMPORT_DMABUF makes a second handle on the same buffer. */
int rp_memory_import(struct rp_memory *memory, unsigned gpu, int fd, uint64_t va,
                     uint64_t *ret_handle);

#define RP_MEMORY_IMPORT_OFFSET (1ull << 62)

/** Each import gets so many bytes in the space of offsets, which is more than any buffer has. */
enum { RP_MEMORY_IMPORT_SHIFT = 40 };

/** Executes mmap() with an offset at or beyond RP_MEMORY_IMPORT_OFFSET. @return 0 or -errno */
int rp_memory_mmap_imported(struct rp_memory *memory, void *at, uint64_t bytes, int protection,
                            int flags, uint64_t offset, void **ret_at);

/** Maps part of a buffer at @p va (libdrm's view); @p replace drops what was there. */
int rp_memory_buffer_map(struct rp_memory *memory, unsigned gpu, struct rp_buffer_object *buffer,
                         uint64_t offset, uint64_t bytes, uint64_t va, bool writable, bool replace);
int rp_memory_va_unmap(struct rp_memory *memory, unsigned gpu, uint64_t va, uint64_t bytes);

/**
 * Lets the GPU see the program's own pages at their own address (SVM), or no longer, in page
 * bounds. Only holes are filled: what is mapped otherwise stays. The caller holds memory->lock,
 * and calls rp_exec_settle() after it.
 */
int rp_memory_set_shared(struct rp_memory *memory, unsigned gpu, uint64_t va, uint64_t end,
                         bool visible, bool writable);

/** The program is about to call munmap() on pages of its own: shared mappings of them end, on every
 *  GPU, and what was said about them is forgotten. Part of a page is all of it, as for munmap(). */
void rp_memory_host_unmapped(struct rp_memory *memory, uint64_t va, uint64_t bytes);

/* This implements the call of struct rp_exec_host. */
void *rp_memory_translate(struct rp_memory *memory, unsigned gpu, uint64_t va, uint64_t bytes,
                          int write);
int rp_memory_range(struct rp_memory *memory, unsigned gpu, uint64_t va, int write,
                    uint64_t *ret_begin, uint64_t *ret_end, int64_t *ret_delta);

/**
 * Tests whether the program itself could access @p va, as memory that is neither the device's nor
 * known to the GPU, because XNACK would let a kernel access it.
 */
bool rp_memory_is_programs(struct rp_memory *memory, uint64_t va, bool write);

/**
 * Returns where the memory at @p va is, as the GPU sees it. Unmapped memory counts as local, and
 * with XNACK as the host's.
 */
enum rp_memory_location rp_memory_place(struct rp_memory *memory, unsigned gpu, uint64_t va);

void rp_memory_close(struct rp_memory *memory);

static inline void rp_vm_release(struct rp_vm *vm)
{
    rp_vec_free(vm);
    vm->generation++;
}

static inline uint64_t rp_memory_available_vram(struct rp_memory *memory, unsigned gpu)
{
    pthread_mutex_lock(&memory->lock);
    uint64_t bytes = memory->vram_limit_bytes - memory->vram_used_bytes[gpu];
    pthread_mutex_unlock(&memory->lock);
    return bytes;
}

/** Returns the file that holds a buffer at its offset: the store's, or the exporter's. */
static inline int rp_memory_buffer_file(const struct rp_memory *memory,
                                        const struct rp_buffer_object *buffer)
{
    return buffer->imported ? buffer->file_fd : memory->store.fd;
}

/**
 * Returns where mmap() on the GPU's file finds the buffer. An imported buffer is in another file:
 * its offset lies beyond any file's end, and the hook on mmap() calls rp_memory_mmap_imported().
 */
static inline uint64_t rp_memory_mmap_offset(const struct rp_buffer_object *buffer)
{
    return buffer->imported
               ? RP_MEMORY_IMPORT_OFFSET + ((uint64_t)buffer->id << RP_MEMORY_IMPORT_SHIFT)
               : buffer->offset;
}

/** Calls fstat() past our hook of that name, which takes a descriptor on the file for a device. */
static inline int rp_backing_stat(int fd, struct stat *ret_stat)
{
    return (int)syscall(SYS_fstat, fd, ret_stat);
}

#endif

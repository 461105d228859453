/**
 * @file memory_map.h
 * @brief Device memory as the driver manages it: buffers, handles on them, mappings, sharing.
 *
 * A buffer is storage (an extent of the store, or the program's own pages). A handle is what
 * /dev/kfd gives out: a buffer with the GPU address it is meant for. An imported buffer is another
 * process's; it is mapped here and kept alive there. Buffers also live as long
 * as a dmabuf descriptor or a libdrm import refers to them. Each GPU has its own memory size and
 * page table; "gpu" is its index, "gpus" a mask of indices. All functions lock; -errno on failure.
 */
#ifndef RP_DEVICE_KFD_MEMORY_H
#define RP_DEVICE_KFD_MEMORY_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi.h"
#include "backing.h"
#include "device/timing/copy.h"
#include "pages.h"
#include "svm_range.h"
#include "topology.h"
#include "vm.h"

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

/** ALLOC_MEMORY_OF_GPU: fills handle and mmap_offset. -ENOMEM when the modelled memory is full. */
int rp_memory_alloc(struct rp_memory *memory, unsigned gpu, struct rp_kfd_alloc *args);
int rp_memory_free(struct rp_memory *memory, uint64_t handle);

/** MAP_MEMORY_TO_GPU and its reverse, for each of @p gpus. Mapping again changes
 *  nothing, but brings back what the program unmapped of its own pages meanwhile. */
int rp_memory_map(struct rp_memory *memory, uint64_t handle, uint32_t gpus);
int rp_memory_unmap(struct rp_memory *memory, uint64_t handle, uint32_t gpus);

uint64_t rp_memory_available_vram(struct rp_memory *memory, unsigned gpu);

/** Gives out a descriptor that stands for the buffer; the buffer lives while it is open. */
int rp_memory_export(struct rp_memory *memory, uint64_t handle, int fd_flags, int *ret_fd);

/** A new reference to the buffer behind a dmabuf descriptor of this or another process. */
int rp_memory_buffer_from_fd(struct rp_memory *memory, int fd,
                             struct rp_buffer_object **ret_buffer);
int rp_memory_buffer_from_id(struct rp_memory *memory, uint32_t id,
                             struct rp_buffer_object **ret_buffer);
void rp_memory_buffer_unref(struct rp_memory *memory, struct rp_buffer_object *buffer);

/** IMPORT_DMABUF: a second handle on the same buffer. */
int rp_memory_import(struct rp_memory *memory, unsigned gpu, int fd, uint64_t va,
                     uint64_t *ret_handle);

/** The file that holds a buffer at its offset: the store's, or the exporter's. */
int rp_memory_buffer_file(const struct rp_memory *memory, const struct rp_buffer_object *buffer);

/**
 * Where mmap() on the GPU's file finds the buffer. An imported one is in another file: its offset
 * lies beyond any file's end, and the hook on mmap() asks rp_memory_mmap_imported.
 */
uint64_t rp_memory_mmap_offset(const struct rp_buffer_object *buffer);

#define RP_MEMORY_IMPORT_OFFSET (1ull << 62)

/** mmap() with an offset at or beyond RP_MEMORY_IMPORT_OFFSET. 0 or -errno. */
int rp_memory_mmap_imported(struct rp_memory *memory, void *at, uint64_t bytes, int protection,
                            int flags, uint64_t offset, void **ret_at);

/** Maps part of a buffer at @p va (libdrm's view); @p replace drops what was there. */
int rp_memory_buffer_map(struct rp_memory *memory, unsigned gpu, struct rp_buffer_object *buffer,
                         uint64_t offset, uint64_t bytes, uint64_t va, bool writable, bool replace);
int rp_memory_va_unmap(struct rp_memory *memory, unsigned gpu, uint64_t va, uint64_t bytes);

/**
 * Lets the GPU see the program's own pages at their own address (SVM), or no longer; page bounds.
 * Holes only: what is mapped otherwise stays. The caller holds memory->lock, and calls
 * rp_exec_settle after it.
 */
int rp_memory_set_shared(struct rp_memory *memory, unsigned gpu, uint64_t va, uint64_t end,
                         bool visible, bool writable);

/** The program is about to call munmap() on pages of its own: shared mappings of them end, on every
 *  GPU, and what was said about them is forgotten. Part of a page is all of it, as for munmap(). */
void rp_memory_host_unmapped(struct rp_memory *memory, uint64_t va, uint64_t bytes);

/* For struct rp_exec_host. */
void *rp_memory_translate(struct rp_memory *memory, unsigned gpu, uint64_t va, uint64_t bytes,
                          int write);
int rp_memory_range(struct rp_memory *memory, unsigned gpu, uint64_t va, int write,
                    uint64_t *ret_begin, uint64_t *ret_end, int64_t *ret_delta);

/**
 * Whether the program itself could access @p va, as memory that is neither the device's nor known
 * to the GPU: what XNACK would let a kernel reach.
 */
bool rp_memory_is_programs(struct rp_memory *memory, uint64_t va, bool write);

/** Where the memory at @p va is, seen from the GPU; unmapped counts as local, with XNACK
 *  as the host's. */
enum rp_memory_location rp_memory_place(struct rp_memory *memory, unsigned gpu, uint64_t va);

void rp_memory_close(struct rp_memory *memory);

#endif

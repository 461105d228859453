/**
 * @file backing.h
 * @brief Where the modelled memories keep their bytes: one sparse file without a name.
 *
 * The file is mapped once, whole, into this process: that window is what kernels see. The
 * runtimes map parts of the same file where they want them (the device files they open are this
 * file). Extents are given out first fit; a freed extent gives its pages back and reads as zero.
 */
#ifndef RP_DEVICE_KFD_BACKING_H
#define RP_DEVICE_KFD_BACKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "large_pages.h"

enum { RP_BACKING_PAGE = 4096 };

struct rp_backing_extent {
    uint64_t begin, end;
};

struct rp_backing {
    int fd;
    uint8_t *window; /**< on a large page's boundary, so that host pages of that size fit */
    uint64_t bytes;
    bool strict; /**< the host promises no memory that it lacks: extents are allocated for real */
    struct rp_backing_extent *free; /**< sorted, never touching */
    size_t free_count, free_capacity;
    struct rp_large_pages large;
};

/** @p reserved_bytes at the start are never given out. Returns 0 or -errno. */
int rp_backing_open(struct rp_backing *store, uint64_t bytes, uint64_t reserved_bytes);

/** @p bytes are rounded up to pages. Returns 0, -EINVAL or -ENOMEM. */
int rp_backing_alloc(struct rp_backing *store, uint64_t bytes, uint64_t *ret_offset);

/** Gives back what rp_backing_alloc gave, same size. */
void rp_backing_free(struct rp_backing *store, uint64_t offset, uint64_t bytes);

void rp_backing_close(struct rp_backing *store);

/** fstat() past our hook of that name, to which a descriptor on the file is a device. */
static inline int rp_backing_stat(int fd, struct stat *ret_stat)
{
    return (int)syscall(SYS_fstat, fd, ret_stat);
}

#endif

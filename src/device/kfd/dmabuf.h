/**
 * @file dmabuf.h
 * @brief What an exported descriptor tells another process: where the buffer's bytes are.
 *
 * The descriptor is the writing end of a pipe whose reading end the exporter keeps; it hangs up
 * when no process has the descriptor any more. In the pipe lies one record, which stays there:
 * importers look at a copy. The bytes are in the exporter's file (backing.h), found through /proc,
 * so the exporter has to be alive, of the same user and in the same PID namespace at the import,
 * but not longer.
 */
#ifndef RP_DEVICE_KFD_DMABUF_H
#define RP_DEVICE_KFD_DMABUF_H

#include <stdint.h>

#include "abi.h"

struct rp_dmabuf_record {
    uint64_t magic;
    int32_t pid, fd;        /**< the exporter and its descriptor of the file */
    uint64_t dev, ino;      /**< of that file */
    uint64_t offset, bytes; /**< in that file; pages */
    uint32_t flags;         /**< RP_KFD_MEM_* */
    uint32_t gpu;           /**< index */
    struct rp_drm_bo_metadata metadata;
};

/** Puts the record for @p file_fd into the pipe; fills magic, pid, fd, dev and ino. -errno. */
int rp_dmabuf_describe(int write_end, int file_fd, struct rp_dmabuf_record *record);

/**
 * Reads the record behind a descriptor and opens its file; the caller closes *ret_file_fd.
 * -EINVAL for what is no such descriptor or lies about its file, else -errno.
 */
int rp_dmabuf_resolve(int fd, struct rp_dmabuf_record *ret_record, int *ret_file_fd);

#endif

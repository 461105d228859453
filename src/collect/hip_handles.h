/**
 * @file hip_handles.h
 * @brief What handles of streams and events stand for at the moment; they are used again.
 */
#ifndef RP_COLLECT_HIP_HANDLES_H
#define RP_COLLECT_HIP_HANDLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rp_err;

enum {
    RP_STREAM_NULL = 0,
    RP_STREAM_LEGACY = 1,       /**< hipStreamLegacy */
    RP_STREAM_PER_THREAD = 2,   /**< hipStreamPerThread */
    RP_STREAM_NON_BLOCKING = 1, /**< hipStreamNonBlocking, of a stream's flags */
};

struct rp_handle {
    uint64_t handle;
    int64_t value;
};

/** Zero-initialise. */
struct rp_handles {
    struct rp_handle *list; /**< by handle */
    size_t count, room;
};

int rp_handles_set(struct rp_handles *handles, uint64_t handle, int64_t value, struct rp_err *err);
bool rp_handles_get(const struct rp_handles *handles, uint64_t handle, int64_t *ret);
void rp_handles_free(struct rp_handles *handles);

#endif

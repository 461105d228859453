/**
 * @file memory_private.h
 * @brief Between memory_map.c and memory_share.c. The caller of all of these holds memory->lock.
 */
#ifndef RP_DEVICE_KFD_MEMORY_PRIVATE_H
#define RP_DEVICE_KFD_MEMORY_PRIVATE_H

#include "memory.h"

/** Makes room for one more element and clears the new ones. 0 or -ENOMEM. */
int rp_memory_grow(void **array, size_t *capacity, size_t element_bytes);

/** An empty buffer, not yet in the table: rp_memory_buffer_put() does that. */
int rp_memory_buffer_slot(struct rp_memory *memory, struct rp_buffer_object **ret_buffer);
void rp_memory_buffer_put(struct rp_memory *memory, struct rp_buffer_object *buffer);

/** Gives a reference back. */
void rp_memory_buffer_drop(struct rp_memory *memory, struct rp_buffer_object *buffer);

/** NULL = no such handle. */
struct rp_memory_handle *rp_memory_lookup(struct rp_memory *memory, uint64_t handle);

/** Takes the caller's reference over. 0 or -ENOMEM. */
int rp_memory_handle_new(struct rp_memory *memory, unsigned gpu, struct rp_buffer_object *buffer,
                         uint64_t va, uint64_t *ret_handle);

/** Lets go of buffers whose last descriptor was closed. */
void rp_memory_reap_dmabufs(struct rp_memory *memory);

/** Ends an imported buffer's life here. */
void rp_memory_drop_import(struct rp_buffer_object *buffer);

#endif

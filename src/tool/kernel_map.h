/**
 * @file kernel_map.h
 * @brief Kernel object address -> kernel id, read without locks by the packet callbacks.
 *
 * Open addressing, never more than half full. Growing publishes a new table and keeps the old one
 * until rp_kernel_map_free, because a reader may still be in it (all of them together are smaller
 * than the newest).
 */
#ifndef RP_TOOL_KERNEL_MAP_H
#define RP_TOOL_KERNEL_MAP_H

#include <stdint.h>

struct rp_kernel_table;

struct rp_kernel_map {
    struct rp_kernel_table *table; /**< atomic */
    uint32_t used;
};

/** Remembers or replaces; writers must be serialised. -1 when out of memory: of one that is there
 * never. */
int rp_kernel_map_put(struct rp_kernel_map *map, uint64_t kernel_object, uint32_t id);
/** 0 when unknown. */
uint32_t rp_kernel_map_get(const struct rp_kernel_map *map, uint64_t kernel_object);
void rp_kernel_map_free(struct rp_kernel_map *map);

#endif

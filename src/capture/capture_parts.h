/**
 * @file capture_parts.h
 * @brief What the writer of a capture folder knows, for the files that make it.
 */
#ifndef RP_CAPTURE_CAPTURE_PARTS_H
#define RP_CAPTURE_CAPTURE_PARTS_H

#include <stdbool.h>
#include <stddef.h>

#include "capture/capture_write.h"
#include "capture/page_store.h"
#include "capture/region_map.h"

struct rp_captured_region {
    struct rp_snapshot_region region;
    char *reason; /**< not NULL: it is not captured, because */
    bool has_after;
    uint64_t nonzero_pages;
    uint64_t changed_pages;
};

struct rp_capture_writer {
    char *folder;
    char *partial; /**< NULL: it has got its name */
    struct rp_snapshot_hello hello;
    struct rp_snapshot_dispatch dispatch;
    char *symbol, *name;
    struct rp_page_store *store;

    struct rp_captured_region *regions;
    size_t count, capacity;
    struct rp_snapshot_region *unmapped;
    size_t unmapped_count, unmapped_capacity;
    bool after;                   /**< the state after the dispatch comes */
    size_t at;                    /**< the region that comes */
    size_t next_after;            /**< likewise, after the dispatch */
    struct rp_region_writer *map; /**< its map; NULL: none has begun */
    struct rp_region_map before;  /**< after the dispatch: its map before */
    uint64_t next_page;
};

/** dispatch.json, memory_regions.json, coverage.json. */
int rp_capture_write_texts(const struct rp_capture_writer *w,
                           const struct rp_capture_origin *origin, struct rp_err *err);

#endif

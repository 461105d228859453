/**
 * @file region_map.h
 * @brief memory/region_<base>.bin and after/region_<base>.bin: which stored page stands where.
 */
#ifndef RP_CAPTURE_REGION_MAP_H
#define RP_CAPTURE_REGION_MAP_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "capture/page_file.h"

struct rp_err;
struct rp_region_writer;

static inline uint64_t rp_pages_of(uint64_t bytes)
{
    return bytes / RP_PAGE_BYTES + (bytes % RP_PAGE_BYTES != 0);
}

/** The file of the state after the dispatch comes with its second run, or at the end. */
int rp_region_writer_open(const char *path, uint64_t base, uint64_t bytes,
                          enum rp_region_state state, struct rp_region_writer **ret,
                          struct rp_err *err);
/** Pages in rising order. @param stored  or RP_STORED_ZERO */
int rp_region_writer_add(struct rp_region_writer *w, uint64_t page, uint64_t stored,
                         struct rp_err *err);
/** Completes the file, which is not yet on the disk; frees the writer in any case. */
int rp_region_writer_finish(struct rp_region_writer *w, struct rp_err *err);
/** Accepts NULL. Closes the file as it is. */
void rp_region_writer_free(struct rp_region_writer *w);

/** A map in memory, checked. */
struct rp_region_map {
    struct rp_region_header header;
    const struct rp_page_run *runs;
    void *mapped;
    size_t mapped_bytes;
};

/**
 * Maps a file and checks it.
 * @param stored_pages  that pages.bin has
 * @return 0; RP_BAD_INPUT, RP_ENVIRONMENT
 */
int rp_region_map_open(const char *path, uint64_t stored_pages, struct rp_region_map *ret,
                       struct rp_err *err);
/** The same for bytes in memory, aligned to 8, which must outlive the map. */
int rp_region_map_parse(const char *name, const void *bytes, size_t size, uint64_t stored_pages,
                        struct rp_region_map *ret, struct rp_err *err);
/** Accepts a zeroed one. */
void rp_region_map_close(struct rp_region_map *map);

/** The run that has a page, or the first one behind it; NULL: none. */
const struct rp_page_run *rp_region_map_find(const struct rp_region_map *map, uint64_t page);

#endif

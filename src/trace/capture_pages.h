/**
 * @file capture_pages.h
 * @brief The binary files of a capture folder: memory/pages.bin, and the maps of regions into it.
 *
 * pages.bin is a sequence of frames, each a header and its pages, packed by zstd. Every frame but
 * the last has RP_FRAME_PAGES pages, so that the number of a page gives its frame. A map says which
 * stored page stands where in a region; pages of zeros have none. docs/formats.md.
 * Little endian.
 */
#ifndef RP_TRACE_CAPTURE_PAGES_H
#define RP_TRACE_CAPTURE_PAGES_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct rp_err;
struct rp_page_store;

enum {
    RP_PAGE_BYTES = 4096,
    RP_FRAME_PAGES = 32,
    RP_FRAME_BYTES = RP_FRAME_PAGES * RP_PAGE_BYTES,
    RP_REGION_VERSION = 1,
};

enum rp_region_state {
    RP_STATE_BEFORE = 0, /**< what a map does not name is zero */
    RP_STATE_AFTER = 1,  /**< ... is as it was before */
};

#define RP_REGION_MAGIC "RPREGION"

struct rp_region_header {
    char magic[8];
    uint32_t version;
    uint32_t page_bytes;
    uint64_t base, bytes;
    uint64_t run_count; /**< they follow */
    uint32_t state;     /**< enum rp_region_state */
    uint32_t reserved;
    uint64_t hash; /**< XXH3, 64 bits, of the runs */
};
static_assert(sizeof(struct rp_region_header) == 56, "part of the file format");

/** Stands for no stored page: zeros. */
#define RP_STORED_ZERO UINT64_MAX

struct rp_page_run {
    uint64_t page;   /**< of the region, counted from its base */
    uint64_t pages;  /**< so many in a row, ... */
    uint64_t stored; /**< ... as this and the following of pages.bin; or all RP_STORED_ZERO */
};
static_assert(sizeof(struct rp_page_run) == 24, "part of the file format");

/* Frames give pages out of memory/pages.bin by their number. */

enum { RP_FRAMES_KEPT = 32 };

/** Zero-initialise with .fd and .name set; release with rp_frames_free, which closes neither. */
struct rp_frames {
    int fd;
    const char *name; /**< for messages */
    uint64_t *at;     /**< where each frame begins */
    size_t count;
    uint64_t pages; /**< in all frames */
    void *unpacker;
    uint8_t *packed;
    struct {
        uint64_t frame; /**< number + 1; 0: none */
        uint8_t *bytes;
    } kept[RP_FRAMES_KEPT];
};

/** Finds the frames of a file. @return 0 or RP_BAD_INPUT, RP_ENVIRONMENT */
int rp_frames_scan(struct rp_frames *frames, struct rp_err *err);

/**
 * Reads one page, which stays valid until the next call.
 * @return 0; RP_BAD_INPUT: the file is damaged there
 */
int rp_frames_page(struct rp_frames *frames, uint64_t number, const uint8_t **ret,
                   struct rp_err *err);

void rp_frames_free(struct rp_frames *frames);

/* Writer of memory/pages.bin: gives each page a number, and the same one to equal pages.
 *
 * Equal pages are found by hash and then compared. The table of hashes has a fixed size and forgets
 * the older of two pages that want the same slot: memory is bounded, and what is forgotten costs
 * disk space, nothing else.
 */

/** @param path  must not exist */
int rp_page_store_open(const char *path, struct rp_page_store **ret, struct rp_err *err);

static inline bool rp_page_is_zero(const uint8_t *page)
{
    uint64_t word;

    memcpy(&word, page, sizeof word);
    return word == 0 && memcmp(page, page + sizeof word, RP_PAGE_BYTES - sizeof word) == 0;
}

/** @param page  RP_PAGE_BYTES of it */
int rp_page_store_put(struct rp_page_store *store, const uint8_t *page, uint64_t *ret_number,
                      struct rp_err *err);

/** Whether a stored page (or RP_STORED_ZERO) has these contents. */
int rp_page_store_equals(struct rp_page_store *store, uint64_t number, const uint8_t *page,
                         bool *ret, struct rp_err *err);

/** Returns how many pages are stored. */
uint64_t rp_page_store_pages(const struct rp_page_store *store);

/** Writes what is left and brings it to the disk; pages can be compared still, not added. */
int rp_page_store_finish(struct rp_page_store *store, struct rp_err *err);

/** Frees a store; NULL is accepted. */
void rp_page_store_free(struct rp_page_store *store);

/* memory/region_<base>.bin and after/region_<base>.bin say which stored page belongs where. */

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
/** Closes a map; a zeroed one is accepted. */
void rp_region_map_close(struct rp_region_map *map);

/** Returns the run that has a page, or else the first run behind it. NULL: none */
const struct rp_page_run *rp_region_map_find(const struct rp_region_map *map, uint64_t page);

static inline uint64_t rp_pages_of(uint64_t bytes)
{
    return bytes / RP_PAGE_BYTES + (bytes % RP_PAGE_BYTES != 0);
}

#endif

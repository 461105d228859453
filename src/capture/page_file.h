/**
 * @file page_file.h
 * @brief The binary files of a capture folder: memory/pages.bin, and the maps of regions into it.
 *
 * pages.bin is a sequence of frames, each a header and its pages, packed by zstd. Every frame but
 * the last has RP_FRAME_PAGES pages, so that the number of a page gives its frame. A map says which
 * stored page stands where in a region; pages of zeros have none. docs/format/capture.md.
 * Little endian.
 */
#ifndef RP_CAPTURE_PAGE_FILE_H
#define RP_CAPTURE_PAGE_FILE_H

#include <assert.h>
#include <stdint.h>

enum {
    RP_PAGE_BYTES = 4096,
    RP_FRAME_PAGES = 32,
    RP_FRAME_BYTES = RP_FRAME_PAGES * RP_PAGE_BYTES,
    RP_REGION_VERSION = 1,
};

#define RP_FRAME_MAGIC  "RPPF"
#define RP_REGION_MAGIC "RPREGION"

struct rp_page_frame {
    char magic[4];
    uint32_t pages;
    uint32_t packed_bytes; /**< they follow */
    uint32_t reserved;
    uint64_t hash; /**< XXH3, 64 bits, of the pages */
};
static_assert(sizeof(struct rp_page_frame) == 24, "part of the file format");

enum rp_region_state {
    RP_STATE_BEFORE = 0, /**< what a map does not name is zero */
    RP_STATE_AFTER = 1,  /**< ... is as it was before */
};

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

#endif

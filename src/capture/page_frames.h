/**
 * @file page_frames.h
 * @brief Pages out of memory/pages.bin, by their number.
 */
#ifndef RP_CAPTURE_PAGE_FRAMES_H
#define RP_CAPTURE_PAGE_FRAMES_H

#include <stddef.h>
#include <stdint.h>

#include "capture/page_file.h"

struct rp_err;

enum { RP_FRAMES_KEPT = 32 };

/** Zero-initialise with .fd and .name set; release with rp_frames_free, which closes neither. */
struct rp_frames {
    int fd;
    const char *name; /**< for messages */
    uint64_t *at;     /**< where each frame begins */
    size_t count, capacity;
    uint64_t pages; /**< in all frames */
    void *unpacker;
    uint8_t *packed;
    struct {
        uint64_t frame; /**< number + 1; 0: none */
        uint8_t *bytes;
    } kept[RP_FRAMES_KEPT];
};

/** A frame has been written, or was found. */
int rp_frames_add(struct rp_frames *frames, uint64_t at, uint32_t pages, struct rp_err *err);

/** Finds the frames of a file. @return 0 or RP_BAD_INPUT, RP_ENVIRONMENT */
int rp_frames_scan(struct rp_frames *frames, struct rp_err *err);

/** One page; valid until the next call. @return 0; RP_BAD_INPUT: the file is damaged there */
int rp_frames_page(struct rp_frames *frames, uint64_t number, const uint8_t **ret,
                   struct rp_err *err);

void rp_frames_free(struct rp_frames *frames);

#endif

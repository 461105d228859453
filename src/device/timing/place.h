/**
 * @file place.h
 * @brief Pages of 4 KiB, numbered in the order in which they are touched first: so that no times
 * depend on where a process has its memory.
 */
#ifndef RP_DEVICE_TIMING_PLACE_H
#define RP_DEVICE_TIMING_PLACE_H

#include "record.h"

/** Open addressing; zeroed: none. */
struct rp_rec_pages {
    struct rp_rec_page {
        uint64_t old; /**< number + 1; 0 = free */
        uint64_t number;
    } * page;
    uint64_t size, count;
    struct rp_rec_page latest; /**< neighbours follow each other */
};

/** Renumbers a line. 0, or -ENOMEM: it is as it was. */
int rp_rec_pages_place(struct rp_rec_pages *p, struct rp_rec_line *line);
void rp_rec_pages_release(struct rp_rec_pages *p);

#endif

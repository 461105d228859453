/**
 * @file alike.h
 * @brief What the lanes of an access touch, remembered: an instruction in a loop mostly touches the
 * same again, some bytes further on.
 *
 * Banks of the LDS are the same distance apart wherever a pattern of addresses begins, as long as
 * that is the same part of a dword; lines of a cache, as long as it is the same byte of a line.
 */
#ifndef RP_DEVICE_TIMING_ALIKE_H
#define RP_DEVICE_TIMING_ALIKE_H

#include "touch.h"

enum { RP_ALIKE_LANES = 64, RP_ALIKE_LINES = 64, RP_ALIKE_LDS = 32, RP_ALIKE_VMEM = 16 };

/** The latest patterns of a thread; zeroed: none. */
struct rp_alike {
    struct rp_alike_lds {
        uint64_t lanes;  /**< 0: nothing is known */
        uint32_t bytes;  /**< as in rp_touch */
        uint8_t flags;   /**< likewise */
        uint8_t part;    /**< of a dword where it begins */
        uint16_t clocks; /**< of the LDS */
        uint16_t conflict_clocks;
        uint32_t distance[RP_ALIKE_LANES]; /**< of each lane's address from the first lane's */
    } lds[RP_ALIKE_LDS];
    struct rp_alike_lines {
        uint64_t lanes;
        uint32_t bytes;
        uint8_t flags;
        uint64_t first; /**< lane's address */
        uint64_t distance[RP_ALIKE_LANES];
        uint16_t lookups, line_count;
        struct rp_rec_line line[RP_ALIKE_LINES];
    } vmem[RP_ALIKE_VMEM];
};

/**
 * As rp_touch_lds, for addresses that are a row of registers and a distance from there.
 * @param alike  NULL: nothing is remembered
 * @param key    what is alike mostly has the same
 */
void rp_alike_lds(struct rp_alike *alike, uint32_t key, const uint32_t row[RP_ALIKE_LANES],
                  uint32_t from_row, struct rp_rec_access *a, const struct rp_touch *t);

/** As rp_touch_lines. */
bool rp_alike_lines(struct rp_alike *alike, uint32_t key, struct rp_rec_wave *w,
                    struct rp_rec_access *a, const struct rp_touch *t);

#endif

/**
 * @file mem_lanes.h
 * @brief The inner loops of memory instructions over 64 lanes, compiled once per CPU level.
 *
 * They know neither waves nor instructions, and trust their caller about what is mapped. All
 * levels give identical results.
 */
#ifndef RP_DEVICE_ISA_MEM_LANES_H
#define RP_DEVICE_ISA_MEM_LANES_H

#include <stdbool.h>
#include <stdint.h>

#include "lane.h"

/** Where the dwords of each lane are: base + (index[lane] - zero), if that is not beyond last. */
struct rp_spread {
    uint8_t *base;
    const uint32_t *index;
    uint32_t zero;
    uint32_t last; /**< largest permitted index - zero, below 2^31 */
};

/** Active lanes beyond @p s.last receive zero. Rows of @p d may be the index row. */
typedef void rp_spread_load_fn(uint32_t (*d)[RP_LANES], const struct rp_spread *s, uint64_t exec);

/** Lanes beyond last store nothing; of several lanes storing to one place the highest wins. */
typedef void rp_spread_store_fn(const uint32_t (*d)[RP_LANES], const struct rp_spread *s,
                                uint64_t exec);

struct rp_mem_lanes {
    /**
     * Whether a row goes up by the same step from lane to lane, without wrapping. All lanes count,
     * active or not: cheap to test, and true for what compilers make of thread indices.
     */
    bool (*affine)(const uint32_t *row, int64_t *ret_stride);
    bool (*uniform)(const uint32_t *row);
    /** Smallest and largest value over a non-empty set of lanes. */
    void (*bounds)(const uint32_t *row, uint64_t exec, uint32_t *ret_low, uint32_t *ret_high);
    /** out[lane] = value[(address[lane] + offset) / 4 % 64]; the rows are three different ones. */
    void (*permute)(uint32_t *out, const uint32_t *value, const uint32_t *address, uint32_t offset);
    /** The first of @p count rows (aligned to 64 bytes) = first, first + 1 ...; the others = 0. */
    void (*start_rows)(uint32_t (*rows)[RP_LANES], unsigned count, uint32_t first);
    /** A multiple of 16 dwords; few, for which the library's function takes long to begin. */
    void (*copy_dwords)(uint32_t *to, const uint32_t *from, unsigned count);
    /** All 64 lanes, elements of 1, 2 or 4 dwords side by side in memory from @p at on. */
    void (*load_rows[5])(uint32_t (*d)[RP_LANES], const uint8_t *at);
    void (*store_rows[5])(const uint32_t (*d)[RP_LANES], uint8_t *at);
    rp_spread_load_fn *load[5]; /**< by dwords per lane, 1 to 4; pairs are moved in one piece */
    rp_spread_store_fn *store[5];
};

/** The best this CPU can run. */
const struct rp_mem_lanes *rp_mem_lanes_best(void);

/** Of one level (tests); NULL if this CPU lacks it. */
const struct rp_mem_lanes *rp_mem_lanes_level(enum rp_lane_level level);

#endif

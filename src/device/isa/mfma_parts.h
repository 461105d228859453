/**
 * @file mfma_parts.h
 * @brief What a dense matrix kernel consists of, for a translator that keeps widened operands.
 *
 * A wide operand is a row of 64 dwords for each of a lane's values (lane_mfma.h).
 */
#ifndef RP_DEVICE_ISA_MFMA_PARTS_H
#define RP_DEVICE_ISA_MFMA_PARTS_H

#include <stdbool.h>
#include <stddef.h>

#include "lane.h"

typedef void rp_mfma_widen_fn(float (*to)[RP_LANES], const uint32_t *rows, unsigned values);
typedef void rp_mfma_core_fn(uint32_t *d, const uint32_t *c, size_t c_stride,
                             const float (*a)[RP_LANES], const float (*b)[RP_LANES]);

enum { RP_MFMA_VALUES_MAX = 8 };

struct rp_mfma_parts {
    rp_mfma_widen_fn *widen_a, *widen_b; /**< NULL: the register rows are wide already */
    rp_mfma_core_fn *core;               /**< D may share rows with C, and with nothing else */
    unsigned values;                     /**< of a lane, in A and in B */
};

/** Of a kernel of level RP_LANE_V4, where the CPU has that; false: it is not made of such parts. */
bool rp_mfma_parts(rp_lane_fn *kernel, struct rp_mfma_parts *ret);

#endif

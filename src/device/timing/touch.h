/**
 * @file touch.h
 * @brief Which cache lines and LDS banks the lanes of one instruction touch.
 */
#ifndef RP_DEVICE_TIMING_TOUCH_H
#define RP_DEVICE_TIMING_TOUCH_H

#include "record.h"

/** Addresses of one instruction's lanes; those not in lanes are not looked at. */
struct rp_touch {
    const uint64_t *va; /**< 64 of them */
    uint64_t lanes;     /**< a bit for each that takes part */
    uint32_t bytes;     /**< per lane */
    uint8_t flags;      /**< RP_REC_READS and so on */
};

/**
 * Appends the lines to a wave's record, and counts them in *a; once for an access.
 * @return false when the host is out of memory
 */
bool rp_touch_lines(struct rp_rec_wave *w, struct rp_rec_access *a, const struct rp_touch *t);

/**
 * Adds the clocks the LDS needs: it has 32 banks of 4 bytes (CDNA3 ISA guide, "LDS"), and serves
 * in each clock as many lanes as fill them (32 lanes of a dword, 16 of two, 8 of more; loads of 16
 * bytes take lanes 0 to 3 with 20 to 23, and so on), unless two
 * of these want different dwords of one bank. Atomics on the same dword come one after another.
 * @param t  addresses are offsets in the LDS
 */
void rp_touch_lds(struct rp_rec_access *a, const struct rp_touch *t);

#endif

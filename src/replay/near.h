/**
 * @file near.h
 * @brief Which words of memory a tolerance is for that was found from runs of the captured kernel.
 *
 * Words that differ between these runs, and those that may be numbers of the same quantity that
 * happened to come out the same. A tolerance for sums must not let through a wrong counter, key or
 * index beside them.
 */
#ifndef RP_REPLAY_NEAR_H
#define RP_REPLAY_NEAR_H

#include <stddef.h>
#include <stdint.h>

#include "replay/spread.h"
#include "replay/write_set.h"

enum rp_near_unit {
    RP_NEAR_EXACT,   /**< no number like those that differ */
    RP_NEAR_OTHER,   /**< likewise, and the kernel has changed it */
    RP_NEAR_KEPT,    /**< may be such a number; the kernel has not changed it */
    RP_NEAR_SAME,    /**< may be such a number, changed, the same in all runs */
    RP_NEAR_DIFFERS, /**< from run to run */
};

/** Of 4 bytes, or of 8 where the numbers are. */
unsigned rp_near_unit_bytes(const struct rp_compare_rule *rule);

/**
 * What the units of a page are.
 * @param spread, rule   of its region
 * @param before, after  RP_PAGE_BYTES
 * @param differs        its words that differ from run to run
 * @param ret            a byte for each (enum rp_near_unit)
 */
void rp_near_units(const struct rp_spread *spread, const struct rp_compare_rule *rule,
                   const uint8_t *before, const uint8_t *after, const uint64_t *differs,
                   uint8_t *ret);

/** Of units in a row. Zero-initialise. */
struct rp_near_count {
    uint64_t differs, same;
};

void rp_near_count(const uint8_t *units, size_t count, struct rp_near_count *total);

/**
 * Units that are the same, so many at one distance from each other (that of fields in an array of
 * structures, or side by side) that this is not chance, become RP_NEAR_EXACT.
 * @param total  of the whole region
 * @return 0 or RP_ENVIRONMENT
 */
int rp_near_drop_rows(const struct rp_near_count *total, uint8_t *units, size_t count,
                      struct rp_err *err);

/** Words of a page for which the tolerance is. */
void rp_near_mask(const uint8_t *units, unsigned unit_bytes, uint64_t *ret);

#endif

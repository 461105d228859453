/**
 * @file idset.h
 * @brief Which ids were written and which were only referred to.
 */
#ifndef RP_STORE_IDSET_H
#define RP_STORE_IDSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/numbering.h"

/** Zero-initialise; release with rp_idset_free. */
struct rp_idset {
    struct rp_numbering ids;
    bool *written; /**< per id */
    size_t room;
};

/** Notes that the id has a row. @return false when out of memory */
bool rp_idset_put(struct rp_idset *set, int64_t id);
/** Notes that a row refers to the id. @return false when out of memory */
bool rp_idset_need(struct rp_idset *set, int64_t id);
bool rp_idset_has(const struct rp_idset *set, int64_t id);
/** Ids that were referred to but have no row, ascending; NULL when out of memory. Free it. */
int64_t *rp_idset_missing(const struct rp_idset *set, size_t *ret_count);
void rp_idset_free(struct rp_idset *set);

#endif

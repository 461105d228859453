/**
 * @file leaves.h
 * @brief Rows of an SQLite table from the leaves of its tree, in the order of their ids (SQLite
 *        file format, section 1.6).
 *
 * SQLite's own way to a value costs several times as much as its bytes. What is unusual, and all
 * that is damaged, is left to SQLite: this only ever stops there.
 */
#ifndef RP_STORE_LEAVES_H
#define RP_STORE_LEAVES_H

#include "store/pages.h"
#include "store/record.h"

#include <stdbool.h>
#include <stdint.h>

/** Cells of a row, lent until it returns. @return negative: end */
typedef int rp_leaves_fn(void *ctx, const struct rp_cell *cells);

/**
 * Hands over the rows of the table whose tree has that root.
 * @param ret_rows counts them
 * @return 0, also when rows are left; or what fn returned
 */
int rp_leaves_each(struct rp_pages *pages, uint32_t root, const struct rp_wanted *wanted,
                   rp_leaves_fn *fn, void *ctx, uint64_t *ret_rows, bool *ret_all);

#endif

/**
 * @file plan.h
 * @brief Whether a statement only goes through one table from its first row to its last.
 */
#ifndef RP_STORE_PLAN_H
#define RP_STORE_PLAN_H

#include "store/record.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

/**
 * Asks SQLite how it would run "SELECT aggregate(column, ...) FROM relation", which sees through
 * views.
 * @param ret_root first page of the table
 * @param ret_wanted the cells are the aggregate's arguments
 * @return false: it does more than hand over stored values, or in a way that is not known here
 */
bool rp_plan_scan(sqlite3 *db, const char *sql, const char *aggregate, uint32_t *ret_root,
                  struct rp_wanted *ret_wanted);

#endif

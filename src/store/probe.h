/**
 * @file probe.h
 * @brief What a file is, before and after SQLite has seen it.
 */
#ifndef RP_STORE_PROBE_H
#define RP_STORE_PROBE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

struct rp_err;

struct rp_probe {
    uint64_t size_bytes;
    bool wal;          /**< the header asks for a write-ahead log */
    bool wal_has_data; /**< and there is one with contents */
};

/** Fails unless the file is a whole SQLite database as far as its header tells. */
int rp_probe_file(const char *path, struct rp_probe *ret, struct rp_err *err);

/** Opens it read-only. Only a log that has data makes SQLite leave a file in the folder. */
int rp_probe_open(const char *path, const struct rp_probe *probe, sqlite3 **ret,
                  struct rp_err *err);

/**
 * Makes SQLite read the schema, up to some number of its rows. It looks each name up among all
 * before it, so that a million of them would take hours.
 * @return SQLITE_OK; SQLITE_INTERRUPT when there are more; what SQLite says
 */
int rp_probe_schema(sqlite3 *db, unsigned most);

/** Fails, saying what an SQLite database without rocpd tables seems to be. */
int rp_probe_other(sqlite3 *db, struct rp_err *err);

#endif

/**
 * @file record.h
 * @brief Records of SQLite tables (SQLite file format, section 2.1).
 */
#ifndef RP_STORE_RECORD_H
#define RP_STORE_RECORD_H

#include "store/cell.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RP_RECORD_VALUES = 64, RP_RECORD_PAD_BYTES = 8 };

/** Which columns of a table are wanted, and where. */
struct rp_wanted {
    struct {
        uint16_t column;         /**< of the record */
        uint16_t value;          /**< index of the cell */
    } columns[RP_RECORD_VALUES]; /**< in the order of the record */
    size_t column_count;
    uint16_t rowids[RP_RECORD_VALUES]; /**< cells that are the row's id */
    size_t rowid_count;
};

/** Number of bytes of a varint that begins here, at most nine; 0: it does not end before @p end. */
size_t rp_varint(const unsigned char *at, const unsigned char *end, uint64_t *ret);

/**
 * Reads the wanted values. @p len of the record's @p bytes are there and RP_RECORD_PAD_BYTES behind
 * them can be read; the rest is elsewhere.
 * @return false: the record is damaged, has fewer columns, or a value is not wholly there
 */
bool rp_record_read(const struct rp_wanted *wanted, const unsigned char *record, size_t len,
                    uint64_t bytes, int64_t rowid, struct rp_cell *cells);

#endif

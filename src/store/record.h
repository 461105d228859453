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

enum { RP_RECORD_VALUES = 64, RP_RECORD_PAD_BYTES = 8, RP_RECORD_HEADER_BYTES = 64 };

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

/** As rp_varint, of one that may be longer than a byte. */
size_t rp_varint_long(const unsigned char *at, const unsigned char *end, uint64_t *ret);

/** Number of bytes of a varint that begins here, at most nine; 0: it does not end before @p end. */
static inline size_t rp_varint(const unsigned char *at, const unsigned char *end, uint64_t *ret)
{
    if (at < end && *at < 0x80) {
        *ret = *at;
        return 1;
    }
    return rp_varint_long(at, end, ret);
}

/**
 * Reads records of one table. Most have the header of the one before: what follows from that is
 * kept. Set wanted, else zero-initialise.
 */
struct rp_record_reader {
    const struct rp_wanted *wanted;
    unsigned char header[RP_RECORD_HEADER_BYTES]; /**< of the last record */
    size_t header_bytes;                          /**< 0: there is none to compare with */
    uint64_t end;                                 /**< of the last value wanted */
    bool is_last;                                 /**< which the record ends with */
    struct {
        uint32_t offset, len;   /**< len: of a text */
        uint8_t type;           /**< serial type; that of texts and blobs is the first of theirs */
    } values[RP_RECORD_VALUES]; /**< wanted columns */
};

/**
 * Reads the wanted values. @p len of the record's @p bytes are there and RP_RECORD_PAD_BYTES behind
 * them can be read; the rest is elsewhere.
 * @return false: the record is damaged, has fewer columns, or a value is not wholly there
 */
bool rp_record_read(struct rp_record_reader *reader, const unsigned char *record, size_t len,
                    uint64_t bytes, int64_t rowid, struct rp_cell *cells);

#endif

#include "store/record.h"

#include <math.h>
#include <string.h>

size_t rp_varint(const unsigned char *at, const unsigned char *end, uint64_t *ret)
{
    uint64_t number = 0;

    for (size_t i = 0; i < 9 && at + i < end; i++) {
        if (i == 8) { /* the ninth byte has eight bits */
            *ret = number << 8 | at[i];
            return 9;
        }
        number = number << 7 | (at[i] & 0x7f);
        if (at[i] < 0x80) {
            *ret = number;
            return i + 1;
        }
    }
    return 0;
}

/* Serial types: 0 NULL, 1 to 6 integers, 7 a double, 8 and 9 the numbers 0 and 1, 10 and 11 none,
 * from 12 blobs and texts. */
enum { TYPE_REAL = 7, TYPE_ZERO = 8, TYPE_ONE = 9, TYPE_NONE = 10, TYPE_BYTES = 12 };

static const uint8_t number_bytes[TYPE_BYTES] = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0};

static uint64_t bytes_of(uint64_t type)
{
    return type < TYPE_BYTES ? number_bytes[type] : (type - TYPE_BYTES) / 2;
}

static uint64_t be64(const unsigned char *at)
{
    uint64_t number;

    memcpy(&number, at, sizeof number);
    return __builtin_bswap64(number);
}

/* False: there is no such type. */
static bool put_value(uint64_t type, const unsigned char *at, struct rp_cell *ret)
{
    if (type >= TYPE_BYTES) {
        *ret = (struct rp_cell){.bytes = at, .len = (uint32_t)bytes_of(type), .type = RP_CELL_TEXT};
        return true;
    }
    if (type >= TYPE_NONE)
        return false;
    if (type == 0) {
        *ret = (struct rp_cell){.type = RP_CELL_NULL};
    } else if (type == TYPE_REAL) {
        uint64_t bits = be64(at);
        memcpy(&ret->real, &bits, sizeof bits);
        ret->type = isnan(ret->real) ? RP_CELL_NULL : RP_CELL_REAL; /* as SQLite has it */
    } else {
        ret->number = type >= TYPE_ZERO ? type == TYPE_ONE
                                        : (int64_t)be64(at) >> (64 - 8 * number_bytes[type]);
        ret->type = RP_CELL_INTEGER;
    }
    return true;
}

bool rp_record_read(const struct rp_wanted *wanted, const unsigned char *record, size_t len,
                    uint64_t bytes, int64_t rowid, struct rp_cell *cells)
{
    const unsigned char *at, *end = record + len;
    uint64_t header_bytes, offset, type = 0, next_offset;
    size_t used = rp_varint(record, end, &header_bytes);
    uint32_t next = 0; /* column whose type at points to */

    for (size_t k = 0; k < wanted->rowid_count; k++)
        cells[wanted->rowids[k]] = (struct rp_cell){.number = rowid, .type = RP_CELL_INTEGER};
    if (!used || header_bytes < used || header_bytes > len)
        return false;
    at = record + used;
    end = record + header_bytes;
    offset = next_offset = header_bytes;
    for (size_t k = 0; k < wanted->column_count; k++) {
        while (next <= wanted->columns[k].column) {
            if (at < end && *at < 0x80) {
                type = *at++;
            } else {
                used = rp_varint(at, end, &type);
                if (!used)
                    return false;
                at += used;
            }
            offset = next_offset;
            next_offset += bytes_of(type);
            next++;
        }
        if (next_offset > len || next_offset < offset ||
            !put_value(type, record + offset, &cells[wanted->columns[k].value]))
            return false;
    }
    /* Columns that do not fill the record are damage to SQLite, too, where it comes to the last. */
    return at < end || next_offset == bytes;
}

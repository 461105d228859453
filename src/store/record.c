#include "store/record.h"

#include <math.h>
#include <string.h>

size_t rp_varint_long(const unsigned char *at, const unsigned char *end, uint64_t *ret)
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
enum { TYPE_NULL = 0, TYPE_REAL = 7, TYPE_ZERO = 8, TYPE_ONE = 9, TYPE_NONE = 10, TYPE_BYTES = 12 };

static const uint8_t number_bytes[TYPE_BYTES] = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0};

static uint64_t be64(const unsigned char *at)
{
    uint64_t number;

    memcpy(&number, at, sizeof number);
    return __builtin_bswap64(number);
}

/* Per type of a number: its bytes, the first of eight, moved to their place. */
static const uint8_t shifts[TYPE_BYTES] = {0, 56, 48, 40, 32, 16, 0, 0, 0, 0, 0, 0};

static void put_value(uint8_t type, const unsigned char *at, uint32_t len, struct rp_cell *ret)
{
    switch (type) {
    case TYPE_NULL:
        ret->type = RP_CELL_NULL;
        break;
    case TYPE_REAL: {
        uint64_t bits = be64(at);
        memcpy(&ret->real, &bits, sizeof bits);
        ret->type = isnan(ret->real) ? RP_CELL_NULL : RP_CELL_REAL; /* as SQLite has it */
        break;
    }
    case TYPE_ZERO:
    case TYPE_ONE:
        ret->number = type == TYPE_ONE;
        ret->type = RP_CELL_INTEGER;
        break;
    case TYPE_BYTES:
        ret->bytes = at;
        ret->len = len;
        ret->type = RP_CELL_TEXT;
        break;
    default:
        ret->number = (int64_t)be64(at) >> shifts[type];
        ret->type = RP_CELL_INTEGER;
        break;
    }
}

/* Where the wanted values are, by the header. False: not in a record of that many bytes. */
static bool read_header(struct rp_record_reader *r, const unsigned char *record, size_t len)
{
    const unsigned char *at, *end;
    uint64_t header_bytes, offset, next_offset, type = 0, bytes = 0;
    size_t used = rp_varint(record, record + len, &header_bytes);
    uint32_t next = 0; /* column whose type at points to */

    r->header_bytes = 0;
    if (!used || header_bytes < used || header_bytes > len)
        return false;
    at = record + used;
    end = record + header_bytes;
    offset = next_offset = header_bytes;
    for (size_t k = 0; k < r->wanted->column_count; k++) {
        for (; next <= r->wanted->columns[k].column; next++) {
            used = rp_varint(at, end, &type);
            if (!used || type == TYPE_NONE || type == TYPE_NONE + 1)
                return false;
            at += used;
            bytes = type < TYPE_BYTES ? number_bytes[type] : (type - TYPE_BYTES) / 2;
            offset = next_offset;
            next_offset += bytes;
            if (next_offset > len)
                return false;
        }
        r->values[k].offset = (uint32_t)offset;
        r->values[k].len = (uint32_t)bytes;
        r->values[k].type = type < TYPE_BYTES ? (uint8_t)type : TYPE_BYTES;
    }
    r->end = next_offset;
    r->is_last = at == end;
    if (header_bytes <= sizeof r->header) {
        memcpy(r->header, record, header_bytes);
        r->header_bytes = header_bytes;
    }
    return true;
}

bool rp_record_read(struct rp_record_reader *r, const unsigned char *record, size_t len,
                    uint64_t bytes, int64_t rowid, struct rp_cell *cells)
{
    const struct rp_wanted *wanted = r->wanted;

    if (!(r->header_bytes && r->end <= len && memcmp(r->header, record, r->header_bytes) == 0) &&
        !read_header(r, record, len))
        return false;
    /* Columns that do not fill the record are damage to SQLite, too, where it comes to the last. */
    if (r->is_last && r->end != bytes)
        return false;
    for (size_t k = 0; k < wanted->rowid_count; k++)
        cells[wanted->rowids[k]] = (struct rp_cell){.number = rowid, .type = RP_CELL_INTEGER};
    for (size_t k = 0; k < wanted->column_count; k++)
        put_value(r->values[k].type, record + r->values[k].offset, r->values[k].len,
                  &cells[wanted->columns[k].value]);
    return true;
}

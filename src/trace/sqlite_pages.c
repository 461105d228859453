/* Rows of a table from the leaves of its tree. Why this is not left to SQLite:
 * docs/contributing.md. Whatever is unusual, and all that is damaged, is left to it: this only ever
 * stops there. */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "trace/rocpd_schema.h"

/* Records of tables follow the SQLite file format, section 2.1. */

enum { RECORD_VALUES = 64, RECORD_PAD_BYTES = 8, RECORD_HEADER_BYTES = 64 };

/** This says which columns of a table are wanted, and where. */
struct wanted {
    struct {
        uint16_t column;      /**< of the record */
        uint16_t value;       /**< index of the cell */
    } columns[RECORD_VALUES]; /**< in the order of the record */
    size_t column_count;
    uint16_t rowids[RECORD_VALUES]; /**< cells that are the row's id */
    size_t rowid_count;
};

/**
 * This reads pages of a database through the file that SQLite has open. Release it with
 * pages_free().
 */
struct pages {
    sqlite3_file *file;    /**< SQLite's: another descriptor of it, closed, would end its locks */
    sqlite3_stmt *reading; /**< holds the read transaction */
    uint32_t page_bytes;
    uint32_t usable_bytes; /**< of a page */
    uint32_t page_count;
    unsigned char *window; /**< pages that follow each other */
    uint32_t first, count; /**< its pages */
    uint32_t ahead;        /**< pages read at once: more as long as they follow each other */
    uint64_t *read;        /**< in all, added up here, or NULL */
};

/**
 * Reads records of one table. Most have the header of the one before: what follows from that is
 * kept. Set wanted, else zero-initialise.
 */
struct record_reader {
    const struct wanted *wanted;
    unsigned char header[RECORD_HEADER_BYTES]; /**< of the last record */
    size_t header_bytes;                       /**< 0: there is none to compare with */
    uint64_t end;                              /**< of the last value wanted */
    bool is_last;                              /**< which the record ends with */
    struct {
        uint32_t offset, len; /**< len: of a text */
        uint8_t type;         /**< serial type; that of texts and blobs is the first of theirs */
    } values[RECORD_VALUES];  /**< wanted columns */
};

static size_t varint_long(const unsigned char *at, const unsigned char *end, uint64_t *ret);

/**
 * Returns the number of bytes of a varint that begins here, at most nine. 0: it does not end
 * before @p end
 */
static inline size_t varint(const unsigned char *at, const unsigned char *end, uint64_t *ret)
{
    if (at < end && *at < 0x80) {
        *ret = *at;
        return 1;
    }
    return varint_long(at, end, ret);
}

/** Reads a varint that may be longer than a byte. */
static size_t varint_long(const unsigned char *at, const unsigned char *end, uint64_t *ret)
{
    uint64_t number = 0;

    for (size_t i = 0; i < 9 && at + i < end; i++) {
        if (i == 8) { /* The ninth byte contributes eight bits. */
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

/* The serial types are: 0 NULL, 1 to 6 integers, 7 a double, 8 and 9 the numbers 0 and 1, 10 and
 * 11 none, from 12 blobs and texts.
 */
enum { TYPE_NULL = 0, TYPE_REAL = 7, TYPE_ZERO = 8, TYPE_ONE = 9, TYPE_NONE = 10, TYPE_BYTES = 12 };

static const uint8_t number_bytes[TYPE_BYTES] = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0};

static uint64_t be64(const unsigned char *at)
{
    uint64_t number;

    memcpy(&number, at, sizeof number);
    return __builtin_bswap64(number);
}

/* For each number type this gives how far to shift its bytes, which are the first of eight, to
 * their place.
 */
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
        ret->type = isnan(ret->real) ? RP_CELL_NULL : RP_CELL_REAL; /* SQLite reads NaN as NULL. */
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

/* Finds by the header where the wanted values are. @return false: they cannot be in a record of
 * that many bytes
 */
static bool read_header(struct record_reader *r, const unsigned char *record, size_t len)
{
    const unsigned char *at, *end;
    uint64_t header_bytes, offset, next_offset, type = 0, bytes = 0;
    size_t used = varint(record, record + len, &header_bytes);
    uint32_t next = 0; /* The column whose type at points to comes next. */

    r->header_bytes = 0;
    if (!used || header_bytes < used || header_bytes > len)
        return false;
    at = record + used;
    end = record + header_bytes;
    offset = next_offset = header_bytes;
    for (size_t k = 0; k < r->wanted->column_count; k++) {
        for (; next <= r->wanted->columns[k].column; next++) {
            used = varint(at, end, &type);
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

/**
 * Reads the wanted values. @p len of the record's @p bytes are there and RECORD_PAD_BYTES behind
 * them can be read; the rest is elsewhere.
 * @return false: the record is damaged, has fewer columns, or a value is not wholly there
 */
static bool record_read(struct record_reader *r, const unsigned char *record, size_t len,
                        uint64_t bytes, int64_t rowid, struct rp_cell *cells)
{
    const struct wanted *wanted = r->wanted;

    if (!(r->header_bytes && r->end <= len && memcmp(r->header, record, r->header_bytes) == 0) &&
        !read_header(r, record, len))
        return false;
    /* SQLite also treats a record whose columns do not fill it as damaged when it reads the last
     * column.
     */
    if (r->is_last && r->end != bytes)
        return false;
    for (size_t k = 0; k < wanted->rowid_count; k++)
        cells[wanted->rowids[k]] = (struct rp_cell){.number = rowid, .type = RP_CELL_INTEGER};
    for (size_t k = 0; k < wanted->column_count; k++)
        put_value(r->values[k].type, record + r->values[k].offset, r->values[k].len,
                  &cells[wanted->columns[k].value]);
    return true;
}

/* The offsets in the header are those of the SQLite file format, section 1.3. */
enum {
    HEADER_BYTES = 100,
    AT_PAGE_SIZE = 16,
    AT_READ_VERSION = 19,
    AT_RESERVED = 20,
    AT_CHANGES = 24, /**< counter of changes; the next is right if this was it */
    AT_PAGE_COUNT = 28,
    AT_ENCODING = 56,
    AT_COUNTED_AT = 92,
    VERSION_WAL = 2,
    LEAST_PAGE_BYTES = 512,
    LEAST_USABLE_BYTES = 480,
};

/* In WAL mode the newest pages may be in the log, unless the file is opened as one that nobody
 * writes to. */
static bool log_may_matter(sqlite3 *db, const unsigned char *head)
{
    const char *name = sqlite3_db_filename(db, "main");

    return head[AT_READ_VERSION] >= VERSION_WAL &&
           !(name && sqlite3_uri_boolean(name, "immutable", 0));
}

static uint32_t number_at(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* Counts pages by the SQLite file format, section 1.3.7: the header's count holds unless an old
 * SQLite has written since. Bytes behind the last page are ignored, but a file that is too short
 * is damaged.
 */
static bool count_pages(const unsigned char *head, struct pages *pages)
{
    const uint32_t count = number_at(head + AT_PAGE_COUNT);

    if (count && number_at(head + AT_CHANGES) == number_at(head + AT_COUNTED_AT)) {
        if (count > pages->page_count)
            return false;
        pages->page_count = count;
    }
    return true;
}

static bool pages_read_header(sqlite3 *db, struct pages *pages)
{
    static const unsigned char utf8[] = {0, 0, 0, 1};
    unsigned char head[HEADER_BYTES];
    sqlite3_file *file = pages->file;
    sqlite3_int64 bytes = 0;

    if (file->pMethods->xFileSize(file, &bytes) != SQLITE_OK || bytes < HEADER_BYTES ||
        file->pMethods->xRead(file, head, HEADER_BYTES, 0) != SQLITE_OK)
        return false;
    pages->page_bytes = (uint32_t)head[AT_PAGE_SIZE] << 8 | head[AT_PAGE_SIZE + 1];
    pages->page_bytes = pages->page_bytes == 1 ? RP_LARGEST_PAGE_BYTES : pages->page_bytes;
    pages->usable_bytes = pages->page_bytes - head[AT_RESERVED];
    if (pages->page_bytes < LEAST_PAGE_BYTES || (pages->page_bytes & (pages->page_bytes - 1)) ||
        pages->usable_bytes < LEAST_USABLE_BYTES ||
        memcmp(head + AT_ENCODING, utf8, sizeof utf8) != 0 || log_may_matter(db, head))
        return false;
    bytes /= pages->page_bytes;
    pages->page_count = bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX - 1;
    return count_pages(head, pages);
}

/* A statement that is not at its end keeps writers away. */
static bool hold(sqlite3 *db, struct pages *pages)
{
    return sqlite3_prepare_v2(db, "SELECT 1 FROM sqlite_master", -1, &pages->reading, NULL) ==
               SQLITE_OK &&
           sqlite3_step(pages->reading) == SQLITE_ROW;
}

static void pages_free(struct pages *pages)
{
    sqlite3_finalize(pages->reading);
    free(pages->window);
    *pages = (struct pages){0};
}

/**
 * Begins reading. Nothing is written to the file until pages_free.
 * @return false: these pages can only be read by SQLite
 */
static bool pages_begin(sqlite3 *db, struct pages *ret)
{
    struct pages pages = {.ahead = 1};

    /* A connection that writes may keep its changes in memory only. */
    if (sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &pages.file) == SQLITE_OK &&
        pages.file && pages.file->pMethods && sqlite3_db_readonly(db, "main") == 1 &&
        hold(db, &pages) && pages_read_header(db, &pages))
        pages.window = calloc(1, RP_LARGEST_PAGE_BYTES + RECORD_PAD_BYTES);
    if (!pages.window) {
        pages_free(&pages);
        return false;
    }
    *ret = pages;
    return true;
}

/**
 * Returns a page (the first is 1), which is valid until the next call; RECORD_PAD_BYTES behind it
 * can be read. NULL: there is no such page, or it cannot be read
 */
static const unsigned char *pages_at(struct pages *pages, uint32_t number)
{
    uint32_t most = RP_LARGEST_PAGE_BYTES / pages->page_bytes, left;

    if (number < 1 || number > pages->page_count)
        return NULL;
    if (number - pages->first >= pages->count) {
        left = pages->page_count - number + 1;
        pages->ahead = pages->count && number == pages->first + pages->count ? pages->ahead * 2 : 1;
        pages->ahead = pages->ahead < most ? pages->ahead : most;
        pages->first = number;
        pages->count = pages->ahead < left ? pages->ahead : left;
        if (pages->file->pMethods->xRead(
                pages->file, pages->window, (int)(pages->count * pages->page_bytes),
                (sqlite3_int64)(number - 1) * pages->page_bytes) != SQLITE_OK) {
            pages->count = 0;
            return NULL;
        }
        if (pages->read)
            *pages->read += pages->count;
    }
    return pages->window + (size_t)(number - pages->first) * pages->page_bytes;
}

enum {
    TYPE_INNER = 0x05, /**< of a table */
    TYPE_LEAF = 0x0d,
    INNER_HEADER_BYTES = 12,
    LEAF_HEADER_BYTES = 8,
    AT_CELLS = 3,
    AT_LAST_CHILD = 8,
    CHILD_BYTES = 4,
    LEAST_CELL_BYTES = 6, /**< with its place in the page's array */
    DEEPEST = 20,         /**< SQLite's own limit */
};

struct inner {
    unsigned char *page; /**< a copy: the pages below it are read in between */
    uint32_t next, count;
};

struct walk {
    struct pages *pages;
    struct record_reader reader;
    rp_leaves_fn *fn;
    void *ctx;
    struct rp_cell cells[RECORD_VALUES];
    struct inner inners[DEEPEST];
    int depth;
    uint64_t rows;
    uint32_t pages_left; /**< that a tree may still have: a damaged one may go round in circles */
    bool stopped;
};

static uint32_t be16(const unsigned char *at)
{
    return (uint32_t)at[0] << 8 | at[1];
}

static uint32_t be32(const unsigned char *at)
{
    return be16(at) << 16 | be16(at + 2);
}

/* Returns how much of a record is in the leaf; the rest is in overflow pages. */
static uint64_t local_bytes(uint32_t usable, uint64_t bytes)
{
    uint64_t most = usable - 35, least = (usable - 12) * 32 / 255 - 23, tried;

    if (bytes <= most)
        return bytes;
    tried = least + (bytes - least) % (usable - 4);
    return tried <= most ? tried : least;
}

/* Reads a cell. @return false: SQLite must read it */
static bool read_cell(struct walk *w, const unsigned char *page, uint32_t at)
{
    const unsigned char *end = page + w->pages->usable_bytes, *cell = page + at;
    uint64_t bytes, rowid, here;
    size_t used = varint(cell, end, &bytes);

    if (!used)
        return false;
    cell += used;
    used = varint(cell, end, &rowid);
    cell += used;
    here = local_bytes(w->pages->usable_bytes, bytes);
    return used && here <= (uint64_t)(end - cell) &&
           record_read(&w->reader, cell, here, bytes, (int64_t)rowid, w->cells);
}

/* Checks the number of a page's cells as SQLite does, which finds a page damaged if it has more
 * cells than room, or none although it is not the whole table.
 */
static bool is_count(const struct walk *w, uint32_t count, bool may_be_empty)
{
    return (count || may_be_empty) &&
           count <= (w->pages->page_bytes - LEAF_HEADER_BYTES) / LEAST_CELL_BYTES;
}

static int read_leaf(struct walk *w, const unsigned char *page)
{
    uint32_t count = be16(page + AT_CELLS), behind = LEAF_HEADER_BYTES + 2 * count;
    int result = 0;

    if (behind > w->pages->usable_bytes || !is_count(w, count, w->depth == 0)) {
        w->stopped = true;
        return 0;
    }
    for (uint32_t i = 0; i < count && result == 0; i++) {
        uint32_t at = be16(page + LEAF_HEADER_BYTES + 2 * i);
        if (at < behind || at >= w->pages->usable_bytes || !read_cell(w, page, at)) {
            w->stopped = true;
            return 0;
        }
        w->rows++;
        result = w->fn(w->ctx, w->cells);
    }
    return result;
}

/* Keeps the page until its children are read. @return false: SQLite must read it */
static bool enter(struct walk *w, const unsigned char *page)
{
    struct inner *inner = &w->inners[w->depth];
    uint32_t count = be16(page + AT_CELLS);

    if (w->depth == DEEPEST || !is_count(w, count, false) ||
        INNER_HEADER_BYTES + 2 * count > w->pages->usable_bytes)
        return false;
    if (!inner->page && !(inner->page = malloc(w->pages->page_bytes)))
        return false;
    memcpy(inner->page, page, w->pages->page_bytes);
    inner->next = 0;
    inner->count = count;
    w->depth++;
    return true;
}

/* Returns the next page of the innermost page that has any left, or 0. A number may also name a
 * page that does not exist.
 */
static uint32_t next_child(struct walk *w)
{
    while (w->depth) {
        struct inner *inner = &w->inners[w->depth - 1];
        uint32_t at, i = inner->next++;
        if (i == inner->count)
            return be32(inner->page + AT_LAST_CHILD);
        if (i > inner->count) {
            w->depth--;
            continue;
        }
        at = be16(inner->page + INNER_HEADER_BYTES + 2 * i);
        if (at < INNER_HEADER_BYTES + 2 * inner->count || at + CHILD_BYTES > w->pages->usable_bytes)
            return UINT32_MAX;
        return be32(inner->page + at);
    }
    return 0;
}

/**
 * Hands over the rows of the table whose tree has that root.
 * @param ret_rows  counts them
 * @return 0, also when rows are left; or what fn returned
 */
static int leaves_each(struct pages *pages, uint32_t root, const struct wanted *wanted,
                       rp_leaves_fn *fn, void *ctx, uint64_t *ret_rows, bool *ret_all)
{
    struct walk w = {.pages = pages,
                     .reader.wanted = wanted,
                     .fn = fn,
                     .ctx = ctx,
                     .pages_left = pages->page_count};
    int result = 0;

    for (uint32_t number = root; result == 0 && !w.stopped; number = next_child(&w)) {
        /* The first page begins with the file's header, and is the root of the schema. */
        const unsigned char *page = number > 1 && w.pages_left ? pages_at(pages, number) : NULL;
        if (number == 0 && w.depth == 0)
            break;
        w.pages_left--;
        if (page && page[0] == TYPE_LEAF)
            result = read_leaf(&w, page);
        else
            w.stopped = !page || page[0] != TYPE_INNER || !enter(&w, page);
    }
    for (int i = 0; i < DEEPEST; i++)
        free(w.inners[i].page);
    *ret_rows = w.rows;
    *ret_all = !w.stopped;
    return result;
}

/*
 * SQLite explains a statement as the program of its virtual machine. One that goes through a table
 * is
 *     OpenRead cursor root
 *     Rewind cursor
 *       Rowid cursor - register | Column cursor column register     (one per argument)
 *       AggStep - first-register - function - count
 *     Next cursor
 * within operations that begin and end it. A filter, a join, an order, an index, an expression all
 * need others.
 */
enum stage { BEFORE, OPEN, IN_ROW, STEPPED, AFTER };

struct reading {
    const char *aggregate;
    enum stage stage;
    int cursor;
    int64_t root;
    struct {
        int reg, column; /**< -1: the row's id */
    } loads[RECORD_VALUES];
    int load_count, first_reg, arg_count;
};

struct op {
    const char *name, *p4;
    int p1, p2, p3, p5;
};

static bool is(const struct op *op, const char *name)
{
    return strcmp(op->name, name) == 0;
}

static bool is_one_of(const struct op *op, const char *const *names)
{
    while (*names && !is(op, *names))
        names++;
    return *names != NULL;
}

/* An index is opened with a description of its keys, a table with its number of columns. */
static bool open_table(struct reading *r, const struct op *op)
{
    if (!is(op, "OpenRead") || op->p2 < 2 || op->p3 != 0 || op->p5 != 0 ||
        strspn(op->p4, "0123456789") != strlen(op->p4))
        return false;
    r->cursor = op->p1;
    r->root = op->p2;
    r->stage = OPEN;
    return true;
}

static bool load(struct reading *r, const struct op *op)
{
    bool rowid = is(op, "Rowid");

    if (!(rowid || is(op, "Column")) || op->p1 != r->cursor || op->p5 != 0 ||
        r->load_count == RECORD_VALUES || (!rowid && (op->p2 < 0 || op->p2 > UINT16_MAX)))
        return false;
    r->loads[r->load_count].reg = rowid ? op->p2 : op->p3;
    r->loads[r->load_count++].column = rowid ? -1 : op->p2;
    return true;
}

static bool step(struct reading *r, const struct op *op)
{
    size_t len = strlen(r->aggregate);

    if (!is(op, "AggStep") || op->p1 != 0 || strncmp(op->p4, r->aggregate, len) != 0 ||
        op->p4[len] != '(' || op->p5 != r->load_count)
        return false;
    r->first_reg = op->p2;
    r->arg_count = op->p5;
    r->stage = STEPPED;
    return true;
}

static bool take_op(struct reading *r, const struct op *op)
{
    static const char *const before[] = {"Init", "Null", NULL};
    static const char *const after[] = {"AggFinal", "Copy",        "SCopy", "ResultRow",
                                        "Halt",     "Transaction", "Goto",  NULL};

    if (is(op, "Explain") || is(op, "Noop"))
        return true;
    switch (r->stage) {
    case BEFORE:
        return is_one_of(op, before) || open_table(r, op);
    case OPEN:
        r->stage = IN_ROW;
        return is(op, "Rewind") && op->p1 == r->cursor;
    case IN_ROW:
        return load(r, op) || step(r, op);
    case STEPPED:
        r->stage = AFTER;
        return is(op, "Next") && op->p1 == r->cursor;
    case AFTER:
        return is_one_of(op, after);
    }
    return false;
}

static int by_column(const void *a, const void *b)
{
    const uint16_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static bool put_wanted(const struct reading *r, struct wanted *ret)
{
    bool filled[RECORD_VALUES] = {false};

    *ret = (struct wanted){0};
    if (r->stage != AFTER || r->arg_count != r->load_count)
        return false;
    for (int i = 0; i < r->load_count; i++) {
        int value = r->loads[i].reg - r->first_reg;
        if (value < 0 || value >= r->arg_count || filled[value])
            return false;
        filled[value] = true;
        if (r->loads[i].column < 0) {
            ret->rowids[ret->rowid_count++] = (uint16_t)value;
        } else {
            ret->columns[ret->column_count].column = (uint16_t)r->loads[i].column;
            ret->columns[ret->column_count++].value = (uint16_t)value;
        }
    }
    qsort(ret->columns, ret->column_count, sizeof ret->columns[0], by_column);
    return true;
}

/**
 * Asks SQLite how it would run "SELECT aggregate(column, ...) FROM relation", which sees through
 * views.
 * @param ret_root first page of the table
 * @param ret_wanted the cells are the aggregate's arguments
 * @return false: it does more than hand over stored values, or in a way that is not known here
 */
static bool plan_scan(sqlite3 *db, const char *sql, const char *aggregate, uint32_t *ret_root,
                      struct wanted *ret_wanted)
{
    enum { OPCODE = 1, P1, P2, P3, P4, P5 };
    rp_autobuf explain = {0};
    rp_autostmt *stmt = NULL;
    struct reading r = {.aggregate = aggregate};
    bool known = true;

    rp_buf_printf(&explain, "EXPLAIN %s", sql);
    if (explain.failed || sqlite3_prepare_v2(db, explain.data, -1, &stmt, NULL) != SQLITE_OK)
        return false;
    while (known && sqlite3_step(stmt) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(stmt, OPCODE);
        const char *p4 = (const char *)sqlite3_column_text(stmt, P4);
        const struct op op = {.name = name ? name : "",
                              .p4 = p4 ? p4 : "",
                              .p1 = sqlite3_column_int(stmt, P1),
                              .p2 = sqlite3_column_int(stmt, P2),
                              .p3 = sqlite3_column_int(stmt, P3),
                              .p5 = sqlite3_column_int(stmt, P5)};
        known = take_op(&r, &op);
    }
    if (!known || !put_wanted(&r, ret_wanted))
        return false;
    *ret_root = (uint32_t)r.root;
    return true;
}

int rp_pages_scan(sqlite3 *db, const char *sql, const char *aggregate, struct rp_pages_scan *scan)
{
    struct pages pages;
    struct wanted wanted;
    uint32_t root;
    int result = 0;

    /* Writers wait before the plan is made, else its table could have moved. */
    if (!pages_begin(db, &pages))
        return 0;
    pages.read = &scan->pages_read;
    scan->page_count = pages.page_count;
    if (plan_scan(db, sql, aggregate, &root, &wanted))
        result =
            leaves_each(&pages, root, &wanted, scan->fn, scan->ctx, &scan->rows, &scan->is_all);
    pages_free(&pages);
    return result;
}

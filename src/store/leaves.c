#include "store/leaves.h"

#include <stdlib.h>
#include <string.h>

enum {
    TYPE_INNER = 0x05, /* of a table */
    TYPE_LEAF = 0x0d,
    INNER_HEADER_BYTES = 12,
    LEAF_HEADER_BYTES = 8,
    AT_CELLS = 3,
    AT_LAST_CHILD = 8,
    CHILD_BYTES = 4,
    LEAST_CELL_BYTES = 6, /* with its place in the page's array */
    DEEPEST = 20,         /* SQLite's own limit */
};

struct inner {
    unsigned char *page; /* a copy: the pages below it are read in between */
    uint32_t next, count;
};

struct walk {
    struct rp_pages *pages;
    struct rp_record_reader reader;
    rp_leaves_fn *fn;
    void *ctx;
    struct rp_cell cells[RP_RECORD_VALUES];
    struct inner inners[DEEPEST];
    int depth;
    uint64_t rows;
    uint32_t pages_left; /* that a tree may still have: a damaged one may go round in circles */
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

/* How much of a record is in the leaf; the rest is in overflow pages. */
static uint64_t local_bytes(uint32_t usable, uint64_t bytes)
{
    uint64_t most = usable - 35, least = (usable - 12) * 32 / 255 - 23, tried;

    if (bytes <= most)
        return bytes;
    tried = least + (bytes - least) % (usable - 4);
    return tried <= most ? tried : least;
}

/* False: not for us. */
static bool read_cell(struct walk *w, const unsigned char *page, uint32_t at)
{
    const unsigned char *end = page + w->pages->usable_bytes, *cell = page + at;
    uint64_t bytes, rowid, here;
    size_t used = rp_varint(cell, end, &bytes);

    if (!used)
        return false;
    cell += used;
    used = rp_varint(cell, end, &rowid);
    cell += used;
    here = local_bytes(w->pages->usable_bytes, bytes);
    return used && here <= (uint64_t)(end - cell) &&
           rp_record_read(&w->reader, cell, here, bytes, (int64_t)rowid, w->cells);
}

/* Of a page's cells; as SQLite, which finds a page damaged that has more than there is room for, or
 * none although it is not all of the table. */
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

/* Keeps the page until its children are read. False: not for us. */
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

/* The next page of the innermost one that has any left, 0: none has. Another number may be none
 * of a page. */
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

int rp_leaves_each(struct rp_pages *pages, uint32_t root, const struct rp_wanted *wanted,
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
        const unsigned char *page = number > 1 && w.pages_left ? rp_pages_at(pages, number) : NULL;
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

/**
 * @file pages.h
 * @brief Pages of an SQLite database, read through the file that SQLite has open.
 */
#ifndef RP_STORE_PAGES_H
#define RP_STORE_PAGES_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RP_LARGEST_PAGE_BYTES = 1 << 16 };

/** Zero-initialise; release with rp_pages_free. */
struct rp_pages {
    sqlite3_file *file;    /**< SQLite's: another descriptor of it, closed, would end its locks */
    sqlite3_stmt *reading; /**< holds the read transaction */
    uint32_t page_bytes;
    uint32_t usable_bytes; /**< of a page */
    uint32_t page_count;
    unsigned char *window; /**< pages that follow each other */
    uint32_t first, count; /**< its pages */
    uint32_t ahead;        /**< pages read at once: more as long as they follow each other */
    uint64_t read;         /**< in all */
};

/**
 * Begins reading. Nothing is written to the file until rp_pages_free.
 * @return false: these pages can only be read by SQLite
 */
bool rp_pages_begin(sqlite3 *db, struct rp_pages *ret);
void rp_pages_free(struct rp_pages *pages);

/**
 * A page (the first is 1), until the next call; RP_RECORD_PAD_BYTES behind it can be read.
 * NULL: there is no such page, or it cannot be read
 */
const unsigned char *rp_pages_at(struct rp_pages *pages, uint32_t number);

#endif

#include "store/pages.h"

#include "store/record.h"

#include <stdlib.h>
#include <string.h>

/* The header: SQLite file format, section 1.3. */
enum {
    HEADER_BYTES = 100,
    AT_PAGE_SIZE = 16,
    AT_READ_VERSION = 19,
    AT_RESERVED = 20,
    AT_CHANGES = 24, /* counter of changes; the next is right if this was it */
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

/*
 * SQLite file format, section 1.3.7: what the header says, unless an old SQLite has written since.
 * A file may be longer: what is behind the last page is none. One that is shorter is damaged.
 */
static bool count_pages(const unsigned char *head, struct rp_pages *pages)
{
    const uint32_t count = number_at(head + AT_PAGE_COUNT);

    if (count && number_at(head + AT_CHANGES) == number_at(head + AT_COUNTED_AT)) {
        if (count > pages->page_count)
            return false;
        pages->page_count = count;
    }
    return true;
}

static bool read_header(sqlite3 *db, struct rp_pages *pages)
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
static bool hold(sqlite3 *db, struct rp_pages *pages)
{
    return sqlite3_prepare_v2(db, "SELECT 1 FROM sqlite_master", -1, &pages->reading, NULL) ==
               SQLITE_OK &&
           sqlite3_step(pages->reading) == SQLITE_ROW;
}

bool rp_pages_begin(sqlite3 *db, struct rp_pages *ret)
{
    struct rp_pages pages = {.ahead = 1};

    /* What a connection that writes has changed may be in its memory only. */
    if (sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &pages.file) == SQLITE_OK &&
        pages.file && pages.file->pMethods && sqlite3_db_readonly(db, "main") == 1 &&
        hold(db, &pages) && read_header(db, &pages))
        pages.window = calloc(1, RP_LARGEST_PAGE_BYTES + RP_RECORD_PAD_BYTES);
    if (!pages.window) {
        rp_pages_free(&pages);
        return false;
    }
    *ret = pages;
    return true;
}

void rp_pages_free(struct rp_pages *pages)
{
    sqlite3_finalize(pages->reading);
    free(pages->window);
    *pages = (struct rp_pages){0};
}

const unsigned char *rp_pages_at(struct rp_pages *pages, uint32_t number)
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
        pages->read += pages->count;
    }
    return pages->window + (size_t)(number - pages->first) * pages->page_bytes;
}

#include "capture/region_map.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "capture/capture_open.h"

/* --- writing ------------------------------------------------------------------------------- */

struct rp_region_writer {
    char *path;
    FILE *file;
    struct rp_region_header header;
    struct rp_page_run run;
    XXH3_state_t *hash;
};

static int cannot_write(const struct rp_region_writer *w, struct rp_err *err)
{
    return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot write %s", w->path);
}

static int begin_file(struct rp_region_writer *w, struct rp_err *err)
{
    w->file = rp_create_private_file(w->path);
    return w->file && fwrite(&w->header, sizeof w->header, 1, w->file) == 1 ? 0
                                                                            : cannot_write(w, err);
}

int rp_region_writer_open(const char *path, uint64_t base, uint64_t bytes,
                          enum rp_region_state state, struct rp_region_writer **ret,
                          struct rp_err *err)
{
    struct rp_region_writer *w = calloc(1, sizeof *w);
    int rc = 0;

    if (!w)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    w->header = (struct rp_region_header){.version = RP_REGION_VERSION,
                                          .page_bytes = RP_PAGE_BYTES,
                                          .base = base,
                                          .bytes = bytes,
                                          .state = state};
    memcpy(w->header.magic, RP_REGION_MAGIC, sizeof w->header.magic);
    w->path = strdup(path);
    w->hash = XXH3_createState();
    if (!w->path || !w->hash || XXH3_64bits_reset(w->hash) != XXH_OK)
        rc = rp_fail(err, RP_ENVIRONMENT, "out of memory");
    else if (state == RP_STATE_BEFORE) /* that after it of most regions is never written */
        rc = begin_file(w, err);
    if (rc < 0)
        rp_region_writer_free(w);
    else
        *ret = w;
    return rc;
}

static int put_run(struct rp_region_writer *w, struct rp_err *err)
{
    if (!w->run.pages)
        return 0;
    if (!w->file && begin_file(w, err) < 0)
        return -RP_ENVIRONMENT;
    XXH3_64bits_update(w->hash, &w->run, sizeof w->run);
    w->header.run_count++;
    return fwrite(&w->run, sizeof w->run, 1, w->file) == 1 ? 0 : cannot_write(w, err);
}

int rp_region_writer_add(struct rp_region_writer *w, uint64_t page, uint64_t stored,
                         struct rp_err *err)
{
    struct rp_page_run *run = &w->run;
    const bool follows = run->pages && page == run->page + run->pages &&
                         (run->stored == RP_STORED_ZERO ? stored == RP_STORED_ZERO
                                                        : stored == run->stored + run->pages);
    int rc;

    if (follows) {
        run->pages++;
        return 0;
    }
    rc = put_run(w, err);
    *run = (struct rp_page_run){.page = page, .pages = 1, .stored = stored};
    return rc;
}

int rp_region_writer_finish(struct rp_region_writer *w, struct rp_err *err)
{
    int rc = put_run(w, err);

    if (rc == 0 && !w->file)
        rc = begin_file(w, err);
    w->header.hash = XXH3_64bits_digest(w->hash);
    if (rc == 0 &&
        (fseek(w->file, 0, SEEK_SET) < 0 || fwrite(&w->header, sizeof w->header, 1, w->file) != 1 ||
         fflush(w->file) == EOF))
        rc = cannot_write(w, err);
    rp_region_writer_free(w);
    return rc;
}

void rp_region_writer_free(struct rp_region_writer *w)
{
    if (!w)
        return;
    if (w->file)
        fclose(w->file);
    XXH3_freeState(w->hash);
    free(w->path);
    free(w);
}

/* --- reading ------------------------------------------------------------------------------- */

static int check_header(const char *name, const struct rp_region_header *h, size_t size,
                        struct rp_err *err)
{
    if (size < sizeof *h || memcmp(h->magic, RP_REGION_MAGIC, sizeof h->magic) != 0)
        return rp_fail(err, RP_BAD_INPUT, "%s is no map of a captured region", name);
    if (h->version != RP_REGION_VERSION || h->page_bytes != RP_PAGE_BYTES)
        return rp_fail(err, RP_BAD_INPUT,
                       "%s is of version %" PRIu32 " with pages of %" PRIu32
                       " bytes: this program reads version %d with pages of %d",
                       name, h->version, h->page_bytes, RP_REGION_VERSION, RP_PAGE_BYTES);
    if (h->state > RP_STATE_AFTER || h->bytes > UINT64_MAX - h->base)
        return rp_fail(err, RP_BAD_INPUT, "%s is damaged: its header makes no sense", name);
    if ((size - sizeof *h) / sizeof(struct rp_page_run) != h->run_count ||
        (size - sizeof *h) % sizeof(struct rp_page_run))
        return rp_fail(err, RP_BAD_INPUT,
                       "%s is cut short or damaged: %zu bytes do not hold %" PRIu64 " runs", name,
                       size, h->run_count);
    return 0;
}

static bool is_sound(const struct rp_page_run *run, uint64_t from_page, uint64_t page_count,
                     uint64_t stored_pages)
{
    return run->page >= from_page && run->page < page_count && run->pages > 0 &&
           run->pages <= page_count - run->page &&
           (run->stored == RP_STORED_ZERO ||
            (run->stored < stored_pages && run->pages <= stored_pages - run->stored));
}

int rp_region_map_parse(const char *name, const void *bytes, size_t size, uint64_t stored_pages,
                        struct rp_region_map *ret, struct rp_err *err)
{
    const struct rp_region_header *h = bytes;
    const struct rp_page_run *runs = (const void *)((const char *)bytes + sizeof *h);
    uint64_t from_page = 0;
    int rc = check_header(name, h, size, err);

    if (rc < 0)
        return rc;
    if (XXH3_64bits(runs, size - sizeof *h) != h->hash)
        return rp_fail(err, RP_BAD_INPUT, "%s is damaged: its runs are not those that were written",
                       name);
    for (uint64_t i = 0; i < h->run_count; i++) {
        if (!is_sound(&runs[i], from_page, rp_pages_of(h->bytes), stored_pages))
            return rp_fail(err, RP_BAD_INPUT,
                           "%s is damaged: run %" PRIu64 " (page %" PRIu64 ", %" PRIu64
                           " pages) goes back or beyond an end",
                           name, i, runs[i].page, runs[i].pages);
        from_page = runs[i].page + runs[i].pages;
    }
    *ret = (struct rp_region_map){.header = *h, .runs = runs};
    return 0;
}

int rp_region_map_open(const char *path, uint64_t stored_pages, struct rp_region_map *ret,
                       struct rp_err *err)
{
    rp_autoclose int fd = -1;
    struct rp_region_map map;
    struct stat st;
    void *bytes;
    int rc = rp_capture_open_file(path, &fd, err);

    if (rc < 0)
        return rc;
    if (fstat(fd, &st) < 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot read %s", path);
    if ((size_t)st.st_size < sizeof(struct rp_region_header))
        return rp_fail(err, RP_BAD_INPUT, "%s is no map of a captured region", path);
    bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot read %s", path);
    rc = rp_region_map_parse(path, bytes, (size_t)st.st_size, stored_pages, &map, err);
    if (rc < 0) {
        munmap(bytes, (size_t)st.st_size);
        return rc;
    }
    map.mapped = bytes;
    map.mapped_bytes = (size_t)st.st_size;
    *ret = map;
    return 0;
}

void rp_region_map_close(struct rp_region_map *map)
{
    if (map->mapped)
        munmap(map->mapped, map->mapped_bytes);
    memset(map, 0, sizeof *map);
}

const struct rp_page_run *rp_region_map_find(const struct rp_region_map *map, uint64_t page)
{
    uint64_t low = 0, high = map->header.run_count;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;

        if (map->runs[middle].page + map->runs[middle].pages <= page)
            low = middle + 1;
        else
            high = middle;
    }
    return low < map->header.run_count ? &map->runs[low] : NULL;
}

/* Writes a capture folder (docs/formats.md) as its contents come, in bounded memory.
 *
 * It grows in "<folder>.partial-<pid>" and gets its name when it is whole and on the disk.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "base/path.h"
#include "base/process.h"
#include "base/vec.h"
#include "trace/capture.h"

/* --- maps of regions --------------------------------------------------------------------- */

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

/* Closes the file as it is; NULL is accepted. */
static void region_writer_free(struct rp_region_writer *w)
{
    if (!w)
        return;
    if (w->file)
        fclose(w->file);
    XXH3_freeState(w->hash);
    free(w->path);
    free(w);
}

/* The file of the state after the dispatch comes with its second run, or at the end. */
static int region_writer_open(const char *path, uint64_t base, uint64_t bytes,
                              enum rp_region_state state, struct rp_region_writer **ret,
                              struct rp_err *err)
{
    struct rp_region_writer *w = calloc(1, sizeof *w);
    int rc = 0;

    if (!w)
        return rp_out_of_memory(err);
    w->header = (struct rp_region_header){.version = RP_REGION_VERSION,
                                          .page_bytes = RP_PAGE_BYTES,
                                          .base = base,
                                          .bytes = bytes,
                                          .state = state};
    memcpy(w->header.magic, RP_REGION_MAGIC, sizeof w->header.magic);
    w->path = strdup(path);
    w->hash = XXH3_createState();
    if (!w->path || !w->hash || XXH3_64bits_reset(w->hash) != XXH_OK)
        rc = rp_out_of_memory(err);
    else if (state == RP_STATE_BEFORE)
        /* For most regions the state after the dispatch is never written. */
        rc = begin_file(w, err);
    if (rc < 0)
        region_writer_free(w);
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

/* Adds a page; pages must come in rising order. @param stored or RP_STORED_ZERO */
static int region_writer_add(struct rp_region_writer *w, uint64_t page, uint64_t stored,
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

/* Completes the file, which is not synced to the disk yet, and frees the writer even on failure. */
static int region_writer_finish(struct rp_region_writer *w, struct rp_err *err)
{
    int rc = put_run(w, err);

    if (rc == 0 && !w->file)
        rc = begin_file(w, err);
    w->header.hash = XXH3_64bits_digest(w->hash);
    if (rc == 0 &&
        (fseek(w->file, 0, SEEK_SET) < 0 || fwrite(&w->header, sizeof w->header, 1, w->file) != 1 ||
         fflush(w->file) == EOF))
        rc = cannot_write(w, err);
    region_writer_free(w);
    return rc;
}

/** Removes what was not finished; NULL is accepted. */
static void capture_free(struct rp_capture_writer *w)
{
    if (!w)
        return;
    region_writer_free(w->map);
    rp_region_map_close(&w->before);
    rp_page_store_free(w->store);
    if (w->partial)
        rp_remove_tree(w->partial);
    for (size_t i = 0; i < w->count; i++)
        free(w->regions[i].reason);
    free(w->regions);
    free(w->unmapped);
    free(w->partial);
    free(w->folder);
    free(w->symbol);
    free(w->name);
    free(w);
}

/** @return 0; RP_ENVIRONMENT; RP_USAGE: there is something of that name already */
static int capture_begin(const char *folder, struct rp_capture_writer **ret, struct rp_err *err)
{
    struct rp_capture_writer *w;
    int rc = 0;

    if (rp_path_exists(folder))
        return rp_fail(err, RP_USAGE, "%s exists already; remove it or give another folder with -o",
                       folder);
    w = calloc(1, sizeof *w);
    if (!w)
        return rp_out_of_memory(err);
    w->folder = strdup(folder);
    w->partial = rp_format("%s" RP_CAPTURE_PARTIAL "%d", folder, (int)getpid());
    if (!w->folder || !w->partial) {
        capture_free(w);
        return rp_out_of_memory(err);
    }
    rp_remove_tree(w->partial); /* A process with this number that was killed may have left it. */
    for (size_t i = 0; i < 3 && rc == 0; i++) {
        static const char *const folders[] = {"", "memory", "after"};
        rp_autofree char *path = rp_path_join(w->partial, folders[i]);

        rc = path ? rp_mkdirs_private(path, err) : rp_out_of_memory(err);
    }
    if (rc == 0) {
        rp_autofree char *path = rp_path_join(w->partial, RP_CAPTURE_PAGES_FILE);

        rc = path ? rp_page_store_open(path, &w->store, err) : rp_out_of_memory(err);
    }
    if (rc < 0)
        capture_free(w);
    else
        *ret = w;
    return rc;
}

static void capture_hello(struct rp_capture_writer *w, const struct rp_snapshot_hello *hello)
{
    w->hello = *hello;
}

/* The reader requires such a geometry. */
static bool has_geometry(const struct rp_snapshot_dispatch *d)
{
    for (size_t i = 0; i < 3; i++)
        if (d->grid[i] == 0 || d->workgroup[i] == 0)
            return false;
    return (d->setup & 3) > 0;
}

/** @param name  of the kernel, for people */
static int capture_dispatch(struct rp_capture_writer *w,
                            const struct rp_snapshot_dispatch *dispatch, const char *symbol,
                            const char *name, struct rp_err *err)
{
    if (w->symbol)
        return rp_fail(err, RP_BAD_INPUT, "a second dispatch in the same capture");
    if (!has_geometry(dispatch))
        return rp_fail(err, RP_BAD_INPUT, "a dispatch without a grid, workgroup or dimensions");
    w->symbol = strdup(symbol);
    w->name = strdup(name);
    w->dispatch = *dispatch;
    return w->symbol && w->name ? 0 : rp_out_of_memory(err);
}

/** Writes kernarg.bin or kernel.hsaco. */
static int capture_blob(struct rp_capture_writer *w, const char *name, const void *bytes,
                        size_t size, struct rp_err *err)
{
    rp_autofree char *path = rp_path_join(w->partial, name);
    FILE *file = path ? rp_create_private_file(path) : NULL;
    bool good = file && (size == 0 || fwrite(bytes, size, 1, file) == 1);

    if (file)
        good = fclose(file) == 0 && good;
    return good ? 0
                : rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot write %s/%s", w->partial, name);
}

/* --- regions ------------------------------------------------------------------------------- */

static struct rp_captured_region *another_region(struct rp_capture_writer *w, struct rp_err *err)
{
    struct rp_captured_region *region = rp_array_add(&w->regions, &w->count);

    if (region)
        memset(region, 0, sizeof *region);
    else
        rp_out_of_memory(err);
    return region;
}

static int check_region(const struct rp_snapshot_region *region, struct rp_err *err)
{
    if (rp_memory_class_name(region->memory_class) && region->bytes > 0 &&
        region->bytes <= UINT64_MAX - region->base)
        return 0;
    return rp_fail(err, RP_BAD_INPUT,
                   "a region at 0x%" PRIx64 " with %" PRIu64 " bytes of class %" PRIu32
                   " makes no sense",
                   region->base, region->bytes, region->memory_class);
}

static char *map_path(const struct rp_capture_writer *w, const char *folder, uint64_t base)
{
    return rp_format("%s/%s/" RP_CAPTURE_REGION_FILE, w->partial, folder, base);
}

/* A page that was zero at the end and is not named counts as unchanged, so it must be named. */
static int put_zeros(struct rp_capture_writer *w, uint64_t upto_page, struct rp_err *err)
{
    const struct rp_page_run *run = rp_region_map_find(&w->before, w->next_page);
    const struct rp_page_run *end = w->before.runs + w->before.header.run_count;

    for (; run && run < end && run->page < upto_page; run++) {
        uint64_t from = run->page > w->next_page ? run->page : w->next_page;
        uint64_t to = run->page + run->pages < upto_page ? run->page + run->pages : upto_page;

        for (uint64_t page = from; page < to; page++) {
            int rc = region_writer_add(w->map, page, RP_STORED_ZERO, err);

            if (rc < 0)
                return rc;
            w->regions[w->at].changed_pages++;
        }
    }
    return 0;
}

/* Completes the map of the region begun last. There is none of changes where nothing has changed.
 */
static int end_region(struct rp_capture_writer *w, struct rp_err *err)
{
    struct rp_captured_region *region;
    int rc = 0;

    if (!w->map)
        return 0;
    region = &w->regions[w->at];
    if (w->after) {
        rc = put_zeros(w, rp_pages_of(region->region.bytes), err);
        rp_region_map_close(&w->before);
    }
    if (rc == 0 && !(w->after && region->changed_pages == 0))
        rc = region_writer_finish(w->map, err);
    else
        region_writer_free(w->map);
    w->map = NULL;
    return rc;
}

static int begin_before(struct rp_capture_writer *w, const struct rp_snapshot_region *region,
                        struct rp_err *err)
{
    rp_autofree char *path = map_path(w, "memory", region->base);
    struct rp_captured_region *captured;

    if (!path)
        return rp_out_of_memory(err);
    captured = another_region(w, err);
    if (!captured)
        return -RP_ENVIRONMENT;
    captured->region = *region;
    w->at = w->count - 1;
    return region_writer_open(path, region->base, region->bytes, RP_STATE_BEFORE, &w->map, err);
}

static int begin_after(struct rp_capture_writer *w, const struct rp_snapshot_region *region,
                       struct rp_err *err)
{
    rp_autofree char *path = map_path(w, "after", region->base);
    rp_autofree char *before = map_path(w, "memory", region->base);
    int rc;

    if (!path || !before)
        return rp_out_of_memory(err);
    /* They come in the same order as before, so that the search ends at once. */
    for (w->at = w->next_after; w->at < w->count; w->at++)
        if (!w->regions[w->at].reason && w->regions[w->at].region.base == region->base)
            break;
    if (w->at == w->count || w->regions[w->at].region.bytes != region->bytes)
        return rp_fail(err, RP_BAD_INPUT,
                       "the region at 0x%" PRIx64 " was not there before the dispatch",
                       region->base);
    w->next_after = w->at + 1;
    w->regions[w->at].has_after = true;
    rc = rp_region_map_open(before, UINT64_MAX, &w->before, err);
    if (rc == 0)
        rc = region_writer_open(path, region->base, region->bytes, RP_STATE_AFTER, &w->map, err);
    return rc;
}

/** Begins a region; after capture_after: goes on with one of those before. */
static int capture_region(struct rp_capture_writer *w, const struct rp_snapshot_region *region,
                          struct rp_err *err)
{
    int rc = check_region(region, err);

    if (rc == 0)
        rc = end_region(w, err);
    if (rc < 0)
        return rc;
    w->next_page = 0;
    return w->after ? begin_after(w, region, err) : begin_before(w, region, err);
}

static int put_page(struct rp_capture_writer *w, uint64_t page, const uint8_t *bytes,
                    struct rp_err *err)
{
    struct rp_captured_region *region = &w->regions[w->at];
    uint64_t stored;
    int rc;

    if (w->after) {
        const struct rp_page_run *run = rp_region_map_find(&w->before, page);
        bool same;

        stored = run && run->page <= page ? run->stored + (page - run->page) : RP_STORED_ZERO;
        rc = rp_page_store_equals(w->store, stored, bytes, &same, err);
        if (rc < 0 || same)
            return rc;
    } else if (rp_page_is_zero(bytes)) {
        return 0;
    }
    stored = RP_STORED_ZERO;
    if (!rp_page_is_zero(bytes) && (rc = rp_page_store_put(w->store, bytes, &stored, err)) < 0)
        return rc;
    if (w->after)
        region->changed_pages++;
    else
        region->nonzero_pages++;
    return region_writer_add(w->map, page, stored, err);
}

/**
 * Writes pages of the region that was begun last. They come in rising order, and those left out
 * are zero.
 */
static int capture_pages(struct rp_capture_writer *w, uint64_t first_page, const void *pages,
                         size_t count, struct rp_err *err)
{
    const uint64_t all = w->map ? rp_pages_of(w->regions[w->at].region.bytes) : 0;

    if (first_page < w->next_page || first_page > all || count > all - first_page)
        return rp_fail(err, RP_BAD_INPUT,
                       "%zu pages at page %" PRIu64 " are not behind those before, or not within "
                       "their region",
                       count, first_page);
    for (size_t i = 0; i < count; i++) {
        const uint64_t page = first_page + i;
        int rc = w->after ? put_zeros(w, page, err) : 0;

        w->next_page = page + 1;
        if (rc == 0)
            rc = put_page(w, page, (const uint8_t *)pages + i * RP_PAGE_BYTES, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/** Notes a region that is not captured, and why. */
static int capture_refuse(struct rp_capture_writer *w, const struct rp_snapshot_region *region,
                          const char *reason, struct rp_err *err)
{
    int rc = check_region(region, err);
    struct rp_captured_region *refused;

    if (rc == 0)
        rc = end_region(w, err); /* The array may move, so the region ends before it grows. */
    if (rc < 0)
        return rc;
    refused = another_region(w, err);
    if (!refused)
        return -RP_ENVIRONMENT;
    refused->region = *region;
    refused->reason = strdup(reason);
    return refused->reason ? 0 : rp_out_of_memory(err);
}

/** Notes a region that the program announced to the runtime and has unmapped since. */
static int capture_unmapped(struct rp_capture_writer *w, const struct rp_snapshot_region *region,
                            struct rp_err *err)
{
    struct rp_snapshot_region *place;
    int rc = check_region(region, err);

    if (rc < 0)
        return rc;
    place = rp_array_add(&w->unmapped, &w->unmapped_count);
    if (!place)
        return rp_out_of_memory(err);
    *place = *region;
    return 0;
}

/** Begins the state after the dispatch. */
static int capture_after(struct rp_capture_writer *w, struct rp_err *err)
{
    int rc = w->after ? rp_fail(err, RP_BAD_INPUT, "a second state after the dispatch")
                      : end_region(w, err);

    w->after = true;
    return rc;
}

/* --- the end ------------------------------------------------------------------------------- */

static int check_whole(const struct rp_capture_writer *w, struct rp_err *err)
{
    if (!w->symbol || !w->after)
        return rp_fail(err, RP_BAD_INPUT, "the capture ends before the dispatch did");
    for (size_t i = 0; i < w->count; i++)
        if (!w->regions[i].reason && !w->regions[i].has_after)
            return rp_fail(err, RP_BAD_INPUT,
                           "the region at 0x%" PRIx64 " has no state after the dispatch",
                           w->regions[i].region.base);
    return 0;
}

/* --- onto the disk ------------------------------------------------------------------------- */

/* The program has gone on by now: while it is held, nobody waits for a disk. */

static int sync_path(const char *path, struct rp_err *err)
{
    rp_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd >= 0 && (fsync(fd) == 0 || errno == EINVAL || errno == ENOSYS))
        return 0; /* Some file systems cannot sync, and there is no better way. */
    return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot write %s", path);
}

static int sync_entry(const char *folder, const struct dirent *entry, struct rp_err *err)
{
    rp_autofree char *path = NULL;

    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
        return 0;
    path = rp_path_join(folder, entry->d_name);
    return path ? sync_path(path, err) : rp_out_of_memory(err);
}

/* Syncs the files one by one, and then the folder. */
static int sync_folder(const char *folder, struct rp_err *err)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    int rc = dir ? 0 : rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot read %s", folder);

    while (rc == 0 && (entry = readdir(dir)))
        rc = sync_entry(folder, entry, err);
    if (dir)
        closedir(dir);
    return rc < 0 ? rc : sync_path(folder, err);
}

/* Syncing thousands of files one by one takes minutes, where syncing the whole file system takes a
 * second.
 */
static int sync_capture(const struct rp_capture_writer *w, struct rp_err *err)
{
    enum { MANY_REGIONS = 64 };
    static const char *const folders[] = {"memory", "after", "."};
    rp_autoclose int fd = open(w->partial, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = 0;

    if (fd < 0 || (w->count > MANY_REGIONS && syncfs(fd) < 0 && errno != ENOSYS))
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot write %s", w->partial);
    if (w->count > MANY_REGIONS)
        return 0;
    for (size_t i = 0; i < sizeof folders / sizeof *folders && rc == 0; i++) {
        rp_autofree char *path = rp_path_join(w->partial, folders[i]);

        rc = path ? sync_folder(path, err) : rp_out_of_memory(err);
    }
    return rc;
}

/* The name in the folder above. The capture is there: a failure changes nothing. */
static void sync_parent(const char *folder)
{
    rp_autofree char *copy = strdup(folder);
    struct rp_err ignored = RP_ERR_INIT;

    if (copy)
        sync_path(dirname(copy), &ignored);
}

/** Completes the folder and gives it its name. */
static int capture_finish(struct rp_capture_writer *w, const struct rp_capture_origin *origin,
                          struct rp_err *err)
{
    int rc = end_region(w, err);

    if (rc == 0)
        rc = check_whole(w, err);
    if (rc == 0)
        rc = rp_page_store_finish(w->store, err);
    if (rc == 0)
        rc = rp_capture_write_json(w, origin, err);
    if (rc == 0)
        rc = rp_capture_write_checksums(w->partial, err);
    if (rc == 0)
        rc = sync_capture(w, err);
    if (rc == 0)
        rc = rp_proc_interrupted(err);
    if (rc < 0)
        return rc;
    /* A folder that was made in the meantime stays, because rename() only replaces an empty one. */
    if (rename(w->partial, w->folder) < 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot rename %s to %s", w->partial,
                             w->folder);
    sync_parent(w->folder);
    free(w->partial);
    w->partial = NULL;
    return 0;
}

enum { MOST_CODE_BYTES = 1 << 30, MOST_KERNARG_BYTES = 1 << 20 };

struct rp_snapshot_feed {
    const struct rp_snapshot_request *wishes;
    struct rp_snapshot_hello hello;
    bool has_code, has_kernarg;
    struct rp_snapshot_state state;
};

int rp_snapshot_feed_open(const struct rp_snapshot_request *wishes, struct rp_snapshot_feed **ret,
                          struct rp_err *err)
{
    struct rp_snapshot_feed *feed = calloc(1, sizeof *feed);

    if (!feed)
        return rp_out_of_memory(err);
    feed->wishes = wishes;
    *ret = feed;
    return 0;
}

size_t rp_snapshot_max_bytes(uint32_t kind)
{
    switch (kind) {
    case RP_SNAPSHOT_HELLO:
        return sizeof(struct rp_snapshot_hello);
    case RP_SNAPSHOT_BEGIN:
        return sizeof(struct rp_snapshot_dispatch) + RP_SNAPSHOT_MAX_TEXT;
    case RP_SNAPSHOT_CODE:
        return MOST_CODE_BYTES;
    case RP_SNAPSHOT_KERNARG:
        return MOST_KERNARG_BYTES;
    case RP_SNAPSHOT_REGION:
    case RP_SNAPSHOT_UNMAPPED:
        return sizeof(struct rp_snapshot_region);
    case RP_SNAPSHOT_PAGES:
        return sizeof(uint64_t) + (size_t)RP_SNAPSHOT_MAX_PAGES * RP_PAGE_BYTES;
    case RP_SNAPSHOT_FILTERED:
        return sizeof(struct rp_snapshot_filtered);
    case RP_SNAPSHOT_WAITS:
        return sizeof(struct rp_snapshot_waits);
    case RP_SNAPSHOT_REFUSED:
        return sizeof(struct rp_snapshot_region) + RP_SNAPSHOT_MAX_TEXT;
    case RP_SNAPSHOT_KERNEL:
    case RP_SNAPSHOT_DECLINED:
        return RP_SNAPSHOT_MAX_TEXT;
    default:
        return 0;
    }
}

static int nonsense(const struct rp_snapshot_message *m, struct rp_err *err)
{
    return rp_fail(err, RP_BAD_INPUT,
                   "a message of kind %" PRIu32 " with %" PRIu64 " bytes of the tool in the "
                   "program makes no sense here",
                   m->kind, m->bytes);
}

static int take_hello(struct rp_snapshot_feed *feed, const struct rp_snapshot_message *m,
                      const void *bytes, struct rp_err *err)
{
    if (m->bytes != sizeof feed->hello || feed->hello.version)
        return nonsense(m, err);
    memcpy(&feed->hello, bytes, sizeof feed->hello);
    if (feed->hello.version == RP_SNAPSHOT_VERSION)
        return 0;
    return rp_fail(err, RP_BAD_INPUT,
                   "the tool in the program is of another version of rocm-perf-lab (%" PRIu32
                   ", this is %d)",
                   feed->hello.version, RP_SNAPSHOT_VERSION);
}

static int take_kernel(struct rp_snapshot_feed *feed, const struct rp_snapshot_message *m,
                       const void *bytes, uint32_t *ret_reply, struct rp_err *err)
{
    rp_autofree char *symbol = strndup(bytes, m->bytes);
    rp_autofree char *name = symbol ? feed->wishes->name(symbol, feed->wishes->data) : NULL;

    if (!name)
        return rp_out_of_memory(err);
    *ret_reply = feed->wishes->wants(symbol, name, m->code, feed->wishes->data);
    feed->state.seen++;
    feed->state.wanted += *ret_reply;
    return 0;
}

static int take_begin(struct rp_snapshot_feed *feed, const struct rp_snapshot_message *m,
                      const void *bytes, struct rp_err *err)
{
    const struct rp_snapshot_request *wishes = feed->wishes;
    struct rp_snapshot_dispatch dispatch;
    rp_autofree char *symbol = NULL;
    rp_autofree char *name = NULL;
    rp_autofree char *folder = NULL;
    int rc;

    if (m->bytes <= sizeof dispatch || feed->state.writer || (feed->state.done && !wishes->several))
        return nonsense(m, err);
    memcpy(&dispatch, bytes, sizeof dispatch);
    symbol = strndup((const char *)bytes + sizeof dispatch, m->bytes - sizeof dispatch);
    name = symbol ? wishes->name(symbol, wishes->data) : NULL;
    folder = wishes->several
                 ? rp_format("%s/" RP_CAPTURE_SEVERAL_FOLDER, wishes->folder, dispatch.match)
                 : strdup(wishes->folder);
    if (!name || !folder)
        return rp_out_of_memory(err);
    rc = capture_begin(folder, &feed->state.writer, err);
    if (rc < 0)
        return rc;
    feed->state.match = dispatch.match;
    feed->has_code = feed->has_kernarg = false;
    capture_hello(feed->state.writer, &feed->hello);
    return capture_dispatch(feed->state.writer, &dispatch, symbol, name, err);
}

static int take_pages(struct rp_snapshot_feed *feed, const struct rp_snapshot_message *m,
                      const void *bytes, struct rp_err *err)
{
    uint64_t first_page;
    size_t count;

    if (m->bytes < sizeof first_page || (m->bytes - sizeof first_page) % RP_PAGE_BYTES)
        return nonsense(m, err);
    memcpy(&first_page, bytes, sizeof first_page);
    count = (m->bytes - sizeof first_page) / RP_PAGE_BYTES;
    return capture_pages(feed->state.writer, first_page, (const char *)bytes + sizeof first_page,
                         count, err);
}

static int take_region(struct rp_snapshot_feed *feed, const struct rp_snapshot_message *m,
                       const void *bytes, struct rp_err *err)
{
    struct rp_snapshot_region region;
    rp_autofree char *reason = NULL;

    if (m->bytes < sizeof region)
        return nonsense(m, err);
    memcpy(&region, bytes, sizeof region);
    if (m->kind == RP_SNAPSHOT_REGION)
        return capture_region(feed->state.writer, &region, err);
    if (m->kind == RP_SNAPSHOT_UNMAPPED)
        return capture_unmapped(feed->state.writer, &region, err);
    reason = strndup((const char *)bytes + sizeof region, m->bytes - sizeof region);
    if (!reason)
        return rp_out_of_memory(err);
    return capture_refuse(feed->state.writer, &region, reason, err);
}

static int take_end(struct rp_snapshot_feed *feed, const struct rp_snapshot_message *m,
                    struct rp_err *err)
{
    int rc;

    if (!feed->has_code || !feed->has_kernarg)
        return nonsense(m, err);
    rc = capture_finish(feed->state.writer, &feed->wishes->origin, err);
    capture_free(feed->state.writer);
    feed->state.writer = NULL;
    feed->state.done += rc == 0;
    return rc;
}

static int take_declined(struct rp_snapshot_feed *feed, const struct rp_snapshot_message *m,
                         const void *bytes, struct rp_err *err)
{
    capture_free(feed->state.writer);
    feed->state.writer = NULL;
    feed->state.declines++;
    if (!feed->state.declined)
        feed->state.declined = strndup(bytes, m->bytes);
    return feed->state.declined ? 0 : rp_out_of_memory(err);
}

static int take_passed(struct rp_snapshot_feed *feed, const struct rp_snapshot_message *m,
                       const void *bytes, struct rp_err *err)
{
    if (m->bytes != sizeof *feed->state.passed ||
        feed->state.passed_count == RP_SNAPSHOT_MAX_FILTERED)
        return nonsense(m, err);
    memcpy(&feed->state.passed[feed->state.passed_count++], bytes, sizeof *feed->state.passed);
    return 0;
}

static int take_waits(const struct rp_snapshot_feed *feed, const struct rp_snapshot_message *m,
                      const void *bytes, struct rp_err *err)
{
    struct rp_snapshot_waits waits;

    if (m->bytes != sizeof waits)
        return nonsense(m, err);
    memcpy(&waits, bytes, sizeof waits);
    if (feed->wishes->waits)
        feed->wishes->waits(feed->state.match, &waits);
    return 0;
}

/* Takes messages that are parts of a capture. */
static int take_part(struct rp_snapshot_feed *feed, const struct rp_snapshot_message *m,
                     const void *bytes, struct rp_err *err)
{
    if (!feed->state.writer)
        return nonsense(m, err);
    switch (m->kind) {
    case RP_SNAPSHOT_CODE:
        feed->has_code = true;
        return capture_blob(feed->state.writer, RP_CAPTURE_CODE_FILE, bytes, m->bytes, err);
    case RP_SNAPSHOT_KERNARG:
        feed->has_kernarg = true;
        return capture_blob(feed->state.writer, RP_CAPTURE_KERNARG_FILE, bytes, m->bytes, err);
    case RP_SNAPSHOT_REGION:
    case RP_SNAPSHOT_REFUSED:
    case RP_SNAPSHOT_UNMAPPED:
        return take_region(feed, m, bytes, err);
    case RP_SNAPSHOT_PAGES:
        return take_pages(feed, m, bytes, err);
    case RP_SNAPSHOT_WAITS:
        return take_waits(feed, m, bytes, err);
    case RP_SNAPSHOT_AFTER:
        return capture_after(feed->state.writer, err);
    case RP_SNAPSHOT_END:
        return take_end(feed, m, err);
    default:
        return nonsense(m, err);
    }
}

int rp_snapshot_feed_take(struct rp_snapshot_feed *feed, const struct rp_snapshot_message *message,
                          const void *bytes, uint32_t *ret_reply, struct rp_err *err)
{
    if (message->bytes > rp_snapshot_max_bytes(message->kind) ||
        (!feed->hello.version && message->kind != RP_SNAPSHOT_HELLO))
        return nonsense(message, err);
    switch (message->kind) {
    case RP_SNAPSHOT_HELLO:
        return take_hello(feed, message, bytes, err);
    case RP_SNAPSHOT_KERNEL:
        return take_kernel(feed, message, bytes, ret_reply, err);
    case RP_SNAPSHOT_BEGIN:
        return take_begin(feed, message, bytes, err);
    case RP_SNAPSHOT_DECLINED:
        return take_declined(feed, message, bytes, err);
    case RP_SNAPSHOT_FILTERED:
        return take_passed(feed, message, bytes, err);
    default:
        return take_part(feed, message, bytes, err);
    }
}

const struct rp_snapshot_state *rp_snapshot_feed_state(const struct rp_snapshot_feed *feed)
{
    return &feed->state;
}

void rp_snapshot_feed_close(struct rp_snapshot_feed *feed)
{
    if (!feed)
        return;
    capture_free(feed->state.writer);
    free(feed->state.declined);
    free(feed);
}

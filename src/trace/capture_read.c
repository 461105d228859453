/* This file reads capture folders (docs/formats.md). */
#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "trace/capture.h"

struct rp_capture {
    char *folder;
    char *pages_path;
    int pages_fd;
    struct rp_frames frames;
    json_t *dispatch, *regions, *coverage; /* facts and refusals point into them */
    struct rp_capture_contents has;
};

/* --- texts --------------------------------------------------------------------------------- */

static int is_one_of_several(const struct dirent *entry)
{
    static const char start[] = "dispatch-";
    const char *number = entry->d_name + sizeof start - 1;

    return strncmp(entry->d_name, start, sizeof start - 1) == 0 && *number &&
           strspn(number, "0123456789") == strlen(number);
}

/* A capture that was made of several dispatches has a folder for each, and must be refused.
 * @return 0: it has none; or RP_BAD_INPUT naming them
 */
static int refuse_several(const char *folder, struct rp_err *err)
{
    struct dirent **found = NULL;
    const int count = scandir(folder, &found, is_one_of_several, versionsort);

    if (count > 0)
        rp_fail(err, RP_BAD_INPUT, "%s holds %s%s%s%s: name one of them, as in %s/%s", folder,
                found[0]->d_name,
                count > 2   ? ", "
                : count > 1 ? " and "
                            : "",
                count > 1 ? found[1]->d_name : "", count > 2 ? " and more" : "", folder,
                found[0]->d_name);
    for (int i = 0; i < count; i++)
        free(found[i]);
    free(found);
    return count > 0 ? -RP_BAD_INPUT : 0;
}

static int load(const char *folder, const char *name, json_t **ret, struct rp_err *err)
{
    rp_autofree char *path = rp_path_join(folder, name);
    json_error_t why;
    int rc;

    if (!path)
        return rp_out_of_memory(err);
    if (!rp_path_exists(path) && strcmp(name, RP_CAPTURE_DISPATCH_FILE) == 0 &&
        (rc = refuse_several(folder, err)) < 0)
        return rc;
    if (!rp_path_exists(path))
        return rp_fail(err, RP_BAD_INPUT,
                       "%s is missing: %s is no capture, or one that is not complete", path,
                       folder);
    rc = rp_capture_load_json(path, &why, ret, err);
    if (rc < 0)
        return rc;
    if (!*ret)
        return rp_fail(err, RP_BAD_INPUT, "%s is damaged: line %d: %s", path, why.line, why.text);
    return 0;
}

static int damaged(const struct rp_capture *c, const char *name, const char *what,
                   struct rp_err *err)
{
    return rp_fail(err, RP_BAD_INPUT, "%s/%s is damaged: %s", c->folder, name, what);
}

static const char *string_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

static bool read_number(const json_t *object, const char *key, uint64_t most, uint64_t *ret)
{
    const json_t *json = json_object_get(object, key);

    if (!json_is_integer(json) || json_integer_value(json) < 0 ||
        (uint64_t)json_integer_value(json) > most)
        return false;
    *ret = (uint64_t)json_integer_value(json);
    return true;
}

static bool read_u32(const json_t *object, const char *key, uint32_t *ret)
{
    uint64_t value;

    if (!read_number(object, key, UINT32_MAX, &value))
        return false;
    *ret = (uint32_t)value;
    return true;
}

static bool read_address(const json_t *object, const char *key, uint64_t *ret)
{
    const char *text = string_of(object, key);
    char *end;

    if (strncmp(text, "0x", 2) != 0 || strspn(text + 2, "0123456789abcdef") != strlen(text + 2) ||
        strlen(text) < 3 || strlen(text) > 18)
        return false;
    *ret = strtoull(text, &end, 16);
    return true;
}

static bool read_class(const json_t *object, uint32_t *ret)
{
    const char *name = string_of(object, "class");

    for (uint32_t i = 0; i < RP_MEMORY_CLASSES; i++)
        if (strcmp(rp_memory_class_name(i), name) == 0) {
            *ret = i;
            return true;
        }
    return false;
}

static bool read_sizes(const json_t *packet, struct rp_snapshot_dispatch *d)
{
    const json_t *grid = json_object_get(packet, "grid");
    const json_t *workgroup = json_object_get(packet, "workgroup");
    uint64_t dimensions;

    if (json_array_size(grid) != 3 || json_array_size(workgroup) != 3 ||
        !read_number(packet, "dimensions", 3, &dimensions) || dimensions < 1)
        return false;
    d->setup = (uint16_t)dimensions;
    for (size_t i = 0; i < 3; i++) {
        json_int_t g = json_integer_value(json_array_get(grid, i));
        json_int_t w = json_integer_value(json_array_get(workgroup, i));

        if (g < 1 || g > UINT32_MAX || w < 1 || w > UINT16_MAX)
            return false;
        d->grid[i] = (uint32_t)g;
        d->workgroup[i] = (uint16_t)w;
    }
    return true;
}

/* The bits are those of the HSA system architecture, 2.9.1: type in bits 0-7, barrier bit 8,
 * acquire scope 9-10, release scope 11-12. The words are those of capture_files.c.
 */
static bool read_scope(const char *word, unsigned shift, uint16_t *header)
{
    static const char *const scopes[] = {"none", "agent", "system", "reserved"};

    for (unsigned i = 0; i < sizeof scopes / sizeof *scopes; i++)
        if (strcmp(word, scopes[i]) == 0) {
            *header |= (uint16_t)(i << shift);
            return true;
        }
    return false;
}

static bool read_header(struct rp_capture_facts *f, const json_t *packet)
{
    enum { KERNEL_DISPATCH = 2, BARRIER_BIT = 1 << 8, ACQUIRE = 9, RELEASE = 11 };

    f->barrier = json_is_true(json_object_get(packet, "barrier"));
    f->acquire_scope = string_of(packet, "acquire_scope");
    f->release_scope = string_of(packet, "release_scope");
    f->dispatch.header = (uint16_t)(KERNEL_DISPATCH | (f->barrier ? BARRIER_BIT : 0));
    return read_scope(f->acquire_scope, ACQUIRE, &f->dispatch.header) &&
           read_scope(f->release_scope, RELEASE, &f->dispatch.header);
}

/* Older captures do not say which timing they used. */
static const char *timing_of(const json_t *agent)
{
    const char *word = rp_timing_model_today(string_of(agent, "timing")), *known;

    for (uint32_t i = RP_TRACE_TIMING_NONE; i <= RP_TRACE_TIMING_WARM; i++) {
        known = rp_snapshot_timing_word(i);
        if (known && strcmp(word, known) == 0)
            return known;
    }
    return "";
}

static int read_dispatch(struct rp_capture *c, struct rp_err *err)
{
    const json_t *kernel = json_object_get(c->dispatch, "kernel");
    const json_t *packet = json_object_get(c->dispatch, "dispatch");
    const json_t *kernarg = json_object_get(c->dispatch, "kernarg");
    const json_t *agent = json_object_get(c->dispatch, "agent");
    struct rp_capture_facts *f = &c->has.facts;
    struct rp_snapshot_dispatch *d = &f->dispatch;

    if (strcmp(string_of(c->dispatch, "format"), RP_CAPTURE_FORMAT) != 0)
        return damaged(c, RP_CAPTURE_DISPATCH_FILE, "it is not of a capture", err);
    if (json_integer_value(json_object_get(c->dispatch, "format_version")) !=
        RP_CAPTURE_FORMAT_VERSION)
        return rp_fail(err, RP_BAD_INPUT,
                       "%s/%s is of another version of the format; this program reads version %d",
                       c->folder, RP_CAPTURE_DISPATCH_FILE, RP_CAPTURE_FORMAT_VERSION);
    if (!json_is_true(json_object_get(c->dispatch, "complete")))
        return damaged(c, RP_CAPTURE_DISPATCH_FILE, "it says that it is not complete", err);
    if (!read_sizes(packet, d) || !read_header(f, packet) ||
        !read_number(packet, "match", INT64_MAX, &d->match) ||
        !read_number(packet, "dispatch_id", INT64_MAX, &d->dispatch_id) ||
        !read_u32(packet, "private_bytes", &d->private_bytes) ||
        !read_u32(packet, "group_bytes", &d->group_bytes) ||
        !read_u32(packet, "queue", &d->queue_index) ||
        !read_u32(kernarg, "bytes", &d->kernarg_bytes) ||
        !read_u32(kernarg, "align_bytes", &d->kernarg_align_bytes) ||
        !read_address(kernarg, "address", &d->kernarg) ||
        !read_address(kernel, "kernel_object", &d->kernel_object) ||
        !read_address(kernel, "load_base", &d->code_base) ||
        !read_number(kernel, "load_bytes", INT64_MAX, &d->code_bytes) ||
        !read_u32(agent, "node", &d->node) || !*string_of(kernel, "symbol"))
        return damaged(c, RP_CAPTURE_DISPATCH_FILE, "a member is missing or out of range", err);
    /* Older captures have neither. */
    if (!read_u32(packet, "stream", &d->stream))
        d->stream = UINT32_MAX;
    if (!read_u32(agent, "gpu", &d->gpu))
        d->gpu = UINT32_MAX;
    f->name = string_of(kernel, "name");
    f->symbol = string_of(kernel, "symbol");
    f->isa = string_of(agent, "isa");
    f->product = string_of(agent, "product");
    f->software = strcmp(string_of(agent, "device"), "software") == 0;
    f->timing = f->software ? timing_of(agent) : "";
    f->pid = (uint32_t)json_integer_value(
        json_object_get(json_object_get(c->dispatch, "process"), "pid"));
    f->version = string_of(json_object_get(c->dispatch, "provenance"), "rocm_perf_version");
    return 0;
}

/* --- regions ------------------------------------------------------------------------------- */

static bool read_region(const json_t *json, struct rp_snapshot_region *r)
{
    const char *grain = string_of(json, "grain");

    if (!read_address(json, "base", &r->base) ||
        !read_number(json, "bytes", INT64_MAX, &r->bytes) || r->bytes == 0 ||
        r->bytes > UINT64_MAX - r->base || !read_class(json, &r->memory_class))
        return false;
    if (!read_u32(json, "node", &r->node))
        r->node = UINT32_MAX;
    if (strcmp(string_of(json, "location"), "host") == 0)
        r->flags |= RP_MEMORY_HOST;
    if (strcmp(grain, "fine") == 0)
        r->flags |= RP_MEMORY_FINE;
    if (strcmp(grain, "coarse") == 0)
        r->flags |= RP_MEMORY_COARSE;
    if (json_is_true(json_object_get(json, "kernarg")))
        r->flags |= RP_MEMORY_KERNARG;
    if (json_is_true(json_object_get(json, "executable")))
        r->flags |= RP_MEMORY_EXECUTABLE;
    return true;
}

/* @param pages  that the list of regions says it has */
static int open_map(const struct rp_capture *c, const char *folder,
                    const struct rp_snapshot_region *region, enum rp_region_state state,
                    uint64_t pages, struct rp_region_map *ret, struct rp_err *err)
{
    rp_autofree char *path =
        rp_format("%s/%s/" RP_CAPTURE_REGION_FILE, c->folder, folder, region->base);
    uint64_t found = 0;
    int rc;

    if (!path)
        return rp_out_of_memory(err);
    rc = rp_region_map_open(path, c->frames.pages, ret, err);
    if (rc < 0)
        return rc;
    if (ret->header.base != region->base || ret->header.bytes != region->bytes ||
        ret->header.state != (uint32_t)state)
        return rp_fail(err, RP_BAD_INPUT, "%s is damaged: it is the map of another region", path);
    for (uint64_t i = 0; i < ret->header.run_count; i++)
        /* Runs do not overlap, so the sum is at most the region's number of pages. */
        found += ret->runs[i].pages;
    if (found != pages)
        return rp_fail(err, RP_BAD_INPUT,
                       "%s is damaged: it has %" PRIu64 " pages, %s says %" PRIu64, path, found,
                       RP_CAPTURE_REGIONS_FILE, pages);
    return 0;
}

static int read_memory(struct rp_capture *c, struct rp_err *err)
{
    const json_t *list = json_object_get(c->regions, "regions");
    uint64_t stored;
    json_t *json;
    size_t i;

    if (!json_is_array(list) || !read_number(c->regions, "stored_pages", INT64_MAX, &stored))
        return damaged(c, RP_CAPTURE_REGIONS_FILE, "it has no list of regions", err);
    if (stored != c->frames.pages)
        return rp_fail(err, RP_BAD_INPUT,
                       "%s is damaged: it has %" PRIu64 " pages, %" PRIu64 " were written",
                       c->pages_path, c->frames.pages, stored);
    c->has.memory = calloc(json_array_size(list) + 1, sizeof *c->has.memory);
    if (!c->has.memory)
        return rp_out_of_memory(err);
    json_array_foreach(list, i, json)
    {
        struct rp_capture_memory *m = &c->has.memory[c->has.memory_count++];
        int rc;

        if (!read_region(json, &m->region) ||
            !read_number(json, "nonzero_pages", INT64_MAX, &m->nonzero_pages) ||
            !read_number(json, "changed_pages", INT64_MAX, &m->changed_pages))
            return rp_fail(err, RP_BAD_INPUT, "%s/%s is damaged: region %zu", c->folder,
                           RP_CAPTURE_REGIONS_FILE, i);
        rc = open_map(c, "memory", &m->region, RP_STATE_BEFORE, m->nonzero_pages, &m->before, err);
        if (rc == 0 && m->changed_pages)
            rc = open_map(c, "after", &m->region, RP_STATE_AFTER, m->changed_pages, &m->after, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int read_refusals(struct rp_capture *c, struct rp_err *err)
{
    const json_t *list = json_object_get(c->coverage, "refused");
    json_t *json;
    size_t i;

    if (!json_is_array(list))
        return damaged(c, RP_CAPTURE_COVERAGE_FILE, "it has no list of what is refused", err);
    c->has.refusals = calloc(json_array_size(list) + 1, sizeof *c->has.refusals);
    if (!c->has.refusals)
        return rp_out_of_memory(err);
    json_array_foreach(list, i, json)
    {
        struct rp_capture_refusal *r = &c->has.refusals[c->has.refusal_count++];

        r->reason = string_of(json, "reason");
        if (!read_region(json, &r->region) || !*r->reason)
            return rp_fail(err, RP_BAD_INPUT, "%s/%s is damaged: refusal %zu", c->folder,
                           RP_CAPTURE_COVERAGE_FILE, i);
    }
    return 0;
}

/* --- the whole ----------------------------------------------------------------------------- */

static int open_pages(struct rp_capture *c, struct rp_err *err)
{
    int rc;

    c->pages_path = rp_path_join(c->folder, RP_CAPTURE_PAGES_FILE);
    if (!c->pages_path)
        return rp_out_of_memory(err);
    rc = rp_capture_open_file(c->pages_path, &c->pages_fd, err);
    if (rc < 0)
        return rc;
    c->frames.fd = c->pages_fd;
    c->frames.name = c->pages_path;
    rc = rp_frames_scan(&c->frames, err);
    c->has.stored_pages = c->frames.pages;
    return rc;
}

/* The list of checksums is written last. */
static int check_complete(const char *folder, struct rp_err *err)
{
    rp_autofree char *path = rp_path_join(folder, RP_CAPTURE_CHECKSUMS_FILE);

    if (!path)
        return rp_out_of_memory(err);
    if (!rp_path_exists(path))
        return rp_fail(err, RP_BAD_INPUT, "%s is missing: the capture is not complete", path);
    return 0;
}

int rp_capture_open(const char *folder, struct rp_capture **ret, struct rp_err *err)
{
    struct rp_capture *c = calloc(1, sizeof *c);
    int rc;

    if (!c || !(c->folder = strdup(folder))) {
        free(c);
        return rp_out_of_memory(err);
    }
    c->pages_fd = -1;
    rc = load(folder, RP_CAPTURE_DISPATCH_FILE, &c->dispatch, err);
    if (rc == 0)
        rc = check_complete(folder, err);
    if (rc == 0)
        rc = read_dispatch(c, err);
    if (rc == 0)
        rc = load(folder, RP_CAPTURE_REGIONS_FILE, &c->regions, err);
    if (rc == 0)
        rc = load(folder, RP_CAPTURE_COVERAGE_FILE, &c->coverage, err);
    if (rc == 0)
        rc = open_pages(c, err);
    if (rc == 0)
        rc = read_memory(c, err);
    if (rc == 0)
        rc = read_refusals(c, err);
    if (rc < 0)
        rp_capture_close(c);
    else
        *ret = c;
    return rc;
}

void rp_capture_close(struct rp_capture *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->has.memory_count; i++) {
        rp_region_map_close(&c->has.memory[i].before);
        rp_region_map_close(&c->has.memory[i].after);
    }
    rp_frames_free(&c->frames);
    if (c->pages_fd >= 0)
        close(c->pages_fd);
    json_decref(c->dispatch);
    json_decref(c->regions);
    json_decref(c->coverage);
    free(c->has.memory);
    free(c->has.refusals);
    free(c->pages_path);
    free(c->folder);
    free(c);
}

const struct rp_capture_contents *rp_capture_contents(const struct rp_capture *capture)
{
    return &capture->has;
}

static const struct rp_page_run *run_of(const struct rp_region_map *map, uint64_t page)
{
    const struct rp_page_run *run = map->runs ? rp_region_map_find(map, page) : NULL;

    return run && run->page <= page ? run : NULL;
}

int rp_capture_page(struct rp_capture *capture, const struct rp_capture_memory *memory,
                    enum rp_region_state state, uint64_t page, uint8_t ret[RP_PAGE_BYTES],
                    struct rp_err *err)
{
    const struct rp_page_run *run = state == RP_STATE_AFTER ? run_of(&memory->after, page) : NULL;
    const uint8_t *bytes;
    int rc;

    if (page >= rp_pages_of(memory->region.bytes))
        return rp_fail(err, RP_BAD_INPUT, "the region at 0x%" PRIx64 " has no page %" PRIu64,
                       memory->region.base, page);
    if (!run)
        run = run_of(&memory->before, page);
    if (!run || run->stored == RP_STORED_ZERO) {
        memset(ret, 0, RP_PAGE_BYTES);
        return 0;
    }
    rc = rp_frames_page(&capture->frames, run->stored + (page - run->page), &bytes, err);
    if (rc == 0)
        memcpy(ret, bytes, RP_PAGE_BYTES);
    return rc;
}

int rp_capture_verify(struct rp_capture *capture, struct rp_capture_sizes *ret, struct rp_err *err)
{
    int rc = rp_capture_check_checksums(capture->folder, &ret->files, &ret->bytes, err);

    for (uint64_t page = 0; rc == 0 && page < capture->frames.pages; page += RP_FRAME_PAGES) {
        const uint8_t *bytes;

        rc = rp_frames_page(&capture->frames, page, &bytes, err);
    }
    return rc;
}

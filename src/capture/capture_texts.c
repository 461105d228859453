/**
 * @file capture_texts.c
 * @brief The JSON files of a capture folder.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "capture/capture_args.h"
#include "capture/capture_files.h"
#include "capture/capture_parts.h"

static void drop(json_t **json)
{
    json_decref(*json);
}

/* A name that is no UTF-8 has its odd bytes replaced: JSON cannot hold them. */
static json_t *text(const char *string)
{
    json_t *json = json_string(string);
    char *plain;

    if (json)
        return json;
    plain = strdup(string);
    for (char *at = plain; at && *at; at++)
        if ((unsigned char)*at >= 0x80)
            *at = '?';
    json = plain ? json_string(plain) : NULL;
    free(plain);
    return json;
}

/* An address: JSON numbers are no place for 64 bits. */
static json_t *address(uint64_t value)
{
    return json_sprintf("0x%" PRIx64, value);
}

/* Of a field of fixed size that may be full. */
static json_t *field(const uint8_t *bytes, size_t room)
{
    rp_autofree char *copy = strndup((const char *)bytes, room);

    return copy && *copy ? text(copy) : json_null();
}

static int save(const char *folder, const char *name, const json_t *json, struct rp_err *err)
{
    rp_autofree char *path = rp_path_join(folder, name);
    rp_autofree char *bytes = json ? json_dumps(json, JSON_INDENT(2) | JSON_ENSURE_ASCII) : NULL;
    rp_autofree char *line = bytes ? rp_format("%s\n", bytes) : NULL;

    if (!path || !line)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    return rp_write_private_file(path, line, strlen(line), err);
}

/* --- dispatch.json ------------------------------------------------------------------------- */

/* Fields of an AQL packet's header (HSA system architecture, 2.9.1): barrier bit 8, acquire scope
 * 9-10, release scope 11-12. */
static const char *scope(uint16_t header, unsigned shift)
{
    static const char *const scopes[] = {"none", "agent", "system", "reserved"};

    return scopes[header >> shift & 3];
}

static json_t *describe_packet(const struct rp_snapshot_dispatch *d)
{
    return json_pack("{s:I, s:I, s:[III], s:[iii], s:i, s:I, s:I, s:b, s:s, s:s, s:i, s:o}",
                     "match", (json_int_t)d->match, "dispatch_id", (json_int_t)d->dispatch_id,
                     "grid", (json_int_t)d->grid[0], (json_int_t)d->grid[1], (json_int_t)d->grid[2],
                     "workgroup", d->workgroup[0], d->workgroup[1], d->workgroup[2], "dimensions",
                     d->setup & 3, "private_bytes", (json_int_t)d->private_bytes, "group_bytes",
                     (json_int_t)d->group_bytes, "barrier", d->header >> 8 & 1, "acquire_scope",
                     scope(d->header, 9), "release_scope", scope(d->header, 11), "queue",
                     d->queue_index, "stream",
                     d->stream == UINT32_MAX ? json_null() : json_integer(d->stream));
}

static json_t *describe_command(const struct rp_capture_origin *origin)
{
    json_t *command = json_array();

    for (size_t i = 0; origin->command && origin->command[i]; i++)
        json_array_append_new(command, text(origin->command[i]));
    return command;
}

/* How the software device found times in the program. */
static json_t *timing(const struct rp_snapshot_hello *hello)
{
    const char *word = rp_snapshot_timing_word(hello->software ? hello->timing : 0);

    return word ? json_string(word) : json_null();
}

static json_t *describe_dispatch(const struct rp_capture_writer *w,
                                 const struct rp_capture_origin *origin)
{
    const struct rp_snapshot_dispatch *d = &w->dispatch;
    rp_autofree char *code = rp_path_join(w->partial, RP_CAPTURE_CODE_FILE);

    if (!code)
        return NULL;
    return json_pack(
        "{s:s, s:i, s:b, s:{s:o, s:o, s:s, s:o, s:o, s:I}, s:o, s:{s:s, s:o, s:I, s:I, s:o},"
        " s:{s:i, s:o, s:o, s:o, s:s, s:o}, s:{s:i, s:o}, s:{s:s, s:o}}",
        "format", RP_CAPTURE_FORMAT, "format_version", RP_CAPTURE_FORMAT_VERSION, "complete", 1,
        "kernel", "name", text(w->name), "symbol", text(w->symbol), "code_object",
        RP_CAPTURE_CODE_FILE, "kernel_object", address(d->kernel_object), "load_base",
        address(d->code_base), "load_bytes", (json_int_t)d->code_bytes, "dispatch",
        describe_packet(d), "kernarg", "file", RP_CAPTURE_KERNARG_FILE, "address",
        address(d->kernarg), "bytes", (json_int_t)d->kernarg_bytes, "align_bytes",
        (json_int_t)d->kernarg_align_bytes, "arguments", rp_capture_describe_args(code, w->symbol),
        "agent", "node", d->node, "gpu", d->gpu == UINT32_MAX ? json_null() : json_integer(d->gpu),
        "isa", field(d->isa, sizeof d->isa), "product", field(d->product, sizeof d->product),
        "device", w->hello.software ? "software" : "gpu", "timing", timing(&w->hello), "process",
        "pid", w->hello.pid, "command", describe_command(origin), "provenance", "rocm_perf_version",
        origin->version, "rocm", origin->rocm ? text(origin->rocm) : json_null());
}

/* --- memory_regions.json ------------------------------------------------------------------- */

static json_t *describe_region(const struct rp_captured_region *r)
{
    const uint32_t flags = r->region.flags;
    const char *grain = flags & RP_MEMORY_FINE     ? "fine"
                        : flags & RP_MEMORY_COARSE ? "coarse"
                                                   : NULL;

    return json_pack(
        "{s:o, s:I, s:s, s:s, s:o, s:o, s:b, s:b, s:o, s:I, s:o, s:I}", "base",
        address(r->region.base), "bytes", (json_int_t)r->region.bytes, "class",
        rp_memory_class_name(r->region.memory_class), "location",
        flags & RP_MEMORY_HOST ? "host" : "device", "node",
        r->region.node == UINT32_MAX ? json_null() : json_integer(r->region.node), "grain",
        grain ? json_string(grain) : json_null(), "kernarg", (flags & RP_MEMORY_KERNARG) != 0,
        "executable", (flags & RP_MEMORY_EXECUTABLE) != 0, "before",
        json_sprintf("memory/" RP_CAPTURE_REGION_FILE, r->region.base), "nonzero_pages",
        (json_int_t)r->nonzero_pages, "after",
        r->changed_pages ? json_sprintf("after/" RP_CAPTURE_REGION_FILE, r->region.base)
                         : json_null(),
        "changed_pages", (json_int_t)r->changed_pages);
}

static json_t *describe_regions(const struct rp_capture_writer *w)
{
    json_t *regions = json_array();

    for (size_t i = 0; i < w->count; i++)
        if (!w->regions[i].reason)
            json_array_append_new(regions, describe_region(&w->regions[i]));
    return json_pack("{s:i, s:s, s:I, s:o}", "page_bytes", RP_PAGE_BYTES, "pages_file",
                     RP_CAPTURE_PAGES_FILE, "stored_pages",
                     (json_int_t)rp_page_store_pages(w->store), "regions", regions);
}

/* --- coverage.json ------------------------------------------------------------------------- */

static json_t *describe_class(const struct rp_capture_writer *w, uint32_t memory_class)
{
    json_int_t captured = 0, captured_bytes = 0, refused = 0, refused_bytes = 0;

    for (size_t i = 0; i < w->count; i++) {
        const struct rp_captured_region *r = &w->regions[i];

        if (r->region.memory_class != memory_class)
            continue;
        *(r->reason ? &refused : &captured) += 1;
        *(r->reason ? &refused_bytes : &captured_bytes) += (json_int_t)r->region.bytes;
    }
    return json_pack("{s:s, s:I, s:I, s:I, s:I}", "class", rp_memory_class_name(memory_class),
                     "captured", captured, "captured_bytes", captured_bytes, "refused", refused,
                     "refused_bytes", refused_bytes);
}

static json_t *describe_unmapped(const struct rp_snapshot_region *region)
{
    return json_pack("{s:o, s:I, s:s}", "base", address(region->base), "bytes",
                     (json_int_t)region->bytes, "class",
                     rp_memory_class_name(region->memory_class));
}

static json_t *describe_coverage(const struct rp_capture_writer *w)
{
    json_t *classes = json_array(), *refused = json_array(), *unmapped = json_array();

    for (uint32_t i = 0; i < RP_MEMORY_CLASSES; i++)
        json_array_append_new(classes, describe_class(w, i));
    for (size_t i = 0; i < w->count; i++) {
        const struct rp_captured_region *r = &w->regions[i];

        if (r->reason)
            json_array_append_new(refused,
                                  json_pack("{s:o, s:I, s:s, s:o}", "base", address(r->region.base),
                                            "bytes", (json_int_t)r->region.bytes, "class",
                                            rp_memory_class_name(r->region.memory_class), "reason",
                                            text(r->reason)));
    }
    for (size_t i = 0; i < w->unmapped_count; i++)
        json_array_append_new(unmapped, describe_unmapped(&w->unmapped[i]));
    return json_pack("{s:b, s:o, s:o, s:o}", "complete", json_array_size(refused) == 0, "classes",
                     classes, "refused", refused, "unmapped", unmapped);
}

int rp_capture_write_texts(const struct rp_capture_writer *w,
                           const struct rp_capture_origin *origin, struct rp_err *err)
{
    rp_cleanup(drop) json_t *dispatch = describe_dispatch(w, origin);
    rp_cleanup(drop) json_t *regions = describe_regions(w);
    rp_cleanup(drop) json_t *coverage = describe_coverage(w);
    int rc = save(w->partial, RP_CAPTURE_REGIONS_FILE, regions, err);

    if (rc == 0)
        rc = save(w->partial, RP_CAPTURE_COVERAGE_FILE, coverage, err);
    if (rc == 0)
        rc = save(w->partial, RP_CAPTURE_DISPATCH_FILE, dispatch, err);
    return rc;
}

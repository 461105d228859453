#include "cli/capture_text.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "base/cleanup.h"

struct sums {
    uint64_t bytes, nonzero_pages, changed_pages, changed_regions;
};

static struct sums add_up(const struct rp_capture_memory *memory, size_t count)
{
    struct sums sums = {0};

    for (size_t i = 0; i < count; i++) {
        sums.bytes += memory[i].region.bytes;
        sums.nonzero_pages += memory[i].nonzero_pages;
        sums.changed_pages += memory[i].changed_pages;
        sums.changed_regions += memory[i].changed_pages > 0;
    }
    return sums;
}

/* "1.5 GiB", in the largest unit that leaves a whole number or two digits before the point. */
static void put_bytes(struct rp_buf *to, uint64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes;
    size_t unit = 0;

    for (; value >= 1024 && unit + 1 < sizeof units / sizeof *units; unit++)
        value /= 1024;
    rp_buf_printf(to, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
}

void rp_capture_line(const char *folder, const struct rp_capture *capture, struct rp_buf *to)
{
    const struct rp_capture_facts *f = rp_capture_get_facts(capture);
    const struct rp_snapshot_dispatch *d = &f->dispatch;
    size_t count, refused;
    const struct rp_capture_memory *memory = rp_capture_get_memory(capture, &count);
    const struct sums sums = add_up(memory, count);

    rp_capture_get_refusals(capture, &refused);
    rp_buf_printf(to, "%s  %s  dispatch %" PRIu64 "  grid %ux%ux%u  ", folder, f->name, d->match,
                  d->grid[0], d->grid[1], d->grid[2]);
    put_bytes(to, sums.bytes);
    rp_buf_printf(to, " in %zu regions%s\n", count, refused ? ", not all captured" : "");
}

/* --- inspect ------------------------------------------------------------------------------- */

static void put_regions(const struct rp_capture_memory *memory, size_t count, struct rp_buf *to)
{
    rp_buf_printf(to, "\n%-18s %14s  %-8s %-6s %-6s %12s %12s\n", "base", "bytes", "class", "where",
                  "grain", "pages", "changed");
    for (size_t i = 0; i < count; i++) {
        const struct rp_snapshot_region *r = &memory[i].region;

        rp_buf_printf(
            to, "0x%016" PRIx64 " %14" PRIu64 "  %-8s %-6s %-6s %12" PRIu64 " %12" PRIu64 "\n",
            r->base, r->bytes, rp_memory_class_name(r->memory_class),
            r->flags & RP_MEMORY_HOST ? "host" : "device",
            r->flags & RP_MEMORY_FINE     ? "fine"
            : r->flags & RP_MEMORY_COARSE ? "coarse"
                                          : "-",
            memory[i].nonzero_pages, memory[i].changed_pages);
    }
}

static void put_refusals(const struct rp_capture *capture, struct rp_buf *to)
{
    size_t count;
    const struct rp_capture_refusal *refusals = rp_capture_get_refusals(capture, &count);

    if (count)
        rp_buf_puts(to, "\nnot captured:\n");
    for (size_t i = 0; i < count; i++)
        rp_buf_printf(to, "  0x%016" PRIx64 " %" PRIu64 " bytes  %s: %s\n", refusals[i].region.base,
                      refusals[i].region.bytes,
                      rp_memory_class_name(refusals[i].region.memory_class), refusals[i].reason);
}

void rp_capture_describe(const char *folder, const struct rp_capture *capture, struct rp_buf *to)
{
    const struct rp_capture_facts *f = rp_capture_get_facts(capture);
    const struct rp_snapshot_dispatch *d = &f->dispatch;
    size_t count;
    const struct rp_capture_memory *memory = rp_capture_get_memory(capture, &count);
    const struct sums sums = add_up(memory, count);

    rp_buf_printf(to,
                  "capture    %s\n"
                  "kernel     %s\n"
                  "symbol     %s\n"
                  "dispatch   %" PRIu64 " of those that matched, %" PRIu64 " of the process\n"
                  "grid       %u x %u x %u work-items, workgroups of %u x %u x %u\n"
                  "memory     LDS %u B, scratch %u B per work-item, arguments %u B\n"
                  "packet     barrier %s, acquire %s, release %s\n",
                  folder, f->name, f->symbol, d->match, d->dispatch_id, d->grid[0], d->grid[1],
                  d->grid[2], d->workgroup[0], d->workgroup[1], d->workgroup[2], d->group_bytes,
                  d->private_bytes, d->kernarg_bytes, f->barrier ? "yes" : "no", f->acquire_scope,
                  f->release_scope);
    rp_buf_printf(to, "queue      %" PRIu32 " of the process", d->queue_index);
    if (d->stream != UINT32_MAX)
        rp_buf_printf(to, ", HIP stream %" PRIu32, d->stream);
    if (d->gpu != UINT32_MAX)
        rp_buf_printf(to, ", GPU %" PRIu32, d->gpu);
    rp_buf_printf(to, "\nGPU        %s %s%s\n", f->isa, f->product,
                  f->software ? " (software device)" : "");
    rp_buf_printf(to, "captured   %zu regions, ", count);
    put_bytes(to, sums.bytes);
    rp_buf_printf(to,
                  "; %" PRIu64 " pages are not zero, %" PRIu64 " are stored\n"
                  "changed    %" PRIu64 " pages in %" PRIu64 " regions\n",
                  sums.nonzero_pages, rp_capture_stored_pages(capture), sums.changed_pages,
                  sums.changed_regions);
    put_regions(memory, count, to);
    put_refusals(capture, to);
}

/* --- JSON ---------------------------------------------------------------------------------- */

static void drop(json_t **json)
{
    json_decref(*json);
}

static json_t *number(uint32_t value)
{
    return value == UINT32_MAX ? json_null() : json_integer(value);
}

static json_t *regions_json(const struct rp_capture_memory *memory, size_t count)
{
    json_t *regions = json_array();

    for (size_t i = 0; i < count; i++)
        json_array_append_new(
            regions, json_pack("{s:o, s:I, s:s, s:s, s:I, s:I}", "base",
                               json_sprintf("0x%" PRIx64, memory[i].region.base), "bytes",
                               (json_int_t)memory[i].region.bytes, "class",
                               rp_memory_class_name(memory[i].region.memory_class), "location",
                               memory[i].region.flags & RP_MEMORY_HOST ? "host" : "device",
                               "nonzero_pages", (json_int_t)memory[i].nonzero_pages,
                               "changed_pages", (json_int_t)memory[i].changed_pages));
    return regions;
}

static json_t *refusals_json(const struct rp_capture *capture)
{
    size_t count;
    const struct rp_capture_refusal *refusals = rp_capture_get_refusals(capture, &count);
    json_t *list = json_array();

    for (size_t i = 0; i < count; i++)
        json_array_append_new(list,
                              json_pack("{s:o, s:I, s:s, s:s}", "base",
                                        json_sprintf("0x%" PRIx64, refusals[i].region.base),
                                        "bytes", (json_int_t)refusals[i].region.bytes, "class",
                                        rp_memory_class_name(refusals[i].region.memory_class),
                                        "reason", refusals[i].reason));
    return list;
}

bool rp_capture_describe_json(const char *folder, const struct rp_capture *capture,
                              struct rp_buf *to)
{
    const struct rp_capture_facts *f = rp_capture_get_facts(capture);
    const struct rp_snapshot_dispatch *d = &f->dispatch;
    size_t count;
    const struct rp_capture_memory *memory = rp_capture_get_memory(capture, &count);
    const struct sums sums = add_up(memory, count);
    rp_cleanup(drop) json_t *json = json_pack(
        "{s:s, s:s*, s:{s:s, s:s}, s:{s:I, s:I, s:[III], s:[iii], s:I, s:I, s:I, s:i, s:o},"
        " s:{s:s, s:s, s:s, s:o},"
        " s:{s:I, s:I, s:I, s:I, s:I}, s:o, s:o}",
        "schema_version", "1.0", "capture", folder, "kernel", "name", f->name, "symbol", f->symbol,
        "dispatch", "match", (json_int_t)d->match, "dispatch_id", (json_int_t)d->dispatch_id,
        "grid", (json_int_t)d->grid[0], (json_int_t)d->grid[1], (json_int_t)d->grid[2], "workgroup",
        d->workgroup[0], d->workgroup[1], d->workgroup[2], "group_bytes",
        (json_int_t)d->group_bytes, "private_bytes", (json_int_t)d->private_bytes, "kernarg_bytes",
        (json_int_t)d->kernarg_bytes, "queue", d->queue_index, "stream", number(d->stream), "gpu",
        "isa", f->isa, "product", f->product, "device", f->software ? "software" : "gpu", "number",
        number(d->gpu), "memory", "bytes", (json_int_t)sums.bytes, "nonzero_pages",
        (json_int_t)sums.nonzero_pages, "stored_pages",
        (json_int_t)rp_capture_stored_pages(capture), "changed_pages",
        (json_int_t)sums.changed_pages, "changed_regions", (json_int_t)sums.changed_regions,
        "regions", regions_json(memory, count), "refused", refusals_json(capture));
    rp_autofree char *text = json ? json_dumps(json, JSON_INDENT(2) | JSON_ENSURE_ASCII) : NULL;

    if (!text)
        return false;
    rp_buf_printf(to, "%s\n", text);
    return !to->failed;
}

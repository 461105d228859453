#include "cli/capture_text.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "report/report_text.h"

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

void rp_capture_line(const char *folder, const struct rp_capture *capture,
                     struct rp_term_style style, struct rp_buf *to)
{
    const struct rp_page page = rp_page_of_words(to, style);
    const struct rp_capture_facts *f = rp_capture_get_facts(capture);
    const struct rp_snapshot_dispatch *d = &f->dispatch;
    size_t count, refused;
    const struct rp_capture_memory *memory = rp_capture_get_memory(capture, &count);
    const struct sums sums = add_up(memory, count);

    rp_capture_get_refusals(capture, &refused);
    rp_page_words(&page, refused ? RP_INK_YELLOW : RP_INK_PLAIN, 0, 2,
                  "%s  %s  dispatch %" PRIu64 "  grid %ux%ux%u  %s in %zu regions%s", folder,
                  f->name, d->match, d->grid[0], d->grid[1], d->grid[2],
                  rp_unit_one(RP_UNIT_BYTES, (double)sums.bytes, style.utf8).text, count,
                  refused ? ", not all captured" : "");
}

/* --- inspect ------------------------------------------------------------------------------- */

/* Columns of the table: as wide as without a terminal, or as what is in them. */
struct columns {
    int bytes, class, pages, changed;
    bool grain;
};

static int digits(uint64_t number)
{
    int count = 1;

    for (; number >= 10; number /= 10)
        count++;
    return count;
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

static struct columns plan_columns(const struct rp_page *page,
                                   const struct rp_capture_memory *memory, size_t count)
{
    enum { FULL = 83, REST = 18 + 1 + 2 + 1 + 6 + 1 + 1, GRAIN = 7 };
    struct columns c = {sizeof "bytes" - 1, sizeof "class" - 1, sizeof "pages" - 1,
                        sizeof "changed" - 1, true};

    if (page->width >= FULL)
        return (struct columns){14, 8, 12, 12, true};
    for (size_t i = 0; i < count; i++) {
        c.bytes = larger(c.bytes, digits(memory[i].region.bytes));
        c.class = larger(c.class, (int)strlen(rp_memory_class_name(memory[i].region.memory_class)));
        c.pages = larger(c.pages, digits(memory[i].nonzero_pages));
        c.changed = larger(c.changed, digits(memory[i].changed_pages));
    }
    c.grain = REST + GRAIN + c.bytes + c.class + c.pages + c.changed <= (int)page->width;
    return c;
}

static const char *grain_of(const struct rp_snapshot_region *r)
{
    return r->flags & RP_MEMORY_FINE ? "fine" : r->flags & RP_MEMORY_COARSE ? "coarse" : "-";
}

static void put_regions(const struct rp_page *page, const struct rp_capture_memory *memory,
                        size_t count)
{
    const struct columns c = plan_columns(page, memory, count);
    const int grain =
        c.grain ? 7 : 0; /* with the space behind it; none of it where it is left out */

    rp_buf_puts(page->out, "\n");
    rp_page_line(page, RP_INK_DIM, 0, "%-18s %*s  %-*s %-6s %-*.*s%*s %*s", "base", c.bytes,
                 "bytes", c.class, "class", "where", grain, grain, "grain", c.pages, "pages",
                 c.changed, "changed");
    for (size_t i = 0; i < count; i++) {
        const struct rp_snapshot_region *r = &memory[i].region;

        rp_page_line(page, RP_INK_PLAIN, 0,
                     "0x%016" PRIx64 " %*" PRIu64 "  %-*s %-6s %-*.*s%*" PRIu64 " %*" PRIu64,
                     r->base, c.bytes, r->bytes, c.class, rp_memory_class_name(r->memory_class),
                     r->flags & RP_MEMORY_HOST ? "host" : "device", grain, grain, grain_of(r),
                     c.pages, memory[i].nonzero_pages, c.changed, memory[i].changed_pages);
    }
}

static void put_refusals(const struct rp_page *page, const struct rp_capture *capture)
{
    size_t count;
    const struct rp_capture_refusal *refusals = rp_capture_get_refusals(capture, &count);

    if (!count)
        return;
    rp_buf_puts(page->out, "\n");
    rp_page_words(page, RP_INK_YELLOW, 0, 2, "not captured:");
    for (size_t i = 0; i < count; i++)
        rp_page_words(page, RP_INK_PLAIN, 2, 2, "0x%016" PRIx64 " %" PRIu64 " bytes  %s: %s",
                      refusals[i].region.base, refusals[i].region.bytes,
                      rp_memory_class_name(refusals[i].region.memory_class), refusals[i].reason);
}

/* What is behind the words on the left: further lines are below it. */
enum { HANG = 11 };

static void put_dispatch(const struct rp_page *page, const char *folder,
                         const struct rp_capture_facts *f)
{
    const struct rp_snapshot_dispatch *d = &f->dispatch;

    rp_page_words(page, RP_INK_PLAIN, 0, HANG, "capture    %s", folder);
    rp_page_words(page, RP_INK_BOLD, 0, HANG, "kernel     %s", f->name);
    rp_page_words(page, RP_INK_PLAIN, 0, HANG, "symbol     %s", f->symbol);
    rp_page_words(page, RP_INK_PLAIN, 0, HANG,
                  "dispatch   %" PRIu64 " of those that matched, %" PRIu64 " of the process",
                  d->match, d->dispatch_id);
    rp_page_words(page, RP_INK_PLAIN, 0, HANG,
                  "grid       %u x %u x %u work-items, workgroups of %u x %u x %u", d->grid[0],
                  d->grid[1], d->grid[2], d->workgroup[0], d->workgroup[1], d->workgroup[2]);
    rp_page_words(page, RP_INK_PLAIN, 0, HANG,
                  "memory     LDS %u B, scratch %u B per work-item, arguments %u B", d->group_bytes,
                  d->private_bytes, d->kernarg_bytes);
    rp_page_words(page, RP_INK_PLAIN, 0, HANG, "packet     barrier %s, acquire %s, release %s",
                  f->barrier ? "yes" : "no", f->acquire_scope, f->release_scope);
}

static void put_place(const struct rp_page *page, const struct rp_capture_facts *f)
{
    const struct rp_snapshot_dispatch *d = &f->dispatch;
    rp_autobuf line = {0}, device = {0};

    rp_buf_printf(&device, " (software device, timing %s)", f->timing);
    rp_buf_printf(&line, "queue      %" PRIu32 " of the process", d->queue_index);
    if (d->stream != UINT32_MAX)
        rp_buf_printf(&line, ", HIP stream %" PRIu32, d->stream);
    if (d->gpu != UINT32_MAX)
        rp_buf_printf(&line, ", GPU %" PRIu32, d->gpu);
    page->out->failed |= line.failed;
    rp_page_words(page, RP_INK_PLAIN, 0, HANG, "%s", rp_buf_text(&line));
    rp_page_words(page, f->software ? RP_INK_YELLOW : RP_INK_PLAIN, 0, HANG, "GPU        %s %s%s",
                  f->isa, f->product,
                  !f->software ? ""
                  : *f->timing ? rp_buf_text(&device)
                               : " (software device)");
}

void rp_capture_describe(const char *folder, const struct rp_capture *capture,
                         struct rp_term_style style, struct rp_buf *to)
{
    const struct rp_page page = rp_page_of_words(to, style);
    const struct rp_capture_facts *f = rp_capture_get_facts(capture);
    size_t count;
    const struct rp_capture_memory *memory = rp_capture_get_memory(capture, &count);
    const struct sums sums = add_up(memory, count);

    put_dispatch(&page, folder, f);
    put_place(&page, f);
    rp_page_words(&page, RP_INK_PLAIN, 0, HANG,
                  "captured   %zu regions, %s; %" PRIu64 " pages are not zero, %" PRIu64
                  " are stored",
                  count, rp_unit_one(RP_UNIT_BYTES, (double)sums.bytes, style.utf8).text,
                  sums.nonzero_pages, rp_capture_stored_pages(capture));
    rp_page_words(&page, RP_INK_PLAIN, 0, HANG,
                  "changed    %" PRIu64 " pages in %" PRIu64 " regions", sums.changed_pages,
                  sums.changed_regions);
    put_regions(&page, memory, count);
    put_refusals(&page, capture);
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
        " s:{s:s, s:s, s:s, s:o, s:o},"
        " s:{s:I, s:I, s:I, s:I, s:I}, s:o, s:o}",
        "schema_version", "1.0", "capture", folder, "kernel", "name", f->name, "symbol", f->symbol,
        "dispatch", "match", (json_int_t)d->match, "dispatch_id", (json_int_t)d->dispatch_id,
        "grid", (json_int_t)d->grid[0], (json_int_t)d->grid[1], (json_int_t)d->grid[2], "workgroup",
        d->workgroup[0], d->workgroup[1], d->workgroup[2], "group_bytes",
        (json_int_t)d->group_bytes, "private_bytes", (json_int_t)d->private_bytes, "kernarg_bytes",
        (json_int_t)d->kernarg_bytes, "queue", d->queue_index, "stream", number(d->stream), "gpu",
        "isa", f->isa, "product", f->product, "device", f->software ? "software" : "gpu", "timing",
        *f->timing ? json_string(f->timing) : json_null(), "number", number(d->gpu), "memory",
        "bytes", (json_int_t)sums.bytes, "nonzero_pages", (json_int_t)sums.nonzero_pages,
        "stored_pages", (json_int_t)rp_capture_stored_pages(capture), "changed_pages",
        (json_int_t)sums.changed_pages, "changed_regions", (json_int_t)sums.changed_regions,
        "regions", regions_json(memory, count), "refused", refusals_json(capture));
    rp_autofree char *text = json ? json_dumps(json, JSON_INDENT(2) | JSON_ENSURE_ASCII) : NULL;

    if (!text)
        return false;
    rp_buf_printf(to, "%s\n", text);
    return !to->failed;
}

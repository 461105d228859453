/*
 * One finding of the checks, as text and as JSON: of a program (run --check), and of a replay.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json_write.h"
#include "base/utf8.h"
#include "trace/check_file.h"

/* ---- text ---- */

static const struct {
    const char *kind, *title;
} titles[] = {
    {"race", "race"},
    {"lanes", "lanes of one store write different values to the same place"},
    {"lost-update", "lost update: another wave may store between this load and store"},
    {"bounds", "access outside of what was allocated"},
    {"uninit", "read of what nothing has written"},
    {"wait", "use of what a load has not brought yet"},
    {"same-value", "note: unordered stores of the same value"},
};

static const char *title_of(const struct rp_check_finding *f)
{
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        if (strcmp(titles[i].kind, f->kind) == 0)
            return titles[i].title;
    return f->kind;
}

static void put_side(const struct rp_check_side *s, struct rp_buf *to)
{
    rp_buf_printf(to, "   %-6s ", s->access);
    rp_escape(to, s->source && *s->source ? s->source : "(no source line)");
    rp_buf_printf(to,
                  "  %s\n          workgroup %" PRId64 ",%" PRId64 ",%" PRId64 ", wave %" PRId64
                  ", lane %" PRId64 "\n",
                  s->instruction, s->workgroup[0], s->workgroup[1], s->workgroup[2], s->wave,
                  s->lane);
}

static const char *space_of(const struct rp_check_finding *f)
{
    return strcmp(f->memory, "lds") == 0         ? "LDS"
           : strcmp(f->memory, "scratch") == 0   ? "private memory"
           : strcmp(f->memory, "registers") == 0 ? "registers"
                                                 : "memory";
}

/* Says where in its buffer the access begins, or how far from it. Far from all of them, the nearest
 * one is nobody's guess of what was meant. */
static void put_buffer(const struct rp_check_finding *f, struct rp_buf *to)
{
    enum { FAR = 1 << 20 };
    const uint64_t begin = f->buffer_address, end = begin + f->buffer_bytes;
    const uint64_t before = f->address < begin ? begin - f->address : 0;
    const uint64_t behind = f->address >= end ? f->address - end : 0;
    if (before > FAR || behind > FAR) {
        rp_buf_puts(to, ", far from all buffers");
        return;
    }
    if (before)
        rp_buf_printf(to, ", %" PRIu64 " bytes before a buffer", before);
    else if (f->address >= end)
        rp_buf_printf(to, ", %" PRIu64 " bytes behind the end of a buffer", behind);
    else
        rp_buf_printf(to, ", byte %" PRIu64 " of a buffer", f->address - begin);
    rp_buf_printf(to, " of %" PRIu64 " bytes", f->buffer_bytes);
}

/* "v5", "s[4:7]" */
static void put_registers(const struct rp_check_finding *f, struct rp_buf *to)
{
    const char file = "sva"[f->address / 256 % 3];
    const uint64_t first = f->address % 256, last = first + f->bytes / 4 - 1;
    if (first == last)
        rp_buf_printf(to, "   %c%" PRIu64, file, first);
    else
        rp_buf_printf(to, "   %c[%" PRIu64 ":%" PRIu64 "]", file, first, last);
}

static void put_place(const struct rp_check_finding *f, struct rp_buf *to)
{
    if (strcmp(f->memory, "registers") == 0)
        put_registers(f, to);
    else if (strcmp(f->memory, "global") != 0)
        rp_buf_printf(to, "   %s byte %" PRIu64 " of %" PRIu64, space_of(f), f->address,
                      f->buffer_bytes);
    else
        rp_buf_printf(to, "   address 0x%" PRIx64, f->address);
    if (strcmp(f->memory, "global") == 0 && f->buffer_bytes)
        put_buffer(f, to);
    rp_buf_printf(to, ": %s (%" PRIu64 " time%s", f->why, f->count, f->count == 1 ? "" : "s");
    if (f->dispatch)
        rp_buf_printf(to, ", first in dispatch %" PRId64, f->dispatch);
    rp_buf_puts(to, ")\n");
}

void rp_check_finding_title(const struct rp_check_finding *f, struct rp_buf *to)
{
    rp_buf_printf(to, "%s in %s", title_of(f), space_of(f));
}

void rp_check_finding_print(const struct rp_check_finding *f, struct rp_buf *to)
{
    rp_check_finding_title(f, to);
    rp_buf_puts(to, " of ");
    rp_escape(to, f->kernel ? f->kernel : "a kernel without a name");
    rp_buf_puts(to, "\n");
    put_side(&f->first, to);
    if (f->has_second)
        put_side(&f->second, to);
    put_place(f, to);
}

/* ---- JSON ---- */

static void add_side(struct rp_json_writer *json, const char *key, const struct rp_check_side *s)
{
    rp_json_add_object(json, key);
    rp_json_add_text(json, "access", s->access);
    rp_json_add_text(json, "instruction", s->instruction);
    rp_json_add_text(json, "source", s->source && *s->source ? s->source : NULL);
    rp_json_add_count(json, "address", s->address);
    rp_json_add_array(json, "workgroup");
    for (unsigned i = 0; i < 3; i++)
        rp_json_add_int(json, NULL, s->workgroup[i]);
    rp_json_end(json);
    rp_json_add_int(json, "wave", s->wave);
    rp_json_add_int(json, "lane", s->lane);
    rp_json_end(json);
}

void rp_check_finding_json(struct rp_json_writer *json, const struct rp_check_finding *f)
{
    rp_json_add_object(json, NULL);
    rp_json_add_text(json, "kind", f->kind);
    rp_json_add_text(json, "kernel", f->kernel);
    rp_json_add_text(json, "memory", f->memory);
    rp_json_add_text(json, "why", f->why);
    rp_json_add_count(json, "address", f->address);
    rp_json_add_count(json, "bytes", f->bytes);
    if (f->buffer_bytes)
        rp_json_add_object(json, "buffer");
    else
        rp_json_add_null(json, "buffer");
    if (f->buffer_bytes) {
        rp_json_add_count(json, "address", f->buffer_address);
        rp_json_add_count(json, "bytes", f->buffer_bytes);
        rp_json_end(json);
    }
    rp_json_add_count(json, "count", f->count);
    if (f->dispatch)
        rp_json_add_int(json, "dispatch", f->dispatch);
    add_side(json, "first", &f->first);
    if (f->has_second)
        add_side(json, "second", &f->second);
    else
        rp_json_add_null(json, "second");
    rp_json_end(json);
}

static void side_free(struct rp_check_side *side)
{
    free(side->instruction);
    free(side->access);
    free(side->source);
}

void rp_check_finding_free(struct rp_check_finding *f)
{
    free(f->kind);
    free(f->memory);
    free(f->why);
    free(f->kernel);
    side_free(&f->first);
    side_free(&f->second);
}

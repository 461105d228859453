#include "collect/threads_listing.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"

struct sums {
    uint64_t hits, latency, stall, idle;
};

/* As rocprofv3 adds them up: idle is what lies between the end of one instruction and the next. */
static void add_up(const struct rp_threads_file *f, struct sums *of)
{
    for (uint64_t w = 0; w < f->header->wave_count; w++) {
        const struct rp_threads_row *row = &f->row[f->wave[w].first_row];
        uint64_t end = f->wave[w].begin;

        for (uint32_t i = 0; i < f->wave[w].row_count; i++) {
            struct sums *s = &of[row[i].code];

            s->hits++;
            s->latency += row[i].latency_clocks;
            s->stall += row[i].stall_clocks;
            s->idle += row[i].clock - end;
            end = row[i].clock + row[i].latency_clocks;
        }
    }
}

/* --- lines --------------------------------------------------------------------------------- */

struct maker {
    const struct rp_threads_file *file;
    const struct rp_loaded_code *objects;
    size_t object_count;
    const struct sums *sums;
    struct rp_threads_listing listing;
    const struct rp_elf_function *within;
};

static const struct rp_loaded_code *object_of(const struct maker *m, uint64_t pc)
{
    for (size_t i = 0; i < m->object_count; i++)
        if (pc - m->objects[i].load_base < m->objects[i].load_bytes)
            return &m->objects[i];
    return NULL;
}

static const struct rp_elf_function *function_of(const struct maker *m, uint64_t pc)
{
    const struct rp_loaded_code *object = object_of(m, pc);

    return object ? rp_elf_function_at(&object->functions, pc - (uint64_t)object->load_delta)
                  : NULL;
}

static void add_line(struct maker *m, size_t code, const struct rp_elf_function *label)
{
    const uint64_t pc = m->file->code[code].pc;
    const struct rp_loaded_code *object = object_of(m, pc);
    const struct sums none = {0}, *s = label ? &none : &m->sums[code];
    struct rp_threads_listing *l = &m->listing;

    l->at[l->count] = (struct rp_listed){
        .label = label,
        .code = code,
        .line = (uint32_t)l->count,
        .object = object ? object->id : 0,
        .address = object ? pc - (uint64_t)object->load_delta : pc,
        .hits = s->hits,
        .latency = s->latency,
        .stall = s->stall,
        .idle = s->idle,
    };
    if (!label)
        l->line_of[code] = (uint32_t)l->count;
    l->count++;
}

/* What follows a function in memory and nothing executed is no part of it. */
static void add_code(struct maker *m, size_t code, const struct rp_elf_function *function)
{
    if (!function && !m->sums[code].hits)
        return;
    if (function && function != m->within)
        add_line(m, code, function);
    m->within = function;
    add_line(m, code, NULL);
}

static void add_all(struct maker *m)
{
    const struct rp_threads_file *f = m->file;
    const struct rp_loaded_code *object = object_of(m, f->header->entry_pc);
    const struct rp_elf_function *kernel = function_of(m, f->header->entry_pc);

    m->listing.kernel_object = object ? object->id : 0;
    m->listing.kernel_address = f->header->entry_pc - (object ? (uint64_t)object->load_delta : 0);
    m->listing.kernel_symbol = kernel ? kernel->symbol : NULL;
    if (kernel && object->path)
        m->listing.kernel_hash = rp_elf_kernel_hash(object->path, kernel->symbol);
    for (uint64_t i = 0; kernel && i < f->header->code_count; i++)
        if (function_of(m, f->code[i].pc) == kernel)
            add_code(m, i, kernel);
    for (uint64_t i = 0; i < f->header->code_count; i++) {
        const struct rp_elf_function *function = function_of(m, f->code[i].pc);

        if (!kernel || function != kernel)
            add_code(m, i, function);
    }
}

/* --- source -------------------------------------------------------------------------------- */

/* Lines of one code object. */
static int find_sources(struct rp_threads_listing *l, const struct rp_loaded_code *object,
                        const char *symbolizer, const char *scratch, struct rp_err *err)
{
    rp_autofree uint64_t *addresses = calloc(l->count + 1, sizeof *addresses);
    rp_autofree char **sources = calloc(l->count + 1, sizeof *sources);
    size_t count = 0;
    int rc;

    if (!addresses || !sources)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (size_t i = 0; i < l->count; i++)
        if (!l->at[i].label && l->at[i].object == object->id)
            addresses[count++] = l->at[i].address;
    rc = rp_source_lines(symbolizer, object->path, addresses, count, scratch, sources, err);
    count = 0;
    for (size_t i = 0; rc == 0 && i < l->count; i++)
        if (!l->at[i].label && l->at[i].object == object->id)
            l->at[i].source = sources[count++];
    return rc;
}

int rp_threads_list(const struct rp_threads_file *file, const struct rp_loaded_code *objects,
                    size_t object_count, const char *symbolizer, const char *scratch,
                    struct rp_threads_listing *ret, struct rp_err *err)
{
    rp_cleanup(rp_threads_listing_free) struct rp_threads_listing guard = {0};
    const size_t codes = (size_t)file->header->code_count;
    rp_autofree struct sums *sums = calloc(codes + 1, sizeof *sums);
    struct maker m = {.file = file, .objects = objects, .object_count = object_count, .sums = sums};
    int rc = 0;

    m.listing.at = calloc(2 * codes + 1, sizeof *m.listing.at); /* a label for each at most */
    m.listing.line_of = calloc(codes + 1, sizeof *m.listing.line_of);
    guard = m.listing;
    if (!sums || !guard.at || !guard.line_of)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    memset(m.listing.line_of, 0xff, codes * sizeof *m.listing.line_of);
    add_up(file, sums);
    add_all(&m);
    guard = m.listing;
    for (size_t i = 0; symbolizer && i < object_count && rc == 0; i++)
        if (objects[i].path)
            rc = find_sources(&guard, &objects[i], symbolizer, scratch, err);
    if (rc < 0)
        return rc;
    *ret = guard;
    guard = (struct rp_threads_listing){0};
    return 0;
}

void rp_threads_listing_free(struct rp_threads_listing *listing)
{
    for (size_t i = 0; i < listing->count; i++)
        free(listing->at[i].source);
    free(listing->at);
    free(listing->line_of);
    *listing = (struct rp_threads_listing){0};
}

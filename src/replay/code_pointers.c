#include "replay/code_pointers.h"

#include <string.h>

static bool leads_into_code(const struct rp_replay *r, uint64_t value, uint64_t *ret_offset)
{
    const struct rp_snapshot_dispatch *d = &r->facts->dispatch;
    const struct rp_replay_kernel *k = &r->original;
    const uint64_t offset = value - d->code_base;

    if (value < d->code_base || offset >= d->code_bytes)
        return false;
    for (size_t i = 0; i < k->fixed_count; i++)
        if (offset - k->fixed[i].from < k->fixed[i].bytes) {
            *ret_offset = offset;
            return true;
        }
    return false;
}

/* Addresses are aligned. @return whether there is one; from, of it */
static bool find_in(const struct rp_replay *r, const uint8_t *bytes, size_t count, size_t *from,
                    uint64_t *ret_offset)
{
    for (size_t at = 0; at + 8 <= count; at += 8) {
        uint64_t value;

        memcpy(&value, bytes + at, sizeof value);
        if (leads_into_code(r, value, ret_offset)) {
            *from = at;
            return true;
        }
    }
    return false;
}

/* Only of pages that are stored: the others are zeros. */
static int find_in_region(const struct rp_replay *r, const struct rp_capture_memory *m,
                          struct rp_code_pointer *ret, struct rp_err *err)
{
    uint8_t contents[RP_PAGE_BYTES];
    int rc = 0;

    for (uint64_t i = 0; i < m->before.header.run_count && rc == 0 && !ret->where; i++) {
        const struct rp_page_run *run = &m->before.runs[i];

        for (uint64_t j = 0; run->stored != RP_STORED_ZERO && j < run->pages && !ret->where; j++) {
            const uint64_t base = m->region.base + (run->page + j) * RP_PAGE_BYTES;
            size_t from;

            rc = rp_capture_page(r->capture, m, RP_STATE_BEFORE, run->page + j, contents, err);
            if (rc < 0)
                return rc;
            if (find_in(r, contents, RP_PAGE_BYTES, &from, &ret->offset)) {
                ret->where = "memory at";
                ret->at = base + from;
            }
        }
    }
    return rc;
}

int rp_code_pointer_find(const struct rp_replay *r, const uint8_t *args, size_t arg_bytes,
                         struct rp_code_pointer *ret, struct rp_err *err)
{
    struct rp_code_pointer found = {0};
    size_t from;
    int rc = 0;

    if (find_in(r, args, arg_bytes, &from, &found.offset)) {
        found.where = "its arguments at offset";
        found.at = from;
    }
    for (size_t i = 0; i < r->memory_count && rc == 0 && !found.where; i++)
        if (r->memory[i].region.memory_class != RP_MEMORY_CODE)
            rc = find_in_region(r, &r->memory[i], &found, err);
    if (rc == 0)
        *ret = found;
    return rc;
}

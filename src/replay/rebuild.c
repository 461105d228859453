/**
 * @file rebuild.c
 * @brief Memory of a capture at its addresses: filled, compared.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "replay/margins.h"
#include "replay/replay.h"
#include "replay/watch.h"

enum { CHUNK_PAGES = RP_REPLAY_STAGE_BYTES / RP_PAGE_BYTES };

static const uint8_t zero_page[RP_PAGE_BYTES];

/* --- contents ------------------------------------------------------------------------------ */

/* By a copy engine: hsa_memory_copy takes a kernel for it, which needs the compute units and, on
 * the software device, 40 times as long. */
static int begin_copy(struct rp_replay *r, uint64_t device, uint8_t *stage, uint64_t bytes,
                      bool to_gpu, struct rp_err *err)
{
    void *there = (void *)(uintptr_t)device;
    const uint32_t status = to_gpu ? r->hsa.hsa_amd_memory_async_copy(there, r->gpu, stage, r->cpu,
                                                                      bytes, 0, NULL, r->copied)
                                   : r->hsa.hsa_amd_memory_async_copy(stage, r->cpu, there, r->gpu,
                                                                      bytes, 0, NULL, r->copied);

    return status
               ? rp_fail(err, RP_ENVIRONMENT,
                         "memory at 0x%" PRIx64 " cannot be copied (status 0x%x)", device, status)
               : 0;
}

/* As many as the signal was set to. */
static int end_copies(struct rp_replay *r, uint64_t device, struct rp_err *err)
{
    const int64_t left = r->hsa.hsa_signal_wait_scacquire(r->copied, RP_REPLAY_CONDITION_LT, 1,
                                                          r->patience_s * r->ticks_hz, 0);

    return left == 0 ? 0
                     : rp_fail(err, RP_ENVIRONMENT, "the copy of memory at 0x%" PRIx64 " %s",
                               device, left < 0 ? "failed" : "does not end");
}

int rp_replay_move(struct rp_replay *r, uint64_t address, bool host, uint64_t bytes, bool to_gpu,
                   struct rp_err *err)
{
    void *there = (void *)(uintptr_t)address;
    int rc;

    if (host) {
        memcpy(to_gpu ? there : r->stage, to_gpu ? r->stage : there, bytes);
        return 0;
    }
    r->hsa.hsa_signal_store_screlease(r->copied, 1);
    rc = begin_copy(r, address, r->stage, bytes, to_gpu, err);
    return rc < 0 ? rc : end_copies(r, address, err);
}

int rp_replay_move_margins(struct rp_replay *r, const struct rp_margin *margins, size_t count,
                           bool to_gpu, struct rp_err *err)
{
    uint8_t *stage = r->stage;
    int rc = 0;

    if (!count)
        return 0;
    r->hsa.hsa_signal_store_screlease(r->copied, (int64_t)count);
    for (size_t i = 0; i < count && rc == 0; i++) {
        const struct rp_margin *m = &margins[i];
        void *there = (void *)(uintptr_t)m->address;

        if (m->host) {
            memcpy(to_gpu ? there : stage, to_gpu ? stage : there, m->bytes);
            r->hsa.hsa_signal_subtract_screlease(r->copied, 1);
        } else {
            rc = begin_copy(r, m->address, stage, m->bytes, to_gpu, err);
        }
        stage += m->bytes;
    }
    return rc < 0 ? rc : end_copies(r, margins[0].address, err);
}

static uint64_t bytes_of_row(const struct rp_replay_row *row)
{
    const uint64_t left = row->m->region.bytes - row->first * RP_PAGE_BYTES;

    return row->pages * RP_PAGE_BYTES < left ? row->pages * RP_PAGE_BYTES : left;
}

static uint64_t bytes_of_page(const struct rp_capture_memory *m, uint64_t page)
{
    const uint64_t left = m->region.bytes - page * RP_PAGE_BYTES;

    return left < RP_PAGE_BYTES ? left : RP_PAGE_BYTES;
}

static int move_row(struct rp_replay *r, const struct rp_replay_row *row, bool to_gpu,
                    struct rp_err *err)
{
    return rp_replay_move(r, row->m->region.base + row->first * RP_PAGE_BYTES,
                          row->m->region.flags & RP_MEMORY_HOST, bytes_of_row(row), to_gpu, err);
}

/* --- zeros that are there ------------------------------------------------------------------ */

/* Most of a program's memory may be zeros that no kernel writes: where these have been seen, they
 * are not written again. Without memory for that they are. */
static uint64_t *zeros_of(struct rp_replay *r, const struct rp_capture_memory *m)
{
    const size_t index = (size_t)(m - r->memory);
    const uint64_t words = (m->region.bytes / RP_PAGE_BYTES + 1) / 64 + 1;

    if (!r->zeros)
        r->zeros = calloc(r->memory_count, sizeof *r->zeros);
    if (r->zeros && !r->zeros[index])
        r->zeros[index] = calloc(words, sizeof **r->zeros);
    return r->zeros ? r->zeros[index] : NULL;
}

void rp_replay_forget_zeros(struct rp_replay *r)
{
    for (size_t i = 0; r->zeros && i < r->memory_count; i++)
        if (r->zeros[i])
            memset(r->zeros[i], 0,
                   ((r->memory[i].region.bytes / RP_PAGE_BYTES + 1) / 64 + 1) * sizeof **r->zeros);
}

/* @param pages  contents of a row. @return whether all of it were known to be zeros, and are */
static bool note_zeros(struct rp_replay *r, const struct rp_replay_row *row, const uint8_t *pages)
{
    uint64_t *zeros = zeros_of(r, row->m);
    bool known = true;

    for (uint64_t i = 0; zeros && i < row->pages; i++) {
        const uint64_t page = row->first + i, bit = (uint64_t)1 << (page % 64);
        const bool is = memcmp(pages + i * RP_PAGE_BYTES, zero_page, RP_PAGE_BYTES) == 0;

        known = known && is && zeros[page / 64] & bit;
        zeros[page / 64] = is ? zeros[page / 64] | bit : zeros[page / 64] & ~bit;
    }
    return zeros && known;
}

int rp_replay_fill_row(struct rp_replay *r, const struct rp_replay_row *row, rp_replay_edit edit,
                       void *data, struct rp_err *err)
{
    const struct rp_capture_memory *m = row->m;
    int rc = 0;

    r->fresh = false;
    for (uint64_t i = 0; i < row->pages && rc == 0; i++) {
        uint8_t *at = r->stage + i * RP_PAGE_BYTES;

        rc = rp_capture_page(r->capture, m, RP_STATE_BEFORE, row->first + i, at, err);
        if (rc == 0 && edit)
            rc = edit(data, m, row->first + i, bytes_of_page(m, row->first + i), at, err);
    }
    return rc < 0 || row->pages == 0 || note_zeros(r, row, r->stage) ? rc
                                                                     : move_row(r, row, true, err);
}

/* All pages of a region, row by row. @return false: there are no more */
static bool next_row(struct rp_replay_row *row)
{
    const uint64_t pages = (row->m->region.bytes + RP_PAGE_BYTES - 1) / RP_PAGE_BYTES;

    row->first += row->pages;
    row->pages = pages - row->first < CHUNK_PAGES ? pages - row->first : CHUNK_PAGES;
    return row->pages != 0;
}

static int fill_region(struct rp_replay *r, const struct rp_capture_memory *m, rp_replay_edit edit,
                       void *data, struct rp_err *err)
{
    struct rp_replay_row row = {.m = m};
    int rc = 0;

    while (rc == 0 && next_row(&row))
        rc = rp_replay_fill_row(r, &row, edit, data, err);
    return rc;
}

/* --- only what changes --------------------------------------------------------------------- */

/* What is written together. */
struct batch {
    struct rp_replay_row rows[CHUNK_PAGES];
    size_t count;
    uint64_t pages;
};

static int write_row(struct rp_replay *r, const struct rp_replay_row *row, uint8_t *stage,
                     struct rp_err *err)
{
    const struct rp_capture_memory *m = row->m;
    const uint64_t offset = row->first * RP_PAGE_BYTES;
    const uint64_t left = m->region.bytes - offset, all = row->pages * RP_PAGE_BYTES;
    const uint64_t bytes = all < left ? all : left;
    int rc = 0;

    for (uint64_t i = 0; i < row->pages && rc == 0; i++)
        rc = rp_capture_page(r->capture, m, RP_STATE_BEFORE, row->first + i,
                             stage + i * RP_PAGE_BYTES, err);
    if (rc < 0)
        return rc;
    note_zeros(r, row, stage);
    if (!(m->region.flags & RP_MEMORY_HOST))
        return begin_copy(r, m->region.base + offset, stage, bytes, true, err);
    memcpy((void *)(uintptr_t)(m->region.base + offset), stage, bytes);
    r->hsa.hsa_signal_subtract_screlease(r->copied, 1);
    return 0;
}

static int write_batch(struct rp_replay *r, struct batch *batch, struct rp_err *err)
{
    uint64_t at = 0;
    int rc = 0;

    if (!batch->count)
        return 0;
    r->hsa.hsa_signal_store_screlease(r->copied, (int64_t)batch->count);
    for (size_t i = 0; i < batch->count && rc == 0; i++) {
        rc = write_row(r, &batch->rows[i], r->stage + at, err);
        at += batch->rows[i].pages * RP_PAGE_BYTES;
    }
    if (rc == 0)
        rc = end_copies(r, batch->rows[0].m->region.base, err);
    batch->count = batch->pages = 0;
    return rc;
}

static int restore_pages(struct rp_replay *r, struct batch *batch,
                         const struct rp_capture_memory *m, uint64_t first, uint64_t pages,
                         struct rp_err *err)
{
    struct rp_replay_row *last = batch->count ? &batch->rows[batch->count - 1] : NULL;

    if (last && last->m == m && last->first + last->pages == first)
        last->pages += pages;
    else
        batch->rows[batch->count++] =
            (struct rp_replay_row){.m = m, .first = first, .pages = pages};
    batch->pages += pages;
    return batch->pages == CHUNK_PAGES ? write_batch(r, batch, err) : 0;
}

/* @param map  which pages; those of zeros in it are passed over if @p zeros_are_there */
static int restore_region(struct rp_replay *r, struct batch *batch,
                          const struct rp_capture_memory *m, const struct rp_region_map *map,
                          bool zeros_are_there, struct rp_err *err)
{
    int rc = 0;

    for (uint64_t i = 0; i < map->header.run_count && rc == 0; i++) {
        const struct rp_page_run *run = &map->runs[i];
        uint64_t pages;

        if (zeros_are_there && run->stored == RP_STORED_ZERO)
            continue;

        for (uint64_t done = 0; done < run->pages && rc == 0; done += pages) {
            const uint64_t room = CHUNK_PAGES - batch->pages;

            pages = run->pages - done < room ? run->pages - done : room;
            rc = restore_pages(r, batch, m, run->page + done, pages, err);
        }
    }
    return rc;
}

int rp_replay_restore_region(struct rp_replay *r, const struct rp_capture_memory *m,
                             struct rp_err *err)
{
    struct batch batch = {.count = 0};
    int rc = restore_region(r, &batch, m, &m->after, false, err);

    return rc < 0 ? rc : write_batch(r, &batch, err);
}

int rp_replay_restore(struct rp_replay *r, struct rp_err *err)
{
    const struct rp_capture_memory *code = rp_replay_kernel_code(r);
    struct batch batch = {.count = 0};
    int rc = 0;

    for (size_t i = 0; i < r->memory_count && rc == 0; i++)
        if (r->memory[i].changed_pages)
            rc = restore_region(r, &batch, &r->memory[i], &r->memory[i].after, false, err);
    if (rc == 0)
        rc = write_batch(r, &batch, err);
    return rc < 0 || !code || !code->changed_pages ? rc : rp_replay_fill_variables(r, err);
}

bool rp_replay_is_restored(const struct rp_capture_memory *m, uint64_t page)
{
    const struct rp_page_run *run = m->changed_pages ? rp_region_map_find(&m->after, page) : NULL;

    return run && run->page <= page;
}

/* --- all of it ----------------------------------------------------------------------------- */

/* Whether a region that was just mapped has nothing but zeros. Host memory is the kernel's, and so
 * is that of the software device; a driver may hand out device memory with what was in it before.
 */
static bool begins_as_zero(const struct rp_replay *r, const struct rp_capture_memory *m)
{
    return r->software || m->region.flags & RP_MEMORY_HOST;
}

int rp_replay_fill(struct rp_replay *r, rp_replay_edit edit, void *data, struct rp_err *err)
{
    const bool fresh = r->fresh && !edit;
    struct batch batch = {.count = 0};
    int rc = 0;

    for (size_t i = 0; i < r->memory_count && rc == 0; i++)
        rc = fresh && begins_as_zero(r, &r->memory[i])
                 ? restore_region(r, &batch, &r->memory[i], &r->memory[i].before, true, err)
                 : fill_region(r, &r->memory[i], edit, data, err);
    r->fresh = false;
    if (rc == 0)
        rc = write_batch(r, &batch, err);
    if (rc == 0)
        rc = rp_watch_prepare(r, err);
    return rc < 0 ? rc : rp_replay_fill_variables(r, err);
}

/* --- looking ------------------------------------------------------------------------------- */

int rp_replay_look_at_row(struct rp_replay *r, const struct rp_replay_row *row, rp_replay_look look,
                          void *data, struct rp_err *err)
{
    uint8_t expected[RP_PAGE_BYTES];
    int rc = move_row(r, row, false, err);

    if (rc == 0 && row->pages)
        memset(r->stage + bytes_of_row(row), 0, row->pages * RP_PAGE_BYTES - bytes_of_row(row));
    if (rc == 0)
        note_zeros(r, row, r->stage);
    for (uint64_t i = 0; i < row->pages && rc == 0; i++) {
        const uint64_t left = bytes_of_page(row->m, row->first + i);
        uint8_t *at = r->stage + i * RP_PAGE_BYTES;

        rc = rp_capture_page(r->capture, row->m, RP_STATE_AFTER, row->first + i, expected, err);
        memset(expected + left, 0, RP_PAGE_BYTES - left);
        if (rc == 0)
            rc = look(data, row->m, row->first + i, at, expected, err);
    }
    return rc;
}

int rp_replay_look_at_region(struct rp_replay *r, const struct rp_capture_memory *m,
                             rp_replay_look look, void *data, struct rp_err *err)
{
    struct rp_replay_row row = {.m = m};
    int rc = 0;

    while (rc == 0 && next_row(&row))
        rc = rp_replay_look_at_row(r, &row, look, data, err);
    return rc;
}

int rp_replay_look_at(struct rp_replay *r, rp_replay_look look, void *data, struct rp_err *err)
{
    int rc = 0;

    for (size_t i = 0; i < r->memory_count && rc == 0; i++)
        if (&r->memory[i] != rp_replay_kernel_code(r))
            rc = rp_replay_look_at_region(r, &r->memory[i], look, data, err);
    return rc;
}

void rp_replay_note(struct rp_replay_verdict *v, uint64_t address, const uint8_t *got,
                    const uint8_t *expected, uint64_t bytes)
{
    if (memcmp(got, expected, bytes) == 0)
        return;
    for (uint64_t i = 0; i < bytes; i++) {
        if (got[i] == expected[i])
            continue;
        if (!v->different_bytes++) {
            v->first_address = address + i;
            v->got = got[i];
            v->expected = expected[i];
        }
    }
    v->different_pages++;
}

static int compare_page(void *data, const struct rp_capture_memory *m, uint64_t page,
                        const uint8_t *contents, const uint8_t *expected, struct rp_err *err)
{
    (void)err;
    rp_replay_note(data, m->region.base + page * RP_PAGE_BYTES, contents, expected, RP_PAGE_BYTES);
    return 0;
}

int rp_replay_compare(struct rp_replay *r, struct rp_replay_verdict *ret, struct rp_err *err)
{
    struct rp_replay_verdict v = {0};
    int rc = rp_replay_look_at(r, compare_page, &v, err);

    for (size_t i = 0; i < r->memory_count; i++)
        if (&r->memory[i] != rp_replay_kernel_code(r)) {
            v.bytes += r->memory[i].region.bytes;
            v.regions++;
        }
    if (rc == 0)
        rc = rp_replay_compare_variables(r, &v, err);
    if (rc == 0)
        *ret = v;
    return rc;
}

/**
 * @file replay_memory.c
 * @brief This file maps the memory of a capture at its addresses: filled, compared.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "replay/page_changes.h"
#include "replay/replay.h"

enum { CHUNK_PAGES = RP_REPLAY_STAGE_BYTES / RP_PAGE_BYTES };

static const uint8_t zero_page[RP_PAGE_BYTES];

/* --- contents ------------------------------------------------------------------------------ */

static uint32_t copy_async(struct rp_replay *r, void *there, uint8_t *stage, uint64_t bytes,
                           bool to_gpu, uint64_t signal)
{
    return to_gpu ? r->hsa.hsa_amd_memory_async_copy(there, r->gpu, stage, r->cpu, bytes, 0, NULL,
                                                     signal)
                  : r->hsa.hsa_amd_memory_async_copy(stage, r->cpu, there, r->gpu, bytes, 0, NULL,
                                                     signal);
}

/* A tracer cannot time copies that share a signal, and would say that they are lost. */
static uint32_t copy_traced(struct rp_replay *r, void *there, uint8_t *stage, uint64_t bytes,
                            bool to_gpu)
{
    uint64_t signal;
    uint32_t status = r->hsa.hsa_signal_create(1, 0, NULL, &signal);

    if (status)
        return status;
    status = copy_async(r, there, stage, bytes, to_gpu, signal);
    if (!status)
        r->hsa.hsa_signal_wait_scacquire(signal, RP_REPLAY_CONDITION_LT, 1,
                                         r->patience_s * r->ticks_hz, 0);
    r->hsa.hsa_signal_destroy(signal);
    r->hsa.hsa_signal_subtract_screlease(r->copied, 1);
    return status;
}

/* Begins a copy by a copy engine. hsa_memory_copy() uses a kernel for it, which needs the compute
 * units and takes 40 times as long on the software device.
 */
static int begin_copy(struct rp_replay *r, uint64_t device, uint8_t *stage, uint64_t bytes,
                      bool to_gpu, struct rp_err *err)
{
    void *there = (void *)(uintptr_t)device;
    const uint32_t status = r->traced ? copy_traced(r, there, stage, bytes, to_gpu)
                                      : copy_async(r, there, stage, bytes, to_gpu, r->copied);

    return status
               ? rp_fail(err, RP_ENVIRONMENT,
                         "memory at 0x%" PRIx64 " cannot be copied (status 0x%x)", device, status)
               : 0;
}

/* Waits until the signal has counted as many copies as it was set to. */
static int end_copies(struct rp_replay *r, uint64_t device, struct rp_err *err)
{
    const int64_t left = r->hsa.hsa_signal_wait_scacquire(r->copied, RP_REPLAY_CONDITION_LT, 1,
                                                          r->patience_s * r->ticks_hz, 0);

    return left == 0 ? 0
                     : rp_fail(err, RP_ENVIRONMENT, "the copy of memory at 0x%" PRIx64 " %s",
                               device, left < 0 ? "failed" : "does not end");
}

int rp_replay_copy_staged(struct rp_replay *r, uint64_t address, bool host, uint64_t bytes,
                          bool to_gpu, struct rp_err *err)
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

/** Copies redzones that lie one after the other in r->stage in one go. */
static int replay_copy_redzones(struct rp_replay *r, const struct rp_redzone *margins, size_t count,
                                bool to_gpu, struct rp_err *err)
{
    uint8_t *stage = r->stage;
    int rc = 0;

    if (!count)
        return 0;
    r->hsa.hsa_signal_store_screlease(r->copied, (int64_t)count);
    for (size_t i = 0; i < count && rc == 0; i++) {
        const struct rp_redzone *m = &margins[i];
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

static int move_row(struct rp_replay *r, const struct rp_replay_row *row, bool to_gpu,
                    struct rp_err *err)
{
    return rp_replay_copy_staged(r, row->m->region.base + row->first * RP_PAGE_BYTES,
                                 row->m->region.flags & RP_MEMORY_HOST, bytes_of_row(row), to_gpu,
                                 err);
}

/* --- zeros that are there ------------------------------------------------------------------ */

/* Most of a program's memory may be zeros that no kernel writes. Where these have been seen, they
 * are not written again.
 */
static uint64_t *zeros_of(struct rp_replay *r, const struct rp_capture_memory *m)
{
    const size_t index = rp_replay_region(r, m);
    const uint64_t words = (m->region.bytes / RP_PAGE_BYTES + 1) / 64 + 1;

    if (!r->zeros)
        r->zeros = rp_alloc_zero(r->memory_count, sizeof *r->zeros);
    if (!r->zeros[index])
        r->zeros[index] = rp_alloc_zero(words, sizeof **r->zeros);
    return r->zeros[index];
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

    for (uint64_t i = 0; i < row->pages; i++) {
        const uint64_t page = row->first + i, bit = (uint64_t)1 << (page % 64);
        const bool is = memcmp(pages + i * RP_PAGE_BYTES, zero_page, RP_PAGE_BYTES) == 0;

        known = known && is && zeros[page / 64] & bit;
        zeros[page / 64] = is ? zeros[page / 64] | bit : zeros[page / 64] & ~bit;
    }
    return known;
}

int rp_replay_fill_row(struct rp_replay *r, const struct rp_replay_row *row,
                       rp_replay_edit_page edit, void *data, struct rp_err *err)
{
    const struct rp_capture_memory *m = row->m;
    int rc = 0;

    r->fresh = false;
    for (uint64_t i = 0; i < row->pages && rc == 0; i++) {
        uint8_t *at = r->stage + i * RP_PAGE_BYTES;

        rc = rp_capture_page(r->capture, m, RP_STATE_BEFORE, row->first + i, at, err);
        if (rc == 0 && edit)
            rc = edit(data, m, row->first + i, rp_replay_page_bytes(m, row->first + i), at, err);
    }
    return rc < 0 || row->pages == 0 || note_zeros(r, row, r->stage) ? rc
                                                                     : move_row(r, row, true, err);
}

/* Goes through all pages of a region row by row. @return false: there are no more */
static bool next_row(struct rp_replay_row *row)
{
    const uint64_t pages = (row->m->region.bytes + RP_PAGE_BYTES - 1) / RP_PAGE_BYTES;

    row->first += row->pages;
    row->pages = pages - row->first < CHUNK_PAGES ? pages - row->first : CHUNK_PAGES;
    return row->pages != 0;
}

static int fill_region(struct rp_replay *r, const struct rp_capture_memory *m,
                       rp_replay_edit_page edit, void *data, struct rp_err *err)
{
    struct rp_replay_row row = {.m = m};
    int rc = 0;

    while (rc == 0 && next_row(&row))
        rc = rp_replay_fill_row(r, &row, edit, data, err);
    return rc;
}

/* --- only what changes --------------------------------------------------------------------- */

/* These pages are written together. */
struct batch {
    struct rp_replay_row rows[CHUNK_PAGES];
    size_t count;
    uint64_t pages;
};

static int write_row(struct rp_replay *r, const struct rp_replay_row *row, uint8_t *stage,
                     struct rp_err *err)
{
    const struct rp_capture_memory *m = row->m;
    const uint64_t offset = row->first * RP_PAGE_BYTES, bytes = bytes_of_row(row);
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
    const struct rp_capture_memory *code = r->code;
    struct batch batch = {.count = 0};
    int rc = 0;

    for (size_t i = 0; i < r->memory_count && rc == 0; i++)
        if (r->memory[i].changed_pages)
            rc = restore_region(r, &batch, &r->memory[i], &r->memory[i].after, false, err);
    if (rc == 0)
        rc = write_batch(r, &batch, err);
    return rc < 0 || !code || !code->changed_pages ? rc : rp_replay_fill_variables(r, err);
}

/* --- all of it ----------------------------------------------------------------------------- */

/* Tests whether a region that was just mapped holds only zeros. The kernel clears host memory, and
 * the software device does the same with its memory, but a driver may hand out device memory with
 * its old contents.
 */
static bool begins_as_zero(const struct rp_replay *r, const struct rp_capture_memory *m)
{
    return r->software || m->region.flags & RP_MEMORY_HOST;
}

int rp_replay_fill(struct rp_replay *r, rp_replay_edit_page edit, void *data, struct rp_err *err)
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
        rc = rp_redzone_fill(r, err);
    return rc < 0 ? rc : rp_replay_fill_variables(r, err);
}

/* --- looking ------------------------------------------------------------------------------- */

int rp_replay_look_at_row(struct rp_replay *r, const struct rp_replay_row *row,
                          rp_replay_visit_page look, void *data, struct rp_err *err)
{
    uint8_t expected[RP_PAGE_BYTES];
    int rc = move_row(r, row, false, err);

    if (rc == 0 && row->pages)
        memset(r->stage + bytes_of_row(row), 0, row->pages * RP_PAGE_BYTES - bytes_of_row(row));
    if (rc == 0)
        note_zeros(r, row, r->stage);
    for (uint64_t i = 0; i < row->pages && rc == 0; i++) {
        const uint64_t left = rp_replay_page_bytes(row->m, row->first + i);
        uint8_t *at = r->stage + i * RP_PAGE_BYTES;

        rc = rp_capture_page(r->capture, row->m, RP_STATE_AFTER, row->first + i, expected, err);
        memset(expected + left, 0, RP_PAGE_BYTES - left);
        if (rc == 0)
            rc = look(data, row->m, row->first + i, at, expected, err);
    }
    return rc;
}

int rp_replay_look_at_region(struct rp_replay *r, const struct rp_capture_memory *m,
                             rp_replay_visit_page look, void *data, struct rp_err *err)
{
    struct rp_replay_row row = {.m = m};
    int rc = 0;

    while (rc == 0 && next_row(&row))
        rc = rp_replay_look_at_row(r, &row, look, data, err);
    return rc;
}

int rp_replay_look_at(struct rp_replay *r, rp_replay_visit_page look, void *data,
                      struct rp_err *err)
{
    int rc = 0;

    for (size_t i = 0; i < r->memory_count && rc == 0; i++)
        if (&r->memory[i] != r->code)
            rc = rp_replay_look_at_region(r, &r->memory[i], look, data, err);
    return rc;
}

void rp_replay_note_difference(struct rp_replay_verdict *v, uint64_t address, const uint8_t *got,
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

/* These functions restore and compare variables and constants of the kernel's code object. The
 * loader decides where a code object goes, so its variables exist twice: at the captured address,
 * for pointers in memory and arguments, and where the running code finds them. Both get the
 * captured contents, and a change at either is the result.
 *
 * Another code object has its variables at other offsets. Those with the name and size of a
 * captured one take its contents and give its result. Others keep their values between runs, as
 * they would in the program, which exposes a kernel that computes only the first time. When two
 * kernels are compared, all are reset to the loader's values before each timed run, so that a
 * kernel gains nothing by keeping its result for the next run.
 */

/* --- contents ------------------------------------------------------------------------------ */

static int page_of(struct rp_replay *r, const struct rp_capture_memory *m,
                   enum rp_region_state state, uint64_t from, uint64_t bytes, uint8_t *to,
                   struct rp_err *err)
{
    uint8_t page[RP_PAGE_BYTES];
    int rc = rp_capture_page(r->capture, m, state, from / RP_PAGE_BYTES, page, err);

    if (rc == 0)
        memcpy(to, page + from % RP_PAGE_BYTES, bytes);
    return rc;
}

/* This goes up to the end of a page. */
static uint64_t within_page(uint64_t from, uint64_t end)
{
    const uint64_t left = RP_PAGE_BYTES - from % RP_PAGE_BYTES;

    return end - from < left ? end - from : left;
}

static int fill_variable(struct rp_replay *r, const struct rp_capture_memory *m,
                         const struct rp_replay_span *v, struct rp_err *err)
{
    uint64_t bytes;
    int rc = 0;

    for (uint64_t at = 0; at < v->bytes && rc == 0; at += bytes) {
        bytes = within_page(v->captured + at, v->captured + v->bytes);
        rc = page_of(r, m, RP_STATE_BEFORE, v->captured + at, bytes, r->stage, err);
        if (rc == 0)
            rc = rp_replay_copy_staged(r, r->kernel->code_base + v->from + at, false, bytes, true,
                                       err);
    }
    return rc;
}

int rp_replay_fill_variables(struct rp_replay *r, struct rp_err *err)
{
    const struct rp_capture_memory *m = r->code;
    const struct rp_replay_kernel *k = r->kernel;
    int rc = 0;

    for (size_t i = 0; m && i < k->variable_count && rc == 0; i++)
        rc = fill_variable(r, m, &k->variables[i], err);
    return rc;
}

/* --- which are written --------------------------------------------------------------------- */

/* Writes the page of a variable as it was before the dispatch, with bits flipped. */
static int flipped_piece(struct rp_replay *r, const struct rp_capture_memory *m, uint64_t captured,
                         uint8_t *page, struct rp_err *err)
{
    const uint64_t number = captured / RP_PAGE_BYTES;
    const struct rp_addresses addresses = {.ranges = r->ranges, .count = r->range_count};
    int rc = rp_capture_page(r->capture, m, RP_STATE_BEFORE, number, page, err);

    if (rc == 0)
        rp_write_set_flip(RP_FLIP_EACH, rp_replay_place(r, m, number), page, RP_PAGE_BYTES,
                          &addresses);
    return rc;
}

int rp_replay_flip_variables(struct rp_replay *r, struct rp_err *err)
{
    const struct rp_capture_memory *m = r->code;
    const struct rp_replay_kernel *k = &r->original;
    uint8_t page[RP_PAGE_BYTES];
    int rc = 0, any = 0;

    for (size_t i = 0; m && i < k->segment_count; i++) {
        const struct rp_replay_span *v = &k->segments[i];
        uint64_t bytes;

        if (!v->writable)
            continue;
        any = 1;
        for (uint64_t at = 0; at < v->bytes && rc == 0; at += bytes) {
            bytes = within_page(v->captured + at, v->captured + v->bytes);
            rc = flipped_piece(r, m, v->captured + at, page, err);
            if (rc < 0)
                return rc;
            memcpy(r->stage, page + (v->captured + at) % RP_PAGE_BYTES, bytes);
            rc = rp_replay_copy_staged(r, k->code_base + v->from + at, false, bytes, true, err);
        }
    }
    return rc < 0 ? rc : any;
}

static void count_piece(const uint8_t *put, const uint8_t *got, const uint8_t *before,
                        const uint8_t *after, uint64_t bytes, struct rp_variables_written *ret)
{
    for (uint64_t at = 0; at < bytes; at += 4) {
        const size_t here = bytes - at < 4 ? bytes - at : 4;
        const bool same = memcmp(before + at, after + at, here) == 0;

        if (same && memcmp(put + at, got + at, here) == 0)
            continue;
        ret->bytes += here;
        ret->blind_bytes += same ? here : 0;
    }
}

int rp_replay_count_variables(struct rp_replay *r, struct rp_variables_written *ret,
                              struct rp_err *err)
{
    const struct rp_capture_memory *m = r->code;
    const struct rp_replay_kernel *k = &r->original;
    uint8_t put[RP_PAGE_BYTES], before[RP_PAGE_BYTES], after[RP_PAGE_BYTES];
    struct rp_variables_written sum = {0};

    for (size_t i = 0; m && i < k->segment_count; i++) {
        const struct rp_replay_span *v = &k->segments[i];
        uint64_t bytes;

        for (uint64_t at = 0; v->writable && at < v->bytes; at += bytes) {
            const uint64_t from = v->captured + at, offset = from % RP_PAGE_BYTES;
            int rc = flipped_piece(r, m, from, put, err);

            bytes = within_page(from, v->captured + v->bytes);
            if (rc == 0)
                rc = page_of(r, m, RP_STATE_BEFORE, from, bytes, before, err);
            if (rc == 0)
                rc = page_of(r, m, RP_STATE_AFTER, from, bytes, after, err);
            if (rc == 0)
                rc =
                    rp_replay_copy_staged(r, k->code_base + v->from + at, false, bytes, false, err);
            if (rc < 0)
                return rc;
            count_piece(put + offset, r->stage, before, after, bytes, &sum);
        }
    }
    *ret = sum;
    return 0;
}

/* --- results ------------------------------------------------------------------------------- */

/* Merges what the kernel has changed where its code finds the variables, among those of a page. */
static int merge_own(struct rp_replay *r, uint64_t from, uint64_t bytes, const uint8_t *before,
                     uint8_t *got, struct rp_err *err)
{
    const struct rp_replay_kernel *k = r->kernel;
    int rc = 0;

    for (size_t i = 0; i < k->variable_count && rc == 0; i++) {
        const struct rp_replay_span *v = &k->variables[i];
        const uint64_t low = v->captured > from ? v->captured : from;
        const uint64_t end = v->captured + v->bytes;
        const uint64_t high = end < from + bytes ? end : from + bytes;

        if (low >= high)
            continue;
        rc = rp_replay_copy_staged(r, k->code_base + v->from + (low - v->captured), false,
                                   high - low, false, err);
        for (uint64_t j = 0; j < high - low && rc == 0; j++)
            if (r->stage[j] != before[low - from + j])
                got[low - from + j] = r->stage[j];
    }
    return rc;
}

static int compare_piece(struct rp_replay *r, const struct rp_capture_memory *m, uint64_t from,
                         uint64_t bytes, struct rp_replay_verdict *v, struct rp_err *err)
{
    uint8_t before[RP_PAGE_BYTES], after[RP_PAGE_BYTES], got[RP_PAGE_BYTES];
    int rc = page_of(r, m, RP_STATE_BEFORE, from, bytes, before, err);

    if (rc == 0)
        rc = page_of(r, m, RP_STATE_AFTER, from, bytes, after, err);
    if (rc == 0)
        rc = rp_replay_copy_staged(r, m->region.base + from, false, bytes, false, err);
    if (rc < 0)
        return rc;
    memcpy(got, r->stage, bytes);
    rc = merge_own(r, from, bytes, before, got, err);
    if (rc == 0)
        rp_replay_note_difference(v, m->region.base + from, got, after, bytes);
    return rc;
}

int rp_replay_compare_variables(struct rp_replay *r, struct rp_replay_verdict *v,
                                struct rp_err *err)
{
    const struct rp_capture_memory *m = r->code;
    const struct rp_replay_kernel *captured = &r->original;
    int rc = 0;

    for (size_t i = 0; m && i < captured->segment_count && rc == 0; i++) {
        const uint64_t end = captured->segments[i].from + captured->segments[i].bytes;
        uint64_t bytes;

        for (uint64_t from = captured->segments[i].from; from < end && rc == 0; from += bytes) {
            bytes = within_page(from, end);
            rc = compare_piece(r, m, from, bytes, v, err);
            v->bytes += bytes;
        }
    }
    v->regions += m != NULL;
    return rc;
}

/* --- as loaded ----------------------------------------------------------------------------- */

struct span {
    uint64_t from, to;
};

static int by_address(const void *a, const void *b)
{
    const struct span *x = a, *y = b;

    return (x->from > y->from) - (x->from < y->from);
}

/**
 * @param ranges  whole pages, by address
 * @param memory  in any order; may overlap
 * @param ret     by address; free() it
 */
static void redzones_find(const struct rp_replay_range *ranges, size_t range_count,
                          const struct rp_capture_memory *memory, size_t memory_count,
                          struct rp_redzone **ret, size_t *ret_count)
{
    /* Each redzone ends at a region or at a range's end. */
    struct rp_redzone *margins = rp_alloc_zero(memory_count + range_count, sizeof *margins);
    rp_autofree struct span *spans = rp_alloc_zero(memory_count, sizeof *spans);
    size_t count = 0, at = 0;

    for (size_t i = 0; i < memory_count; i++)
        spans[i] =
            (struct span){memory[i].region.base, memory[i].region.base + memory[i].region.bytes};
    qsort(spans, memory_count, sizeof *spans, by_address);
    for (size_t i = 0; i < range_count; i++) {
        const uint64_t end = ranges[i].base + ranges[i].bytes;
        const bool host = ranges[i].flags & RP_MEMORY_HOST;
        uint64_t done = ranges[i].base;

        for (; at < memory_count && spans[at].from < end; at++) {
            if (spans[at].from > done)
                margins[count++] = (struct rp_redzone){done, spans[at].from - done, host};
            done = spans[at].to > done ? spans[at].to : done;
        }
        if (done < end)
            margins[count++] = (struct rp_redzone){done, end - done, host};
    }
    *ret = margins;
    *ret_count = count;
}

enum {
    PATTERN = 0xa5,     /**< neither zeros nor a number that kernels are likely to write */
    PACKET_INVALID = 1, /**< hsa_packet_type_t */
    PACKET_BYTES = 64
};

struct rp_redzone_watch {
    struct rp_redzone *margins;
    size_t count;
    uint8_t *own; /**< for each byte of the redzones: the captured kernel changes it */
    struct rp_redzone_writes beyond;
};

static uint64_t bytes_of(const struct rp_redzone_watch *w, size_t first, size_t count)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < count; i++)
        bytes += w->margins[first + i].bytes;
    return bytes;
}

/* Returns how many redzones the stage has room for. */
static size_t redzones_at_once(const struct rp_redzone_watch *w, size_t first)
{
    uint64_t bytes = 0;
    size_t count = 0;

    while (first + count < w->count) {
        bytes += w->margins[first + count].bytes;
        if (bytes > RP_REPLAY_STAGE_BYTES)
            break;
        count++;
    }
    return count;
}

void rp_redzone_begin(struct rp_replay *r)
{
    struct rp_redzone_watch *w = rp_new(struct rp_redzone_watch);

    redzones_find(r->ranges, r->range_count, r->memory, r->memory_count, &w->margins, &w->count);
    w->own = rp_alloc_zero(bytes_of(w, 0, w->count), 1);
    r->watch = w;
}

/* The queue is at rest: none of its packets is still to be read. */
static void clear_packets(const struct rp_replay_queue *queue)
{
    uint8_t *packets = queue->base;

    memset(packets, 0, (size_t)queue->size_packets * PACKET_BYTES);
    for (uint32_t i = 0; i < queue->size_packets; i++)
        packets[(size_t)i * PACKET_BYTES] = PACKET_INVALID;
}

int rp_redzone_fill(struct rp_replay *r, struct rp_err *err)
{
    struct rp_redzone_watch *w = r->watch;
    int rc = 0;

    if (!w)
        return 0;
    clear_packets(r->queue);
    for (size_t first = 0, count; first < w->count && rc == 0; first += count) {
        count = redzones_at_once(w, first);
        memset(r->stage, PATTERN, bytes_of(w, first, count));
        rc = replay_copy_redzones(r, w->margins + first, count, true, err);
    }
    return rc;
}

/* Memory that the captured kernel changes once may be changed from then on. */
static void look_at(struct rp_redzone_watch *w, bool captured, uint64_t address, uint64_t bytes,
                    const uint8_t *got, const uint8_t *expected, uint8_t *own)
{
    for (uint64_t i = 0; i < bytes; i++) {
        if (got[i] == expected[i] || own[i])
            continue;
        own[i] = captured;
        if (captured || w->beyond.bytes++)
            continue;
        w->beyond.first_address = address + i;
        w->beyond.got = got[i];
        w->beyond.expected = expected[i];
    }
}

int rp_redzone_check(struct rp_replay *r, struct rp_err *err)
{
    const bool captured = r->kernel == &r->original && !r->trying;
    uint8_t pattern[RP_PAGE_BYTES], *own;
    struct rp_redzone_watch *w = r->watch;
    int rc = 0;

    if (!w)
        return 0;
    memset(pattern, PATTERN, sizeof pattern);
    own = w->own;
    for (size_t first = 0, count; first < w->count && rc == 0; first += count) {
        const uint8_t *got = r->stage;

        count = redzones_at_once(w, first);
        rc = replay_copy_redzones(r, w->margins + first, count, false, err);
        for (size_t i = first; i < first + count && rc == 0; i++) {
            const struct rp_redzone *m = &w->margins[i];

            look_at(w, captured, m->address, m->bytes, got, pattern, own);
            got += m->bytes;
            own += m->bytes;
        }
    }
    return rc;
}

struct rp_redzone_writes rp_redzone_take(struct rp_replay *r)
{
    const struct rp_redzone_writes beyond =
        r->watch ? r->watch->beyond : (struct rp_redzone_writes){0};

    if (r->watch)
        r->watch->beyond = (struct rp_redzone_writes){0};
    return beyond;
}

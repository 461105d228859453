/**
 * @file rebuild.c
 * @brief Memory of a capture at its addresses: mapped, filled, compared.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>

#include "base/err.h"
#include "replay/replay.h"

enum { PERMISSION_RW = 3, CHUNK_PAGES = RP_REPLAY_STAGE_BYTES / RP_PAGE_BYTES };

/* --- mapping ------------------------------------------------------------------------------- */

static int map_host(struct rp_replay *r, const struct rp_replay_range *range, struct rp_err *err)
{
    void *wanted = (void *)(uintptr_t)range->base, *seen = NULL;

    /* The placeholder is ours: it becomes memory where it is. */
    if (mprotect(wanted, range->bytes, PROT_READ | PROT_WRITE) < 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "no host memory at 0x%" PRIx64,
                             range->base);
    if (r->hsa.hsa_amd_memory_lock(wanted, range->bytes, &r->gpu, 1, &seen) || seen != wanted)
        return rp_fail(err, RP_ENVIRONMENT,
                       "host memory at 0x%" PRIx64 " cannot be given to the GPU at that address",
                       range->base);
    return 0;
}

static int map_device(struct rp_replay *r, const struct rp_replay_range *range, struct rp_err *err)
{
    const struct rp_replay_access access = {.permissions = PERMISSION_RW, .agent = r->gpu};
    void *wanted = (void *)(uintptr_t)range->base, *got = NULL;
    uint64_t handle = 0;
    uint32_t status;

    munmap(wanted, range->bytes);
    status = r->hsa.hsa_amd_vmem_address_reserve(&got, range->bytes, range->base, 0);
    /* The runtime takes another address without a word when it cannot have this one. */
    if (status || got != wanted)
        return rp_fail(err, RP_VERDICT,
                       "the runtime reserved 0x%" PRIxPTR " instead of 0x%" PRIx64 " for %" PRIu64
                       " bytes (status 0x%x)",
                       (uintptr_t)got, range->base, range->bytes, status);
    status = r->hsa.hsa_amd_vmem_handle_create(r->gpu_pool, range->bytes, 0, 0, &handle);
    if (status == 0)
        status = r->hsa.hsa_amd_vmem_map(wanted, range->bytes, 0, handle, 0);
    if (status == 0)
        status = r->hsa.hsa_amd_vmem_set_access(wanted, range->bytes, &access, 1);
    if (status)
        return rp_fail(err, RP_ENVIRONMENT,
                       "%" PRIu64 " bytes of device memory cannot be mapped at 0x%" PRIx64
                       " (status 0x%x)",
                       range->bytes, range->base, status);
    return 0;
}

int rp_replay_map(struct rp_replay *r, struct rp_err *err)
{
    int rc = 0;

    for (size_t i = 0; i < r->range_count && rc == 0; i++)
        rc =
            r->ranges[i].host ? map_host(r, &r->ranges[i], err) : map_device(r, &r->ranges[i], err);
    return rc;
}

/* --- contents ------------------------------------------------------------------------------ */

static int move(struct rp_replay *r, uint64_t address, bool host, uint64_t bytes, bool to_gpu,
                struct rp_err *err)
{
    void *there = (void *)(uintptr_t)address;
    uint32_t status = 0;

    if (host)
        memcpy(to_gpu ? there : r->stage, to_gpu ? r->stage : there, bytes);
    else
        status = to_gpu ? r->hsa.hsa_memory_copy(there, r->stage, bytes)
                        : r->hsa.hsa_memory_copy(r->stage, there, bytes);
    return status
               ? rp_fail(err, RP_ENVIRONMENT,
                         "memory at 0x%" PRIx64 " cannot be copied (status 0x%x)", address, status)
               : 0;
}

static uint64_t piece(const struct rp_capture_memory *m, uint64_t offset)
{
    const uint64_t left = m->region.bytes - offset;

    return left < RP_REPLAY_STAGE_BYTES ? left : RP_REPLAY_STAGE_BYTES;
}

static int fill_region(struct rp_replay *r, const struct rp_capture_memory *m, struct rp_err *err)
{
    for (uint64_t offset = 0; offset < m->region.bytes; offset += RP_REPLAY_STAGE_BYTES) {
        const uint64_t bytes = piece(m, offset);
        int rc = 0;

        for (uint64_t page = 0; page < rp_pages_of(bytes) && rc == 0; page++)
            rc = rp_capture_page(r->capture, m, RP_STATE_BEFORE, offset / RP_PAGE_BYTES + page,
                                 r->stage + page * RP_PAGE_BYTES, err);
        if (rc == 0)
            rc = move(r, m->region.base + offset, m->region.flags & RP_MEMORY_HOST, bytes, true,
                      err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static void note(struct rp_replay_verdict *v, uint64_t address, const uint8_t *got,
                 const uint8_t *expected, uint64_t bytes)
{
    if (memcmp(got, expected, bytes) == 0)
        return;
    for (uint64_t i = 0; i < bytes && !v->different_pages; i++)
        if (got[i] != expected[i]) {
            v->first_address = address + i;
            v->got = got[i];
            v->expected = expected[i];
            break;
        }
    v->different_pages++;
}

/* --- module variables ---------------------------------------------------------------------- */

/*
 * The loader puts the code object of the kernel where it likes. Its variables are thus there twice:
 * at the captured address, for pointers in memory and arguments, and where its code finds them.
 * Both get the captured contents; what is changed at either is the result.
 */
static const struct rp_capture_memory *kernel_code(const struct rp_replay *r)
{
    for (size_t i = 0; i < r->memory_count; i++)
        if (r->memory[i].region.memory_class == RP_MEMORY_CODE &&
            r->memory[i].region.base == r->facts->dispatch.code_base)
            return &r->memory[i];
    return NULL;
}

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

/* Up to the end of a page. */
static uint64_t within_page(uint64_t from, uint64_t end)
{
    const uint64_t left = RP_PAGE_BYTES - from % RP_PAGE_BYTES;

    return end - from < left ? end - from : left;
}

static int fill_variables(struct rp_replay *r, struct rp_err *err)
{
    const struct rp_capture_memory *m = kernel_code(r);
    int rc = 0;

    for (size_t i = 0; m && i < r->variable_count && rc == 0; i++) {
        const uint64_t end = r->variables[i].from + r->variables[i].bytes;
        uint64_t bytes;

        for (uint64_t from = r->variables[i].from; from < end && rc == 0; from += bytes) {
            bytes = within_page(from, end);
            rc = page_of(r, m, RP_STATE_BEFORE, from, bytes, r->stage, err);
            if (rc == 0)
                rc = move(r, r->code_base + from, false, bytes, true, err);
        }
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
        rc = move(r, r->code_base + from, false, bytes, false, err);
    if (rc < 0)
        return rc;
    memcpy(got, r->stage, bytes);
    rc = move(r, m->region.base + from, false, bytes, false, err);
    for (uint64_t i = 0; i < bytes && rc == 0; i++)
        if (r->stage[i] != before[i])
            got[i] = r->stage[i];
    if (rc == 0)
        note(v, m->region.base + from, got, after, bytes);
    return rc;
}

static int compare_variables(struct rp_replay *r, struct rp_replay_verdict *v, struct rp_err *err)
{
    const struct rp_capture_memory *m = kernel_code(r);
    int rc = 0;

    for (size_t i = 0; m && i < r->variable_count && rc == 0; i++) {
        const uint64_t end = r->variables[i].from + r->variables[i].bytes;
        uint64_t bytes;

        for (uint64_t from = r->variables[i].from; from < end && rc == 0; from += bytes) {
            bytes = within_page(from, end);
            rc = compare_piece(r, m, from, bytes, v, err);
            v->bytes += bytes;
        }
    }
    v->regions += m != NULL;
    return rc;
}

/* --- all ----------------------------------------------------------------------------------- */

int rp_replay_fill(struct rp_replay *r, struct rp_err *err)
{
    int rc = 0;

    for (size_t i = 0; i < r->memory_count && rc == 0; i++)
        rc = fill_region(r, &r->memory[i], err);
    return rc < 0 ? rc : fill_variables(r, err);
}

static int compare_region(struct rp_replay *r, const struct rp_capture_memory *m,
                          struct rp_replay_verdict *v, struct rp_err *err)
{
    uint8_t expected[RP_PAGE_BYTES];

    for (uint64_t offset = 0; offset < m->region.bytes; offset += RP_REPLAY_STAGE_BYTES) {
        const uint64_t bytes = piece(m, offset);
        int rc =
            move(r, m->region.base + offset, m->region.flags & RP_MEMORY_HOST, bytes, false, err);

        for (uint64_t at = 0; at < bytes && rc == 0; at += RP_PAGE_BYTES) {
            const uint64_t left = bytes - at < RP_PAGE_BYTES ? bytes - at : RP_PAGE_BYTES;

            rc = rp_capture_page(r->capture, m, RP_STATE_AFTER, (offset + at) / RP_PAGE_BYTES,
                                 expected, err);
            if (rc == 0)
                note(v, m->region.base + offset + at, r->stage + at, expected, left);
        }
        if (rc < 0)
            return rc;
    }
    v->bytes += m->region.bytes;
    v->regions++;
    return 0;
}

int rp_replay_compare(struct rp_replay *r, struct rp_replay_verdict *ret, struct rp_err *err)
{
    struct rp_replay_verdict v = {0};
    int rc = 0;

    for (size_t i = 0; i < r->memory_count && rc == 0; i++)
        if (&r->memory[i] != kernel_code(r))
            rc = compare_region(r, &r->memory[i], &v, err);
    if (rc == 0)
        rc = compare_variables(r, &v, err);
    if (rc == 0)
        *ret = v;
    return rc;
}

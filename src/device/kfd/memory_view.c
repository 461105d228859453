/**
 * @file memory_view.c
 * @brief What kernels see: the page tables, and the program's own pages.
 */
#include <errno.h>

#include "device/exec/exec.h"
#include "device/exec/guard.h"
#include "memory.h"
#include "topology.h"

/* ---- the program's own pages -------------------------------------------------------------- */

int rp_memory_set_shared(struct rp_memory *memory, unsigned gpu, uint64_t va, uint64_t end,
                         bool visible, bool writable)
{
    struct rp_vm *vm = &memory->vm[gpu];
    while (va < end) {
        const struct rp_vm_range *next = rp_vm_next(vm, va);
        bool hole = !next || next->begin > va;
        uint64_t stop = !next ? end : hole ? next->begin : next->end;
        bool wrong = !hole && next->svm && (!visible || next->writable != writable);
        if (stop > end)
            stop = end;
        if (wrong && rp_vm_unmap(vm, va, stop) < 0)
            return -ENOMEM;
        struct rp_vm_range shared = {
            .begin = va, .end = stop, .writable = writable, .shared = true, .svm = true};
        int rc = visible && (hole || wrong) ? rp_vm_map(vm, &shared) : 0;
        if (rc < 0)
            return rc;
        memory->shared_ranges++;
        va = stop;
    }
    return 0;
}

/** Returns whether anything was shared. */
static bool unshare_locked(struct rp_vm *vm, uint64_t va, uint64_t end)
{
    uint64_t generation = vm->generation;
    const struct rp_vm_range *range;
    while (va < end && (range = rp_vm_next(vm, va)) && range->begin < end) {
        uint64_t stop = range->end < end ? range->end : end;
        if (range->shared && rp_vm_unmap(vm, va, stop) < 0)
            break;
        va = stop;
    }
    return vm->generation != generation;
}

void rp_memory_host_unmapped(struct rp_memory *memory, uint64_t va, uint64_t bytes)
{
    const uint64_t end = (va + bytes + RP_BACKING_PAGE - 1) & ~(uint64_t)(RP_BACKING_PAGE - 1);
    if (va % RP_BACKING_PAGE || end <= va || /* the kernel will refuse */
        __atomic_load_n(&memory->shared_ranges, __ATOMIC_RELAXED) == 0)
        return;
    pthread_mutex_lock(&memory->lock);
    bool changed = false;
    /* Without memory to cut a range, what was said stays: it is wrong for nobody's pages. */
    rp_svm_ranges_forget(&memory->svm, va, end);
    for (unsigned gpu = 0; gpu < memory->gpu_count; gpu++)
        changed |= unshare_locked(&memory->vm[gpu], va, end);
    pthread_mutex_unlock(&memory->lock);
    if (changed) /* a kernel may be using these pages: its next access is to fault */
        rp_exec_settle();
}

/* ---- what kernels see --------------------------------------------------------------------- */

/** What the page table shows of the program's own pages is guarded like what it borrows. */
static void lend_shared(const struct rp_memory *memory, const struct rp_vm_range *range)
{
    if (memory->xnack && range && range->shared)
        rp_guard_lend(range->begin + (uint64_t)range->delta, range->end + (uint64_t)range->delta);
}

void *rp_memory_translate(struct rp_memory *memory, unsigned gpu, uint64_t va, uint64_t bytes,
                          int write)
{
    pthread_mutex_lock(&memory->lock);
    for (uint64_t at = va; memory->xnack && at < va + bytes;) { /* it may be in several ranges */
        const struct rp_vm_range *range = rp_vm_find(&memory->vm[gpu], at);
        if (!range)
            break;
        lend_shared(memory, range);
        at = range->end;
    }
    void *host = rp_vm_translate(&memory->vm[gpu], va, bytes, write != 0);
    pthread_mutex_unlock(&memory->lock);
    return host;
}

/** Changes with every page table: the program's mappings have changed too, then. */
static uint64_t generations(const struct rp_memory *memory)
{
    uint64_t sum = 1;
    for (unsigned gpu = 0; gpu < memory->gpu_count; gpu++)
        sum += memory->vm[gpu].generation;
    return sum;
}

/** The program's own pages around @p va, as far as the GPU's page table says nothing of them. */
static bool borrow(struct rp_memory *memory, const struct rp_vm *vm, uint64_t va, bool write,
                   uint64_t *ret_begin, uint64_t *ret_end)
{
    uint64_t begin, end;
    uint64_t said_begin, said_end;
    /* Of what something was said, the page table has what may be seen. */
    if (!rp_svm_ranges_hole(&memory->svm, va, &said_begin, &said_end) ||
        !rp_pages_find(&memory->pages, va, write, generations(memory), &begin, &end))
        return false;
    if (said_begin > begin)
        begin = said_begin;
    if (said_end < end)
        end = said_end;
    const struct rp_vm_range *next = rp_vm_next(vm, va);
    size_t before = next ? (size_t)(next - vm->ranges) : vm->count;
    if (next && next->begin < end)
        end = next->begin;
    if (before && vm->ranges[before - 1].end > begin)
        begin = vm->ranges[before - 1].end;
    *ret_begin = begin;
    *ret_end = end;
    return true;
}

bool rp_memory_is_programs(struct rp_memory *memory, uint64_t va, bool write)
{
    uint64_t begin, end;
    pthread_mutex_lock(&memory->lock);
    bool is = rp_pages_find(&memory->pages, va, write, generations(memory), &begin, &end);
    pthread_mutex_unlock(&memory->lock);
    return is;
}

/** Cuts a range of shared pages to those of which the same was said. */
static void clip_to_said(const struct rp_memory *memory, uint64_t va, uint64_t *begin,
                         uint64_t *end)
{
    const struct rp_svm_range *said = rp_svm_ranges_next(&memory->svm, va);
    if (!said || said->begin > va)
        return;
    if (said->begin > *begin)
        *begin = said->begin;
    if (said->end < *end)
        *end = said->end;
}

/**
 * Cuts [*begin, *end), which is somewhere in this process, to what need not be looked up again; the
 * store learns that it is used. Returns whether it has a page to make at *ret_offset.
 */
static bool note_use(struct rp_memory *memory, uint64_t host, int64_t delta, uint64_t *begin,
                     uint64_t *end, uint64_t *ret_offset)
{
    const uint64_t window = (uintptr_t)memory->store.window;
    uint64_t from = *begin + (uint64_t)delta - window, to = *end + (uint64_t)delta - window;
    if (from >= memory->store.bytes || to > memory->store.bytes)
        return false;
    bool make = rp_large_pages_arrive(&memory->store.large, host - window, &from, &to);
    *begin = from + window - (uint64_t)delta;
    *end = to + window - (uint64_t)delta;
    *ret_offset = host - window;
    return make;
}

int rp_memory_range(struct rp_memory *memory, unsigned gpu, uint64_t va, int write,
                    uint64_t *ret_begin, uint64_t *ret_end, int64_t *ret_delta)
{
    uint64_t offset = 0;
    bool make = false;
    pthread_mutex_lock(&memory->lock);
    const struct rp_vm_range *range = rp_vm_find(&memory->vm[gpu], va);
    int found = range && (!write || range->writable);
    if (found) {
        *ret_begin = range->begin;
        *ret_end = range->end;
        *ret_delta = range->delta;
        lend_shared(memory, range);
        if (range->svm) /* one place for all of it */
            clip_to_said(memory, va, ret_begin, ret_end);
        make = note_use(memory, va + (uint64_t)range->delta, range->delta, ret_begin, ret_end,
                        &offset);
    } else if (!range && memory->xnack &&
               borrow(memory, &memory->vm[gpu], va, write != 0, ret_begin, ret_end)) {
        rp_guard_lend(*ret_begin, *ret_end);
        *ret_delta = 0;
        found = 1;
    }
    pthread_mutex_unlock(&memory->lock);
    /* It takes as long as copying the page; the buffer cannot go while somebody looks up its place
     * (rp_exec_settle), and the store outlives it. */
    if (make)
        rp_large_pages_make(&memory->store.large, offset);
    return found;
}

/**
 * The GPU to whose memory the program's pages at @p va have been prefetched, + 1; 0 = the host's.
 * As in the driver without XNACK, nothing else moves them.
 */
static unsigned home_of_pages(const struct rp_memory *memory, uint64_t va)
{
    const struct rp_svm_range *said = rp_svm_ranges_next(&memory->svm, va);
    uint32_t at = said && said->begin <= va ? said->attributes.prefetched : 0;
    uint32_t gpu = at - RP_TOPOLOGY_GPU_ID;
    return gpu < memory->gpu_count ? gpu + 1 : 0;
}

enum rp_memory_location rp_memory_place(struct rp_memory *memory, unsigned gpu, uint64_t va)
{
    pthread_mutex_lock(&memory->lock);
    const struct rp_vm_range *range = rp_vm_find(&memory->vm[gpu], va);
    unsigned home = !range       ? (memory->xnack ? 0 : gpu + 1)
                    : range->svm ? home_of_pages(memory, va)
                                 : range->home;
    pthread_mutex_unlock(&memory->lock);
    return home == 0 ? RP_PLACE_HOST : home == gpu + 1 ? RP_PLACE_LOCAL : RP_PLACE_PEER;
}

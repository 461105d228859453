#include "vm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/** Index of the first range that ends after @p va. */
static size_t first_ending_after(const struct rp_vm *vm, uint64_t va)
{
    size_t lo = 0, hi = vm->count;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (vm->ranges[mid].end <= va)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static int reserve(struct rp_vm *vm, size_t extra)
{
    if (vm->count + extra <= vm->capacity)
        return 0;
    size_t capacity = vm->capacity ? vm->capacity * 2 : 64;
    struct rp_vm_range *grown = realloc(vm->ranges, capacity * sizeof *grown);
    if (!grown)
        return -ENOMEM;
    vm->ranges = grown;
    vm->capacity = capacity;
    return 0;
}

static void insert_at(struct rp_vm *vm, size_t at, const struct rp_vm_range *range)
{
    memmove(&vm->ranges[at + 1], &vm->ranges[at], (vm->count - at) * sizeof *vm->ranges);
    vm->ranges[at] = *range;
    vm->count++;
}

static void bump(struct rp_vm *vm)
{
    __atomic_add_fetch(&vm->generation, 1, __ATOMIC_RELEASE);
}

int rp_vm_map(struct rp_vm *vm, const struct rp_vm_range *range)
{
    if (range->begin >= range->end)
        return -EINVAL;
    size_t at = first_ending_after(vm, range->begin);
    if (at < vm->count && vm->ranges[at].begin < range->end)
        return -EEXIST;
    int rc = reserve(vm, 1);
    if (rc < 0)
        return rc;
    insert_at(vm, at, range);
    bump(vm);
    return 0;
}

int rp_vm_unmap(struct rp_vm *vm, uint64_t begin, uint64_t end)
{
    if (begin >= end)
        return -EINVAL;
    int rc = reserve(vm, 1); /* a hole in the middle of a range makes one more */
    if (rc < 0)
        return rc;
    size_t at = first_ending_after(vm, begin);
    if (at == vm->count || vm->ranges[at].begin >= end)
        return 0;
    if (vm->ranges[at].begin < begin) {
        struct rp_vm_range tail = vm->ranges[at];
        vm->ranges[at].end = begin;
        at++;
        if (tail.end > end) {
            tail.begin = end;
            insert_at(vm, at, &tail);
            bump(vm);
            return 0;
        }
    }
    size_t last = at;
    while (last < vm->count && vm->ranges[last].end <= end)
        last++;
    memmove(&vm->ranges[at], &vm->ranges[last], (vm->count - last) * sizeof *vm->ranges);
    vm->count -= last - at;
    if (at < vm->count && vm->ranges[at].begin < end)
        vm->ranges[at].begin = end;
    bump(vm);
    return 0;
}

const struct rp_vm_range *rp_vm_find(const struct rp_vm *vm, uint64_t va)
{
    size_t at = first_ending_after(vm, va);
    return at < vm->count && vm->ranges[at].begin <= va ? &vm->ranges[at] : NULL;
}

const struct rp_vm_range *rp_vm_next(const struct rp_vm *vm, uint64_t va)
{
    size_t at = first_ending_after(vm, va);
    return at < vm->count ? &vm->ranges[at] : NULL;
}

void *rp_vm_translate(const struct rp_vm *vm, uint64_t va, uint64_t bytes, bool write)
{
    if (bytes == 0 || va + bytes < va)
        return NULL;
    const struct rp_vm_range *range = rp_vm_find(vm, va);
    if (!range)
        return NULL;
    const struct rp_vm_range *limit = vm->ranges + vm->count;
    int64_t delta = range->delta;
    uint64_t reached = va;
    for (; range < limit && range->begin <= reached && range->delta == delta; range++) {
        if (write && !range->writable)
            return NULL;
        reached = range->end;
        if (reached >= va + bytes)
            return (void *)(uintptr_t)(va + (uint64_t)delta);
    }
    return NULL;
}

void rp_vm_release(struct rp_vm *vm)
{
    free(vm->ranges);
    *vm = (struct rp_vm){.generation = vm->generation + 1};
}

/**
 * @file vm.h
 * @brief The GPU's page table: which addresses are mapped, and where their bytes are in this
 *        process. Sorted, non-overlapping ranges; binary search.
 *
 * Not locked: the owner (memory_map.c) serialises calls. Only the generation may be read by anyone.
 */
#ifndef RP_DEVICE_KFD_VM_H
#define RP_DEVICE_KFD_VM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rp_vm_range {
    uint64_t begin, end; /**< half-open, bytes */
    int64_t delta;       /**< host address = gpu address + delta */
    bool writable;
    uint8_t
        home;    /**< GPU index + 1 whose memory it is, 0 = system memory; shared ranges always 0 */
    bool shared; /**< pages of the program itself at their own address (delta 0) */
    bool svm;    /**< that because of SVM attributes, which can take it back */
};

struct rp_vm {
    struct rp_vm_range *ranges;
    size_t count, capacity;
    uint64_t generation; /**< changes with every successful map and unmap */
};

/** Returns 0, -EINVAL (empty or wrapping), -EEXIST (overlap) or -ENOMEM. */
int rp_vm_map(struct rp_vm *vm, const struct rp_vm_range *range);

/** Removes every mapped byte of [begin, end); splits ranges. Returns 0, -EINVAL or -ENOMEM. */
int rp_vm_unmap(struct rp_vm *vm, uint64_t begin, uint64_t end);

/** The range that holds @p va, or NULL. Valid until the next map or unmap. */
const struct rp_vm_range *rp_vm_find(const struct rp_vm *vm, uint64_t va);

/** The first range that holds @p va or lies above it, or NULL. */
const struct rp_vm_range *rp_vm_next(const struct rp_vm *vm, uint64_t va);

/**
 * Host pointer for [va, va + bytes), which may cross ranges that continue each other; NULL if any
 * byte is not mapped (or not writable when @p write).
 */
void *rp_vm_translate(const struct rp_vm *vm, uint64_t va, uint64_t bytes, bool write);

void rp_vm_release(struct rp_vm *vm);

#endif

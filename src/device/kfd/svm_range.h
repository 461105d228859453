/**
 * @file svm_range.h
 * @brief What the program said about ranges of its memory (SVM attributes): remembered per page.
 *
 * Sorted ranges that do not overlap; setting part of one splits it. Not locked: the owner
 * (memory_map.c) serialises calls.
 */
#ifndef RP_DEVICE_KFD_SVM_RANGE_H
#define RP_DEVICE_KFD_SVM_RANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rp_svm_attributes {
    uint32_t preferred, prefetched; /**< KFD's gpu_id, 0 = system memory, RP_SVM_UNDEFINED */
    uint32_t access, in_place;      /**< masks of GPU indices, disjoint */
    uint32_t flags;                 /**< KFD_IOCTL_SVM_FLAG_* */
    uint32_t granularity;           /**< log2 of pages */
};

#define RP_SVM_UNDEFINED 0xffffffffu

struct rp_svm_range {
    uint64_t begin, end;
    struct rp_svm_attributes attributes;
};

struct rp_svm_ranges {
    struct rp_svm_range *ranges;
    size_t count;
};

/**
 * Calls @p change for the attributes of every piece of [begin, end); pieces nobody has set before
 * begin with @p initial. Returns 0 or -ENOMEM, then without having called it.
 */
int rp_svm_ranges_update(struct rp_svm_ranges *ranges, uint64_t begin, uint64_t end,
                         const struct rp_svm_attributes *initial,
                         void (*change)(struct rp_svm_attributes *attributes, const void *ctx),
                         const void *ctx);

/** Forgets [begin, end): its memory is gone. Returns 0 or -ENOMEM. */
int rp_svm_ranges_forget(struct rp_svm_ranges *ranges, uint64_t begin, uint64_t end);

/** The first range that holds @p va or lies above it, or NULL. */
const struct rp_svm_range *rp_svm_ranges_next(const struct rp_svm_ranges *ranges, uint64_t va);

/** Whether @p va lies in no range; then what lies between its neighbours. */
bool rp_svm_ranges_hole(const struct rp_svm_ranges *ranges, uint64_t va, uint64_t *ret_begin,
                        uint64_t *ret_end);

void rp_svm_ranges_release(struct rp_svm_ranges *ranges);

#endif

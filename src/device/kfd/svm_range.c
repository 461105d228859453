#include "svm_range.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static size_t first_ending_after(const struct rp_svm_ranges *ranges, uint64_t va)
{
    size_t lo = 0, hi = ranges->count;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (ranges->ranges[mid].end <= va)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

const struct rp_svm_range *rp_svm_ranges_next(const struct rp_svm_ranges *ranges, uint64_t va)
{
    size_t at = first_ending_after(ranges, va);
    return at < ranges->count ? &ranges->ranges[at] : NULL;
}

bool rp_svm_ranges_hole(const struct rp_svm_ranges *ranges, uint64_t va, uint64_t *ret_begin,
                        uint64_t *ret_end)
{
    size_t at = first_ending_after(ranges, va);
    if (at < ranges->count && ranges->ranges[at].begin <= va)
        return false;
    *ret_begin = at > 0 ? ranges->ranges[at - 1].end : 0;
    *ret_end = at < ranges->count ? ranges->ranges[at].begin : UINT64_MAX;
    return true;
}

/** Appends, and joins neighbours that say the same: programs set the same ranges over and over. */
static void append(struct rp_svm_ranges *to, const struct rp_svm_range *range)
{
    struct rp_svm_range *last = to->count ? &to->ranges[to->count - 1] : NULL;
    if (range->begin >= range->end)
        return;
    if (last && last->end == range->begin &&
        memcmp(&last->attributes, &range->attributes, sizeof range->attributes) == 0)
        last->end = range->end;
    else
        to->ranges[to->count++] = *range;
}

static struct rp_svm_range part(const struct rp_svm_range *of, uint64_t begin, uint64_t end)
{
    struct rp_svm_range piece = *of;
    if (piece.begin < begin)
        piece.begin = begin;
    if (piece.end > end)
        piece.end = end;
    return piece;
}

/** Room for @p ranges, each of them cut twice, with a piece between any two. */
static int begin_copy(const struct rp_svm_ranges *ranges, struct rp_svm_ranges *ret)
{
    *ret = (struct rp_svm_ranges){0};
    ret->ranges = malloc((2 * ranges->count + 3) * sizeof *ret->ranges);
    return ret->ranges ? 0 : -ENOMEM;
}

int rp_svm_ranges_update(struct rp_svm_ranges *ranges, uint64_t begin, uint64_t end,
                         const struct rp_svm_attributes *initial,
                         void (*change)(struct rp_svm_attributes *attributes, const void *ctx),
                         const void *ctx)
{
    struct rp_svm_ranges fresh;
    uint64_t reached = begin;
    size_t i = 0;
    if (begin_copy(ranges, &fresh) < 0)
        return -ENOMEM;
    for (; i < ranges->count && ranges->ranges[i].begin < end; i++) {
        struct rp_svm_range before = part(&ranges->ranges[i], 0, begin);
        struct rp_svm_range inside = part(&ranges->ranges[i], begin, end);
        append(&fresh, &before);
        if (inside.begin >= inside.end)
            continue;
        struct rp_svm_range gap = {reached, inside.begin, *initial};
        if (gap.begin < gap.end)
            change(&gap.attributes, ctx);
        append(&fresh, &gap);
        change(&inside.attributes, ctx);
        append(&fresh, &inside);
        reached = inside.end;
    }
    struct rp_svm_range gap = {reached, end, *initial};
    if (gap.begin < gap.end)
        change(&gap.attributes, ctx);
    append(&fresh, &gap);
    if (i > 0) {
        struct rp_svm_range after = part(&ranges->ranges[i - 1], end, UINT64_MAX);
        append(&fresh, &after);
    }
    for (; i < ranges->count; i++)
        append(&fresh, &ranges->ranges[i]);
    free(ranges->ranges);
    *ranges = fresh;
    return 0;
}

int rp_svm_ranges_forget(struct rp_svm_ranges *ranges, uint64_t begin, uint64_t end)
{
    struct rp_svm_ranges fresh;
    const struct rp_svm_range *first = rp_svm_ranges_next(ranges, begin);
    if (!first || first->begin >= end)
        return 0;
    if (begin_copy(ranges, &fresh) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < ranges->count; i++) {
        struct rp_svm_range before = part(&ranges->ranges[i], 0, begin);
        struct rp_svm_range after = part(&ranges->ranges[i], end, UINT64_MAX);
        append(&fresh, &before);
        append(&fresh, &after);
    }
    free(ranges->ranges);
    *ranges = fresh;
    return 0;
}

void rp_svm_ranges_release(struct rp_svm_ranges *ranges)
{
    free(ranges->ranges);
    *ranges = (struct rp_svm_ranges){0};
}

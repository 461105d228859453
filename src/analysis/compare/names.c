#include "analysis/compare/names.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "rocm-perf/compare.h"
#include "trace/rocpd.h"

static uint64_t hash_of(const char *name)
{
    uint64_t hash = 14695981039346656037u; /* FNV-1a */

    for (; *name; name++)
        hash = (hash ^ (uint8_t)*name) * 1099511628211u;
    return hash ^ hash >> 32;
}

/* The slot of a name, or the free one where it belongs. */
static uint32_t *slot_of(const struct rp_versus_side *side, const char *name)
{
    size_t at = (size_t)hash_of(name) & (side->slot_count - 1);

    while (side->slots[at] && strcmp(side->kernels[side->slots[at] - 1].name, name) != 0)
        at = (at + 1) & (side->slot_count - 1);
    return &side->slots[at];
}

static void fill(struct rp_versus_side *side)
{
    for (size_t i = 0; i < side->kernel_count; i++)
        *slot_of(side, side->kernels[i].name) = (uint32_t)i + 1;
}

bool rp_versus_names_add(struct rp_versus_side *side)
{
    const size_t at = side->kernel_count - 1, more = side->slot_count ? 2 * side->slot_count : 64;
    uint32_t *slots;

    if (side->kernel_count >= UINT32_MAX)
        return false;
    if (side->kernel_count * 2 <= side->slot_count) {
        *slot_of(side, side->kernels[at].name) = (uint32_t)side->kernel_count;
        return true;
    }
    slots = calloc(more, sizeof *slots);
    if (!slots)
        return false;
    free(side->slots);
    side->slots = slots;
    side->slot_count = more;
    fill(side);
    return true;
}

void rp_versus_names_again(struct rp_versus_side *side)
{
    if (!side->slots)
        return;
    memset(side->slots, 0, side->slot_count * sizeof *side->slots);
    fill(side);
}

struct rp_versus_kernel *rp_versus_side_find(const struct rp_versus_side *side, const char *name)
{
    uint32_t number;

    if (!name)
        return NULL;
    if (side->slots) {
        number = *slot_of(side, name);
        return number ? &side->kernels[number - 1] : NULL;
    }
    for (size_t i = 0; i < side->kernel_count; i++) /* one that was put together by hand */
        if (strcmp(side->kernels[i].name, name) == 0)
            return &side->kernels[i];
    return NULL;
}

/* --- pairs ---------------------------------------------------------------------------------- */

/** One that the other side has not by its name. */
struct lone {
    const struct rp_versus_kernel *kernel;
    size_t plain_bytes; /* of its name */
    bool is_after;
    const struct rp_versus_kernel *partner;
};

static struct lone lone_of(const struct rp_versus_kernel *kernel, bool is_after)
{
    return (struct lone){.kernel = kernel,
                         .plain_bytes = rp_kernel_plain_length(kernel->name),
                         .is_after = is_after};
}

static int by_plain_name(const void *left, const void *right)
{
    const struct lone *a = left, *b = right;
    const size_t both = a->plain_bytes < b->plain_bytes ? a->plain_bytes : b->plain_bytes;
    int order = memcmp(a->kernel->name, b->kernel->name, both);

    return order ? order : (a->plain_bytes > b->plain_bytes) - (a->plain_bytes < b->plain_bytes);
}

static void marry(struct lone *a, struct lone *b)
{
    a->partner = b->kernel;
    b->partner = a->kernel;
}

/* Those of one plain name. */
static void pair_group(struct lone *of, size_t count)
{
    struct lone *last[2] = {NULL, NULL};
    size_t left[2] = {0, 0};

    for (size_t i = 0; i < count; i++)
        for (size_t j = i + 1; !of[i].partner && of[i].kernel->code_hash && j < count; j++)
            if (!of[j].partner && of[j].is_after != of[i].is_after &&
                of[j].kernel->code_hash == of[i].kernel->code_hash)
                marry(&of[i], &of[j]);
    for (size_t i = 0; i < count; i++)
        if (!of[i].partner) {
            left[of[i].is_after]++;
            last[of[i].is_after] = &of[i];
        }
    if (left[0] == 1 && left[1] == 1)
        marry(last[0], last[1]);
}

static const struct rp_versus_kernel *partner_of(const struct lone *list, size_t count,
                                                 const struct rp_versus_kernel *kernel)
{
    const struct lone key = lone_of(kernel, false);
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (by_plain_name(&list[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < count && by_plain_name(&list[low], &key) == 0; low++)
        if (list[low].kernel == kernel)
            return list[low].partner;
    return NULL;
}

size_t rp_versus_names_pair(const struct rp_versus_side *before, const struct rp_versus_side *after,
                            struct rp_versus_pair *ret)
{
    rp_autofree struct lone *lone =
        calloc(before->kernel_count + after->kernel_count + 1, sizeof *lone);
    size_t lone_count = 0, count = 0;

    if (!lone)
        return SIZE_MAX;
    for (size_t i = 0; i < before->kernel_count; i++)
        if (!rp_versus_side_find(after, before->kernels[i].name))
            lone[lone_count++] = lone_of(&before->kernels[i], false);
    for (size_t i = 0; i < after->kernel_count; i++)
        if (!rp_versus_side_find(before, after->kernels[i].name))
            lone[lone_count++] = lone_of(&after->kernels[i], true);
    if (lone_count)
        qsort(lone, lone_count, sizeof *lone, by_plain_name);
    for (size_t i = 0, end; i < lone_count; i = end) {
        for (end = i + 1; end < lone_count && by_plain_name(&lone[i], &lone[end]) == 0;)
            end++;
        pair_group(&lone[i], end - i);
    }
    for (size_t i = 0; i < before->kernel_count; i++) {
        const struct rp_versus_kernel *same = rp_versus_side_find(after, before->kernels[i].name);

        ret[count++] = (struct rp_versus_pair){
            .before = &before->kernels[i],
            .after = same ? same : partner_of(lone, lone_count, &before->kernels[i])};
    }
    for (size_t i = 0; i < after->kernel_count; i++)
        if (!rp_versus_side_find(before, after->kernels[i].name) &&
            !partner_of(lone, lone_count, &after->kernels[i]))
            ret[count++] = (struct rp_versus_pair){.after = &after->kernels[i]};
    return count;
}

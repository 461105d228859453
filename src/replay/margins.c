#include "replay/margins.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"

struct span {
    uint64_t from, to;
};

static int by_address(const void *a, const void *b)
{
    const struct span *x = a, *y = b;

    return (x->from > y->from) - (x->from < y->from);
}

int rp_margins_find(const struct rp_replay_range *ranges, size_t range_count,
                    const struct rp_capture_memory *memory, size_t memory_count,
                    struct rp_margin **ret, size_t *ret_count, struct rp_err *err)
{
    /* Each margin ends at a region or at a range's end. */
    struct rp_margin *margins = calloc(memory_count + range_count + 1, sizeof *margins);
    rp_autofree struct span *spans = calloc(memory_count + 1, sizeof *spans);
    size_t count = 0, at = 0;

    if (!margins || !spans) {
        free(margins);
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    }
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
                margins[count++] = (struct rp_margin){done, spans[at].from - done, host};
            done = spans[at].to > done ? spans[at].to : done;
        }
        if (done < end)
            margins[count++] = (struct rp_margin){done, end - done, host};
    }
    *ret = margins;
    *ret_count = count;
    return 0;
}

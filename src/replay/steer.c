/**
 * @file steer.c
 * @brief Takes the addresses of a capture before anything else can.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "replay/replay.h"

static int by_base(const void *a, const void *b)
{
    const struct rp_replay_range *x = a, *y = b;

    return (x->base > y->base) - (x->base < y->base);
}

int rp_replay_plan(struct rp_replay *r, struct rp_err *err)
{
    size_t kept = 0;
    int rc;

    r->memory = rp_capture_get_memory(r->capture, &r->memory_count);
    r->facts = rp_capture_get_facts(r->capture);
    r->ranges = calloc(r->memory_count + 1, sizeof *r->ranges);
    if (!r->ranges)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (size_t i = 0; i < r->memory_count; i++) {
        const struct rp_snapshot_region *region = &r->memory[i].region;
        const uint64_t base = region->base & ~(uint64_t)(RP_PAGE_BYTES - 1);

        r->ranges[r->range_count++] = (struct rp_replay_range){
            .base = base,
            .bytes = rp_pages_of(region->base - base + region->bytes) * RP_PAGE_BYTES,
            .flags = region->flags,
            .node = region->node,
            .code = region->memory_class == RP_MEMORY_CODE};
    }
    if (r->range_count)
        qsort(r->ranges, r->range_count, sizeof *r->ranges, by_base);
    for (size_t i = 0; i < r->range_count; i++) { /* two regions may share a page */
        struct rp_replay_range *last = kept ? &r->ranges[kept - 1] : NULL;
        const struct rp_replay_range range = r->ranges[i];

        if (!last || range.base >= last->base + last->bytes) {
            r->ranges[kept++] = range;
            continue;
        }
        rc = rp_replay_add_range(last, &range, err);
        if (rc < 0)
            return rc;
    }
    r->range_count = kept;
    return 0;
}

/* What stands in the way: the line of /proc/self/maps. */
static void name_conflict(const struct rp_replay_range *range, char *ret, size_t room)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    uint64_t from, to;
    char line[512];

    snprintf(ret, room, "something that is not listed");
    while (maps && fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%" SCNx64 "-%" SCNx64, &from, &to) != 2 || to <= range->base ||
            from >= range->base + range->bytes)
            continue;
        line[strcspn(line, "\n")] = '\0';
        snprintf(ret, room, "%s", line);
        break;
    }
    if (maps)
        fclose(maps);
}

int rp_replay_take_ranges(struct rp_replay *r, struct rp_err *err)
{
    for (size_t i = 0; i < r->range_count; i++) {
        const struct rp_replay_range *range = &r->ranges[i];
        void *wanted = (void *)(uintptr_t)range->base;
        void *got = mmap(wanted, range->bytes, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
        char conflict[512];

        if (got == wanted)
            continue;
        if (got == MAP_FAILED && errno != EEXIST)
            return rp_fail_errno(err, RP_ENVIRONMENT, errno,
                                 "the range 0x%" PRIx64 " with %" PRIu64 " bytes cannot be had",
                                 range->base, range->bytes);
        name_conflict(range, conflict, sizeof conflict);
        return rp_fail(err, RP_VERDICT,
                       "the range 0x%" PRIx64 " with %" PRIu64
                       " bytes is taken in this process: %s",
                       range->base, range->bytes, conflict);
    }
    return 0;
}

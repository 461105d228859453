/**
 * @file memory_list.c
 * @brief The list of memory as a snapshot takes it: in order, each byte once, and really there.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "tool/memory.h"
#include "tool/tool.h"

enum { PAGE = 4096 };

struct list {
    struct rp_memory_entry *entries;
    size_t count, capacity;
    bool failed;
};

static void append(struct list *list, const struct rp_memory_entry *entry, uint64_t base,
                   uint64_t end)
{
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? list->capacity * 2 : 256;
        struct rp_memory_entry *bigger = realloc(list->entries, capacity * sizeof(*bigger));

        if (!bigger) {
            list->failed = true;
            return;
        }
        list->entries = bigger;
        list->capacity = capacity;
    }
    list->entries[list->count] = *entry;
    list->entries[list->count].region.base = base;
    list->entries[list->count++].region.bytes = end - base;
}

/* Whether a page of this process is mapped to anything. */
static bool is_there(uint64_t page)
{
    unsigned char resident;

    return mincore((void *)(uintptr_t)page, PAGE, &resident) == 0 || errno != ENOMEM;
}

static bool are_all_there(uint64_t base, uint64_t end)
{
    enum { CHUNK_PAGES = 4096 };
    unsigned char resident[CHUNK_PAGES];

    for (uint64_t at = base; at < end; at += (uint64_t)CHUNK_PAGES * PAGE) {
        uint64_t bytes =
            end - at < (uint64_t)CHUNK_PAGES * PAGE ? end - at : (uint64_t)CHUNK_PAGES * PAGE;

        if (mincore((void *)(uintptr_t)at, bytes, resident) < 0 && errno == ENOMEM)
            return false;
    }
    return true;
}

/* Managed memory ends without a call to the runtime: what is still mapped, piece by piece. */
static void append_pieces(struct list *list, const struct rp_memory_entry *entry, uint64_t base,
                          uint64_t end)
{
    uint64_t page = base & ~(uint64_t)(PAGE - 1);

    end = (end + PAGE - 1) & ~(uint64_t)(PAGE - 1);
    if (are_all_there(page, end)) {
        append(list, entry, page, end);
        return;
    }
    while (page < end) {
        uint64_t from;

        for (; page < end && !is_there(page); page += PAGE)
            ;
        for (from = page; page < end && is_there(page); page += PAGE)
            ;
        if (page > from)
            append(list, entry, from, page);
    }
}

static int by_base(const void *a, const void *b)
{
    const struct rp_snapshot_region *x = &((const struct rp_memory_entry *)a)->region;
    const struct rp_snapshot_region *y = &((const struct rp_memory_entry *)b)->region;

    if (x->base != y->base)
        return x->base < y->base ? -1 : 1;
    return (x->bytes < y->bytes) - (x->bytes > y->bytes); /* the longer one first */
}

/* Of two that overlap, the second one loses what the first one has. */
static void trim(struct list *list)
{
    uint64_t end = 0;
    size_t kept = 0;

    for (size_t i = 0; i < list->count; i++) {
        struct rp_memory_entry entry = list->entries[i];
        const uint64_t its_end = entry.region.base + entry.region.bytes;

        if (its_end <= end)
            continue;
        if (entry.region.base < end)
            entry.region.base = end;
        entry.region.bytes = its_end - entry.region.base;
        end = its_end;
        list->entries[kept++] = entry;
    }
    list->count = kept;
}

bool rp_memory_list(struct rp_tool *tool, struct rp_memory_entry **ret, size_t *ret_count)
{
    struct rp_memory *memory = &tool->memory;
    struct list list = {0};

    pthread_mutex_lock(&memory->lock);
    list.failed = memory->lost > 0;
    for (size_t i = 0; i < memory->count; i++) {
        const struct rp_memory_entry *entry = &memory->entries[i];
        const struct rp_snapshot_region *r = &entry->region;

        if (r->memory_class == RP_MEMORY_SVM || r->memory_class == RP_MEMORY_LOCKED)
            append_pieces(&list, entry, r->base, r->base + r->bytes);
        else
            append(&list, entry, r->base, r->base + r->bytes);
    }
    pthread_mutex_unlock(&memory->lock);
    if (list.failed) {
        free(list.entries);
        return false;
    }
    if (list.count)
        qsort(list.entries, list.count, sizeof(*list.entries), by_base);
    trim(&list);
    *ret = list.entries;
    *ret_count = list.count;
    return true;
}

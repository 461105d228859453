/**
 * @file memory_list.c
 * @brief The list of memory as a snapshot takes it: in order, each byte once, and really there.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tool/memory.h"
#include "tool/tool.h"

enum { PAGE_BYTES = 4096 };

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

/* --- what the program has ------------------------------------------------------------------ */

struct range {
    uint64_t from, to;
};

/** Memory that the program can read, in order. */
struct readable {
    struct range *ranges;
    size_t count, capacity;
    bool unknown; /* the system does not say: all is taken for readable */
};

static bool add_range(struct readable *r, uint64_t from, uint64_t to)
{
    if (r->count > 0 && r->ranges[r->count - 1].to == from) {
        r->ranges[r->count - 1].to = to;
        return true;
    }
    if (r->count == r->capacity) {
        size_t capacity = r->capacity ? r->capacity * 2 : 256;
        struct range *bigger = realloc(r->ranges, capacity * sizeof(*bigger));

        if (!bigger)
            return false;
        r->ranges = bigger;
        r->capacity = capacity;
    }
    r->ranges[r->count++] = (struct range){from, to};
    return true;
}

static void read_maps(struct readable *r)
{
    FILE *file = fopen("/proc/self/maps", "re");
    char *line = NULL, can_read;
    size_t room = 0;
    uint64_t from, to;

    r->unknown = !file;
    while (file && getline(&line, &room, file) > 0)
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %c", &from, &to, &can_read) == 3 &&
            can_read == 'r' && !add_range(r, from, to))
            r->unknown = true;
    free(line);
    if (file)
        fclose(file);
}

/* The first range that ends behind @p page: they are in order. */
static size_t first_behind(const struct readable *r, uint64_t page)
{
    size_t low = 0, high = r->count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (r->ranges[middle].to <= page)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Managed memory ends without a call to the runtime: piece by piece, what is still there and what
 * is not. What the program cannot read itself (the addresses may be reserved for something else by
 * now), kernels cannot reach. */
static void append_pieces(struct list *list, const struct readable *r,
                          const struct rp_memory_entry *entry)
{
    uint64_t page = entry->region.base & ~(uint64_t)(PAGE_BYTES - 1);
    const uint64_t end =
        (entry->region.base + entry->region.bytes + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1);
    struct rp_memory_entry gone = *entry;

    gone.gone = true;
    for (size_t i = first_behind(r, page); i < r->count && page < end && !r->unknown; i++) {
        const uint64_t from = r->ranges[i].from < end ? r->ranges[i].from : end;
        const uint64_t to = r->ranges[i].to < end ? r->ranges[i].to : end;

        if (from > page)
            append(list, &gone, page, from);
        page = from > page ? from : page;
        if (to > page)
            append(list, entry, page, to);
        page = to;
    }
    if (page < end)
        append(list, r->unknown ? entry : &gone, page, end);
}

/* --- each byte once ------------------------------------------------------------------------ */

static int by_base(const void *a, const void *b)
{
    const struct rp_snapshot_region *x = &((const struct rp_memory_entry *)a)->region;
    const struct rp_snapshot_region *y = &((const struct rp_memory_entry *)b)->region;

    if (x->base != y->base)
        return x->base < y->base ? -1 : 1;
    return (x->bytes < y->bytes) - (x->bytes > y->bytes); /* the longer one first */
}

/* Of two that overlap: what the runtime has now given out is there, what the program announced some
 * time may be stale, and of what is gone only the rest is told. */
enum { RANKS = 3 };

static unsigned rank_of(const struct rp_memory_entry *entry)
{
    if (entry->gone)
        return 2;
    return entry->region.memory_class == RP_MEMORY_SVM ||
           entry->region.memory_class == RP_MEMORY_LOCKED;
}

/* The parts that none of the first @p count in order has. */
static void append_rest(struct list *list, size_t count, const struct rp_memory_entry *entry,
                        uint64_t base, uint64_t end)
{
    size_t low = 0, high = count;

    while (low < high) { /* the first one that ends behind the base */
        const size_t middle = low + (high - low) / 2;
        const struct rp_snapshot_region *r = &list->entries[middle].region;

        if (r->base + r->bytes <= base)
            low = middle + 1;
        else
            high = middle;
    }
    while (base < end && !list->failed) {
        const struct rp_snapshot_region *r = low < count ? &list->entries[low].region : NULL;
        const uint64_t next = r && r->base < end ? r->base : end;

        if (r && r->base <= base) {
            base = r->base + r->bytes;
            low++;
            continue;
        }
        append(list, entry, base, next);
        base = next;
    }
}

static void sort(struct list *list)
{
    if (list->count)
        qsort(list->entries, list->count, sizeof(*list->entries), by_base);
}

/* Each byte once. Of two of one rank that overlap, the second one loses what the first one has. */
static void trim(struct list *list)
{
    struct list kept = {0};

    sort(list);
    for (unsigned rank = 0; rank < RANKS; rank++) {
        const size_t count = kept.count;
        uint64_t covered = 0;

        for (size_t i = 0; i < list->count; i++) {
            const struct rp_memory_entry *entry = &list->entries[i];
            const uint64_t base = entry->region.base, end = base + entry->region.bytes;

            if (rank_of(entry) != rank || end <= covered)
                continue;
            append_rest(&kept, count, entry, base > covered ? base : covered, end);
            covered = end;
        }
        sort(&kept);
    }
    free(list->entries);
    *list = kept;
}

/* --- who can read it ----------------------------------------------------------------------- */

struct access {
    const struct rp_tool *tool;
    const struct rp_memory_entry *entry;
    bool asked, by_host;
    rp_hsa_agent gpu; /* the owner, if it is one of them */
};

static rp_hsa_status note_access(rp_hsa_agent agent, void *data)
{
    enum { MAY_READ = 1 }; /* of hsa_access_permission_t: read only 1, write only 2, both 3 */
    struct access *access = data;
    const struct rp_hsa *hsa = &access->tool->hsa;
    uint32_t permissions = 0, type = 0;

    if (hsa->hsa_amd_vmem_get_access((void *)(uintptr_t)access->entry->region.base, &permissions,
                                     agent) != RP_HSA_SUCCESS)
        return RP_HSA_SUCCESS;
    access->asked = true;
    hsa->hsa_agent_get_info(agent, RP_HSA_AGENT_DEVICE, &type);
    if (!(permissions & MAY_READ))
        return RP_HSA_SUCCESS;
    if (type == 0)
        access->by_host = true;
    else if (!access->gpu || agent == access->entry->owner)
        access->gpu = agent;
    return RP_HSA_SUCCESS;
}

/* Each agent is given access or not, the owner too; it may have been taken away again. The runtime
 * knows. */
static void find_reader(const struct rp_tool *tool, struct rp_memory_entry *entry)
{
    struct access access = {.tool = tool, .entry = entry};
    const bool host = entry->region.flags & RP_MEMORY_HOST;

    if (entry->region.memory_class != RP_MEMORY_VMEM || !tool->hsa.hsa_amd_vmem_get_access)
        return;
    tool->hsa.hsa_iterate_agents(note_access, &access);
    if (!access.asked)
        return;
    entry->reader = host && access.by_host ? 0 : access.gpu;
    entry->unreachable = !entry->reader && !(host && access.by_host);
}

/* --- one memory at two addresses ----------------------------------------------------------- */

static uint64_t offset_of(const struct rp_memory_entry *entry)
{
    return entry->region.base - entry->start;
}

static int by_handle(const void *a, const void *b)
{
    const struct rp_memory_entry *x = *(const struct rp_memory_entry *const *)a;
    const struct rp_memory_entry *y = *(const struct rp_memory_entry *const *)b;

    if (x->handle != y->handle)
        return x->handle < y->handle ? -1 : 1;
    if (offset_of(x) != offset_of(y))
        return offset_of(x) < offset_of(y) ? -1 : 1;
    return (x->region.base > y->region.base) - (x->region.base < y->region.base);
}

/* A handle stays what it is while it is mapped, even if the program has released it. */
static void mark_same(struct rp_memory_entry **mapped, size_t count)
{
    const struct rp_memory_entry *first = NULL; /* of the handle: the last one that is captured */

    for (size_t i = 0; i < count; i++) {
        struct rp_memory_entry *entry = mapped[i];

        if (!first || first->handle != entry->handle ||
            offset_of(entry) - offset_of(first) >= first->region.bytes)
            first = entry;
        else
            entry->same_as = first->region.base + (offset_of(entry) - offset_of(first));
    }
}

static bool find_same(struct list *list)
{
    struct rp_memory_entry **mapped = calloc(list->count + 1, sizeof(struct rp_memory_entry *));
    const bool good = mapped != NULL;
    size_t count = 0;

    for (size_t i = 0; good && i < list->count; i++)
        if (list->entries[i].region.memory_class == RP_MEMORY_VMEM && list->entries[i].handle &&
            !list->entries[i].unreachable)
            mapped[count++] = &list->entries[i];
    if (count > 1) {
        qsort(mapped, count, sizeof(struct rp_memory_entry *), by_handle);
        mark_same(mapped, count);
    }
    free(mapped);
    return good;
}

bool rp_memory_list(struct rp_tool *tool, struct rp_memory_entry **ret, size_t *ret_count)
{
    struct rp_memory *memory = &tool->memory;
    struct readable readable = {0};
    struct list list = {0};

    read_maps(&readable);
    pthread_mutex_lock(&memory->lock);
    list.failed = memory->lost > 0;
    for (size_t i = 0; i < memory->count; i++) {
        const struct rp_memory_entry *entry = &memory->entries[i];
        const struct rp_snapshot_region *r = &entry->region;

        if (r->memory_class == RP_MEMORY_SVM || r->memory_class == RP_MEMORY_LOCKED)
            append_pieces(&list, &readable, entry);
        else
            append(&list, entry, r->base, r->base + r->bytes);
    }
    pthread_mutex_unlock(&memory->lock);
    free(readable.ranges);
    if (!list.failed)
        trim(&list);
    for (size_t i = 0; i < list.count && !list.failed; i++)
        find_reader(tool, &list.entries[i]);
    if (list.failed || !find_same(&list)) {
        free(list.entries);
        return false;
    }
    *ret = list.entries;
    *ret_count = list.count;
    return true;
}

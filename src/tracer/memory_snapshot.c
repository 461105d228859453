/**
 * @file memory_snapshot.c
 * @brief This file makes the list of memory that a snapshot takes: in order, each byte once,
 * and really there.
 */
#include "tracer/memory_snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "tracer/memory_map.h"
#include "tracer/tracer.h"

enum { PAGE_BYTES = 4096 };

struct list {
    RP_VEC(struct rp_memory_entry);
    bool failed;
};

static void append(struct list *list, const struct rp_memory_entry *entry, uint64_t base,
                   uint64_t end)
{
    struct rp_memory_entry piece = *entry;

    piece.region.base = base;
    piece.region.bytes = end - base;
    if (rp_vec_push(list, piece) < 0)
        list->failed = true;
}

/* --- what the program has ------------------------------------------------------------------ */

struct range {
    uint64_t from, to;
};

/** This lists memory that the program can read, in order. */
struct readable {
    RP_VEC(struct range);
    bool unknown; /**< the system does not say: all is taken for readable */
};

static bool add_range(struct readable *r, uint64_t from, uint64_t to)
{
    if (r->count > 0 && r->items[r->count - 1].to == from) {
        r->items[r->count - 1].to = to;
        return true;
    }
    return rp_vec_push(r, (struct range){from, to}) == 0;
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

/* Returns the first range that ends behind @p page, because they are in order. */
static size_t first_behind(const struct readable *r, uint64_t page)
{
    size_t low = 0, high = r->count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (r->items[middle].to <= page)
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
        const uint64_t from = r->items[i].from < end ? r->items[i].from : end;
        const uint64_t to = r->items[i].to < end ? r->items[i].to : end;

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
    return (x->bytes < y->bytes) - (x->bytes > y->bytes); /* The longer one comes first. */
}

/* Ranks decide between two entries that overlap. What the runtime has just given out exists. What
 * the program announced at some time may be stale. Of memory that is gone, only the part that
 * nothing else covers is reported.
 */
enum { RANKS = 3 };

static unsigned rank_of(const struct rp_memory_entry *entry)
{
    if (entry->gone)
        return 2;
    return entry->region.memory_class == RP_MEMORY_SVM ||
           entry->region.memory_class == RP_MEMORY_LOCKED;
}

/* Appends the parts that none of the first @p count entries in order has. */
static void append_rest(struct list *list, size_t count, const struct rp_memory_entry *entry,
                        uint64_t base, uint64_t end)
{
    size_t low = 0, high = count;

    while (low < high) { /* This searches the first one that ends behind the base. */
        const size_t middle = low + (high - low) / 2;
        const struct rp_snapshot_region *r = &list->items[middle].region;

        if (r->base + r->bytes <= base)
            low = middle + 1;
        else
            high = middle;
    }
    while (base < end && !list->failed) {
        const struct rp_snapshot_region *r = low < count ? &list->items[low].region : NULL;
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
        qsort(list->items, list->count, sizeof(*list->items), by_base);
}

/* Makes each byte appear once. If two entries of one rank overlap, the second one loses what the
 * first one has.
 */
static void trim(struct list *list)
{
    struct list kept = {0};

    sort(list);
    for (unsigned rank = 0; rank < RANKS; rank++) {
        const size_t count = kept.count;
        uint64_t covered = 0;

        for (size_t i = 0; i < list->count; i++) {
            const struct rp_memory_entry *entry = &list->items[i];
            const uint64_t base = entry->region.base, end = base + entry->region.bytes;

            if (rank_of(entry) != rank || end <= covered)
                continue;
            append_rest(&kept, count, entry, base > covered ? base : covered, end);
            covered = end;
        }
        sort(&kept);
    }
    free(list->items);
    *list = kept;
}

/* --- who can read it ----------------------------------------------------------------------- */

/* Each agent is given access or not, even the owner, and it may have been taken away again, so
 * only the runtime knows.
 */
static void find_reader(const struct rp_tool *tool, struct rp_memory_entry *entry)
{
    /* The values are those of hsa_access_permission_t: read only 1, write only 2, both 3. */
    enum { MAY_READ = 1 };
    const bool host = entry->region.flags & RP_MEMORY_HOST;
    const uint32_t agent_count = rp_agent_count(tool);
    bool asked = false, by_host = false;
    rp_hsa_agent gpu = 0; /* This is the owner, if it is one of them. */

    if (entry->region.memory_class != RP_MEMORY_VMEM || !tool->hsa.hsa_amd_vmem_get_access)
        return;
    for (uint32_t i = 0; i < agent_count; i++) {
        const struct rp_agent *agent = &tool->agents[i];
        uint32_t permissions = 0;

        if (tool->hsa.hsa_amd_vmem_get_access((void *)(uintptr_t)entry->region.base, &permissions,
                                              agent->handle) != RP_HSA_SUCCESS)
            continue;
        asked = true;
        if (!(permissions & MAY_READ))
            continue;
        by_host = by_host || !agent->gpu;
        if (agent->gpu && (!gpu || agent->handle == entry->owner))
            gpu = agent->handle;
    }
    if (!asked)
        return;
    entry->reader = host && by_host ? 0 : gpu;
    entry->unreachable = !entry->reader && !(host && by_host);
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
    /* This is the last captured entry with the same handle. */
    const struct rp_memory_entry *first = NULL;

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
        if (list->items[i].region.memory_class == RP_MEMORY_VMEM && list->items[i].handle &&
            !list->items[i].unreachable)
            mapped[count++] = &list->items[i];
    if (count > 1) {
        qsort(mapped, count, sizeof(struct rp_memory_entry *), by_handle);
        mark_same(mapped, count);
    }
    free(mapped);
    return good;
}

/**
 * Lists memory by rising address, without overlaps; the caller owns it. Memory of the program that
 * was not announced is marked.
 * @return false: out of memory, or some entries are not known
 */
static bool memory_list(struct rp_tool *tool, struct rp_memory_entry **ret, size_t *ret_count)
{
    struct rp_memory *memory = &tool->memory;
    struct readable readable = {0};
    struct list list = {0};

    read_maps(&readable);
    pthread_mutex_lock(&memory->lock);
    list.failed = memory->lost > 0;
    for (size_t i = 0; i < memory->count; i++) {
        const struct rp_memory_entry *entry = &memory->items[i];
        const struct rp_snapshot_region *r = &entry->region;

        if (r->memory_class == RP_MEMORY_SVM || r->memory_class == RP_MEMORY_LOCKED)
            append_pieces(&list, &readable, entry);
        else
            append(&list, entry, r->base, r->base + r->bytes);
    }
    pthread_mutex_unlock(&memory->lock);
    free(readable.items);
    if (!list.failed)
        trim(&list);
    for (size_t i = 0; i < list.count && !list.failed; i++)
        find_reader(tool, &list.items[i]);
    if (list.failed || !find_same(&list)) {
        free(list.items);
        return false;
    }
    *ret = list.items;
    *ret_count = list.count;
    return true;
}

enum {
    MESSAGE_BYTES = RP_SNAPSHOT_MAX_PAGES * PAGE_BYTES,
    STAGE_BYTES = 8 * MESSAGE_BYTES,
    NS_PER_MS = 1000000,
};

/* --- staging memory ------------------------------------------------------------------------ */

struct host_pool {
    const struct rp_tool *tool;
    rp_hsa_pool pool;
    bool found;
};

static rp_hsa_status visit_pool(rp_hsa_pool pool, void *data)
{
    struct host_pool *host = data;
    const struct rp_hsa *hsa = &host->tool->hsa;
    uint32_t segment = UINT32_MAX, flags = 0;
    bool allowed = false;

    hsa->hsa_amd_memory_pool_get_info(pool, RP_AMD_POOL_SEGMENT, &segment);
    hsa->hsa_amd_memory_pool_get_info(pool, RP_AMD_POOL_GLOBAL_FLAGS, &flags);
    hsa->hsa_amd_memory_pool_get_info(pool, RP_AMD_POOL_ALLOC_ALLOWED, &allowed);
    if (!host->found && segment == RP_AMD_SEGMENT_GLOBAL && allowed &&
        !(flags & RP_AMD_POOL_FLAG_KERNARG)) {
        host->pool = pool;
        host->found = true;
    }
    return RP_HSA_SUCCESS;
}

static bool make_stages(struct rp_snapshot *s)
{
    const struct rp_hsa *hsa = &s->tool->hsa;
    struct host_pool host = {.tool = s->tool};
    rp_hsa_agent gpus[RP_TOOL_MOST_AGENTS];
    const uint32_t agent_count = rp_agent_count(s->tool);
    uint32_t gpu_count = 0;

    if (!hsa->hsa_amd_memory_pool_allocate || !hsa->hsa_amd_memory_pool_free ||
        !hsa->hsa_amd_agents_allow_access)
        return false;
    for (uint32_t i = 0; i < agent_count; i++) {
        const struct rp_agent *agent = &s->tool->agents[i];

        if (agent->gpu) {
            gpus[gpu_count++] = agent->handle;
        } else if (!host.found) {
            s->cpu = agent->handle;
            hsa->hsa_amd_agent_iterate_memory_pools(agent->handle, visit_pool, &host);
        }
    }
    for (size_t i = 0; i < RP_SNAPSHOT_STAGES && host.found; i++) {
        void *stage = NULL;

        if (hsa->hsa_amd_memory_pool_allocate(host.pool, STAGE_BYTES, 0, &stage) != RP_HSA_SUCCESS)
            return false;
        s->stage[i] = stage;
        if (hsa->hsa_amd_agents_allow_access(gpu_count, gpus, NULL, stage) != RP_HSA_SUCCESS ||
            hsa->hsa_amd_signal_create(1, 0, NULL, 0, &s->signal[i]) != RP_HSA_SUCCESS)
            return false;
    }
    return host.found;
}

bool rp_snapshot_begin(struct rp_snapshot *s, struct rp_tool *tool, struct rp_snapshot_link *link,
                       int64_t patience_ms)
{
    *s = (struct rp_snapshot){.tool = tool, .link = link, .patience_ms = patience_ms};
    if (!memory_list(tool, &s->entries, &s->count))
        s->why = "there is no memory left to list the program's memory";
    else if (!(s->refused = calloc(s->count + 1, sizeof(*s->refused))))
        s->why = "there is no memory left";
    else if (!make_stages(s))
        s->why = "the runtime gives no host memory to copy device memory to";
    return !s->why;
}

void rp_snapshot_end(struct rp_snapshot *s)
{
    for (size_t i = 0; i < RP_SNAPSHOT_STAGES && !s->stuck; i++) {
        if (s->signal[i])
            s->tool->hsa.hsa_signal_destroy(s->signal[i]);
        if (s->stage[i])
            s->tool->hsa.hsa_amd_memory_pool_free(s->stage[i]);
    }
    free(s->entries);
    free(s->refused);
    s->entries = NULL;
    s->refused = NULL;
}

/* --- reading ------------------------------------------------------------------------------- */

/* Memory of the program may go at any time, since no call tells: then this says so, where a plain
 * copy would end the program. */
static bool read_program(uint8_t *to, uint64_t from, size_t bytes)
{
    while (bytes) {
        struct iovec local = {to, bytes}, remote = {(void *)(uintptr_t)from, bytes};
        ssize_t got = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);

        if (got <= 0)
            return false;
        to += got;
        from += (uint64_t)got;
        bytes -= (size_t)got;
    }
    return true;
}

static bool start_copy(struct rp_snapshot *s, size_t stage, const struct rp_memory_entry *entry,
                       uint64_t offset, size_t bytes)
{
    const struct rp_hsa *hsa = &s->tool->hsa;

    hsa->hsa_signal_store_screlease(s->signal[stage], 1);
    return hsa->hsa_amd_memory_async_copy(
               s->stage[stage], s->cpu, (const void *)(uintptr_t)(entry->region.base + offset),
               entry->reader, bytes, 0, NULL, s->signal[stage]) == RP_HSA_SUCCESS;
}

static bool end_copy(struct rp_snapshot *s, size_t stage)
{
    const uint64_t from = rp_tool_now_ns(s->tool);
    int64_t value;

    for (;;) {
        value = s->tool->hsa.hsa_signal_wait_scacquire(s->signal[stage], RP_HSA_CONDITION_LT, 1,
                                                       s->tool->timestamp_hz / 10, 0);
        if (value < 1)
            return value == 0; /* A negative value means that the copy failed. */
        if (rp_tool_now_ns(s->tool) - from > (uint64_t)s->patience_ms * NS_PER_MS) {
            s->stuck = true;
            return false;
        }
    }
}

static bool is_zero(const uint8_t *page)
{
    uint64_t word;

    memcpy(&word, page, sizeof(word));
    return word == 0 && memcmp(page, page + sizeof(word), PAGE_BYTES - sizeof(word)) == 0;
}

/* Sends the pages of a stage that are not zero. */
static bool send_pages(struct rp_snapshot *s, uint8_t *bytes, size_t size, uint64_t first_page)
{
    const size_t pages = (size + PAGE_BYTES - 1) / PAGE_BYTES;

    memset(bytes + size, 0, pages * PAGE_BYTES - size);
    for (size_t page = 0; page < pages;) {
        size_t end = page;
        uint64_t number = first_page + page;

        while (end < pages && end - page < RP_SNAPSHOT_MAX_PAGES &&
               !is_zero(bytes + end * PAGE_BYTES))
            end++;
        if (end > page && !rp_snapshot_send(s->link, RP_SNAPSHOT_PAGES, &number, sizeof(number),
                                            bytes + page * PAGE_BYTES, (end - page) * PAGE_BYTES))
            return false;
        page = end + (end == page);
    }
    return true;
}

static size_t piece(const struct rp_memory_entry *entry, uint64_t offset)
{
    const uint64_t left = entry->region.bytes - offset;

    return left < STAGE_BYTES ? (size_t)left : STAGE_BYTES;
}

/* Captures host memory. The program's own may vanish while it is read, so it is read with care.
 * What the runtime has allocated stays while the gate is closed.
 */
static bool take_host(struct rp_snapshot *s, const struct rp_memory_entry *entry)
{
    const bool own = entry->region.memory_class == RP_MEMORY_SVM ||
                     entry->region.memory_class == RP_MEMORY_LOCKED;

    for (uint64_t offset = 0; offset < entry->region.bytes; offset += STAGE_BYTES) {
        const size_t bytes = piece(entry, offset);
        const uint64_t from = entry->region.base + offset;

        if (!own)
            memcpy(s->stage[0], (const void *)(uintptr_t)from, bytes);
        else if (!read_program(s->stage[0], from, bytes)) {
            s->why = "memory of the program went away while it was read";
            return false;
        }
        if (!send_pages(s, s->stage[0], bytes, offset / PAGE_BYTES))
            return false;
    }
    return true;
}

/* One stage is filled while the other one is sent. */
static bool take_device(struct rp_snapshot *s, const struct rp_memory_entry *entry)
{
    size_t stage = 0;
    bool good = start_copy(s, 0, entry, 0, piece(entry, 0));

    for (uint64_t offset = 0; offset < entry->region.bytes && good; offset += STAGE_BYTES) {
        const uint64_t next = offset + STAGE_BYTES;

        good = end_copy(s, stage);
        if (good && next < entry->region.bytes)
            good = start_copy(s, !stage, entry, next, piece(entry, next));
        if (good && !send_pages(s, s->stage[stage], piece(entry, offset), offset / PAGE_BYTES)) {
            if (next < entry->region.bytes)
                end_copy(s, !stage);
            return false;
        }
        stage = !stage;
    }
    if (!good)
        s->why = s->stuck ? "a copy of device memory does not end"
                          : "the runtime cannot copy device memory";
    return good;
}

/* --- regions ------------------------------------------------------------------------------- */

/* Returns why it cannot be captured. NULL: it can */
static const char *obstacle(struct rp_snapshot *s, const struct rp_memory_entry *entry)
{
    const bool host = entry->region.flags & RP_MEMORY_HOST;
    uint8_t *probe = s->stage[0];

    if (entry->unreachable)
        return "it is mapped, and no agent has access to it";
    if (entry->same_as) {
        snprintf(s->text, sizeof(s->text),
                 "it is the same memory as 0x%" PRIx64 ", mapped once more", entry->same_as);
        return s->text;
    }
    if (!host && !entry->reader)
        return "the runtime does not say whose memory it is";
    if (entry->region.memory_class == RP_MEMORY_SVM ||
        entry->region.memory_class == RP_MEMORY_LOCKED)
        return read_program(probe, entry->region.base, 1) ? NULL : "the program cannot read it";
    if (entry->reader &&
        (!start_copy(s, 0, entry, 0, entry->region.bytes < 64 ? entry->region.bytes : 64) ||
         !end_copy(s, 0)))
        return s->stuck ? NULL : "the runtime cannot copy it";
    return NULL;
}

static bool refuse(struct rp_snapshot *s, const struct rp_snapshot_region *region, const char *why)
{
    rp_tool_log(s->tool, "refused %s %llx: %s", rp_memory_class_name(region->memory_class),
                (unsigned long long)region->base, why);
    return rp_snapshot_send(s->link, RP_SNAPSHOT_REFUSED, region, sizeof(*region), why,
                            strlen(why));
}

/* With XNACK a kernel reaches all memory of the program, of which only what was announced is
 * known.
 */
static bool refuse_pageable(struct rp_snapshot *s)
{
    static const struct rp_snapshot_region all = {.base = PAGE_BYTES,
                                                  .bytes = (1ull << 47) - PAGE_BYTES,
                                                  .memory_class = RP_MEMORY_PAGEABLE,
                                                  .flags = RP_MEMORY_HOST,
                                                  .node = UINT32_MAX};
    bool xnack = false;

    s->tool->hsa.hsa_system_get_info(RP_AMD_SYSTEM_XNACK, &xnack);
    return !xnack || refuse(s, &all,
                            "XNACK is on: kernels reach all memory of the program, and what it has "
                            "not announced to the runtime is not captured");
}

bool rp_snapshot_take(struct rp_snapshot *s, bool before)
{
    for (size_t i = 0; i < s->count && !s->why && s->link->fd >= 0; i++) {
        const struct rp_memory_entry *entry = &s->entries[i];
        const char *why = before && !entry->gone ? obstacle(s, entry) : NULL;

        if (before && entry->gone)
            rp_snapshot_send(s->link, RP_SNAPSHOT_UNMAPPED, &entry->region, sizeof(entry->region),
                             NULL, 0);
        if (s->stuck)
            s->why = "a copy of device memory does not end";
        if (before && why && !s->why) {
            s->refused[i] = true;
            refuse(s, &entry->region, why);
        }
        if (s->refused[i] || entry->gone || s->why)
            continue;
        if (rp_snapshot_send(s->link, RP_SNAPSHOT_REGION, &entry->region, sizeof(entry->region),
                             NULL, 0) &&
            (entry->reader ? take_device(s, entry) : take_host(s, entry)))
            rp_tool_log(s->tool, "%s %s %llx bytes=%llu", before ? "before" : "after",
                        rp_memory_class_name(entry->region.memory_class),
                        (unsigned long long)entry->region.base,
                        (unsigned long long)entry->region.bytes);
    }
    if (before && !s->why)
        refuse_pageable(s);
    if (!s->why && s->link->fd < 0)
        s->why = "rocm-perf does not listen any more";
    return !s->why;
}

/* While the other end is waited for, the program is held. */
enum {
    SLICE_S = 1,       /**< between looks at it */
    MOST_SLICES = 600, /**< without a byte: it may be at work for a former capture */
};

/* Job control has stopped the process, nobody knows for how long. */
static bool is_stopped(const struct rp_snapshot_link *link)
{
    struct ucred other = {0};
    socklen_t size = sizeof(other);
    char path[64], text[512] = "";
    const char *state;
    ssize_t got;
    int fd;

    if (getsockopt(link->fd, SOL_SOCKET, SO_PEERCRED, &other, &size) < 0 || other.pid <= 0)
        return false;
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)other.pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    got = read(fd, text, sizeof(text) - 1);
    close(fd);
    text[got > 0 ? got : 0] = '\0';
    state = strrchr(text, ')'); /* The state follows the name, which may hold any characters. */
    return state && strncmp(state, ") T", 3) == 0;
}

/* Decides, after a call that failed, whether to try again. */
static bool goes_on(const struct rp_snapshot_link *link, unsigned *slices)
{
    if (errno == EINTR)
        return true;
    return (errno == EAGAIN || errno == EWOULDBLOCK) && ++*slices < MOST_SLICES &&
           !is_stopped(link);
}

bool rp_snapshot_link_open(struct rp_snapshot_link *link, const char *path, bool software,
                           uint32_t timing)
{
    const struct rp_snapshot_hello hello = {.version = RP_SNAPSHOT_VERSION,
                                            .pid = (uint32_t)getpid(),
                                            .software = software,
                                            .timing = timing};
    const struct timeval slice = {.tv_sec = SLICE_S};
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    link->fd = -1;
    if (strlen(path) >= sizeof(address.sun_path))
        return false;
    strcpy(address.sun_path, path);
    link->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (link->fd >= 0 &&
        setsockopt(link->fd, SOL_SOCKET, SO_SNDTIMEO, &slice, sizeof(slice)) == 0 &&
        setsockopt(link->fd, SOL_SOCKET, SO_RCVTIMEO, &slice, sizeof(slice)) == 0 &&
        connect(link->fd, (const struct sockaddr *)&address, sizeof(address)) == 0 &&
        rp_snapshot_send(link, RP_SNAPSHOT_HELLO, &hello, sizeof(hello), NULL, 0))
        return true;
    rp_snapshot_link_close(link);
    return false;
}

void rp_snapshot_link_close(struct rp_snapshot_link *link)
{
    if (link->fd >= 0)
        close(link->fd);
    link->fd = -1;
}

static bool send_message(struct rp_snapshot_link *link, struct rp_snapshot_message message,
                         const void *a, size_t a_bytes, const void *b, size_t b_bytes)
{
    struct iovec parts[] = {{&message, sizeof(message)},
                            {(void *)(uintptr_t)a, a_bytes},
                            {(void *)(uintptr_t)b, b_bytes}};
    struct msghdr all = {.msg_iov = parts, .msg_iovlen = 3};
    unsigned slices = 0;

    while (link->fd >= 0 && all.msg_iovlen > 0) {
        ssize_t sent = sendmsg(link->fd, &all, MSG_NOSIGNAL);

        if (sent < 0 && !goes_on(link, &slices)) {
            rp_snapshot_link_close(link);
            break;
        }
        if (sent < 0)
            continue;
        slices = 0;
        while (all.msg_iovlen > 0 && (size_t)sent >= all.msg_iov->iov_len) {
            sent -= (ssize_t)all.msg_iov->iov_len;
            all.msg_iov++;
            all.msg_iovlen--;
        }
        if (all.msg_iovlen > 0) {
            all.msg_iov->iov_base = (char *)all.msg_iov->iov_base + sent;
            all.msg_iov->iov_len -= (size_t)sent;
        }
    }
    return link->fd >= 0;
}

bool rp_snapshot_send(struct rp_snapshot_link *link, uint32_t kind, const void *a, size_t a_bytes,
                      const void *b, size_t b_bytes)
{
    const struct rp_snapshot_message message = {.kind = kind, .bytes = a_bytes + b_bytes};

    return send_message(link, message, a, a_bytes, b, b_bytes);
}

static bool receive(struct rp_snapshot_link *link, void *to, size_t bytes)
{
    unsigned slices = 0;

    for (char *at = to; bytes > 0;) {
        const ssize_t got = recv(link->fd, at, bytes, MSG_WAITALL);

        if (got < 0 && goes_on(link, &slices))
            continue;
        if (got <= 0) {
            rp_snapshot_link_close(link);
            return false;
        }
        at += got;
        bytes -= (size_t)got;
    }
    return true;
}

bool rp_snapshot_ask_selection(struct rp_snapshot_link *link, struct rp_snapshot_selection *ret,
                               uint64_t **ret_numbers)
{
    struct rp_snapshot_selection selection;
    uint64_t *numbers = NULL;
    bool good = link->fd >= 0 && receive(link, &selection, sizeof(selection)) &&
                selection.number_count <= RP_SNAPSHOT_MAX_NUMBERS;

    if (good && selection.number_count > 0) {
        numbers = calloc(selection.number_count, sizeof(*numbers));
        good = numbers && receive(link, numbers, selection.number_count * sizeof(*numbers));
    }
    if (!good) {
        free(numbers);
        rp_snapshot_link_close(link);
        return false;
    }
    *ret = selection;
    *ret_numbers = numbers;
    return true;
}

bool rp_snapshot_ask(struct rp_snapshot_link *link, const char *symbol, uint32_t code)
{
    const struct rp_snapshot_message message = {
        .kind = RP_SNAPSHOT_KERNEL, .code = code, .bytes = strlen(symbol)};
    uint32_t reply = 0;

    return send_message(link, message, symbol, message.bytes, NULL, 0) &&
           receive(link, &reply, sizeof(reply)) && reply == 1;
}

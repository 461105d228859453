#include "tool/snapshot.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tool/tool.h"

enum { PAGE_BYTES = 4096 };

enum {
    MESSAGE_BYTES = RP_SNAPSHOT_MAX_PAGES * PAGE_BYTES,
    STAGE_BYTES = 8 * MESSAGE_BYTES,
    NS_PER_MS = 1000000,
};

/* --- staging memory ------------------------------------------------------------------------ */

struct host_pool {
    const struct rp_tool *tool;
    rp_hsa_agent cpu;
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

static rp_hsa_status find_host_pool(rp_hsa_agent agent, void *data)
{
    struct host_pool *host = data;
    uint32_t type = 1;

    host->tool->hsa.hsa_agent_get_info(agent, RP_HSA_AGENT_DEVICE, &type);
    if (type == 0 && !host->found) {
        host->cpu = agent;
        host->tool->hsa.hsa_amd_agent_iterate_memory_pools(agent, visit_pool, host);
    }
    return RP_HSA_SUCCESS;
}

struct gpus {
    const struct rp_tool *tool;
    rp_hsa_agent agents[64];
    uint32_t count;
};

static rp_hsa_status visit_gpu(rp_hsa_agent agent, void *data)
{
    struct gpus *gpus = data;
    uint32_t type = 0;

    gpus->tool->hsa.hsa_agent_get_info(agent, RP_HSA_AGENT_DEVICE, &type);
    if (type == 1 && gpus->count < sizeof(gpus->agents) / sizeof(gpus->agents[0]))
        gpus->agents[gpus->count++] = agent;
    return RP_HSA_SUCCESS;
}

static bool make_stages(struct rp_snapshot *s)
{
    const struct rp_hsa *hsa = &s->tool->hsa;
    struct host_pool host = {.tool = s->tool};
    struct gpus gpus = {.tool = s->tool};

    if (!hsa->hsa_amd_memory_pool_allocate || !hsa->hsa_amd_memory_pool_free ||
        !hsa->hsa_amd_agents_allow_access)
        return false;
    hsa->hsa_iterate_agents(find_host_pool, &host);
    hsa->hsa_iterate_agents(visit_gpu, &gpus);
    s->cpu = host.cpu;
    for (size_t i = 0; i < RP_SNAPSHOT_STAGES && host.found; i++) {
        void *stage = NULL;

        if (hsa->hsa_amd_memory_pool_allocate(host.pool, STAGE_BYTES, 0, &stage) != RP_HSA_SUCCESS)
            return false;
        s->stage[i] = stage;
        if (hsa->hsa_amd_agents_allow_access(gpus.count, gpus.agents, NULL, stage) !=
                RP_HSA_SUCCESS ||
            hsa->hsa_amd_signal_create(1, 0, NULL, 0, &s->signal[i]) != RP_HSA_SUCCESS)
            return false;
    }
    return host.found;
}

bool rp_snapshot_begin(struct rp_snapshot *s, struct rp_tool *tool, struct rp_snapshot_link *link,
                       int64_t patience_ms)
{
    *s = (struct rp_snapshot){.tool = tool, .link = link, .patience_ms = patience_ms};
    if (!rp_memory_list(tool, &s->entries, &s->count))
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
            return value == 0; /* below: the copy failed */
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

/* Host memory. The program's own is read with care; what the runtime has allocated stays while the
 * gate is closed. */
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

/* Why it cannot be captured; NULL: it can. */
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

/* With XNACK a kernel reaches all memory of the program: of that, only what was announced is known.
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

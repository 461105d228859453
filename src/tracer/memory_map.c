/**
 * @file memory_map.c
 * @brief Hooks of allocations, and the list of what there is.
 */
#include "tracer/memory_map.h"

#include <stdlib.h>
#include <string.h>

#include "tracer/tracer.h"

void rp_memory_init(struct rp_memory *memory)
{
    free(memory->entries);
    memset(memory, 0, sizeof(*memory));
    pthread_mutex_init(&memory->lock, NULL);
}

/* --- entries ------------------------------------------------------------------------------- */

static uint32_t node_of(const struct rp_tool *tool, rp_hsa_agent agent)
{
    uint32_t node;

    return agent && tool->hsa.hsa_agent_get_info(agent, RP_AMD_AGENT_DRIVER_NODE_ID, &node) ==
                        RP_HSA_SUCCESS
               ? node
               : UINT32_MAX;
}

static bool is_cpu(const struct rp_tool *tool, rp_hsa_agent agent)
{
    uint32_t type = 1;

    tool->hsa.hsa_agent_get_info(agent, RP_HSA_AGENT_DEVICE, &type);
    return type == 0;
}

/* What the runtime knows of an address: whose memory it is, and of what kind. */
static void ask_runtime(const struct rp_tool *tool, struct rp_memory_entry *entry)
{
    struct rp_hsa_pointer_info info = {.bytes = sizeof(info)};
    const struct rp_hsa *hsa = &tool->hsa;

    if (!hsa->hsa_amd_pointer_info ||
        hsa->hsa_amd_pointer_info((const void *)(uintptr_t)entry->region.base, &info, NULL, NULL,
                                  NULL) != RP_HSA_SUCCESS ||
        info.type == 0)
        return;
    if (!entry->owner)
        entry->owner = info.owner;
    if (info.pool_flags & (RP_AMD_POOL_FLAG_FINE | RP_AMD_POOL_FLAG_EXTENDED_FINE))
        entry->region.flags |= RP_MEMORY_FINE;
    if (info.pool_flags & RP_AMD_POOL_FLAG_COARSE)
        entry->region.flags |= RP_MEMORY_COARSE;
    if (info.pool_flags & RP_AMD_POOL_FLAG_KERNARG)
        entry->region.flags |= RP_MEMORY_KERNARG;
}

static void add(struct rp_tool *tool, const struct rp_memory_entry *entry)
{
    struct rp_memory *memory = &tool->memory;

    pthread_mutex_lock(&memory->lock);
    if (memory->count == memory->capacity) {
        size_t capacity = memory->capacity ? memory->capacity * 2 : 256;
        struct rp_memory_entry *bigger =
            realloc(memory->entries, capacity * sizeof(*memory->entries));

        if (bigger) {
            memory->entries = bigger;
            memory->capacity = capacity;
        }
    }
    if (memory->count < memory->capacity)
        memory->entries[memory->count++] = *entry;
    else
        memory->lost++;
    pthread_mutex_unlock(&memory->lock);
}

static rp_hsa_agent first_gpu(const struct rp_tool *tool, const rp_hsa_agent *agents,
                              uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!is_cpu(tool, agents[i]))
            return agents[i];
    return 0;
}

/* A copy by an agent that cannot reach what it copies ends the program. */
static rp_hsa_agent reader_of(const struct rp_tool *tool, const struct rp_memory_entry *entry,
                              const rp_hsa_agent *agents, uint32_t count)
{
    if (entry->region.flags & RP_MEMORY_HOST || !entry->owner)
        return 0;
    for (uint32_t i = 0; i < count; i++)
        if (agents[i] == entry->owner)
            return entry->owner;
    return count ? first_gpu(tool, agents, count) : entry->owner;
}

/* @param agents  that can reach it; none: at least its owner */
static void add_reached(struct rp_memory_entry entry, const rp_hsa_agent *agents, uint32_t count)
{
    struct rp_tool *tool = &rp_the_tool;
    const uint32_t memory_class = entry.region.memory_class;

    if (!rp_tool_active(tool) || entry.region.bytes == 0)
        return;
    ask_runtime(tool, &entry);
    entry.region.node = node_of(tool, entry.owner);
    if (memory_class == RP_MEMORY_LOCKED || memory_class == RP_MEMORY_SVM ||
        (entry.owner && is_cpu(tool, entry.owner)))
        entry.region.flags |= RP_MEMORY_HOST;
    if (memory_class == RP_MEMORY_CODE)
        entry.region.flags |= RP_MEMORY_EXECUTABLE;
    entry.reader = reader_of(tool, &entry, agents, count);
    add(tool, &entry);
}

static void add_new(enum rp_memory_class memory_class, uint64_t base, uint64_t bytes,
                    rp_hsa_agent owner, uint64_t key)
{
    add_reached(
        (struct rp_memory_entry){
            .region = {.base = base, .bytes = bytes, .memory_class = memory_class},
            .owner = owner,
            .key = key},
        NULL, 0);
}

static void add_foreign(enum rp_memory_class memory_class, void *base, uint64_t bytes,
                        const rp_hsa_agent *agents, uint32_t count)
{
    const uint64_t at = (uint64_t)(uintptr_t)base;

    add_reached(
        (struct rp_memory_entry){
            .region = {.base = at, .bytes = bytes, .memory_class = memory_class}, .key = at},
        agents, count);
}

/* The newest entry of a key, out of the list; false: there is none. */
static bool take(enum rp_memory_class memory_class, uint64_t key, struct rp_memory_entry *ret)
{
    struct rp_memory *memory = &rp_the_tool.memory;
    bool found = false;

    pthread_mutex_lock(&memory->lock);
    for (size_t i = memory->count; i-- > 0 && !found;) {
        const struct rp_memory_entry *entry = &memory->entries[i];
        /* Either function frees what the other one has allocated. */
        const bool pool = memory_class == RP_MEMORY_POOL || memory_class == RP_MEMORY_REGION;

        found = entry->key == key && (entry->region.memory_class == memory_class ||
                                      (pool && (entry->region.memory_class == RP_MEMORY_POOL ||
                                                entry->region.memory_class == RP_MEMORY_REGION)));
        if (found) {
            *ret = *entry;
            memory->entries[i] = memory->entries[--memory->count];
        }
    }
    pthread_mutex_unlock(&memory->lock);
    return found;
}

/* Entries end before the memory does: another thread may get the same address at once. Should it
 * live on, its entry comes back. */
#define FREE(memory_class, key, call)                                                              \
    do {                                                                                           \
        struct rp_tool *tool = &rp_the_tool;                                                       \
        bool entered = rp_pause_enter(&tool->isolate.gate);                                        \
        struct rp_memory_entry entry;                                                              \
        bool known =                                                                               \
            rp_tool_active(tool) && take(memory_class, (uint64_t)(uintptr_t)(key), &entry);        \
        rp_hsa_status status = tool->hsa.call;                                                     \
        if (status != RP_HSA_SUCCESS && known)                                                     \
            add(tool, &entry);                                                                     \
        rp_pause_leave(&tool->isolate.gate, entered);                                              \
        return status;                                                                             \
    } while (0)

/* --- pools --------------------------------------------------------------------------------- */

static rp_hsa_status hook_pool_allocate(rp_hsa_pool pool, size_t bytes, uint32_t flags, void **ret)
{
    struct rp_tool *tool = &rp_the_tool;
    bool entered = rp_pause_enter(&tool->isolate.gate);
    rp_hsa_status status = tool->hsa.hsa_amd_memory_pool_allocate(pool, bytes, flags, ret);

    if (status == RP_HSA_SUCCESS)
        add_new(RP_MEMORY_POOL, (uint64_t)(uintptr_t)*ret, bytes, 0, (uint64_t)(uintptr_t)*ret);
    rp_pause_leave(&tool->isolate.gate, entered);
    return status;
}

static rp_hsa_status hook_pool_free(void *base)
{
    FREE(RP_MEMORY_POOL, base, hsa_amd_memory_pool_free(base));
}

static rp_hsa_status hook_allocate(rp_hsa_region region, size_t bytes, void **ret)
{
    struct rp_tool *tool = &rp_the_tool;
    bool entered = rp_pause_enter(&tool->isolate.gate);
    rp_hsa_status status = tool->hsa.hsa_memory_allocate(region, bytes, ret);

    if (status == RP_HSA_SUCCESS)
        add_new(RP_MEMORY_REGION, (uint64_t)(uintptr_t)*ret, bytes, 0, (uint64_t)(uintptr_t)*ret);
    rp_pause_leave(&tool->isolate.gate, entered);
    return status;
}

static rp_hsa_status hook_free(void *base)
{
    FREE(RP_MEMORY_REGION, base, hsa_memory_free(base));
}

/* --- memory of the program ----------------------------------------------------------------- */

static void add_locked(void *host, size_t bytes, void *const *agent_base)
{
    /* Whole pages are pinned, and so may be reached. */
    const uint64_t base = (uint64_t)(uintptr_t)*agent_base & ~(uint64_t)4095;
    const uint64_t end = ((uint64_t)(uintptr_t)*agent_base + bytes + 4095) & ~(uint64_t)4095;

    add_new(RP_MEMORY_LOCKED, base, end - base, 0, (uint64_t)(uintptr_t)host);
}

static rp_hsa_status hook_lock(void *host, size_t bytes, rp_hsa_agent *agents, int count,
                               void **ret)
{
    struct rp_tool *tool = &rp_the_tool;
    bool entered = rp_pause_enter(&tool->isolate.gate);
    rp_hsa_status status = tool->hsa.hsa_amd_memory_lock(host, bytes, agents, count, ret);

    if (status == RP_HSA_SUCCESS)
        add_locked(host, bytes, ret);
    rp_pause_leave(&tool->isolate.gate, entered);
    return status;
}

static rp_hsa_status hook_lock_to_pool(void *host, size_t bytes, rp_hsa_agent *agents, int count,
                                       rp_hsa_pool pool, uint32_t flags, void **ret)
{
    struct rp_tool *tool = &rp_the_tool;
    bool entered = rp_pause_enter(&tool->isolate.gate);
    rp_hsa_status status =
        tool->hsa.hsa_amd_memory_lock_to_pool(host, bytes, agents, count, pool, flags, ret);

    if (status == RP_HSA_SUCCESS)
        add_locked(host, bytes, ret);
    rp_pause_leave(&tool->isolate.gate, entered);
    return status;
}

static rp_hsa_status hook_unlock(void *host)
{
    FREE(RP_MEMORY_LOCKED, host, hsa_amd_memory_unlock(host));
}

/* No call ends such a range: it is looked at when it is captured. */
static rp_hsa_status hook_svm_set(void *base, size_t bytes, struct rp_hsa_attribute *attributes,
                                  size_t count)
{
    struct rp_tool *tool = &rp_the_tool;
    bool entered = rp_pause_enter(&tool->isolate.gate);
    rp_hsa_status status = tool->hsa.hsa_amd_svm_attributes_set(base, bytes, attributes, count);
    const uint64_t at = (uint64_t)(uintptr_t)base;
    struct rp_memory_entry former;

    if (status == RP_HSA_SUCCESS && rp_tool_active(tool)) {
        if (take(RP_MEMORY_SVM, at, &former) && former.region.bytes > bytes)
            bytes = former.region.bytes; /* attributes of a part: the rest is still there */
        add_new(RP_MEMORY_SVM, at, bytes, 0, at);
    }
    rp_pause_leave(&tool->isolate.gate, entered);
    return status;
}

/* --- virtual memory ------------------------------------------------------------------------ */

static rp_hsa_status hook_vmem_map(void *base, size_t bytes, size_t offset, uint64_t handle,
                                   uint64_t flags)
{
    struct rp_tool *tool = &rp_the_tool;
    bool entered = rp_pause_enter(&tool->isolate.gate);
    rp_hsa_status status = tool->hsa.hsa_amd_vmem_map(base, bytes, offset, handle, flags);

    if (status == RP_HSA_SUCCESS) {
        const uint64_t at = (uint64_t)(uintptr_t)base;

        add_reached(
            (struct rp_memory_entry){
                .region = {.base = at, .bytes = bytes, .memory_class = RP_MEMORY_VMEM},
                .key = at,
                .handle = handle,
                .start = at - offset,
                .unreachable = true, /* until an agent is given access */
            },
            NULL, 0);
    }
    rp_pause_leave(&tool->isolate.gate, entered);
    return status;
}

static rp_hsa_status hook_vmem_unmap(void *base, size_t bytes)
{
    FREE(RP_MEMORY_VMEM, base, hsa_amd_vmem_unmap(base, bytes));
}

static rp_hsa_status hook_vmem_access(void *base, size_t bytes,
                                      const struct rp_hsa_access *accesses, size_t count)
{
    struct rp_tool *tool = &rp_the_tool;
    struct rp_memory *memory = &tool->memory;
    const uint64_t from = (uint64_t)(uintptr_t)base;
    bool entered = rp_pause_enter(&tool->isolate.gate), any = false;
    rp_hsa_status status = tool->hsa.hsa_amd_vmem_set_access(base, bytes, accesses, count);

    for (size_t i = 0; i < count && status == RP_HSA_SUCCESS; i++)
        any = any || accesses[i].permissions;
    pthread_mutex_lock(&memory->lock);
    for (size_t i = 0; i < memory->count && any; i++) {
        struct rp_memory_entry *entry = &memory->entries[i];

        if (entry->region.memory_class == RP_MEMORY_VMEM && entry->region.base >= from &&
            entry->region.base - from < bytes)
            entry->unreachable = false;
    }
    pthread_mutex_unlock(&memory->lock);
    rp_pause_leave(&tool->isolate.gate, entered);
    return status;
}

/* --- memory of others ---------------------------------------------------------------------- */

static rp_hsa_status hook_ipc_attach(const void *handle, size_t bytes, uint32_t count,
                                     const rp_hsa_agent *agents, void **ret)
{
    struct rp_tool *tool = &rp_the_tool;
    bool entered = rp_pause_enter(&tool->isolate.gate);
    rp_hsa_status status = tool->hsa.hsa_amd_ipc_memory_attach(handle, bytes, count, agents, ret);

    if (status == RP_HSA_SUCCESS)
        add_foreign(RP_MEMORY_IPC, *ret, bytes, agents, count);
    rp_pause_leave(&tool->isolate.gate, entered);
    return status;
}

static rp_hsa_status hook_ipc_detach(void *base)
{
    FREE(RP_MEMORY_IPC, base, hsa_amd_ipc_memory_detach(base));
}

static rp_hsa_status hook_interop_map(uint32_t count, rp_hsa_agent *agents, int interop_handle,
                                      uint32_t flags, size_t *ret_bytes, void **ret,
                                      size_t *ret_metadata_bytes, const void **ret_metadata)
{
    struct rp_tool *tool = &rp_the_tool;
    bool entered = rp_pause_enter(&tool->isolate.gate);
    rp_hsa_status status = tool->hsa.hsa_amd_interop_map_buffer(
        count, agents, interop_handle, flags, ret_bytes, ret, ret_metadata_bytes, ret_metadata);

    if (status == RP_HSA_SUCCESS)
        add_foreign(RP_MEMORY_INTEROP, *ret, *ret_bytes, agents, count);
    rp_pause_leave(&tool->isolate.gate, entered);
    return status;
}

static rp_hsa_status hook_interop_unmap(void *base)
{
    FREE(RP_MEMORY_INTEROP, base, hsa_amd_interop_unmap_buffer(base));
}

/* --- code ---------------------------------------------------------------------------------- */

void rp_memory_add_code(struct rp_tool *tool, rp_hsa_executable executable, rp_hsa_agent agent,
                        uint64_t base, uint64_t bytes)
{
    if (rp_isolate_is_on(tool))
        add_new(RP_MEMORY_CODE, base, bytes, agent, executable);
}

static rp_hsa_status hook_executable_destroy(rp_hsa_executable executable)
{
    struct rp_tool *tool = &rp_the_tool;
    struct rp_memory_entry entry;
    rp_hsa_status status;
    bool entered;

    if (rp_tool_active(tool))
        rp_isolate_unload(tool, executable);
    entered = rp_pause_enter(&tool->isolate.gate);
    while (rp_tool_active(tool) && take(RP_MEMORY_CODE, executable, &entry))
        ; /* it has no way to fail that leaves the code in place */
    status = tool->hsa.hsa_executable_destroy(executable);
    rp_pause_leave(&tool->isolate.gate, entered);
    return status;
}

/* --- writes that are neither packets nor asynchronous copies ------------------------------- */

static rp_hsa_status hook_copy(void *dst, const void *src, size_t bytes)
{
    bool entered = rp_pause_enter(&rp_the_tool.isolate.gate);
    rp_hsa_status status = rp_the_tool.hsa.hsa_memory_copy(dst, src, bytes);

    rp_pause_leave(&rp_the_tool.isolate.gate, entered);
    return status;
}

static rp_hsa_status hook_fill(void *base, uint32_t value, size_t count)
{
    bool entered = rp_pause_enter(&rp_the_tool.isolate.gate);
    rp_hsa_status status = rp_the_tool.hsa.hsa_amd_memory_fill(base, value, count);

    rp_pause_leave(&rp_the_tool.isolate.gate, entered);
    return status;
}

void rp_memory_hook(const struct rp_hsa_tables *tables)
{
    RP_TOOL_REPLACE(tables->core, hsa_memory_allocate, hook_allocate);
    RP_TOOL_REPLACE(tables->core, hsa_memory_free, hook_free);
    RP_TOOL_REPLACE(tables->core, hsa_memory_copy, hook_copy);
    RP_TOOL_REPLACE(tables->core, hsa_executable_destroy, hook_executable_destroy);
    RP_TOOL_REPLACE(tables->amd, hsa_amd_memory_pool_allocate, hook_pool_allocate);
    RP_TOOL_REPLACE(tables->amd, hsa_amd_memory_pool_free, hook_pool_free);
    RP_TOOL_REPLACE(tables->amd, hsa_amd_memory_lock, hook_lock);
    RP_TOOL_REPLACE(tables->amd, hsa_amd_memory_lock_to_pool, hook_lock_to_pool);
    RP_TOOL_REPLACE(tables->amd, hsa_amd_memory_unlock, hook_unlock);
    RP_TOOL_REPLACE(tables->amd, hsa_amd_svm_attributes_set, hook_svm_set);
    RP_TOOL_REPLACE(tables->amd, hsa_amd_vmem_map, hook_vmem_map);
    RP_TOOL_REPLACE(tables->amd, hsa_amd_vmem_unmap, hook_vmem_unmap);
    RP_TOOL_REPLACE(tables->amd, hsa_amd_vmem_set_access, hook_vmem_access);
    RP_TOOL_REPLACE(tables->amd, hsa_amd_ipc_memory_attach, hook_ipc_attach);
    RP_TOOL_REPLACE(tables->amd, hsa_amd_ipc_memory_detach, hook_ipc_detach);
    RP_TOOL_REPLACE(tables->amd, hsa_amd_interop_map_buffer, hook_interop_map);
    RP_TOOL_REPLACE(tables->amd, hsa_amd_interop_unmap_buffer, hook_interop_unmap);
    RP_TOOL_REPLACE(tables->amd, hsa_amd_memory_fill, hook_fill);
}

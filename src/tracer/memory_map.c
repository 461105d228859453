/**
 * @file memory_map.c
 * @brief This file has the hooks of allocations, and the list of what there is.
 */
#include "tracer/memory_map.h"

#include <stdlib.h>
#include <string.h>

#include "tracer/tracer.h"

static void init(struct rp_memory *memory)
{
    free(memory->items);
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

/* Tests whether it is a CPU of the runtime's list, because a host does not read what an agent
 * outside of the list owns.
 */
static bool is_cpu(const struct rp_tool *tool, rp_hsa_agent agent)
{
    const uint32_t count = rp_agent_count(tool);

    for (uint32_t i = 0; i < count; i++)
        if (tool->agents[i].handle == agent)
            return !tool->agents[i].gpu;
    return false;
}

/* Asks the runtime whose memory is at an address, and of what kind. */
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
    if (rp_vec_push(memory, *entry) < 0)
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

static void add_allocated(enum rp_memory_class memory_class, const void *base, uint64_t bytes)
{
    const uint64_t at = (uint64_t)(uintptr_t)base;

    add_new(memory_class, at, bytes, 0, at);
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

/* Takes the newest entry of a key out of the list. @return false: there is none */
static bool take(enum rp_memory_class memory_class, uint64_t key, struct rp_memory_entry *ret)
{
    struct rp_memory *memory = &rp_the_tool.memory;
    bool found = false;

    pthread_mutex_lock(&memory->lock);
    for (size_t i = memory->count; i-- > 0 && !found;) {
        const struct rp_memory_entry *entry = &memory->items[i];
        /* Either function frees what the other one has allocated. */
        const bool pool = memory_class == RP_MEMORY_POOL || memory_class == RP_MEMORY_REGION;

        found = entry->key == key && (entry->region.memory_class == memory_class ||
                                      (pool && (entry->region.memory_class == RP_MEMORY_POOL ||
                                                entry->region.memory_class == RP_MEMORY_REGION)));
        if (found) {
            *ret = *entry;
            memory->items[i] = memory->items[--memory->count];
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

/* No snapshot is taken between the call and what it changes in the list: a new entry is there
 * before a snapshot may look. */
#define IN_GATE(call, note)                                                                        \
    do {                                                                                           \
        struct rp_tool *tool = &rp_the_tool;                                                       \
        bool entered = rp_pause_enter(&tool->isolate.gate);                                        \
        rp_hsa_status status = tool->hsa.call;                                                     \
        if (status == RP_HSA_SUCCESS)                                                              \
            note;                                                                                  \
        rp_pause_leave(&tool->isolate.gate, entered);                                              \
        return status;                                                                             \
    } while (0)

/* --- pools --------------------------------------------------------------------------------- */

static rp_hsa_status hook_pool_allocate(rp_hsa_pool pool, size_t bytes, uint32_t flags, void **ret)
{
    IN_GATE(hsa_amd_memory_pool_allocate(pool, bytes, flags, ret),
            add_allocated(RP_MEMORY_POOL, *ret, bytes));
}

static rp_hsa_status hook_pool_free(void *base)
{
    FREE(RP_MEMORY_POOL, base, hsa_amd_memory_pool_free(base));
}

static rp_hsa_status hook_allocate(rp_hsa_region region, size_t bytes, void **ret)
{
    IN_GATE(hsa_memory_allocate(region, bytes, ret), add_allocated(RP_MEMORY_REGION, *ret, bytes));
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
    IN_GATE(hsa_amd_memory_lock(host, bytes, agents, count, ret), add_locked(host, bytes, ret));
}

static rp_hsa_status hook_lock_to_pool(void *host, size_t bytes, rp_hsa_agent *agents, int count,
                                       rp_hsa_pool pool, uint32_t flags, void **ret)
{
    IN_GATE(hsa_amd_memory_lock_to_pool(host, bytes, agents, count, pool, flags, ret),
            add_locked(host, bytes, ret));
}

static rp_hsa_status hook_unlock(void *host)
{
    FREE(RP_MEMORY_LOCKED, host, hsa_amd_memory_unlock(host));
}

/* No call ends such a range: it is looked at when it is captured. */
static void add_svm(uint64_t at, size_t bytes)
{
    struct rp_memory_entry former;

    if (!rp_tool_active(&rp_the_tool))
        return;
    if (take(RP_MEMORY_SVM, at, &former) && former.region.bytes > bytes)
        bytes = former.region.bytes; /* If attributes of a part are set, the rest still exists. */
    add_new(RP_MEMORY_SVM, at, bytes, 0, at);
}

static rp_hsa_status hook_svm_set(void *base, size_t bytes, struct rp_hsa_attribute *attributes,
                                  size_t count)
{
    IN_GATE(hsa_amd_svm_attributes_set(base, bytes, attributes, count),
            add_svm((uint64_t)(uintptr_t)base, bytes));
}

/* --- virtual memory ------------------------------------------------------------------------ */

static void add_mapped(uint64_t at, size_t bytes, size_t offset, uint64_t handle)
{
    add_reached(
        (struct rp_memory_entry){
            .region = {.base = at, .bytes = bytes, .memory_class = RP_MEMORY_VMEM},
            .key = at,
            .handle = handle,
            .start = at - offset,
            .unreachable = true, /* It is unreachable until an agent gets access. */
        },
        NULL, 0);
}

static rp_hsa_status hook_vmem_map(void *base, size_t bytes, size_t offset, uint64_t handle,
                                   uint64_t flags)
{
    IN_GATE(hsa_amd_vmem_map(base, bytes, offset, handle, flags),
            add_mapped((uint64_t)(uintptr_t)base, bytes, offset, handle));
}

static rp_hsa_status hook_vmem_unmap(void *base, size_t bytes)
{
    FREE(RP_MEMORY_VMEM, base, hsa_amd_vmem_unmap(base, bytes));
}

static void note_access(uint64_t from, size_t bytes, const struct rp_hsa_access *accesses,
                        size_t count)
{
    struct rp_memory *memory = &rp_the_tool.memory;
    bool any = false;

    for (size_t i = 0; i < count; i++)
        any = any || accesses[i].permissions;
    pthread_mutex_lock(&memory->lock);
    for (size_t i = 0; i < memory->count && any; i++) {
        struct rp_memory_entry *entry = &memory->items[i];

        if (entry->region.memory_class == RP_MEMORY_VMEM && entry->region.base >= from &&
            entry->region.base - from < bytes)
            entry->unreachable = false;
    }
    pthread_mutex_unlock(&memory->lock);
}

static rp_hsa_status hook_vmem_access(void *base, size_t bytes,
                                      const struct rp_hsa_access *accesses, size_t count)
{
    IN_GATE(hsa_amd_vmem_set_access(base, bytes, accesses, count),
            note_access((uint64_t)(uintptr_t)base, bytes, accesses, count));
}

/* --- memory of others ---------------------------------------------------------------------- */

static rp_hsa_status hook_ipc_attach(const void *handle, size_t bytes, uint32_t count,
                                     const rp_hsa_agent *agents, void **ret)
{
    IN_GATE(hsa_amd_ipc_memory_attach(handle, bytes, count, agents, ret),
            add_foreign(RP_MEMORY_IPC, *ret, bytes, agents, count));
}

static rp_hsa_status hook_ipc_detach(void *base)
{
    FREE(RP_MEMORY_IPC, base, hsa_amd_ipc_memory_detach(base));
}

static rp_hsa_status hook_interop_map(uint32_t count, rp_hsa_agent *agents, int interop_handle,
                                      uint32_t flags, size_t *ret_bytes, void **ret,
                                      size_t *ret_metadata_bytes, const void **ret_metadata)
{
    IN_GATE(hsa_amd_interop_map_buffer(count, agents, interop_handle, flags, ret_bytes, ret,
                                       ret_metadata_bytes, ret_metadata),
            add_foreign(RP_MEMORY_INTEROP, *ret, *ret_bytes, agents, count));
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
        ; /* No failure of the call leaves the code in place. */
    status = tool->hsa.hsa_executable_destroy(executable);
    rp_pause_leave(&tool->isolate.gate, entered);
    return status;
}

/* --- writes that are neither packets nor asynchronous copies ------------------------------- */

/* They change contents, which a snapshot may not be reading meanwhile; the list stays as it is. */

static rp_hsa_status hook_copy(void *dst, const void *src, size_t bytes)
{
    IN_GATE(hsa_memory_copy(dst, src, bytes), (void)0);
}

static rp_hsa_status hook_fill(void *base, uint32_t value, size_t count)
{
    IN_GATE(hsa_amd_memory_fill(base, value, count), (void)0);
}

void rp_memory_start(struct rp_tool *tool, const struct rp_hsa_tables *tables)
{
    init(&tool->memory);
    if (!rp_isolate_is_on(tool))
        return;
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

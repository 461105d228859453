/**
 * @file hsa_runtime.c
 * @brief Takes the runtime's functions out of its API tables, as far as the tables reach.
 */
#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "trace/records.h"
#include "tracer/hsa_abi.h"
#include "tracer/isolate.h"
#include "tracer/memory_snapshot.h"
#include "tracer/tracer.h"

enum {
    RP_HSA_CORE_MAJOR =
        2, /**< the numbering of entries in hsa_entries.def holds for these majors */
    RP_HSA_AMD_MAJOR = 2,
};

static bool reaches(const struct rp_hsa_table *table, size_t index)
{
    return table->version.minor_id >=
               offsetof(struct rp_hsa_table, fn) + (index + 1) * sizeof(table->fn[0]) &&
           table->fn[index] != NULL;
}

bool rp_hsa_bind(struct rp_hsa *hsa, const struct rp_hsa_tables *tables)
{
    enum { OPTIONAL, REQUIRED };
    const struct rp_hsa_table *core = tables->core;
    const struct rp_hsa_table *amd = tables->amd;

    if (tables->version.minor_id < sizeof(*tables) || !core || !amd ||
        core->version.major_id != RP_HSA_CORE_MAJOR || amd->version.major_id != RP_HSA_AMD_MAJOR)
        return false;

#define RP_HSA(table, index, need, ret, name, args)                                                \
    hsa->name = NULL;                                                                              \
    if (reaches(table, index))                                                                     \
        hsa->name = (__typeof__(hsa->name))table->fn[index];                                       \
    else if ((need) == REQUIRED)                                                                   \
        return false;
#include "tracer/hsa_entries.def"
    return true;
}

/* This map leads from a kernel object's address to the kernel's id. */

enum { FIRST_SIZE = 256 };

struct slot {
    uint64_t key; /**< 0 = free; stored after the id, so a reader that sees it sees the id */
    uint32_t id;
};

struct rp_kernel_table {
    struct rp_kernel_table *older;
    uint32_t size; /**< power of two */
    struct slot slots[];
};

/* Kernel objects are 64-byte aligned, so the low bits carry nothing. */
static uint32_t slot_of(uint64_t key, uint32_t size)
{
    return (uint32_t)((key >> 6) * 0x9e3779b97f4a7c15u >> 32) & (size - 1);
}

/* The table is at most half full, so that every probe ends. */
static struct slot *probe(struct rp_kernel_table *table, uint64_t key)
{
    for (uint32_t i = slot_of(key, table->size);; i = (i + 1) & (table->size - 1)) {
        uint64_t found = __atomic_load_n(&table->slots[i].key, __ATOMIC_ACQUIRE);

        if (found == key || found == 0)
            return &table->slots[i];
    }
}

static struct rp_kernel_table *grow(const struct rp_kernel_map *map)
{
    struct rp_kernel_table *old = map->table;
    uint32_t size = old ? old->size * 2 : FIRST_SIZE;
    struct rp_kernel_table *table = calloc(1, sizeof(*table) + size * sizeof(table->slots[0]));

    if (!table)
        return NULL;
    table->size = size;
    table->older = old;
    for (uint32_t i = 0; old && i < old->size; i++)
        if (old->slots[i].key)
            *probe(table, old->slots[i].key) = old->slots[i];
    return table;
}

int rp_kernel_map_put(struct rp_kernel_map *map, uint64_t kernel_object, uint32_t id)
{
    struct slot *slot = kernel_object && map->table ? probe(map->table, kernel_object) : NULL;

    if (!kernel_object)
        return 0;
    if (!slot || (!slot->key && map->used * 2 >= map->table->size)) {
        struct rp_kernel_table *table = grow(map);

        if (!table)
            return -1;
        __atomic_store_n(&map->table, table, __ATOMIC_RELEASE);
    }
    slot = probe(map->table, kernel_object);
    if (!slot->key)
        map->used++;
    /* It may also replace the id of an earlier object at the same address. */
    __atomic_store_n(&slot->id, id, __ATOMIC_RELEASE);
    __atomic_store_n(&slot->key, kernel_object, __ATOMIC_RELEASE);
    return 0;
}

uint32_t rp_kernel_map_get(const struct rp_kernel_map *map, uint64_t kernel_object)
{
    struct rp_kernel_table *table = __atomic_load_n(&map->table, __ATOMIC_ACQUIRE);
    struct slot *slot;

    if (!table || !kernel_object)
        return 0;
    slot = probe(table, kernel_object);
    if (__atomic_load_n(&slot->key, __ATOMIC_ACQUIRE) != kernel_object)
        return 0;
    return __atomic_load_n(&slot->id, __ATOMIC_ACQUIRE);
}

void rp_kernel_map_free(struct rp_kernel_map *map)
{
    while (map->table) {
        struct rp_kernel_table *older = map->table->older;

        free(map->table);
        map->table = older;
    }
    map->used = 0;
}

/* Agents and their properties are recorded as rocpd_info_agent.extdata spells them. rocprofv3
 * takes them from the driver's topology files and adds a few quotients, and so does the tracer.
 * What the files do not say, or cannot be read, comes from the runtime.
 */

enum { MAX_PROPERTIES = 192, MAX_MEM_BANKS = 8, KEY_BYTES = 64 };

struct property {
    char key[KEY_BYTES];
    uint64_t value;
};

struct properties {
    struct property list[MAX_PROPERTIES];
    size_t count;
};

static const struct property *find(const struct properties *all, const char *key)
{
    for (size_t i = 0; i < all->count; i++)
        if (strcmp(all->list[i].key, key) == 0)
            return &all->list[i];
    return NULL;
}

static uint64_t value_of(const struct properties *all, const char *key)
{
    const struct property *property = find(all, key);

    return property ? property->value : 0;
}

/* The first value of a key stands: sources are read from the best to the worst. */
static void put(struct properties *all, const char *key, uint64_t value)
{
    struct property *property;

    if (all->count == MAX_PROPERTIES || strlen(key) >= KEY_BYTES || find(all, key))
        return;
    property = &all->list[all->count++];
    strcpy(property->key, key);
    property->value = value;
}

/* --- the driver's topology ----------------------------------------------------------------- */

/* Reads lines "name decimal". The prefix goes before each name ("mem_banks.0."). */
static bool read_file(struct properties *all, const char *path, const char *prefix)
{
    char name[41], key[KEY_BYTES];
    uint64_t value;
    FILE *file = fopen(path, "re");

    if (!file)
        return false;
    while (fscanf(file, "%40s %" SCNu64, name, &value) == 2) {
        snprintf(key, sizeof(key), "%s%s", prefix, name);
        put(all, key, value);
    }
    fclose(file);
    return true;
}

static bool read_node(struct properties *all, const char *root, uint32_t node)
{
    char path[160], prefix[24];

    snprintf(path, sizeof(path), "%s/nodes/%u/properties", root, node);
    if (!read_file(all, path, ""))
        return false;
    for (unsigned bank = 0; bank < MAX_MEM_BANKS; bank++) {
        snprintf(path, sizeof(path), "%s/nodes/%u/mem_banks/%u/properties", root, node, bank);
        snprintf(prefix, sizeof(prefix), "mem_banks.%u.", bank);
        if (!read_file(all, path, prefix))
            break;
    }
    return true;
}

static void add_quotients(struct properties *all)
{
    uint64_t simds = value_of(all, "simd_count");
    uint64_t simds_per_cu = value_of(all, "simd_per_cu");
    uint64_t arrays_per_engine = value_of(all, "simd_arrays_per_engine");
    uint64_t engines = arrays_per_engine ? value_of(all, "array_count") / arrays_per_engine : 0;

    if (simds == 0 || simds_per_cu == 0)
        return;
    put(all, "cu_count", simds / simds_per_cu);
    put(all, "max_waves_per_cu", value_of(all, "max_waves_per_simd") * simds_per_cu);
    if (engines > 0) {
        put(all, "num_shader_banks", engines);
        put(all, "cu_per_engine", simds / simds_per_cu / engines);
    }
}

/* --- the runtime --------------------------------------------------------------------------- */

static bool agent_u32(const struct rp_tool *tool, rp_hsa_agent agent, uint32_t what, uint32_t *ret)
{
    uint32_t value = 0;

    if (tool->hsa.hsa_agent_get_info(agent, what, &value) != RP_HSA_SUCCESS)
        return false;
    *ret = value;
    return true;
}

static void put_info(const struct rp_tool *tool, struct properties *all, const char *key,
                     rp_hsa_agent agent, uint32_t what)
{
    uint32_t value;

    if (agent_u32(tool, agent, what, &value))
        put(all, key, value);
}

struct pools {
    const struct rp_tool *tool;
    uint64_t global_bytes, group_bytes; /**< the largest of each */
};

static rp_hsa_status visit_pool(rp_hsa_pool pool, void *data)
{
    struct pools *pools = data;
    uint32_t segment = UINT32_MAX;
    size_t bytes = 0;

    if (pools->tool->hsa.hsa_amd_memory_pool_get_info(pool, RP_AMD_POOL_SEGMENT, &segment) ||
        pools->tool->hsa.hsa_amd_memory_pool_get_info(pool, RP_AMD_POOL_SIZE, &bytes))
        return RP_HSA_SUCCESS;
    if (segment == RP_AMD_SEGMENT_GLOBAL && bytes > pools->global_bytes)
        pools->global_bytes = bytes;
    if (segment == RP_AMD_SEGMENT_GROUP && bytes > pools->group_bytes)
        pools->group_bytes = bytes;
    return RP_HSA_SUCCESS;
}

static void ask_runtime(const struct rp_tool *tool, struct properties *all, rp_hsa_agent agent)
{
    static const struct {
        const char *key;
        uint32_t what;
    } infos[] = {
        {"cu_count", RP_AMD_AGENT_CU_COUNT},
        {"simd_per_cu", RP_AMD_AGENT_SIMDS_PER_CU},
        {"max_waves_per_cu", RP_AMD_AGENT_MAX_WAVES_PER_CU},
        {"num_shader_banks", RP_AMD_AGENT_SHADER_ENGINES},
        {"simd_arrays_per_engine", RP_AMD_AGENT_SHADER_ARRAYS_PER_SE},
        {"num_xcc", RP_AMD_AGENT_XCC_COUNT},
        {"wave_front_size", RP_HSA_AGENT_WAVEFRONT_SIZE},
        {"workgroup_max_size", RP_HSA_AGENT_WORKGROUP_MAX_SIZE},
        {"device_id", RP_AMD_AGENT_CHIP_ID},
        {"location_id", RP_AMD_AGENT_BDFID},
        {"domain", RP_AMD_AGENT_DOMAIN},
        {"family_id", RP_AMD_AGENT_ASIC_FAMILY_ID},
        {"num_sdma_engines", RP_AMD_AGENT_SDMA_ENGINES},
        {"max_engine_clk_fcompute", RP_AMD_AGENT_MAX_CLOCK_MHZ},
        {"mem_banks.0.width", RP_AMD_AGENT_MEMORY_WIDTH},
        {"mem_banks.0.mem_clk_max", RP_AMD_AGENT_MEMORY_MAX_MHZ},
    };
    struct pools pools = {.tool = tool};
    uint64_t simds_per_cu;

    for (size_t i = 0; i < sizeof(infos) / sizeof(infos[0]); i++)
        put_info(tool, all, infos[i].key, agent, infos[i].what);
    simds_per_cu = value_of(all, "simd_per_cu");
    if (simds_per_cu > 0) {
        put(all, "max_waves_per_simd", value_of(all, "max_waves_per_cu") / simds_per_cu);
        put(all, "simd_count", value_of(all, "cu_count") * simds_per_cu);
    }
    if (tool->hsa.hsa_amd_agent_iterate_memory_pools(agent, visit_pool, &pools) == RP_HSA_SUCCESS) {
        if (pools.global_bytes > 0) {
            put(all, "mem_banks.0.size_in_bytes", pools.global_bytes);
            put(all, "local_mem_size", pools.global_bytes);
        }
        if (pools.group_bytes > 0)
            put(all, "lds_size_in_kb", pools.group_bytes / 1024);
    }
}

/* --- recording ----------------------------------------------------------------------------- */

void rp_agent_name(const struct rp_tool *tool, rp_hsa_agent agent, char ret[64])
{
    memset(ret, 0, 64);
    if (tool->hsa.hsa_agent_get_info(agent, RP_HSA_AGENT_NAME, ret) != RP_HSA_SUCCESS)
        ret[0] = '\0';
    ret[63] = '\0';
}

static uint32_t text_info(struct rp_tool *tool, rp_hsa_agent agent, uint32_t what)
{
    char text[65] = {0}; /* The longest text attribute has 64 bytes. */

    if (tool->hsa.hsa_agent_get_info(agent, what, text) != RP_HSA_SUCCESS)
        return 0;
    return rp_trace_string(&tool->trace, text);
}

struct agent_counts {
    struct rp_tool *tool;
    uint32_t all, by_type[3];
};

static void record_properties(struct rp_tool *tool, rp_hsa_agent agent, uint32_t node, bool gpu)
{
    struct properties all = {.count = 0};

    if (!read_node(&all, "/sys/devices/virtual/kfd/kfd/topology", node))
        read_node(&all, "/sys/class/kfd/kfd/topology", node);
    if (gpu) {
        add_quotients(&all);
        ask_runtime(tool, &all, agent);
        if (tool->device && tool->device->clock_mhz())
            put(&all, RP_CLOCK_KEY, tool->device->clock_mhz());
    }
    for (size_t i = 0; i < all.count; i++) {
        struct rp_record record = {
            .kind = RP_REC_AGENT_PROP,
            .u.agent_prop = {.agent = agent,
                             .key_id = rp_trace_string(&tool->trace, all.list[i].key),
                             .value = all.list[i].value},
        };

        rp_trace_append(&tool->trace, &record);
    }
}

static rp_hsa_status visit_agent(rp_hsa_agent agent, void *data)
{
    struct agent_counts *counts = data;
    struct rp_tool *tool = counts->tool;
    uint32_t type = 0, node = counts->all;
    struct rp_record record = {.kind = RP_REC_AGENT};
    struct rp_rec_agent *rec = &record.u.agent;
    char name[64];

    agent_u32(tool, agent, RP_HSA_AGENT_DEVICE, &type);
    if (type > 1 || counts->all == RP_TOOL_MOST_AGENTS)
        /* An agent that is neither CPU nor GPU runs nothing that is recorded. */
        return RP_HSA_SUCCESS;
    tool->agents[counts->all] = (struct rp_agent){.handle = agent, .gpu = type == 1};
    if (!agent_u32(tool, agent, RP_AMD_AGENT_DRIVER_NODE_ID, &node))
        agent_u32(tool, agent, RP_HSA_AGENT_NODE, &node);
    rp_agent_name(tool, agent, name);
    rec->handle = agent;
    rec->type = type;
    rec->node_id = node;
    rec->name_id = rp_trace_string(&tool->trace, name);
    rec->product_name_id = text_info(tool, agent, RP_AMD_AGENT_PRODUCT_NAME);
    rec->vendor_name_id = text_info(tool, agent, RP_HSA_AGENT_VENDOR_NAME);
    rec->uuid_id = text_info(tool, agent, RP_AMD_AGENT_UUID);
    rec->logical_index = counts->all++;
    rec->type_index = counts->by_type[type]++;
    rp_trace_append(&tool->trace, &record);
    record_properties(tool, agent, node, type == 1);
    if (type == 1 && tool->software &&
        tool->hsa.hsa_agent_get_info(agent, RP_AMD_AGENT_TIMESTAMP_FREQUENCY, &tool->device_hz) !=
            RP_HSA_SUCCESS)
        tool->device_hz = 0;
    rp_tool_log(tool, "agent=%" PRIx64 " node=%u name=%s", agent, node, name);
    return RP_HSA_SUCCESS;
}

bool rp_agents_record(struct rp_tool *tool)
{
    struct agent_counts counts = {.tool = tool};

    pthread_mutex_lock(&tool->code_lock);
    if (rp_agent_count(tool) == 0) {
        tool->hsa.hsa_iterate_agents(visit_agent, &counts);
        __atomic_store_n(&tool->agent_count, counts.all, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&tool->code_lock);
    return rp_agent_count(tool) > 0;
}

enum { CLOCK_NS_PER_S = 1000000000 };

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now = {0};

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * CLOCK_NS_PER_S + (uint64_t)now.tv_nsec;
}

uint64_t rp_tool_runtime_ns(const struct rp_tool *tool)
{
    uint64_t now = 0;

    tool->hsa.hsa_system_get_info(RP_HSA_SYSTEM_TIMESTAMP, &now);
    return rp_tool_to_ns(now, tool->timestamp_hz);
}

/* Finds a kernel clock that agrees with the runtime's, because it can be read without a call into
 * the runtime.
 */
void rp_tool_find_clock(struct rp_tool *tool)
{
    static const clockid_t candidates[] = {CLOCK_BOOTTIME, CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW};

    tool->timestamp_hz = 0;
    tool->hsa.hsa_system_get_info(RP_HSA_SYSTEM_TIMESTAMP_FREQUENCY, &tool->timestamp_hz);
    if (tool->timestamp_hz == 0)
        tool->timestamp_hz = CLOCK_NS_PER_S;
    tool->clock_known = false;
    for (size_t i = 0; i < sizeof(candidates) / sizeof(candidates[0]); i++) {
        uint64_t before = clock_ns(candidates[i]);
        uint64_t runtime = rp_tool_runtime_ns(tool);

        if (before <= runtime && runtime <= clock_ns(candidates[i])) {
            tool->clock = candidates[i];
            tool->clock_known = true;
            return;
        }
    }
}

uint64_t rp_tool_now_ns(struct rp_tool *tool)
{
    return tool->clock_known ? clock_ns(tool->clock) : rp_tool_runtime_ns(tool);
}

uint32_t rp_tool_tid(void)
{
    static __thread uint32_t tid;

    if (tid == 0)
        tid = (uint32_t)syscall(SYS_gettid);
    return tid;
}

void rp_tool_lose_dispatches(struct rp_tool *tool, uint64_t count)
{
    uint64_t lost = __atomic_add_fetch(&tool->lost_dispatches, count, __ATOMIC_RELAXED);

    rp_trace_note(&tool->trace, RP_TRACE_LOST_DISPATCHES, lost);
}

void rp_tool_log(const struct rp_tool *tool, const char *fmt, ...)
{
    char line[512];
    va_list ap;
    int length, saved_errno = errno;

    if (tool->log_fd < 0)
        return;
    va_start(ap, fmt);
    length = vsnprintf(line, sizeof(line) - 1, fmt, ap);
    va_end(ap);
    if (length < 0)
        return;
    if ((size_t)length > sizeof(line) - 2)
        length = (int)sizeof(line) - 2;
    line[length++] = '\n';
    /* Each line is one write, so lines of several threads do not mix. A log that fails is not an
     * error.
     */
    if (write(tool->log_fd, line, (size_t)length) < 0)
        errno = saved_errno;
    errno = saved_errno;
}

/**
 * @file fake_hsa.c
 * @brief A runtime for tests.
 */
#include "unit/tracer/fake_hsa.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TABLE_ENTRIES = 128, MAX_HANDLERS = 4096 };

struct fake_hsa fake;
static pthread_mutex_t fake_lock = PTHREAD_MUTEX_INITIALIZER;
static __thread struct fake_queue *writing; /* queue whose callback runs in this thread */
static _Alignas(64) uint8_t code[FAKE_CODE_BYTES];
static struct {
    rp_hsa_signal signal;
    bool (*handler)(int64_t value, void *data);
    void *data;
} handlers[MAX_HANDLERS];
static size_t handler_count;

static struct rp_amd_signal *raw(rp_hsa_signal signal)
{
    return (struct rp_amd_signal *)(uintptr_t)signal;
}

uint64_t fake_kernel_object(size_t index)
{
    return (uint64_t)(uintptr_t)&code[index * 64];
}

/* --- core ---------------------------------------------------------------------------------- */

static rp_hsa_status plain_ok(void)
{
    return RP_HSA_SUCCESS;
}

static rp_hsa_status system_get_info(uint32_t what, void *ret)
{
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    if (what == RP_AMD_SYSTEM_XNACK)
        *(bool *)ret = false;
    else if (what == RP_HSA_SYSTEM_TIMESTAMP)
        *(uint64_t *)ret = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    else
        *(uint64_t *)ret = 1000000000u;
    return RP_HSA_SUCCESS;
}

static rp_hsa_status iterate_agents(rp_hsa_status (*visit)(rp_hsa_agent, void *), void *data)
{
    visit(FAKE_CPU, data);
    visit(FAKE_GPU, data);
    return RP_HSA_SUCCESS;
}

static rp_hsa_status agent_get_info(rp_hsa_agent agent, uint32_t what, void *ret)
{
    bool gpu = agent == FAKE_GPU;

    switch (what) {
    case RP_HSA_AGENT_NAME:
        strcpy(ret, gpu ? "gfx942" : "cpu");
        return RP_HSA_SUCCESS;
    case RP_HSA_AGENT_VENDOR_NAME:
        strcpy(ret, "AMD");
        return RP_HSA_SUCCESS;
    case RP_AMD_AGENT_PRODUCT_NAME:
        strcpy(ret, gpu ? "MI300X" : "EPYC");
        return RP_HSA_SUCCESS;
    case RP_HSA_AGENT_DEVICE:
        *(uint32_t *)ret = gpu;
        return RP_HSA_SUCCESS;
    case RP_AMD_AGENT_DRIVER_NODE_ID:
        *(uint32_t *)ret = gpu ? 90001 : 90000; /* no topology file has such a number */
        return RP_HSA_SUCCESS;
    case RP_AMD_AGENT_CU_COUNT:
        *(uint32_t *)ret = 304;
        return RP_HSA_SUCCESS;
    case RP_AMD_AGENT_SIMDS_PER_CU:
        *(uint32_t *)ret = 4;
        return RP_HSA_SUCCESS;
    case RP_AMD_AGENT_MAX_WAVES_PER_CU:
        *(uint32_t *)ret = 32;
        return RP_HSA_SUCCESS;
    default:
        return RP_HSA_STATUS_ERROR;
    }
}

static struct fake_queue *new_queue(rp_hsa_queue_error on_error, void *data)
{
    struct fake_queue *queue = calloc(1, sizeof(*queue));

    queue->handle.id = __atomic_add_fetch(&fake.queues_alive, 1, __ATOMIC_SEQ_CST);
    queue->handle.size_packets = fake.queue_packets;
    queue->on_error = on_error;
    queue->on_error_data = data;
    return queue;
}

static rp_hsa_status queue_create(rp_hsa_agent agent, uint32_t size, uint32_t type,
                                  rp_hsa_queue_error on_error, void *data, uint32_t private_bytes,
                                  uint32_t group_bytes, struct rp_hsa_queue **ret)
{
    (void)agent, (void)size, (void)private_bytes, (void)group_bytes;
    if (type != RP_HSA_QUEUE_TYPE_COOPERATIVE) {
        *ret = &new_queue(on_error, data)->handle;
        return RP_HSA_SUCCESS;
    }
    if (!fake.cooperative)
        fake.cooperative = new_queue(on_error, data);
    fake.cooperative->users++;
    *ret = &fake.cooperative->handle;
    return RP_HSA_SUCCESS;
}

static rp_hsa_status queue_destroy(struct rp_hsa_queue *handle)
{
    struct fake_queue *queue = (struct fake_queue *)handle;

    if (queue == fake.cooperative) {
        if (--queue->users)
            return RP_HSA_SUCCESS;
        fake.cooperative = NULL;
    }
    free(queue->packets);
    free(queue);
    __atomic_sub_fetch(&fake.queues_alive, 1, __ATOMIC_SEQ_CST);
    return RP_HSA_SUCCESS;
}

static rp_hsa_status amd_signal_create(int64_t initial, uint32_t count, const rp_hsa_agent *agents,
                                       uint64_t attributes, rp_hsa_signal *ret)
{
    (void)count, (void)agents, (void)attributes;
    if (fake.refuse_signals)
        return RP_HSA_STATUS_ERROR;
    *ret = fake_signal(initial);
    return RP_HSA_SUCCESS;
}

static rp_hsa_status signal_destroy(rp_hsa_signal signal)
{
    free(raw(signal));
    __atomic_sub_fetch(&fake.signals_alive, 1, __ATOMIC_SEQ_CST);
    return RP_HSA_SUCCESS;
}

static int64_t signal_load(rp_hsa_signal signal)
{
    return __atomic_load_n(&raw(signal)->value, __ATOMIC_ACQUIRE);
}

static void signal_store(rp_hsa_signal signal, int64_t value)
{
    __atomic_store_n(&raw(signal)->value, value, __ATOMIC_RELEASE);
}

static void signal_subtract(rp_hsa_signal signal, int64_t value)
{
    __atomic_fetch_sub(&raw(signal)->value, value, __ATOMIC_ACQ_REL);
}

static void signal_add(rp_hsa_signal signal, int64_t value)
{
    __atomic_fetch_add(&raw(signal)->value, value, __ATOMIC_ACQ_REL);
}

static int64_t signal_exchange(rp_hsa_signal signal, int64_t value)
{
    return __atomic_exchange_n(&raw(signal)->value, value, __ATOMIC_ACQ_REL);
}

static int64_t signal_cas(rp_hsa_signal signal, int64_t expected, int64_t value)
{
    __atomic_compare_exchange_n(&raw(signal)->value, &expected, value, false, __ATOMIC_ACQ_REL,
                                __ATOMIC_ACQUIRE);
    return expected;
}

static int64_t signal_wait(rp_hsa_signal signal, uint32_t condition, int64_t value,
                           uint64_t timeout, uint32_t state)
{
    (void)condition, (void)value, (void)timeout, (void)state;
    return signal_load(signal);
}

/* --- code ---------------------------------------------------------------------------------- */

static rp_hsa_status executable_freeze(rp_hsa_executable executable, const char *options)
{
    (void)executable, (void)options;
    return fake.refuse_freeze ? RP_HSA_STATUS_ERROR : RP_HSA_SUCCESS;
}

static rp_hsa_status symbol_get_info(rp_hsa_symbol symbol, uint32_t what, void *ret)
{
    static const char *const names[FAKE_KERNELS] = {"_Z3addPf.kd", "plain.kd"};
    size_t index = (size_t)symbol - 1;

    switch (what) {
    case RP_HSA_SYMBOL_TYPE:
        *(uint32_t *)ret = RP_HSA_SYMBOL_KIND_KERNEL;
        break;
    case RP_HSA_SYMBOL_NAME_LENGTH:
        *(uint32_t *)ret = (uint32_t)strlen(names[index]);
        break;
    case RP_HSA_SYMBOL_NAME:
        memcpy(ret, names[index], strlen(names[index])); /* not terminated, as the standard says */
        break;
    case RP_HSA_SYMBOL_KERNEL_OBJECT:
        *(uint64_t *)ret = fake_kernel_object(index);
        break;
    case RP_HSA_SYMBOL_KERNARG_BYTES:
        *(uint32_t *)ret = 288;
        break;
    default:
        *(uint32_t *)ret = 16;
    }
    return RP_HSA_SUCCESS;
}

static rp_hsa_status iterate_agent_symbols(rp_hsa_executable executable, rp_hsa_agent agent,
                                           rp_hsa_status (*visit)(rp_hsa_executable, rp_hsa_agent,
                                                                  rp_hsa_symbol, void *),
                                           void *data)
{
    for (rp_hsa_symbol symbol = 1; symbol <= FAKE_KERNELS; symbol++)
        visit(executable, agent, symbol, data);
    return RP_HSA_SUCCESS;
}

static rp_hsa_status query_host_address(const void *device, const void **ret)
{
    *ret = device;
    return RP_HSA_SUCCESS;
}

static rp_hsa_status iterate_code_objects(rp_hsa_executable executable,
                                          rp_hsa_status (*visit)(rp_hsa_executable,
                                                                 rp_hsa_code_object, void *),
                                          void *data)
{
    return visit(executable, 5, data);
}

static rp_hsa_status code_object_get_info(rp_hsa_code_object object, uint32_t what, void *ret)
{
    static const char uri[] = "memory://1#offset=0x10&size=32";

    (void)object;
    switch (what) {
    case RP_LOADER_INFO_AGENT:
        *(uint64_t *)ret = FAKE_GPU;
        return RP_HSA_SUCCESS;
    case RP_LOADER_INFO_LOAD_BASE:
        *(uint64_t *)ret = fake_kernel_object(0);
        return RP_HSA_SUCCESS;
    case RP_LOADER_INFO_LOAD_SIZE:
        *(uint64_t *)ret = FAKE_CODE_BYTES;
        return RP_HSA_SUCCESS;
    case RP_LOADER_INFO_LOAD_DELTA:
        *(int64_t *)ret = -64;
        return RP_HSA_SUCCESS;
    case RP_LOADER_INFO_STORAGE_TYPE:
        *(uint32_t *)ret = 2;
        return RP_HSA_SUCCESS;
    case RP_LOADER_INFO_URI_LENGTH:
        *(uint32_t *)ret = sizeof(uri) - 1;
        return RP_HSA_SUCCESS;
    case RP_LOADER_INFO_URI:
        memcpy(ret, uri, sizeof(uri) - 1);
        return RP_HSA_SUCCESS;
    default:
        return RP_HSA_STATUS_ERROR;
    }
}

static rp_hsa_status get_extension_table(uint16_t extension, uint16_t major, size_t bytes,
                                         void *ret)
{
    static const struct rp_hsa_loader loader = {
        .query_host_address = query_host_address,
        .iterate_code_objects = iterate_code_objects,
        .code_object_get_info = code_object_get_info,
    };

    if (extension != RP_HSA_EXTENSION_AMD_LOADER || major != 1 || bytes != sizeof(loader))
        return RP_HSA_STATUS_ERROR;
    memcpy(ret, &loader, sizeof(loader));
    return RP_HSA_SUCCESS;
}

/* --- AMD extensions ------------------------------------------------------------------------ */

static rp_hsa_status set_profiler_enabled(struct rp_hsa_queue *handle, int enable)
{
    ((struct fake_queue *)handle)->profiled = enable != 0;
    return RP_HSA_SUCCESS;
}

static rp_hsa_status async_copy_enable(bool enable)
{
    fake.copy_profiling = enable;
    return RP_HSA_SUCCESS;
}

static rp_hsa_status get_dispatch_time(rp_hsa_agent agent, rp_hsa_signal signal,
                                       struct rp_hsa_times *ret)
{
    if (agent != FAKE_GPU)
        return RP_HSA_STATUS_ERROR;
    ret->start = raw(signal)->start_ts;
    ret->end = raw(signal)->end_ts;
    return RP_HSA_SUCCESS;
}

static rp_hsa_status get_copy_time(rp_hsa_signal signal, struct rp_hsa_times *ret)
{
    return get_dispatch_time(FAKE_GPU, signal, ret);
}

static rp_hsa_status async_handler(rp_hsa_signal signal, uint32_t condition, int64_t value,
                                   bool (*handler)(int64_t, void *), void *data)
{
    (void)condition, (void)value;
    pthread_mutex_lock(&fake_lock);
    if (handler_count == MAX_HANDLERS)
        abort();
    handlers[handler_count].signal = signal;
    handlers[handler_count].handler = handler;
    handlers[handler_count++].data = data;
    pthread_mutex_unlock(&fake_lock);
    return RP_HSA_SUCCESS;
}

static uint32_t wait_many(uint32_t count, rp_hsa_signal *signals, uint32_t *conditions,
                          int64_t *values, uint64_t timeout, uint32_t state, int64_t *ret)
{
    (void)conditions, (void)values, (void)timeout, (void)state;
    if (ret && count > 0)
        *ret = signal_load(signals[0]);
    return 0;
}

static rp_hsa_status pool_get_info(rp_hsa_pool pool, uint32_t what, void *ret)
{
    (void)pool, (void)what, (void)ret;
    return RP_HSA_STATUS_ERROR;
}

static rp_hsa_status iterate_pools(rp_hsa_agent agent, rp_hsa_status (*visit)(rp_hsa_pool, void *),
                                   void *data)
{
    (void)agent, (void)visit, (void)data;
    return RP_HSA_SUCCESS;
}

static rp_hsa_status async_copy(void *dst, rp_hsa_agent dst_agent, const void *src,
                                rp_hsa_agent src_agent, size_t bytes, uint32_t dep_count,
                                const rp_hsa_signal *deps, rp_hsa_signal completion)
{
    (void)dst_agent, (void)src_agent, (void)dep_count, (void)deps;
    if (!dst)
        return RP_HSA_STATUS_ERROR;
    memcpy(dst, src, bytes);
    raw(completion)->start_ts = __atomic_add_fetch(&fake.clock_ticks, 10, __ATOMIC_SEQ_CST);
    raw(completion)->end_ts = __atomic_add_fetch(&fake.clock_ticks, 10, __ATOMIC_SEQ_CST);
    signal_subtract(completion, 1);
    return RP_HSA_SUCCESS;
}

static rp_hsa_status intercept_create(rp_hsa_agent agent, uint32_t size, uint32_t type,
                                      rp_hsa_queue_error on_error, void *data,
                                      uint32_t private_bytes, uint32_t group_bytes,
                                      struct rp_hsa_queue **ret)
{
    struct rp_hsa_queue *beneath;

    if (fake.refuse_intercept)
        return RP_HSA_STATUS_ERROR;
    *ret = &new_queue(on_error, data)->handle;
    if (type == RP_HSA_QUEUE_TYPE_COOPERATIVE) {
        queue_create(agent, size, type, NULL, NULL, private_bytes, group_bytes, &beneath);
        free(fake.shell);
        fake.shell = (struct fake_queue *)*ret;
        __atomic_sub_fetch(&fake.queues_alive, 1, __ATOMIC_SEQ_CST); /* nobody destroys it */
    }
    return RP_HSA_SUCCESS;
}

static rp_hsa_status intercept_register(struct rp_hsa_queue *handle, rp_hsa_intercept callback,
                                        void *data)
{
    struct fake_queue *queue = (struct fake_queue *)handle;

    if (fake.refuse_register)
        return RP_HSA_STATUS_ERROR;
    queue->callback = callback;
    queue->callback_data = data;
    queue->intercepted = true;
    return RP_HSA_SUCCESS;
}

static uint64_t load_write_index(const struct rp_hsa_queue *queue)
{
    return __atomic_load_n(&((const struct fake_queue *)queue)->write_index, __ATOMIC_ACQUIRE);
}

static void store_write_index(const struct rp_hsa_queue *queue, uint64_t value)
{
    __atomic_store_n(&((struct fake_queue *)(uintptr_t)queue)->write_index, value,
                     __ATOMIC_RELEASE);
}

static uint64_t cas_write_index(const struct rp_hsa_queue *queue, uint64_t expected, uint64_t value)
{
    __atomic_compare_exchange_n(&((struct fake_queue *)(uintptr_t)queue)->write_index, &expected,
                                value, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    return expected;
}

static uint64_t add_write_index(const struct rp_hsa_queue *queue, uint64_t count)
{
    return __atomic_fetch_add(&((struct fake_queue *)(uintptr_t)queue)->write_index, count,
                              __ATOMIC_ACQ_REL);
}

/* --- the program and the hardware ---------------------------------------------------------- */

static void write_packets(const void *packets, uint64_t count)
{
    struct fake_queue *queue = writing;

    if (queue->count + count > queue->capacity) {
        queue->capacity = (queue->count + count) * 2;
        queue->packets = realloc(queue->packets, queue->capacity * sizeof(*queue->packets));
    }
    memcpy(queue->packets + queue->count, packets, count * sizeof(*queue->packets));
    queue->count += count;
}

void fake_submit(struct fake_queue *queue, const struct rp_hsa_packet *packets, size_t count)
{
    writing = queue;
    if (queue->callback)
        queue->callback(packets, count, queue->read_index, queue->callback_data, write_packets);
    else
        write_packets(packets, count);
    queue->read_index += count;
    writing = NULL;
}

void fake_execute_at(struct fake_queue *queue, size_t index)
{
    struct rp_hsa_packet packet = queue->packets[index];
    struct rp_amd_signal *signal = raw(packet.completion);

    queue->count--;
    memmove(&queue->packets[index], &queue->packets[index + 1],
            (queue->count - index) * sizeof(packet));
    queue->executed++;
    if (!signal)
        return;
    if (queue->profiled) {
        __atomic_store_n(&signal->start_ts,
                         __atomic_add_fetch(&fake.clock_ticks, 10, __ATOMIC_SEQ_CST),
                         __ATOMIC_RELAXED);
        __atomic_store_n(&signal->end_ts,
                         __atomic_add_fetch(&fake.clock_ticks, 10, __ATOMIC_SEQ_CST),
                         __ATOMIC_RELAXED);
    }
    __atomic_fetch_sub(&signal->value, 1, __ATOMIC_ACQ_REL);
}

void fake_execute(struct fake_queue *queue, size_t count)
{
    while (count-- > 0)
        fake_execute_at(queue, 0);
}

size_t fake_run_handlers(void)
{
    size_t ran = 0;

    for (size_t i = 0; i < handler_count;) {
        if (signal_load(handlers[i].signal) >= 1) {
            i++;
            continue;
        }
        if (handlers[i].handler(signal_load(handlers[i].signal), handlers[i].data))
            abort(); /* the tool's handlers run once */
        handlers[i] = handlers[--handler_count];
        ran++;
    }
    return ran;
}

rp_hsa_signal fake_signal(int64_t value)
{
    struct rp_amd_signal *signal = aligned_alloc(64, sizeof(*signal));

    *signal = (struct rp_amd_signal){.kind = 1, .value = value};
    __atomic_add_fetch(&fake.signals_alive, 1, __ATOMIC_SEQ_CST);
    return (rp_hsa_signal)(uintptr_t)signal;
}

struct rp_hsa_packet fake_dispatch(uint64_t kernel_object, rp_hsa_signal signal)
{
    return (struct rp_hsa_packet){.header = RP_AQL_KERNEL_DISPATCH | RP_AQL_BARRIER_BIT,
                                  .setup = 3,
                                  .workgroup = {64, 2, 1},
                                  .grid = {640, 20, 3},
                                  .private_bytes = 16,
                                  .group_bytes = 1024,
                                  .kernel_object = kernel_object,
                                  .completion = signal};
}

/* --- tables -------------------------------------------------------------------------------- */

static struct rp_hsa_table *new_table(void)
{
    struct rp_hsa_table *table = calloc(1, sizeof(*table) + TABLE_ENTRIES * sizeof(void *));

    table->version =
        (struct rp_hsa_version){.major_id = 2, .minor_id = 16 + TABLE_ENTRIES * sizeof(void *)};
    return table;
}

static void fill_signals(void)
{
#define RP_SIGNAL_SET(index, name)        fake.core->fn[index] = (void *)signal_store;
#define RP_SIGNAL_EXCHANGE(index, name)   fake.core->fn[index] = (void *)signal_exchange;
#define RP_SIGNAL_CAS(index, name)        fake.core->fn[index] = (void *)signal_cas;
#define RP_SIGNAL_LOAD(index, name)       fake.core->fn[index] = (void *)signal_load;
#define RP_SIGNAL_WAIT(index, name)       fake.core->fn[index] = (void *)signal_wait;
#define RP_WRITE_INDEX_ADD(index, name)   fake.core->fn[index] = (void *)add_write_index;
#define RP_WRITE_INDEX_CAS(index, name)   fake.core->fn[index] = (void *)cas_write_index;
#define RP_WRITE_INDEX_STORE(index, name) fake.core->fn[index] = (void *)store_write_index;
#include "tracer/hsa_entries.def"
    for (int i = 61; i <= 64; i++)
        fake.core->fn[i] = (void *)signal_add;
    for (int i = 65; i <= 68; i++)
        fake.core->fn[i] = (void *)signal_subtract;
    fake.core->fn[38] = (void *)signal_destroy;
}

void fake_reset(void)
{
    fake_free();
    memset(&fake, 0, sizeof(fake));
    fake.clock_ticks = 1000;
    fake.queue_packets = 1 << 20;
    handler_count = 0;
    memset(code, 0, sizeof(code));
    code[0 * 64 + 44] = 2;                  /* accum_offset: 12 VGPRs */
    code[0 * 64 + 48] = 1 | 2 << 6;         /* 16 in all; SGPRs: 2 -> 32 */
    code[1 * 64 + 44] = 31;                 /* 128 */
    code[1 * 64 + 48] = 63 | (12 & 3) << 6; /* 512 in all */
    code[1 * 64 + 49] = 12 >> 2;            /* SGPRs: 12 -> 112 */
    fake.core = new_table();
    fake.amd = new_table();
    fake.root = (struct rp_hsa_tables){
        .version = {.major_id = 3, .minor_id = 64}, .core = fake.core, .amd = fake.amd};
    fill_signals();
    fake.core->fn[0] = fake.core->fn[1] = (void *)plain_ok;
    fake.core->fn[2] = (void *)system_get_info;
    fake.core->fn[5] = (void *)iterate_agents;
    fake.core->fn[6] = (void *)agent_get_info;
    fake.core->fn[7] = (void *)queue_create;
    fake.core->fn[9] = (void *)queue_destroy;
    fake.core->fn[14] = (void *)load_write_index;
    fake.core->fn[86] = (void *)executable_freeze;
    fake.core->fn[93] = (void *)symbol_get_info;
    fake.core->fn[98] = (void *)get_extension_table;
    fake.core->fn[123] = (void *)iterate_agent_symbols;
    fake.amd->fn[2] = (void *)set_profiler_enabled;
    fake.amd->fn[3] = (void *)async_copy_enable;
    fake.amd->fn[4] = (void *)get_dispatch_time;
    fake.amd->fn[5] = (void *)get_copy_time;
    fake.amd->fn[7] = (void *)async_handler;
    fake.amd->fn[9] = fake.amd->fn[71] = (void *)wait_many;
    fake.amd->fn[11] = (void *)pool_get_info;
    fake.amd->fn[12] = (void *)iterate_pools;
    fake.amd->fn[15] = (void *)async_copy;
    fake.amd->fn[33] = (void *)amd_signal_create;
    fake.amd->fn[37] = (void *)intercept_create;
    fake.amd->fn[38] = (void *)intercept_register;
}

void fake_free(void)
{
    free(fake.core);
    free(fake.amd);
    free(fake.shell);
    fake.shell = NULL;
    fake.core = fake.amd = NULL;
}

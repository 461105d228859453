/* Counts kernels on an HSA queue by the command buffers that AMD's aqlprofile makes.
 *
 *   counters CODE_OBJECT LIBRARY    passes from standard input, a line each:
 * BLOCK:EVENT:INSTANCES:FLAGS ... counters CODE_OBJECT            only launches each kernel once
 *
 * For each pass and kernel it prints a line KERNEL BLOCK:EVENT:FLAGS SUM MOST VALUES, as the
 * iteration of aqlprofile gives them. The same file is the code object.
 */
#include <aqlprofile-sdk/aql_profile_v2.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <hip/hip_runtime.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

enum { ITEMS = 4096, BLOCK = 256 };

extern "C" __global__ void add(const float *a, const float *b, float *out)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = a[i] + b[(i * 17) % ITEMS] * 3.0f;
}

/* Bank conflicts, barriers, and atomics with and without result. */
extern "C" __global__ void lds(const float *a, const float *b, float *out)
{
    __shared__ float tile[BLOCK * 4];
    __shared__ int count;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (threadIdx.x == 0)
        count = 0;
    tile[threadIdx.x * 4] = a[i];
    __syncthreads();
    const int before = atomicAdd(&count, 1);
    __syncthreads();
    out[i] = tile[(threadIdx.x * 4 + 32) % (BLOCK * 4)] + (float)(before / BLOCK);
    atomicAdd((int *)&out[ITEMS], 1);
    if (b[i] < -1.0f)
        out[i] = (float)atomicAdd((int *)&out[ITEMS + 1], 1);
}

typedef _Float16 half4 __attribute__((ext_vector_type(4)));
typedef float float16 __attribute__((ext_vector_type(16)));

extern "C" __global__ void matrix(const float *a, const float *b, float *out)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    half4 x = {(_Float16)a[i], 1, 2, 3}, y = {(_Float16)b[i], 3, 2, 1};
    float16 sum = {0};

    for (int turn = 0; turn < 5; turn++)
        sum = __builtin_amdgcn_mfma_f32_32x32x8f16(x, y, sum, 0, 0, 0);
    out[i] = sum[3];
}

static void must(hsa_status_t status, const char *what)
{
    if (status == HSA_STATUS_SUCCESS)
        return;
    fprintf(stderr, "%s: status 0x%x\n", what, (unsigned)status);
    exit(1);
}
#define MUST(call) must(call, #call)

static hsa_agent_t gpu, cpu;
static hsa_amd_memory_pool_t host_pool, argument_pool;
static hsa_queue_t *queue;
static bool failed;

static hsa_status_t find_agent(hsa_agent_t agent, void *)
{
    hsa_device_type_t type;

    hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
    hsa_agent_t *to = type == HSA_DEVICE_TYPE_GPU ? &gpu : &cpu;
    if (!to->handle)
        *to = agent;
    return HSA_STATUS_SUCCESS;
}

static hsa_status_t find_pool(hsa_amd_memory_pool_t pool, void *)
{
    hsa_amd_segment_t segment;
    uint32_t flags = 0;

    hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment);
    hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags);
    if (segment == HSA_AMD_SEGMENT_GLOBAL && flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT)
        argument_pool = pool;
    else if (segment == HSA_AMD_SEGMENT_GLOBAL &&
             flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED && !host_pool.handle)
        host_pool = pool;
    return HSA_STATUS_SUCCESS;
}

static void *shared_memory(hsa_amd_memory_pool_t pool, size_t bytes)
{
    void *memory = nullptr;

    MUST(hsa_amd_memory_pool_allocate(pool, bytes, 0, &memory));
    MUST(hsa_amd_agents_allow_access(1, &gpu, nullptr, memory));
    memset(memory, 0, bytes);
    return memory;
}

/* ---- the queue ------------------------------------------------------------------------------ */

static void on_error(hsa_status_t status, hsa_queue_t *, void *)
{
    fprintf(stderr, "queue error 0x%x\n", (unsigned)status);
    failed = true;
}

/* Submits a packet of 64 bytes, whose first two are its header, and waits for its end. */
static void submit(const void *packet, uint16_t header, size_t completion_at)
{
    hsa_signal_t done;
    char body[64];

    MUST(hsa_signal_create(1, 0, nullptr, &done));
    memcpy(body, packet, sizeof body);
    memcpy(body + completion_at, &done, sizeof done);
    const uint64_t index = hsa_queue_add_write_index_screlease(queue, 1);
    char *slot = (char *)queue->base_address + 64 * (index & (queue->size - 1));
    memcpy(slot + 2, body + 2, sizeof body - 2);
    __atomic_store_n((uint16_t *)slot, header, __ATOMIC_RELEASE);
    hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)index);
    while (hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, 100000000,
                                     HSA_WAIT_STATE_BLOCKED) >= 1 &&
           !failed)
        ;
    hsa_signal_destroy(done);
    if (failed)
        exit(1);
}

static void submit_commands(const hsa_ext_amd_aql_pm4_packet_t *packet)
{
    submit(packet,
           HSA_PACKET_TYPE_VENDOR_SPECIFIC << HSA_PACKET_HEADER_TYPE |
               1 << HSA_PACKET_HEADER_BARRIER,
           offsetof(hsa_ext_amd_aql_pm4_packet_t, completion_signal));
}

/* ---- kernels -------------------------------------------------------------------------------- */

struct kernel {
    const char *name;
    uint64_t object;
    uint32_t group_bytes, private_bytes, argument_bytes;
};

static std::vector<kernel> load(const char *path)
{
    static const char *const names[] = {"add", "lds", "matrix"};
    std::vector<kernel> kernels;
    hsa_code_object_reader_t reader;
    hsa_executable_t executable;
    const int fd = open(path, O_RDONLY);

    MUST(hsa_code_object_reader_create_from_file(fd, &reader));
    MUST(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT,
                                   nullptr, &executable));
    MUST(hsa_executable_load_agent_code_object(executable, gpu, reader, nullptr, nullptr));
    MUST(hsa_executable_freeze(executable, nullptr));
    for (const char *name : names) {
        kernel k = {name};
        hsa_executable_symbol_t symbol;
        MUST(hsa_executable_get_symbol_by_name(executable, (std::string(name) + ".kd").c_str(),
                                               &gpu, &symbol));
        hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &k.object);
        hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE,
                                       &k.group_bytes);
        hsa_executable_symbol_get_info(
            symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE, &k.private_bytes);
        hsa_executable_symbol_get_info(
            symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE, &k.argument_bytes);
        kernels.push_back(k);
    }
    return kernels;
}

static char *arguments;

static void launch(const kernel &k)
{
    hsa_kernel_dispatch_packet_t packet = {};

    packet.setup = 1;
    packet.workgroup_size_x = BLOCK;
    packet.workgroup_size_y = packet.workgroup_size_z = 1;
    packet.grid_size_x = ITEMS;
    packet.grid_size_y = packet.grid_size_z = 1;
    packet.kernel_object = k.object;
    packet.group_segment_size = k.group_bytes;
    packet.private_segment_size = k.private_bytes;
    packet.kernarg_address = arguments;
    submit(&packet,
           HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE |
               1 << HSA_PACKET_HEADER_BARRIER |
               HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
               HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE,
           offsetof(hsa_kernel_dispatch_packet_t, completion_signal));
}

/* Explicit arguments, then the hidden ones: how many blocks there are and how large they are. */
static void set_arguments()
{
    float *memory = (float *)shared_memory(host_pool, sizeof(float) * (3 * ITEMS + 16));
    float *pointers[] = {memory, memory + ITEMS, memory + 2 * ITEMS};
    const uint32_t blocks[] = {ITEMS / BLOCK, 1, 1};
    const uint16_t sizes[] = {BLOCK, 1, 1};

    for (int i = 0; i < 2 * ITEMS; i++)
        memory[i] = (float)(i % 13);
    arguments = (char *)shared_memory(argument_pool, 4096);
    memcpy(arguments, pointers, sizeof pointers);
    memcpy(arguments + sizeof pointers, blocks, sizeof blocks);
    memcpy(arguments + sizeof pointers + sizeof blocks, sizes, sizeof sizes);
}

/* ---- aqlprofile ----------------------------------------------------------------------------- */

template <typename F> static void look_up(void *library, const char *name, F *&to)
{
    to = (F *)dlsym(library, name);
    if (!to) {
        fprintf(stderr, "aqlprofile has no %s\n", name);
        exit(1);
    }
}

static decltype(aqlprofile_register_agent_info) *register_agent_info;
static decltype(aqlprofile_pmc_create_packets) *create_packets;
static decltype(aqlprofile_pmc_delete_packets) *delete_packets;
static decltype(aqlprofile_pmc_iterate_data) *iterate_data;

static hsa_status_t allocate(void **memory, uint64_t bytes, aqlprofile_buffer_desc_flags_t, void *)
{
    *memory = shared_memory(host_pool, (bytes + 4095) & ~4095ull);
    return HSA_STATUS_SUCCESS;
}

static void release(void *memory, void *)
{
    hsa_amd_memory_pool_free(memory);
}

static hsa_status_t copy(void *to, const void *from, size_t bytes, void *)
{
    memcpy(to, from, bytes);
    return HSA_STATUS_SUCCESS;
}

/* What the runtime says of the GPU, as rocprofiler-sdk hands it over. */
static aqlprofile_agent_handle_t describe()
{
    static char name[64];
    aqlprofile_agent_info_v1_t info = {};
    aqlprofile_agent_handle_t handle = {};

    hsa_agent_get_info(gpu, HSA_AGENT_INFO_NAME, name);
    info.agent_gfxip = name;
    hsa_agent_get_info(gpu, (hsa_agent_info_t)HSA_AMD_AGENT_INFO_NUM_XCC, &info.xcc_num);
    hsa_agent_get_info(gpu, (hsa_agent_info_t)HSA_AMD_AGENT_INFO_NUM_SHADER_ENGINES, &info.se_num);
    hsa_agent_get_info(gpu, (hsa_agent_info_t)HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT, &info.cu_num);
    hsa_agent_get_info(gpu, (hsa_agent_info_t)HSA_AMD_AGENT_INFO_NUM_SHADER_ARRAYS_PER_SE,
                       &info.shader_arrays_per_se);
    hsa_agent_get_info(gpu, (hsa_agent_info_t)HSA_AMD_AGENT_INFO_BDFID, &info.location_id);
    MUST(register_agent_info(&handle, &info, AQLPROFILE_AGENT_VERSION_V1));
    return handle;
}

struct sum {
    uint64_t all, most, values;
};
typedef std::map<std::array<unsigned, 3>, sum> sums;

static hsa_status_t add_value(aqlprofile_pmc_event_t event, uint64_t, uint64_t value, void *data)
{
    sum &s = (*(sums *)data)[{event.block_name, event.event_id, event.flags.raw}];

    s.all += value;
    s.most = value > s.most ? value : s.most;
    s.values++;
    return HSA_STATUS_SUCCESS;
}

static void count(const kernel &k, aqlprofile_agent_handle_t agent,
                  const std::vector<aqlprofile_pmc_event_t> &events)
{
    aqlprofile_pmc_aql_packets_t packets = {};
    aqlprofile_handle_t handle = {};
    sums result;

    MUST(create_packets(&handle, &packets, {agent, events.data(), (uint32_t)events.size()},
                        allocate, release, copy, nullptr));
    submit_commands(&packets.start_packet);
    launch(k);
    submit_commands(&packets.read_packet);
    submit_commands(&packets.stop_packet);
    MUST(iterate_data(handle, add_value, &result));
    for (const auto &[event, s] : result)
        printf("%s %u:%u:%u %lu %lu %lu\n", k.name, event[0], event[1], event[2], s.all, s.most,
               s.values);
    delete_packets(handle);
}

static std::vector<aqlprofile_pmc_event_t> events_of(const std::string &line)
{
    std::vector<aqlprofile_pmc_event_t> events;
    std::istringstream words(line);

    for (std::string word; words >> word;) {
        unsigned block, number, instances, flags;
        if (sscanf(word.c_str(), "%u:%u:%u:%u", &block, &number, &instances, &flags) != 4)
            exit(2);
        for (unsigned i = 0; i < instances; i++) {
            aqlprofile_pmc_event_t event = {};
            event.block_index = i;
            event.event_id = number;
            event.flags.raw = flags;
            event.block_name = (hsa_ven_amd_aqlprofile_block_name_t)block;
            events.push_back(event);
        }
    }
    return events;
}

static void count_all(const std::vector<kernel> &kernels, const char *path)
{
    void *library = dlopen(path, RTLD_NOW);

    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    look_up(library, "aqlprofile_register_agent_info", register_agent_info);
    look_up(library, "aqlprofile_pmc_create_packets", create_packets);
    look_up(library, "aqlprofile_pmc_delete_packets", delete_packets);
    look_up(library, "aqlprofile_pmc_iterate_data", iterate_data);
    const aqlprofile_agent_handle_t agent = describe();
    for (std::string line; std::getline(std::cin, line);)
        for (const kernel &k : kernels)
            count(k, agent, events_of(line));
}

int main(int argc, char **argv)
{
    MUST(hsa_init());
    MUST(hsa_iterate_agents(find_agent, nullptr));
    MUST(hsa_amd_agent_iterate_memory_pools(cpu, find_pool, nullptr));
    MUST(hsa_queue_create(gpu, 1024, HSA_QUEUE_TYPE_SINGLE, on_error, nullptr, UINT32_MAX,
                          UINT32_MAX, &queue));
    const std::vector<kernel> kernels = load(argv[1]);
    set_arguments();
    if (argc > 2)
        count_all(kernels, argv[2]);
    else
        for (const kernel &k : kernels)
            launch(k);
    MUST(hsa_queue_destroy(queue));
    hsa_shut_down();
    return 0;
}

// Thread traces as AMD's tools make them: packets of AMD's aqlprofile around a kernel.
// usage: thread_trace KERNEL                                   runs the kernel
//        thread_trace KERNEL LIBRARY FOLDER BYTES ENGINES      with the packets of that aqlprofile
// FOLDER gets engine-N.att, the streams with the header that decoders want, and code: a line with the address of the
// memory that follows, and that of the kernel's first instruction. KERNEL is loop, tiles, calls or long.
#include <hip/hip_runtime.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <aqlprofile-sdk/aql_profile_v2.h>

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

// ---- kernels

__global__ void loop(float *data, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = data[i];
    for (int k = 0; k < rounds + (int)(threadIdx.x & 3); k++)
        v = v * 1.5f + data[(i + 64 * k) & 0xffff];
    data[i] = v;
}

enum { TILE = 16 };

__global__ void tiles(const float *a, const float *b, float *c, int n)
{
    __shared__ float as[TILE][TILE], bs[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < n; t += TILE) {
        as[threadIdx.y][threadIdx.x] = a[row * n + t + threadIdx.x];
        bs[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * n + column];
        __syncthreads();
        for (int k = 0; k < TILE; k++)
            sum += as[threadIdx.y][k] * bs[k][threadIdx.x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

__device__ __noinline__ float twice(float v, int rounds)
{
    for (int i = 0; i < rounds; i++)
        v = v * v + 0.5f;
    return v;
}

__device__ __noinline__ float thrice(float v, int rounds)
{
    return twice(v, rounds) + sqrtf(v);
}

__global__ void calls(float *data, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = data[i];
    v = i & 64 ? twice(v, rounds) : thrice(v, rounds);
    data[i] = v;
}

enum { N = 256, FLOATS = 1 << 20 };

static bool prepare(float **data)
{
    return hipMalloc(data, 3 * FLOATS * sizeof **data) == hipSuccess &&
           hipMemset(*data, 0, 3 * FLOATS * sizeof **data) == hipSuccess && hipDeviceSynchronize() == hipSuccess;
}

static bool launch(const std::string &kernel, float *data)
{
    if (kernel == "loop")
        loop<<<600, 256>>>(data, 5);
    else if (kernel == "tiles")
        tiles<<<dim3(N / TILE, N / TILE), dim3(TILE, TILE)>>>(data, data + FLOATS, data + 2 * FLOATS, N);
    else if (kernel == "calls")
        calls<<<200, 96>>>(data, 4);
    else
        loop<<<600, 256>>>(data, 600);
    return hipDeviceSynchronize() == hipSuccess;
}

// ---- packets

template <class F> static F *function(const char *name, void *library = RTLD_DEFAULT)
{
    void *found = dlsym(library, name);
    if (!found) {
        fprintf(stderr, "%s is missing\n", name);
        exit(1);
    }
    return (F *)found;
}
#define HSA(name) function<decltype(name)>(#name)
#define AQLPROFILE(name) function<decltype(name)>(#name, library)

static hsa_agent_t gpu;
static hsa_queue_t *queue;
static std::string folder;
static uint64_t entry;

static hsa_status_t note_agent(hsa_agent_t agent, void *)
{
    hsa_device_type_t type;
    HSA(hsa_agent_get_info)(agent, HSA_AGENT_INFO_DEVICE, &type);
    if (type == HSA_DEVICE_TYPE_GPU && !gpu.handle)
        gpu = agent;
    return HSA_STATUS_SUCCESS;
}

static hsa_status_t allocate(void **to, uint64_t bytes, aqlprofile_buffer_desc_flags_t flags, void *)
{
    hipError_t rc = flags.host_access ? hipHostMalloc(to, bytes) : hipMalloc(to, bytes);
    return rc == hipSuccess ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

static void release(void *, void *) {}

static hsa_status_t copy(void *to, const void *from, size_t bytes, void *)
{
    return hipMemcpy(to, from, bytes, hipMemcpyDefault) == hipSuccess ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR;
}

// A vendor packet has its completion signal at the end, as every packet.
static void submit(hsa_ext_amd_aql_pm4_packet_t packet)
{
    hsa_signal_t done;
    HSA(hsa_signal_create)(1, 0, nullptr, &done);
    packet.completion_signal = done;
    uint64_t index = HSA(hsa_queue_add_write_index_relaxed)(queue, 1);
    auto *to = (hsa_ext_amd_aql_pm4_packet_t *)queue->base_address + (index & (queue->size - 1));
    memcpy((char *)to + 2, (char *)&packet + 2, sizeof packet - 2);
    __atomic_store_n((uint16_t *)to, HSA_PACKET_TYPE_VENDOR_SPECIFIC << HSA_PACKET_HEADER_TYPE | 1 << HSA_PACKET_HEADER_BARRIER,
                     __ATOMIC_RELEASE);
    HSA(hsa_signal_store_screlease)(queue->doorbell_signal, (hsa_signal_value_t)index);
    HSA(hsa_signal_wait_scacquire)(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED);
    HSA(hsa_signal_destroy)(done);
}

// The program's address is in the stream: writes to COMPUTE_PGM_LO and HI, before the first wave.
static uint64_t entry_of(const uint8_t *bytes, uint64_t count)
{
    static const uint8_t sizes[16] = {2, 8, 8, 4, 2, 6, 2, 2, 2, 2, 2, 8, 6, 4, 8, 6};
    uint64_t found = 0;
    for (uint64_t at = 8; at + 8 <= count; at += sizes[bytes[at] & 15]) {
        uint64_t token;
        memcpy(&token, bytes + at, 8);
        if ((token & 15) == 15 && (token >> 9 & 0x7f) == 0xc)
            found = (found & ~(0xffffffffull << 8)) | (token >> 16 & 0xffffffff) << 8;
        if ((token & 15) == 15 && (token >> 9 & 0x7f) == 0xd)
            found = (found & 0xffffffffffull) | (token >> 16 & 0xffffffff) << 40;
    }
    return found;
}

static hsa_status_t keep(uint32_t engine, void *bytes, uint64_t count, void *)
{
    FILE *file = fopen((folder + "/engine-" + std::to_string(engine) + ".att").c_str(), "w");
    if (!file || fwrite(bytes, 1, count, file) != count || fclose(file))
        return HSA_STATUS_ERROR;
    printf("engine %u: %llu bytes\n", engine, (unsigned long long)count);
    if (!entry)
        entry = entry_of((const uint8_t *)bytes, count);
    return HSA_STATUS_SUCCESS;
}

// What lies behind the kernel's first instruction, as far as its memory goes.
static bool keep_code()
{
    hsa_amd_pointer_info_t info = {.size = sizeof info};
    if (HSA(hsa_amd_pointer_info)((void *)entry, &info, nullptr, nullptr, nullptr) != HSA_STATUS_SUCCESS || !info.agentBaseAddress)
        return false;
    uint64_t bytes = (uint64_t)info.agentBaseAddress + info.sizeInBytes - entry;
    uint64_t from = (uint64_t)info.agentBaseAddress;
    bytes += entry - from;
    std::string code(bytes, '\0');
    if (hipMemcpy(&code[0], (void *)from, bytes, hipMemcpyDeviceToHost) != hipSuccess)
        return false;
    FILE *file = fopen((folder + "/code").c_str(), "w");
    return file && fprintf(file, "%llx %llx\n", (unsigned long long)from, (unsigned long long)entry) > 0 &&
           fwrite(code.data(), 1, bytes, file) == bytes && fclose(file) == 0;
}

static aqlprofile_att_parameter_t parameter(hsa_ven_amd_aqlprofile_parameter_name_t name, uint32_t value)
{
    aqlprofile_att_parameter_t p = {};
    p.parameter_name = name;
    p.value = value;
    return p;
}

// As rocprofv3 tells the stream of a code object.
static bool submit_marker(void *library)
{
    hsa_ext_amd_aql_pm4_packet_t packet = {};
    aqlprofile_handle_t handle;
    aqlprofile_att_codeobj_data_t data = {};
    data.id = 7;
    data.addr = 0x123456000;
    data.size = 0x2000;
    data.agent = gpu;
    if (AQLPROFILE(aqlprofile_att_codeobj_marker)(&packet, &handle, data, allocate, release, nullptr) != HSA_STATUS_SUCCESS)
        return false;
    submit(packet);
    return true;
}

static bool traced(const std::string &kernel, float *data, char **argv)
{
    void *library = dlopen(argv[2], RTLD_NOW);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return false;
    }
    folder = argv[3];
    const aqlprofile_att_parameter_t parameters[] = {
        parameter(HSA_VEN_AMD_AQLPROFILE_PARAMETER_NAME_COMPUTE_UNIT_TARGET, 1),
        parameter(HSA_VEN_AMD_AQLPROFILE_PARAMETER_NAME_SE_MASK, (uint32_t)strtoul(argv[5], nullptr, 0)),
        parameter(HSA_VEN_AMD_AQLPROFILE_PARAMETER_NAME_SIMD_SELECTION, 15),
        parameter(HSA_VEN_AMD_AQLPROFILE_PARAMETER_NAME_ATT_BUFFER_SIZE, (uint32_t)atol(argv[4])),
    };
    HSA(hsa_iterate_agents)(note_agent, nullptr);
    HSA(hsa_queue_create)(gpu, 64, HSA_QUEUE_TYPE_SINGLE, nullptr, nullptr, UINT32_MAX, UINT32_MAX, &queue);
    aqlprofile_handle_t handle;
    aqlprofile_att_control_aql_packets_t both = {};
    if (AQLPROFILE(aqlprofile_att_create_packets)(&handle, &both, {gpu, parameters, 4}, allocate, release, copy, nullptr) !=
        HSA_STATUS_SUCCESS)
        return false;
    submit(both.start_packet);
    if (!submit_marker(library))
        return false;
    bool good = launch(kernel, data);
    submit(both.stop_packet);
    printf("status 0x%x\n", (unsigned)AQLPROFILE(aqlprofile_att_iterate_data)(handle, keep, nullptr));
    return good && entry && keep_code();
}

int main(int argc, char **argv)
{
    if (argc != 2 && argc != 6)
        return 2;
    float *data;
    bool good = prepare(&data) && (argc > 2 ? traced(argv[1], data, argv) : launch(argv[1], data));
    puts(good ? "done" : "FAILED");
    return good ? 0 : 1;
}

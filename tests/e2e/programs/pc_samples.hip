// Samples the program counter of a kernel by ROCr's own interface: pc_samples [INTERVAL_US [LAUNCHES [BUFFER]]]. Prints
// of each sample PC (from behind s_getpc_b64), EXEC, workgroup, wave and XCC, HW_ID, time and correlation id.
#include <hip/hip_runtime.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ven_amd_pc_sampling.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

struct record {
    uint64_t pc, exec;
    uint32_t group[3], wave_and_xcc, hw_id, reserved0;
    uint64_t reserved1, ticks, correlation;
};
static_assert(sizeof(record) == 64);

static void check(int failed, const char *what)
{
    if (!failed)
        return;
    fprintf(stderr, "%s: %d (0x%x)\n", what, failed, (unsigned)failed);
    exit(1);
}

__global__ void work(const float *in, float *out, uint64_t *place, unsigned rounds)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    uint64_t pc;
    asm volatile("s_getpc_b64 %0" : "=s"(pc));
    if (i == 0)
        *place = pc;
    float sum = 0;
    for (unsigned r = 0; r < rounds; r++) {
        sum += in[(i + r * 4096) & 0xfffff];
        for (unsigned k = threadIdx.x % 64 < 16 ? 8 : 0; k > 0; k--)
            sum = sum * 1.5f + in[k];
    }
    out[i] = sum;
}

static std::mutex lock;
static std::vector<record> samples;
static size_t lost;

static void take(void *, size_t bytes, size_t lost_samples, hsa_ven_amd_pcs_data_copy_callback_t copy, void *session)
{
    std::lock_guard<std::mutex> guard(lock);
    size_t at = samples.size();
    samples.resize(at + bytes / sizeof(record));
    lost += lost_samples;
    check(copy(session, bytes / sizeof(record) * sizeof(record), &samples[at]), "copy samples");
}

static hsa_agent_t gpu;

static hsa_status_t find(hsa_agent_t agent, void *)
{
    hsa_device_type_t type;
    check(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type), "agent");
    if (type == HSA_DEVICE_TYPE_GPU && !gpu.handle)
        gpu = agent;
    return HSA_STATUS_SUCCESS;
}

static hsa_status_t list(const hsa_ven_amd_pcs_configuration_t *c, void *)
{
    printf("configuration: method %d units %d interval %zu to %zu flags %" PRIu64 "\n", (int)c->method, (int)c->units, c->min_interval,
           c->max_interval, c->flags);
    return HSA_STATUS_SUCCESS;
}

int main(int argc, char **argv)
{
    const bool samples_it = argc > 1;
    const size_t interval = samples_it ? strtoul(argv[1], nullptr, 10) : 0;
    const unsigned launches = argc > 2 ? atoi(argv[2]) : 4;
    const unsigned buffer = argc > 3 ? atoi(argv[3]) : 4096;
    float *in, *out;
    uint64_t *place, where;
    hsa_ven_amd_pcs_t session;
    check(hipMalloc(&in, 4 << 20), "hipMalloc");
    check(hipMalloc(&out, 4 << 20), "hipMalloc");
    check(hipMalloc(&place, 8), "hipMalloc");
    check(hipMemset(in, 0, 4 << 20), "hipMemset");
    check(hipDeviceSynchronize(), "hipDeviceSynchronize");
    if (samples_it) {
        check(hsa_iterate_agents(find, nullptr), "hsa_iterate_agents");
        check(hsa_ven_amd_pcs_iterate_configuration(gpu, list, nullptr), "hsa_ven_amd_pcs_iterate_configuration");
        check(hsa_ven_amd_pcs_create(gpu, HSA_VEN_AMD_PCS_METHOD_HOSTTRAP_V1, HSA_VEN_AMD_PCS_INTERVAL_UNITS_MICRO_SECONDS, interval, 0,
                                     buffer * sizeof(record), take, nullptr, &session),
              "hsa_ven_amd_pcs_create");
        check(hsa_ven_amd_pcs_start(session), "hsa_ven_amd_pcs_start");
    }
    for (unsigned i = 0; i < launches; i++)
        work<<<512, 256>>>(in, out, place, 64);
    check(hipDeviceSynchronize(), "hipDeviceSynchronize");
    check(hipMemcpy(&where, place, 8, hipMemcpyDeviceToHost), "hipMemcpy");
    if (samples_it) {
        check(hsa_ven_amd_pcs_stop(session), "hsa_ven_amd_pcs_stop");
        check(hsa_ven_amd_pcs_flush(session), "hsa_ven_amd_pcs_flush");
        check(hsa_ven_amd_pcs_destroy(session), "hsa_ven_amd_pcs_destroy");
    }
    printf("lost %zu\n", lost);
    for (const record &r : samples)
        printf("%" PRId64 " %016" PRIx64 " %u %u %u %u %08x %" PRIu64 " %" PRIx64 "\n", (int64_t)(r.pc - where), r.exec, r.group[0], r.group[1],
               r.group[2], r.wave_and_xcc, r.hw_id, r.ticks, r.correlation);
}

// contact_matrix: who meets whom is kept as a float of 0 or 1 for each pair of persons, 64 MiB that
// are read for every day. The fix keeps a bit for each pair.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <hip/hip_runtime.h>
#include <vector>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        hipError_t e_ = (call);                                                                    \
        if (e_ != hipSuccess) {                                                                    \
            fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(e_));                             \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

enum { PERSONS = 4096, DAYS = 8, LANES = 64, THREADS = 256, WAVES = THREADS / LANES, BITS = 32 };

__host__ __device__ inline bool meets(uint32_t one, uint32_t other)
{
    uint32_t bits = (one * PERSONS + other) * 2654435761u;
    bits ^= bits >> 15;
    return bits % 11 == 0;
}

static bool is_infectious(int day, int person)
{
    return person * 37 % 101 < 3 + 5 * day;
}

#ifdef FIXED
typedef uint32_t Packed; // The contacts of 32 persons, or which of them are infectious.
enum { PER_ITEM = BITS };

__global__ void fill(Packed *contacts)
{
    uint32_t word = 0;
    for (int i = 0; i < BITS; i++)
        word |= (uint32_t)meets(blockIdx.x, threadIdx.x * BITS + i) << i;
    contacts[blockIdx.x * (PERSONS / BITS) + threadIdx.x] = word;
}
#else
typedef float Packed;
enum { PER_ITEM = 1 };

__global__ void fill(Packed *contacts)
{
    for (int other = threadIdx.x; other < PERSONS; other += PERSONS / BITS)
        contacts[(size_t)blockIdx.x * PERSONS + other] = meets(blockIdx.x, other);
}
#endif

// How many infectious persons each one meets on a day: a wave to a person.
__global__ void __launch_bounds__(THREADS)
    pressure(const Packed *contacts, const Packed *infectious, int *pressures)
{
    const int person = blockIdx.x * WAVES + threadIdx.x / LANES, lane = threadIdx.x % LANES;
#ifdef FIXED
    const Packed *row = contacts + person * (PERSONS / BITS);
    int sum = 0;
    for (int i = lane; i < PERSONS / BITS; i += LANES)
        sum += __popc(row[i] & infectious[i]);
#else
    const float4 *row = (const float4 *)(contacts + (size_t)person * PERSONS);
    float sum = 0;
#pragma unroll 4
    for (int i = lane; i < PERSONS / 4; i += LANES) {
        const float4 meet = row[i]; // planted: hbm_bandwidth
        const float4 sick = ((const float4 *)infectious)[i];
        sum += meet.x * sick.x + meet.y * sick.y + meet.z * sick.z + meet.w * sick.w;
    }
#endif
    for (int reach = LANES / 2; reach; reach /= 2)
        sum += __shfl_xor(sum, reach);
    if (lane == 0)
        pressures[person] = (int)sum;
}

int main()
{
    const int items = PERSONS / PER_ITEM;
    std::vector<Packed> infectious(items * DAYS, 0);
    std::vector<int> got(PERSONS * DAYS);
    for (int i = 0; i < PERSONS * DAYS; i++)
        if (is_infectious(i / PERSONS, i % PERSONS))
            infectious[i / PER_ITEM] += (Packed)(1u << i % PER_ITEM);
    Packed *contacts, *infectious_in;
    int *pressures;
    CHECK(hipMalloc(&contacts, (size_t)PERSONS * items * sizeof(Packed)));
    CHECK(hipMalloc(&infectious_in, infectious.size() * sizeof(Packed)));
    CHECK(hipMalloc(&pressures, got.size() * sizeof(int)));
    CHECK(hipMemcpy(infectious_in, infectious.data(), infectious.size() * sizeof(Packed),
                    hipMemcpyHostToDevice));
    fill<<<PERSONS, PERSONS / BITS>>>(contacts);
    CHECK(hipGetLastError());
    for (int day = 0; day < DAYS; day++) {
        pressure<<<PERSONS / WAVES, THREADS>>>(contacts, infectious_in + day * items,
                                               pressures + day * PERSONS);
        CHECK(hipGetLastError());
    }
    CHECK(hipMemcpy(got.data(), pressures, got.size() * sizeof(int), hipMemcpyDeviceToHost));
    for (int i = 0; i < PERSONS * DAYS; i += 7) {
        int want = 0;
        for (int other = 0; other < PERSONS; other++)
            want += is_infectious(i / PERSONS, other) && meets(i % PERSONS, other);
        if (got[i] != want) {
            fprintf(stderr, "day %d, person %d: %d, not %d\n", i / PERSONS, i % PERSONS, got[i],
                    want);
            return 1;
        }
    }
    CHECK(hipFree(contacts));
    CHECK(hipFree(infectious_in));
    CHECK(hipFree(pressures));
    puts("ok");
    return 0;
}

// event_router: each event draws its place in one of four queues from that queue's counter in global memory. The fix ranks the events of a workgroup in LDS and draws one run of places for each queue.
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

enum { QUEUES = 4, THREADS = 256, PER_THREAD = 8 };

// A discrete event: what it is for (two bits) and its number.
__host__ __device__ inline uint32_t event(uint32_t i)
{
    uint32_t h = (i ^ i >> 15) * 0x846ca68bu;
    h = (h ^ h >> 13) * 0x7feb352du;
    return i << 2 | h >> 30;
}

__global__ void happen(uint32_t *events)
{
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    events[i] = event(i);
}

// Appends each event to the queue it is for; the order within a queue does not matter.
__global__ void __launch_bounds__(THREADS)
    route(const uint32_t *events, uint32_t *queues, uint32_t *tails, uint32_t capacity)
{
    const uint32_t first = blockIdx.x * THREADS * PER_THREAD + threadIdx.x;
#ifdef FIXED
    __shared__ uint32_t count[QUEUES], place[QUEUES];
    if (threadIdx.x < QUEUES)
        count[threadIdx.x] = 0;
    __syncthreads();
    uint32_t rank[PER_THREAD];
    for (int j = 0; j < PER_THREAD; j++)
        rank[j] = atomicAdd(&count[events[first + j * THREADS] & 3], 1);
    __syncthreads();
    if (threadIdx.x < QUEUES)
        place[threadIdx.x] = atomicAdd(&tails[threadIdx.x], count[threadIdx.x]);
    __syncthreads();
    for (int j = 0; j < PER_THREAD; j++) {
        const uint32_t e = events[first + j * THREADS];
        queues[(e & 3) * capacity + place[e & 3] + rank[j]] = e >> 2;
    }
#else
    for (int j = 0; j < PER_THREAD; j++) {
        const uint32_t e = events[first + j * THREADS];
        const uint32_t at = atomicAdd(&tails[e & 3], 1); // planted: atomic_contention
        queues[(e & 3) * capacity + at] = e >> 2;
    }
#endif
}

int main()
{
    const uint32_t n = 608 * THREADS * PER_THREAD, capacity = n / 2;
    uint32_t *events, *queues, *tails;
    CHECK(hipMalloc(&events, n * sizeof(uint32_t)));
    CHECK(hipMalloc(&queues, QUEUES * capacity * sizeof(uint32_t)));
    CHECK(hipMalloc(&tails, QUEUES * sizeof(uint32_t)));
    CHECK(hipMemset(tails, 0, QUEUES * sizeof(uint32_t)));
    happen<<<n / 256, 256>>>(events);
    CHECK(hipGetLastError());
    route<<<n / THREADS / PER_THREAD, THREADS>>>(events, queues, tails, capacity);
    CHECK(hipGetLastError());
    std::vector<uint32_t> got(QUEUES * capacity), ends(QUEUES);
    CHECK(hipMemcpy(got.data(), queues, got.size() * sizeof(uint32_t), hipMemcpyDeviceToHost));
    CHECK(hipMemcpy(ends.data(), tails, QUEUES * sizeof(uint32_t), hipMemcpyDeviceToHost));
    std::vector<bool> seen(n);
    uint32_t routed = 0;
    for (uint32_t q = 0; q < QUEUES; q++)
        for (uint32_t i = 0; i < ends[q] && i < capacity; i++, routed++) {
            const uint32_t number = got[q * capacity + i];
            if (number >= n || seen[number] || (event(number) & 3) != q) {
                fprintf(stderr, "queue %u, place %u: event %u does not belong there\n", q, i,
                        number);
                return 1;
            }
            seen[number] = true;
        }
    if (routed != n) {
        fprintf(stderr, "%u events, not %u\n", routed, n);
        return 1;
    }
    CHECK(hipFree(events));
    CHECK(hipFree(queues));
    CHECK(hipFree(tails));
    puts("ok");
    return 0;
}

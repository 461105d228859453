// What a kernel reads of its clocks, for a load from the L1, and what an event says of the kernel:
// clocks per load, clocks and ticks of the wall clock in all, and nanoseconds by events. Twice.
#include "check.h"

#include <cstdio>
#include <vector>

__global__ void chase(const void *at, long long *out, int steps)
{
    for (int lap = 0; lap < 2; lap++) { // the first fills the L1 and the instruction cache
        long long wall = wall_clock64(), clock = clock64();
        for (int i = 0; i < steps; i += 16)
#pragma unroll
            for (int k = 0; k < 16; k++) {
                at = *(const void *const *)at;
                asm volatile("" : "+v"(at));
            }
        asm volatile("s_waitcnt vmcnt(0)" ::"v"(at));
        out[0] = clock64() - clock;
        out[1] = wall_clock64() - wall;
    }
}

int main()
{
    constexpr int LINES = 64, WORDS = 128 / sizeof(void *), STEPS = 4096;
    void **ring;
    long long *out, read[2];
    HIP_CHECK(hipMalloc(&ring, LINES * WORDS * sizeof *ring));
    HIP_CHECK(hipMalloc(&out, sizeof read));
    std::vector<void *> next(LINES * WORDS);
    for (int i = 0; i < LINES; i++)
        next[i * WORDS] = ring + (i + 1) % LINES * WORDS;
    HIP_CHECK(hipMemcpy(ring, next.data(), next.size() * sizeof *ring, hipMemcpyHostToDevice));
    hipEvent_t begin, end;
    HIP_CHECK(hipEventCreate(&begin));
    HIP_CHECK(hipEventCreate(&end));
    for (int run = 0; run < 2; run++) {
        float ms;
        HIP_CHECK(hipEventRecord(begin));
        chase<<<1, 64>>>(ring, out, STEPS);
        HIP_CHECK(hipEventRecord(end));
        HIP_CHECK(hipEventSynchronize(end));
        HIP_CHECK(hipEventElapsedTime(&ms, begin, end));
        HIP_CHECK(hipMemcpy(read, out, sizeof read, hipMemcpyDeviceToHost));
        printf("%.3f %lld %lld %.0f\n", (double)read[0] / STEPS, read[0], read[1], ms * 1e6);
    }
    HIP_CHECK(hipEventDestroy(begin));
    HIP_CHECK(hipEventDestroy(end));
    HIP_CHECK(hipFree(ring));
    HIP_CHECK(hipFree(out));
}

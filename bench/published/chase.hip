// One work-item follows a ring of pointers, 128 bytes apart in random order, for as many steps as it has lines, or STEPS
// if those are more. Three launches, as gpu-latency does; with "lds" the ring is in the LDS, and the last launch
// makes twice the steps.
#include "common.h"

#include <algorithm>
#include <random>
#include <vector>

enum { LINE = 128, UNROLLED = 32 };

__global__ void chase(void **at, void **out, long steps)
{
#pragma unroll 1
    for (long i = 0; i < steps; i += UNROLLED) {
#pragma unroll
        for (int k = 0; k < UNROLLED; k++)
            at = (void **)*at;
    }
    *out = at;
}

__global__ void chase_lds(unsigned *out, long steps)
{
    __shared__ unsigned ring[256];
    for (unsigned i = threadIdx.x; i < 256; i += 64)
        ring[i] = (i + 33) % 256 * 4;
    __syncthreads();
    unsigned at = 0;
#pragma unroll 1
    for (long i = 0; i < steps; i += UNROLLED) {
#pragma unroll
        for (int k = 0; k < UNROLLED; k++)
            at = *(unsigned *)((char *)ring + at);
    }
    out[threadIdx.x] = at;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        usage("chase KIB|lds STEPS");
    long steps = atol(argv[2]);
    void **out = device<void *>(64);
    if (strcmp(argv[1], "lds") == 0) {
        for (int launch = 1; launch <= 2; launch++) {
            chase_lds<<<1, 64>>>((unsigned *)out, steps * launch);
            finish();
        }
        return 0;
    }
    const size_t lines = atof(argv[1]) * 1024 / LINE;
    char *ring = device<char>(lines * LINE);
    std::vector<size_t> order(lines);
    std::vector<char> image(lines * LINE);
    for (size_t i = 0; i < lines; i++)
        order[i] = i;
    std::shuffle(order.begin(), order.end(), std::mt19937(1));
    for (size_t i = 0; i < lines; i++) {
        char *next = ring + order[(i + 1) % lines] * LINE;
        memcpy(image.data() + order[i] * LINE, &next, sizeof next);
    }
    OK(hipMemcpy(ring, image.data(), image.size(), hipMemcpyHostToDevice));
    steps = (std::max<long>(steps, lines) + UNROLLED - 1) / UNROLLED * UNROLLED;
    for (int launch = 0; launch < 3; launch++)
        chase<<<1, 1>>>((void **)ring, out, steps);
    finish();
}

// Fills memory with noise, runs one kernel that changes an eighth of it, and prints how many bytes
// there are. Run by bench/isolate-cost.
#include <hip/hip_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void change(uint64_t *at, size_t count)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;

    if (i < count)
        at[i] += 1;
}

int main(int argc, char **argv)
{
    const size_t bytes = (size_t)(argc > 1 ? atoi(argv[1]) : 256) << 20, count = bytes / 8;
    std::vector<uint64_t> noise(count);
    uint64_t *at, seed = 88172645463325252;

    for (auto &x : noise) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        x = seed;
    }
    if (hipMalloc(&at, bytes) != hipSuccess ||
        hipMemcpy(at, noise.data(), bytes, hipMemcpyHostToDevice) != hipSuccess)
        return 1;
    change<<<count / 8 / 256, 256>>>(at, count / 8);
    return hipDeviceSynchronize() != hipSuccess;
}

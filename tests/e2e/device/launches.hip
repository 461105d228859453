// Launch configurations: what fits runs, what does not is an error in the program and no more.
#include "check.h"

#include <hip/hip_cooperative_groups.h>
#include <vector>

__global__ void where(unsigned *out)
{
    unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    out[block * blockDim.x * blockDim.y * blockDim.z + thread] =
        threadIdx.x | threadIdx.y << 8 | threadIdx.z << 16 | (blockIdx.x ^ blockIdx.y ^ blockIdx.z) << 24;
}

static void shape(dim3 grid, dim3 block)
{
    const unsigned per_block = block.x * block.y * block.z,
                   total = per_block * grid.x * grid.y * grid.z;
    unsigned *out;
    std::vector<unsigned> host(total);
    HIP(hipMalloc(&out, total * sizeof *out));
    where<<<grid, block>>>(out);
    HIP(hipGetLastError());
    HIP(hipMemcpy(host.data(), out, total * sizeof *out, hipMemcpyDeviceToHost));
    unsigned i = 0;
    for (unsigned bz = 0; bz < grid.z; bz++)
        for (unsigned by = 0; by < grid.y; by++)
            for (unsigned bx = 0; bx < grid.x; bx++)
                for (unsigned tz = 0; tz < block.z; tz++)
                    for (unsigned ty = 0; ty < block.y; ty++)
                        for (unsigned tx = 0; tx < block.x; tx++)
                            CHECK(host[i++] == (tx | ty << 8 | tz << 16 | (bx ^ by ^ bz) << 24));
    HIP(hipFree(out));
}

__global__ void dynamic(int *out, int words)
{
    extern __shared__ int shared[];
    for (int i = threadIdx.x; i < words; i += blockDim.x)
        shared[i] = i * 3;
    __syncthreads();
    long sum = 0;
    for (int i = threadIdx.x; i < words; i += blockDim.x)
        sum += shared[words - 1 - i];
    atomicAdd(out, (int)sum);
}

static void dynamic_lds(int bytes)
{
    int *out, result, words = bytes / 4;
    long expected = 0;
    HIP(hipMalloc(&out, sizeof *out));
    HIP(hipMemset(out, 0, sizeof *out));
    dynamic<<<1, 256, bytes>>>(out, words);
    HIP(hipGetLastError());
    HIP(hipMemcpy(&result, out, sizeof result, hipMemcpyDeviceToHost));
    for (int i = 0; i < words; i++)
        expected += i * 3;
    CHECK(result == (int)expected);
    HIP(hipFree(out));
}

__global__ void rounds(int *counter, int *out, int turns)
{
    auto grid = cooperative_groups::this_grid();
    for (int i = 0; i < turns; i++) {
        if (threadIdx.x == 0)
            atomicAdd(counter, 1);
        grid.sync();
        if (*(volatile int *)counter != (i + 1) * (int)gridDim.x)
            out[blockIdx.x]++;
        grid.sync();
    }
}

static void cooperative()
{
    hipDeviceProp_t props;
    int per_unit, turns = 5, blocks = 64, *counter, *out;
    HIP(hipGetDeviceProperties(&props, 0));
    CHECK(props.cooperativeLaunch);
    HIP(hipOccupancyMaxActiveBlocksPerMultiprocessor(&per_unit, rounds, 256, 0));
    HIP(hipMalloc(&counter, sizeof *counter));
    HIP(hipMalloc(&out, blocks * sizeof *out));
    HIP(hipMemset(counter, 0, sizeof *counter));
    HIP(hipMemset(out, 0, blocks * sizeof *out));
    void *args[] = {&counter, &out, &turns};
    const unsigned too_many = per_unit * props.multiProcessorCount + 1;
    CHECK(hipLaunchCooperativeKernel((void *)rounds, dim3(too_many), dim3(256), args, 0, 0) ==
          hipErrorCooperativeLaunchTooLarge);
    (void)hipGetLastError();
    HIP(hipLaunchCooperativeKernel((void *)rounds, dim3(blocks), dim3(256), args, 0, 0));
    std::vector<int> bad(blocks);
    HIP(hipMemcpy(bad.data(), out, blocks * sizeof *out, hipMemcpyDeviceToHost));
    for (int b : bad)
        CHECK(b == 0);
    HIP(hipFree(counter));
    HIP(hipFree(out));
}

static void refused()
{
    hipDeviceProp_t props;
    HIP(hipGetDeviceProperties(&props, 0));
    CHECK(props.maxThreadsPerBlock == 1024);
    unsigned *out;
    HIP(hipMalloc(&out, 4096));
    where<<<1, 1025>>>(out);
    CHECK(hipGetLastError() != hipSuccess);
    where<<<1, dim3(33, 32, 1)>>>(out);
    CHECK(hipGetLastError() != hipSuccess);
    where<<<0, 64>>>(out);
    CHECK(hipGetLastError() != hipSuccess);
    where<<<1, 0>>>(out);
    CHECK(hipGetLastError() != hipSuccess);
    dynamic<<<1, 64, props.sharedMemPerBlock + 4>>>((int *)out, 1);
    CHECK(hipGetLastError() != hipSuccess);
    where<<<1, 64>>>(out); // and the device still works
    HIP(hipDeviceSynchronize());
    HIP(hipFree(out));
}

int main()
{
    shape(dim3(1), dim3(1));
    shape(dim3(7), dim3(1000));
    shape(dim3(3, 5, 2), dim3(8, 8, 4));
    shape(dim3(2, 3), dim3(17, 9, 3));
    shape(dim3(1, 1, 9), dim3(1, 1, 64));
    shape(dim3(5), dim3(1024));
    dynamic_lds(4);
    dynamic_lds(10000);
    dynamic_lds(65536);
    cooperative();
    refused();
}

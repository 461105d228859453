// Kernels whose thread traces are known: how often each line is executed, and where time goes.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <vector>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        hipError_t status_ = (call);                                                               \
        if (status_ != hipSuccess) {                                                               \
            printf("%s: %s\n", #call, hipGetErrorString(status_));                                 \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

enum { BLOCK = 256, TURNS = 12, STEPS = 40, ODD_TURNS = 7 };

__device__ __noinline__ float weighed(float sum, float value)
{
    return sum * 0.5f + value; // CALLED
}

__global__ void looped(const float *in, float *out, int turns)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < turns; t++)
        sum = weighed(sum, in[(i + t * 64) & 4095]); // LOOPED
    out[i] = sum;
}

// Wave 0 of a workgroup takes the branch in the loop, the others do not.
__global__ void branching(float *out, int turns)
{
    float value = threadIdx.x;
    for (int t = 0; t < turns; t++)
        if (__builtin_amdgcn_readfirstlane(threadIdx.x) < 64)
            asm volatile("v_add_f32 %0, 1.0, %0" : "+v"(value)); // TAKEN
    out[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

// Waves meet at barriers; wave 0 comes late, because it works for longer.
__global__ void late(float *out)
{
    float value = threadIdx.x;
    if (__builtin_amdgcn_readfirstlane(threadIdx.x) < 64)
        for (int t = 0; t < 200; t++)
            asm volatile("v_add_f32 %0, 1.0, %0" : "+v"(value));
    __syncthreads(); // MEET
    out[threadIdx.x] = value;
}

// One lane follows pointers: each load waits for the one before.
template <int WHICH> __global__ void chase(const unsigned *next, unsigned *out, int steps)
{
    unsigned at = threadIdx.x; // not the same for all lanes: else loads are scalar
    for (int s = 0; s < steps; s++)
        at = next[at]; // CHASE
    out[0] = at;
}

static int run_chase(unsigned elements, unsigned stride, bool near, unsigned *out)
{
    std::vector<unsigned> ring(elements);
    unsigned *next;
    for (unsigned i = 0; i < elements; i++)
        ring[i] = (i + stride) % elements;
    CHECK(hipMalloc(&next, elements * sizeof *next));
    CHECK(hipMemcpy(next, ring.data(), elements * sizeof *next, hipMemcpyHostToDevice));
    if (near)
        chase<0><<<1, 1>>>(next, out, STEPS);
    else
        chase<1><<<1, 1>>>(next, out, STEPS);
    CHECK(hipDeviceSynchronize());
    CHECK(hipFree(next));
    return 0;
}

int main(int argc, char **argv)
{
    const int blocks = argc > 1 ? atoi(argv[1]) : 64;
    const int first_turns = argc > 2 ? atoi(argv[2]) : TURNS;
    float *in, *out;
    CHECK(hipMalloc(&in, 4096 * sizeof *in));
    CHECK(hipMalloc(&out, (size_t)blocks * BLOCK * sizeof *out));
    CHECK(hipMemset(in, 0, 4096 * sizeof *in));
    for (int launch = 0; launch < 3; launch++)
        looped<<<blocks, BLOCK>>>(in, out, launch ? TURNS + launch : first_turns);
    branching<<<8, BLOCK>>>(out, ODD_TURNS);
    late<<<1, BLOCK>>>(out);
    CHECK(hipDeviceSynchronize());
    // 8 elements in one line; then one in each of so many pages
    if (run_chase(8, 1, true, (unsigned *)out) ||
        run_chase(STEPS * 4096, 4096, false, (unsigned *)out))
        return 1;
    printf("done\n");
    return 0;
}

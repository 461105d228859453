// permute_index_division: a permutation of a tensor's dimensions finds the place of each element
// with six 64-bit divisions. The fix divides in 32 bits by multiplying with reciprocals made on the
// host.
#include <hip/hip_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        hipError_t status_ = (call);                                                               \
        if (status_ != hipSuccess) {                                                               \
            std::fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(status_));                   \
            std::exit(1);                                                                          \
        }                                                                                          \
    } while (0)

const int rank = 6;

struct Dimension {
    long size, stride; // stride: in the input, of this dimension of the output
    unsigned multiplier, shift;
};
struct Layout {
    Dimension dimension[rank];
};

// out = in with its dimensions permuted, of any layout: index of out -> offset in in.
__global__ __launch_bounds__(256) void permute(const float *__restrict__ in,
                                               float *__restrict__ out, Layout layout)
{
    long index = (long)blockIdx.x * blockDim.x + threadIdx.x;
#ifdef FIXED
    unsigned rest = (unsigned)index, offset = 0;
#pragma unroll
    for (int d = rank - 1; d >= 0; d--) {
        const Dimension &by = layout.dimension[d];
        unsigned quotient = (__umulhi(rest, by.multiplier) + rest) >> by.shift;
        offset += (rest - quotient * (unsigned)by.size) * (unsigned)by.stride;
        rest = quotient;
    }
#else
    long rest = index, offset = 0;
#pragma unroll
    for (int d = rank - 1; d >= 0; d--) {
        const Dimension &by = layout.dimension[d];
        offset += rest % by.size * by.stride; // planted: valu_throughput
        rest /= by.size;
    }
#endif
    out[index] = in[offset];
}

int main()
{
    // Batch and space of windows of an image, as in a Swin transformer; channels stay innermost.
    const long size[rank] = {4, 12, 7, 11, 7, 128};
    const int order[rank] = {0, 1, 3, 2, 4, 5};
    long stride[rank], n = 1;
    for (int d = rank - 1; d >= 0; d--) {
        stride[d] = n;
        n *= size[d];
    }
    Layout layout;
    for (int d = 0; d < rank; d++) {
        Dimension &by = layout.dimension[d];
        by.size = size[order[d]];
        by.stride = stride[order[d]];
        by.shift = 0;
        while ((1l << by.shift) < by.size)
            by.shift++;
        by.multiplier = (unsigned)((((1ull << by.shift) - by.size) << 32) / by.size + 1);
    }
    std::vector<float> in(n), out(n);
    for (long i = 0; i < n; i++)
        in[i] = (float)i;
    float *din, *dout;
    CHECK(hipMalloc(&din, n * sizeof(float)));
    CHECK(hipMalloc(&dout, n * sizeof(float)));
    CHECK(hipMemcpy(din, in.data(), n * sizeof(float), hipMemcpyHostToDevice));
    permute<<<(unsigned)(n / 256), 256>>>(din, dout, layout);
    CHECK(hipGetLastError());
    CHECK(hipMemcpy(out.data(), dout, n * sizeof(float), hipMemcpyDeviceToHost));
    CHECK(hipFree(din));
    CHECK(hipFree(dout));
    for (long i = 0; i < n; i++) {
        long rest = i, offset = 0;
        for (int d = rank - 1; d >= 0; d--) {
            offset += rest % layout.dimension[d].size * layout.dimension[d].stride;
            rest /= layout.dimension[d].size;
        }
        if (out[i] != in[offset]) {
            std::fprintf(stderr, "element %ld: %g, not %g\n", i, out[i], in[offset]);
            return 1;
        }
    }
    std::puts("ok");
    return 0;
}

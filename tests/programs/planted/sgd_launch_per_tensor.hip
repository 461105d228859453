// sgd_launch_per_tensor: an optimizer launches a kernel for each of 300 small tensors of a model,
// in each step. The fix makes one launch per step, which finds the tensors in a table.
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

const int tensors = 300, steps = 6;

struct Tensor {
    float *weight, *momentum;
    const float *gradient;
    int size;
};

__host__ __device__ inline void update(float &weight, float &momentum, float gradient)
{
    momentum = 0.5f * momentum + gradient;
    weight -= 0.125f * momentum;
}

__global__ void sgd(Tensor tensor)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < tensor.size)
        update(tensor.weight[i], tensor.momentum[i], tensor.gradient[i]);
}

// The same for all tensors: a row of the grid to a tensor.
__global__ void sgd_all(const Tensor *table)
{
    Tensor tensor = table[blockIdx.y];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < tensor.size)
        update(tensor.weight[i], tensor.momentum[i], tensor.gradient[i]);
}

int main()
{
    const int largest = 4096;
    std::vector<Tensor> table(tensors);
    // Every tensor has its part of one allocation: weights, momenta and gradients.
    size_t n = (size_t)tensors * largest;
    std::vector<float> host(3 * n, 0.0f), result(n);
    for (size_t i = 0; i < n; i++) {
        host[i] = (float)(i % 97);
        host[2 * n + i] = (float)((int)(i % 19) - 9);
    }
    float *d;
    Tensor *dtable;
    CHECK(hipMalloc(&d, 3 * n * sizeof(float)));
    CHECK(hipMalloc(&dtable, tensors * sizeof(Tensor)));
    CHECK(hipMemcpy(d, host.data(), 3 * n * sizeof(float), hipMemcpyHostToDevice));
    for (int t = 0; t < tensors; t++)
        table[t] = {d + (size_t)t * largest, d + n + (size_t)t * largest,
                    d + 2 * n + (size_t)t * largest, t % 3 == 0 ? largest : 64 + t};
    CHECK(hipMemcpy(dtable, table.data(), tensors * sizeof(Tensor), hipMemcpyHostToDevice));
    for (int step = 0; step < steps; step++) {
#ifdef FIXED
        sgd_all<<<dim3(largest / 256, tensors), 256>>>(dtable);
        CHECK(hipGetLastError());
#else
        for (const Tensor &tensor : table) {
            sgd<<<(tensor.size + 255) / 256, 256>>>(tensor); // planted: launch_overhead
            CHECK(hipGetLastError());
        }
#endif
    }
    CHECK(hipMemcpy(result.data(), d, n * sizeof(float), hipMemcpyDeviceToHost));
    CHECK(hipFree(d));
    CHECK(hipFree(dtable));
    for (size_t i = 0; i < n; i++) {
        float weight = host[i], momentum = 0;
        for (int step = 0; step < steps && (int)(i % largest) < table[i / largest].size; step++)
            update(weight, momentum, host[2 * n + i]);
        if (result[i] != weight) {
            std::fprintf(stderr, "weight %zu: %g, not %g\n", i, result[i], weight);
            return 1;
        }
    }
    std::puts("ok");
    return 0;
}

// table_copied_each_batch: a classifier's table of 16 MB is copied to the GPU again for each batch,
// although it never changes. The fix copies it once, before the first batch.
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

const int classes = 1024, features = 4096, batch = 16, batches = 8;

// The score of each class for a sparse sample: the sum of its weights of the features that the
// sample has. A thread makes one class of one sample.
__global__ __launch_bounds__(256) void score(const float *__restrict__ table,
                                             const int *__restrict__ active, int count,
                                             float *__restrict__ scores)
{
    int of_class = blockIdx.x * blockDim.x + threadIdx.x, sample = blockIdx.y;
    float sum = 0;
#pragma unroll 8
    for (int i = 0; i < count; i++)
        sum += table[(size_t)active[sample * count + i] * classes + of_class];
    scores[(size_t)sample * classes + of_class] = sum;
}

int main()
{
    const int count = 32;
    const size_t bytes = (size_t)classes * features * sizeof(float);
    float *table, *dtable, *dscores;
    int *active, *dactive;
    CHECK(hipHostMalloc((void **)&table, bytes));
    CHECK(hipHostMalloc((void **)&active, (size_t)batches * batch * count * sizeof(int)));
    CHECK(hipMalloc(&dtable, bytes));
    CHECK(hipMalloc(&dactive, batch * count * sizeof(int)));
    CHECK(hipMalloc(&dscores, (size_t)batches * batch * classes * sizeof(float)));
    for (int i = 0; i < classes * features; i++)
        table[i] = (float)(i * 31 % 127 - 63);
    for (int i = 0; i < batches * batch * count; i++)
        active[i] = (int)(i * 2654435761u >> 20);
#ifdef FIXED
    CHECK(hipMemcpy(dtable, table, bytes, hipMemcpyHostToDevice));
#endif
    for (int b = 0; b < batches; b++) {
#ifndef FIXED
        CHECK(hipMemcpy(dtable, table, bytes, hipMemcpyHostToDevice)); // planted: copy_bound
#endif
        CHECK(hipMemcpyAsync(dactive, active + b * batch * count, batch * count * sizeof(int),
                             hipMemcpyHostToDevice, 0));
        score<<<dim3(classes / 256, batch), 256>>>(dtable, dactive, count,
                                                   dscores + (size_t)b * batch * classes);
        CHECK(hipGetLastError());
    }
    std::vector<float> scores((size_t)batches * batch * classes);
    CHECK(hipMemcpy(scores.data(), dscores, scores.size() * sizeof(float), hipMemcpyDeviceToHost));
    for (size_t at = 0; at < scores.size(); at += 13) {
        float want = 0;
        for (int i = 0; i < count; i++)
            want += table[(size_t)active[at / classes * count + i] * classes + at % classes];
        if (scores[at] != want) {
            std::fprintf(stderr, "score %zu: %g, not %g\n", at, scores[at], want);
            return 1;
        }
    }
    CHECK(hipHostFree(table));
    CHECK(hipHostFree(active));
    CHECK(hipFree(dtable));
    CHECK(hipFree(dactive));
    CHECK(hipFree(dscores));
    std::puts("ok");
    return 0;
}

// embedding_bag_sentinel: a bag ends at an index of -1, so that one index and then one row at a
// time is loaded and waited for. The fix knows each bag's length and loads 64 indices and then 16
// rows at once.
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

const int dim = 64;

// The sum of the embeddings of each bag; one wave to a bag, one lane to a dimension.
__global__ __launch_bounds__(256) void embedding_bag(const float *table, const int *indices,
                                                     const int *start, float *out)
{
    int bag = blockIdx.x * 4 + threadIdx.x / 64, lane = threadIdx.x % 64;
    int at = start[bag];
    float sum = 0;
#ifdef FIXED
    int end = start[bag + 1] - 1;
    for (; at < end; at += 64) {
        int mine = at + lane < end ? indices[at + lane] : -1;
        int count = min(64, end - at);
        for (int j = 0; j < count; j += 16) {
            float row[16];
#pragma unroll
            for (int i = 0; i < 16; i++)
                row[i] = table[max(__shfl(mine, j + i), 0) * dim + lane];
#pragma unroll
            for (int i = 0; i < 16; i++)
                sum += j + i < count ? row[i] : 0.0f;
        }
    }
#else
    for (int index = indices[at]; index >= 0; index = indices[++at])
        sum += table[index * dim + lane]; // planted: memory_latency
#endif
    out[bag * dim + lane] = sum;
}

int main()
{
    const int bags = 608 * 4, rows = 100000;
    std::vector<float> table((size_t)rows * dim), out((size_t)bags * dim);
    std::vector<int> indices, start(1, 0);
    for (size_t i = 0; i < table.size(); i++)
        table[i] = (float)(i * 31 % 127);
    unsigned state = 1;
    for (int bag = 0; bag < bags; bag++) {
        int length = 48 + bag % 32;
        for (int i = 0; i < length; i++) {
            state = state * 1664525u + 1013904223u;
            indices.push_back((state >> 8) % rows);
        }
        indices.push_back(-1);
        start.push_back((int)indices.size());
    }
    float *dtable, *dout;
    int *dindices, *dstart;
    CHECK(hipMalloc(&dtable, table.size() * 4));
    CHECK(hipMalloc(&dout, out.size() * 4));
    CHECK(hipMalloc(&dindices, indices.size() * 4));
    CHECK(hipMalloc(&dstart, start.size() * 4));
    CHECK(hipMemcpy(dtable, table.data(), table.size() * 4, hipMemcpyHostToDevice));
    CHECK(hipMemcpy(dindices, indices.data(), indices.size() * 4, hipMemcpyHostToDevice));
    CHECK(hipMemcpy(dstart, start.data(), start.size() * 4, hipMemcpyHostToDevice));
    embedding_bag<<<bags / 4, 256>>>(dtable, dindices, dstart, dout);
    CHECK(hipGetLastError());
    CHECK(hipMemcpy(out.data(), dout, out.size() * 4, hipMemcpyDeviceToHost));
    CHECK(hipFree(dtable));
    CHECK(hipFree(dout));
    CHECK(hipFree(dindices));
    CHECK(hipFree(dstart));
    for (int bag = 0; bag < bags; bag++)
        for (int d = 0; d < dim; d++) {
            float want = 0;
            for (int i = start[bag]; indices[i] >= 0; i++)
                want += table[(size_t)indices[i] * dim + d];
            if (out[bag * dim + d] != want) {
                std::fprintf(stderr, "bag %d: %g, not %g\n", bag, out[bag * dim + d], want);
                return 1;
            }
        }
    std::puts("ok");
    return 0;
}

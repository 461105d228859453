// masked_mean_pooling: pooling over padded sentences reads the padding too and multiplies it by a
// mask of zeros. The fix reads each sentence up to its length only.
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

const int dim = 512, longest = 128;

// The mean of the vectors of the words of each sentence. A group takes 64 of the dimensions of one
// sentence; its four waves take every fourth word.
__global__ __launch_bounds__(256) void mean_pool(const float *__restrict__ hidden,
                                                 const int *__restrict__ length,
                                                 float *__restrict__ pooled)
{
    int sentence = blockIdx.y, lane = threadIdx.x % 64, wave = threadIdx.x / 64;
    int d = blockIdx.x * 64 + lane, words = length[sentence];
    const float *p = hidden + (size_t)sentence * longest * dim + d;
    float sum = 0;
#ifdef FIXED
    int end = words;
#else
    int end = longest;
#endif
#pragma unroll 8
    for (int word = wave; word < end; word += 4) {
        float mask = word < words ? 1.0f : 0.0f;
        float value = p[(size_t)word * dim]; // planted: hbm_bandwidth
        sum += value * mask;
    }
    __shared__ float part[4][64];
    part[wave][lane] = sum;
    __syncthreads();
    if (wave == 0)
        pooled[sentence * dim + d] =
            (part[0][lane] + part[1][lane] + part[2][lane] + part[3][lane]) / (float)words;
}

int main()
{
    const int sentences = 228;
    std::vector<float> hidden((size_t)sentences * longest * dim), pooled(sentences * dim);
    std::vector<int> length(sentences);
    for (size_t i = 0; i < hidden.size(); i++)
        hidden[i] = (float)(i * 37 % 61);
    // Most sentences are short, as in real text: one long one pads all the others.
    for (int s = 0; s < sentences; s++)
        length[s] = s == 0 ? longest : 8 + s * 5 % 24;
    float *dhidden, *dpooled;
    int *dlength;
    CHECK(hipMalloc(&dhidden, hidden.size() * sizeof(float)));
    CHECK(hipMalloc(&dpooled, pooled.size() * sizeof(float)));
    CHECK(hipMalloc(&dlength, sentences * sizeof(int)));
    CHECK(hipMemcpy(dhidden, hidden.data(), hidden.size() * sizeof(float), hipMemcpyHostToDevice));
    CHECK(hipMemcpy(dlength, length.data(), sentences * sizeof(int), hipMemcpyHostToDevice));
    mean_pool<<<dim3(dim / 64, sentences), 256>>>(dhidden, dlength, dpooled);
    CHECK(hipGetLastError());
    CHECK(hipMemcpy(pooled.data(), dpooled, pooled.size() * sizeof(float), hipMemcpyDeviceToHost));
    CHECK(hipFree(dhidden));
    CHECK(hipFree(dpooled));
    CHECK(hipFree(dlength));
    for (int s = 0; s < sentences; s++)
        for (int d = 0; d < dim; d++) {
            float sum = 0;
            for (int word = 0; word < length[s]; word++)
                sum += hidden[((size_t)s * longest + word) * dim + d];
            if (std::fabs(pooled[s * dim + d] - sum / (float)length[s]) > 1e-3f) {
                std::fprintf(stderr, "sentence %d, dimension %d is wrong\n", s, d);
                return 1;
            }
        }
    std::puts("ok");
    return 0;
}

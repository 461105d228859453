// rnn_step_without_graph: a small recurrent network launches three tiny kernels, one by one, for
// each of 500 tokens. The fix captures the kernels of 100 tokens as a graph and launches that five
// times.
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

const int hidden = 128, tokens = 500;

// pre = recurrent * state; a wave makes one row.
__global__ void recur(const float *recurrent, const float *state, float *pre)
{
    int row = blockIdx.x * 4 + threadIdx.x / 64, lane = threadIdx.x % 64;
    const float *r = recurrent + row * hidden;
    float sum = r[lane] * state[lane] + r[lane + 64] * state[lane + 64];
    for (int step = 32; step > 0; step /= 2)
        sum += __shfl_xor(sum, step);
    if (lane == 0)
        pre[row] = sum;
}

// Adds the embedding of the next token, which a counter in memory names.
__global__ void add_input(const float *embedding, const int *text, const int *position, float *pre)
{
    pre[threadIdx.x] += embedding[text[*position] * hidden + threadIdx.x];
}

__global__ void activate(const float *pre, float *state, int *position)
{
    float x = pre[threadIdx.x];
    state[threadIdx.x] = x / (1.0f + fabsf(x));
    if (threadIdx.x == 0)
        ++*position;
}

int main()
{
    const int words = 32;
    std::vector<float> recurrent(hidden * hidden), embedding(words * hidden), state(hidden),
        pre(hidden);
    std::vector<int> text(tokens);
    for (int i = 0; i < hidden * hidden; i++)
        recurrent[i] = (float)(i * 7 % 17 - 8) / 256;
    for (int i = 0; i < words * hidden; i++)
        embedding[i] = (float)(i * 5 % 13 - 6) / 8;
    for (int i = 0; i < tokens; i++)
        text[i] = i * 11 % words;
    float *drecurrent, *dembedding, *dstate, *dpre;
    int *dtext, *dposition;
    CHECK(hipMalloc(&drecurrent, recurrent.size() * sizeof(float)));
    CHECK(hipMalloc(&dembedding, embedding.size() * sizeof(float)));
    CHECK(hipMalloc(&dstate, hidden * sizeof(float)));
    CHECK(hipMalloc(&dpre, hidden * sizeof(float)));
    CHECK(hipMalloc(&dtext, tokens * sizeof(int)));
    CHECK(hipMalloc(&dposition, sizeof(int)));
    CHECK(hipMemcpy(drecurrent, recurrent.data(), recurrent.size() * 4, hipMemcpyHostToDevice));
    CHECK(hipMemcpy(dembedding, embedding.data(), embedding.size() * 4, hipMemcpyHostToDevice));
    CHECK(hipMemcpy(dtext, text.data(), tokens * sizeof(int), hipMemcpyHostToDevice));
    CHECK(hipMemset(dstate, 0, hidden * sizeof(float)));
    CHECK(hipMemset(dposition, 0, sizeof(int)));
    hipStream_t stream;
    CHECK(hipStreamCreate(&stream));
    CHECK(hipDeviceSynchronize());
#ifdef FIXED
    hipGraph_t graph;
    hipGraphExec_t exec;
    CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    const int launched = 100;
#else
    const int launched = tokens;
#endif
    for (int token = 0; token < launched; token++) {
        recur<<<hidden / 4, 256, 0, stream>>>(drecurrent, dstate, dpre); // planted: launch_overhead
        add_input<<<1, hidden, 0, stream>>>(dembedding, dtext, dposition, dpre);
        activate<<<1, hidden, 0, stream>>>(dpre, dstate, dposition);
        CHECK(hipGetLastError());
    }
#ifdef FIXED
    CHECK(hipStreamEndCapture(stream, &graph));
    CHECK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
    for (int i = 0; i < tokens / launched; i++)
        CHECK(hipGraphLaunch(exec, stream));
#endif
    CHECK(hipStreamSynchronize(stream));
    std::vector<float> result(hidden);
    CHECK(hipMemcpy(result.data(), dstate, hidden * sizeof(float), hipMemcpyDeviceToHost));
    for (int token = 0; token < tokens; token++) {
        for (int row = 0; row < hidden; row++) {
            pre[row] = embedding[text[token] * hidden + row];
            for (int i = 0; i < hidden; i++)
                pre[row] += recurrent[row * hidden + i] * state[i];
        }
        for (int row = 0; row < hidden; row++)
            state[row] = pre[row] / (1.0f + std::fabs(pre[row]));
    }
    for (int row = 0; row < hidden; row++)
        if (std::fabs(result[row] - state[row]) > 1e-3f) {
            std::fprintf(stderr, "state %d: %g, not %g\n", row, result[row], state[row]);
            return 1;
        }
    std::puts("ok");
    return 0;
}

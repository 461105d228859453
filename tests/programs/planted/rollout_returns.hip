// rollout_returns: low occupancy by registers, as each thread keeps the 128 rewards and 128 discounts of a walk in registers to sum them backwards. The fix sums forwards with a running discount and keeps neither.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <hip/hip_runtime.h>
#include <vector>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        hipError_t e_ = (call);                                                                    \
        if (e_ != hipSuccess) {                                                                    \
            fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(e_));                             \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

enum { STEPS = 128, STATES = 8192, ACTIONS = 4, HEADS = 64, THREADS = 256 };

// What a step from a state pays to a head, and how much the head keeps of what comes after it.
struct Pay {
    float reward, discount;
};

// Monte-Carlo evaluation: a wave takes a walk, each of its lanes is a head of the value function.
__global__ void __launch_bounds__(THREADS)
    discounted_return(const uint32_t *next, const Pay *pay, float *value)
{
    const uint32_t i = blockIdx.x * THREADS + threadIdx.x, walk = i / HEADS, head = i % HEADS;
    uint32_t state = walk * 40503u % STATES, seed = walk;
#ifdef FIXED
    float sum = 0, running = 1;
    for (int s = 0; s < STEPS; s++) {
        seed = seed * 1664525u + 1013904223u;
        const Pay p = pay[state * HEADS + head];
        sum += running * p.reward;
        running *= p.discount;
        state = next[state * ACTIONS + (seed >> 30)];
    }
#else
    float reward[STEPS], discount[STEPS]; // planted: low_occupancy
#pragma unroll
    for (int s = 0; s < STEPS; s++) {
        seed = seed * 1664525u + 1013904223u;
        const Pay p = pay[state * HEADS + head];
        reward[s] = p.reward;
        discount[s] = p.discount;
        state = next[state * ACTIONS + (seed >> 30)];
    }
    float sum = 0;
#pragma unroll
    for (int s = STEPS - 1; s >= 0; s--)
        sum = reward[s] + discount[s] * sum;
#endif
    value[i] = sum;
}

static uint32_t mix(uint32_t x)
{
    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return x ^ x >> 16;
}

int main()
{
    const uint32_t groups = 1216, values = groups * THREADS;
    std::vector<uint32_t> table(STATES * ACTIONS);
    for (uint32_t i = 0; i < table.size(); i++)
        table[i] = mix(i) % STATES;
    std::vector<Pay> pays(STATES * HEADS);
    for (uint32_t i = 0; i < pays.size(); i++)
        pays[i] = {(float)(mix(i) >> 20) / 4096 - 0.25f, 0.9f + (float)(mix(i) & 255) / 4096};
    uint32_t *next;
    Pay *pay;
    float *value;
    CHECK(hipMalloc(&next, table.size() * sizeof(uint32_t)));
    CHECK(hipMalloc(&pay, pays.size() * sizeof(Pay)));
    CHECK(hipMalloc(&value, values * sizeof(float)));
    CHECK(hipMemcpy(next, table.data(), table.size() * sizeof(uint32_t), hipMemcpyHostToDevice));
    CHECK(hipMemcpy(pay, pays.data(), pays.size() * sizeof(Pay), hipMemcpyHostToDevice));
    discounted_return<<<groups, THREADS>>>(next, pay, value);
    CHECK(hipGetLastError());
    std::vector<float> got(values);
    CHECK(hipMemcpy(got.data(), value, values * sizeof(float), hipMemcpyDeviceToHost));
    for (uint32_t i = 0; i < values; i += 3) {
        uint32_t state = i / HEADS * 40503u % STATES, seed = i / HEADS;
        float want = 0, running = 1;
        for (int s = 0; s < STEPS; s++) {
            seed = seed * 1664525u + 1013904223u;
            const Pay &p = pays[state * HEADS + i % HEADS];
            want += running * p.reward;
            running *= p.discount;
            state = table[state * ACTIONS + (seed >> 30)];
        }
        if (!(fabsf(got[i] - want) < 1e-4f)) {
            fprintf(stderr, "walk %u, head %u: %g, not %g\n", i / HEADS, i % HEADS, got[i], want);
            return 1;
        }
    }
    CHECK(hipFree(next));
    CHECK(hipFree(pay));
    CHECK(hipFree(value));
    puts("ok");
    return 0;
}

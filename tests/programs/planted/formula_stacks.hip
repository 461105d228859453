// formula_stacks: low occupancy by LDS, as the stacks have 40 places a thread and fill a compute
// unit with four waves, though no formula needs more than eight. The fix gives them eight places.
#include <cmath>
#include <cstddef>
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

enum { THREADS = 256, SAMPLES = 1216 * THREADS, VARIABLES = 4, FORMULAS = 2, TOKENS = 23 };
enum { ADD = VARIABLES, SUBTRACT, MULTIPLY, LARGER, OPERATIONS = 4, DEEPEST = 8 };

#ifdef FIXED
enum { PLACES = DEEPEST };
#else
enum { PLACES = 40 };
#endif

__host__ __device__ inline float apply(int operation, float left, float right)
{
    switch (operation) {
    case ADD:
        return left + right;
    case SUBTRACT:
        return left - right;
    case MULTIPLY:
        return left * right;
    default:
        return fmaxf(left, right);
    }
}

// The value of a formula in reverse Polish notation; the places of the stack are stride words
// apart.
__host__ __device__ inline float value_of(const int *tokens, const float *samples, int sample,
                                          float *stack, int stride)
{
    int top = 0;
    for (int i = 0; i < TOKENS; i++) {
        if (tokens[i] < VARIABLES) {
            stack[top++ * stride] = samples[tokens[i] * SAMPLES + sample];
            continue;
        }
        float *left = &stack[(--top - 1) * stride];
        *left = apply(tokens[i], *left, stack[top * stride]);
    }
    return stack[0];
}

__global__ void __launch_bounds__(THREADS)
    evaluate(const int *formulas, const float *samples, float *results)
{
    __shared__ float stacks[PLACES][THREADS]; // planted: low_occupancy
    const int sample = blockIdx.x * THREADS + threadIdx.x;
    for (int i = 0; i < FORMULAS; i++)
        results[i * SAMPLES + sample] =
            value_of(formulas + i * TOKENS, samples, sample, &stacks[0][threadIdx.x], THREADS);
}

// A random formula of twelve variables and eleven operations.
static void make_formula(int *tokens, uint32_t seed)
{
    int depth = 0, variables = 0;
    for (int i = 0; i < TOKENS; i++) {
        seed = seed * 1664525u + 1013904223u;
        const bool may_push = variables <= TOKENS / 2 && depth < DEEPEST;
        if (depth < 2 || (may_push && seed >> 31)) {
            tokens[i] = (int)(seed >> 8) % VARIABLES;
            variables++;
            depth++;
        } else {
            tokens[i] = ADD + (int)(seed >> 8) % OPERATIONS;
            depth--;
        }
    }
}

int main()
{
    std::vector<int> formulas(FORMULAS * TOKENS);
    std::vector<float> samples(VARIABLES * SAMPLES), got((size_t)FORMULAS * SAMPLES);
    for (int i = 0; i < FORMULAS; i++)
        make_formula(&formulas[i * TOKENS], (uint32_t)i * 7919 + 1);
    for (int i = 0; i < VARIABLES * SAMPLES; i++)
        samples[i] = (float)((uint32_t)i * 2654435761u >> 20) / 2048 - 1;
    float stack[DEEPEST];
    int *formulas_in;
    float *samples_in, *results;
    CHECK(hipMalloc(&formulas_in, formulas.size() * sizeof(int)));
    CHECK(hipMalloc(&samples_in, samples.size() * sizeof(float)));
    CHECK(hipMalloc(&results, got.size() * sizeof(float)));
    CHECK(hipMemcpy(formulas_in, formulas.data(), formulas.size() * sizeof(int),
                    hipMemcpyHostToDevice));
    CHECK(hipMemcpy(samples_in, samples.data(), samples.size() * sizeof(float),
                    hipMemcpyHostToDevice));
    evaluate<<<SAMPLES / THREADS, THREADS>>>(formulas_in, samples_in, results);
    CHECK(hipGetLastError());
    CHECK(hipMemcpy(got.data(), results, got.size() * sizeof(float), hipMemcpyDeviceToHost));
    for (int i = 0; i < FORMULAS * SAMPLES; i += 17) {
        const int *formula = &formulas[i / SAMPLES * TOKENS];
        const float want = value_of(formula, samples.data(), i % SAMPLES, stack, 1);
        if (!(fabsf(got[i] - want) <= 1e-4f * fabsf(want))) {
            fprintf(stderr, "result %d: %g, not %g\n", i, got[i], want);
            return 1;
        }
    }
    CHECK(hipFree(formulas_in));
    CHECK(hipFree(samples_in));
    CHECK(hipFree(results));
    puts("ok");
    return 0;
}

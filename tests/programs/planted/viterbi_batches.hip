// viterbi_batches: a wave aligns its own read, yet all 16 waves of a workgroup meet at two barriers
// in every step. The fix passes the scores between the lanes of the wave by shuffles, with no
// barrier.
#include <algorithm>
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

enum { STATES = 64, SYMBOLS = 16, WAVES = 16, THREADS = WAVES * STATES, READS = 608 * WAVES };
enum { LONGEST = 128, SHORTEST = 32, STAY = -7, ADVANCE = -1, SKIP = -11, NEVER = -(1 << 24) };

// The best score of a read in a left-to-right profile: a state stays, advances or skips one.
__global__ void __launch_bounds__(THREADS)
    viterbi(const int *emissions, const uint8_t *reads, const int *lengths, int *scores)
{
    __shared__ int emission[SYMBOLS * STATES];
    __shared__ uint8_t symbols[WAVES][LONGEST];
    const int wave = threadIdx.x / STATES, state = threadIdx.x % STATES;
    const int read = blockIdx.x * WAVES + wave, length = lengths[read];
    emission[threadIdx.x] = emissions[threadIdx.x];
    for (int i = state; i < LONGEST; i += STATES)
        symbols[wave][i] = reads[read * LONGEST + i];
    int score = state ? NEVER : 0;
#ifdef FIXED
    __syncthreads();
    for (int step = 0; step < length; step++) {
        const int before = __shfl_up(score, 1), two_before = __shfl_up(score, 2);
        score = max(score + STAY, state > 0 ? before + ADVANCE : NEVER);
        score = max(score, state > 1 ? two_before + SKIP : NEVER);
        score += emission[symbols[wave][step] * STATES + state];
    }
#else
    __shared__ int states[WAVES][STATES + 2];
    if (state < 2)
        states[wave][state] = NEVER;
    states[wave][state + 2] = score;
    __syncthreads();
    for (int step = 0; step < LONGEST; step++) {
        if (step < length) {
            const int *from = &states[wave][state + 2];
            score = max(max(from[0] + STAY, from[-1] + ADVANCE), from[-2] + SKIP);
            score += emission[symbols[wave][step] * STATES + state];
        }
        __syncthreads(); // planted: barrier
        states[wave][state + 2] = score;
        __syncthreads();
    }
#endif
    for (int reach = STATES / 2; reach; reach /= 2)
        score = max(score, __shfl_xor(score, reach));
    if (state == 0)
        scores[read] = score;
}

static int score_on_host(const std::vector<int> &emissions, const uint8_t *read, int length)
{
    std::vector<int> from(STATES, NEVER), to(STATES);
    from[0] = 0;
    for (int step = 0; step < length; step++, from.swap(to))
        for (int state = 0; state < STATES; state++) {
            int best = from[state] + STAY;
            best = max(best, state > 0 ? from[state - 1] + ADVANCE : NEVER);
            best = max(best, state > 1 ? from[state - 2] + SKIP : NEVER);
            to[state] = best + emissions[read[step] * STATES + state];
        }
    return *std::max_element(from.begin(), from.end());
}

template <typename T> T *on_device(const std::vector<T> &values)
{
    T *copy;
    CHECK(hipMalloc(&copy, values.size() * sizeof(T)));
    CHECK(hipMemcpy(copy, values.data(), values.size() * sizeof(T), hipMemcpyHostToDevice));
    return copy;
}

int main()
{
    std::vector<int> emissions(SYMBOLS * STATES), lengths(READS), got(READS);
    std::vector<uint8_t> reads(READS * LONGEST);
    for (int i = 0; i < SYMBOLS * STATES; i++)
        emissions[i] = -(int)(i * 2654435761u >> 20) % 19;
    for (int i = 0; i < READS; i++)
        lengths[i] = SHORTEST + (int)(i * 2246822519u >> 20) % (LONGEST - SHORTEST + 1);
    for (int i = 0; i < READS * LONGEST; i++)
        reads[i] = (uint8_t)(i * 2654435761u >> 28);
    int *emissions_in = on_device(emissions), *lengths_in = on_device(lengths), *scores;
    uint8_t *reads_in = on_device(reads);
    CHECK(hipMalloc(&scores, READS * sizeof(int)));
    viterbi<<<READS / WAVES, THREADS>>>(emissions_in, reads_in, lengths_in, scores);
    CHECK(hipGetLastError());
    CHECK(hipMemcpy(got.data(), scores, READS * sizeof(int), hipMemcpyDeviceToHost));
    for (int i = 0; i < READS; i += 3) {
        const int want = score_on_host(emissions, &reads[i * LONGEST], lengths[i]);
        if (got[i] != want) {
            fprintf(stderr, "read %d: %d, not %d\n", i, got[i], want);
            return 1;
        }
    }
    CHECK(hipFree(emissions_in));
    CHECK(hipFree(lengths_in));
    CHECK(hipFree(reads_in));
    CHECK(hipFree(scores));
    puts("ok");
    return 0;
}

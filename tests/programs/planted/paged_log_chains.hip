// paged_log_chains: a wave follows a log whose chunks name their successor, so each read waits for
// the one before. The fix takes the chunks' numbers from the log's index and reads several at a
// time.
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

enum { LOGS = 2432, CHUNKS = 64, WORDS = 64, NEXT = WORDS - 1, THREADS = 256, ERROR_KIND = 5 };
enum { ALL_CHUNKS = LOGS * CHUNKS, WAVES = THREADS / WORDS, KINDS = 8, AHEAD = 16 };

// The chunks of all logs lie where the log-structured store wrote them: in no order.
static int chunk_of(int log, int at)
{
    return (int)((uint64_t)(log * CHUNKS + at) * 93563u % ALL_CHUNKS);
}

static uint32_t record_of(int log, int at, int word)
{
    uint32_t bits = (uint32_t)(log * CHUNKS + at) * WORDS + word;
    bits *= 2654435761u;
    return bits ^ bits >> 16;
}

// Counts the errors in each log; a wave reads a chunk of 63 records and the number of the next.
__global__ void __launch_bounds__(THREADS)
    count_errors(const uint32_t *chunks, const int *index, int *errors)
{
    const int log = blockIdx.x * WAVES + threadIdx.x / WORDS, lane = threadIdx.x % WORDS;
    int count = 0;
#ifdef FIXED
    const int numbers = index[log * CHUNKS + lane];
    for (int first = 0; first < CHUNKS; first += AHEAD) {
        uint32_t words[AHEAD];
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
            const int chunk = __builtin_amdgcn_readlane(numbers, first + i);
            words[i] = chunks[(size_t)chunk * WORDS + lane];
        }
#pragma unroll
        for (int i = 0; i < AHEAD; i++)
            count += lane != NEXT && words[i] % KINDS == ERROR_KIND;
    }
#else
    int chunk = index[log * CHUNKS];
    for (int i = 0; i < CHUNKS; i++) {
        const uint32_t word = chunks[(size_t)chunk * WORDS + lane]; // planted: memory_latency
        count += lane != NEXT && word % KINDS == ERROR_KIND;
        chunk = __shfl((int)word, NEXT);
    }
#endif
    for (int reach = WORDS / 2; reach; reach /= 2)
        count += __shfl_xor(count, reach);
    if (lane == 0)
        errors[log] = count;
}

int main()
{
    std::vector<uint32_t> chunks((size_t)ALL_CHUNKS * WORDS);
    std::vector<int> index(ALL_CHUNKS), got(LOGS), want(LOGS, 0);
    for (int i = 0; i < ALL_CHUNKS; i++) {
        const int log = i / CHUNKS, at = i % CHUNKS;
        index[i] = chunk_of(log, at);
        uint32_t *chunk = &chunks[(size_t)index[i] * WORDS];
        for (int word = 0; word < NEXT; word++) {
            chunk[word] = record_of(log, at, word);
            want[log] += chunk[word] % KINDS == ERROR_KIND;
        }
        chunk[NEXT] = at + 1 < CHUNKS ? chunk_of(log, at + 1) : 0;
    }
    uint32_t *chunks_in;
    int *index_in, *errors;
    CHECK(hipMalloc(&chunks_in, chunks.size() * sizeof(uint32_t)));
    CHECK(hipMalloc(&index_in, index.size() * sizeof(int)));
    CHECK(hipMalloc(&errors, LOGS * sizeof(int)));
    CHECK(hipMemcpy(chunks_in, chunks.data(), chunks.size() * sizeof(uint32_t),
                    hipMemcpyHostToDevice));
    CHECK(hipMemcpy(index_in, index.data(), index.size() * sizeof(int), hipMemcpyHostToDevice));
    count_errors<<<LOGS / WAVES, THREADS>>>(chunks_in, index_in, errors);
    CHECK(hipGetLastError());
    CHECK(hipMemcpy(got.data(), errors, LOGS * sizeof(int), hipMemcpyDeviceToHost));
    for (int log = 0; log < LOGS; log++)
        if (got[log] != want[log]) {
            fprintf(stderr, "log %d: %d, not %d\n", log, got[log], want[log]);
            return 1;
        }
    CHECK(hipFree(chunks_in));
    CHECK(hipFree(index_in));
    CHECK(hipFree(errors));
    puts("ok");
    return 0;
}

// attention_scores: each lane reads its own key from a tile of 64 keys of 64 words, so all lanes start on the same bank. The fix gives each key of the tile four words more.
#include <cmath>
#include <cstddef>
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

enum { DIM = 64, KEYS = 64, QUERIES = 64, WAVES = 4, AT_ONCE = 2 };

// score[head][query][key] = scale * (query . key)
__global__ void __launch_bounds__(64 * WAVES)
    query_key(const float *__restrict__ q, const float *__restrict__ k, float *__restrict__ score,
              int length, float scale)
{
#ifdef FIXED
    __shared__ __align__(16) float key[KEYS][DIM + 4];
#else
    __shared__ __align__(16) float key[KEYS][DIM];
#endif
    const int lane = threadIdx.x % 64, wave = __builtin_amdgcn_readfirstlane(threadIdx.x / 64);
    const int first_key = blockIdx.x * KEYS, first_query = blockIdx.y * QUERIES;
    q += (size_t)blockIdx.z * length * DIM;
    k += (size_t)blockIdx.z * length * DIM;
    score += (size_t)blockIdx.z * length * length;
    for (int i = wave; i < KEYS; i += WAVES)
        key[i][lane] = k[(size_t)(first_key + i) * DIM + lane];
    __syncthreads();
    for (int i = wave * AT_ONCE; i < QUERIES; i += WAVES * AT_ONCE) {
        const float *query = q + (size_t)(first_query + i) * DIM;
        float sum[AT_ONCE] = {};
#pragma unroll 4
        for (int d = 0; d < DIM; d += 4) {
            const float4 x = *(const float4 *)&key[lane][d]; // planted: lds_bank_conflicts
            for (int j = 0; j < AT_ONCE; j++) {
                const float *y = query + j * DIM + d;
                sum[j] += x.x * y[0] + x.y * y[1] + x.z * y[2] + x.w * y[3];
            }
        }
        for (int j = 0; j < AT_ONCE; j++)
            score[(size_t)(first_query + i + j) * length + first_key + lane] = scale * sum[j];
    }
}

int main()
{
    const int heads = 12, length = 512;
    const size_t n = (size_t)heads * length * DIM, scores = (size_t)heads * length * length;
    std::vector<float> q(n), k(n), got(scores);
    for (size_t i = 0; i < n; i++) {
        q[i] = (float)(i * 7 % 31) / 31 - 0.5f;
        k[i] = (float)(i * 11 % 29) / 29 - 0.4f;
    }
    float *dq, *dk, *ds;
    CHECK(hipMalloc(&dq, n * sizeof(float)));
    CHECK(hipMalloc(&dk, n * sizeof(float)));
    CHECK(hipMalloc(&ds, scores * sizeof(float)));
    CHECK(hipMemcpy(dq, q.data(), n * sizeof(float), hipMemcpyHostToDevice));
    CHECK(hipMemcpy(dk, k.data(), n * sizeof(float), hipMemcpyHostToDevice));
    query_key<<<dim3(length / KEYS, length / QUERIES, heads), 64 * WAVES>>>(dq, dk, ds, length,
                                                                            0.125f);
    CHECK(hipGetLastError());
    CHECK(hipMemcpy(got.data(), ds, scores * sizeof(float), hipMemcpyDeviceToHost));
    // Every 13th query of each head.
    for (int row = 0; row < heads * length; row += 13)
        for (int col = 0; col < length; col++) {
            const float *a = &q[(size_t)row * DIM],
                        *b = &k[(size_t)(row / length * length + col) * DIM];
            float want = 0;
            for (int d = 0; d < DIM; d++)
                want += 0.125f * a[d] * b[d];
            if (fabsf(got[(size_t)row * length + col] - want) > 1e-4f) {
                fprintf(stderr, "query %d, key %d: %g, not %g\n", row, col,
                        got[(size_t)row * length + col], want);
                return 1;
            }
        }
    CHECK(hipFree(dq));
    CHECK(hipFree(dk));
    CHECK(hipFree(ds));
    puts("ok");
    return 0;
}

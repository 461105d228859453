// cosine_search: each wave takes a quarter of the dimensions of 64 vectors, a vector to a lane, so
// its loads lie 1 KiB apart. The fix gives a wave a whole vector, with a lane to each four
// dimensions.
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

enum { DIMENSIONS = 256, VECTORS = 24320, THREADS = 256, LANES = 64, WAVES = THREADS / LANES };

__host__ __device__ inline float component(int vector, int dimension)
{
    return (float)((vector * 29 + dimension * 7 + vector * dimension % 13) % 17 - 8);
}

__global__ void cosines(const float *vectors, const float *query, float *scores)
{
    const int lane = threadIdx.x % LANES, wave = threadIdx.x / LANES;
#ifdef FIXED
    const float4 q = ((const float4 *)query)[lane];
    for (int i = wave; i < LANES; i += WAVES) {
        const int vector = blockIdx.x * LANES + i;
        const float4 v = ((const float4 *)vectors)[(size_t)vector * LANES + lane];
        float dot = v.x * q.x + v.y * q.y + v.z * q.z + v.w * q.w;
        float square = v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
        for (int reach = LANES / 2; reach; reach /= 2) {
            dot += __shfl_xor(dot, reach);
            square += __shfl_xor(square, reach);
        }
        if (lane == 0)
            scores[vector] = dot * rsqrtf(square);
    }
#else
    __shared__ float part_of_query[DIMENSIONS], dots[WAVES][LANES], squares[WAVES][LANES];
    part_of_query[threadIdx.x] = query[threadIdx.x];
    __syncthreads();
    const int vector = blockIdx.x * LANES + lane, first = wave * (DIMENSIONS / WAVES);
    float dot = 0, square = 0;
    for (int i = first; i < first + DIMENSIONS / WAVES; i++) {
        const float v = vectors[(size_t)vector * DIMENSIONS + i]; // planted: uncoalesced_access
        dot += v * part_of_query[i];
        square += v * v;
    }
    dots[wave][lane] = dot;
    squares[wave][lane] = square;
    __syncthreads();
    if (wave == 0) {
        for (int other = 1; other < WAVES; other++) {
            dot += dots[other][lane];
            square += squares[other][lane];
        }
        scores[vector] = dot * rsqrtf(square);
    }
#endif
}

int main()
{
    std::vector<float> vectors((size_t)VECTORS * DIMENSIONS), query(DIMENSIONS), got(VECTORS);
    for (int i = 0; i < VECTORS * DIMENSIONS; i++)
        vectors[i] = component(i / DIMENSIONS, i % DIMENSIONS);
    for (int i = 0; i < DIMENSIONS; i++)
        query[i] = (float)(i % 5) - 1.5f;
    float *in, *query_in, *scores;
    CHECK(hipMalloc(&in, vectors.size() * sizeof(float)));
    CHECK(hipMalloc(&query_in, DIMENSIONS * sizeof(float)));
    CHECK(hipMalloc(&scores, VECTORS * sizeof(float)));
    CHECK(hipMemcpy(in, vectors.data(), vectors.size() * sizeof(float), hipMemcpyHostToDevice));
    CHECK(hipMemcpy(query_in, query.data(), DIMENSIONS * sizeof(float), hipMemcpyHostToDevice));
    cosines<<<VECTORS / LANES, THREADS>>>(in, query_in, scores);
    CHECK(hipGetLastError());
    CHECK(hipMemcpy(got.data(), scores, VECTORS * sizeof(float), hipMemcpyDeviceToHost));
    for (int vector = 0; vector < VECTORS; vector++) {
        float dot = 0, square = 0;
        for (int i = 0; i < DIMENSIONS; i++) {
            const float v = vectors[(size_t)vector * DIMENSIONS + i];
            dot += v * query[i];
            square += v * v;
        }
        const float want = dot / sqrtf(square);
        if (!(fabsf(got[vector] - want) < 1e-3f)) {
            fprintf(stderr, "vector %d: %g, not %g\n", vector, got[vector], want);
            return 1;
        }
    }
    CHECK(hipFree(in));
    CHECK(hipFree(query_in));
    CHECK(hipFree(scores));
    puts("ok");
    return 0;
}

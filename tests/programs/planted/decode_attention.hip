// decode_attention: one workgroup per head reads the whole cache of 2048 keys, and 32 heads leave 272 of 304 compute units idle. The fix cuts the cache of a head into 32 parts and joins them.
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

enum { HEADS = 32, KEYS = 2048, DIM = 64, WAVES = 4 };
#ifdef FIXED
enum { PARTS = 32 };
#else
enum { PARTS = 1 };
#endif

// The softmax so far over some keys: the largest score, the sum of weights, the weighted values.
struct Part {
    float largest, sum, value;
};

__host__ __device__ inline Part join(Part a, Part b)
{
    const float largest = fmaxf(a.largest, b.largest);
    const float x = expf(a.largest - largest), y = expf(b.largest - largest);
    return {largest, a.sum * x + b.sum * y, a.value * x + b.value * y};
}

// Attention of the newest query to the cache. Lane = dimension; a wave takes every fourth key.
__global__ void __launch_bounds__(64 * WAVES)
    attend(const float *q, const float *k, const float *v, Part *parts)
{
    __shared__ Part waves[WAVES][DIM];
    const int head = blockIdx.x, part = blockIdx.y, lane = threadIdx.x % 64,
              wave = threadIdx.x / 64;
    const float query = q[head * DIM + lane] * 0.125f;
    Part mine = {-1e30f, 0, 0};
    for (int i = wave; i < KEYS / PARTS; i += WAVES) {
        const size_t at = ((size_t)head * KEYS + part * (KEYS / PARTS) + i) * DIM + lane;
        float score = query * k[at];
        for (int distance = 32; distance > 0; distance /= 2)
            score += __shfl_xor(score, distance);
        mine = join(mine, {score, 1, v[at]});
    }
    waves[wave][lane] = mine;
    __syncthreads();
    if (wave > 0)
        return;
    for (int w = 1; w < WAVES; w++)
        mine = join(mine, waves[w][lane]);
    parts[(part * HEADS + head) * DIM + lane] = mine;
}

__global__ void join_parts(const Part *parts, float *out)
{
    Part all = parts[blockIdx.x * DIM + threadIdx.x];
    for (int part = 1; part < PARTS; part++)
        all = join(all, parts[(part * HEADS + blockIdx.x) * DIM + threadIdx.x]);
    out[blockIdx.x * DIM + threadIdx.x] = all.value / all.sum;
}

int main()
{
    const size_t n = (size_t)HEADS * KEYS * DIM;
    std::vector<float> q(HEADS * DIM), k(n), v(n), got(HEADS * DIM);
    for (size_t i = 0; i < q.size(); i++)
        q[i] = (float)(i * 13 % 37) / 18 - 1;
    for (size_t i = 0; i < n; i++) {
        k[i] = (float)(i * 7 % 1009) / 504 - 1;
        v[i] = (float)(i * 11 % 997) / 997;
    }
    float *dq, *dk, *dv, *out;
    Part *parts;
    CHECK(hipMalloc(&dq, q.size() * sizeof(float)));
    CHECK(hipMalloc(&dk, n * sizeof(float)));
    CHECK(hipMalloc(&dv, n * sizeof(float)));
    CHECK(hipMalloc(&parts, PARTS * HEADS * DIM * sizeof(Part)));
    CHECK(hipMalloc(&out, HEADS * DIM * sizeof(float)));
    CHECK(hipMemcpy(dq, q.data(), q.size() * sizeof(float), hipMemcpyHostToDevice));
    CHECK(hipMemcpy(dk, k.data(), n * sizeof(float), hipMemcpyHostToDevice));
    CHECK(hipMemcpy(dv, v.data(), n * sizeof(float), hipMemcpyHostToDevice));
    attend<<<dim3(HEADS, PARTS), 64 * WAVES>>>(dq, dk, dv, parts); // planted: small_grid
    CHECK(hipGetLastError());
    join_parts<<<HEADS, DIM>>>(parts, out);
    CHECK(hipGetLastError());
    CHECK(hipMemcpy(got.data(), out, got.size() * sizeof(float), hipMemcpyDeviceToHost));
    for (int h = 0; h < HEADS; h++) {
        std::vector<double> value(DIM, 0);
        double sum = 0;
        for (int key = 0; key < KEYS; key++) {
            const size_t at = ((size_t)h * KEYS + key) * DIM;
            double score = 0;
            for (int d = 0; d < DIM; d++)
                score += 0.125 * q[h * DIM + d] * k[at + d];
            sum += exp(score);
            for (int d = 0; d < DIM; d++)
                value[d] += exp(score) * v[at + d];
        }
        for (int d = 0; d < DIM; d++)
            if (!(fabs(got[h * DIM + d] - value[d] / sum) < 1e-4)) {
                fprintf(stderr, "head %d: %g, not %g\n", h, got[h * DIM + d], value[d] / sum);
                return 1;
            }
    }
    for (void *p : {(void *)dq, (void *)dk, (void *)dv, (void *)parts, (void *)out})
        CHECK(hipFree(p));
    puts("ok");
    return 0;
}

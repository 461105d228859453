// sph_density: particles are staged in LDS as structs of 8 words, so the same field of 64 neighbours lies on 4 of the 32 banks. The fix makes the struct 9 words.
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

enum { THREADS = 256, REACH = 32, WORDS = 8, POSITION = 0, MASS = 7 };

#ifdef FIXED
enum { STRIDE = WORDS + 1 };
#else
enum { STRIDE = WORDS };
#endif

// One-dimensional particles, sorted by position: position, velocity, energy, ..., mass.
__host__ __device__ inline float field_of(int particle, int field)
{
    if (field == POSITION)
        return (float)(particle % 65536) + 0.01f * (float)(particle * 37 % 64);
    return field == MASS ? 1 + 0.125f * (float)(particle % 7) : (float)field;
}

__host__ __device__ inline float weight(float distance, float inverse_radius)
{
    const float r = distance * inverse_radius;
    return fmaxf(1 - r * r, 0);
}

__global__ void density_sum(const float *particles, float *density, int n, float inverse_radius)
{
    __shared__ float tile[(THREADS + 2 * REACH) * STRIDE];
    const int first = blockIdx.x * THREADS;
    for (int i = threadIdx.x; i < (THREADS + 2 * REACH) * WORDS; i += THREADS) {
        const int word = (first - REACH) * WORDS + i;
        tile[i / WORDS * STRIDE + i % WORDS] = word >= 0 && word < n * WORDS ? particles[word] : 0;
    }
    __syncthreads();
    const float *self = tile + (threadIdx.x + REACH) * STRIDE;
    const float x = self[POSITION];
    float sum = 0;
    for (int j = -REACH; j <= REACH; j++) {
        const float *other = self + j * STRIDE;
        sum += other[MASS] * weight(other[POSITION] - x, inverse_radius); // planted: lds_bank_conflicts
    }
    density[first + threadIdx.x] = sum;
}

int main()
{
    const int n = 256 * 1024;
    std::vector<float> particles((size_t)n * WORDS), got(n);
    for (int i = 0; i < n * WORDS; i++)
        particles[i] = field_of(i / WORDS, i % WORDS);
    float *in, *out;
    CHECK(hipMalloc(&in, (size_t)n * WORDS * sizeof(float)));
    CHECK(hipMalloc(&out, n * sizeof(float)));
    CHECK(
        hipMemcpy(in, particles.data(), (size_t)n * WORDS * sizeof(float), hipMemcpyHostToDevice));
    for (int step = 0; step < 2; step++) {
        density_sum<<<n / THREADS, THREADS>>>(in, out, n, 1.0f / REACH);
        CHECK(hipGetLastError());
    }
    CHECK(hipMemcpy(got.data(), out, n * sizeof(float), hipMemcpyDeviceToHost));
    for (int i = 0; i < n; i++) {
        float want = 0;
        for (int j = i - REACH; j <= i + REACH; j++)
            if (j >= 0 && j < n)
                want += field_of(j, MASS) *
                        weight(field_of(j, POSITION) - field_of(i, POSITION), 1.0f / REACH);
        if (!(fabsf(got[i] - want) < 1e-3f * want)) {
            fprintf(stderr, "particle %d: %g, not %g\n", i, got[i], want);
            return 1;
        }
    }
    CHECK(hipFree(in));
    CHECK(hipFree(out));
    puts("ok");
    return 0;
}

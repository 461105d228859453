// particle_energy: the fields of a particle lie side by side in a struct of 64 bytes, so each lane of a load touches another cache line. The fix keeps one array for each field, so a wave reads whole lines.
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

// What a molecular dynamics code keeps of a particle: 16 words.
struct Particle {
    float position[3];
    int type;
    float velocity[3];
    int cell;
    float force[3];
    int molecule;
    float charge, radius, mass;
    int flags;
};
enum { FIELDS = 16, FIRST_VELOCITY = 4, MASS = 14 };
static_assert(sizeof(Particle) == FIELDS * sizeof(float), "16 words");

__host__ __device__ inline float field_of(uint32_t particle, uint32_t field)
{
    uint32_t h = particle * 16 + field;
    h = (h ^ h >> 16) * 0x7feb352du;
    h = (h ^ h >> 15) * 0x846ca68bu;
    return (float)(h >> 8) * 0x1p-24f + 0.25f;
}

__global__ void fill(float *words, [[maybe_unused]] uint32_t n)
{
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef FIXED
    words[i] = field_of(i % n, i / n);
#else
    words[i] = field_of(i / FIELDS, i % FIELDS);
#endif
}

__global__ void kinetic_energy(const float *words, float *energy, uint32_t n)
{
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
#ifdef FIXED
    const float *v = words + (size_t)FIRST_VELOCITY * n + i;
    const float v2 = v[0] * v[0] + v[n] * v[n] + v[2 * n] * v[2 * n];
    energy[i] += 0.5f * words[(size_t)MASS * n + i] * v2;
#else
    const Particle *p = (const Particle *)words + i;
    const float *v = p->velocity;
    energy[i] += 0.5f * p->mass * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]); // planted: uncoalesced_access
#endif
}

int main()
{
    const uint32_t n = 1 << 20;
    const int samples = 4;
    float *words, *energy;
    CHECK(hipMalloc(&words, (size_t)n * sizeof(Particle)));
    CHECK(hipMalloc(&energy, n * sizeof(float)));
    CHECK(hipMemset(energy, 0, n * sizeof(float)));
    fill<<<n * FIELDS / 256, 256>>>(words, n);
    CHECK(hipGetLastError());
    for (int s = 0; s < samples; s++) {
        kinetic_energy<<<n / 256, 256>>>(words, energy, n);
        CHECK(hipGetLastError());
    }
    std::vector<float> got(n);
    CHECK(hipMemcpy(got.data(), energy, n * sizeof(float), hipMemcpyDeviceToHost));
    for (uint32_t i = 0; i < n; i++) {
        float v2 = 0;
        for (int d = 0; d < 3; d++)
            v2 += field_of(i, FIRST_VELOCITY + d) * field_of(i, FIRST_VELOCITY + d);
        const float want = samples * 0.5f * field_of(i, MASS) * v2;
        if (fabsf(got[i] - want) > 1e-4f * want) {
            fprintf(stderr, "particle %u: %g, not %g\n", i, got[i], want);
            return 1;
        }
    }
    CHECK(hipFree(words));
    CHECK(hipFree(energy));
    puts("ok");
    return 0;
}
